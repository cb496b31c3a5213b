/* What rules of products share. */
#ifndef CT_CHAIN_WORDS_H
#define CT_CHAIN_WORDS_H

#include "autodiff/pull_words.h"

/* Ones of the shape of the first items along an axis (none where there are none). */
static inline ct_var ct__ones_before(ct_var x, int axis) {
    int64_t shape[CT_MAX_RANK];
    const ct_tensor *t = ct__value_of(x);
    for (int i = 0; i < ct_rank(t); i++)
        shape[i] = ct_shape(t)[i];
    shape[axis] = shape[axis] ? 1 : 0;
    ct_tensor *ones = ct_ones(ct_dtype(t), ct_rank(t), shape);
    ct_var v = ct_constant(x.tape, ones, NULL);
    ct_free(ones);
    return v;
}

/* The items one place further along the axis, a one first. */
static inline ct_var ct__moved_on(ct_var x, int axis) {
    if (!ct__operand(x))
        return x;
    int64_t n = ct_extent(ct__value_of(x), axis);
    ct_var parts[2];
    parts[0] = ct__ones_before(x, axis);
    parts[1] = ct_var_slice(x, axis, 0, n ? n - 1 : 0, 1);
    return ct_var_concat(2, parts, axis);
}

#endif
