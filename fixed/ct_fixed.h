/**
 * @file ct_fixed.h
 * Fixed-point numbers Q32.32 as a scalar type: the same bits on every platform, float units or not.
 *
 * An item is an int64_t that counts units of 2^-32: numbers in [-2^31, 2^31), every one of them
 * 2.3e-10 from the next. add, sub, neg and abs are exact; mul, div, sqrt and conversions round once, to
 * nearest, ties to even; sums are exact; an item of a matrix product is the exact total, rounded once.
 * The transcendental functions use integers alone and are within one unit of the true value (in fact
 * they are its rounding but for about one case in 2^20). There is no infinity and no NaN: what does not
 * fit, a division by zero or a logarithm of 0 is an error.
 *
 * It is also the worked example of a scalar from outside the core: fixed/ sees public headers alone.
 */
#ifndef CT_FIXED_H
#define CT_FIXED_H

#include "tensor/ct_scalar.h"

CT_BEGIN_DECLS

CT_API extern const ct_scalar ct_scalar_fixed; /**< Q32.32 in an int64_t */
#define CT_FIXED (&ct_scalar_fixed)

/**
 * Reads a decimal number, digits with an optional sign and point and nothing else, rounded to
 * nearest, ties to even. What the type writes reads back to the same item.
 *
 * @return false, and leaves @p item alone, where @p text is no such number or does not fit.
 */
CT_API bool ct_fixed_from_text(const char *text, int64_t *item);

CT_END_DECLS
#endif
