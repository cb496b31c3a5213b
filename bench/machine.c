/* The machine: its name, and its limits by footprint. */
#include "bench/frame.h"

#include <stdio.h>
#include <string.h>

/* The value of a line of /proc/cpuinfo, or "". */
static void cpu_info(const char *key, char *text, size_t size) {
    char line[400];
    FILE *file = fopen("/proc/cpuinfo", "r");
    *text = 0;
    while (file && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (!colon || strncmp(line, key, strlen(key)) != 0)
            continue;
        colon[strcspn(colon, "\n\"\\")] = 0;
        snprintf(text, size, "%s", colon + (colon[1] == ' ' ? 2 : 1));
        break;
    }
    if (file)
        fclose(file);
}

/* Work per second: the median of nine tries of about a millisecond. */
static double rate(struct bench_limits *l, double work) {
    double best[9];
    size_t repeat = 1;
    bench_limits_run(l);
    for (double took = 0; took < 1e-3; repeat *= 2) {
        double start = bench_now();
        for (size_t i = 0; i < repeat; i++)
            bench_limits_run(l);
        took = bench_now() - start;
    }
    for (int round = 0; round < 9; round++) {
        double start = bench_now();
        for (size_t i = 0; i < repeat; i++)
            bench_limits_run(l);
        double value = (double)repeat * work / (bench_now() - start);
        int at = round;
        for (; at > 0 && best[at - 1] > value; at--)
            best[at] = best[at - 1];
        best[at] = value;
    }
    return best[4];
}

static double limit_of(enum bench_limit kind, const ct_scalar *scalar, double work) {
    const struct bench_row row = {.limit = kind};
    const struct bench_case c = {.row = &row, .scalar = scalar, .flops = work, .bytes = work};
    struct bench_limits l;
    if (!bench_limits_open(&l, &c))
        return 0;
    double found = rate(&l, work);
    bench_limits_close(&l);
    return found;
}

void bench_machine(FILE *json) {
    static const struct {
        const char *name;
        double bytes;
    } footprints[] = {
        {"32 KiB", 32 << 10}, {"1 MiB", 1 << 20}, {"16 MiB", 16 << 20}, {"256 MiB", 256 << 20}};
    enum { N = sizeof footprints / sizeof *footprints };
    char cpu[200];
    double read[N], copy[N];
    cpu_info("model name", cpu, sizeof cpu);
    double f32 = limit_of(BENCH_FMA, CT_F32, 1e7), f64 = limit_of(BENCH_FMA, CT_F64, 1e7);
    printf("%s, %s, one thread: %.1f GFLOP/s f32, %.1f f64\n", cpu, ct_isa_name(), 1e-9 * f32,
           1e-9 * f64);
    for (size_t i = 0; i < N; i++) {
        read[i] = limit_of(BENCH_READ, CT_F32, footprints[i].bytes);
        copy[i] = limit_of(BENCH_COPY, CT_F32, footprints[i].bytes);
        printf("  %-8s read %6.1f GB/s, copy %6.1f GB/s\n", footprints[i].name, 1e-9 * read[i],
               1e-9 * copy[i]);
    }
    if (!json)
        return;
    fprintf(json,
            "{\"cpu\":\"%s\",\"isa\":\"%s\",\"compiler\":\"%s\",\"fma_f32\":%.2f,\"fma_f64\":%.2f,"
            "\"footprints\":[",
            cpu, ct_isa_name(), __VERSION__, 1e-9 * f32, 1e-9 * f64);
    for (size_t i = 0; i < N; i++)
        fprintf(json, "%s{\"name\":\"%s\",\"read\":%.2f,\"copy\":%.2f}", i ? "," : "",
                footprints[i].name, 1e-9 * read[i], 1e-9 * copy[i]);
    fprintf(json, "]}\n");
}
