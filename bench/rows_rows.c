/* Ops on whole rows, forward and, on a tape, backward: softmax and its kin, cross entropy at integer
 * labels, normalised rows. Results are new each time; their buffers come from the cache of freed ones. */
#include "bench/bench.h"

#include <stdlib.h>
#include <string.h>

static int axis_of(const struct bench_case *c) {
    const char *form = c->row->form;
    return form && strncmp(form, "axis 0", 6) == 0 ? 0 : -1;
}

/* --- forward */

static bool open_matrix(struct bench_case *c) {
    c->bytes = 2.0 * (double)(c->row->size[0] * c->row->size[1]) * (double)c->scalar->size;
    return bench_operand(c, 2, c->row->size, -3, 3) && bench_output(c, 2, c->row->size);
}

static bool run_softmax(struct bench_case *c) {
    return bench_take(c, ct_softmax(c->in[0], axis_of(c)));
}

static bool run_log_softmax(struct bench_case *c) {
    return bench_take(c, ct_log_softmax(c->in[0], axis_of(c)));
}

static bool open_logsumexp(struct bench_case *c) {
    int axis = axis_of(c);
    c->bytes = (double)(c->row->size[0] * c->row->size[1]) * (double)c->scalar->size;
    return bench_operand(c, 2, c->row->size, -3, 3) &&
           bench_output(c, 1, &c->row->size[axis == 0 ? 1 : 0]);
}

static bool run_logsumexp(struct bench_case *c) {
    return bench_take(c, ct_logsumexp(c->in[0], axis_of(c), false));
}

static bool open_layer_norm(struct bench_case *c) {
    return open_matrix(c) && bench_operand(c, 1, &c->row->size[1], -1, 1) &&
           bench_operand(c, 1, &c->row->size[1], -1, 1);
}

static bool run_layer_norm(struct bench_case *c) {
    return bench_take(c, ct_layer_norm(c->in[0], -1, c->in[1], c->in[2], 1e-5));
}

/* --- on a tape: what is recorded before each run, and what a run leaves off */

struct tape_state {
    ct_tape *tape;
    ct_mark mark;
    ct_var y, g, x[3]; /* g: the null variable where it is ones */
};

static struct tape_state *state_of(struct bench_case *c) {
    if (!c->state)
        c->state = calloc(1, sizeof(struct tape_state));
    struct tape_state *s = c->state;
    if (s && !s->tape) {
        s->tape = ct_tape_new();
        s->g = ct_var_null();
    }
    return s && s->tape ? s : NULL;
}

static void close_tape(struct bench_case *c) {
    struct tape_state *s = c->state;
    if (s)
        ct_tape_free(s->tape);
    free(s);
    c->state = NULL;
}

static bool open_cross_entropy(struct bench_case *c) {
    struct tape_state *s = state_of(c);
    c->bytes = (double)(c->row->size[0] * c->row->size[1]) * (double)c->scalar->size;
    if (!s || !bench_operand(c, 2, c->row->size, -3, 3) ||
        !bench_operand_of(c, CT_I64, 1, c->row->size, 0, (double)c->row->size[1]) ||
        !bench_output(c, 0, NULL))
        return false;
    s->x[0] = ct_leaf(s->tape, c->in[0], "x");
    s->x[1] = ct_constant(s->tape, c->in[1], "labels");
    s->mark = ct_tape_mark(s->tape);
    return ct_tape_status(s->tape) == CT_OK;
}

static bool run_cross_entropy(struct bench_case *c) {
    struct tape_state *s = c->state;
    ct_var y = ct_var_cross_entropy(s->x[0], s->x[1], CT_REDUCE_MEAN);
    bool good = ct_tape_status(s->tape) == CT_OK && bench_take(c, ct_copy(ct_value(y)));
    return ct_tape_rewind(s->tape, s->mark) == CT_OK && good;
}

/* The gradient of x, then of the parameters, of which the last is shown. */
static bool run_backward(struct bench_case *c) {
    struct tape_state *s = c->state;
    ct_var dx[3];
    size_t n = c->operands == 4 ? 3 : 1; /* layer_norm: x, scale, shift and the cotangent */
    bool good =
        ct_grad(s->y, s->g, n, s->x, dx) == CT_OK && bench_take(c, ct_copy(ct_value(dx[0])));
    return ct_tape_rewind(s->tape, s->mark) == CT_OK && good;
}

static bool end_recording(struct bench_case *c) {
    struct tape_state *s = c->state;
    s->mark = ct_tape_mark(s->tape);
    return ct_tape_status(s->tape) == CT_OK;
}

/* Operands: x and the cotangent. */
static bool open_pull(struct bench_case *c, ct_var (*record)(ct_var x, int axis)) {
    struct tape_state *s = state_of(c);
    if (!s || !open_matrix(c) || !bench_operand(c, 2, c->row->size, -1, 1))
        return false;
    c->bytes *= 1.5;
    s->x[0] = ct_leaf(s->tape, c->in[0], "x");
    s->g = ct_constant(s->tape, c->in[1], "g");
    s->y = record(s->x[0], axis_of(c));
    return end_recording(c);
}

static bool open_softmax_backward(struct bench_case *c) {
    return open_pull(c, ct_var_softmax);
}

static bool open_log_softmax_backward(struct bench_case *c) {
    return open_pull(c, ct_var_log_softmax);
}

static bool open_cross_entropy_backward(struct bench_case *c) {
    struct tape_state *s = state_of(c);
    if (!s || !open_matrix(c) ||
        !bench_operand_of(c, CT_I64, 1, c->row->size, 0, (double)c->row->size[1]))
        return false;
    s->x[0] = ct_leaf(s->tape, c->in[0], "x");
    s->x[1] = ct_constant(s->tape, c->in[1], "labels");
    s->y = ct_var_cross_entropy(s->x[0], s->x[1], CT_REDUCE_MEAN);
    return end_recording(c);
}

static bool open_layer_norm_backward(struct bench_case *c) {
    struct tape_state *s = state_of(c);
    if (!s || !open_layer_norm(c) || !bench_operand(c, 2, c->row->size, -1, 1))
        return false;
    c->bytes *= 1.5;
    for (int i = 0; i < 3; i++)
        s->x[i] = ct_leaf(s->tape, c->in[i], NULL);
    s->g = ct_constant(s->tape, c->in[3], "g");
    s->y = ct_var_layer_norm(s->x[0], -1, s->x[1], s->x[2], 1e-5);
    return end_recording(c);
}

#define BOTH_AXES(key, opener, runner, lim)                                                          \
    {key,           "axis 1",     BENCH_REALS,         {4096, 4096}, .open = opener,                 \
     .run = runner, .limit = lim, .bars = "torch:1.5", .two = true},                                 \
        {key,           "axis 0",     BENCH_REALS,        {4096, 4096}, .open = opener,              \
         .run = runner, .limit = lim, .bars = "torch:1.5"},                                          \
        {key, "axis 1", BENCH_REALS, {256, 10}, .open = opener, .run = runner, .bars = "torch:1.5"}, \
    {                                                                                                \
        key, "axis 1", BENCH_REALS, {32, 10}, .open = opener, .run = runner, .bars = "torch:1.5"     \
    }
#define TAPED .close = close_tape, .bars = "torch:1.5"

static const struct bench_row rows[] = {
    BOTH_AXES("softmax", open_matrix, run_softmax, BENCH_COPY),
    BOTH_AXES("log_softmax", open_matrix, run_log_softmax, BENCH_COPY),
    BOTH_AXES("logsumexp", open_logsumexp, run_logsumexp, BENCH_READ),
    {"layer_norm",
     NULL,
     BENCH_REALS,
     {4096, 1024},
     .open = open_layer_norm,
     .run = run_layer_norm,
     .limit = BENCH_COPY,
     .bars = "torch:1.5",
     .two = true},
    {"layer_norm",
     NULL,
     BENCH_REALS,
     {32, 64},
     .open = open_layer_norm,
     .run = run_layer_norm,
     .bars = "torch:1.5"},
    {"cross_entropy",
     "mean",
     BENCH_REALS,
     {4096, 1000},
     .open = open_cross_entropy,
     .run = run_cross_entropy,
     .limit = BENCH_READ,
     .two = true,
     TAPED},
    {"cross_entropy",
     "mean",
     BENCH_REALS,
     {256, 10},
     .open = open_cross_entropy,
     .run = run_cross_entropy,
     TAPED},
    {"softmax_backward",
     "axis 1",
     BENCH_REALS,
     {4096, 4096},
     .open = open_softmax_backward,
     .run = run_backward,
     TAPED},
    {"log_softmax_backward",
     "axis 1",
     BENCH_REALS,
     {4096, 4096},
     .open = open_log_softmax_backward,
     .run = run_backward,
     TAPED},
    {"cross_entropy_backward",
     "mean",
     BENCH_REALS,
     {4096, 1000},
     .open = open_cross_entropy_backward,
     .run = run_backward,
     TAPED},
    {"cross_entropy_backward",
     "mean",
     BENCH_REALS,
     {256, 10},
     .open = open_cross_entropy_backward,
     .run = run_backward,
     TAPED},
    {"layer_norm_backward",
     NULL,
     BENCH_REALS,
     {4096, 1024},
     .open = open_layer_norm_backward,
     .run = run_backward,
     TAPED},
};
BENCH_FAMILY("rows", rows)
