/* Ops on whole rows by a scalar type's own kernel (its slot `rows`), shared by the files of softmax,
   cross entropy and layer_norm. */
#ifndef CT_ROW_OPS_H
#define CT_ROW_OPS_H

#include "tensor/tensor_impl.h"

/* What an operand or a result has for a row. */
enum ct__row_kind { CT__ROW_ITEMS, CT__ROW_ONE };

/* A call: in[0] gives the shape. An operand with ITEMS has that shape, one with ONE the shape
   without the rows' axes; absent ones are NULL. */
struct ct__row_call {
    const char *who;
    enum ct_op op;
    unsigned mask; /* of the axes of a row */
    const ct_tensor *in[3];
    enum ct__row_kind kind[3];
    enum ct__row_kind result;
    double eps;
};

/* The kernel for such a call, or NULL: the type has none, or none for these axes. */
ct_rows_fn *ct__row_kernel(const struct ct__row_call *call);

/* What that kernel makes: a dense tensor, the axes of a row kept with extent 1 where the result has
   ONE. Operands in layouts that the kernel does not read are copied. */
ct_tensor *ct__row_op(const struct ct__row_call *call, ct_rows_fn *kernel);

#endif
