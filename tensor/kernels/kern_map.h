/* The elementwise loops, compiled once per instruction set: what each object exports. */
#ifndef CT_KERN_MAP_H
#define CT_KERN_MAP_H

#include "tensor/ct_scalar.h"

/* One loop per row of the table; NULL for structured ops. */
extern ct_loop_fn *const ct__f32_loops_scalar[CT_OP_COUNT],
    *const ct__f64_loops_scalar[CT_OP_COUNT];
extern ct_loop_fn *const ct__f32_loops_avx2[CT_OP_COUNT], *const ct__f64_loops_avx2[CT_OP_COUNT];
extern ct_loop_fn *const ct__f32_loops_avx512[CT_OP_COUNT],
    *const ct__f64_loops_avx512[CT_OP_COUNT];

#endif
