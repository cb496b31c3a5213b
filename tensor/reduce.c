#include "tensor/tensor_impl.h"

#include "tensor/fail.h"
#include "tensor/parallel.h"

#include <inttypes.h>
#include <string.h>

// What a public function asks for.
struct reduction {
    const char *who;  // "ct_sum"
    const char *noun; // "bool has no sum"
    enum ct_fold fold;
    bool empty_is_zero;
    bool divides; // by the number of items
};

static const struct reduction sum_of = {"ct_sum", "sum", CT_FOLD_SUM, true, false};
static const struct reduction mean_of = {"ct_mean", "mean", CT_FOLD_SUM, false, true};
static const struct reduction max_of = {"ct_max", "maximum", CT_FOLD_MAX, false, false};
static const struct reduction min_of = {"ct_min", "minimum", CT_FOLD_MIN, false, false};

static ct_loop_fn *division(const ct_scalar *scalar) {
    return ct_scalar_loop(scalar, CT_OP_div);
}

static ct_status check(const struct reduction *r, const ct_tensor *t, int n, const int *axes,
                       unsigned *mask) {
    ct_status status = ct__check_axes(r->who, t->rank, n, axes, mask);
    if (status)
        return status;
    if (!ct_scalar_fold(t->scalar, r->fold) || (r->divides && !division(t->scalar)))
        return ct__fail(CT_EDTYPE, r->who, "%s has no %s", t->scalar->name, r->noun);
    for (int i = 0; i < t->rank && !r->empty_is_zero; i++)
        if (*mask & 1u << i && t->shape[i] == 0)
            return ct__fail(CT_EDOMAIN, r->who, "cannot take the %s along axis %d of extent 0",
                            r->noun, i);
    return CT_OK;
}

static ct_tensor *empty_result(const struct reduction *r, const ct_tensor *t, unsigned mask,
                               bool keepdims) {
    int rank = 0;
    int64_t shape[CT_MAX_RANK];
    for (int i = 0; i < t->rank; i++) {
        bool reduced = mask & 1u << i;
        if (!reduced || keepdims)
            shape[rank++] = reduced ? 1 : t->shape[i];
    }
    return ct__empty(r->who, t->scalar, rank, shape);
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

// Reductions whose items lie at one step, cut into jobs of one row of results each.
struct jobs {
    const ct_tensor *t;
    enum ct_fold fold;
    struct ct__nest kept; // the innermost loop is the row
    struct ct_fold_job job;
};

static void run_jobs(void *context, size_t begin, size_t end) {
    const struct jobs *jobs = context;
    const ct_scalar *scalar = jobs->t->scalar;
    ptrdiff_t size = (ptrdiff_t)scalar->size;
    int outer = jobs->kept.rank - 1;
    struct ct_fold_job job = jobs->job;
    struct ct__walk walk;
    ct__walk_start(&walk, &jobs->kept, outer, begin);
    for (size_t i = begin; i < end; i++, ct__walk_next(&walk, &jobs->kept, outer)) {
        job.x = jobs->job.x + walk.at[0] * size;
        job.y = jobs->job.y + walk.at[1] * size;
        ct_scalar_fold(scalar, jobs->fold)(scalar, &job);
    }
}

enum { PARALLEL_ITEMS = 1 << 16 }; // fewer are not worth waking a thread for

static void fold_all(const ct_tensor *t, enum ct_fold fold, const struct plan *plan, char *y) {
    struct jobs jobs = {.t = t, .fold = fold, .kept = plan->kept};
    ct__nest_sort(&jobs.kept);
    ct__nest_fuse(&jobs.kept);
    if (jobs.kept.rank == 0)
        jobs.kept = (struct ct__nest){.operands = 2, .rank = 1, .shape = {1}};
    ptrdiff_t size = (ptrdiff_t)t->scalar->size;
    int row = jobs.kept.rank - 1;
    jobs.job = (struct ct_fold_job){
        .n = plan->reduced.rank ? (size_t)plan->reduced.shape[0] : 1,
        .count = (size_t)jobs.kept.shape[row],
        .x = ct__first(t),
        .x_step = plan->reduced.rank ? plan->reduced.step[0][0] * size : size,
        .x_next = jobs.kept.step[0][row] * size,
        .y = y,
        .y_next = jobs.kept.step[1][row] * size,
    };
    // A single job is spread over threads by the kernel itself.
    ct__parallel_for(ct__nest_passes(&jobs.kept, row),
                     PARALLEL_ITEMS / (jobs.job.n * jobs.job.count) + 1, run_jobs, &jobs);
}

// The items with the kept axes first and dense, so that the reduced ones are the last: for axes
// that no single step walks.
static ct_tensor *gathered(const struct reduction *r, const ct_tensor *t, unsigned mask) {
    ct_tensor view = *t; // borrows t's share
    int rank = 0;
    for (int reduced = 0; reduced < 2; reduced++)
        for (int i = 0; i < t->rank; i++)
            if ((mask >> i & 1) == (unsigned)reduced) {
                view.shape[rank] = t->shape[i];
                view.strides[rank++] = t->strides[i];
            }
    ct_tensor *dense = ct__empty(r->who, t->scalar, t->rank, view.shape);
    if (dense)
        ct__copy_out(&view, ct__first(dense));
    return dense;
}

// The bits of the last axes, as many as there are in mask.
static unsigned last_axes(int rank, unsigned mask) {
    unsigned last = 0;
    for (int i = 0, at = rank - 1; i < rank; i++)
        if (mask & 1u << i)
            last |= 1u << at--;
    return last;
}

static ct_status fold_into(const struct reduction *r, const ct_tensor *t, unsigned mask, char *y) {
    struct plan plan = make_plan(t, mask);
    if (plan.reduced.rank <= 1) {
        fold_all(t, r->fold, &plan, y);
        return CT_OK;
    }
    ct_tensor *dense = gathered(r, t, mask);
    if (!dense)
        return CT_ENOMEM;
    plan = make_plan(dense, last_axes(t->rank, mask));
    fold_all(dense, r->fold, &plan, y);
    ct_free(dense);
    return CT_OK;
}

// Divides dense items by a number.
static ct_status divide(const char *who, ct_tensor *t, size_t by) {
    ct_tensor *divisor = ct__empty(who, t->scalar, 0, NULL);
    if (!divisor)
        return CT_ENOMEM;
    ct_status status = ct__fill_new(who, divisor, (double)by);
    if (status == CT_OK) {
        ptrdiff_t size = (ptrdiff_t)t->scalar->size;
        char *const ptr[] = {ct__first(t), ct__first(divisor), ct__first(t)};
        const ptrdiff_t step[] = {size, 0, size};
        division(t->scalar)(t->scalar, CT_OP_div, t->count, ptr, step);
    }
    ct_free(divisor);
    return status;
}

static size_t items_each(const ct_tensor *t, unsigned mask) {
    size_t n = 1;
    for (int i = 0; i < t->rank; i++)
        if (mask & 1u << i)
            n *= (size_t)t->shape[i];
    return n;
}

static ct_status compute(const struct reduction *r, const ct_tensor *t, unsigned mask,
                         ct_tensor *result) {
    if (result->count == 0)
        return CT_OK;
    if (t->count == 0)
        return ct__fill_new(r->who, result, 0);
    ct_status status = fold_into(r, t, mask, ct__first(result));
    if (status == CT_OK && r->divides)
        status = divide(r->who, result, items_each(t, mask));
    return status;
}

static ct_tensor *reduce(const struct reduction *r, const ct_tensor *t, int n, const int *axes,
                         bool keepdims) {
    unsigned mask;
    if (!t)
        return ct__null(r->who);
    if (check(r, t, n, axes, &mask))
        return NULL;
    if (mask == 0)
        return ct__share(r->who, t);
    ct_tensor *result = empty_result(r, t, mask, keepdims);
    if (result && compute(r, t, mask, result)) {
        ct_free(result);
        return NULL;
    }
    return result;
}

ct_tensor *ct_sum(const ct_tensor *t, int axis, bool keepdims) {
    return reduce(&sum_of, t, 1, &axis, keepdims);
}

ct_tensor *ct_mean(const ct_tensor *t, int axis, bool keepdims) {
    return reduce(&mean_of, t, 1, &axis, keepdims);
}

ct_tensor *ct_max(const ct_tensor *t, int axis, bool keepdims) {
    return reduce(&max_of, t, 1, &axis, keepdims);
}

ct_tensor *ct_min(const ct_tensor *t, int axis, bool keepdims) {
    return reduce(&min_of, t, 1, &axis, keepdims);
}

// The same under the names that the errors of these functions bear.
static ct_tensor *reduce_axes(const char *who, const struct reduction *r, const ct_tensor *t, int n,
                              const int *axes, bool keepdims) {
    struct reduction named = *r;
    named.who = who;
    return reduce(&named, t, n, axes, keepdims);
}

ct_tensor *ct_sum_axes(const ct_tensor *t, int n, const int *axes, bool keepdims) {
    return reduce_axes(__func__, &sum_of, t, n, axes, keepdims);
}

ct_tensor *ct_mean_axes(const ct_tensor *t, int n, const int *axes, bool keepdims) {
    return reduce_axes(__func__, &mean_of, t, n, axes, keepdims);
}

ct_tensor *ct_max_axes(const ct_tensor *t, int n, const int *axes, bool keepdims) {
    return reduce_axes(__func__, &max_of, t, n, axes, keepdims);
}

ct_tensor *ct_min_axes(const ct_tensor *t, int n, const int *axes, bool keepdims) {
    return reduce_axes(__func__, &min_of, t, n, axes, keepdims);
}
