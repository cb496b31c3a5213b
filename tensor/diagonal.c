/* Sums along diagonals, and matrices made from them. */

#include "tensor/linalg_impl.h"

#include "tensor/checked.h"
#include "tensor/ct_reduce.h"

#include <inttypes.h>

ct_tensor *ct_trace(const ct_tensor *t, int64_t offset, int axis, int other) {
    if (!t)
        return ct__null(__func__);
    ct_tensor *diagonal = ct__as(__func__, ct_diagonal(t, offset, axis, other));
    if (!diagonal)
        return NULL;
    return ct__then(diagonal, ct__as(__func__, ct_sum(diagonal, -1, false)));
}

ct_tensor *ct_diag(const ct_tensor *t, int64_t offset) {
    if (!t)
        return ct__null(__func__);
    if (t->rank != 1)
        return ct__fail_null(CT_ESHAPE, __func__, "diag needs a tensor of rank 1, not %d", t->rank);
    int64_t away = offset < 0 && offset > INT64_MIN ? -offset : offset, side;
    if (away < 0 || !ct__add_i64(t->shape[0], away, &side))
        return ct__fail_null(CT_EOVERFLOW, __func__,
                             "the offset %" PRId64 " makes a matrix that is too large", offset);
    int64_t below = offset < 0 ? away : 0, right = offset < 0 ? 0 : away;
    ct_tensor *matrix = ct__empty(__func__, t->scalar, 2, (int64_t[]){side, side});
    if (!matrix || ct__fill_new(__func__, matrix, 0)) {
        ct_free(matrix);
        return NULL;
    }
    int64_t down = side + 1;
    char *first = ct__first(matrix) + (below * side + right) * (ptrdiff_t)t->scalar->size;
    ct__copy_items(t->scalar->size, 1, t->shape, ct__first(t), t->strides, first, &down);
    return matrix;
}
