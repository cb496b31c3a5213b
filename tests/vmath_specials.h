/* Exact results of the vector mathematics at zeros, infinities, NaN, poles and ends of ranges. */
#ifndef CT_VMATH_SPECIALS_H
#define CT_VMATH_SPECIALS_H

#include <stddef.h>

enum { VMATH_F32 = 1, VMATH_F64 = 2 };

struct vmath_special {
    int function; /* VMATH_exp, ... */
    int types;    /* for which it is so */
    double x, y, want;
};

extern const struct vmath_special vmath_specials[];
extern const size_t vmath_special_count;

#endif
