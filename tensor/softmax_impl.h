/* What softmax*.c and cross_entropy.c share. */
#ifndef CT_SOFTMAX_IMPL_H
#define CT_SOFTMAX_IMPL_H

#include "tensor/ct_reduce.h"
#include "tensor/row_pulls.h"
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

/* `from` with `value` wherever t is `where`; plain numbers of their types. */
ct_tensor *ct__replaced(const ct_tensor *from, const ct_tensor *t, double where, double value);

#endif
