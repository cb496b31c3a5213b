/**
 * @file ct_reduce.h
 * Reductions, cumulative ops and folds.
 *
 * A reduction works along one axis or along all (CT_ALL); the `_axes` forms take several, in any
 * order. A reduced axis is dropped, or stays with extent 1 where @p keepdims. No axes at all make
 * each item a reduction of its own.
 *
 * **Determinism.** A result depends on its items in row-major order of the reduced axes and on
 * nothing else: no layout, thread, instruction set or compiler shows. Sums and products are cut
 * into blocks of 1,024 items, 16 lanes each, joined by fixed pairwise trees (docs/design.md,
 * "Reductions"); f32 adds in f32, and its error grows with the logarithm of the number of items.
 * The strict left-to-right chain stands under its own name, ct_sum_ordered().
 *
 * **Integers** are checked: a sum or product fails only where its exact value does not fit the
 * type, CT_EOVERFLOW, "the sum at index [1] does not fit i32" (the index is the result's).
 *
 * **Nothing.** The sum of no items is 0, their product 1, any false, all true, count 0; what has no
 * value then (max, min, mean, argmax, argmin) is CT_EDOMAIN, unless the result has no item either.
 *
 * Errors of all: CT_EAXIS for an axis out of range or given twice, CT_EDTYPE "bool has no sum"
 * where the scalar type lacks what is needed.
 */
#ifndef CT_REDUCE_H
#define CT_REDUCE_H

#include "tensor/ct_tensor.h"

CT_BEGIN_DECLS

/** @name Sums and products @{ */
CT_API ct_tensor *ct_sum(const ct_tensor *t, int axis, bool keepdims);
CT_API ct_tensor *ct_sum_axes(const ct_tensor *t, int n, const int *axes, bool keepdims);
CT_API ct_tensor *ct_prod(const ct_tensor *t, int axis, bool keepdims);
CT_API ct_tensor *ct_prod_axes(const ct_tensor *t, int n, const int *axes, bool keepdims);
/** The sum divided by the number of items. Of integers: the exact sum, which need not fit the type,
 *  divided and truncated towards zero. Of ct_scalar_fixed the sum has to fit. */
CT_API ct_tensor *ct_mean(const ct_tensor *t, int axis, bool keepdims);
CT_API ct_tensor *ct_mean_axes(const ct_tensor *t, int n, const int *axes, bool keepdims);
/** @} */

/** @name Extremes: IEEE 754-2019 maximum and minimum (a NaN propagates, +0 > -0) @{ */
CT_API ct_tensor *ct_max(const ct_tensor *t, int axis, bool keepdims);
CT_API ct_tensor *ct_max_axes(const ct_tensor *t, int n, const int *axes, bool keepdims);
CT_API ct_tensor *ct_min(const ct_tensor *t, int axis, bool keepdims);
CT_API ct_tensor *ct_min_axes(const ct_tensor *t, int n, const int *axes, bool keepdims);
/** The place, an i64, of the first NaN along the axis, else of the first maximum (zeros of either
 *  sign are equal). With CT_ALL the place in row-major order of all items. Duals look at values; of
 *  bool, false is before true. */
CT_API ct_tensor *ct_argmax(const ct_tensor *t, int axis, bool keepdims);
CT_API ct_tensor *ct_argmin(const ct_tensor *t, int axis, bool keepdims);
/** @} */

/** @name Spread and length @{ */
/**
 * The sum of squared distances from the mean, divided by n - @p ddof; NaN where that is not
 * positive, and for no items. Each block of 1,024 items is centred on its own mean, in two steps
 * (the rounded mean m, then the mean of x - m), and blocks are merged by Chan's formula over the
 * fixed pairwise tree, so that a large mean does no harm; items that are all alike have a variance
 * of exactly 0. Up to 1,024 items that is the centred second pass. No copy of all items is made.
 */
CT_API ct_tensor *ct_variance(const ct_tensor *t, int axis, int64_t ddof, bool keepdims);
CT_API ct_tensor *ct_variance_axes(const ct_tensor *t, int n, const int *axes, int64_t ddof,
                                   bool keepdims);
/** The square root of ct_variance(); of duals, a tangent of 0 where the items are equal. */
CT_API ct_tensor *ct_std(const ct_tensor *t, int axis, int64_t ddof, bool keepdims);
CT_API ct_tensor *ct_std_axes(const ct_tensor *t, int n, const int *axes, int64_t ddof,
                              bool keepdims);
/**
 * The vector norm of an order: 1 the sum of |x|; 2 the root of the sum of squares; any p > 0 the
 * p-th root of the sum of |x|^p; infinity and -infinity the largest and the smallest |x|; 0 the
 * number of items that are not zero. Items are scaled where needed (order 2: by a power of two,
 * exactly), so that nothing overflows or underflows on the way: [1e300, 1e300] has norm 1.414e300.
 * A tangent at the zero vector is 0. CT_EDOMAIN for another order; the norm of nothing is 0, but
 * for the infinite orders CT_EDOMAIN.
 */
CT_API ct_tensor *ct_norm(const ct_tensor *t, int axis, double order, bool keepdims);
CT_API ct_tensor *ct_norm_axes(const ct_tensor *t, int n, const int *axes, double order,
                               bool keepdims);
/** log of the sum of exponentials, exact at infinities; of nothing, and of -infinities, it is
 *  -infinity, there with a tangent of 0. */
CT_API ct_tensor *ct_logsumexp(const ct_tensor *t, int axis, bool keepdims);
CT_API ct_tensor *ct_logsumexp_axes(const ct_tensor *t, int n, const int *axes, bool keepdims);
/** @} */

/** @name Masks and counts @{ */
/** Whether any item of a bool tensor is true, as bool. */
CT_API ct_tensor *ct_any(const ct_tensor *t, int axis, bool keepdims);
CT_API ct_tensor *ct_any_axes(const ct_tensor *t, int n, const int *axes, bool keepdims);
/** Whether all are. */
CT_API ct_tensor *ct_all(const ct_tensor *t, int axis, bool keepdims);
CT_API ct_tensor *ct_all_axes(const ct_tensor *t, int n, const int *axes, bool keepdims);
/** The number of items, as i64, that differ from zero; a NaN does. Any scalar type. */
CT_API ct_tensor *ct_count_nonzero(const ct_tensor *t, int axis, bool keepdims);
CT_API ct_tensor *ct_count_nonzero_axes(const ct_tensor *t, int n, const int *axes, bool keepdims);
/** @} */

/** @name Strict chains: left to right, each partial result rounded
 *  Checked integers fail here at the first partial result that does not fit, even where a later one
 *  would. @{ */
/** Item i is the sum of items 0 to i along the axis. With CT_ALL: of all items in row-major order,
 *  as a tensor of rank 1. */
CT_API ct_tensor *ct_cumsum(const ct_tensor *t, int axis);
CT_API ct_tensor *ct_cumprod(const ct_tensor *t, int axis);
/** ((x0 + x1) + x2) + ...; slower than ct_sum() and less accurate, but the bits of that loop. */
CT_API ct_tensor *ct_sum_ordered(const ct_tensor *t, int axis, bool keepdims);
CT_API ct_tensor *ct_sum_ordered_axes(const ct_tensor *t, int n, const int *axes, bool keepdims);
/** (a0 b0 + a1 b1) + ... of two vectors of one length, each product rounded before it is added. */
CT_API ct_tensor *ct_dot_ordered(const ct_tensor *a, const ct_tensor *b);
/** @} */

/** @name Folds with a callback @{ */
/**
 * Takes one item into an accumulator. Whatever is not CT_OK ends the walk: the fold then fails with
 * that status and says at which index.
 */
typedef ct_status ct_fold_step(void *context, void *accumulator, const void *item);
/**
 * Folds items along an axis, or all, into accumulators of another scalar type: each starts as
 * @p init (an item of @p accumulator), and @p step is called on the caller's thread once for each
 * item, in row-major order of @p t; never where there are no items, so that the results are then
 * @p init. The axis is dropped.
 */
CT_API ct_tensor *ct_fold(const ct_tensor *t, int axis, const ct_scalar *accumulator,
                          const void *init, ct_fold_step *step, void *context);
CT_API ct_tensor *ct_fold_axes(const ct_tensor *t, int n, const int *axes,
                               const ct_scalar *accumulator, const void *init, ct_fold_step *step,
                               void *context);
/** @} */

/** Whether max, min and mean (and, of one axis or all, argmax and argmin) along these axes have a
 *  value: at least one item for each item of the result. */
CT_API bool ct_can_reduce(const ct_tensor *t, int n, const int *axes);

CT_END_DECLS
#endif
