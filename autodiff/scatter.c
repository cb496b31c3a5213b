/* scatter: items put at places, the last of several. A composition: each place that is reached takes one item of the
   source, which is found by putting the items' numbers there. */

#include "autodiff/tape_impl.h"

#include "autodiff/ct_var_ops.h"
#include "tensor/ct_index.h"
#include "tensor/ct_make.h"
#include "tensor/ct_ops.h"
#include "tensor/fail.h"

static const char who[] = "ct_var_scatter";

/* Per item of t the number of the item of the source that ends there, from 1; 0 where none does. */
static ct_tensor *winners(const ct_tensor *t, int axis, const ct_tensor *index) {
    ct_tensor *line = ct_arange(CT_I64, 1, (double)ct_count(index) + 1, 1);
    ct_tensor *numbers = ct_reshape(line, ct_rank(index), ct_shape(index));
    ct_tensor *none = ct_zeros(CT_I64, ct_rank(t), ct_shape(t));
    ct_tensor *last = ct_scatter(none, axis, index, numbers);
    ct_free(line);
    ct_free(numbers);
    ct_free(none);
    return last;
}

/* The places of the winners in the source, 0 where there is none, one after the other; and whether there is one. */
static bool places(const ct_tensor *last, ct_tensor **place, ct_tensor **is_reached) {
    ct_tensor *zero = ct_from_double(CT_I64, 0), *one = ct_from_double(CT_I64, 1);
    ct_tensor *at_least_one = ct_maximum(last, one), *from_0 = ct_sub(at_least_one, one);
    *is_reached = ct_greater(last, zero);
    *place = ct_reshape(from_0, 1, &(int64_t){(int64_t)ct_count(last)});
    ct_free(zero);
    ct_free(one);
    ct_free(at_least_one);
    ct_free(from_0);
    return *place && *is_reached;
}

static ct_var choose(ct_var t, ct_var source, int64_t count, const ct_tensor *value,
                     const ct_tensor *place, const ct_tensor *is_reached) {
    ct_var line = ct_var_reshape(source, 1, &count), at = ct_constant(t.tape, place, NULL);
    ct_var items = ct_var_take(line, 0, at);
    ct_var put = ct_var_reshape(items, ct_rank(value), ct_shape(value));
    ct_var mask = ct_constant(t.tape, is_reached, NULL);
    return ct_var_where(mask, put, t);
}

ct_var ct_var_scatter(ct_var t, int axis, ct_var index, ct_var source) {
    const ct_tensor *value = ct__operand(t), *at = value ? ct__operand(index) : NULL;
    const ct_tensor *from = at ? ct__operand(source) : NULL;
    if (!from)
        return ct__null_of(t);
    if (!ct_same_shape(at, from)) {
        char have[CT__SHAPE_TEXT_BYTES], want[CT__SHAPE_TEXT_BYTES];
        ct__format_shape(have, sizeof have, ct_rank(from), ct_shape(from));
        ct__format_shape(want, sizeof want, ct_rank(at), ct_shape(at));
        return ct__tape_fail_in(who, t.tape, CT_ESHAPE,
                                "the source has shape %s and the index %s: they must be equal",
                                have, want);
    }
    ct_tensor *last = winners(value, axis, at), *place = NULL, *is_reached = NULL;
    bool found = last && places(last, &place, &is_reached);
    ct_var result = ct__null_of(t);
    if (!found)
        ct__tape_fail_in(who, t.tape, ct_error()->code, "%s", ct_error()->message);
    else
        result = ct_count(from) > 0
                     ? choose(t, source, (int64_t)ct_count(from), value, place, is_reached)
                     : t;
    ct_free(last);
    ct_free(place);
    ct_free(is_reached);
    return result;
}
