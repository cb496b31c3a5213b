#include "io/ct_safetensors.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "io/atomic_file.h"
#include "tensor/checked.h"
#include "tensor/fail.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "items are written as they lie in memory: a big-endian machine needs a swap here"
#endif

enum {
    CHUNK_BYTES = 32768, // a whole number of items of every type
    START_BYTES = 8,     // the header's length
    MOST_HEADER = 100000000
};

static const char save_name[] = "ct_safetensors_save";
static const char digest_name[] = "ct_tensors_digest";

// ---- items

/// The format's name of a scalar type, or NULL.
static const char *dtype_name(const ct_scalar *scalar) {
    if (scalar == CT_F32)
        return "F32";
    if (scalar == CT_F64)
        return "F64";
    if (scalar == CT_I32)
        return "I32";
    if (scalar == CT_I64)
        return "I64";
    return scalar == CT_BOOL ? "BOOL" : NULL;
}

static ct_status check_tensors(const char *who, size_t n, const struct ct_named_tensor *tensors) {
    if (n && !tensors)
        return ct__fail_null_operand(who);
    for (size_t i = 0; i < n; i++) {
        if (!tensors[i].tensor)
            return ct__fail_null_operand(who);
        const ct_scalar *scalar = ct_dtype(tensors[i].tensor);
        if (!dtype_name(scalar))
            return ct__fail(
                CT_EDTYPE, who,
                "tensor '%.100s' is of %s; a safetensors file takes f32, f64, i32, i64 and bool",
                tensors[i].name ? tensors[i].name : "", scalar->name);
    }
    return CT_OK;
}

/// All NaNs count as one value, and all true bytes.
static void unify(const ct_scalar *scalar, char *bytes, size_t count) {
    static const uint32_t nan32 = 0x7fc00000;
    static const uint64_t nan64 = 0x7ff8000000000000;
    for (size_t i = 0; scalar == CT_BOOL && i < count; i++)
        bytes[i] = bytes[i] != 0;
    if (scalar != CT_F32 && scalar != CT_F64)
        return;
    for (char *item = bytes, *end = bytes + count; item < end; item += scalar->size) {
        if (scalar == CT_F32) {
            float value;
            memcpy(&value, item, sizeof value);
            if (value != value)
                memcpy(item, &nan32, sizeof nan32);
        } else {
            double value;
            memcpy(&value, item, sizeof value);
            if (value != value)
                memcpy(item, &nan64, sizeof nan64);
        }
    }
}

/// Passes a tensor's items, in row-major order, to the digest and, unless NULL, to the file.
static ct_status put_items(const ct_tensor *tensor, struct ct_sha256 *digest,
                           struct ct__atomic_file *file) {
    ct_tensor *dense = ct_compact(tensor);
    if (!dense)
        return ct_error()->code;
    const char *from = ct_data(dense);
    size_t left = ct_count(dense) * ct_dtype(dense)->size;
    ct_status status = CT_OK;
    while (left > 0 && status == CT_OK) {
        char chunk[CHUNK_BYTES];
        size_t bytes = left < sizeof chunk ? left : sizeof chunk;
        memcpy(chunk, from, bytes);
        unify(ct_dtype(dense), chunk, bytes);
        ct_sha256_update(digest, chunk, bytes);
        if (file)
            status = ct__atomic_write(file, chunk, bytes);
        from += bytes;
        left -= bytes;
    }
    ct_free(dense);
    return status;
}

static ct_status put_tensors(size_t n, const struct ct_named_tensor *tensors, char *hex,
                             struct ct__atomic_file *file) {
    struct ct_sha256 digest;
    ct_sha256_init(&digest);
    for (size_t i = 0; i < n; i++) {
        ct_status status = put_items(tensors[i].tensor, &digest, file);
        if (status != CT_OK)
            return status;
    }
    if (hex)
        ct_sha256_final(&digest, hex);
    return CT_OK;
}

ct_status ct_tensors_digest(size_t n, const struct ct_named_tensor *tensors,
                            char digest[CT_SHA256_TEXT_BYTES]) {
    if (!digest)
        return ct__fail_null_operand(digest_name);
    ct_status status = check_tensors(digest_name, n, tensors);
    return status == CT_OK ? put_tensors(n, tensors, digest, NULL) : status;
}

// ---- header

static ct_status no_memory(void) {
    return ct__fail(CT_ENOMEM, save_name, "no memory for the header");
}

/// A text as JSON, or NULL with an error.
static json_t *new_text(const char *what, const char *text) {
    json_t *value = json_string(text);
    if (value)
        return value;
    json_t *unchecked = json_string_nocheck(text);
    if (unchecked)
        ct__fail(CT_EINVAL, save_name, "%s '%.100s' is not valid UTF-8", what, text);
    else
        no_memory();
    json_decref(unchecked);
    return NULL;
}

/// Adds a member under a name which must be UTF-8 and new; takes the reference to @p value.
static ct_status add_member(json_t *object, const char *what, const char *name, json_t *value) {
    json_t *text = value ? new_text(what, name) : NULL;
    if (!text) {
        json_decref(value);
        return value ? ct_error()->code : no_memory();
    }
    json_decref(text);
    if (json_object_get(object, name)) {
        json_decref(value);
        return ct__fail(CT_EINVAL, save_name, "%s '%.100s' is given twice", what, name);
    }
    return json_object_set_new(object, name, value) == 0 ? CT_OK : no_memory();
}

static ct_status add_metadata(json_t *header, size_t pairs, const char *const *metadata) {
    if (pairs == 0)
        return CT_OK;
    if (!metadata)
        return ct__fail_null_operand(save_name);
    json_t *object = json_object();
    if (!object || json_object_set_new(header, "__metadata__", object) != 0)
        return no_memory();
    for (size_t i = 0; i < 2 * pairs; i += 2) {
        if (!metadata[i] || !metadata[i + 1])
            return ct__fail_null_operand(save_name);
        json_t *value = new_text("the metadata", metadata[i + 1]);
        if (!value)
            return ct_error()->code;
        ct_status status = add_member(object, "the metadata key", metadata[i], value);
        if (status != CT_OK)
            return status;
    }
    return CT_OK;
}

static ct_status add_tensor(json_t *header, const struct ct_named_tensor *named, size_t *offset) {
    if (!named->name)
        return ct__fail_null_operand(save_name);
    if (strcmp(named->name, "__metadata__") == 0)
        return ct__fail(CT_EINVAL, save_name, "no tensor may be named '__metadata__'");
    const ct_tensor *tensor = named->tensor;
    size_t begin = *offset, bytes = ct_count(tensor) * ct_dtype(tensor)->size;
    if (!ct__add_size(begin, bytes, offset) || *offset > INT64_MAX)
        return ct__fail(CT_EOVERFLOW, save_name, "the tensors hold more bytes than a file can");
    json_t *shape = json_array();
    for (int i = 0; shape && i < ct_rank(tensor); i++) {
        if (json_array_append_new(shape, json_integer(ct_shape(tensor)[i])) != 0) {
            json_decref(shape);
            shape = NULL;
        }
    }
    if (!shape)
        return no_memory();
    json_t *entry =
        json_pack("{s:s, s:o, s:[I, I]}", "dtype", dtype_name(ct_dtype(tensor)), "shape", shape,
                  "data_offsets", (json_int_t)begin, (json_int_t)*offset);
    return add_member(header, "the tensor name", named->name, entry);
}

static ct_status fill_header(json_t *header, size_t n, const struct ct_named_tensor *tensors,
                             size_t pairs, const char *const *metadata) {
    if (!header)
        return no_memory();
    ct_status status = add_metadata(header, pairs, metadata);
    size_t offset = 0;
    for (size_t i = 0; i < n && status == CT_OK; i++)
        status = add_tensor(header, &tensors[i], &offset);
    return status;
}

/// The header as text, or NULL with an error.
static char *header_text(size_t n, const struct ct_named_tensor *tensors, size_t pairs,
                         const char *const *metadata) {
    json_t *header = json_object();
    char *text = NULL;
    if (fill_header(header, n, tensors, pairs, metadata) == CT_OK) {
        text = json_dumps(header, JSON_COMPACT | JSON_PRESERVE_ORDER);
        if (!text)
            no_memory();
    }
    json_decref(header);
    return text;
}

/// Its length and the header, padded with spaces so that the items begin at a multiple of 8.
static ct_status put_header(struct ct__atomic_file *file, const char *text) {
    static const char spaces[START_BYTES + 1] = "        ";
    size_t length = strlen(text), padding = (START_BYTES - length % START_BYTES) % START_BYTES;
    uint64_t total = length + padding;
    if (total > MOST_HEADER)
        return ct__fail(CT_EOVERFLOW, save_name, "the header of %llu bytes is over the limit of %d",
                        (unsigned long long)total, MOST_HEADER);
    ct_status status = ct__atomic_write(file, &total, sizeof total);
    if (status == CT_OK)
        status = ct__atomic_write(file, text, length);
    if (status == CT_OK)
        status = ct__atomic_write(file, spaces, padding);
    return status;
}

ct_status ct_safetensors_save(const char *path, size_t n, const struct ct_named_tensor *tensors,
                              size_t pairs, const char *const *metadata, char *digest) {
    ct_status status = check_tensors(save_name, n, tensors);
    if (status != CT_OK)
        return status;
    char *text = header_text(n, tensors, pairs, metadata);
    if (!text)
        return ct_error()->code;
    struct ct__atomic_file *file = ct__atomic_begin(path, save_name);
    status = file ? put_header(file, text) : ct_error()->code;
    free(text);
    char hex[CT_SHA256_TEXT_BYTES];
    if (status == CT_OK)
        status = put_tensors(n, tensors, hex, file);
    if (status != CT_OK) {
        ct__atomic_abandon(file);
        return status;
    }
    status = ct__atomic_commit(file);
    if (status == CT_OK && digest)
        memcpy(digest, hex, sizeof hex);
    return status;
}
