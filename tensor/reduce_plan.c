/* Which items go where: a reduction as jobs on rows of one step. */

#include "tensor/reduce_impl.h"

#include "tensor/alloc.h"
#include "tensor/fail.h"
#include "tensor/parallel.h"

bool ct__reduce_start(struct ct__reduction *r, const char *who, const char *noun,
                      const ct_tensor *t, int n, const int *axes, bool keepdims) {
    *r = (struct ct__reduction){.who = who, .noun = noun, .t = t, .keepdims = keepdims};
    if (!t) {
        ct__fail_null_operand(who);
        return false;
    }
    return ct__check_axes(who, t->rank, n, axes, &r->mask) == CT_OK;
}

ct_status ct__reduce_lacks(const struct ct__reduction *r) {
    return ct__fail(CT_EDTYPE, r->who, "%s has no %s", r->t->scalar->name, r->noun);
}

// The reduced axis that leaves an item of the result without items, or -1.
static int empty_axis(const ct_tensor *t, unsigned mask) {
    int empty = -1;
    for (int i = t->rank - 1; i >= 0; i--)
        if (t->shape[i] == 0) {
            if (!(mask & 1u << i))
                return -1; // no item of the result either
            empty = i;
        }
    return empty;
}

ct_status ct__reduce_has_items(const struct ct__reduction *r) {
    int axis = empty_axis(r->t, r->mask);
    return axis < 0 ? CT_OK
                    : ct__fail(CT_EDOMAIN, r->who, "cannot take the %s along axis %d of extent 0",
                               r->noun, axis);
}

bool ct_can_reduce(const ct_tensor *t, int n, const int *axes) {
    unsigned mask;
    return t && ct__check_axes(NULL, t->rank, n, axes, &mask) == CT_OK && empty_axis(t, mask) < 0;
}

ct_tensor *ct__reduce_result(const struct ct__reduction *r, const ct_scalar *scalar) {
    int rank = 0;
    int64_t shape[CT_MAX_RANK];
    for (int i = 0; i < r->t->rank; i++) {
        bool reduced = r->mask & 1u << i;
        if (!reduced || r->keepdims)
            shape[rank++] = reduced ? 1 : r->t->shape[i];
    }
    ct_tensor *result = ct__empty(r->who, scalar, rank, shape);
    if (result)
        ct__names_kept(result, r->t, r->mask, r->keepdims);
    return result;
}

size_t ct__reduce_length(const struct ct__reduction *r) {
    size_t n = 1;
    for (int i = 0; i < r->t->rank; i++)
        if (r->mask & 1u << i)
            n *= (size_t)r->t->shape[i];
    return n;
}

// The loops that are kept, over the items and the results, and those that are reduced.
struct plan {
    struct ct__nest kept;
    struct ct__nest reduced;
};

static struct plan make_plan(const ct_tensor *t, unsigned mask) {
    struct plan plan;
    ct__nest_start(&plan.kept, 2);
    ct__nest_start(&plan.reduced, 1);
    int64_t strides[CT_MAX_RANK], next = 1; // of the dense result
    for (int i = t->rank - 1; i >= 0; i--)
        if (!(mask & 1u << i)) {
            strides[i] = next;
            next *= t->shape[i];
        }
    for (int i = 0; i < t->rank; i++)
        if (mask & 1u << i)
            ct__nest_add(&plan.reduced, t->shape[i], &t->strides[i]);
        else
            ct__nest_add(&plan.kept, t->shape[i], (int64_t[]){t->strides[i], strides[i]});
    ct__nest_fuse(&plan.reduced); // in row-major order, which is the order of a reduction
    return plan;
}

// What the jobs of a reduction have in common, and what became of them.
struct run {
    const ct_scalar *scalar;
    ct__rows_fn *rows;
    void *context;
    struct ct__nest kept; // direct: the innermost loop is a job's row of results
    struct ct_fold_job job;
    ptrdiff_t y_size;
    const char *y;         // the first result
    _Atomic size_t failed; // the lowest result that has no value
    _Atomic int status;    // CT_OK or CT_ENOMEM
};

// Rows that are made in several steps may fail at an early step in one row and at a later step in a
// row before it, which is then found by trying those again: the lowest must not depend on how rows
// are put into jobs.
static void run_job(struct run *run, const struct ct_fold_job *job) {
    struct ct_fold_job part = *job;
    size_t done = 0;
    ct_status status = run->rows(run->context, run->scalar, job, &done);
    for (ct_status again = status; again == CT_EOVERFLOW && done > 0;) {
        size_t before = part.count = done;
        again = run->rows(run->context, run->scalar, &part, &done);
        done = again == CT_EOVERFLOW ? done : before;
        status = again == CT_ENOMEM ? again : status;
    }
    if (status == CT_EOVERFLOW) {
        const char *y = job->y + (ptrdiff_t)done * job->y_next;
        ct__keep_lowest(&run->failed, (size_t)((y - run->y) / run->y_size));
    } else if (status)
        atomic_store(&run->status, (int)status);
}

enum { PARALLEL_ITEMS = 1 << 16 }; // fewer are not worth waking a thread for

static void run_direct(void *context, size_t begin, size_t end) {
    struct run *run = context;
    ptrdiff_t size = (ptrdiff_t)run->scalar->size;
    int outer = run->kept.rank - 1;
    struct ct_fold_job job = run->job;
    struct ct__walk walk;
    ct__walk_start(&walk, &run->kept, outer, begin);
    for (size_t i = begin; i < end; i++, ct__walk_next(&walk, &run->kept, outer)) {
        job.x = run->job.x + walk.at[0] * size;
        job.y = run->job.y + walk.at[1] * run->y_size;
        run_job(run, &job);
    }
}

// The items of each row lie at one step already.
static void reduce_direct(struct run *run, const struct ct__nest *reduced) {
    ct__nest_sort(&run->kept);
    ct__nest_fuse(&run->kept);
    ct__nest_have_row(&run->kept);
    ptrdiff_t size = (ptrdiff_t)run->scalar->size;
    int row = run->kept.rank - 1;
    run->job.n = reduced->rank ? (size_t)reduced->shape[0] : 1;
    run->job.count = (size_t)run->kept.shape[row];
    run->job.x_next = run->kept.step[0][row] * size;
    // Rows of one item are columns, of which many are read at a time.
    run->job.x_step = reduced->rank ? reduced->step[0][0] * size : 2 * run->job.x_next + size;
    run->job.y_next = run->kept.step[1][row] * run->y_size;
    // A single job is spread over threads by those who run it.
    ct__parallel_for(ct__nest_passes(&run->kept, row),
                     PARALLEL_ITEMS / run->job.n / run->job.count + 1, run_direct, run);
}

// Rows that no single step walks are copied, so many at a time as stay in a cache.
struct gather {
    struct run *run;
    int rank; // the kept loops, then the reduced ones
    int64_t shape[CT_MAX_RANK + 1], strides[CT_MAX_RANK + 1];
    int split;             // the kept loop that is cut, and
    int64_t piece, pieces; // into what
    size_t inner;          // rows for each of its indices
    size_t n;              // items in a row
};

enum { GATHER_BYTES = 1 << 20 };

static void plan_pieces(struct gather *g, int kept) {
    size_t most = GATHER_BYTES / g->run->scalar->size / g->n;
    g->inner = 1;
    g->split = kept - 1;
    while (g->split > 0 && (size_t)g->shape[g->split] <= most / g->inner)
        g->inner *= (size_t)g->shape[g->split--];
    int64_t extent = g->shape[g->split];
    g->piece = most / g->inner > 1 ? (int64_t)(most / g->inner) : 1;
    g->piece = g->piece < extent ? g->piece : extent;
    g->pieces = (extent - 1) / g->piece + 1;
}

static void run_gathered(void *context, size_t begin, size_t end) {
    const struct gather *g = context;
    size_t size = g->run->scalar->size;
    char *rows = ct__alloc((size_t)g->piece * g->inner * g->n * size);
    if (!rows) {
        atomic_store(&g->run->status, CT_ENOMEM);
        return;
    }
    for (size_t pass = begin; pass < end; pass++) {
        struct gather part = *g;
        int64_t start = (int64_t)(pass % (size_t)g->pieces) * g->piece;
        size_t outer = pass / (size_t)g->pieces;
        int64_t left = g->shape[g->split] - start, at = start * g->strides[g->split];
        part.shape[g->split] = left < g->piece ? left : g->piece;
        size_t row = (outer * (size_t)g->shape[g->split] + (size_t)start) * g->inner;
        for (int i = g->split - 1; i >= 0; i--) {
            at += (int64_t)(outer % (size_t)g->shape[i]) * g->strides[i];
            outer /= (size_t)g->shape[i];
        }
        int64_t dense[CT_MAX_RANK + 1];
        int rank = g->rank - g->split;
        ct__dense_strides(rank, part.shape + g->split, dense);
        ct__copy_items(size, rank, part.shape + g->split, g->run->job.x + at * (ptrdiff_t)size,
                       g->strides + g->split, rows, dense);
        const struct ct_fold_job job = {.n = g->n,
                                        .count = (size_t)part.shape[g->split] * g->inner,
                                        .x = rows,
                                        .x_step = (ptrdiff_t)size,
                                        .x_next = (ptrdiff_t)(g->n * size),
                                        .y = g->run->job.y + (ptrdiff_t)row * g->run->y_size,
                                        .y_next = g->run->y_size};
        run_job(g->run, &job);
    }
    ct__free(rows);
}

static void reduce_gathered(struct run *run, const struct ct__nest *reduced) {
    struct gather g = {.run = run, .n = ct__nest_passes(reduced, reduced->rank)};
    for (int i = 0; i < run->kept.rank; i++) {
        g.shape[g.rank] = run->kept.shape[i];
        g.strides[g.rank++] = run->kept.step[0][i];
    }
    if (g.rank == 0)
        g.shape[g.rank++] = 1;
    int kept = g.rank;
    for (int i = 0; i < reduced->rank; i++) {
        g.shape[g.rank] = reduced->shape[i];
        g.strides[g.rank++] = reduced->step[0][i];
    }
    plan_pieces(&g, kept);
    size_t passes = (size_t)g.pieces, each = (size_t)g.piece * g.inner * g.n;
    for (int i = 0; i < g.split; i++)
        passes *= (size_t)g.shape[i];
    ct__parallel_for(passes, PARALLEL_ITEMS / each + 1, run_gathered, &g);
}

static ct_status fail_overflow(const struct ct__reduction *r, const ct_tensor *result, size_t at) {
    char text[CT__AT_INDEX_BYTES];
    return ct__fail(CT_EOVERFLOW, r->who, "the %s%s does not fit %s", r->noun,
                    ct__at_index(text, result->rank, result->shape, at), result->scalar->name);
}

// Neither r->t nor the result is empty.
static ct_status reduce_rows(const struct ct__reduction *r, ct_tensor *result, ct__rows_fn *rows,
                             void *context) {
    struct plan plan = make_plan(r->t, r->mask);
    struct run run = {.scalar = r->t->scalar,
                      .rows = rows,
                      .context = context,
                      .kept = plan.kept,
                      .job = {.x = ct__first(r->t), .y = ct__first(result)},
                      .y_size = (ptrdiff_t)result->scalar->size,
                      .y = ct__first(result),
                      .failed = SIZE_MAX};
    if (plan.reduced.rank <= 1)
        reduce_direct(&run, &plan.reduced);
    else
        reduce_gathered(&run, &plan.reduced);
    if (atomic_load(&run.status))
        return ct__fail(CT_ENOMEM, r->who, "there is no memory for the work of the %s", r->noun);
    size_t failed = atomic_load(&run.failed);
    return failed == SIZE_MAX ? CT_OK : fail_overflow(r, result, failed);
}

ct_tensor *ct__reduced(const struct ct__reduction *r, ct_tensor *result, double nothing,
                       ct__rows_fn *rows, void *context) {
    if (!result || result->count == 0)
        return result;
    ct_status status = r->t->count == 0 ? ct__fill_new(r->who, result, nothing)
                                        : reduce_rows(r, result, rows, context);
    if (status == CT_OK)
        return result;
    ct_free(result);
    return NULL;
}
