/* Ratios and how they are written; two threads against one. */
#ifndef BENCH_SCALING_H
#define BENCH_SCALING_H

#include "bench/frame.h"

#include <stdio.h>

/** Seconds of a run, medians; other / ours, its median and quartiles. */
struct bench_ratio {
    double ours, other, ratio, low, high;
};

/** From the times of a number of rounds. */
struct bench_ratio bench_ratio_of(int rounds, const double *ours, const double *other);
/** The word by which bars name a side: "limit", "plain" or the name itself. */
const char *bench_side_key(const char *name);
/** One line. */
void bench_write_json(FILE *file, const struct bench_case *c, int threads, const char *name,
                      const struct bench_ratio *r);

/** A process with one thread beside this one with two: the number of threads is fixed at first
 *  use, so that one process cannot have both. */
struct bench_twin {
    int to, from; /* pipes */
    int pid;
};
/** Forks, before the library is used. False with errno. */
bool bench_twin_start(struct bench_twin *twin);
void bench_twin_stop(struct bench_twin *twin);
/** The case in both processes, taking turns. Leaves it closed, with its bytes and flops. */
bool bench_scaling(struct bench_twin *twin, struct bench_case *c, size_t at, struct bench_ratio *r,
                   char *fault, size_t size);

#endif
