/* picked: one item of the last axis per row, at an integer index; its transpose is placed. */

#include "autodiff/pull_words.h"

static ct_tensor *run(const ct_tensor *const in[], const struct ct__attr *attr) {
    (void)attr;
    return ct_pick(in[0], in[1]);
}

static ct_var pull(const struct ct__pull *p, int argument) {
    const ct_tensor *x = ct__value_of(p->x[0]);
    return argument == 0 ? ct_var_place(p->g, p->x[1], ct_extent(x, -1)) : FLAT;
}

ct_var ct_var_pick(ct_var x, ct_var index) {
    const ct_var in[] = {x, index};
    return ct__record(CT_OP_picked, 2, in, NULL);
}

static const struct ct__sample samples[] = {
    {2, {2, 1}, {{4, 3}, {4}}, 3, {0}},
    {2, {1, 0}, {{3}, {0}}, 3, {0}},
    {2, {3, 2}, {{2, 3, 5}, {2, 3}}, 5, {0}},
    {2, {2, 1}, {{0, 3}, {0}}, 3, {0}},
};
static const struct ct__error_sample errors[] = {
    {{2, {2, 1}, {{4, 3}, {3}}, 3, {0}}, CT_ESHAPE, "the index needs the shape [4]"},
};

const struct ct__op_record ct__op_picked = {
    .verb = "pick",
    .inputs = 2,
    .run = run,
    .pull = pull,
    .pull_text = {"placed among zeros", "none: an index"},
    .samples = samples,
    .sample_count = sizeof samples / sizeof *samples,
    .errors = errors,
    .error_count = sizeof errors / sizeof *errors,
};
