/* det_sign: the signs of determinants. */

#include "autodiff/matrix_rules.h"

static ct_tensor *run_factored(const struct ct__lu *lu, const ct_tensor *const in[],
                               const struct ct__attr *attr) {
    (void)in;
    (void)attr;
    return ct__lu_sign("ct_slogdet", lu);
}

static ct_tensor *run(const ct_tensor *const in[], const struct ct__attr *attr) {
    struct ct__lu lu;
    if (ct__lu_of("ct_slogdet", in[0], &lu) != CT_OK)
        return NULL;
    ct_tensor *y = run_factored(&lu, in, attr);
    ct__lu_free(&lu);
    return y;
}

/* Constant but where it jumps. */
static ct_var pull(const struct ct__pull *P, int argument) {
    (void)P;
    (void)argument;
    return FLAT;
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

const struct ct__op_record ct__op_det_sign = {
    .verb = "slogdet",
    .inputs = 1,
    .run = run,
    .run_factored = run_factored,
    .pull = pull,
    .pull_text = {"FLAT"},
    .prepare = ct__regular_sample,
    .samples = samples,
    .sample_count = sizeof samples / sizeof *samples,
    .errors = errors,
    .error_count = sizeof errors / sizeof *errors,
};
