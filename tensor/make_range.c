/* Ranges of numbers, and the identity. */

#include "tensor/convert_blocks.h"
#include "tensor/ct_make.h"
#include "tensor/ct_ops.h"
#include "tensor/fail.h"
#include "tensor/storage.h"

#include <inttypes.h>
#include <math.h>

/* A number in a message: the shortest text, whatever the locale. */
struct text {
    char of[40];
};

static struct text text_of(double x) {
    struct text text;
    ct_scalar_f64.format(&ct_scalar_f64, &x, text.of, sizeof text.of);
    return text;
}

/* --- the identity --- */

ct_tensor *ct_eye(const ct_scalar *scalar, int64_t rows, int64_t columns, int64_t diagonal) {
    int64_t shape[] = {rows, columns};
    ct_tensor *t = ct__empty(__func__, scalar, 2, shape);
    if (!t || t->count == 0)
        return t;
    ct_status status = ct__fill_new(__func__, t, 0);
    /* Item (i, i + diagonal) for all i that lie in both ranges; nothing here can overflow. */
    int64_t first = diagonal < 0 ? (diagonal > -rows ? -diagonal : rows) : 0;
    for (int64_t i = first; !status && i < rows && i + diagonal < columns; i++)
        if (!scalar->from_double(
                scalar, ct__first(t) + (size_t)(i * columns + i + diagonal) * scalar->size, 1))
            status = ct__fail_value(__func__, t, 1);
    if (!status)
        return t;
    ct_free(t);
    return NULL;
}

/* --- arange --- */

static bool is_i64(double x) {
    return x >= -0x1p63 && x < 0x1p63 && x == trunc(x);
}

static bool is_range(double start, double stop, double step) {
    return isfinite(start) && isfinite(stop) && isfinite(step) && step != 0;
}

/* ceil((stop - start) / step), exact where all are whole numbers of 64 bits; -1: too many. */
static int64_t count_range(double start, double stop, double step) {
    if (step > 0 ? stop <= start : stop >= start)
        return 0;
    if (is_i64(start) && is_i64(stop) && is_i64(step)) {
        int64_t a = (int64_t)start, b = (int64_t)stop, by = (int64_t)step;
        uint64_t way = by > 0 ? (uint64_t)b - (uint64_t)a : (uint64_t)a - (uint64_t)b;
        uint64_t stride = by > 0 ? (uint64_t)by : -(uint64_t)by;
        uint64_t n = (way - 1) / stride + 1;
        return n > INT64_MAX ? -1 : (int64_t)n;
    }
    double way = stop - start;
    double n = ceil(isfinite(way) ? way / step : stop / step - start / step);
    return n < 0x1p63 ? (int64_t)n : -1;
}

int64_t ct_arange_count(double start, double stop, double step) {
    return is_range(start, stop, step) ? count_range(start, stop, step) : -1;
}

static ct_status fail_item(const char *who, const ct_tensor *t, int64_t i, const char *value) {
    return ct__fail(CT_EDOMAIN, who, "the value %s at index [%" PRId64 "] does not fit %s", value,
                    i, t->scalar->name);
}

static ct_status set_number(const char *who, const ct_tensor *t, int64_t i, double value) {
    const ct_scalar *scalar = t->scalar;
    if (scalar->from_double(scalar, ct__first(t) + (size_t)i * scalar->size, value))
        return CT_OK;
    return fail_item(who, t, i, text_of(value).of);
}

/* Fills in blocks where the type has a way for them; how many items are done. */
static int64_t count_up_blocks(const ct_tensor *t, double start, double step) {
    const ct_scalar *scalar = t->scalar;
    const struct ct__lane *lane = scalar->traits & CT_REAL ? ct__lane_of(scalar) : NULL;
    union ct__numbers block;
    int64_t n = (int64_t)t->count;
    for (int64_t i = 0; lane && i < n; i += CT__CONVERT_BLOCK) {
        size_t count = n - i < CT__CONVERT_BLOCK ? (size_t)(n - i) : CT__CONVERT_BLOCK;
        for (size_t k = 0; k < count; k++)
            block.reals[k] = fma((double)(i + (int64_t)k), step, start);
        size_t good = lane->store_reals[CT_CAST_STRICT](count, &block,
                                                        ct__first(t) + (size_t)i * scalar->size);
        if (good < count)
            return i + (int64_t)good;
    }
    return lane ? n : 0;
}

static ct_status count_up(const char *who, const ct_tensor *t, double start, double step) {
    const ct_scalar *scalar = t->scalar;
    int64_t n = (int64_t)t->count, sum = 0;
    bool whole = scalar->traits & CT_INTEGER && scalar->from_i64 && is_i64(start) && is_i64(step);
    for (int64_t i = count_up_blocks(t, start, step); i < n; i++) {
        ct_status status = CT_OK;
        if (!whole || __builtin_mul_overflow(i, (int64_t)step, &sum) ||
            __builtin_add_overflow(sum, (int64_t)start, &sum))
            status = set_number(who, t, i, fma((double)i, step, start));
        else if (!scalar->from_i64(scalar, ct__first(t) + (size_t)i * scalar->size, sum)) {
            char text[40];
            ct_scalar_i64.format(&ct_scalar_i64, &sum, text, sizeof text);
            status = fail_item(who, t, i, text);
        }
        if (status)
            return status;
    }
    return CT_OK;
}

ct_tensor *ct_arange(const ct_scalar *scalar, double start, double stop, double step) {
    if (!scalar)
        return ct__null(__func__);
    if (!is_range(start, stop, step))
        return ct__fail_null(CT_EDOMAIN, __func__, "there is no range from %s to %s by steps of %s",
                             text_of(start).of, text_of(stop).of, text_of(step).of);
    int64_t n = count_range(start, stop, step);
    if (n < 0)
        return ct__fail_null(CT_EOVERFLOW, __func__,
                             "a range from %s to %s by steps of %s has too many items",
                             text_of(start).of, text_of(stop).of, text_of(step).of);
    ct_tensor *t = ct__empty(__func__, scalar, 1, &n);
    if (t && count_up(__func__, t, start, step)) {
        ct_free(t);
        return NULL;
    }
    return t;
}

/* --- linspace --- */

/* Number i of n, counted from the nearer end. */
static double between(double start, double stop, int64_t i, int64_t n) {
    if (i == 0 || i == n - 1) /* the ends themselves, a zero's sign included */
        return i == 0 ? start : stop;
    double parts = (double)(n - 1), way = stop - start;
    double step = isfinite(way) ? way / parts : stop / parts - start / parts;
    int64_t from_stop = n - 1 - i;
    if (i == from_stop)
        return isfinite(start + stop) ? (start + stop) / 2 : start / 2 + stop / 2;
    return i <= from_stop ? fma((double)i, step, start) : fma((double)-from_stop, step, stop);
}

static ct_tensor *spread(const char *who, const ct_scalar *scalar, double start, double stop,
                         int64_t n) {
    if (!scalar)
        return ct__null(who);
    if (n < 0)
        return ct__fail_null(CT_ESHAPE, who, "the number of items %" PRId64 " is negative", n);
    if (!isfinite(start) || !isfinite(stop))
        return ct__fail_null(CT_EDOMAIN, who, "there are no even steps from %s to %s",
                             text_of(start).of, text_of(stop).of);
    ct_tensor *t = ct__empty(who, scalar, 1, &n);
    for (int64_t i = 0; t && i < n; i++)
        if (set_number(who, t, i, between(start, stop, i, n))) {
            ct_free(t);
            return NULL;
        }
    return t;
}

ct_tensor *ct_linspace(const ct_scalar *scalar, double start, double stop, int64_t n) {
    return spread(__func__, scalar, start, stop, n);
}

ct_tensor *ct_logspace(const ct_scalar *scalar, double start, double stop, int64_t n, double base) {
    if (!scalar)
        return ct__null(__func__);
    if (scalar != CT_F32 && scalar != CT_F64)
        return ct__fail_null(CT_EDTYPE, __func__, "powers are of f32 or f64, not of %s",
                             scalar->name);
    ct_tensor *exponents = spread(__func__, CT_F64, start, stop, n);
    ct_tensor *bases = exponents ? ct_from_double(CT_F64, base) : NULL;
    const ct_tensor *in[] = {bases, exponents};
    ct_tensor *powers = bases ? ct__apply(__func__, CT_OP_pow, 2, in) : NULL;
    ct_tensor *t = powers ? ct__empty(__func__, scalar, 1, &n) : NULL;
    if (t && n > 0 && ct__convert(__func__, powers, scalar, CT_CAST_STRICT, ct__first(t))) {
        ct_free(t);
        t = NULL;
    }
    ct_free(exponents);
    ct_free(bases);
    ct_free(powers);
    return t;
}
