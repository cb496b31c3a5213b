/* Custom ops that the suites share, written on plain numbers. */
#ifndef CUSTOM_CASES_H
#define CUSTOM_CASES_H

#include "autodiff/ct_custom.h"

/* y = scale x^3, by a loop over f64; the context is the scale, a double, which is copied. */
extern const struct ct_custom_op cube_op;
/* The same with a jvp, and one written with tensor functions. */
extern const struct ct_custom_op cube_jvp_op, cube_generic_op;
/* The same with a rule in which one item of the gradient is 1.001 times what it should be. */
extern const struct ct_custom_op cube_wrong_op;
/* sum_i i x_i, i from 1, of as many inputs as are given. */
extern const struct ct_custom_op weighted_op;

/* y = x^3 scale as a function, with the record of the context. */
struct cube_call {
    const struct ct_custom_op *op;
    double scale;
};
ct_var cube_of(void *context, ct_tape *tape, size_t n, const ct_var *in);
/* The same by ops of the table. */
ct_var composed_cube(void *context, ct_tape *tape, size_t n, const ct_var *in);

#endif
