#include "tensor/pack.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

// A template over the item size, instantiated with constants.

#define INLINE static inline __attribute__((always_inline))

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

#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define HAS_SHUFFLES 1
#endif
#endif

#ifdef HAS_SHUFFLES
typedef uint32_t v8u __attribute__((vector_size(32)));
typedef uint64_t v4u __attribute__((vector_size(32)));
typedef v8u loose_v8u __attribute__((aligned(1), may_alias));
typedef v4u loose_v4u __attribute__((aligned(1), may_alias));
enum { LANES_4 = 8, LANES_8 = 4 };

// Squares of one vector's side, dense downwards in `from`: neighbours are interleaved, then pairs and
// halves joined. Written out, since arrays would live in memory.
#define LOW_4(x, y)       __builtin_shufflevector(x, y, 0, 8, 1, 9, 4, 12, 5, 13)
#define HIGH_4(x, y)      __builtin_shufflevector(x, y, 2, 10, 3, 11, 6, 14, 7, 15)
#define LOW_PAIR(x, y)    __builtin_shufflevector(x, y, 0, 1, 8, 9, 4, 5, 12, 13)
#define HIGH_PAIR(x, y)   __builtin_shufflevector(x, y, 2, 3, 10, 11, 6, 7, 14, 15)
#define LOW_HALF(x, y)    __builtin_shufflevector(x, y, 0, 1, 2, 3, 8, 9, 10, 11)
#define HIGH_HALF(x, y)   __builtin_shufflevector(x, y, 4, 5, 6, 7, 12, 13, 14, 15)
#define LOW_8(x, y)       __builtin_shufflevector(x, y, 0, 4, 2, 6)
#define HIGH_8(x, y)      __builtin_shufflevector(x, y, 1, 5, 3, 7)
#define LOW_HALF_8(x, y)  __builtin_shufflevector(x, y, 0, 1, 4, 5)
#define HIGH_HALF_8(x, y) __builtin_shufflevector(x, y, 2, 3, 6, 7)

INLINE v8u load_8(const char *from) {
    return *(const loose_v8u *)(const void *)from;
}

INLINE v4u load_4(const char *from) {
    return *(const loose_v4u *)(const void *)from;
}

INLINE void store_8(char *to, v8u x) {
    *(loose_v8u *)(void *)to = x;
}

INLINE void store_4(char *to, v4u x) {
    *(loose_v4u *)(void *)to = x;
}

INLINE void turn_8_by_8(const char *from, ptrdiff_t step, char *to, size_t to_step) {
    v8u a = load_8(from), b = load_8(from + step), c = load_8(from + 2 * step);
    v8u d = load_8(from + 3 * step), e = load_8(from + 4 * step), f = load_8(from + 5 * step);
    v8u g = load_8(from + 6 * step), h = load_8(from + 7 * step);
    v8u ab = LOW_4(a, b), cd = LOW_4(c, d), ef = LOW_4(e, f), gh = LOW_4(g, h);
    v8u ba = HIGH_4(a, b), dc = HIGH_4(c, d), fe = HIGH_4(e, f), hg = HIGH_4(g, h);
    v8u r0 = LOW_PAIR(ab, cd), r1 = HIGH_PAIR(ab, cd), r2 = LOW_PAIR(ba, dc);
    v8u r3 = HIGH_PAIR(ba, dc), s0 = LOW_PAIR(ef, gh), s1 = HIGH_PAIR(ef, gh);
    v8u s2 = LOW_PAIR(fe, hg), s3 = HIGH_PAIR(fe, hg);
    store_8(to, LOW_HALF(r0, s0));
    store_8(to + to_step, LOW_HALF(r1, s1));
    store_8(to + 2 * to_step, LOW_HALF(r2, s2));
    store_8(to + 3 * to_step, LOW_HALF(r3, s3));
    store_8(to + 4 * to_step, HIGH_HALF(r0, s0));
    store_8(to + 5 * to_step, HIGH_HALF(r1, s1));
    store_8(to + 6 * to_step, HIGH_HALF(r2, s2));
    store_8(to + 7 * to_step, HIGH_HALF(r3, s3));
}

INLINE void turn_4_by_4(const char *from, ptrdiff_t step, char *to, size_t to_step) {
    v4u a = load_4(from), b = load_4(from + step), c = load_4(from + 2 * step);
    v4u d = load_4(from + 3 * step);
    v4u ab = LOW_8(a, b), ba = HIGH_8(a, b), cd = LOW_8(c, d), dc = HIGH_8(c, d);
    store_4(to, LOW_HALF_8(ab, cd));
    store_4(to + to_step, LOW_HALF_8(ba, dc));
    store_4(to + 2 * to_step, HIGH_HALF_8(ab, cd));
    store_4(to + 3 * to_step, HIGH_HALF_8(ba, dc));
}

// A row is whole vectors; the last one reaches into the next row, which is written after it.
static bool repeat_vectors(size_t size, size_t rows, size_t columns, const char *from,
                           ptrdiff_t row_step, char *to) {
    size_t bytes = columns * size;
    for (size_t i = 0; size == 4 && i < rows; i++, from += row_step, to += bytes) {
        uint32_t x;
        memcpy(&x, from, sizeof x);
        for (size_t at = 0; at < bytes; at += sizeof(v8u))
            store_8(to + at, (v8u){x, x, x, x, x, x, x, x});
    }
    for (size_t i = 0; size == 8 && i < rows; i++, from += row_step, to += bytes) {
        uint64_t x;
        memcpy(&x, from, sizeof x);
        for (size_t at = 0; at < bytes; at += sizeof(v4u))
            store_4(to + at, (v4u){x, x, x, x});
    }
    return size == 4 || size == 8;
}

// Turns whole squares of a plane whose columns are dense.
static void turn_squares(size_t size, size_t rows, size_t columns, const char *from,
                         ptrdiff_t column_step, char *to, size_t to_step) {
    size_t side = size == 4 ? LANES_4 : LANES_8;
    for (size_t j = 0; j < columns; j += side)
        for (size_t i = 0; i < rows; i += side) {
            const char *square = from + (ptrdiff_t)j * column_step + (ptrdiff_t)(i * size);
            if (size == 4)
                turn_8_by_8(square, column_step, to + i * to_step + j * size, to_step);
            else
                turn_4_by_4(square, column_step, to + i * to_step + j * size, to_step);
        }
}
#else
static bool repeat_vectors(size_t size, size_t rows, size_t columns, const char *from,
                           ptrdiff_t row_step, char *to) {
    (void)size, (void)rows, (void)columns, (void)from, (void)row_step, (void)to;
    return false;
}

enum { LANES_4 = 1 << 30, LANES_8 = 1 << 30 }; // no square is whole

static void turn_squares(size_t size, size_t rows, size_t columns, const char *from,
                         ptrdiff_t column_step, char *to, size_t to_step) {
    (void)size, (void)rows, (void)columns, (void)from, (void)column_step, (void)to, (void)to_step;
}
#endif

void ct__repeat(size_t size, size_t rows, size_t columns, const char *from, ptrdiff_t row_step,
                char *to) {
    if (!repeat_vectors(size, rows, columns, from, row_step, to))
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
    size_t side = size == 4 ? LANES_4 : LANES_8;
    bool squares = (size == 4 || size == 8) && row_step == (ptrdiff_t)size;
    size_t whole_rows = squares ? rows / side * side : 0;
    size_t whole_columns = whole_rows > 0 ? columns / side * side : 0;
    turn_squares(size, whole_rows, whole_columns, from, column_step, to, to_step);
    turn_plane_of(size, rows - whole_rows, whole_columns, from + (ptrdiff_t)whole_rows * row_step,
                  row_step, column_step, to + whole_rows * to_step, to_step);
    turn_plane_of(size, rows, columns - whole_columns,
                  from + (ptrdiff_t)whole_columns * column_step, row_step, column_step,
                  to + whole_columns * size, to_step);
}
