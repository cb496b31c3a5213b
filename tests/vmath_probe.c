#include "vmath_probe.h"

#include "tensor/kernels/vexact.h"
#include "tensor/kernels/vgamma.h"

#if CT_ISA_LEVEL == 0
#define PROBE    vmath_probe_scalar
#define ISA_NAME "scalar"
#elif CT_ISA_LEVEL == 1
#define PROBE    vmath_probe_avx2
#define ISA_NAME "avx2"
#else
#define PROBE    vmath_probe_avx512
#define ISA_NAME "avx512"
#endif

// A loop of whole vectors and a partial one, as a kernel has. The tail is filled with NaN: nothing
// of it may reach a result. The function is a constant after inlining.
CT_VEC_INLINE void f32_map1(f32v (*f)(f32v), size_t n, const float *x, float *out) {
    size_t i = 0;
    for (; i + F32V_LANES <= n; i += F32V_LANES) {
        f32v_store(out + i, f(f32v_load(x + i)));
    }
    if (i < n) {
        f32v_store_n(out + i, f(f32v_load_n(x + i, n - i, __builtin_nanf(""))), n - i);
    }
}

CT_VEC_INLINE void f32_map2(f32v (*f)(f32v, f32v), size_t n, const float *x, const float *y,
                            float *out) {
    size_t i = 0;
    for (; i + F32V_LANES <= n; i += F32V_LANES) {
        f32v_store(out + i, f(f32v_load(x + i), f32v_load(y + i)));
    }
    if (i < n) {
        f32v a = f32v_load_n(x + i, n - i, __builtin_nanf(""));
        f32v b = f32v_load_n(y + i, n - i, __builtin_nanf(""));
        f32v_store_n(out + i, f(a, b), n - i);
    }
}

CT_VEC_INLINE void f64_map1(f64v (*f)(f64v), size_t n, const double *x, double *out) {
    size_t i = 0;
    for (; i + F64V_LANES <= n; i += F64V_LANES) {
        f64v_store(out + i, f(f64v_load(x + i)));
    }
    if (i < n) {
        f64v_store_n(out + i, f(f64v_load_n(x + i, n - i, __builtin_nan(""))), n - i);
    }
}

CT_VEC_INLINE void f64_map2(f64v (*f)(f64v, f64v), size_t n, const double *x, const double *y,
                            double *out) {
    size_t i = 0;
    for (; i + F64V_LANES <= n; i += F64V_LANES) {
        f64v_store(out + i, f(f64v_load(x + i), f64v_load(y + i)));
    }
    if (i < n) {
        f64v a = f64v_load_n(x + i, n - i, __builtin_nan(""));
        f64v b = f64v_load_n(y + i, n - i, __builtin_nan(""));
        f64v_store_n(out + i, f(a, b), n - i);
    }
}

#define MAP_1(t, name) ((void)y, t##_map1(t##v_##name, n, x, out))
#define MAP_2(t, name) t##_map2(t##v_##name, n, x, y, out)

#define LOOPS(name, arity, ...)                                                                    \
    static void f32_##name(size_t n, const float *x, const float *y, float *out) {                 \
        MAP_##arity(f32, name);                                                                    \
    }                                                                                              \
    static void f64_##name(size_t n, const double *x, const double *y, double *out) {              \
        MAP_##arity(f64, name);                                                                    \
    }

VMATH_LIST(LOOPS)

#define ROW(name, ...) [VMATH_##name] = {f32_##name, f64_##name},

const struct vmath_probe PROBE = {ISA_NAME, {VMATH_LIST(ROW)}};
