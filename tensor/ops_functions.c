/* The elementwise functions of ct_ops.h, one per row of the table. */

#include "tensor/ct_ops.h"

#include "tensor/tensor_impl.h"

#define ONE(id)                                                                                    \
    ct_tensor *ct_##id(const ct_tensor *x) {                                                       \
        return ct__apply("ct_" #id, CT_OP_##id, 1, &x);                                            \
    }
#define TWO(id)                                                                                    \
    ct_tensor *ct_##id(const ct_tensor *x, const ct_tensor *z) {                                   \
        const ct_tensor *in[] = {x, z};                                                            \
        return ct__apply("ct_" #id, CT_OP_##id, 2, in);                                            \
    }
#define THREE(id)                                                                                  \
    ct_tensor *ct_##id(const ct_tensor *x, const ct_tensor *z, const ct_tensor *w) {               \
        const ct_tensor *in[] = {x, z, w};                                                         \
        return ct__apply("ct_" #id, CT_OP_##id, 3, in);                                            \
    }
#define EW1(id, WORD, d0, value, p0, oracle, doc)                 ONE(id)
#define EW2(id, WORD, d0, d1, value, p0, p1, oracle, doc)         TWO(id)
#define EW3(id, WORD, d0, d1, d2, value, p0, p1, p2, oracle, doc) THREE(id)
#define CMP(id, WORD, value, oracle, doc)                         TWO(id)
#define TST(id, WORD, value, oracle, doc)                         ONE(id)
#define LOGIC1(id, WORD, value, oracle, doc)                      ONE(id)
#define LOGIC2(id, WORD, value, oracle, doc)                      TWO(id)
#define SEL(id, WORD, value, p1, p2, oracle, doc)                 THREE(id)
#include "tensor/ops.def"
