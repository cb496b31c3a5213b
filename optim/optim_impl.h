/* The inside of an optimiser, shared by the files of optim/ alone. */
#ifndef CT_OPTIM_IMPL_H
#define CT_OPTIM_IMPL_H

#include "optim/ct_optim.h"

enum { CT__STATE_SLOTS = 3 };

/* What a kernel walks over: one parameter, dense, and of the same layout its gradient and state. */
struct ct__span {
    void *param;
    const void *grad;
    void *state[CT__STATE_SLOTS];
    size_t count;
};

/* The numbers of one step, made in f64; a kernel rounds each to its item type, as PyTorch does. */
struct ct__sgd_step {
    double lr, momentum, decay;
    double one_minus_dampening;
    bool nesterov;
    bool first; /* the buffer starts as the gradient, without dampening */
};

struct ct__adam_step {
    double rate; /* lr / (1 - beta1^t) */
    double beta1, one_minus_beta1;
    double beta2, one_minus_beta2;
    double root; /* sqrt(1 - beta2^t) */
    double eps;
    double decay;        /* of the gradient; 0 for AdamW */
    double decay_factor; /* of the parameter; 1 but for AdamW */
    bool amsgrad;
};

union ct__step {
    struct ct__sgd_step sgd;
    struct ct__adam_step adam;
};

/* Moves items begin <= i < end. No item looks at another one, so the split never shows. */
typedef void ct__step_fn(const union ct__step *step, const struct ct__span *span, size_t begin,
                         size_t end);

/* The kernels of one instruction set, by kind of optimiser. */
enum ct__step_kind { CT__SGD, CT__ADAM, CT__STEP_KINDS };
struct ct__step_set {
    ct__step_fn *f32[CT__STEP_KINDS], *f64[CT__STEP_KINDS];
};
extern const struct ct__step_set ct__steps_scalar, ct__steps_avx2, ct__steps_avx512;

/* A kind of optimiser. */
struct ct__rule {
    enum ct__step_kind kind;
    /* Fills in the step numbered t = 1, 2, ...; returns the coefficient of largest magnitude. */
    double (*prepare)(const ct_optim *optim, uint64_t t, union ct__step *step);
};

/* One parameter as the optimiser knows it from its first step on. */
struct ct__bound {
    const ct_scalar *scalar;
    int rank;
    int64_t shape[CT_MAX_RANK];
    ct_tensor *state[CT__STATE_SLOTS];
    ct_tensor *grad; /* held during a step: dense */
    struct ct__span span;
};

struct ct_optim {
    const struct ct__rule *rule;
    double lr;
    union {
        struct ct_sgd_options sgd;
        struct ct_adam_options adam;
    } options;
    int slots; /* in use under these options */
    uint64_t steps;
    size_t n; /* 0 before the first step */
    struct ct__bound *bound;
};

/* --- optim.c --- */

/* An optimiser without parameters, its options zero; NULL and CT_ENOMEM. */
ct_optim *ct__optim_new(const char *who, const struct ct__rule *rule, double lr);
enum { CT__VALUE_BYTES = 32 };
/* A number for a message, whatever the locale; returns the text. */
const char *ct__value_text(char text[CT__VALUE_BYTES], double value);
/* An option has to be finite and in [low, high); high may be infinite. */
ct_status ct__check_option(const char *who, const char *name, double value, double low,
                           double high);

/* --- adam.c --- */

/* beta^t for 0 <= beta < 1, all but correctly rounded, by multiplications alone. */
double ct__power(double beta, uint64_t t);

#endif
