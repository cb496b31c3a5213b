/* Order-fixed reductions: see kern_fold.h for the contract, kern_fold.inc and kern_arg.inc for
   the loops. */

#include "tensor/kernels/kern_fold.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "tensor/kernels/vec.h"
#include "tensor/kernels/vec_lanes.h"
#include "tensor/parallel.h"

enum {
    FOLD_LANES = 16,         // of a block: the contract
    FOLD_BLOCK = 1024,       // items in a block: the contract
    FOLD_LEVELS = 56,        // of pairing: more blocks do not fit in 64 bits of items
    FOLD_SHORT = 256,        // items in a row up to which rows are turned
    FOLD_SHORT_ROW = 32,     // items in a row up to which places are looked for across rows
    FOLD_DEPTH = 4,          // rows that a lane of a tile takes at a time
    FOLD_TILE_BYTES = 2048,  // of a row in a tile: the lanes are 16 times that, in L1
    FOLD_POOL_BYTES = 65536, // of a counter of rows
    FOLD_RUN = 64,           // blocks in the smallest run that is worth a thread's while
    FOLD_PARALLEL = 65536,   // items in all below which the caller works alone
    FOLD_FEW = 256,          // results that are split by runs of items
    FOLD_PARTIAL = 4096,     // values of runs on the stack
};

#define FOLD_INLINE static inline __attribute__((always_inline))

// A body with its operation behind a switch: copies for each operation would gain nothing.
#ifdef __clang__
#define FOLD_APART static __attribute__((noinline))
#else
#define FOLD_APART static __attribute__((noinline, noclone))
#endif

#define ITEM     float
#define VEC      f32v
#define VEC_INT  f32i
#define VF_MASK  f32m
#define LANE_INT int32_t
#define LANES    F32V_LANES
#define VF(name) f32v_##name
#define FN(name) CT_CAT(f32_, name)
#include "kern_fold.inc"
#include "kern_arg.inc"
#undef ITEM
#undef VEC
#undef VEC_INT
#undef VF_MASK
#undef LANE_INT
#undef LANES
#undef VF
#undef FN

#define ITEM     double
#define VEC      f64v
#define VEC_INT  f64i
#define VF_MASK  f64m
#define LANE_INT int64_t
#define LANES    F64V_LANES
#define VF(name) f64v_##name
#define FN(name) CT_CAT(f64_, name)
#include "kern_fold.inc"
#include "kern_arg.inc"
#undef ITEM
#undef VEC
#undef VEC_INT
#undef VF_MASK
#undef LANE_INT
#undef LANES
#undef VF
#undef FN
