#ifndef CT_VMATH_F64_H
#define CT_VMATH_F64_H

/*
 * f64 kernels of exp, expm1, log, log1p, tanh, sigmoid, softplus, erf, erfc, normcdf, gelu and rsqrt,
 * as f64v_exp(x) and so on. The algorithms are in vmath_core.inc; this file gives the polynomials.
 *
 * Coefficients: Remez exchange in 200-bit arithmetic (mpmath) on the stated interval for the stated
 * weight, then rounded to f64. Beside each stands the weighted error of the exact minimax
 * polynomial and, after the arrow, of the rounded one. Where one number stands, the coefficients are
 * the best of the item type's (Sollya's fpminimax). Even and odd coefficients are summed apart where
 * that halves a chain that a function waits for, and does not cost accuracy.
 */

#include "cdf_pieces.h"
#include "tensor/erfc_table.h"
#include "vec.h"

// (exp(r) - 1 - r) / r^2 on |r| <= 1.001 ln2/2, weight |r|: an error relative to expm1(r).
// 2^-61.7 -> 2^-60.8
CT_VEC_INLINE f64v f64v_exp_poly(f64v r) {
    f64v r2 = f64v_mul(r, r);
    f64v p = f64v_set1(0x1.1f95ac679bd7ap-29);
    p = f64v_fma(p, r2, f64v_set1(0x1.27e4c56f62ad3p-22));
    p = f64v_fma(p, r2, f64v_set1(0x1.a01a01b0cfeb5p-16));
    p = f64v_fma(p, r2, f64v_set1(0x1.6c16c16c143f7p-10));
    p = f64v_fma(p, r2, f64v_set1(0x1.555555555555ap-5));
    f64v q = f64v_set1(0x1.af5f329677e38p-26);
    q = f64v_fma(q, r2, f64v_set1(0x1.71ddf816b0d39p-19));
    q = f64v_fma(q, r2, f64v_set1(0x1.a01a01affb063p-13));
    q = f64v_fma(q, r2, f64v_set1(0x1.111111110f67ep-7));
    p = f64v_fma(q, r, p);
    p = f64v_fma(p, r, f64v_set1(0x1.5555555555559p-3));
    p = f64v_fma(p, r, f64v_set1(0x1p-1));
    return p;
}

// The same for an error relative to exp(r). 2^-57.5
CT_VEC_INLINE f64v f64v_exp_rest(f64v r) {
    f64v r2 = f64v_mul(r, r);
    f64v p = f64v_set1(0x1.28b13092bd999p-22);
    p = f64v_fma(p, r2, f64v_set1(0x1.a019958433c5bp-16));
    p = f64v_fma(p, r2, f64v_set1(0x1.6c16c1861732dp-10));
    p = f64v_fma(p, r2, f64v_set1(0x1.555555554fdd7p-5));
    f64v q = f64v_set1(0x1.af85a5114bf0dp-26);
    q = f64v_fma(q, r2, f64v_set1(0x1.71dddfbd186fp-19));
    q = f64v_fma(q, r2, f64v_set1(0x1.a01a01bae6b9fp-13));
    q = f64v_fma(q, r2, f64v_set1(0x1.111111110d635p-7));
    p = f64v_fma(q, r, p);
    p = f64v_fma(p, r, f64v_set1(0x1.5555555555561p-3));
    p = f64v_fma(p, r, f64v_set1(0x1.000000000000cp-1));
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

// erf(x) / x - 1 with w = x^2 - VC_ERF_MID on 0 <= x <= 7/8, weight 1; centred, so that the terms stay
// small. 2^-59.4
CT_VEC_INLINE f64v f64v_erf_poly(f64v w) {
    f64v w2 = f64v_mul(w, w);
    f64v p = f64v_set1(0x1.67dd562af8969p-27);
    p = f64v_fma(p, w2, f64v_set1(0x1.39f3561ddf8cbp-20));
    p = f64v_fma(p, w2, f64v_set1(0x1.6b3d8a8f5c219p-14));
    p = f64v_fma(p, w2, f64v_set1(0x1.f573e6a3b88d9p-9));
    p = f64v_fma(p, w2, f64v_set1(0x1.60cdfaf1b6188p-4));
    p = f64v_fma(p, w2, f64v_set1(-0x1.ef717d5d1bf63p-12));
    f64v q = f64v_set1(-0x1.d4405aba1bcc8p-31);
    q = f64v_fma(q, w2, f64v_set1(-0x1.f17196d2143bp-24));
    q = f64v_fma(q, w2, f64v_set1(-0x1.658e2a1a54202p-17));
    q = f64v_fma(q, w2, f64v_set1(-0x1.4497ccdcf418cp-11));
    q = f64v_fma(q, w2, f64v_set1(-0x1.4798c13c04f8cp-6));
    q = f64v_fma(q, w2, f64v_set1(-0x1.33abd0a6067cep-2));
    return f64v_fma(q, w, p);
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

// (tanh(x) / x - 1) / z with z = x^2, |x| <= 1, weight z: an error relative to tanh(x). 2^-56.0
CT_VEC_INLINE f64v f64v_tanh_poly(f64v z) {
    f64v p = f64v_set1(-0x1.106753f94e3dbp-24);
    p = f64v_fma(p, z, f64v_set1(0x1.6251451c44dd4p-21));
    p = f64v_fma(p, z, f64v_set1(-0x1.cd74bbfed805ep-19));
    p = f64v_fma(p, z, f64v_set1(0x1.9f5837cfe1432p-17));
    p = f64v_fma(p, z, f64v_set1(-0x1.2f205077dc4a6p-15));
    p = f64v_fma(p, z, f64v_set1(0x1.8dacd8c672a29p-14));
    p = f64v_fma(p, z, f64v_set1(-0x1.f346b16b15c82p-13));
    p = f64v_fma(p, z, f64v_set1(0x1.352327ba8a00dp-11));
    p = f64v_fma(p, z, f64v_set1(-0x1.7d9c1f31c879dp-10));
    p = f64v_fma(p, z, f64v_set1(0x1.d6d319e35ff6bp-9));
    p = f64v_fma(p, z, f64v_set1(-0x1.226e2f26f91e6p-7));
    p = f64v_fma(p, z, f64v_set1(0x1.664f483c1b918p-6));
    p = f64v_fma(p, z, f64v_set1(-0x1.ba1ba1b83c719p-5));
    p = f64v_fma(p, z, f64v_set1(0x1.111111110dd81p-3));
    p = f64v_fma(p, z, f64v_set1(-0x1.5555555555517p-2));
    return p;
}

// 2 / (1 + e) for 0 <= e <= exp(-2). 2^-28.7, and twice the digits by a Newton step.
CT_VEC_INLINE f64v f64v_tanh_quotient(f64v e) {
    f64v e2 = f64v_mul(e, e);
    f64v p = f64v_set1(0x1.e8f24ca24ada3p0);
    p = f64v_fma(p, e2, f64v_set1(0x1.fff39bc2e364fp0));
    p = f64v_fma(p, e2, f64v_set1(0x1.ffffffee7f0c3p0));
    f64v q = f64v_set1(-0x1.5bc17272399efp0);
    q = f64v_fma(q, e2, f64v_set1(-0x1.fe716eb222af5p0));
    q = f64v_fma(q, e2, f64v_set1(-0x1.ffffdb8e4e739p0));
    p = f64v_fma(q, e, p);
    f64v r = f64v_fnma(p, e, f64v_sub(f64v_set1(2.0), p));
    return f64v_fma(f64v_mul(f64v_set1(0.5), p), r, p);
}

// 1 / d to 27 bits, d = 1 + e with 0 <= e <= 1: a cubic, good to 2^-9.1, and a step of third order.
CT_VEC_INLINE f64v f64v_recip1p(f64v e, f64v d) {
    f64v p = f64v_set1(-0x1.c65285fd5d0a5p-3);
    p = f64v_fma(p, e, f64v_set1(0x1.54bde47e06659p-1));
    p = f64v_fma(p, e, f64v_set1(-0x1.e2b7ae5d2ff81p-1));
    p = f64v_fma(p, e, f64v_set1(0x1.ff1cd6bd01aa2p-1));
    f64v r = f64v_fnma(p, d, f64v_set1(1.0));
    return f64v_fma(f64v_fma(r, r, r), p, p);
}

// LN2_HI + LN2_LO and LN2_SHORT + LN2_REST are ln 2; SHORT is rounded to a multiple of 2^-42, so
// that an exponent times it is exact. SQRT_HALF + SQRT_REST is sqrt(1/2), HALF_BITS the bits of
// SQRT_HALF. Arguments are clamped (HI, LO, MAX) a little beyond the last one that matters.
#define VC_MANT_BITS   52
#define VC_BIAS        1023
#define VC_MAGIC       0x1.8p52
#define VC_LOG2E       0x1.71547652b82fep0
#define VC_LN2_HI      0x1.62e42fefa39efp-1
#define VC_LN2_LO      0x1.abc9e3b39803fp-56
#define VC_LN2_SHORT   0x1.62e42fefa38p-1
#define VC_LN2_REST    0x1.ef35793c7673p-45
#define VC_SQRT_HALF   0x1.6a09e667f3bcdp-1
#define VC_SQRT_REST   -0x1.bdd3413b26456p-55
#define VC_HALF        0.5
#define VC_HALF_BITS   0x3fe6a09e667f3bcd
#define VC_MIN_NORMAL  0x1p-1022
#define VC_INF         __builtin_inf()
#define VC_NAN         __builtin_nan("")
#define VC_EXP_HI      710.0
#define VC_EXP_LO      -746.0
#define VC_EXPM1_LO    -38.0
#define VC_TANH_MAX    20.0
#define VC_MAGIC_LEAST 0x1.7fffffffffc04p52
#define VC_ERFC_MAX    27.4
#define VC_ERF_MID     0.3828125
#define VC_ERF_MAX     6.0
#define VC_ERFC_NEAR   0.75
#define VC_CDF_MAX     38.7
#define VC_ERFCX_K     0x1.f0bp1
#define VC_GATE_C1     0x1.9884533d43651p0
#define VC_GATE_C1_LO  -0x1.cbc0d30ebfd15p-54
#define VC_GATE_C2     0x1.2444f2a4d8b4bp-4
#define VC_GATE_C2_LO  -0x1.6c843a29d1c7p-61
#define VC_GATE_LEAST  -760.0
#define VC_CDF_SHIFT   3
#define VC_CDF_TERMS   F64_CDF_TERMS
#define VC_CDF_REST    F64_CDF_REST

#define VV       f64v
#define VI       f64i
#define VM       f64m
#define VF(name) CT_CAT(f64v_, name)
#include "vmath_core.inc"

// erf(a) for 7/8 <= a <= 6, as 1 - erfc(r + d) with r the nearest multiple of 1/128: erfc(r) and its
// slope s = 2 exp(-r^2) / sqrt(pi) from a table, and s d times a Taylor series whose coefficients
// are Hermite polynomials of r. What is subtracted is below 1/4, so that plain arithmetic serves.
CT_VEC_INLINE f64v f64v_erf_far(f64v a) {
    f64v magic = f64v_set1(0x1.8p45);
    f64v m = f64v_add(a, magic);
    f64v r = f64v_sub(m, magic);
    f64v d = f64v_sub(a, r);
    f64i k = f64v_isub(f64v_as_int(m), f64v_as_int(f64v_set1(0x1.8p45 + 0.875)));
    k = f64v_ishl(k, 1);
    f64v c = f64v_gather(ct__erfc_table[0], k);
    f64v t = f64v_mul(f64v_gather(ct__erfc_table[0] + 1, k), d);
    f64v z = f64v_mul(r, r);
    f64v c5 =
        f64v_fma(f64v_fma(z, f64v_set1(-2.0 / 45), f64v_set1(2.0 / 9)), z, f64v_set1(-1.0 / 6));
    f64v c4 = f64v_fma(f64v_fma(z, f64v_set1(2.0 / 15), f64v_set1(-0.4)), z, f64v_set1(0.1));
    f64v c3 = f64v_fma(z, f64v_set1(-1.0 / 3), f64v_set1(0.5));
    f64v c2 = f64v_fma(z, f64v_set1(2.0 / 3), f64v_set1(-1.0 / 3));
    f64v p = f64v_fma(f64v_mul(c5, r), d, c4);
    p = f64v_fma(p, d, f64v_mul(c3, r));
    p = f64v_fma(p, d, c2);
    p = f64v_fma(f64v_fms(p, d, r), d, f64v_set1(1.0));
    return f64v_sub(f64v_set1(1.0), f64v_fnma(t, p, c));
}

// erf(a) = a + a P(a^2) up to 7/8. A NaN stays out of the table.
CT_VEC_INLINE f64v f64v_erf(f64v x) {
    f64v edge = f64v_set1(0.875);
    f64v a = f64v_abs(x);
    f64v far = f64v_erf_far(f64v_greater(edge, f64v_lesser(a, f64v_set1(VC_ERF_MAX))));
    f64v near = f64v_fma(a, f64v_erf_excess(a), a);
    return f64v_copysign(f64v_select(f64v_ge(a, edge), far, near), x);
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
