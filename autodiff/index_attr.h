/* Attributes of the ops that put items back among zeros. */
#ifndef CT_INDEX_ATTR_H
#define CT_INDEX_ATTR_H

#include "autodiff/tape_impl.h"
#include "tensor/ct_index.h"

#include <string.h>

/* An axis, and the shape of a tensor. */
static inline struct ct__attr ct__shape_of(const ct_tensor *t, int axis) {
    struct ct__attr attr = {.axis = axis, .rank = ct_rank(t)};
    memcpy(attr.shape, ct_shape(t), (size_t)attr.rank * sizeof *attr.shape);
    return attr;
}

#endif
