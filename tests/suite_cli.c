/* The cotangent command: wrong input, what it writes, and one digest on every instruction set and thread count. */
#include "ct_test.h"
#include "run_program.h"

#include "cotangent.h"

#include <dirent.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct run_result result;

static const char *command(void) {
    static char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/cotangent", ct_test_bin_dir());
    return path;
}

static void run(enum run_output output, const char *const *variables, const char *const *words) {
    const char *arguments[16] = {command()};
    for (int i = 0; words[i]; i++) {
        ck_assert_int_lt(i, 14);
        arguments[i + 1] = words[i];
    }
    run_program(&result, output, variables, arguments);
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static int count_files(const char *path) {
    DIR *folder = opendir(path);
    ck_assert_ptr_nonnull(folder);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(folder));)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(folder);
    return count;
}

/* ---- wrong input. A word that begins with '@' is a path in the scratch folder, where "file" is a file, "folder" a
   folder, and "blocked" a folder in which model.safetensors is a folder. */

static const struct wrong {
    int status;
    const char *says; /* a part of what it says on standard error */
    const char *words[6];
    const char *variable;
} wrongs[] = {
    {2, NULL, {NULL}, NULL},
    {2, "there is no command 'trian'", {"trian"}, NULL},
    {2, "there is no option '--fast'", {"--fast"}, NULL},
    {2, "Try 'cotangent --help'", {"--fast"}, NULL},
    {2, "there is no command ''", {""}, NULL},
    {2, "there is no option '--fast'", {"train", "--fast"}, NULL},
    {2, "there is no option '-x'", {"train", "-x"}, NULL},
    {2, "there is no option '--help=me'", {"train", "--help=me"}, NULL},
    {2, "Try 'cotangent train --help'", {"train", "--fast"}, NULL},
    {2, "no use for the argument 'digits.csv'", {"train", "digits.csv"}, NULL},
    {2, "--epochs needs a value", {"train", "--epochs"}, NULL},
    {2,
     "--epochs takes a whole number from 1 to 100000, not '0'",
     {"train", "--epochs", "0"},
     NULL},
    {2, "not '-1'", {"train", "--epochs", "-1"}, NULL},
    {2, "not '+3'", {"train", "--epochs", "+3"}, NULL},
    {2, "not ' 3'", {"train", "--epochs", " 3"}, NULL},
    {2, "not '3x'", {"train", "--epochs", "3x"}, NULL},
    {2, "not '1e3'", {"train", "--epochs", "1e3"}, NULL},
    {2, "not ''", {"train", "--epochs", ""}, NULL},
    {2, "not '99999999999999999999999'", {"train", "--epochs", "99999999999999999999999"}, NULL},
    {2,
     "--batch takes a whole number from 1 to 1438, not '1439'",
     {"train", "--batch", "1439"},
     NULL},
    {2, "--seed takes", {"train", "--seed", "18446744073709551616"}, NULL},
    {2, "--epochs is given twice", {"train", "--epochs", "1", "--epochs", "1"}, NULL},
    {2, "--epochs is given twice", {"train", "--epochs=1", "--epo=2"}, NULL},
    {2, "--quick is given twice", {"train", "--quick", "--quick"}, NULL},
    {2,
     "--quick is --epochs 2: leave one of the two away",
     {"train", "--quick", "--epochs", "5"},
     NULL},
    {2, "leave one of the two away", {"train", "--epochs", "2", "--quick"}, NULL},
    {2, "--lr takes a number above 0", {"train", "--lr", "0"}, NULL},
    {2, "not '-0.1'", {"train", "--lr", "-0.1"}, NULL},
    {2, "not 'nan'", {"train", "--lr", "nan"}, NULL},
    {2, "not 'inf'", {"train", "--lr", "inf"}, NULL},
    {2, "not '1e999'", {"train", "--lr", "1e999"}, NULL},
    {2, "not '0,01'", {"train", "--lr", "0,01"}, NULL},
    {2, "--out takes a DIR", {"train", "--out", ""}, NULL},
    {1, "is not a folder", {"train", "--out", "@file"}, NULL},
    {1, "Not a directory", {"train", "--out", "@file/run"}, NULL},
    {1, "No such file or directory", {"train", "--out", "@none/run"}, NULL},
    {1, "model.safetensors", {"train", "--out", "@blocked"}, NULL},
    {1, "cannot make the folder '/proc/cotangent'", {"train", "--out", "/proc/cotangent"}, NULL},
    {1, "/proc", {"train", "--out", "/proc"}, NULL},
    {2, "there is no op 'additon'", {"check", "--op", "additon"}, NULL},
    {2, "The ops are add sub", {"check", "--op", "additon"}, NULL},
    {2, "--op needs a value", {"check", "--op"}, NULL},
    {2, "there is no op 'sum'", {"check", "sum"}, NULL},
    {2, "Near to it: summed.", {"check", "sum"}, NULL},
    {2, "Near to it: maximum, max_share, maxed.", {"check", "max"}, NULL},
    {2, "Near to it: network.", {"check", "netwrok"}, NULL},
    {2, "'network' is the network.", {"check", "netwrok"}, NULL},
    {2, "no use for the argument 'sub'", {"check", "add", "sub"}, NULL},
    {2, "there are two ops, 'add' and 'sub'", {"check", "--op", "add", "sub"}, NULL},
    {2, "--op is given twice", {"check", "--op", "relu", "--op", "tanh"}, NULL},
    {2, "--json is given twice", {"check", "--json", "add", "--json"}, NULL},
    {2, "--all checks every op: leave it or 'add' away", {"check", "--all", "add"}, NULL},
    {2, "there is no option '-x'", {"check", "-xh"}, NULL},
    {1, "No such file or directory", {"graph", "--out", "@none/x.dot"}, NULL},
    {1, "@folder", {"graph", "--out", "@folder"}, NULL},
    {2, "leave --out away", {"graph", "--text", "--out", "@new"}, NULL},
    {2, "--batch takes", {"graph", "--batch", "0"}, NULL},
    {2, "--network takes mlp or cnn, not 'rnn'", {"graph", "--network", "rnn"}, NULL},
    {2, "leave --fold away", {"graph", "--text", "--fold", "1"}, NULL},
    {2, "--fold takes", {"graph", "--fold", "0"}, NULL},
    {2, "--text is given twice", {"graph", "--text", "--text"}, NULL},
    {1, "@none", {"info", "@none"}, NULL},
    {1, "@folder", {"info", "@folder"}, NULL},
    {1, "@file", {"info", "@file"}, NULL},
    {1, "it is not a safetensors file", {"info", "@file"}, NULL},
    {1, "it is not a safetensors file: no header begins with '{'", {"info", "README.md"}, NULL},
    {2, "no use for the argument 'b'", {"info", "a", "b"}, NULL},
    {1, "CT_ISA is 'sse2'; it can be scalar, avx2 or avx512", {"train"}, "CT_ISA=sse2"},
    {1, "CT_NUM_THREADS", {"train"}, "CT_NUM_THREADS=0"},
    {1, "CT_NUM_THREADS", {"check"}, "CT_NUM_THREADS=two"},
    {1, "CT_NUM_THREADS", {"info"}, "CT_NUM_THREADS=1000000"},
};

static const char *with_path(const char *word) {
    return word && word[0] == '@' ? scratch_path(word + 1) : word;
}

static void lay_out_scratch(void) {
    scratch_make();
    FILE *file = fopen(scratch_path("file"), "w");
    ck_assert_ptr_nonnull(file);
    fputs("not a model\n", file);
    fclose(file);
    ck_assert_int_eq(mkdir(scratch_path("folder"), 0777), 0);
    ck_assert_int_eq(mkdir(scratch_path("blocked"), 0777), 0);
    ck_assert_int_eq(mkdir(scratch_path("blocked/model.safetensors"), 0777), 0);
}

START_TEST(wrong_input_is_refused) {
    const struct wrong *wrong = &wrongs[_i];
    lay_out_scratch();
    const char *words[7] = {NULL};
    for (int i = 0; i < 6 && wrong->words[i]; i++)
        words[i] = with_path(wrong->words[i]);
    run(RUN_READ, wrong->variable ? WORDS(wrong->variable) : NULL, words);
    ck_assert_msg(result.status == wrong->status, "%s %s: status %d, and it said: %.2000s",
                  words[0] ? words[0] : "", words[1] ? words[1] : "", result.status, result.err);
    if (wrong->says)
        ck_assert_msg(strstr(result.err, with_path(wrong->says)) != NULL, "it said: %.2000s",
                      result.err);
    ck_assert_msg(!wrong->says || !*result.out, "it printed: %.2000s", result.out);
    ck_assert_int_eq(count_files(scratch_path("")), 3);
    ck_assert_int_eq(count_files(scratch_path("folder")), 0);
    ck_assert_int_eq(count_files(scratch_path("blocked")), 1);
    scratch_remove();
}
END_TEST

START_TEST(unwritable_folder_is_refused) {
    if (geteuid() == 0) {
        ct_test_skip("the superuser may write anywhere");
        return;
    }
    lay_out_scratch();
    chmod(scratch_path("folder"), 0555);
    run(RUN_READ, NULL, WORDS("train", "--out", scratch_path("folder")));
    ck_assert_int_eq(result.status, 1);
    ck_assert_ptr_nonnull(strstr(result.err, "Permission denied"));
    run(RUN_READ, NULL, WORDS("train", "--out", scratch_path("folder/new")));
    ck_assert_int_eq(result.status, 1);
    ck_assert_ptr_nonnull(strstr(result.err, "Permission denied"));
    chmod(scratch_path("folder"), 0777);
    scratch_remove();
}
END_TEST

/* ---- standard output that takes nothing */

static const struct lost {
    enum run_output output;
    const char *says; /* on standard error; "" is silence */
    const char *word[2];
} losts[] = {
    {RUN_FULL_DISK, "No space left on device", {"--help"}},
    {RUN_FULL_DISK, "No space left on device", {"--version"}},
    {RUN_FULL_DISK, "No space left on device", {"info"}},
    {RUN_FULL_DISK, "No space left on device", {"graph"}},
    {RUN_FULL_DISK, "No space left on device", {"train", "--help"}},
    {RUN_FULL_DISK, "No space left on device", {"check", "--op=add"}},
    {RUN_BROKEN_PIPE, "", {"--help"}},
    {RUN_BROKEN_PIPE, "", {"graph"}},
    {RUN_BROKEN_PIPE, "", {"check", "--op=add"}},
    {RUN_CLOSED, "", {"--help"}},
    {RUN_CLOSED, "", {"info"}},
};

START_TEST(lost_output_is_a_failure) {
    const struct lost *lost = &losts[_i];
    run(lost->output, NULL, (const char *const[]){lost->word[0], lost->word[1], NULL});
    ck_assert_int_eq(result.status, 1);
    if (*lost->says)
        ck_assert_msg(strstr(result.err, lost->says) != NULL, "it said: %.2000s", result.err);
    else
        ck_assert_msg(!*result.err, "it said: %.2000s", result.err);
}
END_TEST

START_TEST(training_without_output_writes_nothing) {
    static const enum run_output outputs[] = {RUN_FULL_DISK, RUN_BROKEN_PIPE, RUN_CLOSED};
    scratch_make();
    run(outputs[_i], NULL, WORDS("train", "--quick", "--out", scratch_path("run")));
    ck_assert_int_eq(result.status, 1);
    ck_assert_int_eq(count_files(scratch_path("")), 0);
    scratch_remove();
}
END_TEST

/* ---- help */

START_TEST(help_teaches) {
    static const char *const commands[] = {"train", "check", "graph", "info"};
    run(RUN_READ, NULL, WORDS("--help"));
    ck_assert_int_eq(result.status, 0);
    ck_assert_msg(!*result.err, "it said: %.2000s", result.err);
    for (size_t i = 0; i < 4; i++)
        ck_assert_ptr_nonnull(strstr(result.out, commands[i]));
    for (size_t i = 0; i < 4; i++) {
        run(RUN_READ, NULL, WORDS(commands[i], "--help"));
        ck_assert_int_eq(result.status, 0);
        ck_assert_msg(!*result.err, "it said: %.2000s", result.err);
        ck_assert_ptr_nonnull(strstr(result.out, "Examples:"));
        char *long_help = strdup(result.out);
        run(RUN_READ, NULL, WORDS(commands[i], "-h"));
        ck_assert_int_eq(result.status, 0);
        ck_assert_str_eq(result.out, long_help);
        free(long_help);
    }
    run(RUN_READ, NULL, WORDS("--version"));
    ck_assert_int_eq(result.status, 0);
    ck_assert_str_eq(result.out, "cotangent " CT_VERSION "\n");
}
END_TEST

/* ---- what it writes */

static const char *last_line(const char *text) {
    static char line[512];
    size_t length = strlen(text);
    ck_assert_uint_gt(length, 0);
    ck_assert_int_eq(text[length - 1], '\n');
    size_t begin = length - 1;
    while (begin > 0 && text[begin - 1] != '\n')
        begin--;
    snprintf(line, sizeof line, "%.*s", (int)(length - 1 - begin), text + begin);
    return line;
}

/* The digest in the last line, after checking the line's form. */
static const char *digest_of(const char *isa, const char *threads) {
    static char digest[65];
    char word[16];
    int count, end = 0;
    const char *line = last_line(result.out);
    int found =
        sscanf(line, "sha256 %64[0-9a-f] isa=%15[a-z0-9] threads=%d%n", digest, word, &count, &end);
    ck_assert_msg(found == 3 && !line[end] && strlen(digest) == 64, "the last line is: %s", line);
    if (isa)
        ck_assert_str_eq(word, isa);
    if (threads)
        ck_assert_int_eq(count, atoi(threads));
    return digest;
}

START_TEST(train_writes_its_files) {
    scratch_make();
    const char *folder = scratch_path("run");
    for (int again = 0; again < 2; again++) { /* into a new folder, then over the old files */
        run(RUN_READ, NULL, WORDS("train", "--quick", "--out", folder));
        ck_assert_msg(result.status == 0, "it said: %.2000s", result.err);
        ck_assert_msg(!*result.err, "it said: %.2000s", result.err);
        ck_assert_ptr_nonnull(strstr(result.out, "epoch 2 of 2"));
        ck_assert_ptr_nonnull(strstr(result.out, "worst relative error"));
        ck_assert_ptr_nonnull(strstr(result.out, "run/model.safetensors"));
        ck_assert_ptr_null(strchr(result.out, '\r'));
    }
    char *dot = file_text(scratch_path("run/tape.dot"));
    ck_assert_ptr_nonnull(strstr(dot, "digraph"));
    ck_assert_ptr_nonnull(strstr(dot, "matmul"));
    free(dot);
    bool drawn = access(scratch_path("run/tape.svg"), R_OK) == 0;
    ck_assert_int_eq(count_files(folder), drawn ? 3 : 2);
    if (!drawn)
        ck_assert_ptr_nonnull(strstr(result.out, "'dot' is not installed"));
    ct_safetensors *model = ct_safetensors_load(scratch_path("run/model.safetensors"));
    ck_assert_ptr_nonnull(model);
    ck_assert_uint_eq(ct_safetensors_count(model), 4);
    const ct_tensor *weight = ct_safetensors_get(model, "layer0.weight");
    ck_assert_ptr_nonnull(weight);
    ck_assert_int_eq(ct_shape(weight)[0], 64);
    struct ct_named_tensor tensors[4];
    for (size_t i = 0; i < 4; i++)
        tensors[i] =
            (struct ct_named_tensor){ct_safetensors_name(model, i), ct_safetensors_at(model, i)};
    char digest[65];
    ck_assert_int_eq(ct_tensors_digest(4, tensors, digest), CT_OK);
    ck_assert_str_eq(digest, digest_of(NULL, NULL));
    ct_safetensors_free(model);
    run(RUN_READ, NULL, WORDS("info", scratch_path("run/model.safetensors")));
    ck_assert_int_eq(result.status, 0);
    ck_assert_ptr_nonnull(strstr(result.out, digest));
    ck_assert_ptr_nonnull(strstr(result.out, "layer1.bias"));
    scratch_remove();
}
END_TEST

START_TEST(train_without_dot_says_so) {
    scratch_make();
    run(RUN_READ, WORDS("PATH=/nowhere"), WORDS("train", "--quick", "--out", scratch_path("run")));
    ck_assert_int_eq(result.status, 0);
    ck_assert_ptr_nonnull(strstr(result.out, "'dot' is not installed"));
    ck_assert_int_eq(count_files(scratch_path("run")), 2);
    digest_of(NULL, NULL);
    scratch_remove();
}
END_TEST

START_TEST(train_says_where_a_loss_went_wrong) {
    scratch_make();
    run(RUN_READ, NULL, WORDS("train", "--quick", "--lr", "3e37", "--out", scratch_path("run")));
    ck_assert_int_eq(result.status, 1);
    ck_assert_msg(strstr(result.err,
                         "the loss is not finite in epoch 1, batch 2: node 6, dense in "
                         "layer1: -inf at index [0, 0] of f32[32, 10], of f32[32, 64] ("),
                  "it said: %.2000s", result.err);
    scratch_remove();
}
END_TEST

START_TEST(train_tells_of_saturation) {
    scratch_make();
    run(RUN_READ, NULL, WORDS("train", "--quick", "--lr", "1e9", "--out", scratch_path("run")));
    ck_assert_int_eq(result.status, 0);
    ck_assert_ptr_nonnull(strstr(result.out, "the network is saturated"));
    ck_assert_ptr_nonnull(strstr(result.out, "differences tell nothing at "));
    run(RUN_READ, NULL, WORDS("train", "--quick", "--out", scratch_path("run")));
    ck_assert_ptr_null(strstr(result.out, "saturated"));
    scratch_remove();
}
END_TEST

START_TEST(options_change_the_weights) {
    static const char *const options[][2] = {
        {"--seed", "1"}, {"--seed", "2"}, {"--lr", "0.02"}, {"--batch", "64"}, {"--epochs", "1"}};
    char digests[5][65];
    scratch_make();
    for (size_t i = 0; i < 5; i++) {
        /* --quick is --epochs 2, and stands in the place of another number. */
        const char *first = strcmp(options[i][0], "--epochs") == 0 ? "--batch=32" : "--quick";
        run(RUN_READ, NULL,
            WORDS("train", first, options[i][0], options[i][1], "--out", scratch_path("run")));
        ck_assert_int_eq(result.status, 0);
        strcpy(digests[i], digest_of(NULL, NULL));
        for (size_t j = 0; j < i; j++)
            ck_assert_str_ne(digests[i], digests[j]);
    }
    scratch_remove();
}
END_TEST

START_TEST(graph_writes_the_same_bytes) {
    scratch_make();
    run(RUN_READ, NULL, WORDS("graph"));
    ck_assert_int_eq(result.status, 0);
    char *printed = strdup(result.out);
    run(RUN_READ, WORDS("CT_NUM_THREADS=1", "CT_ISA=scalar"),
        WORDS("graph", "--out", scratch_path("step.dot")));
    ck_assert_int_eq(result.status, 0);
    char *written = file_text(scratch_path("step.dot"));
    ck_assert_str_eq(printed, written);
    free(written);
    free(printed);
    run(RUN_READ, NULL, WORDS("graph", "--text"));
    ck_assert_int_eq(result.status, 0);
    ck_assert_ptr_nonnull(strstr(result.out, "cross_entropy"));
    scratch_remove();
}
END_TEST

/* With all that reads values: the same bytes on any instruction set and number of threads. */
START_TEST(graph_shows_values_and_gradients_of_any_machine) {
    static const char *const machines[][2] = {{"CT_NUM_THREADS=1", "CT_ISA=scalar"},
                                              {"CT_NUM_THREADS=2", "CT_ISA=avx2"},
                                              {"CT_NUM_THREADS=3", "CT_ISA=avx512"},
                                              {"CT_NUM_THREADS=7", "CT_ISA=scalar"}};
    char *first = NULL;
    scratch_make();
    for (size_t i = 0; i < 4; i++) {
        if (i == 2 && strcmp(ct_isa_name(), "avx512") != 0)
            continue;
        run(RUN_READ, WORDS(machines[i][0], machines[i][1]),
            WORDS("graph", "--network", "cnn", "--values", "--gradients", "--out",
                  scratch_path("cnn.dot")));
        ck_assert_msg(result.status == 0, "it said: %.2000s", result.err);
        char *text = file_text(scratch_path("cnn.dot"));
        if (first)
            ck_assert_str_eq(first, text);
        else
            first = strdup(text);
        free(text);
    }
    scratch_remove();
    ck_assert_ptr_nonnull(strstr(first, "label=\"conv 3x3, padding 1\""));
    ck_assert_ptr_nonnull(strstr(first, "|gradient| "));
    ck_assert_ptr_nonnull(strstr(first, "% zeros"));
    free(first);
}
END_TEST

START_TEST(graph_folds_and_shows_where_a_nan_goes) {
    run(RUN_READ, NULL, WORDS("graph", "--network", "cnn", "--fold", "2", "--nan"));
    ck_assert_int_eq(result.status, 0);
    ck_assert_ptr_nonnull(strstr(result.out, "<B>conv 3x3, padding 1</B>"));
    ck_assert_ptr_nonnull(strstr(result.out, "4 nodes"));
    ck_assert_ptr_nonnull(strstr(result.out, "first_fault -> n0 "));
    run(RUN_READ, NULL, WORDS("graph", "--max-nodes", "3"));
    ck_assert_ptr_nonnull(strstr(result.out, " more nodes"));
    run(RUN_READ, NULL, WORDS("graph", "--text", "--values", "--nan"));
    ck_assert_ptr_nonnull(strstr(result.out, "NOT FINITE first: 1 nan of 4096\n"));
}
END_TEST

START_TEST(info_tells_what_runs) {
    run(RUN_READ, WORDS("CT_ISA=scalar", "CT_NUM_THREADS=2"), WORDS("info"));
    ck_assert_int_eq(result.status, 0);
    ck_assert_ptr_nonnull(strstr(result.out, "scalar"));
    ck_assert_ptr_nonnull(strstr(result.out, CT_VERSION));
}
END_TEST

START_TEST(check_passes_every_op) {
    run(RUN_READ, NULL, WORDS("check"));
    ck_assert_msg(result.status == 0, "%.1500s%.1500s", result.out, result.err);
    ck_assert_ptr_null(strstr(result.out, "FAIL"));
    for (int op = 0; op < CT_OP_COUNT; op++)
        ck_assert_ptr_nonnull(strstr(result.out, ct_op_name((enum ct_op)op)));
    ck_assert_ptr_nonnull(strstr(result.out, "\nnetwork "));
    ck_assert_ptr_nonnull(strstr(result.out, "\nop  "));
    ck_assert_ptr_nonnull(strstr(last_line(result.out), " checked, 0 failed; worst "));
    char *by_default = strdup(result.out);
    run(RUN_READ, NULL, WORDS("check", "--all"));
    ck_assert_int_eq(result.status, 0);
    ck_assert_str_eq(result.out, by_default);
    free(by_default);
}
END_TEST

START_TEST(check_takes_one_op) {
    run(RUN_READ, NULL, WORDS("check", "--op", "matmul"));
    ck_assert_int_eq(result.status, 0);
    ck_assert_ptr_nonnull(strstr(last_line(result.out), "2 checked, 0 failed; worst "));
    ck_assert_ptr_nonnull(strstr(result.out, " (matmul)\n"));
    char *by_option = strdup(result.out);
    run(RUN_READ, NULL, WORDS("check", "matmul"));
    ck_assert_int_eq(result.status, 0);
    ck_assert_str_eq(result.out, by_option);
    free(by_option);
}
END_TEST

/* The last row of the table goes by its name too. */
START_TEST(check_takes_the_network) {
    run(RUN_READ, NULL, WORDS("check", "network", "--json"));
    ck_assert_msg(result.status == 0 && !*result.err, "it said: %.2000s", result.err);
    json_t *row = json_loads(result.out, 0, NULL);
    ck_assert_msg(row != NULL, "not one row: %.2000s", result.out);
    ck_assert_str_eq(json_string_value(json_object_get(row, "op")), "network");
    json_decref(row);
    run(RUN_READ, NULL, WORDS("check", "--op", "network"));
    ck_assert_int_eq(result.status, 0);
    ck_assert_ptr_nonnull(strstr(last_line(result.out), "1 checked, 0 failed"));
}
END_TEST

/* A column of a row: a number, or null where there is nothing to compare. */
static void expect_error_or_null(const json_t *row, const char *key, bool is_null) {
    const json_t *value = json_object_get(row, key);
    ck_assert_msg(is_null ? json_is_null(value) : json_is_real(value), "%s of %s", key,
                  json_string_value(json_object_get(row, "op")));
}

static void expect_row(const json_t *row, const char *name, const char *type, bool logic) {
    static const char *const derivatives[] = {"tape", "dual", "second", "inner"};
    bool network = strcmp(name, "network") == 0;
    ck_assert_msg(json_is_object(row), "%s: no object", name);
    ck_assert_str_eq(json_string_value(json_object_get(row, "op")), name);
    ck_assert_str_eq(json_string_value(json_object_get(row, "dtype")), type);
    ck_assert_str_eq(json_string_value(json_object_get(row, "verdict")), "pass");
    expect_error_or_null(row, "value_ulp", network);
    expect_error_or_null(row, "value_bar", network);
    for (int k = 0; k < 4; k++)
        expect_error_or_null(row, derivatives[k], logic || (network && k == 3));
    ck_assert_int_eq(json_integer_value(json_object_get(row, "special_wrong")), 0);
    ck_assert_int_eq(json_integer_value(json_object_get(row, "special_points")) > 0, !network);
    ck_assert_int_eq(json_integer_value(json_object_get(row, "compared")) > 0, !logic);
    ck_assert(json_is_null(json_object_get(row, "message")));
    ck_assert_uint_eq(json_object_size(row), 13);
}

/* Every op in both types, in the order of the table, then the network; a line each and nothing else. */
START_TEST(check_writes_json) {
    static const char *const types[] = {"f32", "f64"};
    run(RUN_READ, NULL, WORDS("check", "--all", "--json"));
    ck_assert_msg(result.status == 0, "%.1500s%.1500s", result.out, result.err);
    const char *line = result.out;
    for (int k = 0; k <= 2 * CT_OP_COUNT; k++) {
        const char *end = strchr(line, '\n');
        ck_assert_msg(end != NULL, "only %d lines", k);
        json_t *row = json_loadb(line, (size_t)(end - line), 0, NULL);
        bool network = k == 2 * CT_OP_COUNT;
        enum ct_op op = (enum ct_op)(k / 2);
        expect_row(row, network ? "network" : ct_op_name(op), network ? "f64" : types[k % 2],
                   !network && ct_op_kind_of(op) == CT_KIND_LOGIC);
        json_decref(row);
        line = end + 1;
    }
    ck_assert_str_eq(line, "");
}
END_TEST

/* ---- one digest everywhere */

static const char *const isas[] = {"scalar", "avx2", "avx512"};
static const char *const threads[] = {"1", "2", "3"};

static bool isa_is_supported(const char *isa) {
    char variable[32];
    snprintf(variable, sizeof variable, "CT_ISA=%s", isa);
    run(RUN_READ, WORDS(variable), WORDS("info"));
    return result.status == 0;
}

START_TEST(digest_is_the_same_everywhere) {
    const char *isa = isas[_i];
    if (!isa_is_supported(isa)) {
        ct_test_skip(isa);
        return;
    }
    scratch_make();
    run(RUN_READ, WORDS("CT_ISA=avx2", "CT_NUM_THREADS=1"),
        WORDS("train", "--quick", "--out", scratch_path("run")));
    ck_assert_msg(result.status == 0, "it said: %.2000s", result.err);
    char expected[65];
    strcpy(expected, digest_of("avx2", "1"));
    for (size_t i = 0; i < 3; i++) {
        char isa_is[32], threads_are[32];
        snprintf(isa_is, sizeof isa_is, "CT_ISA=%s", isa);
        snprintf(threads_are, sizeof threads_are, "CT_NUM_THREADS=%s", threads[i]);
        run(RUN_READ, WORDS(isa_is, threads_are),
            WORDS("train", "--quick", "--out", scratch_path("run")));
        ck_assert_msg(result.status == 0, "it said: %.2000s", result.err);
        ck_assert_str_eq(digest_of(isa, threads[i]), expected);
    }
    scratch_remove();
}
END_TEST

Suite *suite_cli(void) {
    Suite *suite = suite_create("cli");
    TCase *input = tcase_create("wrong input");
    tcase_add_loop_test(input, wrong_input_is_refused, 0, sizeof wrongs / sizeof *wrongs);
    tcase_add_test(input, unwritable_folder_is_refused);
    suite_add_tcase(suite, input);
    TCase *output = tcase_create("lost output");
    tcase_add_loop_test(output, lost_output_is_a_failure, 0, sizeof losts / sizeof *losts);
    tcase_add_loop_test(output, training_without_output_writes_nothing, 0, 3);
    suite_add_tcase(suite, output);
    TCase *work = tcase_create("commands");
    tcase_add_test(work, help_teaches);
    tcase_add_test(work, train_writes_its_files);
    tcase_add_test(work, train_without_dot_says_so);
    tcase_add_test(work, train_tells_of_saturation);
    tcase_add_test(work, train_says_where_a_loss_went_wrong);
    tcase_add_test(work, options_change_the_weights);
    tcase_add_test(work, graph_writes_the_same_bytes);
    tcase_add_test(work, graph_shows_values_and_gradients_of_any_machine);
    tcase_add_test(work, graph_folds_and_shows_where_a_nan_goes);
    tcase_add_test(work, info_tells_what_runs);
    tcase_add_test(work, check_passes_every_op);
    tcase_add_test(work, check_takes_one_op);
    tcase_add_test(work, check_takes_the_network);
    tcase_add_test(work, check_writes_json);
    suite_add_tcase(suite, work);
    TCase *digest = tcase_create("digest");
    tcase_add_loop_test(digest, digest_is_the_same_everywhere, 0, 3);
    suite_add_tcase(suite, digest);
    return suite;
}
