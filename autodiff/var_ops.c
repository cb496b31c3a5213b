/* The elementwise functions of ct_var_ops.h, one per row of the table. */

#include "autodiff/ct_var_ops.h"

#include "autodiff/tape_impl.h"

#define ONE(id)                                                                                    \
    ct_var ct_var_##id(ct_var x) {                                                                 \
        return ct__record_elementwise(CT_OP_##id, 1, &x);                                          \
    }
#define TWO(id)                                                                                    \
    ct_var ct_var_##id(ct_var x, ct_var z) {                                                       \
        const ct_var in[] = {x, z};                                                                \
        return ct__record_elementwise(CT_OP_##id, 2, in);                                          \
    }
#define THREE(id)                                                                                  \
    ct_var ct_var_##id(ct_var x, ct_var z, ct_var w) {                                             \
        const ct_var in[] = {x, z, w};                                                             \
        return ct__record_elementwise(CT_OP_##id, 3, in);                                          \
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
