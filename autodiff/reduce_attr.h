/* Attributes of the reductions along axes. */
#ifndef CT_REDUCE_ATTR_H
#define CT_REDUCE_ATTR_H

#include "autodiff/pull_words.h"
#include "tensor/ct_reduce.h"

#include <string.h>

/* Axes as the tensor functions take them; they check them. */
static inline ct_var ct__record_reduction(enum ct_op op, ct_var x, int n, const int *axes,
                                          bool keepdims) {
    struct ct__attr attr;
    if (!ct__axes_attr(x, n, axes, &attr))
        return ct__null_of(x);
    attr.keepdims = keepdims;
    return ct__record(op, 1, &x, &attr);
}

static inline void ct__attr_axes(const struct ct__attr *attr, int axes[CT_MAX_RANK]) {
    for (int i = 0; i < attr->rank; i++)
        axes[i] = (int)attr->shape[i];
}

/* Brings a reduced variable back to the rank of x, extent 1 where x was reduced. */
static inline ct_var ct__keep_axes(ct_var reduced, const ct_tensor *x,
                                   const struct ct__attr *attr) {
    int64_t shape[CT_MAX_RANK];
    int rank = ct_rank(x);
    if (attr->keepdims)
        return reduced;
    memcpy(shape, ct_shape(x), (size_t)rank * sizeof *shape);
    for (int i = 0; i < attr->rank; i++) {
        int64_t axis = attr->shape[i];
        for (int k = 0; k < rank; k++)
            if (axis == CT_ALL || k == (axis < 0 ? axis + rank : axis))
                shape[k] = 1;
    }
    return ct_var_reshape(reduced, rank, shape);
}

#endif
