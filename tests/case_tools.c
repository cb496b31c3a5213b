#include "case_tools.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

uint64_t draw_bits(struct draw *draw) {
    uint64_t x = draw->state += 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

double draw_between(struct draw *draw, double low, double high) {
    return low + (high - low) * ((double)(draw_bits(draw) >> 11) * 0x1p-53);
}

static double draw_item(struct draw *draw, const ct_scalar *scalar, double low, double high) {
    if (scalar->traits & CT_BOOLEAN)
        return (double)(draw_bits(draw) & 1);
    double value = draw_between(draw, low, high);
    return scalar->traits & CT_INTEGER ? floor(value) : value;
}

ct_tensor *draw_tensor(struct draw *draw, const ct_scalar *scalar, int rank, const int64_t *shape,
                       double low, double high) {
    size_t count = 1;
    for (int i = 0; i < rank; i++)
        count *= (size_t)shape[i];
    double *values = calloc(count + 1, sizeof *values);
    ck_assert_ptr_nonnull(values);
    for (size_t i = 0; i < count; i++)
        values[i] = draw_item(draw, scalar, low, high);
    ct_tensor *t = ct_from_doubles(scalar, rank, shape, count, values);
    free(values);
    ck_assert_msg(t != NULL, "cannot draw a tensor: %s", ct_error()->message);
    return t;
}

/* ---- comparing */

static bool same_number(double x, double y, bool zeros_too) {
    if (isnan(x) || isnan(y))
        return isnan(x) && isnan(y);
    return x == y && (!zeros_too || signbit(x) == signbit(y));
}

/* A dual's items are two, four, ... numbers of the type at its base. */
static const ct_scalar *number_type(const ct_scalar *scalar) {
    while (scalar->base)
        scalar = scalar->base;
    return scalar;
}

static double number_at(const ct_scalar *scalar, const char *item) {
    return scalar->to_double(scalar, item);
}

static bool same(const ct_tensor *a, const ct_tensor *b, bool zeros_too) {
    if (!a || !b || ct_dtype(a) != ct_dtype(b) || ct_rank(a) != ct_rank(b))
        return false;
    for (int i = 0; i < ct_rank(a); i++) {
        if (ct_shape(a)[i] != ct_shape(b)[i])
            return false;
    }
    const ct_scalar *number = number_type(ct_dtype(a));
    size_t bytes = ct_count(a) * ct_dtype(a)->size;
    ct_tensor *x = ct_compact(a), *y = ct_compact(b);
    ck_assert(x && y);
    const char *p = ct_data(x), *q = ct_data(y);
    bool equal = true;
    for (size_t at = 0; at < bytes && equal; at += number->size)
        equal = number->traits & CT_REAL
                    ? same_number(number_at(number, p + at), number_at(number, q + at), zeros_too)
                    : memcmp(p + at, q + at, number->size) == 0;
    ct_free(x);
    ct_free(y);
    return equal;
}

bool same_bits(const ct_tensor *a, const ct_tensor *b) {
    return same(a, b, true);
}

bool same_values(const ct_tensor *a, const ct_tensor *b) {
    return same(a, b, false);
}

/* ---- layouts */

const char *layout_name(enum layout layout) {
    static const char *const names[] = {"transposed", "flipped", "sliced", "repeated"};
    return names[layout];
}

static ct_tensor *lay_transposed(const ct_tensor *t) {
    ct_tensor *turned = ct_transpose(t), *dense = ct_compact(turned), *back = ct_transpose(dense);
    ct_free(turned);
    ct_free(dense);
    return back;
}

static ct_tensor *lay_flipped(const ct_tensor *t) {
    ct_tensor *x = ct_flip(t, 0), *y = ct_flip(x, 1), *dense = ct_compact(y);
    ct_tensor *u = ct_flip(dense, 0), *v = ct_flip(u, 1);
    ct_free(x);
    ct_free(y);
    ct_free(dense);
    ct_free(u);
    return v;
}

/* Spreads the items of the last axis three apart in a larger tensor and slices them out. */
static ct_tensor *lay_sliced(const ct_tensor *t) {
    const ct_scalar *scalar = ct_dtype(t);
    int last = ct_rank(t) - 1;
    int64_t shape[CT_MAX_RANK], columns = ct_extent(t, last);
    memcpy(shape, ct_shape(t), (size_t)ct_rank(t) * sizeof *shape);
    shape[last] = 3 * columns + 2;
    ct_tensor *dense = ct_compact(t), *wide = ct_zeros(scalar, ct_rank(t), shape);
    char *to = ct_data_for_write(wide);
    const char *from = ct_data(dense);
    ck_assert_ptr_nonnull(to);
    size_t rows = columns ? ct_count(t) / (size_t)columns : 0;
    for (size_t r = 0; r < rows; r++) {
        for (int64_t c = 0; c < columns; c++)
            memcpy(to + (r * (size_t)shape[last] + (size_t)(3 * c + 2)) * scalar->size,
                   from + (r * (size_t)columns + (size_t)c) * scalar->size, scalar->size);
    }
    ct_tensor *sliced = ct_slice(wide, last, 2, CT_END, 3);
    ct_free(dense);
    ct_free(wide);
    return sliced;
}

static ct_tensor *lay_repeated(const ct_tensor *t) {
    ct_tensor *row = ct_slice(t, 0, 0, 1, 1), *dense = ct_compact(row);
    ct_tensor *wide = ct_broadcast_to(dense, ct_rank(t), ct_shape(t));
    ct_free(row);
    ct_free(dense);
    return wide;
}

ct_tensor *lay_out(const ct_tensor *t, enum layout layout) {
    ct_tensor *laid = layout == LAYOUT_TRANSPOSED ? lay_transposed(t)
                      : layout == LAYOUT_FLIPPED  ? lay_flipped(t)
                      : layout == LAYOUT_SLICED   ? lay_sliced(t)
                                                  : lay_repeated(t);
    ck_assert_msg(laid != NULL, "%s: %s", layout_name(layout), ct_error()->message);
    return laid;
}

/* ---- expectations */

ct_tensor *tensor_of(int rank, const int64_t *shape, size_t count, const double *values) {
    ct_tensor *t = ct_from_doubles(CT_F64, rank, shape, count, values);
    ck_assert_msg(t != NULL, "%s", ct_error()->message);
    return t;
}

static bool is_close(double x, double expected, double tolerance) {
    if (tolerance == 0 || isnan(x) || isnan(expected) || isinf(x) || isinf(expected))
        return same_number(x, expected, tolerance == 0);
    return fabs(x - expected) <= tolerance * fmax(1, fabs(expected));
}

void expect_items(const char *what, ct_tensor *t, double tolerance, size_t count,
                  const double *expected) {
    ck_assert_msg(t != NULL, "%s: %s", what, ct_error()->message);
    ck_assert_msg(ct_count(t) == count, "%s: %zu items instead of %zu", what, ct_count(t), count);
    double *items = calloc(count + 1, sizeof *items);
    ck_assert_ptr_nonnull(items);
    ck_assert_int_eq(ct_to_doubles(t, count, items), CT_OK);
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(is_close(items[i], expected[i], tolerance),
                      "%s: item %zu is %.17g instead of %.17g", what, i, items[i], expected[i]);
    free(items);
    ct_free(t);
}

void expect_error(ct_status code, const char *text) {
    const struct ct_error_info *error = ct_error();
    ck_assert_msg(error->code == code, "%s instead of %s: %s", ct_status_name(error->code),
                  ct_status_name(code), error->message);
    ck_assert_msg(strstr(error->message, text) != NULL, "'%s' does not contain '%s'",
                  error->message, text);
}
