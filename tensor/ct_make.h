/**
 * @file ct_make.h
 * More ways to make tensors: like another one, from integers, the identity, ranges.
 *
 * As in ct_tensor.h: NULL with an error on failure, nothing changed; a value that does not fit the
 * scalar type is CT_EDOMAIN, with its index. The tensors are dense and the caller's.
 */
#ifndef CT_MAKE_H
#define CT_MAKE_H

#include "tensor/ct_tensor.h"

CT_BEGIN_DECLS

/** @name Like another tensor: its scalar type, shape and axis names @{ */
CT_API ct_tensor *ct_zeros_like(const ct_tensor *t);
CT_API ct_tensor *ct_ones_like(const ct_tensor *t);
CT_API ct_tensor *ct_full_like(const ct_tensor *t, double value);
/** @} */

/** @name Whole numbers, exact past 2^53 @{ */
/** From @p count integers in row-major order; a wrong count is CT_ESHAPE. To a real type they are
 *  rounded to nearest, once. */
CT_API ct_tensor *ct_from_i64s(const ct_scalar *scalar, int rank, const int64_t *shape,
                               size_t count, const int64_t *values);
/** A tensor of rank 0. */
CT_API ct_tensor *ct_from_i64(const ct_scalar *scalar, int64_t value);
/** All items in row-major order; @p count must be ct_count(). CT_EDOMAIN names the first item that
 *  is not a whole number of 64 bits, and @p values is then untouched. */
CT_API ct_status ct_to_i64s(const ct_tensor *t, size_t count, int64_t *values);
/** @} */

/** Ones on one diagonal, item (i, i + @p diagonal), and zeros: rows x columns, either may be 0. A
 *  diagonal outside the matrix leaves zeros. */
CT_API ct_tensor *ct_eye(const ct_scalar *scalar, int64_t rows, int64_t columns, int64_t diagonal);

/**
 * The numbers start, start + step, ... before @p stop, upwards or downwards: ceil((stop - start) /
 * step) items, none where the step leads away. Item i is start + i step, rounded once (not
 * accumulated), then to the scalar type.
 *
 * Of integer types, a whole start and step are added exactly. CT_EDOMAIN where a number is not
 * finite or the step is 0, CT_EOVERFLOW where there would be too many items.
 */
CT_API ct_tensor *ct_arange(const ct_scalar *scalar, double start, double stop, double step);
/** The number of items of ct_arange(), or -1 where it would fail; sets no error. */
CT_API int64_t ct_arange_count(double start, double stop, double step);

/**
 * @p n numbers evenly spaced from @p start to @p stop, both included and exact (to the scalar
 * type); n = 1 gives start, n = 0 nothing. Item i is counted from the nearer end, rounded once, so
 * that reversed ends give the reversed items. CT_EDOMAIN where an end is not finite, CT_ESHAPE
 * where n < 0.
 */
CT_API ct_tensor *ct_linspace(const ct_scalar *scalar, double start, double stop, int64_t n);
/** base to the power of the numbers of ct_linspace(), in f64 by the op pow and then converted. Of
 *  f32 and f64 (CT_EDTYPE). */
CT_API ct_tensor *ct_logspace(const ct_scalar *scalar, double start, double stop, int64_t n,
                              double base);

CT_END_DECLS
#endif
