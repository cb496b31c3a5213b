/* A row at special points: zeros of both signs, ties, the ends of the type, infinities, NaN. There a
   value must be right, NaN and infinities in their places, and forward mode must equal reverse. */

#include "autodiff/check_impl.h"
#include "autodiff/exact.h"

#include "autodiff/ct_derivatives.h"
#include "tensor/alloc.h"
#include "tensor/fail.h"

#include <float.h>
#include <math.h>

static const char who[] = "ct_check_op_all";

/* --- elementwise: every pair of these numbers --- */

enum { POINTS = 26 };

static void list_points(const ct_scalar *scalar, double points[POINTS]) {
    bool single = scalar == CT_F32;
    double tiny = single ? 0x1p-149 : 0x1p-1074, least = single ? 0x1p-126 : 0x1p-1022;
    double huge = single ? 0x1.fffffep127 : DBL_MAX, small = single ? 0x1p-30 : 0x1p-60;
    const double all[] = {0, tiny, least, small, 0.5, 1, 2, 3, 100, 800, huge, 1e30, HUGE_VAL};
    for (int k = 0; k < POINTS / 2; k++) {
        double x = single ? (double)(float)all[k] : all[k];
        points[2 * k] = x;
        points[2 * k + 1] = x == 3 ? (double)NAN : -x;
    }
}

/* Argument k of each point; of three arguments the first repeats, or is a mask that alternates. */
static ct_tensor *grid(const struct ct__row *row, int k, size_t count) {
    double points[POINTS];
    list_points(row->scalar, points);
    double *items = ct__alloc(count * sizeof *items);
    if (!items)
        return ct__fail_null(CT_ENOMEM, who, "out of memory");
    bool chooses = ct_op_kind_of(row->op) == CT_KIND_SELECT;
    for (size_t i = 0; i < count; i++) {
        size_t rest = chooses ? i / 2 : i, first = rest % POINTS, second = rest / POINTS % POINTS;
        size_t third = (first + rest / POINTS / POINTS) % POINTS;
        if (ct_op_takes_mask(row->op, k))
            items[i] = (double)(k == 0 ? i % 2 : i / 2 % 2);
        else if (chooses)
            items[i] = points[k == 1 ? first : second];
        else
            items[i] = points[k == 0 ? first : k == 1 ? second : third];
    }
    ct_tensor *t = ct_from_doubles(ct_op_takes_mask(row->op, k) ? CT_BOOL : row->scalar, 1,
                                   (int64_t[]){(int64_t)count}, count, items);
    ct__free(items);
    return t;
}

static bool grids(const struct ct__row *row, struct ct__drawn *inputs) {
    static const size_t counts[] = {0, POINTS, POINTS * POINTS, 4 * POINTS * POINTS};
    int arity = ct_op_arity(row->op);
    *inputs = (struct ct__drawn){.call = {.op = row->op}};
    for (int k = 0; k < arity; k++) {
        if (!ct__draw_add(inputs, grid(row, k, counts[arity])))
            return false;
    }
    return true;
}

/* Zeros of either sign are one; so are NaNs. */
static bool agree(const ct_scalar *scalar, double a, double b) {
    double epsilon = scalar == CT_F32 ? (double)FLT_EPSILON : DBL_EPSILON;
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b);
    return a == b || fabs(a - b) <= 4 * epsilon * fmax(fabs(a), fabs(b));
}

static ct_status compare_points(struct ct__row *row, const ct_tensor *x, const ct_tensor *forward,
                                const ct_tensor *reverse, int k) {
    double *at = ct__row_items(x), *f = ct__row_items(forward), *r = ct__row_items(reverse);
    ct_status status = at && f && r ? CT_OK : ct_error()->code;
    char a[CT__NUMBER_BYTES], b[CT__NUMBER_BYTES], c[CT__NUMBER_BYTES];
    for (size_t i = 0; status == CT_OK && i < ct_count(x); i++) {
        double seen = ct__seen(row, CT__SEEN_SPECIAL_SLOPE, r[i]);
        if (agree(row->scalar, f[i], seen))
            continue;
        row->report->special_wrong++;
        ct__row_fails(
            row,
            "special points: the derivative by argument %d at x = %s is %s in forward mode "
            "and %s in reverse",
            k, ct__number(a, at[i]), ct__number(b, f[i]), ct__number(c, seen));
    }
    ct__free(at);
    ct__free(f);
    ct__free(r);
    return status;
}

/* Forward along argument k against reverse. */
static ct_status compare_argument(struct ct__row *row, struct ct__drawn *inputs, int k,
                                  ct_tensor *const *reverse) {
    const ct_tensor *tangents[CT__MAX_INPUTS] = {NULL}, *x = inputs->inputs[k];
    ct_tensor *ones = ct_ones(row->scalar, ct_rank(x), ct_shape(x)), *forward = NULL;
    if (!ones)
        return ct_error()->code;
    tangents[k] = ones;
    ct_status status = ct_jvp(ct__op_function(row->op), &inputs->call, (size_t)inputs->n,
                              inputs->inputs, tangents, NULL, &forward);
    if (status == CT_OK)
        status = compare_points(row, x, forward, reverse[k], k);
    ct_free(ones);
    ct_free(forward);
    return status;
}

static ct_status compare_derivatives(struct ct__row *row, struct ct__drawn *inputs) {
    ct_tensor *reverse[CT__MAX_INPUTS] = {NULL};
    ct_status status = ct_vjp(ct__op_function(row->op), &inputs->call, (size_t)inputs->n,
                              inputs->inputs, NULL, NULL, reverse);
    for (int k = 0; k < inputs->n && status == CT_OK; k++)
        if (ct_dtype(inputs->inputs[k]) == row->scalar)
            status = compare_argument(row, inputs, k, reverse);
    for (int k = 0; k < inputs->n; k++)
        ct_free(reverse[k]);
    return status;
}

static ct_status check_elementwise(struct ct__row *row) {
    struct ct__drawn inputs;
    ct_status status = CT_OK;
    if (!grids(row, &inputs))
        status = ct_error()->code;
    if (status == CT_OK && ct__exact_is_wide())
        status = ct__compare_values(row, &inputs, true);
    if (status == CT_OK && ct_op_kind_of(row->op) != CT_KIND_LOGIC)
        status = compare_derivatives(row, &inputs);
    ct__draw_free(&inputs);
    return status;
}

/* --- structured: each sample, filled --- */

/* Every item `all`, but the middle one. The derivative is asked for where it is finite. */
static const struct filling {
    double all, middle;
    bool smooth;
} fillings[] = {
    {0, 0, true},
    {-0.0, -0.0, true},
    {1, 1, true},
    {-1, -1, true},
    {1, 0, true},
    {0, 2, true},
    {1, (double)NAN, false},
    {1, HUGE_VAL, false},
    {1, -HUGE_VAL, false},
    {-HUGE_VAL, -HUGE_VAL, false},
    {-HUGE_VAL, 0, false},
};

static ct_tensor *filled(const ct_scalar *scalar, const ct_tensor *like, const struct filling *f) {
    ct_tensor *t = ct_full(scalar, ct_rank(like), ct_shape(like), f->all);
    if (t && ct_count(t) > 0 && ct_set_flat(t, (int64_t)(ct_count(t) / 2), f->middle) != CT_OK) {
        ct_free(t);
        return NULL;
    }
    return t;
}

static bool fill(const struct ct__row *row, const struct ct__drawn *drawn,
                 const struct filling *filling, struct ct__drawn *inputs) {
    *inputs = (struct ct__drawn){.call = drawn->call};
    for (int k = 0; k < drawn->n; k++) {
        const ct_tensor *t = drawn->inputs[k];
        bool is_real = ct_dtype(t) == CT_F64;
        if (!ct__draw_add(inputs, is_real ? filled(row->scalar, t, filling) : ct_copy(t)))
            return false;
    }
    return true;
}

/* Whether the op takes these numbers at all, and whether all that it makes of them is finite. A refusal
   (of a matrix that is not positive definite) is no wrong value. */
static ct_status try_out(const struct ct__row *row, const struct ct__drawn *inputs, bool *takes,
                         bool *finite) {
    bool was_clear = ct_error()->code == CT_OK;
    ct_tensor *y = ct__row_run(row, inputs);
    double *items = y ? ct__row_items(y) : NULL;
    ct_status status = y && !items ? CT_ENOMEM : CT_OK;
    *takes = *finite = y != NULL;
    for (size_t i = 0; items && i < ct_count(y); i++)
        *finite = *finite && isfinite(items[i]);
    if (!y && ct_error()->code == CT_ENOMEM)
        status = CT_ENOMEM;
    else if (!y && was_clear)
        ct_error_clear();
    ct__free(items);
    ct_free(y);
    return status;
}

/* The modes where the op has a value. A rule that refuses (of det, at a singular matrix) is no wrong
   derivative either. */
static ct_status compare_special(struct ct__row *row, struct ct__drawn *inputs) {
    bool was_clear = ct_error()->code == CT_OK;
    ct_status status = ct__compare_modes(row, inputs, true);
    if (status != CT_EDOMAIN)
        return status;
    if (was_clear)
        ct_error_clear();
    return CT_OK;
}

static ct_status check_filled(struct ct__row *row, struct ct__drawn *inputs, bool smooth) {
    bool takes, finite;
    ct_status status = try_out(row, inputs, &takes, &finite);
    if (status == CT_OK && takes && ct__exact_is_wide())
        status = ct__compare_values(row, inputs, true);
    if (status == CT_OK && takes && finite && smooth)
        status = compare_special(row, inputs);
    return status;
}

static ct_status check_filling(struct ct__row *row, const struct ct__drawn *drawn,
                               const struct filling *filling) {
    struct ct__drawn inputs;
    ct_status status = fill(row, drawn, filling, &inputs)
                           ? check_filled(row, &inputs, filling->smooth)
                           : ct_error()->code;
    ct__draw_free(&inputs);
    return status;
}

static ct_status check_structured(struct ct__row *row) {
    ct_status status = CT_OK;
    for (int k = 0; k < ct__draw_count(row->op) && status == CT_OK; k++) {
        struct ct__drawn drawn;
        status = ct__draw(row->op, k, row->options.seed, &drawn);
        for (size_t f = 0; f < sizeof fillings / sizeof *fillings && status == CT_OK; f++)
            status = check_filling(row, &drawn, &fillings[f]);
        ct__draw_free(&drawn);
    }
    return status;
}

ct_status ct__check_row_special(struct ct__row *row) {
    return ct__op_record(row->op) ? check_structured(row) : check_elementwise(row);
}
