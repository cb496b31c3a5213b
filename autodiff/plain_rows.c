/* The pulls of ops on rows, recorded word by word under the IEEE option: the kernels of the fused ones
   absorb zeros. Called while rules record, so SMUL is a plain product here. */

#include "autodiff/layer_norm_rules.h"
#include "autodiff/row_rules.h"

ct_var ct__plain_softmax_grad(ct_var y, ct_var g, int axis) {
    ct_var total = ct_var_sum(SMUL(g, y), axis, true);
    return SMUL(SUB(g, total), y);
}

ct_var ct__plain_log_softmax_grad(ct_var x, ct_var y, ct_var g, int axis) {
    const struct ct__pull P = {.tape = x.tape, .g = g};
    ct_var p = EXP(y), total = ct_var_sum(g, axis, true);
    ct_var gradient = SUB(g, SMUL(total, p));
    return ct__without_low_rows(&P, x, axis, gradient);
}

ct_var ct__plain_cross_entropy_grad(ct_var x, ct_var g, ct_var labels) {
    const struct ct__pull P = {.tape = x.tape, .g = g};
    if (!ct__node(x) || !ct__node(labels))
        return ct__null_of(x);
    const ct_tensor *z = ct__value_of(labels);
    ct_var one = ct__pull_constant(&P, 1), ones = ct_var_broadcast_to(one, ct_rank(z), ct_shape(z));
    ct_var chosen = ct_var_place(ones, labels, ct_extent(ct__value_of(x), -1));
    ct_var gap = SUB(ct_var_softmax(x, -1), chosen);
    ct_var gradient = SMUL(ct_var_expand_dims(g, -1), gap);
    return ct__without_low_rows(&P, x, -1, gradient);
}

ct_var ct__plain_layer_norm_grad(ct_var x, ct_var g, const struct ct__attr *norm) {
    const struct ct__pull P = {.tape = x.tape, .attr = norm, .x = {x}, .g = g};
    if (!ct__node(x) || ct_count(ct__value_of(x)) == 0)
        return g;
    ct_var h = ct__layer_norm_var(x, norm), gap = SUB(x, ct__row_mean(&P, x));
    ct_var variance = ct__row_mean(&P, SQUARE(gap)), eps = ct__pull_constant(&P, norm->eps);
    ct_var r = RSQRT(ADD(variance, eps)), away = SUB(g, ct__row_mean(&P, g));
    ct_var along = ct__row_mean(&P, SMUL(g, h));
    return SMUL(r, SUB(away, SMUL(along, h)));
}
