/* Elementwise work over flat memory into a result that is reused: a pass through the items is all there
 * is to do. 1,000 items lie in L1, 100,000 in L2, 10 million in no cache of a core. */
#include "bench/bench.h"

#define FLAT(n)                                                                                    \
    { (n) }

static bool open_operands(struct bench_case *c, int count) {
    for (int i = 0; i < count; i++)
        if (!bench_operand(c, 1, c->row->size, -1, 1))
            return false;
    return true;
}

static bool open1(struct bench_case *c) {
    return open_operands(c, 1) && bench_output(c, 1, c->row->size);
}

static bool open2(struct bench_case *c) {
    return open_operands(c, 2) && bench_output(c, 1, c->row->size);
}

static bool open_less(struct bench_case *c) {
    return open_operands(c, 2) && bench_output_of(c, CT_BOOL, 1, c->row->size);
}

static bool open_logic(struct bench_case *c) {
    return bench_operand_of(c, CT_BOOL, 1, c->row->size, 0, 2) &&
           bench_operand_of(c, CT_BOOL, 1, c->row->size, 0, 2) &&
           bench_output_of(c, CT_BOOL, 1, c->row->size);
}

static bool open_where(struct bench_case *c) {
    return bench_operand_of(c, CT_BOOL, 1, c->row->size, 0, 2) && open2(c);
}

static bool open_clamp(struct bench_case *c) {
    return open1(c) && bench_operand(c, 0, NULL, -0.5, -0.5) && bench_operand(c, 0, NULL, 0.5, 0.5);
}

static bool apply(struct bench_case *c, enum ct_op op, int n) {
    return ct_apply_into(c->out, op, n, (const ct_tensor *const *)c->in) == CT_OK;
}

static bool run_add(struct bench_case *c) {
    return apply(c, CT_OP_add, 2);
}

static bool run_mul(struct bench_case *c) {
    return apply(c, CT_OP_mul, 2);
}

static bool run_relu(struct bench_case *c) {
    return apply(c, CT_OP_relu, 1);
}

static bool run_clamp(struct bench_case *c) {
    return apply(c, CT_OP_clamp, 3);
}

static bool run_less(struct bench_case *c) {
    return apply(c, CT_OP_less, 2);
}

static bool run_where(struct bench_case *c) {
    return apply(c, CT_OP_where, 3);
}

static bool run_and(struct bench_case *c) {
    return apply(c, CT_OP_logical_and, 2);
}

static bool run_not(struct bench_case *c) {
    return apply(c, CT_OP_logical_not, 1);
}

static bool run_axpby(struct bench_case *c) {
    return bench_take(c, ct_axpby(0.5, c->in[0], 0.25, c->in[1]));
}

static bool run_masked_fill(struct bench_case *c) {
    return bench_take(c, ct_masked_fill(c->in[1], c->in[0], 0.5));
}

static bool run_count(struct bench_case *c) {
    return bench_take(c, ct_count_nonzero(c->in[0], CT_ALL, false));
}

static bool run_select(struct bench_case *c) {
    return bench_take(c, ct_masked_select(c->in[1], c->in[0]));
}

static bool open_masked(struct bench_case *c) {
    return bench_operand_of(c, CT_BOOL, 1, c->row->size, 0, 2) &&
           bench_operand(c, 1, c->row->size, -1, 1);
}

static bool open_mask(struct bench_case *c) {
    return bench_operand_of(c, CT_BOOL, 1, c->row->size, 0, 2);
}

/* --- conversions */

static bool run_to_f64(struct bench_case *c) {
    return bench_take(c, ct_astype(c->in[0], CT_F64));
}

static bool run_to_f32(struct bench_case *c) {
    return bench_take(c, ct_cast(c->in[0], CT_F32, CT_CAST_TRUNCATE));
}

static bool run_to_i32(struct bench_case *c) {
    return bench_take(c, ct_cast(c->in[0], CT_I32, CT_CAST_TRUNCATE));
}

static bool open_i32(struct bench_case *c) {
    return bench_operand_of(c, CT_I32, 1, c->row->size, -1000, 1000);
}

static bool open_real(struct bench_case *c) {
    return bench_operand(c, 1, c->row->size, -1000, 1000);
}

/* --- making */

static bool run_zeros(struct bench_case *c) {
    return bench_take(c, ct_zeros(c->scalar, 1, c->row->size));
}

static bool run_arange(struct bench_case *c) {
    return bench_take(c, ct_arange(c->scalar, 0, (double)c->row->size[0], 1));
}

static bool open_nothing(struct bench_case *c) {
    return bench_output(c, 1, c->row->size);
}

/* --- the same by hand */

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

static bool plain_add(struct bench_case *c) {
    size_t n = ct_count(c->other);
    if (c->scalar == CT_F32)
        add_f32(n, ct_data(c->in[0]), ct_data(c->in[1]), bench_f32(c->other));
    else
        add_f64(n, ct_data(c->in[0]), ct_data(c->in[1]), bench_f64(c->other));
    return true;
}

#define TINY_BARS  "torch:1 numpy:1"
#define LARGE_BARS "limit:0.95 torch:1 numpy:1"

/* One op at the three sizes. */
#define THREE(name, what, opens, runs, by_hand)                                                    \
    {name,          what,        BENCH_REALS,      FLAT(1000),                                     \
     .open = opens, .run = runs, .plain = by_hand, .bars = TINY_BARS},                             \
        {name,                                                                                     \
         what,                                                                                     \
         BENCH_REALS,                                                                              \
         FLAT(100000),                                                                             \
         .open = opens,                                                                            \
         .run = runs,                                                                              \
         .plain = by_hand,                                                                         \
         .limit = BENCH_COPY,                                                                      \
         .bars = TINY_BARS},                                                                       \
    {                                                                                              \
        name, what, BENCH_REALS, FLAT(10000000), .open = opens, .run = runs, .plain = by_hand,     \
                                                 .limit = BENCH_COPY, .bars = LARGE_BARS           \
    }
/* One that is large alone. */
#define LARGE(name, what, opens, runs, limits)                                                     \
    {                                                                                              \
        name, what, BENCH_REALS, FLAT(10000000), .open = opens, .run = runs, .limit = BENCH_COPY,  \
                                                 .bars = limits                                    \
    }

static const struct bench_row rows[] = {
    THREE("add", NULL, open2, run_add, plain_add),
    LARGE("mul", NULL, open2, run_mul, LARGE_BARS),
    THREE("relu", NULL, open1, run_relu, NULL),
    LARGE("clamp", "-0.5 0.5", open_clamp, run_clamp, LARGE_BARS),
    LARGE("axpby", "0.5 0.25, new result", open2, run_axpby, LARGE_BARS),
    THREE("less", NULL, open_less, run_less, NULL),
    {"where", NULL, BENCH_REALS, FLAT(1000), .open = open_where, .run = run_where,
     .bars = TINY_BARS},
    {"where", NULL, BENCH_REALS, FLAT(100000), .open = open_where, .run = run_where,
     .limit = BENCH_COPY, .bars = "torch:5 numpy:1"},
    {"where", NULL, BENCH_REALS, FLAT(10000000), .open = open_where, .run = run_where,
     .limit = BENCH_COPY, .bars = "limit:0.95 torch:5 numpy:1"},
    {"logical_and", NULL, BENCH_F32, FLAT(100000), .open = open_logic, .run = run_and,
     .limit = BENCH_COPY, .bars = TINY_BARS},
    {"logical_and", NULL, BENCH_F32, FLAT(10000000), .open = open_logic, .run = run_and,
     .limit = BENCH_COPY, .bars = LARGE_BARS},
    {"logical_not", NULL, BENCH_F32, FLAT(10000000), .open = open_logic, .run = run_not,
     .limit = BENCH_COPY},
    LARGE("masked_fill", "new result", open_masked, run_masked_fill, "limit:0.95"),
    {"count_nonzero", NULL, BENCH_F32, FLAT(10000000), .open = open_mask, .run = run_count,
     .limit = BENCH_READ},
    LARGE("masked_select", "new result", open_masked, run_select, NULL),
    {"to f64", "new result", BENCH_F32, FLAT(10000000), .open = open_real, .run = run_to_f64,
     .limit = BENCH_COPY},
    {"to f32", "new result", BENCH_F64, FLAT(10000000), .open = open_real, .run = run_to_f32,
     .limit = BENCH_COPY},
    LARGE("to i32", "new result", open_real, run_to_i32, NULL),
    {"i32 to f32", "new result", BENCH_F32, FLAT(10000000), .open = open_i32, .run = run_to_f32,
     .limit = BENCH_COPY},
    LARGE("zeros", "new result", open_nothing, run_zeros, NULL),
    LARGE("arange", "new result", open_nothing, run_arange, NULL),
};

BENCH_FAMILY("stream", rows)
