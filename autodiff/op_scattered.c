/* scattered: items added into zeros at places of an axis, each by an index of its own; its transpose
   is gathered. */

#include "autodiff/index_attr.h"
#include "autodiff/pull_words.h"

#include "tensor/row_pulls.h"

/* attr: the axis and the shape of the result. */
static ct_tensor *run(const ct_tensor *const in[], const struct ct__attr *attr) {
    return ct__scatter_into_zeros(attr->rank, attr->shape, attr->axis, in[1], in[0]);
}

static ct_var pull(const struct ct__pull *p, int argument) {
    return argument == 0 ? ct_var_gather(p->g, p->attr->axis, p->x[1]) : FLAT;
}

/* t + the source scattered into zeros. */
ct_var ct_var_scatter_add(ct_var t, int axis, ct_var index, ct_var source) {
    const ct_tensor *target = ct__operand(t);
    if (!target)
        return ct__null_of(t);
    const ct_var in[] = {source, index};
    struct ct__attr attr = ct__shape_of(target, axis);
    ct_var sum[] = {t, ct__record(CT_OP_scattered, 2, in, &attr)};
    return ct__record_elementwise(CT_OP_add, 2, sum);
}

static const struct ct__sample samples[] = {
    {2, {2, 2}, {{2, 4}, {2, 4}}, 3, {.axis = 0, .rank = 2, .shape = {3, 4}}},
    {2, {1, 1}, {{6}, {6}}, 2, {.axis = 0, .rank = 1, .shape = {2}}},
    {2, {1, 1}, {{0}, {0}}, 2, {.axis = 0, .rank = 1, .shape = {2}}},
};
static const struct ct__error_sample errors[] = {
    {{2, {1, 1}, {{3}, {4}}, 2, {.axis = 0, .rank = 1, .shape = {2}}}, CT_ESHAPE, "[4]"},
};

const struct ct__op_record ct__op_scattered = {
    .verb = "scatter_add",
    .inputs = 2,
    .run = run,
    .pull = pull,
    .pull_text = {"gathered", "none: an index"},
    .samples = samples,
    .sample_count = sizeof samples / sizeof *samples,
    .errors = errors,
    .error_count = sizeof errors / sizeof *errors,
};
