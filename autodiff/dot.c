/* A tape in Graphviz's language.

   The tape is walked once for the nodes and once for each kind of edge, so nothing is gathered. A
   cluster that was closed is entered again by its name: Graphviz takes a subgraph of the same name
   in the same parent as the same one. Edges stand outside all clusters, since an edge inside one
   would pull both its ends in.

   The forward pass runs down the page and the backward pass climbs up beside it, so that each
   gradient stands level with what it is the gradient of: dot ranks the tail of an edge above its
   head, so the edges into backward nodes are written from the user to its input, with dir=back. */

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

/* What the backward pass reads of the forward one; the backward pass; what is computed on from a
   gradient, which must not turn the page's order round. */
static const char saved_edges[] = "edge [color=\"#a3aebb\", style=dashed, dir=back, minlen=0];\n";
static const char backward_edges[] = "edge [color=\"#a8527d\", style=solid, minlen=1];\n";
static const char onward_edges[] = "edge [dir=forward, constraint=false];\n";

/* --- clusters --- */

/* The scope in which a node is drawn: a backward node outside all scopes joins those of the op
   whose pull recorded it. */
static uint32_t scope_of(const ct_tape *tape, const struct ct__node *node) {
    bool follow = node->backward && node->scope == CT__NO_NODE && node->primal < tape->length;
    return follow ? tape->nodes[node->primal].scope : node->scope;
}

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

static void put_node(struct ct__drawing *d, size_t index) {
    struct ct__sink *s = &d->sink;
    const struct ct__node *node = &d->tape->nodes[index];
    if (ct__is_folded(d, node))
        return;
    move_to(d, node->backward ? CT__BACKWARD : CT__FORWARD, scope_of(d->tape, node));
    ct__put(s, "n");
    ct__put_number(s, (int64_t)index);
    ct__put(s, " [");
    ct__put_attributes(d, index);
    ct__put(s, "];\n");
}

static void put_edge(struct ct__sink *s, size_t tail, size_t head) {
    ct__put(s, "n");
    ct__put_number(s, (int64_t)tail);
    ct__put(s, " -> n");
    ct__put_number(s, (int64_t)head);
    ct__put(s, ";\n");
}

/* The edges into one node from one side; a node used twice has two. */
static void put_edges(struct ct__drawing *d, size_t index, bool from_backward) {
    const struct ct__node *node = &d->tape->nodes[index];
    const uint32_t *inputs = ct__inputs(d->tape, node);
    for (int i = 0; i < node->inputs; i++) {
        size_t input = inputs[i];
        bool is_drawn = !ct__is_folded(d, &d->tape->nodes[input]);
        if (!is_drawn || d->tape->nodes[input].backward != from_backward)
            continue;
        if (node->backward)
            put_edge(&d->sink, index, input);
        else
            put_edge(&d->sink, input, index);
    }
}

static void put_all_edges(struct ct__drawing *d, bool from_backward, bool to_backward) {
    for (size_t i = 0; i < d->limit && !d->sink.stopped; i++)
        if (d->tape->nodes[i].kind == CT__NODE_OP && d->tape->nodes[i].backward == to_backward)
            put_edges(d, i, from_backward);
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

static void put_title(struct ct__drawing *d) {
    if (!d->options.title)
        return;
    ct__put(&d->sink, "labelloc=t; label=\"");
    ct__put_text(&d->sink, CT__QUOTED, d->options.title);
    ct__put(&d->sink, "\";\n");
}

static void draw(struct ct__drawing *d) {
    ct__put(&d->sink, header);
    put_title(d);
    for (size_t i = 0; i < d->limit && !d->sink.stopped; i++)
        put_node(d, i);
    close_side(d);
    put_all_edges(d, false, false);
    ct__put(&d->sink, saved_edges);
    put_all_edges(d, false, true);
    ct__put(&d->sink, backward_edges);
    put_all_edges(d, true, true);
    ct__put(&d->sink, onward_edges);
    put_all_edges(d, true, false);
    put_notes(d);
    ct__put(&d->sink, "}\n");
}

/* --- options --- */

struct ct_dot_options ct_dot_options_init(void) {
    return (struct ct_dot_options){
        .size = sizeof(struct ct_dot_options), .shapes = true, .dtypes = true};
}

/* The first node that is left out when so many may be drawn. */
static size_t find_limit(const struct ct__drawing *d) {
    size_t drawn = 0, i = 0;
    if (d->options.max_nodes == 0)
        return d->tape->length;
    for (; i < d->tape->length; i++) {
        drawn += !ct__is_folded(d, &d->tape->nodes[i]);
        if (drawn > d->options.max_nodes)
            break;
    }
    return i;
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
    if (status)
        return status;
    d.limit = find_limit(&d);
    size_t scopes = tape->scope_length;
    d.path = ct__alloc(scopes * sizeof *d.path);
    d.labelled = ct__alloc_zero(scopes * sizeof *d.labelled);
    status = CT_ENOMEM;
    if (d.path && d.labelled) {
        draw(&d);
        status = ct__sink_end(&d.sink, __func__);
    } else {
        ct__fail(status, __func__, "out of memory for the paths of %zu scopes", scopes);
    }
    ct__free(d.path);
    ct__free(d.labelled);
    return status;
}
