/**
 * @file ct_scalar.h
 * Scalar types: what a tensor's items are.
 *
 * A scalar type is a table of functions. Its work is done by *loops over n strided items*, not by
 * per-item calls, so that a tensor layer which is generic over the scalar is still fast. Slots come
 * in three tiers: required; optional with a default made from the required ones; optional without
 * one, whose absence is the error "bool has no add".
 */
#ifndef CT_SCALAR_H
#define CT_SCALAR_H

#include "tensor/ct_api.h"
#include "tensor/ct_error.h"
#include "tensor/ct_op.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

CT_BEGIN_DECLS

/** What may be asked of a scalar type. */
enum ct_trait {
    CT_NUMERIC = 1,        /**< has add, mul, ... */
    CT_REAL = 2,           /**< approximates the real numbers */
    CT_ORDERED = 4,        /**< has comparisons, max, min */
    CT_DIFFERENTIABLE = 8, /**< gradients of it make sense */
    CT_PLAIN = 16,         /**< its bytes may be written to files and compared */
    CT_BOOLEAN = 32,       /**< a truth value in one byte, 0 or 1 */
    CT_INTEGER = 64,       /**< exact integers */
    CT_CHECKED = 128       /**< an operation may have no result (overflow), which is an error */
};

typedef struct ct_scalar ct_scalar;

/**
 * A loop of one op over @p n items. `ptr[0 .. arity-1]` are the operands and `ptr[arity]` is the
 * result; `step[]` are the signed distances in bytes between items. The result never overlaps an
 * operand unless it is exactly that operand, item by item.
 *
 * @return the number of items done: @p n, or less for a type with CT_CHECKED, when the item at that
 * place has no result. The results before it are set, those from it on are not.
 */
typedef size_t ct_loop_fn(const ct_scalar *self, enum ct_op op, size_t n, char *const ptr[],
                          const ptrdiff_t step[]);

/**
 * One item: `in[0 .. arity-1]` are its operands; @p out is none of them. A comparison writes one byte,
 * 0 or 1; a choice reads one as its first operand. @return false where there is no result.
 */
typedef bool ct_item_fn(const ct_scalar *self, enum ct_op op, const void *const in[], void *out);

/**
 * The reductions that a scalar type may offer. Sums and products follow the one order of the
 * contract (docs/design.md, "Reductions"); the others do not depend on an order.
 */
enum ct_fold {
    CT_FOLD_SUM,
    CT_FOLD_MAX,    /**< of bool: any */
    CT_FOLD_MIN,    /**< of bool: all */
    CT_FOLD_PROD,   /**< the lanes and trees of the sum, multiplied; the product of nothing is 1 */
    CT_FOLD_ARGMAX, /**< y is an int64_t: the place of the first NaN, else of the first maximum */
    CT_FOLD_ARGMIN, /**< y is an int64_t: the place of the first NaN, else of the first minimum */
    CT_FOLD_COUNT
};

/**
 * @p count independent reductions of @p n items each. All steps are in bytes and signed.
 * Reduction j reads `x + j * x_next + i * x_step` for i < n and writes `y + j * y_next`.
 * n > 0 but for sums and products.
 */
struct ct_fold_job {
    size_t n, count;
    const char *x;
    ptrdiff_t x_step, x_next;
    char *y;
    ptrdiff_t y_next;
};

/** @return the number of reductions done: all, or the place of the first that has no result. */
typedef size_t ct_fold_fn(const ct_scalar *self, const struct ct_fold_job *job);

/**
 * c = a b for one pair of matrices, m x k times k x n; every step is in bytes and signed, those of
 * @p a and @p b may be 0. @p c does not overlap the operands and is overwritten.
 */
struct ct_matmul_job {
    size_t m, n, k;
    const char *a;
    ptrdiff_t a_row, a_col;
    const char *b;
    ptrdiff_t b_row, b_col;
    char *c;
    ptrdiff_t c_row, c_col;
};

/** @return CT_ENOMEM when no scratch memory could be had, CT_EOVERFLOW when an item of the result
 *  does not fit the type, otherwise CT_OK. */
typedef ct_status ct_matmul_fn(const ct_scalar *self, const struct ct_matmul_job *job);

/**
 * The strict chain y_0 = x_0, y_i = y_{i-1} op x_i over n > 0 items, of add or mul; steps in bytes
 * and signed. A @p y_step of 0 leaves the last result alone. @return the items done, as a loop does.
 */
typedef size_t ct_chain_fn(const ct_scalar *self, enum ct_op op, size_t n, const char *x,
                           ptrdiff_t x_step, char *y, ptrdiff_t y_step);

/**
 * @p count rows of @p n > 0 items each, for an op on whole rows. Operand i of row j has its items at
 * `in[i] + j * in_next[i] + k * in_step[i]`; a result of one item a row has an @p out_step of 0. Steps
 * are in bytes. For the operands that lie item by item, either every step is the item's size, or every
 * step from row to row is. Absent operands are NULL.
 *
 * The pulls of normalised rows (`layer_norm_parts`, `batch_norm_parts`) have operands x, the cotangent and the
 * scale; after the rows of the result come the gradients of the scale and of the shift. In a row of batch_norm only
 * @p run items lie side by side, and steps from item to item are those from run to run; scale and shift have an item a
 * row.
 */
struct ct_rows_job {
    size_t n, count;
    size_t run; /**< of batch_norm: a divisor of n */
    const char *in[3];
    ptrdiff_t in_step[3], in_next[3];
    char *out;
    ptrdiff_t out_step, out_next;
    double eps; /**< of layer_norm and batch_norm */
};

/** @return CT_ENOMEM when no scratch memory could be had, otherwise CT_OK. */
typedef ct_status ct_rows_fn(const ct_scalar *self, enum ct_op op, const struct ct_rows_job *job);

/** A scalar type. Objects of this type are constant and outlive every tensor that uses them. */
struct ct_scalar {
    const char *name;
    size_t size;  /**< bytes of an item; the defaults below are for up to 256 */
    size_t align; /**< its alignment, a power of two, at most 64 */
    unsigned traits;
    int level; /**< 0, or the level of a dual number */
    /** What a dual's value and tangents are made of, or NULL. The value comes first, and it alone
     *  is compared. */
    const ct_scalar *base;

    /* Required. */
    double (*to_double)(const ct_scalar *self, const void *item);
    /** @return false, and leaves the item alone, where @p value does not fit. */
    bool (*from_double)(const ct_scalar *self, void *item, double value);
    /** Writes text as snprintf does; independent of the locale; reads back to the same value. */
    int (*format)(const ct_scalar *self, const void *item, char *text, size_t size);
    /** Equality of values: NaN equals NaN here, -0 equals 0. */
    bool (*equal)(const ct_scalar *self, const void *a, const void *b);

    /* Optional: NULL, or a function which may return NULL. One of the two is enough for an op. */
    /** The op over strided items: fast. */
    ct_loop_fn *(*loop)(const ct_scalar *self, enum ct_op op);
    /** The op on one item: for types that are made from a handful of functions. */
    ct_item_fn *(*item)(const ct_scalar *self, enum ct_op op);

    /* Optional, with defaults made from the ops. */
    ct_fold_fn *fold[CT_FOLD_COUNT];
    ct_matmul_fn *matmul;
    /** Without it a chain is a loop of one item, again and again. */
    ct_chain_fn *chain;

    /* Optional: exact whole numbers, past what a double can hold. Without them to_double and
       from_double serve. */
    /** @return false, and leaves @p value alone, where the item is not a whole number that fits. */
    bool (*to_i64)(const ct_scalar *self, const void *item, int64_t *value);
    /** @return false, and leaves the item alone, where the type does not hold @p value exactly. */
    bool (*from_i64)(const ct_scalar *self, void *item, int64_t value);

    /** Optional: ops on whole rows (softmax, layer_norm and their like), or NULL for one that the type
     *  has not. Without it they are the compositions that they are defined by, whose bits it makes. */
    ct_rows_fn *(*rows)(const ct_scalar *self, enum ct_op op);
};

/**
 * The loop of an elementwise op; NULL: the type has no such op. It is, in this order, the type's own
 * loop; one around its function of an item; for `where`, one that copies bytes; or the value formula
 * of the op's row (ct_op_value_text()), where the type brings every word of it and the formula is not
 * the op itself: add and mul give square. Formulas that ask for less or greater need CT_ORDERED: with
 * a partial order they would mean something else. A formula rounds at every step, and of a checked
 * type fails where a step fails that the result depends on.
 */
CT_API ct_loop_fn *ct_scalar_loop(const ct_scalar *scalar, enum ct_op op);
/**
 * The reduction, the type's own or one made from add, mul, maximum or less, in the order of the
 * contract; NULL: the type has none. The default of a checked type fails where any partial sum does.
 * Places of extremes need CT_ORDERED.
 */
CT_API ct_fold_fn *ct_scalar_fold(const ct_scalar *scalar, enum ct_fold fold);
/**
 * The matrix product, the type's own or one made from mul and add, which rounds products before it
 * adds them, in inner blocks of 256 from zero; NULL: the type has none. Where it fails, the result is
 * left half made.
 */
CT_API ct_matmul_fn *ct_scalar_matmul(const ct_scalar *scalar);
/** Whether the type has an elementwise op: its own or a default. Allocates nothing. */
CT_API bool ct_scalar_has(const ct_scalar *scalar, enum ct_op op);

CT_API extern const ct_scalar ct_scalar_f32;  /**< IEEE 754 binary32 */
CT_API extern const ct_scalar ct_scalar_f64;  /**< IEEE 754 binary64 */
CT_API extern const ct_scalar ct_scalar_i32;  /**< checked integers of 32 bits */
CT_API extern const ct_scalar ct_scalar_i64;  /**< checked integers of 64 bits; labels, indices */
CT_API extern const ct_scalar ct_scalar_bool; /**< masks: one byte, 0 or 1 */

#define CT_F32  (&ct_scalar_f32)
#define CT_F64  (&ct_scalar_f64)
#define CT_I32  (&ct_scalar_i32)
#define CT_I64  (&ct_scalar_i64)
#define CT_BOOL (&ct_scalar_bool)

CT_END_DECLS
#endif
