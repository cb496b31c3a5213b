/* Elementwise ops on tensors: broadcasting, result types and errors, for any scalar type. */

#include "tensor/elementwise.h"

#include "tensor/fail.h"
#include "tensor/kernels/kern_table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// --- what is asked for

/* The scalar type that the operands share, leaving out the mask of a choice. */
static const ct_scalar *common_scalar(const char *who, enum ct_op op, int n,
                                      const ct_tensor *const in[]) {
    int first = ct_op_kind_of(op) == CT_KIND_SELECT ? 1 : 0;
    if (first == 1 && in[0]->scalar != CT_BOOL)
        return !who ? NULL
                    : ct__fail_null(CT_EDTYPE, who, "%s needs a mask of bool and was given %s",
                                    ct_op_name(op), in[0]->scalar->name);
    for (int i = first + 1; i < n; i++)
        if (in[i]->scalar != in[first]->scalar)
            return !who ? NULL
                        : ct__fail_null(
                              CT_EDTYPE, who, "%s needs one scalar type: %s and %s were given",
                              ct_op_name(op), in[first]->scalar->name, in[i]->scalar->name);
    return in[first]->scalar;
}

// The kernels of a type, where they have a loop for the op; else NULL.
static const struct ct__real_kernels *kernels_for(const ct_scalar *scalar, enum ct_op op) {
    const struct ct__real_kernels *kernels = ct__kernels_of(scalar);
    return kernels && kernels->loops[op] ? kernels : NULL;
}

ct_status ct__elementwise_plan(const char *who, enum ct_op op, int n, const ct_tensor *const in[],
                               struct ct__elementwise *e) {
    e->op = op;
    e->n = n;
    e->scalar = common_scalar(who, op, n, in);
    if (!e->scalar)
        return CT_EDTYPE;
    e->loop = ct_scalar_loop(e->scalar, op);
    if (!e->loop)
        return !who ? CT_EDTYPE
                    : ct__fail(CT_EDTYPE, who, "%s has no %s", e->scalar->name, ct_op_name(op));
    e->kernels = kernels_for(e->scalar, op);
    e->result = ct_op_gives_mask(op) ? CT_BOOL : e->scalar;
    return ct__broadcast_tensors(who, n, in, &e->rank, e->shape);
}

bool ct__elementwise_may_fail(const struct ct__elementwise *e) {
    return e->scalar->traits & CT_CHECKED && e->result == e->scalar;
}

// --- items without a result

static const char *operand_at(const ct_tensor *t, int rank, const int64_t *index) {
    int64_t distance = 0;
    for (int i = 0; i < rank; i++)
        distance += index[i] * ct__stride_at(rank, i, t->rank, t->shape, t->strides);
    return ct__first(t) + distance * (ptrdiff_t)t->scalar->size;
}

enum { NUMBER_BYTES = 72 };

ct_status ct__fail_item(const char *who, ct_status code, const char *name, const char *joint, int n,
                        const ct_tensor *const in[], int rank, const int64_t *shape, size_t item,
                        const char *what) {
    int64_t index[CT_MAX_RANK] = {0};
    char text[CT__AT_INDEX_BYTES], operands[CT__MAX_OPERANDS * NUMBER_BYTES] = "";
    size_t length = 0;
    ct__unravel(rank, shape, item, index);
    for (int k = 0; k < n; k++) {
        char number[NUMBER_BYTES - 8];
        in[k]->scalar->format(in[k]->scalar, operand_at(in[k], rank, index), number, sizeof number);
        length += (size_t)snprintf(operands + length, sizeof operands - length, "%s%s",
                                   k == 0       ? ""
                                   : k == n - 1 ? joint
                                                : ", ",
                                   number);
    }
    return ct__fail(code, who, "%s of %s%s%s", name, operands,
                    ct__at_index(text, rank, shape, item), what);
}

// What the op makes of the same numbers as doubles: NaN where it is not defined at all.
static double on_doubles(const struct ct__elementwise *e, double value[]) {
    ct_loop_fn *loop = ct_scalar_loop(CT_F64, e->op);
    double result = 0;
    char *ptr[CT__MAX_OPERANDS];
    ptrdiff_t step[CT__MAX_OPERANDS];
    if (!loop || ct_op_kind_of(e->op) != CT_KIND_MAP)
        return 0;
    for (int i = 0; i <= e->n; i++) {
        ptr[i] = (char *)(i < e->n ? &value[i] : &result);
        step[i] = sizeof result;
    }
    loop(CT_F64, e->op, 1, ptr, step);
    return result;
}

static ct_status fail_at(const char *who, const struct ct__elementwise *e,
                         const ct_tensor *const in[], size_t item) {
    int64_t index[CT_MAX_RANK];
    double value[CT__MAX_OPERANDS];
    char what[80];
    ct__unravel(e->rank, e->shape, item, index);
    for (int i = 0; i < e->n; i++)
        value[i] = in[i]->scalar->to_double(in[i]->scalar, operand_at(in[i], e->rank, index));
    bool divides = e->op == CT_OP_div || e->op == CT_OP_floor_div || e->op == CT_OP_mod;
    bool by_zero = value[e->n - 1] == 0 && (divides || e->op == CT_OP_reciprocal);
    double real = by_zero ? 0 : on_doubles(e, value);
    bool undefined = isnan(real) || (isinf(real) && e->n == 1 && value[0] == 0); // log of 0
    if (by_zero)
        snprintf(what, sizeof what, ": division by zero");
    else if (undefined)
        snprintf(what, sizeof what, " is not defined");
    else
        snprintf(what, sizeof what, " does not fit %.48s", e->result->name);
    return ct__fail_item(who, by_zero || undefined ? CT_EDOMAIN : CT_EOVERFLOW, ct_op_name(e->op),
                         divides ? " by " : " and ", e->n, in, e->rank, e->shape, item, what);
}

// --- the work

static size_t run_loop(const void *context, size_t n, char *const ptr[], const ptrdiff_t step[]) {
    const struct ct__elementwise *e = context;
    return e->loop(e->scalar, e->op, n, ptr, step);
}

static void run_plane(const void *context, size_t rows, size_t n, char *const ptr[],
                      const ptrdiff_t step[], const ptrdiff_t next[]) {
    const struct ct__elementwise *e = context;
    e->kernels->plane(e->op, rows, n, ptr, step, next);
}

ct_status ct__elementwise_run(const char *who, const struct ct__elementwise *e,
                              const ct_tensor *const in[], size_t count, char *to) {
    if (count == 0)
        return CT_OK;
    const struct ct__operand_work work = {run_loop, e->kernels ? run_plane : NULL, e};
    size_t done = ct__for_rows(&work, e->n, in, e->rank, e->shape, count, e->result->size, to);
    return done == count ? CT_OK : fail_at(who, e, in, done);
}

// --- small results

enum {
    SMALL = 1 << 14,      // items that one thread does in one call
    SMALL_ITEM = 1 << 12, // bytes
};

/* Whether two tensors of one rank have one shape. */
static inline bool look_alike(const ct_tensor *a, const ct_tensor *b) {
    int64_t differ = 0;
    for (int i = 0; i < a->rank; i++)
        differ |= a->shape[i] ^ b->shape[i];
    return differ == 0;
}

/* The operand whose shape the result has, where all lie as the result will, dense, or are riders of
   rank 0, and no axis has a name; else NULL. This is most of what small networks do. */
static inline __attribute__((always_inline)) const ct_tensor *
find_pattern(int n, const ct_tensor *const in[], unsigned riders) {
    const ct_tensor *like = in[0];
    unsigned items = 0; /* operands of rank 0 */
    for (int i = 0; i < n; i++) {
        const ct_tensor *t = in[i];
        if (!t || t->names || !(t->known_dense || ct__is_dense(t)))
            return NULL;
        if (t->rank == 0)
            items |= 1u << i;
        else if (like->rank == 0)
            like = t;
        else if (t != like && (t->rank != like->rank || !look_alike(t, like)))
            return NULL;
    }
    return like->count - 1 < SMALL && (like->rank == 0 || (items & ~riders) == 0) ? like : NULL;
}

/* A small result of such operands by one call of the loop. */
static inline __attribute__((always_inline)) ct_tensor *
small_of(enum ct_op op, const int n, const ct_tensor *const in[], unsigned riders) {
    char *ptr[CT__MAX_OPERANDS];
    ptrdiff_t step[CT__MAX_OPERANDS];
    const ct_tensor *like = find_pattern(n, in, riders);
    if (!like)
        return NULL;
    enum ct_op_kind kind = (enum ct_op_kind)ct__op_kinds[op];
    const ct_scalar *scalar = in[n - 1]->scalar;
    bool chooses = n == 3 && kind == CT_KIND_SELECT;
    if (chooses ? common_scalar(NULL, op, n, in) != scalar
                : in[0]->scalar != scalar || (n == 3 && in[1]->scalar != scalar))
        return NULL;
    ct_loop_fn *loop = scalar->loop ? scalar->loop(scalar, op) : NULL;
    if (!loop)
        loop = ct_scalar_loop(scalar, op);
    if (!loop || scalar->size > SMALL_ITEM)
        return NULL;
    const ct_scalar *result = kind == CT_KIND_MAP || !ct_op_gives_mask(op) ? scalar : CT_BOOL;
    ct_tensor *out = ct__empty_like(result, like);
    if (!out)
        return NULL;
    for (int i = 0; i < n; i++) {
        ptr[i] = ct__first(in[i]);
        step[i] = in[i]->rank == like->rank ? (ptrdiff_t)scalar->size : 0;
    }
    if (chooses && step[0] > 0)
        step[0] = (ptrdiff_t)CT_BOOL->size;
    ptr[n] = ct__first(out);
    step[n] = (ptrdiff_t)result->size;
    if (loop(scalar, op, out->count, ptr, step) == out->count)
        return out;
    ct_free(out); // a checked item has no result: found again by who can say which
    return NULL;
}

/* A copy for each number of operands: their loops are gone. */
static ct_tensor *apply_small(enum ct_op op, int n, const ct_tensor *const in[], unsigned riders) {
    return n == 2   ? small_of(op, 2, in, riders)
           : n == 1 ? small_of(op, 1, in, riders)
                    : small_of(op, 3, in, riders);
}

/* The operand whose shape the result has, where that is a matrix; else NULL. */
static const ct_tensor *find_matrix(int n, const ct_tensor *const in[]) {
    const ct_tensor *like = NULL;
    for (int i = 0; i < n; i++) {
        const ct_tensor *t = in[i];
        if (!t || t->names || t->rank > 2)
            return NULL;
        if (t->rank == 2 && (!like || t->count > like->count))
            like = t;
    }
    return like && like->shape[1] > 1 && like->count - 1 < SMALL ? like : NULL;
}

/* Sets an operand beside a matrix up, where it is dense or repeated along the rows. */
static bool place_in_plane(const ct_tensor *t, const ct_tensor *like, ptrdiff_t *step,
                           ptrdiff_t *next) {
    ptrdiff_t size = (ptrdiff_t)t->scalar->size;
    int64_t columns = t->rank > 0 ? t->shape[t->rank - 1] : 1;
    int64_t rows = t->rank == 2 ? t->shape[0] : 1;
    *step = columns == 1 ? 0 : t->strides[t->rank - 1] * size;
    *next = rows == 1 ? 0 : t->strides[0] * size;
    return (columns == 1 || columns == like->shape[1]) && (rows == 1 || rows == like->shape[0]) &&
           (*step == 0 || *step == size);
}

/* A small matrix of f32 or f64 by one call: repeated rows and columns, and parts of larger matrices. */
static ct_tensor *apply_plane(enum ct_op op, int n, const ct_tensor *const in[]) {
    char *ptr[CT__MAX_OPERANDS];
    ptrdiff_t step[CT__MAX_OPERANDS], next[CT__MAX_OPERANDS];
    const ct_tensor *like = find_matrix(n, in);
    const ct_scalar *scalar = like ? common_scalar(NULL, op, n, in) : NULL;
    const struct ct__real_kernels *kernels = scalar ? kernels_for(scalar, op) : NULL;
    if (!kernels)
        return NULL;
    for (int i = 0; i < n; i++) {
        if (!place_in_plane(in[i], like, &step[i], &next[i]))
            return NULL;
        ptr[i] = ct__first(in[i]);
    }
    ct_tensor *out = ct__empty_like(ct_op_gives_mask(op) ? CT_BOOL : scalar, like);
    if (!out)
        return NULL;
    ptr[n] = ct__first(out);
    step[n] = (ptrdiff_t)out->scalar->size;
    next[n] = step[n] * like->shape[1];
    kernels->plane(op, (size_t)like->shape[0], (size_t)like->shape[1], ptr, step, next);
    return out;
}

ct_tensor *ct__apply_small(enum ct_op op, int n, const ct_tensor *const in[], unsigned riders) {
    return apply_small(op, n, in, riders);
}

// --- the functions

static __attribute__((noinline)) ct_tensor *apply_planned(const char *who, enum ct_op op, int n,
                                                          const ct_tensor *const in[]) {
    struct ct__elementwise e;
    for (int i = 0; i < n; i++)
        if (!in[i])
            return ct__null(who);
    if (ct__elementwise_plan(who, op, n, in, &e))
        return NULL;
    ct_tensor *out = ct__empty(who, e.result, e.rank, e.shape);
    if (out && (ct__names_merge(who, out, n, in) ||
                ct__elementwise_run(who, &e, in, out->count, ct__first(out)))) {
        ct_free(out);
        return NULL;
    }
    return out;
}

ct_tensor *ct__apply(const char *who, enum ct_op op, int n, const ct_tensor *const in[]) {
    ct_tensor *out = apply_small(op, n, in, ~0u);
    if (!out && n > 1)
        out = apply_plane(op, n, in);
    return out ? out : apply_planned(who, op, n, in);
}

ct_status ct__check_op(const char *who, enum ct_op op, int n) {
    if (n > 0 && n == ct_op_arity(op))
        return CT_OK;
    if ((unsigned)op >= CT_OP_COUNT || ct_op_arity(op) == 0)
        return !who ? CT_EINVAL : ct__fail(CT_EINVAL, who, "%d is not an elementwise op", (int)op);
    return !who ? CT_EINVAL
                : ct__fail(CT_EINVAL, who, "%s takes %d operand%s and %d %s given", ct_op_name(op),
                           ct_op_arity(op), ct_op_arity(op) == 1 ? "" : "s", n,
                           n == 1 ? "was" : "were");
}

bool ct_can_apply(enum ct_op op, int n, const ct_tensor *const in[]) {
    struct ct__elementwise e;
    size_t count;
    if (ct__check_op(NULL, op, n) || !in)
        return false;
    for (int i = 0; i < n; i++)
        if (!in[i])
            return false;
    return !ct__elementwise_plan(NULL, op, n, in, &e) &&
           ct__count_items(e.result->size, e.rank, e.shape, &count) &&
           !ct__names_check(NULL, e.rank, n, in);
}

ct_tensor *ct_apply(enum ct_op op, int n, const ct_tensor *const in[]) {
    if (ct__check_op(__func__, op, n))
        return NULL;
    if (!in)
        return ct__null(__func__);
    return ct__apply(__func__, op, n, in);
}
