/* A tape in Graphviz's language.

   The tape is walked once for the nodes and once for each kind of edge, so nothing is gathered but the
   edges at folded scopes. A
   cluster that was closed is entered again by its name: Graphviz takes a subgraph of the same name
   in the same parent as the same one. Edges stand outside all clusters, since an edge inside one
   would pull both its ends in.

   The forward pass runs down the page and the backward pass climbs up on its right, so that each
   gradient stands level with what it is the gradient of: dot ranks the tail of an edge above its
   head, so edges between backward nodes are written from the user to its input, with dir=back. Those
   from the forward pass may lie level, which puts the forward pass on the left.

   What the backward pass computes of forward values alone (transposed weights, the derivative of a
   function) is no part of the way up: its edges go down like the forward ones, which keeps it by its
   scope. Nothing leads from what climbs to what goes down, so the page has an order. */

#include "autodiff/dot_impl.h"

#include "tensor/alloc.h"
#include "tensor/fail.h"
#include "tensor/options.h"

#define FONT "fontname=\"Helvetica,Arial,sans-serif\""

/* Light fills and darker strokes; the two passes differ in hue, what is given is warm or grey. */
static const char header[] =
    "digraph tape {\n"
    "graph [rankdir=TB, bgcolor=\"white\", " FONT ", fontsize=12, fontcolor=\"#4a5568\", "
    "nodesep=0.3, ranksep=0.4, pad=0.2, labeljust=l, style=\"rounded,filled\", tooltip=\" \"];\n"
    "node [shape=box, style=filled, " FONT ", fontsize=11, fontcolor=\"#1a202c\", "
    "margin=\"0.14,0.07\", height=0.3, width=0.6, penwidth=1];\n"
    "edge [color=\"#64748b\", arrowsize=0.6, penwidth=0.9];\n";
static const char *const cluster_opening[] = {
    [CT__FORWARD] = "subgraph cluster_forward {\n"
                    "label=\"forward\"; margin=12; color=\"#c3d3e6\"; fillcolor=\"#f6f9fc\";\n"
                    "node [color=\"#3b73af\", fillcolor=\"#e3eefa\"];\n",
    [CT__BACKWARD] = "subgraph cluster_backward {\n"
                     "label=\"backward\"; margin=12; color=\"#e3c9d6\"; fillcolor=\"#fdf7fa\";\n"
                     "node [color=\"#a8527d\", fillcolor=\"#fae6ef\"];\n",
};
static const char scope_style[] = "margin=10; color=\"#cbd5e0\"; fillcolor=\"#ffffff\";\n";

/* What the backward pass reads of the forward one; what it computes of that alone; the way up; what
   is computed on from a gradient, which must not turn the page's order round. */
static const char saved_edges[] = "edge [color=\"#a3aebb\", style=dashed, minlen=0];\n";
static const char beside_edges[] = "edge [color=\"#a8527d\", style=solid, minlen=1];\n";
static const char backward_edges[] = "edge [dir=back];\n";
static const char onward_edges[] = "edge [dir=forward, constraint=false];\n";

/* --- clusters --- */

static void close_scope(struct ct__drawing *d) {
    ct__put(&d->sink, "}\n");
    d->scope = d->tape->scopes[d->scope].parent;
}

static void open_scope(struct ct__drawing *d, uint32_t scope) {
    struct ct__sink *s = &d->sink;
    ct__put(s, d->side == CT__BACKWARD ? "subgraph cluster_b" : "subgraph cluster_f");
    ct__put_number(s, scope);
    ct__put(s, " {\n");
    d->scope = scope;
    uint8_t bit = (uint8_t)(1U << d->side);
    if (d->labelled[scope] & bit)
        return;
    d->labelled[scope] |= bit;
    ct__put(s, "label=\"");
    ct__put_text(s, CT__QUOTED, d->tape->text + d->tape->scopes[scope].name);
    ct__put(s, "\"; ");
    ct__put(s, scope_style);
}

static void close_side(struct ct__drawing *d) {
    while (d->scope != CT__NO_NODE)
        close_scope(d);
    if (d->side != CT__NOWHERE)
        ct__put(&d->sink, "}\n");
    d->side = CT__NOWHERE;
}

/* Moves the pen by way of the innermost scope that contains both. A scope is opened after its
   parent, so the larger number is never an ancestor of the smaller. */
static void move_to(struct ct__drawing *d, enum ct__side side, uint32_t scope) {
    if (d->side != side) {
        close_side(d);
        ct__put(&d->sink, cluster_opening[side]);
        d->side = side;
    }
    size_t depth = 0;
    uint32_t target = scope;
    while (target != d->scope) {
        bool target_is_inner =
            target != CT__NO_NODE && (d->scope == CT__NO_NODE || target > d->scope);
        if (target_is_inner) {
            d->path[depth++] = target;
            target = d->tape->scopes[target].parent;
        } else {
            close_scope(d);
        }
    }
    while (depth > 0)
        open_scope(d, d->path[--depth]);
}

/* --- the parts of the picture --- */

/* A folded scope is drawn at its first node, where its parent is. */
static void put_fold(struct ct__drawing *d, size_t index, uint32_t scope, enum ct__side side) {
    if (ct__folded(d, scope, side)->first != index)
        return;
    move_to(d, side, d->tape->scopes[scope].parent);
    ct__put_end(&d->sink, ct__end_of(d, index));
    ct__put(&d->sink, " [");
    ct__put_folded(d, scope, side);
    ct__put(&d->sink, "];\n");
}

static void put_node(struct ct__drawing *d, size_t index) {
    struct ct__sink *s = &d->sink;
    const struct ct__node *node = &d->tape->nodes[index];
    if (ct__is_inlined(d, node))
        return;
    uint32_t fold = ct__fold_of(d, node);
    if (fold != CT__NO_NODE) {
        put_fold(d, index, fold, ct__side_of(node));
        return;
    }
    move_to(d, ct__side_of(node), ct__scope_of(d->tape, node));
    ct__put_end(s, index);
    ct__put(s, " [");
    ct__put_attributes(d, index);
    ct__put(s, "];\n");
}

/* Kinds of edges, in the order in which they are written. */
enum kind { PLAIN, SAVED, BESIDE, CLIMBING, ONWARD };

static enum kind kind_of(const struct ct__drawing *d, size_t input, const struct ct__node *user) {
    if (!d->tape->nodes[input].backward)
        return user->backward ? SAVED : PLAIN;
    if (!user->backward)
        return ONWARD;
    return d->beside[input] ? BESIDE : CLIMBING;
}

static bool is_folded(const struct ct__drawing *d, size_t index) {
    return ct__fold_of(d, &d->tape->nodes[index]) != CT__NO_NODE;
}

/* Room between the clusters of two scopes, for what stands beside the way. */
static const char *gap(const struct ct__drawing *d, enum kind kind, size_t input, size_t user) {
    const struct ct__node *nodes = d->tape->nodes;
    bool apart = kind == CLIMBING && !is_folded(d, input) && !is_folded(d, user) &&
                 ct__scope_of(d->tape, &nodes[input]) != ct__scope_of(d->tape, &nodes[user]);
    return apart ? " [minlen=2]" : "";
}

/* The edge of a node and its input, from the one of them that stands above. */
static void put_edge(struct ct__drawing *d, enum kind kind, size_t input, size_t user) {
    struct ct__sink *s = &d->sink;
    bool climbs = kind == CLIMBING;
    ct__end tail = ct__end_of(d, climbs ? user : input),
            head = ct__end_of(d, climbs ? input : user);
    if (!ct__is_new_edge(d, tail, head))
        return;
    ct__put_end(s, tail);
    ct__put(s, " -> ");
    ct__put_end(s, head);
    ct__put(s, gap(d, kind, input, user));
    ct__put(s, ct__edge_trouble(d, input, user));
    ct__put(s, ";\n");
}

/* A node used twice has two. */
static void put_edges(struct ct__drawing *d, enum kind kind) {
    for (size_t i = 0; i < d->limit && !d->sink.stopped; i++) {
        const struct ct__node *user = &d->tape->nodes[i];
        const uint32_t *inputs = ct__inputs(d->tape, user);
        for (int k = 0; user->kind == CT__NODE_OP && k < user->inputs; k++)
            if (!ct__is_inlined(d, &d->tape->nodes[inputs[k]]) &&
                kind_of(d, inputs[k], user) == kind)
                put_edge(d, kind, inputs[k], i);
    }
}

static void put_note(struct ct__drawing *d, const char *id, const char *text, const char *colour) {
    struct ct__sink *s = &d->sink;
    ct__put(s, id);
    ct__put(s, " [shape=note, label=\"");
    ct__put_text(s, CT__QUOTED, text);
    ct__put(s, "\", color=\"");
    ct__put(s, colour);
    ct__put(s, "\", fillcolor=\"#ffffff\", fontcolor=\"");
    ct__put(s, colour);
    ct__put(s, "\"];\n");
}

static void put_notes(struct ct__drawing *d) {
    if (d->limit < d->tape->length) {
        struct ct__sink *s = &d->sink;
        ct__put(s, "rest [shape=plaintext, style=\"\", label=\"and ");
        ct__put_number(s, (int64_t)(d->tape->length - d->limit));
        ct__put(s, " more nodes\"];\n");
    }
    if (d->tape->status != CT_OK)
        put_note(d, "error", d->tape->message, "#c53030");
}

/* What the picture has that needs a word. */
static void put_legend(struct ct__drawing *d) {
    static const char opening[] = "<FONT POINT-SIZE=\"9\" COLOR=\"#718096\">";
    struct ct__sink *s = &d->sink;
    ct__put(s, opening);
    ct__put(s, "round: what is given; boxes: ops");
    ct__put(s, d->folds.as ? "; double: all nodes of a scope" : "");
    ct__put(s, "; dashed edges: what the backward pass reads of the forward pass");
    if (d->options.gradients)
        ct__put(s, "; |gradient|: norm of the gradient for that value");
    ct__put(s, "</FONT><BR ALIGN=\"LEFT\"/>");
    if (!d->trouble)
        return;
    ct__put(s, opening);
    ct__put(s, "red: not finite; thick border: where it begins; red dashes: the operands there");
    ct__put(s, "</FONT><BR ALIGN=\"LEFT\"/>");
}

static void put_title(struct ct__drawing *d) {
    struct ct__sink *s = &d->sink;
    const char *title = d->options.title;
    if (!title && !d->options.legend)
        return;
    if (!d->options.legend) {
        ct__put(s, "labelloc=t; label=\"");
        ct__put_text(s, CT__QUOTED, title);
        ct__put(s, "\";\n");
        return;
    }
    ct__put(s, "labelloc=t; label=<");
    if (title && *title) {
        ct__put_text(s, CT__HTML, title);
        ct__put(s, "<BR ALIGN=\"LEFT\"/>");
    }
    put_legend(d);
    ct__put(s, ">;\n");
}

static void draw(struct ct__drawing *d) {
    ct__put(&d->sink, header);
    put_title(d);
    for (size_t i = 0; i < d->limit && !d->sink.stopped; i++)
        put_node(d, i);
    close_side(d);
    put_edges(d, PLAIN);
    if (d->beside) {
        ct__put(&d->sink, saved_edges);
        put_edges(d, SAVED);
        ct__put(&d->sink, beside_edges);
        put_edges(d, BESIDE);
        ct__put(&d->sink, backward_edges);
        put_edges(d, CLIMBING);
        ct__put(&d->sink, onward_edges);
        put_edges(d, ONWARD);
    }
    put_notes(d);
    ct__put_trouble_note(d);
    ct__put(&d->sink, "}\n");
}

/* --- options --- */

struct ct_dot_options ct_dot_options_init(void) {
    return (struct ct_dot_options){.size = sizeof(struct ct_dot_options),
                                   .shapes = true,
                                   .dtypes = true,
                                   .attributes = true,
                                   .faults = true};
}

/* Whether a node stands in the picture by itself, or is the first of a folded scope. */
static bool is_drawn(const struct ct__drawing *d, size_t index) {
    const struct ct__node *node = &d->tape->nodes[index];
    uint32_t fold = ct__fold_of(d, node);
    return !ct__is_inlined(d, node) &&
           (fold == CT__NO_NODE || ct__folded(d, fold, ct__side_of(node))->first == index);
}

/* --- what stands beside the way of the backward pass --- */

/* A backward op of forward values and such alone, drawn by itself. What a backward pass began with is
   on the way, be it a number that is not drawn or a forward value; other numbers do not count. */
static bool stands_beside(const struct ct__drawing *d, size_t index) {
    const struct ct__node *node = &d->tape->nodes[index];
    const uint32_t *inputs = ct__inputs(d->tape, node);
    int drawn = 0;
    if (!node->backward || node->kind != CT__NODE_OP || is_folded(d, index))
        return false;
    for (int k = 0; k < node->inputs; k++) {
        const struct ct__node *input = &d->tape->nodes[inputs[k]];
        if (input->seed)
            return false;
        if (ct__is_inlined(d, input))
            continue;
        if (input->backward && !d->beside[inputs[k]])
            return false;
        drawn++;
    }
    return drawn > 0;
}

static bool find_beside(struct ct__drawing *d) {
    size_t first = 0;
    while (first < d->tape->length && !d->tape->nodes[first].backward)
        first++;
    if (first == d->tape->length)
        return true;
    d->beside = ct__alloc_zero(d->tape->length);
    for (size_t i = first; d->beside && i < d->tape->length; i++)
        d->beside[i] = stands_beside(d, i);
    return d->beside != NULL;
}

/* The first node that is left out when so many may be drawn. */
static size_t find_limit(const struct ct__drawing *d) {
    size_t drawn = 0, i = 0;
    if (d->options.max_nodes == 0)
        return d->tape->length;
    for (; i < d->tape->length; i++) {
        drawn += is_drawn(d, i);
        if (drawn > d->options.max_nodes)
            break;
    }
    return i;
}

static bool prepare(struct ct__drawing *d) {
    size_t scopes = d->tape->scope_length;
    d->path = ct__alloc(scopes * sizeof *d->path);
    d->labelled = ct__alloc_zero(scopes * sizeof *d->labelled);
    if (!d->path || !d->labelled || (d->options.faults && !ct__find_trouble(d)) ||
        !ct__plan_folds(d) || !find_beside(d))
        return false;
    d->limit = find_limit(d);
    return true;
}

static void drop(struct ct__drawing *d) {
    void *blocks[] = {d->path,     d->labelled,    d->trouble,    d->beside,
                      d->folds.as, d->folds.sides, d->pairs.slots};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        ct__free(blocks[i]);
}

ct_status ct_tape_dot(const ct_tape *tape, const struct ct_dot_options *options, ct_write_fn *write,
                      void *context) {
    if (!tape)
        return ct__fail_null_operand(__func__);
    if (!write)
        return ct__fail(CT_EINVAL, __func__, "there is no function to write with");
    struct ct__drawing d = {.sink = {.write = write, .context = context},
                            .tape = tape,
                            .options = ct_dot_options_init(),
                            .scope = CT__NO_NODE};
    ct_status status =
        ct__take_options(__func__, "ct_dot_options_init", &d.options, sizeof d.options, options);
    if (!status && d.options.fold_count > 0 && !d.options.fold_names)
        status = ct__fail(CT_EINVAL, __func__, "%zu names of scopes to fold stand at NULL",
                          d.options.fold_count);
    if (status)
        return status;
    bool ready = prepare(&d);
    if (ready)
        draw(&d);
    if (!ready || d.out_of_memory)
        status =
            ct__fail(CT_ENOMEM, __func__, "out of memory for a picture of %zu nodes in %zu scopes",
                     tape->length, tape->scope_length);
    else
        status = ct__sink_end(&d.sink, __func__);
    drop(&d);
    return status;
}
