/* The cotangent command. This file is compiled for any x86-64 CPU, so that it can say what is missing. */
#include "command.h"
#include "cotangent.h"
#include "options.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *about;
} commands[] = {
    {"train", cmd_train, "trains a network on handwritten digits and saves it"},
    {"check", cmd_check, "checks every derivative three ways"},
    {"graph", cmd_graph, "writes the picture of one training step for Graphviz"},
    {"info", cmd_info, "says what runs here, or what a saved model holds"},
};

enum { COMMAND_COUNT = sizeof commands / sizeof *commands };

static const char help_head[] = "Cotangent: automatic differentiation on strided tensors.\n"
                                "\n"
                                "cotangent COMMAND [options]\n"
                                "\n"
                                "Commands:\n";

static const char help_tail[] =
    "\n"
    "cotangent COMMAND --help tells more about one. To begin with:\n"
    "\n"
    "  cotangent train --out run        a few seconds; writes run/model.safetensors, run/tape.svg\n"
    "  cotangent check                  one line for each op, and one for a network\n"
    "\n"
    "Results are the same bits on any number of threads and any instruction set. To see it, force\n"
    "others and compare the last line: CT_NUM_THREADS=1 CT_ISA=scalar cotangent train\n"
    "(CT_ISA is scalar, avx2 or avx512).\n"
    "\n"
    "Exit status: 0 done, 1 failed, 2 the command line was wrong.\n";

/* A closed descriptor would be given to the first file that is opened, and be printed into. */
static bool descriptors_are_open(void) {
    bool printable = fcntl(STDOUT_FILENO, F_GETFD) != -1;
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) == -1 && open("/dev/null", O_RDWR) < 0)
            return false;
    return printable;
}

static int print_help(void) {
    fputs(help_head, stdout);
    for (int i = 0; i < COMMAND_COUNT; i++)
        printf("  %-8s %s\n", commands[i].name, commands[i].about);
    fputs(help_tail, stdout);
    return EXIT_DONE;
}

static int print_version(void) {
    puts("cotangent " CT_VERSION);
    return EXIT_DONE;
}

/* What must hold before any computation; --help and --version need none of it. */
static int run_command(int i, int argc, char **argv) {
    if (ct_isa_check() != CT_OK || ct_threads_check() != CT_OK || ct_fenv_check() != CT_OK)
        return library_failed(commands[i].name);
    return commands[i].run(argc, argv);
}

static int dispatch(int argc, char **argv) {
    if (argc < 2) {
        print_help();
        return EXIT_USAGE;
    }
    const char *word = argv[1];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0)
        return print_help();
    if (strcmp(word, "--version") == 0)
        return print_version();
    for (int i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(word, commands[i].name) == 0)
            return run_command(i, argc - 1, argv + 1);
    return usage_failed("", word[0] == '-' ? "there is no option '%s'" : "there is no command '%s'",
                        word);
}

int main(int argc, char **argv) {
    signal(SIGPIPE, SIG_IGN); /* a failed write says it, and files being written are cleaned up */
    signal(SIGXFSZ, SIG_IGN);
    if (!descriptors_are_open())
        return EXIT_FAILED;
    int status = dispatch(argc, argv);
    return output_arrives() ? status : status ? status : EXIT_FAILED;
}
