/* Ordering items: what sorting and searching share. */
#ifndef CT_SORT_H
#define CT_SORT_H

#include "tensor/tensor_impl.h"

/* A number whose order, unsigned, is the order of items; equal items have equal keys. */
typedef uint64_t ct__key_fn(const void *item);

/* The order of a scalar type: by keys where `key` is there, else by loops. */
struct ct__order {
    const ct_scalar *scalar;
    bool descending;
    ct__key_fn *key;
    bool narrow;         /* keys fit 32 bits */
    ct_loop_fn *less;    /* without keys */
    ct_loop_fn *differs; /* without keys: tells NaN, NULL where the type has none */
};

/* --- sort_order.c --- */

/* CT_EDTYPE where a type has no order. `who` may be NULL. */
ct_status ct__find_order(const char *who, const ct_scalar *scalar, bool descending,
                         struct ct__order *order);
/* Whether an item comes before another. */
bool ct__precedes(const struct ct__order *order, const char *a, const char *b);
/* The keys of n items, inverted where the order is descending. */
void ct__make_keys(const struct ct__order *order, size_t n, const char *items, ptrdiff_t step,
                   uint64_t *keys);
/* Sets flags[i] to whether item i is NaN; no keys are needed. */
void ct__find_nans(const struct ct__order *order, size_t n, const char *items, char *flags);

/* --- sort_row.c --- */

/* Scratch memory for a row of n items. False where that is too large. */
bool ct__sort_scratch(const struct ct__order *order, size_t n, size_t *bytes);
/* The first `most` places in order of a dense row; equal items keep their order. */
void ct__sort_places(const struct ct__order *order, size_t n, size_t most, const char *row,
                     int64_t *places, void *scratch);
/* The items themselves, all of them. */
void ct__sort_values(const struct ct__order *order, size_t n, const char *row, char *sorted,
                     void *scratch);

/* --- sort.c --- */

/* t with an axis moved to the end, dense, or all its items as one row (CT_ALL); the axis has been
   checked. NULL with an error. */
ct_tensor *ct__dense_rows(const char *who, const ct_tensor *t, int axis);
/* Sorts every row of the last axis; `most` items of each are wanted. Either result may be NULL. */
ct_status ct__sort_rows(const char *who, const struct ct__order *order, const ct_tensor *rows,
                        size_t most, ct_tensor *values, ct_tensor *places);

#endif
