// What all optimisers share. A step first checks everything and then gathers all memory that it
// needs; only when nothing can fail any more is the first item written.

#include "optim/optim_impl.h"

#include "tensor/alloc.h"
#include "tensor/fail.h"
#include "tensor/isa.h"
#include "tensor/parallel.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum {
    GRAIN = 1 << 15
}; // items worth a thread of their own: some 10 microseconds of memory traffic

// ---- the object

ct_optim *ct__optim_new(const char *who, const struct ct__rule *rule, double lr) {
    ct_optim *optim = ct__alloc(sizeof *optim);
    if (!optim)
        return ct__fail_null(CT_ENOMEM, who, "there is no memory for an optimiser");
    *optim = (struct ct_optim){.rule = rule, .lr = lr};
    return optim;
}

const char *ct__value_text(char text[CT__VALUE_BYTES], double value) {
    CT_F64->format(CT_F64, &value, text, CT__VALUE_BYTES);
    return text;
}

ct_status ct__check_option(const char *who, const char *name, double value, double low,
                           double high) {
    if (isfinite(value) && value >= low && value < high)
        return CT_OK;
    char is[CT__VALUE_BYTES], least[CT__VALUE_BYTES], bound[CT__VALUE_BYTES];
    ct__value_text(is, value);
    ct__value_text(least, low);
    ct__value_text(bound, high);
    if (isinf(low))
        return ct__fail(CT_EDOMAIN, who, "the %s has to be finite, not %s", name, is);
    if (isinf(high))
        return ct__fail(CT_EDOMAIN, who, "the %s has to be finite and at least %s, not %s", name,
                        least, is);
    return ct__fail(CT_EDOMAIN, who, "the %s has to be in [%s, %s), not %s", name, least, bound,
                    is);
}

// Forgets the parameters: the next step binds anew.
static void unbind(ct_optim *optim) {
    for (size_t i = 0; i < optim->n; i++)
        for (int k = 0; k < CT__STATE_SLOTS; k++)
            ct_free(optim->bound[i].state[k]);
    ct__free(optim->bound);
    optim->bound = NULL;
    optim->n = 0;
}

void ct_optim_free(ct_optim *optim) {
    if (!optim)
        return;
    unbind(optim);
    ct__free(optim);
}

ct_status ct_optim_set_lr(ct_optim *optim, double lr) {
    static const char who[] = "ct_optim_set_lr";
    if (!optim)
        return ct__fail_null_operand(who);
    ct_status status = ct__check_option(who, "learning rate lr", lr, 0, HUGE_VAL);
    if (!status)
        optim->lr = lr;
    return status;
}

uint64_t ct_optim_steps(const ct_optim *optim) {
    return optim ? optim->steps : 0;
}

// ---- checks

static bool same_shape(int rank_a, const int64_t *a, int rank_b, const int64_t *b) {
    // Rank 0 has no extents to look at.
    return rank_a == rank_b && (rank_a == 0 || memcmp(a, b, (size_t)rank_a * sizeof *a) == 0);
}

static ct_status check_pair(const char *who, size_t i, const ct_tensor *param,
                            const ct_tensor *grad) {
    const ct_scalar *scalar = ct_dtype(param);
    if (scalar != CT_F32 && scalar != CT_F64)
        return ct__fail(CT_EDTYPE, who, "parameter %zu is of %s: optimisers move f32 and f64", i,
                        scalar->name);
    if (ct_dtype(grad) != scalar)
        return ct__fail(CT_EDTYPE, who, "the gradient of parameter %zu is of %s and not of %s", i,
                        ct_dtype(grad)->name, scalar->name);
    if (same_shape(ct_rank(param), ct_shape(param), ct_rank(grad), ct_shape(grad)))
        return CT_OK;
    char a[CT__SHAPE_TEXT_BYTES], b[CT__SHAPE_TEXT_BYTES];
    ct__format_shape(a, sizeof a, ct_rank(param), ct_shape(param));
    ct__format_shape(b, sizeof b, ct_rank(grad), ct_shape(grad));
    return ct__fail(CT_ESHAPE, who, "parameter %zu has the shape %s and its gradient %s", i, a, b);
}

static ct_status check_distinct(const char *who, size_t n, ct_tensor *const *params) {
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            if (params[i] == params[j])
                return ct__fail(CT_EINVAL, who, "parameters %zu and %zu are the same tensor", j, i);
    return CT_OK;
}

static ct_status check_bound(const char *who, const ct_optim *optim, size_t n,
                             ct_tensor *const *params) {
    if (n != optim->n)
        return ct__fail(CT_EINVAL, who, "this optimiser has %zu parameters and %zu were given",
                        optim->n, n);
    for (size_t i = 0; i < n; i++) {
        const struct ct__bound *b = &optim->bound[i];
        if (ct_dtype(params[i]) != b->scalar)
            return ct__fail(CT_EDTYPE, who, "parameter %zu was of %s and is of %s now", i,
                            b->scalar->name, ct_dtype(params[i])->name);
        if (same_shape(ct_rank(params[i]), ct_shape(params[i]), b->rank, b->shape))
            continue;
        char was[CT__SHAPE_TEXT_BYTES], is[CT__SHAPE_TEXT_BYTES];
        ct__format_shape(was, sizeof was, b->rank, b->shape);
        ct__format_shape(is, sizeof is, ct_rank(params[i]), ct_shape(params[i]));
        return ct__fail(CT_ESHAPE, who, "parameter %zu had the shape %s and has %s now", i, was,
                        is);
    }
    return CT_OK;
}

// A coefficient may overflow the item type though the option did not overflow f64.
static ct_status check_step(const char *who, double largest, size_t n, ct_tensor *const *params) {
    bool f32 = false;
    for (size_t i = 0; i < n; i++)
        f32 = f32 || ct_dtype(params[i]) == CT_F32;
    if (isfinite(f32 ? (double)(float)largest : largest))
        return CT_OK;
    char text[CT__VALUE_BYTES];
    return ct__fail(CT_EDOMAIN, who, "a coefficient of this step is %s, which does not fit %s",
                    ct__value_text(text, largest), f32 ? "f32" : "f64");
}

static ct_status check_all(const char *who, const ct_optim *optim, double largest, size_t n,
                           ct_tensor *const *params, const ct_tensor *const *grads) {
    for (size_t i = 0; i < n; i++) {
        if (!params[i] || !grads[i])
            return ct__fail_null_operand(who);
        ct_status status = check_pair(who, i, params[i], grads[i]);
        if (status)
            return status;
    }
    ct_status status = check_distinct(who, n, params);
    if (!status && optim->n > 0)
        status = check_bound(who, optim, n, params);
    return status ? status : check_step(who, largest, n, params);
}

// ---- memory

static ct_status bind(const char *who, ct_optim *optim, size_t n, ct_tensor *const *params) {
    if (n > SIZE_MAX / sizeof *optim->bound ||
        !(optim->bound = ct__alloc_zero(n * sizeof *optim->bound)))
        return ct__fail(CT_ENOMEM, who, "there is no memory for the state of %zu parameters", n);
    optim->n = n;
    for (size_t i = 0; i < n; i++) {
        struct ct__bound *b = &optim->bound[i];
        b->scalar = ct_dtype(params[i]);
        b->rank = ct_rank(params[i]);
        b->span.count = ct_count(params[i]);
        if (b->rank > 0)
            memcpy(b->shape, ct_shape(params[i]), (size_t)b->rank * sizeof *b->shape);
        for (int k = 0; k < optim->slots; k++)
            if (!(b->state[k] = ct_zeros(b->scalar, b->rank, b->shape)))
                return ct_error()->code;
    }
    return CT_OK;
}

static void drop_gradients(ct_optim *optim) {
    for (size_t i = 0; i < optim->n; i++) {
        ct_free(optim->bound[i].grad);
        optim->bound[i].grad = NULL;
    }
}

// Dense gradients: shares, which outlive the tape's, or copies where the layout asks for one.
static ct_status hold_gradients(ct_optim *optim, const ct_tensor *const *grads) {
    for (size_t i = 0; i < optim->n; i++) {
        struct ct__bound *b = &optim->bound[i];
        b->grad = ct_compact(grads[i]);
        if (!b->grad)
            return ct_error()->code;
        b->span.grad = ct_data(b->grad);
    }
    return CT_OK;
}

// Parameters and state, each alone in its storage. Making them so changes no value.
static ct_status open_for_writing(ct_optim *optim, ct_tensor *const *params) {
    for (size_t i = 0; i < optim->n; i++) {
        struct ct__bound *b = &optim->bound[i];
        b->span.param = ct_data_for_write(params[i]);
        if (!b->span.param)
            return ct_error()->code;
        for (int k = 0; k < optim->slots; k++) {
            b->span.state[k] = ct_data_for_write(b->state[k]);
            if (!b->span.state[k])
                return ct_error()->code;
        }
    }
    return CT_OK;
}

// ---- the step

static ct__step_fn *step_kernel(enum ct__step_kind kind, const ct_scalar *scalar) {
    static const struct ct__step_set *const sets[] = {
        [CT__ISA_SCALAR] = &ct__steps_scalar,
        [CT__ISA_AVX2] = &ct__steps_avx2,
        [CT__ISA_AVX512] = &ct__steps_avx512,
    };
    const struct ct__step_set *set = sets[ct__isa_current()];
    return scalar == CT_F32 ? set->f32[kind] : set->f64[kind];
}

struct job {
    ct__step_fn *fn;
    const union ct__step *step;
    const struct ct__span *span;
};

static void run_job(void *context, size_t begin, size_t end) {
    const struct job *job = context;
    job->fn(job->step, job->span, begin, end);
}

static void move(ct_optim *optim, const union ct__step *step) {
    for (size_t i = 0; i < optim->n; i++) {
        const struct ct__bound *b = &optim->bound[i];
        ct__step_fn *fn = step_kernel(optim->rule->kind, b->scalar);
        struct job job = {fn, step, &b->span};
        ct__parallel_for(b->span.count, GRAIN, run_job, &job);
    }
}

// The leaves are those of a tape, or NULL.
static ct_status gather(const char *who, ct_optim *optim, size_t n, ct_tensor *const *params,
                        const ct_tensor *const *grads, const ct_var *leaves) {
    ct_status status = optim->n > 0 ? CT_OK : bind(who, optim, n, params);
    if (!status)
        status = hold_gradients(optim, grads);
    if (!status && leaves)
        status = ct_tape_release(leaves[0].tape, n, leaves);
    return status ? status : open_for_writing(optim, params);
}

static ct_status step_from(const char *who, ct_optim *optim, size_t n, ct_tensor *const *params,
                           const ct_tensor *const *grads, const ct_var *leaves) {
    union ct__step step;
    double largest = optim->rule->prepare(optim, optim->steps + 1, &step);
    ct_status status = check_all(who, optim, largest, n, params, grads);
    if (status)
        return status;
    status = gather(who, optim, n, params, grads, leaves);
    if (!status) {
        move(optim, &step);
        optim->steps++;
    }
    drop_gradients(optim);
    if (optim->steps == 0)
        unbind(optim);
    return status;
}

static ct_status check_arguments(const char *who, const ct_optim *optim, size_t n,
                                 const void *params, const void *grads) {
    if (!optim || (n > 0 && (!params || !grads)))
        return ct__fail_null_operand(who);
    if (n == 0)
        return ct__fail(CT_EINVAL, who, "there are no parameters to move");
    return CT_OK;
}

ct_status ct_optim_step(ct_optim *optim, size_t n, ct_tensor *const *params,
                        const ct_tensor *const *grads) {
    static const char who[] = "ct_optim_step";
    ct_status status = check_arguments(who, optim, n, params, grads);
    return status ? status : step_from(who, optim, n, params, grads, NULL);
}

// ---- from a tape

static ct_status check_tape(const char *who, size_t n, const ct_var *leaves, const ct_var *grads) {
    // The error first: what was recorded after it is null, which is not what went wrong.
    const ct_tape *tape = leaves[0].tape;
    if (tape && ct_tape_status(tape))
        return ct__fail(CT_EINVAL, who, "a tape in error cannot step: %s", ct_tape_message(tape));
    for (size_t i = 0; i < n; i++) {
        if (ct_var_is_null(leaves[i]) || ct_var_is_null(grads[i]))
            return ct__fail(CT_EINVAL, who, "the %s of parameter %zu is a null variable",
                            ct_var_is_null(leaves[i]) ? "leaf" : "gradient", i);
        if (!tape || leaves[i].tape != tape || grads[i].tape != tape)
            return ct__fail(CT_EINVAL, who, "the %s of parameter %zu is of another tape",
                            leaves[i].tape != tape ? "leaf" : "gradient", i);
    }
    return CT_OK;
}

static ct_status step_values(const char *who, ct_optim *optim, size_t n, ct_tensor *const *params,
                             const ct_var *leaves, const ct_var *grads, const ct_tensor **values) {
    for (size_t i = 0; i < n; i++) {
        values[i] = ct_value(grads[i]);
        if (!values[i] || !ct_value(leaves[i]))
            return ct_error()->code;
    }
    return step_from(who, optim, n, params, values, leaves);
}

ct_status ct_optim_step_tape(ct_optim *optim, size_t n, ct_tensor *const *params,
                             const ct_var *leaves, const ct_var *grads) {
    static const char who[] = "ct_optim_step_tape";
    ct_status status = check_arguments(who, optim, n, params, grads);
    if (!status && !leaves)
        status = ct__fail_null_operand(who);
    if (!status)
        status = check_tape(who, n, leaves, grads);
    if (status)
        return status;
    const ct_tensor *few[16], **values = few;
    if (n > sizeof few / sizeof *few) {
        values = n > SIZE_MAX / sizeof *values ? NULL : ct__alloc(n * sizeof *values);
        if (!values)
            return ct__fail(CT_ENOMEM, who, "there is no memory for %zu gradients", n);
    }
    status = step_values(who, optim, n, params, leaves, grads, values);
    if (values != few)
        ct__free(values);
    return status;
}
