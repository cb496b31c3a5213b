/* Operands that do not lie as the result does: repeated rows and columns, transposed and sliced views,
 * and copies that make them dense. */
#include "bench/bench.h"

static bool open_table(struct bench_case *c) {
    return bench_operand(c, 2, c->row->size, -1, 1) && bench_output(c, 2, c->row->size);
}

static bool open_row(struct bench_case *c) {
    return open_table(c) && bench_operand(c, 1, &c->row->size[1], -1, 1);
}

static bool open_column(struct bench_case *c) {
    return open_table(c) && bench_operand(c, 2, (int64_t[]){c->row->size[0], 1}, -1, 1);
}

static bool open_one(struct bench_case *c) {
    return open_table(c) && bench_operand(c, 0, NULL, -1, 1);
}

/* The last operand gives way to a view of it. */
static bool see(struct bench_case *c, ct_tensor *view) {
    ct_free(c->in[--c->operands]);
    c->in[c->operands] = NULL;
    return bench_add_operand(c, view);
}

static bool add_transposed(struct bench_case *c) {
    int64_t turned[] = {c->row->size[1], c->row->size[0]};
    return bench_operand(c, 2, turned, -1, 1) && see(c, ct_transpose(c->in[c->operands - 1]));
}

static bool open_transposed(struct bench_case *c) {
    return open_table(c) && add_transposed(c);
}

static bool open_copy(struct bench_case *c) {
    return add_transposed(c) && bench_output(c, 2, c->row->size);
}

/* Every second column. */
static bool open_sliced(struct bench_case *c) {
    int64_t wide[] = {c->row->size[0], 2 * c->row->size[1]};
    return open_table(c) && bench_operand(c, 2, wide, -1, 1) &&
           see(c, ct_slice(c->in[1], 1, 0, wide[1], 2));
}

/* The left half. */
static bool open_half(struct bench_case *c) {
    int64_t wide[] = {c->row->size[0], 2 * c->row->size[1]};
    return open_table(c) && bench_operand(c, 2, wide, -1, 1) &&
           see(c, ct_slice(c->in[1], 1, 0, wide[1] / 2, 1));
}

static bool run_add(struct bench_case *c) {
    return ct_apply_into(c->out, CT_OP_add, 2, (const ct_tensor *const *)c->in) == CT_OK;
}

static bool run_assign(struct bench_case *c) {
    return ct_assign(c->out, c->in[0]) == CT_OK;
}

/* --- the same by hand */

#define ADD(type, get)                                                                             \
    BENCH_PLAIN static void add_row_##type(size_t m, size_t n, const type *restrict a,             \
                                           const type *restrict b, type *restrict c) {             \
        for (size_t i = 0; i < m; i++)                                                             \
            for (size_t j = 0; j < n; j++)                                                         \
                c[i * n + j] = a[i * n + j] + b[j];                                                \
    }                                                                                              \
    BENCH_PLAIN static void add_column_##type(size_t m, size_t n, const type *restrict a,          \
                                              const type *restrict b, type *restrict c) {          \
        for (size_t i = 0; i < m; i++)                                                             \
            for (size_t j = 0; j < n; j++)                                                         \
                c[i * n + j] = a[i * n + j] + b[i];                                                \
    }
ADD(float, f32)
ADD(double, f64)

static bool plain_row(struct bench_case *c) {
    size_t m = (size_t)c->row->size[0], n = (size_t)c->row->size[1];
    if (c->scalar == CT_F32)
        add_row_float(m, n, ct_data(c->in[0]), ct_data(c->in[1]), bench_f32(c->other));
    else
        add_row_double(m, n, ct_data(c->in[0]), ct_data(c->in[1]), bench_f64(c->other));
    return true;
}

static bool plain_column(struct bench_case *c) {
    size_t m = (size_t)c->row->size[0], n = (size_t)c->row->size[1];
    if (c->scalar == CT_F32)
        add_column_float(m, n, ct_data(c->in[0]), ct_data(c->in[1]), bench_f32(c->other));
    else
        add_column_double(m, n, ct_data(c->in[0]), ct_data(c->in[1]), bench_f64(c->other));
    return true;
}

#define TWICE "torch:2"

#define ROW(m, n)                                                                                  \
    {                                                                                              \
        "add_row", NULL, BENCH_REALS, {m, n}, .open = open_row, .run = run_add,                    \
                                              .plain = plain_row, .limit = BENCH_COPY,             \
                                              .bars = TWICE                                        \
    }
#define COLUMN(m, n)                                                                               \
    {                                                                                              \
        "add_column", NULL, BENCH_REALS, {m, n}, .open = open_column, .run = run_add,              \
                                                 .plain = plain_column, .limit = BENCH_COPY,       \
                                                 .bars = TWICE                                     \
    }

static const struct bench_row rows[] = {
    ROW(100, 128),
    ROW(256, 784),
    ROW(10000, 10),
    ROW(4096, 4096),
    COLUMN(100, 128),
    COLUMN(256, 784),
    COLUMN(10000, 10),
    COLUMN(4096, 4096),
    {"add_scalar", NULL, BENCH_REALS, {100, 128}, .open = open_one, .run = run_add, .bars = TWICE},
    {"add_scalar",
     NULL,
     BENCH_REALS,
     {4096, 4096},
     .open = open_one,
     .run = run_add,
     .limit = BENCH_COPY,
     .bars = "limit:0.95"},
    {"add_transposed",
     NULL,
     BENCH_REALS,
     {64, 64},
     .open = open_transposed,
     .run = run_add,
     .bars = TWICE},
    {"add_transposed",
     NULL,
     BENCH_REALS,
     {512, 512},
     .open = open_transposed,
     .run = run_add,
     .limit = BENCH_COPY,
     .bars = TWICE},
    {"add_transposed",
     NULL,
     BENCH_REALS,
     {4096, 4096},
     .open = open_transposed,
     .run = run_add,
     .limit = BENCH_COPY,
     .bars = TWICE},
    {"add", "every second column", BENCH_REALS, {512, 512}, .open = open_sliced, .run = run_add},
    {"add", "left half", BENCH_REALS, {512, 512}, .open = open_half, .run = run_add},
    {"transpose_copy",
     NULL,
     BENCH_REALS,
     {64, 64},
     .open = open_copy,
     .run = run_assign,
     .bars = "torch:3"},
    {"transpose_copy",
     NULL,
     BENCH_REALS,
     {512, 512},
     .open = open_copy,
     .run = run_assign,
     .limit = BENCH_COPY,
     .bars = "torch:3"},
    {"transpose_copy",
     NULL,
     BENCH_REALS,
     {1000, 1000},
     .open = open_copy,
     .run = run_assign,
     .limit = BENCH_COPY,
     .bars = "torch:3"},
    {"transpose_copy",
     NULL,
     BENCH_REALS,
     {4096, 4096},
     .open = open_copy,
     .run = run_assign,
     .limit = BENCH_COPY,
     .bars = "torch:3"},
};

BENCH_FAMILY("layout", rows)
