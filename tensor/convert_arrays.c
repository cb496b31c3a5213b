/* Numbers from and to arrays of doubles and of 64-bit integers. */

#include "tensor/alloc.h"
#include "tensor/convert_blocks.h"
#include "tensor/ct_make.h"
#include "tensor/fail.h"
#include "tensor/storage.h"

#include <string.h>

/* --- from arrays --- */

/* A dense tensor over an array, for reading: it lives on the stack and nobody shares it. */
static void stand_over(ct_tensor *t, struct ct__storage *s, const ct_scalar *scalar,
                       const ct_tensor *shape, const void *items) {
    s->data = (char *)(uintptr_t)items; /* never written */
    s->bytes = shape->count * scalar->size;
    s->foreign = true;
    *t = *shape;
    t->scalar = scalar;
    t->storage = s;
}

static ct_tensor *from_array(const char *who, const ct_scalar *scalar, int rank,
                             const int64_t *shape, size_t count, const ct_scalar *given,
                             const void *values) {
    ct_tensor *result = ct__empty_for(who, scalar, rank, shape, count, values);
    if (!result || count == 0)
        return result;
    struct ct__storage s = {0};
    ct_tensor t;
    stand_over(&t, &s, given, result, values);
    if (scalar == given) {
        memcpy(ct__first(result), values, count * scalar->size);
    } else if (ct__convert(who, &t, scalar, CT_CAST_STRICT, ct__first(result))) {
        ct_free(result);
        return NULL;
    }
    return result;
}

ct_tensor *ct_from_doubles(const ct_scalar *scalar, int rank, const int64_t *shape, size_t count,
                           const double *values) {
    return from_array(__func__, scalar, rank, shape, count, CT_F64, values);
}

ct_tensor *ct_from_i64s(const ct_scalar *scalar, int rank, const int64_t *shape, size_t count,
                        const int64_t *values) {
    return from_array(__func__, scalar, rank, shape, count, CT_I64, values);
}

ct_tensor *ct_from_i64(const ct_scalar *scalar, int64_t value) {
    return from_array(__func__, scalar, 0, NULL, 1, CT_I64, &value);
}

/* --- to arrays --- */

static ct_status check_room(const char *who, const ct_tensor *t, size_t count, const void *values) {
    if (!t)
        return ct__fail_null_operand(who);
    if (count != t->count) {
        char shape[CT__SHAPE_TEXT_BYTES];
        ct__format_shape(shape, sizeof shape, t->rank, t->shape);
        return ct__fail(CT_ESHAPE, who, "a shape of %s holds %zu item%s and there is room for %zu",
                        shape, t->count, t->count == 1 ? "" : "s", count);
    }
    if (count > 0 && !values)
        return ct__fail(CT_EINVAL, who, "the place for the values is NULL");
    return CT_OK;
}

/* The values of any type: nothing fails here. */
static void write_doubles(const ct_tensor *t, double *values) {
    const ct_scalar *scalar = t->scalar;
    struct ct__nest nest = ct__rows_of(t, t->strides);
    int row = nest.rank - 1;
    ptrdiff_t size = (ptrdiff_t)scalar->size, step = (ptrdiff_t)nest.step[0][row] * size;
    struct ct__walk walk;
    ct__walk_start(&walk, &nest, row, 0);
    for (const double *end = values + t->count; values < end; ct__walk_next(&walk, &nest, row)) {
        const char *item = ct__first(t) + walk.at[0] * size;
        for (int64_t i = 0; i < nest.shape[row]; i++, item += step)
            *values++ = scalar->to_double(scalar, item);
    }
}

ct_status ct_to_doubles(const ct_tensor *t, size_t count, double *values) {
    ct_status status = check_room(__func__, t, count, values);
    if (status || count == 0)
        return status;
    if (t->scalar == CT_F64)
        ct__copy_out(t, (char *)values);
    else if (ct__lane_of(t->scalar)) /* in blocks: each of their numbers has a double */
        return ct__convert(__func__, t, CT_F64, CT_CAST_STRICT, (char *)values);
    else
        write_doubles(t, values);
    return CT_OK;
}

ct_status ct_to_i64s(const ct_tensor *t, size_t count, int64_t *values) {
    ct_status status = check_room(__func__, t, count, values);
    if (status || count == 0)
        return status;
    if (t->scalar == CT_I64) {
        ct__copy_out(t, (char *)values);
        return CT_OK;
    }
    int64_t *wholes = ct__alloc(count * sizeof *wholes); /* all or nothing */
    if (!wholes)
        return ct__fail(CT_ENOMEM, __func__, "there is no memory for %zu whole numbers", count);
    status = ct__convert(__func__, t, CT_I64, CT_CAST_STRICT, (char *)wholes);
    if (!status)
        memcpy(values, wholes, count * sizeof *wholes);
    ct__free(wholes);
    return status;
}
