/* What the gradient check says: one sentence, in the user's terms. */

#include "autodiff/check_impl.h"

#include "tensor/fail.h"
#include "tensor/peek.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void ct__say(struct ct__check *c, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(c->report.message, sizeof c->report.message, format, arguments);
    va_end(arguments);
}

const char *ct__number(char text[CT__NUMBER_BYTES], double value) {
    CT_F64->format(CT_F64, &value, text, CT__NUMBER_BYTES);
    return text;
}

const char *ct__rounded(char text[CT__NUMBER_BYTES], double value) {
    if (value != 0 && isfinite(value)) {
        long double unit = powl(10, floorl(log10l(fabsl((long double)value))) - 2);
        value = (double)(roundl((long double)value / unit) * unit);
    }
    return ct__number(text, value);
}

/* "input 0, item 5 [1, 2], at x = 0.25: " and whose slopes follow */
static void name_place(const struct ct__check *c, const struct ct__finding *f, char *text,
                       size_t size) {
    const ct_tensor *x = c->problem.inputs[f->input].given;
    char where[CT__SHAPE_TEXT_BYTES];
    ct__format_index(where, sizeof where, ct_rank(x), ct_shape(x), f->item);
    char value[CT__NUMBER_BYTES];
    snprintf(text, size, "%sinput %zu, item %zu %s, at x = %s: slopes of %s",
             f->order == 2 ? "second order, " : "", f->input, f->item, where,
             ct__number(value, c->problem.inputs[f->input].items[f->item]),
             f->order == 2 ? "<g, v>" : "<u, f>");
}

enum { PLACE_BYTES = CT__SHAPE_TEXT_BYTES + CT__NUMBER_BYTES + 112 };

void ct__say_disagreement(struct ct__check *c) {
    const struct ct__finding *f = &c->worst;
    char place[PLACE_BYTES], a[CT__NUMBER_BYTES], b[CT__NUMBER_BYTES], d[CT__NUMBER_BYTES],
        e[CT__NUMBER_BYTES];
    name_place(c, f, place, sizeof place);
    const char *what = isfinite(f->tape) && isfinite(f->dual) ? "" : "not finite, ";
    ct__say(c, "%s%s: tape %s, dual %s, differences %s (error %s)", what, place,
            ct__number(a, f->tape), ct__number(b, f->dual), ct__number(d, f->slope.value),
            ct__rounded(e, f->slope.error));
}

void ct__say_blindness(struct ct__check *c) {
    const struct ct__finding *f = &c->blind;
    char place[PLACE_BYTES], a[CT__NUMBER_BYTES], d[CT__NUMBER_BYTES], e[CT__NUMBER_BYTES];
    name_place(c, f, place, sizeof place);
    ct__say(c,
            "differences tell nothing at %zu of %zu items, the first %s: tape %s, differences %s "
            "(error %s)",
            c->report.blind, c->report.checked, place, ct__number(a, f->tape),
            ct__rounded(d, f->slope.value), ct__rounded(e, f->slope.error));
}

void ct__say_kinks(struct ct__check *c) {
    char place[PLACE_BYTES], a[CT__NUMBER_BYTES], b[CT__NUMBER_BYTES];
    name_place(c, &c->kink, place, sizeof place);
    ct__say(c, "%zu of %zu items are kinks, the first %s: %s on the left, %s on the right",
            c->report.kinks, c->report.kinks + c->report.checked, place,
            ct__rounded(a, c->kink.slope.left), ct__rounded(b, c->kink.slope.right));
}

void ct__say_agreement(struct ct__check *c) {
    const struct ct_check_report *r = &c->report;
    char a[CT__NUMBER_BYTES], b[CT__NUMBER_BYTES];
    ct__say(c, "%zu items agree: tape and dual numbers within %s, differences within %s",
            r->checked, ct__rounded(a, r->worst_tape_dual),
            ct__rounded(b, fmax(r->worst_tape_diff, r->worst_dual_diff)));
}

/* Puts the node that is wrong on its own in front of the sentence. */
void ct__say_guilty(struct ct__check *c, const char *op) {
    char rest[sizeof c->report.message];
    memcpy(rest, c->report.message, sizeof rest);
    ct__say(c, "node %zu, %s, fails by itself; %s", c->report.node, op, rest);
}
