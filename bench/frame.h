/* What the programs of the benchmark share and rows do not see. */
#ifndef BENCH_FRAME_H
#define BENCH_FRAME_H

#include "bench/bench.h"

#include <stdio.h>

/** How many cases (rows times dtypes) there are. */
size_t bench_cases(void);
/** Which is the i-th: family, row, scalar are set, nothing is opened. */
struct bench_case bench_case_at(size_t i);
/** "matmul/gemm NT 32x784x512 f32", cut to the size. */
void bench_title(const struct bench_case *c, char *text, size_t size);
/** Whether a case is wanted: any of the words is part of its title (no words: all). */
bool bench_is_wanted(const struct bench_case *c, int n, char *const words[]);

/** Opens, runs once, and compares with plain or reference where the row has one. On failure false,
 *  with a sentence; closed again. */
bool bench_open(struct bench_case *c, char *fault, size_t size);
void bench_close(struct bench_case *c);
/** Where bars name the side, its number, else 0. */
double bench_bar(const struct bench_row *row, const char *side);

double bench_now(void);

/** Prints the machine and its limits, one thread, and a line of JSON where there is a file. */
void bench_machine(FILE *json);

/* --- limits (limits.c) */

struct bench_limits {
    enum bench_limit kind;
    double flops, bytes;
    bool is_double;
    char *from, *to; /* memory of the row's footprint */
    size_t length;
    int way; /* which copy is the fastest at this footprint */
};

/** Prepares the limit of an opened case; false where memory is gone. */
bool bench_limits_open(struct bench_limits *l, const struct bench_case *c);
/** As much work as one run of the row has. */
void bench_limits_run(struct bench_limits *l);
void bench_limits_close(struct bench_limits *l);
/** "FMA peak", "read", "copy". */
const char *bench_limits_name(const struct bench_limits *l);

#endif
