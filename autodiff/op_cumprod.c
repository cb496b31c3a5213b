/* cumprod: the products of the items up to each, along an axis. */

#include "autodiff/chain_words.h"
#include "tensor/ct_reduce.h"

static ct_tensor *run(const ct_tensor *const in[], const struct ct__attr *attr) {
    return ct_cumprod(in[0], attr->axis);
}

/* With s_i = g_i + x_(i+1) s_(i+1) from the end, the cotangent of x_i is s_i y_(i-1): no division,
   so zeros are exact. */
static ct_var pull(const struct ct__pull *P, int argument) {
    int axis = P->attr->axis;
    (void)argument;
    ct_var ahead = ct__moved_on(ct_var_flip(P->x[0], axis), axis);
    ct_var s = ct_var_flip(ct_var_recurrence(ahead, ct_var_flip(P->g, axis), axis), axis);
    return SMUL(s, ct__moved_on(P->y, axis));
}

ct_var ct_var_cumprod(ct_var x, int axis) {
    const ct_tensor *t = ct__operand(x);
    if (!t)
        return ct__null_of(x);
    struct ct__attr attr = {.axis = ct__front_axis(axis, ct_rank(t))};
    if (axis == CT_ALL) {
        x = ct_var_reshape(x, 1, (int64_t[]){(int64_t)ct_count(t)});
        attr.axis = 0;
    }
    return ct__record(CT_OP_cumprod, 1, &x, &attr);
}

static const struct ct__sample samples[] = {
    {1, {1}, {{5}}, 0, {.axis = 0}},
    {1, {2}, {{2, 3}}, 0, {.axis = 1}},
    {1, {2}, {{0, 3}}, 0, {.axis = 0}},
};
static const struct ct__error_sample errors[] = {
    {{1, {1}, {{5}}, 0, {.axis = 1}}, CT_EAXIS, "axis 1 is out of range"},
};

const struct ct__op_record ct__op_cumprod = {
    .verb = "cumprod",
    .inputs = 1,
    .run = run,
    .pull = pull,
    .pull_text = {"SMUL(s, y one place on), s_i = g_i + x_(i+1) s_(i+1)"},
    .samples = samples,
    .sample_count = sizeof samples / sizeof *samples,
    .errors = errors,
    .error_count = sizeof errors / sizeof *errors,
};
