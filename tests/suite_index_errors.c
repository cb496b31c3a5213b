#include "index_tools.h"

#include "tensor/ct_alloc.h"
#include "tensor/ct_index.h"
#include "tensor/ct_names.h"

#include <stdio.h>

Suite *suite_index_errors(void);

// --- what cannot be done

struct operands {
    ct_tensor *t, *numbers, *one, *two, *bad, *floats, *mask, *rank0, *deep, *none;
};

static struct operands make_operands(void) {
    return (struct operands){
        .t = counting(CT_F64, SHAPE(2, 3)),
        .numbers = counting(CT_I32, SHAPE(2, 3)),
        .one = counting(CT_I64, SHAPE(2)),
        .two = counting(CT_I64, SHAPE(1, 2)),
        .bad = ct_from_doubles(CT_I64, SHAPE(2, 2), 4, (double[]){0, -2, -4, 0}),
        .floats = counting(CT_F32, SHAPE(2)),
        .mask = ct_ones(CT_BOOL, SHAPE(4)),
        .rank0 = ct_ones(CT_F64, 0, NULL),
        .deep = ct_zeros(CT_F64, SHAPE(1, 1, 1, 1, 1, 1, 1, 1)),
        .none = ct_zeros(CT_F64, SHAPE(0)),
    };
}

static void free_operands(struct operands *o) {
    ct_tensor *all[] = {o->t,      o->numbers, o->one,   o->two,  o->bad,
                        o->floats, o->mask,    o->rank0, o->deep, o->none};
    for (int i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
}

START_TEST(failures) {
    struct operands o = make_operands();
    expect_failure(ct_take(o.t, 2, o.one), CT_EAXIS, "ct_take",
                   "the axis 2 is out of range for a tensor of rank 2");
    expect_failure(ct_take(o.t, 0, o.floats), CT_EDTYPE, "ct_take",
                   "an index needs the scalar type i64 or i32 and is f32");
    expect_failure(ct_take(o.t, 1, o.bad), CT_EINDEX, "ct_take",
                   "the index -4 at [1, 0] is out of range for axis 1 of extent 3");
    expect_failure(ct_take(o.rank0, CT_ALL, o.one), CT_EINDEX, "ct_take",
                   "the index 1 at [1] is out of range for a tensor of 1 item");
    expect_failure(ct_take(o.none, CT_ALL, o.one), CT_EINDEX, "ct_take",
                   "the index 0 at [0] is out of range for a tensor of 0 items");
    expect_failure(ct_take(o.deep, 0, o.two), CT_ESHAPE, "ct_take",
                   "an index of rank 2 in place of an axis of a tensor of rank 8 makes the rank 9, "
                   "over 8");
    expect_failure(ct_index_copy(o.t, 1, o.one, o.rank0), CT_ESHAPE, "ct_index_copy",
                   "the source needs the shape [2, 2] and has []");
    expect_failure(ct_index_add(o.t, 1, o.one, o.numbers), CT_EDTYPE, "ct_index_add",
                   "the source needs the scalar type f64 and is i32");
    expect_failure(ct_index_add(o.mask, 0, o.one, o.mask), CT_EDTYPE, "ct_index_add",
                   "bool has no add");
    expect_failure(ct_gather(o.t, 0, o.one), CT_ESHAPE, "ct_gather",
                   "the index needs the rank 2 of the tensor and has rank 1");
    expect_failure(ct_gather(o.two, 1, o.bad), CT_ESHAPE, "ct_gather",
                   "the index has the extent 2 along axis 0, more than the tensor's 1");
    expect_failure(ct_gather(o.t, 0, o.bad), CT_EINDEX, "ct_gather",
                   "the index -4 at [1, 0] is out of range for axis 0 of extent 2");
    expect_failure(ct_gather(o.rank0, 0, o.one), CT_EAXIS, "ct_gather",
                   "the axis 0 is out of range for a tensor of rank 0");
    expect_failure(ct_scatter(o.t, 1, o.two, o.t), CT_ESHAPE, "ct_scatter",
                   "the source needs the shape [1, 2] and has [2, 3]");
    expect_failure(ct_scatter_reduce(o.t, 1, o.two, o.t, CT_OP_sub), CT_EINVAL, "ct_scatter_reduce",
                   "the reduction must be add, mul, maximum or minimum, not sub");
    expect_failure(ct_scatter_reduce(o.t, 1, o.two, o.t, (enum ct_op)9999), CT_EINVAL,
                   "ct_scatter_reduce", "9999 is not an op");
    expect_failure(ct_gather_nd(o.t, o.rank0), CT_EDTYPE, "ct_gather_nd",
                   "an index needs the scalar type i64 or i32 and is f64");
    expect_failure(ct_gather_nd(o.rank0, o.one), CT_ESHAPE, "ct_gather_nd",
                   "tuples of 2 indices are too long for a tensor of rank 0");
    expect_failure(ct_gather_nd(o.t, o.bad), CT_EINDEX, "ct_gather_nd",
                   "the index -4 at [1, 0] is out of range for axis 0 of extent 2");
    expect_failure(ct_scatter_nd(o.t, o.two, o.t), CT_ESHAPE, "ct_scatter_nd",
                   "the source needs the shape [1] and has [2, 3]");
    expect_failure(ct_scatter_nd_reduce(o.t, o.two, o.t, (enum ct_op) - 1), CT_EINVAL,
                   "ct_scatter_nd_reduce", "-1 is not an op");
    expect_failure(ct_masked_fill(o.t, o.floats, 0), CT_EDTYPE, "ct_masked_fill",
                   "a mask needs the scalar type bool and is f32");
    expect_failure(ct_masked_fill(o.t, o.mask, 0), CT_ESHAPE, "ct_masked_fill",
                   "a mask of shape [4] does not broadcast to the shape [2, 3] of the tensor");
    expect_failure(ct_masked_select(o.rank0, o.mask), CT_ESHAPE, "ct_masked_select",
                   "a mask of shape [4] does not broadcast to the shape [] of the tensor");
    ct_tensor *fitting = ct_ones(CT_BOOL, SHAPE(3));
    expect_failure(ct_masked_fill(o.numbers, fitting, 0.5), CT_EDOMAIN, "ct_masked_fill",
                   "the value 0.5 does not fit i32");
    ct_free(fitting);
    expect_failure(ct_compress(o.t, 1, o.mask), CT_ESHAPE, "ct_compress",
                   "a mask of 4 items is too long for an extent of 3");
    expect_failure(ct_compress(o.t, 1, o.one), CT_EDTYPE, "ct_compress",
                   "a mask needs the scalar type bool and is i64");
    fitting = ct_ones(CT_BOOL, SHAPE(2, 3));
    expect_failure(ct_compress(o.t, CT_ALL, fitting), CT_ESHAPE, "ct_compress",
                   "the mask needs rank 1 and has rank 2");
    ct_free(fitting);
    expect_failure(ct_one_hot(o.one, 1, CT_F32), CT_EINDEX, "ct_one_hot",
                   "the index 1 at [1] is out of range for axis 1 of extent 1");
    expect_failure(ct_one_hot(o.one, -1, CT_F32), CT_ESHAPE, "ct_one_hot",
                   "the extent -1 of axis 1 is negative");
    expect_failure(ct_one_hot(o.one, INT64_MAX / 2, CT_F32), CT_EOVERFLOW, "ct_one_hot",
                   "a shape of [2, 4611686018427387903] of f32 takes more bytes than can be "
                   "addressed");
    expect_failure(ct_pick(o.t, o.floats), CT_EDTYPE, "ct_pick",
                   "an index needs the scalar type i64 or i32 and is f32");
    ct_tensor *strange = ct_zeros(every_scalar[SCALARS - 1], 0, NULL);
    expect_failure(ct_nonzero(strange), CT_EDTYPE, "ct_nonzero", "opaque has no not_equal");
    ct_free(strange);
    free_operands(&o);
}
END_TEST

// An index that no arithmetic may be done on.
START_TEST(extreme_indices_b090) {
    static const double numbers[] = {3, -4, -0x1p63, 0x1p62};
    static const char *const texts[] = {"3", "-4", "-9223372036854775808", "4611686018427387904"};
    ct_tensor *t = counting(CT_F64, SHAPE(3));
    for (int i = 0; i < COUNT(numbers); i++) {
        char text[128];
        ct_tensor *index = ct_full(CT_I64, SHAPE(1), numbers[i]);
        ct_tensor *tuple = ct_full(CT_I64, SHAPE(1, 1), numbers[i]);
        snprintf(text, sizeof text, "the index %s at [0] is out of range for axis 0 of extent 3",
                 texts[i]);
        expect_failure(ct_take(t, 0, index), CT_EINDEX, "ct_take", text);
        expect_failure(ct_gather(t, 0, index), CT_EINDEX, "ct_gather", text);
        expect_failure(ct_scatter(t, 0, index, index), CT_EDTYPE, "ct_scatter",
                       "the source needs the scalar type f64 and is i64");
        snprintf(text, sizeof text, "the index %s at [0, 0] is out of range for axis 0 of extent 3",
                 texts[i]);
        expect_failure(ct_gather_nd(t, tuple), CT_EINDEX, "ct_gather_nd", text);
        ck_assert(!ct_is_index_for(index, 3));
        ct_free(index);
        ct_free(tuple);
    }
    ct_free(t);
}
END_TEST

START_TEST(overflows) {
    ct_tensor *t = ct_full(CT_I32, SHAPE(2, 2), 2147483647);
    ct_tensor *index = ct_ones(CT_I64, SHAPE(1, 2)), *row = ct_ones(CT_I64, SHAPE(1));
    ct_tensor *source = ct_from_doubles(CT_I32, SHAPE(1, 2), 2, (double[]){0, 5});
    expect_failure(ct_scatter_add(t, 0, index, source), CT_EOVERFLOW, "ct_scatter_add",
                   "add of 2147483647 and 5 at index [1, 1] of the result does not fit i32");
    expect_failure(ct_index_add(t, 0, row, source), CT_EOVERFLOW, "ct_index_add",
                   "add of 2147483647 and 5 at index [1, 1] of the result does not fit i32");
    expect_failure(ct_scatter_reduce(t, 0, index, source, CT_OP_mul), CT_EOVERFLOW,
                   "ct_scatter_reduce",
                   "mul of 2147483647 and 5 at index [1, 1] of the result does not fit i32");
    double value = 0;
    ck_assert(!ct_get(t, SHAPE(1, 1), &value) && value == 2147483647); // nothing has changed
    ct_free(t);
    ct_free(index);
    ct_free(row);
    ct_free(source);
}
END_TEST

START_TEST(null_operands) {
    ct_error_clear();
    ct_tensor *t = counting(CT_I64, SHAPE(2));
    ct_tensor *made[] = {
        ct_take(NULL, 0, t),         ct_take(t, 0, NULL),       ct_index_copy(t, 0, t, NULL),
        ct_gather(NULL, 0, t),       ct_scatter(t, 0, NULL, t), ct_scatter_add(NULL, 0, t, t),
        ct_gather_nd(t, NULL),       ct_scatter_nd(t, t, NULL), ct_masked_fill(NULL, t, 0),
        ct_masked_select(t, NULL),   ct_compress(NULL, 0, t),   ct_nonzero(NULL),
        ct_one_hot(NULL, 2, CT_F32), ct_one_hot(t, 2, NULL)};
    for (int i = 0; i < COUNT(made); i++)
        none(made[i]);
    ck_assert_int_eq(ct_error()->code, CT_EINVAL);
    ck_assert_str_eq(ct_error()->function, "ct_take"); // the first
    ck_assert(!ct_is_index_for(NULL, 3) && !ct_can_gather(NULL, 0, t) &&
              !ct_can_gather(t, 0, NULL));
    ct_free(t);
}
END_TEST

START_TEST(predicates) {
    ct_error_clear();
    struct operands o = make_operands();
    ck_assert(ct_is_index_for(o.one, 2) && !ct_is_index_for(o.one, 1));
    ck_assert(ct_is_index_for(o.bad, 4) && !ct_is_index_for(o.bad, 3));
    ck_assert(!ct_is_index_for(o.floats, 9) && !ct_is_index_for(o.one, -1));
    ck_assert(ct_can_gather(o.t, 0, o.two) && !ct_can_gather(o.t, 0, o.one) &&
              !ct_can_gather(o.t, 2, o.two) && !ct_can_gather(o.t, 0, o.t) &&
              !ct_can_gather(o.two, 1, o.bad));
    ct_tensor *none_at_all = ct_zeros(CT_I32, SHAPE(0));
    ck_assert(ct_is_index_for(none_at_all, 0));
    ck_assert_int_eq(ct_error()->code, CT_OK);
    ct_free(none_at_all);
    free_operands(&o);
}
END_TEST

// --- axis names

START_TEST(names) {
    ct_tensor *plain = counting(CT_F64, SHAPE(2, 3, 4));
    ct_tensor *t = ct_name_axes(plain, 3, (const char *const[]){"batch", "row", NULL});
    ct_tensor *one = ct_zeros(CT_I64, SHAPE(2)), *two = ct_zeros(CT_I64, SHAPE(2, 2));
    ct_tensor *each = ct_zeros(CT_I64, SHAPE(1, 1, 1)), *zero = ct_zeros(CT_I64, 0, NULL);
    ct_tensor *mask = ct_ones(CT_BOOL, SHAPE(4)), *part = ct_take(t, 2, one);
    expect_names(ct_take(t, 1, one), "batch row -");
    expect_names(ct_take(t, 1, two), "batch - - -");
    expect_names(ct_take(t, 0, zero), "row -");
    expect_names(ct_take(t, CT_ALL, one), "-");
    expect_names(ct_index_copy(t, 2, one, part), "batch row -");
    expect_names(ct_gather(t, 1, each), "batch row -");
    expect_names(ct_gather_nd(t, two), "- -");
    expect_names(ct_masked_fill(t, mask, 0), "batch row -");
    expect_names(ct_compress(t, 2, mask), "batch row -");
    expect_names(ct_masked_select(t, mask), "-");
    ct_tensor *named = ct_name_axes(mask, 1, (const char *const[]){"row"});
    none(ct_masked_fill(t, named, 0));
    ck_assert_int_eq(ct_error()->code, CT_EAXIS);
    ct_tensor *labels = ct_name_axes(one, 1, (const char *const[]){"item"});
    expect_names(ct_one_hot(labels, 2, CT_F32), "item -");
    ct_tensor *all[] = {plain, t, one, two, each, zero, mask, part, named, labels};
    for (int i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
}
END_TEST

// --- no memory

static ct_tensor *call_with_little(int which, const ct_tensor *t, const ct_tensor *index,
                                   const ct_tensor *rows, const ct_tensor *mask,
                                   const ct_tensor *source) {
    switch (which) {
    case 0:
        return ct_take(t, 0, rows);
    case 1:
        return ct_take(t, CT_ALL, rows);
    case 2:
        return ct_index_copy(t, CT_ALL, index, t);
    case 3:
        return ct_index_add(t, CT_ALL, index, t);
    case 4:
        return ct_gather(t, 1, index);
    case 5:
        return ct_scatter(t, 1, index, t);
    case 6:
        return ct_scatter_add(t, 1, index, t);
    case 7:
        return ct_gather_nd(t, index);
    case 8:
        return ct_masked_fill(t, mask, 1);
    case 9:
        return ct_masked_select(t, mask);
    case 10:
        return ct_compress(t, 0, mask);
    case 11:
        return ct_nonzero(t);
    case 12:
        return ct_one_hot(rows, 2, CT_F32);
    default:
        return ct_scatter_nd(t, index, source);
    }
}

START_TEST(no_memory) {
    if (!make_memory_scarce())
        return;
    ct_tensor *dense = counting(CT_I64, SHAPE(2, 2)), *t = ct_transpose(dense);
    ct_tensor *column = ct_select(dense, 1, 0);
    ct_tensor *index = ct_zeros(CT_I32, SHAPE(2, 2)), *rows = ct_zeros(CT_I32, SHAPE(2));
    ct_tensor *mask = ct_ones(CT_BOOL, SHAPE(2));
    size_t before = ct_live_blocks();
    for (int which = 0; which < 14; which++) {
        int runs = 0;
        for (bool done = false; !done; runs++) {
            starve(runs);
            done = survived(call_with_little(which, t, index, rows, mask, column), before);
        }
        ck_assert_int_gt(runs, 1);
    }
    ct_free(dense);
    ct_free(column);
    ct_free(t);
    ct_free(index);
    ct_free(rows);
    ct_free(mask);
}
END_TEST

Suite *suite_index_errors(void) {
    Suite *suite = suite_create("index_errors");
    TCase *tc = tcase_create("errors");
    tcase_add_test(tc, failures);
    tcase_add_test(tc, extreme_indices_b090);
    tcase_add_test(tc, overflows);
    tcase_add_test(tc, null_operands);
    tcase_add_test(tc, predicates);
    tcase_add_test(tc, names);
    suite_add_tcase(suite, tc);
    TCase *scarcity = tcase_create("memory");
    tcase_add_test(scarcity, no_memory);
    suite_add_tcase(suite, scarcity);
    return suite;
}
