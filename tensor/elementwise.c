/* Elementwise ops on tensors: broadcasting, layouts and threads, for any scalar type. */

#include "tensor/fail.h"
#include "tensor/parallel.h"
#include "tensor/tensor_impl.h"

#include <string.h>

/* Items a thread takes at a time; below two of these one core is faster. */
enum { GRAIN = 1 << 14 };

/* A loop over operands: the nest's steps are in bytes, and its innermost loop is a row. */
struct job {
    const ct_scalar *self;
    enum ct_op op;
    ct_loop_fn *loop;
    struct ct__nest nest;
    char *ptr[CT__MAX_OPERANDS];
};

/* The step in bytes of an operand along an axis of the result, 0 where it is broadcast. */
static int64_t operand_step(const ct_tensor *t, int rank, int axis) {
    return ct__stride_at(rank, axis, t->rank, t->shape, t->strides) * (int64_t)t->scalar->size;
}

static void set_operands(struct job *job, int n, const ct_tensor *const in[],
                         const ct_tensor *out) {
    const ct_tensor *operand[CT__MAX_OPERANDS];
    int64_t step[CT__MAX_OPERANDS];
    for (int i = 0; i <= n; i++) {
        operand[i] = i < n ? in[i] : out;
        job->ptr[i] = ct__first(operand[i]);
    }
    ct__nest_start(&job->nest, n + 1);
    for (int axis = 0; axis < out->rank; axis++) {
        for (int i = 0; i <= n; i++)
            step[i] = operand_step(operand[i], out->rank, axis);
        ct__nest_add(&job->nest, out->shape[axis], step);
    }
    ct__nest_fuse(&job->nest);
    if (job->nest.rank > 0)
        return;
    job->nest.rank = 1; /* one item is a row as well */
    job->nest.shape[0] = 1;
    for (int i = 0; i <= n; i++)
        job->nest.step[i][0] = (int64_t)operand[i]->scalar->size;
}

static void run_range(void *context, size_t begin, size_t end) {
    const struct job *job = context;
    const struct ct__nest *nest = &job->nest;
    int row = nest->rank - 1;
    size_t extent = (size_t)nest->shape[row], from = begin % extent;
    char *ptr[CT__MAX_OPERANDS];
    ptrdiff_t step[CT__MAX_OPERANDS];
    struct ct__walk walk;
    for (int i = 0; i < nest->operands; i++)
        step[i] = (ptrdiff_t)nest->step[i][row];
    ct__walk_start(&walk, nest, row, begin / extent);
    while (begin < end) {
        size_t count = extent - from < end - begin ? extent - from : end - begin;
        for (int i = 0; i < nest->operands; i++)
            ptr[i] = job->ptr[i] + walk.at[i] + (ptrdiff_t)from * step[i];
        job->loop(job->self, job->op, count, ptr, step);
        begin += count;
        from = 0;
        ct__walk_next(&walk, nest, row);
    }
}

/* The scalar type that the operands share, leaving out the mask of a choice. */
static const ct_scalar *common_scalar(const char *who, enum ct_op op, int n,
                                      const ct_tensor *const in[]) {
    int first = ct_op_kind_of(op) == CT_KIND_SELECT ? 1 : 0;
    if (first == 1 && in[0]->scalar != CT_BOOL)
        return ct__fail_null(CT_EDTYPE, who, "%s needs a mask of bool and was given %s",
                             ct_op_name(op), in[0]->scalar->name);
    for (int i = first + 1; i < n; i++)
        if (in[i]->scalar != in[first]->scalar)
            return ct__fail_null(CT_EDTYPE, who, "%s needs one scalar type: %s and %s were given",
                                 ct_op_name(op), in[first]->scalar->name, in[i]->scalar->name);
    return in[first]->scalar;
}

static ct_status broadcast_all(const char *who, int n, const ct_tensor *const in[], int *rank,
                               int64_t shape[CT_MAX_RANK]) {
    *rank = in[0]->rank;
    memcpy(shape, in[0]->shape, sizeof in[0]->shape);
    for (int i = 1; i < n; i++) {
        int64_t wider[CT_MAX_RANK];
        int wider_rank;
        ct_status status =
            ct__broadcast(who, *rank, shape, in[i]->rank, in[i]->shape, &wider_rank, wider);
        if (status != CT_OK)
            return status;
        *rank = wider_rank;
        memcpy(shape, wider, sizeof wider);
    }
    return CT_OK;
}

ct_tensor *ct__apply(const char *who, enum ct_op op, int n, const ct_tensor *const in[]) {
    for (int i = 0; i < n; i++)
        if (!in[i])
            return ct__null(who);
    const ct_scalar *scalar = common_scalar(who, op, n, in);
    if (!scalar)
        return NULL;
    struct job job;
    job.self = scalar;
    job.op = op;
    job.loop = ct_scalar_loop(scalar, op);
    if (!job.loop)
        return ct__fail_null(CT_EDTYPE, who, "%s has no %s", scalar->name, ct_op_name(op));
    int rank;
    int64_t shape[CT_MAX_RANK];
    if (broadcast_all(who, n, in, &rank, shape) != CT_OK)
        return NULL;
    const ct_scalar *result = ct_op_kind_of(op) == CT_KIND_COMPARE ? CT_BOOL : scalar;
    ct_tensor *out = ct__empty(who, result, rank, shape);
    if (!out || out->count == 0)
        return out;
    set_operands(&job, n, in, out);
    if (out->count < 2 * GRAIN)
        run_range(&job, 0, out->count);
    else
        ct__parallel_for(out->count, GRAIN, run_range, &job);
    return out;
}

ct_tensor *ct_apply(enum ct_op op, int n, const ct_tensor *const in[]) {
    if ((unsigned)op >= CT_OP_COUNT || ct_op_arity(op) == 0)
        return ct__fail_null(CT_EINVAL, __func__, "%d is not an elementwise op", (int)op);
    if (n != ct_op_arity(op))
        return ct__fail_null(CT_EINVAL, __func__, "%s takes %d operands and %d were given",
                             ct_op_name(op), ct_op_arity(op), n);
    if (!in)
        return ct__null(__func__);
    return ct__apply(__func__, op, n, in);
}
