/* The matrix product: see kern_matmul.h for the contract and kern_matmul.inc for the loops. */

#include "tensor/kernels/kern_matmul.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "tensor/alloc.h"
#include "tensor/kernels/vec.h"
#include "tensor/kernels/vec_lanes.h"
#include "tensor/parallel.h"
#include "tensor/topology.h"

// The tiles of each instruction set, XX(rows, vectors across): as many accumulators as registers
// allow beside a row of b.
#define MM_TO_4(XX, v)  XX(1, v) XX(2, v) XX(3, v) XX(4, v)
#define MM_TO_6(XX, v)  MM_TO_4(XX, v) XX(5, v) XX(6, v)
#define MM_TO_8(XX, v)  MM_TO_6(XX, v) XX(7, v) XX(8, v)
#define MM_TO_12(XX, v) MM_TO_8(XX, v) XX(9, v) XX(10, v) XX(11, v) XX(12, v)
#define MM_TO_14(XX, v) MM_TO_12(XX, v) XX(13, v) XX(14, v)
#define MM_TO_16(XX, v) MM_TO_14(XX, v) XX(15, v) XX(16, v)

#if CT_ISA_LEVEL == 0
#define MM_TILES(XX)       MM_TO_4(XX, 1) MM_TO_4(XX, 2) MM_TO_4(XX, 3) MM_TO_4(XX, 4)
#define MM_SHORT_TILES(XX) MM_TO_4(XX, 1) MM_TO_4(XX, 2)
enum { MM_VECS = 4, MM_MOST_ROWS = 4, MM_MOST_ITEMS = 16, MM_STACK_VECS = 4 };
static const size_t mm_rows[MM_VECS + 1] = {0, 4, 4, 4, 4};
#elif CT_ISA_LEVEL == 1
#define MM_TILES(XX) MM_TO_12(XX, 1) MM_TO_6(XX, 2)
#define MM_SHORT_TILES MM_TILES
enum { MM_VECS = 2, MM_MOST_ROWS = 12, MM_MOST_ITEMS = 12, MM_STACK_VECS = 2 };
static const size_t mm_rows[MM_VECS + 1] = {0, 12, 6};
#else
#define MM_TILES(XX)       MM_TO_16(XX, 1) MM_TO_14(XX, 2) MM_TO_8(XX, 3) MM_TO_6(XX, 4)
#define MM_SHORT_TILES(XX) MM_TO_16(XX, 1) MM_TO_14(XX, 2)
enum { MM_VECS = 4, MM_MOST_ROWS = 16, MM_MOST_ITEMS = 28, MM_STACK_VECS = 2 };
static const size_t mm_rows[MM_VECS + 1] = {0, 16, 14, 8, 6};
#endif

// What was measured on a Sapphire Rapids Xeon (bench/tune_matmul.c), but for the first.
enum {
    MM_BLOCK = 256,           // steps of k in a chain: the contract
    MM_CHAINS = 8,            // multiplications in flight: fewer take as long
    MM_TILE_COST = 80,        // multiplications in the time that a tile takes beside its own
    MM_FAR = 4096,            // bytes between rows of b above which panels are copied
    MM_FEW_PANELS = 8,        // panels of rows for which a copy of b does not pay
    MM_MANY_PANELS = 4,       // panels of columns for which a copy of a pays
    MM_DIRECT = 1 << 21,      // multiplications up to which the caller works alone, without heap
    MM_SMALL_ROWS = 64,       // rows up to which a single panel of columns needs no plan
    MM_TASK = 1 << 19,        // multiplications of a task at least
    MM_TASKS = 64,            // tasks at most
    MM_CHUNK_BYTES = 1 << 19, // of a block of b where L2 is not known
    MM_AHEAD = 8,             // steps of k that rows of b are prefetched ahead
    MM_STEPS = 4,             // of k at a time
    MM_SHORT = 32,            // steps of k up to which tiles of few vectors take one at a time
    MM_SHORT_VECS = 2,        // across such a tile at most
    MM_MANY_STEPS = 16,       // for which masks are worth avoiding
    MM_LINES = 8,             // rows of b that a single row of a meets at a time
    MM_DOTS = 4,              // vectors of columns of b that do
    MM_PAD = 64,              // bytes between copied rows of a, lest they share a set of L1
    MM_ROWS_OF_A = MM_MOST_ROWS * (MM_BLOCK + MM_PAD / 4),
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
    size_t kb;    // at most MM_BLOCK
    size_t whole; // the first of them, for which b has whole vectors
    const char *a;
    ptrdiff_t a_row, a_col;
    const char *b;
    ptrdiff_t b_row;
    char *c;
    ptrdiff_t c_row;
    size_t last;  // items in the last vector across
    bool first;   // the first block of k: c is overwritten
    bool fetch_c; // prefetches: of the tile of c, of the panel of b to the right,
    bool fetch_b;
    const char *next; // and of a line here, then a step further on, each MM_STEPS steps of k
    ptrdiff_t next_step;
};

typedef void mm_tile_fn(const struct mm_tile *t);
typedef void mm_short_fn(const struct ct_matmul_job *job, const char *a, char *c);

// A product, perhaps swapped, and how it is done.
struct mm_plan {
    struct ct_matmul_job job;
    const struct ct__finish *finish; // NULL, or the epilogue
    bool swapped;
    int vecs;              // across a panel of columns
    size_t rows, width;    // of a tile at most
    size_t chunk;          // columns whose block of b stays in L2
    bool pack, copy_a;     // copies: of b, of a
    bool turn_a;           // whether a is to be copied for its layout if there is room
    bool heap;             // whether there is to be room for them
    bool fetch_b, fetch_c; // prefetches, when b and c come from beyond L1 and L2
    size_t band, bands;    // rows of a task, and their number
    size_t task;           // columns of a task
};

// Lines in panels of nearly equal heights, none above `most`.
struct mm_cut {
    size_t count, height, higher; // the first panels are one line higher
};

MM_INLINE struct mm_cut mm_cut(size_t lines, size_t most) {
    size_t count = (lines + most - 1) / most;
    return (struct mm_cut){.count = count, .height = lines / count, .higher = lines % count};
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

// Nanoseconds on one core, roughly: items of 4 bytes at 64 in a nanosecond with AVX-512.
static double mm_time(const struct ct_matmul_job *job, size_t size) {
    static const double each[] = {1.0 / 8, 1.0 / 32, 1.0 / 64};
    return (double)job->m * (double)job->n * (double)job->k * each[CT_ISA_LEVEL] *
           ((double)size / 4);
}

// Whether rows so far apart share the sets of L1.
static bool mm_clash(ptrdiff_t step) {
    enum { WAY = 4096, NEAR = 256 };
    return (((size_t)step + NEAR) & (WAY - 1)) < 2 * NEAR;
}

// Bytes of a block of b that is worked on at a time: a quarter of L2.
static size_t mm_chunk_bytes(void) {
    size_t bytes = ct__cache_bytes(2) / 4;
    return bytes ? bytes : MM_CHUNK_BYTES;
}

// Tasks by size alone: bands of rows first, which share their columns of b.
static void mm_cut_tasks(struct mm_plan *plan) {
    const struct ct_matmul_job *job = &plan->job;
    size_t wanted = mm_work(job) / MM_TASK;
    wanted = wanted < MM_TASKS ? wanted : MM_TASKS;
    size_t panels = (job->m + plan->rows - 1) / plan->rows;
    size_t chunks = (job->n + plan->chunk - 1) / plan->chunk;
    size_t bands = (wanted + chunks - 1) / chunks, least = plan->pack ? 6 : 2;
    size_t most = (panels + least - 1) / least;
    bands = bands < most ? bands : most;
    plan->band = (panels + bands - 1) / bands * plan->rows;
    plan->bands = (job->m + plan->band - 1) / plan->band;
    size_t columns = (wanted + plan->bands - 1) / plan->bands;
    columns = columns < chunks ? chunks : columns;
    size_t task = (job->n + columns - 1) / columns, unit = 2 * plan->width;
    plan->task = (task + unit - 1) / unit * unit;
}

// Columns and rows as they are in the product that was asked for.
static void mm_finish(const struct mm_plan *plan, size_t i, size_t j, size_t m, size_t n) {
    const struct ct__finish *f = plan->finish;
    const struct ct_matmul_job *job = &plan->job;
    if (!f) {
        return;
    }
    char *c = job->c + (ptrdiff_t)i * job->c_row + (ptrdiff_t)j * job->c_col;
    if (plan->swapped) {
        f->run(f->ctx, c, job->c_col, f->row + j, i, n, m);
    } else {
        f->run(f->ctx, c, job->c_row, f->row + i, j, m, n);
    }
}

static void mm_finish_all(const struct ct_matmul_job *job, const struct ct__finish *f) {
    if (f) {
        f->run(f->ctx, job->c, job->c_row, f->row, 0, job->m, job->n);
    }
}

// Columns of b that lie along k are turned faster by the narrower vectors: these have three ports.
#if CT_ISA_LEVEL == 0
#define MM_DOTS_NAME(name) CT_CAT(name, _scalar)
#else
#define MM_DOTS_NAME(name) CT_CAT(name, _avx2)
#endif

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
