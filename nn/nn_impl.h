/* The inside of a parameter set, shared by the files of nn/ alone. */
#ifndef CT_NN_IMPL_H
#define CT_NN_IMPL_H

#include "nn/ct_nn.h"

struct ct_params {
    size_t count, capacity;
    char **names;
    ct_tensor **values;
    ct_var *vars;  /* null where not recorded */
    ct_var *grads; /* null where there is none yet */
};

struct ct_mlp {
    ct_params *params; /* weight and bias of each layer in turn */
    const ct_scalar *scalar;
    int layers;
    enum ct_activation hidden;
    int64_t in, out;
};

/* Drops the recorded variables, whose tape is about to go. */
void ct__params_forget(ct_params *params);

/* How many rows have their largest logit at the label; logits are [n, classes], n may be 0. */
ct_status ct__hits(const char *who, const ct_tensor *logits, const ct_tensor *labels,
                   int64_t *hits);

#endif
