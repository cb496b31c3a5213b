/* The inside of sparse derivatives: a scalar type of dependences, patterns, their colours. */
#ifndef CT_SPARSE_IMPL_H
#define CT_SPARSE_IMPL_H

#include "autodiff/ct_sparse.h"

/* An item that knows which of up to 512 items of an input its value depends on. */
enum { CT__MARK_WORDS = 8, CT__MARKS = 64 * CT__MARK_WORDS };
struct ct__marked {
    double value;
    uint64_t marks[CT__MARK_WORDS];
};
extern const ct_scalar ct__scalar_marked;

struct ct_pattern {
    size_t rows, columns, count;
    size_t *start, *index;
    bool symmetric;
    size_t colours;
    size_t *colour; /* per column */
    size_t full;    /* rows left to backward passes */
    size_t *full_row;
    bool *is_full; /* per row */
};

/* The places of the other triangle: rows of a column. NULL when memory is gone. */
struct ct__columns {
    size_t *start, *index;
};
bool ct__columns_open(const ct_pattern *p, struct ct__columns *c);
void ct__columns_close(struct ct__columns *c);

/* Gives the columns their colours. False when memory is gone. */
bool ct__colour(ct_pattern *p);

#endif
