#include "tensor_tools.h"

#include <math.h>

ct_tensor *counting(const ct_scalar *scalar, int rank, const int64_t *shape) {
    ct_tensor *t = ct_zeros(scalar, rank, shape);
    ck_assert_ptr_nonnull(t);
    int64_t n = (int64_t)ct_count(t);
    ct_tensor *flat = ct_reshape(t, 1, &n);
    for (int64_t i = 0; i < n; i++)
        ck_assert_int_eq(ct_set(flat, 1, &i, (double)i), CT_OK);
    ct_tensor *result = ct_reshape(flat, rank, shape);
    ct_free(t);
    ct_free(flat);
    return result;
}

void assert_items(const ct_tensor *t, int rank, const int64_t *shape, size_t count,
                  const double *items) {
    static double found[4096];
    ck_assert_uint_le(count, COUNT(found));
    ck_assert_msg(t != NULL, "%s", ct_error()->message);
    ck_assert_int_eq(ct_check_tensor(t), CT_OK);
    ck_assert_int_eq(ct_rank(t), rank);
    for (int i = 0; i < rank; i++)
        ck_assert_int_eq(ct_shape(t)[i], shape[i]);
    ck_assert_int_eq(ct_to_doubles(t, count, found), CT_OK);
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(found[i] == items[i] || (isnan(found[i]) && isnan(items[i])),
                      "item %zu is %.17g, not %.17g", i, found[i], items[i]);
}

void assert_and_free(ct_tensor *t, int rank, const int64_t *shape, size_t count,
                     const double *items) {
    assert_items(t, rank, shape, count, items);
    ct_free(t);
}

void none(ct_tensor *t) {
    ck_assert_msg(t == NULL, "a tensor was made");
}
