/**
 * @file ct_tensor.h
 * Strided tensors as values.
 *
 * A `ct_tensor *` is a variable with one owner. Copies and views share storage and copy no items;
 * a write never shows in another tensor. Functions that make a tensor return NULL on failure and
 * leave the reason in ct_error(); a NULL operand passes NULL on and keeps the first error. Axes
 * may be counted from the end (-1 is the last). Every tensor returned is the caller's, who frees it
 * with ct_free().
 *
 * Thread safety: different tensors may be used by different threads, also when they share storage.
 */
#ifndef CT_TENSOR_H
#define CT_TENSOR_H

#include "tensor/ct_api.h"
#include "tensor/ct_error.h"
#include "tensor/ct_scalar.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

CT_BEGIN_DECLS

enum { CT_MAX_RANK = 8 };

/** In place of an axis: all axes. */
#define CT_ALL INT32_MAX

typedef struct ct_tensor ct_tensor;

/** @name Making
 *  Shapes are arrays of @p rank extents, each >= 0; rank 0 holds one item. @{ */

/** Zeros of a scalar type and shape. */
CT_API ct_tensor *ct_zeros(const ct_scalar *scalar, int rank, const int64_t *shape);
/** Ones. */
CT_API ct_tensor *ct_ones(const ct_scalar *scalar, int rank, const int64_t *shape);
/** All items equal to @p value; CT_EDOMAIN where it does not fit the scalar type. */
CT_API ct_tensor *ct_full(const ct_scalar *scalar, int rank, const int64_t *shape, double value);
/** A tensor of rank 0. */
CT_API ct_tensor *ct_from_double(const ct_scalar *scalar, double value);
/** From @p count doubles in row-major order, converted; a wrong count is CT_ESHAPE. */
CT_API ct_tensor *ct_from_doubles(const ct_scalar *scalar, int rank, const int64_t *shape,
                                  size_t count, const double *values);
/** From @p count items of the scalar type in row-major order (copied; a truth value that is neither
 *  0 nor 1 becomes 1). */
CT_API ct_tensor *ct_from_items(const ct_scalar *scalar, int rank, const int64_t *shape,
                                size_t count, const void *items);
/**
 * A tensor over foreign memory of @p count items, without a copy. @p strides are in items and may
 * be negative or zero, @p offset is the item of index 0; every reachable item must lie in the
 * buffer. The memory is never written through the tensor. @p release, unless NULL, is called once
 * with @p context when the last share is freed; it is not called if this function fails. Truth
 * values other than 0 and 1 count as true wherever they are read, and are passed on as they are.
 */
CT_API ct_tensor *ct_tensor_over(const ct_scalar *scalar, int rank, const int64_t *shape,
                                 const int64_t *strides, int64_t offset, const void *buffer,
                                 size_t count, void (*release)(void *context), void *context);
/** Another variable with the same value, O(1): storage is shared until one is written. */
CT_API ct_tensor *ct_copy(const ct_tensor *t);
/** The same value in dense row-major storage: a share when @p t is dense already, else one copy. */
CT_API ct_tensor *ct_compact(const ct_tensor *t);
/** Frees a variable; NULL is accepted. */
CT_API void ct_free(ct_tensor *t);
/** @} */

/** @name Looking
 *  Of NULL: no scalar type, rank -1, no shape, count 0, with an error. @{ */
CT_API const ct_scalar *ct_dtype(const ct_tensor *t);
CT_API int ct_rank(const ct_tensor *t);
/** The extents; valid as long as the tensor. */
CT_API const int64_t *ct_shape(const ct_tensor *t);
/** Distances in items between neighbours along each axis. */
CT_API const int64_t *ct_strides(const ct_tensor *t);
/** The extent of one axis, or -1 (with an error) when the axis is out of range. */
CT_API int64_t ct_extent(const ct_tensor *t, int axis);
/** The number of items, the product of the extents. */
CT_API size_t ct_count(const ct_tensor *t);
/** Whether two tensors share storage; false for NULL. */
CT_API bool ct_shares_storage(const ct_tensor *a, const ct_tensor *b);
/** Row-major and without holes. */
CT_API bool ct_is_dense(const ct_tensor *t);
/** The item of index 0; the others lie at the strides from it, before it where those are negative.
 *  Read only. */
CT_API const void *ct_data(const ct_tensor *t);
/** Reads the item at an index, as a double. Negative indices count from the end. */
CT_API ct_status ct_get(const ct_tensor *t, int rank, const int64_t *index, double *value);
/** Reads item @p i in row-major order, as a double; a negative number counts from the end. */
CT_API ct_status ct_get_flat(const ct_tensor *t, int64_t i, double *value);
/** Copies the item at an index as it is, in the tensor's own type. */
CT_API ct_status ct_get_item(const ct_tensor *t, int rank, const int64_t *index, void *item);
/** The only item of a tensor of one item, as a double; NaN (with an error) for others. Of an i64
 *  beyond 2^53 the nearest double: ct_to_i64s() is exact. */
CT_API double ct_item(const ct_tensor *t);
/** All items in row-major order as doubles; @p count must be ct_count(). */
CT_API ct_status ct_to_doubles(const ct_tensor *t, size_t count, double *values);
/** All items in row-major order as they are; @p bytes must be ct_count() times the item size. */
CT_API ct_status ct_to_items(const ct_tensor *t, size_t bytes, void *items);
/** Same scalar type, shape and values, whatever the layouts; NaN equals NaN. */
CT_API bool ct_tensor_equal(const ct_tensor *a, const ct_tensor *b);
/** Same shape and |a - b| <= atol + rtol |b| for every item; NaN is close to NaN, an infinity to
 *  itself. Duals are compared part by part, a number and a dual as if its tangents were 0; whole
 *  numbers differ exactly. Scalar types may differ. */
CT_API bool ct_all_close(const ct_tensor *a, const ct_tensor *b, double rtol, double atol);
/**
 * Writes nested brackets of items as snprintf does: never more than @p size bytes, terminated;
 * returns the length it would need, or -1 with an error and an empty text for a NULL tensor. Long
 * axes are shortened in the middle. ct_format(t, NULL, 0) tells the length to make room for.
 */
CT_API int ct_format(const ct_tensor *t, char *text, size_t size);
/** Checks every invariant of the descriptor; CT_EINVAL names the broken one. */
CT_API ct_status ct_check_tensor(const ct_tensor *t);
/** @} */

/** @name Writing: in place when dense and alone, else after one copy. @{ */
/** Dense storage owned by @p t alone, for writing; NULL when memory is gone. */
CT_API void *ct_data_for_write(ct_tensor *t);
/** Sets the item at an index; negative indices count from the end. */
CT_API ct_status ct_set(ct_tensor *t, int rank, const int64_t *index, double value);
/** Sets item @p i in row-major order; a negative number counts from the end. */
CT_API ct_status ct_set_flat(ct_tensor *t, int64_t i, double value);
/** Sets the item at an index to one of the tensor's own type. */
CT_API ct_status ct_set_item(ct_tensor *t, int rank, const int64_t *index, const void *item);
/** Sets all items to one value; CT_EDOMAIN, with nothing written, where it does not fit the scalar
 *  type. */
CT_API ct_status ct_fill(ct_tensor *t, double value);
/** @} */

/** @name Views: O(rank), no copy of items
 *  A view is another variable that shares storage; a write to either never shows in the other. It
 *  takes one small allocation. ct_reshape() and ct_flatten() may need one copy. Axis names follow
 *  the axes (ct_names.h); an axis that a view adds has none. @{ */
/** Items start, start + step, ... before stop on one axis, with Python's rules for negative and
 *  out-of-range bounds; step != 0. `CT_END` as stop reaches the end in either direction. */
#define CT_END INT64_MIN
CT_API ct_tensor *ct_slice(const ct_tensor *t, int axis, int64_t start, int64_t stop, int64_t step);
/** The same on the first @p n axes at once; the others stay whole. A NULL array means the default:
 *  steps of 1, starts at the beginning in the step's direction, stops of CT_END. */
CT_API ct_tensor *ct_slice_all(const ct_tensor *t, int n, const int64_t *starts,
                               const int64_t *stops, const int64_t *steps);
/** One index of an axis, which is dropped. Negative indices count from the end. */
CT_API ct_tensor *ct_select(const ct_tensor *t, int axis, int64_t index);
/** Swaps the last two axes; a tensor of rank < 2 as it is. */
CT_API ct_tensor *ct_transpose(const ct_tensor *t);
/** Swaps two axes, which may be the same. */
CT_API ct_tensor *ct_swap_axes(const ct_tensor *t, int axis, int other);
/** Axis i of the result is axis axes[i] of @p t; @p n must be the rank. */
CT_API ct_tensor *ct_permute(const ct_tensor *t, int n, const int *axes);
/** Puts one axis at place @p to of the result; the others keep their order. */
CT_API ct_tensor *ct_move_axis(const ct_tensor *t, int axis, int to);
/** Same items in row-major order in another shape; one extent may be -1. A view when the strides
 *  allow it (see ct_can_view_as()), else one copy. */
CT_API ct_tensor *ct_reshape(const ct_tensor *t, int rank, const int64_t *shape);
/** Axes @p first to @p last, both included, as one; of rank 0: one axis of one item. */
CT_API ct_tensor *ct_flatten(const ct_tensor *t, int first, int last);
/** A new axis of extent 1 before @p axis (-1: after the last). */
CT_API ct_tensor *ct_expand_dims(const ct_tensor *t, int axis);
/** Drops an axis of extent 1, or all of them with CT_ALL. */
CT_API ct_tensor *ct_squeeze(const ct_tensor *t, int axis);
/** Drops several axes of extent 1. */
CT_API ct_tensor *ct_squeeze_axes(const ct_tensor *t, int n, const int *axes);
/** The items of an axis (or of all, CT_ALL) in reverse, by a negative stride. */
CT_API ct_tensor *ct_flip(const ct_tensor *t, int axis);
/** The items of several axes in reverse. */
CT_API ct_tensor *ct_flip_axes(const ct_tensor *t, int n, const int *axes);
/** NumPy's broadcasting to a given shape, by zero strides. */
CT_API ct_tensor *ct_broadcast_to(const ct_tensor *t, int rank, const int64_t *shape);
/** The items [..., i, ..., i + offset, ...] of two axes, which are dropped; i runs along a new last
 *  axis. A negative offset lies below the main diagonal; one outside gives no items. */
CT_API ct_tensor *ct_diagonal(const ct_tensor *t, int64_t offset, int axis, int other);
/** All windows of @p size items along an axis, @p step > 0 items apart, which may overlap: the axis
 *  counts the windows, (extent - size) / step + 1 of them, and a new last axis the items in each. */
CT_API ct_tensor *ct_unfold(const ct_tensor *t, int axis, int64_t size, int64_t step);
/** Cuts an axis into @p n parts of one size, which must divide the extent. @p parts receives n
 *  views, each to be freed; on failure it is not touched. */
CT_API ct_status ct_split(const ct_tensor *t, int axis, int64_t n, ct_tensor *parts[]);
/** The same for parts of given sizes, whose sum must be the extent. */
CT_API ct_status ct_split_sizes(const ct_tensor *t, int axis, int64_t n, const int64_t *sizes,
                                ct_tensor *parts[]);
/** @} */

/** @name Elementwise, by the op's number
 *  One function per row stands in ct_ops.h, which is generated from the table. @{ */
/** Applies an elementwise op with NumPy's broadcasting; @p n must be its arity. A NULL @p in is a
 *  NULL operand. */
CT_API ct_tensor *ct_apply(enum ct_op op, int n, const ct_tensor *const in[]);
/** @} */

/** @name Rows along an axis
 *  Softmax is exact at infinities; CT_EDTYPE for types without exp. Its axis may be CT_ALL for rank 1
 *  alone. @{ */
/** Exponentials scaled to sum 1. One +infinity in a row takes all, the limit; a row that is all
 *  -infinity is NaN by definition. */
CT_API ct_tensor *ct_softmax(const ct_tensor *t, int axis);
/** log of ct_softmax(), without its loss of small numbers. */
CT_API ct_tensor *ct_log_softmax(const ct_tensor *t, int axis);
/**
 * Normalised rows, a row being the items along all axes from @p axis on (-1: the last axis alone):
 *
 *     m = mean(x), d = (x - m) - mean(x - m), v = mean(d d), y = d rsqrt(v + eps) scale + shift
 *
 * This composition, rounded step by step, is what every scalar type computes (Ba, Kiros, Hinton 2016;
 * the biased variance, eps inside the root, as in PyTorch and ONNX). Up to 1,024 items, v is
 * ct_variance() with ddof 0. Items that are all alike give exactly the shift.
 *
 * @param scale,shift  of t's scalar type, broadcast to the axes that are normalised; their names do
 *                     not count. NULL: none
 * @param eps          a finite number from 0 on
 * @return dense, with t's shape and names; an empty tensor gives an empty one. NULL: CT_EAXIS,
 *         CT_ESHAPE, CT_EDTYPE (types without add, sub, mul, div or rsqrt; another type of scale or
 *         shift), CT_EDOMAIN (eps), CT_ENOMEM. The same bits in any layout.
 * Cost: f32 and f64 in one pass over memory; others as the composition.
 */
CT_API ct_tensor *ct_layer_norm(const ct_tensor *t, int axis, const ct_tensor *scale,
                                const ct_tensor *shift, double eps);
/** @} */

/** @name Choosing by index @{ */
/** t[..., index[...]]: one item of the last axis per row. @p index is i64 or i32 and has the
 *  shape of @p t without its last axis; CT_EINDEX names the first index that is out of range. */
CT_API ct_tensor *ct_pick(const ct_tensor *t, const ct_tensor *index);
/** The transpose of ct_pick(): zeros with a new last axis of @p extent, the items of @p t at
 *  @p index; @p index has the shape of @p t. */
CT_API ct_tensor *ct_place(const ct_tensor *t, const ct_tensor *index, int64_t extent);
/** The transpose of ct_slice(): zeros with @p extent items along @p axis, those of @p t at start,
 *  start + step, ... */
CT_API ct_tensor *ct_unslice(const ct_tensor *t, int axis, int64_t start, int64_t step,
                             int64_t extent);
/** @} */

/** @name Products @{ */
/** NumPy's matmul: rank 1 operands are rows or columns, leading axes are broadcast batches. An item
 *  is a sum over inner blocks of 256, each one fused chain in increasing k, added in order. */
CT_API ct_tensor *ct_matmul(const ct_tensor *a, const ct_tensor *b);
/** @} */

/** @name Conversion @{ */
/** Each item converted; CT_EDOMAIN, naming the first item, where one does not fit. */
CT_API ct_tensor *ct_astype(const ct_tensor *t, const ct_scalar *scalar);
/** @} */

/** @name Components: scalar types made of parts, such as duals @{ */
/** One part of each item, @p byte_offset bytes into it, as a strided view of another scalar type. */
CT_API ct_tensor *ct_component(const ct_tensor *t, const ct_scalar *part, size_t byte_offset);
/** Items put together from @p n parts of one scalar type and shape, in order; a NULL part is zero,
 *  but one at least must be there. A NULL @p scalar or @p parts is a NULL operand. */
CT_API ct_tensor *ct_from_components(const ct_scalar *scalar, size_t n,
                                     const ct_tensor *const parts[]);
/** @} */

/** @name Predicates: what would fail, without allocating or setting an error @{ */
/** Equal ranks and extents; false for NULL. */
CT_API bool ct_same_shape(const ct_tensor *a, const ct_tensor *b);
CT_API bool ct_can_broadcast(int rank_a, const int64_t *a, int rank_b, const int64_t *b);
/** The shape of NumPy's broadcasting; returns its rank, or -1 when there is none. */
CT_API int ct_broadcast_shape(int rank_a, const int64_t *a, int rank_b, const int64_t *b,
                              int64_t shape[CT_MAX_RANK]);
/** Whether ct_apply() takes these operands; what it makes of the items is not looked at. */
CT_API bool ct_can_apply(enum ct_op op, int n, const ct_tensor *const in[]);
CT_API bool ct_can_broadcast_to(const ct_tensor *t, int rank, const int64_t *shape);
/** What a slice of an axis of @p extent items means: it takes `first`, `first + step`, ..., @p count
 *  items; first is 0 where there are none. False, with nothing written, where step is 0 or the
 *  extent is negative. */
CT_API bool ct_slice_range(int64_t extent, int64_t start, int64_t stop, int64_t step,
                           int64_t *first, int64_t *count);
CT_API bool ct_can_select(const ct_tensor *t, int axis, int64_t index);
CT_API bool ct_can_permute(const ct_tensor *t, int n, const int *axes);
CT_API bool ct_can_squeeze(const ct_tensor *t, int n, const int *axes);
CT_API bool ct_can_unfold(const ct_tensor *t, int axis, int64_t size, int64_t step);
CT_API bool ct_can_split(const ct_tensor *t, int axis, int64_t n);
CT_API bool ct_can_reshape(const ct_tensor *t, int rank, const int64_t *shape);
/** Whether ct_reshape() would be a view. */
CT_API bool ct_can_view_as(const ct_tensor *t, int rank, const int64_t *shape);
CT_API bool ct_can_matmul(const ct_tensor *a, const ct_tensor *b);
/** @} */

CT_END_DECLS
#endif
