#include "golden_json.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "case_tools.h"

const char *golden_cases(void) {
    const char *cases = getenv("CT_CASES");
    return cases ? cases : "../shared/cases";
}

double golden_number(const json_t *value) {
    return json_is_string(value) ? strtod(json_string_value(value), NULL)
                                 : json_number_value(value);
}

static const json_t *items_of(const json_t *object) {
    const json_t *data = json_object_get(object, "data");
    return data ? data : json_object_get(object, "v");
}

static double *numbers_of(const json_t *object, size_t *count) {
    const json_t *items = items_of(object);
    *count = json_array_size(items);
    double *values = calloc(*count + 1, sizeof *values);
    ck_assert_ptr_nonnull(values);
    for (size_t i = 0; i < *count; i++) {
        const json_t *item = json_array_get(items, i);
        values[i] = json_is_boolean(item) ? json_is_true(item) : golden_number(item);
    }
    return values;
}

static int shape_of(const json_t *object, int64_t shape[CT_MAX_RANK]) {
    const json_t *extents = json_object_get(object, "shape");
    size_t rank = json_array_size(extents);
    ck_assert_uint_le(rank, CT_MAX_RANK);
    for (size_t i = 0; i < rank; i++)
        shape[i] = json_integer_value(json_array_get(extents, i));
    return (int)rank;
}

ct_tensor *golden_tensor(const json_t *object) {
    static const ct_scalar *const scalars[] = {CT_F64, CT_F32, CT_I64, CT_BOOL};
    const char *dtype = json_string_value(json_object_get(object, "dtype"));
    const ct_scalar *scalar = dtype ? NULL : CT_F64;
    for (size_t i = 0; dtype && i < COUNT(scalars); i++) {
        if (strcmp(scalars[i]->name, dtype) == 0)
            scalar = scalars[i];
    }
    ck_assert_msg(scalar != NULL, "unknown dtype %s", dtype ? dtype : "");
    int64_t shape[CT_MAX_RANK];
    size_t count;
    int rank = shape_of(object, shape);
    double *values = numbers_of(object, &count);
    ct_tensor *t = ct_from_doubles(scalar, rank, shape, count, values);
    ck_assert_msg(t != NULL, "%s", ct_error()->message);
    free(values);
    return t;
}

/* PyTorch's None: nothing depends on it. */
static void expect_zeros(const char *what, const ct_tensor *t) {
    for (int64_t i = 0; i < (int64_t)ct_count(t); i++) {
        double item;
        ck_assert_int_eq(ct_get_flat(t, i, &item), CT_OK);
        ck_assert_msg(item == 0, "%s: %g instead of 0", what, item);
    }
}

void golden_expect(const char *what, const ct_tensor *t, const json_t *object, double tolerance) {
    int64_t shape[CT_MAX_RANK];
    size_t count;
    ck_assert_msg(t != NULL, "%s: %s", what, ct_error()->message);
    if (json_is_null(object)) {
        expect_zeros(what, t);
        return;
    }
    int rank = shape_of(object, shape);
    ck_assert_msg(ct_rank(t) == rank, "%s: rank %d instead of %d", what, ct_rank(t), rank);
    for (int i = 0; i < rank; i++)
        ck_assert_msg(ct_shape(t)[i] == shape[i], "%s: extent %d of axis %d instead of %d", what,
                      (int)ct_shape(t)[i], i, (int)shape[i]);
    double *values = numbers_of(object, &count);
    expect_items(what, ct_copy(t), tolerance, count, values);
    free(values);
}

int golden_int(const json_t *params, const char *key) {
    const json_t *value = json_object_get(params, key);
    return json_is_boolean(value) ? json_is_true(value) : (int)json_integer_value(value);
}
