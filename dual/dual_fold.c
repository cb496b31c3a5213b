/* Reductions and products of dual numbers, by those of the base type on strided components. A checked
   base has none but places, so nothing here falls short. */

#include "dual/dual_impl.h"

#include "tensor/alloc.h"

#include <string.h>

enum { BLOCK = 128, ITEM_BYTES = CT__DUAL_BASE_BYTES };

size_t ct__dual_sum(const ct_scalar *self, const struct ct_fold_job *job) {
    const ct_scalar *base = self->base;
    ct_fold_fn *sum = ct_scalar_fold(base, CT_FOLD_SUM);
    for (size_t at = 0; at < self->size; at += base->size) {
        struct ct_fold_job part = *job;
        part.x += at;
        part.y += at;
        sum(base, &part);
    }
    return job->count;
}

size_t ct__dual_argmax(const ct_scalar *self, const struct ct_fold_job *job) {
    return ct_scalar_fold(self->base, CT_FOLD_ARGMAX)(self->base, job);
}

size_t ct__dual_argmin(const ct_scalar *self, const struct ct_fold_job *job) {
    return ct_scalar_fold(self->base, CT_FOLD_ARGMIN)(self->base, job);
}

/* y = op(a, b) on one item each. */
static void one(const ct_scalar *base, enum ct_op op, const void *a, const void *b, void *y) {
    char *ptr[] = {(char *)(uintptr_t)a, (char *)(uintptr_t)b, y};
    ptrdiff_t step[] = {0, 0, (ptrdiff_t)base->size};
    ct_scalar_loop(base, op)(base, op, 1, ptr, step);
}

/* One row of an extreme: which items are at the extreme (a NaN one: the NaNs). */
struct ties {
    const ct_scalar *base;
    const char *x, *y;
    ptrdiff_t x_step;
    bool nan;
};

static void mark_ties(const struct ties *ties, size_t at, size_t n, unsigned char *mask) {
    char *x = (char *)(uintptr_t)ties->x + (ptrdiff_t)at * ties->x_step;
    char *y = ties->nan ? x : (char *)(uintptr_t)ties->y;
    char *ptr[] = {x, y, (char *)mask};
    ptrdiff_t step[] = {ties->x_step, ties->nan ? ties->x_step : 0, 1};
    enum ct_op op = ties->nan ? CT_OP_not_equal : CT_OP_equal;
    ct_scalar_loop(ties->base, op)(ties->base, op, n, ptr, step);
}

/* sum += the tangents of one component where the mask has ties. */
static void add_chosen(const struct ties *ties, size_t at, size_t n, const unsigned char *mask,
                       size_t component, char *sum) {
    const ct_scalar *base = ties->base;
    _Alignas(64) char chosen[BLOCK * ITEM_BYTES], zero[ITEM_BYTES], part[ITEM_BYTES];
    char *tangent = (char *)(uintptr_t)ties->x + (ptrdiff_t)at * ties->x_step + component;
    char *ptr[] = {(char *)(uintptr_t)mask, tangent, zero, chosen};
    ptrdiff_t size = (ptrdiff_t)base->size, step[] = {1, ties->x_step, 0, size};
    base->from_double(base, zero, 0);
    ct_scalar_loop(base, CT_OP_where)(base, CT_OP_where, n, ptr, step);
    struct ct_fold_job job = {n, 1, chosen, size, 0, part, size};
    ct_scalar_fold(base, CT_FOLD_SUM)(base, &job);
    one(base, CT_OP_add, sum, part, sum);
}

/* The tangents of an extreme, behind its value: the means of those of the items that are tied. */
static void tie_tangents(const struct ties *ties, size_t n, int tangents, char *result) {
    const ct_scalar *base = ties->base;
    _Alignas(64) char sum[CT__MAX_TANGENTS][ITEM_BYTES], count_item[ITEM_BYTES];
    unsigned char mask[BLOCK];
    double count = 0;
    for (int t = 0; t < tangents; t++)
        base->from_double(base, sum[t], 0);
    for (size_t at = 0; at < n; at += BLOCK) {
        size_t items = n - at < BLOCK ? n - at : BLOCK;
        mark_ties(ties, at, items, mask);
        for (size_t i = 0; i < items; i++)
            count += mask[i];
        for (int t = 0; t < tangents; t++)
            add_chosen(ties, at, items, mask, (size_t)(t + 1) * base->size, sum[t]);
    }
    base->from_double(base, count_item, count);
    for (int t = 0; t < tangents; t++)
        one(base, CT_OP_div, sum[t], count_item, result + (size_t)(t + 1) * base->size);
}

static size_t extreme(const ct_scalar *self, const struct ct_fold_job *job, enum ct_fold fold) {
    const ct_scalar *base = self->base;
    ct_scalar_fold(base, fold)(base, job);
    for (size_t j = 0; j < job->count; j++) {
        char *y = job->y + (ptrdiff_t)j * job->y_next;
        unsigned char equal;
        char *ptr[] = {y, y, (char *)&equal};
        ptrdiff_t step[] = {0, 0, 1};
        ct_scalar_loop(base, CT_OP_equal)(base, CT_OP_equal, 1, ptr, step);
        struct ties ties = {base, job->x + (ptrdiff_t)j * job->x_next, y, job->x_step, !equal};
        tie_tangents(&ties, job->n, ct_dual_tangents(self), y);
    }
    return job->count;
}

size_t ct__dual_max(const ct_scalar *self, const struct ct_fold_job *job) {
    return extreme(self, job, CT_FOLD_MAX);
}

size_t ct__dual_min(const ct_scalar *self, const struct ct_fold_job *job) {
    return extreme(self, job, CT_FOLD_MIN);
}

/* c of one component = left + right, two products of the base type into scratch. */
static ct_status two_products(const ct_scalar *base, const struct ct_matmul_job *job,
                              size_t component, char *scratch) {
    struct ct_matmul_job left = *job, right = *job;
    left.a += component;
    right.b += component;
    left.c = scratch;
    right.c = scratch + job->m * job->n * base->size;
    left.c_row = right.c_row = (ptrdiff_t)(job->n * base->size);
    left.c_col = right.c_col = (ptrdiff_t)base->size;
    ct_status status = ct_scalar_matmul(base)(base, &left);
    if (status == CT_OK)
        status = ct_scalar_matmul(base)(base, &right);
    if (status != CT_OK)
        return status;
    for (size_t i = 0; i < job->m; i++) {
        char *ptr[] = {left.c + (ptrdiff_t)i * left.c_row, right.c + (ptrdiff_t)i * right.c_row,
                       job->c + (ptrdiff_t)i * job->c_row + component};
        ptrdiff_t step[] = {left.c_col, right.c_col, job->c_col};
        ct_scalar_loop(base, CT_OP_add)(base, CT_OP_add, job->n, ptr, step);
    }
    return CT_OK;
}

/* (A + A' e)(B + B' e) = A B + (A' B + A B') e: one product of the base type on strided views, and
   two more for each tangent. */
ct_status ct__dual_matmul(const ct_scalar *self, const struct ct_matmul_job *job) {
    const ct_scalar *base = self->base;
    size_t count = job->m * job->n;
    if (count == 0)
        return CT_OK;
    char *scratch = ct__alloc(2 * count * base->size);
    if (!scratch)
        return CT_ENOMEM;
    ct_status status = ct_scalar_matmul(base)(base, job);
    for (size_t at = base->size; at < self->size && status == CT_OK; at += base->size)
        status = two_products(base, job, at, scratch);
    ct__free(scratch);
    return status;
}
