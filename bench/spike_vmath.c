/*
 * How fast and how exact the vector mathematics is beside SLEEF's deterministic family and glibc
 * (libm at width 1, libmvec on vectors): ns per item over 1,000 items and the largest error in ulp
 * over the same range, for each instruction set. Candidates take turns; medians of 41 rounds.
 *
 * Build: with the three objects of tests/vmath_probe.c, -lsleef and -lm (which brings libmvec).
 */
#include "tests/vmath_probe.h"

#include <float.h>
#include <immintrin.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ITEMS = 1000, ROUNDS = 41, REPEATS = 20, CHECKED = 200 };

// Declared here: <sleef.h> shows a width only to a translation unit compiled for it, and no header
// shows libmvec's names.
#define PEERS_F32(XX, name)                                                                        \
    XX(float, Sleef_finz_##name##f1_u10purecfma)                                                   \
    XX(__m256, Sleef_finz_##name##f8_u10avx2)                                                      \
    XX(__m512, Sleef_finz_##name##f16_u10avx512f)                                                  \
    XX(__m256, _ZGVdN8v_##name##f)                                                                 \
    XX(__m512, _ZGVeN16v_##name##f)
#define PEERS_F64(XX, name)                                                                        \
    XX(double, Sleef_finz_##name##d1_u10purecfma)                                                  \
    XX(__m256d, Sleef_finz_##name##d4_u10avx2)                                                     \
    XX(__m512d, Sleef_finz_##name##d8_u10avx512f)                                                  \
    XX(__m256d, _ZGVdN4v_##name)                                                                   \
    XX(__m512d, _ZGVeN8v_##name)
#define DECLARE(type, name) extern type name(type);
#define PEERS(name)         PEERS_F32(DECLARE, name) PEERS_F64(DECLARE, name)
PEERS(exp)
PEERS(expm1)
PEERS(log)
PEERS(log1p)
PEERS(tanh)
PEERS(erf)

static long double sigmoid(long double x) {
    return x < 0 ? expl(x) / (1 + expl(x)) : 1 / (1 + expl(-x));
}

// What is compared: our index in VMATH_LIST, the range, and per width 1, 8 (4), 16 (8) the peers.
static const struct subject {
    const char *name;
    int function;
    double lo, hi;
    long double (*oracle)(long double x);
    float (*libm32)(float);
    float (*sleef32_1)(float);
    __m256 (*sleef32_8)(__m256);
    __m512 (*sleef32_16)(__m512);
    __m256 (*mvec32_8)(__m256);
    __m512 (*mvec32_16)(__m512);
    double (*libm64)(double);
    double (*sleef64_1)(double);
    __m256d (*sleef64_4)(__m256d);
    __m512d (*sleef64_8)(__m512d);
    __m256d (*mvec64_4)(__m256d);
    __m512d (*mvec64_8)(__m512d);
} subjects[] = {
#define NAMES(type, name) name,
#define SUBJECT(name, lo, hi)                                                                      \
    {#name,                                                                                        \
     VMATH_##name,                                                                                 \
     lo,                                                                                           \
     hi,                                                                                           \
     name##l,                                                                                      \
     name##f,                                                                                      \
     PEERS_F32(NAMES, name) name,                                                                  \
     PEERS_F64(NAMES, name)},
    SUBJECT(exp, -80, 80)      //
    SUBJECT(expm1, -20, 80)    //
    SUBJECT(log, 1e-30, 100)   //
    SUBJECT(log1p, -0.99, 100) //
    SUBJECT(tanh, -10, 10)     //
    SUBJECT(erf, -4, 4)        //
    {.name = "sigmoid", .function = VMATH_sigmoid, .lo = -80, .hi = 80, .oracle = sigmoid},
};
enum { SUBJECTS = sizeof subjects / sizeof subjects[0] };

// ---- loops over the peers' functions; all arrays have whole vectors of room

#define AVX512 __attribute__((target("avx512f")))

static void map32_1(float (*f)(float), size_t n, const float *x, float *y) {
    for (size_t i = 0; i < n; i++)
        y[i] = f(x[i]);
}

static void map32_8(__m256 (*f)(__m256), size_t n, const float *x, float *y) {
    for (size_t i = 0; i < n; i += 8)
        _mm256_storeu_ps(y + i, f(_mm256_loadu_ps(x + i)));
}

AVX512 static void map32_16(__m512 (*f)(__m512), size_t n, const float *x, float *y) {
    for (size_t i = 0; i < n; i += 16)
        _mm512_storeu_ps(y + i, f(_mm512_loadu_ps(x + i)));
}

static void map64_1(double (*f)(double), size_t n, const double *x, double *y) {
    for (size_t i = 0; i < n; i++)
        y[i] = f(x[i]);
}

static void map64_4(__m256d (*f)(__m256d), size_t n, const double *x, double *y) {
    for (size_t i = 0; i < n; i += 4)
        _mm256_storeu_pd(y + i, f(_mm256_loadu_pd(x + i)));
}

AVX512 static void map64_8(__m512d (*f)(__m512d), size_t n, const double *x, double *y) {
    for (size_t i = 0; i < n; i += 8)
        _mm512_storeu_pd(y + i, f(_mm512_loadu_pd(x + i)));
}

// ---- candidates

enum { OURS, SLEEF, GLIBC, MAKERS };
enum { WIDTH1, AVX2, AVX512F, ISAS };
static const char *const maker_names[MAKERS] = {"ours", "SLEEF", "glibc"};
static const char *const isa_names[ISAS] = {"width 1", "AVX2", "AVX-512"};

static const struct vmath_probe *probe_of(int isa) {
    return isa == WIDTH1 ? &vmath_probe_scalar
           : isa == AVX2 ? &vmath_probe_avx2
                         : &vmath_probe_avx512;
}

// Both return false where the maker has no such function.
static bool run32(const struct subject *s, int maker, int isa, const float *x, float *y) {
    if (maker == OURS)
        probe_of(isa)->loops[s->function].f32(ITEMS, x, x, y);
    else if (!s->libm32)
        return false;
    else if (isa == WIDTH1)
        map32_1(maker == SLEEF ? s->sleef32_1 : s->libm32, ITEMS, x, y);
    else if (isa == AVX2)
        map32_8(maker == SLEEF ? s->sleef32_8 : s->mvec32_8, ITEMS, x, y);
    else
        map32_16(maker == SLEEF ? s->sleef32_16 : s->mvec32_16, ITEMS, x, y);
    return true;
}

static bool run64(const struct subject *s, int maker, int isa, const double *x, double *y) {
    if (maker == OURS)
        probe_of(isa)->loops[s->function].f64(ITEMS, x, x, y);
    else if (!s->libm64)
        return false;
    else if (isa == WIDTH1)
        map64_1(maker == SLEEF ? s->sleef64_1 : s->libm64, ITEMS, x, y);
    else if (isa == AVX2)
        map64_4(maker == SLEEF ? s->sleef64_4 : s->mvec64_4, ITEMS, x, y);
    else
        map64_8(maker == SLEEF ? s->sleef64_8 : s->mvec64_8, ITEMS, x, y);
    return true;
}

// ---- data, aligned as tensor storage is; time, error

_Alignas(64) static float x32[ITEMS + 16], y32[ITEMS + 16];
_Alignas(64) static double x64[ITEMS + 16], y64[ITEMS + 16];

static void fill(const struct subject *s, uint64_t *state) {
    for (size_t k = 0; k < ITEMS + 16; k++) {
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        x64[k] = s->lo + (double)(*state >> 11) * 0x1p-53 * (s->hi - s->lo);
        x32[k] = (float)x64[k];
    }
}

static bool run(const struct subject *s, bool wide, int maker, int isa) {
    return wide ? run64(s, maker, isa, x64, y64) : run32(s, maker, isa, x32, y32);
}

static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double ulps(long double got, long double want, int digits) {
    int e;
    (void)frexpl(want, &e);
    return (double)(fabsl(got - want) / ldexpl(1, e - digits));
}

static double worst_error(const struct subject *s, bool wide, int maker, int isa) {
    uint64_t state = 42;
    double worst = 0;
    for (int round = 0; round < CHECKED; round++) {
        fill(s, &state);
        run(s, wide, maker, isa);
        for (size_t k = 0; k < ITEMS; k++) {
            long double x = wide ? (long double)x64[k] : (long double)x32[k];
            long double y = wide ? (long double)y64[k] : (long double)y32[k];
            worst = fmax(worst, ulps(y, s->oracle(x), wide ? DBL_MANT_DIG : FLT_MANT_DIG));
        }
    }
    return worst;
}

static void measure(const struct subject *s, bool wide, int isas) {
    static double times[MAKERS][ISAS][ROUNDS];
    uint64_t state = 7;
    fill(s, &state);
    for (int round = 0; round < ROUNDS; round++)
        for (int isa = 0; isa < isas; isa++)
            for (int maker = 0; maker < MAKERS; maker++) {
                double start = now_ns();
                for (int k = 0; k < REPEATS; k++)
                    run(s, wide, maker, isa);
                times[maker][isa][round] = (now_ns() - start) / (REPEATS * ITEMS);
            }
    printf("%-8s %s", s->name, wide ? "f64" : "f32");
    for (int isa = 0; isa < isas; isa++)
        for (int maker = 0; maker < MAKERS; maker++) {
            if (!run(s, wide, maker, isa)) {
                printf(" | %12s", "-");
                continue;
            }
            qsort(times[maker][isa], ROUNDS, sizeof(double), compare);
            printf(" | %6.2f %5.2f", times[maker][isa][ROUNDS / 2],
                   worst_error(s, wide, maker, isa));
        }
    printf("\n");
}

int main(void) {
    int isas = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                       __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")
                   ? ISAS
                   : AVX512F;
    printf("ns per item and largest error in ulp\n            ");
    for (int isa = 0; isa < isas; isa++)
        for (int maker = 0; maker < MAKERS; maker++)
            printf(" | %s %-*s", maker_names[maker], 11 - (int)strlen(maker_names[maker]),
                   maker == OURS ? isa_names[isa] : "");
    printf("\n");
    for (int wide = 0; wide < 2; wide++)
        for (size_t k = 0; k < SUBJECTS; k++)
            measure(&subjects[k], wide, isas);
    return 0;
}
