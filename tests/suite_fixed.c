/* The fixed-point scalar: text, rounding, every function against its definition, exact sums, and a
   network that runs on it. */

#include "case_tools.h"
#include "ct_test.h"

#include "fixed/ct_fixed.h"
#include "tensor/ct_alloc.h"
#include "tensor/ct_ops.h"
#include "tensor/ct_reduce.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

__extension__ typedef __int128 wide;

#define ONE  ((int64_t)1 << 32)
#define MAX  INT64_MAX
#define MIN  INT64_MIN
#define HALF (ONE / 2)

static const int64_t edges[] = {MIN,      MIN + 1,     MIN / 2 - 1, MIN / 2, -ONE * 3 / 2,
                                -ONE - 1, -ONE,        -HALF - 1,   -HALF,   -2,
                                -1,       0,           1,           2,       3,
                                HALF - 1, HALF,        HALF + 1,    ONE - 1, ONE,
                                ONE + 1,  ONE * 3 / 2, ONE * 46341, MAX / 2, MAX - HALF,
                                MAX - 1,  MAX};

static bool run(enum ct_op op, int64_t x, int64_t z, int64_t *y) {
    char *ptr[] = {(char *)&x, (char *)&z, (char *)y};
    ptrdiff_t step[] = {8, 8, 8};
    if (ct_op_arity(op) == 1)
        ptr[1] = (char *)y;
    ct_loop_fn *loop = ct_scalar_loop(CT_FIXED, op);
    ck_assert(loop != NULL);
    return loop(CT_FIXED, op, 1, ptr, step) == 1;
}

static int64_t from(double value) {
    int64_t x = 0;
    ck_assert_msg(CT_FIXED->from_double(CT_FIXED, &x, value), "%g does not fit", value);
    return x;
}

/* Numbers of every size. */
static int64_t draw_units(struct draw *draw) {
    uint64_t bits = draw_bits(draw);
    return (int64_t)bits >> (draw_bits(draw) % 64);
}

// --- text and conversions

START_TEST(texts) {
    static const struct {
        const char *in;
        bool fits;
        int64_t units;
        const char *out;
    } cases[] = {
        {"0", true, 0, "0"},
        {"-0", true, 0, "0"},
        {"1", true, ONE, "1"},
        {"-1.5", true, -ONE * 3 / 2, "-1.5"},
        {"+.25", true, ONE / 4, "0.25"},
        {"7.", true, 7 * ONE, "7"},
        {"0.1", true, 429496730, "0.1000000000931322574615478515625"},
        {"2147483647.99999999976716935634613037109375", true, MAX, NULL},
        {"-2147483648", true, MIN, "-2147483648"},
        {"2147483648", false, 0, NULL},
        {"2147483647.999999999883584678173065185546874", true, MAX, NULL},
        {"2147483647.999999999883584678173065185546875", false, 0,
         NULL}, /* half a unit: to the even one */
        {"-2147483648.000000000116415321826934814453125", true, MIN, NULL},
        {"-2147483648.0000000001164153218269348144531250001", false, 0, NULL},
        {"99999999999999999999", false, 0, NULL},
        /* half a unit goes to the even one, and anything beyond it up */
        {"0.000000000116415321826934814453125", true, 0, "0"},
        {"0.0000000001164153218269348144531250000000000000000000001", true, 1, NULL},
        {"0.000000000349245965480804443359375", true, 2, NULL},
        {"0.00000000023283064365386962890625", true, 1, "0.00000000023283064365386962890625"},
        {"", false, 0, NULL},
        {"-", false, 0, NULL},
        {".", false, 0, NULL},
        {"1e3", false, 0, NULL},
        {" 1", false, 0, NULL},
        {"1 ", false, 0, NULL},
        {"--1", false, 0, NULL},
        {"1.2.3", false, 0, NULL},
        {"nan", false, 0, NULL},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t units = 42;
        char text[64];
        ck_assert_msg(ct_fixed_from_text(cases[i].in, &units) == cases[i].fits, "%s", cases[i].in);
        ck_assert_msg(units == (cases[i].fits ? cases[i].units : 42), "%s is %lld", cases[i].in,
                      (long long)units);
        if (!cases[i].out)
            continue;
        int length = CT_FIXED->format(CT_FIXED, &units, text, sizeof text);
        ck_assert_int_eq(length, (int)strlen(text));
        ck_assert_str_eq(text, cases[i].out);
    }
    int64_t kept = 42;
    ck_assert(!ct_fixed_from_text(NULL, &kept) && kept == 42);
}
END_TEST

START_TEST(texts_read_back) {
    struct draw draw = {1};
    for (int i = 0; i < 20000; i++) {
        int64_t x = i < (int)COUNT(edges) ? edges[i] : draw_units(&draw), back = 0;
        char text[64];
        CT_FIXED->format(CT_FIXED, &x, text, sizeof text);
        ck_assert_msg(ct_fixed_from_text(text, &back) && back == x, "%s", text);
    }
}
END_TEST

START_TEST(conversions) {
    static const struct {
        double value;
        bool fits;
        int64_t units;
    } cases[] = {
        {1, true, ONE},
        {-0.0, true, 0},
        {0x1p-33, true, 0},
        {0x3p-33, true, 2},
        {0x1p-34, true, 0},
        {-0x1p-32, true, -1},
        {0x1p31, false, 0},
        {-0x1p31, true, MIN},
        {-0x1.0000000000001p31, false, 0},
        {QNAN, false, 0},
        {INF, false, 0},
        {-INF, false, 0},
        {1e300, false, 0},
        {0x1.fffffffffffffp30, true, MAX - 1023},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t x = 42;
        ck_assert_msg(CT_FIXED->from_double(CT_FIXED, &x, cases[i].value) == cases[i].fits, "%g",
                      cases[i].value);
        ck_assert_msg(x == (cases[i].fits ? cases[i].units : 42), "%g", cases[i].value);
    }
    int64_t x = 5 * ONE, whole = 0;
    ck_assert(CT_FIXED->to_i64(CT_FIXED, &x, &whole) && whole == 5);
    x = -7 * ONE;
    ck_assert(CT_FIXED->to_i64(CT_FIXED, &x, &whole) && whole == -7);
    x = HALF;
    ck_assert(!CT_FIXED->to_i64(CT_FIXED, &x, &whole) && whole == -7);
    ck_assert(CT_FIXED->from_i64(CT_FIXED, &x, INT32_MIN) && x == MIN);
    ck_assert(!CT_FIXED->from_i64(CT_FIXED, &x, (int64_t)INT32_MAX + 1) && x == MIN);
}
END_TEST

// --- arithmetic against its definition

/* Whether y is the integer nearest to n / d, the even one of two; d > 0. */
static bool is_nearest(wide y, wide n, wide d) {
    wide rest = n - y * d, twice = rest < 0 ? -2 * rest : 2 * rest;
    return twice < d || (twice == d && !(y & 1));
}

static bool in_range(wide y) {
    return y >= MIN && y <= MAX;
}

static wide nearest(wide n, wide d) {
    for (wide y = n / d - 1;; y++)
        if (is_nearest(y, n, d))
            return y;
}

static wide floor_of(wide n, wide d) {
    return n / d - (n % d < 0);
}

/* The exact result in units, if there is one. */
static bool expected(enum ct_op op, int64_t x, int64_t z, wide *y) {
    wide sign = z < 0 ? -1 : 1;
    switch ((int)op) {
    case CT_OP_add:
        *y = (wide)x + z;
        break;
    case CT_OP_sub:
        *y = (wide)x - z;
        break;
    case CT_OP_mul:
        *y = nearest((wide)x * z, ONE);
        break;
    case CT_OP_maximum:
        *y = x > z ? x : z;
        break;
    case CT_OP_minimum:
        *y = x < z ? x : z;
        break;
    case CT_OP_copysign:
        *y = (x < 0) == (z < 0) ? x : -(wide)x;
        break;
    case CT_OP_neg:
        *y = -(wide)x;
        break;
    case CT_OP_abs:
        *y = x < 0 ? -(wide)x : x;
        break;
    case CT_OP_floor:
        *y = floor_of(x, ONE) * ONE;
        break;
    case CT_OP_ceil:
        *y = -floor_of(-(wide)x, ONE) * ONE;
        break;
    case CT_OP_trunc:
        *y = x / ONE * (wide)ONE;
        break;
    case CT_OP_round:
        *y = nearest(x, ONE) * ONE;
        break;
    default:
        if (z == 0)
            return false;
        if (op == CT_OP_div)
            *y = nearest(sign * x * ONE, sign * z);
        if (op == CT_OP_floor_div)
            *y = floor_of(sign * x, sign * z) * ONE;
        if (op == CT_OP_mod)
            *y = x - floor_of(sign * x, sign * z) * z;
        if (op == CT_OP_fmod)
            *y = (wide)x % z;
    }
    return in_range(*y);
}

static void check_exact(enum ct_op op, int64_t x, int64_t z) {
    wide want = 0;
    int64_t y = 42;
    bool fits = expected(op, x, z, &want);
    ck_assert_msg(run(op, x, z, &y) == fits, "%s of %lld and %lld", ct_op_name(op), (long long)x,
                  (long long)z);
    ck_assert_msg(y == (fits ? want : 42), "%s of %lld and %lld is %lld", ct_op_name(op),
                  (long long)x, (long long)z, (long long)y);
}

START_TEST(arithmetic_is_exact_or_rounded_once) {
    static const enum ct_op ops[] = {CT_OP_add,     CT_OP_sub,     CT_OP_mul,      CT_OP_div,
                                     CT_OP_maximum, CT_OP_minimum, CT_OP_copysign, CT_OP_neg,
                                     CT_OP_abs,     CT_OP_floor,   CT_OP_ceil,     CT_OP_trunc,
                                     CT_OP_round,   CT_OP_mod,     CT_OP_fmod,     CT_OP_floor_div};
    struct draw draw = {2};
    for (size_t k = 0; k < COUNT(ops); k++) {
        for (size_t i = 0; i < COUNT(edges); i++)
            for (size_t j = 0; j < COUNT(edges); j++)
                check_exact(ops[k], edges[i], edges[j]);
        for (int i = 0; i < 5000; i++)
            check_exact(ops[k], draw_units(&draw), draw_units(&draw));
    }
}
END_TEST

/* y is the nearest root of n / d: (2 y - 1)^2 d < 4 n < (2 y + 1)^2 d, in long division of wides. */
START_TEST(roots_are_nearest) {
    struct draw draw = {3};
    for (int i = 0; i < 20000; i++) {
        int64_t x = i < (int)COUNT(edges) ? edges[i] : draw_units(&draw), y = 42;
        bool fits = x >= 0;
        ck_assert(run(CT_OP_sqrt, x, 0, &y) == fits);
        if (fits) {
            wide four = (wide)x * ONE * 4;
            ck_assert_msg((wide)(2 * y + 1) * (2 * y + 1) > four, "sqrt of %lld", (long long)x);
            ck_assert_msg(y == 0 || (wide)(2 * y - 1) * (2 * y - 1) < four, "%lld", (long long)x);
        }
        ck_assert(run(CT_OP_rsqrt, x, 0, &y) == (x > 0));
        if (x > 0) {
            wide four = (wide)1 << 98, low = (wide)(2 * y - 1) * (2 * y - 1);
            ck_assert_msg((wide)(2 * y + 1) * (2 * y + 1) > four / x, "rsqrt of %lld",
                          (long long)x);
            ck_assert_msg(low <= four / x, "rsqrt of %lld", (long long)x);
        }
    }
}
END_TEST

// --- functions against long double

struct function {
    enum ct_op op;
    long double (*exact)(long double);
    double low, high;
    uint64_t digest; /* of 2,000 results */
};

static long double l_sigmoid(long double x) {
    return 1 / (1 + expl(-x));
}

static long double l_softplus(long double x) {
    return x > 0 ? x + log1pl(expl(-x)) : log1pl(expl(x));
}

static long double l_silu(long double x) {
    return x / (1 + expl(-x));
}

static const struct function functions[] = {
    {CT_OP_exp, expl, -24, 21.4875625, 0x55c8b98f2e9f7a27},
    {CT_OP_exp2, exp2l, -34, 30.9999999, 0x749edb858ca5f07d},
    {CT_OP_expm1, expm1l, -24, 21.4875625, 0xf02b49eb4ed1d9c6},
    {CT_OP_log, logl, 0, 2147483647, 0x27a1544a747b11f0},
    {CT_OP_log2, log2l, 0, 2147483647, 0x51df636c37a23cb4},
    {CT_OP_log1p, log1pl, -1, 2147483647, 0x58fe484bd85a1726},
    {CT_OP_sin, sinl, -2147483648, 2147483647, 0x9657a8321eec3cf0},
    {CT_OP_cos, cosl, -2147483648, 2147483647, 0x8984981d0f2a8a2f},
    {CT_OP_tanh, tanhl, -13, 13, 0xf4121649123d03b7},
    {CT_OP_sigmoid, l_sigmoid, -24, 24, 0x4dd3af1e30eba30a},
    {CT_OP_softplus, l_softplus, -24, 24, 0x0ef69e1179a1eb27},
    {CT_OP_silu, l_silu, -60, 60, 0xe893f25d0eb7a3b1},
};

/* Half of the arguments are spread evenly, half by size. */
static int64_t argument(const struct function *f, struct draw *draw, int i) {
    int64_t low = from(f->low), high = from(f->high), x;
    do
        x = i & 1 ? draw_units(draw) : from(draw_between(draw, f->low, f->high));
    while (x < low || x > high);
    return x;
}

START_TEST(functions_are_within_a_unit) {
    if (1.0L + 0x1p-60L == 1.0L) {
        ct_test_skip("long double has 53 bits here, so it is no oracle");
        return;
    }
    for (size_t k = 0; k < COUNT(functions); k++) {
        const struct function *f = &functions[k];
        struct draw draw = {k};
        long double worst = 0;
        for (int i = 0; i < 20000; i++) {
            int64_t x = argument(f, &draw, i), y;
            long double exact = f->exact((long double)x * 0x1p-32L) * 0x1p32L;
            if (!run(f->op, x, 0, &y)) {
                ck_assert_msg(!(fabsl(exact) < 0x1p63L - 2), "%s of %lld", ct_op_name(f->op),
                              (long long)x);
                continue;
            }
            long double error = fabsl((long double)y - exact);
            ck_assert_msg(error <= 1, "%s of %lld is off by %Lg units", ct_op_name(f->op),
                          (long long)x, error);
            /* where the oracle is good to a thousandth of a unit */
            if (fabsl(exact) < 0x1p50L && error > worst)
                worst = error;
        }
        ck_assert_msg(worst <= 0.5001L, "%s is off by %Lg units", ct_op_name(f->op), worst);
    }
}
END_TEST

static uint64_t digest_of(const struct function *f) {
    struct draw draw = {7};
    uint64_t digest = 14695981039346656037u;
    for (int i = 0; i < 2000; i++) {
        int64_t y = 0;
        run(f->op, argument(f, &draw, i), 0, &y);
        digest = (digest ^ (uint64_t)y) * 1099511628211u;
        digest ^= digest >> 29;
    }
    return digest;
}

START_TEST(the_same_bits_everywhere) {
    for (size_t k = 0; k < COUNT(functions); k++) {
        uint64_t digest = digest_of(&functions[k]);
        ck_assert_msg(digest == functions[k].digest, "%s has 0x%016llx",
                      ct_op_name(functions[k].op), (unsigned long long)digest);
    }
}
END_TEST

START_TEST(what_has_no_result) {
    static const struct {
        enum ct_op op;
        int64_t x, z;
        bool has;
    } cases[] = {
        {CT_OP_exp, 22 * ONE, 0, false},
        {CT_OP_exp, MAX, 0, false},
        {CT_OP_exp, MIN, 0, true},
        {CT_OP_exp2, 31 * ONE, 0, false},
        {CT_OP_exp2, 31 * ONE - 1, 0, true},
        {CT_OP_exp2, MIN, 0, true},
        {CT_OP_expm1, MIN, 0, true},
        {CT_OP_expm1, MAX, 0, false},
        {CT_OP_log, 0, 0, false},
        {CT_OP_log, -1, 0, false},
        {CT_OP_log, 1, 0, true},
        {CT_OP_log1p, -ONE, 0, false},
        {CT_OP_log1p, -ONE + 1, 0, true},
        {CT_OP_log1p, MAX, 0, true},
        {CT_OP_sqrt, -1, 0, false},
        {CT_OP_rsqrt, 0, 0, false},
        {CT_OP_div, ONE, 0, false},
        {CT_OP_div, MIN, -ONE, false},
        {CT_OP_mod, ONE, 0, false},
        {CT_OP_floor_div, MIN, -ONE, false},
        {CT_OP_neg, MIN, 0, false},
        {CT_OP_abs, MIN, 0, false},
        {CT_OP_ceil, MAX, 0, false},
        {CT_OP_round, MAX, 0, false},
        {CT_OP_tanh, MIN, 0, true},
        {CT_OP_sigmoid, MIN, 0, true},
        {CT_OP_softplus, MAX, 0, true},
        {CT_OP_silu, MIN, 0, true},
        {CT_OP_elu, 40 * ONE, 0, true}, /* its exp is not asked for */
        {CT_OP_reciprocal, 0, 0, false},
        {CT_OP_square, 46341 * ONE, 0, false},
        {CT_OP_relu, MIN, 0, true},
        {CT_OP_sign, MIN, 0, true},
        {CT_OP_log_sigmoid, -ONE, 0, true},
        {CT_OP_smul, 0, MAX, true},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t y = 42;
        ck_assert_msg(run(cases[i].op, cases[i].x, cases[i].z, &y) == cases[i].has, "%s of %lld",
                      ct_op_name(cases[i].op), (long long)cases[i].x);
        ck_assert(cases[i].has || y == 42);
    }
    ck_assert(!ct_scalar_has(CT_FIXED, CT_OP_erf));
    ck_assert(!ct_scalar_has(CT_FIXED, CT_OP_gelu));
    ck_assert(!ct_scalar_has(CT_FIXED, CT_OP_logical_and));
}
END_TEST

// --- sums and products

static int64_t sum_of(size_t n, const int64_t *x, size_t *done) {
    int64_t y = 42;
    struct ct_fold_job job = {n, 1, (const char *)x, 8, 0, (char *)&y, 8};
    *done = ct_scalar_fold(CT_FIXED, CT_FOLD_SUM)(CT_FIXED, &job);
    return y;
}

START_TEST(sums_are_exact) {
    static int64_t many[100000];
    size_t done;
    ck_assert_int_eq(sum_of(3, (int64_t[]){MAX, 1, -1}, &done), MAX);
    ck_assert_uint_eq(done, 1);
    ck_assert_int_eq(sum_of(2, (int64_t[]){MAX, 1}, &done), 42);
    ck_assert_uint_eq(done, 0);
    ck_assert_int_eq(sum_of(0, NULL, &done), 0);
    for (size_t i = 0; i < COUNT(many); i++)
        many[i] = i < COUNT(many) / 2 ? MAX : MIN;
    ck_assert_int_eq(sum_of(COUNT(many), many, &done), -(int64_t)COUNT(many) / 2);
}
END_TEST

static ct_status multiply(size_t k, const int64_t *a, const int64_t *b, int64_t *c) {
    struct ct_matmul_job job = {1,         1, k, (const char *)a, 8, 8, (const char *)b, 8, 8,
                                (char *)c, 8, 8};
    return ct_scalar_matmul(CT_FIXED)(CT_FIXED, &job);
}

START_TEST(products_round_their_totals_once) {
    int64_t c = 42;
    /* each term is a quarter of a unit and would be rounded away */
    ck_assert_int_eq(
        multiply(4, (int64_t[]){1, 1, 1, 1}, (int64_t[]){ONE / 4, ONE / 4, ONE / 4, ONE / 4}, &c),
        CT_OK);
    ck_assert_int_eq(c, 1);
    /* half a unit: to the even one */
    ck_assert_int_eq(multiply(2, (int64_t[]){1, 1}, (int64_t[]){ONE / 4, ONE / 4}, &c), CT_OK);
    ck_assert_int_eq(c, 0);
    /* totals on the way may be of any size, past 128 bits too */
    int64_t a[] = {MIN, MIN, MIN, MIN, MIN, MIN, MIN, ONE};
    int64_t b[] = {MIN, MIN, MIN, MAX, MAX, MAX, 3, 5};
    wide left = 0;
    for (int i = 0; i < 3; i++)
        left += (wide)a[i] * b[i] / 4 + (wide)a[i + 3] * b[i + 3] / 4; /* 3 MIN (MIN + MAX) / 4 */
    wide total = left * 4 + (wide)MIN * 3 + (wide)ONE * 5;
    ck_assert_int_eq(multiply(8, a, b, &c),
                     total / ONE <= MAX && total / ONE >= MIN ? CT_OK : CT_EOVERFLOW);
    ck_assert(c == nearest(total, ONE));
    ck_assert_int_eq(multiply(1, (int64_t[]){MAX}, (int64_t[]){2 * ONE}, &c), CT_EOVERFLOW);
    ck_assert_int_eq(multiply(8, (int64_t[]){MIN, MIN, MIN, MIN, MIN, MIN, MIN, MIN},
                              (int64_t[]){MIN, MIN, MIN, MIN, MIN, MIN, MIN, MIN}, &c),
                     CT_EOVERFLOW);
    ck_assert_int_eq(multiply(0, NULL, NULL, &c), CT_OK);
    ck_assert_int_eq(c, 0);
}
END_TEST

// --- a network

static ct_tensor *layer(const ct_tensor *x, const ct_tensor *w, const ct_tensor *b,
                        ct_tensor *(*activate)(const ct_tensor *)) {
    ct_tensor *product = ct_matmul(x, w), *sum = ct_add(product, b), *y = activate(sum);
    ct_free(product), ct_free(sum);
    return y;
}

/* Two layers on 4 x 3 inputs. */
static ct_tensor *forward(const ct_scalar *type) {
    struct draw draw = {11};
    ct_tensor *x = draw_tensor(&draw, CT_F64, 2, (int64_t[]){4, 3}, -2, 2);
    ct_tensor *w1 = draw_tensor(&draw, CT_F64, 2, (int64_t[]){3, 8}, -1, 1);
    ct_tensor *b1 = draw_tensor(&draw, CT_F64, 1, (int64_t[]){8}, -1, 1);
    ct_tensor *w2 = draw_tensor(&draw, CT_F64, 2, (int64_t[]){8, 2}, -1, 1);
    ct_tensor *b2 = draw_tensor(&draw, CT_F64, 1, (int64_t[]){2}, -1, 1);
    ct_tensor *in[] = {x, w1, b1, w2, b2};
    for (int i = 0; i < 5; i++) { /* the same numbers for both types: those of fixed */
        ct_tensor *fixed = ct_astype(in[i], CT_FIXED);
        ck_assert_msg(fixed != NULL, "%s", ct_error()->message);
        ct_free(in[i]);
        in[i] = ct_astype(fixed, type);
        ct_free(fixed);
    }
    ct_tensor *hidden = layer(in[0], in[1], in[2], ct_tanh);
    ct_tensor *y = layer(hidden, in[3], in[4], ct_sigmoid);
    ct_free(hidden);
    for (int i = 0; i < 5; i++)
        ct_free(in[i]);
    return y;
}

START_TEST(a_network_runs) {
    size_t live = ct_live_blocks();
    double fixed[8], real[8];
    int64_t units[8];
    ct_tensor *y = forward(CT_FIXED), *reference = forward(CT_F64);
    ck_assert_msg(y && reference, "%s", ct_error()->message);
    ck_assert_int_eq(ct_to_doubles(y, 8, fixed), CT_OK);
    ck_assert_int_eq(ct_to_doubles(reference, 8, real), CT_OK);
    ck_assert_int_eq(ct_to_items(y, sizeof units, units), CT_OK);
    uint64_t digest = 0;
    for (int i = 0; i < 8; i++) {
        ck_assert_msg(fabs(fixed[i] - real[i]) < 8 * 0x1p-32, "%d: %.17g and %.17g", i, fixed[i],
                      real[i]);
        digest = (digest ^ (uint64_t)units[i]) * 1099511628211u;
    }
    ck_assert_msg(digest == 0xb4b95957a541a70e, "the outputs have 0x%016llx",
                  (unsigned long long)digest);
    ct_free(y), ct_free(reference);
    ck_assert_uint_eq(ct_live_blocks(), live);
}
END_TEST

Suite *suite_fixed(void) {
    Suite *suite = suite_create("fixed");
    TCase *tc = tcase_create("numbers");
    tcase_add_test(tc, texts);
    tcase_add_test(tc, texts_read_back);
    tcase_add_test(tc, conversions);
    tcase_add_test(tc, arithmetic_is_exact_or_rounded_once);
    tcase_add_test(tc, roots_are_nearest);
    tcase_add_test(tc, functions_are_within_a_unit);
    tcase_add_test(tc, the_same_bits_everywhere);
    tcase_add_test(tc, what_has_no_result);
    suite_add_tcase(suite, tc);
    tc = tcase_create("tensors");
    tcase_add_test(tc, sums_are_exact);
    tcase_add_test(tc, products_round_their_totals_once);
    tcase_add_test(tc, a_network_runs);
    suite_add_tcase(suite, tc);
    return suite;
}
