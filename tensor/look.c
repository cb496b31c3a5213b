#include "tensor/tensor_impl.h"

#include "tensor/fail.h"
#include "tensor/storage.h"

const ct_scalar *ct_dtype(const ct_tensor *t) {
    if (!t)
        ct__fail_null_operand(__func__);
    return t ? t->scalar : NULL;
}

int ct_rank(const ct_tensor *t) {
    if (!t)
        ct__fail_null_operand(__func__);
    return t ? t->rank : -1;
}

const int64_t *ct_shape(const ct_tensor *t) {
    if (!t)
        ct__fail_null_operand(__func__);
    return t ? t->shape : NULL;
}

const int64_t *ct_strides(const ct_tensor *t) {
    if (!t)
        ct__fail_null_operand(__func__);
    return t ? t->strides : NULL;
}

int64_t ct_extent(const ct_tensor *t, int axis) {
    if (!t)
        ct__fail_null_operand(__func__);
    if (!t || ct__check_axis(__func__, t->rank, axis, &axis))
        return -1;
    return t->shape[axis];
}

size_t ct_count(const ct_tensor *t) {
    if (!t)
        ct__fail_null_operand(__func__);
    return t ? t->count : 0;
}

bool ct_is_dense(const ct_tensor *t) {
    if (!t) {
        ct__fail_null_operand(__func__);
        return false;
    }
    return ct__is_dense(t);
}

const void *ct_data(const ct_tensor *t) {
    if (!t)
        ct__fail_null_operand(__func__);
    return t ? ct__first(t) : NULL;
}

const void *ct__storage_of(const ct_tensor *t) {
    return t->storage;
}

bool ct_shares_storage(const ct_tensor *a, const ct_tensor *b) {
    return a && b && a->storage == b->storage;
}

// The first invariant that does not hold, in words, or NULL.
static const char *find_fault(const ct_tensor *t) {
    size_t count;
    if (!t->scalar || t->scalar->size == 0)
        return "it has no scalar type";
    if (!t->storage || atomic_load_explicit(&t->storage->shares, memory_order_relaxed) == 0)
        return "it has no storage";
    if (t->storage->space != CT__HOST)
        return "its storage is not in the host's memory";
    if (t->rank < 0 || t->rank > CT_MAX_RANK)
        return "its rank is out of range";
    for (int i = 0; i < t->rank; i++)
        if (t->shape[i] < 0)
            return "an extent is negative";
    if (!ct__count_items(t->scalar->size, t->rank, t->shape, &count) || count != t->count)
        return "its count is not the product of the extents";
    if (t->known_dense && !ct__is_dense(t))
        return "it is not dense as it claims";
    if (!ct__lies_within(t, t->storage->bytes / t->scalar->size))
        return "an item lies outside its storage";
    if ((uintptr_t)t->storage->data % t->scalar->align != 0)
        return "its items are not aligned";
    if (!ct__names_are_sound(t))
        return "its axis names are not in order";
    return NULL;
}

ct_status ct_check_tensor(const ct_tensor *t) {
    if (!t)
        return ct__fail_null_operand(__func__);
    const char *fault = find_fault(t);
    if (fault)
        return ct__fail(CT_EINVAL, __func__, "the tensor is broken: %s", fault);
    return CT_OK;
}
