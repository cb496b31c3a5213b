#include "convention_cells.h"

#include "autodiff/ct_network.h"
#include "autodiff/ct_var_ops.h"
#include "case_tools.h"
#include "tensor/ct_index.h"

/* ---- the functions */

/* A constant of the variable's scalar type. */
static ct_var number(ct_var like, double value) {
    const ct_tensor *t = ct_value(like);
    return t ? ct_constant_of(like.tape, ct_dtype(t), value) : like;
}

static ct_var numbers(ct_var like, size_t n, const double *items) {
    const ct_tensor *t = ct_value(like);
    ct_tensor *made = t ? ct_from_doubles(ct_dtype(t), 1, &(int64_t){(int64_t)n}, n, items) : NULL;
    ct_var v = made ? ct_constant(like.tape, made, NULL) : like;
    ct_free(made);
    return v;
}

static ct_var whole(ct_var like, size_t n, const double *items) {
    ct_tensor *made = ct_from_doubles(CT_I64, 1, &(int64_t){(int64_t)n}, n, items);
    ct_var v = ct_constant(like.tape, made, NULL);
    ct_free(made);
    return v;
}

static ct_var as_rows(ct_var x, int64_t rows) {
    const ct_tensor *t = ct_value(x);
    return t ? ct_var_reshape(x, 2, (int64_t[]){rows, (int64_t)ct_count(t) / rows}) : x;
}

#define K(value)       number(*x, value)
#define NUMBERS(...)   numbers(*x, COUNT(((double[]){__VA_ARGS__})), (double[]){__VA_ARGS__})
#define WHOLE(...)     whole(*x, COUNT(((double[]){__VA_ARGS__})), (double[]){__VA_ARGS__})

// clang-format off
#define FN(name, expression)                                                                       \
    static ct_var name(const ct_var *x)                                                            \
    {                                                                                              \
        return expression;                                                                         \
    }
#define ROW(id) FN(fn_##id, ct_var_##id(*x))
#define ROW2(id) FN(fn_##id, ct_var_##id(x[0], x[1]))
#define POWER(name, exponent) FN(name, ct_var_pow(*x, K(exponent)))

ROW(abs) ROW(sign) ROW(relu) ROW(relu_mask) ROW(sqrt) ROW(rsqrt) ROW(log) ROW(reciprocal) ROW(softplus) ROW(sigmoid)
ROW(log_sigmoid) ROW(silu) ROW(gelu) ROW(gelu_tanh) ROW(tanh) ROW(mish) ROW(floor) ROW(round) ROW(asin) ROW(acos)
ROW2(maximum) ROW2(minimum) ROW2(fmax) ROW2(fmin) ROW2(pow) ROW2(hypot) ROW2(atan2) ROW2(relu_grad)
POWER(pow_minus_1, -1) POWER(pow_0, 0) POWER(pow_half, 0.5) POWER(pow_1, 1) POWER(pow_1_875, 1.875) POWER(pow_2, 2)
POWER(pow_3, 3) POWER(pow_5, 5)
FN(zero_to_the, ct_var_pow(K(0), *x))
FN(clamp, ct_var_clamp(x[0], x[1], x[2]))
FN(clamp_0_1, ct_var_clamp(*x, K(0), K(1)))
FN(maximum_with_0, ct_var_maximum(*x, K(0)))
FN(max_all, ct_var_max(*x, CT_ALL, false))
FN(min_all, ct_var_min(*x, CT_ALL, false))
FN(max_of_rows, ct_var_max(as_rows(*x, 2), 1, false))
FN(max_of_columns, ct_var_max(as_rows(*x, 2), 0, false))
FN(pooled, ct_var_max_pool(ct_var_reshape(*x, 3, (int64_t[]){1, 1, 4}), &(int64_t){2}, &(struct ct_window){.stride = {2}}))
FN(norm_1, ct_var_norm(*x, CT_ALL, 1, false))
FN(norm_2, ct_var_norm(*x, CT_ALL, 2, false))
FN(norm_3, ct_var_norm(*x, CT_ALL, 3, false))
FN(norm_half, ct_var_norm(*x, CT_ALL, 0.5, false))
FN(norm_infinity, ct_var_norm(*x, CT_ALL, INF, false))
FN(norm_least, ct_var_norm(*x, CT_ALL, -INF, false))
FN(norms_of_rows, ct_var_norm(as_rows(*x, 2), 1, 2, true))
FN(root_of_squares, ct_var_sqrt(ct_var_sum(ct_var_square(*x), CT_ALL, false)))
FN(root_of_square, ct_var_sqrt(ct_var_mul(*x, *x)))
FN(std_1, ct_var_std(*x, 0, 1, false))
FN(std_0, ct_var_std(*x, 0, 0, false))
FN(variance_1, ct_var_variance(*x, 0, 1, false))
FN(variance_0, ct_var_variance(*x, 0, 0, false))
FN(prod, ct_var_prod(*x, 0, false))
FN(prods_of_rows, ct_var_prod(as_rows(*x, 3), 1, false))
FN(cumprod, ct_var_cumprod(*x, 0))
FN(logsumexp, ct_var_logsumexp(*x, 0, false))
FN(softmax, ct_var_softmax(*x, 0))
FN(log_softmax, ct_var_log_softmax(*x, 0))
FN(bce_0, ct_var_bce_with_logits(*x, NUMBERS(0, 0, 0, 0), CT_REDUCE_NONE))
FN(bce_1, ct_var_bce_with_logits(*x, NUMBERS(1, 1, 1, 1), CT_REDUCE_NONE))
FN(cross_entropy_soft, ct_var_cross_entropy_soft(as_rows(*x, 1), as_rows(NUMBERS(0, 0.25, 0.75), 1), CT_REDUCE_SUM))
FN(cross_entropy_1, ct_var_cross_entropy(as_rows(*x, 1), WHOLE(1), CT_REDUCE_SUM))
FN(kl_div, ct_var_kl_div(*x, NUMBERS(0, 1), CT_REDUCE_SUM))
FN(scatter, ct_var_scatter(x[0], 0, WHOLE(1, 1, 2, 1), x[1]))
FN(scatter_add, ct_var_scatter_add(x[0], 0, WHOLE(1, 1, 2, 1), x[1]))
FN(is_positive, ct_var_greater(*x, K(0)))
FN(masked_root, ct_var_where(is_positive(x), ct_var_sqrt(*x), *x))
FN(log_times_mask, ct_var_mul(ct_var_log(*x), ct_var_relu_mask(*x)))

static ct_var sorted(const ct_var *x) {
    const ct_tensor *value = ct_value(*x);
    ct_tensor *order = value ? ct_argsort(value, 0, false) : NULL;
    ct_var at = ct_constant(x->tape, order, NULL);
    ct_free(order);
    return ct_var_gather(*x, 0, at);
}

static ct_var at_argmax(const ct_var *x) {
    const ct_tensor *value = ct_value(*x);
    ct_tensor *place = value ? ct_argmax(value, 0, true) : NULL;
    ct_var at = ct_constant(x->tape, place, NULL);
    ct_free(place);
    return ct_var_gather(*x, 0, at);
}

/* ---- the cells */

#define N(...) {COUNT(((double[]){__VA_ARGS__})), (const double[]){__VA_ARGS__}}
#define NONE {0, NULL}
#define ONE(rule, bugs, fn, x, y, dx, second) {rule, bugs, fn, {x}, y, {dx}, {second}, NONE, NULL}
#define TWO(rule, bugs, fn, x, z, y, dx, dz, ...) {rule, bugs, fn, {x, z}, y, {dx, dz}, {__VA_ARGS__}, NONE, NULL}

#define LN2 0.69314718055994531
const struct cell convention_cells[] = {
    ONE("`abs` at 0", "B004", fn_abs, N(0, -0.0, 2, -2, QNAN, INF), N(0, 0, 2, 2, QNAN, INF), N(0, 0, 1, -1, QNAN, 1), N(0, 0, 0, 0, 0, 0)),
    ONE("`sign`, `round` and their like", "B045", fn_sign, N(0, -0.0, 3, -3, QNAN), N(0, 0, 1, -1, QNAN), N(0, 0, 0, 0, 0), N(0, 0, 0, 0, 0)),
    ONE("`sign`, `round` and their like", "B045", fn_floor, N(0, -0.0, 1.5, QNAN, INF), N(0, -0.0, 1, QNAN, INF), N(0, 0, 0, 0, 0), N(0, 0, 0, 0, 0)),
    ONE("`sign`, `round` and their like", "B045", fn_round, N(0.5, 1.5, 2, QNAN), N(0, 2, 2, QNAN), N(0, 0, 0, 0), N(0, 0, 0, 0)),
    ONE("`relu` at 0 and NaN", NULL, fn_relu, N(0, -0.0, 1, -1, QNAN, INF, -INF), N(0, -0.0, 1, 0, QNAN, INF, 0), N(0, 0, 1, 0, 0, 1, 0), N(0, 0, 0, 0, 0, 0, 0)),
    ONE("`relu` at 0 and NaN", NULL, fn_relu_mask, N(0, -0.0, 1, -1, QNAN), N(0, 0, 1, 0, 0), N(0, 0, 0, 0, 0), N(0, 0, 0, 0, 0)),
    TWO("`relu` at 0 and NaN", NULL, fn_relu_grad, N(3, 3, 3, 3), N(0, 1, -1, QNAN), N(0, 3, 0, 0), N(0, 1, 0, 0), N(0, 0, 0, 0), N(0, 0, 0, 0), N(0, 0, 0, 0)),

    TWO("`maximum`, `minimum` at equality", "B002", fn_maximum, N(1, 0, -0.0, 2, 1, QNAN, 1, QNAN, INF), N(1, -0.0, 0, 1, 2, 1, QNAN, QNAN, INF), N(1, 0, 0, 2, 2, QNAN, QNAN, QNAN, INF), N(0.5, 0.5, 0.5, 1, 0, 1, 0, 0.5, 0.5), N(0.5, 0.5, 0.5, 0, 1, 0, 1, 0.5, 0.5), N(0, 0, 0, 0, 0, 0, 0, 0, 0), N(0, 0, 0, 0, 0, 0, 0, 0, 0)),
    ONE("`maximum`, `minimum` at equality", "B002", maximum_with_0, N(0, -0.0, 1, -1), N(0, 0, 1, 0), N(0.5, 0.5, 1, 0), N(0, 0, 0, 0)),
    TWO("`maximum`, `minimum` at equality", "B002", fn_minimum, N(1, 0, -0.0, 2, 1, QNAN, 1, QNAN, -INF), N(1, -0.0, 0, 1, 2, 1, QNAN, QNAN, -INF), N(1, -0.0, -0.0, 1, 1, QNAN, QNAN, QNAN, -INF), N(0.5, 0.5, 0.5, 0, 1, 1, 0, 0.5, 0.5), N(0.5, 0.5, 0.5, 1, 0, 0, 1, 0.5, 0.5), N(0, 0, 0, 0, 0, 0, 0, 0, 0), N(0, 0, 0, 0, 0, 0, 0, 0, 0)),
    TWO("`fmax`, `fmin` with NaN", NULL, fn_fmax, N(1, QNAN, 1, QNAN), N(1, 1, QNAN, QNAN), N(1, 1, 1, QNAN), N(0.5, 0, 1, 0.5), N(0.5, 1, 0, 0.5), N(0, 0, 0, 0), N(0, 0, 0, 0)),
    TWO("`fmax`, `fmin` with NaN", NULL, fn_fmin, N(1, QNAN, 1, QNAN), N(1, 1, QNAN, QNAN), N(1, 1, 1, QNAN), N(0.5, 0, 1, 0.5), N(0.5, 1, 0, 0.5), N(0, 0, 0, 0), N(0, 0, 0, 0)),

    ONE("`max`, `min` over axes, k ties", "B001", max_all, N(3, 1, 3), N(3), N(0.5, 0, 0.5), N(0, 0, 0)),
    ONE("`max`, `min` over axes, k ties", "B001", max_all, N(2, 2, 2, 2), N(2), N(0.25, 0.25, 0.25, 0.25), N(0, 0, 0, 0)),
    ONE("`max`, `min` over axes, k ties", "B001", max_all, N(-INF, -INF), N(-INF), N(0.5, 0.5), N(0, 0)),
    ONE("`max`, `min` over axes, k ties", "B001", max_all, N(0, -0.0, -1), N(0), N(0.5, 0.5, 0), N(0, 0, 0)),
    ONE("`max`, `min` over axes, k ties", "B001", max_all, N(QNAN, 1, QNAN), N(QNAN), N(0.5, 0, 0.5), N(0, 0, 0)),
    ONE("`max`, `min` over axes, k ties", "B001", min_all, N(1, 3, 1), N(1), N(0.5, 0, 0.5), N(0, 0, 0)),
    ONE("`max`, `min` over axes, k ties", "B001", max_of_rows, N(1, 1, 0, 2, 3, 3), N(1, 3), N(0.5, 0.5, 0, 0, 0.5, 0.5), N(0, 0, 0, 0, 0, 0)),
    ONE("`max`, `min` over axes, k ties", "B001", max_of_columns, N(1, 4, 1, 3), N(1, 4), N(0.5, 1, 0.5, 0), N(0, 0, 0, 0)),
    ONE("max pooling, `argmax`, `sort` at ties", NULL, pooled, N(1, 1, 0, 2), N(1, 2), N(1, 0, 0, 1), N(0, 0, 0, 0)),
    ONE("max pooling, `argmax`, `sort` at ties", NULL, pooled, N(QNAN, 1, 2, 2), N(QNAN, 2), N(1, 0, 1, 0), N(0, 0, 0, 0)),
    ONE("max pooling, `argmax`, `sort` at ties", NULL, at_argmax, N(1, 3, 3), N(3), N(0, 1, 0), N(0, 0, 0)),
    {"max pooling, `argmax`, `sort` at ties", NULL, sorted, {N(2, 1, 2, 1)}, N(1, 1, 2, 2), {N(30, 10, 40, 20)}, {N(0, 0, 0, 0)}, N(10, 20, 30, 40), NULL},

    ONE("`clamp` at its bounds", "B024", clamp_0_1, N(0, 1, -0.0, 0.5, 2, -1, QNAN, INF), N(0, 1, -0.0, 0.5, 1, 0, QNAN, 1), N(1, 1, 1, 1, 0, 0, 0, 0), N(0, 0, 0, 0, 0, 0, 0, 0)),
    {"`clamp` at its bounds", "B024", clamp, {N(0, 1, 2, -1), N(0, 0, 0, 0), N(1, 1, 1, 1)}, N(0, 1, 1, 0), {N(1, 1, 0, 0), N(0, 0, 0, 1), N(0, 0, 1, 0)}, {N(0, 0, 0, 0), N(0, 0, 0, 0), N(0, 0, 0, 0)}, NONE, NULL},

    ONE("`sqrt`, `rsqrt`, `log`, `1/x` at 0", "B005", fn_sqrt, N(0, 4, INF), N(0, 2, INF), N(INF, 0.25, 0), N(-INF, -0.03125, 0)),
    ONE("`sqrt`, `rsqrt`, `log`, `1/x` at 0", NULL, fn_rsqrt, N(0, 4, INF), N(INF, 0.5, 0), N(-INF, -0.0625, 0), N(INF, 0.0234375, 0)),
    ONE("`sqrt`, `rsqrt`, `log`, `1/x` at 0", NULL, fn_log, N(0, 2, INF), N(-INF, LN2, INF), N(INF, 0.5, 0), N(-INF, -0.25, 0)),
    ONE("`sqrt`, `rsqrt`, `log`, `1/x` at 0", NULL, fn_reciprocal, N(0, 2, INF), N(INF, 0.5, 0), N(-INF, -0.25, 0), N(INF, 0.25, 0)),
    ONE("`asin`, `acos` at -1 and 1", "B023", fn_asin, N(1, -1, 0), N(1.5707963267948966, -1.5707963267948966, 0), N(INF, INF, 1), NONE),
    ONE("`asin`, `acos` at -1 and 1", "B023", fn_acos, N(1, -1, 0), N(0, 3.1415926535897931, 1.5707963267948966), N(-INF, -INF, -1), NONE),
    TWO("`atan2` at the origin", "B023", fn_atan2, N(0, 0, 1), N(0, 1, 0), N(0, 0, 1.5707963267948966), N(QNAN, 1, 0), N(QNAN, 0, -1), NONE),

    ONE("`pow`", "B013", pow_0, N(0, 2, QNAN, INF), N(1, 1, 1, 1), N(0, 0, 0, 0), N(0, 0, 0, 0)),
    ONE("`pow`", "B015", pow_minus_1, N(0, 2), N(INF, 0.5), N(-INF, -0.25), N(INF, 0.25)),
    ONE("`pow`", "B015", pow_half, N(0, 4), N(0, 2), N(INF, 0.25), N(-INF, -0.03125)),
    ONE("`pow`", "B015", pow_1, N(0, 2), N(0, 2), N(1, 1), N(0, 0)),
    ONE("`pow`", "B015", pow_1_875, N(0, 1), N(0, 1), N(0, 1.875), N(INF, 1.640625)),
    ONE("`pow`", "B015", pow_2, N(0, -3, INF), N(0, 9, INF), N(0, -6, INF), N(2, 2, 2)),
    ONE("`pow`", "B015", pow_3, N(0, -2), N(0, -8), N(0, 12), N(0, -12)),
    ONE("`pow`", "B016", pow_5, N(-5), N(-3125), N(3125), N(-2500)),
    ONE("`pow`", "B014", zero_to_the, N(0, 2, INF), N(1, 0, 0), N(0, 0, 0), N(0, 0, 0)),
    ONE("`pow`", "B014", zero_to_the, N(-1), N(INF), N(-INF), NONE),
    TWO("`pow`", "B014", fn_pow, N(0, 0, 2), N(0, 1, 1), N(1, 0, 2), N(0, 1, 1), N(0, 0, 2 * LN2), NONE),
    TWO("`pow`", "B014", fn_pow, N(0), N(-1), N(INF), N(-INF), N(-INF), NONE),
    TWO("`pow`", "B016", fn_pow, N(-5), N(5), N(-3125), N(3125), N(QNAN), NONE),

    ONE("`norm`, `hypot`, `std` at 0", "B006", norm_2, N(0, -0.0), N(0), N(0, 0), N(0, 0)),
    ONE("`norm`, `hypot`, `std` at 0", "B006", norm_2, N(3, 4), N(5), N(0.6, 0.8), N(0.032, -0.024)),
    ONE("`norm`, `hypot`, `std` at 0", "B006", norms_of_rows, N(0, 0, 3, 4), N(0, 5), N(0, 0, 0.6, 0.8), N(0, 0, 0.032, -0.024)),
    ONE("`norm`, `hypot`, `std` at 0", "B008", norm_1, N(0, -2, 3, -0.0), N(5), N(0, -1, 1, 0), N(0, 0, 0, 0)),
    ONE("`norm`, `hypot`, `std` at 0", NULL, norm_infinity, N(2, -2, 1), N(2), N(0.5, -0.5, 0), N(0, 0, 0)),
    ONE("`norm`, `hypot`, `std` at 0", NULL, norm_infinity, N(0, 0), N(0), N(0, 0), N(0, 0)),
    ONE("`norm`, `hypot`, `std` at 0", NULL, norm_least, N(2, -1, 1), N(1), N(0, -0.5, 0.5), N(0, 0, 0)),
    ONE("`norm`, `hypot`, `std` at 0", NULL, norm_3, N(0, -0.0), N(0), N(0, 0), N(0, 0)),
    ONE("`norm`, `hypot`, `std` at 0", "B008", norm_half, N(0, 4), N(4), N(0, 1), NONE),
    TWO("`norm`, `hypot`, `std` at 0", "B006", fn_hypot, N(0, 3), N(0, 4), N(0, 5), N(0, 0.6), N(0, 0.8), N(0, 0.032), N(0, -0.024)),
    ONE("`norm`, `hypot`, `std` at 0", "B010", std_1, N(1, 1, 1), N(0), N(0, 0, 0), NONE),
    ONE("`norm`, `hypot`, `std` at 0", "B011", std_0, N(5), N(0), N(0), NONE),
    ONE("`norm`, `hypot`, `std` at 0", "B006", root_of_squares, N(0, -0.0), N(0), N(0, 0), NONE),
    ONE("`norm`, `hypot`, `std` at 0", "B005", root_of_square, N(0, 3), N(0, 3), N(0, 1), NONE),
    {"norms do not overflow", "B009", norm_2, {N(3e200, 4e200)}, N(5e200), {N(0.6, 0.8)}, {NONE}, NONE, CT_F64},
    {"norms do not overflow", "B009", norm_2, {N(3e-200, 4e-200)}, N(5e-200), {N(0.6, 0.8)}, {NONE}, NONE, CT_F64},
    {"norms do not overflow", "B009", norm_2, {N(3e30, 4e30)}, N(5e30), {N(0.6, 0.8)}, {NONE}, NONE, CT_F32},
    {"norms do not overflow", "B009", norm_2, {N(3e-30, 4e-30)}, N(5e-30), {N(0.6, 0.8)}, {NONE}, NONE, CT_F32},
    {"norms do not overflow", "B009", fn_hypot, {N(3e200), N(4e200)}, N(5e200), {N(0.6), N(0.8)}, {NONE}, NONE, CT_F64},

    ONE("`prod` with zeros", "B026", prod, N(2, 0, 5), N(0), N(0, 10, 0), N(5, 7, 2)),
    ONE("`prod` with zeros", "B026", prod, N(0, 0, 4), N(0), N(0, 0, 0), N(4, 4, 0)),
    ONE("`prod` with zeros", "B026", prod, N(0, 0, 0), N(0), N(0, 0, 0), N(0, 0, 0)),
    ONE("`prod` with zeros", "B027", prod, N(0), N(0), N(1), N(0)),
    ONE("`prod` with zeros", "B026", prods_of_rows, N(2, 0, 0, 0, 3, 5), N(0, 0, 15), N(0, 2, 0, 0, 5, 3), N(1, 1, 1, 1, 1, 1)),
    ONE("`prod` with zeros", "B026", cumprod, N(2, 0, 5), N(2, 0, 0), N(1, 12, 0), N(6, 8, 2)),

    ONE("`logsumexp` with infinities", "B030", logsumexp, N(-INF, -INF), N(-INF), N(0, 0), N(0, 0)),
    ONE("`logsumexp` with infinities", "B030", logsumexp, N(-INF), N(-INF), N(0), N(0)),
    ONE("`logsumexp` with infinities", "B031", logsumexp, N(INF, 0), N(INF), N(1, 0), N(0, 0)),
    ONE("`logsumexp` with infinities", "B031", logsumexp, N(INF, INF), N(INF), N(0.5, 0.5), N(0, 0)),
    ONE("`logsumexp` with infinities", "B031", logsumexp, N(-INF, 0), N(0), N(0, 1), N(0, 0)),
    ONE("`logsumexp` with infinities", "B031", logsumexp, N(800, 800), N(800 + LN2), N(0.5, 0.5), N(0, 0)),
    {"`log_softmax` with infinities", "B030", log_softmax, {N(-INF, -INF)}, N(QNAN, QNAN), {N(0, 0)}, {N(0, 0)}, N(1, 2), NULL},
    {"`log_softmax` with infinities", NULL, log_softmax, {N(-INF, 0)}, N(-INF, 0), {N(1, -1)}, {N(0, 0)}, N(1, 0), NULL},
    {"`log_softmax` with infinities", NULL, log_softmax, {N(-INF, 0)}, N(-INF, 0), {N(0, 0)}, {N(0, 0)}, N(0, 1), NULL},
    {"`softmax` with infinities", "B034", softmax, {N(-INF, 0, 0)}, N(0, 0.5, 0.5), {N(0, 0.25, -0.25)}, {N(0, 0, 0)}, N(7, 2, 1), NULL},
    {"`softmax` with infinities", "B033", softmax, {N(1, INF, 2)}, N(0, 1, 0), {N(0, 0, 0)}, {N(0, 0, 0)}, N(1, 2, 3), NULL},
    {"`softmax` with infinities", "B034", softmax, {N(-INF, -INF)}, N(QNAN, QNAN), {N(QNAN, QNAN)}, {NONE}, N(1, 2), NULL},

    ONE("`sigmoid`, `tanh` far out", "B042", fn_sigmoid, N(0, 800, -800, INF, -INF), N(0.5, 1, 0, 1, 0), N(0.25, 0, 0, 0, 0), N(0, 0, 0, 0, 0)),
    ONE("`sigmoid`, `tanh` far out", NULL, fn_tanh, N(0, 800, -800, INF, -INF), N(0, 1, -1, 1, -1), N(1, 0, 0, 0, 0), N(0, 0, 0, 0, 0)),
    ONE("`softplus`, `log_sigmoid` far out", "B042", fn_softplus, N(0, 800, -800, INF, -INF), N(LN2, 800, 0, INF, 0), N(0.5, 1, 0, 1, 0), N(0.25, 0, 0, 0, 0)),
    ONE("`softplus`, `log_sigmoid` far out", "B042", fn_log_sigmoid, N(0, 800, -800, INF, -INF), N(-LN2, -0.0, -800, -0.0, -INF), N(0.5, 0, 1, 0, 1), N(-0.25, 0, 0, 0, 0)),
    ONE("`silu`, `gelu`, `mish` far out", "B044", fn_silu, N(0, 800, -800, INF, -INF), N(0, 800, -0.0, INF, -0.0), N(0.5, 1, 0, 1, 0), N(0.5, 0, 0, 0, 0)),
    ONE("`silu`, `gelu`, `mish` far out", "B044", fn_gelu, N(0, 800, -800, INF, -INF), N(0, 800, -0.0, INF, -0.0), N(0.5, 1, 0, 1, 0), N(0.79788456080286541, 0, 0, 0, 0)),
    ONE("`silu`, `gelu`, `mish` far out", "B044", fn_gelu_tanh, N(0, 800, -800, INF, -INF), N(0, 800, -0.0, INF, -0.0), N(0.5, 1, 0, 1, 0), N(0.79788456080286541, 0, 0, 0, 0)),
    ONE("`silu`, `gelu`, `mish` far out", NULL, fn_mish, N(0, 800, -800, INF, -INF), N(0, 800, -0.0, INF, -0.0), N(0.6, 1, 0, 1, 0), N(0.64, 0, 0, 0, 0)),
    ONE("binary cross entropy of logits far out", "B040", bce_0, N(800, -800, INF, -INF), N(800, 0, INF, 0), N(1, 0, 1, 0), N(0, 0, 0, 0)),
    ONE("binary cross entropy of logits far out", "B040", bce_1, N(800, -800, INF, -INF), N(0, 800, 0, INF), N(0, -1, 0, -1), N(0, 0, 0, 0)),
    ONE("cross entropy with a zero target", NULL, cross_entropy_soft, N(-INF, 0, 0), N(LN2), N(0, 0.25, -0.25), N(0, 0, 0)),
    ONE("cross entropy with a zero target", NULL, cross_entropy_1, N(-INF, 0, 0), N(LN2), N(0, -0.5, 0.5), N(0, 0, 0)),
    ONE("cross entropy with a zero target", "B046", kl_div, N(-INF, -1), N(1), N(0, -1), N(0, 0)),

    {"`scatter` with repeated indices", NULL, scatter, {N(9, 9, 9, -0.0), N(1, 2, 3, 4)}, N(9, 4, 3, -0.0), {N(1, 0, 0, 4), N(0, 0, 3, 2)}, {N(0, 0, 0, 0), N(0, 0, 0, 0)}, N(1, 2, 3, 4), NULL},
    {"`scatter_add` with repeated indices", NULL, scatter_add, {N(9, 9, 9, 9), N(1, 2, 3, 4)}, N(9, 16, 12, 9), {N(1, 2, 3, 4), N(2, 2, 3, 2)}, {N(0, 0, 0, 0), N(0, 0, 0, 0)}, N(1, 2, 3, 4), NULL},

    ONE("`variance` of one item", "B011", variance_1, N(5), N(QNAN), N(QNAN), NONE),
    ONE("`variance` of one item", "B011", variance_0, N(5), N(0), N(0), N(0)),

    ONE("zero absorbs in a derivative", "B019", masked_root, N(-1, 0, 4), N(-1, 0, 2), N(1, 1, 0.25), N(0, 0, -0.03125)),
    ONE("zero absorbs in a derivative", "B021", log_times_mask, N(0, 2), N(QNAN, LN2), N(0, 0.5), NONE),
};
const int convention_cell_count = COUNT(convention_cells);
