#include "tensor/tensor_impl.h"

#include "tensor/ct_index.h"
#include "tensor/fail.h"
#include "tensor/move.h"
#include "tensor/parallel.h"

#include <string.h>

// A mask is one byte per item, and all that is not 0 is true.

static ct_status check_type(const char *who, const ct_tensor *mask) {
    if (mask->scalar == CT_BOOL)
        return CT_OK;
    return ct__fail(CT_EDTYPE, who, "a mask needs the scalar type bool and is %s",
                    mask->scalar->name);
}

static ct_status check_mask(const char *who, const ct_tensor *t, const ct_tensor *mask) {
    int rank;
    int64_t shape[CT_MAX_RANK];
    if (check_type(who, mask))
        return CT_EDTYPE;
    if (mask->rank <= t->rank &&
        ct__broadcast_fault(t->rank, t->shape, mask->rank, mask->shape, &rank, shape) < 0 &&
        (rank == 0 || memcmp(shape, t->shape, sizeof *shape * (size_t)rank) == 0))
        return CT_OK;
    char from[CT__SHAPE_TEXT_BYTES], to[CT__SHAPE_TEXT_BYTES];
    ct__format_shape(from, sizeof from, mask->rank, mask->shape);
    ct__format_shape(to, sizeof to, t->rank, t->shape);
    return ct__fail(CT_ESHAPE, who,
                    "a mask of shape %s does not broadcast to the shape %s of the tensor", from,
                    to);
}

// Rows of t beside those of its mask and of a result, in row-major order; the steps are bytes.
enum { ITEMS, MASK, RESULT };

static struct ct__nest rows_of(const ct_tensor *t, const ct_tensor *mask) {
    struct ct__nest nest;
    int64_t dense[CT_MAX_RANK], size = (int64_t)t->scalar->size;
    ct__dense_strides(t->rank, t->shape, dense);
    ct__nest_start(&nest, 3);
    for (int i = 0; i < t->rank; i++)
        ct__nest_add(&nest, t->shape[i],
                     (int64_t[]){t->strides[i] * size,
                                 ct__stride_at(t->rank, i, mask->rank, mask->shape, mask->strides),
                                 dense[i] * size});
    ct__nest_fuse(&nest);
    ct__nest_have_row(&nest);
    return nest;
}

// --- filling

#define INLINE static inline __attribute__((always_inline))

INLINE void fill_row(size_t size, size_t n, const char *from, ptrdiff_t step, const char *mask,
                     ptrdiff_t mask_step, const char *value, char *restrict to) {
    for (size_t k = 0; k < n; k++, from += step, mask += mask_step, to += size)
        memcpy(to, *mask ? value : from, size);
}

static void fill_row_of(size_t size, size_t n, const char *from, ptrdiff_t step, const char *mask,
                        ptrdiff_t mask_step, const char *value, char *to) {
    switch (size) {
    case 1:
        fill_row(1, n, from, step, mask, mask_step, value, to);
        break;
    case 4:
        fill_row(4, n, from, step, mask, mask_step, value, to);
        break;
    case 8:
        fill_row(8, n, from, step, mask, mask_step, value, to);
        break;
    default:
        fill_row(size, n, from, step, mask, mask_step, value, to);
        break;
    }
}

struct filling {
    struct ct__nest nest;
    size_t size;
    const char *items, *mask, *value;
    char *result;
};

enum { GRAIN = 1 << 14 }; // items; fewer are not worth waking a thread for

static void fill_range(void *context, size_t begin, size_t end) {
    const struct filling *f = context;
    const struct ct__nest *nest = &f->nest;
    int row = nest->rank - 1;
    size_t extent = (size_t)nest->shape[row], k = begin % extent;
    struct ct__walk walk;
    ct__walk_start(&walk, nest, row, begin / extent);
    for (; begin < end; k = 0, ct__walk_next(&walk, nest, row)) {
        size_t n = extent - k < end - begin ? extent - k : end - begin;
        ptrdiff_t step = nest->step[ITEMS][row], mask_step = nest->step[MASK][row];
        fill_row_of(f->size, n, f->items + walk.at[ITEMS] + (ptrdiff_t)k * step, step,
                    f->mask + walk.at[MASK] + (ptrdiff_t)k * mask_step, mask_step, f->value,
                    f->result + begin * f->size);
        begin += n;
    }
}

// By the choice of an elementwise op, which is one pass at the speed of a copy.
static ct_tensor *choose(const char *who, const ct_tensor *t, const ct_tensor *mask, double value) {
    ct_tensor *item = ct__empty(who, t->scalar, 0, NULL), *out = NULL;
    if (item && ct__fill_new(who, item, value) == CT_OK)
        out = ct__apply(who, CT_OP_where, 3, (const ct_tensor *const[]){mask, item, t});
    ct_free(item);
    return out;
}

ct_tensor *ct_masked_fill(const ct_tensor *t, const ct_tensor *mask, double value) {
    const ct_tensor *const operands[] = {t, mask};
    if (!t || !mask)
        return ct__null(__func__);
    if (check_mask(__func__, t, mask))
        return NULL;
    if (t->scalar->traits & CT_PLAIN && !t->scalar->base && t->scalar != CT_BOOL &&
        ct_scalar_loop(t->scalar, CT_OP_where))
        return choose(__func__, t, mask, value);
    ct_tensor *out = ct__empty(__func__, t->scalar, t->rank, t->shape);
    ct_tensor *item = out ? ct__empty(__func__, t->scalar, 0, NULL) : NULL;
    if (!item || ct__fill_new(__func__, item, value) ||
        ct__names_merge(__func__, out, 2, operands)) {
        ct_free(item);
        ct_free(out);
        return NULL;
    }
    if (out->count > 0) {
        struct filling f = {rows_of(t, mask), t->scalar->size, ct__first(t),
                            ct__first(mask),  ct__first(item), ct__first(out)};
        ct__parallel_for(out->count, GRAIN, fill_range, &f);
    }
    ct_free(item);
    return out;
}

// --- selecting

static size_t count_true(size_t n, const char *mask, ptrdiff_t step) {
    size_t count = 0;
    if (step == 1)
        return ct__moves()->count(n, (const unsigned char *)mask);
    for (size_t k = 0; k < n; k++)
        count += mask[(ptrdiff_t)k * step] != 0;
    return count;
}

static size_t count_all(const struct ct__nest *nest, const ct_tensor *mask) {
    int row = nest->rank - 1;
    size_t count = 0, passes = ct__nest_passes(nest, row);
    struct ct__walk walk;
    ct__walk_start(&walk, nest, row, 0);
    for (size_t i = 0; i < passes; i++, ct__walk_next(&walk, nest, row))
        count += count_true((size_t)nest->shape[row], ct__first(mask) + walk.at[MASK],
                            nest->step[MASK][row]);
    return count;
}

// Without branches on the mask: each item is written, and stays where its mask is true.
INLINE char *select_row(size_t size, size_t n, const char *from, ptrdiff_t step, const char *mask,
                        ptrdiff_t mask_step, char *to, const char *end) {
    for (size_t k = 0; k < n && to < end; k++, from += step, mask += mask_step) {
        memcpy(to, from, size);
        to += *mask ? size : 0;
    }
    return to;
}

static char *select_row_of(size_t size, size_t n, const char *from, ptrdiff_t step,
                           const char *mask, ptrdiff_t mask_step, char *to, const char *end) {
    if ((size == 4 || size == 8) && step == (ptrdiff_t)size && mask_step == 1)
        return to + size * ct__moves()->select(size, n, from, (const unsigned char *)mask, to, end);
    if (size == 4)
        return select_row(4, n, from, step, mask, mask_step, to, end);
    if (size == 8)
        return select_row(8, n, from, step, mask, mask_step, to, end);
    return select_row(size, n, from, step, mask, mask_step, to, end);
}

static void select_all(const struct ct__nest *nest, const ct_tensor *t, const ct_tensor *mask,
                       ct_tensor *out) {
    int row = nest->rank - 1;
    char *to = ct__first(out), *end = to + out->count * out->scalar->size;
    struct ct__walk walk;
    ct__walk_start(&walk, nest, row, 0);
    for (; to < end; ct__walk_next(&walk, nest, row))
        to = select_row_of(t->scalar->size, (size_t)nest->shape[row], ct__first(t) + walk.at[ITEMS],
                           nest->step[ITEMS][row], ct__first(mask) + walk.at[MASK],
                           nest->step[MASK][row], to, end);
}

ct_tensor *ct_masked_select(const ct_tensor *t, const ct_tensor *mask) {
    if (!t || !mask)
        return ct__null(__func__);
    if (check_mask(__func__, t, mask))
        return NULL;
    if (t->count == 0)
        return ct__empty(__func__, t->scalar, 1, (int64_t[]){0});
    struct ct__nest nest = rows_of(t, mask);
    int64_t count = (int64_t)count_all(&nest, mask);
    ct_tensor *out = ct__empty(__func__, t->scalar, 1, &count);
    if (out)
        select_all(&nest, t, mask, out);
    return out;
}

// --- where

// A dense mask of the items that are not 0, or NULL.
static ct_tensor *mask_of(const char *who, const ct_tensor *t) {
    if (t->scalar == CT_BOOL)
        return ct_is_dense(t) ? ct__share(who, t) : ct__dense_copy(who, t);
    ct_tensor *zero = ct__empty(who, t->scalar, 0, NULL), *mask = NULL;
    if (zero && ct__fill_new(who, zero, 0) == CT_OK)
        mask = ct__apply(who, CT_OP_not_equal, 2, (const ct_tensor *const[]){t, zero});
    ct_free(zero);
    return mask;
}

static void next_row(int rank, const int64_t *shape, int64_t *index) {
    for (int i = rank - 2; i >= 0; i--) {
        if (++index[i] < shape[i])
            return;
        index[i] = 0;
    }
}

enum { CHUNK = 256 };

// The places of the true items among n <= CHUNK, without branches on the mask. Returns how many.
static size_t find_true(const char *mask, size_t n, uint16_t places[CHUNK]) {
    size_t count = 0;
    for (size_t k = 0; k < n; k++) {
        places[count] = (uint16_t)k;
        count += mask[k] != 0;
    }
    return count;
}

// Writes the indices of true items; `index` is that of the first. Returns where it ended.
static int64_t *write_chunk(int rank, const int64_t *index, const uint16_t *places, size_t count,
                            int64_t *to) {
    for (size_t j = 0; j < count; j++, to += rank) {
        for (int i = 0; i < rank - 1; i++) // few: no call
            to[i] = index[i];
        to[rank - 1] = index[rank - 1] + places[j];
    }
    return to;
}

static void write_indices(const ct_tensor *mask, size_t count, int64_t *to) {
    int rank = mask->rank;
    int64_t index[CT_MAX_RANK] = {0}, n = mask->shape[rank - 1];
    const int64_t *end = to + count * (size_t)rank;
    uint16_t places[CHUNK];
    const char *row = ct__first(mask);
    for (; to < end; row += n, next_row(rank, mask->shape, index))
        for (int64_t k = 0; k < n; k += CHUNK) {
            size_t found = find_true(row + k, (size_t)(n - k < CHUNK ? n - k : CHUNK), places);
            index[rank - 1] = k;
            to = write_chunk(rank, index, places, found, to);
        }
}

ct_tensor *ct_nonzero(const ct_tensor *t) {
    if (!t)
        return ct__null(__func__);
    ct_tensor *mask = mask_of(__func__, t);
    if (!mask)
        return NULL;
    size_t count = count_true(mask->count, ct__first(mask), 1);
    ct_tensor *out = ct__empty(__func__, CT_I64, 2, (int64_t[]){(int64_t)count, t->rank});
    if (out && t->rank > 0)
        write_indices(mask, count, (int64_t *)(void *)ct__first(out));
    ct_free(mask);
    return out;
}
