/* broadcast: copies along new and extent-1 axes; its transpose is summed. */

#include "autodiff/pull_words.h"

#include <string.h>

static ct_tensor *run(const ct_tensor *const in[], const struct ct__attr *attr) {
    return ct_broadcast_to(in[0], attr->rank, attr->shape);
}

/* Sums over the axes along which x was copied. */
static ct_var pull(const struct ct__pull *p, int argument) {
    (void)argument;
    const ct_tensor *x = ct__value_of(p->x[0]);
    int64_t shape[CT_MAX_RANK];
    int axes[CT_MAX_RANK], count = 0, rank = ct_rank(x), added = p->attr->rank - rank;
    memcpy(shape, ct_shape(x), (size_t)rank * sizeof *shape);
    for (int axis = 0; axis < p->attr->rank; axis++)
        if (axis < added || (shape[axis - added] == 1 && p->attr->shape[axis] != 1))
            axes[count++] = axis;
    bool only_new = count == added;
    ct_var sum = ct_var_sum_axes(p->g, count, axes, !only_new);
    return only_new || added == 0 ? sum : ct_var_reshape(sum, rank, shape);
}

ct_var ct_var_broadcast_to(ct_var x, int rank, const int64_t *shape) {
    struct ct__attr attr;
    if (!ct__shape_attr(x, rank, shape, &attr))
        return ct__null_of(x);
    return ct__record(CT_OP_broadcast, 1, &x, &attr);
}

static const struct ct__sample samples[] = {
    {1, {1}, {{3}}, 0, {.rank = 2, .shape = {2, 3}}},
    {1, {2}, {{2, 1}}, 0, {.rank = 3, .shape = {4, 2, 3}}},
    {1, {0}, {{0}}, 0, {.rank = 2, .shape = {2, 2}}},
    {1, {2}, {{1, 3}}, 0, {.rank = 2, .shape = {0, 3}}},
};
static const struct ct__error_sample errors[] = {
    {{1, {1}, {{3}}, 0, {.rank = 2, .shape = {3, 2}}}, CT_ESHAPE, "[3]"},
};

const struct ct__op_record ct__op_broadcast = {
    .verb = "broadcast_to",
    .inputs = 1,
    .run = run,
    .pull = pull,
    .pull_text = {"summed over the axes that were copied"},
    .samples = samples,
    .sample_count = sizeof samples / sizeof *samples,
    .errors = errors,
    .error_count = sizeof errors / sizeof *errors,
};
