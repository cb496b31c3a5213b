/* The gradient check of a row of the op table, on samples from its domains or from its record. */

#include "autodiff/check_impl.h"

#include "tensor/alloc.h"
#include "tensor/ct_random.h"
#include "tensor/fail.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char who[] = "ct_check_op";

/* A shape per argument; the second of each pair is broadcast where it is smaller. */
struct shape_pair {
    int rank[2];
    int64_t shape[2][2];
};
static const struct shape_pair shape_pairs[] = {
    {{1, 1}, {{7}, {7}}},       {{2, 1}, {{2, 3}, {3}}},    {{0, 0}, {{0}, {0}}},
    {{2, 2}, {{0, 3}, {0, 3}}}, {{2, 2}, {{4, 1}, {1, 4}}}, {{2, 0}, {{2, 2}, {0}}},
};
enum { SHAPE_PAIRS = sizeof shape_pairs / sizeof *shape_pairs };

void ct__draw_free(struct ct__drawn *s) {
    for (int k = 0; k < s->n; k++)
        ct_free(s->owned[k]);
}

bool ct__draw_add(struct ct__drawn *s, ct_tensor *input) {
    s->owned[s->n] = input;
    s->inputs[s->n] = input;
    s->n += input != NULL;
    return input != NULL;
}

/* --- values --- */

/* Uniform in a domain; a mask is 0 or 1, labels are whole. */
static ct_tensor *draw(ct_random *random, const ct_scalar *scalar, int rank, const int64_t *shape,
                       struct ct__domain domain) {
    size_t count = 1;
    for (int k = 0; k < rank; k++)
        count *= (size_t)shape[k];
    double *items = ct__alloc(count * sizeof *items);
    if (!items)
        return ct__fail_null(CT_ENOMEM, who, "out of memory");
    for (size_t k = 0; k < count; k++) {
        items[k] = domain.low + (domain.high - domain.low) * ct_random_uniform(random);
        if (scalar == CT_BOOL)
            items[k] = items[k] < 0.5 ? 0 : 1;
        if (scalar == CT_I64)
            items[k] = floor(items[k]);
    }
    ct_tensor *t = ct_from_doubles(scalar, rank, shape, count, items);
    ct__free(items);
    return t;
}

static bool draw_elementwise(enum ct_op op, const struct shape_pair *shapes, ct_random *random,
                             struct ct__drawn *s) {
    for (int k = 0; k < ct_op_arity(op); k++) {
        int which = k == 0 ? 0 : 1;
        const ct_scalar *scalar = ct_op_takes_mask(op, k) ? CT_BOOL : CT_F64;
        if (!ct__draw_add(s, draw(random, scalar, shapes->rank[which], shapes->shape[which],
                                  ct__op_domain(op, k))))
            return false;
    }
    s->call = (struct ct__op_call){.op = op};
    return true;
}

static bool draw_structured(enum ct_op op, const struct ct__sample *from, ct_random *random,
                            struct ct__drawn *s) {
    for (int k = 0; k < from->inputs; k++) {
        bool is_label = from->labels > 0 && k == from->inputs - 1;
        struct ct__domain labels = {0, (double)from->labels};
        ct_tensor *drawn = draw(random, is_label ? CT_I64 : CT_F64, from->rank[k], from->shape[k],
                                is_label ? labels : ct__op_domain(op, k));
        if (!ct__draw_add(s, ct__prepared(op, k, drawn)))
            return false;
    }
    s->call = (struct ct__op_call){.op = op, .attr = &from->attr};
    return true;
}

/* --- functions --- */

/* A comparison gives bool, which has no gradient: it is seen through the choice that it makes. */
static ct_var compare_call(void *context, ct_tape *tape, size_t n, const ct_var *inputs) {
    const ct_tensor *x = ct_value(inputs[0]);
    if (!x)
        return ct_var_null();
    ct_var chosen[] = {ct__op_call(context, tape, n, inputs), ct_constant_of(tape, ct_dtype(x), 1),
                       ct_constant_of(tape, ct_dtype(x), 2)};
    return ct__record_elementwise(CT_OP_where, 3, chosen);
}

ct_function *ct__op_function(enum ct_op op) {
    return ct_op_gives_mask(op) ? compare_call : ct__op_call;
}

/* --- samples --- */

int ct__draw_count(enum ct_op op) {
    const struct ct__op_record *record = ct__op_record(op);
    return record ? record->sample_count : SHAPE_PAIRS;
}

ct_status ct__draw(enum ct_op op, int sample, uint64_t seed, struct ct__drawn *drawn) {
    const struct ct__op_record *record = ct__op_record(op);
    ct_random random = ct_random_of(seed, (uint64_t)op * 1000 + (uint64_t)sample);
    *drawn = (struct ct__drawn){0};
    bool done = record ? draw_structured(op, &record->samples[sample], &random, drawn)
                       : draw_elementwise(op, &shape_pairs[sample], &random, drawn);
    return done ? CT_OK : ct_error()->code;
}

ct_status ct__draw_items(enum ct_op op, int64_t count, uint64_t seed, struct ct__drawn *drawn) {
    const struct shape_pair shapes = {{1, 1}, {{count}, {count}}};
    ct_random random = ct_random_of(seed, (uint64_t)op * 1000 + 997);
    *drawn = (struct ct__drawn){0};
    return draw_elementwise(op, &shapes, &random, drawn) ? CT_OK : ct_error()->code;
}

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
