#ifndef CT_VEC_SCALAR_H
#define CT_VEC_SCALAR_H

/* The vocabulary of vec.h at width 1. Include vec.h, not this file. A signed right shift is taken
 * to be arithmetic, as gcc and clang define it. */

typedef float f32v;
typedef int32_t f32i;
typedef bool f32m;
#define F32V_LANES 1

CT_VEC_INLINE f32v f32v_load(const float *p) {
    return *p;
}

CT_VEC_INLINE void f32v_store(float *p, f32v a) {
    *p = a;
}

CT_VEC_INLINE f32v f32v_load_n(const float *p, size_t n, float fill) {
    return n != 0 ? *p : fill;
}

CT_VEC_INLINE void f32v_store_n(float *p, f32v a, size_t n) {
    if (n != 0) {
        *p = a;
    }
}

CT_VEC_INLINE f32v f32v_gather(const float *base, f32i idx) {
    return base[idx];
}

CT_VEC_INLINE f32v f32v_set1(float x) {
    return x;
}

CT_VEC_INLINE f32v f32v_zero(void) {
    return 0.0f;
}

CT_VEC_INLINE f32i f32v_as_int(f32v a) {
    f32i r;
    memcpy(&r, &a, sizeof r);
    return r;
}

CT_VEC_INLINE f32v f32v_as_float(f32i a) {
    f32v r;
    memcpy(&r, &a, sizeof r);
    return r;
}

CT_VEC_INLINE f32v f32v_add(f32v a, f32v b) {
    return a + b;
}

CT_VEC_INLINE f32v f32v_sub(f32v a, f32v b) {
    return a - b;
}

CT_VEC_INLINE f32v f32v_mul(f32v a, f32v b) {
    return a * b;
}

CT_VEC_INLINE f32v f32v_div(f32v a, f32v b) {
    return a / b;
}

CT_VEC_INLINE f32v f32v_fma(f32v a, f32v b, f32v c) {
    return __builtin_fmaf(a, b, c);
}

CT_VEC_INLINE f32v f32v_fms(f32v a, f32v b, f32v c) {
    return __builtin_fmaf(a, b, -c);
}

CT_VEC_INLINE f32v f32v_fnma(f32v a, f32v b, f32v c) {
    return __builtin_fmaf(-a, b, c);
}

CT_VEC_INLINE f32v f32v_neg(f32v a) {
    return -a;
}

CT_VEC_INLINE f32v f32v_abs(f32v a) {
    return __builtin_fabsf(a);
}

CT_VEC_INLINE f32v f32v_sqrt(f32v a) {
    return __builtin_sqrtf(a);
}

CT_VEC_INLINE f32v f32v_rint(f32v a) {
    return __builtin_rintf(a);
}

CT_VEC_INLINE f32v f32v_floor(f32v a) {
    return __builtin_floorf(a);
}

CT_VEC_INLINE f32v f32v_ceil(f32v a) {
    return __builtin_ceilf(a);
}

CT_VEC_INLINE f32v f32v_trunc(f32v a) {
    return __builtin_truncf(a);
}

CT_VEC_INLINE f32v f32v_and(f32v a, f32v b) {
    return f32v_as_float(f32v_as_int(a) & f32v_as_int(b));
}

CT_VEC_INLINE f32v f32v_or(f32v a, f32v b) {
    return f32v_as_float(f32v_as_int(a) | f32v_as_int(b));
}

CT_VEC_INLINE f32v f32v_xor(f32v a, f32v b) {
    return f32v_as_float(f32v_as_int(a) ^ f32v_as_int(b));
}

CT_VEC_INLINE f32v f32v_andnot(f32v a, f32v b) {
    return f32v_as_float(~f32v_as_int(a) & f32v_as_int(b));
}

CT_VEC_INLINE f32v f32v_copysign(f32v magnitude, f32v sign) {
    return __builtin_copysignf(magnitude, sign);
}

CT_VEC_INLINE f32v f32v_lesser(f32v a, f32v b) {
    return a < b ? a : b;
}

CT_VEC_INLINE f32v f32v_greater(f32v a, f32v b) {
    return a > b ? a : b;
}

CT_VEC_INLINE f32v f32v_min_ieee(f32v a, f32v b) {
    // Equal operands differ at most in the sign of zero, and a | b has the minus sign if any has.
    return a < b ? a : b < a ? b : a == b ? f32v_or(a, b) : a + b;
}

CT_VEC_INLINE f32v f32v_max_ieee(f32v a, f32v b) {
    return a > b ? a : b > a ? b : a == b ? f32v_and(a, b) : a + b;
}

CT_VEC_INLINE f32m f32v_lt(f32v a, f32v b) {
    return a < b;
}

CT_VEC_INLINE f32m f32v_le(f32v a, f32v b) {
    return a <= b;
}

CT_VEC_INLINE f32m f32v_gt(f32v a, f32v b) {
    return a > b;
}

CT_VEC_INLINE f32m f32v_ge(f32v a, f32v b) {
    return a >= b;
}

CT_VEC_INLINE f32m f32v_eq(f32v a, f32v b) {
    return a == b;
}

CT_VEC_INLINE f32m f32v_ne(f32v a, f32v b) {
    return a != b;
}

CT_VEC_INLINE f32m f32v_isnan(f32v a) {
    return a != a;
}

CT_VEC_INLINE f32v f32v_select(f32m mask, f32v a, f32v b) {
    return mask ? a : b;
}

CT_VEC_INLINE f32m f32v_mset1(bool b) {
    return b;
}

CT_VEC_INLINE f32m f32v_mand(f32m a, f32m b) {
    return a && b;
}

CT_VEC_INLINE f32m f32v_mor(f32m a, f32m b) {
    return a || b;
}

CT_VEC_INLINE f32m f32v_mxor(f32m a, f32m b) {
    return a != b;
}

CT_VEC_INLINE f32m f32v_mnot(f32m a) {
    return !a;
}

CT_VEC_INLINE f32m f32v_mandnot(f32m a, f32m b) {
    return !a && b;
}

CT_VEC_INLINE bool f32v_any(f32m a) {
    return a;
}

CT_VEC_INLINE bool f32v_all(f32m a) {
    return a;
}

CT_VEC_INLINE f32m f32v_mask_load_bytes(const unsigned char *p) {
    return *p != 0;
}

CT_VEC_INLINE void f32v_mask_store_bytes(unsigned char *p, f32m a) {
    *p = a;
}

CT_VEC_INLINE f32m f32v_mask_load_bytes_n(const unsigned char *p, size_t n) {
    return n != 0 && *p != 0;
}

CT_VEC_INLINE void f32v_mask_store_bytes_n(unsigned char *p, f32m a, size_t n) {
    if (n != 0) {
        *p = a;
    }
}

CT_VEC_INLINE f32i f32v_iload(const int32_t *p) {
    return *p;
}

CT_VEC_INLINE void f32v_istore(int32_t *p, f32i a) {
    *p = a;
}

CT_VEC_INLINE f32i f32v_iset1(int32_t k) {
    return k;
}

CT_VEC_INLINE f32i f32v_iadd(f32i a, f32i b) {
    return (int32_t)((uint32_t)a + (uint32_t)b);
}

CT_VEC_INLINE f32i f32v_isub(f32i a, f32i b) {
    return (int32_t)((uint32_t)a - (uint32_t)b);
}

CT_VEC_INLINE f32i f32v_iand(f32i a, f32i b) {
    return a & b;
}

CT_VEC_INLINE f32i f32v_ior(f32i a, f32i b) {
    return a | b;
}

CT_VEC_INLINE f32i f32v_ixor(f32i a, f32i b) {
    return a ^ b;
}

CT_VEC_INLINE f32i f32v_ishl(f32i a, int n) {
    return (int32_t)((uint32_t)a << n);
}

CT_VEC_INLINE f32i f32v_ishr(f32i a, int n) {
    return a >> n;
}

CT_VEC_INLINE f32i f32v_ishr_logical(f32i a, int n) {
    return (int32_t)((uint32_t)a >> n);
}

CT_VEC_INLINE f32m f32v_icmpeq(f32i a, f32i b) {
    return a == b;
}

CT_VEC_INLINE f32m f32v_icmpgt(f32i a, f32i b) {
    return a > b;
}

CT_VEC_INLINE f32i f32v_iselect(f32m mask, f32i a, f32i b) {
    return mask ? a : b;
}

CT_VEC_INLINE f32i f32v_cvt_int(f32v a) {
    // Rounds to an integer by pushing the fraction out of the significand.
    const float magic = 0x1.8p23f;
    return f32v_isub(f32v_as_int(a + magic), f32v_as_int(magic));
}

CT_VEC_INLINE f32v f32v_cvt_float(f32i a) {
    return (float)a;
}

// table[i], by the lowest four bits of i.
CT_VEC_INLINE f32v f32v_lookup16(const float *table, f32i i) {
    return table[i & 15];
}

CT_VEC_INLINE f32v f32v_scale2(f32v a, f32v n) {
    // Two factors, so that neither leaves the range of normal numbers; the first product is exact.
    f32i k = f32v_cvt_int(n);
    f32i h = k >> 1;
    f32i g = f32v_isub(k, h);
    f32v x = a * f32v_as_float(f32v_ishl(f32v_iadd(h, 127), 23));
    return x * f32v_as_float(f32v_ishl(f32v_iadd(g, 127), 23));
}

typedef double f64v;
typedef int64_t f64i;
typedef bool f64m;
#define F64V_LANES 1

CT_VEC_INLINE f64v f64v_load(const double *p) {
    return *p;
}

CT_VEC_INLINE void f64v_store(double *p, f64v a) {
    *p = a;
}

CT_VEC_INLINE f64v f64v_load_n(const double *p, size_t n, double fill) {
    return n != 0 ? *p : fill;
}

CT_VEC_INLINE void f64v_store_n(double *p, f64v a, size_t n) {
    if (n != 0) {
        *p = a;
    }
}

CT_VEC_INLINE f64v f64v_gather(const double *base, f64i idx) {
    return base[idx];
}

CT_VEC_INLINE f64v f64v_set1(double x) {
    return x;
}

CT_VEC_INLINE f64v f64v_zero(void) {
    return 0.0;
}

CT_VEC_INLINE f64i f64v_as_int(f64v a) {
    f64i r;
    memcpy(&r, &a, sizeof r);
    return r;
}

CT_VEC_INLINE f64v f64v_as_float(f64i a) {
    f64v r;
    memcpy(&r, &a, sizeof r);
    return r;
}

CT_VEC_INLINE f64v f64v_add(f64v a, f64v b) {
    return a + b;
}

CT_VEC_INLINE f64v f64v_sub(f64v a, f64v b) {
    return a - b;
}

CT_VEC_INLINE f64v f64v_mul(f64v a, f64v b) {
    return a * b;
}

CT_VEC_INLINE f64v f64v_div(f64v a, f64v b) {
    return a / b;
}

CT_VEC_INLINE f64v f64v_fma(f64v a, f64v b, f64v c) {
    return __builtin_fma(a, b, c);
}

CT_VEC_INLINE f64v f64v_fms(f64v a, f64v b, f64v c) {
    return __builtin_fma(a, b, -c);
}

CT_VEC_INLINE f64v f64v_fnma(f64v a, f64v b, f64v c) {
    return __builtin_fma(-a, b, c);
}

CT_VEC_INLINE f64v f64v_neg(f64v a) {
    return -a;
}

CT_VEC_INLINE f64v f64v_abs(f64v a) {
    return __builtin_fabs(a);
}

CT_VEC_INLINE f64v f64v_sqrt(f64v a) {
    return __builtin_sqrt(a);
}

CT_VEC_INLINE f64v f64v_rint(f64v a) {
    return __builtin_rint(a);
}

CT_VEC_INLINE f64v f64v_floor(f64v a) {
    return __builtin_floor(a);
}

CT_VEC_INLINE f64v f64v_ceil(f64v a) {
    return __builtin_ceil(a);
}

CT_VEC_INLINE f64v f64v_trunc(f64v a) {
    return __builtin_trunc(a);
}

CT_VEC_INLINE f64v f64v_and(f64v a, f64v b) {
    return f64v_as_float(f64v_as_int(a) & f64v_as_int(b));
}

CT_VEC_INLINE f64v f64v_or(f64v a, f64v b) {
    return f64v_as_float(f64v_as_int(a) | f64v_as_int(b));
}

CT_VEC_INLINE f64v f64v_xor(f64v a, f64v b) {
    return f64v_as_float(f64v_as_int(a) ^ f64v_as_int(b));
}

CT_VEC_INLINE f64v f64v_andnot(f64v a, f64v b) {
    return f64v_as_float(~f64v_as_int(a) & f64v_as_int(b));
}

CT_VEC_INLINE f64v f64v_copysign(f64v magnitude, f64v sign) {
    return __builtin_copysign(magnitude, sign);
}

CT_VEC_INLINE f64v f64v_lesser(f64v a, f64v b) {
    return a < b ? a : b;
}

CT_VEC_INLINE f64v f64v_greater(f64v a, f64v b) {
    return a > b ? a : b;
}

CT_VEC_INLINE f64v f64v_min_ieee(f64v a, f64v b) {
    // Equal operands differ at most in the sign of zero, and a | b has the minus sign if any has.
    return a < b ? a : b < a ? b : a == b ? f64v_or(a, b) : a + b;
}

CT_VEC_INLINE f64v f64v_max_ieee(f64v a, f64v b) {
    return a > b ? a : b > a ? b : a == b ? f64v_and(a, b) : a + b;
}

CT_VEC_INLINE f64m f64v_lt(f64v a, f64v b) {
    return a < b;
}

CT_VEC_INLINE f64m f64v_le(f64v a, f64v b) {
    return a <= b;
}

CT_VEC_INLINE f64m f64v_gt(f64v a, f64v b) {
    return a > b;
}

CT_VEC_INLINE f64m f64v_ge(f64v a, f64v b) {
    return a >= b;
}

CT_VEC_INLINE f64m f64v_eq(f64v a, f64v b) {
    return a == b;
}

CT_VEC_INLINE f64m f64v_ne(f64v a, f64v b) {
    return a != b;
}

CT_VEC_INLINE f64m f64v_isnan(f64v a) {
    return a != a;
}

CT_VEC_INLINE f64v f64v_select(f64m mask, f64v a, f64v b) {
    return mask ? a : b;
}

CT_VEC_INLINE f64m f64v_mset1(bool b) {
    return b;
}

CT_VEC_INLINE f64m f64v_mand(f64m a, f64m b) {
    return a && b;
}

CT_VEC_INLINE f64m f64v_mor(f64m a, f64m b) {
    return a || b;
}

CT_VEC_INLINE f64m f64v_mxor(f64m a, f64m b) {
    return a != b;
}

CT_VEC_INLINE f64m f64v_mnot(f64m a) {
    return !a;
}

CT_VEC_INLINE f64m f64v_mandnot(f64m a, f64m b) {
    return !a && b;
}

CT_VEC_INLINE bool f64v_any(f64m a) {
    return a;
}

CT_VEC_INLINE bool f64v_all(f64m a) {
    return a;
}

CT_VEC_INLINE f64m f64v_mask_load_bytes(const unsigned char *p) {
    return *p != 0;
}

CT_VEC_INLINE void f64v_mask_store_bytes(unsigned char *p, f64m a) {
    *p = a;
}

CT_VEC_INLINE f64m f64v_mask_load_bytes_n(const unsigned char *p, size_t n) {
    return n != 0 && *p != 0;
}

CT_VEC_INLINE void f64v_mask_store_bytes_n(unsigned char *p, f64m a, size_t n) {
    if (n != 0) {
        *p = a;
    }
}

CT_VEC_INLINE f64i f64v_iload(const int64_t *p) {
    return *p;
}

CT_VEC_INLINE void f64v_istore(int64_t *p, f64i a) {
    *p = a;
}

CT_VEC_INLINE f64i f64v_iset1(int64_t k) {
    return k;
}

CT_VEC_INLINE f64i f64v_iadd(f64i a, f64i b) {
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

CT_VEC_INLINE f64i f64v_isub(f64i a, f64i b) {
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

CT_VEC_INLINE f64i f64v_iand(f64i a, f64i b) {
    return a & b;
}

CT_VEC_INLINE f64i f64v_ior(f64i a, f64i b) {
    return a | b;
}

CT_VEC_INLINE f64i f64v_ixor(f64i a, f64i b) {
    return a ^ b;
}

CT_VEC_INLINE f64i f64v_ishl(f64i a, int n) {
    return (int64_t)((uint64_t)a << n);
}

CT_VEC_INLINE f64i f64v_ishr(f64i a, int n) {
    return a >> n;
}

CT_VEC_INLINE f64i f64v_ishr_logical(f64i a, int n) {
    return (int64_t)((uint64_t)a >> n);
}

CT_VEC_INLINE f64m f64v_icmpeq(f64i a, f64i b) {
    return a == b;
}

CT_VEC_INLINE f64m f64v_icmpgt(f64i a, f64i b) {
    return a > b;
}

CT_VEC_INLINE f64i f64v_iselect(f64m mask, f64i a, f64i b) {
    return mask ? a : b;
}

CT_VEC_INLINE f64i f64v_cvt_int(f64v a) {
    // Rounds to an integer by pushing the fraction out of the significand.
    const double magic = 0x1.8p52;
    return f64v_isub(f64v_as_int(a + magic), f64v_as_int(magic));
}

CT_VEC_INLINE f64v f64v_cvt_float(f64i a) {
    return (double)a;
}

// table[i], by the lowest four bits of i.
CT_VEC_INLINE f64v f64v_lookup16(const double *table, f64i i) {
    return table[i & 15];
}

CT_VEC_INLINE f64v f64v_scale2(f64v a, f64v n) {
    // Two factors, so that neither leaves the range of normal numbers; the first product is exact.
    f64i k = f64v_cvt_int(n);
    f64i h = k >> 1;
    f64i g = f64v_isub(k, h);
    f64v x = a * f64v_as_float(f64v_ishl(f64v_iadd(h, 1023), 52));
    return x * f64v_as_float(f64v_ishl(f64v_iadd(g, 1023), 52));
}

#endif
