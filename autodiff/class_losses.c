/* Losses of labelled items: weights of classes, an ignored label, smoothing. */

#include "autodiff/network_impl.h"

#include "tensor/ct_convert.h"
#include "tensor/ct_index.h"
#include "tensor/ct_make.h"
#include "tensor/ct_ops.h"
#include "tensor/ct_reduce.h"
#include "tensor/fail.h"

/* What the labels alone say, as constants of x's tape. */
struct items {
    ct_var label;   /* 0 where ignored */
    ct_var counts;  /* a mask */
    ct_var weight;  /* of each item, 0 where ignored; of x's scalar type */
    ct_var total;   /* its sum */
    ct_var classes; /* the weights of the classes, or null */
};

/* Labels, with 0 in the place of ignored ones, which need not be classes. */
static ct_tensor *safe_labels(const ct_tensor *labels, const ct_tensor *counts) {
    ct_tensor *zero = ct_from_double(ct_dtype(labels), 0);
    ct_tensor *safe = zero ? ct_where(counts, labels, zero) : NULL;
    ct_free(zero);
    return safe;
}

static ct_tensor *counting(const ct_tensor *labels, const struct ct_class_loss *c) {
    if (!c->has_ignored)
        return ct_ones(CT_BOOL, ct_rank(labels), ct_shape(labels));
    ct_tensor *wide = ct_astype(labels, CT_I64); // the ignored one may be beyond the labels' type
    ct_tensor *ignored = wide ? ct_from_i64(CT_I64, c->ignored) : NULL;
    ct_tensor *counts = ignored ? ct_not_equal(wide, ignored) : NULL;
    ct_free(wide);
    ct_free(ignored);
    return counts;
}

static ct_tensor *weights_of(const ct_tensor *x, const ct_tensor *label, const ct_tensor *counts,
                             const struct ct_class_loss *c) {
    const ct_scalar *scalar = ct_dtype(x);
    ct_tensor *each = c->weights ? ct_take(c->weights, 0, label)
                                 : ct_ones(scalar, ct_rank(label), ct_shape(label));
    ct_tensor *lifted = each ? ct_astype(each, scalar) : NULL;
    ct_tensor *zero = ct_from_double(scalar, 0);
    ct_tensor *weight = lifted && zero ? ct_where(counts, lifted, zero) : NULL;
    ct_free(each);
    ct_free(lifted);
    ct_free(zero);
    return weight;
}

static bool fail_here(const char *who, ct_var x) {
    ct__tape_fail_in(who, x.tape, ct_error()->code, "%s", ct_error()->message);
    return false;
}

static bool open_items(const char *who, ct_var x, const ct_tensor *labels,
                       const struct ct_class_loss *c, struct items *items) {
    const ct_tensor *t = ct__operand(x);
    ct_tensor *counts = counting(labels, c);
    ct_tensor *label = counts ? safe_labels(labels, counts) : NULL;
    ct_tensor *weight = label ? weights_of(t, label, counts, c) : NULL;
    ct_tensor *total = weight ? ct_sum(weight, CT_ALL, false) : NULL;
    ct_tensor *classes = total && c->weights ? ct_astype(c->weights, ct_dtype(t)) : NULL;
    bool made = total && (classes || !c->weights);
    if (made)
        *items = (struct items){ct_constant(x.tape, label, NULL), ct_constant(x.tape, counts, NULL),
                                ct_constant(x.tape, weight, NULL), ct_constant(x.tape, total, NULL),
                                classes ? ct_constant(x.tape, classes, NULL) : ct_var_null()};
    else
        fail_here(who, x);
    ct_free(counts), ct_free(label), ct_free(weight), ct_free(total), ct_free(classes);
    return made;
}

static bool shapes_fit(const char *who, ct_var x, const ct_tensor *t, const ct_tensor *labels,
                       const struct ct_class_loss *c) {
    char have[CT__SHAPE_TEXT_BYTES], want[CT__SHAPE_TEXT_BYTES];
    bool fit = ct_rank(t) >= 2 && ct_rank(labels) == ct_rank(t) - 1;
    for (int i = 0; fit && i < ct_rank(labels); i++)
        fit = ct_shape(labels)[i] == ct_shape(t)[i ? i + 1 : 0];
    ct__format_shape(have, sizeof have, ct_rank(t), ct_shape(t));
    ct__format_shape(want, sizeof want, ct_rank(labels), ct_shape(labels));
    if (!fit)
        ct__fail_call(
            who, 1, &x, CT_ESHAPE,
            "a loss does not broadcast: scores are [n, classes, ...] and labels [n, ...]; "
            "given %s and %s",
            have, want);
    else if (c->weights && (ct_rank(c->weights) != 1 || ct_shape(c->weights)[0] != ct_shape(t)[1]))
        ct__fail_call(who, 1, &x, CT_ESHAPE, "the weights need one number for each of %lld classes",
                      (long long)ct_shape(t)[1]);
    else if (!(c->smoothing >= 0 && c->smoothing <= 1))
        ct__fail_call(who, 1, &x, CT_EDOMAIN, "smoothing lies in 0 to 1, and is %g", c->smoothing);
    else
        return true;
    return false;
}

/* Axis 1 moved to the end. */
static ct_var classes_last(ct_var x) {
    int rank = ct_rank(ct__value_of(x)), order[CT_MAX_RANK] = {0};
    for (int i = 1; i < rank; i++)
        order[i] = i + 1 < rank ? i + 1 : 1;
    return ct_var_permute(x, rank, order);
}

/* smoothing / classes times the sum of -w x over the classes. */
static ct_var spread(ct_var x, const struct items *items, double smoothing, ct_var sharp) {
    double classes = (double)ct_extent(ct__value_of(x), -1);
    ct_var weighed = items->classes.tape ? MUL(x, items->classes) : x;
    ct_var sum = NEG(ct_var_sum(weighed, -1, false));
    ct_var share = MUL(sum, ct__constant_like(x, smoothing / classes));
    ct_var rest = MUL(sharp, ct__constant_like(x, 1 - smoothing));
    return ADD(rest, share);
}

static ct_var nll(const char *who, ct_var x, ct_var labels, const struct ct_class_loss *classes,
                  enum ct_reduction reduction) {
    struct ct_class_loss plain = {0};
    const struct ct_class_loss *c = classes ? classes : &plain;
    const ct_tensor *t = ct__operand(x), *l = t ? ct__operand(labels) : NULL;
    struct items items;
    if (!l || !ct__check_reduction(who, x, reduction) || !shapes_fit(who, x, t, l, c) ||
        !open_items(who, x, l, c, &items))
        return ct__null_of(x);
    x = classes_last(x);
    ct_var sharp = NEG(MUL(ct_var_pick(x, items.label), items.weight));
    if (!ct__operand(sharp))
        return ct__null_of(x);
    if (c->smoothing > 0)
        sharp = spread(x, &items, c->smoothing, sharp);
    ct_var each = WHERE(items.counts, sharp, ct__constant_like(x, 0));
    if (reduction != CT_REDUCE_MEAN)
        return ct__gather_items(each, reduction);
    ct_var sum = ct_var_sum(each, CT_ALL, false);
    return DIV(sum, items.total);
}

ct_var ct_var_nll(ct_var x, ct_var labels, const struct ct_class_loss *classes,
                  enum ct_reduction reduction) {
    return nll(__func__, x, labels, classes, reduction);
}

ct_var ct_var_cross_entropy_of(ct_var logits, ct_var labels, const struct ct_class_loss *classes,
                               enum ct_reduction reduction) {
    return nll(__func__, ct_var_log_softmax(logits, 1), labels, classes, reduction);
}
