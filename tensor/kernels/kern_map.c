/* Elementwise kernels: compiled once per instruction set, every row of the table for f32 and f64.

   A loop is written for operands that are dense, or one item again and again, of which it is given
   a vector. Operands with another stride are packed, a block at a time, into a buffer that stays in
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

#define INLINE static inline __attribute__((always_inline, unused))

enum { BLOCK = 256, MAX_ARITY = 3, NO_MASK = -1, VECTOR_BYTES = 64, MASK_BYTES = 16 };

/* One op of one type: a loop over operands that go on by step[i] items for each vector. */
struct map {
    void (*dense)(size_t n, const void *const x[], const size_t step[], void *y);
    int arity;
    int mask_operand; /* the operand (or, at `arity`, the result) of one byte, or NO_MASK */
    size_t item, lanes;
};

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

/* A whole vector of one item, by one wide store: it is read at once. */
static void spread(size_t size, const char *from, char *to) {
    float x;
    double y;
    if (size == 8) {
        memcpy(&y, from, 8);
        f64v_store((double *)(void *)to, f64v_set1(y));
    } else if (size == 4) {
        memcpy(&x, from, 4);
        f32v_store((float *)(void *)to, f32v_set1(x));
    } else {
        memset(to, *from, MASK_BYTES);
    }
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

static void run_strided(const struct map *map, size_t n, char *const ptr[],
                        const ptrdiff_t step[], const void *const x[], const size_t next[]) {
    _Alignas(64) char buffer[MAX_ARITY + 1][BLOCK * sizeof(double)];
    int last = map->arity;
    bool dense_result = step[last] == (ptrdiff_t)operand_size(map, last);
    for (size_t at = 0; at < n; at += BLOCK) {
        size_t count = n - at < BLOCK ? n - at : BLOCK;
        const void *block[MAX_ARITY];
        for (int i = 0; i < last; i++) {
            size_t size = operand_size(map, i);
            const char *from = ptr[i] + (ptrdiff_t)at * step[i];
            bool in_place = step[i] == (ptrdiff_t)size;
            block[i] = in_place ? from : step[i] == 0 ? x[i] : buffer[i];
            if (!in_place && step[i] != 0)
                pack(size, count, from, step[i], buffer[i]);
        }
        char *y = ptr[last] + (ptrdiff_t)at * step[last];
        map->dense(count, block, next, dense_result ? y : buffer[last]);
        if (!dense_result)
            unpack(operand_size(map, last), count, buffer[last], y, step[last]);
    }
}

static void run_map(const struct map *map, size_t n, char *const ptr[], const ptrdiff_t step[]) {
    _Alignas(64) char vector[MAX_ARITY][VECTOR_BYTES];
    const void *x[MAX_ARITY];
    size_t next[MAX_ARITY];
    bool strided = step[map->arity] != (ptrdiff_t)operand_size(map, map->arity);
    for (int i = 0; i < map->arity; i++) {
        size_t size = operand_size(map, i);
        x[i] = ptr[i];
        next[i] = map->lanes;
        if (step[i] == (ptrdiff_t)size)
            continue;
        strided |= step[i] != 0;
        if (step[i] != 0)
            continue;
        spread(size, ptr[i], vector[i]);
        x[i] = vector[i];
        next[i] = 0;
    }
    if (strided)
        run_strided(map, n, ptr, step, x, next);
    else
        map->dense(n, x, next, ptr[map->arity]);
}

#define T     float
#define V     f32v
#define M     f32m
#define LANES F32V_LANES
#define VF(x) CT_CAT(f32v_, x)
#define TF(x) CT_CAT(f32_, x)
#define LOOPS LOOPS_NAME(f32)
#include "tensor/kernels/kern_map.inc"
#undef T
#undef V
#undef M
#undef LANES
#undef VF
#undef TF
#undef LOOPS

#define T     double
#define V     f64v
#define M     f64m
#define LANES F64V_LANES
#define VF(x) CT_CAT(f64v_, x)
#define TF(x) CT_CAT(f64_, x)
#define LOOPS LOOPS_NAME(f64)
#include "tensor/kernels/kern_map.inc"
