/* What a value is made of: for pictures, listings, and the search for what is not finite. Nothing here
   allocates, and nothing depends on a value's layout: items are met in row-major order. */
#ifndef CT_VALUES_H
#define CT_VALUES_H

#include "autodiff/ct_anomaly.h"
#include "autodiff/tape_impl.h"
#include "tensor/peek.h"

struct ct__summary {
    size_t items, zeros, nans, infinities;
    double least, most, mean; /* of the finite ones; 0 where there are none */
};
/* Of duals, of their values. */
void ct__summarise(const ct_tensor *t, struct ct__summary *summary);
/* The root of the sum of squares, without overflow; NaN or infinite where an item is. */
double ct__length_of(const ct_tensor *t);

/* Whether a value is there, of a type whose items can be other than finite, and one is. */
bool ct__is_troubled(const struct ct__node *node);
/* Infinities that are meant: a rank-0 constant, such as the -infinity that a mask puts in, and the result of an op
   that carries such on, without a NaN and without others. A byte per node, which the caller frees; NULL where there
   are none. False without memory. */
bool ct__find_meant(const ct_tape *tape, uint8_t **meant);
/* Whether a node is troubled by more than such. */
static inline bool ct__is_fault(const ct_tape *tape, const uint8_t *meant, size_t i) {
    return !(meant && meant[i]) && ct__is_troubled(&tape->nodes[i]);
}

/* The node that holds the gradient for node i which the last ct_grad() recorded, or CT__NO_NODE. */
uint32_t ct__gradient_of(const ct_tape *tape, size_t i);

#endif
