#include "io/ct_safetensors.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tensor/alloc.h"
#include "tensor/checked.h"
#include "tensor/fail.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "items are read as they lie in memory: a big-endian machine needs a swap here"
#endif

enum {
    START_BYTES = 8,         // the header's length
    MOST_HEADER = 100000000, // as the format's own library has it
    MOST_DEPTH = 3,          // an object of objects with arrays
    TEXT_BYTES = 100,        // of a path or a name in a message
    CHUNK_ITEMS = 4096       // of a type that is converted
};

static const char load_name[] = "ct_safetensors_load";

/// A type of the format. Those without a scalar type here are understood and not read.
struct dtype {
    const char *name;
    size_t bytes;
    const ct_scalar *scalar;
};

// clang-format off
static const struct dtype dtypes[] = {
    {"F64", 8, CT_F64},  {"F32", 4, CT_F32},    {"F16", 2, CT_F32},     {"BF16", 2, CT_F32},
    {"I64", 8, CT_I64},  {"BOOL", 1, CT_BOOL},  {"I32", 4, CT_I32},     {"I16", 2, NULL},
    {"I8", 1, NULL},     {"U64", 8, NULL},      {"U32", 4, NULL},       {"U16", 2, NULL},
    {"U8", 1, NULL},     {"F8_E4M3", 1, NULL},  {"F8_E5M2", 1, NULL},   {"F8_E8M0", 1, NULL},
    {"C64", 8, NULL},
};
// clang-format on

/// One tensor of the file; begin and end count from the first byte after the header.
struct entry {
    const char *name; // in the header
    const struct dtype *dtype;
    size_t order; // in the header
    size_t rank;  // may be larger than a tensor's
    int64_t shape[CT_MAX_RANK];
    size_t items;
    size_t begin, end;
    ct_tensor *tensor; // NULL where it is not read
};

struct ct_safetensors {
    json_t *header;
    char *path;
    size_t count;
    struct entry *entries; // in the order of their bytes
};

/// The file while it is read.
struct source {
    const char *path;
    int fd;
    size_t bytes; // after the header
};

// ---- errors

/// A name from the file as a message can show it: shortened, without control characters.
static const char *show(const char *name, char text[TEXT_BYTES]) {
    size_t n = 0;
    for (; name[n] && n < TEXT_BYTES - 4; n++)
        text[n] = (unsigned char)name[n] < ' ' || name[n] == 127 ? '?' : name[n];
    if (name[n]) {
        while (n > 0 && ((unsigned char)name[n] & 0xc0) == 0x80)
            n--; // not in the middle of a character
        memcpy(text + n, "...", 3);
        n += 3;
    }
    text[n] = '\0';
    return text;
}

#define FAIL_FORMAT(path, ...) fail_file(CT_EFORMAT, path, __VA_ARGS__)

static ct_status fail_file(ct_status code, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static ct_status fail_file(ct_status code, const char *path, const char *format, ...) {
    char text[CT__MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return ct__fail(code, load_name, "'%.200s': %s", path, text);
}

static ct_status no_memory(const char *path) {
    return fail_file(CT_ENOMEM, path, "no memory to read it");
}

static ct_status fail_errno(const char *path, const char *what) {
    char text[TEXT_BYTES];
    return fail_file(CT_EIO, path, "cannot %s: %s", what, strerror_r(errno, text, sizeof text));
}

// ---- reading bytes

static ct_status read_bytes(const struct source *source, void *to, size_t bytes) {
    char *at = to;
    while (bytes > 0) {
        ssize_t got = read(source->fd, at, bytes < SSIZE_MAX ? bytes : SSIZE_MAX);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail_errno(source->path, "read it");
        if (got == 0)
            return FAIL_FORMAT(source->path, "it became %zu bytes shorter while it was read",
                               bytes);
        at += got;
        bytes -= (size_t)got;
    }
    return CT_OK;
}

/// Opens a regular file and tells its size. Only then can no claim outgrow it.
static ct_status open_source(const char *path, struct source *source) {
    struct stat status;
    source->path = path;
    source->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (source->fd < 0)
        return fail_errno(path, "open it");
    if (fstat(source->fd, &status) < 0)
        return fail_errno(path, "read it");
    if (!S_ISREG(status.st_mode))
        return fail_file(CT_EIO, path, "not a regular file");
    source->bytes = (size_t)status.st_size;
    return CT_OK;
}

/// The parser recurses, and nothing that is allowed lies deep.
static ct_status check_depth(const char *path, const char *text, size_t length) {
    int depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        if (quoted && c == '\\')
            i++;
        else if (c == '"')
            quoted = !quoted;
        else if (!quoted && (c == '{' || c == '['))
            depth++;
        else if (!quoted && (c == '}' || c == ']'))
            depth--;
        if (depth > MOST_DEPTH)
            return FAIL_FORMAT(path, "the header nests deeper than %d at its byte %zu", MOST_DEPTH,
                               i);
    }
    return CT_OK;
}

static ct_status parse_header(const char *path, const char *text, size_t length, json_t **header) {
    ct_status status = check_depth(path, text, length);
    if (status != CT_OK)
        return status;
    json_error_t error;
    *header = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    if (*header)
        return CT_OK;
    if (json_error_code(&error) == json_error_out_of_memory)
        return no_memory(path);
    char shown[TEXT_BYTES];
    return FAIL_FORMAT(path, "the header is not JSON: %s at its byte %d", show(error.text, shown),
                       error.position);
}

/// Reads the header's length and its first character. A file of another kind is told by this character,
/// before a length is made of its bytes.
static ct_status read_start(struct source *source, uint64_t *length) {
    char start[START_BYTES + 1];
    if (source->bytes < sizeof start)
        return FAIL_FORMAT(source->path,
                           "it is not a safetensors file: it has %zu bytes, too few for a header; "
                           "ct_safetensors_save() and Python's safetensors write such files",
                           source->bytes);
    ct_status status = read_bytes(source, start, sizeof start);
    if (status != CT_OK)
        return status;
    source->bytes -= START_BYTES;
    memcpy(length, start, sizeof *length);
    if (start[START_BYTES] != '{' || *length == 0)
        return FAIL_FORMAT(source->path,
                           "it is not a safetensors file: no header begins with '{' after the "
                           "first 8 bytes; ct_safetensors_save() and Python's safetensors write "
                           "such files");
    return CT_OK;
}

/// Reads the header's length and the header; what is left of source->bytes are the items.
static ct_status read_header(struct source *source, json_t **header) {
    uint64_t length = 0;
    const char *path = source->path;
    ct_status status = read_start(source, &length);
    if (status != CT_OK)
        return status;
    if (length > MOST_HEADER)
        return FAIL_FORMAT(path, "%sthe header of %llu bytes is over the limit of %d",
                           length > source->bytes ? "it is not a safetensors file: " : "",
                           (unsigned long long)length, MOST_HEADER);
    if (length > source->bytes)
        return FAIL_FORMAT(path,
                           "it is not a whole safetensors file: the header of %llu bytes ends past "
                           "the file: %zu bytes follow",
                           (unsigned long long)length, source->bytes);
    source->bytes -= (size_t)length;
    char *text = ct__alloc((size_t)length);
    if (!text)
        return no_memory(path);
    text[0] = '{';
    status = read_bytes(source, text + 1, (size_t)length - 1);
    if (status == CT_OK)
        status = parse_header(path, text, (size_t)length, header);
    ct__free(text);
    return status;
}

// ---- the header's entries

static ct_status check_metadata(const char *path, json_t *metadata) {
    if (!json_is_object(metadata))
        return FAIL_FORMAT(path, "__metadata__ is not an object");
    const char *key;
    json_t *value;
    json_object_foreach(metadata, key, value) {
        char shown[TEXT_BYTES];
        if (!json_is_string(value))
            return FAIL_FORMAT(path, "the metadata value of '%s' is not a string",
                               show(key, shown));
    }
    return CT_OK;
}

static const struct dtype *find_dtype(const char *name) {
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        if (strcmp(name, dtypes[i].name) == 0)
            return &dtypes[i];
    }
    return NULL;
}

/// A whole number >= 0.
static bool read_size(const json_t *value, size_t *size) {
    return json_is_integer(value) && ct__size_of_i64(json_integer_value(value), size);
}

static ct_status read_dtype(const char *path, const char *shown, const json_t *object,
                            struct entry *entry) {
    const char *name = json_string_value(json_object_get(object, "dtype"));
    if (!name)
        return FAIL_FORMAT(path, "tensor '%s' has no dtype", shown);
    entry->dtype = find_dtype(name);
    char text[TEXT_BYTES];
    return entry->dtype ? CT_OK
                        : FAIL_FORMAT(path, "tensor '%s' has the unknown dtype '%s'", shown,
                                      show(name, text));
}

static ct_status read_shape(const char *path, const char *shown, const json_t *object,
                            struct entry *entry) {
    const json_t *shape = json_object_get(object, "shape");
    if (!json_is_array(shape))
        return FAIL_FORMAT(path, "tensor '%s' has no shape", shown);
    entry->rank = json_array_size(shape);
    entry->items = 1;
    for (size_t i = 0; i < entry->rank; i++) {
        size_t extent;
        if (!read_size(json_array_get(shape, i), &extent))
            return FAIL_FORMAT(path, "extent %zu of tensor '%s' is not a whole number >= 0", i,
                               shown);
        if (!ct__mul_size(entry->items, extent, &entry->items) || entry->items > INT64_MAX)
            return FAIL_FORMAT(path, "the shape of tensor '%s' holds more than %lld items", shown,
                               (long long)INT64_MAX);
        if (i < CT_MAX_RANK)
            entry->shape[i] = (int64_t)extent;
    }
    return CT_OK;
}

static ct_status read_range(const char *path, const char *shown, const json_t *object,
                            struct entry *entry) {
    const json_t *range = json_object_get(object, "data_offsets");
    if (json_array_size(range) != 2 || !read_size(json_array_get(range, 0), &entry->begin) ||
        !read_size(json_array_get(range, 1), &entry->end) || entry->begin > entry->end)
        return FAIL_FORMAT(
            path, "tensor '%s' has no range of bytes [begin, end], 0 <= begin <= end", shown);
    size_t bytes;
    if (!ct__mul_size(entry->items, entry->dtype->bytes, &bytes) ||
        bytes != entry->end - entry->begin)
        return FAIL_FORMAT(path, "tensor '%s' has %zu items of %s (%zu bytes each) in %zu bytes",
                           shown, entry->items, entry->dtype->name, entry->dtype->bytes,
                           entry->end - entry->begin);
    return CT_OK;
}

static ct_status read_entry(const char *path, const json_t *object, struct entry *entry) {
    char shown[TEXT_BYTES];
    show(entry->name, shown);
    if (json_object_size(object) != 3)
        return FAIL_FORMAT(
            path, "tensor '%s' needs dtype, shape and data_offsets, and nothing else", shown);
    ct_status status = read_dtype(path, shown, object, entry);
    if (status == CT_OK)
        status = read_shape(path, shown, object, entry);
    return status == CT_OK ? read_range(path, shown, object, entry) : status;
}

/// By their bytes; empty ones first, and those among each other as they stand in the header.
static int compare_entries(const void *a, const void *b) {
    const struct entry *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->end != y->end)
        return x->end < y->end ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

/// The tensors fill the rest of the file, without hole, overlap or remainder.
static ct_status check_ranges(const struct ct_safetensors *file, size_t bytes) {
    size_t at = 0;
    char shown[TEXT_BYTES];
    for (size_t i = 0; i < file->count; i++) {
        const struct entry *entry = &file->entries[i];
        if (entry->begin != at)
            return FAIL_FORMAT(file->path,
                               "tensor '%s' begins at byte %zu and its place is %zu: %s",
                               show(entry->name, shown), entry->begin, at,
                               entry->begin < at ? "tensors overlap" : "there is a hole");
        at = entry->end;
    }
    if (at != bytes)
        return FAIL_FORMAT(file->path, "the tensors take %zu bytes and the file has %zu", at,
                           bytes);
    return CT_OK;
}

static ct_status read_entries(struct ct_safetensors *file, size_t bytes) {
    size_t members = json_object_size(file->header);
    file->entries = members ? ct__alloc_zero(members * sizeof *file->entries) : NULL;
    if (members && !file->entries)
        return no_memory(file->path);
    const char *key;
    json_t *value;
    json_object_foreach(file->header, key, value) {
        if (strcmp(key, "__metadata__") == 0) {
            ct_status status = check_metadata(file->path, value);
            if (status != CT_OK)
                return status;
            continue;
        }
        struct entry *entry = &file->entries[file->count];
        entry->name = key;
        entry->order = file->count++;
        ct_status status = read_entry(file->path, value, entry);
        if (status != CT_OK)
            return status;
    }
    if (file->count)
        qsort(file->entries, file->count, sizeof *file->entries, compare_entries);
    return check_ranges(file, bytes);
}

// ---- items

/// A half or bfloat16 as the float of the same value.
static float widen(const struct dtype *dtype, uint16_t half) {
    uint32_t sign = (uint32_t)(half >> 15) << 31, bits = (uint32_t)half << 16;
    float value;
    if (dtype->name[0] == 'F') {
        uint32_t exponent = (half >> 10) & 31, fraction = half & 1023;
        if (exponent == 0) {
            value = (float)fraction * 0x1p-24f;
            return sign ? -value : value;
        }
        exponent = exponent == 31 ? 255 : exponent + 112;
        bits = sign | exponent << 23 | fraction << 13;
    }
    memcpy(&value, &bits, sizeof value);
    return value;
}

static ct_status read_widened(const struct source *source, const struct entry *entry, float *to) {
    for (size_t done = 0; done < entry->items;) {
        uint16_t chunk[CHUNK_ITEMS];
        size_t left = entry->items - done, n = left < CHUNK_ITEMS ? left : CHUNK_ITEMS;
        ct_status status = read_bytes(source, chunk, n * sizeof *chunk);
        if (status != CT_OK)
            return status;
        for (size_t i = 0; i < n; i++)
            to[done + i] = widen(entry->dtype, chunk[i]);
        done += n;
    }
    return CT_OK;
}

static ct_status check_bools(const struct source *source, const struct entry *entry,
                             const unsigned char *items) {
    char shown[TEXT_BYTES];
    for (size_t i = 0; i < entry->items; i++) {
        if (items[i] > 1)
            return FAIL_FORMAT(source->path, "item %zu of the BOOL tensor '%s' is %d, not 0 or 1",
                               i, show(entry->name, shown), items[i]);
    }
    return CT_OK;
}

static ct_status skip_bytes(const struct source *source, size_t bytes) {
    return lseek(source->fd, (off_t)bytes, SEEK_CUR) < 0 ? fail_errno(source->path, "read it")
                                                         : CT_OK;
}

/// Its size has been checked against the file's: only now is it allocated.
static ct_status read_tensor(const struct source *source, struct entry *entry) {
    if (!entry->dtype->scalar || entry->rank > CT_MAX_RANK)
        return skip_bytes(source, entry->end - entry->begin);
    entry->tensor = ct_zeros(entry->dtype->scalar, (int)entry->rank, entry->shape);
    void *items = entry->tensor ? ct_data_for_write(entry->tensor) : NULL;
    if (!items)
        return ct_error()->code;
    if (entry->dtype->bytes != entry->dtype->scalar->size)
        return read_widened(source, entry, items);
    ct_status status = read_bytes(source, items, entry->end - entry->begin);
    if (status == CT_OK && entry->dtype->scalar == CT_BOOL)
        status = check_bools(source, entry, items);
    return status;
}

static ct_status load(struct source *source, struct ct_safetensors *file) {
    size_t length = strlen(source->path) + 1;
    file->path = ct__alloc(length);
    if (!file->path)
        return no_memory(source->path);
    memcpy(file->path, source->path, length);
    ct_status status = open_source(source->path, source);
    if (status == CT_OK)
        status = read_header(source, &file->header);
    if (status == CT_OK)
        status = read_entries(file, source->bytes);
    for (size_t i = 0; i < file->count && status == CT_OK; i++)
        status = read_tensor(source, &file->entries[i]);
    return status;
}

ct_safetensors *ct_safetensors_load(const char *path) {
    if (!path) {
        ct__fail_null_operand(load_name);
        return NULL;
    }
    struct ct_safetensors *file = ct__alloc_zero(sizeof *file);
    if (!file)
        return ct__fail_null(CT_ENOMEM, load_name, "'%.200s': no memory to read it", path);
    struct source source = {.path = path, .fd = -1};
    ct_status status = load(&source, file);
    if (source.fd >= 0)
        close(source.fd);
    if (status == CT_OK)
        return file;
    ct_safetensors_free(file);
    return NULL;
}

void ct_safetensors_free(ct_safetensors *file) {
    if (!file)
        return;
    for (size_t i = 0; i < file->count; i++)
        ct_free(file->entries[i].tensor);
    ct__free(file->entries);
    ct__free(file->path);
    json_decref(file->header);
    ct__free(file);
}

// ---- looking

size_t ct_safetensors_count(const ct_safetensors *file) {
    return file ? file->count : 0;
}

/// The entry's tensor, or NULL with the reason for which it was not read.
static const ct_tensor *tensor_of(const char *who, const ct_safetensors *file,
                                  const struct entry *entry) {
    if (entry->tensor)
        return entry->tensor;
    char shown[TEXT_BYTES];
    show(entry->name, shown);
    if (entry->rank > CT_MAX_RANK)
        return ct__fail_null(CT_EUNSUPPORTED, who,
                             "'%.200s': tensor '%s' has rank %zu; %d is the most", file->path,
                             shown, entry->rank, CT_MAX_RANK);
    return ct__fail_null(
        CT_EUNSUPPORTED, who,
        "'%.200s': tensor '%s' is of %s; F64, F32, F16, BF16, I64 and BOOL are read", file->path,
        shown, entry->dtype->name);
}

static const struct entry *entry_at(const char *who, const ct_safetensors *file, size_t i) {
    if (!file) {
        ct__fail_null_operand(who);
        return NULL;
    }
    if (i < file->count)
        return &file->entries[i];
    return ct__fail_null(CT_EINDEX, who, "'%.200s': there is no tensor %zu among %zu", file->path,
                         i, file->count);
}

const char *ct_safetensors_name(const ct_safetensors *file, size_t i) {
    const struct entry *entry = entry_at(__func__, file, i);
    return entry ? entry->name : NULL;
}

const ct_tensor *ct_safetensors_at(const ct_safetensors *file, size_t i) {
    const struct entry *entry = entry_at(__func__, file, i);
    return entry ? tensor_of(__func__, file, entry) : NULL;
}

const ct_tensor *ct_safetensors_get(const ct_safetensors *file, const char *name) {
    if (!file || !name) {
        ct__fail_null_operand(__func__);
        return NULL;
    }
    for (size_t i = 0; i < file->count; i++) {
        if (strcmp(file->entries[i].name, name) == 0)
            return tensor_of(__func__, file, &file->entries[i]);
    }
    char shown[TEXT_BYTES];
    return ct__fail_null(CT_EINVAL, __func__, "'%.200s': there is no tensor '%s'", file->path,
                         show(name, shown));
}

const char *ct_safetensors_metadata(const ct_safetensors *file, const char *key) {
    if (!file || !key) {
        ct__fail_null_operand(__func__);
        return NULL;
    }
    return json_string_value(json_object_get(json_object_get(file->header, "__metadata__"), key));
}
