// Views whose axes walk several axes at once, or one axis twice.

#include "tensor/view_impl.h"

#include "tensor/fail.h"

#include <inttypes.h>

// --- diagonals

static ct_status check_pair(const char *who, const ct_tensor *t, int *axis, int *other) {
    ct_status status = ct__check_axis(who, t->rank, *axis, axis);
    if (!status)
        status = ct__check_axis(who, t->rank, *other, other);
    if (!status && *axis == *other)
        status = ct__fail(CT_EAXIS, who, "a diagonal needs two axes and the axis %d is given twice",
                          *axis);
    return status;
}

// The number of items of the diagonal from (row, column): one of them is 0.
static int64_t diagonal_length(int64_t rows, int64_t columns, int64_t row, int64_t column) {
    int64_t down = rows - row, right = columns - column; // row, column >= 0: cannot overflow
    int64_t length = down < right ? down : right;
    return length < 0 ? 0 : length;
}

ct_tensor *ct_diagonal(const ct_tensor *t, int64_t offset, int axis, int other) {
    if (!t)
        return ct__null(__func__);
    if (check_pair(__func__, t, &axis, &other))
        return NULL;
    ct_tensor *view = ct__share(__func__, t);
    if (!view)
        return NULL;
    int64_t row = offset >= 0 ? 0 : offset == INT64_MIN ? INT64_MAX : -offset;
    int64_t column = offset >= 0 ? offset : 0;
    int64_t length = diagonal_length(t->shape[axis], t->shape[other], row, column), stride = 0;
    if (length > 0 && t->count > 0)
        view->offset += row * t->strides[axis] + column * t->strides[other];
    if (length > 1 && t->count > 0) // both steps are made at once: the sum stays in the storage
        stride = t->strides[axis] + t->strides[other];
    ct__remove_axis(view, axis > other ? axis : other);
    ct__remove_axis(view, axis > other ? other : axis);
    ct__set_axis(view, view->rank++, length, stride);
    return ct__view_end(view);
}

// --- sliding windows

// The number of windows along an axis. `who` may be NULL.
static ct_status check_unfold(const char *who, const ct_tensor *t, int axis, int64_t size,
                              int64_t step, int *at, int64_t *windows) {
    if (t->rank == CT_MAX_RANK)
        return !who ? CT_ESHAPE
                    : ct__fail(CT_ESHAPE, who, "a tensor of rank %d can have no further axis",
                               t->rank);
    ct_status status = ct__check_axis(who, t->rank, axis, at);
    if (status)
        return status;
    char note[CT__NAME_NOTE_BYTES];
    if (size < 0 || size > t->shape[*at])
        return !who ? CT_ESHAPE
                    : ct__fail(CT_ESHAPE, who,
                               "windows of %" PRId64
                               " items do not fit axis %d%s of extent %" PRId64,
                               size, *at, ct__name_note(note, ct__name_of(t, *at)), t->shape[*at]);
    if (step <= 0)
        return !who ? CT_EINVAL
                    : ct__fail(CT_EINVAL, who,
                               "the step %" PRId64 " between windows is not positive", step);
    int64_t steps = (t->shape[*at] - size) / step;
    if (steps == INT64_MAX) // windows of nothing
        return !who ? CT_EOVERFLOW
                    : ct__fail(CT_EOVERFLOW, who, "there are more windows than can be counted");
    *windows = steps + 1;
    int64_t shape[CT_MAX_RANK];
    memcpy(shape, t->shape, sizeof shape);
    shape[*at] = *windows;
    shape[t->rank] = size;
    size_t count;
    if (who)
        return ct__check_shape(who, t->scalar, t->rank + 1, shape, &count);
    return ct__count_items(t->scalar->size, t->rank + 1, shape, &count) ? CT_OK : CT_EOVERFLOW;
}

ct_tensor *ct_unfold(const ct_tensor *t, int axis, int64_t size, int64_t step) {
    int64_t windows = 0;
    if (!t)
        return ct__null(__func__);
    if (check_unfold(__func__, t, axis, size, step, &axis, &windows))
        return NULL;
    ct_tensor *view = ct__share(__func__, t);
    if (!view)
        return NULL;
    ct__set_axis(view, view->rank++, size, t->strides[axis]);
    view->shape[axis] = windows;
    if (windows > 1 && t->count > 0) // the step is made, and so lies within the axis
        view->strides[axis] *= step;
    return ct__view_end(view);
}

bool ct_can_unfold(const ct_tensor *t, int axis, int64_t size, int64_t step) {
    int at;
    int64_t windows = 0;
    return t && !check_unfold(NULL, t, axis, size, step, &at, &windows);
}
