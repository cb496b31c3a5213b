// Tensors over memory that somebody else owns.

#include "tensor/tensor_impl.h"

#include "tensor/alloc.h"
#include "tensor/checked.h"
#include "tensor/fail.h"
#include "tensor/storage.h"

#include <inttypes.h>

bool ct__find_reach(int rank, const int64_t *shape, const int64_t *strides, int64_t first,
                    int64_t *low, int64_t *high) {
    *low = *high = first;
    for (int i = 0; i < rank; i++) {
        int64_t way;
        if (!ct__mul_i64(strides[i], shape[i] - 1, &way) ||
            !ct__add_i64(way < 0 ? *low : *high, way, way < 0 ? low : high))
            return false;
    }
    return true;
}

bool ct__lies_within(const ct_tensor *t, size_t items) {
    int64_t low, high;
    return t->count == 0 ||
           (ct__find_reach(t->rank, t->shape, t->strides, t->offset, &low, &high) && low >= 0 &&
            (uint64_t)high < items);
}

static ct_status check_buffer(const char *who, const ct_scalar *scalar, const void *buffer,
                              size_t count) {
    size_t bytes;
    if (!ct__mul_size(count, scalar->size, &bytes) || bytes > PTRDIFF_MAX)
        return ct__fail(CT_EOVERFLOW, who,
                        "a buffer of %zu items of %s takes more bytes than can be addressed", count,
                        scalar->name);
    if (count > 0 && !buffer)
        return ct__fail(CT_EINVAL, who, "the buffer of %zu items is NULL", count);
    if ((uintptr_t)buffer % scalar->align != 0)
        return ct__fail(CT_EINVAL, who, "the buffer is not aligned to the %zu bytes of %s",
                        scalar->align, scalar->name);
    return CT_OK;
}

// Takes strides and offset over. Where no step is ever made, the given numbers mean nothing and
// are replaced, so that later arithmetic on them cannot overflow.
static void set_layout(ct_tensor *t, const int64_t *strides, int64_t offset) {
    ct__dense_strides(t->rank, t->shape, t->strides);
    if (t->count == 0)
        return;
    t->offset = offset;
    for (int i = 0; i < t->rank; i++)
        if (t->shape[i] > 1)
            t->strides[i] = strides[i];
}

static ct_status check_reach(const char *who, const ct_tensor *t, size_t items) {
    if (ct__lies_within(t, items))
        return CT_OK;
    char shape[CT__SHAPE_TEXT_BYTES], strides[CT__SHAPE_TEXT_BYTES];
    ct__format_shape(shape, sizeof shape, t->rank, t->shape);
    ct__format_shape(strides, sizeof strides, t->rank, t->strides);
    return ct__fail(CT_EINDEX, who,
                    "a shape of %s with strides %s from item %" PRId64
                    " reaches outside a buffer of %zu item%s",
                    shape, strides, t->offset, items, items == 1 ? "" : "s");
}

ct_tensor *ct__tensor_over(const char *who, const ct_scalar *scalar, int rank, const int64_t *shape,
                           const int64_t *strides, int64_t offset, const void *buffer, size_t count,
                           void (*release)(void *context), void *context) {
    ct_tensor t = {.scalar = scalar, .rank = rank};
    if (ct__check_shape(who, scalar, rank, shape, &t.count) ||
        check_buffer(who, scalar, buffer, count))
        return NULL;
    if (rank > 0 && !strides)
        return ct__fail_null(CT_EINVAL, who, "the strides are NULL and the rank is %d", rank);
    for (int i = 0; i < rank; i++)
        t.shape[i] = shape[i];
    set_layout(&t, strides, offset);
    if (check_reach(who, &t, count))
        return NULL;
    ct_tensor *result = ct__new_descriptor(scalar, rank, shape, t.count);
    struct ct__storage *s = result ? ct__new_storage(0) : NULL;
    if (!s) {
        ct__free(result);
        ct__fail_memory(who, scalar, rank, shape);
        return NULL;
    }
    s->bytes = count * scalar->size;
    if (buffer)
        s->data = (char *)(uintptr_t)buffer; // never written: the storage is foreign
    s->foreign = true;
    s->release = release;
    s->context = context;
    *result = t;
    result->storage = s;
    return result;
}

ct_tensor *ct_tensor_over(const ct_scalar *scalar, int rank, const int64_t *shape,
                          const int64_t *strides, int64_t offset, const void *buffer, size_t count,
                          void (*release)(void *context), void *context) {
    return ct__tensor_over(__func__, scalar, rank, shape, strides, offset, buffer, count, release,
                           context);
}
