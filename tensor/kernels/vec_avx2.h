#ifndef CT_VEC_AVX2_H
#define CT_VEC_AVX2_H

/* The vocabulary of vec.h for AVX2 with FMA. Include vec.h, not this file. */

#if !defined(__AVX2__) || !defined(__FMA__)
#error "CT_ISA_LEVEL 1 needs -march=x86-64-v3"
#endif

#include <immintrin.h>

typedef __m256 f32v;
typedef __m256i f32i;
typedef __m256 f32m;
#define F32V_LANES 8

CT_VEC_INLINE f32v f32v_load(const float *p) {
    return _mm256_loadu_ps(p);
}

CT_VEC_INLINE void f32v_store(float *p, f32v a) {
    _mm256_storeu_ps(p, a);
}

CT_VEC_INLINE f32i f32v_first_n(size_t n) {
    // A window that slides over ones and zeros.
    static const int32_t ones[2 * 8] = {-1, -1, -1, -1, -1, -1, -1, -1};
    return _mm256_loadu_si256((const __m256i_u *)(ones + 8 - n));
}

CT_VEC_INLINE f32v f32v_load_n(const float *p, size_t n, float fill) {
    f32i m = f32v_first_n(n);
    return _mm256_blendv_ps(_mm256_set1_ps(fill), _mm256_maskload_ps(p, m), _mm256_castsi256_ps(m));
}

CT_VEC_INLINE void f32v_store_n(float *p, f32v a, size_t n) {
    _mm256_maskstore_ps(p, f32v_first_n(n), a);
}

CT_VEC_INLINE f32v f32v_gather(const float *base, f32i idx) {
    return _mm256_i32gather_ps(base, idx, 4);
}

CT_VEC_INLINE f32v f32v_set1(float x) {
    return _mm256_set1_ps(x);
}

CT_VEC_INLINE f32v f32v_zero(void) {
    return _mm256_setzero_ps();
}

CT_VEC_INLINE f32i f32v_as_int(f32v a) {
    return _mm256_castps_si256(a);
}

CT_VEC_INLINE f32v f32v_as_float(f32i a) {
    return _mm256_castsi256_ps(a);
}

CT_VEC_INLINE f32v f32v_add(f32v a, f32v b) {
    return _mm256_add_ps(a, b);
}

CT_VEC_INLINE f32v f32v_sub(f32v a, f32v b) {
    return _mm256_sub_ps(a, b);
}

CT_VEC_INLINE f32v f32v_mul(f32v a, f32v b) {
    return _mm256_mul_ps(a, b);
}

CT_VEC_INLINE f32v f32v_div(f32v a, f32v b) {
    return _mm256_div_ps(a, b);
}

CT_VEC_INLINE f32v f32v_fma(f32v a, f32v b, f32v c) {
    return _mm256_fmadd_ps(a, b, c);
}

CT_VEC_INLINE f32v f32v_fms(f32v a, f32v b, f32v c) {
    return _mm256_fmsub_ps(a, b, c);
}

CT_VEC_INLINE f32v f32v_fnma(f32v a, f32v b, f32v c) {
    return _mm256_fnmadd_ps(a, b, c);
}

CT_VEC_INLINE f32v f32v_neg(f32v a) {
    return _mm256_xor_ps(a, _mm256_set1_ps(-0.0f));
}

CT_VEC_INLINE f32v f32v_abs(f32v a) {
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a);
}

CT_VEC_INLINE f32v f32v_sqrt(f32v a) {
    return _mm256_sqrt_ps(a);
}

CT_VEC_INLINE f32v f32v_rint(f32v a) {
    return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

CT_VEC_INLINE f32v f32v_floor(f32v a) {
    return _mm256_round_ps(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}

CT_VEC_INLINE f32v f32v_ceil(f32v a) {
    return _mm256_round_ps(a, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
}

CT_VEC_INLINE f32v f32v_trunc(f32v a) {
    return _mm256_round_ps(a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
}

CT_VEC_INLINE f32v f32v_and(f32v a, f32v b) {
    return _mm256_and_ps(a, b);
}

CT_VEC_INLINE f32v f32v_or(f32v a, f32v b) {
    return _mm256_or_ps(a, b);
}

CT_VEC_INLINE f32v f32v_xor(f32v a, f32v b) {
    return _mm256_xor_ps(a, b);
}

CT_VEC_INLINE f32v f32v_andnot(f32v a, f32v b) {
    return _mm256_andnot_ps(a, b);
}

CT_VEC_INLINE f32v f32v_copysign(f32v magnitude, f32v sign) {
    f32v bit = _mm256_set1_ps(-0.0f);
    return _mm256_or_ps(_mm256_andnot_ps(bit, magnitude), _mm256_and_ps(bit, sign));
}

CT_VEC_INLINE f32v f32v_lesser(f32v a, f32v b) {
    return _mm256_min_ps(a, b);
}

CT_VEC_INLINE f32v f32v_greater(f32v a, f32v b) {
    return _mm256_max_ps(a, b);
}

CT_VEC_INLINE f32v f32v_min_ieee(f32v a, f32v b) {
    // The instruction returns its second operand for a tie of zeros and for a NaN: taken both ways
    // round and or-ed, a minus sign and a NaN survive.
    return _mm256_or_ps(_mm256_min_ps(a, b), _mm256_min_ps(b, a));
}

CT_VEC_INLINE f32v f32v_max_ieee(f32v a, f32v b) {
    // As min_ieee; and-ing loses a NaN, which the mask of unordered lanes brings back.
    f32v r = _mm256_and_ps(_mm256_max_ps(a, b), _mm256_max_ps(b, a));
    return _mm256_or_ps(r, _mm256_cmp_ps(a, b, _CMP_UNORD_Q));
}

CT_VEC_INLINE f32m f32v_lt(f32v a, f32v b) {
    return _mm256_cmp_ps(a, b, _CMP_LT_OQ);
}

CT_VEC_INLINE f32m f32v_le(f32v a, f32v b) {
    return _mm256_cmp_ps(a, b, _CMP_LE_OQ);
}

CT_VEC_INLINE f32m f32v_gt(f32v a, f32v b) {
    return _mm256_cmp_ps(a, b, _CMP_GT_OQ);
}

CT_VEC_INLINE f32m f32v_ge(f32v a, f32v b) {
    return _mm256_cmp_ps(a, b, _CMP_GE_OQ);
}

CT_VEC_INLINE f32m f32v_eq(f32v a, f32v b) {
    return _mm256_cmp_ps(a, b, _CMP_EQ_OQ);
}

CT_VEC_INLINE f32m f32v_ne(f32v a, f32v b) {
    return _mm256_cmp_ps(a, b, _CMP_NEQ_UQ);
}

CT_VEC_INLINE f32m f32v_isnan(f32v a) {
    return _mm256_cmp_ps(a, a, _CMP_UNORD_Q);
}

CT_VEC_INLINE f32v f32v_select(f32m mask, f32v a, f32v b) {
    return _mm256_blendv_ps(b, a, mask);
}

CT_VEC_INLINE f32m f32v_mset1(bool b) {
    return _mm256_castsi256_ps(_mm256_set1_epi32(b ? -1 : 0));
}

CT_VEC_INLINE f32m f32v_mand(f32m a, f32m b) {
    return _mm256_and_ps(a, b);
}

CT_VEC_INLINE f32m f32v_mor(f32m a, f32m b) {
    return _mm256_or_ps(a, b);
}

CT_VEC_INLINE f32m f32v_mxor(f32m a, f32m b) {
    return _mm256_xor_ps(a, b);
}

CT_VEC_INLINE f32m f32v_mnot(f32m a) {
    return _mm256_xor_ps(a, _mm256_castsi256_ps(_mm256_set1_epi32(-1)));
}

CT_VEC_INLINE f32m f32v_mandnot(f32m a, f32m b) {
    return _mm256_andnot_ps(a, b);
}

CT_VEC_INLINE bool f32v_any(f32m a) {
    return _mm256_movemask_ps(a) != 0;
}

CT_VEC_INLINE bool f32v_all(f32m a) {
    return _mm256_movemask_ps(a) == 0xff;
}

CT_VEC_INLINE f32m f32v_mask_load_bytes(const unsigned char *p) {
    int64_t word;
    memcpy(&word, p, sizeof word);
    __m256i x = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(word));
    return _mm256_castsi256_ps(_mm256_cmpgt_epi32(x, _mm256_setzero_si256()));
}

CT_VEC_INLINE void f32v_mask_store_bytes(unsigned char *p, f32m a) {
    __m256i x = _mm256_srli_epi32(_mm256_castps_si256(a), 31);
    __m128i h = _mm_packs_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    _mm_storeu_si64(p, _mm_packs_epi16(h, h));
}

CT_VEC_INLINE f32m f32v_mask_load_bytes_n(const unsigned char *p, size_t n) {
    unsigned char b[8] = {0};
    memcpy(b, p, n);
    return f32v_mask_load_bytes(b);
}

CT_VEC_INLINE void f32v_mask_store_bytes_n(unsigned char *p, f32m a, size_t n) {
    unsigned char b[8];
    f32v_mask_store_bytes(b, a);
    memcpy(p, b, n);
}

CT_VEC_INLINE f32i f32v_iload(const int32_t *p) {
    return _mm256_loadu_si256((const __m256i_u *)p);
}

CT_VEC_INLINE void f32v_istore(int32_t *p, f32i a) {
    _mm256_storeu_si256((__m256i_u *)p, a);
}

CT_VEC_INLINE f32i f32v_iset1(int32_t k) {
    return _mm256_set1_epi32(k);
}

CT_VEC_INLINE f32i f32v_iadd(f32i a, f32i b) {
    return _mm256_add_epi32(a, b);
}

CT_VEC_INLINE f32i f32v_isub(f32i a, f32i b) {
    return _mm256_sub_epi32(a, b);
}

CT_VEC_INLINE f32i f32v_iand(f32i a, f32i b) {
    return _mm256_and_si256(a, b);
}

CT_VEC_INLINE f32i f32v_ior(f32i a, f32i b) {
    return _mm256_or_si256(a, b);
}

CT_VEC_INLINE f32i f32v_ixor(f32i a, f32i b) {
    return _mm256_xor_si256(a, b);
}

CT_VEC_INLINE f32i f32v_ishl(f32i a, int n) {
    return _mm256_slli_epi32(a, n);
}

CT_VEC_INLINE f32i f32v_ishr(f32i a, int n) {
    return _mm256_srai_epi32(a, n);
}

CT_VEC_INLINE f32i f32v_ishr_logical(f32i a, int n) {
    return _mm256_srli_epi32(a, n);
}

CT_VEC_INLINE f32m f32v_icmpeq(f32i a, f32i b) {
    return _mm256_castsi256_ps(_mm256_cmpeq_epi32(a, b));
}

CT_VEC_INLINE f32m f32v_icmpgt(f32i a, f32i b) {
    return _mm256_castsi256_ps(_mm256_cmpgt_epi32(a, b));
}

CT_VEC_INLINE f32i f32v_iselect(f32m mask, f32i a, f32i b) {
    return _mm256_blendv_epi8(b, a, _mm256_castps_si256(mask));
}

CT_VEC_INLINE f32i f32v_cvt_int(f32v a) {
    // Rounds to an integer by pushing the fraction out of the significand: there is no conversion
    // to 64 bits here, and a conversion would saturate differently at each level.
    f32v magic = _mm256_set1_ps(0x1.8p23f);
    return f32v_isub(f32v_as_int(_mm256_add_ps(a, magic)), f32v_as_int(magic));
}

CT_VEC_INLINE f32v f32v_cvt_float(f32i a) {
    return _mm256_cvtepi32_ps(a);
}

// table[i], by the lowest four bits of i, of which the highest chooses the half.
CT_VEC_INLINE f32v f32v_lookup16(const float *table, f32i i) {
    f32v low = _mm256_permutevar8x32_ps(_mm256_load_ps(table), i);
    f32v high = _mm256_permutevar8x32_ps(_mm256_load_ps(table + 8), i);
    return _mm256_blendv_ps(low, high, _mm256_castsi256_ps(_mm256_slli_epi32(i, 28)));
}

CT_VEC_INLINE f32v f32v_scale2(f32v a, f32v n) {
    // Two factors, so that neither leaves the range of normal numbers; the first product is exact.
    f32i k = f32v_cvt_int(n);
    f32i h = f32v_ishr(k, 1);
    f32i g = f32v_isub(k, h);
    f32i bias = f32v_iset1(127);
    f32v x = _mm256_mul_ps(a, f32v_as_float(f32v_ishl(f32v_iadd(h, bias), 23)));
    return _mm256_mul_ps(x, f32v_as_float(f32v_ishl(f32v_iadd(g, bias), 23)));
}

typedef __m256d f64v;
typedef __m256i f64i;
typedef __m256d f64m;
#define F64V_LANES 4

CT_VEC_INLINE f64v f64v_load(const double *p) {
    return _mm256_loadu_pd(p);
}

CT_VEC_INLINE void f64v_store(double *p, f64v a) {
    _mm256_storeu_pd(p, a);
}

CT_VEC_INLINE f64i f64v_first_n(size_t n) {
    // A window that slides over ones and zeros.
    static const int64_t ones[2 * 4] = {-1, -1, -1, -1};
    return _mm256_loadu_si256((const __m256i_u *)(ones + 4 - n));
}

CT_VEC_INLINE f64v f64v_load_n(const double *p, size_t n, double fill) {
    f64i m = f64v_first_n(n);
    return _mm256_blendv_pd(_mm256_set1_pd(fill), _mm256_maskload_pd(p, m), _mm256_castsi256_pd(m));
}

CT_VEC_INLINE void f64v_store_n(double *p, f64v a, size_t n) {
    _mm256_maskstore_pd(p, f64v_first_n(n), a);
}

CT_VEC_INLINE f64v f64v_gather(const double *base, f64i idx) {
    return _mm256_i64gather_pd(base, idx, 8);
}

CT_VEC_INLINE f64v f64v_set1(double x) {
    return _mm256_set1_pd(x);
}

CT_VEC_INLINE f64v f64v_zero(void) {
    return _mm256_setzero_pd();
}

CT_VEC_INLINE f64i f64v_as_int(f64v a) {
    return _mm256_castpd_si256(a);
}

CT_VEC_INLINE f64v f64v_as_float(f64i a) {
    return _mm256_castsi256_pd(a);
}

CT_VEC_INLINE f64v f64v_add(f64v a, f64v b) {
    return _mm256_add_pd(a, b);
}

CT_VEC_INLINE f64v f64v_sub(f64v a, f64v b) {
    return _mm256_sub_pd(a, b);
}

CT_VEC_INLINE f64v f64v_mul(f64v a, f64v b) {
    return _mm256_mul_pd(a, b);
}

CT_VEC_INLINE f64v f64v_div(f64v a, f64v b) {
    return _mm256_div_pd(a, b);
}

CT_VEC_INLINE f64v f64v_fma(f64v a, f64v b, f64v c) {
    return _mm256_fmadd_pd(a, b, c);
}

CT_VEC_INLINE f64v f64v_fms(f64v a, f64v b, f64v c) {
    return _mm256_fmsub_pd(a, b, c);
}

CT_VEC_INLINE f64v f64v_fnma(f64v a, f64v b, f64v c) {
    return _mm256_fnmadd_pd(a, b, c);
}

CT_VEC_INLINE f64v f64v_neg(f64v a) {
    return _mm256_xor_pd(a, _mm256_set1_pd(-0.0));
}

CT_VEC_INLINE f64v f64v_abs(f64v a) {
    return _mm256_andnot_pd(_mm256_set1_pd(-0.0), a);
}

CT_VEC_INLINE f64v f64v_sqrt(f64v a) {
    return _mm256_sqrt_pd(a);
}

CT_VEC_INLINE f64v f64v_rint(f64v a) {
    return _mm256_round_pd(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

CT_VEC_INLINE f64v f64v_floor(f64v a) {
    return _mm256_round_pd(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}

CT_VEC_INLINE f64v f64v_ceil(f64v a) {
    return _mm256_round_pd(a, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
}

CT_VEC_INLINE f64v f64v_trunc(f64v a) {
    return _mm256_round_pd(a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
}

CT_VEC_INLINE f64v f64v_and(f64v a, f64v b) {
    return _mm256_and_pd(a, b);
}

CT_VEC_INLINE f64v f64v_or(f64v a, f64v b) {
    return _mm256_or_pd(a, b);
}

CT_VEC_INLINE f64v f64v_xor(f64v a, f64v b) {
    return _mm256_xor_pd(a, b);
}

CT_VEC_INLINE f64v f64v_andnot(f64v a, f64v b) {
    return _mm256_andnot_pd(a, b);
}

CT_VEC_INLINE f64v f64v_copysign(f64v magnitude, f64v sign) {
    f64v bit = _mm256_set1_pd(-0.0);
    return _mm256_or_pd(_mm256_andnot_pd(bit, magnitude), _mm256_and_pd(bit, sign));
}

CT_VEC_INLINE f64v f64v_lesser(f64v a, f64v b) {
    return _mm256_min_pd(a, b);
}

CT_VEC_INLINE f64v f64v_greater(f64v a, f64v b) {
    return _mm256_max_pd(a, b);
}

CT_VEC_INLINE f64v f64v_min_ieee(f64v a, f64v b) {
    // The instruction returns its second operand for a tie of zeros and for a NaN: taken both ways
    // round and or-ed, a minus sign and a NaN survive.
    return _mm256_or_pd(_mm256_min_pd(a, b), _mm256_min_pd(b, a));
}

CT_VEC_INLINE f64v f64v_max_ieee(f64v a, f64v b) {
    // As min_ieee; and-ing loses a NaN, which the mask of unordered lanes brings back.
    f64v r = _mm256_and_pd(_mm256_max_pd(a, b), _mm256_max_pd(b, a));
    return _mm256_or_pd(r, _mm256_cmp_pd(a, b, _CMP_UNORD_Q));
}

CT_VEC_INLINE f64m f64v_lt(f64v a, f64v b) {
    return _mm256_cmp_pd(a, b, _CMP_LT_OQ);
}

CT_VEC_INLINE f64m f64v_le(f64v a, f64v b) {
    return _mm256_cmp_pd(a, b, _CMP_LE_OQ);
}

CT_VEC_INLINE f64m f64v_gt(f64v a, f64v b) {
    return _mm256_cmp_pd(a, b, _CMP_GT_OQ);
}

CT_VEC_INLINE f64m f64v_ge(f64v a, f64v b) {
    return _mm256_cmp_pd(a, b, _CMP_GE_OQ);
}

CT_VEC_INLINE f64m f64v_eq(f64v a, f64v b) {
    return _mm256_cmp_pd(a, b, _CMP_EQ_OQ);
}

CT_VEC_INLINE f64m f64v_ne(f64v a, f64v b) {
    return _mm256_cmp_pd(a, b, _CMP_NEQ_UQ);
}

CT_VEC_INLINE f64m f64v_isnan(f64v a) {
    return _mm256_cmp_pd(a, a, _CMP_UNORD_Q);
}

CT_VEC_INLINE f64v f64v_select(f64m mask, f64v a, f64v b) {
    return _mm256_blendv_pd(b, a, mask);
}

CT_VEC_INLINE f64m f64v_mset1(bool b) {
    return _mm256_castsi256_pd(_mm256_set1_epi32(b ? -1 : 0));
}

CT_VEC_INLINE f64m f64v_mand(f64m a, f64m b) {
    return _mm256_and_pd(a, b);
}

CT_VEC_INLINE f64m f64v_mor(f64m a, f64m b) {
    return _mm256_or_pd(a, b);
}

CT_VEC_INLINE f64m f64v_mxor(f64m a, f64m b) {
    return _mm256_xor_pd(a, b);
}

CT_VEC_INLINE f64m f64v_mnot(f64m a) {
    return _mm256_xor_pd(a, _mm256_castsi256_pd(_mm256_set1_epi32(-1)));
}

CT_VEC_INLINE f64m f64v_mandnot(f64m a, f64m b) {
    return _mm256_andnot_pd(a, b);
}

CT_VEC_INLINE bool f64v_any(f64m a) {
    return _mm256_movemask_pd(a) != 0;
}

CT_VEC_INLINE bool f64v_all(f64m a) {
    return _mm256_movemask_pd(a) == 0xf;
}

CT_VEC_INLINE f64m f64v_mask_load_bytes(const unsigned char *p) {
    int32_t word;
    memcpy(&word, p, sizeof word);
    __m256i x = _mm256_cvtepu8_epi64(_mm_cvtsi32_si128(word));
    return _mm256_castsi256_pd(_mm256_cmpgt_epi64(x, _mm256_setzero_si256()));
}

CT_VEC_INLINE void f64v_mask_store_bytes(unsigned char *p, f64m a) {
    __m256i x = _mm256_srli_epi64(_mm256_castpd_si256(a), 63);
    __m128i h = _mm_packs_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    // h holds 16-bit lanes 1 0 1 0 ...: items sit at every second of them.
    h = _mm_shuffle_epi8(h, _mm_set1_epi32(0x0c080400));
    int32_t word = _mm_cvtsi128_si32(h);
    memcpy(p, &word, sizeof word);
}

CT_VEC_INLINE f64m f64v_mask_load_bytes_n(const unsigned char *p, size_t n) {
    unsigned char b[4] = {0};
    memcpy(b, p, n);
    return f64v_mask_load_bytes(b);
}

CT_VEC_INLINE void f64v_mask_store_bytes_n(unsigned char *p, f64m a, size_t n) {
    unsigned char b[4];
    f64v_mask_store_bytes(b, a);
    memcpy(p, b, n);
}

CT_VEC_INLINE f64i f64v_iload(const int64_t *p) {
    return _mm256_loadu_si256((const __m256i_u *)p);
}

CT_VEC_INLINE void f64v_istore(int64_t *p, f64i a) {
    _mm256_storeu_si256((__m256i_u *)p, a);
}

CT_VEC_INLINE f64i f64v_iset1(int64_t k) {
    return _mm256_set1_epi64x(k);
}

CT_VEC_INLINE f64i f64v_iadd(f64i a, f64i b) {
    return _mm256_add_epi64(a, b);
}

CT_VEC_INLINE f64i f64v_isub(f64i a, f64i b) {
    return _mm256_sub_epi64(a, b);
}

CT_VEC_INLINE f64i f64v_iand(f64i a, f64i b) {
    return _mm256_and_si256(a, b);
}

CT_VEC_INLINE f64i f64v_ior(f64i a, f64i b) {
    return _mm256_or_si256(a, b);
}

CT_VEC_INLINE f64i f64v_ixor(f64i a, f64i b) {
    return _mm256_xor_si256(a, b);
}

CT_VEC_INLINE f64i f64v_ishl(f64i a, int n) {
    return _mm256_slli_epi64(a, n);
}

CT_VEC_INLINE f64i f64v_ishr(f64i a, int n) {
    // No arithmetic shift of 64-bit lanes in AVX2: the sign is shifted in by hand.
    __m256i sign = _mm256_cmpgt_epi64(_mm256_setzero_si256(), a);
    return _mm256_or_si256(_mm256_srli_epi64(a, n), _mm256_slli_epi64(sign, 64 - n));
}

CT_VEC_INLINE f64i f64v_ishr_logical(f64i a, int n) {
    return _mm256_srli_epi64(a, n);
}

CT_VEC_INLINE f64m f64v_icmpeq(f64i a, f64i b) {
    return _mm256_castsi256_pd(_mm256_cmpeq_epi64(a, b));
}

CT_VEC_INLINE f64m f64v_icmpgt(f64i a, f64i b) {
    return _mm256_castsi256_pd(_mm256_cmpgt_epi64(a, b));
}

CT_VEC_INLINE f64i f64v_iselect(f64m mask, f64i a, f64i b) {
    return _mm256_blendv_epi8(b, a, _mm256_castpd_si256(mask));
}

CT_VEC_INLINE f64i f64v_cvt_int(f64v a) {
    // Rounds to an integer by pushing the fraction out of the significand: there is no conversion
    // to 64 bits here, and a conversion would saturate differently at each level.
    f64v magic = _mm256_set1_pd(0x1.8p52);
    return f64v_isub(f64v_as_int(_mm256_add_pd(a, magic)), f64v_as_int(magic));
}

CT_VEC_INLINE f64v f64v_cvt_float(f64i a) {
    // Exact for |a| < 2^51.
    __m256d magic = _mm256_set1_pd(0x1.8p52);
    return _mm256_sub_pd(f64v_as_float(f64v_iadd(a, f64v_as_int(magic))), magic);
}

// table[i], by the lowest four bits of i.
CT_VEC_INLINE f64v f64v_lookup16(const double *table, f64i i) {
    return _mm256_i64gather_pd(table, _mm256_and_si256(i, _mm256_set1_epi64x(15)), 8);
}

CT_VEC_INLINE f64v f64v_scale2(f64v a, f64v n) {
    // Two factors, so that neither leaves the range of normal numbers; the first product is exact.
    f64i k = f64v_cvt_int(n);
    f64i h = f64v_ishr(k, 1);
    f64i g = f64v_isub(k, h);
    f64i bias = f64v_iset1(1023);
    f64v x = _mm256_mul_pd(a, f64v_as_float(f64v_ishl(f64v_iadd(h, bias), 52)));
    return _mm256_mul_pd(x, f64v_as_float(f64v_ishl(f64v_iadd(g, bias), 52)));
}

#endif
