#include "custom_cases.h"

#include "autodiff/ct_var_ops.h"
#include "tensor/ct_ops.h"

#include <stdlib.h>

static ct_tensor *cube_run(void *context, size_t n, const ct_tensor *const *in) {
    const double *scale = context;
    size_t count = ct_count(in[0]);
    (void)n;
    if (ct_dtype(in[0]) != CT_F64)
        return ct_custom_fail(CT_EDTYPE, "cube knows f64 alone");
    double *x = malloc((count + 1) * sizeof *x);
    ct_to_doubles(in[0], count, x);
    for (size_t i = 0; i < count; i++)
        x[i] = *scale * (x[i] * x[i] * x[i]);
    ct_tensor *y = ct_from_doubles(CT_F64, ct_rank(in[0]), ct_shape(in[0]), count, x);
    free(x);
    return y;
}

static ct_var constant(const struct ct_custom_pull *pull, double value) {
    return ct_constant_of(pull->tape, ct_dtype(ct_value(pull->cotangent)), value);
}

/* 3 scale x^2 g */
static void cube_vjp(void *context, const struct ct_custom_pull *pull, ct_var *gradients) {
    ct_var factor = constant(pull, 3 * *(const double *)context);
    ct_var slope = ct_var_mul(ct_var_square(pull->inputs[0]), factor);
    gradients[0] = ct_var_smul(pull->cotangent, slope);
}

static ct_tensor *cube_jvp(void *context, size_t n, const ct_tensor *const *in,
                           const ct_tensor *const *tangents, const ct_tensor *output) {
    (void)n, (void)output;
    ct_tensor *factor = ct_full(ct_dtype(in[0]), 0, NULL, 3 * *(const double *)context);
    ct_tensor *square = ct_square(in[0]), *slope = square ? ct_mul(square, factor) : NULL;
    ct_tensor *product = slope ? ct_smul(tangents[0], slope) : NULL;
    ct_free(factor), ct_free(square), ct_free(slope);
    return product;
}

static ct_tensor *cube_generic_run(void *context, size_t n, const ct_tensor *const *in) {
    (void)n;
    ct_tensor *factor = ct_full(ct_dtype(in[0]), 0, NULL, *(const double *)context);
    ct_tensor *square = ct_square(in[0]), *cube = square ? ct_mul(square, in[0]) : NULL;
    ct_tensor *product = cube && factor ? ct_mul(factor, cube) : NULL;
    ct_free(factor), ct_free(square), ct_free(cube);
    return product;
}

/* Right but for the item in the middle. */
static void cube_wrong_vjp(void *context, const struct ct_custom_pull *pull, ct_var *gradients) {
    cube_vjp(context, pull, gradients);
    const ct_tensor *x = ct_value(pull->inputs[0]);
    ct_tensor *weights = ct_full(CT_F64, ct_rank(x), ct_shape(x), 1);
    double *items = ct_data_for_write(weights);
    if (items)
        items[ct_count(x) / 2] = 1.001;
    ct_tensor *lifted = weights ? ct_astype(weights, ct_dtype(x)) : NULL;
    ct_var w = ct_constant(pull->tape, lifted, NULL);
    ct_free(weights), ct_free(lifted);
    gradients[0] = ct_var_mul(gradients[0], w);
}

#define CUBE                                                                                       \
    .size = sizeof(struct ct_custom_op), .name = "cube",                                           \
    .doc = "scale times the third power <of each item>", .context_size = sizeof(double)
const struct ct_custom_op cube_op = {CUBE, .run = cube_run, .vjp = cube_vjp};
const struct ct_custom_op cube_jvp_op = {CUBE, .run = cube_run, .jvp = cube_jvp};
const struct ct_custom_op cube_generic_op = {CUBE, .run = cube_generic_run, .generic = true,
                                             .vjp = cube_vjp};
const struct ct_custom_op cube_wrong_op = {CUBE, .run = cube_run, .vjp = cube_wrong_vjp};

static ct_tensor *weighted_run(void *context, size_t n, const ct_tensor *const *in) {
    (void)context;
    ct_tensor *sum = ct_zeros(ct_dtype(in[0]), ct_rank(in[0]), ct_shape(in[0]));
    for (size_t i = 0; i < n && sum; i++) {
        ct_tensor *weight = ct_full(ct_dtype(in[0]), 0, NULL, (double)(i + 1));
        ct_tensor *part = weight ? ct_mul(in[i], weight) : NULL,
                  *next = part ? ct_add(sum, part) : NULL;
        ct_free(weight), ct_free(part), ct_free(sum);
        sum = next;
    }
    return sum;
}

static void weighted_vjp(void *context, const struct ct_custom_pull *pull, ct_var *gradients) {
    (void)context;
    for (size_t i = 0; i < pull->n; i++)
        if (pull->wanted[i])
            gradients[i] = ct_var_mul(pull->cotangent, constant(pull, (double)(i + 1)));
}

const struct ct_custom_op weighted_op = {.size = sizeof(struct ct_custom_op),
                                         .name = "weighted",
                                         .run = weighted_run,
                                         .generic = true,
                                         .vjp = weighted_vjp};

ct_var cube_of(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    struct cube_call *call = context;
    (void)tape;
    return ct_var_custom(call->op, &call->scale, n, in);
}

ct_var composed_cube(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    const struct cube_call *call = context;
    (void)n;
    ct_var factor = ct_constant_of(tape, ct_dtype(ct_value(in[0])), call->scale);
    ct_var cube = ct_var_mul(ct_var_square(in[0]), in[0]);
    return ct_var_mul(factor, cube);
}
