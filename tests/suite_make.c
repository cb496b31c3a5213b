/* Making tensors: like others, from integers, the identity and ranges, against naive rules. */

#include "index_tools.h"

#include "dual/ct_dual.h"
#include "fixed/ct_fixed.h"
#include "tensor/ct_alloc.h"
#include "tensor/ct_convert.h"
#include "tensor/ct_make.h"
#include "tensor/ct_names.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_make(void);

/* Types that numbers can be put into. */
static const ct_scalar *const types[] = {
    CT_F32, CT_F64, CT_I32, CT_I64, CT_BOOL, CT_DUAL32, &ct_scalar_dual64_2, CT_DUAL64X4, CT_FIXED};
enum { TYPES = sizeof types / sizeof *types };

static void check_blocks(void) {
    ck_assert_uint_eq(ct_live_blocks(), 0);
}

/* --- like another --- */

START_TEST(like_another) {
    const ct_scalar *scalar = types[_i / SPREADS];
    for (int s = 0; s < SHAPES; s++) {
        const struct shape_case *shape = &shape_cases[s];
        ct_tensor *t =
            spread_out(ct_ones(scalar, shape->rank, shape->shape), (enum spread)(_i % SPREADS));
        double expected[3] = {0, 1, 0};
        ct_tensor *made[] = {ct_zeros_like(t), ct_ones_like(t), ct_full_like(t, 0)};
        for (int k = 0; k < 3; k++) {
            double *items = calloc(ct_count(t) + 1, sizeof *items);
            for (size_t i = 0; i < ct_count(t); i++)
                items[i] = expected[k];
            assert_items(made[k], ct_rank(t), ct_shape(t), ct_count(t), items);
            ck_assert(ct_is_dense(made[k]) && ct_dtype(made[k]) == scalar);
            ct_free(made[k]);
            free(items);
        }
        ct_free(t);
    }
}
END_TEST

START_TEST(names_stay) {
    ct_tensor *plain = ct_ones(CT_F64, SHAPE(2, 3));
    ct_tensor *t = ct_name_axes(plain, 2, (const char *[]){"batch", NULL});
    ct_tensor *like = ct_zeros_like(t), *narrow = ct_astype(t, CT_F32);
    ck_assert_str_eq(ct_axis_name(like, 0), "batch");
    ck_assert_str_eq(ct_axis_name(narrow, 0), "batch");
    ck_assert_ptr_null(ct_axis_name(narrow, 1));
    ct_free(plain), ct_free(t), ct_free(like), ct_free(narrow);
}
END_TEST

/* --- whole numbers --- */

START_TEST(whole_numbers) {
    const int64_t big[] = {INT64_MAX, INT64_MIN, ((int64_t)1 << 53) + 1, -1, 0, 1};
    int64_t back[6] = {0};
    ct_tensor *t = ct_from_i64s(CT_I64, SHAPE(2, 3), 6, big), *turned = ct_transpose(t);
    ck_assert_int_eq(ct_to_i64s(t, 6, back), CT_OK);
    ck_assert(memcmp(big, back, sizeof big) == 0);
    ck_assert_int_eq(ct_to_i64s(turned, 6, back), CT_OK);
    ck_assert(back[1] == big[3] && back[2] == big[1] && back[4] == big[2]);
    ct_free(t), ct_free(turned);
    t = ct_from_i64(CT_I64, INT64_MAX); /* rank 0 */
    ck_assert_int_eq(ct_to_i64s(t, 1, back), CT_OK);
    ck_assert(ct_rank(t) == 0 && back[0] == INT64_MAX);
    ct_free(t);
    ck_assert_int_eq(ct_to_i64s(t = ct_zeros(CT_F64, SHAPE(0, 2)), 0, NULL), CT_OK);
    ct_free(t);
}
END_TEST

/* To a real type, rounded once: by way of f64, 2^24 + 1 + 2^-30 halves would round twice. */
START_TEST(whole_numbers_round_once) {
    const int64_t x[] = {((int64_t)1 << 53) + 1, ((int64_t)1 << 60) + ((int64_t)1 << 36) + 1,
                         INT64_MAX};
    ct_tensor *narrow = ct_from_i64s(CT_F32, SHAPE(3), 3, x);
    ct_tensor *wide = ct_from_i64s(CT_F64, SHAPE(3), 3, x);
    for (int i = 0; i < 3; i++) {
        ck_assert(((const float *)ct_data(narrow))[i] == (float)x[i]);
        ck_assert(((const double *)ct_data(wide))[i] == (double)x[i]);
    }
    ck_assert((float)x[1] != (float)(double)x[1]); /* the case that tells */
    ct_free(narrow), ct_free(wide);
}
END_TEST

/* --- the identity --- */

static void eye_rule(const void *context, const int64_t *index, char *item) {
    const struct eye {
        const ct_scalar *scalar;
        int64_t diagonal;
    } *eye = context;
    eye->scalar->from_double(eye->scalar, item, index[1] - index[0] == eye->diagonal);
}

START_TEST(identity) {
    struct {
        const ct_scalar *scalar;
        int64_t diagonal;
    } eye = {types[_i], 0};
    for (int64_t rows = 0; rows < 4; rows++)
        for (int64_t columns = 0; columns < 4; columns++)
            for (eye.diagonal = -5; eye.diagonal <= 5; eye.diagonal++)
                expect_rule(ct_eye(eye.scalar, rows, columns, eye.diagonal), eye.scalar,
                            SHAPE(rows, columns), eye_rule, &eye);
    for (int far = 0; far < 2; far++) {
        eye.diagonal = far ? INT64_MAX : INT64_MIN;
        expect_rule(ct_eye(eye.scalar, 3, 2, eye.diagonal), eye.scalar, SHAPE(3, 2), eye_rule,
                    &eye);
    }
    check_blocks();
}
END_TEST

/* --- ranges --- */

struct range {
    double start, stop, step;
    int64_t count;
};

/* The counts are NumPy's: len(np.arange(start, stop, step)). */
static const struct range ranges[] = {
    {0, 5, 1, 5},
    {5, 0, -1, 5},
    {0, 5, 2, 3},
    {5, 0, -2, 3},
    {0, 0, 1, 0},
    {0, 0, -1, 0},
    {0, 5, -1, 0},
    {5, 0, 1, 0},
    {-3, 4, 3, 3},
    {0, 1, 0.25, 4},
    {0, 1, 0.1, 10},
    {0.1, 0.45, 0.1, 4},
    {1, 1.3, 0.1, 4},
    {0, 3, 4, 1},
    {2, -2.5, -0.5, 9},
    {0, 1e-300, 1e-301, 10},
    {-1e308, 1.5e308, 1e308, 3},
    {0, 0.6, 0.2, 3},
    {7, 7.5, 1, 1},
};

START_TEST(range_of_numbers) {
    const struct range *r = &ranges[_i];
    ck_assert_int_eq(ct_arange_count(r->start, r->stop, r->step), r->count);
    for (int k = 0; k < TYPES; k++) {
        const ct_scalar *scalar = types[k];
        bool fits = true;
        double items[16];
        char room[256];
        for (int64_t i = 0; i < r->count; i++) {
            double exact = fma((double)i, r->step, r->start);
            if (!scalar->from_double(scalar, room, exact))
                fits = false;
            else
                items[i] = scalar->to_double(scalar, room);
        }
        ct_tensor *t = ct_arange(scalar, r->start, r->stop, r->step);
        ck_assert_int_eq(t != NULL, fits);
        if (fits)
            assert_and_free(t, SHAPE(r->count), (size_t)r->count, items);
        else
            ck_assert_int_eq(ct_error()->code, CT_EDOMAIN);
    }
    check_blocks();
}
END_TEST

START_TEST(ranges_of_integers_are_exact) {
    const double top = 0x1p63 - 1024; /* the largest double below 2^63 */
    int64_t items[2048];
    ct_tensor *t = ct_arange(CT_I64, 0x1p53, 0x1p53 + 8, 1);
    ck_assert_int_eq(ct_to_i64s(t, 8, items), CT_OK);
    for (int64_t i = 0; i < 8; i++)
        ck_assert(items[i] == ((int64_t)1 << 53) + i);
    ct_free(t);
    t = ct_arange(CT_I64, top - 1024, top, 1);
    ck_assert_int_eq(ct_to_i64s(t, 1024, items), CT_OK);
    for (int64_t i = 0; i < 1024; i++)
        ck_assert(items[i] == INT64_MAX - 1023 - 1024 + i);
    ct_free(t);
    t = ct_arange(CT_I64, -0x1p63, 0x1p62, 0x1p62);
    ck_assert_int_eq(ct_to_i64s(t, 3, items), CT_OK);
    ck_assert(items[0] == INT64_MIN && items[2] == 0);
    ct_free(t);
    ck_assert_int_eq(ct_arange_count(-0x1p63, top, 1), -1);
    ck_assert_int_eq(ct_arange_count(0, top, 1), INT64_MAX - 1023);
    ck_assert_int_eq(ct_arange_count(0, 1, 1e-320), -1);
    ck_assert_int_eq(ct_arange_count(0, INF, 1), -1);
    ck_assert_int_eq(ct_arange_count(QNAN, 1, 1), -1);
}
END_TEST

START_TEST(evenly_spaced) {
    static const double ends[][2] = {{0, 1},     {1, 0},    {-1, 1},
                                     {0.1, 0.7}, {5, 5},    {-1e308, 1.5e308},
                                     {1, 1e300}, {-0.0, 3}, {1e-310, 2e-310}};
    for (int e = 0; e < COUNT(ends); e++)
        for (int64_t n = 0; n <= 40; n++) {
            double start = ends[e][0], stop = ends[e][1];
            ct_tensor *t = ct_linspace(CT_F64, start, stop, n);
            ct_tensor *back = ct_linspace(CT_F64, stop, start, n);
            ck_assert(t && back && ct_count(t) == (size_t)n);
            const double *x = ct_data(t), *y = ct_data(back);
            long double low = (long double)start, high = (long double)stop;
            for (int64_t i = 0; i < n; i++) {
                long double exact =
                    n == 1 ? low : low + (high - low) * (long double)i / (long double)(n - 1);
                long double size = fmaxl(fabsl(low), fabsl(high));
                ck_assert(fabsl((long double)x[i] - exact) <=
                          size * 0x1p-52L + (long double)n * 0x1p-1074L);
                ck_assert(n == 1 || x[i] == y[n - 1 - i]);
            }
            if (n > 0)
                ck_assert(memcmp(&x[0], &start, sizeof start) == 0);
            if (n > 1)
                ck_assert(memcmp(&x[n - 1], &stop, sizeof stop) == 0);
            ct_free(t), ct_free(back);
        }
    assert_and_free(ct_linspace(CT_I64, 0, 10, 3), SHAPE(3), ITEMS(0, 5, 10));
    assert_and_free(ct_linspace(CT_F32, 0, 1, 3), SHAPE(3), ITEMS(0, 0.5, 1));
    assert_and_free(ct_linspace(CT_FIXED, 1, 2, 3), SHAPE(3), ITEMS(1, 1.5, 2));
    assert_and_free(ct_linspace(CT_DUAL64, 3, 1, 3), SHAPE(3), ITEMS(3, 2, 1));
    assert_and_free(ct_logspace(CT_F64, 0, 3, 4, 2), SHAPE(4), ITEMS(1, 2, 4, 8));
    assert_and_free(ct_logspace(CT_F32, -1, 1, 3, 4), SHAPE(3), ITEMS(0.25, 1, 4));
    check_blocks();
}
END_TEST

/* --- failures --- */

static int64_t room[4];

static ct_tensor *failed(ct_status status) {
    ck_assert_int_ne(status, CT_OK);
    return NULL;
}

#define FAILURES(XX)                                                                               \
    XX(ct_zeros_like(NULL), EINVAL, "ct_zeros_like", "an operand is NULL")                         \
    XX(ct_full_like(labels, 0.5), EDOMAIN, "ct_full_like", "the value 0.5 does not fit i64")       \
    XX(ct_from_i64s(CT_I64, SHAPE(2, 3), 2, room), ESHAPE, "ct_from_i64s",                         \
       "a shape of [2, 3] holds 6 items and 2 were given")                                         \
    XX(ct_from_i64s(CT_I64, SHAPE(2), 2, NULL), EINVAL, "ct_from_i64s", "the 2 items are NULL")    \
    XX(ct_from_i64s(CT_I32, SHAPE(2), 2, ((int64_t[]){1, 2147483648})), EDOMAIN, "ct_from_i64s",   \
       "the value 2147483648 at index [1] does not fit i32")                                       \
    XX(ct_from_i64(CT_BOOL, 2), EDOMAIN, "ct_from_i64", "the value 2 does not fit bool")           \
    XX(failed(ct_to_i64s(labels, 3, room)), ESHAPE, "ct_to_i64s",                                  \
       "a shape of [4] holds 4 items and there is room for 3")                                     \
    XX(failed(ct_to_i64s(labels, 4, NULL)), EINVAL, "ct_to_i64s",                                  \
       "the place for the values is NULL")                                                         \
    XX(failed(ct_to_i64s(halves, 2, room)), EDOMAIN, "ct_to_i64s",                                 \
       "the value 0.5 at index [1] does not fit i64")                                              \
    XX(ct_eye(CT_F64, -1, 2, 0), ESHAPE, "ct_eye", "the extent -1 of axis 0 is negative")          \
    XX(ct_eye(CT_F64, (int64_t)1 << 40, (int64_t)1 << 40, 0), EOVERFLOW, "ct_eye",                 \
       "a shape of [1099511627776, 1099511627776] of f64 takes more bytes than can be addressed")  \
    XX(ct_eye(NULL, 1, 1, 0), EINVAL, "ct_eye", "an operand is NULL")                              \
    XX(ct_arange(NULL, 0, 1, 1), EINVAL, "ct_arange", "an operand is NULL")                        \
    XX(ct_arange(CT_F64, 0, 1, 0), EDOMAIN, "ct_arange",                                           \
       "there is no range from 0 to 1 by steps of 0")                                              \
    XX(ct_arange(CT_F64, 0, QNAN, 0.5), EDOMAIN, "ct_arange",                                      \
       "there is no range from 0 to nan by steps of 0.5")                                          \
    XX(ct_arange(CT_F64, 0, INF, 0.5), EDOMAIN, "ct_arange",                                       \
       "there is no range from 0 to inf by steps of 0.5")                                          \
    XX(ct_arange(CT_F64, 0, 1, 1e-300), EOVERFLOW, "ct_arange",                                    \
       "a range from 0 to 1 by steps of 1e-300 has too many items")                                \
    XX(ct_arange(CT_F64, 0, 1e18, 0.5), EOVERFLOW, "ct_arange",                                    \
       "a shape of [2000000000000000000] of f64 takes more bytes than can be addressed")           \
    XX(ct_arange(CT_I64, 0, 1, 0.25), EDOMAIN, "ct_arange",                                        \
       "the value 0.25 at index [1] does not fit i64")                                             \
    XX(ct_arange(CT_I32, 2147483646, 2147483649, 1), EDOMAIN, "ct_arange",                         \
       "the value 2147483648 at index [2] does not fit i32")                                       \
    XX(ct_arange(CT_F32, 1e38, 1e39, 3e38), EDOMAIN, "ct_arange",                                  \
       "the value 4e+38 at index [1] does not fit f32")                                            \
    XX(ct_arange(CT_BOOL, 0, 3, 1), EDOMAIN, "ct_arange",                                          \
       "the value 2 at index [2] does not fit bool")                                               \
    XX(ct_linspace(NULL, 0, 1, 1), EINVAL, "ct_linspace", "an operand is NULL")                    \
    XX(ct_linspace(CT_F64, 0, 1, -1), ESHAPE, "ct_linspace", "the number of items -1 is negative") \
    XX(ct_linspace(CT_F64, 0, INF, 3), EDOMAIN, "ct_linspace",                                     \
       "there are no even steps from 0 to inf")                                                    \
    XX(ct_linspace(CT_I32, 0, 1, 3), EDOMAIN, "ct_linspace",                                       \
       "the value 0.5 at index [1] does not fit i32")                                              \
    XX(ct_logspace(CT_I64, 0, 1, 3, 10), EDTYPE, "ct_logspace",                                    \
       "powers are of f32 or f64, not of i64")                                                     \
    XX(ct_logspace(CT_F32, 0, 100, 3, 10), EDOMAIN, "ct_logspace",                                 \
       "the value 1e+50 at index [1] does not fit f32")

START_TEST(failures) {
    ct_tensor *labels = ct_zeros(CT_I64, SHAPE(4));
    ct_tensor *halves = ct_from_doubles(CT_F64, SHAPE(2), ITEMS(1, 0.5));
#define FAIL(call, code, function, text)                                                           \
    ct_error_clear();                                                                              \
    expect_failure(call, CT_##code, function, text);
    FAILURES(FAIL)
    ck_assert(room[0] == 0 && room[1] == 0);
    ct_free(labels), ct_free(halves);
    check_blocks();
}
END_TEST

Suite *suite_make(void) {
    Suite *suite = suite_create("make");
    TCase *tc = tcase_create("make");
    tcase_add_loop_test(tc, like_another, 0, TYPES * SPREADS);
    tcase_add_test(tc, names_stay);
    tcase_add_test(tc, whole_numbers);
    tcase_add_test(tc, whole_numbers_round_once);
    tcase_add_loop_test(tc, identity, 0, TYPES);
    tcase_add_loop_test(tc, range_of_numbers, 0, COUNT(ranges));
    tcase_add_test(tc, ranges_of_integers_are_exact);
    tcase_add_test(tc, evenly_spaced);
    tcase_add_test(tc, failures);
    suite_add_tcase(suite, tc);
    return suite;
}
