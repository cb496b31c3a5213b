/* placed: one item per row among zeros, at an integer index; its transpose is picked. */

#include "autodiff/pull_words.h"

static ct_tensor *run(const ct_tensor *const in[], const struct ct__attr *attr) {
    return ct_place(in[0], in[1], attr->count);
}

static ct_var pull(const struct ct__pull *p, int argument) {
    return argument == 0 ? ct_var_pick(p->g, p->x[1]) : FLAT;
}

ct_var ct_var_place(ct_var x, ct_var index, int64_t extent) {
    const ct_var in[] = {x, index};
    struct ct__attr attr = {.count = extent};
    return ct__record(CT_OP_placed, 2, in, &attr);
}

static const struct ct__sample samples[] = {
    {2, {1, 1}, {{4}, {4}}, 3, {.count = 3}},
    {2, {0, 0}, {{0}, {0}}, 2, {.count = 2}},
    {2, {2, 2}, {{2, 3}, {2, 3}}, 5, {.count = 5}},
};
static const struct ct__error_sample errors[] = {
    {{2, {1, 1}, {{4}, {3}}, 3, {.count = 3}}, CT_ESHAPE, "the index needs the shape [4]"},
};

const struct ct__op_record ct__op_placed = {
    .verb = "place",
    .inputs = 2,
    .run = run,
    .pull = pull,
    .pull_text = {"picked", "none: an index"},
    .samples = samples,
    .sample_count = sizeof samples / sizeof *samples,
    .errors = errors,
    .error_count = sizeof errors / sizeof *errors,
};
