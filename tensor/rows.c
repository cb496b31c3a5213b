#include "tensor/index_impl.h"

#include "tensor/parallel.h"

#include <string.h>

enum { GRAIN_BYTES = 1 << 17 }; // fewer are not worth waking a thread for

static struct ct__nest nest_of_axes(const ct_tensor *t, int from, int to) {
    struct ct__nest nest;
    ct__nest_start(&nest, 1);
    for (int i = from; i < to; i++)
        ct__nest_add(&nest, t->shape[i], (int64_t[]){t->strides[i] * (int64_t)t->scalar->size});
    ct__nest_fuse(&nest);
    return nest;
}

void ct__rows_start(struct ct__rows *r, const ct_tensor *t, int before, int after, size_t places,
                    const int64_t *at, ptrdiff_t at_step, char *dense) {
    r->size = t->scalar->size;
    r->outer = nest_of_axes(t, 0, before);
    r->inner = nest_of_axes(t, after, t->rank);
    r->outers = ct__nest_passes(&r->outer, r->outer.rank);
    r->items = ct__nest_passes(&r->inner, r->inner.rank);
    r->places = places;
    r->at = at;
    r->at_step = at_step;
    r->tensor = ct__first(t);
    r->dense = dense;
}

static size_t row_bytes(const struct ct__rows *r) {
    return r->items * r->size;
}

// --- single items: the size is a constant

#define INLINE static inline __attribute__((always_inline))

INLINE void take_items(size_t size, size_t n, const char *from, const int64_t *at,
                       ptrdiff_t at_step, char *to) {
    for (size_t j = 0; j < n; j++)
        memcpy(to + j * size, from + at[j] * at_step, size);
}

static void take_items_of(size_t size, size_t n, const char *from, const int64_t *at,
                          ptrdiff_t at_step, char *to) {
    switch (size) {
    case 1:
        take_items(1, n, from, at, at_step, to);
        break;
    case 4:
        take_items(4, n, from, at, at_step, to);
        break;
    case 8:
        take_items(8, n, from, at, at_step, to);
        break;
    case 16:
        take_items(16, n, from, at, at_step, to);
        break;
    default:
        take_items(size, n, from, at, at_step, to);
        break;
    }
}

// --- rows of several items

// Copies one row between the tensor and dense memory.
static void move_row(const struct ct__rows *r, char *tensor, char *dense, bool taking) {
    int last = r->inner.rank - 1;
    ptrdiff_t size = (ptrdiff_t)r->size, step = last < 0 ? size : r->inner.step[0][last];
    size_t n = last < 0 ? 1 : (size_t)r->inner.shape[last];
    struct ct__walk walk;
    ct__walk_start(&walk, &r->inner, last < 0 ? 0 : last, 0);
    for (size_t done = 0; done < r->items; done += n) {
        char *there = tensor + (last > 0 ? walk.at[0] : 0), *here = dense + done * r->size;
        if (taking)
            ct__copy_row(r->size, n, there, step, here, size);
        else
            ct__copy_row(r->size, n, here, size, there, step);
        if (last > 0)
            ct__walk_next(&walk, &r->inner, last);
    }
}

static void take_run(const struct ct__rows *r, char *from, const int64_t *at, size_t n, char *to) {
    size_t bytes = row_bytes(r);
    if (r->items == 1)
        take_items_of(r->size, n, from, at, r->at_step, to);
    else if (r->inner.rank == 1 && r->inner.step[0][0] == (int64_t)r->size)
        for (size_t j = 0; j < n; j++)
            memcpy(to + j * bytes, from + at[j] * r->at_step, bytes);
    else
        for (size_t j = 0; j < n; j++)
            move_row(r, from + at[j] * r->at_step, to + j * bytes, true);
}

// A pass is one row.
static void take_passes(void *context, size_t begin, size_t end) {
    const struct ct__rows *r = context;
    struct ct__walk walk;
    ct__walk_start(&walk, &r->outer, r->outer.rank, begin / r->places);
    for (size_t j = begin % r->places; begin < end; j = 0) {
        size_t n = r->places - j < end - begin ? r->places - j : end - begin;
        take_run(r, r->tensor + walk.at[0], r->at + j, n, r->dense + begin * row_bytes(r));
        begin += n;
        ct__walk_next(&walk, &r->outer, r->outer.rank);
    }
}

static bool is_empty(const struct ct__rows *r) {
    return r->outers == 0 || r->places == 0 || r->items == 0;
}

void ct__rows_take(const struct ct__rows *r) {
    struct ct__rows job = *r;
    if (!is_empty(r))
        ct__parallel_for(r->outers * r->places, GRAIN_BYTES / row_bytes(r) + 1, take_passes, &job);
}

// A pass is an outer position, whose places come in order.
static void put_passes(void *context, size_t begin, size_t end) {
    const struct ct__rows *r = context;
    size_t bytes = row_bytes(r);
    struct ct__walk walk;
    ct__walk_start(&walk, &r->outer, r->outer.rank, begin);
    for (; begin < end; begin++, ct__walk_next(&walk, &r->outer, r->outer.rank))
        for (size_t j = 0; j < r->places; j++)
            move_row(r, r->tensor + walk.at[0] + r->at[j] * r->at_step,
                     r->dense + (begin * r->places + j) * bytes, false);
}

void ct__rows_put(const struct ct__rows *r) {
    struct ct__rows job = *r;
    if (!is_empty(r))
        ct__parallel_for(r->outers, GRAIN_BYTES / (r->places * row_bytes(r)) + 1, put_passes, &job);
}

// One outer position; the tensor is dense, so a row is one run. Returns the place of an overflow in
// `dense`, or NULL.
static const char *combine_pass(const struct ct__rows *r, const struct ct__combiner *by,
                                char *tensor, const char *dense, const char **target) {
    ptrdiff_t size = (ptrdiff_t)r->size;
    size_t done, j;
    if (r->items == 1) {
        done = ct__combine_places(by, r->places, tensor, 0, r->at, r->at_step, dense, size);
        *target = done < r->places ? tensor + r->at[done] * r->at_step : NULL;
        return done < r->places ? dense + done * r->size : NULL;
    }
    for (j = 0; j < r->places; j++, dense += row_bytes(r)) {
        char *row = tensor + r->at[j] * r->at_step;
        done = ct__combine_row(by, r->items, row, size, dense, size);
        *target = row + done * r->size;
        if (done < r->items)
            return dense + done * r->size;
    }
    return NULL;
}

bool ct__rows_combine(const struct ct__rows *r, const struct ct__combiner *by, const char **target,
                      const char **source) {
    struct ct__walk walk;
    if (is_empty(r))
        return true;
    ct__walk_start(&walk, &r->outer, r->outer.rank, 0);
    for (size_t o = 0; o < r->outers; o++, ct__walk_next(&walk, &r->outer, r->outer.rank)) {
        *source = combine_pass(r, by, r->tensor + walk.at[0],
                               r->dense + o * r->places * row_bytes(r), target);
        if (*source)
            return false;
    }
    return true;
}
