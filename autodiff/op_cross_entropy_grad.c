/* cross_entropy_grad: the pull of cross_entropy, with a cotangent for each row. */

#include "autodiff/row_rules.h"

#include "tensor/fail.h"
#include "tensor/row_pulls.h"

static ct_tensor *run(const ct_tensor *const in[], const struct ct__attr *attr) {
    (void)attr;
    if (ct_rank(in[0]) == 0)
        return ct__fail_null(CT_ESHAPE, "ct_var_cross_entropy",
                             "the gradient of cross_entropy needs logits with an axis of classes");
    return ct__cross_entropy_grad(in[0], in[1], in[2]);
}

/* For a cotangent U: Z has sum(U (softmax(X) - one_hot)), X the pull of softmax at U Z. */
static ct_var pull(const struct ct__pull *P, int argument) {
    if (argument == 2)
        return FLAT;
    if (argument == 0) {
        ct_var weight = SMUL(P->g, ct_var_expand_dims(P->x[1], -1));
        ct_var p = ct_var_softmax(P->x[0], -1);
        return ct__without_low_rows(P, P->x[0], -1, ct__softmax_grad_var(p, weight, -1));
    }
    const ct_tensor *z = ct__value_of(P->x[1]);
    ct_var ones = ct_var_broadcast_to(K(1), ct_rank(z), ct_shape(z));
    return ct_var_sum(SMUL(P->g, ct__cross_entropy_grad_var(P->x[0], ones, P->x[2])), -1, false);
}

ct_var ct__cross_entropy_grad_var(ct_var x, ct_var g, ct_var labels) {
    if (ct_tape_ieee(x.tape))
        return ct__plain_cross_entropy_grad(x, g, labels);
    const ct_var in[] = {x, g, labels};
    return ct__record(CT_OP_cross_entropy_grad, 3, in, NULL);
}

static const struct ct__sample samples[] = {
    {3, {2, 1, 1}, {{4, 3}, {4}, {4}}, 3, {0}},
    {3, {3, 2, 2}, {{2, 2, 5}, {2, 2}, {2, 2}}, 5, {0}},
    {3, {1, 0, 0}, {{3}, {0}, {0}}, 3, {0}},
    {3, {2, 1, 1}, {{0, 3}, {0}, {0}}, 3, {0}},
};
static const struct ct__error_sample errors[] = {
    {{3, {2, 1, 1}, {{4, 3}, {4}, {3}}, 3, {0}}, CT_ESHAPE, "do not broadcast"},
};

const struct ct__op_record ct__op_cross_entropy_grad = {
    .verb = "cross_entropy",
    .inputs = 3,
    .run = run,
    .pull = pull,
    .pull_text = {"SOFTMAX_GRAD(SOFTMAX(X), SMUL(G, Z))",
                  "SUM(SMUL(G, CROSS_ENTROPY_GRAD(X, 1, W)))", "none: labels"},
    .samples = samples,
    .sample_count = sizeof samples / sizeof *samples,
    .errors = errors,
    .error_count = sizeof errors / sizeof *errors,
};
