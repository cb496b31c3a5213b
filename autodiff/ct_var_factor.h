/**
 * @file ct_var_factor.h
 * Factorisations, solutions, inverses and determinants on a tape: the functions of tensor/ct_factor.h,
 * differentiable to every order and over every scalar type that they take.
 *
 * A matrix that several solutions, inverses or determinants of a tape ask for is factored once: so the
 * pull of a solution is a substitution with the transposed factors, and costs n^2 k for k columns where
 * the solution cost 2 n^3/3 + 2 n^2 k; it adds a product of n x k and k x n. The pull of a logarithm of
 * a determinant is an inverse, by the same factors. A batch repeated by a broadcast is factored once.
 *
 * Rules: Giles, Collected matrix derivative results for forward and reverse mode algorithmic
 * differentiation, 2008; for Cholesky Murray, Differentiation of the Cholesky decomposition, 2016.
 */
#ifndef CT_VAR_FACTOR_H
#define CT_VAR_FACTOR_H

#include "autodiff/ct_tape.h"
#include "tensor/ct_factor.h"

CT_BEGIN_DECLS

/**
 * The L with L L' = (a + a')/2, recorded as that mean and `cholesky`. As in JAX, so that derivatives need no
 * convention: the gradient is symmetric, and equals that of PyTorch, and forward mode and differences, along
 * any direction, agree with it. Of a symmetric a, the value is that of ct_cholesky(), bit for bit; of one that is
 * not, it differs, since that reads the lower triangle alone.
 */
CT_API ct_var ct_var_cholesky(ct_var a);
/** ct_solve_triangular(); the gradient of a is 0 where a is not read. */
CT_API ct_var ct_var_solve_triangular(ct_var a, ct_var b, unsigned triangle);
/** ct_solve(): x of a x = b. */
CT_API ct_var ct_var_solve(ct_var a, ct_var b);
/** ct_inverse(). */
CT_API ct_var ct_var_inverse(ct_var a);
/** ct_det(). Its gradient is made of the inverse; where a determinant of the batch is 0, of n products of matrices and no
 *  division (Bird 2011), so that it is right at singular matrices, to every order. */
CT_API ct_var ct_var_det(ct_var a);
/** ct_slogdet(): the sign, to which no gradient flows, and the logarithm of the absolute value, whose gradient is the
 *  transposed inverse. Each may be NULL. @return the tape's status. */
CT_API ct_status ct_var_slogdet(ct_var a, ct_var *sign, ct_var *log_abs);
/** ct_logdet(), recorded as the logarithm of the absolute value plus that of the sign. */
CT_API ct_var ct_var_logdet(ct_var a);

CT_END_DECLS
#endif
