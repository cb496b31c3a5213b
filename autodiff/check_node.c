/* The gradient check of single ops: of the nodes of a function that failed. */

#include "autodiff/check_impl.h"
#include "autodiff/custom_impl.h"

#include <string.h>

ct_var ct__op_call(void *context, ct_tape *tape, size_t n, const ct_var *inputs) {
    (void)tape;
    const struct ct__op_call *call = context;
    if (call->op == CT__OP_CUSTOM)
        return ct__record_custom_again(call->attr->custom, NULL, n, inputs);
    if (ct__op_record(call->op))
        return ct__record(call->op, (int)n, inputs, call->attr);
    return ct__record_elementwise(call->op, (int)n, inputs);
}

/* Whether the node computes f64 from something that a gradient can flow to. */
static bool can_be_checked(const ct_tape *tape, const struct ct__node *node) {
    if (node->kind != CT__NODE_OP || ct_dtype(node->value) != CT_F64)
        return false;
    const uint32_t *in = ct__inputs(tape, node);
    for (int k = 0; k < node->inputs; k++) {
        const struct ct__node *input = &tape->nodes[in[k]];
        if (input->kind != CT__NODE_CONSTANT && ct_dtype(input->value) == CT_F64)
            return true;
    }
    return false;
}

static bool is_guilty(const struct ct__problem *p, const struct ct__node *node,
                      const struct ct_check_options *options, const struct ct__check_seam *seam) {
    const ct_tape *tape = p->tape;
    const ct_tensor *inputs[CT__CUSTOM_INPUTS];
    bool active[CT__CUSTOM_INPUTS];
    const uint32_t *in = ct__inputs(tape, node);
    for (int k = 0; k < node->inputs; k++) {
        inputs[k] = tape->nodes[in[k]].value;
        active[k] = tape->nodes[in[k]].kind != CT__NODE_CONSTANT;
    }
    struct ct__op_call call = {.op = (enum ct_op)node->op,
                               .attr = node->attr == CT__NO_NODE ? NULL : &tape->attrs[node->attr]};
    struct ct_check_report report;
    ct_status status =
        ct__check_gradient_with(p->who, ct__op_call, &call, node->inputs, inputs, active, options,
                                seam, (enum ct_op)node->op, &report);
    return status == CT_OK && report.verdict == CT_CHECK_FAIL;
}

/* The first guilty node where so many items of each input are looked at. */
static size_t find_with(struct ct__problem *p, size_t items, const struct ct_check_options *options,
                        const struct ct__check_seam *seam) {
    struct ct_check_options some = *options;
    some.max_items = items;
    for (size_t i = 0; i < p->tape->length; i++) {
        const struct ct__node *node = &p->tape->nodes[i];
        if (can_be_checked(p->tape, node) && is_guilty(p, node, &some, seam))
            return i;
    }
    return SIZE_MAX;
}

/* A rule is mostly wrong everywhere, which a few items show at once; it may be wrong in one alone. */
enum { FEW_ITEMS = 16, MANY_ITEMS = 4096 };

size_t ct__find_guilty(struct ct__problem *p, const struct ct_check_options *options,
                       const struct ct__check_seam *seam, const char **name) {
    /* The forward nodes alone: checking each for itself covers the rest. */
    if (ct__problem_start(p, 1, options->seed) != CT_OK)
        return SIZE_MAX;
    size_t few = options->max_items < FEW_ITEMS ? options->max_items : FEW_ITEMS;
    size_t found = find_with(p, few, options, seam);
    if (found == SIZE_MAX)
        found = find_with(p, MANY_ITEMS, options, seam);
    if (found != SIZE_MAX)
        *name = ct__op_title(p->tape, &p->tape->nodes[found]);
    return found;
}
