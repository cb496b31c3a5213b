/* Predicates tell what the functions do: every pair of a set of operands, asked and then tried. */

#include "index_tools.h"

#include "dual/ct_dual.h"
#include "tensor/ct_factor.h"
#include "tensor/ct_index.h"
#include "tensor/ct_linalg.h"
#include "tensor/ct_names.h"
#include "tensor/ct_ops.h"
#include "tensor/ct_write.h"

#include <stdlib.h>
#include <string.h>

Suite *suite_predicates(void);

enum { OPERANDS = 28 };
static ct_tensor *operand[OPERANDS];
static int operands;

/* Ones with names, "xy": 'x' and 'y', '-' for none. */
static void add(const ct_scalar *scalar, int rank, const int64_t *shape, const char *names) {
    static const char letters[][2] = {"b", "c", "x", "y"};
    const char *name[CT_MAX_RANK] = {NULL};
    for (int i = 0; i < rank; i++)
        for (int k = 0; k < COUNT(letters); k++)
            if (names[i] == letters[k][0])
                name[i] = letters[k];
    ct_tensor *ones = ct_ones(scalar, rank, shape);
    ck_assert_int_lt(operands, OPERANDS);
    operand[operands] = ct_name_axes(ones, rank, name);
    ck_assert_msg(operand[operands++] != NULL, "%s", ct_error()->message);
    ct_free(ones);
}

static void set_up(void) {
    operands = 0;
    add(CT_F64, 0, NULL, "");
    add(CT_F64, SHAPE(1), "x");
    add(CT_F64, SHAPE(3), "-");
    add(CT_F64, SHAPE(3), "x");
    add(CT_F64, SHAPE(3), "y");
    add(CT_F64, SHAPE(2, 3), "xy");
    add(CT_F64, SHAPE(2, 3), "yx");
    add(CT_F64, SHAPE(3, 3), "--");
    add(CT_F64, SHAPE(3, 3), "xy");
    add(CT_F64, SHAPE(3, 3), "yx");
    add(CT_F64, SHAPE(3, 3), "bc");
    add(CT_F64, SHAPE(2, 3, 3), "bxy");
    add(CT_F64, SHAPE(2, 3, 3), "cyx");
    add(CT_F64, SHAPE(2, 3, 3), "xb-");
    add(CT_F64, SHAPE(0, 3), "x-");
    add(CT_F64, SHAPE(1, 1, 1, 1, 1, 1, 1, 1), "--------");
    add(CT_BOOL, SHAPE(3), "-");
    add(CT_BOOL, SHAPE(3, 3), "xy");
    add(CT_BOOL, SHAPE(3, 0), "xy");
    add(CT_I32, SHAPE(3), "x");
    add(CT_I32, SHAPE(3, 3), "xy");
    add(CT_I64, SHAPE(3), "y");
    add(CT_F32, SHAPE(3, 3), "-x");
    add(CT_DUAL64, SHAPE(3), "x");
    add(CT_DUAL64, SHAPE(3, 3), "yb");
    add(CT_DUAL64, SHAPE(3), "b");
    add(CT_DUAL64X8, SHAPE(3), "x"); /* large items */
    add(CT_DUAL64X8, SHAPE(3), "y");
}

static void tear_down(void) {
    for (int i = 0; i < operands; i++)
        ct_free(operand[i]);
}

static bool said;

/* What the predicate says, which must be silent. */
static void ask(bool can) {
    ck_assert_int_eq(ct_error()->code, CT_OK);
    said = can;
}

/* What comes of the call. */
static void tried(bool made, const char *call, int i, int k, int detail) {
    ck_assert_msg(said == made, "%s of operands %d and %d (%d): %s, but %s", call, i, k, detail,
                  said ? "yes" : "no", made ? "it works" : ct_error()->message);
    ct_error_clear();
}

static bool frees(ct_tensor *t) {
    ct_free(t);
    return t != NULL;
}

static void try_pair(int i, int k) {
    const ct_tensor *a = operand[i], *b = operand[k], *both[] = {a, b};
    ct_tensor *target = ct_copy(a);
    ask(ct_can_assign(target, b));
    tried(ct_assign(target, b) == CT_OK, "assign", i, k, 0);
    ct_free(target);
    for (int op = -1; op <= CT_OP_COUNT; op++) {
        const ct_tensor *in[] = {a, b, b, b};
        for (int n = 0; n < 4; n++) {
            ask(ct_can_apply((enum ct_op)op, n, in));
            tried(frees(ct_apply((enum ct_op)op, n, in)), "apply", i, k, op);
        }
        target = ct_copy(a);
        ask(ct_can_combine((enum ct_op)op, target, b));
        tried(ct_combine((enum ct_op)op, target, b) == CT_OK, "combine", i, k, op);
        ct_free(target);
    }
    ask(ct_can_matmul(a, b));
    tried(frees(ct_matmul(a, b)), "matmul", i, k, 0);
    ask(ct_can_solve(a, b)); // without a diagonal nothing is singular
    tried(frees(ct_solve_triangular(a, b, CT_UNIT_DIAGONAL)), "solve_triangular", i, k, 0);
    ask(ct_can_dot(a, b));
    tried(frees(ct_dot(a, b)), "dot", i, k, 0);
    for (int n = -1; n < 4; n++) {
        ask(ct_can_tensordot(a, b, n, NULL, NULL));
        tried(frees(ct_tensordot(a, b, n, NULL, NULL)), "tensordot", i, k, n);
    }
    for (int axis = -5; axis < 5; axis++) {
        ask(ct_can_concat(2, both, axis));
        tried(frees(ct_concat(2, both, axis)), "concat", i, k, axis);
        ask(ct_can_stack(2, both, axis));
        tried(frees(ct_stack(2, both, axis)), "stack", i, k, axis);
    }
}

START_TEST(pairs) {
    set_up();
    ct_error_clear();
    for (int k = 0; k < operands; k++)
        try_pair(_i, k);
    tear_down();
}
END_TEST

START_TEST(choices) {
    set_up();
    ct_tensor *index[] = {
        ct_zeros(CT_I64, 0, NULL),     ct_zeros(CT_I64, SHAPE(2)),
        ct_zeros(CT_I32, SHAPE(2, 2)), ct_zeros(CT_I64, SHAPE(0)),
        ct_zeros(CT_F64, SHAPE(2)),    ct_zeros(CT_I32, SHAPE(1, 1, 1, 1, 1, 1, 1))};
    ct_error_clear();
    for (int i = 0; i < operands; i++)
        for (int k = 0; k < COUNT(index); k++)
            for (int axis = -4; axis < 5; axis++) {
                int at = axis == 4 ? CT_ALL : axis;
                int64_t extent = axis == 4 ? (int64_t)ct_count(operand[i])
                                 : axis < ct_rank(operand[i]) && axis >= -ct_rank(operand[i])
                                     ? ct_extent(operand[i], axis)
                                     : 1;
                if (extent > 0) { /* else it has no number 0 */
                    ask(ct_can_take(operand[i], at, index[k]));
                    tried(frees(ct_take(operand[i], at, index[k])), "take", i, k, axis);
                }
            }
    ck_assert(!ct_can_take(NULL, 0, index[0]) && !ct_can_take(operand[2], 0, NULL));
    for (int k = 0; k < COUNT(index); k++)
        ct_free(index[k]);
    tear_down();
}
END_TEST

START_TEST(paddings) {
    static const int64_t amount[][3] = {{0, 0, 0}, {1, 0, 2}, {0, -1, 0}, {INT64_MAX, 0, 0}};
    static const double value[] = {0, 1, 0.5, 1e300};
    set_up();
    ct_error_clear();
    for (int i = 0; i < operands; i++)
        for (int k = 0; k < 4 * 4 * 6; k++) {
            const ct_tensor *t = operand[i];
            const int64_t *before = amount[k % 4], *after = amount[k / 3 % 4];
            enum ct_pad_mode mode = (enum ct_pad_mode)(k % 6 - 1);
            int n = k % 7 == 0 ? ct_rank(t) + 1 : ct_rank(t);
            if (n > 3)
                continue;
            ask(ct_can_pad(t, n, before, after, mode, value[k / 5 % 4]));
            tried(frees(ct_pad(t, n, before, after, mode, value[k / 5 % 4])), "pad", i, k, n);
        }
    ck_assert(!ct_can_pad(operand[2], 1, NULL, amount[0], CT_PAD_WRAP, 0) &&
              !ct_can_pad(operand[2], 1, amount[0], NULL, CT_PAD_WRAP, 0) &&
              !ct_can_pad(NULL, 1, amount[0], amount[0], CT_PAD_WRAP, 0));
    ck_assert_int_eq(ct_error()->code, CT_OK);
    tear_down();
}
END_TEST

/* Results that are too large to be tried. */
START_TEST(too_large) {
    ct_tensor *one = ct_ones(CT_F64, 0, NULL);
    int64_t much = (int64_t)1 << 40;
    ct_tensor *row = ct_broadcast_to(one, SHAPE(1, much)), *t = ct_broadcast_to(one, SHAPE(much));
    ct_tensor *column = ct_broadcast_to(one, SHAPE(much, 1)), *huge;
    ck_assert((huge = ct_broadcast_to(one, SHAPE((int64_t)1 << 59))) != NULL);
    ct_tensor *index = ct_zeros(CT_I64, 0, NULL);
    ct_tensor *many = ct_broadcast_to(index, SHAPE(much));
    ct_error_clear();
    const ct_tensor *in[] = {row, column}, *twice[] = {huge, huge};
    ck_assert(!ct_can_apply(CT_OP_add, 2, in) && !ct_can_matmul(column, row));
    ck_assert(!ct_can_tensordot(t, t, 0, NULL, NULL) && !ct_can_take(row, 0, many));
    ck_assert(!ct_can_concat(2, twice, 0) && !ct_can_stack(2, twice, 0));
    ck_assert(!ct_can_pad(t, 1, &(int64_t){(int64_t)1 << 62}, &(int64_t){0}, CT_PAD_EDGE, 0));
    ck_assert_int_eq(ct_error()->code, CT_OK);
    none(ct_add(row, column));
    none(ct_matmul(column, row));
    none(ct_tensordot(t, t, 0, NULL, NULL));
    none(ct_take(row, 0, many));
    none(ct_concat(2, twice, 0));
    none(ct_stack(2, twice, 0));
    none(ct_pad(t, 1, &(int64_t){(int64_t)1 << 62}, &(int64_t){0}, CT_PAD_EDGE, 0));
    ck_assert_int_eq(ct_error()->code, CT_EOVERFLOW);
    ct_tensor *all[] = {one, row, t, column, huge, index, many};
    for (int i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
}
END_TEST

START_TEST(null_operands) {
    set_up();
    const ct_tensor *hole[] = {operand[2], NULL};
    ct_error_clear();
    ck_assert(!ct_can_apply(CT_OP_add, 2, hole) && !ct_can_apply(CT_OP_add, 2, NULL));
    ck_assert(!ct_can_stack(2, hole, 0) && !ct_can_stack(1, NULL, 0) && !ct_can_stack(0, hole, 0));
    ck_assert(!ct_can_dot(NULL, operand[2]) && !ct_can_dot(operand[2], NULL));
    ck_assert(!ct_can_solve(NULL, operand[2]) && !ct_can_solve(operand[7], NULL));
    ck_assert_int_eq(ct_error()->code, CT_OK);
    tear_down();
}
END_TEST

Suite *suite_predicates(void) {
    Suite *suite = suite_create("predicates");
    TCase *tc = tcase_create("predicates");
    tcase_add_loop_test(tc, pairs, 0, OPERANDS);
    tcase_add_test(tc, choices);
    tcase_add_test(tc, paddings);
    tcase_add_test(tc, too_large);
    tcase_add_test(tc, null_operands);
    suite_add_tcase(suite, tc);
    return suite;
}
