#include "op_oracle.h"

#include "autodiff/ct_var_ops.h"
#include "autodiff/exact.h"
#include "tensor/ct_ops.h"

#define ONE(id)                                                                                    \
    static ct_tensor *apply_##id(const ct_tensor *const in[]) {                                    \
        return ct_##id(in[0]);                                                                     \
    }                                                                                              \
    static ct_var record_##id(const ct_var in[]) {                                                 \
        return ct_var_##id(in[0]);                                                                 \
    }
#define TWO(id)                                                                                    \
    static ct_tensor *apply_##id(const ct_tensor *const in[]) {                                    \
        return ct_##id(in[0], in[1]);                                                              \
    }                                                                                              \
    static ct_var record_##id(const ct_var in[]) {                                                 \
        return ct_var_##id(in[0], in[1]);                                                          \
    }
#define THREE(id)                                                                                  \
    static ct_tensor *apply_##id(const ct_tensor *const in[]) {                                    \
        return ct_##id(in[0], in[1], in[2]);                                                       \
    }                                                                                              \
    static ct_var record_##id(const ct_var in[]) {                                                 \
        return ct_var_##id(in[0], in[1], in[2]);                                                   \
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

#define R(low, high)                                                                               \
    { low, high }
#define CALLS(id) apply_##id, record_##id
static const struct op_oracle oracles[CT_OP_COUNT] = {
#define EW1(id, WORD, d0, value, p0, oracle, doc)         [CT_OP_##id] = {1, {d0}, CALLS(id)},
#define EW2(id, WORD, d0, d1, value, p0, p1, oracle, doc) [CT_OP_##id] = {2, {d0, d1}, CALLS(id)},
#define EW3(id, WORD, d0, d1, d2, value, p0, p1, p2, oracle, doc)                                  \
    [CT_OP_##id] = {3, {d0, d1, d2}, CALLS(id)},
#define CMP(id, WORD, value, oracle, doc)    [CT_OP_##id] = {2, {R(-3, 3), R(-3, 3)}, CALLS(id)},
#define TST(id, WORD, value, oracle, doc)    [CT_OP_##id] = {1, {R(-3, 3)}, CALLS(id)},
#define LOGIC1(id, WORD, value, oracle, doc) [CT_OP_##id] = {1, {R(0, 1)}, CALLS(id)},
#define LOGIC2(id, WORD, value, oracle, doc) [CT_OP_##id] = {2, {R(0, 1), R(0, 1)}, CALLS(id)},
#define SEL(id, WORD, value, p1, p2, oracle, doc)                                                  \
    [CT_OP_##id] = {3, {R(0, 1), R(-3, 3), R(-3, 3)}, CALLS(id)},
#include "tensor/ops.def"
};
#undef R

const struct op_oracle *op_oracle(enum ct_op op) {
    return &oracles[op];
}

long double op_exact(enum ct_op op, const double x[3]) {
    return ct__exact(
        op, (const long double[]){(long double)x[0], (long double)x[1], (long double)x[2]});
}

bool oracle_is_wide(void) {
    return ct__exact_is_wide();
}

bool op_takes_mask(enum ct_op op, int argument) {
    return ct_op_takes_mask(op, argument);
}

bool op_gives_mask(enum ct_op op) {
    return ct_op_gives_mask(op);
}

long double ulp_error(const ct_scalar *scalar, double result, long double exact) {
    return ct__ulp_error(scalar, result, exact);
}
