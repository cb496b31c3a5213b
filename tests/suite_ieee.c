/* The option under which derivative rules multiply as IEEE 754 does, beside the default. */

#include "autodiff/ct_derivatives.h"
#include "autodiff/ct_dot.h"
#include "autodiff/ct_var_ops.h"
#include "autodiff/check_impl.h"
#include "dot_tools.h"
#include "tape_fixture.h"
#include "tensor/ct_make.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ct_var product_of_roots(ct_var x) {
    ct_var a = ct_var_sqrt(x), b = ct_var_sqrt(x);
    return ct_var_mul(a, b);
}

static ct_var guarded_root(ct_var x) {
    ct_var zero = ct_constant_of(x.tape, ct_dtype(ct_value(x)), 0);
    ct_var is_positive = ct_var_greater(x, zero);
    return ct_var_where(is_positive, ct_var_sqrt(x), x);
}

static ct_var length(ct_var x) {
    return ct_var_sqrt(ct_var_sum(ct_var_square(x), CT_ALL, false));
}

/* Whose rule divides. */
static ct_var guarded_ratio(ct_var x) {
    ct_var zero = ct_constant_of(x.tape, ct_dtype(ct_value(x)), 0);
    ct_var one = ct_constant_of(x.tape, ct_dtype(ct_value(x)), 1);
    ct_var is_positive = ct_var_greater(x, zero);
    return ct_var_where(is_positive, ct_var_div(one, x), x);
}

static ct_var chosen(ct_var x) {
    ct_var zero = ct_constant_of(x.tape, ct_dtype(ct_value(x)), 0);
    return ct_var_maximum(ct_var_relu(x), zero);
}

/* Functions of a vector, where they are taken, and the gradients of their sum by default and under the
   option. */
static const struct {
    const char *name;
    ct_var (*f)(ct_var x);
    double x[2], absorbing[2], plain[2];
} cases[] = {
    {"sqrt(x) sqrt(x)", product_of_roots, {0, 4}, {0, 1}, {QNAN, 1}},
    {"where(x > 0, sqrt(x), x)", guarded_root, {-1, 4}, {1, 0.25}, {QNAN, 0.25}},
    {"where(x > 0, sqrt(x), x) at 0", guarded_root, {0, 0.25}, {1, 1}, {QNAN, 1}},
    {"norm", length, {0, 0}, {0, 0}, {QNAN, QNAN}},
    {"norm elsewhere", length, {3, 4}, {0.6, 0.8}, {0.6, 0.8}},
    {"where(x > 0, 1 / x, x)", guarded_ratio, {0, 2}, {1, -0.25}, {QNAN, -0.25}},
    {"relu and maximum choose", chosen, {INF, -INF}, {1, 0}, {1, 0}},
};
enum { CASES = sizeof cases / sizeof *cases };

static ct_var gradient_of(ct_var (*f)(ct_var x), ct_var x) {
    ct_var dx;
    ct_grad(ct_var_sum(f(x), CT_ALL, false), ct_var_null(), 1, &x, &dx);
    return dx;
}

START_TEST(gradients_with_and_without) {
    ct_tensor *t = tensor_of(1, (int64_t[]){2}, 2, cases[_i].x);
    ct_var x = ct_leaf(tape, t, NULL);
    for (int turn = 0; turn < 3; turn++) {
        ck_assert_int_eq(ct_tape_set_ieee(tape, turn == 1), CT_OK);
        ck_assert(ct_tape_ieee(tape) == (turn == 1));
        ct_var dx = gradient_of(cases[_i].f, x);
        expect_items(cases[_i].name, ct_copy(ct_value(dx)), 1e-15, 2,
                     turn == 1 ? cases[_i].plain : cases[_i].absorbing);
    }
    ct_free(t);
}
END_TEST

START_TEST(two_orders_record_plain_products) {
    ct_tensor *t = T1(0.5, 4);
    ct_var x = ct_leaf(tape, t, NULL), d2;
    ct_tape_set_ieee(tape, true);
    ct_var d1 = gradient_of(guarded_ratio, x);
    ct_grad(d1, ct_var_null(), 1, &x, &d2);
    struct text text = list_tape(tape, NULL);
    text_has(&text, 0, " smul(");
    text_has(&text, 0, " sdiv(");
    free(text.bytes);
    lists(tape, NULL, " mul(");
    // What a program records itself stays what it is.
    ct_var y = ct_var_smul(x, ct_constant_of(tape, CT_F64, 0));
    EXPECT("smul", ct_copy(ct_value(y)), 0, 0, 0);
    lists(tape, NULL, " smul(");
    ct_free(t);
}
END_TEST

/* Inside an op's domain the two differ in the sign of a zero at most. */
START_TEST(inside_its_domain_each_op_has_the_same_gradients) {
    enum ct_op op = (enum ct_op)_i;
    int arity = ct_op_arity(op);
    if (arity == 0 || ct_op_gives_mask(op) || ct_op_kind_of(op) == CT_KIND_LOGIC)
        return;
    struct draw draw = {(uint64_t)op + 1};
    ct_var in[3], dx[2][3];
    for (int k = 0; k < arity; k++) {
        struct ct__domain d = ct__op_domain(op, k);
        ct_tensor *t = draw_tensor(&draw, ct_op_takes_mask(op, k) ? CT_BOOL : CT_F64, 1,
                                   (int64_t[]){17}, d.low, d.high);
        in[k] = ct_op_takes_mask(op, k) ? ct_constant(tape, t, NULL) : ct_leaf(tape, t, NULL);
        ct_free(t);
    }
    int first = ct_op_takes_mask(op, 0) ? 1 : 0;
    struct ct__op_call call = {.op = op};
    ct_var y = ct__op_call(&call, tape, (size_t)arity, in);
    for (int ieee = 0; ieee < 2; ieee++) {
        ct_tape_set_ieee(tape, ieee);
        ck_assert_int_eq(ct_grad(y, ct_var_null(), (size_t)(arity - first), in + first, dx[ieee]),
                         CT_OK);
    }
    for (int k = 0; k < arity - first; k++)
        ck_assert_msg(same_values(ct_value(dx[0][k]), ct_value(dx[1][k])), "%s, argument %d",
                      ct_op_name(op), k);
}
END_TEST

/* --- rules with kernels of their own --- */

static ct_var logsoft(ct_var x) {
    return ct_var_log_softmax(x, 1);
}
static ct_var soft(ct_var x) {
    return ct_var_softmax(x, 1);
}
static ct_var norm(ct_var x) {
    return ct_var_layer_norm(x, 1, ct_var_null(), ct_var_null(), 0.1);
}
static ct_var entropy(ct_var x) {
    ct_tensor *labels = ct_full(CT_I64, 1, (int64_t[]){3}, 2);
    ct_var z = ct_constant(x.tape, labels, NULL);
    ct_free(labels);
    return ct_var_cross_entropy(x, z, CT_REDUCE_NONE);
}
static ct_var (*const row_ops[])(ct_var x) = {soft, logsoft, norm, entropy};

/* The same gradients of two orders, in words: no fused rule and no absorbing product is left. */
START_TEST(rules_of_rows_are_recorded_in_words) {
    struct draw draw = {(uint64_t)_i + 3};
    ct_tensor *t = draw_tensor(&draw, CT_F64, 2, (int64_t[]){3, 4}, -2, 2);
    ct_var x = ct_leaf(tape, t, NULL), y = row_ops[_i](x), first[2], second[2];
    ct_var w = ct_var_sin(y);
    size_t from = 0;
    for (int ieee = 0; ieee < 2; ieee++) {
        from = ct_tape_length(tape);
        ct_tape_set_ieee(tape, ieee);
        ck_assert_int_eq(ct_grad(w, ct_var_null(), 1, &x, &first[ieee]), CT_OK);
        ct_var square = ct_var_square(first[ieee]);
        ck_assert_int_eq(ct_grad(square, ct_var_null(), 1, &x, &second[ieee]), CT_OK);
    }
    for (int order = 0; order < 2; order++) {
        double right[12];
        ct_to_doubles(ct_value(order ? second[0] : first[0]), 12, right);
        expect_items("gradient", ct_copy(ct_value(order ? second[1] : first[1])), 1e-14, 12, right);
    }
    struct text text = list_tape(tape, NULL);
    char line[32];
    snprintf(line, sizeof line, "\n%zu ", from);
    const char *rest = strstr(text.bytes, line);
    ck_assert_ptr_nonnull(rest);
    ck_assert_ptr_null(strstr(rest, "_grad("));
    ck_assert_ptr_null(strstr(rest, " smul("));
    free(text.bytes);
    ct_free(t);
}
END_TEST

/* A weight of 0 against a row that has no softmax. */
START_TEST(a_zero_weight_meets_a_row_without_softmax) {
    ct_tensor *t = T2(2, 2, QNAN, 1, 0, 0), *weights = T1(0, 1),
              *labels = ct_full(CT_I64, 1, (int64_t[]){2}, 1);
    ct_var x = ct_leaf(tape, t, NULL), w = ct_constant(tape, weights, NULL), dx;
    ct_var y = ct_var_cross_entropy(x, ct_constant(tape, labels, NULL), CT_REDUCE_NONE);
    ct_grad(y, w, 1, &x, &dx);
    EXPECT("absorbing", ct_copy(ct_value(dx)), 0, 0, 0, 0.5, -0.5);
    ct_tape_set_ieee(tape, true);
    ct_grad(y, w, 1, &x, &dx);
    EXPECT("plain", ct_copy(ct_value(dx)), 0, QNAN, QNAN, 0.5, -0.5);
    ct_free(t), ct_free(weights), ct_free(labels);
}
END_TEST

START_TEST(rows_that_are_all_infinite_and_no_rows) {
    ct_tensor *low = T2(2, 2, -INF, -INF, 0, 0), *none = ct_zeros(CT_F64, 2, (int64_t[]){0, 3});
    ct_tape_set_ieee(tape, true);
    ct_var x = ct_leaf(tape, low, NULL), dx;
    ct_grad(ct_var_log_softmax(x, 1), ct_var_null(), 1, &x, &dx);
    EXPECT("all low", ct_copy(ct_value(dx)), 0, 0, 0, 0, 0);
    for (int k = 0; k < 3; k++) {
        x = ct_leaf(tape, none, NULL);
        ck_assert_int_eq(ct_grad(row_ops[k](x), ct_var_null(), 1, &x, &dx), CT_OK);
        ck_assert(same_bits(ct_value(dx), none));
    }
    ct_free(low), ct_free(none);
}
END_TEST

/* --- duals --- */

static ct_var roots_under_the_option(void *context, ct_tape *on, size_t n, const ct_var *in) {
    (void)context, (void)n;
    ct_tape_set_ieee(on, true);
    return product_of_roots(in[0]);
}

START_TEST(tangents_of_duals_absorb_all_the_same) {
    ct_tensor *x = T1(0, 4), *t = T1(1, 1), *product = NULL, *reverse = NULL;
    const ct_tensor *in[] = {x}, *along[] = {t};
    ck_assert_int_eq(ct_jvp(roots_under_the_option, NULL, 1, in, along, NULL, &product), CT_OK);
    EXPECT("forward", product, 0, 0, 1);
    ck_assert_int_eq(ct_vjp(roots_under_the_option, NULL, 1, in, NULL, NULL, &reverse), CT_OK);
    EXPECT("reverse", reverse, 0, QNAN, 1);
    ct_free(x), ct_free(t);
}
END_TEST

START_TEST(a_rewind_keeps_it) {
    ck_assert(!ct_tape_ieee(tape));
    ct_tape_set_ieee(tape, true);
    ct_tape_rewind(tape, (ct_mark){0});
    ck_assert(ct_tape_ieee(tape));
    ck_assert(!ct_tape_ieee(NULL));
    ck_assert_int_eq(ct_tape_set_ieee(NULL, true), CT_EINVAL);
}
END_TEST

Suite *suite_ieee(void);
Suite *suite_ieee(void) {
    Suite *suite = suite_create("ieee");
    TCase *tc = tcase_create("ieee");
    tcase_add_checked_fixture(tc, setup, teardown_well);
    tcase_add_loop_test(tc, gradients_with_and_without, 0, CASES);
    tcase_add_test(tc, two_orders_record_plain_products);
    tcase_add_loop_test(tc, inside_its_domain_each_op_has_the_same_gradients, 0, CT_OP_COUNT);
    tcase_add_loop_test(tc, rules_of_rows_are_recorded_in_words, 0, 4);
    tcase_add_test(tc, a_zero_weight_meets_a_row_without_softmax);
    tcase_add_test(tc, rows_that_are_all_infinite_and_no_rows);
    tcase_add_test(tc, tangents_of_duals_absorb_all_the_same);
    tcase_add_test(tc, a_rewind_keeps_it);
    suite_add_tcase(suite, tc);
    return suite;
}
