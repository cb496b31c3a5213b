#include "run_program.h"

#include "ct_test.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- running */

static int temporary_file(void) {
    int fd = open(P_tmpdir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0)
        return fd;
    char name[] = P_tmpdir "/ct-tests-XXXXXX"; /* a file system without nameless files */
    fd = mkostemp(name, O_CLOEXEC);
    unlink(name);
    return fd;
}

static void read_back(int fd, char *text, size_t size) {
    ssize_t count = pread(fd, text, size - 1, 0);
    text[count > 0 ? count : 0] = '\0';
    close(fd);
}

static void place_output(enum run_output output, int file) {
    int ends[2];
    switch (output) {
    case RUN_READ:
        dup2(file, STDOUT_FILENO);
        break;
    case RUN_FULL_DISK:
        dup2(open("/dev/full", O_WRONLY | O_CLOEXEC), STDOUT_FILENO);
        break;
    case RUN_CLOSED:
        close(STDOUT_FILENO);
        break;
    case RUN_BROKEN_PIPE:
        if (pipe(ends) != 0)
            _exit(126);
        close(ends[0]);
        dup2(ends[1], STDOUT_FILENO);
        close(ends[1]);
        break;
    }
}

static void start(enum run_output output, int out, int err, const char *const *variables,
                  const char *const *arguments) {
    char *words[64];
    int count = 0;
    for (; arguments[count] && count < 63; count++)
        words[count] = strdup(arguments[count]);
    words[count] = NULL;
    for (; variables && *variables; variables++)
        putenv(strdup(*variables));
    dup2(err, STDERR_FILENO);
    place_output(output, out);
    execvp(words[0], words);
    _exit(127);
}

void run_program(struct run_result *result, enum run_output output, const char *const *variables,
                 const char *const *arguments) {
    int out = temporary_file(), err = temporary_file(), status;
    ck_assert_msg(out >= 0 && err >= 0, "no temporary file: %s", strerror(errno));
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        start(output, out, err, variables, arguments);
    ck_assert_msg(child > 0, "fork: %s", strerror(errno));
    while (waitpid(child, &status, 0) < 0)
        ck_assert_int_eq(errno, EINTR);
    result->status = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
    read_back(out, result->out, sizeof result->out);
    read_back(err, result->err, sizeof result->err);
    ck_assert_msg(result->status != 127, "cannot run %s", arguments[0]);
}

/* ---- files */

static char scratch[PATH_MAX / 2];

void scratch_make(void) {
    snprintf(scratch, sizeof scratch, "%s/ct-tests-XXXXXX", P_tmpdir);
    ck_assert_ptr_nonnull(mkdtemp(scratch));
}

static int remove_one(const char *path, const struct stat *found, int kind, struct FTW *walk) {
    (void)found;
    (void)kind;
    (void)walk;
    return remove(path);
}

void scratch_remove(void) {
    nftw(scratch, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *scratch_path(const char *name) {
    static char paths[8][PATH_MAX];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, PATH_MAX, "%s/%s", scratch, name);
    return path;
}

char *file_text(const char *path) {
    FILE *file = fopen(path, "rb");
    ck_assert_msg(file != NULL, "%s: %s", path, strerror(errno));
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    char *text = malloc((size_t)size + 1);
    ck_assert_ptr_nonnull(text);
    ck_assert_uint_eq(fread(text, 1, (size_t)size, file), (size_t)size);
    text[size] = '\0';
    fclose(file);
    return text;
}
