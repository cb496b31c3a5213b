/*
 * Candidates for the constants of tensor/kernels/kern_matmul.c on this machine; none of them moves a
 * bit. Tiles: every shape over one block of k, operands in L1 and L2. Blocks: how much of b to work
 * on at a time, from how many bytes between its rows a copy pays. The kernels are compiled in once
 * more, for AVX-512, so that a plan can be changed. Shares of the best, medians of the thread's time.
 */

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__)
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl,avx512cd,prefer-vector-width=512")
#pragma GCC optimize("O3")
#define CT_ISA_LEVEL 2
#include "tensor/kernels/kern_matmul.c"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 15, CANDIDATES = 8 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void *zeros(size_t bytes) {
    void *p = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    if (!p) {
        fprintf(stderr, "no memory\n");
        exit(1);
    }
    return memset(p, 0, bytes);
}

struct candidate {
    char name[32];
    void (*run)(const struct candidate *c);
    struct mm_plan plan;
    struct mm_tile tile;
    size_t rows, vecs, panels;
    double work;
    double seconds[ROUNDS];
};

// Candidates in turn; prints each one's speed as a share of the best.
static void compare(const char *what, struct candidate *c, int count) {
    double best = 0;
    for (int r = 0; r < ROUNDS; r++)
        for (int i = 0; i < count; i++) {
            c[i].run(&c[i]);
            int repeat = 0;
            double start = now(), spent;
            do {
                c[i].run(&c[i]);
                repeat++;
            } while ((spent = now() - start) < 1e-3);
            c[i].seconds[r] = spent / repeat / c[i].work;
        }
    for (int i = 0; i < count; i++) {
        qsort(c[i].seconds, ROUNDS, sizeof(double), by_value);
        double speed = 1 / c[i].seconds[ROUNDS / 2];
        best = speed > best ? speed : best;
    }
    printf("%-34s", what);
    for (int i = 0; i < count; i++)
        printf("  %s %.2f", c[i].name, 1 / c[i].seconds[ROUNDS / 2] / best);
    printf("\n");
}

// A panel of rows against panels of b that fill L1 (1 panel) or most of L2.
static void run_tile(const struct candidate *c) {
    struct mm_tile t = c->tile;
    for (size_t q = 0; q < c->panels; q++) {
        f32_tiles[c->vecs - 1][c->rows - 1](&t);
        t.b += MM_BLOCK * t.b_row;
    }
}

static void tune_tiles(size_t bytes, const char *where) {
    static const size_t shapes[][2] = {{16, 1}, {14, 2}, {12, 2}, {8, 3}, {7, 3}, {6, 4}, {5, 4}};
    struct candidate c[CANDIDATES];
    char what[48];
    enum { SHAPES = sizeof shapes / sizeof *shapes };
    for (int i = 0; i < SHAPES; i++) {
        size_t rows = shapes[i][0], vecs = shapes[i][1], panel = MM_BLOCK * vecs * 64;
        size_t panels = bytes / panel > 0 ? bytes / panel : 1;
        c[i] = (struct candidate){.run = run_tile, .rows = rows, .vecs = vecs, .panels = panels};
        snprintf(c[i].name, sizeof c[i].name, "%zux%zu", rows, vecs * 16);
        c[i].work = (double)(rows * vecs * panels);
        c[i].tile = (struct mm_tile){.kb = MM_BLOCK,
                                     .whole = MM_BLOCK,
                                     .a = zeros(rows * 1088),
                                     .a_row = 1088,
                                     .a_col = 4,
                                     .b = zeros(panels * panel),
                                     .b_row = (ptrdiff_t)vecs * 64,
                                     .c = zeros(rows * vecs * 64),
                                     .c_row = (ptrdiff_t)vecs * 64,
                                     .last = F32V_LANES,
                                     .first = true};
        c[i].tile.next = c[i].tile.a;
    }
    snprintf(what, sizeof what, "tiles, f32, b in %s", where);
    compare(what, c, SHAPES);
    for (int i = 0; i < SHAPES; i++) {
        free((void *)(uintptr_t)c[i].tile.a);
        free((void *)(uintptr_t)c[i].tile.b);
        free(c[i].tile.c);
    }
}

static void run_plan(const struct candidate *c) {
    f32_multiply_part(&c->plan, 0, c->plan.job.m, 0, c->plan.job.n);
}

static struct candidate of_plan(size_t m, size_t n, size_t k, char *const memory[3]) {
    struct ct_matmul_job job = {.m = m,
                                .n = n,
                                .k = k,
                                .a = memory[0],
                                .a_row = (ptrdiff_t)k * 4,
                                .a_col = 4,
                                .b = memory[1],
                                .b_row = (ptrdiff_t)n * 4,
                                .b_col = 4,
                                .c = memory[2],
                                .c_row = (ptrdiff_t)n * 4,
                                .c_col = 4};
    return (struct candidate){.run = run_plan, .plan = f32_plan(&job), .work = 1};
}

static void tune_plans(size_t m, size_t n, size_t k) {
    char *memory[] = {zeros(m * k * 4), zeros(n * k * 4), zeros(m * n * 4)}, what[48];
    struct candidate c[CANDIDATES];
    int count = 0;
    for (size_t chunk = 128; chunk <= 2048 && (chunk < 2 * n || chunk == 128); chunk *= 2) {
        c[count] = of_plan(m, n, k, memory);
        c[count].plan.chunk = chunk;
        snprintf(c[count].name, sizeof c->name, "%zuK", chunk * MM_BLOCK * 4 / 1024);
        count++;
    }
    snprintf(what, sizeof what, "bytes of b, %zux%zux%zu", m, n, k);
    compare(what, c, count);
    for (int keep = 0; keep < 4; keep++) {
        c[keep] = of_plan(m, n, k, memory);
        c[keep].plan.pack = keep % 2;
        c[keep].plan.copy_a = keep / 2;
        c[keep].plan.heap = keep > 0;
        snprintf(c[keep].name, sizeof c->name, "%s",
                 (const char *[]){"in place", "b copied", "a copied", "both"}[keep]);
    }
    snprintf(what, sizeof what, "copies, %zux%zux%zu", m, n, k);
    compare(what, c, 4);
    for (int i = 0; i < 3; i++)
        free(memory[i]);
}

int main(void) {
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512vl")) {
        printf("no AVX-512 here\n");
        return 0;
    }
    tune_tiles(1, "L1");
    tune_tiles(1 << 20, "L2");
    tune_plans(128, 128, 128);
    tune_plans(256, 256, 256);
    tune_plans(32, 512, 784);
    tune_plans(256, 512, 784);
    tune_plans(512, 512, 512);
    tune_plans(512, 1024, 1024);
    return 0;
}
#else
#include <stdio.h>

int main(void) {
    printf("only with gcc on x86-64\n");
    return 0;
}
#endif
