/* Loops and folds over dense blocks, for types of small items (integers, truth values).

   An op is written once, over dense operands and a result that overlaps nothing, which is what a
   compiler makes vectors of. Items that lie otherwise are first copied block by block. */
#ifndef CT_BLOCKS_H
#define CT_BLOCKS_H

#include "tensor/ct_scalar.h"

enum { CT__BLOCK = 256 /* items */ };

__extension__ typedef __int128 ct__int128;
__extension__ typedef unsigned __int128 ct__uint128;

/* The op over n <= CT__BLOCK dense items, or any number of bytes. @return the number of items done, as a
   loop does. */
typedef size_t ct__block_fn(size_t n, const void *const in[], void *out);

/* The loop of `op` for items of `size` bytes (1, 4 or 8), run over blocks. Masks are bytes. */
size_t ct__run_blocks(ct__block_fn *run, size_t size, enum ct_op op, size_t n, char *const ptr[],
                      const ptrdiff_t step[]);

/* What a fold knows of the items so far; each uses the members that it needs. */
struct ct__fold_state {
    size_t n; /* items so far */
    ct__int128 total;
    uint64_t magnitude; /* of a product */
    int64_t value, at;  /* an extreme and its place */
    bool negative, zero, past;
};

enum {
    CT__FOLD_PIECE = 1 << 15, /* items */
    CT__FOLD_COLUMNS = 64     /* neighbouring reductions that may be taken in side by side */
};

/* An exact fold: its result depends on neither order nor grouping, so pieces may be merged. */
struct ct__block_fold {
    size_t size;
    struct ct__fold_state start;
    /* Takes in n <= CT__FOLD_PIECE dense items. */
    void (*block)(struct ct__fold_state *s, const void *items, size_t n);
    /* NULL, or the same for CT__FOLD_COLUMNS reductions that lie side by side: n <= CT__FOLD_PIECE
       rows of them, `step` bytes apart. */
    void (*columns)(struct ct__fold_state *s, const char *rows, ptrdiff_t step, size_t n);
    /* Takes in what a piece further on has found. */
    void (*merge)(struct ct__fold_state *s, const struct ct__fold_state *next);
    /* @return false where there is no result. */
    bool (*finish)(const struct ct__fold_state *s, char *y);
};

size_t ct__fold_blocks(const struct ct__block_fold *fold, const struct ct_fold_job *job);

#endif
