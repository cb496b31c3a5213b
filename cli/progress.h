/* How training goes on: a bar on a terminal, plain lines elsewhere. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include "nn/ct_nn.h"

struct progress {
    bool terminal;
    bool broken;          /* standard output went away; training was stopped */
    struct ct_epoch last; /* what was reported last */
};

struct progress progress_begin(void);
/* A ct_epoch_fn; context is a struct progress. */
bool progress_epoch(void *context, const struct ct_epoch *epoch);

#endif
