/* The network that the commands train, check and draw: an MLP 64-64-10 on the digits. */
#ifndef CLI_NETWORK_H
#define CLI_NETWORK_H

#include "autodiff/ct_check.h"
#include "digits.h"
#include "nn/ct_nn.h"

#define NETWORK_TEXT "MLP 64-64-10, tanh"

enum { NETWORK_LAYERS = 2, NETWORK_PARAMETERS = 2 * NETWORK_LAYERS };

/* A fresh network in f32, or NULL with ct_error(). */
ct_mlp *network_new(uint64_t seed);

/* Records one training step (network, loss, gradients) on the first rows of a set. */
ct_status network_record_step(ct_mlp *mlp, ct_tape *tape, const struct digits *digits,
                              int64_t rows);

/* Names recorded gradients after their parameters. */
void network_name_gradients(const ct_params *params);

/* Checks the gradients of the loss on a few rows, in f64, for the pixels and every parameter. */
ct_status network_check(ct_mlp *mlp, const struct digits *digits, struct ct_check_report *report);

/* The same, and the second derivatives too. */
ct_status network_check_twice(ct_mlp *mlp, const struct digits *digits,
                              struct ct_check_report *report);

/* The largest of a report's disagreements, at both orders. */
double report_worst(const struct ct_check_report *report);

#endif
