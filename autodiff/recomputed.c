/* Recomputed segments: a function as one op, whose intermediates live on a tape of their own while its
   value or its gradient is computed.

   Order 0 is the function F. Order k + 1 is the gradient of order k for given cotangents, its parts one after the
   other in a vector: again a function, so its gradient is order k + 2 in the same way, and every order is recomputed.

   What had been gathered for an input before the segment's turn is passed in as a seed, and the gradient
   takes it over. So the contributions of a segment are added one by one, as they are without it. */

#include "autodiff/custom_impl.h"
#include "autodiff/derivatives_impl.h"

#include "tensor/alloc.h"
#include "tensor/ct_index.h"
#include "tensor/fail.h"

#include <stddef.h>
#include <string.h>

static const char who[] = "ct_var_recomputed";

enum { MOST_INPUTS = 127 };

/* What is known of an input of the order before. */
enum { WANTED = 1, SEEDED = 2 };

struct segment {
    ct_function *fn;
    void *context;
    bool ieee;
    uint8_t inputs;   /* of fn */
    uint8_t distinct; /* of those: the inputs of order 0 */
    uint8_t order;
    /* Per input of fn which of the distinct ones it is; then per order from 1 on, what is known of
       each input of the order before. */
    uint8_t data[];
};

/* One order of a segment. Its inputs are a cotangent, the seeds, and the inputs of the order before. */
struct level {
    size_t inner; /* inputs of the order before */
    size_t seeds, wanted;
    const uint8_t *known; /* of each inner input */
    size_t end;           /* of its part of the data */
};

static struct level level_of(const struct segment *s, int order) {
    struct level l = {.inner = s->distinct, .end = s->inputs};
    for (int k = 1; k <= order; k++) {
        if (k > 1)
            l.inner += 1 + l.seeds;
        l.known = s->data + l.end;
        l.end += l.inner;
        l.seeds = l.wanted = 0;
        for (size_t i = 0; i < l.inner; i++) {
            l.wanted += (l.known[i] & WANTED) != 0;
            l.seeds += (l.known[i] & SEEDED) != 0;
        }
    }
    return l;
}

/* --- recording an order openly, on a tape of its own --- */

/* Room for variables; NULL after the sticky error. Not on the stack: segments may nest, on a small one. */
static ct_var *room(ct_tape *tape, size_t n) {
    ct_var *vars = ct__alloc(n * sizeof *vars);
    if (!vars)
        ct__tape_fail_in(who, tape, CT_ENOMEM, "out of memory for %zu variables", n);
    return vars;
}

static ct_var record_order(const struct segment *s, int order, ct_tape *tape, const ct_var *in);

/* The gradients of an order for the wanted inputs; false after an error of the tape. */
static bool record_parts(const struct segment *s, int order, ct_tape *tape, const ct_var *in,
                         ct_var *parts) {
    struct level l = level_of(s, order);
    const ct_var *seed = in + 1, *inner = in + 1 + l.seeds;
    size_t outputs = 0, wanted = 0;
    ct_var *y = room(tape, 2 * (l.seeds + 1) + l.wanted);
    if (!y)
        return false;
    ct_var *cotangents = y + l.seeds + 1, *x = cotangents + l.seeds + 1;
    for (size_t i = 0; i < l.inner; i++) {
        if (l.known[i] & WANTED)
            x[wanted++] = inner[i];
        if (!(l.known[i] & SEEDED))
            continue;
        y[outputs] = inner[i];
        cotangents[outputs] = seed[outputs];
        outputs++;
    }
    y[outputs] = record_order(s, order - 1, tape, inner);
    cotangents[outputs++] = in[0];
    bool done = ct_tape_status(tape) == CT_OK &&
                ct_grad_all(outputs, y, cotangents, wanted, x, parts) == CT_OK;
    ct__free(y);
    return done;
}

static ct_var record_function(const struct segment *s, ct_tape *tape, const ct_var *in) {
    ct_var *given = room(tape, s->inputs), y = ct_var_null();
    for (size_t i = 0; given && i < s->inputs; i++)
        given[i] = in[s->data[i]];
    if (given)
        y = s->fn(s->context, tape, s->inputs, given);
    ct__free(given);
    if (ct_tape_status(tape) == CT_OK && (y.tape != tape || ct_var_is_null(y)))
        return ct__tape_fail(tape, CT_EINVAL, "the function returned no variable of its tape");
    return y;
}

static ct_var record_order(const struct segment *s, int order, ct_tape *tape, const ct_var *in) {
    if (order == 0)
        return record_function(s, tape, in);
    size_t wanted = level_of(s, order).wanted;
    ct_var *parts = room(tape, wanted), flat = {tape, CT__NO_NODE, 0};
    if (parts && record_parts(s, order, tape, in, parts)) {
        for (size_t i = 0; i < wanted; i++) {
            const ct_tensor *value = ct_value(parts[i]);
            int64_t count = value ? (int64_t)ct_count(value) : 0;
            parts[i] = ct_var_reshape(parts[i], 1, &count);
        }
        flat = ct_var_concat(wanted, parts, 0);
    }
    ct__free(parts);
    return flat;
}

/* --- the value of a node --- */

/* The items of all parts, one after the other. */
static __attribute__((noinline)) ct_tensor *flat_value(const ct_var *parts, size_t n) {
    ct_tensor *rows[CT__CUSTOM_INPUTS] = {NULL}, *flat = NULL;
    bool done = true;
    for (size_t i = 0; i < n && done; i++) {
        const ct_tensor *value = ct_value(parts[i]);
        rows[i] = value ? ct_reshape(value, 1, (int64_t[]){(int64_t)ct_count(value)}) : NULL;
        done = rows[i] != NULL;
    }
    if (done)
        flat = ct_concat((int)n, (const ct_tensor *const *)rows, 0);
    ct__free_all(n, rows);
    return flat;
}

/* The gradients of an order above 0. */
static ct_tensor *gradient_on(const struct segment *s, ct_tape *tape, const ct_var *in) {
    size_t wanted = level_of(s, s->order).wanted;
    ct_var *parts = room(tape, wanted);
    bool done = parts && record_parts(s, s->order, tape, in, parts);
    ct_tensor *flat = done ? flat_value(parts, wanted) : NULL;
    ct__free(parts);
    return flat;
}

static ct_tensor *value_on(const struct segment *s, ct_tape *tape, size_t n,
                           const ct_tensor *const *inputs) {
    ct_var *in = room(tape, n);
    ct_tensor *value = NULL;
    for (size_t i = 0; in && i < n; i++)
        in[i] = ct__is_active(inputs[i]) ? ct_leaf(tape, inputs[i], NULL)
                                         : ct_constant(tape, inputs[i], NULL);
    if (ct_tape_status(tape) == CT_OK && s->order > 0) {
        value = gradient_on(s, tape, in);
    } else if (ct_tape_status(tape) == CT_OK) {
        ct_var y = record_order(s, 0, tape, in);
        value = ct_tape_status(tape) == CT_OK ? ct_copy(ct_value(y)) : NULL;
    }
    ct__free(in);
    return value;
}

static ct_tensor *run(void *context, size_t n, const ct_tensor *const *inputs) {
    const struct segment *s = context;
    ct_tape *tape = ct_tape_new();
    if (!tape)
        return NULL;
    ct_tape_set_ieee(tape, s->ieee);
    ct_tensor *value = value_on(s, tape, n, inputs);
    if (ct_tape_status(tape) != CT_OK)
        ct__fail(ct_tape_status(tape), who, "%s", ct_tape_message(tape));
    ct_tape_free(tape);
    return value;
}

/* --- the rule --- */

static void pull_back(void *context, const struct ct_custom_pull *pull, ct_var *gradients);

static const struct ct_custom_op recomputed = {
    .size = sizeof(struct ct_custom_op),
    .name = "recomputed",
    .doc = "A function as one op, whose intermediates are computed again when they are needed.",
    .run = run,
    .generic = true,
    .vjp = pull_back,
};
static const struct ct_custom_op recomputed_grad = {
    .size = sizeof(struct ct_custom_op),
    .name = "recomputed_grad",
    .doc = "The gradients of a recomputed function, one after the other in a vector.",
    .run = run,
    .generic = true,
    .vjp = pull_back,
};

/* The segment of the order after, without what is known of its inputs; NULL after the sticky error. */
static struct segment *next_order(const struct segment *s, const struct ct_custom_pull *pull,
                                  size_t *bytes) {
    size_t old = offsetof(struct segment, data) + level_of(s, s->order).end;
    *bytes = old + pull->n;
    struct segment *next = ct__alloc(*bytes);
    if (!next) {
        ct__tape_fail(pull->tape, CT_ENOMEM, "out of memory");
        return NULL;
    }
    memcpy(next, s, old);
    next->order++;
    next->ieee = ct_tape_ieee(pull->tape);
    return next;
}

/* Cuts the vector of gradients up. */
static void cut(const struct ct_custom_pull *pull, ct_var flat, ct_var *gradients) {
    int64_t at = 0;
    for (size_t i = 0; i < pull->n; i++) {
        if (!pull->wanted[i])
            continue;
        const ct_tensor *x = ct_value(pull->inputs[i]);
        int64_t count = x ? (int64_t)ct_count(x) : 0;
        ct_var row = ct_var_slice(flat, 0, at, at + count, 1);
        gradients[i] = x ? ct_var_reshape(row, ct_rank(x), ct_shape(x)) : row;
        at += count;
    }
}

static void pull_back(void *context, const struct ct_custom_pull *pull, ct_var *gradients) {
    ct_tape *tape = pull->tape;
    size_t bytes, n = 0;
    struct segment *s = next_order(context, pull, &bytes);
    ct_var *in = s ? room(tape, 2 * pull->n + 1) : NULL;
    if (!in) {
        ct__free(s);
        return;
    }
    uint8_t *known = (uint8_t *)s + bytes - pull->n;
    in[n++] = pull->cotangent;
    for (size_t i = 0; i < pull->n; i++) {
        uint32_t gathered = tape->sweep[pull->inputs[i].index];
        bool is_seeded = pull->wanted[i] && gathered != CT__NO_NODE;
        known[i] = (uint8_t)((pull->wanted[i] ? WANTED : 0) | (is_seeded ? SEEDED : 0));
        if (is_seeded)
            in[n++] = (ct_var){tape, gathered, tape->nodes[gathered].generation};
    }
    for (size_t i = 0; i < pull->n; i++)
        in[n++] = pull->inputs[i];
    if (n <= CT__CUSTOM_INPUTS)
        cut(pull, ct__record_custom(&recomputed_grad, s, bytes, true, n, in), gradients);
    else
        ct__tape_fail(tape, CT_EUNSUPPORTED,
                      "a derivative of this order has %zu inputs and there can be %d", n,
                      CT__CUSTOM_INPUTS);
    ct__free(in);
    ct__free(s);
}

/* --- the public call --- */

static bool is_same(ct_var a, ct_var b) {
    return a.tape == b.tape && a.index == b.index && a.generation == b.generation;
}

/* Which of the distinct inputs each is: one given twice is one leaf of the segment's tape. */
static void tell_apart(struct segment *s, size_t n, const ct_var *inputs, ct_var *distinct) {
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        while (k < s->distinct && !is_same(distinct[k], inputs[i]))
            k++;
        s->data[i] = (uint8_t)k;
        if (k == s->distinct)
            distinct[s->distinct++] = inputs[i];
    }
}

ct_var ct_var_recomputed(ct_function *fn, void *context, size_t n, const ct_var *inputs) {
    if (!fn || !inputs) {
        ct__fail(CT_EINVAL, who, "the function or the inputs are NULL");
        return ct_var_null();
    }
    if (n == 0 || n > MOST_INPUTS) {
        ct__fail(CT_EINVAL, who, "%zu inputs: there can be 1 to %d", n, MOST_INPUTS);
        return n ? ct__tape_fail_in(who, inputs[0].tape, CT_EINVAL, "%s", ct_error()->message)
                 : ct_var_null();
    }
    size_t bytes = offsetof(struct segment, data) + n;
    ct_var *distinct = room(inputs[0].tape, n);
    struct segment *s = distinct ? ct__alloc_zero(bytes) : NULL;
    if (!s) {
        ct__free(distinct);
        return ct__tape_fail_in(who, inputs[0].tape, CT_ENOMEM, "out of memory");
    }
    s->fn = fn;
    s->context = context;
    s->ieee = ct_tape_ieee(inputs[0].tape);
    s->inputs = (uint8_t)n;
    tell_apart(s, n, inputs, distinct);
    ct_var y = ct__record_custom(&recomputed, s, bytes, true, s->distinct, distinct);
    ct__free(distinct);
    ct__free(s);
    return y;
}
