#include "tensor/tensor_impl.h"

#include "tensor/fail.h"
#include "tensor/parallel.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

// An operand as a stack of matrices.
struct side {
    const ct_tensor *t;
    int batch_rank;
    int64_t rows, cols, row, col; // extents and strides
};

struct plan {
    struct side a, b;
    int batch_rank;
    int64_t batch[CT_MAX_RANK];
    int rank;
    int64_t shape[CT_MAX_RANK]; // of the result
};

enum fault { FITS, TYPES_DIFFER, NO_MATMUL, RANK_ZERO, INNER_DIFFERS, BATCHES_DIFFER };

// A tensor of rank 1 is one row on the left and one column on the right.
static struct side side_of(const ct_tensor *t, bool left) {
    int last = t->rank - 1;
    if (t->rank >= 2)
        return (struct side){t,
                             t->rank - 2,
                             t->shape[last - 1],
                             t->shape[last],
                             t->strides[last - 1],
                             t->strides[last]};
    if (left)
        return (struct side){t, 0, 1, t->shape[0], 0, t->strides[0]};
    return (struct side){t, 0, t->shape[0], 1, t->strides[0], 0};
}

// On BATCHES_DIFFER, *axis is that of the broadcast leading axes.
static enum fault make_plan(const ct_tensor *a, const ct_tensor *b, struct plan *plan, int *axis) {
    if (a->scalar != b->scalar)
        return TYPES_DIFFER;
    if (!a->scalar->matmul)
        return NO_MATMUL;
    if (a->rank == 0 || b->rank == 0)
        return RANK_ZERO;
    plan->a = side_of(a, true);
    plan->b = side_of(b, false);
    if (plan->a.cols != plan->b.rows)
        return INNER_DIFFERS;
    *axis = ct__broadcast_fault(plan->a.batch_rank, a->shape, plan->b.batch_rank, b->shape,
                                &plan->batch_rank, plan->batch);
    if (*axis >= 0)
        return BATCHES_DIFFER;
    plan->rank = plan->batch_rank;
    memcpy(plan->shape, plan->batch, sizeof *plan->batch * (size_t)plan->batch_rank);
    if (a->rank > 1)
        plan->shape[plan->rank++] = plan->a.rows;
    if (b->rank > 1)
        plan->shape[plan->rank++] = plan->b.cols;
    return FITS;
}

bool ct_can_matmul(const ct_tensor *a, const ct_tensor *b) {
    struct plan plan;
    int axis;
    size_t count;
    return a && b && make_plan(a, b, &plan, &axis) == FITS &&
           ct__count_items(a->scalar->size, plan.rank, plan.shape, &count);
}

static ct_status explain(const char *who, const ct_tensor *a, const ct_tensor *b, enum fault fault,
                         const struct plan *plan, int axis) {
    char left[CT__SHAPE_TEXT_BYTES], right[CT__SHAPE_TEXT_BYTES];
    ct__format_shape(left, sizeof left, a->rank, a->shape);
    ct__format_shape(right, sizeof right, b->rank, b->shape);
    if (fault == TYPES_DIFFER)
        return ct__fail(CT_EDTYPE, who, "matmul needs one scalar type: %s and %s were given",
                        a->scalar->name, b->scalar->name);
    if (fault == NO_MATMUL)
        return ct__fail(CT_EDTYPE, who, "%s has no matmul", a->scalar->name);
    if (fault == RANK_ZERO)
        return ct__fail(CT_ESHAPE, who, "matmul needs operands of rank 1 or more: %s times %s",
                        left, right);
    if (fault == INNER_DIFFERS)
        return ct__fail(CT_ESHAPE, who,
                        "matmul needs the inner extents to agree: %s times %s, %" PRId64
                        " against %" PRId64,
                        left, right, plan->a.cols, plan->b.rows);
    int n = plan->a.batch_rank > plan->b.batch_rank ? plan->a.batch_rank : plan->b.batch_rank;
    return ct__fail(CT_ESHAPE, who,
                    "matmul needs the leading axes to broadcast: %s times %s, %" PRId64
                    " against %" PRId64,
                    left, right, ct__extent_at(n, axis, plan->a.batch_rank, a->shape),
                    ct__extent_at(n, axis, plan->b.batch_rank, b->shape));
}

// --- the work

// Products of matrix pairs: one job, moved over the nest of batches.
struct products {
    const ct_scalar *scalar;
    struct ct__nest batches; // in a and in b; results lie one behind the other
    struct ct_matmul_job job;
    atomic_int status;
};

static void run_products(void *context, size_t begin, size_t end) {
    struct products *p = context;
    ptrdiff_t size = (ptrdiff_t)p->scalar->size;
    ptrdiff_t result_bytes = (ptrdiff_t)(p->job.m * p->job.n) * size;
    struct ct_matmul_job job = p->job;
    struct ct__walk walk;
    ct__walk_start(&walk, &p->batches, p->batches.rank, begin);
    for (size_t i = begin; i < end; i++, ct__walk_next(&walk, &p->batches, p->batches.rank)) {
        job.a = p->job.a + walk.at[0] * size;
        job.b = p->job.b + walk.at[1] * size;
        job.c = p->job.c + (ptrdiff_t)i * result_bytes;
        ct_status status = p->scalar->matmul(p->scalar, &job);
        if (status)
            atomic_store_explicit(&p->status, (int)status, memory_order_relaxed);
    }
}

static int64_t batch_stride(const struct side *side, int batch_rank, int axis) {
    return ct__stride_at(batch_rank, axis, side->batch_rank, side->t->shape, side->t->strides);
}

// The loops over batches, and for a batch the number of rows of a and the step between them. When
// all batches share b and their rows of a follow each other at one step, they are the rows of one
// taller matrix.
static struct ct__nest batches_of(const struct plan *plan, int64_t *rows, int64_t *row) {
    struct ct__nest nest = {.operands = 2};
    bool shared = true;
    for (int i = 0; i < plan->batch_rank; i++) {
        int64_t step[] = {batch_stride(&plan->a, plan->batch_rank, i),
                          batch_stride(&plan->b, plan->batch_rank, i)};
        shared &= step[1] == 0;
        ct__nest_add(&nest, plan->batch[i], step);
    }
    *rows = plan->a.rows;
    *row = plan->a.row;
    if (!shared)
        return nest;
    struct ct__nest tall = nest;
    ct__nest_add(&tall, plan->a.rows, (int64_t[]){plan->a.row, 0});
    ct__nest_fuse(&tall);
    if (tall.rank > 1)
        return nest;
    if (tall.rank == 1) {
        *rows = tall.shape[0];
        *row = tall.step[0][0];
    }
    return (struct ct__nest){.operands = 2};
}

enum {
    SMALL_PRODUCT = 1 << 18, // multiply-adds that are not worth waking a thread for
    LARGE_PRODUCT = 1 << 21, // those which the kernel spreads over threads itself
};

static ct_status multiply(const struct plan *plan, ct_tensor *result) {
    const ct_scalar *scalar = result->scalar;
    ptrdiff_t size = (ptrdiff_t)scalar->size;
    int64_t rows, row;
    struct products p = {.scalar = scalar};
    p.batches = batches_of(plan, &rows, &row);
    p.job = (struct ct_matmul_job){
        .m = (size_t)rows,
        .n = (size_t)plan->b.cols,
        .k = (size_t)plan->a.cols,
        .a = ct__first(plan->a.t),
        .a_row = row * size,
        .a_col = plan->a.col * size,
        .b = ct__first(plan->b.t),
        .b_row = plan->b.row * size,
        .b_col = plan->b.col * size,
        .c = ct__first(result),
        .c_row = (ptrdiff_t)plan->b.cols * size,
        .c_col = size,
    };
    atomic_init(&p.status, CT_OK);
    size_t batches = ct__nest_passes(&p.batches, p.batches.rank);
    size_t work = result->count / batches * p.job.k; // of one product
    size_t grain = work < LARGE_PRODUCT ? SMALL_PRODUCT / work + 1 : batches;
    ct__parallel_for(batches, grain, run_products, &p);
    return (ct_status)atomic_load_explicit(&p.status, memory_order_relaxed);
}

static ct_status compute(const char *who, const struct plan *plan, ct_tensor *result) {
    if (result->count == 0)
        return CT_OK;
    if (plan->a.cols == 0)
        return ct__fill_new(who, result, 0);
    ct_status status = multiply(plan, result);
    if (status)
        ct__fail(status, who, "there is no memory for the copies of operands that matmul works on");
    return status;
}

ct_tensor *ct_matmul(const ct_tensor *a, const ct_tensor *b) {
    struct plan plan;
    int axis = -1;
    if (!a || !b)
        return ct__null(__func__);
    enum fault fault = make_plan(a, b, &plan, &axis);
    if (fault) {
        explain(__func__, a, b, fault, &plan, axis);
        return NULL;
    }
    ct_tensor *result = ct__empty(__func__, a->scalar, plan.rank, plan.shape);
    if (result && compute(__func__, &plan, result)) {
        ct_free(result);
        return NULL;
    }
    return result;
}
