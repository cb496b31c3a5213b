#include "op_oracle.h"

#include <float.h>
#include <math.h>

#include "autodiff/ct_var_ops.h"
#include "tensor/ct_ops.h"

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

#define ORACLE(id, formula)                                                                        \
    static long double oracle_##id(long double x, long double z, long double w) {                  \
        (void)x, (void)z, (void)w;                                                                 \
        return formula;                                                                            \
    }
#define ONE(id)                                                                                    \
    static ct_tensor *apply_##id(const ct_tensor *const in[]) {                                    \
        return ct_##id(in[0]);                                                                     \
    }                                                                                              \
    static ct_var record_##id(const ct_var in[]) {                                                 \
        return ct_var_##id(in[0]);                                                                 \
    }
#define TWO(id)                                                                                    \
    static ct_tensor *apply_##id(const ct_tensor *const in[]) {                                    \
        return ct_##id(in[0], in[1]);                                                              \
    }                                                                                              \
    static ct_var record_##id(const ct_var in[]) {                                                 \
        return ct_var_##id(in[0], in[1]);                                                          \
    }
#define THREE(id)                                                                                  \
    static ct_tensor *apply_##id(const ct_tensor *const in[]) {                                    \
        return ct_##id(in[0], in[1], in[2]);                                                       \
    }                                                                                              \
    static ct_var record_##id(const ct_var in[]) {                                                 \
        return ct_var_##id(in[0], in[1], in[2]);                                                   \
    }

#define EW1(id, WORD, d0, value, p0, oracle, doc)                 ORACLE(id, oracle) ONE(id)
#define EW2(id, WORD, d0, d1, value, p0, p1, oracle, doc)         ORACLE(id, oracle) TWO(id)
#define EW3(id, WORD, d0, d1, d2, value, p0, p1, p2, oracle, doc) ORACLE(id, oracle) THREE(id)
#define CMP(id, WORD, value, oracle, doc)                         ORACLE(id, oracle) TWO(id)
#define TST(id, WORD, value, oracle, doc)                         ORACLE(id, oracle) ONE(id)
#define LOGIC1(id, WORD, value, oracle, doc)                      ORACLE(id, oracle) ONE(id)
#define LOGIC2(id, WORD, value, oracle, doc)                      ORACLE(id, oracle) TWO(id)
#define SEL(id, WORD, value, p1, p2, oracle, doc)                 ORACLE(id, oracle) THREE(id)
#include "tensor/ops.def"

#define R(low, high)                                                                               \
    { low, high }
#define CALLS(id) oracle_##id, apply_##id, record_##id
static const struct op_oracle oracles[CT_OP_COUNT] = {
#define EW1(id, WORD, d0, value, p0, oracle, doc)         [CT_OP_##id] = {1, {d0}, CALLS(id)},
#define EW2(id, WORD, d0, d1, value, p0, p1, oracle, doc) [CT_OP_##id] = {2, {d0, d1}, CALLS(id)},
#define EW3(id, WORD, d0, d1, d2, value, p0, p1, p2, oracle, doc)                                  \
    [CT_OP_##id] = {3, {d0, d1, d2}, CALLS(id)},
#define CMP(id, WORD, value, oracle, doc)    [CT_OP_##id] = {2, {R(-3, 3), R(-3, 3)}, CALLS(id)},
#define TST(id, WORD, value, oracle, doc)    [CT_OP_##id] = {1, {R(-3, 3)}, CALLS(id)},
#define LOGIC1(id, WORD, value, oracle, doc) [CT_OP_##id] = {1, {R(0, 1)}, CALLS(id)},
#define LOGIC2(id, WORD, value, oracle, doc) [CT_OP_##id] = {2, {R(0, 1), R(0, 1)}, CALLS(id)},
#define SEL(id, WORD, value, p1, p2, oracle, doc)                                                  \
    [CT_OP_##id] = {3, {R(0, 1), R(-3, 3), R(-3, 3)}, CALLS(id)},
#include "tensor/ops.def"
};
#undef R

const struct op_oracle *op_oracle(enum ct_op op) {
    return &oracles[op];
}

long double op_exact(enum ct_op op, const double x[3]) {
    return oracles[op].value((long double)x[0], (long double)x[1], (long double)x[2]);
}

bool oracle_is_wide(void) {
    volatile long double one = 1, tiny = 0x1p-60L;
    return one + tiny != one;
}

bool op_takes_mask(enum ct_op op, int argument) {
    return ct_op_takes_mask(op, argument);
}

bool op_gives_mask(enum ct_op op) {
    return ct_op_gives_mask(op);
}

long double ulp_error(const ct_scalar *scalar, double result, long double exact) {
    bool single = scalar == CT_F32;
    if (isnan(exact) || isnan(result))
        return isnan(exact) && isnan(result) ? 0 : HUGE_VALL;
    if (isinf(result) || isinf(exact)) {
        double rounded = single ? (double)(float)exact : (double)exact;
        return rounded == result ? 0 : HUGE_VALL;
    }
    if (result == 0 && !signbit(result) != !signbit(exact))
        return HUGE_VALL;
    int exponent;
    frexpl(exact, &exponent);
    exponent -= single ? FLT_MANT_DIG : DBL_MANT_DIG;
    int least = single ? FLT_MIN_EXP - FLT_MANT_DIG : DBL_MIN_EXP - DBL_MANT_DIG;
    if (exact == 0 || exponent < least)
        exponent = least;
    return fabsl((long double)result - exact) / ldexpl(1, exponent);
}
