/* The README's program and the examples build against the library as a user would build them, and run. */
#include "ct_test.h"
#include "run_program.h"

#include <dirent.h>
#include <glob.h>
#include <limits.h>
#include <stdbool.h>
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

START_TEST(guide_program_runs) {
    scratch_make();
    extract("docs/tensor.md", scratch_path("guide.c"));
    build_and_run(scratch_path("guide.c"));
    ck_assert_str_eq(result.out, "[2.5, 3.5, 4.5]\n");
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

/* A network that does not learn runs as well. */
START_TEST(the_convolutional_network_learns) {
    char path[PATH_MAX];
    double loss, accuracy = 0;
    int epochs = 0, end;
    snprintf(path, sizeof path, "%s/../examples/cnn", ct_test_bin_dir());
    run_program(&result, RUN_READ, NULL, (const char *const[]){path, NULL});
    ck_assert_msg(result.status == 0, "%.2000s", result.err);
    for (const char *at = result.out; *at; at += end, epochs++) {
        end = 0;
        sscanf(at, "epoch %*d: loss %lf, %lf %% of the held-out digits right\n%n", &loss, &accuracy,
               &end);
        ck_assert_msg(end > 0, "it printed %s", at);
    }
    ck_assert_int_ge(epochs, 5);
    ck_assert_double_gt(accuracy, 90);
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

/* ---- docs/seeing.md: pictures are what their commands write */

static const struct {
    const char *command, *picture;
    const char *words[10];
} pictures[] = {
    {"build/bin/cotangent graph | dot", "docs/tape.svg", {"bin/cotangent", "graph", NULL}},
    {"build/bin/cotangent graph --network cnn --fold 2 | dot",
     "docs/cnn.svg",
     {"bin/cotangent", "graph", "--network", "cnn", "--fold", "2", NULL}},
    {"build/bin/cotangent graph --network cnn --fold 1 --values --gradients | dot",
     "docs/values.svg",
     {"bin/cotangent", "graph", "--network", "cnn", "--fold", "1", "--values", "--gradients",
      NULL}},
    {"build/examples/find_nan nan.dot && dot", "docs/nan.svg", {"examples/find_nan", NULL}},
};

/* How many nodes Graphviz's SVG has of the name, which is a title in it. */
static bool has_title(const char *svg, const char *name, size_t length) {
    char title[64];
    snprintf(title, sizeof title, "<title>%.*s</title>", (int)length, name);
    return strstr(svg, title) != NULL;
}

/* Lines such as `n12 [label=...`. */
static size_t compare_nodes(const char *picture, const char *dot, const char *svg) {
    size_t nodes = 0;
    for (const char *line = dot; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        size_t length = strcspn(line, " \n");
        if (strncmp(line + length, " [label=", 8) != 0)
            continue;
        ck_assert_msg(has_title(svg, line, length),
                      "%s lacks %.*s: it is not what its command writes", picture, (int)length,
                      line);
        nodes++;
    }
    return nodes;
}

START_TEST(pictures_are_those_of_their_commands) {
    char *guide = file_text("docs/seeing.md"), *svg = file_text(pictures[_i].picture),
         path[PATH_MAX];
    ck_assert_msg(strstr(guide, pictures[_i].command) != NULL, "no %s", pictures[_i].command);
    scratch_make();
    const char *words[12] = {path};
    int n = 1;
    snprintf(path, sizeof path, "%s/../%s", ct_test_bin_dir(), pictures[_i].words[0]);
    for (; pictures[_i].words[n]; n++)
        words[n] = pictures[_i].words[n];
    if (strstr(path, "cotangent"))
        words[n++] = "--out";
    words[n] = scratch_path("picture.dot");
    run_program(&result, RUN_READ, NULL, words);
    ck_assert_msg(result.status == 0, "%s: %.2000s", pictures[_i].command, result.err);
    if (strstr(path, "find_nan")) {
        char *sentence = strstr(guide, "    step 886");
        ck_assert_ptr_nonnull(sentence);
        size_t length = strcspn(sentence + 4, "\n");
        ck_assert_msg(strncmp(result.out, sentence + 4, length) == 0, "it says %s", result.out);
    }
    char *dot = file_text(scratch_path("picture.dot"));
    size_t nodes = compare_nodes(pictures[_i].picture, dot, svg), titles = 0;
    for (const char *at = svg; (at = strstr(at, "class=\"node\"")); at++)
        titles++;
    ck_assert_uint_gt(nodes, 5);
    ck_assert_uint_le(titles - nodes, 1); /* the note of a fault */
    free(dot);
    free(svg);
    free(guide);
    scratch_remove();
}
END_TEST

/* The first line of what the command prints with the word is the one that the guide shows below it. */
START_TEST(the_listing_is_that_of_its_command) {
    static const char shown[] = "    build/bin/cotangent graph --network cnn --text --values "
                                "--gradients | grep logits\n\n    ";
    char *guide = file_text("docs/seeing.md"), path[PATH_MAX], *line = strstr(guide, shown);
    ck_assert_msg(line != NULL, "docs/seeing.md lacks the command");
    line += strlen(shown);
    size_t length = strcspn(line, "\n");
    snprintf(path, sizeof path, "%s/cotangent", ct_test_bin_dir());
    run_program(&result, RUN_READ, NULL,
                (const char *const[]){path, "graph", "--network", "cnn", "--text", "--values",
                                      "--gradients", NULL});
    ck_assert_msg(result.status == 0, "%.2000s", result.err);
    char *found = strstr(result.out, "logits");
    ck_assert_ptr_nonnull(found);
    while (found > result.out && found[-1] != '\n')
        found--;
    ck_assert_msg(strcspn(found, "\n") == length && memcmp(found, line, length) == 0,
                  "it prints %.*s", (int)strcspn(found, "\n"), found);
    free(guide);
}
END_TEST

/* ---- names in the text */

/* All public headers, one after the other. */
static char *public_headers(void) {
    glob_t found;
    ck_assert_int_eq(glob("*/ct_*.h", 0, NULL, &found), 0);
    char *all = strdup("");
    for (size_t i = 0; i < found.gl_pathc; i++) {
        char *text = file_text(found.gl_pathv[i]);
        all = realloc(all, strlen(all) + strlen(text) + 1);
        ck_assert_ptr_nonnull(all);
        strcat(all, text);
        free(text);
    }
    globfree(&found);
    return all;
}

static bool is_name_char(char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* Whether the headers hold the whole word. */
static bool holds_word(const char *headers, const char *word) {
    size_t length = strlen(word);
    for (const char *at = headers; (at = strstr(at, word)); at += length)
        if (!is_name_char(at[length]) && (at == headers || !is_name_char(at[-1])))
            return true;
    return false;
}

START_TEST(names_in_the_guide_exist) {
    char *headers = public_headers(), *text = file_text("docs/tensor.md");
    int names = 0;
    for (const char *at = text; (at = strstr(at, "`ct_")); names++) {
        char word[128];
        size_t length = 0;
        for (at++; is_name_char(at[length]) && length + 1 < sizeof word; length++)
            word[length] = at[length];
        word[length] = '\0';
        ck_assert_msg(at[length] == '.' || holds_word(headers, word),
                      "docs/tensor.md names %s, which no public header has", word);
    }
    ck_assert_int_gt(names, 50);
    free(text);
    free(headers);
}
END_TEST

Suite *suite_readme(void) {
    Suite *suite = suite_create("readme");
    TCase *tests = tcase_create("programs");
    tcase_add_test(tests, readme_program_learns);
    tcase_add_test(tests, readme_program_is_the_example);
    tcase_add_test(tests, guide_program_runs);
    tcase_add_test(tests, examples_run);
    tcase_add_test(tests, the_convolutional_network_learns);
    tcase_add_loop_test(tests, pictures_are_those_of_their_commands, 0, 4);
    tcase_add_test(tests, the_listing_is_that_of_its_command);
    tcase_add_test(tests, names_in_the_guide_exist);
    suite_add_tcase(suite, tests);
    return suite;
}
