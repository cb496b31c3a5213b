/* Reductions of what is computed from the items first: block by block, in a cache. */

#include "tensor/reduce_impl.h"

#include "tensor/alloc.h"
#include "tensor/checked.h"
#include "tensor/parallel.h"

enum {
    BLOCK = 1024,             // items: the contract
    TILE_BYTES = 32 << 10,    // of a tile's scratch, at least a block
    COLUMN_BYTES = 256 << 10, // where rows lie side by side: neighbours are read together
    LONG = 32,                // items that make a loop worth while
    PARALLEL_ITEMS = 1 << 16, // fewer are not worth waking a thread for
};

ct_status ct__each(const ct_scalar *scalar, enum ct_op op, size_t rows, size_t cols,
                   char *const ptr[], const ptrdiff_t row_step[], const ptrdiff_t col_step[],
                   size_t *row) {
    int operands = ct_op_arity(op) + 1, y = operands - 1;
    bool near = imaxabs(col_step[y]) <= imaxabs(row_step[y]);
    bool by_rows = near ? cols >= LONG || cols >= rows : rows < LONG && cols >= rows;
    const ptrdiff_t *outer = by_rows ? row_step : col_step, *inner = by_rows ? col_step : row_step;
    size_t passes = by_rows ? rows : cols, n = by_rows ? cols : rows, first = rows;
    bool one_run = true; // every operand goes on as it begins
    for (int k = 0; k < operands; k++)
        one_run = one_run && outer[k] == inner[k] * (ptrdiff_t)n;
    ct_loop_fn *loop = ct_scalar_loop(scalar, op);
    if (one_run && (by_rows || !(scalar->traits & CT_CHECKED))) {
        size_t done = loop(scalar, op, n * passes, ptr, inner);
        if (done < n * passes)
            *row = by_rows ? done / n : done % n;
        return done < n * passes ? CT_EOVERFLOW : CT_OK;
    }
    char *at[CT__MAX_OPERANDS];
    for (int k = 0; k < operands; k++)
        at[k] = ptr[k];
    for (size_t i = 0; i < passes; i++) {
        size_t done = loop(scalar, op, n, at, inner);
        size_t failed = done == n ? rows : by_rows ? i : done;
        first = failed < first ? failed : first;
        if (by_rows && first < rows)
            break; // the later rows cannot be the first
        for (int k = 0; k < operands; k++)
            at[k] += outer[k];
    }
    if (first < rows)
        *row = first;
    return first < rows ? CT_EOVERFLOW : CT_OK;
}

static struct ct__operand operand_of(const struct ct_fold_job *job) {
    return (struct ct__operand){(char *)(uintptr_t)job->x, job->x_step, job->x_next};
}

struct ct__operand ct__tile_in(const struct ct__tile *tile) {
    const struct ct_fold_job *in = &tile->in, *scratch = &tile->scratch;
    ptrdiff_t size = (ptrdiff_t)tile->scalar->size;
    if (in->x_step == size && scratch->x_step == size)
        return operand_of(in);
    const int64_t shape[] = {(int64_t)in->count, (int64_t)in->n};
    const int64_t from[] = {in->x_next / size, in->x_step / size};
    const int64_t to[] = {scratch->x_next / size, scratch->x_step / size};
    ct__copy_items(tile->scalar->size, 2, shape, in->x, from, operand_of(scratch).x, to);
    return operand_of(scratch);
}

struct ct__operand ct__tile_scratch(const struct ct__tile *tile) {
    return operand_of(&tile->scratch);
}

struct ct__operand ct__tile_rows(const struct ct__tile *tile, char *first) {
    return (struct ct__operand){first, 0, (ptrdiff_t)tile->scalar->size};
}

// The row, counted from the tile's first, becomes one of the job's.
static ct_status in_job(const struct ct__tile *tile, ct_status status, size_t *row) {
    if (status)
        *row += tile->row;
    return status;
}

ct_status ct__tile_op(const struct ct__tile *tile, enum ct_op op, const struct ct__operand in[],
                      size_t *row) {
    int arity = ct_op_arity(op);
    char *ptr[CT__MAX_OPERANDS];
    ptrdiff_t step[CT__MAX_OPERANDS], next[CT__MAX_OPERANDS];
    struct ct__operand out = ct__tile_scratch(tile);
    for (int k = 0; k <= arity; k++) {
        const struct ct__operand *x = k < arity ? &in[k] : &out;
        ptr[k] = x->x;
        step[k] = x->step;
        next[k] = x->next;
    }
    return in_job(
        tile, ct__each(tile->scalar, op, tile->in.count, tile->in.n, ptr, next, step, row), row);
}

ct_status ct__tile_sum(const struct ct__tile *tile, const struct ct__operand *in, int part,
                       size_t *row) {
    const struct ct_fold_job job = {.n = tile->in.n,
                                    .count = tile->in.count,
                                    .x = in->x,
                                    .x_step = in->step,
                                    .x_next = in->next,
                                    .y = tile->out[part],
                                    .y_next = (ptrdiff_t)tile->scalar->size};
    *row = ct_scalar_fold(tile->scalar, CT_FOLD_SUM)(tile->scalar, &job);
    return in_job(tile, *row < job.count ? CT_EOVERFLOW : CT_OK, row);
}

// --- all tiles of a job

struct tiles {
    const struct ct__blocks *b;
    const struct ct_fold_job *job;
    bool columns;
    size_t group, groups; // rows in a tile, and tiles side by side
    ct__tile_fn *fn;
    void *context;
    _Atomic size_t failed; // the lowest row
    _Atomic int status;
};

static void make_tile(const struct tiles *tiles, size_t number, char *scratch,
                      struct ct__tile *tile) {
    const struct ct_fold_job *job = tiles->job;
    size_t block = number / tiles->groups, row = number % tiles->groups * tiles->group;
    size_t first = block * BLOCK, n = job->n - first < BLOCK ? job->n - first : BLOCK;
    size_t count = job->count - row < tiles->group ? job->count - row : tiles->group;
    ptrdiff_t size = (ptrdiff_t)tiles->b->scalar->size;
    *tile = (struct ct__tile){.scalar = tiles->b->scalar, .in = *job, .row = row};
    tile->in.n = n;
    tile->in.count = count;
    tile->in.x += (ptrdiff_t)first * job->x_step + (ptrdiff_t)row * job->x_next;
    tile->scratch = tile->in;
    tile->scratch.x = scratch;
    bool columns = count >= LONG && (n < LONG || tiles->columns); // the longer loops, if any
    tile->scratch.x_step = columns ? (ptrdiff_t)count * size : size;
    tile->scratch.x_next = columns ? size : (ptrdiff_t)n * size;
    for (int i = 0; i < tiles->b->parts; i++)
        tile->out[i] = tiles->b->part[i] + (ptrdiff_t)(block * job->count + row) * size;
}

static void run_tiles(void *context, size_t begin, size_t end) {
    struct tiles *tiles = context;
    size_t items = tiles->job->n < BLOCK ? tiles->job->n : BLOCK;
    char *scratch = ct__alloc(items * tiles->group * tiles->b->scalar->size);
    if (!scratch) {
        atomic_store(&tiles->status, CT_ENOMEM);
        return;
    }
    for (size_t i = begin; i < end; i++) {
        struct ct__tile tile;
        size_t row = 0;
        make_tile(tiles, i, scratch, &tile);
        ct_status status = tiles->fn(tiles->context, &tile, &row);
        if (status == CT_EOVERFLOW)
            ct__keep_lowest(&tiles->failed, row);
        else if (status)
            atomic_store(&tiles->status, (int)status);
    }
    ct__free(scratch);
}

static void plan_tiles(struct tiles *tiles) {
    const struct ct_fold_job *job = tiles->job;
    size_t items = job->n < BLOCK ? job->n : BLOCK;
    tiles->columns = job->count > 1 && imaxabs(job->x_next) < imaxabs(job->x_step);
    size_t most = (tiles->columns ? COLUMN_BYTES : TILE_BYTES) / tiles->b->scalar->size / items;
    tiles->group = most < 1 ? 1 : most < job->count ? most : job->count;
    tiles->groups = (job->count - 1) / tiles->group + 1;
}

// Memory for the blocks, for the level above, and for what the joining needs.
static bool make_room(struct ct__blocks *b, int parts) {
    size_t items, above, bytes, size = b->scalar->size;
    if (!ct__mul_size(b->blocks, b->count, &items) ||
        !ct__mul_size((b->blocks + 1) / 2, b->count, &above) ||
        !ct__mul_size(items + 2 * above, (size_t)parts * size, &bytes))
        return false;
    b->memory = ct__alloc(bytes);
    char *p = b->memory;
    for (int i = 0; i < parts && p; i++) {
        b->part[i] = p;
        b->next[i] = p + items * size;
        p = b->next[i] + above * size;
    }
    b->spare = p;
    return p != NULL;
}

ct_status ct__blocks_make(struct ct__blocks *b, int parts, const ct_scalar *scalar,
                          const struct ct_fold_job *job, ct__tile_fn *fn, void *context,
                          size_t *row) {
    size_t blocks = (job->n - 1) / BLOCK + 1;
    *b = (struct ct__blocks){.scalar = scalar,
                             .parts = parts,
                             .count = job->count,
                             .blocks = blocks,
                             .full = BLOCK,
                             .last = job->n - (blocks - 1) * BLOCK};
    if (!make_room(b, parts))
        return CT_ENOMEM;
    struct tiles tiles = {.b = b, .job = job, .fn = fn, .context = context, .failed = SIZE_MAX};
    plan_tiles(&tiles);
    size_t each = (job->n < BLOCK ? job->n : BLOCK) * tiles.group;
    ct__parallel_for(blocks * tiles.groups, PARALLEL_ITEMS / each + 1, run_tiles, &tiles);
    ct_status status = (ct_status)atomic_load(&tiles.status);
    *row = atomic_load(&tiles.failed);
    if (status == CT_OK && *row != SIZE_MAX)
        status = CT_EOVERFLOW;
    if (status)
        ct__free(b->memory);
    return status;
}

// --- joining

void ct__blocks_up(struct ct__blocks *b) {
    size_t pairs = b->blocks / 2, bytes = b->count * b->scalar->size;
    bool odd = b->blocks % 2;
    for (int i = 0; i < b->parts; i++) {
        if (odd)
            memcpy(b->next[i] + pairs * bytes, b->part[i] + 2 * pairs * bytes, bytes);
        char *part = b->part[i];
        b->part[i] = b->next[i];
        b->next[i] = part;
    }
    b->last = odd ? b->last : b->full + b->last;
    b->full *= 2;
    b->blocks = pairs + odd;
}

ct_status ct__blocks_sum(struct ct__blocks *b, size_t *row) {
    ptrdiff_t size = (ptrdiff_t)b->scalar->size, across = (ptrdiff_t)b->count * size;
    for (; b->blocks > 1; ct__blocks_up(b)) {
        char *const ptr[] = {b->part[0], b->part[0] + across, b->next[0]};
        const ptrdiff_t pair[] = {2 * across, 2 * across, across}, item[] = {size, size, size};
        if (ct__each(b->scalar, CT_OP_add, b->count, b->blocks / 2, ptr, item, pair, row))
            return CT_EOVERFLOW;
    }
    return CT_OK;
}

void ct__blocks_put(const struct ct__blocks *b, const struct ct_fold_job *job) {
    size_t size = b->scalar->size;
    for (size_t j = 0; j < b->count; j++)
        memcpy(job->y + (ptrdiff_t)j * job->y_next, b->part[0] + j * size, size);
}
