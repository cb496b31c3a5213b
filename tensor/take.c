#include "tensor/index_impl.h"

#include "tensor/alloc.h"
#include "tensor/checked.h"
#include "tensor/ct_index.h"
#include "tensor/fail.h"

#include <inttypes.h>
#include <string.h>

// Rows of an axis of t, as an index chooses them: the shape they have together, and where they are.
struct choice {
    int axis; // -1: all items as one axis
    int rank;
    int64_t shape[CT_MAX_RANK];
    int from[CT_MAX_RANK]; // t's axis that an axis of the shape continues, or -1
    struct ct__places places;
};

// `who` may be NULL.
static ct_status set_shape(const char *who, const ct_tensor *t, const ct_tensor *index,
                           struct choice *c) {
    bool flat = c->axis < 0;
    int rank = flat ? index->rank : t->rank - 1 + index->rank, n = 0;
    if (rank > CT_MAX_RANK)
        return !who
                   ? CT_ESHAPE
                   : ct__fail(
                         CT_ESHAPE, who,
                         "an index of rank %d in place of an axis of a tensor of rank %d makes the "
                         "rank %d, over %d",
                         index->rank, t->rank, rank, CT_MAX_RANK);
    for (int i = 0; !flat && i < c->axis; i++, n++)
        c->shape[n] = t->shape[i], c->from[n] = i;
    for (int i = 0; i < index->rank; i++, n++) {
        c->shape[n] = index->shape[i];
        c->from[n] = index->rank == 1 && !flat ? c->axis : -1;
    }
    for (int i = c->axis + 1; !flat && i < t->rank; i++, n++)
        c->shape[n] = t->shape[i], c->from[n] = i;
    c->rank = rank;
    return CT_OK;
}

// All but the numbers of the index. `who` may be NULL.
static ct_status check_index(const char *who, const ct_tensor *t, int axis, const ct_tensor *index,
                             struct choice *c) {
    ct_status status = CT_OK;
    c->axis = -1;
    if (axis != CT_ALL)
        status = ct__check_axis(who, t->rank, axis, &c->axis);
    if (!status)
        status = ct__check_index_type(who, index);
    return status ? status : set_shape(who, t, index, c);
}

bool ct_can_take(const ct_tensor *t, int axis, const ct_tensor *index) {
    struct choice c;
    size_t count;
    return t && index && !check_index(NULL, t, axis, index, &c) &&
           ct__count_items(t->scalar->size, c.rank, c.shape, &count);
}

// Drop the places afterwards, unless this fails.
static ct_status choose(const char *who, const ct_tensor *t, int axis, const ct_tensor *index,
                        struct choice *c) {
    size_t count;
    ct_status status = check_index(who, t, axis, index, c);
    if (!status) // before memory is taken for as many places
        status = ct__check_shape(who, t->scalar, c->rank, c->shape, &count);
    if (status)
        return status;
    int64_t extent = c->axis < 0 ? (int64_t)t->count : t->shape[c->axis];
    return ct__read_places(who, index, c->axis, extent, &c->places);
}

// Turns row-major numbers of items into distances along t's strides.
static ct_status to_distances(const char *who, const ct_tensor *t, size_t n,
                              struct ct__places *places) {
    int64_t *own = places->own ? places->own : ct__alloc(n * sizeof *own);
    if (!own)
        return ct__fail(CT_ENOMEM, who, "there is no memory for %zu indices", n);
    for (size_t j = 0; j < n; j++) {
        int64_t index[CT_MAX_RANK], distance = 0;
        ct__unravel(t->rank, t->shape, (size_t)places->at[j], index);
        for (int i = 0; i < t->rank; i++)
            distance += index[i] * t->strides[i];
        own[j] = distance;
    }
    places->at = places->own = own;
    return CT_OK;
}

// The step of a flat index, where one step walks all items of t in order.
static bool find_flat_step(const ct_tensor *t, int64_t *step) {
    struct ct__nest nest = ct__nest_of(t->rank, t->shape, t->strides, t->strides);
    ct__nest_fuse(&nest);
    *step = nest.rank == 1 ? nest.step[0][0] : 1;
    return nest.rank <= 1;
}

// The rows of t beside those of dense memory; t has items, and so have the rows.
static ct_status start_rows(const char *who, const ct_tensor *t, struct choice *c, size_t n,
                            char *dense, struct ct__rows *r) {
    ptrdiff_t size = (ptrdiff_t)t->scalar->size;
    int64_t step = 1;
    if (c->axis < 0 && !find_flat_step(t, &step) && to_distances(who, t, n, &c->places))
        return CT_ENOMEM;
    if (c->axis < 0)
        ct__rows_start(r, t, 0, t->rank, n, c->places.at, step * size, dense);
    else
        ct__rows_start(r, t, c->axis, c->axis + 1, n, c->places.at, t->strides[c->axis] * size,
                       dense);
    return CT_OK;
}

// The rows of t as dense memory of the choice's shape; t has items, and so has the result.
static ct_status take_into(const char *who, const ct_tensor *t, size_t n, struct choice *c,
                           ct_tensor *out) {
    struct ct__rows rows;
    ct_status status = start_rows(who, t, c, n, ct__first(out), &rows);
    if (status == CT_OK)
        ct__rows_take(&rows);
    return status;
}

static int64_t magnitude(int64_t stride) {
    return stride < 0 ? -stride : stride; // a stride that is walked is never INT64_MIN
}

// Whether axis i of t lies in longer steps than axis j, so that it belongs further out. A repeated
// axis may stay where it is.
static bool is_outer(const ct_tensor *t, int i, int j) {
    return t->shape[i] > 1 && t->strides[j] != 0 &&
           magnitude(t->strides[i]) > magnitude(t->strides[j]);
}

// The axes of t from the longest stride to the shortest, in `order`; whether that moves any.
static bool find_memory_order(const ct_tensor *t, int *order) {
    bool moves = false;
    for (int i = 0; i < t->rank; i++) {
        int j = i;
        for (; j > 0 && is_outer(t, i, order[j - 1]); j--)
            order[j] = order[j - 1];
        order[j] = i;
        moves = moves || j != i;
    }
    return moves;
}

// Takes in the order in which t lies in memory, and turns the result: rows of a transposed tensor
// lie an item here and an item there.
static ct_status take_turned(const char *who, const ct_tensor *t, size_t n, const struct choice *c,
                             const int *order, ct_tensor *out) {
    ct_tensor turned = *t, index = {.rank = out->rank - t->rank + 1};
    struct choice chosen = {.places = c->places};
    int64_t strides[CT_MAX_RANK]; // of the result, in the order of memory
    int k = 0;
    for (int i = 0; i < index.rank; i++)
        index.shape[i] = c->shape[c->axis + i];
    for (int i = 0; i < t->rank; i++) {
        turned.shape[i] = t->shape[order[i]];
        turned.strides[i] = t->strides[order[i]];
        if (order[i] == c->axis)
            chosen.axis = i;
        for (int j = 0; order[i] == c->axis && j < index.rank; j++)
            strides[k++] = out->strides[c->axis + j];
        if (order[i] != c->axis)
            strides[k++] = out->strides[order[i] < c->axis ? order[i] : order[i] + index.rank - 1];
    }
    if (set_shape(who, &turned, &index, &chosen))
        return CT_ESHAPE;
    ct_tensor *taken = ct__empty(who, t->scalar, chosen.rank, chosen.shape);
    if (!taken)
        return CT_ENOMEM;
    ct_status status = take_into(who, &turned, n, &chosen, taken);
    ct__copy_items(t->scalar->size, chosen.rank, chosen.shape, ct__first(taken), taken->strides,
                   ct__first(out), strides);
    ct_free(taken);
    return status;
}

enum { MANY = 1 << 12 }; // items: worth turning

static ct_tensor *take(const char *who, const ct_tensor *t, size_t n, struct choice *c) {
    int order[CT_MAX_RANK];
    ct_status status = CT_OK;
    ct_tensor *out = ct__empty(who, t->scalar, c->rank, c->shape);
    if (out && out->count >= MANY && c->axis >= 0 && find_memory_order(t, order))
        status = take_turned(who, t, n, c, order, out);
    else if (out && out->count > 0)
        status = take_into(who, t, n, c, out);
    if (status) {
        ct_free(out);
        return NULL;
    }
    if (out)
        ct__names_from(out, t, c->from);
    return out;
}

ct_tensor *ct_take(const ct_tensor *t, int axis, const ct_tensor *index) {
    struct choice c;
    if (!t || !index)
        return ct__null(__func__);
    if (choose(__func__, t, axis, index, &c))
        return NULL;
    ct_tensor *out = take(__func__, t, index->count, &c);
    ct__drop_places(&c.places);
    return out;
}

// --- the other way

// Writes the rows of the source into `out`, a dense copy of its own; by a reduction unless NULL.
static ct_status write_rows(const char *who, ct_tensor *out, struct choice *c, size_t n,
                            const ct_tensor *source, const struct ct__combiner *by) {
    struct ct__rows rows;
    const char *x, *z;
    if (source->count == 0)
        return CT_OK;
    ct_tensor *dense = ct_is_dense(source) ? NULL : ct__dense_copy(who, source);
    if (!dense && !ct_is_dense(source))
        return CT_ENOMEM;
    ct_status status = start_rows(who, out, c, n, ct__first(dense ? dense : source), &rows);
    if (status == CT_OK && !by)
        ct__rows_put(&rows);
    else if (status == CT_OK && !ct__rows_combine(&rows, by, &x, &z))
        status = ct__fail_combine(who, by, out, x, z);
    ct_free(dense);
    return status;
}

static ct_tensor *written(const char *who, const ct_tensor *t, struct choice *c, size_t n,
                          const ct_tensor *source, const struct ct__combiner *by) {
    if (ct__check_source(who, t, source, c->rank, c->shape))
        return NULL;
    ct_tensor *out = ct__dense_copy(who, t);
    if (out && write_rows(who, out, c, n, source, by)) {
        ct_free(out);
        return NULL;
    }
    return out;
}

static ct_tensor *write_at(const char *who, const ct_tensor *t, int axis, const ct_tensor *index,
                           const ct_tensor *source, bool adds) {
    struct choice c;
    struct ct__combiner add;
    if (!t || !index || !source)
        return ct__null(who);
    if ((adds && ct__find_combiner(who, t->scalar, CT_OP_add, &add)) ||
        choose(who, t, axis, index, &c))
        return NULL;
    ct_tensor *out = written(who, t, &c, index->count, source, adds ? &add : NULL);
    ct__drop_places(&c.places);
    return out;
}

ct_tensor *ct_index_copy(const ct_tensor *t, int axis, const ct_tensor *index,
                         const ct_tensor *source) {
    return write_at(__func__, t, axis, index, source, false);
}

ct_tensor *ct_index_add(const ct_tensor *t, int axis, const ct_tensor *index,
                        const ct_tensor *source) {
    return write_at(__func__, t, axis, index, source, true);
}

// --- rows chosen otherwise than by index

// The choice of `count` rows of an axis, all of t's axes kept; -1: of all items.
static struct choice choose_rows(const ct_tensor *t, int axis, int64_t *places, size_t count) {
    struct choice c = {.axis = axis, .rank = 1, .from = {-1}, .places = {places, places}};
    if (axis >= 0) {
        c.rank = t->rank;
        memcpy(c.shape, t->shape, sizeof c.shape);
        for (int i = 0; i < t->rank; i++)
            c.from[i] = i;
    }
    c.shape[axis < 0 ? 0 : axis] = (int64_t)count;
    return c;
}

static int64_t *new_places(const char *who, size_t count) {
    size_t bytes;
    int64_t *places = ct__mul_size(count, sizeof *places, &bytes) ? ct__alloc(bytes) : NULL;
    if (!places)
        ct__fail(CT_ENOMEM, who, "there is no memory for %zu indices", count);
    return places;
}

// Looks an axis up, -1 for CT_ALL, and checks the rank 1 of what chooses among its items.
static ct_status check_chooser(const char *who, const ct_tensor *t, int axis, const char *what,
                               const ct_tensor *chooser, int *found, int64_t *extent) {
    *found = -1;
    if (axis != CT_ALL && ct__check_axis(who, t->rank, axis, found))
        return CT_EAXIS;
    *extent = *found < 0 ? (int64_t)t->count : t->shape[*found];
    if (chooser->rank != 1)
        return ct__fail(CT_ESHAPE, who, "the %s needs rank 1 and has rank %d", what, chooser->rank);
    return CT_OK;
}

// The places of the true items of a mask of rank 1.
static size_t true_places(const ct_tensor *mask, int64_t *places) {
    size_t count = 0;
    const char *item = ct__first(mask);
    for (int64_t i = 0; i < mask->shape[0]; i++, item += mask->strides[0]) {
        places[count] = i;
        count += *item != 0;
    }
    return count;
}

ct_tensor *ct_compress(const ct_tensor *t, int axis, const ct_tensor *mask) {
    int64_t extent;
    if (!t || !mask)
        return ct__null(__func__);
    if (mask->scalar != CT_BOOL)
        return ct__fail_null(CT_EDTYPE, __func__, "a mask needs the scalar type bool and is %s",
                             mask->scalar->name);
    if (check_chooser(__func__, t, axis, "mask", mask, &axis, &extent))
        return NULL;
    if (mask->shape[0] > extent)
        return ct__fail_null(CT_ESHAPE, __func__,
                             "a mask of %" PRId64 " items is too long for an extent of %" PRId64,
                             mask->shape[0], extent);
    // One more: the place of a last item that is not true is written before it is known.
    int64_t *places = new_places(__func__, mask->count + 1);
    if (!places)
        return NULL;
    size_t count = true_places(mask, places);
    struct choice c = choose_rows(t, axis, places, count);
    ct_tensor *out = take(__func__, t, count, &c);
    ct__drop_places(&c.places);
    return out;
}

static ct_status check_counts(const char *who, size_t n, const int64_t *counts, int64_t *total) {
    *total = 0;
    for (size_t i = 0; i < n; i++) {
        if (counts[i] < 0)
            return ct__fail(CT_ESHAPE, who,
                            "the number of repeats %" PRId64 " at [%zu] is negative", counts[i], i);
        if (!ct__add_i64(*total, counts[i], total))
            return ct__fail(CT_EOVERFLOW, who, "the numbers of repeats add up to too many");
    }
    return CT_OK;
}

// Each item of an axis as often as its count says, with the result's shape checked first.
static ct_tensor *repeat_each(const char *who, const ct_tensor *t, int axis, size_t n,
                              const int64_t *counts) {
    int64_t total;
    size_t bytes;
    if (check_counts(who, n, counts, &total))
        return NULL;
    struct choice c = choose_rows(t, axis, NULL, (size_t)total);
    if (ct__check_shape(who, t->scalar, c.rank, c.shape, &bytes))
        return NULL;
    int64_t *places = new_places(who, (size_t)total), *place = places;
    if (!places)
        return NULL;
    for (size_t i = 0; i < n; i++)
        for (int64_t k = 0; k < counts[i]; k++)
            *place++ = (int64_t)i;
    c = choose_rows(t, axis, places, (size_t)total);
    ct_tensor *out = take(who, t, (size_t)total, &c);
    ct__drop_places(&c.places);
    return out;
}

ct_tensor *ct_repeat_each(const ct_tensor *t, int axis, const ct_tensor *counts) {
    int64_t extent;
    if (!t || !counts)
        return ct__null(__func__);
    if (counts->scalar != CT_I64 && counts->scalar != CT_I32)
        return ct__fail_null(CT_EDTYPE, __func__,
                             "numbers of repeats need the scalar type i64 or i32 and are %s",
                             counts->scalar->name);
    if (check_chooser(__func__, t, axis, "list of repeats", counts, &axis, &extent))
        return NULL;
    if (counts->shape[0] != extent)
        return ct__fail_null(CT_ESHAPE, __func__,
                             "%" PRId64 " numbers of repeats were given for an extent of %" PRId64,
                             counts->shape[0], extent);
    int64_t *numbers = new_places(__func__, counts->count);
    if (!numbers)
        return NULL;
    ct__copy_index(counts, numbers);
    ct_tensor *out = repeat_each(__func__, t, axis, counts->count, numbers);
    ct__free(numbers);
    return out;
}
