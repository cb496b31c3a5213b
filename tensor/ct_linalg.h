/**
 * @file ct_linalg.h
 * Products and sums of products: dot, outer, trace, tensordot, einsum. ct_matmul() stands in
 * ct_tensor.h, ct_matmul_into() in ct_write.h.
 *
 * Rounding. ct_dot() and ct_vdot() round each product and then add by the lanes and trees of
 * ct_sum(); an item of a matmul, and so of ct_tensordot() and of a contraction by ct_einsum(), is a
 * chain in blocks of 256 with fused multiply-adds. The two may differ in the last bits. Integers are
 * exact in both: CT_EOVERFLOW only where the exact total does not fit. Results depend on the items
 * alone, never on layout, threads or instruction set. What is returned is dense.
 */
#ifndef CT_LINALG_H
#define CT_LINALG_H

#include "tensor/ct_tensor.h"

CT_BEGIN_DECLS

/** @name Products of vectors @{ */
/** Sum of a[i] b[i] of two tensors of rank 1 and one extent; rank 0. */
CT_API ct_tensor *ct_dot(const ct_tensor *a, const ct_tensor *b);
/** The same over all items, in row-major order, of two tensors of one shape. */
CT_API ct_tensor *ct_vdot(const ct_tensor *a, const ct_tensor *b);
/** a[i] b[j] of two tensors of rank 1. */
CT_API ct_tensor *ct_outer(const ct_tensor *a, const ct_tensor *b);
/** @} */

/** @name Diagonals @{ */
/** The sum of ct_diagonal(): of the items [..., i, ..., i + offset, ...] of two axes. */
CT_API ct_tensor *ct_trace(const ct_tensor *t, int64_t offset, int axis, int other);
/** A square matrix of zeros with the items of a tensor of rank 1 on a diagonal, which lies
 *  @p offset columns right of the main one, below it where negative. */
CT_API ct_tensor *ct_diag(const ct_tensor *t, int64_t offset);
/** @} */

/** @name Contractions @{ */
/**
 * Sums over pairs of axes: axis axes_a[i] of @p a with axis axes_b[i] of @p b, whose extents must
 * agree, in the row-major order of the pairs. The result has the other axes of @p a, then those of
 * @p b. With NULL for both arrays, the last @p n axes of @p a and the first @p n of @p b. n = 0 is
 * the outer product.
 */
CT_API ct_tensor *ct_tensordot(const ct_tensor *a, const ct_tensor *b, int n, const int *axes_a,
                               const int *axes_b);
/**
 * Einstein's summation: "ij,jk->ik" is the matrix product, "ii->i" a diagonal, "ij->" the sum.
 *
 * One term for each of @p n operands, with a letter (a-z, A-Z) for each axis; then "->" and the
 * letters of the result. Spaces mean nothing. A letter that stands twice in a term means the
 * diagonal; one that the result lacks is summed over; an extent of 1 is repeated as in broadcasting.
 * "..." stands for the axes without letters, broadcast from the right; where it stands for any, an
 * explicit result must have it. Without "->" the result has the axes of "..." and then, in
 * the order of the alphabet (A-Z before a-z), the letters that stand once.
 *
 * Letters of one operand alone are summed first, as ct_sum() does. Then the pair with the fewest
 * multiplications is contracted, the first of equals, and its product takes the place of its first
 * operand; until one is left. Where a pair has an index to sum over it is one matmul (batched where
 * they share others), else a product. So the order follows from the shapes alone.
 *
 * CT_EINVAL, with the place of the character, for subscripts that are none; CT_ESHAPE for ranks and
 * extents that do not fit them, and where an intermediate has more than 8 axes.
 */
CT_API ct_tensor *ct_einsum(const char *subscripts, int n, const ct_tensor *const operands[]);
/** @} */

/**
 * The naive product of two tensors of rank 2, in the order of the contract: an item is a sum over
 * inner blocks of 256, each one chain in increasing k from +0, with fused multiply-adds for f32 and
 * f64, exact for integers, and a product and a sum, rounded apart, for types without a product of
 * their own. ct_matmul() has the same bits: this is its specification, for tests. CT_EDTYPE for
 * other types, such as duals, whose product is made of those of their parts.
 */
CT_API ct_tensor *ct_matmul_reference(const ct_tensor *a, const ct_tensor *b);

/** @name Predicates: what would fail, without allocating or setting an error @{ */
CT_API bool ct_can_dot(const ct_tensor *a, const ct_tensor *b);
CT_API bool ct_can_tensordot(const ct_tensor *a, const ct_tensor *b, int n, const int *axes_a,
                             const int *axes_b);
/** Whether the subscripts are sound and the operands' scalar type, ranks and extents fit them. */
CT_API bool ct_can_einsum(const char *subscripts, int n, const ct_tensor *const operands[]);
/** @} */

CT_END_DECLS
#endif
