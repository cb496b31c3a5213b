#include "tensor/blocks.h"

#include "tensor/parallel.h"

#include <stdatomic.h>
#include <string.h>

enum { MAX_ARITY = 3 };

/* --- items between a dense block and wherever they lie --- */

static void copy_1(size_t n, const char *from, ptrdiff_t from_step, char *to, ptrdiff_t to_step) {
    for (size_t i = 0; i < n; i++)
        to[(ptrdiff_t)i * to_step] = from[(ptrdiff_t)i * from_step];
}

static void copy_4(size_t n, const char *from, ptrdiff_t from_step, char *to, ptrdiff_t to_step) {
    for (size_t i = 0; i < n; i++)
        memcpy(to + (ptrdiff_t)i * to_step, from + (ptrdiff_t)i * from_step, 4);
}

static void copy_8(size_t n, const char *from, ptrdiff_t from_step, char *to, ptrdiff_t to_step) {
    for (size_t i = 0; i < n; i++)
        memcpy(to + (ptrdiff_t)i * to_step, from + (ptrdiff_t)i * from_step, 8);
}

static void copy(size_t size, size_t n, const char *from, ptrdiff_t from_step, char *to,
                 ptrdiff_t to_step) {
    if (from_step == (ptrdiff_t)size && to_step == (ptrdiff_t)size)
        memcpy(to, from, n * size);
    else if (size == 1)
        copy_1(n, from, from_step, to, to_step);
    else if (size == 4)
        copy_4(n, from, from_step, to, to_step);
    else
        copy_8(n, from, from_step, to, to_step);
}

static bool is_dense(size_t size, const char *p, ptrdiff_t step) {
    return step == (ptrdiff_t)size && (uintptr_t)p % size == 0;
}

/* --- elementwise --- */

/* The bytes of an item of the operands, then of the result. */
static void item_sizes(enum ct_op op, int arity, size_t size, size_t sizes[MAX_ARITY + 1]) {
    for (int i = 0; i <= arity; i++)
        sizes[i] = size;
    if (ct_op_kind_of(op) == CT_KIND_SELECT)
        sizes[0] = 1;
    if (ct_op_gives_mask(op))
        sizes[arity] = 1;
}

/* Whether blocks may be written where they belong: truth values, which no op can fail to give, dense,
   and apart from all operands, as a block is promised. */
static bool goes_straight(int arity, const size_t sizes[], size_t n, char *const ptr[],
                          const ptrdiff_t step[]) {
    uintptr_t out = (uintptr_t)ptr[arity];
    if (sizes[arity] != 1 || step[arity] != 1)
        return false;
    for (int i = 0; i < arity; i++) {
        uintptr_t in = (uintptr_t)ptr[i];
        if (step[i] < 0 || (in < out + n && out < in + n * (size_t)step[i] + sizes[i]))
            return false;
    }
    return true;
}

// Whether operands of bytes follow each other.
static bool all_dense(int arity, const ptrdiff_t step[]) {
    for (int i = 0; i < arity; i++)
        if (step[i] != 1)
            return false;
    return true;
}

size_t ct__run_blocks(ct__block_fn *run, size_t size, enum ct_op op, size_t n, char *const ptr[],
                      const ptrdiff_t step[]) {
    _Alignas(64) char block[MAX_ARITY + 1][CT__BLOCK * sizeof(int64_t)];
    const void *in[MAX_ARITY];
    int arity = ct_op_arity(op);
    size_t sizes[MAX_ARITY + 1];
    item_sizes(op, arity, size, sizes);
    bool straight = goes_straight(arity, sizes, n, ptr, step);
    size_t most = straight && size == 1 && all_dense(arity, step) ? n : CT__BLOCK;
    for (size_t at = 0; at < n; at += most) {
        size_t items = n - at < most ? n - at : most;
        for (int i = 0; i < arity; i++) {
            const char *p = ptr[i] + (ptrdiff_t)at * step[i];
            bool dense = is_dense(sizes[i], p, step[i]);
            in[i] = dense ? p : block[i];
            if (!dense && (at == 0 || step[i] != 0))
                copy(sizes[i], items, p, step[i], block[i], (ptrdiff_t)sizes[i]);
        }
        char *out = straight ? ptr[arity] + at : block[arity];
        size_t done = run(items, in, out);
        if (!straight)
            copy(sizes[arity], done, out, (ptrdiff_t)sizes[arity],
                 ptr[arity] + (ptrdiff_t)at * step[arity], step[arity]);
        if (done < items)
            return at + done;
    }
    return n;
}

/* --- folds --- */

enum {
    GROUP = 16,               /* neighbouring reductions that are copied side by side */
    LINE = 64,                /* so that the rows of a group do not share their sets of a cache */
    PARTS = 32,               /* of one long reduction */
    PARALLEL_ITEMS = 1 << 17, /* fewer are not worth waking a thread for */
};

/* Items [begin, end) of `count` reductions from the j-th on, at most GROUP, into their states. */
static void take_blocks(const struct ct__block_fold *fold, const struct ct_fold_job *job, size_t j,
                        size_t count, size_t begin, size_t end, struct ct__fold_state *states) {
    _Alignas(64) char block[GROUP][CT__BLOCK * sizeof(int64_t) + LINE];
    const char *x = job->x + (ptrdiff_t)j * job->x_next;
    size_t size = fold->size;
    bool dense = is_dense(size, x, job->x_step) && job->x_next % (ptrdiff_t)size == 0;
    size_t most = dense ? CT__FOLD_PIECE : CT__BLOCK;
    for (size_t at = begin; at < end; at += most) {
        size_t items = end - at < most ? end - at : most;
        const char *p = x + (ptrdiff_t)at * job->x_step;
        for (size_t i = 0; i < items && !dense && count > 1; i++)
            copy(size, count, p + (ptrdiff_t)i * job->x_step, job->x_next, block[0] + i * size,
                 sizeof block[0]);
        if (!dense && count == 1)
            copy(size, items, p, job->x_step, block[0], (ptrdiff_t)size);
        for (size_t g = 0; g < count; g++)
            fold->block(&states[g], dense ? p + (ptrdiff_t)g * job->x_next : block[g], items);
    }
}

/* The same for any number of reductions. */
static void take_in(const struct ct__block_fold *fold, const struct ct_fold_job *job, size_t j,
                    size_t count, size_t begin, size_t end, struct ct__fold_state *states) {
    const char *x = job->x + (ptrdiff_t)j * job->x_next;
    bool aligned = is_dense(fold->size, x, job->x_next) && job->x_step % (ptrdiff_t)fold->size == 0;
    if (fold->columns && count == CT__FOLD_COLUMNS && aligned) {
        for (size_t at = begin; at < end; at += CT__FOLD_PIECE)
            fold->columns(states, x + (ptrdiff_t)at * job->x_step, job->x_step,
                          end - at < CT__FOLD_PIECE ? end - at : CT__FOLD_PIECE);
        return;
    }
    for (size_t g = 0; g < count; g += GROUP)
        take_blocks(fold, job, j + g, count - g < GROUP ? count - g : GROUP, begin, end,
                    states + g);
}

/* Groups of reductions, spread over threads. */
struct groups {
    const struct ct__block_fold *fold;
    const struct ct_fold_job *job;
    size_t group;         /* reductions in each */
    _Atomic size_t fault; /* the first reduction that has no result */
};

static void run_groups(void *context, size_t begin, size_t end) {
    struct groups *groups = context;
    const struct ct_fold_job *job = groups->job;
    struct ct__fold_state states[CT__FOLD_COLUMNS];
    for (size_t i = begin; i < end; i++) {
        size_t j = i * groups->group;
        size_t count = job->count - j < groups->group ? job->count - j : groups->group;
        for (size_t g = 0; g < count; g++)
            states[g] = groups->fold->start;
        take_in(groups->fold, job, j, count, 0, job->n, states);
        for (size_t g = 0; g < count; g++)
            if (!groups->fold->finish(&states[g], job->y + (ptrdiff_t)(j + g) * job->y_next))
                ct__keep_lowest(&groups->fault, j + g);
    }
}

/* Pieces of one long reduction, spread over threads. */
struct parts {
    const struct ct__block_fold *fold;
    const struct ct_fold_job *job;
    size_t j, part; /* items in each */
    struct ct__fold_state state[PARTS];
};

static void run_parts(void *context, size_t begin, size_t end) {
    struct parts *parts = context;
    for (size_t i = begin; i < end; i++) {
        size_t from = i * parts->part, to = from + parts->part;
        parts->state[i] = parts->fold->start;
        take_in(parts->fold, parts->job, parts->j, 1, from, to < parts->job->n ? to : parts->job->n,
                &parts->state[i]);
    }
}

static bool fold_long(const struct ct__block_fold *fold, const struct ct_fold_job *job, size_t j) {
    struct parts parts = {.fold = fold, .job = job, .j = j, .part = (job->n - 1) / PARTS + 1};
    size_t count = (job->n - 1) / parts.part + 1;
    ct__parallel_for(count, 1, run_parts, &parts);
    struct ct__fold_state state = parts.state[0];
    for (size_t i = 1; i < count; i++)
        fold->merge(&state, &parts.state[i]);
    return fold->finish(&state, job->y + (ptrdiff_t)j * job->y_next);
}

static size_t distance(ptrdiff_t step) {
    return step < 0 ? 0 - (size_t)step : (size_t)step;
}

size_t ct__fold_blocks(const struct ct__block_fold *fold, const struct ct_fold_job *job) {
    if (job->count < PARTS && job->n >= PARALLEL_ITEMS) {
        for (size_t j = 0; j < job->count; j++)
            if (!fold_long(fold, job, j))
                return j;
        return job->count;
    }
    struct groups groups = {.fold = fold, .job = job, .group = 1};
    if (distance(job->x_next) < distance(job->x_step))
        groups.group = CT__FOLD_COLUMNS;
    atomic_init(&groups.fault, job->count);
    size_t count = (job->count + groups.group - 1) / groups.group;
    size_t work = job->n * groups.group; /* cannot wrap to a wrong result: it is only a grain */
    ct__parallel_for(count, PARALLEL_ITEMS / (work ? work : 1) + 1, run_groups, &groups);
    return atomic_load_explicit(&groups.fault, memory_order_relaxed);
}
