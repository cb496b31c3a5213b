/* minned: the minimum along axes. */

#include "autodiff/extreme_pull.h"

static ct_tensor *run(const ct_tensor *const in[], const struct ct__attr *attr) {
    int axes[CT_MAX_RANK];
    ct__attr_axes(attr, axes);
    return ct_min_axes(in[0], attr->rank, axes, attr->keepdims);
}

static ct_var pull(const struct ct__pull *p, int argument) {
    (void)argument;
    return ct__extreme_pull(p);
}

ct_var ct_var_min_axes(ct_var x, int n, const int *axes, bool keepdims) {
    return ct__record_reduction(CT_OP_minned, x, n, axes, keepdims);
}

ct_var ct_var_min(ct_var x, int axis, bool keepdims) {
    return ct_var_min_axes(x, 1, &axis, keepdims);
}

static const struct ct__error_sample errors[] = {
    {{1, {2}, {{2, 0}}, 0, {.rank = 1, .shape = {1}}},
     CT_EDOMAIN,
     "cannot take the minimum along axis 1 of extent 0"},
    {{1, {2}, {{2, 3}}, 0, {.rank = 1, .shape = {2}}}, CT_EAXIS, "axis 2 is out of range"},
};

const struct ct__op_record ct__op_minned = {
    .verb = "min",
    .inputs = 1,
    .run = run,
    .pull = pull,
    .pull_text = {"G shared equally by the items at the minimum"},
    .samples = ct__extreme_samples,
    .sample_count = sizeof ct__extreme_samples / sizeof *ct__extreme_samples,
    .errors = errors,
    .error_count = sizeof errors / sizeof *errors,
};
