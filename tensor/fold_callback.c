/* Folds with a user's callback. */

#include "tensor/reduce_impl.h"

#include "tensor/fail.h"
#include "tensor/storage.h"

// Every item of a new dense tensor becomes a copy of one.
static void set_all(ct_tensor *t, const void *item) {
    char *at = ct__first(t);
    for (size_t i = 0; i < t->count; i++)
        memcpy(at + i * t->scalar->size, item, t->scalar->size);
}

// The loops over all items, row-major, with the results' steps: 0 along a reduced axis.
static struct ct__nest loops_of(const struct ct__reduction *r) {
    const ct_tensor *t = r->t;
    int64_t steps[CT_MAX_RANK], next = 1;
    for (int i = t->rank - 1; i >= 0; i--) {
        bool reduced = r->mask & 1u << i;
        steps[i] = reduced ? 0 : next;
        next *= reduced ? 1 : t->shape[i];
    }
    struct ct__nest nest = ct__nest_of(t->rank, t->shape, t->strides, steps);
    ct__nest_fuse(&nest);
    ct__nest_have_row(&nest);
    return nest;
}

static ct_status run(const struct ct__reduction *r, ct_tensor *result, ct_fold_step *step,
                     void *context) {
    struct ct__nest nest = loops_of(r);
    int row = nest.rank - 1;
    size_t passes = ct__nest_passes(&nest, row), n = (size_t)nest.shape[row], place = 0;
    ptrdiff_t from = (ptrdiff_t)r->t->scalar->size, to = (ptrdiff_t)result->scalar->size;
    struct ct__walk walk;
    ct__walk_start(&walk, &nest, row, 0);
    for (size_t pass = 0; pass < passes; pass++, ct__walk_next(&walk, &nest, row)) {
        const char *x = ct__first(r->t) + walk.at[0] * from;
        char *y = ct__first(result) + walk.at[1] * to;
        for (size_t i = 0; i < n; i++, place++) {
            ct_status status = step(context, y, x);
            if (status)
                return ct__fail_callback(r->who, r->t, place, status);
            x += nest.step[0][row] * from;
            y += nest.step[1][row] * to;
        }
    }
    return CT_OK;
}

static ct_tensor *fold(const char *who, const ct_tensor *t, int n, const int *axes,
                       const ct_scalar *accumulator, const void *init, ct_fold_step *step,
                       void *context) {
    struct ct__reduction r;
    if (!ct__reduce_start(&r, who, "fold", t, n, axes, false))
        return NULL;
    if (!accumulator || !init || !step)
        return ct__fail_null(CT_EINVAL, who, "the %s is NULL",
                             !accumulator ? "accumulator's scalar type"
                             : !init      ? "initial item"
                                          : "callback");
    ct_tensor *result = ct__reduce_result(&r, accumulator);
    if (!result)
        return NULL;
    set_all(result, init);
    // The callback may write into t or free it: what is read stays what it was.
    ct_tensor share = *t;
    r.t = &share;
    ct__take_share(share.storage);
    ct_status status = t->count == 0 ? CT_OK : run(&r, result, step, context);
    ct__drop_share(share.storage);
    if (status == CT_OK)
        return result;
    ct_free(result);
    return NULL;
}

ct_tensor *ct_fold(const ct_tensor *t, int axis, const ct_scalar *accumulator, const void *init,
                   ct_fold_step *step, void *context) {
    return fold(__func__, t, 1, &axis, accumulator, init, step, context);
}

ct_tensor *ct_fold_axes(const ct_tensor *t, int n, const int *axes, const ct_scalar *accumulator,
                        const void *init, ct_fold_step *step, void *context) {
    return fold(__func__, t, n, axes, accumulator, init, step, context);
}
