/* What the tensor layer costs beside the bare work written by hand: items, writes, and results that
 * are new each time, as a program makes them. */
#include "bench/bench.h"

static bool open_table(struct bench_case *c) {
    return bench_operand(c, 2, c->row->size, -1, 1);
}

static bool open_two(struct bench_case *c) {
    return open_table(c) && open_table(c);
}

/* --- one item through its index */

static bool run_get(struct bench_case *c) {
    double value = 0;
    return ct_get(c->in[0], 2, (int64_t[]){1, 2}, &value) == CT_OK && value < 2;
}

static bool run_set(struct bench_case *c) {
    return ct_set(c->in[0], 2, (int64_t[]){1, 2}, 0.5) == CT_OK;
}

/* --- a write into a tensor that a view shows: one copy */

static bool run_write_while_viewed(struct bench_case *c) {
    ct_tensor *view = ct_transpose(c->in[0]);
    bool good = view && ct_set(c->in[0], 2, (int64_t[]){0, 0}, 1) == CT_OK;
    ct_free(view);
    return good;
}

static bool open_written(struct bench_case *c) {
    return open_table(c) && bench_output(c, 2, c->row->size);
}

/* --- a new result each time */

static bool run_add(struct bench_case *c) {
    return bench_take(c, ct_add(c->in[0], c->in[1]));
}

BENCH_PLAIN static void add_f32(size_t n, const float *restrict a, const float *restrict b,
                                float *restrict c) {
    for (size_t i = 0; i < n; i++)
        c[i] = a[i] + b[i];
}

BENCH_PLAIN static void add_f64(size_t n, const double *restrict a, const double *restrict b,
                                double *restrict c) {
    for (size_t i = 0; i < n; i++)
        c[i] = a[i] + b[i];
}

/* Into memory that is reused: what the new result would cost at best. */
static bool plain_add(struct bench_case *c) {
    size_t n = ct_count(c->other);
    if (c->scalar == CT_F32)
        add_f32(n, ct_data(c->in[0]), ct_data(c->in[1]), bench_f32(c->other));
    else
        add_f64(n, ct_data(c->in[0]), ct_data(c->in[1]), bench_f64(c->other));
    return true;
}

/* --- a batch of rows by index */

static bool open_take(struct bench_case *c) {
    c->bytes = 2.0 * (double)(c->row->size[1] * c->row->size[2]) * (double)c->scalar->size;
    return open_table(c) &&
           bench_operand_of(c, CT_I64, 1, (int64_t[]){c->row->size[2]}, 0, (double)c->row->size[0]);
}

static bool run_take(struct bench_case *c) {
    return bench_take(c, ct_take(c->in[0], 0, c->in[1]));
}

static const struct bench_row rows[] = {
    {"get", "one item", BENCH_F32, {4, 4}, .open = open_table, .run = run_get},
    {"set", "one item", BENCH_F32, {4, 4}, .open = open_table, .run = run_set},
    {"write_while_viewed",
     NULL,
     BENCH_F32,
     {1024, 1024},
     .open = open_written,
     .run = run_write_while_viewed,
     .limit = BENCH_COPY},
    {"add",
     "new result",
     BENCH_REALS,
     {64, 64},
     .open = open_two,
     .run = run_add,
     .plain = plain_add,
     .bars = "torch:1 numpy:1"},
    {"add",
     "new result",
     BENCH_REALS,
     {256, 256},
     .open = open_two,
     .run = run_add,
     .plain = plain_add,
     .bars = "torch:1 numpy:1"},
    {"add",
     "new result",
     BENCH_REALS,
     {2048, 2048},
     .open = open_two,
     .run = run_add,
     .plain = plain_add,
     .bars = "torch:1 numpy:1"},
    {"take",
     "axis 0, new result",
     BENCH_F32,
     {60000, 784, 256},
     .open = open_take,
     .run = run_take,
     .bars = "torch:1 numpy:1"},
};

BENCH_FAMILY("tensor", rows)
