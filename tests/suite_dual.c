/* Dual numbers as scalars: components, levels, every row of the table, reductions and products. */

#include "autodiff/ct_tape.h"
#include "autodiff/ct_var_ops.h"
#include "case_tools.h"
#include "ct_test.h"
#include "autodiff/tape_impl.h"
#include "dual/dual_impl.h"
#include "op_oracle.h"
#include "tensor/ct_alloc.h"
#include "tensor/ct_ops.h"

#include <string.h>

static size_t live;

static void setup(void) {
    live = ct_live_blocks();
}

static void teardown(void) {
    ck_assert_uint_eq(ct_live_blocks(), live);
}

static ct_tensor *dual_of(ct_tensor *value, ct_tensor *tangent) {
    ct_tensor *t = ct_dual(value, tangent);
    ck_assert_ptr_nonnull(t);
    ct_free(value);
    ct_free(tangent);
    return t;
}

START_TEST(components_are_views) {
    ct_tensor *t = dual_of(T2(2, 2, 1, 2, 3, 4), T2(2, 2, 5, 6, 7, 8));
    ct_tensor *value = ct_dual_value(t), *tangent = ct_dual_tangent(t);
    ck_assert(ct_shares_storage(t, value) && ct_shares_storage(t, tangent));
    ck_assert_int_eq(ct_check_tensor(value), CT_OK);
    ck_assert_int_eq(ct_check_tensor(tangent), CT_OK);
    ct_tensor *flipped = ct_flip(t, 0), *turned = ct_transpose(flipped);
    EXPECT("tangent of a view", ct_dual_tangent(turned), 0, 7, 5, 8, 6);
    EXPECT("value", value, 0, 1, 2, 3, 4);
    EXPECT("tangent", tangent, 0, 5, 6, 7, 8);
    ct_free(t), ct_free(flipped), ct_free(turned);
}
END_TEST

START_TEST(a_missing_tangent_is_zero) {
    ct_tensor *t = dual_of(T1(1, 2), NULL);
    EXPECT("tangent", ct_dual_tangent(t), 0, 0, 0);
    ct_free(t);
}
END_TEST

START_TEST(misuse_is_an_error) {
    ct_tensor *x = T1(1, 2), *wrong = T1(1, 2, 3), *single = ct_ones(CT_F32, 1, (int64_t[]){2});
    ct_tensor *labels = ct_zeros(CT_I64, 1, (int64_t[]){2});
    ck_assert_ptr_null(ct_dual(x, wrong));
    expect_error(CT_ESHAPE, "one shape: [2] and [3]");
    ck_assert_ptr_null(ct_dual(x, single));
    expect_error(CT_EDTYPE, "f64 and f32");
    ck_assert_ptr_null(ct_dual(labels, NULL));
    expect_error(CT_EDTYPE, "no dual type over i64");
    ck_assert_ptr_null(ct_dual_value(x));
    expect_error(CT_EDTYPE, "f64 is not a dual type");
    ct_error_clear();
    ck_assert_ptr_null(ct_dual(NULL, x));
    expect_error(CT_EINVAL, "NULL");
    /* Levels do not mix: nested duals cannot confuse their perturbations. */
    ct_tensor *one = ct_dual(x, NULL), *two = ct_dual(one, NULL);
    ck_assert_ptr_null(ct_add(one, two));
    expect_error(CT_EDTYPE, "dual64 and dual64_2");
    ck_assert_ptr_null(ct_mul(x, one));
    expect_error(CT_EDTYPE, "f64 and dual64");
    ct_error_clear();
    ct_free(x), ct_free(wrong), ct_free(single), ct_free(labels), ct_free(one), ct_free(two);
}
END_TEST

/* --- perturbation confusion: Siskind and Pearlmutter's examples, by nested levels --- */

static ct_tensor *lifted(double value, bool inner, bool outer) {
    ct_tensor *base = dual_of(T0(value), T0(inner ? 1 : 0));
    ct_tensor *tangent = dual_of(T0(outer ? 1 : 0), NULL);
    return dual_of(base, tangent); /* level 2: the outer perturbation */
}

static double cross_tangent(const ct_tensor *t) {
    ct_tensor *outer = ct_dual_tangent(t), *inner = ct_dual_tangent(outer);
    double out = ct_item(inner);
    ct_free(outer), ct_free(inner);
    return out;
}

START_TEST(perturbations_are_not_confused) { /* B113 */
    /* d/dx (x * d/dy (x + y) at y = 1) at x = 1 is 1, not 2. */
    ct_tensor *x = lifted(1, false, true), *y = lifted(1, true, false);
    ct_tensor *sum = ct_add(x, y), *product = ct_mul(x, sum);
    ct_tensor *outer_value = ct_dual_value(sum), *dy = ct_dual_tangent(outer_value);
    ck_assert_double_eq(ct_item(dy), 1);        /* d/dy (x + y) */
    ck_assert_double_eq(cross_tangent(sum), 0); /* d2/dx dy (x + y) */
    /* d/dx (x * D) with D = 1, dD/dx = 0: x' D + x dD = 1. */
    ck_assert_double_eq(ct_item(dy) + 1 * cross_tangent(sum), 1);
    ck_assert_double_eq(cross_tangent(product), 1); /* d2/dx dy (x (x + y)) = 1 */
    ct_free(x), ct_free(y), ct_free(sum), ct_free(product), ct_free(outer_value), ct_free(dy);
    /* D(x -> x D(y -> x y, 1)) at 4 = d/dx (x x) = 8. */
    x = lifted(4, false, true), y = lifted(1, true, false);
    ct_tensor *xy = ct_mul(x, y), *d = ct_dual_value(xy), *inner = ct_dual_tangent(d);
    ck_assert_double_eq(ct_item(inner) + 4 * cross_tangent(xy), 8);
    ct_free(x), ct_free(y), ct_free(xy), ct_free(d), ct_free(inner);
}
END_TEST

/* --- every elementwise row: the value's bits, and tangents against the tape --- */

static ct_tensor *dual_operand(struct draw *draw, const struct op_oracle *oracle, int i,
                               const ct_scalar *base) {
    int64_t shape[] = {2, 70}; /* more than one block of temporaries in the nested case */
    ct_tensor *value =
        draw_tensor(draw, base, 2, shape, oracle->domain[i].low, oracle->domain[i].high);
    ct_tensor *tangent = draw_tensor(draw, base, 2, shape, -1, 1);
    return dual_of(value, tangent);
}

START_TEST(rows_on_duals_of_both_types) {
    enum ct_op op = (enum ct_op)_i;
    const struct op_oracle *oracle = op_oracle(op);
    if (!oracle || ct_op_kind_of(op) != CT_KIND_MAP)
        return;
    const ct_scalar *bases[] = {CT_F32, CT_F64};
    for (int b = 0; b < 2; b++) {
        struct draw draw = {(uint64_t)_i + 7};
        const ct_tensor *in[3], *values[3];
        int arity = ct_op_arity(op);
        for (int i = 0; i < arity; i++) {
            in[i] = dual_operand(&draw, oracle, i, bases[b]);
            values[i] = ct_dual_value(in[i]);
        }
        ct_tensor *y = ct_apply(op, arity, in), *plain = ct_apply(op, arity, values);
        ck_assert_ptr_nonnull(y);
        ct_tensor *value = ct_dual_value(y);
        ck_assert_msg(same_bits(value, plain), "%s", ct_op_name(op));
        /* A second level over it gives the same bits in its value. */
        ct_tensor *deep[3], *deep_y, *deep_value;
        for (int i = 0; i < arity; i++)
            deep[i] = ct_dual(in[i], NULL);
        deep_y = ct_apply(op, arity, (const ct_tensor *const *)deep);
        deep_value = ct_dual_value(deep_y);
        ck_assert_msg(same_bits(deep_value, y), "%s at level 2", ct_op_name(op));
        for (int i = 0; i < arity; i++) {
            ct_free((ct_tensor *)(uintptr_t)in[i]);
            ct_free((ct_tensor *)(uintptr_t)values[i]);
            ct_free(deep[i]);
        }
        ct_free(y), ct_free(plain), ct_free(value), ct_free(deep_y), ct_free(deep_value);
    }
}
END_TEST

/* A loop's result may be one of its operands. */
START_TEST(rows_in_place) {
    enum ct_op op = (enum ct_op)_i;
    const struct op_oracle *oracle = op_oracle(op);
    if (!oracle || ct_op_kind_of(op) != CT_KIND_MAP)
        return;
    struct draw draw = {(uint64_t)_i + 70};
    int arity = ct_op_arity(op);
    for (int target = 0; target < arity; target++) {
        ct_tensor *in[3];
        for (int i = 0; i < arity; i++)
            in[i] = dual_operand(&draw, oracle, i, CT_F64);
        ct_tensor *y = ct_apply(op, arity, (const ct_tensor *const *)in);
        char *ptr[4];
        ptrdiff_t step[4];
        for (int i = 0; i < arity; i++)
            ptr[i] = ct_data_for_write(in[i]);
        ptr[arity] = ptr[target];
        for (int i = 0; i <= arity; i++)
            step[i] = (ptrdiff_t)CT_DUAL64->size;
        ct_scalar_loop(CT_DUAL64, op)(CT_DUAL64, op, ct_count(y), ptr, step);
        ck_assert_msg(same_bits(in[target], y), "%s onto operand %d", ct_op_name(op), target);
        for (int i = 0; i < arity; i++)
            ct_free(in[i]);
        ct_free(y);
    }
}
END_TEST

/* How many words a formula has: an opening bracket each. */
static int words(const char *formula) {
    int count = 0;
    for (; formula && *formula; formula++)
        count += *formula == '(';
    return count;
}

START_TEST(rows_fit_the_room_of_both_kinds_of_pulls) {
    enum ct_op op = (enum ct_op)_i;
    int all = 0, arity = ct_op_arity(op);
    for (int i = 0; i < arity; i++) {
        int pull = words(ct_op_pull_text(op, i));
        ck_assert_msg(pull + 5 <= CT__TERMS, "%s needs %d terms", ct_op_name(op), pull + 5);
        all += pull;
    }
    ck_assert_msg(all + arity + 1 <= CT__DUAL_SLOTS, "%s needs %d blocks", ct_op_name(op),
                  all + arity + 1);
}
END_TEST

/* --- reductions and products --- */

START_TEST(sums_are_componentwise) {
    ct_tensor *t = dual_of(T2(2, 3, 1, 2, 3, 4, 5, 6), T2(2, 3, 10, 20, 30, 40, 50, 60));
    ct_tensor *rows = ct_sum(t, 1, false), *all = ct_mean(t, CT_ALL, false);
    EXPECT("row sums", ct_dual_value(rows), 0, 6, 15);
    EXPECT("row sums'", ct_dual_tangent(rows), 0, 60, 150);
    EXPECT("mean", ct_dual_value(all), 0, 3.5);
    EXPECT("mean'", ct_dual_tangent(all), 1e-15, 35);
    ct_free(t), ct_free(rows), ct_free(all);
}
END_TEST

START_TEST(extremes_share_the_tangent_among_ties) {
    ct_tensor *t = dual_of(T2(3, 3, 3, 1, 3, 5, 5, 5, QNAN, 2, QNAN),
                           T2(3, 3, 10, 20, 40, 1, 2, 6, 3, 100, 5));
    ct_tensor *max = ct_max(t, 1, false), *min = ct_min(t, 1, false);
    EXPECT("max", ct_dual_value(max), 0, 3, 5, QNAN);
    EXPECT("max'", ct_dual_tangent(max), 0, 25, 3, 4);
    EXPECT("min", ct_dual_value(min), 0, 1, 5, QNAN);
    EXPECT("min'", ct_dual_tangent(min), 0, 20, 3, 4);
    ct_free(t), ct_free(max), ct_free(min);
}
END_TEST

START_TEST(a_product_is_three_products) {
    ct_tensor *a = dual_of(T2(2, 2, 1, 2, 3, 4), T2(2, 2, 1, 0, 0, 0));
    ct_tensor *b = dual_of(T2(2, 2, 5, 6, 7, 8), T2(2, 2, 0, 0, 0, 1));
    ct_tensor *turned = ct_transpose(b), *c = ct_matmul(a, turned);
    EXPECT("value", ct_dual_value(c), 0, 17, 23, 39, 53);
    EXPECT("tangent", ct_dual_tangent(c), 0, 5, 7 + 2, 0, 4);
    ct_free(a), ct_free(b), ct_free(turned), ct_free(c);
}
END_TEST

START_TEST(text_of_a_dual) {
    ct_tensor *t = dual_of(T1(1.5, -2), T1(3, QNAN));
    char text[128];
    ct_format(t, text, sizeof text);
    ck_assert_msg(strstr(text, "(1.5 + 3e)") && strstr(text, "(-2 + nane)"), "%s", text);
    ct_free(t);
}
END_TEST

Suite *suite_dual(void) {
    Suite *suite = suite_create("dual");
    TCase *tc = tcase_create("dual");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, components_are_views);
    tcase_add_test(tc, a_missing_tangent_is_zero);
    tcase_add_test(tc, misuse_is_an_error);
    tcase_add_test(tc, perturbations_are_not_confused);
    tcase_add_loop_test(tc, rows_on_duals_of_both_types, 0, CT_OP_COUNT);
    tcase_add_loop_test(tc, rows_in_place, 0, CT_OP_COUNT);
    tcase_add_loop_test(tc, rows_fit_the_room_of_both_kinds_of_pulls, 0, CT_OP_COUNT);
    tcase_add_test(tc, sums_are_componentwise);
    tcase_add_test(tc, extremes_share_the_tangent_among_ties);
    tcase_add_test(tc, a_product_is_three_products);
    tcase_add_test(tc, text_of_a_dual);
    suite_add_tcase(suite, tc);
    return suite;
}
