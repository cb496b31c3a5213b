#include "bugs.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "autodiff/ct_var_ops.h"
#include "case_tools.h"
#include "ct_test.h"
#include "dual/ct_dual.h"
#include "io/ct_digest.h"
#include "io/ct_safetensors.h"
#include "tensor/ct_alloc.h"
#include "tensor/ct_ops.h"
#include "tensor/ct_platform.h"

/* ---- NaN and signed zeros: in vector lanes as in their tails */

/* Test fails unless every item of y has the bits of `right`, at every length up to 33. */
static void expect_all(const char *what, const ct_scalar *scalar, ct_tensor *y, double right) {
    ck_assert_msg(y != NULL, "%s: %s", what, ct_error()->message);
    ct_tensor *all = ct_full(scalar, 1, ct_shape(y), right);
    ck_assert_msg(same_bits(y, all), "%s of %s, length %d", what, scalar->name, (int)ct_count(y));
    ct_free(all);
    ct_free(y);
}

static const ct_scalar *const reals[] = {CT_F32, CT_F64};

START_TEST(B091_nan_is_kept) {
    for (size_t s = 0; s < COUNT(reals); s++) {
        ct_tensor *nan = ct_full(reals[s], 1, (int64_t[]){_i}, QNAN),
                  *one = ct_from_double(reals[s], 1);
        ct_tensor *ones = ct_ones(reals[s], 1, (int64_t[]){_i});
        expect_all("relu", reals[s], ct_relu(nan), QNAN);
        expect_all("maximum(nan, 1)", reals[s], ct_maximum(nan, one), QNAN);
        expect_all("maximum(1, nan)", reals[s], ct_maximum(one, nan), QNAN);
        expect_all("maximum(nan, ones)", reals[s], ct_maximum(nan, ones), QNAN);
        expect_all("minimum(nan, 1)", reals[s], ct_minimum(nan, one), QNAN);
        expect_all("minimum(1, nan)", reals[s], ct_minimum(one, nan), QNAN);
        if (_i > 0) {
            ct_set(ones, 1, (int64_t[]){_i - 1}, QNAN);
            ct_tensor *largest = ct_max(ones, CT_ALL, false), *least = ct_min(ones, CT_ALL, false);
            ck_assert_msg(isnan(ct_item(largest)) && isnan(ct_item(least)), "max drops NaN");
            ct_free(largest);
            ct_free(least);
        }
        ct_free(nan);
        ct_free(one);
        ct_free(ones);
    }
}
END_TEST

static ct_var relu(const ct_var *x) {
    return ct_var_relu(*x);
}

START_TEST(B092_relu_gradient_at_nan) {
    check_gradient("relu", relu, N(QNAN, 1, -1, 0), N(QNAN, 1, 0, 0), N(0, 1, 0, 0));
}
END_TEST

START_TEST(B096_signed_zeros) {
    for (size_t s = 0; s < COUNT(reals); s++) {
        ct_tensor *x = ct_full(reals[s], 1, (int64_t[]){_i}, -0.0);
        expect_all("relu", reals[s], ct_relu(x), -0.0);
        expect_all("abs", reals[s], ct_abs(x), 0);
        expect_all("sign", reals[s], ct_sign(x), 0);
        expect_all("sqrt", reals[s], ct_sqrt(x), -0.0);
        expect_all("neg", reals[s], ct_neg(x), 0);
        expect_all("tanh", reals[s], ct_tanh(x), -0.0);
        expect_all("expm1", reals[s], ct_expm1(x), -0.0);
        ct_free(x);
    }
}
END_TEST

/* ---- accuracy */

START_TEST(B100_long_sums_of_f32) {
    int64_t rows = ((int64_t)1 << 24) + 1000;
    ct_tensor *ones = ct_ones(CT_F32, 2, (int64_t[]){rows, 2});
    EXPECT("sum", ct_sum(ones, 0, false), 0, 16778216, 16778216);
    EXPECT("mean", ct_mean(ones, 0, false), 0, 1, 1);
    ct_free(ones);
}
END_TEST

START_TEST(B101_column_sums_are_sums_of_columns) {
    struct draw draw = {12};
    ct_tensor *a = draw_tensor(&draw, CT_F32, 2, (int64_t[]){100000, 8}, 10, 100);
    ct_tensor *turned = ct_transpose(a), *dense = ct_compact(turned);
    ct_tensor *sums = ct_sum(a, 0, false), *rows = ct_sum(dense, 1, false);
    ck_assert(same_bits(sums, rows));
    for (int j = 0; j < 8; j++) {
        ct_tensor *column = ct_select(a, 1, j), *packed = ct_compact(column);
        ct_tensor *strided = ct_sum(column, 0, false), *alone = ct_sum(packed, CT_ALL, false);
        ct_tensor *same = ct_select(sums, 0, j), *wide = ct_astype(packed, CT_F64);
        ct_tensor *right = ct_sum(wide, 0, false);
        ck_assert_msg(same_bits(strided, same) && same_bits(alone, same), "column %d", j);
        ck_assert_msg(fabs(ct_item(same) / ct_item(right) - 1) < 4 * 0x1p-24, "column %d is off",
                      j);
        ct_tensor *all[] = {column, packed, strided, alone, same, wide, right};
        for (size_t k = 0; k < COUNT(all); k++)
            ct_free(all[k]);
    }
    ct_tensor *all[] = {a, turned, dense, sums, rows};
    for (size_t k = 0; k < COUNT(all); k++)
        ct_free(all[k]);
}
END_TEST

/* ---- depth */

enum { MILLION = 1000000, SMALL_STACK = 256 * 1024 };

struct deep {
    int depth;
    bool two_parents; /* y + y c instead of y + c */
    bool backward;
    double gradient;
};

static void *run_deep(void *context) {
    struct deep *deep = context;
    ct_tensor *one = ct_from_double(CT_F64, 1);
    ct_tape *tape = ct_tape_new();
    ct_var x = ct_leaf(tape, one, "x"), c = ct_constant_of(tape, CT_F64, 1e-6), y = x, dx;
    for (int i = 0; i < deep->depth; i++)
        y = ct_var_add(y, deep->two_parents ? ct_var_mul(y, c) : c);
    if (deep->backward && ct_grad(y, ct_var_null(), 1, &x, &dx) == CT_OK)
        deep->gradient = ct_value_item(dx);
    ct_tape_free(tape);
    ct_free(one);
    return NULL;
}

static void check_deep(struct deep deep, double right) {
    size_t blocks = ct_live_blocks();
    pthread_attr_t attributes;
    pthread_t thread;
    ck_assert_int_eq(pthread_attr_init(&attributes), 0);
    ck_assert_int_eq(pthread_attr_setstacksize(&attributes, SMALL_STACK), 0);
    ck_assert_int_eq(pthread_create(&thread, &attributes, run_deep, &deep), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attributes);
    ck_assert_msg(fabs(deep.gradient - right) <= 1e-9, "%.17g", deep.gradient);
    ck_assert_uint_eq(ct_live_blocks(), blocks);
}

START_TEST(B109_a_million_nodes_deep) {
    check_deep((struct deep){.depth = MILLION, .backward = true}, 1);
}
END_TEST

START_TEST(B109_a_million_nodes_freed_without_backward) {
    check_deep((struct deep){.depth = MILLION}, 0);
}
END_TEST

START_TEST(B109_deep_with_two_parents) {
    int depth = MILLION / 5;
    check_deep((struct deep){.depth = depth, .two_parents = true, .backward = true},
               pow(1 + 1e-6, depth));
}
END_TEST

/* ---- loops */

/* x^2, its gradient, and the gradient's gradient times 1. */
static void differentiate_twice(ct_tape *tape, const ct_tensor *t) {
    ct_var x = ct_leaf(tape, t, "x"), first, second;
    ct_grad(ct_var_mul(x, x), ct_var_null(), 1, &x, &first);
    ct_grad(first, ct_var_null(), 1, &x, &second);
    ck_assert_msg(ct_tape_status(tape) == CT_OK, "%s", ct_tape_message(tape));
    ck_assert_double_eq(ct_value_item(second), 2);
}

enum { TURNS = 20000 };

START_TEST(B111_tapes_hold_nothing_when_freed) {
    ct_tensor *t = T0(3);
    size_t blocks = ct_live_blocks();
    for (int i = 0; i < TURNS; i++) {
        ct_tape *tape = ct_tape_new();
        differentiate_twice(tape, t);
        ct_tape_free(tape);
        ck_assert_uint_eq(ct_live_blocks(), blocks);
    }
    ct_free(t);
}
END_TEST

START_TEST(B111_rewound_tapes_stop_allocating) {
    ct_tensor *t = T0(3);
    ct_tape *tape = ct_tape_new();
    ct_mark mark = ct_tape_mark(tape);
    size_t calls = 0, blocks = 0;
    for (int i = 0; i < TURNS; i++) {
        differentiate_twice(tape, t);
        ck_assert_int_eq(ct_tape_rewind(tape, mark), CT_OK);
        if (i == 1) {
            calls = ct_allocator_calls();
            blocks = ct_live_blocks();
        }
    }
    ck_assert_uint_eq(ct_allocator_calls(), calls);
    ck_assert_uint_eq(ct_live_blocks(), blocks);
    ct_tape_free(tape);
    ct_free(t);
}
END_TEST

/* ---- nested derivatives */

/* d/dx [x d/dy (x + y)] = 1 at x = 1, y = 1. */
START_TEST(B113_perturbations_are_not_confused) {
    ct_tensor *one = T0(1), *dual_one = ct_dual(one, one), *plain_one = ct_dual(one, NULL);
    ct_tape *tape = ct_tape_new();
    ct_var x = ct_leaf(tape, one, "x"), y = ct_leaf(tape, one, "y"), inner, outer;
    ct_grad(ct_var_add(x, y), ct_var_null(), 1, &y, &inner);
    ck_assert_int_eq(ct_grad(ct_var_mul(x, inner), ct_var_null(), 1, &x, &outer), CT_OK);
    ck_assert_double_eq(ct_value_item(outer), 1);
    ct_tape_free(tape);
    /* Forward over reverse: x carries the tangent, y is differentiated by the tape. */
    tape = ct_tape_new();
    x = ct_constant(tape, dual_one, "x");
    y = ct_leaf(tape, plain_one, "y");
    ck_assert_int_eq(ct_grad(ct_var_add(x, y), ct_var_null(), 1, &y, &inner), CT_OK);
    EXPECT("forward over reverse", ct_dual_tangent(ct_value(ct_var_mul(x, inner))), 0, 1);
    ct_tape_free(tape);
    ct_free(one);
    ct_free(dual_one);
    ct_free(plain_one);
}
END_TEST

/* D(x -> x D(y -> x y, 1)) at 4 is 8: the inner derivative is x. */
START_TEST(B113_nested_derivatives_of_a_product) {
    ct_tensor *four = T0(4), *one = T0(1);
    ct_tape *tape = ct_tape_new();
    ct_var x = ct_leaf(tape, four, "x"), y = ct_leaf(tape, one, "y"), inner, outer;
    ct_grad(ct_var_mul(x, y), ct_var_null(), 1, &y, &inner);
    ck_assert_int_eq(ct_grad(ct_var_mul(x, inner), ct_var_null(), 1, &x, &outer), CT_OK);
    ck_assert_double_eq(ct_value_item(outer), 8);
    ct_tape_free(tape);
    /* By duals alone: y varies at the inner level, x at the outer one. */
    ct_tensor *y1 = ct_dual(one, one), *y2 = ct_dual(y1, NULL);
    ct_tensor *x1 = ct_dual(four, NULL), *unit = ct_dual(one, NULL), *x2 = ct_dual(x1, unit);
    ct_tensor *product = ct_mul(x2, y2), *value = ct_dual_value(product),
              *rest = ct_dual_tangent(product);
    ct_tensor *inner_value = ct_dual_tangent(value), *inner_rest = ct_dual_tangent(rest);
    ct_tensor *derivative = ct_dual(inner_value, inner_rest), *lifted = ct_dual(four, one);
    ct_tensor *whole = ct_mul(lifted, derivative);
    EXPECT("duals over duals", ct_dual_tangent(whole), 0, 8);
    ct_tensor *all[] = {four,  one,  y1,          y2,         x1,         unit,   x2,   product,
                        value, rest, inner_value, inner_rest, derivative, lifted, whole};
    for (size_t i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
}
END_TEST

START_TEST(B113_levels_do_not_mix) {
    ct_tensor *one = T0(1), *first = ct_dual(one, one), *second = ct_dual(first, first);
    ck_assert_ptr_null(ct_mul(first, second));
    expect_error(CT_EDTYPE, "dual64");
    ck_assert_ptr_null(ct_mul(one, first));
    ck_assert_int_eq(ct_error()->code, CT_EDTYPE);
    ct_free(one);
    ct_free(first);
    ct_free(second);
}
END_TEST

/* ---- threads and processes */

enum { SKIPPED = 77 };

/* One digest of what threads share: long sums, rows, products. */
static void digest_of_work(char hex[CT_SHA256_TEXT_BYTES]) {
    struct draw draw = {13};
    ct_tensor *a = draw_tensor(&draw, CT_F32, 2, (int64_t[]){700, 301}, -2, 2);
    ct_tensor *b = draw_tensor(&draw, CT_F64, 2, (int64_t[]){301, 311}, -2, 2);
    ct_tensor *wide = ct_astype(a, CT_F64);
    const struct ct_named_tensor named[] = {
        {"sum", ct_sum(a, CT_ALL, false)}, {"columns", ct_sum(a, 0, false)},
        {"mean", ct_mean(b, 1, false)},    {"softmax", ct_softmax(a, 1)},
        {"matmul", ct_matmul(wide, b)},    {"tanh", ct_tanh(b)},
    };
    if (ct_tensors_digest(COUNT(named), named, hex) != CT_OK)
        memset(hex, '?', 1);
    _exit(ct_error()->code == CT_OK ? (int)fwrite(hex, 1, 64, stdout) - 64 : 1);
}

/* What a process with so many threads computes; false where it could not be made. */
static bool digest_in_child(const char *threads, char hex[CT_SHA256_TEXT_BYTES]) {
    int ends[2], status;
    ck_assert_int_eq(pipe(ends), 0);
    fflush(NULL);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        setenv("CT_NUM_THREADS", threads, 1);
        if (ct_num_threads() != atoi(threads))
            _exit(SKIPPED);
        dup2(ends[1], STDOUT_FILENO);
        setvbuf(stdout, NULL, _IONBF, 0);
        digest_of_work(hex);
    }
    close(ends[1]);
    ssize_t got = read(ends[0], hex, 64);
    close(ends[0]);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED)
        return false;
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0 && got == 64, "%s threads",
                  threads);
    hex[64] = '\0';
    return true;
}

START_TEST(B132_results_do_not_depend_on_the_threads) {
    static const char *const threads[] = {"1", "2", "3", "7"};
    char first[CT_SHA256_TEXT_BYTES] = "", other[CT_SHA256_TEXT_BYTES] = "";
    if (!digest_in_child(threads[0], first)) {
        ct_test_skip("this process has chosen its threads already");
        return;
    }
    for (size_t i = 1; i < COUNT(threads); i++) {
        ck_assert(digest_in_child(threads[i], other));
        ck_assert_msg(strcmp(first, other) == 0, "other bits with %s threads", threads[i]);
    }
}
END_TEST

START_TEST(B133_fork_after_a_parallel_call) {
    struct draw draw = {14};
    ct_tensor *small = draw_tensor(&draw, CT_F64, 2, (int64_t[]){64, 64}, -1, 1);
    ct_tensor *large = draw_tensor(&draw, CT_F64, 2, (int64_t[]){300, 300}, -1, 1);
    ct_tensor *before = ct_matmul(small, small), *before_large = ct_matmul(large, large);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0)
        alarm(10);
    ct_tensor *after = ct_matmul(small, small), *after_large = ct_matmul(large, large);
    bool same = same_bits(before, after) && same_bits(before_large, after_large);
    if (pid == 0)
        _exit(same ? 0 : 1);
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(WIFEXITED(status), "the child hangs");
    ck_assert_int_eq(WEXITSTATUS(status), 0);
    ck_assert(same);
    ct_tensor *all[] = {small, large, before, before_large, after, after_large};
    for (size_t i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
}
END_TEST

void add_runtime(Suite *suite) {
    TCase *tc = tcase_create("runtime");
    suite_add_tcase(suite, tc);
    tcase_add_loop_test(tc, B091_nan_is_kept, 0, 34);
    tcase_add_test(tc, B092_relu_gradient_at_nan);
    tcase_add_loop_test(tc, B096_signed_zeros, 0, 34);
    tcase_add_test(tc, B100_long_sums_of_f32);
    tcase_add_test(tc, B101_column_sums_are_sums_of_columns);
    tcase_add_test(tc, B109_a_million_nodes_deep);
    tcase_add_test(tc, B109_a_million_nodes_freed_without_backward);
    tcase_add_test(tc, B109_deep_with_two_parents);
    tcase_add_test(tc, B111_tapes_hold_nothing_when_freed);
    tcase_add_test(tc, B111_rewound_tapes_stop_allocating);
    tcase_add_test(tc, B113_perturbations_are_not_confused);
    tcase_add_test(tc, B113_nested_derivatives_of_a_product);
    tcase_add_test(tc, B113_levels_do_not_mix);
    tcase_add_test(tc, B132_results_do_not_depend_on_the_threads);
    tcase_add_test(tc, B133_fork_after_a_parallel_call);
}
