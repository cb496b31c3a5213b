/* Strict chains and folds with a callback. */

#include "index_tools.h"

#include "dual/ct_dual.h"
#include "fixed/ct_fixed.h"
#include "tensor/ct_alloc.h"
#include "tensor/ct_ops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_cumulative(void);

static void no_leak(void) {
    ck_assert_uint_eq(ct_live_blocks(), 0);
}

// --- cumulative sums and products

static const ct_scalar *const scalars[] = {CT_F32,    CT_F64,    CT_I32,      CT_I64,
                                           CT_DUAL32, CT_DUAL64, CT_DUAL64X4, CT_FIXED};

/* Each item op the one before it: by the op on tensors of rank 0, one at a time. */
static void check_chain(enum ct_op op, const ct_tensor *t, int axis, const ct_tensor *y,
                        const char *what) {
    struct items x = items_of(t), found = items_of(y);
    ck_assert(found.rank == x.rank && found.count == x.count && found.scalar == x.scalar);
    int64_t index[CT_MAX_RANK] = {0};
    if (x.count > 0)
        do {
            int64_t before[CT_MAX_RANK];
            memcpy(before, index, sizeof before);
            char *right = item_at(&x, index);
            ct_tensor *made = NULL;
            if (before[axis]-- > 0) {
                ct_tensor *a = ct_from_items(x.scalar, 0, NULL, 1, item_at(&found, before));
                ct_tensor *b = ct_from_items(x.scalar, 0, NULL, 1, right);
                made = ct_apply(op, 2, (const ct_tensor *[]){a, b});
                right = (char *)(uintptr_t)ct_data(made);
                ct_free(a);
                ct_free(b);
            }
            ck_assert_msg(memcmp(item_at(&found, index), right, x.scalar->size) == 0,
                          "%s of %s, axis %d", what, x.scalar->name, axis);
            ct_free(made);
        } while (next_index(x.rank, x.shape, index));
    drop_items(&x);
    drop_items(&found);
}

static ct_tensor *small(uint64_t *state, const ct_scalar *scalar, int rank, const int64_t *shape) {
    if (scalar->base) {
        size_t n = scalar->size / scalar->base->size;
        ct_tensor *parts[16] = {NULL};
        for (size_t i = 0; i < n; i++)
            parts[i] = small(state, scalar->base, rank, shape);
        ct_tensor *t = ct_from_components(scalar, n, (const ct_tensor *const *)parts);
        for (size_t i = 0; i < n; i++)
            ct_free(parts[i]);
        return t;
    }
    double values[512];
    size_t count = 1;
    for (int i = 0; i < rank; i++)
        count *= (size_t)shape[i];
    ck_assert_uint_le(count, COUNT(values));
    for (size_t i = 0; i < count; i++)
        values[i] = scalar->traits & CT_INTEGER
                        ? (double)next_below(state, 3) - 1
                        : (double)(next_bits(state) >> 11) * 0x1p-53 * 1.4 - 0.2;
    return ct_from_doubles(scalar, rank, shape, count, values);
}

START_TEST(cumulative) {
    static const struct shape_case shapes[] = {
        {1, {1}}, {1, {37}}, {1, {0}}, {2, {5, 40}}, {2, {0, 3}}, {3, {3, 4, 5}}, {3, {2, 1, 3}}};
    enum spread how = (enum spread)_i;
    uint64_t state = 3;
    for (int s = 0; s < COUNT(scalars); s++)
        for (int k = 0; k < COUNT(shapes); k++) {
            ct_tensor *t =
                spread_out(small(&state, scalars[s], shapes[k].rank, shapes[k].shape), how);
            for (int axis = 0; axis < ct_rank(t); axis++) {
                ct_tensor *sum = ct_cumsum(t, axis), *product = ct_cumprod(t, axis - ct_rank(t));
                ck_assert_msg(sum && product, "%s", ct_error()->message);
                ck_assert(ct_is_dense(sum) && ct_is_dense(product));
                check_chain(CT_OP_add, t, axis, sum, "cumsum");
                check_chain(CT_OP_mul, t, axis, product, "cumprod");
                ct_free(sum);
                ct_free(product);
            }
            ct_free(t);
        }
    no_leak();
}
END_TEST

/* Long and wide ones, on threads. */
START_TEST(cumulative_large) {
    setenv("CT_NUM_THREADS", "3", 1);
    static double x[300000], y[300000];
    static const struct shape_case shapes[] = {
        {2, {300000, 1}}, {2, {1, 300000}}, {2, {300, 1000}}, {2, {5000, 60}}};
    uint64_t state = 9;
    for (int i = 0; i < COUNT(x); i++)
        x[i] = (double)(next_bits(&state) >> 11) * 0x1p-53;
    for (int k = 0; k < COUNT(shapes); k++)
        for (int axis = 0; axis < 2; axis++) {
            int64_t rows = shapes[k].shape[0], columns = shapes[k].shape[1];
            ct_tensor *t = ct_from_doubles(CT_F64, 2, shapes[k].shape, COUNT(x), x);
            t = spread_out(t, k % 2 ? TRANSPOSED : DENSE);
            ct_tensor *sum = ct_cumsum(t, axis);
            ct_to_doubles(sum, COUNT(x), y);
            for (int64_t i = 0; i < rows; i++)
                for (int64_t j = 0; j < columns; j++) {
                    int64_t at = i * columns + j, before = axis == 0 ? at - columns : at - 1;
                    double right = (axis == 0 ? i : j) > 0 ? y[before] + x[at] : x[at];
                    ck_assert(y[at] == right);
                }
            ct_free(t);
            ct_free(sum);
        }
}
END_TEST

START_TEST(cumulative_all) {
    ct_tensor *t = counting(CT_I32, SHAPE(2, 3)), *turned = ct_transpose(t);
    assert_and_free(ct_cumsum(t, CT_ALL), SHAPE(6), ITEMS(0, 1, 3, 6, 10, 15));
    assert_and_free(ct_cumsum(turned, CT_ALL), SHAPE(6), ITEMS(0, 3, 4, 8, 10, 15));
    assert_and_free(ct_cumprod(t, 0), SHAPE(2, 3), ITEMS(0, 1, 2, 0, 4, 10));
    ct_tensor *one = ct_from_double(CT_F64, 7), *none_at_all = ct_zeros(CT_F64, SHAPE(3, 0));
    assert_and_free(ct_cumsum(one, CT_ALL), SHAPE(1), ITEMS(7));
    assert_and_free(ct_cumprod(none_at_all, CT_ALL), SHAPE(0), 0, NULL);
    assert_and_free(ct_cumprod(none_at_all, 0), SHAPE(3, 0), 0, NULL);
    /* -0 and what IEEE says. */
    double special[] = {-0.0, -0.0, 0.0, INF, -INF, 1};
    ct_tensor *row = ct_from_doubles(CT_F64, SHAPE(6), ITEMS(-0.0, -0.0, 0.0, INF, -INF, 1));
    ct_tensor *sum = ct_cumsum(row, 0);
    double found[6];
    ct_to_doubles(sum, 6, found);
    ck_assert(signbit(found[0]) && signbit(found[1]) && !signbit(found[2]) && found[3] == INF);
    ck_assert(isnan(found[4]) && isnan(found[5]) && special[0] == 0);
    ct_tensor *all[] = {t, turned, one, none_at_all, row, sum};
    for (int i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
    no_leak();
}
END_TEST

/* The first partial result that does not fit, and of several the lowest index. */
START_TEST(cumulative_overflow) {
    ct_tensor *t =
        ct_from_doubles(CT_I32, SHAPE(2, 3), ITEMS(1, 2, 2147483646, 2147483647, 1, -2147483647));
    expect_failure(ct_cumsum(t, 1), CT_EOVERFLOW, "ct_cumsum",
                   "the cumulative sum at index [0, 2] does not fit i32");
    expect_failure(ct_cumsum(t, 0), CT_EOVERFLOW, "ct_cumsum",
                   "the cumulative sum at index [1, 0] does not fit i32");
    expect_failure(ct_cumprod(t, CT_ALL), CT_EOVERFLOW, "ct_cumprod",
                   "the cumulative product at index [2] does not fit i32");
    ct_tensor *row = ct_from_doubles(CT_I64, SHAPE(3), ITEMS(0x1p62, 0x1p62, -0x1p62));
    expect_failure(ct_cumsum(row, -1), CT_EOVERFLOW, "ct_cumsum",
                   "the cumulative sum at index [1] does not fit i64");
    /* A later row fails earlier: the lower index wins. */
    ct_tensor *wide = ct_zeros(CT_I32, SHAPE(100, 50));
    ct_set(wide, SHAPE(70, 1), 2147483647);
    ct_set(wide, SHAPE(70, 2), 1);
    ct_set(wide, SHAPE(3, 40), 2147483647);
    ct_set(wide, SHAPE(3, 45), 1);
    expect_failure(ct_cumsum(wide, 1), CT_EOVERFLOW, "ct_cumsum",
                   "the cumulative sum at index [3, 45] does not fit i32");
    expect_failure(ct_sum_ordered(row, 0, false), CT_EOVERFLOW, "ct_sum_ordered",
                   "the ordered sum does not fit i64");
    expect_failure(ct_sum_ordered(t, 0, true), CT_EOVERFLOW, "ct_sum_ordered",
                   "the ordered sum at index [0, 0] does not fit i32");
    ct_tensor *fits = ct_sum(row, 0, false); /* the exact sum is another matter */
    ck_assert(fits && ct_item(fits) == 0x1p62);
    ct_tensor *all[] = {t, row, wide, fits};
    for (int i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
    no_leak();
}
END_TEST

START_TEST(ordered_dot) {
    uint64_t state = 12;
    static double x[1000], y[1000];
    for (int i = 0; i < COUNT(x); i++) {
        x[i] = (double)(next_bits(&state) >> 11) * 0x1p-53 - 0.3;
        y[i] = (double)(next_bits(&state) >> 11) * 0x1p-53 - 0.3;
    }
    static const size_t sizes[] = {1, 2, 255, 256, 257, 1000};
    for (int k = 0; k < COUNT(sizes); k++)
        for (enum spread how = DENSE; how < REPEATED; how++) {
            int64_t n = (int64_t)sizes[k];
            ct_tensor *a = spread_out(ct_from_doubles(CT_F64, 1, &n, sizes[k], x), how);
            ct_tensor *b = spread_out(ct_from_doubles(CT_F64, 1, &n, sizes[k], y), how);
            double dot = x[0] * y[0], sum = x[0];
            for (size_t i = 1; i < sizes[k]; i++) {
                double product = x[i] * y[i];
                dot += product;
                sum += x[i];
            }
            ct_tensor *d = ct_dot_ordered(a, b), *s = ct_sum_ordered(a, CT_ALL, false);
            ck_assert(ct_item(d) == dot && ct_rank(d) == 0 && ct_item(s) == sum);
            ct_tensor *all[] = {a, b, d, s};
            for (int i = 0; i < COUNT(all); i++)
                ct_free(all[i]);
        }
    ct_tensor *empty = ct_zeros(CT_F64, SHAPE(0)), *two = ct_ones(CT_F64, SHAPE(2));
    ct_tensor *square = ct_ones(CT_F64, SHAPE(2, 2)), *floats = ct_ones(CT_F32, SHAPE(2));
    ct_tensor *masks = ct_ones(CT_BOOL, SHAPE(2));
    ct_tensor *big = ct_full(CT_I32, SHAPE(3), 46341), *minus = ct_full(CT_I32, SHAPE(2), 40000);
    assert_and_free(ct_dot_ordered(empty, empty), 0, NULL, ITEMS(0));
    expect_failure(ct_dot_ordered(two, empty), CT_ESHAPE, "ct_dot_ordered",
                   "dot_ordered needs two vectors of one length: [2] and [0]");
    expect_failure(ct_dot_ordered(two, square), CT_ESHAPE, "ct_dot_ordered",
                   "dot_ordered needs two vectors of one length: [2] and [2, 2]");
    expect_failure(ct_dot_ordered(two, floats), CT_EDTYPE, "ct_dot_ordered",
                   "dot_ordered needs one scalar type: f64 and f32 were given");
    expect_failure(ct_dot_ordered(masks, masks), CT_EDTYPE, "ct_dot_ordered",
                   "bool has no ordered dot");
    expect_failure(ct_dot_ordered(big, big), CT_EOVERFLOW, "ct_dot_ordered",
                   "the ordered dot does not fit i32 at index [0]");
    expect_failure(ct_dot_ordered(minus, minus), CT_EOVERFLOW, "ct_dot_ordered",
                   "the ordered dot does not fit i32 at index [1]");
    expect_failure(ct_dot_ordered(NULL, two), CT_EINVAL, "ct_dot_ordered", "an operand is NULL");
    ct_tensor *all[] = {empty, two, square, floats, masks, big, minus};
    for (int i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
    no_leak();
}
END_TEST

// --- folds

struct seen {
    double items[64];
    int calls;
    int fail_at;
    ct_status status;
};

/* acc = 10 acc + x in f64, of i32 items: tells the order. */
static ct_status digits(void *context, void *accumulator, const void *item) {
    struct seen *seen = context;
    double sum;
    int32_t x;
    if (seen->calls == seen->fail_at)
        return seen->status;
    memcpy(&sum, accumulator, sizeof sum);
    memcpy(&x, item, sizeof x);
    seen->items[seen->calls++] = x;
    sum = 10 * sum + x;
    memcpy(accumulator, &sum, sizeof sum);
    return CT_OK;
}

START_TEST(folds) {
    const double zero = 0, seven = 7;
    struct seen seen = {.fail_at = -1};
    ct_tensor *t = counting(CT_I32, SHAPE(2, 3));
    for (enum spread how = DENSE; how < REPEATED; how++) {
        ct_tensor *x = spread_out(ct_copy(t), how);
        seen.calls = 0;
        assert_and_free(ct_fold(x, CT_ALL, CT_F64, &seven, digits, &seen), 0, NULL, ITEMS(7012345));
        ck_assert_int_eq(seen.calls, 6);
        for (int i = 0; i < 6; i++)
            ck_assert(seen.items[i] == i); /* row-major */
        seen.calls = 0;
        assert_and_free(ct_fold(x, 0, CT_F64, &zero, digits, &seen), SHAPE(3), ITEMS(3, 14, 25));
        for (int i = 0; i < 6; i++)
            ck_assert(seen.items[i] == i); /* of the tensor, whatever the axis */
        seen.calls = 0;
        assert_and_free(ct_fold(x, -1, CT_F64, &zero, digits, &seen), SHAPE(2), ITEMS(12, 345));
        seen.calls = 0;
        assert_and_free(ct_fold_axes(x, 0, NULL, CT_F64, &seven, digits, &seen), SHAPE(2, 3),
                        ITEMS(70, 71, 72, 73, 74, 75));
        ct_free(x);
    }
    ct_tensor *one = ct_from_double(CT_I32, 5), *none_at_all = ct_zeros(CT_I32, SHAPE(0, 2));
    seen.calls = 0;
    assert_and_free(ct_fold(one, CT_ALL, CT_F64, &seven, digits, &seen), 0, NULL, ITEMS(75));
    seen.calls = 0;
    assert_and_free(ct_fold(none_at_all, 0, CT_F64, &seven, digits, &seen), SHAPE(2), ITEMS(7, 7));
    assert_and_free(ct_fold(none_at_all, 1, CT_F64, &seven, digits, &seen), SHAPE(0), 0, NULL);
    ck_assert_int_eq(seen.calls, 0); /* never on nothing */
    ct_free(t);
    ct_free(one);
    ct_free(none_at_all);
    no_leak();
}
END_TEST

START_TEST(folds_that_fail) {
    const double zero = 0;
    struct seen seen = {.fail_at = 4, .status = CT_EDOMAIN};
    ct_tensor *t = counting(CT_I32, SHAPE(2, 3));
    expect_failure(ct_fold(t, 0, CT_F64, &zero, digits, &seen), CT_EDOMAIN, "ct_fold",
                   "the callback returned CT_EDOMAIN at index [1, 1]");
    seen.calls = 0;
    seen.status = (ct_status)1000;
    expect_failure(ct_fold_axes(t, AXES(1), CT_F64, &zero, digits, &seen), CT_EINVAL,
                   "ct_fold_axes",
                   "the callback returned 1000, which is no status, at index [1, 1]");
    expect_failure(ct_fold(t, 0, NULL, &zero, digits, &seen), CT_EINVAL, "ct_fold",
                   "the accumulator's scalar type is NULL");
    expect_failure(ct_fold(t, 0, CT_F64, NULL, digits, &seen), CT_EINVAL, "ct_fold",
                   "the initial item is NULL");
    expect_failure(ct_fold(t, 0, CT_F64, &zero, NULL, &seen), CT_EINVAL, "ct_fold",
                   "the callback is NULL");
    expect_failure(ct_fold(t, 2, CT_F64, &zero, digits, &seen), CT_EAXIS, "ct_fold",
                   "the axis 2 is out of range for a tensor of rank 2");
    expect_failure(ct_fold(NULL, 0, CT_F64, &zero, digits, &seen), CT_EINVAL, "ct_fold",
                   "an operand is NULL");
    ct_free(t);
    no_leak();
}
END_TEST

/* The callback frees the tensor that it is given items of. */
static ct_status frees(void *context, void *accumulator, const void *item) {
    ct_tensor **t = context;
    ct_free(*t);
    *t = NULL;
    int64_t count;
    memcpy(&count, accumulator, sizeof count);
    count += *(const int32_t *)item;
    memcpy(accumulator, &count, sizeof count);
    return CT_OK;
}

START_TEST(fold_of_what_goes_away) {
    const int64_t zero = 0;
    ct_tensor *t = counting(CT_I32, SHAPE(2, 3));
    assert_and_free(ct_fold(t, CT_ALL, CT_I64, &zero, frees, &t), 0, NULL, ITEMS(15));
    no_leak();
}
END_TEST

Suite *suite_cumulative(void) {
    Suite *suite = suite_create("cumulative");
    TCase *tc = tcase_create("cumulative");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, cumulative, 0, SPREADS);
    tcase_add_test(tc, cumulative_large);
    tcase_add_test(tc, cumulative_all);
    tcase_add_test(tc, cumulative_overflow);
    tcase_add_test(tc, ordered_dot);
    tcase_add_test(tc, folds);
    tcase_add_test(tc, folds_that_fail);
    tcase_add_test(tc, fold_of_what_goes_away);
    suite_add_tcase(suite, tc);
    return suite;
}
