/* Normalisation, dropout, attention. */

#include "autodiff/network_impl.h"

#include "tensor/ct_convert.h"
#include "tensor/ct_ops.h"
#include "tensor/ct_random.h"
#include "tensor/fail.h"

#include <math.h>

/* --- batches --- */

/* [channels] against axis 1 of x. */
static ct_var per_channel(ct_var x, ct_var v) {
    const ct_tensor *t = ct__operand(x), *c = t ? ct__operand(v) : NULL;
    int64_t shape[CT_MAX_RANK];
    if (!c)
        return ct__null_of(x);
    if (ct_rank(t) < 2 || ct_rank(c) != 1 || ct_shape(c)[0] != ct_shape(t)[1])
        return ct__tape_fail_in(
            "ct_var_batch_norm", x.tape, CT_ESHAPE,
            "mean, variance, scale and shift need one number per channel, axis 1 of x");
    for (int i = 1; i < ct_rank(t); i++)
        shape[i - 1] = i == 1 ? ct_shape(t)[1] : 1;
    return ct_var_reshape(v, ct_rank(t) - 1, shape);
}

ct_var ct_var_batch_norm(ct_var x, ct_var mean, ct_var variance, ct_var scale, ct_var shift,
                         double eps) {
    ct_var spread = per_channel(x, variance);
    ct_var width = ADD(spread, ct__constant_like(x, eps));
    ct_var centred = SUB(x, per_channel(x, mean));
    ct_var y = DIV(centred, SQRT(width));
    if (scale.tape)
        y = MUL(y, per_channel(x, scale));
    return shift.tape ? ADD(y, per_channel(x, shift)) : y;
}

ct_status ct_var_batch_moments(ct_var x, ct_var *mean, ct_var *variance) {
    const ct_tensor *t = ct__operand(x);
    int axes[CT_MAX_RANK], n = 0;
    if (!t)
        return x.tape ? ct_tape_status(x.tape) : CT_EINVAL;
    if (ct_rank(t) < 2) {
        ct__tape_fail_in(__func__, x.tape, CT_ESHAPE,
                         "x needs a batch and channels: rank %d was given", ct_rank(t));
        return ct_tape_status(x.tape);
    }
    if (!mean || !variance) {
        ct__tape_fail_in(__func__, x.tape, CT_EINVAL, "the place of the %s is NULL",
                         mean ? "variance" : "mean");
        return ct_tape_status(x.tape);
    }
    for (int i = 0; i < ct_rank(t); i++)
        if (i != 1)
            axes[n++] = i;
    *mean = ct_var_mean_axes(x, n, axes, false);
    *variance = ct_var_variance_axes(x, n, axes, 0, false);
    return ct_tape_status(x.tape);
}

/* --- rows --- */

ct_var ct_var_rms_norm(ct_var x, ct_var scale, double eps) {
    const ct_tensor *t = ct__operand(x), *s = t && scale.tape ? ct__operand(scale) : NULL;
    if (!t || (scale.tape && !s))
        return ct__null_of(x);
    if (s && (ct_rank(t) < 1 || ct_rank(s) != 1 || ct_shape(s)[0] != ct_extent(t, -1)))
        return ct__tape_fail_in(__func__, x.tape, CT_ESHAPE,
                                "the scale needs one number per item of the last axis of x");
    ct_var square = ct_var_mean(SQUARE(x), -1, true);
    ct_var y = DIV(x, SQRT(ADD(square, ct__constant_like(x, eps))));
    return scale.tape ? MUL(y, scale) : y;
}

/* --- dropout --- */

ct_var ct_var_dropout(ct_var x, double p, uint64_t seed, uint64_t step, uint64_t op) {
    const ct_tensor *t = ct__operand(x);
    if (!t)
        return ct__null_of(x);
    if (!(p >= 0 && p <= 1))
        return ct__tape_fail_in(__func__, x.tape, CT_EDOMAIN, "a probability lies in 0 to 1");
    if (p == 0)
        return x;
    ct_random steps = ct_random_of(seed, step), random = ct_random_split(&steps, op);
    ct_tensor *drawn = ct_uniform(&random, CT_F64, ct_rank(t), ct_shape(t), 0, 1);
    ct_tensor *bound = ct_from_double(CT_F64, p);
    ct_tensor *kept = drawn && bound ? ct_greater_equal(drawn, bound) : NULL;
    ct_free(drawn);
    ct_free(bound);
    ct_var mask = ct__put_constant(x, kept);
    ct_var grown = p < 1 ? DIV(x, ct__constant_like(x, 1 - p)) : x;
    return WHERE(mask, grown, ct__constant_like(x, 0));
}

/* --- attention --- */

ct_var ct_var_attention(ct_var q, ct_var k, ct_var v, ct_var mask) {
    const ct_tensor *t = ct__operand(q), *keys = t ? ct__operand(k) : NULL;
    const ct_tensor *values = keys ? ct__operand(v) : NULL;
    if (!values)
        return ct__null_of(q);
    if (ct_rank(t) < 2 || ct_rank(keys) < 2 || ct_rank(values) < 2)
        return ct__tape_fail_in(__func__, q.tape, CT_ESHAPE,
                                "queries are [..., n, d], keys [..., m, d] and values [..., m, e]: "
                                "the ranks %d, %d and %d were given",
                                ct_rank(t), ct_rank(keys), ct_rank(values));
    double root = sqrt((double)ct_extent(t, -1));
    ct_var scores = ct_var_matmul(q, ct_var_transpose(k));
    scores = DIV(scores, ct__constant_like(q, root));
    if (mask.tape)
        scores = WHERE(mask, scores, ct__constant_like(q, -(double)INFINITY));
    return ct_var_matmul(ct_var_softmax(scores, -1), v);
}
