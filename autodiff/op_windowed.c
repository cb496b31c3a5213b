/* windowed: sliding windows of an axis; its transpose is folded. */

#include "autodiff/pull_words.h"

/* attr: axis, counted from the front; count, the items in a window; step. */
static ct_tensor *run(const ct_tensor *const in[], const struct ct__attr *attr) {
    return ct_unfold(in[0], attr->axis, attr->count, attr->step);
}

static ct_var pull(const struct ct__pull *p, int argument) {
    (void)argument;
    return ct_var_fold(p->g, p->attr->axis, ct_extent(ct__value_of(p->x[0]), p->attr->axis),
                       p->attr->step);
}

ct_var ct_var_unfold(ct_var x, int axis, int64_t size, int64_t step) {
    const ct_tensor *t = ct__operand(x);
    if (!t)
        return ct__null_of(x);
    struct ct__attr attr = {.axis = ct__front_axis(axis, ct_rank(t)), .count = size, .step = step};
    return ct__record(CT_OP_windowed, 1, &x, &attr);
}

static const struct ct__sample samples[] = {
    {1, {1}, {{7}}, 0, {.axis = 0, .count = 3, .step = 1}},
    {1, {2}, {{6, 2}}, 0, {.axis = 0, .count = 2, .step = 3}},
    {1, {2}, {{2, 5}}, 0, {.axis = 1, .count = 2, .step = 2}},
};
static const struct ct__error_sample errors[] = {
    {{1, {1}, {{2}}, 0, {.axis = 0, .count = 3, .step = 1}}, CT_ESHAPE, "3"},
    {{1, {1}, {{2}}, 0, {.axis = 1, .count = 1, .step = 1}}, CT_EAXIS, "axis 1 is out of range"},
};

const struct ct__op_record ct__op_windowed = {
    .verb = "unfold",
    .inputs = 1,
    .run = run,
    .pull = pull,
    .pull_text = {"folded"},
    .samples = samples,
    .sample_count = sizeof samples / sizeof *samples,
    .errors = errors,
    .error_count = sizeof errors / sizeof *errors,
};
