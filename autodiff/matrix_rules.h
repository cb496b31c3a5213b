/* What rules of factorisations share. */
#ifndef CT_MATRIX_RULES_H
#define CT_MATRIX_RULES_H

#include "autodiff/ct_var_factor.h"
#include "autodiff/pull_words.h"

/* Operands of a solution: b as matrices, leading axes broadcast to each other; false where that is left to
   the op, which says why, or after the sticky error. *vector: b was one. */
bool ct__solve_operands(ct_var *a, ct_var *b, bool *vector);
/* x, of which the last axis goes where the right-hand side was a vector. */
ct_var ct__solve_result(ct_var x, bool vector);
/* -(x y'). */
ct_var ct__minus_outer(ct_var x, ct_var y);
/* The items of matrices that the flags of ct_triangle name, the diagonal only without CT_UNIT_DIAGONAL; zeros
   elsewhere. */
ct_var ct__triangle_of(ct_var x, unsigned triangle);
/* One item for each matrix, times that matrix. */
ct_var ct__times_matrix(ct_var items, ct_var matrices);
/* Samples of an op of square matrices, and a call that it must refuse. */
extern const struct ct__sample ct__square_samples[4];
extern const struct ct__error_sample ct__square_errors[1];
/* A sample's matrix, far from singular; its lower triangle is that of a positive definite one. */
ct_tensor *ct__regular_sample(int argument, const ct_tensor *drawn);

#endif
