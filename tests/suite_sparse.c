/* Patterns, colours, and sparse derivatives against the dense ones. */

#include "autodiff/ct_derivatives.h"
#include "autodiff/ct_sparse.h"
#include "autodiff/ct_var_ops.h"
#include "autodiff/sparse_impl.h"
#include "case_tools.h"
#include "ct_test.h"
#include "scarce_memory.h"
#include "tensor/ct_alloc.h"
#include "tensor/ct_convert.h"
#include "tensor/ct_make.h"

#include <stdlib.h>
#include <string.h>

static size_t live;

static void setup(void) {
    ct_error_clear();
    live = ct_live_blocks();
}

static void teardown(void) {
    ck_assert_uint_eq(ct_live_blocks(), live);
}

/* --- functions --- */

/* y_i = x_{i+1}^2 x_i - x_{i+2}: three bands */
static ct_var banded(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    (void)context, (void)tape, (void)n;
    int64_t size = ct_shape(ct_value(in[0]))[0];
    ct_var left = ct_var_slice(in[0], 0, 0, size - 2, 1);
    ct_var middle = ct_var_slice(in[0], 0, 1, size - 1, 1);
    ct_var right = ct_var_slice(in[0], 0, 2, size, 1);
    ct_var square = ct_var_square(middle);
    return ct_var_sub(ct_var_mul(square, left), right);
}

/* sum (x_{i+1} - x_i^2)^2: a tridiagonal Hessian */
static ct_var valley(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    (void)context, (void)tape, (void)n;
    int64_t size = ct_shape(ct_value(in[0]))[0];
    ct_var next = ct_var_slice(in[0], 0, 1, size, 1);
    ct_var square = ct_var_square(ct_var_slice(in[0], 0, 0, size - 1, 1));
    return ct_var_sum(ct_var_square(ct_var_sub(next, square)), CT_ALL, false);
}

/* sum x_0 x_i^2 + x_i^3: an arrow's Hessian */
static ct_var arrow(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    (void)context, (void)tape, (void)n;
    ct_var head = ct_var_slice(in[0], 0, 0, 1, 1), square = ct_var_square(in[0]);
    ct_var first = ct_var_mul(head, square), second = ct_var_mul(square, in[0]);
    return ct_var_sum(ct_var_add(first, second), CT_ALL, false);
}

/* its gradient, made by hand: an arrow's Jacobian, a full row and a full column */
static ct_var arrow_map(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    (void)n, (void)context;
    int64_t size = ct_shape(ct_value(in[0]))[0];
    ct_var head = ct_var_slice(in[0], 0, 0, 1, 1), square = ct_var_square(in[0]);
    ct_var rest = ct_var_mul(head, square);
    ct_var total = ct_var_sum(square, 0, true);
    ct_tensor *first = ct_zeros(ct_dtype(ct_value(in[0])), 1, &size);
    ct_dtype(first)->from_double(ct_dtype(first), ct_data_for_write(first), 1);
    ct_var unit = ct_constant(tape, first, NULL);
    ct_free(first);
    return ct_var_add(rest, ct_var_mul(unit, total));
}

static ct_var chosen(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    (void)context, (void)n;
    ct_var zero = ct_constant_of(tape, ct_dtype(ct_value(in[0])), 0);
    ct_var flipped = ct_var_flip(in[0], 0), steps = ct_var_floor(in[0]);
    ct_var positive = ct_var_greater(in[0], zero);
    ct_var a = ct_var_where(positive, in[0], flipped);
    return ct_var_add(a, steps);
}

static ct_var dense_layer(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    (void)n;
    ct_tensor *a = ct_astype(context, ct_dtype(ct_value(in[0])));
    ct_var weights = ct_constant(tape, a, NULL);
    ct_free(a);
    return ct_var_softmax(ct_var_matmul(weights, in[0]), 0);
}

/* --- tools --- */

static ct_tensor *point(int64_t size) {
    struct draw draw = {(uint64_t)size};
    return draw_tensor(&draw, CT_F64, 1, &size, 0.5, 2);
}

static void expect_same_matrix(const ct_tensor *dense, ct_pattern *p, ct_tensor *entries) {
    ck_assert_msg(dense && p && entries, "%s", ct_error()->message);
    ct_tensor *whole = ct_pattern_dense(p, entries);
    size_t count = ct_count(whole);
    double *items = malloc((count + 1) * sizeof *items);
    ck_assert_int_eq(ct_to_doubles(dense, count, items), CT_OK);
    expect_items("sparse = dense", whole, 1e-14, count, items);
    free(items);
    ct_free(entries);
    ct_pattern_free(p);
}

/* --- tests --- */

START_TEST(a_band_needs_a_colour_per_diagonal) {
    const int64_t sizes[] = {3, 4, 40, 520}; /* the last takes two chunks of marks */
    ct_tensor *x = point(sizes[_i]);
    const ct_tensor *in[] = {x};
    ct_pattern *p = ct_jacobian_pattern(banded, NULL, 1, in, 0);
    ck_assert_msg(p != NULL, "%s", ct_error()->message);
    size_t rows = (size_t)sizes[_i] - 2;
    ck_assert_uint_eq(ct_pattern_rows(p), rows);
    ck_assert_uint_eq(ct_pattern_columns(p), rows + 2);
    ck_assert_uint_eq(ct_pattern_count(p), 3 * rows);
    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < 3; k++)
            ck_assert_uint_eq(ct_pattern_indices(p)[ct_pattern_starts(p)[i] + k], i + k);
    ck_assert_uint_le(ct_pattern_colours(p) + 3 * ct_pattern_full_rows(p), 3);
    ct_tensor *dense = ct_jacobian(banded, NULL, 1, in, 0, CT_MODE_FORWARD);
    expect_same_matrix(dense, p, ct_jacobian_sparse(banded, NULL, 1, in, 0, p));
    ct_free(dense);
    ct_free(x);
}
END_TEST

START_TEST(a_tridiagonal_hessian) {
    ct_tensor *x = point(50);
    const ct_tensor *in[] = {x};
    ct_pattern *p = ct_hessian_pattern(valley, NULL, 1, in, 0);
    ck_assert_msg(p != NULL, "%s", ct_error()->message);
    ck_assert_uint_eq(ct_pattern_count(p), 3 * 50 - 2);
    ck_assert_uint_le(ct_pattern_colours(p), 3);
    ct_tensor *dense = ct_hessian(valley, NULL, 1, in, 0, 0);
    expect_same_matrix(dense, p, ct_hessian_sparse(valley, NULL, 1, in, 0, p));
    ct_free(dense);
    ct_free(x);
}
END_TEST

START_TEST(an_arrow_hessian_takes_two_colours) {
    ct_tensor *x = point(30);
    const ct_tensor *in[] = {x};
    ct_pattern *p = ct_hessian_pattern(arrow, NULL, 1, in, 0);
    ck_assert_msg(p != NULL, "%s", ct_error()->message);
    ck_assert_uint_eq(ct_pattern_count(p), 3 * 30 - 2);
    ck_assert_uint_eq(ct_pattern_colours(p), 2);
    ct_tensor *dense = ct_hessian(arrow, NULL, 1, in, 0, 0);
    expect_same_matrix(dense, p, ct_hessian_sparse(arrow, NULL, 1, in, 0, p));
    ct_free(dense);
    ct_free(x);
}
END_TEST

START_TEST(an_arrow_jacobian_leaves_its_full_row_to_a_backward_pass) {
    ct_tensor *x = point(30);
    const ct_tensor *in[] = {x};
    ct_pattern *p = ct_jacobian_pattern(arrow_map, NULL, 1, in, 0);
    ck_assert_msg(p != NULL, "%s", ct_error()->message);
    ck_assert_uint_le(ct_pattern_count(p), 30 * 30);
    ct_tensor *dense = ct_jacobian(arrow_map, NULL, 1, in, 0, CT_MODE_REVERSE);
    expect_same_matrix(dense, p, ct_jacobian_sparse(arrow_map, NULL, 1, in, 0, p));
    ct_free(dense);
    ct_free(x);
}
END_TEST

START_TEST(both_sides_of_a_choice_count_and_steps_do_not) {
    ct_tensor *x = T1(-1, 2, 3, -4, 5, 6);
    const ct_tensor *in[] = {x};
    ct_pattern *p = ct_jacobian_pattern(chosen, NULL, 1, in, 0);
    ck_assert_msg(p != NULL, "%s", ct_error()->message);
    ck_assert_uint_eq(ct_pattern_count(p), 12);
    for (size_t i = 0; i < 6; i++) {
        size_t low = i < 3 ? i : 5 - i;
        ck_assert_uint_eq(ct_pattern_indices(p)[2 * i], low);
        ck_assert_uint_eq(ct_pattern_indices(p)[2 * i + 1], 5 - low);
    }
    ct_tensor *dense = ct_jacobian(chosen, NULL, 1, in, 0, CT_MODE_REVERSE);
    expect_same_matrix(dense, p, ct_jacobian_sparse(chosen, NULL, 1, in, 0, p));
    ct_free(dense);
    ct_free(x);
}
END_TEST

/* Nothing is sparse here, and the answer is still right; structured ops carry marks. */
START_TEST(a_full_matrix) {
    struct draw draw = {9};
    ct_tensor *a = draw_tensor(&draw, CT_F64, 2, (int64_t[]){4, 20}, -1, 1), *x = point(20);
    const ct_tensor *in[] = {x};
    ct_pattern *p = ct_jacobian_pattern(dense_layer, a, 1, in, 0);
    ck_assert_msg(p != NULL, "%s", ct_error()->message);
    ck_assert_uint_eq(ct_pattern_count(p), 80);
    ck_assert_uint_eq(ct_pattern_full_rows(p), 4);
    ct_tensor *dense = ct_jacobian(dense_layer, a, 1, in, 0, CT_MODE_AUTO);
    expect_same_matrix(dense, p, ct_jacobian_sparse(dense_layer, a, 1, in, 0, p));
    ct_free(dense);
    ct_free(x), ct_free(a);
}
END_TEST

/* Whether no two entries of a row that is not left to a backward pass share a colour. */
static void expect_columns_apart(const ct_pattern *p) {
    for (size_t i = 0; i < p->rows; i++)
        for (size_t e = p->start[i]; !p->is_full[i] && e < p->start[i + 1]; e++)
            for (size_t f = e + 1; f < p->start[i + 1]; f++)
                ck_assert_uint_ne(p->colour[p->index[e]], p->colour[p->index[f]]);
}

/* Whether each entry or its mirror image is alone with its colour in its row. */
static bool alone(const ct_pattern *p, size_t i, size_t j) {
    for (size_t e = p->start[i]; e < p->start[i + 1]; e++)
        if (p->index[e] != j && p->colour[p->index[e]] == p->colour[j])
            return false;
    return true;
}

static void expect_stars(const ct_pattern *p) {
    for (size_t i = 0; i < p->rows; i++)
        for (size_t e = p->start[i]; e < p->start[i + 1]; e++)
            ck_assert(alone(p, i, p->index[e]) || alone(p, p->index[e], i));
}

/* A pattern of a random matrix, every so many entries full. */
static void random_pattern(ct_pattern *p, struct draw *draw, bool symmetric) {
    enum { SIDE = 40 };
    static bool entry[SIDE][SIDE];
    static size_t start[SIDE + 1], index[SIDE * SIDE], colour[SIDE], full_row[SIDE];
    static bool is_full[SIDE];
    double density = draw_between(draw, 0, 0.3);
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++)
            entry[i][j] = draw_between(draw, 0, 1) < density;
    for (int i = 0; symmetric && i < SIDE; i++)
        for (int j = 0; j < i; j++)
            entry[i][j] = entry[j][i];
    *p = (ct_pattern){.rows = SIDE,
                      .columns = SIDE,
                      .start = start,
                      .index = index,
                      .symmetric = symmetric,
                      .colour = colour,
                      .full_row = full_row,
                      .is_full = is_full};
    memset(is_full, 0, sizeof is_full);
    for (size_t i = 0; i < SIDE; i++) {
        start[i] = p->count;
        for (size_t j = 0; j < SIDE; j++)
            if (entry[i][j])
                index[p->count++] = j;
    }
    start[SIDE] = p->count;
}

START_TEST(colours_of_random_matrices_are_valid) {
    struct draw draw = {77};
    for (int trial = 0; trial < 200; trial++) {
        ct_pattern p;
        random_pattern(&p, &draw, trial % 2);
        ck_assert(ct__colour(&p));
        if (p.symmetric)
            expect_stars(&p);
        else
            expect_columns_apart(&p);
    }
}
END_TEST

START_TEST(empty_inputs_and_wrong_patterns) {
    ct_tensor *empty = ct_zeros(CT_F64, 1, (int64_t[]){0}), *x = point(6), *y = point(7);
    ct_tensor *whole = ct_full(CT_I64, 1, (int64_t[]){2}, 1);
    ct_pattern *none = ct_hessian_pattern(arrow, NULL, 1, (const ct_tensor *[]){empty}, 0);
    ck_assert_uint_eq(ct_pattern_rows(none), 0);
    ct_tensor *nothing = ct_hessian_sparse(arrow, NULL, 1, (const ct_tensor *[]){empty}, 0, none);
    ck_assert_msg(nothing != NULL, "%s", ct_error()->message);
    ck_assert_uint_eq(ct_count(nothing), 0);
    ct_free(nothing);
    ct_pattern_free(none);
    none = ct_jacobian_pattern(dense_layer, x, 1, (const ct_tensor *[]){whole}, 0);
    ck_assert_ptr_null(none);
    expect_error(CT_EDTYPE, "the input 0 is i64: give it of a real type");
    ct_pattern *p = ct_jacobian_pattern(banded, NULL, 1, (const ct_tensor *[]){x}, 0);
    ck_assert_ptr_null(ct_jacobian_sparse(banded, NULL, 1, (const ct_tensor *[]){y}, 0, p));
    expect_error(CT_ESHAPE, "the pattern has 6 columns and the input 0 has 7 items");
    ck_assert_ptr_null(ct_jacobian_sparse(chosen, NULL, 1, (const ct_tensor *[]){x}, 0, p));
    expect_error(CT_ESHAPE, "the pattern has 4 rows, the function gave 6");
    ck_assert_ptr_null(ct_hessian_sparse(arrow, NULL, 1, (const ct_tensor *[]){x}, 0, p));
    expect_error(CT_EINVAL, "the pattern is of a Jacobian");
    ck_assert_ptr_null(ct_pattern_dense(p, x));
    expect_error(CT_ESHAPE, "the pattern has 12 entries and 6 were given");
    ct_pattern_free(p);
    ct_free(empty), ct_free(x), ct_free(y), ct_free(whole);
}
END_TEST

START_TEST(failing_allocations_lose_nothing) {
    if (!make_memory_scarce())
        return;
    ct_tensor *x = point(5);
    const ct_tensor *in[] = {x};
    for (int second = 0; second < 2; second++) {
        ct_function *fn = second ? arrow : banded;
        bool done = false;
        for (long left = 0; !done; left++) {
            size_t before = ct_live_blocks();
            starve(left);
            ct_pattern *p = second ? ct_hessian_pattern(fn, NULL, 1, in, 0)
                                   : ct_jacobian_pattern(fn, NULL, 1, in, 0);
            ct_tensor *made = !p       ? NULL
                              : second ? ct_hessian_sparse(fn, NULL, 1, in, 0, p)
                                       : ct_jacobian_sparse(fn, NULL, 1, in, 0, p);
            ct_pattern_free(p);
            allocations_left = -1;
            done = survived(made, before);
            ck_assert_int_lt(left, 4000);
        }
    }
    ct_free(x);
}
END_TEST

Suite *suite_sparse(void) {
    Suite *suite = suite_create("sparse");
    TCase *tc = tcase_create("sparse");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, a_band_needs_a_colour_per_diagonal, 0, 4);
    tcase_add_test(tc, a_tridiagonal_hessian);
    tcase_add_test(tc, an_arrow_hessian_takes_two_colours);
    tcase_add_test(tc, an_arrow_jacobian_leaves_its_full_row_to_a_backward_pass);
    tcase_add_test(tc, both_sides_of_a_choice_count_and_steps_do_not);
    tcase_add_test(tc, a_full_matrix);
    tcase_add_test(tc, colours_of_random_matrices_are_valid);
    tcase_add_test(tc, empty_inputs_and_wrong_patterns);
    suite_add_tcase(suite, tc);
    TCase *scarce = tcase_create("failing allocations");
    tcase_add_test(scarce, failing_allocations_lose_nothing);
    suite_add_tcase(suite, scarce);
    return suite;
}
