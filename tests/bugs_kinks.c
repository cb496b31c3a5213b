#include "bugs.h"

#include <math.h>

#include "autodiff/ct_var_ops.h"
#include "case_tools.h"
#include "tensor/ct_ops.h"

#define FN(name, expression)                                                                       \
    static ct_var name(const ct_var *x) {                                                          \
        return expression;                                                                         \
    }
#define K(value) constant_like(*x, value)

/* The table of conventions has its own suite, convention_cells.c, with the numbers of these reports beside its
   cells. Here stands what is more than a cell. */

/* ---- masks */

FN(positive, ct_var_greater(*x, K(0)))
FN(masked_root, ct_var_where(positive(x), ct_var_sqrt(*x), *x))
FN(safe_root, ct_var_where(positive(x), ct_var_sqrt(ct_var_where(positive(x), *x, K(1))), *x))
FN(elu, ct_var_elu(*x))
FN(elu_by_where, ct_var_where(positive(x), *x, ct_var_expm1(*x)))
FN(log_times_mask, ct_var_mul(ct_var_log(*x), ct_var_relu_mask(*x)))
FN(masked_log, ct_var_where(positive(x), ct_var_log(*x), K(0)))

START_TEST(B019_masked_root) {
    check_gradient("where(x > 0, sqrt(x), x)", masked_root, N(-1, 0, 4), N(-1, 0, 2),
                   N(1, 1, 0.25));
    check_gradient("the double where", safe_root, N(-1, 0, 4), N(-1, 0, 2), N(1, 1, 0.25));
}
END_TEST

START_TEST(B020_dead_branch_that_overflows) {
    check_gradient("elu", elu, N(1000, -1), N(1000, -0.63212055882855768),
                   N(1, 0.36787944117144233));
    check_gradient("elu by where", elu_by_where, N(1000, -1), N(1000, -0.63212055882855768),
                   N(1, 0.36787944117144233));
    ct_tensor *t = ct_from_doubles(CT_F32, 1, (int64_t[]){2}, 2, (double[]){100, -1});
    ct_tape *tape = ct_tape_new();
    ct_var x = ct_leaf(tape, t, "x"), dx;
    ck_assert_int_eq(ct_grad(elu(&x), ct_var_null(), 1, &x, &dx), CT_OK);
    EXPECT("elu of f32", ct_copy(ct_value(dx)), 1e-7, 1, 0.36787945);
    ct_tape_free(tape);
    ct_free(t);
}
END_TEST

START_TEST(B021_mask_by_multiplication) {
    check_gradient("log(x) (x > 0)", log_times_mask, N(0, 2), N(QNAN, 0.69314718055994531),
                   N(0, 0.5));
    check_gradient("where(x > 0, log(x), 0)", masked_log, N(0, 2), N(0, 0.69314718055994531),
                   N(0, 0.5));
}
END_TEST

/* ---- rows of exponentials */

FN(softmax, ct_var_softmax(*x, -1))
FN(log_softmax, ct_var_log_softmax(*x, -1))

START_TEST(B033_softmax_of_large_numbers) {
    const double x = 1000, a = 0.09003057317038046, b = 0.24472847105479764,
                 c = 0.66524095577482178;
    ct_tensor *row = T1(x, x + 1, x + 2);
    EXPECT("softmax", ct_softmax(row, 0), 1e-15, a, b, c);
    ct_tensor *rows = T2(2, 2, 1000, 0, -1000, -1001);
    EXPECT("softmax of rows", ct_softmax(rows, 1), 1e-15, 1, 0, 0.73105857863000487,
           0.26894142136999512);
    ct_free(row);
    ct_free(rows);
}
END_TEST

START_TEST(B033_softmax_with_plus_infinity) {
    ct_tensor *row = T1(1, INF, 2), *none = ct_zeros(CT_BOOL, 1, (int64_t[]){0});
    EXPECT("softmax", ct_softmax(row, 0), 0, 0, 1, 0);
    ck_assert_ptr_null(ct_softmax(none, 0));
    ck_assert_int_eq(ct_error()->code, CT_EDTYPE);
    ct_free(row);
    ct_free(none);
}
END_TEST

START_TEST(B034_softmax_with_minus_infinity) {
    ct_tensor *rows = T2(3, 3, 0, 0, 0, -INF, -INF, -INF, -INF, 0, 1);
    const double third = 1.0 / 3, p = 0.26894142136999512, q = 0.73105857863000487;
    EXPECT("softmax", ct_softmax(rows, 1), 1e-15, third, third, third, QNAN, QNAN, QNAN, 0, p, q);
    ct_tape *tape = ct_tape_new();
    ct_tensor *row = ct_select(rows, 0, 2), *weights = T1(1, 2, 0);
    ct_var x = ct_leaf(tape, row, "x"), dx, g = ct_constant(tape, weights, "g");
    ck_assert_int_eq(ct_grad(softmax(&x), g, 1, &x, &dx), CT_OK);
    EXPECT("its gradient", ct_copy(ct_value(dx)), 1e-12, 0, 0.39322386648296371,
           -0.39322386648296371);
    ct_tape_free(tape);
    ct_free(rows);
    ct_free(row);
    ct_free(weights);
}
END_TEST

/* A row without any item that counts must not spoil the others' gradients. */
START_TEST(B034_gradients_of_other_rows_stay_clean) {
    ct_tensor *rows = T2(2, 2, -INF, -INF, 0, 0), *weights = T2(2, 2, 1, 0, 1, 0);
    ct_tape *tape = ct_tape_new();
    ct_var x = ct_leaf(tape, rows, "x"), g = ct_constant(tape, weights, "g"), dx;
    ck_assert_int_eq(ct_grad(log_softmax(&x), g, 1, &x, &dx), CT_OK);
    EXPECT("log_softmax", ct_copy(ct_value(dx)), 1e-15, 0, 0, 0.5, -0.5);
    ct_tape_free(tape);
    ct_free(rows);
    ct_free(weights);
}
END_TEST

START_TEST(B037_cross_entropy_over_a_huge_gap) {
    ct_tensor *logits = T2(1, 3, -431, 279, 427), *label = ct_zeros(CT_I64, 1, (int64_t[]){1});
    ct_tape *tape = ct_tape_new();
    ct_var x = ct_leaf(tape, logits, "x"), dx;
    ct_var loss = ct_var_cross_entropy(x, ct_constant(tape, label, NULL), CT_REDUCE_MEAN);
    ck_assert_double_eq(ct_value_item(loss), 858);
    ck_assert_int_eq(ct_grad(loss, ct_var_null(), 1, &x, &dx), CT_OK);
    double small;
    ck_assert_int_eq(ct_get(ct_value(dx), 2, (int64_t[]){0, 1}, &small), CT_OK);
    ck_assert_msg(fabs(small / 5.301718666091e-65 - 1) < 1e-11, "%g", small);
    EXPECT("gradient", ct_copy(ct_value(dx)), 1e-15, -1, 0, 1);
    ct_tape_free(tape);
    ct_free(logits);
    ct_free(label);
}
END_TEST

/* ---- activations far out */

FN(softplus, ct_var_softplus(*x))
FN(log_sigmoid, ct_var_log_sigmoid(*x))

START_TEST(B042_softplus_far_out) {
    const double s = 7.5825604164e-10;
    check_gradient("softplus", softplus, N(21, 800, -800, INF, -INF),
                   N(21.000000000758256, 800, 0, INF, 0), N(1 - s, 1, 0, 1, 0));
    check_gradient("log_sigmoid", log_sigmoid, N(-21, -800, 800, -INF, INF),
                   N(-21.000000000758256, -800, 0, -INF, 0), N(1 - s, 1, 0, 1, 0));
    check_second("softplus", softplus, N(21, 800, -800), N(s, 0, 0));
    ct_tensor *x = T1(21);
    ct_tape *tape = ct_tape_new();
    ct_var v = ct_leaf(tape, x, "x"), first, second;
    ct_grad(softplus(&v), ct_var_null(), 1, &v, &first);
    ct_grad(first, ct_var_null(), 1, &v, &second);
    ck_assert_msg(fabs(ct_value_item(second) / s - 1) < 1e-10, "%g is cut off",
                  ct_value_item(second));
    ct_tape_free(tape);
    ct_free(x);
}
END_TEST

void add_kinks(Suite *suite) {
    TCase *tc = tcase_create("kinks");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, B019_masked_root);
    tcase_add_test(tc, B020_dead_branch_that_overflows);
    tcase_add_test(tc, B021_mask_by_multiplication);
    tcase_add_test(tc, B033_softmax_of_large_numbers);
    tcase_add_test(tc, B033_softmax_with_plus_infinity);
    tcase_add_test(tc, B034_softmax_with_minus_infinity);
    tcase_add_test(tc, B034_gradients_of_other_rows_stay_clean);
    tcase_add_test(tc, B037_cross_entropy_over_a_huge_gap);
    tcase_add_test(tc, B042_softplus_far_out);
}
