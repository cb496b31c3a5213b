/* softmax along an axis. */

#include "autodiff/row_rules.h"

static ct_tensor *run(const ct_tensor *const in[], const struct ct__attr *attr) {
    return ct_softmax(in[0], attr->axis);
}

static ct_var pull(const struct ct__pull *P, int argument) {
    (void)argument;
    return ct__softmax_grad_var(P->y, P->g, P->attr->axis);
}

ct_var ct_var_softmax(ct_var x, int axis) {
    struct ct__attr attr = {.axis = axis};
    return ct__record(CT_OP_softmax, 1, &x, &attr);
}

static const struct ct__sample samples[] = {
    {1, {2}, {{2, 3}}, 0, {.axis = 1}},
    {1, {2}, {{2, 3}}, 0, {.axis = 0}},
    {1, {1}, {{5}}, 0, {.axis = -1}},
    {1, {2}, {{0, 3}}, 0, {.axis = 1}},
};
static const struct ct__error_sample errors[] = {
    {{1, {2}, {{2, 3}}, 0, {.axis = 2}}, CT_EAXIS, "axis 2 is out of range"},
};

const struct ct__op_record ct__op_softmax = {
    .verb = "softmax",
    .inputs = 1,
    .run = run,
    .pull = pull,
    .pull_text = {"SOFTMAX_GRAD(Y, G)"},
    .samples = samples,
    .sample_count = sizeof samples / sizeof *samples,
    .errors = errors,
    .error_count = sizeof errors / sizeof *errors,
};
