/**
 * @file ct_dual.h
 * Dual numbers a + b e, e^2 = 0, as scalar types: forward-mode derivatives through any op.
 *
 * An item is the pair (value, tangent) of the base type, or a value with 4 or 8 tangents, which are
 * as many single duals that share the work on the value: tangent by tangent the same bits. Levels
 * keep nested duals apart: a dual of level n is made over a base of level n - 1 and mixing levels is
 * a dtype error; lifting is explicit. Comparisons, tests and argmax look at the values alone.
 *
 * A dual over a scalar type of one's own is a copy of one of these descriptors with `name`, `base`,
 * `size` (1 to 8 tangents over a base of at most 256 bytes), `align`, `level` and `traits` of its own. It
 * has an op where the base has the op and every word of its derivative (ct_op_pull_text()), else
 * "NAME has no OP"; and a reduction or product where the base has it and the dual has the op that is
 * repeated. Over a base with CT_CHECKED it has comparisons, tests, choice and places of extremes, and
 * no arithmetic: a derivative may fail where its value does not.
 */
#ifndef CT_DUAL_H
#define CT_DUAL_H

#include "tensor/ct_tensor.h"

CT_BEGIN_DECLS

CT_API extern const ct_scalar ct_scalar_dual32;   /**< over f32 */
CT_API extern const ct_scalar ct_scalar_dual64;   /**< over f64 */
CT_API extern const ct_scalar ct_scalar_dual32_2; /**< over dual32: second derivatives */
CT_API extern const ct_scalar ct_scalar_dual64_2; /**< over dual64 */
CT_API extern const ct_scalar ct_scalar_dual32x4; /**< over f32, 4 tangents */
CT_API extern const ct_scalar ct_scalar_dual32x8; /**< over f32, 8 tangents */
CT_API extern const ct_scalar ct_scalar_dual64x4; /**< over f64, 4 tangents */
CT_API extern const ct_scalar ct_scalar_dual64x8; /**< over f64, 8 tangents */

#define CT_DUAL32   (&ct_scalar_dual32)
#define CT_DUAL64   (&ct_scalar_dual64)
#define CT_DUAL32X4 (&ct_scalar_dual32x4)
#define CT_DUAL32X8 (&ct_scalar_dual32x8)
#define CT_DUAL64X4 (&ct_scalar_dual64x4)
#define CT_DUAL64X8 (&ct_scalar_dual64x8)

/** The dual type with one tangent over a base type, or NULL (CT_EDTYPE) when there is none. */
CT_API const ct_scalar *ct_dual_of(const ct_scalar *base);
/** The dual type over a base type with 1, 4 or 8 tangents, or NULL (CT_EDTYPE) when there is none. */
CT_API const ct_scalar *ct_dual_wide_of(const ct_scalar *base, int tangents);
/** How many tangents an item of the type has; 0 where it is no dual type, or NULL. */
CT_API int ct_dual_tangents(const ct_scalar *scalar);

/** value + tangent e. Shapes and scalar types must be equal; a NULL tangent is zero. */
CT_API ct_tensor *ct_dual(const ct_tensor *value, const ct_tensor *tangent);
/**
 * value + tangents[0] e1 + ... + tangents[n - 1] en. Shapes and scalar types must be equal.
 * @param n         1, 4 or 8.
 * @param tangents  A NULL tangent is zero, and so are all where @p tangents is NULL.
 */
CT_API ct_tensor *ct_dual_wide(const ct_tensor *value, int n, const ct_tensor *const tangents[]);

/** The values, as a strided view of the base type: no copy. */
CT_API ct_tensor *ct_dual_value(const ct_tensor *t);
/** The tangents (of several the first), as a strided view of the base type: no copy. */
CT_API ct_tensor *ct_dual_tangent(const ct_tensor *t);
/** The i-th tangents, from 0, as a strided view of the base type: no copy. CT_EINDEX: no such one. */
CT_API ct_tensor *ct_dual_tangent_at(const ct_tensor *t, int i);

CT_END_DECLS
#endif
