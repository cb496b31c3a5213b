/* The attributes of one node of the picture: its label and its tooltip. */

#include "autodiff/dot_impl.h"

/* A piece of text of its own, since viewers of SVG drop the spaces at the ends of one. */
static const char space_between[] = "<I> </I>";
static const char small_print[] = "<FONT POINT-SIZE=\"9\" COLOR=\"#556070\">";
static const char gradient_print[] = "<FONT POINT-SIZE=\"9\" COLOR=\"#97266d\">";
static const char fault_print[] = "<FONT POINT-SIZE=\"9\" COLOR=\"#9b2c2c\">";

/* What is written between two operands instead of call brackets. */
static const char *infix(enum ct_op op) {
    switch (op) {
    case CT_OP_add:
        return " + ";
    case CT_OP_sub:
        return " − ";
    case CT_OP_mul:
    case CT_OP_smul:
        return " × ";
    case CT_OP_div:
        return " / ";
    case CT_OP_equal:
        return " = ";
    case CT_OP_not_equal:
        return " ≠ ";
    case CT_OP_less:
        return " < ";
    case CT_OP_less_equal:
        return " ≤ ";
    case CT_OP_greater:
        return " > ";
    case CT_OP_greater_equal:
        return " ≥ ";
    default:
        return NULL;
    }
}

bool ct__is_inlined(const struct ct__drawing *d, const struct ct__node *node) {
    size_t index = (size_t)(node - d->tape->nodes);
    return !d->options.constants && ct__is_number(node) && !ct__at_fault(ct__trouble_at(d, index));
}

/* --- labels --- */

static void put_operand(struct ct__drawing *d, uint32_t index) {
    const struct ct__node *node = &d->tape->nodes[index];
    const char *name = ct__node_name(d->tape, node);
    if (!ct__is_inlined(d, node))
        ct__put(&d->sink, "·");
    else if (name && *name)
        ct__put_text(&d->sink, CT__HTML, name);
    else
        ct__put_item(&d->sink, CT__HTML, node->value);
}

/* Below the op's name `1 − ·`, or after it `(·, 2)`: where the inlined constants stand. */
static void put_operands(struct ct__drawing *d, const struct ct__node *node) {
    const char *between = node->inputs == 2 ? infix((enum ct_op)node->op) : NULL;
    const uint32_t *inputs = ct__inputs(d->tape, node);
    ct__put(&d->sink, between ? "<BR/>" : "(");
    for (int i = 0; i < node->inputs; i++) {
        if (i > 0)
            ct__put_text(&d->sink, CT__HTML, between ? between : ", ");
        put_operand(d, inputs[i]);
    }
    if (!between)
        ct__put(&d->sink, ")");
}

static bool has_inlined_input(const struct ct__drawing *d, const struct ct__node *node) {
    const uint32_t *inputs = ct__inputs(d->tape, node);
    for (int i = 0; i < node->inputs; i++)
        if (ct__is_inlined(d, &d->tape->nodes[inputs[i]]))
            return true;
    return false;
}

/* An empty pair of tags is a syntax error in Graphviz's labels. */
static void put_tagged(struct ct__sink *s, const char *tag, const char *text) {
    if (!*text)
        return;
    const char *const before[] = {"<", tag, ">"}, *const after[] = {"</", tag, ">"};
    for (int i = 0; i < 3; i++)
        ct__put(s, before[i]);
    ct__put_text(s, CT__HTML, text);
    for (int i = 0; i < 3; i++)
        ct__put(s, after[i]);
}

/* An op is headed by the op, what is given by its name. */
static void put_heading(struct ct__drawing *d, const struct ct__node *node) {
    struct ct__sink *s = &d->sink;
    const char *name = ct__node_name(d->tape, node);
    if (node->kind != CT__NODE_OP) {
        put_tagged(s, "B", name ? name : node->kind == CT__NODE_LEAF ? "leaf" : "constant");
        if (ct__is_number(node)) {
            ct__put(s, "<BR/>");
            ct__put_item(s, CT__HTML, node->value);
        }
        return;
    }
    put_tagged(s, "B", ct__op_title(d->tape, node));
    if (d->options.attributes)
        ct__put_attribute(s, space_between, d->tape, node);
    if (has_inlined_input(d, node))
        put_operands(d, node);
    if (name && *name) {
        ct__put(s, "<BR/>");
        put_tagged(s, "I", name);
    }
}

static void begin_line(struct ct__sink *s, const char *print) {
    ct__put(s, "<BR/>");
    ct__put(s, print);
}

static void put_gradient(struct ct__drawing *d, size_t index) {
    uint32_t gradient = ct__gradient_of(d->tape, index);
    const ct_tensor *value = gradient == CT__NO_NODE ? NULL : d->tape->nodes[gradient].value;
    if (!value)
        return;
    begin_line(&d->sink, gradient_print);
    ct__put(&d->sink, "|gradient| ");
    ct__put_short(&d->sink, ct__length_of(value));
    ct__put(&d->sink, "</FONT>");
}

/* `op` is whose fault it is, where that is not the node that is drawn. */
static void put_fault(struct ct__drawing *d, const struct ct__summary *summary, const char *op) {
    begin_line(&d->sink, fault_print);
    if (op) {
        ct__put_text(&d->sink, CT__HTML, op);
        ct__put(&d->sink, ": ");
    }
    ct__put_trouble(&d->sink, summary);
    ct__put(&d->sink, "</FONT>");
}

/* Lines about the value of a node and its gradient. */
static void put_numbers(struct ct__drawing *d, size_t index) {
    struct ct__sink *s = &d->sink;
    const struct ct__node *node = &d->tape->nodes[index];
    bool fault = ct__at_fault(ct__trouble_at(d, index));
    struct ct__summary summary = {0};
    if (node->value && (d->options.values || fault))
        ct__summarise(node->value, &summary);
    bool has_finite = summary.items > summary.nans + summary.infinities;
    if (d->options.values && has_finite && !ct__is_number(node)) {
        begin_line(s, small_print);
        ct__put_summary(s, CT__HTML, &summary, "<BR/>");
        ct__put(s, "</FONT>");
    }
    if (fault)
        put_fault(d, &summary, NULL);
    if (d->options.gradients)
        put_gradient(d, index);
}

static void put_type_line(struct ct__drawing *d, const struct ct__node *node) {
    struct ct__sink *s = &d->sink;
    if (node->value && !d->options.dtypes && !d->options.shapes)
        return;
    begin_line(s, small_print);
    ct__put_type(s, CT__HTML, node->value, d->options.dtypes, d->options.shapes);
    ct__put(s, "</FONT>");
}

static void put_label(struct ct__drawing *d, size_t index) {
    const struct ct__node *node = &d->tape->nodes[index];
    ct__put(&d->sink, "label=<");
    put_heading(d, node);
    put_type_line(d, node);
    put_numbers(d, index);
    ct__put(&d->sink, ">");
}

/* --- styles --- */

struct style {
    const char *color, *fill, *width;
};
static const struct style leaf_style = {"#b7791f", "#fdf1d6", NULL},
                          constant_style = {"#718096", "#eef1f5", NULL};
static const struct style fault_styles[] = {
    [CT__LEADS] = {"#c53030", NULL, "1.6"},
    [CT__GIVEN] = {"#c53030", "#fed7d7", "3"},
    [CT__ARISES] = {"#c53030", "#fed7d7", "3"},
    [CT__SPREADS] = {"#c53030", "#fff0f0", "1.6"},
};

static void put_quoted(struct ct__sink *s, const char *name, const char *value) {
    if (!value)
        return;
    ct__put(s, ", ");
    ct__put(s, name);
    ct__put(s, "=\"");
    ct__put(s, value);
    ct__put(s, "\"");
}

/* What differs from the style of the cluster. */
static void put_style(struct ct__sink *s, bool is_input, const struct style *own,
                      enum ct__trouble trouble) {
    struct style style = own ? *own : (struct style){NULL, NULL, NULL};
    if (trouble != CT__SOUND) {
        const struct style *fault = &fault_styles[trouble];
        style.color = fault->color;
        style.fill = fault->fill ? fault->fill : style.fill;
        style.width = fault->width;
    }
    if (is_input)
        put_quoted(s, "style", trouble == CT__LEADS ? "rounded,filled,dashed" : "rounded,filled");
    else if (trouble == CT__LEADS)
        put_quoted(s, "style", "filled,dashed");
    put_quoted(s, "color", style.color);
    put_quoted(s, "fillcolor", style.fill);
    put_quoted(s, "penwidth", style.width);
}

/* --- tooltips --- */

static void put_line(struct ct__sink *s, const char *head, const char *text) {
    if (!text)
        return;
    ct__put(s, "\\n");
    ct__put(s, head);
    ct__put_text(s, CT__QUOTED, text);
}

/* What the table says of an op: its sentence, its value and its pulls. */
static void put_formulas(struct ct__sink *s, enum ct_op op, int inputs) {
    static const char *const heads[CT__MAX_INPUTS] = {"pull X: ", "pull Z: ", "pull W: ", "pull: "};
    const struct ct__op_record *record = ct__op_record(op);
    put_line(s, "", ct_op_doc(op));
    put_line(s, "value: ", ct_op_value_text(op));
    for (int i = 0; i < inputs && i < CT__MAX_INPUTS; i++)
        put_line(s, heads[i], record ? record->pull_text[i] : ct_op_pull_text(op, i));
}

static void put_tooltip(struct ct__drawing *d, size_t index) {
    struct ct__sink *s = &d->sink;
    const struct ct__node *node = &d->tape->nodes[index];
    ct__put(s, ", tooltip=\"");
    ct__put_number(s, (int64_t)index);
    ct__put(s, " ");
    ct__put_call(s, CT__QUOTED, d->tape, node);
    if (node->value) {
        ct__put(s, ", ");
        ct__put_number(s, (int64_t)(ct_count(node->value) * ct_dtype(node->value)->size));
        ct__put(s, " bytes");
    }
    if (ct__is_custom(node))
        put_line(s, "", ct__custom_doc(d->tape, node));
    else if (node->kind == CT__NODE_OP)
        put_formulas(s, (enum ct_op)node->op, node->inputs);
    if (node->primal != CT__NO_NODE && node->primal < d->tape->length) {
        ct__put(s, "\\nrecorded by the pull of ");
        ct__put_number(s, node->primal);
        ct__put(s, " ");
        ct__put_call(s, CT__QUOTED, d->tape, &d->tape->nodes[node->primal]);
    }
    ct__put(s, "\"");
}

void ct__put_attributes(struct ct__drawing *d, size_t index) {
    const struct ct__node *node = &d->tape->nodes[index];
    const struct style *style = node->kind == CT__NODE_LEAF       ? &leaf_style
                                : node->kind == CT__NODE_CONSTANT ? &constant_style
                                                                  : NULL;
    put_label(d, index);
    put_style(&d->sink, style != NULL, style, ct__trouble_at(d, index));
    put_tooltip(d, index);
}

/* --- folded scopes --- */

static void put_count(struct ct__sink *s, uint32_t nodes) {
    ct__put_number(s, nodes);
    ct__put(s, nodes == 1 ? " node" : " nodes");
}

/* The fault of a folded scope is its first, unless its last node shows one of its own. */
static void put_folded_label(struct ct__drawing *d, uint32_t scope, const struct ct__folded *f) {
    struct ct__sink *s = &d->sink;
    ct__put(s, "label=<");
    put_tagged(s, "B", d->tape->text + d->tape->scopes[scope].name);
    begin_line(s, small_print);
    put_count(s, f->nodes);
    ct__put(s, "</FONT>");
    put_type_line(d, &d->tape->nodes[f->last]);
    put_numbers(d, f->last);
    if (f->troubled != CT__NO_NODE && f->troubled != f->last) {
        const struct ct__node *node = &d->tape->nodes[f->troubled];
        struct ct__summary summary;
        ct__summarise(node->value, &summary);
        put_fault(d, &summary, node->kind == CT__NODE_OP ? ct__op_title(d->tape, node) : "input");
    }
    ct__put(s, ">");
}

void ct__put_folded(struct ct__drawing *d, uint32_t scope, enum ct__side side) {
    struct ct__sink *s = &d->sink;
    const struct ct__folded *f = ct__folded(d, scope, side);
    put_folded_label(d, scope, f);
    ct__put(s, ", peripheries=2");
    put_style(s, false, NULL,
              f->troubled == CT__NO_NODE ? CT__SOUND : ct__trouble_at(d, f->troubled));
    ct__put(s, ", tooltip=\"");
    ct__put_number(s, f->first);
    ct__put(s, " to ");
    ct__put_number(s, f->last);
    ct__put(s, ": ");
    put_count(s, f->nodes);
    ct__put(s, side == CT__BACKWARD ? " of the backward pass of scope " : " of scope ");
    ct__put_text(s, CT__QUOTED, d->tape->text + d->tape->scopes[scope].name);
    ct__put(s, "\"");
}
