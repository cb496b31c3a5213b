/* What softmax*.c and cross_entropy.c share, and lend to the rules of the tape. */
#ifndef CT_SOFTMAX_IMPL_H
#define CT_SOFTMAX_IMPL_H

#include "tensor/ct_reduce.h"
#include "tensor/tensor_impl.h"

/* Rows: the items along some axes, which have been checked. */
struct ct__axes {
    int n;
    const int *axes;
};

/* These keep the axes; t has items. Any scalar type with an exponential. Errors come in the names of
   what they call, here and below. */
ct_tensor *ct__softmax(const ct_tensor *t, struct ct__axes rows);
ct_tensor *ct__log_softmax(const ct_tensor *t, struct ct__axes rows);
ct_tensor *ct__logsumexp(const ct_tensor *t, struct ct__axes rows);

/* softmax_tangent.c: the same of a scalar type that has a base, a value and its tangents. */
ct_tensor *ct__softmax_tangent(const ct_tensor *t, struct ct__axes rows);
ct_tensor *ct__log_softmax_tangent(const ct_tensor *t, struct ct__axes rows);
ct_tensor *ct__logsumexp_tangent(const ct_tensor *t, struct ct__axes rows);

/* softmax_grad.c: pulls, of operands of one shape and scalar type. smul is the product.
     softmax_grad      (g - sum(g y)) y, of y = softmax(x)
     log_softmax_grad  g - sum(g) exp(y), of y = log_softmax(x); 0 in a row that is all -infinity */
ct_tensor *ct__softmax_grad(const ct_tensor *y, const ct_tensor *g, int axis);
ct_tensor *ct__log_softmax_grad(const ct_tensor *x, const ct_tensor *y, const ct_tensor *g,
                                int axis);

/* cross_entropy.c: of logits with a last axis of classes, and an integer label for each row.
     rows  -log_softmax(x) at the label, by a difference from 0, so that a certain row has +0
     grad  g (softmax(x) - one_hot(labels)), g an item for each row; 0 in a row all -infinity */
ct_tensor *ct__cross_entropy_rows(const ct_tensor *x, const ct_tensor *labels);
ct_tensor *ct__cross_entropy_grad(const ct_tensor *x, const ct_tensor *g, const ct_tensor *labels);

/* `from` with `value` wherever t is `where`; plain numbers of their types. */
ct_tensor *ct__replaced(const ct_tensor *from, const ct_tensor *t, double where, double value);

#endif
