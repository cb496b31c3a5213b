/* Where derivatives end: a value passed on as a constant, in every mode. */

#include "autodiff/pull_words.h"
#include "autodiff/sparse_impl.h"

#include "dual/ct_dual.h"
#include "tensor/fail.h"

/* The innermost values of a dual tensor, as its own type without tangents; a share of one of a plain type.
   Marked items come back from their values without marks. */
static ct_tensor *without_tangents(const ct_tensor *t) {
    ct_tensor *value = ct_dtype(t) == &ct__scalar_marked ? ct_astype(t, CT_F64) : ct_copy(t);
    while (value && ct_dtype(value)->base) {
        ct_tensor *inner = ct_dual_value(value);
        ct_free(value);
        value = inner;
    }
    ct_tensor *lifted = value ? ct_astype(value, ct_dtype(t)) : NULL;
    ct_free(value);
    return lifted;
}

ct_var ct_var_stop_gradient(ct_var x) {
    const ct_tensor *t = ct__operand(x);
    if (!t)
        return ct__null_of(x);
    ct_tensor *value = without_tangents(t);
    if (!value)
        return ct__tape_fail(x.tape, ct_error()->code, "stop_gradient: %s", ct_error()->message);
    ct_var v = ct_constant(x.tape, value, NULL);
    ct_free(value);
    return v;
}

/* y + (x - x): the difference is 0 and carries the derivative. */
ct_var ct_var_straight_through(ct_var x, ct_var y) {
    const ct_tensor *a = ct__operand(x), *b = a ? ct__operand(y) : NULL;
    if (a && b && !(ct_same_shape(a, b) && ct_dtype(a) == ct_dtype(b))) {
        char operands[256];
        ct__describe_operands(operands, sizeof operands, 2, (const ct_tensor *const[]){a, b});
        return ct__tape_fail_in(__func__, x.tape, ct_same_shape(a, b) ? CT_EDTYPE : CT_ESHAPE,
                                "the two need one shape and one scalar type: %s were given",
                                operands);
    }
    ct_var value = ct_var_stop_gradient(y);
    return ADD(value, SUB(x, ct_var_stop_gradient(x)));
}
