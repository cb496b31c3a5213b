#include "convnet.h"

#include "autodiff/ct_network.h"
#include "autodiff/ct_var_ops.h"
#include "network.h"

#include <string.h>

enum { SIDE = 8, FIRST = 8, SECOND = 16, FLAT = SECOND * (SIDE / 4) * (SIDE / 4), KERNEL = 3 };

/* Its parameters in their order; weights are drawn for `fan` operands per result, 0 for a bias. */
static const struct {
    const char *name;
    int rank;
    int64_t shape[4], fan;
} rows[] = {
    {"conv1.weight", 4, {FIRST, 1, KERNEL, KERNEL}, KERNEL *KERNEL},
    {"conv1.bias", 1, {FIRST}, 0},
    {"conv2.weight", 4, {SECOND, FIRST, KERNEL, KERNEL}, FIRST *KERNEL *KERNEL},
    {"conv2.bias", 1, {SECOND}, 0},
    {"dense.weight", 2, {FLAT, DIGIT_CLASSES}, FLAT},
    {"dense.bias", 1, {DIGIT_CLASSES}, 0},
};
enum { COUNT = sizeof rows / sizeof *rows };

static ct_tensor *draw(ct_random *random, int i) {
    if (rows[i].fan == 0)
        return ct_zeros(CT_F32, rows[i].rank, rows[i].shape);
    int64_t items = 1;
    for (int k = 0; k < rows[i].rank; k++)
        items *= rows[i].shape[k];
    ct_tensor *flat = ct_init_he(CT_F32, rows[i].fan, items / rows[i].fan, random);
    ct_tensor *t = flat ? ct_reshape(flat, rows[i].rank, rows[i].shape) : NULL;
    ct_free(flat);
    return t;
}

ct_params *convnet_params_new(uint64_t seed) {
    ct_params *params = ct_params_new();
    for (int i = 0; params && i < COUNT; i++) {
        ct_random random = ct_random_of(seed, (uint64_t)i);
        ct_tensor *value = draw(&random, i);
        bool added = value && ct_params_add(params, rows[i].name, value) == i;
        ct_free(value);
        if (!added) {
            ct_params_free(params);
            return NULL;
        }
    }
    return params;
}

static ct_var block(ct_params *params, ct_var x, size_t first, const char *name) {
    static const int64_t pooled[] = {2, 2};
    struct ct_window around = {.before = {1, 1}, .after = {1, 1}}, apart = {.stride = {2, 2}};
    ct_scope_begin(x.tape, name);
    ct_var y =
        ct_var_conv(x, ct_params_var(params, first), ct_params_var(params, first + 1), &around);
    y = ct_var_max_pool(ct_var_relu(y), pooled, &apart);
    ct_scope_end(x.tape);
    return y;
}

static ct_var apply(ct_params *params, ct_var x, int64_t n) {
    x = block(params, x, 0, "block1");
    x = block(params, x, 2, "block2");
    ct_scope_begin(x.tape, "head");
    x = ct_var_reshape(x, 2, (int64_t[]){n, FLAT});
    x = ct_var_dense(x, ct_params_var(params, 4), ct_params_var(params, 5), CT_IDENTITY);
    ct_scope_end(x.tape);
    return ct_named(x, "logits");
}

ct_status convnet_record_step(ct_params *params, ct_tape *tape, const struct digits *digits,
                              int64_t n) {
    ct_tensor *pixels = ct_slice(digits->train_x, 0, 0, n, 1);
    ct_tensor *images = pixels ? ct_reshape(pixels, 4, (int64_t[]){n, 1, SIDE, SIDE}) : NULL;
    ct_tensor *digit = ct_slice(digits->train_labels, 0, 0, n, 1);
    ct_params_record(params, tape);
    ct_var x = ct_constant(tape, images, "images");
    ct_var labels = ct_constant(tape, digit, "digits");
    ct_free(pixels);
    ct_free(images);
    ct_free(digit);
    ct_var logits = apply(params, x, n);
    ct_scope_begin(tape, "loss");
    ct_var loss = ct_named(ct_var_cross_entropy(logits, labels, CT_REDUCE_MEAN), "loss");
    ct_scope_end(tape);
    if (ct_params_grad(params, loss) == CT_OK)
        network_name_gradients(params);
    return ct_tape_status(tape);
}
