/* Moving items without arithmetic: transposing, streaming, filling, selecting. */

#include "tensor/kernels/kern_move.h"

#include "tensor/kernels/vec.h"
#include "tensor/kernels/vec_groups.h"

#define INLINE static inline __attribute__((always_inline, unused))

enum {
    LINE = 64,
    STRIP_BYTES = 128, // of a row of `to` that are written together: two lines, as they are fetched
};

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

// Item by item; the size is a constant. Down the lines of `from`, a few of them at a time.
INLINE void turn_items(size_t size, size_t m, size_t n, const char *restrict from,
                       ptrdiff_t from_step, char *restrict to, ptrdiff_t to_step) {
    size_t few = STRIP_BYTES / size;
    for (size_t j = 0; j < n; j += few)
        for (size_t i = 0; i < m; i++)
            for (size_t k = j; k < smaller(n, j + few); k++)
                memcpy(to + (ptrdiff_t)i * to_step + (ptrdiff_t)(k * size),
                       from + (ptrdiff_t)k * from_step + (ptrdiff_t)(i * size), size);
}

#if CT_ISA_LEVEL > 0
#define T     float
#define VF(x) CT_CAT(f32v_, x)
#define TF(x) CT_CAT(f32_, x)
#define V     f32v
#define M     f32m
#define I     f32i
#define LANE  int32_t
#define LANES F32V_LANES
#include "tensor/kernels/kern_repeat.inc"
#include "tensor/kernels/kern_turn.inc"
#undef T
#undef VF
#undef TF
#undef V
#undef M
#undef I
#undef LANE
#undef LANES

#define T     double
#define VF(x) CT_CAT(f64v_, x)
#define TF(x) CT_CAT(f64_, x)
#define V     f64v
#define M     f64m
#define I     f64i
#define LANE  int64_t
#define LANES F64V_LANES
#include "tensor/kernels/kern_repeat.inc"
#include "tensor/kernels/kern_turn.inc"

// Bytes: squares of 16, neighbours interleaved four times.

enum { BYTE_SIDE = 16 };

INLINE void byte_square(const char *from, ptrdiff_t from_step, char *to, ptrdiff_t to_step) {
    __m128i a[BYTE_SIDE], b[BYTE_SIDE];
    for (int i = 0; i < BYTE_SIDE; i++)
        a[i] = _mm_loadu_si128((const __m128i_u *)(const void *)(from + i * from_step));
    // Row r of a step meets row r + 8: after four of them the bits of row and column are swapped.
    for (int step = 0; step < 4; step++) {
        for (int i = 0; i < BYTE_SIDE / 2; i++) {
            b[2 * i] = _mm_unpacklo_epi8(a[i], a[i + BYTE_SIDE / 2]);
            b[2 * i + 1] = _mm_unpackhi_epi8(a[i], a[i + BYTE_SIDE / 2]);
        }
        for (int i = 0; i < BYTE_SIDE; i++)
            a[i] = b[i];
    }
    for (int i = 0; i < BYTE_SIDE; i++)
        _mm_storeu_si128((__m128i_u *)(void *)(to + i * to_step), a[i]);
}

static void turn_bytes(size_t m, size_t n, const char *from, ptrdiff_t from_step, char *to,
                       ptrdiff_t to_step) {
    size_t whole_m = m / BYTE_SIDE * BYTE_SIDE, whole_n = n / BYTE_SIDE * BYTE_SIDE;
    for (size_t j = 0; j < whole_n; j += STRIP_BYTES)
        for (size_t i = 0; i < whole_m; i += BYTE_SIDE)
            for (size_t k = j; k < smaller(whole_n, j + STRIP_BYTES); k += BYTE_SIDE)
                byte_square(from + (ptrdiff_t)k * from_step + (ptrdiff_t)i, from_step,
                            to + (ptrdiff_t)i * to_step + (ptrdiff_t)k, to_step);
    turn_items(1, m - whole_m, whole_n, from + whole_m, from_step,
               to + (ptrdiff_t)whole_m * to_step, to_step);
    turn_items(1, m, n - whole_n, from + (ptrdiff_t)whole_n * from_step, from_step, to + whole_n,
               to_step);
}

static void turn(size_t size, size_t m, size_t n, const char *from, ptrdiff_t from_step, char *to,
                 ptrdiff_t to_step, bool large) {
    if (size == 4)
        f32_turn(m, n, from, from_step, to, to_step, large);
    else if (size == 8)
        f64_turn(m, n, from, from_step, to, to_step, large);
    else if (size == 1)
        turn_bytes(m, n, from, from_step, to, to_step);
    else
        turn_items(16, m, n, from, from_step, to, to_step);
}

static void stream(char *to, const char *from, size_t bytes) {
    enum { VECTOR = sizeof(f32v) };
    size_t head = smaller(-(uintptr_t)to % VECTOR, bytes), at = head;
    memcpy(to, from, head);
    for (; at + VECTOR <= bytes; at += VECTOR)
        f32v_stream((float *)(void *)(to + at),
                    f32v_load((const float *)(const void *)(from + at)));
    memcpy(to + at, from + at, bytes - at);
}
INLINE void fill_vectors(char *to, const char *pattern, size_t bytes, bool past) {
    const f32v v = f32v_load((const float *)(const void *)pattern);
    size_t at = 0;
    for (; at + sizeof v <= bytes; at += sizeof v)
        if (past)
            f32v_stream((float *)(void *)(to + at), v);
        else
            f32v_store((float *)(void *)(to + at), v);
    memcpy(to + at, pattern, bytes - at);
}

static void fill(char *to, size_t size, const char *item, size_t bytes, bool past) {
    enum { VECTOR = sizeof(f32v) };
    _Alignas(LINE) char pattern[VECTOR];
    for (size_t i = 0; i < VECTOR; i += size)
        memcpy(pattern + i, item, size);
    size_t head = smaller(-(uintptr_t)to % VECTOR, bytes);
    if (!past || head % size != 0) {
        fill_vectors(to, pattern, bytes, false);
        return;
    }
    memcpy(to, pattern, head);
    fill_vectors(to + head, pattern, bytes - head, true);
}
static size_t select_items(size_t size, size_t n, const char *from, const unsigned char *mask,
                           char *to, const char *end) {
    return size == 4 ? f32_select(n, from, mask, to, end) : f64_select(n, from, mask, to, end);
}

static size_t repeat(size_t size, size_t rows, size_t columns, const char *from, char *to) {
    return size == 4 ? f32_repeat(rows, columns, from, to) : f64_repeat(rows, columns, from, to);
}
#else
static void turn(size_t size, size_t m, size_t n, const char *from, ptrdiff_t from_step, char *to,
                 ptrdiff_t to_step, bool large) {
    (void)large;
    if (size == 4)
        turn_items(4, m, n, from, from_step, to, to_step);
    else if (size == 8)
        turn_items(8, m, n, from, from_step, to, to_step);
    else if (size == 1)
        turn_items(1, m, n, from, from_step, to, to_step);
    else
        turn_items(16, m, n, from, from_step, to, to_step);
}

static void stream(char *to, const char *from, size_t bytes) {
    memcpy(to, from, bytes);
}

static void fill(char *to, size_t size, const char *item, size_t bytes, bool past) {
    (void)past;
    for (size_t at = 0; at < bytes; at += size)
        memcpy(to + at, item, size);
}

static size_t select_items(size_t size, size_t n, const char *from, const unsigned char *mask,
                           char *to, const char *end) {
    char *y = to;
    for (size_t i = 0; i < n && y < end; i++) {
        memcpy(y, from + i * size, size);
        y += mask[i] != 0 ? size : 0;
    }
    return (size_t)(y - to) / size;
}

static size_t repeat(size_t size, size_t rows, size_t columns, const char *from, char *to) {
    (void)size, (void)rows, (void)columns, (void)from, (void)to;
    return 0;
}
#endif

// Bytes count up to 255 of them side by side, which a compiler makes vectors of.
static size_t count(size_t n, const unsigned char *mask) {
    enum { SIDE_BY_SIDE = 64, MOST = 255 };
    size_t sum = 0, i = 0;
    while (n - i >= SIDE_BY_SIDE) {
        unsigned char counts[SIDE_BY_SIDE] = {0};
        for (int rows = 0; rows < MOST && n - i >= SIDE_BY_SIDE; rows++, i += SIDE_BY_SIDE)
            for (int k = 0; k < SIDE_BY_SIDE; k++)
                counts[k] = (unsigned char)(counts[k] + (mask[i + (size_t)k] != 0));
        for (int k = 0; k < SIDE_BY_SIDE; k++)
            sum += counts[k];
    }
    for (; i < n; i++)
        sum += mask[i] != 0;
    return sum;
}

static void end(void) {
    ct_vec_stream_end();
}

const struct ct__moves CT_ISA_NAME(ct__moves) = {turn,  stream,       fill,  end,
                                                 count, select_items, repeat};
