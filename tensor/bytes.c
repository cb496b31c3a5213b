/* Items as bytes of a given order. */

#include "tensor/ct_convert.h"
#include "tensor/fail.h"
#include "tensor/storage.h"

#include <string.h>

static const enum ct_byte_order host_order =
    __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? CT_BIG_ENDIAN : CT_LITTLE_ENDIAN;

static void reverse_items(size_t size, size_t count, char *bytes) {
    for (; count > 0; count--, bytes += size)
        for (size_t i = 0; i < size / 2; i++) {
            char byte = bytes[i];
            bytes[i] = bytes[size - 1 - i];
            bytes[size - 1 - i] = byte;
        }
}

/* All NaNs are one value, and so are all true bytes; the bytes may lie anywhere. */
static void canonicalise(const ct_scalar *scalar, size_t count, char *bytes) {
    const uint32_t nan32 = 0x7fc00000;
    const uint64_t nan64 = 0x7ff8000000000000;
    for (size_t i = 0; scalar == CT_F32 && i < count; i++) {
        float x;
        memcpy(&x, bytes + i * sizeof x, sizeof x);
        if (x != x)
            memcpy(bytes + i * sizeof x, &nan32, sizeof x);
    }
    for (size_t i = 0; scalar == CT_F64 && i < count; i++) {
        double x;
        memcpy(&x, bytes + i * sizeof x, sizeof x);
        if (x != x)
            memcpy(bytes + i * sizeof x, &nan64, sizeof x);
    }
    for (size_t i = 0; scalar == CT_BOOL && i < count; i++)
        bytes[i] = bytes[i] != 0;
}

static ct_status check_bytes(const char *who, const ct_scalar *scalar, enum ct_byte_order order) {
    if (order != CT_LITTLE_ENDIAN && order != CT_BIG_ENDIAN)
        return ct__fail(CT_EINVAL, who, "%d is not an order of bytes", (int)order);
    if (!(scalar->traits & CT_PLAIN))
        return ct__fail(CT_EDTYPE, who, "%s has no bytes that mean the same everywhere",
                        scalar->name);
    return CT_OK;
}

static ct_status fail_size(const char *who, const ct_scalar *scalar, int rank, const int64_t *shape,
                           size_t needed, size_t size) {
    char text[CT__SHAPE_TEXT_BYTES];
    ct__format_shape(text, sizeof text, rank, shape);
    return ct__fail(CT_ESHAPE, who, "a shape of %s of %s takes %zu bytes and %zu %s given", text,
                    scalar->name, needed, size, size == 1 ? "was" : "were");
}

ct_status ct_to_bytes(const ct_tensor *t, enum ct_byte_order order, size_t size, void *bytes) {
    if (!t)
        return ct__fail_null_operand(__func__);
    ct_status status = check_bytes(__func__, t->scalar, order);
    if (!status && size != t->count * t->scalar->size)
        status =
            fail_size(__func__, t->scalar, t->rank, t->shape, t->count * t->scalar->size, size);
    if (!status && size > 0 && !bytes)
        status = ct__fail(CT_EINVAL, __func__, "the place for the bytes is NULL");
    if (status || size == 0)
        return status;
    ct__copy_out(t, bytes);
    canonicalise(t->scalar, t->count, bytes);
    if (order != host_order)
        reverse_items(t->scalar->size, t->count, bytes);
    return CT_OK;
}

ct_tensor *ct_from_bytes(const ct_scalar *scalar, int rank, const int64_t *shape,
                         enum ct_byte_order order, size_t size, const void *bytes) {
    size_t count;
    if (ct__check_shape(__func__, scalar, rank, shape, &count) ||
        check_bytes(__func__, scalar, order))
        return NULL;
    if (size != count * scalar->size) {
        fail_size(__func__, scalar, rank, shape, count * scalar->size, size);
        return NULL;
    }
    if (size > 0 && !bytes)
        return ct__fail_null(CT_EINVAL, __func__, "the %zu bytes are NULL", size);
    ct_tensor *t = ct__empty(__func__, scalar, rank, shape);
    if (!t || count == 0)
        return t;
    memcpy(ct__first(t), bytes, size);
    if (order != host_order)
        reverse_items(scalar->size, count, ct__first(t));
    if (scalar == CT_BOOL)
        canonicalise(scalar, count, ct__first(t));
    return t;
}
