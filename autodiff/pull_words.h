/* The words of pulls on the tape: MUL(a, b) records a named op. One function per row of the table,
   so a rule reads as mathematics and says nothing of broadcasting or accumulation. For the files
   that hold the rules of structured ops; the parameter P of a rule is the struct ct__pull that it
   sees.

   In one call at most one argument may record (a word, K or a ct_var_ function): C leaves the order
   of arguments open, and the order of nodes decides bits. The digest of listings in
   tests/suite_digest.c finds a rule that forgets this, under another compiler. */
#ifndef CT_PULL_WORDS_H
#define CT_PULL_WORDS_H

#include "autodiff/tape_impl.h"

#include <math.h>

#define WORD_OF static inline __attribute__((unused)) ct_var
#define ONE(id, WORD)                                                                              \
    WORD_OF WORD(ct_var a) {                                                                       \
        return ct__record_elementwise(CT_OP_##id, 1, &a);                                          \
    }
#define TWO(id, WORD)                                                                              \
    WORD_OF WORD(ct_var a, ct_var b) {                                                             \
        const ct_var in[] = {a, b};                                                                \
        return ct__record_elementwise(CT_OP_##id, 2, in);                                          \
    }
#define THREE(id, WORD)                                                                            \
    WORD_OF WORD(ct_var a, ct_var b, ct_var c) {                                                   \
        const ct_var in[] = {a, b, c};                                                             \
        return ct__record_elementwise(CT_OP_##id, 3, in);                                          \
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
#undef WORD_OF

/* A constant of the cotangent's scalar type. */
static inline ct_var ct__pull_constant(const struct ct__pull *P, double value) {
    const struct ct__node *g = ct__node(P->g);
    return g ? ct_constant_of(P->tape, ct_dtype(g->value), value) : P->g;
}

#define K(c) ct__pull_constant(P, (double)(c))
#define FLAT ct__flat()

/* The value of a variable that a rule was given, which is always there. */
static inline const ct_tensor *ct__value_of(ct_var v) {
    return v.tape->nodes[v.index].value;
}

#endif
