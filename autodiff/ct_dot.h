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

/** What pictures and listings show. */
struct ct_dot_options {
    size_t size;      /**< sizeof of this struct as the caller knows it */
    bool shapes;      /**< shapes in labels (default true) */
    bool dtypes;      /**< scalar types in labels (default true) */
    bool constants;   /**< draw rank-0 constants as nodes (default false: in their users' labels) */
    size_t max_nodes; /**< stop after so many and say how many were left out (default 0: all) */
    const char *title; /**< or NULL */
    bool attributes;   /**< axes, steps, activations of ops (default true) */
    bool values;       /**< least, largest and mean item, the share of zeros (default false) */
    /** Beside each node the Euclidean norm of the gradient for it that the last ct_grad() recorded, as far
     *  as the tape was not rewound past it (default false). */
    bool gradients;
    bool faults; /**< look for what is not finite, and mark it (default true) */
    bool legend; /**< say under the title what lines and colours mean (default false) */
    /** Scopes that stand this deep are drawn as one node each: 1 for the outermost (default 0: none). */
    int fold_depth;
    const char *const *fold_names; /**< scopes of these names too, at any depth; or NULL */
    size_t fold_count;             /**< how many names */
};
/** The defaults. */
CT_API struct ct_dot_options ct_dot_options_init(void);

/**
 * Writes the tape in Graphviz's language: forward and backward in clusters and in these the scopes;
 * ops with names, shapes and types, tooltips with their formulas, every label escaped in full. The
 * forward pass runs down the page and the backward pass climbs up on its right; for that, most edges between
 * backward nodes are written from the user to its input, with dir=back. A rank-0 constant stands
 * in the label of its users: `sub` with `1 − ·`.
 *
 * Names may hold any bytes and are shown as they are; a control character as its picture (U+2400 and on;
 * tabs only in the labels of nodes, where Graphviz has none), each byte
 * of broken UTF-8 as U+FFFD. A line of more than 4,096 bytes is broken, since Graphviz draws none of any length.
 *
 * A folded scope is one node with its name, the number of nodes in it, and the type of the last of
 * them; of parallel edges from or to it one is drawn. Its backward pass is another node.
 *
 * Where a value is not finite, and not meant so (ct_tape_anomaly()), it and the edges on which it spreads are red. Where it begins, in an input or
 * of finite operands, borders are thick; the first of these has a note with ct_tape_anomaly()'s sentence, and its operands have
 * dashed borders.
 *
 * The same tape gives the same bytes, whatever the locale, threads and instruction set. Streams: a million
 * nodes need a few bytes per scope, a byte each where there is a backward pass and one where something is not
 * finite, and with folds a few per edge at a folded scope. A tape in error is drawn up to the error, which
 * stands in a note. Cost: a few passes over nodes and edges; each value is read once for `faults`, a few times more for
 * `values` and `gradients`.
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
/**
 * The same with more on each line, as options ask for; NULL is ct_dot_options_init(). Scopes are named (`in model/head`),
 * not folded: `7 dense(6, 2, 3) relu f32[32, 10] "logits" in layer1 {-1 to 2, mean 0.1} |gradient| 0.02`. A value
 * that is not finite is marked `NOT FINITE`, with `first` where its operands are. Returns as ct_tape_dot() does.
 */
CT_API ct_status ct_tape_text_with(const ct_tape *tape, const struct ct_dot_options *options,
                                   ct_write_fn *write, void *context);

CT_END_DECLS
#endif
