/**
 * @file ct_dual.h
 * Dual numbers a + b e, e^2 = 0, as scalar types: forward-mode derivatives through any op.
 *
 * An item is the pair (value, tangent) of the base type. Levels keep nested duals apart: a dual of
 * level n is made over a base of level n - 1 and mixing levels is a dtype error; lifting is explicit.
 */
#ifndef CT_DUAL_H
#define CT_DUAL_H

#include "tensor/ct_tensor.h"

CT_BEGIN_DECLS

CT_API extern const ct_scalar ct_scalar_dual32;   /**< over f32 */
CT_API extern const ct_scalar ct_scalar_dual64;   /**< over f64 */
CT_API extern const ct_scalar ct_scalar_dual32_2; /**< over dual32: second derivatives */
CT_API extern const ct_scalar ct_scalar_dual64_2; /**< over dual64 */

#define CT_DUAL32 (&ct_scalar_dual32)
#define CT_DUAL64 (&ct_scalar_dual64)

/** The dual type over a base type, or NULL (CT_EDTYPE) when there is none. */
CT_API const ct_scalar *ct_dual_of(const ct_scalar *base);
/** value + tangent e. Shapes and scalar types must be equal; a NULL tangent is zero. */
CT_API ct_tensor *ct_dual(const ct_tensor *value, const ct_tensor *tangent);
/** The values, as a strided view of the base type: no copy. */
CT_API ct_tensor *ct_dual_value(const ct_tensor *t);
/** The tangents, as a strided view of the base type: no copy. */
CT_API ct_tensor *ct_dual_tangent(const ct_tensor *t);

CT_END_DECLS
#endif
