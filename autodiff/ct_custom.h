/**
 * @file ct_custom.h
 * Ops of one's own, and segments that are recomputed.
 *
 * **By composition.** A function that records ops needs nothing more: it has every derivative, in every mode. A
 * scope gives it a name, under which it is drawn as one box that folds:
 *
 *     ct_var swish(ct_var x, ct_var beta) {
 *         ct_scope_begin(x.tape, "swish");
 *         ct_var gate = ct_var_sigmoid(ct_var_mul(beta, x)), y = ct_var_mul(x, gate);
 *         ct_scope_end(x.tape);
 *         return y;
 *     }
 *
 * **By a record**, where the value is computed by code of one's own: a solver, a table, a foreign library.
 * The record says how the value is computed, and how a cotangent is pulled back; it is recorded as one
 * op under its name, in listings, pictures, errors and checks like any other.
 */
#ifndef CT_CUSTOM_H
#define CT_CUSTOM_H

#include "autodiff/ct_check.h"
#include "autodiff/ct_tape.h"

CT_BEGIN_DECLS

/** What the rule of a custom op sees. */
struct ct_custom_pull {
    ct_tape *tape;
    size_t n;             /**< how many inputs the node has */
    const ct_var *inputs; /**< ct_value() gives their values */
    ct_var output;        /**< the node's result */
    ct_var cotangent;     /**< of the result: its shape and type */
    const bool *wanted;   /**< per input, whether its gradient is asked for */
};

/**
 * A custom op. Begin with ct_custom_op_init(), or set @p size to the size of the struct and leave what is not needed at 0.
 *
 * No function may rewind or release the tape on which it runs (CT_EINVAL). run and jvp must be pure: the same inputs give the same result, since a tape may run them again (the gradient
 * check, recomputation). They belong to one thread at a time, as their tape does.
 */
struct ct_custom_op {
    size_t size; /**< sizeof of this struct as the caller knows it */
    /** Of 1 to 63 bytes; like @p doc it must outlive the tapes on which the op is recorded. */
    const char *name;
    const char *doc; /**< one sentence, shown in the tooltips of pictures; may be NULL */
    /** If > 0, so many bytes of the context are copied onto the tape, and the functions see the copy; if 0,
     *  they get the pointer, and what it points to must outlive the node. */
    size_t context_size;
    /**
     * Called once with the context when its node goes: the tape is rewound or freed, or could not be extended
     * at all. For a context that owns something, whose ownership passes with the call of ct_var_custom(). May be NULL.
     */
    void (*release)(void *context);
    /**
     * The value: a new tensor, or NULL after an error; an input itself is returned as ct_copy() of it.
     * Inputs have any strides, and the scalar type in which the tape is recorded: f64 when a graph of f32 is
     * checked. For an error of one's own see ct_custom_fail().
     */
    ct_tensor *(*run)(void *context, size_t n, const ct_tensor *const *inputs);
    /** Says that run (and jvp) is written with tensor functions and so works for any scalar type, duals among them:
     *  forward mode is then run over dual numbers and needs no jvp. */
    bool generic;
    /**
     * The rule: for each i with pull->wanted[i] sets gradients[i] to the gradient
     * sum_j cotangent[j] * d output[j] / d inputs[i], recorded as ops on pull->tape from the inputs, the output and
     * the cotangent, or to ct_custom_flat(). Since it is recorded, it can be differentiated again; where it needs code of its own
     * it records another custom op. It may call ct_grad() on the tape, of what it records there. Errors are those of
     * the tape: ct_tape_fail().
     * NULL: a gradient through the op is CT_ERULE.
     */
    void (*vjp)(void *context, const struct ct_custom_pull *pull, ct_var *gradients);
    /**
     * Forward mode, where run is not generic: the derivative of the output along the tangents, of its shape and
     * type; a NULL tangent is zero. NULL after an error. Without it forward mode takes the transpose of vjp, which
     * is exact, at about three times its cost.
     */
    ct_tensor *(*jvp)(void *context, size_t n, const ct_tensor *const *inputs,
                      const ct_tensor *const *tangents, const ct_tensor *output);
};
/** A record of its size, and zeros. */
CT_API struct ct_custom_op ct_custom_op_init(void);

/**
 * Records a custom op of @p n inputs, 1 to 255, on their tape: one node under the op's name.
 *
 * @param op       copied; what its pointers point to is not
 * @param context  passed to the op's functions; see context_size and release. May be NULL where context_size is 0.
 * @return the result, or a null variable after the sticky error of the tape, which names node, op, operands and
 *         scope, and carries the code and message of run's error. CT_EINVAL: a record without a name or run, a
 *         run that returned NULL without an error, or one of its inputs.
 *
 * Modes: gradients of any order as far as vjp's ops have them, and forward mode by what the record has, in this
 * order: generic, jvp, vjp. With none, CT_ERULE names the op. In a sparse pattern each item of the result of a run that is not
 * generic depends on all items of all inputs.
 * Axis names are dropped from inputs in a backward pass, as for other ops.
 * Cost: that of run, and one small block for the record.
 */
CT_API ct_var ct_var_custom(const struct ct_custom_op *op, void *context, size_t n,
                            const ct_var *inputs);

/** The declared zero, as a gradient in a vjp: nothing flows to that input. */
CT_API ct_var ct_custom_flat(void);
/** Sets ct_error() to an error of one's own, and returns NULL: `return ct_custom_fail(CT_EDTYPE, "f32 only");` */
CT_API ct_tensor *ct_custom_fail(ct_status code, const char *message);

/** ct_check_gradient() of the op alone, at @p n inputs of one's own choice; the message begins with its name. A release
 *  in the record is not called. */
CT_API ct_status ct_check_custom(const struct ct_custom_op *op, void *context, size_t n,
                                 const ct_tensor *const *inputs,
                                 const struct ct_check_options *options,
                                 struct ct_check_report *report);

/**
 * Records fn(inputs) as one op that keeps its inputs and its result alone: what lies between is dropped, and
 * computed again when a gradient is pulled through it (Griewank and Walther, Algorithm 799: revolve, 2000; Chen and
 * others, Training deep nets with sublinear memory cost, 2016). A chain of segments so trades one more forward pass for its
 * intermediates:
 *
 *     peak of values = results of the segments + intermediates of one segment
 *
 * and not intermediates of all. Measured (tests/suite_recomputed.c): the gradient of a chain of 16 segments of four
 * dense layers each, of 32 units for 64 rows, takes 0.28 of the memory, and has the same bits.
 *
 * @param fn       reads variables through @p inputs alone: others are of another tape. It records the same
 *                 computation each time; dropout by ct_var_dropout() draws the same mask.
 * @param context  passed to fn; must outlive the node
 * @param n        1 to 127
 * @return the result, or a null variable after the sticky error
 *
 * Bits: value and gradient are those of fn recorded openly, over any scalar type, so ct_jvp() and ct_hvp() too; contributions
 * to an input that is used elsewhere as well are added in the same order. Gradients of gradients, of any order and recomputed
 * as well, are the same to rounding: what flows back through a segment's gradient and through its value meets at
 * its inputs, and no earlier.
 * The gradient is recorded as one `recomputed_grad` and slices of it. Segments nest. The intermediates are
 * not on the tape: listings, anomaly search and the guilty node of a check see the op as a whole.
 * Cost: fn once per value, and its forward and backward pass once per pull.
 */
CT_API ct_var ct_var_recomputed(ct_function *fn, void *context, size_t n, const ct_var *inputs);

CT_END_DECLS
#endif
