/* Elementwise ops on dual numbers, made from the table: the value by the base type's own loop, each
   tangent by the row's pulls with G := the argument's tangent (an elementwise Jacobian is diagonal,
   so one formula serves both directions).

   A pull is evaluated over blocks: every word is one loop of the base type over a block that stays
   in L1. The base may be any scalar type, a dual included, so one file makes every level. Whether a
   base has all words is found by a dry run: the same functions, which then touch no item.

   A checked base has no pulls: a word that has no result at some item may belong to a branch that is
   not chosen there. So no loop of the base falls short, and none is asked. */

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
    bool again;   /* a further tangent: words that no tangent enters are there already */
    bool dry;     /* only asks whether all words exist */
    bool missing; /* one does not */
    _Alignas(64) char space[CT__DUAL_SLOTS][SLOT_BYTES];
};

/* n items, somewhere: an operand's component or a temporary. */
typedef struct block {
    struct blocks *blocks;
    char *p;
    ptrdiff_t step;
    bool varies; /* from tangent to tangent */
} block;

static block temporary(struct blocks *P, size_t size) {
    return (block){P, P->space[P->used++], (ptrdiff_t)size, false};
}

static block constant(struct blocks *P, double value) {
    _Alignas(64) char item[CT__DUAL_BASE_BYTES];
    block k = temporary(P, P->base->size);
    if (P->dry)
        P->missing |= !P->base->from_double(P->base, item, value);
    else if (!P->again)
        P->base->from_double(P->base, k.p, value);
    k.step = 0;
    return k;
}

/* A derivative that is zero everywhere: no block at all. */
static block flat(void) {
    return (block){NULL, NULL, 0, false};
}

static ct_loop_fn run_map;

/* The loop of an op that is there: a dual base need not ask itself again, block by block. */
static ct_loop_fn *known_loop(const ct_scalar *base, enum ct_op op) {
    bool dual = base->loop == ct__dual_loop && ct_op_kind_of(op) == CT_KIND_MAP;
    return dual ? run_map : ct_scalar_loop(base, op);
}

static void run_base(const ct_scalar *base, enum ct_op op, size_t n, int arity, const block *in,
                     block out) {
    char *ptr[MAX_ARITY + 1];
    ptrdiff_t step[MAX_ARITY + 1];
    for (int i = 0; i < arity; i++) {
        ptr[i] = in[i].p;
        step[i] = in[i].step;
    }
    ptr[arity] = out.p;
    step[arity] = out.step;
    known_loop(base, op)(base, op, n, ptr, step);
}

/* With a partial order "not less" does not mean "greater or equal", as pulls have it. */
static bool exists(const ct_scalar *scalar, enum ct_op op) {
    bool by_order =
        ct_op_kind_of(op) == CT_KIND_COMPARE && op != CT_OP_equal && op != CT_OP_not_equal;
    return ct_scalar_has(scalar, op) && (!by_order || scalar->traits & CT_ORDERED);
}

/* Temporaries are numbered in the order in which a formula is evaluated, which is the same for
   every tangent: where no tangent enters, the block of the first one still holds. */
static block word(enum ct_op op, int arity, const block *in) {
    struct blocks *P = in[0].blocks;
    block out = temporary(P, ct_op_gives_mask(op) ? 1 : P->base->size);
    for (int i = 0; i < arity; i++)
        out.varies |= in[i].varies;
    const ct_scalar *scalar = ct_op_kind_of(op) == CT_KIND_LOGIC ? CT_BOOL : P->base;
    if (P->dry)
        P->missing |= !exists(scalar, op);
    else if (!P->again || out.varies)
        run_base(scalar, op, P->n, arity, in, out);
    return out;
}

/* --- the words of pulls: one function per row --- */

#define WORD_OF static inline __attribute__((unused)) block
#define ONE(id, WORD)                                                                              \
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
#define EW1(id, WORD, d0, value, p0, oracle, doc)                 ONE(id, WORD)
#define EW2(id, WORD, d0, d1, value, p0, p1, oracle, doc)         TWO(id, WORD)
#define EW3(id, WORD, d0, d1, d2, value, p0, p1, p2, oracle, doc) THREE(id, WORD)
#define CMP(id, WORD, value, oracle, doc)                         TWO(id, WORD)
#define TST(id, WORD, value, oracle, doc)                         ONE(id, WORD)
#define LOGIC1(id, WORD, value, oracle, doc)                      ONE(id, WORD)
#define LOGIC2(id, WORD, value, oracle, doc)                      TWO(id, WORD)
#define SEL(id, WORD, value, p1, p2, oracle, doc)                 THREE(id, WORD)
#include "tensor/ops.def"
#undef ONE
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

/* --- loops over items --- */

#define INLINE static inline __attribute__((always_inline))

INLINE void copy_sized(size_t size, size_t n, block from, char *to, ptrdiff_t step) {
    for (size_t i = 0; i < n; i++)
        memcpy(to + (ptrdiff_t)i * step, from.p + (ptrdiff_t)i * from.step, size);
}

/* A copy of a size that is known is one move. */
static void copy_out(const ct_scalar *base, size_t n, block from, char *to, ptrdiff_t step) {
    switch (base->size) {
    case 4:
        copy_sized(4, n, from, to, step);
        break;
    case 8:
        copy_sized(8, n, from, to, step);
        break;
    case 16:
        copy_sized(16, n, from, to, step);
        break;
    default:
        copy_sized(base->size, n, from, to, step);
        break;
    }
}

/* The sum over the arguments of their pulls at one tangent. v: the values of the arguments, then y. */
static block pull_tangent(struct blocks *P, enum ct_op op, int arity, const block v[],
                          ptrdiff_t offset) {
    block sum = flat();
    for (int i = 0; i < arity; i++) {
        block tangent = {P, v[i].p + offset, v[i].step, true};
        block pulled = pulls[op][i](P, v[0], arity > 1 ? v[1] : flat(), arity > 2 ? v[2] : flat(),
                                    v[arity], tangent);
        if (!pulled.p)
            continue;
        sum = sum.p ? ADD(sum, pulled) : pulled;
    }
    return sum.p ? sum : constant(P, 0);
}

/* One block: the values of y, then each tangent. The result may be an operand, so a tangent is
   written when its pulls have been taken, and the values, which all pulls read, at the end. */
static void map_block(struct blocks *P, enum ct_op op, int tangents, char *const ptr[],
                      const ptrdiff_t step[]) {
    const ct_scalar *base = P->base;
    int arity = ct_op_arity(op);
    block v[MAX_ARITY + 2] = {{0}};
    for (int i = 0; i < arity; i++)
        v[i] = (block){P, ptr[i], step[i], false};
    P->used = 0;
    v[arity] = temporary(P, base->size);
    run_base(base, op, P->n, arity, v, v[arity]);
    int used = P->used;
    for (int t = 1; t <= tangents; t++) {
        ptrdiff_t offset = t * (ptrdiff_t)base->size;
        P->used = used;
        P->again = t > 1;
        block tangent = pull_tangent(P, op, arity, v, offset);
        copy_out(base, P->n, tangent, ptr[arity] + offset, step[arity]);
    }
    copy_out(base, P->n, v[arity], ptr[arity], step[arity]);
}

static size_t run_map(const ct_scalar *self, enum ct_op op, size_t n, char *const ptr[],
                      const ptrdiff_t step[]) {
    int arity = ct_op_arity(op);
    struct blocks P;
    size_t block_items = SLOT_BYTES / self->base->size;
    P.base = self->base;
    P.dry = false;
    for (size_t at = 0; at < n; at += block_items) {
        char *here[MAX_ARITY + 1];
        for (int i = 0; i <= arity; i++)
            here[i] = ptr[i] + (ptrdiff_t)at * step[i];
        P.n = n - at < block_items ? n - at : block_items;
        map_block(&P, op, ct_dual_tangents(self), here, step);
    }
    return n;
}

/* Comparisons and tests look at the values alone; the choice chooses all components. */
static size_t run_value(const ct_scalar *self, enum ct_op op, size_t n, char *const ptr[],
                        const ptrdiff_t step[]) {
    return ct_scalar_loop(self->base, op)(self->base, op, n, ptr, step);
}

static size_t run_select(const ct_scalar *self, enum ct_op op, size_t n, char *const ptr[],
                         const ptrdiff_t step[]) {
    const ct_scalar *base = self->base;
    ct_loop_fn *loop = ct_scalar_loop(base, op);
    for (size_t at = 0; at < self->size; at += base->size) {
        char *part[] = {ptr[0], ptr[1] + at, ptr[2] + at, ptr[3] + at};
        loop(base, op, n, part, step);
    }
    return n;
}

/* --- which ops there are --- */

static bool fits(const ct_scalar *self) {
    return self->base->size <= CT__DUAL_BASE_BYTES && ct_dual_tangents(self) >= 1 &&
           ct_dual_tangents(self) <= CT__MAX_TANGENTS;
}

/* Types that are known to have every row, and duals over them: nothing to find out. */
static bool has_every_row(const ct_scalar *base) {
    while (base->loop == ct__dual_loop && fits(base))
        base = base->base;
    return base == CT_F64 || base == CT_F32;
}

/* Whether the base has every word of the op's pulls. The maximum along an axis, which goes with the
   op, divides among the items that are tied. */
static bool has_pulls(const ct_scalar *base, enum ct_op op) {
    struct blocks P;
    int arity = ct_op_arity(op);
    P.base = base;
    P.used = 0;
    P.dry = true;
    P.again = P.missing = false;
    block v[MAX_ARITY + 2] = {{0}};
    for (int i = 0; i <= arity; i++)
        v[i] = temporary(&P, base->size);
    block tangent = pull_tangent(&P, op, arity, v, 0);
    if (op == CT_OP_maximum || op == CT_OP_minimum)
        WHERE(LOGICAL_OR(EQUAL(v[0], v[1]), NOT_EQUAL(v[0], v[0])), DIV(tangent, v[0]), tangent);
    return !P.missing;
}

ct_loop_fn *ct__dual_loop(const ct_scalar *self, enum ct_op op) {
    const ct_scalar *base = self->base;
    if (!fits(self) || !ct_scalar_loop(base, op))
        return NULL;
    switch (ct_op_kind_of(op)) {
    case CT_KIND_MAP:
        if (base->traits & CT_CHECKED)
            return NULL;
        return has_every_row(base) || has_pulls(base, op) ? run_map : NULL;
    case CT_KIND_COMPARE:
    case CT_KIND_TEST:
        return run_value;
    case CT_KIND_SELECT:
        return run_select;
    default:
        return NULL; /* logic is for bool */
    }
}
