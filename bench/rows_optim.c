/* One optimiser step of one parameter: as many words of memory as it has to read and write. */
#include "bench/bench.h"

#include <string.h>

static ct_optim *optimiser(const char *op) {
    struct ct_sgd_options sgd = ct_sgd_options_init();
    sgd.momentum = 0.9;
    struct ct_adam_options adam =
        strcmp(op, "adamw") == 0 ? ct_adamw_options_init() : ct_adam_options_init();
    return op[0] == 's' ? ct_sgd_new(&sgd) : ct_adam_new(&adam);
}

static bool step(struct bench_case *c) {
    return ct_optim_step(c->state, 1, &c->out, (const ct_tensor *const *)c->in) == CT_OK;
}

/* The gradient and the state are read, parameter and state written too. */
static bool open_step(struct bench_case *c) {
    int64_t n = c->row->size[0];
    double scale = c->row->form && strcmp(c->row->form, "vanishing") == 0 ? 1e-30 : 0.1;
    int words = c->row->op[0] == 's' ? 5 : 7;
    c->state = optimiser(c->row->op);
    c->bytes = (double)words * (double)n * (c->scalar == CT_F32 ? 4 : 8);
    return c->state && bench_operand(c, 1, &n, -scale, scale) && bench_output(c, 1, &n) && step(c);
}

static void close_step(struct bench_case *c) {
    ct_optim_free(c->state);
}

#define STEP(name, n, bar, ...)                                                                    \
    {                                                                                              \
        name, .dtypes = BENCH_REALS, .size = {n}, .open = open_step, .run = step,                  \
              .close = close_step, .bars = bar, __VA_ARGS__                                        \
    }

static const struct bench_row rows[] = {
    STEP("adam", 10000, "torch:3", .two = true),
    STEP("adam", 1000000, "torch:2", .two = true),
    STEP("adam", 10000000, "torch:2", .two = true),
    STEP("adam", 1000000, "torch:2", .form = "vanishing"),
    STEP("adamw", 10000, "torch:3", .two = false),
    STEP("adamw", 1000000, "torch:2", .two = false),
    STEP("adamw", 10000000, "torch:2", .two = false),
    STEP("sgd_momentum", 10000, "torch:3", .two = true),
    STEP("sgd_momentum", 1000000, "torch:2", .two = true),
    STEP("sgd_momentum", 10000000, "torch:2", .two = false),
};
BENCH_FAMILY("optim", rows)
