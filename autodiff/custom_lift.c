/* Custom ops on operands that their run does not know: dual numbers, by jvp or by the transpose of
   vjp, and the marks of sparse patterns. */

#include "autodiff/custom_impl.h"

#include "autodiff/derivatives_impl.h"
#include "autodiff/sparse_impl.h"
#include "dual/ct_dual.h"
#include "tensor/ct_convert.h"
#include "tensor/fail.h"

#include <string.h>

static const char who[] = "ct_var_custom";

enum { MOST_TANGENTS = 8 };

/* One evaluation over duals: what is plain in it, and one tangent at a time. */
struct lifted {
    const struct ct__custom *custom;
    size_t n;
    const ct_tensor *const *in;
    bool is_dual[CT__CUSTOM_INPUTS];
    ct_tensor *value[CT__CUSTOM_INPUTS], *tangent[CT__CUSTOM_INPUTS];
    ct_tensor *output;
};

static bool is_differentiable(const ct_tensor *t) {
    return ct_dtype(t)->traits & CT_DIFFERENTIABLE;
}

static bool take_values(struct lifted *l) {
    for (size_t i = 0; i < l->n; i++) {
        l->is_dual[i] = ct_dtype(l->in[i])->base != NULL;
        l->value[i] = l->is_dual[i] ? ct_dual_value(l->in[i]) : ct_copy(l->in[i]);
        if (!l->value[i])
            return false;
    }
    return true;
}

/* Those numbered j; NULL where an input has none. */
static bool take_tangents(struct lifted *l, int j) {
    for (size_t i = 0; i < l->n; i++) {
        l->tangent[i] = l->is_dual[i] ? ct_dual_tangent_at(l->in[i], j) : NULL;
        if (l->is_dual[i] && !l->tangent[i])
            return false;
    }
    return true;
}

/* --- by jvp --- */

static bool fits_output(const struct lifted *l, const ct_tensor *t) {
    if (ct_dtype(t) == ct_dtype(l->output) && ct_same_shape(t, l->output))
        return true;
    char have[CT__SHAPE_TEXT_BYTES], want[CT__SHAPE_TEXT_BYTES];
    ct__format_shape(have, sizeof have, ct_rank(t), ct_shape(t));
    ct__format_shape(want, sizeof want, ct_rank(l->output), ct_shape(l->output));
    ct__fail(CT_ERULE, who, "jvp returned %s%s and the output is %s%s", ct_dtype(t)->name, have,
             ct_dtype(l->output)->name, want);
    return false;
}

/* Whether a result is one of the arguments, which are not its caller's to give away. */
static bool is_argument(const struct lifted *l, const ct_tensor *t) {
    bool is = t == l->output;
    for (size_t i = 0; i < l->n && !is; i++)
        is = t == l->value[i] || t == l->tangent[i];
    return is;
}

static ct_tensor *tangent_by_jvp(struct lifted *l) {
    struct ct__pending before;
    ct__put_aside(&before);
    ct_tensor *t = l->custom->op.jvp(l->custom->context, l->n, (const ct_tensor *const *)l->value,
                                     (const ct_tensor *const *)l->tangent, l->output);
    if (!t && ct_error()->code == CT_OK)
        ct__fail(CT_EINVAL, who, "jvp returned NULL without an error");
    if (!t)
        return NULL;
    if (is_argument(l, t))
        return ct__fail_null(CT_EINVAL, who,
                             "jvp returned one of its arguments itself: return ct_copy() of it");
    ct__put_back(&before);
    if (fits_output(l, t))
        return t;
    ct_free(t);
    return NULL;
}

/* --- by the transpose of vjp ---

   The gradient g(u) of <u, f> is linear in u, g(u) = J^T u; so the gradient of <g(u), t> for u is J t,
   wherever u stands: at zeros. (J. Townsend, A new trick for calculating Jacobian vector products, 2017) */

struct transpose {
    ct_tape *tape;
    ct_var u, gradient[CT__CUSTOM_INPUTS];
    size_t active;
};

static ct_status tape_error(const ct_tape *tape) {
    return ct__fail(ct_tape_status(tape), who, "%s", ct_tape_message(tape));
}

static bool open_transpose(struct transpose *t, const struct lifted *l) {
    ct_var x[CT__CUSTOM_INPUTS], active[CT__CUSTOM_INPUTS];
    t->active = 0;
    t->tape = ct_tape_new();
    if (!t->tape)
        return false;
    for (size_t i = 0; i < l->n; i++) {
        bool is_active = l->is_dual[i];
        x[i] = is_active ? ct_leaf(t->tape, l->value[i], NULL)
                         : ct_constant(t->tape, l->value[i], NULL);
        if (is_active)
            active[t->active++] = x[i];
    }
    ct_var y = ct__record_custom_again(l->custom, l->output, l->n, x);
    ct_tensor *zeros = ct_zeros(ct_dtype(l->output), ct_rank(l->output), ct_shape(l->output));
    t->u = ct_leaf(t->tape, zeros, NULL);
    ct_free(zeros);
    ct_grad(y, t->u, t->active, active, t->gradient);
    if (ct_tape_status(t->tape) == CT_OK)
        return true;
    tape_error(t->tape);
    return false;
}

static ct_tensor *tangent_by_transpose(struct transpose *t, struct lifted *l) {
    ct_var along[CT__CUSTOM_INPUTS], product;
    for (size_t i = 0, k = 0; i < l->n; i++)
        if (l->is_dual[i])
            along[k++] = ct_constant(t->tape, l->tangent[i], NULL);
    ct_grad_all(t->active, t->gradient, along, 1, &t->u, &product);
    if (ct_tape_status(t->tape) == CT_OK)
        return ct_copy(ct_value(product));
    tape_error(t->tape);
    return NULL;
}

/* --- the dual --- */

static bool make_tangents(struct lifted *l, int count, ct_tensor *tangents[]) {
    const struct ct_custom_op *op = &l->custom->op;
    bool plain = ct_dtype(l->output)->level == 0, by_jvp = op->jvp && (plain || !op->vjp);
    struct transpose t = {.tape = NULL};
    bool done = true;
    if (by_jvp && !plain) {
        ct__fail(CT_ERULE, who,
                 "%s has no second derivative in forward mode: its record has no vjp", op->name);
        return false;
    }
    if (!by_jvp)
        done = open_transpose(&t, l);
    for (int j = 0; done && j < count; j++) {
        done = take_tangents(l, j);
        if (done)
            tangents[j] = by_jvp ? tangent_by_jvp(l) : tangent_by_transpose(&t, l);
        done = done && tangents[j];
        ct__free_all(l->n, l->tangent);
    }
    ct_tape_free(t.tape);
    return done;
}

/* This and the next are kept out of line: their arrays are for many inputs, and segments may nest, on a
   small stack. */
static __attribute__((noinline)) ct_tensor *dual_value(const struct ct__custom *custom, size_t n,
                                                       const ct_tensor *const in[],
                                                       const ct_scalar *scalar) {
    struct lifted l = {.custom = custom, .n = n, .in = in};
    ct_tensor *tangents[MOST_TANGENTS] = {NULL}, *result = NULL;
    int count = ct_dual_tangents(scalar);
    if (!custom->op.jvp && !custom->op.vjp)
        return ct__fail_null(
            CT_ERULE, who,
            "%s has no derivative rule for forward mode: its run is not generic, and "
            "its record has no jvp and no vjp",
            custom->op.name);
    if (take_values(&l))
        l.output = ct__custom_value(custom, n, (const ct_tensor *const *)l.value);
    if (l.output && !is_differentiable(l.output))
        result = ct_copy(l.output);
    else if (l.output && make_tangents(&l, count, tangents))
        result = count == 1 ? ct_dual(l.output, tangents[0])
                            : ct_dual_wide(l.output, count, (const ct_tensor *const *)tangents);
    ct__free_all(n, l.value);
    ct__free_all(n, l.tangent);
    ct__free_all(MOST_TANGENTS, tangents);
    ct_free(l.output);
    return result;
}

/* --- marks --- */

static bool join(const ct_tensor *t, uint64_t marks[CT__MARK_WORDS]) {
    ct_tensor *dense = ct_compact(t);
    const struct ct__marked *items = dense ? ct_data(dense) : NULL;
    for (size_t k = 0; dense && k < ct_count(dense); k++)
        for (int w = 0; w < CT__MARK_WORDS; w++)
            marks[w] |= items[k].marks[w];
    bool done = dense != NULL;
    ct_free(dense);
    return done;
}

static ct_tensor *mark_all(const ct_tensor *output, const uint64_t marks[CT__MARK_WORDS]) {
    if (!is_differentiable(output))
        return ct_copy(output);
    ct_tensor *marked = ct_astype(output, &ct__scalar_marked);
    struct ct__marked *items = marked ? ct_data_for_write(marked) : NULL;
    if (!items) {
        ct_free(marked);
        return NULL;
    }
    for (size_t k = 0; k < ct_count(marked); k++)
        memcpy(items[k].marks, marks, sizeof items[k].marks);
    return marked;
}

/* Each item of the result depends on every item of the inputs, for all that is known. */
static __attribute__((noinline)) ct_tensor *marked_value(const struct ct__custom *custom, size_t n,
                                                         const ct_tensor *const in[]) {
    uint64_t marks[CT__MARK_WORDS] = {0};
    ct_tensor *plain[CT__CUSTOM_INPUTS] = {NULL}, *output = NULL, *result = NULL;
    bool done = true;
    for (size_t i = 0; done && i < n; i++) {
        bool is_marked = ct_dtype(in[i]) == &ct__scalar_marked;
        plain[i] = is_marked ? ct_astype(in[i], CT_F64) : ct_copy(in[i]);
        done = plain[i] && (!is_marked || join(in[i], marks));
    }
    if (done)
        output = ct__custom_run(custom, n, (const ct_tensor *const *)plain);
    if (output)
        result = mark_all(output, marks);
    ct_free(output);
    ct__free_all(n, plain);
    return result;
}

ct_tensor *ct__custom_value(const struct ct__custom *custom, size_t n,
                            const ct_tensor *const in[]) {
    const ct_scalar *scalar = NULL;
    for (size_t i = 0; i < n && !scalar; i++)
        if (is_differentiable(in[i]))
            scalar = ct_dtype(in[i]);
    if (custom->op.generic || !scalar)
        return ct__custom_run(custom, n, in);
    if (scalar == &ct__scalar_marked)
        return marked_value(custom, n, in);
    return scalar->base ? dual_value(custom, n, in, scalar) : ct__custom_run(custom, n, in);
}
