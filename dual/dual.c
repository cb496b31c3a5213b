#include "dual/dual_impl.h"

#include "tensor/fail.h"

#include <string.h>

static double dual_to_double(const ct_scalar *self, const void *item) {
    return self->base->to_double(self->base, item);
}

static bool dual_from_double(const ct_scalar *self, void *item, double value) {
    const ct_scalar *base = self->base;
    if (!base->from_double(base, item, value))
        return false;
    for (size_t at = base->size; at < self->size; at += base->size)
        base->from_double(base, (char *)item + at, 0);
    return true;
}

/* Text that is cut where it does not fit, and its whole length, as snprintf has it. */
struct text {
    char *p;
    size_t size, length;
};

static void append(struct text *text, const char *piece) {
    for (; *piece; piece++, text->length++)
        if (text->length + 1 < text->size)
            text->p[text->length] = *piece;
}

/* "(1 + 2e)", and of several tangents "(1 + 2e1 + 3e2 + ...)". */
static int dual_format(const ct_scalar *self, const void *item, char *p, size_t size) {
    const ct_scalar *base = self->base;
    int tangents = ct_dual_tangents(self);
    struct text text = {p, size, 0};
    for (int i = 0; i <= tangents; i++) {
        char part[256];
        base->format(base, (const char *)item + (size_t)i * base->size, part, sizeof part);
        append(&text, i == 0 ? "(" : " + ");
        append(&text, part);
        append(&text, i == 0 ? "" : "e");
        append(&text, i == 0 || tangents == 1 ? "" : (const char[]){(char)('0' + i), '\0'});
    }
    append(&text, ")");
    if (size > 0)
        p[text.length < size ? text.length : size - 1] = '\0';
    return (int)text.length;
}

static bool dual_equal(const ct_scalar *self, const void *a, const void *b) {
    const ct_scalar *base = self->base;
    for (size_t at = 0; at < self->size; at += base->size)
        if (!base->equal(base, (const char *)a + at, (const char *)b + at))
            return false;
    return true;
}

/* `items` of the innermost type `item`. A product of several is made by the multiplication of two,
   in the order of the contract: exact where some are zero, to every order. */
#define DUAL(text, over, depth, items, item)                                                       \
    {                                                                                              \
        .name = text, .size = (items) * sizeof(item), .align = sizeof(item),                       \
        .traits = CT_NUMERIC | CT_REAL | CT_ORDERED | CT_DIFFERENTIABLE, .level = depth,           \
        .base = over, .to_double = dual_to_double, .from_double = dual_from_double,                \
        .format = dual_format, .equal = dual_equal, .loop = ct__dual_loop,                         \
        .fold = {[CT_FOLD_SUM] = ct__dual_sum,                                                     \
                 [CT_FOLD_MAX] = ct__dual_max,                                                     \
                 [CT_FOLD_MIN] = ct__dual_min,                                                     \
                 [CT_FOLD_ARGMAX] = ct__dual_argmax,                                               \
                 [CT_FOLD_ARGMIN] = ct__dual_argmin},                                              \
        .matmul = ct__dual_matmul                                                                  \
    }

const ct_scalar ct_scalar_dual32 = DUAL("dual32", CT_F32, 1, 2, float);
const ct_scalar ct_scalar_dual64 = DUAL("dual64", CT_F64, 1, 2, double);
const ct_scalar ct_scalar_dual32_2 = DUAL("dual32_2", CT_DUAL32, 2, 4, float);
const ct_scalar ct_scalar_dual64_2 = DUAL("dual64_2", CT_DUAL64, 2, 4, double);
const ct_scalar ct_scalar_dual32x4 = DUAL("dual32x4", CT_F32, 1, 5, float);
const ct_scalar ct_scalar_dual32x8 = DUAL("dual32x8", CT_F32, 1, 9, float);
const ct_scalar ct_scalar_dual64x4 = DUAL("dual64x4", CT_F64, 1, 5, double);
const ct_scalar ct_scalar_dual64x8 = DUAL("dual64x8", CT_F64, 1, 9, double);

int ct_dual_tangents(const ct_scalar *scalar) {
    return scalar && scalar->base ? (int)(scalar->size / scalar->base->size) - 1 : 0;
}

static const ct_scalar *find_dual(const ct_scalar *base, int tangents) {
    static const ct_scalar *const duals[] = {
        &ct_scalar_dual32,   &ct_scalar_dual64,   &ct_scalar_dual32_2, &ct_scalar_dual64_2,
        &ct_scalar_dual32x4, &ct_scalar_dual32x8, &ct_scalar_dual64x4, &ct_scalar_dual64x8};
    for (size_t i = 0; i < sizeof duals / sizeof *duals; i++)
        if (duals[i]->base == base && ct_dual_tangents(duals[i]) == tangents)
            return duals[i];
    return NULL;
}

const ct_scalar *ct_dual_of(const ct_scalar *base) {
    const char *who = "ct_dual_of";
    if (!base) {
        ct__fail_null_operand(who);
        return NULL;
    }
    const ct_scalar *dual = find_dual(base, 1);
    return dual ? dual : ct__fail_null(CT_EDTYPE, who, "there is no dual type over %s", base->name);
}

static const ct_scalar *wide_of(const char *who, const ct_scalar *base, int tangents) {
    if (!base) {
        ct__fail_null_operand(who);
        return NULL;
    }
    const ct_scalar *dual = find_dual(base, tangents);
    if (dual)
        return dual;
    if (!find_dual(base, 1))
        return ct__fail_null(CT_EDTYPE, who, "there is no dual type over %s", base->name);
    return ct__fail_null(CT_EDTYPE, who, "there is no dual type over %s with %d tangents: %s",
                         base->name, tangents,
                         base->base ? "of a dual there is one with 1" : "there are 1, 4 and 8");
}

const ct_scalar *ct_dual_wide_of(const ct_scalar *base, int tangents) {
    return wide_of("ct_dual_wide_of", base, tangents);
}

ct_tensor *ct_dual(const ct_tensor *value, const ct_tensor *tangent) {
    const ct_tensor *parts[] = {value, tangent};
    if (!value) {
        ct__fail_null_operand("ct_dual");
        return NULL;
    }
    const ct_scalar *scalar = ct_dual_of(ct_dtype(value));
    return scalar ? ct_from_components(scalar, 2, parts) : NULL;
}

ct_tensor *ct_dual_wide(const ct_tensor *value, int n, const ct_tensor *const tangents[]) {
    const char *who = "ct_dual_wide";
    if (!value) {
        ct__fail_null_operand(who);
        return NULL;
    }
    const ct_scalar *scalar = wide_of(who, ct_dtype(value), n);
    if (!scalar)
        return NULL;
    const ct_tensor *parts[1 + CT__MAX_TANGENTS] = {value};
    for (int i = 0; i < n; i++)
        parts[1 + i] = tangents ? tangents[i] : NULL;
    return ct_from_components(scalar, (size_t)n + 1, parts);
}

static const ct_scalar *base_of(const char *who, const ct_tensor *t) {
    if (!t) {
        ct__fail_null_operand(who);
        return NULL;
    }
    const ct_scalar *base = ct_dtype(t)->base;
    return base ? base : ct__fail_null(CT_EDTYPE, who, "%s is not a dual type", ct_dtype(t)->name);
}

ct_tensor *ct_dual_value(const ct_tensor *t) {
    const ct_scalar *base = base_of("ct_dual_value", t);
    return base ? ct_component(t, base, 0) : NULL;
}

ct_tensor *ct_dual_tangent(const ct_tensor *t) {
    const ct_scalar *base = base_of("ct_dual_tangent", t);
    return base ? ct_component(t, base, base->size) : NULL;
}

ct_tensor *ct_dual_tangent_at(const ct_tensor *t, int i) {
    const char *who = "ct_dual_tangent_at";
    const ct_scalar *base = base_of(who, t);
    if (!base)
        return NULL;
    int tangents = ct_dual_tangents(ct_dtype(t));
    if (i < 0 || i >= tangents)
        return ct__fail_null(CT_EINDEX, who, "the tangent %d is out of range: %s has %d", i,
                             ct_dtype(t)->name, tangents);
    return ct_component(t, base, (size_t)(i + 1) * base->size);
}
