/* What the suites of checked integers share: their ranges, items as int64_t, and 128 bits for oracles. */
#ifndef CT_INTEGER_TOOLS_H
#define CT_INTEGER_TOOLS_H

#include "tensor/ct_scalar.h"

#include <check.h>

__extension__ typedef __int128 wide;

/* As ck_assert, which writes a mark for every call: too slow for millions. */
#define require(...)                                                                               \
    do                                                                                             \
        if (!(__VA_ARGS__))                                                                        \
            ck_abort_msg("%s", #__VA_ARGS__);                                                      \
    while (0)
#define require_msg(condition, ...)                                                                \
    do                                                                                             \
        if (!(condition))                                                                          \
            ck_abort_msg(__VA_ARGS__);                                                             \
    while (0)

static const ct_scalar *const integers[] = {CT_I32, CT_I64};

static inline int64_t highest(const ct_scalar *scalar) {
    return scalar == CT_I32 ? INT32_MAX : INT64_MAX;
}

static inline int64_t lowest(const ct_scalar *scalar) {
    return -highest(scalar) - 1;
}

static inline bool fits(const ct_scalar *scalar, wide x) {
    return x >= lowest(scalar) && x <= highest(scalar);
}

static inline int64_t get(const ct_scalar *scalar, const void *item) {
    int64_t x = 42;
    require(scalar->to_i64(scalar, item, &x));
    return x;
}

static inline void put(const ct_scalar *scalar, void *item, int64_t x) {
    require(scalar->from_i64(scalar, item, x));
}

static inline uint64_t random_bits(uint64_t *state) {
    *state += 0x9e3779b97f4a7c15u;
    uint64_t z = (*state ^ (*state >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

#endif
