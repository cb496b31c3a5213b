#include "tensor/index_impl.h"

#include "tensor/alloc.h"
#include "tensor/ct_index.h"
#include "tensor/fail.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

ct_status ct__check_index_type(const char *who, const ct_tensor *index) {
    if (index->scalar == CT_I64 || index->scalar == CT_I32)
        return CT_OK;
    return who ? ct__fail(CT_EDTYPE, who, "an index needs the scalar type i64 or i32 and is %s",
                          index->scalar->name)
               : CT_EDTYPE;
}

static int64_t read_number(const char *item, bool wide) {
    int64_t x;
    int32_t y;
    if (wide) {
        memcpy(&x, item, sizeof x);
        return x;
    }
    memcpy(&y, item, sizeof y);
    return y;
}

// Calls nothing per item: a row at a time.
static void copy_numbers(size_t n, const char *from, ptrdiff_t step, bool wide, int64_t *to) {
    if (wide)
        for (size_t i = 0; i < n; i++, from += step)
            to[i] = read_number(from, true);
    else
        for (size_t i = 0; i < n; i++, from += step)
            to[i] = read_number(from, false);
}

void ct__copy_index(const ct_tensor *index, int64_t *to) {
    if (index->count == 0)
        return;
    struct ct__nest nest = ct__rows_of(index, index->strides);
    int row = nest.rank - 1;
    ptrdiff_t size = (ptrdiff_t)index->scalar->size;
    size_t n = (size_t)nest.shape[row];
    struct ct__walk walk;
    ct__walk_start(&walk, &nest, row, 0);
    for (size_t done = 0; done < index->count; done += n, ct__walk_next(&walk, &nest, row))
        copy_numbers(n, ct__first(index) + walk.at[0] * size, nest.step[0][row] * size,
                     index->scalar == CT_I64, to + done);
}

// The place of the first number that is not in [low, extent), or n.
static size_t find_outside(size_t n, const int64_t *at, int64_t low, int64_t extent) {
    bool outside = false;
    for (size_t i = 0; i < n; i++)
        outside |= at[i] < low || at[i] >= extent;
    for (size_t i = 0; outside && i < n; i++)
        if (at[i] < low || at[i] >= extent)
            return i;
    return n;
}

static ct_status fail_place(const char *who, const ct_tensor *index, size_t item, int64_t number,
                            int axis, int64_t extent) {
    char place[CT__SHAPE_TEXT_BYTES] = "", what[64];
    ct__format_index(place, sizeof place, index->rank, index->shape, item);
    if (axis >= 0)
        snprintf(what, sizeof what, "axis %d of extent %" PRId64, axis, extent);
    else
        snprintf(what, sizeof what, "a tensor of %" PRId64 " item%s", extent,
                 extent == 1 ? "" : "s");
    return ct__fail(CT_EINDEX, who, "the index %" PRId64 "%s%s is out of range for %s", number,
                    index->rank > 0 ? " at " : "", index->rank > 0 ? place : "", what);
}

ct_status ct__read_places(const char *who, const ct_tensor *index, int axis, int64_t extent,
                          struct ct__places *places) {
    size_t n = index->count;
    places->own = NULL;
    if (ct__check_index_type(who, index))
        return CT_EDTYPE;
    if (index->scalar == CT_I64 && ct_is_dense(index)) {
        places->at = (const int64_t *)(const void *)ct__first(index);
        if (find_outside(n, places->at, 0, extent) == n)
            return CT_OK;
    }
    int64_t *own = ct__alloc(n * sizeof *own); // one per item of a tensor: cannot overflow
    if (!own)
        return ct__fail(CT_ENOMEM, who, "there is no memory for %zu indices", n);
    ct__copy_index(index, own);
    size_t bad = find_outside(n, own, -extent, extent);
    if (bad < n) {
        int64_t number = own[bad];
        ct__free(own);
        return fail_place(who, index, bad, number, axis, extent);
    }
    for (size_t i = 0; i < n; i++)
        own[i] += own[i] < 0 ? extent : 0;
    places->at = places->own = own;
    return CT_OK;
}

void ct__drop_places(struct ct__places *places) {
    ct__free(places->own);
}

bool ct_is_index_for(const ct_tensor *index, int64_t extent) {
    if (!index || extent < 0 || ct__check_index_type(NULL, index))
        return false;
    if (index->count == 0)
        return true;
    struct ct__nest nest = ct__rows_of(index, index->strides);
    struct ct__walk walk;
    ct__walk_start(&walk, &nest, nest.rank, 0);
    for (size_t i = 0; i < index->count; i++, ct__walk_next(&walk, &nest, nest.rank)) {
        int64_t at = read_number(ct__first(index) + walk.at[0] * (ptrdiff_t)index->scalar->size,
                                 index->scalar == CT_I64);
        if (at < -extent || at >= extent)
            return false;
    }
    return true;
}

ct_status ct__check_source(const char *who, const ct_tensor *t, const ct_tensor *source, int rank,
                           const int64_t *shape) {
    if (source->scalar != t->scalar)
        return ct__fail(CT_EDTYPE, who, "the source needs the scalar type %s and is %s",
                        t->scalar->name, source->scalar->name);
    if (source->rank == rank &&
        (rank == 0 || memcmp(source->shape, shape, sizeof *shape * (size_t)rank) == 0))
        return CT_OK;
    char needed[CT__SHAPE_TEXT_BYTES], given[CT__SHAPE_TEXT_BYTES];
    ct__format_shape(needed, sizeof needed, rank, shape);
    ct__format_shape(given, sizeof given, source->rank, source->shape);
    return ct__fail(CT_ESHAPE, who, "the source needs the shape %s and has %s", needed, given);
}
