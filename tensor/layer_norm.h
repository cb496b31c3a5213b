/* layer_norm and its pull on operands of one shape, shared with the rules of the tape. */
#ifndef CT_LAYER_NORM_H
#define CT_LAYER_NORM_H

#include "tensor/tensor_impl.h"

/* CT_OK where a scale or a shift fits the axes of x from `axis` on, in shape and scalar type; else an
   error in the name of ct_layer_norm. */
ct_status ct__layer_norm_fits(const ct_tensor *x, int axis, const ct_tensor *part);
/* With a scale and a shift of x's shape and scalar type, or NULL; no shift without a scale. */
ct_tensor *ct__layer_norm(const ct_tensor *x, int axis, const ct_tensor *scale,
                          const ct_tensor *shift, double eps);
/* The pull of that without scale and shift, at x of the cotangent g. */
ct_tensor *ct__layer_norm_grad(const ct_tensor *x, const ct_tensor *g, int axis, double eps);

#endif
