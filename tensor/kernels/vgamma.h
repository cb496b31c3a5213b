#ifndef CT_VGAMMA_H
#define CT_VGAMMA_H

/*
 * The logarithm of the gamma function and its derivatives: f64v_lgamma(x), f64v_digamma(x),
 * f64v_polygamma(n, x) and the same for f32.
 *
 * f32 items are widened, computed in f64 and rounded once: these functions have roots without a
 * closed form, near which nothing but more digits helps, and nobody's training waits for them.
 *
 * As in vmath_core.inc: straight sequences of correctly rounded operations with selects. A branch
 * on any(mask) only leaves out work whose results the lanes outside of the mask do not take.
 */

#include "vsleef.h"

#define GK(c) f64v_set1(c)

// SLEEF's lgamma is right from the first root to 1e305, there it becomes infinite too early. From
// 2^57 on the rest of Stirling's formula is below half an ulp of x log(x) - x.
CT_VEC_INLINE f64v f64v_lgamma(f64v x) {
    f64v far = f64v_fms(x, f64v_log(x), x);
    f64v y = f64v_select(f64v_gt(x, GK(0x1p1000)), far, CT_SLEEF_F64(lgamma, u10)(x));
    y = f64v_select(f64v_eq(x, GK(__builtin_inf())), x, y);
    f64v a = f64v_abs(x);
    // Poles: the integers up to 0, which all large negative numbers are.
    f64m pole = f64v_mand(f64v_le(x, GK(0)), f64v_eq(f64v_floor(a), a));
    return f64v_select(pole, GK(__builtin_inf()), y);
}

// psi(z) / (z - z0) with t = z - 3/2 on 1 <= z <= 2, where z0 is psi's root, as a pair. Interpolated
// at Chebyshev's points in 250-bit arithmetic (mpmath), relative error 2^-58.3 -> 2^-56.2.
CT_VEC_INLINE f64v f64v_digamma_poly(f64v t, f64v *lo) {
    f64v p = GK(0x1.f2aed1931e342p-14);
    p = f64v_fma(p, t, GK(-0x1.76034ed7fc96fp-13));
    p = f64v_fma(p, t, GK(0x1.947807f94f4afp-14));
    p = f64v_fma(p, t, GK(-0x1.2f5af5138eff2p-13));
    p = f64v_fma(p, t, GK(0x1.53c10b236cea7p-12));
    p = f64v_fma(p, t, GK(-0x1.fda493234fff1p-12));
    p = f64v_fma(p, t, GK(0x1.6a3c4040720bep-11));
    p = f64v_fma(p, t, GK(-0x1.0fb1e4cc74c3bp-10));
    p = f64v_fma(p, t, GK(0x1.99d4293e49458p-10));
    p = f64v_fma(p, t, GK(-0x1.336de50496107p-9));
    p = f64v_fma(p, t, GK(0x1.cd200e52a4637p-9));
    p = f64v_fma(p, t, GK(-0x1.5a06a3a0621fep-8));
    p = f64v_fma(p, t, GK(0x1.03c0adbd20f97p-7));
    p = f64v_fma(p, t, GK(-0x1.8635640888e8bp-7));
    p = f64v_fma(p, t, GK(0x1.256471784d225p-6));
    p = f64v_fma(p, t, GK(-0x1.b9f8b11b8e8ddp-6));
    p = f64v_fma(p, t, GK(0x1.4de9aa177aaefp-5));
    p = f64v_fma(p, t, GK(-0x1.fb44202a2451dp-5));
    p = f64v_fma(p, t, GK(0x1.8512e5903902bp-4));
    p = f64v_fma(p, t, GK(-0x1.2feeeb98a78dcp-3));
    p = f64v_fma(p, t, GK(0x1.eca189b8e6f6dp-3));
    p = f64v_fma(p, t, GK(-0x1.b1cb63005ee98p-2));
    f64v c = GK(0x1.e6f0cbb873616p-1);
    f64v hi = f64v_fma(p, t, c);
    *lo = f64v_add(f64v_fma(p, t, f64v_sub(c, hi)), GK(0x1.8f70c7a125e6ap-55));
    return hi;
}

// psi(y) - log(y) for y >= 10: -1 / (2y) - the sum of B_2k / (2k y^2k).
CT_VEC_INLINE f64v f64v_digamma_tail(f64v y) {
    f64v w = f64v_div(GK(1), y);
    f64v v = f64v_mul(w, w);
    f64v p = GK(-0x1.86e7f9b9fe6e8p1);
    p = f64v_fma(p, v, GK(0x1.c5e5e5e5e5e5ep-2));
    p = f64v_fma(p, v, GK(-0x1.5555555555555p-4));
    p = f64v_fma(p, v, GK(0x1.5995995995996p-6));
    p = f64v_fma(p, v, GK(-0x1.f07c1f07c1f08p-8));
    p = f64v_fma(p, v, GK(0x1.1111111111111p-8));
    p = f64v_fma(p, v, GK(-0x1.0410410410410p-8));
    p = f64v_fma(p, v, GK(0x1.1111111111111p-7));
    p = f64v_fma(p, v, GK(-0x1.5555555555555p-4));
    return f64v_fma(p, v, f64v_mul(GK(-0.5), w));
}

// psi(y) for y > 0. Below 10: psi(y) = psi(z) + 1 / (y - 1) + 1 / (y - 2) + ... with z between
// 1 and 2, or psi(z) - 1 / y with z = y + 1, and the polynomial; sums carry what they round.
CT_VEC_INLINE f64v f64v_digamma_positive(f64v y) {
    f64v one = GK(1), two = GK(2), ten = GK(10), zero = f64v_zero();
    f64m small = f64v_lt(y, one), far = f64v_ge(y, ten);
    f64v up = f64v_add(y, one);
    f64v z = f64v_select(small, up, y);
    f64v zl = f64v_select(small, f64v_sub(y, f64v_sub(up, one)), zero);
    f64v s = f64v_div(GK(-1), y);
    f64v sl = f64v_select(small, f64v_mul(f64v_fma(s, y, one), s), zero);
    s = f64v_select(small, s, zero);
    f64m above = f64v_mand(f64v_ge(z, two), f64v_lt(z, ten));
    for (int i = 0; i < 8 && f64v_any(above); i++) {
        f64v down = f64v_sub(z, one);
        f64v r = f64v_div(one, down);
        f64v t = f64v_add(s, r);
        f64v b = f64v_sub(t, s);
        f64v lost = f64v_add(f64v_sub(s, f64v_sub(t, b)), f64v_sub(r, b));
        z = f64v_select(above, down, z);
        s = f64v_select(above, t, s);
        sl = f64v_select(above, f64v_add(sl, lost), sl);
        above = f64v_mand(f64v_ge(z, two), f64v_lt(z, ten));
    }
    f64v pl;
    f64v p = f64v_digamma_poly(f64v_sub(z, GK(1.5)), &pl);
    f64v d = f64v_sub(z, GK(0x1.762d86356be3fp0)); // exact
    f64v dl = f64v_sub(zl, GK(0x1.b86a722197829p-54));
    f64v lo = f64v_fma(dl, p, f64v_fma(d, pl, sl));
    f64v product = f64v_mul(d, p);
    f64v near = f64v_add(s, product);
    lo = f64v_add(lo, f64v_fms(d, p, product));
    // Where y is tiny, s may be infinite: nothing is lost then.
    f64v bv = f64v_sub(near, s);
    f64v lost = f64v_add(f64v_sub(s, f64v_sub(near, bv)), f64v_sub(product, bv));
    near = f64v_select(f64v_lt(y, GK(0x1p-60)), near, f64v_add(near, f64v_add(lost, lo)));
    f64v asymptotic = f64v_add(f64v_log(y), f64v_digamma_tail(y));
    return f64v_select(far, asymptotic, near);
}

// a - b, and what that lost.
CT_VEC_INLINE f64v f64v_less(f64v a, f64v b, f64v *lost) {
    f64v d = f64v_sub(a, b), bv = f64v_sub(d, a);
    *lost = f64v_sub(f64v_sub(a, f64v_sub(d, bv)), f64v_add(b, bv));
    return d;
}

// pi cot(pi r) as a pair for 0 < |r| <= 1/4: 1 / r - 2r / (1 - r^2) less r times the sum of
// 2 (zeta(2k) - 1) r^(2k-2).
CT_VEC_INLINE f64v f64v_pi_cot_near(f64v r, f64v *lo) {
    static const double d[] = {0x1.4a34cc4a60fa6p0,   0x1.51322ac7d8483p-3,  0x1.1c26130249124p-5,
                               0x1.0b36af86396e9p-7,  0x1.04b8ce96ee5f8p-9,  0x1.020a5b2cd3042p-11,
                               0x1.00e4af2b4e156p-13, 0x1.0064cdeb22f0fp-15, 0x1.002c9953744ccp-17,
                               0x1.0013c594466eap-19};
    f64v one = GK(1), v = f64v_mul(r, r), u = f64v_div(one, r), p = GK(d[9]);
    for (int k = 8; k >= 0; k--)
        p = f64v_fma(p, v, GK(d[k]));
    p = f64v_add(p, f64v_div(GK(2), f64v_sub(one, v)));
    // Where r is tiny, u may be infinite.
    f64v rest = f64v_fnma(f64v_fms(u, r, one), u, f64v_neg(f64v_mul(r, p)));
    *lo = f64v_select(f64v_lt(f64v_abs(r), GK(0x1p-60)), f64v_zero(), rest);
    return u;
}

// pi tan(pi h) as a pair for 0 <= h <= 1/4: 2h / (1/4 - h^2) and h times the sum of
// 2 zeta(2k+2, 3/2) h^2k.
CT_VEC_INLINE f64v f64v_pi_tan(f64v h, f64v *lo) {
    static const double d[] = {0x1.de9e64df22ef3p0,   0x1.e0f840dad61dap-2, 0x1.7b57ab63fedf5p-3,
                               0x1.456f1ad666a3bp-4,  0x1.1de818d228fb9p-5, 0x1.fa3a872036e97p-7,
                               0x1.c1573122d0531p-8,  0x1.8f3619541742cp-9, 0x1.62ca426fbee0bp-10,
                               0x1.3b5930a155421p-11, 0x1.184d992bc2ff0p-12};
    f64v v = f64v_mul(h, h), p = GK(d[10]);
    for (int k = 9; k >= 0; k--)
        p = f64v_fma(p, v, GK(d[k]));
    f64v twice = f64v_add(h, h), quarter = GK(0.25);
    f64v den = f64v_fnma(h, h, quarter), den_lo = f64v_fnma(h, h, f64v_sub(quarter, den));
    f64v q = f64v_div(twice, den);
    f64v rest = f64v_fnma(q, den_lo, f64v_fnma(q, den, twice));
    *lo = f64v_fma(h, p, f64v_div(rest, den));
    return q;
}

// psi - pi cot(pi r) + small for 0 < |r| <= 1/2.
CT_VEC_INLINE f64v f64v_less_cot(f64v psi, f64v r, f64v small) {
    f64v lost, near_lo, far_lo, a = f64v_abs(r);
    f64v near = f64v_pi_cot_near(r, &near_lo);
    f64v far = f64v_pi_tan(f64v_sub(GK(0.5), a), &far_lo);
    f64m is_far = f64v_gt(a, GK(0.25)), below = f64v_lt(r, f64v_zero());
    far = f64v_select(below, f64v_neg(far), far);
    far_lo = f64v_select(below, f64v_neg(far_lo), far_lo);
    f64v cot = f64v_select(is_far, far, near), lo = f64v_select(is_far, far_lo, near_lo);
    f64v y = f64v_less(psi, cot, &lost);
    f64v mended = f64v_add(y, f64v_add(lost, f64v_sub(small, lo)));
    return f64v_select(f64v_lt(a, GK(0x1p-60)), y, mended);
}

// psi(x) = psi(1 - x) - pi cot(pi x) for x < 0. The remainder from the nearest integer is exact;
// what 1 - x loses counts by the slope of psi, of which a few digits will do.
CT_VEC_INLINE f64v f64v_digamma(f64v x) {
    f64v one = GK(1), zero = f64v_zero();
    f64m negative = f64v_lt(x, zero);
    f64v turned = f64v_sub(one, x);
    f64v psi = f64v_digamma_positive(f64v_select(negative, turned, x));
    if (f64v_any(negative)) {
        f64v lost = f64v_sub(f64v_sub(one, turned), x), w = f64v_div(one, turned);
        f64v slope = f64v_fma(f64v_mul(w, w), f64v_fma(w, GK(1.0 / 6), GK(0.5)), w);
        f64v r = f64v_sub(x, f64v_rint(x));
        f64v reflected = f64v_less_cot(psi, r, f64v_mul(lost, slope));
        reflected = f64v_select(f64v_eq(r, zero), GK(__builtin_nan("")), reflected);
        psi = f64v_select(negative, reflected, psi);
    }
    return f64v_select(f64v_eq(x, GK(__builtin_inf())), x, psi);
}

// What Euler-Maclaurin's formula adds to a^-s / 2 + a^(1-s) / (s-1), over a^-s:
// the sum of B_2k / (2k)! s (s+1) ... (s+2k-2) a^(1-2k).
CT_VEC_INLINE f64v f64v_zeta_tail(f64v s, f64v a) {
    static const double b[] = {0x1.5555555555555p-4,  -0x1.6c16c16c16c17p-10,
                               0x1.1566abc011567p-15, -0x1.bbd779334ef0bp-21,
                               0x1.66a8f2bf70ebep-26, -0x1.22805d644267fp-31,
                               0x1.d6db2c4e09162p-37, -0x1.7da4e1f79955cp-42,
                               0x1.355871d652e9ep-47, -0x1.f57d968caacf1p-53};
    f64v w = f64v_div(GK(1), a), t = f64v_mul(s, w), sum = f64v_zero();
    for (int k = 0; k < 10; k++) {
        sum = f64v_fma(GK(b[k]), t, sum);
        f64v next = f64v_mul(f64v_add(s, GK(2 * k + 1)), w);
        t = f64v_mul(f64v_mul(t, next), f64v_mul(f64v_add(s, GK(2 * k + 2)), w));
    }
    return sum;
}

// q + ql + k, and what that sum lost.
CT_VEC_INLINE f64v f64v_shift(f64v q, f64v ql, int k, f64v *lost) {
    f64v step = GK(k), a = f64v_add(q, step), b = f64v_sub(a, q);
    *lost = f64v_add(ql, f64v_add(f64v_sub(q, f64v_sub(a, b)), f64v_sub(step, b)));
    return a;
}

// ((a + al) / c)^-s, where c is a power of two. What a lost is felt s-fold, and mended.
CT_VEC_INLINE f64v f64v_mended_power(f64v a, f64v al, f64v c, f64v s) {
    f64v r = f64v_neg(s);
    f64v power = CT_SLEEF_F64(pow, u10)(f64v_div(a, c), r);
    f64v mended = f64v_fma(power, f64v_mul(r, f64v_div(al, a)), power);
    return f64v_select(f64v_eq(al, f64v_zero()), power, mended);
}

// c^s zeta(s, q + ql), where zeta(s, q) is the sum of (q + k)^-s over k >= 0, for s >= 2 and q > 0:
// twelve terms, the smallest first, and the rest by Euler-Maclaurin.
CT_VEC_INLINE f64v f64v_zeta_scaled(f64v s, f64v q, f64v ql, f64v c) {
    f64v al, a = f64v_shift(q, ql, 12, &al), slope = f64v_sub(s, GK(1));
    f64v rest = f64v_add(f64v_div(al, slope), f64v_add(GK(0.5), f64v_zeta_tail(s, a)));
    rest = f64v_mul(f64v_add(rest, f64v_div(a, slope)), f64v_mended_power(a, al, c, s));
    f64v sum = f64v_zero();
    for (int k = 11; k > 0; k--) {
        a = f64v_shift(q, ql, k, &al);
        sum = f64v_add(sum, f64v_mended_power(a, al, c, s));
    }
    return f64v_add(f64v_add(sum, rest), f64v_mended_power(q, ql, c, s));
}

// f c^-s sum for a power of two c = 2^e >= 1, where c^-s alone may be out of the range.
CT_VEC_INLINE f64v f64v_zeta_unscaled(f64v f, f64v sum, f64v c, f64v s) {
    f64i biased = f64v_ishr_logical(f64v_as_int(c), 52);
    f64v e = f64v_cvt_float(f64v_isub(biased, f64v_iset1(1023)));
    f64v k = f64v_neg(f64v_mul(e, s));
    f64v first = f64v_greater(k, GK(-1000));
    f64v rest = f64v_greater(f64v_sub(k, first), GK(-2000));
    f64v half = f64v_rint(f64v_mul(rest, GK(0.5)));
    f64v y = f64v_mul(f64v_mul(f, f64v_pow2(first)), sum);
    return f64v_mul(f64v_mul(y, f64v_pow2(half)), f64v_pow2(f64v_sub(rest, half)));
}

// n! zeta(n + 1, q + ql) for n >= 1 and q > 0. Where q^-s is very small, n! large or many terms alike
// may make up for it: there a power of two is taken out of the sum, and put back at the end.
CT_VEC_INLINE f64v f64v_polygamma_positive(f64v n, f64v q, f64v ql) {
    f64v one = GK(1), inf = GK(__builtin_inf());
    f64v s = f64v_add(n, one), r = f64v_neg(s);
    f64v factorial = CT_SLEEF_F64(tgamma, u10)(s);
    f64m tiny = f64v_lt(CT_SLEEF_F64(pow, u10)(q, r), GK(0x1p-900));
    tiny = f64v_mand(tiny, f64v_gt(q, one));
    f64v c = f64v_select(tiny, f64v_and(q, inf), one);
    f64v sum = f64v_zeta_scaled(s, q, ql, c);
    f64v y = f64v_mul(factorial, sum);
    if (f64v_any(tiny))
        y = f64v_select(tiny, f64v_zeta_unscaled(factorial, sum, c, s), y);
    return f64v_select(f64v_eq(q, inf), f64v_zero(), y);
}

// The n-th derivative of psi, n taken down to an integer: (-1)^(n+1) n! zeta(n + 1, x). For
// x = f - m < 0 with 0 < f < 1, the sum over all k in both directions less those below -m:
// zeta(s, x) = zeta(s, f) + (-1)^s (zeta(s, 1 - f) - zeta(s, 1 - x)).
CT_VEC_INLINE f64v f64v_polygamma(f64v n, f64v x) {
    f64v one = GK(1), zero = f64v_zero(), nan = GK(__builtin_nan(""));
    n = f64v_floor(n);
    f64m negative = f64v_lt(x, zero), order = f64v_mand(f64v_ge(n, one), f64v_le(n, GK(170)));
    f64v m = f64v_select(order, n, one);
    f64m even = f64v_eq(f64v_rint(f64v_mul(GK(0.5), m)), f64v_mul(GK(0.5), m));
    f64v low = f64v_floor(x), ql, ul, pl;
    f64v q = f64v_less(x, low, &ql);
    f64v y =
        f64v_polygamma_positive(m, f64v_select(negative, q, x), f64v_select(negative, ql, zero));
    if (f64v_any(negative)) {
        f64v u = f64v_less(f64v_ceil(x), x, &ul), p = f64v_less(one, x, &pl);
        f64v up = f64v_polygamma_positive(m, f64v_select(negative, u, one), ul);
        f64v past = f64v_polygamma_positive(m, f64v_select(negative, p, one), pl);
        // Two infinities: the nearer pole's is the larger.
        f64m first = f64v_lt(q, GK(0.5)), both_far = f64v_eq(y, GK(__builtin_inf()));
        both_far = f64v_mand(both_far, f64v_eq(up, GK(__builtin_inf())));
        y = f64v_select(f64v_mandnot(first, both_far), zero, y);
        up = f64v_select(f64v_mand(first, both_far), zero, up);
        f64v other = f64v_sub(up, past);
        f64v both = f64v_select(even, f64v_sub(y, other), f64v_add(y, other));
        f64v pole = f64v_select(even, nan, GK(__builtin_inf()));
        both = f64v_select(f64v_eq(low, x), pole, both);
        y = f64v_select(negative, both, y);
    }
    y = f64v_select(even, f64v_neg(y), y);
    y = f64v_select(order, y, nan);
    f64m zeroth = f64v_eq(n, zero);
    return f64v_any(zeroth) ? f64v_select(zeroth, f64v_digamma(x), y) : y;
}

#undef GK

// The f32 functions: items through memory, since the vectors of both types have other lanes.
CT_VEC_INLINE void f32v_widen(f32v x, double *wide) {
    float items[F32V_LANES];
    f32v_store(items, x);
    for (int i = 0; i < F32V_LANES; i++)
        wide[i] = (double)items[i];
}

CT_VEC_INLINE f32v f32v_narrow(const double *wide) {
    float items[F32V_LANES];
    for (int i = 0; i < F32V_LANES; i++)
        items[i] = (float)wide[i];
    return f32v_load(items);
}

CT_VEC_INLINE f32v f32v_lgamma(f32v x) {
    double wide[F32V_LANES];
    f32v_widen(x, wide);
    for (int i = 0; i < F32V_LANES; i += F64V_LANES)
        f64v_store(wide + i, f64v_lgamma(f64v_load(wide + i)));
    return f32v_narrow(wide);
}

CT_VEC_INLINE f32v f32v_digamma(f32v x) {
    double wide[F32V_LANES];
    f32v_widen(x, wide);
    for (int i = 0; i < F32V_LANES; i += F64V_LANES)
        f64v_store(wide + i, f64v_digamma(f64v_load(wide + i)));
    return f32v_narrow(wide);
}

CT_VEC_INLINE f32v f32v_polygamma(f32v n, f32v x) {
    double order[F32V_LANES], wide[F32V_LANES];
    f32v_widen(n, order);
    f32v_widen(x, wide);
    for (int i = 0; i < F32V_LANES; i += F64V_LANES)
        f64v_store(wide + i, f64v_polygamma(f64v_load(order + i), f64v_load(wide + i)));
    return f32v_narrow(wide);
}

#endif
