/* The functions of the tensor layer that make or write tensors, as one table: elementwise rows from
   tensor/ops.def, the others from tests/tensor_functions.def. What holds for every function (its
   result depends on the items alone, nothing leaks, no input changes) is tested from it, and so are
   the digests of results. */
#ifndef CT_TENSOR_FUNCTIONS_H
#define CT_TENSOR_FUNCTIONS_H

#include <stddef.h>

#include "tensor/ct_tensor.h"

enum { FUNCTION_OPERANDS = 3 };

enum {
    ANY_RANK = 1, /* also of operands of rank 0 */
    LARGE = 2,    /* its digests need items for several threads and blocks */
    COMPUTES = 4, /* many wide items are worth their time, too */
    SECOND_MAY_BE_NULL = 8,
    THIRD_MAY_BE_NULL = 16
};

enum operand_kind {
    NO_OPERAND,
    ITEMS,  /* of the row's scalar type, in [low, high) */
    SORTED, /* the same, ascending along the last axis */
    MASK,   /* bool */
    PLACE,  /* i64 in [0, bound) */
    INDEX,  /* i64 in [-bound, bound) */
    INDEX32 /* i32 in [-bound, bound) */
};

/* A shape is a letter or a digit per axis: letters stand for extents, small or large ones, digits
   for themselves. So is the bound of indices. */
struct operand {
    enum operand_kind kind;
    const char *shape;
    char bound;
    double low, high;
};

struct tensor_function {
    const char *id;   /* "sum_0": names a digest */
    const char *text; /* "ct_sum(a, 0, false)" */
    ct_tensor *(*call)(const struct tensor_function *self, const ct_tensor *const in[]);
    int flags;
    enum ct_op op; /* of an elementwise row, else CT_OP_COUNT */
    int operands;
    struct operand operand[FUNCTION_OPERANDS];
};

/* All rows, elementwise ones first. The texts live as long as the process. */
const struct tensor_function *tensor_functions(size_t *count);

/* The scalar types that rows are tried with. */
extern const ct_scalar *const function_scalars[];
enum { FUNCTION_SCALARS = 10 };

enum extents {
    SMALL_EXTENTS,  /* a few items */
    MEDIUM_EXTENTS, /* full vectors and remainders */
    LARGE_EXTENTS,  /* 3 x 70 x 300: several threads, blocks of 1,024 and of 256 */
    EMPTY_EXTENTS,  /* the second axis has none */
    NO_ITEMS,       /* no axis has any */
    NO_AXES         /* rank 0 */
};

enum values { ORDINARY, SPECIAL };

/* A dense operand of a row; its items depend on the arguments alone. */
ct_tensor *make_operand(const struct tensor_function *f, int i, const ct_scalar *scalar,
                        enum extents extents, enum values values);

/* Writes what a tensor holds, item by item in row-major order, all NaNs as one; ct_count() times
   the item size. */
void plain_bytes(const ct_tensor *t, char *bytes);

#endif
