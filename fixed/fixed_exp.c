/* Exponentials and logarithms by integers. A binary fraction with n bits behind the point is called
   Qn below. Everything is carried far past the result's 32, so that a result is the rounding of the
   true value but where that lies within some 2^-20 of a unit of a tie. */

#include "fixed/fixed_impl.h"

#define Q(high, low) ((ct__u128)(high) << 64 | (low))
#define UNIT120      ((ct__i128)1 << 120)
#define LN2_Q120     Q(0x00b17217f7d1cf79, 0xabc9e3b39803f2f7)
#define LN2_Q63      0x58b90bfbe8e7bcd6
#define LOG2E_Q62    0x5c551d94ae0bf85e

/* --- exp --- */

/* a b of two Q120, both in [0, 128); rounded down. */
static ct__u128 times(ct__u128 a, ct__u128 b) {
    const ct__u128 low = UINT64_MAX;
    ct__u128 a0 = a & low, a1 = a >> 64, b0 = b & low, b1 = b >> 64;
    ct__u128 p01 = a0 * b1, p10 = a1 * b0;
    ct__u128 middle = (a0 * b0 >> 64) + (p01 & low) + (p10 & low);
    ct__u128 high = a1 * b1 + (p01 >> 64) + (p10 >> 64) + (middle >> 64);
    return high << 8 | (middle & low) >> 56;
}

/* e^r, Q120, of 0 <= r < log 2: its Taylor series. */
static ct__u128 series_exp(ct__u128 r) {
    static const uint64_t inverse_factorial[][2] = {
        {0x0100000000000000, 0x0000000000000000}, {0x0100000000000000, 0x0000000000000000},
        {0x0080000000000000, 0x0000000000000000}, {0x002aaaaaaaaaaaaa, 0xaaaaaaaaaaaaaaab},
        {0x000aaaaaaaaaaaaa, 0xaaaaaaaaaaaaaaab}, {0x0002222222222222, 0x2222222222222222},
        {0x00005b05b05b05b0, 0x5b05b05b05b05b06}, {0x00000d00d00d00d0, 0x0d00d00d00d00d01},
        {0x000001a01a01a01a, 0x01a01a01a01a01a0}, {0x0000002e3bc74aad, 0x8e671f5583911ca0},
        {0x000000049f93edde, 0x27d71cbbc05b4faa}, {0x000000006b99159f, 0xd5138e3f9d1f92e1},
        {0x0000000008f76c77, 0xfc6c4bdaa26d4c3d}, {0x0000000000b09230, 0x9d43684be51c198f},
        {0x00000000000c9cba, 0x54603e4e905d6f8a}, {0x000000000000d73f, 0x9f399dc0f88ec32b},
        {0x0000000000000d73, 0xf9f399dc0f88ec33}, {0x00000000000000ca, 0x963b81856a535930},
        {0x000000000000000b, 0x413c31dcbecbbdd8}, {0x0000000000000000, 0x97a4da340a0ab926},
        {0x0000000000000000, 0x07950ae900808942}, {0x0000000000000000, 0x005c6e3bdb73d5c6},
        {0x0000000000000000, 0x0004338e5b6dfe15}, {0x0000000000000000, 0x00002ec368262c70},
        {0x0000000000000000, 0x000001f2cf01972f},
    };
    ct__u128 sum = 0;
    for (int n = (int)(sizeof inverse_factorial / sizeof *inverse_factorial) - 1; n >= 0; n--)
        sum = Q(inverse_factorial[n][0], inverse_factorial[n][1]) + times(r, sum);
    return sum;
}

/* A number as fraction, Q120 in [1, 2), times 2^power. */
struct scaled {
    ct__u128 fraction;
    int power;
};

/* e^x, |x| < 100. */
static struct scaled scaled_exp(int64_t x) {
    ct__i128 wide = (ct__i128)x * ((ct__i128)1 << (120 - CT__FIXED_BITS));
    int power = (int)(x / (int64_t)(LN2_Q120 >> (120 - CT__FIXED_BITS)));
    ct__i128 rest = wide - (ct__i128)LN2_Q120 * power;
    for (; rest < 0; power--)
        rest += (ct__i128)LN2_Q120;
    for (; rest >= (ct__i128)LN2_Q120; power++)
        rest -= (ct__i128)LN2_Q120;
    return (struct scaled){series_exp((ct__u128)rest), power};
}

/* In our units, before it is known whether it fits; x < 32. */
static ct__i128 units_of(struct scaled s) {
    int bits = 120 - CT__FIXED_BITS - s.power;
    return bits > 124 ? 0 : ct__fixed_nearest((ct__i128)s.fraction, bits);
}

static bool shifted_exp(int64_t x, int64_t less, int64_t *y) {
    if (x >= 22 * CT__FIXED_ONE)
        return false;
    return ct__fixed_fits(x < -24 * CT__FIXED_ONE ? -less : units_of(scaled_exp(x)) - less, y);
}

bool ct__fixed_exp(int64_t x, int64_t *y) {
    return shifted_exp(x, 0, y);
}

/* Our numbers are equally far apart everywhere, so subtracting 1 after the rounding loses nothing. */
bool ct__fixed_expm1(int64_t x, int64_t *y) {
    return shifted_exp(x, CT__FIXED_ONE, y);
}

bool ct__fixed_exp2(int64_t x, int64_t *y) {
    if (x >= 32 * CT__FIXED_ONE)
        return false;
    if (x < -34 * CT__FIXED_ONE) {
        *y = 0;
        return true;
    }
    ct__u128 part = (ct__u128)(x & (CT__FIXED_ONE - 1)) << (120 - CT__FIXED_BITS);
    struct scaled s = {series_exp(times(part, LN2_Q120)), (int)(x >> CT__FIXED_BITS)};
    return ct__fixed_fits(units_of(s), y);
}

/* --- what is made of e^-|x| --- */

static ct__u128 magnitude(int64_t x) {
    return x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
}

/* e^-a, Q120 in [0, 1], of a in our units. */
static ct__i128 decay(ct__u128 a) {
    if (a > 80 * (ct__u128)CT__FIXED_ONE)
        return 0;
    struct scaled s = scaled_exp(-(int64_t)a);
    return (ct__i128)(s.fraction >> -s.power);
}

/* n / d, Q60, of two Q120; 0 <= n <= d, d in [1, 2]. */
static ct__i128 ratio(ct__i128 n, ct__i128 d) {
    return n / (d >> 60);
}

bool ct__fixed_tanh(int64_t x, int64_t *y) {
    ct__i128 e = decay(2 * magnitude(x)), t = ratio(UNIT120 - e, UNIT120 + e);
    return ct__fixed_narrow(x < 0 ? -t : t, 60 - CT__FIXED_BITS, y);
}

bool ct__fixed_sigmoid(int64_t x, int64_t *y) {
    ct__i128 e = decay(magnitude(x));
    return ct__fixed_narrow(ratio(x < 0 ? e : UNIT120, UNIT120 + e), 60 - CT__FIXED_BITS, y);
}

/* x sigmoid(x) = max(x, 0) - |x| sigmoid(-|x|), so that the product is small and its error too. */
bool ct__fixed_silu(int64_t x, int64_t *y) {
    ct__i128 e = decay(magnitude(x)), part = 0;
    if (e > 0)
        part = (ct__i128)magnitude(x) * ratio(e, UNIT120 + e);
    return ct__fixed_narrow((x > 0 ? (ct__i128)x << 60 : 0) - part, 60, y);
}

/* --- log --- */

/* log(m 2^power), Q63, of m, a Q63 in [1, 2). */
static ct__i128 log_of(uint64_t m, int power) {
    static const uint64_t coefficient[] = {
        /* 2 / (2 n + 1), Q62 */
        0x8000000000000000, 0x2aaaaaaaaaaaaaab, 0x199999999999999a, 0x1249249249249249,
        0x0e38e38e38e38e39, 0x0ba2e8ba2e8ba2e9, 0x09d89d89d89d89d9, 0x0888888888888889,
        0x0787878787878788, 0x06bca1af286bca1b, 0x0618618618618618, 0x0590b21642c8590b,
        0x051eb851eb851eb8};
    const ct__i128 one = (ct__i128)1 << 63;
    ct__i128 wide = m;
    if (m > 0xb504f333f9de6484) { /* the root of 2: m / 2 is nearer to 1 */
        wide = m / 2;
        power++;
    }
    ct__i128 s = (wide - one) * one / (wide + one); /* log m = 2 artanh s */
    ct__i128 square = s * s >> 63, sum = 0;
    for (int n = (int)(sizeof coefficient / sizeof *coefficient) - 1; n >= 0; n--)
        sum = (ct__i128)coefficient[n] + (sum * square >> 63);
    return (s * sum >> 62) + (ct__i128)LN2_Q63 * power;
}

/* log(x), Q63, of x > 0 in our units. */
static ct__i128 log_units(uint64_t x) {
    int zeros = __builtin_clzll(x);
    return log_of(x << zeros, 63 - zeros - CT__FIXED_BITS);
}

bool ct__fixed_log(int64_t x, int64_t *y) {
    return x > 0 && ct__fixed_narrow(log_units((uint64_t)x), 63 - CT__FIXED_BITS, y);
}

bool ct__fixed_log1p(int64_t x, int64_t *y) {
    if (x <= -CT__FIXED_ONE)
        return false;
    return ct__fixed_narrow(log_units((uint64_t)x + (uint64_t)CT__FIXED_ONE), 63 - CT__FIXED_BITS,
                            y);
}

bool ct__fixed_log2(int64_t x, int64_t *y) {
    if (x <= 0)
        return false;
    int zeros = __builtin_clzll((uint64_t)x), power = 63 - zeros - CT__FIXED_BITS;
    ct__i128 log = log_of((uint64_t)x << zeros, 0); /* in [0, log 2), so that powers stay exact */
    ct__i128 sum = (log * LOG2E_Q62 >> 62) + power * ((ct__i128)1 << 63);
    return ct__fixed_narrow(sum, 63 - CT__FIXED_BITS, y);
}

/* log(1 + e^x) = max(x, 0) + log(1 + e^-|x|) */
bool ct__fixed_softplus(int64_t x, int64_t *y) {
    ct__u128 sum = (ct__u128)(UNIT120 + decay(magnitude(x))) >> (120 - 63);
    ct__i128 log = x == 0 ? log_of((uint64_t)1 << 63, 1) : log_of((uint64_t)sum, 0);
    return ct__fixed_narrow((x > 0 ? (ct__i128)x << (63 - CT__FIXED_BITS) : 0) + log,
                            63 - CT__FIXED_BITS, y);
}
