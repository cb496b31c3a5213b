/* Moving items without arithmetic, compiled once per instruction set. */
#ifndef CT_KERN_MOVE_H
#define CT_KERN_MOVE_H

#include <stdbool.h>
#include <stddef.h>

struct ct__moves {
    /* to[i][j] = from[j][i] for i < m and j < n: items of 1, 4, 8 or 16 bytes, dense along i in `from`
       and along j in `to`, their other steps in bytes. `large`: the rows of `to` do not stay in a
       cache, so they are written in an order that meets each page once, and past the caches where
       they lie on whole lines; ct__moves.end() must follow. */
    void (*turn)(size_t size, size_t m, size_t n, const char *from, ptrdiff_t from_step, char *to,
                 ptrdiff_t to_step, bool large);
    /* Copies bytes past the caches; end() must follow before anyone reads them. */
    void (*stream)(char *to, const char *from, size_t bytes);
    /* Repeats an item of `size` bytes, which divides 64, in the `bytes` from `to` on; `past` the
       caches where `to` is aligned to the size, and then end() must follow. */
    void (*fill)(char *to, size_t size, const char *item, size_t bytes, bool past);
    void (*end)(void);
    /* How many of n bytes are not 0. */
    size_t (*count)(size_t n, const unsigned char *mask);
    /* Copies the items of 4 or 8 bytes whose mask is not 0; returns how many. Writes nothing from `end`
       on, which has room for all of them. */
    size_t (*select)(size_t size, size_t n, const char *from, const unsigned char *mask, char *to,
                     const char *end);
    /* Rows of so many columns that repeat an item of 4 or 8 bytes each, as many as whole vectors make;
       returns how many. */
    size_t (*repeat)(size_t size, size_t rows, size_t columns, const char *from, char *to);
};

extern const struct ct__moves ct__moves_scalar, ct__moves_avx2, ct__moves_avx512;

#endif
