/* cross_entropy: minus log_softmax of each row at its integer label. */

#include "autodiff/loss_attr.h"
#include "autodiff/row_rules.h"

#include "tensor/fail.h"
#include "tensor/row_pulls.h"

static ct_tensor *run(const ct_tensor *const in[], const struct ct__attr *attr) {
    if (ct_rank(in[0]) == 0)
        return ct__fail_null(CT_ESHAPE, "ct_var_cross_entropy",
                             "cross_entropy needs logits with an axis of classes and was given a "
                             "tensor of rank 0");
    return ct__gather_loss(ct__cross_entropy_rows(in[0], in[1]), attr->reduction);
}

/* (softmax(X) - one_hot(Z)) G, G per row. */
static ct_var pull(const struct ct__pull *P, int argument) {
    if (argument == 1)
        return FLAT;
    const ct_tensor *labels = ct__value_of(P->x[1]);
    ct_var g = ct__item_cotangent(P, ct_count(labels));
    if (P->attr->reduction != CT_REDUCE_NONE && ct_rank(labels) > 0)
        g = ct_var_broadcast_to(g, ct_rank(labels), ct_shape(labels));
    return ct__cross_entropy_grad_var(P->x[0], g, P->x[1]);
}

ct_var ct_var_cross_entropy(ct_var logits, ct_var labels, enum ct_reduction reduction) {
    return ct__record_loss(CT_OP_cross_entropy, logits, labels, reduction);
}

static const struct ct__sample samples[] = {
    {2, {2, 1}, {{4, 3}, {4}}, 3, {.reduction = CT_REDUCE_MEAN}},
    {2, {2, 1}, {{4, 3}, {4}}, 3, {.reduction = CT_REDUCE_SUM}},
    {2, {2, 1}, {{4, 3}, {4}}, 3, {.reduction = CT_REDUCE_NONE}},
    {2, {1, 0}, {{3}, {0}}, 3, {.reduction = CT_REDUCE_MEAN}},
    {2, {2, 1}, {{0, 3}, {0}}, 3, {.reduction = CT_REDUCE_SUM}},
};
static const struct ct__error_sample errors[] = {
    {{2, {2, 1}, {{4, 3}, {3}}, 3, {0}}, CT_ESHAPE, "the index needs the shape [4]"},
    {{2, {2, 2}, {{4, 3}, {4, 1}}, 3, {0}}, CT_ESHAPE, "the index needs the shape [4]"},
};

const struct ct__op_record ct__op_cross_entropy = {
    .verb = "cross_entropy",
    .inputs = 2,
    .run = run,
    .pull = pull,
    .pull_text = {"CROSS_ENTROPY_GRAD(X, G, Z)", "none: labels"},
    .samples = samples,
    .sample_count = sizeof samples / sizeof *samples,
    .errors = errors,
    .error_count = sizeof errors / sizeof *errors,
};
