/* The gradient check of single ops: of the nodes of a function that failed. */

#include "autodiff/check_impl.h"
#include "autodiff/ct_var_ops.h"
#include "autodiff/custom_impl.h"

#include "dual/ct_dual.h"
#include "tensor/ct_random.h"

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

/* A node, as a function of its inputs. */
struct suspect {
    const struct ct__problem *problem;
    struct ct__op_call call;
    size_t n;
    const ct_tensor *inputs[CT__CUSTOM_INPUTS];
    bool active[CT__CUSTOM_INPUTS];
};

static void take_node(const struct ct__problem *p, const struct ct__node *node, struct suspect *s) {
    const ct_tape *tape = p->tape;
    const uint32_t *in = ct__inputs(tape, node);
    s->problem = p;
    s->n = node->inputs;
    for (size_t k = 0; k < s->n; k++) {
        s->inputs[k] = tape->nodes[in[k]].value;
        s->active[k] = tape->nodes[in[k]].kind != CT__NODE_CONSTANT;
    }
    s->call =
        (struct ct__op_call){.op = (enum ct_op)node->op,
                             .attr = node->attr == CT__NO_NODE ? NULL : &tape->attrs[node->attr]};
}

/* --- item by item --- */

static bool fails_in_items(struct suspect *s, const struct ct_check_options *options,
                           const struct ct__check_seam *seam) {
    struct ct_check_report report;
    ct_status status =
        ct__check_gradient_with(s->problem->who, ct__op_call, &s->call, s->n, s->inputs, s->active,
                                options, seam, s->call.op, &report);
    return status == CT_OK && report.verdict == CT_CHECK_FAIL;
}

/* --- along a line through the point ---

   One number sees every item of a rule: the derivative of <u, f(x + t v)> for t at 0. */

struct line {
    const struct suspect *suspect;
    ct_tensor *direction[CT__CUSTOM_INPUTS]; /* NULL where the input stays where it is */
};

/* A constant in the type of t. */
static ct_var constant_at(ct_var t, const ct_tensor *x) {
    bool lift = ct_dtype(x) == CT_F64 && ct_dtype(ct_value(t)) != CT_F64;
    ct_tensor *value = lift ? ct_dual(x, NULL) : ct_copy(x);
    ct_var v = ct_constant(t.tape, value, NULL);
    ct_free(value);
    return v;
}

static ct_var value_on_line(void *context, ct_tape *tape, size_t n, const ct_var *t) {
    const struct line *line = context;
    const struct suspect *s = line->suspect;
    ct_var in[CT__CUSTOM_INPUTS];
    (void)n;
    for (size_t k = 0; k < s->n; k++) {
        in[k] = constant_at(t[0], s->inputs[k]);
        if (!line->direction[k])
            continue;
        ct_var moved = ct_var_mul(t[0], constant_at(t[0], line->direction[k]));
        in[k] = ct_var_add(in[k], moved);
    }
    return ct__op_call((void *)(uintptr_t)&s->call, tape, s->n, in);
}

static bool fails_on_line(const struct suspect *s, uint64_t seed) {
    struct line line = {.suspect = s};
    struct ct_check_options options = ct_check_options_init();
    struct ct_check_report report;
    ct_random random = ct_random_of(seed, s->n);
    ct_tensor *zero = ct_zeros(CT_F64, 0, NULL);
    bool made = zero != NULL;
    for (size_t k = 0; k < s->n && made; k++) {
        if (!s->active[k] || ct_dtype(s->inputs[k]) != CT_F64)
            continue;
        const ct_tensor *x = s->inputs[k];
        line.direction[k] = ct_normal(&random, CT_F64, ct_rank(x), ct_shape(x), 0, 1);
        made = line.direction[k] != NULL;
    }
    options.rtol = 1e-7; /* one item among many has to show */
    options.atol = 1e-10;
    options.seed = seed;
    bool fails = made &&
                 ct__check_gradient_with(s->problem->who, value_on_line, &line, 1,
                                         (const ct_tensor *const *)&zero, NULL, &options, NULL,
                                         s->call.op, &report) == CT_OK &&
                 report.verdict == CT_CHECK_FAIL;
    for (size_t k = 0; k < s->n; k++)
        ct_free(line.direction[k]);
    ct_free(zero);
    return fails;
}

/* --- the search --- */

/* The first guilty node where so many items of each input are looked at; on lines where it is 0. */
static size_t find_with(struct ct__problem *p, size_t items, const struct ct_check_options *options,
                        const struct ct__check_seam *seam) {
    struct ct_check_options some = *options;
    some.max_items = items;
    for (size_t i = 0; i < p->tape->length; i++) {
        const struct ct__node *node = &p->tape->nodes[i];
        struct suspect s;
        if (!can_be_checked(p->tape, node))
            continue;
        take_node(p, node, &s);
        if (items > 0 ? fails_in_items(&s, &some, seam)
                      : fails_on_line(&s, options->seed) && fails_on_line(&s, options->seed + 1))
            return i;
    }
    return SIZE_MAX;
}

/* A rule is mostly wrong everywhere, which a few items show at once. It may be wrong in one item of many
   alone, which a line shows. */
enum { FEW_ITEMS = 16 };

size_t ct__find_guilty(struct ct__problem *p, const struct ct_check_options *options,
                       const struct ct__check_seam *seam, const char **name) {
    /* The forward nodes alone: checking each for itself covers the rest. */
    if (ct__problem_start(p, 1, options->seed) != CT_OK)
        return SIZE_MAX;
    size_t few = options->max_items < FEW_ITEMS ? options->max_items : FEW_ITEMS;
    size_t found = find_with(p, few, options, seam);
    if (found == SIZE_MAX)
        found = find_with(p, 0, options, seam);
    if (found == SIZE_MAX && options->max_items > few)
        found = find_with(p, options->max_items, options, seam);
    if (found != SIZE_MAX)
        *name = ct__op_title(p->tape, &p->tape->nodes[found]);
    return found;
}
