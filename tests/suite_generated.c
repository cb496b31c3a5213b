/* The committed files that follow from the op table are what the table says. `make ops` rewrites them. */
#include "ct_test.h"
#include "run_program.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct generated {
    const char *what, *file;
} generated[] = {
    {"tensor", "tensor/ct_ops.h"}, {"var", "autodiff/ct_var_ops.h"}, {"docs", "docs/ops.md"}};

START_TEST(file_follows_from_the_table) {
    static struct run_result result;
    char printer[PATH_MAX];
    snprintf(printer, sizeof printer, "%s/ct-print-ops", ct_test_bin_dir());
    run_program(&result, RUN_READ, NULL, (const char *const[]){printer, generated[_i].what, NULL});
    ck_assert_int_eq(result.status, 0);
    char *committed = file_text(generated[_i].file);
    /* not ck_assert_str_eq: it would print both */
    ck_assert_msg(strcmp(result.out, committed) == 0,
                  "%s is not what tensor/ops.def says: run `make ops`", generated[_i].file);
    free(committed);
}
END_TEST

Suite *suite_generated(void) {
    Suite *suite = suite_create("generated");
    TCase *tests = tcase_create("files");
    tcase_add_loop_test(tests, file_follows_from_the_table, 0,
                        sizeof generated / sizeof *generated);
    suite_add_tcase(suite, tests);
    return suite;
}
