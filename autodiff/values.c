#include "autodiff/values.h"

#include "tensor/fail.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 512 };

/* --- rows: the last axis, or all of a dense tensor --- */

struct rows {
    const ct_tensor *t;
    const char *row;
    size_t left, length;
    ptrdiff_t step; /* in bytes, from item to item */
    bool dense;
    int64_t index[CT_MAX_RANK];
};

static struct rows rows_of(const ct_tensor *t) {
    struct rows r = {.t = t, .row = ct_data(t), .length = ct_count(t), .left = 1};
    int rank = ct_rank(t);
    r.step = (ptrdiff_t)ct_dtype(t)->size;
    r.dense = rank == 0 || r.length == 0 || ct_is_dense(t);
    if (r.dense)
        return r;
    r.left = r.length / (size_t)ct_shape(t)[rank - 1];
    r.length = (size_t)ct_shape(t)[rank - 1];
    r.step *= ct_strides(t)[rank - 1];
    return r;
}

static void next_row(struct rows *r) {
    ptrdiff_t size = (ptrdiff_t)ct_dtype(r->t)->size;
    if (--r->left == 0)
        return;
    for (int i = ct_rank(r->t) - 2; i >= 0; i--) {
        ptrdiff_t step = ct_strides(r->t)[i] * size;
        r->row += step;
        if (++r->index[i] < ct_shape(r->t)[i])
            return;
        r->row -= step * r->index[i];
        r->index[i] = 0;
    }
}

const void *ct__item_at(const ct_tensor *t, size_t k) {
    int64_t distance = 0;
    for (int i = ct_rank(t) - 1; i >= 0; i--) {
        size_t extent = (size_t)ct_shape(t)[i];
        distance += (int64_t)(k % extent) * ct_strides(t)[i];
        k /= extent;
    }
    return (const char *)ct_data(t) + distance * (ptrdiff_t)ct_dtype(t)->size;
}

/* --- what is not finite --- */

/* The place of the first of n parts that is not finite, or n. */
static size_t search_row(const ct_scalar *part, ct_loop_fn *loop, size_t n, const char *row,
                         ptrdiff_t step) {
    unsigned char finite[BLOCK];
    for (size_t at = 0; at < n; at += BLOCK) {
        size_t count = n - at < BLOCK ? n - at : BLOCK;
        char *ptr[] = {(char *)(uintptr_t)row + (ptrdiff_t)at * step, (char *)finite};
        loop(part, CT_OP_isfinite, count, ptr, (const ptrdiff_t[]){step, 1});
        const unsigned char *bad = memchr(finite, 0, count);
        if (bad)
            return at + (size_t)(bad - finite);
    }
    return n;
}

size_t ct_first_not_finite(const ct_tensor *t) {
    if (!t) {
        ct__fail_null_operand(__func__);
        return 0;
    }
    const ct_scalar *scalar = ct_dtype(t), *part = scalar;
    while (part->base)
        part = part->base;
    ct_loop_fn *loop = ct_scalar_loop(part, CT_OP_isfinite);
    size_t parts = scalar->size / part->size, count = ct_count(t), at = 0;
    if (!loop || count == 0)
        return count;
    for (struct rows r = rows_of(t); r.left > 0; next_row(&r), at += r.length) {
        size_t n = r.step == 0 ? 1 : r.length, first = n;
        for (size_t p = 0; p < parts && first > 0; p++)
            first = search_row(part, loop, first, r.row + p * part->size, r.step);
        if (first < n)
            return at + first;
    }
    return count;
}

bool ct__is_troubled(const struct ct__node *node) {
    const ct_tensor *value = node->value;
    return value && ct_dtype(value)->traits & CT_REAL &&
           ct_first_not_finite(value) < ct_count(value);
}

/* --- numbers about a value --- */

/* The sum of the finite items, each divided by `divisor`. */
static double sum_of(const ct_tensor *t, double divisor) {
    const ct_scalar *scalar = ct_dtype(t);
    double sum = 0;
    for (struct rows r = rows_of(t); r.left > 0; next_row(&r))
        for (size_t i = 0; i < r.length; i++) {
            double x = scalar->to_double(scalar, r.row + (ptrdiff_t)i * r.step);
            sum += isfinite(x) ? x / divisor : 0;
        }
    return sum;
}

static void count_item(struct ct__summary *s, double x) {
    s->items++;
    if (!isfinite(x)) {
        s->nans += isnan(x) != 0;
        s->infinities += isinf(x) != 0;
        return;
    }
    bool first = s->items - s->nans - s->infinities == 1;
    s->zeros += x == 0;
    s->least = first || x < s->least ? x : s->least;
    s->most = first || x > s->most ? x : s->most;
}

void ct__summarise(const ct_tensor *t, struct ct__summary *s) {
    const ct_scalar *scalar = ct_dtype(t);
    *s = (struct ct__summary){0};
    if (ct_count(t) == 0)
        return;
    for (struct rows r = rows_of(t); r.left > 0; next_row(&r))
        for (size_t i = 0; i < r.length; i++)
            count_item(s, scalar->to_double(scalar, r.row + (ptrdiff_t)i * r.step));
    double finite = (double)(s->items - s->nans - s->infinities);
    if (finite == 0)
        return;
    s->mean = sum_of(t, 1) / finite;
    if (!isfinite(s->mean))
        s->mean = sum_of(t, finite);
}

double ct__length_of(const ct_tensor *t) {
    const ct_scalar *scalar = ct_dtype(t);
    struct ct__summary s;
    ct__summarise(t, &s);
    if (s.nans > 0)
        return (double)NAN;
    if (s.infinities > 0)
        return (double)INFINITY;
    double largest = s.most > -s.least ? s.most : -s.least, sum = 0;
    if (largest == 0)
        return 0;
    for (struct rows r = rows_of(t); r.left > 0; next_row(&r))
        for (size_t i = 0; i < r.length; i++) {
            double x = scalar->to_double(scalar, r.row + (ptrdiff_t)i * r.step) / largest;
            sum += x * x;
        }
    return largest * sqrt(sum);
}

uint32_t ct__gradient_of(const ct_tape *tape, size_t i) {
    return i < tape->graded ? tape->sweep[i] : CT__NO_NODE;
}
