/**
 * @file ct_dense.h
 * The dense layer: a product, a bias and an activation in one pass.
 */
#ifndef CT_DENSE_H
#define CT_DENSE_H

#include "tensor/ct_tensor.h"

CT_BEGIN_DECLS

/** Activations by name: what a layer applies to each item. */
enum ct_activation { CT_IDENTITY, CT_RELU, CT_TANH, CT_SIGMOID, CT_SILU, CT_GELU, CT_GELU_TANH };

/**
 * f(x w + b): the bits of ct_matmul(), ct_add() and the activation one after the other, for every
 * scalar type; for f32 and f64 bias and activation are applied while a part of the product is in
 * cache, and no other tensor is made.
 *
 * @param x           [..., in], of rank 1 or more
 * @param w           [in, out]
 * @param b           [out], or NULL for none
 * @param activation  f
 * @return [..., out], dense, with the axis names of the product; NULL with
 *         CT_ESHAPE     w is not of rank 2, b not [out], or the inner extents differ;
 *         CT_EDTYPE     the scalar types differ, or the type lacks matmul, add or the activation;
 *         CT_EINVAL     there is no such activation, or an operand is NULL;
 *         CT_ENAME      as ct_matmul();
 *         CT_EOVERFLOW  an item does not fit a checked type;
 *         CT_ENOMEM     no memory.
 * Cost: that of the product and one pass over the result in cache.
 */
CT_API ct_tensor *ct_dense(const ct_tensor *x, const ct_tensor *w, const ct_tensor *b,
                           enum ct_activation activation);
/** The same into a target of the result's shape and scalar type, which may not share storage to be
 *  written in place (ct_write.h) and is as it was on failure. */
CT_API ct_status ct_dense_into(ct_tensor *y, const ct_tensor *x, const ct_tensor *w,
                               const ct_tensor *b, enum ct_activation activation);
/** Whether shapes, scalar types and names fit. Allocates nothing and sets no error. */
CT_API bool ct_can_dense(const ct_tensor *x, const ct_tensor *w, const ct_tensor *b,
                         enum ct_activation activation);
/** The op of an activation; CT_OP_COUNT for CT_IDENTITY and for one that does not exist. */
CT_API enum ct_op ct_activation_op(enum ct_activation activation);

CT_END_DECLS
#endif
