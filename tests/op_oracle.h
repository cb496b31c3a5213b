/* The elementwise rows of tensor/ops.def as the tests need them: where to sample, what is right,
   and the public functions under one signature. */
#ifndef CT_OP_ORACLE_H
#define CT_OP_ORACLE_H

#include "autodiff/ct_tape.h"

struct op_domain {
    double low, high;
};

struct op_oracle {
    int arity;                  /* 0 for structured ops, of which the rest says nothing */
    struct op_domain domain[3]; /* of a mask: [0, 1] */
    ct_tensor *(*apply)(const ct_tensor *const in[]);
    ct_var (*record)(const ct_var in[]);
};

const struct op_oracle *op_oracle(enum ct_op op);

/* The oracle at x, z, w = x[0], x[1], x[2]; those beyond the arity are not looked at. */
long double op_exact(enum ct_op op, const double x[3]);

/* Whether long double has more digits than double: valgrind computes it with 53 bits, and an oracle
   is none then. */
bool oracle_is_wide(void);

/* Whether an argument is a mask, and whether the result is one. */
bool op_takes_mask(enum ct_op op, int argument);
bool op_gives_mask(enum ct_op op);

/* How far a result lies from the exact value, in units in the last place of its type (f32 or
   f64). An infinity agrees with what rounds to it, a NaN with a NaN; a zero of the wrong sign is
   HUGE_VALL. */
long double ulp_error(const ct_scalar *scalar, double result, long double exact);

#endif
