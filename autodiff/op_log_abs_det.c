/* log_abs_det: the logarithms of absolute determinants. */

#include "autodiff/matrix_rules.h"

static ct_tensor *run_factored(const struct ct__lu *lu, const ct_tensor *const in[],
                               const struct ct__attr *attr) {
    (void)in;
    (void)attr;
    return ct__lu_log_abs("ct_slogdet", lu);
}

static ct_tensor *run(const ct_tensor *const in[], const struct ct__attr *attr) {
    (void)attr;
    ct_tensor *log_abs;
    return ct_slogdet(in[0], NULL, &log_abs) == CT_OK ? log_abs : NULL;
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

const struct ct__op_record ct__op_log_abs_det = {
    .verb = "slogdet",
    .inputs = 1,
    .run = run,
    .run_factored = run_factored,
    .pull = pull,
    .pull_text = {"SMUL(G, transposed inverted X)"},
    .prepare = ct__regular_sample,
    .samples = ct__square_samples,
    .sample_count = sizeof ct__square_samples / sizeof *ct__square_samples,
    .errors = ct__square_errors,
    .error_count = sizeof ct__square_errors / sizeof *ct__square_errors,
};
