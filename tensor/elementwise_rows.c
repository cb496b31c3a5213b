/* Walks broadcast operands beside a dense result and hands out rows that are worth a call.

   Operands that lie as the result does, or are one item, need no walk: all is one call. Any other
   layout is walked in one of four ways. Planes: for types with kernels, two loops are a call, where all
   rows are dense or one item. Rows: the innermost loop is a call. Where it is short,
   blocks of many rows: operands that do not lie as the result does are copied into a buffer that
   stays in L1, and the block is one call. Where an operand is dense along another loop than the
   result, as a transposed one is, tiles of that loop and the innermost: the operand's tile is
   turned into a buffer, so that each of its cache lines is read once. Items are the same, whatever
   the way.

   A result that is too large for the caches is made in pieces that stay in L1 and is written past
   the caches from there: then none of its lines is read first, as a store that misses would. */

#include "tensor/elementwise.h"

#include "tensor/alloc.h"
#include "tensor/move.h"
#include "tensor/pack.h"
#include "tensor/parallel.h"

#include <stdatomic.h>
#include <string.h>

enum {
    GRAIN = 1 << 14,        // items a thread takes at a time; below two of these one core is faster
    SHORT_ROW = 64,         // items that are not worth a call
    PLANE_ROW = 32,         // the same for rows of a plane
    CHEAP_ROW = 512,        // the same where operands are packed by whole vectors
    BUFFER_BYTES = 1 << 14, // of a packed operand
    BLOCK_ITEMS = 1 << 11,  // that are worth a call
    REPEATED_ITEMS = 1 << 10, // of repeated rows: a fraction of L1
    TILE_BYTES = 1 << 19,   // of a turned operand, in L2: long runs of the others are fetched ahead
    TILE_COLUMNS = 1 << 12, // items of a tile along the result's rows, at most
    TILE_ROWS = 64,         // rows of a tile, at most
    SIDE = 16,              // of the squares that are turned
    STAGE_BYTES = 1 << 10,  // of a large result, made in L1
    FETCHED_BYTES = 1 << 11, // of an operand, before they are read
    MIN_TILE_ROWS = 4,       // an operand with larger items is not packed into blocks,
    LARGEST_PACKED = 1024,   // nor one with larger items than these bytes turned
    MAX_INPUTS = CT__MAX_OPERANDS - 1,
};

// How the operands of a block or tile are handed over.
enum handing { AS_IT_IS, PACKED, PACKED_ONCE };

struct run {
    ct__operand_loop *fn;
    ct__operand_plane *plane;
    const void *context;
    struct ct__nest nest; // steps are in bytes; the result is the last operand
    char *ptr[CT__MAX_OPERANDS];
    size_t size[CT__MAX_OPERANDS]; // of an item
    enum handing handing[CT__MAX_OPERANDS];
    int64_t tile_rows, tile_columns; // of tiles; of blocks the rows
    size_t largest;                  // bytes of an item of the operands of tiles
    bool streams;                    // past the caches
    bool repeats;                    // blocks of which all that is packed is repeated rows
    atomic_bool failed;
};

struct buffers {
    _Alignas(64) char bytes[MAX_INPUTS][BUFFER_BYTES + 2 * CT__PACK_SLACK];
};

// --- calls of the loop

// The first lines of operands that the next piece but one, or a long next one, is made of: they come while this one
// is written. More of them would drive each other out of L1.
static void fetch_ahead(const struct run *run, size_t count, char *const at[],
                        const ptrdiff_t step[]) {
    for (int i = 0; i + 1 < run->nest.operands; i++) {
        size_t bytes = count * run->size[i], pieces = bytes > STAGE_BYTES ? 1 : 2;
        uintptr_t next = (uintptr_t)at[i] + (uintptr_t)(pieces * count) * (uintptr_t)step[i];
        for (size_t k = 0; step[i] > 0 && k < bytes && k < FETCHED_BYTES; k += 64)
            __builtin_prefetch((const void *)(next + k));
    }
}

// Past the caches, piece by piece; the loop sees the same operands.
static size_t call_staged(const struct run *run, size_t n, char *const ptr[],
                          const ptrdiff_t step[]) {
    _Alignas(64) char stage[STAGE_BYTES];
    int last = run->nest.operands - 1;
    size_t size = run->size[last], most = STAGE_BYTES / size;
    size_t ahead = (-(uintptr_t)ptr[last] % STAGE_BYTES) / size; // from there on pieces are aligned
    char *at[CT__MAX_OPERANDS];
    for (size_t begin = 0, count; begin < n; begin += count) {
        count = begin == 0 && ahead > 0 ? ahead : most;
        count = n - begin < count ? n - begin : count;
        for (int i = 0; i < last; i++)
            at[i] = ptr[i] + (ptrdiff_t)begin * step[i];
        at[last] = stage;
        size_t done = run->fn(run->context, count, at, step);
        fetch_ahead(run, count, at, step);
        ct__moves()->stream(ptr[last] + begin * size, stage, done * size);
        if (done < count)
            return begin + done;
    }
    return n;
}

static size_t call(const struct run *run, size_t n, char *const ptr[], const ptrdiff_t step[]) {
    return run->streams ? call_staged(run, n, ptr, step) : run->fn(run->context, n, ptr, step);
}

static void end_calls(const struct run *run) {
    if (run->streams)
        ct__moves()->end();
}

// Whether the result is written past the caches: not where it is an operand too, as its lines are
// read then.
static bool shall_stream(const struct run *run, size_t count) {
    int last = run->nest.operands - 1;
    if (!ct__streams(count * run->size[last]) || run->size[last] > STAGE_BYTES / 16)
        return false;
    for (int i = 0; i < last; i++)
        if (run->ptr[i] == run->ptr[last])
            return false;
    return true;
}

// --- operands without a walk

// Sets the loop's operands up where each lies as the result does or is one item.
static bool plan_direct(struct run *run, int n, const ct_tensor *const in[], size_t count,
                        size_t size, char *to) {
    run->nest.operands = n + 1;
    run->nest.rank = 1;
    for (int i = 0; i < n; i++) {
        bool one = in[i]->count == 1;
        if (!one && (in[i]->count != count || !ct_is_dense(in[i])))
            return false;
        run->ptr[i] = ct__first(in[i]);
        run->size[i] = in[i]->scalar->size;
        run->nest.step[i][0] = one && count > 1 ? 0 : (int64_t)run->size[i];
    }
    run->ptr[n] = to;
    run->size[n] = size;
    run->nest.step[n][0] = (int64_t)size;
    return true;
}

// Items begin to end; returns how many of them are done.
static size_t do_direct(const struct run *run, size_t begin, size_t end) {
    char *ptr[CT__MAX_OPERANDS];
    ptrdiff_t step[CT__MAX_OPERANDS];
    for (int i = 0; i < run->nest.operands; i++) {
        step[i] = (ptrdiff_t)run->nest.step[i][0];
        ptr[i] = run->ptr[i] + (ptrdiff_t)begin * step[i];
    }
    return call(run, end - begin, ptr, step);
}

// --- the nest

static void set_nest(struct run *run, int n, const ct_tensor *const in[], int rank,
                     const int64_t *shape, size_t size, char *to) {
    int64_t step[CT__MAX_OPERANDS], dense[CT_MAX_RANK];
    for (int i = 0; i < n; i++) {
        run->ptr[i] = ct__first(in[i]);
        run->size[i] = in[i]->scalar->size;
    }
    run->ptr[n] = to;
    run->size[n] = size;
    ct__dense_strides(rank, shape, dense);
    ct__nest_start(&run->nest, n + 1);
    for (int axis = 0; axis < rank; axis++) {
        for (int i = 0; i < n; i++)
            step[i] = ct__stride_at(rank, axis, in[i]->rank, in[i]->shape, in[i]->strides) *
                      (int64_t)run->size[i];
        step[n] = dense[axis] * (int64_t)size;
        ct__nest_add(&run->nest, shape[axis], step);
    }
    ct__nest_fuse(&run->nest);
    if (run->nest.rank > 0)
        return;
    ct__nest_have_row(&run->nest);
    for (int i = 0; i <= n; i++)
        run->nest.step[i][0] = (int64_t)run->size[i];
}

static int64_t magnitude(int64_t step) {
    return step < 0 ? -step : step;
}

// Whether an operand lies just as the result does.
static bool lies_dense(const struct run *run, int operand) {
    const struct ct__nest *nest = &run->nest;
    const int64_t *step = nest->step[operand];
    int last = nest->rank - 1;
    if (step[last] != (int64_t)run->size[operand])
        return false;
    for (int i = 0; i < last; i++)
        if (step[i] != step[i + 1] * nest->shape[i + 1])
            return false;
    return true;
}

// Whether an operand stands still in the outer `loops` loops.
static bool stands_still(const struct run *run, int operand, int loops) {
    for (int i = 0; i < loops; i++)
        if (run->nest.step[operand][i] != 0)
            return false;
    return true;
}

// --- rows

// Items begin to end; returns how many of them are done.
static size_t do_rows(const struct run *run, size_t begin, size_t end) {
    const struct ct__nest *nest = &run->nest;
    int row = nest->rank - 1;
    size_t extent = (size_t)nest->shape[row], from = begin % extent, at = begin;
    char *ptr[CT__MAX_OPERANDS];
    ptrdiff_t step[CT__MAX_OPERANDS];
    struct ct__walk walk;
    for (int i = 0; i < nest->operands; i++)
        step[i] = (ptrdiff_t)nest->step[i][row];
    ct__walk_start(&walk, nest, row, begin / extent);
    while (at < end) {
        size_t count = extent - from < end - at ? extent - from : end - at;
        for (int i = 0; i < nest->operands; i++)
            ptr[i] = run->ptr[i] + walk.at[i] + (ptrdiff_t)from * step[i];
        size_t done = call(run, count, ptr, step);
        at += done;
        if (done < count)
            break;
        from = 0;
        ct__walk_next(&walk, nest, row);
    }
    return at - begin;
}

static void fail(struct run *run) {
    atomic_store_explicit(&run->failed, true, memory_order_relaxed);
}

static bool has_failed(struct run *run) {
    return atomic_load_explicit(&run->failed, memory_order_relaxed);
}

static void run_rows(void *context, size_t begin, size_t end) {
    struct run *run = context;
    if (!has_failed(run) && do_rows(run, begin, end) < end - begin)
        fail(run);
    end_calls(run);
}

static void run_direct(void *context, size_t begin, size_t end) {
    struct run *run = context;
    if (!has_failed(run) && do_direct(run, begin, end) < end - begin)
        fail(run);
    end_calls(run);
}

// --- planes: rows that are dense or one item, without a call for each

static void run_planes(void *context, size_t begin, size_t end) {
    const struct run *run = context;
    const struct ct__nest *nest = &run->nest;
    int row = nest->rank - 1;
    char *ptr[CT__MAX_OPERANDS];
    ptrdiff_t step[CT__MAX_OPERANDS], next[CT__MAX_OPERANDS];
    struct ct__walk walk;
    for (int i = 0; i < nest->operands; i++) {
        step[i] = (ptrdiff_t)nest->step[i][row];
        next[i] = (ptrdiff_t)nest->step[i][row - 1];
    }
    ct__walk_start(&walk, nest, row, begin);
    for (size_t at = begin, rows; at < end; at += rows) {
        size_t left = (size_t)(nest->shape[row - 1] - walk.index[row - 1]);
        rows = left < end - at ? left : end - at;
        for (int i = 0; i < nest->operands; i++)
            ptr[i] = run->ptr[i] + walk.at[i];
        run->plane(run->context, rows, (size_t)nest->shape[row], ptr, step, next);
        ct__walk_skip(&walk, nest, row - 1, (int64_t)rows - 1);
        ct__walk_next(&walk, nest, row);
    }
}

// Whether that is the way. A large result is written past the caches by calls for rows.
static bool shall_run_planes(const struct run *run) {
    const struct ct__nest *nest = &run->nest;
    int last = nest->rank - 1;
    if (!run->plane || run->streams || last < 1)
        return false;
    for (int i = 0; i < nest->operands - 1; i++) {
        int64_t step = nest->step[i][last];
        if (step != 0 && step != (int64_t)run->size[i])
            return false;
    }
    return nest->shape[last] >= PLANE_ROW;
}

// --- blocks of short rows

// Copies rows from the walk's place on; the walk goes over all loops but the innermost.
static void gather(const struct run *run, int operand, struct ct__walk walk, size_t rows,
                   char *to) {
    const struct ct__nest *nest = &run->nest;
    int outer = nest->rank - 2;
    size_t size = run->size[operand], columns = (size_t)nest->shape[outer + 1];
    const int64_t *step = nest->step[operand];
    while (rows > 0) {
        size_t left = (size_t)(nest->shape[outer] - walk.index[outer]);
        size_t count = left < rows ? left : rows;
        const char *from = run->ptr[operand] + walk.at[operand];
        if (step[outer + 1] == 0)
            ct__repeat(size, count, columns, from, (ptrdiff_t)step[outer], to);
        else
            ct__pack(size, count, columns, from, (ptrdiff_t)step[outer], (ptrdiff_t)step[outer + 1],
                     to);
        to += count * columns * size;
        rows -= count;
        if (rows > 0) {
            ct__walk_skip(&walk, nest, outer, (int64_t)count - 1);
            ct__walk_next(&walk, nest, outer + 1);
        }
    }
}

// Where all that is packed is repeated rows: packed once, and whole blocks are one call.
static void run_repeated(const struct run *run, size_t begin, size_t end) {
    const struct ct__nest *nest = &run->nest;
    int last = nest->rank - 1, n = nest->operands - 1;
    size_t columns = (size_t)nest->shape[last], most = (size_t)run->tile_rows;
    size_t blocks = (end - begin) / most, left = (end - begin) % most;
    struct buffers buffers;
    char *ptr[CT__MAX_OPERANDS];
    ptrdiff_t step[CT__MAX_OPERANDS], next[CT__MAX_OPERANDS];
    struct ct__walk walk;
    ct__walk_start(&walk, nest, last, begin);
    for (int i = 0; i <= n; i++) {
        bool packed = run->handing[i] == PACKED_ONCE;
        step[i] = packed ? (ptrdiff_t)run->size[i] : (ptrdiff_t)nest->step[i][last];
        next[i] = packed ? 0 : (ptrdiff_t)(most * columns) * step[i];
        ptr[i] = packed ? buffers.bytes[i] : run->ptr[i] + walk.at[i];
        if (packed)
            gather(run, i, walk, blocks > 0 ? most : left, ptr[i]);
    }
    run->plane(run->context, blocks, most * columns, ptr, step, next);
    for (int i = 0; i <= n; i++)
        ptr[i] += (ptrdiff_t)blocks * next[i];
    if (left > 0)
        run->plane(run->context, 1, left * columns, ptr, step, next);
}

static void run_blocks(void *context, size_t begin, size_t end) {
    struct run *run = context;
    const struct ct__nest *nest = &run->nest;
    int last = nest->rank - 1, n = nest->operands - 1;
    size_t columns = (size_t)nest->shape[last], most = (size_t)run->tile_rows;
    if (run->repeats) {
        run_repeated(run, begin, end);
        return;
    }
    struct buffers buffers;
    char *ptr[CT__MAX_OPERANDS];
    ptrdiff_t step[CT__MAX_OPERANDS];
    for (int i = 0; i <= n; i++)
        step[i] =
            run->handing[i] == AS_IT_IS ? (ptrdiff_t)nest->step[i][last] : (ptrdiff_t)run->size[i];
    for (size_t at = begin; at < end && !has_failed(run); at += most) {
        size_t rows = end - at < most ? end - at : most;
        struct ct__walk walk;
        ct__walk_start(&walk, nest, last, at);
        for (int i = 0; i <= n; i++) {
            ptr[i] = run->handing[i] == AS_IT_IS ? run->ptr[i] + walk.at[i] : buffers.bytes[i];
            if (run->handing[i] == PACKED || (run->handing[i] == PACKED_ONCE && at == begin))
                gather(run, i, walk, rows, buffers.bytes[i]);
        }
        if (call(run, rows * columns, ptr, step) < rows * columns)
            fail(run);
    }
    end_calls(run);
}

// Whether rows of an operand are made from whole vectors: of one item, or copies of rows.
static bool packs_fast(const struct run *run, int operand) {
    int64_t step = run->nest.step[operand][run->nest.rank - 1];
    return step == 0 || step == (int64_t)run->size[operand];
}

// Sets a walk in blocks up, if that is the way.
static bool plan_blocks(struct run *run) {
    const struct ct__nest *nest = &run->nest;
    int last = nest->rank - 1, n = nest->operands - 1;
    if (last < 1 || nest->shape[last] >= CHEAP_ROW)
        return false;
    size_t most = BLOCK_ITEMS;
    bool cheap = true;
    run->repeats = run->plane && !run->streams;
    for (int i = 0; i < n; i++) {
        bool dense = lies_dense(run, i) || stands_still(run, i, last + 1);
        run->handing[i] = dense ? AS_IT_IS : stands_still(run, i, last) ? PACKED_ONCE : PACKED;
        cheap = cheap && (run->handing[i] != PACKED || packs_fast(run, i));
        run->repeats &= run->handing[i] != PACKED;
        size_t fit = BUFFER_BYTES / run->size[i];
        most = fit < most ? fit : most;
    }
    run->handing[n] = AS_IT_IS;
    most = run->repeats ? REPEATED_ITEMS : most; // f32 and f64: they fit
    run->tile_rows = (int64_t)most / nest->shape[last];
    if (run->repeats)
        run->tile_rows = run->tile_rows / SIDE * SIDE; // whole lines
    return run->tile_rows >= MIN_TILE_ROWS && (cheap || nest->shape[last] < SHORT_ROW);
}

// --- tiles

struct tile {
    int64_t row, column, rows, columns;
};

// Where buffers for packed operands lie, each of so many bytes.
struct room {
    char *bytes;
    size_t each;
};

// Calls for the rows of a tile, or once where they follow each other in every operand.
static bool call_rows(const struct run *run, size_t rows, size_t columns, char *ptr[],
                      const ptrdiff_t step[], const ptrdiff_t row_step[]) {
    int n = run->nest.operands - 1;
    bool joined = true;
    for (int i = 0; i <= n; i++)
        joined = joined && row_step[i] == (ptrdiff_t)columns * step[i];
    if (joined)
        return call(run, rows * columns, ptr, step) == rows * columns;
    for (size_t i = 0; i < rows; i++) {
        if (call(run, columns, ptr, step) < columns)
            return false;
        for (int k = 0; k <= n; k++)
            ptr[k] += row_step[k];
    }
    return true;
}

static bool run_tile(const struct run *run, const struct ct__walk *walk, struct tile t,
                     struct room room) {
    const struct ct__nest *nest = &run->nest;
    int last = nest->rank - 1, n = nest->operands - 1;
    char *ptr[CT__MAX_OPERANDS];
    ptrdiff_t step[CT__MAX_OPERANDS], row_step[CT__MAX_OPERANDS];
    for (int i = 0; i <= n; i++) {
        row_step[i] = (ptrdiff_t)nest->step[i][last - 1];
        step[i] = (ptrdiff_t)nest->step[i][last];
        ptr[i] = run->ptr[i] + walk->at[i] + t.row * row_step[i] + t.column * step[i];
        if (run->handing[i] == AS_IT_IS)
            continue;
        char *buffer = room.bytes + (size_t)i * room.each;
        ct__turn(run->size[i], (size_t)t.rows, (size_t)t.columns, ptr[i], row_step[i], step[i],
                 buffer, (size_t)t.columns * run->size[i]);
        ptr[i] = buffer;
        step[i] = (ptrdiff_t)run->size[i];
        row_step[i] = t.columns * step[i];
    }
    return call_rows(run, (size_t)t.rows, (size_t)t.columns, ptr, step, row_step);
}

// In parts where there is no room for the whole.
static bool run_tile_within(const struct run *run, const struct ct__walk *walk, struct tile t,
                            struct room room) {
    struct tile part = t, rest = t;
    if ((size_t)(t.rows * t.columns) <= room.each / run->largest)
        return run_tile(run, walk, t, room);
    if (t.columns > t.rows) {
        part.columns = t.columns / 2;
        rest.columns = t.columns - part.columns;
        rest.column += part.columns;
    } else {
        part.rows = t.rows / 2;
        rest.rows = t.rows - part.rows;
        rest.row += part.rows;
    }
    return run_tile_within(run, walk, part, room) && run_tile_within(run, walk, rest, room);
}

static size_t tiles_along(int64_t extent, int64_t tile) {
    return (size_t)((extent - 1) / tile + 1);
}

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static void run_tiles(void *context, size_t begin, size_t end) {
    struct run *run = context;
    const struct ct__nest *nest = &run->nest;
    int last = nest->rank - 1;
    size_t high = tiles_along(nest->shape[last - 1], run->tile_rows);
    size_t wide = tiles_along(nest->shape[last], run->tile_columns);
    size_t each = (size_t)(run->tile_rows * run->tile_columns) * run->largest;
    struct buffers buffers;
    char *own = each <= BUFFER_BYTES ? NULL : ct__alloc(each * (size_t)(nest->operands - 1));
    struct room room = {own ? own : buffers.bytes[0], own ? each : sizeof buffers.bytes[0]};
    struct ct__walk walk;
    ct__walk_start(&walk, nest, last - 1, begin / (high * wide));
    for (size_t i = begin; i < end && !has_failed(run); i++) {
        size_t tile = i % (high * wide); // downwards: along the lines of a turned operand
        int64_t row = (int64_t)(tile % high) * run->tile_rows;
        int64_t column = (int64_t)(tile / high) * run->tile_columns;
        struct tile t = {row, column, smaller(nest->shape[last - 1] - row, run->tile_rows),
                         smaller(nest->shape[last] - column, run->tile_columns)};
        if (!run_tile_within(run, &walk, t, room))
            fail(run);
        if (tile + 1 == high * wide)
            ct__walk_next(&walk, nest, last - 1);
    }
    end_calls(run);
    ct__free(own);
}

// The loop along which an operand takes its shortest steps, if they are shorter than in the
// innermost and longer ones there leave a cache line; else the innermost.
static int short_loop(const struct run *run, int operand) {
    const int64_t *step = run->nest.step[operand];
    int last = run->nest.rank - 1, best = last;
    if (magnitude(step[last]) <= 2 * (int64_t)run->size[operand])
        return last;
    for (int i = 0; i < last; i++)
        if (step[i] != 0 && magnitude(step[i]) < magnitude(step[best]) &&
            run->nest.shape[i] >= MIN_TILE_ROWS)
            best = i;
    return best;
}

// Puts loop i next to the innermost, keeping the order of the others.
static void bring_inside(struct ct__nest *nest, int loop) {
    struct ct__nest old = *nest;
    int last = nest->rank - 1;
    nest->rank = 0;
    for (int i = 0; i <= last; i++) {
        int from = i == last ? last : i == last - 1 ? loop : i < loop ? i : i + 1;
        int64_t step[CT__MAX_OPERANDS];
        for (int k = 0; k < old.operands; k++)
            step[k] = old.step[k][from];
        ct__nest_add(nest, old.shape[from], step);
    }
}

// Sets a walk in tiles up, if that is the way. The nest changes its order then.
static bool plan_tiles(struct run *run) {
    int n = run->nest.operands - 1, last = run->nest.rank - 1, loop = last;
    run->largest = 1;
    for (int i = 0; i < n; i++) {
        if (loop == last)
            loop = short_loop(run, i);
        run->largest = run->size[i] > run->largest ? run->size[i] : run->largest;
    }
    if (last < 1 || loop == last || run->largest > LARGEST_PACKED)
        return false;
    bring_inside(&run->nest, loop);
    int64_t items = (int64_t)(TILE_BYTES / run->largest);
    run->tile_columns = smaller(run->nest.shape[last], smaller(TILE_COLUMNS, items / SIDE));
    bool near = run->nest.shape[last] * run->nest.shape[last - 1] <= items; // read from L2 anyway
    run->tile_rows =
        smaller(items / run->tile_columns / SIDE * SIDE, near ? TILE_ROWS / 2 : TILE_ROWS);
    for (int i = 0; i <= n; i++) {
        const int64_t *step = run->nest.step[i];
        run->handing[i] =
            i < n && step[last - 1] != 0 && magnitude(step[last]) > magnitude(step[last - 1])
                ? PACKED
                : AS_IT_IS;
    }
    return true;
}

// --- the whole

static void spread(struct run *run, size_t count) {
    const struct ct__nest *nest = &run->nest;
    int last = nest->rank - 1;
    if (shall_run_planes(run)) {
        size_t columns = (size_t)nest->shape[last];
        ct__parallel_for(count / columns, GRAIN / columns + 1, run_planes, run);
    } else if (plan_blocks(run)) {
        size_t columns = (size_t)nest->shape[last];
        ct__parallel_for(count / columns, GRAIN / columns + 1, run_blocks, run);
    } else if (plan_tiles(run)) {
        size_t tiles = ct__nest_passes(nest, last - 1) *
                       tiles_along(nest->shape[last - 1], run->tile_rows) *
                       tiles_along(nest->shape[last], run->tile_columns);
        ct__parallel_for(tiles, GRAIN / (count / tiles + 1) + 1, run_tiles, run);
    } else if (count < 2 * GRAIN) {
        run_rows(run, 0, count);
    } else {
        ct__parallel_for(count, GRAIN, run_rows, run);
    }
}

// Without a walk; returns how many items are done.
static size_t run_whole(struct run *run, size_t count) {
    run->streams = shall_stream(run, count);
    if (count < 2 * GRAIN)
        return do_direct(run, 0, count);
    ct__parallel_for(count, GRAIN, run_direct, run);
    if (!has_failed(run))
        return count;
    run->streams = false; // rare, so simply once more, from the first item on
    return do_direct(run, 0, count);
}

size_t ct__for_rows(const struct ct__operand_work *work, int n, const ct_tensor *const in[],
                    int rank, const int64_t *shape, size_t count, size_t size, char *to) {
    struct run run;
    run.fn = work->loop;
    run.plane = work->plane;
    run.context = work->context;
    atomic_init(&run.failed, false);
    if (plan_direct(&run, n, in, count, size, to))
        return run_whole(&run, count);
    set_nest(&run, n, in, rank, shape, size, to);
    run.streams = shall_stream(&run, count);
    spread(&run, count);
    if (!has_failed(&run))
        return count;
    // Rare, so simply once more, one item after the other, for the first place.
    set_nest(&run, n, in, rank, shape, size, to);
    run.streams = false;
    return do_rows(&run, 0, count);
}
