/* solved_triangular: the y of x y = z or x' y = z, x triangular. */

#include "autodiff/matrix_rules.h"

/* attr->count holds the flags of ct_triangle. */
static ct_tensor *run(const ct_tensor *const in[], const struct ct__attr *attr) {
    return ct_solve_triangular(in[0], in[1], (unsigned)attr->count);
}

/* With A = x or x', A dY = dZ - dA Y: the cotangent of z is V = A^-T G, that of A is -V Y', inside its triangle. */
static ct_var pull(const struct ct__pull *P, int argument) {
    unsigned triangle = (unsigned)P->attr->count;
    if (ct_var_is_null(*P->kept))
        *P->kept = ct_var_solve_triangular(P->x[0], P->g, triangle ^ CT_TRANSPOSED);
    ct_var v = *P->kept;
    if (argument == 1 || ct_var_is_null(v))
        return v;
    ct_var dx = triangle & CT_TRANSPOSED ? ct__minus_outer(P->y, v) : ct__minus_outer(v, P->y);
    return ct__triangle_of(dx, triangle);
}

ct_var ct_var_solve_triangular(ct_var a, ct_var b, unsigned triangle) {
    bool vector;
    struct ct__attr attr = {.count = triangle};
    bool fits = ct__solve_operands(&a, &b, &vector);
    const ct_var in[] = {a, b};
    ct_var x = ct__record(CT_OP_solved_triangular, 2, in, &attr);
    return ct__solve_result(x, fits && vector);
}

static const struct ct__sample samples[] = {
    {2, {2, 2}, {{3, 3}, {3, 2}}, 0, {.count = CT_LOWER}},
    {2, {2, 2}, {{3, 3}, {3, 2}}, 0, {.count = CT_UPPER}},
    {2, {3, 3}, {{2, 2, 2}, {2, 2, 1}}, 0, {.count = CT_LOWER | CT_TRANSPOSED}},
    {2, {2, 2}, {{3, 3}, {3, 1}}, 0, {.count = CT_UPPER | CT_TRANSPOSED | CT_UNIT_DIAGONAL}},
    {2, {2, 2}, {{0, 0}, {0, 2}}, 0, {.count = CT_LOWER}},
};
static const struct ct__error_sample errors[] = {
    {{2, {2, 2}, {{2, 3}, {2, 1}}, 0, {0}}, CT_ESHAPE, "square matrices are needed"},
    {{2, {2, 2}, {{3, 3}, {2, 1}}, 0, {0}},
     CT_ESHAPE,
     "the right-hand side needs as many rows as the matrix: [3, 3] and [2, 1]"},
};

const struct ct__op_record ct__op_solved_triangular = {
    .verb = "solve_triangular",
    .inputs = 2,
    .run = run,
    .pull = pull,
    .pull_text = {"the triangle of -(V matmul transposed y), V the pull of z",
                  "solved_triangular(transposed X, G)"},
    .prepare = ct__regular_sample,
    .samples = samples,
    .sample_count = sizeof samples / sizeof *samples,
    .errors = errors,
    .error_count = sizeof errors / sizeof *errors,
};
