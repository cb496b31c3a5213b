/* The tape: sticky errors, stale variables, mark and rewind, release, memory. */

#include "autodiff/ct_tape.h"
#include "autodiff/ct_var_ops.h"
#include "tape_fixture.h"

#include <string.h>

START_TEST(first_error_sticks_with_op_node_and_shapes) {
    ct_scope_begin(tape, "layer0");
    ct_var x = leaf(T2(2, 3, 1, 2, 3, 4, 5, 6)), z = leaf(T1(1, 2));
    ct_var bad = ct_var_add(x, z);
    ck_assert(ct_var_is_null(bad));
    expect_sticky(CT_ESHAPE,
                  "node 2, add(f64[2, 3], f64[2]) in layer0: shapes [2, 3] and [2] do "
                  "not broadcast: the extents 3 and 2 of axis 1 differ and neither is 1");
    size_t length = ct_tape_length(tape);
    ct_var later = ct_var_exp(x);
    ck_assert(ct_var_is_null(later));
    ck_assert(ct_var_is_null(ct_var_sum(bad, CT_ALL, false)));
    ck_assert_uint_eq(ct_tape_length(tape), length);
    expect_sticky(CT_ESHAPE, "node 2, add");
    ct_var dx;
    ck_assert_int_eq(ct_grad(x, ct_var_null(), 1, &x, &dx), CT_ESHAPE);
    ck_assert(ct_var_is_null(dx));
    ck_assert_ptr_nonnull(ct_value(x)); /* what came before the error can be looked at */
    ck_assert_ptr_null(ct_value(bad));
    expect_error(CT_ESHAPE, "node 2, add");
}
END_TEST

START_TEST(rewind_forgets_an_error) {
    ct_var x = leaf(T1(1, 2));
    ct_mark mark = ct_tape_mark(tape);
    ct_var_matmul(x, leaf(T1(1, 2, 3)));
    expect_sticky(CT_ESHAPE, "matmul needs the inner extents to agree: [2] times [3], 2 against 3");
    ck_assert_int_eq(ct_tape_rewind(tape, mark), CT_OK);
    ck_assert_int_eq(ct_tape_status(tape), CT_OK);
    ck_assert_str_eq(ct_tape_message(tape), "");
    ck_assert(!ct_var_is_null(ct_var_exp(x)));
}
END_TEST

START_TEST(variables_from_before_a_rewind_are_stale) {
    ct_var x = leaf(T1(1, 2));
    ct_mark mark = ct_tape_mark(tape);
    ct_var old = ct_var_exp(x);
    ct_tape_rewind(tape, mark);
    ct_var young = ct_var_log(x); /* takes the old one's place */
    ck_assert_uint_eq(young.index, old.index);
    ck_assert_ptr_null(ct_value(old));
    expect_sticky(CT_ESTALE, "stale");
}
END_TEST

START_TEST(a_mark_that_was_rewound_past_is_stale) {
    ct_mark start = ct_tape_mark(tape);
    leaf(T1(1));
    ct_mark mark = ct_tape_mark(tape);
    ct_tape_rewind(tape, start);
    ck_assert_int_eq(ct_tape_rewind(tape, mark), CT_ESTALE);
    leaf(T1(2));
    ck_assert_int_eq(ct_tape_rewind(tape, mark), CT_ESTALE);
    ct_error_clear();
}
END_TEST

START_TEST(what_a_freed_tape_left_behind_is_stale) {
    ct_tape *first = ct_tape_new();
    ct_scope_begin(first, "a");
    ct_tensor *one = T0(1);
    ct_var old = ct_leaf(first, one, NULL);
    ct_mark mark = ct_tape_mark(first);
    ct_tape_free(first);
    ct_tape *second = ct_tape_new(); /* at the same address, as a rule */
    ct_leaf(second, one, NULL);
    if (second == first) {
        ck_assert_ptr_null(ct_value(old));
        ck_assert_int_eq(ct_tape_rewind(second, mark), CT_ESTALE);
    }
    ct_tape_free(second);
    ct_free(one);
    ct_error_clear();
}
END_TEST

START_TEST(a_mark_in_a_scope_that_is_gone_is_stale) {
    ct_mark start = ct_tape_mark(tape);
    ct_scope_begin(tape, "inner");
    ct_mark inside = ct_tape_mark(tape);
    ck_assert_int_eq(ct_tape_rewind(tape, start), CT_OK);
    ck_assert_int_eq(ct_tape_rewind(tape, inside), CT_ESTALE);
    ct_scope_begin(tape, "other");
    ck_assert_int_eq(ct_tape_rewind(tape, inside), CT_ESTALE);
    ct_error_clear();
}
END_TEST

START_TEST(a_mark_of_another_tape_is_refused) {
    ct_tape *other = ct_tape_new();
    ck_assert_int_eq(ct_tape_rewind(tape, ct_tape_mark(other)), CT_EINVAL);
    expect_error(CT_EINVAL, "another tape");
    ct_error_clear();
    ct_tape_free(other);
}
END_TEST

START_TEST(an_unknown_reduction_is_an_error) {
    ct_var x = leaf(T1(1, 2));
    ck_assert(ct_var_is_null(ct_var_mse(x, x, (enum ct_reduction)17)));
    expect_sticky(CT_EINVAL, "there is no reduction 17");
    ct_error_clear();
}
END_TEST

START_TEST(null_and_foreign_operands) {
    ct_tape *other = ct_tape_new();
    ct_var x = leaf(T1(1, 2));
    ct_tensor *value = T1(1, 2);
    ct_var foreign = ct_leaf(other, value, "y");
    ct_free(value);
    ck_assert(ct_var_is_null(ct_var_add(x, foreign)));
    expect_sticky(CT_EINVAL, "operand 1 of add is of another tape than those before it");
    ck_assert_int_eq(ct_tape_status(other), CT_EINVAL);
    ct_tape_free(other);

    ct_tape_rewind(tape, (ct_mark){0});
    x = leaf(T1(1, 2));
    ck_assert(ct_var_is_null(ct_var_add(x, ct_var_null())));
    expect_sticky(CT_EINVAL, "node 1: operand 1 of add is the null variable");

    ct_tape_rewind(tape, (ct_mark){0});
    x = leaf(T1(1, 2));
    ct_var_dense(x, ct_var_null(), ct_var_null(), CT_IDENTITY);
    expect_sticky(CT_EINVAL, "node 1: operand 1 of dense is the null variable, of no tape (a "
                             "parameter has a variable after ct_params_record())");

    ct_error_clear();
    ck_assert(ct_var_is_null(ct_leaf(NULL, NULL, NULL)));
    expect_error(CT_EINVAL, "NULL");
    ct_error_clear();
    ck_assert(ct_var_is_null(ct_var_exp(ct_var_null())));
    ck_assert_int_eq(ct_error()->code, CT_EINVAL);
    ct_error_clear();
    ck_assert_int_eq(ct_tape_status(NULL), CT_EINVAL);
    ct_tape_free(NULL);
}
END_TEST

START_TEST(a_null_value_keeps_its_reason) {
    ct_error_clear();
    ct_tensor *none = ct_zeros(CT_F64, 1, (int64_t[]){-1});
    ck_assert(ct_var_is_null(ct_leaf(tape, none, "x")));
    expect_sticky(CT_ESHAPE, "the extent -1 of axis 0 is negative");
    ct_error_clear();
}
END_TEST

START_TEST(leaves_are_differentiable_and_constants_need_not_be) {
    ct_tensor *labels = ct_zeros(CT_I64, 1, (int64_t[]){3});
    ck_assert(!ct_var_is_null(ct_constant(tape, labels, "labels")));
    ck_assert(ct_var_is_null(ct_leaf(tape, labels, "labels")));
    expect_sticky(CT_EDTYPE, "i64");
    ct_free(labels);
}
END_TEST

START_TEST(a_tape_shares_and_never_sees_a_later_write) {
    ct_tensor *value = T1(1, 2);
    ct_var x = ct_leaf(tape, value, "x");
    ck_assert(ct_shares_storage(ct_value(x), value));
    ck_assert_int_eq(ct_set(value, 1, (int64_t[]){0}, 100), CT_OK);
    EXPECT("the leaf", ct_copy(ct_value(x)), 0, 1, 2);
    ct_free(value);
}
END_TEST

START_TEST(rank_0_constants_ride_along_and_other_shapes_are_broadcast) {
    ct_var x = leaf(T2(2, 2, 1, 2, 3, 4));
    ct_var one = ct_constant_of(tape, CT_F64, 1);
    size_t before = ct_tape_length(tape);
    ct_var_add(x, one);
    ck_assert_uint_eq(ct_tape_length(tape), before + 1);
    ct_var_add(x, leaf(T0(1)));
    ck_assert_uint_eq(ct_tape_length(tape), before + 4); /* the leaf, broadcast, add */
    ck_assert_int_eq(ct_tape_status(tape), CT_OK);
}
END_TEST

START_TEST(release_lets_a_parameter_be_written_in_place) {
    ct_tensor *w = T2(2, 2, 1, 2, 3, 4);
    ct_mark mark = ct_tape_mark(tape);
    ct_var x = ct_leaf(tape, w, "w");
    ct_var view = ct_var_transpose(x), sum = ct_var_sum(view, CT_ALL, false);
    const void *where = ct_data(w);
    ck_assert_int_eq(ct_tape_release(tape, 1, &x), CT_OK);
    ck_assert_ptr_eq(ct_data_for_write(w), where); /* no copy: nobody else has a share */
    ck_assert_double_eq(ct_value_item(sum), 10);   /* what is not a view is still there */
    ck_assert_ptr_null(ct_value(view));
    expect_sticky(CT_ESTALE, "released");
    ct_tape_rewind(tape, mark);
    ck_assert_int_eq(ct_tape_status(tape), CT_OK);
    x = ct_leaf(tape, w, "w");
    ct_tape_release(tape, 1, &x);
    ct_var_exp(x);
    expect_sticky(CT_ESTALE, "rewind");
    ct_free(w);
}
END_TEST

/* A turn of a loop: forward, gradient of the gradient, rewind. */
static void turn(ct_var x, ct_mark mark) {
    ct_scope_begin(tape, "turn");
    ct_var y = ct_named(
        ct_var_sum(ct_var_tanh(ct_var_matmul(x, ct_var_transpose(x))), CT_ALL, false), "loss");
    ct_scope_end(tape);
    ct_var dx, ddx;
    ck_assert_int_eq(ct_grad(y, ct_var_null(), 1, &x, &dx), CT_OK);
    ck_assert_int_eq(ct_grad(dx, ct_var_null(), 1, &x, &ddx), CT_OK);
    ck_assert_int_eq(ct_tape_rewind(tape, mark), CT_OK);
}

START_TEST(a_steady_loop_allocates_nothing) {
    ct_tensor *value = ct_full(CT_F64, 2, (int64_t[]){16, 8}, 0.01);
    ct_var x = ct_leaf(tape, value, "x");
    ct_mark mark = ct_tape_mark(tape);
    for (int i = 0; i < 3; i++)
        turn(x, mark);
    size_t calls = ct_allocator_calls();
    for (int i = 0; i < 100; i++)
        turn(x, mark);
    ck_assert_uint_eq(ct_allocator_calls(), calls);
    ct_free(value);
}
END_TEST

START_TEST(names_given_late_to_early_nodes_go_with_the_rewind) {
    ct_var x = ct_named(leaf(T1(1)), "early");
    ct_mark mark = ct_tape_mark(tape);
    ct_named(x, "late");
    ct_tape_rewind(tape, mark);
    ct_named(ct_var_exp(x), "other");
    ck_assert_int_eq(ct_tape_status(tape), CT_OK);
}
END_TEST

START_TEST(every_verb_says_that_leaves_were_released) {
    ct_tensor *w = T2(2, 2, 1, 2, 3, 4);
    for (int verb = 0; verb < 8; verb++) {
        ct_error_clear();
        ct_mark mark = ct_tape_mark(tape);
        ct_var x = ct_leaf(tape, w, "w"), y = ct_var_null();
        ct_get(w, 1, (int64_t[]){2}, NULL); /* an older error, which must not show */
        ct_tape_release(tape, 1, &x);
        switch (verb) {
        case 0:
            y = ct_var_slice(x, 0, 0, 1, 1);
            break;
        case 1:
            y = ct_var_select(x, 0, 0);
            break;
        case 2:
            y = ct_var_expand_dims(x, 0);
            break;
        case 3:
            y = ct_var_squeeze(x, CT_ALL);
            break;
        case 4:
            y = ct_var_mean(x, 0, false);
            break;
        case 5:
            y = ct_var_matmul(x, x);
            break;
        case 6:
            y = ct_var_flip(x, 0);
            break;
        case 7:
            y = ct_var_log_softmax(x, 0);
            break;
        }
        ck_assert(ct_var_is_null(y));
        expect_sticky(CT_ESTALE, "rewind");
        ct_tape_rewind(tape, mark);
    }
    ct_free(w);
    ct_error_clear();
}
END_TEST

START_TEST(errors_of_views_name_node_operands_and_function) {
    ct_var x = leaf(T2(2, 3, 1, 2, 3, 4, 5, 6));
    ct_mark mark = ct_tape_mark(tape);
    ct_var_slice(x, 5, 0, 1, 1);
    expect_sticky(CT_EAXIS, "node 1, sliced(f64[2, 3]): the axis 5 is out of range");
    ck_assert_str_eq(ct_error()->function, "ct_var_slice");
    ct_tape_rewind(tape, mark);
    ct_var_mean(x, -3, false);
    expect_sticky(CT_EAXIS, "node 1, summed(f64[2, 3]): the axis -3 is out of range");
    ct_tape_rewind(tape, mark);
    ct_var_squeeze(x, 0);
    expect_sticky(CT_ESHAPE, "node 1, reshaped(f64[2, 3]): ");
    ct_tape_rewind(tape, mark);
    ct_error_clear();
}
END_TEST

START_TEST(null_arrays_and_tapes_are_errors) {
    ct_var x = leaf(T1(1, 2)), dx;
    ct_mark mark = ct_tape_mark(tape);
    ct_var_permute(x, 1, NULL);
    expect_sticky(CT_EINVAL, "NULL");
    ct_tape_rewind(tape, mark);
    ct_var_sum_axes(x, 1, NULL, false);
    expect_sticky(CT_EINVAL, "NULL");
    ct_tape_rewind(tape, mark);
    ct_var_reshape(x, 1, NULL);
    expect_sticky(CT_EINVAL, "NULL");
    ct_tape_rewind(tape, mark);
    ct_error_clear();
    ck_assert_int_eq(ct_grad(x, ct_var_null(), 1, NULL, &dx), CT_EINVAL);
    ck_assert_int_eq(ct_grad(x, ct_var_null(), 1, &x, NULL), CT_EINVAL);
    ck_assert_int_eq(ct_tape_release(tape, 1, NULL), CT_EINVAL);
    ck_assert_int_eq(ct_tape_status(tape), CT_OK);
    ct_error_clear();
    ct_constant_of(NULL, CT_F64, 1);
    ck_assert_int_eq(ct_error()->code, CT_EINVAL);
    ct_error_clear();
    ct_scope_begin(NULL, "a");
    ck_assert_int_eq(ct_error()->code, CT_EINVAL);
    ct_error_clear();
}
END_TEST

START_TEST(scopes_must_balance) {
    ct_scope_begin(tape, "a");
    ct_scope_end(tape);
    ct_scope_end(tape);
    expect_sticky(CT_EINVAL, "ct_scope_begin");
}
END_TEST

Suite *suite_tape(void) {
    Suite *suite = suite_create("tape");
    TCase *tc = tcase_create("tape");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, first_error_sticks_with_op_node_and_shapes);
    tcase_add_test(tc, rewind_forgets_an_error);
    tcase_add_test(tc, variables_from_before_a_rewind_are_stale);
    tcase_add_test(tc, a_mark_that_was_rewound_past_is_stale);
    tcase_add_test(tc, a_mark_of_another_tape_is_refused);
    tcase_add_test(tc, what_a_freed_tape_left_behind_is_stale);
    tcase_add_test(tc, a_mark_in_a_scope_that_is_gone_is_stale);
    tcase_add_test(tc, an_unknown_reduction_is_an_error);
    tcase_add_test(tc, null_and_foreign_operands);
    tcase_add_test(tc, a_null_value_keeps_its_reason);
    tcase_add_test(tc, leaves_are_differentiable_and_constants_need_not_be);
    tcase_add_test(tc, a_tape_shares_and_never_sees_a_later_write);
    tcase_add_test(tc, rank_0_constants_ride_along_and_other_shapes_are_broadcast);
    tcase_add_test(tc, release_lets_a_parameter_be_written_in_place);
    tcase_add_test(tc, a_steady_loop_allocates_nothing);
    tcase_add_test(tc, names_given_late_to_early_nodes_go_with_the_rewind);
    tcase_add_test(tc, every_verb_says_that_leaves_were_released);
    tcase_add_test(tc, errors_of_views_name_node_operands_and_function);
    tcase_add_test(tc, null_arrays_and_tapes_are_errors);
    tcase_add_test(tc, scopes_must_balance);
    suite_add_tcase(suite, tc);
    return suite;
}
