/* A convolutional network on the digits of data/digits.csv. In training the moments of a batch normalise, and are
   tracked in running statistics, which are no parameters; dropout draws its mask from a seed, the step and its own
   number, so that the same step draws the same. In use the running statistics normalise and nothing is dropped. */
#include "cotangent.h"

#include <math.h>
#include <stdio.h>

enum { ROWS = 1797, TRAIN = 1440, SIDE = 8, PIXELS = SIDE * SIDE, EPOCHS = 25, BATCH = 32 };
enum { CHANNELS = 8, FEATURES = CHANNELS * PIXELS / 4, HIDDEN = 32 };

/* The parameters, in the order in which they are added. */
enum { FILTERS, SCALE, SHIFT, W1, B1, W2, B2, PARAMETERS };

struct network {
    ct_params *params;
    ct_tensor *mean, *variance; // running statistics, of each channel
};

static void add(struct network *n, const char *name, ct_tensor *value) {
    ct_params_add(n->params, name, value);
    ct_free(value);
}

static struct network network_new(ct_random *random) {
    const int64_t shape[] = {CHANNELS, 1, 3, 3}; // its first axis alone is that of the channels
    struct network n = {ct_params_new(), ct_zeros(CT_F32, 1, shape), ct_ones(CT_F32, 1, shape)};
    add(&n, "filters", ct_normal(random, CT_F32, 4, shape, 0, sqrt(2.0 / 9)));
    add(&n, "scale", ct_ones(CT_F32, 1, shape));
    add(&n, "shift", ct_zeros(CT_F32, 1, shape));
    add(&n, "w1", ct_init_he(CT_F32, FEATURES, HIDDEN, random));
    add(&n, "b1", ct_zeros(CT_F32, 1, (int64_t[]){HIDDEN}));
    add(&n, "w2", ct_init_glorot(CT_F32, HIDDEN, 10, random));
    add(&n, "b2", ct_zeros(CT_F32, 1, (int64_t[]){10}));
    return n;
}

/* The logits of images [batch, 1, 8, 8]. In training the moments of the batch are given too. */
static ct_var apply(const struct network *n, ct_tape *tape, const ct_tensor *images, bool training,
                    uint64_t step, ct_var moments[2]) {
    const struct ct_window same = {.before = {1, 1}, .after = {1, 1}}, halved = {.stride = {2, 2}};
    ct_var p[PARAMETERS], y = ct_constant(tape, images, "images");
    ct_params_record(n->params, tape);
    for (size_t i = 0; i < PARAMETERS; i++)
        p[i] = ct_params_var(n->params, i);
    y = ct_var_conv(y, p[FILTERS], ct_var_null(), &same); // the shift is bias enough
    if (training) {
        y = ct_var_batch_norm_train(y, p[SCALE], p[SHIFT], 1e-5, &moments[0], &moments[1]);
    } else {
        ct_var mean = ct_constant(tape, n->mean, "mean");
        ct_var variance = ct_constant(tape, n->variance, "variance");
        y = ct_var_batch_norm(y, mean, variance, p[SCALE], p[SHIFT], 1e-5);
    }
    y = ct_var_max_pool(ct_var_relu(y), (int64_t[]){2, 2}, &halved);
    y = ct_var_dense(ct_var_reshape(y, 2, (int64_t[]){-1, FEATURES}), p[W1], p[B1], CT_RELU);
    if (training)
        y = ct_var_dropout(y, 0.25, 99, step, 0); // a second dropout would be number 1
    return ct_var_dense(y, p[W2], p[B2], CT_IDENTITY);
}

/* One step on some rows; its loss, or NaN after an error. */
static double train(struct network *n, ct_optim *adam, ct_tape *tape, const ct_tensor *images,
                    const ct_tensor *labels, uint64_t step) {
    ct_mark start = ct_tape_mark(tape);
    ct_var moments[2], logits = apply(n, tape, images, true, step, moments);
    ct_var answers = ct_constant(tape, labels, "labels");
    ct_var loss = ct_var_cross_entropy(logits, answers, CT_REDUCE_MEAN);
    ct_params_grad(n->params, loss);
    const ct_tensor *mean = ct_value(moments[0]), *variance = ct_value(moments[1]);
    int64_t items = ct_extent(labels, 0) * PIXELS;
    bool done = ct_params_step(n->params, adam) == CT_OK &&
                ct_batch_norm_track(n->mean, n->variance, mean, variance, items, 0.1) == CT_OK;
    double value = done ? ct_value_item(loss) : (double)NAN;
    ct_tape_rewind(tape, start);
    return value;
}

/* 64 pixels of 0 to 16 and a label in each line. */
static bool read_digits(const char *path, ct_tensor **images, ct_tensor **labels) {
    static double pixels[ROWS * PIXELS], label[ROWS];
    FILE *file = fopen(path, "r");
    bool good = file != NULL;
    for (int i = 0; good && i < ROWS * (PIXELS + 1); i++) {
        int row = i / (PIXELS + 1), column = i % (PIXELS + 1);
        double *to = column < PIXELS ? &pixels[row * PIXELS + column] : &label[row];
        good = fscanf(file, "%lf%*[,\n]", to) == 1;
    }
    if (!good)
        return false;
    fclose(file);
    *images = ct_from_doubles(CT_F32, 4, (int64_t[]){ROWS, 1, SIDE, SIDE}, ROWS * PIXELS, pixels);
    *labels = ct_from_doubles(CT_I64, 1, (int64_t[]){ROWS}, ROWS, label);
    return true;
}

int main(int argc, char **argv) {
    ct_tensor *images, *labels;
    if (!read_digits(argc > 1 ? argv[1] : "data/digits.csv", &images, &labels))
        return fprintf(stderr, "give the path of data/digits.csv\n"), 1;
    ct_tensor *test_images = ct_slice(images, 0, TRAIN, CT_END, 1);
    ct_tensor *test_labels = ct_slice(labels, 0, TRAIN, CT_END, 1);
    ct_random random = ct_random_of(7, 0);
    struct network network = network_new(&random);
    ct_optim *adam = ct_adam_new(NULL);
    ct_tape *tape = ct_tape_new();
    ct_mark empty = ct_tape_mark(tape);
    uint64_t step = 0;
    for (int epoch = 1; epoch <= EPOCHS; epoch++) {
        ct_tensor *order = ct_permutation(&random, TRAIN);
        double sum = 0;
        for (int64_t row = 0; row < TRAIN; row += BATCH) {
            ct_tensor *rows = ct_slice(order, 0, row, row + BATCH, 1);
            ct_tensor *x = ct_take(images, 0, rows), *y = ct_take(labels, 0, rows);
            sum += train(&network, adam, tape, x, y, step++);
            ct_free(rows), ct_free(x), ct_free(y);
        }
        ct_var logits = apply(&network, tape, test_images, false, 0, NULL);
        if (isnan(sum) || ct_tape_status(tape) != CT_OK)
            return fprintf(stderr, "%s\n", ct_error()->message), 1;
        printf("epoch %d: loss %.4f, %.1f %% of the held-out digits right\n", epoch,
               sum * BATCH / TRAIN, 100 * ct_accuracy(ct_value(logits), test_labels));
        ct_tape_rewind(tape, empty);
        ct_free(order);
    }
    ct_tape_free(tape), ct_optim_free(adam), ct_params_free(network.params);
    ct_free(network.mean), ct_free(network.variance);
    ct_free(images), ct_free(labels), ct_free(test_images), ct_free(test_labels);
}
