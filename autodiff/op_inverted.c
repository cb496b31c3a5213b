/* inverted: the inverse of square matrices. */

#include "autodiff/matrix_rules.h"

static ct_tensor *run_factored(const struct ct__lu *lu, const ct_tensor *const in[],
                               const struct ct__attr *attr) {
    (void)in;
    (void)attr;
    return ct__lu_inverse("ct_inverse", lu);
}

static ct_tensor *run(const ct_tensor *const in[], const struct ct__attr *attr) {
    (void)attr;
    return ct_inverse(in[0]);
}

/* x y = 1: dx y + x dy = 0. */
static ct_var pull(const struct ct__pull *P, int argument) {
    (void)argument;
    ct_var turned = ct_var_transpose(P->y);
    ct_var left = ct_var_matmul(turned, P->g);
    return NEG(ct_var_matmul(left, turned));
}

ct_var ct_var_inverse(ct_var a) {
    return ct__record(CT_OP_inverted, 1, &a, NULL);
}

const struct ct__op_record ct__op_inverted = {
    .verb = "inverse",
    .inputs = 1,
    .run = run,
    .run_factored = run_factored,
    .pull = pull,
    .pull_text = {"-(transposed y matmul G matmul transposed y)"},
    .prepare = ct__regular_sample,
    .samples = ct__square_samples,
    .sample_count = sizeof ct__square_samples / sizeof *ct__square_samples,
    .errors = ct__square_errors,
    .error_count = sizeof ct__square_errors / sizeof *ct__square_errors,
};
