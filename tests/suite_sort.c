#include "index_tools.h"

#include "dual/ct_dual.h"
#include "tensor/ct_alloc.h"
#include "tensor/ct_index.h"
#include "tensor/ct_names.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_sort(void);

static const ct_scalar *scalar_of(int i) {
    return every_scalar[i % ORDERED_SCALARS];
}

static enum spread spread_of(int i) {
    return (enum spread)(i / ORDERED_SCALARS);
}

enum { ALL_CASES = ORDERED_SCALARS * SPREADS, LONGEST = 64 };

static ct_tensor *random_case(uint64_t *state, int i, int s) {
    return spread_out(
        random_numbers(state, scalar_of(i), shape_cases[s].rank, shape_cases[s].shape),
        spread_of(i));
}

// --- the order, by doubles: NaN above all numbers

static bool is_below(double a, double b) {
    return isnan(b) ? !isnan(a) : a < b;
}

static bool comes_before(double a, double b, bool descending) {
    return descending ? is_below(b, a) : is_below(a, b);
}

static double value_at(const struct items *x, const int64_t *index) {
    return x->scalar->to_double(x->scalar, item_at(x, index));
}

// Places of a row in order, by inserting one after the other.
static void order_row(const double *row, int64_t n, bool descending, int64_t *places) {
    for (int64_t i = 0; i < n; i++) {
        int64_t j = i;
        for (; j > 0 && comes_before(row[i], row[places[j - 1]], descending); j--)
            places[j] = places[j - 1];
        places[j] = i;
    }
}

struct ordered {
    struct items t;
    int axis; // -1: all items
    bool descending, wants_places;
};

static void ordered_rule(const void *context, const int64_t *index, char *item) {
    const struct ordered *o = context;
    double row[LONGEST] = {0};
    int64_t at[CT_MAX_RANK], places[LONGEST];
    int axis = o->axis < 0 ? 0 : o->axis;
    int64_t n = o->axis < 0 ? (int64_t)o->t.count : o->t.shape[axis];
    size_t size = o->t.scalar->size;
    memcpy(at, index, sizeof at);
    for (int64_t i = 0; i < n; i++) {
        at[axis] = i;
        row[i] = o->axis < 0 ? o->t.scalar->to_double(o->t.scalar, o->t.bytes + (size_t)i * size)
                             : value_at(&o->t, at);
    }
    order_row(row, n, o->descending, places);
    int64_t place = places[index[axis]];
    at[axis] = place;
    if (o->wants_places)
        memcpy(item, &place, sizeof place);
    else
        memcpy(item, o->axis < 0 ? o->t.bytes + (size_t)place * size : item_at(&o->t, at), size);
}

static int shape_of(const struct ordered *o, int64_t k, int64_t *shape) {
    memcpy(shape, o->t.shape, sizeof o->t.shape);
    if (o->axis < 0)
        shape[0] = (int64_t)o->t.count;
    if (k >= 0)
        shape[o->axis < 0 ? 0 : o->axis] = k;
    return o->axis < 0 ? 1 : o->t.rank;
}

static void check_order(ct_tensor *t, int axis, bool descending) {
    struct ordered o = {items_of(t), axis, descending, false};
    int64_t shape[CT_MAX_RANK], n = axis < 0 ? (int64_t)o.t.count : o.t.shape[axis];
    int rank = shape_of(&o, -1, shape), call_axis = axis < 0 ? CT_ALL : axis - o.t.rank;
    expect_rule(ct_sort(t, call_axis, descending), o.t.scalar, rank, shape, ordered_rule, &o);
    for (int64_t k = 0; k <= n; k += 1 + n / 3) {
        ct_tensor *values = NULL, *places = NULL;
        ck_assert_int_eq(ct_topk(t, k, call_axis, descending, &values, &places), CT_OK);
        shape_of(&o, k, shape);
        expect_rule(values, o.t.scalar, rank, shape, ordered_rule, &o);
        o.wants_places = true;
        expect_rule(places, CT_I64, rank, shape, ordered_rule, &o);
        o.wants_places = false;
    }
    shape_of(&o, -1, shape);
    o.wants_places = true;
    expect_rule(ct_argsort(t, call_axis, descending), CT_I64, rank, shape, ordered_rule, &o);
    drop_items(&o.t);
}

START_TEST(orders) {
    uint64_t state = (uint64_t)_i;
    for (int s = 0; s < SHAPES; s++)
        for (int axis = -1; axis < shape_cases[s].rank; axis++)
            for (int descending = 0; descending < 2; descending++) {
                ct_tensor *t = random_case(&state, _i, s);
                check_order(t, axis, descending);
                ct_free(t);
            }
}
END_TEST

START_TEST(rows_of_every_length) {
    uint64_t state = 3;
    for (int64_t n = 0; n < LONGEST; n++) {
        ct_tensor *t = random_numbers(&state, scalar_of(_i), 1, &n);
        check_order(t, 0, n % 2);
        ct_free(t);
    }
}
END_TEST

// --- long rows, by what order means: a permutation, sorted, stable

static void check_permutation(const double *row, int64_t n, const int64_t *places,
                              bool descending) {
    char *seen = calloc((size_t)n, 1);
    for (int64_t i = 0; i < n; i++) {
        if (places[i] < 0 || places[i] >= n || seen[places[i]]++)
            ck_abort_msg("place %lld of item %lld", (long long)places[i], (long long)i);
        double x = i ? row[places[i - 1]] : 0, y = row[places[i]];
        if (i && (comes_before(y, x, descending) ||
                  (!comes_before(x, y, descending) && places[i] < places[i - 1])))
            ck_abort_msg("items %lld and %lld: %g, %g from %lld, %lld", (long long)i - 1,
                         (long long)i, x, y, (long long)places[i - 1], (long long)places[i]);
    }
    free(seen);
}

// All bits of a number are random, or few of them, so that many are equal.
static ct_tensor *random_row(uint64_t *state, const ct_scalar *scalar, int64_t n, bool few) {
    if (few || scalar->base || scalar == CT_I64 || !(scalar->traits & CT_PLAIN))
        return random_numbers(state, scalar, 1, &n);
    return random_items(state, scalar, 1, &n);
}

static void check_long(uint64_t *state, const ct_scalar *scalar, int64_t n, bool few,
                       bool descending) {
    ct_tensor *t = random_row(state, scalar, n, few), *places = ct_argsort(t, 0, descending);
    ct_tensor *sorted = ct_sort(t, 0, descending), *taken = ct_take(t, 0, places);
    double *row = malloc((size_t)n * sizeof *row);
    ck_assert_int_eq(ct_to_doubles(t, (size_t)n, row), CT_OK);
    ck_assert_msg(places && sorted, "%s", ct_error()->message);
    check_permutation(row, n, ct_data(places), descending);
    ck_assert_int_eq(memcmp(ct_data(sorted), ct_data(taken), (size_t)n * scalar->size), 0);
    ck_assert(ct_is_sorted(sorted, 0, descending));
    for (int64_t k = 1; k < n; k = k * 5 + 3) {
        ct_tensor *values, *indices, *first = ct_slice(sorted, 0, 0, k, 1),
                                     *standing = ct_slice(places, 0, 0, k, 1);
        ck_assert_int_eq(ct_topk(t, k, 0, descending, &values, &indices), CT_OK);
        ck_assert(ct_tensor_equal(values, first) && ct_tensor_equal(indices, standing));
        ct_free(values);
        ct_free(indices);
        ct_free(first);
        ct_free(standing);
    }
    free(row);
    ct_free(t);
    ct_free(places);
    ct_free(sorted);
    ct_free(taken);
}

START_TEST(long_rows) {
    static const int64_t lengths[] = {100, 511, 512, 513, 3000};
    uint64_t state = 17;
    for (int k = 0; k < COUNT(lengths); k++)
        for (int way = 0; way < 4; way++)
            check_long(&state, scalar_of(_i), lengths[k], way & 1, way & 2);
}
END_TEST

START_TEST(many_rows) {
    uint64_t state = 9;
    ct_tensor *t = random_items(&state, CT_F32, SHAPE(300, 40, 7));
    for (int axis = 0; axis < 3; axis++) {
        ct_tensor *sorted = ct_sort(t, axis, false), *places = ct_argsort(t, axis, false);
        ct_tensor *taken = ct_gather(t, axis, places);
        ck_assert(ct_is_sorted(sorted, axis, false) && ct_tensor_equal(sorted, taken));
        ct_free(sorted);
        ct_free(places);
        ct_free(taken);
    }
    ct_free(t);
}
END_TEST

// --- single facts

START_TEST(special_numbers) {
    const double in[] = {QNAN, 0.0, INF, -0.0, -1, -INF, 0.0, QNAN};
    const double up[] = {-INF, -1, 0.0, -0.0, 0.0, INF, QNAN, QNAN};
    const double down[] = {QNAN, QNAN, INF, 0.0, -0.0, 0.0, -1, -INF};
    static const ct_scalar *const types[] = {CT_F32, CT_F64};
    for (int i = 0; i < COUNT(types); i++)
        for (int descending = 0; descending < 2; descending++) {
            ct_tensor *t = ct_from_doubles(types[i], SHAPE(8), 8, in);
            ct_tensor *sorted = ct_sort(t, 0, descending);
            double found[8];
            assert_items(sorted, SHAPE(8), 8, descending ? down : up);
            ck_assert_int_eq(ct_to_doubles(sorted, 8, found), CT_OK);
            for (int k = 0; k < 8; k++)
                ck_assert(!signbit(found[k]) == !signbit(descending ? down[k] : up[k]));
            assert_and_free(ct_argsort(t, 0, descending), SHAPE(8), descending ? 8 : 8,
                            descending ? (double[]){0, 7, 2, 1, 3, 6, 4, 5}
                                       : (double[]){5, 4, 1, 3, 6, 2, 0, 7});
            ct_free(t);
            ct_free(sorted);
        }
}
END_TEST

// Integers past what a double tells apart.
START_TEST(exact_integers) {
    const int64_t in[] = {INT64_MAX, INT64_MAX - 1, INT64_MIN + 1, INT64_MIN, 0, -1};
    const int64_t out[] = {INT64_MIN, INT64_MIN + 1, -1, 0, INT64_MAX - 1, INT64_MAX};
    ct_tensor *t = ct_from_items(CT_I64, SHAPE(6), 6, in), *sorted = ct_sort(t, 0, false);
    ck_assert_int_eq(memcmp(ct_data(sorted), out, sizeof out), 0);
    assert_and_free(ct_searchsorted(sorted, t, false), SHAPE(6), ITEMS(5, 4, 1, 0, 3, 2));
    assert_and_free(ct_searchsorted(sorted, t, true), SHAPE(6), ITEMS(6, 5, 2, 1, 4, 3));
    ct_free(t);
    ct_free(sorted);
}
END_TEST

// A type that only has loops sorts as the one they come from.
START_TEST(types_without_keys) {
    ct_scalar other = ct_scalar_f64;
    other.name = "other";
    uint64_t state = (uint64_t)_i;
    int64_t n = _i < 40 ? _i : 1000;
    ct_tensor *t = random_numbers(&state, CT_F64, 1, &n);
    ct_tensor *u = ct_from_items(&other, 1, &n, (size_t)n, ct_data(t));
    for (int descending = 0; descending < 2; descending++) {
        ct_tensor *a = ct_argsort(t, 0, descending), *b = ct_argsort(u, 0, descending);
        ct_tensor *x = ct_sort(t, 0, descending), *y = ct_sort(u, 0, descending);
        ck_assert(ct_tensor_equal(a, b) && ct_is_sorted(y, 0, descending));
        ck_assert_int_eq(memcmp(ct_data(x), ct_data(y), (size_t)n * sizeof(double)), 0);
        ct_tensor *p = descending ? NULL : ct_searchsorted(x, t, _i % 2);
        ct_tensor *q = descending ? NULL : ct_searchsorted(y, u, _i % 2);
        ck_assert(descending || ct_tensor_equal(p, q));
        ct_tensor *all[] = {a, b, x, y, p, q};
        for (int i = 0; i < COUNT(all); i++)
            ct_free(all[i]);
    }
    ct_tensor *values, *inverse, *counts, *found[3];
    ck_assert_int_eq(ct_unique(t, &values, &inverse, &counts), CT_OK);
    ck_assert_int_eq(ct_unique(u, &found[0], &found[1], &found[2]), CT_OK);
    ck_assert(ct_tensor_equal(inverse, found[1]) && ct_tensor_equal(counts, found[2]));
    ck_assert_int_eq(memcmp(ct_data(values), ct_data(found[0]), ct_count(values) * 8), 0);
    ct_tensor *all[] = {t, u, values, inverse, counts, found[0], found[1], found[2]};
    for (int i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
}
END_TEST

START_TEST(duals_by_value) {
    ct_tensor *value = ct_from_doubles(CT_F64, SHAPE(4), 4, (double[]){2, 1, 2, 0});
    ct_tensor *tangent = ct_from_doubles(CT_F64, SHAPE(4), 4, (double[]){-1, 5, -9, 7});
    ct_tensor *t = ct_dual(value, tangent), *sorted = ct_sort(t, 0, false);
    ct_tensor *parts = ct_dual_tangent(sorted);
    assert_items(parts, SHAPE(4), ITEMS(7, 5, -1, -9));
    ct_tensor *all[] = {value, tangent, t, sorted, parts};
    for (int i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
}
END_TEST

START_TEST(topk_facts) {
    ct_tensor *t = ct_from_doubles(CT_F32, SHAPE(2, 4), 8, (double[]){1, 3, 3, QNAN, 3, 2, 1, 3});
    ct_tensor *values = NULL, *indices = NULL;
    ck_assert_int_eq(ct_topk(t, 2, 1, true, &values, &indices), CT_OK);
    assert_and_free(values, SHAPE(2, 2), ITEMS(QNAN, 3, 3, 3));
    assert_and_free(indices, SHAPE(2, 2), ITEMS(3, 1, 0, 3));
    ck_assert_int_eq(ct_topk(t, 1, 0, false, NULL, &indices), CT_OK);
    assert_and_free(indices, SHAPE(1, 4), ITEMS(0, 1, 1, 1));
    ck_assert_int_eq(ct_topk(t, 3, CT_ALL, false, &values, NULL), CT_OK);
    assert_and_free(values, SHAPE(3), ITEMS(1, 1, 2));
    ck_assert_int_eq(ct_topk(t, 0, 0, false, NULL, NULL), CT_OK);
    ct_free(t);
}
END_TEST

// --- unique

static void check_unique(ct_tensor *t) {
    struct items x = items_of(t);
    double row[LONGEST] = {0};
    int64_t places[LONGEST], counts[LONGEST], inverse[LONGEST], runs = 0;
    size_t size = x.scalar->size;
    char *values = malloc((x.count + 1) * size);
    for (size_t i = 0; i < x.count; i++)
        row[i] = x.scalar->to_double(x.scalar, x.bytes + i * size);
    order_row(row, (int64_t)x.count, false, places);
    for (size_t i = 0; i < x.count; i++) {
        if (i == 0 || comes_before(row[places[i - 1]], row[places[i]], false)) {
            memcpy(values + (size_t)runs * size, x.bytes + (size_t)places[i] * size, size);
            counts[runs++] = 0;
        }
        counts[runs - 1]++;
        inverse[places[i]] = runs - 1;
    }
    struct items v = {x.scalar, 1, {runs}, (size_t)runs, values};
    struct items c = {CT_I64, 1, {runs}, (size_t)runs, (char *)counts};
    struct items in = x;
    in.scalar = CT_I64;
    in.bytes = (char *)inverse;
    ct_tensor *found[3] = {NULL, NULL, NULL};
    ck_assert_int_eq(ct_unique(t, &found[0], &found[1], &found[2]), CT_OK);
    expect_same(found[0], &v);
    expect_same(found[1], &in);
    expect_same(found[2], &c);
    ck_assert_int_eq(ct_unique(t, NULL, NULL, &found[2]), CT_OK);
    expect_same(found[2], &c);
    free(values);
    drop_items(&x);
}

START_TEST(different_values) {
    uint64_t state = (uint64_t)_i;
    for (int s = 0; s < SHAPES; s++) {
        ct_tensor *t = random_case(&state, _i, s);
        check_unique(t);
        ct_free(t);
    }
}
END_TEST

// --- searching

struct searched {
    struct items sorted, values;
    bool right;
};

static void search_rule(const void *context, const int64_t *index, char *item) {
    const struct searched *s = context;
    int64_t at[CT_MAX_RANK], place = 0;
    int last = s->sorted.rank - 1;
    double value = value_at(&s->values, index);
    memcpy(at, index, sizeof at);
    for (at[last] = 0; at[last] < s->sorted.shape[last]; at[last]++) {
        double x = value_at(&s->sorted, at);
        place += s->right ? !is_below(value, x) : is_below(x, value);
    }
    memcpy(item, &place, sizeof place);
}

static void check_search(const ct_tensor *t, const ct_tensor *values, enum spread how) {
    for (int right = 0; right < 2; right++) {
        ct_tensor *sorted = ct_sort(t, -1, false);
        if (how != REPEATED || ct_rank(t) > 1) // else its row would change
            sorted = spread_out(sorted, how);
        struct searched s = {items_of(sorted), items_of(values), right};
        expect_rule(ct_searchsorted(sorted, values, right), CT_I64, s.values.rank, s.values.shape,
                    search_rule, &s);
        drop_items(&s.sorted);
        drop_items(&s.values);
        ct_free(sorted);
    }
}

START_TEST(searches) {
    uint64_t state = (uint64_t)_i;
    for (int s = 0; s < SHAPES; s++)
        for (int64_t n = 0; n < 12; n += n < 3 ? 1 : 4) {
            int64_t shape[CT_MAX_RANK];
            int rank = shape_cases[s].rank;
            ct_tensor *values = random_case(&state, _i, s);
            ct_tensor *row = random_numbers(&state, scalar_of(_i), 1, &n);
            check_search(row, values, spread_of(_i));
            ct_free(row);
            memcpy(shape, shape_cases[s].shape, sizeof shape);
            if (rank > 0) {
                shape[rank - 1] = n;
                row = random_numbers(&state, scalar_of(_i), rank, shape);
                check_search(row, values, spread_of(_i));
                ct_free(row);
            }
            ct_free(values);
        }
}
END_TEST

// --- what cannot be done

START_TEST(failures) {
    const ct_scalar *opaque = every_scalar[SCALARS - 1];
    ct_tensor *t = counting(CT_F64, SHAPE(2, 3)), *narrow = counting(CT_F32, SHAPE(3));
    ct_tensor *other = counting(CT_F64, SHAPE(3, 2)), *one = ct_ones(CT_F64, 0, NULL);
    ct_tensor *strange = ct_zeros(opaque, SHAPE(3)), *made = NULL;
    expect_failure(ct_sort(t, 2, false), CT_EAXIS, "ct_sort",
                   "the axis 2 is out of range for a tensor of rank 2");
    expect_failure(ct_argsort(one, 0, false), CT_EAXIS, "ct_argsort",
                   "the axis 0 is out of range for a tensor of rank 0");
    expect_failure(ct_sort(strange, 0, false), CT_EDTYPE, "ct_sort", "opaque has no less");
    ck_assert_int_eq(ct_topk(t, 4, 1, true, &made, NULL), CT_EINVAL);
    expect_failure(made, CT_EINVAL, "ct_topk", "4 items are more than the extent 3 of axis 1");
    ck_assert_int_eq(ct_topk(t, 7, CT_ALL, true, &made, NULL), CT_EINVAL);
    expect_failure(made, CT_EINVAL, "ct_topk", "7 items are more than the tensor's 6");
    ck_assert_int_eq(ct_topk(t, -1, 0, true, &made, NULL), CT_EINVAL);
    expect_failure(made, CT_EINVAL, "ct_topk", "the number of items -1 is negative");
    ck_assert_int_eq(ct_topk(strange, 1, 0, true, &made, NULL), CT_EDTYPE);
    expect_failure(made, CT_EDTYPE, "ct_topk", "opaque has no less");
    ck_assert_int_eq(ct_unique(strange, &made, NULL, NULL), CT_EDTYPE);
    expect_failure(made, CT_EDTYPE, "ct_unique", "opaque has no less");
    expect_failure(ct_searchsorted(narrow, t, false), CT_EDTYPE, "ct_searchsorted",
                   "the sorted items are f32 and the values f64");
    expect_failure(ct_searchsorted(one, t, false), CT_ESHAPE, "ct_searchsorted",
                   "the sorted items need an axis and have rank 0");
    expect_failure(ct_searchsorted(other, t, false), CT_ESHAPE, "ct_searchsorted",
                   "sorted items of shape [3, 2] and values of shape [2, 3] differ before the last "
                   "axis");
    expect_failure(ct_searchsorted(strange, strange, false), CT_EDTYPE, "ct_searchsorted",
                   "opaque has no less");
    ct_error_clear();
    none(ct_sort(NULL, 0, false));
    none(ct_argsort(NULL, 0, false));
    none(ct_searchsorted(NULL, t, false));
    none(ct_searchsorted(t, NULL, false));
    ck_assert_int_eq(ct_topk(NULL, 0, 0, true, &made, NULL), CT_EINVAL);
    ck_assert_int_eq(ct_unique(NULL, &made, NULL, NULL), CT_EINVAL);
    ck_assert_str_eq(ct_error()->function, "ct_sort"); // the first
    ck_assert_ptr_null(made);
    ct_tensor *all[] = {t, narrow, other, one, strange};
    for (int i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
}
END_TEST

START_TEST(predicate) {
    ct_error_clear();
    ct_tensor *t = ct_from_doubles(CT_F64, SHAPE(2, 3), 6, (double[]){1, 1, 2, 0, 1, QNAN});
    ct_tensor *strange = ct_zeros(every_scalar[SCALARS - 1], SHAPE(3)), *back = ct_flip(t, 1);
    ck_assert(ct_is_sorted(t, 1, false) && ct_is_sorted(t, -1, false));
    ck_assert(!ct_is_sorted(t, 0, false) && !ct_is_sorted(t, 1, true));
    ck_assert(!ct_is_sorted(t, CT_ALL, false) && ct_is_sorted(back, 1, true));
    ck_assert(!ct_is_sorted(t, 2, false) && !ct_is_sorted(NULL, 0, false) &&
              !ct_is_sorted(strange, 0, false));
    ck_assert_int_eq(ct_error()->code, CT_OK);
    ct_free(t);
    ct_free(strange);
    ct_free(back);
}
END_TEST

START_TEST(names) {
    ct_tensor *plain = counting(CT_F64, SHAPE(2, 3)), *values = NULL, *places = NULL;
    ct_tensor *t = ct_name_axes(plain, 2, (const char *const[]){"row", "column"});
    for (int axis = 0; axis < 2; axis++) {
        expect_names(ct_sort(t, axis, false), "row column");
        expect_names(ct_argsort(t, axis, false), "row column");
        ck_assert_int_eq(ct_topk(t, 1, axis, true, &values, &places), CT_OK);
        expect_names(values, "row column");
        expect_names(places, "row column");
    }
    expect_names(ct_sort(t, CT_ALL, false), "-");
    ck_assert_int_eq(ct_unique(t, &values, &places, NULL), CT_OK);
    expect_names(values, "-");
    expect_names(places, "row column");
    expect_names(ct_searchsorted(plain, t, false), "row column");
    ct_free(plain);
    ct_free(t);
}
END_TEST

// --- no memory

static ct_status call_with_little(int which, const ct_tensor *t, ct_tensor **made) {
    switch (which) {
    case 0:
        made[0] = ct_sort(t, 0, false);
        return ct_error()->code;
    case 1:
        made[0] = ct_argsort(t, CT_ALL, false);
        return ct_error()->code;
    case 2:
        return ct_topk(t, 1, 0, false, &made[0], &made[1]);
    case 3:
        return ct_topk(t, 1, 0, false, &made[0], NULL);
    case 4:
        return ct_unique(t, &made[0], &made[1], &made[2]);
    default:
        made[0] = ct_searchsorted(t, t, false);
        return ct_error()->code;
    }
}

START_TEST(no_memory) {
    if (!make_memory_scarce())
        return;
    ct_tensor *dense = counting(CT_F64, SHAPE(2, 2)), *t = ct_transpose(dense);
    size_t before = ct_live_blocks();
    for (int which = 0; which < 6; which++) {
        int runs = 0;
        for (bool done = false; !done; runs++) {
            ct_tensor *made[3] = {NULL, NULL, NULL};
            starve(runs);
            ct_status status = call_with_little(which, t, made);
            done = status == CT_OK;
            ck_assert(done || status == CT_ENOMEM);
            ck_assert(done || (!made[0] && !made[1] && !made[2]));
            ck_assert_int_eq(ct_error()->code, status);
            for (int i = 0; i < 3; i++)
                ct_free(made[i]);
            ck_assert_uint_eq(ct_live_blocks(), before);
        }
        ck_assert_int_gt(runs, 3);
    }
    ct_free(dense);
    ct_free(t);
}
END_TEST

Suite *suite_sort(void) {
    Suite *suite = suite_create("sort");
    TCase *tc = tcase_create("sort");
    tcase_add_loop_test(tc, orders, 0, ALL_CASES);
    tcase_add_loop_test(tc, rows_of_every_length, 0, ORDERED_SCALARS);
    tcase_add_loop_test(tc, long_rows, 0, ORDERED_SCALARS);
    tcase_add_test(tc, many_rows);
    tcase_add_test(tc, special_numbers);
    tcase_add_test(tc, exact_integers);
    tcase_add_loop_test(tc, types_without_keys, 0, 42);
    tcase_add_test(tc, duals_by_value);
    tcase_add_test(tc, topk_facts);
    tcase_add_loop_test(tc, different_values, 0, ALL_CASES);
    tcase_add_loop_test(tc, searches, 0, ALL_CASES);
    tcase_add_test(tc, failures);
    tcase_add_test(tc, predicate);
    tcase_add_test(tc, names);
    suite_add_tcase(suite, tc);
    TCase *scarcity = tcase_create("memory");
    tcase_add_test(scarcity, no_memory);
    suite_add_tcase(suite, scarcity);
    return suite;
}
