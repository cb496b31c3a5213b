/* Reductions of types that bring none: the contract of kernels/kern_fold.h in the type's own ops. */

#include "tensor/scalar_default.h"

#include "tensor/parallel.h"

#include <stdatomic.h>
#include <string.h>

enum {
    LANES = 16,     /* the contract */
    BLOCK = 1024,   /* the contract */
    LEVELS = 56,    /* of pairing: more blocks do not fit in 64 bits of items */
    PARALLEL = 4096 /* items that are not worth waking a thread for */
};

static bool has(const ct_scalar *scalar, enum ct_op op) {
    return ct__primitive_loop(scalar, op) != NULL;
}

/* --- lane[i] = lane[i] joined with b[i] --- */

/* The larger or smaller of each pair by the order alone; a NaN, if the type can tell one, stays. */
static bool choose(const ct_scalar *self, enum ct_fold fold, size_t n, char *lane, const char *b,
                   ptrdiff_t b_step) {
    unsigned char take[LANES], is_nan[LANES] = {0};
    ptrdiff_t size = (ptrdiff_t)self->size;
    bool max = fold == CT_FOLD_MAX;
    if (!ct__run_two(self, CT_OP_less, n, max ? lane : b, max ? size : b_step, max ? b : lane,
                     max ? b_step : size, (char *)take, 1))
        return false;
    if (has(self, CT_OP_not_equal) &&
        !ct__run_two(self, CT_OP_not_equal, n, b, b_step, b, b_step, (char *)is_nan, 1))
        return false;
    for (size_t i = 0; i < n; i++)
        if (take[i] || is_nan[i])
            memcpy(lane + (ptrdiff_t)i * size, b + (ptrdiff_t)i * b_step, self->size);
    return true;
}

static enum ct_op op_of(enum ct_fold fold) {
    return fold == CT_FOLD_SUM    ? CT_OP_add
           : fold == CT_FOLD_PROD ? CT_OP_mul
           : fold == CT_FOLD_MAX  ? CT_OP_maximum
                                  : CT_OP_minimum;
}

static bool join(const ct_scalar *self, enum ct_fold fold, size_t n, char *lane, const char *b,
                 ptrdiff_t b_step) {
    enum ct_op op = op_of(fold);
    ptrdiff_t size = (ptrdiff_t)self->size;
    if (!has(self, op))
        return choose(self, fold, n, lane, b, b_step);
    return ct__run_two(self, op, n, lane, size, b, b_step, lane, size);
}

/* --- one reduction --- */

/* A block of m <= 1024 items, into the first of the lanes. */
static bool fold_block(const ct_scalar *self, enum ct_fold fold, const char *x, ptrdiff_t step,
                       size_t m, char *lane) {
    size_t size = self->size, present = m < LANES ? m : LANES;
    for (size_t l = 0; l < present; l++)
        memcpy(lane + l * size, x + (ptrdiff_t)l * step, size);
    for (size_t i = LANES; i < m; i += LANES)
        if (!join(self, fold, m - i < LANES ? m - i : LANES, lane, x + (ptrdiff_t)i * step, step))
            return false;
    for (size_t h = LANES / 2; h >= 1; h /= 2) {
        if (present <= h)
            continue;
        if (!join(self, fold, present - h, lane, lane + h * size, (ptrdiff_t)size))
            return false;
        present = h;
    }
    return true;
}

/* Blocks are paired as they come: a counter in binary, whose digits are whole subtrees. */
static bool fold_row(const ct_scalar *self, enum ct_fold fold, const char *x, ptrdiff_t step,
                     size_t n, char *result) {
    _Alignas(CT__ITEM_ALIGN) char lane[LANES * CT__DEFAULT_ITEM_BYTES];
    _Alignas(CT__ITEM_ALIGN) char node[LEVELS * CT__DEFAULT_ITEM_BYTES];
    size_t size = self->size, top = 0;
    for (size_t at = 0, blocks = 0; at < n; at += BLOCK, blocks++) {
        if (!fold_block(self, fold, x + (ptrdiff_t)at * step, step, n - at < BLOCK ? n - at : BLOCK,
                        lane))
            return false;
        memcpy(node + top++ * size, lane, size);
        for (size_t digit = blocks; digit & 1; digit >>= 1, top--)
            if (!join(self, fold, 1, node + (top - 2) * size, node + (top - 1) * size, 0))
                return false;
    }
    for (; top > 1; top--)
        if (!join(self, fold, 1, node + (top - 2) * size, node + (top - 1) * size, 0))
            return false;
    memcpy(result, node, size);
    return true;
}

static bool reduce(const ct_scalar *self, enum ct_fold fold, const char *x, ptrdiff_t step,
                   size_t n, char *y) {
    if (n > 0)
        return fold_row(self, fold, x, step, n, y);
    return self->from_double(self, y, fold == CT_FOLD_PROD ? 1 : 0);
}

/* The place of the first item that is the extreme: one is, where the order is total. */
static bool find(const ct_scalar *self, enum ct_fold extreme, const char *x, ptrdiff_t step,
                 size_t n, char *y) {
    _Alignas(CT__ITEM_ALIGN) char best[CT__DEFAULT_ITEM_BYTES];
    if (!fold_row(self, extreme, x, step, n, best))
        return false;
    for (size_t i = 0; i < n; i++)
        if (self->equal(self, x + (ptrdiff_t)i * step, best)) {
            int64_t place = (int64_t)i;
            memcpy(y, &place, sizeof place);
            return true;
        }
    return false;
}

/* --- jobs --- */

struct task {
    const ct_scalar *self;
    enum ct_fold fold;
    const struct ct_fold_job *job;
    _Atomic size_t first_fault; /* the first reduction without a result */
};

static void run_range(void *context, size_t begin, size_t end) {
    struct task *task = context;
    const struct ct_fold_job *job = task->job;
    for (size_t j = begin; j < end; j++) {
        const char *x = job->x + (ptrdiff_t)j * job->x_next;
        char *y = job->y + (ptrdiff_t)j * job->y_next;
        bool done = task->fold == CT_FOLD_ARGMAX
                        ? find(task->self, CT_FOLD_MAX, x, job->x_step, job->n, y)
                    : task->fold == CT_FOLD_ARGMIN
                        ? find(task->self, CT_FOLD_MIN, x, job->x_step, job->n, y)
                        : reduce(task->self, task->fold, x, job->x_step, job->n, y);
        if (!done) {
            ct__keep_lowest(&task->first_fault, j);
            return; /* those after it count for nothing */
        }
    }
}

static size_t run(const ct_scalar *self, enum ct_fold fold, const struct ct_fold_job *job) {
    struct task task = {.self = self, .fold = fold, .job = job};
    atomic_init(&task.first_fault, job->count);
    ct__parallel_for(job->count, PARALLEL / (job->n + 1) + 1, run_range, &task);
    return atomic_load(&task.first_fault);
}

#define FOLD(name, fold)                                                                           \
    static size_t name(const ct_scalar *self, const struct ct_fold_job *job) {                     \
        return run(self, fold, job);                                                               \
    }
FOLD(run_sum, CT_FOLD_SUM)
FOLD(run_max, CT_FOLD_MAX)
FOLD(run_min, CT_FOLD_MIN)
FOLD(run_prod, CT_FOLD_PROD)
FOLD(run_argmax, CT_FOLD_ARGMAX)
FOLD(run_argmin, CT_FOLD_ARGMIN)

ct_fold_fn *ct__default_fold(const ct_scalar *scalar, enum ct_fold fold) {
    bool ordered = scalar->traits & CT_ORDERED && has(scalar, CT_OP_less);
    bool max = ordered || has(scalar, CT_OP_maximum), min = ordered || has(scalar, CT_OP_minimum);
    if (scalar->size > CT__DEFAULT_ITEM_BYTES)
        return NULL;
    switch (fold) {
    case CT_FOLD_SUM:
        return has(scalar, CT_OP_add) ? run_sum : NULL;
    case CT_FOLD_PROD:
        return has(scalar, CT_OP_mul) ? run_prod : NULL;
    case CT_FOLD_MAX:
        return max ? run_max : NULL;
    case CT_FOLD_MIN:
        return min ? run_min : NULL;
    case CT_FOLD_ARGMAX:
        return max && scalar->traits & CT_ORDERED ? run_argmax : NULL;
    case CT_FOLD_ARGMIN:
        return min && scalar->traits & CT_ORDERED ? run_argmin : NULL;
    case CT_FOLD_COUNT:
        break;
    }
    return NULL;
}
