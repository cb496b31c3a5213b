#include "factor_tools.h"

#include <check.h>
#include <stdlib.h>

#include "tensor/ct_make.h"
#include "tensor/ct_ops.h"

const ct_scalar *const factor_reals[2] = {CT_F64, CT_F32};

int64_t factor_size(int i) {
    static const int64_t larger[] = {63, 64, 65, 97, 128, 200};
    return i < FACTOR_SMALL ? i : larger[i - FACTOR_SMALL];
}

ct_tensor *drawn(const ct_scalar *scalar, int rank, const int64_t *shape, uint64_t seed) {
    struct draw draw = {seed};
    return draw_tensor(&draw, scalar, rank, shape, -2, 2);
}

ct_tensor *square(const ct_scalar *scalar, int64_t n, uint64_t seed) {
    return drawn(scalar, 2, (int64_t[]){n, n}, seed);
}

ct_tensor *definite(const ct_scalar *scalar, int64_t n, uint64_t seed) {
    ct_tensor *m = square(scalar, n, seed), *turned = ct_transpose(m);
    ct_tensor *product = ct_matmul(m, turned), *one = ct_eye(scalar, n, n, 0);
    ct_tensor *sum = ct_add(product, one);
    ct_free(m), ct_free(turned), ct_free(product), ct_free(one);
    return sum;
}

double *doubles_of(const ct_tensor *t) {
    double *items = malloc((ct_count(t) + 1) * sizeof *items);
    ck_assert_int_eq(ct_to_doubles(t, ct_count(t), items), CT_OK);
    return items;
}

void ok(const ct_tensor *t) {
    ck_assert_msg(t != NULL, "%s", ct_error()->message);
}

ct_tensor *a3(void) {
    return T2(3, 3, 4, 1, -2, 1, 3, .5, -2, .5, 5);
}

ct_tensor *b3(void) {
    return T2(3, 3, 0, 2, 1, 3, -1, .5, 1, 4, -2);
}

ct_tensor *rhs(void) {
    return T2(3, 2, 1, 2, 0, -1, 3, .5);
}
