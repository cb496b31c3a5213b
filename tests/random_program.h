/* Random programs over the tape's ops: bytes are read as instructions on variables of odd shapes. */
#ifndef RANDOM_PROGRAM_H
#define RANDOM_PROGRAM_H

#include "autodiff/ct_tape.h"

#include <stddef.h>
#include <stdint.h>

enum { PROGRAM_INPUTS = 3 };

struct program {
    const uint8_t *bytes;
    size_t length;
    char *trace; /* names of the ops recorded, for messages; or NULL */
    size_t trace_size;
};

/* Shapes of the inputs, which the first bytes say. */
void program_shapes(const struct program *p, int rank[PROGRAM_INPUTS],
                    int64_t shape[PROGRAM_INPUTS][4]);

/* The function that the bytes say, a ct_function over PROGRAM_INPUTS inputs: of rank 0. Instructions that do not fit their
   operands are passed over, so that every string of bytes is a program. */
ct_var program_run(void *program, ct_tape *tape, size_t n, const ct_var *inputs);

#endif
