/* The scalar type: conversions, and a table of functions of one number with loops around them. */

#include "fixed/fixed_impl.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- conversions --- */

static int64_t read_item(const void *item) {
    int64_t x;
    memcpy(&x, item, sizeof x);
    return x;
}

static double fixed_to_double(const ct_scalar *self, const void *item) {
    (void)self;
    return (double)read_item(item) * 0x1p-32;
}

/* The product by a power of two is exact, or far too large. */
static bool fixed_from_double(const ct_scalar *self, void *item, double value) {
    double units = rint(value * 0x1p32);
    (void)self;
    if (!(units >= -0x1p63 && units < 0x1p63)) // NaN fails as well
        return false;
    int64_t x = (int64_t)units;
    memcpy(item, &x, sizeof x);
    return true;
}

static bool fixed_to_i64(const ct_scalar *self, const void *item, int64_t *value) {
    int64_t x = read_item(item);
    (void)self;
    if (x & (CT__FIXED_ONE - 1))
        return false;
    *value = x / CT__FIXED_ONE;
    return true;
}

static bool fixed_from_i64(const ct_scalar *self, void *item, int64_t value) {
    (void)self;
    if (value < INT32_MIN || value > INT32_MAX)
        return false;
    int64_t x = value * CT__FIXED_ONE;
    memcpy(item, &x, sizeof x);
    return true;
}

/* All decimals, of which there are at most 32. */
static int fixed_format(const ct_scalar *self, const void *item, char *text, size_t size) {
    char decimals[40];
    int64_t x = read_item(item);
    uint64_t units = x < 0 ? 0 - (uint64_t)x : (uint64_t)x, rest = units & (CT__FIXED_ONE - 1);
    size_t at = 0;
    (void)self;
    if (rest)
        decimals[at++] = '.';
    for (; rest; rest &= CT__FIXED_ONE - 1) {
        rest *= 10;
        decimals[at++] = (char)('0' + (rest >> CT__FIXED_BITS));
    }
    decimals[at] = '\0';
    return snprintf(text, size, "%s%" PRIu64 "%s", x < 0 ? "-" : "", units >> CT__FIXED_BITS,
                    decimals);
}

static bool fixed_equal(const ct_scalar *self, const void *a, const void *b) {
    (void)self;
    return read_item(a) == read_item(b);
}

/* --- arithmetic: false where there is no result --- */

static bool negative(int64_t x, int64_t *y) {
    return !__builtin_sub_overflow(0, x, y);
}

static bool absolute(int64_t x, int64_t *y) {
    *y = x;
    return x >= 0 || negative(x, y);
}

static bool add(int64_t x, int64_t z, int64_t *y) {
    return !__builtin_add_overflow(x, z, y);
}

static bool subtract(int64_t x, int64_t z, int64_t *y) {
    return !__builtin_sub_overflow(x, z, y);
}

static bool multiply(int64_t x, int64_t z, int64_t *y) {
    return ct__fixed_narrow((ct__i128)x * z, CT__FIXED_BITS, y);
}

static bool divide(int64_t x, int64_t z, int64_t *y) {
    if (z == 0)
        return false;
    ct__u128 n = (ct__u128)(x < 0 ? 0 - (uint64_t)x : (uint64_t)x) << CT__FIXED_BITS;
    ct__u128 d = z < 0 ? 0 - (uint64_t)z : (uint64_t)z, quotient = n / d, twice = 2 * (n % d);
    ct__i128 units = (ct__i128)(quotient + (twice > d || (twice == d && quotient & 1)));
    return ct__fixed_fits((x < 0) == (z < 0) ? units : -units, y);
}

static bool maximum(int64_t x, int64_t z, int64_t *y) {
    *y = x > z ? x : z;
    return true;
}

static bool minimum(int64_t x, int64_t z, int64_t *y) {
    *y = x < z ? x : z;
    return true;
}

/* --- to whole numbers --- */

static bool floored(int64_t x, int64_t *y) {
    *y = x & ~(CT__FIXED_ONE - 1);
    return true;
}

static bool ceiling(int64_t x, int64_t *y) {
    int64_t up;
    return add(x, CT__FIXED_ONE - 1, &up) && floored(up, y);
}

static bool truncated(int64_t x, int64_t *y) {
    return x < 0 ? ceiling(x, y) : floored(x, y);
}

static bool rounded(int64_t x, int64_t *y) {
    return ct__fixed_fits(ct__fixed_nearest(x, CT__FIXED_BITS) * CT__FIXED_ONE, y);
}

/* Of floor division, which the quotient's sign decides. */
static bool floor_divide(int64_t x, int64_t z, int64_t *y) {
    if (z == 0)
        return false;
    ct__i128 quotient = (ct__i128)x / z;
    quotient -= x % (ct__i128)z != 0 && (x < 0) != (z < 0);
    return ct__fixed_fits(quotient * CT__FIXED_ONE, y);
}

/* Of truncating division: it has the sign of x. */
static bool remainder_of(int64_t x, int64_t z, int64_t *y) {
    if (z == 0)
        return false;
    *y = z == -1 ? 0 : x % z;
    return true;
}

static bool modulo(int64_t x, int64_t z, int64_t *y) {
    int64_t rest;
    if (!remainder_of(x, z, &rest))
        return false;
    *y = rest != 0 && (rest < 0) != (z < 0) ? rest + z : rest;
    return true;
}

static bool copysign_of(int64_t x, int64_t z, int64_t *y) {
    *y = x;
    return (x < 0) == (z < 0) || negative(x, y);
}

/* --- loops --- */

static ct__fixed_unary *const unary[CT_OP_COUNT] = {
    [CT_OP_neg] = negative,
    [CT_OP_abs] = absolute,
    [CT_OP_floor] = floored,
    [CT_OP_ceil] = ceiling,
    [CT_OP_trunc] = truncated,
    [CT_OP_round] = rounded,
    [CT_OP_sqrt] = ct__fixed_sqrt,
    [CT_OP_rsqrt] = ct__fixed_rsqrt,
    [CT_OP_exp] = ct__fixed_exp,
    [CT_OP_exp2] = ct__fixed_exp2,
    [CT_OP_expm1] = ct__fixed_expm1,
    [CT_OP_log] = ct__fixed_log,
    [CT_OP_log2] = ct__fixed_log2,
    [CT_OP_log1p] = ct__fixed_log1p,
    [CT_OP_sin] = ct__fixed_sin,
    [CT_OP_cos] = ct__fixed_cos,
    [CT_OP_tanh] = ct__fixed_tanh,
    [CT_OP_sigmoid] = ct__fixed_sigmoid,
    [CT_OP_softplus] = ct__fixed_softplus,
    [CT_OP_silu] = ct__fixed_silu,
};

static ct__fixed_binary *const binary[CT_OP_COUNT] = {
    [CT_OP_add] = add,
    [CT_OP_sub] = subtract,
    [CT_OP_mul] = multiply,
    [CT_OP_div] = divide,
    [CT_OP_maximum] = maximum,
    [CT_OP_minimum] = minimum,
    [CT_OP_mod] = modulo,
    [CT_OP_fmod] = remainder_of,
    [CT_OP_floor_div] = floor_divide,
    [CT_OP_copysign] = copysign_of,
};

static size_t run_unary(const ct_scalar *self, enum ct_op op, size_t n, char *const ptr[],
                        const ptrdiff_t step[]) {
    ct__fixed_unary *f = unary[op];
    (void)self;
    for (size_t i = 0; i < n; i++) {
        int64_t y;
        if (!f(read_item(ptr[0] + (ptrdiff_t)i * step[0]), &y))
            return i;
        memcpy(ptr[1] + (ptrdiff_t)i * step[1], &y, sizeof y);
    }
    return n;
}

static size_t run_binary(const ct_scalar *self, enum ct_op op, size_t n, char *const ptr[],
                         const ptrdiff_t step[]) {
    ct__fixed_binary *f = binary[op];
    (void)self;
    for (size_t i = 0; i < n; i++) {
        int64_t y;
        if (!f(read_item(ptr[0] + (ptrdiff_t)i * step[0]),
               read_item(ptr[1] + (ptrdiff_t)i * step[1]), &y))
            return i;
        memcpy(ptr[2] + (ptrdiff_t)i * step[2], &y, sizeof y);
    }
    return n;
}

static bool holds(enum ct_op op, int64_t x, int64_t z) {
    return op == CT_OP_equal        ? x == z
           : op == CT_OP_not_equal  ? x != z
           : op == CT_OP_less       ? x < z
           : op == CT_OP_less_equal ? x <= z
           : op == CT_OP_greater    ? x > z
                                    : x >= z;
}

static size_t run_compare(const ct_scalar *self, enum ct_op op, size_t n, char *const ptr[],
                          const ptrdiff_t step[]) {
    (void)self;
    for (size_t i = 0; i < n; i++)
        ptr[2][(ptrdiff_t)i * step[2]] = holds(op, read_item(ptr[0] + (ptrdiff_t)i * step[0]),
                                               read_item(ptr[1] + (ptrdiff_t)i * step[1]));
    return n;
}

static ct_loop_fn *fixed_loop(const ct_scalar *self, enum ct_op op) {
    (void)self;
    if (ct_op_kind_of(op) == CT_KIND_COMPARE)
        return run_compare;
    return unary[op] ? run_unary : binary[op] ? run_binary : NULL;
}

const ct_scalar ct_scalar_fixed = {
    .name = "fixed",
    .size = sizeof(int64_t),
    .align = _Alignof(int64_t),
    .traits = CT_NUMERIC | CT_REAL | CT_ORDERED | CT_PLAIN | CT_CHECKED,
    .to_double = fixed_to_double,
    .from_double = fixed_from_double,
    .format = fixed_format,
    .equal = fixed_equal,
    .loop = fixed_loop,
    .fold = {[CT_FOLD_SUM] = ct__fixed_sum},
    .matmul = ct__fixed_matmul,
    .to_i64 = fixed_to_i64,
    .from_i64 = fixed_from_i64,
};
