/* det: the determinants of square matrices. */

#include "autodiff/matrix_rules.h"

static ct_tensor *run_factored(const struct ct__lu *lu, const ct_tensor *const in[],
                               const struct ct__attr *attr) {
    (void)in;
    (void)attr;
    return ct__lu_det("ct_det", lu);
}

static ct_tensor *run(const ct_tensor *const in[], const struct ct__attr *attr) {
    struct ct__lu lu;
    if (ct__lu_of("ct_det", in[0], &lu) != CT_OK)
        return NULL;
    ct_tensor *y = run_factored(&lu, in, attr);
    ct__lu_free(&lu);
    return y;
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

static const struct ct__sample samples[] = {
    {1, {2}, {{3, 3}}, 0, {0}},
    {1, {3}, {{2, 2, 2}}, 0, {0}},
    {1, {2}, {{1, 1}}, 0, {0}},
    {1, {2}, {{0, 0}}, 0, {0}},
};
static const struct ct__error_sample errors[] = {
    {{1, {2}, {{2, 3}}, 0, {0}},
     CT_ESHAPE,
     "square matrices are needed, as the last two axes: [2, 3]"},
};

const struct ct__op_record ct__op_det = {
    .verb = "det",
    .inputs = 1,
    .run = run,
    .run_factored = run_factored,
    .pull = pull,
    .pull_text = {"SMUL(SMUL(G, y), transposed inverted X)"},
    .prepare = ct__regular_sample,
    .samples = samples,
    .sample_count = sizeof samples / sizeof *samples,
    .errors = errors,
    .error_count = sizeof errors / sizeof *errors,
};
