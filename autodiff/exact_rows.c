/* The exact values of structured ops: plain loops in long double, which share nothing with the ops. */

#include "autodiff/exact.h"

#include <math.h>
#include <string.h>

/* --- along axes, to places --- */

/* Where each item of x goes when some axes are gone. */
struct gather {
    int rank;
    const int64_t *shape;
    bool reduced[CT_MAX_RANK];
};

static void mark_axes(const struct ct__exact_call *c, struct gather *g) {
    g->rank = ct_rank(c->in[0]);
    g->shape = ct_shape(c->in[0]);
    memset(g->reduced, 0, sizeof g->reduced);
    for (int i = 0; i < c->attr->rank; i++)
        for (int k = 0; k < g->rank; k++)
            if (c->attr->shape[i] == CT_ALL || k == (c->attr->shape[i] + g->rank) % g->rank)
                g->reduced[k] = true;
}

static size_t place_of(const struct gather *g, size_t item) {
    size_t place = 0, step = 1;
    for (int k = g->rank - 1; k >= 0; k--) {
        size_t extent = (size_t)g->shape[k];
        if (!g->reduced[k]) {
            place += item % extent * step;
            step *= extent;
        }
        item /= extent;
    }
    return place;
}

static long double larger(long double a, long double b) {
    return isnan(a) || isnan(b) ? a + b : a > b ? a : b;
}

static long double joined(const struct ct__exact_call *c, long double sum, long double x) {
    switch (c->op) {
    case CT_OP_prod:
        return sum * x;
    case CT_OP_maxed:
        return larger(sum, x);
    case CT_OP_minned:
        return -larger(-sum, -x);
    default:
        return sum + x;
    }
}

/* y[place] = x op x' op ... */
static void fold(const struct ct__exact_call *c, long double *y) {
    const long double *x = c->x[0];
    struct gather g;
    size_t n = ct_count(c->in[0]);
    long double start = c->op == CT_OP_prod ? 1 : 0;
    mark_axes(c, &g);
    for (size_t i = 0; i < c->count; i++)
        y[i] = n == 0 ? start : (long double)NAN;
    bool *begun = c->marks;
    memset(begun, 0, c->count);
    for (size_t i = 0; i < n; i++) {
        size_t at = place_of(&g, i);
        y[at] = begun[at] ? joined(c, y[at], x[i]) : x[i];
        begun[at] = true;
    }
}

/* The second pass of variance, norm and logsumexp: the sum of a term for each item. */
static void spread(const struct ct__exact_call *c, long double *y) {
    struct gather g;
    size_t n = ct_count(c->in[0]), items = c->count ? n / c->count : 0;
    long double order = (long double)c->attr->eps, *first = c->scratch;
    mark_axes(c, &g);
    struct ct__exact_call largest = *c;
    largest.op = c->op == CT_OP_logsumexp ? CT_OP_maxed : CT_OP_summed;
    fold(&largest, first);
    for (size_t i = 0; i < c->count; i++)
        y[i] = 0;
    for (size_t i = 0; i < n; i++) {
        size_t at = place_of(&g, i);
        long double x = c->x[0][i], gap = x - first[at] / (long double)items;
        y[at] += c->op == CT_OP_variance ? gap * gap
                 : c->op == CT_OP_norm   ? powl(fabsl(x), order)
                                         : expl(x - first[at]);
    }
    long double divisor = (long double)items - (long double)c->attr->count;
    for (size_t i = 0; i < c->count; i++) {
        if (c->op == CT_OP_variance)
            y[i] = divisor > 0 ? y[i] / divisor : (long double)NAN;
        else if (c->op == CT_OP_norm)
            y[i] = powl(y[i], 1 / order);
        else
            y[i] = isinf(first[i]) ? first[i] : first[i] + logl(y[i]);
    }
}

/* --- lines along an axis --- */

/* n items `step` apart, from an offset. */
struct line {
    size_t at, n, step;
};

static long double largest_of(const long double *x, struct line l) {
    long double most = -(long double)INFINITY;
    for (size_t i = 0; i < l.n; i++)
        most = larger(most, x[l.at + i * l.step]);
    return most;
}

/* log of the sum of exponentials less the largest item. */
static long double log_sum(const long double *x, struct line l, long double most) {
    long double sum = 0;
    for (size_t i = 0; i < l.n; i++) {
        long double item = x[l.at + i * l.step];
        sum += item == most ? 1 : expl(item - most);
    }
    return logl(sum);
}

/* At infinities the limit: what is the largest stays, the rest is infinitely below it. */
static long double log_softmax_of(const long double *x, struct line l, size_t item) {
    long double most = largest_of(x, l), value = x[item];
    if (most == -(long double)INFINITY)
        return (long double)NAN;
    return (value == most ? 0 : value - most) - log_sum(x, l, most);
}

/* A product of a derivative: a zero absorbs. */
static long double smul(long double a, long double b) {
    return a == 0 || b == 0 ? 0 : a * b;
}

static void line_values(const struct ct__exact_call *c, struct line l, long double *y) {
    const long double *x = c->x[0], *z = c->x[1], *w = c->x[2];
    long double sum = 0, last = c->op == CT_OP_cumprod;
    for (size_t i = 0; i < l.n; i++) {
        size_t k = l.at + i * l.step;
        if (c->op == CT_OP_softmax_grad)
            sum += smul(z[k], x[k]);
        else if (c->op == CT_OP_log_softmax_grad)
            sum += w[k];
    }
    bool low = c->op == CT_OP_log_softmax_grad && largest_of(x, l) == -(long double)INFINITY;
    for (size_t i = 0; i < l.n; i++) {
        size_t k = l.at + i * l.step;
        switch (c->op) {
        case CT_OP_cumsum:
            y[k] = last = i ? last + x[k] : x[k];
            break;
        case CT_OP_cumprod:
            y[k] = last = last * x[k];
            break;
        case CT_OP_recurrence:
            y[k] = last = i ? x[k] * last + z[k] : z[k];
            break;
        case CT_OP_softmax:
            y[k] = expl(log_softmax_of(x, l, k));
            break;
        case CT_OP_log_softmax:
            y[k] = log_softmax_of(x, l, k);
            break;
        case CT_OP_softmax_grad:
            y[k] = smul(z[k] - sum, x[k]);
            break;
        default: // log_softmax_grad
            y[k] = low ? 0 : w[k] - smul(expl(z[k]), sum);
        }
    }
}

static void along_lines(const struct ct__exact_call *c, long double *y) {
    const int64_t *shape = ct_shape(c->in[0]);
    int rank = ct_rank(c->in[0]), axis = c->attr->axis < 0 ? c->attr->axis + rank : c->attr->axis;
    struct line l = {0, (size_t)shape[axis], 1};
    for (int k = axis + 1; k < rank; k++)
        l.step *= (size_t)shape[k];
    for (size_t i = 0; i < c->count; i++) {
        l.at = i;
        if (i / l.step % l.n == 0)
            line_values(c, l, y);
    }
}

/* --- rows of the last axes --- */

/* Of scale and shift, which reach over the rows; what is not there is neutral. */
static long double factor(const struct ct__exact_call *c, int input, size_t at, int neutral) {
    return c->attr->count > input ? c->x[input][at % ct_count(c->in[input])] : neutral;
}

static void normalise(const struct ct__exact_call *c, size_t at, size_t n, long double *y) {
    const long double *x = c->x[0] + at, *z = c->x[1];
    long double mean = 0, variance = 0, slope = 0, product = 0, size = (long double)n;
    for (size_t i = 0; i < n; i++)
        mean += x[i] / size;
    for (size_t i = 0; i < n; i++)
        variance += (x[i] - mean) * (x[i] - mean) / size;
    long double root = sqrtl(variance + (long double)c->attr->eps);
    bool is_pull = c->op == CT_OP_layer_norm_grad;
    for (size_t i = 0; i < n && is_pull; i++) {
        slope += z[at + i] / size;
        product += z[at + i] * (x[i] - mean) / root / size;
    }
    for (size_t i = 0; i < n; i++) {
        long double centred = (x[i] - mean) / root;
        if (is_pull)
            y[at + i] = (z[at + i] - slope - centred * product) / root;
        else
            y[at + i] = centred * factor(c, 1, at + i, 1) + factor(c, 2, at + i, 0);
    }
}

static void normalise_rows(const struct ct__exact_call *c, long double *y) {
    int rank = ct_rank(c->in[0]), axis = c->attr->axis < 0 ? c->attr->axis + rank : c->attr->axis;
    size_t n = 1;
    for (int k = axis; k < rank; k++)
        n *= (size_t)ct_shape(c->in[0])[k];
    for (size_t at = 0; at < c->count; at += n)
        normalise(c, at, n, y);
}

/* The item k of row j: of rows side by side, or of those of the channels of a batch. */
static size_t item_of(const struct ct__exact_call *c, size_t n, size_t j, size_t k) {
    if (c->op == CT_OP_layer_norm_parts)
        return j * n + k;
    size_t channels = (size_t)ct_shape(c->in[0])[1], batch = (size_t)ct_shape(c->in[0])[0];
    size_t run = n / batch;
    return (k / run * channels + j) * run + k % run;
}

/* What a row's items have in common: their mean, 1 / spread, and means of the cotangent times the scale, alone and
   with the normalised row. */
struct norm_row {
    long double mean, r, slope, product;
};

static long double gain_of(const struct ct__exact_call *c, size_t i, size_t j, size_t k) {
    return smul(c->x[1][i], c->x[2][c->op == CT_OP_layer_norm_parts ? k : j]);
}

static struct norm_row norm_row(const struct ct__exact_call *c, size_t n, size_t j) {
    struct norm_row row = {0};
    long double size = (long double)n, variance = 0;
    for (size_t k = 0; k < n; k++)
        row.mean += c->x[0][item_of(c, n, j, k)];
    row.mean /= size;
    for (size_t k = 0; k < n; k++)
        variance += powl(c->x[0][item_of(c, n, j, k)] - row.mean, 2);
    row.r = 1 / sqrtl(variance / size + (long double)c->attr->eps);
    for (size_t k = 0; k < n && c->op != CT_OP_batch_norm; k++) {
        size_t i = item_of(c, n, j, k);
        long double gain = gain_of(c, i, j, k);
        row.slope += gain / size;
        row.product += smul(gain, (c->x[0][i] - row.mean) * row.r) / size;
    }
    return row;
}

/* Of row j; the gradients of scale and shift, after that of x, are added to. */
static void norm_items(const struct ct__exact_call *c, size_t n, size_t j, long double *y) {
    struct norm_row row = norm_row(c, n, j);
    for (size_t k = 0; k < n; k++) {
        size_t i = item_of(c, n, j, k), l = c->op == CT_OP_layer_norm_parts ? k : j;
        long double h = (c->x[0][i] - row.mean) * row.r;
        if (c->op == CT_OP_batch_norm) {
            y[i] = h * c->x[1][j] + (c->attr->count > 2 ? c->x[2][j] : 0);
            continue;
        }
        long double *of_scale = y + ct_count(c->in[0]), *of_shift = of_scale + ct_count(c->in[2]);
        y[i] = smul(row.r, gain_of(c, i, j, k) - row.slope - smul(row.product, h));
        of_scale[l] += smul(c->x[1][i], h);
        of_shift[l] += c->x[1][i];
    }
}

static void norm_parts(const struct ct__exact_call *c, long double *y) {
    size_t items = ct_count(c->in[0]), scales = ct_count(c->in[c->op == CT_OP_batch_norm ? 1 : 2]);
    for (size_t i = 0; i < c->count; i++)
        y[i] = 0;
    if (items == 0)
        return;
    bool by_item = c->op == CT_OP_layer_norm_parts;
    size_t n = by_item ? scales : items / scales;
    for (size_t j = 0; j < items / n; j++)
        norm_items(c, n, j, y);
}

/* --- losses --- */

static long double gathered(const struct ct__exact_call *c, size_t rows, long double sum) {
    return c->attr->reduction == CT_REDUCE_MEAN ? sum / (long double)rows : sum;
}

static void squared_gaps(const struct ct__exact_call *c, long double *y) {
    size_t n = ct_count(c->in[0]);
    long double sum = 0;
    for (size_t i = 0; i < n; i++) {
        long double gap = c->x[0][i] - c->x[1][i];
        sum += gap * gap;
        if (c->attr->reduction == CT_REDUCE_NONE)
            y[i] = gap * gap;
    }
    if (c->attr->reduction != CT_REDUCE_NONE)
        y[0] = gathered(c, n, sum);
}

static void cross_entropies(const struct ct__exact_call *c, long double *y) {
    size_t classes = (size_t)ct_extent(c->in[0], -1), rows = ct_count(c->in[1]);
    long double sum = 0;
    for (size_t i = 0; i < rows; i++) {
        struct line l = {i * classes, classes, 1};
        long double loss = -log_softmax_of(c->x[0], l, l.at + (size_t)c->x[1][i]);
        sum += loss;
        if (c->attr->reduction == CT_REDUCE_NONE)
            y[i] = loss;
    }
    if (c->attr->reduction != CT_REDUCE_NONE)
        y[0] = gathered(c, rows, sum);
}

static void cross_entropy_pulls(const struct ct__exact_call *c, long double *y) {
    size_t classes = (size_t)ct_extent(c->in[0], -1);
    for (size_t i = 0; i < c->count; i++) {
        size_t row = i / classes;
        struct line l = {row * classes, classes, 1};
        bool low = largest_of(c->x[0], l) == -(long double)INFINITY;
        long double hot = i == l.at + (size_t)c->x[2][row];
        y[i] = low ? 0 : smul(c->x[1][row], expl(log_softmax_of(c->x[0], l, i)) - hot);
    }
}

/* --- products --- */

static long double activated(enum ct_activation activation, long double x) {
    enum ct_op op = ct_activation_op(activation);
    return op == CT_OP_COUNT ? x : ct__exact(op, (const long double[]){x, 0, 0});
}

/* Of matrices, and of stacks of them that are equally many; of a vector of dense one row. */
static void products(const struct ct__exact_call *c, long double *y) {
    bool dense = c->op == CT_OP_dense;
    size_t inner = (size_t)ct_extent(c->in[0], -1), columns = (size_t)ct_extent(c->in[1], -1);
    size_t rows = dense ? SIZE_MAX : (size_t)ct_extent(c->in[0], -2);
    for (size_t i = 0; i < c->count; i++) {
        size_t row = i / columns, column = i % columns, matrix = dense ? 0 : row / rows;
        long double sum = 0;
        for (size_t k = 0; k < inner; k++)
            sum += c->x[0][row * inner + k] * c->x[1][(matrix * inner + k) * columns + column];
        y[i] = dense ? activated(c->attr->activation, sum + c->x[2][column]) : sum;
    }
}

/* --- which has which --- */

bool ct__exact_rows(const struct ct__exact_call *c, long double *y) {
    switch (c->op) {
    case CT_OP_summed:
    case CT_OP_prod:
    case CT_OP_maxed:
    case CT_OP_minned:
        fold(c, y);
        return true;
    case CT_OP_variance:
    case CT_OP_norm:
    case CT_OP_logsumexp:
        spread(c, y);
        return true;
    case CT_OP_cumsum:
    case CT_OP_cumprod:
    case CT_OP_recurrence:
    case CT_OP_softmax:
    case CT_OP_log_softmax:
    case CT_OP_softmax_grad:
    case CT_OP_log_softmax_grad:
        along_lines(c, y);
        return true;
    case CT_OP_layer_norm:
    case CT_OP_layer_norm_grad:
        normalise_rows(c, y);
        return true;
    case CT_OP_layer_norm_parts:
    case CT_OP_batch_norm:
    case CT_OP_batch_norm_parts:
        norm_parts(c, y);
        return true;
    case CT_OP_mean_squared:
        squared_gaps(c, y);
        return true;
    case CT_OP_cross_entropy:
        cross_entropies(c, y);
        return true;
    case CT_OP_cross_entropy_grad:
        cross_entropy_pulls(c, y);
        return true;
    case CT_OP_matmul:
    case CT_OP_dense:
        products(c, y);
        return true;
    default:
        return false;
    }
}
