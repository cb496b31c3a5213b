/* The elementwise loops, compiled once per instruction set: what each object exports. */
#ifndef CT_KERN_MAP_H
#define CT_KERN_MAP_H

#include "tensor/ct_scalar.h"

/* An elementwise op on rows of n items, all of them done: as ct_loop_fn, with the bytes from row to row in
   next[], of the operands and then the result. */
typedef void ct__plane_fn(enum ct_op op, size_t rows, size_t n, char *const ptr[],
                          const ptrdiff_t step[], const ptrdiff_t next[]);

ct__plane_fn ct__f32_plane_scalar, ct__f64_plane_scalar, ct__f32_plane_avx2, ct__f64_plane_avx2,
    ct__f32_plane_avx512, ct__f64_plane_avx512;

/* One loop per row of the table; NULL for structured ops. */
extern ct_loop_fn *const ct__f32_loops_scalar[CT_OP_COUNT],
    *const ct__f64_loops_scalar[CT_OP_COUNT];
extern ct_loop_fn *const ct__f32_loops_avx2[CT_OP_COUNT], *const ct__f64_loops_avx2[CT_OP_COUNT];
extern ct_loop_fn *const ct__f32_loops_avx512[CT_OP_COUNT],
    *const ct__f64_loops_avx512[CT_OP_COUNT];

#endif
