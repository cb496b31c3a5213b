/* Chains of views against a model that moves items, and axis names, one by one. */
#ifndef CT_VIEW_CHAINS_H
#define CT_VIEW_CHAINS_H

#include <stddef.h>
#include <stdint.h>

/* Runs the chain that a string of bytes means, so that a fuzzer can write one as well as a generator
   of random numbers; the test fails where a tensor differs from the model, or blocks are left. */
void run_view_chain(const uint8_t *bytes, size_t size);

/* Python's slice of n items, walked step by step: the positions, and how many there are. */
int python_slice(int64_t n, int64_t start, int64_t stop, int64_t step, int64_t *found);

#endif
