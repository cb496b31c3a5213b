/* Sine and cosine by integers: reduced by multiples of pi/2, then Taylor series. */

#include "fixed/fixed_impl.h"

#define TWO_OVER_PI_Q64 0xa2f9836e4e44152a
#define HALF_PI_Q96     ((ct__u128)0x00000001921fb544 << 64 | 0x42d18469898cc517)

enum { TERMS = 10, Q = 62 /* bits behind the point */ };

static const int64_t sine[TERMS] = {
    /* 1 / (2 n + 1)! */
    0x4000000000000000, 0x0aaaaaaaaaaaaaab, 0x0088888888888889, 0x0003403403403403,
    0x00000b8ef1d2ab64, 0x0000001ae64567f5, 0x000000002c248c27, 0x000000000035cfe8,
    0x00000000000032a6, 0x0000000000000026};
static const int64_t cosine[TERMS] = {
    /* 1 / (2 n)! */
    0x4000000000000000, 0x2000000000000000, 0x02aaaaaaaaaaaaab, 0x0016c16c16c16c17,
    0x0000680680680680, 0x00000127e4fb778a, 0x000000023ddb1dff, 0x0000000003272e95,
    0x0000000000035cfe, 0x00000000000002d0};

static ct__i128 series(const int64_t *coefficient, ct__i128 r) {
    ct__i128 square = r * r >> Q, sum = 0;
    for (int n = TERMS - 1; n >= 0; n--)
        sum = coefficient[n] - (sum * square >> Q);
    return sum;
}

/* sin(|x| + quarters pi / 2). The rest of |x| is exact but for 2^31 times the last place of pi. */
static ct__i128 sine_from(int64_t x, unsigned quarters) {
    uint64_t a = x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
    ct__u128 turns = ((ct__u128)a * TWO_OVER_PI_Q64 + ((ct__u128)1 << 95)) >> 96;
    ct__i128 rest = (ct__i128)(((ct__u128)a << 64) - turns * HALF_PI_Q96) >> (96 - Q);
    quarters += (unsigned)turns;
    ct__i128 value = quarters & 1 ? series(cosine, rest) : rest * series(sine, rest) >> Q;
    return quarters & 2 ? -value : value;
}

bool ct__fixed_sin(int64_t x, int64_t *y) {
    ct__i128 value = sine_from(x, 0);
    return ct__fixed_narrow(x < 0 ? -value : value, Q - CT__FIXED_BITS, y);
}

bool ct__fixed_cos(int64_t x, int64_t *y) {
    return ct__fixed_narrow(sine_from(x, 1), Q - CT__FIXED_BITS, y);
}
