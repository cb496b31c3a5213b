#include "dual/dual_impl.h"

#include "tensor/fail.h"

#include <string.h>

static double dual_to_double(const ct_scalar *self, const void *item) {
    return self->base->to_double(self->base, item);
}

static bool dual_from_double(const ct_scalar *self, void *item, double value) {
    const ct_scalar *base = self->base;
    return base->from_double(base, item, value) &&
           base->from_double(base, (char *)item + base->size, 0);
}

static int dual_format(const ct_scalar *self, const void *item, char *text, size_t size) {
    const ct_scalar *base = self->base;
    char value[256], tangent[256];
    base->format(base, item, value, sizeof value);
    base->format(base, (const char *)item + base->size, tangent, sizeof tangent);
    size_t length = strlen(value) + strlen(tangent) + 6;
    if (size == 0)
        return (int)length;
    const char *const pieces[] = {"(", value, " + ", tangent, "e)"};
    size_t at = 0;
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        for (const char *c = pieces[i]; *c && at + 1 < size; c++)
            text[at++] = *c;
    text[at] = '\0';
    return (int)length;
}

static bool dual_equal(const ct_scalar *self, const void *a, const void *b) {
    const ct_scalar *base = self->base;
    return base->equal(base, a, b) &&
           base->equal(base, (const char *)a + base->size, (const char *)b + base->size);
}

#define DUAL(text, over, depth, item)                                                              \
    {                                                                                              \
        .name = text, .size = 2 * sizeof(item[1 << ((depth)-1)]), .align = sizeof(item),           \
        .traits = CT_NUMERIC | CT_REAL | CT_ORDERED | CT_DIFFERENTIABLE, .level = depth,           \
        .base = over, .to_double = dual_to_double, .from_double = dual_from_double,                \
        .format = dual_format, .equal = dual_equal, .loop = ct__dual_loop,                         \
        .fold = {ct__dual_sum, ct__dual_max, ct__dual_min}, .matmul = ct__dual_matmul              \
    }

const ct_scalar ct_scalar_dual32 = DUAL("dual32", CT_F32, 1, float);
const ct_scalar ct_scalar_dual64 = DUAL("dual64", CT_F64, 1, double);
const ct_scalar ct_scalar_dual32_2 = DUAL("dual32_2", CT_DUAL32, 2, float);
const ct_scalar ct_scalar_dual64_2 = DUAL("dual64_2", CT_DUAL64, 2, double);

const ct_scalar *ct_dual_of(const ct_scalar *base) {
    static const ct_scalar *const duals[] = {&ct_scalar_dual32, &ct_scalar_dual64,
                                             &ct_scalar_dual32_2, &ct_scalar_dual64_2};
    if (!base) {
        ct__fail_null_operand("ct_dual_of");
        return NULL;
    }
    for (size_t i = 0; i < sizeof duals / sizeof *duals; i++)
        if (duals[i]->base == base)
            return duals[i];
    return ct__fail_null(CT_EDTYPE, "ct_dual_of", "there is no dual type over %s", base->name);
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

static ct_tensor *part(const char *who, const ct_tensor *t, size_t index) {
    if (!t) {
        ct__fail_null_operand(who);
        return NULL;
    }
    const ct_scalar *base = ct_dtype(t)->base;
    if (!base)
        return ct__fail_null(CT_EDTYPE, who, "%s is not a dual type", ct_dtype(t)->name);
    return ct_component(t, base, index * base->size);
}

ct_tensor *ct_dual_value(const ct_tensor *t) {
    return part("ct_dual_value", t, 0);
}

ct_tensor *ct_dual_tangent(const ct_tensor *t) {
    return part("ct_dual_tangent", t, 1);
}
