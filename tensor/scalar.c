/* What a scalar type can do: its own slots, or defaults where it has none. */

#include "tensor/ct_scalar.h"

#include "tensor/scalar_default.h"

ct_loop_fn *ct_scalar_loop(const ct_scalar *scalar, enum ct_op op) {
    if (!scalar || (unsigned)op >= CT_OP_COUNT)
        return NULL;
    ct_loop_fn *loop = scalar->loop ? scalar->loop(scalar, op) : NULL;
    if (!loop)
        loop = ct__primitive_loop(scalar, op);
    if (loop || scalar->base) // a dual has one rule for an op, its own: kinks are not derived
        return loop;
    return ct__derived_loop(scalar, op);
}

/* A dual's reductions are made from those of its base, which may lack them: it has the ones whose op
   it has itself. */
static bool base_allows(const ct_scalar *scalar, enum ct_fold fold) {
    static const enum ct_op repeated[CT_FOLD_COUNT] = {
        [CT_FOLD_SUM] = CT_OP_add,  [CT_FOLD_MAX] = CT_OP_maximum, [CT_FOLD_MIN] = CT_OP_minimum,
        [CT_FOLD_PROD] = CT_OP_mul, [CT_FOLD_ARGMAX] = CT_OP_less, [CT_FOLD_ARGMIN] = CT_OP_less};
    return !scalar->base ||
           (ct_scalar_fold(scalar->base, fold) && ct_scalar_has(scalar, repeated[fold]));
}

ct_fold_fn *ct_scalar_fold(const ct_scalar *scalar, enum ct_fold fold) {
    if (!scalar || (unsigned)fold >= CT_FOLD_COUNT || !base_allows(scalar, fold))
        return NULL;
    return scalar->fold[fold] ? scalar->fold[fold] : ct__default_fold(scalar, fold);
}

ct_matmul_fn *ct_scalar_matmul(const ct_scalar *scalar) {
    bool able = scalar && (!scalar->base ||
                           (ct_scalar_matmul(scalar->base) && ct_scalar_has(scalar, CT_OP_add) &&
                            ct_scalar_has(scalar, CT_OP_mul)));
    if (!able)
        return NULL;
    return scalar->matmul ? scalar->matmul : ct__default_matmul(scalar);
}

bool ct_scalar_has(const ct_scalar *scalar, enum ct_op op) {
    return ct_scalar_loop(scalar, op) != NULL;
}
