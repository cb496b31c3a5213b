/* Sums and matrix products by exact totals: the order of items cannot matter. */

#include "fixed/fixed_impl.h"

#include <string.h>

static int64_t item_at(const char *p, ptrdiff_t at) {
    int64_t x;
    memcpy(&x, p + at, sizeof x);
    return x;
}

/* 2^63 items of 63 bits stay within 126. */
size_t ct__fixed_sum(const ct_scalar *self, const struct ct_fold_job *job) {
    (void)self;
    for (size_t j = 0; j < job->count; j++) {
        const char *x = job->x + (ptrdiff_t)j * job->x_next;
        ct__i128 total = 0;
        int64_t y;
        for (size_t i = 0; i < job->n; i++)
            total += item_at(x, (ptrdiff_t)i * job->x_step);
        if (!ct__fixed_fits(total, &y))
            return j;
        memcpy(job->y + (ptrdiff_t)j * job->y_next, &y, sizeof y);
    }
    return job->count;
}

/* A signed total of products: value = high 2^64 + low, where `low` may take part in a carry. A
   product has 126 bits, so k of them have 126 and those of k. */
struct total {
    ct__i128 high;
    uint64_t low;
};

static struct total dot(const char *a, ptrdiff_t a_step, const char *b, ptrdiff_t b_step,
                        size_t k) {
    struct total t = {0, 0};
    for (size_t i = 0; i < k; i++) {
        ct__i128 product =
            (ct__i128)item_at(a, (ptrdiff_t)i * a_step) * item_at(b, (ptrdiff_t)i * b_step);
        uint64_t low = (uint64_t)product;
        t.low += low;
        t.high += (product >> 64) + (t.low < low);
    }
    return t;
}

/* Rounded once. */
static bool round_total(struct total t, int64_t *y) {
    if (t.high > INT64_MAX / 2 || t.high < INT64_MIN / 2)
        return false;
    return ct__fixed_narrow(t.high * ((ct__i128)1 << 64) + t.low, CT__FIXED_BITS, y);
}

ct_status ct__fixed_matmul(const ct_scalar *self, const struct ct_matmul_job *job) {
    (void)self;
    for (size_t i = 0; i < job->m; i++)
        for (size_t j = 0; j < job->n; j++) {
            int64_t y;
            struct total t = dot(job->a + (ptrdiff_t)i * job->a_row, job->a_col,
                                 job->b + (ptrdiff_t)j * job->b_col, job->b_row, job->k);
            if (!round_total(t, &y))
                return CT_EOVERFLOW;
            memcpy(job->c + (ptrdiff_t)i * job->c_row + (ptrdiff_t)j * job->c_col, &y, sizeof y);
        }
    return CT_OK;
}
