/* softmax_grad: the pull of softmax along an axis. */

#include "autodiff/row_rules.h"

#include "tensor/row_pulls.h"

static ct_tensor *run(const ct_tensor *const in[], const struct ct__attr *attr) {
    return ct__softmax_grad(in[0], in[1], attr->axis);
}

/* The map of Z is symmetric. That of X has U (Z - sum(Z X)) - Z sum(U X) for a cotangent U. */
static ct_var pull(const struct ct__pull *P, int argument) {
    int axis = P->attr->axis;
    if (argument == 1)
        return ct__softmax_grad_var(P->x[0], P->g, axis);
    ct_var mean = ct_var_sum(SMUL(P->x[1], P->x[0]), axis, true);
    ct_var own = SMUL(P->g, SUB(P->x[1], mean));
    ct_var other = ct_var_sum(SMUL(P->g, P->x[0]), axis, true);
    return SUB(own, SMUL(P->x[1], other));
}

ct_var ct__softmax_grad_var(ct_var y, ct_var g, int axis) {
    if (ct_tape_ieee(y.tape))
        return ct__plain_softmax_grad(y, g, axis);
    const ct_var in[] = {y, g};
    struct ct__attr attr = {.axis = axis};
    return ct__record(CT_OP_softmax_grad, 2, in, &attr);
}

static const struct ct__sample samples[] = {
    {2, {2, 2}, {{2, 3}, {2, 3}}, 0, {.axis = 1}},
    {2, {2, 2}, {{2, 3}, {2, 3}}, 0, {.axis = 0}},
    {2, {1, 1}, {{5}, {5}}, 0, {.axis = -1}},
    {2, {2, 2}, {{0, 3}, {0, 3}}, 0, {.axis = 1}},
};
static const struct ct__error_sample errors[] = {
    {{2, {2, 2}, {{2, 3}, {2, 3}}, 0, {.axis = 2}}, CT_EAXIS, "axis 2 is out of range"},
};

const struct ct__op_record ct__op_softmax_grad = {
    .verb = "softmax",
    .inputs = 2,
    .run = run,
    .pull = pull,
    .pull_text = {"SUB(SMUL(G, SUB(Z, SUM(SMUL(Z, X)))), SMUL(Z, SUM(SMUL(G, X))))",
                  "SOFTMAX_GRAD(X, G)"},
    .samples = samples,
    .sample_count = sizeof samples / sizeof *samples,
    .errors = errors,
    .error_count = sizeof errors / sizeof *errors,
};
