#include "options.h"

#include "command.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_OPTIONS = 16, HELP_OPTION = MAX_OPTIONS };

int usage_failed(const char *command, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "cotangent%s%s: ", *command ? " " : "", command);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\nTry 'cotangent%s%s --help'.\n", *command ? " " : "", command);
    return EXIT_USAGE;
}

static void print_help(const struct option_table *table) {
    printf("cotangent %s [options]%s%s%s\n\n%s\nOptions:\n", table->command,
           table->operand ? " [" : "", table->operand ? table->operand : "",
           table->operand ? "]" : "", table->about);
    for (const struct option_row *row = table->rows; row->name; row++) {
        char left[40];
        snprintf(left, sizeof left, "--%s%s%s", row->name, row->argument ? " " : "",
                 row->argument ? row->argument : "");
        printf("  %-16s %s\n", left, row->help);
    }
    printf("  %-16s this text\n", "-h, --help");
    if (table->examples)
        printf("\nExamples:\n%s", table->examples);
}

/* A decimal number without a sign, blanks or anything after it. */
static bool parse_whole(const char *text, uint64_t *value) {
    if (!*text || text[strspn(text, "0123456789")])
        return false;
    errno = 0;
    uintmax_t number = strtoumax(text, NULL, 10);
    if (errno || number > UINT64_MAX)
        return false;
    *value = number;
    return true;
}

static int set_count(const char *command, const struct option_row *row, const char *text) {
    uint64_t value;
    if (!parse_whole(text, &value) || value < (uint64_t)row->low || value > (uint64_t)row->high)
        return usage_failed(command,
                            "--%s takes a whole number from %" PRId64 " to %" PRId64 ", not '%s'",
                            row->name, row->low, row->high, text);
    *(int64_t *)row->value = (int64_t)value;
    return -1;
}

static int set_seed(const char *command, const struct option_row *row, const char *text) {
    if (!parse_whole(text, row->value))
        return usage_failed(command, "--%s takes a whole number from 0 to %" PRIu64 ", not '%s'",
                            row->name, UINT64_MAX, text);
    return -1;
}

static int set_real(const char *command, const struct option_row *row, const char *text) {
    char *end;
    double value = strtod(text, &end); /* no locale is ever set: the point is a point */
    if (end == text || *end || !isfinite(value) || value <= 0)
        return usage_failed(command, "--%s takes a number above 0, such as 0.01, not '%s'",
                            row->name, text);
    *(double *)row->value = value;
    return -1;
}

static int set_text(const char *command, const struct option_row *row, const char *text) {
    if (!*text)
        return usage_failed(command, "--%s takes a %s, not an empty word", row->name,
                            row->argument);
    *(const char **)row->value = text;
    return -1;
}

static int set_value(const char *command, const struct option_row *row, const char *text) {
    switch (row->kind) {
    case OPTION_COUNT:
        return set_count(command, row, text);
    case OPTION_SEED:
        return set_seed(command, row, text);
    case OPTION_REAL:
        return set_real(command, row, text);
    case OPTION_TEXT:
        return set_text(command, row, text);
    case OPTION_FLAG:
        break;
    }
    *(bool *)row->value = true;
    return -1;
}

/* Fills the list for getopt_long; val is the row's number + 1. */
static void list_options(const struct option_row *rows, struct option list[MAX_OPTIONS + 2]) {
    int n = 0;
    for (; rows[n].name && n < MAX_OPTIONS - 1; n++)
        list[n] = (struct option){rows[n].name, rows[n].argument ? required_argument : no_argument,
                                  NULL, n + 1};
    list[n++] = (struct option){"help", no_argument, NULL, HELP_OPTION};
    list[n] = (struct option){NULL, 0, NULL, 0};
}

static int read_operands(const struct option_table *table, int argc, char **argv,
                         const char **operand) {
    int allowed = table->operand ? 1 : 0;
    if (argc - optind > allowed)
        return usage_failed(table->command, "there is no use for the argument '%s'",
                            argv[optind + allowed]);
    *operand = optind < argc ? argv[optind] : NULL;
    return -1;
}

int options_read(const struct option_table *table, int argc, char **argv, const char **operand) {
    struct option list[MAX_OPTIONS + 2];
    list_options(table->rows, list);
    bool given[MAX_OPTIONS] = {false};
    opterr = 0;
    optind = 1;
    int found;
    while (found = getopt_long(argc, argv, ":h", list, NULL), found != -1) {
        const char *word = argv[optind - 1];
        if (found == ':')
            return usage_failed(table->command, "%s needs a value after it", word);
        if (found == '?' && optopt > HELP_OPTION) /* a letter, perhaps of several in the word */
            return usage_failed(table->command, "there is no option '-%c' here", optopt);
        if (found == '?')
            return usage_failed(table->command, "there is no option '%s' here", word);
        if (found == HELP_OPTION || found == 'h') {
            print_help(table);
            return output_arrives() ? EXIT_DONE : EXIT_FAILED;
        }
        const struct option_row *row = &table->rows[found - 1];
        if (given[found - 1])
            return usage_failed(table->command, "--%s is given twice: give it once", row->name);
        given[found - 1] = true;
        int status = set_value(table->command, row, optarg);
        if (status >= 0)
            return status;
    }
    return read_operands(table, argc, argv, operand);
}
