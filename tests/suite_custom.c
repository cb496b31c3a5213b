/* Custom ops by a record: recording, every mode, the check. */

#include "autodiff/ct_anomaly.h"
#include "autodiff/ct_custom.h"
#include "autodiff/ct_derivatives.h"
#include "autodiff/ct_dot.h"
#include "autodiff/ct_sparse.h"
#include "autodiff/ct_var_ops.h"
#include "custom_cases.h"
#include "dot_tools.h"
#include "dual/ct_dual.h"
#include "scarce_memory.h"
#include "tape_fixture.h"
#include "tensor/ct_convert.h"
#include "tensor/ct_index.h"
#include "tensor/ct_make.h"
#include "tensor/ct_names.h"
#include "tensor/ct_ops.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- recording and reverse mode --- */

START_TEST(a_value_and_gradients_of_three_orders) {
    double scale = 2;
    ct_var x = leaf(T1(1, -0.5, 3)), d1, d2, d3;
    ct_var y = ct_var_custom(&cube_op, &scale, 1, &x);
    scale = 7; // a copy was taken
    expect_var("value", y, 0, T1(2, -0.25, 54));
    ok(ct_grad(y, ct_var_null(), 1, &x, &d1));
    expect_var("first", d1, 0, T1(6, 1.5, 54));
    ok(ct_grad(d1, ct_var_null(), 1, &x, &d2));
    expect_var("second", d2, 0, T1(12, -6, 36));
    ok(ct_grad(d2, ct_var_null(), 1, &x, &d3));
    expect_var("third", d3, 0, T1(12, 12, 12));
}
END_TEST

START_TEST(its_name_stands_in_listings_and_pictures) {
    double scale = 1;
    ct_var x = leaf(T1(1, 2)), dx;
    ct_var y = ct_named(ct_var_custom(&cube_op, &scale, 1, &x), "out");
    ok(ct_grad(y, ct_var_null(), 1, &x, &dx));
    lists(tape, NULL, "1 cube(0) f64[2] \"out\"\n");
    lists(tape, NULL, "pull of 1");
    draws(tape, NULL, "<B>cube</B>");
    draws(tape, NULL, "scale times the third power <of each item>");
    draws(tape, NULL, "n0 -> n1");
}
END_TEST

START_TEST(a_folded_scope_names_it_where_it_fails) {
    struct ct_dot_options options = ct_dot_options_init();
    struct ct_custom_op op = cube_op;
    double scale = 1;
    op.name = "cube & co";
    options.fold_depth = 1;
    ct_var x = leaf(T1(1, 1e200));
    ct_scope_begin(tape, "block");
    ct_var_tanh(ct_var_custom(&op, &scale, 1, &x));
    ct_scope_end(tape);
    draws(tape, &options, "cube &amp; co: 1 infinite of 2");
}
END_TEST

START_TEST(a_name_is_escaped) {
    struct ct_custom_op op = weighted_op;
    op.name = "a \"b\" <c>\n&";
    ct_var x = leaf(T1(1, 2));
    ct_var_custom(&op, NULL, 1, &x);
    lists(tape, NULL, "1 a \\\"b\\\" <c>\\n&(0) f64[2]\n");
    draws(tape, NULL, "<B>a &quot;b&quot; &lt;c&gt;<BR/>&amp;</B>");
}
END_TEST

START_TEST(as_many_inputs_as_it_likes) {
    enum { MANY = 255 };
    static const int some[] = {1, 4, 5, 40, MANY};
    for (int k = 0; k < 5; k++) {
        int n = some[k];
        ct_var x[MANY], dx[MANY];
        double sum = 0;
        for (int i = 0; i < n; i++) {
            x[i] = leaf(T1(i, -i));
            sum += (i + 1.0) * i;
        }
        ct_var y = ct_var_custom(&weighted_op, NULL, (size_t)n, x);
        expect_var("sum", y, 0, T1(sum, 0 - sum));
        ok(ct_grad(y, ct_var_null(), (size_t)n, x, dx));
        for (int i = 0; i < n; i++)
            expect_var("gradient", dx[i], 0, T1(i + 1, i + 1));
        char call[64];
        snprintf(call, sizeof call, "%s%d) f64[2]", n > 1 ? ", " : "weighted(", n - 1);
        lists(tape, NULL, call);
        snprintf(call, sizeof call, "n%d -> n%d;\n", n - 1, n);
        draws(tape, NULL, call);
        ct_tape_rewind(tape, (ct_mark){0});
        ct_error_clear();
    }
}
END_TEST

START_TEST(an_input_twice_and_a_constant) {
    ct_var x = leaf(T1(1, 2)), k = ct_constant_of(tape, CT_F64, 1), dx[2];
    ct_var in[] = {x, x, ct_var_broadcast_to(k, 1, (int64_t[]){2})};
    ct_var y = ct_var_custom(&weighted_op, NULL, 3, in), to[] = {x, k};
    ok(ct_grad(y, ct_var_null(), 2, to, dx));
    expect_var("gradient", dx[0], 0, T1(3, 3));
    expect_var("of the constant", dx[1], 0, T0(0));
}
END_TEST

static ct_tensor *picked_run(void *context, size_t n, const ct_tensor *const *in) {
    (void)context, (void)n;
    return ct_gather(in[0], 0, in[1]);
}

static void picked_vjp(void *context, const struct ct_custom_pull *pull, ct_var *gradients) {
    (void)context;
    ck_assert(pull->wanted[0] && !pull->wanted[1]);
    ct_var zero = ct_constant_of(pull->tape, ct_dtype(ct_value(pull->inputs[0])), 0);
    ct_var zeros = ct_var_broadcast_to(zero, 1, ct_shape(ct_value(pull->inputs[0])));
    gradients[0] = ct_var_scatter_add(zeros, 0, pull->inputs[1], pull->cotangent);
}

static const struct ct_custom_op picked_op = {sizeof(struct ct_custom_op), .name = "chosen",
                                              .run = picked_run, .vjp = picked_vjp};

static ct_var picked_of(void *context, ct_tape *on, size_t n, const ct_var *in) {
    (void)context, (void)on;
    return ct_var_custom(&picked_op, NULL, n, in);
}

START_TEST(integer_inputs_ride_along) {
    ct_tensor *x = T1(1, 2, 3), *index = ct_full(CT_I64, 1, (int64_t[]){2}, 1), *t = T1(5, 6, 7);
    ct_tensor *product[2] = {NULL, x}, *forward = NULL;
    const ct_tensor *in[] = {x, index}, *along[] = {t, NULL};
    ok(ct_vjp(picked_of, NULL, 2, in, NULL, NULL, product));
    EXPECT("reverse", product[0], 0, 0, 2, 0);
    ck_assert_ptr_null(product[1]);
    ok(ct_jvp(picked_of, NULL, 2, in, along, NULL, &forward));
    EXPECT("forward", forward, 0, 6, 6);
    struct ct_check_report report;
    ok(ct_check_custom(&picked_op, NULL, 2, in, NULL, &report));
    ck_assert_msg(report.verdict == CT_CHECK_PASS, "%s", report.message);
    ct_free(x), ct_free(index), ct_free(t);
}
END_TEST

/* How many are true. */
static ct_tensor *counted_run(void *context, size_t n, const ct_tensor *const *in) {
    (void)context, (void)n;
    ct_tensor *whole = ct_astype(in[0], CT_F64), *sum = ct_sum(whole, CT_ALL, false);
    ct_free(whole);
    return sum;
}

static void never_asked(void *context, const struct ct_custom_pull *pull, ct_var *gradients) {
    (void)context, (void)pull, (void)gradients;
    ck_abort_msg("the rule was asked");
}

static const struct ct_custom_op *const cubes[] = {&cube_op, &cube_jvp_op, &cube_generic_op};

START_TEST(no_items_at_all) {
    for (int k = 0; k < 3; k++) {
        struct cube_call call = {cubes[k], 2};
        ct_tensor *t = ct_zeros(CT_F64, 2, (int64_t[]){0, 3}), *product = NULL, *gradient = NULL;
        const ct_tensor *in[] = {t};
        ok(ct_jvp(cube_of, &call, 1, in, in, NULL, &product));
        ck_assert(same_bits(product, t));
        if (cubes[k]->vjp)
            ok(ct_vjp(cube_of, &call, 1, in, NULL, NULL, &gradient));
        ck_assert(!gradient || same_bits(gradient, t));
        ct_free(t), ct_free(product), ct_free(gradient);
    }
}
END_TEST

/* A path leads through a mask, which gets no gradient: the rule is not asked. */
START_TEST(masks_on_the_path_ask_nothing) {
    ct_var x = leaf(T1(1, -2)), dx;
    ct_var mask = ct_var_greater(x, ct_constant_of(tape, CT_F64, 0));
    struct ct_custom_op op = {
        .size = sizeof op, .name = "counted", .run = counted_run, .vjp = never_asked};
    ct_var y = ct_var_custom(&op, NULL, 1, &mask);
    ok(ct_grad(ct_var_mul(y, x), ct_var_null(), 1, &x, &dx));
    expect_var("gradient", dx, 0, T1(1, 1));
}
END_TEST

START_TEST(axis_names_are_the_values_own) {
    double scale = 1;
    ct_tensor *t = T2(2, 2, 1, 2, 3, 4), *named = ct_name_axes(t, 2, (const char *[]){"a", "b"});
    ct_var x = ct_leaf(tape, named, NULL), dx;
    ct_var y = ct_var_custom(&cube_generic_op, &scale, 1, &x);
    ck_assert_str_eq(ct_axis_name(ct_value(y), 1), "b");
    ok(ct_grad(y, ct_var_null(), 1, &x, &dx));
    ck_assert(!ct_has_names(ct_value(dx)));
    for (int k = 0; k < 3; k++) {
        struct cube_call call = {cubes[k], 2};
        ct_tensor *product = NULL;
        ok(ct_jvp(cube_of, &call, 1, (const ct_tensor *[]){named}, (const ct_tensor *[]){t}, NULL,
                  &product));
        EXPECT("product", product, 0, 6, 48, 162, 384);
    }
    ct_free(t), ct_free(named);
}
END_TEST

/* --- forward mode --- */

START_TEST(forward_mode_in_each_of_three_ways) {
    struct cube_call call = {cubes[_i], 2};
    ct_tensor *x = T1(1, -0.5, 3), *t = T1(1, 2, -1), *value, *product;
    ok(ct_jvp(cube_of, &call, 1, (const ct_tensor *[]){x}, (const ct_tensor *[]){t}, &value,
              &product));
    EXPECT("value", value, 0, 2, -0.25, 54);
    EXPECT("product", product, 0, 6, 3, -54);
    ct_tensor *j = ct_jacobian(cube_of, &call, 1, (const ct_tensor *[]){x}, 0, CT_MODE_FORWARD);
    EXPECT("columns", j, 0, 6, 0, 0, 0, 1.5, 0, 0, 0, 54);
    ct_free(x), ct_free(t);
}
END_TEST

static ct_var sum_of_cubes(void *context, ct_tape *on, size_t n, const ct_var *in) {
    return ct_var_sum(cube_of(context, on, n, in), CT_ALL, false);
}

START_TEST(forward_over_reverse) {
    if (!cubes[_i]->vjp)
        return;
    struct cube_call call = {cubes[_i], 2};
    ct_tensor *x = T1(1, -0.5, 3), *v = T1(1, 2, -1), *gradient, *product;
    ok(ct_hvp(sum_of_cubes, &call, 1, (const ct_tensor *[]){x}, (const ct_tensor *[]){v}, &gradient,
              &product));
    EXPECT("gradient", gradient, 0, 6, 1.5, 54);
    EXPECT("product", product, 0, 12, -12, -36);
    ct_free(x), ct_free(v);
}
END_TEST

/* Over duals of duals: the second derivative along two directions. */
START_TEST(forward_over_forward) {
    if (!cubes[_i]->vjp)
        return;
    struct cube_call call = {cubes[_i], 2};
    ct_tensor *x = T1(1, -0.5, 3), *t = T1(1, 2, -1), *ones = T1(1, 1, 1), *value = NULL, *product;
    ct_tensor *inner = ct_dual(x, ones), *outer = ct_dual(t, NULL);
    ok(ct_jvp(cube_of, &call, 1, (const ct_tensor *[]){inner}, (const ct_tensor *[]){outer}, &value,
              &product));
    EXPECT("second", ct_dual_tangent(product), 0, 12, -12, -36);
    EXPECT("first", ct_dual_value(product), 0, 6, 3, -54);
    ct_free(x), ct_free(t), ct_free(ones), ct_free(inner), ct_free(outer), ct_free(value),
        ct_free(product);
}
END_TEST

START_TEST(a_sparse_pattern_is_full_where_nothing_is_known) {
    for (int generic = 0; generic < 2; generic++) {
        struct cube_call call = {generic ? &cube_generic_op : &cube_op, 2};
        ct_tensor *x = T1(1, -0.5, 3);
        const ct_tensor *in[] = {x};
        ct_pattern *p = ct_jacobian_pattern(cube_of, &call, 1, in, 0);
        ck_assert_ptr_nonnull(p);
        ck_assert_uint_eq(ct_pattern_count(p), generic ? 3 : 9);
        ct_tensor *entries = ct_jacobian_sparse(cube_of, &call, 1, in, 0, p);
        EXPECT("dense", ct_pattern_dense(p, entries), 0, 6, 0, 0, 0, 1.5, 0, 0, 0, 54);
        ct_pattern_free(p), ct_free(entries), ct_free(x);
    }
}
END_TEST

/* The rule of the cube made by differentiating what it records: x^2 x, of an x of its own. */
static void cube_by_grad(void *context, const struct ct_custom_pull *pull, ct_var *gradients) {
    ct_var x = ct_var_reshape(pull->inputs[0], 1, ct_shape(ct_value(pull->inputs[0])));
    ct_var factor = ct_constant_of(pull->tape, ct_dtype(ct_value(x)), *(const double *)context);
    ct_var y = ct_var_mul(ct_var_mul(ct_var_square(x), x), factor);
    ct_grad(y, pull->cotangent, 1, &x, gradients);
}

START_TEST(a_rule_may_differentiate_what_it_records) {
    struct ct_custom_op op = cube_op;
    op.vjp = cube_by_grad;
    double scale = 2;
    ct_var x = leaf(T1(1, -0.5, 3)), d1, d2;
    ct_var y = ct_var_custom(&op, &scale, 1, &x), z = ct_var_mul(y, x);
    ok(ct_grad(z, ct_var_null(), 1, &x, &d1));
    expect_var("of 2 x^4", d1, 1e-15, T1(8, -1, 216));
    ok(ct_grad(d1, ct_var_null(), 1, &x, &d2));
    expect_var("twice", d2, 1e-15, T1(24, 6, 216));
    ct_tensor *t = T1(1, -0.5, 3);
    struct ct_check_options options = ct_check_options_init();
    struct ct_check_report report;
    options.second_order = true;
    ok(ct_check_custom(&op, &scale, 1, (const ct_tensor *[]){t}, &options, &report));
    ck_assert_msg(report.verdict == CT_CHECK_PASS, "%s", report.message);
    ct_free(t);
}
END_TEST

/* --- the check --- */

/* Three dense layers with a custom activation between them, each with its own record. */
struct network {
    struct cube_call activation[3];
    ct_tensor *weights[3];
};

static ct_var network_of(void *context, ct_tape *on, size_t n, const ct_var *in) {
    struct network *net = context;
    (void)n;
    ct_var h = in[0];
    for (int k = 0; k < 3; k++) {
        ct_scope_begin(on, "layer");
        ct_tensor *w = ct_astype(net->weights[k], ct_dtype(ct_value(in[0])));
        ct_var product = ct_var_matmul(h, ct_constant(on, w, NULL));
        ct_free(w);
        h = ct_var_tanh(cube_of(&net->activation[k], on, 1, &product));
        ct_scope_end(on);
    }
    return h;
}

static void make_network(struct network *net, const struct ct_custom_op *middle) {
    static const int64_t shapes[][2] = {{4, 9}, {9, 7}, {7, 3}};
    struct draw draw = {7};
    for (int k = 0; k < 3; k++) {
        net->activation[k] = (struct cube_call){k == 1 ? middle : &cube_op, 0.5};
        net->weights[k] = draw_tensor(&draw, CT_F64, 2, shapes[k], -1, 1);
    }
}

START_TEST(the_check_names_the_guilty_node_of_a_network) {
    struct draw draw = {11};
    ct_tensor *x = draw_tensor(&draw, _i ? CT_F32 : CT_F64, 2, (int64_t[]){5, 4}, -1, 1);
    struct ct_check_options options = ct_check_options_init();
    struct ct_check_report report;
    struct network net;
    make_network(&net, &cube_op);
    options.second_order = true;
    ok(ct_check_gradient(network_of, &net, 1, (const ct_tensor *[]){x}, &options, &report));
    ck_assert_msg(report.verdict == CT_CHECK_PASS, "%s", report.message);
    ck_assert_uint_eq(report.node, SIZE_MAX);
    net.activation[1].op = &cube_wrong_op;
    ok(ct_check_gradient(network_of, &net, 1, (const ct_tensor *[]){x}, &options, &report));
    ck_assert_int_eq(report.verdict, CT_CHECK_FAIL);
    // leaf 0; constant, matmul, cube, tanh of the first layer 1 to 4; constant, matmul, cube 5 to 7
    ck_assert_uint_eq(report.node, 7);
    const char *text = "node 7, cube, fails by itself; ";
    ck_assert_msg(strncmp(report.message, text, strlen(text)) == 0, "%s", report.message);
    for (int k = 0; k < 3; k++)
        ct_free(net.weights[k]);
    ct_free(x);
}
END_TEST

/* Of thousands of items in the middle of a network one is wrong: more than are looked at one by one. */
static ct_var wide_network(void *context, ct_tape *on, size_t n, const ct_var *in) {
    struct cube_call *call = context;
    (void)n;
    ct_var wide = ct_var_broadcast_to(ct_var_tanh(in[0]), 2, (int64_t[]){1200, 5});
    ct_var ramp = ct_constant_of(on, ct_dtype(ct_value(wide)), 0.5);
    ct_var h = ct_var_sin(ct_var_mul(wide, ramp));
    return ct_var_sum(ct_var_square(cube_of(call, on, 1, &h)), 0, false);
}

START_TEST(one_item_of_thousands_is_found) {
    struct cube_call call = {&cube_wrong_op, 2};
    ct_tensor *x = T1(1, -0.5, 0.75, 2, 0.25);
    const ct_tensor *in[] = {x};
    struct ct_check_options options = ct_check_options_init();
    struct ct_check_report report;
    options.rtol = 1e-8;
    ok(ct_check_gradient(wide_network, &call, 1, in, &options, &report));
    ck_assert_msg(report.verdict == CT_CHECK_FAIL, "%s", report.message);
    const char *text = "node 6, cube, fails by itself; ";
    ck_assert_msg(strncmp(report.message, text, strlen(text)) == 0, "%s", report.message);
    call.op = &cube_op;
    ok(ct_check_gradient(wide_network, &call, 1, in, &options, &report));
    ck_assert_msg(report.verdict == CT_CHECK_PASS, "%s", report.message);
    ct_free(x);
}
END_TEST

START_TEST(a_check_of_the_op_alone) {
    double scale = 2;
    struct draw draw = {3};
    ct_tensor *x = draw_tensor(&draw, CT_F64, 1, (int64_t[]){33}, -1, 1);
    const ct_tensor *in[] = {x};
    struct ct_check_options options = ct_check_options_init();
    struct ct_check_report report;
    options.second_order = true;
    for (int k = 0; k < 3; k += 2) {
        ok(ct_check_custom(cubes[k], &scale, 1, in, &options, &report));
        ck_assert_msg(report.verdict == CT_CHECK_PASS, "%s", report.message);
        ck_assert_ptr_nonnull(strstr(report.message, "cube: 66 items agree"));
    }
    ok(ct_check_custom(&cube_wrong_op, &scale, 1, in, NULL, &report));
    ck_assert_int_eq(report.verdict, CT_CHECK_FAIL);
    ck_assert_uint_eq(report.item, 16);
    ck_assert_msg(strncmp(report.message, "cube: input 0, item 16 [16]", 27) == 0, "%s",
                  report.message);
    struct ct_custom_op op = cube_op;
    op.run = NULL;
    ck_assert_int_eq(ct_check_custom(&op, &scale, 1, in, NULL, &report), CT_EINVAL);
    ck_assert_int_eq(ct_check_custom(NULL, &scale, 1, in, NULL, &report), CT_EINVAL);
    ct_free(x);
}
END_TEST

static ct_tensor *bent_run(void *context, size_t n, const ct_tensor *const *in) {
    (void)context, (void)n;
    return ct_abs(in[0]);
}

static void bent_vjp(void *context, const struct ct_custom_pull *pull, ct_var *gradients) {
    (void)context;
    gradients[0] = ct_var_smul(pull->cotangent, ct_var_sign(pull->inputs[0]));
}

START_TEST(kinks_are_called_kinks) {
    struct ct_custom_op op = {.size = sizeof op, .name = "bent", .run = bent_run, .vjp = bent_vjp};
    ct_tensor *x = T1(1, 0, -2);
    struct ct_check_report report;
    ok(ct_check_custom(&op, NULL, 1, (const ct_tensor *[]){x}, NULL, &report));
    ck_assert_int_eq(report.verdict, CT_CHECK_KINK);
    ck_assert_uint_eq(report.kinks, 1);
    ck_assert_uint_eq(report.checked, 2);
    ct_free(x);
}
END_TEST

static ct_tensor *single_run(void *context, size_t n, const ct_tensor *const *in) {
    (void)context, (void)n;
    return ct_dtype(in[0]) == CT_F32 ? ct_exp(in[0]) : ct_custom_fail(CT_EDTYPE, "f32 alone");
}

/* Graphs of f32 are differenced in f64: a run has to know it, or the check says so. */
START_TEST(a_run_of_f32_alone_cannot_be_checked) {
    struct ct_custom_op op = {.size = sizeof op, .name = "single", .run = single_run};
    ct_tensor *x = T1(1, 2), *single = ct_astype(x, CT_F32);
    struct ct_check_report report;
    ck_assert_int_eq(ct_check_custom(&op, NULL, 1, (const ct_tensor *[]){single}, NULL, &report),
                     CT_EDTYPE);
    expect_error(CT_EDTYPE, "node 1, single(f64[2]): f32 alone");
    ct_free(x), ct_free(single);
}
END_TEST

START_TEST(an_anomaly_names_it) {
    double scale = 1;
    ct_var x = leaf(T1(1, 1e200)), y = ct_var_custom(&cube_op, &scale, 1, &x);
    struct ct_anomaly a;
    ck_assert(ct_tape_anomaly(tape, 0, &a));
    ck_assert_uint_eq(a.node, y.index);
    ck_assert_int_eq(a.op, CT_OP_COUNT);
    ck_assert_str_eq(a.message, "node 1, cube: inf at index [1] of f64[2], of f64[2] (1 to 1e200)");
}
END_TEST

/* --- composition --- */

static ct_var swish(ct_var x, ct_var beta) {
    ct_scope_begin(x.tape, "swish");
    ct_var gate = ct_var_sigmoid(ct_var_mul(beta, x)), y = ct_var_mul(x, gate);
    ct_scope_end(x.tape);
    return y;
}

static ct_var swish_of(void *context, ct_tape *on, size_t n, const ct_var *in) {
    (void)context, (void)on, (void)n;
    return swish(in[0], in[1]);
}

START_TEST(a_composition_is_a_scope) {
    ct_var x = leaf(T1(1, 2)), beta = leaf(T1(0.5, 1));
    swish(x, beta);
    draws(tape, NULL, "label=\"swish\"");
    struct ct_check_options options = ct_check_options_init();
    struct ct_check_report report;
    options.second_order = true;
    const ct_tensor *in[] = {ct_value(x), ct_value(beta)};
    ok(ct_check_gradient(swish_of, NULL, 2, in, &options, &report));
    ck_assert_msg(report.verdict == CT_CHECK_PASS, "%s", report.message);
}
END_TEST

/* --- memory --- */

/* Each of the three ways of forward mode and two orders of reverse, every allocation failing in turn. */
START_TEST(failing_allocations_lose_nothing) {
    if (!make_memory_scarce())
        return;
    ct_tensor *x = T1(1, -0.5, 3), *v = T1(1, 2, -1);
    const ct_tensor *in[] = {x}, *along[] = {v};
    for (int which = 0; which < 5; which++) {
        struct cube_call call = {which < 3 ? cubes[which] : &cube_op, 2};
        bool done = false;
        for (long left = 0; !done; left++) {
            ct_tensor *made = NULL;
            size_t before = ct_live_blocks();
            starve(left);
            if (which < 3)
                ct_jvp(cube_of, &call, 1, in, along, NULL, &made);
            else if (which == 3)
                ct_hvp(sum_of_cubes, &call, 1, in, along, NULL, &made);
            else
                made = ct_hessian(sum_of_cubes, &call, 1, in, 0, 0);
            allocations_left = -1;
            done = survived(made, before);
            ck_assert_int_lt(left, 2000);
        }
    }
    ct_free(x), ct_free(v);
}
END_TEST

Suite *suite_custom(void);
Suite *suite_custom(void) {
    Suite *suite = suite_create("custom");
    TCase *tc = tcase_create("custom");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_value_and_gradients_of_three_orders);
    tcase_add_test(tc, its_name_stands_in_listings_and_pictures);
    tcase_add_test(tc, a_folded_scope_names_it_where_it_fails);
    tcase_add_test(tc, a_name_is_escaped);
    tcase_add_test(tc, as_many_inputs_as_it_likes);
    tcase_add_test(tc, an_input_twice_and_a_constant);
    tcase_add_test(tc, integer_inputs_ride_along);
    tcase_add_test(tc, no_items_at_all);
    tcase_add_test(tc, masks_on_the_path_ask_nothing);
    tcase_add_test(tc, axis_names_are_the_values_own);
    tcase_add_loop_test(tc, forward_mode_in_each_of_three_ways, 0, 3);
    tcase_add_loop_test(tc, forward_over_reverse, 0, 3);
    tcase_add_loop_test(tc, forward_over_forward, 0, 3);
    tcase_add_test(tc, a_sparse_pattern_is_full_where_nothing_is_known);
    tcase_add_test(tc, a_rule_may_differentiate_what_it_records);
    tcase_add_loop_test(tc, the_check_names_the_guilty_node_of_a_network, 0, 2);
    tcase_add_test(tc, one_item_of_thousands_is_found);
    tcase_add_test(tc, a_check_of_the_op_alone);
    tcase_add_test(tc, kinks_are_called_kinks);
    tcase_add_test(tc, a_run_of_f32_alone_cannot_be_checked);
    tcase_add_test(tc, an_anomaly_names_it);
    tcase_add_test(tc, a_composition_is_a_scope);
    suite_add_tcase(suite, tc);
    TCase *scarce = tcase_create("failing allocations");
    tcase_add_test(scarce, failing_allocations_lose_nothing);
    suite_add_tcase(suite, scarce);
    return suite;
}
