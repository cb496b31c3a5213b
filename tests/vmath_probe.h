#ifndef CT_VMATH_PROBE_H
#define CT_VMATH_PROBE_H

/*
 * The vector functions of one instruction set as plain loops, so that a program built for the
 * baseline can call all three sets. vmath_probe.c is compiled once per CT_ISA_LEVEL.
 */

#include <stddef.h>

/*
 * The functions under test. XX(name, arity, oracle, bound for f32, for f64 (ulp), lowest and
 * highest interesting argument for f32, for f64). What SLEEF computes has its bound of 1.0, but
 * its atan2 rounds subnormal results twice. Near roots of lgamma and its derivatives the error is
 * measured by the terms that cancel.
 */
#define VMATH_LIST(XX)                                                                             \
    XX(exp, 1, ref_exp, 1.0, 1.0, -104.0, 89.0, -746.0, 710.0)                                     \
    XX(expm1, 1, ref_expm1, 1.0, 1.0, -20.0, 89.0, -40.0, 710.0)                                   \
    XX(log, 1, ref_log, 1.0, 1.0, 0.0, 10.0, 0.0, 10.0)                                            \
    XX(log1p, 1, ref_log1p, 1.0, 1.0, -1.0, 10.0, -1.0, 10.0)                                      \
    XX(tanh, 1, ref_tanh, 1.0, 1.0, -10.0, 10.0, -20.0, 20.0)                                      \
    XX(sigmoid, 1, ref_sigmoid, 1.0, 1.0, -104.0, 20.0, -746.0, 40.0)                              \
    XX(softplus, 1, ref_softplus, 2.0, 2.0, -104.0, 90.0, -746.0, 50.0)                            \
    XX(erf, 1, ref_erf, 1.0, 1.0, -4.0, 4.0, -6.0, 6.0)                                            \
    XX(erfc, 1, ref_erfc, 2.0, 2.0, -4.0, 10.2, -6.0, 27.3)                                        \
    XX(normcdf, 1, ref_normcdf, 4.0, 4.0, -14.4, 6.0, -38.6, 9.0)                                  \
    XX(gelu, 1, ref_gelu, 1.0, 1.0, -14.4, 6.0, -38.6, 9.0)                                        \
    XX(gelu_tanh, 1, ref_gelu_tanh, 2.0, 2.5, -12.0, 6.0, -24.0, 9.0)                              \
    XX(silu, 1, ref_silu, 2.2, 2.2, -109.0, 20.0, -752.0, 40.0)                                    \
    XX(mish, 1, ref_mish, 2.6, 2.6, -109.0, 20.0, -752.0, 40.0)                                    \
    XX(rsqrt, 1, ref_rsqrt, 1.0, 1.0, 0.0, 10.0, 0.0, 10.0)                                        \
    XX(sin, 1, ref_sin, 1.0, 1.0, -40.0, 40.0, -40.0, 40.0)                                        \
    XX(cos, 1, ref_cos, 1.0, 1.0, -40.0, 40.0, -40.0, 40.0)                                        \
    XX(tan, 1, ref_tan, 1.0, 1.0, -40.0, 40.0, -40.0, 40.0)                                        \
    XX(asin, 1, ref_asin, 1.0, 1.0, -1.0, 1.0, -1.0, 1.0)                                          \
    XX(acos, 1, ref_acos, 1.0, 1.0, -1.0, 1.0, -1.0, 1.0)                                          \
    XX(atan, 1, ref_atan, 1.0, 1.0, -9.0, 9.0, -9.0, 9.0)                                          \
    XX(sinh, 1, ref_sinh, 1.0, 1.0, -90.0, 90.0, -711.0, 711.0)                                    \
    XX(cosh, 1, ref_cosh, 1.0, 1.0, -90.0, 90.0, -711.0, 711.0)                                    \
    XX(log2, 1, ref_log2, 1.0, 1.0, 0.0, 10.0, 0.0, 10.0)                                          \
    XX(exp2, 1, ref_exp2, 1.0, 1.0, -150.0, 128.0, -1075.0, 1024.0)                                \
    XX(cbrt, 1, ref_cbrt, 1.0, 1.0, -9.0, 9.0, -9.0, 9.0)                                          \
    XX(pow, 2, ref_pow, 1.0, 1.0, 0.0, 9.0, 0.0, 9.0)                                              \
    XX(atan2, 2, ref_atan2, 1.1, 1.1, -9.0, 9.0, -9.0, 9.0)                                        \
    XX(hypot, 2, ref_hypot, 1.0, 1.0, -9.0, 9.0, -9.0, 9.0)                                        \
    XX(log10, 1, ref_log10, 1.0, 1.0, 0.0, 10.0, 0.0, 10.0)                                        \
    XX(asinh, 1, ref_asinh, 1.0, 1.0, -9.0, 9.0, -9.0, 9.0)                                        \
    XX(acosh, 1, ref_acosh, 1.0, 1.0, 1.0, 9.0, 1.0, 9.0)                                          \
    XX(atanh, 1, ref_atanh, 1.0, 1.0, -1.0, 1.0, -1.0, 1.0)                                        \
    XX(lgamma, 1, ref_lgamma, 1.0, 1.5, -9.0, 40.0, -30.0, 200.0)                                  \
    XX(digamma, 1, ref_digamma, 1.0, 1.5, -9.0, 20.0, -30.0, 30.0)                                 \
    XX(polygamma, 2, ref_polygamma, 1.0, 3.0, -4.0, 12.0, -4.0, 20.0)                              \
    XX(fmod, 2, ref_fmod, 0.0, 0.0, -9.0, 9.0, -9.0, 9.0)                                          \
    XX(mod, 2, ref_mod, 0.5, 0.5, -9.0, 9.0, -9.0, 9.0)                                            \
    XX(floor_div, 2, ref_floor_div, 2.0, 2.0, -9.0, 9.0, -9.0, 9.0)

#define VMATH_ENUM(name, ...) VMATH_##name,
enum { VMATH_LIST(VMATH_ENUM) VMATH_COUNT };
#undef VMATH_ENUM

/* out[i] = f(x[i], y[i]) for i < n; a function of one argument ignores y. */
struct vmath_loops {
    void (*f32)(size_t n, const float *x, const float *y, float *out);
    void (*f64)(size_t n, const double *x, const double *y, double *out);
};

struct vmath_probe {
    const char *isa;
    struct vmath_loops loops[VMATH_COUNT];
};

extern const struct vmath_probe vmath_probe_scalar;
extern const struct vmath_probe vmath_probe_avx2;
extern const struct vmath_probe vmath_probe_avx512;

#endif
