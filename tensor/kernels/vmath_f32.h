#ifndef CT_VMATH_F32_H
#define CT_VMATH_F32_H

/*
 * f32 kernels of exp, expm1, log, log1p, tanh, sigmoid, softplus, erf, erfc, normcdf and rsqrt, as
 * f32v_exp(x) and so on. The algorithms are in vmath_core.inc; this file gives the polynomials.
 *
 * Coefficients: Remez exchange in 200-bit arithmetic (mpmath) on the stated interval for the stated
 * weight, then rounded to f32. Beside each stands the weighted error of the exact minimax
 * polynomial and, after the arrow, of the rounded one.
 */

#include "vec.h"

// (exp(r) - 1 - r) / r^2 on |r| <= 1.001 ln2/2, weight |r|: an error relative to expm1(r).
// 2^-32.0 -> 2^-28.7
CT_VEC_INLINE f32v f32v_exp_poly(f32v r) {
    f32v p = f32v_set1(0x1.a1a244p-13f);
    p = f32v_fma(p, r, f32v_set1(0x1.6d7528p-10f));
    p = f32v_fma(p, r, f32v_set1(0x1.11109p-7f));
    p = f32v_fma(p, r, f32v_set1(0x1.5554aep-5f));
    p = f32v_fma(p, r, f32v_set1(0x1.555556p-3f));
    p = f32v_fma(p, r, f32v_set1(0x1p-1f));
    return p;
}

// (log(1 + f) - f + f^2/2) / f^3 for 1 + f between sqrt(1/2) and sqrt(2), weight f^2: an error
// relative to f. 2^-27.3 -> 2^-27.2
CT_VEC_INLINE f32v f32v_log_poly(f32v f) {
    f32v p = f32v_set1(-0x1.41f0c4p-4f);
    p = f32v_fma(p, f, f32v_set1(0x1.07dc3p-3f));
    p = f32v_fma(p, f, f32v_set1(-0x1.0ce4dp-3f));
    p = f32v_fma(p, f, f32v_set1(0x1.226cf6p-3f));
    p = f32v_fma(p, f, f32v_set1(-0x1.547804p-3f));
    p = f32v_fma(p, f, f32v_set1(0x1.99a5a2p-3f));
    p = f32v_fma(p, f, f32v_set1(-0x1.000222p-2f));
    p = f32v_fma(p, f, f32v_set1(0x1.55554ap-2f));
    return p;
}

// log(1 + f) - f, small beside f.
CT_VEC_INLINE f32v f32v_log_tail(f32v f) {
    f32v z = f32v_mul(f, f);
    return f32v_mul(z, f32v_fma(f, f32v_log_poly(f), f32v_set1(-0.5f)));
}

// erf(x) / x - 1 with w = x^2 - 1/2 on |w| <= 1/2, weight 1; centred, so that the terms stay small.
// 2^-29.6 -> 2^-28.2
CT_VEC_INLINE f32v f32v_erf_poly(f32v w) {
    f32v p = f32v_set1(0x1.4ac164p-14f);
    p = f32v_fma(p, w, f32v_set1(-0x1.28713ep-11f));
    p = f32v_fma(p, w, f32v_set1(0x1.c8276p-9f));
    p = f32v_fma(p, w, f32v_set1(-0x1.2b8df2p-6f));
    p = f32v_fma(p, w, f32v_set1(0x1.45436ap-4f));
    p = f32v_fma(p, w, f32v_set1(-0x1.1fd164p-2f));
    p = f32v_fma(p, w, f32v_set1(-0x1.1ae14ep-5f));
    return p;
}

// exp(a^2) erfc(a) with w = a - 3/2 on 1 <= a <= 4, weight exp(-a^2): an error of erf.
// 2^-28.6 -> 2^-27.5
CT_VEC_INLINE f32v f32v_erfx_poly(f32v w) {
    f32v p = f32v_set1(0x1.bfea3ep-14f);
    p = f32v_fma(p, w, f32v_set1(-0x1.4a13bp-11f));
    p = f32v_fma(p, w, f32v_set1(0x1.00d60ap-9f));
    p = f32v_fma(p, w, f32v_set1(-0x1.535916p-8f));
    p = f32v_fma(p, w, f32v_set1(0x1.b5c586p-7f));
    p = f32v_fma(p, w, f32v_set1(-0x1.0dba8cp-5f));
    p = f32v_fma(p, w, f32v_set1(0x1.37ebe4p-4f));
    p = f32v_fma(p, w, f32v_set1(-0x1.4f1998p-3f));
    p = f32v_fma(p, w, f32v_set1(0x1.494daep-2f));
    return p;
}

// (1 + 2a) exp(a^2) erfc(a) with t = (a - k) / (a + k), a >= 0, relative error (the substitution
// is that of M. M. Shepherd and J. G. Laframboise, Math. Comp. 36, 1981); k = VC_ERFCX_K, near
// which the constant term is almost exact in f32. 2^-28.6 -> 2^-27.6
CT_VEC_INLINE f32v f32v_erfcx_poly(f32v t) {
    f32v p = f32v_set1(0x1.e9c9cap-11f);
    p = f32v_fma(p, t, f32v_set1(0x1.277b3ap-10f));
    p = f32v_fma(p, t, f32v_set1(-0x1.04d738p-7f));
    p = f32v_fma(p, t, f32v_set1(0x1.9c55a6p-6f));
    p = f32v_fma(p, t, f32v_set1(-0x1.c7f18ep-5f));
    p = f32v_fma(p, t, f32v_set1(0x1.75c796p-4f));
    p = f32v_fma(p, t, f32v_set1(-0x1.c702b2p-4f));
    p = f32v_fma(p, t, f32v_set1(0x1.653a8ep-4f));
    p = f32v_fma(p, t, f32v_set1(-0x1.ac4916p-11f));
    p = f32v_fma(p, t, f32v_set1(-0x1.1f46ccp-3f));
    p = f32v_fma(p, t, f32v_set1(0x1.3d3434p0f));
    return p;
}

// LN2_HI + LN2_LO and LN2_SHORT + LN2_REST are ln 2; SHORT is rounded to a multiple of 2^-16, so
// that an exponent times it is exact. SQRT_HALF + SQRT_REST is sqrt(1/2), HALF_BITS the bits of
// SQRT_HALF. Arguments are clamped (HI, LO, MAX) a little beyond the last one that matters.
#define VC_MANT_BITS    23
#define VC_BIAS         127
#define VC_MAGIC        0x1.8p23f
#define VC_LOG2E        0x1.715476p0f
#define VC_LN2_HI       0x1.62e43p-1f
#define VC_LN2_LO       -0x1.05c61p-29f
#define VC_LN2_SHORT    0x1.62e4p-1f
#define VC_LN2_REST     0x1.7f7d1cp-20f
#define VC_SQRT_HALF    0x1.6a09e6p-1f
#define VC_SQRT_REST    0x1.9fcef4p-27f
#define VC_HALF         0.5f
#define VC_HALF_BITS    0x3f3504f3
#define VC_MIN_NORMAL   0x1p-126f
#define VC_INF          __builtin_inff()
#define VC_NAN          __builtin_nanf("")
#define VC_EXP_HI       89.0f
#define VC_EXP_LO       -105.0f
#define VC_EXPM1_LO     -18.0f
#define VC_TANH_LO      -20.0f
#define VC_ERFC_MAX     10.2f
#define VC_ONE_AND_HALF 1.5f
#define VC_ERF_MAX      4.0f
#define VC_ERFC_NEAR    0.75f
#define VC_CDF_MAX      14.4f
#define VC_ERFCX_K      0x1.d568p1f

#define VV       f32v
#define VI       f32i
#define VM       f32m
#define VF(name) CT_CAT(f32v_, name)
#include "vmath_core.inc"
#undef VV
#undef VI
#undef VM
#undef VF
#undef VC_MANT_BITS
#undef VC_BIAS
#undef VC_MAGIC
#undef VC_LOG2E
#undef VC_LN2_HI
#undef VC_LN2_LO
#undef VC_LN2_SHORT
#undef VC_LN2_REST
#undef VC_SQRT_HALF
#undef VC_SQRT_REST
#undef VC_HALF
#undef VC_HALF_BITS
#undef VC_MIN_NORMAL
#undef VC_INF
#undef VC_NAN
#undef VC_EXP_HI
#undef VC_EXP_LO
#undef VC_EXPM1_LO
#undef VC_TANH_LO
#undef VC_ERFC_MAX
#undef VC_ONE_AND_HALF
#undef VC_ERF_MAX
#undef VC_ERFC_NEAR
#undef VC_CDF_MAX
#undef VC_ERFCX_K

#endif
