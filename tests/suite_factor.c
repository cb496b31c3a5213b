/* Factorisations and what is made of them: residuals in long double, and the order of operations item by
   item. */

#include "ct_test.h"
#include "factor_tools.h"
#include "tensor/ct_alloc.h"
#include "tensor/ct_factor.h"
#include "tensor/ct_index.h"
#include "tensor/ct_make.h"
#include "tensor/ct_ops.h"
#include "tensor/ct_write.h"

#include <math.h>
#include <stdlib.h>

Suite *suite_factor(void);

static size_t live;

static void setup(void) {
    live = ct_live_blocks();
}

static void teardown(void) {
    ck_assert_uint_eq(ct_live_blocks(), live);
}

static double largest(size_t n, const double *x) {
    double most = 0;
    for (size_t i = 0; i < n; i++)
        most = fmax(most, fabs(x[i]));
    return most;
}

/* ---- residuals */

static double unit_of(const ct_scalar *scalar) {
    return scalar == CT_F64 ? 0x1p-53 : 0x1p-24;
}

/* max |a - l m|, n x k times k x p, in long double. */
static double residual(int64_t n, int64_t k, int64_t p, const double *a, const double *l,
                       const double *m) {
    double worst = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < p; j++) {
            long double sum = (long double)a[i * p + j];
            for (int64_t s = 0; s < k; s++)
                sum -= (long double)l[i * k + s] * (long double)m[s * p + j];
            worst = fmax(worst, (double)fabsl(sum));
        }
    return worst;
}

START_TEST(cholesky_gives_its_matrix_back) {
    const ct_scalar *scalar = factor_reals[_i / FACTOR_SIZES];
    int64_t n = factor_size(_i % FACTOR_SIZES);
    ct_tensor *a = definite(scalar, n, (uint64_t)n), *l = ct_cholesky(a);
    ok(l);
    ct_tensor *turned = ct_transpose(l), *above = ct_triu(l, 1);
    double *x = doubles_of(a), *y = doubles_of(l), *z = doubles_of(turned),
           *zero = doubles_of(above);
    size_t count = (size_t)(n * n);
    double bound = 2 * (double)(n + 1) * unit_of(scalar) * largest(count, x);
    ck_assert_double_le(residual(n, n, n, x, y, z), bound);
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(zero[i] == 0 && !signbit(zero[i]), "item %zu above the diagonal", i);
    free(x), free(y), free(z), free(zero);
    ct_free(a), ct_free(l), ct_free(turned), ct_free(above);
}
END_TEST

/* The bound with the growth of partial pivoting on random matrices, which is modest. */
static void check_solution(const ct_tensor *a, const ct_tensor *x, const ct_tensor *b) {
    int64_t n = ct_extent(a, -1), k = ct_extent(b, -1);
    double *p = doubles_of(a), *q = doubles_of(x), *r = doubles_of(b);
    double scale = largest(ct_count(a), p) * largest(ct_count(x), q) + largest(ct_count(b), r);
    double bound = 4 * (double)(n + 1) * unit_of(ct_dtype(a)) * scale;
    ck_assert_double_le(residual(n, n, k, r, p, q), bound);
    free(p), free(q), free(r);
}

START_TEST(solutions_solve) {
    const ct_scalar *scalar = factor_reals[_i / FACTOR_SIZES];
    int64_t n = factor_size(_i % FACTOR_SIZES);
    ct_tensor *a = square(scalar, n, 77 + (uint64_t)n), *turned = ct_transpose(a), *lu, *order;
    ck_assert_int_eq(ct_lu(a, &lu, &order), CT_OK);
    for (int64_t k = 0; k < 5; k += 1 + k) {
        ct_tensor *b = drawn(scalar, 2, (int64_t[]){n, k}, 5);
        ct_tensor *x = ct_solve(a, b), *again = ct_lu_solve(lu, order, b, false);
        ct_tensor *other = ct_lu_solve(lu, order, b, true);
        ok(x), ok(other);
        check_solution(a, x, b);
        check_solution(turned, other, b);
        ck_assert(same_bits(x, again));
        ct_free(b), ct_free(x), ct_free(again), ct_free(other);
    }
    ct_free(a), ct_free(turned), ct_free(lu), ct_free(order);
}
END_TEST

START_TEST(lu_is_a_factorisation_with_bounded_factors) {
    const ct_scalar *scalar = factor_reals[_i / FACTOR_SIZES];
    int64_t n = factor_size(_i % FACTOR_SIZES);
    ct_tensor *a = square(scalar, n, 3 + (uint64_t)n), *lu, *order;
    ck_assert_int_eq(ct_lu(a, &lu, &order), CT_OK);
    ct_tensor *rows = ct_take(a, 0, order), *below = ct_tril(lu, -1), *u = ct_triu(lu, 0);
    ct_tensor *one = ct_eye(scalar, n, n, 0), *l = ct_add(below, one);
    double *x = doubles_of(rows), *y = doubles_of(l), *z = doubles_of(u);
    ck_assert_double_le(largest(ct_count(l), y), 1);
    double bound = 8 * (double)(n + 1) * unit_of(scalar) * fmax(largest(ct_count(u), z), 2);
    ck_assert_double_le(residual(n, n, n, x, y, z), bound);
    free(x), free(y), free(z);
    ct_free(a), ct_free(lu), ct_free(order), ct_free(rows), ct_free(below), ct_free(u), ct_free(l);
    ct_free(one);
}
END_TEST

/* Of a triangular matrix with a heavy diagonal, every way of reading it. */
START_TEST(triangles_are_solved) {
    const ct_scalar *scalar = factor_reals[_i / FACTOR_SIZES];
    int64_t n = factor_size(_i % FACTOR_SIZES);
    ct_tensor *random = square(scalar, n, 9 + (uint64_t)n), *one = ct_eye(scalar, n, n, 0);
    ct_tensor *part = ct_scale(random, 1 / (double)(n + 1)), *a = ct_add(part, one);
    for (unsigned flags = 0; flags < 8; flags++) {
        ct_tensor *plain = flags & CT_UPPER ? ct_triu(a, 0) : ct_tril(a, 0);
        if (flags & CT_UNIT_DIAGONAL) {
            ct_tensor *beside = flags & CT_UPPER ? ct_triu(a, 1) : ct_tril(a, -1);
            ct_free(plain);
            plain = ct_add(beside, one);
            ct_free(beside);
        }
        ct_tensor *meant = flags & CT_TRANSPOSED ? ct_transpose(plain) : ct_copy(plain);
        for (int64_t k = 1; k < 36; k += 17) {
            ct_tensor *b = drawn(scalar, 2, (int64_t[]){n, k}, 5);
            ct_tensor *x = ct_solve_triangular(a, b, flags);
            ok(x);
            check_solution(meant, x, b);
            ct_free(b), ct_free(x);
        }
        ct_free(plain), ct_free(meant);
    }
    ct_free(random), ct_free(one), ct_free(part), ct_free(a);
}
END_TEST

/* log |det| and its sign by elimination in long double with full pivoting. */
static long double log_det(int64_t n, const double *items, int *sign) {
    long double *m = malloc((size_t)(n * n + 1) * sizeof *m), sum = 0;
    for (int64_t i = 0; i < n * n; i++)
        m[i] = (long double)items[i];
    *sign = 1;
    for (int64_t k = 0; k < n; k++) {
        int64_t row = k, column = k;
        for (int64_t i = k; i < n; i++)
            for (int64_t j = k; j < n; j++)
                if (fabsl(m[i * n + j]) > fabsl(m[row * n + column]))
                    row = i, column = j;
        *sign *= (row != k) == (column != k) ? 1 : -1;
        for (int64_t j = 0; j < n; j++) {
            long double t = m[k * n + j];
            m[k * n + j] = m[row * n + j], m[row * n + j] = t;
        }
        for (int64_t i = 0; i < n; i++) {
            long double t = m[i * n + k];
            m[i * n + k] = m[i * n + column], m[i * n + column] = t;
        }
        *sign *= m[k * n + k] < 0 ? -1 : 1;
        sum += logl(fabsl(m[k * n + k]));
        for (int64_t i = k + 1; i < n; i++)
            for (int64_t j = n; j-- > k;)
                m[i * n + j] -= m[i * n + k] / m[k * n + k] * m[k * n + j];
    }
    free(m);
    return sum;
}

START_TEST(determinants_and_inverses) {
    int64_t n = factor_size(_i);
    ct_tensor *a = square(CT_F64, n, 31 + (uint64_t)n), *inverse = ct_inverse(a), *s, *l;
    ok(inverse);
    ck_assert_int_eq(ct_slogdet(a, &s, &l), CT_OK);
    int sign;
    double *x = doubles_of(a), *y = doubles_of(inverse);
    double wanted = (double)log_det(n, x, &sign), condition = 1 + largest(ct_count(a), y);
    ck_assert_double_eq(ct_item(s), sign);
    ck_assert_double_le(fabs(ct_item(l) - wanted), 1e-14 * (double)(n + 1) * condition);
    ct_tensor *det = ct_det(a), *log_of = ct_logdet(a);
    if (n < 60)
        ck_assert_double_le(fabs(ct_item(det) - sign * exp(wanted)),
                            1e-13 * (double)(n + 1) * condition * exp(wanted));
    ck_assert(sign > 0 ? ct_item(log_of) == ct_item(l) : isnan(ct_item(log_of)));
    ct_tensor *one = ct_eye(CT_F64, n, n, 0);
    check_solution(a, inverse, one);
    free(x), free(y);
    ct_free(a), ct_free(inverse), ct_free(s), ct_free(l), ct_free(det), ct_free(log_of);
    ct_free(one);
}
END_TEST

/* 1 / (i + j + 1): far from what f64 can invert, and yet solved backward stably. */
START_TEST(ill_conditioned_matrices_are_solved_backward_stably) {
    enum { N = 12 };
    double items[N * N];
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            items[i * N + j] = 1.0 / (i + j + 1);
    ct_tensor *a = tensor_of(2, (int64_t[]){N, N}, N * N, items);
    ct_tensor *b = drawn(CT_F64, 2, (int64_t[]){N, 2}, 4), *x = ct_solve(a, b);
    ok(x);
    check_solution(a, x, b);
    ct_tensor *l = ct_cholesky(a), *turned = l ? ct_transpose(l) : NULL;
    ok(l);
    double *y = doubles_of(l), *z = doubles_of(turned);
    ck_assert_double_le(residual(N, N, N, items, y, z), 1e-15);
    free(y), free(z);
    ct_free(a), ct_free(b), ct_free(x), ct_free(l), ct_free(turned);
}
END_TEST

/* ---- the order of operations, item by item */

enum { BLOCK = 32 };

/* a less the products of the first `steps` of a row and a column: those of earlier blocks as chains of
   fused steps from 0, one chain a block; those of its own block one by one. */
static double reduced(double a, int64_t steps, const double *row, int64_t row_step,
                      const double *column, int64_t column_step) {
    int64_t own = steps - steps % BLOCK;
    for (int64_t first = 0; first < own; first += BLOCK) {
        double sum = 0;
        for (int64_t k = first; k < first + BLOCK; k++)
            sum = fma(row[k * row_step], column[k * column_step], sum);
        a -= sum;
    }
    for (int64_t k = own; k < steps; k++) {
        volatile double product = row[k * row_step] * column[k * column_step];
        a -= product;
    }
    return a;
}

static void cholesky_by_items(int64_t n, double *a) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            if (j > i) {
                a[i * n + j] = 0;
                continue;
            }
            double x = reduced(a[i * n + j], j, a + i * n, 1, a + j * n, 1);
            a[i * n + j] = i == j ? sqrt(x) : x / a[j * n + j];
        }
}

static void lu_by_items(int64_t n, double *a) { /* rows in order already */
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            double x = reduced(a[i * n + j], i < j ? i : j, a + i * n, 1, a + j, n);
            a[i * n + j] = i > j ? x / a[j * n + j] : x;
        }
}

static void lower_by_items(int64_t n, int64_t k, const double *a, double *x) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < k; j++)
            x[i * k + j] = reduced(x[i * k + j], i, a + i * n, 1, x + j, k) / a[i * n + i];
}

static void expect_bits(const ct_tensor *found, const double *wanted, const char *what) {
    ct_tensor *t =
        ct_from_doubles(CT_F64, ct_rank(found), ct_shape(found), ct_count(found), wanted);
    ck_assert_msg(same_bits(found, t), "%s of %lld", what, (long long)ct_extent(found, 0));
    ct_free(t);
}

START_TEST(items_are_made_in_the_order_of_the_contract) {
    int64_t n = factor_size(_i), k = 3;
    ct_tensor *a = definite(CT_F64, n, 1), *l = ct_cholesky(a);
    double *x = doubles_of(a);
    cholesky_by_items(n, x);
    expect_bits(l, x, "cholesky");
    ct_tensor *b = drawn(CT_F64, 2, (int64_t[]){n, k}, 2), *y = ct_solve_triangular(l, b, CT_LOWER);
    double *z = doubles_of(b);
    lower_by_items(n, k, x, z);
    expect_bits(y, z, "substitution");
    ct_tensor *column = ct_slice(b, 1, 1, 2, 1), *wanted = ct_slice(y, 1, 1, 2, 1);
    ct_tensor *alone = ct_solve_triangular(l, column, CT_LOWER);
    ck_assert_msg(same_bits(alone, wanted), "a column alone has other bits");
    free(x), free(z);
    ct_tensor *m = square(CT_F64, n, 3), *lu, *order;
    ck_assert_int_eq(ct_lu(m, &lu, &order), CT_OK);
    ct_tensor *rows = ct_take(m, 0, order);
    double *w = doubles_of(rows);
    lu_by_items(n, w);
    expect_bits(lu, w, "lu");
    free(w);
    ct_tensor *all[] = {a, l, b, y, column, wanted, alone, m, lu, order, rows};
    for (size_t i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
}
END_TEST

/* An upper triangle is solved from below as a lower one from above. */
START_TEST(an_upper_triangle_is_a_lower_one_turned_round) {
    int64_t n = factor_size(_i);
    ct_tensor *a = definite(CT_F64, n, 8), *b = drawn(CT_F64, 2, (int64_t[]){n, 2}, 2);
    ct_tensor *round_a = ct_flip(a, CT_ALL), *round_b = ct_flip(b, 0);
    ct_tensor *x = ct_solve_triangular(a, b, CT_UPPER);
    ct_tensor *y = ct_solve_triangular(round_a, round_b, CT_LOWER), *back = ct_flip(y, 0);
    ck_assert(same_bits(x, back));
    ct_tensor *all[] = {a, b, round_a, round_b, x, y, back};
    for (size_t i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
}
END_TEST

Suite *suite_factor(void) {
    Suite *suite = suite_create("factor");
    TCase *tc = tcase_create("factor");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, cholesky_gives_its_matrix_back, 0, 2 * FACTOR_SIZES);
    tcase_add_loop_test(tc, solutions_solve, 0, 2 * FACTOR_SIZES);
    tcase_add_loop_test(tc, lu_is_a_factorisation_with_bounded_factors, 0, 2 * FACTOR_SIZES);
    tcase_add_loop_test(tc, triangles_are_solved, 0, 2 * FACTOR_SIZES);
    tcase_add_loop_test(tc, determinants_and_inverses, 0, FACTOR_SIZES);
    tcase_add_test(tc, ill_conditioned_matrices_are_solved_backward_stably);
    tcase_add_loop_test(tc, items_are_made_in_the_order_of_the_contract, 0, FACTOR_SIZES);
    tcase_add_loop_test(tc, an_upper_triangle_is_a_lower_one_turned_round, 0, FACTOR_SIZES);
    suite_add_tcase(suite, tc);
    return suite;
}
