#include "tensor/tensor_impl.h"

#include "tensor/alloc.h"
#include "tensor/fail.h"
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

enum { LINE = 64 };

// Swaps the axes of a tile of one cache line each way. Its lines are read whole, into a buffer, so
// that a long step under which they share a cache set does no harm.
INLINE void turn_tile(size_t size, const char *restrict from, ptrdiff_t from_step,
                      char *restrict to, ptrdiff_t to_step) {
    size_t side = LINE / size;
    _Alignas(LINE) char in[LINE * LINE];
    for (size_t j = 0; j < side; j++)
        memcpy(in + j * LINE, from + (ptrdiff_t)j * from_step, LINE);
    for (size_t i = 0; i < side; i++)
        for (size_t j = 0; j < side; j++)
            memcpy(to + (ptrdiff_t)i * to_step + (ptrdiff_t)(j * size), in + j * LINE + i * size,
                   size);
}

// A plane that is dense along m in `from` and along n in `to`: whole tiles, then the margins. It is
// a strip, whose m is small: each page of `from` and `to` is then met often enough.
INLINE void turn_plane(size_t size, size_t m, size_t n, const char *from, ptrdiff_t from_step,
                       char *to, ptrdiff_t to_step) {
    size_t side = LINE / size, whole_m = m / side * side, whole_n = n / side * side;
    ptrdiff_t next = (ptrdiff_t)size;
    for (size_t j = 0; j < whole_n; j += side)
        for (size_t i = 0; i < whole_m; i += side)
            turn_tile(size, from + (ptrdiff_t)i * next + (ptrdiff_t)j * from_step, from_step,
                      to + (ptrdiff_t)i * to_step + (ptrdiff_t)j * next, to_step);
    for (size_t j = whole_n; j < n; j++) // few columns of `to`, read along `from`
        copy_steps(size, whole_m, from + (ptrdiff_t)j * from_step, next, to + (ptrdiff_t)j * next,
                   to_step);
    for (size_t i = whole_m; i < m; i++)
        copy_steps(size, n, from + (ptrdiff_t)i * next, from_step, to + (ptrdiff_t)i * to_step,
                   next);
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

static void turn_plane_of(size_t size, size_t m, size_t n, const char *from, ptrdiff_t from_step,
                          char *to, ptrdiff_t to_step) {
    switch (size) {
    case 1:
        turn_plane(1, m, n, from, from_step, to, to_step);
        break;
    case 2:
        turn_plane(2, m, n, from, from_step, to, to_step);
        break;
    case 4:
        turn_plane(4, m, n, from, from_step, to, to_step);
        break;
    case 8:
        turn_plane(8, m, n, from, from_step, to, to_step);
        break;
    default:
        turn_plane(16, m, n, from, from_step, to, to_step);
        break;
    }
}

static bool can_turn(size_t size) {
    return size == 1 || size == 2 || size == 4 || size == 8 || size == 16;
}

enum { STRIP_BYTES = 8 * LINE }; // of a plane, along the axis that is dense in the source

// A copy as it is cut into passes: a pass is one row, or one strip of a plane.
struct copy {
    struct ct__nest nest; // the first operand is the target, the second the source
    int inner;            // loops of a pass: 0 for a single item, 1 for rows, 2 for planes
    size_t size;
    size_t strips; // of a plane; 1 for rows
    const char *from;
    char *to;
};

static void copy_strip(const struct copy *c, size_t strip, const char *from, char *to) {
    const struct ct__nest *nest = &c->nest;
    int last = nest->rank - 1;
    size_t most = STRIP_BYTES / c->size, m = (size_t)nest->shape[last - 1], begin = strip * most;
    ptrdiff_t size = (ptrdiff_t)c->size, to_step = nest->step[0][last - 1] * size;
    turn_plane_of(c->size, m - begin < most ? m - begin : most, (size_t)nest->shape[last],
                  from + (ptrdiff_t)begin * size, nest->step[1][last] * size,
                  to + (ptrdiff_t)begin * to_step, to_step);
}

static void copy_pass(const struct copy *c, size_t strip, const char *from, char *to) {
    const struct ct__nest *nest = &c->nest;
    int last = nest->rank - 1;
    ptrdiff_t size = (ptrdiff_t)c->size;
    if (c->inner == 0)
        memcpy(to, from, c->size);
    else if (c->inner == 1)
        ct__copy_row(c->size, (size_t)nest->shape[last], from, nest->step[1][last] * size, to,
                     nest->step[0][last] * size);
    else
        copy_strip(c, strip, from, to);
}

static void copy_passes(void *context, size_t begin, size_t end) {
    const struct copy *c = context;
    int outer = c->nest.rank - c->inner;
    ptrdiff_t size = (ptrdiff_t)c->size;
    struct ct__walk walk;
    ct__walk_start(&walk, &c->nest, outer, begin / c->strips);
    for (size_t i = begin; i < end; i++) {
        copy_pass(c, i % c->strips, c->from + walk.at[1] * size, c->to + walk.at[0] * size);
        if ((i + 1) % c->strips == 0)
            ct__walk_next(&walk, &c->nest, outer);
    }
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

void ct__copy_items(size_t item_size, int rank, const int64_t *shape, const char *from,
                    const int64_t *from_strides, char *to, const int64_t *to_strides) {
    for (int i = 0; i < rank; i++)
        if (shape[i] == 0)
            return;
    struct copy c = {.nest = ct__nest_of(rank, shape, to_strides, from_strides),
                     .size = item_size,
                     .strips = 1,
                     .from = from,
                     .to = to};
    ct__nest_sort(&c.nest);
    ct__nest_fuse(&c.nest);
    c.inner = c.nest.rank > 0;
    if (can_turn(item_size) && make_plane(&c.nest)) {
        size_t m = (size_t)c.nest.shape[c.nest.rank - 2], most = STRIP_BYTES / item_size;
        c.inner = 2;
        c.strips = (m - 1) / most + 1;
    }
    size_t passes = ct__nest_passes(&c.nest, c.nest.rank - c.inner) * c.strips;
    size_t bytes = ct__nest_passes(&c.nest, c.nest.rank) * item_size;
    ct__parallel_for(passes, PARALLEL_BYTES / (bytes / passes) + 1, copy_passes, &c);
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
