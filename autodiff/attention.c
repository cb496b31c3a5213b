/* Dropout, embedding, attention. */

#include "autodiff/network_impl.h"

#include "tensor/ct_convert.h"
#include "tensor/ct_index.h"
#include "tensor/ct_ops.h"
#include "tensor/ct_random.h"
#include "tensor/fail.h"

#include <math.h>
#include <stdio.h>

/* --- dropout --- */

ct_var ct_var_dropout(ct_var x, double p, uint64_t seed, uint64_t step, uint64_t op) {
    const ct_tensor *t = ct__operand(x);
    if (!t)
        return ct__null_of(x);
    if (!(p >= 0 && p <= 1))
        return ct__fail_call(__func__, 1, &x, CT_EDOMAIN, "a probability lies in 0 to 1, and is %g",
                             p);
    if (p == 0)
        return x;
    char title[32];
    snprintf(title, sizeof title, "dropout %g", p);
    ct_scope_begin(x.tape, title);
    ct_random steps = ct_random_of(seed, step), random = ct_random_split(&steps, op);
    ct_tensor *drawn = ct_uniform(&random, CT_F64, ct_rank(t), ct_shape(t), 0, 1);
    ct_tensor *bound = ct_from_double(CT_F64, p);
    ct_tensor *kept = drawn && bound ? ct_greater_equal(drawn, bound) : NULL;
    ct_free(drawn);
    ct_free(bound);
    ct_var mask = ct__put_constant(x, kept);
    if (ct_tape_status(x.tape) == CT_OK)
        ct_named(mask, "mask");
    ct_var grown = p < 1 ? DIV(x, ct__constant_like(x, 1 - p)) : x;
    ct_var y = WHERE(mask, grown, ct__constant_like(x, 0));
    ct_scope_end(x.tape);
    return y;
}

/* --- embedding --- */

ct_var ct_var_embedding(ct_var table, ct_var index) {
    const ct_tensor *t = ct__operand(table);
    if (!t)
        return ct__null_of(table);
    if (ct_rank(t) != 2)
        return ct__fail_call(__func__, 1, &table, CT_ESHAPE,
                             "a table of embeddings is [rows, items]: rank %d was given",
                             ct_rank(t));
    return ct_var_take(table, 0, index);
}

/* --- attention --- */

ct_var ct_var_causal_mask(ct_tape *tape, int64_t queries, int64_t keys) {
    ct_tensor *ones = ct_ones(CT_BOOL, 2, (int64_t[]){queries, keys});
    ct_tensor *mask = ones ? ct_tril(ones, 0) : NULL;
    ct_var v = mask ? ct_constant(tape, mask, NULL) : ct_var_null();
    if (!mask && tape)
        ct__tape_fail_in(__func__, tape, ct_error()->code, "%s", ct_error()->message);
    ct_free(ones);
    ct_free(mask);
    return v;
}

/* Scores of keys that a mask hides are -infinity; a mask of numbers is added to them. */
static ct_var masked(ct_var scores, ct_var mask) {
    const ct_tensor *s = ct__operand(scores), *m = s ? ct__operand(mask) : NULL;
    if (!m)
        return ct__null_of(scores);
    if (ct_dtype(m) != CT_BOOL && ct_dtype(m) != ct_dtype(s))
        return ct__fail_call("ct_var_attention", 2, (ct_var[]){scores, mask}, CT_EDTYPE,
                             "a mask is of bool or, to be added, of %s: %s was given",
                             ct_dtype(s)->name, ct_dtype(m)->name);
    if (ct_rank(m) > ct_rank(s) || !ct_can_broadcast_to(m, ct_rank(s), ct_shape(s))) {
        char have[CT__SHAPE_TEXT_BYTES], want[CT__SHAPE_TEXT_BYTES];
        ct__format_shape(have, sizeof have, ct_rank(m), ct_shape(m));
        ct__format_shape(want, sizeof want, ct_rank(s), ct_shape(s));
        return ct__fail_call("ct_var_attention", 2, (ct_var[]){scores, mask}, CT_ESHAPE,
                             "the mask of shape %s does not broadcast to the scores of shape %s",
                             have, want);
    }
    return ct_dtype(m) == CT_BOOL
               ? WHERE(mask, scores, ct__constant_like(scores, -(double)INFINITY))
               : ADD(scores, mask);
}

ct_var ct_var_attention(ct_var q, ct_var k, ct_var v, ct_var mask) {
    const ct_tensor *t = ct__operand(q), *keys = t ? ct__operand(k) : NULL;
    const ct_tensor *values = keys ? ct__operand(v) : NULL;
    if (!values)
        return ct__null_of(q);
    if (ct_rank(t) < 2 || ct_rank(keys) < 2 || ct_rank(values) < 2)
        return ct__fail_call(__func__, 3, (ct_var[]){q, k, v}, CT_ESHAPE,
                             "queries are [..., n, d], keys [..., m, d] and values [..., m, e]: "
                             "the ranks %d, %d and %d were given",
                             ct_rank(t), ct_rank(keys), ct_rank(values));
    ct_scope_begin(q.tape, "attention");
    double root = sqrt((double)ct_extent(t, -1));
    ct_var scores = ct_var_matmul(q, ct_var_transpose(k));
    scores = DIV(scores, ct__constant_like(q, root));
    if (mask.tape)
        scores = masked(scores, mask);
    ct_var y = ct_var_matmul(ct_var_softmax(scores, -1), v);
    ct_scope_end(q.tape);
    return y;
}
