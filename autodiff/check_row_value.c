/* The values of a row against the exact ones. */

#include "autodiff/check_impl.h"
#include "autodiff/exact.h"

#include "tensor/alloc.h"
#include "tensor/fail.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char who[] = "ct_check_op_all";

enum { SAMPLES = 1000 };

/* A result and what it should be. */
struct compared {
    size_t count;
    double *result;
    ct_tensor *exact;
    double *in[CT__MAX_INPUTS];
    long double unit; /* of a structured op: one in the last place; 0 of an elementwise one */
};

static long double exact_item(const struct compared *c, size_t i) {
    const void *data = ct_data(c->exact);
    if (ct_dtype(c->exact) == CT_BOOL)
        return (long double)((const unsigned char *)data)[i];
    return ((const long double *)data)[i];
}

static long double larger_finite(long double size, long double x) {
    return isfinite(x) && fabsl(x) > size ? fabsl(x) : size;
}

/* One in the last place of the largest number that took part. */
static long double unit_of(const struct ct__row *row, const struct ct__drawn *inputs,
                           const struct compared *c) {
    long double size = 0;
    for (size_t i = 0; i < c->count; i++)
        size = larger_finite(size, exact_item(c, i));
    for (int k = 0; k < inputs->n; k++)
        for (size_t i = 0;
             ct_dtype(inputs->inputs[k]) == row->scalar && i < ct_count(inputs->inputs[k]); i++)
            size = larger_finite(size, (long double)c->in[k][i]);
    return ct__ulp(row->scalar, size);
}

/* The op over long doubles. NULL, without an error, where it does not run over them. */
static ct_tensor *run_widely(const struct ct__row *row, const struct ct__drawn *inputs,
                             ct_status *status) {
    struct ct__drawn wide;
    bool was_clear = ct_error()->code == CT_OK;
    ct_tensor *y =
        ct__row_inputs(inputs, &ct__exact_scalar, &wide) ? ct__row_run(row, &wide) : NULL;
    ct_tensor *dense = y ? ct_compact(y) : NULL;
    ct_free(y);
    ct__draw_free(&wide);
    *status = !dense && ct_error()->code == CT_ENOMEM ? CT_ENOMEM : CT_OK;
    if (!dense && *status == CT_OK && was_clear)
        ct_error_clear();
    return dense;
}

/* The op by its own loop, into y. False where it has none. */
static bool run_exactly(const struct ct__row *row, const struct ct__drawn *inputs,
                        const struct compared *c, ct_tensor *y, ct_status *status) {
    struct ct__exact_call call = {
        .op = row->op, .attr = inputs->call.attr, .in = inputs->inputs, .count = c->count};
    size_t items = 2 * c->count + 1, at = items;
    for (int k = 0; k < inputs->n; k++)
        items += ct_count(inputs->inputs[k]);
    long double *memory = ct__alloc(items * sizeof *memory), *out = ct_data_for_write(y);
    if (!memory || (!out && c->count > 0)) {
        ct__free(memory);
        *status = ct__fail(CT_ENOMEM, who, "out of memory");
        return false;
    }
    call.scratch = memory;
    call.marks = (bool *)(memory + c->count);
    for (int k = 0; k < inputs->n; k++) {
        call.x[k] = memory + at;
        for (size_t i = 0; i < ct_count(inputs->inputs[k]); i++)
            memory[at++] = (long double)c->in[k][i];
    }
    bool done = ct__exact_rows(&call, out);
    ct__free(memory);
    return done;
}

/* The exact result of a structured op like y: by its own loop, or else over long doubles. */
static ct_tensor *exact_like(const struct ct__row *row, const struct ct__drawn *inputs,
                             const struct compared *c, const ct_tensor *y, ct_status *status) {
    ct_tensor *exact = ct_zeros(&ct__exact_scalar, ct_rank(y), ct_shape(y));
    *status = exact ? CT_OK : ct_error()->code;
    if (exact && run_exactly(row, inputs, c, exact, status))
        return exact;
    ct_free(exact);
    return *status == CT_OK ? run_widely(row, inputs, status) : NULL;
}

static void free_compared(struct compared *c) {
    for (int k = 0; k < CT__MAX_INPUTS; k++)
        ct__free(c->in[k]);
    ct__free(c->result);
    ct_free(c->exact);
}

static ct_status fill_from(struct ct__row *row, const struct ct__drawn *inputs, const ct_tensor *y,
                           struct compared *c) {
    ct_status status;
    c->count = ct_count(y);
    c->result = ct__row_items(y);
    if (!c->result)
        return ct_error()->code;
    for (int k = 0; k < inputs->n; k++) {
        c->in[k] = ct__row_items(inputs->inputs[k]);
        if (!c->in[k])
            return ct_error()->code;
    }
    if (!ct__op_record(row->op)) {
        c->exact = run_widely(row, inputs, &status);
        return status;
    }
    c->exact = exact_like(row, inputs, c, y, &status);
    if (c->exact)
        c->unit = unit_of(row, inputs, c);
    return status;
}

static ct_status fill_compared(struct ct__row *row, const struct ct__drawn *inputs,
                               struct compared *c) {
    ct_tensor *y = ct__row_run(row, inputs);
    ct_status status = y ? fill_from(row, inputs, y, c) : ct_error()->code;
    ct_free(y);
    return status;
}

/* Of a structured op, in its unit. Zeros may differ in sign where they are sums. */
static long double error_of(const struct ct__row *row, const struct compared *c, double result,
                            long double exact) {
    if (c->unit == 0)
        return ct__ulp_error(row->scalar, result, exact);
    if (isnan(result) || isnan(exact))
        return isnan(result) && isnan(exact) ? 0 : HUGE_VALL;
    if (isinf(result) || isinf(exact))
        return (long double)result == exact ? 0 : HUGE_VALL;
    if (ct_op_kind_of(row->op) == CT_KIND_LINEAR && result == 0 && exact == 0 &&
        !signbit(result) != !signbit(exact))
        return HUGE_VALL;
    return fabsl((long double)result - exact) / c->unit;
}

enum { PLACE_BYTES = 3 * (CT__NUMBER_BYTES + 2) };

/* "0.5, 2" */
static const char *place(const struct ct__row *row, const double x[3], char text[PLACE_BYTES]) {
    char number[CT__NUMBER_BYTES];
    size_t at = 0;
    text[0] = '\0';
    for (int k = 0; k < ct_op_arity(row->op); k++) {
        snprintf(text + at, PLACE_BYTES - at, "%s%s", k ? ", " : "", ct__number(number, x[k]));
        at = strlen(text);
    }
    return text;
}

static void say_wrong(struct ct__row *row, const double x[3], size_t item, bool special,
                      double result, double exact, double error) {
    char at[PLACE_BYTES], y[CT__NUMBER_BYTES], e[CT__NUMBER_BYTES], d[CT__NUMBER_BYTES],
        bar[CT__NUMBER_BYTES];
    bool elementwise = !ct__op_record(row->op);
    ct__row_fails(row,
                  "%sthe value%s%s, item %zu, is %s instead of %s: off by %s units in the last "
                  "place, and the bar is %s",
                  special ? "special points: " : "", elementwise ? " at " : "",
                  elementwise ? place(row, x, at) : "", item, ct__number(y, result),
                  ct__number(e, exact), ct__rounded(d, error),
                  ct__rounded(bar, row->report->value_bar));
}

static void compare_item(struct ct__row *row, const struct compared *c, size_t i, bool special) {
    enum ct__seen what = special ? CT__SEEN_SPECIAL_VALUE : CT__SEEN_VALUE;
    double result = ct__seen(row, what, c->result[i]), x[3] = {0};
    long double exact = exact_item(c, i), error = error_of(row, c, result, exact);
    for (int k = 0; k < ct_op_arity(row->op); k++)
        x[k] = c->in[k][i];
    bool fits = error <= (long double)row->report->value_bar;
    bool right =
        fits || (c->unit == 0 && ct__value_is_right(row->op, row->scalar, x, result, exact));
    if (!special && (fits || !right))
        ct__row_worst(&row->report->value, (double)error);
    row->report->special_points += special;
    row->report->special_wrong += special && !right;
    if (!right)
        say_wrong(row, x, i, special, result, (double)exact, (double)error);
}

ct_status ct__compare_values(struct ct__row *row, const struct ct__drawn *inputs, bool special) {
    struct compared c = {0};
    ct_status status = fill_compared(row, inputs, &c);
    for (size_t i = 0; status == CT_OK && c.exact && i < c.count; i++)
        compare_item(row, &c, i, special);
    free_compared(&c);
    return status;
}

static ct_status compare_drawn(struct ct__row *row, const struct ct__drawn *drawn) {
    struct ct__drawn inputs;
    ct_status status = ct__row_inputs(drawn, row->scalar, &inputs)
                           ? ct__compare_values(row, &inputs, false)
                           : ct_error()->code;
    ct__draw_free(&inputs);
    return status;
}

ct_status ct__check_row_values(struct ct__row *row) {
    row->report->value_bar = (double)ct__ulp_bar(row->op);
    if (!ct__exact_is_wide())
        return CT_OK;
    bool elementwise = !ct__op_record(row->op);
    int count = elementwise ? 1 : ct__draw_count(row->op);
    for (int k = 0; k < count; k++) {
        struct ct__drawn drawn;
        ct_status status = elementwise ? ct__draw_items(row->op, SAMPLES, row->options.seed, &drawn)
                                       : ct__draw(row->op, k, row->options.seed, &drawn);
        if (status == CT_OK)
            status = compare_drawn(row, &drawn);
        ct__draw_free(&drawn);
        if (status != CT_OK)
            return status;
    }
    return CT_OK;
}
