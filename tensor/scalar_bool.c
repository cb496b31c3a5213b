#include "tensor/ct_scalar.h"

#include <stdio.h>

// One byte. We write 0 and 1; in memory that came from outside, all that is not 0 is true.

static bool truth(const void *item) {
    return *(const unsigned char *)item != 0;
}

static double bool_to_double(const ct_scalar *self, const void *item) {
    (void)self;
    return truth(item);
}

static bool bool_from_double(const ct_scalar *self, void *item, double value) {
    (void)self;
    if (value != 0 && value != 1)
        return false;
    *(unsigned char *)item = value != 0;
    return true;
}

static int bool_format(const ct_scalar *self, const void *item, char *text, size_t size) {
    (void)self;
    return snprintf(text, size, "%d", truth(item));
}

static bool bool_equal(const ct_scalar *self, const void *a, const void *b) {
    (void)self;
    return truth(a) == truth(b);
}

const ct_scalar ct_scalar_bool = {
    .name = "bool",
    .size = 1,
    .align = 1,
    .traits = CT_PLAIN | CT_BOOLEAN,
    .to_double = bool_to_double,
    .from_double = bool_from_double,
    .format = bool_format,
    .equal = bool_equal,
};
