/* The gradient check of a row of the op table, on samples from its domains or from its record. */

#include "autodiff/check_impl.h"

#include "tensor/fail.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char who[] = "ct_check_op";

/* --- declared zeros --- */

static bool is_flat(enum ct_op op, int argument) {
    const char *pull = ct_op_pull_text(op, argument);
    return ct_op_gives_mask(op) || (pull && strcmp(pull, "FLAT") == 0);
}

/* Zeros that were never allocated: a zero stride on every axis. */
static bool is_symbolic_zero(const ct_tensor *t) {
    if (ct_count(t) == 0)
        return true;
    double item;
    int64_t origin[CT_MAX_RANK] = {0};
    for (int k = 0; k < ct_rank(t); k++)
        if (ct_shape(t)[k] > 1 && ct_strides(t)[k] != 0)
            return false;
    return ct_get(t, ct_rank(t), origin, &item) == CT_OK && item == 0;
}

/* Whether the flat arguments get the symbolic zero from ct_grad. */
static ct_status check_flat(struct ct__drawn *s, struct ct_check_report *report) {
    enum ct_op op = s->call.op;
    ct_tape *tape = ct_tape_new();
    if (!tape)
        return ct__fail(CT_ENOMEM, who, "out of memory");
    ct_var x[CT__MAX_INPUTS], dx;
    for (int k = 0; k < s->n; k++)
        x[k] = ct_dtype(s->inputs[k]) == CT_F64 ? ct_leaf(tape, s->inputs[k], NULL)
                                                : ct_constant(tape, s->inputs[k], NULL);
    ct_var y = ct__op_function(op)(&s->call, tape, (size_t)s->n, x);
    ct_status status = ct_tape_status(tape);
    for (int k = 0; k < s->n && status == CT_OK; k++) {
        if (ct_dtype(s->inputs[k]) != CT_F64 || !is_flat(op, k) ||
            ct_grad(y, ct_var_null(), 1, &x[k], &dx) != CT_OK)
            continue;
        if (is_symbolic_zero(ct_value(dx)) || report->verdict == CT_CHECK_FAIL)
            continue;
        report->verdict = CT_CHECK_FAIL;
        report->input = (size_t)k;
        report->item = 0;
        snprintf(report->message, sizeof report->message,
                 "input %d, item 0: declared flat, and its gradient is not the symbolic zero", k);
    }
    status = ct_tape_status(tape);
    if (status != CT_OK)
        ct__fail(status, who, "%s", ct_tape_message(tape));
    ct_tape_free(tape);
    return status;
}

/* --- the walk --- */

/* Joins the report of a sample to that of all; the first of the worst verdict speaks. */
static void merge(enum ct_op op, int sample, const struct ct_check_report *part,
                  struct ct_check_report *whole) {
    struct ct_check_report old = *whole;
    if (sample == 0 || part->verdict > old.verdict) {
        *whole = *part;
        const char *name = ct_op_name(op);
        if (snprintf(whole->message, sizeof whole->message, "%s, sample %d: %s", name, sample,
                     part->message) < 0)
            whole->message[0] = '\0';
    }
    if (sample == 0)
        return;
    whole->checked = old.checked + part->checked;
    whole->zeros = old.zeros + part->zeros;
    whole->kinks = old.kinks + part->kinks;
    whole->worst_tape_dual = fmax(old.worst_tape_dual, part->worst_tape_dual);
    whole->worst_tape_diff = fmax(old.worst_tape_diff, part->worst_tape_diff);
    whole->worst_dual_diff = fmax(old.worst_dual_diff, part->worst_dual_diff);
    whole->worst_second = fmax(old.worst_second, part->worst_second);
}

static void say_agreement(enum ct_op op, int samples, struct ct_check_report *r) {
    char a[CT__NUMBER_BYTES], b[CT__NUMBER_BYTES];
    snprintf(
        r->message, sizeof r->message,
        "%s: %zu items of %d samples agree, tape and dual numbers within %s, differences within "
        "%s",
        ct_op_name(op), r->checked, samples, ct__rounded(a, r->worst_tape_dual),
        ct__rounded(b, fmax(r->worst_tape_diff, r->worst_dual_diff)));
}

static ct_status check_sample(struct ct__drawn *s, const struct ct_check_options *options,
                              const struct ct__check_seam *seam, struct ct_check_report *report) {
    enum ct_op op = s->call.op;
    ct_status status = ct__check_gradient_with(who, ct__op_function(op), &s->call, (size_t)s->n,
                                               s->inputs, NULL, options, seam, op, report);
    if (status == CT_OK && !ct__op_record(op))
        status = check_flat(s, report);
    return status;
}

/* Logic takes truth values and gives one: there is nothing to differentiate. */
static ct_status pass_logic(enum ct_op op, struct ct_check_report *report) {
    *report = (struct ct_check_report){.verdict = CT_CHECK_PASS};
    snprintf(report->message, sizeof report->message,
             "%s: takes truth values alone, which have no derivative", ct_op_name(op));
    return CT_OK;
}

ct_status ct__check_op_with(enum ct_op op, const struct ct_check_options *options,
                            const struct ct__check_seam *seam, struct ct_check_report *report) {
    if ((unsigned)op >= CT_OP_COUNT)
        return ct__fail(CT_EINVAL, who, "there is no op %d", (int)op);
    if (!report)
        return ct__fail(CT_EINVAL, who, "the report is NULL");
    if (ct_op_kind_of(op) == CT_KIND_LOGIC)
        return pass_logic(op, report);
    int count = ct__draw_count(op);
    if (count == 0)
        return ct__fail(CT_EINVAL, who, "%s has no samples", ct_op_name(op));
    struct ct_check_report whole = {0};
    for (int k = 0; k < count; k++) {
        struct ct__drawn drawn;
        struct ct_check_report part;
        ct_status status = ct__draw(op, k, options ? options->seed : 0, &drawn);
        if (status == CT_OK)
            status = check_sample(&drawn, options, seam, &part);
        ct__draw_free(&drawn);
        if (status != CT_OK)
            return status;
        merge(op, k, &part, &whole);
    }
    if (whole.verdict == CT_CHECK_PASS)
        say_agreement(op, count, &whole);
    *report = whole;
    return CT_OK;
}

ct_status ct_check_op(enum ct_op op, const struct ct_check_options *options,
                      struct ct_check_report *report) {
    return ct__check_op_with(op, options, NULL, report);
}
