#include "tensor/tensor_impl.h"

#include "tensor/alloc.h"
#include "tensor/fail.h"
#include "tensor/move.h"
#include "tensor/parallel.h"

#include <string.h>

// --- copying items: a template over the item size, instantiated with constants

#define INLINE static inline __attribute__((always_inline))

INLINE void copy_steps(size_t size, size_t n, const char *restrict from, ptrdiff_t from_step,
                       char *restrict to, ptrdiff_t to_step) {
    for (size_t i = 0; i < n; i++, from += from_step, to += to_step)
        memcpy(to, from, size);
}

// The steps that are frequent become constants.
INLINE void copy_row(size_t size, size_t n, const char *from, ptrdiff_t from_step, char *to,
                     ptrdiff_t to_step) {
    ptrdiff_t next = (ptrdiff_t)size;
    if (from_step == next && to_step == next)
        memcpy(to, from, n * size);
    else if (from_step == 0 && to_step == next)
        copy_steps(size, n, from, 0, to, next);
    else if (to_step == next)
        copy_steps(size, n, from, from_step, to, next);
    else
        copy_steps(size, n, from, from_step, to, to_step);
}

void ct__copy_row(size_t size, size_t n, const char *from, ptrdiff_t from_step, char *to,
                  ptrdiff_t to_step) {
    switch (size) {
    case 1:
        copy_row(1, n, from, from_step, to, to_step);
        break;
    case 2:
        copy_row(2, n, from, from_step, to, to_step);
        break;
    case 4:
        copy_row(4, n, from, from_step, to, to_step);
        break;
    case 8:
        copy_row(8, n, from, from_step, to, to_step);
        break;
    case 16:
        copy_row(16, n, from, from_step, to, to_step);
        break;
    default:
        copy_row(size, n, from, from_step, to, to_step);
        break;
    }
}

static bool can_turn(size_t size) {
    return size == 1 || size == 4 || size == 8 || size == 16;
}

enum {
    LINE = 64,
    SLICE_BYTES = 4 * LINE, // of a plane, along the axis that is dense in the source
    STRIP_SLICES = 16,      // that are worked on together: 4 KiB, so that a page is met once
    STRIP_ITEMS = 1024,     // at most in them, as each is a row of the target
    // Bytes of a row that is streamed: the lines at the ends of rows are written half past the caches.
    STREAMED_ROW = 16 * LINE,
};

// A copy as it is cut into passes: a pass is one row, or one slice of a plane.
struct copy {
    struct ct__nest nest; // the first operand is the target, the second the source
    int inner;            // loops of a pass: 0 for a single item, 1 for rows, 2 for planes
    size_t size;
    size_t slices; // of a plane; 1 for rows
    bool large;    // the target does not stay in a core's own cache
    bool streams;  // it is written past the caches
    const char *from;
    char *to;
};

static void copy_slices(const struct copy *c, size_t slice, size_t count, const char *from,
                        char *to) {
    const struct ct__nest *nest = &c->nest;
    int last = nest->rank - 1;
    size_t most = SLICE_BYTES / c->size, m = (size_t)nest->shape[last - 1], begin = slice * most;
    ptrdiff_t size = (ptrdiff_t)c->size, to_step = nest->step[0][last - 1] * size;
    ct__moves()->turn(c->size, m - begin < count * most ? m - begin : count * most,
                      (size_t)nest->shape[last], from + (ptrdiff_t)begin * size,
                      nest->step[1][last] * size, to + (ptrdiff_t)begin * to_step, to_step,
                      c->large);
}

// How many slices from one on are turned together: to the end of the strip, the plane, or the work.
static size_t slices_from(const struct copy *c, size_t slice, size_t left) {
    size_t most = STRIP_ITEMS * c->size / SLICE_BYTES, count = c->slices - slice;
    most = most < STRIP_SLICES ? most : STRIP_SLICES;
    most -= slice % most;
    count = count < most ? count : most;
    return count < left ? count : left;
}

static void copy_run(const struct copy *c, size_t n, const char *from, char *to) {
    int last = c->nest.rank - 1;
    ptrdiff_t size = (ptrdiff_t)c->size;
    ptrdiff_t from_step = c->nest.step[1][last] * size, to_step = c->nest.step[0][last] * size;
    if (c->streams && from_step == size && to_step == size && n * c->size >= STREAMED_ROW)
        ct__moves()->stream(to, from, n * c->size);
    else if (from_step == 0 && to_step == size && LINE % c->size == 0)
        ct__moves()->fill(to, c->size, from, n * c->size, c->streams);
    else
        ct__copy_row(c->size, n, from, from_step, to, to_step);
}

static void end_copy(const struct copy *c) {
    if (c->streams || c->large)
        ct__moves()->end();
}

static void copy_passes(void *context, size_t begin, size_t end) {
    const struct copy *c = context;
    int outer = c->nest.rank - c->inner;
    ptrdiff_t size = (ptrdiff_t)c->size;
    struct ct__walk walk;
    ct__walk_start(&walk, &c->nest, outer, begin / c->slices);
    for (size_t i = begin, count = 1; i < end; i += count) {
        const char *from = c->from + walk.at[1] * size;
        char *to = c->to + walk.at[0] * size;
        if (c->inner == 2) {
            count = slices_from(c, i % c->slices, end - i);
            copy_slices(c, i % c->slices, count, from, to);
        } else {
            copy_run(c, (size_t)c->nest.shape[outer], from, to);
        }
        if ((i + count) % c->slices == 0)
            ct__walk_next(&walk, &c->nest, outer);
    }
    end_copy(c);
}

// Items of the only row that there is.
static void copy_span(void *context, size_t begin, size_t end) {
    const struct copy *c = context;
    ptrdiff_t way = (ptrdiff_t)(begin * c->size);
    copy_run(c, end - begin, c->from + way * c->nest.step[1][0], c->to + way * c->nest.step[0][0]);
    end_copy(c);
}

static void take_loop(struct ct__nest *nest, const struct ct__nest *from, int i) {
    ct__nest_add(nest, from->shape[i], (int64_t[]){from->step[0][i], from->step[1][i]});
}

// Brings the loop that is dense in the source next to the innermost, which is dense in the target.
static bool make_plane(struct ct__nest *nest) {
    int last = nest->rank - 1;
    if (last < 1 || nest->step[0][last] != 1 || nest->step[1][last] == 0 ||
        nest->step[1][last] == 1)
        return false;
    for (int i = 0; i < last; i++)
        if (nest->step[1][i] == 1) {
            struct ct__nest old = *nest;
            nest->rank = 0;
            for (int j = 0; j < last; j++)
                if (j != i)
                    take_loop(nest, &old, j);
            take_loop(nest, &old, i);
            take_loop(nest, &old, last);
            return true;
        }
    return false;
}

enum { PARALLEL_BYTES = 1 << 20 }; // less is not worth waking a thread for

static void run_copy(struct copy *c) {
    size_t bytes = ct__nest_passes(&c->nest, c->nest.rank) * c->size;
    c->streams = ct__streams(bytes);
    if (c->nest.rank == 0) {
        memcpy(c->to, c->from, c->size);
        return;
    }
    if (c->nest.rank == 1) {
        size_t n = (size_t)c->nest.shape[0], grain = PARALLEL_BYTES / c->size + 1;
        if (n <= grain)
            copy_span(c, 0, n);
        else
            ct__parallel_for(n, grain, copy_span, c);
        return;
    }
    if (can_turn(c->size) && make_plane(&c->nest)) {
        size_t m = (size_t)c->nest.shape[c->nest.rank - 2], most = SLICE_BYTES / c->size;
        c->inner = 2;
        c->slices = (m - 1) / most + 1;
        c->large = ct__outgrows(bytes);
    }
    size_t passes = ct__nest_passes(&c->nest, c->nest.rank - c->inner) * c->slices;
    ct__parallel_for(passes, PARALLEL_BYTES / (bytes / passes) + 1, copy_passes, c);
}

void ct__copy_items(size_t item_size, int rank, const int64_t *shape, const char *from,
                    const int64_t *from_strides, char *to, const int64_t *to_strides) {
    for (int i = 0; i < rank; i++)
        if (shape[i] == 0)
            return;
    struct copy c = {.nest = ct__nest_of(rank, shape, to_strides, from_strides),
                     .inner = 1,
                     .size = item_size,
                     .slices = 1,
                     .from = from,
                     .to = to};
    ct__nest_sort(&c.nest);
    ct__nest_fuse(&c.nest);
    run_copy(&c);
}

void ct__copy_out(const ct_tensor *t, char *to) {
    int64_t dense[CT_MAX_RANK];
    ct__dense_strides(t->rank, t->shape, dense);
    ct__copy_items(t->scalar->size, t->rank, t->shape, ct__first(t), t->strides, to, dense);
}

ct_tensor *ct__dense_copy(const char *who, const ct_tensor *t) {
    ct_tensor *copy = ct__empty(who, t->scalar, t->rank, t->shape);
    if (!copy)
        return NULL;
    ct__copy_out(t, ct__first(copy));
    ct__names_like(copy, t);
    return copy;
}

ct_tensor *ct_compact(const ct_tensor *t) {
    if (!t)
        return ct__null(__func__);
    return ct_is_dense(t) ? ct__share(__func__, t) : ct__dense_copy(__func__, t);
}

// --- leaving

ct_status ct_to_items(const ct_tensor *t, size_t bytes, void *items) {
    if (!t)
        return ct__fail_null_operand(__func__);
    size_t needed = t->count * t->scalar->size;
    if (bytes != needed) {
        char shape[CT__SHAPE_TEXT_BYTES];
        ct__format_shape(shape, sizeof shape, t->rank, t->shape);
        return ct__fail(CT_ESHAPE, __func__,
                        "a shape of %s of %s takes %zu bytes and there is room for %zu", shape,
                        t->scalar->name, needed, bytes);
    }
    if (bytes > 0 && !items)
        return ct__fail(CT_EINVAL, __func__, "the place for the items is NULL");
    ct__copy_out(t, items);
    return CT_OK;
}
