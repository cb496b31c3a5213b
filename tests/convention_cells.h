/* The cells of docs/conventions.md: what a value and its derivatives are at kinks and ends. */
#ifndef CT_CONVENTION_CELLS_H
#define CT_CONVENTION_CELLS_H

#include "autodiff/ct_tape.h"

enum { CELL_INPUTS = 3 };

/* A row of numbers; NULL where there is none. */
struct cell_row {
    size_t count;
    const double *items;
};

struct cell {
    const char *rule; /* the row of the table in docs/conventions.md */
    const char *bugs; /* the reports of others that it answers, or NULL */
    ct_var (*record)(const ct_var *x);
    struct cell_row x[CELL_INPUTS]; /* vectors; the record gives them another shape where it needs one */
    struct cell_row y;              /* the items of the value; signs of zeros count */
    struct cell_row dx[CELL_INPUTS];
    /* The items of H 1 per input, H the Hessian of the sum of y (with the cotangent): of an elementwise op its
       second derivatives. Absent where no second order exists. */
    struct cell_row second[CELL_INPUTS];
    struct cell_row cotangent; /* ones where it is absent */
    const ct_scalar *only;     /* the type whose range the cell is about, or NULL for f32 and f64 */
};

extern const struct cell convention_cells[];
extern const int convention_cell_count;

#endif
