/* Elementwise kernels: compiled once per instruction set, every row of the table for f32 and f64.

   A loop is written for rows of operands that are dense, or one item again and again. Operands with another stride are packed, a block at a time, into a buffer that stays in
   L1, and a strided result is unpacked from one: the arithmetic of an item is the same whatever the
   layout, and so are its bits. */

#include "tensor/kernels/kern_map.h"
#include "tensor/kernels/vec.h"
#include "tensor/kernels/vexact.h"
#include "tensor/kernels/vgamma.h"
#include "tensor/kernels/words.h"

#include <math.h>

#if CT_ISA_LEVEL == 0
#define ISA scalar
#elif CT_ISA_LEVEL == 1
#define ISA avx2
#else
#define ISA avx512
#endif

/* ct__f32_loops_avx2 and so on. */
#define LOOPS_NAME(type) CT_CAT(CT_CAT(CT_CAT(ct__, type), _loops_), ISA)
#define PLANE_NAME(type) CT_CAT(CT_CAT(CT_CAT(ct__, type), _plane_), ISA)

#define INLINE static inline __attribute__((always_inline, unused))

enum { BLOCK = 256, MAX_ARITY = 3, NO_MASK = -1, MASK_BYTES = 16 };

/* Rows of n items whose operands go on by step[i] items for each vector: by a vector where a row is dense,
   by 0 where it is one item. From row to row are next bytes. */
struct area {
    size_t rows, n;
    const char *x[MAX_ARITY];
    size_t step[MAX_ARITY];
    ptrdiff_t x_next[MAX_ARITY];
    char *y;
    ptrdiff_t y_next;
};

/* One op of one type. */
struct map {
    void (*run)(const struct area *a);
    int arity;
    int mask_operand; /* the operand (or, at `arity`, the result) of one byte, or NO_MASK */
    size_t item, lanes;
};

INLINE void *result_row(const struct area *a, size_t row) {
    return a->y + (ptrdiff_t)row * a->y_next;
}

INLINE const unsigned char *mask_row(const struct area *a, size_t row, unsigned char *one) {
    const char *x = a->x[0] + (ptrdiff_t)row * a->x_next[0];
    return a->step[0] != 0 ? (const unsigned char *)x : memset(one, *x, MASK_BYTES);
}

static size_t operand_size(const struct map *map, int i) {
    return i == map->mask_operand ? 1 : map->item;
}

/* The loops are over constant sizes so that the compiler turns each copy into one move. */
static void pack(size_t size, size_t n, const char *from, ptrdiff_t step, char *to) {
    if (size == 8)
        for (size_t i = 0; i < n; i++)
            memcpy(to + 8 * i, from + (ptrdiff_t)i * step, 8);
    else if (size == 4)
        for (size_t i = 0; i < n; i++)
            memcpy(to + 4 * i, from + (ptrdiff_t)i * step, 4);
    else
        for (size_t i = 0; i < n; i++)
            to[i] = from[(ptrdiff_t)i * step];
}

static void unpack(size_t size, size_t n, const char *from, char *to, ptrdiff_t step) {
    if (size == 8)
        for (size_t i = 0; i < n; i++)
            memcpy(to + (ptrdiff_t)i * step, from + 8 * i, 8);
    else if (size == 4)
        for (size_t i = 0; i < n; i++)
            memcpy(to + (ptrdiff_t)i * step, from + 4 * i, 4);
    else
        for (size_t i = 0; i < n; i++)
            to[(ptrdiff_t)i * step] = from[i];
}

/* One row of which an operand or the result has another stride: by way of dense blocks. */
static void run_strided(const struct map *map, const struct area *area, const ptrdiff_t step[],
                        ptrdiff_t y_step) {
    _Alignas(64) char buffer[MAX_ARITY + 1][BLOCK * sizeof(double)];
    int last = map->arity;
    bool dense_result = y_step == (ptrdiff_t)operand_size(map, last);
    for (size_t at = 0; at < area->n; at += BLOCK) {
        struct area block = *area;
        block.n = area->n - at < BLOCK ? area->n - at : BLOCK;
        for (int i = 0; i < last; i++) {
            size_t size = operand_size(map, i);
            block.x[i] = area->x[i] + (ptrdiff_t)at * step[i];
            if (step[i] == 0 || step[i] == (ptrdiff_t)size)
                continue;
            pack(size, block.n, block.x[i], step[i], buffer[i]);
            block.x[i] = buffer[i];
        }
        char *y = area->y + (ptrdiff_t)at * y_step;
        block.y = dense_result ? y : buffer[last];
        map->run(&block);
        if (!dense_result)
            unpack(operand_size(map, last), block.n, buffer[last], y, y_step);
    }
}

/* As run_plane(), row by row. */
static void run_strided_rows(const struct map *map, const struct area *area,
                             const ptrdiff_t step[]) {
    struct area row = *area;
    row.rows = 1;
    for (size_t r = 0; r < area->rows; r++) {
        run_strided(map, &row, step, step[map->arity]);
        for (int i = 0; i < map->arity; i++)
            row.x[i] += area->x_next[i];
        row.y += area->y_next;
    }
}

INLINE void run_plane(const struct map *map, size_t rows, size_t n, char *const ptr[],
                      const ptrdiff_t step[], const ptrdiff_t next[]) {
    struct area area = {.rows = rows, .n = n};
    int last = map->arity;
    bool strided = step[last] != (ptrdiff_t)operand_size(map, last);
    for (int i = 0; i < last; i++) {
        area.x[i] = ptr[i];
        area.step[i] = step[i] == 0 ? 0 : map->lanes;
        area.x_next[i] = next[i];
        strided |= step[i] != 0 && step[i] != (ptrdiff_t)operand_size(map, i);
    }
    area.y = ptr[last];
    area.y_next = next[last];
    if (strided)
        run_strided_rows(map, &area, step);
    else
        map->run(&area);
}

static void run_map(const struct map *map, size_t n, char *const ptr[], const ptrdiff_t step[]) {
    static const ptrdiff_t nowhere[MAX_ARITY + 1];
    run_plane(map, 1, n, ptr, step, nowhere);
}

#define T     float
#define V     f32v
#define M     f32m
#define LANES F32V_LANES
#define VF(x) CT_CAT(f32v_, x)
#define TF(x) CT_CAT(f32_, x)
#define LOOPS LOOPS_NAME(f32)
#define PLANE PLANE_NAME(f32)
#include "tensor/kernels/kern_map.inc"
#undef T
#undef V
#undef M
#undef LANES
#undef VF
#undef TF
#undef LOOPS
#undef PLANE

#define T     double
#define V     f64v
#define M     f64m
#define LANES F64V_LANES
#define VF(x) CT_CAT(f64v_, x)
#define TF(x) CT_CAT(f64_, x)
#define LOOPS LOOPS_NAME(f64)
#define PLANE PLANE_NAME(f64)
#include "tensor/kernels/kern_map.inc"
