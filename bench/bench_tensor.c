/*
 * What the tensor layer costs beside the bare work: each row is a ratio of two sides that take turns in
 * one run, medians of the thread's own CPU time, with the spread (the quartiles) of the ratio. Rows
 * that count blocks of memory are exact.
 *
 * Usage: bench_tensor [--json] [ROW...], a row by the beginning of its name.
 */
#include "cotangent.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 41 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* --- the plain side: what one writes by hand */

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__)
#define BEST __attribute__((optimize("O3"), target_clones("avx512f", "default")))
#else
#define BEST
#endif

BEST static void plain_add(size_t n, const float *restrict a, const float *restrict b,
                           float *restrict c) {
    for (size_t i = 0; i < n; i++)
        c[i] = a[i] + b[i];
}

/* Blocks of 16 x 16 items, so that the lines of both sides stay in L1. */
BEST static void plain_transpose(size_t n, const float *restrict a, float *restrict c) {
    enum { TILE = 16 };
    for (size_t i = 0; i < n; i += TILE)
        for (size_t j = 0; j < n; j += TILE)
            for (size_t p = i; p < i + TILE; p++)
                for (size_t q = j; q < j + TILE; q++)
                    c[p * n + q] = a[q * n + p];
}

/* --- what the rows work on */

struct work {
    size_t rows, columns, repeat;
    ct_tensor *a, *b, *out; /* of rows x columns; b may be another shape */
    float *c;               /* for the plain side */
};

static const float *items(const ct_tensor *t) {
    return ct_data(t);
}

static void keep(ct_tensor *t) {
    if (!t)
        fprintf(stderr, "%s\n", ct_error()->message), exit(1);
    ct_free(t);
}

static void ours_add(struct work *w) {
    keep(ct_add(w->a, w->b));
}

static void ours_add_into(struct work *w) {
    if (ct_apply_into(w->out, CT_OP_add, 2, (const ct_tensor *[]){w->a, w->b}) != CT_OK)
        fprintf(stderr, "%s\n", ct_error()->message), exit(1);
}

static void plain_add_all(struct work *w) {
    plain_add(w->rows * w->columns, items(w->a), items(w->b), w->c);
}

static void plain_add_row(struct work *w) {
    for (size_t i = 0; i < w->rows; i++)
        plain_add(w->columns, items(w->a) + i * w->columns, items(w->b), w->c + i * w->columns);
}

static void plain_transposed_copy(struct work *w) {
    plain_transpose(w->rows, items(w->b), w->c);
}

static void ours_view(struct work *w) {
    keep(ct_transpose(w->a));
}

static void plain_block(struct work *w) {
    enum { DESCRIPTOR = 192 };
    void *volatile p = malloc(DESCRIPTOR); /* volatile: else the pair is left out */
    memset(p, 0, DESCRIPTOR);
    free(p);
    (void)w;
}

static volatile double sink;

static void ours_get(struct work *w) {
    double value = 0;
    ct_get(w->a, 2, (int64_t[]){1, 2}, &value);
    sink = value;
}

static void plain_get(struct work *w) {
    int64_t index[] = {1, 2};
    sink = (double)items(w->a)[index[0] * ct_strides(w->a)[0] + index[1] * ct_strides(w->a)[1]];
}

static void ours_write_while_viewed(struct work *w) {
    ct_tensor *view = ct_transpose(w->a);
    ct_set(w->a, 2, (int64_t[]){0, 0}, 1);
    ct_free(view);
}

static void plain_copy(struct work *w) {
    memcpy(w->c, items(w->a), w->rows * w->columns * sizeof *w->c);
}

/* --- rows */

enum operand { SAME, ROW, TRANSPOSED };

struct row {
    const char *name, *against;
    void (*ours)(struct work *), (*plain)(struct work *);
    size_t rows, columns, repeat;
    enum operand operand;
    double bar; /* the ratio that must hold, or 0 */
};

static const struct row rows[] = {
    {"view", "malloc and free of a descriptor", ours_view, plain_block, 4, 4, 20000, SAME, 0},
    {"get", "a read through the strides", ours_get, plain_get, 4, 4, 20000, SAME, 0},
    {"write while viewed", "memcpy", ours_write_while_viewed, plain_copy, 1024, 1024, 1, SAME, 0},
    {"add 64x64", "straight loop", ours_add_into, plain_add_all, 64, 64, 500, SAME, 0},
    {"add 256x256", "straight loop", ours_add_into, plain_add_all, 256, 256, 40, SAME, 1.05},
    {"add 2048x2048", "straight loop", ours_add_into, plain_add_all, 2048, 2048, 1, SAME, 1.05},
    {"add 256x256, new result", "straight loop", ours_add, plain_add_all, 256, 256, 40, SAME, 0},
    {"add 2048x2048, new result", "straight loop", ours_add, plain_add_all, 2048, 2048, 1, SAME, 0},
    {"add row 256x256", "loop over rows", ours_add_into, plain_add_row, 256, 256, 40, ROW, 1.10},
    {"add row 2048x2048", "loop over rows", ours_add_into, plain_add_row, 2048, 2048, 1, ROW, 1.10},
    {"add transposed 512x512", "blocked transposed copy", ours_add_into, plain_transposed_copy, 512,
     512, 8, TRANSPOSED, 1.3},
    {"add transposed 2048x2048", "blocked transposed copy", ours_add_into, plain_transposed_copy,
     2048, 2048, 1, TRANSPOSED, 1.3},
};

static ct_tensor *filled(size_t r, size_t c) {
    ct_tensor *t = ct_full(CT_F32, 2, (int64_t[]){(int64_t)r, (int64_t)c}, 0.5);
    if (!t)
        exit(1);
    return t;
}

static struct work make(const struct row *row) {
    struct work w = {.rows = row->rows, .columns = row->columns, .repeat = row->repeat};
    w.a = filled(w.rows, w.columns);
    w.out = filled(w.rows, w.columns);
    w.b = filled(row->operand == ROW ? 1 : w.rows, w.columns);
    if (row->operand == TRANSPOSED) {
        ct_tensor *turned = ct_transpose(w.b);
        ct_free(w.b);
        w.b = turned;
    }
    w.c = calloc(w.rows * w.columns, sizeof *w.c);
    if (!w.c)
        exit(1);
    return w;
}

static double time_of(void (*side)(struct work *), struct work *w) {
    double start = now();
    for (size_t i = 0; i < w->repeat; i++)
        side(w);
    return (now() - start) / (double)w->repeat;
}

struct result {
    double ours, plain, ratio, low, high;
};

static struct result measure(const struct row *row) {
    double ours[ROUNDS], plain[ROUNDS], ratio[ROUNDS];
    struct work w = make(row);
    time_of(row->ours, &w), time_of(row->plain, &w);
    for (int i = 0; i < ROUNDS; i++) {
        bool first = i % 2 == 0;
        double a = first ? time_of(row->ours, &w) : 0;
        plain[i] = time_of(row->plain, &w);
        ours[i] = first ? a : time_of(row->ours, &w);
        ratio[i] = ours[i] / plain[i];
    }
    ct_free(w.a), ct_free(w.b), ct_free(w.out), free(w.c);
    qsort(ours, ROUNDS, sizeof *ours, by_value);
    qsort(plain, ROUNDS, sizeof *plain, by_value);
    qsort(ratio, ROUNDS, sizeof *ratio, by_value);
    return (struct result){ours[ROUNDS / 2], plain[ROUNDS / 2], ratio[ROUNDS / 2],
                           ratio[ROUNDS / 4], ratio[3 * ROUNDS / 4]};
}

static const char *verdict(double value, double bar) {
    return bar == 0 ? "" : value <= bar ? "holds" : "FAILS";
}

static void print_ratio(const struct row *row, const struct result *r, bool json) {
    if (json)
        printf("{\"row\":\"%s\",\"against\":\"%s\",\"ours_ns\":%.1f,\"against_ns\":%.1f,"
               "\"ratio\":%.3f,\"low\":%.3f,\"high\":%.3f,\"bar\":%.2f}\n",
               row->name, row->against, 1e9 * r->ours, 1e9 * r->plain, r->ratio, r->low, r->high,
               row->bar);
    else
        printf("%-26s %-32s %12.1f %12.1f %6.2f (%.2f..%.2f) %5.2f %s\n", row->name, row->against,
               1e9 * r->ours, 1e9 * r->plain, r->ratio, r->low, r->high, row->bar,
               verdict(r->ratio, row->bar));
}

/* --- blocks of memory, counted */

struct count {
    const char *name;
    size_t blocks, calls; /* held by one result; asked of the allocator in a warm loop of 1,000 */
    size_t bar;
};

static struct count count_of(const char *name, ct_tensor *(*make_one)(const ct_tensor *),
                             size_t bar) {
    struct count c = {.name = name, .bar = bar};
    ct_tensor *t = filled(64, 64);
    keep(make_one(t));
    size_t before = ct_live_blocks(), calls = ct_allocator_calls();
    ct_tensor *one = make_one(t);
    c.blocks = ct_live_blocks() - before;
    ct_free(one);
    for (int i = 0; i < 1000; i++)
        keep(make_one(t));
    c.calls = ct_allocator_calls() - calls;
    ct_free(t);
    return c;
}

static ct_tensor *one_slice(const ct_tensor *t) {
    return ct_slice(t, 0, 1, CT_END, 2);
}

static ct_tensor *one_sum(const ct_tensor *t) {
    return ct_add(t, t);
}

static ct_tensor *one_named(const ct_tensor *t) {
    return ct_name_axes(t, 2, (const char *const[]){"row", "column"});
}

static void print_counts(bool json) {
    const struct count counts[] = {count_of("transpose", ct_transpose, 2),
                                   count_of("slice", one_slice, 2), count_of("named", one_named, 2),
                                   count_of("add", one_sum, 2)};
    if (!json)
        printf("%-26s blocks of a result, calls of the allocator in 1,000 warm turns\n", "");
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (json)
            printf("{\"row\":\"%s\",\"blocks\":%zu,\"calls\":%zu}\n", counts[i].name,
                   counts[i].blocks, counts[i].calls);
        else
            printf("%-26s %zu, %zu %s\n", counts[i].name, counts[i].blocks, counts[i].calls,
                   counts[i].blocks <= counts[i].bar && counts[i].calls == 0 ? "holds" : "FAILS");
}

static bool is_wanted(const char *name, int n, char *const wanted[]) {
    for (int i = 0; i < n; i++)
        if (strncmp(name, wanted[i], strlen(wanted[i])) == 0)
            return true;
    return n == 0;
}

int main(int argc, char **argv) {
    bool json = argc > 1 && strcmp(argv[1], "--json") == 0;
    argc -= 1 + json, argv += 1 + json;
    setenv("CT_NUM_THREADS", "1", 1); /* the clock is this thread's */
    if (!json)
        printf("%-26s %-32s %12s %12s  ratio (quartiles)   bar; %s, one thread\n", "row", "against",
               "ours, ns", "against, ns", ct_isa_name());
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (is_wanted(rows[i].name, argc, argv)) {
            struct result r = measure(&rows[i]);
            print_ratio(&rows[i], &r, json);
        }
    if (argc == 0)
        print_counts(json);
    return 0;
}
