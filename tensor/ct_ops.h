/**
 * @file ct_ops.h
 * Elementwise ops on tensors. Made from tensor/ops.def by `make ops`; do not edit.
 *
 * Operands are broadcast as in NumPy and must be of one scalar type; there is no implicit
 * promotion (ct_astype() converts). A scalar type without the op is CT_EDTYPE, shapes that do not
 * broadcast are CT_ESHAPE, and a NULL operand passes NULL on. The result is new and dense, except
 * that comparisons and tests give bool, that logic takes and gives bool, and that the mask of
 * ct_where() is bool. Bits depend on the items alone. Formulas and derivatives stand in
 * docs/ops.md.
 */
#ifndef CT_OPS_H
#define CT_OPS_H

#include "tensor/ct_tensor.h"

CT_BEGIN_DECLS

/** x + z. */
CT_API ct_tensor *ct_add(const ct_tensor *x, const ct_tensor *z);
/** x - z. */
CT_API ct_tensor *ct_sub(const ct_tensor *x, const ct_tensor *z);
/** x z. */
CT_API ct_tensor *ct_mul(const ct_tensor *x, const ct_tensor *z);
/** x / z. */
CT_API ct_tensor *ct_div(const ct_tensor *x, const ct_tensor *z);
/**
 * x z, but +0 where either factor is exactly 0, even against an infinity or NaN: the product of
 * derivative rules.
 */
CT_API ct_tensor *ct_smul(const ct_tensor *x, const ct_tensor *z);
/**
 * x / z, but +0 where x is exactly 0, even over a zero or NaN: the quotient of derivative rules.
 */
CT_API ct_tensor *ct_sdiv(const ct_tensor *x, const ct_tensor *z);
/** the largest integer not above x / z, as Python's and NumPy's //; x / 0 is that of div. */
CT_API ct_tensor *ct_floor_div(const ct_tensor *x, const ct_tensor *z);
/**
 * what floor_div leaves, x - z floor_div(x, z), with the sign of z, as Python's and NumPy's %; NaN
 * for z = 0.
 */
CT_API ct_tensor *ct_mod(const ct_tensor *x, const ct_tensor *z);
/** x - z trunc(x / z), exactly, with the sign of x, as C's fmod. */
CT_API ct_tensor *ct_fmod(const ct_tensor *x, const ct_tensor *z);
/**
 * x to the power z, as C's pow; d/dx 0^0 = 0, d/dz 0^z = 0 for z >= 0, a constant exponent never
 * poisons.
 */
CT_API ct_tensor *ct_pow(const ct_tensor *x, const ct_tensor *z);
/**
 * the larger of x and z (IEEE 754-2019: NaN propagates, +0 > -0); at equality each gets half the
 * gradient.
 */
CT_API ct_tensor *ct_maximum(const ct_tensor *x, const ct_tensor *z);
/**
 * the smaller of x and z (IEEE 754-2019: NaN propagates, -0 < +0); at equality each gets half the
 * gradient.
 */
CT_API ct_tensor *ct_minimum(const ct_tensor *x, const ct_tensor *z);
/**
 * the larger of x and z, where a NaN stands for no number: it takes nothing (IEEE 754-2019
 * maximumNumber).
 */
CT_API ct_tensor *ct_fmax(const ct_tensor *x, const ct_tensor *z);
/**
 * the smaller of x and z, where a NaN stands for no number: it takes nothing (IEEE 754-2019
 * minimumNumber).
 */
CT_API ct_tensor *ct_fmin(const ct_tensor *x, const ct_tensor *z);
/** |x| with the sign of z, that of a zero or NaN too; the derivative at x = 0 is 0. */
CT_API ct_tensor *ct_copysign(const ct_tensor *x, const ct_tensor *z);
/** the share of x in the gradient of maximum(x, z): 1, 1/2 or 0; a NaN takes all, two share. */
CT_API ct_tensor *ct_max_share(const ct_tensor *x, const ct_tensor *z);
/** -x. */
CT_API ct_tensor *ct_neg(const ct_tensor *x);
/** |x|; the derivative at 0 is 0. */
CT_API ct_tensor *ct_abs(const ct_tensor *x);
/** 1, -1, or 0 at both zeros; NaN stays NaN. */
CT_API ct_tensor *ct_sign(const ct_tensor *x);
/** x squared. */
CT_API ct_tensor *ct_square(const ct_tensor *x);
/** the square root; the derivative at 0 is +infinity. */
CT_API ct_tensor *ct_sqrt(const ct_tensor *x);
/** 1 / sqrt(x). */
CT_API ct_tensor *ct_rsqrt(const ct_tensor *x);
/** 1 / x. */
CT_API ct_tensor *ct_reciprocal(const ct_tensor *x);
/** the cube root, of negative numbers too; the derivative at 0 is +infinity. */
CT_API ct_tensor *ct_cbrt(const ct_tensor *x);
/** the largest integer not above x. */
CT_API ct_tensor *ct_floor(const ct_tensor *x);
/** the smallest integer not below x. */
CT_API ct_tensor *ct_ceil(const ct_tensor *x);
/** the nearest integer, the even one of two. */
CT_API ct_tensor *ct_round(const ct_tensor *x);
/** the integer part, towards 0. */
CT_API ct_tensor *ct_trunc(const ct_tensor *x);
/** e to the x. */
CT_API ct_tensor *ct_exp(const ct_tensor *x);
/** e to the x, minus 1, accurate near 0. */
CT_API ct_tensor *ct_expm1(const ct_tensor *x);
/** the natural logarithm. */
CT_API ct_tensor *ct_log(const ct_tensor *x);
/** 2 to the x. */
CT_API ct_tensor *ct_exp2(const ct_tensor *x);
/** the logarithm to base 2. */
CT_API ct_tensor *ct_log2(const ct_tensor *x);
/** the logarithm to base 10. */
CT_API ct_tensor *ct_log10(const ct_tensor *x);
/** log(1 + x), accurate near 0. */
CT_API ct_tensor *ct_log1p(const ct_tensor *x);
/** the sine of x radians. */
CT_API ct_tensor *ct_sin(const ct_tensor *x);
/** the cosine of x radians. */
CT_API ct_tensor *ct_cos(const ct_tensor *x);
/** the tangent of x radians. */
CT_API ct_tensor *ct_tan(const ct_tensor *x);
/** the inverse sine, in radians. */
CT_API ct_tensor *ct_asin(const ct_tensor *x);
/** the inverse cosine, in radians. */
CT_API ct_tensor *ct_acos(const ct_tensor *x);
/** the inverse tangent, in radians. */
CT_API ct_tensor *ct_atan(const ct_tensor *x);
/** the angle of the point (z, x), in radians, as C's atan2; no derivative exists at the origin. */
CT_API ct_tensor *ct_atan2(const ct_tensor *x, const ct_tensor *z);
/** the length of the vector (x, z), without overflow; the derivatives at the origin are 0. */
CT_API ct_tensor *ct_hypot(const ct_tensor *x, const ct_tensor *z);
/** the hyperbolic sine. */
CT_API ct_tensor *ct_sinh(const ct_tensor *x);
/** the hyperbolic cosine. */
CT_API ct_tensor *ct_cosh(const ct_tensor *x);
/** the inverse hyperbolic sine. */
CT_API ct_tensor *ct_asinh(const ct_tensor *x);
/** the inverse hyperbolic cosine; the derivative at 1 is +infinity. */
CT_API ct_tensor *ct_acosh(const ct_tensor *x);
/** the inverse hyperbolic tangent; the derivatives at -1 and 1 are +infinity. */
CT_API ct_tensor *ct_atanh(const ct_tensor *x);
/** the logarithm of |gamma(x)|. */
CT_API ct_tensor *ct_lgamma(const ct_tensor *x);
/** the derivative of lgamma; NaN at the negative integers. */
CT_API ct_tensor *ct_digamma(const ct_tensor *x);
/** the x-th derivative of digamma at z: x is taken down to an integer from 0 to 170, else NaN. */
CT_API ct_tensor *ct_polygamma(const ct_tensor *x, const ct_tensor *z);
/** the hyperbolic tangent. */
CT_API ct_tensor *ct_tanh(const ct_tensor *x);
/** 1 / (1 + exp(-x)). */
CT_API ct_tensor *ct_sigmoid(const ct_tensor *x);
/** max(x, 0); NaN stays NaN; the derivative at 0 and NaN is 0. */
CT_API ct_tensor *ct_relu(const ct_tensor *x);
/**
 * x held between z and w; w where z > w; NaN where one of the three is; at its bounds x has all of
 * the gradient.
 */
CT_API ct_tensor *ct_clamp(const ct_tensor *x, const ct_tensor *z, const ct_tensor *w);
/** x where x > 0, else exp(x) - 1. */
CT_API ct_tensor *ct_elu(const ct_tensor *x);
/** x where x > 0, else z (exp(x / z) - 1), whose slope at 0 is 1 for every z. */
CT_API ct_tensor *ct_celu(const ct_tensor *x, const ct_tensor *z);
/** elu, scaled so that activations of mean 0 and variance 1 keep them (Klambauer et al. 2017). */
CT_API ct_tensor *ct_selu(const ct_tensor *x);
/** x where x > 0, else x times the slope z. */
CT_API ct_tensor *ct_leaky_relu(const ct_tensor *x, const ct_tensor *z);
/** x where x > z, else 0; NaN stays NaN. */
CT_API ct_tensor *ct_thresholded_relu(const ct_tensor *x, const ct_tensor *z);
/** x / (1 + |x|). */
CT_API ct_tensor *ct_softsign(const ct_tensor *x);
/** x / 6 + 1/2, held between 0 and 1 (the slope of PyTorch and Keras; ONNX's is 0.2). */
CT_API ct_tensor *ct_hard_sigmoid(const ct_tensor *x);
/** x hard_sigmoid(x). */
CT_API ct_tensor *ct_hard_swish(const ct_tensor *x);
/** x tanh(softplus(x)). */
CT_API ct_tensor *ct_mish(const ct_tensor *x);
/** the derivative of relu: 1 where x > 0, else 0. */
CT_API ct_tensor *ct_relu_mask(const ct_tensor *x);
/** x where z > 0, else 0: the pull of relu. */
CT_API ct_tensor *ct_relu_grad(const ct_tensor *x, const ct_tensor *z);
/** log(1 + exp(x)), exact at both ends. */
CT_API ct_tensor *ct_softplus(const ct_tensor *x);
/** log(sigmoid(x)), exact at both ends. */
CT_API ct_tensor *ct_log_sigmoid(const ct_tensor *x);
/** x sigmoid(x). */
CT_API ct_tensor *ct_silu(const ct_tensor *x);
/** the error function. */
CT_API ct_tensor *ct_erf(const ct_tensor *x);
/** 1 - erf(x), accurate where that is small. */
CT_API ct_tensor *ct_erfc(const ct_tensor *x);
/** the distribution function of the standard normal. */
CT_API ct_tensor *ct_normcdf(const ct_tensor *x);
/** the density of the standard normal. */
CT_API ct_tensor *ct_normpdf(const ct_tensor *x);
/** x normcdf(x), the exact one. */
CT_API ct_tensor *ct_gelu(const ct_tensor *x);
/**
 * the approximation of gelu by tanh of GPT-2 and BERT, 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715
 * x^3))).
 */
CT_API ct_tensor *ct_gelu_tanh(const ct_tensor *x);
/** whether x = z. */
CT_API ct_tensor *ct_equal(const ct_tensor *x, const ct_tensor *z);
/** whether x differs from z; true for NaN. */
CT_API ct_tensor *ct_not_equal(const ct_tensor *x, const ct_tensor *z);
/** whether x < z. */
CT_API ct_tensor *ct_less(const ct_tensor *x, const ct_tensor *z);
/** whether x <= z. */
CT_API ct_tensor *ct_less_equal(const ct_tensor *x, const ct_tensor *z);
/** whether x > z. */
CT_API ct_tensor *ct_greater(const ct_tensor *x, const ct_tensor *z);
/** whether x >= z. */
CT_API ct_tensor *ct_greater_equal(const ct_tensor *x, const ct_tensor *z);
/** whether x is NaN. */
CT_API ct_tensor *ct_isnan(const ct_tensor *x);
/** whether x is an infinity. */
CT_API ct_tensor *ct_isinf(const ct_tensor *x);
/** whether x is a number, neither NaN nor an infinity. */
CT_API ct_tensor *ct_isfinite(const ct_tensor *x);
/** whether x is false. */
CT_API ct_tensor *ct_logical_not(const ct_tensor *x);
/** whether x and z are both true. */
CT_API ct_tensor *ct_logical_and(const ct_tensor *x, const ct_tensor *z);
/** whether x or z is true, or both. */
CT_API ct_tensor *ct_logical_or(const ct_tensor *x, const ct_tensor *z);
/** whether x is true or z is true, but not both. */
CT_API ct_tensor *ct_logical_xor(const ct_tensor *x, const ct_tensor *z);
/** z where the mask x is true, else w; what is not chosen gets no gradient, not even NaN. */
CT_API ct_tensor *ct_where(const ct_tensor *mask, const ct_tensor *z, const ct_tensor *w);

CT_END_DECLS
#endif
