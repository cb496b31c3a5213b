#include "bugs.h"

#include <math.h>
#include <string.h>

#include "autodiff/ct_network.h"
#include "autodiff/ct_var_ops.h"
#include "autodiff/tape_impl.h"
#include "case_tools.h"
#include "optim/ct_optim.h"
#include "tensor/ct_convert.h"
#include "tensor/ct_index.h"
#include "tensor/ct_make.h"

#define FN(name, expression)                                                                       \
    static ct_var name(const ct_var *x) {                                                          \
        return expression;                                                                         \
    }
#define K(value) constant_like(*x, value)

/* A constant row of x's scalar type, and one of integers. */
static ct_var row(ct_var x, struct numbers numbers) {
    ct_tensor *t = ct_from_doubles(CT_F64, 1, (int64_t[]){(int64_t)numbers.count}, numbers.count,
                                   numbers.values);
    ct_tensor *same = ct_astype(t, ct_dtype(ct_value(x)));
    ct_var v = ct_constant(x.tape, same, NULL);
    ct_free(t);
    ct_free(same);
    return v;
}

static ct_var labels_of(ct_tape *tape, size_t count, const double *labels) {
    ct_tensor *t = ct_from_doubles(CT_I64, 1, (int64_t[]){(int64_t)count}, count, labels);
    ct_var v = ct_constant(tape, t, NULL);
    ct_free(t);
    return v;
}

static ct_var leaf_of(ct_tape *tape, ct_tensor *t) {
    ct_var v = ct_leaf(tape, t, NULL);
    ct_free(t);
    return v;
}

static ct_var zeros(ct_tape *tape, int rank, const int64_t *shape) {
    return leaf_of(tape, ct_zeros(CT_F64, rank, shape));
}

/* ---- norms */

FN(norm_1, ct_var_sum(ct_var_abs(*x), CT_ALL, true))
FN(normalised_1, ct_var_div(*x, ct_var_maximum(norm_1(x), K(1e-12))))
FN(norm_2, ct_var_sqrt(ct_var_sum(ct_var_square(*x), CT_ALL, true)))
FN(normalised_2, ct_var_div(*x, ct_var_maximum(norm_2(x), K(1e-12))))

/* At its zeros a row has the slope 1 / norm, from sign(0) = 0; where all is one sign the rest cancels. */
START_TEST(B008_rows_with_zeros_are_normalised) {
    check_gradient("by the 1-norm", normalised_1, N(0, 0, 0, 0, .2), N(0, 0, 0, 0, 1),
                   N(5, 5, 5, 5, 0));
    check_gradient("by the 1-norm", normalised_1, N(0, 0), N(0, 0), N(1e12, 1e12));
    check_gradient("by the 2-norm", normalised_2, N(0, 3, 4), N(0, .6, .8),
                   N(.2, .2 - 1.4 * .6 / 5, .2 - 1.4 * .8 / 5));
    check_gradient("by the 2-norm", normalised_2, N(0, -0.0), N(0, 0), N(1e12, 1e12));
}
END_TEST

/* ---- cross entropy of probabilities and logits */

FN(bce_of_ends, ct_var_bce(*x, row(*x, N(0, 1, 1, 0)), CT_REDUCE_NONE))
FN(bce_inside, ct_var_bce(*x, row(*x, N(0, 1, .25)), CT_REDUCE_NONE))
FN(bce_logits, ct_var_bce_with_logits(*x, row(*x, N(0, 1, 1, 0)), CT_REDUCE_NONE))
FN(bce_far, ct_var_bce_with_logits(*x, row(*x, N(1, 0, 0, 1)), CT_REDUCE_NONE))
FN(saturated, ct_var_bce(ct_var_sigmoid(*x), row(*x, N(0)), CT_REDUCE_NONE))
FN(unsaturated, ct_var_bce_with_logits(*x, row(*x, N(0)), CT_REDUCE_NONE))

START_TEST(B038_cross_entropy_of_certain_probabilities) {
    check_gradient("at 0 and 1", bce_of_ends, N(0, 1, 0, 1), N(0, 0, INF, INF),
                   N(1, -1, -INF, INF));
    check_gradient("between", bce_inside, N(.5, .5, .25),
                   N(log(2), log(2), -.25 * log(.25) - .75 * log(.75)), N(2, -2, 0));
}
END_TEST

START_TEST(B039_a_rounded_probability_has_lost_its_distance) {
    check_gradient("logits", unsaturated, N(50), N(50), N(1));
    check_gradient("probabilities", saturated, N(3), N(3 + log1p(exp(-3))), N(1 / (1 + exp(-3))));
    ct_tape *tape = ct_tape_new();
    ct_var x = leaf_of(tape, ct_from_double(CT_F32, 50));
    ct_var y =
        ct_var_bce(ct_var_sigmoid(x), leaf_of(tape, ct_from_double(CT_F32, 0)), CT_REDUCE_SUM);
    ck_assert_double_eq(ct_value_item(y), INF);
    ct_var z = ct_var_bce_with_logits(x, leaf_of(tape, ct_from_double(CT_F32, 0)), CT_REDUCE_SUM),
           dx;
    ck_assert_double_eq(ct_value_item(z), 50);
    ck_assert_int_eq(ct_grad(z, ct_var_null(), 1, &x, &dx), CT_OK);
    ck_assert_double_eq(ct_value_item(dx), 1);
    ct_tape_free(tape);
}
END_TEST

START_TEST(B040_cross_entropy_of_logits_far_out) {
    check_gradient("800", bce_logits, N(800, 800, -800, -800), N(800, 0, 800, 0), N(1, 0, -1, 0));
    check_gradient("infinite and right", bce_far, N(INF, -INF, -INF, INF), N(0, 0, 0, 0),
                   N(0, 0, 0, 0));
    check_gradient("infinite and wrong", bce_logits, N(INF, INF, -INF, -INF), N(INF, 0, INF, 0),
                   N(1, 0, -1, 0));
}
END_TEST

FN(xlogy, ct_var_xlogy(x[0], x[1]))
FN(kl, ct_var_kl_div(*x, row(*x, N(0, .5, 0, 0)), CT_REDUCE_NONE))

START_TEST(B046_nothing_times_the_logarithm_of_nothing) {
    check_gradient_2("xlogy", xlogy, N(0, 0, 2, 2, 0, 0), N(0, 3, 3, 0, -1, INF),
                     N(0, 0, 2 * log(3), -INF, 0, 0), N(-INF, log(3), log(3), -INF, QNAN, INF),
                     N(0, 0, 2. / 3, INF, 0, 0));
    ct_tape *tape = ct_tape_new();
    ct_var x = leaf_of(tape, T1(0, QNAN, 1)), z = leaf_of(tape, T1(QNAN, 1, QNAN));
    EXPECT("of NaN", ct_copy(ct_value(ct_var_xlogy(x, z))), 0, QNAN, QNAN, QNAN);
    ct_tape_free(tape);
    check_gradient("kl_div", kl, N(-1, log(.25), -INF, INF), N(0, .5 * log(2), 0, 0),
                   N(0, -.5, 0, 0));
}
END_TEST

/* ---- nothing in, nothing out */

START_TEST(B065_convolutions_of_an_empty_batch) {
    ct_tape *tape = ct_tape_new();
    const struct ct_window pad = {.before = {1, 1}, .after = {1, 1}};
    for (int transposed = 0; transposed < 2; transposed++) {
        ct_var x = zeros(tape, 4, (int64_t[]){0, 2, 5, 4});
        ct_var w = zeros(tape, 4, (int64_t[]){transposed ? 2 : 3, transposed ? 3 : 2, 3, 3});
        ct_var b = zeros(tape, 1, (int64_t[]){3}), d[3];
        ct_var y = transposed ? ct_var_conv_transpose(x, w, b, &pad) : ct_var_conv(x, w, b, &pad);
        ck_assert_int_eq(ct_grad(y, ct_var_null(), 3, (const ct_var[]){x, w, b}, d), CT_OK);
        const int64_t shape[] = {0, 3, 5, 4};
        ck_assert(memcmp(ct_shape(ct_value(y)), shape, sizeof shape) == 0);
        ck_assert(ct_same_shape(ct_value(d[0]), ct_value(x)));
        ck_assert(same_bits(ct_value(d[1]), ct_value(w)) && same_bits(ct_value(d[2]), ct_value(b)));
    }
    ct_var x = zeros(tape, 4, (int64_t[]){0, 2, 6, 6}), dx;
    ct_var pools[] = {ct_var_max_pool(x, (int64_t[]){2, 3}, &pad),
                      ct_var_avg_pool(x, (int64_t[]){2, 3}, &pad, false), ct_var_global_max_pool(x),
                      ct_var_global_avg_pool(x),
                      ct_var_batch_norm_train(x, ct_var_null(), ct_var_null(), 1e-5, NULL, NULL)};
    for (size_t i = 0; i < COUNT(pools); i++) {
        ck_assert_int_eq(ct_grad(pools[i], ct_var_null(), 1, &x, &dx), CT_OK);
        ck_assert(ct_same_shape(ct_value(dx), ct_value(x)));
    }
    ct_tape_free(tape);
}
END_TEST

/* An image too small for its kernel is refused where it is recorded. */
START_TEST(B065_convolutions_without_a_place) {
    static const int64_t extents[][2] = {{2, 5}, {5, 2}, {0, 5}, {5, 0}};
    for (size_t i = 0; i < COUNT(extents); i++)
        for (int which = 0; which < 3; which++) {
            ct_tape *tape = ct_tape_new();
            ct_var x = zeros(tape, 4, (int64_t[]){1, 1, extents[i][0], extents[i][1]});
            ct_var w = zeros(tape, 4, (int64_t[]){1, 1, 3, 3});
            const int64_t kernel[] = {3, 3};
            ct_var y = which == 0   ? ct_var_conv(x, w, ct_var_null(), NULL)
                       : which == 1 ? ct_var_max_pool(x, kernel, NULL)
                                    : ct_var_avg_pool(x, kernel, NULL, true);
            ck_assert(ct_var_is_null(y) && ct_tape_status(tape) == CT_ESHAPE);
            ck_assert_ptr_nonnull(strstr(ct_tape_message(tape), "a kernel of 3 items"));
            ct_tape_free(tape);
        }
}
END_TEST

typedef ct_var loss_fn(ct_var, ct_var, enum ct_reduction);

static ct_var huber_1(ct_var x, ct_var t, enum ct_reduction reduction) {
    return ct_var_huber(x, t, 1, reduction);
}

static ct_var smooth_l1_1(ct_var x, ct_var t, enum ct_reduction reduction) {
    return ct_var_smooth_l1(x, t, 1, reduction);
}

static ct_var bce_weighed(ct_var x, ct_var t, enum ct_reduction reduction) {
    return ct_var_bce_weighed(x, t, ct_constant_of(x.tape, CT_F64, 2), reduction);
}

/* Losses of two tensors of one shape. */
static const struct {
    const char *name;
    loss_fn *loss;
} paired[] = {
    {"ct_var_mse", ct_var_mse},
    {"ct_var_l1", ct_var_l1},
    {"ct_var_huber", huber_1},
    {"ct_var_smooth_l1", smooth_l1_1},
    {"ct_var_bce", ct_var_bce},
    {"ct_var_bce_with_logits", ct_var_bce_with_logits},
    {"ct_var_bce_weighed", bce_weighed},
    {"ct_var_kl_div", ct_var_kl_div},
    {"ct_var_cross_entropy_soft", ct_var_cross_entropy_soft},
};

/* The sum of nothing is 0, its mean NaN, and the gradient has x's shape. */
static void check_empty(const char *name, ct_var x, ct_var sum, ct_var mean) {
    ct_var dx;
    ck_assert_msg(ct_tape_status(x.tape) == CT_OK, "%s: %s", name, ct_tape_message(x.tape));
    ck_assert_msg(ct_value_item(sum) == 0 && isnan(ct_value_item(mean)), "%s", name);
    ck_assert_int_eq(ct_grad(mean, ct_var_null(), 1, &x, &dx), CT_OK);
    ck_assert_msg(ct_same_shape(ct_value(dx), ct_value(x)), "%s", name);
}

START_TEST(B066_losses_of_an_empty_batch) {
    ct_tape *tape = ct_tape_new();
    const int64_t shape[] = {0, 3};
    for (size_t i = 0; i < COUNT(paired); i++) {
        ct_var x = zeros(tape, 2, shape), t = zeros(tape, 2, shape);
        ct_var sum = paired[i].loss(x, t, CT_REDUCE_SUM),
               mean = paired[i].loss(x, t, CT_REDUCE_MEAN);
        check_empty(paired[i].name, x, sum, mean);
    }
    ct_var x = zeros(tape, 2, shape), none = labels_of(tape, 0, NULL);
    ct_var plain = ct_var_cross_entropy(x, none, CT_REDUCE_SUM);
    check_empty("ct_var_cross_entropy", x, plain, ct_var_cross_entropy(x, none, CT_REDUCE_MEAN));
    ct_var nll = ct_var_nll(x, none, NULL, CT_REDUCE_SUM);
    check_empty("ct_var_nll", x, nll, ct_var_nll(x, none, NULL, CT_REDUCE_MEAN));
    ct_tape_free(tape);
}
END_TEST

START_TEST(B066_losses_with_all_targets_ignored) {
    ct_tape *tape = ct_tape_new();
    ct_tensor *weights = T1(1, 2, 3);
    struct ct_class_loss c = {.has_ignored = true, .ignored = -100};
    for (int i = 0; i < 4; i++) {
        ct_var x = leaf_of(tape, T2(2, 3, 1, 2, 3, 4, 5, 6)), dx;
        ct_var none = labels_of(tape, 2, (double[]){-100, -100});
        c.weights = i % 2 ? weights : NULL;
        c.smoothing = i / 2 ? .25 : 0;
        ck_assert_double_eq(ct_value_item(ct_var_cross_entropy_of(x, none, &c, CT_REDUCE_SUM)), 0);
        ct_var mean = ct_var_cross_entropy_of(x, none, &c, CT_REDUCE_MEAN);
        ck_assert(isnan(ct_value_item(mean)));
        ck_assert_int_eq(ct_grad(mean, ct_var_null(), 1, &x, &dx), CT_OK);
        EXPECT("gradient", ct_copy(ct_value(dx)), 0, 0, 0, 0, 0, 0, 0);
    }
    ct_free(weights);
    ct_tape_free(tape);
}
END_TEST

/* Wrong shapes for each loss: none is stretched. */
START_TEST(losses_refuse_to_broadcast) {
    static const struct {
        int rank[2];
        int64_t shape[2][3];
    } pairs[] = {
        {{2, 1}, {{3, 1}, {3}}},    {{1, 2}, {{3}, {3, 1}}},       {{1, 0}, {{3}, {0}}},
        {{0, 1}, {{0}, {1}}},       {{2, 2}, {{3, 4}, {3, 1}}},    {{2, 2}, {{3, 4}, {1, 4}}},
        {{2, 2}, {{0, 2}, {1, 2}}}, {{3, 2}, {{1, 3, 4}, {3, 4}}}, {{2, 2}, {{2, 3}, {3, 2}}},
    };
    for (size_t i = 0; i < COUNT(paired); i++)
        for (size_t k = 0; k < COUNT(pairs); k++)
            for (int reduction = 0; reduction < 3; reduction++) {
                ct_tape *tape = ct_tape_new();
                ct_var x = zeros(tape, pairs[k].rank[0], pairs[k].shape[0]);
                ct_var t = zeros(tape, pairs[k].rank[1], pairs[k].shape[1]);
                ct_var y = paired[i].loss(x, t, (enum ct_reduction)reduction);
                ck_assert_msg(ct_var_is_null(y) && ct_tape_status(tape) == CT_ESHAPE,
                              "%s takes pair %zu", paired[i].name, k);
                ck_assert_msg(strstr(ct_tape_message(tape), "equal shapes") ||
                                  strstr(ct_tape_message(tape), "does not broadcast"),
                              "%s: %s", paired[i].name, ct_tape_message(tape));
                ct_tape_free(tape);
            }
}
END_TEST

START_TEST(losses_of_labels_refuse_to_broadcast) {
    static const struct {
        int rank[2];
        int64_t shape[2][3];
    } pairs[] = {
        {{2, 1}, {{3, 4}, {1}}}, {{2, 2}, {{3, 4}, {3, 1}}}, {{2, 0}, {{3, 4}, {0}}},
        {{1, 1}, {{4}, {4}}},    {{3, 1}, {{3, 4, 2}, {3}}}, {{3, 2}, {{3, 4, 2}, {3, 4}}},
        {{2, 1}, {{3, 4}, {4}}},
    };
    for (size_t k = 0; k < COUNT(pairs); k++)
        for (int which = 0; which < 2; which++) {
            ct_tape *tape = ct_tape_new();
            ct_var x = zeros(tape, pairs[k].rank[0], pairs[k].shape[0]);
            ct_tensor *labels = ct_zeros(CT_I64, pairs[k].rank[1], pairs[k].shape[1]);
            ct_var l = ct_constant(tape, labels, NULL);
            ct_free(labels);
            ct_var y = which ? ct_var_nll(x, l, NULL, CT_REDUCE_MEAN)
                             : ct_var_cross_entropy_of(x, l, NULL, CT_REDUCE_MEAN);
            ck_assert_msg(ct_var_is_null(y) && ct_tape_status(tape) != CT_OK, "pair %zu", k);
            ct_tape_free(tape);
        }
}
END_TEST

/* ---- pools */

static ct_var pooled(ct_var x, int64_t kernel, int64_t padding) {
    return ct_var_max_pool(
        x, &kernel,
        &(struct ct_window){.stride = {kernel}, .before = {padding}, .after = {padding}});
}

static ct_var row_of_windows(ct_tape *tape, struct numbers n) {
    return leaf_of(
        tape, ct_from_doubles(CT_F64, 3, (int64_t[]){1, 1, (int64_t)n.count}, n.count, n.values));
}

START_TEST(B094_windows_of_nan_and_infinities) {
    ct_tape *tape = ct_tape_new();
    ct_var x = row_of_windows(tape, N(QNAN, 1, 0, QNAN, -INF, -INF, QNAN, QNAN, -0.0, 0)), dx;
    ct_var y = pooled(x, 2, 0);
    EXPECT("values", ct_copy(ct_value(y)), 0, QNAN, QNAN, -INF, QNAN, -0.0);
    ck_assert_int_eq(ct_grad(y, ct_var_null(), 1, &x, &dx), CT_OK);
    EXPECT("the first", ct_copy(ct_value(dx)), 0, 1, 0, 0, 1, 1, 0, 1, 0, 1, 0);
    /* Padding ties with -infinity, and must not get the gradient. */
    x = row_of_windows(tape, N(-INF, -INF));
    y = pooled(x, 3, 1);
    EXPECT("padded", ct_copy(ct_value(y)), 0, -INF);
    ck_assert_int_eq(ct_grad(y, ct_var_null(), 1, &x, &dx), CT_OK);
    EXPECT("not the padding", ct_copy(ct_value(dx)), 0, 1, 0);
    ct_tape_free(tape);
}
END_TEST

FN(layer_norm,
   ct_var_mul(ct_var_layer_norm(*x, -1, ct_var_null(), ct_var_null(), 1e-5), row(*x, N(1, 2, 3))))
FN(softmax, ct_var_mul(ct_var_softmax(*x, -1), row(*x, N(1, 2, 3))))
FN(rms_norm, ct_var_mul(ct_var_rms_norm(*x, ct_var_null(), 1e-5), row(*x, N(1, 2, 3))))

START_TEST(B106_constant_rows) {
    const double g = 316.22776601683796, third = 1. / 3;
    check_gradient("layer_norm", layer_norm, N(5, 5, 5), N(0, 0, 0), N(-g, 0, g));
    check_gradient("layer_norm of zeros", layer_norm, N(0, 0, 0), N(0, 0, 0), N(-g, 0, g));
    check_gradient("softmax", softmax, N(5, 5, 5), N(third, 2 * third, 1), N(-third, 0, third));
    check_gradient("rms_norm of zeros", rms_norm, N(0, 0, 0), N(0, 0, 0), N(g, 2 * g, 3 * g));
}
END_TEST

/* ---- windows */

START_TEST(B116_windows_that_make_no_sense) {
    static const struct {
        struct ct_window w;
        const char *text;
    } all[] = {
        {{.stride = {1, -1}}, "strides and dilations are positive"},
        {{.dilation = {-2, 1}}, "strides and dilations are positive"},
        {{.groups = -1}, "1 group or more, not -1"},
        {{.before = {-1, 0}}, "padding is not negative"},
        {{.after = {0, -3}}, "padding is not negative"},
        {{.stride = {INT64_MIN, 1}}, "strides and dilations are positive"},
        {{.dilation = {1, INT64_MAX}}, "are positive"},
    };
    for (size_t i = 0; i < COUNT(all); i++)
        for (int which = 0; which < 2; which++) {
            ct_tape *tape = ct_tape_new();
            ct_var x = zeros(tape, 4, (int64_t[]){1, 2, 5, 5}),
                   w = zeros(tape, 4, (int64_t[]){2, 2, 3, 3});
            if (which == 0)
                ct_var_conv(x, w, ct_var_null(), &all[i].w);
            else if (all[i].w.groups == 0)
                ct_var_max_pool(x, (int64_t[]){3, 3}, &all[i].w);
            else
                ct_var_conv_transpose(x, w, ct_var_null(), &all[i].w);
            ck_assert_msg(ct_tape_status(tape) == CT_EINVAL, "case %zu: %s", i,
                          ct_tape_message(tape));
            ck_assert_msg(strstr(ct_tape_message(tape), all[i].text), "case %zu: %s", i,
                          ct_tape_message(tape));
            ct_tape_free(tape);
        }
    ct_tape *tape = ct_tape_new();
    ct_var x = zeros(tape, 3, (int64_t[]){1, 2, 5});
    ct_var_avg_pool(x, (int64_t[]){0}, NULL, true);
    ck_assert_int_eq(ct_tape_status(tape), CT_EINVAL);
    ct_tape_free(tape);
}
END_TEST

/* A field of 0 stands for 1. */
START_TEST(B116_zeros_in_a_window_mean_one) {
    ct_tape *tape = ct_tape_new();
    const struct ct_window ones = {.stride = {1}, .dilation = {1}, .groups = 1};
    ct_var x = row_of_windows(tape, N(1, 2, 3, 4)), w = row_of_windows(tape, N(1, -1));
    ct_var y = ct_var_conv(x, w, ct_var_null(), &(struct ct_window){.groups = 0});
    ct_var z = ct_var_conv(x, w, ct_var_null(), &ones);
    EXPECT("y", ct_copy(ct_value(y)), 0, -1, -1, -1);
    ck_assert(same_bits(ct_value(y), ct_value(z)));
    ct_tape_free(tape);
}
END_TEST

START_TEST(B118_padding_never_wins) {
    ct_tape *tape = ct_tape_new();
    ct_var x = row_of_windows(tape, N(-4, -3, -5));
    int64_t kernel = 3;
    ct_var y = ct_var_max_pool(x, &kernel, &(struct ct_window){.before = {1}, .after = {1}});
    EXPECT("all below 0", ct_copy(ct_value(y)), 0, -3, -3, -3);
    for (int which = 0; which < 4; which++) {
        struct ct_window w = {.before = {which % 2 ? 3 : 0}, .after = {which % 2 ? 0 : 3}};
        y = which < 2 ? ct_var_max_pool(x, &kernel, &w) : ct_var_avg_pool(x, &kernel, &w, false);
        ck_assert(ct_var_is_null(y) && ct_tape_status(tape) == CT_ESHAPE);
        ck_assert_ptr_nonnull(strstr(ct_tape_message(tape), "lies in the padding alone"));
        ct_tape_rewind(tape, (ct_mark){0});
        x = row_of_windows(tape, N(-4, -3, -5));
    }
    /* Items so far apart that the image lies between two of them. */
    x = row_of_windows(tape, N(7));
    kernel = 2;
    y = ct_var_max_pool(x, &kernel,
                        &(struct ct_window){.before = {1}, .after = {1}, .dilation = {2}});
    ck_assert(ct_var_is_null(y) && ct_tape_status(tape) == CT_ESHAPE);
    ct_tape_free(tape);
}
END_TEST

/* ---- clipping */

/* Clips f32 and f64 copies of rows; what is left is compared. */
static void check_clip(struct numbers a, struct numbers b, double most, ct_status status,
                       double norm, struct numbers left) {
    for (int wide = 0; wide < 2; wide++) {
        const ct_scalar *scalar = wide ? CT_F64 : CT_F32;
        ct_tensor *g[2] = {
            ct_from_doubles(scalar, 1, (int64_t[]){(int64_t)a.count}, a.count, a.values),
            ct_from_doubles(scalar, 1, (int64_t[]){(int64_t)b.count}, b.count, b.values)};
        double measured = -1, tolerance = wide ? 1e-15 : 1e-6;
        ck_assert_int_eq(ct_clip_by_norm(2, g, most, &measured), status);
        ck_assert_msg(isnan(norm) ? isnan(measured)
                                  : measured == norm || fabs(measured / norm - 1) < tolerance,
                      "norm %g is not %g", measured, norm);
        ct_tensor *both = ct_concat(2, (const ct_tensor *const *)g, 0);
        for (size_t i = 0; i < left.count; i++) {
            double item, right = left.values[i];
            ct_get(both, 1, (int64_t[]){(int64_t)i}, &item);
            ck_assert_msg(isnan(right) ? isnan(item)
                                       : item == right || fabs(item / right - 1) < tolerance,
                          "item %zu is %g, not %g", i, item, right);
        }
        ct_free(g[0]), ct_free(g[1]), ct_free(both);
    }
}

START_TEST(B130_clipping_by_the_global_norm) {
    const double r = sqrt(.5);
    check_clip(N(3), N(4), 1, CT_OK, 5, N(.6, .8));
    check_clip(N(3), N(4), 5, CT_OK, 5, N(3, 4));
    check_clip(N(1e30), N(1e30), 1, CT_OK, sqrt(2) * 1e30, N(r, r));
    check_clip(N(3e38), N(3e38, 0), 2, CT_OK, sqrt(2) * 3e38, N(2 * r, 2 * r, 0));
    check_clip(N(3e38), N(3e38), 1e-30, CT_OK, sqrt(2) * 3e38, N(1e-30 * r, 1e-30 * r));
    check_clip(N(1e-30), N(1e-30), 1, CT_OK, sqrt(2) * 1e-30, N(1e-30, 1e-30));
    check_clip(N(0, -0.0), N(0), 1, CT_OK, 0, N(0, 0, 0));
    check_clip(N(3), N(4), INF, CT_OK, 5, N(3, 4));
    check_clip(N(INF), N(1), 1, CT_EDOMAIN, INF, N(INF, 1));
    check_clip(N(1), N(2, QNAN), 1, CT_EDOMAIN, QNAN, N(1, 2, QNAN));
    expect_error(CT_EDOMAIN, "gradient 1 is nan at item 1 of 2: nothing was clipped");
    check_clip(N(3), N(4), -1, CT_EDOMAIN, -1, N(3, 4));
    check_clip(N(3), N(4), 0, CT_EDOMAIN, -1, N(3, 4));
    check_clip(N(3), N(4), QNAN, CT_EDOMAIN, -1, N(3, 4));
    expect_error(CT_EDOMAIN, "the largest norm has to be above 0, not nan");
}
END_TEST

START_TEST(B130_a_norm_that_no_number_holds) {
    ct_tensor *g[] = {T1(1.5e308, 0), T0(-1.5e308)};
    double norm = 0;
    ck_assert_int_eq(ct_clip_by_norm(2, g, 1, &norm), CT_OK);
    ck_assert_double_eq(norm, INF);
    EXPECT("first", g[0], 1e-15, sqrt(.5), 0);
    EXPECT("second", g[1], 1e-15, -sqrt(.5));
}
END_TEST

START_TEST(B130_clipping_writes_into_no_other_tensor) {
    ct_tensor *a = T2(2, 2, 3, 0, 4, 0), *view = ct_transpose(a), *b = ct_copy(a);
    double norm;
    ck_assert_int_eq(ct_clip_by_norm(1, &view, 1, &norm), CT_OK);
    EXPECT("view", view, 1e-15, .6, .8, 0, 0);
    EXPECT("its owner", a, 0, 3, 0, 4, 0);
    ck_assert_int_eq(ct_clip_by_norm(2, (ct_tensor *[]){b, b}, 1, &norm), CT_EINVAL);
    expect_error(CT_EINVAL, "gradients 0 and 1 are the same tensor");
    ck_assert_int_eq(ct_clip_by_norm(0, NULL, 1, &norm), CT_OK);
    ck_assert_double_eq(norm, 0);
    ct_free(b);
    ct_tensor *whole = ct_zeros(CT_I64, 0, NULL);
    ck_assert_int_eq(ct_clip_by_norm(1, &whole, 1, NULL), CT_EDTYPE);
    ct_free(whole);
}
END_TEST

/* ---- rules */

/* A function of the tape's every view, twice differentiated. */
static ct_var through_views(const ct_var *x) {
    ct_var y = ct_var_reshape(*x, 2, (int64_t[]){2, 3});
    y = ct_var_transpose(y);
    y = ct_var_permute(ct_var_expand_dims(y, 0), 3, (int[]){1, 0, 2});
    y = ct_var_squeeze(y, 1);
    y = ct_var_slice(ct_var_flip(y, 0), 0, 0, 3, 2);
    y = ct_var_unfold(ct_var_broadcast_to(y, 3, (int64_t[]){2, 2, 2}), 1, 2, 1);
    y = ct_var_select(y, 2, 1);
    return ct_var_mul(ct_var_square(y), y);
}

START_TEST(B158_gradients_go_through_views) {
    /* Column 1 of rows 2 and 0, twice. */
    check_gradient("views", through_views, N(1, 2, 3, 4, 5, 6), N(216, 64, 216, 64),
                   N(0, 0, 0, 96, 0, 216));
    check_second("views", through_views, N(1, 2, 3, 4, 5, 6), N(0, 0, 0, 48, 0, 72));
}
END_TEST

/* An op without a rule says so when a gradient is asked for, and that is all: here no structured op lacks one. */
START_TEST(B158_every_structured_op_has_a_rule) {
    for (int op = 0; op < CT_OP_COUNT; op++) {
        const struct ct__op_record *record = ct__op_record((enum ct_op)op);
        ck_assert_msg(!record || record->pull, "%s", ct_op_name((enum ct_op)op));
    }
}
END_TEST

void add_network(Suite *suite) {
    TCase *tc = tcase_create("network");
    tcase_add_test(tc, B008_rows_with_zeros_are_normalised);
    tcase_add_test(tc, B038_cross_entropy_of_certain_probabilities);
    tcase_add_test(tc, B039_a_rounded_probability_has_lost_its_distance);
    tcase_add_test(tc, B040_cross_entropy_of_logits_far_out);
    tcase_add_test(tc, B046_nothing_times_the_logarithm_of_nothing);
    tcase_add_test(tc, B065_convolutions_of_an_empty_batch);
    tcase_add_test(tc, B065_convolutions_without_a_place);
    tcase_add_test(tc, B066_losses_of_an_empty_batch);
    tcase_add_test(tc, B066_losses_with_all_targets_ignored);
    tcase_add_test(tc, losses_refuse_to_broadcast);
    tcase_add_test(tc, losses_of_labels_refuse_to_broadcast);
    tcase_add_test(tc, B094_windows_of_nan_and_infinities);
    tcase_add_test(tc, B106_constant_rows);
    tcase_add_test(tc, B116_windows_that_make_no_sense);
    tcase_add_test(tc, B116_zeros_in_a_window_mean_one);
    tcase_add_test(tc, B118_padding_never_wins);
    tcase_add_test(tc, B130_clipping_by_the_global_norm);
    tcase_add_test(tc, B130_a_norm_that_no_number_holds);
    tcase_add_test(tc, B130_clipping_writes_into_no_other_tensor);
    tcase_add_test(tc, B158_gradients_go_through_views);
    tcase_add_test(tc, B158_every_structured_op_has_a_rule);
    suite_add_tcase(suite, tc);
}
