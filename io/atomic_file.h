/**
 * @file
 * @brief Writing a file whole or not at all (internal).
 *
 * The bytes go to a temporary file in the target's folder, are synced, and replace the target by a rename; then the folder
 * is synced. Until then the target is as it was, and after a failure no temporary file is left (one named
 * ".<target>.<number>-<number>.tmp" may be, if the process or the machine dies). A target that is a symbolic link stays
 * one: what it points at is replaced. A replaced file's permissions and, where allowed, its owner are kept. A target that
 * is no regular file (a pipe, /dev/stdout) is written directly. A folder is refused, and a NULL file passes on the error
 * of the call that made none.
 *
 * Failures are #CT_EIO with the path and the system's reason, in the name of the public function that is given.
 * SIGPIPE and SIGXFSZ are the program's affair. One thread at a time for one file; O(bytes).
 */
#ifndef CT_ATOMIC_FILE_H
#define CT_ATOMIC_FILE_H

#include <stddef.h>

#include "tensor/ct_error.h"

/** A file being written. */
struct ct__atomic_file;

/**
 * @brief Starts writing.
 *
 * @param path      The target.
 * @param function  Name of the public function, for errors; must outlive the file.
 * @return NULL with #CT_EIO, #CT_ENOMEM, or #CT_EINVAL for a NULL or empty path.
 */
struct ct__atomic_file *ct__atomic_begin(const char *path, const char *function);

/**
 * @brief Appends bytes.
 *
 * The first failure removes the temporary file at once and sticks: later calls return #CT_EIO and do nothing.
 */
ct_status ct__atomic_write(struct ct__atomic_file *file, const void *data, size_t bytes);

/**
 * @brief Puts the file in its place and frees the handle, whatever the outcome.
 *
 * @retval CT_OK   the target holds the new bytes and has reached the disk.
 * @retval CT_EIO  a write had failed, or this did. The target is as it was, save when the message says that it was written
 *                 and its folder could not be synced.
 */
ct_status ct__atomic_commit(struct ct__atomic_file *file);

/** @brief Gives up: removes the temporary file and frees the handle. NULL is fine; the last error is kept. */
void ct__atomic_abandon(struct ct__atomic_file *file);

#endif
