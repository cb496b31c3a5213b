/* The tape itself: nodes, names, scopes, mark and rewind, the sticky error. */

#include "autodiff/tape_impl.h"

#include "tensor/alloc.h"
#include "tensor/fail.h"
#include "tensor/peek.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* One count for all tapes of the process, so that a variable of a freed tape does not fit another one
   at the same address. */
static uint32_t next_generation(void) {
    static _Atomic uint32_t count;
    return atomic_fetch_add_explicit(&count, 1, memory_order_relaxed) + 1;
}

ct_tape *ct_tape_new(void) {
    ct_tape *tape = ct__alloc_zero(sizeof *tape);
    if (!tape)
        return ct__fail_null(CT_ENOMEM, "ct_tape_new", "out of memory for a tape");
    tape->scope = CT__NO_NODE;
    tape->primal = CT__NO_NODE;
    tape->generation = next_generation();
    return tape;
}

static void drop_nodes(ct_tape *tape, size_t length) {
    ct__drop_factors(tape, length);
    /* Newest first: a view is freed before what it views, and buffers return in the order in which
       the next turn of a loop asks for them. */
    while (tape->length > length) {
        struct ct__node *node = &tape->nodes[--tape->length];
        if (node->released)
            tape->released--;
        if (ct__is_custom(node))
            ct__custom_free(tape->attrs[node->attr].custom);
        ct_free(node->value);
    }
}

void ct_tape_free(ct_tape *tape) {
    if (!tape)
        return;
    drop_nodes(tape, 0);
    ct__free_factors(tape);
    ct__free(tape->nodes);
    ct__free(tape->attrs);
    ct__free(tape->text);
    ct__free(tape->scopes);
    ct__free(tape->sweep);
    ct__free(tape->wanted);
    ct__free(tape);
}

/* --- errors --- */

ct_status ct_tape_status(const ct_tape *tape) {
    return tape ? tape->status : CT_EINVAL;
}

const char *ct_tape_message(const ct_tape *tape) {
    return tape ? tape->message : "the tape is NULL";
}

ct_status ct_tape_set_ieee(ct_tape *tape, bool ieee) {
    if (!tape)
        return ct__fail_null_operand(__func__);
    tape->ieee = ieee;
    return CT_OK;
}

bool ct_tape_ieee(const ct_tape *tape) {
    return tape && tape->ieee;
}

size_t ct_tape_length(const ct_tape *tape) {
    return tape ? tape->length : 0;
}

ct_var ct_var_null(void) {
    return (ct_var){NULL, CT__NO_NODE, 0};
}

bool ct_var_is_null(ct_var v) {
    return v.index == CT__NO_NODE;
}

__attribute__((format(printf, 4, 0))) static ct_var
fail(const char *who, ct_tape *tape, ct_status code, const char *format, va_list arguments) {
    char message[CT__MESSAGE_BYTES];
    vsnprintf(message, sizeof message, format, arguments);
    ct__fail(code, who, "%s", message);
    if (tape && tape->status == CT_OK) {
        tape->status = code;
        memcpy(tape->message, message, sizeof tape->message);
    }
    return (ct_var){tape, CT__NO_NODE, 0};
}

ct_var ct__tape_fail(ct_tape *tape, ct_status code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    ct_var none = fail("ct_tape", tape, code, format, arguments);
    va_end(arguments);
    return none;
}

ct_var ct__tape_fail_in(const char *who, ct_tape *tape, ct_status code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    ct_var none = fail(who, tape, code, format, arguments);
    va_end(arguments);
    return none;
}

ct_var ct_tape_fail(ct_tape *tape, ct_status code, const char *message) {
    if (!tape || code == CT_OK || !message) {
        ct__fail_null_operand("ct_tape_fail");
        return (ct_var){tape, CT__NO_NODE, 0};
    }
    return ct__tape_fail(tape, code, "%s", message);
}

/* The node of a variable, whatever the state of the tape; else what is wrong, in words. */
static const struct ct__node *find(ct_var v, const char **fault) {
    if (v.index == CT__NO_NODE)
        *fault = "the variable is null";
    else if (v.index >= v.tape->length || v.tape->nodes[v.index].generation != v.generation)
        *fault = "the variable is stale: the tape was rewound to before it";
    else
        return &v.tape->nodes[v.index];
    return NULL;
}

static const char of_no_tape[] = "the variable is null: it belongs to no tape";

const struct ct__node *ct__node(ct_var v) {
    const char *fault = NULL;
    if (!v.tape) {
        ct__fail(CT_EINVAL, "ct_tape", "%s", of_no_tape);
        return NULL;
    }
    if (v.tape->status != CT_OK)
        return NULL;
    const struct ct__node *node = find(v, &fault);
    if (!node)
        ct__tape_fail(v.tape, v.index == CT__NO_NODE ? CT_EINVAL : CT_ESTALE, "%s", fault);
    return node;
}

/* --- growing --- */

static __attribute__((noinline)) bool grow(void **items, size_t size, size_t length,
                                           size_t *capacity, size_t extra) {
    size_t wanted = *capacity ? 2 * *capacity : 64;
    while (wanted < length + extra)
        wanted *= 2;
    void *moved = wanted <= SIZE_MAX / size ? ct__realloc(*items, wanted * size) : NULL;
    if (!moved)
        return false;
    *items = moved;
    *capacity = wanted;
    return true;
}

/* Room for one more item of a growing array; pointers into it move. */
static inline bool reserve(void **items, size_t size, size_t length, size_t *capacity,
                           size_t extra) {
    return length + extra <= *capacity || grow(items, size, length, capacity, extra);
}

static bool add_text(ct_tape *tape, const char *text, uint32_t *offset) {
    size_t size = strlen(text) + 1;
    void *items = tape->text;
    if (size > CT__NO_NODE - tape->text_length) // offsets have 32 bits
        return false;
    if (!reserve(&items, 1, tape->text_length, &tape->text_capacity, size))
        return false;
    tape->text = items;
    *offset = (uint32_t)tape->text_length;
    memcpy(tape->text + tape->text_length, text, size);
    tape->text_length += size;
    return true;
}

/* The place of a copy of the attributes, or CT__NO_NODE. */
static inline uint32_t add_attr(ct_tape *tape, const struct ct__attr *attr) {
    void *items = tape->attrs;
    if (!reserve(&items, sizeof *attr, tape->attr_length, &tape->attr_capacity, 1))
        return CT__NO_NODE;
    tape->attrs = items;
    tape->attrs[tape->attr_length] = *attr;
    return (uint32_t)tape->attr_length++;
}

bool ct__may_not_record(ct_tape *tape) {
    if (tape->status != CT_OK)
        return false;
    if (tape->released > 0)
        ct__tape_fail(tape, CT_ESTALE,
                      "the tape cannot be extended after a step released its leaves: rewind it");
    else
        ct__tape_fail(tape, CT_EOVERFLOW, "a tape holds at most %u nodes", CT__NO_NODE - 1);
    return false;
}

static __attribute__((noinline)) bool grow_nodes(ct_tape *tape) {
    void *items = tape->nodes;
    bool grown = grow(&items, sizeof *tape->nodes, tape->length, &tape->capacity, 1);
    if (grown)
        tape->nodes = items;
    return grown;
}

/* Another node, which is not counted yet; NULL where there is no memory. */
static inline struct ct__node *next_node(ct_tape *tape) {
    if (tape->length >= tape->capacity && !grow_nodes(tape))
        return NULL;
    struct ct__node *node = &tape->nodes[tape->length];
    node->attr = CT__NO_NODE;
    node->released = false;
    node->seed = false;
    node->generation = tape->generation;
    node->scope = tape->scope;
    node->primal = tape->primal;
    node->backward = tape->recording_backward;
    node->name = CT__NO_NODE;
    return node;
}

static __attribute__((noinline)) ct_var no_room(ct_tape *tape, ct_tensor *value) {
    ct_free(value);
    return ct__tape_fail(tape, CT_ENOMEM, "out of memory for node %zu of the tape", tape->length);
}

ct_var ct__append_input(ct_tape *tape, enum ct__node_kind kind, ct_tensor *value) {
    struct ct__node *node = next_node(tape);
    if (!node)
        return no_room(tape, value);
    node->value = value;
    node->kind = (uint8_t)kind;
    node->op = 0;
    node->inputs = 0;
    return (ct_var){tape, (uint32_t)tape->length++, tape->generation};
}

ct_var ct__append_op(ct_tape *tape, enum ct_op op, int n, const ct_var *in, ct_tensor *value,
                     const struct ct__attr *attr) {
    struct ct__node *node = next_node(tape);
    if (!node || (attr && (node->attr = add_attr(tape, attr)) == CT__NO_NODE))
        return no_room(tape, value);
    node->value = value;
    node->kind = CT__NODE_OP;
    node->op = (uint16_t)op;
    node->inputs = (uint8_t)n;
    for (int i = 0; i < n && i < CT__MAX_INPUTS; i++)
        node->in[i] = in[i].index;
    return (ct_var){tape, (uint32_t)tape->length++, tape->generation};
}

static ct_var input(ct_tape *tape, const ct_tensor *value, const char *name,
                    enum ct__node_kind kind, const char *who) {
    if (!tape) {
        ct__fail_null_operand(who);
        return ct_var_null();
    }
    if (!ct__may_record(tape))
        return (ct_var){tape, CT__NO_NODE, 0};
    ct_tensor *share = ct_copy(value);
    if (!share)
        return ct__tape_fail(tape, ct_error()->code, "%s: %s", who, ct_error()->message);
    if (kind == CT__NODE_LEAF && !(ct_dtype(share)->traits & CT_DIFFERENTIABLE)) {
        const char *type = ct_dtype(share)->name;
        ct_free(share);
        return ct__tape_fail(tape, CT_EDTYPE,
                             "a leaf needs a differentiable scalar type and %s is none: use "
                             "ct_constant",
                             type);
    }
    ct_var v = ct__append_input(tape, kind, share);
    return name ? ct_named(v, name) : v;
}

ct_var ct_leaf(ct_tape *tape, const ct_tensor *value, const char *name) {
    return input(tape, value, name, CT__NODE_LEAF, "ct_leaf");
}

ct_var ct_constant(ct_tape *tape, const ct_tensor *value, const char *name) {
    return input(tape, value, name, CT__NODE_CONSTANT, "ct_constant");
}

ct_var ct_constant_of(ct_tape *tape, const ct_scalar *scalar, double value) {
    if (!tape)
        ct__fail_null_operand("ct_constant_of");
    if (!tape || !ct__may_record(tape))
        return (ct_var){tape, CT__NO_NODE, 0};
    ct_tensor *item = ct_from_double(scalar, value);
    if (!item)
        return ct__tape_fail(tape, ct_error()->code, "ct_constant_of: %s", ct_error()->message);
    return ct__append_input(tape, CT__NODE_CONSTANT, item);
}

/* --- names and scopes --- */

ct_var ct_named(ct_var v, const char *name) {
    const struct ct__node *node = ct__node(v);
    if (!node || !name)
        return v;
    uint32_t offset;
    if (!add_text(v.tape, name, &offset))
        return ct__tape_fail(v.tape, CT_ENOMEM, "out of memory for the name of node %u", v.index);
    v.tape->nodes[v.index].name = offset;
    return v;
}

const char *ct__node_name(const ct_tape *tape, const struct ct__node *node) {
    return node->name == CT__NO_NODE ? NULL : tape->text + node->name;
}

void ct_scope_begin(ct_tape *tape, const char *name) {
    if (!tape)
        ct__fail_null_operand("ct_scope_begin");
    if (!tape || tape->status != CT_OK)
        return;
    struct ct__scope scope = {tape->generation, 0, tape->scope};
    void *items = tape->scopes;
    if (!reserve(&items, sizeof scope, tape->scope_length, &tape->scope_capacity, 1)) {
        ct__tape_fail(tape, CT_ENOMEM, "out of memory for a scope");
        return;
    }
    tape->scopes = items;
    if (!add_text(tape, name ? name : "", &scope.name)) {
        ct__tape_fail(tape, CT_ENOMEM, "out of memory for the name of a scope");
        return;
    }
    tape->scopes[tape->scope_length] = scope;
    tape->scope = (uint32_t)tape->scope_length++;
}

void ct_scope_end(ct_tape *tape) {
    if (!tape)
        ct__fail_null_operand("ct_scope_end");
    if (!tape || tape->status != CT_OK)
        return;
    if (tape->scope == CT__NO_NODE)
        ct__tape_fail(tape, CT_EINVAL, "ct_scope_end without a ct_scope_begin");
    else
        tape->scope = tape->scopes[tape->scope].parent;
}

/* --- looking --- */

const ct_tensor *ct_value(ct_var v) {
    const char *fault = NULL;
    if (!v.tape)
        return ct__fail_null(CT_EINVAL, "ct_value", "%s", of_no_tape);
    const struct ct__node *node = find(v, &fault);
    if (node && !node->released)
        return node->value;
    /* In a tape in error, a null variable is what that error made. */
    if (v.tape->status != CT_OK)
        return ct__fail_null(v.tape->status, "ct_value", "%s", v.tape->message);
    if (node)
        fault = "the value was released by a step: rewind the tape and record it anew";
    ct__tape_fail_in("ct_value", v.tape, v.index == CT__NO_NODE ? CT_EINVAL : CT_ESTALE, "%s",
                     fault);
    return NULL;
}

double ct_value_item(ct_var v) {
    const ct_tensor *value = ct_value(v);
    return value ? ct_item(value) : (double)NAN;
}

/* --- mark, rewind, release --- */

ct_mark ct_tape_mark(const ct_tape *tape) {
    if (!tape) {
        ct__fail_null_operand("ct_tape_mark");
        return (ct_mark){0};
    }
    uint32_t length = (uint32_t)tape->length;
    return (ct_mark){.tape = tape,
                     .nodes = length,
                     .generation = length ? tape->nodes[length - 1].generation : 0,
                     .scope = tape->scope,
                     .scope_generation =
                         tape->scope_length ? tape->scopes[tape->scope_length - 1].generation : 0,
                     .scopes = (uint32_t)tape->scope_length,
                     .text = tape->text_length,
                     .attrs = tape->attr_length};
}

/* Names that were given after the mark to nodes from before it went with the text. */
static void drop_late_names(ct_tape *tape) {
    for (size_t i = 0; i < tape->length; i++) {
        struct ct__node *node = &tape->nodes[i];
        if (node->name != CT__NO_NODE && node->name >= tape->text_length)
            node->name = CT__NO_NODE;
    }
}

/* Whether nodes may go: a rule or an op of the user's, which is called in the middle of something, must not take them
   away. */
static ct_status check_idle(ct_tape *tape, const char *who) {
    if (tape->sweeps == 0 && tape->running == 0)
        return CT_OK;
    ct__tape_fail_in(who, tape, CT_EINVAL, "%s",
                     tape->sweeps > 0 ? "a derivative rule cannot take away what ct_grad works on"
                                      : "a custom op cannot take away the tape that it runs on");
    return CT_EINVAL;
}

ct_status ct_tape_rewind(ct_tape *tape, ct_mark mark) {
    if (!tape)
        return ct__fail_null_operand("ct_tape_rewind");
    ct_status status = check_idle(tape, "ct_tape_rewind");
    if (status != CT_OK)
        return status;
    if (!mark.tape)
        mark.scope = CT__NO_NODE; /* all zeros: the start */
    if (mark.tape && mark.tape != tape)
        return ct__fail(CT_EINVAL, "ct_tape_rewind", "the mark belongs to another tape");
    bool gone =
        mark.nodes > tape->length || mark.scopes > tape->scope_length ||
        mark.text > tape->text_length || mark.attrs > tape->attr_length ||
        (mark.nodes > 0 && tape->nodes[mark.nodes - 1].generation != mark.generation) ||
        (mark.scopes > 0 && tape->scopes[mark.scopes - 1].generation != mark.scope_generation);
    if (gone)
        return ct__fail(CT_ESTALE, "ct_tape_rewind",
                        "the mark at node %u is stale: the tape was rewound to before it",
                        mark.nodes);
    drop_nodes(tape, mark.nodes);
    if (mark.nodes < tape->graded_end)
        tape->graded = 0;
    /* Names that were given since may lie otherwise than at the mark's time: one is not cut in two. */
    while (mark.text > 0 && tape->text[mark.text - 1] != '\0')
        mark.text++;
    bool names_went = tape->text_length > mark.text;
    tape->scope = mark.scope;
    tape->scope_length = mark.scopes;
    tape->text_length = mark.text;
    tape->attr_length = mark.attrs;
    if (names_went)
        drop_late_names(tape);
    tape->generation = next_generation();
    tape->status = CT_OK;
    tape->message[0] = '\0';
    return CT_OK;
}

/* A few bits of an address, so that most of the nodes that share nothing with the leaves are passed
   over at a glance. */
enum { FILTER_WORDS = 16 };
struct filter {
    uint64_t word[FILTER_WORDS];
};

static unsigned filter_bit(const void *storage) {
    return (unsigned)((uintptr_t)storage / 64 %
                      (64 * FILTER_WORDS)); /* blocks are 64 bytes apart */
}

static bool shares_with_one(const ct_tape *tape, const void *storage, size_t n,
                            const ct_var *leaves) {
    for (size_t i = 0; i < n; i++) {
        const ct_tensor *leaf = tape->nodes[leaves[i].index].value;
        if (leaf && ct__storage_of(leaf) == storage)
            return true;
    }
    return false;
}

/* Drops every value on the tape that shares storage with a leaf, the leaf's own included. First they
   are only marked, as long as the leaves are there to be compared with. */
static void release_storages(ct_tape *tape, size_t n, const ct_var *leaves) {
    struct filter filter = {{0}};
    for (size_t i = 0; i < n; i++) {
        const ct_tensor *leaf = tape->nodes[leaves[i].index].value;
        unsigned bit = leaf ? filter_bit(ct__storage_of(leaf)) : 0;
        filter.word[bit / 64] |= (uint64_t)(leaf != NULL) << bit % 64;
    }
    for (size_t i = 0; i < tape->length; i++) {
        struct ct__node *node = &tape->nodes[i];
        if (node->released)
            continue;
        const void *storage = ct__storage_of(node->value);
        unsigned bit = filter_bit(storage);
        if (filter.word[bit / 64] >> bit % 64 & 1 && shares_with_one(tape, storage, n, leaves))
            node->released = true;
    }
    for (size_t i = 0; i < tape->length; i++) {
        struct ct__node *node = &tape->nodes[i];
        if (!node->released || !node->value)
            continue;
        ct_free(node->value);
        node->value = NULL;
        tape->released++;
    }
}

ct_status ct_tape_release(ct_tape *tape, size_t n, const ct_var *leaves) {
    if (!tape || (n > 0 && !leaves))
        return ct__fail_null_operand("ct_tape_release");
    if (tape->status != CT_OK)
        return ct__fail(tape->status, "ct_tape_release", "%s", tape->message);
    ct_status status = check_idle(tape, "ct_tape_release");
    if (status != CT_OK)
        return status;
    for (size_t i = 0; i < n; i++) {
        if (leaves[i].tape != tape)
            ct__tape_fail(tape, CT_EINVAL, "a leaf of another tape cannot be released");
        if (leaves[i].tape != tape || !ct__node(leaves[i]))
            return tape->status;
    }
    release_storages(tape, n, leaves);
    return CT_OK;
}
