#include "tensor/tensor_impl.h"

#include "tensor/checked.h"
#include "tensor/ct_index.h"
#include "tensor/fail.h"

#include <inttypes.h>
#include <string.h>

// --- concatenation

// What the tensors have to agree in. `who` may be NULL.
static ct_status check_part(const char *who, const ct_tensor *const tensors[], int i, int axis) {
    const ct_tensor *first = tensors[0], *t = tensors[i];
    char a[CT__SHAPE_TEXT_BYTES], b[CT__SHAPE_TEXT_BYTES];
    if (t->scalar != first->scalar)
        return !who ? CT_EDTYPE
                    : ct__fail(CT_EDTYPE, who, "tensor %d is %s and the first is %s", i,
                               t->scalar->name, first->scalar->name);
    bool fits = t->rank == first->rank;
    for (int k = 0; fits && k < t->rank; k++)
        fits = k == axis || t->shape[k] == first->shape[k];
    if (fits)
        return CT_OK;
    if (!who)
        return CT_ESHAPE;
    ct__format_shape(a, sizeof a, t->rank, t->shape);
    ct__format_shape(b, sizeof b, first->rank, first->shape);
    if (axis < 0)
        return ct__fail(CT_ESHAPE, who, "tensor %d has the shape %s and the first %s", i, a, b);
    return ct__fail(CT_ESHAPE, who,
                    "tensor %d has the shape %s and the first %s: they may differ along axis %d "
                    "alone",
                    i, a, b, axis);
}

// At least one tensor, none of them NULL. `who` may be NULL.
static ct_status check_list(const char *who, int n, const ct_tensor *const tensors[]) {
    if (n > 0 && !tensors)
        return !who ? CT_EINVAL : ct__fail(CT_EINVAL, who, "the %d tensors are NULL", n);
    for (int i = 0; i < n; i++)
        if (!tensors[i])
            return !who ? CT_EINVAL : ct__fail_null_operand(who);
    if (n > 0)
        return CT_OK;
    return !who ? CT_EINVAL
                : ct__fail(CT_EINVAL, who, "at least one tensor is needed and %d were given", n);
}

static ct_status check_concat(const char *who, int n, const ct_tensor *const tensors[], int axis,
                              int *found, int64_t *extent) {
    ct_status status;
    if ((status = check_list(who, n, tensors)))
        return status;
    if (tensors[0]->rank == 0)
        return !who ? CT_ESHAPE
                    : ct__fail(CT_ESHAPE, who,
                               "tensors of rank 0 have no axis to be concatenated along");
    if ((status = ct__check_axis(who, tensors[0]->rank, axis, found)))
        return status;
    *extent = 0;
    for (int i = 0; i < n; i++) {
        if ((status = check_part(who, tensors, i, *found)))
            return status;
        if (!ct__add_i64(*extent, tensors[i]->shape[*found], extent))
            return !who ? CT_EOVERFLOW
                        : ct__fail(CT_EOVERFLOW, who, "the extents of axis %d add up to too many",
                                   *found);
    }
    return CT_OK;
}

bool ct_can_concat(int n, const ct_tensor *const tensors[], int axis) {
    int64_t shape[CT_MAX_RANK], extent;
    size_t count;
    if (check_concat(NULL, n, tensors, axis, &axis, &extent))
        return false;
    memcpy(shape, tensors[0]->shape, sizeof shape);
    shape[axis] = extent;
    return ct__count_items(tensors[0]->scalar->size, tensors[0]->rank, shape, &count) &&
           !ct__names_check(NULL, tensors[0]->rank, n, tensors);
}

// Copies t into `out`, which has its shape but for one axis, from place `start` of that on.
static void copy_at(ct_tensor *out, int axis, int64_t start, const ct_tensor *t) {
    ptrdiff_t size = (ptrdiff_t)t->scalar->size;
    if (t->count > 0)
        ct__copy_items(t->scalar->size, t->rank, t->shape, ct__first(t), t->strides,
                       ct__first(out) + start * out->strides[axis] * size, out->strides);
}

ct_tensor *ct_concat(int n, const ct_tensor *const tensors[], int axis) {
    int64_t shape[CT_MAX_RANK], extent, start = 0;
    if (check_concat(__func__, n, tensors, axis, &axis, &extent))
        return NULL;
    memcpy(shape, tensors[0]->shape, sizeof shape);
    shape[axis] = extent;
    ct_tensor *out = ct__empty(__func__, tensors[0]->scalar, tensors[0]->rank, shape);
    if (out && ct__names_merge(__func__, out, n, tensors)) {
        ct_free(out);
        return NULL;
    }
    for (int i = 0; out && i < n; start += tensors[i++]->shape[axis])
        copy_at(out, axis, start, tensors[i]);
    return out;
}

// The shape of a stack, and which axis of the tensors each of its axes is. `who` may be NULL.
static ct_status plan_stack(const char *who, int n, const ct_tensor *const tensors[], int *axis,
                            int64_t shape[CT_MAX_RANK], int from[CT_MAX_RANK]) {
    ct_status status = check_list(who, n, tensors);
    if (status)
        return status;
    int rank = tensors[0]->rank;
    if (rank == CT_MAX_RANK)
        return !who ? CT_ESHAPE
                    : ct__fail(CT_ESHAPE, who, "tensors of rank %d can have no further axis", rank);
    status = ct__check_axis(who, rank + 1, *axis, axis); // the rank of the result, as it counts
    for (int i = 1; i < n && !status; i++)
        status = check_part(who, tensors, i, -1);
    for (int i = 0; i <= rank && !status; i++) {
        from[i] = i < *axis ? i : i == *axis ? -1 : i - 1;
        shape[i] = i == *axis ? n : tensors[0]->shape[from[i]];
    }
    return status;
}

bool ct_can_stack(int n, const ct_tensor *const tensors[], int axis) {
    int64_t shape[CT_MAX_RANK];
    int from[CT_MAX_RANK];
    size_t count;
    return !plan_stack(NULL, n, tensors, &axis, shape, from) &&
           ct__count_items(tensors[0]->scalar->size, tensors[0]->rank + 1, shape, &count) &&
           !ct__names_check(NULL, tensors[0]->rank, n, tensors);
}

ct_tensor *ct_stack(int n, const ct_tensor *const tensors[], int axis) {
    int64_t shape[CT_MAX_RANK], strides[CT_MAX_RANK];
    int from[CT_MAX_RANK];
    if (plan_stack(__func__, n, tensors, &axis, shape, from))
        return NULL;
    int rank = tensors[0]->rank;
    ct_tensor *out = ct__empty(__func__, tensors[0]->scalar, rank + 1, shape);
    ct_tensor named = {.rank = rank}; // the names that the tensors agree in
    if (out && ct__names_merge(__func__, &named, n, tensors)) {
        ct_free(out);
        return NULL;
    }
    for (int i = 0; out && i <= rank; i++)
        if (i != axis)
            strides[from[i]] = out->strides[i];
    for (int i = 0; out && out->count > 0 && i < n; i++)
        ct__copy_items(
            out->scalar->size, rank, tensors[i]->shape, ct__first(tensors[i]), tensors[i]->strides,
            ct__first(out) + i * out->strides[axis] * (ptrdiff_t)out->scalar->size, strides);
    if (out)
        ct__names_from(out, &named, from);
    ct__names_drop(named.names);
    return out;
}

// --- repetition

// Copies n times what lies at `at` in `out`, a block of `shape`, onwards along an axis: first
// `extent` places from the block's own, then twice as many, ...
static void repeat_block(const ct_tensor *out, const int64_t *block, int axis, int64_t n) {
    int64_t shape[CT_MAX_RANK], done = block[axis], all = done * n;
    size_t size = out->scalar->size;
    memcpy(shape, block, sizeof shape);
    while (done < all) {
        shape[axis] = done < all - done ? done : all - done;
        ct__copy_items(size, out->rank, shape, ct__first(out), out->strides,
                       ct__first(out) + done * out->strides[axis] * (ptrdiff_t)size, out->strides);
        done += shape[axis];
    }
}

static ct_status check_repeats(const char *who, int n, const int64_t *repeats) {
    if (n < 0 || n > CT_MAX_RANK)
        return ct__fail(CT_ESHAPE, who,
                        "the number of repeated axes %d is not in the range 0 to %d", n,
                        CT_MAX_RANK);
    if (n > 0 && !repeats)
        return ct__fail(CT_EINVAL, who, "the %d numbers of repeats are NULL", n);
    for (int i = 0; i < n; i++)
        if (repeats[i] < 0)
            return ct__fail(CT_ESHAPE, who, "the number of repeats %" PRId64 " is negative",
                            repeats[i]);
    return CT_OK;
}

static ct_status fail_extent(const char *who, int64_t extent, int64_t times, int axis) {
    return ct__fail(CT_EOVERFLOW, who,
                    "%" PRId64 " times the extent %" PRId64 " of axis %d is too large", times,
                    extent, axis);
}

ct_tensor *ct_tile(const ct_tensor *t, int n, const int64_t *repeats) {
    int64_t block[CT_MAX_RANK], times[CT_MAX_RANK], shape[CT_MAX_RANK];
    int from[CT_MAX_RANK];
    if (!t)
        return ct__null(__func__);
    if (check_repeats(__func__, n, repeats))
        return NULL;
    int rank = n > t->rank ? n : t->rank;
    for (int i = 0; i < rank; i++) {
        from[i] = i < rank - t->rank ? -1 : i - (rank - t->rank);
        block[i] = ct__extent_at(rank, i, t->rank, t->shape);
        times[i] = i < rank - n ? 1 : repeats[i - (rank - n)];
        if (!ct__mul_i64(block[i], times[i], &shape[i])) {
            fail_extent(__func__, block[i], times[i], i);
            return NULL;
        }
    }
    ct_tensor *out = ct__empty(__func__, t->scalar, rank, shape);
    if (out && out->count > 0) {
        ct__copy_items(t->scalar->size, t->rank, t->shape, ct__first(t), t->strides, ct__first(out),
                       out->strides + rank - t->rank);
        for (int i = rank - 1; i >= 0; i--) {
            repeat_block(out, block, i, times[i]);
            block[i] = shape[i];
        }
    }
    if (out)
        ct__names_from(out, t, from);
    return out;
}

// Whether repeating item by item would make short runs, shorter than those of copy after copy.
static bool makes_short_runs(const ct_tensor *t, int axis, int64_t n) {
    enum { SHORT = 16 };
    int64_t items = 1;
    for (int i = axis + 1; i < t->rank; i++)
        items *= t->shape[i];
    return n < SHORT && items < SHORT;
}

// Repeats each item of an axis in the result, which has items.
static void repeat_items(ct_tensor *out, const ct_tensor *t, int axis, int64_t n) {
    int64_t strides[CT_MAX_RANK];
    size_t size = t->scalar->size;
    memcpy(strides, out->strides, sizeof strides);
    int64_t next = strides[axis];
    strides[axis] *= n;
    if (t->rank == CT_MAX_RANK || makes_short_runs(t, axis, n)) {
        for (int64_t i = 0; i < n; i++)
            ct__copy_items(size, t->rank, t->shape, ct__first(t), t->strides,
                           ct__first(out) + i * next * (ptrdiff_t)size, strides);
        return;
    }
    int64_t shape[CT_MAX_RANK], to[CT_MAX_RANK], from[CT_MAX_RANK];
    for (int i = 0, k = 0; i < t->rank; i++) {
        shape[k] = t->shape[i], from[k] = t->strides[i], to[k++] = strides[i];
        if (i == axis)
            shape[k] = n, from[k] = 0, to[k++] = next;
    }
    ct__copy_items(size, t->rank + 1, shape, ct__first(t), from, ct__first(out), to);
}

static ct_tensor *repeat(const char *who, const ct_tensor *t, int axis, int64_t n) {
    int64_t shape[CT_MAX_RANK];
    memcpy(shape, t->shape, sizeof shape);
    if (!ct__mul_i64(shape[axis], n, &shape[axis])) {
        fail_extent(who, t->shape[axis], n, axis);
        return NULL;
    }
    ct_tensor *out = ct__empty(who, t->scalar, t->rank, shape);
    if (out && out->count > 0)
        repeat_items(out, t, axis, n);
    if (out)
        ct__names_like(out, t);
    return out;
}

ct_tensor *ct_repeat(const ct_tensor *t, int axis, int64_t n) {
    if (!t)
        return ct__null(__func__);
    if (check_repeats(__func__, 1, &n))
        return NULL;
    if (axis != CT_ALL)
        return ct__check_axis(__func__, t->rank, axis, &axis) ? NULL : repeat(__func__, t, axis, n);
    ct_tensor *flat = ct__as(__func__, ct_reshape(t, 1, (int64_t[]){(int64_t)t->count}));
    return ct__then(flat, flat ? repeat(__func__, flat, 0, n) : NULL);
}

// --- rolling

// Moves the items of an axis of t on by 0 <= shift < extent.
static ct_tensor *roll(const char *who, const ct_tensor *t, int axis, int64_t shift) {
    ct_tensor *out = ct__empty(who, t->scalar, t->rank, t->shape);
    if (!out)
        return NULL;
    ct__names_like(out, t);
    if (out->count == 0)
        return out;
    int64_t extent = t->shape[axis];
    ct_tensor part = *t; // the two parts of t that stay together
    part.shape[axis] = extent - shift;
    copy_at(out, axis, shift, &part);
    part.shape[axis] = shift;
    part.offset += (extent - shift) * t->strides[axis];
    if (shift > 0)
        copy_at(out, axis, 0, &part);
    return out;
}

static int64_t wrapped(int64_t shift, int64_t extent) {
    int64_t rest = extent > 0 ? shift % extent : 0;
    return rest < 0 ? rest + extent : rest;
}

ct_tensor *ct_roll(const ct_tensor *t, int axis, int64_t shift) {
    if (!t)
        return ct__null(__func__);
    if (axis != CT_ALL) {
        if (ct__check_axis(__func__, t->rank, axis, &axis))
            return NULL;
        return roll(__func__, t, axis, wrapped(shift, t->shape[axis]));
    }
    int64_t count = (int64_t)t->count;
    ct_tensor *flat = ct__as(__func__, ct_reshape(t, 1, &count));
    ct_tensor *rolled = flat ? roll(__func__, flat, 0, wrapped(shift, count)) : NULL;
    ct_tensor *out = rolled ? ct__as(__func__, ct_reshape(rolled, t->rank, t->shape)) : NULL;
    if (out && !out->names)
        ct__names_like(out, t);
    ct_free(flat);
    ct_free(rolled);
    return out;
}
