/* One question of the gradient check, and the answers to it of the tape, of dual numbers and of
   moved values. Every evaluation rewinds the same tape. */

#include "autodiff/check_impl.h"
#include "autodiff/derivatives_impl.h"

#include "dual/ct_dual.h"
#include "tensor/alloc.h"
#include "tensor/ct_random.h"
#include "tensor/fail.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* --- inputs --- */

static bool is_real(const ct_tensor *t) {
    const ct_scalar *scalar = ct_dtype(t);
    return (scalar->traits & CT_DIFFERENTIABLE) && scalar->level == 0;
}

static ct_status no_memory(const struct ct__problem *p) {
    return ct__fail(CT_ENOMEM, p->who, "out of memory");
}

/* An error of a call that this one made, in this one's name. */
static ct_status pass_error(const struct ct__problem *p) {
    ct_status code = ct_error()->code == CT_OK ? CT_ENOMEM : ct_error()->code;
    return ct__fail(code, p->who, "%s", ct_error()->message);
}

static ct_status open_real(struct ct__problem *p, struct ct__check_input *input,
                           const ct_tensor *t) {
    input->is_real = true;
    input->given = ct_dtype(t) == CT_F64 ? ct_copy(t) : ct_astype(t, CT_F64);
    input->dual = ct_dual(input->given, NULL);
    if (!input->given || !input->dual)
        return pass_error(p);
    input->items = ct__array(ct_count(t), sizeof(double));
    if (!input->items)
        return no_memory(p);
    ct_status status = ct_to_doubles(input->given, ct_count(t), input->items);
    return status == CT_OK ? CT_OK : pass_error(p);
}

static ct_status open_input(struct ct__problem *p, size_t i, const ct_tensor *t, bool active) {
    struct ct__check_input *input = &p->inputs[i];
    if (!t)
        return ct__fail_input(p->who, i);
    if (ct_dtype(t)->level > 0)
        return ct__fail(CT_EDTYPE, p->who, "the input %zu is %s: give its values alone", i,
                        ct_dtype(t)->name);
    if (is_real(t)) {
        input->is_active = active;
        p->active += active;
        return open_real(p, input, t);
    }
    input->given = ct_copy(t);
    return input->given ? CT_OK : pass_error(p);
}

ct_status ct__problem_open(struct ct__problem *p, size_t n, const ct_tensor *const *inputs,
                           const bool *active) {
    p->n = n;
    p->inputs = ct__array(n, sizeof *p->inputs);
    p->vars = ct__array(n, 4 * sizeof *p->vars);
    p->cotangents = ct__array(n + 1, sizeof *p->cotangents);
    if (!p->inputs || !p->vars || !p->cotangents)
        return no_memory(p);
    p->x = p->vars + n;
    p->dx = p->x + n;
    p->out = p->dx + n;
    p->tape = ct_tape_new();
    if (!p->tape)
        return pass_error(p);
    p->start = ct_tape_mark(p->tape);
    for (size_t i = 0; i < n; i++) {
        ct_status status = open_input(p, i, inputs[i], active ? active[i] : true);
        if (status != CT_OK)
            return status;
    }
    if (p->active == 0)
        return ct__fail(CT_EINVAL, p->who, "none of the %zu inputs is of a differentiable type", n);
    return CT_OK;
}

static void drop_outputs(struct ct__problem *p) {
    for (size_t k = 0; k < p->outputs; k++)
        ct_free(p->cotangents[k]);
    ct__free(p->weights);
    p->weights = NULL;
    p->outputs = 0;
}

void ct__problem_close(struct ct__problem *p) {
    drop_outputs(p);
    ct_free(p->u);
    for (size_t i = 0; p->inputs && i < p->n; i++) {
        struct ct__check_input *input = &p->inputs[i];
        ct_free(input->given);
        ct_free(input->dual);
        ct_free(input->moved);
        ct__free(input->items);
    }
    ct_tape_free(p->tape);
    ct__free(p->inputs);
    ct__free(p->vars);
    ct__free(p->cotangents);
}

/* --- recording --- */

/* A tensor of weights on the tape, as a constant of the type in which it is recorded. */
static ct_var weights_on_tape(struct ct__problem *p, const ct_tensor *t, const ct_scalar *scalar) {
    ct_tensor *lifted = scalar == CT_F64 ? ct_copy(t) : ct_dual(t, NULL);
    ct_var v = ct_constant(p->tape, lifted, NULL);
    ct_free(lifted);
    return v;
}

static ct_status tape_error(const struct ct__problem *p) {
    return ct__fail(ct_tape_status(p->tape), p->who, "%s", ct_tape_message(p->tape));
}

static ct_status check_result(struct ct__problem *p, ct_var y, const ct_scalar *scalar) {
    if (ct_tape_status(p->tape) != CT_OK)
        return tape_error(p);
    if (ct_var_is_null(y) || y.tape != p->tape)
        return ct__fail(CT_EINVAL, p->who, "the function returned no variable of its tape");
    const ct_tensor *value = ct_value(y);
    if (!value)
        return pass_error(p);
    if (ct_dtype(value) != scalar)
        return ct__fail(CT_EDTYPE, p->who, "the function returned %s for inputs of %s%s",
                        ct_dtype(value)->name, scalar->name,
                        ct_dtype(value)->traits & CT_DIFFERENTIABLE
                            ? ": its constants must have the type of its inputs"
                            : "");
    return CT_OK;
}

/* Once F has been seen, it must keep its shape. */
static ct_status check_shapes(struct ct__problem *p) {
    for (size_t k = 0; k < p->outputs; k++) {
        const ct_tensor *now = ct_value(p->out[k]), *first = p->cotangents[k];
        if (!now)
            return pass_error(p);
        if (!ct_same_shape(now, first))
            return ct__fail(CT_EINVAL, p->who,
                            "the function returned another shape than before: it must record the "
                            "same computation each time");
    }
    return CT_OK;
}

/* Records F on the rewound tape; p->x and p->out hold its inputs and outputs afterwards. */
static ct_status record(struct ct__problem *p, const ct_scalar *scalar) {
    ct_tape_rewind(p->tape, p->start);
    size_t active = 0;
    for (size_t i = 0; i < p->n; i++) {
        const struct ct__check_input *input = &p->inputs[i];
        bool lifted = input->is_real && scalar != CT_F64;
        const ct_tensor *value = input->moved ? input->moved : lifted ? input->dual : input->given;
        p->vars[i] =
            input->is_active ? ct_leaf(p->tape, value, NULL) : ct_constant(p->tape, value, NULL);
        if (input->is_active)
            p->x[active++] = p->vars[i];
    }
    if (ct_tape_status(p->tape) != CT_OK) // the function may look at its inputs
        return tape_error(p);
    ct_var y = p->fn(p->context, p->tape, p->n, p->vars);
    ct_status status = check_result(p, y, scalar);
    if (status != CT_OK)
        return status;
    p->out[0] = y;
    if (p->order == 2) {
        ct_var u = weights_on_tape(p, p->u, scalar);
        if (ct_grad(y, u, active, p->x, p->out) != CT_OK)
            return tape_error(p);
    }
    return check_shapes(p);
}

/* The items of all outputs, or their tangents. */
static ct_status read_outputs(struct ct__problem *p, const ct_scalar *scalar, double *items) {
    size_t at = 0;
    for (size_t k = 0; k < p->outputs; k++) {
        const ct_tensor *value = ct_value(p->out[k]);
        ct_tensor *part = scalar == CT_F64 ? ct_copy(value) : ct_dual_tangent(value);
        size_t count = part ? ct_count(part) : 0;
        ct_status status = part ? ct_to_doubles(part, count, items + at) : CT_EINVAL;
        ct_free(part);
        if (status != CT_OK)
            return pass_error(p);
        at += count;
    }
    return CT_OK;
}

/* --- weights --- */

/* Of random sign and never small, so that no item of a gradient can hide. */
static ct_tensor *draw_weights(ct_random *random, const ct_tensor *like) {
    size_t count = ct_count(like);
    double *items = ct__array(count, sizeof *items);
    if (!items)
        return ct__fail_null(CT_ENOMEM, __func__, "out of memory");
    for (size_t k = 0; k < count; k++) {
        double size = 0.5 + ct_random_uniform(random);
        items[k] = ct_random_uniform(random) < 0.5 ? -size : size;
    }
    if (ct_rank(like) == 0)
        items[0] = 1;
    ct_tensor *t = ct_from_doubles(CT_F64, ct_rank(like), ct_shape(like), count, items);
    ct__free(items);
    return t;
}

static ct_status draw_cotangents(struct ct__problem *p, ct_random *random) {
    p->size = 0;
    for (size_t k = 0; k < (p->order == 1 ? 1 : p->active); k++) {
        const ct_tensor *value = ct_value(p->out[k]);
        p->cotangents[k] = value ? draw_weights(random, value) : NULL;
        if (!p->cotangents[k])
            return pass_error(p);
        p->outputs = k + 1;
        p->size += ct_count(value);
    }
    return CT_OK;
}

/* The values at the inputs, twice: a function that differs has no derivative to check. */
static ct_status read_base(struct ct__problem *p) {
    ct_status status = read_outputs(p, CT_F64, p->base);
    if (status == CT_OK)
        status = record(p, CT_F64);
    if (status == CT_OK)
        status = read_outputs(p, CT_F64, p->moved);
    if (status == CT_OK && memcmp(p->base, p->moved, p->size * sizeof *p->base) != 0)
        status = ct__fail(CT_EINVAL, p->who,
                          "the function gave another value when called again: it must record the "
                          "same computation each time");
    return status;
}

ct_status ct__problem_start(struct ct__problem *p, int order, uint64_t seed) {
    drop_outputs(p);
    p->order = order;
    ct_random random = ct_random_of(seed, (uint64_t)order);
    ct_status status = record(p, CT_F64);
    if (status == CT_OK)
        status = draw_cotangents(p, &random);
    if (status != CT_OK)
        return status;
    p->weights = ct__array(p->size, 3 * sizeof *p->weights);
    if (!p->weights)
        return no_memory(p);
    p->base = p->weights + p->size;
    p->moved = p->base + p->size;
    for (size_t k = 0, at = 0; k < p->outputs; at += ct_count(p->cotangents[k++]))
        ct_to_doubles(p->cotangents[k], ct_count(p->cotangents[k]), p->weights + at);
    if (order == 1) {
        ct_free(p->u);
        p->u = ct_copy(p->cotangents[0]);
    }
    return read_base(p);
}

/* --- the three answers --- */

ct_status ct__problem_tape(struct ct__problem *p, size_t output, ct_tensor **gradients) {
    ct_status status = record(p, CT_F64);
    if (status != CT_OK)
        return status;
    ct_var w = weights_on_tape(p, p->cotangents[output], CT_F64);
    if (ct_grad(p->out[output], w, p->active, p->x, p->dx) != CT_OK)
        return tape_error(p);
    for (size_t i = 0; i < p->active; i++) {
        gradients[i] = ct_copy(ct_value(p->dx[i]));
        if (!gradients[i]) {
            status = pass_error(p);
            while (i-- > 0)
                ct_free(gradients[i]);
            return status;
        }
    }
    return CT_OK;
}

/* Evaluates F with one input replaced. */
static ct_status evaluate(struct ct__problem *p, size_t i, ct_tensor *replacement,
                          const ct_scalar *scalar) {
    if (!replacement)
        return pass_error(p);
    p->inputs[i].moved = replacement;
    ct_status status = record(p, scalar);
    if (status == CT_OK)
        status = read_outputs(p, scalar, p->moved);
    ct_free(replacement);
    p->inputs[i].moved = NULL;
    return status;
}

ct_status ct__problem_dual(struct ct__problem *p, size_t i, size_t j, double *answer) {
    const ct_tensor *x = p->inputs[i].given;
    ct_tensor *seed = ct_zeros(CT_F64, ct_rank(x), ct_shape(x));
    double *items = ct_data_for_write(seed);
    if (items)
        items[j] = 1;
    ct_tensor *seeded = items ? ct_dual(x, seed) : NULL;
    ct_free(seed);
    ct_status status = evaluate(p, i, seeded, CT_DUAL64);
    if (status != CT_OK)
        return status;
    long double sum = 0;
    for (size_t k = 0; k < p->size; k++)
        sum += (long double)p->weights[k] * (long double)p->moved[k];
    *answer = (double)sum;
    return CT_OK;
}

ct_status ct__problem_change(struct ct__problem *p, size_t i, size_t j, double t,
                             struct ct__change *change) {
    struct ct__check_input *input = &p->inputs[i];
    const ct_tensor *x = input->given;
    double kept = input->items[j];
    input->items[j] = kept + t;
    ct_tensor *moved = ct_from_doubles(CT_F64, ct_rank(x), ct_shape(x), ct_count(x), input->items);
    input->items[j] = kept;
    ct_status status = evaluate(p, i, moved, CT_F64);
    if (status != CT_OK)
        return status;
    /* What does not depend on the item has no rounding errors that differ; but an output may be so
       large that the change was lost in it. */
    long double value = 0, noise = 0, unmoved = 0;
    for (size_t k = 0; k < p->size; k++) {
        long double difference = (long double)p->moved[k] - (long double)p->base[k];
        long double size = fabsl((long double)p->weights[k] * (long double)p->moved[k]);
        value += (long double)p->weights[k] * difference;
        if (difference != 0)
            noise += size;
        else if (size > unmoved)
            unmoved = size;
    }
    *change = (struct ct__change){(double)value, 4 * DBL_EPSILON * (double)(noise + unmoved)};
    return CT_OK;
}
