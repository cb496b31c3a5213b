/* Convolutions and their two transposes, lent to the ops of the tape. */
#ifndef CT_CONV_H
#define CT_CONV_H

#include "tensor/ct_tensor.h"

enum { CT__CONV_SPACE = 3 };

/* How windows lie on images [batch, channels, space...], per axis of space. */
struct ct__windows {
    int32_t stride[CT__CONV_SPACE], dilation[CT__CONV_SPACE];
    int32_t before[CT__CONV_SPACE], after[CT__CONV_SPACE]; /* padding, with zeros */
    int32_t groups; /* of channels, each with its own kernels */
    int64_t extent
        [CT__CONV_SPACE]; /* of the result's space, which operands leave open: not of ct__conv() */
};

/*
 * Of images x [batch, in, space...], kernels w [out, in / groups, kernel...] and images u [batch, out, places...]:
 *   conv          u[n, o, p] = sum over c, k of w[o, c, k] x[n, c, p stride + k dilation - before]
 *   conv_images   x, its transpose in x at u
 *   conv_kernels  w, its transpose in w at u
 * Sums are those of compositions in every type. conv: the matrix product of kernels with the columns of windows, a
 * column's items in the order (channel, kernel...). conv_images: the products of the turned kernels with u, a sum over
 * out-channels, then windows added to zeros, one axis of the kernel after the other, the first innermost. conv_kernels:
 * the product of u with the turned columns for each image, then ct_sum() over images. CT_ESHAPE where operands do not fit.
 */
ct_tensor *ct__conv(const ct_tensor *x, const ct_tensor *w, const struct ct__windows *windows);
ct_tensor *ct__conv_images(const ct_tensor *u, const ct_tensor *w,
                           const struct ct__windows *windows);
ct_tensor *ct__conv_kernels(const ct_tensor *x, const ct_tensor *u,
                            const struct ct__windows *windows);

#endif
