/* Outside reports turned into tests, named by their numbers in the cases' bugs.md: the parts of
   suite_bugs and what they share. */
#ifndef CT_BUGS_H
#define CT_BUGS_H

#include <check.h>

#include "autodiff/ct_tape.h"

void add_kinks(Suite *suite);   /* A: kinks, special values, ends of domains */
void add_shapes(Suite *suite);  /* B to E: broadcasting, reductions, views, hostile sizes */
void add_tensors(Suite *suite); /* of these, what concerns tensors alone */
void add_runtime(Suite *suite); /* F to K: NaN, accuracy, depth, threads */
void add_network(Suite *suite); /* of these, what concerns networks and clipping */

/* A function of variables. */
typedef ct_var bug_fn(const ct_var *x);

/* A row of numbers. */
struct numbers {
    size_t count;
    const double *values;
};
#define N(...)                                                                                     \
    (struct numbers) {                                                                             \
        COUNT(((double[]){__VA_ARGS__})), (double[]) {                                             \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

/* Value and gradient (of the sum of the result) of a function of one or two f64 vectors. The
   gradient is asked of the tape and, item by item, of dual numbers: forward must equal reverse.
   */
void check_gradient(const char *what, bug_fn *fn, struct numbers x, struct numbers y,
                    struct numbers dx);
void check_gradient_2(const char *what, bug_fn *fn, struct numbers x, struct numbers z,
                      struct numbers y, struct numbers dx, struct numbers dz);
/* The second derivative of each item by itself, tape over tape. */
void check_second(const char *what, bug_fn *fn, struct numbers x, struct numbers ddx);

/* A constant of the variable's scalar type. */
ct_var constant_like(ct_var v, double value);

#endif
