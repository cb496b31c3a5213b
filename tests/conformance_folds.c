/* Reductions and products of a scalar type, against the contract spelled out item by item. */
#include "conformance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 5000 };

static const char *const names[CT_FOLD_COUNT] = {"sum", "max", "min", "prod", "argmax", "argmin"};

static char *at(char *items, const ct_scalar *s, size_t i) {
    return items + i * s->size;
}

/* --- sums and products --- */

/* One block: lanes by index, then l with l + 8, 4, 2, 1. */
static bool block_of(const ct_scalar *s, enum ct_op op, char *items, size_t m, char *y) {
    _Alignas(64) char lane[16][CONFORM_ITEM];
    bool present[16] = {false};
    for (size_t l = 0; l < 16; l++)
        for (size_t i = l; i < m; i += 16, present[l] = true)
            if (!present[l])
                memcpy(lane[l], at(items, s, i), s->size);
            else if (!two_items(s, op, lane[l], at(items, s, i), lane[l]))
                return false;
    for (size_t h = 8; h >= 1; h /= 2)
        for (size_t l = 0; l < h; l++)
            if (present[l + h] && !two_items(s, op, lane[l], lane[l + h], lane[l]))
                return false;
    memcpy(y, lane[0], s->size);
    return true;
}

/* Level by level; the items are used up. */
static bool tree_of(const ct_scalar *s, enum ct_op op, char *items, size_t n, char *y) {
    size_t blocks = 0;
    for (size_t i = 0; i < n; i += 1024)
        if (!block_of(s, op, at(items, s, i), n - i < 1024 ? n - i : 1024, at(items, s, blocks++)))
            return false;
    for (; blocks > 1; blocks = (blocks + 1) / 2)
        for (size_t i = 0; i < blocks; i += 2) {
            char *to = at(items, s, i / 2);
            if (i + 1 == blocks)
                memmove(to, at(items, s, i), s->size);
            else if (!two_items(s, op, at(items, s, i), at(items, s, i + 1), to))
                return false;
        }
    if (n == 0)
        return s->from_double(s, y, op == CT_OP_mul);
    memcpy(y, items, s->size);
    return true;
}

/* --- extremes --- */

static bool beats(double x, double best, bool max) {
    return !isnan(best) && (isnan(x) || (max ? x > best : x < best));
}

static size_t place_of(const ct_scalar *s, char *items, size_t n, bool max) {
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        if (beats(s->to_double(s, at(items, s, i)), s->to_double(s, at(items, s, best)), max))
            best = i;
    return best;
}

static bool extreme_of(const ct_scalar *s, char *items, size_t n, bool max, char *y) {
    enum ct_op op = max ? CT_OP_maximum : CT_OP_minimum;
    if (!ct_scalar_has(s, op)) {
        memcpy(y, at(items, s, place_of(s, items, n, max)), s->size);
        return true;
    }
    memcpy(y, items, s->size);
    for (size_t i = 1; i < n; i++)
        if (!two_items(s, op, y, at(items, s, i), y))
            return false;
    return true;
}

/* --- one job --- */

struct fold_case {
    enum ct_fold fold;
    size_t n, count, bytes; /* bytes of a result */
    ptrdiff_t step;         /* in items */
    char *items, *copy, *results;
};

static bool want(const struct fold_case *f, const ct_scalar *s, const char *x, char *y) {
    for (size_t i = 0; i < f->n; i++)
        memcpy(at(f->copy, s, i), x + (ptrdiff_t)i * f->step * (ptrdiff_t)s->size, s->size);
    bool max = f->fold == CT_FOLD_MAX || f->fold == CT_FOLD_ARGMAX;
    if (f->fold == CT_FOLD_SUM || f->fold == CT_FOLD_PROD)
        return tree_of(s, f->fold == CT_FOLD_SUM ? CT_OP_add : CT_OP_mul, f->copy, f->n, y);
    if (f->fold == CT_FOLD_MAX || f->fold == CT_FOLD_MIN)
        return extreme_of(s, f->copy, f->n, max, y);
    int64_t place = (int64_t)place_of(s, f->copy, f->n, max);
    memcpy(y, &place, sizeof place);
    return true;
}

/* A dual's product and its extremes follow rules of their own for the tangents, which its own suite
   holds them to; the value is that of the base. */
static bool agrees(const struct fold_case *f, const ct_scalar *s, const char *a, const char *b) {
    if (f->bytes != s->size || f->fold >= CT_FOLD_ARGMAX)
        return memcmp(a, b, f->bytes) == 0;
    if (f->fold == CT_FOLD_SUM)
        return same_item(s, a, b);
    while (s->base)
        s = s->base;
    bool extreme = f->fold == CT_FOLD_MAX || f->fold == CT_FOLD_MIN;
    if (extreme && !ct_scalar_has(s, CT_OP_maximum)) /* an order alone does not tell -0 from 0 */
        return s->equal(s, a, b);
    return same_item(s, a, b);
}

static bool check_fold(struct trial *trial, struct fold_case *f) {
    const ct_scalar *s = trial->scalar;
    ptrdiff_t size = (ptrdiff_t)s->size, bytes = (ptrdiff_t)f->bytes;
    char *first = f->items + (f->step < 0 ? -f->step * (ptrdiff_t)f->n * size : 0);
    _Alignas(64) char wanted[CONFORM_ITEM];
    struct ct_fold_job job = {f->n, f->count, first, f->step * size, size, f->results, 2 * bytes};
    memset(f->results, 0x5a, 2 * f->count * f->bytes);
    size_t done = ct_scalar_fold(s, f->fold)(s, &job);
    for (size_t j = 0; j < f->count; j++) {
        char *y = f->results + (ptrdiff_t)j * 2 * bytes;
        bool has = want(f, s, first + (ptrdiff_t)j * size, wanted);
        if (!has && s->fold[f->fold])
            return true; /* an exact total may fit where a partial one does not */
        if (has != (j < done))
            return trial_fault(trial, "%s of %zu items: %zu of %zu done", names[f->fold], f->n,
                               done, f->count);
        if (!has)
            return true;
        if (!agrees(f, s, y, wanted))
            return trial_fault(trial, "%s %zu of %zu items at step %d is another", names[f->fold],
                               j, f->n, (int)f->step);
        if (y[bytes] != 0x5a)
            return trial_fault(trial, "%s writes between its results", names[f->fold]);
    }
    return true;
}

static bool check_folds(struct trial *trial, char *items, char *copy, char *results) {
    static const size_t lengths[] = {100, 1023, 1024, 1025, 2048, 2049};
    static const ptrdiff_t steps[] = {1, 2, -1, 0, -2};
    const ct_scalar *s = trial->scalar;
    for (int fold = 0; fold < CT_FOLD_COUNT; fold++) {
        if (!ct_scalar_fold(s, (enum ct_fold)fold))
            continue;
        for (size_t i = 0; i < 40 + COUNT(lengths); i++) {
            size_t n = i < 40 ? i : lengths[i - 40];
            if (n == 0 && fold != CT_FOLD_SUM && fold != CT_FOLD_PROD)
                continue;
            for (size_t k = 0; k < 2 * n + 8; k++)
                trial_item(trial, at(items, s, k));
            struct fold_case f = {(enum ct_fold)fold,
                                  n,
                                  1 + i % 3,
                                  fold >= CT_FOLD_ARGMAX ? sizeof(int64_t) : s->size,
                                  steps[i % COUNT(steps)],
                                  items,
                                  copy,
                                  results};
            if (!check_fold(trial, &f))
                return false;
        }
    }
    return true;
}

bool conforms_folds(struct trial *trial) {
    size_t bytes = MOST * CONFORM_ITEM;
    char *memory = aligned_alloc(64, 3 * bytes);
    bool good = check_folds(trial, memory, memory + bytes, memory + 2 * bytes);
    free(memory);
    return good;
}

/* --- products --- */

static void small_item(struct trial *trial, const ct_scalar *s, char *item) {
    if (s->base)
        for (size_t i = 0; i < s->size; i += s->base->size)
            small_item(trial, s->base, item + i);
    else
        s->from_double(s, item, (double)(draw_bits(&trial->draw) % 7) - 3);
}

/* Small whole numbers: every type has their products exactly, fused or not. */
static bool check_product(struct trial *trial, struct ct_matmul_job *job, size_t i, size_t j) {
    const ct_scalar *s = trial->scalar;
    _Alignas(64) char sum[CONFORM_ITEM], term[CONFORM_ITEM];
    s->from_double(s, sum, 0);
    for (size_t k = 0; k < job->k; k++) {
        const char *a = job->a + (ptrdiff_t)i * job->a_row + (ptrdiff_t)k * job->a_col;
        const char *b = job->b + (ptrdiff_t)k * job->b_row + (ptrdiff_t)j * job->b_col;
        if (!two_items(s, CT_OP_mul, a, b, term) || !two_items(s, CT_OP_add, sum, term, sum))
            return trial_fault(trial, "small products do not fit");
    }
    const char *found = job->c + (ptrdiff_t)i * job->c_row + (ptrdiff_t)j * job->c_col;
    return same_item(s, found, sum) ||
           trial_fault(trial, "matmul of %zu x %zu x %zu: item %zu, %zu is another", job->m, job->k,
                       job->n, i, j);
}

static bool check_matmul(struct trial *trial, char *a, char *b, char *c) {
    static const struct {
        size_t m, n, k;
        ptrdiff_t a_row, a_col, b_row, b_col; /* in items, from the middle */
    } cases[] = {{1, 1, 1, 1, 1, 1, 1},     {2, 3, 4, 4, 1, 3, 1},    {5, 1, 7, 1, 5, 1, 9},
                 {1, 6, 9, 0, -1, 6, -1},   {3, 2, 300, 1, 3, 2, 1},  {3, 2, 257, 3, 0, 0, 1},
                 {17, 18, 3, -3, 1, 1, 18}, {4, 4, 0, 1, 1, 1, 1},    {40, 3, 2, 2, -1, -3, 2},
                 {2, 300, 2, 2, 1, 300, 1}, {300, 2, 2, 1, 300, 1, 2}};
    const ct_scalar *s = trial->scalar;
    ptrdiff_t size = (ptrdiff_t)s->size;
    for (size_t i = 0; i < MOST; i++) {
        small_item(trial, s, at(a, s, i));
        small_item(trial, s, at(b, s, i));
    }
    for (size_t t = 0; t < COUNT(cases); t++) {
        struct ct_matmul_job job = {cases[t].m,
                                    cases[t].n,
                                    cases[t].k,
                                    at(a, s, MOST / 2),
                                    cases[t].a_row * size,
                                    cases[t].a_col * size,
                                    at(b, s, MOST / 2),
                                    cases[t].b_row * size,
                                    cases[t].b_col * size,
                                    c,
                                    2 * (ptrdiff_t)cases[t].n * size,
                                    2 * size};
        memset(c, 0x5a, 4 * cases[t].m * cases[t].n * s->size);
        ct_status status = ct_scalar_matmul(s)(s, &job);
        if (status)
            return trial_fault(trial, "matmul fails: %d", (int)status);
        for (size_t i = 0; i < job.m; i++)
            for (size_t j = 0; j < job.n; j++)
                if (!check_product(trial, &job, i, j))
                    return false;
        if (c[size] != 0x5a)
            return trial_fault(trial, "matmul writes between its results");
    }
    return true;
}

bool conforms_matmul(struct trial *trial) {
    size_t bytes = MOST * CONFORM_ITEM;
    if (!ct_scalar_matmul(trial->scalar))
        return true;
    char *memory = aligned_alloc(64, 3 * bytes);
    bool good = check_matmul(trial, memory, memory + bytes, memory + 2 * bytes);
    free(memory);
    return good;
}
