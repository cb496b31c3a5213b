/* logsumexp along an axis, exact at infinities. */

#include "autodiff/reduce_attr.h"

static ct_tensor *run(const ct_tensor *const in[], const struct ct__attr *attr) {
    return ct_logsumexp(in[0], (int)attr->shape[0], attr->keepdims);
}

/* G softmax(X), and 0 in a row that is all -infinity. Not exp(X - Y): Y is rounded, and for large X
   the weights would not sum to 1. */
static ct_var pull(const struct ct__pull *P, int argument) {
    (void)argument;
    const ct_tensor *x = ct__value_of(P->x[0]);
    ct_var y = ct__keep_axes(P->y, x, P->attr), g = ct__keep_axes(P->g, x, P->attr);
    ct_var weight = ct_var_softmax(P->x[0], (int)P->attr->shape[0]), zero = K(0);
    return SMUL(g, WHERE(EQUAL(y, K(-INFINITY)), zero, weight));
}

ct_var ct_var_logsumexp(ct_var x, int axis, bool keepdims) {
    return ct__record_reduction(CT_OP_logsumexp, x, 1, &axis, keepdims);
}

static const struct ct__sample samples[] = {
    {1, {2}, {{2, 3}}, 0, {.rank = 1, .shape = {1}}},
    {1, {2}, {{2, 3}}, 0, {.rank = 1, .shape = {0}, .keepdims = true}},
    {1, {1}, {{5}}, 0, {.rank = 1, .shape = {-1}}},
    {1, {2}, {{0, 3}}, 0, {.rank = 1, .shape = {1}}},
};
static const struct ct__error_sample errors[] = {
    {{1, {2}, {{2, 3}}, 0, {.rank = 1, .shape = {2}}}, CT_EAXIS, "axis 2 is out of range"},
};

const struct ct__op_record ct__op_logsumexp = {
    .verb = "logsumexp",
    .inputs = 1,
    .run = run,
    .pull = pull,
    .pull_text = {"SMUL(G, SOFTMAX(X))"},
    .samples = samples,
    .sample_count = sizeof samples / sizeof *samples,
    .errors = errors,
    .error_count = sizeof errors / sizeof *errors,
};
