/* Searches a tape for values that are not finite. */

#include "autodiff/ct_anomaly.h"

#include "autodiff/label.h"
#include "tensor/alloc.h"
#include "tensor/fail.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- the sentence --- */

/* As far as there is room. */
struct text {
    char *p;
    size_t size, at;
};

static bool put_piece(void *context, const char *piece, size_t length) {
    struct text *t = context;
    size_t room = t->size - 1 - t->at;
    length = length < room ? length : room;
    memcpy(t->p + t->at, piece, length);
    t->at += length;
    t->p[t->at] = '\0';
    return true;
}

static void put(struct text *t, const char *piece) {
    put_piece(t, piece, strlen(piece));
}

/* The item of an operand of an elementwise op that met item k of the result y: it has the shape of
   y, or one item. */
static const char *operand_at(const ct_tensor *x, const ct_tensor *y, size_t k) {
    return ct__item_at(x, ct_rank(x) == ct_rank(y) ? k : 0);
}

/* " at index [1, 2]", and nothing of rank 0. */
static void put_operand(struct text *t, const ct_tensor *x, const ct_tensor *y, size_t k) {
    char item[96] = "a released value";
    if (x)
        ct_dtype(x)->format(ct_dtype(x), operand_at(x, y, k), item, sizeof item);
    put(t, item);
}

/* " (-1 to 2)": an operand of a structured op, of which any item may have met the result. */
static void put_range(struct text *t, const ct_tensor *x) {
    struct ct__summary summary;
    struct ct__sink sink = {.write = put_piece, .context = t};
    if (ct_count(x) == 0)
        return;
    ct__summarise(x, &summary);
    ct__put(&sink, " (");
    if (summary.nans + summary.infinities > 0)
        ct__put_trouble(&sink, &summary);
    else
        ct__put_range(&sink, &summary);
    ct__put(&sink, ")");
    ct__sink_end(&sink, __func__);
}

static void put_shaped(struct text *t, const ct_tensor *x) {
    char shape[256];
    ct__describe_operands(shape, sizeof shape, 1, &x);
    put(t, shape);
    if (x)
        put_range(t, x);
}

static void put_operands(struct text *t, const ct_tape *tape, const struct ct__node *node,
                         size_t k) {
    bool structured = node->kind == CT__NODE_OP && ct__op_record(node->op);
    const uint32_t *inputs = ct__inputs(tape, node);
    for (int i = 0; node->kind == CT__NODE_OP && i < node->inputs; i++) {
        const ct_tensor *x = tape->nodes[inputs[i]].value;
        put(t, i == 0 ? ", of " : structured ? ", " : " and ");
        if (structured)
            put_shaped(t, x);
        else
            put_operand(t, x, node->value, k);
    }
}

/* `node 7, log "logs" in model/head` */
static void put_node(struct text *t, const ct_tape *tape, size_t index) {
    const struct ct__node *node = &tape->nodes[index];
    char number[96], scope[CT__SCOPE_BYTES];
    const char *name = ct__node_name(tape, node);
    snprintf(number, sizeof number, "node %zu, %s", index,
             node->kind == CT__NODE_OP     ? ct__op_title(tape, node)
             : node->kind == CT__NODE_LEAF ? "leaf"
                                           : "constant");
    put(t, number);
    put(t, name ? " \"" : "");
    put(t, name ? name : "");
    put(t, name ? "\"" : "");
    ct__describe_scope(tape, node->scope, scope);
    put(t, scope[0] ? " in " : "");
    put(t, scope);
}

static void describe(const ct_tape *tape, size_t index, size_t item, struct ct_anomaly *found) {
    const struct ct__node *node = &tape->nodes[index];
    const ct_tensor *value = node->value;
    const ct_scalar *scalar = ct_dtype(value);
    struct text t = {found->message, sizeof found->message, 0};
    char number[96], shape[CT__SHAPE_TEXT_BYTES], place[CT__AT_INDEX_BYTES];
    put_node(&t, tape, index);
    if (node->backward && found->primal != SIZE_MAX) {
        put(&t, " (backward, of ");
        put_node(&t, tape, found->primal);
        put(&t, ")");
    } else
        put(&t, node->backward ? " (backward)" : "");
    put(&t, ": ");
    scalar->format(scalar, ct__item_at(value, item), number, sizeof number);
    put(&t, number);
    put(&t, ct__at_index(place, ct_rank(value), ct_shape(value), item));
    ct__format_shape(shape, sizeof shape, ct_rank(value), ct_shape(value));
    put(&t, " of ");
    put(&t, scalar->name);
    put(&t, shape);
    put_operands(&t, tape, node, item);
}

static void report(const ct_tape *tape, size_t index, size_t item, struct ct_anomaly *found) {
    const struct ct__node *node = &tape->nodes[index];
    const ct_scalar *scalar = ct_dtype(node->value);
    *found = (struct ct_anomaly){.node = index,
                                 .item = item,
                                 .is_input = node->kind != CT__NODE_OP,
                                 .backward = node->backward,
                                 .op = ct__is_custom(node) ? CT_OP_COUNT : (enum ct_op)node->op,
                                 .primal = node->primal < tape->length ? node->primal : SIZE_MAX};
    found->value = scalar->to_double(scalar, ct__item_at(node->value, item));
    describe(tape, index, item, found);
}

/* --- the searches --- */

static bool check_arguments(const char *who, const ct_tape *tape, struct ct_anomaly *found) {
    if (!tape)
        ct__fail_null_operand(who);
    else if (!found)
        ct__fail(CT_EINVAL, who, "the place of the report is NULL");
    return tape && found;
}

/* The first bad item of a node's value of real numbers; ct_count() of it where there is none. */
typedef size_t find_fn(const ct_tape *tape, const struct ct__node *node);

/* From node `from` on, but for those that are `passed` over. */
static bool search(const ct_tape *tape, size_t from, find_fn *find, const uint8_t *passed,
                   struct ct_anomaly *found) {
    for (size_t i = from; i < tape->length; i++) {
        const struct ct__node *node = &tape->nodes[i];
        if (!node->value || !(ct_dtype(node->value)->traits & CT_REAL) || (passed && passed[i]))
            continue;
        size_t item = find(tape, node);
        if (item < ct_count(node->value)) {
            report(tape, i, item, found);
            return true;
        }
    }
    return false;
}

static size_t not_finite(const ct_tape *tape, const struct ct__node *node) {
    (void)tape;
    return ct_first_not_finite(node->value);
}

bool ct_tape_anomaly(const ct_tape *tape, size_t from, struct ct_anomaly *found) {
    uint8_t *meant;
    if (!check_arguments(__func__, tape, found))
        return false;
    if (!ct__find_meant(tape, &meant)) {
        ct__fail(CT_ENOMEM, __func__, "out of memory for the infinities that are meant");
        return false;
    }
    bool is_there = search(tape, from, not_finite, meant, found);
    ct__free(meant);
    return is_there;
}

static size_t absorbed(const ct_tape *tape, const struct ct__node *node) {
    const ct_tensor *a, *b;
    size_t count = ct_count(node->value);
    if (node->kind != CT__NODE_OP || node->op != CT_OP_smul)
        return count;
    a = tape->nodes[node->in[0]].value;
    b = tape->nodes[node->in[1]].value;
    for (size_t k = 0; a && b && k < count; k++) {
        double x = ct_dtype(a)->to_double(ct_dtype(a), operand_at(a, node->value, k));
        double z = ct_dtype(b)->to_double(ct_dtype(b), operand_at(b, node->value, k));
        if ((x == 0 && !isfinite(z)) || (z == 0 && !isfinite(x)))
            return k;
    }
    return count;
}

bool ct_tape_absorbed(const ct_tape *tape, size_t from, struct ct_anomaly *found) {
    return check_arguments(__func__, tape, found) && search(tape, from, absorbed, NULL, found);
}
