/*
 * The benchmark's frame. A family of rows is one file, rows_<family>.c: a table and BENCH_FAMILY(). A
 * row is opened (operands and a reused output are made), run many times beside other sides that take
 * turns with it, checked, and closed. Ratios are "times the other side's speed": above 1, ours is
 * faster.
 *
 *     static bool open_add(struct bench_case *c) {
 *         int64_t n = c->row->size[0];
 *         return bench_operand(c, 1, &n, -1, 1) && bench_operand(c, 1, &n, -1, 1) &&
 *                bench_output(c, 1, &n);
 *     }
 *     static bool run_add(struct bench_case *c) {
 *         return ct_apply_into(c->out, CT_OP_add, 2, (const ct_tensor *const *)c->in) == CT_OK;
 *     }
 *     static const struct bench_row rows[] = {
 *         {"add", .dtypes = BENCH_REALS, .size = {10000000}, .open = open_add, .run = run_add,
 *          .limit = BENCH_COPY, .bars = "limit:0.95 torch:1"},
 *     };
 *     BENCH_FAMILY("stream", rows)
 *
 * The sides of a row: its limit, its plain loop, and in bench/peers the functions of other libraries,
 * found there by the row's op (bench/peers/of_*.py: "add", "relu", "less", "where", "gemm", "sum",
 * "softmax", "adam", ...) and told more by its form: "axis 1" (no axis: all items), "new result" (no
 * reused output), "sample" (var with n - 1), two numbers (clamp's bounds, axpby's factors). Operands
 * reach them as they are: views keep their strides.
 */
#ifndef BENCH_H
#define BENCH_H

#include "cotangent.h"

enum { BENCH_F32 = 1, BENCH_F64 = 2, BENCH_REALS = 3, BENCH_OPERANDS = 8, BENCH_SIZES = 4 };

/** What the machine could do at best with the bytes or flops of a row. */
enum bench_limit {
    BENCH_NO_LIMIT,
    BENCH_FMA,  /**< the flops, by independent chains of fused multiply-adds */
    BENCH_READ, /**< reading that many bytes, from memory of that size */
    BENCH_COPY  /**< moving them: half read, half written; memcpy, vectors or non-temporal stores,
                     whichever is fastest */
};

struct bench_case;

struct bench_row {
    const char *op;   /**< the key by which peers are found: "add", "gemm" */
    const char *form; /**< what else the peers must know: "axis 0", "NT"; NULL for nothing */
    unsigned dtypes;  /**< which of BENCH_F32, BENCH_F64: a case for each */
    int64_t size[BENCH_SIZES];               /**< zeros at the end are not shown */
    bool (*open)(struct bench_case *c);      /**< makes operands and output; false: ct_error() */
    bool (*run)(struct bench_case *c);       /**< one run into c->out; false: ct_error() */
    bool (*plain)(struct bench_case *c);     /**< the same by hand into c->other, timed; or NULL */
    bool (*reference)(struct bench_case *c); /**< the same into c->other, not timed; or NULL */
    void (*close)(struct bench_case *c);     /**< frees c->state; or NULL */
    enum bench_limit limit;
    const char *bars; /**< ratios that must hold by side: "limit:0.95 plain:1 torch:2 numpy:1" */
    double tolerance; /**< of answers, relative to the largest item; 0: 1e-5 and 1e-12 */
    bool two;         /**< also measured with two threads, against one */
};

/** A row of one dtype, opened. */
struct bench_case {
    const char *family;
    const struct bench_row *row;
    const ct_scalar *scalar;
    ct_tensor *in[BENCH_OPERANDS]; /**< what peers are given too, in the order of their arguments */
    int operands;
    ct_tensor *out;   /**< reused; a run that makes a new result hands it to bench_take() */
    ct_tensor *other; /**< like out, for plain and reference; made by the frame */
    double flops;     /**< of one run, set by open where they matter */
    double bytes;     /**< of one run: those of operands and output, unless open says otherwise */
    void *state;
};

struct bench_family {
    const char *name;
    const struct bench_row *rows;
    size_t count;
    struct bench_family *next; /**< set by bench_register() */
};

void bench_register(struct bench_family *family);

/** Registers a table of rows before main. */
#define BENCH_FAMILY(family_name, table)                                                           \
    __attribute__((constructor)) static void register_family(void) {                               \
        static struct bench_family family = {family_name, table, sizeof table / sizeof *table,     \
                                             NULL};                                                \
        bench_register(&family);                                                                   \
    }

/* --- for the functions of a row */

/** Adds an operand of the case's dtype, dense, uniform in [lo, hi); the same numbers in every run.
 *  False (and ct_error()) without memory. */
bool bench_operand(struct bench_case *c, int rank, const int64_t *shape, double lo, double hi);
/** The same of any scalar type; integers (and bool) uniform in lo..hi-1. */
bool bench_operand_of(struct bench_case *c, const ct_scalar *scalar, int rank, const int64_t *shape,
                      double lo, double hi);
/** Adds an operand that was made otherwise, a view for instance, and takes it over; NULL is false. */
bool bench_add_operand(struct bench_case *c, ct_tensor *t);
/** Makes c->out, zeros of the case's dtype. */
bool bench_output(struct bench_case *c, int rank, const int64_t *shape);
bool bench_output_of(struct bench_case *c, const ct_scalar *scalar, int rank, const int64_t *shape);
/** Puts a new result in the place of c->out; NULL is false. */
bool bench_take(struct bench_case *c, ct_tensor *result);
/** Writable items of a tensor of the row's own, dense and alone. */
float *bench_f32(ct_tensor *t);
double *bench_f64(ct_tensor *t);
/** Items to read. */
const float *bench_read_f32(const ct_tensor *t);
const double *bench_read_f64(const ct_tensor *t);

/** Before the loops of a plain side: compiled as well as the compiler can for this machine. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__)
#define BENCH_PLAIN                                                                                \
    __attribute__((noinline, optimize("O3"), target_clones("arch=skylake-avx512", "default")))
#else
#define BENCH_PLAIN __attribute__((noinline))
#endif

#endif
