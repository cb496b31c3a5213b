/* Recording executes: an op is checked, run and appended in one go. */

#include "autodiff/tape_impl.h"

#include "tensor/ct_names.h"
#include "tensor/fail.h"
#include "tensor/peek.h"

#include <stdio.h>
#include <string.h>

#define LINEAR(id, doc)   extern const struct ct__op_record ct__op_##id;
#define BILINEAR(id, doc) LINEAR(id, doc)
#define GENERAL(id, doc)  LINEAR(id, doc)
#include "tensor/ops.def"
extern const struct ct__op_record ct__op_custom;

const struct ct__op_record *ct__op_record(enum ct_op op) {
    static const struct ct__op_record *const records[CT__OP_CUSTOM + 1] = {
        [CT__OP_CUSTOM] = &ct__op_custom,
#define LINEAR(id, doc)   [CT_OP_##id] = &ct__op_##id,
#define BILINEAR(id, doc) LINEAR(id, doc)
#define GENERAL(id, doc)  LINEAR(id, doc)
#include "tensor/ops.def"
    };
    return records[op];
}

ct_tensor *ct__prepared(enum ct_op op, int argument, ct_tensor *drawn) {
    const struct ct__op_record *record = ct__op_record(op);
    if (!drawn || !record || !record->prepare)
        return drawn;
    ct_tensor *prepared = record->prepare(argument, drawn);
    ct_free(drawn);
    return prepared;
}

/* --- errors --- */

ct_var ct__fail_named(ct_tape *tape, const char *who, const char *name, int n,
                      const ct_tensor *const in[]) {
    char operands[256], scope[CT__SCOPE_BYTES];
    ct__describe_operands(operands, sizeof operands, n, in);
    ct__describe_scope(tape, tape->scope, scope);
    return ct__tape_fail_in(who, tape, ct_error()->code, "node %zu, %s(%s)%s%s: %s", tape->length,
                            name, operands, scope[0] ? " in " : "", scope, ct_error()->message);
}

ct_var ct__fail_op(ct_tape *tape, enum ct_op op, int n, const ct_tensor *const in[]) {
    char who[64];
    const struct ct__op_record *record = ct__op_record(op);
    snprintf(who, sizeof who, "ct_var_%s", record ? record->verb : ct_op_name(op));
    return ct__fail_named(tape, who, ct_op_name(op), n, in);
}

/* --- operands --- */

/* The sticky errors of both tapes. */
static void fail_foreign(ct_tape *tape, const char *verb, int i, ct_var v) {
    static const char why[] = "the operands belong to different tapes; a function reads variables "
                              "of others through its inputs alone";
    char scope[CT__SCOPE_BYTES];
    ct__describe_scope(tape, tape->scope, scope);
    ct__tape_fail(v.tape, CT_EINVAL, "operand %d of %s is of another tape than those before it: %s",
                  i, verb, why);
    ct__tape_fail(tape, CT_EINVAL,
                  "node %zu%s%s: operand %d of %s is of another tape than those before it: %s",
                  tape->length, scope[0] ? " in " : "", scope, i, verb, why);
}

static void fail_null(ct_tape *tape, const char *verb, int i) {
    char scope[CT__SCOPE_BYTES];
    ct__describe_scope(tape, tape->scope, scope);
    ct__tape_fail(
        tape, CT_EINVAL,
        "node %zu%s%s: operand %d of %s is the null variable, of no tape (a parameter has "
        "a variable after ct_params_record())",
        tape->length, scope[0] ? " in " : "", scope, i, verb);
}

/* The tape of the operands, or NULL after an error. */
static ct_tape *tape_of(const char *verb, int n, const ct_var *in) {
    ct_tape *tape = NULL;
    for (int i = 0; i < n && !tape; i++)
        tape = in[i].tape;
    if (!tape) {
        ct__fail(CT_EINVAL, "ct_tape",
                 "all operands of %s are null variables, of no tape (a parameter has a variable "
                 "after ct_params_record())",
                 verb);
        return NULL;
    }
    for (int i = 0; i < n; i++)
        if (in[i].tape && in[i].tape != tape) {
            fail_foreign(tape, verb, i, in[i]);
            return NULL;
        }
    return tape;
}

const ct_tensor *ct__operand(ct_var v) {
    if (v.tape && !ct__may_record(v.tape))
        return NULL;
    const struct ct__node *node = ct__node(v);
    return node ? node->value : NULL;
}

static bool values_of(const char *verb, ct_tape *tape, int n, const ct_var *in,
                      const ct_tensor *values[]) {
    for (int i = 0; i < n; i++) {
        if (!in[i].tape)
            fail_null(tape, verb, i);
        values[i] = in[i].tape ? ct__operand(in[i]) : NULL;
        if (!values[i])
            return false;
    }
    return true;
}

ct_tape *ct__operands(const char *op, int n, const ct_var *in, const ct_tensor *values[]) {
    ct_tape *tape = tape_of(op, n, in);
    return tape && values_of(op, tape, n, in, values) ? tape : NULL;
}

static inline ct_tensor *value_of(enum ct_op op, int n, const ct_var *in,
                                  const ct_tensor *const values[], const struct ct__attr *attr) {
    const struct ct__op_record *record = ct__op_record(op);
    if (!record)
        return ct__apply("ct_apply", op, n, values);
    if (!record->run_factored)
        return record->run(values, attr);
    const struct ct__lu *lu = ct__lu_at(in[0].tape, in[0].index);
    return lu ? record->run_factored(lu, values, attr) : NULL;
}

bool ct__any_names(size_t n, const ct_tensor *const values[]) {
    for (size_t i = 0; i < n; i++)
        if (ct_has_names(values[i]))
            return true;
    return false;
}

bool ct__bare_operands(size_t n, const ct_tensor *const values[], const ct_tensor *operands[],
                       ct_tensor *bare[]) {
    memset(bare, 0, n * sizeof *bare);
    for (size_t i = 0; i < n; i++) {
        operands[i] = values[i];
        if (ct_has_names(values[i]) && !(operands[i] = bare[i] = ct_drop_names(values[i])))
            return false;
    }
    return true;
}

/* The same on operands without axis names. */
static ct_tensor *nameless_value(enum ct_op op, int n, const ct_var *in,
                                 const ct_tensor *const values[], const struct ct__attr *attr) {
    const ct_tensor *operands[CT__MAX_INPUTS];
    ct_tensor *bare[CT__MAX_INPUTS], *value = NULL;
    if (ct__bare_operands((size_t)n, values, operands, bare))
        value = value_of(op, n, in, operands, attr);
    for (int i = 0; i < n; i++)
        ct_free(bare[i]);
    return value;
}

/* Runs an op on operands that have been checked, and appends it. */
static inline __attribute__((always_inline)) ct_var run_op(ct_tape *tape, enum ct_op op, int n,
                                                           const ct_var *in,
                                                           const ct_tensor *const values[],
                                                           const struct ct__attr *attr) {
    ct_tensor *value = tape->recording_backward && ct__any_names((size_t)n, values)
                           ? nameless_value(op, n, in, values, attr)
                           : value_of(op, n, in, values, attr);
    if (!value)
        return ct__fail_op(tape, op, n, values);
    return ct__append_op(tape, op, n, in, value, attr);
}

/* The tape of the operands and their values where all is well; else NULL without an error. */
static inline ct_tape *find_operands(int n, const ct_var *in, const ct_tensor *values[]) {
    ct_tape *tape = in[0].tape;
    if (!tape || tape->status != CT_OK || tape->released > 0 || tape->length >= CT__NO_NODE - 1)
        return NULL;
    const struct ct__node *nodes = tape->nodes;
    for (int i = 0; i < n; i++) {
        if (in[i].tape != tape || in[i].index >= tape->length)
            return NULL;
        const struct ct__node *node = &nodes[in[i].index];
        if (node->generation != in[i].generation)
            return NULL;
        values[i] = node->value;
    }
    return tape;
}

/* The null variable that an op on wrong operands is, after the error that says what is wrong. */
static ct_var refuse_operands(enum ct_op op, int n, const ct_var *in) {
    const ct_tensor *values[CT__MAX_INPUTS];
    const struct ct__op_record *record = ct__op_record(op);
    const char *verb = record ? record->verb : ct_op_name(op);
    ct_tape *tape = tape_of(verb, n, in);
    if (!tape)
        return ct_var_null();
    values_of(verb, tape, n, in, values);
    return (ct_var){tape, CT__NO_NODE, 0};
}

ct_var ct__record(enum ct_op op, int n, const ct_var *in, const struct ct__attr *attr) {
    const ct_tensor *values[CT__MAX_INPUTS];
    ct_tape *tape = find_operands(n, in, values);
    if (!tape)
        return refuse_operands(op, n, in);
    return run_op(tape, op, n, in, values, attr);
}

/* A rank-0 constant rides along by a zero stride: nothing flows back to it. */
static bool rides_along(ct_var v) {
    const struct ct__node *node = &v.tape->nodes[v.index];
    return node->kind == CT__NODE_CONSTANT && ct_rank(node->value) == 0;
}

static bool has_shape(const ct_tensor *t, int rank, const int64_t *shape) {
    return ct_rank(t) == rank && memcmp(ct_shape(t), shape, (size_t)rank * sizeof(int64_t)) == 0;
}

/* Records the `broadcast`s that unlike shapes need; false after the sticky error. What does not
   broadcast is left to the op, which says so. */
static bool broadcast_operands(ct_tape *tape, int n, const ct_var *in, ct_var operands[],
                               const ct_tensor *values[]) {
    int64_t shape[CT_MAX_RANK];
    int rank = ct_rank(values[0]);
    memcpy(shape, ct_shape(values[0]), (size_t)rank * sizeof(int64_t));
    for (int i = 1; i < n && rank >= 0; i++)
        rank = ct_broadcast_shape(rank, shape, ct_rank(values[i]), ct_shape(values[i]), shape);
    for (int i = 0; i < n; i++) {
        operands[i] = in[i];
        if (rank < 0 || has_shape(values[i], rank, shape) || rides_along(in[i]))
            continue;
        operands[i] = ct_var_broadcast_to(in[i], rank, shape);
        if (ct_var_is_null(operands[i]))
            return false;
        values[i] = tape->nodes[operands[i].index].value;
    }
    return true;
}

/* Any other than a small one of one shape. */
static __attribute__((noinline)) ct_var record_any(ct_tape *tape, enum ct_op op, int n,
                                                   const ct_var *in, const ct_tensor *values[]) {
    ct_var operands[CT__MAX_INPUTS];
    const ct_tensor *like = NULL;
    for (int i = 0; i < n && n > 1; i++) {
        if (rides_along(in[i]) || (like && ct_same_shape(like, values[i])))
            continue;
        if (like) {
            if (!broadcast_operands(tape, n, in, operands, values))
                return (ct_var){tape, CT__NO_NODE, 0};
            in = operands;
            break;
        }
        like = values[i];
    }
    return run_op(tape, op, n, in, values, NULL);
}

/* Under the IEEE option the products and quotients of derivative rules absorb no zeros. */
static enum ct_op plain_product(const ct_tape *tape, enum ct_op op) {
    if (!tape->recording_backward)
        return op;
    return op == CT_OP_smul ? CT_OP_mul : op == CT_OP_sdiv ? CT_OP_div : op;
}

ct_var ct__record_elementwise(enum ct_op op, int n, const ct_var *in) {
    const ct_tensor *values[CT__MAX_INPUTS] = {NULL};
    unsigned constants = 0;
    ct_tape *tape = find_operands(n, in, values);
    if (!tape)
        return refuse_operands(op, n, in);
    if (__builtin_expect(tape->ieee, 0))
        op = plain_product(tape, op);
    for (int i = 0; i < n; i++)
        constants |= (unsigned)(tape->nodes[in[i].index].kind == CT__NODE_CONSTANT) << i;
    ct_tensor *value = ct__apply_small(op, n, values, constants);
    if (value)
        return ct__append_op(tape, op, n, in, value, NULL);
    return record_any(tape, op, n, in, values);
}

bool ct__shape_attr(ct_var x, int rank, const int64_t *shape, struct ct__attr *attr) {
    *attr = (struct ct__attr){.rank = rank};
    if (rank < 0 || rank > CT_MAX_RANK)
        ct__tape_fail(x.tape, CT_ESHAPE, "a shape has 0 to %d axes and %d were given", CT_MAX_RANK,
                      rank);
    else if (rank > 0 && !shape)
        ct__tape_fail(x.tape, CT_EINVAL, "a shape of %d axes is NULL", rank);
    else {
        for (int i = 0; i < rank; i++)
            attr->shape[i] = shape[i];
        return true;
    }
    return false;
}

bool ct__axes_attr(ct_var x, int n, const int *axes, struct ct__attr *attr) {
    *attr = (struct ct__attr){.rank = n};
    if (n < 0 || n > CT_MAX_RANK)
        ct__tape_fail(x.tape, CT_EAXIS, "there can be 0 to %d axes and %d were given", CT_MAX_RANK,
                      n);
    else if (n > 0 && !axes)
        ct__tape_fail(x.tape, CT_EINVAL, "%d axes are NULL", n);
    else {
        for (int i = 0; i < n; i++)
            attr->shape[i] = axes[i];
        return true;
    }
    return false;
}
