/* What the suites of kernels share: item types, numbers, and arithmetic that rounds as each type does.

   An oracle computes in double and rounds to the item's type after each operation, so that it serves both. */
#ifndef KERNEL_TOOLS_H
#define KERNEL_TOOLS_H

#include <check.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/ct_platform.h"

/* Item types. */
enum { F32, F64, TYPE_COUNT };
enum { ISA_COUNT = 3 };

static const char *const type_name[TYPE_COUNT] = {"f32", "f64"};
static const size_t type_size[TYPE_COUNT] = {sizeof(float), sizeof(double)};

/* Every object, width 1 included, is compiled for x86-64-v3. */
static inline bool isa_available(int isa) {
    return isa < 2 || (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                       __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"));
}

static inline double get(int type, const char *p) {
    float f;
    double d;
    memcpy(&f, p, sizeof f);
    if (type == F32) {
        return (double)f;
    }
    memcpy(&d, p, sizeof d);
    return d;
}

static inline void put(int type, char *p, double value) {
    float f = (float)value;
    memcpy(p, type == F32 ? (const void *)&f : (const void *)&value, type_size[type]);
}

/* All NaNs are one value; otherwise bits count. */
static inline bool same(double a, double b) {
    return (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0;
}

static inline double to_type(int type, double value) {
    return type == F32 ? (double)(float)value : value;
}

/* The sum of two f32 in double is exact or rounds innocuously (53 >= 2 * 24 + 2). */
static inline double add(int type, double a, double b) {
    return to_type(type, a + b);
}

/* Exact in double for f32, so rounded once. */
static inline double mul(int type, double a, double b) {
    return to_type(type, a * b);
}

static inline double fused(int type, double a, double b, double c) {
    return type == F32 ? (double)fmaf((float)a, (float)b, (float)c) : fma(a, b, c);
}

static uint64_t random_state;

static inline uint64_t random_bits(void) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return random_state >> 33;
}

/* Signs and magnitudes differ, so that any other order of adding shows. */
static inline double random_value(int type) {
    double m = (double)random_bits() / 0x1p31 - 0.5;
    return to_type(type, ldexp(m, (int)(random_bits() % 21) - 10));
}

/* Of a product of very many, which would be 0 or infinite otherwise. */
static inline double random_factor(int type) {
    double f = 1 + (double)random_bits() / 0x1p31;
    return to_type(type, (random_bits() & 1 ? f : 1 / f) * (random_bits() & 1 ? 1 : -1));
}

static inline char *memory(size_t items, int type) {
    char *p = malloc((items + 1) * type_size[type]);
    ck_assert_ptr_nonnull(p);
    return p;
}

/* Runs ranges from the last to the first, one grain each: another cut than any pool's. */
static inline void backwards(void *user, size_t n, size_t grain, void (*fn)(void *, size_t, size_t),
                             void *ctx) {
    (void)user;
    for (size_t begin = (n - 1) / grain * grain;; begin -= grain) {
        fn(ctx, begin, n - begin < grain ? n : begin + grain);
        if (begin == 0) {
            return;
        }
    }
}

static inline void setup_backwards(void) {
    (void)ct_set_parallel_for(backwards, NULL); // refused without forking: then the pool runs
    random_state = 12345;
}

static inline void setup_pool(void) {
    setenv("CT_NUM_THREADS", "3", 1);
    random_state = 54321;
}

#endif
