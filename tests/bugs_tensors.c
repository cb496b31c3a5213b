/* B, C, E, F: what the reports say of tensors alone. */
#include "bugs.h"

#include <stdio.h>
#include <string.h>

#include "autodiff/ct_var_ops.h"
#include "case_tools.h"
#include "cotangent.h"

enum { MOST_LANES = 67 };

static ct_tensor *integers(const ct_scalar *scalar, size_t count, const int64_t *values) {
    int64_t extent = (int64_t)count;
    ct_tensor *t = ct_from_i64s(scalar, 1, &extent, count, values);
    ck_assert_msg(t != NULL, "%s", ct_error()->message);
    return t;
}
#define I(scalar, ...) integers(scalar, COUNT(((int64_t[]){__VA_ARGS__})), (int64_t[]){__VA_ARGS__})

static void expect_integers(ct_tensor *t, size_t count, const int64_t *wanted) {
    int64_t items[16];
    ck_assert_msg(t != NULL, "%s", ct_error()->message);
    ck_assert_uint_eq(ct_count(t), count);
    ck_assert_int_eq(ct_to_i64s(t, count, items), CT_OK);
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(items[i] == wanted[i], "item %zu is %lld, not %lld", i, (long long)items[i],
                      (long long)wanted[i]);
    ct_free(t);
}
#define EXPECT_I(t, ...)                                                                           \
    expect_integers(t, COUNT(((int64_t[]){__VA_ARGS__})), (int64_t[]){__VA_ARGS__})

/* A call that must fail with this code. */
static void expect_none(ct_tensor *t, ct_status code) {
    ck_assert_ptr_null(t);
    ck_assert_msg(ct_error()->code == code, "%s", ct_error()->message);
    ct_error_clear();
}

/* ---- reductions */

START_TEST(B010_B011_spread_of_equal_and_of_single_items) {
    ct_tensor *same = T1(1, 1, 1), *one = T1(5);
    EXPECT("std of equal items", ct_std(same, CT_ALL, 1, false), 0, 0);
    EXPECT("variance of one item, ddof 1", ct_variance(one, 0, 1, false), 0, QNAN);
    EXPECT("variance of one item, ddof 0", ct_variance(one, 0, 0, false), 0, 0);
    EXPECT("std of one item, ddof 0", ct_std(one, 0, 0, false), 0, 0);
    ct_free(same);
    ct_free(one);
}
END_TEST

START_TEST(B061_sums_and_means_of_integers) {
    ct_tensor *large = I(CT_I32, INT32_MAX, INT32_MAX, INT32_MAX), *few = I(CT_I64, 1, 2);
    ct_tensor *fits = I(CT_I32, INT32_MAX, 1, -1), *minus = I(CT_I64, -1, -2);
    ct_tensor *flags = T1(1, 1, 1), *truth = ct_astype(flags, CT_BOOL);
    expect_none(ct_sum(large, CT_ALL, false), CT_EOVERFLOW);
    EXPECT_I(ct_sum(fits, CT_ALL, false), INT32_MAX);
    EXPECT_I(ct_mean(large, CT_ALL, false), INT32_MAX);
    EXPECT_I(ct_mean(few, CT_ALL, false), 1); /* towards zero, and so documented */
    EXPECT_I(ct_mean(minus, CT_ALL, false), -1);
    EXPECT_I(ct_count_nonzero(truth, CT_ALL, false), 3);
    expect_none(ct_sum(truth, CT_ALL, false), CT_EDTYPE);
    ct_tensor *all[] = {large, few, fits, minus, flags, truth};
    for (size_t i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
}
END_TEST

START_TEST(B068_B093_argmax_of_rank_0_ties_nothing_and_NaN) {
    ct_tensor *scalar = T0(5), *ties = T1(2, 5, 5), *nan = T1(1, QNAN, 3, QNAN);
    ct_tensor *empty = ct_zeros(CT_F64, 2, (int64_t[]){0, 3});
    EXPECT_I(ct_argmax(scalar, CT_ALL, false), 0);
    EXPECT_I(ct_argmax(ties, 0, false), 1);
    EXPECT_I(ct_argmax(nan, 0, false), 1);
    EXPECT_I(ct_argmin(nan, 0, false), 1);
    ct_tensor *none = ct_argmax(empty, 1, false);
    ck_assert_msg(none != NULL, "%s", ct_error()->message);
    ck_assert_int_eq(ct_extent(none, 0), 0);
    expect_none(ct_argmax(empty, 0, false), CT_EDOMAIN);
    /* A NaN at each place of each length: lanes and tails agree. */
    for (int64_t n = 1; n <= MOST_LANES; n++) {
        ct_tensor *t = ct_arange(CT_F32, 0, (double)n, 1);
        for (int64_t at = n - 1; at >= 0; at--) {
            ct_set(t, 1, &at, QNAN);
            EXPECT_I(ct_argmax(t, 0, false), at);
        }
        ct_free(t);
    }
    ct_tensor *all[] = {scalar, ties, nan, empty, none};
    for (size_t i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
}
END_TEST

START_TEST(B026_products_with_zeros) {
    ct_tensor *rows = T2(3, 2, 2, 0, 0, 0, 3, 5), *one = T1(0);
    EXPECT("rows", ct_prod(rows, 1, false), 0, 0, 0, 15);
    EXPECT("one zero", ct_prod(one, 0, false), 0, 0);
    ct_free(rows);
    ct_free(one);
}
END_TEST

/* ---- shapes and windows */

START_TEST(B070_reshape_of_nothing) {
    ct_tensor *t = ct_zeros(CT_F64, 2, (int64_t[]){0, 3});
    ct_tensor *y = ct_reshape(t, 2, (int64_t[]){-1, 3});
    ck_assert_int_eq(ct_extent(y, 0), 0);
    expect_none(ct_reshape(t, 2, (int64_t[]){0, -1}), CT_ESHAPE);
    ct_free(t);
    ct_free(y);
}
END_TEST

START_TEST(B082_sliding_windows) {
    ct_tensor *x = T1(1, 2, 3, 4, 5, 6), *windows = ct_unfold(x, 0, 3, 1);
    EXPECT("products", ct_prod(windows, 1, false), 0, 6, 24, 60, 120);
    ck_assert(ct_shares_storage(x, windows));
    ct_fill(windows, 0); /* and x is as it was */
    EXPECT("x", ct_copy(x), 0, 1, 2, 3, 4, 5, 6);
    ct_free(x);
    ct_free(windows);
}
END_TEST

START_TEST(B084_counts_that_wrap) {
    const int64_t huge = INT64_C(1) << 61;
    expect_none(ct_zeros(CT_F64, 4, (int64_t[]){2, 2, 1, huge}), CT_EOVERFLOW);
    expect_none(ct_zeros(CT_BOOL, 2, (int64_t[]){INT64_C(1) << 32, INT64_C(1) << 32}),
                CT_EOVERFLOW);
    expect_none(ct_zeros(CT_BOOL, 2, (int64_t[]){INT64_C(3037000500), INT64_C(3037000500)}),
                CT_EOVERFLOW);
    ct_tensor *one = T1(1);
    expect_none(ct_tile(one, 1, &huge), CT_EOVERFLOW);
    expect_none(ct_repeat(one, 0, huge), CT_EOVERFLOW);
    ct_free(one);
}
END_TEST

/* ---- integers */

static void check_division(const ct_scalar *scalar, int64_t least) {
    ct_tensor *x = I(scalar, -7, 7, -7, 7), *z = I(scalar, 2, -2, -2, 2);
    EXPECT_I(ct_floor_div(x, z), -4, -4, 3, 3);
    EXPECT_I(ct_mod(x, z), 1, -1, -1, 1);
    expect_none(ct_div(x, z), CT_EDTYPE);
    ct_tensor *zero = I(scalar, 0), *one = I(scalar, 1), *minus = I(scalar, -1);
    ct_tensor *low = I(scalar, least);
    expect_none(ct_floor_div(one, zero), CT_EDOMAIN);
    expect_none(ct_mod(one, zero), CT_EDOMAIN);
    expect_none(ct_floor_div(low, minus), CT_EOVERFLOW);
    EXPECT_I(ct_mod(low, minus), 0);
    expect_none(ct_abs(low), CT_EOVERFLOW); /* B089 */
    expect_none(ct_neg(low), CT_EOVERFLOW);
    expect_none(ct_sub(low, one), CT_EOVERFLOW);
    expect_none(ct_square(low), CT_EOVERFLOW);
    ct_tensor *all[] = {x, z, zero, one, minus, low};
    for (size_t i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
}

START_TEST(B088_B089_integers_never_wrap) {
    check_division(CT_I32, INT32_MIN);
    check_division(CT_I64, INT64_MIN);
}
END_TEST

/* ---- indices */

START_TEST(B090_indices_out_of_range) {
    ct_tensor *t = T1(10, 20, 30), *good = I(CT_I64, 2, -1, -3, 0);
    EXPECT("from the end", ct_take(t, 0, good), 0, 30, 30, 10, 10);
    const int64_t bad[] = {3, -4, INT64_MIN, INT64_MAX};
    for (size_t i = 0; i < COUNT(bad); i++) {
        ct_tensor *index = I(CT_I64, 0, bad[i]), *source = T1(1, 2);
        char text[32];
        snprintf(text, sizeof text, "%lld", (long long)bad[i]);
        ck_assert_ptr_null(ct_take(t, 0, index));
        expect_error(CT_EINDEX, text);
        ck_assert_ptr_nonnull(strstr(ct_error()->message, "3"));
        expect_none(ct_gather(t, 0, index), CT_EINDEX);
        expect_none(ct_scatter(t, 0, index, source), CT_EINDEX);
        expect_none(ct_scatter_add(t, 0, index, source), CT_EINDEX);
        ct_free(index);
        ct_free(source);
    }
    EXPECT("untouched", ct_copy(t), 0, 10, 20, 30);
    ct_free(t);
    ct_free(good);
}
END_TEST

/* ---- flat ops */

#define FLAT_AT(name)                                                                              \
    static ct_var name##_of(const ct_var *x) {                                                     \
        return ct_var_##name(*x);                                                                  \
    }
FLAT_AT(floor)
FLAT_AT(round)
FLAT_AT(sign)

START_TEST(B045_flat_ops_at_NaN_and_integers) {
    check_gradient("floor", floor_of, N(QNAN, 2, -0.5), N(QNAN, 2, -1), N(0, 0, 0));
    check_gradient("round", round_of, N(QNAN, 2, -0.5), N(QNAN, 2, -0.0), N(0, 0, 0));
    check_gradient("sign", sign_of, N(QNAN, 2, -0.5), N(QNAN, 1, -1), N(0, 0, 0));
}
END_TEST

void add_tensors(Suite *suite) {
    TCase *tc = tcase_create("tensors");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, B010_B011_spread_of_equal_and_of_single_items);
    tcase_add_test(tc, B026_products_with_zeros);
    tcase_add_test(tc, B045_flat_ops_at_NaN_and_integers);
    tcase_add_test(tc, B061_sums_and_means_of_integers);
    tcase_add_test(tc, B068_B093_argmax_of_rank_0_ties_nothing_and_NaN);
    tcase_add_test(tc, B070_reshape_of_nothing);
    tcase_add_test(tc, B082_sliding_windows);
    tcase_add_test(tc, B084_counts_that_wrap);
    tcase_add_test(tc, B088_B089_integers_never_wrap);
    tcase_add_test(tc, B090_indices_out_of_range);
}
