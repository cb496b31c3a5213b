/* The product and checks of targets, for the files of tensor/. */
#ifndef CT_MATMUL_H
#define CT_MATMUL_H

#include "tensor/tensor_impl.h"

/* ct_matmul() in another's name. */
ct_tensor *ct__matmul(const char *who, const ct_tensor *a, const ct_tensor *b);

/* write.c: whether a target has the shape and the scalar type of what is made; `verb` names it:
   "matmul gives f64 and the target is f32". */
ct_status ct__check_target(const char *who, const char *verb, const ct_scalar *scalar, int rank,
                           const int64_t *shape, const ct_tensor *target);

#endif
