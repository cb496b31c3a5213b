/* Elementwise work on operands that are broadcast to a dense result, for the files of tensor/. */
#ifndef CT_ELEMENTWISE_H
#define CT_ELEMENTWISE_H

#include "tensor/tensor_impl.h"

/* --- elementwise.c --- */

/* An op on given operands: what it would make, and how. */
struct ct__elementwise {
    enum ct_op op;
    int n;
    const ct_scalar *scalar; /* of the operands, but for the mask of a choice */
    const ct_scalar *result;
    ct_loop_fn *loop;
    const struct ct__real_kernels *kernels; /* with the loop too; or NULL */
    int rank;                               /* of the result */
    int64_t shape[CT_MAX_RANK];
};

/* Checks an op and its operands, which are not NULL. Touches and allocates nothing. `who` may be
   NULL: then no error is set. */
ct_status ct__elementwise_plan(const char *who, enum ct_op op, int n, const ct_tensor *const in[],
                               struct ct__elementwise *e);
/* Whether an item of the result may be missing, so that the target must not be worked on in place. */
bool ct__elementwise_may_fail(const struct ct__elementwise *e);
/* Computes all items into dense memory. An operand may be that very memory, item by item, and must
   not overlap it otherwise. Where an item has no result: the error names the first in row-major
   order, and the memory is spoilt. */
ct_status ct__elementwise_run(const char *who, const struct ct__elementwise *e,
                              const ct_tensor *const in[], size_t count, char *to);

/* Fails for one item in row-major order: "add of 1 and 2 at index [0, 1]", with `joint` before the
   last operand and `what` behind all. */
ct_status ct__fail_item(const char *who, ct_status code, const char *name, const char *joint, int n,
                        const ct_tensor *const in[], int rank, const int64_t *shape, size_t item,
                        const char *what);
/* Whether `op` is elementwise and takes n operands. `who` may be NULL. */
ct_status ct__check_op(const char *who, enum ct_op op, int n);

/* --- elementwise_rows.c --- */

/* Work on n strided items: as ct_loop_fn. */
typedef size_t ct__operand_loop(const void *context, size_t n, char *const ptr[],
                                const ptrdiff_t step[]);

/* Work on `rows` rows of n items, next[] bytes apart, all of which succeed. Steps are 0 or the item's size. */
typedef void ct__operand_plane(const void *context, size_t rows, size_t n, char *const ptr[],
                               const ptrdiff_t step[], const ptrdiff_t next[]);

struct ct__operand_work {
    ct__operand_loop *loop;
    ct__operand_plane *plane; /* for repeated rows and columns; or NULL */
    const void *context;
};

/* Calls the loop until all `count` > 0 items of the shape are done, on several threads where that pays;
   the operands are broadcast, the result has items of `size` bytes, dense from `to`. Returns how
   many items of the result are done: all, or the row-major place of the first that failed. */
size_t ct__for_rows(const struct ct__operand_work *work, int n, const ct_tensor *const in[],
                    int rank, const int64_t *shape, size_t count, size_t size, char *to);

/* --- write.c --- */

/* Whether `other` broadcasts to the target's shape, and the names agree. `who` is a public function:
   "ct_combine". */
ct_status ct__check_growth(const char *who, const ct_tensor *target, const ct_tensor *other);
/* t = op(t, other), whose shape must be that of t. `who` as above. */
ct_status ct__combine(const char *who, enum ct_op op, ct_tensor *t, const ct_tensor *other);

#endif
