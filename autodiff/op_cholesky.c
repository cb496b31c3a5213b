/* cholesky: the lower triangular L of x = L L'; the lower triangle of x alone is read. */

#include "autodiff/matrix_rules.h"

#include "tensor/ct_make.h"
#include "tensor/ct_write.h"

static ct_tensor *run(const ct_tensor *const in[], const struct ct__attr *attr) {
    (void)attr;
    return ct_cholesky(in[0]);
}

/* Ones, 1/2 on the diagonal. */
static ct_tensor *halves(const ct_tensor *like) {
    int64_t n = ct_extent(like, -1);
    ct_tensor *one = ct_eye(ct_dtype(like), n, n, 0), *half = ct_scale(one, -0.5);
    ct_tensor *weights = ct_shift(half, 1);
    ct_free(half);
    ct_free(one);
    return weights;
}

/* Phi(m): the lower triangle, its diagonal halved. */
static ct_var lower_half(ct_var m) {
    const ct_tensor *t = ct__operand(m);
    if (!t)
        return ct__null_of(m);
    ct_tensor *weights = halves(t);
    ct_var w = ct_constant(m.tape, weights, NULL);
    ct_free(weights);
    return ct__triangle_of(SMUL(m, w), CT_LOWER);
}

/* S = L^-T Phi(L' G) L^-1 (Murray 2016, section 3.2); the cotangent of the lower triangle, each item of which
   stands for two but those of the diagonal, is Phi(S + S'). */
static ct_var pull(const struct ct__pull *P, int argument) {
    (void)argument;
    ct_var l = P->y;
    ct_var phi = lower_half(ct_var_matmul(ct_var_transpose(l), P->g));
    ct_var left = ct_var_solve_triangular(l, phi, CT_LOWER | CT_TRANSPOSED);
    ct_var turned = ct_var_transpose(left);
    ct_var s = ct_var_solve_triangular(l, turned, CT_LOWER | CT_TRANSPOSED);
    return lower_half(ADD(s, ct_var_transpose(s)));
}

ct_var ct_var_cholesky(ct_var a) {
    const ct_tensor *t = ct__operand(a);
    if (!t)
        return ct__null_of(a);
    if (ct_rank(t) < 2 || ct_extent(t, -1) != ct_extent(t, -2))
        return ct__record(CT_OP_cholesky, 1, &a, NULL); /* says what is wrong */
    ct_var sum = ADD(a, ct_var_transpose(a));
    ct_var half = ct_constant_of(a.tape, ct_dtype(t), 0.5);
    ct_var mean = MUL(sum, half);
    return ct__record(CT_OP_cholesky, 1, &mean, NULL);
}

const struct ct__op_record ct__op_cholesky = {
    .verb = "cholesky",
    .inputs = 1,
    .run = run,
    .pull = pull,
    .pull_text =
        {"PHI(S + S'), S = y^-T PHI(y' G) y^-1, PHI the lower triangle, its diagonal halved"},
    .prepare = ct__regular_sample,
    .samples = ct__square_samples,
    .sample_count = sizeof ct__square_samples / sizeof *ct__square_samples,
    .errors = ct__square_errors,
    .error_count = sizeof ct__square_errors / sizeof *ct__square_errors,
};
