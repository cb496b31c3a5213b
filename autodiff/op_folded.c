/* folded: windows added back into an axis of zeros; its transpose is windowed. */

#include "autodiff/pull_words.h"

#include "tensor/ct_reduce.h"

/* The items at one place of every window, among zeros. */
static ct_tensor *spread(const ct_tensor *windows, const struct ct__attr *attr, int64_t place) {
    ct_tensor *items = ct_select(windows, -1, place);
    ct_tensor *among = items ? ct_unslice(items, attr->axis, place, attr->step, attr->count) : NULL;
    ct_free(items);
    return among;
}

/* What windows without items add up to. */
static ct_tensor *zeros(const ct_tensor *windows, const struct ct__attr *attr) {
    ct_tensor *items = ct_sum(windows, -1, false);
    ct_tensor *none = items ? ct_slice(items, attr->axis, 0, 0, 1) : NULL;
    ct_tensor *sum = none ? ct_unslice(none, attr->axis, 0, 1, attr->count) : NULL;
    ct_free(items);
    ct_free(none);
    return sum;
}

/* attr: axis of the windows; count, the extent of the result; step. Places in a window count up. */
static ct_tensor *run(const ct_tensor *const in[], const struct ct__attr *attr) {
    int64_t size = ct_extent(in[0], -1);
    ct_tensor *sum = size == 0 ? zeros(in[0], attr) : spread(in[0], attr, 0);
    for (int64_t place = 1; sum && place < size; place++) {
        ct_tensor *part = spread(in[0], attr, place), *old = sum;
        sum = part ? ct_apply(CT_OP_add, 2, (const ct_tensor *[]){old, part}) : NULL;
        ct_free(part);
        ct_free(old);
    }
    return sum;
}

static ct_var pull(const struct ct__pull *p, int argument) {
    const ct_tensor *windows = ct__value_of(p->x[0]);
    int axis = p->attr->axis;
    int64_t count = ct_extent(windows, axis), size = ct_extent(windows, -1), step = p->attr->step;
    ct_var g = p->g;
    (void)argument;
    if (count == 0 || size == 0)
        return FLAT;
    /* Behind the last window there may be room for more. */
    if ((p->attr->count - size) / step + 1 != count)
        g = ct_var_slice(g, axis, 0, (count - 1) * step + size, 1);
    return ct_var_unfold(g, axis, size, step);
}

ct_var ct_var_fold(ct_var windows, int axis, int64_t extent, int64_t step) {
    const ct_tensor *t = ct__operand(windows);
    if (!t)
        return ct__null_of(windows);
    struct ct__attr attr = {
        .axis = ct__front_axis(axis, ct_rank(t) - 1), .count = extent, .step = step};
    return ct__record(CT_OP_folded, 1, &windows, &attr);
}

static const struct ct__sample samples[] = {
    {1, {2}, {{5, 3}}, 0, {.axis = 0, .count = 7, .step = 1}},
    {1, {3}, {{2, 2, 2}}, 0, {.axis = 0, .count = 6, .step = 3}},
    {1, {2}, {{2, 2}}, 0, {.axis = 0, .count = 4, .step = 2}},
    {1, {2}, {{2, 3}}, 0, {.axis = 0, .count = 8, .step = 1}},
    {1, {2}, {{0, 3}}, 0, {.axis = 0, .count = 2, .step = 1}},
    {1, {2}, {{2, 0}}, 0, {.axis = 0, .count = 5, .step = 1}},
};
static const struct ct__error_sample errors[] = {
    {{1, {2}, {{5, 3}}, 0, {.axis = 0, .count = 6, .step = 1}}, CT_EINDEX, "6"},
    {{1, {3}, {{5, 5, 3}}, 0, {.axis = -3, .count = 7, .step = 1}},
     CT_EAXIS,
     "axis -3 is out of range"},
    {{1, {2}, {{2, 0}}, 0, {.axis = 5, .count = 7, .step = 1}}, CT_EAXIS, "axis 5 is out of range"},
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
