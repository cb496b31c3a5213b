/* Custom ops: a node that a record of the user's describes. */

#include "autodiff/custom_impl.h"

#include "autodiff/check_impl.h"
#include "tensor/alloc.h"
#include "tensor/ct_names.h"
#include "tensor/fail.h"
#include "tensor/options.h"
#include "tensor/peek.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const char who[] = "ct_var_custom";

struct ct_custom_op ct_custom_op_init(void) {
    return (struct ct_custom_op){.size = sizeof(struct ct_custom_op)};
}

ct_var ct_custom_flat(void) {
    return ct__flat();
}

ct_tensor *ct_custom_fail(ct_status code, const char *message) {
    if (code == CT_OK || !message)
        return ct__fail_null(CT_EINVAL, __func__, "an error needs a code and a message");
    return ct__fail_null(code, __func__, "%s", message);
}

/* --- the block --- */

/* A copied context starts at a multiple of this, which suits every type of C. */
enum { CONTEXT_ALIGNMENT = _Alignof(max_align_t) };

static struct ct__custom *make_block(const struct ct_custom_op *op, void *context, size_t bytes,
                                     size_t n) {
    size_t head = offsetof(struct ct__custom, in) + n * sizeof(uint32_t);
    head = (head + CONTEXT_ALIGNMENT - 1) / CONTEXT_ALIGNMENT * CONTEXT_ALIGNMENT;
    struct ct__custom *custom = bytes <= SIZE_MAX / 2 ? ct__alloc(head + bytes) : NULL;
    if (!custom)
        return ct__fail_null(CT_ENOMEM, who, "out of memory for an op with a context of %zu bytes",
                             bytes);
    custom->op = *op;
    custom->takes_over = false;
    custom->context = bytes > 0 ? (char *)custom + head : context;
    if (bytes > 0)
        memcpy(custom->context, context, bytes);
    return custom;
}

void ct__custom_free(struct ct__custom *custom) {
    if (custom && custom->op.release)
        custom->op.release(custom->context);
    ct__free(custom);
}

static struct ct__custom *custom_of(const ct_tape *tape, const struct ct__node *node) {
    return tape->attrs[node->attr].custom;
}

const uint32_t *ct__wide_inputs(const ct_tape *tape, const struct ct__node *node) {
    return custom_of(tape, node)->in;
}

const char *ct__op_title(const ct_tape *tape, const struct ct__node *node) {
    return node->op == CT__OP_CUSTOM ? custom_of(tape, node)->op.name
                                     : ct_op_name((enum ct_op)node->op);
}

const char *ct__custom_doc(const ct_tape *tape, const struct ct__node *node) {
    return custom_of(tape, node)->op.doc;
}

bool ct__custom_takes_over(const ct_tape *tape, const struct ct__node *node) {
    return custom_of(tape, node)->takes_over;
}

/* The table of records knows the custom op as one with operands that are no items of each other. */
const struct ct__op_record ct__op_custom = {.verb = "custom"};

/* --- its value --- */

void ct__put_aside(struct ct__pending *p) {
    const struct ct_error_info *error = ct_error();
    p->code = error->code;
    if (p->code == CT_OK)
        return;
    snprintf(p->message, sizeof p->message, "%s", error->message);
    snprintf(p->function, sizeof p->function, "%s", error->function);
    ct_error_clear();
}

void ct__put_back(const struct ct__pending *p) {
    ct_error_clear();
    if (p->code != CT_OK)
        ct__fail(p->code, p->function, "%s", p->message);
}

ct_tensor *ct__custom_run(const struct ct__custom *custom, size_t n, const ct_tensor *const in[]) {
    struct ct__pending before;
    ct__put_aside(&before);
    ct_tensor *value = custom->op.run(custom->context, n, in);
    if (!value)
        return ct_error()->code != CT_OK
                   ? NULL
                   : ct__fail_null(CT_EINVAL, who, "run returned NULL without an error");
    for (size_t i = 0; i < n; i++)
        if (value == in[i])
            return ct__fail_null(CT_EINVAL, who,
                                 "run returned its input %zu itself: return ct_copy() of it", i);
    ct__put_back(&before);
    return value;
}

/* Functions with arrays for many inputs are kept out of line: segments may nest, on a small stack. */

/* The same on operands without axis names. */
static __attribute__((noinline)) ct_tensor *without_names(const struct ct__custom *custom, size_t n,
                                                          const ct_tensor *const in[]) {
    const ct_tensor *operands[CT__CUSTOM_INPUTS];
    ct_tensor *bare[CT__CUSTOM_INPUTS], *value = NULL;
    if (ct__bare_operands(n, in, operands, bare))
        value = ct__custom_value(custom, n, operands);
    for (size_t i = 0; i < n; i++)
        ct_free(bare[i]);
    return value;
}

/* What a function is recorded from again keeps its names: it may look axes up by them. */
static ct_tensor *value_in_place(const ct_tape *tape, const struct ct__custom *custom, size_t n,
                                 const ct_tensor *const in[]) {
    bool drop = tape->recording_backward && !custom->takes_over && ct__any_names(n, in);
    return (drop ? without_names : ct__custom_value)(custom, n, in);
}

/* --- recording --- */

/* Runs a custom op unless its value is known, and appends it; null after the sticky error. */
static ct_var append_with(struct ct__custom *custom, const ct_tensor *known, size_t n,
                          const ct_var *in, const ct_tensor *values[]) {
    ct_tape *tape = ct__operands(custom->op.name, (int)n, in, values);
    if (!tape)
        return ct__null_of(in[0]);
    for (size_t i = 0; i < n; i++)
        custom->in[i] = in[i].index;
    tape->running++;
    ct_tensor *value = known ? ct_copy(known) : value_in_place(tape, custom, n, values);
    tape->running--;
    if (!value)
        return ct__fail_named(tape, who, custom->op.name, (int)n, values);
    if (tape->status != CT_OK) { // of run's own doing
        ct_free(value);
        return ct__null_of(in[0]);
    }
    return ct__append_op(tape, CT__OP_CUSTOM, (int)n, in, value,
                         &(struct ct__attr){.custom = custom});
}

/* The same; owns the block. */
static ct_var append(struct ct__custom *custom, const ct_tensor *known, size_t n,
                     const ct_var *in) {
    const ct_tensor *few[8], **values = n <= 8 ? few : ct__alloc(n * sizeof *values);
    ct_var v = values ? append_with(custom, known, n, in, values)
                      : ct__tape_fail_in(who, in[0].tape, CT_ENOMEM, "out of memory");
    if (values != few)
        ct__free(values);
    if (ct_var_is_null(v))
        ct__custom_free(custom);
    return v;
}

/* The sticky error of an op that was not made; the reason stands in ct_error(). */
static ct_var refuse(const struct ct_custom_op *op, void *context, size_t n, const ct_var *in) {
    ct_tape *tape = NULL;
    for (size_t i = 0; in && i < n && !tape; i++)
        tape = in[i].tape;
    if (op->release)
        op->release(context);
    if (!tape)
        return ct_var_null();
    return ct__tape_fail_in(who, tape, ct_error()->code, "%s", ct_error()->message);
}

ct_var ct__record_custom(const struct ct_custom_op *op, void *context, size_t bytes,
                         bool takes_over, size_t n, const ct_var *in) {
    struct ct__custom *custom = make_block(op, context, bytes, n);
    if (!custom)
        return refuse(op, context, n, in);
    custom->takes_over = takes_over;
    return append(custom, NULL, n, in);
}

ct_var ct__record_custom_again(const struct ct__custom *custom, const ct_tensor *value, size_t n,
                               const ct_var *in) {
    struct ct__custom *again = make_block(&custom->op, custom->context, 0, n);
    if (!again)
        return ct__tape_fail(in[0].tape, CT_ENOMEM, "%s", ct_error()->message);
    again->op.release = NULL;
    again->takes_over = custom->takes_over;
    return append(again, value, n, in);
}

/* --- the public call --- */

static ct_status check_op(const char *caller, const struct ct_custom_op *op, const void *context,
                          size_t n) {
    if (!op->name || !op->name[0] ||
        strnlen(op->name, CT__CUSTOM_NAME_BYTES) == CT__CUSTOM_NAME_BYTES)
        return ct__fail(CT_EINVAL, caller, "a custom op needs a name of 1 to %d bytes",
                        CT__CUSTOM_NAME_BYTES - 1);
    if (!op->run)
        return ct__fail(CT_EINVAL, caller, "the custom op %s has no run", op->name);
    if (op->context_size > 0 && !context)
        return ct__fail(CT_EINVAL, caller,
                        "the custom op %s has a context of %zu bytes, and it is NULL", op->name,
                        op->context_size);
    if (n == 0 || n > CT__CUSTOM_INPUTS)
        return ct__fail(CT_EINVAL, caller, "the custom op %s has %zu inputs: there can be 1 to %d",
                        op->name, n, CT__CUSTOM_INPUTS);
    return CT_OK;
}

static ct_status take_op(const char *caller, const struct ct_custom_op *op, const void *context,
                         size_t n, struct ct_custom_op *whole) {
    *whole = (struct ct_custom_op){0};
    ct_status status = ct__take_options(caller, "ct_custom_op_init", whole, sizeof *whole, op);
    return status == CT_OK ? check_op(caller, whole, context, n) : status;
}

ct_var ct_var_custom(const struct ct_custom_op *op, void *context, size_t n, const ct_var *inputs) {
    struct ct_custom_op whole;
    if (!op) {
        ct__fail_null_operand(who);
        return ct_var_null();
    }
    ct_status status = take_op(who, op, context, n, &whole);
    if (status == CT_OK && !inputs)
        status = ct__fail_null_operand(who);
    if (status != CT_OK)
        return refuse(&whole, context, n, inputs);
    return ct__record_custom(&whole, context, whole.context_size, false, n, inputs);
}

/* --- its rule --- */

/* The sticky error of a rule, in the name of the op whose rule it is. */
static void name_error(ct_tape *tape, const struct ct__custom *custom, uint32_t index) {
    char message[CT__MESSAGE_BYTES];
    memcpy(message, tape->message, sizeof message);
    ct__fail(tape->status, who, "the vjp of %s, node %u: %s", custom->op.name, index, message);
    snprintf(tape->message, sizeof tape->message, "%s", ct_error()->message);
}

static bool check_parts(ct_tape *tape, const struct ct__custom *custom, const bool *wanted,
                        size_t n, const ct_var *parts) {
    for (size_t i = 0; i < n; i++) {
        if (!wanted[i] || ct__is_flat(parts[i]))
            continue;
        if (parts[i].tape != tape || !ct__live_value(parts[i])) {
            ct__tape_fail(tape, CT_ERULE, "the vjp of %s set no gradient for the input %zu",
                          custom->op.name, i);
            return false;
        }
    }
    return true;
}

/* Calls the rule; false after the sticky error. */
static bool run_rule(const struct ct__custom *custom, uint32_t index,
                     const struct ct_custom_pull *pull, ct_var *parts) {
    custom->op.vjp(custom->context, pull, parts);
    if (pull->tape->status == CT_OK)
        return check_parts(pull->tape, custom, pull->wanted, pull->n, parts);
    name_error(pull->tape, custom, index);
    return false;
}

ct_var *ct__custom_parts(ct_tape *tape, uint32_t index, ct_var cotangent) {
    struct ct__node node = tape->nodes[index];
    const struct ct__custom *custom = custom_of(tape, &node);
    const uint32_t *in = ct__inputs(tape, &node);
    bool any = false;
    if (!custom->op.vjp) {
        ct__tape_fail(tape, CT_ERULE, "node %u, %s, has no derivative rule: its record has no vjp",
                      index, custom->op.name);
        return NULL;
    }
    /* In one block: what is returned, and what the rule sees. */
    size_t n = node.inputs;
    ct_var *parts = ct__alloc(n * (2 * sizeof *parts + sizeof(bool)));
    if (!parts) {
        ct__tape_fail(tape, CT_ENOMEM, "out of memory for the vjp of %s", custom->op.name);
        return NULL;
    }
    ct_var *inputs = parts + n;
    bool *wanted = (bool *)(inputs + n);
    for (size_t i = 0; i < n; i++) {
        const struct ct__node *input = &tape->nodes[in[i]];
        wanted[i] = tape->wanted[in[i]] && ct_dtype(input->value)->traits & CT_DIFFERENTIABLE;
        any = any || wanted[i];
        inputs[i] = (ct_var){tape, in[i], input->generation};
        parts[i] = wanted[i] ? ct_var_null() : ct__flat();
    }
    struct ct_custom_pull pull = {tape,      node.inputs, inputs, {tape, index, node.generation},
                                  cotangent, wanted};
    if (!any || run_rule(custom, index, &pull, parts))
        return parts;
    ct__free(parts);
    return NULL;
}

/* --- its check --- */

struct call {
    const struct ct_custom_op *op;
    void *context;
};

static ct_var record_call(void *context, ct_tape *tape, size_t n, const ct_var *inputs) {
    const struct call *call = context;
    (void)tape;
    return ct__record_custom(call->op, call->context, call->op->context_size, false, n, inputs);
}

ct_status ct_check_custom(const struct ct_custom_op *op, void *context, size_t n,
                          const ct_tensor *const *inputs, const struct ct_check_options *options,
                          struct ct_check_report *report) {
    struct ct_custom_op whole;
    if (!op)
        return ct__fail_null_operand(__func__);
    ct_status status = take_op(__func__, op, context, n, &whole);
    if (status != CT_OK)
        return status;
    whole.release = NULL;
    struct call call = {&whole, context};
    status = ct__check_gradient_with(__func__, record_call, &call, n, inputs, NULL, options, NULL,
                                     CT__OP_CUSTOM, report);
    if (status != CT_OK)
        return status;
    char rest[sizeof report->message];
    memcpy(rest, report->message, sizeof rest);
    if (snprintf(report->message, sizeof report->message, "%s: %s", whole.name, rest) < 0)
        report->message[0] = '\0';
    return CT_OK;
}
