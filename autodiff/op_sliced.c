/* sliced: every step-th item of an axis from a start; its transpose is padded. */

#include "autodiff/pull_words.h"

#include "tensor/ct_names.h"

/* attr: axis, start, step and count, start within the axis and the axis counted from the front. */
static ct_tensor *run(const ct_tensor *const in[], const struct ct__attr *attr) {
    if (attr->count == 0)
        return ct_slice(in[0], attr->axis, 0, 0, 1);
    int64_t last = attr->start + (attr->count - 1) * attr->step;
    int64_t stop = attr->step > 0 ? last + 1 : last > 0 ? last - 1 : CT_END;
    return ct_slice(in[0], attr->axis, attr->start, stop, attr->step);
}

static ct_var pull(const struct ct__pull *p, int argument) {
    (void)argument;
    struct ct__attr attr = *p->attr;
    attr.count = ct_shape(ct__value_of(p->x[0]))[attr.axis];
    return ct__record(CT_OP_padded, 1, &p->g, &attr);
}

ct_var ct_var_slice(ct_var x, int axis, int64_t start, int64_t stop, int64_t step) {
    const ct_tensor *t = ct__operand(x);
    if (!t)
        return ct__null_of(x);
    struct ct__attr attr = {.axis = axis, .step = step};
    /* The view's own checks of the axis and the step, and their texts. */
    ct_tensor *view = ct_slice(t, axis, start, stop, step);
    if (!view)
        return ct__fail_op(x.tape, CT_OP_sliced, 1, &t);
    if (axis < 0)
        attr.axis += ct_rank(t);
    ct_slice_range(ct_shape(t)[attr.axis], start, stop, step, &attr.start, &attr.count);
    if (attr.count <= 1)
        attr.step = 1;    /* no step is made */
    if (!ct_has_names(t)) /* else it is the tape's business which names a node bears */
        return ct__append_op(x.tape, CT_OP_sliced, 1, &x, view, &attr);
    ct_free(view);
    return ct__record(CT_OP_sliced, 1, &x, &attr);
}

ct_var ct_var_flip(ct_var x, int axis) {
    return ct_var_slice(x, axis, -1, CT_END, -1);
}

ct_var ct_var_select(ct_var x, int axis, int64_t index) {
    const ct_tensor *t = ct__operand(x);
    ct_tensor *view = t ? ct_select(t, axis, index) : NULL;
    if (!view)
        return t ? ct__fail_op(x.tape, CT_OP_sliced, 1, &t) : ct__null_of(x);
    ct_var slice = ct_var_slice(x, axis, index, index == -1 ? CT_END : index + 1, 1);
    ct_var y = ct_var_reshape(slice, ct_rank(view), ct_shape(view));
    ct_free(view);
    return y;
}

static const struct ct__sample samples[] = {
    {1, {1}, {{7}}, 0, {.axis = 0, .start = 1, .step = 2, .count = 3}},
    {1, {2}, {{3, 5}}, 0, {.axis = 1, .start = 4, .step = -1, .count = 5}},
    {1, {2}, {{3, 5}}, 0, {.axis = 0, .start = 2, .step = 1, .count = 1}},
    {1, {1}, {{4}}, 0, {.axis = 0, .start = 0, .step = 1, .count = 0}},
};

const struct ct__op_record ct__op_sliced = {
    .verb = "slice",
    .inputs = 1,
    .run = run,
    .pull = pull,
    .pull_text = {"padded with zeros"},
    .samples = samples,
    .sample_count = sizeof samples / sizeof *samples,
};
