#include "autodiff/label.h"

#include "tensor/alloc.h"
#include "tensor/fail.h"
#include "tensor/options.h"

struct listing {
    struct ct__sink sink;
    const ct_tape *tape;
    struct ct_dot_options options;
    bool scopes;    /* whether lines name the scope */
    uint8_t *meant; /* ct__find_meant() */
};

static void put_scope(struct listing *l, const struct ct__node *node) {
    char scope[CT__SCOPE_BYTES];
    ct__describe_scope(l->tape, l->scopes ? node->scope : CT__NO_NODE, scope);
    if (!scope[0])
        return;
    ct__put(&l->sink, " in ");
    ct__put_text(&l->sink, CT__LISTING, scope);
}

static bool has_faulty_input(const struct listing *l, const struct ct__node *node) {
    const uint32_t *inputs = ct__inputs(l->tape, node);
    for (int i = 0; i < node->inputs; i++)
        if (ct__is_fault(l->tape, l->meant, inputs[i]))
            return true;
    return false;
}

static void put_numbers(struct listing *l, size_t index) {
    struct ct__sink *s = &l->sink;
    const struct ct__node *node = &l->tape->nodes[index];
    bool fault = l->options.faults && ct__is_fault(l->tape, l->meant, index);
    uint32_t gradient = l->options.gradients ? ct__gradient_of(l->tape, index) : CT__NO_NODE;
    struct ct__summary summary = {0};
    if (node->value && (l->options.values || fault))
        ct__summarise(node->value, &summary);
    if (l->options.values && summary.items > summary.nans + summary.infinities &&
        !ct__is_number(node)) {
        ct__put(s, " {");
        ct__put_summary(s, CT__LISTING, &summary, ", ");
        ct__put(s, "}");
    }
    if (gradient != CT__NO_NODE && l->tape->nodes[gradient].value) {
        ct__put(s, " |gradient| ");
        ct__put_short(s, ct__length_of(l->tape->nodes[gradient].value));
    }
    if (fault) {
        ct__put(s, has_faulty_input(l, node) ? " NOT FINITE: " : " NOT FINITE first: ");
        ct__put_trouble(s, &summary);
    }
}

static void put_node(struct listing *l, size_t index) {
    struct ct__sink *s = &l->sink;
    const ct_tape *tape = l->tape;
    const struct ct__node *node = &tape->nodes[index];
    ct__put_number(s, (int64_t)index);
    ct__put(s, " ");
    ct__put_call(s, CT__LISTING, tape, node);
    if (l->options.attributes)
        ct__put_attribute(s, " ", tape, node);
    if (!node->value || l->options.dtypes || l->options.shapes) {
        ct__put(s, " ");
        ct__put_type(s, CT__LISTING, node->value, l->options.dtypes, l->options.shapes);
    }
    if (ct__is_number(node)) {
        ct__put(s, " = ");
        ct__put_item(s, CT__LISTING, node->value);
    }
    const char *name = ct__node_name(tape, node);
    if (name) {
        ct__put(s, " \"");
        ct__put_text(s, CT__LISTING, name);
        ct__put(s, "\"");
    }
    put_scope(l, node);
    if (node->primal != CT__NO_NODE) {
        ct__put(s, " pull of ");
        ct__put_number(s, node->primal);
    }
    put_numbers(l, index);
    ct__put(s, "\n");
}

static void put_rest(struct listing *l, size_t limit) {
    if (limit == l->tape->length)
        return;
    ct__put(&l->sink, "and ");
    ct__put_number(&l->sink, (int64_t)(l->tape->length - limit));
    ct__put(&l->sink, " more nodes\n");
}

static ct_status write_listing(const char *who, struct listing *l) {
    size_t limit = l->tape->length, most = l->options.max_nodes;
    if (most > 0 && most < limit)
        limit = most;
    for (size_t i = 0; i < limit && !l->sink.stopped; i++)
        put_node(l, i);
    put_rest(l, limit);
    return ct__sink_end(&l->sink, who);
}

static ct_status check_call(const char *who, const ct_tape *tape, ct_write_fn *write) {
    if (!tape)
        return ct__fail_null_operand(who);
    return write ? CT_OK : ct__fail(CT_EINVAL, who, "there is no function to write with");
}

ct_status ct_tape_text(const ct_tape *tape, ct_write_fn *write, void *context) {
    struct listing l = {.sink = {.write = write, .context = context}, .tape = tape};
    ct_status status = check_call(__func__, tape, write);
    l.options.shapes = l.options.dtypes = true;
    return status ? status : write_listing(__func__, &l);
}

ct_status ct_tape_text_with(const ct_tape *tape, const struct ct_dot_options *options,
                            ct_write_fn *write, void *context) {
    struct listing l = {.sink = {.write = write, .context = context},
                        .tape = tape,
                        .options = ct_dot_options_init(),
                        .scopes = true};
    ct_status status = check_call(__func__, tape, write);
    if (!status)
        status = ct__take_options(__func__, "ct_dot_options_init", &l.options, sizeof l.options,
                                  options);
    if (!status && l.options.faults && !ct__find_meant(tape, &l.meant))
        status =
            ct__fail(CT_ENOMEM, __func__, "out of memory for a listing of %zu nodes", tape->length);
    if (!status)
        status = write_listing(__func__, &l);
    ct__free(l.meant);
    return status;
}
