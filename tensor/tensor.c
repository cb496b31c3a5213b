#include "tensor/tensor_impl.h"

#include "tensor/alloc.h"
#include "tensor/checked.h"
#include "tensor/fail.h"
#include "tensor/storage.h"

#include <assert.h>

// --- storage

enum {
    HEADER_BYTES = CT__ALIGNMENT,
    DESCRIPTOR_BYTES = (sizeof(ct_tensor) + CT__ALIGNMENT - 1) / CT__ALIGNMENT * CT__ALIGNMENT,
    // A descriptor keeps the block it lies in, even after it took other storage: not a large one.
    MAX_COMMON_BYTES = 1 << 16
};

static_assert(sizeof(struct ct__storage) <= HEADER_BYTES, "the items follow the header, aligned");

// `before`: from the header to the items.
static inline void set_storage(struct ct__storage *s, size_t bytes, size_t before, size_t holders) {
    atomic_init(&s->shares, 1);
    atomic_init(&s->holders, holders);
    s->bytes = bytes;
    s->data = (char *)s + before;
    s->space = CT__HOST;
    s->foreign = false;
    s->release = NULL;
    s->context = NULL;
}

struct ct__storage *ct__new_storage(size_t bytes) {
    size_t total;
    struct ct__storage *s = ct__add_size(bytes, HEADER_BYTES, &total) ? ct__alloc(total) : NULL;
    if (s)
        set_storage(s, bytes, HEADER_BYTES, 1);
    return s;
}

void ct__take_share(struct ct__storage *s) {
    atomic_fetch_add_explicit(&s->shares, 1, memory_order_relaxed);
}

/* One share or holder less. Who has the only one need not write: another could come from it alone. */
static bool drop_last(_Atomic size_t *count) {
    return atomic_load_explicit(count, memory_order_acquire) == 1 ||
           // Release: our reads of the items come before their reuse; acquire: so do those of all others.
           atomic_fetch_sub_explicit(count, 1, memory_order_acq_rel) == 1;
}

static void drop_holder(struct ct__storage *s) {
    if (drop_last(&s->holders))
        ct__free(s);
}

void ct__drop_share(struct ct__storage *s) {
    if (!drop_last(&s->shares))
        return;
    if (s->release)
        s->release(s->context);
    drop_holder(s);
}

// --- descriptors

ct_status ct__fail_memory(const char *who, const ct_scalar *scalar, int rank,
                          const int64_t *shape) {
    char text[CT__SHAPE_TEXT_BYTES];
    ct__format_shape(text, sizeof text, rank, shape);
    return ct__fail(CT_ENOMEM, who, "there is no memory for a tensor of shape %s of %s", text,
                    scalar->name);
}

void ct__set_dense(ct_tensor *t, struct ct__storage *s) {
    t->storage = s;
    t->offset = 0;
    t->known_dense = true;
    ct__dense_strides(t->rank, t->shape, t->strides);
}

static inline void set_up(ct_tensor *t, const ct_scalar *scalar, int rank, const int64_t *shape,
                          size_t count) {
    // What lies beyond the rank is never set.
    t->scalar = scalar;
    t->storage = NULL;
    t->offset = 0;
    t->count = count;
    t->rank = rank;
    t->known_dense = false;
    t->names = NULL;
    t->home = NULL;
    for (int i = 0; i < rank; i++)
        t->shape[i] = shape[i];
}

ct_tensor *ct__new_descriptor(const ct_scalar *scalar, int rank, const int64_t *shape,
                              size_t count) {
    ct_tensor *t = ct__alloc(sizeof *t);
    if (t)
        set_up(t, scalar, rank, shape, count);
    return t;
}

// Descriptor and items in one block; shape and strides are not set yet. They are few: nothing overflows.
static inline ct_tensor *new_in_one(const ct_scalar *scalar, int rank, size_t count) {
    size_t before = HEADER_BYTES + DESCRIPTOR_BYTES, bytes = count * scalar->size;
    struct ct__storage *s = ct__alloc(before + bytes);
    if (!s)
        return NULL;
    set_storage(s, bytes, before, 2);
    ct_tensor *t = (ct_tensor *)(void *)((char *)s + HEADER_BYTES);
    t->scalar = scalar;
    t->home = t->storage = s;
    t->offset = 0;
    t->count = count;
    t->rank = rank;
    t->known_dense = true;
    t->names = NULL;
    return t;
}

static __attribute__((noinline)) ct_tensor *new_in_two(const ct_scalar *scalar, int rank,
                                                       const int64_t *shape, size_t count) {
    ct_tensor *t = ct__new_descriptor(scalar, rank, shape, count);
    struct ct__storage *s = t ? ct__new_storage(count * scalar->size) : NULL;
    if (s) {
        ct__set_dense(t, s);
        return t;
    }
    ct__free(t);
    return NULL;
}

ct_tensor *ct__null(const char *who) {
    ct__fail_null_operand(who);
    return NULL;
}

static inline bool is_small(const ct_scalar *scalar, size_t count) {
    return count * scalar->size <= MAX_COMMON_BYTES;
}

ct_tensor *ct__empty_of(const ct_scalar *scalar, int rank, const int64_t *shape, size_t count) {
    if (!is_small(scalar, count))
        return new_in_two(scalar, rank, shape, count);
    ct_tensor *t = new_in_one(scalar, rank, count);
    if (!t)
        return NULL;
    for (int i = 0; i < rank; i++)
        t->shape[i] = shape[i];
    ct__dense_strides(rank, shape, t->strides);
    return t;
}

ct_tensor *ct__empty(const char *who, const ct_scalar *scalar, int rank, const int64_t *shape) {
    size_t count;
    if (ct__check_shape(who, scalar, rank, shape, &count))
        return NULL;
    ct_tensor *t = ct__empty_of(scalar, rank, shape, count);
    if (!t)
        ct__fail_memory(who, scalar, rank, shape);
    return t;
}

ct_tensor *ct__empty_like(const ct_scalar *scalar, const ct_tensor *like) {
    if (!is_small(scalar, like->count))
        return new_in_two(scalar, like->rank, like->shape, like->count);
    ct_tensor *t = new_in_one(scalar, like->rank, like->count);
    if (!t)
        return NULL;
    memcpy(t->shape, like->shape, sizeof t->shape); // all of it: a size that is known
    if (like->known_dense)
        memcpy(t->strides, like->strides, sizeof t->strides);
    else
        ct__dense_strides(t->rank, t->shape, t->strides);
    return t;
}

ct_tensor *ct__share(const char *who, const ct_tensor *t) {
    ct_tensor *copy = ct__alloc(sizeof *copy);
    if (!copy)
        return ct__fail_null(CT_ENOMEM, who, "there is no memory for another descriptor");
    *copy = *t;
    copy->home = NULL;
    copy->known_dense = false;
    ct__take_share(copy->storage);
    if (copy->names)
        ct__names_take(copy->names);
    return copy;
}

ct_tensor *ct_copy(const ct_tensor *t) {
    if (!t)
        return ct__null(__func__);
    ct_tensor *copy = ct__share(__func__, t);
    if (copy)
        copy->known_dense = t->known_dense;
    return copy;
}

void ct_free(ct_tensor *t) {
    if (!t)
        return;
    struct ct__storage *home = t->home;
    if (t->names)
        ct__names_drop(t->names);
    // The only share of items beside which the descriptor lies: both holders of the block are ours.
    if (home && home == t->storage &&
        atomic_load_explicit(&home->shares, memory_order_acquire) == 1) {
        ct__free(home);
        return;
    }
    ct__drop_share(t->storage);
    if (home)
        drop_holder(home);
    else
        ct__free(t);
}

// --- writing

// Own storage with room for t's items and, where `keep`, their values. Nothing is touched yet.
struct ct__storage *ct__detached(const char *who, const ct_tensor *t, bool keep) {
    struct ct__storage *s = ct__new_storage(t->count * t->scalar->size);
    if (!s) {
        ct__fail_memory(who, t->scalar, t->rank, t->shape);
        return NULL;
    }
    if (keep)
        ct__copy_out(t, s->data);
    return s;
}

void ct__adopt(ct_tensor *t, struct ct__storage *s) {
    struct ct__storage *old = t->storage;
    ct__set_dense(t, s);
    ct__drop_share(old);
}

void *ct_data_for_write(ct_tensor *t) {
    if (!t)
        return ct__null(__func__);
    if (!ct__is_writable(t)) {
        struct ct__storage *s = ct__detached(__func__, t, true);
        if (!s)
            return NULL;
        ct__adopt(t, s);
    }
    return ct__first(t);
}
