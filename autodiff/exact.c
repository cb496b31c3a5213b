/* The exact values of the op table: its oracle column, and a scalar type that computes by it. */

#include "autodiff/exact.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

/* In the oracles' type: they would be floats that are promoted. */
#undef NAN
#undef INFINITY
#define NAN      __builtin_nanl("")
#define INFINITY __builtin_infl()

/* What fmod leaves, with the sign of z; NaN where z is 0. */
static long double exact_mod(long double x, long double z) {
    long double rest = fmodl(x, z);
    return rest == 0 ? copysignl(0, z) : (rest < 0) != (z < 0) ? rest + z : rest;
}

static long double exact_floor_div(long double x, long double z) {
    long double rest = fmodl(x, z), whole = rintl((x - rest) / z);
    if (z == 0 || isnan(rest))
        return z == 0 ? x / z : rest;
    whole -= rest != 0 && (rest < 0) != (z < 0);
    return whole == 0 ? copysignl(0, x / z) : whole;
}

/* psi: the recurrence up to 30, then Stirling's series; for x < 0 by the reflection at 1/2. */
static long double exact_digamma(long double x) {
    const long double pi = 3.14159265358979323846264338327950288L;
    long double sum = 0;
    if (isnan(x) || x == INFINITY)
        return x;
    if (x < 0)
        return x == floorl(x) ? NAN : exact_digamma(1 - x) - pi / tanl(pi * (x - rintl(x)));
    for (; x < 30; x++)
        sum -= 1 / x;
    long double v = 1 / (x * x);
    return sum + logl(x) - 1 / (2 * x) -
           v * (1 / 12.0L -
                v * (1 / 120.0L -
                     v * (1 / 252.0L - v * (1 / 240.0L - v * (1 / 132.0L - v * 691 / 32760.0L)))));
}

/* The sum of (q + k)^-s over k >= 0: 40 terms, then Euler and Maclaurin's formula. */
static long double exact_zeta(long double s, long double q) {
    static const long double b[] = {1 / 12.0L,         -1 / 720.0L,     1 / 30240.0L,
                                    -1 / 1209600.0L,   1 / 47900160.0L, -691 / 1307674368000.0L,
                                    1 / 74724249600.0L};
    long double sum = 0, a = q + 40, rising = s / a;
    for (int k = 39; k >= 0; k--)
        sum += powl(k ? q + k : q, -s);
    long double rest = a / (s - 1) + 0.5L;
    for (int k = 0; k < 7; k++) {
        rest += b[k] * rising;
        rising *= (s + 2 * k + 1) / a * ((s + 2 * k + 2) / a);
    }
    return sum + rest * powl(a, -s);
}

static long double exact_polygamma(long double n, long double x) {
    n = floorl(n);
    if (n == 0)
        return exact_digamma(x);
    if (!(n >= 1 && n <= 170) || isnan(x))
        return NAN;
    bool even = fmodl(n, 2) == 0;
    long double low = floorl(x), sum = x == INFINITY ? 0 : exact_zeta(n + 1, x < 0 ? x - low : x);
    if (x < 0 && x == low)
        return even ? NAN : INFINITY;
    if (x < 0) {
        long double other = exact_zeta(n + 1, ceill(x) - x) - exact_zeta(n + 1, 1 - x);
        sum += even ? -other : other;
    }
    return (even ? -1 : 1) * tgammal(n + 1) * sum;
}

// clang-format off
#define ORACLE(id, formula)                                                                        \
    static long double oracle_##id(long double x, long double z, long double w) {                  \
        (void)x, (void)z, (void)w;                                                                 \
        return formula;                                                                            \
    }
#define EW1(id, WORD, d0, value, p0, oracle, doc)                 ORACLE(id, oracle)
#define EW2(id, WORD, d0, d1, value, p0, p1, oracle, doc)         ORACLE(id, oracle)
#define EW3(id, WORD, d0, d1, d2, value, p0, p1, p2, oracle, doc) ORACLE(id, oracle)
#define CMP(id, WORD, value, oracle, doc)                         ORACLE(id, oracle)
#define TST(id, WORD, value, oracle, doc)                         ORACLE(id, oracle)
#define LOGIC1(id, WORD, value, oracle, doc)                      ORACLE(id, oracle)
#define LOGIC2(id, WORD, value, oracle, doc)                      ORACLE(id, oracle)
#define SEL(id, WORD, value, p1, p2, oracle, doc)                 ORACLE(id, oracle)
#include "tensor/ops.def"

static long double (*const oracles[CT_OP_COUNT])(long double x, long double z, long double w) = {
#define EW1(id, WORD, d0, value, p0, oracle, doc)                 [CT_OP_##id] = oracle_##id,
#define EW2(id, WORD, d0, d1, value, p0, p1, oracle, doc)         [CT_OP_##id] = oracle_##id,
#define EW3(id, WORD, d0, d1, d2, value, p0, p1, p2, oracle, doc) [CT_OP_##id] = oracle_##id,
#define CMP(id, WORD, value, oracle, doc)                         [CT_OP_##id] = oracle_##id,
#define TST(id, WORD, value, oracle, doc)                         [CT_OP_##id] = oracle_##id,
#define LOGIC1(id, WORD, value, oracle, doc)                      [CT_OP_##id] = oracle_##id,
#define LOGIC2(id, WORD, value, oracle, doc)                      [CT_OP_##id] = oracle_##id,
#define SEL(id, WORD, value, p1, p2, oracle, doc)                 [CT_OP_##id] = oracle_##id,
#include "tensor/ops.def"
};
// clang-format on

long double ct__exact(enum ct_op op, const long double x[3]) {
    return oracles[op](x[0], x[1], x[2]);
}

bool ct__exact_is_wide(void) {
    volatile long double one = 1, tiny = 0x1p-60L;
    return one + tiny != one;
}

/* --- the scalar type --- */

static double wide_to_double(const ct_scalar *self, const void *item) {
    (void)self;
    return (double)*(const long double *)item;
}

static bool wide_from_double(const ct_scalar *self, void *item, double value) {
    (void)self;
    *(long double *)item = (long double)value;
    return true;
}

static int wide_format(const ct_scalar *self, const void *item, char *text, size_t size) {
    (void)self;
    return snprintf(text, size, "%La", *(const long double *)item);
}

static bool wide_equal(const ct_scalar *self, const void *a, const void *b) {
    (void)self;
    long double x = *(const long double *)a, z = *(const long double *)b;
    return x == z || (isnan(x) && isnan(z));
}

static bool wide_apply(const ct_scalar *self, enum ct_op op, const void *const in[], void *out) {
    (void)self;
    long double x[3] = {0};
    for (int k = 0; k < ct_op_arity(op); k++)
        x[k] =
            ct_op_takes_mask(op, k) ? *(const unsigned char *)in[k] : *(const long double *)in[k];
    long double y = ct__exact(op, x);
    if (ct_op_gives_mask(op))
        *(unsigned char *)out = y != 0;
    else
        *(long double *)out = y;
    return true;
}

static ct_item_fn *wide_item(const ct_scalar *self, enum ct_op op) {
    (void)self;
    return oracles[op] ? wide_apply : NULL;
}

const ct_scalar ct__exact_scalar = {
    .name = "long double",
    .size = sizeof(long double),
    .align = _Alignof(long double),
    .traits = CT_NUMERIC | CT_REAL | CT_ORDERED | CT_DIFFERENTIABLE,
    .to_double = wide_to_double,
    .from_double = wide_from_double,
    .format = wide_format,
    .equal = wide_equal,
    .item = wide_item,
};

/* --- errors --- */

long double ct__ulp(const ct_scalar *scalar, long double x) {
    bool single = scalar == CT_F32;
    int exponent, least = single ? FLT_MIN_EXP - FLT_MANT_DIG : DBL_MIN_EXP - DBL_MANT_DIG;
    frexpl(x, &exponent);
    exponent -= single ? FLT_MANT_DIG : DBL_MANT_DIG;
    return ldexpl(1, x == 0 || exponent < least ? least : exponent);
}

long double ct__ulp_error(const ct_scalar *scalar, double result, long double exact) {
    if (isnan(exact) || isnan(result))
        return isnan(exact) && isnan(result) ? 0 : HUGE_VALL;
    if (isinf(result) || isinf(exact)) {
        double rounded = scalar == CT_F32 ? (double)(float)exact : (double)exact;
        return rounded == result ? 0 : HUGE_VALL;
    }
    if (result == 0 && !signbit(result) != !signbit(exact))
        return HUGE_VALL;
    return fabsl((long double)result - exact) / ct__ulp(scalar, exact);
}
