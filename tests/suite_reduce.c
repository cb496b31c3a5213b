#include "tensor_tools.h"

#include "tensor/ct_alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_reduce(void);

static ct_tensor *two_by_three, *pair, *cube, *none_by_four, *floats;

static void set_up(void) {
    two_by_three = counting(CT_F64, SHAPE(2, 3));
    pair = counting(CT_F64, SHAPE(2));
    cube = counting(CT_F64, SHAPE(2, 3, 4));
    none_by_four = ct_zeros(CT_F64, SHAPE(0, 4));
    floats = counting(CT_F32, SHAPE(2, 3));
}

static void tear_down(void) {
    ct_tensor *all[] = {two_by_three, pair, cube, none_by_four, floats};
    for (int i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
    ck_assert_uint_eq(ct_live_blocks(), 0);
}

// --- reductions and products, by hand

START_TEST(reductions) {
    assert_and_free(ct_sum(two_by_three, 0, false), SHAPE(3), ITEMS(3, 5, 7));
    assert_and_free(ct_sum(two_by_three, -1, true), SHAPE(2, 1), ITEMS(3, 12));
    assert_and_free(ct_sum(two_by_three, CT_ALL, false), 0, NULL, ITEMS(15));
    assert_and_free(ct_mean(two_by_three, 0, false), SHAPE(3), ITEMS(1.5, 2.5, 3.5));
    assert_and_free(ct_mean(floats, CT_ALL, true), SHAPE(1, 1), ITEMS(2.5));
    assert_and_free(ct_max(two_by_three, 1, false), SHAPE(2), ITEMS(2, 5));
    assert_and_free(ct_min(cube, 0, false), SHAPE(3, 4),
                    ITEMS(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
    assert_and_free(ct_sum_axes(cube, AXES(0, 2), false), SHAPE(3), ITEMS(60, 92, 124));
    assert_and_free(ct_sum_axes(cube, AXES(2, 0), true), SHAPE(1, 3, 1), ITEMS(60, 92, 124));
    assert_and_free(ct_mean_axes(cube, AXES(0, -1), false), SHAPE(3), ITEMS(7.5, 11.5, 15.5));
    assert_and_free(ct_max_axes(cube, AXES(0, 1), false), SHAPE(4), ITEMS(20, 21, 22, 23));
    assert_and_free(ct_min_axes(cube, AXES(1, 2), false), SHAPE(2), ITEMS(0, 12));
    ct_tensor *same = ct_sum_axes(two_by_three, 0, NULL, false);
    ck_assert(ct_tensor_equal(same, two_by_three));
    ct_free(same);
    // Nothing: a sum is 0; a non-empty axis of an empty tensor gives an empty result.
    assert_and_free(ct_sum(none_by_four, 0, false), SHAPE(4), ITEMS(0, 0, 0, 0));
    assert_and_free(ct_sum(none_by_four, CT_ALL, true), SHAPE(1, 1), ITEMS(0));
    assert_and_free(ct_max(none_by_four, 1, false), SHAPE(0), 0, NULL);
    assert_and_free(ct_mean(none_by_four, 1, true), SHAPE(0, 1), 0, NULL);
    ck_assert(ct_can_reduce(two_by_three, AXES(0, 1)) && ct_can_reduce(none_by_four, AXES(1)));
    ck_assert(!ct_can_reduce(none_by_four, AXES(CT_ALL)) && !ct_can_reduce(cube, AXES(1, -2)));
    ck_assert(!ct_can_reduce(cube, AXES(3)) && ct_can_reduce(none_by_four, 0, NULL));
}
END_TEST

// The same tensor in other layouts gives the same bits; items that are not exact.
START_TEST(layouts_do_not_matter) {
    int64_t shape[3] = {7, 5, 33};
    double *items = malloc(7 * 5 * 33 * sizeof *items);
    for (int i = 0; i < 7 * 5 * 33; i++)
        items[i] = sin(i) * (i % 7 ? 1 : 1e6);
    ct_tensor *t = ct_from_doubles(CT_F64, 3, shape, 7 * 5 * 33, items);
    int order[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    const int *to = order[_i % 6];
    int back[3];
    for (int i = 0; i < 3; i++)
        back[to[i]] = i;
    ct_tensor *turned = ct_permute(t, 3, to), *dense = ct_compact(turned);
    ct_tensor *flipped = ct_flip(dense, _i % 3), *packed = ct_compact(flipped);
    ct_tensor *view = ct_flip(packed, _i % 3), *layout = ct_permute(view, 3, back);
    ck_assert(ct_tensor_equal(layout, t));
    for (unsigned bits = 1; bits < 8; bits++) {
        int axes[3], n = 0;
        for (int i = 0; i < 3; i++)
            if (bits & 1u << i)
                axes[n++] = i;
        ct_tensor *a = ct_sum_axes(t, n, axes, false), *b = ct_sum_axes(layout, n, axes, false);
        ck_assert_msg(memcmp(ct_data(a), ct_data(b), ct_count(a) * sizeof(double)) == 0,
                      "axes %u, layout %d", bits, _i);
        ct_tensor *c = ct_max_axes(t, n, axes, true), *d = ct_max_axes(layout, n, axes, true);
        ck_assert(ct_tensor_equal(c, d));
        ct_free(a);
        ct_free(b);
        ct_free(c);
        ct_free(d);
    }
    ct_tensor *all[] = {t, turned, dense, flipped, packed, view, layout};
    for (int i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
    free(items);
}
END_TEST

START_TEST(products) {
    ct_tensor *turned = ct_transpose(two_by_three), *row = ct_select(two_by_three, 0, 1);
    assert_and_free(ct_matmul(two_by_three, turned), SHAPE(2, 2), ITEMS(5, 14, 14, 50));
    assert_and_free(ct_matmul(turned, two_by_three), SHAPE(3, 3),
                    ITEMS(9, 12, 15, 12, 17, 22, 15, 22, 29));
    assert_and_free(ct_matmul(two_by_three, row), SHAPE(2), ITEMS(14, 50));
    assert_and_free(ct_matmul(pair, two_by_three), SHAPE(3), ITEMS(3, 4, 5));
    assert_and_free(ct_matmul(row, row), 0, NULL, ITEMS(50));
    ct_tensor *flipped = ct_flip(turned, 0);
    assert_and_free(ct_matmul(two_by_three, flipped), SHAPE(2, 2), ITEMS(1, 10, 10, 46));
    // Inner extent 0: zeros. Outer extent 0: nothing.
    ct_tensor *wide = ct_zeros(CT_F64, SHAPE(3, 2, 0)), *tall = ct_zeros(CT_F64, SHAPE(3, 0, 3));
    ct_tensor *zeros = ct_zeros(CT_F64, SHAPE(3, 2, 3)), *found = ct_matmul(wide, tall);
    ck_assert(ct_tensor_equal(found, zeros));
    ct_tensor *four_by_one = ct_ones(CT_F64, SHAPE(4, 1));
    assert_and_free(ct_matmul(none_by_four, four_by_one), SHAPE(0, 1), 0, NULL);
    none(ct_matmul(wide, cube));
    none(ct_matmul(zeros, cube));
    ck_assert_str_eq(ct_error()->message, "matmul needs the leading axes to broadcast: [3, 2, 3] "
                                          "times [2, 3, 4], 3 against 2");
    ck_assert(!ct_can_matmul(zeros, cube) && ct_can_matmul(cube, four_by_one));
    ct_tensor *one = ct_from_double(CT_F64, 1);
    none(ct_matmul(one, pair));
    ck_assert_str_eq(ct_error()->message, "matmul needs operands of rank 1 or more: [] times [2]");
    ct_tensor *all[] = {turned, row, flipped, wide, tall, zeros, found, four_by_one, one};
    for (int i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
}
END_TEST

struct product {
    int rank_a;
    int64_t a[4];
    int rank_b;
    int64_t b[4];
};

static const struct product batched[] = {
    {3, {4, 2, 3}, 2, {3, 5}}, // one right operand for all: a taller matrix
    {2, {2, 3}, 3, {4, 3, 5}},          {3, {4, 2, 3}, 3, {4, 3, 5}},
    {3, {1, 2, 3}, 3, {4, 3, 5}},       {3, {4, 2, 3}, 3, {1, 3, 5}},
    {4, {2, 1, 2, 3}, 4, {1, 4, 3, 2}}, {4, {2, 4, 2, 3}, 2, {3, 2}},
    {4, {2, 4, 2, 3}, 1, {3}},          {1, {3}, 4, {2, 2, 3, 4}},
    {4, {2, 4, 1, 3}, 3, {4, 3, 2}},
};

// Each matrix of a batched product is the product of the matrices; views change nothing.
START_TEST(batches) {
    const struct product *p = &batched[_i % COUNT(batched)];
    ct_tensor *a = counting(CT_F64, p->rank_a, p->a), *b = counting(CT_F64, p->rank_b, p->b);
    if (_i >= COUNT(batched) && p->rank_a > 1) { // the same values, laid out the other way
        ct_tensor *turned = ct_transpose(a), *packed = ct_compact(turned);
        ct_free(a);
        a = ct_transpose(packed);
        ct_free(turned);
        ct_free(packed);
    }
    ct_tensor *c = ct_matmul(a, b);
    ck_assert_ptr_nonnull(c);
    int lead = ct_rank(c) - (p->rank_a > 1) - (p->rank_b > 1);
    int64_t shape[8] = {0};
    memcpy(shape, ct_shape(c), (size_t)lead * sizeof *shape);
    int64_t m = p->rank_a > 1 ? p->a[p->rank_a - 2] : 1, k = p->a[p->rank_a - 1];
    int64_t n = p->rank_b > 1 ? p->b[p->rank_b - 1] : 1;
    // Oracle: both operands broadcast to whole batches and read item by item.
    ct_tensor *a2 = p->rank_a > 1 ? ct_copy(a) : ct_reshape(a, SHAPE(1, k));
    ct_tensor *b2 = p->rank_b > 1 ? ct_copy(b) : ct_reshape(b, SHAPE(k, 1));
    shape[lead] = m, shape[lead + 1] = k;
    ct_tensor *wide_a = ct_broadcast_to(a2, lead + 2, shape);
    shape[lead] = k, shape[lead + 1] = n;
    ct_tensor *wide_b = ct_broadcast_to(b2, lead + 2, shape);
    double x[512], y[512], z[512];
    ck_assert_int_eq(ct_to_doubles(wide_a, ct_count(wide_a), x), CT_OK);
    ck_assert_int_eq(ct_to_doubles(wide_b, ct_count(wide_b), y), CT_OK);
    ck_assert_int_eq(ct_to_doubles(c, ct_count(c), z), CT_OK);
    for (int64_t i = 0; i < (int64_t)ct_count(c); i++) {
        int64_t batch = i / (m * n), row = i / n % m, column = i % n;
        double sum = 0;
        for (int64_t l = 0; l < k; l++)
            sum += x[(batch * m + row) * k + l] * y[(batch * k + l) * n + column];
        ck_assert_msg(z[i] == sum, "item %d: %g, not %g", (int)i, z[i], sum);
    }
    ct_tensor *all[] = {a, b, c, a2, b2, wide_a, wide_b};
    for (int i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
}
END_TEST

Suite *suite_reduce(void) {
    Suite *suite = suite_create("reduce");
    TCase *tc = tcase_create("reduce");
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, reductions);
    tcase_add_loop_test(tc, layouts_do_not_matter, 0, 18);
    tcase_add_test(tc, products);
    tcase_add_loop_test(tc, batches, 0, 2 * COUNT(batched));
    suite_add_tcase(suite, tc);
    return suite;
}
