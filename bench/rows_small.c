/* Small tensors, where the call is dearer than the arithmetic: results are new, as one writes it. */
#include "bench/bench.h"

static bool open_two(struct bench_case *c) {
    int64_t n = c->row->size[0];
    return bench_operand(c, 1, &n, -1, 1) && bench_operand(c, 1, &n, -1, 1);
}

static bool open_one(struct bench_case *c) {
    int64_t n = c->row->size[0];
    return bench_operand(c, 1, &n, -1, 1);
}

static bool open_matmul(struct bench_case *c) {
    const int64_t *n = c->row->size;
    c->flops = 2.0 * (double)n[0] * (double)n[1] * (double)n[2];
    return bench_operand(c, 2, (int64_t[]){n[0], n[2]}, -1, 1) &&
           bench_operand(c, 2, (int64_t[]){n[2], n[1]}, -1, 1);
}

static bool open_table(struct bench_case *c) {
    return bench_operand(c, 2, c->row->size, -1, 1);
}

static bool open_row(struct bench_case *c) {
    return open_table(c) && bench_operand(c, 1, c->row->size + 1, -1, 1);
}

static bool run_add(struct bench_case *c) {
    return bench_take(c, ct_add(c->in[0], c->in[1]));
}

static bool run_exp(struct bench_case *c) {
    return bench_take(c, ct_exp(c->in[0]));
}

static bool run_sum(struct bench_case *c) {
    return bench_take(c, ct_sum(c->in[0], CT_ALL, false));
}

static bool run_matmul(struct bench_case *c) {
    return bench_take(c, ct_matmul(c->in[0], c->in[1]));
}

static bool run_transpose(struct bench_case *c) {
    return bench_take(c, ct_transpose(c->in[0]));
}

static bool run_slice(struct bench_case *c) {
    return bench_take(c, ct_slice(c->in[0], 0, 1, CT_END, 2));
}

static bool reference_matmul(struct bench_case *c) {
    ct_tensor *t = ct_matmul_reference(c->in[0], c->in[1]);
    bool good = t && ct_assign(c->other, t) == CT_OK;
    ct_free(t);
    return good;
}

static bool reference_add(struct bench_case *c) {
    for (int64_t i = 0; i < c->row->size[0]; i++) {
        double a, b;
        if (ct_get_flat(c->in[0], i, &a) != CT_OK || ct_get_flat(c->in[1], i, &b) != CT_OK ||
            ct_set_flat(c->other, i, a + b) != CT_OK)
            return false;
    }
    return true;
}

#define SMALL(name, opened, ran, ...)                                                              \
    {                                                                                              \
        name, .form = "new result", .dtypes = BENCH_REALS, .open = opened, .run = ran,             \
              .bars = "torch:1 numpy:1", __VA_ARGS__                                               \
    }

static const struct bench_row rows[] = {
    SMALL("add", open_two, run_add, .size = {1}, .reference = reference_add),
    SMALL("add", open_two, run_add, .size = {10}, .reference = reference_add),
    SMALL("add", open_two, run_add, .size = {100}, .reference = reference_add),
    SMALL("add", open_two, run_add, .size = {1000}, .reference = reference_add),
    SMALL("add_row", open_row, run_add, .size = {10, 10}),
    SMALL("exp", open_one, run_exp, .size = {10}),
    SMALL("exp", open_one, run_exp, .size = {1000}),
    SMALL("sum", open_one, run_sum, .size = {10}),
    SMALL("sum", open_one, run_sum, .size = {1000}),
    SMALL("matmul", open_matmul, run_matmul, .size = {4, 4, 4}, .reference = reference_matmul),
    SMALL("matmul", open_matmul, run_matmul, .size = {16, 16, 16}, .reference = reference_matmul),
    SMALL("transpose", open_table, run_transpose, .size = {10, 10}),
    SMALL("slice", open_table, run_slice, .size = {10, 10}),
};
BENCH_FAMILY("small", rows)
