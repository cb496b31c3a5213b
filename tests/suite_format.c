/* Text of tensors. The facts were printed by NumPy 1.24.2: np.array2string(a, separator=', ', ...),
   and str(a[()]) for rank 0. */

#include "ct_test.h"
#include "tensor_tools.h"

#include "dual/ct_dual.h"
#include "tensor/ct_alloc.h"
#include "tensor/ct_format.h"
#include "tensor/ct_make.h"

#include <locale.h>
#include <stdio.h>
#include <string.h>

Suite *suite_format(void);

/* precision, threshold, edge items, line width */
struct way {
    int precision, threshold, edge_items, line_width;
};
#define USUAL                                                                                      \
    { 8, 1000, 3, 75 }

struct fact {
    const ct_scalar *scalar;
    int rank;
    int64_t shape[4];
    bool counting;
    double values[14]; /* repeated where the shape holds more */
    struct way way;
    const char *text;
};

/* clang-format off */
static const struct fact facts[] = {
    {CT_F64, 1, {3}, false, {0, 1, 2}, USUAL, "[0., 1., 2.]"},
    {CT_F64, 1, {3}, false, {0.5, 1.25, -3}, USUAL, "[ 0.5 ,  1.25, -3.  ]"},
    {CT_F32, 1, {3}, false, {0.1, 0.2, 0.3333333333333333}, USUAL, "[0.1       , 0.2       , 0.33333334]"},
    {CT_F64, 2, {2, 2}, false, {0.3333333333333333, 0.6666666666666666, 1, -0.14285714285714285}, USUAL, "[[ 0.33333333,  0.66666667],\n [ 1.        , -0.14285714]]"},
    {CT_F64, 1, {3}, false, {1e-05, 1, 2}, USUAL, "[1.e-05, 1.e+00, 2.e+00]"},
    {CT_F64, 1, {3}, false, {1, 10, 1001}, USUAL, "[1.000e+00, 1.000e+01, 1.001e+03]"},
    {CT_F64, 1, {2}, false, {1, 1000}, USUAL, "[   1., 1000.]"},
    {CT_F64, 1, {2}, false, {99999999, 123456.789}, USUAL, "[99999999.   ,   123456.789]"},
    {CT_F64, 1, {2}, false, {100000000.0, 50000000.0}, USUAL, "[1.e+08, 5.e+07]"},
    {CT_F64, 1, {3}, false, {1e+300, -1e-300, 1}, USUAL, "[ 1.e+300, -1.e-300,  1.e+000]"},
    {CT_F64, 1, {4}, false, {QNAN, 1, INF, -INF}, USUAL, "[ nan,   1.,  inf, -inf]"},
    {CT_F64, 1, {2}, false, {QNAN, INF}, USUAL, "[nan, inf]"},
    {CT_F32, 1, {3}, false, {QNAN, 100000, -INF}, USUAL, "[    nan, 100000.,    -inf]"},
    {CT_F64, 1, {2}, false, {1e+20, QNAN}, USUAL, "[1.e+20,    nan]"},
    {CT_F64, 1, {2}, false, {-0.0, 0}, USUAL, "[-0.,  0.]"},
    {CT_F64, 1, {2}, false, {1e+100, 1e-100}, {3, 1000, 3, 75}, "[1.e+100, 1.e-100]"},
    {CT_F64, 1, {4}, false, {0.3333333333333333, 0.6666666666666666, 10, 0.125}, {2, 1000, 3, 75}, "[ 0.33,  0.67, 10.  ,  0.12]"},
    {CT_F64, 1, {2}, false, {0.5, 1.5}, {0, 1000, 3, 75}, "[0., 2.]"},
    {CT_F64, 1, {2}, false, {0.3333333333333333, 0.1}, {17, 1000, 3, 75}, "[0.3333333333333333, 0.1               ]"},
    {CT_F32, 1, {2}, false, {1e-45, 1e+38}, USUAL, "[1.e-45, 1.e+38]"},
    {CT_F32, 1, {2}, false, {16777216, 0.1}, USUAL, "[1.6777216e+07, 1.0000000e-01]"},
    {CT_I64, 1, {3}, false, {1, -20, 300}, USUAL, "[  1, -20, 300]"},
    {CT_I32, 1, {2}, false, {2147483647, -1}, USUAL, "[2147483647,         -1]"},
    {CT_BOOL, 2, {2, 2}, false, {1, 0, 1, 1}, USUAL, "[[ True, False],\n [ True,  True]]"},
    {CT_BOOL, 1, {1}, false, {1}, USUAL, "[ True]"},
    {CT_F64, 0, {0}, false, {0.1}, USUAL, "0.1"},
    {CT_F64, 0, {0}, false, {3}, USUAL, "3.0"},
    {CT_F64, 0, {0}, false, {1e+16}, USUAL, "1e+16"},
    {CT_F64, 0, {0}, false, {123456789012345.0}, USUAL, "123456789012345.0"},
    {CT_F64, 0, {0}, false, {1e-05}, USUAL, "1e-05"},
    {CT_F64, 0, {0}, false, {-0.0}, USUAL, "-0.0"},
    {CT_F64, 0, {0}, false, {QNAN}, USUAL, "nan"},
    {CT_F64, 0, {0}, false, {-INF}, USUAL, "-inf"},
    {CT_F32, 0, {0}, false, {0.1}, USUAL, "0.1"},
    {CT_F32, 0, {0}, false, {16777216}, USUAL, "16777216.0"},
    {CT_F32, 0, {0}, false, {1000000000000000.0}, USUAL, "1000000000000000.0"},
    {CT_I64, 0, {0}, false, {-7}, USUAL, "-7"},
    {CT_BOOL, 0, {0}, false, {1}, USUAL, "True"},
    {CT_F64, 3, {2, 1, 2}, false, {0, 1, 2, 3}, USUAL, "[[[0., 1.]],\n\n [[2., 3.]]]"},
    {CT_F64, 4, {2, 2, 1, 1}, false, {0, 1, 2, 3}, USUAL, "[[[[0.]],\n\n  [[1.]]],\n\n\n [[[2.]],\n\n  [[3.]]]]"},
    {CT_F64, 1, {0}, false, {0}, USUAL, "[]"},
    {CT_F64, 2, {2, 0}, false, {0}, USUAL, "[]"},
    {CT_I64, 1, {30}, false, {0}, USUAL, "[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,\n 0, 0, 0, 0, 0]"},
    {CT_F64, 1, {12}, false, {0.0, 1.5, 3.0, 4.5, 6.0, 7.5, 9.0, 10.5, 12.0, 13.5, 15.0, 16.5}, USUAL, "[ 0. ,  1.5,  3. ,  4.5,  6. ,  7.5,  9. , 10.5, 12. , 13.5, 15. , 16.5]"},
    {CT_F64, 1, {12}, false, {0.0, 1.5, 3.0, 4.5, 6.0, 7.5, 9.0, 10.5, 12.0, 13.5, 15.0, 16.5}, {8, 1000, 3, 20}, "[ 0. ,  1.5,  3. ,\n  4.5,  6. ,  7.5,\n  9. , 10.5, 12. ,\n 13.5, 15. , 16.5]"},
    {CT_I64, 1, {3}, false, {100, 200, 300}, {8, 1000, 3, 3}, "[100,\n 200,\n 300]"},
    {CT_I64, 1, {1001}, true, {0}, USUAL, "[   0,    1,    2, ...,  998,  999, 1000]"},
    {CT_I64, 2, {40, 30}, true, {0}, USUAL, "[[   0,    1,    2, ...,   27,   28,   29],\n [  30,   31,   32, ...,   57,   58,   59],\n [  60,   61,   62, ...,   87,   88,   89],\n ...,\n [1110, 1111, 1112, ..., 1137, 1138, 1139],\n [1140, 1141, 1142, ..., 1167, 1168, 1169],\n [1170, 1171, 1172, ..., 1197, 1198, 1199]]"},
    {CT_I64, 4, {3, 4, 5, 20}, true, {0}, {8, 1000, 1, 75}, "[[[[   0, ...,   19],\n   ...,\n   [  80, ...,   99]],\n\n  ...,\n\n  [[ 300, ...,  319],\n   ...,\n   [ 380, ...,  399]]],\n\n\n ...,\n\n\n [[[ 800, ...,  819],\n   ...,\n   [ 880, ...,  899]],\n\n  ...,\n\n  [[1100, ..., 1119],\n   ...,\n   [1180, ..., 1199]]]]"},
    {CT_F64, 2, {2, 7}, false, {0.0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1.0, 1.125, 1.25, 1.375, 1.5, 1.625}, {8, 5, 2, 75}, "[[0.   , 0.125, ..., 0.625, 0.75 ],\n [0.875, 1.   , ..., 1.5  , 1.625]]"},
    {CT_F64, 1, {7}, false, {0, 0, 0, 10000000000.0, 0, 0, 0}, {8, 6, 3, 75}, "[0., 0., 0., ..., 0., 0., 0.]"},
    {CT_I64, 1, {6}, false, {0, 1, 2, 3, 4, 5}, {8, 5, 3, 75}, "[0, 1, 2, 3, 4, 5]"},
    /* NumPy 2: an f32 below the float 0.0001 is small, the float itself is not. */
    {CT_F32, 1, {2}, false, {0, 0.0001}, USUAL, "[0.    , 0.0001]"},
};
/* clang-format on */

enum { TEXT_BYTES = 4096, NUMBERS = 1200 };

static ct_tensor *tensor_of_fact(const struct fact *fact) {
    double values[NUMBERS];
    size_t n = 1;
    for (int i = 0; i < fact->rank; i++)
        n *= (size_t)fact->shape[i];
    ck_assert_uint_le(n, NUMBERS);
    for (size_t i = 0; i < n; i++)
        values[i] = fact->counting ? (double)i : fact->values[i % 14];
    ct_tensor *t = ct_from_doubles(fact->scalar, fact->rank, fact->shape, n, values);
    ck_assert_msg(t != NULL, "%s", ct_error()->message);
    return t;
}

static struct ct_format_options options_of(struct way way) {
    struct ct_format_options options = ct_format_options_init();
    options.precision = way.precision;
    options.threshold = way.threshold;
    options.edge_items = way.edge_items;
    options.line_width = way.line_width;
    return options;
}

static void expect_text(const ct_tensor *t, const struct fact *fact) {
    char text[TEXT_BYTES];
    struct ct_format_options options = options_of(fact->way);
    ck_assert_int_eq(ct_format_with(t, &options, text, sizeof text), (int)strlen(fact->text));
    ck_assert_str_eq(text, fact->text);
}

/* In any layout and any locale. */
START_TEST(as_numpy) {
    static const char *const locales[] = {"C", "de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8"};
    const struct fact *fact = &facts[_i];
    ct_tensor *t = tensor_of_fact(fact);
    for (int i = 0; i < COUNT(locales); i++)
        if (setlocale(LC_ALL, locales[i]))
            expect_text(t, fact);
    setlocale(LC_ALL, "C");
    if (fact->rank > 0) {
        ct_tensor *flipped = ct_flip(t, -1), *dense = ct_compact(flipped);
        ct_tensor *back = ct_flip(dense, -1);
        expect_text(back, fact);
        ct_free(flipped), ct_free(dense), ct_free(back);
    }
    ct_free(t);
    ck_assert_uint_eq(ct_live_blocks(), 0);
}
END_TEST

START_TEST(extremes_of_integers) {
    ct_tensor *t = ct_from_i64s(CT_I64, SHAPE(2, 2), 4, (int64_t[]){INT64_MAX, INT64_MIN, 0, 1});
    char text[TEXT_BYTES];
    ck_assert_int_gt(ct_format(t, text, sizeof text), 0);
    ck_assert_str_eq(text, "[[ 9223372036854775807, -9223372036854775808],\n"
                           " [                   0,                    1]]");
    ct_free(t);
}
END_TEST

START_TEST(zero_strides) {
    ct_tensor *one = ct_from_double(CT_F64, 1.5), *t = ct_broadcast_to(one, SHAPE(2, 2));
    char text[TEXT_BYTES];
    ct_format(t, text, sizeof text);
    ck_assert_str_eq(text, "[[1.5, 1.5],\n [1.5, 1.5]]");
    ct_free(one), ct_free(t);
}
END_TEST

/* A type's own format, aligned to the right. */
START_TEST(duals) {
    ct_tensor *value = ct_from_doubles(CT_F64, SHAPE(2), ITEMS(1.5, -20));
    ct_tensor *t = ct_dual(value, NULL);
    char text[TEXT_BYTES];
    ct_format(t, text, sizeof text);
    ck_assert_str_eq(text, "[(1.5 + 0e), (-20 + 0e)]");
    ct_free(value), ct_free(t);
}
END_TEST

/* As snprintf: the length is that of the whole text, which is cut and terminated. */
START_TEST(cut_texts) {
    ct_tensor *t = ct_from_doubles(CT_F64, SHAPE(3), ITEMS(1, -2.5, 100));
    static const char whole[] = "[  1. ,  -2.5, 100. ]";
    char text[sizeof whole + 1];
    int length = (int)strlen(whole);
    ck_assert_int_eq(ct_format(t, NULL, 0), length);
    ck_assert_int_eq(ct_format(t, NULL, 9), length);
    for (size_t size = 0; size <= sizeof whole; size++) {
        memset(text, '#', sizeof text);
        ck_assert_int_eq(ct_format(t, text, size), length);
        size_t kept = size == 0 ? 0 : size - 1 < strlen(whole) ? size - 1 : strlen(whole);
        ck_assert(memcmp(text, whole, kept) == 0);
        ck_assert(size == 0 || text[kept] == '\0');
        ck_assert(size >= sizeof text || text[size] == '#');
    }
    ct_free(t);
}
END_TEST

/* All digits of extreme numbers have room. */
START_TEST(long_numbers) {
    struct ct_format_options options = ct_format_options_init();
    options.precision = 40;
    ct_tensor *t = ct_from_doubles(CT_F64, SHAPE(2), ITEMS(-99999999.0, 99999998.0 / 3));
    char text[TEXT_BYTES];
    ck_assert_int_gt(ct_format_with(t, &options, text, sizeof text), 0);
    ck_assert_str_eq(text, "[-99999999.         ,  33333332.666666668]");
    ct_free(t);
    static const double ends[] = {1.7976931348623157e308, -4.9e-324};
    for (int precision = 0; precision <= 40; precision++) {
        options.precision = precision;
        t = ct_from_doubles(CT_F64, SHAPE(2), 2, ends);
        ck_assert_int_gt(ct_format_with(t, &options, text, sizeof text), 0);
        ct_free(t);
    }
}
END_TEST

static void fails(struct way way, const char *message) {
    ct_tensor *t = ct_ones(CT_F64, SHAPE(2));
    struct ct_format_options options = options_of(way);
    char text[TEXT_BYTES] = "xyz";
    ct_error_clear();
    ck_assert_int_eq(ct_format_with(t, &options, text, sizeof text), -1);
    ck_assert_int_eq(ct_error()->code, CT_EINVAL);
    ck_assert_str_eq(ct_error()->function, "ct_format_with");
    ck_assert_str_eq(ct_error()->message, message);
    ck_assert_str_eq(text, "");
    ct_free(t);
}

START_TEST(wrong_options) {
    fails((struct way){-1, 1000, 3, 75}, "the precision -1 is not in the range 0 to 40");
    fails((struct way){41, 1000, 3, 75}, "the precision 41 is not in the range 0 to 40");
    fails((struct way){8, -1, 3, 75}, "the threshold -1 is negative");
    fails((struct way){8, 1000, 0, 75}, "the number of edge items 0 is not positive");
    fails((struct way){8, 1000, 3, 0}, "the line width 0 is not positive");
    ct_error_clear();
    char text[4] = "xyz";
    ck_assert_int_eq(ct_format_with(NULL, NULL, text, sizeof text), -1);
    ck_assert_str_eq(text, "");
    ck_assert_str_eq(ct_error()->function, "ct_format_with");
}
END_TEST

/* A caller that knows fewer options than the library. */
START_TEST(options_by_size) {
    ct_tensor *t = ct_from_doubles(CT_F64, SHAPE(2), ITEMS(1.0 / 3, 2));
    struct ct_format_options options = ct_format_options_init();
    options.size = offsetof(struct ct_format_options, threshold);
    options.precision = 2;
    options.threshold = -5;
    char text[TEXT_BYTES];
    ck_assert_int_gt(ct_format_with(t, &options, text, sizeof text), 0);
    ck_assert_str_eq(text, "[0.33, 2.  ]");
    for (size_t size = 0; size < sizeof options.size; size++) { // less than the size itself
        char message[100];
        options.size = size;
        ct_error_clear();
        ck_assert_int_eq(ct_format_with(t, &options, text, sizeof text), -1);
        ck_assert_int_eq(ct_error()->code, CT_EINVAL);
        ck_assert_str_eq(ct_error()->function, "ct_format_with");
        snprintf(message, sizeof message,
                 "the options say that their size is %zu: begin with ct_format_options_init()",
                 size);
        ck_assert_str_eq(ct_error()->message, message);
    }
    ct_free(t);
}
END_TEST

Suite *suite_format(void) {
    Suite *suite = suite_create("format");
    TCase *tc = tcase_create("format");
    tcase_add_loop_test(tc, as_numpy, 0, COUNT(facts));
    tcase_add_test(tc, extremes_of_integers);
    tcase_add_test(tc, zero_strides);
    tcase_add_test(tc, duals);
    tcase_add_test(tc, cut_texts);
    tcase_add_test(tc, long_numbers);
    tcase_add_test(tc, wrong_options);
    tcase_add_test(tc, options_by_size);
    suite_add_tcase(suite, tc);
    return suite;
}
