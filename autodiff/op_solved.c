/* solved: the y of x y = z or x' y = z. */

#include "autodiff/matrix_rules.h"

/* attr->count: whether x is transposed. */
static ct_tensor *run_factored(const struct ct__lu *lu, const ct_tensor *const in[],
                               const struct ct__attr *attr) {
    return ct__lu_solve("ct_solve", lu, in[1], attr->count != 0);
}

static ct_tensor *run(const ct_tensor *const in[], const struct ct__attr *attr) {
    struct ct__lu lu;
    if (ct__lu_of("ct_solve", in[0], &lu) != CT_OK)
        return NULL;
    ct_tensor *x = run_factored(&lu, in, attr);
    ct__lu_free(&lu);
    return x;
}

/* x of a x = b or a' x = b, for operands that need no broadcast. */
static ct_var record_solved(ct_var a, ct_var b, bool transposed) {
    struct ct__attr attr = {.count = transposed};
    const ct_var in[] = {a, b};
    return ct__record(CT_OP_solved, 2, in, &attr);
}

/* With A = x or x', A dY = dZ - dA Y: the cotangent of z is V = A^-T G, that of A is -V Y'. */
static ct_var pull(const struct ct__pull *P, int argument) {
    bool transposed = P->attr->count != 0;
    if (ct_var_is_null(*P->kept))
        *P->kept = record_solved(P->x[0], P->g, !transposed);
    ct_var v = *P->kept;
    if (argument == 1 || ct_var_is_null(v))
        return v;
    return transposed ? ct__minus_outer(P->y, v) : ct__minus_outer(v, P->y);
}

ct_var ct_var_solve(ct_var a, ct_var b) {
    bool vector;
    bool fits = ct__solve_operands(&a, &b, &vector);
    return ct__solve_result(record_solved(a, b, false), fits && vector);
}

static const struct ct__sample samples[] = {
    {2, {2, 2}, {{3, 3}, {3, 2}}, 0, {.count = 0}},
    {2, {2, 2}, {{3, 3}, {3, 1}}, 0, {.count = 1}},
    {2, {3, 3}, {{2, 2, 2}, {2, 2, 1}}, 0, {.count = 0}},
    {2, {2, 2}, {{0, 0}, {0, 2}}, 0, {.count = 0}},
};
static const struct ct__error_sample errors[] = {
    {{2, {2, 2}, {{2, 3}, {2, 1}}, 0, {0}}, CT_ESHAPE, "square matrices are needed"},
    {{2, {2, 2}, {{3, 3}, {2, 1}}, 0, {0}},
     CT_ESHAPE,
     "the right-hand side needs as many rows as the matrix: [3, 3] and [2, 1]"},
};

const struct ct__op_record ct__op_solved = {
    .verb = "solve",
    .inputs = 2,
    .run = run,
    .run_factored = run_factored,
    .pull = pull,
    .pull_text = {"-(V matmul transposed y), V the pull of z", "solved(transposed X, G)"},
    .prepare = ct__regular_sample,
    .samples = samples,
    .sample_count = sizeof samples / sizeof *samples,
    .errors = errors,
    .error_count = sizeof errors / sizeof *errors,
};
