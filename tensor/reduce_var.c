/* Variance and standard deviation: blocks centred on their own means, merged by Chan's formula over
   the pairwise tree. Written over rows of the table, so that any scalar type that has them runs it
   and duals get the derivative. */

#include "tensor/reduce_impl.h"

#include "tensor/alloc.h"
#include "tensor/fail.h"
#include "tensor/kernels/kern_table.h"

#include <math.h>

enum { BLOCK = 1024, MEAN = 0, SQUARES = 1, CONSTANTS = 3 };

// What all rows need, as items of the scalar type.
struct constants {
    char *block;   // items in a whole block
    char *last;    // in the last one
    char *divisor; // what the squares are divided by; NaN where that is not positive
    char *weight;  // of a merge: set anew for each
    bool root;     // the standard deviation is wanted
};

static bool has_spread(const ct_scalar *scalar, bool root) {
    static const enum ct_op ops[] = {CT_OP_add, CT_OP_sub, CT_OP_mul, CT_OP_div};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (!ct_scalar_has(scalar, ops[i]))
            return false;
    return ct_scalar_fold(scalar, CT_FOLD_SUM) && (!root || ct_scalar_has(scalar, CT_OP_sqrt));
}

// y = op(y, z) on a tile's rows; z is an item for each row, or one for all.
static size_t rows_op(const struct ct__tile *tile, enum ct_op op, char *y, char *z, bool one) {
    ptrdiff_t size = (ptrdiff_t)tile->scalar->size;
    char *const ptr[] = {y, z, y};
    const ptrdiff_t step[] = {size, one ? 0 : size, size};
    return ct_scalar_loop(tile->scalar, op)(tile->scalar, op, tile->in.count, ptr, step);
}

// scratch = x - what is the mean of x, which is left in a part.
static ct_status take_mean(const struct ct__tile *tile, const struct ct__operand *x, int part,
                           char *items, size_t *row) {
    ct_status status = ct__tile_sum(tile, x, part, row);
    if (status)
        return status;
    size_t done = rows_op(tile, CT_OP_div, tile->out[part], items, true);
    *row = tile->row + done;
    if (done < tile->in.count)
        return CT_EOVERFLOW;
    const struct ct__operand away[] = {*x, ct__tile_rows(tile, tile->out[part])};
    return ct__tile_op(tile, CT_OP_sub, away, row);
}

// A block's mean, and the squares of its items' distances from that. The mean of the sum is
// rounded, so that the distances from it have a mean of their own, which is taken too: items that
// are all alike then have none left.
static ct_status centre(void *context, const struct ct__tile *tile, size_t *row) {
    const struct constants *c = context;
    char *items = tile->in.n == BLOCK ? c->block : c->last;
    const struct ct__operand in = ct__tile_in(tile), made = ct__tile_scratch(tile);
    const struct ct__operand square[] = {made, made};
    ct_status status = take_mean(tile, &in, MEAN, items, row);
    if (status == CT_OK)
        status = take_mean(tile, &made, SQUARES, items, row);
    if (status)
        return status;
    size_t done = rows_op(tile, CT_OP_add, tile->out[MEAN], tile->out[SQUARES], false);
    *row = tile->row + done;
    if (done < tile->in.count)
        return CT_EOVERFLOW;
    status = ct__tile_op(tile, CT_OP_mul, square, row);
    return status ? status : ct__tile_sum(tile, &made, SQUARES, row);
}

// --- merging

// One operation of a merge over some pairs of blocks; each operand is a block or what lies between.
struct merge {
    const struct ct__blocks *b;
    size_t first, pairs;
    size_t *row;
    ct_status status;
};

// An operand: item j of pair i at i * pair + j items.
struct blocks_at {
    char *x;
    size_t pair;
};

static void merge_op(struct merge *m, enum ct_op op, struct blocks_at a, struct blocks_at b,
                     struct blocks_at y) {
    ptrdiff_t size = (ptrdiff_t)m->b->scalar->size;
    const struct blocks_at all[] = {a, b, y};
    char *ptr[3];
    ptrdiff_t pair[3], item[3];
    for (int k = 0; k < 3; k++) {
        bool one = all[k].pair == 0; // one item for all
        pair[k] = (ptrdiff_t)all[k].pair * size;
        item[k] = one ? 0 : size;
        ptr[k] = all[k].x + (ptrdiff_t)m->first * pair[k];
    }
    if (m->status == CT_OK)
        m->status = ct__each(m->b->scalar, op, m->b->count, m->pairs, ptr, item, pair, m->row);
}

static bool set_weight(struct merge *m, char *weight, double value) {
    if (m->status == CT_OK && !m->b->scalar->from_double(m->b->scalar, weight, value)) {
        *m->row = 0;
        m->status = CT_EOVERFLOW;
    }
    return m->status == CT_OK;
}

// Pairs from m->first on, whose blocks have na and nb items:
//   mean = ma + d nb / n,  squares = (sa + sb) + d d (na nb / n),  where d = mb - ma.
static void merge_pairs(struct merge *m, const struct constants *c, double na, double nb) {
    const struct ct__blocks *b = m->b;
    size_t n = b->count, bytes = n * b->scalar->size, above = (b->blocks + 1) / 2 * bytes;
    struct blocks_at mean_a = {b->part[MEAN], 2 * n}, mean_b = {b->part[MEAN] + bytes, 2 * n};
    struct blocks_at sum_a = {b->part[SQUARES], 2 * n}, sum_b = {b->part[SQUARES] + bytes, 2 * n};
    struct blocks_at mean = {b->next[MEAN], n}, sum = {b->next[SQUARES], n};
    struct blocks_at away = {b->spare, n}, part = {b->spare + above, n}, weight = {c->weight, 0};
    merge_op(m, CT_OP_sub, mean_b, mean_a, away);
    if (set_weight(m, c->weight, nb / (na + nb)))
        merge_op(m, CT_OP_mul, away, weight, part);
    merge_op(m, CT_OP_add, mean_a, part, mean);
    merge_op(m, CT_OP_mul, away, away, part);
    if (set_weight(m, c->weight, na * (nb / (na + nb))))
        merge_op(m, CT_OP_mul, part, weight, part);
    merge_op(m, CT_OP_add, sum_a, sum_b, sum);
    merge_op(m, CT_OP_add, sum, part, sum);
}

static ct_status merge(struct ct__blocks *b, const struct constants *c, size_t *row) {
    for (; b->blocks > 1; ct__blocks_up(b)) {
        size_t pairs = b->blocks / 2, whole = b->blocks % 2 ? pairs : pairs - 1;
        struct merge m = {.b = b, .first = 0, .pairs = whole, .row = row};
        if (whole > 0)
            merge_pairs(&m, c, (double)b->full, (double)b->full);
        m.first = whole;
        m.pairs = pairs - whole; // the last block, which need not be whole
        if (m.pairs > 0)
            merge_pairs(&m, c, (double)b->full, (double)b->last);
        if (m.status)
            return m.status;
    }
    return CT_OK;
}

// --- rows

static ct_status finish(const ct_scalar *scalar, const struct constants *c,
                        const struct ct_fold_job *job, size_t *row) {
    char *const ptr[] = {job->y, c->divisor, job->y};
    char *const root[] = {job->y, job->y};
    const ptrdiff_t step[] = {job->y_next, 0, job->y_next};
    *row = ct_scalar_loop(scalar, CT_OP_div)(scalar, CT_OP_div, job->count, ptr, step);
    if (*row == job->count && c->root)
        *row = ct_scalar_loop(scalar, CT_OP_sqrt)(scalar, CT_OP_sqrt, job->count, root,
                                                  (const ptrdiff_t[]){step[0], step[2]});
    return *row < job->count ? CT_EOVERFLOW : CT_OK;
}

static ct_status spread_rows(void *context, const ct_scalar *scalar, const struct ct_fold_job *job,
                             size_t *done) {
    struct constants c = *(const struct constants *)context;
    const struct ct__real_kernels *kernels = ct__kernels_of(scalar);
    if (kernels) {
        kernels->spread(scalar, job);
        return finish(scalar, &c, job, done);
    }
    _Alignas(64) char own[64];
    char *weight = scalar->size <= sizeof own ? own : ct__alloc(scalar->size);
    if (!weight)
        return CT_ENOMEM;
    c.weight = weight; // a thread's own
    struct ct__blocks b;
    ct_status status = ct__blocks_make(&b, 2, scalar, job, centre, &c, done);
    if (status == CT_OK) {
        status = merge(&b, &c, done);
        b.part[MEAN] = b.part[SQUARES];
        if (status == CT_OK)
            ct__blocks_put(&b, job);
        ct__free(b.memory);
    }
    if (weight != own)
        ct__free(weight);
    return status ? status : finish(scalar, &c, job, done);
}

// A type without a NaN has no variance of too few items.
static void fail_constant(const struct ct__reduction *r, double n, int64_t ddof, double value) {
    if (isnan(value))
        ct__fail(CT_EDOMAIN, r->who,
                 "the %s of %.0f items with ddof %" PRId64 " has no value in %s", r->noun, n, ddof,
                 r->t->scalar->name);
    else
        ct__fail_value(r->who, r->t, value);
}

// The tangents of a dual that is NaN: there is no value near it that they could lead to.
static void lose_tangents(const ct_scalar *scalar, char *item) {
    const ct_scalar *part = scalar;
    while (part->base)
        part = part->base;
    for (size_t at = 0; at < scalar->size; at += part->size)
        part->from_double(part, item + at, (double)NAN);
}

// The items are of a dense tensor, which the caller frees.
static ct_tensor *make_constants(const struct ct__reduction *r, int64_t ddof, struct constants *c) {
    const ct_scalar *scalar = r->t->scalar;
    double n = (double)ct__reduce_length(r), last = fmod(n, BLOCK), left = n - (double)ddof;
    const double values[CONSTANTS] = {n < BLOCK ? last : BLOCK, last == 0 ? BLOCK : last,
                                      n > 0 && left > 0 ? left : (double)NAN};
    ct_tensor *items = ct__empty(r->who, scalar, 1, &(int64_t){CONSTANTS});
    char *at = items ? ct__first(items) : NULL;
    for (int i = 0; i < CONSTANTS && items; i++)
        if (!scalar->from_double(scalar, at + (size_t)i * scalar->size, values[i])) {
            fail_constant(r, n, ddof, values[i]);
            ct_free(items);
            return NULL;
        }
    if (scalar->base && isnan(values[CONSTANTS - 1]))
        lose_tangents(scalar, at + (CONSTANTS - 1) * scalar->size);
    c->block = at;
    c->last = at + scalar->size;
    c->divisor = at + 2 * scalar->size;
    return items;
}

static ct_tensor *spread(const char *who, bool root, const ct_tensor *t, int n, const int *axes,
                         int64_t ddof, bool keepdims) {
    struct ct__reduction r;
    struct constants c = {.root = root};
    const char *noun = root ? "standard deviation" : "variance";
    if (!ct__reduce_start(&r, who, noun, t, n, axes, keepdims))
        return NULL;
    if (!has_spread(t->scalar, c.root))
        return ct__reduce_lacks(&r), NULL;
    ct_tensor *result = ct__reduce_result(&r, t->scalar);
    if (!result || result->count == 0)
        return result;
    ct_tensor *items = make_constants(&r, ddof, &c);
    if (items)
        result = ct__reduced(&r, result, (double)NAN, spread_rows, &c);
    else
        ct_free(result);
    bool made = items != NULL;
    ct_free(items);
    return made ? result : NULL;
}

ct_tensor *ct_variance(const ct_tensor *t, int axis, int64_t ddof, bool keepdims) {
    return spread(__func__, false, t, 1, &axis, ddof, keepdims);
}

ct_tensor *ct_variance_axes(const ct_tensor *t, int n, const int *axes, int64_t ddof,
                            bool keepdims) {
    return spread(__func__, false, t, n, axes, ddof, keepdims);
}

ct_tensor *ct_std(const ct_tensor *t, int axis, int64_t ddof, bool keepdims) {
    return spread(__func__, true, t, 1, &axis, ddof, keepdims);
}

ct_tensor *ct_std_axes(const ct_tensor *t, int n, const int *axes, int64_t ddof, bool keepdims) {
    return spread(__func__, true, t, n, axes, ddof, keepdims);
}
