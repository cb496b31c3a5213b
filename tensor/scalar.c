/* What a scalar type can do: its own slots, or defaults where it has none. */

#include "tensor/ct_scalar.h"

#include "tensor/scalar_default.h"

ct_loop_fn *ct_scalar_loop(const ct_scalar *scalar, enum ct_op op) {
    if (!scalar || (unsigned)op >= CT_OP_COUNT)
        return NULL;
    ct_loop_fn *loop = ct__primitive_loop(scalar, op);
    return loop ? loop : ct__derived_loop(scalar, op);
}

ct_fold_fn *ct_scalar_fold(const ct_scalar *scalar, enum ct_fold fold) {
    if (!scalar || (unsigned)fold >= CT_FOLD_COUNT)
        return NULL;
    return scalar->fold[fold] ? scalar->fold[fold] : ct__default_fold(scalar, fold);
}

ct_matmul_fn *ct_scalar_matmul(const ct_scalar *scalar) {
    if (!scalar)
        return NULL;
    return scalar->matmul ? scalar->matmul : ct__default_matmul(scalar);
}

bool ct_scalar_has(const ct_scalar *scalar, enum ct_op op) {
    return ct_scalar_loop(scalar, op) != NULL;
}
