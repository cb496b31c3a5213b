/* Custom ops by a record: what is refused and how it is said, and what lives how long. */

#include "autodiff/ct_custom.h"
#include "autodiff/ct_derivatives.h"
#include "autodiff/ct_var_ops.h"
#include "custom_cases.h"
#include "dual/ct_dual.h"
#include "tape_fixture.h"
#include "tensor/ct_convert.h"
#include "tensor/ct_make.h"
#include "tensor/ct_ops.h"

#include <stddef.h>
#include <string.h>

/* --- errors --- */

START_TEST(without_a_rule_is_an_error_that_names_the_op) {
    struct ct_custom_op op = cube_op;
    op.vjp = NULL;
    struct cube_call call = {&op, 1};
    ct_var x = leaf(T1(1, 2)), y = ct_var_custom(&op, &call.scale, 1, &x), dx = x;
    ck_assert_int_eq(ct_grad(y, ct_var_null(), 1, &x, &dx), CT_ERULE);
    ck_assert(ct_var_is_null(dx));
    refused(CT_ERULE, "node 1, cube, has no derivative rule: its record has no vjp");
    ct_tensor *t = T1(1, 2), *product = NULL;
    ck_assert_int_eq(ct_jvp(cube_of, &call, 1, (const ct_tensor *[]){t}, (const ct_tensor *[]){t},
                            NULL, &product),
                     CT_ERULE);
    expect_error(CT_ERULE, "node 1, cube(dual64[2]): cube has no derivative rule for forward mode");
    op.jvp = cube_jvp_op.jvp;
    ct_tensor *inner = ct_dual(t, t);
    ck_assert_int_eq(ct_jvp(cube_of, &call, 1, (const ct_tensor *[]){inner},
                            (const ct_tensor *[]){inner}, NULL, &product),
                     CT_ERULE);
    expect_error(CT_ERULE, "cube has no second derivative in forward mode");
    ct_free(t), ct_free(inner);
}
END_TEST

START_TEST(where_no_path_asks_for_it_no_rule_is_needed) {
    struct ct_custom_op op = weighted_op;
    op.vjp = NULL;
    ct_var x = leaf(T1(1, 2)), k = ct_var_stop_gradient(x), dx;
    ct_var y = ct_var_mul(ct_var_custom(&op, NULL, 1, &k), x);
    ok(ct_grad(y, ct_var_null(), 1, &x, &dx));
    expect_var("gradient", dx, 0, T1(1, 2));
}
END_TEST

static ct_tensor *fails(void *context, size_t n, const ct_tensor *const *in) {
    const int *how = context;
    (void)n;
    switch (*how) {
    case 0:
        return ct_custom_fail(CT_EDOMAIN, "the moon is not full");
    case 1:
        return NULL;
    case 2:
        return (ct_tensor *)(uintptr_t)in[0];
    default:
        return ct_reshape(in[0], 1, (int64_t[]){7});
    }
}

START_TEST(a_run_that_fails_is_named_with_operands_and_scope) {
    static const struct {
        ct_status code;
        const char *text;
    } wanted[] = {
        {CT_EDOMAIN, "node 1, failing(f64[2]) in outer: the moon is not full"},
        {CT_EINVAL, "node 1, failing(f64[2]) in outer: run returned NULL without an error"},
        {CT_EINVAL, "run returned its input 0 itself: return ct_copy() of it"},
        {CT_ESHAPE, "cannot reshape"},
    };
    struct ct_custom_op op = {.size = sizeof op, .name = "failing", .run = fails};
    for (int how = 0; how < 4; how++) {
        // An older error must not be taken for the op's.
        ct_error_clear();
        ct_custom_fail(CT_EIO, "an older error");
        ct_var x = leaf(T1(1, 2));
        ct_scope_begin(tape, "outer");
        ck_assert(ct_var_is_null(ct_var_custom(&op, &how, 1, &x)));
        expect_error(wanted[how].code, wanted[how].text);
        refused(wanted[how].code, wanted[how].text);
    }
}
END_TEST

START_TEST(a_success_keeps_an_older_error) {
    double scale = 1;
    ct_custom_fail(CT_EIO, "an older error");
    ct_var x = leaf(T1(1, 2));
    ct_var_custom(&cube_op, &scale, 1, &x);
    ck_assert_int_eq(ct_tape_status(tape), CT_OK);
    expect_error(CT_EIO, "an older error");
}
END_TEST

static void bad_vjp(void *context, const struct ct_custom_pull *pull, ct_var *gradients) {
    switch (*(const int *)context) {
    case 0:
        break;
    case 1:
        gradients[0] = ct_var_sum(pull->cotangent, CT_ALL, false);
        break;
    case 2:
        ct_tape_fail(pull->tape, CT_EDOMAIN, "the sun is down");
        break;
    case 3:
        ct_grad(pull->output, pull->cotangent, 1, pull->inputs, gradients);
        break;
    case 4:
        gradients[0] = ct_custom_flat();
        break;
    case 6:
        ck_assert_int_eq(ct_tape_rewind(pull->tape, (ct_mark){0}), CT_EINVAL);
        gradients[0] = pull->cotangent;
        break;
    case 7:
        ck_assert_int_eq(ct_tape_release(pull->tape, 1, pull->inputs), CT_EINVAL);
        gradients[0] = pull->cotangent;
        break;
    default: {
        ct_tape *other = ct_tape_new();
        gradients[0] = ct_constant_of(other, CT_F64, 1);
        ct_tape_free(other);
    }
    }
}

START_TEST(a_rule_that_is_wrong_is_an_error) {
    static const struct {
        ct_status code;
        const char *text;
    } wanted[] = {
        {CT_ERULE, "the vjp of bad set no gradient for the input 0"},
        {CT_ERULE, "the rule of bad for argument 0 gives f64[] and the argument is f64[2]"},
        {CT_EDOMAIN, "the vjp of bad, node 1: the sun is down"},
        {CT_EINVAL,
         "ct_grad inside derivative rules 16 deep: does a rule differentiate its own op?"},
        {CT_OK, ""},
        {CT_ERULE, "the vjp of bad set no gradient for the input 0"},
        {CT_EINVAL,
         "the vjp of bad, node 1: a derivative rule cannot take away what ct_grad works on"},
        {CT_EINVAL,
         "the vjp of bad, node 1: a derivative rule cannot take away what ct_grad works on"},
    };
    for (int how = 0; how < 8; how++) {
        struct ct_custom_op op = weighted_op;
        op.name = "bad";
        op.vjp = bad_vjp;
        op.context_size = sizeof how;
        ct_var x = leaf(T1(1, 2)), y = ct_var_custom(&op, &how, 1, &x), dx;
        ck_assert_int_eq(ct_grad(y, ct_var_null(), 1, &x, &dx), wanted[how].code);
        if (wanted[how].code == CT_OK)
            expect_var("flat", dx, 0, T1(0, 0));
        refused(wanted[how].code, wanted[how].text);
    }
}
END_TEST

static ct_tensor *bad_jvp(void *context, size_t n, const ct_tensor *const *in,
                          const ct_tensor *const *tangents, const ct_tensor *output) {
    (void)context, (void)n, (void)in, (void)output;
    return *(const double *)context > 0 ? ct_sum(tangents[0], CT_ALL, false) : NULL;
}

START_TEST(a_jvp_that_is_wrong_is_an_error) {
    struct ct_custom_op op = cube_jvp_op;
    op.jvp = bad_jvp;
    struct cube_call call = {&op, 1};
    ct_tensor *x = T1(1, 2), *product = NULL;
    const ct_tensor *in[] = {x};
    ck_assert_int_eq(ct_jvp(cube_of, &call, 1, in, in, NULL, &product), CT_ERULE);
    expect_error(CT_ERULE, "cube(dual64[2]): jvp returned f64[] and the output is f64[2]");
    call.scale = -1;
    ck_assert_int_eq(ct_jvp(cube_of, &call, 1, in, in, NULL, &product), CT_EINVAL);
    expect_error(CT_EINVAL, "jvp returned NULL without an error");
    ck_assert_ptr_null(product);
    ct_free(x);
}
END_TEST

START_TEST(absurd_records_are_refused) {
    double scale = 1;
    char long_name[65];
    memset(long_name, 'x', 64);
    long_name[64] = '\0';
    struct ct_custom_op ops[7];
    for (int k = 0; k < 7; k++)
        ops[k] = cube_op;
    ops[0].size = 3;
    ops[1].name = NULL;
    ops[2].name = "";
    ops[3].name = long_name;
    ops[4].run = NULL;
    ops[5].context_size = SIZE_MAX - 8;
    ops[6].size = offsetof(struct ct_custom_op, run); // an older caller, whose struct had no run
    static const char *const text[] = {"their size is 3: begin with ct_custom_op_init()",
                                       "needs a name of 1 to 63 bytes",
                                       "needs a name of 1 to 63 bytes",
                                       "needs a name of 1 to 63 bytes",
                                       "the custom op cube has no run",
                                       "out of memory for an op with a context",
                                       "the custom op cube has no run"};
    for (int k = 0; k < 7; k++) {
        ct_var x = leaf(T1(1, 2));
        ck_assert(ct_var_is_null(ct_var_custom(&ops[k], &scale, 1, &x)));
        refused(k == 5 ? CT_ENOMEM : CT_EINVAL, text[k]);
    }
    ct_var x = leaf(T1(1, 2));
    ct_var_custom(&cube_op, NULL, 1, &x);
    refused(CT_EINVAL, "has a context of 8 bytes, and it is NULL");
    ct_var many[256];
    for (int i = 0; i < 256; i++)
        many[i] = leaf(T1(1, 2));
    ct_var_custom(&weighted_op, NULL, 256, many);
    refused(CT_EINVAL, "the custom op weighted has 256 inputs: there can be 1 to 255");
    ct_error_clear();
    ck_assert(ct_var_is_null(ct_var_custom(&weighted_op, NULL, 0, &x)));
    expect_error(CT_EINVAL, "has 0 inputs");
    ct_error_clear();
    ck_assert(ct_var_is_null(ct_var_custom(NULL, NULL, 1, &x)));
    ck_assert(ct_var_is_null(ct_var_custom(&weighted_op, NULL, 1, NULL)));
    expect_error(CT_EINVAL, "");
    ct_var null = ct_var_null();
    ck_assert(ct_var_is_null(ct_var_custom(&weighted_op, NULL, 1, &null)));
    ck_assert_ptr_null(ct_custom_fail(CT_OK, "no error"));
}
END_TEST

/* --- lifetimes --- */

static int released;

static void release(void *context) {
    released += *(const int *)context;
}

START_TEST(a_context_is_released_with_its_node) {
    struct ct_custom_op op = weighted_op;
    int one = 1, hundred = 100;
    op.release = release;
    op.context_size = sizeof one;
    released = 0;
    ct_mark start = ct_tape_mark(tape);
    ct_var x = leaf(T1(1, 2)), dx;
    ct_mark middle = ct_tape_mark(tape);
    ct_var y = ct_var_custom(&op, &one, 1, &x);
    ok(ct_grad(y, ct_var_null(), 1, &x, &dx));
    ck_assert_int_eq(released, 0);
    ct_tape_rewind(tape, middle);
    ck_assert_int_eq(released, 1);
    op.context_size = 0;
    ct_var_custom(&op, &hundred, 1, &x);
    ck_assert_int_eq(released, 1);
    ct_tape_free(tape);
    ck_assert_int_eq(released, 101);
    tape = ct_tape_new();
    (void)start;
    // A call that fails releases it too, once, whatever fails.
    x = leaf(T1(1, 2));
    op.run = fails;
    int how = 1;
    ct_var_custom(&op, &how, 1, &x);
    ck_assert_int_eq(released, 102);
    ct_var_custom(&op, &how, 1, &x); // the tape is in error
    ck_assert_int_eq(released, 103);
    ct_tape_rewind(tape, (ct_mark){0});
    ct_var_custom(&op, &how, 1, &x); // stale
    ck_assert_int_eq(released, 104);
    ct_var_custom(&op, &how, 1, NULL);
    ck_assert_int_eq(released, 105);
    op.name = "";
    ct_var_custom(&op, &how, 1, &x);
    ck_assert_int_eq(released, 106);
    // The check runs it again and again and leaves it alone.
    op = weighted_op;
    op.release = release;
    ct_tensor *t = T1(1, 2);
    struct ct_check_report report;
    ok(ct_check_custom(&op, &one, 1, (const ct_tensor *[]){t}, NULL, &report));
    ck_assert_int_eq(report.verdict, CT_CHECK_PASS);
    ck_assert_int_eq(released, 106);
    ct_free(t);
}
END_TEST

START_TEST(a_steady_loop_does_not_allocate) {
    double scale = 1;
    ct_mark start = ct_tape_mark(tape);
    ct_tensor *t = T1(1, 2);
    size_t calls = 0;
    for (int turn = 0; turn < 6; turn++) {
        ct_var x = ct_leaf(tape, t, NULL), dx;
        ct_var y = ct_var_custom(&cube_generic_op, &scale, 1, &x);
        ok(ct_grad(y, ct_var_null(), 1, &x, &dx));
        ok(ct_tape_rewind(tape, start));
        if (turn == 2)
            calls = ct_allocator_calls();
    }
    ck_assert_uint_eq(ct_allocator_calls(), calls);
    ct_free(t);
}
END_TEST

START_TEST(a_release_of_leaves_stops_it) {
    ct_var x = leaf(T1(1, 2)), y = ct_var_custom(&weighted_op, NULL, 1, &x);
    ok(ct_tape_release(tape, 1, &x));
    ck_assert_ptr_nonnull(ct_value(y));
    ck_assert(ct_var_is_null(ct_var_custom(&weighted_op, NULL, 1, &y)));
    refused(CT_ESTALE, "released its leaves");
}
END_TEST

Suite *suite_custom_errors(void);
Suite *suite_custom_errors(void) {
    Suite *suite = suite_create("custom_errors");
    TCase *tc = tcase_create("custom errors");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, without_a_rule_is_an_error_that_names_the_op);
    tcase_add_test(tc, where_no_path_asks_for_it_no_rule_is_needed);
    tcase_add_test(tc, a_run_that_fails_is_named_with_operands_and_scope);
    tcase_add_test(tc, a_success_keeps_an_older_error);
    tcase_add_test(tc, a_rule_that_is_wrong_is_an_error);
    tcase_add_test(tc, a_jvp_that_is_wrong_is_an_error);
    tcase_add_test(tc, absurd_records_are_refused);
    tcase_add_test(tc, a_context_is_released_with_its_node);
    tcase_add_test(tc, a_steady_loop_does_not_allocate);
    tcase_add_test(tc, a_release_of_leaves_stops_it);
    suite_add_tcase(suite, tc);
    return suite;
}
