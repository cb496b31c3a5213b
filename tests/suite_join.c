#include "index_tools.h"

#include "tensor/ct_alloc.h"
#include "tensor/ct_index.h"
#include "tensor/ct_names.h"

#include <stdlib.h>
#include <string.h>

Suite *suite_join(void);

static const ct_scalar *scalar_of(int i) {
    return every_scalar[i % SCALARS];
}

static enum spread spread_of(int i) {
    return (enum spread)(i / SCALARS);
}

enum { ALL_CASES = SCALARS * SPREADS, PARTS = 3 };

static ct_tensor *random_case(uint64_t *state, int i, int s) {
    return spread_out(random_items(state, scalar_of(i), shape_cases[s].rank, shape_cases[s].shape),
                      spread_of(i));
}

// --- concatenation

struct parts {
    struct items part[PARTS];
    int axis;
};

static void concat_rule(const void *context, const int64_t *index, char *item) {
    const struct parts *p = context;
    int64_t at[CT_MAX_RANK];
    int i = 0;
    memcpy(at, index, sizeof *at * (size_t)p->part[0].rank);
    while (at[p->axis] >= p->part[i].shape[p->axis])
        at[p->axis] -= p->part[i++].shape[p->axis];
    memcpy(item, item_at(&p->part[i], at), p->part[i].scalar->size);
}

START_TEST(concat) {
    uint64_t state = (uint64_t)_i;
    for (int s = 1; s < SHAPES; s++)
        for (int axis = 0; axis < shape_cases[s].rank; axis++) {
            struct parts p = {.axis = axis};
            ct_tensor *t[PARTS];
            int64_t shape[CT_MAX_RANK], extent = 0;
            int rank = shape_cases[s].rank;
            memcpy(shape, shape_cases[s].shape, sizeof shape);
            for (int i = 0; i < PARTS; i++) {
                shape[axis] = i == 1 ? next_below(&state, 3) : shape_cases[s].shape[axis];
                extent += shape[axis];
                t[i] = spread_out(random_items(&state, scalar_of(_i), rank, shape),
                                  (enum spread)((_i / SCALARS + i) % SPREADS));
                p.part[i] = items_of(t[i]);
            }
            shape[axis] = extent;
            const ct_tensor *const list[PARTS] = {t[0], t[1], t[2]};
            ck_assert(ct_can_concat(PARTS, list, axis));
            expect_rule(ct_concat(PARTS, list, axis - rank), scalar_of(_i), rank, shape,
                        concat_rule, &p);
            for (int i = 0; i < PARTS; i++) {
                ct_free(t[i]);
                drop_items(&p.part[i]);
            }
        }
}
END_TEST

static void stack_rule(const void *context, const int64_t *index, char *item) {
    const struct parts *p = context;
    const struct items *part = &p->part[index[p->axis]];
    int64_t at[CT_MAX_RANK];
    for (int i = 0; i < part->rank; i++)
        at[i] = index[i + (i >= p->axis)];
    memcpy(item, item_at(part, at), part->scalar->size);
}

START_TEST(stack) {
    uint64_t state = (uint64_t)_i;
    for (int s = 0; s < SHAPES - 1; s++)
        for (int axis = 0; axis <= shape_cases[s].rank; axis++) {
            struct parts p = {.axis = axis};
            int64_t shape[CT_MAX_RANK];
            int rank = shape_cases[s].rank;
            for (int i = 0; i <= rank; i++)
                shape[i] = i == axis ? PARTS : shape_cases[s].shape[i - (i > axis)];
            ct_tensor *t[PARTS];
            for (int i = 0; i < PARTS; i++) {
                t[i] = random_case(&state, (_i + i * SCALARS) % ALL_CASES, s);
                p.part[i] = items_of(t[i]);
            }
            const ct_tensor *const list[PARTS] = {t[0], t[1], t[2]};
            expect_rule(ct_stack(PARTS, list, axis - rank - 1), scalar_of(_i), rank + 1, shape,
                        stack_rule, &p);
            for (int i = 0; i < PARTS; i++) {
                ct_free(t[i]);
                drop_items(&p.part[i]);
            }
        }
}
END_TEST

// bugs.md B157: a tensor with itself.
START_TEST(with_itself_b157) {
    ct_tensor *t = counting(CT_F64, SHAPE(2)), *view = ct_flip(t, 0);
    const ct_tensor *const list[] = {t, view, t};
    assert_and_free(ct_concat(3, list, 0), SHAPE(6), ITEMS(0, 1, 1, 0, 0, 1));
    assert_and_free(ct_stack(3, list, 1), SHAPE(2, 3), ITEMS(0, 1, 0, 1, 0, 1));
    ct_free(t);
    ct_free(view);
}
END_TEST

// --- one tensor, by a map from the places of each axis to those of t

struct mapped {
    struct items t, other;
    int axis; // -1: all items
    int64_t number;
    const int64_t *list;
    int mode;
};

static void repeat_rule(const void *context, const int64_t *index, char *item) {
    const struct mapped *m = context;
    int64_t at[CT_MAX_RANK];
    if (m->axis < 0) {
        memcpy(item, m->t.bytes + (size_t)(index[0] / m->number) * m->t.scalar->size,
               m->t.scalar->size);
        return;
    }
    memcpy(at, index, sizeof *at * (size_t)m->t.rank);
    at[m->axis] /= m->number;
    memcpy(item, item_at(&m->t, at), m->t.scalar->size);
}

static void check_repeat(ct_tensor *t, int axis, int64_t n) {
    struct mapped m = {.t = items_of(t), .axis = axis, .number = n};
    int64_t shape[CT_MAX_RANK];
    memcpy(shape, m.t.shape, sizeof shape);
    if (axis < 0)
        shape[0] = (int64_t)m.t.count;
    shape[axis < 0 ? 0 : axis] *= n;
    int rank = axis < 0 ? 1 : m.t.rank;
    expect_rule(ct_repeat(t, axis < 0 ? CT_ALL : axis, n), m.t.scalar, rank, shape, repeat_rule,
                &m);
    ct_tensor *counts =
        ct_full(n % 2 ? CT_I32 : CT_I64, 1,
                (int64_t[]){axis < 0 ? (int64_t)m.t.count : m.t.shape[axis]}, (double)n);
    expect_rule(ct_repeat_each(t, axis < 0 ? CT_ALL : axis, counts), m.t.scalar, rank, shape,
                repeat_rule, &m);
    ct_free(counts);
    drop_items(&m.t);
}

START_TEST(repeats) {
    uint64_t state = (uint64_t)_i;
    for (int s = 0; s < SHAPES; s++)
        for (int axis = -1; axis < shape_cases[s].rank; axis++)
            for (int64_t n = 0; n < 4; n++) {
                ct_tensor *t = random_case(&state, _i, s);
                check_repeat(t, axis, n);
                ct_free(t);
            }
}
END_TEST

// Runs long enough to be made item by item, and no room for another axis.
START_TEST(long_repeats) {
    uint64_t state = (uint64_t)_i;
    for (int s = 0; s < SHAPES; s++)
        for (int axis = -1; axis < shape_cases[s].rank; axis++) {
            ct_tensor *t = random_case(&state, _i, s);
            check_repeat(t, axis, 21);
            ct_free(t);
        }
}
END_TEST

START_TEST(repeats_by_counts) {
    ct_tensor *t = counting(CT_F64, SHAPE(2, 3));
    ct_tensor *counts = ct_from_doubles(CT_I64, SHAPE(3), 3, (double[]){2, 0, 1});
    ct_tensor *flipped = ct_flip(counts, 0);
    assert_and_free(ct_repeat_each(t, 1, counts), SHAPE(2, 3), ITEMS(0, 0, 2, 3, 3, 5));
    assert_and_free(ct_repeat_each(t, -1, flipped), SHAPE(2, 3), ITEMS(0, 2, 2, 3, 5, 5));
    ct_free(t);
    ct_free(counts);
    ct_free(flipped);
}
END_TEST

static void tile_rule(const void *context, const int64_t *index, char *item) {
    const struct mapped *m = context;
    int64_t at[CT_MAX_RANK];
    for (int i = 0; i < m->t.rank; i++)
        at[i] = index[i + (int)m->number - m->t.rank] % m->t.shape[i];
    memcpy(item, item_at(&m->t, at), m->t.scalar->size);
}

START_TEST(tiles) {
    static const struct shape_case times[] = {{0, {0}},       {1, {3}},    {2, {2, 5}},
                                              {3, {3, 1, 2}}, {2, {0, 2}}, {4, {1, 2, 7, 1}}};
    uint64_t state = (uint64_t)_i;
    for (int s = 0; s < SHAPES; s++)
        for (int k = 0; k < COUNT(times); k++) {
            ct_tensor *t = random_case(&state, _i, s);
            struct mapped m = {.t = items_of(t)};
            int n = times[k].rank, rank = n > m.t.rank ? n : m.t.rank;
            int64_t shape[CT_MAX_RANK];
            for (int i = 0; i < rank; i++)
                shape[i] = (i < rank - m.t.rank ? 1 : m.t.shape[i - rank + m.t.rank]) *
                           (i < rank - n ? 1 : times[k].shape[i - rank + n]);
            m.number = rank;
            expect_rule(ct_tile(t, n, times[k].shape), m.t.scalar, rank, shape, tile_rule, &m);
            drop_items(&m.t);
            ct_free(t);
        }
}
END_TEST

static int64_t modulo(int64_t a, int64_t n) {
    return (a % n + n) % n;
}

static void roll_rule(const void *context, const int64_t *index, char *item) {
    const struct mapped *m = context;
    int64_t at[CT_MAX_RANK], place = 0;
    for (int i = 0; i < m->t.rank; i++) {
        at[i] = index[i];
        place = place * m->t.shape[i] + index[i];
    }
    if (m->axis < 0) {
        place = modulo(place - m->number, (int64_t)m->t.count);
        memcpy(item, m->t.bytes + (size_t)place * m->t.scalar->size, m->t.scalar->size);
        return;
    }
    at[m->axis] = modulo(at[m->axis] - m->number, m->t.shape[m->axis]);
    memcpy(item, item_at(&m->t, at), m->t.scalar->size);
}

START_TEST(rolls) {
    uint64_t state = (uint64_t)_i;
    for (int s = 0; s < SHAPES; s++)
        for (int axis = -1; axis < shape_cases[s].rank; axis++)
            for (int64_t shift = -7; shift < 8; shift += 3) {
                ct_tensor *t = random_case(&state, _i, s);
                struct mapped m = {.t = items_of(t), .axis = axis, .number = shift};
                expect_rule(ct_roll(t, axis < 0 ? CT_ALL : axis, shift), m.t.scalar, m.t.rank,
                            m.t.shape, roll_rule, &m);
                drop_items(&m.t);
                ct_free(t);
            }
}
END_TEST

START_TEST(extreme_rolls) {
    ct_tensor *t = counting(CT_F64, SHAPE(3)); // 2^63 is 2 modulo 3
    assert_and_free(ct_roll(t, 0, INT64_MIN), SHAPE(3), ITEMS(2, 0, 1));
    assert_and_free(ct_roll(t, CT_ALL, INT64_MAX), SHAPE(3), ITEMS(2, 0, 1));
    ct_free(t);
}
END_TEST

// --- padding

// The place of t that a place of the result shows, or -1: the value.
static int64_t padded_place(int mode, int64_t place, int64_t n) {
    if (place >= 0 && place < n)
        return place;
    if (mode == CT_PAD_CONSTANT)
        return -1;
    if (mode == CT_PAD_EDGE || (mode == CT_PAD_REFLECT && n == 1))
        return place < 0 ? 0 : n - 1;
    if (mode == CT_PAD_WRAP)
        return modulo(place, n);
    place = modulo(place, 2 * (n - 1));
    return place < n ? place : 2 * (n - 1) - place;
}

static void pad_rule(const void *context, const int64_t *index, char *item) {
    const struct mapped *m = context;
    int64_t at[CT_MAX_RANK];
    bool outside = false;
    for (int i = 0; i < m->t.rank; i++) {
        at[i] = padded_place(m->mode, index[i] - m->list[i], m->t.shape[i]);
        outside = outside || at[i] < 0;
    }
    memcpy(item, outside ? m->other.bytes : item_at(&m->t, at), m->t.scalar->size);
}

static void check_pad(ct_tensor *t, int mode, const int64_t *before, const int64_t *after) {
    ct_tensor *one = ct_ones(ct_dtype(t), 0, NULL);
    struct mapped m = {.t = items_of(t), .other = items_of(one), .list = before, .mode = mode};
    int64_t shape[CT_MAX_RANK];
    bool makes_no_sense = false;
    for (int i = 0; i < m.t.rank; i++) {
        shape[i] = before[i] + m.t.shape[i] + after[i];
        makes_no_sense =
            makes_no_sense || (mode != CT_PAD_CONSTANT && m.t.shape[i] == 0 && shape[i]);
    }
    ct_tensor *padded = ct_pad(t, m.t.rank, before, after, (enum ct_pad_mode)mode, 1);
    if (makes_no_sense)
        ck_assert(padded == NULL && ct_error()->code == CT_ESHAPE);
    else
        expect_rule(padded, m.t.scalar, m.t.rank, shape, pad_rule, &m);
    drop_items(&m.t);
    drop_items(&m.other);
    ct_free(one);
}

START_TEST(paddings) {
    uint64_t state = (uint64_t)_i;
    for (int s = 0; s < SHAPES - 1; s++)
        for (int mode = 0; mode < 4; mode++)
            for (int k = 0; k < 4; k++) {
                int64_t before[CT_MAX_RANK], after[CT_MAX_RANK];
                for (int i = 0; i < CT_MAX_RANK; i++) {
                    before[i] = k ? next_below(&state, 4) : 0;
                    after[i] = k ? next_below(&state, k > 2 ? 8 : 3) : 0;
                }
                ct_tensor *t = random_case(&state, _i, s);
                check_pad(t, mode, before, after);
                ct_free(t);
            }
}
END_TEST

// Many times the items there are, on either side, partly and in whole periods.
START_TEST(long_paddings) {
    for (int64_t n = 1; n < 5; n++)
        for (int64_t before = 0; before < 19; before++)
            for (int mode = 0; mode < 4; mode++) {
                ct_tensor *t = counting(CT_I64, 1, &n);
                for (int64_t after = 0; after < 19; after++)
                    check_pad(t, mode, &before, &after);
                ct_free(t);
            }
}
END_TEST

// --- triangles

static void triangle_rule(const void *context, const int64_t *index, char *item) {
    const struct mapped *m = context;
    int64_t distance = index[m->t.rank - 1] - index[m->t.rank - 2];
    bool stays = m->mode ? distance >= m->number : distance <= m->number;
    memcpy(item, stays ? item_at(&m->t, index) : m->other.bytes, m->t.scalar->size);
}

START_TEST(triangles) {
    uint64_t state = (uint64_t)_i;
    ct_tensor *zero = ct_zeros(scalar_of(_i), 0, NULL);
    static const int64_t diagonals[] = {0, 1, -1, 2, -3, 5, INT64_MIN, INT64_MAX};
    for (int s = 2; s < SHAPES; s++)
        for (int k = 0; k < 2 * COUNT(diagonals); k++) {
            ct_tensor *t = random_case(&state, _i, s);
            struct mapped m = {.t = items_of(t), .other = items_of(zero)};
            m.number = diagonals[k / 2];
            m.mode = k % 2;
            expect_rule(m.mode ? ct_triu(t, m.number) : ct_tril(t, m.number), m.t.scalar, m.t.rank,
                        m.t.shape, triangle_rule, &m);
            drop_items(&m.t);
            drop_items(&m.other);
            ct_free(t);
        }
    ct_free(zero);
}
END_TEST

// --- what cannot be done

START_TEST(failures) {
    ct_tensor *t = counting(CT_F64, SHAPE(2, 3)), *u = counting(CT_F64, SHAPE(3, 2));
    ct_tensor *whole = counting(CT_I32, SHAPE(2, 3)), *one = ct_ones(CT_F64, 0, NULL);
    ct_tensor *deep = ct_zeros(CT_F64, SHAPE(1, 1, 1, 1, 1, 1, 1, 1));
    ct_tensor *counts = ct_from_doubles(CT_I64, SHAPE(2), 2, (double[]){1, -2});
    const ct_tensor *const shapes[] = {t, u}, *const types[] = {t, whole}, *const ones[] = {one};
    const ct_tensor *const deeps[] = {deep}, *const hole[] = {t, NULL};
    expect_failure(ct_concat(2, shapes, 0), CT_ESHAPE, "ct_concat",
                   "tensor 1 has the shape [3, 2] and the first [2, 3]: they may differ along axis "
                   "0 alone");
    expect_failure(ct_concat(2, types, 0), CT_EDTYPE, "ct_concat",
                   "tensor 1 is i32 and the first is f64");
    expect_failure(ct_concat(1, ones, 0), CT_ESHAPE, "ct_concat",
                   "tensors of rank 0 have no axis to be concatenated along");
    expect_failure(ct_concat(0, NULL, 0), CT_EINVAL, "ct_concat",
                   "at least one tensor is needed and 0 were given");
    expect_failure(ct_concat(2, NULL, 0), CT_EINVAL, "ct_concat", "the 2 tensors are NULL");
    expect_failure(ct_concat(1, shapes, 2), CT_EAXIS, "ct_concat",
                   "the axis 2 is out of range for a tensor of rank 2");
    none(ct_concat(2, hole, 0));
    ck_assert_int_eq(ct_error()->code, CT_EINVAL);
    ct_error_clear();
    expect_failure(ct_stack(2, shapes, 0), CT_ESHAPE, "ct_stack",
                   "tensor 1 has the shape [3, 2] and the first [2, 3]");
    expect_failure(ct_stack(1, deeps, 0), CT_ESHAPE, "ct_stack",
                   "tensors of rank 8 can have no further axis");
    expect_failure(ct_stack(1, shapes, 3), CT_EAXIS, "ct_stack",
                   "the axis 3 is out of range for a tensor of rank 3");
    expect_failure(ct_repeat(t, 0, -1), CT_ESHAPE, "ct_repeat",
                   "the number of repeats -1 is negative");
    expect_failure(ct_repeat(t, 2, 1), CT_EAXIS, "ct_repeat",
                   "the axis 2 is out of range for a tensor of rank 2");
    expect_failure(ct_repeat_each(t, 0, counts), CT_ESHAPE, "ct_repeat_each",
                   "the number of repeats -2 at [1] is negative");
    expect_failure(ct_repeat_each(t, 1, counts), CT_ESHAPE, "ct_repeat_each",
                   "2 numbers of repeats were given for an extent of 3");
    expect_failure(ct_repeat_each(t, 0, t), CT_EDTYPE, "ct_repeat_each",
                   "numbers of repeats need the scalar type i64 or i32 and are f64");
    expect_failure(ct_repeat_each(t, 0, whole), CT_ESHAPE, "ct_repeat_each",
                   "the list of repeats needs rank 1 and has rank 2");
    expect_failure(ct_tile(t, 9, NULL), CT_ESHAPE, "ct_tile",
                   "the number of repeated axes 9 is not in the range 0 to 8");
    expect_failure(ct_tile(t, 1, NULL), CT_EINVAL, "ct_tile", "the 1 numbers of repeats are NULL");
    expect_failure(ct_tile(t, 1, (int64_t[]){-3}), CT_ESHAPE, "ct_tile",
                   "the number of repeats -3 is negative");
    expect_failure(ct_roll(t, -3, 1), CT_EAXIS, "ct_roll",
                   "the axis -3 is out of range for a tensor of rank 2");
    expect_failure(ct_pad(t, 1, (int64_t[]){1}, (int64_t[]){1}, CT_PAD_EDGE, 0), CT_ESHAPE,
                   "ct_pad", "padding for 1 axis was given and the tensor has rank 2");
    expect_failure(ct_pad(t, 2, (int64_t[]){0, 0}, (int64_t[]){0, -1}, CT_PAD_WRAP, 0), CT_ESHAPE,
                   "ct_pad", "the padding -1 after axis 1 is negative");
    expect_failure(ct_pad(t, 2, (int64_t[]){0, 0}, NULL, CT_PAD_WRAP, 0), CT_EINVAL, "ct_pad",
                   "the padding after the axes is NULL");
    expect_failure(ct_pad(t, 2, NULL, NULL, (enum ct_pad_mode)7, 0), CT_EINVAL, "ct_pad",
                   "7 is not a mode of padding");
    expect_failure(ct_pad(whole, 2, (int64_t[]){0, 0}, (int64_t[]){0, 1}, CT_PAD_CONSTANT, 0.5),
                   CT_EDOMAIN, "ct_pad", "the value 0.5 does not fit i32");
    expect_failure(ct_triu(one, 0), CT_ESHAPE, "ct_triu",
                   "a triangle needs two axes and the tensor has rank 0");
    expect_failure(ct_tril(counts, 0), CT_ESHAPE, "ct_tril",
                   "a triangle needs two axes and the tensor has rank 1");
    ct_error_clear();
    ck_assert(!ct_can_concat(2, shapes, 0) && !ct_can_concat(2, types, 0) &&
              !ct_can_concat(0, NULL, 0) && !ct_can_concat(2, hole, 0) &&
              !ct_can_concat(1, ones, 0) && !ct_can_concat(1, shapes, 2));
    ck_assert_int_eq(ct_error()->code, CT_OK);
    ct_tensor *all[] = {t, u, whole, one, deep, counts};
    for (int i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
}
END_TEST

START_TEST(empty_axes) {
    ct_tensor *t = ct_zeros(CT_F64, SHAPE(2, 0));
    expect_failure(ct_pad(t, 2, (int64_t[]){0, 1}, (int64_t[]){0, 0}, CT_PAD_EDGE, 0), CT_ESHAPE,
                   "ct_pad", "axis 1 has no items that its padding could be made from");
    assert_and_free(ct_pad(t, 2, (int64_t[]){0, 1}, (int64_t[]){1, 0}, CT_PAD_CONSTANT, 4),
                    SHAPE(3, 1), ITEMS(4, 4, 4));
    assert_and_free(ct_pad(t, 2, (int64_t[]){0, 0}, (int64_t[]){1, 0}, CT_PAD_EDGE, 4), SHAPE(3, 0),
                    0, NULL);
    ct_free(t);
}
END_TEST

START_TEST(extreme_sizes) {
    const int64_t huge = INT64_MAX / 2, most = INT64_MAX;
    ct_tensor *t = counting(CT_F64, SHAPE(2, 3)), *flag = ct_ones(CT_BOOL, SHAPE(3));
    ct_tensor *none_at_all = ct_zeros(CT_F64, SHAPE(0, 3));
    static const char text[] = "a shape of [2, 4611686018427387903] of f64 takes more bytes than "
                               "can be addressed";
    expect_failure(ct_repeat(t, 1, most), CT_EOVERFLOW, "ct_repeat",
                   "9223372036854775807 times the extent 3 of axis 1 is too large");
    ct_tensor *column = ct_slice(t, 1, 0, 1, 1);
    expect_failure(ct_repeat(column, 1, huge), CT_EOVERFLOW, "ct_repeat", text);
    expect_failure(ct_tile(column, 1, &huge), CT_EOVERFLOW, "ct_tile", text);
    ct_free(column);
    expect_failure(ct_tile(t, 2, (int64_t[]){huge, huge}), CT_EOVERFLOW, "ct_tile",
                   "4611686018427387903 times the extent 3 of axis 1 is too large");
    expect_failure(ct_pad(t, 2, (int64_t[]){0, huge}, (int64_t[]){0, huge}, CT_PAD_WRAP, 0),
                   CT_EOVERFLOW, "ct_pad",
                   "the extent 3 of axis 1 and the padding 4611686018427387903 and "
                   "4611686018427387903 add up to too many");
    expect_failure(ct_pad(t, 2, (int64_t[]){0, huge - 3}, (int64_t[]){0, 0}, CT_PAD_WRAP, 0),
                   CT_EOVERFLOW, "ct_pad", text);
    ct_tensor *counts = ct_full(CT_I64, SHAPE(3), 0x1p62);
    expect_failure(ct_repeat_each(flag, 0, counts), CT_EOVERFLOW, "ct_repeat_each",
                   "the numbers of repeats add up to too many");
    ct_free(counts);
    assert_and_free(ct_tile(none_at_all, 2, (int64_t[]){most, 2}), SHAPE(0, 6), 0, NULL);
    assert_and_free(ct_repeat(none_at_all, 0, most), SHAPE(0, 3), 0, NULL);
    // Broadcast operands whose extents add up to more than can be counted.
    ct_tensor *item = ct_zeros(CT_BOOL, SHAPE(0, 1)), *wide = ct_broadcast_to(item, SHAPE(0, most));
    const ct_tensor *const list[] = {wide, wide};
    expect_failure(ct_concat(2, list, 1), CT_EOVERFLOW, "ct_concat",
                   "the extents of axis 1 add up to too many");
    ck_assert(!ct_can_concat(2, list, 1) && ct_can_concat(2, list, 0));
    ct_tensor *all[] = {t, flag, none_at_all, item, wide};
    for (int i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
}
END_TEST

START_TEST(null_operands) {
    ct_error_clear();
    none(ct_repeat(NULL, 0, 1));
    ck_assert_int_eq(ct_error()->code, CT_EINVAL);
    none(ct_repeat_each(NULL, 0, NULL));
    none(ct_tile(NULL, 0, NULL));
    none(ct_roll(NULL, 0, 1));
    none(ct_pad(NULL, 0, NULL, NULL, CT_PAD_EDGE, 0));
    none(ct_triu(NULL, 0));
    none(ct_tril(NULL, 0));
    ck_assert_str_eq(ct_error()->function, "ct_repeat"); // the first
}
END_TEST

START_TEST(names) {
    ct_tensor *plain = counting(CT_F64, SHAPE(2, 3));
    ct_tensor *t = ct_name_axes(plain, 2, (const char *const[]){"row", NULL});
    ct_tensor *other = ct_name_axes(plain, 2, (const char *const[]){NULL, "column"});
    ct_tensor *wrong = ct_name_axes(plain, 2, (const char *const[]){"column", NULL});
    const ct_tensor *const list[] = {t, plain, other}, *const mixed[] = {t, wrong};
    const int64_t ones[] = {1, 1};
    expect_names(ct_concat(3, list, 1), "row column");
    expect_names(ct_stack(3, list, 1), "row - column");
    expect_names(ct_repeat(t, 1, 2), "row -");
    expect_names(ct_repeat(t, CT_ALL, 2), "-");
    expect_names(ct_tile(t, 3, (int64_t[]){2, 1, 2}), "- row -");
    expect_names(ct_roll(t, 0, 1), "row -");
    expect_names(ct_roll(t, CT_ALL, 1), "row -");
    expect_names(ct_pad(t, 2, ones, ones, CT_PAD_WRAP, 0), "row -");
    expect_names(ct_triu(t, 0), "row -");
    none(ct_concat(2, mixed, 1));
    ck_assert_int_eq(ct_error()->code, CT_EAXIS);
    none(ct_stack(2, mixed, 1));
    ct_tensor *all[] = {plain, t, other, wrong};
    for (int i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
}
END_TEST

// --- no memory

static ct_tensor *call_with_little(int which, const ct_tensor *t, const ct_tensor *counts) {
    const ct_tensor *const list[] = {t, t};
    const int64_t ones[] = {1, 1};
    switch (which) {
    case 0:
        return ct_concat(2, list, 0);
    case 1:
        return ct_stack(2, list, 0);
    case 2:
        return ct_repeat(t, CT_ALL, 2);
    case 3:
        return ct_repeat_each(t, 0, counts);
    case 4:
        return ct_tile(t, 2, ones);
    case 5:
        return ct_roll(t, CT_ALL, 1);
    case 6:
        return ct_pad(t, 2, ones, ones, CT_PAD_CONSTANT, 0);
    default:
        return ct_triu(t, 0);
    }
}

START_TEST(no_memory) {
    if (!make_memory_scarce())
        return;
    ct_tensor *dense = counting(CT_I64, SHAPE(2, 2)), *t = ct_transpose(dense);
    ct_tensor *counts = ct_ones(CT_I32, SHAPE(2));
    size_t before = ct_live_blocks();
    for (int which = 0; which < 8; which++) {
        int runs = 0;
        for (bool done = false; !done; runs++) {
            starve(runs);
            done = survived(call_with_little(which, t, counts), before);
        }
        ck_assert_int_gt(runs, 1);
    }
    ct_free(dense);
    ct_free(t);
    ct_free(counts);
}
END_TEST

Suite *suite_join(void) {
    Suite *suite = suite_create("join");
    TCase *tc = tcase_create("join");
    tcase_add_loop_test(tc, concat, 0, ALL_CASES);
    tcase_add_loop_test(tc, stack, 0, ALL_CASES);
    tcase_add_test(tc, with_itself_b157);
    tcase_add_loop_test(tc, repeats, 0, ALL_CASES);
    tcase_add_loop_test(tc, long_repeats, 0, SCALARS);
    tcase_add_test(tc, repeats_by_counts);
    tcase_add_loop_test(tc, tiles, 0, ALL_CASES);
    tcase_add_loop_test(tc, rolls, 0, ALL_CASES);
    tcase_add_test(tc, extreme_rolls);
    tcase_add_loop_test(tc, paddings, 0, ALL_CASES);
    tcase_add_test(tc, long_paddings);
    tcase_add_loop_test(tc, triangles, 0, ALL_CASES);
    tcase_add_test(tc, failures);
    tcase_add_test(tc, empty_axes);
    tcase_add_test(tc, extreme_sizes);
    tcase_add_test(tc, null_operands);
    tcase_add_test(tc, names);
    suite_add_tcase(suite, tc);
    TCase *scarcity = tcase_create("memory");
    tcase_add_test(scarcity, no_memory);
    suite_add_tcase(suite, scarcity);
    return suite;
}
