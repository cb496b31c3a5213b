/* The reductions that are a fold of the scalar type, and what is made from one. */

#include "tensor/reduce_impl.h"

#include "tensor/fail.h"

static ct_status fold_rows(void *context, const ct_scalar *scalar, const struct ct_fold_job *job,
                           size_t *done) {
    const enum ct_fold *fold = context;
    *done = ct_scalar_fold(scalar, *fold)(scalar, job);
    return *done < job->count ? CT_EOVERFLOW : CT_OK;
}

enum { SMALL = 1 << 14 }; // items that one thread folds in one call

// The fold of a small dense tensor without names over all its axes, the first or the last, by one call
// of the type's loop, without a plan. NULL, without an error: it is none, or a fold has no result.
static ct_tensor *fold_small(enum ct_fold kind, const ct_tensor *t, int n, const int *axes,
                             bool keepdims) {
    if (!t || n != 1 || !axes || !t->known_dense || t->names || t->rank == 0 || t->count - 1 >= SMALL)
        return NULL;
    int axis = axes[0], last = t->rank - 1;
    bool all = axis == CT_ALL || last == 0;
    if (axis != CT_ALL && axis < 0)
        axis += t->rank;
    if (axis != CT_ALL && axis != 0 && axis != last)
        return NULL;
    ct_fold_fn *fn = ct_scalar_fold(t->scalar, kind);
    size_t length = all ? t->count : (size_t)t->shape[axis], kept = t->count / length;
    if (!fn || length == 1)
        return NULL;
    int64_t shape[CT_MAX_RANK];
    int rank = 0;
    for (int i = 0; i < t->rank; i++)
        if (!all && i != axis)
            shape[rank++] = t->shape[i];
        else if (keepdims)
            shape[rank++] = 1;
    ct_tensor *result = ct__empty_of(t->scalar, rank, shape, kept);
    if (!result)
        return NULL;
    ptrdiff_t size = (ptrdiff_t)t->scalar->size;
    bool rows = all || axis == last;
    const struct ct_fold_job job = {.n = length,
                                    .count = kept,
                                    .x = ct__first(t),
                                    .x_step = rows ? size : (ptrdiff_t)kept * size,
                                    .x_next = rows ? (ptrdiff_t)length * size : size,
                                    .y = ct__first(result),
                                    .y_next = size};
    if (fn(t->scalar, &job) == kept)
        return result;
    ct_free(result);
    return NULL;
}

// A fold with a result of the same scalar type. `nothing` is its value of no items, NaN where it
// has none.
static ct_tensor *fold(const char *who, const char *noun, enum ct_fold kind, double nothing,
                       const ct_tensor *t, int n, const int *axes, bool keepdims) {
    struct ct__reduction r;
    ct_tensor *small = fold_small(kind, t, n, axes, keepdims);
    if (small)
        return small;
    if (!ct__reduce_start(&r, who, noun, t, n, axes, keepdims))
        return NULL;
    if (!ct_scalar_fold(t->scalar, kind))
        return ct__reduce_lacks(&r), NULL;
    if (nothing != nothing && ct__reduce_has_items(&r))
        return NULL;
    if (r.mask == 0)
        return ct__share(who, t);
    return ct__reduced(&r, ct__reduce_result(&r, t->scalar), nothing, fold_rows, &kind);
}

static const double none = __builtin_nan("");

ct_tensor *ct_sum(const ct_tensor *t, int axis, bool keepdims) {
    return fold(__func__, "sum", CT_FOLD_SUM, 0, t, 1, &axis, keepdims);
}

ct_tensor *ct_sum_axes(const ct_tensor *t, int n, const int *axes, bool keepdims) {
    return fold(__func__, "sum", CT_FOLD_SUM, 0, t, n, axes, keepdims);
}

ct_tensor *ct_prod(const ct_tensor *t, int axis, bool keepdims) {
    return fold(__func__, "product", CT_FOLD_PROD, 1, t, 1, &axis, keepdims);
}

ct_tensor *ct_prod_axes(const ct_tensor *t, int n, const int *axes, bool keepdims) {
    return fold(__func__, "product", CT_FOLD_PROD, 1, t, n, axes, keepdims);
}

ct_tensor *ct_max(const ct_tensor *t, int axis, bool keepdims) {
    return fold(__func__, "maximum", CT_FOLD_MAX, none, t, 1, &axis, keepdims);
}

ct_tensor *ct_max_axes(const ct_tensor *t, int n, const int *axes, bool keepdims) {
    return fold(__func__, "maximum", CT_FOLD_MAX, none, t, n, axes, keepdims);
}

ct_tensor *ct_min(const ct_tensor *t, int axis, bool keepdims) {
    return fold(__func__, "minimum", CT_FOLD_MIN, none, t, 1, &axis, keepdims);
}

ct_tensor *ct_min_axes(const ct_tensor *t, int n, const int *axes, bool keepdims) {
    return fold(__func__, "minimum", CT_FOLD_MIN, none, t, n, axes, keepdims);
}

// --- masks

static ct_tensor *truth(const char *who, const char *noun, enum ct_fold kind, double nothing,
                        const ct_tensor *t, int n, const int *axes, bool keepdims) {
    if (t && !(t->scalar->traits & CT_BOOLEAN))
        return ct__fail_null(CT_EDTYPE, who, "%s needs a tensor of bool, not %s", noun,
                             t->scalar->name);
    return fold(who, noun, kind, nothing, t, n, axes, keepdims);
}

ct_tensor *ct_any(const ct_tensor *t, int axis, bool keepdims) {
    return truth(__func__, "any", CT_FOLD_MAX, 0, t, 1, &axis, keepdims);
}

ct_tensor *ct_any_axes(const ct_tensor *t, int n, const int *axes, bool keepdims) {
    return truth(__func__, "any", CT_FOLD_MAX, 0, t, n, axes, keepdims);
}

ct_tensor *ct_all(const ct_tensor *t, int axis, bool keepdims) {
    return truth(__func__, "all", CT_FOLD_MIN, 1, t, 1, &axis, keepdims);
}

ct_tensor *ct_all_axes(const ct_tensor *t, int n, const int *axes, bool keepdims) {
    return truth(__func__, "all", CT_FOLD_MIN, 1, t, n, axes, keepdims);
}

// --- places

static ct_tensor *place(const char *who, const char *noun, enum ct_fold kind, const ct_tensor *t,
                        int axis, bool keepdims) {
    struct ct__reduction r;
    if (!ct__reduce_start(&r, who, noun, t, 1, &axis, keepdims))
        return NULL;
    if (!ct_scalar_fold(t->scalar, kind))
        return ct__reduce_lacks(&r), NULL;
    if (ct__reduce_has_items(&r))
        return NULL;
    return ct__reduced(&r, ct__reduce_result(&r, CT_I64), 0, fold_rows, &kind);
}

ct_tensor *ct_argmax(const ct_tensor *t, int axis, bool keepdims) {
    return place(__func__, "argmax", CT_FOLD_ARGMAX, t, axis, keepdims);
}

ct_tensor *ct_argmin(const ct_tensor *t, int axis, bool keepdims) {
    return place(__func__, "argmin", CT_FOLD_ARGMIN, t, axis, keepdims);
}
