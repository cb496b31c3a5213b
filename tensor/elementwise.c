/* Elementwise ops on tensors: broadcasting, layouts and threads, for any scalar type. */

#include "tensor/fail.h"
#include "tensor/parallel.h"
#include "tensor/tensor_impl.h"

#include <string.h>

enum {
    MAX_OPERANDS = 4,   /* three arguments and the result */
    GRAIN = 1 << 14     /* items a thread takes at a time; below two of these one core is faster */
};

/* A nest of loops over the operands: axes dropped and fused where every operand allows it. */
struct nest {
    const ct_scalar *self;
    ct_loop_fn *loop;
    int operands;
    int rank;
    int64_t shape[CT_MAX_RANK];
    char *ptr[MAX_OPERANDS];
    ptrdiff_t step[MAX_OPERANDS][CT_MAX_RANK]; /* in bytes */
};

static bool fuses(const struct nest *nest, int outer, int64_t extent, const ptrdiff_t *inner) {
    for (int i = 0; i < nest->operands; i++)
        if (nest->step[i][outer] != inner[i] * extent) return false;
    return true;
}

/* Appends an axis inside the others, or widens the innermost one. */
static void nest_axis(struct nest *nest, int64_t extent, const ptrdiff_t *step) {
    int last = nest->rank - 1;
    if (extent == 1) return;
    if (last >= 0 && fuses(nest, last, extent, step))
        nest->shape[last] *= extent;
    else {
        nest->shape[++last] = extent;
        nest->rank++;
    }
    for (int i = 0; i < nest->operands; i++) nest->step[i][last] = step[i];
}

/* The step in bytes of an operand along an axis of the result, 0 where it is broadcast. */
static ptrdiff_t operand_step(const ct_tensor *t, int rank, int axis) {
    int own = axis - (rank - t->rank);
    if (own < 0 || t->shape[own] == 1) return 0;
    return (ptrdiff_t)t->strides[own] * (ptrdiff_t)t->scalar->size;
}

static void nest_of(struct nest *nest, int n, const ct_tensor *const in[], ct_tensor *out) {
    nest->operands = n + 1;
    nest->rank = 0;
    for (int i = 0; i < n; i++) nest->ptr[i] = ct__first(in[i]);
    nest->ptr[n] = ct__first(out);
    for (int axis = 0; axis < out->rank; axis++) {
        ptrdiff_t step[MAX_OPERANDS];
        for (int i = 0; i < n; i++) step[i] = operand_step(in[i], out->rank, axis);
        step[n] = operand_step(out, out->rank, axis);
        nest_axis(nest, out->shape[axis], step);
    }
    if (nest->rank == 0) {
        nest->rank = 1;
        nest->shape[0] = 1;
        for (int i = 0; i <= n; i++)
            nest->step[i][0] = (ptrdiff_t)(i < n ? in[i] : out)->scalar->size;
    }
}

/* A place in the nest: the index along each axis, and the operands' addresses there. */
struct place {
    int64_t index[CT_MAX_RANK];
    char *ptr[MAX_OPERANDS];
};

static void move(struct place *place, const struct nest *nest, int axis, int64_t count) {
    place->index[axis] += count;
    for (int i = 0; i < nest->operands; i++) place->ptr[i] += count * nest->step[i][axis];
}

/* The place of a row-major position. */
static struct place seek(const struct nest *nest, size_t position) {
    struct place place = {.index = {0}};
    memcpy(place.ptr, nest->ptr, sizeof place.ptr);
    for (int axis = nest->rank - 1; axis >= 0; axis--) {
        move(&place, nest, axis, (int64_t)(position % (size_t)nest->shape[axis]));
        position /= (size_t)nest->shape[axis];
    }
    return place;
}

/* From the end of a row to the start of the next. */
static void next_row(struct place *place, const struct nest *nest) {
    int axis = nest->rank - 1;
    while (axis > 0 && place->index[axis] == nest->shape[axis]) {
        move(place, nest, axis, -nest->shape[axis]);
        move(place, nest, --axis, 1);
    }
}

static void run_range(void *context, size_t begin, size_t end) {
    const struct nest *nest = context;
    int inner = nest->rank - 1;
    ptrdiff_t step[MAX_OPERANDS];
    for (int i = 0; i < nest->operands; i++) step[i] = nest->step[i][inner];
    struct place place = seek(nest, begin);
    while (begin < end) {
        size_t left = (size_t)(nest->shape[inner] - place.index[inner]);
        size_t count = left < end - begin ? left : end - begin;
        nest->loop(nest->self, count, place.ptr, step);
        begin += count;
        move(&place, nest, inner, (int64_t)count);
        next_row(&place, nest);
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
        if (status != CT_OK) return status;
        *rank = wider_rank;
        memcpy(shape, wider, sizeof wider);
    }
    return CT_OK;
}

ct_tensor *ct__apply(const char *who, enum ct_op op, int n, const ct_tensor *const in[]) {
    for (int i = 0; i < n; i++)
        if (!in[i]) {
            ct__fail_null_operand(who);
            return NULL;
        }
    const ct_scalar *scalar = common_scalar(who, op, n, in);
    if (!scalar) return NULL;
    struct nest nest = {.self = scalar, .loop = scalar->loop ? scalar->loop(scalar, op) : NULL};
    if (!nest.loop)
        return ct__fail_null(CT_EDTYPE, who, "%s has no %s", scalar->name, ct_op_name(op));
    int rank;
    int64_t shape[CT_MAX_RANK];
    if (broadcast_all(who, n, in, &rank, shape) != CT_OK) return NULL;
    const ct_scalar *result = ct_op_kind_of(op) == CT_KIND_COMPARE ? CT_BOOL : scalar;
    ct_tensor *out = ct__empty(who, result, rank, shape);
    if (!out || out->count == 0) return out;
    nest_of(&nest, n, in, out);
    if (out->count < 2 * GRAIN)
        run_range(&nest, 0, out->count);
    else
        ct__parallel_for(out->count, GRAIN, run_range, &nest);
    return out;
}

ct_tensor *ct_apply(enum ct_op op, int n, const ct_tensor *const in[]) {
    if ((unsigned)op >= CT_OP_COUNT || ct_op_arity(op) == 0)
        return ct__fail_null(CT_EINVAL, "ct_apply", "%d is not an elementwise op", (int)op);
    if (n != ct_op_arity(op))
        return ct__fail_null(CT_EINVAL, "ct_apply", "%s takes %d operands and %d were given",
                             ct_op_name(op), ct_op_arity(op), n);
    return ct__apply(ct_op_name(op), op, n, in);
}
