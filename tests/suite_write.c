#include "numbers.h"

#include "dual/ct_dual.h"
#include "fixed/ct_fixed.h"
#include "tensor/ct_alloc.h"
#include "tensor/ct_names.h"
#include "tensor/ct_ops.h"
#include "tensor/ct_write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_write(void);

static void no_leak(void) {
    ck_assert_uint_eq(ct_live_blocks(), 0);
}

// --- the engine against one item at a time

static const enum ct_op ops[] = {CT_OP_add,   CT_OP_mul,         CT_OP_sub,   CT_OP_maximum,
                                 CT_OP_less,  CT_OP_equal,       CT_OP_neg,   CT_OP_square,
                                 CT_OP_where, CT_OP_logical_and, CT_OP_clamp, CT_OP_logical_not};

// Shapes of three operands; the first ones are used by ops of fewer. Long enough for rows, blocks
// of short rows, and tiles with margins.
static const struct shape_case engine_cases[][3] = {
    {{0, {0}}, {0, {0}}, {0, {0}}},
    {{1, {5}}, {0, {0}}, {1, {1}}},
    {{1, {3000}}, {1, {3000}}, {1, {1}}},
    {{2, {40, 3}}, {1, {3}}, {2, {40, 1}}},
    {{2, {200, 3}}, {2, {200, 1}}, {2, {1, 3}}},
    {{2, {35, 131}}, {2, {35, 131}}, {2, {35, 1}}},
    {{2, {41, 67}}, {1, {67}}, {2, {41, 67}}},
    {{2, {1, 150}}, {2, {40, 150}}, {2, {40, 1}}},
    {{3, {2, 20, 65}}, {3, {2, 1, 65}}, {2, {20, 65}}},
    {{3, {2, 0, 3}}, {1, {3}}, {0, {0}}},
    {{4, {5, 2, 3, 4}}, {3, {2, 1, 4}}, {4, {5, 2, 3, 4}}},
    {{5, {2, 1, 3, 2, 70}}, {5, {1, 3, 3, 1, 70}}, {2, {2, 70}}},
};

static int arity_of(enum ct_op op) {
    return ct_op_arity(op);
}

static void check_op(uint64_t *state, enum ct_op op, const ct_scalar *scalar,
                     const struct shape_case cases[3], int spreads) {
    ct_tensor *own[3];
    const ct_tensor *in[3];
    char what[100];
    int n = arity_of(op);
    for (int i = 0; i < n; i++) {
        bool mask = i == 0 && ct_op_kind_of(op) == CT_KIND_SELECT;
        int k = (int)((unsigned)i % 3);
        own[i] = small_numbers(state, mask ? CT_BOOL : scalar, cases[k].rank, cases[k].shape);
        own[i] =
            spread_out(own[i], (enum spread)((spreads + i * (1 + spreads / SPREADS)) % SPREADS));
        in[i] = own[i];
    }
    size_t done;
    ct_tensor *wanted = naive_apply(op, n, in, &done), *found = ct_apply(op, n, in);
    snprintf(what, sizeof what, "%s of %s, rank %d, layouts %d", ct_op_name(op), scalar->name,
             ct_rank(wanted), spreads);
    ck_assert_msg(done == ct_count(wanted), "%s", what);
    ck_assert(ct_is_dense(found));
    expect_same_bytes(found, wanted, what);
    ct_tensor *target = ct_zeros(ct_dtype(wanted), ct_rank(wanted), ct_shape(wanted));
    ct_tensor *copy = ct_copy(target), *zeros = ct_compact(target);
    ck_assert_int_eq(ct_apply_into(target, op, n, in), CT_OK);
    expect_same_bytes(target, wanted, what);
    expect_same_bytes(copy, zeros, what); // the write does not show
    ct_free(copy);
    ct_free(zeros);
    const void *place = ct_data(target);
    ck_assert_int_eq(ct_apply_into(target, op, n, in), CT_OK);
    expect_same_bytes(target, wanted, what);
    bool beside = scalar->traits & CT_CHECKED && ct_dtype(target) == scalar;
    ck_assert_msg((ct_data(target) == place) || beside, "%s: not in place", what);
    ct_free(target);
    ct_free(wanted);
    ct_free(found);
    for (int i = 0; i < n; i++)
        ct_free(own[i]);
}

START_TEST(ops_in_every_layout) {
    const ct_scalar *scalar = every_scalar[_i];
    uint64_t state = (uint64_t)_i;
    for (int op = 0; op < COUNT(ops); op++) {
        if (!ct_scalar_has(scalar, ops[op]))
            continue;
        for (int i = 0; i < COUNT(engine_cases); i++)
            for (int spreads = op % 2; spreads < 2 * SPREADS; spreads += 2)
                check_op(&state, ops[op], scalar, engine_cases[i], spreads);
    }
}
END_TEST

// Several blocks of short rows, and tiles, over threads.
START_TEST(large_operands) {
    static const struct shape_case shapes[][2] = {{{2, {30000, 3}}, {1, {3}}},
                                                  {{2, {30000, 3}}, {2, {30000, 1}}},
                                                  {{2, {300, 400}}, {2, {300, 400}}},
                                                  {{3, {7, 90, 150}}, {2, {90, 150}}}};
    uint64_t state = 1;
    for (int i = 0; i < COUNT(shapes); i++)
        for (int how = 0; how < SPREADS; how++) {
            ct_tensor *a = small_numbers(&state, CT_F32, shapes[i][0].rank, shapes[i][0].shape);
            ct_tensor *b = small_numbers(&state, CT_F32, shapes[i][1].rank, shapes[i][1].shape);
            a = spread_out(a, (enum spread)((how + 1) % SPREADS));
            b = spread_out(b, (enum spread)how);
            const ct_tensor *in[] = {a, b};
            size_t done;
            ct_tensor *wanted = naive_apply(CT_OP_mul, 2, in, &done), *found = ct_mul(a, b);
            expect_same_bytes(found, wanted, "large operands");
            ct_free(a);
            ct_free(b);
            ct_free(wanted);
            ct_free(found);
        }
}
END_TEST

// Every order of axes against every other: planes that must be turned, of every item size.
START_TEST(permuted_operands) {
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                     {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    const ct_scalar *scalar = every_scalar[_i];
    enum ct_op op = scalar == CT_BOOL ? CT_OP_logical_xor : CT_OP_add;
    uint64_t state = 7;
    int64_t shape[3] = {3, 35, 137}, from[3];
    ct_tensor *a = small_numbers(&state, scalar, 3, shape);
    for (int i = 0; i < 6; i++) {
        for (int k = 0; k < 3; k++)
            from[orders[i][k]] = shape[k];
        int inverse[3];
        ct_tensor *dense = small_numbers(&state, scalar, 3, from);
        for (int k = 0; k < 3; k++)
            inverse[k] = orders[i][k];
        ct_tensor *b = ct_permute(dense, 3, inverse), *flipped = ct_flip(b, i % 3);
        const ct_tensor *pairs[][2] = {{a, b}, {b, a}, {b, b}, {a, flipped}};
        for (int k = 0; k < COUNT(pairs); k++) {
            size_t done;
            ct_tensor *wanted = naive_apply(op, 2, pairs[k], &done);
            ct_tensor *found = ct_apply(op, 2, pairs[k]);
            expect_same_bytes(found, wanted, scalar->name);
            ct_free(found);
            ct_free(wanted);
        }
        ct_free(dense);
        ct_free(b);
        ct_free(flipped);
    }
    ct_free(a);
}
END_TEST

// --- items without a result: the lowest place, whatever the way through the items

static void check_overflow(const ct_scalar *scalar, double most, int rank, const int64_t *shape,
                           enum spread how, size_t first, size_t second) {
    ct_tensor *a = ct_zeros(scalar, rank, shape);
    ct_tensor *one = ct_from_double(scalar, 1);
    const char *number = scalar == CT_I32 ? "2147483647" : "9223372036854775807";
    char *items = ct_data_for_write(a), index[80] = "", text[160];
    int64_t max64 = INT64_MAX;
    int32_t max32 = INT32_MAX;
    (void)most;
    for (int i = 0; i < 2; i++)
        memcpy(items + (i ? second : first) * scalar->size,
               scalar == CT_I32 ? (void *)&max32 : (void *)&max64, scalar->size);
    size_t least = first < second ? first : second, rest = least;
    int64_t place[CT_MAX_RANK];
    for (int i = rank - 1; i >= 0; i--) {
        place[i] = (int64_t)(rest % (size_t)shape[i]);
        rest /= (size_t)shape[i];
    }
    for (int i = 0; i < rank; i++)
        snprintf(index + strlen(index), sizeof index - strlen(index), "%s%lld", i ? ", " : "",
                 (long long)place[i]);
    snprintf(text, sizeof text, "add of %s and 1 at index [%s] does not fit %s", number, index,
             scalar->name);
    a = spread_out(a, how);
    ct_tensor *before = ct_compact(a), *held = ct_copy(before);
    size_t blocks = ct_live_blocks();
    expect_failure(ct_add(a, one), CT_EOVERFLOW, "ct_add", text);
    ck_assert_uint_eq(ct_live_blocks(), blocks);
    ck_assert_int_eq(ct_accumulate(a, one), CT_EOVERFLOW);
    ck_assert_str_eq(ct_error()->message, text);
    expect_same_bytes(a, before, "the target of a failing write");
    ct_free(held);
    ct_error_clear();
    ct_free(a);
    ct_free(before);
    ct_free(one);
}

START_TEST(overflow_has_the_lowest_place) {
    static const struct shape_case shapes[] = {{1, {7}},       {1, {70000}},    {2, {30, 3}},
                                               {2, {9000, 7}}, {2, {300, 400}}, {3, {3, 65, 130}}};
    const ct_scalar *scalar = _i ? CT_I64 : CT_I32;
    uint64_t state = 3;
    for (int i = 0; i < COUNT(shapes); i++) {
        int64_t count = 1;
        for (int k = 0; k < shapes[i].rank; k++)
            count *= shapes[i].shape[k];
        for (int how = DENSE; how <= GAPS; how++)
            for (int k = 0; k < 4; k++)
                check_overflow(scalar, 0, shapes[i].rank, shapes[i].shape, (enum spread)how,
                               (size_t)(k ? next_below(&state, count) : count - 1),
                               (size_t)(k == 1 ? 0 : next_below(&state, count)));
    }
}
END_TEST

static ct_tensor *of_i32(int rank, const int64_t *shape, size_t count, const double *items) {
    return ct_from_doubles(CT_I32, rank, shape, count, items);
}

START_TEST(texts_of_items) {
    ct_tensor *a = of_i32(SHAPE(2, 2), ITEMS(1, 2, 5, -2147483648));
    ct_tensor *b = of_i32(SHAPE(2), ITEMS(1, 0)), *c = of_i32(SHAPE(2, 2), ITEMS(1, 1, 1, -1));
    ct_tensor *one = ct_from_double(CT_I32, -2147483648.0), *two = ct_from_double(CT_I32, 2);
    ct_tensor *real = ct_from_double(CT_FIXED, -1), *none_left = ct_from_double(CT_FIXED, 0);
    expect_failure(ct_floor_div(a, b), CT_EDOMAIN, "ct_floor_div",
                   "floor_div of 2 by 0 at index [0, 1]: division by zero");
    expect_failure(ct_mod(a, b), CT_EDOMAIN, "ct_mod",
                   "mod of 2 by 0 at index [0, 1]: division by zero");
    expect_failure(ct_floor_div(a, c), CT_EOVERFLOW, "ct_floor_div",
                   "floor_div of -2147483648 by -1 at index [1, 1] does not fit i32");
    expect_failure(ct_neg(a), CT_EOVERFLOW, "ct_neg",
                   "neg of -2147483648 at index [1, 1] does not fit i32");
    expect_failure(ct_abs(one), CT_EOVERFLOW, "ct_abs", "abs of -2147483648 does not fit i32");
    expect_failure(ct_mul(one, two), CT_EOVERFLOW, "ct_mul",
                   "mul of -2147483648 and 2 does not fit i32");
    expect_failure(ct_axpby(2, one, 1, two), CT_EOVERFLOW, "ct_axpby",
                   "axpby of -2147483648 and 2 does not fit i32");
    expect_failure(ct_scale(one, -1), CT_EOVERFLOW, "ct_scale",
                   "mul of -2147483648 and -1 does not fit i32");
    expect_failure(ct_sqrt(real), CT_EDOMAIN, "ct_sqrt", "sqrt of -1 is not defined");
    expect_failure(ct_log(none_left), CT_EDOMAIN, "ct_log", "log of 0 is not defined");
    ct_tensor *all[] = {a, b, c, one, two, real, none_left};
    for (int i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
}
END_TEST

// --- operands that share with the target

// The target is alone, shared with a copy, a view of another, or has a view: nobody else changes.
START_TEST(sharing) {
    const ct_scalar *scalar = every_scalar[_i];
    enum ct_op op = scalar == CT_BOOL ? CT_OP_logical_xor : CT_OP_add;
    uint64_t state = 11;
    if (!ct_scalar_has(scalar, op))
        return;
    for (int way = 0; way < 6; way++)
        for (int operand = 0; operand < 5; operand++) {
            ct_tensor *base = small_numbers(&state, scalar, SHAPE(6, 6));
            ct_tensor *t = way == 2   ? ct_transpose(base)
                           : way == 3 ? ct_flip(base, 1)
                                      : ct_copy(base);
            ct_tensor *view = way == 4   ? ct_transpose(t)
                              : way == 5 ? ct_slice(t, 0, 2, 3, 1)
                                         : ct_copy(base);
            ct_tensor *deep = ct_flip(view, 1);
            if (way == 0) {
                ct_free(base);
                base = small_numbers(&state, scalar, SHAPE(6, 6));
            }
            ct_tensor *other = operand == 0   ? ct_transpose(t)
                               : operand == 1 ? ct_copy(t)
                               : operand == 2 ? ct_select(t, 1, 3)
                               : operand == 3 ? small_numbers(&state, scalar, SHAPE(6, 6))
                                              : NULL;
            ct_tensor *all[] = {base, view, deep, other}, *saved[4] = {NULL};
            struct items before[4];
            for (int i = 0; i < 4; i++)
                if (all[i])
                    before[i] = items_of(all[i]);
            size_t done;
            const ct_tensor *in[] = {t, other ? other : t};
            ct_tensor *wanted = naive_apply(op, 2, in, &done);
            ck_assert_msg(!ct_combine(op, t, in[1]), "%s", ct_error()->message);
            expect_same_bytes(t, wanted, scalar->name);
            ck_assert(ct_is_dense(t));
            for (int i = 0; i < 4; i++)
                if (all[i]) {
                    struct items after = items_of(all[i]);
                    ck_assert(memcmp(before[i].bytes, after.bytes, after.count * scalar->size) ==
                              0);
                    drop_items(&before[i]);
                    drop_items(&after);
                    ct_free(all[i]);
                }
            (void)saved;
            ct_free(wanted);
            ct_free(t);
        }
    no_leak();
}
END_TEST

START_TEST(in_place_allocates_nothing) {
    ct_tensor *t = ct_ones(CT_F64, SHAPE(3, 4)), *row = ct_ones(CT_F64, SHAPE(4));
    const void *place = ct_data(t);
    size_t blocks = ct_live_blocks();
    ck_assert_int_eq(ct_accumulate(t, row), CT_OK);
    ck_assert_int_eq(ct_map_into(CT_OP_square, t), CT_OK);
    ck_assert_int_eq(ct_combine(CT_OP_mul, t, t), CT_OK);
    ck_assert_int_eq(ct_scale_into(t, 0.5), CT_OK);
    ck_assert_int_eq(ct_shift_into(t, 1), CT_OK);
    ck_assert_int_eq(ct_axpby_into(2, row, 3, t), CT_OK);
    ck_assert_int_eq(ct_assign_select(t, 0, -1, row), CT_OK);
    ck_assert_int_eq(ct_assign_slice(t, 1, 0, 2, 1, t), CT_ESHAPE);
    ck_assert(ct_data(t) == place);
    ck_assert_uint_eq(ct_live_blocks(), blocks);
    assert_items(t, SHAPE(3, 4), ITEMS(29, 29, 29, 29, 29, 29, 29, 29, 1, 1, 1, 1));
    // Foreign memory is never written.
    double foreign[2] = {1, 2};
    ct_tensor *over = ct_tensor_over(CT_F64, SHAPE(2), (int64_t[]){1}, 0, foreign, 2, NULL, NULL);
    ck_assert_int_eq(ct_scale_into(over, 10), CT_OK);
    ck_assert(foreign[0] == 1 && foreign[1] == 2);
    assert_and_free(over, SHAPE(2), ITEMS(10, 20));
    ct_free(t);
    ct_free(row);
}
END_TEST

// Every length around the width of a vector: an item is squared once (B077).
START_TEST(in_place_tails_b077) {
    for (int64_t n = 1; n < 68; n++)
        for (int which = 0; which < 2; which++) {
            ct_tensor *t = ct_full(which ? CT_F64 : CT_F32, SHAPE(n), 3);
            ck_assert_int_eq(ct_combine(CT_OP_mul, t, t), CT_OK);
            ck_assert_int_eq(ct_map_into(CT_OP_neg, t), CT_OK);
            ct_tensor *wanted = ct_full(ct_dtype(t), SHAPE(n), -9);
            ck_assert(ct_tensor_equal(t, wanted));
            ct_free(t);
            ct_free(wanted);
        }
}
END_TEST

// In place on an expanded view: each item once (B075).
START_TEST(expanded_target_b075) {
    ct_tensor *one = ct_full(CT_F64, SHAPE(1), 2), *t = ct_broadcast_to(one, SHAPE(3));
    ck_assert_int_eq(ct_map_into(CT_OP_square, t), CT_OK);
    assert_and_free(t, SHAPE(3), ITEMS(4, 4, 4));
    assert_and_free(one, SHAPE(1), ITEMS(2));
}
END_TEST

// --- replacing

// t[index of the region] = from, index by index.
static void naive_assign(struct items *t, int n, const int64_t *start, const int64_t *step,
                         const int64_t *count, const struct items *from) {
    int64_t index[CT_MAX_RANK] = {0}, shape[CT_MAX_RANK], target[CT_MAX_RANK], source[CT_MAX_RANK];
    for (int i = 0; i < t->rank; i++) {
        shape[i] = i < n ? count[i] : t->shape[i];
        if (shape[i] == 0)
            return;
    }
    do {
        for (int i = 0; i < t->rank; i++)
            target[i] = i < n ? start[i] + index[i] * step[i] : index[i];
        int shift = t->rank - from->rank;
        for (int i = 0; i < from->rank; i++)
            source[i] = from->shape[i] == 1 ? 0 : index[i + shift];
        memcpy(item_at(t, target), item_at(from, source), t->scalar->size);
    } while (next_index(t->rank, shape, index));
}

static void check_assign(uint64_t *state, const ct_scalar *scalar, enum spread how) {
    int64_t shape[3] = {4, 3, 5}, start[3], stop[3], step[3], count[3], small[3];
    int n = (int)next_below(state, 4);
    for (int i = 0; i < 3; i++) {
        start[i] = next_below(state, 7) - 2;
        stop[i] = next_below(state, 9) - 2;
        step[i] = next_below(state, 2) ? next_below(state, 3) + 1 : -next_below(state, 3) - 1;
        int64_t first = 0, length = shape[i];
        if (i < n)
            ck_assert(ct_slice_range(shape[i], start[i], stop[i], step[i], &first, &length));
        count[i] = length;
        small[i] = next_below(state, 3) ? length : 1;
    }
    ct_tensor *t = spread_out(small_numbers(state, scalar, 3, shape), how);
    int dropped = (int)next_below(state, 2);
    ct_tensor *from = small_numbers(state, scalar, 3 - dropped, small + dropped);
    from = spread_out(from, (enum spread)next_below(state, SPREADS));
    struct items wanted = items_of(t), source = items_of(from);
    int64_t first[3], unused;
    for (int i = 0; i < n; i++)
        ct_slice_range(shape[i], start[i], stop[i], step[i], &first[i], &unused);
    naive_assign(&wanted, n, first, step, count, &source);
    ct_tensor *copy = ct_copy(t), *held = ct_compact(t);
    struct items before = items_of(t);
    ck_assert_msg(!ct_assign_slice_all(t, n, start, stop, step, from), "%s", ct_error()->message);
    ct_tensor *shown = ct_slice_all(t, n, start, stop, step);
    ct_free(shown);
    struct items after = items_of(t), kept = items_of(copy);
    ck_assert(memcmp(after.bytes, wanted.bytes, after.count * scalar->size) == 0);
    ck_assert(memcmp(kept.bytes, before.bytes, after.count * scalar->size) == 0);
    struct items *all[] = {&wanted, &source, &before, &after, &kept};
    for (int i = 0; i < COUNT(all); i++)
        drop_items(all[i]);
    ct_free(t);
    ct_free(from);
    ct_free(copy);
    ct_free(held);
}

START_TEST(regions) {
    const ct_scalar *scalar = every_scalar[_i];
    uint64_t state = 5 + (uint64_t)_i;
    if (scalar == every_scalar[SCALARS - 1])
        return; // bytes have no numbers
    for (int i = 0; i < 300; i++)
        check_assign(&state, scalar, (enum spread)(i % SPREADS));
    no_leak();
}
END_TEST

START_TEST(assigning) {
    ct_tensor *t = counting(CT_F64, SHAPE(2, 3)),
              *row = ct_from_doubles(CT_F64, SHAPE(3), ITEMS(7, 8, 9));
    ct_tensor *copy = ct_copy(t), *turned = ct_transpose(t);
    ck_assert_int_eq(ct_assign(t, row), CT_OK);
    assert_items(t, SHAPE(2, 3), ITEMS(7, 8, 9, 7, 8, 9));
    ck_assert_int_eq(ct_assign(t, t), CT_OK);
    ck_assert_int_eq(ct_assign_slice(t, 1, -1, CT_END, -1, t), CT_OK); // reversed onto itself
    assert_items(t, SHAPE(2, 3), ITEMS(9, 8, 7, 9, 8, 7));
    ct_tensor *back = ct_flip(t, 0);
    ck_assert_int_eq(ct_assign_select(t, 0, 1, row), CT_OK);
    assert_items(t, SHAPE(2, 3), ITEMS(9, 8, 7, 7, 8, 9));
    assert_items(back, SHAPE(2, 3), ITEMS(9, 8, 7, 9, 8, 7));
    ck_assert_int_eq(ct_assign(turned, turned), CT_OK);
    ck_assert_int_eq(ct_assign_slice(t, 0, 5, 9, 1, row), CT_OK); // no item
    assert_items(copy, SHAPE(2, 3), ITEMS(0, 1, 2, 3, 4, 5));
    assert_items(turned, SHAPE(3, 2), ITEMS(0, 3, 1, 4, 2, 5));
    // shifted onto itself
    ct_tensor *line = counting(CT_F64, SHAPE(6)), *part = ct_slice(line, 0, 0, 5, 1);
    ck_assert_int_eq(ct_assign_slice(line, 0, 1, CT_END, 1, part), CT_OK);
    assert_items(line, SHAPE(6), ITEMS(0, 0, 1, 2, 3, 4));
    ct_tensor *all[] = {t, row, copy, turned, back, line, part};
    for (int i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
}
END_TEST

// --- one pass: the bits of the composition

START_TEST(axpby_is_the_composition) {
    const ct_scalar *scalar = every_scalar[_i];
    uint64_t state = 9;
    if (!ct_scalar_has(scalar, CT_OP_mul))
        return;
    for (int i = 0; i < COUNT(engine_cases); i++)
        for (int how = 0; how < SPREADS; how++) {
            ct_tensor *x =
                small_numbers(&state, scalar, engine_cases[i][0].rank, engine_cases[i][0].shape);
            ct_tensor *y =
                small_numbers(&state, scalar, engine_cases[i][1].rank, engine_cases[i][1].shape);
            x = spread_out(x, (enum spread)how);
            y = spread_out(y, (enum spread)((how + 2) % SPREADS));
            bool real = scalar->traits & CT_REAL || scalar->base;
            double a = real ? 0.7 : 3, b = real ? -1.3 : -2;
            ct_tensor *ax = ct_scale(x, a), *by = ct_scale(y, b), *wanted = ct_add(ax, by);
            ct_tensor *found = ct_axpby(a, x, b, y);
            expect_same_bytes(found, wanted, scalar->name);
            int64_t shape[CT_MAX_RANK] = {0};
            const ct_tensor *in[] = {y, x};
            int rank = broadcast_shape(2, in, shape);
            ct_tensor *wide = ct_broadcast_to(y, rank, shape), *copy = ct_copy(wide);
            ck_assert_msg(!ct_axpby_into(a, x, b, wide), "%s", ct_error()->message);
            expect_same_bytes(wide, wanted, scalar->name);
            ck_assert(ct_tensor_equal(copy, copy));
            ct_tensor *shifted = ct_shift(x, 1), *scaled = ct_copy(x);
            ck_assert_int_eq(ct_shift_into(x, 1), CT_OK);
            expect_same_bytes(x, shifted, scalar->name);
            ck_assert_int_eq(ct_scale_into(scaled, a), CT_OK);
            expect_same_bytes(scaled, ax, scalar->name);
            ct_tensor *all[] = {x, y, ax, by, wanted, found, wide, copy, shifted, scaled};
            for (int k = 0; k < COUNT(all); k++)
                ct_free(all[k]);
        }
    no_leak();
}
END_TEST

// --- every error text

static ct_tensor *floats, *doubles, *ints, *mask, *row, *named;

static void set_up(void) {
    floats = counting(CT_F32, SHAPE(3));
    doubles = counting(CT_F64, SHAPE(2, 3));
    ints = counting(CT_I32, SHAPE(3));
    mask = ct_zeros(CT_BOOL, SHAPE(3));
    row = counting(CT_F64, SHAPE(3));
    named = ct_name_axes(row, 1, (const char *[]){"feature"});
}

static void tear_down(void) {
    ct_tensor *all[] = {floats, doubles, ints, mask, row, named};
    for (int i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
    no_leak();
}

#define ERRORS(XX)                                                                                 \
    XX(ct_assign(row, floats), EDTYPE, "ct_assign", "items of f32 cannot replace items of f64")    \
    XX(ct_assign(row, doubles), ESHAPE, "ct_assign",                                               \
       "a tensor of shape [2, 3] does not broadcast to the target [3]")                            \
    XX(ct_assign_slice(doubles, 1, 0, 2, 1, row), ESHAPE, "ct_assign_slice",                       \
       "a tensor of shape [3] does not broadcast to the target [2, 2]")                            \
    XX(ct_assign_slice(doubles, 2, 0, 2, 1, row), EAXIS, "ct_assign_slice",                        \
       "the axis 2 is out of range for a tensor of rank 2")                                        \
    XX(ct_assign_slice(doubles, 0, 0, 2, 0, row), EINVAL, "ct_assign_slice",                       \
       "the step of a slice must not be 0")                                                        \
    XX(ct_assign_slice_all(doubles, 3, NULL, NULL, NULL, row), EAXIS, "ct_assign_slice_all",       \
       "slices of 3 axes were given and the tensor has 2")                                         \
    XX(ct_assign_slice_all(doubles, 2, NULL, NULL, ((int64_t[]){1, 0}), row), EINVAL,              \
       "ct_assign_slice_all", "the step of the slice of axis 1 must not be 0")                     \
    XX(ct_assign_select(doubles, 1, -4, row), EINDEX, "ct_assign_select",                          \
       "index -4 is out of bounds for axis 1 of extent 3")                                         \
    XX(ct_assign_select(named, 0, 3, row), EINDEX, "ct_assign_select",                             \
       "index 3 is out of bounds for axis 0 ('feature') of extent 3")                              \
    XX(ct_assign_slice(doubles, 2, 0, 2, 0, row), EAXIS, "ct_assign_slice",                        \
       "the axis 2 is out of range for a tensor of rank 2")                                        \
    XX(ct_apply_into(row, CT_OP_add, 2, ((const ct_tensor *[]){row, doubles})), ESHAPE,            \
       "ct_apply_into", "add gives the shape [2, 3] and the target has [3]")                       \
    XX(ct_apply_into(row, CT_OP_less, 2, ((const ct_tensor *[]){row, row})), EDTYPE,               \
       "ct_apply_into", "less gives bool and the target is f64")                                   \
    XX(ct_apply_into(row, CT_OP_add, 1, ((const ct_tensor *[]){row})), EINVAL, "ct_apply_into",    \
       "add takes 2 operands and 1 was given")                                                     \
    XX(ct_apply_into(row, CT_OP_summed, 1, ((const ct_tensor *[]){row})), EINVAL, "ct_apply_into", \
       NULL)                                                                                       \
    XX(ct_apply_into(row, CT_OP_exp, 1, NULL), EINVAL, "ct_apply_into", "an operand is NULL")      \
    XX(ct_map_into(CT_OP_exp, ints), EDTYPE, "ct_map_into", "i32 has no exp")                      \
    XX(ct_map_into(CT_OP_add, row), EINVAL, "ct_map_into", "add takes 2 operands and 1 was given") \
    XX(ct_combine(CT_OP_add, row, doubles), ESHAPE, "ct_combine",                                  \
       "combine would grow the target [3] to [2, 3]")                                              \
    XX(ct_combine(CT_OP_add, row, floats), EDTYPE, "ct_combine",                                   \
       "add needs one scalar type: f64 and f32 were given")                                        \
    XX(ct_combine(CT_OP_less, row, row), EDTYPE, "ct_combine",                                     \
       "less gives bool and the target is f64")                                                    \
    XX(ct_accumulate(mask, mask), EDTYPE, "ct_accumulate", "bool has no add")                      \
    XX(ct_accumulate(row, doubles), ESHAPE, "ct_accumulate",                                       \
       "accumulate would grow the target [3] to [2, 3]")                                           \
    XX(ct_axpby_into(1, doubles, 1, row), ESHAPE, "ct_axpby_into",                                 \
       "axpby_into would grow the target [3] to [2, 3]")                                           \
    XX(ct_axpby_into(1, floats, 1, row), EDTYPE, "ct_axpby_into",                                  \
       "axpby needs one scalar type: f32 and f64 were given")                                      \
    XX(ct_axpby_into(0.5, ints, 1, ints), EDOMAIN, "ct_axpby_into",                                \
       "the value 0.5 does not fit i32")                                                           \
    XX(ct_axpby_into(1, mask, 1, mask), EDTYPE, "ct_axpby_into", "bool has no mul")                \
    XX(ct_scale_into(ints, 0.5), EDOMAIN, "ct_scale_into", "the value 0.5 does not fit i32")       \
    XX(ct_shift_into(mask, 1), EDTYPE, "ct_shift_into", "bool has no add")                         \
    XX(ct_matmul_into(row, doubles, row), ESHAPE, "ct_matmul_into",                                \
       "matmul gives the shape [2] and the target has [3]")                                        \
    XX(ct_matmul_into(row, doubles, doubles), ESHAPE, "ct_matmul_into",                            \
       "matmul needs the inner extents to agree: [2, 3] times [2, 3], 3 against 2")                \
    XX(ct_matmul_into(mask, row, row), EDTYPE, "ct_matmul_into",                                   \
       "matmul gives f64 and the target is bool")                                                  \
    XX(ct_accumulate(NULL, row), EINVAL, "ct_accumulate", "an operand is NULL")                    \
    XX(ct_assign(row, NULL), EINVAL, "ct_assign", "an operand is NULL")

struct error_case {
    const char *call;
    ct_status code;
    const char *function, *text;
};

#define ERROR_ROW(call, code, function, text) {#call, CT_##code, function, text},

static const struct error_case error_cases[] = {ERRORS(ERROR_ROW)};

static ct_status make_error(int wanted) {
    int i = 0;
#define MAKE(call, code, function, text)                                                           \
    if (i++ == wanted)                                                                             \
        return call;
    ERRORS(MAKE)
#undef MAKE
    return CT_OK;
}

START_TEST(error_texts) {
    const struct error_case *c = &error_cases[_i];
    ct_error_clear();
    struct items before = items_of(row);
    ck_assert_msg(make_error(_i) == c->code, "%s: %s", c->call, ct_error()->message);
    if (c->text)
        ck_assert_msg(strcmp(ct_error()->message, c->text) == 0, "%s: %s", c->call,
                      ct_error()->message);
    ck_assert_str_eq(ct_error()->function, c->function);
    struct items after = items_of(row);
    ck_assert(memcmp(before.bytes, after.bytes, before.count * 8) == 0);
    drop_items(&before);
    drop_items(&after);
}
END_TEST

START_TEST(names_must_agree) {
    ct_tensor *other = ct_name_axes(row, 1, (const char *[]){"batch"});
    ck_assert_int_eq(ct_accumulate(named, other), CT_EAXIS);
    ck_assert_int_eq(ct_assign(named, other), CT_EAXIS);
    ck_assert_int_eq(ct_accumulate(named, row), CT_OK);
    ck_assert_int_eq(ct_accumulate(row, named), CT_OK); // the target keeps its own: none
    ck_assert_ptr_null(ct_axis_name(row, 0));
    ck_assert_str_eq(ct_axis_name(named, 0), "feature");
    assert_items(row, SHAPE(3), ITEMS(0, 3, 6));
    ct_free(other);
}
END_TEST

START_TEST(predicates) {
    ct_error_clear();
    ck_assert(ct_can_assign(doubles, row) && !ct_can_assign(row, doubles));
    ck_assert(!ct_can_assign(row, floats) && !ct_can_assign(NULL, row) &&
              !ct_can_assign(row, NULL));
    ck_assert(ct_can_combine(CT_OP_add, doubles, row) && !ct_can_combine(CT_OP_add, row, doubles));
    ck_assert(!ct_can_combine(CT_OP_add, mask, mask) && !ct_can_combine(CT_OP_less, row, row));
    ck_assert(!ct_can_combine(CT_OP_exp, row, row) && !ct_can_combine(CT_OP_add, row, floats));
    ck_assert(ct_can_combine(CT_OP_logical_and, mask, mask));
    ck_assert_int_eq(ct_error()->code, CT_OK);
}
END_TEST

// --- no memory: the target stays as it is

static ct_status write_something(int which, ct_tensor *t, const ct_tensor *from) {
    switch (which) {
    case 0:
        return ct_assign(t, from);
    case 1:
        return ct_assign_slice(t, 0, 0, 2, 1, from);
    case 2:
        return ct_accumulate(t, from);
    case 3:
        return ct_scale_into(t, 2);
    case 4:
        return ct_axpby_into(1, from, 2, t);
    case 5:
        return ct_map_into(CT_OP_square, t);
    case 6:
        return ct_assign_slice(t, 1, -1, CT_END, -1, t);
    default:
        return ct_matmul_into(t, t, t);
    }
}

START_TEST(no_memory) {
    if (!make_memory_scarce())
        return;
    const ct_scalar *scalars[] = {CT_F64, CT_I32, CT_DUAL32};
    for (int i = 0; i < COUNT(scalars); i++) {
        ct_tensor *from = ct_ones(scalars[i], SHAPE(3));
        for (int which = 0; which < 8; which++)
            for (int shared = 0; shared < 2; shared++)
                for (int runs = 0, done = 0; !done; runs++) {
                    allocations_left = 1000;
                    ct_tensor *t = counting(scalars[i], SHAPE(3, 3));
                    ct_tensor *copy = shared ? ct_copy(t) : NULL, *same = ct_reshape(t, SHAPE(9));
                    ct_tensor *before = counting(scalars[i], SHAPE(3, 3));
                    if (!shared)
                        ct_free(same);
                    size_t blocks = ct_live_blocks();
                    ct_error_clear();
                    allocations_left = runs;
                    ct_status status = write_something(which, t, from);
                    done = status == CT_OK;
                    allocations_left = 1000;
                    ck_assert_int_eq(status, done ? CT_OK : CT_ENOMEM);
                    if (!done) {
                        expect_same_bytes(t, before, "the target of a write without memory");
                        ck_assert_uint_eq(ct_live_blocks(), blocks);
                    }
                    if (copy)
                        expect_same_bytes(copy, before, "a copy");
                    if (shared)
                        ct_free(same);
                    ct_free(t);
                    ct_free(copy);
                    ct_free(before);
                }
        ct_free(from);
    }
    no_leak();
}
END_TEST

Suite *suite_write(void) {
    Suite *suite = suite_create("write");
    TCase *engine = tcase_create("engine");
    tcase_set_timeout(engine, 120);
    tcase_add_checked_fixture(engine, NULL, no_leak);
    tcase_add_loop_test(engine, ops_in_every_layout, 0, ORDERED_SCALARS);
    tcase_add_test(engine, large_operands);
    tcase_add_loop_test(engine, permuted_operands, 0, ORDERED_SCALARS);
    tcase_add_loop_test(engine, overflow_has_the_lowest_place, 0, 2);
    tcase_add_test(engine, texts_of_items);
    suite_add_tcase(suite, engine);
    TCase *writing = tcase_create("writing");
    tcase_set_timeout(writing, 60);
    tcase_add_checked_fixture(writing, NULL, no_leak);
    tcase_add_loop_test(writing, sharing, 0, SCALARS);
    tcase_add_test(writing, in_place_allocates_nothing);
    tcase_add_test(writing, in_place_tails_b077);
    tcase_add_test(writing, expanded_target_b075);
    tcase_add_loop_test(writing, regions, 0, SCALARS);
    tcase_add_test(writing, assigning);
    tcase_add_loop_test(writing, axpby_is_the_composition, 0, SCALARS);
    suite_add_tcase(suite, writing);
    TCase *errors = tcase_create("errors");
    tcase_add_checked_fixture(errors, set_up, tear_down);
    tcase_add_loop_test(errors, error_texts, 0, COUNT(error_cases));
    tcase_add_test(errors, names_must_agree);
    tcase_add_test(errors, predicates);
    suite_add_tcase(suite, errors);
    TCase *memory = tcase_create("memory");
    tcase_add_test(memory, no_memory);
    suite_add_tcase(suite, memory);
    return suite;
}
