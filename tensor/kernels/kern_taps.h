/* Tiles of products that read their operand at listed places, compiled once per instruction set. */
#ifndef CT_KERN_TAPS_H
#define CT_KERN_TAPS_H

#include <stdbool.h>
#include <stddef.h>

enum { CT__TAP_VECS = 3, CT__TAP_BLOCK = 256 };

/*
 * c[i][v] = sum over k of a[k][i] b[place[k] + at[v]] for rows i and vectors v: one chain of fused multiply-adds in
 * increasing k from +0, as a block of the matrix product; added to c unless `first`. Items of a step of a lie side by
 * side, and so do the vectors of a row of c. All steps and places in bytes.
 */
struct ct__tap_tile {
    size_t n; /* steps of k, at most CT__TAP_BLOCK */
    const char *a;
    ptrdiff_t a_step;
    const char *b;
    const ptrdiff_t *place;
    ptrdiff_t at[CT__TAP_VECS];
    char *c;
    ptrdiff_t c_row;
    bool first;
};

struct ct__tap_kernels {
    size_t lanes, rows; /* items in a vector, and rows of a tile at most */
    void (*tile)(size_t rows, size_t vecs, const struct ct__tap_tile *t);
    /* Rows of items, `sum_row` and `more_row` bytes apart, of as many as are in `vecs` vectors:
       sum[i] = before + more[i], where before is +0 if `first`, else sum[i]. */
    void (*add)(size_t rows, size_t vecs, char *sum, size_t sum_row, const char *more,
                size_t more_row, bool first);
    /* Copies rows of any number of items, that lie so many bytes apart. */
    void (*copy)(size_t rows, size_t items, char *to, size_t to_row, const char *from,
                 size_t from_row);
};

#define CT__TAPS_DECLARE(isa)                                                                      \
    extern const struct ct__tap_kernels ct__f32_taps_##isa, ct__f64_taps_##isa;
CT__TAPS_DECLARE(scalar)
CT__TAPS_DECLARE(avx2)
CT__TAPS_DECLARE(avx512)
#undef CT__TAPS_DECLARE

#endif
