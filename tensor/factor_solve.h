/* What solutions with a triangular and with a square matrix share. */
#ifndef CT_FACTOR_SOLVE_H
#define CT_FACTOR_SOLVE_H

#include "tensor/factor_impl.h"

/* x of a x = b: matrices n x k over a batch. */
struct ct__solve {
    struct ct__factor factor;
    size_t n, k;
    bool vector; /* b has rank 1 */
    int batch_rank;
    int64_t batch[CT_MAX_RANK];
};

/* CT_EDTYPE or CT_ESHAPE where the operands do not fit; without an error where `who` is NULL. */
ct_status ct__plan_solve(const char *who, const ct_tensor *a, const ct_tensor *b,
                         struct ct__solve *plan);
/* A view of b with the result's batch axes, without names, as matrices. */
ct_tensor *ct__right_hand_side(const char *who, const struct ct__solve *plan, const ct_tensor *b);
ct_status ct__solve_batch(const struct ct__solve *plan,
                          ct_status (*run)(void *context, struct ct__factor_room *room,
                                           size_t which, size_t *place),
                          void *context, size_t *which, size_t *place);
/* The error of a status other than CT_EDOMAIN. */
ct_status ct__fail_solve(const char *who, const struct ct__solve *plan, ct_status status,
                         size_t which);
/* x in the result's shape; where the status is a failure x is freed. x may be NULL. */
ct_tensor *ct__solution(const char *who, const struct ct__solve *plan, ct_status status,
                        ct_tensor *x);
/* A result for matrices without repetition, which is freed, repeated as the operand of this shape is. */
ct_tensor *ct__repeated(const char *who, ct_tensor *t, int rank, const int64_t *shape);

#endif
