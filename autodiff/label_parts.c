/* Parts of a node's text: its attributes, and numbers about its value. */

#include "autodiff/label.h"

#include "tensor/ct_factor.h"
#include "tensor/ct_reduce.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- numbers --- */

enum { DIGITS = 4 };

/* Four digits as printf's %g writes them, which would ask the locale for its decimal point. */
static void write_digits(char text[32], double x) {
    char raw[32], digits[DIGITS + 1];
    snprintf(raw, sizeof raw, "%.*e", DIGITS - 1, fabs(x));
    const char *e = strchr(raw, 'e');
    int power = atoi(e + 1), count = DIGITS, at = 0;
    digits[0] = raw[0];
    memcpy(digits + 1, e - (DIGITS - 1), DIGITS - 1);
    while (count > 1 && digits[count - 1] == '0')
        count--;
    bool is_short = power >= -4 && power < DIGITS;
    if (x < 0)
        text[at++] = '-';
    for (int i = is_short && power < 0 ? power : 0; i < count || (is_short && i <= power); i++) {
        if (i == (is_short ? power + 1 : 1))
            text[at++] = '.';
        text[at++] = i >= 0 && i < count ? digits[i] : '0';
    }
    text[at] = '\0';
    if (!is_short)
        snprintf(text + at, 32 - (size_t)at, "e%d", power);
}

void ct__put_short(struct ct__sink *s, double x) {
    enum { EXACT_UP_TO = 10000000 };
    char text[32];
    if (isnan(x))
        ct__put(s, "nan");
    else if (isinf(x))
        ct__put(s, x > 0 ? "inf" : "-inf");
    else if (fabs(x) < EXACT_UP_TO && x == trunc(x))
        ct__put_number(s, (int64_t)x);
    else {
        write_digits(text, x);
        ct__put(s, text);
    }
}

/* A share that is not all is never called so, nor one that is something nothing. */
static void put_share(struct ct__sink *s, enum ct__language language, size_t zeros, size_t all) {
    char text[32];
    double percent = 100 * (double)zeros / (double)all;
    if (percent < 1 || (zeros < all && percent > 99))
        ct__put_text(s, language, percent < 1 ? ", <1% zeros" : ", >99% zeros");
    else {
        snprintf(text, sizeof text, ", %d%% zeros", (int)(percent + 0.5));
        ct__put(s, text);
    }
}

/* --- summaries --- */

static void put_counted(struct ct__sink *s, const char **joint, size_t count, const char *what) {
    if (count == 0)
        return;
    ct__put(s, *joint);
    ct__put_number(s, (int64_t)count);
    ct__put(s, what);
    *joint = ", ";
}

void ct__put_trouble(struct ct__sink *s, const struct ct__summary *v) {
    const char *joint = "";
    if (v->nans + v->infinities == 0) {
        ct__put(s, "a tangent is not finite");
        return;
    }
    if (v->items == 1) {
        ct__put(s, v->nans ? "nan" : "infinite");
        return;
    }
    put_counted(s, &joint, v->nans, " nan");
    put_counted(s, &joint, v->infinities, " infinite");
    ct__put(s, " of ");
    ct__put_number(s, (int64_t)v->items);
}

void ct__put_range(struct ct__sink *s, const struct ct__summary *v) {
    bool alike = v->least == v->most;
    if (alike && v->nans + v->infinities == 0)
        ct__put(s, v->items == 1 ? "= " : "all ");
    ct__put_short(s, v->least);
    if (alike)
        return;
    ct__put(s, " to ");
    ct__put_short(s, v->most);
}

bool ct__put_summary(struct ct__sink *s, enum ct__language language, const struct ct__summary *v,
                     const char *joint) {
    size_t finite = v->items - v->nans - v->infinities;
    if (finite == 0)
        return false;
    ct__put_range(s, v);
    if (v->least == v->most)
        return true;
    ct__put(s, joint);
    ct__put(s, "mean ");
    ct__put_short(s, v->mean);
    if (v->zeros > 0)
        put_share(s, language, v->zeros, v->items);
    return true;
}

/* --- attributes --- */

/* Which fields of an op's attributes are shown, and how. */
enum style {
    NOTHING,
    AXIS,
    AXES,
    FIRST_AXIS,
    ORDER,
    SLICE,
    PLACE,
    WINDOW,
    STEP,
    REDUCTION,
    FUNCTION,
    ORDER_OF_NORM,
    TRANSPOSED,
    TRIANGLE
};

static enum style style_of(enum ct_op op) {
    switch (op) {
    case CT_OP_softmax:
    case CT_OP_log_softmax:
    case CT_OP_softmax_grad:
    case CT_OP_log_softmax_grad:
    case CT_OP_cumsum:
    case CT_OP_cumprod:
    case CT_OP_recurrence:
    case CT_OP_gathered:
    case CT_OP_scattered:
    case CT_OP_taken:
    case CT_OP_added_at:
    case CT_OP_joined:
        return AXIS;
    case CT_OP_layer_norm:
    case CT_OP_layer_norm_grad:
    case CT_OP_layer_norm_parts:
        return FIRST_AXIS;
    case CT_OP_summed:
    case CT_OP_maxed:
    case CT_OP_minned:
    case CT_OP_prod:
    case CT_OP_variance:
    case CT_OP_logsumexp:
        return AXES;
    case CT_OP_permuted:
        return ORDER;
    case CT_OP_sliced:
        return SLICE;
    case CT_OP_padded:
        return PLACE;
    case CT_OP_windowed:
        return WINDOW;
    case CT_OP_folded:
        return STEP;
    case CT_OP_cross_entropy:
    case CT_OP_mean_squared:
        return REDUCTION;
    case CT_OP_dense:
        return FUNCTION;
    case CT_OP_norm:
        return ORDER_OF_NORM;
    case CT_OP_solved:
        return TRANSPOSED;
    case CT_OP_solved_triangular:
        return TRIANGLE;
    default:
        return NOTHING;
    }
}

static void put_pair(struct ct__sink *s, const char *head, int64_t number) {
    ct__put(s, head);
    ct__put_number(s, number);
}

static void put_axes(struct ct__sink *s, const char *head, const struct ct__attr *a) {
    for (int i = 0; i < a->rank; i++)
        put_pair(s, i ? ", " : head, a->shape[i]);
}

/* As Python writes it: axis 1 [2:8:3]. */
static void put_slice(struct ct__sink *s, const struct ct__attr *a) {
    int64_t stop = a->start + (a->count - 1) * a->step + (a->step > 0 ? 1 : -1);
    put_pair(s, "axis ", a->axis);
    put_pair(s, " [", a->count ? a->start : 0);
    ct__put(s, ":");
    if (a->count == 0 || stop >= 0)
        ct__put_number(s, a->count ? stop : 0);
    if (a->step != 1)
        put_pair(s, ":", a->step);
    ct__put(s, "]");
}

static void put_function(struct ct__sink *s, const struct ct__attr *a) {
    enum ct_op op = ct_activation_op(a->activation);
    if (op != CT_OP_COUNT)
        ct__put(s, ct_op_name(op));
}

static void put_triangle(struct ct__sink *s, unsigned flags) {
    ct__put(s, flags & CT_UPPER ? "upper" : "lower");
    ct__put(s, flags & CT_UNIT_DIAGONAL ? ", unit diagonal" : "");
    ct__put(s, flags & CT_TRANSPOSED ? ", transposed" : "");
}

/* All axes, or none: the shape tells. */
static bool is_plain(enum style style, const struct ct__attr *a) {
    switch (style) {
    case AXIS:
        return a->axis == CT_ALL;
    case AXES:
        return a->rank == 0 || a->shape[0] == CT_ALL;
    case REDUCTION:
        return a->reduction == CT_REDUCE_NONE;
    case FUNCTION:
        return a->activation == CT_IDENTITY;
    case TRANSPOSED:
        return a->count == 0;
    default:
        return false;
    }
}

static void put_styled(struct ct__sink *s, enum style style, const struct ct__attr *a) {
    switch (style) {
    case AXIS:
        put_pair(s, "axis ", a->axis);
        break;
    case FIRST_AXIS:
        put_pair(s, "from axis ", a->axis);
        break;
    case AXES:
        put_axes(s, a->rank == 1 ? "axis " : "axes ", a);
        break;
    case ORDER:
        put_axes(s, "axes ", a);
        break;
    case SLICE:
        put_slice(s, a);
        break;
    case PLACE:
        put_pair(s, "axis ", a->axis);
        put_pair(s, " from ", a->start);
        break;
    case WINDOW:
        put_pair(s, "axis ", a->axis);
        put_pair(s, ", ", a->count);
        ct__put(s, " wide");
        break;
    case STEP:
        put_pair(s, "axis ", a->axis);
        break;
    case REDUCTION:
        ct__put(s, a->reduction == CT_REDUCE_MEAN  ? "mean"
                   : a->reduction == CT_REDUCE_SUM ? "sum"
                                                   : "");
        break;
    case FUNCTION:
        put_function(s, a);
        break;
    case ORDER_OF_NORM:
        ct__put(s, "order ");
        ct__put_short(s, a->eps);
        if (!is_plain(AXES, a))
            put_axes(s, a->rank == 1 ? ", axis " : ", axes ", a);
        break;
    case TRANSPOSED:
        ct__put(s, "transposed");
        break;
    case TRIANGLE:
        put_triangle(s, (unsigned)a->count);
        break;
    case NOTHING:
        break;
    }
    bool steps = style == PLACE || style == WINDOW || style == STEP;
    if (steps && a->step != 1)
        put_pair(s, ", step ", a->step);
}

bool ct__put_attribute(struct ct__sink *s, const char *before, const ct_tape *tape,
                       const struct ct__node *node) {
    enum style style = node->kind == CT__NODE_OP && node->attr != CT__NO_NODE
                           ? style_of((enum ct_op)node->op)
                           : NOTHING;
    const struct ct__attr *a = style == NOTHING ? NULL : &tape->attrs[node->attr];
    if (!a || is_plain(style, a))
        return false;
    ct__put(s, before);
    put_styled(s, style, a);
    return true;
}
