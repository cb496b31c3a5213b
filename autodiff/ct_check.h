/**
 * @file ct_check.h
 * The gradient check: three answers, compared. It returns a report and prints nothing.
 *
 * Differences know nothing of derivatives: they test the formulas. The tape and dual numbers take
 * their formulas from the same table of ops, so that against each other they test the machinery of
 * both modes, to the last digits, and not the formulas.
 */
#ifndef CT_CHECK_H
#define CT_CHECK_H

#include "autodiff/ct_tape.h"

CT_BEGIN_DECLS

struct ct_check_options {
    size_t size;       /**< sizeof of this struct as the caller knows it */
    double rtol;       /**< relative tolerance between answers (default 1e-6) */
    double atol;       /**< absolute tolerance (default 1e-8) */
    size_t max_items;  /**< items checked per input; more are drawn by seed (default 256) */
    uint64_t seed;     /**< of the random cotangent and of the choice of items */
    bool second_order; /**< also check the gradient of <gradient, v> (default false) */
};
CT_API struct ct_check_options ct_check_options_init(void);

enum ct_verdict {
    CT_CHECK_PASS,
    /** One-sided differences disagree: the point is not differentiable. Where it is, the answers
     *  agree. */
    CT_CHECK_KINK,
    /** The answers agree as far as can be seen, but somewhere differences tell nothing: they may be further off than
     *  the answers are large, since the function's value is so large there. */
    CT_CHECK_BLIND,
    CT_CHECK_FAIL
};

/** The verdict and the worst disagreement found. Errors are relative to the larger of the two
 *  answers plus atol / rtol, so that an error of rtol is the largest that is accepted between tape and dual.
 *  Differences may be off by four times their own estimated error besides. */
struct ct_check_report {
    enum ct_verdict verdict;
    /** Items of the gradient compared. With second order each item is compared, and counted, once
     *  per order. */
    size_t checked;
    size_t zeros; /**< those of them for which all three answers are 0, which is a weak agreement */
    size_t blind; /**< those of them at which differences tell nothing */
    size_t kinks; /**< items left out because they are kinks (twice where also at second order) */
    double worst_tape_dual; /**< largest relative error of tape against dual */
    double worst_tape_diff; /**< of tape against differences */
    double worst_dual_diff;
    double worst_second; /**< of second order, between any two of the three */
    size_t input, item;  /**< where the worst stands; items count in row-major order */
    double tape, dual, difference, difference_error; /**< the answers there */
    /** After CT_CHECK_FAIL, the first node of the function's tape whose own rule fails the check on
     *  the values that it met there; SIZE_MAX when each is right by itself. */
    size_t node;
    /** One sentence, in the user's terms. The slopes in it are those of <u, f>, or of <g, v> at
     *  second order, so that they contain the random u and v; x is the item at which they stand. */
    char message[256];
};

/**
 * Checks d <u, f(inputs)> / d inputs for a random cotangent u (ones for a rank-0 result):
 * reverse mode on the tape, forward mode by dual numbers pushed through the same recording, and
 * five-point central differences with a chosen step and an error estimate. f32 inputs are checked
 * in f64. Inputs may have any strides; those of integer or bool type are passed on unchecked.
 * A value or derivative that is not finite is a failure, even where all answers agree on it. Second
 * order asks the same of <g, v>, g the recorded gradient and v random: tape over tape, dual numbers
 * through the reverse pass, and differences of the gradient. A function that gives another value
 * when it is called again with the same inputs is CT_EINVAL.
 *
 * @return CT_OK when the check could be carried out, whatever the verdict; the failure otherwise.
 */
CT_API ct_status ct_check_gradient(ct_function *fn, void *context, size_t n,
                                   const ct_tensor *const *inputs,
                                   const struct ct_check_options *options,
                                   struct ct_check_report *report);

/** Checks the derivatives of one row of the op table, in f64, on samples from its domains (or its record's samples). */
CT_API ct_status ct_check_op(enum ct_op op, const struct ct_check_options *options,
                             struct ct_check_report *report);

/**
 * All that is checked of one row of the op table in one scalar type. An error is NaN where there is
 * nothing to compare: logic has no derivatives, and the value has no reference where long double has
 * no more digits than double, or where the op does not run over long double.
 */
struct ct_op_report {
    enum ct_verdict verdict;
    /** Worst error of the value in units in the last place: of an elementwise op against its oracle
     *  in long double; of a structured one, whose unit is that of the largest number among operands
     *  and results, against a plain loop in long double or the op run over long doubles. Places
     *  where a formula is known to lose more (roots of lgamma, tails of compositions) are held to
     *  bars of their own and do not count here. */
    double value;
    double value_bar; /**< what the value is held to */
    double tape;      /**< reverse mode: of f64 against differences, of f32 against f64 */
    double dual;      /**< forward mode, likewise */
    double second;    /**< second order, likewise */
    /** <u, J v> against <J^T u, v> for random u and v, relative to the sum of their terms' sizes. */
    double inner;
    size_t
        special_points; /**< special values and places of special values: zeros, ties, infinities, NaN */
    size_t special_wrong; /**< those where the value is wrong, or forward and reverse differ */
    size_t checked;       /**< derivatives compared, of both orders */
    char message[256];    /**< the first fault, or a sentence on the agreement */
};

/**
 * Checks a row of the op table in f32 or f64: its value, its derivatives in each mode and order, and
 * both at special points. Errors of derivatives in f64 are those of ct_check_op(). Those in f32 are
 * measured against f64 at the same inputs, relative to the largest item of the answer: what f64
 * answers is differenced in the row of f64. A row of which an argument was never differentiated fails.
 *
 * @param options  rtol, atol and seed are used; NULL for the defaults. Tolerances of f32 and of the inner
 *                 product are fixed multiples of the type's epsilon.
 * @return CT_OK when the check could be carried out, whatever the verdict; CT_EDTYPE for another type.
 */
CT_API ct_status ct_check_op_all(enum ct_op op, const ct_scalar *scalar,
                                 const struct ct_check_options *options,
                                 struct ct_op_report *report);

CT_END_DECLS
#endif
