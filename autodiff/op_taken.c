/* taken: rows of an axis by index; its transpose is added_at. */

#include "autodiff/index_attr.h"
#include "autodiff/pull_words.h"

static ct_tensor *run(const ct_tensor *const in[], const struct ct__attr *attr) {
    return ct_take(in[0], attr->axis, in[1]);
}

static ct_var pull(const struct ct__pull *p, int argument) {
    if (argument == 1)
        return FLAT;
    const ct_var in[] = {p->g, p->x[1]};
    struct ct__attr attr = ct__shape_of(ct__value_of(p->x[0]), p->attr->axis);
    return ct__record(CT_OP_added_at, 2, in, &attr);
}

ct_var ct_var_take(ct_var x, int axis, ct_var index) {
    const ct_var in[] = {x, index};
    struct ct__attr attr = {.axis = axis};
    return ct__record(CT_OP_taken, 2, in, &attr);
}

static const struct ct__sample samples[] = {
    {2, {2, 1}, {{3, 4}, {5}}, 3, {.axis = 0}}, {2, {2, 2}, {{3, 4}, {2, 2}}, 4, {.axis = -1}},
    {2, {2, 0}, {{3, 4}, {0}}, 3, {.axis = 0}}, {2, {2, 1}, {{2, 3}, {4}}, 6, {.axis = CT_ALL}},
    {2, {2, 1}, {{3, 4}, {0}}, 3, {.axis = 0}},
};
static const struct ct__error_sample errors[] = {
    {{2, {2, 1}, {{3, 4}, {2}}, 3, {.axis = 2}}, CT_EAXIS, "axis 2 is out of range"},
};

const struct ct__op_record ct__op_taken = {
    .verb = "take",
    .inputs = 2,
    .run = run,
    .pull = pull,
    .pull_text = {"added into zeros at the index", "none: an index"},
    .samples = samples,
    .sample_count = sizeof samples / sizeof *samples,
    .errors = errors,
    .error_count = sizeof errors / sizeof *errors,
};
