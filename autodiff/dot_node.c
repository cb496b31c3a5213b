/* The attributes of one node of the picture: its label and its tooltip. */

#include "autodiff/dot_impl.h"

static const char leaf_style[] =
    "style=\"rounded,filled\", color=\"#b7791f\", fillcolor=\"#fdf1d6\"";
static const char constant_style[] =
    "style=\"rounded,filled\", color=\"#718096\", fillcolor=\"#eef1f5\"";
static const char small_print[] = "<FONT POINT-SIZE=\"9\" COLOR=\"#556070\">";

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

bool ct__is_folded(const struct ct__drawing *d, const struct ct__node *node) {
    return !d->options.constants && ct__is_number(node);
}

/* --- labels --- */

static void put_operand(struct ct__drawing *d, uint32_t index) {
    const struct ct__node *node = &d->tape->nodes[index];
    const char *name = ct__node_name(d->tape, node);
    if (!ct__is_folded(d, node))
        ct__put(&d->sink, "·");
    else if (name && *name)
        ct__put_text(&d->sink, CT__HTML, name);
    else
        ct__put_item(&d->sink, CT__HTML, node->value);
}

/* Below the op's name `1 − ·`, or after it `(·, 2)`: where the folded constants stand. */
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

static bool has_folded_input(const struct ct__drawing *d, const struct ct__node *node) {
    const uint32_t *inputs = ct__inputs(d->tape, node);
    for (int i = 0; i < node->inputs; i++)
        if (ct__is_folded(d, &d->tape->nodes[inputs[i]]))
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
    if (has_folded_input(d, node))
        put_operands(d, node);
    if (name && *name) {
        ct__put(s, "<BR/>");
        put_tagged(s, "I", name);
    }
}

static void put_label(struct ct__drawing *d, const struct ct__node *node) {
    struct ct__sink *s = &d->sink;
    ct__put(s, "label=<");
    put_heading(d, node);
    if (!node->value || d->options.dtypes || d->options.shapes) {
        ct__put(s, "<BR/>");
        ct__put(s, small_print);
        ct__put_type(s, CT__HTML, node->value, d->options.dtypes, d->options.shapes);
        ct__put(s, "</FONT>");
    }
    ct__put(s, ">");
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
    put_label(d, node);
    if (node->kind != CT__NODE_OP) {
        ct__put(&d->sink, ", ");
        ct__put(&d->sink, node->kind == CT__NODE_LEAF ? leaf_style : constant_style);
    }
    put_tooltip(d, index);
}
