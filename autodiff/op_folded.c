/* folded: windows added back into an axis of zeros; its transpose is windowed. */

#include "autodiff/pull_words.h"

#include "tensor/row_pulls.h"

/* attr: axis of the windows; count, the extent of the result; step. */
static ct_tensor *run(const ct_tensor *const in[], const struct ct__attr *attr) {
    return ct__fold_windows(in[0], attr->axis, attr->count, attr->step);
}

static ct_var pull(const struct ct__pull *p, int argument) {
    const ct_tensor *windows = ct__value_of(p->x[0]);
    int axis = p->attr->axis;
    int64_t count = ct_extent(windows, axis), size = ct_extent(windows, -1), step = p->attr->step;
    ct_var g = p->g;
    (void)argument;
    if (count == 0 || size == 0)
        return FLAT;
    /* Behind the last window there may be room for more. */
    if ((p->attr->count - size) / step + 1 != count)
        g = ct_var_slice(g, axis, 0, (count - 1) * step + size, 1);
    return ct_var_unfold(g, axis, size, step);
}

ct_var ct_var_fold(ct_var windows, int axis, int64_t extent, int64_t step) {
    const ct_tensor *t = ct__operand(windows);
    if (!t)
        return ct__null_of(windows);
    struct ct__attr attr = {
        .axis = ct__front_axis(axis, ct_rank(t) - 1), .count = extent, .step = step};
    return ct__record(CT_OP_folded, 1, &windows, &attr);
}

static const struct ct__sample samples[] = {
    {1, {2}, {{5, 3}}, 0, {.axis = 0, .count = 7, .step = 1}},
    {1, {3}, {{2, 2, 2}}, 0, {.axis = 0, .count = 6, .step = 3}},
    {1, {2}, {{2, 2}}, 0, {.axis = 0, .count = 4, .step = 2}},
    {1, {2}, {{2, 3}}, 0, {.axis = 0, .count = 8, .step = 1}},
    {1, {2}, {{0, 3}}, 0, {.axis = 0, .count = 2, .step = 1}},
    {1, {2}, {{2, 0}}, 0, {.axis = 0, .count = 5, .step = 1}},
};
static const struct ct__error_sample errors[] = {
    {{1, {2}, {{5, 3}}, 0, {.axis = 0, .count = 6, .step = 1}}, CT_EINDEX, "6"},
    {{1, {3}, {{5, 5, 3}}, 0, {.axis = -3, .count = 7, .step = 1}},
     CT_EAXIS,
     "axis -3 is out of range"},
    {{1, {2}, {{2, 0}}, 0, {.axis = 5, .count = 7, .step = 1}}, CT_EAXIS, "axis 5 is out of range"},
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
