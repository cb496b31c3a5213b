/* Pulls of elementwise ops, made from the table: each records named ops, so every order exists. */

#include "autodiff/pull_words.h"

typedef ct_var pull_fn(const struct ct__pull *P, ct_var X, ct_var Z, ct_var W, ct_var Y, ct_var G);

#define PULL(id, i, formula)                                                                       \
    static ct_var id##_pull_##i(const struct ct__pull *P, ct_var X, ct_var Z, ct_var W, ct_var Y,  \
                                ct_var G) {                                                        \
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
    return f ? f(p, p->x[0], p->x[1], p->x[2], p->y, p->g) : ct__flat();
}
