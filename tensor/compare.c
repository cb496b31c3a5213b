/* Comparing whole tensors. */

#include "tensor/fail.h"
#include "tensor/tensor_impl.h"

#include <math.h>
#include <string.h>

struct tolerance {
    double relative, absolute;
};

/* Whether a predicate holds for all pairs of a row. */
typedef bool row_test(const ct_tensor *a, const ct_tensor *b, size_t n, const char *x,
                      ptrdiff_t x_step, const char *y, ptrdiff_t y_step,
                      const struct tolerance *tolerance);

static bool all_rows(const ct_tensor *a, const ct_tensor *b, row_test *test,
                     const struct tolerance *tolerance) {
    if (a->count == 0)
        return true;
    struct ct__nest nest = ct__rows_of(a, b->strides);
    int outer = nest.rank - 1;
    ptrdiff_t x_size = (ptrdiff_t)a->scalar->size, y_size = (ptrdiff_t)b->scalar->size;
    size_t n = (size_t)nest.shape[outer], passes = ct__nest_passes(&nest, outer);
    struct ct__walk walk;
    ct__walk_start(&walk, &nest, outer, 0);
    for (size_t i = 0; i < passes; i++, ct__walk_next(&walk, &nest, outer))
        if (!test(a, b, n, ct__first(a) + walk.at[0] * x_size, nest.step[0][outer] * x_size,
                  ct__first(b) + walk.at[1] * y_size, nest.step[1][outer] * y_size, tolerance))
            return false;
    return true;
}

/* --- equal --- */

static bool row_is_equal(const ct_tensor *a, const ct_tensor *b, size_t n, const char *x,
                         ptrdiff_t x_step, const char *y, ptrdiff_t y_step,
                         const struct tolerance *tolerance) {
    (void)b;
    (void)tolerance;
    const ct_scalar *scalar = a->scalar;
    ptrdiff_t size = (ptrdiff_t)scalar->size;
    if (x_step == size && y_step == size && scalar->traits & CT_PLAIN &&
        memcmp(x, y, n * scalar->size) == 0)
        return true; /* equal bytes are equal values; unequal ones may be too (NaN, zeros) */
    for (size_t i = 0; i < n; i++, x += x_step, y += y_step)
        if (!scalar->equal(scalar, x, y))
            return false;
    return true;
}

bool ct_tensor_equal(const ct_tensor *a, const ct_tensor *b) {
    if (!a || !b) {
        ct__fail_null_operand(__func__);
        return false;
    }
    return a->scalar == b->scalar && ct__same_shape(a, b) && all_rows(a, b, row_is_equal, NULL);
}

/* --- close --- */

static bool are_close(double a, double b, const struct tolerance *tolerance) {
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b);
    if (isinf(a) || isinf(b))
        return (a > 0) == (b > 0) && isinf(a) && isinf(b);
    return fabs(a - b) <= tolerance->absolute + tolerance->relative * fabs(b);
}

/* Whole numbers differ exactly, past 2^53 too. */
static bool wholes_are_close(int64_t a, int64_t b, const struct tolerance *tolerance) {
    uint64_t way = a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
    return (double)way <= tolerance->absolute + tolerance->relative * fabs((double)b);
}

static bool numbers_are_close(const ct_scalar *s, const char *x, const ct_scalar *t, const char *y,
                              const struct tolerance *tolerance) {
    int64_t a, b;
    if (s->traits & t->traits & CT_INTEGER && s->to_i64 && t->to_i64 && s->to_i64(s, x, &a) &&
        t->to_i64(t, y, &b))
        return wholes_are_close(a, b, tolerance);
    return are_close(x ? s->to_double(s, x) : 0, y ? t->to_double(t, y) : 0, tolerance);
}

/* Part by part; an item that is NULL is 0. Where one type has parts and the other has none, the
   other has tangents of 0. */
static bool items_are_close(const ct_scalar *s, const char *x, const ct_scalar *t, const char *y,
                            const struct tolerance *tolerance) {
    if (!s->base && !t->base)
        return numbers_are_close(s, x, t, y, tolerance);
    size_t s_parts = s->base ? s->size / s->base->size : 1;
    size_t t_parts = t->base ? t->size / t->base->size : 1;
    const ct_scalar *s_part = s->base ? s->base : s, *t_part = t->base ? t->base : t;
    for (size_t i = 0; i < s_parts || i < t_parts; i++)
        if (!items_are_close(s_part, x && i < s_parts ? x + i * s_part->size : NULL, t_part,
                             y && i < t_parts ? y + i * t_part->size : NULL, tolerance))
            return false;
    return true;
}

static bool row_is_close(const ct_tensor *a, const ct_tensor *b, size_t n, const char *x,
                         ptrdiff_t x_step, const char *y, ptrdiff_t y_step,
                         const struct tolerance *tolerance) {
    for (size_t i = 0; i < n; i++, x += x_step, y += y_step)
        if (!items_are_close(a->scalar, x, b->scalar, y, tolerance))
            return false;
    return true;
}

bool ct_all_close(const ct_tensor *a, const ct_tensor *b, double rtol, double atol) {
    if (!a || !b) {
        ct__fail_null_operand(__func__);
        return false;
    }
    struct tolerance tolerance = {rtol, atol};
    return ct__same_shape(a, b) && all_rows(a, b, row_is_close, &tolerance);
}
