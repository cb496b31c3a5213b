/* Rules of structured ops at the places where formulas of others break: zeros in products, one item,
   repeated indices, overlapping windows, many parts. */

#include "autodiff/ct_check.h"
#include "autodiff/ct_derivatives.h"
#include "autodiff/ct_var_ops.h"
#include "dual/ct_dual.h"
#include "tape_fixture.h"
#include "tensor/ct_convert.h"
#include "tensor/ct_index.h"

#include <math.h>

static ct_var index_of(size_t n, const double *items) {
    ct_tensor *t = ct_from_doubles(CT_I64, 1, (int64_t[]){(int64_t)n}, n, items);
    ct_var v = ct_constant(tape, t, NULL);
    ct_free(t);
    return v;
}
#define INDEX(...) index_of(COUNT(((double[]){__VA_ARGS__})), (double[]){__VA_ARGS__})

/* --- products --- */

static ct_var product(void *context, ct_tape *t, size_t n, const ct_var *in) {
    (void)context, (void)t, (void)n;
    return ct_var_prod(in[0], CT_ALL, false);
}

static ct_var products_up_to(void *context, ct_tape *t, size_t n, const ct_var *in) {
    (void)context, (void)t, (void)n;
    return ct_var_sum(ct_var_cumprod(in[0], 0), CT_ALL, false);
}

/* Of products of all items but some, by counting. */
static double product_without(size_t n, const double *x, size_t a, size_t b) {
    double p = 1;
    for (size_t i = 0; i < n; i++)
        p *= i == a || i == b ? 1 : x[i];
    return p;
}

/* No zero, one, two, three: gradient and Hessian are products of the others, never x / 0. */
START_TEST(products_are_exact_at_zeros_to_second_order) { /* B026 */
    static const double cases[][4] = {
        {2, 3, 5, 7}, {2, 0, 5, 7}, {0, 3, 0, 7}, {0, 0, 0, 7}, {0, 0, 0, 0}};
    const double *x = cases[_i];
    ct_tensor *t = tensor_of(1, (int64_t[]){4}, 4, x);
    const ct_tensor *in[] = {t};
    ct_tensor *gradient, *hessian = ct_hessian(product, NULL, 1, in, 0, 0);
    ck_assert_int_eq(ct_vjp(product, NULL, 1, in, NULL, NULL, &gradient), CT_OK);
    double first[4], second[16];
    for (size_t i = 0; i < 4; i++) {
        first[i] = product_without(4, x, i, i);
        for (size_t j = 0; j < 4; j++)
            second[4 * i + j] = i == j ? 0 : product_without(4, x, i, j);
    }
    expect_items("gradient", gradient, 1e-15, 4, first);
    expect_items("hessian", hessian, 1e-15, 16, second);
    /* sum of the products up to each: the i-th takes part in those from i on */
    ck_assert_int_eq(ct_vjp(products_up_to, NULL, 1, in, NULL, NULL, &gradient), CT_OK);
    hessian = ct_hessian(products_up_to, NULL, 1, in, 0, 0);
    for (size_t i = 0; i < 4; i++) {
        first[i] = 0;
        for (size_t k = i; k < 4; k++)
            first[i] += product_without(k + 1, x, i, i);
        for (size_t j = 0; j < 4; j++) {
            second[4 * i + j] = 0;
            for (size_t k = i > j ? i : j; i != j && k < 4; k++)
                second[4 * i + j] += product_without(k + 1, x, i, j);
        }
    }
    expect_items("gradient of cumprod", gradient, 1e-15, 4, first);
    expect_items("hessian of cumprod", hessian, 1e-15, 16, second);
    ct_free(t);
}
END_TEST

START_TEST(products_along_axes_that_are_not_last) {
    ct_tensor *t = ct_ones(CT_F64, 3, (int64_t[]){2, 3, 2});
    for (int64_t i = 0; i < 12; i++)
        ct_set_flat(t, i, (double)(i % 5));
    ct_var x = leaf(t);
    ct_var y = ct_var_prod_axes(x, 2, (int[]){0, 2}, false);
    double items[12], expected[12];
    ct_to_doubles(ct_value(x), 12, items);
    for (int i = 0; i < 12; i++) {
        expected[i] = 1;
        for (int k = 0; k < 12; k++)
            if (k != i && k / 2 % 3 == i / 2 % 3)
                expected[i] *= items[k];
    }
    expect_items("gradient", value(grad(y, x)), 1e-15, 12, expected);
}
END_TEST

START_TEST(the_product_of_nothing_has_no_slope) {
    ct_var x = leaf(ct_zeros(CT_F64, 2, (int64_t[]){0, 3}));
    ct_var y = ct_var_prod(x, 0, false);
    EXPECT("ones", value(y), 0, 1, 1, 1);
    ck_assert_uint_eq(ct_count(ct_value(grad(y, x))), 0);
}
END_TEST

/* Discounted returns: y_i = r y_(i-1) + b_i is sum_k r^(i-k) b_k. */
START_TEST(a_recurrence_in_closed_form) {
    ct_var r = leaf(T1(9, 0.5, 0.5, 0.5)), b = leaf(T1(1, 2, 3, 4));
    ct_var y = ct_var_recurrence(r, b, 0), total = ct_var_sum(y, CT_ALL, false);
    EXPECT("y", value(y), 0, 1, 2.5, 4.25, 6.125);
    EXPECT("db", value(grad(total, b)), 0, 1.875, 1.75, 1.5, 1);
    EXPECT("da", value(grad(total, r)), 0, 0, 1 * 1.75, 2.5 * 1.5, 4.25);
}
END_TEST

/* --- moments --- */

START_TEST(variances_of_few_items) { /* B010, B011 */
    ct_var one = leaf(T2(2, 1, 3, 4)), same = leaf(T1(2, 2, 2));
    EXPECT("one item, ddof 1", value(ct_var_variance(one, 1, 1, false)), 0, QNAN, QNAN);
    EXPECT("its gradient", value(grad(ct_var_variance(one, 1, 1, false), one)), 0, QNAN, QNAN);
    EXPECT("one item, ddof 0", value(ct_var_variance(one, 1, 0, false)), 0, 0, 0);
    EXPECT("its gradient", value(grad(ct_var_variance(one, 1, 0, false), one)), 0, 0, 0);
    EXPECT("std at 0", value(grad(ct_var_std(same, 0, 0, false), same)), 0, 0, 0, 0);
    EXPECT("std of one item", value(grad(ct_var_std(one, 1, 0, false), one)), 0, 0, 0);
    ct_var x = leaf(T1(1, 2, 6));
    EXPECT("2 (x - mean) / 2", value(grad(ct_var_variance(x, CT_ALL, 1, false), x)), 1e-15, -2, -1,
           3);
}
END_TEST

/* --- norms --- */

static const double orders[] = {1, 2, (double)INFINITY, -(double)INFINITY, 3, 0.5};

static ct_var norms(void *context, ct_tape *t, size_t n, const ct_var *in) {
    (void)t, (void)n;
    return ct_var_norm_axes(in[0], 2, (int[]){0, 2}, *(const double *)context, true);
}

/* The bits of ct_norm(), over axes; the derivatives of both orders by the check. What they are at kinks stands in
   suite_conventions. */
START_TEST(norms_are_those_of_tensors) {
    double order = orders[_i];
    ct_tensor *t = ct_ones(CT_F64, 3, (int64_t[]){2, 3, 4});
    for (int64_t i = 0; i < 24; i++)
        ct_set_flat(t, i, (i % 2 ? -0.1 : 0.1) * (double)(3 + i * 7 % 24));
    ct_var x = leaf(ct_copy(t)), y = norms(&order, tape, 1, &x);
    ct_tensor *right = ct_norm_axes(t, 2, (int[]){0, 2}, order, true);
    ck_assert(same_bits(ct_value(y), right));
    ct_free(right);
    right = ct_norm(t, -1, order, false);
    ck_assert(same_bits(ct_value(ct_var_norm(x, -1, order, false)), right));
    struct ct_check_report report;
    struct ct_check_options options = ct_check_options_init();
    options.second_order = true;
    const ct_tensor *in[] = {t};
    ck_assert_int_eq(ct_check_gradient(norms, &order, 1, in, &options, &report), CT_OK);
    ck_assert_msg(report.verdict == CT_CHECK_PASS, "order %g: %s", order, report.message);
    ck_assert_uint_eq(report.checked, 48);
    ct_free(right);
    ct_free(t);
}
END_TEST

START_TEST(norms_that_cannot_be_are_refused) {
    static const struct {
        double order;
        int axis;
        ct_status status;
    } cases[] = {{0, 0, CT_EDOMAIN},
                 {-1, 0, CT_EDOMAIN},
                 {(double)NAN, 0, CT_EDOMAIN},
                 {2, 1, CT_EAXIS},
                 {1, 1, CT_EAXIS}};
    ct_var x = leaf(T1(1, 2));
    ct_mark mark = ct_tape_mark(tape);
    for (size_t k = 0; k < COUNT(cases); k++) {
        ck_assert(ct_var_is_null(ct_var_norm(x, cases[k].axis, cases[k].order, false)));
        ck_assert_int_eq(ct_tape_status(tape), cases[k].status);
        ct_tape_rewind(tape, mark);
    }
    ct_error_clear();
}
END_TEST

/* --- indices --- */

static ct_var put(void *context, ct_tape *t, size_t n, const ct_var *in) {
    (void)n;
    return ct_var_scatter(in[0], 1, ct_constant(t, context, NULL), in[1]);
}

/* The bits of ct_scatter(), signs of zeros among them, and its derivatives by the check. */
START_TEST(scattered_items_are_those_of_tensors) {
    ct_tensor *t = T2(2, 3, 1, 2, 3, -0.0, 5, 6),
              *source = T2(2, 4, -0.0, 8, 9, 10, 11, 12, 13, -0.0);
    ct_tensor *index =
        ct_from_doubles(CT_I64, 2, (int64_t[]){2, 4}, 8, (double[]){2, 2, 0, -1, 1, 1, 1, 1});
    ct_tensor *right = ct_scatter(t, 1, index, source);
    ct_var x = leaf(ct_copy(t)), z = leaf(ct_copy(source)), both[] = {x, z};
    ct_var y = put(index, tape, 2, both);
    ck_assert(right && same_bits(ct_value(y), right));
    EXPECT("to t", value(grad(y, x)), 0, 0, 1, 0, 1, 0, 1);
    EXPECT("to the source", value(grad(y, z)), 0, 0, 0, 1, 1, 0, 0, 0, 1);
    struct ct_check_report report;
    const ct_tensor *in[] = {t, source};
    ck_assert_int_eq(ct_check_gradient(put, index, 2, in, NULL, &report), CT_OK);
    ck_assert_msg(report.verdict == CT_CHECK_PASS, "%s", report.message);
    ct_free(right), ct_free(t), ct_free(source), ct_free(index);
}
END_TEST

START_TEST(scattering_nothing_is_the_tensor) {
    ct_tensor *none = ct_zeros(CT_I64, 1, (int64_t[]){0});
    ct_var x = leaf(T1(1, 2)), z = leaf(ct_zeros(CT_F64, 1, (int64_t[]){0}));
    ct_var y = ct_var_scatter(x, 0, ct_constant(tape, none, NULL), z);
    EXPECT("t", value(y), 0, 1, 2);
    EXPECT("to t", value(grad(y, x)), 0, 1, 1);
    ck_assert_uint_eq(ct_count(ct_value(grad(y, z))), 0);
    ct_free(none);
}
END_TEST

START_TEST(scatters_that_cannot_be_are_refused) {
    ct_var x = leaf(T1(1, 2)), z = leaf(T1(1, 2, 3)), far = INDEX(0, 2, 1), two = INDEX(0, 1);
    ct_var single = leaf(ct_zeros(CT_F32, 1, (int64_t[]){2}));
    ct_mark mark = ct_tape_mark(tape);
    ck_assert(ct_var_is_null(ct_var_scatter(x, 0, far, z)));
    ck_assert_int_eq(ct_tape_status(tape), CT_EINDEX);
    ct_tape_rewind(tape, mark);
    ck_assert(ct_var_is_null(ct_var_scatter(x, 0, two, z)));
    ck_assert_int_eq(ct_tape_status(tape), CT_ESHAPE);
    ck_assert_ptr_nonnull(strstr(ct_tape_message(tape), "shape [3] and the index [2]"));
    ct_tape_rewind(tape, mark);
    ck_assert(ct_var_is_null(ct_var_scatter(x, 1, two, x)));
    ck_assert_int_eq(ct_tape_status(tape), CT_EAXIS);
    ct_tape_rewind(tape, mark);
    ck_assert(ct_var_is_null(ct_var_scatter(x, 0, two, single)));
    ck_assert_int_eq(ct_tape_status(tape), CT_EDTYPE);
    ct_tape_rewind(tape, mark);
    ct_error_clear();
}
END_TEST

START_TEST(repeated_indices_all_count) { /* B120 */
    ct_var x = leaf(T2(3, 2, 1, 2, 3, 4, 5, 6)), w = leaf(T2(4, 2, 1, 2, 3, 4, 5, 6, 7, 8));
    ct_var y = ct_var_take(x, 0, INDEX(2, 0, 2, -1));
    EXPECT("rows", value(y), 0, 5, 6, 1, 2, 5, 6, 5, 6);
    ct_var weighed = ct_var_mul(y, w);
    EXPECT("sums of w", value(grad(weighed, x)), 0, 3, 4, 0, 0, 1 + 5 + 7, 2 + 6 + 8);
    ct_var sum = ct_var_index_add(x, 0, INDEX(1, 1, 0, 2), w);
    EXPECT("added", value(sum), 0, 6, 8, 7, 10, 12, 14);
    EXPECT("to w", value(grad(ct_var_square(sum), w)), 0, 14, 20, 14, 20, 12, 16, 24, 28);
}
END_TEST

START_TEST(an_index_that_is_out_of_range_sticks) {
    ct_var x = leaf(T1(1, 2, 3)), y = ct_var_take(x, 0, INDEX(1, 3));
    ck_assert(ct_var_is_null(y));
    ck_assert_int_eq(ct_tape_status(tape), CT_EINDEX);
    ck_assert_ptr_nonnull(strstr(ct_tape_message(tape), "taken(f64[3], i64[2])"));
    ct_tape_rewind(tape, (ct_mark){0});
}
END_TEST

/* --- parts and windows --- */

START_TEST(many_parts_are_joined_in_order) {
    for (size_t n = 1; n <= 9; n++) {
        ct_var parts[9], y;
        double expected[9], slope[9];
        for (size_t i = 0; i < n; i++) {
            parts[i] = leaf(T1((double)i));
            expected[i] = (double)i;
            slope[i] = 2 * (double)i;
        }
        y = ct_var_concat(n, parts, 0);
        expect_items("joined", value(y), 0, n, expected);
        y = ct_var_square(y);
        for (size_t i = 0; i < n; i++)
            expect_items("its part", value(grad(y, parts[i])), 0, 1, &slope[i]);
        y = ct_var_stack(n, parts, 1);
        ck_assert_int_eq(ct_rank(ct_value(y)), 2);
        ck_assert_int_eq(ct_shape(ct_value(y))[1], (int64_t)n);
    }
    ck_assert(ct_var_is_null(ct_var_concat(0, NULL, 0)));
}
END_TEST

START_TEST(windows_that_overlap_add_up) {
    ct_var x = leaf(T1(1, 2, 3, 4, 5)), w = leaf(T2(3, 3, 1, 2, 3, 4, 5, 6, 7, 8, 9));
    ct_var y = ct_var_mul(ct_var_unfold(x, 0, 3, 1), w);
    EXPECT("folded", value(grad(y, x)), 0, 1, 2 + 4, 3 + 5 + 7, 6 + 8, 9);
    EXPECT("gaps", value(ct_var_fold(leaf(T2(2, 1, 7, 8)), 0, 5, 3)), 0, 7, 0, 0, 8, 0);
}
END_TEST

START_TEST(sums_up_to_each_weigh_the_rest) {
    ct_var x = leaf(T1(1, 2, 3)), w = leaf(T1(1, 10, 100));
    ct_var y = ct_var_mul(ct_var_cumsum(x, 0), w);
    EXPECT("dx", value(grad(y, x)), 0, 111, 110, 100);
}
END_TEST

/* --- where derivatives end --- */

static ct_var half_stopped(void *context, ct_tape *t, size_t n, const ct_var *in) {
    (void)context, (void)t, (void)n;
    ct_var stopped = ct_var_stop_gradient(ct_var_square(in[0]));
    return ct_var_sum(ct_var_mul(in[0], stopped), CT_ALL, false);
}

static ct_var rounded(void *context, ct_tape *t, size_t n, const ct_var *in) {
    (void)context, (void)t, (void)n;
    ct_var y = ct_var_straight_through(in[0], ct_var_floor(in[0]));
    return ct_var_sum(ct_var_square(y), CT_ALL, false);
}

/* f = x [x^2]: the gradient is x^2, the Hessian 0; in both modes and over nested duals. */
START_TEST(stopped_gradients_stop_in_every_mode) {
    ct_tensor *x = T1(2, 3), *v = T1(1, 1), *product, *gradient, *value;
    const ct_tensor *in[] = {x}, *along[] = {v};
    ck_assert_int_eq(ct_vjp(half_stopped, NULL, 1, in, NULL, &value, &gradient), CT_OK);
    EXPECT("value", value, 0, 35);
    EXPECT("reverse", gradient, 0, 4, 9);
    ck_assert_int_eq(ct_jvp(half_stopped, NULL, 1, in, along, NULL, &product), CT_OK);
    EXPECT("forward", product, 0, 13);
    ck_assert_int_eq(ct_hvp(half_stopped, NULL, 1, in, along, NULL, &product), CT_OK);
    EXPECT("second", product, 0, 0, 0);
    ct_tensor *jacobian = ct_jacobian(half_stopped, NULL, 1, in, 0, CT_MODE_FORWARD);
    EXPECT("wide duals", jacobian, 0, 4, 9);
    ct_tensor *lifted = ct_dual(x, v), *seed = ct_dual(v, NULL);
    ck_assert_int_eq(ct_jvp(half_stopped, NULL, 1, (const ct_tensor *[]){lifted},
                            (const ct_tensor *[]){seed}, NULL, &product),
                     CT_OK);
    EXPECT("nested", ct_dual_tangent(product), 0, 0);
    ct_free(product), ct_free(lifted), ct_free(seed), ct_free(x), ct_free(v);
}
END_TEST

START_TEST(straight_through_takes_one_value_and_the_other_derivative) {
    ct_tensor *x = T1(2.5, -0.5), *v = T1(1, 10), *value, *gradient, *product;
    const ct_tensor *in[] = {x}, *along[] = {v};
    ck_assert_int_eq(ct_vjp(rounded, NULL, 1, in, NULL, &value, &gradient), CT_OK);
    EXPECT("value", value, 0, 4 + 1);
    EXPECT("gradient", gradient, 0, 4, -2);
    ck_assert_int_eq(ct_jvp(rounded, NULL, 1, in, along, NULL, &product), CT_OK);
    EXPECT("forward", product, 0, 4 - 20);
    ct_free(x), ct_free(v);
}
END_TEST

Suite *suite_rules(void) {
    Suite *suite = suite_create("rules");
    TCase *tc = tcase_create("rules");
    tcase_add_checked_fixture(tc, setup, teardown_well);
    tcase_add_loop_test(tc, products_are_exact_at_zeros_to_second_order, 0, 5);
    tcase_add_test(tc, products_along_axes_that_are_not_last);
    tcase_add_test(tc, the_product_of_nothing_has_no_slope);
    tcase_add_test(tc, a_recurrence_in_closed_form);
    tcase_add_test(tc, variances_of_few_items);
    tcase_add_loop_test(tc, norms_are_those_of_tensors, 0, COUNT(orders));
    tcase_add_test(tc, norms_that_cannot_be_are_refused);
    tcase_add_test(tc, scattered_items_are_those_of_tensors);
    tcase_add_test(tc, scattering_nothing_is_the_tensor);
    tcase_add_test(tc, scatters_that_cannot_be_are_refused);
    tcase_add_test(tc, repeated_indices_all_count);
    tcase_add_test(tc, an_index_that_is_out_of_range_sticks);
    tcase_add_test(tc, many_parts_are_joined_in_order);
    tcase_add_test(tc, windows_that_overlap_add_up);
    tcase_add_test(tc, sums_up_to_each_weigh_the_rest);
    tcase_add_test(tc, stopped_gradients_stop_in_every_mode);
    tcase_add_test(tc, straight_through_takes_one_value_and_the_other_derivative);
    suite_add_tcase(suite, tc);
    return suite;
}
