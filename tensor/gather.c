#include "tensor/index_impl.h"

#include "tensor/ct_index.h"
#include "tensor/fail.h"
#include "tensor/parallel.h"
#include "tensor/row_pulls.h"

#include <inttypes.h>
#include <string.h>

// An index for each item. The index is walked in row-major order, beside the items that its
// positions have at place 0 of the axis: from there the index's number counts.

static ct_status check_gather(const char *who, const ct_tensor *t, int axis, const ct_tensor *index,
                              int *found) {
    ct_status status;
    if ((status = ct__check_axis(who, t->rank, axis, found)) ||
        (status = ct__check_index_type(who, index)))
        return status;
    if (index->rank != t->rank)
        return !who ? CT_ESHAPE
                    : ct__fail(CT_ESHAPE, who,
                               "the index needs the rank %d of the tensor and has rank %d", t->rank,
                               index->rank);
    for (int i = 0; i < t->rank; i++)
        if (i != *found && index->shape[i] > t->shape[i])
            return !who ? CT_ESHAPE
                        : ct__fail(CT_ESHAPE, who,
                                   "the index has the extent %" PRId64
                                   " along axis %d, more than the tensor's %" PRId64,
                                   index->shape[i], i, t->shape[i]);
    return CT_OK;
}

bool ct_can_gather(const ct_tensor *t, int axis, const ct_tensor *index) {
    int found;
    return t && index && !check_gather(NULL, t, axis, index, &found);
}

// Rows of an index beside those of up to two tensors; the steps of the nest are bytes.
struct job {
    struct ct__nest nest; // operands: the items at place 0; the places; the other tensor
    const int64_t *at;
    ptrdiff_t at_step;
    size_t size;
    char *items;
    char *other;
    size_t zeros; // bytes from the items of a row on that are zeroed before they are added to
};

static struct job make_job(const ct_tensor *t, int axis, const ct_tensor *index,
                           const struct ct__places *places, const ct_tensor *other) {
    int64_t dense[CT_MAX_RANK], size = (int64_t)t->scalar->size;
    struct job job = {.at = places->at,
                      .at_step = t->strides[axis] * size,
                      .size = t->scalar->size,
                      .items = ct__first(t),
                      .other = ct__first(other)};
    ct__dense_strides(index->rank, index->shape, dense);
    ct__nest_start(&job.nest, 3);
    for (int i = 0; i < index->rank; i++)
        ct__nest_add(
            &job.nest, index->shape[i],
            (int64_t[]){i == axis ? 0 : t->strides[i] * size, dense[i], other->strides[i] * size});
    ct__nest_fuse(&job.nest);
    ct__nest_have_row(&job.nest);
    return job;
}

#define INLINE static inline __attribute__((always_inline))

INLINE void gather_row(size_t size, size_t n, const char *from, ptrdiff_t step, const int64_t *at,
                       ptrdiff_t at_step, char *to, ptrdiff_t to_step) {
    for (size_t k = 0; k < n; k++)
        memcpy(to + (ptrdiff_t)k * to_step, from + (ptrdiff_t)k * step + at[k] * at_step, size);
}

INLINE void scatter_row(size_t size, size_t n, const char *from, ptrdiff_t step, const int64_t *at,
                        ptrdiff_t at_step, char *to, ptrdiff_t to_step) {
    for (size_t k = 0; k < n; k++)
        memcpy(to + (ptrdiff_t)k * to_step + at[k] * at_step, from + (ptrdiff_t)k * step, size);
}

static void gather_row_of(size_t size, size_t n, const char *from, ptrdiff_t step,
                          const int64_t *at, ptrdiff_t at_step, char *to, ptrdiff_t to_step) {
    if (size == 4)
        gather_row(4, n, from, step, at, at_step, to, to_step);
    else if (size == 8)
        gather_row(8, n, from, step, at, at_step, to, to_step);
    else
        gather_row(size, n, from, step, at, at_step, to, to_step);
}

static void scatter_row_of(size_t size, size_t n, const char *from, ptrdiff_t step,
                           const int64_t *at, ptrdiff_t at_step, char *to, ptrdiff_t to_step) {
    if (size == 4)
        scatter_row(4, n, from, step, at, at_step, to, to_step);
    else if (size == 8)
        scatter_row(8, n, from, step, at, at_step, to, to_step);
    else
        scatter_row(size, n, from, step, at, at_step, to, to_step);
}

enum { GRAIN = 1 << 14 }; // items; fewer are not worth waking a thread for

static void gather_rows(void *context, size_t begin, size_t end) {
    const struct job *job = context;
    const struct ct__nest *nest = &job->nest;
    int row = nest->rank - 1;
    struct ct__walk walk;
    ct__walk_start(&walk, nest, row, begin);
    for (; begin < end; begin++, ct__walk_next(&walk, nest, row))
        gather_row_of(job->size, (size_t)nest->shape[row], job->items + walk.at[0],
                      nest->step[0][row], job->at + walk.at[1], job->at_step,
                      job->other + walk.at[2], nest->step[2][row]);
}

ct_tensor *ct_gather(const ct_tensor *t, int axis, const ct_tensor *index) {
    struct ct__places places;
    if (!t || !index)
        return ct__null(__func__);
    if (check_gather(__func__, t, axis, index, &axis) ||
        ct__read_places(__func__, index, axis, t->shape[axis], &places))
        return NULL;
    ct_tensor *out = ct__empty(__func__, t->scalar, index->rank, index->shape);
    if (out && out->count > 0) {
        struct job job = make_job(t, axis, index, &places, out);
        int row = job.nest.rank - 1;
        ct__parallel_for(ct__nest_passes(&job.nest, row), GRAIN / (size_t)job.nest.shape[row] + 1,
                         gather_rows, &job);
    }
    if (out)
        ct__names_like(out, t);
    ct__drop_places(&places);
    return out;
}

// --- scatter: in row-major order of the index, so that the last of equal places wins

static void scatter_rows(const struct job *job) {
    const struct ct__nest *nest = &job->nest;
    int row = nest->rank - 1;
    size_t passes = ct__nest_passes(nest, row);
    struct ct__walk walk;
    ct__walk_start(&walk, nest, row, 0);
    for (size_t i = 0; i < passes; i++, ct__walk_next(&walk, nest, row))
        scatter_row_of(job->size, (size_t)nest->shape[row], job->other + walk.at[2],
                       nest->step[2][row], job->at + walk.at[1], job->at_step,
                       job->items + walk.at[0], nest->step[0][row]);
}

// False after an overflow, with where it was.
static bool combine_rows(const struct job *job, const struct ct__combiner *by, const char **target,
                         const char **source) {
    const struct ct__nest *nest = &job->nest;
    int row = nest->rank - 1;
    size_t passes = ct__nest_passes(nest, row), n = (size_t)nest->shape[row];
    ptrdiff_t step = nest->step[0][row], other_step = nest->step[2][row];
    struct ct__walk walk;
    ct__walk_start(&walk, nest, row, 0);
    for (size_t i = 0; i < passes; i++, ct__walk_next(&walk, nest, row)) {
        char *items = job->items + walk.at[0], *other = job->other + walk.at[2];
        memset(items, 0, job->zeros);
        const int64_t *at = job->at + walk.at[1];
        size_t done = ct__combine_places(by, n, items, step, at, job->at_step, other, other_step);
        if (done < n) {
            *target = items + (ptrdiff_t)done * step + at[done] * job->at_step;
            *source = other + (ptrdiff_t)done * other_step;
            return false;
        }
    }
    return true;
}

static ct_status write_items(const char *who, ct_tensor *out, int axis, const ct_tensor *index,
                             const struct ct__places *places, const ct_tensor *source,
                             const struct ct__combiner *by, bool blank) {
    const char *x, *z;
    if (index->count == 0)
        return CT_OK;
    struct job job = make_job(out, axis, index, places, source);
    job.zeros = blank ? (size_t)out->shape[axis] * job.size : 0;
    if (!by)
        scatter_rows(&job);
    else if (!combine_rows(&job, by, &x, &z))
        return ct__fail_combine(who, by, out, x, z);
    return CT_OK;
}

// Onto t itself where that is `own`, which is dense and alone: it is passed on, or freed. `blank`: its rows are yet to be
// zeroed. CT_OP_COUNT: no reduction.
static ct_tensor *scatter(const char *who, const ct_tensor *t, ct_tensor *own, bool blank, int axis,
                          const ct_tensor *index, const ct_tensor *source, enum ct_op op) {
    struct ct__places places;
    struct ct__combiner by, *combiner = op == CT_OP_COUNT ? NULL : &by;
    if (!t || !index || !source) {
        ct_free(own);
        return ct__null(who);
    }
    if ((combiner && ct__find_combiner(who, t->scalar, op, combiner)) ||
        check_gather(who, t, axis, index, &axis) ||
        ct__check_source(who, t, source, index->rank, index->shape) ||
        ct__read_places(who, index, axis, t->shape[axis], &places)) {
        ct_free(own);
        return NULL;
    }
    ct_tensor *out = own ? own : ct__dense_copy(who, t);
    if (out && write_items(who, out, axis, index, &places, source, combiner, blank)) {
        ct_free(out);
        out = NULL;
    }
    ct__drop_places(&places);
    return out;
}

ct_tensor *ct_scatter(const ct_tensor *t, int axis, const ct_tensor *index,
                      const ct_tensor *source) {
    return scatter(__func__, t, NULL, false, axis, index, source, CT_OP_COUNT);
}

ct_tensor *ct_scatter_add(const ct_tensor *t, int axis, const ct_tensor *index,
                          const ct_tensor *source) {
    return scatter(__func__, t, NULL, false, axis, index, source, CT_OP_add);
}

// Whether each row along the last axis, of f32 or f64, has a row of the index: then it is zeroed when it is met, in cache.
static bool is_met_by_rows(int rank, const int64_t *shape, int axis, const ct_tensor *index,
                           const ct_tensor *source) {
    if ((source->scalar != CT_F32 && source->scalar != CT_F64) || axis != rank - 1 ||
        index->rank != rank || index->shape[axis] < 2)
        return false;
    for (int i = 0; i < axis; i++)
        if (index->shape[i] != shape[i])
            return false;
    return true;
}

ct_tensor *ct__scatter_into_zeros(int rank, const int64_t *shape, int axis, const ct_tensor *index,
                                  const ct_tensor *source) {
    const char *who = "ct_scatter_add";
    bool blank = is_met_by_rows(rank, shape, axis, index, source);
    ct_tensor *zeros =
        blank ? ct__empty(who, source->scalar, rank, shape) : ct_zeros(source->scalar, rank, shape);
    return zeros ? scatter(who, zeros, zeros, blank, axis, index, source, CT_OP_add) : NULL;
}

ct_tensor *ct_scatter_reduce(const ct_tensor *t, int axis, const ct_tensor *index,
                             const ct_tensor *source, enum ct_op op) {
    if ((unsigned)op >= CT_OP_COUNT)
        return ct__fail_null(CT_EINVAL, __func__, "%d is not an op", (int)op);
    return scatter(__func__, t, NULL, false, axis, index, source, op);
}
