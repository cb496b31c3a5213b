#include "tensor/pack.h"

#include "tensor/move.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

// A template over the item size, instantiated with constants.

#define INLINE static inline __attribute__((always_inline))

enum { DENSE_ROW_BYTES = 64 }; // worth a call of memcpy

// to[i][j] = from[i][j], dense in `to`.
INLINE void pack_plane(size_t size, size_t rows, size_t columns, const char *from,
                       ptrdiff_t row_step, ptrdiff_t column_step, char *restrict to) {
    for (size_t i = 0; i < rows; i++, from += row_step) {
        const char *item = from;
        for (size_t j = 0; j < columns; j++, item += column_step, to += size)
            memcpy(to, item, size);
    }
}

// The same into rows `to_step` apart, read column by column.
INLINE void turn_plane(size_t size, size_t rows, size_t columns, const char *from,
                       ptrdiff_t row_step, ptrdiff_t column_step, char *restrict to,
                       size_t to_step) {
    for (size_t j = 0; j < columns; j++, from += column_step) {
        const char *item = from;
        for (size_t i = 0; i < rows; i++, item += row_step)
            memcpy(to + i * to_step + j * size, item, size);
    }
}

void ct__pack(size_t size, size_t rows, size_t columns, const char *from, ptrdiff_t row_step,
              ptrdiff_t column_step, char *to) {
    if (column_step == (ptrdiff_t)size && row_step == (ptrdiff_t)(columns * size))
        memcpy(to, from, rows * columns * size);
    else if (column_step == (ptrdiff_t)size && columns * size >= DENSE_ROW_BYTES)
        for (size_t i = 0; i < rows; i++, from += row_step, to += columns * size)
            memcpy(to, from, columns * size);
    else if (size == 4)
        pack_plane(4, rows, columns, from, row_step, column_step, to);
    else if (size == 8)
        pack_plane(8, rows, columns, from, row_step, column_step, to);
    else if (size == 1)
        pack_plane(1, rows, columns, from, row_step, column_step, to);
    else if (size == 16)
        pack_plane(16, rows, columns, from, row_step, column_step, to);
    else
        pack_plane(size, rows, columns, from, row_step, column_step, to);
}

// Rows of whole vectors; the last one reaches into the next row, which is written after it.
#define REPEAT(name, item, vector, ...)                                                            \
    static void name(size_t rows, size_t columns, const char *from, ptrdiff_t row_step,            \
                     char *to) {                                                                   \
        typedef item vector __attribute__((vector_size(CT__PACK_SLACK), aligned(1), may_alias));   \
        size_t bytes = columns * sizeof(item);                                                     \
        for (size_t i = 0; i < rows; i++, from += row_step, to += bytes) {                         \
            item x;                                                                                \
            memcpy(&x, from, sizeof x);                                                            \
            for (size_t at = 0; at < bytes; at += sizeof(vector))                                  \
                *(vector *)(void *)(to + at) = (vector){__VA_ARGS__};                              \
        }                                                                                          \
    }
REPEAT(repeat_4, uint32_t, v8u, x, x, x, x, x, x, x, x)
REPEAT(repeat_8, uint64_t, v4u, x, x, x, x)

void ct__repeat(size_t size, size_t rows, size_t columns, const char *from, ptrdiff_t row_step,
                char *to) {
    if (row_step == (ptrdiff_t)size && (size == 4 || size == 8)) {
        size_t done = ct__moves()->repeat(size, rows, columns, from, to);
        rows -= done;
        from += done * size;
        to += done * columns * size;
    }
    if (size == 4)
        repeat_4(rows, columns, from, row_step, to);
    else if (size == 8)
        repeat_8(rows, columns, from, row_step, to);
    else
        ct__pack(size, rows, columns, from, row_step, 0, to);
}

static void turn_plane_of(size_t size, size_t rows, size_t columns, const char *from,
                          ptrdiff_t row_step, ptrdiff_t column_step, char *to, size_t to_step) {
    if (size == 4)
        turn_plane(4, rows, columns, from, row_step, column_step, to, to_step);
    else if (size == 8)
        turn_plane(8, rows, columns, from, row_step, column_step, to, to_step);
    else if (size == 1)
        turn_plane(1, rows, columns, from, row_step, column_step, to, to_step);
    else
        turn_plane(size, rows, columns, from, row_step, column_step, to, to_step);
}

void ct__turn(size_t size, size_t rows, size_t columns, const char *from, ptrdiff_t row_step,
              ptrdiff_t column_step, char *to, size_t to_step) {
    bool known = size == 1 || size == 4 || size == 8 || size == 16;
    if (known && row_step == (ptrdiff_t)size)
        ct__moves()->turn(size, rows, columns, from, column_step, to, (ptrdiff_t)to_step, false);
    else
        turn_plane_of(size, rows, columns, from, row_step, column_step, to, to_step);
}
