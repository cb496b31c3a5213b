/**
 * @file ct_anomaly.h
 * Where numbers went wrong: the first result on a tape that is not finite, and the products in derivative rules
 * that a zero absorbed.
 *
 * A tape keeps its values, so nothing has to be switched on before: ask afterwards. Recording pays
 * nothing for it, a search reads each value once and stops at the first.
 *
 * Where a training loop goes wrong at some step, its tape is still there: ct_fit() and ct_params_step() refuse the step, leave the
 * parameters as they were, and their message ends in the sentence of ct_tape_anomaly(). In a loop of one's own, ask
 * after the step that was refused, before the tape is rewound; ct_tape_dot() draws the way on which it spreads.
 */
#ifndef CT_ANOMALY_H
#define CT_ANOMALY_H

#include "autodiff/ct_tape.h"

CT_BEGIN_DECLS

struct ct_anomaly {
    size_t node;   /**< its number on the tape */
    size_t item;   /**< of its value, in row-major order */
    bool is_input; /**< a leaf or a constant: no op made it */
    bool backward; /**< recorded by ct_grad() */
    enum ct_op op; /**< that made it, unless it is an input; CT_OP_COUNT for a custom op */
    size_t primal; /**< the forward node whose derivative rule recorded it; SIZE_MAX where there is none */
    double value;  /**< of the item: NaN or infinite; of an absorbed product 0 */
    /** One sentence: node, op, name, scope, of a backward node also those of the forward node; the item,
     *  its index, the shapes, and the operands at that index. */
    char message[512];
};

/**
 * Finds the first node, in the order of recording from node @p from on, whose value has an item that
 * is not finite, and its first such item. With @p from 0 that is the first in forward order; with the tape's length before
 * ct_grad() the first of the backward pass. A value counts as not finite if any part of it is: of duals the
 * tangents too. Values that were released and those of integers are passed over, and so are infinities that are
 * meant: a rank-0 constant (the -infinity of a mask or of a pool's padding), and what ops make of it as long as no NaN and no
 * other operand that is not finite is among it.
 *
 * @return whether there is one; @p found is untouched otherwise. False, with ct_error(), where
 * an argument is NULL or memory is gone. Reads each value once, up to the first fault; allocates a byte per node where
 * some infinity is meant, else nothing.
 */
CT_API bool ct_tape_anomaly(const ct_tape *tape, size_t from, struct ct_anomaly *found);

/**
 * Finds the first product of a derivative rule (`smul`) from node @p from on of which one factor is exactly 0 and the
 * other not finite: by the convention of this library it is 0, in IEEE arithmetic it would be NaN. Returns as
 * ct_tape_anomaly() does.
 */
CT_API bool ct_tape_absorbed(const ct_tape *tape, size_t from, struct ct_anomaly *found);

/**
 * The number, in row-major order, of the first item of @p t that is not finite in one of its parts; the
 * number of items where all are, as those of integers are. Allocates nothing, whatever the layout. For NULL 0, with
 * ct_error().
 */
CT_API size_t ct_first_not_finite(const ct_tensor *t);

CT_END_DECLS
#endif
