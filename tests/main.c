/* Runs the suites, several at a time, and prints them in layer order. Arguments choose suites by name, or leave out -NAME; Check's variables (CK_FORK, CK_RUN_CASE,
   CK_INCLUDE_TAGS, CK_EXCLUDE_TAGS) work as usual, except that cases tagged "slow" wait until CK_EXCLUDE_TAGS is set
   to something else, such as nothing. CT_TEST_JOBS is how many suites run at a time, all processors at first. The last
   line counts the tests. */
#include "ct_test.h"

#include <limits.h>
#include <sched.h>
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
enum { SUITES = sizeof suites / sizeof *suites };

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

/* A suite in a process of its own: what it leaves in memory would slow every fork of the next ones. */
struct job {
    pid_t child; /* 0: not begun; -1: ended */
    int status;
    FILE *output; /* NULL: standard output */
    struct counts *counts;
    struct skips *skips;
};

static void begin(struct job *job, size_t suite, int apart) {
    job->output = apart ? tmpfile() : NULL;
    fflush(stdout);
    job->child = fork();
    if (job->child == 0) {
        if (job->output)
            dup2(fileno(job->output), STDOUT_FILENO);
        skips = job->skips;
        run_suite(suite, job->counts);
        exit(0);
    }
}

static void show(struct job *job, size_t suite, struct counts *total) {
    char text[4096];
    if (job->output) {
        rewind(job->output);
        for (size_t n; (n = fread(text, 1, sizeof text, job->output)) > 0;)
            fwrite(text, 1, n, stdout);
        fclose(job->output);
    }
    if (job->status != 0) {
        printf("%s: the suite itself broke off, status %d\n", suites[suite].name, job->status);
        job->counts->failed++;
    }
    fflush(stdout);
    total->passed += job->counts->passed;
    total->failed += job->counts->failed;
    total->skipped += job->counts->skipped;
}

static int jobs_at_a_time(void) {
    const char *text = getenv("CT_TEST_JOBS");
    cpu_set_t set;
    int jobs = text ? atoi(text) : sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
    return jobs < 1 ? 1 : jobs;
}

/* Waits for a child and notes how it ended. */
static void reap(struct job *jobs, size_t n) {
    int status;
    pid_t child = wait(&status);
    for (size_t i = 0; i < n; i++)
        if (jobs[i].child == child || child < 0) {
            jobs[i].child = -1;
            jobs[i].status = child < 0 ? -1 : status;
        }
}

/* The chosen suites, in order; what one says is shown when those before it have been. */
static void run_chosen(size_t n, const size_t *chosen, struct job *jobs, struct counts *total) {
    size_t begun = 0, shown = 0;
    int most = jobs_at_a_time(), running_now = 0;
    while (shown < n) {
        while (begun < n && running_now < most) {
            begin(&jobs[begun], chosen[begun], n > 1 && most > 1);
            if (jobs[begun].child < 0)
                jobs[begun].status = -1;
            else
                running_now++;
            begun++;
        }
        if (running_now > 0) {
            reap(jobs, begun);
            running_now--;
        }
        while (shown < begun && jobs[shown].child == -1) {
            show(&jobs[shown], chosen[shown], total);
            shown++;
        }
    }
}

/* Memory that the children share. */
static void *shared(size_t bytes) {
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        perror("ct-tests: setting up");
        exit(2);
    }
    return p;
}

int main(int argc, char **argv) {
    static struct job jobs[SUITES];
    size_t chosen[SUITES], n = 0;
    struct skips *all_skips = shared(SUITES * sizeof *all_skips);
    struct counts *counts = shared(SUITES * sizeof *counts), total = {0};
    if (find_places() != 0) {
        perror("ct-tests: setting up");
        return 2;
    }
    setenv("CK_DEFAULT_TIMEOUT", "60", 0);
    setenv("CK_EXCLUDE_TAGS", "slow", 0);
    int known = 0;
    for (int i = 1; i < argc; i++)
        known += is_suite(argv[i]);
    for (size_t i = 0; suites[i].name; i++)
        if (is_chosen(suites[i].name, argc - 1, argv + 1)) {
            jobs[n].counts = &counts[n];
            jobs[n].skips = &all_skips[n];
            chosen[n++] = i;
        }
    run_chosen(n, chosen, jobs, &total);
    if (known < argc - 1) {
        fprintf(stderr, "ct-tests: an argument names no suite; there are:");
        for (size_t i = 0; suites[i].name; i++)
            fprintf(stderr, " %s", suites[i].name);
        fputc('\n', stderr);
        return 2;
    }
    printf("%d passed, %d failed", total.passed, total.failed);
    if (total.skipped)
        printf(", %d skipped", total.skipped);
    putchar('\n');
    return fflush(stdout) != 0 || total.failed != 0 || total.passed + total.skipped == 0;
}
