#include "tensor/view_impl.h"

#include "tensor/fail.h"

#include <assert.h>
#include <inttypes.h>

ct_tensor *ct__view_end(ct_tensor *view) {
    ct__count_items(view->scalar->size, view->rank, view->shape, &view->count);
    if (view->count == 0) {
        view->offset = 0;
        ct__dense_strides(view->rank, view->shape, view->strides);
    }
    ct__names_tidy(view);
#ifdef CT_DEBUG
    assert(ct_check_tensor(view) == CT_OK);
#endif
    return view;
}

ct_tensor *ct__view_on_axis(const char *who, const ct_tensor *t, int axis, int *found) {
    if (!t)
        return ct__null(who);
    return ct__check_axis(who, t->rank, axis, found) ? NULL : ct__share(who, t);
}

void ct__remove_axis(ct_tensor *t, int axis) {
    t->rank--;
    for (int i = axis; i < t->rank; i++)
        ct__axis_from(t, i, t, i + 1);
}

// --- reordering

ct_tensor *ct_swap_axes(const ct_tensor *t, int axis, int other) {
    if (t && ct__check_axis(__func__, t->rank, other, &other))
        return NULL;
    ct_tensor *view = ct__view_on_axis(__func__, t, axis, &axis);
    if (!view)
        return NULL;
    ct__axis_from(view, axis, t, other);
    ct__axis_from(view, other, t, axis);
    return ct__view_counted(view);
}

ct_tensor *ct_transpose(const ct_tensor *t) {
    if (!t)
        return ct__null(__func__);
    ct_tensor *view = ct__share(__func__, t);
    if (!view)
        return NULL;
    if (t->rank >= 2) {
        ct__axis_from(view, t->rank - 2, t, t->rank - 1);
        ct__axis_from(view, t->rank - 1, t, t->rank - 2);
    }
    return ct__view_counted(view);
}

// The axes of a permutation, counted from the front. `who` may be NULL.
static ct_status check_permutation(const char *who, const ct_tensor *t, int n, const int *axes,
                                   int from[CT_MAX_RANK]) {
    if (n != t->rank)
        return !who ? CT_EAXIS
                    : ct__fail(CT_EAXIS, who,
                               "a permutation of a tensor of rank %d needs %d axes and %d %s given",
                               t->rank, t->rank, n, n == 1 ? "was" : "were");
    unsigned all;
    ct_status status = ct__check_axes(who, t->rank, n, axes, &all);
    for (int i = 0; i < n && !status; i++)
        status = ct__check_axis(who, n, axes[i], &from[i]); // CT_ALL is no axis here
    return status;
}

ct_tensor *ct_permute(const ct_tensor *t, int n, const int *axes) {
    int from[CT_MAX_RANK];
    if (!t)
        return ct__null(__func__);
    if (check_permutation(__func__, t, n, axes, from))
        return NULL;
    ct_tensor *view = ct__share(__func__, t);
    for (int i = 0; view && i < n; i++)
        ct__axis_from(view, i, t, from[i]);
    return view ? ct__view_counted(view) : NULL;
}

bool ct_can_permute(const ct_tensor *t, int n, const int *axes) {
    int from[CT_MAX_RANK];
    return t && !check_permutation(NULL, t, n, axes, from);
}

ct_tensor *ct_move_axis(const ct_tensor *t, int axis, int to) {
    if (t && ct__check_axis(__func__, t->rank, to, &to))
        return NULL;
    ct_tensor *view = ct__view_on_axis(__func__, t, axis, &axis);
    if (!view)
        return NULL;
    for (int i = axis; i < to; i++)
        ct__axis_from(view, i, t, i + 1);
    for (int i = axis; i > to; i--)
        ct__axis_from(view, i, t, i - 1);
    ct__axis_from(view, to, t, axis);
    return ct__view_counted(view);
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
    for (int i = view->rank++; i > axis; i--)
        ct__axis_from(view, i, t, i - 1);
    ct__set_axis(view, axis, 1, 0);
    return ct__view_counted(view);
}

// The axes to be squeezed; with `every` those that can be. `who` may be NULL.
static ct_status check_squeeze(const char *who, const ct_tensor *t, int n, const int *axes,
                               unsigned *mask) {
    bool every = n == 1 && axes && axes[0] == CT_ALL;
    ct_status status = ct__check_axes(who, t->rank, n, axes, mask);
    for (int i = 0; i < t->rank && !status; i++) {
        if (!(*mask & 1u << i) || t->shape[i] == 1)
            continue;
        char note[CT__NAME_NOTE_BYTES];
        if (every)
            *mask &= ~(1u << i);
        else
            status = !who ? CT_ESHAPE
                          : ct__fail(CT_ESHAPE, who,
                                     "cannot squeeze axis %d%s of extent %" PRId64
                                     ": the extent is not 1",
                                     i, ct__name_note(note, ct__name_of(t, i)), t->shape[i]);
    }
    return status;
}

static ct_tensor *squeeze(const char *who, const ct_tensor *t, int n, const int *axes) {
    unsigned mask;
    if (!t)
        return ct__null(who);
    if (check_squeeze(who, t, n, axes, &mask))
        return NULL;
    ct_tensor *view = ct__share(who, t);
    if (!view)
        return NULL;
    for (int i = t->rank - 1; i >= 0; i--)
        if (mask & 1u << i)
            ct__remove_axis(view, i);
    return ct__view_counted(view);
}

ct_tensor *ct_squeeze(const ct_tensor *t, int axis) {
    return squeeze(__func__, t, 1, &axis);
}

ct_tensor *ct_squeeze_axes(const ct_tensor *t, int n, const int *axes) {
    return squeeze(__func__, t, n, axes);
}

bool ct_can_squeeze(const ct_tensor *t, int n, const int *axes) {
    unsigned mask;
    return t && !check_squeeze(NULL, t, n, axes, &mask);
}

// --- broadcasting

static ct_status explain_target(const char *who, const ct_tensor *t, int rank, const int64_t *shape,
                                int at) {
    char from[CT__SHAPE_TEXT_BYTES], to[CT__SHAPE_TEXT_BYTES], note[CT__NAME_NOTE_BYTES];
    ct__format_shape(from, sizeof from, t->rank, t->shape);
    ct__format_shape(to, sizeof to, rank, shape);
    if (rank < t->rank)
        return ct__fail(CT_ESHAPE, who,
                        "a tensor of shape %s does not broadcast to %s: its rank %d is larger",
                        from, to, t->rank);
    return ct__fail(CT_ESHAPE, who,
                    "a tensor of shape %s does not broadcast to %s: the extent %" PRId64
                    " of axis %d%s is neither %" PRId64 " nor 1",
                    from, to, t->shape[at], at, ct__name_note(note, ct__name_of(t, at)),
                    shape[at + rank - t->rank]);
}

// The last axis of t that cannot become one of the target, or -1; t's rank is not larger.
static int misfit(const ct_tensor *t, int rank, const int64_t *shape) {
    for (int i = t->rank - 1; i >= 0; i--)
        if (t->shape[i] != 1 && t->shape[i] != shape[i + rank - t->rank])
            return i;
    return -1;
}

bool ct_can_broadcast_to(const ct_tensor *t, int rank, const int64_t *shape) {
    size_t count;
    if (!t || rank < t->rank || rank > CT_MAX_RANK || (rank > 0 && !shape))
        return false;
    for (int i = 0; i < rank; i++)
        if (shape[i] < 0)
            return false;
    return misfit(t, rank, shape) < 0 && ct__count_items(t->scalar->size, rank, shape, &count);
}

ct_tensor *ct_broadcast_to(const ct_tensor *t, int rank, const int64_t *shape) {
    size_t count;
    if (!t)
        return ct__null(__func__);
    if (ct__check_shape(__func__, t->scalar, rank, shape, &count))
        return NULL;
    int at = rank < t->rank ? 0 : misfit(t, rank, shape);
    if (at >= 0) {
        explain_target(__func__, t, rank, shape, at);
        return NULL;
    }
    ct_tensor *view = ct__share(__func__, t);
    if (!view)
        return NULL;
    view->rank = rank;
    for (int i = rank - 1, from = t->rank - 1; i >= 0; i--, from--)
        if (from >= 0) {
            ct__axis_from(view, i, t, from);
            view->shape[i] = shape[i];
            view->strides[i] = t->shape[from] == 1 ? 0 : t->strides[from];
        } else {
            ct__set_axis(view, i, shape[i], 0);
        }
    return ct__view_end(view);
}
