/* How the gradient check is called: what it asks of inputs, options and functions, and says where it refuses. */
#include "checker_tools.h"

#include "autodiff/ct_derivatives.h"
#include "dual/ct_dual.h"

#include <string.h>

Suite *suite_checker_calls(void);

static ct_var nothing(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    (void)context, (void)tape, (void)n, (void)in;
    return ct_var_null();
}

static ct_var wrong_shapes(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    (void)context, (void)n;
    ct_tensor *t = ct_zeros(CT_F64, SHAPE(5));
    ct_var v = ct_var_add(in[0], ct_constant(tape, t, NULL));
    ct_free(t);
    return v;
}

static ct_var compares(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    (void)context, (void)tape, (void)n;
    return ct_var_less(in[0], in[0]);
}

static ct_var another_each_time(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    int *calls = context;
    (void)tape, (void)n;
    return ct_var_slice(in[0], 0, 0, 1 + (*calls)++ % 2, 1);
}

/* As one that draws random numbers does: 1 x, 2 x, 3 x, ... */
static ct_var another_value_each_time(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    int *calls = context;
    (void)n;
    return ct_var_mul(in[0], ct_constant_of(tape, ct_dtype(ct_value(in[0])), ++*calls));
}

START_TEST(a_function_that_changes_is_an_error) {
    int calls = 0;
    ct_tensor *x = uniform(SHAPE(3), 1, 2);
    const ct_tensor *inputs[] = {x};
    struct ct_check_report r = {.checked = 77};
    ck_assert_int_eq(ct_check_gradient(another_value_each_time, &calls, 1, inputs, NULL, &r),
                     CT_EINVAL);
    ck_assert_ptr_nonnull(strstr(ct_error()->message,
                                 "the function gave another value when called again: it must "
                                 "record the same computation each time"));
    ck_assert_int_eq(calls, 2);
    ck_assert_uint_eq(r.checked, 77); // untouched
    ct_free(x);
}
END_TEST

START_TEST(an_input_that_failed_keeps_its_error) {
    const ct_tensor *inputs[] = {ct_from_items(CT_F64, 1, (int64_t[]){-1}, 0, NULL)};
    struct ct_check_report report;
    ck_assert_ptr_null(inputs[0]);
    enum ct_status code = ct_error()->code;
    ck_assert_int_ne(code, CT_OK);
    ct_tensor *gradient = NULL;
    ck_assert_int_eq(ct_check_gradient(tanh_of, NULL, 1, inputs, NULL, &report), code);
    ck_assert_int_eq(ct_vjp(tanh_of, NULL, 1, inputs, NULL, NULL, &gradient), code);
    ck_assert_ptr_null(ct_hessian(tanh_of, NULL, 1, inputs, 0, 0));
    ck_assert_int_eq(ct_error()->code, code);
    ck_assert_ptr_null(strstr(ct_error()->message, "is NULL"));
}
END_TEST

START_TEST(wrong_calls_are_errors) {
    int calls = 0;
    ct_tensor *x = uniform(SHAPE(3), -1, 1), *labels = ct_zeros(CT_I64, SHAPE(3));
    ct_tensor *dual = ct_dual(x, NULL);
    const ct_tensor *real[] = {x}, *integer[] = {labels}, *missing[] = {NULL}, *pairs[] = {dual};
    struct ct_check_options bad = ct_check_options_init(), zero = {0}, none = bad;
    bad.rtol = -1;
    none.max_items = 0;
    struct ct_check_report r = {.checked = 77};
    ct_error_clear();
    ck_assert_int_eq(ct_check_gradient(NULL, NULL, 1, real, NULL, &r), CT_EINVAL);
    ck_assert_int_eq(ct_check_gradient(tanh_of, NULL, 1, real, NULL, NULL), CT_EINVAL);
    ck_assert_int_eq(ct_check_gradient(tanh_of, NULL, 1, NULL, NULL, &r), CT_EINVAL);
    ck_assert_int_eq(ct_check_gradient(tanh_of, NULL, 0, NULL, NULL, &r), CT_EINVAL);
    ck_assert_int_eq(ct_check_gradient(tanh_of, NULL, 1, missing, NULL, &r), CT_EINVAL);
    ck_assert_int_eq(ct_check_gradient(tanh_of, NULL, 1, integer, NULL, &r), CT_EINVAL);
    ck_assert_int_eq(ct_check_gradient(tanh_of, NULL, 1, pairs, NULL, &r), CT_EDTYPE);
    ck_assert_int_eq(ct_check_gradient(tanh_of, NULL, 1, real, &bad, &r), CT_EINVAL);
    ck_assert_int_eq(ct_check_gradient(tanh_of, NULL, 1, real, &zero, &r), CT_EINVAL);
    ck_assert_int_eq(ct_check_gradient(tanh_of, NULL, 1, real, &none, &r), CT_EINVAL);
    ck_assert_int_eq(ct_check_gradient(nothing, NULL, 1, real, NULL, &r), CT_EINVAL);
    ck_assert_int_eq(ct_check_gradient(compares, NULL, 1, real, NULL, &r), CT_EDTYPE);
    ck_assert_int_eq(ct_check_gradient(another_each_time, &calls, 1, real, NULL, &r), CT_EINVAL);
    ck_assert_int_eq(ct_check_gradient(wrong_shapes, NULL, 1, real, NULL, &r), CT_ESHAPE);
    ck_assert_str_eq(ct_error()->function, "ct_check_gradient");
    ck_assert_int_eq(ct_check_op(CT_OP_COUNT, NULL, &r), CT_EINVAL);
    ck_assert_int_eq(ct_check_op(CT_OP_add, NULL, NULL), CT_EINVAL);
    ck_assert_int_eq(ct_check_op(CT_OP_add, &bad, &r), CT_EINVAL);
    ck_assert_str_eq(ct_error()->function, "ct_check_op");
    ck_assert_uint_eq(r.checked, 77); // untouched
    ct_free(x);
    ct_free(labels);
    ct_free(dual);
}
END_TEST

Suite *suite_checker_calls(void) {
    Suite *suite = suite_create("checker_calls");
    TCase *tc = add_case(suite, "arguments");
    tcase_add_test(tc, an_input_that_failed_keeps_its_error);
    tcase_add_test(tc, wrong_calls_are_errors);
    tcase_add_test(tc, a_function_that_changes_is_an_error);
    return suite;
}
