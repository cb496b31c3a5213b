/* Strict chains from left to right: cumulative sums and products, the ordered sum and dot. */

#include "tensor/reduce_impl.h"

#include "tensor/alloc.h"
#include "tensor/fail.h"
#include "tensor/parallel.h"

enum {
    NEAR = 2048,              // chains side by side that lie together
    FAR = 64,                 // and that do not: each has a line of the cache of its own
    PARALLEL_ITEMS = 1 << 15, // fewer are not worth waking a thread for
    BLOCK = 256,              // products of a dot at a time
};

// --- cumulative

struct chains {
    const ct_scalar *scalar;
    enum ct_op op;
    size_t n; // items of a chain, and their steps in bytes
    ptrdiff_t x_step, y_step;
    struct ct__nest nest; // of the chains' first items; the innermost loop is cut
    size_t width, pieces;
    const char *x;
    char *y;
    _Atomic size_t failed; // the lowest item of the result that has no value
};

// One chain; the items done.
static size_t chain(const ct_scalar *scalar, enum ct_op op, size_t n, const char *x,
                    ptrdiff_t x_step, char *y, ptrdiff_t y_step) {
    if (scalar->chain)
        return scalar->chain(scalar, op, n, x, x_step, y, y_step);
    ct_loop_fn *loop = ct_scalar_loop(scalar, op);
    const ptrdiff_t step[] = {0, 0, 0};
    memcpy(y, x, scalar->size);
    for (size_t i = 1; i < n; i++) {
        x += x_step;
        char *const ptr[] = {y, (char *)(uintptr_t)x, y + y_step};
        y += y_step;
        if (loop(scalar, op, 1, ptr, step) < 1)
            return i;
    }
    return n;
}

// Chains of their own: those that lie apart, each a walk through memory.
static void run_apart(struct chains *c, size_t width, const char *x, char *y, ptrdiff_t x_next,
                      ptrdiff_t y_next) {
    for (size_t j = 0; j < width; j++, x += x_next, y += y_next) {
        size_t done = chain(c->scalar, c->op, c->n, x, c->x_step, y, c->y_step);
        if (done < c->n) {
            const char *at = y + (ptrdiff_t)done * c->y_step;
            ct__keep_lowest(&c->failed, (size_t)(at - c->y) / c->scalar->size);
        }
    }
}

// A chain that has failed ends, and with it those beyond it: only one before it can fail at a lower
// index of the result.
static void run_piece(struct chains *c, size_t width, const char *x, char *y, ptrdiff_t x_next,
                      ptrdiff_t y_next) {
    size_t size = c->scalar->size;
    if (width == 1 || (c->width == FAR && c->scalar->chain)) {
        run_apart(c, width, x, y, x_next, y_next);
        return;
    }
    ct_loop_fn *loop = ct_scalar_loop(c->scalar, c->op);
    const ptrdiff_t step[] = {y_next, x_next, y_next};
    for (size_t j = 0; j < width; j++)
        memcpy(y + (ptrdiff_t)j * y_next, x + (ptrdiff_t)j * x_next, size);
    for (size_t i = 1; i < c->n && width > 0; i++) {
        x += c->x_step;
        char *const ptr[] = {y, (char *)(uintptr_t)x, y + c->y_step};
        y += c->y_step;
        size_t done = loop(c->scalar, c->op, width, ptr, step);
        if (done < width) {
            const char *at = y + (ptrdiff_t)done * y_next;
            ct__keep_lowest(&c->failed, (size_t)(at - c->y) / size);
            width = done;
        }
    }
}

static void run_chains(void *context, size_t begin, size_t end) {
    struct chains *c = context;
    int outer = c->nest.rank - 1;
    ptrdiff_t size = (ptrdiff_t)c->scalar->size;
    ptrdiff_t x_next = c->nest.step[0][outer] * size, y_next = c->nest.step[1][outer] * size;
    for (size_t i = begin; i < end; i++) {
        struct ct__walk walk;
        ct__walk_start(&walk, &c->nest, outer, i / c->pieces);
        size_t first = i % c->pieces * c->width, left = (size_t)c->nest.shape[outer] - first;
        run_piece(c, left < c->width ? left : c->width,
                  c->x + walk.at[0] * size + (ptrdiff_t)first * x_next,
                  c->y + walk.at[1] * size + (ptrdiff_t)first * y_next, x_next, y_next);
    }
}

static void plan_chains(struct chains *c, const ct_tensor *t, const ct_tensor *result, int axis) {
    ct__nest_start(&c->nest, 2);
    for (int i = 0; i < t->rank; i++)
        if (i != axis)
            ct__nest_add(&c->nest, t->shape[i], (int64_t[]){t->strides[i], result->strides[i]});
    ct__nest_sort(&c->nest);
    ct__nest_fuse(&c->nest);
    ct__nest_have_row(&c->nest);
    int inner = c->nest.rank - 1;
    c->width = imaxabs(c->nest.step[0][inner]) <= 1 && c->nest.step[1][inner] == 1 ? NEAR : FAR;
    c->pieces = ((size_t)c->nest.shape[inner] - 1) / c->width + 1;
}

static ct_tensor *cumulate(const char *who, const char *noun, enum ct_op op, const ct_tensor *t,
                           int axis) {
    if (ct__check_axis(who, t->rank, axis, &axis))
        return NULL;
    if (!ct_scalar_has(t->scalar, op))
        return ct__fail_null(CT_EDTYPE, who, "%s has no %s", t->scalar->name, noun);
    ct_tensor *result = ct__empty(who, t->scalar, t->rank, t->shape);
    if (!result)
        return NULL;
    ct__names_like(result, t);
    if (t->count == 0)
        return result;
    ptrdiff_t size = (ptrdiff_t)t->scalar->size;
    struct chains c = {.scalar = t->scalar,
                       .op = op,
                       .n = (size_t)t->shape[axis],
                       .x_step = t->strides[axis] * size,
                       .y_step = result->strides[axis] * size,
                       .x = ct__first(t),
                       .y = ct__first(result),
                       .failed = SIZE_MAX};
    plan_chains(&c, t, result, axis);
    size_t passes = ct__nest_passes(&c.nest, c.nest.rank - 1) * c.pieces;
    ct__parallel_for(passes, PARALLEL_ITEMS / (t->count / passes) + 1, run_chains, &c);
    size_t failed = atomic_load(&c.failed);
    if (failed == SIZE_MAX)
        return result;
    char text[CT__AT_INDEX_BYTES];
    ct_free(result);
    return ct__fail_null(CT_EOVERFLOW, who, "the %s%s does not fit %s", noun,
                         ct__at_index(text, t->rank, t->shape, failed), t->scalar->name);
}

// With CT_ALL the items as one axis.
static ct_tensor *cumulative(const char *who, const char *noun, enum ct_op op, const ct_tensor *t,
                             int axis) {
    if (!t)
        return ct__null(who);
    if (axis != CT_ALL)
        return cumulate(who, noun, op, t, axis);
    ct_tensor *flat = ct__as(who, ct_reshape(t, 1, &(int64_t){(int64_t)t->count}));
    return ct__then(flat, flat ? cumulate(who, noun, op, flat, 0) : NULL);
}

ct_tensor *ct_cumsum(const ct_tensor *t, int axis) {
    return cumulative(__func__, "cumulative sum", CT_OP_add, t, axis);
}

ct_tensor *ct_cumprod(const ct_tensor *t, int axis) {
    return cumulative(__func__, "cumulative product", CT_OP_mul, t, axis);
}

// --- ordered

static ct_status chain_rows(void *context, const ct_scalar *scalar, const struct ct_fold_job *job,
                            size_t *done) {
    (void)context;
    if (job->count == 1) {
        bool whole = chain(scalar, CT_OP_add, job->n, job->x, job->x_step, job->y, 0) == job->n;
        *done = whole;
        return whole ? CT_OK : CT_EOVERFLOW;
    }
    ct_loop_fn *add = ct_scalar_loop(scalar, CT_OP_add);
    bool near = imaxabs(job->x_next) <= (intmax_t)scalar->size;
    const size_t most = near ? NEAR : FAR;
    const ptrdiff_t step[] = {job->y_next, job->x_next, job->y_next};
    *done = job->count;
    for (size_t j = 0; j < *done; j += most) {
        size_t width = *done - j < most ? *done - j : most;
        const char *x = job->x + (ptrdiff_t)j * job->x_next;
        char *y = job->y + (ptrdiff_t)j * job->y_next;
        for (size_t k = 0; k < width; k++)
            memcpy(y + (ptrdiff_t)k * job->y_next, x + (ptrdiff_t)k * job->x_next, scalar->size);
        for (size_t i = 1; i < job->n && width > 0; i++) {
            x += job->x_step;
            char *const ptr[] = {y, (char *)(uintptr_t)x, y};
            size_t here = add(scalar, CT_OP_add, width, ptr, step);
            if (here < width)
                *done = j + (width = here);
        }
    }
    return *done < job->count ? CT_EOVERFLOW : CT_OK;
}

static ct_tensor *sum_ordered(const char *who, const ct_tensor *t, int n, const int *axes,
                              bool keepdims) {
    struct ct__reduction r;
    if (!ct__reduce_start(&r, who, "ordered sum", t, n, axes, keepdims))
        return NULL;
    if (!ct_scalar_has(t->scalar, CT_OP_add))
        return ct__reduce_lacks(&r), NULL;
    if (r.mask == 0)
        return ct__share(who, t);
    return ct__reduced(&r, ct__reduce_result(&r, t->scalar), 0, chain_rows, NULL);
}

ct_tensor *ct_sum_ordered(const ct_tensor *t, int axis, bool keepdims) {
    return sum_ordered(__func__, t, 1, &axis, keepdims);
}

ct_tensor *ct_sum_ordered_axes(const ct_tensor *t, int n, const int *axes, bool keepdims) {
    return sum_ordered(__func__, t, n, axes, keepdims);
}

// *sum = the chain of products; @return the number of them that went well. `room` has one item
// more than a block: the chain so far goes before the products.
static size_t dot_chain(const ct_tensor *a, const ct_tensor *b, char *sum, char *room) {
    const ct_scalar *scalar = a->scalar;
    ptrdiff_t size = (ptrdiff_t)scalar->size;
    ct_loop_fn *mul = ct_scalar_loop(scalar, CT_OP_mul);
    const ptrdiff_t steps[] = {a->strides[0] * size, b->strides[0] * size, size};
    for (size_t i = 0; i < a->count; i += BLOCK) {
        size_t n = a->count - i < BLOCK ? a->count - i : BLOCK, before = i > 0;
        char *const ptr[] = {ct__first(a) + (ptrdiff_t)i * steps[0],
                             ct__first(b) + (ptrdiff_t)i * steps[1], room + size};
        size_t products = mul(scalar, CT_OP_mul, n, ptr, steps), length = products + before;
        memcpy(room, sum, (size_t)size);
        const char *first = before ? room : room + size;
        size_t done = length > 0 ? chain(scalar, CT_OP_add, length, first, size, sum, 0) : 0;
        if (done < length || products < n)
            return i + done - before;
    }
    return a->count;
}

static ct_status check_dot(const char *who, const ct_tensor *a, const ct_tensor *b) {
    if (a->scalar != b->scalar)
        return ct__fail(CT_EDTYPE, who, "dot_ordered needs one scalar type: %s and %s were given",
                        a->scalar->name, b->scalar->name);
    if (!ct_scalar_has(a->scalar, CT_OP_add) || !ct_scalar_has(a->scalar, CT_OP_mul))
        return ct__fail(CT_EDTYPE, who, "%s has no ordered dot", a->scalar->name);
    if (a->rank == 1 && b->rank == 1 && a->count == b->count)
        return CT_OK;
    char left[CT__SHAPE_TEXT_BYTES], right[CT__SHAPE_TEXT_BYTES];
    ct__format_shape(left, sizeof left, a->rank, a->shape);
    ct__format_shape(right, sizeof right, b->rank, b->shape);
    return ct__fail(CT_ESHAPE, who, "dot_ordered needs two vectors of one length: %s and %s", left,
                    right);
}

ct_tensor *ct_dot_ordered(const ct_tensor *a, const ct_tensor *b) {
    if (!a || !b)
        return ct__null(__func__);
    if (check_dot(__func__, a, b))
        return NULL;
    ct_tensor *result = ct__empty(__func__, a->scalar, 0, NULL);
    ct_tensor *products = result ? ct__empty(__func__, a->scalar, 1, &(int64_t){BLOCK + 1}) : NULL;
    size_t done = 0;
    if (products && ct__fill_new(__func__, result, 0) == CT_OK)
        done = dot_chain(a, b, ct__first(result), ct__first(products));
    if (products && done < a->count)
        ct__fail(CT_EOVERFLOW, __func__, "the ordered dot does not fit %s at index [%zu]",
                 a->scalar->name, done);
    bool good = products && done == a->count;
    ct_free(products);
    if (good)
        return result;
    ct_free(result);
    return NULL;
}
