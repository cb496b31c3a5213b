#include <check.h>
#include <stdio.h>
#include <string.h>

#include "autodiff/tape_impl.h"
#include "case_tools.h"
#include "ops_parts.h"

Suite *suite_ops(void);

const ct_scalar *const real_scalars[2] = {CT_F32, CT_F64};

bool is_elementwise(enum ct_op op) {
    return op_oracle(op)->arity > 0;
}

void draw_inputs(enum ct_op op, const ct_scalar *scalar, int rank, const int64_t *shape,
                 ct_tensor *in[MOST_ARGUMENTS]) {
    struct draw draw = {(uint64_t)op};
    for (int i = 0; i < op_oracle(op)->arity; i++) {
        struct op_domain domain = op_oracle(op)->domain[i];
        in[i] = draw_tensor(&draw, op_takes_mask(op, i) ? CT_BOOL : scalar, rank, shape, domain.low,
                            domain.high);
    }
}

void free_all(int n, ct_tensor *in[]) {
    for (int i = 0; i < n; i++)
        ct_free(in[i]);
}

ct_tensor *apply_row(enum ct_op op, ct_tensor *const in[]) {
    const ct_tensor *operands[MOST_ARGUMENTS] = {in[0]};
    for (int i = 1; i < op_oracle(op)->arity; i++)
        operands[i] = in[i];
    ct_tensor *y = op_oracle(op)->apply(operands);
    ck_assert_msg(y != NULL, "%s: %s", ct_op_name(op), ct_error()->message);
    return y;
}

/* ---- names */

START_TEST(row_is_described) {
    enum ct_op op = (enum ct_op)_i;
    const char *name = ct_op_name(op), *doc = ct_op_doc(op);
    ck_assert_msg(name && *name && doc && *doc, "row %d has no name or no sentence", _i);
    ck_assert_msg(ct_op_by_name(name) == op, "%s: ct_op_by_name finds another op", name);
    for (int other = 0; other < _i; other++) {
        ck_assert_msg(strcmp(name, ct_op_name((enum ct_op)other)) != 0, "%s: two ops", name);
        ck_assert_msg(strcmp(doc, ct_op_doc((enum ct_op)other)) != 0, "%s: the sentence of %s",
                      name, ct_op_name((enum ct_op)other));
    }
    ck_assert_msg(ct_op_arity(op) == op_oracle(op)->arity, "%s: arity %d", name, ct_op_arity(op));
    const struct ct__op_record *record = ct__op_record(op);
    ck_assert_msg((record == NULL) == is_elementwise(op), "%s: its record", name);
    ck_assert_msg((ct_op_value_text(op) != NULL) == is_elementwise(op), "%s: value text", name);
    if (record) {
        ck_assert_msg(record->verb && record->inputs > 0 && record->run && record->pull, "%s",
                      name);
        ck_assert_msg(record->sample_count > 0, "%s: samples", name);
    }
}
END_TEST

/* ---- refusals */

static void check_refused(enum ct_op op, ct_tensor *const in[], ct_status code, const char *text) {
    const ct_tensor *operands[MOST_ARGUMENTS] = {in[0], in[1], in[2]};
    ct_error_clear();
    ct_tensor *y = op_oracle(op)->apply(operands);
    ck_assert_msg(y == NULL, "%s took operands that need '%s'", ct_op_name(op), text);
    expect_error(code, text);
    ct_tape *tape = ct_tape_new();
    ct_var x[MOST_ARGUMENTS];
    for (int i = 0; i < op_oracle(op)->arity; i++)
        x[i] = ct_constant(tape, in[i], NULL);
    ck_assert_msg(ct_var_is_null(op_oracle(op)->record(x)), "%s was recorded", ct_op_name(op));
    ck_assert_msg(ct_tape_status(tape) == code, "%s on the tape: %s", ct_op_name(op),
                  ct_tape_message(tape));
    ck_assert_msg(strstr(ct_tape_message(tape), text), "%s: '%s' lacks '%s'", ct_op_name(op),
                  ct_tape_message(tape), text);
    ct_tape_free(tape);
}

START_TEST(row_refuses_what_does_not_fit) {
    enum ct_op op = (enum ct_op)_i;
    int arity = op_oracle(op)->arity, last = arity - 1;
    if (!is_elementwise(op))
        return;
    ct_tensor *in[MOST_ARGUMENTS] = {NULL};
    draw_inputs(op, CT_F64, 2, (int64_t[]){2, 3}, in);
    char text[64], pair[64];
    bool logic = ct_op_kind_of(op) == CT_KIND_LOGIC;
    const ct_scalar *right = logic ? CT_BOOL : CT_F64, *wrong = logic ? CT_F64 : CT_BOOL;
    if (arity > 1) {
        ct_tensor *kept = in[last];
        in[last] = ct_zeros(right, 1, (int64_t[]){2});
        check_refused(op, in, CT_ESHAPE,
                      "shapes [2, 3] and [2] do not broadcast: the extents 3 and 2 "
                      "of axis 1 differ and neither is 1");
        ct_free(in[last]);
        in[last] = ct_zeros(CT_F32, 2, (int64_t[]){2, 3});
        snprintf(pair, sizeof pair, "%s and f32", right->name);
        check_refused(op, in, CT_EDTYPE, pair);
        ct_free(in[last]);
        in[last] = kept;
    }
    for (int i = 0; i < arity; i++) {
        ct_free(in[i]);
        in[i] = ct_zeros(op_takes_mask(op, i) ? CT_F64 : CT_BOOL, 2, (int64_t[]){2, 3});
    }
    snprintf(text, sizeof text, "%s has no %s", wrong->name, ct_op_name(op));
    bool mask = ct_op_kind_of(op) == CT_KIND_SELECT;
    /* Every built-in type has the comparisons and the tests. */
    bool has_all = ct_op_kind_of(op) == CT_KIND_COMPARE || ct_op_kind_of(op) == CT_KIND_TEST;
    if (!(has_all && wrong == CT_BOOL))
        check_refused(op, in, CT_EDTYPE, mask ? "mask of bool" : text);
    free_all(arity, in);
}
END_TEST

START_TEST(row_passes_null_on) {
    enum ct_op op = (enum ct_op)_i;
    const ct_tensor *in[MOST_ARGUMENTS] = {NULL};
    if (!is_elementwise(op))
        return;
    ct_error_clear();
    ck_assert_ptr_null(op_oracle(op)->apply(in));
    ck_assert_msg(ct_error()->code == CT_EINVAL, "%s: %s", ct_op_name(op), ct_error()->message);
    ck_assert_ptr_null(ct_zeros(CT_F64, 1, (int64_t[]){-1}));
    ck_assert_int_eq(ct_error()->code, CT_ESHAPE);
    ck_assert_ptr_null(op_oracle(op)->apply(in));
    ck_assert_msg(ct_error()->code == CT_ESHAPE, "%s: lost the first error", ct_op_name(op));
}
END_TEST

static TCase *add_case(Suite *suite, const char *name) {
    TCase *tc = tcase_create(name);
    suite_add_tcase(suite, tc);
    return tc;
}

Suite *suite_ops(void) {
    Suite *suite = suite_create("ops");
    TCase *tc = add_case(suite, "rows");
    EACH_ROW(tc, row_is_described);
    EACH_ROW(tc, row_refuses_what_does_not_fit);
    EACH_ROW(tc, row_passes_null_on);
    add_values(add_case(suite, "values"));
    add_derivatives(add_case(suite, "derivatives"));
    add_structured(add_case(suite, "structured"));
    return suite;
}
