/* Calls that a careless or hostile user makes: each must say what is wrong and leave nothing behind, or give the
   right answer at the edge of its range. Under UndefinedBehaviorSanitizer the numbers also must not wrap. */

#include "autodiff/ct_derivatives.h"
#include "autodiff/ct_dot.h"
#include "autodiff/ct_network.h"
#include "autodiff/ct_sparse.h"
#include "autodiff/ct_var_ops.h"
#include "tape_fixture.h"
#include "tensor/ct_index.h"
#include "tensor/ct_make.h"

#include <string.h>

#define SHAPE(...)                                                                                 \
    COUNT(((int64_t[]){__VA_ARGS__})), (const int64_t[]) {                                         \
        __VA_ARGS__                                                                                \
    }

static ct_var taken(ct_tensor *t, bool constant) {
    ct_var v = constant ? ct_constant(tape, t, NULL) : ct_leaf(tape, t, NULL);
    ct_free(t);
    return v;
}

/* Item k is k + 1. */
static ct_var numbered(size_t rank, const int64_t *shape) {
    ct_tensor *t = ct_zeros(CT_F64, (int)rank, shape);
    double *data = ct_data_for_write(t);
    for (size_t k = 0; k < ct_count(t); k++)
        data[k] = (double)(k + 1);
    return taken(t, false);
}

/* Labels and indices: all 1. */
static ct_var whole(size_t rank, const int64_t *shape) {
    return taken(ct_full(CT_I64, (int)rank, shape, 1), true);
}

/* A window with numbers in the first axis of space. */
#define WINDOW(...)  (&(struct ct_window){__VA_ARGS__})
#define CLASSES(...) (&(struct ct_class_loss){__VA_ARGS__})

/* --- verbs of the tape --- */

struct call {
    const char *what;
    ct_var (*record)(void);
    ct_status code;
    const char *text;
};

#define CALL(name, ...)                                                                            \
    static ct_var name(void) {                                                                     \
        return __VA_ARGS__;                                                                        \
    }

CALL(fold_beyond, ct_var_fold(numbered(SHAPE(5, 5, 3)), -3, 7, 1))
CALL(fold_nothing_beyond, ct_var_fold(numbered(SHAPE(2, 0)), 5, 7, 1))
CALL(fold_below, ct_var_fold(numbered(SHAPE(2, 0)), 0, -1, 1))
CALL(unfold_beyond, ct_var_unfold(numbered(SHAPE(5, 5)), -3, 2, 1))
CALL(cumprod_beyond, ct_var_cumprod(numbered(SHAPE(2, 2)), -3))
CALL(recurrence_beyond, ct_var_recurrence(numbered(SHAPE(2, 2)), numbered(SHAPE(2, 2)), -3))
static ct_var concat_one_beyond(void) {
    ct_var x = numbered(SHAPE(2, 3));
    return ct_var_concat(1, &x, 99);
}
CALL(straight_wider, ct_var_straight_through(numbered(SHAPE(3)), numbered(SHAPE(2, 3))))
CALL(straight_narrower, ct_var_straight_through(numbered(SHAPE(2, 3)), numbered(SHAPE(3))))
CALL(straight_whole, ct_var_straight_through(numbered(SHAPE(3)), whole(SHAPE(3))))
CALL(nll_reduction, ct_var_nll(numbered(SHAPE(3, 4)), whole(SHAPE(3)), NULL, (enum ct_reduction)9))
CALL(rms_wide_scale, ct_var_rms_norm(numbered(SHAPE(2, 3)), numbered(SHAPE(5, 2, 3)), 1))
CALL(rms_long_scale, ct_var_rms_norm(numbered(SHAPE(2, 1)), numbered(SHAPE(3)), 1))
CALL(attention_keys, ct_var_attention(numbered(SHAPE(2, 3)), numbered(SHAPE(3)),
                                      numbered(SHAPE(2, 3)), ct_var_null()))
CALL(max_pool_nowhere, ct_var_max_pool(numbered(SHAPE(1, 1, 4)), NULL, NULL))
CALL(avg_pool_nowhere, ct_var_avg_pool(numbered(SHAPE(1, 1, 4)), NULL, NULL, true))
CALL(avg_pool_of_many,
     ct_var_avg_pool(numbered(SHAPE(0, 1, 4, 4, 4)), (int64_t[]){INT32_MAX, INT32_MAX, INT32_MAX},
                     WINDOW(.before = {INT32_MAX - 4, INT32_MAX - 4, INT32_MAX - 4}), true))
CALL(max_pool_of_padding, ct_var_max_pool(numbered(SHAPE(1, 1, 4)), (int64_t[]){INT32_MAX},
                                          WINDOW(.before = {INT32_MAX})))
CALL(conv_groups_that_wrap, ct_var_conv(numbered(SHAPE(1, 6, 4)), numbered(SHAPE(2, 3, 2)),
                                        ct_var_null(), WINDOW(.groups = ((int64_t)1 << 62) + 2)))
CALL(conv_kernels_that_wrap,
     ct_var_conv(numbered(SHAPE(1, 1, 4, 4)),
                 numbered(SHAPE(0, 1, (int64_t)1 << 40, (int64_t)1 << 40)), ct_var_null(), NULL))
CALL(conv_places_that_wrap, ct_var_conv(numbered(SHAPE(0, 1, (int64_t)1 << 40, (int64_t)1 << 40)),
                                        numbered(SHAPE(1, 1, 1, 1)), ct_var_null(), NULL))
CALL(transpose_stride, ct_var_conv_transpose(numbered(SHAPE(1, 2, 4)), numbered(SHAPE(2, 2, 2)),
                                             ct_var_null(), WINDOW(.stride = {INT64_MAX})))
CALL(transpose_dilation, ct_var_conv_transpose(numbered(SHAPE(1, 2, 4)), numbered(SHAPE(2, 2, 2)),
                                               ct_var_null(), WINDOW(.dilation = {INT64_MAX})))
CALL(transpose_padding,
     ct_var_conv_transpose(numbered(SHAPE(1, 2, 4)), numbered(SHAPE(2, 2, 2)), ct_var_null(),
                           WINDOW(.before = {INT64_MAX}, .after = {INT64_MAX})))
static ct_var moments_nowhere(void) {
    ct_var mean = ct_var_null();
    ck_assert_int_eq(ct_var_batch_moments(numbered(SHAPE(3, 2)), &mean, NULL), CT_EINVAL);
    ck_assert(ct_var_is_null(mean));
    return mean;
}

#define REFUSED(name, code, text)                                                                  \
    { #name, name, code, text }
static const struct call refusals[] = {
    REFUSED(fold_beyond, CT_EAXIS, "axis -3 is out of range"),
    REFUSED(fold_nothing_beyond, CT_EAXIS, "axis 5 is out of range"),
    REFUSED(fold_below, CT_EINDEX, "-1"),
    REFUSED(unfold_beyond, CT_EAXIS, "axis -3 is out of range"),
    REFUSED(cumprod_beyond, CT_EAXIS, "axis -3 is out of range"),
    REFUSED(recurrence_beyond, CT_EAXIS, "axis -3 is out of range"),
    REFUSED(concat_one_beyond, CT_EAXIS, "axis 99 is out of range"),
    REFUSED(straight_wider, CT_ESHAPE, "f64[3], f64[2, 3] were given"),
    REFUSED(straight_narrower, CT_ESHAPE, "f64[2, 3], f64[3] were given"),
    REFUSED(straight_whole, CT_EDTYPE, "f64[3], i64[3] were given"),
    REFUSED(nll_reduction, CT_EINVAL, "there is no reduction 9"),
    REFUSED(rms_wide_scale, CT_ESHAPE, "one number per item of the last axis"),
    REFUSED(rms_long_scale, CT_ESHAPE, "one number per item of the last axis"),
    REFUSED(attention_keys, CT_ESHAPE, "the ranks 2, 1 and 2 were given"),
    REFUSED(max_pool_nowhere, CT_EINVAL, "NULL"),
    REFUSED(avg_pool_nowhere, CT_EINVAL, "NULL"),
    REFUSED(avg_pool_of_many, CT_EOVERFLOW, "cannot be counted"),
    REFUSED(max_pool_of_padding, CT_ESHAPE, "lies in the padding alone"),
    REFUSED(conv_groups_that_wrap, CT_ESHAPE, "too many groups"),
    REFUSED(conv_kernels_that_wrap, CT_ESHAPE, "too many groups, kernels or places"),
    REFUSED(conv_places_that_wrap, CT_ESHAPE, "too many groups, kernels or places"),
    REFUSED(transpose_stride, CT_ESHAPE, "do not fit"),
    REFUSED(transpose_dilation, CT_ESHAPE, "do not fit"),
    REFUSED(transpose_padding, CT_ESHAPE, "do not fit"),
    REFUSED(moments_nowhere, CT_EINVAL, "the place of the variance is NULL"),
};

START_TEST(wrong_calls_are_refused) {
    const struct call *c = &refusals[_i];
    ct_var v = c->record();
    ck_assert_msg(ct_var_is_null(v) && ct_tape_status(tape) == c->code, "%s: %d, \"%s\"", c->what,
                  (int)ct_tape_status(tape), ct_tape_message(tape));
    ck_assert_msg(strstr(ct_tape_message(tape), c->text) != NULL, "%s: \"%s\" lacks \"%s\"",
                  c->what, ct_tape_message(tape), c->text);
}
END_TEST

START_TEST(nothing_is_not_joined) {
    ck_assert(ct_var_is_null(ct_var_concat(0, NULL, 0)));
    expect_error(CT_EINVAL, "nothing to join");
    ct_error_clear();
    ck_assert(ct_var_is_null(ct_var_stack(0, NULL, 0)));
    expect_error(CT_EINVAL, "nothing to join");
}
END_TEST

/* --- right at the edge --- */

/* The gradient of the sum of the squares of y for x, of x's shape. */
static ct_tensor *gradient(ct_var y, ct_var x) {
    ct_var dx, loss = ct_var_sum(ct_var_square(y), CT_ALL, false);
    ck_assert_msg(ct_grad(loss, ct_var_null(), 1, &x, &dx) == CT_OK, "%s", ct_tape_message(tape));
    ck_assert(ct_same_shape(ct_value(dx), ct_value(x)));
    return ct_copy(ct_value(dx));
}

START_TEST(folds_leave_room_behind_the_last_window) {
    ct_var x = numbered(SHAPE(2, 2)), y = ct_var_fold(x, 0, 6, 1);
    EXPECT("folded", ct_copy(ct_value(y)), 0, 1, 5, 4, 0, 0, 0);
    EXPECT("gradient", gradient(y, x), 0, 2, 10, 10, 8);
    x = numbered(SHAPE(0, 3)), y = ct_var_fold(x, 0, 2, 1);
    EXPECT("of no windows", ct_copy(ct_value(y)), 0, 0, 0);
    expect_items("gradient", gradient(y, x), 0, 0, NULL);
    x = numbered(SHAPE(2, 0)), y = ct_var_fold(x, -1, 2, 1);
    EXPECT("of empty windows", ct_copy(ct_value(y)), 0, 0, 0);
    expect_items("gradient", gradient(y, x), 0, 0, NULL);
    x = numbered(SHAPE(1, 2, 0));
    y = ct_var_conv_transpose(x, numbered(SHAPE(2, 1, 3)), ct_var_null(), NULL);
    EXPECT("transposed", ct_copy(ct_value(y)), 0, 0, 0);
    expect_items("gradient", gradient(y, x), 0, 0, NULL);
}
END_TEST

START_TEST(sums_up_to_each_of_all_items) {
    ct_var x = numbered(SHAPE(2, 2)), y = ct_var_cumsum(x, CT_ALL);
    EXPECT("sums", ct_copy(ct_value(y)), 0, 1, 3, 6, 10);
    EXPECT("gradient", gradient(y, x), 0, 40, 38, 32, 20);
    x = numbered(0, NULL), y = ct_var_cumsum(x, CT_ALL);
    EXPECT("of one", ct_copy(ct_value(y)), 0, 1);
    EXPECT("gradient", gradient(y, x), 0, 2);
}
END_TEST

START_TEST(the_variance_of_nothing_has_a_gradient) {
    ct_var x = numbered(SHAPE(0, 3)), y = ct_var_variance(x, 0, 0, false);
    EXPECT("variance", ct_copy(ct_value(y)), 0, QNAN, QNAN, QNAN);
    expect_items("gradient", gradient(y, x), 0, 0, NULL);
}
END_TEST

START_TEST(any_number_can_be_the_ignored_label) {
    const int64_t far = ((int64_t)1 << 53) + 1;
    const int64_t ignored[] = {INT64_MAX, INT64_MIN, far - 1, far + 1, 5};
    const ct_scalar *types[] = {CT_I64, CT_I32};
    for (size_t i = 0; i < COUNT(ignored); i++)
        for (size_t k = 0; k < COUNT(types); k++) {
            ct_var x = taken(T2(2, 2, 1, 2, 3, 5), false);
            ct_var labels = taken(ct_full(types[k], 1, (int64_t[]){2}, 1), true);
            ct_var y = ct_var_nll(x, labels, CLASSES(.has_ignored = true, .ignored = ignored[i]),
                                  CT_REDUCE_SUM);
            EXPECT("none ignored", ct_copy(ct_value(y)), 0, -7);
        }
    int64_t given[] = {1, far};
    ct_var labels = taken(ct_from_i64s(CT_I64, 1, (int64_t[]){2}, 2, given), true);
    ct_var x = taken(T2(2, 2, 1, 2, 3, 5), false);
    ct_var y = ct_var_nll(x, labels, CLASSES(.has_ignored = true, .ignored = far), CT_REDUCE_SUM);
    EXPECT("the far one ignored", ct_copy(ct_value(y)), 0, -2);
    labels = taken(ct_from_i64s(CT_I64, 1, (int64_t[]){2}, 2, given), true);
    y = ct_var_nll(x, labels, CLASSES(.has_ignored = true, .ignored = far - 1), CT_REDUCE_SUM);
    ck_assert_int_eq(ct_tape_status(tape), CT_EINDEX);
}
END_TEST

START_TEST(one_item_takes_any_step) {
    const int64_t steps[] = {INT64_MAX, INT64_MIN, 0, -1};
    for (size_t i = 0; i < COUNT(steps); i++) {
        ct_tensor *x = T2(1, 2, 3, 4), *y = ct_unslice(x, 0, 1, steps[i], 3);
        EXPECT("among zeros", y, 0, 0, 0, 3, 4, 0, 0);
        ct_free(x);
    }
    ct_var x = numbered(SHAPE(5)), y = ct_var_unfold(x, 0, 2, INT64_MAX);
    EXPECT("one window", ct_copy(ct_value(y)), 0, 1, 2);
    EXPECT("gradient", gradient(y, x), 0, 2, 4, 0, 0, 0);
}
END_TEST

static bool append(void *context, const char *text, size_t length) {
    strncat(context, text, length);
    return true;
}

/* A mark whose place in the text has become the middle of a name. */
START_TEST(names_are_not_cut) {
    ct_var x = numbered(SHAPE(2)), z = numbered(SHAPE(2));
    ct_mark first = ct_tape_mark(tape);
    ct_named(x, "a");
    ct_mark second = ct_tape_mark(tape);
    ck_assert_int_eq(ct_tape_rewind(tape, first), CT_OK);
    ct_named(x, "abcdef");
    ck_assert_int_eq(ct_tape_rewind(tape, second), CT_OK);
    ct_named(z, "other");
    char text[2000] = "";
    ck_assert_int_eq(ct_tape_text(tape, append, text), CT_OK);
    ck_assert_msg(strstr(text, "abcdef") && strstr(text, "other"), "%s", text);
}
END_TEST

/* --- functions that do not keep to the rules --- */

static ct_var forgets(void *context, ct_tape *t, size_t n, const ct_var *in) {
    (void)n, (void)context;
    const ct_scalar *scalar = ct_dtype(ct_value(in[0]));
    ct_tape_rewind(t, (ct_mark){0});
    return ct_var_square(ct_constant_of(t, scalar, 3));
}

static ct_var starts_anew(void *context, ct_tape *t, size_t n, const ct_var *in) {
    (void)n, (void)context;
    ct_tensor *value = ct_copy(ct_value(in[0]));
    ct_tape_rewind(t, (ct_mark){0});
    ct_var v = ct_leaf(t, value, NULL);
    ct_free(value);
    return ct_var_sum(v, CT_ALL, false);
}

static ct_var releases(void *context, ct_tape *t, size_t n, const ct_var *in) {
    (void)context;
    ct_var y = ct_var_sum(ct_var_square(in[0]), CT_ALL, false);
    ct_tape_release(t, n, in);
    return y;
}

static ct_function *const unruly[] = {forgets, starts_anew, releases};

START_TEST(inputs_must_outlive_the_function) {
    ct_function *fn = unruly[_i];
    ct_tensor *x = T1(1, 2), *one = NULL, *two = NULL;
    const ct_tensor *in[] = {x};
    const char *text = "rewound or released its input 0";
    ck_assert_int_eq(ct_jvp(fn, NULL, 1, in, in, &one, &two), CT_ESTALE);
    expect_error(CT_ESTALE, text);
    ck_assert_int_eq(ct_vjp(fn, NULL, 1, in, NULL, &one, &two), CT_ESTALE);
    ck_assert_int_eq(ct_hvp(fn, NULL, 1, in, in, &one, &two), CT_ESTALE);
    ck_assert_int_eq(ct_fisher_product(fn, NULL, 1, in, in, &two), CT_ESTALE);
    ck_assert_int_eq(ct_gauss_newton_product(fn, NULL, fn, NULL, 1, in, in, &two), CT_ESTALE);
    ct_error_clear();
    for (int mode = CT_MODE_AUTO; mode <= CT_MODE_FORWARD; mode++) {
        ck_assert_ptr_null(ct_jacobian(fn, NULL, 1, in, 0, (enum ct_mode)mode));
        expect_error(CT_ESTALE, text);
    }
    ck_assert_ptr_null(ct_hessian(fn, NULL, 1, in, 0, 0));
    ck_assert_ptr_null(ct_jacobian_pattern(fn, NULL, 1, in, 0));
    ck_assert_ptr_null(ct_hessian_pattern(fn, NULL, 1, in, 0));
    expect_error(CT_ESTALE, text);
    ck_assert(!one && !two);
    ct_free(x);
}
END_TEST

static ct_var same(void *context, ct_tape *t, size_t n, const ct_var *in) {
    (void)context, (void)t, (void)n;
    return in[0];
}

START_TEST(there_are_three_modes) {
    ct_tensor *x = T1(1, 2), *none = ct_zeros(CT_F64, 1, (int64_t[]){0});
    ck_assert_ptr_null(ct_jacobian(same, NULL, 1, (const ct_tensor *[]){x}, 0, (enum ct_mode)99));
    expect_error(CT_EINVAL, "there is no mode 99");
    ct_error_clear();
    ck_assert_ptr_null(ct_hessian(NULL, NULL, 1, (const ct_tensor *[]){none}, 0, 0));
    expect_error(CT_EINVAL, "the function is NULL");
    ct_free(x), ct_free(none);
}
END_TEST

/* x_0^2 times a stopped x_1: nothing depends on x_1 but the value of the first entry. */
static ct_var half_stopped(void *context, ct_tape *t, size_t n, const ct_var *in) {
    (void)context, (void)t, (void)n;
    ct_var square = ct_var_square(ct_var_select(in[0], 0, 0));
    ct_var other = ct_var_stop_gradient(ct_var_select(in[0], 0, 1));
    return ct_var_mul(square, other);
}

START_TEST(stopped_values_leave_no_marks) {
    ct_tensor *x = T1(3, 5);
    const ct_tensor *in[] = {x};
    ct_pattern *p = ct_jacobian_pattern(half_stopped, NULL, 1, in, 0);
    ck_assert_uint_eq(ct_pattern_count(p), 1);
    ct_pattern_free(p);
    p = ct_hessian_pattern(half_stopped, NULL, 1, in, 0);
    ck_assert_uint_eq(ct_pattern_count(p), 1);
    EXPECT("hessian", ct_hessian_sparse(half_stopped, NULL, 1, in, 0, p), 0, 10);
    ct_pattern_free(p);
    ct_free(x);
}
END_TEST

Suite *suite_misuse(void) {
    Suite *suite = suite_create("misuse");
    TCase *tc = tcase_create("tape");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, wrong_calls_are_refused, 0, (int)COUNT(refusals));
    tcase_add_test(tc, nothing_is_not_joined);
    tcase_add_test(tc, folds_leave_room_behind_the_last_window);
    tcase_add_test(tc, sums_up_to_each_of_all_items);
    tcase_add_test(tc, the_variance_of_nothing_has_a_gradient);
    tcase_add_test(tc, any_number_can_be_the_ignored_label);
    tcase_add_test(tc, one_item_takes_any_step);
    tcase_add_test(tc, names_are_not_cut);
    suite_add_tcase(suite, tc);

    tc = tcase_create("functions");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, inputs_must_outlive_the_function, 0, (int)COUNT(unruly));
    tcase_add_test(tc, there_are_three_modes);
    tcase_add_test(tc, stopped_values_leave_no_marks);
    suite_add_tcase(suite, tc);
    return suite;
}
