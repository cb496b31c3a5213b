/* Text of real numbers in columns, as NumPy prints them. */
#ifndef CT_FORMAT_REAL_H
#define CT_FORMAT_REAL_H

#include <stdbool.h>
#include <stddef.h>

enum { CT__REAL_TEXT_BYTES = 512 }; /* for any number with at most 40 digits after the point */

/* How all numbers of a tensor are written. */
struct ct__real_style {
    int precision; /* most digits after the point */
    bool single;   /* f32: digits that tell floats apart are enough */
    /* Found by ct__real_measure(), which sees all numbers that are shown, twice: */
    bool scientific, any_finite, any_nan, any_infinity, any_negative_infinity;
    double low, high; /* of the magnitudes that are finite and not 0 */
    int left, right;  /* the widths before and after the point */
    int exponent_digits;
};

/* The first pass decides how numbers are written, the second how wide they are. */
void ct__real_look(struct ct__real_style *style, double x);
void ct__real_decide(struct ct__real_style *style);
void ct__real_measure(struct ct__real_style *style, double x);
void ct__real_finish(struct ct__real_style *style);
/* Writes a number in its column. */
void ct__real_put(const struct ct__real_style *style, double x, char text[CT__REAL_TEXT_BYTES]);
/* One number alone: the fewest digits that read back, with a point or an exponent. */
void ct__real_alone(double x, bool single, char text[CT__REAL_TEXT_BYTES]);

#endif
