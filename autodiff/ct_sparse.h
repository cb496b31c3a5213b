/**
 * @file ct_sparse.h
 * Sparse Jacobians and Hessians: the pattern from the recording, columns that do not meet in one
 * colour, one tangent per colour.
 *
 * The pattern is found by recording the function over a scalar type whose items know which items of the input they
 * depend on. It is that of the ops recorded, not of the numbers: an entry that happens to be 0 at this
 * point stands in it, and both sides of a `where` do. So it holds at every point at which
 * the function records the same ops. Steps and choices without a derivative (sign, floor, comparisons) carry nothing.
 *
 * Patterns are found once, their colours with them, and used at many points.
 */
#ifndef CT_SPARSE_H
#define CT_SPARSE_H

#include "autodiff/ct_tape.h"

CT_BEGIN_DECLS

/** Which entries of a matrix of derivatives may be other than 0, by compressed rows. Immutable. */
typedef struct ct_pattern ct_pattern;

/**
 * The pattern of the Jacobian of a function for one input. Rows and columns count the items of the value and of
 * the input in row-major order. NULL on failure. Cost: one evaluation over items of 72 bytes per 512 columns.
 */
CT_API ct_pattern *ct_jacobian_pattern(ct_function *fn, void *context, size_t n,
                                       const ct_tensor *const *inputs, size_t which);
/** The pattern of the Hessian of a function with one item for one input: symmetric. */
CT_API ct_pattern *ct_hessian_pattern(ct_function *fn, void *context, size_t n,
                                      const ct_tensor *const *inputs, size_t which);
/** NULL is accepted. */
CT_API void ct_pattern_free(ct_pattern *pattern);

CT_API size_t ct_pattern_rows(const ct_pattern *pattern);
CT_API size_t ct_pattern_columns(const ct_pattern *pattern);
/** The number of entries. */
CT_API size_t ct_pattern_count(const ct_pattern *pattern);
/** rows + 1 places: the entries of row i are those from starts[i] up to starts[i + 1]. */
CT_API const size_t *ct_pattern_starts(const ct_pattern *pattern);
/** The column of each entry, increasing in a row. */
CT_API const size_t *ct_pattern_indices(const ct_pattern *pattern);
/** How many tangents an evaluation needs. */
CT_API size_t ct_pattern_colours(const ct_pattern *pattern);
/** How many rows are had by a backward pass each, because they are too full to be coloured. */
CT_API size_t ct_pattern_full_rows(const ct_pattern *pattern);

/**
 * The entries of the Jacobian in the order of the pattern, a tensor of shape [count]: eight colours at a
 * time in forward mode (Curtis, Powell, Reid, 1974), and a backward pass per full row. CT_ESHAPE where the pattern is not of this
 * function's shape. An entry outside the pattern would show in others: the pattern must be the function's.
 */
CT_API ct_tensor *ct_jacobian_sparse(ct_function *fn, void *context, size_t n,
                                     const ct_tensor *const *inputs, size_t which,
                                     const ct_pattern *pattern);
/**
 * The entries of the Hessian, of both triangles, with a pattern from ct_hessian_pattern(): one Hessian-vector product per
 * colour of a star colouring (Gebremedhin, Manne, Pothen, What color is your Jacobian?, 2005), eight at a time.
 */
CT_API ct_tensor *ct_hessian_sparse(ct_function *fn, void *context, size_t n,
                                    const ct_tensor *const *inputs, size_t which,
                                    const ct_pattern *pattern);
/** The matrix with zeros where the pattern has no entry: [rows, columns]. */
CT_API ct_tensor *ct_pattern_dense(const ct_pattern *pattern, const ct_tensor *entries);

CT_END_DECLS
#endif
