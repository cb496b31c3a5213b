/* Roots by integers, rounded to nearest. */

#include "fixed/fixed_impl.h"

/* The largest r with r * r <= n, bit by bit from the top. */
static ct__u128 root(ct__u128 n) {
    ct__u128 r = 0, bit = (ct__u128)1 << 126;
    while (bit > n)
        bit >>= 2;
    for (; bit; bit >>= 2) {
        bool set = n >= r + bit;
        n -= set ? r + bit : 0;
        r = (r >> 1) + (set ? bit : 0);
    }
    return r;
}

/* sqrt(x / 2^32) 2^32 = sqrt(x 2^32), which is never half way between two integers. */
bool ct__fixed_sqrt(int64_t x, int64_t *y) {
    if (x < 0)
        return false;
    ct__u128 n = (ct__u128)x << CT__FIXED_BITS, r = root(n);
    *y = (int64_t)r + (n - r * r > r);
    return true;
}

/* 2^32 / sqrt(x / 2^32) = sqrt(2^96 / x) */
bool ct__fixed_rsqrt(int64_t x, int64_t *y) {
    if (x <= 0)
        return false;
    ct__u128 r = root(((ct__u128)1 << 96) / (uint64_t)x), middle = 2 * r + 1;
    *y = (int64_t)r + ((middle * middle * (uint64_t)x) >> 98 == 0);
    return true;
}
