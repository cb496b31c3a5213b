/* Normalised rows: the composition, which any scalar type runs, and the kernel that has its bits. */

#include "tensor/row_pulls.h"
#include "tensor/tensor_impl.h"

#include "tensor/ct_names.h"
#include "tensor/ct_ops.h"
#include "tensor/ct_reduce.h"
#include "tensor/fail.h"
#include "tensor/row_ops.h"

#include <math.h>

static const char who[] = "ct_layer_norm";

/* The axes of a row: those from `axis` on. */
struct axes {
    int n;
    int list[CT_MAX_RANK];
    unsigned mask;
};

static ct_status find_axes(const ct_tensor *x, int axis, struct axes *axes) {
    if (ct__check_axis(who, x->rank, axis, &axis) != CT_OK)
        return CT_EAXIS;
    *axes = (struct axes){0};
    for (int i = axis; i < x->rank; i++) {
        axes->list[axes->n++] = i;
        axes->mask |= 1u << i;
    }
    return CT_OK;
}

/* The mean of a row, kept. */
static ct_tensor *row_mean(const ct_tensor *t, const struct axes *axes) {
    return t ? ct_mean_axes(t, axes->n, axes->list, true) : NULL;
}

static ct_tensor *less_mean(const ct_tensor *t, const struct axes *axes) {
    ct_tensor *mean = row_mean(t, axes);
    return ct__then(mean, mean ? ct_sub(t, mean) : NULL);
}

/* A row less its mean, in two steps: what the rounded mean leaves has a mean of its own, so that
   items that are all alike have exactly 0 left. Up to 1,024 items that is ct_variance()'s way. */
static ct_tensor *centred(const ct_tensor *x, const struct axes *axes) {
    ct_tensor *gap = less_mean(x, axes);
    return ct__then(gap, gap ? less_mean(gap, axes) : NULL);
}

/* 1 / sqrt(mean(gap^2) + eps) */
static ct_tensor *inverse_spread(const ct_tensor *gap, const struct axes *axes, double eps) {
    ct_tensor *squares = gap ? ct_mul(gap, gap) : NULL, *variance = row_mean(squares, axes);
    ct_tensor *small = variance ? ct_from_double(gap->scalar, eps) : NULL;
    ct_tensor *sum = small ? ct_add(variance, small) : NULL, *out = sum ? ct_rsqrt(sum) : NULL;
    ct_free(squares);
    ct_free(variance);
    ct_free(small);
    ct_free(sum);
    return out;
}

/* The kernel, which wants operands of one type. */
static ct_rows_fn *kernel_of(struct ct__row_call *call) {
    for (int i = 1; i < 3; i++)
        if (call->in[i] && call->in[i]->scalar != call->in[0]->scalar)
            return NULL;
    return ct__row_kernel(call);
}

static ct_tensor *norm(const ct_tensor *x, const struct axes *axes, const ct_tensor *scale,
                       const ct_tensor *shift, double eps) {
    struct ct__row_call call = {.who = who,
                                .op = CT_OP_layer_norm,
                                .mask = axes->mask,
                                .in = {x, scale, shift},
                                .eps = eps};
    ct_rows_fn *kernel = kernel_of(&call);
    if (kernel)
        return ct__row_op(&call, kernel);
    ct_tensor *gap = centred(x, axes), *spread = inverse_spread(gap, axes, eps);
    ct_tensor *out = spread ? ct_mul(gap, spread) : NULL;
    ct_free(gap);
    ct_free(spread);
    if (out && scale)
        out = ct__then(out, ct_mul(out, scale));
    if (out && shift)
        out = ct__then(out, ct_add(out, shift));
    return out;
}

/* A scale or shift in x's shape: *part, or the view *wide, which it then is. */
static bool widened(const ct_tensor **part, const ct_tensor *x, ct_tensor **wide) {
    if (!*part || ct__same_shape(*part, x))
        return true;
    *part = *wide = ct__unnamed(ct_broadcast_to(*part, x->rank, x->shape));
    return *wide != NULL;
}

ct_tensor *ct__layer_norm(const ct_tensor *x, int axis, const ct_tensor *scale,
                          const ct_tensor *shift, double eps) {
    struct axes axes;
    if (find_axes(x, axis, &axes) != CT_OK)
        return NULL;
    if (x->count == 0)
        return ct_copy(x);
    ct_tensor *wide = NULL, *added = NULL, *out = NULL;
    if (widened(&scale, x, &wide) && widened(&shift, x, &added))
        out = norm(x, &axes, scale, shift, eps);
    ct_free(wide);
    ct_free(added);
    return out;
}

/* a - b smul c, freeing b. */
static ct_tensor *less_product(const ct_tensor *a, ct_tensor *b, const ct_tensor *c) {
    ct_tensor *product = b ? ct_smul(b, c) : NULL, *out = product ? ct_sub(a, product) : NULL;
    ct_free(b);
    ct_free(product);
    return out;
}

/* With h = gap spread: spread smul ((g - mean(g)) - mean(g smul h) smul h). */
static ct_tensor *pulled(const ct_tensor *gap, const ct_tensor *spread, const ct_tensor *g,
                         const struct axes *axes) {
    ct_tensor *h = ct_mul(gap, spread), *products = h ? ct_smul(g, h) : NULL;
    ct_tensor *away = products ? less_mean(g, axes) : NULL;
    ct_tensor *mean = away ? row_mean(products, axes) : NULL;
    ct_tensor *left = mean ? less_product(away, mean, h) : NULL;
    ct_tensor *out = left ? ct_smul(spread, left) : NULL;
    ct_free(h);
    ct_free(products);
    ct_free(away);
    ct_free(left);
    return out;
}

ct_tensor *ct__layer_norm_grad(const ct_tensor *x, const ct_tensor *g, int axis, double eps) {
    struct axes axes;
    if (find_axes(x, axis, &axes) != CT_OK)
        return NULL;
    if (x->count == 0)
        return ct_copy(x);
    struct ct__row_call call = {
        .who = who, .op = CT_OP_layer_norm_grad, .mask = axes.mask, .in = {x, g}, .eps = eps};
    ct_rows_fn *kernel = kernel_of(&call);
    if (kernel)
        return ct__row_op(&call, kernel);
    ct_tensor *gap = centred(x, &axes), *spread = inverse_spread(gap, &axes, eps);
    ct_tensor *out = spread ? pulled(gap, spread, g, &axes) : NULL;
    ct_free(gap);
    ct_free(spread);
    return out;
}

// --- the function

ct_status ct__layer_norm_fits(const ct_tensor *x, int axis, const ct_tensor *part) {
    if (ct__check_axis(who, x->rank, axis, &axis) != CT_OK)
        return CT_EAXIS;
    if (part->scalar != x->scalar)
        return ct__fail(CT_EDTYPE, who, "layer_norm of %s takes no scale or shift of %s",
                        x->scalar->name, part->scalar->name);
    int64_t shape[CT_MAX_RANK];
    int rank, own = x->rank - axis;
    bool fits =
        ct__broadcast_fault(own, x->shape + axis, part->rank, part->shape, &rank, shape) < 0;
    if (fits && rank == own && memcmp(shape, x->shape + axis, (size_t)own * sizeof *shape) == 0)
        return CT_OK;
    char a[CT__SHAPE_TEXT_BYTES], b[CT__SHAPE_TEXT_BYTES];
    ct__format_shape(a, sizeof a, part->rank, part->shape);
    ct__format_shape(b, sizeof b, own, x->shape + axis);
    return ct__fail(CT_ESHAPE, who,
                    "a scale or shift of shape %s does not broadcast to the axes %s that are "
                    "normalised",
                    a, b);
}

/* A scale or shift as a nameless view of x's shape. */
static ct_tensor *spread_out(const ct_tensor *x, int axis, const ct_tensor *part) {
    if (ct__layer_norm_fits(x, axis, part) != CT_OK)
        return NULL;
    return ct__unnamed(ct_broadcast_to(part, x->rank, x->shape));
}

static bool is_able(const ct_scalar *scalar) {
    static const enum ct_op ops[] = {CT_OP_add, CT_OP_sub, CT_OP_mul, CT_OP_div, CT_OP_rsqrt};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (!ct_scalar_has(scalar, ops[i]))
            return false;
    return ct_scalar_fold(scalar, CT_FOLD_SUM) != NULL;
}

ct_tensor *ct_layer_norm(const ct_tensor *t, int axis, const ct_tensor *scale,
                         const ct_tensor *shift, double eps) {
    if (!t)
        return ct__null(who);
    if (!is_able(t->scalar))
        return ct__fail_null(CT_EDTYPE, who, "%s has no layer_norm", t->scalar->name);
    if (!(eps >= 0) || isinf(eps) || !ct__holds(t->scalar, eps))
        return ct__fail_null(CT_EDOMAIN, who, "eps must be a number of %s from 0 on, and is %g",
                             t->scalar->name, eps);
    if (ct__check_axis(who, t->rank, axis, &axis) != CT_OK)
        return NULL;
    ct_tensor *wide = scale ? spread_out(t, axis, scale) : NULL, *out = NULL;
    ct_tensor *added = shift && (wide || !scale) ? spread_out(t, axis, shift) : NULL;
    bool good = !scale == !wide && !shift == !added;
    if (good)
        out = ct__layer_norm(t, axis, wide, scale ? added : NULL, eps);
    if (out && shift && !scale)
        out = ct__then(out, ct_add(out, added));
    ct_free(wide);
    ct_free(added);
    return ct__as(who, out);
}
