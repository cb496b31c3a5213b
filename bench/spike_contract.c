/*
 * What the contract of sums and products costs: the throughput of each instruction set's kernels
 * beside what the machine can do, in one run, alternating, medians of the thread's own CPU time (so
 * that a neighbour on the machine shows less).
 *
 *   sum     against the fastest plain sum in any order (many accumulators, widest vectors)
 *   matmul  against the measured peak of fused multiply-adds and, where it is installed, OpenBLAS
 *
 * One thread each, which it sees to itself: the clock is the calling thread's, and work that went
 * to another thread would look free. Arguments: "sum", "matmul".
 */

#include <dlfcn.h>
#include <immintrin.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tensor/kernels/kern_fold.h"
#include "tensor/kernels/kern_matmul.h"

enum { TYPES = 2, ISAS = 3, ROUNDS = 15 };

typedef ct_fold_fn fold_fn;
typedef ct_status matmul_fn(const ct_scalar *self, const struct ct_matmul_job *job);

static const char *const type_name[TYPES] = {"f32", "f64"};
static const size_t type_size[TYPES] = {sizeof(float), sizeof(double)};
static const char *const isa_name[ISAS] = {"scalar", "avx2", "avx512"};
static fold_fn *const sums[ISAS][TYPES] = {{ct__f32_sum_scalar, ct__f64_sum_scalar},
                                           {ct__f32_sum_avx2, ct__f64_sum_avx2},
                                           {ct__f32_sum_avx512, ct__f64_sum_avx512}};
static matmul_fn *const products[ISAS][TYPES] = {{ct__f32_matmul_scalar, ct__f64_matmul_scalar},
                                                 {ct__f32_matmul_avx2, ct__f64_matmul_avx2},
                                                 {ct__f32_matmul_avx512, ct__f64_matmul_avx512}};
static int isas = ISAS;
static volatile double sink;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* A thing to time: run(ctx) does it once. */
struct entry {
    const char *name;
    void (*run)(void *ctx);
    void *ctx;
    double seconds[ROUNDS];
};

/* Alternates the entries and leaves the median in seconds[0]. */
static void measure(struct entry *e, int count) {
    int repeat[8];
    for (int i = 0; i < count; i++) {
        e[i].run(e[i].ctx);
        double t = now();
        e[i].run(e[i].ctx);
        t = now() - t;
        repeat[i] = t > 5e-3 ? 1 : (int)(5e-3 / (t + 1e-8)) + 1;
    }
    for (int r = 0; r < ROUNDS; r++) {
        for (int i = 0; i < count; i++) {
            double t = now();
            for (int n = 0; n < repeat[i]; n++) {
                e[i].run(e[i].ctx);
            }
            e[i].seconds[r] = (now() - t) / repeat[i];
        }
    }
    for (int i = 0; i < count; i++) {
        qsort(e[i].seconds, ROUNDS, sizeof(double), by_value);
        e[i].seconds[0] = e[i].seconds[ROUNDS / 2];
    }
}

struct sum_case {
    fold_fn *fold;
    struct ct_fold_job job;
};

static void run_sum(void *ctx) {
    const struct sum_case *c = ctx;
    c->fold(NULL, &c->job);
}

struct bytes {
    const char *p;
    size_t n;
};

/* The order is whatever is fastest: 8 accumulators of 64 bytes, one forward pass. */
__attribute__((target("avx512f"))) static void read_wide(void *ctx) {
    const struct bytes *b = ctx;
    __m512 a[8];
    for (int i = 0; i < 8; i++) {
        a[i] = _mm512_setzero_ps();
    }
    for (const char *p = b->p; p < b->p + b->n; p += 512) {
        for (int i = 0; i < 8; i++) {
            a[i] = _mm512_add_ps(a[i], _mm512_loadu_ps(p + 64 * i));
        }
    }
    for (int i = 1; i < 8; i++) {
        a[0] = _mm512_add_ps(a[0], a[i]);
    }
    sink = (double)_mm512_reduce_add_ps(a[0]);
}

__attribute__((target("avx2"))) static void read_narrow(void *ctx) {
    const struct bytes *b = ctx;
    __m256 a[8];
    for (int i = 0; i < 8; i++) {
        a[i] = _mm256_setzero_ps();
    }
    for (const char *p = b->p; p < b->p + b->n; p += 256) {
        for (int i = 0; i < 8; i++) {
            a[i] = _mm256_add_ps(a[i], _mm256_loadu_ps((const float *)(const void *)p + 8 * i));
        }
    }
    for (int i = 1; i < 8; i++) {
        a[0] = _mm256_add_ps(a[0], a[i]);
    }
    sink = (double)_mm256_cvtss_f32(a[0]);
}

/* Bytes that are read, and a matrix of rows x cols items in them. */
static void bench_sums(size_t bytes, const char *where) {
    char *x = aligned_alloc(4096, bytes), *y = aligned_alloc(4096, bytes);
    if (x == NULL || y == NULL) {
        printf("no memory for %zu bytes\n", bytes);
        free(x);
        free(y);
        return;
    }
    for (int type = 0; type < TYPES; type++) {
        size_t size = type_size[type], items = bytes / size;
        for (size_t i = 0; i < items; i++) {
            float f = (float)(i % 1000) * 0.001f;
            double d = (double)f;
            memcpy(x + i * size, type == 0 ? (const void *)&f : (const void *)&d, size);
        }
        memset(y, 0, bytes);
        const ptrdiff_t s = (ptrdiff_t)size;
        size_t square = 1;
        while (square * square * 4 <= items) {
            square *= 2;
        }
        const ptrdiff_t wide = (ptrdiff_t)(items / square);
        const struct {
            const char *name;
            struct ct_fold_job job;
            size_t read; // bytes of the lines that are touched
        } cases[] = {
            {"contiguous", {items, 1, x, s, 0, y, s}, bytes},
            {"axis 0, square", {square, items / square, x, wide * s, s, y, s}, bytes},
            {"axis 1, square", {items / square, square, x, s, wide * s, y, s}, bytes},
            {"axis 0, 64 rows", {64, items / 64, x, (ptrdiff_t)(items / 64) * s, s, y, s}, bytes},
            {"axis 0, 512 columns", {items / 512, 512, x, 512 * s, s, y, s}, bytes},
            {"axis 0, 10 columns", {items / 10, 10, x, 10 * s, s, y, s}, bytes},
            {"axis 1, 10 columns", {10, items / 10, x, s, 10 * s, y, s}, bytes},
            {"axis 1, 100 columns", {100, items / 100, x, s, 100 * s, y, s}, bytes},
            {"every 2nd", {items / 2, 1, x, 2 * s, 0, y, s}, bytes},
            {"every 3rd", {items / 3, 1, x, 3 * s, 0, y, s}, bytes},
            {"backwards", {items, 1, x + (ptrdiff_t)(items - 1) * s, -s, 0, y, s}, bytes},
            {"axis 0 of every 2nd", {square, items / square / 2, x, wide * s, 2 * s, y, s}, bytes},
        };
        for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
            struct bytes all = {x, bytes};
            struct sum_case sum[ISAS];
            struct entry e[ISAS + 1];
            for (int isa = 0; isa < isas; isa++) {
                sum[isa] = (struct sum_case){sums[isa][type], cases[c].job};
                e[isa] = (struct entry){.name = isa_name[isa], .run = run_sum, .ctx = &sum[isa]};
            }
            e[isas] = (struct entry){
                .name = "read", .ctx = &all, .run = isas == ISAS ? read_wide : read_narrow};
            measure(e, isas + 1);
            printf("%-4s %s %-20s", type_name[type], where, cases[c].name);
            for (int i = 0; i <= isas; i++) {
                printf("  %s %6.1f", e[i].name, (double)cases[c].read / e[i].seconds[0] * 1e-9);
            }
            printf("\n");
            fflush(stdout);
        }
    }
    free(x);
    free(y);
}

typedef void gemm_fn(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a,
                     int lda, const float *b, int ldb, float beta, float *c, int ldc);
typedef void dgemm_fn(int order, int ta, int tb, int m, int n, int k, double alpha, const double *a,
                      int lda, const double *b, int ldb, double beta, double *c, int ldc);

static gemm_fn *blas_single;
static dgemm_fn *blas_double;

struct product {
    int type;
    matmul_fn *run;
    struct ct_matmul_job job;
    bool transposed_a, transposed_b;
};

static void run_product(void *ctx) {
    const struct product *p = ctx;
    if (p->run(NULL, &p->job) != CT_OK) {
        abort();
    }
}

static void run_blas(void *ctx) {
    enum { ROWS = 101, PLAIN = 111, TRANSPOSED = 112 };
    const struct product *p = ctx;
    int m = (int)p->job.m, n = (int)p->job.n, k = (int)p->job.k;
    int ta = p->transposed_a ? TRANSPOSED : PLAIN, tb = p->transposed_b ? TRANSPOSED : PLAIN;
    int lda = p->transposed_a ? m : k, ldb = p->transposed_b ? k : n;
    if (p->type == 0) {
        blas_single(ROWS, ta, tb, m, n, k, 1.0f, (const void *)p->job.a, lda,
                    (const void *)p->job.b, ldb, 0.0f, (void *)p->job.c, n);
    } else {
        blas_double(ROWS, ta, tb, m, n, k, 1.0, (const void *)p->job.a, lda, (const void *)p->job.b,
                    ldb, 0.0, (void *)p->job.c, n);
    }
}

enum { PEAK_STEPS = 20000 };

__attribute__((target("avx512f"))) static void peak_wide(void *ctx) {
    (void)ctx;
    __m512 a[16], b = _mm512_set1_ps(0.5f);
    for (int i = 0; i < 16; i++) {
        a[i] = _mm512_set1_ps((float)i);
    }
    for (int n = 0; n < PEAK_STEPS; n++) {
        for (int i = 0; i < 16; i++) {
            a[i] = _mm512_fmadd_ps(a[i], b, b);
        }
    }
    for (int i = 1; i < 16; i++) {
        a[0] = _mm512_add_ps(a[0], a[i]);
    }
    sink = (double)_mm512_reduce_add_ps(a[0]);
}

__attribute__((target("avx2,fma"))) static void peak_narrow(void *ctx) {
    (void)ctx;
    __m256 a[12], b = _mm256_set1_ps(0.5f);
    for (int i = 0; i < 12; i++) {
        a[i] = _mm256_set1_ps((float)i);
    }
    for (int n = 0; n < PEAK_STEPS; n++) {
        for (int i = 0; i < 12; i++) {
            a[i] = _mm256_fmadd_ps(a[i], b, b);
        }
    }
    for (int i = 1; i < 12; i++) {
        a[0] = _mm256_add_ps(a[0], a[i]);
    }
    sink = (double)_mm256_cvtss_f32(a[0]);
}

static void open_blas(void) {
    void *blas = dlopen("libopenblas.so.0", RTLD_NOW);
    if (blas == NULL) {
        printf("OpenBLAS: not found\n");
        return;
    }
    // Object pointers that hold functions: POSIX has it so.
    void *symbol = dlsym(blas, "cblas_sgemm");
    memcpy(&blas_single, &symbol, sizeof symbol);
    symbol = dlsym(blas, "cblas_dgemm");
    memcpy(&blas_double, &symbol, sizeof symbol);
    char *(*core)(void);
    symbol = dlsym(blas, "openblas_get_corename");
    memcpy(&core, &symbol, sizeof symbol);
    printf("OpenBLAS: core %s\n", symbol != NULL ? core() : "unknown");
}

static void bench_products(void) {
    static const struct {
        size_t m, k, n;
        bool ta, tb;
    } sizes[] = {
        {16, 16, 16, false, false},       {32, 32, 32, false, false},
        {64, 64, 64, false, false},       {128, 128, 128, false, false},
        {256, 256, 256, false, false},    {512, 512, 512, false, false},
        {1024, 1024, 1024, false, false}, {32, 64, 64, false, false},
        {64, 784, 128, false, false},     {64, 784, 128, false, true},
        {784, 64, 128, true, false},      {64, 128, 10, false, false},
        {64, 128, 10, false, true},       {1, 512, 784, false, false},
        {1, 784, 512, false, true},       {512, 784, 1, false, false},
        {1, 4096, 4096, false, false},    {1000, 1000, 1000, false, true},
    };
    open_blas();
    struct entry peak[2] = {{.name = "avx2", .run = peak_narrow},
                            {.name = "avx512", .run = peak_wide}};
    measure(peak, isas == ISAS ? 2 : 1);
    printf("peak f32 GFLOP/s, avx2 %.1f", 2.0 * 8 * 12 * PEAK_STEPS / peak[0].seconds[0] * 1e-9);
    if (isas == ISAS) {
        printf(", avx512 %.1f", 2.0 * 16 * 16 * PEAK_STEPS / peak[1].seconds[0] * 1e-9);
    }
    printf("; f64 is half\n");
    for (int type = 0; type < TYPES; type++) {
        const ptrdiff_t s = (ptrdiff_t)type_size[type];
        for (size_t c = 0; c < sizeof sizes / sizeof sizes[0]; c++) {
            size_t m = sizes[c].m, n = sizes[c].n, k = sizes[c].k;
            bool ta = sizes[c].ta, tb = sizes[c].tb;
            char *a = calloc(m * k, type_size[type]), *b = calloc(k * n, type_size[type]);
            char *x = calloc(m * n, type_size[type]);
            struct ct_matmul_job job = {
                .m = m,
                .n = n,
                .k = k,
                .a = a,
                .a_row = ta ? s : (ptrdiff_t)k * s,
                .a_col = ta ? (ptrdiff_t)m * s : s,
                .b = b,
                .b_row = tb ? s : (ptrdiff_t)n * s,
                .b_col = tb ? (ptrdiff_t)k * s : s,
                .c = x,
                .c_row = (ptrdiff_t)n * s,
                .c_col = s,
            };
            struct product p[ISAS + 1];
            struct entry e[ISAS + 1];
            int count = isas;
            for (int isa = 0; isa < isas; isa++) {
                p[isa] = (struct product){type, products[isa][type], job, ta, tb};
                e[isa] = (struct entry){.name = isa_name[isa], .run = run_product, .ctx = &p[isa]};
            }
            if (blas_single != NULL && blas_double != NULL) {
                p[count] = (struct product){type, NULL, job, ta, tb};
                e[count] = (struct entry){.name = "OpenBLAS", .run = run_blas, .ctx = &p[count]};
                count++;
            }
            measure(e, count);
            printf("%-4s %4zu x %4zu x %4zu %s%s", type_name[type], m, k, n, ta ? "a'" : "  ",
                   tb ? "b'" : "  ");
            for (int i = 0; i < count; i++) {
                printf("  %s %6.1f", e[i].name, 2e-9 * (double)(m * n * k) / e[i].seconds[0]);
            }
            printf("\n");
            fflush(stdout);
            free(a);
            free(b);
            free(x);
        }
    }
}

int main(int argc, char **argv) {
    if (setenv("CT_NUM_THREADS", "1", 1) != 0 || setenv("OPENBLAS_NUM_THREADS", "1", 1) != 0) {
        return 1;
    }
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512dq") ||
        !__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512vl")) {
        isas = 2;
    }
    if (argc < 2 || strcmp(argv[1], "sum") == 0) {
        printf("sums, GB/s\n");
        bench_sums((size_t)256 << 10, "256 KiB");
        bench_sums((size_t)256 << 20, "256 MiB");
    }
    if (argc < 2 || strcmp(argv[1], "matmul") == 0) {
        printf("products m x k x n, GFLOP/s\n");
        bench_products();
    }
    return 0;
}
