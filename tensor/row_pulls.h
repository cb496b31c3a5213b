/* Row ops that the tensor layer lends to the rules of the tape, where they are ops of their own. */
#ifndef CT_ROW_PULLS_H
#define CT_ROW_PULLS_H

#include "tensor/ct_tensor.h"

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

/* layer_norm.c: CT_OK where a scale or a shift fits the axes of x from `axis` on, in shape and scalar
   type; else an error in the name of ct_layer_norm. */
ct_status ct__layer_norm_fits(const ct_tensor *x, int axis, const ct_tensor *part);
/* With a scale and a shift of x's scalar type that broadcast to its shape, or NULL; no shift without a scale. */
ct_tensor *ct__layer_norm(const ct_tensor *x, int axis, const ct_tensor *scale,
                          const ct_tensor *shift, double eps);
/* The pull of that without scale and shift, at x of the cotangent g. */
ct_tensor *ct__layer_norm_grad(const ct_tensor *x, const ct_tensor *g, int axis, double eps);

/* norm_parts.c: all pulls of a norm with scale and shift, of the cotangent g, in one pass and one after the other
   in a vector: the items of x, of the scale, of the shift. With h = layer_norm(x) without those,
     layer_norm_grad(x, g smul scale)   sum(g smul h)   sum(g)
   where sums are over the rows, and the scale has the shape of a row. */
ct_tensor *ct__layer_norm_parts(const ct_tensor *x, const ct_tensor *g, const ct_tensor *scale,
                                int axis, double eps);

/* batch_norm.c: the same of the rows that x [batch, channels, space...] has for each channel; scale and shift are
   [channels], and sums are over rows. shift may be NULL. */
ct_tensor *ct__batch_norm(const ct_tensor *x, const ct_tensor *scale, const ct_tensor *shift,
                          double eps);
ct_tensor *ct__batch_norm_parts(const ct_tensor *x, const ct_tensor *g, const ct_tensor *scale,
                                double eps);

/* fold_windows.c: windows, of which the last axis counts the items, added into an axis of `extent` zeros at places
   `step` apart: the transpose of ct_unfold(). The items of one place are added in the order of the windows' items,
   after a 0 where windows have several. The result lies in memory as the windows do. */
ct_tensor *ct__fold_windows(const ct_tensor *windows, int axis, int64_t extent, int64_t step);

/* gather.c: ct_scatter_add() to zeros of a shape, which are made for it. */
ct_tensor *ct__scatter_into_zeros(int rank, const int64_t *shape, int axis, const ct_tensor *index,
                                  const ct_tensor *source);

#endif
