/* The search for values that are not finite, and for products that a zero absorbed. */

#include "autodiff/ct_anomaly.h"
#include "autodiff/ct_network.h"
#include "autodiff/ct_var_ops.h"
#include "dual/ct_dual.h"
#include "tape_fixture.h"
#include "tensor/ct_convert.h"

#include <math.h>
#include <string.h>

static void says(const struct ct_anomaly *a, const char *text) {
    ck_assert_msg(strcmp(a->message, text) == 0, "\"%s\" is not \"%s\"", a->message, text);
}

START_TEST(a_finite_tape_has_none) {
    ct_var x = named_leaf(T2(2, 2, 1, 2, 3, 4), "x"), y = ct_var_sum(ct_var_log(x), CT_ALL, false),
           dx;
    ct_grad(y, ct_var_null(), 1, &x, &dx);
    struct ct_anomaly a = {.node = 77};
    ck_assert(!ct_tape_anomaly(tape, 0, &a));
    ck_assert(!ct_tape_absorbed(tape, 0, &a));
    ck_assert_uint_eq(a.node, 77);
}
END_TEST

START_TEST(the_first_op_is_named_with_its_place) {
    ct_var x = named_leaf(T2(2, 3, 1, 2, 3, 4, 0, 6), "x");
    ct_scope_begin(tape, "model");
    ct_scope_begin(tape, "head");
    ct_var y = ct_named(ct_var_log(x), "logs");
    ct_scope_end(tape);
    ct_scope_end(tape);
    ct_var_exp(ct_var_square(y));
    struct ct_anomaly a;
    ck_assert(ct_tape_anomaly(tape, 0, &a));
    says(&a, "node 1, log \"logs\" in model/head: -inf at index [1, 1] of f64[2, 3], of 0");
    ck_assert_uint_eq(a.node, 1);
    ck_assert_uint_eq(a.item, 4);
    ck_assert_int_eq(a.op, CT_OP_log);
    ck_assert(!a.is_input && !a.backward && isinf(a.value));
    ck_assert(ct_tape_anomaly(tape, 2, &a)); /* and the next, from there on */
    says(&a, "node 2, square: inf at index [1, 1] of f64[2, 3], of -inf");
}
END_TEST

START_TEST(operands_stand_at_the_index_also_through_strides) {
    ct_var x = named_leaf(T2(2, 2, 1, 2, 3, 4), NULL), z = named_leaf(T2(2, 2, 1, 0, 1, 1), NULL);
    ct_var_div(ct_var_transpose(x), ct_var_transpose(z)); /* 3 / 1 ..., 2 / 0 */
    struct ct_anomaly a;
    ck_assert(ct_tape_anomaly(tape, 0, &a));
    says(&a, "node 4, div: inf at index [1, 0] of f64[2, 2], of 2 and 0");
}
END_TEST

START_TEST(an_input_is_called_one) {
    named_leaf(T1(1, QNAN), "data");
    struct ct_anomaly a;
    ck_assert(ct_tape_anomaly(tape, 0, &a));
    says(&a, "node 0, leaf \"data\": nan at index [1] of f64[2]");
    ck_assert(a.is_input);
}
END_TEST

START_TEST(structured_ops_tell_their_operands_shapes) {
    ct_var a = named_leaf(T2(1, 2, 1e300, 1e300), NULL), b = named_leaf(T2(2, 1, 1e300, 1), NULL);
    ct_var_matmul(a, b);
    struct ct_anomaly found;
    ck_assert(ct_tape_anomaly(tape, 0, &found));
    says(&found, "node 2, matmul: inf at index [0, 0] of f64[1, 1], of f64[1, 2] (all 1e300), "
                 "f64[2, 1] (1 to 1e300)");
}
END_TEST

START_TEST(the_backward_pass_is_searched_from_its_start) {
    ct_var x = named_leaf(T1(0, 1), "x"), dx;
    ct_scope_begin(tape, "layer");
    ct_var y = ct_var_sum(ct_named(ct_var_sqrt(x), "roots"), CT_ALL, false);
    ct_scope_end(tape);
    size_t start = ct_tape_length(tape);
    ct_grad(y, ct_var_null(), 1, &x, &dx);
    struct ct_anomaly a;
    ck_assert(ct_tape_anomaly(tape, 0, &a));
    ck_assert_uint_ge(a.node, start);
    ck_assert(a.backward);
    ck_assert_uint_eq(a.primal, 1);
    ck_assert_ptr_nonnull(strstr(
        a.message, "(backward, of node 1, sqrt \"roots\" in layer): inf at index [0] of f64[2]"));
}
END_TEST

START_TEST(tangents_count) {
    ct_tensor *value = T1(1, 4), *tangent = T1(1, INF), *dual = ct_dual(value, tangent);
    ct_free(value), ct_free(tangent);
    named_leaf(dual, "d");
    struct ct_anomaly a;
    ck_assert(ct_tape_anomaly(tape, 0, &a));
    ck_assert_uint_eq(a.item, 1);
}
END_TEST

START_TEST(absorbed_products_are_found) {
    /* where(x > 0, sqrt(x), x): the derivative of sqrt at 0 is infinite and its cotangent 0 */
    ct_var x = named_leaf(T1(4, 0), "x"), zero = ct_constant_of(tape, CT_F64, 0), dx;
    ct_var root = ct_var_sqrt(x), mask = ct_var_greater(x, zero);
    ct_grad(ct_var_sum(ct_var_where(mask, root, x), CT_ALL, false), ct_var_null(), 1, &x, &dx);
    struct ct_anomaly a;
    ck_assert(ct_tape_absorbed(tape, 0, &a));
    ck_assert_int_eq(a.op, CT_OP_smul);
    ck_assert_uint_eq(a.item, 1);
    ck_assert(a.backward && a.value == 0);
    ck_assert_ptr_nonnull(strstr(a.message, "0 at index [1] of f64[2], of 0 and inf"));
    EXPECT("gradient", ct_copy(ct_value(dx)), 0, 0.25, 1);
}
END_TEST

/* A padded pool puts -infinity around the image; a mask into scores: both are sound. */
START_TEST(infinities_that_are_meant_are_passed_over) {
    struct ct_window around = {.before = {1, 1}, .after = {1, 1}};
    ct_tensor *image = ct_ones(CT_F64, 4, (int64_t[]){1, 1, 3, 3});
    ct_var x = named_leaf(image, "image"), dx;
    ct_var y = ct_var_max_pool(x, (int64_t[]){2, 2}, &around);
    ct_grad(ct_var_sum(y, CT_ALL, false), ct_var_null(), 1, &x, &dx);
    struct ct_anomaly a;
    ck_assert(!ct_tape_anomaly(tape, 0, &a));
    ct_tape_rewind(tape, (ct_mark){0});

    ct_var scores = named_leaf(T2(2, 2, 1, 2, 3, 4), "scores"),
           none = ct_constant_of(tape, CT_F64, -INF);
    ct_tensor *half = T2(2, 2, 1, 0, 0, 0), *seen = ct_astype(half, CT_BOOL);
    ct_var mask = ct_constant(tape, seen, "mask"), hidden = ct_var_where(mask, scores, none);
    ct_free(half), ct_free(seen);
    ct_var_exp(hidden);
    ck_assert(!ct_tape_anomaly(tape, 0, &a));
    ct_var_softmax(ct_var_transpose(hidden), 0); /* of nothing but -infinity, in a column */
    ck_assert(ct_tape_anomaly(tape, 0, &a));
    says(&a, "node 6, softmax: nan at index [0, 1] of f64[2, 2], of f64[2, 2] (3 infinite of 4)");
}
END_TEST

START_TEST(infinities_among_the_meant_ones_are_not) {
    ct_var big = named_leaf(T1(1, 2), "big"), none = ct_constant_of(tape, CT_F64, INF);
    ct_var_sub(none, none);
    struct ct_anomaly a;
    ck_assert(ct_tape_anomaly(tape, 0, &a)); /* inf - inf */
    says(&a, "node 2, sub: nan of f64[], of inf and inf");
    ct_tape_rewind(tape, (ct_mark){0});

    big = named_leaf(T1(1, INF), "big"), none = ct_constant_of(tape, CT_F64, INF);
    ct_var_add(big, none);
    ck_assert(ct_tape_anomaly(tape, 1, &a));
    ck_assert_uint_eq(a.node, 2);
    ck_assert(ct_tape_anomaly(tape, 0, &a));
    ck_assert_uint_eq(a.node, 0);
    ct_tape_rewind(tape, (ct_mark){0});

    ct_constant_of(tape, CT_F64, QNAN);
    ck_assert(ct_tape_anomaly(tape, 0, &a));
    ck_assert_uint_eq(a.node, 0);
    ck_assert(a.is_input);
}
END_TEST

START_TEST(wrong_calls_and_empty_tapes) {
    struct ct_anomaly a;
    ck_assert(!ct_tape_anomaly(tape, 0, &a));
    named_leaf(ct_zeros(CT_F64, 1, (int64_t[]){0}), NULL);
    ct_tensor *whole = ct_full(CT_I64, 1, (int64_t[]){2}, 3);
    ct_constant(tape, whole, NULL);
    ct_free(whole);
    ck_assert(!ct_tape_anomaly(tape, 0, &a));
    ck_assert(!ct_tape_anomaly(tape, 1000, &a));
    ck_assert(!ct_tape_anomaly(NULL, 0, &a));
    expect_error(CT_EINVAL, "");
    ck_assert(!ct_tape_anomaly(tape, 0, NULL));
    expect_error(CT_EINVAL, "the place of the report is NULL");
}
END_TEST

Suite *suite_anomaly(void) {
    Suite *suite = suite_create("anomaly");
    TCase *tc = tcase_create("anomaly");
    tcase_add_checked_fixture(tc, setup, teardown_well);
    tcase_add_test(tc, a_finite_tape_has_none);
    tcase_add_test(tc, the_first_op_is_named_with_its_place);
    tcase_add_test(tc, operands_stand_at_the_index_also_through_strides);
    tcase_add_test(tc, an_input_is_called_one);
    tcase_add_test(tc, structured_ops_tell_their_operands_shapes);
    tcase_add_test(tc, the_backward_pass_is_searched_from_its_start);
    tcase_add_test(tc, tangents_count);
    tcase_add_test(tc, absorbed_products_are_found);
    tcase_add_test(tc, infinities_that_are_meant_are_passed_over);
    tcase_add_test(tc, infinities_among_the_meant_ones_are_not);
    tcase_add_test(tc, wrong_calls_and_empty_tapes);
    suite_add_tcase(suite, tc);
    return suite;
}
