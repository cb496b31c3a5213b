/* Network ops on a tape, forward and backward. Forward: recorded from leaves, looked at, taken off.
 * Backward: all gradients of a recorded result, of which the first is shown. */
#include "bench/bench.h"

#include <stdlib.h>
#include <string.h>

struct state {
    ct_tape *tape;
    ct_mark mark;
    ct_var x[BENCH_OPERANDS], y, g;
    int leaves;
};

typedef ct_var record_fn(const ct_var *x);

static const struct ct_window pad_1 = {.before = {1, 1}, .after = {1, 1}};
static const struct ct_window by_2 = {.stride = {2, 2}};

static ct_var conv(const ct_var *x) {
    return ct_var_conv(x[0], x[1], x[2], &pad_1);
}

static ct_var max_pool(const ct_var *x) {
    return ct_var_max_pool(x[0], (int64_t[]){2, 2}, &by_2);
}

static ct_var avg_pool(const ct_var *x) {
    return ct_var_avg_pool(x[0], (int64_t[]){2, 2}, &by_2, true);
}

static ct_var batch_norm(const ct_var *x) {
    return ct_var_batch_norm_train(x[0], x[1], x[2], 1e-5, NULL, NULL);
}

static ct_var rms_norm(const ct_var *x) {
    return ct_var_rms_norm(x[0], x[1], 1e-5);
}

static ct_var attention(const ct_var *x) {
    return ct_var_attention(x[0], x[1], x[2], ct_var_null());
}

static ct_var embedding(const ct_var *x) {
    return ct_var_take(x[0], 0, x[1]);
}

static ct_var dropout(const ct_var *x) {
    return ct_var_dropout(x[0], 0.5, 1, 2, 3);
}

static ct_var bce(const ct_var *x) {
    return ct_var_bce_with_logits(x[0], x[1], CT_REDUCE_MEAN);
}

/* What a row's op is recorded by, and how many of its operands are differentiated. */
static const struct kind {
    const char *op;
    record_fn *record;
    int leaves;
} kinds[] = {
    {"conv1d", conv, 3},           {"conv2d", conv, 3},
    {"max_pool", max_pool, 1},     {"avg_pool", avg_pool, 1},
    {"batch_norm", batch_norm, 3}, {"rms_norm", rms_norm, 2},
    {"attention", attention, 3},   {"embedding", embedding, 1},
    {"dropout", dropout, 1},       {"bce", bce, 1},
};

static const struct kind *kind_of(const struct bench_case *c) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strncmp(c->row->op, kinds[i].op, strlen(kinds[i].op)) == 0)
            return &kinds[i];
    return NULL;
}

static bool is_backward(const struct bench_case *c) {
    return strstr(c->row->op, "_backward") != NULL;
}

static bool make_operands(struct bench_case *c) {
    const int64_t *n = c->row->size;
    const char *op = kind_of(c)->op;
    if (strncmp(op, "conv", 4) == 0) {
        int space = op[4] - '0';
        int64_t kernels[] = {n[1], n[1], 3, 3};
        c->flops =
            2.0 * (double)(n[0] * n[1] * n[1]) * (double)(space == 1 ? 3 * n[2] : 9 * n[2] * n[3]);
        return bench_operand(c, 2 + space, n, -1, 1) &&
               bench_operand(c, 2 + space, kernels, -1, 1) && bench_operand(c, 1, &n[1], -1, 1);
    }
    if (strcmp(op, "batch_norm") == 0)
        return bench_operand(c, 4, n, -1, 1) && bench_operand(c, 1, &n[1], -1, 1) &&
               bench_operand(c, 1, &n[1], -1, 1);
    if (strcmp(op, "rms_norm") == 0)
        return bench_operand(c, 2, n, -1, 1) && bench_operand(c, 1, &n[1], -1, 1);
    if (strcmp(op, "attention") == 0)
        return bench_operand(c, 3, n, -1, 1) && bench_operand(c, 3, n, -1, 1) &&
               bench_operand(c, 3, n, -1, 1);
    if (strcmp(op, "embedding") == 0)
        return bench_operand(c, 2, n, -1, 1) &&
               bench_operand_of(c, CT_I64, 1, &n[2], 0, (double)n[0]);
    if (strcmp(op, "bce") == 0)
        return bench_operand(c, 1, n, -3, 3) && bench_operand(c, 1, n, 0, 1);
    return bench_operand(c, strcmp(op, "dropout") == 0 ? 1 : 4, n, -1, 1);
}

static bool open_network(struct bench_case *c) {
    const struct kind *kind = kind_of(c);
    struct state *s = c->state = calloc(1, sizeof *s);
    if (!s || !(s->tape = ct_tape_new()) || !make_operands(c))
        return false;
    s->leaves = kind->leaves;
    for (int i = 0; i < c->operands; i++)
        s->x[i] =
            i < s->leaves ? ct_leaf(s->tape, c->in[i], NULL) : ct_constant(s->tape, c->in[i], NULL);
    s->mark = ct_tape_mark(s->tape);
    s->y = kind->record(s->x);
    const ct_tensor *y = ct_value(s->y);
    if (!y)
        return false;
    if (!is_backward(c))
        return bench_output(c, ct_rank(y), ct_shape(y)) &&
               ct_tape_rewind(s->tape, s->mark) == CT_OK;
    if (!bench_operand(c, ct_rank(y), ct_shape(y), -1, 1) ||
        !bench_output(c, ct_rank(c->in[0]), ct_shape(c->in[0])))
        return false;
    s->g = ct_constant(s->tape, c->in[c->operands - 1], NULL);
    s->mark = ct_tape_mark(s->tape);
    return ct_tape_status(s->tape) == CT_OK;
}

static bool run_network(struct bench_case *c) {
    struct state *s = c->state;
    ct_var dx[BENCH_OPERANDS], y;
    if (!is_backward(c))
        y = kind_of(c)->record(s->x);
    else
        y = ct_grad(s->y, s->g, (size_t)s->leaves, s->x, dx) == CT_OK ? dx[0] : ct_var_null();
    bool good = ct_tape_status(s->tape) == CT_OK && bench_take(c, ct_copy(ct_value(y)));
    return ct_tape_rewind(s->tape, s->mark) == CT_OK && good;
}

static void close_network(struct bench_case *c) {
    struct state *s = c->state;
    if (s)
        ct_tape_free(s->tape);
    free(s);
    c->state = NULL;
}

#define ROW(op, ...)                                                                               \
    {                                                                                              \
        op, NULL, BENCH_REALS, {__VA_ARGS__}, .open = open_network, .run = run_network,            \
                                              .close = close_network, .bars = "torch:1",           \
                                              .tolerance = 2e-4                                    \
    }
#define BOTH(op, ...) ROW(op, __VA_ARGS__), ROW(op "_backward", __VA_ARGS__)

/* Images [batch, channels, height, width] and their kernels of 3 items an axis; heads, queries, items. */
static const struct bench_row rows[] = {
    BOTH("conv2d", 32, 16, 28, 28),     BOTH("conv1d", 32, 32, 256),
    BOTH("max_pool", 32, 16, 28, 28),   BOTH("avg_pool", 32, 16, 28, 28),
    BOTH("batch_norm", 32, 16, 28, 28), BOTH("rms_norm", 4096, 1024),
    BOTH("attention", 8, 128, 64),      BOTH("embedding", 1000, 64, 4096),
    BOTH("dropout", 1000000),           BOTH("bce", 100000),
};
BENCH_FAMILY("network", rows)
