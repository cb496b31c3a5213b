/* The README's program and the examples build against the library as a user would build them, and run. */
#include "ct_test.h"
#include "run_program.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct run_result result;

/* The first block of C in a Markdown file, in a file of its own. */
static void extract(const char *markdown, const char *path) {
    char *text = file_text(markdown);
    char *begin = strstr(text, "```c\n");
    ck_assert_ptr_nonnull(begin);
    begin += strlen("```c\n");
    char *end = strstr(begin, "```");
    ck_assert_ptr_nonnull(end);
    *end = '\0';
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(begin, file);
    ck_assert_int_eq(fclose(file), 0);
    free(text);
}

static void build_and_run(const char *source) {
    char line[4 * PATH_MAX];
    snprintf(
        line, sizeof line,
        "exec %s -std=c17 -Wall -Wextra -Werror -I. %s -o '%s' '%s' '%s/../lib/libcotangent.a' %s",
        CC_TEXT, FLAGS_TEXT, scratch_path("program"), source, ct_test_bin_dir(), LIBS_TEXT);
    run_program(&result, RUN_READ, NULL, (const char *const[]){"sh", "-c", line, NULL});
    ck_assert_msg(result.status == 0, "%.2000s", result.err);
    run_program(&result, RUN_READ, NULL, (const char *const[]){scratch_path("program"), NULL});
    ck_assert_msg(result.status == 0, "%.2000s", result.err);
    ck_assert_msg(!*result.err, "it said: %.2000s", result.err);
}

START_TEST(readme_program_learns) {
    scratch_make();
    extract("README.md", scratch_path("readme.c"));
    build_and_run(scratch_path("readme.c"));
    ck_assert_msg(strstr(result.out, "step 200") && strstr(result.out, "100 % right"), "%.2000s",
                  result.out);
    scratch_remove();
}
END_TEST

START_TEST(readme_program_is_the_example) {
    scratch_make();
    extract("README.md", scratch_path("readme.c"));
    char *printed = file_text(scratch_path("readme.c")),
         *example = file_text("examples/train_xor.c");
    ck_assert_msg(strcmp(printed, example) == 0, "README.md and examples/train_xor.c differ");
    free(printed);
    free(example);
    scratch_remove();
}
END_TEST

START_TEST(examples_run) {
    DIR *folder = opendir("examples");
    ck_assert_ptr_nonnull(folder);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        char path[PATH_MAX];
        size_t length = strlen(entry->d_name);
        if (length < 3 || strcmp(entry->d_name + length - 2, ".c") != 0)
            continue;
        snprintf(path, sizeof path, "%s/../examples/%.*s", ct_test_bin_dir(), (int)length - 2,
                 entry->d_name);
        run_program(&result, RUN_READ, NULL, (const char *const[]){path, NULL});
        ck_assert_msg(result.status == 0, "%s: %.2000s", entry->d_name, result.err);
        ck_assert_str_ne(result.out, "");
        count++;
    }
    closedir(folder);
    ck_assert_int_gt(count, 0);
}
END_TEST

Suite *suite_readme(void) {
    Suite *suite = suite_create("readme");
    TCase *tests = tcase_create("programs");
    tcase_add_test(tests, readme_program_learns);
    tcase_add_test(tests, readme_program_is_the_example);
    tcase_add_test(tests, examples_run);
    suite_add_tcase(suite, tests);
    return suite;
}
