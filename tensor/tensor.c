#include "tensor/tensor_impl.h"

#include "tensor/alloc.h"
#include "tensor/checked.h"
#include "tensor/fail.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

// --- storage

enum { HEADER_BYTES = CT__ALIGNMENT };

static_assert(sizeof(struct ct__storage) <= HEADER_BYTES, "the items follow the header, aligned");

static struct ct__storage *new_storage(size_t bytes) {
    size_t total;
    if (!ct__add_size(bytes, HEADER_BYTES, &total))
        return NULL;
    struct ct__storage *s = ct__alloc(total);
    if (!s)
        return NULL;
    *s = (struct ct__storage){.bytes = bytes, .data = (char *)s + HEADER_BYTES, .space = CT__HOST};
    atomic_init(&s->shares, 1);
    return s;
}

static void take_share(struct ct__storage *s) {
    atomic_fetch_add_explicit(&s->shares, 1, memory_order_relaxed);
}

static void drop_share(struct ct__storage *s) {
    // Release: our reads of the items come before their reuse; acquire: so do those of all others.
    if (atomic_fetch_sub_explicit(&s->shares, 1, memory_order_acq_rel) != 1)
        return;
    if (s->release)
        s->release(s->context);
    ct__free(s);
}

// --- descriptors

static ct_status fail_memory(const char *who, const ct_scalar *scalar, int rank,
                             const int64_t *shape) {
    char text[CT__SHAPE_TEXT_BYTES];
    ct__format_shape(text, sizeof text, rank, shape);
    return ct__fail(CT_ENOMEM, who, "there is no memory for a tensor of shape %s of %s", text,
                    scalar->name);
}

static void set_dense(ct_tensor *t, struct ct__storage *s) {
    t->storage = s;
    t->offset = 0;
    ct__dense_strides(t->rank, t->shape, t->strides);
}

// A descriptor without storage.
static ct_tensor *new_descriptor(const ct_scalar *scalar, int rank, const int64_t *shape,
                                 size_t count) {
    ct_tensor *t = ct__alloc(sizeof *t);
    if (!t)
        return NULL;
    *t = (ct_tensor){.scalar = scalar, .count = count, .rank = rank};
    for (int i = 0; i < rank; i++)
        t->shape[i] = shape[i];
    return t;
}

ct_tensor *ct__null(const char *who) {
    ct__fail_null_operand(who);
    return NULL;
}

ct_tensor *ct__empty(const char *who, const ct_scalar *scalar, int rank, const int64_t *shape) {
    size_t count;
    if (ct__check_shape(who, scalar, rank, shape, &count))
        return NULL;
    ct_tensor *t = new_descriptor(scalar, rank, shape, count);
    struct ct__storage *s = t ? new_storage(count * scalar->size) : NULL;
    if (!s) {
        ct__free(t);
        fail_memory(who, scalar, rank, shape);
        return NULL;
    }
    set_dense(t, s);
    return t;
}

ct_tensor *ct__share(const char *who, const ct_tensor *t) {
    ct_tensor *copy = ct__alloc(sizeof *copy);
    if (!copy)
        return ct__fail_null(CT_ENOMEM, who, "there is no memory for another descriptor");
    *copy = *t;
    take_share(copy->storage);
    return copy;
}

ct_tensor *ct_copy(const ct_tensor *t) {
    if (!t)
        return ct__null(__func__);
    return ct__share(__func__, t);
}

void ct_free(ct_tensor *t) {
    if (!t)
        return;
    drop_share(t->storage);
    ct__free(t);
}

// --- making

ct_status ct__fail_value(const char *who, const ct_tensor *t, double value) {
    char text[40];
    ct_scalar_f64.format(&ct_scalar_f64, &value, text, sizeof text);
    return ct__fail(CT_EDOMAIN, who, "the value %s does not fit %s", text, t->scalar->name);
}

// Sets the dense items at `first`; nothing is touched where the value does not fit.
static bool fill(const ct_scalar *scalar, char *first, size_t count, double value) {
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
    if (!fill(t->scalar, ct__first(t), t->count, value))
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

// A tensor for `given` items from an array, which may be NULL where there are none.
static ct_tensor *empty_for(const char *who, const ct_scalar *scalar, int rank,
                            const int64_t *shape, size_t given, const void *items) {
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

static ct_status fail_value_at(const char *who, const ct_tensor *t, size_t item, double value) {
    char text[40], index[CT__SHAPE_TEXT_BYTES];
    ct_scalar_f64.format(&ct_scalar_f64, &value, text, sizeof text);
    ct__format_index(index, sizeof index, t, item);
    return ct__fail(CT_EDOMAIN, who, "the value %s at index %s does not fit %s", text, index,
                    t->scalar->name);
}

ct_tensor *ct_from_doubles(const ct_scalar *scalar, int rank, const int64_t *shape, size_t count,
                           const double *values) {
    ct_tensor *t = empty_for(__func__, scalar, rank, shape, count, values);
    char *item = t ? ct__first(t) : NULL;
    if (t && scalar == CT_F64 && count > 0) {
        memcpy(item, values, count * sizeof *values);
        return t;
    }
    for (size_t i = 0; t && i < count; i++, item += scalar->size)
        if (!scalar->from_double(scalar, item, values[i])) {
            fail_value_at(__func__, t, i, values[i]);
            ct_free(t);
            return NULL;
        }
    return t;
}

ct_tensor *ct_from_items(const ct_scalar *scalar, int rank, const int64_t *shape, size_t count,
                         const void *items) {
    ct_tensor *t = empty_for(__func__, scalar, rank, shape, count, items);
    if (t && count > 0)
        memcpy(ct__first(t), items, count * scalar->size);
    return t;
}

// --- foreign memory

// The lowest and the highest item that a descriptor with items reaches; false on overflow.
static bool find_reach(const ct_tensor *t, int64_t *low, int64_t *high) {
    *low = *high = t->offset;
    for (int i = 0; i < t->rank; i++) {
        int64_t way;
        if (!ct__mul_i64(t->strides[i], t->shape[i] - 1, &way) ||
            !ct__add_i64(way < 0 ? *low : *high, way, way < 0 ? low : high))
            return false;
    }
    return true;
}

static bool lies_within(const ct_tensor *t, size_t items) {
    int64_t low, high;
    return t->count == 0 || (find_reach(t, &low, &high) && low >= 0 && (uint64_t)high < items);
}

static ct_status check_buffer(const char *who, const ct_scalar *scalar, const void *buffer,
                              size_t count) {
    size_t bytes;
    if (!ct__mul_size(count, scalar->size, &bytes) || bytes > PTRDIFF_MAX)
        return ct__fail(CT_EOVERFLOW, who,
                        "a buffer of %zu items of %s takes more bytes than can be addressed", count,
                        scalar->name);
    if (count > 0 && !buffer)
        return ct__fail(CT_EINVAL, who, "the buffer of %zu items is NULL", count);
    if ((uintptr_t)buffer % scalar->align != 0)
        return ct__fail(CT_EINVAL, who, "the buffer is not aligned to the %zu bytes of %s",
                        scalar->align, scalar->name);
    return CT_OK;
}

// Takes strides and offset over. Where no step is ever made, the given numbers mean nothing and
// are replaced, so that later arithmetic on them cannot overflow.
static void set_layout(ct_tensor *t, const int64_t *strides, int64_t offset) {
    ct__dense_strides(t->rank, t->shape, t->strides);
    if (t->count == 0)
        return;
    t->offset = offset;
    for (int i = 0; i < t->rank; i++)
        if (t->shape[i] > 1)
            t->strides[i] = strides[i];
}

static ct_status check_reach(const char *who, const ct_tensor *t, size_t items) {
    if (lies_within(t, items))
        return CT_OK;
    char shape[CT__SHAPE_TEXT_BYTES], strides[CT__SHAPE_TEXT_BYTES];
    ct__format_shape(shape, sizeof shape, t->rank, t->shape);
    ct__format_shape(strides, sizeof strides, t->rank, t->strides);
    return ct__fail(CT_EINDEX, who,
                    "a shape of %s with strides %s from item %" PRId64
                    " reaches outside a buffer of %zu item%s",
                    shape, strides, t->offset, items, items == 1 ? "" : "s");
}

ct_tensor *ct_tensor_over(const ct_scalar *scalar, int rank, const int64_t *shape,
                          const int64_t *strides, int64_t offset, const void *buffer, size_t count,
                          void (*release)(void *context), void *context) {
    ct_tensor t = {.scalar = scalar, .rank = rank};
    if (ct__check_shape(__func__, scalar, rank, shape, &t.count) ||
        check_buffer(__func__, scalar, buffer, count))
        return NULL;
    if (rank > 0 && !strides)
        return ct__fail_null(CT_EINVAL, __func__, "the strides are NULL and the rank is %d", rank);
    for (int i = 0; i < rank; i++)
        t.shape[i] = shape[i];
    set_layout(&t, strides, offset);
    if (check_reach(__func__, &t, count))
        return NULL;
    ct_tensor *result = new_descriptor(scalar, rank, shape, t.count);
    struct ct__storage *s = result ? new_storage(0) : NULL;
    if (!s) {
        ct__free(result);
        fail_memory(__func__, scalar, rank, shape);
        return NULL;
    }
    s->bytes = count * scalar->size;
    if (buffer)
        s->data = (char *)(uintptr_t)buffer; // never written: the storage is foreign
    s->foreign = true;
    s->release = release;
    s->context = context;
    *result = t;
    result->storage = s;
    return result;
}

// --- looking

const ct_scalar *ct_dtype(const ct_tensor *t) {
    if (!t)
        ct__fail_null_operand(__func__);
    return t ? t->scalar : NULL;
}

int ct_rank(const ct_tensor *t) {
    if (!t)
        ct__fail_null_operand(__func__);
    return t ? t->rank : -1;
}

const int64_t *ct_shape(const ct_tensor *t) {
    if (!t)
        ct__fail_null_operand(__func__);
    return t ? t->shape : NULL;
}

const int64_t *ct_strides(const ct_tensor *t) {
    if (!t)
        ct__fail_null_operand(__func__);
    return t ? t->strides : NULL;
}

int64_t ct_extent(const ct_tensor *t, int axis) {
    if (!t)
        ct__fail_null_operand(__func__);
    if (!t || ct__check_axis(__func__, t->rank, axis, &axis))
        return -1;
    return t->shape[axis];
}

size_t ct_count(const ct_tensor *t) {
    if (!t)
        ct__fail_null_operand(__func__);
    return t ? t->count : 0;
}

bool ct_is_dense(const ct_tensor *t) {
    if (!t) {
        ct__fail_null_operand(__func__);
        return false;
    }
    int64_t expected = 1;
    for (int i = t->rank - 1; i >= 0 && t->count > 0; i--) {
        if (t->shape[i] > 1 && t->strides[i] != expected)
            return false;
        expected *= t->shape[i];
    }
    return true;
}

const void *ct_data(const ct_tensor *t) {
    if (!t)
        ct__fail_null_operand(__func__);
    return t ? ct__first(t) : NULL;
}

bool ct_shares_storage(const ct_tensor *a, const ct_tensor *b) {
    return a && b && a->storage == b->storage;
}

// The first invariant that does not hold, in words, or NULL.
static const char *find_fault(const ct_tensor *t) {
    size_t count;
    if (!t->scalar || t->scalar->size == 0)
        return "it has no scalar type";
    if (!t->storage || atomic_load_explicit(&t->storage->shares, memory_order_relaxed) == 0)
        return "it has no storage";
    if (t->storage->space != CT__HOST)
        return "its storage is not in the host's memory";
    if (t->rank < 0 || t->rank > CT_MAX_RANK)
        return "its rank is out of range";
    for (int i = 0; i < t->rank; i++)
        if (t->shape[i] < 0)
            return "an extent is negative";
    if (!ct__count_items(t->scalar->size, t->rank, t->shape, &count) || count != t->count)
        return "its count is not the product of the extents";
    if (!lies_within(t, t->storage->bytes / t->scalar->size))
        return "an item lies outside its storage";
    if ((uintptr_t)t->storage->data % t->scalar->align != 0)
        return "its items are not aligned";
    return NULL;
}

ct_status ct_check_tensor(const ct_tensor *t) {
    if (!t)
        return ct__fail_null_operand(__func__);
    const char *fault = find_fault(t);
    if (fault)
        return ct__fail(CT_EINVAL, __func__, "the tensor is broken: %s", fault);
    return CT_OK;
}

// --- one item

static ct_status fail_index(const char *who, const ct_tensor *t, int rank, const int64_t *index) {
    char text[CT__SHAPE_TEXT_BYTES], shape[CT__SHAPE_TEXT_BYTES];
    ct__format_shape(text, sizeof text, rank, index);
    if (rank != t->rank)
        return ct__fail(CT_EINDEX, who, "index %s has %d %s and the tensor has %d", text, rank,
                        rank == 1 ? "axis" : "axes", t->rank);
    ct__format_shape(shape, sizeof shape, t->rank, t->shape);
    return ct__fail(CT_EINDEX, who, "index %s is out of bounds for a shape of %s", text, shape);
}

// Row-major indices, each from the end where negative, along any strides.
static ct_status locate(const char *who, const ct_tensor *t, const int64_t *strides, int rank,
                        const int64_t *index, int64_t *distance) {
    if (rank > 0 && !index)
        return ct__fail(CT_EINVAL, who, "the index is NULL and the rank is %d", rank);
    if (rank != t->rank)
        return fail_index(who, t, rank, index);
    int64_t sum = 0;
    for (int i = 0; i < rank; i++) {
        if (index[i] < -t->shape[i] || index[i] >= t->shape[i])
            return fail_index(who, t, rank, index);
        sum += (index[i] < 0 ? index[i] + t->shape[i] : index[i]) * strides[i];
    }
    *distance = sum;
    return CT_OK;
}

static ct_status read_item(const ct_tensor *t, int64_t distance, double *value) {
    const ct_scalar *scalar = t->scalar;
    *value = scalar->to_double(scalar, ct__first(t) + distance * (ptrdiff_t)scalar->size);
    return CT_OK;
}

ct_status ct_get(const ct_tensor *t, int rank, const int64_t *index, double *value) {
    if (!t)
        return ct__fail_null_operand(__func__);
    if (!value)
        return ct__fail(CT_EINVAL, __func__, "the place for the value is NULL");
    int64_t distance;
    ct_status status = locate(__func__, t, t->strides, rank, index, &distance);
    return status ? status : read_item(t, distance, value);
}

double ct_item(const ct_tensor *t) {
    double value = (double)NAN;
    if (!t) {
        ct__fail_null_operand(__func__);
    } else if (t->count != 1) {
        char shape[CT__SHAPE_TEXT_BYTES];
        ct__format_shape(shape, sizeof shape, t->rank, t->shape);
        ct__fail(CT_ESHAPE, __func__, "a tensor of shape %s holds %zu items, not one", shape,
                 t->count);
    } else {
        read_item(t, 0, &value);
    }
    return value;
}

// --- writing

bool ct__is_writable(const ct_tensor *t) {
    const struct ct__storage *s = t->storage;
    return !s->foreign && atomic_load_explicit(&s->shares, memory_order_acquire) == 1 &&
           ct_is_dense(t);
}

// Own storage with room for t's items and, where `keep`, their values. Nothing is touched yet.
static struct ct__storage *detached(const char *who, const ct_tensor *t, bool keep) {
    struct ct__storage *s = new_storage(t->count * t->scalar->size);
    if (!s) {
        fail_memory(who, t->scalar, t->rank, t->shape);
        return NULL;
    }
    if (keep)
        ct__copy_out(t, s->data);
    return s;
}

static void adopt(ct_tensor *t, struct ct__storage *s) {
    struct ct__storage *old = t->storage;
    set_dense(t, s);
    drop_share(old);
}

// Ends a write into s: where it is not t's own, t takes it over, or it goes if the value did not
// fit.
static ct_status settle(const char *who, ct_tensor *t, struct ct__storage *s, double value,
                        bool fits) {
    if (s != t->storage && fits)
        adopt(t, s);
    else if (s != t->storage)
        drop_share(s);
    return fits ? CT_OK : ct__fail_value(who, t, value);
}

void *ct_data_for_write(ct_tensor *t) {
    if (!t)
        return ct__null(__func__);
    if (!ct__is_writable(t)) {
        struct ct__storage *s = detached(__func__, t, true);
        if (!s)
            return NULL;
        adopt(t, s);
    }
    return ct__first(t);
}

ct_status ct_set(ct_tensor *t, int rank, const int64_t *index, double value) {
    if (!t)
        return ct__fail_null_operand(__func__);
    int64_t dense[CT_MAX_RANK], distance;
    ct__dense_strides(t->rank, t->shape, dense);
    ct_status status = locate(__func__, t, dense, rank, index, &distance);
    if (status)
        return status;
    bool in_place = ct__is_writable(t);
    struct ct__storage *s = in_place ? t->storage : detached(__func__, t, true);
    if (!s)
        return CT_ENOMEM;
    int64_t item = (in_place ? t->offset : 0) + distance;
    bool fits =
        t->scalar->from_double(t->scalar, s->data + item * (ptrdiff_t)t->scalar->size, value);
    return settle(__func__, t, s, value, fits);
}

ct_status ct_fill(ct_tensor *t, double value) {
    if (!t)
        return ct__fail_null_operand(__func__);
    bool in_place = ct__is_writable(t);
    struct ct__storage *s = in_place ? t->storage : detached(__func__, t, false);
    if (!s)
        return CT_ENOMEM;
    char *first = in_place ? ct__first(t) : s->data;
    return settle(__func__, t, s, value, fill(t->scalar, first, t->count, value));
}
