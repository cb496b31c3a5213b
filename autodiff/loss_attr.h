/* How losses gather their items. */
#ifndef CT_LOSS_ATTR_H
#define CT_LOSS_ATTR_H

#include "autodiff/pull_words.h"
#include "tensor/ct_reduce.h"

/* Records a loss of two arguments. */
static inline ct_var ct__record_loss(enum ct_op op, ct_var x, ct_var target,
                                     enum ct_reduction reduction) {
    const ct_var in[] = {x, target};
    struct ct__attr attr = {.reduction = reduction};
    if (reduction != CT_REDUCE_MEAN && reduction != CT_REDUCE_SUM && reduction != CT_REDUCE_NONE)
        return ct__tape_fail(x.tape, CT_EINVAL, "%s: there is no reduction %d", ct_op_name(op),
                             (int)reduction);
    return ct__record(op, 2, in, &attr);
}

/* The sum or the mean of all items, or the items themselves; takes `items`, NULL included. The mean
   of nothing is NaN, as 0 / 0 is. */
static inline ct_tensor *ct__gather_loss(ct_tensor *items, enum ct_reduction reduction) {
    if (!items || reduction == CT_REDUCE_NONE)
        return items;
    ct_tensor *sum = ct_sum(items, CT_ALL, false), *mean = NULL;
    if (reduction == CT_REDUCE_MEAN) {
        ct_tensor *count = ct_from_double(ct_dtype(items), (double)ct_count(items));
        if (sum && count)
            mean = ct_apply(CT_OP_div, 2, (const ct_tensor *[]){sum, count});
        ct_free(sum);
        ct_free(count);
    }
    ct_free(items);
    return reduction == CT_REDUCE_MEAN ? mean : sum;
}

/* The cotangent of each of `count` items, or of all of them alike, as a rank-0 variable. */
static inline ct_var ct__item_cotangent(const struct ct__pull *P, size_t count) {
    if (P->attr->reduction != CT_REDUCE_MEAN)
        return P->g;
    return DIV(P->g, K((double)count));
}

#endif
