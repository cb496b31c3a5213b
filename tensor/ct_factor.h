/**
 * @file ct_factor.h
 * Factorisations of small matrices and what is made of them: Cholesky, LU, solutions, inverses,
 * determinants.
 *
 * Matrices are the last two axes; leading axes are batches, those of two operands broadcast as in
 * ct_matmul(), and a matrix that is repeated by a broadcast is factored once. A right-hand side is a
 * vector exactly if its rank is 1, and else holds matrices, whose columns are solved for side by side:
 * NumPy 2's rule, which no extent can make ambiguous.
 *
 * Scalar types. Any that has mul, sub, div, a product of matrices and, for Cholesky, sqrt: f32, f64, duals
 * of every level and width, fixed, one's own. Pivots are chosen, and compared with 0, by values alone
 * (to_double), never by tangents. Integers are refused (CT_EDTYPE).
 *
 * The same bits. Elimination and substitution take their steps in blocks of 32. An item starts as it is
 * given; from it are subtracted, block by block, the sums of products of the steps of earlier blocks, as
 * ct_matmul() makes them; then, one after the other, the products of the steps of its own block, each
 * rounded before it is subtracted; what then divides it, divides it. Nothing else enters, neither layout nor
 * instruction set nor threads; the value of a dual has the bits of the real computation.
 *
 * Accuracy. Gaussian elimination with partial pivoting and Cholesky's method, backward stable as usual
 * (Higham, Accuracy and Stability of Numerical Algorithms, 2002, chapters 8 to 10). Nothing is refined and
 * no condition number is estimated.
 *
 * A NaN or infinity in the items goes through as IEEE 754 has it, but that a pivot of Cholesky's method that is
 * NaN is an error as one that is not positive is. A column's first NaN is its pivot. Results
 * have no axis names; they are dense but where they repeat, by zero strides, what an operand repeats. On failure nothing is returned; a failure names the first matrix of the
 * batch for which the computation has no result, and the place of its pivot, counted from 0.
 */
#ifndef CT_FACTOR_H
#define CT_FACTOR_H

#include "tensor/ct_tensor.h"

CT_BEGIN_DECLS

/** @name Symmetric positive definite matrices @{ */
/**
 * The lower triangular L with L L' = a, of a symmetric positive definite a [..., n, n]; zeros above the
 * diagonal. The lower triangle of a is read and nothing else.
 *
 * CT_EDOMAIN: a matrix is not positive definite; CT_ESHAPE: matrices are not square. n^3/3 flops.
 */
CT_API ct_tensor *ct_cholesky(const ct_tensor *a);
/** @} */

/** @name Triangular matrices @{ */
/** Which triangle of a matrix is meant, and how: flags. */
enum ct_triangle {
    CT_LOWER = 0,
    CT_UPPER = 1,
    CT_TRANSPOSED = 2,   /**< the equation is a' x = b; the triangle is that of a itself */
    CT_UNIT_DIAGONAL = 4 /**< ones are taken for the diagonal, which is not read */
};
/**
 * The x with a x = b (a' x = b) by substitution, of a triangular a [..., n, n], whose other triangle is
 * not read, and b [n] or [..., n, k].
 *
 * @param triangle  flags of ct_triangle
 * CT_EDOMAIN: an item of the diagonal is 0; CT_ESHAPE; CT_EINVAL for unknown flags. n^2 k flops.
 */
CT_API ct_tensor *ct_solve_triangular(const ct_tensor *a, const ct_tensor *b, unsigned triangle);
/** @} */

/** @name Square matrices @{ */
/** The x with a x = b, by ct_lu(). CT_EDOMAIN: a matrix is singular; CT_ESHAPE. 2 n^3/3 + 2 n^2 k flops. */
CT_API ct_tensor *ct_solve(const ct_tensor *a, const ct_tensor *b);
/** The inverse of a [..., n, n]. CT_EDOMAIN: a matrix is singular; CT_ESHAPE. 8 n^3/3 flops. To solve
 *  an equation, ct_solve() is faster and more accurate. */
CT_API ct_tensor *ct_inverse(const ct_tensor *a);
/** The determinant of a [..., n, n], the product of its pivots in the order of ct_prod(); 1 for n = 0, 0 where a
 *  pivot is. It leaves the range of the type soon; ct_slogdet() does not. CT_ESHAPE. Of duals, where a determinant is
 *  0 the tangents are made without division (Bird 2011), in n^4 flops. */
CT_API ct_tensor *ct_det(const ct_tensor *a);
/**
 * The sign of the determinant, 1, -1 or 0, and the logarithm of its absolute value: -infinity where it is 0.
 * Either of @p sign and @p log_abs may be NULL. CT_ESHAPE; CT_EDTYPE without abs or log; CT_EDOMAIN for a logarithm
 * of 0 where the type has tangents.
 */
CT_API ct_status ct_slogdet(const ct_tensor *a, ct_tensor **sign, ct_tensor **log_abs);
/** The logarithm of the determinant: NaN where that is negative, -infinity where it is 0. */
CT_API ct_tensor *ct_logdet(const ct_tensor *a);
/** @} */

/** Whether scalar types and shapes fit ct_solve() and ct_solve_triangular(). Allocates nothing. */
CT_API bool ct_can_solve(const ct_tensor *a, const ct_tensor *b);

/** @name Factored once, used often @{ */
/**
 * Row i of L U is row `order[i]` of a: partial pivoting, the first of the largest items. @p lu holds U
 * and, below the diagonal, L without its ones; @p order, i64 [..., n], a permutation. A column without a pivot is
 * passed over, so that U has a 0 there: no error. CT_ESHAPE. 2 n^3/3 flops.
 */
CT_API ct_status ct_lu(const ct_tensor *a, ct_tensor **lu, ct_tensor **order);
/** The x with a x = b, or with a' x = b, from what ct_lu() made of a. CT_EDOMAIN: a was singular;
 *  CT_EINDEX for an order that is none; CT_ESHAPE. 2 n^2 k flops. */
CT_API ct_tensor *ct_lu_solve(const ct_tensor *lu, const ct_tensor *order, const ct_tensor *b,
                              bool transposed);
/** @} */

CT_END_DECLS
#endif
