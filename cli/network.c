#include "network.h"

#include <math.h>
#include <stdio.h>

enum { CHECKED_ROWS = 8, CHECKED_ITEMS = 64 };

ct_mlp *network_new(uint64_t seed) {
    static const int64_t widths[NETWORK_LAYERS + 1] = {DIGIT_PIXELS, 64, DIGIT_CLASSES};
    return ct_mlp_new(CT_F32, NETWORK_LAYERS, widths, CT_TANH, seed);
}

void network_name_gradients(const ct_params *params) {
    for (size_t i = 0; i < ct_params_count(params); i++) {
        char name[64];
        snprintf(name, sizeof name, "d loss / d %s", ct_params_name(params, i));
        ct_named(ct_params_gradient(params, i), name);
    }
}

ct_status network_record_step(ct_mlp *mlp, ct_tape *tape, const struct digits *digits,
                              int64_t rows) {
    ct_params *params = ct_mlp_params(mlp);
    ct_tensor *pixels = ct_slice(digits->train_x, 0, 0, rows, 1);
    ct_tensor *digit = ct_slice(digits->train_labels, 0, 0, rows, 1);
    ct_params_record(params, tape);
    ct_var x = ct_constant(tape, pixels, "pixels");
    ct_var labels = ct_constant(tape, digit, "digits");
    ct_free(pixels);
    ct_free(digit);
    ct_var logits = ct_named(ct_mlp_apply(mlp, x), "logits");
    ct_scope_begin(tape, "loss");
    ct_var loss = ct_named(ct_var_cross_entropy(logits, labels, CT_REDUCE_MEAN), "loss");
    ct_scope_end(tape);
    if (ct_params_grad(params, loss) == CT_OK)
        network_name_gradients(params);
    return ct_tape_status(tape);
}

/* A ct_function: the loss from pixels, labels and parameters. */
static ct_var loss_of(void *context, ct_tape *tape, size_t n, const ct_var *inputs) {
    (void)tape;
    const ct_mlp *mlp = context;
    ct_var logits = ct_mlp_apply_to(mlp, inputs[0], n - 2, inputs + 2);
    return ct_var_cross_entropy(logits, inputs[1], CT_REDUCE_MEAN);
}

static ct_status check(ct_mlp *mlp, const struct digits *digits, bool second_order,
                       struct ct_check_report *report) {
    ct_params *params = ct_mlp_params(mlp);
    ct_tensor *x = ct_slice(digits->test_x, 0, 0, CHECKED_ROWS, 1);
    ct_tensor *labels = ct_slice(digits->test_labels, 0, 0, CHECKED_ROWS, 1);
    const ct_tensor *inputs[2 + NETWORK_PARAMETERS] = {x, labels};
    for (size_t i = 0; i < NETWORK_PARAMETERS; i++)
        inputs[2 + i] = ct_params_value(params, i);
    struct ct_check_options options = ct_check_options_init();
    options.max_items = CHECKED_ITEMS;
    options.second_order = second_order;
    ct_status status =
        ct_check_gradient(loss_of, mlp, 2 + NETWORK_PARAMETERS, inputs, &options, report);
    ct_free(x);
    ct_free(labels);
    return status;
}

ct_status network_check(ct_mlp *mlp, const struct digits *digits, struct ct_check_report *report) {
    return check(mlp, digits, false, report);
}

ct_status network_check_twice(ct_mlp *mlp, const struct digits *digits,
                              struct ct_check_report *report) {
    return check(mlp, digits, true, report);
}

double report_worst(const struct ct_check_report *report) {
    return fmax(fmax(report->worst_tape_dual, report->worst_tape_diff),
                fmax(report->worst_dual_diff, report->worst_second));
}
