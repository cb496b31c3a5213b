#include "cotangent.h"
#include <stdio.h>

int main(void) {
    const float corners[] = {0, 0, 0, 1, 1, 0, 1, 1};
    const int64_t answers[] = {0, 1, 1, 0}; // is exactly one of the two set?
    ct_tensor *x = ct_from_items(CT_F32, 2, (int64_t[]){4, 2}, 8, corners);
    ct_tensor *labels = ct_from_items(CT_I64, 1, (int64_t[]){4}, 4, answers);

    ct_mlp *network = ct_mlp_new(CT_F32, 2, (int64_t[]){2, 8, 2}, CT_TANH, 1);
    ct_params *weights = ct_mlp_params(network);
    struct ct_adam_options options = ct_adam_options_init();
    options.lr = 0.05;
    ct_optim *adam = ct_adam_new(&options);
    ct_tape *tape = ct_tape_new();

    for (int step = 1; step <= 200; step++) {
        ct_mark start = ct_tape_mark(tape);
        ct_params_record(weights, tape);
        ct_var logits = ct_mlp_apply(network, ct_constant(tape, x, "x"));
        ct_var loss =
            ct_var_cross_entropy(logits, ct_constant(tape, labels, "labels"), CT_REDUCE_MEAN);
        ct_params_grad(weights, loss); // appends the backward pass to the tape
        if (step % 50 == 0)
            printf("step %3d: loss %.4f, %.0f %% right\n", step, ct_value_item(loss),
                   100 * ct_accuracy(ct_value(logits), labels));
        if (ct_params_step(weights, adam) != CT_OK) // the first error sticks: one check is enough
            return fprintf(stderr, "%s\n", ct_error()->message), 1;
        ct_tape_rewind(tape, start); // forgets the step and keeps its memory
    }
    ct_tape_free(tape), ct_optim_free(adam), ct_mlp_free(network), ct_free(labels), ct_free(x);
}
