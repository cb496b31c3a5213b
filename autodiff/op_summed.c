/* summed: sums along axes; its transpose is broadcast. */

#include "autodiff/reduce_attr.h"

static ct_tensor *run(const ct_tensor *const in[], const struct ct__attr *attr) {
    int axes[CT_MAX_RANK];
    ct__attr_axes(attr, axes);
    return ct_sum_axes(in[0], attr->rank, axes, attr->keepdims);
}

static ct_var pull(const struct ct__pull *p, int argument) {
    (void)argument;
    const ct_tensor *x = ct__value_of(p->x[0]);
    int64_t shape[CT_MAX_RANK];
    int rank = ct_rank(x);
    memcpy(shape, ct_shape(x), (size_t)rank * sizeof *shape);
    ct_var g = ct_rank(ct__value_of(p->g)) == 0 ? p->g : ct__keep_axes(p->g, x, p->attr);
    return ct_var_broadcast_to(g, rank, shape);
}

ct_var ct_var_sum_axes(ct_var x, int n, const int *axes, bool keepdims) {
    return ct__record_reduction(CT_OP_summed, x, n, axes, keepdims);
}

ct_var ct_var_sum(ct_var x, int axis, bool keepdims) {
    return ct_var_sum_axes(x, 1, &axis, keepdims);
}

/* The sum divided by the number of items. */
ct_var ct_var_mean_axes(ct_var x, int n, const int *axes, bool keepdims) {
    struct ct__attr attr;
    const ct_tensor *t = ct__axes_attr(x, n, axes, &attr) ? ct__operand(x) : NULL;
    if (!t)
        return ct__null_of(x);
    const ct_scalar *scalar = ct_dtype(t);
    if (!ct_can_reduce(t, n, axes)) {
        ct_free(ct_mean_axes(t, n, axes, keepdims)); /* fails, and says why */
        return ct__fail_op(x.tape, CT_OP_summed, 1, &t);
    }
    double items = 1;
    for (int i = 0; i < n; i++)
        items *= axes[i] == CT_ALL ? (double)ct_count(t) : (double)ct_extent(t, axes[i]);
    ct_var sum = ct_var_sum_axes(x, n, axes, keepdims);
    const ct_var in[] = {sum, ct_constant_of(x.tape, scalar, items)};
    return ct__record_elementwise(CT_OP_div, 2, in);
}

ct_var ct_var_mean(ct_var x, int axis, bool keepdims) {
    return ct_var_mean_axes(x, 1, &axis, keepdims);
}

static const struct ct__sample samples[] = {
    {1, {2}, {{2, 3}}, 0, {.rank = 1, .shape = {0}}},
    {1, {2}, {{2, 3}}, 0, {.rank = 1, .shape = {-1}, .keepdims = true}},
    {1, {3}, {{2, 3, 4}}, 0, {.rank = 2, .shape = {0, 2}}},
    {1, {2}, {{2, 3}}, 0, {.rank = 1, .shape = {CT_ALL}}},
    {1, {0}, {{0}}, 0, {.rank = 0}},
    {1, {2}, {{0, 3}}, 0, {.rank = 1, .shape = {0}}},
};
static const struct ct__error_sample errors[] = {
    {{1, {2}, {{2, 3}}, 0, {.rank = 1, .shape = {2}}}, CT_EAXIS, "axis 2 is out of range"},
    {{1, {2}, {{2, 3}}, 0, {.rank = 2, .shape = {-1, 1}}}, CT_EAXIS, "axis"},
};

const struct ct__op_record ct__op_summed = {
    .verb = "sum",
    .inputs = 1,
    .run = run,
    .pull = pull,
    .pull_text = {"broadcast to the shape of x"},
    .samples = samples,
    .sample_count = sizeof samples / sizeof *samples,
    .errors = errors,
    .error_count = sizeof errors / sizeof *errors,
};
