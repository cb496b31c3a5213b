/* DLPack in and out. The structs below are those of the C ABI of DLPack 1.x, under the tags that
   dlpack.h gives them; inner ones have names of our own. */

#include "tensor/ct_dlpack.h"

#include "tensor/alloc.h"
#include "tensor/checked.h"
#include "tensor/fail.h"
#include "tensor/storage.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

enum { DL_CPU = 1 };                                   /* device types */
enum { DL_INT = 0, DL_FLOAT = 2, DL_BOOL = 6 };        /* codes of scalar types */
enum { DL_MAJOR = 1, DL_MINOR = 0, DL_READ_ONLY = 1 }; /* the version, and a flag */

struct dl_type {
    uint8_t code, bits;
    uint16_t lanes;
};

struct dl_tensor {
    void *data;
    struct {
        int32_t type, id;
    } device;
    int32_t ndim;
    struct dl_type dtype;
    int64_t *shape;
    int64_t *strides; /* in items; NULL: dense */
    uint64_t byte_offset;
};

struct DLManagedTensor {
    struct dl_tensor tensor;
    void *context;
    void (*deleter)(struct DLManagedTensor *self);
};

struct DLManagedTensorVersioned {
    uint32_t major, minor;
    void *context;
    void (*deleter)(struct DLManagedTensorVersioned *self);
    uint64_t flags;
    struct dl_tensor tensor;
};

static_assert(sizeof(void *) != 8 ||
                  (sizeof(struct dl_tensor) == 48 && offsetof(struct dl_tensor, ndim) == 16 &&
                   offsetof(struct dl_tensor, dtype) == 20 &&
                   offsetof(struct dl_tensor, shape) == 24 &&
                   offsetof(struct dl_tensor, byte_offset) == 40),
              "the layout of DLTensor");
static_assert(sizeof(void *) != 8 || (sizeof(struct DLManagedTensor) == 64 &&
                                      offsetof(struct DLManagedTensor, context) == 48),
              "the layout of DLManagedTensor");
static_assert(sizeof(void *) != 8 || (sizeof(struct DLManagedTensorVersioned) == 80 &&
                                      offsetof(struct DLManagedTensorVersioned, flags) == 24 &&
                                      offsetof(struct DLManagedTensorVersioned, tensor) == 32),
              "the layout of DLManagedTensorVersioned");

/* --- scalar types --- */

static const struct {
    const ct_scalar *scalar;
    struct dl_type type;
} types[] = {
    {CT_F32, {DL_FLOAT, 32, 1}}, {CT_F64, {DL_FLOAT, 64, 1}}, {CT_I32, {DL_INT, 32, 1}},
    {CT_I64, {DL_INT, 64, 1}},   {CT_BOOL, {DL_BOOL, 8, 1}},
};

static const struct dl_type *type_of(const ct_scalar *scalar) {
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].scalar == scalar)
            return &types[i].type;
    return NULL;
}

static const ct_scalar *scalar_of(const char *who, struct dl_type type) {
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (memcmp(&types[i].type, &type, sizeof type) == 0)
            return types[i].scalar;
    return ct__fail_null(CT_EDTYPE, who,
                         "no scalar type is DLPack's type of code %d with %d bits and %d lane%s",
                         type.code, type.bits, type.lanes, type.lanes == 1 ? "" : "s");
}

bool ct_dlpack_has(const ct_scalar *scalar) {
    return type_of(scalar) != NULL;
}

/* --- in --- */

/* Where the reached items begin in memory, how many there are, and which is that of index 0. */
static bool find_buffer(const struct dl_tensor *dl, const ct_scalar *scalar, const int64_t *strides,
                        char **buffer, size_t *count, int64_t *offset) {
    int64_t low, high, before, after;
    ptrdiff_t away;
    uintptr_t first = (uintptr_t)dl->data, begin, end;
    if (dl->byte_offset > PTRDIFF_MAX || __builtin_add_overflow(first, dl->byte_offset, &first) ||
        !ct__find_reach(dl->ndim, dl->shape, strides, 0, &low, &high) || high == INT64_MAX ||
        !ct__mul_i64(low, (int64_t)scalar->size, &before) ||
        !ct__mul_i64(high + 1, (int64_t)scalar->size, &after) ||
        __builtin_add_overflow(first, before, &begin) ||
        __builtin_add_overflow(first, after, &end) || end - begin > PTRDIFF_MAX ||
        __builtin_add_overflow(dl->byte_offset, before, &away))
        return false;
    /* From the given pointer on, not from the number, so that it stays a pointer into its block. */
    *buffer = (char *)dl->data + away;
    *count = (end - begin) / scalar->size;
    *offset = -low;
    return true;
}

static const ct_scalar *check_head(const char *who, const struct dl_tensor *dl) {
    if (dl->device.type != DL_CPU)
        return ct__fail_null(CT_EUNSUPPORTED, who,
                             "the tensor lies on DLPack's device type %" PRId32
                             ", not in the host's memory (1)",
                             dl->device.type);
    return scalar_of(who, dl->dtype);
}

static ct_tensor *import(const char *who, const struct dl_tensor *dl, void (*release)(void *),
                         void *context) {
    const ct_scalar *scalar = check_head(who, dl);
    size_t items, count = 0;
    if (!scalar || ct__check_shape(who, scalar, dl->ndim, dl->shape, &items))
        return NULL;
    int64_t dense[CT_MAX_RANK], offset = 0;
    ct__dense_strides(dl->ndim, dl->shape, dense);
    const int64_t *strides = dl->strides ? dl->strides : dense;
    char *buffer = NULL;
    if (items > 0 && !dl->data)
        return ct__fail_null(CT_EINVAL, who, "the data of %zu items is NULL", items);
    if (items > 0 && !find_buffer(dl, scalar, strides, &buffer, &count, &offset)) {
        char shape[CT__SHAPE_TEXT_BYTES], steps[CT__SHAPE_TEXT_BYTES];
        ct__format_shape(shape, sizeof shape, dl->ndim, dl->shape);
        ct__format_shape(steps, sizeof steps, dl->ndim, strides);
        return ct__fail_null(CT_EOVERFLOW, who,
                             "a shape of %s with strides %s from byte %" PRIu64
                             " of %s reaches outside the address space",
                             shape, steps, dl->byte_offset, scalar->name);
    }
    return ct__tensor_over(who, scalar, dl->ndim, dl->shape, strides, offset, buffer, count,
                           release, context);
}

static void delete_old(void *context) {
    struct DLManagedTensor *managed = context;
    if (managed->deleter)
        managed->deleter(managed);
}

static void delete_versioned(void *context) {
    struct DLManagedTensorVersioned *managed = context;
    if (managed->deleter)
        managed->deleter(managed);
}

ct_tensor *ct_from_dlpack(struct DLManagedTensor *managed) {
    if (!managed)
        return ct__null(__func__);
    return import(__func__, &managed->tensor, delete_old, managed);
}

ct_tensor *ct_from_dlpack_versioned(struct DLManagedTensorVersioned *managed) {
    if (!managed)
        return ct__null(__func__);
    if (managed->major != DL_MAJOR) /* what follows may lie elsewhere in another version */
        return ct__fail_null(CT_EUNSUPPORTED, __func__,
                             "DLPack %" PRIu32 ".%" PRIu32 " is not of the major version %d",
                             managed->major, managed->minor, DL_MAJOR);
    return import(__func__, &managed->tensor, delete_versioned, managed);
}

/* --- out --- */

/* What a deleter frees: both structs point at their own. */
struct export {
    union {
        struct DLManagedTensor old;
        struct DLManagedTensorVersioned versioned;
    } managed;
    ct_tensor *t;
    int64_t shape[CT_MAX_RANK], strides[CT_MAX_RANK];
};

static void free_export(struct export *e) {
    ct_free(e->t);
    ct__free(e);
}

static void delete_own_old(struct DLManagedTensor *self) {
    if (self)
        free_export(self->context);
}

static void delete_own_versioned(struct DLManagedTensorVersioned *self) {
    if (self)
        free_export(self->context);
}

/* An export that owns t, which is freed on failure. */
static struct export *new_export(const char *who, ct_tensor *t, struct dl_tensor *dl) {
    if (!t)
        return NULL;
    struct export *e = ct__alloc(sizeof *e);
    if (!e) {
        ct_free(t);
        return ct__fail_null(CT_ENOMEM, who, "there is no memory for a DLPack descriptor");
    }
    *e = (struct export){.t = t};
    memcpy(e->shape, t->shape, sizeof e->shape);
    memcpy(e->strides, t->strides, sizeof e->strides);
    *dl = (struct dl_tensor){.data = ct__first(t), /* some consumers forget byte_offset */
                             .device = {DL_CPU, 0},
                             .ndim = t->rank,
                             .dtype = *type_of(t->scalar),
                             .shape = e->shape,
                             .strides = e->strides};
    return e;
}

static bool has_type(const char *who, const ct_tensor *t) {
    if (!t)
        ct__fail_null_operand(who);
    else if (!type_of(t->scalar))
        ct__fail(CT_EDTYPE, who, "%s has no DLPack type", t->scalar->name);
    return t && type_of(t->scalar);
}

struct DLManagedTensor *ct_to_dlpack(const ct_tensor *t) {
    if (!has_type(__func__, t))
        return NULL;
    ct_tensor *copy = ct__empty(__func__, t->scalar, t->rank, t->shape);
    if (copy)
        ct__copy_out(t, ct__first(copy));
    struct dl_tensor dl;
    struct export *e = new_export(__func__, copy, &dl);
    if (!e)
        return NULL;
    e->managed.old =
        (struct DLManagedTensor){.tensor = dl, .context = e, .deleter = delete_own_old};
    return &e->managed.old;
}

struct DLManagedTensorVersioned *ct_to_dlpack_versioned(const ct_tensor *t) {
    if (!has_type(__func__, t))
        return NULL;
    struct dl_tensor dl;
    struct export *e = new_export(__func__, ct__share(__func__, t), &dl);
    if (!e)
        return NULL;
    e->managed.versioned = (struct DLManagedTensorVersioned){.major = DL_MAJOR,
                                                             .minor = DL_MINOR,
                                                             .context = e,
                                                             .deleter = delete_own_versioned,
                                                             .flags = DL_READ_ONLY,
                                                             .tensor = dl};
    return &e->managed.versioned;
}
