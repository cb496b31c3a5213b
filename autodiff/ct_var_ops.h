/**
 * @file ct_var_ops.h
 * Elementwise ops on a tape. Made from tensor/ops.def by `make ops`; do not edit.
 *
 * Operands of unlike shapes are broadcast, which the tape records as an op of its own. Errors stick
 * to the tape (ct_tape_status()) and give the null variable. Formulas and derivatives stand in
 * docs/ops.md.
 */
#ifndef CT_VAR_OPS_H
#define CT_VAR_OPS_H

#include "autodiff/ct_tape.h"

CT_BEGIN_DECLS

/** x + z. */
CT_API ct_var ct_var_add(ct_var x, ct_var z);
/** x - z. */
CT_API ct_var ct_var_sub(ct_var x, ct_var z);
/** x z. */
CT_API ct_var ct_var_mul(ct_var x, ct_var z);
/** x / z. */
CT_API ct_var ct_var_div(ct_var x, ct_var z);
/**
 * x z, but +0 where either factor is exactly 0, even against an infinity or NaN: the product of
 * derivative rules.
 */
CT_API ct_var ct_var_smul(ct_var x, ct_var z);
/**
 * x / z, but +0 where x is exactly 0, even over a zero or NaN: the quotient of derivative rules.
 */
CT_API ct_var ct_var_sdiv(ct_var x, ct_var z);
/** the largest integer not above x / z, as Python's and NumPy's //; x / 0 is that of div. */
CT_API ct_var ct_var_floor_div(ct_var x, ct_var z);
/**
 * what floor_div leaves, x - z floor_div(x, z), with the sign of z, as Python's and NumPy's %; NaN
 * for z = 0.
 */
CT_API ct_var ct_var_mod(ct_var x, ct_var z);
/** x - z trunc(x / z), exactly, with the sign of x, as C's fmod. */
CT_API ct_var ct_var_fmod(ct_var x, ct_var z);
/**
 * x to the power z, as C's pow; d/dx 0^0 = 0, d/dz 0^z = 0 for z >= 0, a constant exponent never
 * poisons.
 */
CT_API ct_var ct_var_pow(ct_var x, ct_var z);
/**
 * the larger of x and z (IEEE 754-2019: NaN propagates, +0 > -0); at equality each gets half the
 * gradient.
 */
CT_API ct_var ct_var_maximum(ct_var x, ct_var z);
/**
 * the smaller of x and z (IEEE 754-2019: NaN propagates, -0 < +0); at equality each gets half the
 * gradient.
 */
CT_API ct_var ct_var_minimum(ct_var x, ct_var z);
/**
 * the larger of x and z, where a NaN stands for no number: it takes nothing (IEEE 754-2019
 * maximumNumber).
 */
CT_API ct_var ct_var_fmax(ct_var x, ct_var z);
/**
 * the smaller of x and z, where a NaN stands for no number: it takes nothing (IEEE 754-2019
 * minimumNumber).
 */
CT_API ct_var ct_var_fmin(ct_var x, ct_var z);
/** |x| with the sign of z, that of a zero or NaN too; the derivative at x = 0 is 0. */
CT_API ct_var ct_var_copysign(ct_var x, ct_var z);
/** the share of x in the gradient of maximum(x, z): 1, 1/2 or 0; a NaN takes all, two share. */
CT_API ct_var ct_var_max_share(ct_var x, ct_var z);
/** -x. */
CT_API ct_var ct_var_neg(ct_var x);
/** |x|; the derivative at 0 is 0. */
CT_API ct_var ct_var_abs(ct_var x);
/** 1, -1, or 0 at both zeros; NaN stays NaN. */
CT_API ct_var ct_var_sign(ct_var x);
/** x squared. */
CT_API ct_var ct_var_square(ct_var x);
/** the square root; the derivative at 0 is +infinity. */
CT_API ct_var ct_var_sqrt(ct_var x);
/** 1 / sqrt(x). */
CT_API ct_var ct_var_rsqrt(ct_var x);
/** 1 / x. */
CT_API ct_var ct_var_reciprocal(ct_var x);
/** the cube root, of negative numbers too; the derivative at 0 is +infinity. */
CT_API ct_var ct_var_cbrt(ct_var x);
/** the largest integer not above x. */
CT_API ct_var ct_var_floor(ct_var x);
/** the smallest integer not below x. */
CT_API ct_var ct_var_ceil(ct_var x);
/** the nearest integer, the even one of two. */
CT_API ct_var ct_var_round(ct_var x);
/** the integer part, towards 0. */
CT_API ct_var ct_var_trunc(ct_var x);
/** e to the x. */
CT_API ct_var ct_var_exp(ct_var x);
/** e to the x, minus 1, accurate near 0. */
CT_API ct_var ct_var_expm1(ct_var x);
/** the natural logarithm. */
CT_API ct_var ct_var_log(ct_var x);
/** 2 to the x. */
CT_API ct_var ct_var_exp2(ct_var x);
/** the logarithm to base 2. */
CT_API ct_var ct_var_log2(ct_var x);
/** the logarithm to base 10. */
CT_API ct_var ct_var_log10(ct_var x);
/** log(1 + x), accurate near 0. */
CT_API ct_var ct_var_log1p(ct_var x);
/** the sine of x radians. */
CT_API ct_var ct_var_sin(ct_var x);
/** the cosine of x radians. */
CT_API ct_var ct_var_cos(ct_var x);
/** the tangent of x radians. */
CT_API ct_var ct_var_tan(ct_var x);
/** the inverse sine, in radians. */
CT_API ct_var ct_var_asin(ct_var x);
/** the inverse cosine, in radians. */
CT_API ct_var ct_var_acos(ct_var x);
/** the inverse tangent, in radians. */
CT_API ct_var ct_var_atan(ct_var x);
/** the angle of the point (z, x), in radians, as C's atan2; no derivative exists at the origin. */
CT_API ct_var ct_var_atan2(ct_var x, ct_var z);
/** the length of the vector (x, z), without overflow; the derivatives at the origin are 0. */
CT_API ct_var ct_var_hypot(ct_var x, ct_var z);
/** the hyperbolic sine. */
CT_API ct_var ct_var_sinh(ct_var x);
/** the hyperbolic cosine. */
CT_API ct_var ct_var_cosh(ct_var x);
/** the inverse hyperbolic sine. */
CT_API ct_var ct_var_asinh(ct_var x);
/** the inverse hyperbolic cosine; the derivative at 1 is +infinity. */
CT_API ct_var ct_var_acosh(ct_var x);
/** the inverse hyperbolic tangent; the derivatives at -1 and 1 are +infinity. */
CT_API ct_var ct_var_atanh(ct_var x);
/** the logarithm of |gamma(x)|. */
CT_API ct_var ct_var_lgamma(ct_var x);
/** the derivative of lgamma; NaN at the negative integers. */
CT_API ct_var ct_var_digamma(ct_var x);
/** the x-th derivative of digamma at z: x is taken down to an integer from 0 to 170, else NaN. */
CT_API ct_var ct_var_polygamma(ct_var x, ct_var z);
/** the hyperbolic tangent. */
CT_API ct_var ct_var_tanh(ct_var x);
/** 1 / (1 + exp(-x)). */
CT_API ct_var ct_var_sigmoid(ct_var x);
/** max(x, 0); NaN stays NaN; the derivative at 0 and NaN is 0. */
CT_API ct_var ct_var_relu(ct_var x);
/**
 * x held between z and w; w where z > w; NaN where one of the three is; at its bounds x has all of
 * the gradient.
 */
CT_API ct_var ct_var_clamp(ct_var x, ct_var z, ct_var w);
/** x where x > 0, else exp(x) - 1. */
CT_API ct_var ct_var_elu(ct_var x);
/** x where x > 0, else z (exp(x / z) - 1), whose slope at 0 is 1 for every z. */
CT_API ct_var ct_var_celu(ct_var x, ct_var z);
/** elu, scaled so that activations of mean 0 and variance 1 keep them (Klambauer et al. 2017). */
CT_API ct_var ct_var_selu(ct_var x);
/** x where x > 0, else x times the slope z. */
CT_API ct_var ct_var_leaky_relu(ct_var x, ct_var z);
/** x where x > z, else 0; NaN stays NaN. */
CT_API ct_var ct_var_thresholded_relu(ct_var x, ct_var z);
/** x / (1 + |x|). */
CT_API ct_var ct_var_softsign(ct_var x);
/** x / 6 + 1/2, held between 0 and 1 (the slope of PyTorch and Keras; ONNX's is 0.2). */
CT_API ct_var ct_var_hard_sigmoid(ct_var x);
/** x hard_sigmoid(x). */
CT_API ct_var ct_var_hard_swish(ct_var x);
/** x tanh(softplus(x)). */
CT_API ct_var ct_var_mish(ct_var x);
/** the derivative of relu: 1 where x > 0, else 0. */
CT_API ct_var ct_var_relu_mask(ct_var x);
/** x where z > 0, else 0: the pull of relu. */
CT_API ct_var ct_var_relu_grad(ct_var x, ct_var z);
/** log(1 + exp(x)), exact at both ends. */
CT_API ct_var ct_var_softplus(ct_var x);
/** log(sigmoid(x)), exact at both ends. */
CT_API ct_var ct_var_log_sigmoid(ct_var x);
/** x sigmoid(x). */
CT_API ct_var ct_var_silu(ct_var x);
/** the error function. */
CT_API ct_var ct_var_erf(ct_var x);
/** 1 - erf(x), accurate where that is small. */
CT_API ct_var ct_var_erfc(ct_var x);
/** the distribution function of the standard normal. */
CT_API ct_var ct_var_normcdf(ct_var x);
/** the density of the standard normal. */
CT_API ct_var ct_var_normpdf(ct_var x);
/** x normcdf(x), the exact one. */
CT_API ct_var ct_var_gelu(ct_var x);
/**
 * the approximation of gelu by tanh of GPT-2 and BERT, 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715
 * x^3))).
 */
CT_API ct_var ct_var_gelu_tanh(ct_var x);
/** whether x = z. */
CT_API ct_var ct_var_equal(ct_var x, ct_var z);
/** whether x differs from z; true for NaN. */
CT_API ct_var ct_var_not_equal(ct_var x, ct_var z);
/** whether x < z. */
CT_API ct_var ct_var_less(ct_var x, ct_var z);
/** whether x <= z. */
CT_API ct_var ct_var_less_equal(ct_var x, ct_var z);
/** whether x > z. */
CT_API ct_var ct_var_greater(ct_var x, ct_var z);
/** whether x >= z. */
CT_API ct_var ct_var_greater_equal(ct_var x, ct_var z);
/** whether x is NaN. */
CT_API ct_var ct_var_isnan(ct_var x);
/** whether x is an infinity. */
CT_API ct_var ct_var_isinf(ct_var x);
/** whether x is a number, neither NaN nor an infinity. */
CT_API ct_var ct_var_isfinite(ct_var x);
/** whether x is false. */
CT_API ct_var ct_var_logical_not(ct_var x);
/** whether x and z are both true. */
CT_API ct_var ct_var_logical_and(ct_var x, ct_var z);
/** whether x or z is true, or both. */
CT_API ct_var ct_var_logical_or(ct_var x, ct_var z);
/** whether x is true or z is true, but not both. */
CT_API ct_var ct_var_logical_xor(ct_var x, ct_var z);
/** z where the mask x is true, else w; what is not chosen gets no gradient, not even NaN. */
CT_API ct_var ct_var_where(ct_var mask, ct_var z, ct_var w);

CT_END_DECLS
#endif
