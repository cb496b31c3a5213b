/* The inside of dual/: loops over items of a value and its tangents, of any base type. */
#ifndef CT_DUAL_IMPL_H
#define CT_DUAL_IMPL_H

#include "dual/ct_dual.h"

/* What a dual may be made of: more have no ops. */
enum { CT__MAX_TANGENTS = 8, CT__DUAL_BASE_BYTES = 256 };

/* Blocks of temporaries that the pulls of one op may need: one per word of all of them, one for the
   value and one per sum. tests/suite_dual.c counts the words of every row. */
enum { CT__DUAL_SLOTS = 64 };

/* Elementwise: made from the table's pulls (dual_loops.c). */
ct_loop_fn *ct__dual_loop(const ct_scalar *self, enum ct_op op);
/* Reductions and products (dual_fold.c), asked only where the dual has the op that they repeat. */
ct_fold_fn ct__dual_sum;
ct_fold_fn ct__dual_max;
ct_fold_fn ct__dual_min;
ct_fold_fn ct__dual_argmax;
ct_fold_fn ct__dual_argmin;
ct_status ct__dual_matmul(const ct_scalar *self, const struct ct_matmul_job *job);

#endif
