#include "ops_parts.h"

#include <string.h>

#include "autodiff/tape_impl.h"
#include "case_tools.h"
#include "dual/ct_dual.h"

/* ---- structured ops, by their records' samples */

static void draw_sample(enum ct_op op, const struct ct__sample *sample, const ct_scalar *scalar,
                        ct_tensor *in[]) {
    struct draw draw = {11};
    for (int i = 0; i < sample->inputs; i++) {
        bool labels = sample->labels > 0 && i == sample->inputs - 1;
        in[i] = draw_tensor(&draw, labels ? CT_I64 : scalar, sample->rank[i], sample->shape[i],
                            labels ? 0 : -2, labels ? (double)sample->labels : 2);
        in[i] = ct__prepared(op, i, in[i]);
    }
}

static ct_tensor *run(const struct ct__op_record *record, ct_tensor *const in[],
                      const struct ct__attr *attr) {
    const ct_tensor *operands[CT__MAX_INPUTS] = {in[0], in[1], in[2], in[3]};
    return record->run(operands, attr);
}

/* Some layout of the same values: turned, flipped or a slice of something larger. */
static ct_tensor *lay_any(const ct_tensor *t, int which) {
    if (ct_rank(t) >= 2)
        return lay_out(t, (enum layout)(which % LAYOUT_REPEATED));
    if (ct_rank(t) == 0)
        return ct_copy(t);
    ct_tensor *turned = ct_flip(t, 0), *dense = ct_compact(turned), *back = ct_flip(dense, 0);
    ct_free(turned);
    ct_free(dense);
    return back;
}

static void check_sample(enum ct_op op, const struct ct__sample *sample, const ct_scalar *scalar) {
    const struct ct__op_record *record = ct__op_record(op);
    ct_tensor *in[CT__MAX_INPUTS] = {NULL};
    draw_sample(op, sample, scalar, in);
    ct_tensor *right = run(record, in, &sample->attr);
    ck_assert_msg(right != NULL, "%s: %s", ct_op_name(op), ct_error()->message);
    for (int which = 0; which < LAYOUT_REPEATED; which++) {
        ct_tensor *laid[CT__MAX_INPUTS] = {NULL};
        for (int i = 0; i < sample->inputs; i++)
            laid[i] = lay_any(in[i], which + i);
        ct_tensor *y = run(record, laid, &sample->attr);
        ck_assert_msg(same_bits(y, right), "%s: other bits in another layout", ct_op_name(op));
        ct_free(y);
        free_all(CT__MAX_INPUTS, laid);
    }
    ct_free(right);
    free_all(CT__MAX_INPUTS, in);
}

START_TEST(structured_row_ignores_the_layout) {
    const struct ct__op_record *record = ct__op_record((enum ct_op)_i);
    for (int k = 0; record && k < record->sample_count; k++) {
        for (size_t s = 0; s < COUNT(real_scalars); s++)
            check_sample((enum ct_op)_i, &record->samples[k], real_scalars[s]);
    }
}
END_TEST

/* The value part of a dual run is the plain run. */
START_TEST(structured_row_is_the_same_on_duals) {
    const struct ct__op_record *record = ct__op_record((enum ct_op)_i);
    for (int k = 0; record && k < record->sample_count; k++) {
        const struct ct__sample *sample = &record->samples[k];
        ct_tensor *in[CT__MAX_INPUTS] = {NULL}, *lifted[CT__MAX_INPUTS] = {NULL};
        draw_sample((enum ct_op)_i, sample, CT_F64, in);
        for (int i = 0; i < sample->inputs; i++)
            lifted[i] = ct_dtype(in[i]) == CT_F64 ? ct_dual(in[i], in[i]) : ct_copy(in[i]);
        ct_tensor *y = run(record, in, &sample->attr), *dual = run(record, lifted, &sample->attr);
        ck_assert_msg(dual != NULL, "%s: %s", ct_op_name((enum ct_op)_i), ct_error()->message);
        ct_tensor *value = ct_dual_value(dual);
        ck_assert_msg(same_bits(value, y), "%s: dual64 has another value",
                      ct_op_name((enum ct_op)_i));
        ct_free(y);
        ct_free(dual);
        ct_free(value);
        free_all(CT__MAX_INPUTS, in);
        free_all(CT__MAX_INPUTS, lifted);
    }
}
END_TEST

START_TEST(structured_row_refuses_what_does_not_fit) {
    enum ct_op op = (enum ct_op)_i;
    const struct ct__op_record *record = ct__op_record(op);
    for (int k = 0; record && k < record->error_count; k++) {
        const struct ct__error_sample *error = &record->errors[k];
        ct_tensor *in[CT__MAX_INPUTS] = {NULL};
        draw_sample(op, &error->sample, CT_F64, in);
        ct_tape *tape = ct_tape_new();
        ct_var x[CT__MAX_INPUTS];
        for (int i = 0; i < error->sample.inputs; i++)
            x[i] = ct_constant(tape, in[i], NULL);
        ct_var y = ct__record(op, error->sample.inputs, x, &error->sample.attr);
        ck_assert_msg(ct_var_is_null(y), "%s: error sample %d was recorded", ct_op_name(op), k);
        ck_assert_msg(ct_tape_status(tape) == error->code, "%s: error sample %d: %s %s",
                      ct_op_name(op), k, ct_status_name(ct_tape_status(tape)),
                      ct_tape_message(tape));
        ck_assert_msg(strstr(ct_tape_message(tape), error->text), "%s: error sample %d: %s",
                      ct_op_name(op), k, ct_tape_message(tape));
        ct_tape_free(tape);
        free_all(CT__MAX_INPUTS, in);
    }
}
END_TEST

void add_structured(TCase *tc) {
    EACH_ROW(tc, structured_row_ignores_the_layout);
    EACH_ROW(tc, structured_row_is_the_same_on_duals);
    EACH_ROW(tc, structured_row_refuses_what_does_not_fit);
}
