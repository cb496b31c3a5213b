/* Large results and the caches: which results are written past them, and the moves of the
   instruction set in force. */
#ifndef CT_MOVE_H
#define CT_MOVE_H

#include "tensor/kernels/kern_move.h"

/* Chosen once, by ct__isa_current(). */
const struct ct__moves *ct__moves(void);

/* Whether a result of so many bytes, of which nothing is read before, is written past the caches. It
   then pays even where the result is read at once; design.md, section 4, has the measurements. */
bool ct__streams(size_t bytes);
/* The same for a result whose rows are written a few items at a time, as in a transposition: whether
   it is too large for a core's own cache. */
bool ct__outgrows(size_t bytes);
/* For tests: results of so many bytes and more are written past the caches; 0: as the caches say. */
void ct__set_stream_bytes(size_t bytes);

#endif
