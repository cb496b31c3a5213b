#include "tensor/ct_scalar.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static double i64_to_double(const ct_scalar *self, const void *item) {
    (void)self;
    int64_t x;
    memcpy(&x, item, sizeof x);
    return (double)x;
}

static bool i64_from_double(const ct_scalar *self, void *item, double value) {
    (void)self;
    if (!(value >= -0x1p63 && value < 0x1p63)) // NaN fails as well
        return false;
    int64_t x = (int64_t)value;
    if ((double)x != value)
        return false;
    memcpy(item, &x, sizeof x);
    return true;
}

static int i64_format(const ct_scalar *self, const void *item, char *text, size_t size) {
    (void)self;
    int64_t x;
    memcpy(&x, item, sizeof x);
    return snprintf(text, size, "%" PRId64, x);
}

static bool i64_equal(const ct_scalar *self, const void *a, const void *b) {
    (void)self;
    return memcmp(a, b, sizeof(int64_t)) == 0;
}

const ct_scalar ct_scalar_i64 = {
    .name = "i64",
    .size = sizeof(int64_t),
    .align = _Alignof(int64_t),
    .traits = CT_PLAIN | CT_INTEGER,
    .to_double = i64_to_double,
    .from_double = i64_from_double,
    .format = i64_format,
    .equal = i64_equal,
};
