/* The public functions of LU factorisations. */

#include "tensor/ct_ops.h"
#include "tensor/factor_impl.h"
#include "tensor/factor_solve.h"

#include "tensor/fail.h"

#include <inttypes.h>

ct_status ct_lu(const ct_tensor *a, ct_tensor **lu, ct_tensor **order) {
    struct ct__lu made;
    if (!a)
        return ct__fail_null_operand(__func__);
    if (!lu || !order)
        return ct__fail(CT_EINVAL, __func__, "there is no place for a result");
    ct_status status = ct__lu_of(__func__, a, &made);
    if (status)
        return status;
    *lu = made.lu;
    *order = made.order;
    return CT_OK;
}

// Whether the places are of rows; their order of n each is dense.
static ct_status check_order(const char *who, const ct_tensor *order) {
    int64_t n = order->shape[order->rank - 1];
    const int64_t *place = (const int64_t *)(const void *)ct__first(order);
    for (size_t i = 0; i < order->count; i++)
        if (place[i] < 0 || place[i] >= n) {
            char text[CT__AT_INDEX_BYTES];
            return ct__fail(CT_EINDEX, who,
                            "the row %" PRId64 "%s of the order is none of %" PRId64, place[i],
                            ct__at_index(text, order->rank, order->shape, i), n);
        }
    return CT_OK;
}

ct_tensor *ct_lu_solve(const ct_tensor *lu, const ct_tensor *order, const ct_tensor *b,
                       bool transposed) {
    if (!lu || !order || !b)
        return ct__null(__func__);
    if (order->scalar != CT_I64)
        return ct__fail_null(CT_EDTYPE, __func__, "the order of rows is i64, not %s",
                             order->scalar->name);
    if (lu->rank < 2 || order->rank != lu->rank - 1 ||
        memcmp(order->shape, lu->shape, (size_t)order->rank * sizeof *lu->shape) != 0)
        return ct__fail_null(CT_ESHAPE, __func__,
                             "the order of rows has the shape of lu without "
                             "its last axis");
    ct_tensor *dense = ct__dense_copy(__func__, order);
    const struct ct__lu made = {(ct_tensor *)(uintptr_t)lu, dense};
    bool good = dense && check_order(__func__, dense) == CT_OK;
    ct_tensor *x = good ? ct__lu_solve(__func__, &made, b, transposed) : NULL;
    ct_free(dense);
    return x;
}

ct_tensor *ct_solve(const ct_tensor *a, const ct_tensor *b) {
    struct ct__solve plan;
    struct ct__lu lu;
    if (!a || !b)
        return ct__null(__func__);
    if (ct__plan_solve(__func__, a, b, &plan) || ct__lu_of(__func__, a, &lu))
        return NULL;
    ct_tensor *x = ct__lu_solve(__func__, &lu, b, false);
    ct__lu_free(&lu);
    return x;
}

static ct_tensor *of_lu(const char *who, const ct_tensor *a,
                        ct_tensor *(*make)(const char *who, const struct ct__lu *lu)) {
    struct ct__lu lu;
    if (!a)
        return ct__null(who);
    if (ct__lu_of(who, a, &lu))
        return NULL;
    ct_tensor *result = make(who, &lu);
    ct__lu_free(&lu);
    return result;
}

ct_tensor *ct_inverse(const ct_tensor *a) {
    return of_lu(__func__, a, ct__lu_inverse);
}

ct_status ct_slogdet(const ct_tensor *a, ct_tensor **sign, ct_tensor **log_abs) {
    struct ct__lu lu;
    if (!a)
        return ct__fail_null_operand(__func__);
    ct_status status = ct__lu_of(__func__, a, &lu);
    if (status)
        return status;
    ct_tensor *s = sign ? ct__lu_sign(__func__, &lu) : NULL;
    ct_tensor *l = log_abs && (!sign || s) ? ct__lu_log_abs(__func__, &lu) : NULL;
    ct__lu_free(&lu);
    if ((sign && !s) || (log_abs && !l)) {
        ct_free(s);
        return ct_error()->code;
    }
    if (sign)
        *sign = s;
    if (log_abs)
        *log_abs = l;
    return CT_OK;
}

ct_tensor *ct_logdet(const ct_tensor *a) {
    ct_tensor *sign, *log_abs;
    if (!a)
        return ct__null(__func__);
    if (ct_slogdet(a, &sign, &log_abs))
        return ct__as(__func__, NULL);
    ct_tensor *log_sign = ct__as(__func__, ct_log(sign));
    ct_tensor *sum = log_sign ? ct__as(__func__, ct_add(log_abs, log_sign)) : NULL;
    ct_free(log_sign);
    ct_free(log_abs);
    ct_free(sign);
    return sum;
}
