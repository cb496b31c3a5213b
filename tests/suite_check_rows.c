/* The check of whole rows of the op table, itself checked: every row passes, and wrong answers that are planted in each
   of its columns fail. */
#include "ct_test.h"
#include "scarce_memory.h"

#include "autodiff/check_impl.h"
#include "autodiff/exact.h"
#include "case_tools.h"
#include "tensor/ct_alloc.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

Suite *suite_check_rows(void);

static const ct_scalar *const scalars[] = {CT_F32, CT_F64};

START_TEST(row_passes) {
    enum ct_op op = (enum ct_op)_i;
    bool logic = ct_op_kind_of(op) == CT_KIND_LOGIC;
    for (size_t s = 0; s < COUNT(scalars); s++) {
        struct ct_op_report r;
        ck_assert_msg(ct_check_op_all(op, scalars[s], NULL, &r) == CT_OK, "%s",
                      ct_error()->message);
        ck_assert_msg(r.verdict == CT_CHECK_PASS, "%s", r.message);
        ck_assert_msg(isnan(r.tape) == logic && isnan(r.dual) == logic &&
                          isnan(r.second) == logic && isnan(r.inner) == logic &&
                          (r.checked == 0) == logic,
                      "%s of %s: a column is empty", ct_op_name(op), scalars[s]->name);
        ck_assert_str_ne(r.message, "");
        ck_assert_uint_eq(r.special_wrong, 0);
        if (!ct__exact_is_wide())
            continue; // valgrind
        ck_assert_uint_gt(r.special_points, 0);
        ck_assert_msg(r.value <= r.value_bar, "%s: no value, or a wrong one", ct_op_name(op));
    }
    ck_assert_int_eq(ct_error()->code, CT_OK);
}
END_TEST

/* ---- planted faults */

static const struct fault {
    const char *name;
    enum ct__seen where;
    double factor; /* 0: a NaN or infinity becomes a number */
    const char *says;
} faults[] = {
    {"a wrong value kernel", CT__SEEN_VALUE, 1 + 1e-5, "the value"},
    {"a value of the wrong sign", CT__SEEN_VALUE, -1, "the value"},
    {"a wrong rule", CT__SEEN_TAPE, 1.001, ""},
    {"a rule of the wrong sign", CT__SEEN_TAPE, -1, ""},
    {"a wrong dual formula", CT__SEEN_DUAL, 1.001, ""},
    {"a wrong rule of the rule", CT__SEEN_SECOND, 1.001, ""},
    {"a wrong value at special points", CT__SEEN_SPECIAL_VALUE, 1 + 1e-5,
     "special points: the value"},
    {"a special value that is missing", CT__SEEN_SPECIAL_VALUE, 0, "special points: the value"},
    {"another derivative at special points", CT__SEEN_SPECIAL_SLOPE, 1.001, "special points: "},
};

static double plant(void *context, enum ct__seen what, double answer) {
    const struct fault *fault = context;
    if (what != fault->where)
        return answer;
    if (fault->factor == 0)
        return isfinite(answer) ? answer : 1;
    return answer * fault->factor;
}

/* Ops of every kind, with derivatives of both orders that are not 0. */
static const enum ct_op planted_ops[] = {
    CT_OP_mul,        CT_OP_exp,           CT_OP_pow,        CT_OP_silu,      CT_OP_gelu_tanh,
    CT_OP_matmul,     CT_OP_prod,          CT_OP_variance,   CT_OP_logsumexp, CT_OP_softmax,
    CT_OP_layer_norm, CT_OP_cross_entropy, CT_OP_recurrence, CT_OP_dense};

START_TEST(planted_fault_fails) {
    struct fault copy = faults[_i / 2];
    const struct fault *fault = &copy;
    const ct_scalar *scalar = scalars[_i % 2];
    struct ct__row_seam seam = {&copy, plant};
    bool of_values = fault->where == CT__SEEN_VALUE || fault->where == CT__SEEN_SPECIAL_VALUE;
    if (of_values && !ct__exact_is_wide()) {
        ct_test_skip("long double is no wider than double here");
        return;
    }
    for (size_t k = 0; k < COUNT(planted_ops); k++) {
        enum ct_op op = planted_ops[k];
        struct ct_op_report r;
        ck_assert_int_eq(ct__check_row_with(op, scalar, NULL, &seam, &r), CT_OK);
        ck_assert_msg(r.verdict == CT_CHECK_FAIL, "%s in %s of %s passes", fault->name,
                      ct_op_name(op), scalar->name);
        char begins[64];
        snprintf(begins, sizeof begins, "%s of %s: ", ct_op_name(op), scalar->name);
        ck_assert_msg(strncmp(r.message, begins, strlen(begins)) == 0 &&
                          strstr(r.message, fault->says),
                      "%s in %s: %s", fault->name, ct_op_name(op), r.message);
        bool special =
            fault->where == CT__SEEN_SPECIAL_VALUE || fault->where == CT__SEEN_SPECIAL_SLOPE;
        ck_assert_msg((r.special_wrong > 0) == special, "%s in %s: %zu special points are wrong",
                      fault->name, ct_op_name(op), r.special_wrong);
        ck_assert_int_eq(r.value > r.value_bar, fault->where == CT__SEEN_VALUE);
    }
}
END_TEST

/* One unit in the last place is seen where the value is exact, two where it may be off by one. */
static double last_place(void *context, enum ct__seen what, double answer) {
    const int *places = context;
    for (int k = 0; what == CT__SEEN_VALUE && k < *places; k++)
        answer = nextafter(answer, (double)INFINITY);
    return answer;
}

START_TEST(one_place_is_seen) {
    static const struct {
        enum ct_op op;
        int places;
    } exact[] = {{CT_OP_add, 2},   {CT_OP_exp, 2},    {CT_OP_maximum, 2},  {CT_OP_transposed, 1},
                 {CT_OP_taken, 1}, {CT_OP_joined, 1}, {CT_OP_windowed, 1}, {CT_OP_matmul, 4}};
    if (!ct__exact_is_wide()) {
        ct_test_skip("long double is no wider than double here");
        return;
    }
    for (size_t k = 0; k < COUNT(exact); k++) {
        int places = exact[k].places;
        struct ct__row_seam seam = {&places, last_place};
        struct ct_op_report r;
        ck_assert_int_eq(ct__check_row_with(exact[k].op, CT_F64, NULL, &seam, &r), CT_OK);
        ck_assert_msg(r.verdict == CT_CHECK_FAIL, "%s: %d places are not seen",
                      ct_op_name(exact[k].op), places);
    }
}
END_TEST

/* ---- refusals */

START_TEST(nonsense_is_refused) {
    struct ct_op_report r = {.checked = 77};
    ck_assert_int_eq(ct_check_op_all(CT_OP_COUNT, CT_F32, NULL, &r), CT_EINVAL);
    expect_error(CT_EINVAL, "there is no op");
    ck_assert_int_eq(ct_check_op_all(CT_OP_exp, CT_F32, NULL, NULL), CT_EINVAL);
    expect_error(CT_EINVAL, "the report is NULL");
    ck_assert_int_eq(ct_check_op_all(CT_OP_exp, CT_I32, NULL, &r), CT_EDTYPE);
    expect_error(CT_EDTYPE, "f32 or f64, not in i32");
    ck_assert_int_eq(ct_check_op_all(CT_OP_exp, NULL, NULL, &r), CT_EDTYPE);
    struct ct_check_options forged = ct_check_options_init();
    forged.size = 3;
    ck_assert_int_eq(ct_check_op_all(CT_OP_exp, CT_F64, &forged, &r), CT_EINVAL);
    ck_assert_uint_eq(r.checked, 77);
}
END_TEST

START_TEST(nothing_leaks_without_memory) {
    static const enum ct_op ops[] = {CT_OP_mul, CT_OP_matmul};
    if (!make_memory_scarce())
        return;
    for (int k = 0; k < 4; k++) {
        ct_status status = CT_ENOMEM;
        struct ct_op_report r;
        for (long n = 0; status != CT_OK; n += 1 + n / 8) {
            size_t before = ct_live_blocks();
            starve(n);
            status = ct_check_op_all(ops[k / 2], scalars[k % 2], NULL, &r);
            starve(-1);
            ck_assert_msg(status == CT_OK || status == CT_ENOMEM, "after %ld: %s", n,
                          ct_status_name(status));
            ck_assert_uint_eq(ct_live_blocks(), before);
        }
        ck_assert_msg(r.verdict == CT_CHECK_PASS, "%s", r.message);
    }
}
END_TEST

Suite *suite_check_rows(void) {
    Suite *suite = suite_create("check_rows");
    TCase *tc = tcase_create("rows");
    suite_add_tcase(suite, tc);
    tcase_add_loop_test(tc, row_passes, 0, CT_OP_COUNT);
    tcase_add_loop_test(tc, planted_fault_fails, 0, 2 * COUNT(faults));
    tcase_add_test(tc, one_place_is_seen);
    tcase_add_test(tc, nonsense_is_refused);
    tcase_add_test(tc, nothing_leaks_without_memory);
    return suite;
}
