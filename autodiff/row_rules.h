/* The pulls of ops on rows, which are ops of their own: recorded by rules alone. */
#ifndef CT_ROW_RULES_H
#define CT_ROW_RULES_H

#include "autodiff/pull_words.h"

/* (g - sum(g y)) y along an axis. */
ct_var ct__softmax_grad_var(ct_var y, ct_var g, int axis);
/* g - sum(g) exp(y) along an axis; 0 in the rows of x that are all -infinity. */
ct_var ct__log_softmax_grad_var(ct_var x, ct_var y, ct_var g, int axis);
/* g (softmax(x) - one_hot(labels)) along the last axis, g an item for each row; 0 in the rows of x
   that are all -infinity. */
ct_var ct__cross_entropy_grad_var(ct_var x, ct_var g, ct_var labels);

/* The same in words of the table, for tapes with the IEEE option. (plain_rows.c) */
ct_var ct__plain_softmax_grad(ct_var y, ct_var g, int axis);
ct_var ct__plain_log_softmax_grad(ct_var x, ct_var y, ct_var g, int axis);
ct_var ct__plain_cross_entropy_grad(ct_var x, ct_var g, ct_var labels);

/* v, and 0 in the rows of x along an axis that are all -infinity. */
static inline ct_var ct__without_low_rows(const struct ct__pull *P, ct_var x, int axis, ct_var v) {
    if (!ct__node(x) || ct_count(ct__value_of(x)) == 0)
        return v;
    ct_var most = ct_var_max(x, axis, true), low = EQUAL(most, K(-INFINITY)), zero = K(0);
    return WHERE(low, zero, v);
}

#endif
