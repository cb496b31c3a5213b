#include "scarce_memory.h"
#include "tensor_tools.h"
#include "view_chains.h"

#include "ct_test.h"
#include "dual/ct_dual.h"
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

static const size_t opaque_sizes[] = {1, 2, 4, 8, 12, 16};

/* Bytes of which nothing is known: the required slots are never called. */
static ct_scalar opaque_of(size_t size) {
    ct_scalar opaque = ct_scalar_f64;
    opaque.name = "opaque";
    opaque.size = size;
    opaque.align = 1;
    opaque.traits = 0;
    return opaque;
}

START_TEST(copies_of_every_size) {
    ct_scalar opaque = opaque_of(opaque_sizes[_i]);
    const ct_scalar *scalar = &opaque;
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

// --- every view, on every type and layout, under every kind of writing

static ct_tensor *a_slice(const ct_tensor *t) {
    return ct_slice(t, 1, -1, CT_END, -2);
}

static ct_tensor *a_slice_all(const ct_tensor *t) {
    return ct_slice_all(t, 2, (int64_t[]){1, 0}, NULL, (int64_t[]){1, 2});
}

static ct_tensor *a_select(const ct_tensor *t) {
    return ct_select(t, 0, -1);
}

static ct_tensor *a_swap(const ct_tensor *t) {
    return ct_swap_axes(t, 0, -1);
}

static ct_tensor *a_permutation(const ct_tensor *t) {
    return ct_permute(t, AXES(1, 0));
}

static ct_tensor *a_moved_axis(const ct_tensor *t) {
    return ct_move_axis(t, -1, 0);
}

static ct_tensor *a_reshape(const ct_tensor *t) {
    return ct_reshape(t, SHAPE(3, 2, -1));
}

static ct_tensor *a_flat_one(const ct_tensor *t) {
    return ct_flatten(t, 0, -1);
}

static ct_tensor *a_wider_one(const ct_tensor *t) {
    return ct_expand_dims(t, 1);
}

static ct_tensor *a_squeeze(const ct_tensor *t) {
    ct_tensor *row = ct_slice(t, 0, 1, 2, 1), *view = ct_squeeze(row, 0);
    ct_free(row);
    return view;
}

static ct_tensor *a_squeeze_of_several(const ct_tensor *t) {
    ct_tensor *one = ct_slice_all(t, 2, NULL, (int64_t[]){1, 1}, NULL);
    ct_tensor *view = ct_squeeze_axes(one, AXES(-1, 0));
    ct_free(one);
    return view;
}

static ct_tensor *a_flip(const ct_tensor *t) {
    return ct_flip(t, 1);
}

static ct_tensor *a_flip_of_several(const ct_tensor *t) {
    return ct_flip_axes(t, AXES(0, 1));
}

static ct_tensor *a_broadcast(const ct_tensor *t) {
    return ct_broadcast_to(t, SHAPE(2, 3, 4));
}

static ct_tensor *a_diagonal(const ct_tensor *t) {
    return ct_diagonal(t, 1, 0, 1);
}

static ct_tensor *an_unfold(const ct_tensor *t) {
    return ct_unfold(t, 1, 3, 1);
}

static ct_tensor *a_part(const ct_tensor *t) {
    ct_tensor *parts[2] = {NULL};
    ct_split(t, 1, 2, parts);
    ct_free(parts[0]);
    return parts[1];
}

static ct_tensor *a_view_of_a_view(const ct_tensor *t) {
    ct_tensor *flipped = ct_flip(t, 0), *view = ct_unfold(flipped, 0, 2, 1);
    ct_free(flipped);
    return view;
}

static const struct {
    const char *name;
    ct_tensor *(*make)(const ct_tensor *t); // of a tensor of [3, 4]
    int rank;
    int64_t shape[3];
    double items[24]; // of 0, 1, 2, ...
} views[] = {
    {"copy", ct_copy, 2, {3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
    {"slice", a_slice, 2, {3, 2}, {3, 1, 7, 5, 11, 9}},
    {"slice_all", a_slice_all, 2, {2, 2}, {4, 6, 8, 10}},
    {"select", a_select, 1, {4}, {8, 9, 10, 11}},
    {"transpose", ct_transpose, 2, {4, 3}, {0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}},
    {"swap_axes", a_swap, 2, {4, 3}, {0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}},
    {"permute", a_permutation, 2, {4, 3}, {0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}},
    {"move_axis", a_moved_axis, 2, {4, 3}, {0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}},
    {"reshape", a_reshape, 3, {3, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
    {"flatten", a_flat_one, 1, {12}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
    {"expand_dims", a_wider_one, 3, {3, 1, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
    {"squeeze", a_squeeze, 1, {4}, {4, 5, 6, 7}},
    {"squeeze_axes", a_squeeze_of_several, 0, {0}, {0}},
    {"flip", a_flip, 2, {3, 4}, {3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8}},
    {"flip_axes", a_flip_of_several, 2, {3, 4}, {11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0}},
    {"broadcast_to", a_broadcast, 3, {2, 3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
                                                 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
    {"diagonal", a_diagonal, 1, {3}, {1, 6, 11}},
    {"unfold", an_unfold, 3, {3, 2, 3}, {0, 1, 2, 1, 2, 3, 4, 5, 6, 5, 6, 7, 8, 9, 10, 9, 10, 11}},
    {"split", a_part, 2, {3, 2}, {2, 3, 6, 7, 10, 11}},
    {"of a view",
     a_view_of_a_view,
     3,
     {2, 4, 2},
     {8, 4, 9, 5, 10, 6, 11, 7, 4, 0, 5, 1, 6, 2, 7, 3}},
};

static const ct_scalar *const types[] = {CT_F32,  CT_F64,    CT_I64,
                                         CT_BOOL, CT_DUAL32, &ct_scalar_dual64_2};

// A tensor of [3, 4] that lies in memory as 0 dense, 1 transposed, 2 backwards, 3 with gaps and an
// offset, 4 in foreign memory; its items are `values`.
static ct_tensor *laid_out(int layout, const ct_scalar *scalar, const double *values,
                           void *buffer) {
    double wide[60] = {0};
    ct_tensor *base = NULL, *t = NULL;
    if (layout == 1) {
        for (int i = 0; i < 12; i++)
            wide[i % 4 * 3 + i / 4] = values[i];
        base = ct_from_doubles(scalar, SHAPE(4, 3), 12, wide);
        t = ct_transpose(base);
    } else if (layout == 2) {
        for (int i = 0; i < 12; i++)
            wide[11 - i] = values[i];
        base = ct_from_doubles(scalar, SHAPE(3, 4), 12, wide);
        t = ct_flip(base, CT_ALL);
    } else if (layout == 3) {
        for (int i = 0; i < 12; i++)
            wide[(i / 4 + 1) * 12 + i % 4 * 3 + 2] = values[i];
        base = ct_from_doubles(scalar, SHAPE(5, 12), 60, wide);
        t = ct_slice_all(base, 2, (int64_t[]){1, 2}, (int64_t[]){4, CT_END}, (int64_t[]){1, 3});
    } else {
        base = ct_from_doubles(scalar, SHAPE(3, 4), 12, values);
        ct_to_items(base, 12 * scalar->size, buffer);
        t = layout == 0
                ? ct_copy(base)
                : ct_tensor_over(scalar, SHAPE(3, 4), (int64_t[]){4, 1}, 0, buffer, 12, NULL, NULL);
    }
    ct_free(base);
    return t;
}

enum { LAYOUTS = 5 };

START_TEST(every_view) {
    _Alignas(64) char buffer[12 * 64];
    for (int kind = 0; kind < COUNT(types); kind++)
        for (int layout = 0; layout < LAYOUTS; layout++) {
            double values[12], expected[24];
            for (int i = 0; i < 12; i++)
                values[i] = types[kind] == CT_BOOL ? i % 3 == 0 : i;
            ct_tensor *t = laid_out(layout, types[kind], values, buffer);
            size_t blocks = ct_live_blocks();
            ct_tensor *view = views[_i].make(t);
            bool copied = views[_i].make == a_reshape || views[_i].make == a_flat_one;
            ck_assert(copied || ct_shares_storage(view, t));
            ck_assert_uint_le(ct_live_blocks() - blocks, 2);
            size_t count = ct_count(view);
            for (size_t i = 0; i < count; i++)
                expected[i] = values[(int)views[_i].items[i]];
            assert_items(view, views[_i].rank, views[_i].shape, count, expected);
            ct_free(view);
            ck_assert_uint_eq(ct_live_blocks(), blocks);
            ct_free(t);
        }
}
END_TEST

static void write_somehow(ct_tensor *t, int how) {
    int64_t index[CT_MAX_RANK];
    for (int i = 0; i < ct_rank(t); i++)
        index[i] = -1;
    double *items = NULL;
    if (how == 0)
        ck_assert_int_eq(ct_set(t, ct_rank(t), index, -5), CT_OK);
    else if (how == 1)
        ck_assert_int_eq(ct_fill(t, -6), CT_OK);
    else
        ck_assert_ptr_nonnull(items = ct_data_for_write(t));
    for (size_t i = 0; items && i < ct_count(t); i++)
        items[i] = -7;
    ck_assert_int_eq(ct_check_tensor(t), CT_OK);
}

START_TEST(writes_never_show) {
    double buffer[24], values[12], before[24], after[24];
    for (int i = 0; i < 12; i++)
        values[i] = i;
    for (int layout = 0; layout < LAYOUTS; layout++)
        for (int how = 0; how < 6; how++) {
            ct_tensor *t = laid_out(layout, CT_F64, values, buffer), *view = views[_i].make(t);
            ct_tensor *written = how % 2 ? view : t, *kept = how % 2 ? t : view;
            size_t count = ct_count(kept);
            ck_assert_int_eq(ct_to_doubles(kept, count, before), CT_OK);
            write_somehow(written, how / 2);
            ck_assert_int_eq(ct_to_doubles(kept, count, after), CT_OK);
            ck_assert_msg(memcmp(before, after, count * sizeof *before) == 0,
                          "a write %d through %s of layout %d shows", how, views[_i].name, layout);
            for (int i = 0; i < 12; i++)
                ck_assert(layout != 4 || buffer[i] == i);
            ct_free(t);
            ct_free(view);
        }
}
END_TEST

// --- views at the edges: rank 0, no items, axes of one item

START_TEST(edges) {
    ct_tensor *one = ct_from_double(CT_F64, 7), *none_by_three = ct_zeros(CT_F64, SHAPE(0, 3));
    ct_tensor *line = counting(CT_F64, SHAPE(5)), *square = counting(CT_F64, SHAPE(3, 3));
    assert_and_free(ct_transpose(one), 0, NULL, ITEMS(7));
    assert_and_free(ct_transpose(line), SHAPE(5), ITEMS(0, 1, 2, 3, 4));
    assert_and_free(ct_permute(one, 0, NULL), 0, NULL, ITEMS(7));
    assert_and_free(ct_slice_all(one, 0, NULL, NULL, NULL), 0, NULL, ITEMS(7));
    assert_and_free(ct_flip(one, CT_ALL), 0, NULL, ITEMS(7));
    assert_and_free(ct_squeeze(one, CT_ALL), 0, NULL, ITEMS(7));
    assert_and_free(ct_flatten(one, 0, 0), SHAPE(1), ITEMS(7));
    assert_and_free(ct_broadcast_to(one, SHAPE(2, 0)), SHAPE(2, 0), 0, NULL);
    assert_and_free(ct_select(none_by_three, 1, 2), SHAPE(0), 0, NULL);
    assert_and_free(ct_flatten(none_by_three, 0, 1), SHAPE(0), 0, NULL);
    assert_and_free(ct_diagonal(none_by_three, 0, 0, 1), SHAPE(0), 0, NULL);
    assert_and_free(ct_unfold(none_by_three, 1, 2, 1), SHAPE(0, 2, 2), 0, NULL);
    assert_and_free(ct_unfold(none_by_three, 0, 0, 1), SHAPE(1, 3, 0), 0, NULL);
    assert_and_free(ct_unfold(line, 0, 2, 2), SHAPE(2, 2), ITEMS(0, 1, 2, 3));
    assert_and_free(ct_unfold(line, 0, 5, INT64_MAX), SHAPE(1, 5), ITEMS(0, 1, 2, 3, 4));
    assert_and_free(ct_unfold(line, 0, 0, 2), SHAPE(3, 0), 0, NULL);
    assert_and_free(ct_diagonal(square, -1, 0, 1), SHAPE(2), ITEMS(3, 7));
    assert_and_free(ct_diagonal(square, 2, 0, 1), SHAPE(1), ITEMS(2));
    assert_and_free(ct_diagonal(square, 1, 1, 0), SHAPE(2), ITEMS(3, 7));
    static const int64_t far[] = {3, -3, INT64_MAX, INT64_MIN, INT64_MIN + 1};
    for (int i = 0; i < COUNT(far); i++)
        assert_and_free(ct_diagonal(square, far[i], 0, 1), SHAPE(0), 0, NULL);
    assert_and_free(ct_slice_all(square, 1, NULL, NULL, (int64_t[]){-1}), SHAPE(3, 3),
                    ITEMS(6, 7, 8, 3, 4, 5, 0, 1, 2));
    ct_tensor *all[] = {one, none_by_three, line, square};
    for (int i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
}
END_TEST

START_TEST(what_slices_mean) {
    int64_t first = -7, count = -7, found[8];
    ck_assert(!ct_slice_range(4, 0, 4, 0, &first, &count) && first == -7 && count == -7);
    ck_assert(!ct_slice_range(-1, 0, 4, 1, &first, &count) && first == -7 && count == -7);
    ck_assert(!ct_slice_range(4, 0, 4, 1, NULL, &count) &&
              !ct_slice_range(4, 0, 4, 1, &first, NULL));
    ck_assert(ct_slice_range(INT64_MAX, INT64_MIN, CT_END, 1, &first, &count) && first == 0 &&
              count == INT64_MAX);
    ck_assert(ct_slice_range(INT64_MAX, -1, CT_END, INT64_MIN, &first, &count) &&
              first == INT64_MAX - 1 && count == 1);
    for (int64_t start = -6; start <= 6; start++)
        for (int64_t stop = -6; stop <= 6; stop++)
            for (int64_t step = -3; step <= 3; step++) {
                if (step == 0)
                    continue;
                int walked = python_slice(4, start, stop, step, found);
                ck_assert(ct_slice_range(4, start, stop, step, &first, &count));
                ck_assert(count == walked && first == (walked ? found[0] : 0));
            }
}
END_TEST

START_TEST(parts) {
    ct_tensor *t = counting(CT_F64, SHAPE(2, 5)), *p[8] = {NULL};
    ck_assert_int_eq(ct_split_sizes(t, -1, 3, (int64_t[]){2, 0, 3}, p), CT_OK);
    assert_and_free(p[0], SHAPE(2, 2), ITEMS(0, 1, 5, 6));
    assert_and_free(p[1], SHAPE(2, 0), 0, NULL);
    assert_and_free(p[2], SHAPE(2, 3), ITEMS(2, 3, 4, 7, 8, 9));
    ck_assert_int_eq(ct_split(t, 0, 2, p), CT_OK);
    assert_and_free(p[0], SHAPE(1, 5), ITEMS(0, 1, 2, 3, 4));
    assert_and_free(p[1], SHAPE(1, 5), ITEMS(5, 6, 7, 8, 9));
    ck_assert(ct_can_split(t, 1, 5) && !ct_can_split(t, 1, 2) && !ct_can_split(t, 1, 0) &&
              !ct_can_split(t, 2, 1) && !ct_can_split(NULL, 0, 1));
    ct_tensor *empty = ct_zeros(CT_F64, SHAPE(0));
    ck_assert_int_eq(ct_split_sizes(empty, 0, 0, NULL, NULL), CT_OK);
    ck_assert_int_eq(ct_split(empty, 0, 2, p), CT_OK);
    assert_and_free(p[0], SHAPE(0), 0, NULL);
    assert_and_free(p[1], SHAPE(0), 0, NULL);
    ck_assert_int_eq(ct_split(empty, 0, INT64_MAX, p), CT_ENOMEM);
    ct_free(empty);
    ct_free(t);
}
END_TEST

// --- memory

START_TEST(no_memory) {
    if (!make_memory_scarce()) // only where this is the process's first allocation
        return;
    ct_tensor *t = counting(CT_F64, SHAPE(3, 4));
    size_t before = ct_live_blocks();
    int needed = -1;
    for (ct_tensor *view = NULL; !view; needed++) {
        starve(needed + 1);
        view = views[_i].make(t);
        ck_assert(view || ct_error()->code == CT_ENOMEM);
        ck_assert_uint_eq(ct_live_blocks(), before + (view != NULL));
        ct_free(view);
        if (view)
            break;
    }
    ck_assert_int_ge(needed, 0);
    ct_free(t);
}
END_TEST

// --- chains

START_TEST(chains) {
    uint64_t state = (uint64_t)_i * 0x9E3779B97F4A7C15u + 1;
    for (int run = 0; run < 250; run++) {
        uint8_t bytes[120];
        for (size_t i = 0; i < sizeof bytes; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            bytes[i] = (uint8_t)(state >> 56);
        }
        run_view_chain(bytes, (size_t)(20 + run % 100));
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
    tcase_add_test(tc, what_slices_mean);
    tcase_add_loop_test(tc, reshapes, 0, 10);
    tcase_add_test(tc, open_extents);
    tcase_add_loop_test(tc, copies_of_every_size, 0, COUNT(opaque_sizes));
    tcase_add_loop_test(tc, every_view, 0, COUNT(views));
    tcase_add_loop_test(tc, writes_never_show, 0, COUNT(views));
    tcase_add_test(tc, edges);
    tcase_add_test(tc, parts);
    tcase_add_loop_test(tc, chains, 0, 10);
    suite_add_tcase(suite, tc);
    TCase *scarcity = tcase_create("memory");
    tcase_add_loop_test(scarcity, no_memory, 0, COUNT(views));
    suite_add_tcase(suite, scarcity);
    return suite;
}
