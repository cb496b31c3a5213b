// The training loop. Batches are gathered into the same two tensors again and again, and the tape
// is rewound after each step, so that the loop stops allocating once it has seen every shape.

#include "nn/nn_impl.h"

#include "autodiff/ct_anomaly.h"
#include "tensor/alloc.h"
#include "tensor/ct_platform.h"
#include "tensor/fail.h"
#include "tensor/options.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char who[] = "ct_fit";

// The stream of the order of rows: not one of those from which weights are drawn.
enum { ORDER_STREAM = 0x6F726472 };

struct fit {
    ct_mlp *mlp;
    ct_optim *optim;
    struct ct_fit_options options;
    struct ct_rows train, test; // dense; test.x is NULL without test rows
    int64_t n;                  // training rows
    int64_t *order;
    ct_tensor *x, *labels; // room for a batch
    ct_tape *tape;
};

struct ct_fit_options ct_fit_options_init(void) {
    return (struct ct_fit_options){
        .size = sizeof(struct ct_fit_options), .epochs = 30, .batch = 32};
}

// ---- checks

static ct_status check_labels(const char *which, const ct_tensor *labels, int64_t classes) {
    const int64_t *label = ct_data(labels);
    int64_t n = ct_shape(labels)[0], step = ct_strides(labels)[0];
    for (int64_t i = 0; i < n; i++)
        if (label[i * step] < 0 || label[i * step] >= classes)
            return ct__fail(CT_EINDEX, who,
                            "the label %" PRId64 " of %s row %" PRId64 " is not in [0, %" PRId64
                            ")",
                            label[i * step], which, i, classes);
    return CT_OK;
}

static ct_status check_rows(const char *which, const ct_mlp *mlp, const struct ct_rows *rows) {
    if (!rows->x || !rows->labels)
        return ct__fail_null_operand(who);
    if (ct_dtype(rows->x) != mlp->scalar || ct_dtype(rows->labels) != CT_I64)
        return ct__fail(CT_EDTYPE, who,
                        "the network is of %s: its rows have to be so and their labels i64, but "
                        "the %s rows are of %s and %s",
                        mlp->scalar->name, which, ct_dtype(rows->x)->name,
                        ct_dtype(rows->labels)->name);
    if (ct_rank(rows->x) == 2 && ct_rank(rows->labels) == 1 && ct_shape(rows->x)[1] == mlp->in &&
        ct_shape(rows->x)[0] == ct_shape(rows->labels)[0])
        return check_labels(which, rows->labels, mlp->out);
    char x[CT__SHAPE_TEXT_BYTES], labels[CT__SHAPE_TEXT_BYTES];
    ct__format_shape(x, sizeof x, ct_rank(rows->x), ct_shape(rows->x));
    ct__format_shape(labels, sizeof labels, ct_rank(rows->labels), ct_shape(rows->labels));
    return ct__fail(CT_ESHAPE, who,
                    "the %s rows have to be [n, %" PRId64 "] with labels [n], not %s and %s", which,
                    mlp->in, x, labels);
}

static ct_status take_options(struct ct_fit_options *into, const struct ct_fit_options *options) {
    *into = ct_fit_options_init();
    ct_status status = ct__take_options(who, "ct_fit_options_init", into, sizeof *into, options);
    if (status)
        return status;
    if (into->epochs < 1)
        return ct__fail(CT_EDOMAIN, who, "epochs has to be at least 1, not %d", into->epochs);
    if (into->batch < 1)
        return ct__fail(CT_EDOMAIN, who, "batch has to be at least 1, not %" PRId64, into->batch);
    return CT_OK;
}

static ct_status check(struct fit *fit, const struct ct_rows *train, const struct ct_rows *test,
                       const struct ct_fit_options *options) {
    if (!fit->mlp || !fit->optim || !train)
        return ct__fail_null_operand(who);
    ct_status status = take_options(&fit->options, options);
    if (!status)
        status = check_rows("training", fit->mlp, train);
    if (!status && ct_shape(train->x)[0] == 0)
        status = ct__fail(CT_EDOMAIN, who, "there are no training rows");
    if (!status && test)
        status = check_rows("test", fit->mlp, test);
    return status;
}

// ---- memory

static bool hold(struct ct_rows *into, const struct ct_rows *rows) {
    into->x = ct_compact(rows->x);
    into->labels = ct_compact(rows->labels);
    return into->x && into->labels;
}

// const is the caller's promise not to write; these shares are our own.
static void drop(struct ct_rows *rows) {
    union {
        const ct_tensor *shared;
        ct_tensor *own;
    } x = {rows->x}, labels = {rows->labels};
    ct_free(x.own);
    ct_free(labels.own);
}

static ct_status prepare(struct fit *fit, const struct ct_rows *train, const struct ct_rows *test) {
    fit->n = ct_shape(train->x)[0];
    if (fit->options.batch > fit->n)
        fit->options.batch = fit->n;
    int64_t shape[] = {fit->options.batch, fit->mlp->in};
    bool done = hold(&fit->train, train);
    done = done && (!test || ct_shape(test->x)[0] == 0 || hold(&fit->test, test));
    done = done && (fit->x = ct_zeros(fit->mlp->scalar, 2, shape)) &&
           (fit->labels = ct_zeros(CT_I64, 1, shape)) && (fit->tape = ct_tape_new());
    if (!done)
        return ct_error()->code;
    fit->order = ct__alloc((size_t)fit->n * sizeof *fit->order);
    return fit->order ? CT_OK
                      : ct__fail(CT_ENOMEM, who, "there is no memory for the order of the rows");
}

static void release(struct fit *fit) {
    ct__params_forget(fit->mlp->params);
    ct_tape_free(fit->tape);
    ct__free(fit->order);
    ct_free(fit->x);
    ct_free(fit->labels);
    drop(&fit->train);
    drop(&fit->test);
}

// ---- a batch

// Copies rows begin <= i < begin + n of an order (NULL: as they lie) to the batch tensors.
static ct_status gather(struct fit *fit, const struct ct_rows *rows, const int64_t *order,
                        int64_t begin, int64_t n) {
    size_t bytes = (size_t)fit->mlp->in * fit->mlp->scalar->size;
    const char *x = ct_data(rows->x);
    const int64_t *labels = ct_data(rows->labels);
    char *to = ct_data_for_write(fit->x);
    int64_t *label_to = ct_data_for_write(fit->labels);
    if (!to || !label_to)
        return ct_error()->code;
    for (int64_t i = 0; i < n; i++) {
        int64_t row = order ? order[begin + i] : begin + i;
        memcpy(to + (size_t)i * bytes, x + (size_t)row * bytes, bytes);
        label_to[i] = labels[row];
    }
    return CT_OK;
}

// The first n rows of a batch tensor, on the tape.
static ct_var record_rows(struct fit *fit, const ct_tensor *batch, int64_t n, const char *name) {
    if (n == fit->options.batch)
        return ct_constant(fit->tape, batch, name);
    ct_tensor *rows = ct_slice(batch, 0, 0, n, 1);
    ct_var v = ct_constant(fit->tape, rows, name);
    ct_free(rows);
    return v;
}

static ct_status tape_error(const struct fit *fit) {
    ct_status status = ct_tape_status(fit->tape);
    return status ? ct__fail(status, who, "%s", ct_tape_message(fit->tape)) : CT_OK;
}

static ct_var record_logits(struct fit *fit, int64_t n) {
    ct_params_record(fit->mlp->params, fit->tape);
    return ct_mlp_apply(fit->mlp, record_rows(fit, fit->x, n, "x"));
}

static ct_status fail_loss(const struct fit *fit, int epoch, int64_t batch) {
    struct ct_anomaly first = {.message = ""};
    ct_tape_anomaly(fit->tape, 0, &first);
    return ct__fail(CT_EDOMAIN, who, "the loss is not finite in epoch %d, batch %" PRId64 ": %s",
                    epoch, batch, first.message);
}

static ct_status step(struct fit *fit, int epoch, int64_t batch) {
    ct_status status = ct_params_step(fit->mlp->params, fit->optim);
    if (status != CT_EDOMAIN)
        return status;
    char reason[512];
    snprintf(reason, sizeof reason, "%s", ct_error()->message);
    return ct__fail(status, who, "epoch %d, batch %" PRId64 ": %s", epoch, batch, reason);
}

static ct_status train_batch(struct fit *fit, int epoch, int64_t begin, int64_t n, double *loss) {
    ct_var logits = record_logits(fit, n);
    ct_var labels = record_rows(fit, fit->labels, n, "labels");
    ct_var mean = ct_named(ct_var_cross_entropy(logits, labels, CT_REDUCE_MEAN), "loss");
    ct_status status = tape_error(fit);
    if (status)
        return status;
    *loss = ct_value_item(mean);
    int64_t batch = begin / fit->options.batch + 1;
    if (!isfinite(*loss))
        return fail_loss(fit, epoch, batch);
    ct_params_grad(fit->mlp->params, mean);
    status = tape_error(fit);
    return status ? status : step(fit, epoch, batch);
}

// ---- an epoch

static int64_t batch_rows(const struct fit *fit, int64_t begin, int64_t n) {
    return n - begin < fit->options.batch ? n - begin : fit->options.batch;
}

static ct_status train_epoch(struct fit *fit, int epoch, double *loss) {
    ct_random base = ct_random_of(fit->options.seed, ORDER_STREAM);
    ct_random random = ct_random_split(&base, (uint64_t)epoch);
    ct_random_permutation(&random, (size_t)fit->n, fit->order);
    double sum = 0;
    for (int64_t begin = 0; begin < fit->n; begin += fit->options.batch) {
        int64_t n = batch_rows(fit, begin, fit->n);
        ct_mark mark = ct_tape_mark(fit->tape);
        double mean = 0;
        ct_status status = gather(fit, &fit->train, fit->order, begin, n);
        if (!status)
            status = train_batch(fit, epoch, begin, n, &mean);
        if (!status)
            status = ct_tape_rewind(fit->tape, mark);
        if (status)
            return status;
        sum += mean * (double)n;
    }
    *loss = sum / (double)fit->n;
    return CT_OK;
}

// Batch by batch through the tensors and shapes of training.
static ct_status measure(struct fit *fit, const struct ct_rows *rows, double *accuracy) {
    if (!rows->x) {
        *accuracy = (double)NAN;
        return CT_OK;
    }
    int64_t total = ct_shape(rows->x)[0], hits = 0;
    for (int64_t begin = 0; begin < total; begin += fit->options.batch) {
        int64_t n = batch_rows(fit, begin, total), found = 0;
        ct_mark mark = ct_tape_mark(fit->tape);
        ct_status status = gather(fit, rows, NULL, begin, n);
        ct_var logits = ct_var_null(), labels = ct_var_null();
        if (!status) {
            logits = record_logits(fit, n);
            labels = record_rows(fit, fit->labels, n, "labels");
            status = tape_error(fit);
        }
        if (!status)
            status = ct__hits(who, ct_value(logits), ct_value(labels), &found);
        if (!status)
            status = ct_tape_rewind(fit->tape, mark);
        if (status)
            return status;
        hits += found;
    }
    *accuracy = (double)hits / (double)total;
    return CT_OK;
}

static ct_status run(struct fit *fit) {
    const struct ct_fit_options *o = &fit->options;
    for (int epoch = 1; epoch <= o->epochs; epoch++) {
        struct ct_epoch report = {.epoch = epoch, .epochs = o->epochs};
        ct_status status = train_epoch(fit, epoch, &report.loss);
        if (status)
            return status;
        if (!o->on_epoch)
            continue; // nobody would see the accuracies
        status = measure(fit, &fit->train, &report.train_accuracy);
        if (!status)
            status = measure(fit, &fit->test, &report.test_accuracy);
        if (status)
            return status;
        if (!o->on_epoch(o->context, &report))
            break;
    }
    return CT_OK;
}

ct_status ct_fit(ct_mlp *mlp, ct_optim *optim, const struct ct_rows *train,
                 const struct ct_rows *test, const struct ct_fit_options *options) {
    struct fit fit = {.mlp = mlp, .optim = optim};
    ct_status status = ct_fenv_check();
    if (!status)
        status = check(&fit, train, test, options);
    if (status)
        return status;
    status = prepare(&fit, train, test);
    if (!status)
        status = run(&fit);
    release(&fit);
    return status;
}
