/* log_softmax_grad: the pull of log_softmax along an axis. */

#include "autodiff/row_rules.h"

#include "tensor/row_pulls.h"

static ct_tensor *run(const ct_tensor *const in[], const struct ct__attr *attr) {
    return ct__log_softmax_grad(in[0], in[1], in[2], attr->axis);
}

/* X only tells the rows that are 0. For a cotangent U the map of W has U - sum(U exp(Z)), that of Z
   -U sum(W) exp(Z). */
static ct_var pull(const struct ct__pull *P, int argument) {
    int axis = P->attr->axis;
    if (argument == 0)
        return FLAT;
    ct_var p = EXP(P->x[1]), plain;
    if (argument == 2) {
        ct_var mean = ct_var_sum(SMUL(P->g, p), axis, true);
        plain = SUB(P->g, mean);
    } else {
        ct_var total = ct_var_sum(P->x[2], axis, true);
        plain = NEG(SMUL(SMUL(P->g, total), p));
    }
    return ct__without_low_rows(P, P->x[0], axis, plain);
}

ct_var ct__log_softmax_grad_var(ct_var x, ct_var y, ct_var g, int axis) {
    if (ct_tape_ieee(x.tape))
        return ct__plain_log_softmax_grad(x, y, g, axis);
    const ct_var in[] = {x, y, g};
    struct ct__attr attr = {.axis = axis};
    return ct__record(CT_OP_log_softmax_grad, 3, in, &attr);
}

static const struct ct__sample samples[] = {
    {3, {2, 2, 2}, {{2, 3}, {2, 3}, {2, 3}}, 0, {.axis = 1}},
    {3, {2, 2, 2}, {{2, 3}, {2, 3}, {2, 3}}, 0, {.axis = 0}},
    {3, {1, 1, 1}, {{5}, {5}, {5}}, 0, {.axis = -1}},
    {3, {2, 2, 2}, {{0, 3}, {0, 3}, {0, 3}}, 0, {.axis = 1}},
};
static const struct ct__error_sample errors[] = {
    {{3, {2, 2, 2}, {{2, 3}, {2, 3}, {2, 3}}, 0, {.axis = 2}}, CT_EAXIS, "axis 2 is out of range"},
};

const struct ct__op_record ct__op_log_softmax_grad = {
    .verb = "log_softmax",
    .inputs = 3,
    .run = run,
    .pull = pull,
    .pull_text = {"FLAT", "NEG(SMUL(SMUL(G, SUM(W)), EXP(Z)))", "SUB(G, SUM(SMUL(G, EXP(Z))))"},
    .samples = samples,
    .sample_count = sizeof samples / sizeof *samples,
    .errors = errors,
    .error_count = sizeof errors / sizeof *errors,
};
