/* What the rules of layer_norm and its pull record. */
#ifndef CT_LAYER_NORM_RULES_H
#define CT_LAYER_NORM_RULES_H

#include "autodiff/pull_words.h"

/* layer_norm without scale and shift, of the axis and eps in some attributes. */
ct_var ct__layer_norm_var(ct_var x, const struct ct__attr *norm);
/* Its pull at x of the cotangent g. */
ct_var ct__layer_norm_grad_var(ct_var x, ct_var g, const struct ct__attr *norm);

#endif
