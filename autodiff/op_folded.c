/* folded: windows added back into an axis of zeros; its transpose is windowed. */

#include "autodiff/pull_words.h"

/* The items at one place of every window, among zeros. */
static ct_tensor *spread(const ct_tensor *windows, const struct ct__attr *attr, int64_t place) {
    ct_tensor *items = ct_select(windows, -1, place);
    ct_tensor *among = items ? ct_unslice(items, attr->axis, place, attr->step, attr->count) : NULL;
    ct_free(items);
    return among;
}

/* attr: axis of the windows; count, the extent of the result; step. Places in a window count up. */
static ct_tensor *run(const ct_tensor *const in[], const struct ct__attr *attr) {
    int64_t shape[CT_MAX_RANK], size = ct_extent(in[0], -1);
    int rank = ct_rank(in[0]) - 1;
    for (int i = 0; i < rank; i++)
        shape[i] = i == attr->axis ? attr->count : ct_shape(in[0])[i];
    ct_tensor *sum = size == 0 ? ct_zeros(ct_dtype(in[0]), rank, shape) : spread(in[0], attr, 0);
    for (int64_t place = 1; sum && place < size; place++) {
        ct_tensor *part = spread(in[0], attr, place), *old = sum;
        sum = part ? ct_apply(CT_OP_add, 2, (const ct_tensor *[]){old, part}) : NULL;
        ct_free(part);
        ct_free(old);
    }
    return sum;
}

static ct_var pull(const struct ct__pull *p, int argument) {
    (void)argument;
    return ct_var_unfold(p->g, p->attr->axis, ct_extent(ct__value_of(p->x[0]), -1), p->attr->step);
}

ct_var ct_var_fold(ct_var windows, int axis, int64_t extent, int64_t step) {
    const ct_tensor *t = ct__operand(windows);
    if (!t)
        return ct__null_of(windows);
    struct ct__attr attr = {
        .axis = axis < 0 ? axis + ct_rank(t) - 1 : axis, .count = extent, .step = step};
    return ct__record(CT_OP_folded, 1, &windows, &attr);
}

static const struct ct__sample samples[] = {
    {1, {2}, {{5, 3}}, 0, {.axis = 0, .count = 7, .step = 1}},
    {1, {3}, {{2, 2, 2}}, 0, {.axis = 0, .count = 6, .step = 3}},
    {1, {2}, {{2, 2}}, 0, {.axis = 0, .count = 4, .step = 2}},
};
static const struct ct__error_sample errors[] = {
    {{1, {2}, {{5, 3}}, 0, {.axis = 0, .count = 6, .step = 1}}, CT_EINDEX, "6"},
};

const struct ct__op_record ct__op_folded = {
    .verb = "fold",
    .inputs = 1,
    .run = run,
    .pull = pull,
    .pull_text = {"windowed"},
    .samples = samples,
    .sample_count = sizeof samples / sizeof *samples,
    .errors = errors,
    .error_count = sizeof errors / sizeof *errors,
};
