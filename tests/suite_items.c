/* One item and all items in turn: by index, by number, by iteration, by callbacks. */

#include "index_tools.h"

#include "dual/ct_dual.h"
#include "tensor/ct_alloc.h"
#include "tensor/ct_convert.h"
#include "tensor/ct_dlpack.h"
#include "tensor/ct_iterate.h"
#include "tensor/ct_make.h"
#include "tensor/ct_names.h"
#include "tensor/ct_random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_items(void);

/* --- every type, shape and layout --- */

typedef void item_check(const ct_tensor *t, const struct items *items);

static void each_layout(item_check *check) {
    uint64_t state = 1;
    for (int k = 0; k < SCALARS; k++)
        for (int s = 0; s < SHAPES * SPREADS; s++) {
            const struct shape_case *shape = &shape_cases[s / SPREADS];
            ct_tensor *t =
                spread_out(random_items(&state, every_scalar[k], shape->rank, shape->shape),
                           (enum spread)(s % SPREADS));
            struct items items = items_of(t);
            check(t, &items);
            struct items after = items_of(t);
            ck_assert(memcmp(items.bytes, after.bytes, items.count * items.scalar->size) == 0);
            drop_items(&items), drop_items(&after);
            ct_free(t);
        }
    ck_assert_uint_eq(ct_live_blocks(), 0);
}

static bool equal_doubles(double a, double b) {
    return a == b || (isnan(a) && isnan(b));
}

/* Reads every item in four ways, and beyond the ends. */
static void check_reading(const ct_tensor *t, const struct items *items) {
    int64_t index[CT_MAX_RANK] = {0}, back[CT_MAX_RANK] = {0}, flat = 0;
    int64_t count = (int64_t)items->count;
    struct ct_iter it = ct_iter_init(t);
    ck_assert(it.flat == -1);
    for (bool more = count > 0; more; more = next_index(items->rank, items->shape, index), flat++) {
        char item[128];
        const char *expected = item_at(items, index);
        size_t size = items->scalar->size;
        ck_assert_int_eq(ct_get_item(t, items->rank, index, item), CT_OK);
        ck_assert(memcmp(item, expected, size) == 0);
        for (int i = 0; i < items->rank; i++)
            back[i] = index[i] - items->shape[i];
        ck_assert_int_eq(ct_get_item(t, items->rank, back, item), CT_OK);
        ck_assert(memcmp(item, expected, size) == 0);
        double value, number = items->scalar->to_double(items->scalar, expected);
        ck_assert_int_eq(ct_get_flat(t, flat, &value), CT_OK);
        ck_assert(equal_doubles(value, number));
        ck_assert_int_eq(ct_get_flat(t, flat - count, &value), CT_OK);
        ck_assert(equal_doubles(value, number));
        ck_assert(ct_iter_next(&it) && it.flat == flat);
        ck_assert(memcmp(it.item, expected, size) == 0);
        ck_assert(items->rank == 0 ||
                  memcmp(it.index, index, sizeof *index * (size_t)items->rank) == 0);
    }
    ck_assert(flat == count && !ct_iter_next(&it) && !ct_iter_next(&it));
    double value = 7;
    ck_assert_int_eq(ct_get_flat(t, count, &value), CT_EINDEX);
    ck_assert_int_eq(ct_get_flat(t, -count - 1, &value), CT_EINDEX);
    ck_assert(value == 7);
}

START_TEST(reading) {
    each_layout(check_reading);
}
END_TEST

/* Writes one item into a copy: the copy alone changes, there alone. */
static void check_writing(const ct_tensor *t, const struct items *items) {
    if (items->count == 0)
        return;
    int64_t last[CT_MAX_RANK], count = (int64_t)items->count;
    for (int i = 0; i < items->rank; i++)
        last[i] = items->shape[i] - 1;
    char mark[128], one[128];
    memset(mark, 1, sizeof mark);
    ct_tensor *by_item = ct_copy(t), *by_number = ct_copy(t);
    ck_assert_int_eq(ct_set_item(by_item, items->rank, last, mark), CT_OK);
    ck_assert_int_eq(ct_set_flat(by_number, count / 2, 1), CT_OK);
    struct items found = items_of(by_item), numbered = items_of(by_number);
    size_t size = items->scalar->size, end = (items->count - 1) * size;
    ck_assert(items->scalar->from_double(items->scalar, one, 1));
    ck_assert(memcmp(found.bytes, items->bytes, end) == 0);
    ck_assert(memcmp(found.bytes + end, mark, size) == 0);
    for (int64_t i = 0; i < count; i++)
        ck_assert(memcmp(numbered.bytes + (size_t)i * size,
                         i == count / 2 ? one : items->bytes + (size_t)i * size, size) == 0);
    drop_items(&found), drop_items(&numbered);
    ct_free(by_item), ct_free(by_number);
}

START_TEST(writing) {
    each_layout(check_writing);
}
END_TEST

/* An item of the tensor's own may be the one that is written, also when it moves. */
START_TEST(an_own_item) {
    ct_tensor *t = counting(CT_F64, SHAPE(3)), *copy = ct_copy(t);
    const double *items = ct_data(t);
    ck_assert_int_eq(ct_set_item(t, SHAPE(0), &items[2]), CT_OK);
    assert_items(t, SHAPE(3), ITEMS(2, 1, 2));
    items = ct_data(t);
    ck_assert_int_eq(ct_set_item(t, SHAPE(1), &items[0]), CT_OK);
    assert_items(t, SHAPE(3), ITEMS(2, 2, 2));
    assert_items(copy, SHAPE(3), ITEMS(0, 1, 2));
    ct_free(t), ct_free(copy);
    t = ct_zeros(CT_I64, SHAPE(2)); /* past 2^53 */
    const int64_t big = INT64_MAX - 1;
    int64_t found = 0;
    ck_assert_int_eq(ct_set_item(t, SHAPE(-1), &big), CT_OK);
    ck_assert_int_eq(ct_get_item(t, SHAPE(1), &found), CT_OK);
    ck_assert(found == big);
    ct_free(t);
}
END_TEST

/* --- callbacks --- */

struct seen {
    const struct items *items;
    size_t count;
};

static ct_status copy_item(void *context, const void *in, void *out) {
    struct seen *seen = context;
    size_t size = seen->items->scalar->size;
    ck_assert(memcmp(in, seen->items->bytes + seen->count * size, size) == 0);
    seen->count++;
    memcpy(out, in, size);
    return CT_OK;
}

static ct_status number_item(void *context, const void *in, void *out) {
    struct seen *seen = context;
    (void)in;
    int64_t number = (int64_t)seen->count++;
    memcpy(out, &number, sizeof number);
    return CT_OK;
}

/* Row-major, each item once. */
static void check_maps(const ct_tensor *t, const struct items *items) {
    struct seen seen = {items, 0};
    ct_tensor *same = ct_map(t, copy_item, &seen);
    ck_assert(same && seen.count == items->count && ct_is_dense(same));
    expect_same(same, items);
    seen.count = 0;
    ct_tensor *numbers = ct_map_to(t, CT_I64, number_item, &seen);
    ck_assert(numbers && seen.count == items->count && ct_dtype(numbers) == CT_I64);
    for (size_t i = 0; i < items->count; i++)
        ck_assert(((const int64_t *)ct_data(numbers))[i] == (int64_t)i);
    ct_free(numbers);
}

START_TEST(maps) {
    each_layout(check_maps);
}
END_TEST

static ct_status weigh(void *context, const void *a, const void *b, void *out) {
    float x;
    int64_t y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    double z = (double)x + 100 * (double)y;
    memcpy(out, &z, sizeof z);
    *(int *)context += 1;
    return CT_OK;
}

START_TEST(zips) {
    int calls = 0;
    ct_tensor *column = counting(CT_F32, SHAPE(2, 1)), *row = counting(CT_I64, SHAPE(3));
    ct_tensor *flipped = ct_flip(row, 0), *none_at_all = ct_zeros(CT_I64, SHAPE(0));
    assert_and_free(ct_zip(column, flipped, CT_F64, weigh, &calls), SHAPE(2, 3),
                    ITEMS(200, 100, 0, 201, 101, 1));
    ck_assert_int_eq(calls, 6);
    assert_and_free(ct_zip(column, none_at_all, CT_F64, weigh, &calls), SHAPE(2, 0), 0, NULL);
    ck_assert_int_eq(calls, 6);
    ct_tensor *named = ct_name_axes(row, 1, (const char *[]){"feature"});
    ct_tensor *result = ct_zip(column, named, CT_F64, weigh, &calls);
    ck_assert_str_eq(ct_axis_name(result, 1), "feature");
    ct_tensor *all[] = {column, row, flipped, none_at_all, named, result};
    for (int i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
}
END_TEST

static ct_status leave_alone(void *context, const void *in, void *out) {
    (void)in;
    (void)context;
    double x;
    memcpy(&x, out, sizeof x);
    return x == 0 ? CT_OK : CT_EINVAL; /* a result begins with bytes of 0 */
}

/* Writes the next item of the very tensor that is mapped, and frees it at the end. */
static ct_status overwrite(void *context, const void *in, void *out) {
    ct_tensor **t = context;
    memcpy(out, in, sizeof(double));
    double x;
    memcpy(&x, in, sizeof x);
    if (x == 5) {
        ct_free(*t);
        *t = NULL;
        return CT_OK;
    }
    return ct_set_flat(*t, (int64_t)x + 1, 77);
}

START_TEST(callbacks_see_what_was) {
    ct_tensor *t = counting(CT_F64, SHAPE(2, 3)), *turned = ct_transpose(t);
    ct_tensor *dirty = ct_full(CT_F64, SHAPE(6), 3);
    ct_free(dirty); /* memory that is used again */
    assert_and_free(ct_map(t, leave_alone, NULL), SHAPE(2, 3), ITEMS(0, 0, 0, 0, 0, 0));
    ct_free(turned);
    turned = ct_copy(t);
    assert_and_free(ct_map(t, overwrite, &t), SHAPE(2, 3), ITEMS(0, 1, 2, 3, 4, 5));
    ck_assert_ptr_null(t);
    ct_free(turned);
    ck_assert_uint_eq(ct_live_blocks(), 0);
}
END_TEST

static ct_status stop_at(void *context, const void *in, void *out) {
    double x;
    memcpy(&x, in, sizeof x);
    memcpy(out, in, sizeof x);
    return x >= *(double *)context ? CT_EDOMAIN : CT_OK;
}

static ct_status odd_status(void *context, const void *a, const void *b, void *out) {
    (void)context, (void)a, (void)b, (void)out;
    return (ct_status)77;
}

/* --- closeness --- */

START_TEST(closeness_of_duals_and_integers) {
    ct_tensor *value = ct_ones(CT_F64, SHAPE(2)), *near = ct_full(CT_F64, SHAPE(2), 1.001);
    ct_tensor *a = ct_dual(value, value), *b = ct_dual(near, value), *c = ct_dual(value, near);
    ct_tensor *d = ct_dual(value, NULL);
    ck_assert(ct_all_close(a, b, 0.01, 0) && !ct_all_close(a, b, 1e-6, 0));
    ck_assert(ct_all_close(a, c, 0.01, 0) && !ct_all_close(a, c, 1e-6, 0)); /* tangents count */
    ck_assert(ct_all_close(d, value, 0, 0) && ct_all_close(value, d, 0, 0));
    ck_assert(!ct_all_close(a, value, 0.5, 0) && !ct_all_close(value, a, 0.5, 0));
    ct_tensor *x = ct_from_i64s(CT_I64, SHAPE(2), 2, (int64_t[]){INT64_MAX, INT64_MIN});
    ct_tensor *y = ct_from_i64s(CT_I64, SHAPE(2), 2, (int64_t[]){INT64_MAX - 1, INT64_MIN});
    ck_assert(!ct_all_close(x, y, 0, 0) && ct_all_close(x, y, 0, 1));
    ct_tensor *z = ct_flip(x, 0);
    ck_assert(!ct_all_close(x, z, 1, 1) && ct_all_close(x, z, 3, 0));
    ct_tensor *all[] = {value, near, a, b, c, d, x, y, z};
    for (int i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
}
END_TEST

/* --- failures --- */

static double room[4];
static double limit = 4;

static ct_tensor *failed(ct_status status) {
    ck_assert_int_ne(status, CT_OK);
    return NULL;
}

static bool walks(const ct_tensor *t) {
    struct ct_iter it = ct_iter_init(t);
    return ct_iter_next(&it);
}

#define FAILURES(XX)                                                                               \
    XX(failed(ct_get_flat(t, 6, room)), EINDEX, "ct_get_flat",                                     \
       "item 6 is out of bounds for a tensor of 6 items")                                          \
    XX(failed(ct_get_flat(t, INT64_MIN, room)), EINDEX, "ct_get_flat",                             \
       "item -9223372036854775808 is out of bounds for a tensor of 6 items")                       \
    XX(failed(ct_get_flat(one, 1, room)), EINDEX, "ct_get_flat",                                   \
       "item 1 is out of bounds for a tensor of 1 item")                                           \
    XX(failed(ct_get_flat(NULL, 0, room)), EINVAL, "ct_get_flat", "an operand is NULL")            \
    XX(failed(ct_get_flat(t, 0, NULL)), EINVAL, "ct_get_flat", "the place for the value is NULL")  \
    XX(failed(ct_set_flat(t, -7, 0)), EINDEX, "ct_set_flat",                                       \
       "item -7 is out of bounds for a tensor of 6 items")                                         \
    XX(failed(ct_set_flat(NULL, 0, 0)), EINVAL, "ct_set_flat", "an operand is NULL")               \
    XX(failed(ct_set_flat(labels, 1, 0.5)), EDOMAIN, "ct_set_flat",                                \
       "the value 0.5 does not fit i64")                                                           \
    XX(failed(ct_get_item(t, SHAPE(0, 3), room)), EINDEX, "ct_get_item",                           \
       "index [0, 3] is out of bounds for a shape of [2, 3]")                                      \
    XX(failed(ct_get_item(t, 2, NULL, room)), EINVAL, "ct_get_item",                               \
       "the index is NULL and the rank is 2")                                                      \
    XX(failed(ct_get_item(t, SHAPE(0, 0), NULL)), EINVAL, "ct_get_item",                           \
       "the place for the item is NULL")                                                           \
    XX(failed(ct_get_item(NULL, SHAPE(0), room)), EINVAL, "ct_get_item", "an operand is NULL")     \
    XX(failed(ct_set_item(t, SHAPE(0), room)), EINDEX, "ct_set_item",                              \
       "index [0] has 1 axis and the tensor has 2")                                                \
    XX(failed(ct_set_item(t, SHAPE(0, 0), NULL)), EINVAL, "ct_set_item", "the item is NULL")       \
    XX(failed(ct_set_item(NULL, SHAPE(0), room)), EINVAL, "ct_set_item", "an operand is NULL")     \
    XX((walks(NULL), NULL), EINVAL, "ct_iter_init", "an operand is NULL")                          \
    XX(ct_map(NULL, stop_at, NULL), EINVAL, "ct_map", "an operand is NULL")                        \
    XX(ct_map(t, NULL, NULL), EINVAL, "ct_map", "the callback is NULL")                            \
    XX(ct_map(t, stop_at, &limit), EDOMAIN, "ct_map",                                              \
       "the callback returned CT_EDOMAIN at index [1, 1]")                                         \
    XX(ct_map_to(t, NULL, stop_at, NULL), EINVAL, "ct_map_to", "an operand is NULL")               \
    XX(ct_map_to(t, CT_F32, NULL, NULL), EINVAL, "ct_map_to", "the callback is NULL")              \
    XX(ct_zip(t, NULL, CT_F64, odd_status, NULL), EINVAL, "ct_zip", "an operand is NULL")          \
    XX(ct_zip(t, t, CT_F64, NULL, NULL), EINVAL, "ct_zip", "the callback is NULL")                 \
    XX(ct_zip(t, t, CT_F64, odd_status, NULL), EINVAL, "ct_zip",                                   \
       "the callback returned 77, which is no status, at index [0, 0]")                            \
    XX(ct_zip(t, labels, CT_F64, odd_status, NULL), ESHAPE, "ct_zip",                              \
       "shapes [2, 3] and [4] do not broadcast: the extents 3 and 4 of axis 1 differ and neither " \
       "is 1")

START_TEST(failures) {
    ct_tensor *t = counting(CT_F64, SHAPE(2, 3)), *labels = ct_zeros(CT_I64, SHAPE(4));
    ct_tensor *one = ct_ones(CT_F64, 0, NULL);
#define FAIL(call, code, function, text)                                                           \
    ct_error_clear();                                                                              \
    expect_failure(call, CT_##code, function, text);
    FAILURES(FAIL)
    assert_items(t, SHAPE(2, 3), ITEMS(0, 1, 2, 3, 4, 5));
    ct_free(t), ct_free(labels), ct_free(one);
    ck_assert_uint_eq(ct_live_blocks(), 0);
}
END_TEST

/* --- no memory: whatever allocates fails cleanly at each of its allocations --- */

static bool step(ct_tensor *made, ct_tensor **kept, int *n) {
    kept[*n] = made;
    *n += made != NULL;
    return made != NULL;
}

static bool exported(const ct_tensor *t, ct_tensor **kept, int *n) {
    struct DLManagedTensorVersioned *shared = ct_to_dlpack_versioned(t);
    ct_tensor *made = shared ? ct_from_dlpack_versioned(shared) : NULL;
    if (made)
        return step(made, kept, n);
    if (shared) { /* a failed import leaves it to us: the deleter is its fourth word */
        void (*deleter)(struct DLManagedTensorVersioned *);
        memcpy(&deleter, (const char *)shared + 16, sizeof deleter);
        deleter(shared);
    }
    return false;
}

static bool scenario(void) {
    ct_tensor *k[32];
    int n = 0, calls = 0;
    double six[6] = {0, 1, 2, 3, 4, 5}, far = 99;
    int64_t wholes[6];
    ct_random random = ct_random_of(1, 2);
    bool ok = step(ct_from_doubles(CT_F64, SHAPE(2, 3), 6, six), k, &n) &&
              step(ct_transpose(k[0]), k, &n) && step(ct_zeros_like(k[1]), k, &n) &&
              step(ct_eye(CT_I32, 2, 3, 1), k, &n) && step(ct_arange(CT_F64, 0, 5, 1), k, &n) &&
              step(ct_linspace(CT_F32, 0, 1, 5), k, &n) &&
              step(ct_logspace(CT_F32, 0, 1, 5, 2), k, &n) &&
              step(ct_from_i64s(CT_F32, SHAPE(1), 1, (int64_t[]){4}), k, &n) &&
              step(ct_cast(k[1], CT_DUAL64, CT_CAST_STRICT), k, &n) &&
              step(ct_cast(k[0], CT_I64, CT_CAST_TRUNCATE), k, &n) &&
              step(ct_from_bytes(CT_F64, SHAPE(6), CT_BIG_ENDIAN, 48, six), k, &n) &&
              step(ct_map(k[1], stop_at, &far), k, &n) &&
              step(ct_zip(k[7], k[9], CT_F64, weigh, &calls), k, &n) &&
              step(ct_random_integers(&random, CT_I64, SHAPE(3), 0, 9), k, &n) &&
              step(ct_permutation(&random, 5), k, &n) && exported(k[1], k, &n) &&
              ct_to_i64s(k[1], 6, wholes) == CT_OK && ct_set_flat(k[1], 2, 9) == CT_OK &&
              ct_set_item(k[2], SHAPE(0, 0), six) == CT_OK;
    if (!ok)
        ck_assert_int_eq(ct_error()->code, CT_ENOMEM);
    while (n > 0)
        ct_free(k[--n]);
    return ok;
}

START_TEST(no_memory) {
    if (!make_memory_scarce())
        return;
    size_t before = ct_live_blocks();
    int runs = 0;
    for (bool done = false; !done; runs++) {
        starve(runs);
        done = scenario();
        ck_assert_uint_eq(ct_live_blocks(), before);
        ck_assert_int_lt(runs, 1000);
    }
    ck_assert_int_gt(runs, 25);
}
END_TEST

Suite *suite_items(void) {
    Suite *suite = suite_create("items");
    TCase *tc = tcase_create("items");
    tcase_add_test(tc, reading);
    tcase_add_test(tc, writing);
    tcase_add_test(tc, an_own_item);
    tcase_add_test(tc, maps);
    tcase_add_test(tc, zips);
    tcase_add_test(tc, callbacks_see_what_was);
    tcase_add_test(tc, closeness_of_duals_and_integers);
    tcase_add_test(tc, failures);
    suite_add_tcase(suite, tc);
    TCase *scarcity = tcase_create("memory");
    tcase_add_test(scarcity, no_memory);
    suite_add_tcase(suite, scarcity);
    return suite;
}
