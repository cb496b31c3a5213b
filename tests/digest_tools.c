#include "digest_tools.h"

#include <check.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ct_test.h"
#include "tensor/ct_platform.h"

enum {
    LINE_BYTES = 160,
    MOST_LINES = 8192,
    SKIPPED = 77 /* a child's exit status */
};

struct lines {
    size_t count;
    char text[MOST_LINES][LINE_BYTES];
};

void add_digest(struct lines *lines, const char *digest, const char *key, ...) {
    ck_assert_uint_lt(lines->count, MOST_LINES);
    char *line = lines->text[lines->count++];
    va_list arguments;
    va_start(arguments, key);
    int length = vsnprintf(line, LINE_BYTES, key, arguments);
    va_end(arguments);
    ck_assert(length > 0 && (size_t)length + 1 + strlen(digest) < LINE_BYTES);
    snprintf(line + length, LINE_BYTES - (size_t)length, " %.64s", digest);
}

/* ---- the committed file */

static void write_lines(const char *path, const struct lines *lines) {
    FILE *file = fopen(path, "w");
    ck_assert_msg(file != NULL, "cannot write %s: %s", path, strerror(errno));
    for (size_t i = 0; i < lines->count; i++)
        fprintf(file, "%s\n", lines->text[i]);
    ck_assert_int_eq(fclose(file), 0);
}

/* The line of the same key; `likely` is where it is if nothing was added. */
static const char *find_line(const struct lines *lines, size_t likely, const char *line) {
    size_t key = (size_t)(strrchr(line, ' ') - line) + 1;
    if (likely < lines->count && strncmp(lines->text[likely], line, key) == 0)
        return lines->text[likely];
    for (size_t i = 0; i < lines->count; i++) {
        if (strncmp(lines->text[i], line, key) == 0)
            return lines->text[i];
    }
    return NULL;
}

/* Prints the lines that differ; returns how many. */
static int compare(const char *suite, const char *path, const struct lines *lines) {
    FILE *file = fopen(path, "r");
    if (!file) {
        printf("cannot read %s: %s; CT_GOLDEN_WRITE=1 writes it\n", path, strerror(errno));
        return 1;
    }
    char text[LINE_BYTES];
    int faults = 0;
    size_t seen = 0;
    while (fgets(text, sizeof text, file)) {
        text[strcspn(text, "\n")] = '\0';
        const char *line = strchr(text, ' ') ? find_line(lines, seen, text) : NULL;
        seen++;
        if (line && strcmp(line, text) == 0)
            continue;
        if (faults++ < 3)
            printf("  committed: %s\n  computed:  %s\n", text, line ? line : "nothing");
    }
    fclose(file);
    if (seen != lines->count) {
        printf(
            "  %zu digests are committed and %zu were computed; after adding an op or a function, "
            "CT_GOLDEN_WRITE=1 build/bin/ct-tests %s adds its lines\n",
            seen, lines->count, suite);
        faults++;
    }
    return faults;
}

/* ---- children: the settings are frozen at first use, so each has its own process */

const char *const digest_isas[DIGEST_ISAS] = {"scalar", "avx2", "avx512"};

static bool must_write(const char *isa, const char *threads) {
    const char *write = getenv("CT_GOLDEN_WRITE");
    return write && *write == '1' && strcmp(isa, "scalar") == 0 && strcmp(threads, "1") == 0;
}

static int child(const char *suite, const char *path, void (*compute)(struct lines *lines),
                 const char *isa, const char *threads) {
    setenv("CT_ISA", isa, 1);
    setenv("CT_NUM_THREADS", threads, 1);
    if (ct_isa_check() != CT_OK)
        return SKIPPED;
    if (strcmp(ct_isa_name(), isa) != 0 || ct_num_threads() != atoi(threads)) {
        printf("  this process had chosen %s and %d threads before\n", ct_isa_name(),
               ct_num_threads());
        return SKIPPED;
    }
    struct lines *lines = calloc(1, sizeof *lines);
    ck_assert_ptr_nonnull(lines);
    compute(lines);
    if (must_write(isa, threads))
        write_lines(path, lines);
    int faults = compare(suite, path, lines);
    free(lines);
    if (faults)
        printf("%d digests differ for CT_ISA=%s CT_NUM_THREADS=%s\n", faults, isa, threads);
    return faults ? 1 : 0;
}

void check_digests(const char *suite, const char *path, void (*compute)(struct lines *lines),
                   const char *isa, const char *threads) {
    fflush(NULL);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        int code = child(suite, path, compute, isa, threads);
        fflush(NULL);
        _exit(code);
    }
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(WIFEXITED(status), "CT_ISA=%s CT_NUM_THREADS=%s died of signal %d", isa, threads,
                  WTERMSIG(status));
    if (WEXITSTATUS(status) == SKIPPED)
        ct_test_skip(isa);
    else
        ck_assert_msg(WEXITSTATUS(status) == 0, "other bits for CT_ISA=%s CT_NUM_THREADS=%s", isa,
                      threads);
}
