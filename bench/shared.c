/*
 * The rows as a shared library, libct-rows.so, for bench/peers: other languages count, describe, open
 * and time them and reach their operands without copying. One thread at a time.
 */
#include "bench/frame.h"

#include <stdio.h>
#include <stdlib.h>

#define SHARED __attribute__((visibility("default")))

SHARED int ct_rows_count(void);
SHARED const char *ct_rows_describe(int i);
SHARED struct bench_case *ct_rows_open(int i);
SHARED const char *ct_rows_fault(void);
SHARED double ct_rows_time(struct bench_case *c, long repeat);
SHARED int ct_rows_tensor(struct bench_case *c, int which, const void **data, char *type,
                          int64_t *shape, int64_t *strides);
SHARED void ct_rows_work(const struct bench_case *c, double *bytes, double *flops);
SHARED void ct_rows_close(struct bench_case *c);
SHARED const char *ct_rows_isa(void);
SHARED int ct_rows_threads(void);

static char text[1000];

int ct_rows_count(void) {
    return (int)bench_cases();
}

/* A line of JSON, valid until the next call. */
const char *ct_rows_describe(int i) {
    struct bench_case c = bench_case_at((size_t)i);
    char title[200];
    bench_title(&c, title, sizeof title);
    const int64_t *n = c.row->size;
    snprintf(text, sizeof text,
             "{\"row\":\"%s\",\"family\":\"%s\",\"op\":\"%s\",\"form\":\"%s\",\"dtype\":\"%s\","
             "\"size\":[%lld,%lld,%lld,%lld],\"bars\":\"%s\",\"tolerance\":%g,\"two\":%s}",
             title, c.family, c.row->op, c.row->form ? c.row->form : "", c.scalar->name,
             (long long)n[0], (long long)n[1], (long long)n[2], (long long)n[3],
             c.row->bars ? c.row->bars : "",
             c.row->tolerance > 0 ? c.row->tolerance
             : c.scalar == CT_F32 ? 1e-5
                                  : 1e-12,
             c.row->two ? "true" : "false");
    return text;
}

/* NULL on failure; ct_rows_fault() then tells why. */
struct bench_case *ct_rows_open(int i) {
    struct bench_case *c = malloc(sizeof *c);
    snprintf(text, sizeof text, "no memory");
    if (!c)
        return NULL;
    *c = bench_case_at((size_t)i);
    if (bench_open(c, text, sizeof text))
        return c;
    free(c);
    return NULL;
}

const char *ct_rows_fault(void) {
    return text;
}

/* Seconds of one run; -1 where a run fails. */
double ct_rows_time(struct bench_case *c, long repeat) {
    bool good = true;
    double start = bench_now();
    for (long i = 0; i < repeat; i++)
        good = c->row->run(c) && good;
    double took = (bench_now() - start) / (double)repeat;
    return good ? took : -1;
}

/* Operand `which`, or the output for -1: its rank, or -1 where there is none. type (16 chars), shape
 * and strides (8, in items) are filled; the memory is the row's. */
int ct_rows_tensor(struct bench_case *c, int which, const void **data, char *type, int64_t *shape,
                   int64_t *strides) {
    const ct_tensor *t = which < 0 ? c->out : which < c->operands ? c->in[which] : NULL;
    if (!t)
        return -1;
    *data = ct_data(t);
    snprintf(type, 16, "%s", ct_dtype(t)->name);
    for (int i = 0; i < ct_rank(t); i++)
        shape[i] = ct_shape(t)[i], strides[i] = ct_strides(t)[i];
    return ct_rank(t);
}

void ct_rows_work(const struct bench_case *c, double *bytes, double *flops) {
    *bytes = c->bytes, *flops = c->flops;
}

void ct_rows_close(struct bench_case *c) {
    bench_close(c);
    free(c);
}

const char *ct_rows_isa(void) {
    return ct_isa_name();
}

int ct_rows_threads(void) {
    return ct_num_threads();
}
