/* How many items differ from zero. */

#include "tensor/reduce_impl.h"

#include "tensor/alloc.h"
#include "tensor/move.h"

enum {
    MASKS = 1024,
    LONG = 32,        /* items that make a loop worth while */
    SIDE_BY_SIDE = 8, /* counters in a word */
    MOST = 255        /* rows that a counter of one byte takes */
};

// By the type's own comparison of values: for types without the row.
static int64_t unequal(const ct_scalar *scalar, const char *x, ptrdiff_t step, size_t n,
                       const char *zero) {
    int64_t count = 0;
    for (size_t i = 0; i < n; i++, x += step)
        count += !scalar->equal(scalar, x, zero);
    return count;
}

// Bytes that are added a word at a time: none of them overflows.
union bytes {
    unsigned char byte[MASKS];
    uint64_t word[MASKS / SIDE_BY_SIDE];
};

static void count_row(union bytes *counts, const union bytes *mask, size_t n) {
    for (size_t i = 0; i < (n + SIDE_BY_SIDE - 1) / SIDE_BY_SIDE; i++)
        counts->word[i] += mask->word[i];
}

// Results whose items lie further apart than they do: items are read across.
static void count_columns(const ct_scalar *scalar, const struct ct_fold_job *job, char *zero) {
    union bytes mask = {{0}}, few;
    int64_t counts[MASKS];
    ct_loop_fn *differ = ct_scalar_loop(scalar, CT_OP_not_equal);
    const ptrdiff_t step[] = {job->x_next, 0, 1};
    for (size_t j = 0; j < job->count; j += MASKS) {
        size_t n = job->count - j < MASKS ? job->count - j : MASKS;
        char *x = (char *)(uintptr_t)job->x + (ptrdiff_t)j * job->x_next;
        memset(counts, 0, sizeof counts);
        for (size_t i = 0; i < job->n;) {
            size_t end = job->n - i < MOST ? job->n : i + MOST;
            memset(&few, 0, sizeof few);
            for (; i < end; i++, x += job->x_step) {
                char *const ptr[] = {x, zero, (char *)mask.byte};
                differ(scalar, CT_OP_not_equal, n, ptr, step);
                count_row(&few, &mask, n);
            }
            for (size_t k = 0; k < n; k++)
                counts[k] += few.byte[k];
        }
        for (size_t k = 0; k < n; k++)
            memcpy(job->y + (ptrdiff_t)(j + k) * job->y_next, &counts[k], sizeof counts[k]);
    }
}

static ct_status count_rows(void *context, const ct_scalar *scalar, const struct ct_fold_job *job,
                            size_t *done) {
    unsigned char mask[MASKS];
    char *zero = context;
    ct_loop_fn *differ = ct_scalar_loop(scalar, CT_OP_not_equal);
    const ptrdiff_t step[] = {job->x_step, 0, 1};
    bool near = imaxabs(job->x_next) < imaxabs(job->x_step);
    if (differ && job->count >= LONG && (near || job->n < LONG)) {
        count_columns(scalar, job, zero);
        return CT_OK;
    }
    for (*done = 0; *done < job->count; ++*done) {
        char *x = (char *)(uintptr_t)job->x + (ptrdiff_t)*done * job->x_next;
        int64_t count = differ ? 0 : unequal(scalar, x, job->x_step, job->n, zero);
        for (size_t i = 0; i < job->n && differ; i += MASKS) {
            size_t n = job->n - i < MASKS ? job->n - i : MASKS;
            char *const ptr[] = {x + (ptrdiff_t)i * job->x_step, zero, (char *)mask};
            differ(scalar, CT_OP_not_equal, n, ptr, step);
            count += (int64_t)ct__moves()->count(n, mask);
        }
        memcpy(job->y + (ptrdiff_t)*done * job->y_next, &count, sizeof count);
    }
    return CT_OK;
}

static ct_tensor *count(const char *who, const ct_tensor *t, int n, const int *axes,
                        bool keepdims) {
    struct ct__reduction r;
    if (!ct__reduce_start(&r, who, "count", t, n, axes, keepdims))
        return NULL;
    ct_tensor *zero = ct__empty(who, t->scalar, 0, NULL), *result = NULL;
    if (zero && ct__fill_new(who, zero, 0) == CT_OK)
        result = ct__reduced(&r, ct__reduce_result(&r, CT_I64), 0, count_rows, ct__first(zero));
    ct_free(zero);
    return result;
}

ct_tensor *ct_count_nonzero(const ct_tensor *t, int axis, bool keepdims) {
    return count(__func__, t, 1, &axis, keepdims);
}

ct_tensor *ct_count_nonzero_axes(const ct_tensor *t, int n, const int *axes, bool keepdims) {
    return count(__func__, t, n, axes, keepdims);
}
