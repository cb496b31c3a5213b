#include "tensor/index_impl.h"

#include "tensor/alloc.h"
#include "tensor/ct_index.h"
#include "tensor/fail.h"

#include <inttypes.h>
#include <string.h>

// Blocks of t, as tuples of indices choose them.
struct blocks {
    int depth; // numbers of a tuple
    int rank;  // of the blocks together
    int64_t shape[CT_MAX_RANK];
    int from[CT_MAX_RANK]; // t's axis that an axis of the shape continues, or -1
    size_t tuples;
    int64_t *at; // the distance in items of each block
};

static ct_status set_shape(const char *who, const ct_tensor *t, const ct_tensor *index,
                           struct blocks *b) {
    if (index->rank == 0)
        return ct__fail(CT_ESHAPE, who, "an index of rank 0 holds no tuples");
    int64_t depth = index->shape[index->rank - 1];
    if (depth > t->rank)
        return ct__fail(CT_ESHAPE, who,
                        "tuples of %" PRId64 " indices are too long for a tensor of rank %d", depth,
                        t->rank);
    b->depth = (int)depth;
    b->rank = index->rank - 1 + t->rank - b->depth;
    if (b->rank > CT_MAX_RANK)
        return ct__fail(CT_ESHAPE, who, "the result would have the rank %d, over %d", b->rank,
                        CT_MAX_RANK);
    b->tuples = 1;
    int n = 0;
    for (; n < index->rank - 1; n++) {
        b->shape[n] = index->shape[n];
        b->from[n] = -1;
    }
    for (int i = b->depth; i < t->rank; i++, n++) {
        b->shape[n] = t->shape[i];
        b->from[n] = i;
    }
    // With numbers, there are no more tuples than numbers; without, the shape may be too large.
    return depth > 0
               ? ct__check_shape(who, index->scalar, index->rank - 1, index->shape, &b->tuples)
               : ct__check_shape(who, CT_I64, index->rank - 1, index->shape, &b->tuples);
}

static ct_status fail_number(const char *who, const ct_tensor *t, const ct_tensor *index,
                             size_t tuple, int axis, int64_t number) {
    char place[CT__SHAPE_TEXT_BYTES];
    ct__format_index(place, sizeof place, index->rank, index->shape,
                     tuple * (size_t)index->shape[index->rank - 1] + (size_t)axis);
    return ct__fail(CT_EINDEX, who,
                    "the index %" PRId64 " at %s is out of range for axis %d of extent %" PRId64,
                    number, place, axis, t->shape[axis]);
}

// Distances along t's strides from tuples of numbers. They take the place of the numbers.
static ct_status find_blocks(const char *who, const ct_tensor *t, const ct_tensor *index,
                             struct blocks *b) {
    int64_t *numbers = b->at;
    for (size_t i = 0; i < b->tuples; i++) {
        int64_t distance = 0;
        for (int axis = 0; axis < b->depth; axis++) {
            int64_t number = numbers[i * (size_t)b->depth + (size_t)axis], extent = t->shape[axis];
            if (number < -extent || number >= extent)
                return fail_number(who, t, index, i, axis, number);
            number += number < 0 ? extent : 0;
            distance += t->count > 0 ? number * t->strides[axis] : 0;
        }
        b->at[i] = distance; // never past the numbers that were read
    }
    return CT_OK;
}

// Free b->at afterwards, unless this fails.
static ct_status choose(const char *who, const ct_tensor *t, const ct_tensor *index,
                        struct blocks *b) {
    ct_status status;
    if ((status = ct__check_index_type(who, index)) || (status = set_shape(who, t, index, b)))
        return status;
    size_t n = index->count > b->tuples ? index->count : b->tuples;
    b->at = ct__alloc(n * sizeof *b->at);
    if (!b->at)
        return ct__fail(CT_ENOMEM, who, "there is no memory for %zu indices", n);
    ct__copy_index(index, b->at);
    status = find_blocks(who, t, index, b);
    if (status)
        ct__free(b->at);
    return status;
}

static struct ct__rows rows_of(const ct_tensor *t, const struct blocks *b, char *dense) {
    struct ct__rows rows;
    ct__rows_start(&rows, t, 0, b->depth, b->tuples, b->at, (ptrdiff_t)t->scalar->size, dense);
    return rows;
}

ct_tensor *ct_gather_nd(const ct_tensor *t, const ct_tensor *index) {
    struct blocks b;
    if (!t || !index)
        return ct__null(__func__);
    if (choose(__func__, t, index, &b))
        return NULL;
    ct_tensor *out = ct__empty(__func__, t->scalar, b.rank, b.shape);
    if (out && out->count > 0) {
        struct ct__rows rows = rows_of(t, &b, ct__first(out));
        ct__rows_take(&rows);
    }
    if (out)
        ct__names_from(out, t, b.from);
    ct__free(b.at);
    return out;
}

// Writes the source, which is dense, into `out`, which nobody else sees.
static ct_status write_blocks(const char *who, ct_tensor *out, const struct blocks *b,
                              const ct_tensor *source, const struct ct__combiner *by) {
    const char *x, *z;
    if (source->count == 0)
        return CT_OK;
    struct ct__rows rows = rows_of(out, b, ct__first(source));
    if (!by)
        ct__rows_put(&rows);
    else if (!ct__rows_combine(&rows, by, &x, &z))
        return ct__fail_combine(who, by, out, x, z);
    return CT_OK;
}

// The blocks have been found for `out`, whose strides are dense.
static ct_status write_source(const char *who, ct_tensor *out, const struct blocks *b,
                              const ct_tensor *source, const struct ct__combiner *by) {
    if (ct_is_dense(source))
        return write_blocks(who, out, b, source, by);
    ct_tensor *dense = ct__dense_copy(who, source);
    ct_status status = dense ? write_blocks(who, out, b, dense, by) : CT_ENOMEM;
    ct_free(dense);
    return status;
}

// CT_OP_COUNT: no reduction.
static ct_tensor *scatter(const char *who, const ct_tensor *t, const ct_tensor *index,
                          const ct_tensor *source, enum ct_op op) {
    struct blocks b;
    struct ct__combiner by, *combiner = op == CT_OP_COUNT ? NULL : &by;
    if (!t || !index || !source)
        return ct__null(who);
    if (combiner && ct__find_combiner(who, t->scalar, op, combiner))
        return NULL;
    ct_tensor dense = *t; // as the result lies
    ct__dense_strides(dense.rank, dense.shape, dense.strides);
    if (choose(who, &dense, index, &b))
        return NULL;
    ct_tensor *out = NULL;
    if (ct__check_source(who, t, source, b.rank, b.shape) == CT_OK)
        out = ct__dense_copy(who, t);
    if (out && write_source(who, out, &b, source, combiner)) {
        ct_free(out);
        out = NULL;
    }
    ct__free(b.at);
    return out;
}

ct_tensor *ct_scatter_nd(const ct_tensor *t, const ct_tensor *index, const ct_tensor *source) {
    return scatter(__func__, t, index, source, CT_OP_COUNT);
}

ct_tensor *ct_scatter_nd_reduce(const ct_tensor *t, const ct_tensor *index, const ct_tensor *source,
                                enum ct_op op) {
    if ((unsigned)op >= CT_OP_COUNT)
        return ct__fail_null(CT_EINVAL, __func__, "%d is not an op", (int)op);
    return scatter(__func__, t, index, source, op);
}
