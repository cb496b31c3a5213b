/* Maps by functions of the user's. */

#include "tensor/ct_iterate.h"
#include "tensor/fail.h"
#include "tensor/storage.h"

#include <string.h>

/* A walk over the items of a result, which is dense, and those of its operands. */
struct callback {
    ct_map_fn *one;
    ct_zip_fn *two;
    void *context;
};

ct_status ct__fail_callback(const char *who, const ct_tensor *t, size_t item, ct_status status) {
    char text[CT__AT_INDEX_BYTES];
    const char *place = ct__at_index(text, t->rank, t->shape, item);
    if ((unsigned)status > CT_EUNSUPPORTED)
        return ct__fail(CT_EINVAL, who, "the callback returned %d, which is no status%s%s",
                        (int)status, t->rank > 0 ? "," : "", place);
    return ct__fail(status, who, "the callback returned %s%s", ct_status_name(status), place);
}

/* Calls the function for each item of `out`, which has items; b may be NULL. */
static ct_status call_each(const char *who, const struct callback *fn, const ct_tensor *a,
                           const ct_tensor *b, const ct_tensor *out) {
    ptrdiff_t a_size = (ptrdiff_t)a->scalar->size, b_size = b ? (ptrdiff_t)b->scalar->size : 0;
    const char *x = ct__first(a), *y = b ? ct__first(b) : NULL;
    struct ct__nest nest;
    ct__nest_start(&nest, 2);
    for (int i = 0; i < out->rank; i++) {
        int64_t steps[] = {a_size * ct__stride_at(out->rank, i, a->rank, a->shape, a->strides),
                           b ? b_size * ct__stride_at(out->rank, i, b->rank, b->shape, b->strides)
                             : 0};
        ct__nest_add(&nest, out->shape[i], steps);
    }
    struct ct__walk walk;
    ct__walk_start(&walk, &nest, nest.rank, 0);
    char *z = ct__first(out);
    for (size_t i = 0; i < out->count; i++, z += out->scalar->size) {
        ct_status status = b ? fn->two(fn->context, x + walk.at[0], y + walk.at[1], z)
                             : fn->one(fn->context, x + walk.at[0], z);
        if (status)
            return ct__fail_callback(who, out, i, status);
        ct__walk_next(&walk, &nest, nest.rank);
    }
    return CT_OK;
}

/* The callback may write into the operands or free them: what we read stays what it was. */
static ct_status call_on_shares(const char *who, const struct callback *fn, const ct_tensor *a,
                                const ct_tensor *b, const ct_tensor *out) {
    ct_tensor x = *a, y = b ? *b : *a;
    ct__take_share(x.storage);
    ct__take_share(y.storage);
    ct_status status = call_each(who, fn, &x, b ? &y : NULL, out);
    ct__drop_share(x.storage);
    ct__drop_share(y.storage);
    return status;
}

static ct_tensor *mapped(const char *who, const struct callback *fn, const ct_tensor *a,
                         const ct_tensor *b, const ct_scalar *scalar) {
    int rank = a->rank;
    int64_t shape[CT_MAX_RANK];
    memcpy(shape, a->shape, sizeof shape);
    if (b && ct__broadcast(who, a->rank, a->shape, b->rank, b->shape, &rank, shape))
        return NULL;
    const ct_tensor *in[] = {a, b};
    ct_tensor *out = ct__empty(who, scalar, rank, shape);
    ct_status status = out ? ct__names_merge(who, out, b ? 2 : 1, in) : CT_OK;
    if (out && !status && out->count > 0) {
        memset(ct__first(out), 0, out->count * scalar->size);
        status = call_on_shares(who, fn, a, b, out);
    }
    if (!status)
        return out;
    ct_free(out);
    return NULL;
}

static ct_tensor *fail_function(const char *who) {
    return ct__fail_null(CT_EINVAL, who, "the callback is NULL");
}

ct_tensor *ct_map_to(const ct_tensor *t, const ct_scalar *scalar, ct_map_fn *fn, void *context) {
    if (!t || !scalar)
        return ct__null(__func__);
    if (!fn)
        return fail_function(__func__);
    return mapped(__func__, &(struct callback){.one = fn, .context = context}, t, NULL, scalar);
}

ct_tensor *ct_map(const ct_tensor *t, ct_map_fn *fn, void *context) {
    if (!t)
        return ct__null(__func__);
    if (!fn)
        return fail_function(__func__);
    return mapped(__func__, &(struct callback){.one = fn, .context = context}, t, NULL, t->scalar);
}

ct_tensor *ct_zip(const ct_tensor *a, const ct_tensor *b, const ct_scalar *scalar, ct_zip_fn *fn,
                  void *context) {
    if (!a || !b || !scalar)
        return ct__null(__func__);
    if (!fn)
        return fail_function(__func__);
    return mapped(__func__, &(struct callback){.two = fn, .context = context}, a, b, scalar);
}
