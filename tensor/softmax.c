/* Softmax and its kin: compositions that any scalar type runs, and define what a type's own kernel
   (row_ops.h) makes. */

#include "tensor/softmax_impl.h"

#include "tensor/ct_ops.h"
#include "tensor/fail.h"
#include "tensor/row_ops.h"

#include <math.h>

ct_tensor *ct__replaced(const ct_tensor *from, const ct_tensor *t, double where, double value) {
    if (!ct__holds(t->scalar, where))
        return ct_copy(from); /* a type without infinities has none to replace */
    ct_tensor *old = ct_from_double(t->scalar, where);
    ct_tensor *new = old ? ct_from_double(from->scalar, value) : NULL;
    ct_tensor *mask = new ? ct_equal(t, old) : NULL;
    ct_tensor *out = mask ? ct_where(mask, new, from) : NULL;
    ct_free(old);
    ct_free(new);
    ct_free(mask);
    return out;
}

/* The maximum along the rows, kept; 0 for a row that is all -infinity, so that x - m is -infinity
   there and no NaN. */
static ct_tensor *row_max(const ct_tensor *t, struct ct__axes rows) {
    ct_tensor *m = ct_max_axes(t, rows.n, rows.axes, true);
    ct_tensor *out = m ? ct__replaced(m, m, (double)-INFINITY, 0) : NULL;
    ct_free(m);
    return out;
}

/* x - m, and 0 where x is +infinity, which m then is too: the limit. */
static ct_tensor *row_gap(const ct_tensor *t, const ct_tensor *m) {
    ct_tensor *gap = m ? ct_sub(t, m) : NULL;
    ct_tensor *out = gap ? ct__replaced(gap, t, (double)INFINITY, 0) : NULL;
    ct_free(gap);
    return out;
}

/* log of the sum of exp(gap) along the rows, kept. */
static ct_tensor *log_sum_exp(const ct_tensor *gap, struct ct__axes rows) {
    ct_tensor *e = gap ? ct_exp(gap) : NULL;
    ct_tensor *s = e ? ct_sum_axes(e, rows.n, rows.axes, true) : NULL;
    ct_free(e);
    return ct__then(s, ct_log(s));
}

/* The op by the type's own kernel, which has the bits of what follows; false: it has none. */
static bool by_rows(const char *who, enum ct_op op, const ct_tensor *t, struct ct__axes rows,
                    enum ct__row_kind result, ct_tensor **out) {
    struct ct__row_call call = {.who = who, .op = op, .in = {t}, .result = result};
    ct__check_axes(NULL, t->rank, rows.n, rows.axes, &call.mask);
    ct_rows_fn *kernel = ct__row_kernel(&call);
    if (kernel)
        *out = ct__row_op(&call, kernel);
    return kernel != NULL;
}

ct_tensor *ct__softmax(const ct_tensor *t, struct ct__axes rows) {
    ct_tensor *out;
    if (t->scalar->base)
        return ct__softmax_tangent(t, rows);
    if (by_rows("ct_softmax", CT_OP_softmax, t, rows, CT__ROW_ITEMS, &out))
        return out;
    ct_tensor *m = ct_max_axes(t, rows.n, rows.axes, true); /* of a row all -infinity: NaN */
    ct_tensor *gap = row_gap(t, m), *e = ct__then(gap, ct_exp(gap));
    ct_tensor *s = e ? ct_sum_axes(e, rows.n, rows.axes, true) : NULL;
    out = ct_div(e, s);
    ct_free(m);
    ct_free(e);
    ct_free(s);
    return out;
}

ct_tensor *ct__log_softmax(const ct_tensor *t, struct ct__axes rows) {
    ct_tensor *out;
    if (t->scalar->base)
        return ct__log_softmax_tangent(t, rows);
    if (by_rows("ct_log_softmax", CT_OP_log_softmax, t, rows, CT__ROW_ITEMS, &out))
        return out;
    ct_tensor *m = row_max(t, rows), *gap = row_gap(t, m);
    ct_free(m);
    ct_tensor *log_sum = log_sum_exp(gap, rows);
    out = ct_sub(gap, log_sum);
    ct_free(gap);
    ct_free(log_sum);
    return out;
}

ct_tensor *ct__logsumexp(const ct_tensor *t, struct ct__axes rows) {
    ct_tensor *out;
    if (t->scalar->base)
        return ct__logsumexp_tangent(t, rows);
    if (by_rows("ct_logsumexp", CT_OP_logsumexp, t, rows, CT__ROW_ONE, &out))
        return out;
    ct_tensor *m = row_max(t, rows), *gap = row_gap(t, m);
    ct_tensor *log_sum = log_sum_exp(gap, rows);
    out = ct_add(log_sum, m);
    ct_free(m);
    ct_free(gap);
    ct_free(log_sum);
    return out;
}

// --- the functions

/* Axes that exist, and a type with what it takes. */
static bool check(const char *who, enum ct_op op, const ct_tensor *t, int n, const int *axes,
                  unsigned *mask) {
    if (!t) {
        ct__fail_null_operand(who);
        return false;
    }
    if (ct__check_axes(who, t->rank, n, axes, mask) != CT_OK)
        return false;
    if (!ct_scalar_has(t->scalar, CT_OP_exp) || !ct_scalar_has(t->scalar, CT_OP_log) ||
        !ct_scalar_fold(t->scalar, CT_FOLD_MAX)) {
        ct__fail(CT_EDTYPE, who, "%s has no %s", t->scalar->name, ct_op_name(op));
        return false;
    }
    return true;
}

static ct_tensor *logsumexp(const char *who, const ct_tensor *t, int n, const int *axes,
                            bool keepdims) {
    unsigned mask;
    if (!check(who, CT_OP_logsumexp, t, n, axes, &mask))
        return NULL;
    ct_tensor *out;
    if (t->count == 0) { /* -infinity for each row that exists */
        ct_tensor *zeros = ct_sum_axes(t, n, axes, true);
        out = ct__then(zeros, ct_log(zeros));
    } else {
        out = ct__logsumexp(t, (struct ct__axes){n, axes});
    }
    if (!keepdims)
        out = ct__then(out, ct_squeeze_axes(out, n, axes));
    return ct__as(who, out);
}

ct_tensor *ct_logsumexp(const ct_tensor *t, int axis, bool keepdims) {
    return logsumexp(__func__, t, 1, &axis, keepdims);
}

ct_tensor *ct_logsumexp_axes(const ct_tensor *t, int n, const int *axes, bool keepdims) {
    return logsumexp(__func__, t, n, axes, keepdims);
}

/* One axis, CT_ALL for rank 1 alone. */
static bool check_axis(const char *who, enum ct_op op, const ct_tensor *t, int *axis) {
    unsigned mask;
    if (t && *axis == CT_ALL && t->rank == 1)
        *axis = 0;
    if (t && ct__check_axis(who, t->rank, *axis, axis) != CT_OK)
        return false;
    return check(who, op, t, 1, axis, &mask);
}

ct_tensor *ct_softmax(const ct_tensor *t, int axis) {
    if (!check_axis(__func__, CT_OP_softmax, t, &axis))
        return NULL;
    return ct__as(__func__,
                  t->count == 0 ? ct_copy(t) : ct__softmax(t, (struct ct__axes){1, &axis}));
}

ct_tensor *ct_log_softmax(const ct_tensor *t, int axis) {
    if (!check_axis(__func__, CT_OP_log_softmax, t, &axis))
        return NULL;
    return ct__as(__func__,
                  t->count == 0 ? ct_copy(t) : ct__log_softmax(t, (struct ct__axes){1, &axis}));
}
