/* The mean: the sum divided by the number of items; of integers by exact sums. */

#include "tensor/reduce_impl.h"

#include "tensor/fail.h"

__extension__ typedef __int128 wide;

// context: the number of items, as an item.
static ct_status mean_rows(void *context, const ct_scalar *scalar, const struct ct_fold_job *job,
                           size_t *done) {
    char *const ptr[] = {job->y, context, job->y};
    const ptrdiff_t step[] = {job->y_next, 0, job->y_next};
    *done = ct_scalar_fold(scalar, CT_FOLD_SUM)(scalar, job);
    if (*done == job->count)
        *done = ct_scalar_loop(scalar, CT_OP_div)(scalar, CT_OP_div, job->count, ptr, step);
    return *done < job->count ? CT_EOVERFLOW : CT_OK;
}

// Up to 2^63 items of 64 bits each: their exact sum has room in 128 bits.
static ct_status whole_mean_rows(void *context, const ct_scalar *scalar,
                                 const struct ct_fold_job *job, size_t *done) {
    (void)context;
    for (*done = 0; *done < job->count; ++*done) {
        const char *x = job->x + (ptrdiff_t)*done * job->x_next;
        wide sum = 0;
        for (size_t i = 0; i < job->n; i++, x += job->x_step) {
            int64_t item = 0;
            scalar->to_i64(scalar, x, &item);
            sum += item;
        }
        // The mean lies between two items, so it fits.
        scalar->from_i64(scalar, job->y + (ptrdiff_t)*done * job->y_next,
                         (int64_t)(sum / (wide)job->n));
    }
    return CT_OK;
}

static ct_tensor *mean(const char *who, const ct_tensor *t, int n, const int *axes, bool keepdims) {
    struct ct__reduction r;
    if (!ct__reduce_start(&r, who, "mean", t, n, axes, keepdims))
        return NULL;
    const ct_scalar *scalar = t->scalar;
    bool whole = scalar->traits & CT_INTEGER && scalar->to_i64 && scalar->from_i64;
    if (!ct_scalar_fold(scalar, CT_FOLD_SUM) || (!whole && !ct_scalar_has(scalar, CT_OP_div)))
        return ct__reduce_lacks(&r), NULL;
    if (ct__reduce_has_items(&r))
        return NULL;
    if (r.mask == 0)
        return ct__share(who, t);
    if (whole)
        return ct__reduced(&r, ct__reduce_result(&r, scalar), 0, whole_mean_rows, NULL);
    ct_tensor *items = ct__empty(who, scalar, 0, NULL);
    if (!items)
        return NULL;
    ct_tensor *result = NULL;
    if (ct__fill_new(who, items, (double)ct__reduce_length(&r)) == CT_OK)
        result = ct__reduced(&r, ct__reduce_result(&r, scalar), 0, mean_rows, ct__first(items));
    ct_free(items);
    return result;
}

ct_tensor *ct_mean(const ct_tensor *t, int axis, bool keepdims) {
    return mean(__func__, t, 1, &axis, keepdims);
}

ct_tensor *ct_mean_axes(const ct_tensor *t, int n, const int *axes, bool keepdims) {
    return mean(__func__, t, n, axes, keepdims);
}
