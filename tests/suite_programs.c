/* Random programs: reverse mode, forward mode and differences agree on each, and each runs twice to the same bits. */

#include "autodiff/ct_derivatives.h"
#include "case_tools.h"
#include "ct_test.h"
#include "random_program.h"
#include "tensor/ct_alloc.h"
#include "tensor/ct_convert.h"
#include "tensor/ct_make.h"
#include "tensor/ct_ops.h"
#include "tensor/ct_write.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 96, PROGRAMS = 1500 };

struct trial {
    uint64_t seed;
    struct program p;
    char trace[1024];
    ct_tensor *in[PROGRAM_INPUTS], *along[PROGRAM_INPUTS];
    int compared; /* with differences */
};

static double inner(ct_tensor *const *a, ct_tensor *const *b) {
    double sum = 0;
    for (int i = 0; i < PROGRAM_INPUTS; i++) {
        ct_tensor *product = ct_mul(a[i], b[i]), *total = ct_sum(product, CT_ALL, false);
        sum += ct_item(total);
        ct_free(product), ct_free(total);
    }
    return sum;
}

/* f(x + t v). */
static double at(struct trial *t, double step) {
    ct_tensor *moved[PROGRAM_INPUTS];
    ct_tape *tape = ct_tape_new();
    ct_var x[PROGRAM_INPUTS];
    for (int i = 0; i < PROGRAM_INPUTS; i++) {
        moved[i] = ct_axpby(1, t->in[i], step, t->along[i]);
        x[i] = ct_leaf(tape, moved[i], NULL);
    }
    double value = ct_value_item(program_run(&t->p, tape, PROGRAM_INPUTS, x));
    ct_tape_free(tape);
    for (int i = 0; i < PROGRAM_INPUTS; i++)
        ct_free(moved[i]);
    return value;
}

/* The slope where both sides have the same one; NaN beside a kink. */
static double difference(struct trial *t) {
    const double h = 1e-5;
    double right = at(t, h), right_half = at(t, h / 2), left = at(t, -h), left_half = at(t, -h / 2),
           here = at(t, 0);
    double five = (8 * (right_half - left_half) - (right - left)) / (6 * (h / 2) * 2);
    double above = (4 * right_half - right - 3 * here) / h,
           below = -(4 * left_half - left - 3 * here) / h;
    return fabs(above - below) <= 1e-4 * (1 + fabs(five)) ? five : QNAN;
}

static void expect_agreement(struct trial *t) {
    const ct_tensor *const *in = (const ct_tensor *const *)t->in;
    ct_tensor *value = NULL, *again = NULL, *forward = NULL, *gradient[PROGRAM_INPUTS],
              *second[PROGRAM_INPUTS];
    ck_assert_msg(ct_vjp(program_run, &t->p, PROGRAM_INPUTS, in, NULL, &value, gradient) == CT_OK,
                  "%s: %s", t->trace, ct_error()->message);
    ck_assert_int_eq(ct_vjp(program_run, &t->p, PROGRAM_INPUTS, in, NULL, &again, second), CT_OK);
    ck_assert_msg(ct_jvp(program_run, &t->p, PROGRAM_INPUTS, in, (const ct_tensor *const *)t->along,
                         NULL, &forward) == CT_OK,
                  "%s: %s", t->trace, ct_error()->message);
    ck_assert_msg(same_bits(value, again), "%s: another value", t->trace);
    for (int i = 0; i < PROGRAM_INPUTS; i++)
        ck_assert_msg(same_bits(gradient[i], second[i]), "%s: another gradient", t->trace);
    double tape = inner(gradient, t->along), dual = ct_item(forward);
    if (isfinite(tape) && isfinite(dual))
        ck_assert_msg(fabs(tape - dual) <= 1e-9 * (1 + fabs(tape)),
                      "seed %llu,%s: tape %.17g, dual %.17g", (unsigned long long)t->seed, t->trace,
                      tape, dual);
    double slope = difference(t);
    if (isfinite(slope) && isfinite(tape)) {
        t->compared++;
        ck_assert_msg(fabs(tape - slope) <= 1e-5 * (1 + fabs(tape)),
                      "seed %llu,%s: tape %.17g, difference %.17g", (unsigned long long)t->seed,
                      t->trace, tape, slope);
    }
    for (int i = 0; i < PROGRAM_INPUTS; i++)
        ct_free(gradient[i]), ct_free(second[i]);
    ct_free(value), ct_free(again), ct_free(forward);
}

static int run_program(uint64_t seed) {
    struct draw draw = {seed * 7919 + 1};
    uint8_t bytes[MOST_BYTES];
    struct trial t = {.seed = seed, .p = {bytes, 8 + draw_bits(&draw) % (MOST_BYTES - 8), NULL, 0}};
    int rank[PROGRAM_INPUTS];
    int64_t shape[PROGRAM_INPUTS][4];
    t.p.trace = t.trace;
    t.p.trace_size = sizeof t.trace;
    for (size_t i = 0; i < MOST_BYTES; i++)
        bytes[i] = (uint8_t)(draw_bits(&draw) >> 20);
    program_shapes(&t.p, rank, shape);
    for (int i = 0; i < PROGRAM_INPUTS; i++) {
        t.in[i] = draw_tensor(&draw, CT_F64, rank[i], shape[i], -2, 2);
        t.along[i] = draw_tensor(&draw, CT_F64, rank[i], shape[i], -1, 1);
    }
    expect_agreement(&t);
    for (int i = 0; i < PROGRAM_INPUTS; i++)
        ct_free(t.in[i]), ct_free(t.along[i]);
    return t.compared;
}

START_TEST(random_programs_agree_in_all_modes) {
    const char *seed = getenv("CT_FUZZ_SEED"), *count = getenv("CT_FUZZ_PROGRAMS");
    uint64_t first = seed ? strtoull(seed, NULL, 10) : 1;
    long programs = count ? strtol(count, NULL, 10) : PROGRAMS;
    size_t live = ct_live_blocks();
    long compared = 0;
    for (long i = 0; i < programs; i++)
        compared += run_program(first + (uint64_t)i);
    printf("    programs: %ld ran, %ld also compared with differences\n", programs, compared);
    fflush(stdout);
    ck_assert_int_gt(compared, programs / 2);
    ck_assert_uint_eq(ct_live_blocks(), live);
}
END_TEST

Suite *suite_programs(void) {
    Suite *suite = suite_create("programs");
    TCase *tc = tcase_create("programs");
    tcase_set_timeout(tc, getenv("CT_FUZZ_PROGRAMS") ? 3600 : 60);
    tcase_add_test(tc, random_programs_agree_in_all_modes);
    suite_add_tcase(suite, tc);
    return suite;
}
