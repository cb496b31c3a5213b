/* transposed: swaps the last two axes; it is its own transpose. */

#include "autodiff/pull_words.h"

static ct_tensor *run(const ct_tensor *const in[], const struct ct__attr *attr) {
    (void)attr;
    return ct_transpose(in[0]);
}

static ct_var pull(const struct ct__pull *p, int argument) {
    (void)argument;
    return ct_var_transpose(p->g);
}

ct_var ct_var_transpose(ct_var x) {
    return ct__record(CT_OP_transposed, 1, &x, NULL);
}

static const struct ct__sample samples[] = {
    {1, {2}, {{2, 3}}, 0, {0}},
    {1, {3}, {{2, 3, 4}}, 0, {0}},
    {1, {1}, {{3}}, 0, {0}},
    {1, {2}, {{0, 3}}, 0, {0}},
};

const struct ct__op_record ct__op_transposed = {
    .verb = "transpose",
    .inputs = 1,
    .run = run,
    .pull = pull,
    .pull_text = {"transposed"},
    .samples = samples,
    .sample_count = sizeof samples / sizeof *samples,
};
