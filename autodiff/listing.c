#include "autodiff/label.h"

#include "tensor/fail.h"

static void put_node(struct ct__sink *s, const ct_tape *tape, size_t index) {
    const struct ct__node *node = &tape->nodes[index];
    ct__put_number(s, (int64_t)index);
    ct__put(s, " ");
    ct__put_call(s, CT__LISTING, tape, node);
    ct__put(s, " ");
    ct__put_type(s, CT__LISTING, node->value, true, true);
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
    if (node->primal != CT__NO_NODE) {
        ct__put(s, " pull of ");
        ct__put_number(s, node->primal);
    }
    ct__put(s, "\n");
}

ct_status ct_tape_text(const ct_tape *tape, ct_write_fn *write, void *context) {
    if (!tape)
        return ct__fail_null_operand(__func__);
    if (!write)
        return ct__fail(CT_EINVAL, __func__, "there is no function to write with");
    struct ct__sink sink = {.write = write, .context = context};
    for (size_t i = 0; i < tape->length && !sink.stopped; i++)
        put_node(&sink, tape, i);
    return ct__sink_end(&sink, __func__);
}
