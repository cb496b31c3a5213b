/* Duals over scalar types of one's own: which ops there are, when the base lacks some. */

#include "case_tools.h"
#include "ct_test.h"
#include "dual/dual_impl.h"
#include "tensor/ct_alloc.h"
#include "tensor/ct_ops.h"
#include "tensor/ct_reduce.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static size_t live;

static void setup(void) {
    live = ct_live_blocks();
}

static void teardown(void) {
    ct_error_clear();
    ck_assert_uint_eq(ct_live_blocks(), live);
}

/* --- bases --- */

static enum ct_op lost; /* the op that a base lacks; CT_OP_COUNT: none */

static ct_loop_fn *f64_loop(const ct_scalar *self, enum ct_op op) {
    (void)self;
    return op == lost ? NULL : ct_scalar_loop(CT_F64, op);
}

/* f64 by its loops alone, everything else being defaults. */
static ct_scalar base_of(unsigned more, unsigned less) {
    ct_scalar s = *CT_F64;
    s.name = "number";
    s.traits = (s.traits | more) & ~less;
    s.loop = f64_loop;
    s.matmul = NULL;
    s.chain = NULL;
    memset(s.fold, 0, sizeof s.fold);
    return s;
}

static ct_scalar dual_over(const ct_scalar *base) {
    ct_scalar s = *CT_DUAL64;
    s.name = "pair";
    s.size = 2 * base->size;
    s.traits = base->traits;
    s.base = base;
    return s;
}

/* 2 x 2 duals. The type has no constructor of its own. */
static ct_tensor *pairs(const ct_scalar *dual) {
    double values[] = {0.5, 0.25, 0.75, 0.5}, tangents[] = {1, 2, 3, 4};
    ct_tensor *value = ct_from_items(dual->base, 2, (int64_t[]){2, 2}, 4, values);
    ct_tensor *tangent = ct_from_items(dual->base, 2, (int64_t[]){2, 2}, 4, tangents);
    ct_tensor *t = ct_from_components(dual, 2, (const ct_tensor *[]){value, tangent});
    ck_assert_msg(t != NULL, "%s", ct_error()->message);
    ct_free(value), ct_free(tangent);
    return t;
}

/* --- the oracle: words as the text of a pull has them --- */

static bool has_words(const ct_scalar *base, const char *formula) {
    for (const char *at = formula; at && (at = strchr(at, '(')); at++) {
        char name[40] = "";
        const char *start = at;
        while (start > formula && (isalnum((unsigned char)start[-1]) || start[-1] == '_'))
            start--;
        for (const char *c = start; c < at; c++)
            name[c - start] = (char)tolower((unsigned char)*c);
        enum ct_op op = ct_op_by_name(name);
        if (op == CT_OP_COUNT)
            ck_assert_msg(strcmp(name, "k") == 0 || strcmp(name, "") == 0, "%s", name);
        else if (ct_op_kind_of(op) != CT_KIND_LOGIC && !ct_scalar_has(base, op))
            return false;
    }
    return true;
}

static bool wanted(const ct_scalar *base, enum ct_op op) {
    int arity = ct_op_arity(op), sloped = 0;
    if (arity == 0 || ct_op_kind_of(op) == CT_KIND_LOGIC || !ct_scalar_has(base, op))
        return false;
    if (ct_op_kind_of(op) != CT_KIND_MAP)
        return true;
    for (int i = 0; i < arity; i++) {
        if (!has_words(base, ct_op_pull_text(op, i)))
            return false;
        sloped += strcmp(ct_op_pull_text(op, i), "FLAT") != 0;
    }
    if (op == CT_OP_maximum || op == CT_OP_minimum)
        return ct_scalar_has(base, CT_OP_add) && ct_scalar_has(base, CT_OP_div) &&
               ct_scalar_has(base, CT_OP_equal) && ct_scalar_has(base, CT_OP_not_equal);
    return sloped < 2 || ct_scalar_has(base, CT_OP_add);
}

/* --- what there is runs, and what there is not says so --- */

static void check_op(const ct_scalar *dual, enum ct_op op, const ct_tensor *t,
                     const ct_tensor *mask) {
    bool has = ct_scalar_has(dual, op);
    ck_assert_msg(has == wanted(dual->base, op), "without %s: %s", ct_op_name(lost),
                  ct_op_name(op));
    const ct_tensor *in[] = {ct_op_kind_of(op) == CT_KIND_SELECT ? mask : t, t, t};
    ct_tensor *y = ct_apply(op, ct_op_arity(op), in);
    char message[100];
    snprintf(message, sizeof message, "pair has no %s", ct_op_name(op));
    ck_assert_msg((y != NULL) == has, "without %s: %s: %s", ct_op_name(lost), ct_op_name(op),
                  ct_error()->message);
    if (!has)
        expect_error(CT_EDTYPE, message);
    ct_free(y);
}

static void check_reductions(const ct_scalar *dual, const ct_tensor *t) {
    static const struct {
        ct_tensor *(*call)(const ct_tensor *t, int axis, bool keepdims);
        const char *missing;
        enum ct_op op;
    } reductions[] = {
        {ct_sum, "pair has no sum", CT_OP_add},
        {ct_prod, "pair has no product", CT_OP_mul},
        {ct_max, "pair has no maximum", CT_OP_maximum},
        {ct_min, "pair has no minimum", CT_OP_minimum},
        {ct_argmax, "pair has no argmax", CT_OP_less},
        {ct_argmin, "pair has no argmin", CT_OP_less},
    };
    for (size_t i = 0; i < COUNT(reductions); i++) {
        ct_tensor *y = reductions[i].call(t, 1, false);
        ck_assert_msg((y != NULL) == wanted(dual->base, reductions[i].op), "without %s: %s",
                      ct_op_name(lost), reductions[i].missing);
        if (!y)
            expect_error(CT_EDTYPE, reductions[i].missing);
        ct_free(y);
    }
    ct_tensor *y = ct_matmul(t, t);
    ck_assert((y != NULL) == (wanted(dual->base, CT_OP_add) && wanted(dual->base, CT_OP_mul)));
    if (!y)
        expect_error(CT_EDTYPE, "pair has no matmul");
    ct_free(y);
}

static void check_all(const ct_scalar *dual) {
    ct_tensor *t = pairs(dual), *mask = ct_ones(CT_BOOL, 2, (int64_t[]){2, 2});
    for (int op = 0; op < CT_OP_COUNT; op++)
        if (ct_op_arity((enum ct_op)op) > 0 && ct_op_kind_of((enum ct_op)op) != CT_KIND_LOGIC)
            check_op(dual, (enum ct_op)op, t, mask);
    check_reductions(dual, t);
    ct_free(t), ct_free(mask);
}

START_TEST(bases_without_one_op) {
    lost = (enum ct_op)_i;
    if (_i < CT_OP_COUNT && ct_op_arity(lost) == 0)
        return;
    ct_scalar base = base_of(0, 0), dual = dual_over(&base);
    check_all(&dual);
    /* Formulas stand in for some ops of the base, and never for one of the dual. */
    ck_assert(!ct_scalar_has(&base, CT_OP_exp) == (lost == CT_OP_exp));
}
END_TEST

/* A base that has them all, found by asking: the same ops as over f64, which is not asked. */
START_TEST(a_complete_base_lacks_nothing) {
    lost = CT_OP_COUNT;
    ct_scalar base = base_of(0, 0), dual = dual_over(&base), deep = dual_over(&dual);
    int count = 0;
    for (int op = 0; op < CT_OP_COUNT; op++) {
        bool has = ct_scalar_has(CT_DUAL64, (enum ct_op)op);
        ck_assert(ct_scalar_has(CT_DUAL32, (enum ct_op)op) == has);
        ck_assert(ct_scalar_has(&dual, (enum ct_op)op) == has);
        ck_assert(ct_scalar_has(&deep, (enum ct_op)op) == has);
        ck_assert(has == (ct_op_arity((enum ct_op)op) > 0 &&
                          ct_op_kind_of((enum ct_op)op) != CT_KIND_LOGIC));
        count += has;
    }
    ck_assert_int_ge(count, 85);
    for (int fold = 0; fold < CT_FOLD_COUNT; fold++)
        ck_assert(ct_scalar_fold(&dual, (enum ct_fold)fold) &&
                  ct_scalar_fold(&deep, (enum ct_fold)fold));
    ck_assert(ct_scalar_matmul(&dual) && ct_scalar_matmul(&deep));
}
END_TEST

/* --- bases that are no numbers of this kind --- */

START_TEST(a_partial_order_has_no_branches) {
    lost = CT_OP_COUNT;
    ct_scalar base = base_of(0, CT_ORDERED), dual = dual_over(&base);
    ck_assert(ct_scalar_has(&base, CT_OP_clamp) && !ct_scalar_has(&dual, CT_OP_clamp));
    ck_assert(ct_scalar_has(&dual, CT_OP_mul) && ct_scalar_has(&dual, CT_OP_less));
    ck_assert(ct_scalar_fold(&dual, CT_FOLD_SUM) && !ct_scalar_fold(&dual, CT_FOLD_ARGMAX));
}
END_TEST

START_TEST(a_checked_base_has_no_arithmetic) {
    lost = CT_OP_COUNT;
    ct_scalar base = base_of(CT_CHECKED, 0), dual = dual_over(&base);
    for (int op = 0; op < CT_OP_COUNT; op++) {
        enum ct_op_kind kind = ct_op_kind_of((enum ct_op)op);
        ck_assert_msg(
            ct_scalar_has(&dual, (enum ct_op)op) ==
                (kind == CT_KIND_COMPARE || kind == CT_KIND_TEST || kind == CT_KIND_SELECT),
            "%s", ct_op_name((enum ct_op)op));
    }
    ct_tensor *t = pairs(&dual), *mask = ct_less(t, t), *chosen = ct_where(mask, t, t);
    ct_tensor *place = ct_argmax(t, CT_ALL, false);
    ck_assert(mask && chosen && ct_item(place) == 2);
    ck_assert_ptr_null(ct_add(t, t));
    expect_error(CT_EDTYPE, "pair has no add");
    ck_assert_ptr_null(ct_relu(t)); /* not by comparison and choice either */
    expect_error(CT_EDTYPE, "pair has no relu");
    ck_assert_ptr_null(ct_sum(t, 0, false));
    expect_error(CT_EDTYPE, "pair has no sum");
    ck_assert_ptr_null(ct_max(t, 0, false));
    expect_error(CT_EDTYPE, "pair has no maximum");
    ck_assert_ptr_null(ct_prod(t, 0, false));
    expect_error(CT_EDTYPE, "pair has no product");
    ck_assert_ptr_null(ct_matmul(t, t));
    expect_error(CT_EDTYPE, "pair has no matmul");
    ck_assert_ptr_null(ct_cumsum(t, 0));
    expect_error(CT_EDTYPE, "pair has no cumulative sum");
    ct_free(t), ct_free(mask), ct_free(chosen), ct_free(place);
}
END_TEST

START_TEST(more_than_a_dual_can_hold) {
    lost = CT_OP_COUNT;
    ct_scalar wide = *CT_DUAL64, base = base_of(0, 0), dual = dual_over(&base);
    wide.size = 9 * sizeof(double);
    ck_assert(ct_scalar_has(&wide, CT_OP_exp) && ct_scalar_fold(&wide, CT_FOLD_MAX));
    wide.size = 10 * sizeof(double); /* 9 tangents */
    ck_assert(!ct_scalar_has(&wide, CT_OP_exp) && !ct_scalar_has(&wide, CT_OP_less));
    ck_assert(!ct_scalar_fold(&wide, CT_FOLD_SUM) && !ct_scalar_matmul(&wide));
    dual.base = &wide; /* nor is it a base, though all below it is f64 */
    dual.size = 2 * wide.size;
    ck_assert(!ct_scalar_has(&dual, CT_OP_exp));
    base.size = CT__DUAL_BASE_BYTES;
    dual = dual_over(&base);
    ck_assert(ct_scalar_has(&dual, CT_OP_exp));
    base.size += 8;
    dual = dual_over(&base);
    ck_assert(!ct_scalar_has(&dual, CT_OP_exp) && !ct_scalar_fold(&dual, CT_FOLD_SUM));
}
END_TEST

Suite *suite_dual_base(void) {
    Suite *suite = suite_create("dual_base");
    TCase *tc = tcase_create("dual_base");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, bases_without_one_op, 0, CT_OP_COUNT + 1);
    tcase_add_test(tc, a_complete_base_lacks_nothing);
    tcase_add_test(tc, a_partial_order_has_no_branches);
    tcase_add_test(tc, a_checked_base_has_no_arithmetic);
    tcase_add_test(tc, more_than_a_dual_can_hold);
    suite_add_tcase(suite, tc);
    return suite;
}
