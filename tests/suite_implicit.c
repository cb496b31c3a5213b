/* The fixed point of examples/implicit.c, differentiated in every mode, against unrolling. */

#include "case_tools.h"
#include "ct_test.h"
#include "scarce_memory.h"
#include "tensor/ct_alloc.h"

#include <string.h>

#define main implicit_main
int implicit_main(void);
#include "examples/implicit.c"
#undef main

static size_t live;
static struct draw draw;
static ct_tensor *in[2], *along[2];

static void setup(void) {
    ct_error_clear();
    live = ct_live_blocks();
    draw = (struct draw){17};
    in[0] = draw_tensor(&draw, CT_F64, 2, (int64_t[]){4, 4}, -0.3, 0.3);
    in[1] = draw_tensor(&draw, CT_F64, 1, (int64_t[]){4}, -1, 1);
    along[0] = draw_tensor(&draw, CT_F64, 2, (int64_t[]){4, 4}, -1, 1);
    along[1] = draw_tensor(&draw, CT_F64, 1, (int64_t[]){4}, -1, 1);
}

static void teardown(void) {
    for (int k = 0; k < 2; k++)
        ct_free(in[k]), ct_free(along[k]);
    ck_assert_uint_eq(ct_live_blocks(), live);
}

static void ok(ct_status status) {
    ck_assert_msg(status == CT_OK, "%s", ct_error()->message);
}

static const ct_tensor *const *of(ct_tensor *const *t) {
    return (const ct_tensor *const *)t;
}

/* Frees both. */
static void nearly(const char *what, ct_tensor *got, ct_tensor *right) {
    double items[512];
    ck_assert_msg(got && right, "%s", ct_error()->message);
    size_t count = ct_count(right);
    ok(ct_to_doubles(right, count, items));
    ct_free(right);
    expect_items(what, got, 1e-11, count, items);
}

START_TEST(reverse_mode_is_that_of_unrolling) {
    ct_tensor *value[2], *gradient[2][2];
    ok(ct_vjp(implicit, NULL, 2, of(in), NULL, &value[0], gradient[0]));
    ok(ct_vjp(unrolled, NULL, 2, of(in), NULL, &value[1], gradient[1]));
    nearly("value", value[0], value[1]);
    for (int k = 0; k < 2; k++)
        nearly("gradient", gradient[0][k], gradient[1][k]);
}
END_TEST

START_TEST(forward_mode_is_that_of_unrolling) {
    ct_tensor *product[2];
    ok(ct_jvp(implicit, NULL, 2, of(in), of(along), NULL, &product[0]));
    ok(ct_jvp(unrolled, NULL, 2, of(in), of(along), NULL, &product[1]));
    nearly("product", product[0], product[1]);
}
END_TEST

START_TEST(second_order_is_that_of_unrolling) {
    ct_tensor *product[2][2];
    ok(ct_hvp(implicit, NULL, 2, of(in), of(along), NULL, product[0]));
    ok(ct_hvp(unrolled, NULL, 2, of(in), of(along), NULL, product[1]));
    for (int k = 0; k < 2; k++)
        nearly("product", product[0][k], product[1][k]);
    for (size_t k = 0; k < 2; k++)
        nearly("hessian", ct_hessian(implicit, NULL, 2, of(in), k, 1),
               ct_hessian(unrolled, NULL, 2, of(in), k, 1));
}
END_TEST

START_TEST(it_passes_the_check) {
    struct ct_check_options options = ct_check_options_init();
    struct ct_check_report report;
    options.second_order = true;
    ok(ct_check_gradient(implicit, NULL, 2, of(in), &options, &report));
    ck_assert_msg(report.verdict == CT_CHECK_PASS, "%s", report.message);
}
END_TEST

/* Not a contraction: x = 2 x + theta runs away. */
static ct_var runaway(void *context, ct_tape *tape, size_t n, const ct_var *given) {
    (void)context, (void)tape, (void)n;
    return ct_var_add(ct_var_add(given[0], given[0]), given[1]);
}

START_TEST(what_does_not_converge_is_an_error) {
    struct equation equation = {runaway, NULL, 1e-14, 50};
    ct_tape *tape = ct_tape_new();
    const ct_var given[] = {ct_constant(tape, in[1], NULL), ct_leaf(tape, in[1], NULL)};
    ck_assert(ct_var_is_null(ct_var_custom(&fixed_op, &equation, 2, given)));
    ck_assert_int_eq(ct_tape_status(tape), CT_EDOMAIN);
    ck_assert_str_eq(ct_tape_message(tape),
                     "node 2, fixed_point(f64[4], f64[4]): the iteration does not converge");
    ct_tape_free(tape);
}
END_TEST

/* Gradient, and the gradient of that, where every 7th allocation count is tried. */
START_TEST(failing_allocations_lose_nothing) {
    if (!make_memory_scarce())
        return;
    in[0] = T2(2, 2, 0.1, -0.2, 0.3, 0.1), in[1] = T1(0.5, -1);
    along[0] = T2(2, 2, 1, 2, 3, 4), along[1] = T1(1, -1);
    equilibrium.tolerance = 0.1; // a few iterations are enough here
    bool done = false;
    for (long left = 0; !done; left += 7) {
        ct_tensor *made[2] = {NULL};
        size_t before = ct_live_blocks();
        starve(left);
        ct_hvp(implicit, NULL, 2, of(in), of(along), NULL, made);
        allocations_left = -1;
        ct_free(made[1]);
        done = survived(made[0], before);
        ck_assert_int_lt(left, 100000);
    }
    for (int k = 0; k < 2; k++)
        ct_free(in[k]), ct_free(along[k]);
}
END_TEST

Suite *suite_implicit(void);
Suite *suite_implicit(void) {
    Suite *suite = suite_create("implicit");
    TCase *tc = tcase_create("implicit");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, reverse_mode_is_that_of_unrolling);
    tcase_add_test(tc, forward_mode_is_that_of_unrolling);
    tcase_add_test(tc, second_order_is_that_of_unrolling);
    tcase_add_test(tc, it_passes_the_check);
    tcase_add_test(tc, what_does_not_converge_is_an_error);
    suite_add_tcase(suite, tc);
    TCase *scarce = tcase_create("failing allocations");
    tcase_set_timeout(scarce, 60);
    tcase_add_test(scarce, failing_allocations_lose_nothing);
    suite_add_tcase(suite, scarce);
    return suite;
}
