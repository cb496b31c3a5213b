/* One recording of a function, shared by the derivatives that are made from it. */
#ifndef CT_DERIVATIVES_IMPL_H
#define CT_DERIVATIVES_IMPL_H

#include "autodiff/ct_derivatives.h"

/* A function on a tape of its own. Zeros are a recording that was not made. */
struct ct__recording {
    const char *who;
    size_t n;
    ct_tape *tape;
    ct_var *x;  /* n inputs; leaves where they are differentiable */
    ct_var *dx; /* room for n gradients */
    ct_var y;   /* the function's value */
    ct_tensor *
        *own; /* n tensors that the recording frees: lifted inputs, or results on their way */
};

/* How an input is seen by the tape: with 1, 4 or 8 tangents, of which any may be NULL for zeros. 0
   tangents leave it as it is. */
struct ct__lift {
    int tangents;
    const ct_tensor *const *first; /* per input one tangent, or NULL: of one-tangent lifts */
    size_t which;                  /* with several: the input that has them */
    ct_tensor *const *several;
};

/* Fails for an input that is NULL, or keeps the error of the call that should have made it. */
ct_status ct__fail_input(const char *who, size_t which);

/* An array of zeros that ct__free takes, for n = 0 too; NULL when it does not fit. */
void *ct__array(size_t n, size_t size);

/* The most tangents of one recording, and how many the next one carries of as many as are left, by
   the types that there are. */
enum { CT__MOST_TANGENTS = 8 };
int ct__tangents_for(const ct_scalar *base, size_t left);

/* Zeros of a tensor's shape and type, but one at an item. */
ct_tensor *ct__one_at(const ct_tensor *like, size_t item);

/* Whether derivatives are taken for an input. */
bool ct__is_active(const ct_tensor *t);

/* Checks the inputs, lifts them, and records the function. The caller closes it, also on failure. */
ct_status ct__recording_open(struct ct__recording *r, const char *who, ct_function *fn,
                             void *context, size_t n, const ct_tensor *const *inputs,
                             const struct ct__lift *lift);
void ct__recording_close(struct ct__recording *r);

/* The error of the recording's tape, or of a call that was made for it, under its own name. */
ct_status ct__recording_error(const struct ct__recording *r);

/* The gradients of y for every active input, in r->dx; CT_ESHAPE unless y has one item. */
ct_status ct__recording_gradient(struct ct__recording *r);

/* Whether vectors may be tangents of the inputs: NULL, or of their shape and type. */
ct_status ct__check_vectors(const char *who, const char *what, size_t n,
                            const ct_tensor *const *inputs, const ct_tensor *const *vectors);

/* A dense tensor of the value, and of its only tangent; NULL and the error under `who`. */
ct_tensor *ct__value_of(const struct ct__recording *r, ct_var v);
ct_tensor *ct__tangent_of(const struct ct__recording *r, ct_var v);

/* Per active input what `part` makes of its gradient, into `results` when all were made. */
typedef ct_tensor *ct__part_fn(const struct ct__recording *r, ct_var v);
ct_status ct__gradients(struct ct__recording *r, const ct_tensor *const *inputs, ct__part_fn *part,
                        ct_tensor **results);
void ct__free_all(size_t n, ct_tensor **tensors);

#endif
