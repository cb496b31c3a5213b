/* How the rows of operands lie, and the jobs of a row kernel. */

#include "tensor/row_ops.h"

#include "tensor/fail.h"
#include "tensor/parallel.h"

/* A shape with a run of neighbouring axes as its rows: [outer, n, inner]. */
struct rows {
    int first, last; /* the run: first <= axis < last */
    size_t outer, n, inner;
};

/* What the jobs of a call have in common: steps in bytes of operands (and last of the result) from
   one of the outer rows to the next. */
struct run {
    const ct_scalar *scalar;
    ct_rows_fn *kernel;
    enum ct_op op;
    struct ct_rows_job job;
    ptrdiff_t outer[4];
    _Atomic int status;
};

static bool find_rows(const ct_tensor *t, unsigned mask, struct rows *rows) {
    int first = 0, last;
    while (first < t->rank && !(mask & 1u << first))
        first++;
    for (last = first; last < t->rank && mask & 1u << last; last++)
        continue;
    if (first == last || mask >> last != 0)
        return false;
    *rows = (struct rows){first, last, 1, 1, 1};
    for (int i = 0; i < t->rank; i++)
        *(i < first ? &rows->outer : i < last ? &rows->n : &rows->inner) *= (size_t)t->shape[i];
    return true;
}

ct_rows_fn *ct__row_kernel(const struct ct__row_call *call) {
    const ct_tensor *t = call->in[0];
    struct rows rows;
    if (!t->scalar->rows || t->count == 0 || !find_rows(t, call->mask, &rows))
        return NULL;
    for (int i = 1; i < 3; i++)
        if (call->in[i] && call->kind[i] == CT__ROW_ITEMS && !ct__same_shape(call->in[i], t))
            return NULL;
    return t->scalar->rows(t->scalar, call->op);
}

/* Whether one step walks some neighbouring axes in row-major order; then the step, which is 0 where
   there is one item at most. */
static bool one_step(const ct_tensor *t, int first, int last, int64_t *step) {
    int64_t next = 0;
    bool any = false;
    *step = 0;
    for (int i = last - 1; i >= first; i--) {
        if (t->shape[i] == 1)
            continue;
        if (any && t->strides[i] != next)
            return false;
        *step = any ? *step : t->strides[i];
        next = t->strides[i] * t->shape[i];
        any = true;
    }
    return true;
}

/* Steps in items of an operand of whole rows that a kernel can read. */
struct steps {
    int64_t outer, n, inner;
};

static bool find_steps(const ct_tensor *t, const struct rows *rows, struct steps *s) {
    if (!one_step(t, 0, rows->first, &s->outer) || !one_step(t, rows->first, rows->last, &s->n) ||
        !one_step(t, rows->last, t->rank, &s->inner))
        return false;
    if (rows->inner > 1)
        return s->inner == 1 && s->n != 1; /* windows that overlap look like both */
    s->n = rows->n == 1 ? 1 : s->n;
    return s->n == 1;
}

static struct steps dense_steps(const struct rows *rows) {
    return (struct steps){(int64_t)(rows->n * rows->inner), (int64_t)rows->inner, 1};
}

/* Puts operand k in its place; `t` can be read. */
static void put_operand(struct run *run, const struct rows *rows, int k, const ct_tensor *t,
                        const struct steps *s) {
    ptrdiff_t size = (ptrdiff_t)t->scalar->size;
    bool columns = rows->inner > 1;
    run->job.in[k] = ct__first(t);
    run->job.in_step[k] = s->n * size;
    run->job.in_next[k] = (columns ? s->inner : s->outer) * size;
    run->outer[k] = columns ? s->outer * size : 0;
}

/* An operand as the kernel reads it: t itself, or a dense copy, which *copy then is; NULL on failure.
   One item a row is read in the order of the rows, which are the last axes then. */
static const ct_tensor *readable(const ct_tensor *t, enum ct__row_kind kind,
                                 const struct rows *rows, struct steps *s, ct_tensor **copy) {
    *s = (struct steps){1, 0, 0};
    if (kind == CT__ROW_ONE ? one_step(t, 0, t->rank, &s->outer) : find_steps(t, rows, s))
        return t;
    *copy = ct_compact(t);
    *s = kind == CT__ROW_ONE ? (struct steps){1, 0, 0} : dense_steps(rows);
    return *copy;
}

static void run_outer(void *context, size_t begin, size_t end) {
    struct run *run = context;
    struct ct_rows_job job = run->job;
    for (size_t i = begin; i < end; i++) {
        for (int k = 0; k < 3; k++)
            if (run->job.in[k])
                job.in[k] = run->job.in[k] + (ptrdiff_t)i * run->outer[k];
        job.out = run->job.out + (ptrdiff_t)i * run->outer[3];
        ct_status status = run->kernel(run->scalar, run->op, &job);
        if (status)
            atomic_store(&run->status, (int)status);
    }
}

enum { PARALLEL_ITEMS = 1 << 15 }; /* fewer are not worth waking a thread for */

static void put_result(struct run *run, const struct rows *rows, const ct_tensor *out) {
    ptrdiff_t size = (ptrdiff_t)out->scalar->size;
    bool whole = out->count == rows->outer * rows->n * rows->inner;
    bool columns = rows->inner > 1;
    size_t n = whole ? rows->n : 1;
    run->job.out = ct__first(out);
    run->job.out_step = whole ? (ptrdiff_t)rows->inner * size : 0;
    run->job.out_next = columns ? size : (ptrdiff_t)n * size;
    run->outer[3] = columns ? (ptrdiff_t)(n * rows->inner) * size : 0;
}

static ct_tensor *empty_result(const struct ct__row_call *call) {
    const ct_tensor *t = call->in[0];
    int64_t shape[CT_MAX_RANK];
    for (int i = 0; i < t->rank; i++)
        shape[i] = call->result == CT__ROW_ONE && call->mask & 1u << i ? 1 : t->shape[i];
    ct_tensor *out = ct__empty(call->who, t->scalar, t->rank, shape);
    if (out)
        ct__names_like(out, t);
    return out;
}

ct_tensor *ct__row_op(const struct ct__row_call *call, ct_rows_fn *kernel) {
    struct rows rows;
    ct_tensor *copies[3] = {NULL}, *out = NULL;
    find_rows(call->in[0], call->mask, &rows);
    struct run run = {.scalar = call->in[0]->scalar, .kernel = kernel, .op = call->op};
    run.job.n = rows.n;
    run.job.count = rows.inner > 1 ? rows.inner : rows.outer;
    run.job.eps = call->eps;
    bool good = true;
    for (int k = 0; k < 3 && good; k++) {
        struct steps s;
        if (!call->in[k])
            continue;
        const ct_tensor *t = readable(call->in[k], call->kind[k], &rows, &s, &copies[k]);
        good = t != NULL;
        if (good)
            put_operand(&run, &rows, k, t, &s);
    }
    if (good && (out = empty_result(call))) {
        put_result(&run, &rows, out);
        size_t outer = rows.inner > 1 ? rows.outer : 1;
        ct__parallel_for(outer, PARALLEL_ITEMS / run.job.n / run.job.count + 1, run_outer, &run);
        if (atomic_load(&run.status)) {
            ct__fail(CT_ENOMEM, call->who, "there is no memory for the work on rows");
            ct_free(out);
            out = NULL;
        }
    }
    for (int k = 0; k < 3; k++)
        ct_free(copies[k]);
    return out;
}
