/* Two threads against one, in two processes that take turns; medians; lines of JSON. */
#include "bench/scaling.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 21 };

/* --- ratios */

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(int n, double *sorted, int part) {
    return sorted[(n - 1) * part / 4];
}

struct bench_ratio bench_ratio_of(int rounds, const double *ours, const double *other) {
    struct bench_ratio r = {0};
    size_t bytes = (size_t)rounds * sizeof(double);
    double *a = malloc(3 * bytes + sizeof *a);
    if (!a)
        return r;
    double *b = a + rounds, *ratio = b + rounds;
    memcpy(a, ours, bytes), memcpy(b, other, bytes);
    for (int i = 0; i < rounds; i++)
        ratio[i] = other[i] / ours[i];
    qsort(a, (size_t)rounds, sizeof *a, by_value);
    qsort(b, (size_t)rounds, sizeof *b, by_value);
    qsort(ratio, (size_t)rounds, sizeof *ratio, by_value);
    r = (struct bench_ratio){quantile(rounds, a, 2), quantile(rounds, b, 2),
                             quantile(rounds, ratio, 2), quantile(rounds, ratio, 1),
                             quantile(rounds, ratio, 3)};
    free(a);
    return r;
}

const char *bench_side_key(const char *name) {
    bool limit =
        strcmp(name, "FMA peak") == 0 || strcmp(name, "read") == 0 || strncmp(name, "copy", 4) == 0;
    return limit ? "limit" : strcmp(name, "plain loop") == 0 ? "plain" : name;
}

/* Names and forms hold nothing that JSON would have to escape. */
void bench_write_json(FILE *file, const struct bench_case *c, int threads, const char *name,
                      const struct bench_ratio *r) {
    char title[200];
    bench_title(c, title, sizeof title);
    fprintf(file,
            "{\"row\":\"%s\",\"family\":\"%s\",\"op\":\"%s\",\"form\":\"%s\",\"dtype\":\"%s\","
            "\"size\":[%lld,%lld,%lld,%lld],\"threads\":%d,\"isa\":\"%s\",\"against\":\"%s\","
            "\"ours_ns\":%.2f,\"against_ns\":%.2f,\"ratio\":%.4f,\"low\":%.4f,\"high\":%.4f,"
            "\"bar\":%.3f,\"bytes\":%.0f,\"flops\":%.0f,\"gb_s\":%.3f,\"gflop_s\":%.3f}\n",
            title, c->family, c->row->op, c->row->form ? c->row->form : "", c->scalar->name,
            (long long)c->row->size[0], (long long)c->row->size[1], (long long)c->row->size[2],
            (long long)c->row->size[3], threads, ct_isa_name(), name, 1e9 * r->ours, 1e9 * r->other,
            r->ratio, r->low, r->high, bench_bar(c->row, bench_side_key(name)), c->bytes, c->flops,
            1e-9 * c->bytes / r->ours, 1e-9 * c->flops / r->ours);
}

/* --- the twin: told an index it opens that case; told a repeat it runs that often and answers the
 *     seconds of one run; told 0 it closes the case */

struct order {
    long long index, repeat;
};

static bool put(int fd, const void *p, size_t n) {
    return write(fd, p, n) == (ssize_t)n;
}

static bool take(int fd, void *p, size_t n) {
    return read(fd, p, n) == (ssize_t)n;
}

static double time_of(struct bench_case *c, long long repeat) {
    c->row->run(c);
    double start = bench_now();
    for (long long i = 0; i < repeat; i++)
        c->row->run(c);
    return (bench_now() - start) / (double)repeat;
}

static void serve(int in, int out) {
    struct order order;
    struct bench_case c = {0};
    bool is_open = false;
    char fault[300];
    while (take(in, &order, sizeof order)) {
        double seconds = -1;
        if (!is_open) {
            c = bench_case_at((size_t)order.index);
            is_open = bench_open(&c, fault, sizeof fault);
        }
        if (is_open && order.repeat > 0)
            seconds = time_of(&c, order.repeat);
        if (is_open && order.repeat == 0)
            bench_close(&c), is_open = false, seconds = 0;
        if (!put(out, &seconds, sizeof seconds))
            break;
    }
    _exit(0);
}

bool bench_twin_start(struct bench_twin *twin) {
    int there[2], back[2];
    if (pipe(there) != 0 || pipe(back) != 0)
        return false;
    twin->pid = fork();
    if (twin->pid < 0)
        return false;
    setenv("CT_NUM_THREADS", twin->pid ? "2" : "1", 1);
    if (twin->pid == 0) {
        close(there[1]), close(back[0]);
        serve(there[0], back[1]);
    }
    close(there[0]), close(back[1]);
    twin->to = there[1], twin->from = back[0];
    return true;
}

void bench_twin_stop(struct bench_twin *twin) {
    if (twin->pid <= 0)
        return;
    close(twin->to), close(twin->from);
    waitpid(twin->pid, NULL, 0);
    twin->pid = 0;
}

static double ask(struct bench_twin *twin, size_t at, long long repeat) {
    struct order order = {(long long)at, repeat};
    double seconds = -1;
    if (!put(twin->to, &order, sizeof order) || !take(twin->from, &seconds, sizeof seconds))
        return -1;
    return seconds;
}

bool bench_scaling(struct bench_twin *twin, struct bench_case *c, size_t at, struct bench_ratio *r,
                   char *fault, size_t size) {
    double two[ROUNDS], one[ROUNDS];
    if (!bench_open(c, fault, size))
        return false;
    double once = time_of(c, 1);
    long long repeat = once < 500e-6 ? (long long)(500e-6 / fmax(once, 1e-8)) + 1 : 1;
    bool good = true;
    for (int i = 0; i < ROUNDS && good; i++) {
        two[i] = time_of(c, repeat);
        one[i] = ask(twin, at, repeat);
        good = one[i] > 0;
    }
    ask(twin, at, 0);
    *r = good ? bench_ratio_of(ROUNDS, two, one) : (struct bench_ratio){0};
    double bytes = c->bytes, flops = c->flops;
    bench_close(c);
    c->bytes = bytes, c->flops = flops;
    if (!good)
        snprintf(fault, size, "the process with one thread failed");
    return good;
}
