#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "autodiff/ct_var_ops.h"
#include "case_tools.h"
#include "ct_test.h"
#include "nn/ct_nn.h"
#include "tensor/ct_alloc.h"
#include "tensor/ct_ops.h"

Suite *suite_nn(void);

static const ct_scalar *real(int i) {
    return i ? CT_F64 : CT_F32;
}

// ---- how weights begin

START_TEST(glorot_fills_its_interval) {
    ct_random r = ct_random_of(1, 2);
    ct_tensor *w = ct_init_glorot(real(_i), 40, 110, &r);
    ck_assert_msg(w != NULL, "%s", ct_error()->message);
    ck_assert(ct_rank(w) == 2 && ct_shape(w)[0] == 40 && ct_shape(w)[1] == 110);
    ct_tensor *low = ct_min(w, CT_ALL, false), *high = ct_max(w, CT_ALL, false);
    // sqrt(6 / 150) = 0.2
    ck_assert(ct_item(low) >= -0.2000001 && ct_item(low) < -0.199);
    ck_assert(ct_item(high) <= 0.2 && ct_item(high) > 0.199);
    ct_free(w);
    ct_free(low);
    ct_free(high);
}
END_TEST

START_TEST(he_has_its_deviation) {
    ct_random r = ct_random_of(1, 2);
    ct_tensor *w = ct_init_he(real(_i), 200, 100, &r);
    ck_assert_msg(w != NULL, "%s", ct_error()->message);
    ct_tensor *square = ct_square(w), *mean = ct_mean(square, CT_ALL, false);
    ck_assert_double_eq_tol(ct_item(mean), 0.01, 5 * 0.01 * sqrt(2.0 / 20000));
    ct_free(w);
    ct_free(square);
    ct_free(mean);
}
END_TEST

START_TEST(weights_of_no_extent_are_empty) {
    ct_random r = ct_random_of(1, 2);
    ct_tensor *t[] = {ct_init_glorot(CT_F32, 0, 0, &r), ct_init_glorot(CT_F32, 3, 0, &r),
                      ct_init_he(CT_F32, 0, 2, &r)};
    for (int i = 0; i < 3; i++) {
        ck_assert(t[i] && ct_count(t[i]) == 0);
        ct_free(t[i]);
    }
    ck_assert_ptr_null(ct_init_he(CT_F32, 2, -1, &r));
    expect_error(CT_ESHAPE, "the extent -1 of axis 1 is negative");
}
END_TEST

// ---- parameters

START_TEST(parameters_keep_order_and_names) {
    ct_params *params = ct_params_new();
    for (int i = 0; i < 20; i++) {
        char name[16];
        snprintf(name, sizeof name, "p%d", i);
        ct_tensor *value = T1(i);
        ck_assert_int_eq(ct_params_add(params, name, value), i);
        ct_free(value);
    }
    ck_assert_uint_eq(ct_params_count(params), 20);
    ck_assert_str_eq(ct_params_name(params, 17), "p17");
    EXPECT("value", ct_copy(ct_params_value(params, 17)), 0, 17);
    ck_assert(ct_var_is_null(ct_params_var(params, 0)));
    ct_params_free(params);
    ct_params_free(NULL);
}
END_TEST

static const struct {
    const char *name;
    ct_status code;
    const char *text;
} bad_names[] = {{"", CT_EINVAL, "a parameter needs a name"},
                 {"w", CT_EINVAL, "there is a parameter \"w\" already"},
                 {NULL, CT_EINVAL, ""}};

START_TEST(names_are_unique) {
    ct_params *params = ct_params_new();
    ct_tensor *w = T1(1, 2);
    ck_assert_int_eq(ct_params_add(params, "w", w), 0);
    ck_assert_int_eq(ct_params_add(params, bad_names[_i].name, w), -1);
    expect_error(bad_names[_i].code, bad_names[_i].text);
    ck_assert_uint_eq(ct_params_count(params), 1);
    ct_free(w);
    ct_params_free(params);
}
END_TEST

START_TEST(a_value_is_replaced_by_its_like) {
    ct_params *params = ct_params_new();
    ct_tensor *w = T1(1, 2), *other = T1(3, 4), *longer = T1(1, 2, 3);
    ct_tensor *narrow = ct_astype(w, CT_F32);
    ct_params_add(params, "w", w);
    ck_assert_int_eq(ct_params_set(params, 0, longer), CT_ESHAPE);
    expect_error(CT_ESHAPE, "the parameter \"w\" has the shape [2], not [3]");
    ck_assert_int_eq(ct_params_set(params, 0, narrow), CT_EDTYPE);
    expect_error(CT_EDTYPE, "the parameter \"w\" is of f64, not of f32");
    ck_assert_int_eq(ct_params_set(params, 1, other), CT_EINDEX);
    expect_error(CT_EINDEX, "there is no parameter 1: there are 1");
    EXPECT("unchanged", ct_copy(ct_params_value(params, 0)), 0, 1, 2);
    ck_assert_int_eq(ct_params_set(params, 0, other), CT_OK);
    EXPECT("replaced", ct_copy(ct_params_value(params, 0)), 0, 3, 4);
    ct_free(w);
    ct_free(other);
    ct_free(longer);
    ct_free(narrow);
    ct_params_free(params);
}
END_TEST

START_TEST(parameters_go_through_a_step) {
    ct_params *params = ct_params_new();
    ct_tensor *w = T1(1, 2);
    ct_params_add(params, "w", w);
    ct_free(w);
    ct_tape *tape = ct_tape_new();
    struct ct_sgd_options o = ct_sgd_options_init();
    o.lr = 0.25;
    ct_optim *optim = ct_sgd_new(&o);
    for (int t = 0; t < 2; t++) {
        ct_mark mark = ct_tape_mark(tape);
        ck_assert_int_eq(ct_params_record(params, tape), CT_OK);
        ct_var x = ct_params_var(params, 0);
        ck_assert_int_eq(ct_params_grad(params, ct_var_sum(ct_var_mul(x, x), CT_ALL, false)),
                         CT_OK);
        EXPECT("gradient", ct_copy(ct_value(ct_params_gradient(params, 0))), 0, t ? 1 : 2,
               t ? 2 : 4);
        const void *before = ct_data(ct_params_value(params, 0));
        ck_assert_msg(!ct_params_step(params, optim), "%s", ct_error()->message);
        ck_assert(ct_data(ct_params_value(params, 0)) == before);
        ck_assert_int_eq(ct_tape_rewind(tape, mark), CT_OK);
    }
    EXPECT("halved twice", ct_copy(ct_params_value(params, 0)), 0, 0.25, 0.5);
    ct_optim_free(optim);
    ct_tape_free(tape);
    ct_params_free(params);
}
END_TEST

START_TEST(a_step_before_a_gradient_is_an_error) {
    ct_params *params = ct_params_new();
    ct_tensor *w = T1(1, 2);
    ct_params_add(params, "w", w);
    ct_free(w);
    ct_optim *optim = ct_sgd_new(NULL);
    ck_assert_int_eq(ct_params_step(params, optim), CT_EINVAL);
    expect_error(CT_EINVAL, "the leaf of parameter 0 is a null variable");
    ct_tape *tape = ct_tape_new();
    ct_params_record(params, tape);
    ck_assert_int_eq(ct_params_step(params, optim), CT_EINVAL);
    expect_error(CT_EINVAL, "the gradient of parameter 0 is a null variable");
    ct_tape_free(tape);
    ct_optim_free(optim);
    ct_params_free(params);
}
END_TEST

// ---- layers

static const struct {
    enum ct_activation activation;
    ct_tensor *(*plain)(const ct_tensor *);
} activations[] = {{CT_IDENTITY, ct_copy},      {CT_RELU, ct_relu}, {CT_TANH, ct_tanh},
                   {CT_SIGMOID, ct_sigmoid},    {CT_SILU, ct_silu}, {CT_GELU, ct_gelu},
                   {CT_GELU_TANH, ct_gelu_tanh}};

// sqrt at 0: nothing moves, the message leads to the op; rewound and mended, the step goes through.
START_TEST(a_step_refuses_a_gradient_that_is_not_finite) {
    ct_params *params = ct_params_new();
    ct_tensor *value = T1(4, 0, 1);
    ct_params_add(params, "scales", value);
    struct ct_sgd_options options = ct_sgd_options_init();
    ct_optim *sgd = ct_sgd_new(&options);
    ct_tape *tape = ct_tape_new();
    for (int mended = 0; mended < 2; mended++) {
        ct_mark mark = ct_tape_mark(tape);
        ct_params_record(params, tape);
        ct_var loss =
            ct_var_sum(ct_named(ct_var_sqrt(ct_params_var(params, 0)), "roots"), CT_ALL, false);
        ct_params_grad(params, loss);
        ct_status status = ct_params_step(params, sgd);
        ck_assert_int_eq(status, mended ? CT_OK : CT_EDOMAIN);
        ck_assert_uint_eq(ct_optim_steps(sgd), (uint64_t)mended);
        if (!mended) {
            expect_error(CT_EDOMAIN,
                         "the gradient of \"scales\" is not finite; the first on the tape "
                         "that is not: node ");
            expect_error(CT_EDOMAIN,
                         "(backward, of node 1, sqrt \"roots\"): inf at index [1] of f64[3]");
            ck_assert_str_eq(ct_error()->function, "ct_params_step");
            ck_assert_int_eq(ct_tape_status(tape), CT_OK);
            ck_assert(same_bits(ct_params_value(params, 0), value));
            ct_set(value, 1, (int64_t[]){1}, 9);
            ct_params_set(params, 0, value);
        }
        ck_assert_int_eq(ct_tape_rewind(tape, mark), CT_OK);
    }
    ct_error_clear();
    ct_free(value);
    ct_tape_free(tape);
    ct_optim_free(sgd);
    ct_params_free(params);
    ck_assert_uint_eq(ct_live_blocks(), 0);
}
END_TEST

START_TEST(an_activation_is_its_op) {
    ct_tape *tape = ct_tape_new();
    ct_tensor *x = T1(-2, -0.5, 0, 0.5, 2, INF, QNAN), *y = activations[_i].plain(x);
    ct_var v = ct_activate(ct_leaf(tape, x, "x"), activations[_i].activation);
    ck_assert(same_bits(ct_value(v), y));
    ct_free(x);
    ct_free(y);
    ct_tape_free(tape);
}
END_TEST

START_TEST(an_unknown_activation_is_an_error) {
    ct_tape *tape = ct_tape_new();
    ct_var x = ct_constant_of(tape, CT_F64, 1), y = ct_activate(x, (enum ct_activation)99);
    ck_assert(ct_var_is_null(y));
    expect_error(CT_EINVAL, "there is no activation 99");
    ct_var_neg(y);
    ck_assert_int_eq(ct_tape_status(tape), CT_EINVAL);
    ck_assert_str_eq(ct_tape_message(tape), "ct_activate: there is no activation 99");
    ct_tape_free(tape);
}
END_TEST

START_TEST(a_dense_layer) {
    ct_tape *tape = ct_tape_new();
    ct_tensor *x = T2(2, 2, 1, 2, 3, 4), *w = T2(2, 3, 1, 0, -1, 0, 1, -1), *b = T1(10, 20, 1);
    ct_var y = ct_var_dense(ct_constant(tape, x, NULL), ct_leaf(tape, w, NULL),
                            ct_leaf(tape, b, NULL), CT_RELU);
    ck_assert_msg(ct_value(y) != NULL, "%s", ct_tape_message(tape));
    EXPECT("x w + b", ct_copy(ct_value(y)), 0, 11, 22, 0, 13, 24, 0);
    ct_free(x);
    ct_free(w);
    ct_free(b);
    ct_tape_free(tape);
}
END_TEST

// ---- networks

static ct_mlp *network(const ct_scalar *scalar, enum ct_activation hidden, uint64_t seed) {
    int64_t widths[] = {4, 5, 3};
    ct_mlp *mlp = ct_mlp_new(scalar, 2, widths, hidden, seed);
    ck_assert_msg(mlp != NULL, "%s", ct_error()->message);
    return mlp;
}

START_TEST(a_network_has_named_parameters) {
    static const struct {
        const char *name;
        int rank;
        int64_t shape[2];
    } expected[] = {{"layer0.weight", 2, {4, 5}},
                    {"layer0.bias", 1, {5}},
                    {"layer1.weight", 2, {5, 3}},
                    {"layer1.bias", 1, {3}}};
    ct_mlp *mlp = network(CT_F32, CT_RELU, 1);
    const ct_params *params = ct_mlp_params(mlp);
    ck_assert_uint_eq(ct_params_count(params), 4);
    for (size_t i = 0; i < 4; i++) {
        const ct_tensor *t = ct_params_value(params, i);
        ck_assert_str_eq(ct_params_name(params, i), expected[i].name);
        ck_assert(ct_dtype(t) == CT_F32 && ct_rank(t) == expected[i].rank);
        for (int k = 0; k < ct_rank(t); k++)
            ck_assert(ct_shape(t)[k] == expected[i].shape[k]);
    }
    ct_mlp_free(mlp);
    ct_mlp_free(NULL);
}
END_TEST

START_TEST(a_seed_decides_the_weights) {
    ct_mlp *a = network(CT_F64, CT_TANH, 1), *b = network(CT_F64, CT_TANH, 1);
    ct_mlp *c = network(CT_F64, CT_TANH, 2);
    for (size_t i = 0; i < 4; i++) {
        const ct_tensor *x = ct_params_value(ct_mlp_params(a), i);
        bool bias = i % 2 == 1;
        ck_assert(same_bits(x, ct_params_value(ct_mlp_params(b), i)));
        ck_assert(same_bits(x, ct_params_value(ct_mlp_params(c), i)) == bias);
    }
    ct_mlp_free(a);
    ct_mlp_free(b);
    ct_mlp_free(c);
}
END_TEST

static double largest_of(const ct_tensor *t) {
    ct_tensor *size = ct_abs(t), *most = ct_max(size, CT_ALL, false);
    double x = ct_item(most);
    ct_free(size);
    ct_free(most);
    return x;
}

// Normal before a rectifier, which reaches beyond three deviations; else within Glorot's interval.
START_TEST(layers_begin_as_their_activation_asks) {
    ct_mlp *mlp = ct_mlp_new(CT_F32, 3, (int64_t[]){50, 50, 50, 50}, _i ? CT_TANH : CT_RELU, 1);
    const ct_tensor *w[3];
    for (size_t k = 0; k < 3; k++)
        w[k] = ct_params_value(ct_mlp_params(mlp), 2 * k);
    double bound = sqrt(6 / 100.0), deviation = sqrt(2 / 50.0);
    ck_assert((largest_of(w[0]) > 3 * deviation) == (_i == 0));
    ck_assert((largest_of(w[1]) > 3 * deviation) == (_i == 0));
    ck_assert(largest_of(w[2]) <= bound * 1.000001 && largest_of(w[2]) > 0.99 * bound);
    ck_assert(!same_bits(w[0], w[1]) && !same_bits(w[1], w[2]));
    ct_mlp_free(mlp);
}
END_TEST

START_TEST(a_network_is_its_layers) {
    ct_mlp *mlp = network(CT_F64, CT_GELU, 3);
    ct_params *params = ct_mlp_params(mlp);
    ct_tape *tape = ct_tape_new();
    struct draw draw = {1};
    ct_tensor *rows = draw_tensor(&draw, CT_F64, 2, (int64_t[]){7, 4}, -1, 1);
    ck_assert_int_eq(ct_params_record(params, tape), CT_OK);
    ct_var x = ct_constant(tape, rows, "x"), y = ct_mlp_apply(mlp, x);
    ct_var p[4];
    for (size_t i = 0; i < 4; i++)
        p[i] = ct_params_var(params, i);
    ct_var z = ct_var_dense(ct_var_dense(x, p[0], p[1], CT_GELU), p[2], p[3], CT_IDENTITY);
    ck_assert_msg(same_bits(ct_value(y), ct_value(z)), "%s", ct_tape_message(tape));
    ck_assert(ct_shape(ct_value(y))[0] == 7 && ct_shape(ct_value(y))[1] == 3);
    ck_assert(same_bits(ct_value(ct_mlp_apply_to(mlp, x, 4, p)), ct_value(y)));
    ct_free(rows);
    ct_tape_free(tape);
    ct_mlp_free(mlp);
}
END_TEST

static const struct {
    int layers;
    int64_t widths[4];
    int hidden;
    ct_status code;
    const char *text;
} bad_networks[] = {
    {0, {3, 3}, CT_RELU, CT_EINVAL, "a network needs at least 1 layer, not 0"},
    {-1, {3, 3}, CT_RELU, CT_EINVAL, "not -1"},
    {2, {3, 0, 2}, CT_RELU, CT_ESHAPE, "the width 0 at place 1 is not positive"},
    {1, {3, -2}, CT_RELU, CT_ESHAPE, "the width -2 at place 1 is not positive"},
    {1, {3, 2}, 7, CT_EINVAL, "there is no activation 7"},
    {1, {3, 2}, -1, CT_EINVAL, "there is no activation -1"},
    {1, {INT64_MAX, INT64_MAX}, CT_TANH, CT_EOVERFLOW, ""},
};

START_TEST(a_bad_network_is_null) {
    size_t live = ct_live_blocks();
    ck_assert_ptr_null(ct_mlp_new(CT_F32, bad_networks[_i].layers, bad_networks[_i].widths,
                                  (enum ct_activation)bad_networks[_i].hidden, 1));
    expect_error(bad_networks[_i].code, bad_networks[_i].text);
    ck_assert_uint_eq(ct_live_blocks(), live);
}
END_TEST

START_TEST(a_wrong_number_of_parameters_sticks_to_the_tape) {
    ct_mlp *mlp = network(CT_F64, CT_RELU, 1);
    ct_tape *tape = ct_tape_new();
    ct_var x = ct_constant_of(tape, CT_F64, 1), y = ct_mlp_apply_to(mlp, x, 3, &x);
    ct_var_neg(y);
    ck_assert(ct_var_is_null(y) && ct_tape_status(tape) == CT_EINVAL);
    ck_assert_str_eq(ct_tape_message(tape),
                     "ct_mlp_apply_to: this network has 4 parameters and 3 were given");
    ct_tape_free(tape);
    ct_mlp_free(mlp);
}
END_TEST

START_TEST(a_network_says_where_rows_do_not_fit) {
    ct_mlp *mlp = network(CT_F64, CT_RELU, 1);
    ct_tape *tape = ct_tape_new();
    ct_tensor *rows = ct_zeros(CT_F64, 2, (int64_t[]){2, 3});
    ct_params_record(ct_mlp_params(mlp), tape);
    ct_var x = ct_constant(tape, rows, "x"), y = ct_mlp_apply(mlp, x);
    ck_assert(ct_var_is_null(y) && ct_tape_status(tape) == CT_ESHAPE);
    ck_assert_ptr_nonnull(strstr(ct_tape_message(tape), "layer0"));
    ck_assert_ptr_nonnull(strstr(ct_tape_message(tape), "3 against 4"));
    ck_assert(ct_var_is_null(ct_mlp_apply_to(mlp, x, 3, &x)));
    expect_error(CT_EINVAL, "this network has 4 parameters and 3 were given");
    ck_assert_ptr_nonnull(strstr(ct_tape_message(tape), "3 against 4")); // the first error stays
    ct_free(rows);
    ct_tape_free(tape);
    ct_mlp_free(mlp);
}
END_TEST

// ---- accuracy

static ct_tensor *labels_of(int64_t n, const int64_t *labels) {
    return ct_from_items(CT_I64, 1, &n, (size_t)n, labels);
}

START_TEST(the_first_maximum_and_the_first_nan_count) {
    ct_tensor *logits = T2(5, 3, 1, 2, 3, 5, 5, 1, QNAN, 1, QNAN, 1, QNAN, 9, -INF, -INF, -INF);
    ct_tensor *labels = labels_of(5, (int64_t[]){2, 0, 0, 1, 0});
    ck_assert(ct_accuracy(logits, labels) == 1);
    ct_free(labels);
    labels = labels_of(5, (int64_t[]){2, 1, 2, 2, 1});
    ck_assert(ct_accuracy(logits, labels) == 0.2);
    ct_free(logits);
    ct_free(labels);
}
END_TEST

START_TEST(accuracy_reads_any_layout) {
    struct draw draw = {2};
    ct_tensor *logits = draw_tensor(&draw, real(_i & 1), 2, (int64_t[]){30, 4}, -1, 1);
    ct_tensor *labels = draw_tensor(&draw, CT_I64, 1, (int64_t[]){30}, 0, 4);
    ct_tensor *laid = lay_out(logits, (enum layout)(_i >> 1)), *dense = ct_compact(laid);
    ct_tensor *turned = ct_flip(labels, 0), *straight = ct_compact(turned);
    double accuracy = ct_accuracy(laid, turned);
    ck_assert(accuracy == ct_accuracy(dense, straight) && accuracy >= 0 && accuracy <= 1);
    ct_free(logits);
    ct_free(labels);
    ct_free(laid);
    ct_free(dense);
    ct_free(turned);
    ct_free(straight);
}
END_TEST

static const struct {
    ct_status code;
    int64_t rows, classes, labels, label;
    bool ints;
    const char *text;
} bad_accuracies[] = {
    {CT_EINDEX, 2, 3, 2, 3, false, "the label 3 of row 1 is not in [0, 3)"},
    {CT_EINDEX, 2, 3, 2, -1, false, "the label -1 of row 1 is not in [0, 3)"},
    {CT_ESHAPE, 2, 3, 4, 0, false, "logits are [n, classes] and labels [n], not [2, 3] and [4]"},
    {CT_ESHAPE, 2, 0, 2, 0, false, "not [2, 0] and [2]"},
    {CT_EDOMAIN, 0, 3, 0, 0, false, "no accuracy of no rows"},
    {CT_EDTYPE, 2, 3, 2, 0, true, "logits are real and labels i64, not i64 and i64"},
};

START_TEST(a_bad_accuracy_is_nan) {
    int64_t shape[] = {bad_accuracies[_i].rows, bad_accuracies[_i].classes};
    ct_tensor *logits = ct_zeros(bad_accuracies[_i].ints ? CT_I64 : CT_F32, 2, shape);
    ct_tensor *labels = ct_zeros(CT_I64, 1, &bad_accuracies[_i].labels);
    int64_t last = bad_accuracies[_i].labels - 1;
    if (last >= 0)
        ct_set(labels, 1, &last, (double)bad_accuracies[_i].label);
    ck_assert(isnan(ct_accuracy(logits, labels)));
    expect_error(bad_accuracies[_i].code, bad_accuracies[_i].text);
    ct_free(logits);
    ct_free(labels);
}
END_TEST

// After each test: nothing that the library gave out is left.
static void no_block_is_left(void) {
    ck_assert_uint_eq(ct_live_blocks(), 0);
}

static void add_networks(Suite *s) {
    TCase *tc = tcase_create("layers");
    tcase_add_checked_fixture(tc, NULL, no_block_is_left);
    tcase_add_loop_test(tc, an_activation_is_its_op, 0, COUNT(activations));
    tcase_add_test(tc, an_unknown_activation_is_an_error);
    tcase_add_test(tc, a_dense_layer);
    suite_add_tcase(s, tc);

    tc = tcase_create("networks");
    tcase_add_checked_fixture(tc, NULL, no_block_is_left);
    tcase_add_test(tc, a_network_has_named_parameters);
    tcase_add_test(tc, a_seed_decides_the_weights);
    tcase_add_loop_test(tc, layers_begin_as_their_activation_asks, 0, 2);
    tcase_add_test(tc, a_network_is_its_layers);
    tcase_add_loop_test(tc, a_bad_network_is_null, 0, COUNT(bad_networks));
    tcase_add_test(tc, a_wrong_number_of_parameters_sticks_to_the_tape);
    tcase_add_test(tc, a_network_says_where_rows_do_not_fit);
    suite_add_tcase(s, tc);

    tc = tcase_create("accuracy");
    tcase_add_checked_fixture(tc, NULL, no_block_is_left);
    tcase_add_test(tc, the_first_maximum_and_the_first_nan_count);
    tcase_add_loop_test(tc, accuracy_reads_any_layout, 0, 2 * LAYOUT_COUNT);
    tcase_add_loop_test(tc, a_bad_accuracy_is_nan, 0, COUNT(bad_accuracies));
    suite_add_tcase(s, tc);
}

Suite *suite_nn(void) {
    Suite *s = suite_create("nn");
    TCase *tc = tcase_create("weights");
    tcase_add_checked_fixture(tc, NULL, no_block_is_left);
    tcase_add_loop_test(tc, glorot_fills_its_interval, 0, 2);
    tcase_add_loop_test(tc, he_has_its_deviation, 0, 2);
    tcase_add_test(tc, weights_of_no_extent_are_empty);
    suite_add_tcase(s, tc);

    tc = tcase_create("parameters");
    tcase_add_checked_fixture(tc, NULL, no_block_is_left);
    tcase_add_test(tc, parameters_keep_order_and_names);
    tcase_add_loop_test(tc, names_are_unique, 0, COUNT(bad_names));
    tcase_add_test(tc, a_value_is_replaced_by_its_like);
    tcase_add_test(tc, parameters_go_through_a_step);
    tcase_add_test(tc, a_step_before_a_gradient_is_an_error);
    tcase_add_test(tc, a_step_refuses_a_gradient_that_is_not_finite);
    suite_add_tcase(s, tc);
    add_networks(s);
    return s;
}
