/* det: the determinants of square matrices. */

#include "autodiff/matrix_rules.h"

#include "tensor/ct_index.h"
#include "tensor/ct_make.h"

static ct_tensor *run_factored(const struct ct__lu *lu, const ct_tensor *const in[],
                               const struct ct__attr *attr) {
    (void)attr;
    return ct__det_of("ct_det", lu, in[0]);
}

static ct_tensor *run(const ct_tensor *const in[], const struct ct__attr *attr) {
    (void)attr;
    return ct_det(in[0]);
}

/* --- without division: Bird 2011, as in tensor/det.c --- */

static ct_var choose(ct_var mask, ct_var x, ct_var z) {
    const ct_var in[] = {mask, x, z};
    return ct__record_elementwise(CT_OP_where, 3, in);
}

/* mu(f) a: what lies above the diagonal of f, and on it minus the sum of f's diagonal beyond. */
static ct_var bird_step(ct_var f, ct_var a, ct_var one, ct_var beyond, ct_var zero) {
    ct_var diagonal = ct_var_sum(choose(one, f, zero), -1, false);
    ct_var rest = ct_var_expand_dims(NEG(ct_var_matmul(diagonal, beyond)), -1);
    ct_var above = ct__triangle_of(f, CT_UPPER | CT_UNIT_DIAGONAL);
    return ct_var_matmul(choose(one, rest, above), a);
}

static ct_var taken(ct_tape *tape, ct_tensor *t) {
    ct_var v = ct_constant(tape, t, NULL);
    ct_free(t);
    return v;
}

static ct_var bird(ct_var a) {
    const ct_scalar *scalar = ct_dtype(ct__value_of(a));
    int64_t n = ct_extent(ct__value_of(a), -1);
    ct_tensor *ones = ct_ones(scalar, 2, (int64_t[]){n, n});
    ct_var beyond = taken(a.tape, ct_tril(ones, -1)), f = a;
    ct_var one = taken(a.tape, ct_eye(CT_BOOL, n, n, 0));
    ct_var zero = ct_constant_of(a.tape, scalar, 0);
    ct_free(ones);
    for (int64_t k = 1; k < n; k++)
        f = bird_step(f, a, one, beyond, zero);
    ct_var row = ct_var_select(f, -1, 0), corner = ct_var_select(row, -1, 0);
    return n % 2 ? corner : NEG(corner);
}

/* Jacobi: d det = det tr(x^-1 dx). A singular matrix has no inverse, and yet a gradient: its cofactors. */
static ct_var pull(const struct ct__pull *P, int argument) {
    (void)argument;
    const ct_tensor *y = ct__value_of(P->y);
    if (ct__first_zero(y) < ct_count(y)) {
        ct_var dx = ct__null_of(P->g);
        ct_grad(bird(P->x[0]), P->g, 1, &P->x[0], &dx);
        return dx;
    }
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
    .pull_text = {"SMUL(SMUL(G, y), transposed inverted X); the cofactors, without division, where "
                  "a y is 0"},
    .prepare = ct__regular_sample,
    .samples = ct__square_samples,
    .sample_count = sizeof ct__square_samples / sizeof *ct__square_samples,
    .errors = ct__square_errors,
    .error_count = sizeof ct__square_errors / sizeof *ct__square_errors,
};
