/* How far a value may lie from the exact one. */

#include "autodiff/exact.h"

#include <float.h>
#include <math.h>

/* Rows whose value is allowed more than their kind: formulas of several rounded steps. */
static const struct {
    enum ct_op op;
    long double bar;
    const char *reason;
} bars[] = {
    {CT_OP_softplus, 2, "max(x, 0) + log1p(exp(-|x|)): three roundings (measured 1.05)"},
    {CT_OP_log_sigmoid, 2, "softplus turned round (measured 1.05)"},
    {CT_OP_silu, 2, "x times a rounded sigmoid (measured 1.5)"},
    {CT_OP_normcdf, 2, "half of erfc, whose argument is rounded (measured 1.95)"},
    {CT_OP_gelu, 5,
     "an exponential times a quotient or a polynomial (measured 4.7 in f32, 3.9 in f64)"},
    {CT_OP_normpdf, 2, "exp of a rounded square; more far out, see magnified()"},
    {CT_OP_gelu_tanh, 2,
     "x times a rounded sigmoid of a rounded cubic; more below 0, see magnified()"},
    {CT_OP_floor_div, 2, "NumPy's steps: the quotient of a rounded difference"},
    {CT_OP_celu, 3, "expm1 of a rounded quotient, times a number; more where that is above 0"},
    {CT_OP_selu, 3, "expm1 times a rounded number (measured 2.2)"},
    {CT_OP_softsign, 2, "a quotient by a rounded sum"},
    {CT_OP_hard_sigmoid, 2, "a sum and a quotient"},
    {CT_OP_hard_swish, 2, "a sum, a product and a quotient"},
    {CT_OP_mish, 4, "x times tanh of a rounded softplus"},
    {CT_OP_erfc, 2, "exp(-x^2) times a polynomial"},
    {CT_OP_lgamma, 2, "x log(x) - x far out (measured 1.1); near its roots see cancelled()"},
    {CT_OP_digamma, 2, "sums of quotients (measured 1.2); near its roots see cancelled()"},
    {CT_OP_polygamma, 3, "sums of powers, times a factorial (measured 2.1); see cancelled() too"},
    {CT_OP_summed, 1, "a sum of a few items"},
    {CT_OP_scattered, 1, "a sum of a few items"},
    {CT_OP_added_at, 1, "a sum of a few items"},
    {CT_OP_folded, 1, "a sum of a few items"},
    {CT_OP_cumsum, 1, "a sum of a few items"},
};

long double ct__ulp_bar(enum ct_op op) {
    for (size_t i = 0; i < sizeof bars / sizeof *bars; i++) {
        if (bars[i].op == op)
            return bars[i].bar;
    }
    switch (ct_op_kind_of(op)) {
    case CT_KIND_LINEAR: // moves items
        return 0;
    case CT_KIND_BILINEAR:
        return 2;
    case CT_KIND_GENERAL: // several steps over samples of a few items (measured 1.8)
        return 8;
    default:
        return 1;
    }
}

/* An exponential magnifies the rounding of its argument by the argument's size: what that adds to
   the bar. */
static long double magnified(enum ct_op op, const double x[3]) {
    long double a = (long double)x[0];
    if (op == CT_OP_normpdf)
        return a * a;
    if (op == CT_OP_celu && (long double)x[0] / (long double)x[1] > 0)
        return a / (long double)x[1];
    if (op == CT_OP_gelu_tanh && a < 0)
        return 3 * fabsl(1.6L * a * (1 + 0.0447L * a * a));
    return 0;
}

/* A composed formula loses digits where a factor is subnormal: there only the size of the result is
   held to. */
static bool composed_tail(enum ct_op op, const ct_scalar *scalar, const double x[3],
                          long double exact, double result) {
    long double smallest = scalar == CT_F32 ? 0x1p-126L : 0x1p-1022L;
    return ct__ulp_bar(op) > 1 && fabsl(exact) < smallest * fmaxl(1, fabsl((long double)x[0])) &&
           fabsl((long double)result - exact) <= smallest;
}

/* The gamma function's logarithm and its derivatives have roots, where large terms cancel: there
   the error is measured by those terms. */
static bool cancelled(enum ct_op op, const ct_scalar *scalar, const double x[3], long double exact,
                      double result) {
    long double size = 1, a = (long double)x[op == CT_OP_polygamma];
    const long double turned[3] = {(long double)x[0], a - floorl(a)};
    if (op == CT_OP_lgamma)
        size = fabsl(lgammal(fabsl(a)));
    else if (op == CT_OP_digamma || (op == CT_OP_polygamma && x[0] < 1))
        size = logl(1 + fabsl(a));
    else if (op == CT_OP_polygamma && a < 0)
        size = fabsl(ct__exact(op, turned));
    else
        return false;
    size = fmaxl(size, 1);
    long double place = ldexpl(size, scalar == CT_F32 ? -FLT_MANT_DIG : -DBL_MANT_DIG);
    return size > fabsl(exact) && fabsl((long double)result - exact) <= ct__ulp_bar(op) * place;
}

/* SLEEF 3.5.1 lets pow overflow at e^709.782711, a little before f64 does: in the largest 2e-9 of
   the range another formula takes its place, whose error stays below 2. */
static bool largest_powers(enum ct_op op, const ct_scalar *scalar, long double exact,
                           double result) {
    return op == CT_OP_pow && scalar == CT_F64 && fabsl(exact) > 0x1p1024L * (1 - 2e-9L) &&
           ct__ulp_error(scalar, result, exact) <= 2;
}

bool ct__value_is_right(enum ct_op op, const ct_scalar *scalar, const double x[3], double result,
                        long double exact) {
    long double error = ct__ulp_error(scalar, result, exact), bar = ct__ulp_bar(op);
    return error <= bar || error <= bar + magnified(op, x) ||
           composed_tail(op, scalar, x, exact, result) ||
           largest_powers(op, scalar, exact, result) || cancelled(op, scalar, x, exact, result);
}
