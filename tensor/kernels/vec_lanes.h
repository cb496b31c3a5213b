#ifndef CT_VEC_LANES_H
#define CT_VEC_LANES_H

/*
 * What reductions and packing need beyond the vocabulary of vec.h: the operations that look across
 * lanes. For each item type T in {f32, f64}:
 *
 *   down(v, h)     lane l of the result is lane l + h of v for l < h, other lanes are anything;
 *                  h is a power of two, less than the number of lanes
 *   first(v)       lane 0
 *   transpose(v)   v is an array of as many vectors as lanes: lane j of v[i] and lane i of v[j]
 *                  change places
 *   compress(m, v) the lanes of v whose mask is set, side by side from lane 0 on; the rest is anything
 *   count(m)       how many lanes of a mask are set
 *   stream(p, v)   a store past the caches, where the machine has one; p is aligned to the vector;
 *                  ct_vec_stream_end() puts all of them before what comes after
 *   load_first(p, n)         the first n items of p, then zeros; none beyond them is read
 *   load_turned(v, p, step)  the square whose rows of as many items as lanes lie `step` bytes
 *                            apart, transposed: by loads of quarters it costs half as many shuffles
 */

#include "vec.h"

/* What a kernel's object exports carries its instruction set's name. */
#ifndef CT_ISA_NAME
#if CT_ISA_LEVEL == 0
#define CT_ISA_NAME(name) CT_CAT(name, _scalar)
#elif CT_ISA_LEVEL == 1
#define CT_ISA_NAME(name) CT_CAT(name, _avx2)
CT_VEC_INLINE f32v f32v_compress(f32m m, f32v v) {
    // A byte for each set bit, by which the bytes 0 to 7 are drawn together.
    uint64_t bytes = _pdep_u64((unsigned)_mm256_movemask_ps(m), 0x0101010101010101u) * 0xff;
    uint64_t places = _pext_u64(0x0706050403020100u, bytes);
    return _mm256_permutevar8x32_ps(v, _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((int64_t)places)));
}

CT_VEC_INLINE f64v f64v_compress(f64m m, f64v v) {
    // Pairs of halves.
    uint64_t bytes = _pdep_u64((unsigned)_mm256_movemask_pd(m), 0x0001000100010001u) * 0xffff;
    uint64_t places = _pext_u64(0x0706050403020100u, bytes);
    __m256i halves = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((int64_t)places));
    return _mm256_castps_pd(_mm256_permutevar8x32_ps(_mm256_castpd_ps(v), halves));
}

CT_VEC_INLINE size_t f32v_count(f32m m) {
    return (size_t)__builtin_popcount((unsigned)_mm256_movemask_ps(m));
}

CT_VEC_INLINE size_t f64v_count(f64m m) {
    return (size_t)__builtin_popcount((unsigned)_mm256_movemask_pd(m));
}

#else
#define CT_ISA_NAME(name) CT_CAT(name, _avx512)
#endif
#endif

#if CT_ISA_LEVEL == 0

CT_VEC_INLINE f32v f32v_down(f32v v, int h) {
    (void)h;
    return v;
}

CT_VEC_INLINE float f32v_first(f32v v) {
    return v;
}

CT_VEC_INLINE void f32v_transpose(f32v *v) {
    (void)v;
}

CT_VEC_INLINE f64v f64v_down(f64v v, int h) {
    (void)h;
    return v;
}

CT_VEC_INLINE double f64v_first(f64v v) {
    return v;
}

CT_VEC_INLINE void f64v_transpose(f64v *v) {
    (void)v;
}

CT_VEC_INLINE f32v f32v_load_first(const float *p, size_t n) {
    return n != 0 ? *p : 0;
}

CT_VEC_INLINE void f32v_load_turned(f32v *v, const float *p, ptrdiff_t step) {
    (void)step;
    *v = *p;
}

CT_VEC_INLINE f64v f64v_load_first(const double *p, size_t n) {
    return n != 0 ? *p : 0;
}

CT_VEC_INLINE void f64v_load_turned(f64v *v, const double *p, ptrdiff_t step) {
    (void)step;
    *v = *p;
}

CT_VEC_INLINE void f32v_stream(float *p, f32v v) {
    *p = v;
}

CT_VEC_INLINE void f64v_stream(double *p, f64v v) {
    *p = v;
}

CT_VEC_INLINE void ct_vec_stream_end(void) {
}

CT_VEC_INLINE f32v f32v_compress(f32m m, f32v v) {
    (void)m;
    return v;
}

CT_VEC_INLINE f64v f64v_compress(f64m m, f64v v) {
    (void)m;
    return v;
}

CT_VEC_INLINE size_t f32v_count(f32m m) {
    return m;
}

CT_VEC_INLINE size_t f64v_count(f64m m) {
    return m;
}

#elif CT_ISA_LEVEL == 1

CT_VEC_INLINE f32v f32v_down(f32v v, int h) {
    return h == 4   ? _mm256_permute2f128_ps(v, v, 0x01)
           : h == 2 ? _mm256_permute_ps(v, 0x4e)
                    : _mm256_permute_ps(v, 0xb1);
}

CT_VEC_INLINE float f32v_first(f32v v) {
    return _mm256_cvtss_f32(v);
}

CT_VEC_INLINE void f32v_transpose(f32v *v) {
    f32v t[8];
    for (int i = 0; i < 8; i += 4) {
        f32v a = _mm256_unpacklo_ps(v[i], v[i + 1]), b = _mm256_unpackhi_ps(v[i], v[i + 1]);
        f32v c = _mm256_unpacklo_ps(v[i + 2], v[i + 3]), d = _mm256_unpackhi_ps(v[i + 2], v[i + 3]);
        t[i] = _mm256_shuffle_ps(a, c, 0x44);
        t[i + 1] = _mm256_shuffle_ps(a, c, 0xee);
        t[i + 2] = _mm256_shuffle_ps(b, d, 0x44);
        t[i + 3] = _mm256_shuffle_ps(b, d, 0xee);
    }
    for (int i = 0; i < 4; i++) {
        v[i] = _mm256_permute2f128_ps(t[i], t[i + 4], 0x20);
        v[i + 4] = _mm256_permute2f128_ps(t[i], t[i + 4], 0x31);
    }
}

CT_VEC_INLINE void f32v_stream(float *p, f32v v) {
    _mm256_stream_ps(p, v);
}

CT_VEC_INLINE void f64v_stream(double *p, f64v v) {
    _mm256_stream_pd(p, v);
}

CT_VEC_INLINE void ct_vec_stream_end(void) {
    _mm_sfence();
}

CT_VEC_INLINE f64v f64v_down(f64v v, int h) {
    return h == 2 ? _mm256_permute2f128_pd(v, v, 0x01) : _mm256_permute_pd(v, 0x5);
}

CT_VEC_INLINE double f64v_first(f64v v) {
    return _mm256_cvtsd_f64(v);
}

CT_VEC_INLINE void f64v_transpose(f64v *v) {
    f64v a = _mm256_unpacklo_pd(v[0], v[1]), b = _mm256_unpackhi_pd(v[0], v[1]);
    f64v c = _mm256_unpacklo_pd(v[2], v[3]), d = _mm256_unpackhi_pd(v[2], v[3]);
    v[0] = _mm256_permute2f128_pd(a, c, 0x20);
    v[1] = _mm256_permute2f128_pd(b, d, 0x20);
    v[2] = _mm256_permute2f128_pd(a, c, 0x31);
    v[3] = _mm256_permute2f128_pd(b, d, 0x31);
}

CT_VEC_INLINE f32v f32v_load_first(const float *p, size_t n) {
    return _mm256_maskload_ps(p, f32v_first_n(n));
}

CT_VEC_INLINE f64v f64v_load_first(const double *p, size_t n) {
    return _mm256_maskload_pd(p, f64v_first_n(n));
}

CT_VEC_INLINE const float *f32v_row(const float *p, ptrdiff_t i, ptrdiff_t step) {
    return (const float *)(const void *)((const char *)p + i * step);
}

CT_VEC_INLINE f32v f32v_quarters(const float *p, ptrdiff_t step) {
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(p)),
                                _mm_loadu_ps(f32v_row(p, 4, step)), 1);
}

CT_VEC_INLINE void f32v_load_turned(f32v *v, const float *p, ptrdiff_t step) {
    for (int g = 0; g < 8; g += 4) {
        f32v x[4];
        for (int r = 0; r < 4; r++) {
            x[r] = f32v_quarters(f32v_row(p + g, r, step), step);
        }
        f32v a = _mm256_unpacklo_ps(x[0], x[1]), b = _mm256_unpackhi_ps(x[0], x[1]);
        f32v c = _mm256_unpacklo_ps(x[2], x[3]), d = _mm256_unpackhi_ps(x[2], x[3]);
        v[g] = _mm256_shuffle_ps(a, c, 0x44);
        v[g + 1] = _mm256_shuffle_ps(a, c, 0xee);
        v[g + 2] = _mm256_shuffle_ps(b, d, 0x44);
        v[g + 3] = _mm256_shuffle_ps(b, d, 0xee);
    }
}

CT_VEC_INLINE const double *f64v_row(const double *p, ptrdiff_t i, ptrdiff_t step) {
    return (const double *)(const void *)((const char *)p + i * step);
}

CT_VEC_INLINE f64v f64v_quarters(const double *p, ptrdiff_t step) {
    return _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(p)),
                                _mm_loadu_pd(f64v_row(p, 2, step)), 1);
}

CT_VEC_INLINE void f64v_load_turned(f64v *v, const double *p, ptrdiff_t step) {
    for (int g = 0; g < 4; g += 2) {
        f64v x = f64v_quarters(p + g, step), y = f64v_quarters(f64v_row(p + g, 1, step), step);
        v[g] = _mm256_unpacklo_pd(x, y);
        v[g + 1] = _mm256_unpackhi_pd(x, y);
    }
}

#else

CT_VEC_INLINE f32v f32v_down(f32v v, int h) {
    return h == 8   ? _mm512_shuffle_f32x4(v, v, 0x4e)
           : h == 4 ? _mm512_shuffle_f32x4(v, v, 0xb1)
           : h == 2 ? _mm512_permute_ps(v, 0x4e)
                    : _mm512_permute_ps(v, 0xb1);
}

CT_VEC_INLINE float f32v_first(f32v v) {
    return _mm512_cvtss_f32(v);
}

CT_VEC_INLINE void f32v_transpose(f32v *v) {
    // Squares of 4 x 4 inside the quarters first, then the quarters.
    f32v t[16];
    for (int i = 0; i < 16; i += 4) {
        f32v a = _mm512_unpacklo_ps(v[i], v[i + 1]), b = _mm512_unpackhi_ps(v[i], v[i + 1]);
        f32v c = _mm512_unpacklo_ps(v[i + 2], v[i + 3]), d = _mm512_unpackhi_ps(v[i + 2], v[i + 3]);
        t[i] = _mm512_shuffle_ps(a, c, 0x44);
        t[i + 1] = _mm512_shuffle_ps(a, c, 0xee);
        t[i + 2] = _mm512_shuffle_ps(b, d, 0x44);
        t[i + 3] = _mm512_shuffle_ps(b, d, 0xee);
    }
    for (int i = 0; i < 4; i++) {
        f32v a = _mm512_shuffle_f32x4(t[i], t[i + 4], 0x88);
        f32v b = _mm512_shuffle_f32x4(t[i + 8], t[i + 12], 0x88);
        f32v c = _mm512_shuffle_f32x4(t[i], t[i + 4], 0xdd);
        f32v d = _mm512_shuffle_f32x4(t[i + 8], t[i + 12], 0xdd);
        v[i] = _mm512_shuffle_f32x4(a, b, 0x88);
        v[i + 8] = _mm512_shuffle_f32x4(a, b, 0xdd);
        v[i + 4] = _mm512_shuffle_f32x4(c, d, 0x88);
        v[i + 12] = _mm512_shuffle_f32x4(c, d, 0xdd);
    }
}

CT_VEC_INLINE void f32v_stream(float *p, f32v v) {
    _mm512_stream_ps(p, v);
}

CT_VEC_INLINE void f64v_stream(double *p, f64v v) {
    _mm512_stream_pd(p, v);
}

CT_VEC_INLINE void ct_vec_stream_end(void) {
    _mm_sfence();
}

CT_VEC_INLINE f64v f64v_down(f64v v, int h) {
    return h == 4   ? _mm512_shuffle_f64x2(v, v, 0x4e)
           : h == 2 ? _mm512_shuffle_f64x2(v, v, 0xb1)
                    : _mm512_permute_pd(v, 0x55);
}

CT_VEC_INLINE double f64v_first(f64v v) {
    return _mm512_cvtsd_f64(v);
}

CT_VEC_INLINE void f64v_transpose(f64v *v) {
    f64v t[8];
    for (int i = 0; i < 8; i += 2) {
        t[i] = _mm512_unpacklo_pd(v[i], v[i + 1]);
        t[i + 1] = _mm512_unpackhi_pd(v[i], v[i + 1]);
    }
    for (int i = 0; i < 2; i++) {
        f64v a = _mm512_shuffle_f64x2(t[i], t[i + 2], 0x88);
        f64v b = _mm512_shuffle_f64x2(t[i + 4], t[i + 6], 0x88);
        f64v c = _mm512_shuffle_f64x2(t[i], t[i + 2], 0xdd);
        f64v d = _mm512_shuffle_f64x2(t[i + 4], t[i + 6], 0xdd);
        v[i] = _mm512_shuffle_f64x2(a, b, 0x88);
        v[i + 4] = _mm512_shuffle_f64x2(a, b, 0xdd);
        v[i + 2] = _mm512_shuffle_f64x2(c, d, 0x88);
        v[i + 6] = _mm512_shuffle_f64x2(c, d, 0xdd);
    }
}

CT_VEC_INLINE f32v f32v_load_first(const float *p, size_t n) {
    return _mm512_maskz_loadu_ps(f32v_first_n(n), p);
}

CT_VEC_INLINE f64v f64v_load_first(const double *p, size_t n) {
    return _mm512_maskz_loadu_pd(f64v_first_n(n), p);
}

CT_VEC_INLINE const float *f32v_row(const float *p, ptrdiff_t i, ptrdiff_t step) {
    return (const float *)(const void *)((const char *)p + i * step);
}

CT_VEC_INLINE f32v f32v_quarters(const float *p, ptrdiff_t step) {
    f32v v = _mm512_castps128_ps512(_mm_loadu_ps(p));
    v = _mm512_insertf32x4(v, _mm_loadu_ps(f32v_row(p, 4, step)), 1);
    v = _mm512_insertf32x4(v, _mm_loadu_ps(f32v_row(p, 8, step)), 2);
    return _mm512_insertf32x4(v, _mm_loadu_ps(f32v_row(p, 12, step)), 3);
}

CT_VEC_INLINE void f32v_load_turned(f32v *v, const float *p, ptrdiff_t step) {
    for (int g = 0; g < 16; g += 4) {
        f32v x[4];
        for (int r = 0; r < 4; r++) {
            x[r] = f32v_quarters(f32v_row(p + g, r, step), step);
        }
        f32v a = _mm512_unpacklo_ps(x[0], x[1]), b = _mm512_unpackhi_ps(x[0], x[1]);
        f32v c = _mm512_unpacklo_ps(x[2], x[3]), d = _mm512_unpackhi_ps(x[2], x[3]);
        v[g] = _mm512_shuffle_ps(a, c, 0x44);
        v[g + 1] = _mm512_shuffle_ps(a, c, 0xee);
        v[g + 2] = _mm512_shuffle_ps(b, d, 0x44);
        v[g + 3] = _mm512_shuffle_ps(b, d, 0xee);
    }
}

CT_VEC_INLINE const double *f64v_row(const double *p, ptrdiff_t i, ptrdiff_t step) {
    return (const double *)(const void *)((const char *)p + i * step);
}

CT_VEC_INLINE f64v f64v_quarters(const double *p, ptrdiff_t step) {
    f64v v = _mm512_castpd128_pd512(_mm_loadu_pd(p));
    v = _mm512_insertf64x2(v, _mm_loadu_pd(f64v_row(p, 2, step)), 1);
    v = _mm512_insertf64x2(v, _mm_loadu_pd(f64v_row(p, 4, step)), 2);
    return _mm512_insertf64x2(v, _mm_loadu_pd(f64v_row(p, 6, step)), 3);
}

CT_VEC_INLINE void f64v_load_turned(f64v *v, const double *p, ptrdiff_t step) {
    for (int g = 0; g < 8; g += 2) {
        f64v x = f64v_quarters(p + g, step), y = f64v_quarters(f64v_row(p + g, 1, step), step);
        v[g] = _mm512_unpacklo_pd(x, y);
        v[g + 1] = _mm512_unpackhi_pd(x, y);
    }
}

CT_VEC_INLINE f32v f32v_compress(f32m m, f32v v) {
    return _mm512_maskz_compress_ps(m, v);
}

CT_VEC_INLINE f64v f64v_compress(f64m m, f64v v) {
    return _mm512_maskz_compress_pd(m, v);
}

CT_VEC_INLINE size_t f32v_count(f32m m) {
    return (size_t)__builtin_popcount(m);
}

CT_VEC_INLINE size_t f64v_count(f64m m) {
    return (size_t)__builtin_popcount(m);
}

#endif

#endif
