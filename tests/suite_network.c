/* Network ops against loops over indices, and losses against their formulas and limits. */

#include "autodiff/ct_check.h"
#include "autodiff/ct_network.h"
#include "autodiff/ct_var_ops.h"
#include "tape_fixture.h"
#include "tensor/ct_convert.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double *items_of(const ct_tensor *t) {
    double *items = malloc((ct_count(t) + 1) * sizeof *items);
    ck_assert_int_eq(ct_to_doubles(t, ct_count(t), items), CT_OK);
    return items;
}

/* --- convolutions, all as two axes of space (an axis of 1 for fewer) --- */

struct geometry {
    int space;
    int64_t batch, in, out, extent[3], kernel[3];
    struct ct_window w;
};

static const struct geometry geometries[] = {
    {1, 2, 3, 4, {7}, {3}, {{1}, {0}, {0}, {1}, 1, {0}}},
    {1, 1, 4, 6, {9}, {2}, {{2}, {1}, {2}, {3}, 2, {1}}},
    {2, 2, 3, 4, {5, 6}, {3, 3}, {{1, 1}, {0, 0}, {0, 0}, {1, 1}, 1, {0, 0}}},
    {2, 1, 2, 2, {8, 5}, {3, 2}, {{2, 1}, {1, 0}, {1, 2}, {2, 1}, 1, {1, 0}}},
    {2, 2, 4, 6, {4, 4}, {2, 3}, {{1, 2}, {1, 1}, {0, 1}, {1, 1}, 2, {0, 1}}},
    {2, 1, 3, 3, {6, 6}, {3, 3}, {{3, 3}, {2, 2}, {2, 2}, {1, 1}, 3, {2, 2}}},
    {2, 0, 3, 2, {5, 5}, {3, 3}, {{1, 1}, {0, 0}, {0, 0}, {1, 1}, 1, {0, 0}}},
    {2, 1, 1, 1, {4, 4}, {1, 1}, {{1, 1}, {0, 0}, {0, 0}, {1, 1}, 1, {0, 0}}},
    {3, 2, 2, 3, {4, 3, 5}, {2, 2, 3}, {{1, 1, 2}, {0, 1, 1}, {1, 0, 1}, {1, 1, 1}, 1, {0}}},
};

static int64_t places(const struct geometry *g, int s) {
    if (s >= g->space)
        return 1;
    return (g->extent[s] + g->w.before[s] + g->w.after[s] - (g->kernel[s] - 1) * g->w.dilation[s] -
            1) /
               g->w.stride[s] +
           1;
}

static int64_t of(const int64_t *list, const struct geometry *g, int s, int64_t otherwise) {
    return s < g->space ? list[s] : otherwise;
}

/* Calls visit for each product: the places in image, kernels and result, all row-major. */
typedef void visit_fn(void *context, size_t x, size_t w, size_t y);
static void each_product(const struct geometry *g, visit_fn *visit, void *context) {
    int64_t e[3], k[3], p[3], in = g->in / g->w.groups, out = g->out / g->w.groups;
    for (int s = 0; s < 3; s++)
        e[s] = of(g->extent, g, s, 1), k[s] = of(g->kernel, g, s, 1), p[s] = places(g, s);
    for (int64_t n = 0; n < g->batch; n++)
        for (int64_t o = 0; o < g->out; o++)
            for (int64_t at = 0; at < p[0] * p[1] * p[2]; at++)
                for (int64_t c = 0; c < in; c++)
                    for (int64_t j = 0; j < k[0] * k[1] * k[2]; j++) {
                        int64_t place[3] = {at / p[2] / p[1], at / p[2] % p[1], at % p[2]};
                        int64_t item[3] = {j / k[2] / k[1], j / k[2] % k[1], j % k[2]}, x[3];
                        bool inside = true;
                        for (int s = 0; s < 3; s++) {
                            x[s] = place[s] * of(g->w.stride, g, s, 1) - of(g->w.before, g, s, 0) +
                                   item[s] * of(g->w.dilation, g, s, 1);
                            inside = inside && x[s] >= 0 && x[s] < e[s];
                        }
                        int64_t channel = o / out * in + c;
                        if (inside)
                            visit(context,
                                  (size_t)((((n * g->in + channel) * e[0] + x[0]) * e[1] + x[1]) *
                                               e[2] +
                                           x[2]),
                                  (size_t)((o * in + c) * k[0] * k[1] * k[2] + j),
                                  (size_t)((n * g->out + o) * p[0] * p[1] * p[2] + at));
                    }
}

struct convolution {
    const double *x, *w, *u;
    double *y, *dx, *dw;
};

static void forward(void *context, size_t x, size_t w, size_t y) {
    struct convolution *c = context;
    c->y[y] += c->x[x] * c->w[w];
}

static void backward(void *context, size_t x, size_t w, size_t y) {
    struct convolution *c = context;
    c->dx[x] += c->u[y] * c->w[w];
    c->dw[w] += c->u[y] * c->x[x];
}

static void shapes_of(const struct geometry *g, int64_t x[5], int64_t w[5]) {
    x[0] = g->batch, x[1] = g->in, w[0] = g->out, w[1] = g->in / g->w.groups;
    for (int s = 0; s < g->space; s++)
        x[2 + s] = g->extent[s], w[2 + s] = g->kernel[s];
}

START_TEST(convolutions_and_their_gradients) {
    const struct geometry *g = &geometries[_i];
    struct draw draw = {(uint64_t)_i + 1};
    int64_t xs[5], ws[5];
    shapes_of(g, xs, ws);
    ct_var x = leaf(draw_tensor(&draw, CT_F64, 2 + g->space, xs, -1, 1));
    ct_var w = leaf(draw_tensor(&draw, CT_F64, 2 + g->space, ws, -1, 1));
    ct_var b = leaf(draw_tensor(&draw, CT_F64, 1, &g->out, -1, 1));
    ct_var y = ct_var_conv(x, w, b, &g->w), plain = ct_var_conv(x, w, ct_var_null(), &g->w);
    ck_assert_msg(!ct_var_is_null(y), "%s", ct_tape_message(tape));
    for (int s = 0; s < g->space; s++)
        ck_assert_int_eq(ct_shape(ct_value(y))[2 + s], places(g, s));
    const ct_tensor *out = ct_value(plain);
    ct_var u = leaf(draw_tensor(&draw, CT_F64, ct_rank(out), ct_shape(out), -1, 1)), dx[3];
    ck_assert_int_eq(ct_grad(y, u, 3, (const ct_var[]){x, w, b}, dx), CT_OK);
    struct convolution c = {
        items_of(ct_value(x)), items_of(ct_value(w)), items_of(ct_value(u)), NULL, NULL, NULL};
    c.y = calloc(ct_count(out) + 1, sizeof *c.y);
    c.dx = calloc(ct_count(ct_value(x)) + 1, sizeof *c.dx);
    c.dw = calloc(ct_count(ct_value(w)) + 1, sizeof *c.dw);
    each_product(g, forward, &c), each_product(g, backward, &c);
    expect_items("y", value(plain), 1e-13, ct_count(out), c.y);
    expect_items("dx", value(dx[0]), 1e-13, ct_count(ct_value(x)), c.dx);
    expect_items("dw", value(dx[1]), 1e-13, ct_count(ct_value(w)), c.dw);
    ct_tensor *difference = ct_value(y) ? ct_copy(ct_value(ct_var_sub(y, plain))) : NULL;
    double *bias = items_of(ct_value(b)), *more = items_of(difference);
    size_t each = ct_count(out) / (size_t)(g->batch ? g->batch * g->out : 1);
    for (size_t i = 0; i < ct_count(out); i++)
        ck_assert_double_eq_tol(more[i], bias[i / (each ? each : 1) % (size_t)g->out], 1e-13);
    ct_free(difference), free(bias), free(more);
    free((void *)(uintptr_t)c.x), free((void *)(uintptr_t)c.w), free((void *)(uintptr_t)c.u);
    free(c.y), free(c.dx), free(c.dw);
}
END_TEST

/* conv_transpose(u) is the gradient that conv pulls back for its image. */
START_TEST(transposed_convolutions_are_transposes) {
    const struct geometry *g = &geometries[_i];
    struct draw draw = {(uint64_t)_i + 91};
    int64_t xs[5], ws[5];
    shapes_of(g, xs, ws);
    ct_var x = leaf(draw_tensor(&draw, CT_F64, 2 + g->space, xs, -1, 1));
    ct_var w = leaf(draw_tensor(&draw, CT_F64, 2 + g->space, ws, -1, 1));
    ct_var y = ct_var_conv(x, w, ct_var_null(), &g->w);
    const ct_tensor *out = ct_value(y);
    ct_var u = leaf(draw_tensor(&draw, CT_F64, ct_rank(out), ct_shape(out), -1, 1)), dx;
    ck_assert_int_eq(ct_grad(y, u, 1, &x, &dx), CT_OK);
    struct ct_window window = g->w;
    for (int s = 0; s < g->space; s++)
        window.extra[s] =
            g->extent[s] - ((places(g, s) - 1) * g->w.stride[s] - g->w.before[s] - g->w.after[s] +
                            (g->kernel[s] - 1) * g->w.dilation[s] + 1);
    ct_var back = ct_var_conv_transpose(u, w, ct_var_null(), &window);
    ck_assert_msg(!ct_var_is_null(back), "%s", ct_tape_message(tape));
    double *expected = items_of(ct_value(dx));
    ck_assert(ct_same_shape(ct_value(back), ct_value(dx)));
    expect_items("transposed", value(back), 1e-13, ct_count(ct_value(dx)), expected);
    free(expected);
}
END_TEST

START_TEST(convolutions_say_what_does_not_fit) {
    ct_var x = leaf(ct_zeros(CT_F64, 4, (int64_t[]){1, 3, 5, 5}));
    ct_var w = leaf(ct_zeros(CT_F64, 4, (int64_t[]){2, 2, 3, 3}));
    ct_var_conv(x, w, ct_var_null(), NULL);
    refused(CT_ESHAPE, "the image is [1, 3, 5, 5], the kernels are [2, 2, 3, 3], in 1 group");
    x = leaf(ct_zeros(CT_F64, 4, (int64_t[]){1, 2, 2, 5}));
    w = leaf(ct_zeros(CT_F64, 4, (int64_t[]){2, 2, 3, 3}));
    ct_var_conv(x, w, ct_var_null(), NULL);
    refused(CT_ESHAPE,
            "a kernel of 3 items, 1 apart, does not fit an extent of 2 with 0 + 0 of padding");
    x = leaf(ct_zeros(CT_F64, 4, (int64_t[]){1, 2, 5, 5}));
    w = leaf(ct_zeros(CT_F64, 4, (int64_t[]){2, 2, 3, 3}));
    ct_var_conv(x, w, leaf(ct_zeros(CT_F64, 1, (int64_t[]){3})), NULL);
    refused(CT_ESHAPE, "the bias needs the shape [2]: one number per output channel, not [");
    x = leaf(ct_zeros(CT_F64, 4, (int64_t[]){1, 2, 5, 5}));
    w = leaf(ct_zeros(CT_F64, 4, (int64_t[]){2, 2, 3, 3}));
    ct_var_conv(x, w, ct_var_null(), &(struct ct_window){.stride = {-1, 1}});
    refused(CT_EINVAL, "strides and dilations are positive");
    x = leaf(ct_zeros(CT_F64, 2, (int64_t[]){5, 5}));
    ct_var_max_pool(x, (int64_t[]){2}, NULL);
    refused(CT_ESHAPE, "rank 2 was given");
}
END_TEST

/* --- pools --- */

START_TEST(pools_take_the_first_maximum_and_the_mean) {
    ct_var x =
        leaf(tensor_of(4, (int64_t[]){1, 1, 3, 3}, 9, (double[]){1, 5, 5, -2, 5, 0, -7, -8, -9}));
    struct ct_window w = {.stride = {2, 2}, .before = {1, 1}, .after = {1, 1}};
    int64_t kernel[] = {3, 3};
    ct_var y = ct_var_max_pool(x, kernel, &w);
    EXPECT("max", value(y), 0, 5, 5, 5, 5);
    EXPECT("first", value(grad(y, x)), 0, 0, 2, 0, 0, 2, 0, 0, 0, 0);
    EXPECT("mean of 9", value(ct_var_avg_pool(x, kernel, &w, true)), 1e-15, 9 / 9., 15 / 9.,
           -12 / 9., -12 / 9.);
    EXPECT("mean of what is there", value(ct_var_avg_pool(x, kernel, &w, false)), 1e-15, 9 / 4.,
           15 / 4., -12 / 4., -12 / 4.);
    ct_var n = leaf(tensor_of(3, (int64_t[]){1, 1, 4}, 4, (double[]){1, QNAN, -INF, -INF}));
    EXPECT("NaN wins",
           value(ct_var_max_pool(n, (int64_t[]){2}, &(struct ct_window){.stride = {2}})), 0, QNAN,
           -INF);
}
END_TEST

START_TEST(pools_ignore_padding_below_all_items) {
    ct_var x = leaf(tensor_of(3, (int64_t[]){1, 1, 2}, 2, (double[]){-3, -5}));
    struct ct_window w = {.before = {1}, .after = {1}};
    EXPECT("max", value(ct_var_max_pool(x, (int64_t[]){2}, &w)), 0, -3, -3, -5);
}
END_TEST

/* --- norms, dropout, attention --- */

START_TEST(batches_are_normalised_per_channel) {
    ct_var x = leaf(tensor_of(3, (int64_t[]){2, 2, 2}, 8, (double[]){1, 2, 10, 20, 3, 4, 30, 40})),
           mean, variance;
    ck_assert_int_eq(ct_var_batch_moments(x, &mean, &variance), CT_OK);
    EXPECT("means", value(mean), 1e-15, 2.5, 25);
    EXPECT("variances", value(variance), 1e-15, 1.25, 125);
    ct_var y = ct_var_batch_norm(x, mean, variance, leaf(T1(2, 1)), leaf(T1(0, 100)), 0);
    double s = sqrt(1.25);
    EXPECT("normalised", value(y), 1e-14, -3 / s, -1 / s, 100 - 1.5 / s, 100 - 0.5 / s, 1 / s,
           3 / s, 100 + 0.5 / s, 100 + 1.5 / s);
    /* A shift of the batch changes nothing. */
    ct_var total = ct_var_mul(
        y, leaf(tensor_of(3, (int64_t[]){2, 2, 2}, 8, (double[]){1, 4, 2, 3, 7, 1, 0, 2})));
    ct_var slope = ct_var_sum_axes(grad(total, x), 2, (int[]){0, 2}, false);
    EXPECT("sums to 0", value(slope), 1e-14, 0, 0);
}
END_TEST

/* PyTorch's update, with momentum 0.1 and 6 items a channel: 0.9 old + 0.1 new, variance times 6 / 5. */
START_TEST(statistics_are_tracked) {
    ct_tensor *mean = T1(1, 2), *variance = T1(1, 4), *m = T1(3, -2), *v = T1(10, 5),
              *held = ct_copy(mean);
    ck_assert_int_eq(ct_batch_norm_track(mean, variance, m, v, 6, 0.1), CT_OK);
    EXPECT("mean", ct_copy(mean), 1e-15, 1.2, 1.6);
    EXPECT("variance", ct_copy(variance), 1e-15, 0.9 + 1.2, 3.6 + 0.6);
    EXPECT("another's share", held, 0, 1, 2);
    ck_assert_int_eq(ct_batch_norm_track(mean, variance, m, v, 1, 0.1), CT_EDOMAIN);
    expect_error(CT_EDOMAIN, "needs 2 items: 1 were given");
    ck_assert_int_eq(ct_batch_norm_track(mean, variance, m, v, 6, 1.5), CT_EDOMAIN);
    ck_assert_int_eq(ct_batch_norm_track(mean, mean, m, v, 6, 0.1), CT_EINVAL);
    ct_tensor *short_one = T1(1), *narrow = ct_astype(m, CT_F32);
    ck_assert_int_eq(ct_batch_norm_track(mean, variance, short_one, v, 6, 0.1), CT_ESHAPE);
    ck_assert_int_eq(ct_batch_norm_track(mean, variance, m, narrow, 6, 0.1), CT_EDTYPE);
    EXPECT("nothing moved", mean, 1e-15, 1.2, 1.6);
    ct_free(variance), ct_free(m), ct_free(v), ct_free(short_one), ct_free(narrow);
}
END_TEST

START_TEST(training_batches_tell_their_moments) {
    struct draw draw = {3};
    ct_var x = leaf(draw_tensor(&draw, CT_F64, 4, (int64_t[]){3, 2, 4, 5}, -1, 1)), mean, variance,
           m, v;
    ct_var y = ct_var_batch_norm_train(x, ct_var_null(), ct_var_null(), 1e-3, &mean, &variance);
    ck_assert_int_eq(ct_var_batch_moments(x, &m, &v), CT_OK);
    ck_assert(same_bits(ct_value(mean), ct_value(m)) && same_bits(ct_value(variance), ct_value(v)));
    ct_var z = ct_var_batch_norm(x, m, v, ct_var_null(), ct_var_null(), 1e-3);
    double *expected = items_of(ct_value(z));
    expect_items("the same by its parts", value(y), 1e-14, ct_count(ct_value(z)), expected);
    free(expected);
    ct_var_batch_norm_train(leaf(T1(1, 2)), ct_var_null(), ct_var_null(), 1e-3, NULL, NULL);
    refused(CT_ESHAPE, "rank 1 was given");
    x = leaf(T2(1, 2, 1, 2));
    ct_var_batch_norm_train(x, leaf(T1(1)), ct_var_null(), 1e-3, NULL, NULL);
    refused(CT_ESHAPE, "batch_norm_train(f64[1, 2], f64[1]) in batch_norm: the scale needs one "
                       "number per channel, axis 1 of "
                       "x: [2], and has [1]");
}
END_TEST

START_TEST(rows_are_divided_by_their_root_mean_square) {
    ct_var x = leaf(T2(2, 2, 3, 4, 0, 0));
    double r = sqrt(12.5 + 1e-5);
    EXPECT("rms", value(ct_var_rms_norm(x, leaf(T1(1, 2)), 1e-5)), 1e-15, 3 / r, 8 / r, 0, 0);
}
END_TEST

START_TEST(dropout_depends_on_seed_step_and_op_alone) {
    ct_var x = leaf(ct_ones(CT_F32, 1, (int64_t[]){10000}));
    ct_var a = ct_var_dropout(x, 0.25, 7, 3, 1), b = ct_var_dropout(x, 0.25, 7, 3, 1);
    ck_assert(same_bits(ct_value(a), ct_value(b)));
    ck_assert(!same_bits(ct_value(a), ct_value(ct_var_dropout(x, 0.25, 7, 4, 1))));
    ck_assert(!same_bits(ct_value(a), ct_value(ct_var_dropout(x, 0.25, 7, 3, 2))));
    ck_assert(!same_bits(ct_value(a), ct_value(ct_var_dropout(x, 0.25, 8, 3, 1))));
    double *items = items_of(ct_value(a)), kept = 0;
    for (int i = 0; i < 10000; i++) {
        ck_assert(items[i] == 0 || items[i] == (double)(1 / 0.75F));
        kept += items[i] != 0;
    }
    ck_assert_double_eq_tol(kept / 10000, 0.75, 0.02);
    ck_assert(same_bits(ct_value(grad(a, x)), ct_value(a)));
    ck_assert(same_bits(ct_value(ct_var_dropout(x, 0, 7, 3, 1)), ct_value(x)));
    ck_assert_double_eq(ct_value_item(ct_var_sum(ct_var_dropout(x, 1, 7, 3, 1), CT_ALL, false)), 0);
    free(items);
    ct_var_dropout(x, -0.5, 0, 0, 0);
    refused(CT_EDOMAIN, "dropout(f32[10000]): a probability lies in 0 to 1, and is -0.5");
}
END_TEST

START_TEST(attention_sees_what_the_mask_shows) {
    ct_var q = leaf(T2(1, 2, 1, 0)), k = leaf(T2(3, 2, 1, 0, 0, 1, 2, 0)),
           v = leaf(T2(3, 1, 10, 20, 30));
    double e = exp(1 / sqrt(2)), f = exp(2 / sqrt(2));
    EXPECT("all", value(ct_var_attention(q, k, v, ct_var_null())), 1e-14,
           (10 * e + 20 + 30 * f) / (e + 1 + f));
    ct_tensor *shown = ct_from_doubles(CT_BOOL, 2, (int64_t[]){1, 3}, 3, (double[]){1, 1, 0});
    ct_var mask = ct_constant(tape, shown, NULL);
    ct_free(shown);
    ct_var y = ct_var_attention(q, k, v, mask);
    EXPECT("two", value(y), 1e-14, (10 * e + 20) / (e + 1));
    EXPECT("hidden keys have no slope", value(ct_var_slice(grad(y, k), 0, 2, 3, 1)), 0, 0, 0);
}
END_TEST

START_TEST(masks_hide_or_are_added) {
    ct_var q = leaf(T2(2, 1, 1, 2)), k = leaf(T2(2, 1, 1, 2)), v = leaf(T2(2, 1, 10, 20));
    EXPECT("causal mask", value(ct_var_causal_mask(tape, 2, 3)), 0, 1, 0, 0, 1, 1, 0);
    ct_var y = ct_var_attention(q, k, v, ct_var_causal_mask(tape, 2, 2));
    EXPECT("the first sees itself alone", value(ct_var_slice(y, 0, 0, 1, 1)), 0, 10);
    ct_var added = ct_var_attention(q, k, v, leaf(T2(2, 2, 0, -INF, 0, 0)));
    ck_assert(same_bits(ct_value(y), ct_value(added)));
    ct_var_attention(q, k, v, leaf(T1(0, 0, 0)));
    refused(CT_ESHAPE, "the mask of shape [3] does not broadcast to the scores of shape [2, 2]");
    q = leaf(T2(2, 1, 1, 2)), k = leaf(T2(2, 1, 1, 2));
    ct_tensor *zero = ct_zeros(CT_I64, 0, NULL);
    ct_var_attention(q, k, k, ct_constant(tape, zero, NULL));
    ct_free(zero);
    refused(CT_EDTYPE, "a mask is of bool or, to be added, of f64: i64 was given");
    ct_var_causal_mask(tape, -1, 2);
    refused(CT_ESHAPE, "negative");
}
END_TEST

START_TEST(embeddings_are_rows_of_a_table) {
    ct_var table = leaf(T2(3, 2, 1, 2, 3, 4, 5, 6));
    ct_tensor *index = ct_from_doubles(CT_I64, 2, (int64_t[]){1, 3}, 3, (double[]){2, 0, 2});
    ct_var at = ct_constant(tape, index, NULL);
    ct_free(index);
    ct_var y = ct_var_embedding(table, at);
    ck_assert_int_eq(ct_rank(ct_value(y)), 3);
    EXPECT("rows", value(y), 0, 5, 6, 1, 2, 5, 6);
    EXPECT("repeated rows add up", value(grad(y, table)), 0, 1, 1, 0, 0, 2, 2);
    ct_var_embedding(leaf(T1(1)), at);
    refused(CT_ESHAPE, "[rows, items]: rank 1 was given");
}
END_TEST

/* --- losses --- */

START_TEST(losses_by_their_formulas) {
    ct_var x = leaf(T1(0.5, -2, 3)), t = leaf(T1(0, 1, 3));
    EXPECT("l1", value(ct_var_l1(x, t, CT_REDUCE_NONE)), 1e-15, 0.5, 3, 0);
    EXPECT("slope of l1", value(grad(ct_var_l1(x, t, CT_REDUCE_SUM), x)), 0, 1, -1, 0);
    EXPECT("huber", value(ct_var_huber(x, t, 2, CT_REDUCE_NONE)), 1e-15, 0.125, 2 * (3 - 1), 0);
    EXPECT("smooth l1", value(ct_var_smooth_l1(x, t, 2, CT_REDUCE_MEAN)), 1e-15, (0.0625 + 2) / 3);
    ct_var p = leaf(T1(0.25, 0, 0.75)), lq = leaf(T1(log(0.5), log(0.25), log(0.25)));
    EXPECT("kl", value(ct_var_kl_div(lq, p, CT_REDUCE_NONE)), 1e-15, 0.25 * log(0.5), 0,
           0.75 * log(3));
    ct_var l = leaf(T2(2, 2, -1, -2, -3, -4));
    ct_tensor *labels = ct_from_doubles(CT_I64, 1, (int64_t[]){2}, 2, (double[]){1, 0});
    ct_var c = ct_constant(tape, labels, NULL);
    ct_free(labels);
    EXPECT("nll", value(ct_var_nll(l, c, NULL, CT_REDUCE_SUM)), 0, 5);
}
END_TEST

START_TEST(cross_entropy_of_a_logit_is_its_limit_far_out) {
    ct_var x = leaf(T1(0, 800, -800, INF, -INF, 800, -INF)), t = leaf(T1(0.25, 1, 0, 1, 0, 0, 1));
    ct_var y = ct_var_bce_with_logits(x, t, CT_REDUCE_NONE);
    EXPECT("values", value(y), 1e-15, log(2), 0, 0, 0, 0, 800, INF);
    EXPECT("slopes", value(grad(y, x)), 1e-15, 0.25, 0, 0, 0, 0, 1, -1);
}
END_TEST

/* Of two items in three classes, the second ignored. */
START_TEST(classes_are_weighed_ignored_and_smoothed) {
    ct_tensor *labels = ct_from_doubles(CT_I64, 1, (int64_t[]){3}, 3, (double[]){2, -100, 0});
    ct_tensor *weights = T1(1, 10, 4);
    ct_var l = ct_constant(tape, labels, NULL),
           x = leaf(T2(3, 3, -1, -2, -3, -4, -5, -6, -7, -8, -9));
    struct ct_class_loss c = {.weights = weights, .has_ignored = true, .ignored = -100};
    EXPECT("none", value(ct_var_nll(x, l, &c, CT_REDUCE_NONE)), 0, 12, 0, 7);
    ct_var mean = ct_var_nll(x, l, &c, CT_REDUCE_MEAN);
    EXPECT("mean", value(mean), 1e-15, 19. / 5);
    EXPECT("slopes", value(grad(mean, x)), 1e-15, 0, 0, -0.8, 0, 0, 0, -0.2, 0, 0);
    c.smoothing = 0.3;
    EXPECT("smoothed", value(ct_var_nll(x, l, &c, CT_REDUCE_NONE)), 1e-14,
           0.7 * 12 + 0.1 * (1 + 20 + 12), 0, 0.7 * 7 + 0.1 * (7 + 80 + 36));
    ct_var soft = leaf(T2(1, 3, 0.5, 0, 0.5)), logits = leaf(T2(1, 3, 1, -INF, 2));
    double z = log(exp(1) + exp(2));
    EXPECT("soft", value(ct_var_cross_entropy_soft(logits, soft, CT_REDUCE_SUM)), 1e-15, z - 1.5);
    ct_free(labels), ct_free(weights);
}
END_TEST

START_TEST(losses_do_not_broadcast) {
    typedef ct_var loss_fn(ct_var, ct_var, enum ct_reduction);
    loss_fn *losses[] = {ct_var_l1, ct_var_bce_with_logits, ct_var_kl_div, ct_var_mse};
    for (size_t i = 0; i < COUNT(losses); i++) {
        ct_var x = leaf(T2(3, 1, 1, 2, 3)), t = leaf(T1(1, 2, 3));
        losses[i](x, t, CT_REDUCE_MEAN);
        refused(CT_ESHAPE, "a loss does not broadcast");
    }
    ct_var x = leaf(T1(1)), t = leaf(T1(2));
    ct_var_l1(x, t, (enum ct_reduction)9);
    refused(CT_EINVAL, "there is no reduction 9");
    x = leaf(T1(1)), t = leaf(T1(2));
    ct_var_l1(x, ct_var_null(), CT_REDUCE_SUM);
    refused(CT_EINVAL, "l1(f64[1]): the target is the null variable");
    x = leaf(T2(2, 1, 1, 2));
    ct_var_batch_norm(x, ct_var_null(), leaf(T1(1)), ct_var_null(), ct_var_null(), 0);
    refused(CT_EINVAL, "batch_norm(f64[2, 1]) in batch_norm: the mean is the null variable");
    x = leaf(ct_ones(CT_F64, 3, (int64_t[]){1, 1, 3}));
    ct_var_conv(x, ct_var_null(), ct_var_null(), NULL);
    refused(CT_EINVAL, "conv(f64[1, 1, 3]) in conv: the kernels are the null variable");
    x = leaf(T1(1)), t = leaf(T1(2));
    ct_var_huber(x, t, 0, CT_REDUCE_SUM);
    refused(
        CT_EDOMAIN,
        "huber(f64[1], f64[1]): the bound between square and line is positive and finite, not 0");
}
END_TEST

/* --- all of it, checked --- */

static ct_var small_network(void *context, ct_tape *t, size_t n, const ct_var *in) {
    (void)context, (void)t, (void)n;
    struct ct_window w = {.before = {1, 1}, .after = {1, 1}};
    ct_var mean, variance, y = ct_var_conv(in[0], in[1], in[2], &w);
    if (ct_var_batch_moments(y, &mean, &variance) != CT_OK)
        return ct_var_null();
    y = ct_var_silu(ct_var_batch_norm(y, mean, variance, ct_var_null(), ct_var_null(), 1e-3));
    y = ct_var_avg_pool(y, (int64_t[]){2, 2}, &(struct ct_window){.stride = {2, 2}}, true);
    y = ct_var_conv_transpose(y, in[1], ct_var_null(), &(struct ct_window){.stride = {2, 2}});
    return ct_var_mean(ct_var_square(y), CT_ALL, false);
}

START_TEST(a_small_network_passes_the_check_to_second_order) {
    struct draw draw = {4};
    ct_tensor *x = draw_tensor(&draw, CT_F64, 4, (int64_t[]){2, 2, 4, 4}, -1, 1);
    ct_tensor *w = draw_tensor(&draw, CT_F64, 4, (int64_t[]){3, 2, 3, 3}, -1, 1);
    ct_tensor *b = draw_tensor(&draw, CT_F64, 1, (int64_t[]){3}, -1, 1);
    struct ct_check_options options = ct_check_options_init();
    struct ct_check_report report;
    options.second_order = true;
    options.max_items = 20;
    ck_assert_int_eq(ct_check_gradient(small_network, NULL, 3, (const ct_tensor *[]){x, w, b},
                                       &options, &report),
                     CT_OK);
    ck_assert_msg(report.verdict == CT_CHECK_PASS, "%s", report.message);
    ct_free(x), ct_free(w), ct_free(b);
}
END_TEST

Suite *suite_network(void) {
    Suite *suite = suite_create("network");
    TCase *tc = tcase_create("network");
    tcase_add_checked_fixture(tc, setup, teardown_well);
    tcase_add_loop_test(tc, convolutions_and_their_gradients, 0, COUNT(geometries));
    tcase_add_loop_test(tc, transposed_convolutions_are_transposes, 0, COUNT(geometries));
    tcase_add_test(tc, convolutions_say_what_does_not_fit);
    tcase_add_test(tc, pools_take_the_first_maximum_and_the_mean);
    tcase_add_test(tc, pools_ignore_padding_below_all_items);
    tcase_add_test(tc, batches_are_normalised_per_channel);
    tcase_add_test(tc, statistics_are_tracked);
    tcase_add_test(tc, training_batches_tell_their_moments);
    tcase_add_test(tc, rows_are_divided_by_their_root_mean_square);
    tcase_add_test(tc, dropout_depends_on_seed_step_and_op_alone);
    tcase_add_test(tc, attention_sees_what_the_mask_shows);
    tcase_add_test(tc, masks_hide_or_are_added);
    tcase_add_test(tc, embeddings_are_rows_of_a_table);
    tcase_add_test(tc, losses_by_their_formulas);
    tcase_add_test(tc, cross_entropy_of_a_logit_is_its_limit_far_out);
    tcase_add_test(tc, classes_are_weighed_ignored_and_smoothed);
    tcase_add_test(tc, losses_do_not_broadcast);
    tcase_add_test(tc, a_small_network_passes_the_check_to_second_order);
    suite_add_tcase(suite, tc);
    return suite;
}
