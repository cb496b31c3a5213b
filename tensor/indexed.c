/* Items chosen and placed by position, for any scalar type. */

#include "tensor/fail.h"
#include "tensor/tensor_impl.h"

#include <string.h>

/* A walk over a tensor's items in row-major order. */
struct cursor {
    const ct_tensor *t;
    int64_t index[CT_MAX_RANK];
    const char *p;
};

static struct cursor first_item(const ct_tensor *t) {
    return (struct cursor){.t = t, .p = ct__first(t)};
}

static void next_item(struct cursor *c) {
    ptrdiff_t size = (ptrdiff_t)c->t->scalar->size;
    for (int axis = c->t->rank - 1; axis >= 0; axis--) {
        c->p += c->t->strides[axis] * size;
        if (++c->index[axis] < c->t->shape[axis]) return;
        c->p -= c->t->shape[axis] * c->t->strides[axis] * size;
        c->index[axis] = 0;
    }
}

static ct_status check_index(const char *who, const ct_tensor *index, int rank,
                             const int64_t *shape, int64_t extent) {
    char a[CT__SHAPE_TEXT_BYTES], b[CT__SHAPE_TEXT_BYTES];
    if (index->scalar != CT_I64)
        return ct__fail(CT_EDTYPE, who, "an index needs the scalar type i64 and %s was given",
                        index->scalar->name);
    if (index->rank != rank ||
        memcmp(index->shape, shape, (size_t)rank * sizeof(int64_t)) != 0) {
        ct__format_shape(a, sizeof a, rank, shape);
        ct__format_shape(b, sizeof b, index->rank, index->shape);
        return ct__fail(CT_ESHAPE, who, "the index needs the shape %s of the rows and has %s", a,
                        b);
    }
    struct cursor c = first_item(index);
    for (size_t i = 0; i < index->count; i++, next_item(&c)) {
        int64_t at;
        memcpy(&at, c.p, sizeof at);
        if (at < 0 || at >= extent)
            return ct__fail(CT_EINDEX, who,
                            "the index %lld of row %zu is out of range for an extent of %lld",
                            (long long)at, i, (long long)extent);
    }
    return CT_OK;
}

ct_tensor *ct_pick(const ct_tensor *t, const ct_tensor *index) {
    const char *who = "ct_pick";
    if (!t || !index) {
        ct__fail_null_operand(who);
        return NULL;
    }
    if (t->rank == 0)
        return ct__fail_null(CT_ESHAPE, who, "a tensor of rank 0 has no rows to pick from");
    int last = t->rank - 1;
    if (check_index(who, index, last, t->shape, t->shape[last]) != CT_OK) return NULL;
    ct_tensor *out = ct__empty(who, t->scalar, last, t->shape);
    if (!out) return NULL;
    ct_tensor rows = *t; /* t without its last axis */
    rows.rank = last;
    struct cursor from = first_item(&rows), at = first_item(index);
    size_t size = t->scalar->size;
    for (size_t i = 0; i < out->count; i++, next_item(&from), next_item(&at)) {
        int64_t k;
        memcpy(&k, at.p, sizeof k);
        memcpy(ct__first(out) + i * size, from.p + k * t->strides[last] * (ptrdiff_t)size, size);
    }
    return out;
}

ct_tensor *ct_place(const ct_tensor *t, const ct_tensor *index, int64_t extent) {
    const char *who = "ct_place";
    if (!t || !index) {
        ct__fail_null_operand(who);
        return NULL;
    }
    if (t->rank == CT_MAX_RANK)
        return ct__fail_null(CT_ESHAPE, who, "a tensor of rank %d cannot take another axis",
                             t->rank);
    if (check_index(who, index, t->rank, t->shape, extent) != CT_OK) return NULL;
    int64_t shape[CT_MAX_RANK];
    memcpy(shape, t->shape, sizeof shape);
    shape[t->rank] = extent;
    ct_tensor *out = ct_zeros(t->scalar, t->rank + 1, shape);
    if (!out) return NULL;
    struct cursor from = first_item(t), at = first_item(index);
    size_t size = t->scalar->size;
    for (size_t i = 0; i < t->count; i++, next_item(&from), next_item(&at)) {
        int64_t k;
        memcpy(&k, at.p, sizeof k);
        memcpy(ct__first(out) + (i * (size_t)extent + (size_t)k) * size, from.p, size);
    }
    return out;
}

/* Whether start, start + step, ... (count items) lie in an axis of `extent`. */
static bool fits(int64_t start, int64_t step, int64_t count, int64_t extent) {
    int64_t way, last;
    if (count == 0) return extent >= 0;
    return start >= 0 && start < extent && !__builtin_mul_overflow(count - 1, step, &way) &&
           !__builtin_add_overflow(start, way, &last) && last >= 0 && last < extent &&
           (step != 0 || count == 1);
}

ct_tensor *ct_unslice(const ct_tensor *t, int axis, int64_t start, int64_t step, int64_t extent) {
    const char *who = "ct_unslice";
    int64_t shape[CT_MAX_RANK], strides[CT_MAX_RANK];
    if (!t) {
        ct__fail_null_operand(who);
        return NULL;
    }
    if (ct__check_axis(who, t->rank, axis, &axis) != CT_OK) return NULL;
    if (!fits(start, step, t->shape[axis], extent))
        return ct__fail_null(CT_EINDEX, who,
                             "%lld items from %lld in steps of %lld do not fit an extent of %lld",
                             (long long)t->shape[axis], (long long)start, (long long)step,
                             (long long)extent);
    memcpy(shape, t->shape, sizeof shape);
    shape[axis] = extent;
    ct_tensor *out = ct_zeros(t->scalar, t->rank, shape);
    if (!out || t->count == 0) return out;
    memcpy(strides, out->strides, sizeof strides);
    char *to = ct__first(out) + start * strides[axis] * (ptrdiff_t)t->scalar->size;
    strides[axis] *= step;
    ct__copy_items(t->scalar->size, t->rank, t->shape, ct__first(t), t->strides, to, strides);
    return out;
}
