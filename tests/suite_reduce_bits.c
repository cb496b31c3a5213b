/* The bits of variances, norms and places, and of whatever lies in memory in an odd way: against
   the contract's text, one item at a time, with one thread and with several. */

#include "index_tools.h"

#include "dual/ct_dual.h"
#include "tensor/ct_alloc.h"
#include "tensor/ct_ops.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_reduce_bits(void);

enum { BLOCK = 1024, LANES = 16, MOST = 70000 };

/* Numbers are computed in double and rounded to the type after each operation, which for f32 is the
   operation itself (53 >= 2 * 24 + 2). */
static bool single;

static double rounded(double x) {
    return single ? (double)(float)x : x;
}

static double block_sum(const double *x, size_t n) {
    double lane[LANES];
    for (size_t i = 0; i < n; i++)
        lane[i % LANES] = i < LANES ? x[i] : rounded(lane[i % LANES] + x[i]);
    for (size_t h = LANES / 2; h >= 1; h /= 2)
        for (size_t l = 0; l < h; l++)
            if (l + h < n)
                lane[l] = rounded(lane[l] + lane[l + h]);
    return lane[0];
}

/* Pairs of neighbours, an odd last one going up. */
static double tree(double *level, size_t count) {
    for (; count > 1; count = (count + 1) / 2)
        for (size_t i = 0; i < count; i += 2)
            level[i / 2] = i + 1 < count ? rounded(level[i] + level[i + 1]) : level[i];
    return level[0];
}

static double tree_sum(const double *x, size_t n) {
    static double level[MOST / BLOCK + 1];
    size_t count = 0;
    for (size_t i = 0; i < n; i += BLOCK)
        level[count++] = block_sum(x + i, n - i < BLOCK ? n - i : BLOCK);
    return tree(level, count);
}

struct part {
    double n, mean, squares;
};

static struct part part_of(const double *x, size_t n) {
    static double squares[BLOCK];
    struct part p = {(double)n, rounded(block_sum(x, n) / rounded((double)n)), 0};
    for (size_t i = 0; i < n; i++)
        squares[i] = rounded(x[i] - p.mean);
    double more = rounded(block_sum(squares, n) / rounded((double)n));
    p.mean = rounded(p.mean + more);
    for (size_t i = 0; i < n; i++) {
        double away = rounded(squares[i] - more);
        squares[i] = rounded(away * away);
    }
    p.squares = block_sum(squares, n);
    return p;
}

static struct part merged(struct part a, struct part b) {
    double n = a.n + b.n, away = rounded(b.mean - a.mean);
    struct part p = {n, 0, 0};
    p.mean = rounded(a.mean + rounded(away * rounded(b.n / n)));
    double between = rounded(rounded(away * away) * rounded(a.n * (b.n / n)));
    p.squares = rounded(rounded(a.squares + b.squares) + between);
    return p;
}

static double variance_of(const double *x, size_t n, double ddof) {
    static struct part level[MOST / BLOCK + 1];
    size_t count = 0;
    for (size_t i = 0; i < n; i += BLOCK)
        level[count++] = part_of(x + i, n - i < BLOCK ? n - i : BLOCK);
    for (; count > 1; count = (count + 1) / 2)
        for (size_t i = 0; i < count; i += 2)
            level[i / 2] = i + 1 < count ? merged(level[i], level[i + 1]) : level[i];
    return rounded(level[0].squares / rounded((double)n - ddof));
}

static double norm_of(const double *x, size_t n) {
    static double squares[MOST];
    for (size_t i = 0; i < n; i++)
        squares[i] = rounded(x[i] * x[i]);
    return rounded(sqrt(tree_sum(squares, n)));
}

static double length_of(const double *x, size_t n) {
    static double sizes[MOST];
    for (size_t i = 0; i < n; i++)
        sizes[i] = fabs(x[i]);
    return tree_sum(sizes, n);
}

static double chain_of(const double *x, size_t n) {
    double sum = x[0];
    for (size_t i = 1; i < n; i++)
        sum = rounded(sum + x[i]);
    return sum;
}

static double first_extreme(const double *x, size_t n, double sign) {
    size_t at = 0;
    for (size_t i = 1; i < n && !isnan(x[at]); i++)
        at = isnan(x[i]) || sign * x[i] > sign * x[at] ? i : at;
    return (double)at;
}

static double other_count(const double *x, size_t n) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += x[i] != 0;
    return (double)count;
}

static double oracle(int what, const double *x, size_t n) {
    switch (what) {
    case 0:
        return tree_sum(x, n);
    case 1:
        return rounded(tree_sum(x, n) / rounded((double)n));
    case 2:
        return variance_of(x, n, 0);
    case 3:
        return rounded(sqrt(variance_of(x, n, 1)));
    case 4:
        return norm_of(x, n);
    case 5:
        return length_of(x, n);
    case 6:
        return first_extreme(x, n, 1);
    case 7:
        return first_extreme(x, n, -1);
    case 8:
        return other_count(x, n);
    default:
        return chain_of(x, n);
    }
}

enum { FUNCTIONS = 10 };
static const char *const names[FUNCTIONS] = {"sum",    "mean",       "variance", "std",
                                             "norm 2", "norm 1",     "argmax",   "argmin",
                                             "count",  "sum_ordered"};

static ct_tensor *call(int what, const ct_tensor *t, int n, const int *axes) {
    switch (what) {
    case 0:
        return ct_sum_axes(t, n, axes, false);
    case 1:
        return ct_mean_axes(t, n, axes, false);
    case 2:
        return ct_variance_axes(t, n, axes, 0, false);
    case 3:
        return ct_std_axes(t, n, axes, 1, false);
    case 4:
        return ct_norm_axes(t, n, axes, 2, false);
    case 5:
        return ct_norm_axes(t, n, axes, 1, false);
    case 6:
        return ct_argmax(t, axes[0], false);
    case 7:
        return ct_argmin(t, axes[0], false);
    case 8:
        return ct_count_nonzero_axes(t, n, axes, false);
    default:
        return ct_sum_ordered_axes(t, n, axes, false);
    }
}

static bool takes_one(int what) {
    return what == 6 || what == 7;
}

/* A large mean, so that another way to centre shows; every 50th item the same, every 97th 0. */
static double value_at(uint64_t *state, size_t i) {
    double x = 300 + (double)(next_bits(state) >> 11) * 0x1p-53 * (i % 5 == 0 ? 100 : 1);
    return rounded(i % 50 == 0 ? 401 : i % 97 == 0 ? 0 : i % 3 == 0 ? -x : x);
}

static ct_tensor *make(const ct_scalar *scalar, int rank, const int64_t *shape) {
    static double values[4 * MOST];
    size_t count = 1;
    for (int i = 0; i < rank; i++)
        count *= (size_t)shape[i];
    ck_assert_uint_le(count, COUNT(values));
    uint64_t state = count;
    for (size_t i = 0; i < count; i++)
        values[i] = value_at(&state, i);
    ct_tensor *t = ct_from_doubles(scalar, rank, shape, count, values);
    ck_assert_msg(t != NULL, "%s", ct_error()->message);
    return t;
}

/* The items of result `row` in row-major order of the reduced axes. */
static size_t row_items(const double *all, int rank, const int64_t *shape, unsigned mask,
                        size_t row, double *items) {
    size_t at = 0, n = 0;
    int64_t index[CT_MAX_RANK] = {0};
    do {
        size_t here = 0;
        for (int i = 0; i < rank; i++)
            here = mask & 1u << i ? here : here * (size_t)shape[i] + (size_t)index[i];
        if (here == row)
            items[n++] = all[at];
        at++;
    } while (next_index(rank, shape, index));
    return n;
}

static bool same_number(double a, double b) {
    return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

static void check_row(int what, const ct_tensor *y, size_t row, const double *items, size_t n,
                      const char *how) {
    double found =
        y ? ct_dtype(y)->to_double(ct_dtype(y), (const char *)ct_data(y) + row * ct_dtype(y)->size)
          : 0;
    double right = oracle(what, items, n);
    ck_assert_msg(same_number(found, right), "%s, %s: item %zu is %a, not %a", names[what], how,
                  row, found, right);
}

static void check(const ct_tensor *t, int n, const int *axes, unsigned mask, const char *how) {
    static double all[4 * MOST], items[MOST];
    ct_tensor *y[FUNCTIONS] = {NULL};
    single = ct_dtype(t) == CT_F32;
    ck_assert_int_eq(ct_to_doubles(t, ct_count(t), all), CT_OK);
    for (int what = 0; what < FUNCTIONS; what++)
        if (!takes_one(what) || n == 1) {
            y[what] = call(what, t, n, axes);
            ck_assert_msg(y[what] != NULL, "%s, %s: %s", names[what], how, ct_error()->message);
        }
    size_t count = ct_count(y[0]);
    for (size_t row = 0; row < count; row += row < 4 ? 1 : 1 + count / 4) {
        size_t length = row_items(all, ct_rank(t), ct_shape(t), mask, row, items);
        for (int what = 0; what < FUNCTIONS; what++)
            if (y[what])
                check_row(what, y[what], row, items, length, how);
    }
    for (int what = 0; what < FUNCTIONS; what++)
        ct_free(y[what]);
}

static const struct reduction_case {
    int rank;
    int64_t shape[4];
    unsigned mask;
} cases[] = {
    {1, {1}, 1},
    {1, {2}, 1},
    {1, {15}, 1},
    {1, {17}, 1},
    {1, {1023}, 1},
    {1, {1024}, 1},
    {1, {1025}, 1},
    {1, {2049}, 1},
    {1, {3 * 1024}, 1},
    {1, {7 * 1024 + 5}, 1},
    {1, {66000}, 1},
    {2, {3, 5000}, 2},
    {2, {5000, 3}, 1},
    {2, {5000, 40}, 1},
    {2, {40, 3000}, 2},
    {2, {3000, 10}, 2},
    {2, {10, 3000}, 1},
    {3, {5, 7, 300}, 5},    /* scattered */
    {3, {40, 3, 60}, 5},    /* many rows of a scattered kind */
    {3, {90, 50, 20}, 5},   /* of more than a block each */
    {4, {3, 4, 5, 600}, 9}, /* outermost and innermost */
    {4, {6, 50, 7, 40}, 10},
};

static ct_tensor *laid_out(const struct reduction_case *c, const ct_scalar *scalar,
                           enum spread how) {
    return spread_out(make(scalar, c->rank, c->shape), how);
}

static int axes_of(unsigned mask, int rank, int *axes) {
    int n = 0;
    for (int i = 0; i < rank; i++)
        if (mask & 1u << i)
            axes[n++] = i;
    return n;
}

/* _i: a case. */
START_TEST(contract) {
    static const enum spread layouts[] = {DENSE, TRANSPOSED, FLIPPED, GAPS};
    const struct reduction_case *c = &cases[_i];
    int axes[4], n = axes_of(c->mask, c->rank, axes);
    for (int type = 0; type < 2; type++)
        for (int k = 0; k < COUNT(layouts); k++) {
            single = type == 0;
            ct_tensor *t = laid_out(c, type == 0 ? CT_F32 : CT_F64, layouts[k]);
            char how[32];
            snprintf(how, sizeof how, "case %d, layout %d", _i, (int)layouts[k]);
            check(t, n, axes, c->mask, how);
            if (c->rank == n)
                check(t, 1, (int[]){CT_ALL}, c->mask, how);
            ct_free(t);
        }
    ck_assert_uint_eq(ct_live_blocks(), 0);
}
END_TEST

static void set_threads(const char *number) {
    setenv("CT_NUM_THREADS", number, 1);
}

static void one_thread(void) {
    set_threads("1");
}

static void three_threads(void) {
    set_threads("3");
}

static void seven_threads(void) {
    set_threads("7");
}

/* Duals and integers in odd layouts: the bits of the compact copy. */
START_TEST(layouts_of_others) {
    static const ct_scalar *const scalars[] = {CT_I32, CT_I64, CT_DUAL64, CT_DUAL32X8};
    const struct reduction_case *c = &cases[_i];
    int axes[4], n = axes_of(c->mask, c->rank, axes);
    for (int s = 0; s < COUNT(scalars); s++) {
        uint64_t state = 4;
        bool whole = scalars[s]->traits & CT_INTEGER;
        ct_tensor *t = whole ? random_index(&state, scalars[s], c->rank, c->shape, -9, 9)
                             : make(scalars[s], c->rank, c->shape);
        ct_tensor *dense = ct_compact(t);
        t = spread_out(t, TRANSPOSED);
        for (int what = 0; what < FUNCTIONS; what++) {
            if ((takes_one(what) && n != 1) || (whole && (what == 2 || what == 3 || what == 4)))
                continue;
            ct_tensor *y = call(what, t, n, axes), *z = call(what, dense, n, axes);
            ck_assert_msg(y && z, "%s of %s: %s", names[what], scalars[s]->name,
                          ct_error()->message);
            size_t bytes = ct_count(y) * ct_dtype(y)->size;
            char *a = malloc(bytes), *b = malloc(bytes);
            ct_to_items(y, bytes, a);
            ct_to_items(z, bytes, b);
            ck_assert_msg(memcmp(a, b, bytes) == 0 || (what == 3 && ct_count(t) == 1), "%s of %s",
                          names[what], scalars[s]->name);
            free(a);
            free(b);
            ct_free(y);
            ct_free(z);
        }
        ct_free(t);
        ct_free(dense);
    }
}
END_TEST

// --- accuracy

static double item_of(ct_tensor *t) {
    double x = ct_item(t);
    ct_free(t);
    return x;
}

static ct_tensor *row_of(const ct_scalar *scalar, size_t n, const double *values) {
    ct_tensor *t = ct_from_doubles(scalar, 1, &(int64_t){(int64_t)n}, n, values);
    ck_assert_msg(t != NULL, "%s", ct_error()->message);
    return t;
}

static double norm_at(const ct_scalar *scalar, double order, size_t n, const double *values) {
    ct_tensor *t = row_of(scalar, n, values);
    ct_tensor *y = ct_norm(t, 0, order, false);
    ck_assert_msg(y != NULL, "%s", ct_error()->message);
    ct_free(t);
    return item_of(y);
}

#define NORM(scalar, order, ...) norm_at(scalar, order, ITEMS(__VA_ARGS__))

static bool within(double x, double right, double relative) {
    return fabs(x - right) <= relative * fabs(right);
}

/* B009 and its kind: at both ends of the range, in both types, in every order. */
START_TEST(norms_keep_in_range) {
    const double root2 = 1.4142135623730951, tiny = 0x1p-1074, small = (double)0x1p-149f;
    ck_assert(NORM(CT_F64, 2, 1e300, 1e300) == 1.4142135623730951e300);
    ck_assert(within(NORM(CT_F64, 2, 1e200, -1e200), root2 * 1e200, 1e-15));
    ck_assert(within(NORM(CT_F64, 2, 1e-200, 1e-200), root2 * 1e-200, 1e-15));
    ck_assert(within(NORM(CT_F64, 2, 3e-310, 4e-310), 5e-310, 1e-13)); /* subnormal */
    ck_assert(NORM(CT_F64, 2, 3 * tiny, 4 * tiny) == 5 * tiny);
    ck_assert(NORM(CT_F64, 2, tiny) == tiny);
    ck_assert(NORM(CT_F64, 2, 0x1.fffffffffffffp1023) == 0x1.fffffffffffffp1023);
    ck_assert(NORM(CT_F64, 2, 0x1.8p1023, 0x1.8p1023) == INF); /* the norm itself is */
    ck_assert(within(NORM(CT_F32, 2, 1e30, 1e30), (double)(float)(root2 * 1e30), 1e-7));
    ck_assert(within(NORM(CT_F32, 2, 1e-30, 1e-30), (double)(float)(root2 * 1e-30), 1e-7));
    ck_assert(NORM(CT_F32, 2, 3 * small, 4 * small) == 5 * small);
    ck_assert(within(NORM(CT_F64, 3, 1e200, 1e200), cbrt(2) * 1e200, 1e-14));
    ck_assert(within(NORM(CT_F64, 3, 1e-200, 1e-200), cbrt(2) * 1e-200, 1e-14));
    ck_assert(within(NORM(CT_F64, 0.5, 1e300, 1e300), 4e300, 1e-14));
    ck_assert(within(NORM(CT_F64, 1000, 3, 3), 3 * pow(2, 0.001), 1e-14));
    ck_assert(within(NORM(CT_F64, 5000, 0.1, 0.1), 0.1 * pow(2, 0.0002), 1e-14));
    ck_assert(NORM(CT_F64, 1, 1e308, 1e308) == INF);
    ck_assert(NORM(CT_F64, INF, -3, 2) == 3 && NORM(CT_F64, -INF, -3, 2) == 2);
    ck_assert(NORM(CT_F64, 0, 0, -0.0, 5, QNAN) == 2);
    ck_assert(NORM(CT_F64, 2, 3, 4) == 5 && NORM(CT_F64, 2, 0, -0.0) == 0);
    for (double order = 0.5; order < 5; order++) {
        ck_assert(isnan(NORM(CT_F64, order, 1, QNAN)) && isnan(NORM(CT_F64, order, INF, QNAN)));
        ck_assert(NORM(CT_F64, order, 1, -INF, 2) == INF);
        ck_assert(NORM(CT_F64, order, 0, 0) == 0 && !signbit(NORM(CT_F64, order, -0.0)));
    }
    ck_assert(isnan(NORM(CT_F64, INF, 1, QNAN)) && isnan(NORM(CT_F64, -INF, 1, QNAN)));
}
END_TEST

/* Scaling is by powers of two: the norm of scaled items is the scaled norm, to the last bit, and a
   row that needs it does not touch its neighbours. */
START_TEST(norms_scale_exactly) {
    uint64_t state = 8;
    double x[3][100];
    for (int i = 0; i < 100; i++) {
        x[0][i] = 1 + (double)(next_bits(&state) >> 11) * 0x1p-53;
        x[1][i] = ldexp(x[0][i], -700);
        x[2][i] = ldexp(x[0][i], 800);
    }
    ct_tensor *t = ct_from_doubles(CT_F64, SHAPE(3, 100), 300, x[0]);
    ct_tensor *y = ct_norm(t, 1, 2, false), *turned = ct_transpose(t), *dense = ct_compact(turned);
    ct_tensor *z = ct_norm(dense, 0, 2, false);
    double found[3], columns[3];
    ct_to_doubles(y, 3, found);
    ct_to_doubles(z, 3, columns);
    for (int i = 0; i < 3; i++)
        ck_assert_msg(found[i] == ldexp(found[0], i == 0   ? 0
                                                  : i == 1 ? -700
                                                           : 800) &&
                          columns[i] == found[i],
                      "row %d: %a, %a", i, found[i], columns[i]);
    ct_tensor *all[] = {t, y, turned, dense, z};
    for (int i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
}
END_TEST

/* B100, B101, and a sum of 1e8 ones, as far as memory is worth it: by zero strides. */
START_TEST(sums_of_f32_do_not_stick) {
    ct_tensor *one = ct_ones(CT_F32, SHAPE(1, 1));
    ct_tensor *tall = ct_broadcast_to(one, SHAPE((1 << 24) + 1000, 2));
    ct_tensor *sum = ct_sum(tall, 0, false), *mean = ct_mean(tall, 0, false);
    assert_items(sum, SHAPE(2), ITEMS(16778216, 16778216));
    assert_items(mean, SHAPE(2), ITEMS(1, 1));
    ct_tensor *row = ct_broadcast_to(one, SHAPE(1, 100000000));
    ck_assert(item_of(ct_sum(row, CT_ALL, false)) == 1e8);
    ct_tensor *all[] = {one, tall, sum, mean, row};
    for (int i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
}
END_TEST

static double variance_at(const ct_scalar *scalar, int64_t ddof, size_t n, const double *values) {
    ct_tensor *t = row_of(scalar, n, values);
    ct_tensor *y = ct_variance(t, 0, ddof, false);
    ck_assert_msg(y != NULL, "%s", ct_error()->message);
    ct_free(t);
    return item_of(y);
}

/* B103 and its kind: a mean that dwarfs the spread. */
START_TEST(variances_of_large_means) {
    static double x[100000];
    ck_assert(variance_at(CT_F32, 0, ITEMS(40000, 40001, 40002, 40003)) == 1.25);
    for (int i = 0; i < 8; i++)
        x[i] = 2000 + 0.125 * i;
    ck_assert(variance_at(CT_F32, 0, 8, x) == 5.25 / 64);
    for (int i = 0; i < 256; i++)
        x[i] = 1234;
    ck_assert(variance_at(CT_F32, 0, 256, x) == 0 && variance_at(CT_F64, 1, 256, x) == 0);
    for (int i = 0; i < 100000; i++)
        x[i] = 1e9 + i % 2;
    ck_assert(variance_at(CT_F64, 0, 100000, x) == 0.25);
    for (int i = 0; i < 100000; i++)
        x[i] = 1e6 + i % 2;
    ck_assert(within(variance_at(CT_F32, 0, 100000, x), 0.25, 1e-6));
    for (int i = 0; i < 100000; i++) /* blocks far from each other */
        x[i] = i;
    ck_assert(within(variance_at(CT_F64, 0, 100000, x), (1e10 - 1) / 12, 1e-15));
    ck_assert(within(variance_at(CT_F32, 0, 100000, x), (1e10 - 1) / 12, 1e-6));
    for (int i = 0; i < 100000; i++) /* no number of the type, and all alike */
        x[i] = 0.1;
    ck_assert(variance_at(CT_F64, 0, 1000, x) == 0 && variance_at(CT_F32, 0, 100000, x) == 0);
    ck_assert(isnan(variance_at(CT_F64, 1, ITEMS(5))) && variance_at(CT_F64, 0, ITEMS(5)) == 0);
    ck_assert(isnan(variance_at(CT_F64, 2, ITEMS(5, 6))));
    ck_assert(isnan(variance_at(CT_F64, 7, ITEMS(5, 6))));
    ck_assert(isnan(variance_at(CT_F64, 0, ITEMS(5, INF))));
    ck_assert(isnan(variance_at(CT_F64, 0, ITEMS(5, QNAN))));
    ck_assert(variance_at(CT_F64, -1, ITEMS(1, 2)) == 0.5 / 3);
}
END_TEST

Suite *suite_reduce_bits(void) {
    Suite *suite = suite_create("reduce_bits");
    static const struct {
        const char *name;
        void (*setup)(void);
    } threads[] = {
        {"1 thread", one_thread}, {"3 threads", three_threads}, {"7 threads", seven_threads}};
    for (int i = 0; i < COUNT(threads); i++) {
        TCase *tc = tcase_create(threads[i].name);
        tcase_set_timeout(tc, 60);
        tcase_add_checked_fixture(tc, threads[i].setup, NULL);
        tcase_add_loop_test(tc, contract, 0, COUNT(cases));
        suite_add_tcase(suite, tc);
    }
    TCase *tc = tcase_create("bits");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, layouts_of_others, 0, COUNT(cases));
    tcase_add_test(tc, norms_keep_in_range);
    tcase_add_test(tc, norms_scale_exactly);
    tcase_add_test(tc, sums_of_f32_do_not_stick);
    tcase_add_test(tc, variances_of_large_means);
    suite_add_tcase(suite, tc);
    return suite;
}
