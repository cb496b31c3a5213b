/* Custom ops and segments whose functions do not keep to the rules: they rewind or release the tape that calls them,
   give away what is not theirs, or read variables of another tape. */

#include "autodiff/ct_custom.h"
#include "autodiff/ct_derivatives.h"
#include "autodiff/ct_var_ops.h"
#include "tape_fixture.h"
#include "tensor/ct_ops.h"

#include <string.h>

static ct_var x;

static void setup_x(void) {
    setup();
    x = named_leaf(T1(1, 2, 3), "x");
}

/* --- the tape is taken away --- */

static ct_status rewinds(ct_tape *t) {
    return ct_tape_rewind(t, (ct_mark){0});
}

static ct_status releases(ct_tape *t) {
    return ct_tape_release(t, 1, &x);
}

static ct_status (*const takes_away[])(ct_tape *t) = {rewinds, releases};
static ct_status (*take_away)(ct_tape *t);

static void try_to_take_away(ct_tape *t) {
    ck_assert_int_eq(take_away(t), CT_EINVAL);
}

static ct_tensor *bad_run(void *context, size_t n, const ct_tensor *const *in) {
    (void)context, (void)n;
    try_to_take_away(tape);
    return ct_square(in[0]);
}

static ct_tensor *square(void *context, size_t n, const ct_tensor *const *in) {
    (void)context, (void)n;
    return ct_square(in[0]);
}

static void twice(void *context, const struct ct_custom_pull *pull, ct_var *gradients) {
    (void)context;
    ct_var double_x = ct_var_add(pull->inputs[0], pull->inputs[0]);
    gradients[0] = ct_var_mul(pull->cotangent, double_x);
}

static void bad_rule(void *context, const struct ct_custom_pull *pull, ct_var *gradients) {
    try_to_take_away(pull->tape);
    twice(context, pull, gradients);
}

START_TEST(an_op_cannot_take_its_tape_away) {
    take_away = takes_away[_i];
    struct ct_custom_op op = {.size = sizeof op, .name = "unruly", .run = bad_run};
    ck_assert(ct_var_is_null(ct_var_custom(&op, NULL, 1, &x)));
    refused(CT_EINVAL, "a custom op cannot take away the tape");
}
END_TEST

START_TEST(nor_can_its_rule) {
    take_away = takes_away[_i];
    struct ct_custom_op op = {.size = sizeof op, .name = "unruly", .run = square, .vjp = bad_rule};
    ct_var dx, y = ct_var_custom(&op, NULL, 1, &x);
    ck_assert_int_eq(ct_grad(y, ct_var_null(), 1, &x, &dx), CT_EINVAL);
    refused(CT_EINVAL, "a derivative rule cannot take away");
}
END_TEST

static ct_var bad_segment(void *context, ct_tape *t, size_t n, const ct_var *in) {
    (void)context, (void)t, (void)n;
    try_to_take_away(tape);
    return ct_var_square(in[0]);
}

START_TEST(nor_can_a_segment) {
    take_away = takes_away[_i];
    ck_assert(ct_var_is_null(ct_var_recomputed(bad_segment, NULL, 1, &x)));
    refused(CT_EINVAL, "a custom op cannot take away the tape");
}
END_TEST

/* --- what is not theirs --- */

static ct_tensor *gives_tangent(void *context, size_t n, const ct_tensor *const *in,
                                const ct_tensor *const *tangents, const ct_tensor *output) {
    (void)context, (void)n, (void)in, (void)output;
    return (ct_tensor *)(uintptr_t)tangents[0];
}

static ct_tensor *gives_input(void *context, size_t n, const ct_tensor *const *in,
                              const ct_tensor *const *tangents, const ct_tensor *output) {
    (void)context, (void)n, (void)tangents, (void)output;
    return (ct_tensor *)(uintptr_t)in[0];
}

static ct_tensor *gives_output(void *context, size_t n, const ct_tensor *const *in,
                               const ct_tensor *const *tangents, const ct_tensor *output) {
    (void)context, (void)n, (void)in, (void)tangents;
    return (ct_tensor *)(uintptr_t)output;
}

static ct_var record(void *op, ct_tape *t, size_t n, const ct_var *in) {
    (void)t;
    return ct_var_custom(op, NULL, n, in);
}

START_TEST(a_jvp_makes_its_result) {
    ct_tensor *(*const all[])(void *, size_t, const ct_tensor *const *, const ct_tensor *const *,
                              const ct_tensor *) = {gives_tangent, gives_input, gives_output};
    for (size_t i = 0; i < COUNT(all); i++) {
        struct ct_custom_op op = {
            .size = sizeof op, .name = "unruly", .run = square, .jvp = all[i]};
        ct_tensor *at = T1(1, 2), *product = NULL;
        const ct_tensor *in[] = {at};
        ck_assert_int_eq(ct_jvp(record, &op, 1, in, in, NULL, &product), CT_EINVAL);
        expect_error(CT_EINVAL, "jvp returned one of its arguments itself");
        ct_error_clear();
        ck_assert_ptr_null(product);
        EXPECT("the input is whole", at, 0, 1, 2);
    }
}
END_TEST

static ct_var sum_of_two(void *context, ct_tape *t, size_t n, const ct_var *in) {
    (void)context, (void)t, (void)n;
    return ct_var_add(in[0], in[1]);
}

/* Inputs at the same place of two tapes, or of two turns of one, are not one input. */
START_TEST(inputs_alike_in_number_alone) {
    ct_tape *other = ct_tape_new();
    ct_tensor *value = T1(4, 5, 6);
    ct_var mixed[] = {x, ct_leaf(other, value, NULL)};
    ck_assert(ct_var_is_null(ct_var_recomputed(sum_of_two, NULL, 2, mixed)));
    ck_assert_int_eq(ct_tape_status(tape), CT_EINVAL);
    ct_tape_free(other);
    ct_tape_rewind(tape, (ct_mark){0});
    ct_var turns[] = {ct_leaf(tape, value, NULL), x};
    ck_assert(ct_var_is_null(ct_var_recomputed(sum_of_two, NULL, 2, turns)));
    ck_assert_int_eq(ct_tape_status(tape), CT_ESTALE);
    ct_free(value);
}
END_TEST

Suite *suite_unruly(void) {
    Suite *suite = suite_create("unruly");
    TCase *tc = tcase_create("functions");
    tcase_add_checked_fixture(tc, setup_x, teardown);
    tcase_add_loop_test(tc, an_op_cannot_take_its_tape_away, 0, (int)COUNT(takes_away));
    tcase_add_loop_test(tc, nor_can_its_rule, 0, (int)COUNT(takes_away));
    tcase_add_loop_test(tc, nor_can_a_segment, 0, (int)COUNT(takes_away));
    tcase_add_test(tc, a_jvp_makes_its_result);
    tcase_add_test(tc, inputs_alike_in_number_alone);
    suite_add_tcase(suite, tc);
    return suite;
}
