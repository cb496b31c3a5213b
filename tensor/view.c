#include "tensor/tensor_impl.h"

#include "tensor/fail.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

// A view is a copy of the descriptor with other numbers in it. One that has no items gets the
// numbers of a dense tensor, so that no arithmetic is ever done on strides without meaning.

static ct_tensor *finished(ct_tensor *view) {
    // The items are countable: they are as many as before, fewer, or checked by ct_broadcast_to().
    ct__count_items(view->scalar->size, view->rank, view->shape, &view->count);
    if (view->count == 0) {
        view->offset = 0;
        ct__dense_strides(view->rank, view->shape, view->strides);
    }
#ifdef CT_DEBUG
    assert(ct_check_tensor(view) == CT_OK);
#endif
    return view;
}

// A share to be changed, with one axis looked up; NULL with an error set.
static ct_tensor *begin_on_axis(const char *who, const ct_tensor *t, int axis, int *found) {
    if (!t)
        return ct__null(who);
    return ct__check_axis(who, t->rank, axis, found) ? NULL : ct__share(who, t);
}

static void remove_axis(ct_tensor *t, int axis) {
    t->rank--;
    for (int i = axis; i < t->rank; i++) {
        t->shape[i] = t->shape[i + 1];
        t->strides[i] = t->strides[i + 1];
    }
}

// --- cutting

// Python's slice.indices(): a bound as an index that a walk in the step's direction can start or
// stop at.
static int64_t clamp_bound(int64_t bound, int64_t extent, bool forward) {
    int64_t low = forward ? 0 : -1, high = forward ? extent : extent - 1;
    if (bound < 0)
        bound += extent; // extent >= 0: cannot overflow
    return bound < low ? low : bound > high ? high : bound;
}

// The number of items of a walk from start, before stop.
static int64_t count_steps(int64_t start, int64_t stop, int64_t step) {
    uint64_t way = step > 0 ? (uint64_t)(stop - start) : (uint64_t)(start - stop);
    uint64_t stride = step > 0 ? (uint64_t)step : -(uint64_t)step;
    if (step > 0 ? stop <= start : stop >= start)
        return 0;
    return (int64_t)((way - 1) / stride + 1);
}

ct_tensor *ct_slice(const ct_tensor *t, int axis, int64_t start, int64_t stop, int64_t step) {
    if (t && step == 0)
        return ct__fail_null(CT_EINVAL, __func__, "the step of a slice must not be 0");
    ct_tensor *view = begin_on_axis(__func__, t, axis, &axis);
    if (!view)
        return NULL;
    int64_t extent = view->shape[axis];
    start = clamp_bound(start, extent, step > 0);
    if (stop == CT_END)
        stop = step > 0 ? extent : -1;
    else
        stop = clamp_bound(stop, extent, step > 0);
    int64_t length = count_steps(start, stop, step);
    view->shape[axis] = length;
    if (t->count > 0 && length > 0)
        view->offset += start * view->strides[axis];
    if (t->count > 0 && length > 1) // else the step is never made and may be any number
        view->strides[axis] *= step;
    return finished(view);
}

ct_tensor *ct_select(const ct_tensor *t, int axis, int64_t index) {
    if (!t)
        return ct__null(__func__);
    int at;
    if (ct__check_axis(__func__, t->rank, axis, &at))
        return NULL;
    int64_t extent = t->shape[at];
    if (index < -extent || index >= extent)
        return ct__fail_null(CT_EINDEX, __func__,
                             "index %" PRId64 " is out of bounds for axis %d of extent %" PRId64,
                             index, at, extent);
    ct_tensor *view = ct__share(__func__, t);
    if (!view)
        return NULL;
    if (t->count > 0)
        view->offset += (index < 0 ? index + extent : index) * t->strides[at];
    remove_axis(view, at);
    return finished(view);
}

ct_tensor *ct_flip(const ct_tensor *t, int axis) {
    ct_tensor *view = begin_on_axis(__func__, t, axis, &axis);
    if (!view)
        return NULL;
    if (t->count > 0 && t->shape[axis] > 1) {
        view->offset += (t->shape[axis] - 1) * t->strides[axis];
        view->strides[axis] = -t->strides[axis];
    }
    return finished(view);
}

// --- reordering

static void swap_axes(ct_tensor *t, int i, int j) {
    int64_t extent = t->shape[i], stride = t->strides[i];
    t->shape[i] = t->shape[j];
    t->strides[i] = t->strides[j];
    t->shape[j] = extent;
    t->strides[j] = stride;
}

ct_tensor *ct_swap_axes(const ct_tensor *t, int axis, int other) {
    if (t && ct__check_axis(__func__, t->rank, other, &other))
        return NULL;
    ct_tensor *view = begin_on_axis(__func__, t, axis, &axis);
    if (!view)
        return NULL;
    swap_axes(view, axis, other);
    return finished(view);
}

ct_tensor *ct_transpose(const ct_tensor *t) {
    if (!t)
        return ct__null(__func__);
    ct_tensor *view = ct__share(__func__, t);
    if (!view)
        return NULL;
    if (t->rank >= 2)
        swap_axes(view, t->rank - 2, t->rank - 1);
    return finished(view);
}

ct_tensor *ct_permute(const ct_tensor *t, int n, const int *axes) {
    if (!t)
        return ct__null(__func__);
    if (n != t->rank)
        return ct__fail_null(CT_EAXIS, __func__,
                             "a permutation of a tensor of rank %d needs %d axes and %d %s given",
                             t->rank, t->rank, n, n == 1 ? "was" : "were");
    unsigned all;
    int from[CT_MAX_RANK];
    if (ct__check_axes(__func__, t->rank, n, axes, &all))
        return NULL;
    for (int i = 0; i < n; i++)
        if (ct__check_axis(__func__, n, axes[i], &from[i])) // CT_ALL is no axis here
            return NULL;
    ct_tensor *view = ct__share(__func__, t);
    for (int i = 0; view && i < n; i++) {
        view->shape[i] = t->shape[from[i]];
        view->strides[i] = t->strides[from[i]];
    }
    return view ? finished(view) : NULL;
}

// --- extents of 1

ct_tensor *ct_expand_dims(const ct_tensor *t, int axis) {
    if (!t)
        return ct__null(__func__);
    if (t->rank == CT_MAX_RANK)
        return ct__fail_null(CT_ESHAPE, __func__, "a tensor of rank %d can have no further axis",
                             t->rank);
    if (ct__check_axis(__func__, t->rank + 1, axis, &axis)) // the rank of the result, as it counts
        return NULL;
    ct_tensor *view = ct__share(__func__, t);
    if (!view)
        return NULL;
    for (int i = view->rank++; i > axis; i--) {
        view->shape[i] = view->shape[i - 1];
        view->strides[i] = view->strides[i - 1];
    }
    view->shape[axis] = 1;
    view->strides[axis] = 0;
    return finished(view);
}

static ct_tensor *squeeze_all(const char *who, const ct_tensor *t) {
    ct_tensor *view = ct__share(who, t);
    if (!view)
        return NULL;
    for (int i = view->rank - 1; i >= 0; i--)
        if (view->shape[i] == 1)
            remove_axis(view, i);
    return finished(view);
}

ct_tensor *ct_squeeze(const ct_tensor *t, int axis) {
    if (!t)
        return ct__null(__func__);
    if (axis == CT_ALL)
        return squeeze_all(__func__, t);
    if (ct__check_axis(__func__, t->rank, axis, &axis))
        return NULL;
    if (t->shape[axis] != 1)
        return ct__fail_null(CT_ESHAPE, __func__,
                             "cannot squeeze axis %d of extent %" PRId64 ": the extent is not 1",
                             axis, t->shape[axis]);
    ct_tensor *view = ct__share(__func__, t);
    if (!view)
        return NULL;
    remove_axis(view, axis);
    return finished(view);
}

// --- broadcasting

static ct_status check_target(const char *who, const ct_tensor *t, int rank, const int64_t *shape) {
    char from[CT__SHAPE_TEXT_BYTES], to[CT__SHAPE_TEXT_BYTES];
    ct__format_shape(from, sizeof from, t->rank, t->shape);
    ct__format_shape(to, sizeof to, rank, shape);
    if (rank < t->rank)
        return ct__fail(CT_ESHAPE, who,
                        "a tensor of shape %s does not broadcast to %s: its rank %d is larger",
                        from, to, t->rank);
    for (int i = t->rank - 1; i >= 0; i--) {
        int axis = i + rank - t->rank;
        if (t->shape[i] != 1 && t->shape[i] != shape[axis])
            return ct__fail(CT_ESHAPE, who,
                            "a tensor of shape %s does not broadcast to %s: the extent %" PRId64
                            " of axis %d is neither %" PRId64 " nor 1",
                            from, to, t->shape[i], i, shape[axis]);
    }
    return CT_OK;
}

ct_tensor *ct_broadcast_to(const ct_tensor *t, int rank, const int64_t *shape) {
    if (!t)
        return ct__null(__func__);
    size_t count;
    if (ct__check_shape(__func__, t->scalar, rank, shape, &count) ||
        check_target(__func__, t, rank, shape))
        return NULL;
    ct_tensor *view = ct__share(__func__, t);
    if (!view)
        return NULL;
    view->rank = rank;
    for (int i = 0; i < rank; i++) {
        view->shape[i] = shape[i];
        view->strides[i] = ct__stride_at(rank, i, t->rank, t->shape, t->strides);
    }
    return finished(view);
}

// --- reshaping

// Strides under which `shape` walks the same items, in the same order, as t; false if there are
// none. Runs of axes of equal size on both sides are matched; a run of t must have one step.
static bool find_strides(const ct_tensor *t, int rank, const int64_t *shape, int64_t *strides) {
    if (t->count == 0) {
        ct__dense_strides(rank, shape, strides);
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

static ct_tensor *reshaped_copy(const char *who, const ct_tensor *t, int rank,
                                const int64_t *shape) {
    ct_tensor *result = ct__empty(who, t->scalar, rank, shape);
    if (result)
        ct__copy_out(t, ct__first(result)); // the same items in the same order
    return result;
}

ct_tensor *ct_reshape(const ct_tensor *t, int rank, const int64_t *shape) {
    int64_t resolved[CT_MAX_RANK], strides[CT_MAX_RANK];
    if (!t)
        return ct__null(__func__);
    if (ct__resolve_shape(__func__, t, rank, shape, resolved))
        return NULL;
    if (!find_strides(t, rank, resolved, strides))
        return reshaped_copy(__func__, t, rank, resolved);
    ct_tensor *view = ct__share(__func__, t);
    if (!view)
        return NULL;
    view->rank = rank;
    memcpy(view->shape, resolved, sizeof *resolved * (size_t)rank);
    memcpy(view->strides, strides, sizeof *strides * (size_t)rank);
    return finished(view);
}
