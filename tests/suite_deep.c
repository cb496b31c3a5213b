/* Deep and wide tapes on a small stack: recorded, differentiated, drawn, listed, searched and freed. Nothing may
   recurse, and everything has to grow as the number of nodes does: asked of counts, not of the clock. */

#include "autodiff/ct_anomaly.h"
#include "autodiff/ct_dot.h"
#include "autodiff/ct_var_ops.h"
#include "case_tools.h"
#include "ct_test.h"
#include "tensor/ct_alloc.h"

#include <check.h>
#include <pthread.h>
#include <stdlib.h>

Suite *suite_deep(void);

enum { DEPTH = 1000000, FAN = 100000, STACK = 256 * 1024 };

/* What one run cost. */
struct cost {
    size_t nodes, calls; /* of the tape and to the allocator */
    size_t dot, text;    /* bytes */
    double gradient;
};

struct job {
    ct_var (*record)(ct_tape *tape, size_t n, ct_var *x);
    size_t n;
    struct cost cost;
};

static bool count_bytes(void *context, const char *bytes, size_t length) {
    (void)bytes;
    *(size_t *)context += length;
    return true;
}

/* All of it, in the thread with the small stack. */
static void *run(void *argument) {
    struct job *job = argument;
    struct cost *c = &job->cost;
    struct ct_anomaly none;
    struct ct_dot_options options = ct_dot_options_init();
    size_t before = ct_allocator_calls();
    ct_tape *tape = ct_tape_new();
    ct_var x, dx;
    ct_var y = job->record(tape, job->n, &x);
    ck_assert_msg(ct_grad(y, ct_var_null(), 1, &x, &dx) == CT_OK, "%s", ct_tape_message(tape));
    c->gradient = ct_value_item(dx);
    c->nodes = ct_tape_length(tape);
    options.values = options.gradients = true;
    options.fold_depth = 1;
    ck_assert_int_eq(ct_tape_dot(tape, &options, count_bytes, &c->dot), CT_OK);
    ck_assert_int_eq(ct_tape_text_with(tape, &options, count_bytes, &c->text), CT_OK);
    ck_assert(!ct_tape_anomaly(tape, 0, &none));
    ct_mark mark = ct_tape_mark(tape);
    ct_var_neg(y);
    ck_assert_int_eq(ct_tape_rewind(tape, mark), CT_OK);
    ck_assert_int_eq(ct_tape_rewind(tape, (ct_mark){0}), CT_OK);
    job->record(tape, job->n, &x); /* freed as it is, too */
    ct_tape_free(tape);
    c->calls = ct_allocator_calls() - before;
    return NULL;
}

static struct cost cost_of(ct_var (*record)(ct_tape *, size_t, ct_var *), size_t n) {
    struct job job = {.record = record, .n = n};
    pthread_attr_t attr;
    pthread_t thread;
    ck_assert_int_eq(pthread_attr_init(&attr), 0);
    ck_assert_int_eq(pthread_attr_setstacksize(&attr, STACK), 0);
    ck_assert_int_eq(pthread_create(&thread, &attr, run, &job), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attr);
    return job.cost;
}

/* Of n nodes and of n / 5. A number has one digit more in places: a tenth is allowed for that. */
static void is_linear(size_t whole, size_t part, size_t constant) {
    ck_assert_msg(whole <= 5 * part + 5 * part / 10 + constant, "%zu after %zu", whole, part);
}

static void check_growth(ct_var (*record)(ct_tape *, size_t, ct_var *), size_t n,
                         double (*gradient)(size_t n)) {
    struct cost part = cost_of(record, n / 5), whole = cost_of(record, n);
    ck_assert_uint_ge(whole.nodes, n);
    ck_assert_double_eq(part.gradient, gradient(n / 5));
    ck_assert_double_eq(whole.gradient, gradient(n));
    is_linear(whole.nodes, part.nodes, 8);
    is_linear(whole.calls, part.calls, 64);
    is_linear(whole.dot, part.dot, 4096);
    is_linear(whole.text, part.text, 4096);
    ck_assert_uint_eq(ct_live_blocks(), 0);
}

static ct_var leaf(ct_tape *tape, double value) {
    ct_tensor *t = T0(value);
    ct_var v = ct_leaf(tape, t, NULL);
    ct_free(t);
    return v;
}

/* --- a chain of a million: what it computes on both passes --- */

static ct_var record_chain(ct_tape *tape, size_t n, ct_var *x) {
    ct_var y = *x = leaf(tape, 0.5);
    for (size_t i = 0; i < n; i++)
        y = ct_var_neg(y);
    return y;
}

static double one(size_t n) {
    (void)n;
    return 1; /* n is even */
}

START_TEST(B156_a_chain_of_a_million) {
    check_growth(record_chain, DEPTH / 2, one); /* and as many on the way back */
}
END_TEST

/* --- a fan: one variable used 100,000 times; n pulls add up to its gradient --- */

static ct_var record_fan(ct_tape *tape, size_t n, ct_var *x) {
    *x = leaf(tape, 0.5);
    ct_var y = ct_constant_of(tape, CT_F64, 0);
    for (size_t i = 0; i < n; i++)
        y = ct_var_add(y, *x);
    return y;
}

static double as_many(size_t n) {
    return (double)n;
}

START_TEST(a_fan_of_a_hundred_thousand) {
    check_growth(record_fan, FAN, as_many);
}
END_TEST

/* --- a sum of 100,000 leaves, as a tree --- */

static ct_var record_sum(ct_tape *tape, size_t n, ct_var *x) {
    ct_var *terms = calloc(n, sizeof *terms);
    ck_assert_ptr_nonnull(terms);
    for (size_t i = 0; i < n; i++)
        terms[i] = leaf(tape, 1);
    *x = terms[n / 2];
    for (; n > 1; n = (n + 1) / 2) {
        for (size_t i = 0; i < n / 2; i++)
            terms[i] = ct_var_add(terms[2 * i], terms[2 * i + 1]);
        if (n % 2)
            terms[n / 2] = terms[n - 1];
    }
    ct_var sum = terms[0];
    free(terms);
    return sum;
}

START_TEST(a_sum_of_a_hundred_thousand_leaves) {
    check_growth(record_sum, FAN, one);
}
END_TEST

/* --- scopes as deep as ops, which fold into the outermost --- */

static ct_var record_scopes(ct_tape *tape, size_t n, ct_var *x) {
    ct_var y = *x = leaf(tape, 0.5);
    for (size_t i = 0; i < n; i++) {
        ct_scope_begin(tape, "deeper");
        y = ct_var_neg(y);
    }
    for (size_t i = 0; i < n; i++)
        ct_scope_end(tape);
    return y;
}

START_TEST(scopes_a_hundred_thousand_deep) {
    check_growth(record_scopes, FAN, one);
}
END_TEST

/* --- all leaves at once: as many gradients as leaves --- */

START_TEST(a_hundred_thousand_gradients) {
    ct_tape *tape = ct_tape_new();
    ct_var *x = malloc(FAN * sizeof *x), y = ct_constant_of(tape, CT_F64, 0);
    ck_assert_ptr_nonnull(x);
    for (int i = 0; i < FAN; i++)
        y = ct_var_add(y, x[i] = leaf(tape, i));
    ck_assert_int_eq(ct_grad(y, ct_var_null(), FAN, x, x), CT_OK);
    for (int i = 0; i < FAN; i += 997)
        ck_assert_double_eq(ct_value_item(x[i]), 1);
    ck_assert_uint_le(ct_tape_length(tape), 2 * FAN + 8);
    free(x);
    ct_tape_free(tape);
    ck_assert_uint_eq(ct_live_blocks(), 0);
}
END_TEST

Suite *suite_deep(void) {
    Suite *suite = suite_create("deep");
    TCase *tc = tcase_create("deep");
    tcase_set_timeout(tc, 300);
    tcase_add_test(tc, B156_a_chain_of_a_million);
    tcase_add_test(tc, a_fan_of_a_hundred_thousand);
    tcase_add_test(tc, a_sum_of_a_hundred_thousand_leaves);
    tcase_add_test(tc, scopes_a_hundred_thousand_deep);
    tcase_add_test(tc, a_hundred_thousand_gradients);
    suite_add_tcase(suite, tc);
    return suite;
}
