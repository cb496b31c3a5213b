/* padded: zeros around and between the items of an axis; its transpose is sliced. */

#include "autodiff/pull_words.h"

/* attr: axis, start, step, and count, here the extent of the result. */
static ct_tensor *run(const ct_tensor *const in[], const struct ct__attr *attr) {
    return ct_unslice(in[0], attr->axis, attr->start, attr->step, attr->count);
}

static ct_var pull(const struct ct__pull *p, int argument) {
    (void)argument;
    struct ct__attr attr = *p->attr;
    attr.count = ct_shape(ct__value_of(p->x[0]))[attr.axis];
    return ct__record(CT_OP_sliced, 1, &p->g, &attr);
}

static const struct ct__sample samples[] = {
    {1, {1}, {{3}}, 0, {.axis = 0, .start = 1, .step = 2, .count = 7}},
    {1, {2}, {{2, 3}}, 0, {.axis = 1, .start = 4, .step = -2, .count = 5}},
    {1, {2}, {{0, 3}}, 0, {.axis = 0, .start = 0, .step = 1, .count = 2}},
};
static const struct ct__error_sample errors[] = {
    {{1, {1}, {{3}}, 0, {.axis = 0, .start = 1, .step = 2, .count = 5}},
     CT_EINDEX,
     "3 items from 1 in steps of 2 do not fit an extent of 5"},
};

const struct ct__op_record ct__op_padded = {
    .verb = "unslice",
    .inputs = 1,
    .run = run,
    .pull = pull,
    .pull_text = {"sliced"},
    .samples = samples,
    .sample_count = sizeof samples / sizeof *samples,
    .errors = errors,
    .error_count = sizeof errors / sizeof *errors,
};
