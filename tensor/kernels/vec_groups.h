#ifndef CT_VEC_GROUPS_H
#define CT_VEC_GROUPS_H

/*
 * What reductions need beyond vec_lanes.h: several rows in a vector, and extremes beside NaNs. For each
 * item type T in {f32, f64}:
 *
 *   keep_n(v, n, fill)  the first n <= lanes lanes of v, fill in the others
 *   lower(a, b, h) and upper(a, b, h), which halve groups of 2 h lanes that lie one after the other:
 *                  of each group of a and then of b the lower or the upper h lanes. LANES vectors, of
 *                  one group each, so become one vector of groups of one lane; that of vector v is then
 *                  at lane `turned(v)`. Groups of 16 bytes or more stay in order.
 *   pick(v, i)     lane l of the result is lane i[l] of v
 *   high(a, b) low(a, b)  max_ieee and min_ieee where no operand is NaN, anything else where one is
 *   ordered(m, a, b)  the mask m where neither a nor b is NaN, false elsewhere
 */

#include "vec_lanes.h"

#if CT_ISA_LEVEL == 0

CT_VEC_INLINE f32v f32v_keep_n(f32v v, size_t n, float fill) {
    return n != 0 ? v : fill;
}

CT_VEC_INLINE f32v f32v_lower(f32v a, f32v b, int h) {
    (void)b;
    (void)h;
    return a;
}

CT_VEC_INLINE f32v f32v_upper(f32v a, f32v b, int h) {
    (void)a;
    (void)h;
    return b;
}

CT_VEC_INLINE int f32v_turned(int v) {
    return v;
}

CT_VEC_INLINE f32v f32v_pick(f32v v, f32i i) {
    (void)i;
    return v;
}

CT_VEC_INLINE f32v f32v_high(f32v a, f32v b) {
    return f32v_max_ieee(a, b);
}

CT_VEC_INLINE f32v f32v_low(f32v a, f32v b) {
    return f32v_min_ieee(a, b);
}

CT_VEC_INLINE f32m f32v_ordered(f32m m, f32v a, f32v b) {
    return m && a == a && b == b;
}

CT_VEC_INLINE f64v f64v_keep_n(f64v v, size_t n, double fill) {
    return n != 0 ? v : fill;
}

CT_VEC_INLINE f64v f64v_lower(f64v a, f64v b, int h) {
    (void)b;
    (void)h;
    return a;
}

CT_VEC_INLINE f64v f64v_upper(f64v a, f64v b, int h) {
    (void)a;
    (void)h;
    return b;
}

CT_VEC_INLINE int f64v_turned(int v) {
    return v;
}

CT_VEC_INLINE f64v f64v_pick(f64v v, f64i i) {
    (void)i;
    return v;
}

CT_VEC_INLINE f64v f64v_high(f64v a, f64v b) {
    return f64v_max_ieee(a, b);
}

CT_VEC_INLINE f64v f64v_low(f64v a, f64v b) {
    return f64v_min_ieee(a, b);
}

CT_VEC_INLINE f64m f64v_ordered(f64m m, f64v a, f64v b) {
    return m && a == a && b == b;
}

#elif CT_ISA_LEVEL == 1

CT_VEC_INLINE f32v f32v_keep_n(f32v v, size_t n, float fill) {
    return _mm256_blendv_ps(_mm256_set1_ps(fill), v, _mm256_castsi256_ps(f32v_first_n(n)));
}

CT_VEC_INLINE f32v f32v_lower(f32v a, f32v b, int h) {
    return h == 4   ? _mm256_permute2f128_ps(a, b, 0x20)
           : h == 2 ? _mm256_shuffle_ps(a, b, 0x44)
                    : _mm256_shuffle_ps(a, b, 0x88);
}

CT_VEC_INLINE f32v f32v_upper(f32v a, f32v b, int h) {
    return h == 4   ? _mm256_permute2f128_ps(a, b, 0x31)
           : h == 2 ? _mm256_shuffle_ps(a, b, 0xee)
                    : _mm256_shuffle_ps(a, b, 0xdd);
}

CT_VEC_INLINE int f32v_turned(int v) {
    return v % 2 * 4 + v / 2;
}

CT_VEC_INLINE f32v f32v_pick(f32v v, f32i i) {
    return _mm256_permutevar8x32_ps(v, i);
}

CT_VEC_INLINE f32v f32v_high(f32v a, f32v b) {
    return _mm256_and_ps(_mm256_max_ps(a, b), _mm256_max_ps(b, a));
}

CT_VEC_INLINE f32v f32v_low(f32v a, f32v b) {
    return _mm256_or_ps(_mm256_min_ps(a, b), _mm256_min_ps(b, a));
}

CT_VEC_INLINE f32m f32v_ordered(f32m m, f32v a, f32v b) {
    return _mm256_and_ps(m, _mm256_cmp_ps(a, b, _CMP_ORD_Q));
}

CT_VEC_INLINE f64v f64v_keep_n(f64v v, size_t n, double fill) {
    return _mm256_blendv_pd(_mm256_set1_pd(fill), v, _mm256_castsi256_pd(f64v_first_n(n)));
}

CT_VEC_INLINE f64v f64v_lower(f64v a, f64v b, int h) {
    return h == 2 ? _mm256_permute2f128_pd(a, b, 0x20) : _mm256_unpacklo_pd(a, b);
}

CT_VEC_INLINE f64v f64v_upper(f64v a, f64v b, int h) {
    return h == 2 ? _mm256_permute2f128_pd(a, b, 0x31) : _mm256_unpackhi_pd(a, b);
}

CT_VEC_INLINE int f64v_turned(int v) {
    return v % 2 * 2 + v / 2;
}

CT_VEC_INLINE f64v f64v_pick(f64v v, f64i i) {
    // Halves of an item are picked: 2 i and 2 i + 1.
    __m256i low = _mm256_shuffle_epi32(_mm256_add_epi64(i, i), 0xa0);
    __m256i halves = _mm256_add_epi32(low, _mm256_set1_epi64x((int64_t)1 << 32));
    return _mm256_castps_pd(_mm256_permutevar8x32_ps(_mm256_castpd_ps(v), halves));
}

CT_VEC_INLINE f64v f64v_high(f64v a, f64v b) {
    return _mm256_and_pd(_mm256_max_pd(a, b), _mm256_max_pd(b, a));
}

CT_VEC_INLINE f64v f64v_low(f64v a, f64v b) {
    return _mm256_or_pd(_mm256_min_pd(a, b), _mm256_min_pd(b, a));
}

CT_VEC_INLINE f64m f64v_ordered(f64m m, f64v a, f64v b) {
    return _mm256_and_pd(m, _mm256_cmp_pd(a, b, _CMP_ORD_Q));
}

#else

CT_VEC_INLINE f32v f32v_keep_n(f32v v, size_t n, float fill) {
    return _mm512_mask_mov_ps(_mm512_set1_ps(fill), f32v_first_n(n), v);
}

CT_VEC_INLINE f32v f32v_lower(f32v a, f32v b, int h) {
    return h == 8   ? _mm512_shuffle_f32x4(a, b, 0x44)
           : h == 4 ? _mm512_shuffle_f32x4(a, b, 0x88)
           : h == 2 ? _mm512_shuffle_ps(a, b, 0x44)
                    : _mm512_shuffle_ps(a, b, 0x88);
}

CT_VEC_INLINE f32v f32v_upper(f32v a, f32v b, int h) {
    return h == 8   ? _mm512_shuffle_f32x4(a, b, 0xee)
           : h == 4 ? _mm512_shuffle_f32x4(a, b, 0xdd)
           : h == 2 ? _mm512_shuffle_ps(a, b, 0xee)
                    : _mm512_shuffle_ps(a, b, 0xdd);
}

CT_VEC_INLINE int f32v_turned(int v) {
    return v % 4 * 4 + v / 4;
}

CT_VEC_INLINE f32v f32v_pick(f32v v, f32i i) {
    return _mm512_permutexvar_ps(i, v);
}

CT_VEC_INLINE f32v f32v_high(f32v a, f32v b) {
    return _mm512_range_ps(a, b, 0x5); // the larger, with its own sign
}

CT_VEC_INLINE f32v f32v_low(f32v a, f32v b) {
    return _mm512_range_ps(a, b, 0x4);
}

CT_VEC_INLINE f32m f32v_ordered(f32m m, f32v a, f32v b) {
    return _mm512_mask_cmp_ps_mask(m, a, b, _CMP_ORD_Q);
}

CT_VEC_INLINE f64v f64v_keep_n(f64v v, size_t n, double fill) {
    return _mm512_mask_mov_pd(_mm512_set1_pd(fill), f64v_first_n(n), v);
}

CT_VEC_INLINE f64v f64v_lower(f64v a, f64v b, int h) {
    return h == 4   ? _mm512_shuffle_f64x2(a, b, 0x44)
           : h == 2 ? _mm512_shuffle_f64x2(a, b, 0x88)
                    : _mm512_unpacklo_pd(a, b);
}

CT_VEC_INLINE f64v f64v_upper(f64v a, f64v b, int h) {
    return h == 4   ? _mm512_shuffle_f64x2(a, b, 0xee)
           : h == 2 ? _mm512_shuffle_f64x2(a, b, 0xdd)
                    : _mm512_unpackhi_pd(a, b);
}

CT_VEC_INLINE int f64v_turned(int v) {
    return v % 4 * 2 + v / 4;
}

CT_VEC_INLINE f64v f64v_pick(f64v v, f64i i) {
    return _mm512_permutexvar_pd(i, v);
}

CT_VEC_INLINE f64v f64v_high(f64v a, f64v b) {
    return _mm512_range_pd(a, b, 0x5); // the larger, with its own sign
}

CT_VEC_INLINE f64v f64v_low(f64v a, f64v b) {
    return _mm512_range_pd(a, b, 0x4);
}

CT_VEC_INLINE f64m f64v_ordered(f64m m, f64v a, f64v b) {
    return _mm512_mask_cmp_pd_mask(m, a, b, _CMP_ORD_Q);
}

#endif

#endif
