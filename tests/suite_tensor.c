#include "scarce_memory.h"
#include "tensor_tools.h"

#include "tensor/ct_alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_tensor(void);

// --- tensors that tests start from

static ct_tensor *two_by_three, *pair, *cube, *none_by_four, *floats, *labels, *mask;

static void set_up(void) {
    two_by_three = counting(CT_F64, SHAPE(2, 3));
    pair = counting(CT_F64, SHAPE(2));
    cube = counting(CT_F64, SHAPE(2, 3, 4));
    none_by_four = ct_zeros(CT_F64, SHAPE(0, 4));
    floats = counting(CT_F32, SHAPE(2, 3));
    labels = counting(CT_I64, SHAPE(4));
    mask = ct_from_doubles(CT_BOOL, SHAPE(2, 2), ITEMS(0, 1, 1, 0));
    ct_error_clear();
}

static void tear_down(void) {
    ct_tensor *all[] = {two_by_three, pair, cube, none_by_four, floats, labels, mask};
    for (int i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
    ck_assert_uint_eq(ct_live_blocks(), 0);
}

// --- every error text

static void fails(ct_status status) {
    ck_assert_int_ne(status, CT_OK);
    ck_assert_int_eq(status, ct_error()->code);
}

static double room[64];

#define BIG ((int64_t)1 << 60)

#define ERRORS(XX)                                                                                 \
    XX(none(ct_zeros(CT_F64, SHAPE(-1))), ESHAPE, "ct_zeros",                                      \
       "the extent -1 of axis 0 is negative")                                                      \
    XX(none(ct_zeros(CT_F64, 9, (int64_t[9]){0})), ESHAPE, "ct_zeros",                             \
       "the rank 9 is not in the range 0 to 8")                                                    \
    XX(none(ct_zeros(CT_F64, -1, NULL)), ESHAPE, "ct_zeros",                                       \
       "the rank -1 is not in the range 0 to 8")                                                   \
    XX(none(ct_zeros(CT_F64, 1, NULL)), EINVAL, "ct_zeros", "the shape is NULL and the rank is 1") \
    XX(none(ct_zeros(NULL, 0, NULL)), EINVAL, "ct_zeros", "an operand is NULL")                    \
    XX(none(ct_zeros(CT_F64, SHAPE(BIG + 1))), EOVERFLOW, "ct_zeros",                              \
       "a shape of [1152921504606846977] of f64 takes more bytes than can be addressed")           \
    XX(none(ct_zeros(CT_F64, SHAPE(2, 2, 1, 2 * BIG))), EOVERFLOW, "ct_zeros",                     \
       "a shape of [2, 2, 1, 2305843009213693952] of f64 takes more bytes than can be addressed")  \
    XX(none(ct_zeros(CT_BOOL, SHAPE(4294967296, 4294967296))), EOVERFLOW, "ct_zeros",              \
       "a shape of [4294967296, 4294967296] of bool takes more bytes than can be addressed")       \
    XX(none(ct_zeros(CT_BOOL, SHAPE(3037000500, 3037000500))), EOVERFLOW, "ct_zeros",              \
       "a shape of [3037000500, 3037000500] of bool takes more bytes than can be addressed")       \
    XX(none(ct_full(CT_I64, SHAPE(2), 2.5)), EDOMAIN, "ct_full", "the value 2.5 does not fit i64") \
    XX(none(ct_full(CT_I64, SHAPE(2), QNAN)), EDOMAIN, "ct_full",                                  \
       "the value nan does not fit i64")                                                           \
    XX(none(ct_full(CT_I64, SHAPE(2), 0x1p63)), EDOMAIN, "ct_full",                                \
       "the value 9.223372036854776e+18 does not fit i64")                                         \
    XX(none(ct_full(CT_F32, SHAPE(2), 1e39)), EDOMAIN, "ct_full",                                  \
       "the value 1e+39 does not fit f32")                                                         \
    XX(none(ct_from_double(CT_BOOL, 2)), EDOMAIN, "ct_from_double",                                \
       "the value 2 does not fit bool")                                                            \
    XX(none(ct_from_doubles(CT_I64, SHAPE(2, 2), ITEMS(1, 2, 0.5, 0.25))), EDOMAIN,                \
       "ct_from_doubles", "the value 0.5 at index [1, 0] does not fit i64")                        \
    XX(none(ct_from_doubles(CT_F64, SHAPE(2, 3), ITEMS(1, 2, 3, 4, 5))), ESHAPE,                   \
       "ct_from_doubles", "a shape of [2, 3] holds 6 items and 5 were given")                      \
    XX(none(ct_from_items(CT_F64, SHAPE(1), ITEMS(1, 2))), ESHAPE, "ct_from_items",                \
       "a shape of [1] holds 1 item and 2 were given")                                             \
    XX(none(ct_from_items(CT_F64, SHAPE(0), ITEMS(1))), ESHAPE, "ct_from_items",                   \
       "a shape of [0] holds 0 items and 1 was given")                                             \
    XX(none(ct_from_items(CT_F64, SHAPE(2), 2, NULL)), EINVAL, "ct_from_items",                    \
       "the 2 items are NULL")                                                                     \
    XX(fails(ct_get(cube, SHAPE(0), room)), EINDEX, "ct_get",                                      \
       "index [0] has 1 axis and the tensor has 3")                                                \
    XX(fails(ct_get(pair, SHAPE(0, 1), room)), EINDEX, "ct_get",                                   \
       "index [0, 1] has 2 axes and the tensor has 1")                                             \
    XX(fails(ct_get(two_by_three, SHAPE(2, 0), room)), EINDEX, "ct_get",                           \
       "index [2, 0] is out of bounds for a shape of [2, 3]")                                      \
    XX(fails(ct_get(two_by_three, SHAPE(0, -4), room)), EINDEX, "ct_get",                          \
       "index [0, -4] is out of bounds for a shape of [2, 3]")                                     \
    XX(fails(ct_get(pair, SHAPE(INT64_MIN), room)), EINDEX, "ct_get",                              \
       "index [-9223372036854775808] is out of bounds for a shape of [2]")                         \
    XX(fails(ct_set(labels, SHAPE(0), 0.5)), EDOMAIN, "ct_set", "the value 0.5 does not fit i64")  \
    XX(fails(ct_set(labels, SHAPE(4), 1)), EINDEX, "ct_set",                                       \
       "index [4] is out of bounds for a shape of [4]")                                            \
    XX(fails(ct_fill(mask, -1)), EDOMAIN, "ct_fill", "the value -1 does not fit bool")             \
    XX(fails(ct_to_doubles(two_by_three, 5, room)), ESHAPE, "ct_to_doubles",                       \
       "a shape of [2, 3] holds 6 items and there is room for 5")                                  \
    XX(fails(ct_to_items(two_by_three, 40, room)), ESHAPE, "ct_to_items",                          \
       "a shape of [2, 3] of f64 takes 48 bytes and there is room for 40")                         \
    XX(ck_assert(isnan(ct_item(pair))), ESHAPE, "ct_item",                                         \
       "a tensor of shape [2] holds 2 items, not one")                                             \
    XX(ck_assert(ct_extent(pair, 2) == -1), EAXIS, "ct_extent",                                    \
       "the axis 2 is out of range for a tensor of rank 1")                                        \
    XX(none(ct_slice(pair, 0, 0, 1, 0)), EINVAL, "ct_slice", "the step of a slice must not be 0")  \
    XX(none(ct_slice(two_by_three, 2, 0, 1, 1)), EAXIS, "ct_slice",                                \
       "the axis 2 is out of range for a tensor of rank 2")                                        \
    XX(none(ct_select(two_by_three, -3, 0)), EAXIS, "ct_select",                                   \
       "the axis -3 is out of range for a tensor of rank 2")                                       \
    XX(none(ct_select(two_by_three, 1, 3)), EINDEX, "ct_select",                                   \
       "index 3 is out of bounds for axis 1 of extent 3")                                          \
    XX(none(ct_select(none_by_four, 0, -1)), EINDEX, "ct_select",                                  \
       "index -1 is out of bounds for axis 0 of extent 0")                                         \
    XX(none(ct_swap_axes(pair, 0, 1)), EAXIS, "ct_swap_axes",                                      \
       "the axis 1 is out of range for a tensor of rank 1")                                        \
    XX(none(ct_permute(cube, AXES(0, 1))), EAXIS, "ct_permute",                                    \
       "a permutation of a tensor of rank 3 needs 3 axes and 2 were given")                        \
    XX(none(ct_permute(cube, AXES(0, 1, -2))), EAXIS, "ct_permute", "the axis 1 is given twice")   \
    XX(none(ct_permute(pair, AXES(CT_ALL))), EAXIS, "ct_permute",                                  \
       "CT_ALL is not taken here: one axis is needed")                                             \
    XX(none(ct_reshape(two_by_three, SHAPE(4, 2))), ESHAPE, "ct_reshape",                          \
       "cannot reshape a tensor of shape [2, 3] (6 items) into [4, 2] (8 items)")                  \
    XX(none(ct_reshape(two_by_three, SHAPE(4, -1))), ESHAPE, "ct_reshape",                         \
       "cannot reshape a tensor of shape [2, 3] (6 items) into [4, -1]: 6 is not a multiple of 4") \
    XX(none(ct_reshape(two_by_three, SHAPE(0, -1))), ESHAPE, "ct_reshape",                         \
       "cannot reshape a tensor of shape [2, 3] (6 items) into [0, -1]: 6 is not a multiple of 0") \
    XX(none(ct_reshape(none_by_four, SHAPE(0, -1))), ESHAPE, "ct_reshape",                         \
       "cannot reshape a tensor of shape [0, 4] (0 items) into [0, -1]: the extent -1 could be "   \
       "any number")                                                                               \
    XX(none(ct_reshape(two_by_three, SHAPE(-1, -1))), ESHAPE, "ct_reshape",                        \
       "the shape [-1, -1] has more than one extent of -1")                                        \
    XX(none(ct_reshape(two_by_three, SHAPE(-2, 3))), ESHAPE, "ct_reshape",                         \
       "the extent -2 of axis 0 is negative")                                                      \
    XX(none(ct_reshape(two_by_three, SHAPE(BIG, BIG))), EOVERFLOW, "ct_reshape",                   \
       "a shape of [1152921504606846976, 1152921504606846976] holds more items than can be "       \
       "counted")                                                                                  \
    XX(none(ct_expand_dims(pair, 2)), EAXIS, "ct_expand_dims",                                     \
       "the axis 2 is out of range for a tensor of rank 2")                                        \
    XX(none(ct_squeeze(two_by_three, 1)), ESHAPE, "ct_squeeze",                                    \
       "cannot squeeze axis 1 of extent 3: the extent is not 1")                                   \
    XX(none(ct_flip(pair, 1)), EAXIS, "ct_flip",                                                   \
       "the axis 1 is out of range for a tensor of rank 1")                                        \
    XX(none(ct_broadcast_to(two_by_three, SHAPE(2, 4))), ESHAPE, "ct_broadcast_to",                \
       "a tensor of shape [2, 3] does not broadcast to [2, 4]: the extent 3 of axis 1 is neither " \
       "4 nor 1")                                                                                  \
    XX(none(ct_broadcast_to(two_by_three, SHAPE(3))), ESHAPE, "ct_broadcast_to",                   \
       "a tensor of shape [2, 3] does not broadcast to [3]: its rank 2 is larger")                 \
    XX(none(ct_broadcast_to(pair, SHAPE(BIG, 2))), EOVERFLOW, "ct_broadcast_to",                   \
       "a shape of [1152921504606846976, 2] of f64 takes more bytes than can be addressed")        \
    XX(none(ct_sum(mask, 0, false)), EDTYPE, "ct_sum", "bool has no sum")                          \
    XX(none(ct_mean(mask, 0, false)), EDTYPE, "ct_mean", "bool has no mean")                       \
    XX(none(ct_softmax(mask, 0)), EDTYPE, "ct_softmax", "bool has no softmax")                     \
    XX(none(ct_softmax(labels, 0)), EDTYPE, "ct_softmax", "i64 has no softmax")                    \
    XX(none(ct_logsumexp(labels, 0, false)), EDTYPE, "ct_logsumexp", "i64 has no logsumexp")       \
    XX(none(ct_apply(CT_OP_exp, 1, NULL)), EINVAL, "ct_apply", "an operand is NULL")               \
    XX(none(ct_apply(CT_OP_exp, 1, (const ct_tensor *[]){mask})), EDTYPE, "ct_apply",              \
       "bool has no exp")                                                                          \
    XX(none(ct_from_components(CT_F64, 1, NULL)), EINVAL, "ct_from_components",                    \
       "an operand is NULL")                                                                       \
    XX(none(ct_sum(two_by_three, 2, false)), EAXIS, "ct_sum",                                      \
       "the axis 2 is out of range for a tensor of rank 2")                                        \
    XX(none(ct_sum_axes(two_by_three, AXES(-1, 1), false)), EAXIS, "ct_sum_axes",                  \
       "the axis 1 is given twice")                                                                \
    XX(none(ct_sum_axes(two_by_three, -1, NULL, false)), EINVAL, "ct_sum_axes",                    \
       "the number of axes -1 is negative")                                                        \
    XX(none(ct_min(none_by_four, 0, false)), EDOMAIN, "ct_min",                                    \
       "cannot take the minimum along axis 0 of extent 0")                                         \
    XX(none(ct_max(none_by_four, CT_ALL, false)), EDOMAIN, "ct_max",                               \
       "cannot take the maximum along axis 0 of extent 0")                                         \
    XX(none(ct_mean(none_by_four, -2, true)), EDOMAIN, "ct_mean",                                  \
       "cannot take the mean along axis 0 of extent 0")                                            \
    XX(none(ct_matmul(two_by_three, pair)), ESHAPE, "ct_matmul",                                   \
       "matmul needs the inner extents to agree: [2, 3] times [2], 3 against 2")                   \
    XX(none(ct_matmul(two_by_three, floats)), EDTYPE, "ct_matmul",                                 \
       "matmul needs one scalar type: f64 and f32 were given")                                     \
    XX(none(ct_matmul(mask, mask)), EDTYPE, "ct_matmul", "bool has no matmul")                     \
    XX(none(ct_astype(two_by_three, CT_BOOL)), EDOMAIN, "ct_astype",                               \
       "the value 2 at index [0, 2] does not fit bool")                                            \
    XX(none(ct_copy(NULL)), EINVAL, "ct_copy", "an operand is NULL")

#define ERROR_ROW(call, code, function, text) {#call, CT_##code, function, text},

struct error_case {
    const char *call;
    ct_status code;
    const char *function, *text;
};

static const struct error_case error_cases[] = {ERRORS(ERROR_ROW)};

static void make_error(int wanted) {
    int i = 0;
#define MAKE(call, code, function, text)                                                           \
    if (i++ == wanted)                                                                             \
        call;
    ERRORS(MAKE)
#undef MAKE
}

START_TEST(error_texts) {
    const struct error_case *row = &error_cases[_i];
    make_error(_i);
    const struct ct_error_info *error = ct_error();
    ck_assert_msg(error->code == row->code, "%s: %s", row->call, ct_status_name(error->code));
    ck_assert_msg(strcmp(error->message, row->text) == 0, "%s: %s", row->call, error->message);
    ck_assert_msg(strcmp(error->function, row->function) == 0, "%s: %s", row->call,
                  error->function);
}
END_TEST

// A NULL operand passes NULL on and keeps the first error.
START_TEST(null_operands) {
    none(ct_reshape(two_by_three, SHAPE(5)));
    ct_tensor *results[] = {
        ct_copy(NULL),
        ct_compact(NULL),
        ct_slice(NULL, 0, 0, 0, 0),
        ct_select(NULL, 0, 0),
        ct_transpose(NULL),
        ct_swap_axes(NULL, 5, 6),
        ct_permute(NULL, 0, NULL),
        ct_reshape(NULL, 0, NULL),
        ct_expand_dims(NULL, 0),
        ct_squeeze(NULL, CT_ALL),
        ct_flip(NULL, 0),
        ct_broadcast_to(NULL, 0, NULL),
        ct_sum(NULL, 0, false),
        ct_mean(NULL, 0, false),
        ct_max(NULL, 0, false),
        ct_min(NULL, 0, false),
        ct_matmul(NULL, pair),
        ct_matmul(pair, NULL),
        ct_astype(NULL, CT_F64),
        ct_astype(pair, ct_dtype(NULL)),
        ct_zeros(ct_dtype(NULL), ct_rank(NULL), ct_shape(NULL)),
    };
    for (int i = 0; i < COUNT(results); i++)
        ck_assert_ptr_null(results[i]);
    ck_assert_int_eq(ct_get(NULL, 0, NULL, room), CT_ESHAPE);
    ck_assert_int_eq(ct_set(NULL, 0, NULL, 0), CT_ESHAPE);
    ck_assert_int_eq(ct_fill(NULL, 0), CT_ESHAPE);
    ck_assert_int_eq(ct_to_doubles(NULL, 0, NULL), CT_ESHAPE);
    ck_assert_int_eq(ct_to_items(NULL, 0, NULL), CT_ESHAPE);
    ck_assert_ptr_null(ct_data_for_write(NULL));
    ck_assert(!ct_tensor_equal(NULL, pair) && !ct_all_close(pair, NULL, 0, 0) &&
              isnan(ct_item(NULL)));
    char text[4] = "xyz";
    ck_assert_int_eq(ct_format(NULL, text, sizeof text), -1);
    ck_assert_str_eq(text, "");
    ct_free(NULL);
    ck_assert_str_eq(ct_error()->function, "ct_reshape");
    ct_error_clear();
    ck_assert(!ct_can_reshape(NULL, 0, NULL) && !ct_can_view_as(NULL, 0, NULL) &&
              !ct_can_matmul(NULL, pair) && !ct_can_reduce(NULL, 0, NULL));
    ck_assert_int_eq(ct_error()->code, CT_OK);
}
END_TEST

// --- making

START_TEST(making) {
    assert_and_free(ct_zeros(CT_F64, SHAPE(2)), SHAPE(2), ITEMS(0, 0));
    assert_and_free(ct_ones(CT_F32, SHAPE(2, 1)), SHAPE(2, 1), ITEMS(1, 1));
    assert_and_free(ct_full(CT_I64, SHAPE(3), -7), SHAPE(3), ITEMS(-7, -7, -7));
    assert_and_free(ct_from_double(CT_F64, 0.5), 0, NULL, ITEMS(0.5));
    assert_and_free(ct_from_doubles(CT_F32, SHAPE(2), ITEMS(0.5, -INF)), SHAPE(2),
                    ITEMS(0.5, -INF));
    assert_and_free(ct_from_items(CT_I64, SHAPE(2), 2, (int64_t[]){3, -4}), SHAPE(2), ITEMS(3, -4));
    assert_and_free(ct_zeros(CT_F64, SHAPE(BIG, BIG, 0)), SHAPE(BIG, BIG, 0), 0, NULL);
    assert_and_free(ct_from_doubles(CT_F64, SHAPE(0, 3), 0, NULL), SHAPE(0, 3), 0, NULL);
    ck_assert_uint_eq((uintptr_t)ct_data(two_by_three) % 64, 0);
}
END_TEST

// A view costs one block, and so does a new tensor; a large one two. A descriptor that took other
// storage keeps the block it lies in.
START_TEST(blocks) {
    size_t before = ct_live_blocks();
    ct_tensor *t = ct_zeros(CT_F64, SHAPE(3, 3));
    ck_assert_uint_eq(ct_live_blocks(), before + 1);
    ct_tensor *view = ct_transpose(t);
    ck_assert_uint_eq(ct_live_blocks(), before + 2);
    ck_assert_int_eq(ct_fill(t, 1), CT_OK);
    ck_assert_uint_eq(ct_live_blocks(), before + 3);
    ct_free(view);
    ck_assert_uint_eq(ct_live_blocks(), before + 2);
    ct_free(t);
    ck_assert_uint_eq(ct_live_blocks(), before);
    t = ct_zeros(CT_F64, SHAPE(3, 3)); // the items outlive the descriptor beside them
    view = ct_transpose(t);
    ct_free(t);
    ck_assert_uint_eq(ct_live_blocks(), before + 2);
    ck_assert_int_eq(ct_fill(view, 2), CT_OK); // a view is not dense: another block
    ck_assert_uint_eq(ct_live_blocks(), before + 2);
    ct_free(view);
    ck_assert_uint_eq(ct_live_blocks(), before);
    ct_tensor *large = ct_zeros(CT_F64, SHAPE(100, 100));
    ck_assert_uint_eq(ct_live_blocks(), before + 2);
    ct_free(large);
    ck_assert_uint_eq(ct_live_blocks(), before);
}
END_TEST

// --- foreign memory

struct forged {
    int64_t shape[3], strides[3], offset;
    int rank;
    size_t count;
    ct_status status;
};

static const struct forged forged[] = {
    {{2, 3}, {3, 1}, 0, 2, 6, CT_OK},
    {{2, 3}, {3, 1}, 0, 2, 5, CT_EINDEX},
    {{2, 3}, {-3, -1}, 5, 2, 6, CT_OK},
    {{2, 3}, {-3, -1}, 4, 2, 6, CT_EINDEX},
    {{2, 3}, {3, -1}, 2, 2, 6, CT_OK},
    {{4, 3}, {0, 1}, 0, 2, 3, CT_OK},
    {{4, 3}, {0, 0}, 2, 2, 3, CT_OK},
    {{4, 3}, {0, 0}, 3, 2, 3, CT_EINDEX},
    {{4, 3}, {0, 0}, -1, 2, 3, CT_EINDEX},
    {{3}, {INT64_MIN}, 0, 1, 6, CT_EINDEX},
    {{2}, {INT64_MIN}, INT64_MAX, 1, 6, CT_EINDEX},
    {{2}, {INT64_MAX}, INT64_MAX, 1, 6, CT_EINDEX},
    {{2, 2, 2}, {INT64_MAX, INT64_MAX, INT64_MIN}, 0, 3, 6, CT_EINDEX},
    {{1}, {INT64_MIN}, 5, 1, 6, CT_OK}, // the step is never made
    {{1}, {INT64_MIN}, 6, 1, 6, CT_EINDEX},
    {{0, 2}, {INT64_MIN, INT64_MIN}, INT64_MIN, 2, 6, CT_OK}, // no item is reached
    {{0}, {1}, 0, 1, 0, CT_OK},
    {{1}, {1}, 0, 1, 0, CT_EINDEX},
    {{0}, {0}, 0, 0, 6, CT_OK}, // rank 0
    {{0}, {0}, 6, 0, 6, CT_EINDEX},
    {{-1}, {1}, 0, 1, 6, CT_ESHAPE},
    {{(int64_t)1 << 61}, {0}, 0, 1, 6, CT_EOVERFLOW},
    {{2}, {1}, 0, 1, SIZE_MAX, CT_EOVERFLOW},
    {{2}, {1}, 0, 1, (size_t)1 << 60, CT_EOVERFLOW},
};

static int releases;

static void count_release(void *context) {
    *(int *)context += 1;
}

START_TEST(foreign_descriptors) {
    static const double buffer[6] = {0, 1, 2, 3, 4, 5};
    const struct forged *row = &forged[_i];
    releases = 0;
    size_t before = ct_live_blocks();
    ct_tensor *t = ct_tensor_over(CT_F64, row->rank, row->shape, row->strides, row->offset, buffer,
                                  row->count, count_release, &releases);
    ck_assert_int_eq(t ? CT_OK : ct_error()->code, row->status);
    if (t) {
        // Everything that is allowed must then work, without overflow.
        ct_tensor *flipped = row->rank ? ct_flip(t, 0) : ct_copy(t);
        ct_tensor *again = row->rank ? ct_flip(flipped, 0) : ct_copy(flipped);
        ck_assert(ct_tensor_equal(t, again));
        ck_assert_int_eq(ct_check_tensor(flipped), CT_OK);
        ct_tensor *far = row->rank ? ct_slice(t, 0, 0, CT_END, INT64_MAX) : ct_copy(t);
        ct_tensor *back = row->rank ? ct_slice(t, 0, -1, CT_END, INT64_MIN) : ct_copy(t);
        ck_assert_int_eq(ct_check_tensor(far) | ct_check_tensor(back), CT_OK);
        ct_free(flipped);
        ct_free(again);
        ct_free(far);
        ct_free(back);
        ck_assert_int_eq(releases, 0);
    }
    ct_free(t);
    ck_assert_int_eq(releases, row->status == CT_OK);
    ck_assert_uint_eq(ct_live_blocks(), before);
}
END_TEST

// Numbers that are likely to be wrong.
static int64_t odd_number(uint64_t *state) {
    static const int64_t odd[] = {INT64_MIN, INT64_MIN + 1, INT64_MAX,     INT64_MAX - 1,
                                  BIG,       -BIG,          INT64_MAX / 2, INT64_MIN / 2};
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    uint64_t x = *state >> 33;
    return x % 8 == 0 ? odd[x / 8 % COUNT(odd)] : (int64_t)(x / 8 % 13) - 6;
}

__extension__ typedef __int128 large_number;

// What must come of a descriptor over `count` items, in arithmetic that cannot overflow.
static ct_status judge(int rank, const int64_t *shape, const int64_t *strides, int64_t offset,
                       size_t count) {
    large_number items = 1, low = offset, high = offset;
    for (int i = 0; i < rank; i++)
        if (shape[i] < 0)
            return CT_ESHAPE;
    for (int i = 0; i < rank; i++)
        items = shape[i] == 0 ? 0 : items;
    for (int i = 0; i < rank && items > 0; i++)
        items = items > INT64_MAX ? items : items * shape[i];
    if (items > INT64_MAX / 8)
        return CT_EOVERFLOW;
    for (int i = 0; i < rank; i++) {
        large_number way = (large_number)strides[i] * (shape[i] - 1);
        *(way < 0 ? &low : &high) += way;
    }
    return items == 0 || (low >= 0 && high < (large_number)count) ? CT_OK : CT_EINDEX;
}

START_TEST(descriptors_forged_at_random) {
    static const double buffer[40] = {0};
    uint64_t state = 1;
    int made = 0;
    for (int round = 0; round < 100000; round++) {
        int64_t shape[4], strides[4], offset = odd_number(&state);
        if (offset > -7 && offset < 0)
            offset += 7;
        int rank = round % 5;
        for (int i = 0; i < rank; i++) {
            shape[i] = odd_number(&state);
            strides[i] = odd_number(&state);
            if (shape[i] < 0 && round % 3)
                shape[i] = shape[i] == INT64_MIN ? 1 : -shape[i];
        }
        size_t count = (size_t)(round % 41);
        ct_tensor *t =
            ct_tensor_over(CT_F64, rank, shape, strides, offset, buffer, count, NULL, NULL);
        ct_status status = judge(rank, shape, strides, offset, count);
        ck_assert_int_eq(t ? CT_OK : ct_error()->code, status);
        if (t) {
            made++;
            ck_assert_int_eq(ct_check_tensor(t), CT_OK);
            ck_assert(ct_tensor_equal(t, t));
        }
        ct_free(t);
    }
    ck_assert_int_gt(made, 2000);
}
END_TEST

START_TEST(foreign_memory) {
    double buffer[4] = {1, 2, 3, 4};
    none(ct_tensor_over(CT_F64, SHAPE(2), (int64_t[]){1}, 0, (char *)buffer + 4, 2, NULL, NULL));
    ck_assert_str_eq(ct_error()->message, "the buffer is not aligned to the 8 bytes of f64");
    none(ct_tensor_over(CT_F64, SHAPE(2), NULL, 0, buffer, 2, NULL, NULL));
    none(ct_tensor_over(CT_F64, SHAPE(2), (int64_t[]){1}, 0, NULL, 2, NULL, NULL));
    none(ct_tensor_over(CT_F64, SHAPE(2, 3), (int64_t[]){3, 1}, -1, buffer, 4, NULL, NULL));
    ck_assert_str_eq(ct_error()->message, "a shape of [2, 3] with strides [3, 1] from item -1 "
                                          "reaches outside a buffer of 4 items");
    ct_tensor *t = ct_tensor_over(CT_F64, SHAPE(2, 2), (int64_t[]){1, 2}, 0, buffer, 4,
                                  count_release, &releases);
    assert_items(t, SHAPE(2, 2), ITEMS(1, 3, 2, 4));
    ct_tensor *copy = ct_copy(t);
    ck_assert_int_eq(ct_set(t, SHAPE(0, 1), 9), CT_OK); // writes elsewhere
    ck_assert(buffer[2] == 3);
    ck_assert_int_eq(releases, 0);
    assert_and_free(copy, SHAPE(2, 2), ITEMS(1, 3, 2, 4));
    ck_assert_int_eq(releases, 1);
    assert_and_free(t, SHAPE(2, 2), ITEMS(1, 9, 2, 4));
    ck_assert_int_eq(releases, 1);
}
END_TEST

// --- looking

START_TEST(looking) {
    double value;
    ck_assert_int_eq(ct_get(cube, SHAPE(1, 2, 3), &value), CT_OK);
    ck_assert(value == 23);
    ck_assert_int_eq(ct_get(cube, SHAPE(-1, -1, -4), &value), CT_OK); // counted from the end
    ck_assert(value == 20);
    ck_assert_int_eq(ct_extent(cube, -1), 4);
    ck_assert_uint_eq(ct_count(cube), 24);
    ck_assert(ct_dtype(cube) == CT_F64 && ct_rank(cube) == 3 && ct_is_dense(cube));
    ck_assert_int_eq(ct_strides(cube)[0], 12);
    ct_tensor *one = ct_full(CT_F32, SHAPE(1, 1), 3);
    ck_assert(ct_item(one) == 3);
    ct_free(one);
}
END_TEST

START_TEST(equality) {
    ct_tensor *a = ct_from_doubles(CT_F64, SHAPE(2, 2), ITEMS(QNAN, 0.0, 1, 2));
    ct_tensor *b = ct_from_doubles(CT_F64, SHAPE(2, 2), ITEMS(-QNAN, 1, -0.0, 2));
    ct_tensor *turned = ct_transpose(b);
    ck_assert(!ct_tensor_equal(a, b));
    ck_assert(ct_tensor_equal(a, turned) && ct_tensor_equal(turned, a));
    ck_assert(ct_all_close(a, turned, 0, 0));
    ck_assert(!ct_tensor_equal(two_by_three, floats)); // another scalar type
    ck_assert(ct_all_close(two_by_three, floats, 0, 0));
    ck_assert(!ct_tensor_equal(two_by_three, cube) && !ct_all_close(two_by_three, cube, 1, 1));
    ct_tensor *x = ct_from_doubles(CT_F64, SHAPE(3), ITEMS(100, INF, 1));
    ct_tensor *y = ct_from_doubles(CT_F64, SHAPE(3), ITEMS(101, INF, 1));
    ct_tensor *z = ct_from_doubles(CT_F64, SHAPE(3), ITEMS(100, 1e308, 1));
    ck_assert(ct_all_close(x, y, 0.01, 0) && ct_all_close(x, y, 0, 1));
    ck_assert(!ct_all_close(x, y, 0.009, 0));
    ck_assert(!ct_all_close(z, x, 1, 1) && !ct_all_close(x, z, 1, 1));
    ct_tensor *all[] = {a, b, turned, x, y, z};
    for (int i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
}
END_TEST

START_TEST(conversion) {
    assert_and_free(ct_astype(mask, CT_F64), SHAPE(2, 2), ITEMS(0, 1, 1, 0));
    assert_and_free(ct_astype(labels, CT_F32), SHAPE(4), ITEMS(0, 1, 2, 3));
    ct_tensor *turned = ct_transpose(two_by_three);
    assert_and_free(ct_astype(turned, CT_F32), SHAPE(3, 2), ITEMS(0, 3, 1, 4, 2, 5));
    assert_and_free(ct_astype(turned, CT_I64), SHAPE(3, 2), ITEMS(0, 3, 1, 4, 2, 5));
    ct_free(turned);
    ct_tensor *same = ct_astype(labels, CT_I64);
    ck_assert_ptr_eq(ct_data(same), ct_data(labels));
    ct_free(same);
    ct_tensor *wide = ct_from_doubles(CT_F64, SHAPE(3), ITEMS(1, INF, 1e300));
    none(ct_astype(wide, CT_F32));
    ck_assert_str_eq(ct_error()->message, "the value 1e+300 at index [2] does not fit f32");
    ct_free(wide);
    assert_and_free(ct_astype(none_by_four, CT_BOOL), SHAPE(0, 4), 0, NULL);
}
END_TEST

// --- writing

// However a tensor is shared, a write shows in it alone.
enum sharing { COPY, VIEW, VIEW_OF_VIEW, BROADCAST, RESHAPED, FOREIGN, ALONE, SHARINGS };

static ct_tensor *shared(enum sharing how, ct_tensor *t) {
    static const double buffer[6] = {0, 1, 2, 3, 4, 5};
    ct_tensor *between = ct_transpose(t), *result = NULL;
    if (how == COPY)
        result = ct_copy(t);
    else if (how == VIEW)
        result = ct_slice(t, 1, 0, 2, 1);
    else if (how == VIEW_OF_VIEW)
        result = ct_slice(between, 0, -1, CT_END, -1);
    else if (how == BROADCAST)
        result = ct_broadcast_to(t, SHAPE(2, 2, 3));
    else if (how == RESHAPED)
        result = ct_reshape(t, SHAPE(6));
    else if (how == FOREIGN)
        result = ct_tensor_over(CT_F64, SHAPE(2, 3), (int64_t[]){3, 1}, 0, buffer, 6, NULL, NULL);
    ct_free(between);
    return result;
}

START_TEST(writes_do_not_show) {
    enum sharing how = (enum sharing)(_i % SHARINGS);
    int way = _i / SHARINGS;
    ct_tensor *t = counting(CT_F64, SHAPE(2, 3)), *other = shared(how, t);
    const void *old = ct_data(t);
    double before[12], after[12];
    size_t n = other ? ct_count(other) : 0;
    if (other)
        ck_assert_int_eq(ct_to_doubles(other, n, before), CT_OK);
    if (way == 0)
        ck_assert_int_eq(ct_set(t, SHAPE(1, 0), 77), CT_OK);
    else if (way == 1)
        ck_assert_int_eq(ct_fill(t, 77), CT_OK);
    else
        ((double *)ct_data_for_write(t))[3] = 77;
    double f = way == 1 ? 77 : -1;
    double expected[6] = {0, 1, 2, 77, 4, 5}, filled[6] = {f, f, f, f, f, f};
    assert_items(t, SHAPE(2, 3), 6, way == 1 ? filled : expected);
    ck_assert((ct_data(t) == old) == (how == ALONE || how == FOREIGN)); // in place when alone
    if (other) {
        ck_assert_int_eq(ct_to_doubles(other, n, after), CT_OK);
        ck_assert(memcmp(before, after, n * sizeof *before) == 0);
        // and the other way round
        int64_t zeros[3] = {0};
        ck_assert_int_eq(ct_set(other, ct_rank(other), zeros, -5), CT_OK);
        assert_items(t, SHAPE(2, 3), 6, way == 1 ? filled : expected);
        before[0] = -5;
        ck_assert_int_eq(ct_to_doubles(other, n, after), CT_OK);
        ck_assert(memcmp(before, after, n * sizeof *before) == 0);
    }
    ct_free(t);
    ct_free(other);
}
END_TEST

START_TEST(views_are_made_dense) {
    ct_tensor *t = ct_transpose(two_by_three), *row = ct_select(two_by_three, 0, 1);
    double *items = ct_data_for_write(t);
    ck_assert(ct_is_dense(t));
    ck_assert_int_eq(ct_strides(t)[0], 2);
    items[1] = -3;
    assert_items(t, SHAPE(3, 2), ITEMS(0, -3, 1, 4, 2, 5));
    assert_items(row, SHAPE(3), ITEMS(3, 4, 5));
    // A failed write leaves the tensor as it was, its layout included.
    ct_tensor *column = ct_slice(labels, 0, 0, CT_END, 2);
    const void *data = ct_data(column);
    fails(ct_set(column, SHAPE(0), 0.5));
    fails(ct_fill(column, QNAN));
    ck_assert_ptr_eq(ct_data(column), data);
    assert_items(column, SHAPE(2), ITEMS(0, 2));
    ct_free(column);
    ct_free(row);
    ct_free(t);
}
END_TEST

// --- no memory

static bool step(ct_tensor *made, ct_tensor **kept, int *n) {
    kept[*n] = made;
    *n += made != NULL;
    return made != NULL;
}

// Everything that allocates, until something fails; frees all. Whether nothing failed.
static bool scenario(void) {
    ct_tensor *k[32];
    int n = 0;
    double six[6] = {0, 1, 2, 3, 4, 5};
    bool ok =
        step(ct_from_doubles(CT_F64, SHAPE(2, 3), 6, six), k, &n) &&
        step(ct_transpose(k[0]), k, &n) && step(ct_compact(k[1]), k, &n) &&
        step(ct_reshape(k[1], SHAPE(6)), k, &n) && step(ct_slice(k[0], 1, 0, 2, 1), k, &n) &&
        step(ct_select(k[0], 0, 0), k, &n) && step(ct_flip(k[0], 0), k, &n) &&
        step(ct_expand_dims(k[0], 0), k, &n) && step(ct_squeeze(k[7], CT_ALL), k, &n) &&
        step(ct_broadcast_to(k[0], SHAPE(2, 2, 3)), k, &n) &&
        step(ct_astype(k[1], CT_F32), k, &n) && step(ct_sum(k[1], 0, false), k, &n) &&
        step(ct_sum(k[1], CT_ALL, false), k, &n) && step(ct_mean(k[0], 0, true), k, &n) &&
        step(ct_matmul(k[0], k[1]), k, &n) && step(ct_permute(k[9], AXES(2, 0, 1)), k, &n) &&
        step(ct_tensor_over(CT_F64, SHAPE(2), (int64_t[]){1}, 0, six, 6, NULL, NULL), k, &n) &&
        step(ct_max_axes(k[9], AXES(0, 2), false), k, &n);
    ok = ok && ct_set(k[0], SHAPE(1, 1), 9) == CT_OK && ct_fill(k[1], 2) == CT_OK &&
         ct_data_for_write(k[4]) != NULL;
    if (n > 1) { // a failed write has changed nothing
        double value = -1;
        ck_assert_int_eq(ct_get(k[0], SHAPE(1, 1), &value), CT_OK);
        ck_assert(value == 4 || value == 9);
    }
    if (!ok)
        ck_assert_int_eq(ct_error()->code, CT_ENOMEM);
    if (n == 0)
        ck_assert_str_eq(ct_error()->message,
                         "there is no memory for a tensor of shape [2, 3] of f64");
    while (n > 0)
        ct_free(k[--n]);
    return ok;
}

START_TEST(no_memory) {
    if (!make_memory_scarce()) // only where this is the process's first allocation
        return;
    size_t before = ct_live_blocks();
    int runs = 0;
    for (bool done = false; !done; runs++) {
        starve(runs);
        done = scenario();
        ck_assert_uint_eq(ct_live_blocks(), before);
    }
    ck_assert_int_gt(runs, 20);
}
END_TEST

Suite *suite_tensor(void) {
    Suite *suite = suite_create("tensor");
    TCase *tc = tcase_create("tensor");
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, error_texts, 0, COUNT(error_cases));
    tcase_add_test(tc, null_operands);
    tcase_add_test(tc, making);
    tcase_add_test(tc, blocks);
    tcase_add_loop_test(tc, foreign_descriptors, 0, COUNT(forged));
    tcase_add_test(tc, descriptors_forged_at_random);
    tcase_add_test(tc, foreign_memory);
    tcase_add_test(tc, looking);
    tcase_add_test(tc, equality);
    tcase_add_test(tc, conversion);
    tcase_add_loop_test(tc, writes_do_not_show, 0, 3 * SHARINGS);
    tcase_add_test(tc, views_are_made_dense);
    suite_add_tcase(suite, tc);
    TCase *scarcity = tcase_create("memory");
    tcase_add_test(scarcity, no_memory);
    suite_add_tcase(suite, scarcity);
    return suite;
}
