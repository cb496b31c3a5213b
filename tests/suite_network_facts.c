/* Network ops against PyTorch, whose numbers stand in network_facts.inc: values, gradients, f64 and f32. The second
   order is checked by duals, tapes and differences. */

#include "autodiff/ct_check.h"
#include "autodiff/ct_derivatives.h"
#include "autodiff/ct_network.h"
#include "autodiff/ct_var_ops.h"
#include "case_tools.h"
#include "ct_test.h"
#include "digest_tools.h"
#include "io/ct_digest.h"
#include "io/ct_safetensors.h"
#include "scarce_memory.h"
#include "tensor/ct_alloc.h"
#include "tensor/ct_convert.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- inputs that network_facts.py makes too */

static int64_t bits(size_t i, int seed) {
    uint64_t k = (i + 1000 * (uint64_t)seed + 1) * 2654435761u & 0xffffffff;
    k = (k ^ k >> 15) * 2246822519u & 0xffffffff;
    return (int64_t)(k >> 24);
}

/* How an item is made of its bits. */
enum kind { SEQUENCE, PART, LABEL, MASK };

/* NULL where there is no memory. */
static ct_tensor *make(const ct_scalar *scalar, int rank, const int64_t *shape, int seed,
                       enum kind kind, int64_t classes) {
    size_t count = 1;
    for (int i = 0; i < rank; i++)
        count *= (size_t)shape[i];
    double *items = malloc((count + 1) * sizeof *items);
    ck_assert_ptr_nonnull(items);
    for (size_t i = 0; i < count; i++) {
        double item = (double)(2 * bits(i, seed) - 255) / 128;
        items[i] = kind == SEQUENCE ? item
                   : kind == PART   ? (item + 2) / 4
                   : kind == LABEL  ? (double)(bits(i, seed) % classes)
                                    : bits(i, seed) >= 64;
    }
    ct_tensor *t = ct_from_doubles(scalar, rank, shape, count, items);
    free(items);
    return t;
}

/* Constants on x's tape: of x's scalar type unless they are labels or a mask. */
static ct_var constant(ct_var x, int rank, const int64_t *shape, int seed, enum kind kind,
                       int64_t classes) {
    ct_tensor *t = make(kind == LABEL  ? CT_I64
                        : kind == MASK ? CT_BOOL
                                       : CT_F64,
                        rank, shape, seed, kind, classes);
    ct_tensor *same =
        kind == LABEL || kind == MASK ? ct_copy(t) : ct_astype(t, ct_dtype(ct_value(x)));
    ct_var v = ct_constant(x.tape, same, NULL);
    ct_free(t);
    ct_free(same);
    return v;
}

#define SHAPE(...)                                                                                 \
    COUNT(((int64_t[]){__VA_ARGS__})), (int64_t[]) {                                               \
        __VA_ARGS__                                                                                \
    }
#define SEQ(seed, ...)             constant(*x, SHAPE(__VA_ARGS__), seed, SEQUENCE, 0)
#define PART_OF(seed, ...)         constant(*x, SHAPE(__VA_ARGS__), seed, PART, 0)
#define LABELS(classes, seed, ...) constant(*x, SHAPE(__VA_ARGS__), seed, LABEL, classes)
#define MASK_OF(seed, ...)         constant(*x, SHAPE(__VA_ARGS__), seed, MASK, 0)

static ct_var shares(ct_var p) {
    ct_var sum = ct_var_sum(p, 1, true);
    return ct_var_div(p, sum);
}

/* ---- the cases */

#define FN(name, expression)                                                                       \
    static ct_var name(const ct_var *x) {                                                          \
        return expression;                                                                         \
    }
#define WINDOW(...) (&(const struct ct_window){__VA_ARGS__})
#define SIZE(...)   ((const int64_t[]){__VA_ARGS__})

FN(dense_identity, ct_var_dense(x[0], x[1], x[2], CT_IDENTITY))
FN(dense_relu, ct_var_dense(x[0], x[1], x[2], CT_RELU))
FN(dense_tanh, ct_var_dense(x[0], x[1], x[2], CT_TANH))
FN(dense_sigmoid, ct_var_dense(x[0], x[1], x[2], CT_SIGMOID))
FN(dense_silu, ct_var_dense(x[0], x[1], x[2], CT_SILU))
FN(dense_gelu, ct_var_dense(x[0], x[1], x[2], CT_GELU))
FN(dense_gelu_tanh, ct_var_dense(x[0], x[1], x[2], CT_GELU_TANH))
FN(dense_without_bias, ct_var_dense(x[0], x[1], ct_var_null(), CT_SIGMOID))
FN(dense_batches, ct_var_dense(x[0], x[1], x[2], CT_TANH))
FN(softmax_0, ct_var_softmax(*x, 0))
FN(softmax_1, ct_var_softmax(*x, 1))
FN(softmax_2, ct_var_softmax(*x, -1))
FN(log_softmax_0, ct_var_log_softmax(*x, 0))
FN(log_softmax_1, ct_var_log_softmax(*x, -2))
FN(log_softmax_2, ct_var_log_softmax(*x, 2))
FN(layer_norm_1, ct_var_layer_norm(x[0], -1, x[1], x[2], 1e-5))
FN(layer_norm_2, ct_var_layer_norm(x[0], 1, x[1], x[2], 1e-3))
FN(rms_norm, ct_var_rms_norm(x[0], x[1], 1e-5))

static ct_var batch_norm_0(const ct_var *x) {
    return ct_var_batch_norm_train(x[0], x[1], x[2], 1e-5, NULL, NULL);
}

static ct_var batch_norm_moments_0(const ct_var *x) {
    ct_var mean, variance;
    if (ct_var_batch_moments(x[0], &mean, &variance) != CT_OK)
        return ct_var_null();
    return ct_var_batch_norm(x[0], mean, variance, x[1], x[2], 1e-5);
}

static ct_var batch_norm_eval_0(const ct_var *x) {
    int64_t channels = ct_extent(ct_value(x[0]), 1);
    ct_var mean = SEQ(7, channels), variance = PART_OF(8, channels);
    return ct_var_batch_norm(x[0], mean, variance, x[1], x[2], 1e-5);
}
#define batch_norm_1         batch_norm_0
#define batch_norm_2         batch_norm_0
#define batch_norm_moments_1 batch_norm_moments_0
#define batch_norm_moments_2 batch_norm_moments_0
#define batch_norm_eval_1    batch_norm_eval_0
#define batch_norm_eval_2    batch_norm_eval_0

#define CONV(name, ...)   FN(name, ct_var_conv(x[0], x[1], x[2], WINDOW(__VA_ARGS__)))
#define TURNED(name, ...) FN(name, ct_var_conv_transpose(x[0], x[1], x[2], WINDOW(__VA_ARGS__)))
CONV(conv1d_0, .stride = {2}, .before = {1}, .after = {1})
CONV(conv1d_1, .dilation = {3}, .groups = 2)
FN(conv1d_2, ct_var_conv(x[0], x[1], x[2], NULL))
FN(conv2d_0, ct_var_conv(x[0], x[1], x[2], NULL))
CONV(conv2d_1, .stride = {2, 1}, .before = {1, 2}, .after = {1, 2}, .dilation = {2, 1})
CONV(conv2d_2, .stride = {1, 2}, .before = {1, 1}, .after = {1, 1}, .groups = 2)
CONV(conv2d_3, .before = {2, 1}, .after = {2, 1}, .dilation = {2, 2}, .groups = 3)
CONV(conv2d_4, .stride = {2, 2})
CONV(conv3d_0, .stride = {1, 1, 2}, .before = {1, 0, 1}, .after = {1, 0, 1})
CONV(conv3d_1, .groups = 2)
TURNED(conv_transpose1d_0, .stride = {2}, .before = {1}, .after = {1}, .extra = {1})
TURNED(conv_transpose1d_1, .stride = {3}, .dilation = {2}, .groups = 2, .extra = {2})
TURNED(conv_transpose2d_0, .stride = {2, 2}, .before = {1, 1}, .after = {1, 1}, .extra = {1, 1})
TURNED(conv_transpose2d_1, .stride = {2, 3}, .before = {1, 0}, .after = {1, 0}, .extra = {0, 2},
       .groups = 2, .dilation = {2, 1})
FN(conv_transpose2d_2, ct_var_conv_transpose(x[0], x[1], x[2], NULL))

FN(max_pool1d, ct_var_max_pool(*x, SIZE(3), WINDOW(.stride = {2}, .before = {1}, .after = {1})))
FN(max_pool2d_0, ct_var_max_pool(*x, SIZE(2, 2), WINDOW(.stride = {2, 2})))
FN(max_pool2d_1,
   ct_var_max_pool(*x, SIZE(3, 2), WINDOW(.stride = {2, 1}, .before = {1, 1}, .after = {1, 1})))
FN(max_pool2d_2,
   ct_var_max_pool(*x, SIZE(2, 3),
                   WINDOW(.stride = {1, 2}, .before = {1, 1}, .after = {1, 1}, .dilation = {3, 2})))
FN(max_pool2d_ceil, ct_var_max_pool(*x, SIZE(3, 3), WINDOW(.stride = {2, 2}, .after = {1, 0})))
FN(max_pool3d,
   ct_var_max_pool(*x, SIZE(2, 2, 2),
                   WINDOW(.stride = {1, 2, 2}, .before = {0, 1, 0}, .after = {0, 1, 0})))
FN(avg_pool1d,
   ct_var_avg_pool(*x, SIZE(3), WINDOW(.stride = {2}, .before = {1}, .after = {1}), true))
FN(avg_pool2d_0, ct_var_avg_pool(*x, SIZE(2, 2), WINDOW(.stride = {2, 2}), true))
FN(avg_pool2d_1, ct_var_avg_pool(*x, SIZE(3, 2),
                                 WINDOW(.stride = {2, 1}, .before = {1, 1}, .after = {1, 1}), true))
FN(avg_pool2d_2,
   ct_var_avg_pool(*x, SIZE(3, 2), WINDOW(.stride = {2, 1}, .before = {1, 1}, .after = {1, 1}),
                   false))
FN(avg_pool2d_ceil,
   ct_var_avg_pool(*x, SIZE(3, 3), WINDOW(.stride = {2, 2}, .after = {1, 0}), false))
FN(global_max_pool, ct_var_global_max_pool(*x))
FN(global_avg_pool, ct_var_global_avg_pool(*x))

FN(attention, ct_var_attention(x[0], x[1], x[2], ct_var_null()))
FN(attention_bool, ct_var_attention(x[0], x[1], x[2], MASK_OF(9, 5, 6)))
FN(attention_added, ct_var_attention(x[0], x[1], x[2], SEQ(9, 3, 5, 6)))
FN(attention_causal, ct_var_attention(x[0], x[1], x[2], ct_var_causal_mask(x->tape, 5, 6)))
FN(embedding, ct_var_embedding(*x, LABELS(7, 9, 4, 5)))

static ct_var cross_entropy(const ct_var *x, ct_var labels, bool weights, bool ignore,
                            double smoothing, enum ct_reduction reduction) {
    ct_tensor *w = make(CT_F64, 1, (int64_t[]){4}, 8, PART, 0);
    struct ct_class_loss c = {weights ? w : NULL, ignore, 2, smoothing};
    ct_var y = ct_var_cross_entropy_of(*x, labels, &c, reduction);
    ct_free(w);
    return y;
}
/* On labels [5], and on [2, 3] with an axis of space. */
#define CROSS_ENTROPY(name, ...)                                                                   \
    FN(cross_entropy_##name, cross_entropy(x, LABELS(4, 9, 5), __VA_ARGS__))                       \
    FN(cross_entropy_space_##name, cross_entropy(x, LABELS(4, 9, 2, 3), __VA_ARGS__))
FN(cross_entropy_mean, ct_var_cross_entropy(*x, LABELS(4, 9, 5), CT_REDUCE_MEAN))
FN(cross_entropy_sum, ct_var_cross_entropy(*x, LABELS(4, 9, 5), CT_REDUCE_SUM))
FN(cross_entropy_none, ct_var_cross_entropy(*x, LABELS(4, 9, 5), CT_REDUCE_NONE))
FN(cross_entropy_space_mean, ct_var_cross_entropy_of(*x, LABELS(4, 9, 2, 3), NULL, CT_REDUCE_MEAN))
FN(cross_entropy_space_sum, ct_var_cross_entropy_of(*x, LABELS(4, 9, 2, 3), NULL, CT_REDUCE_SUM))
FN(cross_entropy_space_none, ct_var_cross_entropy_of(*x, LABELS(4, 9, 2, 3), NULL, CT_REDUCE_NONE))
CROSS_ENTROPY(weights, true, false, 0, CT_REDUCE_MEAN)
CROSS_ENTROPY(ignore, false, true, 0, CT_REDUCE_MEAN)
CROSS_ENTROPY(smooth, false, false, 0.3, CT_REDUCE_MEAN)
CROSS_ENTROPY(all, true, true, 0.3, CT_REDUCE_MEAN)
CROSS_ENTROPY(all_sum, true, true, 0.3, CT_REDUCE_SUM)
CROSS_ENTROPY(all_none, true, true, 0.3, CT_REDUCE_NONE)
FN(cross_entropy_soft, ct_var_cross_entropy_soft(*x, shares(PART_OF(9, 5, 4)), CT_REDUCE_MEAN))
FN(cross_entropy_soft_none,
   ct_var_cross_entropy_soft(*x, shares(PART_OF(9, 2, 4, 3)), CT_REDUCE_NONE))
FN(nll, ct_var_nll(*x, LABELS(4, 9, 5), NULL, CT_REDUCE_MEAN))

static ct_var nll_weights(const ct_var *x) {
    ct_tensor *w = make(CT_F64, 1, (int64_t[]){4}, 8, PART, 0);
    struct ct_class_loss c = {.weights = w, .has_ignored = true, .ignored = 1};
    ct_var y = ct_var_nll(*x, LABELS(4, 9, 2, 3), &c, CT_REDUCE_MEAN);
    ct_free(w);
    return y;
}

/* p = (x + 2) / 4 */
static ct_var probability(ct_var x) {
    const ct_scalar *scalar = ct_dtype(ct_value(x));
    ct_var two = ct_constant_of(x.tape, scalar, 2), four = ct_constant_of(x.tape, scalar, 4);
    return ct_var_div(ct_var_add(x, two), four);
}

#define REDUCED(how, reduction)                                                                    \
    FN(bce_logits_##how, ct_var_bce_with_logits(*x, PART_OF(9, 3, 5), reduction))                  \
    FN(mse_##how, ct_var_mse(x[0], x[1], reduction))                                               \
    FN(l1_##how, ct_var_l1(x[0], x[1], reduction))                                                 \
    FN(huber_##how, ct_var_huber(x[0], x[1], 0.7, reduction))                                      \
    FN(smooth_l1_##how, ct_var_smooth_l1(x[0], x[1], 0.6, reduction))                              \
    FN(kl_##how, ct_var_kl_div(*x, PART_OF(9, 3, 5), reduction))                                   \
    static ct_var bce_##how(const ct_var *x) {                                                     \
        ct_var target = PART_OF(9, 3, 5), p = probability(*x);                                     \
        return ct_var_bce(p, target, reduction);                                                   \
    }                                                                                              \
    static ct_var bce_weighed_##how(const ct_var *x) {                                             \
        ct_var target = PART_OF(9, 3, 5), weights = PART_OF(8, 5);                                 \
        return ct_var_bce_weighed(*x, target, weights, reduction);                                 \
    }
REDUCED(mean, CT_REDUCE_MEAN)
REDUCED(sum, CT_REDUCE_SUM)
REDUCED(none, CT_REDUCE_NONE)

/* ---- the facts */

enum { MOST = 3 };

struct shape {
    int rank;
    int64_t extent[5];
};

static const struct fact {
    const char *name;
    ct_var (*record)(const ct_var *x);
    int inputs;
    struct shape input[MOST], result;
    double value, gradient[MOST];
} facts[] = {
#include "network_facts.inc"
};

/* The sum of items times the weights of a seed, in f64. */
static double weighed(const ct_tensor *t, int seed) {
    size_t count = ct_count(t);
    double sum = 0, *items = malloc((count + 1) * sizeof *items);
    ck_assert_int_eq(ct_to_doubles(t, count, items), CT_OK);
    for (size_t i = 0; i < count; i++)
        sum += items[i] * (double)(2 * bits(i, seed) - 255) / 128;
    free(items);
    return sum;
}

static void expect_close(const struct fact *fact, const char *what, double ours, double theirs,
                         double tolerance) {
    ck_assert_msg(fabs(ours - theirs) <= tolerance * fmax(1, fabs(theirs)),
                  "%s: %s is %.17g, not %.17g", fact->name, what, ours, theirs);
}

static void check_fact(const struct fact *fact, const ct_scalar *scalar, double tolerance) {
    ct_tape *tape = ct_tape_new();
    ct_var x[MOST], dx[MOST];
    for (int i = 0; i < fact->inputs; i++) {
        ct_tensor *t = make(scalar, fact->input[i].rank, fact->input[i].extent, i + 1, SEQUENCE, 0);
        x[i] = ct_leaf(tape, t, NULL);
        ct_free(t);
    }
    ct_var y = fact->record(x);
    const ct_tensor *result = ct_value(y);
    ck_assert_msg(result != NULL, "%s: %s", fact->name, ct_tape_message(tape));
    ck_assert_msg(ct_rank(result) == fact->result.rank, "%s", fact->name);
    for (int i = 0; i < ct_rank(result); i++)
        ck_assert_msg(ct_shape(result)[i] == fact->result.extent[i], "%s: axis %d", fact->name, i);
    expect_close(fact, "the value", weighed(result, 21), fact->value, tolerance);
    ct_tensor *g = make(scalar, fact->result.rank, fact->result.extent, 20, SEQUENCE, 0);
    ct_var u = ct_constant(tape, g, NULL);
    ct_free(g);
    ck_assert_msg(ct_grad(y, u, (size_t)fact->inputs, x, dx) == CT_OK, "%s: %s", fact->name,
                  ct_tape_message(tape));
    for (int i = 0; i < fact->inputs; i++)
        expect_close(fact, "a gradient", weighed(ct_value(dx[i]), 22), fact->gradient[i],
                     tolerance);
    ct_tape_free(tape);
}

START_TEST(pytorch_agrees) {
    check_fact(&facts[_i], CT_F64, 1e-12);
    check_fact(&facts[_i], CT_F32, 2e-5);
    ck_assert_uint_eq(ct_live_blocks(), 0);
}
END_TEST

static ct_var recorded(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    const struct fact *fact = context;
    (void)tape, (void)n;
    return fact->record(in);
}

START_TEST(the_check_passes_to_second_order) {
    struct fact fact = facts[_i];
    ct_tensor *x[MOST];
    for (int i = 0; i < fact.inputs; i++)
        x[i] = make(CT_F64, fact.input[i].rank, fact.input[i].extent, i + 1, SEQUENCE, 0);
    struct ct_check_options options = ct_check_options_init();
    struct ct_check_report report;
    options.second_order = true;
    options.max_items = 6;
    ct_status status = ct_check_gradient(recorded, &fact, (size_t)fact.inputs,
                                         (const ct_tensor *const *)x, &options, &report);
    ck_assert_msg(status == CT_OK, "%s: %s", fact.name, ct_error()->message);
    /* Equal items are kinks of a distance and a maximum. */
    bool kinks = strncmp(fact.name, "l1", 2) == 0 || strstr(fact.name, "max_pool");
    ck_assert_msg(report.verdict == CT_CHECK_PASS || (kinks && report.verdict == CT_CHECK_KINK),
                  "%s: %s", fact.name, report.message);
    for (int i = 0; i < fact.inputs; i++)
        ct_free(x[i]);
}
END_TEST

/* ---- empty batches */

/* Of how many inputs, from the first, axis 0 is a batch. */
static int batches_of(const char *name) {
    if (strncmp(name, "batch_norm_moments", 18) == 0)
        return 0; /* there is no mean of nothing */
    static const char *const one[] = {"dense",    "softmax_1",  "softmax_2", "layer_norm",
                                      "rms_norm", "batch_norm", "conv",      "max_pool",
                                      "avg_pool", "global"};
    static const char *const two[] = {"mse", "l1", "huber", "smooth_l1"};
    for (size_t i = 0; i < COUNT(one); i++)
        if (strncmp(name, one[i], strlen(one[i])) == 0)
            return 1;
    for (size_t i = 0; i < COUNT(two); i++)
        if (strncmp(name, two[i], strlen(two[i])) == 0)
            return 2;
    return strncmp(name, "attention", 9) == 0 && strcmp(name, "attention_added") ? 3 : 0;
}

/* Nothing comes of nothing, and what all images share gets a gradient of zeros. */
START_TEST(a_batch_may_be_empty) {
    const struct fact *fact = &facts[_i];
    int batches = batches_of(fact->name);
    ct_tape *tape = ct_tape_new();
    ct_var x[MOST], dx[MOST];
    for (int i = 0; i < fact->inputs; i++) {
        struct shape shape = fact->input[i];
        shape.extent[0] = i < batches ? 0 : shape.extent[0];
        ct_tensor *t = make(CT_F64, shape.rank, shape.extent, i + 1, SEQUENCE, 0);
        x[i] = ct_leaf(tape, t, NULL);
        ct_free(t);
    }
    if (batches > 0) {
        ct_var y = fact->record(x);
        const ct_tensor *result = ct_value(y);
        ck_assert_msg(result != NULL, "%s: %s", fact->name, ct_tape_message(tape));
        ck_assert_msg(ct_rank(result) == 0 || ct_shape(result)[0] == 0, "%s", fact->name);
        ck_assert_int_eq(ct_grad(y, ct_var_null(), (size_t)fact->inputs, x, dx), CT_OK);
        for (int i = 0; i < fact->inputs; i++) {
            ck_assert_msg(ct_same_shape(ct_value(dx[i]), ct_value(x[i])), "%s", fact->name);
            ck_assert_msg(weighed(ct_value(dx[i]), 22) == 0, "%s", fact->name);
        }
    }
    ct_tape_free(tape);
}
END_TEST

/* ---- the same bits for every instruction set and number of threads */

static void add_tensor(struct lines *lines, const struct fact *fact, const char *what,
                       const ct_tensor *t) {
    char digest[CT_SHA256_TEXT_BYTES] = "";
    ck_assert_msg(t != NULL, "%s", fact->name);
    ck_assert_int_eq(ct_tensors_digest(1, &(struct ct_named_tensor){"value", t}, digest), CT_OK);
    add_digest(lines, digest, "%s %s %s", fact->name, ct_dtype(t)->name, what);
}

/* Of numbers whose sums are rounded, unlike those of the facts. */
static void add_fact(struct lines *lines, const struct fact *fact, const ct_scalar *scalar) {
    static const char *const names[MOST] = {"gradient 0", "gradient 1", "gradient 2"};
    struct draw draw = {(uint64_t)strlen(fact->name)};
    ct_tape *tape = ct_tape_new();
    ct_var x[MOST], dx[MOST];
    for (int i = 0; i < fact->inputs; i++) {
        ct_tensor *t =
            draw_tensor(&draw, scalar, fact->input[i].rank, fact->input[i].extent, -2, 2);
        x[i] = ct_leaf(tape, t, NULL);
        ct_free(t);
    }
    ct_var y = fact->record(x);
    add_tensor(lines, fact, "value", ct_value(y));
    ct_tensor *g = draw_tensor(&draw, scalar, ct_rank(ct_value(y)), ct_shape(ct_value(y)), -1, 1);
    ct_var u = ct_constant(tape, g, NULL);
    ct_free(g);
    ck_assert_int_eq(ct_grad(y, u, (size_t)fact->inputs, x, dx), CT_OK);
    for (int i = 0; i < fact->inputs; i++)
        add_tensor(lines, fact, names[i], ct_value(dx[i]));
    ct_tape_free(tape);
}

static ct_var pool_max(const ct_var *x) {
    return ct_var_max_pool(*x, SIZE(3, 3),
                           WINDOW(.stride = {2, 2}, .before = {1, 1}, .after = {1, 1}));
}

static ct_var pool_mean(const ct_var *x) {
    return ct_var_avg_pool(*x, SIZE(3, 3),
                           WINDOW(.stride = {2, 2}, .before = {1, 1}, .after = {1, 1}), false);
}

CONV(conv_large, .before = {1, 1}, .after = {1, 1})

/* Large enough for several threads and blocks. */
static const struct fact large[] = {
    {"conv large",
     conv_large,
     3,
     {{4, {3, 20, 33, 31}}, {4, {17, 20, 3, 3}}, {1, {17}}},
     {0},
     0,
     {0}},
    {"max_pool large", pool_max, 1, {{4, {5, 9, 41, 37}}}, {0}, 0, {0}},
    {"avg_pool large", pool_mean, 1, {{4, {5, 9, 41, 37}}}, {0}, 0, {0}},
    {"batch_norm large", batch_norm_0, 3, {{4, {5, 9, 41, 37}}, {1, {9}}, {1, {9}}}, {0}, 0, {0}},
    {"rms_norm large", rms_norm, 2, {{2, {67, 1100}}, {1, {1100}}}, {0}, 0, {0}},
    {"attention large",
     attention,
     3,
     {{3, {4, 67, 65}}, {3, {4, 301, 65}}, {3, {4, 301, 33}}},
     {0},
     0,
     {0}},
};

static void compute(struct lines *lines) {
    static const ct_scalar *const reals[] = {CT_F32, CT_F64};
    for (size_t s = 0; s < COUNT(reals); s++) {
        for (size_t i = 0; i < COUNT(facts); i++)
            add_fact(lines, &facts[i], reals[s]);
        for (size_t i = 0; i < COUNT(large); i++)
            add_fact(lines, &large[i], reals[s]);
    }
}

START_TEST(bits_are_the_committed_ones) {
    static const char *const threads[] = {"1", "2", "3", "7"};
    check_digests("network_facts", "tests/golden/network_digests.txt", compute, digest_isas[_i / 4],
                  threads[_i % 4]);
}
END_TEST

/* ---- no memory, at every allocation */

START_TEST(failing_allocations_lose_nothing) {
    static const char *const chosen[] = {
        "conv2d_2",     "conv_transpose2d_1", "max_pool2d_2",      "avg_pool2d_2",
        "batch_norm_1", "attention_causal",   "cross_entropy_all", "bce_weighed_mean"};
    if (!make_memory_scarce())
        return;
    for (size_t i = 0; i < COUNT(facts); i++) {
        bool is_chosen = false, done = false;
        for (size_t k = 0; k < COUNT(chosen); k++)
            is_chosen = is_chosen || strcmp(facts[i].name, chosen[k]) == 0;
        for (long left = 0; is_chosen && !done; left++) {
            ct_tensor *in[MOST], *gradient[MOST] = {NULL}, *value = NULL;
            struct fact fact = facts[i];
            for (int k = 0; k < fact.inputs; k++)
                in[k] = make(CT_F64, fact.input[k].rank, fact.input[k].extent, k + 1, SEQUENCE, 0);
            size_t before = ct_live_blocks();
            starve(left);
            ct_status status = ct_vjp(recorded, &fact, (size_t)fact.inputs,
                                      (const ct_tensor *const *)in, NULL, &value, gradient);
            allocations_left = -1;
            ck_assert_msg(status == CT_OK || status == CT_ENOMEM, "%s: %s", fact.name,
                          ct_error()->message);
            for (int k = 0; k < fact.inputs; k++)
                ct_free(gradient[k]);
            ct_free(value);
            ck_assert_uint_eq(ct_live_blocks(), before);
            for (int k = 0; k < fact.inputs; k++)
                ct_free(in[k]);
            done = status == CT_OK;
            ck_assert_int_lt(left, 5000);
        }
    }
}
END_TEST

Suite *suite_network_facts(void) {
    Suite *suite = suite_create("network_facts");
    TCase *tc = tcase_create("facts");
    tcase_add_loop_test(tc, pytorch_agrees, 0, COUNT(facts));
    tcase_add_loop_test(tc, the_check_passes_to_second_order, 0, COUNT(facts));
    tcase_add_loop_test(tc, a_batch_may_be_empty, 0, COUNT(facts));
    tcase_add_loop_test(tc, bits_are_the_committed_ones, 0, 4 * DIGEST_ISAS);
    tcase_add_test(tc, failing_allocations_lose_nothing);
    suite_add_tcase(suite, tc);
    return suite;
}
