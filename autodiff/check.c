/* The gradient check: three answers per item, one verdict. */

#include "autodiff/check_impl.h"

#include "tensor/alloc.h"
#include "tensor/ct_random.h"
#include "tensor/fail.h"
#include "tensor/options.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- options --- */

struct ct_check_options ct_check_options_init(void) {
    return (struct ct_check_options){
        .size = sizeof(struct ct_check_options), .rtol = 1e-6, .atol = 1e-8, .max_items = 256};
}

static ct_status read_options(const char *who, const struct ct_check_options *from,
                              struct ct_check_options *to) {
    *to = ct_check_options_init();
    ct_status status = ct__take_options(who, "ct_check_options_init", to, sizeof *to, from);
    if (status)
        return status;
    if (!(to->rtol >= 0) || !(to->atol >= 0) || !isfinite(to->rtol + to->atol))
        return ct__fail(CT_EINVAL, who,
                        "a tolerance is negative or not finite: rtol is %g and atol %g", to->rtol,
                        to->atol);
    if (to->max_items == 0)
        return ct__fail(CT_EINVAL, who, "max_items is 0: nothing would be checked");
    return CT_OK;
}

/* --- failures without an answer --- */

static void fail_at(struct ct__check *c, size_t input, size_t item) {
    c->report.verdict = CT_CHECK_FAIL;
    c->report.input = input;
    c->report.item = item;
}

static bool all_finite(size_t n, const double *x, size_t *at) {
    for (*at = 0; *at < n; (*at)++)
        if (!isfinite(x[*at]))
            return false;
    return true;
}

/* Where x is not finite there is nothing to compare. */
static bool inputs_are_finite(struct ct__check *c) {
    char text[CT__NUMBER_BYTES];
    size_t at;
    for (size_t i = 0; i < c->problem.n; i++) {
        const struct ct__check_input *input = &c->problem.inputs[i];
        if (!input->is_real || all_finite(ct_count(input->given), input->items, &at))
            continue;
        fail_at(c, i, at);
        ct__say(c, "nothing to check: input %zu, item %zu is %s", i, at,
                ct__number(text, input->items[at]));
        return false;
    }
    return true;
}

static bool values_are_finite(struct ct__check *c) {
    const struct ct__problem *p = &c->problem;
    char text[CT__NUMBER_BYTES];
    size_t at;
    if (all_finite(p->size, p->base, &at))
        return true;
    fail_at(c, 0, 0);
    ct__say(c, "item %zu of the %s is not finite: %s", at, p->order == 1 ? "result" : "gradient",
            ct__number(text, p->base[at]));
    return false;
}

static bool has_shape_of(const ct_tensor *t, const ct_tensor *x) {
    return ct_dtype(t) == ct_dtype(x) && ct_same_shape(t, x);
}

static void fail_shape(struct ct__check *c, size_t input, const ct_tensor *gradient) {
    const ct_tensor *x = c->problem.inputs[input].given;
    char have[CT__SHAPE_TEXT_BYTES], want[CT__SHAPE_TEXT_BYTES];
    ct__format_shape(have, sizeof have, ct_rank(gradient), ct_shape(gradient));
    ct__format_shape(want, sizeof want, ct_rank(x), ct_shape(x));
    fail_at(c, input, 0);
    ct__say(c, "input %zu, item 0: the gradient is %s%s and the input %s%s", input,
            ct_dtype(gradient)->name, have, ct_dtype(x)->name, want);
}

/* --- the tape's answers --- */

/* Adds the items of one gradient to the answers; *fits turns false where its shape is wrong. */
static ct_status add_answers(struct ct__check *c, size_t input, const ct_tensor *gradient,
                             bool *fits) {
    ct_tensor *planted = c->seam && c->seam->gradient
                             ? c->seam->gradient(c->seam->context, c->op, input, gradient)
                             : NULL;
    const ct_tensor *seen = planted ? planted : gradient;
    ct_status status = CT_OK;
    *fits = has_shape_of(seen, c->problem.inputs[input].given);
    if (*fits) {
        size_t count = ct_count(seen);
        double *items = ct__alloc(count * sizeof *items);
        status = items ? ct_to_doubles(seen, count, items)
                       : ct__fail(CT_ENOMEM, c->problem.who, "out of memory");
        for (size_t k = 0; k < count && status == CT_OK; k++)
            c->tape[input][k] += items[k];
        ct__free(items);
    } else {
        fail_shape(c, input, seen);
    }
    ct_free(planted);
    return status;
}

/* The gradients of all outputs, summed. */
static ct_status ask_tape(struct ct__check *c, bool *fits) {
    struct ct__problem *p = &c->problem;
    ct_status status = CT_OK;
    *fits = true;
    ct_tensor **gradients = ct__alloc(p->active * sizeof *gradients);
    if (!gradients)
        return ct__fail(CT_ENOMEM, p->who, "out of memory");
    for (size_t i = 0; i < p->n; i++)
        if (p->inputs[i].is_active)
            memset(c->tape[i], 0, ct_count(p->inputs[i].given) * sizeof(double));
    for (size_t k = 0; k < p->outputs && *fits && status == CT_OK; k++) {
        status = ct__problem_tape(p, k, gradients);
        if (status != CT_OK)
            break;
        for (size_t i = 0, a = 0; i < p->n; i++) {
            if (!p->inputs[i].is_active)
                continue;
            if (status == CT_OK && *fits)
                status = add_answers(c, i, gradients[a], fits);
            ct_free(gradients[a++]);
        }
    }
    ct__free(gradients);
    return status;
}

/* --- the comparison --- */

static double distance(const struct ct__check *c, double a, double b) {
    double floor = c->options.rtol > 0 ? c->options.atol / c->options.rtol : 1;
    double size = fmax(fabs(a), fabs(b)) + floor;
    return size > 0 ? fabs(a - b) / size : fabs(a - b);
}

/* Whether two answers differ beyond the tolerance and what the answers' own errors explain. */
static bool differ(const struct ct__check *c, double a, double b, double slack) {
    double tolerance = c->options.atol + c->options.rtol * fmax(fabs(a), fabs(b));
    return !(fabs(a - b) <= tolerance + slack); // a NaN differs
}

/* What the differences may be off by: an estimate, of which four times is allowed. */
static double slack_of(const struct ct__finding *f) {
    return 4 * f->slope.error;
}

static bool is_blind(const struct ct__check *c, const struct ct__finding *f) {
    double floor = c->options.rtol > 0 ? c->options.atol / c->options.rtol : 1;
    return !f->slope.is_kink && !(slack_of(f) <= fmax(fabs(f->tape), fabs(f->dual)) + floor);
}

static void raise_to(double *worst, double value) {
    if (!(value <= *worst))
        *worst = value;
}

static void judge(struct ct__check *c, const struct ct__finding *f) {
    struct ct_check_report *r = &c->report;
    bool finite = isfinite(f->tape) && isfinite(f->dual) && isfinite(f->slope.value);
    bool fails = !finite || differ(c, f->tape, f->dual, 0);
    double tape_dual = distance(c, f->tape, f->dual), tape_diff = 0, dual_diff = 0;
    if (!f->slope.is_kink) {
        double slack = slack_of(f);
        fails = fails || differ(c, f->tape, f->slope.value, slack) ||
                differ(c, f->dual, f->slope.value, slack);
        tape_diff = distance(c, f->tape, f->slope.value);
        dual_diff = distance(c, f->dual, f->slope.value);
    }
    double severity = finite ? fmax(tape_dual, fmax(tape_diff, dual_diff)) : (double)INFINITY;
    if (f->order == 1) {
        raise_to(&r->worst_tape_dual, tape_dual);
        raise_to(&r->worst_tape_diff, tape_diff);
        raise_to(&r->worst_dual_diff, dual_diff);
    } else {
        raise_to(&r->worst_second, severity);
    }
    r->kinks += f->slope.is_kink;
    r->checked += !f->slope.is_kink;
    bool blind = !fails && is_blind(c, f);
    r->blind += blind;
    if (blind && !c->blind.present)
        c->blind = *f;
    r->zeros += !f->slope.is_kink && f->tape == 0 && f->dual == 0 && f->slope.value == 0;
    if (f->slope.is_kink && !c->kink.present)
        c->kink = *f;
    bool is_first_failure = fails && r->verdict != CT_CHECK_FAIL;
    bool counts = fails || r->verdict != CT_CHECK_FAIL;
    if (fails)
        r->verdict = CT_CHECK_FAIL;
    if (is_first_failure || (counts && (!c->worst.present || severity > c->severity))) {
        c->worst = *f;
        c->severity = severity;
    }
}

/* The item under differences. */
struct line {
    struct ct__problem *problem;
    size_t input, item;
};

static ct_status change(void *context, double t, struct ct__change *result) {
    struct line *line = context;
    return ct__problem_change(line->problem, line->input, line->item, t, result);
}

static ct_status check_item(struct ct__check *c, size_t input, size_t item) {
    struct ct__problem *p = &c->problem;
    struct ct__finding f = {.present = true,
                            .order = p->order,
                            .input = input,
                            .item = item,
                            .tape = c->tape[input][item]};
    struct line line = {p, input, item};
    ct_status status = ct__problem_dual(p, input, item, &f.dual);
    if (status == CT_OK)
        status = ct__slope(change, &line, p->inputs[input].items[item], c->options.rtol,
                           c->options.atol, &f.slope);
    if (status != CT_OK)
        return status;
    if (c->seam && c->seam->answer) {
        f.tape = c->seam->answer(c->seam->context, c->op, p->order, CT__ANSWER_TAPE, input, item,
                                 f.tape);
        f.dual = c->seam->answer(c->seam->context, c->op, p->order, CT__ANSWER_DUAL, input, item,
                                 f.dual);
    }
    judge(c, &f);
    return CT_OK;
}

/* All items of an input, or one drawn from each of max_items equal stretches. */
static ct_status check_input(struct ct__check *c, size_t input) {
    size_t count = ct_count(c->problem.inputs[input].given);
    size_t chosen = count < c->options.max_items ? count : c->options.max_items;
    size_t stretch = chosen ? count / chosen : 0;
    ct_random random = ct_random_of(c->options.seed, 16 + input);
    for (size_t k = 0; k < chosen; k++) {
        size_t width = k + 1 < chosen ? stretch : count - k * stretch;
        size_t item = k * stretch + (width > 1 ? (size_t)ct_random_below(&random, width) : 0);
        ct_status status = check_item(c, input, item);
        if (status != CT_OK)
            return status;
    }
    return CT_OK;
}

static ct_status check_order(struct ct__check *c, int order) {
    struct ct__problem *p = &c->problem;
    bool fits;
    ct_status status = ct__problem_start(p, order, c->options.seed);
    if (status != CT_OK || !values_are_finite(c))
        return status;
    status = ask_tape(c, &fits);
    if (status != CT_OK || !fits)
        return status;
    for (size_t i = 0; i < p->n && status == CT_OK; i++)
        if (p->inputs[i].is_active)
            status = check_input(c, i);
    return status;
}

/* --- the whole --- */

static ct_status make_room(struct ct__check *c) {
    struct ct__problem *p = &c->problem;
    c->tape = ct__alloc_zero(p->n * sizeof *c->tape);
    if (!c->tape)
        return ct__fail(CT_ENOMEM, p->who, "out of memory");
    for (size_t i = 0; i < p->n; i++) {
        if (!p->inputs[i].is_active)
            continue;
        c->tape[i] = ct__alloc(ct_count(p->inputs[i].given) * sizeof(double));
        if (!c->tape[i])
            return ct__fail(CT_ENOMEM, p->who, "out of memory");
    }
    return CT_OK;
}

static void conclude(struct ct__check *c) {
    struct ct_check_report *r = &c->report;
    if (c->worst.present) {
        r->input = c->worst.input;
        r->item = c->worst.item;
        r->tape = c->worst.tape;
        r->dual = c->worst.dual;
        r->difference = c->worst.slope.value;
        r->difference_error = c->worst.slope.error;
    }
    if (r->verdict == CT_CHECK_FAIL) {
        if (!r->message[0])
            ct__say_disagreement(c);
    } else if (r->blind > 0) {
        r->verdict = CT_CHECK_BLIND;
        ct__say_blindness(c);
    } else if (r->kinks > 0) {
        r->verdict = CT_CHECK_KINK;
        ct__say_kinks(c);
    } else {
        ct__say_agreement(c);
    }
}

static ct_status run(struct ct__check *c, size_t n, const ct_tensor *const *inputs,
                     const bool *active) {
    ct_status status = ct__problem_open(&c->problem, n, inputs, active);
    if (status != CT_OK || !inputs_are_finite(c))
        return status;
    status = make_room(c);
    if (status == CT_OK)
        status = check_order(c, 1);
    if (status == CT_OK && c->options.second_order && c->report.verdict != CT_CHECK_FAIL)
        status = check_order(c, 2);
    if (status != CT_OK)
        return status;
    conclude(c);
    const char *name = "";
    if (c->report.verdict == CT_CHECK_FAIL && c->op == CT_OP_COUNT)
        c->report.node = ct__find_guilty(&c->problem, &c->options, c->seam, &name);
    if (c->report.node != SIZE_MAX)
        ct__say_guilty(c, name);
    return CT_OK;
}

ct_status ct__check_gradient_with(const char *who, ct_function *fn, void *context, size_t n,
                                  const ct_tensor *const *inputs, const bool *active,
                                  const struct ct_check_options *options,
                                  const struct ct__check_seam *seam, enum ct_op op,
                                  struct ct_check_report *report) {
    if (!fn || !report || (n > 0 && !inputs))
        return ct__fail(CT_EINVAL, who, "the function, the inputs or the report is NULL");
    struct ct__check c = {.seam = seam, .op = op, .report.node = SIZE_MAX};
    c.problem = (struct ct__problem){.who = who, .fn = fn, .context = context};
    ct_status status = read_options(who, options, &c.options);
    if (status != CT_OK)
        return status;
    status = run(&c, n, inputs, active);
    for (size_t i = 0; c.tape && i < n; i++)
        ct__free(c.tape[i]);
    ct__free(c.tape);
    ct__problem_close(&c.problem);
    if (status == CT_OK)
        *report = c.report;
    return status;
}

ct_status ct_check_gradient(ct_function *fn, void *context, size_t n,
                            const ct_tensor *const *inputs, const struct ct_check_options *options,
                            struct ct_check_report *report) {
    return ct__check_gradient_with(__func__, fn, context, n, inputs, NULL, options, NULL,
                                   CT_OP_COUNT, report);
}
