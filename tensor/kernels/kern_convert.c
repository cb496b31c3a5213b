/* Blocks of numbers on their way between the types of the core, compiled once per instruction set: the
   loops are plain C that a compiler makes vectors of. Their results are exact or rounded once, so
   their bits cannot depend on it. */

#include "tensor/convert_blocks.h"

#include "tensor/kernels/vec.h"
#include "tensor/kernels/vec_lanes.h"

#include <float.h>
#include <math.h>

/* --- reading. Each loop stands twice, once for dense items. --- */

#define INLINE static inline __attribute__((always_inline))

#define READ(name, type, member, made, value)                                                      \
    INLINE void name##_by(size_t n, const char *from, ptrdiff_t step, made *to) {                  \
        for (size_t i = 0; i < n; i++) {                                                           \
            type x;                                                                                \
            memcpy(&x, from + (ptrdiff_t)i * step, sizeof x);                                      \
            to[i] = (made)(value);                                                                 \
        }                                                                                          \
    }                                                                                              \
    static void name(size_t n, const char *from, ptrdiff_t step, union ct__numbers *to) {          \
        if (step == (ptrdiff_t)sizeof(type))                                                       \
            name##_by(n, from, (ptrdiff_t)sizeof(type), to->member);                               \
        else                                                                                       \
            name##_by(n, from, step, to->member);                                                  \
    }
READ(reals_of_f32, float, reals, double, x)
READ(reals_of_f64, double, reals, double, x)
READ(reals_of_i32, int32_t, reals, double, x)
READ(reals_of_bool, unsigned char, reals, double, x != 0)
READ(wholes_of_i32, int32_t, wholes, int64_t, x)
READ(wholes_of_i64, int64_t, wholes, int64_t, x)
READ(wholes_of_bool, unsigned char, wholes, int64_t, x != 0)

/* --- writing reals. Tensors are aligned, so their items may be written as what they are. --- */

static size_t f64_from_reals(size_t n, const union ct__numbers *from, char *to) {
    memcpy(to, from->reals, n * sizeof *from->reals);
    return n;
}

static size_t f64_from_wholes(size_t n, const union ct__numbers *from, char *to) {
    double *x = (double *)(void *)to;
    for (size_t i = 0; i < n; i++)
        x[i] = (double)from->wholes[i];
    return n;
}

/* Loops over a whole block have a constant count, which needs no check on the way; hence the two calls
   of each of the inlined ones below. */
enum { WHOLE_BLOCK = CT__CONVERT_BLOCK };

/* Rounds to floats; whether one of them became infinite. */
INLINE bool narrow(size_t n, const double *x, float *y) {
    int overflows = 0;
    for (size_t i = 0; i < n; i++) {
        y[i] = (float)x[i];
        overflows |= (fabsf(y[i]) > FLT_MAX) & (fabs(x[i]) <= DBL_MAX);
    }
    return overflows;
}

static bool narrow_block(size_t n, const union ct__numbers *from, char *to) {
    float *y = (float *)(void *)to;
    return n == WHOLE_BLOCK ? narrow(WHOLE_BLOCK, from->reals, y) : narrow(n, from->reals, y);
}

static size_t f32_overflowing(size_t n, const union ct__numbers *from, char *to) {
    narrow_block(n, from, to);
    return n;
}

static size_t f32_from_reals(size_t n, const union ct__numbers *from, char *to) {
    size_t good = narrow_block(n, from, to) ? 0 : n;
    while (good < n && !(isinf((float)from->reals[good]) && !isinf(from->reals[good])))
        good++;
    return good;
}

static size_t f32_from_wholes(size_t n, const union ct__numbers *from, char *to) {
    float *x = (float *)(void *)to; /* one rounding, not two by way of a double */
    for (size_t i = 0; i < n; i++)
        x[i] = (float)from->wholes[i];
    return n;
}

/* --- writing integers --- */

static bool is_whole_in(double x, double low, double end) {
    return x >= low && x < end && x == trunc(x);
}

INLINE bool all_wholes(size_t n, const double *x, double low, double end) {
    int misfits = 0;
    for (size_t i = 0; i < n; i++)
        misfits |= !((x[i] >= low) & (x[i] < end) & (x[i] == trunc(x[i])));
    return !misfits;
}

/* How many whole numbers in [low, end) stand at the beginning. */
static size_t count_wholes(size_t n, const double *x, double low, double end) {
    bool all = n == WHOLE_BLOCK ? all_wholes(WHOLE_BLOCK, x, low, end) : all_wholes(n, x, low, end);
    size_t good = all ? n : 0;
    while (good < n && is_whole_in(x[good], low, end))
        good++;
    return good;
}

static size_t i64_from_reals(size_t n, const union ct__numbers *from, char *to) {
    int64_t *x = (int64_t *)(void *)to;
    size_t good = count_wholes(n, from->reals, -0x1p63, 0x1p63);
    for (size_t i = 0; i < good; i++)
        x[i] = (int64_t)from->reals[i];
    return good;
}

INLINE void to_i32(size_t n, const double *x, int32_t *y) {
    for (size_t i = 0; i < n; i++)
        y[i] = (int32_t)x[i];
}

static size_t i32_from_reals(size_t n, const union ct__numbers *from, char *to) {
    int32_t *x = (int32_t *)(void *)to;
    size_t good = count_wholes(n, from->reals, -0x1p31, 0x1p31);
    if (good == WHOLE_BLOCK)
        to_i32(WHOLE_BLOCK, from->reals, x);
    else
        to_i32(good, from->reals, x);
    return good;
}

static size_t i64_truncated(size_t n, const union ct__numbers *from, char *to) {
    int64_t *x = (int64_t *)(void *)to;
    for (size_t i = 0; i < n; i++) {
        double y = from->reals[i];
        x[i] = isnan(y) ? 0 : y < -0x1p63 ? INT64_MIN : y >= 0x1p63 ? INT64_MAX : (int64_t)y;
    }
    return n;
}

static size_t i32_truncated(size_t n, const union ct__numbers *from, char *to) {
    int32_t *x = (int32_t *)(void *)to;
    for (size_t i = 0; i < n; i++) {
        double y = from->reals[i]; /* NaN becomes 0; each step is a choice without a jump */
        y = y == y ? y : 0;
        y = y < INT32_MIN ? INT32_MIN : y;
        y = y > INT32_MAX ? INT32_MAX : y;
        x[i] = (int32_t)y;
    }
    return n;
}

static size_t i64_from_wholes(size_t n, const union ct__numbers *from, char *to) {
    memcpy(to, from->wholes, n * sizeof *from->wholes);
    return n;
}

static size_t i32_from_wholes(size_t n, const union ct__numbers *from, char *to) {
    int32_t *x = (int32_t *)(void *)to;
    int64_t changed = 0;
    for (size_t i = 0; i < n; i++) {
        x[i] = (int32_t)(uint32_t)(uint64_t)from->wholes[i];
        changed |= x[i] ^ from->wholes[i];
    }
    size_t good = changed ? 0 : n;
    while (good < n && x[good] == from->wholes[good])
        good++;
    return good;
}

static size_t i32_saturated(size_t n, const union ct__numbers *from, char *to) {
    int32_t *x = (int32_t *)(void *)to;
    for (size_t i = 0; i < n; i++) {
        int64_t y = from->wholes[i];
        x[i] = (int32_t)(y < INT32_MIN ? INT32_MIN : y > INT32_MAX ? INT32_MAX : y);
    }
    return n;
}

/* --- writing truth values --- */

static size_t bool_from_reals(size_t n, const union ct__numbers *from, char *to) {
    int misfits = 0;
    for (size_t i = 0; i < n; i++) {
        double x = from->reals[i];
        misfits |= (x != 0) & (x != 1);
        to[i] = x != 0;
    }
    size_t good = misfits ? 0 : n;
    while (good < n && (from->reals[good] == 0 || from->reals[good] == 1))
        good++;
    return good;
}

static size_t bool_from_wholes(size_t n, const union ct__numbers *from, char *to) {
    for (size_t i = 0; i < n; i++) {
        int64_t x = from->wholes[i];
        if (x != 0 && x != 1)
            return i;
        to[i] = x != 0;
    }
    return n;
}

static size_t truth_of_reals(size_t n, const union ct__numbers *from, char *to) {
    for (size_t i = 0; i < n; i++)
        to[i] = from->reals[i] != 0;
    return n;
}

static size_t truth_of_wholes(size_t n, const union ct__numbers *from, char *to) {
    for (size_t i = 0; i < n; i++)
        to[i] = from->wholes[i] != 0;
    return n;
}

const struct ct__lane CT_ISA_NAME(ct__lanes)[] = {
    {CT_F32,
     reals_of_f32,
     NULL,
     {f32_from_reals, f32_overflowing},
     {f32_from_wholes, f32_from_wholes}},
    {CT_F64,
     reals_of_f64,
     NULL,
     {f64_from_reals, f64_from_reals},
     {f64_from_wholes, f64_from_wholes}},
    {CT_I32,
     reals_of_i32,
     wholes_of_i32,
     {i32_from_reals, i32_truncated},
     {i32_from_wholes, i32_saturated}},
    {CT_I64,
     NULL,
     wholes_of_i64,
     {i64_from_reals, i64_truncated},
     {i64_from_wholes, i64_from_wholes}},
    {CT_BOOL,
     reals_of_bool,
     wholes_of_bool,
     {bool_from_reals, truth_of_reals},
     {bool_from_wholes, truth_of_wholes}},
};
