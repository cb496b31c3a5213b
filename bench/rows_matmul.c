/* Matrix products into a reused result: squares, the shapes of training steps forward and backward (NT: the second
 * operand is a transposed view, TN: the first), one row times a matrix. Sizes are m x n x k. */
#include "bench/bench.h"

#include <string.h>

enum { CHECKED = 256 * 256 * 256 }; /* multiplications beyond which the plain loop takes too long */

static bool open_product(struct bench_case *c) {
    const int64_t *n = c->row->size;
    const char *form = c->row->form ? c->row->form : "NN";
    const int64_t a[] = {n[0], n[2]}, b[] = {n[2], n[1]};
    c->flops = 2.0 * (double)n[0] * (double)n[1] * (double)n[2];
    for (int i = 0; i < 2; i++) {
        const int64_t *shape = i ? b : a;
        bool turned = form[i] == 'T';
        const int64_t stored[] = {shape[turned], shape[!turned]};
        if (!bench_operand(c, 2, stored, -1, 1))
            return false;
        if (turned) {
            ct_tensor *whole = c->in[--c->operands];
            bool good = bench_add_operand(c, ct_transpose(whole));
            ct_free(whole);
            if (!good)
                return false;
        }
    }
    return bench_output(c, 2, n);
}

static bool run_product(struct bench_case *c) {
    return ct_matmul_into(c->out, c->in[0], c->in[1]) == CT_OK;
}

static bool reference(struct bench_case *c) {
    const int64_t *n = c->row->size;
    if (n[0] * n[1] * n[2] > CHECKED) /* the peers are compared instead */
        return ct_matmul_into(c->other, c->in[0], c->in[1]) == CT_OK;
    ct_tensor *t = ct_matmul_reference(c->in[0], c->in[1]);
    bool good = t && ct_assign(c->other, t) == CT_OK;
    ct_free(t);
    return good;
}

/* Never under 0.85 of the best of four. */
#define FOUR "openblas:0.85 blis:0.85 onednn:0.85 libxsmm:0.85"

#define PRODUCT(what, m, n, k, bar, with_two)                                                      \
    {                                                                                              \
        "gemm", what, BENCH_REALS, {m, n, k}, .open = open_product, .run = run_product,            \
                                              .reference = reference, .limit = BENCH_FMA,          \
                                              .bars = bar, .two = with_two                         \
    }
#define SQUARE(n, bar, two) PRODUCT(NULL, n, n, n, bar, two)
/* A matrix times a vector reads the matrix, and that is all its time. */
#define VECTOR(m, n, k)                                                                            \
    {                                                                                              \
        "gemm", NULL, BENCH_REALS, {m, n, k}, .open = open_product, .run = run_product,            \
                                              .reference = reference, .limit = BENCH_READ,         \
                                              .bars = "limit:0.9 " FOUR                            \
    }

static const struct bench_row rows[] = {
    SQUARE(8, FOUR, false),
    SQUARE(16, FOUR, false),
    SQUARE(32, FOUR, false),
    SQUARE(64, FOUR, true),
    SQUARE(128, FOUR, true),
    SQUARE(256, "limit:0.88 " FOUR, true),
    SQUARE(512, "limit:0.88 " FOUR, true),
    SQUARE(1024, "limit:0.88 " FOUR, true),
    PRODUCT(NULL, 32, 512, 784, FOUR, true),
    PRODUCT(NULL, 256, 512, 784, FOUR, true),
    PRODUCT(NULL, 32, 10, 512, FOUR, false),
    PRODUCT(NULL, 256, 10, 512, FOUR, true),
    PRODUCT("NT", 32, 784, 512, FOUR, true),
    PRODUCT("TN", 784, 512, 32, FOUR, true),
    PRODUCT("NT", 256, 784, 512, FOUR, true),
    PRODUCT("TN", 784, 512, 256, FOUR, true),
    VECTOR(1, 512, 784),
    VECTOR(1, 64, 64),
    VECTOR(512, 1, 784),
};
BENCH_FAMILY("matmul", rows)
