/* The matrix product: see kern_matmul.h for the contract and kern_matmul.inc for the loops. */

#include "tensor/kernels/kern_matmul.h"

#include <stdbool.h>
#include <stdint.h>

#include "tensor/alloc.h"
#include "tensor/kernels/vec.h"
#include "tensor/kernels/vec_lanes.h"
#include "tensor/parallel.h"

// The tile of each instruction set: as many accumulators as registers allow beside a row of b.
#define MM_ROWS_TO_4(XX)  XX(1) XX(2) XX(3) XX(4)
#define MM_ROWS_TO_6(XX)  MM_ROWS_TO_4(XX) XX(5) XX(6)
#define MM_ROWS_TO_14(XX) MM_ROWS_TO_6(XX) XX(7) XX(8) XX(9) XX(10) XX(11) XX(12) XX(13) XX(14)

#if CT_ISA_LEVEL == 0
#define MM_ROW_LIST MM_ROWS_TO_4
enum { MM_ROWS = 4, MM_VECS = 4, MM_WIDE_VECS = 8 };
#elif CT_ISA_LEVEL == 1
#define MM_ROW_LIST MM_ROWS_TO_6
enum { MM_ROWS = 6, MM_VECS = 2, MM_WIDE_VECS = 4 };
#else
#define MM_ROW_LIST MM_ROWS_TO_14
enum { MM_ROWS = 14, MM_VECS = 2, MM_WIDE_VECS = 8 };
#endif

enum {
    MM_BLOCK = 256,           // steps of k in a chain: the contract
    MM_FAR = 1024,            // bytes between rows of b above which a panel of it is copied
    MM_FEW = 4,               // columns that are better taken as rows
    MM_DIRECT = 1 << 21,      // multiplications up to which the caller works alone, without packing
    MM_PASS_K = 4 * MM_BLOCK, // steps of k for which operands are packed at a time
    MM_TASK_ROWS = 42 / MM_ROWS, // panels of a in a task: they stay in L2 for all its columns
    MM_TASK_COLUMNS = 24,        // panels of b in a task
    MM_AHEAD = 24,               // steps of k that rows of b are prefetched ahead
    MM_PIECE = 3072,             // rows, and columns, of c whose operands are packed at a time
};

#define MM_INLINE static inline __attribute__((always_inline))

// Sanitizers put so many checks into unrolled loops that clang compiles them for minutes.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MM_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer) || __has_feature(undefined_behavior_sanitizer)
#define MM_SANITIZED 1
#endif
#endif

#ifdef MM_SANITIZED
#define MM_UNROLL
#elif defined(__clang__)
#define MM_UNROLL _Pragma("unroll")
#else
#define MM_UNROLL _Pragma("GCC unroll 16")
#endif

// What one tile computes. Steps are in bytes.
struct mm_tile {
    size_t kb; // at most MM_BLOCK
    const char *a;
    ptrdiff_t a_row, a_col;
    const char *b;
    ptrdiff_t b_row;
    char *c;
    ptrdiff_t c_row;
    bool first; // the first block of k: c is overwritten
};

typedef void mm_tile_fn(const struct mm_tile *t);

// Rows in panels of nearly equal heights, none above MM_ROWS.
struct mm_cut {
    size_t count, height, higher; // the first panels are one row higher
};

static struct mm_cut mm_cut(size_t m) {
    size_t count = (m + MM_ROWS - 1) / MM_ROWS;
    return (struct mm_cut){.count = count, .height = m / count, .higher = m % count};
}

MM_INLINE size_t mm_cut_begin(const struct mm_cut *c, size_t i) {
    return i * c->height + (i < c->higher ? i : c->higher);
}

// The transposed product.
static void mm_swap(struct ct_matmul_job *job) {
    *job = (struct ct_matmul_job){
        .m = job->n,
        .n = job->m,
        .k = job->k,
        .a = job->b,
        .a_row = job->b_col,
        .a_col = job->b_row,
        .b = job->a,
        .b_row = job->a_col,
        .b_col = job->a_row,
        .c = job->c,
        .c_row = job->c_col,
        .c_col = job->c_row,
    };
}

// Multiplications, or the largest number.
static size_t mm_work(const struct ct_matmul_job *job) {
    size_t work;
    if (__builtin_mul_overflow(job->m, job->n, &work) ||
        __builtin_mul_overflow(work, job->k, &work)) {
        return SIZE_MAX;
    }
    return work;
}

// Lines of c, each of n items over k, that are worth a thread: a multiple of unit.
static size_t mm_grain(size_t n, size_t k, size_t unit) {
    size_t lines = MM_DIRECT / 4 / n / k + 1;
    return (lines + unit - 1) / unit * unit;
}

#define ITEM     float
#define VEC      f32v
#define LANES    F32V_LANES
#define VF(name) f32v_##name
#define FN(name) CT_CAT(f32_, name)
#include "kern_matmul.inc"
#undef ITEM
#undef VEC
#undef LANES
#undef VF
#undef FN

#define ITEM     double
#define VEC      f64v
#define LANES    F64V_LANES
#define VF(name) f64v_##name
#define FN(name) CT_CAT(f64_, name)
#include "kern_matmul.inc"
#undef ITEM
#undef VEC
#undef LANES
#undef VF
#undef FN
