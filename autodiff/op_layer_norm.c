/* layer_norm: normalised rows, with a scale and a shift of the same shape if they are given. */

#include "autodiff/layer_norm_rules.h"

#include "tensor/row_pulls.h"

/* attr->count is the number of operands. */
static ct_tensor *run(const ct_tensor *const in[], const struct ct__attr *attr) {
    return ct__layer_norm(in[0], attr->axis, attr->count > 1 ? in[1] : NULL,
                          attr->count > 2 ? in[2] : NULL, attr->eps);
}

static ct_var pull(const struct ct__pull *P, int argument) {
    if (argument == 2)
        return P->g;
    if (argument == 1)
        return SMUL(P->g, ct__layer_norm_var(P->x[0], P->attr));
    ct_var g = P->attr->count > 1 ? SMUL(P->g, P->x[1]) : P->g;
    return ct__layer_norm_grad_var(P->x[0], g, P->attr);
}

ct_var ct__layer_norm_var(ct_var x, const struct ct__attr *norm) {
    struct ct__attr attr = {.axis = norm->axis, .eps = norm->eps, .count = 1};
    return ct__record(CT_OP_layer_norm, 1, &x, &attr);
}

/* A scale or shift, broadcast to x's shape; null after the sticky error. */
static ct_var spread_out(ct_var x, const ct_tensor *t, int axis, ct_var part) {
    const ct_tensor *z = ct__operand(part);
    if (!z || !part.tape)
        return ct__null_of(x);
    const ct_tensor *const in[] = {t, z};
    if (ct__layer_norm_fits(t, axis, z) != CT_OK)
        return ct__fail_op(x.tape, CT_OP_layer_norm, 2, in);
    return ct_same_shape(t, z) ? part : ct_var_broadcast_to(part, ct_rank(t), ct_shape(t));
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
    if (scaled && ct_var_is_null(in[attr.count++] = spread_out(x, t, axis, scale)))
        return ct__null_of(x);
    ct_var wide = shifted ? spread_out(x, t, axis, shift) : ct_var_null();
    if (shifted && ct_var_is_null(wide))
        return ct__null_of(x);
    if (shifted && scaled)
        in[attr.count++] = wide;
    ct_var y = ct__record(CT_OP_layer_norm, (int)attr.count, in, &attr);
    return shifted && !scaled ? ADD(y, wide) : y;
}

static const struct ct__sample samples[] = {
    {1, {2}, {{2, 3}}, 0, {.axis = 1, .eps = 0.1, .count = 1}},
    {3, {2, 2, 2}, {{2, 3}, {2, 3}, {2, 3}}, 0, {.axis = -1, .eps = 1e-5, .count = 3}},
    {2, {3, 3}, {{2, 3, 2}, {2, 3, 2}}, 0, {.axis = 1, .eps = 1e-5, .count = 2}},
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
    .pull_text = {"LAYER_NORM_GRAD(X, SMUL(G, Z))", "SMUL(G, LAYER_NORM(X))", "G"},
    .samples = samples,
    .sample_count = sizeof samples / sizeof *samples,
    .errors = errors,
    .error_count = sizeof errors / sizeof *errors,
};
