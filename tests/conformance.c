/* The slots of a scalar type, and what the other parts share. */
#include "conformance.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double values[] = {0,           -0.0,         1,    -1,  2,     -2,    3,    -3,
                                0.5,         -0.5,         0.25, 1.5, -2.5,  7,     0.1,  1.0 / 3,
                                1e-3,        100,          -100, 1e6, 46341, 65536, 1e10, 1e-9,
                                2147483647., -2147483648., QNAN, INF, -INF,  1e30,  -9e18};

bool trial_fault(struct trial *trial, const char *format, ...) {
    va_list arguments;
    if (trial->faults++ == 0) {
        va_start(arguments, format);
        vsnprintf(trial->fault, sizeof trial->fault, format, arguments);
        va_end(arguments);
    }
    return false;
}

bool one_item(const ct_scalar *scalar, enum ct_op op, const void *const in[], void *y) {
    char *ptr[4];
    const ptrdiff_t step[4] = {0};
    int arity = ct_op_arity(op);
    for (int i = 0; i < arity; i++)
        ptr[i] = (char *)(uintptr_t)in[i];
    ptr[arity] = y;
    return ct_scalar_loop(scalar, op)(scalar, op, 1, ptr, step) == 1;
}

bool two_items(const ct_scalar *scalar, enum ct_op op, const void *a, const void *b, void *y) {
    return one_item(scalar, op, (const void *const[]){a, b}, y);
}

static void component(struct trial *trial, const ct_scalar *scalar, char *item) {
    if (scalar->base) {
        for (size_t at = 0; at < scalar->size; at += scalar->base->size)
            component(trial, scalar->base, item + at);
        return;
    }
    /* an even chance for small numbers, of which checked types know what to make */
    uint64_t bits = draw_bits(&trial->draw);
    size_t known = bits & 1 ? 14 : COUNT(values);
    while (!scalar->from_double(scalar, item, values[(bits >> 8) % known]))
        bits = draw_bits(&trial->draw);
    if (bits & 2 || !ct_scalar_has(scalar, CT_OP_div))
        return;
    /* what no double says: a third */
    _Alignas(64) char three[CONFORM_ITEM], third[CONFORM_ITEM];
    scalar->from_double(scalar, three, 3);
    if (two_items(scalar, CT_OP_div, item, three, third))
        memcpy(item, third, scalar->size);
}

void trial_item(struct trial *trial, void *item) {
    component(trial, trial->scalar, item);
}

bool same_item(const ct_scalar *scalar, const void *a, const void *b) {
    if (memcmp(a, b, scalar->size) == 0)
        return true;
    if (!scalar->base)
        return isnan(scalar->to_double(scalar, a)) && isnan(scalar->to_double(scalar, b));
    for (size_t at = 0; at < scalar->size; at += scalar->base->size)
        if (!same_item(scalar->base, (const char *)a + at, (const char *)b + at))
            return false;
    return true;
}

/* --- slots --- */

static bool check_text(struct trial *trial, const void *item, double value) {
    const ct_scalar *s = trial->scalar;
    char text[1024], part[1024], *end;
    _Alignas(64) char back[CONFORM_ITEM];
    int length = s->format(s, item, text, sizeof text);
    if (length <= 0 || strlen(text) != (size_t)length)
        return trial_fault(trial, "format of %g returns %d for \"%s\"", value, length, text);
    for (size_t size = 0; size <= (size_t)length + 1; size++) {
        memset(part, '#', sizeof part);
        if (s->format(s, item, part, size) != length || part[size] != '#')
            return trial_fault(trial, "format of %g in %zu bytes is not snprintf's", value, size);
        if (size > 0 && (strncmp(part, text, size - 1) != 0 || part[size - 1] != '\0'))
            return trial_fault(trial, "format of %g in %zu bytes wrote other text", value, size);
    }
    double read = strtod(text, &end);
    if (*end == '\0' && (!s->from_double(s, back, read) || !s->equal(s, item, back)))
        return trial_fault(trial, "\"%s\" does not read back to %g", text, value);
    return true;
}

static bool check_value(struct trial *trial, double value) {
    const ct_scalar *s = trial->scalar;
    _Alignas(64) char item[CONFORM_ITEM], again[CONFORM_ITEM], kept[CONFORM_ITEM];
    memset(item, 0x5a, sizeof item);
    memcpy(kept, item, sizeof kept);
    if (!s->from_double(s, item, value))
        return memcmp(item, kept, sizeof item) == 0 ||
               trial_fault(trial, "from_double refuses %g and writes", value);
    if (memcmp(item + s->size, kept + s->size, sizeof item - s->size) != 0)
        return trial_fault(trial, "from_double of %g writes past its item", value);
    if (!s->equal(s, item, item))
        return trial_fault(trial, "%g does not equal itself", value);
    double back = s->to_double(s, item);
    if (!s->from_double(s, again, back) || !s->equal(s, item, again))
        return trial_fault(trial, "%g goes to %g and to another item", value, back);
    return check_text(trial, item, value);
}

static bool check_whole_numbers(struct trial *trial) {
    const ct_scalar *s = trial->scalar;
    _Alignas(64) char item[CONFORM_ITEM], other[CONFORM_ITEM];
    if (!s->to_i64 || !s->from_i64)
        return true;
    for (int64_t i = -3; i <= 3; i++) {
        int64_t back = 42;
        bool fits = s->from_double(s, other, (double)i);
        if (s->from_i64(s, item, i) != fits)
            return trial_fault(trial, "from_i64 and from_double of %d differ", (int)i);
        if (fits && (!s->equal(s, item, other) || !s->to_i64(s, item, &back) || back != i))
            return trial_fault(trial, "from_i64 of %d does not go back", (int)i);
    }
    return true;
}

bool conforms_slots(struct trial *trial) {
    const ct_scalar *s = trial->scalar;
    _Alignas(64) char zero[CONFORM_ITEM], one[CONFORM_ITEM];
    if (!s->name || !*s->name || !s->to_double || !s->from_double || !s->format || !s->equal)
        return trial_fault(trial, "a required slot is empty");
    if (s->align == 0 || s->align > 64 || s->align & (s->align - 1) || s->size % s->align ||
        s->size == 0 || s->size >= CONFORM_ITEM)
        return trial_fault(trial, "size %zu and alignment %zu do not go together", s->size,
                           s->align);
    if (!s->from_double(s, zero, 0) || !s->from_double(s, one, 1) || s->equal(s, zero, one) ||
        s->to_double(s, zero) != 0 || s->to_double(s, one) != 1)
        return trial_fault(trial, "0 and 1 are not told apart");
    for (size_t i = 0; i < COUNT(values); i++)
        if (!check_value(trial, values[i]))
            return false;
    return check_whole_numbers(trial);
}

bool conforms(struct trial *trial) {
    if (!conforms_slots(trial))
        return false;
    for (int op = 0; op < CT_OP_COUNT; op++)
        if (ct_op_arity((enum ct_op)op) > 0 && ct_scalar_has(trial->scalar, (enum ct_op)op) &&
            !conforms_op(trial, (enum ct_op)op))
            return false;
    return conforms_folds(trial) && conforms_matmul(trial);
}
