/**
 * @file ct_dot.h
 * Pictures and listings of a tape.
 */
#ifndef CT_DOT_H
#define CT_DOT_H

#include "autodiff/ct_tape.h"

CT_BEGIN_DECLS

/** Receives text piece by piece; returns false to stop (the export then fails with CT_EIO). */
typedef bool ct_write_fn(void *context, const char *text, size_t length);

struct ct_dot_options {
    size_t size;      /**< sizeof of this struct as the caller knows it */
    bool shapes;      /**< shapes in labels (default true) */
    bool dtypes;      /**< scalar types in labels (default true) */
    bool constants;   /**< draw rank-0 constants as nodes (default false: in their users' labels) */
    size_t max_nodes; /**< stop after so many and say how many were left out (default 0: all) */
    const char *title; /**< or NULL */
};
CT_API struct ct_dot_options ct_dot_options_init(void);

/**
 * Writes the tape in Graphviz's language: forward and backward in clusters and in these the scopes;
 * ops with names, shapes and types, tooltips with their formulas, every label escaped in full. The
 * forward pass runs down the page and the backward pass climbs up beside it; for that, edges into
 * backward nodes are written from the user to its input, with dir=back. A rank-0 constant stands
 * in the label of its users: `sub` with `1 − ·`. The same tape gives the same bytes. Streams: a
 * million nodes need no memory of their own, only a few bytes per scope. A tape in error is drawn
 * up to the error, which stands in a note.
 *
 * @return CT_OK; CT_EIO when the writer stopped; CT_EINVAL, CT_ENOMEM.
 */
CT_API ct_status ct_tape_dot(const ct_tape *tape, const struct ct_dot_options *options,
                             ct_write_fn *write, void *context);

/**
 * One line per node: `12 add(10, 11) f32[32, 64] "hidden"`. Inputs are `leaf` and `constant`, a
 * rank-0 constant with its value (`3 constant f64[] = 2`); what the backward pass recorded ends in
 * `pull of 7`, the node whose pull it was.
 */
CT_API ct_status ct_tape_text(const ct_tape *tape, ct_write_fn *write, void *context);

CT_END_DECLS
#endif
