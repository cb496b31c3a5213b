/**
 * @file ct_index.h
 * Choosing, placing, joining and ordering items.
 *
 * All functions make a new tensor and take every scalar type unless they say otherwise; operands may
 * have any layout and may share storage. An index tensor is i64 or i32; a negative index counts from
 * the end of its axis, one out of range is CT_EINDEX, which names it, its place and the extent. A
 * mask is bool. Axis names stay with the axes that live on. Results depend on the items in
 * row-major order alone: never on layout, threads or instruction set.
 */
#ifndef CT_INDEX_H
#define CT_INDEX_H

#include "tensor/ct_tensor.h"

CT_BEGIN_DECLS

/** @name Whole rows by index
 *  One index for all positions of the other axes. @{ */

/**
 * The rows of an axis at the places of an index: NumPy's take, ONNX's Gather, PyTorch's index_select
 * where @p index has rank 1. The axis is replaced by the index's axes:
 * out[a.., j.., b..] = t[a.., index[j..], b..]. With CT_ALL the items count as one row-major axis.
 */
CT_API ct_tensor *ct_take(const ct_tensor *t, int axis, const ct_tensor *index);
/**
 * @p t with rows replaced: the item of @p source at [a.., j.., b..] goes to [a.., index[j..], b..].
 * @p source has the shape of ct_take(t, axis, index). Where an index repeats, the last in row-major
 * order wins. With CT_ALL it is NumPy's put.
 */
CT_API ct_tensor *ct_index_copy(const ct_tensor *t, int axis, const ct_tensor *index,
                                const ct_tensor *source);
/** The same with rows added, in index order: on zeros, the transpose of ct_take(). A sum that does
 *  not fit a checked type is CT_EOVERFLOW, with its place. */
CT_API ct_tensor *ct_index_add(const ct_tensor *t, int axis, const ct_tensor *index,
                               const ct_tensor *source);
/** @} */

/** @name Single items by index
 *  An index of the rank of @p t for each item: position [a, j, b] means [a, index[a, j, b], b].
 *  Along the other axes its extents are at most those of @p t (there is no broadcasting); what it
 *  does not reach is not read, or stays. @{ */

/** Items of an axis, each by its own index: PyTorch's gather, NumPy's take_along_axis, ONNX's
 *  GatherElements. The result has the index's shape. */
CT_API ct_tensor *ct_gather(const ct_tensor *t, int axis, const ct_tensor *index);
/**
 * @p t with the items of @p source put at the places of @p index, which has its shape: PyTorch's
 * scatter, NumPy's put_along_axis, ONNX's ScatterElements. Where places repeat, the last in
 * row-major order wins.
 */
CT_API ct_tensor *ct_scatter(const ct_tensor *t, int axis, const ct_tensor *index,
                             const ct_tensor *source);
/** The same with items added, in row-major order: on zeros, the transpose of ct_gather(). A sum
 *  that does not fit a checked type is CT_EOVERFLOW, with its place. */
CT_API ct_tensor *ct_scatter_add(const ct_tensor *t, int axis, const ct_tensor *index,
                                 const ct_tensor *source);
/** The same with an op in place of the sum: add, mul, maximum or minimum, else CT_EINVAL. */
CT_API ct_tensor *ct_scatter_reduce(const ct_tensor *t, int axis, const ct_tensor *index,
                                    const ct_tensor *source, enum ct_op op);
/** @} */

/** @name Blocks by tuples of indices
 *  The last axis of @p index, of extent k <= rank of @p t, holds tuples for the first k axes. @{ */

/** out[j.., b..] = t[index[j.., 0], ..., index[j.., k - 1], b..]: ONNX's GatherND. */
CT_API ct_tensor *ct_gather_nd(const ct_tensor *t, const ct_tensor *index);
/** @p t with the blocks of @p source, of the shape of ct_gather_nd(t, index), put there; the last
 *  wins: ONNX's ScatterND. */
CT_API ct_tensor *ct_scatter_nd(const ct_tensor *t, const ct_tensor *index,
                                const ct_tensor *source);
/** The same with the op add, mul, maximum or minimum, in row-major order. */
CT_API ct_tensor *ct_scatter_nd_reduce(const ct_tensor *t, const ct_tensor *index,
                                       const ct_tensor *source, enum ct_op op);
/** @} */

/** @name By mask @{ */
/** @p value where the mask, broadcast to the shape of @p t, is true; the items of @p t elsewhere.
 *  CT_EDOMAIN where the value does not fit. */
CT_API ct_tensor *ct_masked_fill(const ct_tensor *t, const ct_tensor *mask, double value);
/** The items where the mask, broadcast to the shape of @p t, is true: rank 1, in row-major order. */
CT_API ct_tensor *ct_masked_select(const ct_tensor *t, const ct_tensor *mask);
/** The rows of an axis where a mask of rank 1 is true. A shorter mask leaves the rest out, a longer
 *  one is CT_ESHAPE. With CT_ALL the items count as one row-major axis. */
CT_API ct_tensor *ct_compress(const ct_tensor *t, int axis, const ct_tensor *mask);
/** The indices of the items that are not 0 (NaN is not), in row-major order: i64 of shape
 *  [n, rank], as PyTorch's; ONNX's NonZero is its transpose. */
CT_API ct_tensor *ct_nonzero(const ct_tensor *t);
/** @} */

/** @name Making from parts @{ */
/** A new last axis of @p extent: 1 at the place of the index, else 0. */
CT_API ct_tensor *ct_one_hot(const ct_tensor *index, int64_t extent, const ct_scalar *scalar);
/** Tensors of one scalar type one after the other along an axis; the other extents agree. */
CT_API ct_tensor *ct_concat(int n, const ct_tensor *const tensors[], int axis);
/** Tensors of one scalar type and shape side by side along a new axis before @p axis (-1: last). */
CT_API ct_tensor *ct_stack(int n, const ct_tensor *const tensors[], int axis);
/** Each item of an axis @p n times in a row: NumPy's repeat, PyTorch's repeat_interleave. With
 *  CT_ALL the items count as one row-major axis. */
CT_API ct_tensor *ct_repeat(const ct_tensor *t, int axis, int64_t n);
/** Item i of an axis counts[i] times; @p counts is i64 or i32, of rank 1, none negative. */
CT_API ct_tensor *ct_repeat_each(const ct_tensor *t, int axis, const ct_tensor *counts);
/** The whole tensor repeated along the last @p n axes; more than the rank make new ones in front:
 *  NumPy's tile. */
CT_API ct_tensor *ct_tile(const ct_tensor *t, int n, const int64_t *repeats);
/** The items of an axis moved on by @p shift, those past the end back at its start; either sign,
 *  any size. With CT_ALL in row-major order over all items, the shape kept. */
CT_API ct_tensor *ct_roll(const ct_tensor *t, int axis, int64_t shift);

/** What ct_pad() writes around a tensor, of 1 2 3 4: */
enum ct_pad_mode {
    CT_PAD_CONSTANT, /**< v v 1 2 3 4 v v: a value */
    CT_PAD_EDGE,     /**< 1 1 1 2 3 4 4 4: the nearest item */
    CT_PAD_REFLECT,  /**< 3 2 1 2 3 4 3 2: mirrored at the outermost items, again and again */
    CT_PAD_WRAP      /**< 3 4 1 2 3 4 1 2: going round */
};
/**
 * Items added before and after each axis; @p n is the rank. A negative number is CT_ESHAPE, and so
 * is an axis without items, except in the mode that fills with @p value (which the others ignore).
 */
CT_API ct_tensor *ct_pad(const ct_tensor *t, int n, const int64_t *before, const int64_t *after,
                         enum ct_pad_mode mode, double value);
/** The last two axes with 0 below the diagonal; @p diagonal > 0 lies above the main one. */
CT_API ct_tensor *ct_triu(const ct_tensor *t, int64_t diagonal);
/** The last two axes with 0 above the diagonal. */
CT_API ct_tensor *ct_tril(const ct_tensor *t, int64_t diagonal);
/** @} */

/** @name Ordering
 *  For scalar types with `less`, else CT_EDTYPE; duals are ordered by their values. NaN counts as
 *  larger than every number, -0 and 0 are equal, and equal items keep their order in either
 *  direction. So NaN comes last in ascending and first in descending order, as in PyTorch. Along
 *  one axis; CT_ALL: along all items, as rank 1. O(n log n) at most. @{ */
CT_API ct_tensor *ct_sort(const ct_tensor *t, int axis, bool descending);
/** Where the items of ct_sort() stood, as i64. */
CT_API ct_tensor *ct_argsort(const ct_tensor *t, int axis, bool descending);
/**
 * The first @p k items of ct_sort() with @p largest as its direction, and where they stood; of
 * equal ones the first. Either result may be NULL: not wanted; on failure both are untouched, so
 * start them at NULL. CT_EINVAL for a @p k that is
 * negative or above the extent.
 */
CT_API ct_status ct_topk(const ct_tensor *t, int64_t k, int axis, bool largest, ct_tensor **values,
                         ct_tensor **indices);
/**
 * The different values of all items, ascending, of equal ones the first (all NaN are one value);
 * for each item of @p t which of them it is (i64, the shape of @p t); how often each occurs (i64).
 * Any result may be NULL: not wanted; on failure all are untouched.
 */
CT_API ct_status ct_unique(const ct_tensor *t, ct_tensor **values, ct_tensor **inverse,
                           ct_tensor **counts);
/**
 * Where each value would be inserted to keep the last axis of @p sorted ascending: before equal
 * items, or with @p right behind them; i64 of the shape of @p values. @p sorted has rank 1, or the
 * leading extents of @p values, row by row. Whether it is sorted is not checked: ct_is_sorted().
 */
CT_API ct_tensor *ct_searchsorted(const ct_tensor *sorted, const ct_tensor *values, bool right);
/** @} */

/** @name Predicates: they allocate nothing and set no error @{ */
/** Whether every index is in range for an axis of this extent. */
CT_API bool ct_is_index_for(const ct_tensor *index, int64_t extent);
/** Whether ct_gather() takes an index of this type and shape; its numbers are not looked at. */
CT_API bool ct_can_gather(const ct_tensor *t, int axis, const ct_tensor *index);
/** Whether ct_take() takes an index of this type and shape; its numbers are not looked at. */
CT_API bool ct_can_take(const ct_tensor *t, int axis, const ct_tensor *index);
/** Whether scalar types, shapes and axis names go together for ct_concat(). */
CT_API bool ct_can_concat(int n, const ct_tensor *const tensors[], int axis);
/** The same for ct_stack(). */
CT_API bool ct_can_stack(int n, const ct_tensor *const tensors[], int axis);
/** Whether ct_pad() takes these; @p value counts in the mode that fills with it alone. */
CT_API bool ct_can_pad(const ct_tensor *t, int n, const int64_t *before, const int64_t *after,
                       enum ct_pad_mode mode, double value);
/** Whether the items along an axis stand in the order of ct_sort(); false where there is none. */
CT_API bool ct_is_sorted(const ct_tensor *t, int axis, bool descending);
/** @} */

CT_END_DECLS
#endif
