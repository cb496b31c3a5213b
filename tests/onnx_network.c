/* The ops of ONNX that networks are made of, recorded on a tape. */

#include "onnx_ops.h"

#include <check.h>
#include <string.h>

#include "cotangent.h"

/* ---- a tape for one node */

struct node {
    ct_tape *tape;
    ct_var in[ONNX_MOST];
};

static struct node open_node(const struct onnx_case *c) {
    struct node n = {.tape = ct_tape_new()};
    for (int i = 0; i < c->inputs; i++)
        n.in[i] = !c->in[i] ? ct_var_null()
                  : ct_dtype(c->in[i])->traits & CT_DIFFERENTIABLE
                      ? ct_leaf(n.tape, c->in[i], NULL)
                      : ct_constant(n.tape, c->in[i], NULL);
    return n;
}

static ct_tensor *take(ct_var v) {
    return ct_copy(ct_value(v));
}

static void close_node(const struct onnx_case *c, struct node *n) {
    ck_assert_msg(ct_tape_status(n->tape) == CT_OK, "%s: %s", c->name, ct_tape_message(n->tape));
    ct_tape_free(n->tape);
}

/* ---- windows */

/* Padding from `pads`, `auto_pad` or the last window that `ceil_mode` adds. */
static struct ct_window window_of(const struct onnx_case *c, int space, const int64_t *kernel) {
    struct ct_window w = {.groups = onnx_int(c, "group", 1)};
    int64_t pads[2 * CT_MAX_SPACE] = {0}, list[ONNX_MOST];
    int n = onnx_list(c, "pads", -1, list);
    memcpy(pads, list, (n > 0 ? (size_t)n : 0) * sizeof *pads);
    const char *automatic = onnx_text(c, "auto_pad", "NOTSET");
    int strides = onnx_list(c, "strides", -1, w.stride),
        apart = onnx_list(c, "dilations", -1, w.dilation);
    for (int s = 0; s < space; s++) {
        int64_t step = strides > 0 ? w.stride[s] : 1, gap = apart > 0 ? w.dilation[s] : 1;
        int64_t extent = ct_shape(c->in[0])[2 + s], reach = (kernel[s] - 1) * gap + 1;
        w.before[s] = pads[s];
        w.after[s] = pads[space + s];
        if (strncmp(automatic, "SAME", 4) == 0) {
            int64_t need = ((extent + step - 1) / step - 1) * step + reach - extent;
            need = need > 0 ? need : 0;
            w.before[s] = strcmp(automatic, "SAME_LOWER") == 0 ? (need + 1) / 2 : need / 2;
            w.after[s] = need - w.before[s];
        }
        if (onnx_int(c, "ceil_mode", 0)) {
            int64_t over = (extent + w.before[s] + w.after[s] - reach) % step;
            w.after[s] += over ? step - over : 0;
        }
    }
    return w;
}

static void run_Conv(const struct onnx_case *c, ct_tensor *out[]) {
    struct node n = open_node(c);
    struct ct_window w = window_of(c, ct_rank(c->in[0]) - 2, ct_shape(c->in[1]) + 2);
    out[0] = take(ct_var_conv(n.in[0], n.in[1], c->inputs > 2 ? n.in[2] : ct_var_null(), &w));
    close_node(c, &n);
}

static void run_AveragePool(const struct onnx_case *c, ct_tensor *out[]) {
    struct node n = open_node(c);
    int64_t kernel[ONNX_MOST];
    onnx_list(c, "kernel_shape", -1, kernel);
    struct ct_window w = window_of(c, ct_rank(c->in[0]) - 2, kernel);
    out[0] = take(ct_var_avg_pool(n.in[0], kernel, &w, onnx_int(c, "count_include_pad", 0)));
    close_node(c, &n);
}

static int space_axes(const struct onnx_case *c, int axes[CT_MAX_RANK]) {
    int n = 0;
    for (int i = 2; i < ct_rank(c->in[0]); i++)
        axes[n++] = i;
    return n;
}

static void run_GlobalAveragePool(const struct onnx_case *c, ct_tensor *out[]) {
    struct node n = open_node(c);
    int axes[CT_MAX_RANK], count = space_axes(c, axes);
    out[0] = take(ct_var_mean_axes(n.in[0], count, axes, true));
    close_node(c, &n);
}

static void run_GlobalMaxPool(const struct onnx_case *c, ct_tensor *out[]) {
    struct node n = open_node(c);
    int axes[CT_MAX_RANK], count = space_axes(c, axes);
    out[0] = take(ct_var_max_axes(n.in[0], count, axes, true));
    close_node(c, &n);
}

/* ---- norms */

static ct_var mixed(ct_var old, ct_var now, double momentum) {
    ct_var kept = ct_var_mul(old, ct_constant_of(old.tape, CT_F32, momentum));
    ct_var added = ct_var_mul(now, ct_constant_of(old.tape, CT_F32, 1 - momentum));
    return ct_var_add(kept, added);
}

static void run_BatchNormalization(const struct onnx_case *c, ct_tensor *out[]) {
    struct node n = open_node(c);
    double eps = onnx_real(c, "epsilon", 1e-5), momentum = onnx_real(c, "momentum", 0.9);
    ct_var mean = n.in[3], variance = n.in[4];
    if (onnx_int(c, "training_mode", 0)) {
        ct_var_batch_moments(n.in[0], &mean, &variance);
        out[1] = take(mixed(n.in[3], mean, momentum));
        out[2] = take(mixed(n.in[4], variance, momentum));
    }
    out[0] = take(ct_var_batch_norm(n.in[0], mean, variance, n.in[1], n.in[2], eps));
    close_node(c, &n);
}

/* Each image alone: its channels are the channels of a batch of one. */
static void run_InstanceNormalization(const struct onnx_case *c, ct_tensor *out[]) {
    struct node n = open_node(c);
    ct_var parts[ONNX_MOST], mean, variance;
    int64_t batch = ct_shape(c->in[0])[0];
    for (int64_t i = 0; i < batch; i++) {
        ct_var one = ct_var_slice(n.in[0], 0, i, i + 1, 1);
        ct_var_batch_moments(one, &mean, &variance);
        parts[i] =
            ct_var_batch_norm(one, mean, variance, n.in[1], n.in[2], onnx_real(c, "epsilon", 1e-5));
    }
    out[0] = take(ct_var_concat((size_t)batch, parts, 0));
    close_node(c, &n);
}

/* ---- dropout that drops nothing: not in training, or with a ratio of 0 */

static void run_Dropout(const struct onnx_case *c, ct_tensor *out[]) {
    out[0] = ct_copy(c->in[0]);
    if (c->outputs > 1)
        out[1] = ct_ones(CT_BOOL, ct_rank(c->in[0]), ct_shape(c->in[0]));
}

/* ---- losses */

static enum ct_reduction reduction_of(const struct onnx_case *c) {
    const char *name = onnx_text(c, "reduction", "mean");
    return strcmp(name, "none") == 0  ? CT_REDUCE_NONE
           : strcmp(name, "sum") == 0 ? CT_REDUCE_SUM
                                      : CT_REDUCE_MEAN;
}

static struct ct_class_loss classes_of(const struct onnx_case *c) {
    const int64_t none = -987654321;
    struct ct_class_loss classes = {.weights = c->inputs > 2 ? c->in[2] : NULL};
    classes.ignored = onnx_int(c, "ignore_index", none);
    classes.has_ignored = classes.ignored != none;
    return classes;
}

static void run_NegativeLogLikelihoodLoss(const struct onnx_case *c, ct_tensor *out[]) {
    struct node n = open_node(c);
    struct ct_class_loss classes = classes_of(c);
    out[0] = take(ct_var_nll(n.in[0], n.in[1], &classes, reduction_of(c)));
    close_node(c, &n);
}

static void run_SoftmaxCrossEntropyLoss(const struct onnx_case *c, ct_tensor *out[]) {
    struct node n = open_node(c);
    struct ct_class_loss classes = classes_of(c);
    out[0] = take(ct_var_cross_entropy_of(n.in[0], n.in[1], &classes, reduction_of(c)));
    if (c->outputs > 1)
        out[1] = take(ct_var_log_softmax(n.in[0], 1));
    close_node(c, &n);
}

#define IN_F32(name, tolerance)                                                                    \
    { #name, run_##name, tolerance }

static const struct onnx_op ops[] = {
    IN_F32(AveragePool, 2e-6),
    IN_F32(BatchNormalization, 5e-6),
    IN_F32(Conv, 2e-6),
    IN_F32(Dropout, 0),
    IN_F32(GlobalAveragePool, 2e-6),
    IN_F32(GlobalMaxPool, 0),
    IN_F32(InstanceNormalization, 1e-5),
    IN_F32(NegativeLogLikelihoodLoss, 2e-6),
    IN_F32(SoftmaxCrossEntropyLoss, 2e-6),
};

const struct onnx_op *onnx_network_op(const char *name) {
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (strcmp(ops[i].name, name) == 0)
            return &ops[i];
    return NULL;
}

const char *onnx_draws(const struct onnx_case *c) {
    double ratio = 0.5;
    if (strcmp(c->op, "Dropout") != 0 || c->inputs < 3)
        return NULL;
    if (c->in[1])
        ratio = ct_item(c->in[1]);
    return ratio > 0 ? "draws by its own generator" : NULL;
}
