/* Vector norms, scaled where the plain sum of powers overflows or underflows. Written over rows of
   the table, so that any scalar type that has them runs it. */

#include "tensor/reduce_impl.h"

#include "tensor/alloc.h"
#include "tensor/fail.h"
#include "tensor/ct_ops.h"
#include "tensor/kernels/kern_table.h"

#include <math.h>

// What all rows share.
struct norm {
    double order;          // positive and finite
    int range;             // 2^range and 2^-range, and what lies between, are exact in the type
    double least;          // sums of powers below it may have lost something
    char *power, *inverse; // p and 1 / p as items; NULL where the order is 1 or 2
};

// How a row is scaled: items times `factor` (order 2) or divided by it.
struct scaled {
    const struct norm *norm;
    char *factor; // an item, or NULL
};

// --- the sum of powers

// scratch = |x|^p, of scaled items.
static ct_status powers(void *context, const struct ct__tile *tile, size_t *row) {
    const struct scaled *s = context;
    const struct norm *norm = s->norm;
    struct ct__operand in = ct__tile_in(tile), made = ct__tile_scratch(tile);
    ct_status status = CT_OK;
    if (norm->order == 2) {
        struct ct__operand scale[] = {in, {s->factor, 0, 0}};
        if (s->factor) {
            status = ct__tile_op(tile, CT_OP_mul, scale, row);
            in = made;
        }
        struct ct__operand square[] = {in, in};
        if (status == CT_OK)
            status = ct__tile_op(tile, CT_OP_mul, square, row);
    } else {
        struct ct__operand scale[] = {made, {s->factor, 0, 0}};
        struct ct__operand power[] = {made, {norm->power, 0, 0}};
        status = ct__tile_op(tile, CT_OP_abs, &in, row);
        if (status == CT_OK && s->factor)
            status = ct__tile_op(tile, CT_OP_div, scale, row);
        if (status == CT_OK && norm->order != 1)
            status = ct__tile_op(tile, CT_OP_pow, power, row);
    }
    return status ? status : ct__tile_sum(tile, &made, 0, row);
}

static ct_status sum_powers(const struct scaled *s, const ct_scalar *scalar,
                            const struct ct_fold_job *job, size_t *row) {
    const struct ct__real_kernels *kernels = ct__kernels_of(scalar);
    if (kernels && !s->factor && (s->norm->order == 1 || s->norm->order == 2)) {
        (s->norm->order == 1 ? kernels->sizes : kernels->squares)(scalar, job);
        return CT_OK;
    }
    struct ct__blocks b;
    ct_status status = ct__blocks_make(&b, 1, scalar, job, powers, (void *)(uintptr_t)s, row);
    if (status)
        return status;
    status = ct__blocks_sum(&b, row);
    if (status == CT_OK)
        ct__blocks_put(&b, job);
    ct__free(b.memory);
    return status;
}

// y = op(y, z) on one row's result, and on all results with z an item for all.
static bool finish(const ct_scalar *scalar, enum ct_op op, const struct ct_fold_job *job, char *z) {
    char *const ptr[] = {job->y, z ? z : job->y, job->y};
    const ptrdiff_t step[] = {job->y_next, z ? 0 : job->y_next, job->y_next};
    return ct_scalar_loop(scalar, op)(scalar, op, job->count, ptr, step) == job->count;
}

static bool take_root(const struct norm *norm, const ct_scalar *scalar,
                      const struct ct_fold_job *job) {
    if (norm->order == 1)
        return true;
    return norm->order == 2 ? finish(scalar, CT_OP_sqrt, job, NULL)
                            : finish(scalar, CT_OP_pow, job, norm->inverse);
}

// --- scaling

// The largest |x| of a row, as a double; NaN where one is.
static double largest(const ct_scalar *scalar, const struct ct_fold_job *row, char *item) {
    struct ct_fold_job job = *row;
    job.y = item;
    ct_scalar_fold(scalar, CT_FOLD_MAX)(scalar, &job);
    double high = scalar->to_double(scalar, item);
    ct_scalar_fold(scalar, CT_FOLD_MIN)(scalar, &job);
    double low = scalar->to_double(scalar, item);
    return high != high || -low < high ? high : -low;
}

// One row whose plain sum of powers went astray: with its items scaled. Not where the largest is 0,
// infinite or NaN: so is the norm, and so was the sum.
static ct_status scale_row(const struct norm *norm, const ct_scalar *scalar,
                           const struct ct_fold_job *row, char *items, bool *scaled) {
    char *factor = items, *back = items + scalar->size;
    double most = largest(scalar, row, factor);
    size_t failed = 0;
    *scaled = (most > 0 && !isinf(most)) || scalar->traits & CT_CHECKED;
    if (!*scaled)
        return CT_OK;
    most = most > 0 ? most : 1;
    double scale = most;
    if (norm->order == 2) {
        int e = ilogb(most);
        e = e > norm->range ? norm->range : e < -norm->range ? -norm->range : e;
        scale = ldexp(1, e);
    }
    scalar->from_double(scalar, factor, norm->order == 2 ? 1 / scale : scale);
    scalar->from_double(scalar, back, scale);
    struct scaled s = {norm, factor};
    ct_status status = sum_powers(&s, scalar, row, &failed);
    if (status)
        return status;
    return take_root(norm, scalar, row) && finish(scalar, CT_OP_mul, row, back) ? CT_OK
                                                                                : CT_EOVERFLOW;
}

// Whether a sum of powers may have lost something on the way.
static bool is_astray(const struct norm *norm, double sum) {
    return !(sum >= norm->least) || isinf(sum);
}

// The rows that need it get their norms anew; `plain` says that the others have theirs as sums.
static ct_status repair(const struct norm *norm, const ct_scalar *scalar,
                        const struct ct_fold_job *job, bool plain, size_t *done) {
    char *items = ct__alloc(2 * scalar->size);
    if (!items)
        return CT_ENOMEM;
    ct_status status = CT_OK;
    for (size_t j = 0; j < job->count && status == CT_OK; j++) {
        struct ct_fold_job row = *job;
        bool scaled = false;
        row.count = 1;
        row.x += (ptrdiff_t)j * job->x_next;
        row.y += (ptrdiff_t)j * job->y_next;
        if (!plain || is_astray(norm, scalar->to_double(scalar, row.y)))
            status = scale_row(norm, scalar, &row, items, &scaled);
        if (status == CT_OK && !scaled && plain && !take_root(norm, scalar, &row))
            status = CT_EOVERFLOW;
        *done = j;
    }
    ct__free(items);
    return status;
}

// Whether a row's sum may have lost something: with a NaN among the sums their extremes are none.
static bool one_is_astray(const struct norm *norm, const ct_scalar *scalar,
                          const struct ct_fold_job *job) {
    _Alignas(64) char item[64];
    const struct ct_fold_job sums = {.n = job->count,
                                     .count = 1,
                                     .x = job->y,
                                     .x_step = job->y_next,
                                     .y = item,
                                     .y_next = (ptrdiff_t)scalar->size};
    if (!ct__kernels_of(scalar)) {
        for (size_t j = 0; j < job->count; j++)
            if (is_astray(norm, scalar->to_double(scalar, job->y + (ptrdiff_t)j * job->y_next)))
                return true;
        return false;
    }
    ct_scalar_fold(scalar, CT_FOLD_MIN)(scalar, &sums);
    if (is_astray(norm, scalar->to_double(scalar, item)))
        return true;
    ct_scalar_fold(scalar, CT_FOLD_MAX)(scalar, &sums);
    return is_astray(norm, scalar->to_double(scalar, item));
}

static ct_status norm_rows(void *context, const ct_scalar *scalar, const struct ct_fold_job *job,
                           size_t *done) {
    const struct norm *norm = context;
    struct scaled s = {norm, NULL};
    // A checked type fails where another becomes infinite: there rows are scaled from the start.
    bool plain = norm->order == 1 || !(scalar->traits & CT_CHECKED);
    ct_status status = plain ? sum_powers(&s, scalar, job, done) : CT_OK;
    if (status || norm->order == 1)
        return status;
    if (!plain || one_is_astray(norm, scalar, job))
        return repair(norm, scalar, job, plain, done);
    *done = 0;
    return take_root(norm, scalar, job) ? CT_OK : CT_EOVERFLOW;
}

// --- the orders

static bool has_all(const ct_scalar *scalar, int n, const enum ct_op *ops) {
    for (int i = 0; i < n; i++)
        if (!ct_scalar_has(scalar, ops[i]))
            return false;
    return true;
}

#define HAS(scalar, ...)                                                                           \
    has_all(scalar, (int)(sizeof((enum ct_op[]){__VA_ARGS__}) / sizeof(enum ct_op)),               \
            (const enum ct_op[]){__VA_ARGS__})

static bool has_norm(const ct_scalar *scalar, double order) {
    if (isinf(order))
        return HAS(scalar, CT_OP_abs) &&
               ct_scalar_fold(scalar, order > 0 ? CT_FOLD_MAX : CT_FOLD_MIN);
    if (!ct_scalar_fold(scalar, CT_FOLD_SUM) || !HAS(scalar, CT_OP_add))
        return false;
    if (order == 0)
        return HAS(scalar, CT_OP_not_equal, CT_OP_where);
    if (order == 1)
        return HAS(scalar, CT_OP_abs);
    return ct_scalar_fold(scalar, CT_FOLD_MAX) && ct_scalar_fold(scalar, CT_FOLD_MIN) &&
           (order == 2 ? HAS(scalar, CT_OP_mul, CT_OP_sqrt)
                       : HAS(scalar, CT_OP_mul, CT_OP_abs, CT_OP_div, CT_OP_pow));
}

// Whether 2^range and 2^-range are exact.
static bool holds_powers(const ct_scalar *scalar, char *item, int range) {
    double high = ldexp(1, range), low = ldexp(1, -range);
    return scalar->from_double(scalar, item, high) && scalar->to_double(scalar, item) == high &&
           scalar->from_double(scalar, item, low) && scalar->to_double(scalar, item) == low;
}

// How far powers of two are exact in both directions.
static int range_of(const ct_scalar *scalar, char *item) {
    int range = 0;
    for (int step = 512; step > 0; step /= 2)
        if (range + step <= 1022 && holds_powers(scalar, item, range + step))
            range += step;
    return range;
}

// The sum of powers and its root.
static ct_tensor *norm_of_powers(const struct ct__reduction *r, double order) {
    struct norm norm = {.order = order};
    const ct_scalar *scalar = r->t->scalar;
    ct_tensor *items = ct__empty(r->who, scalar, 1, &(int64_t){2}), *result = NULL;
    if (!items)
        return NULL;
    norm.power = ct__first(items);
    norm.inverse = norm.power + scalar->size;
    norm.range = range_of(scalar, norm.power);
    norm.least = ldexp(1, -norm.range / 8 * 5);
    if (order != 1 && order != 2 &&
        !(scalar->from_double(scalar, norm.power, order) &&
          scalar->from_double(scalar, norm.inverse, 1 / order)))
        ct__fail_value(r->who, items, order);
    else
        result = ct__reduced(r, ct__reduce_result(r, scalar), 0, norm_rows, &norm);
    ct_free(items);
    return result;
}

// Order 0: ones for the items that are not zero.
static ct_tensor *norm_of_count(const struct ct__reduction *r, int n, const int *axes) {
    ct_tensor *zero = ct_from_double(r->t->scalar, 0), *one = ct_from_double(r->t->scalar, 1);
    ct_tensor *mask = zero && one ? ct_not_equal(r->t, zero) : NULL;
    ct_tensor *ones = mask ? ct_where(mask, one, zero) : NULL;
    ct_tensor *result = ones ? ct_sum_axes(ones, n, axes, r->keepdims) : NULL;
    ct_tensor *all[] = {zero, one, mask, ones};
    for (int i = 0; i < 4; i++)
        ct_free(all[i]);
    return ct__as(r->who, result);
}

static ct_tensor *norm_of_extreme(const struct ct__reduction *r, double order, int n,
                                  const int *axes) {
    if (ct__reduce_has_items(r))
        return NULL;
    ct_tensor *sizes = ct_abs(r->t), *result = NULL;
    if (sizes)
        result = order > 0 ? ct_max_axes(sizes, n, axes, r->keepdims)
                           : ct_min_axes(sizes, n, axes, r->keepdims);
    return ct__then(sizes, ct__as(r->who, result));
}

static ct_tensor *norm(const char *who, const ct_tensor *t, int n, const int *axes, double order,
                       bool keepdims) {
    struct ct__reduction r;
    if (!ct__reduce_start(&r, who, "norm", t, n, axes, keepdims))
        return NULL;
    if (order != order || (order < 0 && !isinf(order))) {
        char text[64];
        ct_scalar_f64.format(&ct_scalar_f64, &order, text, sizeof text);
        return ct__fail_null(CT_EDOMAIN, who,
                             "the order %s of a norm is neither 0, positive nor an infinity", text);
    }
    if (!has_norm(t->scalar, order))
        return ct__reduce_lacks(&r), NULL;
    return isinf(order) ? norm_of_extreme(&r, order, n, axes)
           : order == 0 ? norm_of_count(&r, n, axes)
                        : norm_of_powers(&r, order);
}

ct_tensor *ct_norm(const ct_tensor *t, int axis, double order, bool keepdims) {
    return norm(__func__, t, 1, &axis, order, keepdims);
}

ct_tensor *ct_norm_axes(const ct_tensor *t, int n, const int *axes, double order, bool keepdims) {
    return norm(__func__, t, n, axes, order, keepdims);
}
