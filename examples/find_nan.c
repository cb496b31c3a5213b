/* A training loop goes wrong at some step: how to find where.

   The model predicts rates, exp(x w), and its loss is the negative log-likelihood of counts,
   mean(rate - count log rate). The learning rate is a little too large: a rate overflows at some step, and the next that a
   loop without care would see is a model of NaNs.

   find_nan [FILE.dot]   also writes the picture of that step */
#include "cotangent.h"

#include <stdbool.h>
#include <stdio.h>

enum { ROWS = 6, FEATURES = 2, STEPS = 1000 };

static const double features[ROWS * FEATURES] = {1, 0.5, 1, -2, 1, 3, 1, 0, 1, 1, 1, -1};
static const double counts[ROWS] = {2, 0, 9, 1, 3, 1};

static ct_var record_loss(ct_tape *tape, const ct_tensor *x, const ct_tensor *y, ct_var w) {
    ct_var rows = ct_constant(tape, x, "features"), count = ct_constant(tape, y, "counts");
    ct_scope_begin(tape, "model");
    ct_var rate = ct_named(ct_var_exp(ct_var_matmul(rows, w)), "rate");
    ct_scope_end(tape);
    ct_scope_begin(tape, "likelihood");
    ct_var logs = ct_named(ct_var_log(rate), "log rate");
    ct_var loss = ct_var_mean(ct_var_sub(rate, ct_var_mul(count, logs)), CT_ALL, false);
    ct_scope_end(tape);
    return ct_named(loss, "loss");
}

static bool write_to(void *file, const char *text, size_t length) {
    return fwrite(text, 1, length, file) == length;
}

/* The tape of the step that was refused is still there. */
static bool draw(const ct_tape *tape, const char *path) {
    struct ct_dot_options options = ct_dot_options_init();
    options.title = "the step that was refused";
    options.legend = options.values = true;
    FILE *file = fopen(path, "w");
    bool done = file && ct_tape_dot(tape, &options, write_to, file) == CT_OK;
    return (!file || fclose(file) == 0) && done;
}

/* One step; the message of ct_params_step() names the parameter and the node with which it began. */
static ct_status step(ct_tape *tape, ct_params *params, ct_optim *sgd, const ct_tensor *x,
                      const ct_tensor *y) {
    ct_params_record(params, tape);
    ct_params_grad(params, record_loss(tape, x, y, ct_params_var(params, 0)));
    return ct_params_step(params, sgd);
}

/* What a user would ask next. */
static void look_around(const ct_tape *tape, const ct_params *params) {
    struct ct_anomaly first;
    char weights[128];
    if (ct_tape_anomaly(tape, 0, &first))
        printf("the op to look at: %s\n", ct_op_name(first.op));
    ct_format(ct_params_value(params, 0), weights, sizeof weights);
    printf("the weights are those before the step: %s\n", weights);
}

/* The number of the step that was refused, or STEPS. */
static int train(ct_tape *tape, ct_params *params, ct_optim *sgd, const ct_tensor *x,
                 const ct_tensor *y) {
    for (int i = 0; i < STEPS; i++) {
        ct_mark mark = ct_tape_mark(tape);
        if (step(tape, params, sgd, x, y) != CT_OK)
            return i;
        ct_tape_rewind(tape, mark);
    }
    return STEPS;
}

int main(int argc, char **argv) {
    ct_tensor *x =
        ct_from_doubles(CT_F64, 2, (int64_t[]){ROWS, FEATURES}, ROWS * FEATURES, features);
    ct_tensor *y = ct_from_doubles(CT_F64, 2, (int64_t[]){ROWS, 1}, ROWS, counts);
    ct_tensor *w = ct_zeros(CT_F64, 2, (int64_t[]){FEATURES, 1});
    struct ct_sgd_options options = ct_sgd_options_init();
    options.lr = 0.22;
    ct_optim *sgd = ct_sgd_new(&options);
    ct_params *params = ct_params_new();
    ct_tape *tape = ct_tape_new();
    ct_params_add(params, "w", w);
    int refused = train(tape, params, sgd, x, y);
    bool done = refused < STEPS;
    if (done) {
        printf("step %d was refused: %s\n", refused, ct_error()->message);
        look_around(tape, params);
        done = argc < 2 || draw(tape, argv[1]);
    }
    ct_tape_free(tape);
    ct_params_free(params);
    ct_optim_free(sgd);
    ct_free(w);
    ct_free(y);
    ct_free(x);
    return done ? 0 : 1;
}
