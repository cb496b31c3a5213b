/**
 * @file ct_network.h
 * What networks are made of, recorded as ops or compositions of ops: convolutions, pools, normalisations, dropout,
 * attention, losses.
 *
 * Each is a function of variables that records ops which can be seen on the tape, so that every mode and order
 * of derivative, and every scalar type, works as for those. Convolutions, pools, norms, dropout and attention stand in a scope, such as
 * `conv 3x3, padding 1`, which a picture can fold (ct_dot_options::fold_depth). Images are [batch, channels, space...] with one, two or three
 * axes of space; kernels are [out, in / groups, space...]. Errors stick to the tape. A variable that is optional may be
 * ct_var_null().
 */
#ifndef CT_NETWORK_H
#define CT_NETWORK_H

#include "autodiff/ct_tape.h"

CT_BEGIN_DECLS

enum { CT_MAX_SPACE = 3 };

/** How windows lie on an image, per axis of space. Zeros mean 1 for strides, dilations, groups. */
struct ct_window {
    int64_t stride[CT_MAX_SPACE];
    int64_t before[CT_MAX_SPACE], after[CT_MAX_SPACE]; /**< items of padding on each side */
    int64_t dilation[CT_MAX_SPACE]; /**< distance between the items of a window */
    int64_t groups; /**< channels are taken in so many groups, each with its own kernels */
    /** Of the transposed convolution: items that it adds after the end, less than the stride. */
    int64_t extra[CT_MAX_SPACE];
};

/**
 * The cross-correlation that networks call convolution:
 * y[n, o, p] = bias[o] + sum over c, k of x[n, c, p stride + k dilation - before] w[o, c, k].
 *
 * @param w       [out, in / groups, kernel...]
 * @param bias    [out], or the null variable
 * @param window  NULL for strides and dilations of 1 without padding
 * The extent of an axis is (extent + before + after - (kernel - 1) dilation - 1) / stride + 1. Sums run
 * over channels, then over the kernel, in the order of the matrix product. CT_ESHAPE where something does not
 * fit, CT_EINVAL for a stride, dilation or number of groups below 0 (0 stands for 1) or a negative padding.
 */
CT_API ct_var ct_var_conv(ct_var x, ct_var w, ct_var bias, const struct ct_window *window);

/**
 * The transpose of the convolution in x: y has in-channels `groups * w.shape[1]`; w is [in, out / groups, kernel...].
 * The extent of an axis is (extent - 1) stride - before - after + (kernel - 1) dilation + 1 + extra.
 */
CT_API ct_var ct_var_conv_transpose(ct_var x, ct_var w, ct_var bias,
                                    const struct ct_window *window);

/**
 * The maximum of each window; padding counts as -infinity, a NaN wins. Of equal items the first gets the gradient.
 * A window that lies in the padding alone has no maximum and no mean: CT_ESHAPE, for all pools. What PyTorch calls
 * ceil_mode is padding after the image alone: as much as makes the last window whole.
 * @param kernel  the extents of a window, one per axis of space
 * @param window  NULL for strides and dilations of 1 without padding, here and in ct_var_avg_pool(): set the stride to
 *                the kernel for windows side by side, which is PyTorch's default
 */
CT_API ct_var ct_var_max_pool(ct_var x, const int64_t *kernel, const struct ct_window *window);
/** The mean of each window; @p count_padding says whether padding counts, as zeros, in the number of items. */
CT_API ct_var ct_var_avg_pool(ct_var x, const int64_t *kernel, const struct ct_window *window,
                              bool count_padding);
/** The same of one window, the whole image: [batch, channels, 1...]. */
CT_API ct_var ct_var_global_max_pool(ct_var x);
CT_API ct_var ct_var_global_avg_pool(ct_var x);

/**
 * (x - mean) / sqrt(variance + eps) scale + shift with a mean and a variance per channel, axis 1; all four have
 * shape [channels], scale and shift may be null. So a trained network is run, with the statistics that
 * ct_batch_norm_track() kept; in training the moments are those of the batch: ct_var_batch_norm_train().
 */
CT_API ct_var ct_var_batch_norm(ct_var x, ct_var mean, ct_var variance, ct_var scale, ct_var shift,
                                double eps);
/** The mean and the variance (of n items, not n - 1) of each channel: over all axes but 1. */
CT_API ct_status ct_var_batch_moments(ct_var x, ct_var *mean, ct_var *variance);
/**
 * Normalised by the moments of the batch: the rows of layer_norm, one for each channel, times the scale, plus the
 * shift, [channels] each or null. Bits are those of layer_norm, whose centring is the finer one: ct_var_batch_norm() of
 * ct_var_batch_moments() is the same number with other roundings.
 * @param mean, variance  the moments, [channels], to be tracked; or NULL
 */
CT_API ct_var ct_var_batch_norm_train(ct_var x, ct_var scale, ct_var shift, double eps,
                                      ct_var *mean, ct_var *variance);
/**
 * Running statistics: mean = (1 - momentum) mean + momentum batch_mean, and so the variance, of which the batch's is
 * first made unbiased, times items / (items - 1). PyTorch's momentum is 0.1.
 *
 * @param mean, variance  f32 or f64, [channels]; written in place, both or none
 * @param batch_mean, batch_variance  values of what ct_var_batch_moments() or ct_var_batch_norm_train() recorded
 * @param items  in a channel of the batch, 2 or more: batch times space
 * @return CT_EDOMAIN for too few items or a momentum outside 0 to 1, CT_ESHAPE, CT_EDTYPE, CT_EINVAL, CT_ENOMEM.
 */
CT_API ct_status ct_batch_norm_track(ct_tensor *mean, ct_tensor *variance,
                                     const ct_tensor *batch_mean, const ct_tensor *batch_variance,
                                     int64_t items, double momentum);
/** x / sqrt(mean of x^2 over the last axis + eps) scale; scale [extent], or null. */
CT_API ct_var ct_var_rms_norm(ct_var x, ct_var scale, double eps);

/**
 * Zeros items with probability @p p and divides the others by 1 - p. The mask depends on seed, step and op
 * alone: number the dropouts of a model, count its steps, and a resumed run draws the same. 0 <= p <= 1; CT_EDOMAIN.
 */
CT_API ct_var ct_var_dropout(ct_var x, double p, uint64_t seed, uint64_t step, uint64_t op);

/** Rows of a table [rows, items], at an index of integers, of any shape: [index..., items]. Repeated rows add up their
 *  gradients, in index order. A negative number counts from the end. */
CT_API ct_var ct_var_embedding(ct_var table, ct_var index);

/**
 * softmax(q k^T / sqrt(d)) v over the last two axes; q [..., n, d], k [..., m, d], v [..., m, e].
 * @param mask  broadcasts to [..., n, m]: of bool, a key is not seen where it is false; of q's scalar type, it is
 *              added to the scores before the softmax; or null. A row that sees no key is NaN.
 */
CT_API ct_var ct_var_attention(ct_var q, ct_var k, ct_var v, ct_var mask);
/** A mask of bool, [queries, keys], with which query i sees the keys 0 to i alone. */
CT_API ct_var ct_var_causal_mask(ct_tape *tape, int64_t queries, int64_t keys);

/** x log z, broadcast: 0 where x is 0 and z any number, 0 and infinity included; NaN where x or z is. The parts of entropies. */
CT_API ct_var ct_var_xlogy(ct_var x, ct_var z);

/** @name Losses
 *  They do not broadcast: [n, 1] against [n] is CT_ESHAPE. The mean is over all items. @{ */
/** |x - target|. */
CT_API ct_var ct_var_l1(ct_var x, ct_var target, enum ct_reduction reduction);
/** (x - target)^2 / 2 up to a distance of @p delta > 0, delta (|x - target| - delta / 2) beyond. */
CT_API ct_var ct_var_huber(ct_var x, ct_var target, double delta, enum ct_reduction reduction);
/** huber / beta: PyTorch's smooth_l1. */
CT_API ct_var ct_var_smooth_l1(ct_var x, ct_var target, double beta, enum ct_reduction reduction);
/** -target log sigmoid(x) - (1 - target) log(1 - sigmoid(x)): exact at all x, infinities included. */
CT_API ct_var ct_var_bce_with_logits(ct_var x, ct_var target, enum ct_reduction reduction);
/** The same where positive items weigh more: the first term times @p positive, which is one number or one for each
 *  item of the last axis (PyTorch's pos_weight). The mean is over all items all the same. */
CT_API ct_var ct_var_bce_weighed(ct_var x, ct_var target, ct_var positive,
                                 enum ct_reduction reduction);
/**
 * -target log p - (1 - target) log(1 - p), of probabilities p; 0 where target and p are both 0 or both 1, infinite where
 * they are opposite. Prefer logits: a p that was rounded to 0 or 1 has lost its distance, and with it the gradient. The
 * sigmoid of 50 is 1, so that ct_var_bce(sigmoid(50), 0) is infinite in any precision; of logits it is 50.
 */
CT_API ct_var ct_var_bce(ct_var p, ct_var target, enum ct_reduction reduction);
/** target (log target - x) for logarithms x of probabilities; 0 where target is 0. */
CT_API ct_var ct_var_kl_div(ct_var x, ct_var target, enum ct_reduction reduction);

/** How classes count in a loss. Zeros are a loss in which all count alike. */
struct ct_class_loss {
    const ct_tensor *weights; /**< of the items of each class: [classes]; NULL for ones */
    bool has_ignored;         /**< whether items with the label @p ignored count for nothing */
    int64_t ignored;          /**< any number, a class or not */
    double smoothing; /**< in 0 to 1: so much of an item's target is spread over all classes */
};

/**
 * -w[label] x[i, label[i, ...], ...] for logarithms x of probabilities: [n, classes, ...], labels [n, ...]. The mean
 * is the sum divided by the sum of the weights of the items that count. @p classes may be NULL.
 */
CT_API ct_var ct_var_nll(ct_var x, ct_var labels, const struct ct_class_loss *classes,
                         enum ct_reduction reduction);
/** The same of the log_softmax of logits over axis 1: cross entropy with weights, an ignored label, smoothing. */
CT_API ct_var ct_var_cross_entropy_of(ct_var logits, ct_var labels,
                                      const struct ct_class_loss *classes,
                                      enum ct_reduction reduction);
/** -sum over axis 1 of target log_softmax(logits), for targets that are probabilities; 0 where a target is 0. The
 *  mean is over the items that are left. */
CT_API ct_var ct_var_cross_entropy_soft(ct_var logits, ct_var target, enum ct_reduction reduction);
/** @} */

CT_END_DECLS
#endif
