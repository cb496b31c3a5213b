/* What the commands say when something is wrong. */
#include "command.h"

#include "tensor/ct_error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int command_failed(const char *command, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "cotangent %s: ", command);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    return EXIT_FAILED;
}

int library_failed(const char *command) {
    return command_failed(command, "%s", ct_error()->message);
}

/* Why an earlier write failed: stdio does not keep it, so try another, of no consequence now. */
static int reason_again(void) {
    return write(STDOUT_FILENO, "\n", 1) < 0 ? errno : EIO;
}

bool output_arrives(void) {
    static bool said;
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return true;
    int reason = errno ? errno : reason_again();
    if (reason != EPIPE && !said) /* a reader who left knows */
        fprintf(stderr, "cotangent: cannot write to standard output: %s\n", strerror(reason));
    said = true;
    return false;
}
