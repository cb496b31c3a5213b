/* Whether a scalar type keeps the contract of tensor/ct_scalar.h: its own slots and the defaults made
   from them. A user's type is held to it like the library's own. */
#ifndef CT_CONFORMANCE_H
#define CT_CONFORMANCE_H

#include "case_tools.h"
#include "tensor/ct_scalar.h"

enum {
    CONFORM_ITEM = 128, /* bytes of an item, at most */
    CONFORM_ITEMS = 320 /* in the longest loop */
};

/* A type under test and the first fault that was found in it. */
struct trial {
    const ct_scalar *scalar;
    struct draw draw;
    int faults;
    char fault[300];
};

/* One part each; false where a fault was found. `conforms` runs them all. */
bool conforms_slots(struct trial *trial);
bool conforms_op(struct trial *trial, enum ct_op op);
bool conforms_folds(struct trial *trial);
bool conforms_matmul(struct trial *trial);
bool conforms(struct trial *trial);

/* --- shared by the parts --- */

/* Notes a fault, if it is the first, and returns false. */
bool trial_fault(struct trial *trial, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* An item of some interesting value; every component of a dual has its own. */
void trial_item(struct trial *trial, void *item);
/* The same bits, all NaNs being one. */
bool same_item(const ct_scalar *scalar, const void *a, const void *b);
/* y = op(in[0], ...) on one item; false where it has no result. */
bool one_item(const ct_scalar *scalar, enum ct_op op, const void *const in[], void *y);
/* The same of two items. */
bool two_items(const ct_scalar *scalar, enum ct_op op, const void *a, const void *b, void *y);

#endif
