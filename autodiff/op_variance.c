/* variance: along axes, with a correction of the number of items. */

#include "autodiff/reduce_attr.h"

/* attr: axes, and in count the correction. */
static ct_tensor *run(const ct_tensor *const in[], const struct ct__attr *attr) {
    int axes[CT_MAX_RANK];
    ct__attr_axes(attr, axes);
    return ct_variance_axes(in[0], attr->rank, axes, attr->count, attr->keepdims);
}

static double items_of(const ct_tensor *x, const ct_tensor *y) {
    return ct_count(y) ? (double)ct_count(x) / (double)ct_count(y) : 0;
}

/* 2 (x - mean) / (n - correction); NaN where that is a division by 0, as the value is. */
static ct_var pull(const struct ct__pull *P, int argument) {
    const ct_tensor *x = ct__value_of(P->x[0]);
    int axes[CT_MAX_RANK];
    (void)argument;
    if (ct_count(x) == 0)
        return FLAT;
    ct__attr_axes(P->attr, axes);
    double n = items_of(x, ct__value_of(P->y));
    ct_var g = ct__keep_axes(P->g, x, P->attr);
    ct_var centred = SUB(P->x[0], ct_var_mean_axes(P->x[0], P->attr->rank, axes, true));
    if (n - (double)P->attr->count <= 0)
        return MUL(g, MUL(K(NAN), centred));
    return SMUL(g, MUL(K(2 / (n - (double)P->attr->count)), centred));
}

ct_var ct_var_variance_axes(ct_var x, int n, const int *axes, int64_t ddof, bool keepdims) {
    struct ct__attr attr;
    if (!ct__axes_attr(x, n, axes, &attr))
        return ct__null_of(x);
    attr.keepdims = keepdims;
    attr.count = ddof;
    return ct__record(CT_OP_variance, 1, &x, &attr);
}

ct_var ct_var_variance(ct_var x, int axis, int64_t ddof, bool keepdims) {
    return ct_var_variance_axes(x, 1, &axis, ddof, keepdims);
}

ct_var ct_var_std_axes(ct_var x, int n, const int *axes, int64_t ddof, bool keepdims) {
    ct_var variance = ct_var_variance_axes(x, n, axes, ddof, keepdims);
    return ct__record_elementwise(CT_OP_sqrt, 1, &variance);
}

ct_var ct_var_std(ct_var x, int axis, int64_t ddof, bool keepdims) {
    return ct_var_std_axes(x, 1, &axis, ddof, keepdims);
}

static const struct ct__sample samples[] = {
    {1, {2}, {{2, 3}}, 0, {.rank = 1, .shape = {1}, .count = 1}},
    {1, {2}, {{2, 3}}, 0, {.rank = 1, .shape = {-1}, .keepdims = true}},
    {1, {3}, {{2, 3, 2}}, 0, {.rank = 2, .shape = {0, 2}, .count = 1}},
    {1, {2}, {{2, 3}}, 0, {.rank = 1, .shape = {CT_ALL}}},
    {1, {2}, {{0, 3}}, 0, {.rank = 1, .shape = {1}}},
};
static const struct ct__error_sample errors[] = {
    {{1, {2}, {{2, 3}}, 0, {.rank = 1, .shape = {2}}}, CT_EAXIS, "axis 2 is out of range"},
};

const struct ct__op_record ct__op_variance = {
    .verb = "variance",
    .inputs = 1,
    .run = run,
    .pull = pull,
    .pull_text = {"SMUL(G, MUL(2 / (n - ddof), SUB(X, mean)))"},
    .samples = samples,
    .sample_count = sizeof samples / sizeof *samples,
    .errors = errors,
    .error_count = sizeof errors / sizeof *errors,
};
