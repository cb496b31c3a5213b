/**
 * @file ct_iterate.h
 * Row-major iteration over the items of a tensor, and maps by functions of one's own.
 *
 * Both see items in row-major order of the shape, whatever the layout, on the caller's thread
 * alone, each once.
 */
#ifndef CT_ITERATE_H
#define CT_ITERATE_H

#include "tensor/ct_tensor.h"

CT_BEGIN_DECLS

/**
 * A walk over the items, by value: no allocation, nothing to free.
 *
 *     struct ct_iter it = ct_iter_init(t);
 *     while (ct_iter_next(&it))
 *         use(it.item, it.index);
 *
 * The tensor must not be written or freed meanwhile.
 */
struct ct_iter {
    const void *item;           /**< the present item, in the tensor's own type; to be read only */
    int64_t flat;               /**< its number in row-major order; -1 before the first */
    int64_t index[CT_MAX_RANK]; /**< its index, one number per axis */
    const ct_tensor *tensor;    /**< what is walked; the rest is the walk's own */
    int64_t left;
};
/** Before the first item. Of NULL: a walk without items, with an error. */
CT_API struct ct_iter ct_iter_init(const ct_tensor *t);
/** Goes to the next item; false, with the walk as it was, when there is none. */
CT_API bool ct_iter_next(struct ct_iter *it);

/**
 * A function of one item: reads @p in and sets @p out, whose bytes are 0 before. Whatever is not
 * CT_OK ends the walk: the map then fails with that status and says at which index.
 */
typedef ct_status ct_map_fn(void *context, const void *in, void *out);
/** The same of two items. */
typedef ct_status ct_zip_fn(void *context, const void *a, const void *b, void *out);

/** fn of each item, in the tensor's own type. Never called on a tensor without items. */
CT_API ct_tensor *ct_map(const ct_tensor *t, ct_map_fn *fn, void *context);
/** The same into another scalar type. */
CT_API ct_tensor *ct_map_to(const ct_tensor *t, const ct_scalar *scalar, ct_map_fn *fn,
                            void *context);
/** fn of each pair of items, with NumPy's broadcasting, into a scalar type; the operands may have
 *  any types. */
CT_API ct_tensor *ct_zip(const ct_tensor *a, const ct_tensor *b, const ct_scalar *scalar,
                         ct_zip_fn *fn, void *context);

CT_END_DECLS
#endif
