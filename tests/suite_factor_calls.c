/* Factorisations by type, batch, layout and refusal; the numbers of PyTorch. */

#include "ct_test.h"
#include "dual/ct_dual.h"
#include "factor_tools.h"
#include "fixed/ct_fixed.h"
#include "tensor/ct_alloc.h"
#include "tensor/ct_factor.h"
#include "tensor/ct_ops.h"

#include <math.h>
#include <stdlib.h>

/* The user's type is the example itself. */
#define main factored_intervals_main
int factored_intervals_main(void);
#include "examples/intervals.c"
#undef main

Suite *suite_factor_calls(void);

static size_t live;

static void setup(void) {
    live = ct_live_blocks();
}

static void teardown(void) {
    ck_assert_uint_eq(ct_live_blocks(), live);
}

/* ---- scalar types */

/* f32 and f64 without kernels: by their loops. */
static ct_scalar plain_types[2];
static void make_plain_types(void) {
    for (int i = 0; i < 2; i++) {
        plain_types[i] = *factor_reals[i];
        plain_types[i].name = "plain";
    }
}

static ct_tensor *retyped(const ct_tensor *t, const ct_scalar *scalar) {
    ct_tensor *other = ct_zeros(scalar, ct_rank(t), ct_shape(t));
    double *items = doubles_of(t);
    ct_free(other);
    other = ct_from_doubles(scalar, ct_rank(t), ct_shape(t), ct_count(t), items);
    free(items);
    return other;
}

static void expect_same_numbers(ct_tensor *t, const ct_tensor *wanted, const char *what) {
    ok(t);
    ct_tensor *back = retyped(t, ct_dtype(wanted));
    ck_assert_msg(same_bits(back, wanted), "%s of %lld: other bits", what,
                  (long long)ct_extent(wanted, 0));
    ct_free(back), ct_free(t);
}

START_TEST(loops_make_the_bits_of_kernels) {
    make_plain_types();
    int64_t n = factor_size(_i % FACTOR_SIZES);
    const ct_scalar *scalar = factor_reals[_i / FACTOR_SIZES],
                    *plain = &plain_types[_i / FACTOR_SIZES];
    ct_tensor *a = definite(scalar, n, 3), *m = square(scalar, n, 4);
    ct_tensor *b = drawn(scalar, 2, (int64_t[]){n, 70}, 5);
    ct_tensor *pa = retyped(a, plain), *pm = retyped(m, plain), *pb = retyped(b, plain);
    ct_tensor *l = ct_cholesky(a), *x = ct_solve(m, b);
    expect_same_numbers(ct_cholesky(pa), l, "cholesky");
    expect_same_numbers(ct_solve(pm, pb), x, "solve");
    ct_tensor *all[] = {a, m, b, pa, pm, pb, l, x};
    for (size_t i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
}
END_TEST

/* The value of a dual of any width and level has the bits of the real computation. */
START_TEST(duals_have_the_same_values) {
    static const ct_scalar *const types[] = {CT_DUAL64, CT_DUAL64X4, CT_DUAL64X8,
                                             &ct_scalar_dual64_2};
    const int64_t n = factor_size(_i % 8 == 7 ? FACTOR_SMALL + 2 : _i % 8 * 5);
    const ct_scalar *type = types[_i / 8];
    ct_tensor *a = definite(CT_F64, n, 3), *m = square(CT_F64, n, 4);
    ct_tensor *b = drawn(CT_F64, 1, (int64_t[]){n}, 5);
    ct_tensor *da = ct_astype(a, type), *dm = ct_astype(m, type), *db = ct_astype(b, type);
    ct_tensor *l = ct_cholesky(a), *x = ct_solve(m, b), *det = ct_det(m), *log_abs, *dual_log;
    expect_same_numbers(ct_cholesky(da), l, "cholesky");
    expect_same_numbers(ct_solve(dm, db), x, "solve");
    ct_tensor *dual_det = ct_det(dm);
    ok(dual_det);
    ck_assert_double_eq(ct_item(dual_det), ct_item(det));
    ck_assert_int_eq(ct_slogdet(m, NULL, &log_abs), CT_OK);
    ck_assert_int_eq(ct_slogdet(dm, NULL, &dual_log), CT_OK);
    ck_assert_double_eq(ct_item(dual_log), ct_item(log_abs));
    ct_tensor *all[] = {a, m, b, da, dm, db, l, x, det, dual_det, log_abs, dual_log};
    for (size_t i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
}
END_TEST

/* Rows are chosen by values: a tangent of 1e9 on a small item does not make it a pivot. */
START_TEST(pivots_are_chosen_by_values) {
    ct_tensor *v = T2(2, 2, 1, 2, 3, 4), *t = T2(2, 2, 1e9, 0, 0, 0), *dual = ct_dual(v, t), *lu;
    ct_tensor *order;
    ck_assert_int_eq(ct_lu(dual, &lu, &order), CT_OK);
    EXPECT("order", order, 0, 1, 0);
    ct_free(v), ct_free(t), ct_free(dual), ct_free(lu);
}
END_TEST

START_TEST(fixed_point_numbers_are_factored_and_may_overflow) {
    ct_tensor *a = T2(2, 2, 4, 2, 2, 10), *b = T1(8, 13);
    ct_tensor *fa = ct_astype(a, CT_FIXED), *fb = ct_astype(b, CT_FIXED);
    EXPECT("cholesky", ct_cholesky(fa), 0, 2, 0, 1, 3);
    EXPECT("solve", ct_solve(fa, fb), 1e-9, 1.5, 1);
    ct_tensor *wide = T2(2, 2, 0.000001, 2e9, 0.0000005, -2e9), *fw = ct_astype(wide, CT_FIXED);
    ct_tensor *inverse = ct_inverse(fw);
    ck_assert_ptr_null(inverse);
    expect_error(CT_EOVERFLOW, "does not fit fixed");
    ct_tensor *all[] = {a, b, fa, fb, wide, fw};
    for (size_t i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
}
END_TEST

/* What rounding does to a result lies inside the interval. */
static void expect_enclosed(ct_tensor *bounds, ct_tensor *t) {
    ok(bounds), ok(t);
    struct interval items[64];
    double values[64];
    ck_assert_int_eq(ct_to_items(bounds, sizeof *items * ct_count(bounds), items), CT_OK);
    ck_assert_int_eq(ct_to_doubles(t, ct_count(t), values), CT_OK);
    for (size_t i = 0; i < ct_count(t); i++)
        ck_assert_msg(items[i].low <= values[i] && values[i] <= items[i].high &&
                          items[i].high - items[i].low < 1e-10,
                      "item %zu, %.17g: [%.17g, %.17g]", i, values[i], items[i].low, items[i].high);
    ct_free(bounds), ct_free(t);
}

START_TEST(a_type_of_ones_own_is_factored) {
    ct_tensor *a = definite(CT_F64, 8, 1), *m = square(CT_F64, 8, 2), *b = square(CT_F64, 8, 3);
    ct_tensor *wide_a = retyped(a, &intervals), *wide_m = retyped(m, &intervals);
    ct_tensor *wide_b = retyped(b, &intervals);
    expect_enclosed(ct_cholesky(wide_a), ct_cholesky(a));
    expect_enclosed(ct_solve(wide_m, wide_b), ct_solve(m, b));
    expect_enclosed(ct_det(wide_m), ct_det(m));
    ct_tensor *all[] = {a, m, b, wide_a, wide_m, wide_b};
    for (size_t i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
}
END_TEST

/* ---- facts */

/* torch 2.15, f64. */
START_TEST(values_are_those_of_pytorch) {
    ct_tensor *a = a3(), *b = b3(), *r = rhs(), *s, *l;
    EXPECT("cholesky", ct_cholesky(a), 1e-15, 2.0, 0.0, 0.0, 0.5, 1.6583123951777, 0.0, -1.0,
           0.6030226891555273, 1.9069251784911847);
    EXPECT("solve", ct_solve(b, r), 1e-15, 0.23076923076923078, -0.2692307692307692,
           0.5961538461538463, 0.5961538461538461, -0.1923076923076923, 0.8076923076923077);
    EXPECT("inverse", ct_inverse(b), 1e-15, 0.0, 0.3076923076923077, 0.07692307692307693, 0.25,
           -0.038461538461538464, 0.11538461538461539, 0.5, 0.07692307692307693,
           -0.23076923076923078);
    EXPECT("det", ct_det(b), 1e-15, 26.0);
    ck_assert_int_eq(ct_slogdet(b, &s, &l), CT_OK);
    EXPECT("sign", s, 0, 1);
    EXPECT("log", l, 1e-15, 3.2580965380214817);
    EXPECT("logdet", ct_logdet(a), 1e-15, 3.6888794541139367);
    EXPECT("lower", ct_solve_triangular(a, r, CT_LOWER), 1e-15, 0.25, 0.5, -0.08333333333333333,
           -0.5, 0.7083333333333334, 0.35000000000000003);
    EXPECT("lower, ones", ct_solve_triangular(a, r, CT_LOWER | CT_UNIT_DIAGONAL), 1e-15, 1.0, 2.0,
           -1.0, -3.0, 5.5, 6.0);
    EXPECT("upper", ct_solve_triangular(a, r, CT_UPPER), 1e-15, 0.5750000000000001,
           0.6375000000000001, -0.1, -0.35, 0.6000000000000001, 0.1);
    EXPECT("upper, ones", ct_solve_triangular(a, r, CT_UPPER | CT_UNIT_DIAGONAL), 1e-15, 8.5, 4.25,
           -1.5, -1.25, 3.0, 0.5);
    ct_free(a), ct_free(b), ct_free(r);
}
END_TEST

START_TEST(cholesky_reads_the_lower_triangle_alone) {
    ct_tensor *a = a3(), *l = ct_cholesky(a);
    ct_tensor *spoilt = T2(3, 3, 4, QNAN, INF, 1, 3, 1e300, -2, .5, 5);
    ct_tensor *other = ct_cholesky(spoilt);
    ck_assert(same_bits(l, other));
    ct_tensor *lower = ct_solve_triangular(spoilt, l, CT_LOWER);
    ok(lower);
    ct_free(a), ct_free(l), ct_free(spoilt), ct_free(other), ct_free(lower);
}
END_TEST

START_TEST(empty_matrices_are_fine) {
    ct_tensor *none = ct_zeros(CT_F64, 2, (int64_t[]){0, 0}), *s, *l;
    ct_tensor *batch = ct_zeros(CT_F64, 3, (int64_t[]){0, 3, 3});
    ct_tensor *many = ct_zeros(CT_F64, 3, (int64_t[]){2, 0, 0});
    ct_tensor *right = ct_zeros(CT_F64, 2, (int64_t[]){0, 4}), *x = ct_solve(none, right);
    EXPECT("det", ct_det(none), 0, 1);
    EXPECT("dets", ct_det(many), 0, 1, 1);
    EXPECT("logdet", ct_logdet(none), 0, 0);
    ck_assert_int_eq(ct_slogdet(many, &s, &l), CT_OK);
    EXPECT("signs", s, 0, 1, 1);
    EXPECT("logs", l, 0, 0, 0);
    ct_tensor *made[] = {ct_cholesky(none),     ct_inverse(none), ct_cholesky(batch),
                         ct_inverse(batch),     ct_det(batch),    x,
                         ct_solve(batch, batch)};
    for (size_t i = 0; i < COUNT(made); i++) {
        ok(made[i]);
        ck_assert_uint_eq(ct_count(made[i]), 0);
        ct_free(made[i]);
    }
    ct_free(none), ct_free(batch), ct_free(many), ct_free(right);
}
END_TEST

/* ---- batches, right-hand sides, layouts */

START_TEST(leading_axes_broadcast) {
    ct_tensor *a = drawn(CT_F64, 4, (int64_t[]){2, 1, 5, 5}, 1);
    ct_tensor *b = drawn(CT_F64, 3, (int64_t[]){3, 5, 2}, 2), *x = ct_solve(a, b);
    ok(x);
    ck_assert_int_eq(ct_rank(x), 4);
    ck_assert_mem_eq(ct_shape(x), ((int64_t[]){2, 3, 5, 2}), 4 * sizeof(int64_t));
    for (int64_t i = 0; i < 2; i++)
        for (int64_t j = 0; j < 3; j++) {
            ct_tensor *outer = ct_select(a, 0, i), *ai = ct_select(outer, 0, 0);
            ct_tensor *bj = ct_select(b, 0, j), *wanted = ct_solve(ai, bj);
            ct_tensor *xi = ct_select(x, 0, i), *found = ct_select(xi, 0, j);
            ck_assert(same_bits(found, wanted));
            ct_tensor *all[] = {outer, ai, bj, wanted, xi, found};
            for (size_t k = 0; k < COUNT(all); k++)
                ct_free(all[k]);
        }
    ct_free(a), ct_free(b), ct_free(x);
}
END_TEST

/* NumPy 2's rule: only rank 1 is a vector, so [2, 3] beside [2, 3, 3] holds a matrix of two rows, which is an
   error, where older rules saw two vectors. */
START_TEST(a_right_hand_side_of_rank_1_is_a_vector) {
    ct_tensor *a = drawn(CT_F64, 3, (int64_t[]){2, 3, 3}, 1), *b = T1(1, 2, 3);
    ct_tensor *x = ct_solve(a, b);
    ok(x);
    ck_assert_int_eq(ct_rank(x), 2);
    ct_tensor *column = ct_expand_dims(b, 1), *y = ct_solve(a, column), *flat = ct_squeeze(y, -1);
    ck_assert(same_bits(x, flat));
    ct_tensor *pair = drawn(CT_F64, 2, (int64_t[]){2, 3}, 1);
    ck_assert_ptr_null(ct_solve(a, pair));
    expect_error(CT_ESHAPE, "the right-hand side needs as many rows as the matrix: [2, 3, 3] and "
                            "[2, 3]");
    ct_tensor *all[] = {a, b, x, column, y, flat, pair};
    for (size_t k = 0; k < COUNT(all); k++)
        ct_free(all[k]);
}
END_TEST

START_TEST(a_repeated_matrix_is_factored_once) {
    ct_tensor *a = definite(CT_F64, 4, 1), *many = ct_broadcast_to(a, 3, (int64_t[]){1000, 4, 4});
    ct_tensor *l = ct_cholesky(many), *once = ct_cholesky(a), *lu, *order;
    ck_assert_int_eq(ct_strides(l)[0], 0);
    ct_tensor *last = ct_select(l, 0, 999);
    ck_assert(same_bits(last, once));
    ck_assert_int_eq(ct_lu(many, &lu, &order), CT_OK);
    ck_assert(ct_strides(lu)[0] == 0 && ct_strides(order)[0] == 0);
    ct_tensor *b = drawn(CT_F64, 3, (int64_t[]){1000, 4, 1}, 2),
              *x = ct_lu_solve(lu, order, b, true);
    ct_tensor *y = ct_lu_solve(lu, order, b, false), *z = ct_solve(a, b);
    ok(x);
    ck_assert(same_bits(y, z));
    ct_tensor *inverse = ct_inverse(many), *one = ct_inverse(a);
    ct_tensor *seventh = ct_select(inverse, 0, 7);
    ck_assert(same_bits(seventh, one));
    ct_tensor *all[] = {a, many, l, once, lu, order, last, b, x, y, z, inverse, one, seventh};
    for (size_t k = 0; k < COUNT(all); k++)
        ct_free(all[k]);
}
END_TEST

START_TEST(layouts_do_not_show) {
    enum layout layout = (enum layout)(_i % LAYOUT_REPEATED);
    int64_t n = _i < LAYOUT_REPEATED ? 7 : 70;
    ct_tensor *a = definite(CT_F64, n, 1), *b = drawn(CT_F64, 2, (int64_t[]){n, 3}, 2);
    ct_tensor *la = lay_out(a, layout), *lb = lay_out(b, layout);
    ct_tensor *pairs[][2] = {
        {ct_cholesky(a), ct_cholesky(la)},
        {ct_solve(a, b), ct_solve(la, lb)},
        {ct_inverse(a), ct_inverse(la)},
        {ct_det(a), ct_det(la)},
        {ct_solve_triangular(a, b, CT_UPPER), ct_solve_triangular(la, lb, CT_UPPER)},
        {ct_solve_triangular(a, b, CT_TRANSPOSED), ct_solve_triangular(la, lb, CT_TRANSPOSED)},
    };
    for (size_t i = 0; i < COUNT(pairs); i++) {
        ck_assert_msg(same_bits(pairs[i][0], pairs[i][1]), "call %zu, %s", i, layout_name(layout));
        ct_free(pairs[i][0]), ct_free(pairs[i][1]);
    }
    ct_free(a), ct_free(b), ct_free(la), ct_free(lb);
}
END_TEST

/* ---- refusals */

START_TEST(what_cannot_be_factored_is_named) {
    ct_tensor *a = ct_zeros(CT_F64, 4, (int64_t[]){2, 2, 3, 3});
    for (int64_t i = 0; i < 4; i++)
        for (int64_t k = 0; k < 3; k++)
            ct_set(a, 4, (int64_t[]){i / 2, i % 2, k, k}, i == 2 && k == 1 ? -0.25 : 1);
    ck_assert_ptr_null(ct_cholesky(a));
    expect_error(CT_EDOMAIN,
                 "the matrix at index [1, 0] is not positive definite: pivot 1 is -0.25");
    ct_set(a, 4, (int64_t[]){1, 0, 1, 1}, QNAN);
    ct_set(a, 4, (int64_t[]){1, 1, 0, 0}, 0);
    ck_assert_ptr_null(ct_cholesky(a));
    expect_error(CT_EDOMAIN, "[1, 0] is not positive definite: pivot 1 is nan");
    ct_tensor *b = ct_ones(CT_F64, 1, (int64_t[]){3});
    ck_assert_ptr_null(ct_solve(a, b));
    expect_error(CT_EDOMAIN, "the matrix at index [1, 1] is singular: pivot 0 is 0");
    ck_assert_ptr_null(ct_inverse(a));
    expect_error(CT_EDOMAIN, "the matrix at index [1, 1] is singular: pivot 0 is 0");
    ck_assert_ptr_null(ct_solve_triangular(a, b, CT_UPPER));
    expect_error(CT_EDOMAIN,
                 "the matrix at index [1, 1] is singular: item [0, 0] of its diagonal is 0");
    ct_tensor *x = ct_solve_triangular(a, b, CT_UPPER | CT_UNIT_DIAGONAL);
    ok(x);
    ct_tensor *singular = T2(2, 2, 1, 2, 2, 4), *s, *l;
    ck_assert_ptr_null(ct_solve(singular, singular));
    expect_error(CT_EDOMAIN, "the matrix is singular: pivot 1 is 0");
    EXPECT("det", ct_det(singular), 0, -0.0);
    EXPECT("logdet", ct_logdet(singular), 0, -INF);
    ck_assert_int_eq(ct_slogdet(singular, &s, &l), CT_OK);
    EXPECT("sign", s, 0, 0);
    EXPECT("log", l, 0, -INF);
    ct_free(a), ct_free(b), ct_free(x), ct_free(singular);
}
END_TEST

START_TEST(wrong_calls) {
    ct_tensor *row = T2(2, 3, 1, 2, 3, 4, 5, 6), *one = T0(1), *a = a3(), *v = T1(1, 2), *lu;
    ct_tensor *whole = ct_ones(CT_I64, 2, (int64_t[]){2, 2}), *f = ct_astype(a, CT_F32), *s;
    ck_assert_ptr_null(ct_cholesky(row));
    expect_error(CT_ESHAPE, "square matrices are needed, as the last two axes: [2, 3]");
    ck_assert_ptr_null(ct_det(v));
    expect_error(CT_ESHAPE, "[2]");
    ck_assert_ptr_null(ct_solve(a, one));
    expect_error(CT_ESHAPE, "a right-hand side is a vector or has matrices: [3, 3] and []");
    ck_assert_ptr_null(ct_solve(a, v));
    expect_error(CT_ESHAPE, "[3, 3] and [2]");
    ck_assert_ptr_null(ct_solve(a, f));
    expect_error(CT_EDTYPE, "f64 and f32");
    ck_assert_ptr_null(ct_inverse(whole));
    expect_error(CT_EDTYPE, "matrices of i64 cannot be factored");
    ck_assert_ptr_null(ct_solve_triangular(a, a, 8));
    expect_error(CT_EINVAL, "0x8 holds flags");
    ck_assert_int_eq(ct_lu(a, NULL, &s), CT_EINVAL);
    ck_assert_int_eq(ct_lu(NULL, &lu, &s), CT_EINVAL);
    ck_assert_int_eq(ct_lu(a, &lu, &s), CT_OK);
    ct_set(s, 1, (int64_t[]){1}, 3);
    ck_assert_ptr_null(ct_lu_solve(lu, s, a, false));
    expect_error(CT_EINDEX, "the row 3 at index [1] of the order is none of 3");
    ck_assert_ptr_null(ct_lu_solve(lu, a, a, false));
    expect_error(CT_EDTYPE, "the order of rows is i64");
    ct_tensor *all[] = {row, one, a, v, whole, f, lu, s};
    for (size_t k = 0; k < COUNT(all); k++)
        ct_free(all[k]);
}
END_TEST

/* IEEE 754 has its way, but for a pivot of Cholesky's that is NaN. */
START_TEST(special_values_go_through) {
    ct_tensor *a = T2(2, 2, 1, 2, QNAN, 3), *v = T1(1, 1), *x = ct_solve(a, v);
    EXPECT("solve", x, 0, QNAN, QNAN);
    EXPECT("det", ct_det(a), 0, QNAN);
    ct_tensor *wide = T2(2, 2, INF, 0, 0, 4);
    EXPECT("cholesky", ct_cholesky(wide), 0, INF, 0, 0, 2);
    EXPECT("upper", ct_solve_triangular(wide, v, CT_UPPER), 0, 0, 0.25);
    ct_free(a), ct_free(v), ct_free(wide);
}
END_TEST

Suite *suite_factor_calls(void) {
    Suite *suite = suite_create("factor_calls");
    TCase *tc = tcase_create("factor_calls");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, loops_make_the_bits_of_kernels, 0, 2 * FACTOR_SIZES);
    tcase_add_loop_test(tc, duals_have_the_same_values, 0, 4 * 8);
    tcase_add_test(tc, values_are_those_of_pytorch);
    tcase_add_test(tc, pivots_are_chosen_by_values);
    tcase_add_test(tc, a_type_of_ones_own_is_factored);
    tcase_add_test(tc, fixed_point_numbers_are_factored_and_may_overflow);
    tcase_add_test(tc, cholesky_reads_the_lower_triangle_alone);
    tcase_add_test(tc, empty_matrices_are_fine);
    tcase_add_test(tc, leading_axes_broadcast);
    tcase_add_test(tc, a_right_hand_side_of_rank_1_is_a_vector);
    tcase_add_test(tc, a_repeated_matrix_is_factored_once);
    tcase_add_loop_test(tc, layouts_do_not_show, 0, 2 * LAYOUT_REPEATED);
    tcase_add_test(tc, what_cannot_be_factored_is_named);
    tcase_add_test(tc, wrong_calls);
    tcase_add_test(tc, special_values_go_through);
    suite_add_tcase(suite, tc);
    return suite;
}
