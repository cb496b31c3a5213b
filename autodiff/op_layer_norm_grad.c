/* layer_norm_grad: the pull of layer_norm without scale and shift. */

#include "autodiff/layer_norm_rules.h"

#include "tensor/row_pulls.h"

static ct_tensor *run(const ct_tensor *const in[], const struct ct__attr *attr) {
    return ct__layer_norm_grad(in[0], in[1], attr->axis, attr->eps);
}

ct_var ct__row_mean(const struct ct__pull *P, ct_var v) {
    int axes[CT_MAX_RANK], n = 0, rank = ct_rank(ct__value_of(P->x[0])), axis = P->attr->axis;
    for (int i = axis < 0 ? axis + rank : axis; i < rank; i++)
        axes[n++] = i;
    return ct_var_is_null(v) ? v : ct_var_mean_axes(v, n, axes, true);
}

static ct_var mean_product(const struct ct__pull *P, ct_var a, ct_var b) {
    return ct__row_mean(P, SMUL(a, b));
}

/* The map of Z is symmetric. That of X: with h = layer_norm(X), r = 1 / spread, the cotangent U and
   means over a row,
     -r^2 (mean(U Z) - mean(U) mean(Z) - mean(Z h) mean(U h)) h
     - r (mean(U h) pull(Z) + mean(Z h) pull(U)). */
ct_var ct__layer_norm_curve(const struct ct__pull *P) {
    ct_var x = P->x[0], z = P->x[1], u = P->g;
    ct_var h = ct__layer_norm_var(x, P->attr), gap = SUB(x, ct__row_mean(P, x));
    ct_var variance = ct__row_mean(P, SQUARE(gap));
    ct_var r = RSQRT(ADD(variance, K(P->attr->eps)));
    ct_var zh = mean_product(P, z, h), uh = mean_product(P, u, h);
    ct_var both = mean_product(P, u, z), mean = ct__row_mean(P, u);
    ct_var apart = SUB(both, SMUL(mean, ct__row_mean(P, z)));
    ct_var curve = SUB(apart, SMUL(zh, uh));
    ct_var own = SMUL(SMUL(SQUARE(r), curve), h);
    ct_var of_z = SMUL(uh, ct__layer_norm_grad_var(x, z, P->attr));
    ct_var of_u = SMUL(zh, ct__layer_norm_grad_var(x, u, P->attr));
    ct_var other = SMUL(r, ADD(of_z, of_u));
    return NEG(ADD(own, other));
}

static ct_var pull(const struct ct__pull *P, int argument) {
    if (ct_count(ct__value_of(P->x[0])) == 0)
        return P->g;
    return argument == 0 ? ct__layer_norm_curve(P)
                         : ct__layer_norm_grad_var(P->x[0], P->g, P->attr);
}

ct_var ct__layer_norm_grad_var(ct_var x, ct_var g, const struct ct__attr *norm) {
    if (ct_tape_ieee(x.tape))
        return ct__plain_layer_norm_grad(x, g, norm);
    const ct_var in[] = {x, g};
    struct ct__attr attr = {.axis = norm->axis, .eps = norm->eps};
    return ct__record(CT_OP_layer_norm_grad, 2, in, &attr);
}

static const struct ct__sample samples[] = {
    {2, {2, 2}, {{2, 3}, {2, 3}}, 0, {.axis = 1, .eps = 0.1}},
    {2, {3, 3}, {{2, 3, 2}, {2, 3, 2}}, 0, {.axis = -2, .eps = 1e-5}},
    {2, {1, 1}, {{5}, {5}}, 0, {.axis = 0, .eps = 1e-5}},
    {2, {2, 2}, {{0, 3}, {0, 3}}, 0, {.axis = 1, .eps = 1e-5}},
};
static const struct ct__error_sample errors[] = {
    {{2, {2, 2}, {{2, 3}, {2, 3}}, 0, {.axis = 2}}, CT_EAXIS, "axis 2 is out of range"},
};

const struct ct__op_record ct__op_layer_norm_grad = {
    .verb = "layer_norm",
    .inputs = 2,
    .run = run,
    .pull = pull,
    .pull_text = {"its derivative, in means over rows", "LAYER_NORM_GRAD(X, G)"},
    .samples = samples,
    .sample_count = sizeof samples / sizeof *samples,
    .errors = errors,
    .error_count = sizeof errors / sizeof *errors,
};
