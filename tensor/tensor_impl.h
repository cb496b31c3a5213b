/* The inside of a tensor, shared by the files of tensor/ alone. */
#ifndef CT_TENSOR_IMPL_H
#define CT_TENSOR_IMPL_H

#include "tensor/ct_tensor.h"
#include "tensor/fail.h"
#include "tensor/peek.h"

#include <stdatomic.h>
#include <string.h>

/* Memory spaces: host kernels refuse another one. */
enum ct__space { CT__HOST };

/* A reference-counted buffer. Own storage lies in one block: this header, then, 64-byte aligned,
   the items; of a small new tensor its descriptor lies between. The block stays as long as one of
   its holders: the items while they have a share, and the descriptor. */
struct ct__storage {
    _Atomic size_t shares;
    _Atomic size_t holders;
    size_t bytes;
    char *data;
    enum ct__space space;
    bool foreign; /* never written in place */
    void (*release)(void *context);
    void *context;
};

struct ct_tensor {
    const ct_scalar *scalar;
    struct ct__storage *storage;
    int64_t offset; /* of index 0, in items */
    size_t count;
    int rank;
    bool known_dense; /* made so; a view that happens to be dense need not say it */
    int64_t shape[CT_MAX_RANK];
    int64_t strides[CT_MAX_RANK]; /* in items */
    /* The axes' names, or NULL where no axis has one; then `name` means nothing. */
    struct ct__names *names;
    int8_t name[CT_MAX_RANK]; /* which of the names an axis has, -1: none */
    struct ct__storage *home; /* in whose block this descriptor lies; NULL: in one of its own */
};

/* --- shape.c: all fail through ct__fail in the name of `who` and touch nothing on failure. Where
   `who` may be NULL, no error is set then: the status alone tells. --- */

/* Validates rank and extents and computes the number of items; item bytes must fit ptrdiff_t. */
ct_status ct__check_shape(const char *who, const ct_scalar *scalar, int rank, const int64_t *shape,
                          size_t *count);
/* 0 <= *axis < rank, from an axis which may count from the end. `who` may be NULL. */
ct_status ct__check_axis(const char *who, int rank, int axis, int *result);
/* Bits of the reduced axes; n may be 1 with axes[0] == CT_ALL; a repeated axis is an error. `who`
   may be NULL. */
ct_status ct__check_axes(const char *who, int rank, int n, const int *axes, unsigned *mask);
/* Broadcast shape of two shapes, or CT_ESHAPE with the design's text. */
ct_status ct__broadcast(const char *who, int rank_a, const int64_t *a, int rank_b, const int64_t *b,
                        int *rank, int64_t shape[CT_MAX_RANK]);
/* That of n tensors, whose axis names then stand in the message. `who` may be NULL. */
ct_status ct__broadcast_tensors(const char *who, int n, const ct_tensor *const in[], int *rank,
                                int64_t shape[CT_MAX_RANK]);
/* The same without an error: the axis of the result that does not fit, or -1 when all do. */
int ct__broadcast_fault(int rank_a, const int64_t *a, int rank_b, const int64_t *b, int *rank,
                        int64_t shape[CT_MAX_RANK]);
/* An operand's extent along an axis of a result of at least its rank: missing leading axes count
   as 1. */
int64_t ct__extent_at(int result_rank, int axis, int rank, const int64_t *shape);
/* Its stride there: 0 where it is missing or has extent 1, and so is repeated. */
int64_t ct__stride_at(int result_rank, int axis, int rank, const int64_t *shape,
                      const int64_t *strides);
/* The shape that a reshape means, its -1 filled in. `who` may be NULL. */
ct_status ct__resolve_shape(const char *who, const ct_tensor *t, int rank, const int64_t *shape,
                            int64_t resolved[CT_MAX_RANK]);
/* The number of items, false where they or their bytes are too many. Extents are >= 0. */
bool ct__count_items(size_t item_size, int rank, const int64_t *shape, size_t *count);
/* Row-major strides; where some extent is 0 and a product overflows, 0. */
void ct__dense_strides(int rank, const int64_t *shape, int64_t *strides);
bool ct__same_shape(const ct_tensor *a, const ct_tensor *b);
/* The index of an item of a shape that has items, from its number in row-major order. */
void ct__unravel(int rank, const int64_t *shape, size_t item, int64_t *index);

/* --- names.c: axis names. A function below that takes `out` expects a result without names, whose
   rank is set; it names the axes and changes nothing else. Without names an operand costs one
   comparison. --- */

/* Names, shared by the tensors whose axes bear them; never changed once made. */
struct ct__names;
void ct__names_take(struct ct__names *names); /* one share more; NULL is fine */
void ct__names_drop(struct ct__names *names); /* one share less; NULL is fine */
/* The name of an axis, or NULL. */
const char *ct__name_of(const ct_tensor *t, int axis);
/* The axes of `in`, which has out's rank. Cannot fail. */
static inline void ct__names_like(ct_tensor *out, const ct_tensor *in) {
    if (!in->names)
        return;
    out->names = in->names;
    memcpy(out->name, in->name, sizeof out->name);
    ct__names_take(out->names);
}
/* Those of a reduction of the axes in mask: the kept ones, with keepdims all. Cannot fail. */
void ct__names_kept(ct_tensor *out, const ct_tensor *in, unsigned mask, bool keepdims);
/* Axis i of out is axis from[i] of `in`, or has no name where that is -1. Cannot fail. */
void ct__names_from(ct_tensor *out, const ct_tensor *in, const int *from);
/* Those of a broadcast of n operands, aligned from the right: names must agree where several
   operands have one, and no two axes may end up alike (CT_EAXIS). May need memory (CT_ENOMEM). */
ct_status ct__names_merge_some(const char *who, ct_tensor *out, int n, const ct_tensor *const in[]);
static inline ct_status ct__names_merge(const char *who, ct_tensor *out, int n,
                                        const ct_tensor *const in[]) {
    for (int i = 0; i < n; i++)
        if (in[i]->names)
            return ct__names_merge_some(who, out, n, in);
    return CT_OK;
}
/* Whether that merge has names for `rank` axes, whatever memory there is: CT_EAXIS. `who` may be
   NULL. */
ct_status ct__names_check(const char *who, int rank, int n, const ct_tensor *const in[]);
/* Those of a matrix product: merged leading axes, a's rows, b's columns. */
ct_status ct__names_matmul(const char *who, ct_tensor *out, const ct_tensor *a, const ct_tensor *b);
/* Whether there are such names, for a product of this rank. */
bool ct__names_fit_matmul(int rank, const ct_tensor *a, const ct_tensor *b);
/* Any names, one for each axis of out, NULL: none; they are copied. */
ct_status ct__names_set(const char *who, ct_tensor *out, const char *const name[]);
/* " ('feature')", or "" for an axis without a name: for messages. */
enum { CT__NAME_NOTE_BYTES = 40 };
const char *ct__name_note(char text[CT__NAME_NOTE_BYTES], const char *name);
/* Whether the names of a descriptor are in order. */
bool ct__names_are_sound(const ct_tensor *t);
/* Takes the share away where no axis bears a name any more: views end with it. */
void ct__names_tidy(ct_tensor *t);

/* --- nest.c --- */

enum { CT__MAX_OPERANDS = 4 }; /* three arguments and the result */

/* A nest of loops over strided operands, outermost first. Steps are in items, or in bytes where it
   is made of such; axes of extent 1 are left out. The operands have items: an extent of 0 has no
   nest. */
struct ct__nest {
    int operands;
    int rank;
    int64_t shape[CT_MAX_RANK];
    int64_t step[CT__MAX_OPERANDS][CT_MAX_RANK];
};

/* Without loops yet. What lies beyond the operands and the rank is never set: most nests are
   small. */
static inline void ct__nest_start(struct ct__nest *nest, int operands) {
    nest->operands = operands;
    nest->rank = 0;
}
/* Of two operands. */
struct ct__nest ct__nest_of(int rank, const int64_t *shape, const int64_t *x, const int64_t *y);
/* Adds an innermost loop, with a step for each operand. */
void ct__nest_add(struct ct__nest *nest, int64_t extent, const int64_t *step);
/* Makes the innermost loop the one with the shortest steps in the first operand, then the next. */
void ct__nest_sort(struct ct__nest *nest);
/* Merges neighbouring loops that walk every operand with one step. */
void ct__nest_fuse(struct ct__nest *nest);
/* Gives a nest without loops one of extent 1 and steps 0: one item is a row as well. */
void ct__nest_have_row(struct ct__nest *nest);
/* The nest that walks t, which has items, in row-major order beside others of its shape with their
   strides; it has at least one loop. */
struct ct__nest ct__rows_of(const ct_tensor *t, const int64_t *others);

/* Where a walk over the outer `rank` loops stands: distances of the operands from index 0. */
struct ct__walk {
    int64_t index[CT_MAX_RANK];
    int64_t at[CT__MAX_OPERANDS];
};

/* Pass number `pass`, row-major, of the outer `rank` loops. */
void ct__walk_start(struct ct__walk *walk, const struct ct__nest *nest, int rank, size_t pass);
void ct__walk_next(struct ct__walk *walk, const struct ct__nest *nest, int rank);
/* Makes `count` steps of one loop, which stays within its extent. */
void ct__walk_skip(struct ct__walk *walk, const struct ct__nest *nest, int loop, int64_t count);
/* The product of the outer `rank` extents. */
size_t ct__nest_passes(const struct ct__nest *nest, int rank);

/* --- tensor.c --- */

/* A dense tensor whose items are not set. The shape has been checked or is checked here. */
ct_tensor *ct__empty(const char *who, const ct_scalar *scalar, int rank, const int64_t *shape);
/* The same with the shape of another tensor, without names; NULL without an error. The caller knows
   that the bytes can be counted. */
ct_tensor *ct__empty_like(const ct_scalar *scalar, const ct_tensor *like);
/* The same of `count` items in a shape that is in order, fits and holds so many. */
ct_tensor *ct__empty_of(const ct_scalar *scalar, int rank, const int64_t *shape, size_t count);
/* Passes a NULL operand on: NULL, with an error pending. */
ct_tensor *ct__null(const char *who);
/* A descriptor that shares t's storage, to be changed by a view. */
ct_tensor *ct__share(const char *who, const ct_tensor *t);
/* Passes a result of another public function on; its error goes on in the name of `who`. */
static inline ct_tensor *ct__as(const char *who, ct_tensor *result) {
    if (!result)
        ct__fail(ct_error()->code, who, "%s", ct_error()->message);
    return result;
}
/* A step of a chain of results: the next one, made from the last, which is freed. */
static inline ct_tensor *ct__then(ct_tensor *last, ct_tensor *next) {
    ct_free(last);
    return next;
}
/* Takes the names of a descriptor of one's own away. */
static inline ct_tensor *ct__unnamed(ct_tensor *t) {
    if (t) {
        ct__names_drop(t->names);
        t->names = NULL;
    }
    return t;
}
/* Whether a value fits a scalar type. Allocates nothing. */
bool ct__holds(const ct_scalar *scalar, double value);
/* Sets every item of a new dense tensor; CT_EDOMAIN where the value does not fit. */
ct_status ct__fill_new(const char *who, ct_tensor *t, double value);
/* CT_EDOMAIN: the value does not fit t's scalar type. */
ct_status ct__fail_value(const char *who, const ct_tensor *t, double value);
/* ct_is_dense() without its check of the operand. */
static inline bool ct__is_dense(const ct_tensor *t) {
    int64_t expected = 1;
    if (t->count == 0)
        return true; // its other extents may be too large to multiply
    for (int i = t->rank - 1; i >= 0; i--) {
        if (t->shape[i] != 1 && t->strides[i] != expected)
            return false;
        expected *= t->shape[i];
    }
    return true;
}
/* Address of index 0. */
static inline char *ct__first(const ct_tensor *t) {
    return t->storage->data + t->offset * (ptrdiff_t)t->scalar->size;
}
/* Whether a write may happen in place: dense, own storage, one share. */
static inline bool ct__is_writable(const ct_tensor *t) {
    const struct ct__storage *s = t->storage;
    return !s->foreign && atomic_load_explicit(&s->shares, memory_order_acquire) == 1 &&
           (t->known_dense || ct__is_dense(t));
}

/* --- map_callback.c --- */

/* A user's callback returned `status` for an item of t, counted in row-major order. */
ct_status ct__fail_callback(const char *who, const ct_tensor *t, size_t item, ct_status status);

/* --- copy.c --- */

/* Copies n items of one row between steps in bytes; the rows do not overlap. */
void ct__copy_row(size_t size, size_t n, const char *from, ptrdiff_t from_step, char *to,
                  ptrdiff_t to_step);
/* Copies items between equal shapes with any strides (in items); the regions do not overlap. */
void ct__copy_items(size_t item_size, int rank, const int64_t *shape, const char *from,
                    const int64_t *from_strides, char *to, const int64_t *to_strides);
/* Copies the items of t into dense row-major memory. */
void ct__copy_out(const ct_tensor *t, char *to);
/* The items of t, with its names, in new dense storage. */
ct_tensor *ct__dense_copy(const char *who, const ct_tensor *t);

/* --- op_table.c --- */

/* ct_op_kind_of() of an op that there is, for who asks often. */
extern const unsigned char ct__op_kinds[CT_OP_COUNT];

#endif
