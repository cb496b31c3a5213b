/* Axis names: naming, finding, aligning, and how they follow axes through every function. */

#include "dot_tools.h"
#include "scarce_memory.h"
#include "tensor_tools.h"

#include "autodiff/ct_tape.h"
#include "autodiff/ct_var_ops.h"
#include "dual/ct_dual.h"
#include "tensor/ct_alloc.h"
#include "tensor/ct_names.h"
#include "tensor/ct_ops.h"
#include "tensor/ct_reduce.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_names(void);

#define NAMES(...)                                                                                 \
    (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)), (const char *[]) {              \
        __VA_ARGS__                                                                                \
    }

// 0, 1, 2, ... with names.
static ct_tensor *named(int rank, const int64_t *shape, int n, const char *const names[]) {
    ct_tensor *bare = counting(CT_F64, rank, shape), *t = ct_name_axes(bare, n, names);
    ck_assert_msg(t != NULL, "%s", ct_error()->message);
    ct_free(bare);
    return t;
}

static void has_names(const ct_tensor *t, int n, const char *const names[]) {
    ck_assert_msg(t != NULL, "%s", ct_error()->message);
    ck_assert_int_eq(ct_check_tensor(t), CT_OK);
    ck_assert_int_eq(ct_rank(t), n);
    bool any = false;
    for (int i = 0; i < n; i++) {
        const char *found = ct_axis_name(t, i);
        ck_assert_msg(names[i] ? found && strcmp(found, names[i]) == 0 : !found,
                      "axis %d is named %s, not %s", i, found ? found : "-",
                      names[i] ? names[i] : "-");
        any = any || names[i];
    }
    ck_assert_int_eq(ct_has_names(t), any);
}

static void names_and_free(ct_tensor *t, int n, const char *const names[]) {
    has_names(t, n, names);
    ct_free(t);
}

static void fails(ct_tensor *t, ct_status code, const char *text) {
    none(t);
    ck_assert_str_eq(ct_error()->message, text);
    ck_assert_int_eq(ct_error()->code, code);
    ct_error_clear();
}

// --- naming and finding

START_TEST(naming) {
    ct_tensor *t = named(SHAPE(2, 3, 4), NAMES("batch", NULL, "feature"));
    ck_assert_int_eq(ct_axis_of(t, "batch"), 0);
    ck_assert_int_eq(ct_axis_of(t, "feature"), 2);
    ck_assert_str_eq(ct_axis_name(t, -1), "feature");
    ck_assert(ct_axis_name(t, 1) == NULL && ct_error()->code == CT_OK);
    ck_assert(ct_has_axis(t, "batch") && !ct_has_axis(t, "time") && !ct_has_axis(NULL, "x") &&
              !ct_has_axis(t, NULL) && !ct_has_names(NULL));
    int axes[2] = {-7, -7};
    ck_assert_int_eq(ct_axes_of(t, NAMES("feature", "batch"), axes), CT_OK);
    ck_assert(axes[0] == 2 && axes[1] == 0);
    ck_assert_int_eq(ct_axes_of(t, NAMES("batch", "time"), axes), CT_EAXIS);
    ck_assert(axes[0] == 2 && axes[1] == 0);
    ck_assert_int_eq(ct_axes_of(t, 0, NULL, NULL), CT_OK);
    names_and_free(ct_rename_axis(t, 1, "time"), NAMES("batch", "time", "feature"));
    names_and_free(ct_rename_axis(t, -1, NULL), NAMES("batch", NULL, NULL));
    names_and_free(ct_rename_axis(t, 0, "batch"), NAMES("batch", NULL, "feature"));
    names_and_free(ct_drop_names(t), NAMES(NULL, NULL, NULL));
    names_and_free(ct_name_axes(t, NAMES(NULL, "batch", NULL)), NAMES(NULL, "batch", NULL));
    names_and_free(ct_name_axes(t, NAMES(NULL, NULL, NULL)), NAMES(NULL, NULL, NULL));
    has_names(t, NAMES("batch", NULL, "feature"));
    ct_tensor *one = ct_from_double(CT_F64, 1);
    names_and_free(ct_name_axes(one, 0, NULL), 0, NULL);
    ct_free(one);
    ct_free(t);
    ck_assert_uint_eq(ct_live_blocks(), 0);
}
END_TEST

START_TEST(what_a_name_is) {
    static const char *const good[] = {"x",
                                       "batch",
                                       "Zeit-Achse 2",
                                       "\xc3\xa9tat",
                                       "\xe2\x88\x82x",
                                       "\xf0\x9f\x98\x80",
                                       "0123456789012345678901234567890"};
    static const char *const bad[] = {"",
                                      "01234567890123456789012345678901",
                                      "a\nb",
                                      "\x7f",
                                      "\xc2\x80",
                                      "\xff",
                                      "\xc3",
                                      "\xc0\xaf",
                                      "\xed\xa0\x80",
                                      "\xf4\x90\x80\x80",
                                      "a\x80"};
    ct_tensor *t = counting(CT_F64, SHAPE(2));
    for (int i = 0; i < COUNT(good); i++) {
        ck_assert(ct_is_axis_name(good[i]));
        names_and_free(ct_name_axes(t, 1, &good[i]), 1, &good[i]);
    }
    for (int i = 0; i < COUNT(bad); i++) {
        ck_assert(!ct_is_axis_name(bad[i]));
        none(ct_name_axes(t, 1, &bad[i]));
        ck_assert_int_eq(ct_error()->code, CT_EAXIS);
        none(ct_rename_axis(t, 0, bad[i]));
        ck_assert_int_eq(ct_axis_of(t, bad[i]), CT_NO_AXIS);
    }
    ck_assert(!ct_is_axis_name(NULL));
    ct_free(t);
}
END_TEST

START_TEST(errors_of_naming) {
    ct_tensor *t = named(SHAPE(2, 3), NAMES("batch", NULL)), *bare = counting(CT_F64, SHAPE(2, 3));
    int axes[3];
    fails(ct_name_axes(t, NAMES("a")), CT_EAXIS, "a tensor of rank 2 has 2 names and 1 was given");
    fails(ct_name_axes(t, 2, NULL), CT_EINVAL, "the 2 names are NULL");
    fails(ct_name_axes(t, NAMES("a", "")), CT_EAXIS, "the name of axis 1 is empty");
    fails(ct_name_axes(t, NAMES("01234567890123456789012345678901", NULL)), CT_EAXIS,
          "the name of axis 0 is longer than 31 bytes");
    fails(ct_name_axes(t, NAMES("a", "\xff")), CT_EAXIS,
          "the name of axis 1 is not UTF-8 without control characters");
    fails(ct_name_axes(t, NAMES("a", "a")), CT_EAXIS, "the axes 0 and 1 would both be named 'a'");
    fails(ct_rename_axis(t, 1, "batch"), CT_EAXIS, "the axes 0 and 1 would both be named 'batch'");
    fails(ct_rename_axis(t, 2, "x"), CT_EAXIS, "the axis 2 is out of range for a tensor of rank 2");
    ck_assert_int_eq(ct_axis_of(t, "time"), CT_NO_AXIS);
    fails(NULL, CT_EAXIS, "no axis is named 'time': the axes are [batch, -]");
    ck_assert_int_eq(ct_axis_of(bare, "time"), CT_NO_AXIS);
    fails(NULL, CT_EAXIS, "no axis is named 'time': the 2 axes have no names");
    ck_assert_int_eq(ct_axis_of(t, "a\nb"), CT_NO_AXIS);
    fails(NULL, CT_EAXIS,
          "no axis can have a name that is empty, longer than 31 bytes or not plain UTF-8");
    ck_assert_int_eq(ct_axis_of(t, NULL), CT_NO_AXIS);
    fails(NULL, CT_EINVAL, ct_error()->message);
    ck_assert_int_eq(ct_axes_of(t, NAMES("a", "b", "c"), axes), CT_EAXIS);
    fails(NULL, CT_EAXIS, "3 names were given and the tensor has 2 axes");
    ck_assert_int_eq(ct_axes_of(t, -1, NULL, axes), CT_EAXIS);
    ct_error_clear();
    ck_assert_int_eq(ct_axes_of(t, 1, NULL, axes), CT_EINVAL);
    fails(NULL, CT_EINVAL, "the 1 names are NULL");
    ck_assert_int_eq(ct_axes_of(t, NAMES("batch"), NULL), CT_EINVAL);
    fails(NULL, CT_EINVAL, "the place for 1 axes is NULL");
    ck_assert_int_eq(ct_axes_of(t, NAMES("batch", NULL), axes), CT_EINVAL);
    fails(NULL, CT_EINVAL, "name 1 of 2 is NULL");
    fails(ct_transpose_named(t, "batch", "time"), CT_EAXIS,
          "no axis is named 'time': the axes are [batch, -]");
    fails(ct_align_to(t, NAMES("batch", "time")), CT_EAXIS, "axis 1 has no name to be aligned by");
    fails(ct_align_to(bare, 9, NULL), CT_EAXIS, "a tensor has 0 to 8 axes and 9 names were given");
    fails(ct_align_to(bare, 1, NULL), CT_EINVAL, "the 1 names are NULL");
    fails(ct_align_to(bare, NAMES("x", NULL)), CT_EINVAL, "name 1 of 2 is NULL");
    fails(ct_align_to(bare, NAMES("x", "x")), CT_EAXIS, "the axes 0 and 1 would both be named 'x'");
    fails(ct_align_as(bare, t), CT_EAXIS, "axis 1 of the tensor to align to has no name");
    ct_tensor *row = ct_select(t, 1, 0);
    fails(ct_align_to(row, NAMES("time", "feature")), CT_EAXIS,
          "axis 0 ('batch') is not among the 2 names to align to");
    ct_free(row);
    none(ct_name_axes(NULL, 0, NULL));
    none(ct_rename_axis(NULL, 0, NULL));
    none(ct_drop_names(NULL));
    none(ct_transpose_named(t, "batch", NULL));
    none(ct_align_to(NULL, 0, NULL));
    none(ct_align_as(t, NULL));
    ck_assert(!ct_axis_name(NULL, 0) && ct_axis_of(NULL, "x") == CT_NO_AXIS);
    ck_assert_int_eq(ct_axes_of(NULL, 0, NULL, NULL), CT_EINVAL);
    ct_free(bare);
    ct_free(t);
    ck_assert_uint_eq(ct_live_blocks(), 0);
}
END_TEST

// A name that is not there is told by the function that wanted the axis, and never means -1.
START_TEST(a_missing_name_is_no_axis) {
    static const char text[] = "no axis is named 'tim': the axes are [batch, time]";
    ct_tensor *t = named(SHAPE(2, 3), NAMES("batch", "time"));
    fails(ct_sum(t, ct_axis_of(t, "tim"), false), CT_EAXIS, text);
    fails(ct_max(t, ct_axis_of(t, "tim"), false), CT_EAXIS, text);
    fails(ct_select(t, ct_axis_of(t, "tim"), 0), CT_EAXIS, text);
    fails(ct_slice(t, ct_axis_of(t, "tim"), 0, 1, 1), CT_EAXIS, text);
    fails(ct_flip(t, ct_axis_of(t, "tim")), CT_EAXIS, text);
    fails(ct_softmax(t, ct_axis_of(t, "tim")), CT_EAXIS, text);
    fails(ct_unfold(t, ct_axis_of(t, "tim"), 1, 1), CT_EAXIS, text);
    fails(ct_squeeze(t, ct_axis_of(t, "tim")), CT_EAXIS, text);
    ck_assert_int_eq(ct_extent(t, ct_axis_of(t, "tim")), -1);
    fails(NULL, CT_EAXIS, text);
    ct_tensor *sums = ct_sum(t, ct_axis_of(t, "batch"), false);
    assert_items(sums, SHAPE(3), ITEMS(3, 5, 7));
    names_and_free(sums, NAMES("time"));
    ct_free(t);
}
END_TEST

// --- following axes

START_TEST(through_views) {
    ct_tensor *t = named(SHAPE(2, 3, 4), NAMES("a", "b", "c")), *parts[2];
    names_and_free(ct_copy(t), NAMES("a", "b", "c"));
    names_and_free(ct_compact(t), NAMES("a", "b", "c"));
    names_and_free(ct_slice(t, 1, 0, 2, 1), NAMES("a", "b", "c"));
    names_and_free(ct_slice_all(t, 0, NULL, NULL, NULL), NAMES("a", "b", "c"));
    names_and_free(ct_flip(t, CT_ALL), NAMES("a", "b", "c"));
    names_and_free(ct_select(t, 1, 0), NAMES("a", "c"));
    names_and_free(ct_transpose(t), NAMES("a", "c", "b"));
    names_and_free(ct_swap_axes(t, 0, 2), NAMES("c", "b", "a"));
    names_and_free(ct_permute(t, AXES(1, 2, 0)), NAMES("b", "c", "a"));
    names_and_free(ct_move_axis(t, 0, -1), NAMES("b", "c", "a"));
    names_and_free(ct_transpose_named(t, "a", "c"), NAMES("c", "b", "a"));
    names_and_free(ct_expand_dims(t, 1), NAMES("a", NULL, "b", "c"));
    names_and_free(ct_broadcast_to(t, SHAPE(5, 2, 3, 4)), NAMES(NULL, "a", "b", "c"));
    names_and_free(ct_diagonal(t, 0, 0, 2), NAMES("b", NULL));
    names_and_free(ct_unfold(t, 1, 2, 1), NAMES("a", "b", "c", NULL));
    names_and_free(ct_reshape(t, SHAPE(2, 12)), NAMES("a", NULL));
    names_and_free(ct_reshape(t, SHAPE(6, 4)), NAMES(NULL, "c"));
    names_and_free(ct_reshape(t, SHAPE(2, 1, 3, 4)), NAMES("a", NULL, "b", "c"));
    names_and_free(ct_reshape(t, SHAPE(2, -1, 2)), NAMES("a", NULL, NULL));
    names_and_free(ct_reshape(t, SHAPE(24)), NAMES(NULL));
    names_and_free(ct_flatten(t, 0, 1), NAMES(NULL, "c"));
    names_and_free(ct_flatten(t, 1, 1), NAMES("a", "b", "c"));
    ct_tensor *turned = ct_permute(t, AXES(2, 1, 0)); // a reshape of it is a copy
    names_and_free(ct_reshape(turned, SHAPE(4, 6)), NAMES("c", NULL));
    names_and_free(ct_flatten(turned, 1, 2), NAMES("c", NULL));
    ct_free(turned);
    ck_assert_int_eq(ct_split(t, 2, 2, parts), CT_OK);
    names_and_free(parts[0], NAMES("a", "b", "c"));
    names_and_free(parts[1], NAMES("a", "b", "c"));
    ct_tensor *row = ct_slice(t, 1, 1, 2, 1);
    names_and_free(ct_squeeze(row, CT_ALL), NAMES("a", "c"));
    ct_free(row);
    ct_free(t);
    ck_assert_uint_eq(ct_live_blocks(), 0);
}
END_TEST

START_TEST(through_writes_and_types) {
    ct_tensor *t = named(SHAPE(2, 3), NAMES("a", "b")), *copy = ct_copy(t);
    ck_assert_int_eq(ct_set(copy, SHAPE(0, 1), 7), CT_OK);
    has_names(copy, NAMES("a", "b"));
    ck_assert_int_eq(ct_fill(copy, 7), CT_OK);
    has_names(copy, NAMES("a", "b"));
    ck_assert_ptr_nonnull(ct_data_for_write(copy));
    names_and_free(copy, NAMES("a", "b"));
    names_and_free(ct_astype(t, CT_F32), NAMES("a", "b"));
    names_and_free(ct_astype(t, CT_F64), NAMES("a", "b"));
    ct_tensor *dual = ct_dual(t, NULL);
    has_names(dual, NAMES("a", "b"));
    names_and_free(ct_dual_tangent(dual), NAMES("a", "b"));
    names_and_free(ct_mul(dual, dual), NAMES("a", "b"));
    ct_free(dual);
    names_and_free(ct_softmax(t, 1), NAMES("a", "b"));
    names_and_free(ct_log_softmax(t, 0), NAMES("a", "b"));
    names_and_free(ct_logsumexp(t, 0, false), NAMES("b"));
    names_and_free(ct_logsumexp(t, 0, true), NAMES("a", "b"));
    ct_tensor *index = ct_zeros(CT_I64, SHAPE(2));
    ct_tensor *picked = ct_pick(t, index);
    has_names(picked, NAMES("a"));
    names_and_free(ct_place(picked, index, 3), NAMES("a", NULL));
    names_and_free(ct_unslice(t, 1, 0, 1, 9), NAMES("a", "b"));
    ct_free(index);
    ct_free(picked);
    ct_free(t);
    ck_assert_uint_eq(ct_live_blocks(), 0);
}
END_TEST

START_TEST(through_reductions) {
    ct_tensor *t = named(SHAPE(2, 3, 4), NAMES("a", NULL, "c"));
    names_and_free(ct_sum(t, 0, false), NAMES(NULL, "c"));
    names_and_free(ct_sum(t, 0, true), NAMES("a", NULL, "c"));
    names_and_free(ct_max_axes(t, AXES(0, 2), false), NAMES(NULL));
    names_and_free(ct_mean_axes(t, AXES(0, 2), true), NAMES("a", NULL, "c"));
    names_and_free(ct_min(t, CT_ALL, false), 0, NULL);
    names_and_free(ct_sum_axes(t, 0, NULL, false), NAMES("a", NULL, "c"));
    ct_free(t);
    ck_assert_uint_eq(ct_live_blocks(), 0);
}
END_TEST

// Two operands of the shapes and names given, and what their sum has.
static const struct {
    int rank_a, rank_b, rank;
    int64_t a[3], b[3];
    const char *names_a[3], *names_b[3], *names[3];
    const char *error;
} merges[] = {
    {2, 2, 2, {2, 3}, {2, 3}, {"x", "y"}, {"x", "y"}, {"x", "y"}, NULL},
    {2, 2, 2, {2, 3}, {2, 3}, {"x", NULL}, {NULL, "y"}, {"x", "y"}, NULL},
    {2, 1, 2, {2, 3}, {3}, {"x", "y"}, {NULL}, {"x", "y"}, NULL},
    {2, 1, 2, {2, 3}, {3}, {NULL, NULL}, {"y"}, {NULL, "y"}, NULL},
    {1, 2, 2, {3}, {2, 3}, {"y"}, {"x", NULL}, {"x", "y"}, NULL},
    {2, 2, 2, {2, 1}, {1, 3}, {"x", "y"}, {NULL, NULL}, {"x", "y"}, NULL},
    {0, 2, 2, {0}, {2, 3}, {NULL}, {"x", "y"}, {"x", "y"}, NULL},
    {3, 1, 3, {2, 3, 4}, {1}, {"x", NULL, NULL}, {"z"}, {"x", NULL, "z"}, NULL},
    {2,
     2,
     0,
     {2, 3},
     {2, 3},
     {NULL, "feature"},
     {NULL, "batch"},
     {NULL},
     "axis 1 is named 'feature' in one operand and 'batch' in the other"},
    {2,
     1,
     0,
     {2, 3},
     {3},
     {"x", "y"},
     {"x"},
     {NULL},
     "axis 1 is named 'y' in one operand and 'x' in the other"},
    {2, 1, 0, {2, 3}, {3}, {"x", NULL}, {"x"}, {NULL}, "the axes 0 and 1 would both be named 'x'"},
    {2,
     2,
     0,
     {2, 3},
     {2, 2},
     {NULL, "feature"},
     {NULL, NULL},
     {NULL},
     "shapes [2, 3] and [2, 2] do not broadcast: the extents 3 and 2 of axis 1 ('feature') differ "
     "and neither is 1"},
    {2,
     1,
     0,
     {2, 3},
     {2},
     {NULL, "feature"},
     {"batch"},
     {NULL},
     "shapes [2, 3] and [2] do not broadcast: the extents 3 and 2 of axis 1 ('feature' and "
     "'batch') "
     "differ and neither is 1"},
    {2,
     1,
     0,
     {2, 3},
     {2},
     {NULL, NULL},
     {NULL},
     {NULL},
     "shapes [2, 3] and [2] do not broadcast: the extents 3 and 2 of axis 1 differ and neither is "
     "1"},
};

START_TEST(through_broadcasting) {
    ct_tensor *a = named(merges[_i].rank_a, merges[_i].a, merges[_i].rank_a, merges[_i].names_a);
    ct_tensor *b = named(merges[_i].rank_b, merges[_i].b, merges[_i].rank_b, merges[_i].names_b);
    size_t blocks = ct_live_blocks();
    ct_tensor *sum = ct_add(a, b);
    if (merges[_i].error) {
        bool names_alone = strncmp(merges[_i].error, "shapes", 6) != 0;
        fails(sum, names_alone ? CT_EAXIS : CT_ESHAPE, merges[_i].error);
        ck_assert(!names_alone || !ct_names_agree(a, b));
    } else {
        ck_assert(ct_names_agree(a, b) && ct_names_agree(b, a));
        has_names(sum, merges[_i].rank, merges[_i].names);
        ct_tensor *x = ct_drop_names(a), *y = ct_drop_names(b), *plain = ct_add(x, y);
        ck_assert(ct_tensor_equal(plain, sum)); // names never change a number
        names_and_free(ct_less(a, b), merges[_i].rank, merges[_i].names);
        ct_free(x);
        ct_free(y);
        ct_free(plain);
    }
    ct_free(sum);
    ck_assert_uint_eq(ct_live_blocks(), blocks);
    ct_free(a);
    ct_free(b);
    ck_assert(!ct_names_agree(NULL, NULL));
}
END_TEST

START_TEST(of_three_operands) {
    ct_tensor *mask = ct_zeros(CT_BOOL, SHAPE(2, 3)), *m = ct_name_axes(mask, NAMES("x", NULL));
    ct_tensor *a = named(SHAPE(3), NAMES("y")), *b = named(SHAPE(2, 1), NAMES(NULL, "y"));
    ct_tensor *c = named(SHAPE(2, 1), NAMES(NULL, "z"));
    names_and_free(ct_where(m, a, b), NAMES("x", "y"));
    fails(ct_where(m, a, c), CT_EAXIS, "axis 1 is named 'y' in one operand and 'z' in another");
    ct_tensor *all[] = {mask, m, a, b, c};
    for (int i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
    ck_assert_uint_eq(ct_live_blocks(), 0);
}
END_TEST

// Equal names cost no memory: the result shares them.
START_TEST(names_are_shared) {
    ct_tensor *t = named(SHAPE(2, 3), NAMES("a", "b")), *other = named(SHAPE(3), NAMES("b"));
    ct_tensor *plain = ct_drop_names(t), *column = ct_slice(plain, 1, 0, 1, 1);
    size_t before = ct_live_blocks();
    ct_tensor *without = ct_add(plain, column);
    size_t most = ct_live_blocks() - before;
    ct_tensor *made[] = {ct_add(t, t), ct_add(t, other), ct_add(plain, t),
                         ct_exp(t),    ct_add(other, t), ct_sum(t, 0, true)};
    for (int i = 0; i < COUNT(made); i++) {
        has_names(made[i], NAMES("a", "b"));
        ck_assert_uint_le(ct_live_blocks() - before, most * (size_t)(COUNT(made) + 1));
    }
    for (int i = 0; i < COUNT(made); i++)
        ct_free(made[i]);
    ct_tensor *views[] = {ct_transpose(t), ct_select(t, 0, 1), ct_unfold(t, 1, 2, 1)};
    ct_free(t); // the names live as long as a view has them
    has_names(views[0], NAMES("b", "a"));
    has_names(views[1], NAMES("b"));
    has_names(views[2], NAMES("a", "b", NULL));
    for (int i = 0; i < COUNT(views); i++)
        ct_free(views[i]);
    ct_tensor *all[] = {other, plain, column, without};
    for (int i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
    ck_assert_uint_eq(ct_live_blocks(), 0);
}
END_TEST

START_TEST(through_products) {
    ct_tensor *a = named(SHAPE(2, 3), NAMES("batch", "in")),
              *b = named(SHAPE(3, 4), NAMES("k", "out"));
    ct_tensor *row = named(SHAPE(3), NAMES("in")),
              *deep = named(SHAPE(5, 3, 4), NAMES("t", "x", NULL));
    ct_tensor *alike = named(SHAPE(3, 4), NAMES(NULL, "batch"));
    ct_tensor *batch = named(SHAPE(1, 2, 3), NAMES("t", "i", "j"));
    ct_tensor *other = named(SHAPE(5, 2, 3), NAMES("u", NULL, NULL));
    names_and_free(ct_matmul(a, b), NAMES("batch", "out"));
    names_and_free(ct_matmul(row, b), NAMES("out"));
    names_and_free(ct_matmul(a, row), NAMES("batch"));
    names_and_free(ct_matmul(row, row), 0, NULL);
    names_and_free(ct_matmul(a, deep), NAMES("t", "batch", NULL));
    names_and_free(ct_matmul(batch, deep), NAMES("t", "i", NULL));
    fails(ct_matmul(a, alike), CT_EAXIS, "the axes 0 and 1 would both be named 'batch'");
    fails(ct_matmul(other, deep), CT_EAXIS,
          "axis 0 is named 'u' in one operand and 't' in the other");
    ct_tensor *all[] = {a, b, row, deep, alike, batch, other};
    for (int i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
    ck_assert_uint_eq(ct_live_blocks(), 0);
}
END_TEST

START_TEST(aligning) {
    ct_tensor *t = named(SHAPE(2, 3), NAMES("b", "c")),
              *other = named(SHAPE(3, 1, 2), NAMES("c", "a", "b"));
    ct_tensor *aligned = ct_align_to(t, NAMES("c", "a", "b"));
    has_names(aligned, NAMES("c", "a", "b"));
    assert_items(aligned, SHAPE(3, 1, 2), ITEMS(0, 3, 1, 4, 2, 5));
    ck_assert(ct_shares_storage(aligned, t));
    ct_tensor *as = ct_align_as(t, other);
    ck_assert(ct_tensor_equal(as, aligned));
    names_and_free(ct_add(as, other), NAMES("c", "a", "b"));
    ck_assert(ct_can_align_to(t, NAMES("c", "b")) && !ct_can_align_to(t, NAMES("c")) &&
              !ct_can_align_to(NULL, 0, NULL) && !ct_can_align_to(t, NAMES("c", NULL, "b")));
    ct_tensor *one = ct_from_double(CT_F64, 3), *up = ct_align_to(one, NAMES("x", "y"));
    assert_items(up, SHAPE(1, 1), ITEMS(3));
    names_and_free(up, NAMES("x", "y"));
    ct_tensor *none_left = ct_align_to(one, 0, NULL);
    names_and_free(none_left, 0, NULL);
    ct_tensor *all[] = {t, other, aligned, as, one};
    for (int i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
    ck_assert_uint_eq(ct_live_blocks(), 0);
}
END_TEST

START_TEST(in_messages) {
    ct_tensor *t = named(SHAPE(2, 3), NAMES("batch", "feature")), *parts[2];
    fails(ct_squeeze(t, 1), CT_ESHAPE,
          "cannot squeeze axis 1 ('feature') of extent 3: the extent is not 1");
    fails(ct_select(t, 0, 5), CT_EINDEX,
          "index 5 is out of bounds for axis 0 ('batch') of extent 2");
    fails(ct_unfold(t, 1, 4, 1), CT_ESHAPE,
          "windows of 4 items do not fit axis 1 ('feature') of extent 3");
    fails(ct_broadcast_to(t, SHAPE(2, 4)), CT_ESHAPE,
          "a tensor of shape [2, 3] does not broadcast to [2, 4]: the extent 3 of axis 1 "
          "('feature') is neither 4 nor 1");
    ck_assert_int_eq(ct_split(t, 1, 2, parts), CT_ESHAPE);
    fails(NULL, CT_ESHAPE, "cannot split axis 1 ('feature') of extent 3 into 2 equal parts");
    ct_free(t);
}
END_TEST

// --- tapes: names go forward with the values, stand in pictures, and no rule sees them

// A dense layer whose products of turned matrices would bring equal and unlike names together.
static ct_tensor *gradient(bool with_names, ct_tensor **second) {
    static const double x[] = {1, -2, 3, 0.5, 2, -1}, w[] = {1, 2, 3, -1, 0.5, 2, -2, 1, 3};
    ct_tensor *data = ct_from_doubles(CT_F64, SHAPE(2, 3), 6, x);
    ct_tensor *weights = ct_from_doubles(CT_F64, SHAPE(3, 3), 9, w);
    ct_tensor *a = ct_name_axes(data, NAMES("batch", "feature"));
    ct_tensor *b = ct_name_axes(weights, NAMES("other", "feature"));
    ct_tape *tape = ct_tape_new();
    ct_var p = ct_leaf(tape, with_names ? a : data, "x"),
           q = ct_leaf(tape, with_names ? b : weights, "w");
    ct_var y = ct_var_add(ct_var_tanh(ct_var_matmul(p, q)), p);
    ct_var loss = ct_var_sum(ct_var_mul(y, y), CT_ALL, false), dx[2], ddx[1];
    ck_assert_msg(ct_grad(loss, ct_var_null(), 2, (ct_var[]){p, q}, dx) == CT_OK, "%s",
                  ct_error()->message);
    ct_var again = ct_var_sum(ct_var_mul(dx[1], dx[1]), CT_ALL, false);
    ck_assert_int_eq(ct_grad(again, ct_var_null(), 1, &p, ddx), CT_OK);
    ck_assert(!with_names || ct_has_axis(ct_value(y), "batch"));
    ck_assert(!ct_has_names(ct_value(dx[0])) && !ct_has_names(ct_value(dx[1])));
    ct_tensor *first = ct_copy(ct_value(dx[1]));
    *second = ct_copy(ct_value(ddx[0]));
    ct_tape_free(tape);
    ct_tensor *all[] = {data, weights, a, b};
    for (int i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
    return first;
}

START_TEST(gradients_do_not_see_names) {
    ct_tensor *second[2], *first[2] = {gradient(true, &second[0]), gradient(false, &second[1])};
    ck_assert(ct_tensor_equal(first[0], first[1]) && ct_tensor_equal(second[0], second[1]));
    for (int i = 0; i < 2; i++) {
        ct_free(first[i]);
        ct_free(second[i]);
    }
    ck_assert_uint_eq(ct_live_blocks(), 0);
}
END_TEST

START_TEST(in_pictures) {
    ct_tensor *t = named(SHAPE(2, 3), NAMES("batch", "a<b"));
    ct_tape *tape = ct_tape_new();
    ct_var x = ct_leaf(tape, t, "x"), sum = ct_var_sum(x, 0, false);
    draws(tape, NULL, "f64[batch=2, a&lt;b=3]");
    draws(tape, NULL, "f64[a&lt;b=3]");
    lists(tape, NULL, "f64[batch=2, a<b=3]");
    ck_assert(!ct_var_is_null(sum));
    ct_tape_free(tape);
    ct_free(t);
}
END_TEST

// --- memory

static bool keep(ct_tensor *made, ct_tensor **kept, int *n) {
    kept[*n] = made;
    *n += made != NULL;
    return made != NULL;
}

static bool scenario(void) {
    ct_tensor *k[16];
    int n = 0;
    bool ok = keep(ct_zeros(CT_F64, SHAPE(2, 3)), k, &n) &&
              keep(ct_name_axes(k[0], NAMES("a", NULL)), k, &n) &&
              keep(ct_name_axes(k[0], NAMES(NULL, "b")), k, &n) &&
              keep(ct_add(k[1], k[2]), k, &n) && keep(ct_transpose_named(k[3], "a", "b"), k, &n) &&
              keep(ct_matmul(k[4], k[0]), k, &n) && keep(ct_rename_axis(k[4], 0, "c"), k, &n) &&
              keep(ct_align_to(k[3], NAMES("b", "x", "a")), k, &n) &&
              keep(ct_sum(k[3], 0, true), k, &n) && keep(ct_reshape(k[4], SHAPE(6)), k, &n);
    if (!ok)
        ck_assert_int_eq(ct_error()->code, CT_ENOMEM);
    while (n > 0)
        ct_free(k[--n]);
    return ok;
}

START_TEST(no_memory) {
    if (!make_memory_scarce()) // only where this is the process's first allocation
        return;
    int runs = 0;
    for (bool done = false; !done; runs++) {
        starve(runs);
        done = scenario();
        ck_assert_uint_eq(ct_live_blocks(), 0);
    }
    ck_assert_int_gt(runs, 15);
}
END_TEST

Suite *suite_names(void) {
    Suite *suite = suite_create("names");
    TCase *tc = tcase_create("names");
    tcase_add_test(tc, naming);
    tcase_add_test(tc, what_a_name_is);
    tcase_add_test(tc, errors_of_naming);
    tcase_add_test(tc, a_missing_name_is_no_axis);
    tcase_add_test(tc, through_views);
    tcase_add_test(tc, through_writes_and_types);
    tcase_add_test(tc, through_reductions);
    tcase_add_loop_test(tc, through_broadcasting, 0, COUNT(merges));
    tcase_add_test(tc, of_three_operands);
    tcase_add_test(tc, names_are_shared);
    tcase_add_test(tc, through_products);
    tcase_add_test(tc, aligning);
    tcase_add_test(tc, in_messages);
    tcase_add_test(tc, gradients_do_not_see_names);
    tcase_add_test(tc, in_pictures);
    suite_add_tcase(suite, tc);
    TCase *scarcity = tcase_create("memory");
    tcase_add_test(scarcity, no_memory);
    suite_add_tcase(suite, scarcity);
    return suite;
}
