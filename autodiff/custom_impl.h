/* The inside of custom ops. */
#ifndef CT_CUSTOM_IMPL_H
#define CT_CUSTOM_IMPL_H

#include "autodiff/ct_custom.h"
#include "autodiff/tape_impl.h"
#include "tensor/fail.h"

enum { CT__CUSTOM_INPUTS = UINT8_MAX, CT__CUSTOM_NAME_BYTES = 64 };

/* What a custom node owns, in one block with the inputs and a copied context. */
struct ct__custom {
    struct ct_custom_op op; /* complete, whatever the size of the caller's */
    void *context;
    bool takes_over; /* its gradients contain what had been gathered for its inputs */
    uint32_t in[];
};

/* Records an op whose record is complete. `bytes` of the context are copied; 0 passes it on. */
ct_var ct__record_custom(const struct ct_custom_op *op, void *context, size_t bytes,
                         bool takes_over, size_t n, const ct_var *in);
/* The same op as another node's, whose context it shares without owning it; its value where that is
   known, else NULL. */
ct_var ct__record_custom_again(const struct ct__custom *custom, const ct_tensor *value, size_t n,
                               const ct_var *in);

/* An error that was pending when foreign code is called, so that one of its own can be told from it. */
struct ct__pending {
    ct_status code;
    char message[CT__MESSAGE_BYTES], function[64];
};
void ct__put_aside(struct ct__pending *p);
void ct__put_back(const struct ct__pending *p);

/* The op's own run, its result looked at; NULL after an error. */
ct_tensor *ct__custom_run(const struct ct__custom *custom, size_t n, const ct_tensor *const in[]);

/* --- custom_lift.c: operands of types that run does not know --- */

/* The value for operands of any type; NULL after an error. */
ct_tensor *ct__custom_value(const struct ct__custom *custom, size_t n, const ct_tensor *const in[]);

#endif
