/* Every reduction, on every scalar type, in every layout, along every choice of axes, against a
   naive oracle in long double that gathers the items of each result index by index. */

#include "index_tools.h"

#include "dual/ct_dual.h"
#include "fixed/ct_fixed.h"
#include "tensor/ct_alloc.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_reductions(void);

typedef ct_tensor *call_fn(const ct_tensor *t, int n, const int *axes, bool keepdims);
typedef long double oracle_fn(const double *x, size_t n);

/* Kinds of scalar types that must have a function. */
enum { REALS = 1, DUALS = 2, INTS = 4, BOOLS = 8, FIXED = 16, NUMBERS = 23, ANY = 31 };

struct reduction {
    const char *name;
    const char *noun; /* "bool has no sum" */
    call_fn *call;
    oracle_fn *oracle;
    unsigned kinds;
    bool empty_fails;
    bool positive;           /* wants items above 0 */
    bool smooth;             /* its tangents are compared with differences */
    const ct_scalar *result; /* NULL: the operand's */
    int only_axes;           /* 1: takes one axis or all */
};

// --- oracles

static long double sum_of(const double *x, size_t n) {
    long double s = 0;
    for (size_t i = 0; i < n; i++)
        s += (long double)x[i];
    return s;
}

static long double prod_of(const double *x, size_t n) {
    long double p = 1;
    for (size_t i = 0; i < n; i++)
        p *= (long double)x[i];
    return p;
}

static long double mean_of(const double *x, size_t n) {
    return sum_of(x, n) / (long double)n;
}

static long double max_of(const double *x, size_t n) {
    double m = x[0];
    for (size_t i = 1; i < n; i++)
        m = x[i] > m ? x[i] : m;
    return (long double)m;
}

static long double min_of(const double *x, size_t n) {
    double m = x[0];
    for (size_t i = 1; i < n; i++)
        m = x[i] < m ? x[i] : m;
    return (long double)m;
}

static long double spread_of(const double *x, size_t n, size_t ddof) {
    long double mean = mean_of(x, n), s = 0;
    if (n <= ddof)
        return (long double)QNAN;
    for (size_t i = 0; i < n; i++)
        s += ((long double)x[i] - mean) * ((long double)x[i] - mean);
    return s / (long double)(n - ddof);
}

static long double var0_of(const double *x, size_t n) {
    return spread_of(x, n, 0);
}

static long double var1_of(const double *x, size_t n) {
    return spread_of(x, n, 1);
}

static long double std0_of(const double *x, size_t n) {
    return sqrtl(spread_of(x, n, 0));
}

static long double norm_of(const double *x, size_t n, double p) {
    long double s = 0;
    for (size_t i = 0; i < n; i++)
        s += powl(fabsl((long double)x[i]), (long double)p);
    return powl(s, 1 / (long double)p);
}

static long double norm1_of(const double *x, size_t n) {
    return norm_of(x, n, 1);
}

static long double norm2_of(const double *x, size_t n) {
    return norm_of(x, n, 2);
}

static long double norm3_of(const double *x, size_t n) {
    return norm_of(x, n, 3);
}

static long double norm_half_of(const double *x, size_t n) {
    return norm_of(x, n, 0.5);
}

static long double longest_of(const double *x, size_t n) {
    long double m = 0;
    for (size_t i = 0; i < n; i++)
        m = fmaxl(m, fabsl((long double)x[i]));
    return m;
}

static long double shortest_of(const double *x, size_t n) {
    long double m = fabsl((long double)x[0]);
    for (size_t i = 1; i < n; i++)
        m = fminl(m, fabsl((long double)x[i]));
    return m;
}

static long double count_of(const double *x, size_t n) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += x[i] != 0;
    return (long double)count;
}

static long double any_of(const double *x, size_t n) {
    return count_of(x, n) > 0;
}

static long double all_of(const double *x, size_t n) {
    return count_of(x, n) == (long double)n;
}

static long double logsumexp_of(const double *x, size_t n) {
    long double s = 0;
    for (size_t i = 0; i < n; i++)
        s += expl((long double)x[i]);
    return logl(s);
}

static long double argmax_of(const double *x, size_t n) {
    size_t at = 0;
    for (size_t i = 1; i < n; i++)
        at = x[i] > x[at] ? i : at;
    return (long double)at;
}

static long double argmin_of(const double *x, size_t n) {
    size_t at = 0;
    for (size_t i = 1; i < n; i++)
        at = x[i] < x[at] ? i : at;
    return (long double)at;
}

// --- the table

#define CALL(name, ...)                                                                            \
    static ct_tensor *name(const ct_tensor *t, int n, const int *axes, bool keepdims) {            \
        return __VA_ARGS__;                                                                        \
    }
CALL(var0, ct_variance_axes(t, n, axes, 0, keepdims))
CALL(var1, ct_variance_axes(t, n, axes, 1, keepdims))
CALL(std0, ct_std_axes(t, n, axes, 0, keepdims))
CALL(norm0, ct_norm_axes(t, n, axes, 0, keepdims))
CALL(norm1, ct_norm_axes(t, n, axes, 1, keepdims))
CALL(norm2, ct_norm_axes(t, n, axes, 2, keepdims))
CALL(norm3, ct_norm_axes(t, n, axes, 3, keepdims))
CALL(norm_half, ct_norm_axes(t, n, axes, 0.5, keepdims))
CALL(longest, ct_norm_axes(t, n, axes, INF, keepdims))
CALL(shortest, ct_norm_axes(t, n, axes, -INF, keepdims))
CALL(argmax, n == 1 ? ct_argmax(t, axes[0], keepdims) : NULL)
CALL(argmin, n == 1 ? ct_argmin(t, axes[0], keepdims) : NULL)
/* The forms with one axis. */
CALL(sum1, n == 1 ? ct_sum(t, axes[0], keepdims) : NULL)
CALL(prod1, n == 1 ? ct_prod(t, axes[0], keepdims) : NULL)
CALL(mean1, n == 1 ? ct_mean(t, axes[0], keepdims) : NULL)
CALL(max1, n == 1 ? ct_max(t, axes[0], keepdims) : NULL)
CALL(min1, n == 1 ? ct_min(t, axes[0], keepdims) : NULL)
CALL(var1_1, n == 1 ? ct_variance(t, axes[0], 1, keepdims) : NULL)
CALL(std1_1, n == 1 ? ct_std(t, axes[0], 0, keepdims) : NULL)
CALL(norm2_1, n == 1 ? ct_norm(t, axes[0], 2, keepdims) : NULL)
CALL(logsumexp1, n == 1 ? ct_logsumexp(t, axes[0], keepdims) : NULL)
CALL(any1, n == 1 ? ct_any(t, axes[0], keepdims) : NULL)
CALL(all1, n == 1 ? ct_all(t, axes[0], keepdims) : NULL)
CALL(count1, n == 1 ? ct_count_nonzero(t, axes[0], keepdims) : NULL)
CALL(ordered1, n == 1 ? ct_sum_ordered(t, axes[0], keepdims) : NULL)

/* name, noun, call, oracle, kinds, empty_fails, positive, smooth, result, only_axes */
static const struct reduction table[] = {
    {"sum_axes", "sum", ct_sum_axes, sum_of, NUMBERS, 0, 0, 1, NULL, 0},
    {"prod_axes", "product", ct_prod_axes, prod_of, NUMBERS, 0, 0, 1, NULL, 0},
    {"mean_axes", "mean", ct_mean_axes, mean_of, NUMBERS, 1, 0, 1, NULL, 0},
    {"max_axes", "maximum", ct_max_axes, max_of, ANY, 1, 0, 1, NULL, 0},
    {"min_axes", "minimum", ct_min_axes, min_of, ANY, 1, 0, 1, NULL, 0},
    {"sum_ordered_axes", "ordered sum", ct_sum_ordered_axes, sum_of, NUMBERS, 0, 0, 1, NULL, 0},
    {"var_axes, ddof 0", "variance", var0, var0_of, REALS | DUALS | FIXED, 0, 0, 1, NULL, 0},
    {"var_axes, ddof 1", "variance", var1, var1_of, REALS | DUALS | FIXED, 0, 0, 1, NULL, 0},
    {"std_axes", "standard deviation", std0, std0_of, REALS | DUALS | FIXED, 0, 0, 0, NULL, 0},
    {"norm 0", "norm", norm0, count_of, NUMBERS, 0, 0, 1, NULL, 0},
    {"norm 1", "norm", norm1, norm1_of, NUMBERS, 0, 0, 1, NULL, 0},
    {"norm 2", "norm", norm2, norm2_of, REALS | DUALS | FIXED, 0, 0, 1, NULL, 0},
    {"norm 3", "norm", norm3, norm3_of, REALS | DUALS, 0, 0, 1, NULL, 0},
    {"norm 1/2", "norm", norm_half, norm_half_of, REALS | DUALS, 0, 1, 1, NULL, 0},
    {"norm inf", "norm", longest, longest_of, NUMBERS, 1, 0, 1, NULL, 0},
    {"norm -inf", "norm", shortest, shortest_of, NUMBERS, 1, 0, 1, NULL, 0},
    {"logsumexp_axes", "logsumexp", ct_logsumexp_axes, logsumexp_of, REALS | DUALS | FIXED, 0, 0, 1,
     NULL, 0},
    {"any_axes", "any", ct_any_axes, any_of, BOOLS, 0, 0, 0, NULL, 0},
    {"all_axes", "all", ct_all_axes, all_of, BOOLS, 0, 0, 0, NULL, 0},
    {"count_nonzero_axes", "count", ct_count_nonzero_axes, count_of, ANY, 0, 0, 0, CT_I64, 0},
    {"argmax", "argmax", argmax, argmax_of, ANY, 1, 0, 0, CT_I64, 1},
    {"argmin", "argmin", argmin, argmin_of, ANY, 1, 0, 0, CT_I64, 1},
    {"sum", "sum", sum1, sum_of, NUMBERS, 0, 0, 0, NULL, 1},
    {"prod", "product", prod1, prod_of, NUMBERS, 0, 0, 0, NULL, 1},
    {"mean", "mean", mean1, mean_of, NUMBERS, 1, 0, 0, NULL, 1},
    {"max", "maximum", max1, max_of, ANY, 1, 0, 0, NULL, 1},
    {"min", "minimum", min1, min_of, ANY, 1, 0, 0, NULL, 1},
    {"sum_ordered", "ordered sum", ordered1, sum_of, NUMBERS, 0, 0, 0, NULL, 1},
    {"var", "variance", var1_1, var1_of, REALS | DUALS | FIXED, 0, 0, 0, NULL, 1},
    {"std", "standard deviation", std1_1, std0_of, REALS | DUALS | FIXED, 0, 0, 0, NULL, 1},
    {"norm", "norm", norm2_1, norm2_of, REALS | DUALS | FIXED, 0, 0, 0, NULL, 1},
    {"logsumexp", "logsumexp", logsumexp1, logsumexp_of, REALS | DUALS | FIXED, 0, 0, 0, NULL, 1},
    {"any", "any", any1, any_of, BOOLS, 0, 0, 0, NULL, 1},
    {"all", "all", all1, all_of, BOOLS, 0, 0, 0, NULL, 1},
    {"count_nonzero", "count", count1, count_of, ANY, 0, 0, 0, CT_I64, 1},
};

static const ct_scalar *const scalars[] = {CT_F32,      CT_F64,      CT_I32,    CT_I64,
                                           CT_BOOL,     CT_DUAL32,   CT_DUAL64, &ct_scalar_dual64_2,
                                           CT_DUAL64X4, CT_DUAL32X8, CT_FIXED};

static unsigned kind_of(const ct_scalar *scalar) {
    return scalar == CT_FIXED            ? FIXED
           : scalar->base                ? DUALS
           : scalar->traits & CT_BOOLEAN ? BOOLS
           : scalar->traits & CT_INTEGER ? INTS
                                         : REALS;
}

static double epsilon_of(const ct_scalar *scalar) {
    while (scalar->base)
        scalar = scalar->base;
    return scalar == CT_F32 ? (double)FLT_EPSILON : scalar == CT_FIXED ? 0x1p-31 : DBL_EPSILON;
}

/* Numbers between -2 and 2, none of them 0; whole ones of integers, with zeros; parts of duals
   alike. */
static ct_tensor *numbers(uint64_t *state, const ct_scalar *scalar, bool positive, int rank,
                          const int64_t *shape) {
    if (scalar->base) {
        size_t n = scalar->size / scalar->base->size;
        ct_tensor *parts[16];
        ck_assert_uint_le(n, COUNT(parts));
        for (size_t i = 0; i < n; i++)
            parts[i] = numbers(state, scalar->base, positive && i == 0, rank, shape);
        ct_tensor *t = ct_from_components(scalar, n, (const ct_tensor *const *)parts);
        for (size_t i = 0; i < n; i++)
            ct_free(parts[i]);
        return t;
    }
    double values[256];
    size_t count = 1;
    for (int i = 0; i < rank; i++)
        count *= (size_t)shape[i];
    ck_assert_uint_le(count, COUNT(values));
    bool whole = scalar->traits & CT_INTEGER, truth = scalar->traits & CT_BOOLEAN;
    for (size_t i = 0; i < count; i++) {
        double size = 0.3 + 1.7 * (double)(next_bits(state) >> 11) * 0x1p-53;
        values[i] = truth   ? (double)next_below(state, 2)
                    : whole ? (double)next_below(state, 5) - 2
                            : (positive || next_below(state, 2) ? size : -size);
    }
    return ct_from_doubles(scalar, rank, shape, count, values);
}

// --- an index-by-index walk

struct expected {
    int rank;
    int64_t shape[CT_MAX_RANK];
    size_t count;
    size_t length; /* items of each */
    double items[256][256];
};
static struct expected expected;

static void gather(const ct_tensor *t, unsigned mask, bool keepdims) {
    static double values[256];
    struct expected *e = &expected;
    e->rank = 0; /* the items stay: clearing them would be most of the work */
    e->count = 1;
    size_t lengths[256] = {0};
    for (int i = 0; i < ct_rank(t); i++) {
        bool reduced = mask & 1u << i;
        if (!reduced)
            e->count *= (size_t)ct_shape(t)[i];
        if (!reduced || keepdims)
            e->shape[e->rank++] = reduced ? 1 : ct_shape(t)[i];
    }
    ck_assert_int_eq(ct_to_doubles(t, ct_count(t), values), CT_OK);
    int64_t index[CT_MAX_RANK] = {0};
    for (size_t at = 0; at < ct_count(t); at++, next_index(ct_rank(t), ct_shape(t), index)) {
        size_t row = 0;
        for (int i = 0; i < ct_rank(t); i++)
            if (!(mask & 1u << i))
                row = row * (size_t)ct_shape(t)[i] + (size_t)index[i];
        e->items[row][lengths[row]++] = values[at];
    }
    e->length = lengths[0];
}

static bool is_near(double found, long double right, const struct reduction *r,
                    const ct_scalar *scalar) {
    if (r->result || scalar->traits & (CT_INTEGER | CT_BOOLEAN))
        return found == (double)(long long)right; /* the mean is truncated */
    if (isnan(right) || isnan(found))
        return isnan(right) && isnan(found);
    if (isinf(right) || isinf(found))
        return found == (double)right;
    if (scalar == CT_FIXED && r->oracle == std0_of) /* the root of a unit in the last place */
        return fabs(found - (double)right) <= 1e-4;
    double scale = (4 + fabs((double)right)) * (double)(expected.length + 1);
    return fabs(found - (double)right) <= 2 * epsilon_of(scalar) * scale;
}

static void check_values(const struct reduction *r, const ct_scalar *scalar, const ct_tensor *y,
                         const char *what) {
    const struct expected *e = &expected;
    ck_assert_int_eq(ct_check_tensor(y), CT_OK);
    ck_assert_msg(ct_dtype(y) == (r->result ? r->result : scalar), "%s: a result of %s", what,
                  ct_dtype(y)->name);
    ck_assert_msg(ct_rank(y) == e->rank && ct_count(y) == e->count, "%s: a shape of rank %d", what,
                  ct_rank(y));
    for (int i = 0; i < e->rank; i++)
        ck_assert_int_eq(ct_shape(y)[i], e->shape[i]);
    static double found[256];
    ck_assert_int_eq(ct_to_doubles(y, e->count, found), CT_OK);
    for (size_t j = 0; j < e->count; j++) {
        long double right = e->length == 0 && strstr(r->name, "var")   ? (long double)QNAN
                            : e->length == 0 && strstr(r->name, "std") ? (long double)QNAN
                            : e->length == 0 && strstr(r->name, "norm")
                                ? 0
                                : r->oracle(e->items[j], e->length);
        ck_assert_msg(is_near(found[j], right, r, scalar), "%s: item %zu is %.17g, not %.17g", what,
                      j, found[j], (double)right);
    }
}

/* The bits of the compact copy's result, all tangents included. */
static void check_bits(const struct reduction *r, const ct_tensor *t, const ct_tensor *y, int n,
                       const int *axes, bool keepdims, const char *what) {
    ct_tensor *dense = ct_compact(t), *z = r->call(dense, n, axes, keepdims);
    ck_assert_ptr_nonnull(z);
    size_t bytes = ct_count(y) * ct_dtype(y)->size;
    char *a = calloc(bytes + 1, 1), *b = calloc(bytes + 1, 1);
    ck_assert_int_eq(ct_to_items(y, bytes, a), CT_OK);
    ck_assert_int_eq(ct_to_items(z, bytes, b), CT_OK);
    /* Of one item the variance is NaN, and its bits are nobody's business. */
    bool has_nan = expected.length < 2;
    ck_assert_msg(has_nan || memcmp(a, b, bytes) == 0, "%s: other bits than the compact copy",
                  what);
    free(a);
    free(b);
    ct_free(dense);
    ct_free(z);
}

/* fixed holds neither NaN nor infinities. */
static bool lacks_value(const struct reduction *r) {
    bool spread = strncmp(r->name, "var", 3) == 0 || strncmp(r->name, "std", 3) == 0;
    bool unbiased = r->oracle == var1_of;
    return expected.count > 0 && ((expected.length == 0 && (spread || r->oracle == logsumexp_of)) ||
                                  (expected.length == 1 && unbiased));
}

static void check_call(const struct reduction *r, const ct_tensor *t, int n, const int *axes,
                       unsigned mask, bool keepdims, const char *how) {
    const ct_scalar *scalar = ct_dtype(t);
    char what[160];
    snprintf(what, sizeof what, "%s of %s, %s, axes %x%s", r->name, scalar->name, how, mask,
             keepdims ? ", kept" : "");
    gather(t, mask, keepdims);
    bool has = r->kinds & kind_of(scalar);
    bool empty = expected.count > 0 && expected.length == 0 && r->empty_fails;
    bool valueless = scalar == CT_FIXED && lacks_value(r);
    ct_error_clear();
    ct_tensor *y = r->call(t, n, axes, keepdims);
    if (has && !empty && !valueless) {
        ck_assert_msg(y != NULL, "%s: %s", what, ct_error()->message);
        check_values(r, scalar, y, what);
        check_bits(r, t, y, n, axes, keepdims, what);
    } else {
        ck_assert_msg(y == NULL, "%s: made something", what);
        ck_assert_msg(ct_error()->code == (has ? CT_EDOMAIN : CT_EDTYPE), "%s: %s", what,
                      ct_error()->message);
        ck_assert_msg(valueless || strstr(ct_error()->message, r->noun) != NULL, "%s: %s", what,
                      ct_error()->message);
    }
    ck_assert_msg(!has || !r->empty_fails || ct_can_reduce(t, n, axes) == !empty, "%s", what);
    ct_free(y);
}

static void check_all_axes(const struct reduction *r, const ct_tensor *t, const char *how) {
    int rank = ct_rank(t);
    for (unsigned mask = 0; mask < 1u << rank; mask++) {
        int axes[CT_MAX_RANK], n = 0;
        for (int i = rank - 1; i >= 0; i--) /* backwards, every second counted from the end */
            if (mask & 1u << i)
                axes[n++] = i % 2 ? i - rank : i;
        if (r->only_axes == 0 || n == 1)
            check_call(r, t, n, axes, mask, mask % 2, how);
    }
    check_call(r, t, 1, (int[]){CT_ALL}, (1u << rank) - 1, false, how);
    check_call(r, t, 1, (int[]){CT_ALL}, (1u << rank) - 1, true, how);
}

static const struct shape_case shapes[] = {
    {0, {0}},    {1, {7}},       {1, {0}},       {2, {3, 17}},      {2, {0, 3}},
    {2, {3, 0}}, {3, {2, 3, 5}}, {3, {2, 0, 3}}, {4, {2, 1, 3, 2}}, {2, {0, 0}},
};

static const char *const spread_name[] = {"dense",   "offset", "transposed",
                                          "flipped", "gaps",   "repeated"};

/* _i: a row of the table. */
START_TEST(against_the_oracle) {
    const struct reduction *r = &table[_i];
    uint64_t state = 77;
    for (int s = 0; s < COUNT(scalars); s++)
        for (int k = 0; k < COUNT(shapes); k++)
            for (enum spread how = DENSE; how < SPREADS; how++) {
                ct_tensor *t =
                    numbers(&state, scalars[s], r->positive, shapes[k].rank, shapes[k].shape);
                ck_assert_msg(t != NULL, "%s", ct_error()->message);
                t = spread_out(t, how);
                check_all_axes(r, t, spread_name[how]);
                ct_free(t);
            }
    ck_assert_uint_eq(ct_live_blocks(), 0);
}
END_TEST

// --- tangents

/* The derivative along a direction, by central differences of f64. */
static void check_tangent(const struct reduction *r, int rank, const int64_t *shape, int n,
                          const int *axes) {
    uint64_t state = 5;
    ct_tensor *x = numbers(&state, CT_F64, r->positive, rank, shape);
    ct_tensor *d = numbers(&state, CT_F64, false, rank, shape);
    const double h = 0x1p-18;
    ct_tensor *step = ct_from_double(CT_F64, h), *back = ct_from_double(CT_F64, -h);
    const ct_tensor *up[] = {d, step}, *down[] = {d, back};
    ct_tensor *a = ct_apply(CT_OP_mul, 2, up), *b = ct_apply(CT_OP_mul, 2, down);
    ct_tensor *p = ct_apply(CT_OP_add, 2, (const ct_tensor *[]){x, a});
    ct_tensor *q = ct_apply(CT_OP_add, 2, (const ct_tensor *[]){x, b});
    ct_tensor *fp = r->call(p, n, axes, false), *fq = r->call(q, n, axes, false);
    ct_tensor *dual = ct_dual(x, d), *y = r->call(dual, n, axes, false);
    ck_assert_msg(y != NULL, "%s: %s", r->name, ct_error()->message);
    ct_tensor *tangent = ct_dual_tangent(y);
    double u[64], v[64], w[64];
    size_t count = ct_count(y);
    ck_assert_uint_le(count, COUNT(u));
    ct_to_doubles(fp, count, u);
    ct_to_doubles(fq, count, v);
    ct_to_doubles(tangent, count, w);
    for (size_t i = 0; i < count; i++) {
        double slope = (u[i] - v[i]) / (2 * h);
        ck_assert_msg(isnan(slope) || fabs(slope - w[i]) <= 1e-7 * (1 + fabs(slope)),
                      "%s: tangent %g, not %g", r->name, w[i], slope);
    }
    ct_tensor *all[] = {x, d, step, back, a, b, p, q, fp, fq, dual, y, tangent};
    for (int i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
}

/* Each of several tangents has the bits of a single one. */
static void check_wide(const struct reduction *r, const ct_scalar *wide) {
    uint64_t state = 6;
    const ct_scalar *base = wide->base;
    ct_tensor *t = numbers(&state, wide, r->positive, SHAPE(3, 4, 5));
    ct_tensor *y = r->call(t, AXES(0, 2), false), *value = ct_dual_value(t);
    ck_assert_msg(y != NULL, "%s: %s", r->name, ct_error()->message);
    for (int i = 0; i < ct_dual_tangents(wide); i++) {
        ct_tensor *tangent = ct_dual_tangent_at(t, i), *one = ct_dual(value, tangent);
        ct_tensor *z = r->call(one, AXES(0, 2), false);
        ct_tensor *found = ct_dual_tangent_at(y, i), *right = ct_dual_tangent(z);
        char a[256], b[256];
        size_t bytes = ct_count(found) * base->size;
        ct_to_items(found, bytes, a);
        ct_to_items(right, bytes, b);
        ck_assert_msg(memcmp(a, b, bytes) == 0, "%s of %s: tangent %d", r->name, wide->name, i);
        ct_tensor *all[] = {tangent, one, z, found, right};
        for (int k = 0; k < COUNT(all); k++)
            ct_free(all[k]);
    }
    ct_free(t);
    ct_free(y);
    ct_free(value);
}

START_TEST(tangents) {
    const struct reduction *r = &table[_i];
    if (!r->smooth)
        return;
    check_tangent(r, SHAPE(7), AXES(0));
    check_tangent(r, SHAPE(3, 4, 5), AXES(0, 2));
    check_tangent(r, SHAPE(3, 4, 5), AXES(CT_ALL));
    check_tangent(r, SHAPE(2, 6), 0, NULL);
    check_wide(r, CT_DUAL64X4);
    check_wide(r, CT_DUAL32X8);
    ck_assert_uint_eq(ct_live_blocks(), 0);
}
END_TEST

/* Counters of a byte are full after 255 rows; columns past a thousand are counted in groups. */
START_TEST(counts_of_long_columns) {
    static const int64_t tables[][2] = {{254, 40}, {255, 70}, {256, 1025}, {1021, 131}, {3000, 33}};
    for (size_t s = 0; s < sizeof tables / sizeof *tables; s++) {
        int64_t m = tables[s][0], n = tables[s][1];
        float *items = malloc((size_t)(m * n) * sizeof *items);
        ck_assert_ptr_nonnull(items);
        for (int64_t i = 0; i < m * n; i++)
            items[i] = i % n == 0 || i * 7919 % 13 > i % n % 13 ? (float)i + 1 : -0.0f;
        ct_tensor *t = ct_from_items(CT_F32, 2, tables[s], (size_t)(m * n), items);
        for (int axis = 0; axis < 2; axis++) {
            ct_tensor *found = ct_count_nonzero(t, axis, false);
            ck_assert_msg(found != NULL, "%s", ct_error()->message);
            const int64_t *counts = ct_data(found);
            for (int64_t k = 0; k < (axis == 0 ? n : m); k++) {
                int64_t count = 0;
                for (int64_t i = 0; i < (axis == 0 ? m : n); i++)
                    count += items[axis == 0 ? i * n + k : k * n + i] != 0;
                ck_assert_int_eq(counts[k], count);
            }
            ct_free(found);
        }
        ct_free(t);
        free(items);
    }
    ck_assert_uint_eq(ct_live_blocks(), 0);
}
END_TEST

Suite *suite_reductions(void) {
    Suite *suite = suite_create("reductions");
    TCase *tc = tcase_create("reductions");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, against_the_oracle, 0, COUNT(table));
    tcase_add_loop_test(tc, tangents, 0, COUNT(table));
    tcase_add_test(tc, counts_of_long_columns);
    suite_add_tcase(suite, tc);
    return suite;
}
