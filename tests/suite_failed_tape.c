/* A tape in error moves no parameter and reaches no file, whichever way it is asked to. */

#include "autodiff/ct_custom.h"
#include "autodiff/ct_var_ops.h"
#include "case_tools.h"
#include "ct_test.h"
#include "custom_cases.h"
#include "io/ct_safetensors.h"
#include "nn/ct_nn.h"
#include "tensor/ct_alloc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static ct_params *params;
static ct_optim *optim;
static ct_tape *tape;
static ct_mark start;
static size_t live;

static void setup(void) {
    ct_error_clear();
    live = ct_live_blocks();
    params = ct_params_new();
    ct_tensor *w = T1(1, 2, 3), *b = T0(0.5);
    ct_params_add(params, "w", w);
    ct_params_add(params, "b", b);
    ct_free(w), ct_free(b);
    optim = ct_sgd_new(NULL);
    tape = ct_tape_new();
    start = ct_tape_mark(tape);
}

static void teardown(void) {
    ct_tape_free(tape);
    ct_optim_free(optim);
    ct_params_free(params);
    ck_assert_uint_eq(ct_live_blocks(), live);
}

/* sum(w^2) + b */
static ct_var loss_of_params(void) {
    ct_var squares = ct_var_sum(ct_var_square(ct_params_var(params, 0)), CT_ALL, false);
    return ct_var_add(squares, ct_params_var(params, 1));
}

static void expect_unmoved(void) {
    ck_assert_uint_eq(ct_optim_steps(optim), 0);
    EXPECT("w", ct_copy(ct_params_value(params, 0)), 0, 1, 2, 3);
    EXPECT("b", ct_copy(ct_params_value(params, 1)), 0, 0.5);
}

/* Whether the next turn, on the rewound tape, is as if nothing had been. */
static void expect_next_turn(void) {
    ck_assert_int_eq(ct_tape_rewind(tape, start), CT_OK);
    ck_assert_int_eq(ct_params_record(params, tape), CT_OK);
    ck_assert_int_eq(ct_params_grad(params, loss_of_params()), CT_OK);
    ck_assert_int_eq(ct_params_step(params, optim), CT_OK);
    ck_assert_uint_eq(ct_optim_steps(optim), 1);
    EXPECT("w", ct_copy(ct_params_value(params, 0)), 1e-15, 0.98, 1.96, 2.94);
}

static ct_tensor *fails(void *context, size_t n, const ct_tensor *const *in) {
    (void)context, (void)n, (void)in;
    return ct_custom_fail(CT_EDOMAIN, "the moon is not full");
}

/* Where the error happens. */
enum place {
    BEFORE_LEAVES,
    IN_FORWARD,
    IN_CUSTOM,
    WITHOUT_RULE,
    IN_GRADIENT,
    AFTER_GRADIENT,
    PLACES
};

static ct_status fail_at(enum place place) {
    if (place == BEFORE_LEAVES)
        ct_tape_fail(tape, CT_EIO, "no data");
    ct_params_record(params, tape);
    ct_var loss = loss_of_params(), w = ct_params_var(params, 0);
    struct ct_custom_op op = weighted_op;
    op.run = place == IN_CUSTOM ? fails : weighted_op.run;
    op.vjp = NULL;
    if (place == IN_FORWARD)
        ct_var_matmul(w, ct_var_exp(ct_params_var(params, 1)));
    if (place == IN_CUSTOM || place == WITHOUT_RULE)
        loss = ct_var_sum(ct_var_custom(&op, NULL, 1, &w), CT_ALL, false);
    ct_params_grad(params, place == IN_GRADIENT ? ct_var_null() : loss);
    if (place == IN_GRADIENT)
        ct_grad(loss, w, 1, &w, &w); // a cotangent of another shape
    if (place == AFTER_GRADIENT)
        ct_tape_fail(tape, CT_EINVAL, "the user has had enough");
    return ct_tape_status(tape);
}

START_TEST(it_cannot_step_the_optimiser) {
    static const ct_status wanted[] = {CT_EIO,   CT_ESHAPE, CT_EDOMAIN,
                                       CT_ERULE, CT_ESHAPE, CT_EINVAL};
    ck_assert_int_eq(fail_at((enum place)_i), wanted[_i]);
    ck_assert_int_eq(ct_params_step(params, optim), CT_EINVAL);
    expect_error(CT_EINVAL, "a tape in error cannot step: ");
    expect_error(CT_EINVAL, ct_tape_message(tape));
    expect_unmoved();
    expect_next_turn();
}
END_TEST

/* Gradients are asked for by hand, and the step is one on tensors. */
START_TEST(its_gradients_are_no_tensors) {
    fail_at((enum place)_i);
    ct_tensor *p[] = {T1(1, 2, 3), T0(0.5)};
    ct_var x[] = {ct_params_var(params, 0), ct_params_var(params, 1)}, dx[2];
    ck_assert_int_ne(ct_grad(loss_of_params(), ct_var_null(), 2, x, dx), CT_OK);
    ck_assert(ct_var_is_null(dx[0]) && ct_var_is_null(dx[1]));
    const ct_tensor *grads[] = {ct_value(dx[0]), ct_value(dx[1])};
    ck_assert(!grads[0] && !grads[1]);
    ck_assert_int_ne(ct_optim_step(optim, 2, p, grads), CT_OK);
    EXPECT("first", p[0], 0, 1, 2, 3);
    EXPECT("second", p[1], 0, 0.5);
    expect_unmoved();
}
END_TEST

/* An error that a rewind took away leaves variables that are stale. */
START_TEST(a_rewound_tape_cannot_step_either) {
    fail_at((enum place)_i);
    ct_tape_rewind(tape, start);
    ct_constant_of(tape, CT_F64, 1);
    ck_assert_int_ne(ct_params_step(params, optim), CT_OK);
    expect_unmoved();
    expect_next_turn();
}
END_TEST

/* What failed has no value, and a file is not written from it: the old one stays. */
START_TEST(it_cannot_save) {
    char path[] = "/tmp/ct_failed_tape_XXXXXX";
    int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    close(file);
    const struct ct_named_tensor good = {"w", ct_params_value(params, 0)};
    char before[CT_SHA256_TEXT_BYTES], after[CT_SHA256_TEXT_BYTES];
    ck_assert_int_eq(ct_safetensors_save(path, 1, &good, 0, NULL, before), CT_OK);
    fail_at((enum place)_i);
    ct_var loss = loss_of_params();
    const struct ct_named_tensor bad[] = {good, {"loss", ct_value(loss)}};
    ck_assert_ptr_null(bad[1].tensor);
    ck_assert(isnan(ct_value_item(loss)));
    ck_assert_int_ne(ct_safetensors_save(path, 2, bad, 0, NULL, after), CT_OK);
    ck_assert_int_ne(ct_tensors_digest(2, bad, after), CT_OK);
    ct_safetensors *read = ct_safetensors_load(path);
    ck_assert_ptr_nonnull(read);
    ck_assert_uint_eq(ct_safetensors_count(read), 1);
    const struct ct_named_tensor kept = {"w", ct_safetensors_at(read, 0)};
    ck_assert_int_eq(ct_tensors_digest(1, &kept, after), CT_OK);
    ck_assert_str_eq(before, after);
    ct_safetensors_free(read);
    unlink(path);
}
END_TEST

Suite *suite_failed_tape(void);
Suite *suite_failed_tape(void) {
    Suite *suite = suite_create("failed_tape");
    TCase *tc = tcase_create("failed tape");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, it_cannot_step_the_optimiser, 0, PLACES);
    tcase_add_loop_test(tc, its_gradients_are_no_tensors, 0, PLACES);
    tcase_add_loop_test(tc, a_rewound_tape_cannot_step_either, 0, PLACES);
    tcase_add_loop_test(tc, it_cannot_save, 0, PLACES);
    suite_add_tcase(suite, tc);
    return suite;
}
