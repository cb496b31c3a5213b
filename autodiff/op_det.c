/* det: the determinants of square matrices. */

#include "autodiff/matrix_rules.h"

static ct_tensor *run_factored(const struct ct__lu *lu, const ct_tensor *const in[],
                               const struct ct__attr *attr) {
    (void)in;
    (void)attr;
    return ct__lu_det("ct_det", lu);
}

static ct_tensor *run(const ct_tensor *const in[], const struct ct__attr *attr) {
    (void)attr;
    return ct_det(in[0]);
}

/* Jacobi: d det = det tr(x^-1 dx). */
static ct_var pull(const struct ct__pull *P, int argument) {
    (void)argument;
    ct_var turned = ct_var_transpose(ct_var_inverse(P->x[0]));
    ct_var weight = SMUL(P->g, P->y);
    return ct__times_matrix(weight, turned);
}

ct_var ct_var_det(ct_var a) {
    return ct__record(CT_OP_det, 1, &a, NULL);
}

const struct ct__op_record ct__op_det = {
    .verb = "det",
    .inputs = 1,
    .run = run,
    .run_factored = run_factored,
    .pull = pull,
    .pull_text = {"SMUL(SMUL(G, y), transposed inverted X)"},
    .prepare = ct__regular_sample,
    .samples = ct__square_samples,
    .sample_count = sizeof ct__square_samples / sizeof *ct__square_samples,
    .errors = ct__square_errors,
    .error_count = sizeof ct__square_errors / sizeof *ct__square_errors,
};
