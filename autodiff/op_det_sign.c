/* det_sign: the signs of determinants. */

#include "autodiff/matrix_rules.h"

static ct_tensor *run_factored(const struct ct__lu *lu, const ct_tensor *const in[],
                               const struct ct__attr *attr) {
    (void)in;
    (void)attr;
    return ct__lu_sign("ct_slogdet", lu);
}

static ct_tensor *run(const ct_tensor *const in[], const struct ct__attr *attr) {
    (void)attr;
    ct_tensor *sign;
    return ct_slogdet(in[0], &sign, NULL) == CT_OK ? sign : NULL;
}

/* Constant but where it jumps. */
static ct_var pull(const struct ct__pull *P, int argument) {
    (void)P;
    (void)argument;
    return FLAT;
}

const struct ct__op_record ct__op_det_sign = {
    .verb = "slogdet",
    .inputs = 1,
    .run = run,
    .run_factored = run_factored,
    .pull = pull,
    .pull_text = {"FLAT"},
    .prepare = ct__regular_sample,
    .samples = ct__square_samples,
    .sample_count = sizeof ct__square_samples / sizeof *ct__square_samples,
    .errors = ct__square_errors,
    .error_count = sizeof ct__square_errors / sizeof *ct__square_errors,
};
