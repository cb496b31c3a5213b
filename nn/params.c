// A set of named parameters, and its way through a training step: record, gradient, step.

#include "nn/nn_impl.h"

#include "autodiff/ct_anomaly.h"
#include "tensor/alloc.h"
#include "tensor/fail.h"

#include <string.h>

ct_params *ct_params_new(void) {
    ct_params *params = ct__alloc_zero(sizeof *params);
    return params ? params
                  : ct__fail_null(CT_ENOMEM, "ct_params_new", "there is no memory for parameters");
}

void ct_params_free(ct_params *params) {
    if (!params)
        return;
    for (size_t i = 0; i < params->count; i++) {
        ct__free(params->names[i]);
        ct_free(params->values[i]);
    }
    ct__free(params->names);
    ct__free(params->values);
    ct__free(params->vars);
    ct__free(params->grads);
    ct__free(params);
}

// ---- adding

static bool grow(void *array, size_t count, size_t size) {
    void **items = array, *moved = ct__realloc(*items, count * size);
    if (moved)
        *items = moved;
    return moved != NULL;
}

// Room for one more; on failure each array is at least as large as before.
static bool reserve(ct_params *params) {
    if (params->count < params->capacity)
        return true;
    size_t capacity = params->capacity ? 2 * params->capacity : 8;
    if (!grow(&params->names, capacity, sizeof *params->names) ||
        !grow(&params->values, capacity, sizeof *params->values) ||
        !grow(&params->vars, capacity, sizeof *params->vars) ||
        !grow(&params->grads, capacity, sizeof *params->grads))
        return false;
    params->capacity = capacity;
    return true;
}

static ct_status check_new(const char *who, const ct_params *params, const char *name,
                           const ct_tensor *value) {
    if (!params || !name || !value)
        return ct__fail_null_operand(who);
    if (!*name)
        return ct__fail(CT_EINVAL, who, "a parameter needs a name");
    for (size_t i = 0; i < params->count; i++)
        if (strcmp(params->names[i], name) == 0)
            return ct__fail(CT_EINVAL, who, "there is a parameter \"%.100s\" already", name);
    return CT_OK;
}

int ct_params_add(ct_params *params, const char *name, const ct_tensor *value) {
    static const char who[] = "ct_params_add";
    if (check_new(who, params, name, value))
        return -1;
    if (params->count >= INT32_MAX || !reserve(params)) {
        ct__fail(CT_ENOMEM, who, "there is no memory for the parameter \"%.100s\"", name);
        return -1;
    }
    size_t bytes = strlen(name) + 1;
    char *copy = ct__alloc(bytes);
    ct_tensor *share = copy ? ct_copy(value) : NULL;
    if (!share) {
        ct__free(copy);
        ct__fail(CT_ENOMEM, who, "there is no memory for the parameter \"%.100s\"", name);
        return -1;
    }
    memcpy(copy, name, bytes);
    size_t i = params->count++;
    params->names[i] = copy;
    params->values[i] = share;
    params->vars[i] = params->grads[i] = ct_var_null();
    return (int)i;
}

// ---- looking and replacing

static ct_status check_index(const char *who, const ct_params *params, size_t i) {
    if (!params)
        return ct__fail_null_operand(who);
    if (i >= params->count)
        return ct__fail(CT_EINDEX, who, "there is no parameter %zu: there are %zu", i,
                        params->count);
    return CT_OK;
}

size_t ct_params_count(const ct_params *params) {
    return params ? params->count : 0;
}

const char *ct_params_name(const ct_params *params, size_t i) {
    return check_index("ct_params_name", params, i) ? NULL : params->names[i];
}

const ct_tensor *ct_params_value(const ct_params *params, size_t i) {
    return check_index("ct_params_value", params, i) ? NULL : params->values[i];
}

ct_var ct_params_var(const ct_params *params, size_t i) {
    return check_index("ct_params_var", params, i) ? ct_var_null() : params->vars[i];
}

ct_var ct_params_gradient(const ct_params *params, size_t i) {
    return check_index("ct_params_gradient", params, i) ? ct_var_null() : params->grads[i];
}

static ct_status check_alike(const char *who, const char *name, const ct_tensor *was,
                             const ct_tensor *is) {
    if (ct_dtype(was) != ct_dtype(is))
        return ct__fail(CT_EDTYPE, who, "the parameter \"%.100s\" is of %s, not of %s", name,
                        ct_dtype(was)->name, ct_dtype(is)->name);
    if (ct_same_shape(was, is))
        return CT_OK;
    char a[CT__SHAPE_TEXT_BYTES], b[CT__SHAPE_TEXT_BYTES];
    ct__format_shape(a, sizeof a, ct_rank(was), ct_shape(was));
    ct__format_shape(b, sizeof b, ct_rank(is), ct_shape(is));
    return ct__fail(CT_ESHAPE, who, "the parameter \"%.100s\" has the shape %s, not %s", name, a,
                    b);
}

ct_status ct_params_set(ct_params *params, size_t i, const ct_tensor *value) {
    static const char who[] = "ct_params_set";
    ct_status status = check_index(who, params, i);
    if (!status && !value)
        status = ct__fail_null_operand(who);
    if (!status)
        status = check_alike(who, params->names[i], params->values[i], value);
    if (status)
        return status;
    ct_tensor *share = ct_copy(value);
    if (!share)
        return ct_error()->code;
    ct_free(params->values[i]);
    params->values[i] = share;
    return CT_OK;
}

// ---- a training step

void ct__params_forget(ct_params *params) {
    for (size_t i = 0; i < params->count; i++)
        params->vars[i] = params->grads[i] = ct_var_null();
}

ct_status ct_params_record(ct_params *params, ct_tape *tape) {
    if (!params || !tape)
        return ct__fail_null_operand("ct_params_record");
    ct__params_forget(params);
    for (size_t i = 0; i < params->count; i++)
        params->vars[i] = ct_leaf(tape, params->values[i], params->names[i]);
    return ct_tape_status(tape);
}

ct_status ct_params_grad(ct_params *params, ct_var loss) {
    if (!params)
        return ct__fail_null_operand("ct_params_grad");
    return ct_grad(loss, ct_var_null(), params->count, params->vars, params->grads);
}

// Names the parameter, and the node with which it began.
static ct_status fail_gradient(const ct_params *params, size_t i) {
    struct ct_anomaly first = {.message = ""};
    ct_tape_anomaly(params->grads[i].tape, 0, &first);
    return ct__fail(
        CT_EDOMAIN, "ct_params_step",
        "the gradient of \"%.100s\" is not finite; the first on the tape that is not: %s",
        params->names[i], first.message);
}

static ct_status check_gradients(const ct_params *params) {
    for (size_t i = 0; i < params->count; i++) {
        ct_var gradient = params->grads[i];
        if (ct_var_is_null(gradient) || ct_tape_status(gradient.tape))
            return CT_OK; // the step itself says so
        const ct_tensor *value = ct_value(gradient);
        if (!value)
            return ct_error()->code;
        if (ct_first_not_finite(value) < ct_count(value))
            return fail_gradient(params, i);
    }
    return CT_OK;
}

ct_status ct_params_step(ct_params *params, ct_optim *optim) {
    if (!params)
        return ct__fail_null_operand("ct_params_step");
    ct_status status = check_gradients(params);
    if (status)
        return status;
    return ct_optim_step_tape(optim, params->count, params->values, params->vars, params->grads);
}
