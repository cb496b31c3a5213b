#include "tensor/ct_make.h"

#include "tensor/fail.h"
#include "tensor/storage.h"

#include <string.h>

ct_status ct__fail_value(const char *who, const ct_tensor *t, double value) {
    char text[40];
    ct_scalar_f64.format(&ct_scalar_f64, &value, text, sizeof text);
    return ct__fail(CT_EDOMAIN, who, "the value %s does not fit %s", text, t->scalar->name);
}

bool ct__holds(const ct_scalar *scalar, double value) {
    _Alignas(64) char item[256];
    while (scalar->size > sizeof item && scalar->base) // whose value the number would become
        scalar = scalar->base;
    return scalar->size > sizeof item || scalar->from_double(scalar, item, value);
}

// Sets the dense items at `first`; nothing is touched where the value does not fit.
bool ct__fill_items(const ct_scalar *scalar, char *first, size_t count, double value) {
    if (count == 0)
        return true;
    if (!scalar->from_double(scalar, first, value))
        return false;
    int64_t rest = (int64_t)count - 1, still = 0, onward = 1;
    if (rest > 0)
        ct__copy_items(scalar->size, 1, &rest, first, &still, first + scalar->size, &onward);
    return true;
}

ct_status ct__fill_new(const char *who, ct_tensor *t, double value) {
    if (!ct__fill_items(t->scalar, ct__first(t), t->count, value))
        return ct__fail_value(who, t, value);
    return CT_OK;
}

static ct_tensor *filled(const char *who, const ct_scalar *scalar, int rank, const int64_t *shape,
                         double value) {
    ct_tensor *t = ct__empty(who, scalar, rank, shape);
    if (t && ct__fill_new(who, t, value)) {
        ct_free(t);
        return NULL;
    }
    return t;
}

ct_tensor *ct_zeros(const ct_scalar *scalar, int rank, const int64_t *shape) {
    return filled(__func__, scalar, rank, shape, 0);
}

ct_tensor *ct_ones(const ct_scalar *scalar, int rank, const int64_t *shape) {
    return filled(__func__, scalar, rank, shape, 1);
}

ct_tensor *ct_full(const ct_scalar *scalar, int rank, const int64_t *shape, double value) {
    return filled(__func__, scalar, rank, shape, value);
}

ct_tensor *ct_from_double(const ct_scalar *scalar, double value) {
    return filled(__func__, scalar, 0, NULL, value);
}

ct_tensor *ct__empty_for(const char *who, const ct_scalar *scalar, int rank, const int64_t *shape,
                         size_t given, const void *items) {
    size_t count;
    if (ct__check_shape(who, scalar, rank, shape, &count))
        return NULL;
    if (count != given) {
        char text[CT__SHAPE_TEXT_BYTES];
        ct__format_shape(text, sizeof text, rank, shape);
        return ct__fail_null(CT_ESHAPE, who, "a shape of %s holds %zu item%s and %zu %s given",
                             text, count, count == 1 ? "" : "s", given,
                             given == 1 ? "was" : "were");
    }
    if (given > 0 && !items)
        return ct__fail_null(CT_EINVAL, who, "the %zu items are NULL", given);
    return ct__empty(who, scalar, rank, shape);
}

ct_tensor *ct_from_items(const ct_scalar *scalar, int rank, const int64_t *shape, size_t count,
                         const void *items) {
    ct_tensor *t = ct__empty_for(__func__, scalar, rank, shape, count, items);
    if (t && count > 0)
        memcpy(ct__first(t), items, count * scalar->size);
    if (t && scalar->traits & CT_BOOLEAN)
        for (size_t i = 0; i < count; i++)
            ct__first(t)[i] = ct__first(t)[i] != 0;
    return t;
}

// --- like another

static ct_tensor *filled_like(const char *who, const ct_tensor *t, double value) {
    if (!t)
        return ct__null(who);
    ct_tensor *result = filled(who, t->scalar, t->rank, t->shape, value);
    if (result)
        ct__names_like(result, t);
    return result;
}

ct_tensor *ct_zeros_like(const ct_tensor *t) {
    return filled_like(__func__, t, 0);
}

ct_tensor *ct_ones_like(const ct_tensor *t) {
    return filled_like(__func__, t, 1);
}

ct_tensor *ct_full_like(const ct_tensor *t, double value) {
    return filled_like(__func__, t, value);
}
