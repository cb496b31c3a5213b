/* cumsum: the sums of the items up to each, along an axis; its transpose runs from the end. */

#include "autodiff/pull_words.h"
#include "tensor/ct_reduce.h"

static ct_tensor *run(const ct_tensor *const in[], const struct ct__attr *attr) {
    return ct_cumsum(in[0], attr->axis);
}

static ct_var pull(const struct ct__pull *p, int argument) {
    int axis = p->attr->axis;
    (void)argument;
    return ct_var_flip(ct_var_cumsum(ct_var_flip(p->g, axis), axis), axis);
}

ct_var ct_var_cumsum(ct_var x, int axis) {
    struct ct__attr attr = {.axis = axis};
    const ct_tensor *t = ct__operand(x);
    if (!t)
        return ct__null_of(x);
    if (axis == CT_ALL) {
        x = ct_var_reshape(x, 1, (int64_t[]){(int64_t)ct_count(t)});
        attr.axis = 0;
    }
    return ct__record(CT_OP_cumsum, 1, &x, &attr);
}

static const struct ct__sample samples[] = {
    {1, {1}, {{5}}, 0, {.axis = 0}},
    {1, {2}, {{2, 3}}, 0, {.axis = -1}},
    {1, {2}, {{0, 3}}, 0, {.axis = 0}},
};
static const struct ct__error_sample errors[] = {
    {{1, {1}, {{5}}, 0, {.axis = 1}}, CT_EAXIS, "axis 1 is out of range"},
};

const struct ct__op_record ct__op_cumsum = {
    .verb = "cumsum",
    .inputs = 1,
    .run = run,
    .pull = pull,
    .pull_text = {"the sums of G from each item to the end"},
    .samples = samples,
    .sample_count = sizeof samples / sizeof *samples,
    .errors = errors,
    .error_count = sizeof errors / sizeof *errors,
};
