#include "tensor_tools.h"

#include "ct_test.h"
#include "tensor/ct_alloc.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_view(void);

// --- broadcasting, by the tables of NumPy's own tests

static json_t *load_tables(void) {
    const char *cases = getenv("CT_CASES");
    char path[1024];
    snprintf(path, sizeof path, "%s/broadcast/numpy_stride_tricks_tables.json",
             cases ? cases : "../shared/cases");
    json_t *root = json_load_file(path, 0, NULL);
    if (!root)
        ct_test_skip("the broadcasting tables are not there");
    return root;
}

static int read_shape(const json_t *json, int64_t shape[CT_MAX_RANK]) {
    int rank = (int)json_array_size(json);
    for (int i = 0; i < rank; i++)
        shape[i] = json_integer_value(json_array_get(json, (size_t)i));
    return rank;
}

// The broadcast of all shapes of a list, or -1.
static int broadcast_all(const json_t *shapes, int64_t result[CT_MAX_RANK]) {
    int rank = 0;
    for (size_t i = 0; i < json_array_size(shapes) && rank >= 0; i++) {
        int64_t shape[CT_MAX_RANK];
        int own = read_shape(json_array_get(shapes, i), shape);
        bool can = ct_can_broadcast(rank, result, own, shape);
        rank = ct_broadcast_shape(rank, result, own, shape, result);
        ck_assert_int_eq(can, rank >= 0);
    }
    return rank;
}

static void check_broadcast(const json_t *shapes, const json_t *expected) {
    int64_t found[CT_MAX_RANK] = {0}, wanted[CT_MAX_RANK] = {0};
    int rank = broadcast_all(shapes, found);
    char *text = json_dumps(shapes, JSON_COMPACT);
    ck_assert_msg(rank == (expected ? read_shape(expected, wanted) : -1), "%s", text);
    for (int i = 0; i < rank; i++)
        ck_assert_msg(found[i] == wanted[i], "%s", text);
    for (size_t i = 0; i < json_array_size(shapes) && rank >= 0; i++) {
        int64_t shape[CT_MAX_RANK];
        int own = read_shape(json_array_get(shapes, i), shape);
        ct_tensor *t = ct_ones(CT_F32, own, shape), *view = ct_broadcast_to(t, rank, found);
        ck_assert_msg(view && !ct_check_tensor(view), "%s", text);
        ct_free(t);
        ct_free(view);
    }
    free(text);
}

START_TEST(broadcast_tables) {
    json_t *root = load_tables(), *table;
    if (!root)
        return;
    const char *name;
    int checked = 0;
    json_object_foreach(json_object_get(root, "tables"), name, table) {
        bool pairs = strstr(name, "compatible_by") || strcmp(name, "test_same_as_ufunc") == 0;
        for (size_t i = 0; i < json_array_size(table); i++) {
            const json_t *row = json_array_get(table, i);
            if (strstr(name, "incompatible"))
                check_broadcast(row, NULL), checked++;
            else if (pairs)
                check_broadcast(json_array_get(row, 0), json_array_get(row, 1)), checked++;
        }
    }
    json_decref(root);
    ck_assert_int_gt(checked, 30);
}
END_TEST

START_TEST(broadcast_by_hand) {
    int64_t shape[8] = {42};
    ck_assert_int_eq(ct_broadcast_shape(SHAPE(2, 3), SHAPE(2), shape), -1);
    ck_assert_int_eq(shape[0], 42);
    ck_assert(!ct_can_broadcast(SHAPE(2, 1), SHAPE(0, 1)) &&
              ct_can_broadcast(SHAPE(1, 1), SHAPE(0, 1)));
    ck_assert(!ct_can_broadcast(SHAPE(-1), SHAPE(1)) && !ct_can_broadcast(9, shape, 0, NULL) &&
              !ct_can_broadcast(1, NULL, 0, NULL) && ct_can_broadcast(0, NULL, 0, NULL));
    ct_tensor *t = counting(CT_F64, SHAPE(2, 1)), *wide = ct_broadcast_to(t, SHAPE(2, 2, 3));
    assert_items(wide, SHAPE(2, 2, 3), ITEMS(0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1));
    ck_assert(!ct_is_dense(wide) && ct_data(wide) == ct_data(t));
    ck_assert(ct_same_shape(t, t) && !ct_same_shape(t, wide) && !ct_same_shape(t, NULL) &&
              !ct_same_shape(NULL, NULL));
    ct_free(t);
    ct_free(wide);
}
END_TEST

// --- slices, by Python's rules walked step by step

static int python_slice(int64_t n, int64_t start, int64_t stop, int64_t step, int64_t *found) {
    int count = 0;
    bool to_the_end = stop == CT_END;
    start = start < 0 ? start + n : start;
    stop = stop < 0 && !to_the_end ? stop + n : stop;
    if (step > 0) {
        start = start < 0 ? 0 : start;
        stop = to_the_end || stop > n ? n : stop;
        for (int64_t i = start; i < stop; i += step)
            found[count++] = i;
    } else {
        start = start >= n ? n - 1 : start;
        stop = to_the_end || stop < -1 ? -1 : stop;
        for (int64_t i = start; i > stop; i += step)
            found[count++] = i;
    }
    return count;
}

START_TEST(slices) {
    int64_t n = _i, found[8];
    ct_tensor *t = counting(CT_I64, SHAPE(2, n));
    for (int64_t start = -8; start <= 8; start++)
        for (int64_t bound = -9; bound <= 8; bound++)
            for (int64_t step = -3; step <= 3; step++) {
                int64_t stop = bound == -9 ? CT_END : bound;
                if (step == 0)
                    continue;
                int count = python_slice(n, start, stop, step, found);
                ct_tensor *view = ct_slice(t, -1, start, stop, step);
                double items[16];
                ck_assert_int_eq(ct_check_tensor(view), CT_OK);
                ck_assert_int_eq(ct_extent(view, 1), count);
                ck_assert_int_eq(ct_to_doubles(view, 2 * (size_t)count, items), CT_OK);
                for (int i = 0; i < 2 * count; i++)
                    ck_assert(items[i] == (double)(found[i % count] + (i < count ? 0 : n)));
                ct_free(view);
            }
    ct_free(t);
}
END_TEST

START_TEST(extreme_slices) {
    static const int64_t extremes[] = {INT64_MIN, INT64_MIN + 1, -3, -1, 0, 2, INT64_MAX};
    ct_tensor *t = counting(CT_I64, SHAPE(3));
    for (int i = 0; i < 7 * 7 * 7; i++) {
        int64_t start = extremes[i % 7], stop = extremes[i / 7 % 7], step = extremes[i / 49];
        ct_tensor *view = ct_slice(t, 0, start, stop, step);
        ck_assert(step == 0 ? view == NULL : ct_check_tensor(view) == CT_OK);
        ct_free(view);
    }
    ct_free(t);
}
END_TEST

// --- reshapes: a view exactly when strides for it exist

// Where the items of a tensor of at most 64 lie, in row-major order, relative to the first.
static int item_places(const ct_tensor *t, ptrdiff_t places[64]) {
    int count = (int)ct_count(t);
    for (int i = 0; i < count; i++) {
        places[i] = 0;
        for (int axis = ct_rank(t) - 1, rest = i; axis >= 0; axis--) {
            places[i] += rest % (int)ct_shape(t)[axis] * ct_strides(t)[axis];
            rest /= (int)ct_shape(t)[axis];
        }
    }
    return count;
}

static bool strides_exist(const ptrdiff_t *places, int count, int rank, const int64_t *shape) {
    ptrdiff_t strides[CT_MAX_RANK];
    for (int axis = rank - 1, step = 1; axis >= 0; step *= (int)shape[axis--])
        strides[axis] = shape[axis] > 1 ? places[step] : 0;
    for (int i = 0; i < count; i++) {
        ptrdiff_t place = 0;
        for (int axis = rank - 1, rest = i; axis >= 0; axis--) {
            place += rest % (int)shape[axis] * strides[axis];
            rest /= (int)shape[axis];
        }
        if (place != places[i])
            return false;
    }
    return true;
}

static const int64_t targets[][4] = {{24, 0},      {2, 12}, {12, 2},      {4, 6},    {6, 4},
                                     {3, 8},       {8, 3},  {2, 3, 4},    {4, 3, 2}, {2, 2, 2, 3},
                                     {3, 2, 2, 2}, {1, 24}, {1, 4, 1, 6}, {2, 6, 2}};

static ct_tensor *layout_of_24(int which) {
    ct_tensor *base = counting(CT_F64, SHAPE(4, 6)), *wide = counting(CT_F64, SHAPE(4, 12));
    ct_tensor *deep = counting(CT_F64, SHAPE(2, 3, 4)), *one = counting(CT_F64, SHAPE(1));
    ct_tensor *t = NULL;
    switch (which) {
    case 0:
        t = ct_copy(base);
        break;
    case 1:
        t = ct_transpose(base);
        break;
    case 2:
        t = ct_slice(wide, 1, 0, CT_END, 2);
        break;
    case 3:
        t = ct_slice(wide, 1, 0, 6, 1);
        break;
    case 4:
        t = ct_flip(base, 0);
        break;
    case 5:
        t = ct_flip(base, 1);
        break;
    case 6:
        t = ct_permute(deep, AXES(1, 0, 2));
        break;
    case 7:
        t = ct_permute(deep, AXES(1, 2, 0));
        break;
    case 8:
        t = ct_broadcast_to(one, SHAPE(2, 12));
        break;
    case 9:
        t = ct_slice(deep, 0, -1, CT_END, -1);
        break;
    }
    ct_tensor *parts[] = {base, wide, deep, one};
    for (int i = 0; i < COUNT(parts); i++)
        ct_free(parts[i]);
    return t;
}

START_TEST(reshapes) {
    ct_tensor *t = layout_of_24(_i);
    ptrdiff_t places[64];
    double before[24], after[24];
    int count = item_places(t, places);
    ck_assert_int_eq(ct_to_doubles(t, 24, before), CT_OK);
    for (int i = 0; i < COUNT(targets); i++) {
        int rank = 0;
        while (rank < 4 && targets[i][rank] > 0)
            rank++;
        bool view = ct_can_view_as(t, rank, targets[i]);
        ck_assert_msg(view == strides_exist(places, count, rank, targets[i]), "target %d", i);
        ct_tensor *other = ct_reshape(t, rank, targets[i]);
        ck_assert_int_eq(ct_data(other) == ct_data(t), view);
        ck_assert_int_eq(ct_check_tensor(other), CT_OK);
        ck_assert_int_eq(ct_to_doubles(other, 24, after), CT_OK);
        ck_assert_int_eq(memcmp(before, after, sizeof before), 0);
        ct_free(other);
    }
    ct_free(t);
}
END_TEST

START_TEST(open_extents) {
    ct_tensor *t = counting(CT_F64, SHAPE(2, 3)), *none_by_three = ct_zeros(CT_F64, SHAPE(0, 3));
    assert_and_free(ct_reshape(t, SHAPE(3, -1)), SHAPE(3, 2), ITEMS(0, 1, 2, 3, 4, 5));
    assert_and_free(ct_reshape(t, SHAPE(-1)), SHAPE(6), ITEMS(0, 1, 2, 3, 4, 5));
    assert_and_free(ct_reshape(none_by_three, SHAPE(-1, 3)), SHAPE(0, 3), 0, NULL);
    assert_and_free(ct_reshape(none_by_three, SHAPE(5, 0)), SHAPE(5, 0), 0, NULL);
    int64_t huge = (int64_t)1 << 62;
    assert_and_free(ct_reshape(none_by_three, SHAPE(huge, -1, huge)), SHAPE(huge, 0, huge), 0,
                    NULL);
    ck_assert(ct_can_reshape(t, SHAPE(3, -1)) && !ct_can_reshape(t, SHAPE(4, -1)));
    ck_assert(!ct_can_reshape(none_by_three, SHAPE(0, -1)) && ct_can_reshape(t, SHAPE(1, 6)));
    ck_assert(!ct_can_view_as(t, SHAPE(4, 2)) && !ct_can_reshape(t, 2, NULL));
    ct_tensor *one = ct_from_double(CT_F64, 7);
    assert_and_free(ct_reshape(one, SHAPE(1, 1)), SHAPE(1, 1), ITEMS(7));
    assert_and_free(ct_reshape(one, SHAPE(-1)), SHAPE(1), ITEMS(7));
    ct_free(one);
    ct_free(t);
    ct_free(none_by_three);
}
END_TEST

// --- copies of every item size, large enough for whole tiles and margins

static const ct_scalar opaque[] = {
    {.name = "o1", .size = 1, .align = 1},   {.name = "o2", .size = 2, .align = 1},
    {.name = "o4", .size = 4, .align = 1},   {.name = "o8", .size = 8, .align = 1},
    {.name = "o12", .size = 12, .align = 1}, {.name = "o16", .size = 16, .align = 1}};

START_TEST(copies_of_every_size) {
    const ct_scalar *scalar = &opaque[_i];
    int64_t shape[3] = {3, 70, 133};
    size_t size = scalar->size, count = 3 * 70 * 133;
    unsigned char *items = malloc(count * size), *found = malloc(count * size);
    for (size_t i = 0; i < count * size; i++)
        items[i] = (unsigned char)(i * 7 + i / 251);
    ct_tensor *t = ct_from_items(scalar, 3, shape, count, items);
    for (int permutation = 0; permutation < 6; permutation++) {
        static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                         {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
        const int *o = orders[permutation];
        ct_tensor *view = ct_permute(t, 3, o), *flipped = ct_flip(view, permutation % 3);
        ck_assert_int_eq(ct_to_items(flipped, count * size, found), CT_OK);
        int64_t extents[3] = {shape[o[0]], shape[o[1]], shape[o[2]]}, index[3];
        for (size_t i = 0; i < count; i++) {
            index[o[2]] = (int64_t)i % extents[2];
            index[o[1]] = (int64_t)i / extents[2] % extents[1];
            index[o[0]] = (int64_t)i / extents[2] / extents[1];
            int axis = o[permutation % 3];
            index[axis] = shape[axis] - 1 - index[axis];
            size_t from = (size_t)((index[0] * shape[1] + index[1]) * shape[2] + index[2]);
            ck_assert_int_eq(memcmp(found + i * size, items + from * size, size), 0);
        }
        ct_free(view);
        ct_free(flipped);
    }
    ct_free(t);
    free(items);
    free(found);
}
END_TEST

// --- chains of views against a model that moves items one by one. A chain is a string of bytes, so
// that a fuzzer can write it as well as a generator of random numbers.

enum { MOST = 1024 };

struct model {
    int rank;
    int64_t shape[CT_MAX_RANK];
    int count;
    double items[MOST];
};

struct program {
    const uint8_t *next, *end;
};

static int take(struct program *p, int below) {
    return p->next < p->end && below > 0 ? *p->next++ % below : 0;
}

// One step: where in the old shape an index of the new one comes from.
struct move {
    enum { SLICE, SELECT, PERMUTE, EXPAND, SQUEEZE, BROADCAST, RESHAPE } kind;
    int axis;
    int64_t start, step;
    int order[CT_MAX_RANK];
};

static void source_of(const struct move *move, const struct model *old, int rank, const int64_t *to,
                      int64_t *from) {
    int next = 0; // of the axes of `to` that an inserted axis shifts
    for (int i = 0; i < old->rank; i++) {
        bool inserted = (move->kind == SELECT && i == move->axis) ||
                        (move->kind == SQUEEZE && old->shape[i] == 1);
        if (move->kind == EXPAND && i == move->axis)
            next++;
        from[i] = inserted ? 0 : next < rank ? to[next++] : 0;
    }
    if (move->kind == SLICE)
        from[move->axis] = move->start + move->step * to[move->axis];
    if (move->kind == SELECT)
        from[move->axis] = move->start;
    for (int i = 0; i < old->rank && move->kind == PERMUTE; i++)
        from[move->order[i]] = to[i];
    for (int i = 0; i < old->rank && move->kind == BROADCAST; i++)
        from[i] = old->shape[i] == 1 ? 0 : to[i + rank - old->rank];
}

static void apply(struct model *m, const struct move *move, int rank, const int64_t *shape) {
    static struct model old;
    old = *m;
    m->rank = rank;
    m->count = 1;
    for (int i = 0; i < rank; i++)
        m->count *= (int)(m->shape[i] = shape[i]);
    for (int i = 0; i < m->count && move->kind != RESHAPE; i++) {
        int64_t to[CT_MAX_RANK], from[CT_MAX_RANK];
        for (int axis = rank - 1, rest = i; axis >= 0; axis--) {
            to[axis] = rest % shape[axis];
            rest /= (int)shape[axis];
        }
        source_of(move, &old, rank, to, from);
        int64_t at = 0;
        for (int axis = 0; axis < old.rank; axis++)
            at = at * old.shape[axis] + from[axis];
        m->items[i] = old.items[at];
    }
}

static int axis_of(struct program *p, int rank, int *counted) {
    int axis = take(p, rank);
    *counted = take(p, 2) ? axis - rank : axis;
    return axis;
}

static ct_tensor *step_slice(struct program *p, const ct_tensor *t, struct model *m) {
    int counted;
    struct move move = {.kind = SLICE, .axis = axis_of(p, m->rank, &counted)};
    int64_t n = m->shape[move.axis], positions[MOST], shape[CT_MAX_RANK];
    int64_t start = take(p, 2 * (int)n + 5) - n - 2, stop = take(p, 2 * (int)n + 6) - n - 3;
    int64_t step = take(p, 7) - 3;
    step = step == 0 ? 1 : step;
    stop = stop == -n - 3 ? CT_END : stop;
    memcpy(shape, m->shape, sizeof shape);
    shape[move.axis] = python_slice(n, start, stop, step, positions);
    move.start = shape[move.axis] ? positions[0] : 0;
    move.step = step;
    apply(m, &move, m->rank, shape);
    return ct_slice(t, counted, start, stop, step);
}

static ct_tensor *step_select(struct program *p, const ct_tensor *t, struct model *m) {
    int counted;
    struct move move = {.kind = SELECT, .axis = axis_of(p, m->rank, &counted)};
    int64_t n = m->shape[move.axis], shape[CT_MAX_RANK];
    if (n == 0)
        return ct_copy(t);
    move.start = take(p, (int)n);
    int64_t index = take(p, 2) ? move.start - n : move.start;
    for (int i = 0, to = 0; i < m->rank; i++)
        if (i != move.axis)
            shape[to++] = m->shape[i];
    apply(m, &move, m->rank - 1, shape);
    return ct_select(t, counted, index);
}

static ct_tensor *step_permute(struct program *p, const ct_tensor *t, struct model *m) {
    struct move move = {.kind = PERMUTE};
    int axes[CT_MAX_RANK], how = take(p, 3);
    int64_t shape[CT_MAX_RANK];
    for (int i = 0; i < m->rank; i++)
        move.order[i] = i;
    int a = take(p, m->rank), b = take(p, m->rank);
    if (how == 0 && m->rank >= 2)
        a = m->rank - 1, b = m->rank - 2;
    for (int i = m->rank - 1; i > 0 && how == 2; i--) {
        int j = take(p, i + 1), kept = move.order[i];
        move.order[i] = move.order[j];
        move.order[j] = kept;
    }
    if (how < 2)
        move.order[a] = b, move.order[b] = a;
    for (int i = 0; i < m->rank; i++) {
        shape[i] = m->shape[move.order[i]];
        axes[i] = take(p, 2) ? move.order[i] - m->rank : move.order[i];
    }
    if (m->rank >= 2 || how != 0)
        apply(m, &move, m->rank, shape);
    return how == 0   ? ct_transpose(t)
           : how == 1 ? ct_swap_axes(t, a, b - m->rank)
                      : ct_permute(t, m->rank, axes);
}

static ct_tensor *step_ones(struct program *p, const ct_tensor *t, struct model *m) {
    int64_t shape[CT_MAX_RANK];
    int to = 0;
    if (take(p, 2) && m->rank < CT_MAX_RANK - 1) {
        struct move move = {.kind = EXPAND, .axis = take(p, m->rank + 1)};
        for (int i = 0; i <= m->rank; i++)
            shape[i] = i == move.axis ? 1 : m->shape[to++];
        apply(m, &move, m->rank + 1, shape);
        return ct_expand_dims(t, take(p, 2) ? move.axis : move.axis - m->rank);
    }
    struct move move = {.kind = SQUEEZE};
    for (int i = 0; i < m->rank; i++)
        if (m->shape[i] != 1)
            shape[to++] = m->shape[i];
    apply(m, &move, to, shape);
    return ct_squeeze(t, CT_ALL);
}

static ct_tensor *step_broadcast(struct program *p, const ct_tensor *t, struct model *m) {
    struct move move = {.kind = BROADCAST};
    int extra = m->rank < 6 ? take(p, 2) : 0, rank = m->rank + extra;
    int64_t shape[CT_MAX_RANK], count = m->count;
    for (int i = 0; i < rank; i++) {
        shape[i] = i < extra ? 1 : m->shape[i - extra];
        int64_t wide = take(p, 4);
        if (shape[i] == 1 && count * wide <= MOST)
            count *= shape[i] = wide;
    }
    apply(m, &move, rank, shape);
    return ct_broadcast_to(t, rank, shape);
}

static ct_tensor *step_reshape(struct program *p, const ct_tensor *t, struct model *m) {
    static const int factors[] = {2, 3, 4, 5};
    struct move move = {.kind = RESHAPE};
    int64_t shape[CT_MAX_RANK];
    int rank = 0, rest = m->count;
    while (rank < 5 && take(p, 3)) {
        int factor = factors[take(p, 4)];
        if (rest > 0 && rest % factor == 0)
            rest /= factor, shape[rank++] = factor;
    }
    shape[rank++] = rest;
    bool view = ct_can_view_as(t, rank, shape);
    ct_tensor *result = NULL;
    if (m->count > 0 && take(p, 2)) {
        shape[rank - 1] = -1;
        result = ct_reshape(t, rank, shape);
        shape[rank - 1] = rest;
    } else {
        result = ct_reshape(t, rank, shape);
    }
    ck_assert(m->count == 0 || !view || ct_data(result) == ct_data(t));
    apply(m, &move, rank, shape);
    return result;
}

static ct_tensor *step_flip(struct program *p, const ct_tensor *t, struct model *m) {
    int counted;
    struct move move = {.kind = SLICE, .axis = axis_of(p, m->rank, &counted), .step = -1};
    int64_t shape[CT_MAX_RANK];
    memcpy(shape, m->shape, sizeof shape);
    move.start = shape[move.axis] - 1;
    apply(m, &move, m->rank, shape);
    return ct_flip(t, counted);
}

static ct_tensor *step_write(struct program *p, const ct_tensor *t, struct model *m) {
    ct_tensor *written = ct_copy(t);
    int64_t index[CT_MAX_RANK];
    int at = 0;
    for (int i = 0; i < m->rank && m->count > 0; i++) {
        index[i] = take(p, (int)m->shape[i]);
        at = at * (int)m->shape[i] + (int)index[i];
    }
    if (m->count > 0) {
        m->items[at] = -1 - take(p, 100);
        ck_assert_int_eq(ct_set(written, m->rank, index, m->items[at]), CT_OK);
    }
    return written;
}

static ct_tensor *step(struct program *p, const ct_tensor *t, struct model *m) {
    int kind = take(p, 9);
    if (m->rank == 0 && kind < 4)
        kind += 4;
    switch (kind) {
    case 0:
        return step_slice(p, t, m);
    case 1:
        return step_select(p, t, m);
    case 2:
        return step_permute(p, t, m);
    case 3:
        return step_flip(p, t, m);
    case 4:
        return step_ones(p, t, m);
    case 5:
        return step_broadcast(p, t, m);
    case 6:
        return step_reshape(p, t, m);
    case 7:
        return step_write(p, t, m);
    default:
        return ct_compact(t);
    }
}

// The sum over one axis, by the model; all values are whole, so that it is exact.
static void check_sum(struct program *p, const ct_tensor *t, const struct model *m) {
    int axis = take(p, m->rank);
    int64_t inner = 1;
    for (int i = axis + 1; i < m->rank; i++)
        inner *= m->shape[i];
    double sums[MOST] = {0}, found[MOST];
    int64_t n = m->rank ? m->shape[axis] : 1;
    for (int i = 0; i < m->count; i++)
        sums[i / (n * inner) * inner + i % inner] += m->items[i];
    ct_tensor *sum = m->rank ? ct_sum(t, axis, false) : ct_sum(t, CT_ALL, false);
    size_t count = ct_count(sum);
    ck_assert(count <= MOST || m->count == 0);
    if (count <= MOST) {
        ck_assert_int_eq(ct_to_doubles(sum, count, found), CT_OK);
        for (size_t i = 0; i < count; i++)
            ck_assert_msg(found[i] == sums[i], "sum %zu is %g, not %g", i, found[i], sums[i]);
    }
    ct_free(sum);
}

static void check_model(const ct_tensor *t, const struct model *m) {
    assert_items(t, m->rank, m->shape, (size_t)m->count, m->items);
    ct_tensor *dense = ct_compact(t);
    ck_assert(ct_is_dense(dense) && ct_tensor_equal(dense, t));
    const double *items = ct_data(dense);
    for (int i = 0; i < m->count; i++)
        ck_assert(items[i] == m->items[i]);
    ct_free(dense);
}

static void run_program(const uint8_t *bytes, size_t size) {
    static struct model base_model, model;
    struct program p = {bytes, bytes + size};
    int64_t shape[3] = {take(&p, 5), take(&p, 6), take(&p, 7)};
    ct_tensor *base = counting(CT_F64, 3, shape), *t = ct_copy(base);
    model = (struct model){.rank = 3, .count = (int)ct_count(base)};
    memcpy(model.shape, shape, sizeof shape);
    for (int i = 0; i < model.count; i++)
        model.items[i] = i;
    base_model = model;
    while (p.next < p.end) {
        ct_tensor *next = step(&p, t, &model);
        ct_free(t); // what a view is of may go before it
        t = next;
        check_model(t, &model);
        check_sum(&p, t, &model);
    }
    check_model(base, &base_model);
    ct_free(base);
    ct_free(t);
    ck_assert_uint_eq(ct_live_blocks(), 0);
}

START_TEST(chains) {
    uint64_t state = (uint64_t)_i * 0x9E3779B97F4A7C15u + 1;
    for (int run = 0; run < 300; run++) {
        uint8_t bytes[120];
        for (size_t i = 0; i < sizeof bytes; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            bytes[i] = (uint8_t)(state >> 56);
        }
        run_program(bytes, (size_t)(20 + run % 100));
    }
}
END_TEST

Suite *suite_view(void) {
    Suite *suite = suite_create("view");
    TCase *tc = tcase_create("view");
    tcase_add_test(tc, broadcast_tables);
    tcase_add_test(tc, broadcast_by_hand);
    tcase_add_loop_test(tc, slices, 0, 7);
    tcase_add_test(tc, extreme_slices);
    tcase_add_loop_test(tc, reshapes, 0, 10);
    tcase_add_test(tc, open_extents);
    tcase_add_loop_test(tc, copies_of_every_size, 0, COUNT(opaque));
    tcase_add_loop_test(tc, chains, 0, 10);
    suite_add_tcase(suite, tc);
    return suite;
}
