/* Views that must fail, with their texts, and descriptors that were made to break them. */

#include "tensor_tools.h"

#include "tensor/ct_alloc.h"

Suite *suite_view_errors(void);

// --- descriptors that were made to break arithmetic

START_TEST(forged_views) {
    static const int64_t extremes[] = {INT64_MIN, INT64_MIN / 2, -2,       0,
                                       2,         INT64_MAX / 2, INT64_MAX};
    static double buffer[64];
    int64_t huge = (int64_t)1 << 32;
    none(ct_tensor_over(CT_F64, SHAPE(huge, huge), (int64_t[]){0, 0}, 0, buffer, 64, NULL, NULL));
    none(ct_tensor_over(CT_F64, SHAPE(huge, huge, huge), (int64_t[]){0, 0, 0}, 0, buffer, 64, NULL,
                        NULL));
    for (int i = 0; i < 7 * 7 * 7; i++) {
        int64_t a = extremes[i % 7], b = extremes[i / 7 % 7], offset = extremes[i / 49];
        for (int shape = 0; shape < 4; shape++) { // also extents under which steps are never made
            int64_t shapes[4][2] = {{3, 3}, {1, 3}, {1, 1}, {0, INT64_MAX}};
            ct_tensor *t = ct_tensor_over(CT_F64, 2, shapes[shape], (int64_t[]){a, b}, offset,
                                          buffer, 64, NULL, NULL);
            if (!t)
                continue;
            ct_tensor *made[] = {ct_flip(t, CT_ALL),
                                 ct_slice(t, 1, -1, CT_END, INT64_MIN),
                                 ct_slice(t, 1, 0, CT_END, INT64_MAX),
                                 ct_diagonal(t, 0, 0, 1),
                                 ct_diagonal(t, 1, 1, 0),
                                 ct_unfold(t, 1, 1, 1),
                                 ct_unfold(t, 1, 1, INT64_MAX),
                                 ct_unfold(t, 0, 0, 1),
                                 ct_flatten(t, 0, 1),
                                 ct_move_axis(t, 0, 1),
                                 ct_expand_dims(t, 0)};
            for (int k = 0; k < COUNT(made); k++) {
                ck_assert(!made[k] || ct_check_tensor(made[k]) == CT_OK);
                ct_tensor *dense = made[k] && ct_count(made[k]) < 100 ? ct_compact(made[k]) : NULL;
                ct_free(dense);
                ct_free(made[k]);
            }
            ct_free(t);
        }
    }
    ct_tensor *none_by_much = ct_zeros(CT_F64, SHAPE(0, INT64_MAX));
    none(ct_unfold(none_by_much, 1, 0, 1));
    ck_assert_str_eq(ct_error()->message, "there are more windows than can be counted");
    ck_assert(!ct_can_unfold(none_by_much, 1, 0, 1));
    ct_free(none_by_much);
}
END_TEST

// --- every error's text

static ct_tensor *error_call(int which, const ct_tensor *t) {
    ct_tensor *p[4];
    int64_t huge = (int64_t)1 << 62, minus_one = -1;
    switch (which) {
    case 0:
        return ct_slice(t, 0, 0, 1, 0);
    case 1:
        return ct_slice(t, 2, 0, 1, 1);
    case 2:
        return ct_slice_all(t, 3, NULL, NULL, NULL);
    case 3:
        return ct_slice_all(t, -1, NULL, NULL, NULL);
    case 4:
        return ct_slice_all(t, 2, NULL, NULL, (int64_t[]){1, 0});
    case 5:
        return ct_select(t, 1, 3);
    case 6:
        return ct_select(t, 0, INT64_MIN);
    case 7:
        return ct_select(t, -3, 0);
    case 8:
        return ct_swap_axes(t, 0, 2);
    case 9:
        return ct_permute(t, AXES(0));
    case 10:
        return ct_permute(t, AXES(0, -2));
    case 11:
        return ct_permute(t, 2, NULL);
    case 12:
        return ct_move_axis(t, 0, 2);
    case 13:
        return ct_move_axis(t, 5, 0);
    case 14:
        return ct_expand_dims(t, 3);
    case 15:
        return ct_squeeze(t, 1);
    case 16:
        return ct_squeeze_axes(t, AXES(0, 0));
    case 17:
        return ct_flip_axes(t, AXES(1, -1));
    case 18:
        return ct_flip(t, 7);
    case 19:
        return ct_broadcast_to(t, SHAPE(3));
    case 20:
        return ct_broadcast_to(t, SHAPE(4, 2, 4));
    case 21:
        return ct_broadcast_to(t, SHAPE(huge, 2, 3));
    case 22:
        return ct_broadcast_to(t, 1, &minus_one);
    case 23:
        return ct_diagonal(t, 0, 1, -1);
    case 24:
        return ct_diagonal(t, 0, 0, 2);
    case 25:
        return ct_unfold(t, 1, 4, 1);
    case 26:
        return ct_unfold(t, 1, -1, 1);
    case 27:
        return ct_unfold(t, 1, 2, 0);
    case 28:
        return ct_unfold(t, 2, 1, 1);
    case 29:
        return ct_flatten(t, 1, 0);
    case 30:
        return ct_flatten(t, 0, 2);
    case 31:
        ct_split(t, 1, 2, p);
        return NULL;
    case 32:
        ct_split(t, 1, 0, p);
        return NULL;
    case 33:
        ct_split(t, 2, 1, p);
        return NULL;
    case 34:
        ct_split(t, 1, 3, NULL);
        return NULL;
    case 35:
        ct_split_sizes(t, 1, 2, (int64_t[]){1, 1}, p);
        return NULL;
    case 36:
        ct_split_sizes(t, 1, 2, (int64_t[]){INT64_MAX, INT64_MAX}, p);
        return NULL;
    case 37:
        ct_split_sizes(t, 1, 2, (int64_t[]){4, -1}, p);
        return NULL;
    case 38:
        ct_split_sizes(t, 1, -1, NULL, p);
        return NULL;
    case 39:
        ct_split_sizes(t, 1, 1, NULL, p);
        return NULL;
    case 40:
        ct_split_sizes(t, 1, 1, (int64_t[]){3}, NULL);
        return NULL;
    default:
        return NULL;
    }
}

static const struct {
    ct_status code;
    const char *text;
} errors[] = {
    {CT_EINVAL, "the step of a slice must not be 0"},
    {CT_EAXIS, "the axis 2 is out of range for a tensor of rank 2"},
    {CT_EAXIS, "slices of 3 axes were given and the tensor has 2"},
    {CT_EAXIS, "slices of -1 axes were given and the tensor has 2"},
    {CT_EINVAL, "the step of the slice of axis 1 must not be 0"},
    {CT_EINDEX, "index 3 is out of bounds for axis 1 of extent 3"},
    {CT_EINDEX, "index -9223372036854775808 is out of bounds for axis 0 of extent 2"},
    {CT_EAXIS, "the axis -3 is out of range for a tensor of rank 2"},
    {CT_EAXIS, "the axis 2 is out of range for a tensor of rank 2"},
    {CT_EAXIS, "a permutation of a tensor of rank 2 needs 2 axes and 1 was given"},
    {CT_EAXIS, "the axis 0 is given twice"},
    {CT_EINVAL, "the 2 axes are NULL"},
    {CT_EAXIS, "the axis 2 is out of range for a tensor of rank 2"},
    {CT_EAXIS, "the axis 5 is out of range for a tensor of rank 2"},
    {CT_EAXIS, "the axis 3 is out of range for a tensor of rank 3"},
    {CT_ESHAPE, "cannot squeeze axis 1 of extent 3: the extent is not 1"},
    {CT_EAXIS, "the axis 0 is given twice"},
    {CT_EAXIS, "the axis 1 is given twice"},
    {CT_EAXIS, "the axis 7 is out of range for a tensor of rank 2"},
    {CT_ESHAPE, "a tensor of shape [2, 3] does not broadcast to [3]: its rank 2 is larger"},
    {CT_ESHAPE,
     "a tensor of shape [2, 3] does not broadcast to [4, 2, 4]: the extent 3 of axis 1 is "
     "neither 4 nor 1"},
    {CT_EOVERFLOW, "a shape of [4611686018427387904, 2, 3] of f64 takes more bytes than can be "
                   "addressed"},
    {CT_ESHAPE, "the extent -1 of axis 0 is negative"},
    {CT_EAXIS, "a diagonal needs two axes and the axis 1 is given twice"},
    {CT_EAXIS, "the axis 2 is out of range for a tensor of rank 2"},
    {CT_ESHAPE, "windows of 4 items do not fit axis 1 of extent 3"},
    {CT_ESHAPE, "windows of -1 items do not fit axis 1 of extent 3"},
    {CT_EINVAL, "the step 0 between windows is not positive"},
    {CT_EAXIS, "the axis 2 is out of range for a tensor of rank 2"},
    {CT_EAXIS, "the first axis 1 comes after the last, 0"},
    {CT_EAXIS, "the axis 2 is out of range for a tensor of rank 2"},
    {CT_ESHAPE, "cannot split axis 1 of extent 3 into 2 equal parts"},
    {CT_ESHAPE, "cannot split axis 1 of extent 3 into 0 equal parts"},
    {CT_EAXIS, "the axis 2 is out of range for a tensor of rank 2"},
    {CT_EINVAL, "the place for 3 parts is NULL"},
    {CT_ESHAPE, "the sizes of 2 parts add up to less than the extent 3 of axis 1"},
    {CT_ESHAPE, "the sizes of 2 parts add up to more than the extent 3 of axis 1"},
    {CT_ESHAPE, "the size -1 of part 1 is negative"},
    {CT_EINVAL, "the number of parts -1 is negative"},
    {CT_EINVAL, "the sizes of 1 parts are NULL"},
    {CT_EINVAL, "the place for 1 parts is NULL"},
};

START_TEST(error_texts) {
    ct_tensor *t = counting(CT_F64, SHAPE(2, 3));
    size_t blocks = ct_live_blocks();
    none(error_call(_i, t));
    ck_assert_int_eq(ct_error()->code, errors[_i].code);
    ck_assert_str_eq(ct_error()->message, errors[_i].text);
    none(error_call(_i, NULL)); // the first error stays
    ck_assert_str_eq(ct_error()->message, errors[_i].text);
    ck_assert_uint_eq(ct_live_blocks(), blocks);
    ct_error_clear();
    none(error_call(_i, NULL));
    ck_assert_int_eq(ct_error()->code, CT_EINVAL);
    ct_free(t);
}
END_TEST

START_TEST(full_ranks) {
    ct_tensor *t = ct_zeros(CT_F64, SHAPE(1, 1, 1, 1, 1, 1, 1, 2));
    none(ct_expand_dims(t, 0));
    ck_assert_str_eq(ct_error()->message, "a tensor of rank 8 can have no further axis");
    none(ct_unfold(t, 7, 1, 1));
    ck_assert_str_eq(ct_error()->message, "a tensor of rank 8 can have no further axis");
    ck_assert(!ct_can_unfold(t, 7, 1, 1) && !ct_can_unfold(NULL, 0, 1, 1));
    ck_assert(!ct_can_squeeze(t, AXES(7)) && ct_can_squeeze(t, AXES(0, 3)) &&
              !ct_can_squeeze(NULL, 0, NULL) && !ct_can_permute(t, AXES(0)) &&
              !ct_can_permute(NULL, 0, NULL) && !ct_can_select(NULL, 0, 0));
    ck_assert(!ct_can_broadcast_to(t, SHAPE(2)) && !ct_can_broadcast_to(NULL, 0, NULL) &&
              !ct_can_broadcast_to(t, 9, ct_shape(t)) && !ct_can_broadcast_to(t, 8, NULL));
    ct_free(t);
    int64_t big = (int64_t)1 << 40;
    ct_tensor *one = ct_zeros(CT_F64, SHAPE(1)), *line = ct_broadcast_to(one, SHAPE(big));
    none(ct_unfold(line, 0, big / 2, 1)); // 2^39 windows of 2^39 items
    ck_assert_int_eq(ct_error()->code, CT_EOVERFLOW);
    ck_assert(!ct_can_unfold(line, 0, big / 2, 1));
    ct_tensor *empty = ct_zeros(CT_F64, SHAPE(0, big, big));
    none(ct_flatten(empty, 1, 2));
    ck_assert_str_eq(ct_error()->message, "the axes 1 to 2 of a shape of [0, 1099511627776, "
                                          "1099511627776] hold more items than can be counted");
    ct_free(empty);
    ct_free(line);
    ct_free(one);
}
END_TEST

Suite *suite_view_errors(void) {
    Suite *suite = suite_create("view_errors");
    TCase *tc = tcase_create("view_errors");
    tcase_add_test(tc, forged_views);
    tcase_add_loop_test(tc, error_texts, 0, COUNT(errors));
    tcase_add_test(tc, full_ranks);
    suite_add_tcase(suite, tc);
    return suite;
}
