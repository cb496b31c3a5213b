/* layer_norm_parts: the pulls of layer_norm to x, to its scale and to a shift, one after the other in a vector. */

#include "autodiff/layer_norm_rules.h"

#include "tensor/row_pulls.h"

static ct_tensor *run(const ct_tensor *const in[], const struct ct__attr *attr) {
    return ct__layer_norm_parts(in[0], in[1], in[2], attr->axis, attr->eps);
}

static ct_var over_rows(const struct ct__pull *P, ct_var items) {
    int axes[CT_MAX_RANK], rows = ct_rank(ct__value_of(P->x[0])) - ct_rank(ct__value_of(P->x[2]));
    for (int i = 0; i < rows; i++)
        axes[i] = i;
    return ct_var_sum_axes(items, rows, axes, false);
}

static ct_var pull(const struct ct__pull *P, int argument) {
    struct ct__norm_parts s = {.x = P->x[0], .g = P->x[1], .scale = P->x[2], .norm = P->attr};
    ct__split_parts(P, &s);
    if (ct_count(ct__value_of(P->x[0])) == 0)
        return argument < 2 ? s.u : over_rows(P, s.u);
    ct_var part = ct__norm_parts_pull(P, &s, argument);
    return argument < 2 ? part : over_rows(P, part);
}

static const struct ct__sample samples[] = {
    {3, {2, 2, 1}, {{2, 3}, {2, 3}, {3}}, 0, {.axis = 1, .eps = 0.1}},
    {3, {3, 3, 2}, {{2, 3, 2}, {2, 3, 2}, {3, 2}}, 0, {.axis = -2, .eps = 1e-5}},
    {3, {1, 1, 1}, {{5}, {5}, {5}}, 0, {.axis = 0, .eps = 1e-5}},
    {3, {2, 2, 1}, {{0, 3}, {0, 3}, {3}}, 0, {.axis = 1, .eps = 1e-5}},
};
static const struct ct__error_sample errors[] = {
    {{3, {2, 2, 1}, {{2, 3}, {2, 3}, {3}}, 0, {.axis = 2}}, CT_EAXIS, "axis 2 is out of range"},
};

const struct ct__op_record ct__op_layer_norm_parts = {
    .verb = "layer_norm",
    .inputs = 3,
    .run = run,
    .pull = pull,
    .pull_text = {"its derivative, in means over rows",
                  "W LAYER_NORM_GRAD(X, U) + A LAYER_NORM(X) + B, of the pieces U, A, B of G",
                  "SMUL(Z, LAYER_NORM_GRAD(X, U)), summed over rows"},
    .samples = samples,
    .sample_count = sizeof samples / sizeof *samples,
    .errors = errors,
    .error_count = sizeof errors / sizeof *errors,
};
