/*
 * Training steps as a program makes them: record the network, its loss and its gradient, an Adam step,
 * rewind. The first operand is the batch, the second its labels (or targets).
 */
#include "bench/bench.h"

#include <stdlib.h>
#include <string.h>

enum { WIDTHS = 6 };

struct training {
    ct_mlp *mlp;
    ct_tape *tape;
    ct_optim *optim;
    bool is_entropy;
};

/* "784-512-10 cross entropy": the widths of a form. */
static int widths_of(const char *form, int64_t *widths) {
    int n = 0;
    for (char *end; n < WIDTHS; form = end + 1) {
        widths[n++] = strtoll(form, &end, 10);
        if (*end != '-')
            break;
    }
    return n;
}

static bool open_data(struct bench_case *c, int64_t in, int64_t out, bool is_entropy) {
    int64_t batch = c->row->size[0];
    return bench_operand(c, 2, (int64_t[]){batch, in}, 0, 1) &&
           (is_entropy ? bench_operand_of(c, CT_I64, 1, &batch, 0, (double)out)
                       : bench_operand(c, 2, (int64_t[]){batch, out}, 0, 1));
}

static bool open_training(struct bench_case *c) {
    int64_t widths[WIDTHS];
    int n = widths_of(c->row->form, widths);
    struct training *t = calloc(1, sizeof *t);
    if (!t)
        return false;
    c->state = t;
    t->is_entropy = strstr(c->row->form, "entropy") != NULL;
    t->mlp = ct_mlp_new(c->scalar, n - 1, widths, CT_RELU, 1);
    t->tape = ct_tape_new();
    struct ct_adam_options options = ct_adam_options_init();
    t->optim = ct_adam_new(&options);
    for (int i = 0; i + 1 < n; i++) /* forward, and two products backward, one at the first layer */
        c->flops += (i ? 6.0 : 4.0) * (double)(c->row->size[0] * widths[i] * widths[i + 1]);
    return t->mlp && t->tape && t->optim && open_data(c, widths[0], widths[n - 1], t->is_entropy);
}

static bool run_step(struct bench_case *c) {
    struct training *t = c->state;
    ct_params *params = ct_mlp_params(t->mlp);
    ct_mark mark = ct_tape_mark(t->tape);
    ct_var x = ct_constant(t->tape, c->in[0], "x"), target = ct_constant(t->tape, c->in[1], "y");
    ct_params_record(params, t->tape);
    ct_var y = ct_mlp_apply(t->mlp, x);
    ct_var loss = t->is_entropy ? ct_var_cross_entropy(y, target, CT_REDUCE_MEAN)
                                : ct_var_mse(y, target, CT_REDUCE_MEAN);
    ct_params_grad(params, loss);
    bool good = ct_params_step(params, t->optim) == CT_OK;
    return ct_tape_rewind(t->tape, mark) == CT_OK && good;
}

static void close_training(struct bench_case *c) {
    struct training *t = c->state;
    if (!t)
        return;
    ct_optim_free(t->optim), ct_tape_free(t->tape), ct_mlp_free(t->mlp);
    free(t);
}

#define STEP(network, batch, types, bar)                                                           \
    {                                                                                              \
        "train_step", network, types, {batch}, .open = open_training, .run = run_step,             \
                                               .close = close_training, .bars = bar, .two = true   \
    }

static const struct bench_row rows[] = {
    STEP("784-512-10 cross entropy", 256, BENCH_F32, "torch:1.5"),
    STEP("784-512-10 cross entropy", 32, BENCH_F32, "torch:3"),
    STEP("64-64-10 cross entropy", 32, BENCH_REALS, "torch:12"),
    STEP("2-16-16-1 mse", 32, BENCH_REALS, "torch:40"),
};
BENCH_FAMILY("train", rows)
