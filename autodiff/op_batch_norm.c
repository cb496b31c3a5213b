/* batch_norm: x [batch, channels, space...] normalised per channel, with a scale and perhaps a shift [channels]. */

#include "autodiff/layer_norm_rules.h"

#include "tensor/row_pulls.h"

/* attr->count is the number of operands. */
static ct_tensor *run(const ct_tensor *const in[], const struct ct__attr *attr) {
    return ct__batch_norm(in[0], in[1], attr->count > 2 ? in[2] : NULL, attr->eps);
}

/* In words of the table, where zeros must not absorb. */
static ct_var plain_pull(const struct ct__pull *P, int argument) {
    const struct ct__attr norm = {.axis = 1, .eps = P->attr->eps};
    ct_var g = ct__channel_rows(P->g);
    if (argument == 2)
        return ct_var_sum(g, 1, false);
    ct_var rows = ct__channel_rows(P->x[0]);
    if (argument == 1) {
        ct_var products = SMUL(g, ct__layer_norm_var(rows, &norm));
        return ct_var_sum(products, 1, false);
    }
    ct_var gain = SMUL(g, ct_var_expand_dims(P->x[1], 1));
    ct_var dx = ct__layer_norm_grad_var(rows, gain, &norm);
    return ct__from_channel_rows(dx, P->x[0]);
}

static ct_var pull(const struct ct__pull *P, int argument) {
    if (ct_tape_ieee(P->tape))
        return plain_pull(P, argument);
    return ct__norm_part(P, CT_OP_batch_norm_parts, argument);
}

static const struct ct__sample samples[] = {
    {3, {3, 1, 1}, {{2, 3, 2}, {3}, {3}}, 0, {.eps = 1e-5, .count = 3}},
    {2, {2, 1}, {{4, 2}, {2}}, 0, {.eps = 0.1, .count = 2}},
    {3, {4, 1, 1}, {{2, 2, 3, 7}, {2}, {2}}, 0, {.eps = 1e-5, .count = 3}},
    {3, {2, 1, 1}, {{0, 3}, {3}, {3}}, 0, {.eps = 1e-5, .count = 3}},
};
static const struct ct__error_sample errors[] = {
    {{2, {2, 1}, {{4, 2}, {3}}, 0, {.eps = 1e-5, .count = 2}}, CT_ESHAPE, "[3]"},
};

const struct ct__op_record ct__op_batch_norm = {
    .verb = "batch_norm_train",
    .inputs = 3,
    .run = run,
    .pull = pull,
    .pull_text = {"as of layer_norm, in rows of the channels", "as of layer_norm",
                  "G, summed over rows"},
    .samples = samples,
    .sample_count = sizeof samples / sizeof *samples,
    .errors = errors,
    .error_count = sizeof errors / sizeof *errors,
};
