/* What a tape asks of tensors for every node: functions of tensor/ without the checks of the public
   ones, for the layers above. */
#ifndef CT_PEEK_H
#define CT_PEEK_H

#include "tensor/ct_tensor.h"
#include "tensor/fail.h"

/* An address that tensors have in common exactly if they share storage. */
const void *ct__storage_of(const ct_tensor *t);
/* Item k in row-major order; it must be there. */
const void *ct__item_at(const ct_tensor *t, size_t k);

/* The index of an item of a shape, from its number in row-major order, as text. */
void ct__format_index(char *text, size_t size, int rank, const int64_t *shape, size_t item);
/* " at index [0, 1]", or "" for rank 0, whose only item needs no place: for messages. */
enum { CT__AT_INDEX_BYTES = CT__SHAPE_TEXT_BYTES + 16 };
const char *ct__at_index(char text[CT__AT_INDEX_BYTES], int rank, const int64_t *shape,
                         size_t item);

/* Applies an elementwise op to as many operands as it takes, with NumPy's broadcasting. `who` names
   the function in errors. */
ct_tensor *ct__apply(const char *who, enum ct_op op, int n, const ct_tensor *const in[]);
/* The same where all operands have one shape, are small, dense and without names; operand i may also be
   one item of rank 0 beside those if bit i of `riders` is set. NULL, without an error, where it is not so
   or ct__apply() would fail. */
ct_tensor *ct__apply_small(enum ct_op op, int n, const ct_tensor *const in[], unsigned riders);

#endif
