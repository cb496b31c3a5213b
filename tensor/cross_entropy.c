/* Cross entropy at integer labels, row by row, and its pull: compositions, and the kernels that have
   their bits. */

#include "tensor/ct_index.h"
#include "tensor/ct_ops.h"
#include "tensor/fail.h"
#include "tensor/row_ops.h"
#include "tensor/softmax_impl.h"

#include <math.h>

/* Whether there is a label for each row, and each is a class. */
static bool labels_fit(const ct_tensor *x, const ct_tensor *labels) {
    int last = x->rank - 1;
    if (labels->scalar != CT_I64 || labels->rank != last || !ct_is_dense(labels) ||
        memcmp(labels->shape, x->shape, (size_t)last * sizeof *x->shape) != 0)
        return false;
    const char *at = ct__first(labels);
    for (size_t i = 0; i < labels->count; i++) {
        int64_t label;
        memcpy(&label, at + i * sizeof label, sizeof label);
        if (label < 0 || label >= x->shape[last])
            return false;
    }
    return true;
}

ct_tensor *ct__cross_entropy_rows(const ct_tensor *x, const ct_tensor *labels) {
    struct ct__row_call call = {.who = "ct_cross_entropy",
                                .op = CT_OP_cross_entropy,
                                .mask = 1u << (x->rank - 1),
                                .in = {x, labels},
                                .kind = {CT__ROW_ITEMS, CT__ROW_ONE},
                                .result = CT__ROW_ONE};
    ct_rows_fn *kernel = ct__row_kernel(&call);
    if (kernel && labels_fit(x, labels)) {
        ct_tensor *kept = ct__row_op(&call, kernel);
        return ct__then(kept, kept ? ct_squeeze(kept, -1) : NULL);
    }
    ct_tensor *log_p = ct_log_softmax(x, -1), *chosen = log_p ? ct_pick(log_p, labels) : NULL;
    ct_tensor *zero = chosen ? ct_from_double(x->scalar, 0) : NULL;
    ct_tensor *losses = zero ? ct_sub(zero, chosen) : NULL;
    ct_free(zero);
    ct_free(log_p);
    ct_free(chosen);
    return losses;
}

/* 1 at each row's label, else 0. */
static ct_tensor *one_hot(const ct_tensor *x, const ct_tensor *labels) {
    ct_tensor *ones = ct_ones(x->scalar, labels->rank, labels->shape);
    return ct__then(ones, ones ? ct_place(ones, labels, x->shape[x->rank - 1]) : NULL);
}

/* 0 in the rows that are all -infinity; takes `t`, which may be NULL. */
static ct_tensor *without_low(const ct_tensor *x, ct_tensor *t) {
    if (!t || x->count == 0)
        return t;
    ct_tensor *m = ct_max(x, -1, true);
    ct_tensor *out = m ? ct__replaced(t, m, (double)-INFINITY, 0) : NULL;
    ct_free(m);
    return ct__then(t, out);
}

ct_tensor *ct__cross_entropy_grad(const ct_tensor *x, const ct_tensor *g, const ct_tensor *labels) {
    struct ct__row_call call = {.who = "ct_cross_entropy",
                                .op = CT_OP_cross_entropy_grad,
                                .mask = 1u << (x->rank - 1),
                                .in = {x, g, labels},
                                .kind = {CT__ROW_ITEMS, CT__ROW_ONE, CT__ROW_ONE}};
    ct_rows_fn *kernel = ct__row_kernel(&call);
    if (kernel && g->scalar == x->scalar && ct__same_shape(g, labels) && labels_fit(x, labels))
        return ct__row_op(&call, kernel);
    ct_tensor *chosen = one_hot(x, labels), *p = chosen ? ct_softmax(x, -1) : NULL;
    ct_tensor *gap = p ? ct_sub(p, chosen) : NULL, *weight = gap ? ct_expand_dims(g, -1) : NULL;
    ct_tensor *out = weight ? ct_smul(weight, gap) : NULL;
    ct_free(chosen);
    ct_free(p);
    ct_free(gap);
    ct_free(weight);
    return without_low(x, out);
}
