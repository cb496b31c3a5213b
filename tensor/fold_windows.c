#include "tensor/index_impl.h"

#include "tensor/ct_index.h"
#include "tensor/fail.h"
#include "tensor/row_pulls.h"

// Windows overlap, so that an item of the sum may be met by several items of one window row. The items
// of the windows are therefore the outermost loop: what is added in one pass meets each place once.

struct sum {
    struct ct__combiner by;
    const ct_tensor *windows;
    ct_tensor *out;
    int axis;
    int64_t step;
};

// How far out an axis belongs. A repeated axis belongs outermost: further in, its few items would be
// the rows that loops run along.
static int64_t reach(int64_t stride) {
    return stride == 0 ? INT64_MAX : stride < 0 ? -stride : stride;
}

// Axes by falling strides.
static void sort_axes(const ct_tensor *t, int rank, int *order) {
    for (int i = 0; i < rank; i++) {
        int k = i;
        for (; k > 0 && reach(t->strides[order[k - 1]]) < reach(t->strides[i]); k--)
            order[k] = order[k - 1];
        order[k] = i;
    }
}

// Zeros, whose axes lie in the order in which those of the windows do; or anything, where all is written.
static ct_tensor *sum_like(const ct_tensor *windows, int axis, int64_t extent, bool zeros) {
    int order[CT_MAX_RANK] = {0}, back[CT_MAX_RANK] = {0}, rank = windows->rank - 1;
    int64_t shape[CT_MAX_RANK];
    sort_axes(windows, rank, order);
    for (int i = 0; i < rank; i++) {
        shape[i] = order[i] == axis ? extent : windows->shape[order[i]];
        back[order[i]] = i;
    }
    ct_tensor *dense = zeros ? ct_zeros(windows->scalar, rank, shape)
                             : ct__empty("ct_fold_windows", windows->scalar, rank, shape);
    ct_tensor *out = dense ? ct_permute(dense, rank, back) : NULL;
    ct_free(dense);
    return out;
}

// Adds the item at `place` of every window.
static ct_status add_place(const struct sum *s, int64_t place) {
    const ct_tensor *x = s->windows;
    int64_t steps[CT_MAX_RANK];
    ptrdiff_t size = (ptrdiff_t)x->scalar->size;
    memcpy(steps, s->out->strides, sizeof steps);
    steps[s->axis] *= s->step;
    struct ct__nest nest = ct__nest_of(x->rank - 1, x->shape, steps, x->strides);
    ct__nest_sort(&nest);
    ct__nest_fuse(&nest);
    ct__nest_have_row(&nest);
    int outer = nest.rank - 1;
    char *to = ct__first(s->out) + place * s->out->strides[s->axis] * size;
    const char *from = ct__first(x) + place * x->strides[x->rank - 1] * size;
    size_t n = (size_t)nest.shape[outer], passes = ct__nest_passes(&nest, outer);
    ptrdiff_t to_step = nest.step[0][outer] * size, from_step = nest.step[1][outer] * size;
    struct ct__walk walk;
    ct__walk_start(&walk, &nest, outer, 0);
    for (size_t i = 0; i < passes; i++, ct__walk_next(&walk, &nest, outer)) {
        char *target = to + walk.at[0] * size;
        const char *source = from + walk.at[1] * size;
        size_t done = ct__combine_row(&s->by, n, target, to_step, source, from_step);
        if (done < n)
            return ct__fail(CT_EOVERFLOW, "ct_fold_windows", "a sum of windows does not fit %s",
                            x->scalar->name);
    }
    return CT_OK;
}

#define ITEM     float
#define FN(name) name##_f32
#include "tensor/fold_apart.inc"
#undef ITEM
#undef FN
#define ITEM     double
#define FN(name) name##_f64
#include "tensor/fold_apart.inc"
#undef ITEM
#undef FN

// Windows of f32 or f64 that do not overlap: all items of each in one pass.
static void lay_apart(const struct sum *s) {
    const ct_tensor *x = s->windows;
    int64_t steps[CT_MAX_RANK], size = x->shape[x->rank - 1];
    ptrdiff_t bytes = (ptrdiff_t)x->scalar->size;
    memcpy(steps, s->out->strides, sizeof steps);
    steps[s->axis] *= s->step;
    struct ct__nest nest = ct__nest_of(x->rank - 1, x->shape, steps, x->strides);
    ct__nest_sort(&nest);
    ct__nest_fuse(&nest);
    ct__nest_have_row(&nest);
    int outer = nest.rank - 1;
    size_t n = (size_t)nest.shape[outer], passes = ct__nest_passes(&nest, outer);
    struct ct__walk walk;
    ct__walk_start(&walk, &nest, outer, 0);
    for (size_t i = 0; i < passes; i++, ct__walk_next(&walk, &nest, outer))
        (x->scalar == CT_F32 ? row_apart_f32 : row_apart_f64)(
            n, (size_t)size, ct__first(s->out) + walk.at[0] * bytes, nest.step[0][outer],
            s->out->strides[s->axis], ct__first(x) + walk.at[1] * bytes, nest.step[1][outer],
            x->strides[x->rank - 1]);
}

// The transpose of a slice: nothing is added, so that -0 stays.
static ct_tensor *spread(const ct_tensor *windows, int axis, int64_t extent, int64_t step) {
    ct_tensor *items = ct_select(windows, -1, 0);
    ct_tensor *out = items ? ct_unslice(items, axis, 0, step, extent) : NULL;
    ct_free(items);
    return out;
}

// count windows of size items, step apart, in an extent.
static bool fit(int64_t count, int64_t size, int64_t step, int64_t extent) {
    int64_t way, last;
    return extent >= 0 && step > 0 &&
           (count == 0 || (!__builtin_mul_overflow(count - 1, step, &way) &&
                           !__builtin_add_overflow(way, size, &last) && last <= extent));
}

ct_tensor *ct__fold_windows(const ct_tensor *windows, int axis, int64_t extent, int64_t step) {
    const char *who = "ct_fold_windows";
    struct sum s = {.windows = windows, .step = step};
    if (windows->rank == 0)
        return ct__fail_null(CT_ESHAPE, who, "a tensor of rank 0 holds no windows");
    if (ct__check_axis(who, windows->rank - 1, axis, &axis))
        return NULL;
    s.axis = axis;
    int64_t size = windows->shape[windows->rank - 1], count = windows->shape[axis];
    if (!fit(count, size, step, extent))
        return ct__fail_null(
            CT_EINDEX, who,
            "%lld windows of %lld items in steps of %lld do not fit an extent of %lld",
            (long long)count, (long long)size, (long long)step, (long long)extent);
    if (ct__find_combiner(who, windows->scalar, CT_OP_add, &s.by))
        return NULL;
    if (size == 1)
        return spread(windows, axis, extent, step);
    bool apart = size <= step && (windows->scalar == CT_F32 || windows->scalar == CT_F64);
    s.out = sum_like(windows, axis, extent, !apart || size < step || count * step < extent);
    if (!s.out)
        return NULL;
    ct_status status = CT_OK;
    if (apart && windows->count > 0)
        lay_apart(&s);
    for (int64_t place = 0; !apart && windows->count > 0 && place < size && !status; place++)
        status = add_place(&s, place);
    if (status) {
        ct_free(s.out);
        return NULL;
    }
    ct__names_from(s.out, windows, (int[CT_MAX_RANK]){0, 1, 2, 3, 4, 5, 6, 7});
    return s.out;
}
