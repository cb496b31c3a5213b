/* reshaped: the same items in another shape; its transpose reshapes back. */

#include "autodiff/pull_words.h"

#include "tensor/ct_names.h"

#include <string.h>

static ct_tensor *run(const ct_tensor *const in[], const struct ct__attr *attr) {
    return ct_reshape(in[0], attr->rank, attr->shape);
}

static ct_var pull(const struct ct__pull *p, int argument) {
    (void)argument;
    const ct_tensor *x = ct__value_of(p->x[0]);
    int64_t shape[CT_MAX_RANK];
    memcpy(shape, ct_shape(x), (size_t)ct_rank(x) * sizeof *shape);
    return ct_var_reshape(p->g, ct_rank(x), shape);
}

ct_var ct_var_reshape(ct_var x, int rank, const int64_t *shape) {
    struct ct__attr attr;
    if (!ct__shape_attr(x, rank, shape, &attr))
        return ct__null_of(x);
    return ct__record(CT_OP_reshaped, 1, &x, &attr);
}

/* x in the shape of a view of its value `t`, recorded as a reshape. */
static ct_var reshape_like(ct_var x, const ct_tensor *t, ct_tensor *view) {
    if (!t)
        return ct__null_of(x);
    if (!view)
        return ct__fail_op(x.tape, CT_OP_reshaped, 1, &t);
    struct ct__attr attr;
    bool whole = ct__shape_attr(x, ct_rank(view), ct_shape(view), &attr);
    if (whole && !ct_has_names(t)) /* else a reshape may give other names */
        return ct__append_op(x.tape, CT_OP_reshaped, 1, &x, view, &attr);
    ct_free(view);
    return whole ? ct__record(CT_OP_reshaped, 1, &x, &attr) : ct__null_of(x);
}

ct_var ct_var_expand_dims(ct_var x, int axis) {
    const ct_tensor *t = ct__operand(x);
    return reshape_like(x, t, t ? ct_expand_dims(t, axis) : NULL);
}

ct_var ct_var_squeeze(ct_var x, int axis) {
    const ct_tensor *t = ct__operand(x);
    return reshape_like(x, t, t ? ct_squeeze(t, axis) : NULL);
}

static const struct ct__sample samples[] = {
    {1, {2}, {{2, 3}}, 0, {.rank = 1, .shape = {6}}},
    {1, {2}, {{2, 6}}, 0, {.rank = 3, .shape = {2, -1, 2}}},
    {1, {0}, {{0}}, 0, {.rank = 2, .shape = {1, 1}}},
    {1, {2}, {{0, 3}}, 0, {.rank = 2, .shape = {3, 0}}},
};
static const struct ct__error_sample errors[] = {
    {{1, {2}, {{2, 3}}, 0, {.rank = 2, .shape = {4, 2}}},
     CT_ESHAPE,
     "cannot reshape a tensor of shape [2, 3] (6 items) into [4, 2] (8 items)"},
};

const struct ct__op_record ct__op_reshaped = {
    .verb = "reshape",
    .inputs = 1,
    .run = run,
    .pull = pull,
    .pull_text = {"reshaped back"},
    .samples = samples,
    .sample_count = sizeof samples / sizeof *samples,
    .errors = errors,
    .error_count = sizeof errors / sizeof *errors,
};
