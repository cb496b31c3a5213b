/* batch_norm_parts: the pulls of batch_norm to x, to its scale and to a shift, one after the other in a vector. */

#include "autodiff/layer_norm_rules.h"

#include "tensor/row_pulls.h"

static ct_tensor *run(const ct_tensor *const in[], const struct ct__attr *attr) {
    return ct__batch_norm_parts(in[0], in[1], in[2], attr->eps);
}

/* As layer_norm_parts, in rows of the channels. */
static ct_var pull(const struct ct__pull *P, int argument) {
    const struct ct__attr norm = {.axis = 1, .eps = P->attr->eps};
    struct ct__norm_parts s = {.norm = &norm};
    ct__split_parts(P, &s);
    s.u = ct__channel_rows(s.u);
    s.g = ct__channel_rows(P->x[1]);
    if (ct_var_is_null(s.u) || ct_var_is_null(s.g))
        return ct__null_of(P->g);
    if (ct_count(ct__value_of(P->x[0])) == 0)
        return argument < 2 ? P->x[0] : ct_var_sum(s.u, 1, false);
    s.x = ct__channel_rows(P->x[0]);
    s.scale = ct_var_expand_dims(P->x[2], 1);
    s.a = ct_var_expand_dims(s.a, 1);
    s.b = ct_var_expand_dims(s.b, 1);
    ct_var part = ct__norm_parts_pull(P, &s, argument);
    return argument < 2 ? ct__from_channel_rows(part, P->x[0]) : ct_var_sum(part, 1, false);
}

static const struct ct__sample samples[] = {
    {3, {3, 3, 1}, {{2, 3, 2}, {2, 3, 2}, {3}}, 0, {.eps = 1e-5}},
    {3, {2, 2, 1}, {{4, 2}, {4, 2}, {2}}, 0, {.eps = 0.1}},
    {3, {4, 4, 1}, {{2, 2, 3, 7}, {2, 2, 3, 7}, {2}}, 0, {.eps = 1e-5}},
    {3, {2, 2, 1}, {{0, 3}, {0, 3}, {3}}, 0, {.eps = 1e-5}},
};
static const struct ct__error_sample errors[] = {
    {{3, {2, 2, 1}, {{4, 2}, {4, 2}, {3}}, 0, {.eps = 1e-5}}, CT_ESHAPE, "[3]"},
};

const struct ct__op_record ct__op_batch_norm_parts = {
    .verb = "batch_norm_train",
    .inputs = 3,
    .run = run,
    .pull = pull,
    .pull_text = {"as of layer_norm_parts", "as of layer_norm_parts", "as of layer_norm_parts"},
    .samples = samples,
    .sample_count = sizeof samples / sizeof *samples,
    .errors = errors,
    .error_count = sizeof errors / sizeof *errors,
};
