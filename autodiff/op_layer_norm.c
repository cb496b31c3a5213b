/* layer_norm: normalised rows, with a scale and a shift of the shape of a row if they are given. */

#include "autodiff/layer_norm_rules.h"

#include "tensor/row_pulls.h"

#include <string.h>

/* attr->count is the number of operands. */
static ct_tensor *run(const ct_tensor *const in[], const struct ct__attr *attr) {
    return ct__layer_norm(in[0], attr->axis, attr->count > 1 ? in[1] : NULL,
                          attr->count > 2 ? in[2] : NULL, attr->eps);
}

/* In words of the table, where zeros must not absorb. */
static ct_var plain_pull(const struct ct__pull *P, int argument) {
    if (argument == 0)
        return ct__layer_norm_grad_var(P->x[0], SMUL(P->g, P->x[1]), P->attr);
    int axes[CT_MAX_RANK], rows = ct_rank(ct__value_of(P->x[0])) - ct_rank(ct__value_of(P->x[1]));
    for (int i = 0; i < rows; i++)
        axes[i] = i;
    ct_var items = argument == 2 ? P->g : SMUL(P->g, ct__layer_norm_var(P->x[0], P->attr));
    return ct_var_sum_axes(items, rows, axes, false);
}

static ct_var pull(const struct ct__pull *P, int argument) {
    if (P->attr->count == 1)
        return ct__layer_norm_grad_var(P->x[0], P->g, P->attr);
    if (ct_tape_ieee(P->tape))
        return plain_pull(P, argument);
    return ct__norm_part(P, CT_OP_layer_norm_parts, argument);
}

ct_var ct__layer_norm_var(ct_var x, const struct ct__attr *norm) {
    struct ct__attr attr = {.axis = norm->axis, .eps = norm->eps, .count = 1};
    return ct__record(CT_OP_layer_norm, 1, &x, &attr);
}

/* A scale or shift, broadcast to the last `rank` axes of x; null after the sticky error. */
static ct_var spread_out(ct_var x, const ct_tensor *t, int axis, ct_var part, int rank) {
    const ct_tensor *z = ct__operand(part);
    if (!z || !part.tape)
        return ct__null_of(x);
    const ct_tensor *const in[] = {t, z};
    if (ct__layer_norm_fits(t, axis, z) != CT_OK)
        return ct__fail_op(x.tape, CT_OP_layer_norm, 2, in);
    const int64_t *shape = ct_shape(t) + ct_rank(t) - rank;
    bool has_it =
        ct_rank(z) == rank && memcmp(ct_shape(z), shape, (size_t)rank * sizeof *shape) == 0;
    return has_it ? part : ct_var_broadcast_to(part, rank, shape);
}

ct_var ct_var_layer_norm(ct_var x, int axis, ct_var scale, ct_var shift, double eps) {
    const ct_tensor *t = ct__operand(x);
    struct ct__attr attr = {.axis = axis, .eps = eps, .count = 1};
    bool scaled = scale.tape != NULL, shifted = shift.tape != NULL;
    ct_var in[3] = {x};
    if (!t)
        return ct__record(CT_OP_layer_norm, 1, &x, &attr); /* says what is wrong */
    if (!(eps >= 0) || isinf(eps))
        return ct__tape_fail(x.tape, CT_EDOMAIN, "layer_norm: eps must be 0 or more, and is %g",
                             eps);
    int rank = ct_rank(t), row = rank - ct__front_axis(axis, rank);
    if (scaled && ct_var_is_null(in[attr.count++] = spread_out(x, t, axis, scale, row)))
        return ct__null_of(x);
    ct_var wide = shifted ? spread_out(x, t, axis, shift, scaled ? row : rank) : ct_var_null();
    if (shifted && ct_var_is_null(wide))
        return ct__null_of(x);
    if (shifted && scaled)
        in[attr.count++] = wide;
    ct_var y = ct__record(CT_OP_layer_norm, (int)attr.count, in, &attr);
    return shifted && !scaled ? ADD(y, wide) : y;
}

static const struct ct__sample samples[] = {
    {1, {2}, {{2, 3}}, 0, {.axis = 1, .eps = 0.1, .count = 1}},
    {3, {2, 1, 1}, {{2, 3}, {3}, {3}}, 0, {.axis = -1, .eps = 1e-5, .count = 3}},
    {2, {3, 2}, {{2, 3, 2}, {3, 2}}, 0, {.axis = 1, .eps = 1e-5, .count = 2}},
    {1, {1}, {{5}}, 0, {.axis = 0, .eps = 1e-5, .count = 1}},
    {1, {2}, {{0, 3}}, 0, {.axis = 1, .eps = 1e-5, .count = 1}},
};
static const struct ct__error_sample errors[] = {
    {{1, {2}, {{2, 3}}, 0, {.axis = 2, .count = 1}}, CT_EAXIS, "axis 2 is out of range"},
};

const struct ct__op_record ct__op_layer_norm = {
    .verb = "layer_norm",
    .inputs = 3,
    .run = run,
    .pull = pull,
    .pull_text = {"LAYER_NORM_GRAD(X, SMUL(G, Z))", "SMUL(G, LAYER_NORM(X)), summed over rows",
                  "G, summed over rows"},
    .samples = samples,
    .sample_count = sizeof samples / sizeof *samples,
    .errors = errors,
    .error_count = sizeof errors / sizeof *errors,
};
