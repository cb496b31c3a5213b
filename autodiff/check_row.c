/* All that is checked of a row of the op table, in one scalar type. */

#include "autodiff/check_impl.h"

#include "tensor/alloc.h"
#include "tensor/fail.h"
#include "tensor/options.h"
#include "tensor/peek.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char who[] = "ct_check_op_all";

/* --- what its parts share --- */

double ct__seen(const struct ct__row *row, enum ct__seen what, double answer) {
    return row->seam ? row->seam->seen(row->seam->context, what, answer) : answer;
}

void ct__row_fails(struct ct__row *row, const char *format, ...) {
    struct ct_op_report *r = row->report;
    if (r->verdict == CT_CHECK_FAIL)
        return;
    r->verdict = CT_CHECK_FAIL;
    int length = snprintf(r->message, sizeof r->message, "%s of %s: ", ct_op_name(row->op),
                          row->scalar->name);
    size_t at = length > 0 && (size_t)length < sizeof r->message ? (size_t)length : 0;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(r->message + at, sizeof r->message - at, format, arguments);
    va_end(arguments);
}

void ct__row_worst(double *worst, double error) {
    bool is_first = isnan(*worst);
    if (is_first || !(error <= *worst))
        *worst = isnan(error) ? (double)INFINITY : error;
}

static bool is_real(const ct_tensor *t) {
    return (ct_dtype(t)->traits & CT_REAL) != 0;
}

bool ct__row_inputs(const struct ct__drawn *drawn, const ct_scalar *scalar,
                    struct ct__drawn *inputs) {
    *inputs = (struct ct__drawn){.call = drawn->call};
    for (int k = 0; k < drawn->n; k++) {
        const ct_tensor *t = drawn->inputs[k];
        bool as_it_is = !is_real(t) || ct_dtype(t) == scalar;
        if (!ct__draw_add(inputs, as_it_is ? ct_copy(t) : ct_astype(t, scalar)))
            return false;
    }
    return true;
}

ct_tensor *ct__row_run(const struct ct__row *row, const struct ct__drawn *inputs) {
    const struct ct__op_record *record = ct__op_record(row->op);
    return record ? record->run(inputs->inputs, inputs->call.attr)
                  : ct__apply(who, row->op, inputs->n, inputs->inputs);
}

double *ct__row_items(const ct_tensor *t) {
    double *items = ct__alloc((ct_count(t) + 1) * sizeof *items);
    if (!items)
        return ct__fail_null(CT_ENOMEM, who, "out of memory");
    if (ct_to_doubles(t, ct_count(t), items) != CT_OK) {
        ct__free(items);
        return NULL;
    }
    return items;
}

/* --- the whole --- */

/* An argument through which nothing ever flowed was not checked at all. */
static void check_coverage(struct ct__row *row) {
    const struct ct__op_record *record = ct__op_record(row->op);
    int arguments = record ? record->inputs : ct_op_arity(row->op);
    for (int k = 0; k < arguments && ct_op_kind_of(row->op) != CT_KIND_LOGIC; k++)
        if (!row->differentiated[k])
            ct__row_fails(row, "argument %d was never differentiated: the op's samples lack it", k);
    if (row->report->checked == 0 && ct_op_kind_of(row->op) != CT_KIND_LOGIC)
        ct__row_fails(row, "no derivative was compared");
}

static void say_agreement(const struct ct__row *row) {
    struct ct_op_report *r = row->report;
    if (r->message[0])
        return;
    char value[CT__NUMBER_BYTES], tape[CT__NUMBER_BYTES], dual[CT__NUMBER_BYTES];
    if (ct_op_kind_of(row->op) == CT_KIND_LOGIC)
        snprintf(r->message, sizeof r->message,
                 "%s: takes truth values alone, which have no derivative", ct_op_name(row->op));
    else
        snprintf(r->message, sizeof r->message,
                 "%s of %s: values within %s units in the last place, reverse mode within %s, "
                 "forward mode within %s",
                 ct_op_name(row->op), row->scalar->name, ct__rounded(value, r->value),
                 ct__rounded(tape, r->tape), ct__rounded(dual, r->dual));
}

static ct_status check_parts(struct ct__row *row) {
    ct_status status = ct__check_row_values(row);
    if (status == CT_OK && ct_op_kind_of(row->op) != CT_KIND_LOGIC)
        status = ct__check_row_modes(row);
    if (status == CT_OK)
        status = ct__check_row_special(row);
    return status;
}

ct_status ct__check_row_with(enum ct_op op, const ct_scalar *scalar,
                             const struct ct_check_options *options,
                             const struct ct__row_seam *seam, struct ct_op_report *report) {
    if ((unsigned)op >= CT_OP_COUNT)
        return ct__fail(CT_EINVAL, who, "there is no op %d", (int)op);
    if (!report)
        return ct__fail(CT_EINVAL, who, "the report is NULL");
    if (scalar != CT_F32 && scalar != CT_F64)
        return ct__fail(CT_EDTYPE, who, "a row is checked in f32 or f64, not in %s",
                        scalar ? scalar->name : "NULL");
    double none = (double)NAN;
    struct ct_op_report result = {.verdict = CT_CHECK_PASS,
                                  .value = none,
                                  .tape = none,
                                  .dual = none,
                                  .second = none,
                                  .inner = none};
    struct ct__row row = {.op = op, .scalar = scalar, .seam = seam, .report = &result};
    row.options = ct_check_options_init();
    ct_status status =
        ct__take_options(who, "ct_check_options_init", &row.options, sizeof row.options, options);
    if (status == CT_OK && ct__draw_count(op) == 0)
        status = ct__fail(CT_EINVAL, who, "%s has no samples", ct_op_name(op));
    if (status == CT_OK)
        status = check_parts(&row);
    if (status != CT_OK)
        return status;
    check_coverage(&row);
    say_agreement(&row);
    *report = result;
    return CT_OK;
}

ct_status ct_check_op_all(enum ct_op op, const ct_scalar *scalar,
                          const struct ct_check_options *options, struct ct_op_report *report) {
    return ct__check_row_with(op, scalar, options, NULL, report);
}
