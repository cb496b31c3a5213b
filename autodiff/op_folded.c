/* folded: windows added back into an axis of zeros; its transpose is windowed. */

#include "autodiff/pull_words.h"

#include "tensor/row_pulls.h"

/* attr: axis of the windows; count, the extent of the result; step. */
static ct_tensor *run(const ct_tensor *const in[], const struct ct__attr *attr) {
    return ct__fold_windows(in[0], attr->axis, attr->count, attr->step);
}

static ct_var pull(const struct ct__pull *p, int argument) {
    (void)argument;
    return ct_var_unfold(p->g, p->attr->axis, ct_extent(ct__value_of(p->x[0]), -1), p->attr->step);
}

ct_var ct_var_fold(ct_var windows, int axis, int64_t extent, int64_t step) {
    const ct_tensor *t = ct__operand(windows);
    if (!t)
        return ct__null_of(windows);
    struct ct__attr attr = {
        .axis = axis < 0 ? axis + ct_rank(t) - 1 : axis, .count = extent, .step = step};
    return ct__record(CT_OP_folded, 1, &windows, &attr);
}

static const struct ct__sample samples[] = {
    {1, {2}, {{5, 3}}, 0, {.axis = 0, .count = 7, .step = 1}},
    {1, {3}, {{2, 2, 2}}, 0, {.axis = 0, .count = 6, .step = 3}},
    {1, {2}, {{2, 2}}, 0, {.axis = 0, .count = 4, .step = 2}},
};
static const struct ct__error_sample errors[] = {
    {{1, {2}, {{5, 3}}, 0, {.axis = 0, .count = 6, .step = 1}}, CT_EINDEX, "6"},
};

const struct ct__op_record ct__op_folded = {
    .verb = "fold",
    .inputs = 1,
    .run = run,
    .pull = pull,
    .pull_text = {"windowed"},
    .samples = samples,
    .sample_count = sizeof samples / sizeof *samples,
    .errors = errors,
    .error_count = sizeof errors / sizeof *errors,
};
