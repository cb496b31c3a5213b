/* The commands, and how each says that something is wrong. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <stdbool.h>

/* Exit statuses. */
enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* Each takes its own name in argv[0] and returns an exit status. */
int cmd_train(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_graph(int argc, char **argv);
int cmd_info(int argc, char **argv);

/* Prints "cotangent COMMAND: " and the message on standard error; returns EXIT_FAILED. */
int command_failed(const char *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same with the library's last error as the message. */
int library_failed(const char *command);

/* Flushes standard output and says whether everything printed so far has arrived. */
bool output_arrives(void);

#endif
