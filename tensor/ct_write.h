/**
 * @file ct_write.h
 * Writing into tensors.
 *
 * A write happens in place when the target is dense and alone on its storage; otherwise the target
 * first gets dense storage of its own. So it never shows in a copy or a view, and a view never
 * writes through. Operands may share storage with the target or be the target: they are read as
 * they were. The target never grows and keeps its shape, scalar type and axis names. On failure it
 * is as it was, also where an integer overflows half way: for scalar types with CT_CHECKED the
 * result is made beside the target. Results are the same bits as those of the functions that make
 * new tensors. A NULL target or operand is CT_EINVAL, or the error that is pending.
 */
#ifndef CT_WRITE_H
#define CT_WRITE_H

#include "tensor/ct_tensor.h"

CT_BEGIN_DECLS

/** @name Replacing @{ */
/** All items, by those of @p from broadcast to the target's shape. CT_EDTYPE for another scalar
 *  type, CT_ESHAPE where @p from does not broadcast. */
CT_API ct_status ct_assign(ct_tensor *t, const ct_tensor *from);
/** The items that ct_slice() would show, by those of @p from broadcast to their shape. */
CT_API ct_status ct_assign_slice(ct_tensor *t, int axis, int64_t start, int64_t stop, int64_t step,
                                 const ct_tensor *from);
/** The items that ct_slice_all() would show: slices of the first @p n axes, defaults for NULL. */
CT_API ct_status ct_assign_slice_all(ct_tensor *t, int n, const int64_t *starts,
                                     const int64_t *stops, const int64_t *steps,
                                     const ct_tensor *from);
/** The items that ct_select() would show: one index of an axis. */
CT_API ct_status ct_assign_select(ct_tensor *t, int axis, int64_t index, const ct_tensor *from);
/** @} */

/** @name Computing into a target @{ */
/** target = op of @p n operands; the target must have exactly the shape and the scalar type that
 *  ct_apply() would give (bool for comparisons). */
CT_API ct_status ct_apply_into(ct_tensor *target, enum ct_op op, int n,
                               const ct_tensor *const in[]);
/** t = op(t). */
CT_API ct_status ct_map_into(enum ct_op op, ct_tensor *t);
/** t = op(t, other), with @p other broadcast to the shape of @p t. */
CT_API ct_status ct_combine(enum ct_op op, ct_tensor *t, const ct_tensor *other);
/** t = t + other. */
CT_API ct_status ct_accumulate(ct_tensor *t, const ct_tensor *other);
/** c = a times b, which must have the shape of @p c, as ct_matmul(). */
CT_API ct_status ct_matmul_into(ct_tensor *c, const ct_tensor *a, const ct_tensor *b);
/** @} */

/** @name Scaling and adding in one pass
 *  The numbers are converted to the scalar type: CT_EDOMAIN where one does not fit. @{ */
/** a t. */
CT_API ct_tensor *ct_scale(const ct_tensor *t, double a);
/** t = a t. */
CT_API ct_status ct_scale_into(ct_tensor *t, double a);
/** t + a. */
CT_API ct_tensor *ct_shift(const ct_tensor *t, double a);
/** t = t + a. */
CT_API ct_status ct_shift_into(ct_tensor *t, double a);
/** a x + b y: each product is rounded, then their sum, so the bits are those of the composition.
 *  With NumPy's broadcasting. */
CT_API ct_tensor *ct_axpby(double a, const ct_tensor *x, double b, const ct_tensor *y);
/** y = a x + b y, with @p x broadcast to the shape of @p y. */
CT_API ct_status ct_axpby_into(double a, const ct_tensor *x, double b, ct_tensor *y);
/** @} */

/** @name Predicates: what would fail, without allocating or setting an error @{ */
CT_API bool ct_can_assign(const ct_tensor *t, const ct_tensor *from);
/** Whether op(t, other) exists and has the shape and the scalar type of @p t. */
CT_API bool ct_can_combine(enum ct_op op, const ct_tensor *t, const ct_tensor *other);
/** @} */

CT_END_DECLS
#endif
