/**
 * @file ct_convert.h
 * Conversion between scalar types, and to bytes and back.
 *
 * What fits: a number fits a real type unless rounding to nearest makes it infinite (integers are
 * rounded once, past 2^53 too); it fits an integer type when it is a whole number in its range; it
 * fits bool when it is 0 or 1. A real number fits a dual type, with tangents of 0; a dual fits
 * another dual of its level and number of tangents where all its parts do, and no type of a lower
 * level.
 *
 * Results depend on the items alone, never on layout or threads.
 */
#ifndef CT_CONVERT_H
#define CT_CONVERT_H

#include "tensor/ct_tensor.h"

CT_BEGIN_DECLS

/** What becomes of items that do not fit. */
enum ct_cast_mode {
    CT_CAST_STRICT, /**< an error, as ct_astype(): CT_EDOMAIN names the first of them */
    /**
     * Reals to integers towards zero, numbers beyond the range to its ends, NaN to 0; to bool,
     * all but 0 is true (NaN too); f64 to f32 overflows to infinity; a dual to a type of a lower
     * level drops its tangents. What a type from outside the core does not hold stays an error.
     */
    CT_CAST_TRUNCATE
};

/** Each item converted. The same scalar type is a copy, O(1). Axis names stay. CT_EDTYPE between
 *  duals that have no conversion. */
CT_API ct_tensor *ct_cast(const ct_tensor *t, const ct_scalar *scalar, enum ct_cast_mode mode);

/** What ct_astype() would do. */
struct ct_cast_report {
    size_t misfits;             /**< items that do not fit */
    size_t rounded;             /**< items that fit and change their value */
    int64_t first[CT_MAX_RANK]; /**< the index of the first misfit in row-major order; else zeros */
    double value;               /**< the value of the first misfit; else 0 */
    char text[64]; /**< the same by its own type's format (perhaps cut), exact past 2^53 */
};
/** Fills the report; CT_OK also where items do not fit. CT_EDTYPE as ct_cast(). Converts nothing
 *  and allocates nothing. CT_EUNSUPPORTED for items of more than 1,024 bytes. */
CT_API ct_status ct_cast_report(const ct_tensor *t, const ct_scalar *scalar,
                                struct ct_cast_report *report);
/** Whether ct_astype() would succeed, given memory; false for NULL. Sets no error. */
CT_API bool ct_can_astype(const ct_tensor *t, const ct_scalar *scalar);

/** In which order the bytes of an item lie. */
enum ct_byte_order { CT_LITTLE_ENDIAN, CT_BIG_ENDIAN };
/** All items in row-major order, as bytes of the given order; @p size must be ct_count() times the
 *  item size. A NaN is written as the one quiet NaN, a bool as 0 or 1. Of types with CT_PLAIN
 *  (CT_EDTYPE). */
CT_API ct_status ct_to_bytes(const ct_tensor *t, enum ct_byte_order order, size_t size,
                             void *bytes);
/** A tensor from such bytes, whatever their alignment; of bool, any byte but 0 is true. A wrong
 *  size is CT_ESHAPE. */
CT_API ct_tensor *ct_from_bytes(const ct_scalar *scalar, int rank, const int64_t *shape,
                                enum ct_byte_order order, size_t size, const void *bytes);

CT_END_DECLS
#endif
