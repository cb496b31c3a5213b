#include "tensor/factor_solve.h"

#include "tensor/fail.h"

static ct_status fail_shapes(const char *who, const ct_tensor *a, const ct_tensor *b,
                             const char *what) {
    char left[CT__SHAPE_TEXT_BYTES], right[CT__SHAPE_TEXT_BYTES];
    if (!who)
        return CT_ESHAPE;
    ct__format_shape(left, sizeof left, a->rank, a->shape);
    ct__format_shape(right, sizeof right, b->rank, b->shape);
    return ct__fail(CT_ESHAPE, who, "%s: %s and %s", what, left, right);
}

ct_status ct__plan_solve(const char *who, const ct_tensor *a, const ct_tensor *b,
                         struct ct__solve *plan) {
    if (a->scalar != b->scalar && !who)
        return CT_EDTYPE;
    if (a->scalar != b->scalar)
        return ct__fail(CT_EDTYPE, who, "one scalar type is needed: %s and %s were given",
                        a->scalar->name, b->scalar->name);
    ct_status status = ct__check_square(who, a, &plan->factor);
    if (status)
        return status;
    if (b->rank == 0)
        return fail_shapes(who, a, b, "a right-hand side is a vector or has matrices");
    plan->vector = b->rank == 1;
    int rank = plan->vector ? 0 : b->rank - 2;
    plan->n = (size_t)a->shape[a->rank - 1];
    plan->k = plan->vector ? 1 : (size_t)b->shape[b->rank - 1];
    if (b->shape[rank] != a->shape[a->rank - 1])
        return fail_shapes(who, a, b, "the right-hand side needs as many rows as the matrix");
    if (ct__broadcast_fault(a->rank - 2, a->shape, rank, b->shape, &plan->batch_rank,
                            plan->batch) >= 0)
        return fail_shapes(who, a, b, "the leading axes do not broadcast");
    return CT_OK;
}

bool ct_can_solve(const ct_tensor *a, const ct_tensor *b) {
    struct ct__solve plan;
    int64_t shape[CT_MAX_RANK];
    size_t count;
    if (!a || !b || ct__plan_solve(NULL, a, b, &plan))
        return false;
    memcpy(shape, plan.batch, (size_t)plan.batch_rank * sizeof *shape);
    shape[plan.batch_rank] = (int64_t)plan.n;
    shape[plan.batch_rank + 1] = (int64_t)plan.k;
    return ct__count_items(a->scalar->size, plan.batch_rank + 2, shape, &count);
}

ct_tensor *ct__right_hand_side(const char *who, const struct ct__solve *plan, const ct_tensor *b) {
    int64_t shape[CT_MAX_RANK];
    int rank = plan->batch_rank;
    memcpy(shape, plan->batch, (size_t)rank * sizeof *shape);
    shape[rank] = (int64_t)plan->n;
    shape[rank + 1] = (int64_t)plan->k;
    ct_tensor *bare = ct__unnamed(ct__share(who, b));
    if (bare && plan->vector)
        bare = ct__then(bare, ct__as(who, ct_expand_dims(bare, 1)));
    return ct__then(bare, bare ? ct__as(who, ct_broadcast_to(bare, rank + 2, shape)) : NULL);
}

ct_status ct__solve_batch(const struct ct__solve *plan,
                          ct_status (*run)(void *context, struct ct__factor_room *room,
                                           size_t which, size_t *place),
                          void *context, size_t *which, size_t *place) {
    const struct ct__batch batch = {
        .run = run,
        .context = context,
        .factor = &plan->factor,
        .products = plan->n * plan->k + CT__FACTOR_BLOCK,
        .flops = 2 * (double)plan->n * (double)plan->n * (double)plan->k,
    };
    size_t count = plan->n > 0 && plan->k > 0;
    for (int i = 0; i < plan->batch_rank; i++)
        count *= (size_t)plan->batch[i];
    return ct__run_batch(&batch, count, which, place);
}

ct_status ct__fail_solve(const char *who, const struct ct__solve *plan, ct_status status,
                         size_t which) {
    char matrix[CT__MATRIX_BYTES];
    if (status == CT_ENOMEM)
        return ct__fail(status, who, "out of memory for a solution");
    return ct__fail(status, who, "the solution with %s does not fit %s",
                    ct__which_matrix(matrix, plan->batch_rank, plan->batch, which),
                    plan->factor.scalar->name);
}

ct_tensor *ct__solution(const char *who, const struct ct__solve *plan, ct_status status,
                        ct_tensor *x) {
    if (!x || status) {
        ct_free(x);
        return NULL;
    }
    return plan->vector ? ct__then(x, ct__as(who, ct_squeeze(x, -1))) : x;
}

ct_tensor *ct__repeated(const char *who, ct_tensor *t, int rank, const int64_t *shape) {
    if (!t || (t->rank == rank && memcmp(t->shape, shape, (size_t)rank * sizeof *shape) == 0))
        return t;
    return ct__then(t, ct__as(who, ct_broadcast_to(t, rank, shape)));
}
