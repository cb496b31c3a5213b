/* The node tests of ONNX. They lie outside the project (CT_CASES); without them the suite says so
   once and skips. */
#include <check.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ct_test.h"
#include "golden_json.h"
#include "onnx_ops.h"

Suite *suite_onnx(void);

enum { FEWEST_CASES = 489, MOST_OUT = 32 };

struct tally {
    int cases, ran, type_out, op_out;
    int outs;
    const char *out[MOST_OUT]; /* names of ops that are out, each once */
};

static bool is_close(double ours, double theirs, double tolerance) {
    if (isnan(theirs) || isnan(ours))
        return isnan(theirs) && isnan(ours);
    return ours == theirs || fabs(ours - theirs) <= tolerance * (1 + fabs(theirs));
}

static void expect_output(const struct onnx_case *c, int i, const ct_tensor *t, double tolerance) {
    const ct_tensor *wanted = c->wanted[i];
    ck_assert_msg(t != NULL, "%s: %s", c->name, ct_error()->message);
    ck_assert_int_eq(ct_check_tensor(t), CT_OK);
    ck_assert_msg(ct_dtype(t) == ct_dtype(wanted), "%s: %s instead of %s", c->name,
                  ct_dtype(t)->name, ct_dtype(wanted)->name);
    ck_assert_msg(ct_same_shape(t, wanted), "%s: output %d has another shape", c->name, i);
    if (tolerance == 0) {
        ck_assert_msg(ct_tensor_equal(t, wanted), "%s: output %d differs", c->name, i);
        return;
    }
    size_t count = ct_count(t);
    double *ours = calloc(count + 1, sizeof *ours), *theirs = calloc(count + 1, sizeof *theirs);
    ck_assert(ours && theirs);
    ct_to_doubles(t, count, ours);
    ct_to_doubles(wanted, count, theirs);
    for (size_t j = 0; j < count; j++)
        ck_assert_msg(is_close(ours[j], theirs[j], tolerance), "%s: item %zu is %.9g, not %.9g",
                      c->name, j, ours[j], theirs[j]);
    free(ours);
    free(theirs);
}

static void run_case(const struct onnx_case *c, const struct onnx_op *op) {
    ct_tensor *out[ONNX_MOST] = {NULL};
    ct_error_clear();
    op->run(c, out);
    for (int i = 0; i < c->outputs; i++) {
        if (c->wanted[i])
            expect_output(c, i, out[i], op->tolerance);
        ct_free(out[i]);
    }
}

static void count_out(struct tally *tally, const char *op) {
    for (int i = 0; i < tally->outs; i++)
        if (strcmp(tally->out[i], op) == 0)
            return;
    ck_assert_int_lt(tally->outs, MOST_OUT);
    tally->out[tally->outs++] = strdup(op);
}

static void each_case(void *context, const json_t *json) {
    struct tally *tally = context;
    struct onnx_case c;
    tally->cases++;
    if (onnx_case_read(&c, json) == ONNX_TYPE_OUT) {
        tally->type_out++;
        return;
    }
    const struct onnx_op *op = onnx_op_of(c.op);
    const char *why = onnx_why_out(&c);
    ck_assert_msg(op || why, "%s: the op %s is neither run nor out", c.name, c.op);
    if (why) {
        tally->op_out++;
        count_out(tally, c.op);
    } else {
        run_case(&c, op);
        tally->ran++;
    }
    onnx_case_free(&c);
}

START_TEST(cases_agree) {
    struct tally tally = {0};
    char text[PATH_MAX + 64];
    if (!onnx_each(each_case, &tally)) {
        snprintf(text, sizeof text, "no cases in the folder %s/onnx; CT_CASES names another",
                 golden_cases());
        ct_test_skip(text);
        return;
    }
    printf("onnx: %d of %d cases ran; %d have a type that there is not, %d an op:", tally.ran,
           tally.cases, tally.type_out, tally.op_out);
    for (int i = 0; i < tally.outs; i++) {
        printf(" %s", tally.out[i]);
        free((void *)(uintptr_t)tally.out[i]);
    }
    printf("\n");
    fflush(stdout);
    ck_assert_int_ge(tally.ran, FEWEST_CASES);
}
END_TEST

Suite *suite_onnx(void) {
    Suite *suite = suite_create("onnx");
    TCase *tc = tcase_create("nodes");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, cases_agree);
    suite_add_tcase(suite, tc);
    return suite;
}
