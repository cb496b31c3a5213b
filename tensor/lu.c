/* LU factorisation with partial pivoting, and what is made of it. */

#include "tensor/ct_make.h"
#include "tensor/ct_ops.h"
#include "tensor/ct_reduce.h"
#include "tensor/factor_impl.h"
#include "tensor/factor_solve.h"

#include "tensor/fail.h"

// --- the factorisation

struct factored {
    const struct ct__factor *factor;
    struct ct__lu *out;
    size_t n;
};

static ct_status factor_one(void *context, struct ct__factor_room *room, size_t which,
                            size_t *place) {
    struct factored *c = context;
    const ct_tensor *lu = c->out->lu;
    int64_t *order = (int64_t *)(void *)ct__first(c->out->order) + which * c->n;
    *place = 0;
    return ct__lu_steps(c->factor, room, c->n, ct__matrix_of(lu, lu->rank - 2, lu->shape, which),
                        order);
}

static ct_status factor_all(const char *who, const struct ct__factor *f, struct ct__lu *out) {
    const ct_tensor *lu = out->lu;
    size_t n = (size_t)lu->shape[lu->rank - 1], which, place;
    const size_t right = n > CT__FACTOR_BLOCK ? n - CT__FACTOR_BLOCK : 0; // of the first panel
    struct factored context = {f, out, n};
    const struct ct__batch batch = {.run = factor_one,
                                    .context = &context,
                                    .factor = f,
                                    .products = right * right,
                                    .flops = (double)n * (double)n * (double)n * (2.0 / 3)};
    ct_status status = ct__run_batch(&batch, n ? lu->count / (n * n) : 0, &which, &place);
    return status ? ct__fail_factor(who, lu, status, which) : CT_OK;
}

ct_status ct__lu_of(const char *who, const ct_tensor *a, struct ct__lu *lu) {
    struct ct__factor f;
    ct_status status = ct__check_square(who, a, &f);
    if (status)
        return status;
    ct_tensor *once = ct__unrepeated(who, a, 2);
    struct ct__lu made = {once ? ct__dense_copy(who, once) : NULL, NULL};
    if (made.lu)
        made.order = ct__empty(who, CT_I64, once->rank - 1, once->shape);
    ct_free(once);
    if (made.order && factor_all(who, &f, &made) == CT_OK) {
        made.lu = ct__repeated(who, made.lu, a->rank, a->shape);
        made.order = ct__repeated(who, made.order, a->rank - 1, a->shape);
        if (made.lu && made.order) {
            *lu = made;
            return CT_OK;
        }
    }
    ct__lu_free(&made);
    return ct_error()->code;
}

void ct__lu_free(struct ct__lu *lu) {
    ct_free(lu->order);
    ct_free(lu->lu);
}

// --- solutions

struct solved {
    const struct ct__solve *plan;
    const struct ct__lu *lu;
    const ct_tensor *b; // a view
    ct_tensor *x;
    bool transposed;
};

static int64_t row_of(struct ct__matrix order, size_t i) {
    int64_t row;
    memcpy(&row, order.at + (ptrdiff_t)i * order.col, sizeof row);
    return row;
}

// As a matrix of one row.
static struct ct__matrix order_of(const struct solved *s, size_t which) {
    const ct_tensor *t = s->lu->order;
    const struct ct__solve *plan = s->plan;
    return (struct ct__matrix){ct__in_batch(t, 1, plan->batch_rank, plan->batch, which), 0,
                               t->strides[t->rank - 1] * (ptrdiff_t)sizeof(int64_t)};
}

// x = P b, or a copy of b.
static void take_rows(const struct solved *s, size_t which, struct ct__matrix order,
                      struct ct__matrix x) {
    const struct ct__solve *plan = s->plan;
    struct ct__matrix b = ct__matrix_of(s->b, plan->batch_rank, plan->batch, which);
    for (size_t i = 0; i < plan->n; i++) {
        size_t from = s->transposed ? i : (size_t)row_of(order, i);
        ct__copy_row(plan->factor.scalar->size, plan->k, ct__at(b, from, 0), b.col, ct__at(x, i, 0),
                     x.col);
    }
}

// x = P' x.
static void put_rows(const struct solved *s, struct ct__factor_room *room, struct ct__matrix order,
                     struct ct__matrix x) {
    const struct ct__solve *plan = s->plan;
    size_t bytes = plan->k * plan->factor.scalar->size;
    memcpy(room->products, x.at, plan->n * bytes);
    for (size_t i = 0; i < plan->n; i++)
        memcpy(ct__at(x, (size_t)row_of(order, i), 0), room->products + i * bytes, bytes);
}

static ct_status substitute(const struct solved *s, struct ct__factor_room *room,
                            struct ct__matrix a, struct ct__matrix x, unsigned triangle) {
    const struct ct__solve *plan = s->plan;
    ct__as_lower(plan->n, triangle, &a, &x);
    return ct__substitute(&plan->factor, room, plan->n, plan->k, a, triangle & CT_UNIT_DIAGONAL, x);
}

static ct_status solve_one(void *context, struct ct__factor_room *room, size_t which,
                           size_t *place) {
    const struct solved *s = context;
    const struct ct__solve *plan = s->plan;
    const ct_scalar *scalar = plan->factor.scalar;
    struct ct__matrix a = ct__matrix_of(s->lu->lu, plan->batch_rank, plan->batch, which);
    struct ct__matrix x = ct__matrix_of(s->x, plan->batch_rank, plan->batch, which);
    struct ct__matrix order = order_of(s, which);
    for (*place = 0; *place < plan->n; ++*place)
        if (scalar->to_double(scalar, ct__at(a, *place, *place)) == 0)
            return CT_EDOMAIN;
    const unsigned l = CT_LOWER | CT_UNIT_DIAGONAL, u = CT_UPPER;
    take_rows(s, which, order, x);
    ct_status status =
        s->transposed ? substitute(s, room, a, x, u | CT_TRANSPOSED) : substitute(s, room, a, x, l);
    if (!status)
        status = s->transposed ? substitute(s, room, a, x, l | CT_TRANSPOSED)
                               : substitute(s, room, a, x, u);
    if (!status && s->transposed)
        put_rows(s, room, order, x);
    return status;
}

ct_tensor *ct__lu_solve(const char *who, const struct ct__lu *lu, const ct_tensor *b,
                        bool transposed) {
    struct ct__solve plan;
    if (ct__plan_solve(who, lu->lu, b, &plan))
        return NULL;
    ct_tensor *view = ct__right_hand_side(who, &plan, b);
    ct_tensor *x = view ? ct__empty(who, b->scalar, view->rank, view->shape) : NULL;
    struct solved context = {&plan, lu, view, x, transposed};
    size_t which = 0, place = 0;
    ct_status status = x ? ct__solve_batch(&plan, solve_one, &context, &which, &place) : CT_ENOMEM;
    ct_free(view);
    if (x && status == CT_EDOMAIN) {
        char matrix[CT__MATRIX_BYTES];
        ct__fail(CT_EDOMAIN, who, "%s is singular: pivot %zu is 0",
                 ct__which_matrix(matrix, plan.batch_rank, plan.batch, which), place);
    } else if (x && status) {
        ct__fail_solve(who, &plan, status, which);
    }
    return ct__solution(who, &plan, status, x);
}

ct_tensor *ct__lu_inverse(const char *who, const struct ct__lu *lu) {
    int64_t n = lu->lu->shape[lu->lu->rank - 1];
    ct_tensor *once = ct__unrepeated(who, lu->lu, 2), *order = NULL;
    if (once)
        order = ct__unrepeated(who, lu->order, 1);
    struct ct__lu part = {once, order};
    ct_tensor *one = order ? ct__as(who, ct_eye(lu->lu->scalar, n, n, 0)) : NULL;
    ct_tensor *inverse = one ? ct__lu_solve(who, &part, one, false) : NULL;
    ct_free(one);
    ct__lu_free(&part);
    return ct__repeated(who, inverse, lu->lu->rank, lu->lu->shape);
}

// --- determinants

static ct_tensor *pivots(const char *who, const struct ct__lu *lu) {
    return ct__as(who, ct_diagonal(lu->lu, 0, -2, -1));
}

// Whether a permutation is odd: whether the number of its inversions is.
static bool is_odd(int64_t n, const int64_t *order) {
    bool odd = false;
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = i + 1; k < n; k++)
            odd ^= order[i] > order[k];
    return odd;
}

/* 1 or -1 for each matrix, times the signs of its pivots if asked. */
static void write_signs(const ct_tensor *pivots, const ct_tensor *order, bool with_pivots,
                        ct_tensor *out) {
    const ct_scalar *scalar = out->scalar;
    int64_t n = order->shape[order->rank - 1];
    const char *pivot = ct__first(pivots);
    const int64_t *places = (const int64_t *)(const void *)ct__first(order);
    for (size_t i = 0; i < out->count; i++, places += n) {
        double sign = is_odd(n, places) ? -1 : 1;
        for (int64_t k = 0; k < n && with_pivots; k++, pivot += scalar->size) {
            double value = scalar->to_double(scalar, pivot);
            sign *= value > 0 ? 1 : value < 0 ? -1 : value;
        }
        scalar->from_double(scalar, ct__first(out) + i * scalar->size, sign == 0 ? 0 : sign);
    }
}

static ct_tensor *signs(const char *who, const struct ct__lu *lu, bool with_pivots) {
    ct_tensor *diagonal = pivots(who, lu), *dense = NULL, *order = NULL, *out = NULL;
    if (diagonal)
        dense = ct__dense_copy(who, diagonal);
    if (dense)
        order = ct__dense_copy(who, lu->order);
    if (order)
        out = ct__empty(who, lu->lu->scalar, lu->lu->rank - 2, lu->lu->shape);
    if (out)
        write_signs(dense, order, with_pivots, out);
    ct_free(order);
    ct_free(dense);
    ct_free(diagonal);
    return out;
}

ct_tensor *ct__lu_sign(const char *who, const struct ct__lu *lu) {
    return signs(who, lu, true);
}

ct_tensor *ct__lu_det(const char *who, const struct ct__lu *lu) {
    ct_tensor *diagonal = pivots(who, lu), *sign = diagonal ? signs(who, lu, false) : NULL;
    ct_tensor *product = sign ? ct__as(who, ct_prod(diagonal, -1, false)) : NULL;
    ct_tensor *det = product ? ct__as(who, ct_mul(product, sign)) : NULL;
    ct_free(product);
    ct_free(sign);
    ct_free(diagonal);
    return det;
}

/* The logarithm of 0 has no derivative, but over a type with tangents the log of a pivot of 0 would get the 0 that
   elimination left there. */
static bool check_tangents(const char *who, const struct ct__lu *lu, const ct_tensor *pivots) {
    size_t i = pivots->scalar->base ? ct__first_zero(pivots) : pivots->count;
    size_t n = (size_t)pivots->shape[pivots->rank - 1];
    bool regular = i == pivots->count;
    char matrix[CT__MATRIX_BYTES];
    if (!regular)
        ct__fail(CT_EDOMAIN, who,
                 "%s is singular: pivot %zu is 0, whose logarithm has no derivative",
                 ct__which_matrix(matrix, lu->lu->rank - 2, lu->lu->shape, i / n), i % n);
    return regular;
}

ct_tensor *ct__lu_log_abs(const char *who, const struct ct__lu *lu) {
    ct_tensor *t = pivots(who, lu);
    if (t && !check_tangents(who, lu, t)) {
        ct_free(t);
        return NULL;
    }
    t = ct__then(t, t ? ct__as(who, ct_abs(t)) : NULL);
    t = ct__then(t, t ? ct__as(who, ct_log(t)) : NULL);
    return ct__then(t, t ? ct__as(who, ct_sum(t, -1, false)) : NULL);
}
