#ifndef CT_VEC_AVX512_H
#define CT_VEC_AVX512_H

/* The vocabulary of vec.h for AVX-512 F, DQ, BW and VL. Include vec.h, not this file. */

#if !defined(__AVX512F__) || !defined(__AVX512DQ__) || !defined(__AVX512BW__) ||                   \
    !defined(__AVX512VL__)
#error "CT_ISA_LEVEL 2 needs -mavx512f -mavx512dq -mavx512bw -mavx512vl"
#endif

#include <immintrin.h>

// Without optimisation gcc's rounding and gather intrinsics are macros that convert masks.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"

typedef __m512 f32v;
typedef __m512i f32i;
typedef __mmask16 f32m;
#define F32V_LANES 16

CT_VEC_INLINE f32v f32v_load(const float *p) {
    return _mm512_loadu_ps(p);
}

CT_VEC_INLINE void f32v_store(float *p, f32v a) {
    _mm512_storeu_ps(p, a);
}

CT_VEC_INLINE f32m f32v_first_n(size_t n) {
    return (f32m)((1u << n) - 1u);
}

CT_VEC_INLINE f32v f32v_load_n(const float *p, size_t n, float fill) {
    return _mm512_mask_loadu_ps(_mm512_set1_ps(fill), f32v_first_n(n), p);
}

CT_VEC_INLINE void f32v_store_n(float *p, f32v a, size_t n) {
    _mm512_mask_storeu_ps(p, f32v_first_n(n), a);
}

CT_VEC_INLINE f32v f32v_gather(const float *base, f32i idx) {
    return _mm512_i32gather_ps(idx, base, 4);
}

CT_VEC_INLINE f32v f32v_set1(float x) {
    return _mm512_set1_ps(x);
}

CT_VEC_INLINE f32v f32v_zero(void) {
    return _mm512_setzero_ps();
}

CT_VEC_INLINE f32i f32v_as_int(f32v a) {
    return _mm512_castps_si512(a);
}

CT_VEC_INLINE f32v f32v_as_float(f32i a) {
    return _mm512_castsi512_ps(a);
}

CT_VEC_INLINE f32v f32v_add(f32v a, f32v b) {
    return _mm512_add_ps(a, b);
}

CT_VEC_INLINE f32v f32v_sub(f32v a, f32v b) {
    return _mm512_sub_ps(a, b);
}

CT_VEC_INLINE f32v f32v_mul(f32v a, f32v b) {
    return _mm512_mul_ps(a, b);
}

CT_VEC_INLINE f32v f32v_div(f32v a, f32v b) {
    return _mm512_div_ps(a, b);
}

// 1 / x within 2^-14. Other processors may give other bits: only for steps that end in a correctly rounded result.
CT_VEC_INLINE f32v f32v_inverse14(f32v a) {
    return _mm512_rcp14_ps(a);
}

CT_VEC_INLINE f32v f32v_fma(f32v a, f32v b, f32v c) {
    return _mm512_fmadd_ps(a, b, c);
}

CT_VEC_INLINE f32v f32v_fms(f32v a, f32v b, f32v c) {
    return _mm512_fmsub_ps(a, b, c);
}

CT_VEC_INLINE f32v f32v_fnma(f32v a, f32v b, f32v c) {
    return _mm512_fnmadd_ps(a, b, c);
}

CT_VEC_INLINE f32v f32v_neg(f32v a) {
    return _mm512_xor_ps(a, _mm512_set1_ps(-0.0f));
}

CT_VEC_INLINE f32v f32v_abs(f32v a) {
    return _mm512_andnot_ps(_mm512_set1_ps(-0.0f), a);
}

CT_VEC_INLINE f32v f32v_sqrt(f32v a) {
    return _mm512_sqrt_ps(a);
}

CT_VEC_INLINE f32v f32v_rint(f32v a) {
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

CT_VEC_INLINE f32v f32v_floor(f32v a) {
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}

CT_VEC_INLINE f32v f32v_ceil(f32v a) {
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
}

CT_VEC_INLINE f32v f32v_trunc(f32v a) {
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
}

CT_VEC_INLINE f32v f32v_and(f32v a, f32v b) {
    return _mm512_and_ps(a, b);
}

CT_VEC_INLINE f32v f32v_or(f32v a, f32v b) {
    return _mm512_or_ps(a, b);
}

CT_VEC_INLINE f32v f32v_xor(f32v a, f32v b) {
    return _mm512_xor_ps(a, b);
}

CT_VEC_INLINE f32v f32v_andnot(f32v a, f32v b) {
    return _mm512_andnot_ps(a, b);
}

CT_VEC_INLINE f32v f32v_copysign(f32v magnitude, f32v sign) {
    // 0xca: first ? second : third, bit by bit.
    return f32v_as_float(_mm512_ternarylogic_epi32(_mm512_set1_epi32(INT32_MIN), f32v_as_int(sign),
                                                   f32v_as_int(magnitude), 0xca));
}

CT_VEC_INLINE f32v f32v_lesser(f32v a, f32v b) {
    return _mm512_min_ps(a, b);
}

CT_VEC_INLINE f32v f32v_greater(f32v a, f32v b) {
    return _mm512_max_ps(a, b);
}

CT_VEC_INLINE f32v f32v_min_ieee(f32v a, f32v b) {
    // The instruction returns its second operand for a tie of zeros and for a NaN: taken both ways
    // round and or-ed, a minus sign and a NaN survive.
    return _mm512_or_ps(_mm512_min_ps(a, b), _mm512_min_ps(b, a));
}

CT_VEC_INLINE f32v f32v_max_ieee(f32v a, f32v b) {
    // As min_ieee; and-ing loses a NaN, which the unordered lanes get back.
    f32v r = _mm512_and_ps(_mm512_max_ps(a, b), _mm512_max_ps(b, a));
    return _mm512_mask_add_ps(r, _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q), a, b);
}

CT_VEC_INLINE f32m f32v_lt(f32v a, f32v b) {
    return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ);
}

CT_VEC_INLINE f32m f32v_le(f32v a, f32v b) {
    return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ);
}

CT_VEC_INLINE f32m f32v_gt(f32v a, f32v b) {
    return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ);
}

CT_VEC_INLINE f32m f32v_ge(f32v a, f32v b) {
    return _mm512_cmp_ps_mask(a, b, _CMP_GE_OQ);
}

CT_VEC_INLINE f32m f32v_eq(f32v a, f32v b) {
    return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ);
}

CT_VEC_INLINE f32m f32v_ne(f32v a, f32v b) {
    return _mm512_cmp_ps_mask(a, b, _CMP_NEQ_UQ);
}

CT_VEC_INLINE f32m f32v_isnan(f32v a) {
    return _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q);
}

CT_VEC_INLINE f32v f32v_select(f32m mask, f32v a, f32v b) {
    return _mm512_mask_blend_ps(mask, b, a);
}

CT_VEC_INLINE f32m f32v_mset1(bool b) {
    return (f32m)(b ? 0xffff : 0);
}

CT_VEC_INLINE f32m f32v_mand(f32m a, f32m b) {
    return (f32m)(a & b);
}

CT_VEC_INLINE f32m f32v_mor(f32m a, f32m b) {
    return (f32m)(a | b);
}

CT_VEC_INLINE f32m f32v_mxor(f32m a, f32m b) {
    return (f32m)(a ^ b);
}

CT_VEC_INLINE f32m f32v_mnot(f32m a) {
    return (f32m)(a ^ 0xffff);
}

CT_VEC_INLINE f32m f32v_mandnot(f32m a, f32m b) {
    return (f32m)(b & (a ^ 0xffff));
}

CT_VEC_INLINE bool f32v_any(f32m a) {
    return a != 0;
}

CT_VEC_INLINE bool f32v_all(f32m a) {
    return a == 0xffff;
}

CT_VEC_INLINE f32m f32v_mask_load_bytes(const unsigned char *p) {
    __m128i x = _mm_loadu_si128((const __m128i_u *)p);
    return (f32m)_mm_test_epi8_mask(x, x);
}

CT_VEC_INLINE void f32v_mask_store_bytes(unsigned char *p, f32m a) {
    _mm_storeu_si128((__m128i_u *)p, _mm_maskz_set1_epi8(a, 1));
}

CT_VEC_INLINE f32m f32v_mask_load_bytes_n(const unsigned char *p, size_t n) {
    __m128i x = _mm_maskz_loadu_epi8(f32v_first_n(n), p);
    return (f32m)_mm_test_epi8_mask(x, x);
}

CT_VEC_INLINE void f32v_mask_store_bytes_n(unsigned char *p, f32m a, size_t n) {
    _mm_mask_storeu_epi8(p, f32v_first_n(n), _mm_maskz_set1_epi8(a, 1));
}

CT_VEC_INLINE f32i f32v_iload(const int32_t *p) {
    return _mm512_loadu_si512(p);
}

CT_VEC_INLINE void f32v_istore(int32_t *p, f32i a) {
    _mm512_storeu_si512(p, a);
}

CT_VEC_INLINE f32i f32v_iset1(int32_t k) {
    return _mm512_set1_epi32(k);
}

CT_VEC_INLINE f32i f32v_iadd(f32i a, f32i b) {
    return _mm512_add_epi32(a, b);
}

CT_VEC_INLINE f32i f32v_isub(f32i a, f32i b) {
    return _mm512_sub_epi32(a, b);
}

CT_VEC_INLINE f32i f32v_iand(f32i a, f32i b) {
    return _mm512_and_si512(a, b);
}

CT_VEC_INLINE f32i f32v_ior(f32i a, f32i b) {
    return _mm512_or_si512(a, b);
}

CT_VEC_INLINE f32i f32v_ixor(f32i a, f32i b) {
    return _mm512_xor_si512(a, b);
}

CT_VEC_INLINE f32i f32v_ishl(f32i a, int n) {
    return _mm512_sllv_epi32(a, _mm512_set1_epi32(n));
}

CT_VEC_INLINE f32i f32v_ishr(f32i a, int n) {
    return _mm512_srav_epi32(a, _mm512_set1_epi32(n));
}

CT_VEC_INLINE f32i f32v_ishr_logical(f32i a, int n) {
    return _mm512_srlv_epi32(a, _mm512_set1_epi32(n));
}

CT_VEC_INLINE f32m f32v_icmpeq(f32i a, f32i b) {
    return _mm512_cmpeq_epi32_mask(a, b);
}

CT_VEC_INLINE f32m f32v_icmpgt(f32i a, f32i b) {
    return _mm512_cmpgt_epi32_mask(a, b);
}

CT_VEC_INLINE f32i f32v_iselect(f32m mask, f32i a, f32i b) {
    return _mm512_mask_blend_epi32(mask, b, a);
}

CT_VEC_INLINE f32i f32v_cvt_int(f32v a) {
    // Rounds to an integer by pushing the fraction out of the significand: a conversion would
    // saturate differently at each level.
    f32v magic = _mm512_set1_ps(0x1.8p23f);
    return f32v_isub(f32v_as_int(_mm512_add_ps(a, magic)), f32v_as_int(magic));
}

CT_VEC_INLINE f32v f32v_cvt_float(f32i a) {
    return _mm512_cvtepi32_ps(a);
}

// table[i], by the lowest four bits of i.
CT_VEC_INLINE f32v f32v_lookup16(const float *table, f32i i) {
    return _mm512_permutexvar_ps(i, _mm512_load_ps(table));
}

CT_VEC_INLINE f32v f32v_scale2(f32v a, f32v n) {
    return _mm512_scalef_ps(a, n);
}

typedef __m512d f64v;
typedef __m512i f64i;
typedef __mmask8 f64m;
#define F64V_LANES 8

CT_VEC_INLINE f64v f64v_load(const double *p) {
    return _mm512_loadu_pd(p);
}

CT_VEC_INLINE void f64v_store(double *p, f64v a) {
    _mm512_storeu_pd(p, a);
}

CT_VEC_INLINE f64m f64v_first_n(size_t n) {
    return (f64m)((1u << n) - 1u);
}

CT_VEC_INLINE f64v f64v_load_n(const double *p, size_t n, double fill) {
    return _mm512_mask_loadu_pd(_mm512_set1_pd(fill), f64v_first_n(n), p);
}

CT_VEC_INLINE void f64v_store_n(double *p, f64v a, size_t n) {
    _mm512_mask_storeu_pd(p, f64v_first_n(n), a);
}

CT_VEC_INLINE f64v f64v_gather(const double *base, f64i idx) {
    return _mm512_i64gather_pd(idx, base, 8);
}

CT_VEC_INLINE f64v f64v_set1(double x) {
    return _mm512_set1_pd(x);
}

CT_VEC_INLINE f64v f64v_zero(void) {
    return _mm512_setzero_pd();
}

CT_VEC_INLINE f64i f64v_as_int(f64v a) {
    return _mm512_castpd_si512(a);
}

CT_VEC_INLINE f64v f64v_as_float(f64i a) {
    return _mm512_castsi512_pd(a);
}

CT_VEC_INLINE f64v f64v_add(f64v a, f64v b) {
    return _mm512_add_pd(a, b);
}

CT_VEC_INLINE f64v f64v_sub(f64v a, f64v b) {
    return _mm512_sub_pd(a, b);
}

CT_VEC_INLINE f64v f64v_mul(f64v a, f64v b) {
    return _mm512_mul_pd(a, b);
}

CT_VEC_INLINE f64v f64v_div(f64v a, f64v b) {
    return _mm512_div_pd(a, b);
}

// 1 / x within 2^-14. Other processors may give other bits: only for steps that end in a correctly rounded result.
CT_VEC_INLINE f64v f64v_inverse14(f64v a) {
    return _mm512_rcp14_pd(a);
}

CT_VEC_INLINE f64v f64v_fma(f64v a, f64v b, f64v c) {
    return _mm512_fmadd_pd(a, b, c);
}

CT_VEC_INLINE f64v f64v_fms(f64v a, f64v b, f64v c) {
    return _mm512_fmsub_pd(a, b, c);
}

CT_VEC_INLINE f64v f64v_fnma(f64v a, f64v b, f64v c) {
    return _mm512_fnmadd_pd(a, b, c);
}

CT_VEC_INLINE f64v f64v_neg(f64v a) {
    return _mm512_xor_pd(a, _mm512_set1_pd(-0.0));
}

CT_VEC_INLINE f64v f64v_abs(f64v a) {
    return _mm512_andnot_pd(_mm512_set1_pd(-0.0), a);
}

CT_VEC_INLINE f64v f64v_sqrt(f64v a) {
    return _mm512_sqrt_pd(a);
}

CT_VEC_INLINE f64v f64v_rint(f64v a) {
    return _mm512_roundscale_pd(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

CT_VEC_INLINE f64v f64v_floor(f64v a) {
    return _mm512_roundscale_pd(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}

CT_VEC_INLINE f64v f64v_ceil(f64v a) {
    return _mm512_roundscale_pd(a, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
}

CT_VEC_INLINE f64v f64v_trunc(f64v a) {
    return _mm512_roundscale_pd(a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
}

CT_VEC_INLINE f64v f64v_and(f64v a, f64v b) {
    return _mm512_and_pd(a, b);
}

CT_VEC_INLINE f64v f64v_or(f64v a, f64v b) {
    return _mm512_or_pd(a, b);
}

CT_VEC_INLINE f64v f64v_xor(f64v a, f64v b) {
    return _mm512_xor_pd(a, b);
}

CT_VEC_INLINE f64v f64v_andnot(f64v a, f64v b) {
    return _mm512_andnot_pd(a, b);
}

CT_VEC_INLINE f64v f64v_copysign(f64v magnitude, f64v sign) {
    // 0xca: first ? second : third, bit by bit.
    return f64v_as_float(_mm512_ternarylogic_epi64(_mm512_set1_epi64(INT64_MIN), f64v_as_int(sign),
                                                   f64v_as_int(magnitude), 0xca));
}

CT_VEC_INLINE f64v f64v_lesser(f64v a, f64v b) {
    return _mm512_min_pd(a, b);
}

CT_VEC_INLINE f64v f64v_greater(f64v a, f64v b) {
    return _mm512_max_pd(a, b);
}

CT_VEC_INLINE f64v f64v_min_ieee(f64v a, f64v b) {
    // The instruction returns its second operand for a tie of zeros and for a NaN: taken both ways
    // round and or-ed, a minus sign and a NaN survive.
    return _mm512_or_pd(_mm512_min_pd(a, b), _mm512_min_pd(b, a));
}

CT_VEC_INLINE f64v f64v_max_ieee(f64v a, f64v b) {
    // As min_ieee; and-ing loses a NaN, which the unordered lanes get back.
    f64v r = _mm512_and_pd(_mm512_max_pd(a, b), _mm512_max_pd(b, a));
    return _mm512_mask_add_pd(r, _mm512_cmp_pd_mask(a, b, _CMP_UNORD_Q), a, b);
}

CT_VEC_INLINE f64m f64v_lt(f64v a, f64v b) {
    return _mm512_cmp_pd_mask(a, b, _CMP_LT_OQ);
}

CT_VEC_INLINE f64m f64v_le(f64v a, f64v b) {
    return _mm512_cmp_pd_mask(a, b, _CMP_LE_OQ);
}

CT_VEC_INLINE f64m f64v_gt(f64v a, f64v b) {
    return _mm512_cmp_pd_mask(a, b, _CMP_GT_OQ);
}

CT_VEC_INLINE f64m f64v_ge(f64v a, f64v b) {
    return _mm512_cmp_pd_mask(a, b, _CMP_GE_OQ);
}

CT_VEC_INLINE f64m f64v_eq(f64v a, f64v b) {
    return _mm512_cmp_pd_mask(a, b, _CMP_EQ_OQ);
}

CT_VEC_INLINE f64m f64v_ne(f64v a, f64v b) {
    return _mm512_cmp_pd_mask(a, b, _CMP_NEQ_UQ);
}

CT_VEC_INLINE f64m f64v_isnan(f64v a) {
    return _mm512_cmp_pd_mask(a, a, _CMP_UNORD_Q);
}

CT_VEC_INLINE f64v f64v_select(f64m mask, f64v a, f64v b) {
    return _mm512_mask_blend_pd(mask, b, a);
}

CT_VEC_INLINE f64m f64v_mset1(bool b) {
    return (f64m)(b ? 0xff : 0);
}

CT_VEC_INLINE f64m f64v_mand(f64m a, f64m b) {
    return (f64m)(a & b);
}

CT_VEC_INLINE f64m f64v_mor(f64m a, f64m b) {
    return (f64m)(a | b);
}

CT_VEC_INLINE f64m f64v_mxor(f64m a, f64m b) {
    return (f64m)(a ^ b);
}

CT_VEC_INLINE f64m f64v_mnot(f64m a) {
    return (f64m)(a ^ 0xff);
}

CT_VEC_INLINE f64m f64v_mandnot(f64m a, f64m b) {
    return (f64m)(b & (a ^ 0xff));
}

CT_VEC_INLINE bool f64v_any(f64m a) {
    return a != 0;
}

CT_VEC_INLINE bool f64v_all(f64m a) {
    return a == 0xff;
}

CT_VEC_INLINE f64m f64v_mask_load_bytes(const unsigned char *p) {
    __m128i x = _mm_loadu_si64(p);
    return (f64m)_mm_test_epi8_mask(x, x);
}

CT_VEC_INLINE void f64v_mask_store_bytes(unsigned char *p, f64m a) {
    _mm_storeu_si64(p, _mm_maskz_set1_epi8(a, 1));
}

CT_VEC_INLINE f64m f64v_mask_load_bytes_n(const unsigned char *p, size_t n) {
    __m128i x = _mm_maskz_loadu_epi8(f64v_first_n(n), p);
    return (f64m)_mm_test_epi8_mask(x, x);
}

CT_VEC_INLINE void f64v_mask_store_bytes_n(unsigned char *p, f64m a, size_t n) {
    _mm_mask_storeu_epi8(p, f64v_first_n(n), _mm_maskz_set1_epi8(a, 1));
}

CT_VEC_INLINE f64i f64v_iload(const int64_t *p) {
    return _mm512_loadu_si512(p);
}

CT_VEC_INLINE void f64v_istore(int64_t *p, f64i a) {
    _mm512_storeu_si512(p, a);
}

CT_VEC_INLINE f64i f64v_iset1(int64_t k) {
    return _mm512_set1_epi64(k);
}

CT_VEC_INLINE f64i f64v_iadd(f64i a, f64i b) {
    return _mm512_add_epi64(a, b);
}

CT_VEC_INLINE f64i f64v_isub(f64i a, f64i b) {
    return _mm512_sub_epi64(a, b);
}

CT_VEC_INLINE f64i f64v_iand(f64i a, f64i b) {
    return _mm512_and_si512(a, b);
}

CT_VEC_INLINE f64i f64v_ior(f64i a, f64i b) {
    return _mm512_or_si512(a, b);
}

CT_VEC_INLINE f64i f64v_ixor(f64i a, f64i b) {
    return _mm512_xor_si512(a, b);
}

CT_VEC_INLINE f64i f64v_ishl(f64i a, int n) {
    return _mm512_sllv_epi64(a, _mm512_set1_epi64(n));
}

CT_VEC_INLINE f64i f64v_ishr(f64i a, int n) {
    return _mm512_srav_epi64(a, _mm512_set1_epi64(n));
}

CT_VEC_INLINE f64i f64v_ishr_logical(f64i a, int n) {
    return _mm512_srlv_epi64(a, _mm512_set1_epi64(n));
}

CT_VEC_INLINE f64m f64v_icmpeq(f64i a, f64i b) {
    return _mm512_cmpeq_epi64_mask(a, b);
}

CT_VEC_INLINE f64m f64v_icmpgt(f64i a, f64i b) {
    return _mm512_cmpgt_epi64_mask(a, b);
}

CT_VEC_INLINE f64i f64v_iselect(f64m mask, f64i a, f64i b) {
    return _mm512_mask_blend_epi64(mask, b, a);
}

CT_VEC_INLINE f64i f64v_cvt_int(f64v a) {
    // Rounds to an integer by pushing the fraction out of the significand: a conversion would
    // saturate differently at each level.
    f64v magic = _mm512_set1_pd(0x1.8p52);
    return f64v_isub(f64v_as_int(_mm512_add_pd(a, magic)), f64v_as_int(magic));
}

CT_VEC_INLINE f64v f64v_cvt_float(f64i a) {
    return _mm512_cvtepi64_pd(a);
}

// table[i], by the lowest four bits of i.
CT_VEC_INLINE f64v f64v_lookup16(const double *table, f64i i) {
    return _mm512_permutex2var_pd(_mm512_load_pd(table), i, _mm512_load_pd(table + 8));
}

CT_VEC_INLINE f64v f64v_scale2(f64v a, f64v n) {
    return _mm512_scalef_pd(a, n);
}

#pragma GCC diagnostic pop

#endif
