/* Planes of items, copied into dense rows. */
#ifndef CT_PACK_H
#define CT_PACK_H

#include <stddef.h>

/* to[i][j] = from[i][j], for items of `size` bytes and signed steps in bytes; the rows of `to` are
   dense and follow each other. */
void ct__pack(size_t size, size_t rows, size_t columns, const char *from, ptrdiff_t row_step,
              ptrdiff_t column_step, char *to);
/* Each row one item, repeated. What follows the rows of `to` is spoilt for CT__PACK_SLACK bytes. */
enum { CT__PACK_SLACK = 32 };
void ct__repeat(size_t size, size_t rows, size_t columns, const char *from, ptrdiff_t row_step,
                char *to);
/* As ct__pack(), into rows `to_step` bytes apart, for a plane that takes its shorter steps down a column:
   reads it column by column. Fastest where row_step is `size`; for tiles that fit L1. */
void ct__turn(size_t size, size_t rows, size_t columns, const char *from, ptrdiff_t row_step,
              ptrdiff_t column_step, char *to, size_t to_step);

#endif
