/* Reading a command's options: getopt_long with messages that say what to do. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

/* Where the value of an option goes. */
enum option_kind {
    OPTION_FLAG,  /* bool: set to true */
    OPTION_COUNT, /* int64_t: a decimal number from low to high */
    OPTION_SEED,  /* uint64_t: any decimal number that fits */
    OPTION_REAL,  /* double: positive and finite */
    OPTION_TEXT   /* const char *: not empty */
};

struct option_row {
    const char *name; /* without its dashes */
    enum option_kind kind;
    void *value;
    int64_t low, high;    /* of OPTION_COUNT */
    const char *argument; /* its name in the help; NULL for a flag */
    const char *help;     /* with the default */
};

struct option_table {
    const char *command;
    const char *operand; /* name of the one argument that may follow, or NULL */
    const char *about;   /* what the command does, in whole lines */
    const char *examples;
    const struct option_row *rows; /* up to one without a name */
};

/* Reads the arguments; an option that is given twice is an error, since one of the two would not count. Returns -1 to go on, otherwise the exit status: after --help, or after a message
   on standard error. *operand is the argument, or NULL. */
int options_read(const struct option_table *table, int argc, char **argv, const char **operand);

/* Prints a message on standard error, and how to get help; returns EXIT_USAGE. */
int usage_failed(const char *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
