/* Conversion of blocks of numbers between the scalar types of the core, by way of doubles or of
   64-bit integers, whichever holds them exactly. */
#ifndef CT_CONVERT_BLOCKS_H
#define CT_CONVERT_BLOCKS_H

#include "tensor/ct_convert.h"

enum { CT__CONVERT_BLOCK = 256 };

/* A block on its way. */
union ct__numbers {
    double reals[CT__CONVERT_BLOCK];
    int64_t wholes[CT__CONVERT_BLOCK];
};

/* Reads at most a block of items, `step` bytes apart. */
typedef void ct__load_fn(size_t n, const char *from, ptrdiff_t step, union ct__numbers *to);
/* Writes them as dense items; the number of those before the first that does not fit. The others'
   places may be overwritten. */
typedef size_t ct__store_fn(size_t n, const union ct__numbers *from, char *to);

/* How a type takes part. */
struct ct__lane {
    const ct_scalar *scalar;
    ct__load_fn *load_reals, *load_wholes;          /* NULL where it is not exact */
    ct__store_fn *store_reals[2], *store_wholes[2]; /* by mode */
};

enum { CT__LANES = 5 };
extern const struct ct__lane ct__lanes_scalar[CT__LANES], ct__lanes_avx2[CT__LANES],
    ct__lanes_avx512[CT__LANES];

/* The lane of a type, in the instruction set in force; NULL where it is not of the core. */
const struct ct__lane *ct__lane_of(const ct_scalar *scalar);

#endif
