/* Elementwise ops on dual numbers, made from the table: the value by the base type's own loop, the
   tangent by the row's pulls with G := the argument's tangent (an elementwise Jacobian is diagonal,
   so one formula serves both directions).

   A pull is evaluated over blocks: every word is one loop of the base type over a block that stays
   in L1. The base may be any scalar type, a dual included, so one file makes every level. */

#include "dual/dual_impl.h"

#include <math.h>
#include <string.h>

enum {
    SLOT_BYTES = 1024, /* of a block of temporaries */
    MAX_ARITY = 3
};

/* Where the temporaries of a pull live. */
struct blocks {
    const ct_scalar *base;
    size_t n; /* items in a block */
    int used;
    _Alignas(64) char space[CT__DUAL_SLOTS][SLOT_BYTES];
};

/* n items, somewhere: an operand's component or a temporary. */
typedef struct block {
    struct blocks *blocks;
    char *p;
    ptrdiff_t step;
} block;

static block temporary(struct blocks *P, size_t size) {
    return (block){P, P->space[P->used++], (ptrdiff_t)size};
}

static block constant(struct blocks *P, double value) {
    block k = temporary(P, P->base->size);
    P->base->from_double(P->base, k.p, value);
    k.step = 0;
    return k;
}

/* A derivative that is zero everywhere: no block at all. */
static block flat(void) {
    return (block){NULL, NULL, 0};
}

static void run_base(enum ct_op op, const ct_scalar *base, size_t n, int arity, const block *in,
                     block out) {
    char *ptr[MAX_ARITY + 1];
    ptrdiff_t step[MAX_ARITY + 1];
    for (int i = 0; i < arity; i++) {
        ptr[i] = in[i].p;
        step[i] = in[i].step;
    }
    ptr[arity] = out.p;
    step[arity] = out.step;
    ct_scalar_loop(base, op)(base, op, n, ptr, step);
}

static block word(enum ct_op op, int arity, const block *in) {
    struct blocks *P = in[0].blocks;
    size_t size = ct_op_kind_of(op) == CT_KIND_COMPARE ? 1 : P->base->size;
    block out = temporary(P, size);
    run_base(op, P->base, P->n, arity, in, out);
    return out;
}

/* --- the words of pulls: one function per row --- */

#define WORD_OF static inline __attribute__((unused)) block
#define EW1(id, WORD, d0, value, p0, oracle, doc)                                                  \
    WORD_OF WORD(block a) {                                                                        \
        return word(CT_OP_##id, 1, &a);                                                            \
    }
#define TWO(id, WORD)                                                                              \
    WORD_OF WORD(block a, block b) {                                                               \
        return word(CT_OP_##id, 2, (const block[]){a, b});                                         \
    }
#define THREE(id, WORD)                                                                            \
    WORD_OF WORD(block a, block b, block c) {                                                      \
        return word(CT_OP_##id, 3, (const block[]){a, b, c});                                      \
    }
#define EW2(id, WORD, d0, d1, value, p0, p1, oracle, doc)         TWO(id, WORD)
#define EW3(id, WORD, d0, d1, d2, value, p0, p1, p2, oracle, doc) THREE(id, WORD)
#define CMP(id, WORD, value, oracle, doc)                         TWO(id, WORD)
#define SEL(id, WORD, value, p1, p2, oracle, doc)                 THREE(id, WORD)
#include "tensor/ops.def"
#undef TWO
#undef THREE

/* --- the pulls --- */

typedef block pull_fn(struct blocks *P, block X, block Z, block W, block Y, block G);

#define K(c) constant(P, (double)(c))
#define FLAT flat()
#define PULL(id, i, formula)                                                                       \
    static block id##_pull_##i(struct blocks *P, block X, block Z, block W, block Y, block G) {    \
        (void)P, (void)X, (void)Z, (void)W, (void)Y, (void)G;                                      \
        return formula;                                                                            \
    }
#define EW1(id, WORD, d0, value, p0, oracle, doc) PULL(id, 0, p0)
#define EW2(id, WORD, d0, d1, value, p0, p1, oracle, doc)                                          \
    PULL(id, 0, p0)                                                                                \
    PULL(id, 1, p1)
#define EW3(id, WORD, d0, d1, d2, value, p0, p1, p2, oracle, doc)                                  \
    PULL(id, 0, p0)                                                                                \
    PULL(id, 1, p1)                                                                                \
    PULL(id, 2, p2)
#include "tensor/ops.def"

static pull_fn *const pulls[CT_OP_COUNT][MAX_ARITY] = {
#define EW1(id, WORD, d0, value, p0, oracle, doc)         [CT_OP_##id] = {id##_pull_0},
#define EW2(id, WORD, d0, d1, value, p0, p1, oracle, doc) [CT_OP_##id] = {id##_pull_0, id##_pull_1},
#define EW3(id, WORD, d0, d1, d2, value, p0, p1, p2, oracle, doc)                                  \
    [CT_OP_##id] = {id##_pull_0, id##_pull_1, id##_pull_2},
#include "tensor/ops.def"
};

/* --- loops over pairs --- */

static void copy_out(const ct_scalar *base, size_t n, block from, char *to, ptrdiff_t step) {
    for (size_t i = 0; i < n; i++)
        memcpy(to + (ptrdiff_t)i * step, from.p + (ptrdiff_t)i * from.step, base->size);
}

/* One block: the values of y, then the sum over the arguments of their pulls. The result may be an
   operand, so it is written last. */
static void map_block(struct blocks *P, enum ct_op op, int arity, char *const ptr[],
                      const ptrdiff_t step[]) {
    const ct_scalar *base = P->base;
    block v[MAX_ARITY + 2] = {{0}};
    block sum = flat();
    for (int i = 0; i < arity; i++)
        v[i] = (block){P, ptr[i], step[i]};
    v[arity] = temporary(P, base->size);
    run_base(op, base, P->n, arity, v, v[arity]);
    for (int i = 0; i < arity; i++) {
        block tangent = {P, ptr[i] + base->size, step[i]};
        block pulled = pulls[op][i](P, v[0], arity > 1 ? v[1] : flat(), arity > 2 ? v[2] : flat(),
                                    v[arity], tangent);
        if (!pulled.p)
            continue;
        sum = sum.p ? ADD(sum, pulled) : pulled;
    }
    if (!sum.p)
        sum = constant(P, 0);
    copy_out(base, P->n, v[arity], ptr[arity], step[arity]);
    copy_out(base, P->n, sum, ptr[arity] + base->size, step[arity]);
}

static size_t run_map(const ct_scalar *self, enum ct_op op, size_t n, char *const ptr[],
                      const ptrdiff_t step[]) {
    int arity = ct_op_arity(op);
    struct blocks P;
    size_t block_items = SLOT_BYTES / self->base->size;
    P.base = self->base;
    for (size_t at = 0; at < n; at += block_items) {
        char *here[MAX_ARITY + 1];
        for (int i = 0; i <= arity; i++)
            here[i] = ptr[i] + (ptrdiff_t)at * step[i];
        P.n = n - at < block_items ? n - at : block_items;
        P.used = 0;
        map_block(&P, op, arity, here, step);
    }
    return n;
}

/* Comparisons look at the values alone; the choice chooses both components. */
static size_t run_compare(const ct_scalar *self, enum ct_op op, size_t n, char *const ptr[],
                          const ptrdiff_t step[]) {
    return ct_scalar_loop(self->base, op)(self->base, op, n, ptr, step);
}

static size_t run_select(const ct_scalar *self, enum ct_op op, size_t n, char *const ptr[],
                         const ptrdiff_t step[]) {
    const ct_scalar *base = self->base;
    char *tangents[] = {ptr[0], ptr[1] + base->size, ptr[2] + base->size, ptr[3] + base->size};
    ct_scalar_loop(base, op)(base, op, n, ptr, step);
    return ct_scalar_loop(base, op)(base, op, n, tangents, step);
}

ct_loop_fn *ct__dual_loop(const ct_scalar *self, enum ct_op op) {
    if (!ct_scalar_loop(self->base, op))
        return NULL;
    enum ct_op_kind kind = ct_op_kind_of(op);
    return kind == CT_KIND_MAP       ? run_map
           : kind == CT_KIND_COMPARE ? run_compare
           : kind == CT_KIND_SELECT  ? run_select
                                     : NULL;
}
