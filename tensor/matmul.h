/* The product and checks of targets, for the files of tensor/. */
#ifndef CT_MATMUL_H
#define CT_MATMUL_H

#include "tensor/kernels/kern_matmul.h"
#include "tensor/tensor_impl.h"

/* ct_matmul() in another's name. */
ct_tensor *ct__matmul(const char *who, const ct_tensor *a, const ct_tensor *b);

/*
 * The product with an epilogue, ct__finish of kernels/kern_matmul.h: finish->run is called on each
 * block of the result once its items have their last term, while they are in cache, from whichever
 * thread made them. Blocks are disjoint and together the whole result, taken as a matrix: all axes
 * but the last are its rows (so a row index counts through the batches), items of a row lie one
 * behind the other. Where b is a vector the matrix has one column. How it is cut in blocks depends
 * on sizes and instruction set, so the epilogue must treat each item alone (or with others of the
 * whole call that it reads only). A type without kernels is finished in one block at the end. It is
 * not called for a result without items, nor where the product fails. finish may be NULL.
 */
ct_tensor *ct__matmul_then(const char *who, const ct_tensor *a, const ct_tensor *b,
                           const struct ct__finish *finish);

/* ct_matmul_into() with an epilogue; where the product fails c is as it was. */
ct_status ct__matmul_into_then(const char *who, ct_tensor *c, const ct_tensor *a,
                               const ct_tensor *b, const struct ct__finish *finish);

/* write.c: whether a target has the shape and the scalar type of what is made; `verb` names it:
   "matmul gives f64 and the target is f32". */
ct_status ct__check_target(const char *who, const char *verb, const ct_scalar *scalar, int rank,
                           const int64_t *shape, const ct_tensor *target);

#endif
