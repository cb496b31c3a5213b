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
/* The mean along the axes of a row of P->x[0], kept. */
ct_var ct__row_mean(const struct ct__pull *P, ct_var v);

#endif
