/* prod: the product along axes. */

#include "autodiff/chain_words.h"
#include "autodiff/reduce_attr.h"

static ct_tensor *run(const ct_tensor *const in[], const struct ct__attr *attr) {
    int axes[CT_MAX_RANK];
    ct__attr_axes(attr, axes);
    return ct_prod_axes(in[0], attr->rank, axes, attr->keepdims);
}

/* The axes of x with those of the product last, and how many these are. */
static int axes_last(const ct_tensor *x, const struct ct__attr *attr, int order[CT_MAX_RANK]) {
    bool reduced[CT_MAX_RANK] = {false};
    int rank = ct_rank(x), at = 0, count = 0;
    for (int i = 0; i < attr->rank; i++)
        for (int k = 0; k < rank; k++)
            if (attr->shape[i] == CT_ALL || k == (attr->shape[i] + rank) % rank)
                reduced[k] = true;
    for (int last = 0; last < 2; last++)
        for (int k = 0; k < rank; k++)
            if (reduced[k] == last) {
                order[at++] = k;
                count += last;
            }
    return count;
}

/* Per item the product of all others along the last axis: those before it times those after it. */
static ct_var others(ct_var x) {
    int axis = ct_rank(ct__value_of(x)) - 1;
    ct_var before = ct__moved_on(ct_var_cumprod(x, axis), axis);
    ct_var after = ct__moved_on(ct_var_cumprod(ct_var_flip(x, axis), axis), axis);
    after = ct_var_flip(after, axis);
    return MUL(before, after);
}

/* The others of each item, in the shape of x. */
static ct_var others_in_place(ct_var v, const struct ct__attr *attr) {
    const ct_tensor *x = ct__value_of(v);
    int rank = ct_rank(x), order[CT_MAX_RANK], back[CT_MAX_RANK];
    int64_t turned[CT_MAX_RANK], flat[CT_MAX_RANK];
    int kept = rank - axes_last(x, attr, order);
    flat[kept] = 1;
    for (int i = 0; i < rank; i++) {
        turned[i] = ct_shape(x)[order[i]];
        back[order[i]] = i;
        if (i < kept)
            flat[i] = turned[i];
        else
            flat[kept] *= turned[i];
    }
    ct_var rows = ct_var_reshape(ct_var_permute(v, rank, order), kept + 1, flat);
    if (!ct__operand(rows))
        return rows;
    return ct_var_permute(ct_var_reshape(others(rows), rank, turned), rank, back);
}

static ct_var pull(const struct ct__pull *P, int argument) {
    (void)argument;
    if (P->attr->rank == 0 || ct_count(ct__value_of(P->x[0])) == 0)
        return P->attr->rank == 0 ? P->g : SMUL(K(0), P->x[0]);
    ct_var rest = others_in_place(P->x[0], P->attr);
    return SMUL(ct__keep_axes(P->g, ct__value_of(P->x[0]), P->attr), rest);
}

ct_var ct_var_prod_axes(ct_var x, int n, const int *axes, bool keepdims) {
    return ct__record_reduction(CT_OP_prod, x, n, axes, keepdims);
}

ct_var ct_var_prod(ct_var x, int axis, bool keepdims) {
    return ct_var_prod_axes(x, 1, &axis, keepdims);
}

static const struct ct__sample samples[] = {
    {1, {2}, {{2, 3}}, 0, {.rank = 1, .shape = {0}}},
    {1, {2}, {{2, 3}}, 0, {.rank = 1, .shape = {-1}, .keepdims = true}},
    {1, {3}, {{2, 3, 2}}, 0, {.rank = 2, .shape = {0, 2}}},
    {1, {2}, {{2, 3}}, 0, {.rank = 1, .shape = {CT_ALL}}},
    {1, {0}, {{0}}, 0, {.rank = 0}},
    {1, {2}, {{0, 3}}, 0, {.rank = 1, .shape = {0}}},
};
static const struct ct__error_sample errors[] = {
    {{1, {2}, {{2, 3}}, 0, {.rank = 1, .shape = {2}}}, CT_EAXIS, "axis 2 is out of range"},
};

const struct ct__op_record ct__op_prod = {
    .verb = "prod",
    .inputs = 1,
    .run = run,
    .pull = pull,
    .pull_text = {"SMUL(G, the product of the other items)"},
    .samples = samples,
    .sample_count = sizeof samples / sizeof *samples,
    .errors = errors,
    .error_count = sizeof errors / sizeof *errors,
};
