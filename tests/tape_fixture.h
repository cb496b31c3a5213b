/* A tape for each test of a suite, and short ways to record on it and to look at it. Whoever includes this has a tape
   of his own. */
#ifndef CT_TAPE_FIXTURE_H
#define CT_TAPE_FIXTURE_H

#include "case_tools.h"
#include "ct_test.h"
#include "tensor/ct_alloc.h"
#include "tensor/ct_convert.h"

#include <string.h>

static ct_tape *tape;
static size_t live;

static inline void setup(void) {
    ct_error_clear();
    live = ct_live_blocks();
    tape = ct_tape_new();
    ck_assert_ptr_nonnull(tape);
}

static inline void teardown(void) {
    ct_tape_free(tape);
    ck_assert_uint_eq(ct_live_blocks(), live);
}

static inline void tape_is_well(void) {
    ck_assert_msg(ct_tape_status(tape) == CT_OK, "%s", ct_tape_message(tape));
}

static inline void teardown_well(void) {
    tape_is_well();
    teardown();
}

static inline void ok(ct_status status) {
    ck_assert_msg(status == CT_OK, "%s", ct_error()->message);
}

static inline ct_var named_leaf(ct_tensor *value, const char *name) {
    ct_var v = ct_leaf(tape, value, name);
    ct_free(value);
    return v;
}

static inline ct_var leaf(ct_tensor *value) {
    return named_leaf(value, NULL);
}

static inline ct_var grad(ct_var y, ct_var x) {
    ct_var dx;
    ck_assert_msg(ct_grad(y, ct_var_null(), 1, &x, &dx) == CT_OK, "%s", ct_tape_message(tape));
    return dx;
}

static inline ct_tensor *value(ct_var v) {
    return ct_copy(ct_value(v));
}

static inline void expect_var(const char *what, ct_var v, double tolerance, ct_tensor *right) {
    ck_assert_msg(ct_tape_status(tape) == CT_OK, "%s: %s", what, ct_tape_message(tape));
    double items[64];
    size_t count = ct_count(right);
    ok(ct_to_doubles(right, count, items));
    ct_free(right);
    expect_items(what, value(v), tolerance, count, items);
}

/* The sticky error has this code, and this in its text. */
static inline void expect_sticky(ct_status code, const char *text) {
    ck_assert_msg(ct_tape_status(tape) == code, "%s: %s", ct_status_name(ct_tape_status(tape)),
                  ct_tape_message(tape));
    ck_assert_msg(strstr(ct_tape_message(tape), text) != NULL, "\"%s\" lacks \"%s\"",
                  ct_tape_message(tape), text);
}

/* The same; it is forgotten, with all that was recorded. */
static inline void refused(ct_status code, const char *text) {
    expect_sticky(code, text);
    ct_tape_rewind(tape, (ct_mark){0});
}

#endif
