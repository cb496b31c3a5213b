/* NumPy's tables of shapes that do and do not broadcast (numpy/lib/tests/test_stride_tricks.py).
   They lie outside the project (CT_CASES); without them the suite says so once and skips. */
#include <check.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "ct_test.h"
#include "golden_json.h"
#include "tensor/ct_ops.h"
#include "tensor/ct_tensor.h"

Suite *suite_broadcast(void);

enum { MOST_SHAPES = 64 };

struct shape {
    int rank;
    int64_t extent[CT_MAX_RANK];
};

static json_t *tables;

static void read_tables(void) {
    char name[PATH_MAX];
    snprintf(name, sizeof name, "%s/broadcast/numpy_stride_tricks_tables.json", golden_cases());
    json_t *file = json_load_file(name, 0, NULL);
    tables = json_incref(json_object_get(file, "tables"));
    json_decref(file);
}

/* A number stands for a shape of rank 1. */
static struct shape shape_of(const json_t *json) {
    struct shape s = {.rank = 1};
    if (json_is_integer(json)) {
        s.extent[0] = json_integer_value(json);
        return s;
    }
    s.rank = (int)json_array_size(json);
    ck_assert_int_le(s.rank, CT_MAX_RANK);
    for (int i = 0; i < s.rank; i++)
        s.extent[i] = json_integer_value(json_array_get(json, (size_t)i));
    return s;
}

static int shapes_of(const json_t *json, struct shape list[MOST_SHAPES]) {
    int n = (int)json_array_size(json);
    ck_assert_int_le(n, MOST_SHAPES);
    for (int i = 0; i < n; i++)
        list[i] = shape_of(json_array_get(json, (size_t)i));
    return n;
}

static void expect_shape(const ct_tensor *t, const struct shape *wanted) {
    ck_assert_msg(t != NULL, "%s", ct_error()->message);
    ck_assert_int_eq(ct_rank(t), wanted->rank);
    for (int i = 0; i < wanted->rank; i++)
        ck_assert_int_eq(ct_shape(t)[i], wanted->extent[i]);
    ck_assert_int_eq(ct_check_tensor(t), CT_OK);
}

static ct_tensor *ones(const struct shape *s) {
    ct_tensor *t = ct_ones(CT_F64, s->rank, s->extent);
    ck_assert_msg(t != NULL, "%s", ct_error()->message);
    return t;
}

/* The shape that a list of shapes broadcasts to, one after the other; false where it does not. The
   predicates and the sum of tensors of these shapes must say the same. */
static bool broadcast_list(const struct shape *list, int n, struct shape *result) {
    ct_tensor *sum = NULL;
    *result = (struct shape){0};
    for (int i = 0; i < n; i++) {
        struct shape next;
        next.rank = ct_broadcast_shape(result->rank, result->extent, list[i].rank, list[i].extent,
                                       next.extent);
        bool can = ct_can_broadcast(result->rank, result->extent, list[i].rank, list[i].extent);
        ck_assert_int_eq(can, next.rank >= 0);
        ct_tensor *one = ones(&list[i]), *wider = sum ? ct_add(sum, one) : ct_copy(one);
        ct_free(one);
        ct_free(sum);
        sum = wider;
        if (!can) {
            ck_assert_ptr_null(sum);
            ck_assert_int_eq(ct_error()->code, CT_ESHAPE);
            return false;
        }
        *result = next;
        expect_shape(sum, result);
    }
    ct_free(sum);
    return true;
}

static void expect_broadcast(const json_t *shapes, const json_t *wanted) {
    struct shape list[MOST_SHAPES], result, expected = shape_of(wanted);
    int n = shapes_of(shapes, list);
    ck_assert_msg(broadcast_list(list, n, &result), "%s", ct_error()->message);
    ck_assert_int_eq(result.rank, expected.rank);
    for (int i = 0; i < expected.rank; i++)
        ck_assert_int_eq(result.extent[i], expected.extent[i]);
    for (int i = 0; i < n; i++) {
        ct_tensor *from = ones(&list[i]),
                  *to = ct_broadcast_to(from, expected.rank, expected.extent);
        expect_shape(to, &expected);
        ck_assert(ct_shares_storage(from, to));
        ct_free(from);
        ct_free(to);
    }
}

static const json_t *table(const char *name) {
    const json_t *t = json_object_get(tables, name);
    ck_assert_msg(t != NULL, "there is no table %s", name);
    return t;
}

/* Tables of pairs (shapes, their broadcast shape). */
static const char *const pairs[] = {"test_two_compatible_by_ones_input_shapes",
                                    "test_two_compatible_by_prepending_ones_input_shapes",
                                    "test_same_as_ufunc", "test_broadcast_shapes_succeeds"};

START_TEST(compatible_shapes) {
    const json_t *t = table(pairs[_i]);
    for (size_t i = 0; i < json_array_size(t); i++) {
        const json_t *row = json_array_get(t, i), *shapes = json_array_get(row, 0);
        if (json_array_size(shapes) < MOST_SHAPES) /* NumPy also tries very long lists */
            expect_broadcast(shapes, json_array_get(row, 1));
    }
}
END_TEST

START_TEST(equal_shapes) {
    const json_t *t = table("test_same_input_shapes");
    for (size_t i = 0; i < json_array_size(t); i++) {
        const json_t *shape = json_array_get(t, i);
        for (int n = 1; n <= 3; n++) {
            json_t *list = json_array();
            for (int j = 0; j < n; j++)
                json_array_append(list, (json_t *)(uintptr_t)shape);
            expect_broadcast(list, shape);
            json_decref(list);
        }
    }
}
END_TEST

static const char *const refused[] = {"test_incompatible_shapes_raise_valueerror",
                                      "test_broadcast_shapes_raises"};

START_TEST(incompatible_shapes) {
    const json_t *t = table(refused[_i]);
    for (size_t i = 0; i < json_array_size(t); i++) {
        struct shape list[MOST_SHAPES], result;
        int n = shapes_of(json_array_get(t, i), list);
        ck_assert(!broadcast_list(list, n, &result));
        ck_assert_ptr_nonnull(strstr(ct_error()->message, "do not broadcast"));
        for (int j = n - 1; j > 0; j--) { /* in the other order as well */
            struct shape swapped = list[0];
            list[0] = list[j];
            list[j] = swapped;
            ck_assert(!broadcast_list(list, n, &result));
        }
    }
}
END_TEST

START_TEST(broadcast_to) {
    const json_t *t = table("test_broadcast_to_succeeds");
    for (size_t i = 0; i < json_array_size(t); i++) {
        const json_t *row = json_array_get(t, i);
        struct shape from = shape_of(json_array_get(row, 0)), to = shape_of(json_array_get(row, 1));
        ct_tensor *x = ones(&from), *y = ct_broadcast_to(x, to.rank, to.extent);
        expect_shape(y, &to);
        ct_free(x);
        ct_free(y);
    }
}
END_TEST

START_TEST(not_broadcast_to) {
    const json_t *t = table("test_broadcast_to_raises");
    for (size_t i = 0; i < json_array_size(t); i++) {
        const json_t *row = json_array_get(t, i);
        struct shape from = shape_of(json_array_get(row, 0)), to = shape_of(json_array_get(row, 1));
        ct_tensor *x = ones(&from);
        ct_error_clear();
        ck_assert_ptr_null(ct_broadcast_to(x, to.rank, to.extent));
        ck_assert_int_eq(ct_error()->code, CT_ESHAPE);
        ct_free(x);
    }
}
END_TEST

START_TEST(tables_are_here) {
    char text[PATH_MAX + 64];
    if (tables)
        return;
    snprintf(text, sizeof text, "no tables in the folder %s/broadcast; CT_CASES names another",
             golden_cases());
    ct_test_skip(text);
}
END_TEST

Suite *suite_broadcast(void) {
    Suite *suite = suite_create("broadcast");
    TCase *tc = tcase_create("tables");
    suite_add_tcase(suite, tc);
    read_tables();
    tcase_add_test(tc, tables_are_here);
    if (!tables)
        return suite;
    tcase_add_loop_test(tc, compatible_shapes, 0, (int)(sizeof pairs / sizeof *pairs));
    tcase_add_test(tc, equal_shapes);
    tcase_add_loop_test(tc, incompatible_shapes, 0, (int)(sizeof refused / sizeof *refused));
    tcase_add_test(tc, broadcast_to);
    tcase_add_test(tc, not_broadcast_to);
    return suite;
}
