/* What this machine can do at best: fused multiply-adds, reading, copying, by instruction set. */
#include "bench/frame.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { LINE = 64, HUGE_PAGE = 2 << 20 };

static bool is_wide(void) {
    return strcmp(ct_isa_name(), "avx512") == 0;
}

/* --- FMA peak: as many independent chains as hide the latency, all in registers */

static volatile double sink;

#if defined(__x86_64__)
enum { CHAINS = 12 };

#define FMA_LOOP(name, target_isa, V, set1, fma, store, item, lanes)                               \
    __attribute__((target(target_isa), noinline)) static void name(double flops) {                 \
        V a[CHAINS], x = set1((item)0.999), y = set1((item)1e-3);                                  \
        item out[lanes];                                                                           \
        for (int i = 0; i < CHAINS; i++)                                                           \
            a[i] = set1((item)i);                                                                  \
        for (double n = flops / (2.0 * CHAINS * lanes * 8); n > 0; n--)                            \
            for (int k = 0; k < 8; k++)                                                            \
                _Pragma("GCC unroll 12") for (int i = 0; i < CHAINS; i++) a[i] = fma(a[i], x, y);  \
        for (int i = 1; i < CHAINS; i++)                                                           \
            a[0] = fma(a[i], x, a[0]);                                                             \
        store(out, a[0]);                                                                          \
        sink = (double)out[0];                                                                     \
    }

FMA_LOOP(fma_f32_wide, "avx512f", __m512, _mm512_set1_ps, _mm512_fmadd_ps, _mm512_storeu_ps, float,
         16)
FMA_LOOP(fma_f64_wide, "avx512f", __m512d, _mm512_set1_pd, _mm512_fmadd_pd, _mm512_storeu_pd,
         double, 8)
FMA_LOOP(fma_f32, "avx2,fma", __m256, _mm256_set1_ps, _mm256_fmadd_ps, _mm256_storeu_ps, float, 8)
FMA_LOOP(fma_f64, "avx2,fma", __m256d, _mm256_set1_pd, _mm256_fmadd_pd, _mm256_storeu_pd, double, 4)

static void run_fma(const struct bench_limits *l) {
    if (l->is_double)
        (is_wide() ? fma_f64_wide : fma_f64)(l->flops);
    else
        (is_wide() ? fma_f32_wide : fma_f32)(l->flops);
}

/* --- memory; lengths are multiples of 1,024 */

__attribute__((target("avx512f"), noinline)) static void read_wide(const char *from, size_t n) {
    __m512i a = _mm512_setzero_si512(), b = a, c = a, d = a;
    for (size_t i = 0; i < n; i += 256) {
        a = _mm512_or_si512(a, _mm512_load_si512(from + i));
        b = _mm512_or_si512(b, _mm512_load_si512(from + i + 64));
        c = _mm512_or_si512(c, _mm512_load_si512(from + i + 128));
        d = _mm512_or_si512(d, _mm512_load_si512(from + i + 192));
    }
    a = _mm512_or_si512(_mm512_or_si512(a, b), _mm512_or_si512(c, d));
    sink = (double)_mm512_reduce_or_epi32(a);
}

__attribute__((target("avx2"), noinline)) static void read_narrow(const char *from, size_t n) {
    __m256i a = _mm256_setzero_si256(), b = a, c = a, d = a;
    for (size_t i = 0; i < n; i += 128) {
        a = _mm256_or_si256(a, _mm256_load_si256((const __m256i *)(const void *)(from + i)));
        b = _mm256_or_si256(b, _mm256_load_si256((const __m256i *)(const void *)(from + i + 32)));
        c = _mm256_or_si256(c, _mm256_load_si256((const __m256i *)(const void *)(from + i + 64)));
        d = _mm256_or_si256(d, _mm256_load_si256((const __m256i *)(const void *)(from + i + 96)));
    }
    a = _mm256_or_si256(_mm256_or_si256(a, b), _mm256_or_si256(c, d));
    sink = (double)_mm256_extract_epi32(a, 0);
}

#define COPY_LOOP(name, target_isa, V, load, store, step)                                          \
    __attribute__((target(target_isa), noinline)) static void name(char *to, const char *from,     \
                                                                   size_t n) {                     \
        for (size_t i = 0; i < n; i += 4 * step)                                                   \
            _Pragma("GCC unroll 4") for (size_t k = 0; k < 4 * step; k += step)                    \
                store((V *)(void *)(to + i + k), load((const V *)(const void *)(from + i + k)));   \
        _mm_sfence();                                                                              \
    }
COPY_LOOP(copy_wide, "avx512f", __m512i, _mm512_load_si512, _mm512_store_si512, 64)
COPY_LOOP(stream_wide, "avx512f", __m512i, _mm512_load_si512, _mm512_stream_si512, 64)
COPY_LOOP(copy_narrow, "avx2", __m256i, _mm256_load_si256, _mm256_store_si256, 32)
COPY_LOOP(stream_narrow, "avx2", __m256i, _mm256_load_si256, _mm256_stream_si256, 32)

static void run_read(const struct bench_limits *l) {
    (is_wide() ? read_wide : read_narrow)(l->from, l->length);
}

enum { COPY_WAYS = 3 };
static void run_copy(const struct bench_limits *l) {
    if (l->way == 0)
        memcpy(l->to, l->from, l->length);
    else if (l->way == 1)
        (is_wide() ? copy_wide : copy_narrow)(l->to, l->from, l->length);
    else
        (is_wide() ? stream_wide : stream_narrow)(l->to, l->from, l->length);
}

#else

static void run_fma(const struct bench_limits *l) {
    double a[8] = {0};
    for (double n = l->flops / 16; n > 0; n--)
        for (int i = 0; i < 8; i++)
            a[i] = a[i] * 0.999 + 1e-3;
    sink = a[0] + a[7];
}

static void run_read(const struct bench_limits *l) {
    uint64_t a = 0;
    for (size_t i = 0; i < l->length; i += 8)
        a |= *(const uint64_t *)(const void *)(l->from + i);
    sink = (double)a;
}

enum { COPY_WAYS = 1 };
static void run_copy(const struct bench_limits *l) {
    memcpy(l->to, l->from, l->length);
}

#endif

/* --- for a row */

static char *memory(size_t n) {
    size_t unit = n >= HUGE_PAGE ? HUGE_PAGE : 4096, whole = (n + unit - 1) / unit * unit;
    char *p = aligned_alloc(unit, whole);
    if (!p)
        return NULL;
    if (unit == HUGE_PAGE)
        madvise(p, whole, MADV_HUGEPAGE);
    memset(p, 1, whole);
    return p;
}

static void choose_copy(struct bench_limits *l) {
    double best = 0;
    int best_way = 0;
    size_t repeat = 1 + (2 << 20) / l->length;
    for (int round = 0; round < 5; round++)
        for (l->way = 0; l->way < COPY_WAYS; l->way++) {
            run_copy(l);
            double start = bench_now();
            for (size_t i = 0; i < repeat; i++)
                run_copy(l);
            double took = bench_now() - start;
            if (best == 0 || took < best)
                best = took, best_way = l->way;
        }
    l->way = best_way;
}

bool bench_limits_open(struct bench_limits *l, const struct bench_case *c) {
    enum { STEP = 1024 };
    *l = (struct bench_limits){.kind = c->row->limit,
                               .flops = c->flops,
                               .bytes = c->bytes,
                               .is_double = c->scalar == CT_F64};
    if (l->kind != BENCH_READ && l->kind != BENCH_COPY)
        return true;
    double part = l->kind == BENCH_COPY ? 0.5 * l->bytes : l->bytes;
    l->length = ((size_t)part + STEP - 1) / STEP * STEP;
    l->from = memory(l->length);
    l->to = l->kind == BENCH_COPY ? memory(l->length) : NULL;
    if (!l->from || (l->kind == BENCH_COPY && !l->to))
        return bench_limits_close(l), false;
    if (l->kind == BENCH_COPY)
        choose_copy(l);
    return true;
}

void bench_limits_run(struct bench_limits *l) {
    if (l->kind == BENCH_FMA)
        run_fma(l);
    else if (l->kind == BENCH_READ)
        run_read(l);
    else if (l->kind == BENCH_COPY)
        run_copy(l);
}

void bench_limits_close(struct bench_limits *l) {
    free(l->from), free(l->to);
    l->from = l->to = NULL;
}

const char *bench_limits_name(const struct bench_limits *l) {
    static const char *const copies[] = {"copy (memcpy)", "copy (vectors)", "copy (non-temporal)"};
    return l->kind == BENCH_FMA ? "FMA peak" : l->kind == BENCH_READ ? "read" : copies[l->way];
}
