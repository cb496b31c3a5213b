/* Cholesky's factorisation, and substitution with triangular matrices. */

#include "tensor/ct_index.h"
#include "tensor/factor_impl.h"
#include "tensor/factor_solve.h"

#include "tensor/fail.h"

struct factored {
    const struct ct__factor *factor;
    ct_tensor *l;
};

static ct_status factor_one(void *context, struct ct__factor_room *room, size_t which,
                            size_t *place) {
    struct factored *c = context;
    const ct_tensor *l = c->l;
    return ct__cholesky_steps(c->factor, room, (size_t)l->shape[l->rank - 1],
                              ct__matrix_of(l, l->rank - 2, l->shape, which), place);
}

// The value of a pivot as text: tangents have no part in it.
static const char *pivot_text(char text[40], const ct_tensor *l, size_t which, size_t place) {
    struct ct__matrix m = ct__matrix_of(l, l->rank - 2, l->shape, which);
    const ct_scalar *scalar = l->scalar;
    while (scalar->base)
        scalar = scalar->base;
    scalar->format(scalar, ct__at(m, place, place), text, 40);
    return text;
}

static ct_status factor_all(const char *who, const struct ct__factor *f, ct_tensor *l) {
    size_t n = (size_t)l->shape[l->rank - 1], which, place;
    struct factored context = {f, l};
    const struct ct__batch batch = {.run = factor_one,
                                    .context = &context,
                                    .factor = f,
                                    .products = n * CT__FACTOR_BLOCK,
                                    .flops = (double)n * (double)n * (double)n / 3};
    ct_status status = ct__run_batch(&batch, n ? l->count / (n * n) : 0, &which, &place);
    char matrix[CT__MATRIX_BYTES], pivot[40];
    if (status == CT_EDOMAIN)
        return ct__fail(status, who, "%s is not positive definite: pivot %zu is %s",
                        ct__which_matrix(matrix, l->rank - 2, l->shape, which), place,
                        pivot_text(pivot, l, which, place));
    return status ? ct__fail_factor(who, l, status, which) : CT_OK;
}

ct_tensor *ct_cholesky(const ct_tensor *a) {
    struct ct__factor f;
    if (!a)
        return ct__null(__func__);
    if (ct__check_square(__func__, a, &f))
        return NULL;
    if (!f.sqrt)
        return ct__fail_null(CT_EDTYPE, __func__, "%s has no sqrt", a->scalar->name);
    ct_tensor *once = ct__unrepeated(__func__, a, 2);
    ct_tensor *l = ct__then(once, once ? ct__as(__func__, ct_tril(once, 0)) : NULL);
    if (l && factor_all(__func__, &f, l)) {
        ct_free(l);
        return NULL;
    }
    return ct__repeated(__func__, l, a->rank, a->shape);
}

// --- triangles

struct substituted {
    const struct ct__solve *plan;
    const ct_tensor *a;
    ct_tensor *x;
    unsigned triangle;
};

static ct_status substitute_one(void *context, struct ct__factor_room *room, size_t which,
                                size_t *place) {
    const struct substituted *s = context;
    const struct ct__solve *plan = s->plan;
    const ct_scalar *scalar = s->a->scalar;
    struct ct__matrix a = ct__matrix_of(s->a, plan->batch_rank, plan->batch, which);
    struct ct__matrix x = ct__matrix_of(s->x, plan->batch_rank, plan->batch, which);
    bool unit = s->triangle & CT_UNIT_DIAGONAL;
    for (*place = 0; *place < plan->n && !unit; ++*place)
        if (scalar->to_double(scalar, ct__at(a, *place, *place)) == 0)
            return CT_EDOMAIN;
    ct__as_lower(plan->n, s->triangle, &a, &x);
    return ct__substitute(&plan->factor, room, plan->n, plan->k, a, unit, x);
}

ct_tensor *ct_solve_triangular(const ct_tensor *a, const ct_tensor *b, unsigned triangle) {
    struct ct__solve plan;
    if (!a || !b)
        return ct__null(__func__);
    if (triangle & ~(unsigned)(CT_UPPER | CT_TRANSPOSED | CT_UNIT_DIAGONAL))
        return ct__fail_null(CT_EINVAL, __func__, "%#x holds flags that are none of ct_triangle",
                             triangle);
    if (ct__plan_solve(__func__, a, b, &plan))
        return NULL;
    ct_tensor *x = ct__right_hand_side(__func__, &plan, b);
    if (!x)
        return NULL;
    ct_tensor *dense = ct__then(x, ct__dense_copy(__func__, x));
    struct substituted context = {&plan, a, dense, triangle};
    size_t which = 0, place = 0;
    ct_status status =
        dense ? ct__solve_batch(&plan, substitute_one, &context, &which, &place) : ct_error()->code;
    if (dense && status == CT_EDOMAIN) {
        char matrix[CT__MATRIX_BYTES];
        ct__fail(CT_EDOMAIN, __func__, "%s is singular: item [%zu, %zu] of its diagonal is 0",
                 ct__which_matrix(matrix, plan.batch_rank, plan.batch, which), place, place);
    } else if (dense && status) {
        ct__fail_solve(__func__, &plan, status, which);
    }
    return ct__solution(__func__, &plan, status, dense);
}
