/* Pulls of elementwise ops, made from the table: each records named ops, so every order exists.

   C leaves open in which order a call's arguments are evaluated. Were a formula to record as it is
   evaluated, compilers would number nodes differently, and a gradient with three or more
   contributions would be added in another order. So a formula first builds an expression, which is
   then recorded from left to right, operands before their op. */

#include "autodiff/tape_impl.h"

#include <math.h>

/* A letter, a constant or an op of a formula. */
struct term {
    enum { LETTER, CONSTANT, APPLIED } kind;
    enum ct_op op;
    int arity;
    int in[3]; /* terms */
    int done;  /* of those, while the formula is recorded */
    double value;
    ct_var var; /* of a letter, and of what has been recorded */
};

struct formula {
    const struct ct__pull *pull;
    int count;
    struct term terms[CT__TERMS];
};

typedef struct word {
    struct formula *formula;
    int term; /* or -1: declared flat */
} word;

static inline word letter(struct formula *f, ct_var v) {
    struct term *t = &f->terms[f->count];
    t->kind = LETTER;
    t->var = v;
    return (word){f, f->count++};
}

static inline word constant(struct formula *f, double value) {
    struct term *t = &f->terms[f->count];
    t->kind = CONSTANT;
    t->value = value;
    return (word){f, f->count++};
}

static inline word apply(enum ct_op op, int arity, word a, word b, word c) {
    struct formula *f = a.formula;
    struct term *t = &f->terms[f->count];
    t->kind = APPLIED;
    t->op = op;
    t->arity = arity;
    t->in[0] = a.term;
    t->in[1] = b.term;
    t->in[2] = c.term;
    t->done = 0;
    return (word){f, f->count++};
}

/* Every term of the formula is an operand of a later one, and children are made before parents. What
   is left to the compiler is the order among siblings: it is settled here, without recursion. */
static ct_var record(struct formula *f, int root) {
    int stack[CT__TERMS], depth = 1;
    stack[0] = root;
    while (depth > 0) {
        int at = stack[depth - 1];
        struct term *t = &f->terms[at];
        if (t->kind == APPLIED && t->done < t->arity) {
            stack[depth++] = t->in[t->done++];
            continue;
        }
        if (t->kind == CONSTANT) {
            const struct ct__node *g = ct__node(f->pull->g);
            t->var = g ? ct_constant_of(f->pull->tape, ct_dtype(g->value), t->value) : f->pull->g;
        } else if (t->kind == APPLIED) {
            ct_var in[3];
            for (int i = 0; i < t->arity; i++)
                in[i] = f->terms[t->in[i]].var;
            t->var = ct__record_elementwise(t->op, t->arity, in);
        }
        depth--;
    }
    return f->terms[root].var;
}

/* --- the words: one function per row --- */

#define WORD_OF static inline __attribute__((unused)) word
#define ONE(id, WORD)                                                                              \
    WORD_OF WORD(word a) {                                                                         \
        return apply(CT_OP_##id, 1, a, a, a);                                                      \
    }
#define TWO(id, WORD)                                                                              \
    WORD_OF WORD(word a, word b) {                                                                 \
        return apply(CT_OP_##id, 2, a, b, b);                                                      \
    }
#define THREE(id, WORD)                                                                            \
    WORD_OF WORD(word a, word b, word c) {                                                         \
        return apply(CT_OP_##id, 3, a, b, c);                                                      \
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

typedef word pull_fn(struct formula *P, word X, word Z, word W, word Y, word G);

#define K(c) constant(P, (double)(c))
#define FLAT ((word){P, -1})
#define PULL(id, i, rule)                                                                          \
    static word id##_pull_##i(struct formula *P, word X, word Z, word W, word Y, word G) {         \
        (void)P, (void)X, (void)Z, (void)W, (void)Y, (void)G;                                      \
        return rule;                                                                               \
    }
#define EW1(id, WORD, d0, value, p0, oracle, doc) PULL(id, 0, p0)
#define EW2(id, WORD, d0, d1, value, p0, p1, oracle, doc)                                          \
    PULL(id, 0, p0)                                                                                \
    PULL(id, 1, p1)
#define EW3(id, WORD, d0, d1, d2, value, p0, p1, p2, oracle, doc)                                  \
    PULL(id, 0, p0)                                                                                \
    PULL(id, 1, p1)                                                                                \
    PULL(id, 2, p2)
#define SEL(id, WORD, value, p1, p2, oracle, doc)                                                  \
    PULL(id, 1, p1)                                                                                \
    PULL(id, 2, p2)
#include "tensor/ops.def"

/* NULL where the derivative is declared zero: comparisons, and masks. */
static pull_fn *const pulls[CT_OP_COUNT][3] = {
#define EW1(id, WORD, d0, value, p0, oracle, doc)         [CT_OP_##id] = {id##_pull_0},
#define EW2(id, WORD, d0, d1, value, p0, p1, oracle, doc) [CT_OP_##id] = {id##_pull_0, id##_pull_1},
#define EW3(id, WORD, d0, d1, d2, value, p0, p1, p2, oracle, doc)                                  \
    [CT_OP_##id] = {id##_pull_0, id##_pull_1, id##_pull_2},
#define SEL(id, WORD, value, p1, p2, oracle, doc) [CT_OP_##id] = {NULL, id##_pull_1, id##_pull_2},
#include "tensor/ops.def"
};

ct_var ct__elementwise_pull(enum ct_op op, const struct ct__pull *p, int argument) {
    pull_fn *f = pulls[op][argument];
    struct formula formula;
    if (!f)
        return ct__flat();
    formula.pull = p;
    formula.count = 0;
    word x = letter(&formula, p->x[0]), z = letter(&formula, p->x[1]);
    word w = letter(&formula, p->x[2]), y = letter(&formula, p->y), g = letter(&formula, p->g);
    word root = f(&formula, x, z, w, y, g);
    return root.term < 0 ? ct__flat() : record(&formula, root.term);
}
