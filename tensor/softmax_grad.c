/* The pulls of softmax and log_softmax: compositions, and the kernels that have their bits. */

#include "tensor/ct_ops.h"
#include "tensor/row_ops.h"
#include "tensor/softmax_impl.h"

#include <math.h>

/* A kernel for operands of one shape and type, if the axis is right; what is wrong is said by the
   composition. */
static ct_rows_fn *kernel_of(struct ct__row_call *call, int axis) {
    const ct_tensor *t = call->in[0];
    for (int i = 0; i < 3; i++)
        if (call->in[i] && call->in[i]->scalar != t->scalar)
            return NULL;
    return ct__check_axes(NULL, t->rank, 1, &axis, &call->mask) == CT_OK ? ct__row_kernel(call)
                                                                         : NULL;
}

ct_tensor *ct__softmax_grad(const ct_tensor *y, const ct_tensor *g, int axis) {
    struct ct__row_call call = {.who = "ct_softmax", .op = CT_OP_softmax_grad, .in = {y, g}};
    ct_rows_fn *kernel = kernel_of(&call, axis);
    if (kernel)
        return ct__row_op(&call, kernel);
    ct_tensor *products = ct_smul(g, y), *sum = products ? ct_sum(products, axis, true) : NULL;
    ct_tensor *gap = sum ? ct_sub(g, sum) : NULL, *out = gap ? ct_smul(gap, y) : NULL;
    ct_free(products);
    ct_free(sum);
    ct_free(gap);
    return out;
}

ct_tensor *ct__log_softmax_grad(const ct_tensor *x, const ct_tensor *y, const ct_tensor *g,
                                int axis) {
    struct ct__row_call call = {
        .who = "ct_log_softmax", .op = CT_OP_log_softmax_grad, .in = {x, y, g}};
    ct_rows_fn *kernel = kernel_of(&call, axis);
    if (kernel)
        return ct__row_op(&call, kernel);
    ct_tensor *p = ct_exp(y), *sum = p ? ct_sum(g, axis, true) : NULL;
    ct_tensor *part = sum ? ct_smul(sum, p) : NULL, *gap = part ? ct_sub(g, part) : NULL;
    ct_tensor *m = gap && x->count ? ct_max(x, axis, true) : NULL, *out = NULL;
    if (m)
        out = ct__replaced(gap, m, (double)-INFINITY, 0);
    else if (gap && !x->count)
        out = ct_copy(gap);
    ct_free(p);
    ct_free(sum);
    ct_free(part);
    ct_free(gap);
    ct_free(m);
    return out;
}
