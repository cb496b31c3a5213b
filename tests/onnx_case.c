#include "onnx_case.h"

#include <check.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "golden_json.h"

enum { MOST_ITEMS = 64 /* of a list */, LINE_BYTES = 1 << 22 };

/* --- tensors */

static const ct_scalar *scalar_of(const char *dtype) {
    static const ct_scalar *const scalars[] = {CT_F32, CT_F64, CT_I32, CT_I64, CT_BOOL};
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++)
        if (strcmp(scalars[i]->name, dtype) == 0)
            return scalars[i];
    return NULL;
}

/* From items of 64 bits, which no double need hold. */
static ct_tensor *tensor_of_integers(const ct_scalar *scalar, int rank, const int64_t *shape,
                                     const json_t *data) {
    size_t count = json_array_size(data);
    int64_t *items = calloc(count + 1, sizeof *items);
    ck_assert_ptr_nonnull(items);
    for (size_t i = 0; i < count; i++)
        items[i] = json_integer_value(json_array_get(data, i));
    ct_tensor *wide = ct_from_items(CT_I64, rank, shape, count, items);
    ct_tensor *t = wide ? ct_astype(wide, scalar) : NULL;
    ct_free(wide);
    free(items);
    return t;
}

static ct_tensor *tensor_of_numbers(const ct_scalar *scalar, int rank, const int64_t *shape,
                                    const json_t *data) {
    size_t count = json_array_size(data);
    double *items = calloc(count + 1, sizeof *items);
    ck_assert_ptr_nonnull(items);
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(data, i);
        items[i] = json_is_boolean(item) ? json_is_true(item) : golden_number(item);
    }
    ct_tensor *t = ct_from_doubles(scalar, rank, shape, count, items);
    free(items);
    return t;
}

static ct_tensor *read_tensor(const json_t *json, const ct_scalar *scalar) {
    const json_t *extents = json_object_get(json, "shape"), *data = json_object_get(json, "data");
    int64_t shape[CT_MAX_RANK];
    int rank = (int)json_array_size(extents);
    ck_assert_int_le(rank, CT_MAX_RANK);
    for (int i = 0; i < rank; i++)
        shape[i] = json_integer_value(json_array_get(extents, (size_t)i));
    ct_tensor *t = scalar->traits & CT_INTEGER ? tensor_of_integers(scalar, rank, shape, data)
                                               : tensor_of_numbers(scalar, rank, shape, data);
    ck_assert_msg(t != NULL, "%s", ct_error()->message);
    return t;
}

static const json_t *named(const json_t *tensors, const char *name) {
    for (size_t i = 0; i < json_array_size(tensors); i++) {
        const json_t *t = json_array_get(tensors, i);
        if (strcmp(json_string_value(json_object_get(t, "name")), name) == 0)
            return t;
    }
    return NULL;
}

/* Finds the tensors of a list of names; false where one has a type that we lack. */
static bool read_list(const json_t *names, const json_t *tensors, ct_tensor *list[], int *count) {
    *count = (int)json_array_size(names);
    ck_assert_int_le(*count, ONNX_MOST);
    for (int i = 0; i < *count; i++) {
        const json_t *t = named(tensors, json_string_value(json_array_get(names, (size_t)i)));
        if (!t)
            continue;
        const ct_scalar *scalar = scalar_of(json_string_value(json_object_get(t, "dtype")));
        if (!scalar)
            return false;
        list[i] = read_tensor(t, scalar);
    }
    return true;
}

enum onnx_read onnx_case_read(struct onnx_case *c, const json_t *json) {
    *c = (struct onnx_case){.name = json_string_value(json_object_get(json, "test")),
                            .op = json_string_value(json_object_get(json, "op")),
                            .attrs = json_object_get(json, "attrs")};
    if (read_list(json_object_get(json, "node_inputs"), json_object_get(json, "inputs"), c->in,
                  &c->inputs) &&
        read_list(json_object_get(json, "node_outputs"), json_object_get(json, "outputs"),
                  c->wanted, &c->outputs))
        return ONNX_READ;
    onnx_case_free(c);
    return ONNX_TYPE_OUT;
}

void onnx_case_free(struct onnx_case *c) {
    for (int i = 0; i < ONNX_MOST; i++) {
        ct_free(c->in[i]);
        ct_free(c->wanted[i]);
        c->in[i] = c->wanted[i] = NULL;
    }
}

/* --- attributes */

int64_t onnx_int(const struct onnx_case *c, const char *key, int64_t otherwise) {
    const json_t *value = json_object_get(c->attrs, key);
    return value ? json_integer_value(value) : otherwise;
}

double onnx_real(const struct onnx_case *c, const char *key, double otherwise) {
    const json_t *value = json_object_get(c->attrs, key);
    return value ? json_number_value(value) : otherwise;
}

const char *onnx_text(const struct onnx_case *c, const char *key, const char *otherwise) {
    const json_t *value = json_object_get(c->attrs, key);
    return value ? json_string_value(value) : otherwise;
}

int onnx_list(const struct onnx_case *c, const char *key, int input, int64_t *list) {
    const json_t *value = key ? json_object_get(c->attrs, key) : NULL;
    if (value) {
        for (size_t i = 0; i < json_array_size(value); i++)
            list[i] = json_integer_value(json_array_get(value, i));
        return (int)json_array_size(value);
    }
    if (input < 0 || input >= c->inputs || !c->in[input])
        return -1;
    double items[MOST_ITEMS];
    size_t count = ct_count(c->in[input]);
    ck_assert_uint_le(count, MOST_ITEMS);
    ck_assert_int_eq(ct_to_doubles(c->in[input], count, items), CT_OK);
    for (size_t i = 0; i < count; i++)
        list[i] = (int64_t)items[i];
    return (int)count;
}

/* --- files */

static void each_line(const char *path, void (*each)(void *, const json_t *), void *context) {
    gzFile file = gzopen(path, "rb");
    char *line = malloc(LINE_BYTES);
    ck_assert_msg(file && line, "cannot read %s", path);
    while (gzgets(file, line, LINE_BYTES)) {
        json_error_t error;
        json_t *json = json_loads(line, JSON_DECODE_ANY, &error);
        ck_assert_msg(json != NULL, "%s: %s", path, error.text);
        each(context, json);
        json_decref(json);
    }
    free(line);
    gzclose(file);
}

bool onnx_each(void (*each)(void *context, const json_t *json), void *context) {
    char pattern[4096];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/onnx/*.jsonl.gz", golden_cases());
    if (glob(pattern, 0, NULL, &found) != 0)
        return false;
    for (size_t i = 0; i < found.gl_pathc; i++)
        each_line(found.gl_pathv[i], each, context);
    globfree(&found);
    return true;
}
