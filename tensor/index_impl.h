/* Places and rows: what the files that choose items by index share. */
#ifndef CT_INDEX_IMPL_H
#define CT_INDEX_IMPL_H

#include "tensor/tensor_impl.h"

/* --- places.c --- */

/* The numbers of an index tensor in row-major order, each in [0, extent). */
struct ct__places {
    const int64_t *at;
    int64_t *own; /* memory behind them, or NULL where they are the tensor's */
};
/* Reads, counts from the end and checks. `axis` is for the message, -1: all items. On failure there
   is nothing to drop. */
ct_status ct__read_places(const char *who, const ct_tensor *index, int axis, int64_t extent,
                          struct ct__places *places);
void ct__drop_places(struct ct__places *places);
/* CT_EDTYPE unless i64 or i32. `who` may be NULL. */
ct_status ct__check_index_type(const char *who, const ct_tensor *index);
/* The numbers as they are into dense memory; the type has been checked. */
void ct__copy_index(const ct_tensor *index, int64_t *to);
/* CT_ESHAPE unless `source` has this shape, CT_EDTYPE unless it has t's scalar type. */
ct_status ct__check_source(const char *who, const ct_tensor *t, const ct_tensor *source, int rank,
                           const int64_t *shape);

/* --- accumulate.c --- */

/* How an item is combined with what stands at its place. */
struct ct__combiner {
    const ct_scalar *scalar;
    enum ct_op op;
    ct_loop_fn *loop;
};
/* CT_EINVAL for another op than add, mul, maximum, minimum; CT_EDTYPE where the type lacks it. */
ct_status ct__find_combiner(const char *who, const ct_scalar *scalar, enum ct_op op,
                            struct ct__combiner *by);
/* target = op(target, source), item by item along a row. Returns how many were done. */
size_t ct__combine_row(const struct ct__combiner *by, size_t n, char *target, ptrdiff_t target_step,
                       const char *source, ptrdiff_t source_step);
/* The same, item k at target + k * target_step + at[k] * at_step, one after the other. */
size_t ct__combine_places(const struct ct__combiner *by, size_t n, char *target,
                          ptrdiff_t target_step, const int64_t *at, ptrdiff_t at_step,
                          const char *source, ptrdiff_t source_step);
/* CT_EOVERFLOW for these two items of `out`, which is dense, and of the source. */
ct_status ct__fail_combine(const char *who, const struct ct__combiner *by, const ct_tensor *out,
                           const char *target, const char *source);

/* --- rows.c --- */

/* Rows of a tensor at places, beside the same rows in dense order: dense[o, j, i] is
   tensor[o, at[j], i]. */
struct ct__rows {
    size_t size;                  /* bytes of an item */
    struct ct__nest outer, inner; /* of the tensor, steps in bytes */
    size_t outers, places, items; /* their extents: o, j, i */
    const int64_t *at;
    ptrdiff_t at_step; /* bytes of the tensor from one place to the next */
    char *tensor;
    char *dense;
};
/* The first `before` axes are outer, those from `after` on are inner. */
void ct__rows_start(struct ct__rows *r, const ct_tensor *t, int before, int after, size_t places,
                    const int64_t *at, ptrdiff_t at_step, char *dense);
/* Tensor to dense. */
void ct__rows_take(const struct ct__rows *r);
/* Dense to tensor, which is dense too; of equal places the last wins. */
void ct__rows_put(const struct ct__rows *r);
/* The same by combining; false after an overflow, with where it was. */
bool ct__rows_combine(const struct ct__rows *r, const struct ct__combiner *by, const char **target,
                      const char **source);

#endif
