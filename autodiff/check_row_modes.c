/* The derivatives of a row: of f64 by the gradient check, of f32 against f64, and of both forward
   against reverse. */

#include "autodiff/check_impl.h"

#include "autodiff/ct_derivatives.h"
#include "autodiff/ct_var_ops.h"
#include "dual/ct_dual.h"
#include "tensor/alloc.h"
#include "tensor/ct_random.h"
#include "tensor/fail.h"

#include <float.h>
#include <math.h>

static const char who[] = "ct_check_op_all";

/* Errors allowed, in units of the type's epsilon. The largest measured is 11. */
enum { TOLERANCE = 64 };

static double tolerance_of(const ct_scalar *scalar) {
    return TOLERANCE * (scalar == CT_F32 ? (double)FLT_EPSILON : DBL_EPSILON);
}

/* --- f64: the gradient check --- */

static double see_answer(void *context, enum ct_op op, int order, enum ct__answer which,
                         size_t input, size_t item, double answer) {
    (void)op, (void)input, (void)item;
    enum ct__seen what = order == 2                 ? CT__SEEN_SECOND
                         : which == CT__ANSWER_TAPE ? CT__SEEN_TAPE
                                                    : CT__SEEN_DUAL;
    return ct__seen(context, what, answer);
}

static ct_status check_by_differences(struct ct__row *row) {
    struct ct__check_seam seam = {row, NULL, see_answer};
    struct ct_check_options options = row->options;
    struct ct_check_report part;
    options.second_order = true;
    ct_status status = ct__check_op_with(row->op, &options, row->seam ? &seam : NULL, &part);
    if (status != CT_OK)
        return status;
    ct__row_worst(&row->report->tape, part.worst_tape_diff);
    ct__row_worst(&row->report->dual, part.worst_dual_diff);
    ct__row_worst(&row->report->second, part.worst_second);
    row->report->checked += part.checked;
    if (part.verdict >= CT_CHECK_BLIND)
        ct__row_fails(row, "%s", part.message);
    else if (row->report->verdict == CT_CHECK_PASS)
        row->report->verdict = part.verdict;
    return CT_OK;
}

/* --- answers of both modes --- */

/* Random vectors, and what the modes make of them. */
struct answers {
    int n;
    ct_tensor *v[CT__MAX_INPUTS], *u;   /* no v for an input that has no derivative */
    ct_tensor *forward;                 /* J v */
    ct_tensor *reverse[CT__MAX_INPUTS]; /* J^T u */
    ct_tensor *hessian[CT__MAX_INPUTS]; /* of <u, f>, times v, forward over reverse */
    ct_tensor *twice[CT__MAX_INPUTS];   /* the same, reverse over reverse */
};

static void free_answers(struct answers *a) {
    for (int k = 0; k < CT__MAX_INPUTS; k++) {
        ct_free(a->v[k]);
        ct_free(a->reverse[k]);
        ct_free(a->hessian[k]);
        ct_free(a->twice[k]);
    }
    ct_free(a->u);
    ct_free(a->forward);
}

static bool draw_vectors(const struct ct__row *row, const struct ct__drawn *inputs,
                         struct answers *a) {
    ct_random random = ct_random_of(row->options.seed, (uint64_t)row->op * 1000 + 999);
    a->n = inputs->n;
    for (int k = 0; k < inputs->n; k++) {
        const ct_tensor *x = inputs->inputs[k];
        if (ct_dtype(x) != row->scalar)
            continue;
        a->v[k] = ct_uniform(&random, row->scalar, ct_rank(x), ct_shape(x), -1, 1);
        if (!a->v[k])
            return false;
    }
    return true;
}

static const ct_tensor *const *views(ct_tensor *const *tensors) {
    return (const ct_tensor *const *)tensors;
}

/* J v, and J^T u of a u that is drawn when there is none yet. */
static ct_status answer_once(const struct ct__row *row, struct ct__drawn *inputs,
                             struct answers *a) {
    ct_function *fn = ct__op_function(row->op);
    size_t n = (size_t)inputs->n;
    ct_status status = ct_jvp(fn, &inputs->call, n, inputs->inputs, views(a->v), NULL, &a->forward);
    if (status != CT_OK)
        return status;
    ct_random random = ct_random_of(row->options.seed, (uint64_t)row->op * 1000 + 998);
    if (!a->u)
        a->u = ct_uniform(&random, row->scalar, ct_rank(a->forward), ct_shape(a->forward), -1, 1);
    if (!a->u)
        return ct_error()->code;
    return ct_vjp(fn, &inputs->call, n, inputs->inputs, a->u, NULL, a->reverse);
}

/* <u, f(inputs)> of the context's u. */
struct weighted {
    enum ct_op op;
    struct ct__op_call *call;
    const ct_tensor *u;
};

static ct_var weighted_call(void *context, ct_tape *tape, size_t n, const ct_var *inputs) {
    struct weighted *w = context;
    ct_var y = ct__op_function(w->op)(w->call, tape, n, inputs);
    const ct_tensor *value = ct_value(y);
    if (!value)
        return ct_var_null();
    ct_tensor *u = ct_dtype(value) == ct_dtype(w->u) ? ct_copy(w->u) : ct_dual(w->u, NULL);
    ct_var weights = ct_constant(tape, u, NULL);
    ct_free(u);
    return ct_var_sum(ct_var_mul(y, weights), CT_ALL, false);
}

static ct_status answer_by_tape_over_tape(struct weighted *w, struct ct__drawn *inputs,
                                          struct answers *a) {
    ct_var x[CT__MAX_INPUTS], dx[CT__MAX_INPUTS], v[CT__MAX_INPUTS], all[CT__MAX_INPUTS];
    size_t active = 0;
    ct_tape *tape = ct_tape_new();
    for (int k = 0; k < inputs->n; k++) {
        all[k] = a->v[k] ? ct_leaf(tape, inputs->inputs[k], NULL)
                         : ct_constant(tape, inputs->inputs[k], NULL);
        if (!a->v[k])
            continue;
        x[active] = all[k];
        v[active++] = ct_constant(tape, a->v[k], NULL);
    }
    ct_var y = weighted_call(w, tape, (size_t)inputs->n, all);
    ct_grad(y, ct_var_null(), active, x, dx);
    ct_grad_all(active, dx, v, active, x, dx);
    ct_status status = tape ? ct_tape_status(tape) : CT_ENOMEM;
    for (int k = 0, at = 0; k < inputs->n && status == CT_OK; k++) {
        if (a->v[k])
            a->twice[k] = ct_copy(ct_value(dx[at++]));
        if (a->v[k] && !a->twice[k])
            status = ct_error()->code;
    }
    if (tape && ct_tape_status(tape) != CT_OK)
        ct__fail(status, who, "%s", ct_tape_message(tape));
    ct_tape_free(tape);
    return status;
}

static ct_status answer_twice(const struct ct__row *row, struct ct__drawn *inputs,
                              struct answers *a) {
    struct weighted w = {row->op, &inputs->call, a->u};
    ct_status status =
        ct_hvp(weighted_call, &w, (size_t)inputs->n, inputs->inputs, views(a->v), NULL, a->hessian);
    return status == CT_OK ? answer_by_tape_over_tape(&w, inputs, a) : status;
}

/* --- forward against reverse --- */

/* Adds <a, b> and the sum of its terms' sizes. */
static ct_status add_product(const struct ct__row *row, enum ct__seen what, const ct_tensor *a,
                             const ct_tensor *b, long double *sum, long double *size) {
    double *x = ct__row_items(a), *z = ct__row_items(b);
    ct_status status = x && z ? CT_OK : ct_error()->code;
    for (size_t i = 0; status == CT_OK && i < ct_count(a); i++) {
        long double term = (long double)ct__seen(row, what, x[i]) * (long double)z[i];
        *sum += term;
        *size += fabsl(term);
    }
    ct__free(x);
    ct__free(z);
    return status;
}

/* <u, J v> against <J^T u, v>. Where both are not finite there is nothing to compare. */
static ct_status compare_inner(struct ct__row *row, const struct answers *a, bool special) {
    long double forward = 0, reverse = 0, size = 0;
    ct_status status = add_product(row, special ? CT__SEEN_SPECIAL_SLOPE : CT__SEEN_DUAL,
                                   a->forward, a->u, &forward, &size);
    for (int k = 0; k < a->n && status == CT_OK; k++)
        if (a->v[k])
            status = add_product(row, special ? CT__SEEN_OTHER : CT__SEEN_TAPE, a->reverse[k],
                                 a->v[k], &reverse, &size);
    if (status != CT_OK)
        return status;
    bool neither = !isfinite(forward) && !isfinite(reverse);
    double error = neither || size == 0 ? 0 : (double)(fabsl(forward - reverse) / size);
    bool right = error <= tolerance_of(row->scalar);
    if (!special)
        ct__row_worst(&row->report->inner, error);
    row->report->special_points += special;
    row->report->special_wrong += special && !right;
    if (right)
        return CT_OK;
    char f[CT__NUMBER_BYTES], r[CT__NUMBER_BYTES], e[CT__NUMBER_BYTES];
    ct__row_fails(row, "%s<u, J v> is %s in forward mode and %s in reverse: an error of %s",
                  special ? "special points: " : "", ct__number(f, (double)forward),
                  ct__number(r, (double)reverse), ct__rounded(e, error));
    return CT_OK;
}

/* --- f32 against f64 --- */

static double largest_item(const ct_tensor *t) {
    double *items = ct__row_items(t), size = 0;
    for (size_t i = 0; items && i < ct_count(t); i++)
        size = fmax(size, fabs(items[i]));
    ct__free(items);
    return size;
}

/* The largest difference, relative to the largest item, or to `size` where that is larger. */
static ct_status compare_tensors(struct ct__row *row, enum ct__seen what, const ct_tensor *single,
                                 const ct_tensor *right, double size, double *worst,
                                 const char *mode) {
    double *x = ct__row_items(single), *z = ct__row_items(right), error = 0;
    ct_status status = x && z ? CT_OK : ct_error()->code;
    if (status == CT_OK && !ct_same_shape(single, right)) {
        ct__row_fails(row, "%s has another shape than in f64", mode);
    } else if (status == CT_OK) {
        for (size_t i = 0; i < ct_count(single); i++)
            size = fmax(size, fabs(z[i]));
        for (size_t i = 0; i < ct_count(single); i++)
            ct__row_worst(&error, fabs(ct__seen(row, what, x[i]) - z[i]) / (size > 0 ? size : 1));
        row->report->checked += ct_count(single);
        ct__row_worst(worst, error);
        char e[CT__NUMBER_BYTES];
        if (!(error <= tolerance_of(row->scalar)))
            ct__row_fails(row, "%s differs from f64 by %s of its largest item", mode,
                          ct__rounded(e, error));
    }
    ct__free(x);
    ct__free(z);
    return status;
}

static ct_status compare_with_f64(struct ct__row *row, const struct answers *a,
                                  const struct answers *right) {
    struct ct_op_report *r = row->report;
    ct_status status = compare_tensors(row, CT__SEEN_DUAL, a->forward, right->forward, 0, &r->dual,
                                       "forward mode");
    for (int k = 0; k < a->n && status == CT_OK; k++) {
        if (!a->v[k])
            continue;
        /* Second derivatives that are 0, as of a determinant in one item of its matrix, are the
           difference of terms as large as the first. */
        double first = largest_item(right->reverse[k]);
        status = compare_tensors(row, CT__SEEN_TAPE, a->reverse[k], right->reverse[k], 0, &r->tape,
                                 "reverse mode");
        if (status == CT_OK)
            status = compare_tensors(row, CT__SEEN_SECOND, a->hessian[k], right->hessian[k], first,
                                     &r->second, "second order, forward over reverse,");
        if (status == CT_OK)
            status = compare_tensors(row, CT__SEEN_SECOND, a->twice[k], right->hessian[k], first,
                                     &r->second, "second order, reverse over reverse,");
    }
    return status;
}

/* The same vectors in f64, and what it answers. */
static ct_status answer_in_f64(const struct ct__row *row, const struct ct__drawn *inputs,
                               const struct answers *single, struct answers *right) {
    struct ct__drawn wide;
    ct_status status = CT_OK;
    right->n = single->n;
    right->u = ct_astype(single->u, CT_F64);
    for (int k = 0; k < single->n; k++) {
        right->v[k] = single->v[k] ? ct_astype(single->v[k], CT_F64) : NULL;
        if (single->v[k] && !right->v[k])
            return ct_error()->code;
    }
    if (!right->u)
        return ct_error()->code;
    if (!ct__row_inputs(inputs, CT_F64, &wide))
        status = ct_error()->code;
    if (status == CT_OK)
        status = answer_once(row, &wide, right);
    if (status == CT_OK)
        status = answer_twice(row, &wide, right);
    ct__draw_free(&wide);
    return status;
}

static ct_status check_single(struct ct__row *row, struct ct__drawn *inputs, struct answers *a) {
    struct answers right = {0};
    ct_status status = answer_twice(row, inputs, a);
    if (status == CT_OK)
        status = answer_in_f64(row, inputs, a, &right);
    if (status == CT_OK)
        status = compare_with_f64(row, a, &right);
    free_answers(&right);
    return status;
}

/* --- the walk --- */

ct_status ct__compare_modes(struct ct__row *row, struct ct__drawn *inputs, bool special) {
    struct answers a = {0};
    ct_status status =
        draw_vectors(row, inputs, &a) ? answer_once(row, inputs, &a) : ct_error()->code;
    if (status == CT_OK)
        status = compare_inner(row, &a, special);
    if (status == CT_OK && !special && row->scalar == CT_F32)
        status = check_single(row, inputs, &a);
    for (int k = 0; k < a.n && status == CT_OK && !special; k++)
        row->differentiated[k] |=
            ct_dtype(inputs->inputs[k]) != row->scalar || (a.v[k] && ct_count(a.v[k]) > 0);
    free_answers(&a);
    return status;
}

ct_status ct__check_row_modes(struct ct__row *row) {
    if (row->scalar == CT_F64) {
        ct_status status = check_by_differences(row);
        if (status != CT_OK)
            return status;
    }
    for (int k = 0; k < ct__draw_count(row->op); k++) {
        struct ct__drawn drawn, inputs = {0};
        ct_status status = ct__draw(row->op, k, row->options.seed, &drawn);
        if (status == CT_OK && !ct__row_inputs(&drawn, row->scalar, &inputs))
            status = ct_error()->code;
        if (status == CT_OK)
            status = ct__compare_modes(row, &inputs, false);
        ct__draw_free(&drawn);
        ct__draw_free(&inputs);
        if (status != CT_OK)
            return status;
    }
    return CT_OK;
}
