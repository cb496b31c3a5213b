#include "picture.h"

#include "io/atomic_file.h"
#include "tensor/fail.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static bool append(void *context, const char *text, size_t length) {
    return ct__atomic_write(context, text, length) == CT_OK;
}

static bool print(void *context, const char *text, size_t length) {
    (void)context;
    return fwrite(text, 1, length, stdout) == length;
}

ct_status picture_write(const ct_tape *tape, const struct ct_dot_options *options,
                        const char *path) {
    struct ct__atomic_file *file = ct__atomic_begin(path, __func__);
    if (!file)
        return ct_error()->code;
    ct_status written = ct_tape_dot(tape, options, append, file);
    ct_status placed = ct__atomic_commit(file);
    return placed != CT_OK ? placed : written;
}

ct_status picture_print(const ct_tape *tape, const struct ct_dot_options *options) {
    return ct_tape_dot(tape, options, print, NULL);
}

ct_status picture_print_text(const ct_tape *tape, const struct ct_dot_options *options) {
    return ct_tape_text_with(tape, options, print, NULL);
}

/* dot reads the file on its standard input, so that no name can look like an option to it. */
static int spawn_dot(int in, int out, pid_t *child) {
    static char dot[] = "dot", svg[] = "-Tsvg";
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t defaults;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    sigaddset(&defaults, SIGXFSZ);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    int error =
        posix_spawnp(child, dot, &actions, &attributes, (char *[]){dot, svg, NULL}, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* Starts dot with its output in a pipe; returns the end to read, or -1 with errno. */
static int start_dot(const char *dot_path, pid_t *child) {
    int in = open(dot_path, O_RDONLY | O_CLOEXEC), ends[2];
    if (in < 0)
        return -1;
    int error = pipe2(ends, O_CLOEXEC) != 0 ? errno : 0;
    if (!error) {
        error = spawn_dot(in, ends[1], child);
        close(ends[1]);
        if (error)
            close(ends[0]);
    }
    close(in);
    errno = error;
    return error ? -1 : ends[0];
}

/* Copies until the pipe ends; a file that cannot be written has failed and says so at the end. */
static void copy(int from, struct ct__atomic_file *file) {
    char block[65536];
    ssize_t count;
    while (count = read(from, block, sizeof block), count > 0 || (count < 0 && errno == EINTR))
        if (count > 0)
            ct__atomic_write(file, block, (size_t)count);
}

static bool ended_well(pid_t child) {
    int status;
    pid_t ended;
    while (ended = waitpid(child, &status, 0), ended < 0 && errno == EINTR)
        ;
    return ended == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

enum drawing picture_draw(const char *dot_path, const char *svg_path) {
    pid_t child;
    int from = start_dot(dot_path, &child);
    if (from < 0 && errno == ENOENT)
        return NO_DOT;
    if (from < 0) {
        ct__fail(CT_EIO, __func__, "cannot run dot: %s", strerror(errno));
        return NOT_DRAWN;
    }
    struct ct__atomic_file *file = ct__atomic_begin(svg_path, __func__);
    if (file)
        copy(from, file);
    close(from);
    bool well = ended_well(child);
    if (!file)
        return NOT_DRAWN;
    if (!well) {
        ct__atomic_abandon(file);
        ct__fail(CT_EIO, __func__, "dot could not draw '%s'", dot_path);
        return NOT_DRAWN;
    }
    return ct__atomic_commit(file) == CT_OK ? DRAWN : NOT_DRAWN;
}
