/* What stands in for the slots that a scalar type leaves empty (tensor/ alone). */
#ifndef CT_SCALAR_DEFAULT_H
#define CT_SCALAR_DEFAULT_H

#include "tensor/ct_scalar.h"

/* Items of one type are kept in buffers of this size for each; larger ones have no defaults. */
enum { CT__DEFAULT_ITEM_BYTES = 256, CT__ITEM_ALIGN = 64 };

/* The op as the type itself has it, by a loop or item by item; a choice, which copies bytes, for
   every type. NULL where there is none. */
ct_loop_fn *ct__primitive_loop(const ct_scalar *scalar, enum ct_op op);
/* The op by the value formula of its row, where the type has every word of it, else NULL. A row
   that names itself has no formula. */
ct_loop_fn *ct__derived_loop(const ct_scalar *scalar, enum ct_op op);

/* Folds by the ops, in the order of the contract; NULL where an op is missing. */
ct_fold_fn *ct__default_fold(const ct_scalar *scalar, enum ct_fold fold);
/* A product by mul and add, NULL where one is missing. */
ct_matmul_fn *ct__default_matmul(const ct_scalar *scalar);

/* y = op(a, b) on n items of one type, at steps in bytes; false where one has no result. */
bool ct__run_two(const ct_scalar *scalar, enum ct_op op, size_t n, const char *a, ptrdiff_t a_step,
                 const char *b, ptrdiff_t b_step, char *y, ptrdiff_t y_step);

#endif
