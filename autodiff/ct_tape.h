/**
 * @file ct_tape.h
 * The tape: recording executes.
 *
 * A tape records named ops on variables and computes their values at once, so that a value can be
 * looked at and branched on. A variable is a small struct passed by value; the tape owns every
 * intermediate tensor, so expressions nest and nothing leaks.
 *
 * Errors: the first error sticks to the tape with the op, the node number and the operand shapes;
 * later calls do nothing and return a null variable. Check ct_tape_status() once, at the end. A call all of whose
 * variables are ct_var_null() has no tape, and sets ct_error() alone.
 *
 * Order: a gradient with several contributions is their sum in the order of the tape, and C leaves
 * open in which order the arguments of a call are evaluated. Where two arguments of one call record,
 * name one in a statement before it, and every compiler makes the same tape and the same bits.
 *
 * Kinks and ends of domains: what a derivative is at a tie, at 0, at an infinity is one table for every mode,
 * docs/conventions.md. Products with a derivative are smul(), in which a zero absorbs.
 *
 * Threads: a tape belongs to one thread at a time; different threads use different tapes freely.
 */
#ifndef CT_TAPE_H
#define CT_TAPE_H

#include "tensor/ct_dense.h"
#include "tensor/ct_tensor.h"

CT_BEGIN_DECLS

typedef struct ct_tape ct_tape;

/** A variable of a tape. A copy is the same variable; one from before a rewind is stale. */
typedef struct ct_var {
    ct_tape *tape;
    uint32_t index;
    uint32_t generation;
} ct_var;

/** A place on a tape to return to; its fields are the tape's business. */
typedef struct ct_mark {
    const ct_tape *tape;
    uint32_t nodes, generation, scope, scopes, scope_generation;
    size_t text, attrs;
} ct_mark;

/** An empty tape, or NULL when memory is gone. */
CT_API ct_tape *ct_tape_new(void);
/** Frees the tape and every value on it; NULL is accepted. No recursion, whatever the depth. */
CT_API void ct_tape_free(ct_tape *tape);

/** The first error of the tape, or CT_OK. */
CT_API ct_status ct_tape_status(const ct_tape *tape);
/** Its message, or "". */
CT_API const char *ct_tape_message(const ct_tape *tape);
/** Makes an error of one's own stick to the tape, unless it has one; returns a null variable of the
 *  tape. For functions that record compositions. */
CT_API ct_var ct_tape_fail(ct_tape *tape, ct_status code, const char *message);
/** The number of nodes recorded. */
CT_API size_t ct_tape_length(const ct_tape *tape);

/**
 * Whether derivative rules recorded from now on multiply as IEEE 754 does. By default they record `smul`, in which
 * a factor of exactly 0 absorbs an infinite or NaN one, so that where(x > 0, sqrt(x), x) has gradient 1 at 0; the price
 * is sqrt(x) * sqrt(x), whose gradient at 0 is 0. With the option they record `mul` and `div`, and the gradients
 * are NaN there, 0 times infinity, as elsewhere in the field.
 *
 * It concerns the products that ct_grad() records. Values are the same, also those of losses in which a zero weight absorbs.
 * Rules that choose (where, relu, maximum, rows of logits that are all -infinity) choose under it too. Rules that are otherwise fused
 * (`softmax_grad`, `log_softmax_grad`, `layer_norm_grad`, `layer_norm_parts`, `batch_norm_parts`, `cross_entropy_grad`) are recorded as plain words. Not reached are the
 * tangents of dual numbers, that is ct_jvp() and the products of ct_hvp(): they absorb. So with the option tape and dual differ
 * where a partial derivative is not finite, and nowhere else but by rounding.
 */
CT_API ct_status ct_tape_set_ieee(ct_tape *tape, bool ieee);
/** Whether it is set; a new tape's is not, and a rewind keeps it. */
CT_API bool ct_tape_ieee(const ct_tape *tape);

/** Remembers the present end of the tape. */
CT_API ct_mark ct_tape_mark(const ct_tape *tape);
/**
 * Forgets everything recorded after the mark, an error included; memory is kept for the next
 * round, so that a loop of record, gradient, step and rewind stops allocating after its first turn.
 * Variables from after the mark become stale. CT_ESTALE when the mark itself was rewound past, CT_EINVAL
 * for a mark of another tape; a mark of zeros is the start of any tape.
 */
CT_API ct_status ct_tape_rewind(ct_tape *tape, ct_mark mark);

/** A differentiable input. The tape takes a share of the value, not a copy of its items. */
CT_API ct_var ct_leaf(ct_tape *tape, const ct_tensor *value, const char *name);
/** An input to which no gradient flows: data, labels, masks. */
CT_API ct_var ct_constant(ct_tape *tape, const ct_tensor *value, const char *name);
/** A rank-0 constant of a scalar type. */
CT_API ct_var ct_constant_of(ct_tape *tape, const ct_scalar *scalar, double value);

/** Gives a variable the name that listings and pictures show; returns the variable. */
CT_API ct_var ct_named(ct_var v, const char *name);
/** Opens a scope: nodes recorded until ct_scope_end() are drawn together. Scopes nest. */
CT_API void ct_scope_begin(ct_tape *tape, const char *name);
CT_API void ct_scope_end(ct_tape *tape);

/** The value, owned by the tape and valid until it is rewound; NULL (and ct_error()) for a null,
 *  stale or released variable. What was recorded before an error can still be read. */
CT_API const ct_tensor *ct_value(ct_var v);
/** The only item of a variable of one item, as a double; NaN and an error otherwise. */
CT_API double ct_value_item(ct_var v);
/** The null variable. */
CT_API ct_var ct_var_null(void);
CT_API bool ct_var_is_null(ct_var v);

/**
 * Gives up the tape's share of leaves, and of all views of them, so that a step can write the
 * parameters in place. Until the tape is rewound to before them, reading those values or recording
 * on the tape is a sticky error (CT_ESTALE).
 */
CT_API ct_status ct_tape_release(ct_tape *tape, size_t n, const ct_var *leaves);

/**
 * Appends to the tape the computation of the gradient of y, as named ops.
 *
 * dx[i] = sum_j cotangent[j] * d y[j] / d x[i], of the shape of x[i].
 *
 * @param y          any variable of a differentiable type
 * @param cotangent  of y's shape, or ct_var_null() for ones
 * @param n, x       the variables to differentiate for: leaves or intermediates
 * @param dx         receives the gradients, variables that can be differentiated again. Where no
 *                   path leads from x[i] to y, or x[i] is a constant, it is zeros by zero
 *                   strides, never allocated. Null variables on failure. May be x itself.
 * @return the tape's status; CT_ERULE names an op on the path that has no derivative rule.
 * Cost: a small multiple of the forward pass; no recursion. Contributions are added in tape order.
 */
CT_API ct_status ct_grad(ct_var y, ct_var cotangent, size_t n, const ct_var *x, ct_var *dx);
/**
 * The same of several variables of one tape in one backward pass:
 * dx[i] = sum over k of the gradients of y[k] with cotangents[k].
 *
 * @param m, y        m > 0 variables, of any shapes; one may stand there twice, or lead to another
 * @param cotangents  one each, ct_var_null() for ones; NULL for ones everywhere
 */
CT_API ct_status ct_grad_all(size_t m, const ct_var *y, const ct_var *cotangents, size_t n,
                             const ct_var *x, ct_var *dx);

/**
 * A function to be differentiated: records a computation on @p tape from @p n inputs and returns its
 * result, of any shape. It records the same computation each time it is called, for inputs of any
 * differentiable scalar type, duals among them: constants are made with the type of the inputs.
 */
typedef ct_var ct_function(void *context, ct_tape *tape, size_t n, const ct_var *inputs);

/** The value of @p x as a constant: no derivative of any mode or order goes through it. */
CT_API ct_var ct_var_stop_gradient(ct_var x);
/** The value of @p y with the derivative of @p x, of one shape and finite: y may be x rounded, clipped, drawn
 *  (Bengio, Leonard, Courville, 2013). */
CT_API ct_var ct_var_straight_through(ct_var x, ct_var y);

/** @name Structured ops
 *  Elementwise ops stand in ct_var_ops.h, which is generated from the table. @{ */
CT_API ct_var ct_var_broadcast_to(ct_var x, int rank, const int64_t *shape);
CT_API ct_var ct_var_sum(ct_var x, int axis, bool keepdims);
CT_API ct_var ct_var_mean(ct_var x, int axis, bool keepdims);
CT_API ct_var ct_var_max(ct_var x, int axis, bool keepdims);
CT_API ct_var ct_var_min(ct_var x, int axis, bool keepdims);
CT_API ct_var ct_var_sum_axes(ct_var x, int n, const int *axes, bool keepdims);
CT_API ct_var ct_var_mean_axes(ct_var x, int n, const int *axes, bool keepdims);
CT_API ct_var ct_var_max_axes(ct_var x, int n, const int *axes, bool keepdims);
CT_API ct_var ct_var_min_axes(ct_var x, int n, const int *axes, bool keepdims);
CT_API ct_var ct_var_transpose(ct_var x);
CT_API ct_var ct_var_permute(ct_var x, int n, const int *axes);
CT_API ct_var ct_var_reshape(ct_var x, int rank, const int64_t *shape);
CT_API ct_var ct_var_slice(ct_var x, int axis, int64_t start, int64_t stop, int64_t step);
CT_API ct_var ct_var_flip(ct_var x, int axis);
CT_API ct_var ct_var_select(ct_var x, int axis, int64_t index);
CT_API ct_var ct_var_expand_dims(ct_var x, int axis);
CT_API ct_var ct_var_squeeze(ct_var x, int axis);
/** x[..., index[...]]: one item of the last axis per row; @p index is i64 or i32 of x's leading shape. */
CT_API ct_var ct_var_pick(ct_var x, ct_var index);
/** The transpose of ct_var_pick(): zeros of extent @p extent on a new last axis, x at the index. */
CT_API ct_var ct_var_place(ct_var x, ct_var index, int64_t extent);
/** ct_gather() and ct_take(): @p index is a constant of integers. */
CT_API ct_var ct_var_gather(ct_var x, int axis, ct_var index);
CT_API ct_var ct_var_take(ct_var x, int axis, ct_var index);
/** @p t plus the items of @p source summed at their places: ct_scatter_add() and ct_index_add(), but
 *  for the order of the sum, in which @p t comes last. */
CT_API ct_var ct_var_scatter_add(ct_var t, int axis, ct_var index, ct_var source);
CT_API ct_var ct_var_index_add(ct_var t, int axis, ct_var index, ct_var source);
/** ct_scatter(): @p t with the items of @p source at their places. Where places repeat, the last in row-major
 *  order wins, and it alone has the gradient; @p t has it where nothing was put. */
CT_API ct_var ct_var_scatter(ct_var t, int axis, ct_var index, ct_var source);
/** @p n > 0 variables one after the other along an axis, and along a new one. */
CT_API ct_var ct_var_concat(size_t n, const ct_var *x, int axis);
CT_API ct_var ct_var_stack(size_t n, const ct_var *x, int axis);
/** ct_unfold(): windows of @p size items, @p step apart; a new last axis counts the items of each. */
CT_API ct_var ct_var_unfold(ct_var x, int axis, int64_t size, int64_t step);
/** Its transpose: windows, items in the last axis, added back into an axis of @p extent. */
CT_API ct_var ct_var_fold(ct_var windows, int axis, int64_t extent, int64_t step);
CT_API ct_var ct_var_cumsum(ct_var x, int axis);
CT_API ct_var ct_var_cumprod(ct_var x, int axis);
CT_API ct_var ct_var_prod(ct_var x, int axis, bool keepdims);
CT_API ct_var ct_var_prod_axes(ct_var x, int n, const int *axes, bool keepdims);
/** y_i = a_i y_(i-1) + b_i along an axis, from y_(-1) = 0: leaky sums, decays, discounted returns. */
CT_API ct_var ct_var_recurrence(ct_var a, ct_var b, int axis);
/** ct_variance() and ct_std(); the derivative of the latter at 0 is 0. */
CT_API ct_var ct_var_variance(ct_var x, int axis, int64_t ddof, bool keepdims);
CT_API ct_var ct_var_variance_axes(ct_var x, int n, const int *axes, int64_t ddof, bool keepdims);
CT_API ct_var ct_var_std(ct_var x, int axis, int64_t ddof, bool keepdims);
CT_API ct_var ct_var_std_axes(ct_var x, int n, const int *axes, int64_t ddof, bool keepdims);
/** ct_norm(): orders 1, 2, infinity, -infinity and any above 0; not 0, which counts. The derivative at the zero
 *  vector, and by an item that is 0, is 0; items that tie for an infinite order share. Nothing overflows on the way. */
CT_API ct_var ct_var_norm(ct_var x, int axis, double order, bool keepdims);
CT_API ct_var ct_var_norm_axes(ct_var x, int n, const int *axes, double order, bool keepdims);
CT_API ct_var ct_var_matmul(ct_var a, ct_var b);
/**
 * f(x w + b), x [..., in], w [in, out], b [out] or null. Recorded as one `dense` where the derivative of f can be
 * told from its result (CT_IDENTITY, CT_RELU, CT_TANH), else as a `dense` without activation and the
 * activation: the same bits, and nothing is computed twice.
 */
CT_API ct_var ct_var_dense(ct_var x, ct_var w, ct_var b, enum ct_activation activation);
CT_API ct_var ct_var_logsumexp(ct_var x, int axis, bool keepdims);
CT_API ct_var ct_var_softmax(ct_var x, int axis);
CT_API ct_var ct_var_log_softmax(ct_var x, int axis);
/** ct_layer_norm() over the axes of x from @p axis on; @p scale and @p shift may be ct_var_null(). */
CT_API ct_var ct_var_layer_norm(ct_var x, int axis, ct_var scale, ct_var shift, double eps);
/** How a loss gathers its rows. */
enum ct_reduction { CT_REDUCE_MEAN, CT_REDUCE_SUM, CT_REDUCE_NONE };
/** -log_softmax(logits)[i, label[i]]; logits [n, classes], labels i64 or i32 [n] in range. */
CT_API ct_var ct_var_cross_entropy(ct_var logits, ct_var labels, enum ct_reduction reduction);
/** (x - target)^2, gathered; the shapes must be equal: losses do not broadcast. */
CT_API ct_var ct_var_mse(ct_var x, ct_var target, enum ct_reduction reduction);
/** @} */

CT_END_DECLS
#endif
