/* mean_squared: the squared differences of two tensors of one shape, gathered. */

#include "autodiff/loss_attr.h"

#include "tensor/fail.h"

static ct_tensor *run(const ct_tensor *const in[], const struct ct__attr *attr) {
    if (!ct_same_shape(in[0], in[1])) {
        char a[CT__SHAPE_TEXT_BYTES], b[CT__SHAPE_TEXT_BYTES];
        ct__format_shape(a, sizeof a, ct_rank(in[0]), ct_shape(in[0]));
        ct__format_shape(b, sizeof b, ct_rank(in[1]), ct_shape(in[1]));
        return ct__fail_null(CT_ESHAPE, "ct_var_mse",
                             "a loss does not broadcast: mse needs equal shapes and was given %s "
                             "and %s",
                             a, b);
    }
    ct_tensor *gap = ct_apply(CT_OP_sub, 2, in);
    ct_tensor *squares = gap ? ct_apply(CT_OP_square, 1, (const ct_tensor *[]){gap}) : NULL;
    ct_free(gap);
    return ct__gather_loss(squares, attr->reduction);
}

static ct_var pull(const struct ct__pull *P, int argument) {
    ct_var g = ct__item_cotangent(P, ct_count(ct__value_of(P->x[0])));
    ct_var gap = argument == 0 ? SUB(P->x[0], P->x[1]) : SUB(P->x[1], P->x[0]);
    return SMUL(g, MUL(K(2), gap));
}

ct_var ct_var_mse(ct_var x, ct_var target, enum ct_reduction reduction) {
    return ct__record_loss(CT_OP_mean_squared, x, target, reduction);
}

static const struct ct__sample samples[] = {
    {2, {2, 2}, {{2, 3}, {2, 3}}, 0, {.reduction = CT_REDUCE_MEAN}},
    {2, {2, 2}, {{2, 3}, {2, 3}}, 0, {.reduction = CT_REDUCE_SUM}},
    {2, {1, 1}, {{4}, {4}}, 0, {.reduction = CT_REDUCE_NONE}},
    {2, {0, 0}, {{0}, {0}}, 0, {.reduction = CT_REDUCE_MEAN}},
};
static const struct ct__error_sample errors[] = {
    {{2, {2, 1}, {{4, 1}, {4}}, 0, {0}},
     CT_ESHAPE,
     "a loss does not broadcast: mse needs equal shapes and was given [4, 1] and [4]"},
};

const struct ct__op_record ct__op_mean_squared = {
    .verb = "mse",
    .inputs = 2,
    .run = run,
    .pull = pull,
    .pull_text = {"SMUL(G, MUL(2/n, SUB(X, Z)))", "SMUL(G, MUL(2/n, SUB(Z, X)))"},
    .samples = samples,
    .sample_count = sizeof samples / sizeof *samples,
    .errors = errors,
    .error_count = sizeof errors / sizeof *errors,
};
