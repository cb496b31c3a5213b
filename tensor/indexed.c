/* Items chosen and placed by position, for any scalar type. */

#include "tensor/index_impl.h"

#include "tensor/ct_index.h"
#include "tensor/fail.h"

#include <string.h>

/* The nest that walks rows and their index, both with items, in row-major order. */
static struct ct__nest walk_both(struct ct__walk *walk, const ct_tensor *rows,
                                 const ct_tensor *index) {
    struct ct__nest nest = ct__nest_of(rows->rank, rows->shape, rows->strides, index->strides);
    ct__nest_fuse(&nest);
    ct__walk_start(walk, &nest, nest.rank, 0);
    return nest;
}

static int64_t index_at(const ct_tensor *index, int64_t distance) {
    int64_t at;
    int32_t narrow;
    const char *item = ct__first(index) + distance * (ptrdiff_t)index->scalar->size;
    if (index->scalar == CT_I64) {
        memcpy(&at, item, sizeof at);
        return at;
    }
    memcpy(&narrow, item, sizeof narrow);
    return narrow;
}

/* One index within the extent for each row, where `rows` is walked by its shape alone. */
static ct_status check_index(const char *who, const ct_tensor *index, const ct_tensor *rows,
                             int64_t extent) {
    char a[CT__SHAPE_TEXT_BYTES], b[CT__SHAPE_TEXT_BYTES];
    if (ct__check_index_type(who, index))
        return CT_EDTYPE;
    if (!ct__same_shape(index, rows)) {
        ct__format_shape(a, sizeof a, rows->rank, rows->shape);
        ct__format_shape(b, sizeof b, index->rank, index->shape);
        return ct__fail(CT_ESHAPE, who, "the index needs the shape %s of the rows and has %s", a,
                        b);
    }
    if (index->count == 0)
        return CT_OK;
    struct ct__walk walk;
    struct ct__nest nest = walk_both(&walk, rows, index);
    for (size_t i = 0; i < index->count; i++, ct__walk_next(&walk, &nest, nest.rank)) {
        int64_t at = index_at(index, walk.at[1]);
        if (at < 0 || at >= extent)
            return ct__fail(CT_EINDEX, who,
                            "the index %lld of row %zu is out of range for an extent of %lld",
                            (long long)at, i, (long long)extent);
    }
    return CT_OK;
}

ct_tensor *ct_pick(const ct_tensor *t, const ct_tensor *index) {
    const char *who = "ct_pick";
    if (!t || !index)
        return ct__null(who);
    if (t->rank == 0)
        return ct__fail_null(CT_ESHAPE, who, "a tensor of rank 0 has no rows to pick from");
    int last = t->rank - 1;
    ct_tensor rows = *t; /* t without its last axis */
    rows.rank = last;
    if (check_index(who, index, &rows, t->shape[last]) != CT_OK)
        return NULL;
    ct_tensor *out = ct__empty(who, t->scalar, last, t->shape);
    if (out)
        ct__names_kept(out, t, 1u << last, false);
    if (!out || out->count == 0)
        return out;
    struct ct__walk walk;
    struct ct__nest nest = walk_both(&walk, &rows, index);
    size_t size = t->scalar->size;
    for (size_t i = 0; i < out->count; i++, ct__walk_next(&walk, &nest, nest.rank)) {
        int64_t from = walk.at[0] + index_at(index, walk.at[1]) * t->strides[last];
        memcpy(ct__first(out) + i * size, ct__first(t) + from * (ptrdiff_t)size, size);
    }
    return out;
}

ct_tensor *ct_place(const ct_tensor *t, const ct_tensor *index, int64_t extent) {
    const char *who = "ct_place";
    if (!t || !index)
        return ct__null(who);
    if (t->rank == CT_MAX_RANK)
        return ct__fail_null(CT_ESHAPE, who, "a tensor of rank %d cannot take another axis",
                             t->rank);
    if (check_index(who, index, t, extent) != CT_OK)
        return NULL;
    int64_t shape[CT_MAX_RANK];
    memcpy(shape, t->shape, sizeof shape);
    shape[t->rank] = extent;
    ct_tensor *out = ct_zeros(t->scalar, t->rank + 1, shape);
    if (out && t->names) {
        ct__names_like(out, t);
        out->name[t->rank] = -1;
    }
    if (!out || t->count == 0)
        return out;
    struct ct__walk walk;
    struct ct__nest nest = walk_both(&walk, t, index);
    size_t size = t->scalar->size;
    for (size_t i = 0; i < t->count; i++, ct__walk_next(&walk, &nest, nest.rank)) {
        size_t at = i * (size_t)extent + (size_t)index_at(index, walk.at[1]);
        memcpy(ct__first(out) + at * size, ct__first(t) + walk.at[0] * (ptrdiff_t)size, size);
    }
    return out;
}

/* Whether start, start + step, ... (count items) lie in an axis of `extent`. */
static bool fits(int64_t start, int64_t step, int64_t count, int64_t extent) {
    int64_t way, last;
    if (count == 0)
        return extent >= 0;
    return start >= 0 && start < extent && !__builtin_mul_overflow(count - 1, step, &way) &&
           !__builtin_add_overflow(start, way, &last) && last >= 0 && last < extent &&
           (step != 0 || count == 1);
}

ct_tensor *ct_unslice(const ct_tensor *t, int axis, int64_t start, int64_t step, int64_t extent) {
    const char *who = "ct_unslice";
    int64_t shape[CT_MAX_RANK], strides[CT_MAX_RANK];
    if (!t)
        return ct__null(who);
    if (ct__check_axis(who, t->rank, axis, &axis) != CT_OK)
        return NULL;
    if (!fits(start, step, t->shape[axis], extent))
        return ct__fail_null(
            CT_EINDEX, who, "%lld items from %lld in steps of %lld do not fit an extent of %lld",
            (long long)t->shape[axis], (long long)start, (long long)step, (long long)extent);
    memcpy(shape, t->shape, sizeof shape);
    shape[axis] = extent;
    ct_tensor *out = ct_zeros(t->scalar, t->rank, shape);
    if (out)
        ct__names_like(out, t);
    if (!out || t->count == 0)
        return out;
    memcpy(strides, out->strides, sizeof strides);
    char *to = ct__first(out) + start * strides[axis] * (ptrdiff_t)t->scalar->size;
    strides[axis] *= t->shape[axis] > 1 ? step : 1; // one item has no way to go, and any step
    ct__copy_items(t->scalar->size, t->rank, t->shape, ct__first(t), t->strides, to, strides);
    return out;
}

ct_tensor *ct_one_hot(const ct_tensor *index, int64_t extent, const ct_scalar *scalar) {
    struct ct__places places;
    int64_t shape[CT_MAX_RANK];
    if (!index || !scalar)
        return ct__null(__func__);
    if (index->rank == CT_MAX_RANK)
        return ct__fail_null(CT_ESHAPE, __func__, "an index of rank %d cannot take another axis",
                             index->rank);
    memcpy(shape, index->shape, sizeof shape);
    shape[index->rank] = extent;
    ct_tensor *out = ct__empty(__func__, scalar, index->rank + 1, shape);
    ct_tensor *one = out ? ct__empty(__func__, scalar, 0, NULL) : NULL;
    if (!one || ct__fill_new(__func__, out, 0) || ct__fill_new(__func__, one, 1) ||
        ct__read_places(__func__, index, index->rank, extent, &places)) {
        ct_free(one);
        ct_free(out);
        return NULL;
    }
    for (size_t i = 0; i < index->count; i++)
        memcpy(ct__first(out) + (i * (size_t)extent + (size_t)places.at[i]) * scalar->size,
               ct__first(one), scalar->size);
    int from[CT_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
    from[index->rank] = -1;
    ct__names_from(out, index, from);
    ct__drop_places(&places);
    ct_free(one);
    return out;
}
