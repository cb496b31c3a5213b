#ifndef CT_VMATH_F32_H
#define CT_VMATH_F32_H

/*
 * f32 kernels of exp, expm1, log, log1p, tanh, sigmoid, softplus, erf, erfc, normcdf, gelu and rsqrt,
 * as f32v_exp(x) and so on. The algorithms are in vmath_core.inc; this file gives the polynomials.
 *
 * Coefficients: Remez exchange in 200-bit arithmetic (mpmath) on the stated interval for the stated
 * weight, then rounded to f32. Beside each stands the weighted error of the exact minimax
 * polynomial and, after the arrow, of the rounded one. Where one number stands, the coefficients are
 * the best of the item type's (Sollya's fpminimax).
 */

#include "cdf_pieces.h"
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

// The same for an error relative to exp(r). 2^-27.8
CT_VEC_INLINE f32v f32v_exp_rest(f32v r) {
    f32v p = f32v_set1(0x1.6c5394p-10f);
    p = f32v_fma(p, r, f32v_set1(0x1.123bfep-7f));
    p = f32v_fma(p, r, f32v_set1(0x1.555658p-5f));
    p = f32v_fma(p, r, f32v_set1(0x1.55548ep-3f));
    p = f32v_fma(p, r, f32v_set1(0x1.fffffep-2f));
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

// (tanh(x) / x - 1) / z with z = x^2, |x| <= 1, weight z: an error relative to tanh(x). 2^-27.5
CT_VEC_INLINE f32v f32v_tanh_poly(f32v z) {
    f32v p = f32v_set1(-0x1.7bd9dap-12f);
    p = f32v_fma(p, z, f32v_set1(0x1.2f5deap-9f));
    p = f32v_fma(p, z, f32v_set1(-0x1.04f5b8p-7f));
    p = f32v_fma(p, z, f32v_set1(0x1.603b1p-6f));
    p = f32v_fma(p, z, f32v_set1(-0x1.b96a72p-5f));
    p = f32v_fma(p, z, f32v_set1(0x1.110c34p-3f));
    p = f32v_fma(p, z, f32v_set1(-0x1.55553ep-2f));
    return p;
}

// 2 / (1 + e) for 0 <= e <= exp(-2). 2^-23.9
CT_VEC_INLINE f32v f32v_tanh_quotient(f32v e) {
    f32v p = f32v_set1(0x1.7317bep0f);
    p = f32v_fma(p, e, f32v_set1(-0x1.f076bcp0f));
    p = f32v_fma(p, e, f32v_set1(0x1.ff4676p0f));
    p = f32v_fma(p, e, f32v_set1(-0x1.fffcfp0f));
    p = f32v_fma(p, e, f32v_set1(0x1.fffffep0f));
    return p;
}

// 1 / d to 18 bits, d = 1 + e with 0 <= e <= 1: a cubic, good to 2^-9.1, and a step of Newton.
CT_VEC_INLINE f32v f32v_recip1p(f32v e, f32v d) {
    f32v p = f32v_set1(-0x1.c6526ap-3f);
    p = f32v_fma(p, e, f32v_set1(0x1.54bdd8p-1f));
    p = f32v_fma(p, e, f32v_set1(-0x1.e2b7a8p-1f));
    p = f32v_fma(p, e, f32v_set1(0x1.ff1cd6p-1f));
    return f32v_fma(f32v_fnma(p, d, f32v_set1(1.0f)), p, p);
}

// LN2_HI + LN2_LO and LN2_SHORT + LN2_REST are ln 2; SHORT is rounded to a multiple of 2^-16, so
// that an exponent times it is exact. SQRT_HALF + SQRT_REST is sqrt(1/2), HALF_BITS the bits of
// SQRT_HALF. Arguments are clamped (HI, LO, MAX) a little beyond the last one that matters.
#define VC_MANT_BITS   23
#define VC_BIAS        127
#define VC_MAGIC       0x1.8p23f
#define VC_LOG2E       0x1.715476p0f
#define VC_LN2_HI      0x1.62e43p-1f
#define VC_LN2_LO      -0x1.05c61p-29f
#define VC_LN2_SHORT   0x1.62e4p-1f
#define VC_LN2_REST    0x1.7f7d1cp-20f
#define VC_SQRT_HALF   0x1.6a09e6p-1f
#define VC_SQRT_REST   0x1.9fcef4p-27f
#define VC_HALF        0.5f
#define VC_HALF_BITS   0x3f3504f3
#define VC_MIN_NORMAL  0x1p-126f
#define VC_INF         __builtin_inff()
#define VC_NAN         __builtin_nanf("")
#define VC_EXP_HI      89.0f
#define VC_EXP_LO      -105.0f
#define VC_EXPM1_LO    -18.0f
#define VC_TANH_MAX    10.0f
#define VC_MAGIC_LEAST 0x1.7fff04p23f
#define VC_ERFC_MAX    10.2f
#define VC_ERF_MID     0.5f
#define VC_ERF_MAX     4.0f
#define VC_ERFC_NEAR   0.75f
#define VC_CDF_MAX     14.4f
#define VC_ERFCX_K     0x1.d568p1f
#define VC_GATE_C1     0x1.988454p0f
#define VC_GATE_C1_LO  -0x1.857936p-25f
#define VC_GATE_C2     0x1.2444f2p-4f
#define VC_GATE_C2_LO  0x1.49b16ap-29f
#define VC_GATE_LEAST  -120.0f
#define VC_CDF_SHIFT   1
#define VC_CDF_TERMS   F32_CDF_TERMS
#define VC_CDF_REST    0

#define VV       f32v
#define VI       f32i
#define VM       f32m
#define VF(name) CT_CAT(f32v_, name)
#include "vmath_core.inc"

// erf(a) = a + a P(a^2) up to 1, then 1 - exp(-a^2) Q(a - 3/2): what is subtracted is at most 0.16,
// so that plain arithmetic serves.
CT_VEC_INLINE f32v f32v_erf(f32v x) {
    f32v one = f32v_set1(1.0f);
    f32v a = f32v_abs(x);
    f32v b = f32v_lesser(f32v_set1(VC_ERF_MAX), a);
    f32v e = f32v_exp_plain(f32v_neg(f32v_mul(b, b)));
    f32v far = f32v_fnma(e, f32v_erfx_poly(f32v_sub(b, f32v_set1(1.5f))), one);
    f32v near = f32v_fma(a, f32v_erf_excess(a), a);
    return f32v_copysign(f32v_select(f32v_lt(a, one), near, far), x);
}

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
#undef VC_TANH_MAX
#undef VC_MAGIC_LEAST
#undef VC_ERFC_MAX
#undef VC_ERF_MID
#undef VC_ERF_MAX
#undef VC_ERFC_NEAR
#undef VC_CDF_MAX
#undef VC_ERFCX_K
#undef VC_GATE_C1
#undef VC_GATE_C1_LO
#undef VC_GATE_C2
#undef VC_GATE_C2_LO
#undef VC_GATE_LEAST
#undef VC_CDF_SHIFT
#undef VC_CDF_TERMS
#undef VC_CDF_REST

#endif
