/* log_abs_det: the logarithms of absolute determinants. */

#include "autodiff/matrix_rules.h"

static ct_tensor *run_factored(const struct ct__lu *lu, const ct_tensor *const in[],
                               const struct ct__attr *attr) {
    (void)in;
    (void)attr;
    return ct__lu_log_abs("ct_slogdet", lu);
}

static ct_tensor *run(const ct_tensor *const in[], const struct ct__attr *attr) {
    struct ct__lu lu;
    if (ct__lu_of("ct_slogdet", in[0], &lu) != CT_OK)
        return NULL;
    ct_tensor *y = run_factored(&lu, in, attr);
    ct__lu_free(&lu);
    return y;
}

/* Jacobi: d log |det| = tr(x^-1 dx). */
static ct_var pull(const struct ct__pull *P, int argument) {
    (void)argument;
    ct_var turned = ct_var_transpose(ct_var_inverse(P->x[0]));
    return ct__times_matrix(P->g, turned);
}

ct_status ct_var_slogdet(ct_var a, ct_var *sign, ct_var *log_abs) {
    ct_var s = sign ? ct__record(CT_OP_det_sign, 1, &a, NULL) : ct_var_null();
    ct_var l = log_abs ? ct__record(CT_OP_log_abs_det, 1, &a, NULL) : ct_var_null();
    if (sign)
        *sign = s;
    if (log_abs)
        *log_abs = l;
    return a.tape ? ct_tape_status(a.tape) : CT_EINVAL;
}

ct_var ct_var_logdet(ct_var a) {
    ct_var sign, log_abs;
    if (ct_var_slogdet(a, &sign, &log_abs) != CT_OK)
        return ct__null_of(a);
    return ADD(log_abs, LOG(sign));
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

const struct ct__op_record ct__op_log_abs_det = {
    .verb = "slogdet",
    .inputs = 1,
    .run = run,
    .run_factored = run_factored,
    .pull = pull,
    .pull_text = {"SMUL(G, transposed inverted X)"},
    .prepare = ct__regular_sample,
    .samples = samples,
    .sample_count = sizeof samples / sizeof *samples,
    .errors = errors,
    .error_count = sizeof errors / sizeof *errors,
};
