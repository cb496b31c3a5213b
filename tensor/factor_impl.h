/* What the files of factorisations share: the blocked algorithms on one matrix. */
#ifndef CT_FACTOR_IMPL_H
#define CT_FACTOR_IMPL_H

#include "tensor/factor.h"

#include "tensor/kernels/kern_factor.h"
#include "tensor/tensor_impl.h"

/* Memory as a matrix: steps in bytes, signed. */
struct ct__matrix {
    char *at;
    ptrdiff_t row, col;
};
static inline char *ct__at(struct ct__matrix m, size_t i, size_t j) {
    return m.at + (ptrdiff_t)i * m.row + (ptrdiff_t)j * m.col;
}
static inline struct ct__matrix ct__from(struct ct__matrix m, size_t i, size_t j) {
    return (struct ct__matrix){ct__at(m, i, j), m.row, m.col};
}

/* What a type's steps are made of. */
struct ct__factor {
    const ct_scalar *scalar;
    ct_loop_fn *mul, *sub, *div, *sqrt;
    ct_matmul_fn *matmul;
    const struct ct__factor_kernels *kernels; /* NULL: by loops, the same bits */
};

/* Scratch of one worker: `room` items of products; items of one step. */
struct ct__factor_room {
    char *products, *step;
};

/* factor_block.c */

/* False: the type lacks something, or has integers. */
bool ct__factor_start(struct ct__factor *f, const ct_scalar *scalar);
/* Room for products of so many items; ct__factor_leave() in any case. */
bool ct__factor_enter(const struct ct__factor *f, size_t products, struct ct__factor_room *room);
void ct__factor_leave(struct ct__factor_room *room);

/* a[i][j] -= f[i] u[j], i < rows and j < n; rows of a lie item by item. CT_EOVERFLOW. */
ct_status ct__subtract_step(const struct ct__factor *f, struct ct__factor_room *room, size_t rows,
                            size_t n, const char *column, ptrdiff_t column_step, const char *u,
                            ptrdiff_t u_step, char *a, ptrdiff_t a_row);
/* a -= l u, m x k times k x n; rows of a lie item by item. */
ct_status ct__subtract_product(const struct ct__factor *f, struct ct__factor_room *room, size_t m,
                               size_t n, size_t k, struct ct__matrix l, struct ct__matrix u,
                               struct ct__matrix a);
/* n items over one, in place. */
ct_status ct__divide(const struct ct__factor *f, size_t n, char *x, ptrdiff_t step, const char *by);

/* factor_steps.c: each works on dense memory of n x n items in place, and returns CT_EDOMAIN where it stands
   at a pivot that is none, CT_EOVERFLOW, CT_ENOMEM. `*place` is the pivot's then. */

/* The lower triangle becomes L, from a lower triangle with zeros above, which stay. Needs n * 32 products. */
ct_status ct__cholesky_steps(const struct ct__factor *f, struct ct__factor_room *room, size_t n,
                             struct ct__matrix a, size_t *place);
/* L and U; order[i] becomes the row that row i was. Needs the products right of the first block. */
ct_status ct__lu_steps(const struct ct__factor *f, struct ct__factor_room *room, size_t n,
                       struct ct__matrix a, int64_t *order);
/* Substitution from the first row to the last: x, of n x k items that lie row by row, item by item (rows
   in either direction), becomes that of lower * x. Needs n * k products, 32 at
   least. */
ct_status ct__substitute(const struct ct__factor *f, struct ct__factor_room *room, size_t n,
                         size_t k, struct ct__matrix lower, bool unit, struct ct__matrix x);
/* The triangle and its right-hand side as the lower one that is solved downwards. */
void ct__as_lower(size_t n, unsigned triangle, struct ct__matrix *a, struct ct__matrix *x);

/* factor_batch.c */

/* Part number `which` of a batch to which t's axes but the last `kept` broadcast: its first item, and a matrix. */
char *ct__in_batch(const ct_tensor *t, int kept, int batch_rank, const int64_t *batch,
                   size_t which);
struct ct__matrix ct__matrix_of(const ct_tensor *t, int batch_rank, const int64_t *batch,
                                size_t which);
/* CT_EDTYPE, CT_ESHAPE: not square matrices of a type that can be factored. No error is set where `who` is
   NULL. */
ct_status ct__check_square(const char *who, const ct_tensor *a, struct ct__factor *f);
/* A view of t in which leading axes of stride 0, all but the last `kept` axes, have extent 1. */
ct_tensor *ct__unrepeated(const char *who, const ct_tensor *t, int kept);
/* "the matrix", or "the matrix at index [1, 0]" of a batch. */
enum { CT__MATRIX_BYTES = CT__AT_INDEX_BYTES + 16 };
const char *ct__which_matrix(char text[CT__MATRIX_BYTES], int batch_rank, const int64_t *batch,
                             size_t which);

/* The error of a factorisation of t that ended in a status other than CT_EDOMAIN. */
ct_status ct__fail_factor(const char *who, const ct_tensor *t, ct_status status, size_t which);

/* The matrices of a batch, each by its own call; the first that fails counts. */
struct ct__batch {
    ct_status (*run)(void *context, struct ct__factor_room *room, size_t which, size_t *place);
    void *context;
    const struct ct__factor *factor;
    size_t products; /* items of scratch */
    double flops;    /* of one */
};
/* CT_OK; or the failure of matrix `*which`, at pivot `*place`, without an error set. */
ct_status ct__run_batch(const struct ct__batch *batch, size_t count, size_t *which, size_t *place);

#endif
