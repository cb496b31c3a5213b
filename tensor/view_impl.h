/* What the files of views share. A view is a copy of the descriptor with other numbers in it. */
#ifndef CT_VIEW_IMPL_H
#define CT_VIEW_IMPL_H

#include "tensor/tensor_impl.h"

/* Ends the making of a view, whose extents, strides and offset are set: counts its items, of which
   there must not be more than can be counted. A view without items gets the numbers of a dense
   tensor, so that no arithmetic is ever done on strides without meaning. */
ct_tensor *ct__view_end(ct_tensor *view);

/* The same for a view whose number of items is set: that of its origin, often. */
static inline ct_tensor *ct__view_counted(ct_tensor *view) {
#ifndef CT_DEBUG
    if (view->count > 0 && !view->names)
        return view;
#endif
    return ct__view_end(view);
}

/* A share to be changed, with one axis looked up; NULL with an error set. */
ct_tensor *ct__view_on_axis(const char *who, const ct_tensor *t, int axis, int *found);

/* Drops an axis. */
void ct__remove_axis(ct_tensor *t, int axis);

/* An axis without a name. */
static inline void ct__set_axis(ct_tensor *t, int axis, int64_t extent, int64_t stride) {
    t->shape[axis] = extent;
    t->strides[axis] = stride;
    t->name[axis] = -1;
}

/* Axis `axis` of a view, taken from another axis of its origin, name included. */
static inline void ct__axis_from(ct_tensor *view, int axis, const ct_tensor *t, int from) {
    view->shape[axis] = t->shape[from];
    view->strides[axis] = t->strides[from];
    view->name[axis] = t->name[from];
}

/* The checks of slices and of one index, which views and writes share. */
/* An axis that is there, from one which may count from the end, and a step that is not 0. */
ct_status ct__check_slice(const char *who, const ct_tensor *t, int axis, int64_t step, int *at);
/* No more axes than there are, and no step of 0. `steps` may be NULL. */
ct_status ct__check_slice_all(const char *who, const ct_tensor *t, int n, const int64_t *steps);
/* What such arrays, each NULL for its default, mean for an axis. Returns the step. */
int64_t ct__slice_of_axis(const ct_tensor *t, int axis, const int64_t *starts, const int64_t *stops,
                          const int64_t *steps, int64_t *first, int64_t *count);
/* An axis that is there, and *place, the index counted from the front. `who` may be NULL. */
ct_status ct__check_select(const char *who, const ct_tensor *t, int axis, int64_t index, int *at,
                           int64_t *place);

/* Makes an axis the walk first, first + step, ... of `count` items, which lie in it. */
void ct__cut_axis(ct_tensor *view, int axis, int64_t first, int64_t count, int64_t step);

#endif
