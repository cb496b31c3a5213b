/*
 * The vector mathematics: accuracy against long double, special values, equal bits on every
 * instruction set, and lanes that do not feel each other. Every function of VMATH_LIST reports by
 * itself: _i is its index.
 */
#include "ct_test.h"
#include "op_oracle.h"
#include "vmath_probe.h"
#include "vmath_specials.h"

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

ORACLE(log10, log10l(x))
ORACLE(asinh, asinhl(x))
ORACLE(acosh, acoshl(x))
ORACLE(atanh, atanhl(x))
ORACLE(lgamma, lgammal(x))
ORACLE(fmod, fmodl(x, y))

// The oracle of the op of that name.
#define ROW_ORACLE(name)                                                                           \
    static long double ref_##name(long double x, long double y) {                                  \
        return op_exact(CT_OP_##name, (double[]){(double)x, (double)y, 0});                        \
    }

ROW_ORACLE(digamma)
ROW_ORACLE(gelu_tanh)
ROW_ORACLE(silu)
ROW_ORACLE(mish)
ROW_ORACLE(polygamma)
ROW_ORACLE(mod)
ROW_ORACLE(floor_div)

// psi(1 - x) and pi cot(pi x).
static long double digamma_terms(long double x) {
    long double cot =
        x < 0 ? 3.1415926535897932384626L / tanl(3.1415926535897932384626L * (x - rintl(x))) : 0;
    return fmaxl(1, logl(1 + fabsl(x))) + (isfinite(cot) ? fabsl(cot) : 0);
}

// The size of the terms that cancel near the roots of the gamma function's logarithm and of its
// derivatives; 0 for all other functions.
static long double terms_of(int function, long double x, long double y) {
    if (function == VMATH_lgamma)
        return fmaxl(1, lgammal(fabsl(x)));
    if (function == VMATH_digamma || (function == VMATH_polygamma && x < 1))
        return digamma_terms(function == VMATH_digamma ? x : y);
    if (function == VMATH_polygamma && y < 0 && floorl(y) != y)
        return fabsl(ref_polygamma(x, y - floorl(y))) + fabsl(ref_polygamma(x, ceill(y) - y));
    return 0;
}

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

static long double ref_gelu(long double x, long double y) {
    return x == -HUGE_VALL ? -0.0L : x * ref_normcdf(x, y);
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

static double ulps(long double got, long double want, long double terms, int digits,
                   int min_exponent, long double max) {
    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got) ? 0 : HUGE_VAL;
    int e;
    bool sums = terms > fabsl(want);
    (void)frexpl(sums ? terms : want, &e);
    long double ulp =
        ldexpl(1, (want == 0 && !sums) || e < min_exponent ? min_exponent - digits : e - digits);
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

static double ulps32(float got, long double want, long double terms) {
    return ulps((long double)got, want, terms, FLT_MANT_DIG, FLT_MIN_EXP, (long double)FLT_MAX);
}

static double ulps64(double got, long double want, long double terms) {
    return ulps((long double)got, want, terms, DBL_MANT_DIG, DBL_MIN_EXP, (long double)DBL_MAX);
}

// ---- accuracy

enum { CHUNK = 1024, SAMPLES = 128 * CHUNK };

START_TEST(f32_is_accurate) {
    const struct function *f = &functions[_i];
    if (!oracle_is_wide()) {
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
            long double a = (long double)x[k], b = (long double)y[k];
            double u = ulps32(out[k], f->oracle(a, b), terms_of(_i, a, b));
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
    if (!oracle_is_wide()) {
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
            long double a = (long double)x[k], b = (long double)y[k];
            double u = ulps64(out[k], f->oracle(a, b), terms_of(_i, a, b));
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

static bool same_value(double got, double want) {
    return isnan(want) ? isnan(got) : got == want && !signbit(got) == !signbit(want);
}

START_TEST(special_value_holds) {
    const struct vmath_special *s = &vmath_specials[_i];
    const struct vmath_loops *loops = &widest_probe()->loops[s->function];
    if (s->types & VMATH_F32) {
        float x = (float)s->x, y = (float)s->y, out;
        loops->f32(1, &x, &y, &out);
        ck_assert_msg(same_value((double)out, (double)(float)s->want), "f32 %s(%a, %a): %a, not %a",
                      functions[s->function].name, s->x, s->y, (double)out, s->want);
    }
    if (s->types & VMATH_F64) {
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

// ---- many f32 arguments, of all that there are

// At every stride-th f32 of all bit patterns, a prime, against f64 functions.
static void sweep_f32(int function, double (*oracle)(double x), uint32_t stride) {
    const struct function *f = &functions[function];
    static float x[CHUNK], out[CHUNK];
    double worst = 0;
    float at = 0;
    for (uint64_t bits = 0; bits <= UINT32_MAX;) {
        for (size_t k = 0; k < CHUNK; k++, bits += stride)
            x[k] = float_of((uint32_t)bits);
        widest_probe()->loops[function].f32(CHUNK, x, x, out);
        for (size_t k = 0; k < CHUNK; k++) {
            double want = oracle((double)x[k]);
            // Most results are the rounded oracle: half an ulp, no need for more.
            if (same_value((double)out[k], (double)(float)want))
                continue;
            long double terms = terms_of(function, (long double)x[k], 0);
            double u = ulps32(out[k], (long double)want, terms);
            if (u > worst) {
                worst = u;
                at = x[k];
            }
        }
    }
    ck_assert_msg(worst <= f->bound32, "f32 %s(%a): %.4f ulp, at most %.1f", f->name, (double)at,
                  worst, f->bound32);
}

static double sigmoid(double x) {
    return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x));
}

static double softplus(double x) {
    return (x > 0 ? x : 0) + log1p(exp(-fabs(x)));
}

static double normcdf(double x) {
    return 0.5 * erfc(-x * 0.70710678118654752440);
}

static double gelu(double x) {
    return (double)ref_gelu((long double)x, 0);
}

static double gelu_tanh(double x) {
    return (double)ref_gelu_tanh((long double)x, 0);
}

static double silu(double x) {
    return x < -1000 ? -0.0 : x / (1 + exp(-x));
}

static double mish(double x) {
    return (double)ref_mish((long double)x, 0);
}

static double digamma(double x) {
    return (double)ref_digamma((long double)x, 0);
}

static const struct sweep {
    int function;
    double (*oracle)(double x);
} sweeps[] = {
    {VMATH_exp, exp},         {VMATH_log, log},           {VMATH_tanh, tanh},
    {VMATH_sigmoid, sigmoid}, {VMATH_erf, erf},           {VMATH_gelu, gelu},
    {VMATH_expm1, expm1},     {VMATH_log1p, log1p},       {VMATH_sin, sin},
    {VMATH_cos, cos},         {VMATH_softplus, softplus}, {VMATH_erfc, erfc},
    {VMATH_normcdf, normcdf}, {VMATH_tan, tan},           {VMATH_asin, asin},
    {VMATH_acos, acos},       {VMATH_atan, atan},         {VMATH_sinh, sinh},
    {VMATH_cosh, cosh},       {VMATH_asinh, asinh},       {VMATH_acosh, acosh},
    {VMATH_atanh, atanh},     {VMATH_log2, log2},         {VMATH_log10, log10},
    {VMATH_exp2, exp2},       {VMATH_cbrt, cbrt},         {VMATH_lgamma, lgamma},
    {VMATH_digamma, digamma}, {VMATH_gelu_tanh, gelu_tanh}, {VMATH_silu, silu},
    {VMATH_mish, mish},
};
enum {
    SWEEPS = sizeof sweeps / sizeof sweeps[0],
    WHOLE_SWEEPS = 6, // the first ones: of all arguments
    SAMPLE_STRIDE = 16411,
    LONG_STRIDE = 31
};

START_TEST(sample_of_f32_is_accurate) {
    sweep_f32(sweeps[_i].function, sweeps[_i].oracle, SAMPLE_STRIDE);
}
END_TEST

START_TEST(every_f32_is_accurate) {
    sweep_f32(sweeps[_i].function, sweeps[_i].oracle, _i < WHOLE_SWEEPS ? 1 : LONG_STRIDE);
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
    add_case(suite, "f32 samples", sample_of_f32_is_accurate, SWEEPS);
    add_case(suite, "special values", special_value_holds, (int)vmath_special_count);
    add_case(suite, "equal bits", bits_are_equal, (ISA_COUNT - 1) * VMATH_COUNT);
    add_case(suite, "lone lanes", lanes_are_alone, ISA_COUNT * VMATH_COUNT);

    TCase *tc = tcase_create("every f32");
    tcase_set_tags(tc, "slow");
    tcase_set_timeout(tc, 3600);
    tcase_add_loop_test(tc, every_f32_is_accurate, 0, SWEEPS);
    suite_add_tcase(suite, tc);
    return suite;
}
