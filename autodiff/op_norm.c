/* norm: along axes, scaled, so that nothing overflows on the way. */

#include "autodiff/reduce_attr.h"

#include "autodiff/ct_var_ops.h"

/* attr: axes, and in eps the order. */
static ct_tensor *run(const ct_tensor *const in[], const struct ct__attr *attr) {
    int axes[CT_MAX_RANK];
    ct__attr_axes(attr, axes);
    return ct_norm_axes(in[0], attr->rank, axes, attr->eps, attr->keepdims);
}

/* Of order 2: x / y; of another: sign(x) (|x| / y)^(order - 1). 0 where y is 0. */
static ct_var pull(const struct ct__pull *P, int argument) {
    const ct_tensor *x = ct__value_of(P->x[0]);
    (void)argument;
    ct_var y = ct__keep_axes(P->y, x, P->attr);
    ct_var g = ct__keep_axes(P->g, x, P->attr);
    ct_var slope;
    if (P->attr->eps == 2) {
        slope = DIV(P->x[0], y);
    } else {
        ct_var sign = SIGN(P->x[0]), size = ABS(P->x[0]), share = DIV(size, y);
        ct_var order = K(P->attr->eps - 1), power = POW(share, order);
        slope = SMUL(sign, power);
    }
    ct_var zero = K(0), none = EQUAL(y, zero);
    return SMUL(g, WHERE(none, zero, slope));
}

ct_var ct_var_norm_axes(ct_var x, int n, const int *axes, double order, bool keepdims) {
    struct ct__attr attr;
    if (!ct__axes_attr(x, n, axes, &attr))
        return ct__null_of(x);
    if (order == 0)
        return ct__tape_fail_in("norm", x.tape, CT_EDOMAIN,
                                "a norm of order 0 counts items and has no derivative");
    if (order == 1)
        return ct_var_sum_axes(ct_var_abs(x), n, axes, keepdims);
    if (order > 0 && isinf(order))
        return ct_var_max_axes(ct_var_abs(x), n, axes, keepdims);
    if (isinf(order))
        return ct_var_min_axes(ct_var_abs(x), n, axes, keepdims);
    attr.keepdims = keepdims;
    attr.eps = order;
    return ct__record(CT_OP_norm, 1, &x, &attr);
}

ct_var ct_var_norm(ct_var x, int axis, double order, bool keepdims) {
    return ct_var_norm_axes(x, 1, &axis, order, keepdims);
}

static const struct ct__sample samples[] = {
    {1, {2}, {{2, 3}}, 0, {.rank = 1, .shape = {1}, .eps = 2}},
    {1, {2}, {{2, 3}}, 0, {.rank = 1, .shape = {-2}, .keepdims = true, .eps = 2}},
    {1, {3}, {{2, 3, 2}}, 0, {.rank = 2, .shape = {0, 2}, .eps = 2}},
    {1, {2}, {{2, 3}}, 0, {.rank = 1, .shape = {CT_ALL}, .eps = 3}},
    {1, {2}, {{2, 3}}, 0, {.rank = 1, .shape = {1}, .eps = 1.5}},
    {1, {2}, {{2, 0}}, 0, {.rank = 1, .shape = {1}, .eps = 2}},
};
static const struct ct__error_sample errors[] = {
    {{1, {2}, {{2, 3}}, 0, {.rank = 1, .shape = {2}, .eps = 2}},
     CT_EAXIS,
     "axis 2 is out of range"},
    {{1, {2}, {{2, 3}}, 0, {.rank = 1, .shape = {1}, .eps = -1}}, CT_EDOMAIN, "order"},
};

const struct ct__op_record ct__op_norm = {
    .verb = "norm",
    .inputs = 1,
    .run = run,
    .pull = pull,
    .pull_text = {"SMUL(G, WHERE(EQUAL(Y, 0), 0, SMUL(SIGN(X), POW(DIV(ABS(X), Y), order - 1))))"},
    .samples = samples,
    .sample_count = sizeof samples / sizeof *samples,
    .errors = errors,
    .error_count = sizeof errors / sizeof *errors,
};
