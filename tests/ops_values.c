#include "ops_parts.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "autodiff/exact.h"
#include "case_tools.h"
#include "ct_test.h"

enum { SAMPLES = 3000 };

/* ---- values */

static void check_value(enum ct_op op, const ct_scalar *scalar, const double x[MOST_ARGUMENTS],
                        double result) {
    long double exact = op_exact(op, x);
    if (ct__value_is_right(op, scalar, x, result, exact))
        return;
    ck_abort_msg("%s: of %s (%a, %a, %a) is %a and not %La: off by %.3Lg units in the last place "
                 "and the bar is %.3Lg (bars[] in autodiff/exact_bars.c)",
                 ct_op_name(op), scalar->name, x[0], x[1], x[2], result, exact,
                 ulp_error(scalar, result, exact), ct__ulp_bar(op));
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
