/* The exact values that the checks and the tests hold the op table to, and how far from them a value
   may lie. */
#ifndef CT_EXACT_H
#define CT_EXACT_H

#include "autodiff/tape_impl.h"

/* --- exact.c --- */

/* The oracle of an elementwise row at x, z, w = x[0], x[1], x[2]; those beyond the arity are not
   looked at, and masks are 0 or 1. */
long double ct__exact(enum ct_op op, const long double x[3]);

/* Whether long double has more digits than double: valgrind computes it with 53 bits, and an oracle
   is none then. */
bool ct__exact_is_wide(void);

/* A scalar type of long doubles whose elementwise ops are the oracles. The structured ops are the
   compositions that they are defined by, without any kernel. */
extern const ct_scalar ct__exact_scalar;

/* One in the last place of a finite x in f32 or f64. */
long double ct__ulp(const ct_scalar *scalar, long double x);
/* How far a result lies from the exact value, in units in the last place of its type (f32 or
   f64). An infinity agrees with what rounds to it, a NaN with a NaN; a zero of the wrong sign is
   HUGE_VALL. */
long double ct__ulp_error(const ct_scalar *scalar, double result, long double exact);

/* --- exact_rows.c --- */

/* A structured op on dense items. */
struct ct__exact_call {
    enum ct_op op;
    const struct ct__attr *attr;
    const ct_tensor *const *in;           /* for their shapes */
    const long double *x[CT__MAX_INPUTS]; /* their items, row-major; NULL where there is no input */
    size_t count;                         /* items of the result */
    long double *scratch;                 /* as many */
    bool *marks;                          /* as many */
};

/* Fills in the exact result; false where the op has no loop of its own here. */
bool ct__exact_rows(const struct ct__exact_call *call, long double *y);

/* --- exact_bars.c --- */

/* What a row is held to, in units in the last place: of a structured op, whose sums may cancel, of the
   largest number among its operands and results. */
long double ct__ulp_bar(enum ct_op op);

/* Whether a result at x is within the bar, or where its formula is known to lose more: at roots, in
   the tails of compositions. */
bool ct__value_is_right(enum ct_op op, const ct_scalar *scalar, const double x[3], double result,
                        long double exact);

#endif
