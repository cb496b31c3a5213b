/* Searches a tape for values that are not finite. */

#include "autodiff/ct_anomaly.h"

#include "autodiff/tape_impl.h"
#include "tensor/fail.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK = 512 };

/* The place of the first of n parts that is not finite, or n. Parts are of the innermost type. */
static size_t first_not_finite(const ct_scalar *scalar, size_t n, const char *parts) {
    ct_loop_fn *loop = ct_scalar_loop(scalar, CT_OP_isfinite);
    unsigned char finite[BLOCK];
    for (size_t at = 0; loop && at < n; at += BLOCK) {
        size_t count = n - at < BLOCK ? n - at : BLOCK;
        char *ptr[] = {(char *)(uintptr_t)parts + at * scalar->size, (char *)finite};
        loop(scalar, CT_OP_isfinite, count, ptr, (const ptrdiff_t[]){(ptrdiff_t)scalar->size, 1});
        const unsigned char *bad = memchr(finite, 0, count);
        if (bad)
            return at + (size_t)(bad - finite);
    }
    return n;
}

/* A dense share of a node's value, or NULL where it has none that could be anything but finite;
   false where memory is gone. */
static bool open_value(const struct ct__node *node, ct_tensor **dense) {
    const ct_tensor *value = node->value;
    bool real = value && ct_dtype(value)->traits & CT_REAL && ct_count(value) > 0;
    *dense = real ? ct_compact(value) : NULL;
    return *dense || !real;
}

/* The first bad item of a dense value, or its count. */
static size_t search_value(const ct_tensor *dense) {
    const ct_scalar *scalar = ct_dtype(dense), *part = scalar;
    while (part->base)
        part = part->base;
    size_t parts = scalar->size / part->size;
    return first_not_finite(part, ct_count(dense) * parts, ct_data(dense)) / parts;
}

/* --- the sentence --- */

struct text {
    char *p;
    size_t size, at;
};

static void put(struct text *t, const char *piece) {
    int length = snprintf(t->p + t->at, t->size - t->at, "%s", piece);
    t->at += length > 0 ? (size_t)length : 0;
    if (t->at >= t->size)
        t->at = t->size - 1;
}

/* The index of item k of a tensor. */
static void index_of(const ct_tensor *t, size_t k, int64_t index[CT_MAX_RANK]) {
    for (int i = ct_rank(t) - 1; i >= 0; i--) {
        index[i] = (int64_t)(k % (size_t)ct_shape(t)[i]);
        k /= (size_t)ct_shape(t)[i];
    }
}

/* The item of an operand of an elementwise op that met item k of the result y: it has the shape of
   y, or one item. */
static const char *operand_at(const ct_tensor *x, const ct_tensor *y, size_t k) {
    int64_t index[CT_MAX_RANK], distance = 0;
    index_of(y, k, index);
    for (int i = 0; ct_rank(x) == ct_rank(y) && i < ct_rank(x); i++)
        distance += index[i] * ct_strides(x)[i];
    return (const char *)ct_data(x) + distance * (ptrdiff_t)ct_dtype(x)->size;
}

/* " at index [1, 2]", and nothing of rank 0. */
static void put_place(struct text *t, const ct_tensor *x, size_t k) {
    char text[CT__SHAPE_TEXT_BYTES];
    int64_t index[CT_MAX_RANK];
    index_of(x, k, index);
    ct__format_shape(text, sizeof text, ct_rank(x), index);
    put(t, ct_rank(x) ? " at index " : "");
    put(t, ct_rank(x) ? text : "");
}

static void put_operand(struct text *t, const ct_tensor *x, const ct_tensor *y, size_t k) {
    char item[96] = "a released value";
    if (x)
        ct_dtype(x)->format(ct_dtype(x), operand_at(x, y, k), item, sizeof item);
    put(t, item);
}

static void put_operands(struct text *t, const ct_tape *tape, const struct ct__node *node,
                         size_t k) {
    const ct_tensor *in[UINT8_MAX];
    const uint32_t *inputs = ct__inputs(tape, node);
    char shapes[256];
    if (node->kind != CT__NODE_OP)
        return;
    for (int i = 0; i < node->inputs; i++)
        in[i] = tape->nodes[inputs[i]].value;
    put(t, ", of ");
    if (ct__op_record(node->op)) {
        ct__describe_operands(shapes, sizeof shapes, node->inputs, in);
        put(t, shapes);
        return;
    }
    for (int i = 0; i < node->inputs; i++) {
        put(t, i ? " and " : "");
        put_operand(t, in[i], node->value, k);
    }
}

static void describe(const ct_tape *tape, size_t index, const ct_tensor *dense, size_t item,
                     struct ct_anomaly *found) {
    const struct ct__node *node = &tape->nodes[index];
    const ct_scalar *scalar = ct_dtype(dense);
    struct text t = {found->message, sizeof found->message, 0};
    char number[96], shape[CT__SHAPE_TEXT_BYTES], scope[CT__SCOPE_BYTES];
    const char *name = ct__node_name(tape, node);
    snprintf(number, sizeof number, "node %zu, %s", index,
             node->kind == CT__NODE_OP     ? ct__op_title(tape, node)
             : node->kind == CT__NODE_LEAF ? "leaf"
                                           : "constant");
    put(&t, number);
    put(&t, name ? " \"" : "");
    put(&t, name ? name : "");
    put(&t, name ? "\"" : "");
    ct__describe_scope(tape, node->scope, scope);
    put(&t, scope[0] ? " in " : "");
    put(&t, scope);
    put(&t, node->backward ? " (backward): " : ": ");
    scalar->format(scalar, (const char *)ct_data(dense) + item * scalar->size, number,
                   sizeof number);
    put(&t, number);
    put_place(&t, dense, item);
    ct__format_shape(shape, sizeof shape, ct_rank(dense), ct_shape(dense));
    put(&t, " of ");
    put(&t, scalar->name);
    put(&t, shape);
    put_operands(&t, tape, node, item);
}

static void report(const ct_tape *tape, size_t index, const ct_tensor *dense, size_t item,
                   struct ct_anomaly *found) {
    const struct ct__node *node = &tape->nodes[index];
    const ct_scalar *scalar = ct_dtype(dense);
    *found = (struct ct_anomaly){.node = index,
                                 .item = item,
                                 .is_input = node->kind != CT__NODE_OP,
                                 .backward = node->backward,
                                 .op = ct__is_custom(node) ? CT_OP_COUNT : (enum ct_op)node->op};
    found->value = scalar->to_double(scalar, (const char *)ct_data(dense) + item * scalar->size);
    describe(tape, index, dense, item, found);
}

/* --- the searches --- */

static bool check_arguments(const char *who, const ct_tape *tape, struct ct_anomaly *found) {
    if (!tape)
        ct__fail_null_operand(who);
    else if (!found)
        ct__fail(CT_EINVAL, who, "the place of the report is NULL");
    return tape && found;
}

/* The first bad item of a node; ct_count() of it where there is none. */
typedef size_t find_fn(const ct_tape *tape, const struct ct__node *node, const ct_tensor *dense);

static bool search(const char *who, const ct_tape *tape, size_t from, find_fn *find,
                   struct ct_anomaly *found) {
    if (!check_arguments(who, tape, found))
        return false;
    for (size_t i = from; i < tape->length; i++) {
        ct_tensor *dense;
        if (!open_value(&tape->nodes[i], &dense)) {
            ct__fail(CT_ENOMEM, who, "out of memory");
            return false;
        }
        size_t item = dense ? find(tape, &tape->nodes[i], dense) : 0;
        bool is_here = dense && item < ct_count(dense);
        if (is_here)
            report(tape, i, dense, item, found);
        ct_free(dense);
        if (is_here)
            return true;
    }
    return false;
}

static size_t not_finite(const ct_tape *tape, const struct ct__node *node, const ct_tensor *dense) {
    (void)tape, (void)node;
    return search_value(dense);
}

bool ct_tape_anomaly(const ct_tape *tape, size_t from, struct ct_anomaly *found) {
    return search(__func__, tape, from, not_finite, found);
}

static size_t absorbed(const ct_tape *tape, const struct ct__node *node, const ct_tensor *dense) {
    const ct_tensor *a, *b;
    size_t count = ct_count(dense);
    if (node->kind != CT__NODE_OP || node->op != CT_OP_smul)
        return count;
    a = tape->nodes[node->in[0]].value;
    b = tape->nodes[node->in[1]].value;
    for (size_t k = 0; a && b && k < count; k++) {
        double x = ct_dtype(a)->to_double(ct_dtype(a), operand_at(a, dense, k));
        double z = ct_dtype(b)->to_double(ct_dtype(b), operand_at(b, dense, k));
        if ((x == 0 && !isfinite(z)) || (z == 0 && !isfinite(x)))
            return k;
    }
    return count;
}

bool ct_tape_absorbed(const ct_tape *tape, size_t from, struct ct_anomaly *found) {
    return search(__func__, tape, from, absorbed, found);
}
