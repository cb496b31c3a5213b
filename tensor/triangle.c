#include "tensor/tensor_impl.h"

#include "tensor/ct_index.h"
#include "tensor/fail.h"

// How many items of a row of n lie before the diagonal's place, which may be anywhere.
static int64_t items_before(int64_t row, int64_t diagonal, int64_t n) {
    int64_t place;
    if (__builtin_add_overflow(row, diagonal, &place)) // row >= 0: far behind the end
        return n;
    return place < 0 ? 0 : place > n ? n : place;
}

static void clear(ct_tensor *t, const ct_tensor *zero, int64_t diagonal, bool upper) {
    int64_t rows = t->shape[t->rank - 2], n = t->shape[t->rank - 1];
    size_t size = t->scalar->size, all = t->count / (size_t)n;
    char *row = ct__first(t);
    for (size_t i = 0; i < all; i++, row += (size_t)n * size) {
        int64_t at = items_before((int64_t)(i % (size_t)rows), diagonal, n);
        if (!upper) // the diagonal itself stays
            at = items_before((int64_t)(i % (size_t)rows) + 1, diagonal, n);
        size_t from = upper ? 0 : (size_t)at, count = upper ? (size_t)at : (size_t)(n - at);
        if (count > 0)
            ct__copy_row(size, count, ct__first(zero), 0, row + from * size, (ptrdiff_t)size);
    }
}

static ct_tensor *triangle(const char *who, const ct_tensor *t, int64_t diagonal, bool upper) {
    if (!t)
        return ct__null(who);
    if (t->rank < 2)
        return ct__fail_null(CT_ESHAPE, who, "a triangle needs two axes and the tensor has rank %d",
                             t->rank);
    ct_tensor *out = ct__dense_copy(who, t);
    ct_tensor *zero = out ? ct__empty(who, t->scalar, 0, NULL) : NULL;
    if (!zero || ct__fill_new(who, zero, 0)) {
        ct_free(zero);
        ct_free(out);
        return NULL;
    }
    if (out->count > 0)
        clear(out, zero, diagonal, upper);
    ct_free(zero);
    return out;
}

ct_tensor *ct_triu(const ct_tensor *t, int64_t diagonal) {
    return triangle(__func__, t, diagonal, true);
}

ct_tensor *ct_tril(const ct_tensor *t, int64_t diagonal) {
    return triangle(__func__, t, diagonal, false);
}
