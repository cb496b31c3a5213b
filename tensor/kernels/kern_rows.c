/* Ops on whole rows, each worked on while it lies in the nearest cache: softmax and its kin, the
   gradients of those, normalised rows. kern_rows.inc has the sums in the contract's order and the
   tiles; kern_rows_norm.inc and kern_rows_ops.inc the ops. */

#include "tensor/kernels/kern_rows.h"

#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "tensor/alloc.h"
#include "tensor/kernels/vec.h"
#include "tensor/kernels/vec_lanes.h"
#include "tensor/kernels/vmath_f32.h"
#include "tensor/kernels/vmath_f64.h"
#include "tensor/move.h"
#include "tensor/parallel.h"

#include "tensor/kernels/words.h"

enum {
    ROW_LANES = 16,        // of a block: the contract
    ROW_BLOCK = 1024,      // items in a block: the contract
    ROW_LEVELS = 56,       // of pairing: more blocks do not fit in 64 bits of items
    ROW_SIDE_BYTES = 4096, // of a row up to which that pays: they stay in L1 together
    ROW_TERMS = 4,         // of a row that are summed at a time
    ROW_KEEP = 32 << 10,   // of rows between passes: a part of L1
    ROW_SHORT = 32,        // items in a row up to which rows are turned to lie side by side
    TILE_BYTES = 256,      // of a row of a tile: whole cache lines of neighbouring columns
    TILE_SPACE = 48 << 10, // of tiles on the stack
    ROWS_PARALLEL = 32768, // items that are worth a thread's while
};

// Rows side by side, so that one works while another waits; width 1 has no use for that.
#define ROW_SIDE (CT_ISA_LEVEL == 0 ? 1 : 4)

#define INLINE static inline __attribute__((always_inline, unused))
#define APART  static __attribute__((noinline))

#define T        float
#define VEC      f32v
#define LANES    F32V_LANES
#define LIMIT    0x1p-60f
#define VF(name) f32v_##name
#define FN(name) CT_CAT(f32_, name)
#include "kern_rows.inc"
#include "kern_rows_norm.inc"
#include "kern_rows_ops.inc"
#undef T
#undef VEC
#undef LANES
#undef LIMIT
#undef VF
#undef FN

#define T        double
#define VEC      f64v
#define LANES    F64V_LANES
#define LIMIT    0x1p-800
#define VF(name) f64v_##name
#define FN(name) CT_CAT(f64_, name)
#include "kern_rows.inc"
#include "kern_rows_norm.inc"
#include "kern_rows_ops.inc"
