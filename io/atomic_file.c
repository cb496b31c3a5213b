#include "io/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tensor/alloc.h"
#include "tensor/fail.h"

enum { TRIES = 100, ERROR_TEXT_BYTES = 128 };

static const size_t most_at_once = (size_t)1 << 30;

struct ct__atomic_file {
    const char *function;
    int fd;     // -1 once closed
    int folder; // -1 when the target is written directly
    bool failed;
    const char *base;      // the target's name in the folder; points into target
    char given[PATH_MAX];  // as the caller wrote it, for messages
    char target[PATH_MAX]; // with links resolved
    char temp[NAME_MAX + 1];
};

static ct_status fail_io(const char *function, const char *path, const char *what, int error) {
    char text[ERROR_TEXT_BYTES];
    return ct__fail(CT_EIO, function, "cannot %s '%.300s': %s", what, path,
                    strerror_r(error, text, sizeof text));
}

// ---- closing

static int close_fd(int *fd) {
    int outcome = *fd >= 0 ? close(*fd) : 0;
    *fd = -1;
    return outcome < 0 && errno != EINTR ? -1
                                         : 0; // after EINTR the descriptor is closed all the same
}

static void remove_temp(struct ct__atomic_file *file) {
    close_fd(&file->fd);
    if (file->temp[0])
        unlinkat(file->folder, file->temp, 0);
    file->temp[0] = '\0';
}

static ct_status give_up(struct ct__atomic_file *file, int error) {
    remove_temp(file);
    file->failed = true;
    return fail_io(file->function, file->given, "write", error);
}

static void destroy(struct ct__atomic_file *file) {
    remove_temp(file);
    close_fd(&file->folder);
    ct__free(file);
}

// ---- opening; these return 0 or an errno

/// Splits the target at its last slash and opens the folder.
static int open_folder(struct ct__atomic_file *file) {
    char folder[PATH_MAX] = ".";
    const char *slash = strrchr(file->target, '/');
    file->base = slash ? slash + 1 : file->target;
    if (slash) {
        size_t length = (size_t)(slash - file->target);
        memcpy(folder, file->target, length);
        strcpy(folder + length, length ? "" : "/");
    }
    file->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return file->folder < 0 ? errno : 0;
}

/// Its permissions are those of any new file under the process's mask, as mkstemp's are not.
static int create_temp(struct ct__atomic_file *file) {
    static atomic_uint counter;
    for (int i = 0; i < TRIES; i++) {
        unsigned number = atomic_fetch_add(&counter, 1);
        snprintf(file->temp, sizeof file->temp, ".%.200s.%ld-%u.tmp", file->base, (long)getpid(),
                 number);
        file->fd = openat(file->folder, file->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file->fd >= 0)
            return 0;
        if (errno != EEXIST)
            break;
    }
    file->temp[0] = '\0'; // not ours
    return errno;
}

/// Owner first: changing it may clear permission bits.
static int copy_permissions(int fd, const struct stat *from) {
    struct stat now;
    if (fstat(fd, &now) < 0)
        return errno;
    if (now.st_uid != from->st_uid || now.st_gid != from->st_gid) {
        if (fchown(fd, from->st_uid, from->st_gid) < 0 && errno != EPERM)
            return errno;
    }
    return fchmod(fd, from->st_mode & 0777) < 0 && errno != EPERM ? errno : 0;
}

static int open_directly(struct ct__atomic_file *file) {
    file->fd = open(file->target, O_WRONLY | O_CLOEXEC);
    return file->fd < 0 ? errno : 0;
}

static int open_target(struct ct__atomic_file *file) {
    struct stat old;
    bool exists = stat(file->target, &old) == 0;
    if (!exists && errno != ENOENT)
        return errno;
    if (exists && S_ISDIR(old.st_mode))
        return EISDIR;
    if (exists && !S_ISREG(old.st_mode))
        return open_directly(file);
    int error = open_folder(file);
    if (!error && !*file->base)
        error = EISDIR; // the path ends in a slash
    if (!error)
        error = create_temp(file);
    if (!error && exists)
        error = copy_permissions(file->fd, &old);
    return error;
}

/// Keeps both forms of the path. A link that leads nowhere is replaced itself.
static int set_paths(struct ct__atomic_file *file, const char *path) {
    size_t length = strlen(path);
    snprintf(file->given, sizeof file->given, "%s", path);
    if (length >= sizeof file->target)
        return ENAMETOOLONG;
    if (!realpath(path, file->target))
        memcpy(file->target, path, length + 1);
    return 0;
}

struct ct__atomic_file *ct__atomic_begin(const char *path, const char *function) {
    if (!path) {
        ct__fail_null_operand(function);
        return NULL;
    }
    if (!*path)
        return ct__fail_null(CT_EINVAL, function, "the path of the file to write is empty");
    struct ct__atomic_file *file = ct__alloc_zero(sizeof *file);
    if (!file)
        return ct__fail_null(CT_ENOMEM, function, "no memory to write '%.300s'", path);
    file->function = function;
    file->fd = file->folder = -1;
    int error = set_paths(file, path);
    if (!error)
        error = open_target(file);
    if (!error)
        return file;
    destroy(file);
    fail_io(function, path, "write", error);
    return NULL;
}

// ---- writing

ct_status ct__atomic_write(struct ct__atomic_file *file, const void *data, size_t bytes) {
    const unsigned char *from = data;
    if (!file)
        return ct__fail_null_operand(__func__);
    if (file->failed)
        return CT_EIO;
    while (bytes > 0) {
        ssize_t put = write(file->fd, from, bytes < most_at_once ? bytes : most_at_once);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return give_up(file, put < 0 ? errno : EIO);
        from += put;
        bytes -= (size_t)put;
    }
    return CT_OK;
}

/// Waits for the disk; what cannot be synced (a pipe, some file systems' folders) is left alone.
static int sync_fd(int fd) {
    int outcome;
    do
        outcome = fsync(fd);
    while (outcome < 0 && errno == EINTR);
    return outcome < 0 && errno != EINVAL && errno != ENOTSUP ? -1 : 0;
}

/// To the disk, and into its place.
static ct_status settle(struct ct__atomic_file *file) {
    if (sync_fd(file->fd) < 0 || close_fd(&file->fd) < 0)
        return give_up(file, errno);
    if (file->folder < 0)
        return CT_OK;
    if (renameat(file->folder, file->temp, file->folder, file->base) < 0)
        return give_up(file, errno);
    file->temp[0] = '\0';
    if (sync_fd(file->folder) < 0)
        return fail_io(file->function, file->given, "sync the folder of the written file", errno);
    return CT_OK;
}

ct_status ct__atomic_commit(struct ct__atomic_file *file) {
    if (!file)
        return ct__fail_null_operand(__func__);
    ct_status status = file->failed ? CT_EIO : settle(file);
    destroy(file);
    return status;
}

void ct__atomic_abandon(struct ct__atomic_file *file) {
    if (file)
        destroy(file);
}
