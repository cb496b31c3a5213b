/* Reductions at the edges: what does not fit, what is not there, special values, tangents of kinks,
   and no memory. */

#include "index_tools.h"

#include "autodiff/ct_var_ops.h"
#include "dual/ct_dual.h"
#include "tensor/ct_alloc.h"
#include "tensor/ct_ops.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_reduce_errors(void);

static void no_leak(void) {
    ck_assert_uint_eq(ct_live_blocks(), 0);
}

static ct_tensor *i64s(int64_t n, const int64_t *items) {
    return ct_from_items(CT_I64, 1, &n, (size_t)n, items);
}

// --- integers

START_TEST(integers_overflow) {
    const int64_t top = INT64_MAX, low = INT64_MIN;
    ct_tensor *t =
        ct_from_doubles(CT_I32, SHAPE(2, 2), ITEMS(1, 2147483647, 2, 1)); /* columns 3, 2^31 */
    expect_failure(ct_sum(t, 0, false), CT_EOVERFLOW, "ct_sum",
                   "the sum at index [1] does not fit i32");
    expect_failure(ct_sum(t, CT_ALL, false), CT_EOVERFLOW, "ct_sum", "the sum does not fit i32");
    expect_failure(ct_sum_axes(t, AXES(0), true), CT_EOVERFLOW, "ct_sum_axes",
                   "the sum at index [0, 1] does not fit i32");
    expect_failure(ct_prod(t, CT_ALL, true), CT_EOVERFLOW, "ct_prod",
                   "the product at index [0, 0] does not fit i32");
    assert_and_free(ct_prod(t, 0, false), SHAPE(2), ITEMS(2, 2147483647));
    ct_tensor *back = i64s(3, (int64_t[]){top, 1, -1}), *ends = i64s(2, (int64_t[]){top, top});
    ct_tensor *lows = i64s(3, (int64_t[]){low, low, low + 1}), *sum = ct_sum(back, 0, false);
    ck_assert(sum && *(const int64_t *)ct_data(sum) == top); /* only the exact total counts */
    expect_failure(ct_sum(ends, 0, false), CT_EOVERFLOW, "ct_sum", "the sum does not fit i64");
    ct_tensor *mean = ct_mean(ends, 0, false), *low_mean = ct_mean(lows, 0, false);
    ck_assert(mean && *(const int64_t *)ct_data(mean) == top);
    ck_assert(low_mean && *(const int64_t *)ct_data(low_mean) == low + 1); /* towards zero */
    ct_tensor *norms = i64s(2, (int64_t[]){5, low});
    expect_failure(ct_norm(norms, 0, 1, false), CT_EOVERFLOW, "ct_norm",
                   "the norm does not fit i64");
    ct_tensor *all[] = {t, back, ends, lows, sum, mean, low_mean, norms};
    for (int i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
    no_leak();
}
END_TEST

START_TEST(means_of_integers) {
    ct_tensor *t = ct_from_doubles(CT_I32, SHAPE(2, 3), ITEMS(1, 2, 2, -1, -2, -2));
    assert_and_free(ct_mean(t, 1, false), SHAPE(2), ITEMS(1, -1));
    assert_and_free(ct_mean(t, 0, false), SHAPE(3), ITEMS(0, 0, 0));
    ct_free(t);
    no_leak();
}
END_TEST

/* Of several that do not fit, the lowest index, whatever the threads and the order of memory. */
START_TEST(lowest_overflow) {
    setenv("CT_NUM_THREADS", "3", 1);
    ct_tensor *t = ct_zeros(CT_I32, SHAPE(40, 3, 2000));
    for (int64_t i = 7; i < 40; i += 5)
        for (int64_t k = 0; k < 2; k++)
            ct_set(t, 3, (int64_t[]){i, i % 3, 100 + k}, 2147483647);
    for (enum spread how = DENSE; how < REPEATED; how++) {
        ct_tensor *x = spread_out(ct_copy(t), how);
        expect_failure(ct_sum(x, 2, false), CT_EOVERFLOW, "ct_sum",
                       "the sum at index [7, 1] does not fit i32");
        expect_failure(ct_sum_axes(x, AXES(0, 2), false), CT_EOVERFLOW, "ct_sum_axes",
                       "the sum at index [0] does not fit i32");
        ct_free(x);
    }
    ct_free(t);
    no_leak();
}
END_TEST

// --- errors and emptiness

START_TEST(texts) {
    ct_tensor *t = ct_zeros(CT_F64, SHAPE(2, 0)), *masks = ct_zeros(CT_BOOL, SHAPE(2));
    ct_tensor *whole = ct_zeros(CT_I32, SHAPE(2)), *pair = ct_ones(CT_F64, SHAPE(2));
#define FAILS(code, who, text, call) expect_failure(call, code, who, text)
    FAILS(CT_EDOMAIN, "ct_max", "cannot take the maximum along axis 1 of extent 0",
          ct_max(t, 1, false));
    FAILS(CT_EDOMAIN, "ct_min_axes", "cannot take the minimum along axis 1 of extent 0",
          ct_min_axes(t, AXES(0, 1), false));
    FAILS(CT_EDOMAIN, "ct_mean", "cannot take the mean along axis 1 of extent 0",
          ct_mean(t, CT_ALL, false));
    FAILS(CT_EDOMAIN, "ct_argmax", "cannot take the argmax along axis 1 of extent 0",
          ct_argmax(t, -1, false));
    FAILS(CT_EDOMAIN, "ct_argmin", "cannot take the argmin along axis 1 of extent 0",
          ct_argmin(t, CT_ALL, false));
    FAILS(CT_EDOMAIN, "ct_norm", "cannot take the norm along axis 1 of extent 0",
          ct_norm(t, 1, INF, false));
    FAILS(CT_EDOMAIN, "ct_norm", "the order -1 of a norm is neither 0, positive nor an infinity",
          ct_norm(pair, 0, -1, false));
    FAILS(CT_EDOMAIN, "ct_norm_axes",
          "the order nan of a norm is neither 0, positive nor an infinity",
          ct_norm_axes(pair, AXES(0), QNAN, false));
    FAILS(CT_EDTYPE, "ct_sum", "bool has no sum", ct_sum(masks, 0, false));
    FAILS(CT_EDTYPE, "ct_prod_axes", "bool has no product", ct_prod_axes(masks, AXES(0), false));
    FAILS(CT_EDTYPE, "ct_mean", "bool has no mean", ct_mean(masks, 0, false));
    FAILS(CT_EDTYPE, "ct_variance", "i32 has no variance", ct_variance(whole, 0, 0, false));
    FAILS(CT_EDTYPE, "ct_std", "i32 has no standard deviation", ct_std(whole, 0, 0, false));
    FAILS(CT_EDTYPE, "ct_norm", "i32 has no norm", ct_norm(whole, 0, 2, false));
    FAILS(CT_EDTYPE, "ct_logsumexp", "i32 has no logsumexp", ct_logsumexp(whole, 0, false));
    FAILS(CT_EDTYPE, "ct_any", "any needs a tensor of bool, not f64", ct_any(pair, 0, false));
    FAILS(CT_EDTYPE, "ct_all_axes", "all needs a tensor of bool, not i32",
          ct_all_axes(whole, AXES(0), false));
    FAILS(CT_EDTYPE, "ct_cumsum", "bool has no cumulative sum", ct_cumsum(masks, 0));
    FAILS(CT_EDTYPE, "ct_cumprod", "bool has no cumulative product", ct_cumprod(masks, 0));
    FAILS(CT_EDTYPE, "ct_sum_ordered", "bool has no ordered sum", ct_sum_ordered(masks, 0, false));
    FAILS(CT_EAXIS, "ct_prod", "the axis 1 is out of range for a tensor of rank 1",
          ct_prod(pair, 1, false));
    FAILS(CT_EAXIS, "ct_std_axes", "the axis 0 is given twice",
          ct_std_axes(pair, AXES(0, -1), 0, false));
    FAILS(CT_EAXIS, "ct_logsumexp_axes", "the axis 0 is given twice",
          ct_logsumexp_axes(pair, AXES(0, -1), false));
    FAILS(CT_EAXIS, "ct_count_nonzero", "the axis -2 is out of range for a tensor of rank 1",
          ct_count_nonzero(pair, -2, false));
    FAILS(CT_EAXIS, "ct_cumsum", "the axis 1 is out of range for a tensor of rank 1",
          ct_cumsum(pair, 1));
    FAILS(CT_EINVAL, "ct_variance_axes", "the 2 axes are NULL",
          ct_variance_axes(pair, 2, NULL, 0, false));
    FAILS(CT_EINVAL, "ct_sum_axes", "the number of axes -1 is negative",
          ct_sum_axes(pair, -1, NULL, false));
    FAILS(CT_EINVAL, "ct_norm", "an operand is NULL", ct_norm(NULL, 0, 2, false));
    FAILS(CT_EINVAL, "ct_any", "an operand is NULL", ct_any(NULL, 0, false));
    FAILS(CT_EINVAL, "ct_cumprod", "an operand is NULL", ct_cumprod(NULL, 0));
    ct_tensor *all[] = {t, masks, whole, pair};
    for (int i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
    no_leak();
}
END_TEST

/* No items, and no result either: nothing to compute, so nothing fails. */
START_TEST(nothing_of_nothing) {
    ct_tensor *t = ct_zeros(CT_F64, SHAPE(0, 0)), *half = ct_zeros(CT_F64, SHAPE(0, 3));
    ct_tensor *none_true = ct_zeros(CT_BOOL, SHAPE(2, 0));
    assert_and_free(ct_max(t, 1, false), SHAPE(0), 0, NULL);
    assert_and_free(ct_mean(t, 0, true), SHAPE(1, 0), 0, NULL);
    assert_and_free(ct_argmax(t, 0, false), SHAPE(0), 0, NULL);
    assert_and_free(ct_max(half, 1, false), SHAPE(0), 0, NULL);
    assert_and_free(ct_variance(half, 0, 0, false), SHAPE(3), ITEMS(QNAN, QNAN, QNAN));
    assert_and_free(ct_norm(half, 0, 2, false), SHAPE(3), ITEMS(0, 0, 0));
    assert_and_free(ct_logsumexp_axes(half, AXES(0, 1), false), 0, NULL, ITEMS(-INF));
    assert_and_free(ct_any(none_true, 1, false), SHAPE(2), ITEMS(0, 0));
    assert_and_free(ct_all(none_true, 1, false), SHAPE(2), ITEMS(1, 1));
    ck_assert(ct_can_reduce(t, AXES(1)) && !ct_can_reduce(t, AXES(0, 1)));
    ck_assert(ct_can_reduce(half, AXES(1)) && !ct_can_reduce(half, AXES(0)));
    ck_assert(!ct_can_reduce(half, AXES(2)) && !ct_can_reduce(NULL, AXES(0)));
    ct_tensor *all[] = {t, half, none_true};
    for (int i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
    no_leak();
}
END_TEST

// --- special values

static ct_tensor *row(int64_t n, const double *x) {
    return ct_from_doubles(CT_F64, 1, &n, (size_t)n, x);
}
#define ROW(...) row((int64_t)COUNT(((double[]){__VA_ARGS__})), (double[]){__VA_ARGS__})
#define GIVES(call, operand, value)                                                                \
    do {                                                                                           \
        ct_tensor *t = (operand), *y = (call);                                                     \
        ck_assert_msg(y != NULL, "%s", ct_error()->message);                                       \
        double found = ct_item(y), right = (value);                                                \
        ck_assert_msg((isnan(found) && isnan(right)) ||                                            \
                          (found == right && signbit(found) == signbit(right)),                    \
                      "%s of %s is %g", #call, #operand, found);                                   \
        ct_free(t);                                                                                \
        ct_free(y);                                                                                \
    } while (0)

START_TEST(special_values) {
    GIVES(ct_sum(t, 0, false), ROW(-0.0, -0.0), -0.0);
    GIVES(ct_sum(t, 0, false), ROW(INF, -INF), QNAN);
    GIVES(ct_prod(t, 0, false), ROW(-0.0), -0.0);
    GIVES(ct_prod(t, 0, false), ROW(0.0, INF), QNAN);
    GIVES(ct_prod(t, 0, false), ROW(-2, 0, 5), -0.0);
    GIVES(ct_max(t, 0, false), ROW(-0.0, 0.0, -0.0), 0.0);
    GIVES(ct_min(t, 0, false), ROW(0.0, -0.0, 0.0), -0.0);
    GIVES(ct_max(t, 0, false), ROW(1, QNAN, INF), QNAN);
    GIVES(ct_argmax(t, 0, false), ROW(1, QNAN, 3, QNAN), 1.0);
    GIVES(ct_argmax(t, 0, false), ROW(2, 5, 5), 1.0);
    GIVES(ct_argmax(t, 0, false), ROW(-0.0, 0.0), 0.0);
    GIVES(ct_argmin(t, 0, false), ROW(0.0, -0.0), 0.0);
    GIVES(ct_argmin(t, CT_ALL, false), ROW(3, -INF, QNAN), 2.0);
    GIVES(ct_argmax(t, CT_ALL, false), ct_from_double(CT_F64, 5), 0.0);
    GIVES(ct_count_nonzero(t, 0, false), ROW(0, -0.0, QNAN, INF, 0x1p-1074), 3.0);
    GIVES(ct_logsumexp(t, 0, false), ROW(-INF, -INF), -INF);
    GIVES(ct_logsumexp(t, 0, false), ROW(INF, 0), INF);
    GIVES(ct_logsumexp(t, 0, false), ROW(1000, 1000), 1000.6931471805599);
    GIVES(ct_mean(t, 0, false), ROW(INF, 1), INF);
    GIVES(ct_std(t, 0, 0, false), ROW(1, 1, 1), 0.0);
    no_leak();
}
END_TEST

/* argmax of a flat tensor counts in row-major order; axes may be kept. */
START_TEST(places) {
    ct_tensor *t = ct_from_doubles(CT_F32, SHAPE(2, 3), ITEMS(1, 9, 3, 9, 2, 0));
    ct_tensor *turned = ct_transpose(t);
    assert_and_free(ct_argmax(t, CT_ALL, false), 0, NULL, ITEMS(1));
    assert_and_free(ct_argmax(turned, CT_ALL, true), SHAPE(1, 1), ITEMS(1));
    assert_and_free(ct_argmin(turned, CT_ALL, false), 0, NULL, ITEMS(5));
    assert_and_free(ct_argmax(t, 0, true), SHAPE(1, 3), ITEMS(1, 0, 0));
    assert_and_free(ct_argmin(t, -1, false), SHAPE(2), ITEMS(0, 2));
    ct_free(t);
    ct_free(turned);
    no_leak();
}
END_TEST

// --- tangents at kinks: forward as the tape

static ct_tensor *dual_row(int n, const double *value, const double *tangent) {
    ct_tensor *x = row(n, value), *d = row(n, tangent), *t = ct_dual(x, d);
    ct_free(x);
    ct_free(d);
    return t;
}

static void expect_tangent(ct_tensor *dual, ct_tensor *y, size_t n, const double *value,
                           const double *tangent) {
    ck_assert_msg(y != NULL, "%s", ct_error()->message);
    ct_tensor *x = ct_dual_value(y), *d = ct_dual_tangent(y);
    double found[8];
    ct_to_doubles(x, n, found);
    for (size_t i = 0; i < n; i++)
        ck_assert_msg((isnan(found[i]) && isnan(value[i])) ||
                          fabs(found[i] - value[i]) <= 1e-15 * fmax(1, fabs(value[i])) ||
                          found[i] == value[i],
                      "value %zu is %g", i, found[i]);
    ct_to_doubles(d, n, found);
    for (size_t i = 0; i < n; i++)
        ck_assert_msg(fabs(found[i] - tangent[i]) < 1e-15, "tangent %zu is %g", i, found[i]);
    ct_tensor *all[] = {dual, y, x, d};
    for (int i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
}

#define D(...)                                                                                     \
    (double[]) {                                                                                   \
        __VA_ARGS__                                                                                \
    }
#define TANGENT(call, n, x, d, value, tangent)                                                     \
    do {                                                                                           \
        ct_tensor *t = dual_row(n, x, d);                                                          \
        ct_tensor *y = call;                                                                       \
        expect_tangent(t, y, ct_count(y), value, tangent);                                         \
    } while (0)

START_TEST(tangents_at_kinks) {
    const double ln2 = 0.69314718055994531;
    TANGENT(ct_std(t, 0, 1, false), 3, D(1, 1, 1), D(1, 2, 4), D(0), D(0));
    TANGENT(ct_std(t, 0, 0, false), 3, D(0.1, 0.1, 0.1), D(1, 2, 4), D(0), D(0));
    TANGENT(ct_variance(t, 0, 0, false), 1, D(5), D(3), D(0), D(0));
    TANGENT(ct_norm(t, 0, 2, false), 2, D(0, -0.0), D(1, 2), D(0), D(0));
    TANGENT(ct_norm(t, 0, 1, false), 2, D(0, 3), D(1, 2), D(3), D(2));
    TANGENT(ct_norm(t, 0, 3, false), 2, D(0, 0), D(1, 2), D(0), D(0));
    TANGENT(ct_norm(t, 0, 2, false), 2, D(3e200, 4e200), D(1, 1), D(5e200), D(1.4));
    TANGENT(ct_norm(t, 0, 2, false), 2, D(3e-200, 4e-200), D(1, 1), D(5e-200), D(1.4));
    TANGENT(ct_norm(t, 0, INF, false), 3, D(2, -2, 1), D(1, 4, 9), D(2), D(-1.5));
    TANGENT(ct_prod(t, 0, false), 3, D(2, 0, 4), D(1, 1, 1), D(0), D(8));
    TANGENT(ct_prod(t, 0, false), 3, D(0, 0, 4), D(1, 1, 1), D(0), D(0));
    TANGENT(ct_max(t, 0, false), 3, D(3, 1, 3), D(1, 7, 2), D(3), D(1.5));
    /* logsumexp and its kin with infinities: the limits. */
    TANGENT(ct_logsumexp(t, 0, false), 2, D(-INF, -INF), D(1, 2), D(-INF), D(0));
    TANGENT(ct_logsumexp(t, 0, false), 2, D(INF, 0), D(1, 2), D(INF), D(1));
    TANGENT(ct_logsumexp(t, 0, false), 2, D(INF, INF), D(1, 2), D(INF), D(1.5));
    TANGENT(ct_logsumexp(t, 0, false), 2, D(1000, 1000), D(1, 3), D(1000 + ln2), D(2));
    TANGENT(ct_log_softmax(t, 0), 2, D(-INF, -INF), D(1, 2), D(QNAN, QNAN), D(0, 0));
    TANGENT(ct_log_softmax(t, 0), 3, D(INF, INF, 0), D(1, 2, 5), D(-ln2, -ln2, -INF),
            D(-0.5, 0.5, 3.5));
    TANGENT(ct_log_softmax(t, 0), 2, D(INF, 0), D(1, 2), D(0, -INF), D(0, 1));
    TANGENT(ct_softmax(t, 0), 3, D(INF, INF, 0), D(1, 2, 5), D(0.5, 0.5, 0), D(-0.25, 0.25, 0));
    no_leak();
}
END_TEST

/* The tape's vector-Jacobian product with u, applied to d, is u times the dual's tangent. */
static void check_adjoint(bool log, int n, const double *x, const double *u, const double *d) {
    ct_tensor *t = row(n, x), *weights = row(n, u);
    ct_tape *tape = ct_tape_new();
    ct_var v = ct_leaf(tape, t, "x"), g = ct_constant(tape, weights, "u"), dx;
    ct_var y = log ? ct_var_log_softmax(v, 0) : ct_var_softmax(v, 0);
    ck_assert_int_eq(ct_grad(y, g, 1, &v, &dx), CT_OK);
    ct_tensor *dual = dual_row(n, x, d), *z = log ? ct_log_softmax(dual, 0) : ct_softmax(dual, 0);
    ct_tensor *forward = ct_dual_tangent(z);
    double back[8], tangent[8], left = 0, right = 0;
    ct_to_doubles(ct_value(dx), (size_t)n, back);
    ct_to_doubles(forward, (size_t)n, tangent);
    for (int i = 0; i < n; i++) {
        left += back[i] * d[i];
        right += u[i] * tangent[i];
    }
    ck_assert_msg(fabs(left - right) < 1e-14, "%g and %g", left, right);
    ct_tape_free(tape);
    ct_tensor *all[] = {t, weights, dual, z, forward};
    for (int i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
}

START_TEST(tape_and_dual_agree) {
    static const double rows[][3] = {{1, 2, 3},       {INF, INF, 0},     {INF, 1, 0},
                                     {-INF, 0, 1},    {-INF, -INF, 2},   {INF, -INF, INF},
                                     {INF, INF, INF}, {-INF, -INF, -INF}};
    for (int i = 0; i < COUNT(rows); i++) {
        check_adjoint(true, 3, rows[i], D(1, -2, 0.5), D(3, 1, -1));
        if (i + 1 < COUNT(rows)) /* the softmax itself is NaN there */
            check_adjoint(false, 3, rows[i], D(1, -2, 0.5), D(3, 1, -1));
    }
    no_leak();
}
END_TEST

// --- no memory

static ct_tensor *try_one(int what, const ct_tensor *t, const ct_tensor *dual) {
    const int axes[] = {0, 2};
    switch (what) {
    case 0:
        return ct_sum_axes(t, 2, axes, false);
    case 1:
        return ct_mean_axes(t, 2, axes, false);
    case 2:
        return ct_variance_axes(t, 2, axes, 0, false);
    case 3:
        return ct_std(dual, 1, 0, false);
    case 4:
        return ct_norm(t, 1, 2, false);
    case 5:
        return ct_norm(t, 1, 3, false);
    case 6:
        return ct_norm(t, 1, 0, false);
    case 7:
        return ct_norm(t, 1, INF, false);
    case 8:
        return ct_logsumexp_axes(dual, 2, axes, false);
    case 9:
        return ct_log_softmax(dual, 1);
    case 10:
        return ct_softmax(dual, 1);
    case 11:
        return ct_count_nonzero_axes(t, 2, axes, false);
    case 12:
        return ct_argmax(t, CT_ALL, false);
    case 13:
        return ct_cumsum(t, 1);
    case 14:
        return ct_sum_ordered(t, 0, false);
    default:
        return NULL;
    }
}

START_TEST(no_memory) {
    setenv("CT_NUM_THREADS", "1", 1);
    if (!make_memory_scarce())
        return;
    double values[60];
    for (int i = 0; i < COUNT(values); i++) /* norms that must be scaled too */
        values[i] = (i + 1) * 1e200;
    ct_tensor *t = ct_from_doubles(CT_F64, SHAPE(3, 4, 5), 60, values);
    ct_tensor *small = ct_zeros(CT_F64, SHAPE(3, 4, 5)), *dual = ct_dual(small, small);
    size_t before = ct_live_blocks();
    for (int what = 0; what < 15; what++) {
        for (int needed = 0;;) {
            ck_assert_int_lt(needed, 200);
            allocations_left = needed;
            ct_error_clear();
            ct_tensor *y = try_one(what, t, dual);
            allocations_left = 1000;
            ck_assert_msg(y || ct_error()->code == CT_ENOMEM, "call %d: %s", what,
                          ct_error()->message);
            bool made = y != NULL;
            ct_free(y);
            ck_assert_msg(ct_live_blocks() == before, "call %d leaks after %d", what, needed);
            if (made)
                break;
            needed++;
        }
    }
    ct_tensor *all[] = {t, small, dual};
    for (int i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
}
END_TEST

Suite *suite_reduce_errors(void) {
    Suite *suite = suite_create("reduce_errors");
    TCase *tc = tcase_create("reduce_errors");
    tcase_add_test(tc, integers_overflow);
    tcase_add_test(tc, means_of_integers);
    tcase_add_test(tc, lowest_overflow);
    tcase_add_test(tc, texts);
    tcase_add_test(tc, nothing_of_nothing);
    tcase_add_test(tc, special_values);
    tcase_add_test(tc, places);
    tcase_add_test(tc, tangents_at_kinks);
    tcase_add_test(tc, tape_and_dual_agree);
    tcase_add_test(tc, no_memory);
    suite_add_tcase(suite, tc);
    return suite;
}
