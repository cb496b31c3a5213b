/* Products with the Jacobian and the Hessian of a function: each is one recording of it. */

#include "autodiff/derivatives_impl.h"

#include "autodiff/tape_impl.h"

#include "dual/ct_dual.h"
#include "tensor/alloc.h"
#include "tensor/checked.h"
#include "tensor/fail.h"

/* --- a recording --- */

ct_status ct__fail_input(const char *who, size_t which) {
    if (ct_error()->code != CT_OK)
        return ct_error()->code;
    return ct__fail(CT_EINVAL, who, "the input %zu is NULL", which);
}

void *ct__array(size_t n, size_t size) {
    size_t bytes;
    return ct__mul_size(n ? n : 1, size, &bytes) ? ct__alloc_zero(bytes) : NULL;
}

int ct__tangents_for(const ct_scalar *base, size_t left) {
    if (base != CT_F32 && base != CT_F64)
        return 1;
    return left > 4 ? 8 : left > 1 ? 4 : 1;
}

ct_tensor *ct__one_at(const ct_tensor *like, size_t item) {
    const ct_scalar *scalar = ct_dtype(like);
    ct_tensor *t = ct_zeros(scalar, ct_rank(like), ct_shape(like));
    char *data = ct_data_for_write(t);
    if (data)
        scalar->from_double(scalar, data + item * scalar->size, 1);
    else
        ct_free(t), t = NULL;
    return t;
}

bool ct__is_active(const ct_tensor *t) {
    return ct_dtype(t)->traits & CT_DIFFERENTIABLE;
}

ct_status ct__recording_error(const struct ct__recording *r) {
    if (r->tape && ct_tape_status(r->tape) != CT_OK)
        return ct__fail(ct_tape_status(r->tape), r->who, "%s", ct_tape_message(r->tape));
    return ct__fail(ct_error()->code == CT_OK ? CT_ENOMEM : ct_error()->code, r->who, "%s",
                    ct_error()->message);
}

static ct_status check_inputs(const char *who, ct_function *fn, size_t n,
                              const ct_tensor *const *inputs) {
    if (!fn)
        return ct__fail(CT_EINVAL, who, "the function is NULL");
    if (n > 0 && !inputs)
        return ct__fail(CT_EINVAL, who, "the inputs are NULL");
    for (size_t i = 0; i < n; i++)
        if (!inputs[i])
            return ct__fail_input(who, i);
    return CT_OK;
}

ct_status ct__check_vectors(const char *who, const char *what, size_t n,
                            const ct_tensor *const *inputs, const ct_tensor *const *vectors) {
    for (size_t i = 0; vectors && i < n; i++) {
        const ct_tensor *v = vectors[i], *x = inputs[i];
        char have[CT__SHAPE_TEXT_BYTES], want[CT__SHAPE_TEXT_BYTES];
        if (!v || !x)
            continue;
        if (!ct__is_active(x))
            return ct__fail(CT_EDTYPE, who, "the input %zu is %s and has no %s: give NULL", i,
                            ct_dtype(x)->name, what);
        if (ct_dtype(v) != ct_dtype(x))
            return ct__fail(CT_EDTYPE, who, "the %s %zu is %s, its input %s", what, i,
                            ct_dtype(v)->name, ct_dtype(x)->name);
        ct__format_shape(have, sizeof have, ct_rank(v), ct_shape(v));
        ct__format_shape(want, sizeof want, ct_rank(x), ct_shape(x));
        if (!ct_same_shape(v, x))
            return ct__fail(CT_ESHAPE, who, "the %s %zu has shape %s, its input %s", what, i, have,
                            want);
    }
    return CT_OK;
}

/* NULL where the input is seen as it is, or where memory is gone. */
static ct_tensor *lifted(const struct ct__lift *lift, size_t i, const ct_tensor *x) {
    if (lift->tangents == 1 && !lift->several)
        return ct_dual(x, lift->first ? lift->first[i] : NULL);
    const ct_tensor *const *tangents =
        lift->which == i ? (const ct_tensor *const *)lift->several : NULL;
    return ct_dual_wide(x, lift->tangents, tangents);
}

static ct_status put_inputs(struct ct__recording *r, const ct_tensor *const *inputs,
                            const struct ct__lift *lift) {
    for (size_t i = 0; i < r->n; i++) {
        bool active = ct__is_active(inputs[i]);
        const ct_tensor *value = inputs[i];
        if (active && lift->tangents > 0) {
            r->own[i] = lifted(lift, i, value);
            value = r->own[i];
            if (!value)
                return ct__recording_error(r);
        }
        r->x[i] = active ? ct_leaf(r->tape, value, NULL) : ct_constant(r->tape, value, NULL);
    }
    // The function may look at its inputs.
    return ct_tape_status(r->tape) == CT_OK ? CT_OK : ct__recording_error(r);
}

static ct_status check_value(const struct ct__recording *r, const ct_tensor *const *inputs) {
    if (ct_tape_status(r->tape) != CT_OK)
        return ct__recording_error(r);
    for (size_t i = 0; i < r->n; i++)
        if (!ct__live_value(r->x[i]))
            return ct__fail(CT_ESTALE, r->who, "the function rewound or released its input %zu", i);
    if (ct_var_is_null(r->y) || r->y.tape != r->tape)
        return ct__fail(CT_EINVAL, r->who, "the function returned no variable of its tape");
    const ct_tensor *value = ct_value(r->y);
    if (!value)
        return ct__recording_error(r);
    for (size_t i = 0; i < r->n; i++) {
        const ct_scalar *scalar = ct_dtype(r->own[i] ? r->own[i] : inputs[i]);
        if (ct__is_active(inputs[i]) && ct_dtype(value) != scalar)
            return ct__fail(CT_EDTYPE, r->who,
                            "the function returned %s for inputs of %s: its "
                            "constants must have the type of its inputs",
                            ct_dtype(value)->name, scalar->name);
    }
    return CT_OK;
}

ct_status ct__recording_open(struct ct__recording *r, const char *who, ct_function *fn,
                             void *context, size_t n, const ct_tensor *const *inputs,
                             const struct ct__lift *lift) {
    *r = (struct ct__recording){.who = who, .n = n};
    ct_status status = check_inputs(who, fn, n, inputs);
    if (status != CT_OK)
        return status;
    r->x = ct__array(n, sizeof *r->x);
    r->dx = ct__array(n, sizeof *r->dx);
    r->own = ct__array(n, sizeof *r->own);
    r->tape = ct_tape_new();
    if (!r->x || !r->dx || !r->own || !r->tape)
        return ct__fail(CT_ENOMEM, who, "out of memory");
    status = put_inputs(r, inputs, lift);
    if (status != CT_OK)
        return status;
    r->y = fn(context, r->tape, n, r->x);
    return check_value(r, inputs);
}

void ct__free_all(size_t n, ct_tensor **tensors) {
    for (size_t i = 0; tensors && i < n; i++) {
        ct_free(tensors[i]);
        tensors[i] = NULL;
    }
}

void ct__recording_close(struct ct__recording *r) {
    ct__free_all(r->n, r->own);
    ct_tape_free(r->tape);
    ct__free(r->x);
    ct__free(r->dx);
    ct__free(r->own);
}

/* --- what is read from it --- */

static ct_tensor *dense(const struct ct__recording *r, ct_tensor *view) {
    ct_tensor *t = view ? ct_compact(view) : NULL;
    ct_free(view);
    if (!t)
        ct__recording_error(r);
    return t;
}

ct_tensor *ct__value_of(const struct ct__recording *r, ct_var v) {
    const ct_tensor *value = ct_value(v);
    return dense(r, value ? ct_copy(value) : NULL);
}

ct_tensor *ct__tangent_of(const struct ct__recording *r, ct_var v) {
    const ct_tensor *value = ct_value(v);
    return dense(r, value ? ct_dual_tangent(value) : NULL);
}

static ct_tensor *dual_value_of(const struct ct__recording *r, ct_var v) {
    const ct_tensor *value = ct_value(v);
    return dense(r, value ? ct_dual_value(value) : NULL);
}

/* ct_grad() for the active inputs, which it wants together. */
static ct_status pull_back(struct ct__recording *r, ct_var cotangent) {
    size_t active = 0;
    ct_var *x = ct__array(r->n, sizeof *x);
    if (!x)
        return ct__fail(CT_ENOMEM, r->who, "out of memory");
    for (size_t i = 0; i < r->n; i++)
        if (ct__is_active(ct_value(r->x[i])))
            x[active++] = r->x[i];
    ct_status status = ct_grad(r->y, cotangent, active, x, x);
    active = 0;
    for (size_t i = 0; status == CT_OK && i < r->n; i++)
        r->dx[i] = ct__is_active(ct_value(r->x[i])) ? x[active++] : ct_var_null();
    ct__free(x);
    return status == CT_OK ? CT_OK : ct__recording_error(r);
}

ct_status ct__recording_gradient(struct ct__recording *r) {
    const ct_tensor *value = ct_value(r->y);
    char text[CT__SHAPE_TEXT_BYTES];
    ct__format_shape(text, sizeof text, ct_rank(value), ct_shape(value));
    if (ct_count(value) != 1)
        return ct__fail(CT_ESHAPE, r->who, "the function must have one item and gave shape %s",
                        text);
    return pull_back(r, ct_var_null());
}

ct_status ct__gradients(struct ct__recording *r, const ct_tensor *const *inputs, ct__part_fn *part,
                        ct_tensor **results) {
    ct_tensor **made = ct__array(r->n, sizeof(ct_tensor *));
    if (!made)
        return ct__fail(CT_ENOMEM, r->who, "out of memory");
    ct_status status = CT_OK;
    for (size_t i = 0; status == CT_OK && i < r->n; i++) {
        made[i] = ct__is_active(inputs[i]) ? part(r, r->dx[i]) : NULL;
        if (ct__is_active(inputs[i]) && !made[i])
            status = ct_error()->code;
    }
    for (size_t i = 0; status == CT_OK && i < r->n; i++)
        results[i] = made[i];
    if (status != CT_OK)
        ct__free_all(r->n, made);
    ct__free(made);
    return status;
}

/* --- the products --- */

static ct_status jvp(struct ct__recording *r, bool with_value, ct_tensor **value,
                     ct_tensor **product) {
    ct_tensor *tangent = ct__tangent_of(r, r->y);
    ct_tensor *primal = tangent && with_value ? dual_value_of(r, r->y) : NULL;
    if (!tangent || (with_value && !primal)) {
        ct_free(tangent);
        return ct_error()->code;
    }
    if (with_value)
        *value = primal;
    *product = tangent;
    return CT_OK;
}

ct_status ct_jvp(ct_function *fn, void *context, size_t n, const ct_tensor *const *inputs,
                 const ct_tensor *const *tangents, ct_tensor **value, ct_tensor **product) {
    if (!product)
        return ct__fail(CT_EINVAL, __func__, "the place of the product is NULL");
    struct ct__lift lift = {.tangents = 1, .first = tangents};
    struct ct__recording r = {0};
    ct_status status = inputs ? ct__check_vectors(__func__, "tangent", n, inputs, tangents) : CT_OK;
    if (status == CT_OK)
        status = ct__recording_open(&r, __func__, fn, context, n, inputs, &lift);
    if (status == CT_OK && ct_dual_tangents(ct_dtype(ct_value(r.y))) != 1)
        status =
            ct__fail(CT_EINVAL, __func__, "none of the %zu inputs is of a differentiable type", n);
    if (status == CT_OK)
        status = jvp(&r, value != NULL, value, product);
    ct__recording_close(&r);
    return status;
}

static ct_status check_cotangent(const struct ct__recording *r, const ct_tensor *cotangent) {
    const ct_tensor *value = ct_value(r->y);
    char have[CT__SHAPE_TEXT_BYTES], want[CT__SHAPE_TEXT_BYTES];
    if (!cotangent)
        return CT_OK;
    ct__format_shape(have, sizeof have, ct_rank(cotangent), ct_shape(cotangent));
    ct__format_shape(want, sizeof want, ct_rank(value), ct_shape(value));
    if (!ct_same_shape(cotangent, value) || ct_dtype(cotangent) != ct_dtype(value))
        return ct__fail(ct_same_shape(cotangent, value) ? CT_EDTYPE : CT_ESHAPE, r->who,
                        "the cotangent is %s of shape %s, the value %s of shape %s",
                        ct_dtype(cotangent)->name, have, ct_dtype(value)->name, want);
    return CT_OK;
}

ct_status ct_vjp(ct_function *fn, void *context, size_t n, const ct_tensor *const *inputs,
                 const ct_tensor *cotangent, ct_tensor **value, ct_tensor **products) {
    if (!products)
        return ct__fail(CT_EINVAL, __func__, "the place of the products is NULL");
    struct ct__lift lift = {0};
    struct ct__recording r;
    ct_tensor *primal = NULL;
    ct_status status = ct__recording_open(&r, __func__, fn, context, n, inputs, &lift);
    if (status == CT_OK)
        status = check_cotangent(&r, cotangent);
    if (status == CT_OK)
        status = pull_back(&r, cotangent ? ct_constant(r.tape, cotangent, NULL) : ct_var_null());
    if (status == CT_OK && value && !(primal = ct__value_of(&r, r.y)))
        status = ct_error()->code;
    if (status == CT_OK)
        status = ct__gradients(&r, inputs, ct__value_of, products);
    if (status == CT_OK && value)
        *value = primal;
    else
        ct_free(primal);
    ct__recording_close(&r);
    return status;
}

ct_status ct_hvp(ct_function *fn, void *context, size_t n, const ct_tensor *const *inputs,
                 const ct_tensor *const *vectors, ct_tensor **gradient, ct_tensor **products) {
    if (!products)
        return ct__fail(CT_EINVAL, __func__, "the place of the products is NULL");
    struct ct__lift lift = {.tangents = 1, .first = vectors};
    struct ct__recording r = {0};
    ct_status status = inputs ? ct__check_vectors(__func__, "vector", n, inputs, vectors) : CT_OK;
    if (status == CT_OK)
        status = ct__recording_open(&r, __func__, fn, context, n, inputs, &lift);
    if (status == CT_OK)
        status = ct__recording_gradient(&r);
    ct_tensor **first = status == CT_OK ? ct__array(n, sizeof(ct_tensor *)) : NULL;
    if (status == CT_OK && !first)
        status = ct__fail(CT_ENOMEM, __func__, "out of memory");
    if (status == CT_OK && gradient)
        status = ct__gradients(&r, inputs, dual_value_of, first);
    if (status == CT_OK)
        status = ct__gradients(&r, inputs, ct__tangent_of, products);
    if (status != CT_OK)
        ct__free_all(first ? n : 0, first);
    for (size_t i = 0; status == CT_OK && gradient && i < n; i++)
        gradient[i] = first[i];
    ct__free(first);
    ct__recording_close(&r);
    return status;
}
