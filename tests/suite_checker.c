/* The gradient check is itself checked: with wrong answers planted at its seams, with functions
   whose recording hides a dependence from the tape, and with points that have no derivative. */
#include "checker_tools.h"

#include "autodiff/check_impl.h"
#include "dual/ct_dual.h"

#include <check.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

Suite *suite_checker(void);

/* --- functions --- */

static ct_var mul_of(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    (void)context, (void)tape, (void)n;
    ct_var a = ct_var_exp(in[0]), b = ct_var_sin(in[1]);
    return ct_var_mul(a, b);
}

static ct_var sum_of_squares(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    (void)context, (void)tape, (void)n;
    return ct_var_sum(ct_var_square(in[0]), CT_ALL, false);
}

static ct_var first_alone(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    (void)context, (void)tape, (void)n;
    return ct_var_exp(in[0]);
}

static ct_var relu_of(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    (void)context, (void)tape, (void)n;
    return ct_var_relu(in[0]);
}

static ct_var abs_of(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    (void)context, (void)tape, (void)n;
    return ct_var_abs(in[0]);
}

static ct_var sign_of(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    (void)context, (void)tape, (void)n;
    return ct_var_sign(in[0]);
}

static ct_var max_of(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    (void)context, (void)tape, (void)n;
    return ct_var_max(in[0], CT_ALL, false);
}

static ct_var sqrt_of(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    (void)context, (void)tape, (void)n;
    return ct_var_sqrt(in[0]);
}

static ct_var log_of(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    (void)context, (void)tape, (void)n;
    return ct_var_log(in[0]);
}

/* sqrt(x^2 + c^2): smooth, but bent as sharply as c is small. */
static ct_var nearly_abs(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    const double *c = context;
    (void)n;
    ct_var k = ct_constant_of(tape, ct_dtype(ct_value(in[0])), *c * *c);
    return ct_var_sqrt(ct_var_add(ct_var_square(in[0]), k));
}

static ct_var row_losses(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    (void)context, (void)tape, (void)n;
    return ct_var_cross_entropy(in[0], in[1], CT_REDUCE_NONE);
}

/* A constant with the value of a variable: the tape sees no path through it, while dual numbers and
   moved inputs do. */
static ct_var detached(ct_tape *tape, ct_var v) {
    return ct_constant(tape, ct_value(v), NULL);
}

/* x x, whose tape knows one factor: a product rule that forgets the other. */
static ct_var forgets_a_factor(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    (void)context, (void)n;
    return ct_var_mul(in[0], detached(tape, in[0]));
}

static ct_var forgets_everything(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    (void)context, (void)n;
    return ct_var_exp(detached(tape, in[0]));
}

/* The value is x^3 and the gradient 3 x^2, but as a constant: wrong at second order only. */
static ct_var forgets_the_second_order(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    (void)context, (void)n;
    ct_var s = detached(tape, in[0]);
    ct_var three = ct_constant_of(tape, ct_dtype(ct_value(s)), 3);
    ct_var slope = ct_var_mul(three, ct_var_square(s));
    return ct_var_add(ct_var_mul(s, ct_var_square(s)), ct_var_mul(slope, ct_var_sub(in[0], s)));
}

/* Where forward mode is the wrong one: its dual numbers lose their tangents. */
static ct_var drops_tangents(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    (void)context, (void)n;
    const ct_tensor *x = ct_value(in[0]);
    if (!x || ct_dtype(x) != CT_DUAL64)
        return ct_var_exp(in[0]);
    ct_tensor *value = ct_dual_value(x), *bare = ct_dual(value, NULL);
    ct_var v = ct_var_exp(ct_constant(tape, bare, NULL));
    ct_free(value);
    ct_free(bare);
    return v;
}

/* --- running --- */

static ct_tensor *from(const ct_scalar *scalar, int rank, const int64_t *shape,
                       const double *items) {
    size_t count = 1;
    for (int k = 0; k < rank; k++)
        count *= (size_t)shape[k];
    ct_tensor *t = ct_from_doubles(scalar, rank, shape, count, items);
    ck_assert_ptr_nonnull(t);
    return t;
}

/* Checks a function of one input, which is freed. */
static struct ct_check_report check(ct_function *fn, ct_tensor *x) {
    struct ct_check_report report;
    const ct_tensor *inputs[] = {x};
    ck_assert_msg(ct_check_gradient(fn, NULL, 1, inputs, NULL, &report) == CT_OK, "%s",
                  ct_error()->message);
    ct_free(x);
    return report;
}

static void verdict(const struct ct_check_report *r, enum ct_verdict want) {
    ck_assert_msg(r->verdict == want, "verdict %d instead of %d: %s", r->verdict, want, r->message);
    ck_assert_str_ne(r->message, "");
}

static void says(const struct ct_check_report *r, const char *part) {
    ck_assert_msg(strstr(r->message, part) != NULL, "\"%s\" does not say \"%s\"", r->message, part);
}

/* --- right functions pass --- */

START_TEST(right_functions_pass) {
    struct ct_check_report r = check(tanh_of, uniform(SHAPE(7), -2, 2));
    verdict(&r, CT_CHECK_PASS);
    ck_assert_uint_eq(r.checked, 7);
    ck_assert_uint_eq(r.kinks, 0);
    ck_assert_double_lt(r.worst_tape_dual, 1e-14);
    ck_assert_double_lt(r.worst_tape_diff, 1e-8);
    ck_assert_double_gt(r.worst_tape_diff, 0);
    ck_assert_uint_eq(r.node, SIZE_MAX);
    says(&r, "7 items agree");
    r = check(sum_of_squares, uniform(SHAPE(2, 3), -2, 2));
    verdict(&r, CT_CHECK_PASS);
    r = check(tanh_of, uniform(0, NULL, -2, 2));
    verdict(&r, CT_CHECK_PASS);
    ck_assert_uint_eq(r.checked, 1);
    r = check(tanh_of, uniform(SHAPE(0, 3), -2, 2));
    verdict(&r, CT_CHECK_PASS);
    ck_assert_uint_eq(r.checked, 0);
}
END_TEST

START_TEST(two_inputs_pass_with_broadcasting) {
    ct_tensor *x = uniform(SHAPE(2, 3), -1, 1), *z = uniform(SHAPE(3), -1, 1);
    const ct_tensor *inputs[] = {x, z};
    struct ct_check_report r;
    struct ct_check_options options = ct_check_options_init();
    options.second_order = true;
    ck_assert_int_eq(ct_check_gradient(mul_of, NULL, 2, inputs, &options, &r), CT_OK);
    verdict(&r, CT_CHECK_PASS);
    ck_assert_uint_eq(r.checked, 18);
    ck_assert_double_gt(r.worst_second, 0);
    ct_free(x);
    ct_free(z);
}
END_TEST

START_TEST(unused_input_passes) {
    ct_tensor *x = uniform(SHAPE(3), -1, 1), *z = uniform(SHAPE(2, 2), -1, 1);
    const ct_tensor *inputs[] = {x, z};
    struct ct_check_report r;
    struct ct_check_options options = ct_check_options_init();
    options.second_order = true;
    ck_assert_int_eq(ct_check_gradient(first_alone, NULL, 2, inputs, &options, &r), CT_OK);
    verdict(&r, CT_CHECK_PASS);
    ck_assert_uint_eq(r.checked, 14);
    ct_free(x);
    ct_free(z);
}
END_TEST

START_TEST(integer_inputs_are_passed_on) {
    ct_tensor *x = uniform(SHAPE(3, 4), -1, 1);
    ct_tensor *labels = from(CT_I64, SHAPE(3), (double[]){3, 0, 2});
    const ct_tensor *inputs[] = {x, labels};
    struct ct_check_report r;
    struct ct_check_options options = ct_check_options_init();
    options.second_order = true;
    ck_assert_msg(ct_check_gradient(row_losses, NULL, 2, inputs, &options, &r) == CT_OK, "%s",
                  ct_error()->message);
    verdict(&r, CT_CHECK_PASS);
    ck_assert_uint_eq(r.checked, 24);
    ct_free(x);
    ct_free(labels);
}
END_TEST

/* B137: f32 inputs are checked in f64. */
START_TEST(f32_is_checked_in_f64) {
    ct_tensor *x = uniform(SHAPE(5), -1, 1);
    struct ct_check_report r = check(tanh_of, ct_astype(x, CT_F32));
    ct_free(x);
    verdict(&r, CT_CHECK_PASS);
    ck_assert_double_lt(r.worst_tape_diff, 1e-8);
}
END_TEST

/* B135: a checker that moves a copy of a view sees a numeric gradient of 0. */
START_TEST(strided_inputs_pass) {
    ct_tensor *x = uniform(SHAPE(4, 6), -1, 1);
    ct_tensor *row = uniform(SHAPE(3), -1, 1);
    ct_tensor *views[] = {ct_transpose(x),
                          ct_flip(x, 0),
                          ct_slice(x, 1, 0, CT_END, 2),
                          ct_slice(x, 1, -1, CT_END, -3),
                          ct_select(x, 1, 2),
                          ct_broadcast_to(row, SHAPE(2, 3))};
    for (int i = 0; i < COUNT(views); i++) {
        size_t count = ct_count(views[i]);
        struct ct_check_report r = check(sum_of_squares, views[i]);
        verdict(&r, CT_CHECK_PASS);
        ck_assert_uint_eq(r.checked, count);
    }
    struct ct_check_report r = check(tanh_of, ct_transpose(x));
    verdict(&r, CT_CHECK_PASS);
    ct_free(x);
    ct_free(row);
}
END_TEST

START_TEST(large_inputs_are_sampled) {
    struct ct_check_report r = check(tanh_of, uniform(SHAPE(10, 100), -1, 1));
    verdict(&r, CT_CHECK_PASS);
    ck_assert_uint_eq(r.checked, 256);
}
END_TEST

/* Steps adapt: large, tiny and mixed magnitudes, functions far larger than their slopes. */
START_TEST(magnitudes_do_not_matter) {
    double items[] = {1e-8, 1e-3, 1, 1e3, 1e8, 1e150, -1e-8, -1e8, 3e-300};
    struct ct_check_report r = check(sum_of_squares, from(CT_F64, SHAPE(4), items));
    verdict(&r, CT_CHECK_PASS);
    /* Beside an item of 1e150 in the sum nothing is seen of the others. */
    r = check(relu_of,
              from(CT_F64, SHAPE(9), (double[]){1e-4, 1e-3, 1, 1e3, 1e8, 1e150, -1e-4, -1e8, -3}));
    verdict(&r, CT_CHECK_BLIND);
    ck_assert_uint_eq(r.blind, 8);
    r = check(log_of, from(CT_F64, SHAPE(4), (double[]){1e-4, 1e-3, 1e3, 1e8}));
    verdict(&r, CT_CHECK_PASS);
    r = check(sqrt_of, from(CT_F64, SHAPE(3), (double[]){1e-5, 1e-3, 1e8}));
    verdict(&r, CT_CHECK_PASS);
}
END_TEST

static ct_var reciprocal_of(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    (void)context, (void)tape, (void)n;
    return ct_var_reciprocal(in[0]);
}

/* Close to the end of a domain f changes on the scale of x, and so must the steps. Item by item:
   the large slopes of one would hide the others'. */
START_TEST(ends_of_domains_are_approached) {
    static ct_function *const functions[] = {log_of, reciprocal_of, sqrt_of};
    static const double x[] = {1e-5, 1e-7, 1e-10, 1e-30, 1e-100};
    for (int k = 0; k < COUNT(x); k++) {
        struct ct_check_report r = check(functions[_i], from(CT_F64, SHAPE(1), &x[k]));
        ck_assert_msg(r.verdict == CT_CHECK_PASS, "x = %g: %s", x[k], r.message);
    }
}
END_TEST

/* --- wrong answers fail --- */

enum fault {
    FACTOR,
    SIGN_OF_ONE,
    SHAPE_GROWS,
    SHAPE_SHRINKS,
    ZERO,
    NOT_A_NUMBER,
    DUAL_FACTOR,
    DUAL_SIGN_OF_ONE,
    DUAL_ZERO,
    BOTH_FACTOR,
    BOTH_ZERO,
    SECOND_FACTOR,
    SECOND_SIGN_OF_ONE,
    SECOND_ZERO,
    SECOND_DUAL,
    FAULTS
};

/* What is planted, and where. */
struct plant {
    enum fault fault;
    size_t input, item;
    enum ct_op op; /* also in single nodes of this op */
};

static ct_tensor *plant_gradient(void *context, enum ct_op op, size_t input, const ct_tensor *g) {
    const struct plant *plant = context;
    if (input != plant->input || op != CT_OP_COUNT)
        return NULL;
    if (plant->fault == SHAPE_GROWS)
        return ct_expand_dims(g, 0);
    if (plant->fault == SHAPE_SHRINKS)
        return ct_sum(g, 0, false);
    return NULL;
}

static double plant_answer(void *context, enum ct_op op, int order, enum ct__answer which,
                           size_t input, size_t item, double answer) {
    const struct plant *plant = context;
    bool is_tape = which == CT__ANSWER_TAPE, is_dual = which == CT__ANSWER_DUAL;
    bool here = input == plant->input, at = here && item == plant->item;
    if (op != CT_OP_COUNT && op != plant->op)
        return answer;
    if (op == plant->op && op != CT_OP_COUNT)
        here = at = true;
    switch (plant->fault) {
    case FACTOR:
        return order == 1 && is_tape && here ? answer * (1 + 1e-3) : answer;
    case SIGN_OF_ONE:
        return order == 1 && is_tape && at ? -answer : answer;
    case ZERO:
        return order == 1 && is_tape && here ? 0 : answer;
    case NOT_A_NUMBER:
        return order == 1 && at ? (double)NAN : answer;
    case DUAL_FACTOR:
        return order == 1 && is_dual && here ? answer * (1 + 1e-3) : answer;
    case DUAL_SIGN_OF_ONE:
        return order == 1 && is_dual && at ? -answer : answer;
    case DUAL_ZERO:
        return order == 1 && is_dual && here ? 0 : answer;
    case BOTH_FACTOR:
        return order == 1 && here ? answer * (1 + 1e-3) : answer;
    case BOTH_ZERO:
        return order == 1 && here ? 0 : answer;
    case SECOND_FACTOR:
        return order == 2 && is_tape && here ? answer * (1 + 1e-3) : answer;
    case SECOND_SIGN_OF_ONE:
        return order == 2 && at ? -answer : answer;
    case SECOND_ZERO:
        return order == 2 && here ? 0 : answer;
    case SECOND_DUAL:
        return order == 2 && is_dual && at ? answer + 1e-3 : answer;
    case SHAPE_GROWS:
    case SHAPE_SHRINKS:
    case FAULTS:
        break;
    }
    return answer;
}

static struct ct_check_report check_planted(struct plant *plant, bool second_order) {
    struct ct__check_seam seam = {plant, plant_gradient, plant_answer};
    ct_tensor *x = uniform(SHAPE(2, 3), 0.3, 1), *z = uniform(SHAPE(3), 0.3, 1);
    const ct_tensor *inputs[] = {x, z};
    struct ct_check_options options = ct_check_options_init();
    options.second_order = second_order;
    struct ct_check_report r;
    ct_status status = ct__check_gradient_with("ct_check_gradient", mul_of, NULL, 2, inputs, NULL,
                                               &options, &seam, CT_OP_COUNT, &r);
    ck_assert_msg(status == CT_OK, "%s", ct_error()->message);
    ct_free(x);
    ct_free(z);
    return r;
}

/* B136, each fault in each input. */
START_TEST(planted_faults_fail) {
    struct plant plant = {
        .fault = (enum fault)(_i / 2), .input = (size_t)_i % 2, .op = CT_OP_COUNT};
    plant.item = plant.input == 0 ? 4 : 2;
    struct ct_check_report r = check_planted(&plant, true);
    char place[64];
    snprintf(place, sizeof place, "input %zu, item ", plant.input);
    verdict(&r, CT_CHECK_FAIL);
    says(&r, place);
    ck_assert_uint_eq(r.input, plant.input);
    ck_assert_uint_eq(r.node, SIZE_MAX);
    bool is_single = plant.fault == SIGN_OF_ONE || plant.fault == NOT_A_NUMBER ||
                     plant.fault == DUAL_SIGN_OF_ONE || plant.fault == SECOND_SIGN_OF_ONE ||
                     plant.fault == SECOND_DUAL;
    if (is_single) {
        snprintf(place, sizeof place, plant.input ? "item %zu [2]" : "item %zu [1, 1]", plant.item);
        says(&r, place);
        ck_assert_uint_eq(r.item, plant.item);
    }
    if (plant.fault >= SECOND_FACTOR)
        says(&r, "second order, input");
    if (plant.fault == SHAPE_GROWS)
        says(&r, plant.input ? "f64[1, 3] and the input f64[3]"
                             : "f64[1, 2, 3] and the input f64[2, 3]");
    if (plant.fault == NOT_A_NUMBER)
        says(&r, "not finite");
}
END_TEST

START_TEST(second_order_faults_need_second_order) {
    struct plant plant = {.fault = SECOND_FACTOR, .op = CT_OP_COUNT};
    struct ct_check_report r = check_planted(&plant, false);
    verdict(&r, CT_CHECK_PASS);
    plant.fault = FAULTS;
    r = check_planted(&plant, true);
    verdict(&r, CT_CHECK_PASS);
}
END_TEST

START_TEST(guilty_node_is_named) {
    static const struct {
        enum ct_op op;
        size_t node;
        const char *text;
    } cases[] = {{CT_OP_exp, 2, "node 2, exp, fails by itself; input 0"},
                 {CT_OP_sin, 3, "node 3, sin, fails by itself; input 0"},
                 {CT_OP_mul, 5, "node 5, mul, fails by itself; input 0"},
                 {CT_OP_cos, SIZE_MAX, "input 0"}};
    struct plant plant = {.fault = FACTOR, .op = cases[_i].op};
    struct ct_check_report r = check_planted(&plant, false);
    verdict(&r, CT_CHECK_FAIL);
    ck_assert_uint_eq(r.node, cases[_i].node);
    ck_assert_msg(strstr(r.message, cases[_i].text) == r.message, "%s", r.message);
}
END_TEST

START_TEST(places_are_told_with_their_x) {
    struct plant plant = {.fault = FACTOR, .op = CT_OP_COUNT};
    struct ct__check_seam seam = {&plant, plant_gradient, plant_answer};
    ct_tensor *x = from(CT_F64, SHAPE(2), (double[]){-0.25, 0.75});
    const ct_tensor *inputs[] = {x};
    struct ct_check_options options = ct_check_options_init();
    struct ct_check_report r;
    options.second_order = true;
    ck_assert_int_eq(ct__check_gradient_with("test", tanh_of, NULL, 1, inputs, NULL, &options,
                                             &seam, CT_OP_COUNT, &r),
                     CT_OK);
    says(&r, r.item ? "item 1 [1], at x = 0.75: slopes of <u, f>: tape "
                    : "item 0 [0], at x = -0.25: slopes of <u, f>: tape ");
    plant.fault = SECOND_FACTOR;
    ck_assert_int_eq(ct__check_gradient_with("test", tanh_of, NULL, 1, inputs, NULL, &options,
                                             &seam, CT_OP_COUNT, &r),
                     CT_OK);
    says(&r,
         r.item ? "at x = 0.75: slopes of <g, v>: tape " : "at x = -0.25: slopes of <g, v>: tape ");
    ct_free(x);
    r = check(abs_of, from(CT_F64, SHAPE(2), (double[]){3, -0.0}));
    says(&r, "item 1 [1], at x = -0: slopes of <u, f>: ");
}
END_TEST

START_TEST(zeros_are_counted) {
    struct ct_check_report r = check(relu_of, from(CT_F64, SHAPE(4), (double[]){-1, 2, -3, 0}));
    ck_assert_uint_eq(r.checked, 3);
    ck_assert_uint_eq(r.zeros, 2);
    r = check(sign_of, from(CT_F64, SHAPE(2), (double[]){-1, 2}));
    ck_assert_uint_eq(r.checked, 2);
    ck_assert_uint_eq(r.zeros, 2);
}
END_TEST

/* Wrong by the recording itself, without a seam. */
START_TEST(forgetful_functions_fail) {
    static const struct {
        ct_function *fn;
        bool second_order;
        enum ct_verdict verdict;
    } cases[] = {{forgets_a_factor, false, CT_CHECK_FAIL},
                 {forgets_everything, false, CT_CHECK_FAIL},
                 {drops_tangents, false, CT_CHECK_FAIL},
                 {forgets_the_second_order, false, CT_CHECK_PASS},
                 {forgets_the_second_order, true, CT_CHECK_FAIL}};
    struct ct_check_options options = ct_check_options_init();
    options.second_order = cases[_i].second_order;
    ct_tensor *x = uniform(SHAPE(4), 0.5, 2);
    const ct_tensor *inputs[] = {x};
    struct ct_check_report r;
    ck_assert_msg(ct_check_gradient(cases[_i].fn, NULL, 1, inputs, &options, &r) == CT_OK, "%s",
                  ct_error()->message);
    verdict(&r, cases[_i].verdict);
    ck_assert_uint_eq(r.node, SIZE_MAX);
    ct_free(x);
}
END_TEST

/* --- points without a derivative --- */

/* B138: reported as a kink, not as a wrong gradient, and never silently passed. */
START_TEST(kinks_are_reported) {
    static const struct {
        ct_function *fn;
        double items[3];
        size_t kinks, first;
    } cases[] = {
        {relu_of, {1, 0, -1}, 1, 1}, {abs_of, {1, 2, 0}, 1, 2},     {max_of, {5, 5, 1}, 2, 0},
        {max_of, {1, 5, 5}, 2, 1},   {max_of, {2, 2, 2}, 3, 0},     {sign_of, {0, 1, -1}, 1, 0},
        {relu_of, {0, 0, 0}, 3, 0},  {abs_of, {-1, -0.0, 1}, 1, 1}, {relu_of, {1e-14, 3, 4}, 1, 0}};
    struct ct_check_report r = check(cases[_i].fn, from(CT_F64, SHAPE(3), cases[_i].items));
    verdict(&r, CT_CHECK_KINK);
    ck_assert_uint_eq(r.kinks, cases[_i].kinks);
    ck_assert_uint_eq(r.checked, 3 - cases[_i].kinks);
    char place[64];
    snprintf(place, sizeof place, "%zu of 3 items are kinks, the first input 0, item %zu [%zu], at",
             cases[_i].kinks, cases[_i].first, cases[_i].first);
    says(&r, place);
    says(&r, ": slopes of <u, f>: ");
}
END_TEST

/* Beside a kink the step shrinks until it no longer reaches it. */
START_TEST(beside_a_kink_is_no_kink) {
    double items[] = {1e-3, -1e-3, 1e-5, -1e-5, 3e-6, -3e-6, 1e-6, -1e-6, 1e-7, -1e-7};
    struct ct_check_report r = check(relu_of, from(CT_F64, SHAPE(10), items));
    verdict(&r, CT_CHECK_PASS);
    r = check(abs_of, from(CT_F64, SHAPE(10), items));
    verdict(&r, CT_CHECK_PASS);
}
END_TEST

START_TEST(sharp_bends_are_no_kinks) {
    double bends[] = {1, 1e-2, 1e-4, 1e-5, 1e-6};
    ct_tensor *x = from(CT_F64, SHAPE(3), (double[]){0, 1, -1e-3});
    const ct_tensor *inputs[] = {x};
    struct ct_check_report r;
    ck_assert_int_eq(ct_check_gradient(nearly_abs, &bends[_i], 1, inputs, NULL, &r), CT_OK);
    verdict(&r, CT_CHECK_PASS);
    ct_free(x);
}
END_TEST

START_TEST(a_fault_beside_a_kink_fails) {
    struct plant plant = {.fault = FACTOR, .op = CT_OP_COUNT};
    struct ct__check_seam seam = {&plant, plant_gradient, plant_answer};
    ct_tensor *x = from(CT_F64, SHAPE(3), (double[]){0, 1, 2});
    const ct_tensor *inputs[] = {x};
    struct ct_check_report r;
    ck_assert_int_eq(ct__check_gradient_with("test", abs_of, NULL, 1, inputs, NULL, NULL, &seam,
                                             CT_OP_COUNT, &r),
                     CT_OK);
    verdict(&r, CT_CHECK_FAIL);
    ck_assert_uint_eq(r.kinks, 1);
    ck_assert_uint_ge(r.item, 1);
    ct_free(x);
}
END_TEST

START_TEST(what_is_not_finite_fails) {
    static const struct {
        ct_function *fn;
        double item;
        const char *text;
    } cases[] = {
        {tanh_of, (double)NAN, "nothing to check: input 0, item 1 is nan"},
        {tanh_of, (double)INFINITY, "nothing to check: input 0, item 1 is inf"},
        {log_of, -1, "item 1 of the result is not finite: nan"},
        {log_of, 0, "item 1 of the result is not finite: -inf"},
        {sqrt_of, 0, "node 1, sqrt, fails by itself; not finite, input 0, item 1 [1], at x = 0: "}};
    struct ct_check_report r =
        check(cases[_i].fn, from(CT_F64, SHAPE(2), (double[]){1, cases[_i].item}));
    verdict(&r, CT_CHECK_FAIL);
    says(&r, cases[_i].text);
    ck_assert_uint_eq(r.input, 0);
}
END_TEST

/* --- the difference oracle --- */

struct known {
    double (*f)(double);
    double x;
};

static ct_status known_change(void *context, double t, struct ct__change *change) {
    const struct known *k = context;
    double y = k->f(k->x + t);
    *change = (struct ct__change){y - k->f(k->x), 4 * DBL_EPSILON * fabs(y)};
    return CT_OK;
}

START_TEST(differences_know_their_error) {
    static const struct {
        double (*f)(double), (*slope)(double);
    } cases[] = {{exp, exp}, {sin, cos}, {sinh, cosh}, {cosh, sinh}};
    static const double x[] = {0, 1e-9, 0.1, 1, -2.5, 10};
    for (int k = 0; k < COUNT(x); k++) {
        struct known known = {cases[_i].f, x[k]};
        struct ct__slope slope;
        ck_assert_int_eq(ct__slope(known_change, &known, x[k], 1e-12, 1e-14, &slope), CT_OK);
        double error = fabs(slope.value - cases[_i].slope(x[k]));
        ck_assert_msg(!slope.is_kink, "x = %g", x[k]);
        ck_assert_msg(error <= 4 * slope.error, "x = %g: off by %g, said %g", x[k], error,
                      slope.error);
        ck_assert_double_lt(slope.error, 1e-8 * (1 + fabs(cases[_i].slope(x[k]))));
    }
}
END_TEST

static ct_var buried(void *context, ct_tape *tape, size_t n, const ct_var *inputs) {
    (void)n;
    ct_var size = ct_constant_of(tape, ct_dtype(ct_value(inputs[0])), *(const double *)context);
    ct_var hidden = ct_var_stop_gradient(inputs[0]); // whose slope the tape does not see
    return ct_var_sum(ct_var_add(size, hidden), CT_ALL, false);
}

/* A wrong slope below the rounding of a large value: what differences cannot tell is no agreement. */
START_TEST(differences_that_tell_nothing_do_not_pass) {
    const double sizes[] = {1, 1e10, 1e11, 1e14, 1e18};
    ct_tensor *x = ct_from_items(CT_F64, 1, (int64_t[]){4}, 4, (double[]){.1, 2, -3, 1e-3});
    const ct_tensor *inputs[] = {x};
    struct ct_check_report report;
    double size = sizes[_i];
    ck_assert_int_eq(ct_check_gradient(buried, &size, 1, inputs, NULL, &report), CT_OK);
    ck_assert_msg(report.verdict == (_i < 2 ? CT_CHECK_FAIL : CT_CHECK_BLIND), "%g: %s", size,
                  report.message);
    ck_assert_int_eq(strstr(report.message, "tell nothing at 4 of 4 items") != NULL, _i >= 2);
    ct_free(x);
}
END_TEST

/* --- the op table --- */

START_TEST(row_passes) {
    enum ct_op op = (enum ct_op)_i;
    struct ct_check_options options = ct_check_options_init();
    options.second_order = true;
    for (uint64_t seed = 0; seed < 3; seed++) {
        struct ct_check_report r;
        options.seed = seed;
        ck_assert_msg(ct_check_op(op, &options, &r) == CT_OK, "%s: %s", ct_op_name(op),
                      ct_error()->message);
        verdict(&r, CT_CHECK_PASS);
        ck_assert_msg(r.checked > 0 || ct_op_kind_of(op) == CT_KIND_LOGIC, "%s", r.message);
        says(&r, ct_op_name(op));
    }
}
END_TEST

START_TEST(domains_are_those_of_the_table) {
    ck_assert_double_eq(ct__op_domain(CT_OP_pow, 0).low, 0.2);
    ck_assert_double_eq(ct__op_domain(CT_OP_pow, 1).low, -2);
    ck_assert_double_eq(ct__op_domain(CT_OP_log, 0).low, 0.1);
    ck_assert_double_eq(ct__op_domain(CT_OP_log, 0).high, 5);
    for (int op = 0; op < CT_OP_COUNT; op++)
        for (int k = 0; k < 4; k++) {
            struct ct__domain d = ct__op_domain((enum ct_op)op, k);
            ck_assert_msg(d.low < d.high, "%s, argument %d", ct_op_name((enum ct_op)op), k);
        }
}
END_TEST

Suite *suite_checker(void) {
    Suite *suite = suite_create("checker");
    TCase *tc = add_case(suite, "passes");
    tcase_add_test(tc, right_functions_pass);
    tcase_add_test(tc, two_inputs_pass_with_broadcasting);
    tcase_add_test(tc, unused_input_passes);
    tcase_add_test(tc, integer_inputs_are_passed_on);
    tcase_add_test(tc, f32_is_checked_in_f64);
    tcase_add_test(tc, strided_inputs_pass);
    tcase_add_test(tc, large_inputs_are_sampled);
    tcase_add_test(tc, magnitudes_do_not_matter);
    tcase_add_loop_test(tc, ends_of_domains_are_approached, 0, 3);
    tcase_add_test(tc, zeros_are_counted);
    tc = add_case(suite, "faults");
    tcase_add_loop_test(tc, planted_faults_fail, 0, 2 * FAULTS);
    tcase_add_test(tc, second_order_faults_need_second_order);
    tcase_add_loop_test(tc, guilty_node_is_named, 0, 4);
    tcase_add_test(tc, places_are_told_with_their_x);
    tcase_add_loop_test(tc, forgetful_functions_fail, 0, 5);
    tc = add_case(suite, "kinks");
    tcase_add_loop_test(tc, kinks_are_reported, 0, 9);
    tcase_add_test(tc, beside_a_kink_is_no_kink);
    tcase_add_loop_test(tc, sharp_bends_are_no_kinks, 0, 5);
    tcase_add_test(tc, a_fault_beside_a_kink_fails);
    tcase_add_loop_test(tc, what_is_not_finite_fails, 0, 5);
    tc = add_case(suite, "oracle");
    tcase_add_loop_test(tc, differences_know_their_error, 0, 4);
    tcase_add_loop_test(tc, differences_that_tell_nothing_do_not_pass, 0, 5);
    tc = add_case(suite, "table");
    tcase_add_loop_test(tc, row_passes, 0, CT_OP_COUNT);
    tcase_add_test(tc, domains_are_those_of_the_table);
    return suite;
}
