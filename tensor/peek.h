/* What a tape asks of tensors for every node: functions of tensor/ without the checks of the public
   ones, for the layers above. */
#ifndef CT_PEEK_H
#define CT_PEEK_H

#include "tensor/ct_tensor.h"

/* An address that tensors have in common exactly if they share storage. */
const void *ct__storage_of(const ct_tensor *t);

/* Applies an elementwise op to as many operands as it takes, with NumPy's broadcasting. `who` names
   the function in errors. */
ct_tensor *ct__apply(const char *who, enum ct_op op, int n, const ct_tensor *const in[]);
/* The same where all operands have one shape, are small, dense and without names; operand i may also be
   one item of rank 0 beside those if bit i of `riders` is set. NULL, without an error, where it is not so
   or ct__apply() would fail. */
ct_tensor *ct__apply_small(enum ct_op op, int n, const ct_tensor *const in[], unsigned riders);

#endif
