/* A naive model of tensors for the chains of suite_chains.c: whole numbers in row-major order with a
   shape, every variable on its own, every op index by index. */
#ifndef CT_CHAIN_MODEL_H
#define CT_CHAIN_MODEL_H

#include "tensor/ct_op.h"
#include "tensor/ct_tensor.h"

enum { MODEL_ITEMS = 512, MODEL_RANK = 5 };

enum model_type { REAL, WHOLE, TRUTH, MODEL_TYPES };

/* The scalar type of each. */
extern const ct_scalar *const model_scalars[MODEL_TYPES];

struct model {
    enum model_type type;
    int rank;
    int64_t shape[MODEL_RANK];
    int count;
    double items[MODEL_ITEMS];
};

/* The index of an item counted in row-major order, and back. */
void model_index(const struct model *m, int flat, int64_t *index);
int model_place(const struct model *m, const int64_t *index);
/* Sets rank, shape and count; false where there would be too many items. */
bool model_shape(struct model *m, int rank, const int64_t *shape);
/* The largest absolute value. */
double model_largest(const struct model *m);

/* The shape of a broadcast of two; false where there is none, or too many items. */
bool model_broadcast(struct model *out, const struct model *a, const struct model *b);
bool model_fits_into(const struct model *from, const struct model *target);
/* The item that a broadcast shows at an index of `rank` axes. */
double model_at(const struct model *m, int rank, const int64_t *index);

/* One op on one item, or two. */
double model_op(enum ct_op op, double x, double z);

/* out = the items of m along an axis at some positions, also repeated ones. */
bool model_take(struct model *out, const struct model *m, int axis, int n, const int64_t *at);
/* out = m with its axes in another order. */
void model_permute(struct model *out, const struct model *m, const int *axes);
/* out = the items along an axis put together by an op, from the first on; 0 where there are none. False
   where the result has too many items. */
bool model_reduce(struct model *out, const struct model *m, enum ct_op op, int axis, bool keepdims);
void model_cumsum(struct model *out, const struct model *m, int axis);
/* a of m x k times b of k x n. */
bool model_matmul(struct model *out, const struct model *a, const struct model *b);
bool model_concat(struct model *out, const struct model *a, const struct model *b, int axis);
/* `edge`: the nearest item, else `value`. */
bool model_pad(struct model *out, const struct model *m, const int64_t *before,
               const int64_t *after, bool edge, double value);
/* Along an axis, stable; the places too where `places` is not NULL. */
void model_sort(struct model *out, struct model *places, const struct model *m, int axis,
                bool descending);

#endif
