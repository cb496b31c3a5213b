/* What the maximum and the minimum along axes share: the pull and the samples. */
#ifndef CT_EXTREME_PULL_H
#define CT_EXTREME_PULL_H

#include "autodiff/reduce_attr.h"

/* The items at the extreme (if it is NaN, the NaNs) share the cotangent equally. */
static inline ct_var ct__extreme_pull(const struct ct__pull *P) {
    const ct_tensor *x = ct__value_of(P->x[0]);
    int axes[CT_MAX_RANK];
    ct__attr_axes(P->attr, axes);
    ct_var y = ct__keep_axes(P->y, x, P->attr);
    ct_var g = ct__keep_axes(P->g, x, P->attr);
    ct_var one = K(1), zero = K(0);
    ct_var nans = WHERE(NOT_EQUAL(P->x[0], P->x[0]), one, zero);
    ct_var tied = WHERE(EQUAL(P->x[0], y), one, nans);
    ct_var ties = ct_var_sum_axes(tied, P->attr->rank, axes, true);
    return SMUL(g, DIV(tied, ties));
}

/* Shapes and axes for the checks; `errors` is the op's own, since it names the op. */
static const struct ct__sample ct__extreme_samples[] = {
    {1, {2}, {{2, 3}}, 0, {.rank = 1, .shape = {0}}},
    {1, {2}, {{2, 3}}, 0, {.rank = 1, .shape = {-1}, .keepdims = true}},
    {1, {3}, {{2, 3, 4}}, 0, {.rank = 2, .shape = {0, 2}}},
    {1, {2}, {{2, 3}}, 0, {.rank = 1, .shape = {CT_ALL}}},
    {1, {2}, {{0, 3}}, 0, {.rank = 1, .shape = {1}}},
};

#endif
