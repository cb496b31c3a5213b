/* Softmax and its kin, as compositions that any scalar type runs. */

#include "tensor/ct_ops.h"

#include "tensor/fail.h"
#include "tensor/tensor_impl.h"

#include <math.h>

/* Applies an op and frees its operands; NULL passes through. */
static ct_tensor *eat1(enum ct_op op, ct_tensor *x) {
    ct_tensor *y = x ? ct_apply(op, 1, (const ct_tensor *[]){x}) : NULL;
    ct_free(x);
    return y;
}

static ct_tensor *eat2(enum ct_op op, ct_tensor *x, ct_tensor *z) {
    ct_tensor *y = x && z ? ct_apply(op, 2, (const ct_tensor *[]){x, z}) : NULL;
    ct_free(x);
    ct_free(z);
    return y;
}

/* t with `value` wherever t is `where`, both plain numbers of its type. */
static ct_tensor *replaced(const ct_tensor *t, double where, double value) {
    ct_tensor *old = ct_from_double(t->scalar, where), *new = ct_from_double(t->scalar, value);
    ct_tensor *mask = old ? ct_equal(t, old) : NULL;
    ct_tensor *out = mask && new ? ct_where(mask, new, t) : NULL;
    ct_free(old);
    ct_free(new);
    ct_free(mask);
    return out;
}

/* The maximum along an axis, kept; 0 for a row that is all -infinity, so that x - m is -infinity
   there and no NaN. */
static ct_tensor *row_max(const ct_tensor *t, int axis) {
    ct_tensor *m = ct_max(t, axis, true);
    ct_tensor *out = m ? replaced(m, (double)-INFINITY, 0) : NULL;
    ct_free(m);
    return out;
}

/* x - m, and 0 where x is +infinity, which m then is too: the limit. */
static ct_tensor *row_gap(const ct_tensor *t, const ct_tensor *m) {
    ct_tensor *gap = m ? ct_sub(t, m) : NULL;
    ct_tensor *infinity = gap ? ct_from_double(t->scalar, (double)INFINITY) : NULL;
    ct_tensor *zero = infinity ? ct_from_double(t->scalar, 0) : NULL;
    ct_tensor *mask = zero ? ct_equal(t, infinity) : NULL;
    ct_tensor *out = mask ? ct_where(mask, zero, gap) : NULL;
    ct_free(gap);
    ct_free(infinity);
    ct_free(zero);
    ct_free(mask);
    return out;
}

/* log of the sum of exp(gap) along an axis, kept. */
static ct_tensor *log_sum_exp(const ct_tensor *gap, int axis) {
    ct_tensor *e = gap ? ct_exp(gap) : NULL;
    ct_tensor *s = e ? ct_sum(e, axis, true) : NULL;
    ct_free(e);
    return eat1(CT_OP_log, s);
}

/* Drops the axis that was kept. */
static ct_tensor *dropped(ct_tensor *x, int axis) {
    ct_tensor *y = x ? ct_squeeze(x, axis) : NULL;
    ct_free(x);
    return y;
}

/* An axis that exists, and a type with an exponential; `empty` says that the result is trivial. */
static bool check(const char *who, enum ct_op op, const ct_tensor *t, int *axis, bool *empty) {
    if (!t) {
        ct__fail_null_operand(who);
        return false;
    }
    if (*axis == CT_ALL && t->rank == 1)
        *axis = 0;
    if (ct__check_axis(who, t->rank, *axis, axis) != CT_OK)
        return false;
    if (!ct_scalar_loop(t->scalar, CT_OP_exp)) {
        ct__fail(CT_EDTYPE, who, "%s has no %s", t->scalar->name, ct_op_name(op));
        return false;
    }
    *empty = t->count == 0;
    return true;
}

/* logsumexp where there are no items: -infinity for each row that exists. */
static ct_tensor *empty_rows(const ct_tensor *t, int axis) {
    ct_tensor *zeros = ct_sum(t, axis, true);
    return eat1(CT_OP_log, zeros);
}

ct_tensor *ct_logsumexp(const ct_tensor *t, int axis, bool keepdims) {
    bool empty;
    if (!check("ct_logsumexp", CT_OP_logsumexp, t, &axis, &empty))
        return NULL;
    ct_tensor *out;
    if (empty)
        out = empty_rows(t, axis);
    else {
        ct_tensor *m = row_max(t, axis), *gap = row_gap(t, m);
        out = eat2(CT_OP_add, log_sum_exp(gap, axis), m);
        ct_free(gap);
    }
    return keepdims ? out : dropped(out, axis);
}

ct_tensor *ct_softmax(const ct_tensor *t, int axis) {
    bool empty;
    if (!check("ct_softmax", CT_OP_softmax, t, &axis, &empty))
        return NULL;
    if (empty)
        return ct_copy(t);
    ct_tensor *m = ct_max(t, axis, true); /* -infinity stays: such a row is NaN */
    ct_tensor *e = eat1(CT_OP_exp, row_gap(t, m));
    ct_tensor *s = e ? ct_sum(e, axis, true) : NULL;
    ct_free(m);
    return eat2(CT_OP_div, e, s);
}

ct_tensor *ct_log_softmax(const ct_tensor *t, int axis) {
    bool empty;
    if (!check("ct_log_softmax", CT_OP_log_softmax, t, &axis, &empty))
        return NULL;
    if (empty)
        return ct_copy(t);
    ct_tensor *m = row_max(t, axis), *gap = row_gap(t, m);
    ct_free(m);
    ct_tensor *log_sum = log_sum_exp(gap, axis);
    return eat2(CT_OP_sub, gap, log_sum);
}
