/* Reverse mode: the backward pass is appended to the tape as named ops. */

#include "autodiff/tape_impl.h"

#include "tensor/alloc.h"
#include "tensor/fail.h"

#include <string.h>

ct_var ct__flat(void) {
    return (ct_var){NULL, CT__NO_NODE, 1};
}

bool ct__is_flat(ct_var v) {
    return !v.tape && v.index == CT__NO_NODE && v.generation == 1;
}

/* Scratch of one sweep: per node up to y, the node of its cotangent and whether it leads to an x.
   It belongs to the tape and is kept for the next call; pictures read the cotangents in it. */
static bool prepare(ct_tape *tape, size_t nodes) {
    tape->graded = 0;
    if (nodes > tape->sweep_capacity) {
        size_t wanted = nodes + nodes / 2;
        uint32_t *sweep = ct__realloc(tape->sweep, wanted * sizeof *sweep);
        if (sweep)
            tape->sweep = sweep;
        uint8_t *marks = ct__realloc(tape->wanted, wanted);
        if (marks)
            tape->wanted = marks;
        if (!sweep || !marks)
            return false;
        tape->sweep_capacity = wanted;
    }
    memset(tape->sweep, 0xff, nodes * sizeof *tape->sweep); /* CT__NO_NODE everywhere */
    memset(tape->wanted, 0, nodes);
    return true;
}

/* Marks the nodes through which a path leads from an x to y; returns the first of them. */
static size_t mark_wanted(ct_tape *tape, size_t nodes, size_t n, const ct_var *x) {
    size_t first = nodes;
    for (size_t i = 0; i < n; i++) {
        if (x[i].index >= nodes || tape->nodes[x[i].index].kind == CT__NODE_CONSTANT)
            continue; /* nothing flows to a constant: its gradient is zeros */
        tape->wanted[x[i].index] = 1;
        if (x[i].index < first)
            first = x[i].index;
    }
    for (size_t i = first; i < nodes; i++) {
        const struct ct__node *node = &tape->nodes[i];
        const uint32_t *in = ct__inputs(tape, node);
        for (int k = 0; k < node->inputs && !tape->wanted[i]; k++)
            tape->wanted[i] = tape->wanted[in[k]];
    }
    return first;
}

static ct_var var_at(ct_tape *tape, uint32_t index) {
    return (ct_var){tape, index, tape->nodes[index].generation};
}

/* Zeros or ones of a variable's type and shape, by zero strides. */
static ct_var constant_like(ct_var like, double value) {
    const ct_tensor *t = like.tape->nodes[like.index].value;
    ct_var k = ct_constant_of(like.tape, ct_dtype(t), value);
    return ct_rank(t) == 0 ? k : ct_var_broadcast_to(k, ct_rank(t), ct_shape(t));
}

/* Adds a contribution to the cotangent of a node. */
static bool accumulate(ct_tape *tape, uint32_t node, ct_var part) {
    if (tape->sweep[node] != CT__NO_NODE) {
        ct_var in[] = {var_at(tape, tape->sweep[node]), part};
        part = ct__record_elementwise(CT_OP_add, 2, in);
    }
    tape->sweep[node] = part.index;
    return tape->status == CT_OK;
}

/* A rule must return a cotangent of its argument's shape and type. */
static bool check_part(ct_tape *tape, const struct ct__node *node, int argument, ct_var part) {
    if (ct_var_is_null(part))
        return false;
    const ct_tensor *have = tape->nodes[part.index].value;
    const ct_tensor *want = tape->nodes[ct__inputs(tape, node)[argument]].value;
    if (ct_dtype(have) == ct_dtype(want) && ct_same_shape(have, want))
        return true;
    char a[CT__SHAPE_TEXT_BYTES], b[CT__SHAPE_TEXT_BYTES];
    ct__format_shape(a, sizeof a, ct_rank(have), ct_shape(have));
    ct__format_shape(b, sizeof b, ct_rank(want), ct_shape(want));
    ct__tape_fail(
        tape, CT_ERULE, "the rule of %s for argument %d gives %s%s and the argument is %s%s",
        ct__op_title(tape, node), argument, ct_dtype(have)->name, a, ct_dtype(want)->name, b);
    return false;
}

static ct_var pull(const struct ct__pull *p, const struct ct__node *node, int argument) {
    const struct ct__op_record *record = ct__op_record(node->op);
    if (!record)
        return ct__elementwise_pull(node->op, p, argument);
    if (record->pull)
        return record->pull(p, argument);
    return ct__tape_fail(p->tape, CT_ERULE, "%s has no derivative rule", ct_op_name(node->op));
}

/* The same of a custom node, whose rule gives all its parts at once. */
static bool pull_custom(ct_tape *tape, uint32_t index) {
    struct ct__node node = tape->nodes[index]; // a copy: recording moves the array
    const uint32_t *in = ct__inputs(tape, &node);
    tape->primal = index;
    ct_var *parts = ct__custom_parts(tape, index, var_at(tape, tape->sweep[index]));
    bool takes_over = ct__custom_takes_over(tape, &node), done = parts != NULL;
    for (int k = 0; done && k < node.inputs; k++) {
        if (!tape->wanted[in[k]] || ct__is_flat(parts[k]))
            continue;
        if (takes_over)
            tape->sweep[in[k]] = CT__NO_NODE;
        done = check_part(tape, &node, k, parts[k]) && accumulate(tape, in[k], parts[k]);
    }
    ct__free(parts);
    return done;
}

/* Pulls the cotangent of one node back to its arguments. */
static bool pull_node(ct_tape *tape, uint32_t index) {
    /* Copies: recording moves the arrays. */
    struct ct__node node = tape->nodes[index];
    struct ct__attr attr;
    ct_var kept = ct_var_null();
    struct ct__pull p = {.tape = tape, .attr = &attr, .y = var_at(tape, index), .kept = &kept};
    if (node.attr != CT__NO_NODE)
        attr = tape->attrs[node.attr];
    p.g = var_at(tape, tape->sweep[index]);
    for (int k = 0; k < node.inputs; k++)
        p.x[k] = var_at(tape, node.in[k]);
    tape->primal = index;
    for (int k = 0; k < node.inputs; k++) {
        if (!tape->wanted[node.in[k]])
            continue;
        ct_var part = pull(&p, &node, k);
        if (ct__is_flat(part))
            continue;
        if (!check_part(tape, &node, k, part) || !accumulate(tape, node.in[k], part))
            return false;
    }
    return true;
}

static bool sweep(ct_tape *tape, size_t nodes, size_t first) {
    for (size_t i = nodes; i-- > first;) {
        if (tape->sweep[i] == CT__NO_NODE || !tape->wanted[i])
            continue;
        const struct ct__node *node = &tape->nodes[i];
        if (node->kind != CT__NODE_OP)
            continue;
        if (!(ct__is_custom(node) ? pull_custom : pull_node)(tape, (uint32_t)i))
            return false;
    }
    return true;
}

/* --- checks --- */

static bool check_operand(ct_var y, ct_var v, const char *what) {
    if (v.tape != y.tape) {
        ct__tape_fail(y.tape, CT_EINVAL, "ct_grad: %s belongs to another tape", what);
        return false;
    }
    const struct ct__node *node = ct__node(v);
    if (!node)
        return false;
    if (!(ct_dtype(node->value)->traits & CT_DIFFERENTIABLE)) {
        ct__tape_fail(y.tape, CT_EDTYPE,
                      "ct_grad: %s has the scalar type %s, which is not "
                      "differentiable",
                      what, ct_dtype(node->value)->name);
        return false;
    }
    return true;
}

static bool check_cotangent(ct_var y, ct_var cotangent) {
    if (!check_operand(y, cotangent, "the cotangent"))
        return false;
    const ct_tensor *have = ct__node(cotangent)->value, *want = ct__node(y)->value;
    if (ct_dtype(have) == ct_dtype(want) && ct_same_shape(have, want))
        return true;
    char a[CT__SHAPE_TEXT_BYTES], b[CT__SHAPE_TEXT_BYTES];
    ct__format_shape(a, sizeof a, ct_rank(have), ct_shape(have));
    ct__format_shape(b, sizeof b, ct_rank(want), ct_shape(want));
    ct__tape_fail(y.tape, CT_ESHAPE, "ct_grad: the cotangent is %s%s and y is %s%s",
                  ct_dtype(have)->name, a, ct_dtype(want)->name, b);
    return false;
}

/* What is differentiated: m variables and the cotangent of each, null for ones. */
struct outputs {
    ct_tape *tape;
    size_t m;
    const ct_var *y, *cotangents; /* cotangents may be NULL: ones for all */
};

static ct_var cotangent_of(const struct outputs *o, size_t j) {
    return o->cotangents ? o->cotangents[j] : ct_var_null();
}

/* The number of nodes up to the last output. */
static size_t last_node(const struct outputs *o) {
    size_t nodes = 0;
    for (size_t j = 0; j < o->m; j++)
        if (o->y[j].index >= nodes)
            nodes = (size_t)o->y[j].index + 1;
    return nodes;
}

/* The cotangent of an output; ones are made of a number, which is marked too. */
static ct_var seed_of(ct_var y, ct_var given) {
    ct_tape *tape = y.tape;
    size_t number = tape->length;
    ct_var seed = ct_var_is_null(given) ? constant_like(y, 1) : given;
    if (tape->status != CT_OK)
        return ct_var_null();
    tape->nodes[seed.index].seed = true;
    if (ct_var_is_null(given))
        tape->nodes[number].seed = true;
    return seed;
}

/* The cotangents of the outputs, in their order, where a path leads on from them. */
static bool put_seeds(const struct outputs *o) {
    ct_tape *tape = o->tape;
    for (size_t j = 0; j < o->m; j++) {
        ct_var y = o->y[j], given = cotangent_of(o, j);
        if (!tape->wanted[y.index])
            continue;
        tape->primal = y.index;
        ct_var seed = seed_of(y, given);
        if (tape->status != CT_OK || !accumulate(tape, y.index, seed))
            return false;
    }
    return true;
}

static bool append_gradient(const struct outputs *o, size_t n, const ct_var *x, ct_var *dx) {
    ct_tape *tape = o->tape;
    size_t nodes = last_node(o);
    if (!prepare(tape, nodes)) {
        ct__tape_fail(tape, CT_ENOMEM, "out of memory for the gradient of node %u", o->y[0].index);
        return false;
    }
    size_t first = mark_wanted(tape, nodes, n, x);
    tape->primal = o->y[0].index;
    if (!put_seeds(o) || !sweep(tape, nodes, first))
        return false;
    for (size_t i = 0; i < n; i++) {
        bool reached = x[i].index < nodes && tape->sweep[x[i].index] != CT__NO_NODE;
        dx[i] = reached ? var_at(tape, tape->sweep[x[i].index]) : constant_like(x[i], 0);
    }
    tape->graded = nodes;
    tape->graded_end = tape->length;
    return tape->status == CT_OK;
}

static bool check_call(const struct outputs *o, size_t n, const ct_var *x) {
    if (!ct__may_record(o->tape))
        return false;
    for (size_t j = 0; j < o->m; j++) {
        ct_var cotangent = cotangent_of(o, j);
        if (!check_operand(o->y[0], o->y[j], "y"))
            return false;
        if (!ct_var_is_null(cotangent) && !check_cotangent(o->y[j], cotangent))
            return false;
    }
    for (size_t i = 0; i < n; i++)
        if (!check_operand(o->y[0], x[i], "a variable to differentiate for"))
            return false;
    return true;
}

/* Rules of custom ops may differentiate what they record, so sweeps nest: each has a scratch of its own. */
enum { MOST_NESTED = 16 };
struct sweep {
    uint32_t *sweep, primal, scope;
    uint8_t *wanted;
    size_t capacity;
};

static bool begin_sweep(ct_tape *tape, struct sweep *outer) {
    if (tape->sweeps == MOST_NESTED) {
        ct__tape_fail(
            tape, CT_EINVAL,
            "ct_grad inside derivative rules %d deep: does a rule differentiate its own op?",
            MOST_NESTED);
        return false;
    }
    *outer =
        (struct sweep){tape->sweep, tape->primal, tape->scope, tape->wanted, tape->sweep_capacity};
    if (tape->sweeps++ > 0) {
        tape->sweep = NULL;
        tape->wanted = NULL;
        tape->sweep_capacity = 0;
    }
    tape->scope = CT__NO_NODE; /* the backward pass is drawn as one */
    tape->recording_backward = true;
    return true;
}

static void end_sweep(ct_tape *tape, const struct sweep *outer) {
    tape->recording_backward = --tape->sweeps > 0;
    if (tape->recording_backward) {
        ct__free(tape->sweep);
        ct__free(tape->wanted);
        tape->sweep = outer->sweep;
        tape->wanted = outer->wanted;
        tape->sweep_capacity = outer->capacity;
        tape->graded = 0; /* until the outer sweep ends */
    }
    tape->primal = outer->primal;
    tape->scope = outer->scope;
}

static ct_status grad(const char *who, const struct outputs *o, size_t n, const ct_var *x,
                      ct_var *dx) {
    ct_tape *tape = o->tape;
    bool given = tape && (n == 0 || (x && dx));
    struct sweep outer;
    if (given && check_call(o, n, x) && begin_sweep(tape, &outer)) {
        bool done = append_gradient(o, n, x, dx);
        end_sweep(tape, &outer);
        if (done)
            return CT_OK;
    }
    for (size_t i = 0; dx && i < n; i++)
        dx[i] = (ct_var){tape, CT__NO_NODE, 0};
    return given ? tape->status : ct__fail_null_operand(who);
}

ct_status ct_grad(ct_var y, ct_var cotangent, size_t n, const ct_var *x, ct_var *dx) {
    return grad(__func__, &(struct outputs){y.tape, 1, &y, &cotangent}, n, x, dx);
}

ct_status ct_grad_all(size_t m, const ct_var *y, const ct_var *cotangents, size_t n,
                      const ct_var *x, ct_var *dx) {
    ct_tape *tape = m > 0 && y ? y[0].tape : NULL;
    return grad(__func__, &(struct outputs){tape, m, y, cotangents}, n, x, dx);
}
