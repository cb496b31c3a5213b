/* Conversion between all scalar types, item by item against rules of its own; and bytes. */

#include "ct_test.h"
#include "index_tools.h"

#include "dual/ct_dual.h"
#include "fixed/ct_fixed.h"
#include "tensor/ct_alloc.h"
#include "tensor/ct_convert.h"
#include "tensor/ct_make.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_convert(void);

static const ct_scalar *const types[] = {CT_F32,     CT_F64,    CT_I32,
                                         CT_I64,     CT_BOOL,   CT_FIXED,
                                         CT_DUAL32,  CT_DUAL64, &ct_scalar_dual64_2,
                                         CT_DUAL32X8};
enum { TYPES = sizeof types / sizeof *types, PLAIN = 5 };

/* --- a naive conversion, by long double: it holds 64 bits and all doubles exactly --- */

static long double number_of(const ct_scalar *scalar, const void *item) {
    float f;
    double d;
    int32_t i;
    int64_t j;
    if (scalar == CT_F32)
        return memcpy(&f, item, sizeof f), (long double)f;
    if (scalar == CT_F64)
        return memcpy(&d, item, sizeof d), (long double)d;
    if (scalar == CT_I32)
        return memcpy(&i, item, sizeof i), (long double)i;
    if (scalar == CT_BOOL)
        return *(const char *)item != 0;
    memcpy(&j, item, sizeof j);
    return scalar == CT_FIXED ? (long double)j * 0x1p-32L : (long double)j;
}

/* False where the number does not fit. */
static bool number_into(const ct_scalar *scalar, long double x, bool truncate, void *item) {
    if (scalar == CT_F32) {
        float f = (float)x;
        memcpy(item, &f, sizeof f);
        return truncate || !isinf(f) || isinf(x);
    }
    if (scalar == CT_F64) {
        double d = (double)x;
        memcpy(item, &d, sizeof d);
        return true;
    }
    if (scalar == CT_BOOL) {
        *(char *)item = x != 0;
        return truncate || x == 0 || x == 1;
    }
    long double low = scalar == CT_I32 ? -0x1p31L : -0x1p63L, end = -low;
    if (scalar == CT_FIXED) {
        x = rintl(x * 0x1p32L); /* to nearest, ties to even */
        truncate = false;
    } else if (truncate) {
        x = isnan(x) ? 0 : x < low ? low : x >= end ? end - 1 : truncl(x);
    }
    if (!(x >= low && x < end && x == truncl(x)))
        return false;
    int64_t j = (int64_t)x;
    int32_t i = (int32_t)j;
    if (scalar == CT_I32)
        memcpy(item, &i, sizeof i);
    else
        memcpy(item, &j, sizeof j);
    return true;
}

static bool long_double_is_long(void) {
    volatile long double x = 0x1p63L; /* Valgrind computes in 53 bits */
    return x - 1 != x;
}

/* Numbers at every edge that a type has; those that a type lacks are left out. */
static const double edges[] = {0,
                               -0.0,
                               1,
                               -1,
                               2,
                               0.5,
                               -0.5,
                               0.99999,
                               -1.5,
                               255,
                               2147483646,
                               2147483647,
                               2147483648,
                               2147483649,
                               -2147483648.0,
                               -2147483649.0,
                               2147483647.5,
                               16777217,
                               0x1p24,
                               0x1p53,
                               0x1p62,
                               0x1p63,
                               -0x1p63,
                               0x1p63 - 1024,
                               -0x1p63 - 2048,
                               0x1p64,
                               3.4e38,
                               3.5e38,
                               -3.5e38,
                               1e300,
                               1e-300,
                               0x1.ffffffp127,
                               0x1.fffffefffffffp127,
                               0x1p-149,
                               0x1p-151,
                               0x1p-1074,
                               INF,
                               -INF,
                               QNAN};
static const int64_t wholes[] = {INT64_MAX,
                                 INT64_MIN,
                                 INT64_MIN + 1,
                                 ((int64_t)1 << 53) + 1,
                                 -((int64_t)1 << 53) - 1,
                                 ((int64_t)1 << 60) + ((int64_t)1 << 36) + 1,
                                 ((int64_t)1 << 24) + 1,
                                 INT32_MAX,
                                 INT32_MIN,
                                 (int64_t)INT32_MAX + 1,
                                 (int64_t)INT32_MIN - 1,
                                 ((int64_t)INT32_MAX + 1) * 2 + 1};

static bool is_number_type(const ct_scalar *scalar) {
    return !scalar->base;
}

/* All edges that the type has, as items. */
static ct_tensor *edges_of(const ct_scalar *scalar) {
    char *items = calloc(COUNT(edges) + COUNT(wholes) + 1, scalar->size);
    int64_t n = 0;
    for (int i = 0; i < COUNT(edges); i++)
        n += scalar->from_double(scalar, items + (size_t)n * scalar->size, edges[i]);
    for (int i = 0; i < COUNT(wholes); i++)
        n += scalar->from_i64 &&
             scalar->from_i64(scalar, items + (size_t)n * scalar->size, wholes[i]);
    if (scalar == CT_FIXED) { /* close to a whole number, closer than a double can tell */
        const int64_t units = ((int64_t)1 << 62) - 1;
        memcpy(items + (size_t)n++ * scalar->size, &units, sizeof units);
    }
    ct_tensor *t = ct_from_items(scalar, 1, &n, (size_t)n, items);
    free(items);
    return t;
}

/* Fixed knows no long double: what comes from it exactly goes there by way of a double. */
static bool oracle(const ct_scalar *source, const ct_scalar *target, const char *from,
                   bool truncate, char *to) {
    long double x = number_of(source, from);
    if (target == CT_FIXED && source->traits & CT_INTEGER)
        return number_into(target, x, truncate, to);
    if (source == CT_FIXED && target->traits & CT_REAL && target != CT_FIXED)
        x = (long double)source->to_double(source, from);
    return number_into(target, x, truncate, to);
}

static void check_items(const ct_scalar *source, const ct_scalar *target, bool truncate) {
    ct_tensor *t = edges_of(source);
    struct items items = items_of(t);
    size_t misfits = 0;
    for (int64_t i = 0; i < ct_extent(t, 0); i++) {
        _Alignas(16) char expected[16] = {0}, found[16] = {0};
        ct_tensor *one = ct_slice(t, 0, i, i + 1, 1);
        ct_tensor *result = ct_cast(one, target, truncate ? CT_CAST_TRUNCATE : CT_CAST_STRICT);
        bool fits = oracle(source, target, item_at(&items, &i), truncate, expected);
        char text[64];
        source->format(source, item_at(&items, &i), text, sizeof text);
        ck_assert_msg((result != NULL) == fits, "%s %s to %s", text, source->name, target->name);
        misfits += !fits;
        if (result) {
            ck_assert_int_eq(ct_to_items(result, target->size, found), CT_OK);
            ck_assert_msg(target->equal(target, expected, found), "%s %s to %s", text, source->name,
                          target->name);
            ck_assert(truncate || ct_can_astype(one, target));
        } else {
            ck_assert_int_eq(ct_error()->code, CT_EDOMAIN);
            ck_assert(truncate || !ct_can_astype(one, target));
        }
        ct_free(one), ct_free(result);
    }
    struct ct_cast_report report;
    ck_assert_int_eq(ct_cast_report(t, target, &report), CT_OK);
    ck_assert(truncate || source == target || report.misfits == misfits);
    drop_items(&items);
    ct_free(t);
}

START_TEST(every_number_to_every_type) {
    const ct_scalar *source = types[_i / TYPES], *target = types[_i % TYPES];
    if (!is_number_type(source) || !is_number_type(target))
        return;
    if (!long_double_is_long()) {
        ct_test_skip("long double has no 64 bits here");
        return;
    }
    check_items(source, target, false);
    if (target == CT_FIXED || source == CT_FIXED)
        check_items(source, target, true);
    ck_assert_uint_eq(ct_live_blocks(), 0);
}
END_TEST

START_TEST(truncation) {
    const ct_scalar *source = types[_i / PLAIN], *target = types[_i % PLAIN];
    if (!long_double_is_long()) {
        ct_test_skip("long double has no 64 bits here");
        return;
    }
    ct_tensor *t = edges_of(source), *result = ct_cast(t, target, CT_CAST_TRUNCATE);
    ck_assert_msg(result != NULL, "%s", ct_error()->message);
    struct items from = items_of(t), to = items_of(result);
    for (int64_t i = 0; i < ct_extent(t, 0); i++) {
        _Alignas(16) char expected[16] = {0};
        ck_assert(number_into(target, number_of(source, item_at(&from, &i)), true, expected));
        ck_assert_msg(target->equal(target, expected, item_at(&to, &i)), "%s to %s, item %d",
                      source->name, target->name, (int)i);
    }
    drop_items(&from), drop_items(&to);
    ct_free(t), ct_free(result);
}
END_TEST

/* --- layouts: all items at once equal them one by one, whatever the layout and the count --- */

static void put_small(const ct_scalar *scalar, char *item, int64_t number) {
    ck_assert(scalar->from_double(scalar, item,
                                  scalar == CT_BOOL ? (double)(number & 1) : (double)number));
}

START_TEST(layouts) {
    const ct_scalar *source = types[_i / TYPES], *target = types[_i % TYPES];
    bool possible =
        source->level <= target->level &&
        (source == target || !source->base || !target->base || source->level < target->level ||
         (source->level == target->level &&
          source->size / source->base->size == target->size / target->base->size));
    if (source->level < target->level && source->base)
        possible =
            target->base->size / target->base->base->size == source->size / source->base->size;
    for (int s = 0; s < SHAPES * SPREADS; s++) {
        const struct shape_case *shape = &shape_cases[s / SPREADS];
        ct_tensor *plain = ct_zeros(source, shape->rank, shape->shape);
        char *items = ct_data_for_write(plain);
        for (size_t i = 0; i < ct_count(plain); i++)
            put_small(source, items + i * source->size,
                      target == CT_BOOL ? (int64_t)(i & 1) : (int64_t)i);
        ct_tensor *t = spread_out(plain, (enum spread)(s % SPREADS));
        ct_tensor *result = ct_astype(t, target);
        ck_assert_msg((result != NULL) == possible, "%s to %s", source->name, target->name);
        if (result) {
            ck_assert(ct_dtype(result) == target && ct_same_shape(result, t));
            double before[64], after[64];
            ck_assert_int_eq(ct_to_doubles(t, ct_count(t), before), CT_OK);
            ck_assert_int_eq(ct_to_doubles(result, ct_count(t), after), CT_OK);
            for (size_t i = 0; i < ct_count(t); i++)
                ck_assert(before[i] == after[i]);
            ck_assert(ct_all_close(t, result, 0, 0)); /* tangents and all */
        } else {
            ck_assert_int_eq(ct_error()->code, CT_EDTYPE);
        }
        ck_assert_int_eq(ct_can_astype(t, target), possible);
        ct_free(t), ct_free(result);
    }
    ck_assert_uint_eq(ct_live_blocks(), 0);
}
END_TEST

/* The first misfit is named wherever it is: in the middle of a block, in a transposed operand,
   among threads. */
START_TEST(first_misfit) {
    static const int64_t sizes[][2] = {{1, 1}, {1, 255}, {3, 257}, {300, 700}};
    for (int s = 0; s < COUNT(sizes); s++)
        for (int k = 0; k < 12; k++) {
            int64_t rows = sizes[s][0], columns = sizes[s][1], n = rows * columns;
            uint64_t state = (uint64_t)(s * 100 + k);
            ct_tensor *t = ct_zeros(CT_F64, SHAPE(rows, columns));
            double *x = ct_data_for_write(t);
            int64_t first = n, turned_first = n;
            for (int misfits = k % 4; misfits > 0; misfits--) {
                int64_t at = next_below(&state, n), turned = at % columns * rows + at / columns;
                x[at] = 0.5;
                first = at < first ? at : first;
                turned_first = turned < turned_first ? turned : turned_first;
            }
            ct_tensor *turned = ct_transpose(t);
            for (int way = 0; way < 2; way++) {
                const ct_tensor *operand = way ? turned : t;
                int64_t item = way ? turned_first : first, width = way ? rows : columns;
                ct_tensor *result = ct_astype(operand, k & 1 ? CT_I32 : CT_I64);
                struct ct_cast_report report;
                ck_assert_int_eq(ct_cast_report(operand, CT_I32, &report), CT_OK);
                ck_assert_int_eq(result == NULL, item < n);
                ck_assert_int_eq(report.misfits > 0, item < n);
                if (!result) {
                    char text[128];
                    snprintf(text, sizeof text, "the value 0.5 at index [%d, %d] does not fit %s",
                             (int)(item / width), (int)(item % width), k & 1 ? "i32" : "i64");
                    ck_assert_str_eq(ct_error()->message, text);
                    ck_assert(report.first[0] == item / width && report.first[1] == item % width);
                    ck_assert(report.value == 0.5 && strcmp(report.text, "0.5") == 0);
                }
                ct_free(result);
            }
            ct_free(t), ct_free(turned);
        }
    ck_assert_uint_eq(ct_live_blocks(), 0);
}
END_TEST

START_TEST(reports) {
    struct ct_cast_report report;
    ct_tensor *t = ct_from_doubles(CT_F64, SHAPE(2, 3), ITEMS(0.1, 1e300, 2, -1e39, INF, QNAN));
    ck_assert_int_eq(ct_cast_report(t, CT_F32, &report), CT_OK);
    ck_assert(report.misfits == 2 && report.rounded == 1);
    ck_assert(report.first[0] == 0 && report.first[1] == 1 && report.value == 1e300);
    ck_assert_str_eq(report.text, "1e+300");
    ck_assert_int_eq(ct_cast_report(t, CT_F64, &report), CT_OK);
    ck_assert(report.misfits == 0 && report.rounded == 0 && report.text[0] == '\0');
    ct_free(t);
    t = ct_from_i64s(CT_I64, SHAPE(3), 3, (int64_t[]){5, ((int64_t)1 << 53) + 1, INT64_MAX});
    ck_assert_int_eq(ct_cast_report(t, CT_F64, &report), CT_OK);
    ck_assert(report.misfits == 0 && report.rounded == 2);
    ck_assert_int_eq(ct_cast_report(t, CT_I32, &report), CT_OK);
    ck_assert(report.misfits == 2 && report.first[0] == 1);
    ck_assert_str_eq(report.text, "9007199254740993"); /* exact, past 2^53 */
    ct_free(t);
    t = ct_zeros(CT_F64, SHAPE(0, 3));
    ck_assert_int_eq(ct_cast_report(t, CT_I32, &report), CT_OK);
    ck_assert(report.misfits == 0 && ct_can_astype(t, CT_BOOL));
    ct_free(t);
    ck_assert(!ct_can_astype(NULL, CT_F32));
}
END_TEST

/* --- duals --- */

START_TEST(duals) {
    ct_tensor *value = ct_from_doubles(CT_F32, SHAPE(2), ITEMS(1.5, -2));
    ct_tensor *slope = ct_from_doubles(CT_F32, SHAPE(2), ITEMS(0.25, 3));
    ct_tensor *t = ct_dual(value, slope), *wide = ct_astype(t, CT_DUAL64);
    assert_and_free(ct_dual_value(wide), SHAPE(2), ITEMS(1.5, -2));
    assert_and_free(ct_dual_tangent(wide), SHAPE(2), ITEMS(0.25, 3));
    ct_tensor *back = ct_astype(wide, CT_DUAL32);
    ck_assert(ct_tensor_equal(back, t));
    ct_tensor *lifted = ct_astype(wide, &ct_scalar_dual64_2), *inner = ct_dual_value(lifted);
    ck_assert(ct_tensor_equal(inner, wide));
    ct_tensor *outer = ct_dual_tangent(lifted);
    assert_items(outer, SHAPE(2), ITEMS(0, 0));
    ct_tensor *dropped = ct_cast(lifted, CT_F32, CT_CAST_TRUNCATE);
    assert_items(dropped, SHAPE(2), ITEMS(1.5, -2));
    ct_tensor *lower = ct_cast(lifted, CT_DUAL32, CT_CAST_TRUNCATE);
    ck_assert(ct_tensor_equal(lower, t));
    ct_tensor *labels = ct_cast(t, CT_I64, CT_CAST_TRUNCATE);
    assert_items(labels, SHAPE(2), ITEMS(1, -2));
    none(ct_astype(t, CT_F32));
    ck_assert_str_eq(ct_error()->message,
                     "cannot convert dual32 to f32: the tangents would be lost");
    none(ct_astype(t, CT_DUAL32X8));
    ck_assert_str_eq(ct_error()->message,
                     "cannot convert dual32 to dual32x8: their parts do not correspond");
    struct ct_cast_report report;
    ck_assert_int_eq(ct_cast_report(t, CT_F32, &report), CT_EDTYPE);
    ct_tensor *all[] = {value, slope, t, wide, back, lifted, inner, outer, dropped, lower, labels};
    for (int i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
    ck_assert_uint_eq(ct_live_blocks(), 0);
}
END_TEST

/* --- bytes --- */

START_TEST(bytes) {
    const struct {
        const ct_scalar *scalar;
        double value;
        const char *little, *big;
    } facts[] = {
        {CT_F32, 1.5, "\0\0\xc0\x3f", "\x3f\xc0\0\0"},
        {CT_F64, -2, "\0\0\0\0\0\0\0\xc0", "\xc0\0\0\0\0\0\0\0"},
        {CT_I32, -2, "\xfe\xff\xff\xff", "\xff\xff\xff\xfe"},
        {CT_I64, 258, "\2\1\0\0\0\0\0\0", "\0\0\0\0\0\0\1\2"},
        {CT_BOOL, 1, "\1", "\1"},
        {CT_F32, QNAN, "\0\0\xc0\x7f", "\x7f\xc0\0\0"},
        {CT_F64, -QNAN, "\0\0\0\0\0\0\xf8\x7f", "\x7f\xf8\0\0\0\0\0\0"},
    };
    for (int i = 0; i < COUNT(facts); i++)
        for (int order = 0; order < 2; order++) {
            size_t size = facts[i].scalar->size;
            char found[32] = {0};
            ct_tensor *one = ct_from_double(facts[i].scalar, facts[i].value);
            ct_tensor *t = ct_broadcast_to(one, SHAPE(3));
            const char *expected = order ? facts[i].big : facts[i].little;
            ck_assert_int_eq(ct_to_bytes(t, (enum ct_byte_order)order, 3 * size, found + 1), CT_OK);
            for (int k = 0; k < 3; k++)
                ck_assert(memcmp(found + 1 + (size_t)k * size, expected, size) == 0);
            ck_assert(found[0] == 0 && found[1 + 3 * size] == 0);
            ct_tensor *back = ct_from_bytes(facts[i].scalar, SHAPE(3), (enum ct_byte_order)order,
                                            3 * size, found + 1); /* not aligned */
            ck_assert(ct_tensor_equal(back, t));
            ct_free(one), ct_free(t), ct_free(back);
        }
    assert_and_free(ct_from_bytes(CT_BOOL, SHAPE(3), CT_LITTLE_ENDIAN, 3, "\0\2\x80"), SHAPE(3),
                    ITEMS(0, 1, 1));
    assert_and_free(ct_from_bytes(CT_F64, SHAPE(0), CT_BIG_ENDIAN, 0, NULL), SHAPE(0), 0, NULL);
    ct_tensor *grid = counting(CT_I32, SHAPE(2, 2)), *turned = ct_transpose(grid);
    unsigned char found[16];
    ck_assert_int_eq(ct_to_bytes(turned, CT_BIG_ENDIAN, sizeof found, found), CT_OK);
    ck_assert(found[3] == 0 && found[7] == 2 && found[11] == 1 && found[15] == 3);
    ct_free(grid), ct_free(turned);
}
END_TEST

/* --- failures --- */

static char room[64];

static ct_tensor *failed(ct_status status) {
    ck_assert_int_ne(status, CT_OK);
    return NULL;
}

#define FAILURES(XX)                                                                               \
    XX(ct_cast(NULL, CT_F32, CT_CAST_STRICT), EINVAL, "ct_cast", "an operand is NULL")             \
    XX(ct_cast(t, NULL, CT_CAST_STRICT), EINVAL, "ct_cast", "an operand is NULL")                  \
    XX(ct_cast(t, CT_F32, (enum ct_cast_mode)7), EINVAL, "ct_cast",                                \
       "7 is not a mode of conversion")                                                            \
    XX(ct_cast(t, CT_BOOL, CT_CAST_STRICT), EDOMAIN, "ct_cast",                                    \
       "the value 2.5 at index [1] does not fit bool")                                             \
    XX(ct_cast(t, CT_FIXED, CT_CAST_TRUNCATE), EDOMAIN, "ct_cast",                                 \
       "the value 1e+300 at index [2] does not fit fixed")                                         \
    XX(failed(ct_cast_report(NULL, CT_F32, NULL)), EINVAL, "ct_cast_report", "an operand is NULL") \
    XX(failed(ct_cast_report(t, CT_F32, NULL)), EINVAL, "ct_cast_report",                          \
       "the place for the report is NULL")                                                         \
    XX(failed(ct_to_bytes(NULL, CT_BIG_ENDIAN, 0, NULL)), EINVAL, "ct_to_bytes",                   \
       "an operand is NULL")                                                                       \
    XX(failed(ct_to_bytes(t, (enum ct_byte_order)2, 24, room)), EINVAL, "ct_to_bytes",             \
       "2 is not an order of bytes")                                                               \
    XX(failed(ct_to_bytes(t, CT_BIG_ENDIAN, 23, room)), ESHAPE, "ct_to_bytes",                     \
       "a shape of [3] of f64 takes 24 bytes and 23 were given")                                   \
    XX(failed(ct_to_bytes(t, CT_BIG_ENDIAN, 24, NULL)), EINVAL, "ct_to_bytes",                     \
       "the place for the bytes is NULL")                                                          \
    XX(failed(ct_to_bytes(dual, CT_BIG_ENDIAN, 48, room)), EDTYPE, "ct_to_bytes",                  \
       "dual64 has no bytes that mean the same everywhere")                                        \
    XX(ct_from_bytes(NULL, SHAPE(1), CT_BIG_ENDIAN, 4, room), EINVAL, "ct_from_bytes",             \
       "an operand is NULL")                                                                       \
    XX(ct_from_bytes(CT_F32, SHAPE(2), CT_BIG_ENDIAN, 4, room), ESHAPE, "ct_from_bytes",           \
       "a shape of [2] of f32 takes 8 bytes and 4 were given")                                     \
    XX(ct_from_bytes(CT_F32, SHAPE(1), CT_BIG_ENDIAN, 4, NULL), EINVAL, "ct_from_bytes",           \
       "the 4 bytes are NULL")                                                                     \
    XX(ct_from_bytes(CT_DUAL32, SHAPE(1), CT_BIG_ENDIAN, 8, room), EDTYPE, "ct_from_bytes",        \
       "dual32 has no bytes that mean the same everywhere")                                        \
    XX(ct_from_bytes(CT_F32, SHAPE((int64_t)1 << 62), CT_BIG_ENDIAN, 0, room), EOVERFLOW,          \
       "ct_from_bytes",                                                                            \
       "a shape of [4611686018427387904] of f32 takes more bytes than can be addressed")

START_TEST(failures) {
    ct_tensor *t = ct_from_doubles(CT_F64, SHAPE(3), ITEMS(1, 2.5, 1e300));
    ct_tensor *dual = ct_astype(t, CT_DUAL64);
#define FAIL(call, code, function, text)                                                           \
    ct_error_clear();                                                                              \
    expect_failure(call, CT_##code, function, text);
    FAILURES(FAIL)
    ct_free(t), ct_free(dual);
    ck_assert_uint_eq(ct_live_blocks(), 0);
}
END_TEST

Suite *suite_convert(void) {
    Suite *suite = suite_create("convert");
    TCase *tc = tcase_create("convert");
    tcase_add_loop_test(tc, every_number_to_every_type, 0, TYPES * TYPES);
    tcase_add_loop_test(tc, truncation, 0, PLAIN * PLAIN);
    tcase_add_loop_test(tc, layouts, 0, TYPES * TYPES);
    tcase_add_test(tc, first_misfit);
    tcase_add_test(tc, reports);
    tcase_add_test(tc, duals);
    tcase_add_test(tc, bytes);
    tcase_add_test(tc, failures);
    suite_add_tcase(suite, tc);
    return suite;
}
