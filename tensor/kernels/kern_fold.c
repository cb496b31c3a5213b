/* Order-fixed reductions: see kern_fold.h for the contract and the included files for the loops. */

#include "tensor/kernels/kern_fold.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "tensor/alloc.h"
#include "tensor/kernels/vec.h"
#include "tensor/kernels/vec_groups.h"
#include "tensor/parallel.h"

enum {
    FOLD_LANES = 16,               // of a block: the contract
    FOLD_BLOCK = 1024,             // items in a block: the contract
    FOLD_LEVELS = 56,              // of pairing: more blocks do not fit in 64 bits of items
    FOLD_SPREAD_SHORT = 256,       // items in a row up to which rows are turned for a spread
    FOLD_DEPTH = 8,                // rows that a lane of columns takes at a time
    FOLD_TILE_BYTES = 2048,        // of a row in a tile: the lanes are 16 times that, in L1
    FOLD_LANE_BYTES = 32768,       // of the lanes of columns, in L1
    FOLD_SPREAD_BYTES = 512,       // of a row in a tile that is walked three times, in L2
    FOLD_SPREAD_FLAT = 1792 << 10, // of a block without gaps that is walked where it is
    FOLD_POOL_BYTES = 65536,       // of a counter of rows
    FOLD_RUN = 64,                 // blocks in the smallest run that is worth a thread's while
    FOLD_PARALLEL = 65536,         // items in all below which the caller works alone
    FOLD_FEW = 256,                // results that are split by runs of items
    FOLD_PARTIAL = 4096,           // values of runs on the stack
};

// What the loops know beside the folds of a scalar type: extremes for items without a NaN, and sums
// of what is made of the items.
enum {
    FOLD_HIGH = CT_FOLD_COUNT,
    FOLD_LOW,
    FOLD_SQUARES, // of x x
    FOLD_SIZES,   // of |x|
    FOLD_AWAY,    // of x - a
    FOLD_SPREAD,  // of (x - a - b)^2
    FOLD_DOT,     // of x z
};

#define FOLD_LOSES_NAN(op) ((op) == FOLD_HIGH || (op) == FOLD_LOW)

#define FOLD_INLINE static inline __attribute__((always_inline))

// An item that is used twice is read once: gcc would read it again, and the second read of a line that is on
// its way from L2 costs as much as the first.
#ifdef __x86_64__
#define FOLD_HOLD(x) __asm__("" : "+v"(x))
#else
#define FOLD_HOLD(x) (void)(x)
#endif

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
#include "kern_fold_columns.inc"
#include "kern_fold_run.inc"
#include "kern_arg.inc"
#include "kern_dot.inc"
#include "kern_spread.inc"
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
#include "kern_fold_columns.inc"
#include "kern_fold_run.inc"
#include "kern_arg.inc"
#include "kern_dot.inc"
#include "kern_spread.inc"
#undef ITEM
#undef VEC
#undef VEC_INT
#undef VF_MASK
#undef LANE_INT
#undef LANES
#undef VF
#undef FN
