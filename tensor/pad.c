#include "tensor/tensor_impl.h"

#include "tensor/checked.h"
#include "tensor/ct_index.h"
#include "tensor/fail.h"

#include <inttypes.h>
#include <string.h>

// The tensor is copied into the middle of the result. Then axis after axis is completed, from what
// is there already, so that corners come out as each axis alone would make them.

// `who` may be NULL, here and below.
static ct_status check_axis(const char *who, const ct_tensor *t, int axis, int64_t before,
                            int64_t after, enum ct_pad_mode mode, int64_t *extent) {
    int64_t pad = before < 0 ? before : after;
    if (pad < 0)
        return !who ? CT_ESHAPE
                    : ct__fail(CT_ESHAPE, who, "the padding %" PRId64 " %s axis %d is negative",
                               pad, before < 0 ? "before" : "after", axis);
    if (!ct__add_i64(t->shape[axis], before, extent) || !ct__add_i64(*extent, after, extent))
        return !who ? CT_EOVERFLOW
                    : ct__fail(CT_EOVERFLOW, who,
                               "the extent %" PRId64 " of axis %d and the padding %" PRId64
                               " and %" PRId64 " add up to too many",
                               t->shape[axis], axis, before, after);
    if (mode != CT_PAD_CONSTANT && t->shape[axis] == 0 && *extent > 0)
        return !who ? CT_ESHAPE
                    : ct__fail(CT_ESHAPE, who,
                               "axis %d has no items that its padding could be made from", axis);
    return CT_OK;
}

static ct_status check(const char *who, const ct_tensor *t, int n, const int64_t *before,
                       const int64_t *after, enum ct_pad_mode mode, int64_t *shape) {
    if ((unsigned)mode > CT_PAD_WRAP)
        return !who ? CT_EINVAL
                    : ct__fail(CT_EINVAL, who, "%d is not a mode of padding", (int)mode);
    if (n != t->rank)
        return !who ? CT_ESHAPE
                    : ct__fail(CT_ESHAPE, who,
                               "padding for %d %s was given and the tensor has rank %d", n,
                               n == 1 ? "axis" : "axes", t->rank);
    if (n > 0 && (!before || !after))
        return !who ? CT_EINVAL
                    : ct__fail(CT_EINVAL, who, "the padding %s the axes is NULL",
                               before ? "after" : "before");
    for (int i = 0; i < n; i++) {
        ct_status status = check_axis(who, t, i, before[i], after[i], mode, &shape[i]);
        if (status)
            return status;
    }
    return CT_OK;
}

bool ct_can_pad(const ct_tensor *t, int n, const int64_t *before, const int64_t *after,
                enum ct_pad_mode mode, double value) {
    int64_t shape[CT_MAX_RANK];
    size_t count;
    return t && !check(NULL, t, n, before, after, mode, shape) &&
           ct__count_items(t->scalar->size, n, shape, &count) &&
           (mode != CT_PAD_CONSTANT || ct__holds(t->scalar, value));
}

// The part of `out` that holds items while an axis is completed: whole along the axes before it,
// the middle along those behind it. Only the extent of the axis itself is left to be set.
struct slab {
    ct_tensor *out;
    int axis;
    int64_t before, extent; // of the items that t has along the axis
    int64_t shape[CT_MAX_RANK];
    char *first; // at place 0 of the axis
};

static struct slab make_slab(const ct_tensor *t, ct_tensor *out, const int64_t *before, int axis) {
    struct slab s = {.out = out, .axis = axis, .before = before[axis], .extent = t->shape[axis]};
    s.first = ct__first(out);
    for (int i = 0; i < t->rank; i++) {
        s.shape[i] = i < axis ? out->shape[i] : t->shape[i];
        if (i > axis)
            s.first += before[i] * out->strides[i] * (ptrdiff_t)t->scalar->size;
    }
    return s;
}

// Fills the places [start, start + n) of the axis from those at `from` and on in steps: 1, -1, or 0
// for one item again and again. The two do not overlap.
static void copy_places(struct slab *s, int64_t start, int64_t n, int64_t from, int64_t step) {
    int64_t strides[CT_MAX_RANK], stride = s->out->strides[s->axis];
    size_t size = s->out->scalar->size;
    if (n <= 0)
        return;
    memcpy(strides, s->out->strides, sizeof strides);
    strides[s->axis] = step * stride;
    s->shape[s->axis] = n;
    ct__copy_items(size, s->out->rank, s->shape, s->first + from * stride * (ptrdiff_t)size,
                   strides, s->first + start * stride * (ptrdiff_t)size, s->out->strides);
}

static void fill_places(struct slab *s, int64_t start, int64_t n, const ct_tensor *item) {
    static const int64_t still[CT_MAX_RANK];
    int64_t stride = s->out->strides[s->axis];
    size_t size = s->out->scalar->size;
    if (n <= 0)
        return;
    s->shape[s->axis] = n;
    ct__copy_items(size, s->out->rank, s->shape, ct__first(item), still,
                   s->first + start * stride * (ptrdiff_t)size, s->out->strides);
}

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

// Goes away from the middle on both sides. What has been made is a mirror image of what comes next,
// so the reach of a copy doubles; it is cut to whole periods, at whose ends there is a mirror.
static void reflect_places(struct slab *s, int64_t end) {
    int64_t low = s->before, high = low + s->extent, period = s->extent - 1;
    while (low > 0 || high < end) { // what is there: [low, high)
        int64_t n = smaller(low, (high - low - 1) / period * period);
        copy_places(s, low - n, n, low + n, -1);
        low -= n;
        n = smaller(end - high, (high - low - 1) / period * period);
        copy_places(s, high, n, high - 2, -1);
        high += n;
    }
}

// The same by going round.
static void wrap_places(struct slab *s, int64_t end) {
    int64_t low = s->before, high = low + s->extent;
    while (low > 0 || high < end) {
        int64_t period = (high - low) / s->extent * s->extent, n = smaller(low, period);
        copy_places(s, low - n, n, low - n + period, 1);
        low -= n;
        period = (high - low) / s->extent * s->extent;
        n = smaller(end - high, period);
        copy_places(s, high, n, high - period, 1);
        high += n;
    }
}

static void complete_axis(struct slab *s, int64_t end, enum ct_pad_mode mode,
                          const ct_tensor *item) {
    int64_t high = s->before + s->extent;
    if (mode == CT_PAD_CONSTANT) {
        fill_places(s, 0, s->before, item);
        fill_places(s, high, end - high, item);
    } else if (mode == CT_PAD_EDGE || (mode == CT_PAD_REFLECT && s->extent == 1)) {
        copy_places(s, 0, s->before, s->before, 0);
        copy_places(s, high, end - high, high - 1, 0);
    } else if (mode == CT_PAD_REFLECT) {
        reflect_places(s, end);
    } else {
        wrap_places(s, end);
    }
}

static void pad_all(const ct_tensor *t, ct_tensor *out, const int64_t *before,
                    enum ct_pad_mode mode, const ct_tensor *item) {
    int64_t start = 0;
    for (int i = 0; i < t->rank; i++)
        start += before[i] * out->strides[i];
    ct__copy_items(t->scalar->size, t->rank, t->shape, ct__first(t), t->strides,
                   ct__first(out) + start * (ptrdiff_t)t->scalar->size, out->strides);
    for (int i = 0; i < t->rank; i++) {
        struct slab s = make_slab(t, out, before, i);
        complete_axis(&s, out->shape[i], mode, item);
    }
}

ct_tensor *ct_pad(const ct_tensor *t, int n, const int64_t *before, const int64_t *after,
                  enum ct_pad_mode mode, double value) {
    int64_t shape[CT_MAX_RANK];
    if (!t)
        return ct__null(__func__);
    if (check(__func__, t, n, before, after, mode, shape))
        return NULL;
    ct_tensor *out = ct__empty(__func__, t->scalar, n, shape);
    ct_tensor *item = out ? ct__empty(__func__, t->scalar, 0, NULL) : NULL;
    if (!item || (mode == CT_PAD_CONSTANT && ct__fill_new(__func__, item, value))) {
        ct_free(item);
        ct_free(out);
        return NULL;
    }
    if (out->count > 0)
        pad_all(t, out, before, mode, item);
    ct__names_like(out, t);
    ct_free(item);
    return out;
}
