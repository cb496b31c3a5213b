#include "tensor/ct_iterate.h"

#include "tensor/fail.h"
#include "tensor/tensor_impl.h"

struct ct_iter ct_iter_init(const ct_tensor *t) {
    struct ct_iter it = {.flat = -1, .tensor = t};
    if (!t)
        ct__fail_null_operand(__func__);
    else
        it.left = (int64_t)t->count;
    return it;
}

bool ct_iter_next(struct ct_iter *it) {
    if (!it || it->left == 0)
        return false;
    const ct_tensor *t = it->tensor;
    it->left--;
    if (it->flat++ < 0) {
        it->item = ct__first(t);
        return true;
    }
    /* On with the last axis that has a next item; those after it go back to their first. */
    int axis = t->rank - 1;
    int64_t distance = 0;
    while (it->index[axis] + 1 == t->shape[axis]) {
        distance -= it->index[axis] * t->strides[axis];
        it->index[axis--] = 0;
    }
    it->index[axis]++;
    distance += t->strides[axis];
    it->item = (const char *)it->item + distance * (ptrdiff_t)t->scalar->size;
    return true;
}
