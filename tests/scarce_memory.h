/* Allocations that fail: what the suites share to hold the library to CT_ENOMEM without a leak. */
#ifndef SCARCE_MEMORY_H
#define SCARCE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include "tensor/ct_tensor.h"

/* Takes memory over, if this process has used none so far, and keeps no freed block; then
   allocations fail when none is left. */
bool make_memory_scarce(void);

/* How many more allocations succeed; negative: all. */
extern long allocations_left;

/* Forgets the error; from now on n allocations succeed. */
void starve(long n);

/* Whether a starved call made its tensor; test fails unless it did without an error, or failed for
   want of memory, and with it freed as many blocks live as before. */
bool survived(ct_tensor *made, size_t blocks_before);

#endif
