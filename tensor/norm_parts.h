/* What the pulls of layer_norm and batch_norm share. */
#ifndef CT_NORM_PARTS_H
#define CT_NORM_PARTS_H

#include "tensor/row_pulls.h"
#include "tensor/tensor_impl.h"

/* Three tensors, which it frees, one after the other in a nameless vector; NULL where one is NULL. */
ct_tensor *ct__norm_vector(ct_tensor *parts[3]);

/* Whether a kernel for rows may read such operands. */
bool ct__norm_rows_fit(const ct_tensor *x, const ct_tensor *g, const ct_tensor *scale);

/* Runs the kernel of `op` on a job that has everything but its operands, which are dense, and its result, which it
   returns. Frees the operands; a NULL result passes through. */
ct_tensor *ct__norm_by_rows(const char *who, enum ct_op op, struct ct_rows_job *job,
                            ct_tensor *in[3], ct_tensor *out);

#endif
