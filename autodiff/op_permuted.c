/* permuted: reorders the axes; its transpose is the inverse permutation. */

#include "autodiff/pull_words.h"

static ct_tensor *run(const ct_tensor *const in[], const struct ct__attr *attr) {
    int axes[CT_MAX_RANK];
    for (int i = 0; i < attr->rank; i++)
        axes[i] = (int)attr->shape[i];
    return ct_permute(in[0], attr->rank, axes);
}

static ct_var pull(const struct ct__pull *p, int argument) {
    (void)argument;
    int inverse[CT_MAX_RANK];
    for (int i = 0; i < p->attr->rank; i++) {
        int64_t axis = p->attr->shape[i];
        inverse[axis < 0 ? axis + p->attr->rank : axis] = i;
    }
    return ct_var_permute(p->g, p->attr->rank, inverse);
}

ct_var ct_var_permute(ct_var x, int n, const int *axes) {
    struct ct__attr attr;
    if (!ct__axes_attr(x, n, axes, &attr))
        return ct__null_of(x);
    return ct__record(CT_OP_permuted, 1, &x, &attr);
}

static const struct ct__sample samples[] = {
    {1, {3}, {{2, 3, 4}}, 0, {.rank = 3, .shape = {2, 0, 1}}},
    {1, {3}, {{2, 3, 4}}, 0, {.rank = 3, .shape = {-1, 1, 0}}},
    {1, {1}, {{3}}, 0, {.rank = 1, .shape = {0}}},
};
static const struct ct__error_sample errors[] = {
    {{1, {2}, {{2, 3}}, 0, {.rank = 2, .shape = {0, 0}}}, CT_EAXIS, "axis"},
    {{1, {2}, {{2, 3}}, 0, {.rank = 1, .shape = {0}}}, CT_EAXIS, "rank 2"},
};

const struct ct__op_record ct__op_permuted = {
    .verb = "permute",
    .inputs = 1,
    .run = run,
    .pull = pull,
    .pull_text = {"permuted by the inverse"},
    .samples = samples,
    .sample_count = sizeof samples / sizeof *samples,
    .errors = errors,
    .error_count = sizeof errors / sizeof *errors,
};
