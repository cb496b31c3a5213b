/* Running a program and looking at what it printed. */
#ifndef CT_RUN_PROGRAM_H
#define CT_RUN_PROGRAM_H

/* Where the standard output of a program goes. */
enum run_output { RUN_READ, RUN_FULL_DISK, RUN_CLOSED, RUN_BROKEN_PIPE };

struct run_result {
    int status;                 /* exit status, or 1000 + the signal that ended it */
    char out[1 << 18], err[8192]; /* what it printed, cut where it does not fit */
};

/* Runs a program (found by PATH when its name has no slash) with arguments and variables ("NAME=value" added to the
   environment), both ended by NULL; variables may be NULL. Fails the test when it cannot be run. */
void run_program(struct run_result *result, enum run_output output, const char *const *variables,
                 const char *const *arguments);

/* A fresh folder; a path in it, in a static buffer that the next eighth call reuses; removing all of it. */
void scratch_make(void);
void scratch_remove(void);
const char *scratch_path(const char *name);

/* The whole of a file with a NUL after it; fails the test when it cannot be read. The caller frees it. */
char *file_text(const char *path);

#endif
