#include "tensor/blocks.h"

#include <stdio.h>
#include <string.h>

// One byte. We write 0 and 1; in memory that came from outside, all that is not 0 is true.

typedef unsigned char byte;

static bool truth(const void *item) {
    return *(const byte *)item != 0;
}

static double bool_to_double(const ct_scalar *self, const void *item) {
    (void)self;
    return truth(item);
}

static bool bool_from_double(const ct_scalar *self, void *item, double value) {
    (void)self;
    if (value != 0 && value != 1)
        return false;
    *(byte *)item = value != 0;
    return true;
}

static bool bool_to_i64(const ct_scalar *self, const void *item, int64_t *value) {
    (void)self;
    *value = truth(item);
    return true;
}

static bool bool_from_i64(const ct_scalar *self, void *item, int64_t value) {
    (void)self;
    if (value != 0 && value != 1)
        return false;
    *(byte *)item = value != 0;
    return true;
}

static int bool_format(const ct_scalar *self, const void *item, char *text, size_t size) {
    (void)self;
    return snprintf(text, size, "%d", truth(item));
}

static bool bool_equal(const ct_scalar *self, const void *a, const void *b) {
    (void)self;
    return truth(a) == truth(b);
}

/* --- elementwise. A loop stands twice: a compiler makes vectors of a constant count. Where nothing is
   copied, all items come at once --- */

#define INLINE static inline __attribute__((always_inline))

INLINE void block2(bool item(bool, bool), const byte *restrict x, const byte *restrict z,
                   byte *restrict y) {
    for (size_t i = 0; i < CT__BLOCK; i++)
        y[i] = item(x[i] != 0, z[i] != 0);
}

INLINE size_t each2(bool item(bool, bool), size_t n, const byte *restrict x, const byte *restrict z,
                    byte *restrict y) {
    size_t at = 0;
    for (; n - at >= CT__BLOCK; at += CT__BLOCK)
        block2(item, x + at, z + at, y + at);
    for (; at < n; at++)
        y[at] = item(x[at] != 0, z[at] != 0);
    return n;
}

INLINE bool not_of(bool x) {
    return !x;
}

// Without a jump, which would keep a compiler from making vectors.
INLINE bool choose(bool mask, bool z, bool w) {
    return (mask & z) | (!mask & w);
}

INLINE bool and_of(bool x, bool z) {
    return x & z;
}

INLINE bool or_of(bool x, bool z) {
    return x | z;
}

INLINE bool differ(bool x, bool z) {
    return x != z;
}

INLINE bool agree(bool x, bool z) {
    return x == z;
}

// false < true
INLINE bool less_of(bool x, bool z) {
    return !x & z;
}

INLINE bool less_equal_of(bool x, bool z) {
    return !x | z;
}

#define BLOCK2(name, item, x, z)                                                                   \
    static size_t name(size_t n, const void *const in[], void *out) {                              \
        return each2(item, n, in[x], in[z], out);                                                  \
    }
BLOCK2(block_and, and_of, 0, 1)
BLOCK2(block_or, or_of, 0, 1)
BLOCK2(block_xor, differ, 0, 1)
BLOCK2(block_equal, agree, 0, 1)
BLOCK2(block_less, less_of, 0, 1)
BLOCK2(block_less_equal, less_equal_of, 0, 1)
BLOCK2(block_greater, less_of, 1, 0)
BLOCK2(block_greater_equal, less_equal_of, 1, 0)

INLINE void block1(bool item(bool), const byte *restrict x, byte *restrict y) {
    for (size_t i = 0; i < CT__BLOCK; i++)
        y[i] = item(x[i] != 0);
}

INLINE size_t each1(bool item(bool), size_t n, const byte *restrict x, byte *restrict y) {
    size_t at = 0;
    for (; n - at >= CT__BLOCK; at += CT__BLOCK)
        block1(item, x + at, y + at);
    for (; at < n; at++)
        y[at] = item(x[at] != 0);
    return n;
}

INLINE void block_choice(const byte *restrict mask, const byte *restrict z, const byte *restrict w,
                         byte *restrict y) {
    for (size_t i = 0; i < CT__BLOCK; i++)
        y[i] = choose(mask[i] != 0, z[i] != 0, w[i] != 0);
}

INLINE size_t each_select(size_t n, const byte *restrict mask, const byte *restrict z,
                          const byte *restrict w, byte *restrict y) {
    size_t at = 0;
    for (; n - at >= CT__BLOCK; at += CT__BLOCK)
        block_choice(mask + at, z + at, w + at, y + at);
    for (; at < n; at++)
        y[at] = choose(mask[at] != 0, z[at] != 0, w[at] != 0);
    return n;
}

static size_t block_not(size_t n, const void *const in[], void *out) {
    return each1(not_of, n, in[0], out);
}

static size_t block_where(size_t n, const void *const in[], void *out) {
    return each_select(n, in[0], in[1], in[2], out);
}

static ct__block_fn *const blocks[CT_OP_COUNT] = {
    [CT_OP_logical_not] = block_not, [CT_OP_logical_and] = block_and,
    [CT_OP_logical_or] = block_or,   [CT_OP_logical_xor] = block_xor,
    [CT_OP_equal] = block_equal,     [CT_OP_not_equal] = block_xor,
    [CT_OP_less] = block_less,       [CT_OP_less_equal] = block_less_equal,
    [CT_OP_greater] = block_greater, [CT_OP_greater_equal] = block_greater_equal,
    [CT_OP_where] = block_where,
};

static size_t bool_run(const ct_scalar *self, enum ct_op op, size_t n, char *const ptr[],
                       const ptrdiff_t step[]) {
    return ct__run_blocks(blocks[op], self->size, op, n, ptr, step);
}

static ct_loop_fn *bool_loop(const ct_scalar *self, enum ct_op op) {
    (void)self;
    return (unsigned)op < CT_OP_COUNT && blocks[op] ? bool_run : NULL;
}

/* --- any and all: the first item that decides ends the search --- */

static void any_block(struct ct__fold_state *s, const void *items, size_t n) {
    const byte *x = items;
    byte any = 0;
    size_t i = 0;
    for (; n - i >= CT__BLOCK && !any && !s->value; i += CT__BLOCK)
        for (size_t k = 0; k < CT__BLOCK; k++)
            any |= x[i + k];
    for (; i < n && !any && !s->value; i++)
        any = x[i];
    s->value |= any != 0;
}

static void all_block(struct ct__fold_state *s, const void *items, size_t n) {
    s->value = s->value && memchr(items, 0, n) == NULL;
}

static void any_merge(struct ct__fold_state *s, const struct ct__fold_state *next) {
    s->value |= next->value;
}

static void all_merge(struct ct__fold_state *s, const struct ct__fold_state *next) {
    s->value &= next->value;
}

static bool finish(const struct ct__fold_state *s, char *y) {
    *y = (char)s->value;
    return true;
}

static size_t bool_any(const ct_scalar *self, const struct ct_fold_job *job) {
    static const struct ct__block_fold fold = {1, {.value = 0}, any_block, NULL, any_merge, finish};
    (void)self;
    return ct__fold_blocks(&fold, job);
}

static size_t bool_all(const ct_scalar *self, const struct ct_fold_job *job) {
    static const struct ct__block_fold fold = {1, {.value = 1}, all_block, NULL, all_merge, finish};
    (void)self;
    return ct__fold_blocks(&fold, job);
}

/* --- places: the first item that is true (argmax) or false (argmin), else 0 --- */

static void place_in(struct ct__fold_state *s, const byte *x, size_t n, bool wanted) {
    size_t i = 0;
    while (s->value == 0 && i < n && (x[i] != 0) != wanted)
        i++;
    if (s->value == 0 && i < n) {
        s->value = 1;
        s->at = (int64_t)(s->n + i);
    }
    s->n += n;
}

static void argmax_block(struct ct__fold_state *s, const void *items, size_t n) {
    place_in(s, items, n, true);
}

static void argmin_block(struct ct__fold_state *s, const void *items, size_t n) {
    place_in(s, items, n, false);
}

static void place_merge(struct ct__fold_state *s, const struct ct__fold_state *next) {
    if (s->value == 0 && next->value != 0) {
        s->value = 1;
        s->at = (int64_t)s->n + next->at;
    }
    s->n += next->n;
}

static bool place_finish(const struct ct__fold_state *s, char *y) {
    memcpy(y, &s->at, sizeof s->at);
    return true;
}

static size_t bool_argmax(const ct_scalar *self, const struct ct_fold_job *job) {
    static const struct ct__block_fold fold = {1,    {.value = 0}, argmax_block,
                                               NULL, place_merge,  place_finish};
    (void)self;
    return ct__fold_blocks(&fold, job);
}

static size_t bool_argmin(const ct_scalar *self, const struct ct_fold_job *job) {
    static const struct ct__block_fold fold = {1,    {.value = 0}, argmin_block,
                                               NULL, place_merge,  place_finish};
    (void)self;
    return ct__fold_blocks(&fold, job);
}

const ct_scalar ct_scalar_bool = {
    .name = "bool",
    .size = 1,
    .align = 1,
    .traits = CT_PLAIN | CT_BOOLEAN,
    .to_double = bool_to_double,
    .from_double = bool_from_double,
    .format = bool_format,
    .equal = bool_equal,
    .loop = bool_loop,
    .fold = {[CT_FOLD_MAX] = bool_any,
             [CT_FOLD_MIN] = bool_all,
             [CT_FOLD_ARGMAX] = bool_argmax,
             [CT_FOLD_ARGMIN] = bool_argmin},
    .to_i64 = bool_to_i64,
    .from_i64 = bool_from_i64,
};
