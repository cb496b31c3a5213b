/* Vector math over flat memory that fits the caches, into a reused result; at most 1 ulp. */
#include "bench/bench.h"

#include <string.h>

struct subject {
    const char *name;
    enum ct_op op;
    double lo, hi;
};
static const struct subject subjects[] = {
    {"exp", CT_OP_exp, -20, 20},
    {"log", CT_OP_log, 1e-3, 1000},
    {"tanh", CT_OP_tanh, -5, 5},
    {"sigmoid", CT_OP_sigmoid, -10, 10},
    {"erf", CT_OP_erf, -3, 3},
    {"gelu", CT_OP_gelu, -5, 5},
    {"expm1", CT_OP_expm1, -5, 5},
    {"log1p", CT_OP_log1p, -0.9, 100},
    {"silu", CT_OP_silu, -10, 10},
    {"softplus", CT_OP_softplus, -10, 10},
    {"gelu_tanh", CT_OP_gelu_tanh, -5, 5},
    {"sin", CT_OP_sin, -10, 10},
    {"cos", CT_OP_cos, -10, 10},
};

static const struct subject *subject_of(const struct bench_case *c) {
    const struct subject *s = subjects;
    while (strcmp(s->name, c->row->op) != 0)
        s++;
    return s;
}

static bool open_map(struct bench_case *c) {
    const struct subject *s = subject_of(c);
    return bench_operand(c, 1, c->row->size, s->lo, s->hi) && bench_output(c, 1, c->row->size);
}

static bool run_map(struct bench_case *c) {
    return ct_apply_into(c->out, subject_of(c)->op, 1, (const ct_tensor *const *)c->in) == CT_OK;
}

/* libmvec has up to 4 ulp: within 1.3 of it. */
#define AHEAD "numpy:1 torch:1"
#define NEAR  AHEAD " libmvec:0.77"

#define MAP(name, bar)                                                                             \
    {name, NULL, BENCH_REALS, {1000}, .open = open_map, .run = run_map, .bars = bar}, {            \
        name, NULL, BENCH_REALS, {100000}, .open = open_map, .run = run_map, .bars = bar           \
    }

static const struct bench_row rows[] = {
    MAP("exp", NEAR),  MAP("log", AHEAD),     MAP("tanh", NEAR),      MAP("sigmoid", NEAR),
    MAP("erf", AHEAD), MAP("gelu", AHEAD),    MAP("expm1", NULL),     MAP("log1p", NULL),
    MAP("silu", NULL), MAP("softplus", NULL), MAP("gelu_tanh", NULL), MAP("sin", NULL),
    MAP("cos", NULL),
};
BENCH_FAMILY("vmath", rows)
