/*
 * The contract of kern_fold.h, bit for bit, on every instruction set that the
 * machine has: against oracles written from the contract's text, one item at a time.
 */

#include "kernel_tools.h"

#include "tensor/kernels/kern_fold.h"

Suite *suite_kernels(void);

typedef ct_fold_fn fold_fn;

/* The folds of a scalar type, and those of the kernels alone. */
enum { SQUARES = CT_FOLD_COUNT, SIZES, SPREAD, FOLDS };

static const struct isa {
    const char *name;
    fold_fn *fold[TYPE_COUNT][FOLDS];
    ct__dot_fn *dot[TYPE_COUNT];
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
#isa, {FOLDS(f32, isa), FOLDS(f64, isa) }, {                                               \
            ct__f32_dot_##isa, ct__f64_dot_##isa                                                   \
        }                                                                                          \
    }
    KERNELS(scalar),
    KERNELS(avx2),
    KERNELS(avx512),
};

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
    TCase *threads = tcase_create("threads");
    tcase_add_checked_fixture(threads, setup_pool, NULL);
    tcase_add_loop_test(threads, large_reductions, 0, TYPE_COUNT * 6);
    suite_add_tcase(suite, threads);
    return suite;
}
