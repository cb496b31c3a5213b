/* cross_entropy: minus log_softmax of each row at its integer label. */

#include "autodiff/loss_attr.h"

#include "tensor/fail.h"

#include <string.h>

/* -log_softmax(row)[label] for each row, by a difference from 0, so that a certain row has +0. */
static ct_tensor *row_losses(const ct_tensor *logits, const ct_tensor *labels) {
    ct_tensor *log_p = ct_log_softmax(logits, -1);
    ct_tensor *chosen = log_p ? ct_pick(log_p, labels) : NULL;
    ct_tensor *zero = chosen ? ct_from_double(ct_dtype(logits), 0) : NULL, *losses = NULL;
    if (zero)
        losses = ct_apply(CT_OP_sub, 2, (const ct_tensor *[]){zero, chosen});
    ct_free(zero);
    ct_free(log_p);
    ct_free(chosen);
    return losses;
}

static ct_tensor *run(const ct_tensor *const in[], const struct ct__attr *attr) {
    if (ct_rank(in[0]) == 0)
        return ct__fail_null(CT_ESHAPE, "ct_var_cross_entropy",
                             "cross_entropy needs logits with an axis of classes and was given a "
                             "tensor of rank 0");
    return ct__gather_loss(row_losses(in[0], in[1]), attr->reduction);
}

/* (softmax(X) - one_hot(Z)) G, G per row. */
static ct_var pull(const struct ct__pull *P, int argument) {
    if (argument == 1)
        return FLAT;
    const ct_tensor *labels = ct__value_of(P->x[1]);
    int64_t shape[CT_MAX_RANK];
    int rank = ct_rank(labels);
    memcpy(shape, ct_shape(labels), (size_t)rank * sizeof *shape);
    int64_t classes = ct_extent(ct__value_of(P->x[0]), -1);
    ct_var g = ct__item_cotangent(P, ct_count(labels));
    ct_var ones = ct_var_broadcast_to(K(1), rank, shape);
    ct_var chosen = ct_var_place(ones, P->x[1], classes);
    ct_var gap = SUB(ct_var_softmax(P->x[0], -1), chosen);
    if (P->attr->reduction == CT_REDUCE_NONE)
        g = ct_var_expand_dims(g, -1);
    return SMUL(g, gap);
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
    .pull_text = {"SMUL(G, SUB(SOFTMAX(X), ONE_HOT(Z)))", "none: labels"},
    .samples = samples,
    .sample_count = sizeof samples / sizeof *samples,
    .errors = errors,
    .error_count = sizeof errors / sizeof *errors,
};
