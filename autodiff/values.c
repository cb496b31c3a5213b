#include "autodiff/values.h"

#include "tensor/alloc.h"
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

/* --- what is not finite --- */

/* Tells of each item whether it is so. */
struct question {
    enum ct_op op;        /* isfinite or isnan */
    unsigned char answer; /* that is looked for */
};

/* The place of the first of n parts that has the answer, or n. */
static size_t search_row(const ct_scalar *part, struct question ask, size_t n, const char *row,
                         ptrdiff_t step) {
    unsigned char answers[BLOCK];
    ct_loop_fn *loop = ct_scalar_loop(part, ask.op);
    for (size_t at = 0; loop && at < n; at += BLOCK) {
        size_t count = n - at < BLOCK ? n - at : BLOCK;
        char *ptr[] = {(char *)(uintptr_t)row + (ptrdiff_t)at * step, (char *)answers};
        loop(part, ask.op, count, ptr, (const ptrdiff_t[]){step, 1});
        const unsigned char *found = memchr(answers, ask.answer, count);
        if (found)
            return at + (size_t)(found - answers);
    }
    return n;
}

/* The first item with a part that has the answer, or the count of items. */
static size_t search(const ct_tensor *t, struct question ask) {
    const ct_scalar *scalar = ct_dtype(t), *part = scalar;
    while (part->base)
        part = part->base;
    size_t parts = scalar->size / part->size, count = ct_count(t), at = 0;
    if (!(scalar->traits & CT_REAL) || count == 0)
        return count;
    for (struct rows r = rows_of(t); r.left > 0; next_row(&r), at += r.length) {
        size_t n = r.step == 0 ? 1 : r.length, first = n;
        for (size_t p = 0; p < parts && first > 0; p++)
            first = search_row(part, ask, first, r.row + p * part->size, r.step);
        if (first < n)
            return at + first;
    }
    return count;
}

size_t ct_first_not_finite(const ct_tensor *t) {
    if (!t) {
        ct__fail_null_operand(__func__);
        return 0;
    }
    return search(t, (struct question){CT_OP_isfinite, 0});
}

bool ct__is_troubled(const struct ct__node *node) {
    return node->value && ct_first_not_finite(node->value) < ct_count(node->value);
}

static bool has_nan(const ct_tensor *t) {
    return search(t, (struct question){CT_OP_isnan, 1}) < ct_count(t);
}

/* --- infinities that are meant --- */

static bool carries_on(const ct_tape *tape, const uint8_t *meant, const struct ct__node *node) {
    const uint32_t *inputs = ct__inputs(tape, node);
    bool some = false;
    for (int k = 0; k < node->inputs; k++)
        some = some || meant[inputs[k]];
    if (!some || !ct__is_troubled(node) || has_nan(node->value))
        return false;
    for (int k = 0; k < node->inputs; k++)
        if (!meant[inputs[k]] && ct__is_troubled(&tape->nodes[inputs[k]]))
            return false;
    return true;
}

bool ct__find_meant(const ct_tape *tape, uint8_t **meant) {
    *meant = NULL;
    for (size_t i = 0; i < tape->length; i++) {
        const struct ct__node *node = &tape->nodes[i];
        bool number = node->kind == CT__NODE_CONSTANT && node->value && ct_rank(node->value) == 0;
        if (number && ct__is_troubled(node) && !has_nan(node->value)) {
            if (!*meant && !(*meant = ct__alloc_zero(tape->length)))
                return false;
            (*meant)[i] = 1;
        } else if (*meant && node->kind == CT__NODE_OP)
            (*meant)[i] = carries_on(tape, *meant, node);
    }
    return true;
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
