// Dense layers and the multi-layer perceptron.

#include "nn/nn_impl.h"

#include "autodiff/ct_var_ops.h"
#include "tensor/alloc.h"
#include "tensor/fail.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 40 };

// ---- layers

// Makes the thread's error stick to the tape, where there is one: what follows is null, which is not
// what went wrong.
static ct_var stick(ct_tape *tape) {
    const struct ct_error_info *error = ct_error();
    char message[CT__MESSAGE_BYTES];
    snprintf(message, sizeof message, "%s: %s", error->function, error->message);
    return tape ? ct_tape_fail(tape, error->code, message) : ct_var_null();
}

ct_var ct_activate(ct_var x, enum ct_activation activation) {
    switch (activation) {
    case CT_IDENTITY:
        return x;
    case CT_RELU:
        return ct_var_relu(x);
    case CT_TANH:
        return ct_var_tanh(x);
    case CT_SIGMOID:
        return ct_var_sigmoid(x);
    case CT_SILU:
        return ct_var_silu(x);
    case CT_GELU:
        return ct_var_gelu(x);
    case CT_GELU_TANH:
        return ct_var_gelu_tanh(x);
    }
    ct__fail(CT_EINVAL, "ct_activate", "there is no activation %d", (int)activation);
    return stick(x.tape);
}

// ---- making a network

static ct_status add_layer(ct_mlp *mlp, int layer, int64_t in, int64_t out,
                           enum ct_activation activation, uint64_t seed) {
    // A stream per layer: a wider layer does not change the draws of the next.
    ct_random random = ct_random_of(seed, (uint64_t)layer);
    bool half = activation == CT_RELU || activation == CT_SILU || activation == CT_GELU ||
                activation == CT_GELU_TANH;
    ct_tensor *w = half ? ct_init_he(mlp->scalar, in, out, &random)
                        : ct_init_glorot(mlp->scalar, in, out, &random);
    ct_tensor *b = ct_zeros(mlp->scalar, 1, &out);
    char weight[NAME_BYTES], bias[NAME_BYTES];
    snprintf(weight, sizeof weight, "layer%d.weight", layer);
    snprintf(bias, sizeof bias, "layer%d.bias", layer);
    bool done = w && b && ct_params_add(mlp->params, weight, w) >= 0 &&
                ct_params_add(mlp->params, bias, b) >= 0;
    ct_free(w);
    ct_free(b);
    return done ? CT_OK : ct_error()->code;
}

static ct_status check_widths(const char *who, const ct_scalar *scalar, int layers,
                              const int64_t *widths, enum ct_activation hidden) {
    if (!scalar || !widths)
        return ct__fail_null_operand(who);
    if (layers < 1)
        return ct__fail(CT_EINVAL, who, "a network needs at least 1 layer, not %d", layers);
    for (int i = 0; i <= layers; i++)
        if (widths[i] < 1)
            return ct__fail(CT_ESHAPE, who, "the width %" PRId64 " at place %d is not positive",
                            widths[i], i);
    if ((int)hidden < CT_IDENTITY || hidden > CT_GELU_TANH)
        return ct__fail(CT_EINVAL, who, "there is no activation %d", (int)hidden);
    return CT_OK;
}

ct_mlp *ct_mlp_new(const ct_scalar *scalar, int layers, const int64_t *widths,
                   enum ct_activation hidden, uint64_t seed) {
    static const char who[] = "ct_mlp_new";
    if (check_widths(who, scalar, layers, widths, hidden))
        return NULL;
    ct_mlp *mlp = ct__alloc(sizeof *mlp);
    if (!mlp)
        return ct__fail_null(CT_ENOMEM, who, "there is no memory for a network");
    *mlp = (ct_mlp){ct_params_new(), scalar, layers, hidden, widths[0], widths[layers]};
    bool done = mlp->params != NULL;
    for (int i = 0; done && i < layers; i++)
        done = !add_layer(mlp, i, widths[i], widths[i + 1], i < layers - 1 ? hidden : CT_IDENTITY,
                          seed);
    if (done)
        return mlp;
    ct_mlp_free(mlp);
    return NULL;
}

void ct_mlp_free(ct_mlp *mlp) {
    if (!mlp)
        return;
    ct_params_free(mlp->params);
    ct__free(mlp);
}

ct_params *ct_mlp_params(ct_mlp *mlp) {
    return mlp ? mlp->params : NULL;
}

// ---- using it

// "layer12": a step does this for every layer, and printf takes longer than a small one.
static void format_scope(char name[NAME_BYTES], int layer) {
    static const char word[] = "layer";
    char *end = name + NAME_BYTES;
    *--end = '\0';
    do
        *--end = (char)('0' + layer % 10);
    while ((layer /= 10) > 0);
    memcpy(name, word, sizeof word - 1);
    memmove(name + sizeof word - 1, end, (size_t)(name + NAME_BYTES - end));
}

ct_var ct_mlp_apply_to(const ct_mlp *mlp, ct_var x, size_t n, const ct_var *params) {
    static const char who[] = "ct_mlp_apply_to";
    if (!mlp || !params) {
        ct__fail_null_operand(who);
        return stick(x.tape);
    }
    if (n != mlp->params->count) {
        ct__fail(CT_EINVAL, who, "this network has %zu parameters and %zu were given",
                 mlp->params->count, n);
        return stick(x.tape);
    }
    for (int i = 0; i < mlp->layers; i++) {
        char name[NAME_BYTES];
        format_scope(name, i);
        ct_scope_begin(x.tape, name);
        x = ct_var_dense(x, params[2 * i], params[2 * i + 1],
                         i < mlp->layers - 1 ? mlp->hidden : CT_IDENTITY);
        ct_scope_end(x.tape);
    }
    return x;
}

ct_var ct_mlp_apply(ct_mlp *mlp, ct_var x) {
    if (!mlp) {
        ct__fail_null_operand("ct_mlp_apply");
        return stick(x.tape);
    }
    for (size_t i = 0; i < mlp->params->count; i++) {
        char message[128];
        if (!ct_var_is_null(mlp->params->vars[i]))
            continue;
        snprintf(message, sizeof message,
                 "the parameter %s is not recorded: call ct_params_record() first",
                 ct_params_name(mlp->params, i));
        return ct_tape_fail(x.tape, CT_EINVAL, message);
    }
    return ct_mlp_apply_to(mlp, x, mlp->params->count, mlp->params->vars);
}
