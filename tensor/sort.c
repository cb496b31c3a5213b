#include "tensor/sort.h"

#include "tensor/alloc.h"
#include "tensor/ct_index.h"
#include "tensor/fail.h"
#include "tensor/parallel.h"

#include <inttypes.h>
#include <string.h>

// --- rows: the axis that is sorted becomes the last of a dense tensor

static void move_axis_last(ct_tensor *t, int axis) {
    int64_t extent = t->shape[axis], stride = t->strides[axis];
    for (int i = axis; i < t->rank - 1; i++) {
        t->shape[i] = t->shape[i + 1];
        t->strides[i] = t->strides[i + 1];
    }
    t->shape[t->rank - 1] = extent;
    t->strides[t->rank - 1] = stride;
}

ct_tensor *ct__dense_rows(const char *who, const ct_tensor *t, int axis) {
    ct_tensor moved = *t;
    moved.names = NULL;
    if (axis != CT_ALL)
        move_axis_last(&moved, axis);
    if (axis != CT_ALL && !ct_is_dense(&moved))
        return ct__dense_copy(who, &moved);
    ct_tensor *rows = ct_is_dense(&moved) ? ct__share(who, t) : ct__dense_copy(who, &moved);
    if (!rows)
        return NULL;
    ct__names_drop(rows->names);
    rows->names = NULL;
    rows->rank = axis == CT_ALL ? 1 : moved.rank;
    memcpy(rows->shape, moved.shape, sizeof rows->shape);
    if (axis == CT_ALL)
        rows->shape[0] = (int64_t)t->count;
    ct__dense_strides(rows->rank, rows->shape, rows->strides);
    return rows;
}

struct sorting {
    const struct ct__order *order;
    size_t n, most, bytes;
    const char *rows;
    char *values;       // or NULL
    int64_t *places;    // or NULL
    _Atomic bool fails; // for want of memory
};

// One row; its places come first in scratch memory, where they are not wanted themselves.
static void sort_row(const struct sorting *s, size_t row, int64_t *own, void *scratch) {
    size_t size = s->order->scalar->size;
    const char *items = s->rows + row * s->n * size;
    char *values = s->values ? s->values + row * s->most * size : NULL;
    int64_t *places = s->places ? s->places + row * s->most : own;
    if (!s->places && s->most == s->n) {
        ct__sort_values(s->order, s->n, items, values, scratch);
        return;
    }
    ct__sort_places(s->order, s->n, s->most, items, places, scratch);
    for (size_t i = 0; values && i < s->most; i++)
        memcpy(values + i * size, items + places[i] * (ptrdiff_t)size, size);
}

static void sort_rows(void *context, size_t begin, size_t end) {
    struct sorting *s = context;
    int64_t *own = NULL;
    char *scratch = ct__alloc(s->bytes);
    if (scratch && !s->places && s->most < s->n)
        own = ct__alloc(s->most * sizeof *own);
    if (!scratch || (!s->places && s->most < s->n && !own))
        s->fails = true;
    else
        for (size_t row = begin; row < end; row++)
            sort_row(s, row, own, scratch);
    ct__free(own);
    ct__free(scratch);
}

enum { GRAIN = 1 << 13 }; // items; fewer are not worth waking a thread for

ct_status ct__sort_rows(const char *who, const struct ct__order *order, const ct_tensor *rows,
                        size_t most, ct_tensor *values, ct_tensor *places) {
    size_t n = (size_t)rows->shape[rows->rank - 1];
    struct sorting s = {.order = order, .n = n, .most = most, .rows = ct__first(rows)};
    if (rows->count == 0 || most == 0)
        return CT_OK;
    s.values = values ? ct__first(values) : NULL;
    s.places = places ? (int64_t *)(void *)ct__first(places) : NULL;
    s.fails = !ct__sort_scratch(order, n, &s.bytes);
    if (!s.fails)
        ct__parallel_for(rows->count / n, GRAIN / n + 1, sort_rows, &s);
    return s.fails ? ct__fail(CT_ENOMEM, who, "there is no memory for sorting %zu items", n)
                   : CT_OK;
}

// --- results

// A dense tensor whose last axis belongs to `axis` of the result, and has the extent there.
static ct_tensor *move_back(const char *who, ct_tensor *rows, const ct_tensor *t, int axis) {
    if (axis == CT_ALL)
        return rows;
    int64_t extent = rows->shape[rows->rank - 1], shape[CT_MAX_RANK];
    memcpy(shape, t->shape, sizeof shape);
    shape[axis] = extent;
    ct_tensor *out = rows;
    if (axis < t->rank - 1) {
        out = ct__empty(who, rows->scalar, t->rank, shape);
        if (out && out->count > 0) {
            ct_tensor moved = *out;
            move_axis_last(&moved, axis);
            ct__copy_items(rows->scalar->size, rows->rank, rows->shape, ct__first(rows),
                           rows->strides, ct__first(out), moved.strides);
        }
        ct_free(rows);
    }
    if (out)
        ct__names_like(out, t);
    return out;
}

static ct_tensor *empty_rows(const char *who, const ct_scalar *scalar, const ct_tensor *rows,
                             size_t most) {
    int64_t shape[CT_MAX_RANK];
    memcpy(shape, rows->shape, sizeof shape);
    shape[rows->rank - 1] = (int64_t)most;
    return ct__empty(who, scalar, rows->rank, shape);
}

// The results that are wanted, in full or not at all. The axis has been checked.
static ct_status order_rows(const char *who, const struct ct__order *order, const ct_tensor *t,
                            int axis, int64_t most, ct_tensor **values, ct_tensor **places) {
    ct_tensor *v = NULL, *p = NULL, *rows = ct__dense_rows(who, t, axis);
    if (!rows)
        return CT_ENOMEM;
    size_t k = (size_t)(most < 0 ? rows->shape[rows->rank - 1] : most);
    ct_status status = CT_OK;
    if (values && !(v = empty_rows(who, t->scalar, rows, k)))
        status = ct_error()->code;
    if (!status && places && !(p = empty_rows(who, CT_I64, rows, k)))
        status = ct_error()->code;
    if (!status)
        status = ct__sort_rows(who, order, rows, k, v, p);
    if (!status && v && !(v = move_back(who, v, t, axis)))
        status = CT_ENOMEM;
    if (!status && p && !(p = move_back(who, p, t, axis)))
        status = CT_ENOMEM;
    ct_free(rows);
    if (status) {
        ct_free(v);
        ct_free(p);
        return status;
    }
    if (values)
        *values = v;
    if (places)
        *places = p;
    return CT_OK;
}

static ct_status check_axis(const char *who, const ct_tensor *t, int *axis) {
    return *axis == CT_ALL ? CT_OK : ct__check_axis(who, t->rank, *axis, axis);
}

ct_tensor *ct_sort(const ct_tensor *t, int axis, bool descending) {
    struct ct__order order;
    ct_tensor *values = NULL;
    if (!t)
        return ct__null(__func__);
    if (!check_axis(__func__, t, &axis) && !ct__find_order(__func__, t->scalar, descending, &order))
        order_rows(__func__, &order, t, axis, -1, &values, NULL);
    return values;
}

ct_tensor *ct_argsort(const ct_tensor *t, int axis, bool descending) {
    struct ct__order order;
    ct_tensor *places = NULL;
    if (!t)
        return ct__null(__func__);
    if (!check_axis(__func__, t, &axis) && !ct__find_order(__func__, t->scalar, descending, &order))
        order_rows(__func__, &order, t, axis, -1, NULL, &places);
    return places;
}

ct_status ct_topk(const ct_tensor *t, int64_t k, int axis, bool largest, ct_tensor **values,
                  ct_tensor **indices) {
    struct ct__order order;
    ct_status status;
    if (!t)
        return ct__fail_null_operand(__func__);
    if ((status = check_axis(__func__, t, &axis)) ||
        (status = ct__find_order(__func__, t->scalar, largest, &order)))
        return status;
    int64_t extent = axis == CT_ALL ? (int64_t)t->count : t->shape[axis];
    if (k < 0)
        return ct__fail(CT_EINVAL, __func__, "the number of items %" PRId64 " is negative", k);
    if (k > extent && axis == CT_ALL)
        return ct__fail(CT_EINVAL, __func__,
                        "%" PRId64 " items are more than the tensor's %" PRId64, k, extent);
    if (k > extent)
        return ct__fail(CT_EINVAL, __func__,
                        "%" PRId64 " items are more than the extent %" PRId64 " of axis %d", k,
                        extent, axis);
    if (!values && !indices)
        return CT_OK;
    return order_rows(__func__, &order, t, axis, k, values, indices);
}
