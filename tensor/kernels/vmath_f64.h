#ifndef CT_VMATH_F64_H
#define CT_VMATH_F64_H

/*
 * f64 kernels of exp, expm1, log, log1p, tanh, sigmoid, softplus, erf, erfc, normcdf and rsqrt, as
 * f64v_exp(x) and so on. The algorithms are in vmath_core.inc; this file gives the polynomials.
 *
 * Coefficients: Remez exchange in 200-bit arithmetic (mpmath) on the stated interval for the stated
 * weight, then rounded to f64. Beside each stands the weighted error of the exact minimax
 * polynomial and, after the arrow, of the rounded one.
 */

#include "vec.h"

// (exp(r) - 1 - r) / r^2 on |r| <= 1.001 ln2/2, weight |r|: an error relative to expm1(r).
// 2^-61.7 -> 2^-60.8
CT_VEC_INLINE f64v f64v_exp_poly(f64v r) {
    f64v p = f64v_set1(0x1.1f95ac679bd7ap-29);
    p = f64v_fma(p, r, f64v_set1(0x1.af5f329677e38p-26));
    p = f64v_fma(p, r, f64v_set1(0x1.27e4c56f62ad3p-22));
    p = f64v_fma(p, r, f64v_set1(0x1.71ddf816b0d39p-19));
    p = f64v_fma(p, r, f64v_set1(0x1.a01a01b0cfeb5p-16));
    p = f64v_fma(p, r, f64v_set1(0x1.a01a01affb063p-13));
    p = f64v_fma(p, r, f64v_set1(0x1.6c16c16c143f7p-10));
    p = f64v_fma(p, r, f64v_set1(0x1.111111110f67ep-7));
    p = f64v_fma(p, r, f64v_set1(0x1.555555555555ap-5));
    p = f64v_fma(p, r, f64v_set1(0x1.5555555555559p-3));
    p = f64v_fma(p, r, f64v_set1(0x1p-1));
    return p;
}

// (2 atanh(s) / s - 2) / z with z = s^2, |s| <= (sqrt(2) - 1) / (sqrt(2) + 1), weight z/2: an error
// relative to 2 atanh(s). 2^-59.2 -> 2^-59.0
CT_VEC_INLINE f64v f64v_log_poly(f64v z) {
    f64v p = f64v_set1(0x1.2e576cacc8184p-3);
    p = f64v_fma(p, z, f64v_set1(0x1.39b489e788007p-3));
    p = f64v_fma(p, z, f64v_set1(0x1.746570b6a958ap-3));
    p = f64v_fma(p, z, f64v_set1(0x1.c71c5675b829cp-3));
    p = f64v_fma(p, z, f64v_set1(0x1.2492493ba1b22p-2));
    p = f64v_fma(p, z, f64v_set1(0x1.999999998882p-2));
    p = f64v_fma(p, z, f64v_set1(0x1.555555555557p-1));
    return p;
}

// log(1 + f) - f, small beside f. With s = f / (2 + f), log(1 + f) = 2 atanh(s) = f - f^2/2 +
// s (f^2/2 + R), R = 2 atanh(s) / s - 2 (fdlibm, e_log.c): one division saves ten coefficients.
CT_VEC_INLINE f64v f64v_log_tail(f64v f) {
    f64v s = f64v_div(f, f64v_add(f64v_set1(2.0), f));
    f64v z = f64v_mul(s, s);
    f64v h = f64v_mul(f64v_mul(f64v_set1(0.5), f), f);
    return f64v_fms(s, f64v_fma(z, f64v_log_poly(z), h), h);
}

// erf(x) / x - 1 with w = x^2 - 1/2 on |w| <= 1/2, weight 1; centred, so that the terms stay small.
// 2^-62.8 -> 2^-56.3
CT_VEC_INLINE f64v f64v_erf_poly(f64v w) {
    f64v p = f64v_set1(0x1.060942d2a5ce7p-34);
    p = f64v_fma(p, w, f64v_set1(-0x1.acbbb2b4e1c4p-31));
    p = f64v_fma(p, w, f64v_set1(0x1.428e81a3b8304p-27));
    p = f64v_fma(p, w, f64v_set1(-0x1.bf8d2b3edc77dp-24));
    p = f64v_fma(p, w, f64v_set1(0x1.1ad5ee054566fp-20));
    p = f64v_fma(p, w, f64v_set1(-0x1.429e93e6f3be9p-17));
    p = f64v_fma(p, w, f64v_set1(0x1.486638bc947dcp-14));
    p = f64v_fma(p, w, f64v_set1(-0x1.263991b802b85p-11));
    p = f64v_fma(p, w, f64v_set1(0x1.c82aa249df4ap-9));
    p = f64v_fma(p, w, f64v_set1(-0x1.2b902b7b2f28fp-6));
    p = f64v_fma(p, w, f64v_set1(0x1.454368017b042p-4));
    p = f64v_fma(p, w, f64v_set1(-0x1.1fd16292151fdp-2));
    p = f64v_fma(p, w, f64v_set1(-0x1.1ae14dc34815ap-5));
    return p;
}

// exp(a^2) erfc(a) with w = a - 3/2 on 1 <= a <= 6, weight exp(-a^2): an error of erf.
// 2^-58.7 -> 2^-57.1
CT_VEC_INLINE f64v f64v_erfx_poly(f64v w) {
    f64v p = f64v_set1(-0x1.e220ed53dc9cap-43);
    p = f64v_fma(p, w, f64v_set1(0x1.7ea2a50e63e6bp-38));
    p = f64v_fma(p, w, f64v_set1(-0x1.1b86ef6411599p-34));
    p = f64v_fma(p, w, f64v_set1(0x1.0978d03d31f61p-31));
    p = f64v_fma(p, w, f64v_set1(-0x1.6ae10fd624e09p-29));
    p = f64v_fma(p, w, f64v_set1(0x1.91cb685398f78p-27));
    p = f64v_fma(p, w, f64v_set1(-0x1.88b9bd4a1fafap-25));
    p = f64v_fma(p, w, f64v_set1(0x1.6876e671873c4p-23));
    p = f64v_fma(p, w, f64v_set1(-0x1.40442607af3bcp-21));
    p = f64v_fma(p, w, f64v_set1(0x1.157124845edd1p-19));
    p = f64v_fma(p, w, f64v_set1(-0x1.d412db1791ea2p-18));
    p = f64v_fma(p, w, f64v_set1(0x1.7f9901708b61fp-16));
    p = f64v_fma(p, w, f64v_set1(-0x1.30c0f036056bbp-14));
    p = f64v_fma(p, w, f64v_set1(0x1.d450a0da14faap-13));
    p = f64v_fma(p, w, f64v_set1(-0x1.5b0abff245d67p-11));
    p = f64v_fma(p, w, f64v_set1(0x1.ee705e643a36ap-10));
    p = f64v_fma(p, w, f64v_set1(-0x1.513ed75fbd5cfp-8));
    p = f64v_fma(p, w, f64v_set1(0x1.b65944f36d8c3p-7));
    p = f64v_fma(p, w, f64v_set1(-0x1.0dc51d29424ecp-5));
    p = f64v_fma(p, w, f64v_set1(0x1.37ea271bc5348p-4));
    p = f64v_fma(p, w, f64v_set1(-0x1.4f1988444caf4p-3));
    p = f64v_fma(p, w, f64v_set1(0x1.494daffa2ad69p-2));
    return p;
}

// (1 + 2a) exp(a^2) erfc(a) with t = (a - k) / (a + k), a >= 0, relative error (the substitution
// is that of M. M. Shepherd and J. G. Laframboise, Math. Comp. 36, 1981); k = VC_ERFCX_K, near
// which the constant term is almost exact in f64. 2^-58.1 -> 2^-56.3
CT_VEC_INLINE f64v f64v_erfcx_poly(f64v t) {
    f64v p = f64v_set1(-0x1.c864b0a454c0bp-29);
    p = f64v_fma(p, t, f64v_set1(-0x1.772da06931a59p-27));
    p = f64v_fma(p, t, f64v_set1(0x1.67b1915a62f7ap-26));
    p = f64v_fma(p, t, f64v_set1(0x1.9b07061da15e5p-24));
    p = f64v_fma(p, t, f64v_set1(-0x1.4415d2fd39183p-23));
    p = f64v_fma(p, t, f64v_set1(-0x1.3a276847eb7ecp-21));
    p = f64v_fma(p, t, f64v_set1(0x1.8783b33a477cp-20));
    p = f64v_fma(p, t, f64v_set1(0x1.663db0a4c2d62p-19));
    p = f64v_fma(p, t, f64v_set1(-0x1.ddfd30414903ap-17));
    p = f64v_fma(p, t, f64v_set1(0x1.504f9d958f105p-19));
    p = f64v_fma(p, t, f64v_set1(0x1.cf6762905fcadp-14));
    p = f64v_fma(p, t, f64v_set1(-0x1.2f65a792b683cp-12));
    p = f64v_fma(p, t, f64v_set1(-0x1.36585d2cf6009p-13));
    p = f64v_fma(p, t, f64v_set1(0x1.b3cd0a7289884p-9));
    p = f64v_fma(p, t, f64v_set1(-0x1.ab15d7e995635p-7));
    p = f64v_fma(p, t, f64v_set1(0x1.0ebccf0517316p-5));
    p = f64v_fma(p, t, f64v_set1(-0x1.01df7eb0312acp-4));
    p = f64v_fma(p, t, f64v_set1(0x1.7e717c2f35dfep-4));
    p = f64v_fma(p, t, f64v_set1(-0x1.ada29edec5cf3p-4));
    p = f64v_fma(p, t, f64v_set1(0x1.32201ec1e01d2p-4));
    p = f64v_fma(p, t, f64v_set1(0x1.47d29fad738e2p-7));
    p = f64v_fma(p, t, f64v_set1(-0x1.1ebc21e4ddfc3p-3));
    p = f64v_fma(p, t, f64v_set1(0x1.3c30b0b39477fp0));
    return p;
}

// LN2_HI + LN2_LO and LN2_SHORT + LN2_REST are ln 2; SHORT is rounded to a multiple of 2^-42, so
// that an exponent times it is exact. SQRT_HALF + SQRT_REST is sqrt(1/2), HALF_BITS the bits of
// SQRT_HALF. Arguments are clamped (HI, LO, MAX) a little beyond the last one that matters.
#define VC_MANT_BITS    52
#define VC_BIAS         1023
#define VC_MAGIC        0x1.8p52
#define VC_LOG2E        0x1.71547652b82fep0
#define VC_LN2_HI       0x1.62e42fefa39efp-1
#define VC_LN2_LO       0x1.abc9e3b39803fp-56
#define VC_LN2_SHORT    0x1.62e42fefa38p-1
#define VC_LN2_REST     0x1.ef35793c7673p-45
#define VC_SQRT_HALF    0x1.6a09e667f3bcdp-1
#define VC_SQRT_REST    -0x1.bdd3413b26456p-55
#define VC_HALF         0.5
#define VC_HALF_BITS    0x3fe6a09e667f3bcd
#define VC_MIN_NORMAL   0x1p-1022
#define VC_INF          __builtin_inf()
#define VC_NAN          __builtin_nan("")
#define VC_EXP_HI       710.0
#define VC_EXP_LO       -746.0
#define VC_EXPM1_LO     -38.0
#define VC_TANH_LO      -40.0
#define VC_ERFC_MAX     27.4
#define VC_ONE_AND_HALF 1.5
#define VC_ERF_MAX      6.0
#define VC_ERFC_NEAR    0.75
#define VC_CDF_MAX      38.7
#define VC_ERFCX_K      0x1.f0bp1

#define VV       f64v
#define VI       f64i
#define VM       f64m
#define VF(name) CT_CAT(f64v_, name)
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
