#include "tensor/view_impl.h"

#include "tensor/checked.h"
#include "tensor/fail.h"

#include <inttypes.h>

// Dense strides, but 0 along axes of one item.
static inline void set_strides(int rank, const int64_t *shape, int64_t *strides) {
    int64_t stride = 1;
    for (int i = rank - 1; i >= 0; i--) {
        strides[i] = shape[i] == 1 ? 0 : stride;
        stride *= shape[i];
    }
}

// Strides under which `shape` walks the same items, in the same order, as t; false if there are
// none. Runs of axes of equal size on both sides are matched; a run of t must have one step.
static bool find_strides(const ct_tensor *t, int rank, const int64_t *shape, int64_t *strides) {
    if (t->count == 0) {
        ct__dense_strides(rank, shape, strides);
        return true;
    }
    if (t->known_dense || ct__is_dense(t)) {
        set_strides(rank, shape, strides);
        return true;
    }
    struct ct__nest old = ct__nest_of(t->rank, t->shape, t->strides, t->strides);
    ct__nest_fuse(&old);
    int from = old.rank - 1;
    int64_t left = from >= 0 ? old.shape[from] : 1; // of the run, not yet covered
    int64_t step = from >= 0 ? old.step[0][from] : 0;
    for (int i = rank - 1; i >= 0; i--) {
        strides[i] = 0;
        if (shape[i] == 1)
            continue;
        if (left == 1) {
            left = old.shape[--from];
            step = old.step[0][from];
        }
        if (left % shape[i] != 0)
            return false;
        strides[i] = step;
        left /= shape[i];
        if (left > 1)
            step *= shape[i];
    }
    return true;
}

bool ct_can_view_as(const ct_tensor *t, int rank, const int64_t *shape) {
    int64_t resolved[CT_MAX_RANK], strides[CT_MAX_RANK];
    return t && !ct__resolve_shape(NULL, t, rank, shape, resolved) &&
           find_strides(t, rank, resolved, strides);
}

// The most common case: a dense tensor without names, which is not empty.
static ct_tensor *reshaped_dense(const char *who, const ct_tensor *t, int rank,
                                 const int64_t *shape) {
    ct_tensor *view = ct__share(who, t);
    if (!view)
        return NULL;
    view->rank = rank;
    memcpy(view->shape, shape, sizeof view->shape); // all of it: a size that is known
    memset(view->name, -1, sizeof view->name);
    set_strides(rank, shape, view->strides);
    return ct__view_counted(view);
}

// A view in another shape, or one copy; without names.
static ct_tensor *reshaped(const char *who, const ct_tensor *t, int rank, const int64_t *shape) {
    int64_t strides[CT_MAX_RANK];
    if (!find_strides(t, rank, shape, strides)) {
        ct_tensor *copy = ct__empty(who, t->scalar, rank, shape);
        if (copy)
            ct__copy_out(t, ct__first(copy)); // the same items in the same order
        return copy;
    }
    ct_tensor *view = ct__unnamed(ct__share(who, t));
    if (!view)
        return NULL;
    view->rank = rank;
    for (int i = 0; i < rank; i++)
        ct__set_axis(view, i, shape[i], strides[i]);
    return ct__view_counted(view);
}

// Gives a reshape the names of the first and the last axes of t.
static ct_tensor *keep_names(ct_tensor *result, const ct_tensor *t, int leading, int trailing) {
    if (!result || !t->names)
        return result;
    memset(result->name, -1, sizeof result->name);
    memcpy(result->name, t->name, (size_t)leading);
    memcpy(result->name + result->rank - trailing, t->name + t->rank - trailing, (size_t)trailing);
    result->names = t->names;
    ct__names_take(result->names);
    ct__names_tidy(result);
    return result;
}

ct_tensor *ct_reshape(const ct_tensor *t, int rank, const int64_t *shape) {
    int64_t resolved[CT_MAX_RANK] = {0};
    if (!t)
        return ct__null(__func__);
    if (ct__resolve_shape(__func__, t, rank, shape, resolved))
        return NULL;
    if (t->known_dense && !t->names && t->count > 0)
        return reshaped_dense(__func__, t, rank, resolved);
    if (!t->names)
        return reshaped(__func__, t, rank, resolved);
    int least = rank < t->rank ? rank : t->rank, leading = 0, trailing = 0;
    while (leading < least && t->shape[leading] == resolved[leading])
        leading++;
    while (trailing < least - leading &&
           t->shape[t->rank - 1 - trailing] == resolved[rank - 1 - trailing])
        trailing++;
    return keep_names(reshaped(__func__, t, rank, resolved), t, leading, trailing);
}

ct_tensor *ct_flatten(const ct_tensor *t, int first, int last) {
    if (!t)
        return ct__null(__func__);
    int counted = t->rank > 0 ? t->rank : 1; // one item becomes an axis of one
    if (ct__check_axis(__func__, counted, first, &first) ||
        ct__check_axis(__func__, counted, last, &last))
        return NULL;
    if (first > last)
        return ct__fail_null(CT_EAXIS, __func__, "the first axis %d comes after the last, %d",
                             first, last);
    if (t->rank > 0 && first == last)
        return ct__share(__func__, t);
    int64_t shape[CT_MAX_RANK], merged = 1;
    int rank = 0, leading = t->rank > 0 ? first : 0,
        trailing = t->rank > 0 ? t->rank - 1 - last : 0;
    for (int i = first; i <= last && i < t->rank; i++)
        if (t->shape[i] == 0)
            merged = 0;
    for (int i = first; i <= last && i < t->rank; i++)
        if (!ct__mul_i64(merged, t->shape[i], &merged)) {
            char text[CT__SHAPE_TEXT_BYTES];
            ct__format_shape(text, sizeof text, t->rank, t->shape);
            return ct__fail_null(CT_EOVERFLOW, __func__,
                                 "the axes %d to %d of a shape of %s hold more items than can be "
                                 "counted",
                                 first, last, text);
        }
    for (int i = 0; i < leading; i++)
        shape[rank++] = t->shape[i];
    shape[rank++] = merged;
    for (int i = t->rank - trailing; i < t->rank; i++)
        shape[rank++] = t->shape[i];
    return keep_names(reshaped(__func__, t, rank, shape), t, leading, trailing);
}
