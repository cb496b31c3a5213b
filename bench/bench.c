/*
 * Measures the rows of bench/rows_*.c beside their limits and plain loops: sides take turns, a side
 * runs for at least 200 us at a time, medians of 15 to 31 rounds, quartiles of the ratio. Above 1:
 * ours is faster.
 *
 * Usage: ct-bench [--json FILE] [--smoke] [--two] [WORD...]
 *   WORD      only rows whose title holds one of the words
 *   --smoke   opens every row, runs it once and checks its answer; measures nothing
 *   --two     two threads against one, the rows that say so
 */
#include "bench/frame.h"
#include "bench/scaling.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS_MIN = 15, ROUNDS_MAX = 31, SIDES = 3 };

static const double side_seconds = 200e-6, row_seconds = 0.5;

/* --- sides */

enum kind { OURS, LIMIT, PLAIN };

struct side {
    enum kind kind;
    const char *name;
    size_t repeat;
    double times[ROUNDS_MAX];
};

struct table {
    struct bench_case c;
    struct bench_limits limits;
    struct side sides[SIDES];
    int count;
};

static void run_once(struct table *t, enum kind kind) {
    if (kind == OURS)
        t->c.row->run(&t->c);
    else if (kind == LIMIT)
        bench_limits_run(&t->limits);
    else
        t->c.row->plain(&t->c);
}

static double time_of(struct table *t, const struct side *side, size_t repeat) {
    double start = bench_now();
    for (size_t i = 0; i < repeat; i++)
        run_once(t, side->kind);
    return (bench_now() - start) / (double)repeat;
}

static void add_side(struct table *t, enum kind kind, const char *name) {
    struct side *side = &t->sides[t->count++];
    *side = (struct side){.kind = kind, .name = name, .repeat = 1};
    for (;;) {
        double one = time_of(t, side, side->repeat);
        if (one * (double)side->repeat >= side_seconds)
            break;
        double more = one > 0 ? 1.2 * side_seconds / one : 100;
        size_t next = more < 1e7 ? (size_t)more + 1 : 10000000;
        side->repeat = next > 2 * side->repeat ? next : 2 * side->repeat;
    }
}

/* Sides take turns, forwards and backwards in turn; each is warmed by one run before its time is
 * taken, since the side before it emptied the caches. Returns the number of rounds. */
static int take_turns(struct table *t) {
    double start = bench_now();
    int round = 0;
    for (; round < ROUNDS_MAX; round++) {
        if (round >= ROUNDS_MIN && bench_now() - start > row_seconds)
            break;
        for (int i = 0; i < t->count; i++) {
            struct side *side = &t->sides[round % 2 ? t->count - 1 - i : i];
            run_once(t, side->kind);
            side->times[round] = time_of(t, side, side->repeat);
        }
    }
    return round;
}

/* --- results */

static void print_row(const struct bench_case *c, const char *name, const struct bench_ratio *r,
                      FILE *json, int threads) {
    char title[200], gains[40] = "";
    bench_title(c, title, sizeof title);
    const char *key = bench_side_key(name);
    double bar = bench_bar(c->row, key);
    if (c->flops > 0)
        snprintf(gains, sizeof gains, "%.1f GFLOP/s", 1e-9 * c->flops / r->ours);
    else
        snprintf(gains, sizeof gains, "%.1f GB/s", 1e-9 * c->bytes / r->ours);
    printf("%-44s %-20s %12.1f %12.1f %6.2f (%.2f..%.2f) %-14s", title, name, 1e9 * r->ours,
           1e9 * r->other, r->ratio, r->low, r->high, gains);
    if (bar > 0)
        printf(" %.2f %s", bar, r->ratio >= bar ? "holds" : "FAILS");
    puts("");
    fflush(stdout);
    if (json)
        bench_write_json(json, c, threads, name, r);
}

static bool measure(struct bench_case *c, FILE *json) {
    char fault[300], title[200];
    struct table t = {0};
    bench_title(c, title, sizeof title);
    if (!bench_open(c, fault, sizeof fault))
        return printf("%-44s FAULT: %s\n", title, fault), false;
    t.c = *c;
    if (!bench_limits_open(&t.limits, c))
        return bench_close(c), printf("%-44s FAULT: no memory\n", title), false;
    add_side(&t, OURS, "ours");
    if (c->row->limit != BENCH_NO_LIMIT)
        add_side(&t, LIMIT, bench_limits_name(&t.limits));
    if (c->row->plain)
        add_side(&t, PLAIN, "plain loop");
    int rounds = take_turns(&t);
    for (int i = 1; i < t.count || i == 1; i++) {
        bool alone = t.count == 1; /* a row without another side: its time alone */
        struct bench_ratio r =
            bench_ratio_of(rounds, t.sides[0].times, t.sides[alone ? 0 : i].times);
        print_row(&t.c, alone ? "(alone)" : t.sides[i].name, &r, json, ct_num_threads());
    }
    bench_limits_close(&t.limits);
    bench_close(&t.c);
    return true;
}

static bool smoke(struct bench_case *c) {
    char fault[300], title[200];
    bench_title(c, title, sizeof title);
    bool good = bench_open(c, fault, sizeof fault);
    if (good)
        bench_close(c);
    else
        printf("%-44s FAULT: %s\n", title, fault);
    return good;
}

static bool scale(struct bench_case *c, struct bench_twin *twin, size_t at, FILE *json) {
    char fault[300], title[200];
    struct bench_ratio r;
    bench_title(c, title, sizeof title);
    if (!bench_scaling(twin, c, at, &r, fault, sizeof fault))
        return printf("%-44s FAULT: %s\n", title, fault), false;
    print_row(c, "one thread", &r, json, 2);
    return true;
}

int main(int argc, char **argv) {
    const char *file = NULL;
    bool is_smoke = false, is_two = false;
    int words = 1;
    for (; words < argc && strncmp(argv[words], "--", 2) == 0; words++)
        if (strcmp(argv[words], "--json") == 0 && words + 1 < argc)
            file = argv[++words];
        else if (strcmp(argv[words], "--smoke") == 0)
            is_smoke = true;
        else if (strcmp(argv[words], "--two") == 0)
            is_two = true;
        else
            return fprintf(stderr, "usage: ct-bench [--json FILE] [--smoke] [--two] [WORD...]\n"),
                   2;
    struct bench_twin twin = {0};
    if (is_two ? !bench_twin_start(&twin) : setenv("CT_NUM_THREADS", "1", 1) != 0)
        return perror("ct-bench"), 1;
    FILE *json = file ? fopen(file, "w") : NULL;
    if (file && !json)
        return perror(file), 1;
    if (!is_smoke && !is_two)
        bench_machine(json);
    if (!is_smoke)
        printf("%-44s %-20s %12s %12s  ratio (quartiles); %s, %s\n", "row", "against", "ours, ns",
               "other, ns", ct_isa_name(), is_two ? "two threads" : "one thread");
    int rows = 0, faults = 0;
    for (size_t i = 0; i < bench_cases(); i++) {
        struct bench_case c = bench_case_at(i);
        if (!bench_is_wanted(&c, argc - words, argv + words) || (is_two && !c.row->two))
            continue;
        rows++;
        faults += !(is_smoke ? smoke(&c) : is_two ? scale(&c, &twin, i, json) : measure(&c, json));
    }
    bench_twin_stop(&twin);
    if (json && fclose(json) != 0)
        return perror(file), 1;
    printf("%d rows, %d faults\n", rows, faults);
    return faults > 0;
}
