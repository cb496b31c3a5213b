/* Runs the suites in layer order. Arguments choose suites by name, or leave out -NAME; Check's variables (CK_FORK, CK_RUN_CASE,
   CK_INCLUDE_TAGS, CK_EXCLUDE_TAGS) work as usual, except that cases tagged "slow" wait until CK_EXCLUDE_TAGS is set
   to something else, such as nothing. The last line counts the tests. */
#include "ct_test.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SUITE(name) Suite *suite_##name(void);
#include "suite_list.inc"
#undef SUITE

static const struct {
    const char *name;
    Suite *(*make)(void);
} suites[] = {
#define SUITE(name) {#name, suite_##name},
#include "suite_list.inc"
#undef SUITE
    {NULL, NULL},
};

/* Shared with the processes in which the tests run. */
struct skips {
    int count;
    pid_t last;
};
static struct skips *skips;

static SRunner *running;
static char bin_dir[PATH_MAX];

void ct_test_skip(const char *reason) {
    if (getpid() == skips->last)
        return; /* a second call from the same test */
    if (srunner_fork_status(running) == CK_FORK)
        skips->last = getpid();
    skips->count++;
    printf("    skipped in %s: %s\n", tcase_name(), reason);
    fflush(stdout);
}

const char *ct_test_bin_dir(void) {
    return bin_dir;
}

/* Finds the programs beside this one, and goes to the project's root. */
static int find_places(void) {
    ssize_t length = readlink("/proc/self/exe", bin_dir, sizeof bin_dir - 1);
    if (length < 0)
        return -1;
    bin_dir[length] = '\0';
    *strrchr(bin_dir, '/') = '\0';
    char root[PATH_MAX];
    strcpy(root, bin_dir);
    while (access("tensor/ops.def", R_OK) != 0) {
        char *slash = strrchr(root, '/');
        if (!slash)
            return -1;
        *slash = '\0';
        if (chdir(*root ? root : "/") != 0)
            return -1;
    }
    return 0;
}

/* NAME chooses a suite and -NAME leaves one out. */
static int is_chosen(const char *name, int count, char **names) {
    int chosen = count == 0 || names[0][0] == '-';
    for (int i = 0; i < count; i++)
        if (strcmp(name, names[i] + (names[i][0] == '-')) == 0)
            chosen = names[i][0] != '-';
    return chosen;
}

static int is_suite(const char *argument) {
    for (size_t i = 0; suites[i].name; i++)
        if (strcmp(suites[i].name, argument + (argument[0] == '-')) == 0)
            return 1;
    return 0;
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

struct counts {
    int passed, failed, skipped;
};

static void run_suite(size_t i, struct counts *total) {
    SRunner *runner = running = srunner_create(suites[i].make());
    double start = seconds();
    skips->count = 0;
    srunner_run_all(runner, CK_SILENT);
    int failed = srunner_ntests_failed(runner), run = srunner_ntests_run(runner);
    if (failed)
        srunner_print(runner, CK_NORMAL);
    if (run)
        printf("%-12s %5d of %5d passed, %6.2f s\n", suites[i].name, run - failed - skips->count,
               run, seconds() - start);
    fflush(stdout);
    total->passed += run - failed - skips->count;
    total->failed += failed;
    total->skipped += skips->count;
    srunner_free(runner);
}

/* In a process of its own: what one suite leaves in memory would slow every fork of the next ones. */
static void run_apart(size_t i, struct counts *total) {
    pid_t child = fork();
    if (child == 0) {
        run_suite(i, total);
        exit(0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
        printf("%s: the suite itself broke off, status %d\n", suites[i].name, status);
        total->failed++;
    }
}

int main(int argc, char **argv) {
    skips = mmap(NULL, sizeof *skips, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (skips == MAP_FAILED || find_places() != 0) {
        perror("ct-tests: setting up");
        return 2;
    }
    setenv("CK_DEFAULT_TIMEOUT", "60", 0);
    setenv("CK_EXCLUDE_TAGS", "slow", 0);
    struct counts *total =
        mmap(NULL, sizeof *total, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (total == MAP_FAILED) {
        perror("ct-tests: setting up");
        return 2;
    }
    int known = 0;
    for (int i = 1; i < argc; i++)
        known += is_suite(argv[i]);
    for (size_t i = 0; suites[i].name; i++)
        if (is_chosen(suites[i].name, argc - 1, argv + 1))
            run_apart(i, total);
    if (known < argc - 1) {
        fprintf(stderr, "ct-tests: an argument names no suite; there are:");
        for (size_t i = 0; suites[i].name; i++)
            fprintf(stderr, " %s", suites[i].name);
        fputc('\n', stderr);
        return 2;
    }
    printf("%d passed, %d failed", total->passed, total->failed);
    if (total->skipped)
        printf(", %d skipped", total->skipped);
    putchar('\n');
    return fflush(stdout) != 0 || total->failed != 0 || total->passed + total->skipped == 0;
}
