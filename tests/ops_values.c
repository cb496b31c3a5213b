#include "ops_parts.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "case_tools.h"
#include "ct_test.h"

enum { SAMPLES = 3000 };

/* ---- values */

/* Rows whose value is allowed more than 1 unit in the last place: formulas of several rounded
   steps. */
static const struct {
    enum ct_op op;
    long double bar;
    const char *reason;
} bars[] = {
    {CT_OP_softplus, 2, "max(x, 0) + log1p(exp(-|x|)): three roundings (measured 1.05)"},
    {CT_OP_log_sigmoid, 2, "softplus turned round (measured 1.05)"},
    {CT_OP_silu, 2, "x times a rounded sigmoid (measured 1.5)"},
    {CT_OP_normcdf, 2, "half of erfc, whose argument is rounded (measured 1.95)"},
    {CT_OP_gelu, 4, "an exponential times a quotient or a polynomial (measured 3.9)"},
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
};

static long double bar_of(enum ct_op op) {
    for (size_t i = 0; i < COUNT(bars); i++) {
        if (bars[i].op == op)
            return bars[i].bar;
    }
    return 1;
}

/* An exponential magnifies the rounding of its argument by the argument's size: what that adds to
   the bar. */
static long double magnified(enum ct_op op, const double x[MOST_ARGUMENTS]) {
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
static bool composed_tail(enum ct_op op, const ct_scalar *scalar, const double x[MOST_ARGUMENTS],
                          long double exact, double result) {
    long double smallest = scalar == CT_F32 ? 0x1p-126L : 0x1p-1022L;
    return bar_of(op) > 1 && fabsl(exact) < smallest * fmaxl(1, fabsl((long double)x[0])) &&
           fabsl((long double)result - exact) <= smallest;
}

/* The gamma function's logarithm and its derivatives have roots, where large terms cancel: there
   the error is measured by those terms. */
static bool cancelled(enum ct_op op, const ct_scalar *scalar, const double x[MOST_ARGUMENTS],
                      long double exact, double result) {
    long double size = 1, a = (long double)x[op == CT_OP_polygamma];
    double turned[MOST_ARGUMENTS] = {x[0], (double)(a - floorl(a))};
    if (op == CT_OP_lgamma)
        size = fabsl(lgammal(fabsl(a)));
    else if (op == CT_OP_digamma || (op == CT_OP_polygamma && x[0] < 1))
        size = logl(1 + fabsl(a));
    else if (op == CT_OP_polygamma && a < 0)
        size = fabsl(op_exact(op, turned));
    else
        return false;
    size = fmaxl(size, 1);
    long double place = ldexpl(size, scalar == CT_F32 ? -FLT_MANT_DIG : -DBL_MANT_DIG);
    return size > fabsl(exact) && fabsl((long double)result - exact) <= bar_of(op) * place;
}

/* SLEEF 3.5.1 lets pow overflow at e^709.782711, a little before f64 does: in the largest 2e-9 of
   the range another formula takes its place, whose error stays below 2. */
static bool largest_powers(enum ct_op op, const ct_scalar *scalar, long double exact,
                           double result) {
    return op == CT_OP_pow && scalar == CT_F64 && fabsl(exact) > 0x1p1024L * (1 - 2e-9L) &&
           ulp_error(scalar, result, exact) <= 2;
}

static void check_value(enum ct_op op, const ct_scalar *scalar, const double x[MOST_ARGUMENTS],
                        double result) {
    long double exact = op_exact(op, x);
    long double error = ulp_error(scalar, result, exact);
    if (error <= bar_of(op) || error <= bar_of(op) + magnified(op, x) ||
        composed_tail(op, scalar, x, exact, result) || largest_powers(op, scalar, exact, result) ||
        cancelled(op, scalar, x, exact, result))
        return;
    ck_abort_msg("%s: of %s (%a, %a, %a) is %a and not %La: off by %.3Lg units in the last place "
                 "and the bar is %.3Lg (bars[] in tests/ops_values.c)",
                 ct_op_name(op), scalar->name, x[0], x[1], x[2], result, exact, error, bar_of(op));
}

/* Applies an op to arrays of doubles, which must be items of the type, and checks every item. */
static void check_values(enum ct_op op, const ct_scalar *scalar, size_t count,
                         double *const values[MOST_ARGUMENTS]) {
    int arity = op_oracle(op)->arity;
    ct_tensor *in[MOST_ARGUMENTS];
    for (int i = 0; i < arity; i++) {
        in[i] = ct_from_doubles(op_takes_mask(op, i) ? CT_BOOL : scalar, 1,
                                (int64_t[]){(int64_t)count}, count, values[i]);
        ck_assert_msg(in[i] != NULL, "%s: %s", ct_op_name(op), ct_error()->message);
    }
    ct_tensor *y = apply_row(op, in);
    ck_assert_ptr_eq(ct_dtype(y), op_gives_mask(op) ? CT_BOOL : scalar);
    double *results = calloc(count, sizeof *results);
    ck_assert_ptr_nonnull(results);
    ck_assert_int_eq(ct_to_doubles(y, count, results), CT_OK);
    for (size_t k = 0; k < count; k++) {
        double x[MOST_ARGUMENTS] = {0};
        for (int i = 0; i < arity; i++)
            x[i] = values[i][k];
        check_value(op, scalar, x, results[k]);
    }
    free(results);
    ct_free(y);
    free_all(arity, in);
}

static double rounded(const ct_scalar *scalar, double value) {
    return scalar == CT_F32 ? (double)(float)value : value;
}

/* Uniform over the bits of the finite numbers: every exponent is as likely. */
static double any_finite(struct draw *draw, const ct_scalar *scalar) {
    for (;;) {
        double value;
        uint64_t bits = draw_bits(draw);
        if (scalar == CT_F32) {
            uint32_t low = (uint32_t)bits;
            float single;
            memcpy(&single, &low, sizeof single);
            value = (double)single;
        } else {
            memcpy(&value, &bits, sizeof value);
        }
        if (isfinite(value))
            return value;
    }
}

static void check_samples(enum ct_op op, const ct_scalar *scalar, bool inside) {
    struct draw draw = {(uint64_t)op + 100};
    double *values[MOST_ARGUMENTS] = {NULL};
    for (int i = 0; i < op_oracle(op)->arity; i++) {
        struct op_domain domain = op_oracle(op)->domain[i];
        values[i] = calloc(SAMPLES, sizeof *values[i]);
        ck_assert_ptr_nonnull(values[i]);
        for (int k = 0; k < SAMPLES; k++) {
            double value =
                inside ? draw_between(&draw, domain.low, domain.high) : any_finite(&draw, scalar);
            values[i][k] =
                op_takes_mask(op, i) ? (double)(draw_bits(&draw) & 1) : rounded(scalar, value);
        }
    }
    for (int k = 0; inside && k < SAMPLES; k++) {
        double x[MOST_ARGUMENTS] = {0};
        for (int i = 0; i < op_oracle(op)->arity; i++)
            x[i] = values[i][k];
        ck_assert_msg(isfinite(op_exact(op, x)), "%s: its domain contains %g, %g", ct_op_name(op),
                      x[0], x[1]);
    }
    check_values(op, scalar, SAMPLES, values);
    for (int i = 0; i < MOST_ARGUMENTS; i++)
        free(values[i]);
}

static void check_special(enum ct_op op, const ct_scalar *scalar) {
    bool single = scalar == CT_F32;
    double tiny = single ? 0x1p-149 : 0x1p-1074, least = single ? 0x1p-126 : 0x1p-1022;
    double huge = single ? 0x1.fffffep127 : DBL_MAX, small = single ? 0x1p-30 : 0x1p-60;
    const double special[] = {0,    -0.0, tiny,  -tiny, least, -least, small, -small, 0.5,
                              -0.5, 1,    -1,    2,     -2,    3,      100,   -100,   800,
                              -800, huge, -huge, 1e30,  -1e30, INF,    -INF,  QNAN};
    enum { N = COUNT(special) };
    int arity = op_oracle(op)->arity;
    size_t count = arity == 1 ? N : arity == 2 ? N * N : 2 * N * N;
    double *values[MOST_ARGUMENTS] = {NULL};
    for (int i = 0; i < MOST_ARGUMENTS; i++) {
        values[i] = calloc(count, sizeof *values[i]);
        ck_assert_ptr_nonnull(values[i]);
    }
    for (size_t k = 0; k < count; k++) {
        size_t rest = op_takes_mask(op, 0) ? k / 2 : k;
        double first = rounded(scalar, special[rest % N]),
               second = rounded(scalar, special[rest / N % N]);
        values[0][k] = op_takes_mask(op, 0) ? (double)(k % 2) : first;
        values[1][k] = op_takes_mask(op, 1)   ? (double)(k / 2 % 2)
                       : op_takes_mask(op, 0) ? first
                                              : second;
        values[2][k] = second;
    }
    check_values(op, scalar, count, values);
    for (int i = 0; i < MOST_ARGUMENTS; i++)
        free(values[i]);
}

/* Says so, too. */
static bool lacks_oracle(void) {
    if (!oracle_is_wide())
        ct_test_skip("long double is no wider than double here");
    return !oracle_is_wide();
}

START_TEST(row_matches_its_oracle) {
    enum ct_op op = (enum ct_op)_i;
    if (lacks_oracle())
        return;
    for (size_t s = 0; is_elementwise(op) && s < COUNT(real_scalars); s++)
        check_samples(op, real_scalars[s], true);
}
END_TEST

START_TEST(row_matches_its_oracle_everywhere) {
    enum ct_op op = (enum ct_op)_i;
    if (lacks_oracle())
        return;
    for (size_t s = 0; is_elementwise(op) && s < COUNT(real_scalars); s++)
        check_samples(op, real_scalars[s], false);
}
END_TEST

START_TEST(row_matches_its_oracle_at_special_points) {
    enum ct_op op = (enum ct_op)_i;
    if (lacks_oracle())
        return;
    for (size_t s = 0; is_elementwise(op) && s < COUNT(real_scalars); s++)
        check_special(op, real_scalars[s]);
}
END_TEST

/* ---- layouts, extents */

/* Every operand in the layout in turn, then all; against compact copies of the same values. */
static void check_layout(enum ct_op op, const ct_scalar *scalar, enum layout layout) {
    int arity = op_oracle(op)->arity;
    ct_tensor *in[MOST_ARGUMENTS] = {NULL};
    draw_inputs(op, scalar, 2, (int64_t[]){19, 37}, in);
    for (unsigned which = 1; which < 1u << arity; which++) {
        ct_tensor *laid[MOST_ARGUMENTS] = {NULL}, *dense[MOST_ARGUMENTS] = {NULL};
        for (int i = 0; i < arity; i++) {
            laid[i] = which >> i & 1 ? lay_out(in[i], layout) : ct_copy(in[i]);
            dense[i] = ct_compact(laid[i]);
        }
        ct_tensor *y = apply_row(op, laid), *right = apply_row(op, dense);
        ck_assert_msg(same_bits(y, right), "%s: other bits for %s with %s operands (set %u)",
                      ct_op_name(op), scalar->name, layout_name(layout), which);
        ct_free(y);
        ct_free(right);
        free_all(arity, laid);
        free_all(arity, dense);
    }
    free_all(arity, in);
}

START_TEST(row_ignores_the_layout) {
    enum ct_op op = (enum ct_op)_i;
    for (size_t s = 0; is_elementwise(op) && s < COUNT(real_scalars); s++) {
        for (int layout = 0; layout < LAYOUT_COUNT; layout++)
            check_layout(op, real_scalars[s], (enum layout)layout);
    }
}
END_TEST

/* An item's result does not depend on how many stand beside it: vector lanes and tails agree. */
START_TEST(row_ignores_the_length) {
    enum ct_op op = (enum ct_op)_i;
    enum { LENGTH = 67 };
    for (size_t s = 0; is_elementwise(op) && s < COUNT(real_scalars); s++) {
        ct_tensor *in[MOST_ARGUMENTS] = {NULL}, *part[MOST_ARGUMENTS] = {NULL};
        draw_inputs(op, real_scalars[s], 1, (int64_t[]){LENGTH}, in);
        ct_tensor *y = apply_row(op, in);
        for (int64_t n = 0; n < LENGTH; n++) {
            for (int i = 0; i < op_oracle(op)->arity; i++)
                part[i] = n % 2 ? ct_select(in[i], 0, n) : ct_slice(in[i], 0, 0, n, 1);
            ct_tensor *small = apply_row(op, part);
            ct_tensor *same = n % 2 ? ct_select(y, 0, n) : ct_slice(y, 0, 0, n, 1);
            ck_assert_msg(same_bits(small, same), "%s: item or length %d differs", ct_op_name(op),
                          (int)n);
            ct_free(small);
            ct_free(same);
            free_all(op_oracle(op)->arity, part);
        }
        ct_free(y);
        free_all(op_oracle(op)->arity, in);
    }
}
END_TEST

START_TEST(row_takes_empty_and_rank_0) {
    static const struct {
        int rank;
        int64_t shape[3];
    } shapes[] = {{0, {0}}, {1, {0}}, {3, {2, 0, 3}}, {3, {1, 1, 1}}};
    enum ct_op op = (enum ct_op)_i;
    for (size_t k = 0; is_elementwise(op) && k < COUNT(shapes); k++) {
        ct_tensor *in[MOST_ARGUMENTS] = {NULL};
        draw_inputs(op, CT_F64, shapes[k].rank, shapes[k].shape, in);
        ct_tensor *y = apply_row(op, in);
        ck_assert_msg(ct_rank(y) == shapes[k].rank && ct_count(y) == ct_count(in[0]), "%s: shape",
                      ct_op_name(op));
        ct_free(y);
        free_all(op_oracle(op)->arity, in);
    }
}
END_TEST

void add_values(TCase *tc) {
    EACH_ROW(tc, row_matches_its_oracle);
    EACH_ROW(tc, row_matches_its_oracle_everywhere);
    EACH_ROW(tc, row_matches_its_oracle_at_special_points);
    EACH_ROW(tc, row_ignores_the_layout);
    EACH_ROW(tc, row_ignores_the_length);
    EACH_ROW(tc, row_takes_empty_and_rank_0);
}
