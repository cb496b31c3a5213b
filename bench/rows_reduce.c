/* Reductions over all items and along each axis, short rows, running sums, sorting, gathering rows. Results are new:
 * they are small, or as large as the peers' new ones. */
#include "bench/bench.h"

#include <string.h>

static int axis_of(const struct bench_case *c) {
    const char *at = strstr(c->row->form, "axis ");
    return at ? at[5] - '0' : CT_ALL;
}

static bool open_table(struct bench_case *c) {
    int rank = 0;
    while (rank < BENCH_SIZES && c->row->size[rank])
        rank++;
    return bench_operand(c, rank, c->row->size, 0, 1);
}

#define REDUCED(name, ...)                                                                         \
    static bool run_##name(struct bench_case *c) {                                                 \
        return bench_take(c, ct_##name(c->in[0], axis_of(c), __VA_ARGS__));                        \
    }
REDUCED(sum, false)
REDUCED(mean, false)
REDUCED(max, false)
REDUCED(argmax, false)
REDUCED(variance, 0, false)
REDUCED(norm, 2, false)

static bool run_cumsum(struct bench_case *c) {
    return bench_take(c, ct_cumsum(c->in[0], axis_of(c)));
}

static bool run_sort(struct bench_case *c) {
    return bench_take(c, ct_sort(c->in[0], 0, false));
}

static bool run_argsort(struct bench_case *c) {
    return bench_take(c, ct_argsort(c->in[0], 0, false));
}

static bool open_take(struct bench_case *c) {
    const int64_t *n = c->row->size;
    c->bytes = 2.0 * (double)(n[1] * n[2]) * (double)c->scalar->size;
    return bench_operand(c, 2, n, -1, 1) && bench_operand_of(c, CT_I64, 1, &n[2], 0, (double)n[0]);
}

static bool run_take(struct bench_case *c) {
    return bench_take(c, ct_take(c->in[0], 0, c->in[1]));
}

#define AT_READ "limit:0.9 torch:1 numpy:1"
/* Within 1.3 of a sum that is at 0.9. */
#define VARIANCE "limit:0.69 torch:1 numpy:1"
#define AHEAD    "torch:1 numpy:1"

#define ONE(key, what, runner, m, n, bar, lim, with_two, off)                                      \
    {                                                                                              \
        key, what, BENCH_REALS, {m, n}, .open = open_table, .run = runner, .limit = lim,           \
                                        .bars = bar, .two = with_two, .tolerance = off             \
    }
#define THREE(key, runner, m, n, bar, with_two, off)                                               \
    ONE(key, "all", runner, m, n, bar, BENCH_READ, with_two, off),                                 \
        ONE(key, "axis 0", runner, m, n, bar, BENCH_READ, with_two, off),                          \
        ONE(key, "axis 1", runner, m, n, bar, BENCH_READ, with_two, off)
#define BOTH(key, runner, bar, off)                                                                \
    THREE(key, runner, 784, 256, bar, false, off), THREE(key, runner, 4096, 4096, bar, true, off)

/* Which of several equal maxima is shown differs between libraries: places are not compared. */
#define PLACES 2

static const struct bench_row rows[] = {
    BOTH("sum", run_sum, AT_READ, 0),
    BOTH("max", run_max, AT_READ, 0),
    BOTH("argmax", run_argmax, AT_READ, PLACES),
    BOTH("mean", run_mean, AT_READ, 0),
    BOTH("norm", run_norm, AT_READ, 0),
    BOTH("var", run_variance, VARIANCE, 0),
    ONE("sum", "axis 1", run_sum, 100000, 10, AHEAD, BENCH_READ, false, 0),
    ONE("sum", "axis 1", run_sum, 100000, 3, AHEAD, BENCH_READ, false, 0),
    ONE("sum", "axis 0", run_sum, 100000, 10, AHEAD, BENCH_READ, false, 0),
    ONE("max", "axis 1", run_max, 100000, 10, AHEAD, BENCH_READ, false, 0),
    ONE("argmax", "axis 1", run_argmax, 100000, 10, AHEAD, BENCH_READ, false, PLACES),
    ONE("cumsum", "axis 1, new result", run_cumsum, 784, 256, AHEAD, BENCH_NO_LIMIT, false, 0),
    ONE("sort", "new result", run_sort, 100000, 0, AHEAD, BENCH_NO_LIMIT, false, 0),
    ONE("argsort", "new result", run_argsort, 100000, 0, AHEAD, BENCH_NO_LIMIT, false, PLACES),
    {"take",
     "axis 0, new result",
     BENCH_REALS,
     {10000, 64, 4096},
     .open = open_take,
     .run = run_take,
     .limit = BENCH_COPY,
     .bars = AHEAD},
};
BENCH_FAMILY("reduce", rows)
