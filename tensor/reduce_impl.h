/* How reductions are cut into rows of items, shared by the files reduce*.c alone. */
#ifndef CT_REDUCE_IMPL_H
#define CT_REDUCE_IMPL_H

#include "tensor/ct_reduce.h"
#include "tensor/tensor_impl.h"

#include <inttypes.h>

/* What a public function is asked for. */
struct ct__reduction {
    const char *who;  /* "ct_sum" */
    const char *noun; /* "sum", as in "bool has no sum" */
    const ct_tensor *t;
    unsigned mask; /* of the reduced axes */
    bool keepdims;
};

/* Sets r up; false, with an error, for a NULL operand or wrong axes. */
bool ct__reduce_start(struct ct__reduction *r, const char *who, const char *noun,
                      const ct_tensor *t, int n, const int *axes, bool keepdims);
/* CT_EDTYPE "bool has no sum". */
ct_status ct__reduce_lacks(const struct ct__reduction *r);
/* CT_EDOMAIN where an item of the result would be of no items. */
ct_status ct__reduce_has_items(const struct ct__reduction *r);
/* A result whose items are not set yet, with its axes named. */
ct_tensor *ct__reduce_result(const struct ct__reduction *r, const ct_scalar *scalar);
/* The number of items that go into each item of the result. */
size_t ct__reduce_length(const struct ct__reduction *r);

/* Some rows: job->count results of job->n items each. May spread them over threads.
   @return CT_OK; CT_EOVERFLOW with *done the first row that has no result; CT_ENOMEM. */
typedef ct_status ct__rows_fn(void *context, const ct_scalar *scalar, const struct ct_fold_job *job,
                              size_t *done);

/* Calls `rows` until every item of the dense result is set: none where it is empty, and each is
   `nothing` where it would be of no items. Rows whose items lie at no single step are copied first,
   a bounded number at a time. An overflow names the lowest index of the result: "the sum at index
   [1] does not fit i32". Frees the result and returns NULL where it fails; NULL passes through. */
ct_tensor *ct__reduced(const struct ct__reduction *r, ct_tensor *result, double nothing,
                       ct__rows_fn *rows, void *context);

/* --- reduce_tile.c: reductions of what is first computed from the items, without a copy of all.
   Rows are cut into the blocks of the contract, and a tile is a block of some rows. --- */

/* y = op(...) over rows x cols items, steps in bytes.
   @return CT_OK, or CT_EOVERFLOW with *row the first row in which an item has no result. */
ct_status ct__each(const ct_scalar *scalar, enum ct_op op, size_t rows, size_t cols,
                   char *const ptr[], const ptrdiff_t row_step[], const ptrdiff_t col_step[],
                   size_t *row);

struct ct__tile {
    const ct_scalar *scalar;
    struct ct_fold_job in;      /* n <= 1,024 items each of `count` rows; y is unused */
    size_t row;                 /* the number of the first row */
    struct ct_fold_job scratch; /* as dense room for all the items; y is unused */
    char *out[2];               /* what the tile becomes: dense items, one for each row */
};

/* One operand of a tile: items at steps between them and between rows. */
struct ct__operand {
    char *x;
    ptrdiff_t step, next;
};
/* The tile's items, near each other: where they lie, or copied to its scratch, so that this comes
   before whatever is made there; what the scratch holds; an item for each row. */
struct ct__operand ct__tile_in(const struct ct__tile *tile);
struct ct__operand ct__tile_scratch(const struct ct__tile *tile);
struct ct__operand ct__tile_rows(const struct ct__tile *tile, char *first);
/* scratch = op(x) or op(x, z) or op(x, z, w): as many operands as op takes. Statuses as ct__each. */
ct_status ct__tile_op(const struct ct__tile *tile, enum ct_op op, const struct ct__operand in[],
                      size_t *row);
/* out[part] = the sums of the rows of an operand of the tile's shape. */
ct_status ct__tile_sum(const struct ct__tile *tile, const struct ct__operand *in, int part,
                       size_t *row);

typedef ct_status ct__tile_fn(void *context, const struct ct__tile *tile, size_t *row);

/* What the tiles became: blocks to be joined by the pairwise tree. */
struct ct__blocks {
    const ct_scalar *scalar;
    int parts;
    size_t count, blocks;
    size_t full, last; /* items in each block but the last, and in that */
    char *part[2];     /* block b of row j is item b * count + j */
    char *next[2];     /* room for the next level */
    char *spare;       /* as much, for what the joining needs */
    char *memory;
};

/* Runs `fn` over all tiles. On success the caller frees b->memory by ct__free(). */
ct_status ct__blocks_make(struct ct__blocks *b, int parts, const ct_scalar *scalar,
                          const struct ct_fold_job *job, ct__tile_fn *fn, void *context,
                          size_t *row);
/* Goes one level up, after next[] was made of the pairs: an odd last block is copied. */
void ct__blocks_up(struct ct__blocks *b);
/* Joins all by addition; part[0] then holds one sum for each row. */
ct_status ct__blocks_sum(struct ct__blocks *b, size_t *row);
/* Copies part[0] to the results. */
void ct__blocks_put(const struct ct__blocks *b, const struct ct_fold_job *job);

#endif
