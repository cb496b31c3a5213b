/* Row ops, compiled once per instruction set: what each object exports. */
#ifndef CT_KERN_ROWS_H
#define CT_KERN_ROWS_H

#include "tensor/ct_scalar.h"

/*
 * Each makes the bits of its composition in tensor/softmax*.c, tensor/cross_entropy.c and
 * tensor/layer_norm.c. Rows lie with their items side by side, or side by side with each other; ops of
 * labels and layer_norm take the first alone. NULL: no such op.
 */
ct_rows_fn *ct__f32_rows_scalar(enum ct_op op);
ct_rows_fn *ct__f32_rows_avx2(enum ct_op op);
ct_rows_fn *ct__f32_rows_avx512(enum ct_op op);
ct_rows_fn *ct__f64_rows_scalar(enum ct_op op);
ct_rows_fn *ct__f64_rows_avx2(enum ct_op op);
ct_rows_fn *ct__f64_rows_avx512(enum ct_op op);

#endif
