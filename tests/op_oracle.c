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
#define CMP(id, WORD, value, oracle, doc) [CT_OP_##id] = {2, {R(-3, 3), R(-3, 3)}, CALLS(id)},
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

bool op_takes_mask(enum ct_op op, int argument) {
    return ct_op_kind_of(op) == CT_KIND_SELECT && argument == 0;
}

bool op_gives_mask(enum ct_op op) {
    return ct_op_kind_of(op) == CT_KIND_COMPARE;
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
