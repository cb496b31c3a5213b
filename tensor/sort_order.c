#include "tensor/sort.h"

#include "tensor/fail.h"

#include <string.h>

// The built-in types are ordered by unsigned numbers: equal where items are equal (0 and -0, all
// NaN), and largest for NaN. Other types have loops.

static inline uint64_t key_f32(const void *item) {
    uint32_t bits;
    memcpy(&bits, item, sizeof bits);
    uint32_t size = bits & 0x7fffffff;
    if (size > 0x7f800000)
        return 0xffffffff;
    if (size == 0)
        return 0x80000000;
    return bits >> 31 ? ~bits : bits | 0x80000000;
}

static inline uint64_t key_f64(const void *item) {
    const uint64_t sign = (uint64_t)1 << 63;
    uint64_t bits;
    memcpy(&bits, item, sizeof bits);
    uint64_t size = bits & ~sign;
    if (size > (uint64_t)0x7ff << 52)
        return UINT64_MAX;
    if (size == 0)
        return sign;
    return bits & sign ? ~bits : bits | sign;
}

static inline uint64_t key_i32(const void *item) {
    uint32_t bits;
    memcpy(&bits, item, sizeof bits);
    return bits ^ 0x80000000;
}

static inline uint64_t key_i64(const void *item) {
    uint64_t bits;
    memcpy(&bits, item, sizeof bits);
    return bits ^ (uint64_t)1 << 63;
}

static inline uint64_t key_bool(const void *item) {
    return *(const char *)item != 0;
}

static const struct {
    const ct_scalar *scalar;
    ct__key_fn *key;
    bool narrow;
} keyed[] = {{CT_F32, key_f32, true},
             {CT_F64, key_f64, false},
             {CT_I32, key_i32, true},
             {CT_I64, key_i64, false},
             {CT_BOOL, key_bool, true}};

enum { KEYED = sizeof keyed / sizeof *keyed };

ct_status ct__find_order(const char *who, const ct_scalar *scalar, bool descending,
                         struct ct__order *order) {
    const ct_scalar *number = scalar;
    *order = (struct ct__order){.scalar = scalar, .descending = descending};
    while (number->base) // duals are ordered by their value, which comes first
        number = number->base;
    for (int i = 0; i < KEYED; i++)
        if (keyed[i].scalar == number) {
            order->key = keyed[i].key;
            order->narrow = keyed[i].narrow;
            return CT_OK;
        }
    order->less = ct_scalar_loop(scalar, CT_OP_less);
    order->differs = ct_scalar_loop(scalar, CT_OP_not_equal);
    if (order->less)
        return CT_OK;
    return who ? ct__fail(CT_EDTYPE, who, "%s has no less", scalar->name) : CT_EDTYPE;
}

// --- one pair

static bool holds(ct_loop_fn *loop, enum ct_op op, const ct_scalar *scalar, const char *a,
                  const char *b) {
    char result = 0;
    char *const ptr[] = {(char *)(uintptr_t)a, (char *)(uintptr_t)b, &result};
    const ptrdiff_t step[] = {0, 0, 0};
    loop(scalar, op, 1, ptr, step);
    return result != 0;
}

static bool is_nan(const struct ct__order *o, const char *a) {
    return o->differs && holds(o->differs, CT_OP_not_equal, o->scalar, a, a);
}

static bool is_less(const struct ct__order *o, const char *a, const char *b) {
    if (o->key)
        return o->key(a) < o->key(b);
    return holds(o->less, CT_OP_less, o->scalar, a, b) || (is_nan(o, b) && !is_nan(o, a));
}

bool ct__precedes(const struct ct__order *order, const char *a, const char *b) {
    return order->descending ? is_less(order, b, a) : is_less(order, a, b);
}

// --- many

#define INLINE static inline __attribute__((always_inline))

INLINE void make_keys(ct__key_fn *key, size_t n, const char *items, ptrdiff_t step, uint64_t flip,
                      uint64_t *keys) {
    for (size_t i = 0; i < n; i++)
        keys[i] = key(items + (ptrdiff_t)i * step) ^ flip;
}

void ct__make_keys(const struct ct__order *order, size_t n, const char *items, ptrdiff_t step,
                   uint64_t *keys) {
    uint64_t flip = !order->descending ? 0 : order->narrow ? UINT32_MAX : UINT64_MAX;
    if (order->key == key_f32)
        make_keys(key_f32, n, items, step, flip, keys);
    else if (order->key == key_f64)
        make_keys(key_f64, n, items, step, flip, keys);
    else
        make_keys(order->key, n, items, step, flip, keys);
}

void ct__find_nans(const struct ct__order *order, size_t n, const char *items, char *flags) {
    ptrdiff_t size = (ptrdiff_t)order->scalar->size;
    char *from = (char *)(uintptr_t)items;
    char *const ptr[] = {from, from, flags};
    const ptrdiff_t step[] = {size, size, 1};
    if (order->differs)
        order->differs(order->scalar, CT_OP_not_equal, n, ptr, step);
    else
        memset(flags, 0, n);
}
