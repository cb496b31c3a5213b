/* Tensors of small finite numbers of any scalar type, parts of duals included, and the naive way to
   apply an elementwise op: index by index, one item at a time. */
#ifndef CT_NUMBERS_H
#define CT_NUMBERS_H

#include "index_tools.h"

/* Whole numbers from -4 to 4, for types that have them with quarters between; of bool 0 and 1. */
ct_tensor *small_numbers(uint64_t *state, const ct_scalar *scalar, int rank, const int64_t *shape);

/* The shape of the broadcast of n tensors. */
int broadcast_shape(int n, const ct_tensor *const in[], int64_t shape[CT_MAX_RANK]);

/* op of n operands, dense. The place of the first item without a result, or the count, goes to
   *done. */
ct_tensor *naive_apply(enum ct_op op, int n, const ct_tensor *const in[], size_t *done);

/* Test fails unless both are sound and have one type, one shape and the same bytes. */
void expect_same_bytes(const ct_tensor *found, const ct_tensor *wanted, const char *what);

#endif
