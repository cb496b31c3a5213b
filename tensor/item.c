/* One item: by index, by number, the only one; and all at once. */

#include "tensor/fail.h"
#include "tensor/storage.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* --- where it is --- */

static ct_status fail_index(const char *who, const ct_tensor *t, int rank, const int64_t *index) {
    char text[CT__SHAPE_TEXT_BYTES], shape[CT__SHAPE_TEXT_BYTES];
    ct__format_shape(text, sizeof text, rank, index);
    if (rank != t->rank)
        return ct__fail(CT_EINDEX, who, "index %s has %d %s and the tensor has %d", text, rank,
                        rank == 1 ? "axis" : "axes", t->rank);
    ct__format_shape(shape, sizeof shape, t->rank, t->shape);
    return ct__fail(CT_EINDEX, who, "index %s is out of bounds for a shape of %s", text, shape);
}

/* The distance in items, along these strides, of an index whose numbers count from the end where
   negative; an error otherwise. */
static ct_status locate(const char *who, const ct_tensor *t, const int64_t *strides, int rank,
                        const int64_t *index, int64_t *distance) {
    if (rank > 0 && !index)
        return ct__fail(CT_EINVAL, who, "the index is NULL and the rank is %d", rank);
    if (rank != t->rank)
        return fail_index(who, t, rank, index);
    int64_t sum = 0;
    for (int i = 0; i < rank; i++) {
        if (index[i] < -t->shape[i] || index[i] >= t->shape[i])
            return fail_index(who, t, rank, index);
        sum += (index[i] < 0 ? index[i] + t->shape[i] : index[i]) * strides[i];
    }
    *distance = sum;
    return CT_OK;
}

/* The index that an item has, counted in row-major order; from the end where negative. */
static ct_status unflatten(const char *who, const ct_tensor *t, int64_t item,
                           int64_t index[CT_MAX_RANK]) {
    int64_t count = (int64_t)t->count;
    if (item < -count || item >= count)
        return ct__fail(CT_EINDEX, who,
                        "item %" PRId64 " is out of bounds for a tensor of %zu "
                        "item%s",
                        item, t->count, t->count == 1 ? "" : "s");
    ct__unravel(t->rank, t->shape, (size_t)(item < 0 ? item + count : item), index);
    return CT_OK;
}

static ct_status fail_place(const char *who, const char *what) {
    return ct__fail(CT_EINVAL, who, "the place for the %s is NULL", what);
}

/* --- reading --- */

static const char *item_of(const ct_tensor *t, int64_t distance) {
    return ct__first(t) + distance * (ptrdiff_t)t->scalar->size;
}

static void read_item(const ct_tensor *t, int64_t distance, double *value) {
    *value = t->scalar->to_double(t->scalar, item_of(t, distance));
}

ct_status ct_get(const ct_tensor *t, int rank, const int64_t *index, double *value) {
    if (!t)
        return ct__fail_null_operand(__func__);
    if (!value)
        return fail_place(__func__, "value");
    int64_t distance;
    ct_status status = locate(__func__, t, t->strides, rank, index, &distance);
    if (!status)
        read_item(t, distance, value);
    return status;
}

ct_status ct_get_flat(const ct_tensor *t, int64_t i, double *value) {
    if (!t)
        return ct__fail_null_operand(__func__);
    if (!value)
        return fail_place(__func__, "value");
    int64_t index[CT_MAX_RANK], distance = 0;
    ct_status status = unflatten(__func__, t, i, index);
    if (!status)
        status = locate(__func__, t, t->strides, t->rank, index, &distance);
    if (!status)
        read_item(t, distance, value);
    return status;
}

ct_status ct_get_item(const ct_tensor *t, int rank, const int64_t *index, void *item) {
    if (!t)
        return ct__fail_null_operand(__func__);
    if (!item)
        return fail_place(__func__, "item");
    int64_t distance;
    ct_status status = locate(__func__, t, t->strides, rank, index, &distance);
    if (!status)
        memmove(item, item_of(t, distance), t->scalar->size);
    return status;
}

double ct_item(const ct_tensor *t) {
    double value = (double)NAN;
    if (!t) {
        ct__fail_null_operand(__func__);
    } else if (t->count != 1) {
        char shape[CT__SHAPE_TEXT_BYTES];
        ct__format_shape(shape, sizeof shape, t->rank, t->shape);
        ct__fail(CT_ESHAPE, __func__, "a tensor of shape %s holds %zu items, not one", shape,
                 t->count);
    } else {
        read_item(t, 0, &value);
    }
    return value;
}

/* --- writing --- */

/* Ends a write into s: where it is not t's own, t takes it over, or it goes if the value did not
   fit. */
static ct_status settle(const char *who, ct_tensor *t, struct ct__storage *s, double value,
                        bool fits) {
    if (s != t->storage && fits)
        ct__adopt(t, s);
    else if (s != t->storage)
        ct__drop_share(s);
    return fits ? CT_OK : ct__fail_value(who, t, value);
}

/* Writes the item at an index: the bytes of `item`, or where it is NULL the value. */
static ct_status write_item(const char *who, ct_tensor *t, int rank, const int64_t *index,
                            const void *item, double value) {
    int64_t dense[CT_MAX_RANK], distance;
    ct__dense_strides(t->rank, t->shape, dense);
    ct_status status = locate(who, t, dense, rank, index, &distance);
    if (status)
        return status;
    bool in_place = ct__is_writable(t), fits = true;
    struct ct__storage *s = in_place ? t->storage : ct__detached(who, t, true);
    if (!s)
        return CT_ENOMEM;
    int64_t place = (in_place ? t->offset : 0) + distance;
    char *to = s->data + place * (ptrdiff_t)t->scalar->size;
    if (item)
        memmove(to, item, t->scalar->size); /* the item may be one of t's own */
    else
        fits = t->scalar->from_double(t->scalar, to, value);
    return settle(who, t, s, value, fits);
}

ct_status ct_set(ct_tensor *t, int rank, const int64_t *index, double value) {
    if (!t)
        return ct__fail_null_operand(__func__);
    return write_item(__func__, t, rank, index, NULL, value);
}

ct_status ct_set_flat(ct_tensor *t, int64_t i, double value) {
    if (!t)
        return ct__fail_null_operand(__func__);
    int64_t index[CT_MAX_RANK];
    ct_status status = unflatten(__func__, t, i, index);
    return status ? status : write_item(__func__, t, t->rank, index, NULL, value);
}

ct_status ct_set_item(ct_tensor *t, int rank, const int64_t *index, const void *item) {
    if (!t)
        return ct__fail_null_operand(__func__);
    if (!item)
        return ct__fail(CT_EINVAL, __func__, "the item is NULL");
    return write_item(__func__, t, rank, index, item, 0);
}

ct_status ct_fill(ct_tensor *t, double value) {
    if (!t)
        return ct__fail_null_operand(__func__);
    bool in_place = ct__is_writable(t);
    struct ct__storage *s = in_place ? t->storage : ct__detached(__func__, t, false);
    if (!s)
        return CT_ENOMEM;
    char *first = in_place ? ct__first(t) : s->data;
    return settle(__func__, t, s, value, ct__fill_items(t->scalar, first, t->count, value));
}
