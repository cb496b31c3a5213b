/* What the suites of the optimisers share: configurations, a step as a composition of tensor ops,
   and the runs recorded from PyTorch 1.13.1. */
#ifndef CT_OPTIM_CASES_H
#define CT_OPTIM_CASES_H

#include "optim/ct_optim.h"

enum { OPTIM_CASES = 12 };

struct optim_case {
    const char *name;
    bool is_adam;
    double lr;
    struct ct_sgd_options sgd; /* without lr */
    struct ct_adam_options adam;
};
extern const struct optim_case optim_cases[OPTIM_CASES];

ct_optim *optim_of_case(const struct optim_case *c);

/* The state of a composed optimiser. */
struct parts {
    ct_tensor *first, *second, *largest;
};
/* Step number t, written in tensor ops alone (and a fused multiply-add on items, which is no op of
   the table). Frees p and returns its successor. */
ct_tensor *step_in_parts(struct parts *parts, const struct optim_case *c, int t, ct_tensor *p,
                         const ct_tensor *g);
void free_parts(struct parts *parts);

/* One step of one parameter; the test fails where it fails. */
void step_ok(ct_optim *optim, ct_tensor *p, const ct_tensor *g);

/* How many runs there are: 1 when the file is missing, whose test then counts as skipped. */
int golden_optim_count(void);
void golden_optim_run(int i);

#endif
