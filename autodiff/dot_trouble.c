/* What is not finite, in a picture: where it arises, what led there, and the way on which it spreads. */

#include "autodiff/ct_anomaly.h"
#include "autodiff/dot_impl.h"

#include "tensor/alloc.h"

#include <string.h>

static bool has_input_at_fault(const struct ct__drawing *d, const struct ct__node *node) {
    const uint32_t *inputs = ct__inputs(d->tape, node);
    for (int i = 0; i < node->inputs; i++)
        if (ct__at_fault((enum ct__trouble)d->trouble[inputs[i]]))
            return true;
    return false;
}

static enum ct__trouble judge(const struct ct__drawing *d, const uint8_t *meant, size_t i) {
    const struct ct__node *node = &d->tape->nodes[i];
    if (!ct__is_fault(d->tape, meant, i))
        return CT__SOUND;
    if (node->kind != CT__NODE_OP)
        return CT__GIVEN;
    return has_input_at_fault(d, node) ? CT__SPREADS : CT__ARISES;
}

/* Marks nodes from the first fault on; false without memory. */
static bool mark(struct ct__drawing *d, const uint8_t *meant) {
    const struct ct__node *first = &d->tape->nodes[d->first_fault];
    const uint32_t *inputs = ct__inputs(d->tape, first);
    d->trouble = ct__alloc_zero(d->tape->length);
    if (!d->trouble)
        return false;
    for (size_t i = d->first_fault; i < d->tape->length; i++)
        d->trouble[i] = (uint8_t)judge(d, meant, i);
    for (int k = 0; k < first->inputs; k++)
        d->trouble[inputs[k]] = CT__LEADS;
    return true;
}

bool ct__find_trouble(struct ct__drawing *d) {
    uint8_t *meant;
    size_t i = 0;
    if (!ct__find_meant(d->tape, &meant))
        return false;
    while (i < d->tape->length && !ct__is_fault(d->tape, meant, i))
        i++;
    d->first_fault = i;
    bool done = i == d->tape->length || mark(d, meant);
    ct__free(meant);
    return done;
}

/* A folded scope is at fault where a node in it is. */
static bool is_seen_at_fault(const struct ct__drawing *d, size_t index) {
    const struct ct__node *node = &d->tape->nodes[index];
    uint32_t scope = ct__fold_of(d, node);
    if (scope == CT__NO_NODE)
        return ct__at_fault(ct__trouble_at(d, index));
    return ct__folded(d, scope, ct__side_of(node))->troubled != CT__NO_NODE;
}

const char *ct__edge_trouble(const struct ct__drawing *d, size_t from, size_t to) {
    if (!d->trouble || !is_seen_at_fault(d, to))
        return "";
    if (is_seen_at_fault(d, from))
        return " [color=\"#c53030\", penwidth=2.4]";
    bool leads =
        ct__trouble_at(d, from) == CT__LEADS && ct__end_of(d, to) == ct__end_of(d, d->first_fault);
    return leads ? " [color=\"#c53030\", penwidth=1.4, style=dashed]" : "";
}

/* Lines of about this many characters. */
enum { LINE = 46 };

/* The characters of an index or a shape, but for the last bracket; 0 where none begins. */
static size_t bracketed(const char *text) {
    size_t inside = *text == '[' ? 1 + strspn(text + 1, "0123456789, ") : 0;
    return text[inside] == ']' ? inside : 0;
}

/* Breaks at spaces, though not within an index or a shape. */
static void wrap(char *text) {
    size_t length = 0;
    for (char *at = text; *at; at++) {
        size_t whole = bracketed(at);
        at += whole;
        length = *at == '\n' ? 0 : length + 1 + whole;
        if (*at == ' ' && length > LINE) {
            *at = '\n';
            length = 0;
        }
    }
}

/* Among the nodes of its pass, above the one that it is about. */
void ct__put_trouble_note(struct ct__drawing *d) {
    struct ct__sink *s = &d->sink;
    struct ct_anomaly found;
    if (!d->trouble || d->first_fault >= d->limit ||
        !ct_tape_anomaly(d->tape, d->first_fault, &found))
        return;
    bool backward = d->tape->nodes[d->first_fault].backward;
    wrap(found.message);
    ct__put(s, backward ? "subgraph cluster_backward {\n" : "subgraph cluster_forward {\n");
    ct__put(s, "first_fault [shape=note, label=\"the first that is not finite\\n");
    ct__put_text(s, CT__QUOTED, found.message);
    ct__put(s, "\", color=\"#c53030\", fillcolor=\"#ffffff\", fontcolor=\"#9b2c2c\"];\n}\n");
    ct__put(s, "first_fault -> ");
    ct__put_end(s, ct__end_of(d, d->first_fault));
    ct__put(s, " [dir=none, style=dotted, color=\"#c53030\", constraint=true];\n");
}
