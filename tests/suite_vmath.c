/*
 * The vector mathematics: accuracy against long double, special values, equal bits on every
 * instruction set, and lanes that do not feel each other. Every function of VMATH_LIST reports by
 * itself: _i is its index.
 */
#include "ct_test.h"
#include "vmath_probe.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_vmath(void);

// ---- oracles, in long double

#define ORACLE(name, formula)                                                                      \
    static long double ref_##name(long double x, long double y) {                                  \
        (void)y;                                                                                   \
        return formula;                                                                            \
    }

ORACLE(exp, expl(x))
ORACLE(expm1, expm1l(x))
ORACLE(log, logl(x))
ORACLE(log1p, log1pl(x))
ORACLE(tanh, tanhl(x))
ORACLE(sigmoid, x < 0 ? expl(x) / (1 + expl(x)) : 1 / (1 + expl(-x)))
ORACLE(softplus, (x > 0 ? x : 0) + log1pl(expl(-fabsl(x))))
ORACLE(erf, erfl(x))
ORACLE(erfc, erfcl(x))
ORACLE(rsqrt, 1 / sqrtl(x))
ORACLE(sin, sinl(x))
ORACLE(cos, cosl(x))
ORACLE(tan, tanl(x))
ORACLE(asin, asinl(x))
ORACLE(acos, acosl(x))
ORACLE(atan, atanl(x))
ORACLE(sinh, sinhl(x))
ORACLE(cosh, coshl(x))
ORACLE(log2, log2l(x))
ORACLE(exp2, exp2l(x))
ORACLE(cbrt, cbrtl(x))
ORACLE(pow, powl(x, y))
ORACLE(atan2, atan2l(x, y))
ORACLE(hypot, hypotl(x, y))

// erfc magnifies the rounding of x / sqrt(2) by x^2: what that quotient lost, d = x^2/2 - a^2, is
// computed from halves whose products are exact, and erfc(a) exp(-d) is the tail's value.
static long double ref_normcdf(long double x, long double y) {
    (void)y;
    long double a = -x * 0.707106781186547524400844362104849039L;
    if (!(a > 1) || a > 100)
        return 0.5L * erfcl(a);
    long double xh = (long double)(float)x, xl = x - xh;
    long double ah = (long double)(float)a, al = a - ah;
    long double d = (xh * xh / 2 - ah * ah) + (xh * xl - 2 * ah * al) + (xl * xl / 2 - al * al);
    return 0.5L * erfcl(a) * (1 - d);
}

// ---- the table

struct function {
    const char *name;
    int arity;
    long double (*oracle)(long double x, long double y);
    double bound32, bound64;
    double lo32, hi32, lo64, hi64;
};

#define FUNCTION(name, arity, oracle, b32, b64, lo32, hi32, lo64, hi64)                            \
    [VMATH_##name] = {#name, arity, oracle, b32, b64, lo32, hi32, lo64, hi64},
static const struct function functions[VMATH_COUNT] = {VMATH_LIST(FUNCTION)};

enum { ISA_SCALAR, ISA_AVX2, ISA_AVX512, ISA_COUNT };

static const struct vmath_probe *probe_of(int isa) {
#if defined(__x86_64__)
    if (isa == ISA_AVX2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return &vmath_probe_avx2;
    if (isa == ISA_AVX512 && __builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl"))
        return &vmath_probe_avx512;
#endif
    return isa == ISA_SCALAR ? &vmath_probe_scalar : NULL;
}

static const struct vmath_probe *widest_probe(void) {
    for (int isa = ISA_COUNT - 1; isa > 0; isa--)
        if (probe_of(isa))
            return probe_of(isa);
    return probe_of(ISA_SCALAR);
}

// ---- random arguments: xorshift64*, as good as needed and the same everywhere

static uint64_t next_bits(uint64_t *state) {
    uint64_t s = *state;
    s ^= s >> 12;
    s ^= s << 25;
    s ^= s >> 27;
    *state = s;
    return s * 0x2545f4914f6cdd1du;
}

static float float_of(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static double double_of(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static const double specials[] = {
    0,          -0.0,        1,          -1,
    0.5,        -0.5,        2,          -2,
    3,          -3,          0.25,       0.75,
    -0.75,      1.5,         10,         -10,
    1e5,        -1e5,        1e15,       1e30,
    -1e30,      1e-30,       -1e-30,     88.72,
    -87.3365,   -103.97,     88.9,       0x1p-149,
    0x1p-126,   -0x1p-126,   3.4e38,     -3.4e38,
    709.78,     710.4,       -708.4,     -745.13,
    1e300,      0x1p-1074,   0x1p-1022,  1.7e308,
    0.34657359, -0.34657359, 0.70710678, 1.41421356,
    0.41421356, -0.29289322, 0x1p-12,    0x1p-24,
    0x1p-27,    0x1p-54,     16777215,   9007199254740991.0,
    1.57079632, 3.14159265,  HUGE_VAL,   -HUGE_VAL,
};
enum { SPECIALS = sizeof specials / sizeof specials[0] };

/*
 * Strata in turn: any bits; the interesting range; around zero at all scales; neighbours of special
 * points.
 */
static float draw_f32(uint64_t *state, const struct function *f, size_t k) {
    uint64_t b = next_bits(state);
    double unit = (double)(b >> 11) * 0x1p-53;
    switch (k % 4) {
    case 0:
        return float_of((uint32_t)(b >> 32));
    case 1:
        return (float)(f->lo32 + unit * (f->hi32 - f->lo32));
    case 2:
        return (float)ldexp(2 * unit - 1, (int)(b % 32) - 26);
    default: {
        float x = (float)specials[b % SPECIALS];
        uint32_t bits;
        memcpy(&bits, &x, sizeof bits);
        return float_of(bits + (uint32_t)(b >> 56) % 9u - 4u);
    }
    }
}

static double draw_f64(uint64_t *state, const struct function *f, size_t k) {
    uint64_t b = next_bits(state);
    double unit = (double)(b >> 11) * 0x1p-53;
    switch (k % 4) {
    case 0:
        return double_of(b);
    case 1:
        return f->lo64 + unit * (f->hi64 - f->lo64);
    case 2:
        return ldexp(2 * unit - 1, (int)(b % 64) - 58);
    default: {
        uint64_t bits;
        memcpy(&bits, &specials[b % SPECIALS], sizeof bits);
        return double_of(bits + (b >> 56) % 9u - 4u);
    }
    }
}

// ---- distance in ulps of the exact result, or of the smallest subnormal

static double ulps(long double got, long double want, int digits, int min_exponent,
                   long double max) {
    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got) ? 0 : HUGE_VAL;
    int e;
    (void)frexpl(want, &e);
    long double ulp = ldexpl(1, want == 0 || e < min_exponent ? min_exponent - digits : e - digits);
    if (isinf(got)) {
        // Overflow is right from half an ulp above the largest number on.
        if (got > 0 ? want > 0 : want < 0)
            return isinf(want) ? 0 : fmax(0, (double)((max - fabsl(want)) / ulp) + 0.5);
        return HUGE_VAL;
    }
    if (isinf(want))
        return HUGE_VAL;
    if (want == 0 && got == 0)
        return !signbit(want) == !signbit(got) ? 0 : HUGE_VAL;
    return (double)(fabsl(got - want) / ulp);
}

static double ulps32(float got, long double want) {
    return ulps((long double)got, want, FLT_MANT_DIG, FLT_MIN_EXP, (long double)FLT_MAX);
}

static double ulps64(double got, long double want) {
    return ulps((long double)got, want, DBL_MANT_DIG, DBL_MIN_EXP, (long double)DBL_MAX);
}

// glibc's x87 functions round to 64 bits; valgrind computes them with 53.
static bool long_double_is_wide(void) {
    volatile long double one = 1, tiny = 0x1p-60L;
    return one + tiny != one;
}

// ---- accuracy

enum { CHUNK = 1024, SAMPLES = 128 * CHUNK };

START_TEST(f32_is_accurate) {
    const struct function *f = &functions[_i];
    if (!long_double_is_wide()) {
        ct_test_skip("long double is no wider than double here");
        return;
    }
    static float x[CHUNK], y[CHUNK], out[CHUNK];
    uint64_t state = 0x9e3779b97f4a7c15u + (uint64_t)_i;
    double worst = 0;
    float at_x = 0, at_y = 0;
    for (size_t done = 0; done < SAMPLES; done += CHUNK) {
        for (size_t k = 0; k < CHUNK; k++) {
            x[k] = draw_f32(&state, f, k);
            y[k] = draw_f32(&state, f, k / 4);
        }
        widest_probe()->loops[_i].f32(CHUNK, x, y, out);
        for (size_t k = 0; k < CHUNK; k++) {
            double u = ulps32(out[k], f->oracle((long double)x[k], (long double)y[k]));
            if (u > worst) {
                worst = u;
                at_x = x[k];
                at_y = y[k];
            }
        }
    }
    ck_assert_msg(worst <= f->bound32, "f32 %s(%a, %a): %.4f ulp, at most %.1f", f->name,
                  (double)at_x, (double)at_y, worst, f->bound32);
}
END_TEST

START_TEST(f64_is_accurate) {
    const struct function *f = &functions[_i];
    if (!long_double_is_wide()) {
        ct_test_skip("long double is no wider than double here");
        return;
    }
    static double x[CHUNK], y[CHUNK], out[CHUNK];
    uint64_t state = 0xd1b54a32d192ed03u + (uint64_t)_i;
    double worst = 0, at_x = 0, at_y = 0;
    for (size_t done = 0; done < SAMPLES; done += CHUNK) {
        for (size_t k = 0; k < CHUNK; k++) {
            x[k] = draw_f64(&state, f, k);
            y[k] = draw_f64(&state, f, k / 4);
        }
        widest_probe()->loops[_i].f64(CHUNK, x, y, out);
        for (size_t k = 0; k < CHUNK; k++) {
            double u = ulps64(out[k], f->oracle((long double)x[k], (long double)y[k]));
            if (u > worst) {
                worst = u;
                at_x = x[k];
                at_y = y[k];
            }
        }
    }
    ck_assert_msg(worst <= f->bound64, "f64 %s(%a, %a): %.4f ulp, at most %.1f", f->name, at_x,
                  at_y, worst, f->bound64);
}
END_TEST

// ---- special values

enum { F32 = 1, F64 = 2, BOTH = 3 };

#define INF   HUGE_VAL
#define NAN64 __builtin_nan("")

static const struct special {
    int function, types;
    double x, y, want;
} special_values[] = {
    {VMATH_exp, BOTH, 0, 0, 1},
    {VMATH_exp, BOTH, -0.0, 0, 1},
    {VMATH_exp, BOTH, INF, 0, INF},
    {VMATH_exp, BOTH, -INF, 0, 0},
    {VMATH_exp, BOTH, NAN64, 0, NAN64},
    {VMATH_exp, BOTH, 1000, 0, INF},
    {VMATH_exp, BOTH, -1000, 0, 0},
    {VMATH_exp, BOTH, 0x1p-140, 0, 1},
    {VMATH_exp, F32, 0x1.62e42ep6, 0, 0x1.ffff08p127},
    {VMATH_exp, F32, 0x1.62e430p6, 0, INF},
    {VMATH_exp, F32, -0x1.9fe368p6, 0, 0x1p-149},
    {VMATH_exp, F32, -0x1.9fe36ap6, 0, 0},
    {VMATH_exp, F64, 0x1.62e42fefa39efp9, 0, 0x1.fffffffffff2ap1023},
    {VMATH_exp, F64, 0x1.62e42fefa39fp9, 0, INF},
    {VMATH_exp, F64, -0x1.74910d52d3051p9, 0, 0x1p-1074},
    {VMATH_exp, F64, -0x1.74910d52d3052p9, 0, 0},
    {VMATH_expm1, BOTH, 0, 0, 0},
    {VMATH_expm1, BOTH, -0.0, 0, -0.0},
    {VMATH_expm1, BOTH, INF, 0, INF},
    {VMATH_expm1, BOTH, -INF, 0, -1},
    {VMATH_expm1, BOTH, NAN64, 0, NAN64},
    {VMATH_expm1, BOTH, -100, 0, -1},
    {VMATH_expm1, BOTH, 1000, 0, INF},
    {VMATH_expm1, BOTH, 0x1p-149, 0, 0x1p-149},
    {VMATH_expm1, BOTH, -0x1p-140, 0, -0x1p-140},
    {VMATH_log, BOTH, 0, 0, -INF},
    {VMATH_log, BOTH, -0.0, 0, -INF},
    {VMATH_log, BOTH, 1, 0, 0},
    {VMATH_log, BOTH, -1, 0, NAN64},
    {VMATH_log, BOTH, -0x1p-140, 0, NAN64},
    {VMATH_log, BOTH, INF, 0, INF},
    {VMATH_log, BOTH, -INF, 0, NAN64},
    {VMATH_log, BOTH, NAN64, 0, NAN64},
    {VMATH_log, F32, 0x1p-149, 0, -0x1.9d1dap6},
    {VMATH_log, F64, 0x1p-1074, 0, -0x1.74385446d71c3p9},
    {VMATH_log1p, BOTH, 0, 0, 0},
    {VMATH_log1p, BOTH, -0.0, 0, -0.0},
    {VMATH_log1p, BOTH, -1, 0, -INF},
    {VMATH_log1p, BOTH, -1.5, 0, NAN64},
    {VMATH_log1p, BOTH, INF, 0, INF},
    {VMATH_log1p, BOTH, -INF, 0, NAN64},
    {VMATH_log1p, BOTH, NAN64, 0, NAN64},
    {VMATH_log1p, BOTH, 0x1p-149, 0, 0x1p-149},
    {VMATH_log1p, BOTH, -0x1p-140, 0, -0x1p-140},
    {VMATH_tanh, BOTH, 0, 0, 0},
    {VMATH_tanh, BOTH, -0.0, 0, -0.0},
    {VMATH_tanh, BOTH, INF, 0, 1},
    {VMATH_tanh, BOTH, -INF, 0, -1},
    {VMATH_tanh, BOTH, 25, 0, 1},
    {VMATH_tanh, BOTH, -1e30, 0, -1},
    {VMATH_tanh, BOTH, NAN64, 0, NAN64},
    {VMATH_tanh, BOTH, 0x1p-149, 0, 0x1p-149},
    {VMATH_sigmoid, BOTH, 0, 0, 0.5},
    {VMATH_sigmoid, BOTH, -0.0, 0, 0.5},
    {VMATH_sigmoid, BOTH, INF, 0, 1},
    {VMATH_sigmoid, BOTH, -INF, 0, 0},
    {VMATH_sigmoid, BOTH, NAN64, 0, NAN64},
    {VMATH_sigmoid, BOTH, 1000, 0, 1},
    {VMATH_sigmoid, BOTH, -800, 0, 0},
    {VMATH_softplus, BOTH, INF, 0, INF},
    {VMATH_softplus, BOTH, -INF, 0, 0},
    {VMATH_softplus, BOTH, NAN64, 0, NAN64},
    {VMATH_softplus, BOTH, 800, 0, 800},
    {VMATH_softplus, BOTH, -800, 0, 0},
    {VMATH_erf, BOTH, 0, 0, 0},
    {VMATH_erf, BOTH, -0.0, 0, -0.0},
    {VMATH_erf, BOTH, INF, 0, 1},
    {VMATH_erf, BOTH, -INF, 0, -1},
    {VMATH_erf, BOTH, 30, 0, 1},
    {VMATH_erf, BOTH, NAN64, 0, NAN64},
    {VMATH_erfc, BOTH, 0, 0, 1},
    {VMATH_erfc, BOTH, -0.0, 0, 1},
    {VMATH_erfc, BOTH, INF, 0, 0},
    {VMATH_erfc, BOTH, -INF, 0, 2},
    {VMATH_erfc, BOTH, 30, 0, 0},
    {VMATH_erfc, BOTH, NAN64, 0, NAN64},
    {VMATH_normcdf, BOTH, 0, 0, 0.5},
    {VMATH_normcdf, BOTH, INF, 0, 1},
    {VMATH_normcdf, BOTH, -INF, 0, 0},
    {VMATH_normcdf, BOTH, -50, 0, 0},
    {VMATH_normcdf, BOTH, NAN64, 0, NAN64},
    {VMATH_rsqrt, BOTH, 0, 0, INF},
    {VMATH_rsqrt, BOTH, -0.0, 0, -INF},
    {VMATH_rsqrt, BOTH, 4, 0, 0.5},
    {VMATH_rsqrt, BOTH, INF, 0, 0},
    {VMATH_rsqrt, BOTH, -1, 0, NAN64},
    {VMATH_rsqrt, BOTH, NAN64, 0, NAN64},
    {VMATH_rsqrt, BOTH, 0x1p-148, 0, 0x1p74},
    {VMATH_sin, BOTH, -0.0, 0, -0.0},
    {VMATH_sin, BOTH, INF, 0, NAN64},
    {VMATH_sin, BOTH, NAN64, 0, NAN64},
    {VMATH_cos, BOTH, 0, 0, 1},
    {VMATH_cos, BOTH, -INF, 0, NAN64},
    {VMATH_tan, BOTH, -0.0, 0, -0.0},
    {VMATH_tan, BOTH, 0x1p-149, 0, 0x1p-149},
    {VMATH_tan, BOTH, INF, 0, NAN64},
    {VMATH_tan, BOTH, NAN64, 0, NAN64},
    {VMATH_asin, BOTH, -0.0, 0, -0.0},
    {VMATH_asin, BOTH, 2, 0, NAN64},
    {VMATH_acos, BOTH, 1, 0, 0},
    {VMATH_acos, BOTH, -2, 0, NAN64},
    {VMATH_atan, BOTH, -0.0, 0, -0.0},
    {VMATH_atan, F64, INF, 0, 0x1.921fb54442d18p0},
    {VMATH_atan, F32, -INF, 0, -0x1.921fb6p0},
    {VMATH_sinh, BOTH, -0.0, 0, -0.0},
    {VMATH_sinh, BOTH, -INF, 0, -INF},
    {VMATH_sinh, BOTH, 800, 0, INF},
    {VMATH_sinh, BOTH, NAN64, 0, NAN64},
    {VMATH_cosh, BOTH, 0, 0, 1},
    {VMATH_cosh, BOTH, -INF, 0, INF},
    {VMATH_cosh, BOTH, -800, 0, INF},
    {VMATH_cosh, BOTH, NAN64, 0, NAN64},
    {VMATH_log2, BOTH, 0, 0, -INF},
    {VMATH_log2, BOTH, 0x1p-149, 0, -149},
    {VMATH_log2, BOTH, 1024, 0, 10},
    {VMATH_log2, BOTH, -1, 0, NAN64},
    {VMATH_log2, BOTH, INF, 0, INF},
    {VMATH_exp2, BOTH, 10, 0, 1024},
    {VMATH_exp2, F32, -149, 0, 0x1p-149},
    {VMATH_exp2, F64, -1074, 0, 0x1p-1074},
    {VMATH_exp2, BOTH, 2000, 0, INF},
    {VMATH_exp2, BOTH, -INF, 0, 0},
    {VMATH_cbrt, BOTH, -27, 0, -3},
    {VMATH_cbrt, BOTH, -0.0, 0, -0.0},
    {VMATH_cbrt, BOTH, INF, 0, INF},
    {VMATH_pow, BOTH, NAN64, 0, 1},
    {VMATH_pow, BOTH, NAN64, -0.0, 1},
    {VMATH_pow, BOTH, 1, NAN64, 1},
    {VMATH_pow, BOTH, 1, INF, 1},
    {VMATH_pow, BOTH, -1, INF, 1},
    {VMATH_pow, BOTH, -1, -INF, 1},
    {VMATH_pow, BOTH, 0, -1, INF},
    {VMATH_pow, BOTH, -0.0, -1, -INF},
    {VMATH_pow, BOTH, -0.0, -2, INF},
    {VMATH_pow, BOTH, -0.0, 3, -0.0},
    {VMATH_pow, BOTH, -0.0, 2, 0},
    {VMATH_pow, BOTH, 0, -INF, INF},
    {VMATH_pow, BOTH, 0, INF, 0},
    {VMATH_pow, BOTH, -2, 3, -8},
    {VMATH_pow, BOTH, -2, -1, -0.5},
    {VMATH_pow, BOTH, -2, 0.5, NAN64},
    {VMATH_pow, BOTH, NAN64, 1, NAN64},
    {VMATH_pow, BOTH, 2, NAN64, NAN64},
    {VMATH_pow, BOTH, 0.5, INF, 0},
    {VMATH_pow, BOTH, 0.5, -INF, INF},
    {VMATH_pow, BOTH, 2, -INF, 0},
    {VMATH_pow, BOTH, 2, INF, INF},
    {VMATH_pow, BOTH, -INF, 3, -INF},
    {VMATH_pow, BOTH, -INF, 2, INF},
    {VMATH_pow, BOTH, -INF, -3, -0.0},
    {VMATH_pow, BOTH, INF, -1, 0},
    {VMATH_pow, BOTH, -INF, 0.5, INF},
    {VMATH_atan2, BOTH, 0, 1, 0},
    {VMATH_atan2, BOTH, -0.0, 1, -0.0},
    {VMATH_atan2, F64, 0, -0.0, 0x1.921fb54442d18p1},
    {VMATH_atan2, F64, -0.0, -1, -0x1.921fb54442d18p1},
    {VMATH_atan2, F64, INF, INF, 0x1.921fb54442d18p-1},
    {VMATH_atan2, F64, -1, INF, -0.0},
    {VMATH_atan2, BOTH, NAN64, 1, NAN64},
    {VMATH_hypot, BOTH, 3, -4, 5},
    {VMATH_hypot, BOTH, NAN64, -INF, INF},
    {VMATH_hypot, BOTH, NAN64, 1, NAN64},
    {VMATH_hypot, F64, 3e300, 4e300, 5e300},
    {VMATH_hypot, F64, 0x3p-1074, 0x4p-1074, 0x5p-1074},
};
enum { SPECIAL_VALUES = sizeof special_values / sizeof special_values[0] };

static bool same_value(double got, double want) {
    return isnan(want) ? isnan(got) : got == want && !signbit(got) == !signbit(want);
}

START_TEST(special_value_holds) {
    const struct special *s = &special_values[_i];
    const struct vmath_loops *loops = &widest_probe()->loops[s->function];
    if (s->types & F32) {
        float x = (float)s->x, y = (float)s->y, out;
        loops->f32(1, &x, &y, &out);
        ck_assert_msg(same_value((double)out, (double)(float)s->want), "f32 %s(%a, %a): %a, not %a",
                      functions[s->function].name, s->x, s->y, (double)out, s->want);
    }
    if (s->types & F64) {
        double out;
        loops->f64(1, &s->x, &s->y, &out);
        ck_assert_msg(same_value(out, s->want), "f64 %s(%a, %a): %a, not %a",
                      functions[s->function].name, s->x, s->y, out, s->want);
    }
}
END_TEST

// ---- the same bits on every instruction set

enum { LONGEST = 67, GUARD = 16, ROUNDS = 8 };

static bool same_bits32(float a, float b) {
    return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

static bool same_bits64(double a, double b) {
    return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

static void compare_f32(int i, const struct vmath_probe *p, uint64_t *state) {
    const struct function *f = &functions[i];
    const float guard = 12345.0f;
    float x[LONGEST], y[LONGEST], want[LONGEST], got[LONGEST + GUARD];
    for (size_t n = 0; n <= LONGEST; n++) {
        for (size_t k = 0; k < n; k++) {
            x[k] = draw_f32(state, f, (size_t)next_bits(state) >> 8);
            y[k] = draw_f32(state, f, (size_t)next_bits(state) >> 8);
        }
        for (size_t k = 0; k < LONGEST + GUARD; k++)
            got[k] = guard;
        vmath_probe_scalar.loops[i].f32(n, x, y, want);
        p->loops[i].f32(n, x, y, got);
        for (size_t k = 0; k < n; k++)
            ck_assert_msg(same_bits32(want[k], got[k]), "f32 %s(%a, %a): %a at width 1, %a on %s",
                          f->name, (double)x[k], (double)y[k], (double)want[k], (double)got[k],
                          p->isa);
        for (size_t k = n; k < LONGEST + GUARD; k++)
            ck_assert_msg(same_bits32(got[k], guard), "f32 %s on %s: wrote item %zu of %zu",
                          f->name, p->isa, k, n);
    }
}

static void compare_f64(int i, const struct vmath_probe *p, uint64_t *state) {
    const struct function *f = &functions[i];
    const double guard = 12345.0;
    double x[LONGEST], y[LONGEST], want[LONGEST], got[LONGEST + GUARD];
    for (size_t n = 0; n <= LONGEST; n++) {
        for (size_t k = 0; k < n; k++) {
            x[k] = draw_f64(state, f, (size_t)next_bits(state) >> 8);
            y[k] = draw_f64(state, f, (size_t)next_bits(state) >> 8);
        }
        for (size_t k = 0; k < LONGEST + GUARD; k++)
            got[k] = guard;
        vmath_probe_scalar.loops[i].f64(n, x, y, want);
        p->loops[i].f64(n, x, y, got);
        for (size_t k = 0; k < n; k++)
            ck_assert_msg(same_bits64(want[k], got[k]), "f64 %s(%a, %a): %a at width 1, %a on %s",
                          f->name, x[k], y[k], want[k], got[k], p->isa);
        for (size_t k = n; k < LONGEST + GUARD; k++)
            ck_assert_msg(same_bits64(got[k], guard), "f64 %s on %s: wrote item %zu of %zu",
                          f->name, p->isa, k, n);
    }
}

// _i counts functions within instruction sets.
START_TEST(bits_are_equal) {
    const struct vmath_probe *p = probe_of(1 + _i / VMATH_COUNT);
    if (!p) {
        ct_test_skip("this CPU lacks the instruction set");
        return;
    }
    uint64_t state = 0xbf58476d1ce4e5b9u + (uint64_t)_i;
    for (int round = 0; round < ROUNDS; round++) {
        compare_f32(_i % VMATH_COUNT, p, &state);
        compare_f64(_i % VMATH_COUNT, p, &state);
    }
}
END_TEST

// ---- a lane does not feel its neighbours

enum { LANES = 16, VICTIMS = 64 };

START_TEST(lanes_are_alone) {
    int i = _i % VMATH_COUNT;
    const struct function *f = &functions[i];
    const struct vmath_probe *p = probe_of(_i / VMATH_COUNT);
    if (!p) {
        ct_test_skip("this CPU lacks the instruction set");
        return;
    }
    uint64_t state = 0x94d049bb133111ebu + (uint64_t)_i;
    for (size_t v = 0; v < VICTIMS; v++) {
        float x = draw_f32(&state, f, v), y = draw_f32(&state, f, v), alone;
        double X = draw_f64(&state, f, v), Y = draw_f64(&state, f, v), Alone;
        p->loops[i].f32(1, &x, &y, &alone);
        p->loops[i].f64(1, &X, &Y, &Alone);
        for (size_t at = 0; at < LANES; at++) {
            float xs[LANES], ys[LANES], out[LANES];
            double Xs[LANES], Ys[LANES], Out[LANES];
            for (size_t k = 0; k < LANES; k++) {
                xs[k] = draw_f32(&state, f, 3 * (next_bits(&state) >> 63));
                ys[k] = draw_f32(&state, f, 3 * (next_bits(&state) >> 63));
                Xs[k] = draw_f64(&state, f, 3 * (next_bits(&state) >> 63));
                Ys[k] = draw_f64(&state, f, 3 * (next_bits(&state) >> 63));
            }
            xs[at] = x;
            ys[at] = y;
            Xs[at] = X;
            Ys[at] = Y;
            p->loops[i].f32(LANES, xs, ys, out);
            p->loops[i].f64(LANES, Xs, Ys, Out);
            ck_assert_msg(same_bits32(out[at], alone),
                          "f32 %s(%a, %a) on %s: %a alone, %a in lane %zu", f->name, (double)x,
                          (double)y, p->isa, (double)alone, (double)out[at], at);
            ck_assert_msg(same_bits64(Out[at], Alone),
                          "f64 %s(%a, %a) on %s: %a alone, %a in lane %zu", f->name, X, Y, p->isa,
                          Alone, Out[at], at);
        }
    }
}
END_TEST

// ---- every f32 there is

static double sigmoid(double x) {
    return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x));
}

static const struct sweep {
    int function;
    double (*oracle)(double x);
} sweeps[] = {
    {VMATH_exp, exp},
    {VMATH_log, log},
    {VMATH_tanh, tanh},
    {VMATH_sigmoid, sigmoid},
};
enum { SWEEPS = sizeof sweeps / sizeof sweeps[0] };

START_TEST(every_f32_is_accurate) {
    const struct sweep *s = &sweeps[_i];
    const struct function *f = &functions[s->function];
    static float x[CHUNK], out[CHUNK];
    double worst = 0;
    float at = 0;
    for (uint32_t block = 0; block < UINT32_MAX / CHUNK + 1; block++) {
        for (uint32_t k = 0; k < CHUNK; k++)
            x[k] = float_of(block * CHUNK + k);
        widest_probe()->loops[s->function].f32(CHUNK, x, x, out);
        for (size_t k = 0; k < CHUNK; k++) {
            double want = s->oracle((double)x[k]);
            // Most results are the rounded oracle: half an ulp, no need for more.
            if (same_value((double)out[k], (double)(float)want))
                continue;
            double u = ulps32(out[k], (long double)want);
            if (u > worst) {
                worst = u;
                at = x[k];
            }
        }
    }
    ck_assert_msg(worst <= f->bound32, "f32 %s(%a): %.4f ulp, at most %.1f", f->name, (double)at,
                  worst, f->bound32);
}
END_TEST

static void add_case(Suite *suite, const char *name, const TTest *test, int count) {
    TCase *tc = tcase_create(name);
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, test, 0, count);
    suite_add_tcase(suite, tc);
}

Suite *suite_vmath(void) {
    Suite *suite = suite_create("vmath");
    add_case(suite, "f32 accuracy", f32_is_accurate, VMATH_COUNT);
    add_case(suite, "f64 accuracy", f64_is_accurate, VMATH_COUNT);
    add_case(suite, "special values", special_value_holds, SPECIAL_VALUES);
    add_case(suite, "equal bits", bits_are_equal, (ISA_COUNT - 1) * VMATH_COUNT);
    add_case(suite, "lone lanes", lanes_are_alone, ISA_COUNT * VMATH_COUNT);

    TCase *tc = tcase_create("every f32");
    tcase_set_tags(tc, "slow");
    tcase_set_timeout(tc, 3600);
    tcase_add_loop_test(tc, every_f32_is_accurate, 0, SWEEPS);
    suite_add_tcase(suite, tc);
    return suite;
}
