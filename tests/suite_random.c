#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "case_tools.h"
#include "ct_test.h"
#include "dual/ct_dual.h"
#include "tensor/ct_alloc.h"
#include "tensor/ct_make.h"
#include "tensor/ct_random.h"

Suite *suite_random(void);

// ---- Philox

// Random123 1.14, tests/kat_vectors: zeros, ones, and the digits of pi.
static const struct {
    uint32_t counter[4], key[2], out[4];
} vectors[] = {
    {{0}, {0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

START_TEST(philox_gives_the_known_answers) {
    uint32_t out[4];
    ct_philox(vectors[_i].counter, vectors[_i].key, out);
    for (int k = 0; k < 4; k++)
        ck_assert_uint_eq(out[k], vectors[_i].out[k]);
}
END_TEST

START_TEST(a_draw_is_the_block_of_its_seed_stream_and_position) {
    ct_random r = ct_random_of(0x299f31d0a4093822, 0x0370734413198a2e);
    r.position = 0x85a308d3243f6a88;
    double u = ct_random_uniform(&r);
    ck_assert(u == (double)(0xd16cfe0994fdcceb >> 11) * 0x1p-53);
    ck_assert(r.position == 0x85a308d3243f6a89);
}
END_TEST

// ---- tensors

static ct_tensor *uniform(ct_random *r, const ct_scalar *scalar, int64_t n, double low,
                          double high) {
    ct_tensor *t = ct_uniform(r, scalar, 1, &n, low, high);
    ck_assert_msg(t != NULL, "%s", ct_error()->message);
    return t;
}

static ct_tensor *normal(ct_random *r, const ct_scalar *scalar, int64_t n) {
    ct_tensor *t = ct_normal(r, scalar, 1, &n, 0, 1);
    ck_assert_msg(t != NULL, "%s", ct_error()->message);
    return t;
}

static double *items(ct_tensor *t) {
    double *values = calloc(ct_count(t) + 1, sizeof *values);
    ck_assert_ptr_nonnull(values);
    ck_assert_int_eq(ct_to_doubles(t, ct_count(t), values), CT_OK);
    ct_free(t);
    return values;
}

static const ct_scalar *real(int i) {
    return i ? CT_F64 : CT_F32;
}

struct moments {
    double mean, variance, skewness, kurtosis, low, high;
};

static struct moments moments_of(size_t n, const double *x) {
    struct moments m = {.low = x[0], .high = x[0]};
    for (size_t i = 0; i < n; i++) {
        m.mean += x[i] / (double)n;
        m.low = fmin(m.low, x[i]);
        m.high = fmax(m.high, x[i]);
    }
    double s2 = 0, s3 = 0, s4 = 0;
    for (size_t i = 0; i < n; i++) {
        double d = x[i] - m.mean;
        s2 += d * d;
        s3 += d * d * d;
        s4 += d * d * d * d;
    }
    m.variance = s2 / (double)n;
    m.skewness = s3 / (double)n / pow(m.variance, 1.5);
    m.kurtosis = s4 / (double)n / (m.variance * m.variance);
    return m;
}

enum { MANY = 200000 };

// The bounds are five deviations of the estimate.
START_TEST(uniform_has_its_moments) {
    ct_random r = ct_random_of(7, 1);
    double *x = items(uniform(&r, real(_i), MANY, -2, 6));
    struct moments m = moments_of(MANY, x);
    ck_assert_double_eq_tol(m.mean, 2, 5 * 8 / sqrt(12.0 * MANY));
    ck_assert_double_eq_tol(m.variance, 64.0 / 12, 0.06);
    ck_assert_double_eq_tol(m.kurtosis, 1.8, 0.02);
    ck_assert(m.low >= -2 && m.high < 6);
    free(x);
}
END_TEST

START_TEST(normal_has_its_moments_and_tails) {
    ct_random r = ct_random_of(7, 2);
    double *x = items(normal(&r, real(_i), MANY));
    struct moments m = moments_of(MANY, x);
    ck_assert_double_eq_tol(m.mean, 0, 5 / sqrt(MANY));
    ck_assert_double_eq_tol(m.variance, 1, 5 * sqrt(2.0 / MANY));
    ck_assert_double_eq_tol(m.skewness, 0, 5 * sqrt(6.0 / MANY));
    ck_assert_double_eq_tol(m.kurtosis, 3, 5 * sqrt(24.0 / MANY));
    int beyond = 0; // |x| > 3 has probability 0.0027
    for (size_t i = 0; i < MANY; i++)
        beyond += fabs(x[i]) > 3;
    ck_assert_double_eq_tol(beyond, 0.0026998 * MANY, 5 * sqrt(0.0027 * MANY));
    free(x);
}
END_TEST

START_TEST(normal_is_box_and_muller_of_its_counters) {
    enum { N = 1000 };
    ct_random r = ct_random_of(3, 4);
    r.position = 17;
    double *x = items(normal(&r, CT_F64, N));
    for (uint32_t i = 0; i < N; i++) {
        uint32_t counter[] = {17 + i, 0, 4, 0}, key[] = {3, 0}, out[4];
        ct_philox(counter, key, out);
        uint64_t a = (uint64_t)out[0] << 32 | out[1], b = (uint64_t)out[2] << 32 | out[3];
        long double u1 = 1 - (long double)(a >> 11) * 0x1p-53L;
        long double u2 = (long double)(b >> 11) * 0x1p-53L;
        long double z = sqrtl(-2 * logl(u1)) * cosl(6.283185307179586476925286766559L * u2);
        // Near a zero of the cosine the rounding of its argument shows: so an absolute bound.
        ck_assert_double_eq_tol(x[i], (double)z, 2e-15);
    }
    free(x);
}
END_TEST

START_TEST(item_i_comes_from_counter_i) {
    enum { N = 70001, CUT = 33333 }; // across the blocks in which normals are made
    bool bell = _i & 1;
    const ct_scalar *scalar = real(_i >> 1);
    ct_random whole = ct_random_of(5, 6), parts = whole;
    double *x = items(bell ? normal(&whole, scalar, N) : uniform(&whole, scalar, N, 0, 1));
    double *a = items(bell ? normal(&parts, scalar, CUT) : uniform(&parts, scalar, CUT, 0, 1));
    double *b =
        items(bell ? normal(&parts, scalar, N - CUT) : uniform(&parts, scalar, N - CUT, 0, 1));
    ck_assert(memcmp(x, a, CUT * sizeof *x) == 0);
    ck_assert(memcmp(x + CUT, b, (N - CUT) * sizeof *x) == 0);
    ck_assert(whole.position == N && parts.position == N);
    free(x);
    free(a);
    free(b);
}
END_TEST

START_TEST(single_draws_are_the_items_of_a_tensor) {
    ct_random one = ct_random_of(8, 0), many = one;
    double *x = items(uniform(&many, CT_F64, 100, 0, 1));
    for (int i = 0; i < 100; i++)
        ck_assert(ct_random_uniform(&one) == x[i]);
    free(x);
}
END_TEST

// Rounding to the item type must not reach the upper end.
START_TEST(uniform_never_reaches_its_upper_end) {
    static const double ends[][2] = {{1, 1 + 0x1p-20}, {1, 1 + 0x1p-23},     {0, 1},
                                     {-1, -0.0},       {16777216, 16777218}, {0, 0x1p-140},
                                     {-1e30, 1e30}};
    ct_random r = ct_random_of(9, (uint64_t)_i);
    double low = ends[_i >> 1][0], high = ends[_i >> 1][1];
    double *x = items(uniform(&r, real(_i & 1), 20000, low, high));
    struct moments m = moments_of(20000, x);
    ck_assert_msg(m.low >= low && m.high < high, "[%a, %a) gave %a to %a", low, high, m.low,
                  m.high);
    free(x);
}
END_TEST

START_TEST(shapes_of_any_rank_and_of_nothing) {
    ct_random r = ct_random_of(1, 1);
    int64_t shape[] = {2, 0, 3};
    ct_tensor *none = ct_normal(&r, CT_F32, 3, shape, 0, 1),
              *one = ct_uniform(&r, CT_F32, 0, NULL, 0, 1);
    ck_assert(none && ct_count(none) == 0 && one && ct_rank(one) == 0);
    ck_assert(r.position == 1);
    ct_free(none);
    ct_free(one);
}
END_TEST

START_TEST(a_deviation_of_zero_gives_the_mean) {
    ct_random r = ct_random_of(1, 1);
    int64_t n = 4;
    EXPECT("deviation 0", ct_normal(&r, CT_F64, 1, &n, 2.5, 0), 0, 2.5, 2.5, 2.5, 2.5);
}
END_TEST

// ---- whole numbers

START_TEST(below_is_even) {
    enum { N = 60000 };
    static const uint64_t limits[] = {1, 2, 6, 10};
    uint64_t n = limits[_i];
    ct_random r = ct_random_of(11, n);
    int hits[10] = {0};
    for (int i = 0; i < N; i++) {
        uint64_t k = ct_random_below(&r, n);
        ck_assert(k < n);
        hits[k]++;
    }
    double expected = (double)N / (double)n, chi = 0;
    for (uint64_t k = 0; k < n; k++)
        chi += (hits[k] - expected) * (hits[k] - expected) / expected;
    ck_assert_double_lt(chi, 35); // 9 degrees of freedom: p < 1e-4
}
END_TEST

// Of n = 3/4 of 2^64, every third result would come twice as often without the rejection.
START_TEST(below_is_even_for_huge_limits) {
    enum { N = 30000 };
    const uint64_t n = 3ull << 62;
    ct_random r = ct_random_of(12, 0);
    int third[3] = {0}, rest[3] = {0};
    for (int i = 0; i < N; i++) {
        uint64_t k = ct_random_below(&r, n);
        third[k / (1ull << 62)]++;
        rest[k % 3]++;
    }
    for (int k = 0; k < 3; k++) {
        ck_assert_double_eq_tol(third[k], N / 3.0, 5 * sqrt(N * 2.0 / 9));
        ck_assert_double_eq_tol(rest[k], N / 3.0, 5 * sqrt(N * 2.0 / 9));
    }
    // A quarter is drawn again.
    ck_assert_double_eq_tol((double)r.position, N * 4 / 3.0, 5 * sqrt(N * 4 / 9.0));
}
END_TEST

START_TEST(a_permutation_is_one) {
    static const size_t sizes[] = {0, 1, 2, 3, 1000};
    size_t n = sizes[_i];
    int64_t order[1000];
    bool seen[1000] = {false};
    ct_random r = ct_random_of(13, n);
    ct_random_permutation(&r, n, order);
    for (size_t i = 0; i < n; i++) {
        ck_assert(order[i] >= 0 && order[i] < (int64_t)n && !seen[order[i]]);
        seen[order[i]] = true;
    }
}
END_TEST

START_TEST(permutations_come_equally_often) {
    enum { N = 48000 };
    int hits[256] = {0}, kinds = 0;
    ct_random r = ct_random_of(14, 0);
    for (int i = 0; i < N; i++) {
        int64_t p[4];
        ct_random_permutation(&r, 4, p);
        hits[p[0] | p[1] << 2 | p[2] << 4 | p[3] << 6]++;
    }
    double expected = N / 24.0, chi = 0;
    for (int k = 0; k < 256; k++)
        if (hits[k]) {
            kinds++;
            chi += (hits[k] - expected) * (hits[k] - expected) / expected;
        }
    ck_assert_int_eq(kinds, 24);
    ck_assert_double_lt(chi, 60); // 23 degrees of freedom: p < 1e-4
}
END_TEST

// ---- splitting

START_TEST(splits_differ_and_do_not_move_the_parent) {
    enum { CHILDREN = 100 };
    ct_random parent = ct_random_of(15, 16), before = parent;
    double first[CHILDREN + 1];
    for (uint64_t k = 0; k < CHILDREN; k++) {
        ct_random child = ct_random_split(&parent, k), again = ct_random_split(&parent, k);
        ct_random at = {parent.seed, parent.stream, k};
        // Not what the parent draws at the same place.
        ck_assert(ct_random_uniform(&at) != (double)(child.seed >> 11) * 0x1p-53);
        first[k] = ct_random_uniform(&child);
        ck_assert(first[k] == ct_random_uniform(&again));
    }
    ck_assert(parent.seed == before.seed && parent.stream == before.stream &&
              parent.position == before.position);
    first[CHILDREN] = ct_random_uniform(&parent);
    for (int i = 0; i <= CHILDREN; i++)
        for (int j = 0; j < i; j++)
            ck_assert(first[i] != first[j]);
}
END_TEST

static double correlation(const double *x, const double *y, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (x[i] - 0.5) * (y[i] - 0.5);
    return 12 * sum / (double)n;
}

START_TEST(seeds_streams_and_splits_are_not_correlated) {
    enum { N = 50000, KINDS = 5 };
    ct_random parent = ct_random_of(1, 1);
    ct_random r[KINDS] = {parent, ct_random_of(2, 1), ct_random_of(1, 2),
                          ct_random_split(&parent, 0), ct_random_split(&parent, 1)};
    double *x[KINDS];
    for (int k = 0; k < KINDS; k++)
        x[k] = items(uniform(&r[k], CT_F64, N, 0, 1));
    for (int i = 0; i < KINDS; i++)
        for (int j = 0; j < i; j++)
            ck_assert_double_eq_tol(correlation(x[i], x[j], N), 0, 5 / sqrt(N));
    for (int k = 0; k < KINDS; k++)
        free(x[k]);
}
END_TEST

// ---- errors

// ---- tensors of whole numbers

__extension__ typedef unsigned __int128 wide;

// low + floor(w width / 2^128) with w the block of the counter, by schoolbook in 32-bit digits.
static int64_t drawn(uint64_t seed, uint64_t stream, uint64_t position, int64_t low,
                     uint64_t width) {
    uint32_t counter[] = {(uint32_t)position, (uint32_t)(position >> 32), (uint32_t)stream,
                          (uint32_t)(stream >> 32)};
    uint32_t key[] = {(uint32_t)seed, (uint32_t)(seed >> 32)}, out[4];
    ct_philox(counter, key, out);
    uint32_t digit[] = {out[3], out[2], out[1], out[0]}; // least significant first
    wide carry = 0;
    for (int i = 0; i < 4; i++)
        carry = (carry >> 32) + (wide)digit[i] * width;
    return (int64_t)((uint64_t)low + (uint64_t)(carry >> 32));
}

static const struct {
    int64_t low, high;
} bounds[] = {
    {0, 10},    {-5, 5}, {7, 8}, {INT64_MIN, INT64_MAX}, {-1, INT64_MAX}, {0, (int64_t)1 << 53},
    {-128, 128}};

START_TEST(integers_come_from_their_counters) {
    enum { N = 40000, CUT = 12345 };
    static int64_t items[N], parts[N];
    int64_t low = bounds[_i].low, high = bounds[_i].high, n = N, cut = CUT, rest = N - CUT;
    ct_random r = ct_random_of(0x123456789abcdef0, 77), again = r;
    r.position = again.position = 99;
    ct_tensor *t = ct_random_integers(&r, CT_I64, 1, &n, low, high);
    ct_tensor *a = ct_random_integers(&again, CT_I64, 1, &cut, low, high);
    ct_tensor *b = ct_random_integers(&again, CT_I64, 1, &rest, low, high);
    ck_assert(r.position == 99 + N && again.position == r.position);
    ck_assert_int_eq(ct_to_i64s(t, N, items), CT_OK);
    ck_assert_int_eq(ct_to_i64s(a, CUT, parts), CT_OK);
    ck_assert_int_eq(ct_to_i64s(b, N - CUT, parts + CUT), CT_OK);
    ck_assert(memcmp(items, parts, sizeof items) == 0);
    for (uint64_t i = 0; i < N; i++) {
        ck_assert(items[i] >= low && items[i] < high);
        ck_assert(items[i] == drawn(r.seed, r.stream, 99 + i, low, (uint64_t)high - (uint64_t)low));
    }
    ct_free(t), ct_free(a), ct_free(b);
}
END_TEST

// Known answers, so that they never change.
START_TEST(integers_have_known_answers) {
    ct_random r = ct_random_of(1, 2);
    int64_t n = 8, items[8];
    ct_tensor *t = ct_random_integers(&r, CT_I32, 1, &n, -50, 50);
    ck_assert_int_eq(ct_to_i64s(t, 8, items), CT_OK);
    static const int64_t known[] = {40, 21, 7, 36, 34, -20, 4, -2};
    for (int i = 0; i < 8; i++)
        ck_assert_int_eq(items[i], known[i]);
    ct_free(t);
}
END_TEST

START_TEST(integers_are_even) {
    enum { N = 70000 };
    int64_t n = N, seen[7] = {0};
    static int64_t items[N];
    ct_random r = ct_random_of(5, 5);
    ct_tensor *t = ct_random_integers(&r, CT_F32, 1, &n, -3, 4);
    ck_assert_int_eq(ct_to_i64s(t, N, items), CT_OK);
    for (int i = 0; i < N; i++)
        seen[items[i] + 3]++;
    for (int i = 0; i < 7; i++) // five deviations
        ck_assert_double_eq_tol((double)seen[i], N / 7.0, 5 * sqrt(N * 6 / 49.0));
    ct_free(t);
}
END_TEST

START_TEST(a_permutation_as_a_tensor) {
    int64_t order[50];
    ct_random r = ct_random_of(8, 9), same = r;
    ct_tensor *t = ct_permutation(&r, 50);
    ct_random_permutation(&same, 50, order);
    ck_assert(ct_dtype(t) == CT_I64 && memcmp(ct_data(t), order, sizeof order) == 0);
    ck_assert(r.position == same.position);
    ct_free(t);
    t = ct_permutation(&r, 0);
    ck_assert(t && ct_count(t) == 0);
    ct_free(t);
}
END_TEST

static const struct {
    const char *what;
    ct_status code;
    bool normal;
    bool i64;
    int64_t extent;
    double a, b;
    const char *text;
} errors[] = {
    {"uniform of i64", CT_EDTYPE, false, true, 3, 0, 1, "not of i64"},
    {"normal of i64", CT_EDTYPE, true, true, 3, 0, 1, "not of i64"},
    {"negative extent", CT_ESHAPE, false, false, -1, 0, 1, "the extent -1 of axis 0 is negative"},
    {"empty interval", CT_EDOMAIN, false, false, 3, 1, 1, "no uniform f64 in [1, 1)"},
    {"turned interval", CT_EDOMAIN, false, false, 3, 2, 1, "in [2, 1)"},
    {"NaN", CT_EDOMAIN, false, false, 3, QNAN, 1, "nan"},
    {"infinite", CT_EDOMAIN, false, false, 3, 0, INF, "inf"},
    {"too wide", CT_EDOMAIN, false, false, 3, -1e308, 1e308, "1e+308"},
    {"negative deviation", CT_EDOMAIN, true, false, 3, 0, -1, "deviation -1"},
    {"NaN mean", CT_EDOMAIN, true, false, 3, QNAN, 1, "mean nan"},
};

START_TEST(errors_say_what_is_wrong_and_draw_nothing) {
    ct_random r = ct_random_of(1, 1);
    const ct_scalar *scalar = errors[_i].i64 ? CT_I64 : CT_F64;
    ct_tensor *t = (errors[_i].normal ? ct_normal : ct_uniform)(&r, scalar, 1, &errors[_i].extent,
                                                                errors[_i].a, errors[_i].b);
    ck_assert_msg(t == NULL, "%s", errors[_i].what);
    expect_error(errors[_i].code, errors[_i].text);
    ck_assert(r.position == 0);
}
END_TEST

START_TEST(null_is_an_error) {
    ct_random r = ct_random_of(1, 1);
    ck_assert_ptr_null(ct_uniform(NULL, CT_F64, 0, NULL, 0, 1));
    expect_error(CT_EINVAL, "the generator is NULL");
    ck_assert_ptr_null(ct_normal(&r, NULL, 0, NULL, 0, 1));
    expect_error(CT_EINVAL, "the scalar type is NULL");
}
END_TEST

START_TEST(no_interval_of_f32_is_lost_in_rounding) {
    ct_random r = ct_random_of(1, 1);
    ck_assert_ptr_null(ct_uniform(&r, CT_F32, 0, NULL, 1, 1 + 1e-12));
    expect_error(CT_EDOMAIN, "no uniform f32");
    ck_assert_ptr_null(ct_uniform(&r, CT_F32, 0, NULL, 0, 1e300));
    expect_error(CT_EDOMAIN, "no uniform f32");
}
END_TEST

START_TEST(no_normal_is_infinite) {
    ct_random r = ct_random_of(1, 1);
    ck_assert_ptr_null(ct_normal(&r, CT_F32, 0, NULL, 0, 1e39));
    expect_error(CT_EDOMAIN, "no normal f32 of mean 0 and deviation 1e+39");
    ck_assert_ptr_null(ct_normal(&r, CT_F32, 0, NULL, -1e39, 0));
    expect_error(CT_EDOMAIN, "no normal f32");
    ck_assert_ptr_null(ct_normal(&r, CT_F32, 0, NULL, 0, 1e38));
    expect_error(CT_EDOMAIN, "no normal f32");
    ck_assert_ptr_null(ct_normal(&r, CT_F64, 0, NULL, 1e308, 1e308));
    expect_error(CT_EDOMAIN, "no normal f64");
    ck_assert(r.position == 0);
}
END_TEST

START_TEST(errors_of_whole_numbers) {
    ct_random r = ct_random_of(1, 1);
    int64_t n = 3, minus = -1;
    ck_assert_ptr_null(ct_random_integers(NULL, CT_I64, 1, &n, 0, 1));
    expect_error(CT_EINVAL, "the generator is NULL");
    ck_assert_ptr_null(ct_random_integers(&r, NULL, 1, &n, 0, 1));
    expect_error(CT_EINVAL, "the scalar type is NULL");
    ck_assert_ptr_null(ct_random_integers(&r, CT_DUAL64, 1, &n, 0, 1));
    expect_error(CT_EDTYPE, "dual64 is not made from whole numbers");
    ck_assert_ptr_null(ct_random_integers(&r, CT_I64, 1, &n, 4, 4));
    expect_error(CT_EDOMAIN, "there is no whole number in [4, 4)");
    ck_assert_ptr_null(ct_random_integers(&r, CT_I64, 1, &minus, 0, 1));
    expect_error(CT_ESHAPE, "the extent -1 of axis 0 is negative");
    ck_assert_ptr_null(ct_random_integers(&r, CT_BOOL, 1, &n, 0, 3));
    expect_error(CT_EDOMAIN, "the whole numbers in [0, 3) do not all fit bool");
    ck_assert_ptr_null(ct_random_integers(&r, CT_I32, 1, &n, 0, ((int64_t)1 << 31) + 1));
    expect_error(CT_EDOMAIN, "the whole numbers in [0, 2147483649) do not all fit i32");
    // Both ends are floats, the odd numbers between them are not; whatever would be drawn.
    ck_assert_ptr_null(ct_random_integers(&r, CT_F32, 1, &n, 0, ((int64_t)1 << 25) + 1));
    expect_error(CT_EDOMAIN, "the whole numbers in [0, 33554433) do not all fit f32");
    ck_assert_ptr_null(ct_permutation(NULL, 3));
    expect_error(CT_EINVAL, "the generator is NULL");
    ck_assert_ptr_null(ct_permutation(&r, -1));
    expect_error(CT_ESHAPE, "the number of items -1 is negative");
    ck_assert(r.position == 0);
}
END_TEST

// Numbers in messages have a point wherever the program runs.
START_TEST(messages_in_any_locale) {
    static const char *const locales[] = {"C", "de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8"};
    ct_random r = ct_random_of(1, 1);
    for (size_t i = 0; i < COUNT(locales); i++) {
        if (!setlocale(LC_ALL, locales[i]))
            continue;
        ck_assert_ptr_null(ct_uniform(&r, CT_F64, 0, NULL, 1.5, 0.25));
        expect_error(CT_EDOMAIN, "there is no uniform f64 in [1.5, 0.25)");
        ck_assert_ptr_null(ct_normal(&r, CT_F64, 0, NULL, 0.5, -0.125));
        expect_error(CT_EDOMAIN, "there is no normal f64 of mean 0.5 and deviation -0.125");
    }
    setlocale(LC_ALL, "C");
}
END_TEST

// After each test: nothing that the library gave out is left.
static void no_block_is_left(void) {
    ck_assert_uint_eq(ct_live_blocks(), 0);
}

Suite *suite_random(void) {
    Suite *s = suite_create("random");
    TCase *tc = tcase_create("philox");
    tcase_add_checked_fixture(tc, NULL, no_block_is_left);
    tcase_add_loop_test(tc, philox_gives_the_known_answers, 0, COUNT(vectors));
    tcase_add_test(tc, a_draw_is_the_block_of_its_seed_stream_and_position);
    suite_add_tcase(s, tc);

    tc = tcase_create("tensors");
    tcase_add_checked_fixture(tc, NULL, no_block_is_left);
    tcase_add_loop_test(tc, uniform_has_its_moments, 0, 2);
    tcase_add_loop_test(tc, normal_has_its_moments_and_tails, 0, 2);
    tcase_add_test(tc, normal_is_box_and_muller_of_its_counters);
    tcase_add_loop_test(tc, item_i_comes_from_counter_i, 0, 4);
    tcase_add_test(tc, single_draws_are_the_items_of_a_tensor);
    tcase_add_loop_test(tc, uniform_never_reaches_its_upper_end, 0, 14);
    tcase_add_test(tc, shapes_of_any_rank_and_of_nothing);
    tcase_add_test(tc, a_deviation_of_zero_gives_the_mean);
    suite_add_tcase(s, tc);

    tc = tcase_create("whole numbers");
    tcase_add_checked_fixture(tc, NULL, no_block_is_left);
    tcase_add_loop_test(tc, below_is_even, 0, 4);
    tcase_add_test(tc, below_is_even_for_huge_limits);
    tcase_add_loop_test(tc, a_permutation_is_one, 0, 5);
    tcase_add_test(tc, permutations_come_equally_often);
    tcase_add_loop_test(tc, integers_come_from_their_counters, 0, COUNT(bounds));
    tcase_add_test(tc, integers_have_known_answers);
    tcase_add_test(tc, integers_are_even);
    tcase_add_test(tc, a_permutation_as_a_tensor);
    suite_add_tcase(s, tc);

    tc = tcase_create("splitting");
    tcase_add_checked_fixture(tc, NULL, no_block_is_left);
    tcase_add_test(tc, splits_differ_and_do_not_move_the_parent);
    tcase_add_test(tc, seeds_streams_and_splits_are_not_correlated);
    suite_add_tcase(s, tc);

    tc = tcase_create("errors");
    tcase_add_checked_fixture(tc, NULL, no_block_is_left);
    tcase_add_loop_test(tc, errors_say_what_is_wrong_and_draw_nothing, 0, COUNT(errors));
    tcase_add_test(tc, null_is_an_error);
    tcase_add_test(tc, no_interval_of_f32_is_lost_in_rounding);
    tcase_add_test(tc, no_normal_is_infinite);
    tcase_add_test(tc, errors_of_whole_numbers);
    tcase_add_test(tc, messages_in_any_locale);
    suite_add_tcase(s, tc);
    return s;
}
