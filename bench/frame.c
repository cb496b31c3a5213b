/* Cases: their list, operands, opening, the check of an answer. */
#include "bench/frame.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

double bench_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* --- the list */

static struct bench_family *families;

/* By name: constructors run in an order of the linker's. */
void bench_register(struct bench_family *family) {
    struct bench_family **at = &families;
    while (*at && strcmp((*at)->name, family->name) < 0)
        at = &(*at)->next;
    family->next = *at;
    *at = family;
}

static size_t dtypes_of(const struct bench_row *row) {
    return (size_t) !!(row->dtypes & BENCH_F32) + !!(row->dtypes & BENCH_F64);
}

size_t bench_cases(void) {
    size_t n = 0;
    for (const struct bench_family *f = families; f; f = f->next)
        for (size_t i = 0; i < f->count; i++)
            n += dtypes_of(&f->rows[i]);
    return n;
}

struct bench_case bench_case_at(size_t at) {
    for (const struct bench_family *f = families; f; f = f->next)
        for (size_t i = 0; i < f->count; i++) {
            const struct bench_row *row = &f->rows[i];
            if (at < dtypes_of(row))
                return (struct bench_case){.family = f->name,
                                           .row = row,
                                           .scalar =
                                               at || !(row->dtypes & BENCH_F32) ? CT_F64 : CT_F32};
            at -= dtypes_of(row);
        }
    return (struct bench_case){0};
}

void bench_title(const struct bench_case *c, char *text, size_t size) {
    char sizes[100] = "";
    size_t used = 0;
    for (int i = 0; i < BENCH_SIZES && c->row->size[i] && used < sizeof sizes; i++)
        used += (size_t)snprintf(sizes + used, sizeof sizes - used, "%s%lld", i ? "x" : " ",
                                 (long long)c->row->size[i]);
    snprintf(text, size, "%s/%s%s%s%s %s", c->family, c->row->op, c->row->form ? " " : "",
             c->row->form ? c->row->form : "", sizes, c->scalar->name);
}

bool bench_is_wanted(const struct bench_case *c, int n, char *const words[]) {
    char title[200];
    bench_title(c, title, sizeof title);
    for (int i = 0; i < n; i++)
        if (strstr(title, words[i]))
            return true;
    return n == 0;
}

double bench_bar(const struct bench_row *row, const char *side) {
    size_t length = strlen(side);
    for (const char *at = row->bars; at && (at = strstr(at, side)); at += length)
        if ((at == row->bars || at[-1] == ' ') && at[length] == ':')
            return strtod(at + length + 1, NULL);
    return 0;
}

/* --- operands */

static uint64_t next_random(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 11;
}

/* Dense, alone, just made: every item is written. */
static void fill(ct_tensor *t, double lo, double hi, uint64_t seed) {
    const ct_scalar *s = ct_dtype(t);
    size_t n = ct_count(t);
    void *items = ct_data_for_write(t);
    for (size_t i = 0; i < n; i++) {
        double u = (double)next_random(&seed) * 0x1p-53, value = lo + (hi - lo) * u;
        if (s == CT_F32)
            ((float *)items)[i] = (float)value;
        else if (s == CT_F64)
            ((double *)items)[i] = value;
        else if (s == CT_I64)
            ((int64_t *)items)[i] = (int64_t)floor(value);
        else if (s == CT_I32)
            ((int32_t *)items)[i] = (int32_t)floor(value);
        else
            ((bool *)items)[i] = value >= 1;
    }
}

bool bench_add_operand(struct bench_case *c, ct_tensor *t) {
    if (!t || c->operands == BENCH_OPERANDS)
        return ct_free(t), false;
    c->in[c->operands++] = t;
    return true;
}

bool bench_operand_of(struct bench_case *c, const ct_scalar *scalar, int rank, const int64_t *shape,
                      double lo, double hi) {
    ct_tensor *t = ct_zeros(scalar, rank, shape);
    if (t)
        fill(t, lo, hi, (uint64_t)c->operands + 1);
    return bench_add_operand(c, t);
}

bool bench_operand(struct bench_case *c, int rank, const int64_t *shape, double lo, double hi) {
    return bench_operand_of(c, c->scalar, rank, shape, lo, hi);
}

bool bench_output_of(struct bench_case *c, const ct_scalar *scalar, int rank,
                     const int64_t *shape) {
    return bench_take(c, ct_zeros(scalar, rank, shape));
}

bool bench_output(struct bench_case *c, int rank, const int64_t *shape) {
    return bench_output_of(c, c->scalar, rank, shape);
}

bool bench_take(struct bench_case *c, ct_tensor *result) {
    if (!result)
        return false;
    ct_free(c->out);
    c->out = result;
    return true;
}

float *bench_f32(ct_tensor *t) {
    return ct_data_for_write(t);
}

double *bench_f64(ct_tensor *t) {
    return ct_data_for_write(t);
}

const float *bench_read_f32(const ct_tensor *t) {
    return ct_data(t);
}

const double *bench_read_f64(const ct_tensor *t) {
    return ct_data(t);
}

/* --- opening and checking */

static double bytes_of(const ct_tensor *t) {
    return t ? (double)ct_count(t) * (double)ct_dtype(t)->size : 0;
}

static void count_bytes(struct bench_case *c) {
    if (c->bytes > 0)
        return;
    c->bytes = bytes_of(c->out);
    for (int i = 0; i < c->operands; i++)
        c->bytes += bytes_of(c->in[i]);
}

static double largest(const double *values, size_t n) {
    double most = 0;
    for (size_t i = 0; i < n; i++)
        if (isfinite(values[i]) && fabs(values[i]) > most)
            most = fabs(values[i]);
    return most;
}

/* The largest difference, relative to the largest item; infinite where one alone is NaN. */
static double distance(const ct_tensor *a, const ct_tensor *b) {
    size_t n = ct_count(a);
    double worst = HUGE_VAL, *x = malloc((n + 1) * sizeof *x), *y = malloc((n + 1) * sizeof *y);
    if (x && y && ct_count(b) == n && ct_to_doubles(a, n, x) == CT_OK &&
        ct_to_doubles(b, n, y) == CT_OK) {
        double scale = fmax(largest(y, n), DBL_TRUE_MIN);
        worst = 0;
        for (size_t i = 0; i < n; i++) {
            bool same = x[i] == y[i] || (isnan(x[i]) && isnan(y[i]));
            double d = same ? 0 : fabs(x[i] - y[i]) / scale;
            if (!(d <= worst)) /* NaN too */
                worst = d >= 0 ? d : HUGE_VAL;
        }
    }
    free(x), free(y);
    return worst;
}

static bool check(struct bench_case *c, char *fault, size_t size) {
    bool (*other)(struct bench_case *) = c->row->plain ? c->row->plain : c->row->reference;
    if (!other)
        return true;
    if (!c->out)
        return snprintf(fault, size, "no output to compare"), false;
    c->other = ct_zeros(ct_dtype(c->out), ct_rank(c->out), ct_shape(c->out));
    if (!c->other || !other(c))
        return snprintf(fault, size, "%s", ct_error()->message), false;
    double allowed = c->row->tolerance > 0 ? c->row->tolerance : c->scalar == CT_F32 ? 1e-5 : 1e-12;
    double off = distance(c->out, c->other);
    if (off > allowed)
        return snprintf(fault, size, "the answers differ by %.3g of the largest item", off), false;
    return true;
}

bool bench_open(struct bench_case *c, char *fault, size_t size) {
    ct_error_clear();
    if (c->row->open(c) && c->row->run(c)) {
        count_bytes(c);
        if (check(c, fault, size))
            return true;
    } else {
        snprintf(fault, size, "%s", ct_error()->message);
    }
    bench_close(c);
    return false;
}

void bench_close(struct bench_case *c) {
    if (c->row->close)
        c->row->close(c);
    for (int i = 0; i < c->operands; i++)
        ct_free(c->in[i]);
    ct_free(c->out), ct_free(c->other);
    *c = (struct bench_case){.family = c->family, .row = c->row, .scalar = c->scalar};
}
