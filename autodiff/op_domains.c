/* The sampling domains of the op table. */

#include "autodiff/check_impl.h"

// clang-format off
#define R(low, high) {low, high}
#define EW1(id, WORD, d0, value, p0, oracle, doc) [CT_OP_##id] = {d0},
#define EW2(id, WORD, d0, d1, value, p0, p1, oracle, doc) [CT_OP_##id] = {d0, d1},
#define EW3(id, WORD, d0, d1, d2, value, p0, p1, p2, oracle, doc) [CT_OP_##id] = {d0, d1, d2},
#define CMP(id, WORD, value, oracle, doc) [CT_OP_##id] = {R(-3, 3), R(-3, 3)},
#define TST(id, WORD, value, oracle, doc) [CT_OP_##id] = {R(-3, 3)},
#define LOGIC1(id, WORD, value, oracle, doc) [CT_OP_##id] = {R(0, 1)},
#define LOGIC2(id, WORD, value, oracle, doc) [CT_OP_##id] = {R(0, 1), R(0, 1)},
#define SEL(id, WORD, value, p1, p2, oracle, doc) [CT_OP_##id] = {R(0, 1), R(-3, 3), R(-3, 3)},
// clang-format on
static const struct ct__domain domains[CT_OP_COUNT][3] = {
#include "tensor/ops.def"
};

struct ct__domain ct__op_domain(enum ct_op op, int argument) {
    struct ct__domain none = {-2, 2}; // structured ops take any number
    if (op >= CT_OP_COUNT || argument < 0 || argument >= 3)
        return none;
    struct ct__domain domain = domains[op][argument];
    return domain.low < domain.high ? domain : none;
}
