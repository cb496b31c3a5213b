/* Losses as compositions. */

#include "autodiff/network_impl.h"

#include "tensor/fail.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

ct_var ct__fail_call(const char *who, int n, const ct_var *in, ct_status code, const char *format,
                     ...) {
    const ct_tensor *values[CT__MAX_INPUTS];
    char reason[CT__MESSAGE_BYTES];
    int given = 0;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    for (int i = 0; i < n && given < CT__MAX_INPUTS; i++)
        if ((values[given] = ct__live_value(in[i])) != NULL)
            given++;
    ct__fail(code, who, "%s", reason);
    return ct__fail_named(in[0].tape, who, who + strlen("ct_var_"), given, values);
}

bool ct__check_reduction(const char *who, ct_var x, enum ct_reduction reduction) {
    if (reduction == CT_REDUCE_MEAN || reduction == CT_REDUCE_SUM || reduction == CT_REDUCE_NONE)
        return true;
    ct__fail_call(who, 1, &x, CT_EINVAL, "there is no reduction %d", (int)reduction);
    return false;
}

bool ct__fit_loss(const char *who, ct_var x, ct_var target, enum ct_reduction reduction) {
    const ct_tensor *a = ct__operand(x), *b = a ? ct__operand(target) : NULL;
    char have[CT__SHAPE_TEXT_BYTES], want[CT__SHAPE_TEXT_BYTES];
    if (a && !target.tape)
        ct__fail_call(who, 1, &x, CT_EINVAL, "the target is the null variable, of no tape");
    if (!a || !b || !ct__check_reduction(who, x, reduction))
        return false;
    if (ct_same_shape(a, b))
        return true;
    ct__format_shape(have, sizeof have, ct_rank(a), ct_shape(a));
    ct__format_shape(want, sizeof want, ct_rank(b), ct_shape(b));
    ct__fail_call(who, 2, (ct_var[]){x, target}, CT_ESHAPE,
                  "a loss does not broadcast: it needs equal shapes and was given %s and %s", have,
                  want);
    return false;
}

ct_var ct__gather_items(ct_var items, enum ct_reduction reduction) {
    const ct_tensor *t = ct__operand(items);
    if (!t || reduction == CT_REDUCE_NONE)
        return items;
    ct_var sum = ct_var_sum(items, CT_ALL, false);
    return reduction == CT_REDUCE_SUM ? sum
                                      : DIV(sum, ct__constant_like(items, (double)ct_count(t)));
}

ct_var ct_var_l1(ct_var x, ct_var target, enum ct_reduction reduction) {
    if (!ct__fit_loss(__func__, x, target, reduction))
        return ct__null_of(x);
    return ct__gather_items(ABS(SUB(x, target)), reduction);
}

static ct_var huber(const char *who, ct_var x, ct_var target, double delta,
                    enum ct_reduction reduction) {
    if (!ct__fit_loss(who, x, target, reduction))
        return ct__null_of(x);
    if (!(delta > 0) || isinf(delta))
        return ct__fail_call(who, 2, (ct_var[]){x, target}, CT_EDOMAIN,
                             "the bound between square and line is positive and finite, not %g",
                             delta);
    ct_var gap = SUB(x, target), distance = ABS(gap), bound = ct__constant_like(x, delta);
    ct_var half = ct__constant_like(x, 0.5);
    ct_var square = MUL(half, SQUARE(gap));
    ct_var offset = SUB(distance, ct__constant_like(x, 0.5 * delta));
    ct_var line = MUL(bound, offset);
    ct_var near = LESS_EQUAL(distance, bound);
    return WHERE(near, square, line);
}

ct_var ct_var_huber(ct_var x, ct_var target, double delta, enum ct_reduction reduction) {
    return ct__gather_items(huber(__func__, x, target, delta, reduction), reduction);
}

ct_var ct_var_smooth_l1(ct_var x, ct_var target, double beta, enum ct_reduction reduction) {
    ct_var items = huber(__func__, x, target, beta, reduction);
    return ct__gather_items(DIV(items, ct__constant_like(x, beta)), reduction);
}

ct_var ct_var_xlogy(ct_var x, ct_var z) {
    ct_var product = SMUL(x, LOG(z));
    ct_var number = WHERE(ISNAN(z), z, product);
    return WHERE(ISNAN(x), x, number);
}

ct_var ct_var_bce(ct_var p, ct_var target, enum ct_reduction reduction) {
    if (!ct__fit_loss(__func__, p, target, reduction))
        return ct__null_of(p);
    ct_var is = SMUL(target, LOG(p));
    ct_var other = SUB(ct__constant_like(p, 1), target);
    ct_var is_not = SMUL(other, LOG1P(NEG(p)));
    return ct__gather_items(NEG(ADD(is, is_not)), reduction);
}

/* Weights of a loss: one number, or one for each item of x's last axis. */
static bool check_weights(const char *who, ct_var x, ct_var weights) {
    const ct_tensor *t = ct__operand(x), *w = t ? ct__operand(weights) : NULL;
    if (!w)
        return false;
    if (ct_rank(w) == 0 ||
        (ct_rank(w) == 1 && ct_rank(t) > 0 && ct_count(w) == (size_t)ct_extent(t, -1)))
        return true;
    char have[CT__SHAPE_TEXT_BYTES], want[CT__SHAPE_TEXT_BYTES];
    ct__format_shape(have, sizeof have, ct_rank(w), ct_shape(w));
    ct__format_shape(want, sizeof want, ct_rank(t), ct_shape(t));
    ct__fail_call(who, 2, (ct_var[]){x, weights}, CT_ESHAPE,
                  "weights are one number, or one for each item of the last axis: given %s for %s",
                  have, want);
    return false;
}

/* target softplus(-x) + (1 - target) softplus(x), a product with 0 being 0 at infinity too. */
static ct_var bce_with_logits(const char *who, ct_var x, ct_var target, ct_var weights,
                              enum ct_reduction reduction) {
    if (!ct__fit_loss(who, x, target, reduction) ||
        (weights.tape && !check_weights(who, x, weights)))
        return ct__null_of(x);
    ct_var is = SMUL(target, SOFTPLUS(NEG(x)));
    if (weights.tape)
        is = SMUL(is, weights);
    ct_var other = SUB(ct__constant_like(x, 1), target);
    ct_var is_not = SMUL(other, SOFTPLUS(x));
    return ct__gather_items(ADD(is, is_not), reduction);
}

ct_var ct_var_bce_with_logits(ct_var x, ct_var target, enum ct_reduction reduction) {
    return bce_with_logits(__func__, x, target, ct_var_null(), reduction);
}

ct_var ct_var_bce_weighed(ct_var x, ct_var target, ct_var positive, enum ct_reduction reduction) {
    return bce_with_logits(__func__, x, target, positive, reduction);
}

ct_var ct_var_kl_div(ct_var x, ct_var target, enum ct_reduction reduction) {
    if (!ct__fit_loss(__func__, x, target, reduction))
        return ct__null_of(x);
    ct_var entropy = SMUL(target, LOG(target));
    return ct__gather_items(SUB(entropy, SMUL(target, x)), reduction);
}

ct_var ct_var_cross_entropy_soft(ct_var logits, ct_var target, enum ct_reduction reduction) {
    if (!ct__fit_loss(__func__, logits, target, reduction))
        return ct__null_of(logits);
    ct_var terms = SMUL(target, ct_var_log_softmax(logits, 1));
    return ct__gather_items(NEG(ct_var_sum(terms, 1, false)), reduction);
}
