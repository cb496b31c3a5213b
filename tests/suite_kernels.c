/*
 * The contracts of kern_fold.h and kern_matmul.h, bit for bit, on every instruction set that the
 * machine has: against oracles written from the contract's text, one item at a time. An oracle
 * computes in double and rounds to the item's type after each operation, so that it serves both.
 */

#include <check.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/ct_alloc.h"
#include "tensor/ct_platform.h"
#include "tensor/kernels/kern_fold.h"
#include "tensor/kernels/kern_matmul.h"

Suite *suite_kernels(void);

typedef ct_fold_fn fold_fn;
typedef ct_status matmul_fn(const ct_scalar *self, const struct ct_matmul_job *job);

/* The folds of a scalar type, and those of the kernels alone. */
enum { SQUARES = CT_FOLD_COUNT, SIZES, SPREAD, FOLDS };

/* Item types. */
enum { F32, F64, TYPE_COUNT };
enum { ISA_COUNT = 3 };

static const char *const type_name[TYPE_COUNT] = {"f32", "f64"};
static const size_t type_size[TYPE_COUNT] = {sizeof(float), sizeof(double)};

static const struct isa {
    const char *name;
    fold_fn *fold[TYPE_COUNT][FOLDS];
    ct__dot_fn *dot[TYPE_COUNT];
    matmul_fn *matmul[TYPE_COUNT];
} isas[ISA_COUNT] = {
#define FOLDS(type, isa)                                                                           \
    {                                                                                              \
        [CT_FOLD_SUM] = ct__##type##_sum_##isa, [CT_FOLD_MAX] = ct__##type##_max_##isa,            \
        [CT_FOLD_MIN] = ct__##type##_min_##isa, [CT_FOLD_PROD] = ct__##type##_prod_##isa,          \
        [CT_FOLD_ARGMAX] = ct__##type##_argmax_##isa,                                              \
        [CT_FOLD_ARGMIN] = ct__##type##_argmin_##isa, [SQUARES] = ct__##type##_squares_##isa,      \
        [SIZES] = ct__##type##_sizes_##isa, [SPREAD] = ct__##type##_spread_##isa                   \
    }
#define KERNELS(isa)                                                                               \
    {                                                                                              \
#isa, {FOLDS(f32, isa), FOLDS(f64, isa) }, {ct__f32_dot_##isa, ct__f64_dot_##isa }, {      \
            ct__f32_matmul_##isa, ct__f64_matmul_##isa                                             \
        }                                                                                          \
    }
    KERNELS(scalar),
    KERNELS(avx2),
    KERNELS(avx512),
};

/* Every object, width 1 included, is compiled for x86-64-v3. */
static bool isa_available(int isa) {
    return isa < 2 || (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                       __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"));
}

static double get(int type, const char *p) {
    float f;
    double d;
    memcpy(&f, p, sizeof f);
    if (type == F32) {
        return (double)f;
    }
    memcpy(&d, p, sizeof d);
    return d;
}

static void put(int type, char *p, double value) {
    float f = (float)value;
    memcpy(p, type == F32 ? (const void *)&f : (const void *)&value, type_size[type]);
}

/* All NaNs are one value; otherwise bits count. */
static bool same(double a, double b) {
    return (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0;
}

static double to_type(int type, double value) {
    return type == F32 ? (double)(float)value : value;
}

/* The sum of two f32 in double is exact or rounds innocuously (53 >= 2 * 24 + 2). */
static double add(int type, double a, double b) {
    return to_type(type, a + b);
}

/* Exact in double for f32, so rounded once. */
static double mul(int type, double a, double b) {
    return to_type(type, a * b);
}

static double fused(int type, double a, double b, double c) {
    return type == F32 ? (double)fmaf((float)a, (float)b, (float)c) : fma(a, b, c);
}

static uint64_t random_state;

static uint64_t random_bits(void) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return random_state >> 33;
}

/* Signs and magnitudes differ, so that any other order of adding shows. */
static double random_value(int type) {
    double m = (double)random_bits() / 0x1p31 - 0.5;
    return to_type(type, ldexp(m, (int)(random_bits() % 21) - 10));
}

/* Of a product of very many, which would be 0 or infinite otherwise. */
static double random_factor(int type) {
    double f = 1 + (double)random_bits() / 0x1p31;
    return to_type(type, (random_bits() & 1 ? f : 1 / f) * (random_bits() & 1 ? 1 : -1));
}

static char *memory(size_t items, int type) {
    char *p = malloc((items + 1) * type_size[type]);
    ck_assert_ptr_nonnull(p);
    return p;
}

/* Runs ranges from the last to the first, one grain each: another cut than any pool's. */
static void backwards(void *user, size_t n, size_t grain, void (*fn)(void *, size_t, size_t),
                      void *ctx) {
    (void)user;
    for (size_t begin = (n - 1) / grain * grain;; begin -= grain) {
        fn(ctx, begin, n - begin < grain ? n : begin + grain);
        if (begin == 0) {
            return;
        }
    }
}

static void setup_backwards(void) {
    (void)ct_set_parallel_for(backwards, NULL); // refused without forking: then the pool runs
    random_state = 12345;
}

static void setup_pool(void) {
    setenv("CT_NUM_THREADS", "3", 1);
    random_state = 54321;
}

/* Oracles of the reductions. */

enum { BLOCK = 1024, LANES = 16, MAX_ITEMS = 200001 };

typedef double join_fn(int type, double a, double b);

static double oracle_block(int type, join_fn *join, const double *x, size_t n) {
    double lane[LANES];
    bool has[LANES] = {false};
    for (size_t i = 0; i < n; i++) {
        size_t l = i % LANES;
        lane[l] = has[l] ? join(type, lane[l], x[i]) : x[i];
        has[l] = true;
    }
    for (size_t h = LANES / 2; h > 0; h /= 2) {
        for (size_t l = 0; l < h; l++) {
            if (has[l] && has[l + h]) {
                lane[l] = join(type, lane[l], lane[l + h]);
            }
        }
    }
    return lane[0];
}

static double oracle_tree(int type, join_fn *join, const double *x, size_t n) {
    if (n == 0) {
        return join == mul ? 1.0 : 0.0;
    }
    static double level[MAX_ITEMS / BLOCK + 1];
    size_t count = 0;
    for (size_t i = 0; i < n; i += BLOCK) {
        level[count++] = oracle_block(type, join, x + i, n - i < BLOCK ? n - i : BLOCK);
    }
    while (count > 1) {
        size_t pairs = count / 2;
        for (size_t i = 0; i < pairs; i++) {
            level[i] = join(type, level[2 * i], level[2 * i + 1]);
        }
        if (count % 2 == 1) {
            level[pairs] = level[count - 1];
        }
        count = pairs + count % 2;
    }
    return level[0];
}

/* maximum for sign = 1, minimum for sign = -1. */
static double oracle_extreme(const double *x, size_t n, double sign) {
    double r = x[0];
    for (size_t i = 0; i < n; i++) {
        if (isnan(x[i]) || isnan(r)) {
            r = (double)NAN;
        } else if (sign * x[i] > sign * r || (x[i] == r && (signbit(x[i]) != 0) == (sign < 0))) {
            r = x[i];
        }
    }
    return r;
}

static double oracle_place(const double *x, size_t n, double sign) {
    size_t best = 0;
    for (size_t i = 0; i < n && !isnan(x[best]); i++) {
        if (isnan(x[i]) || sign * x[i] > sign * x[best]) {
            best = i;
        }
    }
    return (double)best;
}

static double squared(int type, double x) {
    return mul(type, x, x);
}

static double size_of(int type, double x) {
    (void)type;
    return fabs(x);
}

/* The sum of what is made of each item; x - 0 is x. */
static double oracle_made(int type, double (*make)(int, double), const double *x, size_t n) {
    static double made[MAX_ITEMS];
    for (size_t i = 0; i < n; i++) {
        made[i] = make(type, x[i]);
    }
    return oracle_tree(type, add, made, n);
}

struct spread {
    double items, mean, squares;
};

static struct spread spread_of(int type, const double *x, size_t n) {
    double away[BLOCK], items = to_type(type, (double)n);
    double mean = to_type(type, oracle_block(type, add, x, n) / items);
    for (size_t i = 0; i < n; i++) {
        away[i] = to_type(type, x[i] - mean);
    }
    double more = to_type(type, oracle_block(type, add, away, n) / items);
    for (size_t i = 0; i < n; i++) {
        away[i] = squared(type, to_type(type, away[i] - more));
    }
    return (struct spread){(double)n, add(type, mean, more), oracle_block(type, add, away, n)};
}

static struct spread merged(int type, struct spread a, struct spread b) {
    double n = a.items + b.items, w = b.items / n, away = to_type(type, b.mean - a.mean);
    double between = mul(type, mul(type, away, away), to_type(type, a.items * w));
    return (struct spread){n, add(type, a.mean, mul(type, away, to_type(type, w))),
                           add(type, add(type, a.squares, b.squares), between)};
}

static double oracle_spread(int type, const double *x, size_t n) {
    static struct spread level[MAX_ITEMS / BLOCK + 1];
    size_t count = 0;
    for (size_t i = 0; i < n; i += BLOCK) {
        level[count++] = spread_of(type, x + i, n - i < BLOCK ? n - i : BLOCK);
    }
    for (; count > 1; count = (count + 1) / 2) {
        for (size_t i = 0; i < count; i += 2) {
            level[i / 2] = i + 1 < count ? merged(type, level[i], level[i + 1]) : level[i];
        }
    }
    return level[0].squares;
}

static double oracle_fold(int type, int op, const double *x, size_t n) {
    switch (op) {
    case SQUARES:
        return oracle_made(type, squared, x, n);
    case SIZES:
        return oracle_made(type, size_of, x, n);
    case SPREAD:
        return oracle_spread(type, x, n);
    case CT_FOLD_SUM:
        return oracle_tree(type, add, x, n);
    case CT_FOLD_PROD:
        return oracle_tree(type, mul, x, n);
    case CT_FOLD_MAX:
        return oracle_extreme(x, n, 1);
    case CT_FOLD_MIN:
        return oracle_extreme(x, n, -1);
    case CT_FOLD_ARGMAX:
        return oracle_place(x, n, 1);
    default:
        return oracle_place(x, n, -1);
    }
}

static bool has_empty(int op) {
    return op == CT_FOLD_SUM || op == CT_FOLD_PROD || op == SQUARES || op == SIZES;
}

static bool is_place(int op) {
    return op == CT_FOLD_ARGMAX || op == CT_FOLD_ARGMIN;
}

static double get_result(int type, int op, const char *p) {
    if (!is_place(op)) {
        return get(type, p);
    }
    int64_t place;
    memcpy(&place, p, sizeof place);
    return (double)place;
}

/*
 * Folds count rows of n items at (step, next), both in items, on each instruction set and compares
 * with the oracle. span is room enough; values[] are those of the span.
 */
static void check_fold(int type, int op, size_t n, size_t count, ptrdiff_t step, ptrdiff_t next,
                       const char *span, size_t origin) {
    const ptrdiff_t size = (ptrdiff_t)type_size[type];
    const size_t y_size = is_place(op) ? sizeof(int64_t) : type_size[type];
    const ptrdiff_t y_step = count % 3 == 0 ? -2 : 1; // in items
    double *expected = malloc((count + 1) * sizeof *expected);
    double *row = malloc((n + 1) * sizeof *row);
    char *result = memory(4 * count, type);
    for (size_t j = 0; j < count; j++) {
        for (size_t i = 0; i < n; i++) {
            ptrdiff_t at = (ptrdiff_t)origin + (ptrdiff_t)j * next + (ptrdiff_t)i * step;
            row[i] = get(type, span + at * size);
        }
        expected[j] = oracle_fold(type, op, row, n);
    }
    for (int isa = 0; isa < ISA_COUNT; isa++) {
        if (!isa_available(isa)) {
            continue;
        }
        memset(result, 0x5a, 2 * count * y_size);
        char *y = result + (y_step < 0 ? (ptrdiff_t)((2 * count - 1) * y_size) : 0);
        struct ct_fold_job job = {
            .n = n,
            .count = count,
            .x = span + (ptrdiff_t)origin * size,
            .x_step = step * size,
            .x_next = next * size,
            .y = y,
            .y_next = y_step * (ptrdiff_t)y_size,
        };
        ck_assert_uint_eq(isas[isa].fold[type][op](NULL, &job), count);
        for (size_t j = 0; j < count; j++) {
            double r = get_result(type, op, y + (ptrdiff_t)j * job.y_next);
            ck_assert_msg(same(r, expected[j]),
                          "%s %s op %d n %zu count %zu step %td next %td: item %zu is %a, not %a",
                          isas[isa].name, type_name[type], op, n, count, step, next, j, r,
                          expected[j]);
        }
    }
    free(result);
    free(row);
    free(expected);
}

static char *random_span(int type, size_t items) {
    char *span = memory(items, type);
    for (size_t i = 0; i < items; i++) {
        put(type, span + i * type_size[type], random_value(type));
    }
    return span;
}

static char *random_factors(int type, size_t items) {
    char *span = memory(items, type);
    for (size_t i = 0; i < items; i++) {
        put(type, span + i * type_size[type], random_factor(type));
    }
    return span;
}

static const size_t fold_sizes[] = {1023, 1024, 1025, 1026, 2047,  2048,  2049,
                                    2050, 3000, 5000, 8192, 70000, 200001};
static const ptrdiff_t fold_steps[] = {1, 2, -1, 0, 3, -2};

enum {
    FOLD_SIZES = sizeof fold_sizes / sizeof fold_sizes[0],
    FOLD_STEPS = sizeof fold_steps / sizeof fold_steps[0],
};

START_TEST(one_reduction) {
    int type = _i % TYPE_COUNT;
    ptrdiff_t step = fold_steps[_i / TYPE_COUNT];
    size_t items = 3 * (size_t)MAX_ITEMS + 8;
    char *sums = random_span(type, items), *factors = random_factors(type, items);
    for (int op = CT_FOLD_SUM; op < FOLDS; op++) {
        char *span = op == CT_FOLD_PROD ? factors : sums;
        for (size_t offset = 0; offset < 4; offset += 3) {
            size_t origin = step < 0 ? items - 1 - offset : offset;
            for (size_t n = has_empty(op) ? 0 : 1; n <= 70; n++) {
                check_fold(type, op, n, 1, step, 0, span, origin);
            }
            for (size_t s = 0; s < (offset == 0 ? FOLD_SIZES : 8); s++) {
                check_fold(type, op, fold_sizes[s], 1, step, 0, span, origin);
            }
        }
    }
    free(sums);
    free(factors);
}
END_TEST

/* Rows and columns of a matrix: contiguous, spread out, backwards. _i: type, then count - 1. */
START_TEST(many_reductions) {
    static const size_t sizes[] = {1,  2,  7,  8,   9,    15,   16,   17,
                                   31, 33, 64, 100, 1023, 1025, 2049, 3500};
    int type = _i % TYPE_COUNT;
    size_t count = (size_t)(_i / TYPE_COUNT) + 1;
    count = count <= 40 ? count : count == 41 ? 127 : count == 42 ? 128 : 300;
    size_t largest = count > 40 ? 2049 : 3500;
    size_t items = 2 * largest * (count + 1);
    char *sums = random_span(type, items), *factors = random_factors(type, items);
    ptrdiff_t pitch = (ptrdiff_t)count;
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0] && sizes[s] <= largest; s++) {
        size_t n = sizes[s];
        size_t end = 2 * n * count - 1;
        int op = (n + count) % 3 == 0 ? CT_FOLD_SUM : (int)((n + count) / 3 % FOLDS);
        char *span = op == CT_FOLD_PROD ? factors : sums;
        check_fold(type, op, n, count, pitch, 1, span, 0);
        check_fold(type, op, n, count, pitch + 1, 1, span, 0);
        check_fold(type, op, n, count, 2 * pitch, 2, span, 1);
        check_fold(type, op, n, count, -2 * pitch, -1, span, end);
        check_fold(type, op, n, count, 0, 1, span, 3);
        check_fold(type, op, n, count, 1, (ptrdiff_t)n, span, 0);
        check_fold(type, op, n, count, 2, 2 * (ptrdiff_t)n, span, 1);
        check_fold(type, op, n, count, -1, (ptrdiff_t)n, span, n - 1);
        check_fold(type, op, n, count, 1, 1, span, 2);
        check_fold(type, op, n, count, 1, 0, span, 5);
    }
    free(sums);
    free(factors);
}
END_TEST

/* Large enough for threads: many rows, many columns, few columns of many items. */
START_TEST(large_reductions) {
    static const struct {
        size_t n, count;
    } cases[] = {{100, 1000}, {1000, 100}, {3, 60000}, {140000, 3}, {200001, 2}, {66000, 4}};
    int type = _i % TYPE_COUNT;
    size_t n = cases[_i / TYPE_COUNT].n, count = cases[_i / TYPE_COUNT].count;
    char *sums = random_span(type, n * count), *factors = random_factors(type, n * count);
    for (int op = CT_FOLD_SUM; op < FOLDS; op++) {
        char *span = op == CT_FOLD_PROD ? factors : sums;
        check_fold(type, op, n, count, (ptrdiff_t)count, 1, span, 0);
        check_fold(type, op, n, count, 1, (ptrdiff_t)n, span, 0);
    }
    free(sums);
    free(factors);
}
END_TEST

/* One special value at each place of a row; _i: type. */
START_TEST(special_values) {
    static const size_t sizes[] = {1, 2, 15, 16, 17, 37, 130, 1030};
    static const double specials[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, 0.0, -0.0};
    static const double fills[] = {-0.0, 0.0, 1.0, -1.0};
    int type = _i;
    size_t size = type_size[type];
    char *span = memory(3 * 1030, type);
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        for (size_t at = 0; at<sizes[s]; at += sizes[s]> 200 ? 31 : 1) {
            for (size_t v = 0; v < 5 * 4; v++) {
                for (size_t i = 0; i < 3 * sizes[s]; i++) {
                    put(type, span + i * size, fills[v % 4]);
                }
                put(type, span + (sizes[s] + at) * size, specials[v / 4]);
                int op = (int)((at + v) % FOLDS);
                check_fold(type, op, sizes[s], 1, 1, 0, span, sizes[s]);
                op = (int)((at / 2 + v) % FOLDS);
                check_fold(type, op, sizes[s], 3, 1, (ptrdiff_t)sizes[s], span, 0);
                op = (int)((at + v / 2) % FOLDS);
                check_fold(type, op, sizes[s], 3, 3, 1, span, 0);
            }
        }
    }
    put(type, span, (double)INFINITY);
    put(type, span + size, -(double)INFINITY);
    check_fold(type, CT_FOLD_SUM, 2, 1, 1, 0, span, 0);
    free(span);
}
END_TEST

/* Products of two rows at steps, of every length to 131 and around whole blocks. _i: type. */
START_TEST(dots) {
    static const ptrdiff_t steps[][2] = {{1, 1}, {1, -1}, {2, 1}, {-2, 3}, {0, 1}};
    const ptrdiff_t size = (ptrdiff_t)type_size[_i];
    char *span = random_span(_i, 4 * (size_t)MAX_ITEMS);
    double *products = malloc(MAX_ITEMS * sizeof *products);
    ck_assert_ptr_nonnull(products);
    for (size_t c = 0; c < 132 + FOLD_SIZES; c++) {
        size_t n = c < 132 ? c : fold_sizes[c - 132];
        for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
            ptrdiff_t last = (ptrdiff_t)n;
            const char *a = span + (steps[k][0] < 0 ? -steps[k][0] * last : 3) * size;
            const char *b = span + (steps[k][1] < 0 ? -steps[k][1] * last : 7) * size;
            for (ptrdiff_t i = 0; i < last; i++) {
                double x = get(_i, a + i * steps[k][0] * size);
                products[i] = mul(_i, x, get(_i, b + i * steps[k][1] * size));
            }
            double expected = oracle_tree(_i, add, products, n);
            for (int isa = 0; isa < ISA_COUNT && isa_available(isa); isa++) {
                char y[8];
                memset(y, 0xff, sizeof y);
                const struct ct__dot_job job = {n, a, b, steps[k][0] * size, steps[k][1] * size, y};
                isas[isa].dot[_i](&job);
                ck_assert_msg(same(get(_i, y), expected), "%s %s dot of %zu, steps %td and %td",
                              isas[isa].name, type_name[_i], n, steps[k][0], steps[k][1]);
            }
        }
    }
    free(products);
    free(span);
}
END_TEST

/* The sum over axis 0 of a matrix is the sum over axis 1 of its transposed copy. */
START_TEST(sum_of_transposed) {
    int type = _i % TYPE_COUNT;
    size_t n = 1 + random_bits() % 3000, count = 1 + random_bits() % 50;
    size_t size = type_size[type];
    char *x = random_span(type, n * count), *t = memory(n * count, type);
    for (size_t i = 0; i < n * count; i++) {
        memcpy(t + (i % count * n + i / count) * size, x + i * size, size);
    }
    char *a = memory(count, type), *b = memory(count, type);
    const ptrdiff_t s = (ptrdiff_t)size;
    for (int isa = 0; isa < ISA_COUNT && isa_available(isa); isa++) {
        struct ct_fold_job down = {.n = n,
                                   .count = count,
                                   .x = x,
                                   .x_step = (ptrdiff_t)count * s,
                                   .x_next = s,
                                   .y = a,
                                   .y_next = s};
        struct ct_fold_job along = {.n = n,
                                    .count = count,
                                    .x = t,
                                    .x_step = s,
                                    .x_next = (ptrdiff_t)n * s,
                                    .y = b,
                                    .y_next = s};
        isas[isa].fold[type][CT_FOLD_SUM](NULL, &down);
        isas[isa].fold[type][CT_FOLD_SUM](NULL, &along);
        ck_assert_msg(memcmp(a, b, count * size) == 0, "%s %s: n %zu, count %zu", isas[isa].name,
                      type_name[type], n, count);
    }
    free(x);
    free(t);
    free(a);
    free(b);
}
END_TEST

/* The matrix product. */

enum { MM_BLOCK = 256, SIDE = 65, MAX_K = 700 };

/* Item (i, j) for operands that are given item by item. */
static double oracle_item(int type, const double *a, const double *b, size_t b_pitch, size_t k) {
    double c = 0.0;
    for (size_t p = 0; p < k; p += MM_BLOCK) {
        double chain = 0.0;
        for (size_t q = p; q < k && q < p + MM_BLOCK; q++) {
            chain = fused(type, a[q], b[q * b_pitch], chain);
        }
        c = p == 0 ? chain : add(type, c, chain);
    }
    return c;
}

static void oracle_product(int type, const double *a, const double *b, double *c, size_t m,
                           size_t n, size_t k) {
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < n; j++) {
            c[i * n + j] = oracle_item(type, a + i * k, b + j, n, k);
        }
    }
}

/* A matrix laid out in memory in one of several ways. Steps in bytes. */
enum layout { ROW_MAJOR, TRANSPOSED, STRIDED, NEGATIVE, ZERO_STRIDE, LAYOUT_COUNT };

struct matrix {
    char *memory, *origin;
    ptrdiff_t row, col;
};

/* ZERO_STRIDE repeats the first row (which = 0) or column (which = 1). */
static struct matrix lay_out(int type, enum layout layout, const double *x, size_t rows,
                             size_t cols, int which) {
    const ptrdiff_t size = (ptrdiff_t)type_size[type];
    const ptrdiff_t r = (ptrdiff_t)rows, c = (ptrdiff_t)cols;
    struct matrix m = {.memory = memory(6 * rows * cols + 6 * cols + 6, type), .row = c, .col = 1};
    m.origin = m.memory;
    switch (layout) {
    case TRANSPOSED:
        m.row = 1, m.col = r;
        break;
    case STRIDED:
        m.row = 3 * c + 1, m.col = 2;
        break;
    case NEGATIVE:
        m.row = -c, m.col = -1;
        m.origin += rows * cols == 0 ? 0 : (r * c - 1) * size;
        break;
    case ZERO_STRIDE:
        m.row = which == 0 ? 0 : 1;
        m.col = which == 0 ? 1 : 0;
        break;
    default:
        break;
    }
    m.row *= size;
    m.col *= size;
    for (size_t i = rows; x != NULL && i-- > 0;) {
        for (size_t j = cols; j-- > 0;) {
            put(type, m.origin + (ptrdiff_t)i * m.row + (ptrdiff_t)j * m.col, x[i * cols + j]);
        }
    }
    return m;
}

/*
 * Multiplies the first m rows of a by the first n columns of b on every instruction set; expected
 * has a pitch. Where c is not an item the memory must stay as it was.
 */
static void check_product(int type, struct matrix a, struct matrix b, enum layout c_layout,
                          const double *expected, size_t row_pitch, size_t col_pitch, size_t m,
                          size_t n, size_t k) {
    const size_t size = type_size[type];
    const size_t bytes = (6 * m * n + 6 * n + 6) * size;
    struct matrix c = lay_out(type, c_layout, NULL, m, n, 0);
    for (int isa = 0; isa < ISA_COUNT && isa_available(isa); isa++) {
        memset(c.memory, 0xff, bytes); // a NaN
        struct ct_matmul_job job = {
            .m = m,
            .n = n,
            .k = k,
            .a = a.origin,
            .a_row = a.row,
            .a_col = a.col,
            .b = b.origin,
            .b_row = b.row,
            .b_col = b.col,
            .c = c.origin,
            .c_row = c.row,
            .c_col = c.col,
        };
        ck_assert_int_eq(isas[isa].matmul[type](NULL, &job), CT_OK);
        for (size_t i = 0; i < m; i++) {
            for (size_t j = 0; j < n; j++) {
                char *item = c.origin + (ptrdiff_t)i * c.row + (ptrdiff_t)j * c.col;
                double r = get(type, item), e = expected[i * row_pitch + j * col_pitch];
                if (!same(r, e)) {
                    ck_abort_msg("%s %s %zu x %zu x %zu, steps %td %td, %td %td, %td %td: "
                                 "item %zu, %zu is %a, not %a",
                                 isas[isa].name, type_name[type], m, k, n, a.row, a.col, b.row,
                                 b.col, c.row, c.col, i, j, r, e);
                }
                memset(item, 0xff, size);
            }
        }
        for (size_t i = 0; i < bytes; i++) {
            if (c.memory[i] != (char)0xff) {
                ck_abort_msg("%s %s %zu x %zu x %zu wrote beyond c", isas[isa].name,
                             type_name[type], m, k, n);
            }
        }
    }
    free(c.memory);
}

static const size_t inner[] = {0,  1,  2,  3,   5,   7,   8,   13,  16,  17,   31,
                               33, 64, 65, 255, 256, 257, 511, 512, 513, MAX_K};
static const size_t outer[] = {0, 1, 2, 3, 5, 7, 8, 13, 16, 17, 31, 33, 64, SIDE};

enum {
    INNER_COUNT = sizeof inner / sizeof inner[0],
    OUTER_COUNT = sizeof outer / sizeof outer[0],
};

static double *random_values(int type, size_t n) {
    double *x = malloc((n + 1) * sizeof *x);
    ck_assert_ptr_nonnull(x);
    for (size_t i = 0; i < n; i++) {
        x[i] = random_value(type);
    }
    return x;
}

/* Item (i, j) does not depend on m and n: one oracle for all of them. _i: type, then inner. */
START_TEST(small_products) {
    int type = _i % TYPE_COUNT;
    size_t k = inner[_i / TYPE_COUNT];
    double *x = random_values(type, SIDE * k), *y = random_values(type, k * SIDE);
    double *z = malloc(SIDE * SIDE * sizeof *z);
    oracle_product(type, x, y, z, SIDE, SIDE, k);
    struct matrix a[LAYOUT_COUNT], b[LAYOUT_COUNT];
    for (enum layout l = ROW_MAJOR; l < LAYOUT_COUNT; l++) {
        a[l] = lay_out(type, l, x, SIDE, k, 0);
        b[l] = lay_out(type, l, y, k, SIDE, 1);
    }
    for (size_t u = 0; u < OUTER_COUNT * OUTER_COUNT; u++) {
        size_t m = outer[u / OUTER_COUNT], n = outer[u % OUTER_COUNT];
        for (size_t pair = 0; pair < LAYOUT_COUNT * LAYOUT_COUNT; pair++) {
            // Pairs of layouts in turn: all of them meet every k and every m, and every n.
            if ((pair + u) % (k > 70 ? 17 : 6) != 0) {
                continue;
            }
            enum layout la = (enum layout)(pair / 5), lb = (enum layout)(pair % 5);
            enum layout lc = (enum layout)((pair + m + n + u) % ZERO_STRIDE);
            check_product(type, a[la], b[lb], lc, z, la == ZERO_STRIDE ? 0 : SIDE,
                          lb == ZERO_STRIDE ? 0 : 1, m, n, k);
        }
    }
    for (enum layout l = ROW_MAJOR; l < LAYOUT_COUNT; l++) {
        free(a[l].memory);
        free(b[l].memory);
    }
    free(x);
    free(y);
    free(z);
}
END_TEST

/* Operands that do not move along k. */
START_TEST(repeated_steps) {
    int type = _i % TYPE_COUNT;
    size_t m = 20, n = 37, k = 300;
    const ptrdiff_t size = (ptrdiff_t)type_size[type];
    double *x = random_values(type, m * k), *y = random_values(type, k * n);
    double *z = malloc(m * n * sizeof *z);
    for (size_t i = 0; i < m * k; i++) {
        x[i] = x[i / k * k];
    }
    for (size_t i = 0; i < k * n; i++) {
        y[i] = y[i % n];
    }
    oracle_product(type, x, y, z, m, n, k);
    struct matrix a = lay_out(type, ROW_MAJOR, x, m, k, 0);
    struct matrix b = lay_out(type, ROW_MAJOR, y, k, n, 0);
    a.col = 0;
    b.row = 0;
    a.row = (ptrdiff_t)k * size;
    check_product(type, a, b, ROW_MAJOR, z, n, 1, m, n, k);
    check_product(type, a, b, TRANSPOSED, z, n, 1, m, n, k);
    free(a.memory);
    free(b.memory);
    free(x);
    free(y);
    free(z);
}
END_TEST

/* Packed, in pieces, thin: what threads share. _i: type, then case. */
static const struct {
    size_t m, k, n;
} large[] = {
    {150, 300, 130}, {97, 513, 200}, {300, 257, 64}, {1, 512, 5000}, {2, 400, 3000}, {5000, 512, 1},
    {5000, 70, 10},  {3, 700, 2000}, {3100, 20, 40}, {40, 20, 3100}, {1, 5000, 1},   {70, 70, 70},
};

enum { LARGE_COUNT = sizeof large / sizeof large[0] };

START_TEST(large_products) {
    int type = _i % TYPE_COUNT;
    size_t m = large[_i / TYPE_COUNT].m, k = large[_i / TYPE_COUNT].k, n = large[_i / TYPE_COUNT].n;
    double *x = random_values(type, m * k), *y = random_values(type, k * n);
    double *z = malloc(m * n * sizeof *z);
    oracle_product(type, x, y, z, m, n, k);
    for (enum layout l = ROW_MAJOR; l < ZERO_STRIDE; l++) {
        if (l == STRIDED && m * n > 10000) {
            continue; // the small ones have it; here it costs most
        }
        struct matrix a = lay_out(type, l, x, m, k, 0);
        struct matrix b = lay_out(type, (enum layout)(3 - l), y, k, n, 1);
        struct matrix same_layout = lay_out(type, l, y, k, n, 1);
        check_product(type, a, b, ROW_MAJOR, z, n, 1, m, n, k);
        check_product(type, a, same_layout, (enum layout)(l ^ 1), z, n, 1, m, n, k);
        free(a.memory);
        free(b.memory);
        free(same_layout.memory);
    }
    free(x);
    free(y);
    free(z);
}
END_TEST

/* Nothing is skipped: zero times infinity is NaN, a NaN reaches its row or column and no other. */
START_TEST(special_products) {
    static const double specials[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, -0.0};
    int type = _i % TYPE_COUNT;
    size_t m = 17, k = 260, n = 35;
    double *x = malloc(m * k * sizeof *x), *y = malloc(k * n * sizeof *y);
    double *z = malloc(m * n * sizeof *z);
    for (size_t v = 0; v < 4; v++) {
        for (size_t at = 0; at < k; at += 37) {
            for (size_t i = 0; i < m * k; i++) {
                x[i] = i % 3 == 0 ? -0.0 : 1.0;
            }
            for (size_t i = 0; i < k * n; i++) {
                y[i] = i % 5 == 0 ? 0.0 : -1.0;
            }
            x[at % m * k + at] = specials[v];
            y[at * n + at % n] = specials[(v + at) % 4];
            oracle_product(type, x, y, z, m, n, k);
            struct matrix a = lay_out(type, ROW_MAJOR, x, m, k, 0);
            struct matrix b = lay_out(type, ROW_MAJOR, y, k, n, 0);
            check_product(type, a, b, ROW_MAJOR, z, n, 1, m, n, k);
            check_product(type, a, b, ROW_MAJOR, z, n, 1, 1, n, k);
            free(a.memory);
            free(b.memory);
        }
    }
    free(x);
    free(y);
    free(z);
}
END_TEST

static void *no_memory(void *ctx, size_t bytes, size_t align) {
    (void)ctx, (void)bytes, (void)align;
    return NULL;
}

static void no_release(void *ctx, void *p, size_t bytes) {
    (void)ctx, (void)p, (void)bytes;
}

/* Copies of operands are for speed: without memory for them a product is the same. */
START_TEST(product_without_memory) {
    static const struct ct_allocator poor = {no_memory, no_release, NULL};
    if (ct_set_allocator(&poor) != CT_OK) {
        return; // without forking the library has allocated already
    }
    enum { M = 70, K = 300, N = 160 };
    int type = _i % TYPE_COUNT;
    double *x = random_values(type, M * K), *y = random_values(type, K * N);
    double *z = malloc(M * N * sizeof *z);
    oracle_product(type, x, y, z, M, N, K);
    for (enum layout l = ROW_MAJOR; l <= STRIDED; l++) {
        struct matrix a = lay_out(type, l, x, M, K, 0), b = lay_out(type, l, y, K, N, 1);
        check_product(type, a, b, ROW_MAJOR, z, N, 1, M, N, K);
        check_product(type, a, b, TRANSPOSED, z, N, 1, M, N, K);
        free(a.memory);
        free(b.memory);
    }
    ck_assert_uint_eq(ct_live_blocks(), 0);
    free(x);
    free(y);
    free(z);
}
END_TEST

Suite *suite_kernels(void) {
    Suite *suite = suite_create("kernels");
    TCase *fold = tcase_create("fold");
    tcase_add_checked_fixture(fold, setup_backwards, NULL);
    tcase_add_loop_test(fold, one_reduction, 0, TYPE_COUNT * FOLD_STEPS);
    tcase_add_loop_test(fold, many_reductions, 0, TYPE_COUNT * 43);
    tcase_add_loop_test(fold, large_reductions, 0, TYPE_COUNT * 6);
    tcase_add_loop_test(fold, special_values, 0, TYPE_COUNT);
    tcase_add_loop_test(fold, dots, 0, TYPE_COUNT);
    tcase_add_loop_test(fold, sum_of_transposed, 0, 40);
    suite_add_tcase(suite, fold);
    TCase *matmul = tcase_create("matmul");
    tcase_add_checked_fixture(matmul, setup_backwards, NULL);
    tcase_add_loop_test(matmul, small_products, 0, TYPE_COUNT * INNER_COUNT);
    tcase_add_loop_test(matmul, repeated_steps, 0, TYPE_COUNT);
    tcase_add_loop_test(matmul, large_products, 0, TYPE_COUNT * LARGE_COUNT);
    tcase_add_loop_test(matmul, special_products, 0, TYPE_COUNT);
    tcase_add_loop_test(matmul, product_without_memory, 0, TYPE_COUNT);
    suite_add_tcase(suite, matmul);
    TCase *threads = tcase_create("threads");
    tcase_add_checked_fixture(threads, setup_pool, NULL);
    tcase_add_loop_test(threads, large_reductions, 0, TYPE_COUNT * 6);
    tcase_add_loop_test(threads, large_products, 0, TYPE_COUNT * LARGE_COUNT);
    suite_add_tcase(suite, threads);
    return suite;
}
