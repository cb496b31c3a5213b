#include "tensor/view_impl.h"

#include "tensor/alloc.h"
#include "tensor/checked.h"
#include "tensor/fail.h"

#include <inttypes.h>

// --- what a slice means

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

bool ct_slice_range(int64_t extent, int64_t start, int64_t stop, int64_t step, int64_t *first,
                    int64_t *count) {
    if (extent < 0 || step == 0 || !first || !count)
        return false;
    bool forward = step > 0;
    start = clamp_bound(start, extent, forward);
    if (stop == CT_END)
        stop = forward ? extent : -1;
    else
        stop = clamp_bound(stop, extent, forward);
    *count = count_steps(start, stop, step);
    *first = *count > 0 ? start : 0;
    return true;
}

void ct__cut_axis(ct_tensor *view, int axis, int64_t first, int64_t count, int64_t step) {
    bool walked = view->shape[axis] > 0 && count > 0; // else the strides need not mean anything
    view->shape[axis] = count;
    if (view->count == 0 || !walked)
        return;
    view->offset += first * view->strides[axis];
    if (count > 1) // else the step is never made and may be any number
        view->strides[axis] *= step;
}

// --- slices

ct_status ct__check_slice(const char *who, const ct_tensor *t, int axis, int64_t step, int *at) {
    ct_status status = ct__check_axis(who, t->rank, axis, at);
    if (status || step != 0)
        return status;
    return ct__fail(CT_EINVAL, who, "the step of a slice must not be 0");
}

ct_tensor *ct_slice(const ct_tensor *t, int axis, int64_t start, int64_t stop, int64_t step) {
    if (!t)
        return ct__null(__func__);
    if (ct__check_slice(__func__, t, axis, step, &axis))
        return NULL;
    ct_tensor *view = ct__share(__func__, t);
    if (!view)
        return NULL;
    int64_t first, count;
    ct_slice_range(t->shape[axis], start, stop, step, &first, &count);
    ct__cut_axis(view, axis, first, count, step);
    if (count == t->shape[axis] || t->count == 0 || count == 0)
        return ct__view_end(view);
    view->count = t->count / (size_t)t->shape[axis] * (size_t)count;
    return ct__view_counted(view);
}

ct_status ct__check_slice_all(const char *who, const ct_tensor *t, int n, const int64_t *steps) {
    if (n < 0 || n > t->rank)
        return ct__fail(CT_EAXIS, who, "slices of %d axes were given and the tensor has %d", n,
                        t->rank);
    for (int i = 0; i < n && steps; i++)
        if (steps[i] == 0)
            return ct__fail(CT_EINVAL, who, "the step of the slice of axis %d must not be 0", i);
    return CT_OK;
}

int64_t ct__slice_of_axis(const ct_tensor *t, int axis, const int64_t *starts, const int64_t *stops,
                          const int64_t *steps, int64_t *first, int64_t *count) {
    int64_t step = steps ? steps[axis] : 1, start = starts ? starts[axis] : step > 0 ? 0 : -1;
    ct_slice_range(t->shape[axis], start, stops ? stops[axis] : CT_END, step, first, count);
    return step;
}

ct_tensor *ct_slice_all(const ct_tensor *t, int n, const int64_t *starts, const int64_t *stops,
                        const int64_t *steps) {
    if (!t)
        return ct__null(__func__);
    if (ct__check_slice_all(__func__, t, n, steps))
        return NULL;
    ct_tensor *view = ct__share(__func__, t);
    if (!view)
        return NULL;
    for (int i = 0; i < n; i++) {
        int64_t first, count, step = ct__slice_of_axis(t, i, starts, stops, steps, &first, &count);
        ct__cut_axis(view, i, first, count, step);
    }
    return ct__view_end(view);
}

// --- one index

ct_status ct__check_select(const char *who, const ct_tensor *t, int axis, int64_t index, int *at,
                           int64_t *place) {
    ct_status status = ct__check_axis(who, t->rank, axis, at);
    if (status)
        return status;
    int64_t extent = t->shape[*at];
    char note[CT__NAME_NOTE_BYTES];
    if (index < -extent || index >= extent)
        return !who
                   ? CT_EINDEX
                   : ct__fail(CT_EINDEX, who,
                              "index %" PRId64 " is out of bounds for axis %d%s of extent %" PRId64,
                              index, *at, ct__name_note(note, ct__name_of(t, *at)), extent);
    *place = index < 0 ? index + extent : index;
    return CT_OK;
}

ct_tensor *ct_select(const ct_tensor *t, int axis, int64_t index) {
    if (!t)
        return ct__null(__func__);
    int at;
    int64_t place = 0;
    if (ct__check_select(__func__, t, axis, index, &at, &place))
        return NULL;
    ct_tensor *view = ct__share(__func__, t);
    if (!view)
        return NULL;
    ct__cut_axis(view, at, place, 1, 1);
    ct__remove_axis(view, at);
    return ct__view_end(view);
}

bool ct_can_select(const ct_tensor *t, int axis, int64_t index) {
    int at;
    int64_t place = 0;
    return t && !ct__check_select(NULL, t, axis, index, &at, &place);
}

// --- in reverse

static ct_tensor *flip(const char *who, const ct_tensor *t, int n, const int *axes) {
    unsigned mask;
    if (!t)
        return ct__null(who);
    if (ct__check_axes(who, t->rank, n, axes, &mask))
        return NULL;
    ct_tensor *view = ct__share(who, t);
    if (!view)
        return NULL;
    for (int i = 0; i < t->rank; i++)
        if (mask & 1u << i)
            ct__cut_axis(view, i, t->shape[i] - 1, t->shape[i], -1);
    return ct__view_end(view);
}

ct_tensor *ct_flip(const ct_tensor *t, int axis) {
    return flip(__func__, t, 1, &axis);
}

ct_tensor *ct_flip_axes(const ct_tensor *t, int n, const int *axes) {
    return flip(__func__, t, n, axes);
}

// --- parts

// Views of parts of an axis, one behind the other, of `size` items or of the sizes given; they are
// put into `parts` when all are there.
static ct_status cut_parts(const char *who, const ct_tensor *t, int axis, int64_t n, int64_t size,
                           const int64_t *sizes, ct_tensor *parts[]) {
    size_t bytes;
    bool fits = ct__mul_size((size_t)n, sizeof(ct_tensor *), &bytes);
    ct_tensor **made = fits ? ct__alloc(bytes) : NULL;
    if (!made)
        return ct__fail(CT_ENOMEM, who, "there is no memory for %" PRId64 " parts", n);
    int64_t done = 0, first = 0;
    for (; done < n; done++) {
        int64_t count = sizes ? sizes[done] : size;
        ct_tensor *view = made[done] = ct__share(who, t);
        if (!view)
            break;
        ct__cut_axis(view, axis, first, count, 1);
        ct__view_end(view);
        first += count;
    }
    for (int64_t i = 0; i < done; i++)
        if (done == n)
            parts[i] = made[i];
        else
            ct_free(made[i]);
    ct__free(made);
    return done == n ? CT_OK : CT_ENOMEM;
}

// Whether an axis is there and can be cut into n parts of one size. `who` may be NULL.
static ct_status check_split(const char *who, const ct_tensor *t, int axis, int64_t n, int *at) {
    ct_status status = ct__check_axis(who, t->rank, axis, at);
    if (status)
        return status;
    char note[CT__NAME_NOTE_BYTES];
    if (n > 0 && t->shape[*at] % n == 0)
        return CT_OK;
    return !who ? CT_ESHAPE
                : ct__fail(CT_ESHAPE, who,
                           "cannot split axis %d%s of extent %" PRId64 " into %" PRId64
                           " equal parts",
                           *at, ct__name_note(note, ct__name_of(t, *at)), t->shape[*at], n);
}

ct_status ct_split(const ct_tensor *t, int axis, int64_t n, ct_tensor *parts[]) {
    if (!t)
        return ct__fail_null_operand(__func__);
    ct_status status = check_split(__func__, t, axis, n, &axis);
    if (status)
        return status;
    if (!parts)
        return ct__fail(CT_EINVAL, __func__, "the place for %" PRId64 " parts is NULL", n);
    return cut_parts(__func__, t, axis, n, t->shape[axis] / n, NULL, parts);
}

bool ct_can_split(const ct_tensor *t, int axis, int64_t n) {
    int at;
    return t && !check_split(NULL, t, axis, n, &at);
}

static ct_status check_sizes(const char *who, const ct_tensor *t, int axis, int64_t n,
                             const int64_t *sizes) {
    if (n < 0)
        return ct__fail(CT_EINVAL, who, "the number of parts %" PRId64 " is negative", n);
    if (n > 0 && !sizes)
        return ct__fail(CT_EINVAL, who, "the sizes of %" PRId64 " parts are NULL", n);
    int64_t sum = 0;
    bool fits = true;
    for (int64_t i = 0; i < n; i++) {
        if (sizes[i] < 0)
            return ct__fail(CT_ESHAPE, who, "the size %" PRId64 " of part %" PRId64 " is negative",
                            sizes[i], i);
        fits = fits && sizes[i] <= t->shape[axis] - sum;
        sum += fits ? sizes[i] : 0;
    }
    if (fits && sum == t->shape[axis])
        return CT_OK;
    char note[CT__NAME_NOTE_BYTES];
    return ct__fail(
        CT_ESHAPE, who,
        "the sizes of %" PRId64 " parts add up to %s than the extent %" PRId64 " of axis %d%s", n,
        fits ? "less" : "more", t->shape[axis], axis, ct__name_note(note, ct__name_of(t, axis)));
}

ct_status ct_split_sizes(const ct_tensor *t, int axis, int64_t n, const int64_t *sizes,
                         ct_tensor *parts[]) {
    if (!t)
        return ct__fail_null_operand(__func__);
    ct_status status = ct__check_axis(__func__, t->rank, axis, &axis);
    if (!status)
        status = check_sizes(__func__, t, axis, n, sizes);
    if (status || n == 0)
        return status;
    if (!parts)
        return ct__fail(CT_EINVAL, __func__, "the place for %" PRId64 " parts is NULL", n);
    return cut_parts(__func__, t, axis, n, 0, sizes, parts);
}
