/* What the rules of layer_norm and its pull record. */
#ifndef CT_LAYER_NORM_RULES_H
#define CT_LAYER_NORM_RULES_H

#include "autodiff/pull_words.h"

/* layer_norm without scale and shift, of the axis and eps in some attributes. */
ct_var ct__layer_norm_var(ct_var x, const struct ct__attr *norm);
/* Its pull at x of the cotangent g. */
ct_var ct__layer_norm_grad_var(ct_var x, ct_var g, const struct ct__attr *norm);
/* The same in words of the table, for tapes with the IEEE option. (plain_rows.c) */
ct_var ct__plain_layer_norm_grad(ct_var x, ct_var g, const struct ct__attr *norm);
/* What flows back to x from that pull z, P->g being the cotangent of it: P has x, z and the attributes. */
ct_var ct__layer_norm_curve(const struct ct__pull *P);
/* The mean along the axes of a row of P->x[0], kept. */
ct_var ct__row_mean(const struct ct__pull *P, ct_var v);

/* --- norm_parts.c: pulls of a norm with scale and shift, one after the other in a vector --- */

/* The gradient of argument 0, 1 (the scale) or 2 (the shift) of such an op: a piece of the vector that `op` makes of
   x, the cotangent and the scale, recorded once. */
ct_var ct__norm_part(const struct ct__pull *P, enum ct_op op, int argument);
/* x [batch, channels, space...] as [channels, items], and rows back in the shape of x. */
ct_var ct__channel_rows(ct_var x);
ct_var ct__from_channel_rows(ct_var rows, ct_var like);

/* A vector of parts being pulled, in rows of the axes from norm->axis on: x, the cotangent g and the scale; and what
   comes back to the gradients of x, of the scale and of the shift. */
struct ct__norm_parts {
    ct_var x, g, scale, u, a, b;
    const struct ct__attr *norm;
};
/* Takes the vector P->g apart: u, a and b have the shapes of x and of the scale. */
void ct__split_parts(const struct ct__pull *P, struct ct__norm_parts *s);
/* What comes back to x or to g, of their shape, or the items that are summed for the scale. */
ct_var ct__norm_parts_pull(const struct ct__pull *P, const struct ct__norm_parts *s, int argument);

#endif
