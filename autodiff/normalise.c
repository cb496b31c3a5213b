/* Normalisation of batches and rows. */

#include "autodiff/layer_norm_rules.h"
#include "autodiff/network_impl.h"

#include "tensor/ct_write.h"
#include "tensor/fail.h"

#include <math.h>

/* --- batches --- */

static ct_var fail_channels(const char *who, ct_var x, ct_var v, const char *what) {
    const ct_tensor *t = ct__value_of(x), *c = ct__value_of(v);
    const ct_var in[] = {x, v};
    char have[CT__SHAPE_TEXT_BYTES];
    ct__format_shape(have, sizeof have, ct_rank(c), ct_shape(c));
    if (ct_rank(t) < 2)
        return ct__fail_call(who, 2, in, CT_ESHAPE,
                             "x needs a batch and channels: rank %d was given", ct_rank(t));
    return ct__fail_call(who, 2, in, CT_ESHAPE,
                         "the %s needs one number per channel, axis 1 of x: [%lld], and has %s",
                         what, (long long)ct_shape(t)[1], have);
}

/* [channels] against axis 1 of x. */
static ct_var per_channel(const char *who, ct_var x, ct_var v, const char *what) {
    const ct_tensor *t = ct__operand(x), *c = t ? ct__operand(v) : NULL;
    int64_t shape[CT_MAX_RANK];
    if (t && !v.tape)
        return ct__fail_call(who, 1, &x, CT_EINVAL, "the %s is the null variable, of no tape",
                             what);
    if (!c)
        return ct__null_of(x);
    if (ct_rank(t) < 2 || ct_rank(c) != 1 || ct_shape(c)[0] != ct_shape(t)[1])
        return fail_channels(who, x, v, what);
    for (int i = 1; i < ct_rank(t); i++)
        shape[i - 1] = i == 1 ? ct_shape(t)[1] : 1;
    return ct_var_reshape(v, ct_rank(t) - 1, shape);
}

/* Opened and closed by name, so that a picture can fold what is between. */
static void begin(ct_var x, const char *name) {
    if (x.tape)
        ct_scope_begin(x.tape, name);
}

static ct_var end(ct_var x, ct_var y) {
    if (x.tape)
        ct_scope_end(x.tape);
    return y;
}

ct_var ct_var_batch_norm(ct_var x, ct_var mean, ct_var variance, ct_var scale, ct_var shift,
                         double eps) {
    begin(x, "batch_norm");
    ct_var spread = per_channel(__func__, x, variance, "variance");
    ct_var width = ADD(spread, ct__constant_like(x, eps));
    ct_var centred = SUB(x, per_channel(__func__, x, mean, "mean"));
    ct_var y = DIV(centred, SQRT(width));
    if (scale.tape)
        y = MUL(y, per_channel(__func__, x, scale, "scale"));
    if (shift.tape)
        y = ADD(y, per_channel(__func__, x, shift, "shift"));
    return end(x, y);
}

ct_status ct_var_batch_moments(ct_var x, ct_var *mean, ct_var *variance) {
    const ct_tensor *t = ct__operand(x);
    int axes[CT_MAX_RANK], n = 0;
    if (!t)
        return x.tape ? ct_tape_status(x.tape) : CT_EINVAL;
    if (ct_rank(t) < 2) {
        ct__fail_call(__func__, 1, &x, CT_ESHAPE, "x needs a batch and channels: rank %d was given",
                      ct_rank(t));
        return ct_tape_status(x.tape);
    }
    if (!mean || !variance) {
        ct__fail_call(__func__, 1, &x, CT_EINVAL, "the place of the %s is NULL",
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

/* The rows of layer_norm, one a channel, times nothing. */
static ct_var normal_channels(ct_var x, double eps) {
    ct_var rows = ct__channel_rows(x);
    ct_var y = ct_var_layer_norm(rows, 1, ct_var_null(), ct_var_null(), eps);
    return ct__from_channel_rows(y, x);
}

/* One number per channel; false after the sticky error. */
static bool fits_channels(const char *who, ct_var x, ct_var v, const char *what) {
    const ct_tensor *t = ct__operand(x), *c = ct__operand(v);
    if (c && ct_rank(c) == 1 && ct_shape(c)[0] == ct_shape(t)[1] && ct_dtype(c) == ct_dtype(t))
        return true;
    if (c)
        per_channel(who, x, v, what);
    return false;
}

ct_var ct_var_batch_norm_train(ct_var x, ct_var scale, ct_var shift, double eps, ct_var *mean,
                               ct_var *variance) {
    const ct_tensor *t = ct__operand(x);
    struct ct__attr attr = {.eps = eps, .count = shift.tape ? 3 : 2};
    const ct_var in[] = {x, scale, shift};
    int axes[CT_MAX_RANK], n = 0;
    if (!t)
        return ct__null_of(x);
    if (ct_rank(t) < 2)
        return ct__fail_call(__func__, 1, &x, CT_ESHAPE,
                             "x needs a batch and channels: rank %d was given", ct_rank(t));
    for (int i = 0; i < ct_rank(t); i++)
        if (i != 1)
            axes[n++] = i;
    begin(x, "batch_norm");
    if (mean)
        *mean = ct_var_mean_axes(x, n, axes, false);
    if (variance)
        *variance = ct_var_variance_axes(x, n, axes, 0, false);
    ct_var y;
    if (scale.tape) {
        bool fit = fits_channels(__func__, x, scale, "scale") &&
                   (!shift.tape || fits_channels(__func__, x, shift, "shift"));
        y = fit ? ct__record(CT_OP_batch_norm, (int)attr.count, in, &attr) : ct__null_of(x);
    } else {
        y = normal_channels(x, eps);
        if (shift.tape)
            y = ADD(y, per_channel(__func__, x, shift, "shift"));
    }
    return end(x, y);
}

ct_status ct_batch_norm_track(ct_tensor *mean, ct_tensor *variance, const ct_tensor *batch_mean,
                              const ct_tensor *batch_variance, int64_t items, double momentum) {
    static const char who[] = "ct_batch_norm_track";
    if (!mean || !variance || !batch_mean || !batch_variance)
        return ct__fail_null_operand(who);
    if (!(momentum >= 0 && momentum <= 1))
        return ct__fail(CT_EDOMAIN, who, "the momentum lies in 0 to 1");
    if (items < 2)
        return ct__fail(CT_EDOMAIN, who, "the variance of a channel needs 2 items: %lld were given",
                        (long long)items);
    if (!ct_same_shape(mean, batch_mean) || !ct_same_shape(variance, batch_variance) ||
        !ct_same_shape(mean, variance))
        return ct__fail(CT_ESHAPE, who, "means and variances need one shape, [channels]");
    if (mean == variance)
        return ct__fail(CT_EINVAL, who, "the running mean and the running variance are one tensor");
    double unbiased = (double)items / (double)(items - 1);
    ct_tensor *m = ct_axpby(momentum, batch_mean, 1 - momentum, mean);
    ct_tensor *v = m ? ct_axpby(momentum * unbiased, batch_variance, 1 - momentum, variance) : NULL;
    /* Both targets are made ready before the first is written. */
    bool ready = v && ct_data_for_write(mean) && ct_data_for_write(variance);
    ct_status status = ready ? ct_assign(mean, m) : ct_error()->code;
    if (!status)
        status = ct_assign(variance, v);
    ct_free(m);
    ct_free(v);
    return status;
}

/* --- rows --- */

ct_var ct_var_rms_norm(ct_var x, ct_var scale, double eps) {
    const ct_tensor *t = ct__operand(x), *s = t && scale.tape ? ct__operand(scale) : NULL;
    if (!t || (scale.tape && !s))
        return ct__null_of(x);
    if (s && (ct_rank(t) < 1 || ct_rank(s) != 1 || ct_shape(s)[0] != ct_extent(t, -1)))
        return ct__fail_call(__func__, 2, (ct_var[]){x, scale}, CT_ESHAPE,
                             "the scale needs one number per item of the last axis of x");
    ct_scope_begin(x.tape, "rms_norm");
    ct_var square = ct_var_mean(SQUARE(x), -1, true);
    ct_var y = DIV(x, SQRT(ADD(square, ct__constant_like(x, eps))));
    if (scale.tape)
        y = MUL(y, scale);
    ct_scope_end(x.tape);
    return y;
}
