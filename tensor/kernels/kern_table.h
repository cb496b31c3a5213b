/* The kernels of the instruction set in force. */
#ifndef CT_KERN_TABLE_H
#define CT_KERN_TABLE_H

#include "tensor/kernels/kern_factor.h"
#include "tensor/kernels/kern_fold.h"
#include "tensor/kernels/kern_map.h"
#include "tensor/kernels/kern_matmul.h"
#include "tensor/kernels/kern_taps.h"

/* The kernels of one real type. */
struct ct__real_kernels {
    ct_loop_fn *const *loops; /* CT_OP_COUNT entries, NULL for structured ops */
    ct__plane_fn *plane;
    ct_fold_fn *fold[CT_FOLD_COUNT];
    ct_fold_fn *squares, *sizes, *spread;
    ct__dot_fn *dot;
    ct_status (*matmul)(const ct_scalar *self, const struct ct_matmul_job *job);
    ct_status (*matmul_then)(const struct ct_matmul_job *job, const struct ct__finish *finish);
    ct_rows_fn *(*rows)(enum ct_op op);
    const struct ct__factor_kernels *factor;
    const struct ct__tap_kernels *taps;
};

struct ct__kernels {
    struct ct__real_kernels f32, f64;
};

/* Chosen once, by ct__isa_current(). */
const struct ct__kernels *ct__kernels(void);
/* Those of a type; NULL: it has none, and its own loops serve. */
const struct ct__real_kernels *ct__kernels_of(const ct_scalar *scalar);

#endif
