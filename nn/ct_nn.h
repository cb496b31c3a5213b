/**
 * @file ct_nn.h
 * What small networks are made of: a set of named parameters, initialisers, an MLP.
 */
#ifndef CT_NN_H
#define CT_NN_H

#include "autodiff/ct_tape.h"
#include "optim/ct_optim.h"
#include "tensor/ct_random.h"

CT_BEGIN_DECLS

/** Named parameters, in the order in which they were added. */
typedef struct ct_params ct_params;

/** An empty set, or NULL when memory is gone. */
CT_API ct_params *ct_params_new(void);
/** Frees the set with its names and values; NULL is accepted. */
CT_API void ct_params_free(ct_params *params);
/** Adds a parameter (a share of @p value); names are unique and not empty. Returns its index, or -1
 *  (and ct_error()). */
CT_API int ct_params_add(ct_params *params, const char *name, const ct_tensor *value);
/** How many there are. */
CT_API size_t ct_params_count(const ct_params *params);
/** A name, valid as long as the set; NULL (and ct_error()) for an index out of range. */
CT_API const char *ct_params_name(const ct_params *params, size_t i);
/** A value, owned by the set and valid until it is set, stepped or freed; NULL as above. */
CT_API const ct_tensor *ct_params_value(const ct_params *params, size_t i);
/** Replaces a value; shape and scalar type must be the same. */
CT_API ct_status ct_params_set(ct_params *params, size_t i, const ct_tensor *value);
/** Records all parameters as leaves of a tape; ct_params_var() then gives them. */
CT_API ct_status ct_params_record(ct_params *params, ct_tape *tape);
/** The leaf of a parameter; null before ct_params_record(), stale after a rewind. */
CT_API ct_var ct_params_var(const ct_params *params, size_t i);
/** Appends the gradient of a loss for all recorded parameters. */
CT_API ct_status ct_params_grad(ct_params *params, ct_var loss);
/** The gradient of a parameter; null before ct_params_grad(), stale after a rewind. */
CT_API ct_var ct_params_gradient(const ct_params *params, size_t i);
/** One optimiser step of all parameters from the recorded gradients (ct_optim_step_tape()): the
 *  tape has to be rewound to before the leaves for the next one. A gradient that is not finite is
 *  CT_EDOMAIN, and nothing has changed; the message names the parameter and the node with which it began
 *  (ct_tape_anomaly()). */
CT_API ct_status ct_params_step(ct_params *params, ct_optim *optim);

/** The activation of x; CT_IDENTITY gives x itself. One that does not exist is CT_EINVAL, which
 *  sticks to the tape. */
CT_API ct_var ct_activate(ct_var x, enum ct_activation activation);

/** [in, out], uniform in +-sqrt(6 / (in + out)) (Glorot and Bengio 2010). */
CT_API ct_tensor *ct_init_glorot(const ct_scalar *scalar, int64_t in, int64_t out,
                                 ct_random *random);
/** [in, out], normal with deviation sqrt(2 / in) (He et al. 2015). */
CT_API ct_tensor *ct_init_he(const ct_scalar *scalar, int64_t in, int64_t out, ct_random *random);

/** A multi-layer perceptron: dense layers of the given widths. */
typedef struct ct_mlp ct_mlp;
/**
 * @p layers >= 1 dense layers; widths has layers + 1 entries, each > 0. Parameters "layer0.weight",
 * "layer0.bias", ... Weights before relu, silu, gelu and gelu_tanh begin as ct_init_he(), the others as
 * ct_init_glorot(), each layer from its own stream of the seed; biases begin at 0. NULL on failure.
 */
CT_API ct_mlp *ct_mlp_new(const ct_scalar *scalar, int layers, const int64_t *widths,
                          enum ct_activation hidden, uint64_t seed);
/** Frees the network with its parameters; NULL is accepted. */
CT_API void ct_mlp_free(ct_mlp *mlp);
/** Its parameters, weight and bias of each layer in turn; owned by the network. */
CT_API ct_params *ct_mlp_params(ct_mlp *mlp);
/** Records the network on recorded parameters (ct_params_record()): [n, in] to [n, out]. Each layer
 *  is a scope. */
CT_API ct_var ct_mlp_apply(ct_mlp *mlp, ct_var x);
/** The same on given parameter variables: for gradient checks over other scalar types. Another
 *  number of them than ct_mlp_params() has is CT_EINVAL, which sticks to the tape. */
CT_API ct_var ct_mlp_apply_to(const ct_mlp *mlp, ct_var x, size_t n, const ct_var *params);

/**
 * The share of rows whose largest logit (the first NaN, else the first maximum) is at the label.
 * Logits [n, classes] of a real type, labels i64 [n]; NaN (and ct_error()) for others, for a label
 * out of range and for n = 0. Allocates nothing.
 */
CT_API double ct_accuracy(const ct_tensor *logits, const ct_tensor *labels);

/** What a training loop reports after each epoch; return false to stop. */
struct ct_epoch {
    int epoch, epochs;                    /**< from 1 */
    double loss;                          /**< mean over the rows, each at its batch's turn */
    double train_accuracy, test_accuracy; /**< after the epoch; NaN without test rows */
};
typedef bool ct_epoch_fn(void *context, const struct ct_epoch *epoch);

struct ct_fit_options {
    size_t size;
    int epochs;    /**< 30 */
    int64_t batch; /**< 32; the last batch of an epoch may be smaller */
    uint64_t seed; /**< of the order of rows, drawn anew for each epoch */
    ct_epoch_fn *on_epoch;
    void *context;
};
/** The defaults. */
CT_API struct ct_fit_options ct_fit_options_init(void);

/** A labelled set of rows. */
struct ct_rows {
    const ct_tensor *x;      /**< [n, features], the network's scalar type */
    const ct_tensor *labels; /**< i64 [n] */
};

/**
 * Trains a classifier with softmax cross entropy. @p test may be NULL, or hold no rows. The
 * floating-point environment is checked first. Once each shape of batch was seen, the loop calls
 * the allocator no more. Same bits for the same arguments, whatever the machine.
 *
 * @retval CT_OK       done, or stopped by the callback.
 * @retval CT_EINVAL   NULL, options without their size, or an odd floating-point environment.
 * @retval CT_ESHAPE   rows or labels of another shape.
 * @retval CT_EDTYPE   rows of another type than the network's, or labels not of i64.
 * @retval CT_EINDEX   a label out of range.
 * @retval CT_EDOMAIN  an option out of range, no rows, or a loss or a gradient that is not finite; the message
 *                     names epoch, batch and the node with which it began (ct_tape_anomaly()), and the
 *                     parameters are those before that batch.
 * @retval CT_ENOMEM   no memory; the parameters are those after the last whole step.
 */
CT_API ct_status ct_fit(ct_mlp *mlp, ct_optim *optim, const struct ct_rows *train,
                        const struct ct_rows *test, const struct ct_fit_options *options);

CT_END_DECLS
#endif
