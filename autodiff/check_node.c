/* The gradient check of single ops: of the nodes of a function that failed. */

#include "autodiff/check_impl.h"

#include <string.h>

ct_var ct__op_call(void *context, ct_tape *tape, size_t n, const ct_var *inputs) {
    (void)tape;
    const struct ct__op_call *call = context;
    if (ct__op_record(call->op))
        return ct__record(call->op, (int)n, inputs, call->attr);
    return ct__record_elementwise(call->op, (int)n, inputs);
}

/* Whether the node computes f64 from something that a gradient can flow to. */
static bool can_be_checked(const ct_tape *tape, const struct ct__node *node) {
    if (node->kind != CT__NODE_OP || ct_dtype(node->value) != CT_F64)
        return false;
    for (int k = 0; k < node->inputs; k++) {
        const struct ct__node *input = &tape->nodes[node->in[k]];
        if (input->kind != CT__NODE_CONSTANT && ct_dtype(input->value) == CT_F64)
            return true;
    }
    return false;
}

static bool is_guilty(const struct ct__problem *p, const struct ct__node *node,
                      const struct ct_check_options *options, const struct ct__check_seam *seam) {
    const ct_tape *tape = p->tape;
    const ct_tensor *inputs[CT__MAX_INPUTS];
    bool active[CT__MAX_INPUTS];
    for (int k = 0; k < node->inputs; k++) {
        inputs[k] = tape->nodes[node->in[k]].value;
        active[k] = tape->nodes[node->in[k]].kind != CT__NODE_CONSTANT;
    }
    struct ct__op_call call = {.op = (enum ct_op)node->op,
                               .attr = node->attr == CT__NO_NODE ? NULL : &tape->attrs[node->attr]};
    struct ct_check_report report;
    ct_status status =
        ct__check_gradient_with(p->who, ct__op_call, &call, node->inputs, inputs, active, options,
                                seam, (enum ct_op)node->op, &report);
    return status == CT_OK && report.verdict == CT_CHECK_FAIL;
}

size_t ct__find_guilty(struct ct__problem *p, const struct ct_check_options *options,
                       const struct ct__check_seam *seam, enum ct_op *op) {
    struct ct_check_options few = *options;
    few.max_items = few.max_items < 16 ? few.max_items : 16;
    /* The forward nodes alone: checking each for itself covers the rest. */
    if (ct__problem_start(p, 1, options->seed) != CT_OK)
        return SIZE_MAX;
    for (size_t i = 0; i < p->tape->length; i++) {
        const struct ct__node *node = &p->tape->nodes[i];
        if (!can_be_checked(p->tape, node) || !is_guilty(p, node, &few, seam))
            continue;
        *op = (enum ct_op)node->op;
        return i;
    }
    return SIZE_MAX;
}
