/* What a scalar type can do: its own slots, or defaults where it has none. */

#include "tensor/ct_scalar.h"

ct_loop_fn *ct_scalar_loop(const ct_scalar *scalar, enum ct_op op) {
    return scalar && scalar->loop && (unsigned)op < CT_OP_COUNT ? scalar->loop(scalar, op) : NULL;
}

ct_fold_fn *ct_scalar_fold(const ct_scalar *scalar, enum ct_fold fold) {
    return scalar && (unsigned)fold < CT_FOLD_COUNT ? scalar->fold[fold] : NULL;
}
