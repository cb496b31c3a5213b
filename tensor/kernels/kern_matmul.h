/* The matrix product, compiled once per instruction set: what each object exports. */
#ifndef CT_KERN_MATMUL_H
#define CT_KERN_MATMUL_H

#include "tensor/ct_scalar.h"

/*
 * The contract. Item (i, j) is a sum over inner blocks of 256: inside a block one chain of fused
 * multiply-adds in increasing k, from +0; then block sums are added in order, to the first one.
 * Nothing is skipped (0 times infinity is NaN), what c held does not matter, and k = 0 gives +0.
 * A product of more than 2^21 multiplications is spread by ct__parallel_for over rows and columns.
 * Only such a one allocates, for copies of operands; where there is no memory it works without,
 * more slowly. So a product never fails.
 */

/*
 * An epilogue: run is called on blocks of c whose items are done, from whichever thread made them.
 * c is the block's first item, which is (row, column) of the whole; c_row is the step of rows in
 * bytes; the items of a row must lie one behind the other.
 */
struct ct__finish {
    void (*run)(void *ctx, char *c, ptrdiff_t c_row, size_t row, size_t column, size_t rows,
                size_t columns);
    void *ctx;
    size_t row; /* added to each row index; 0 but for the caller of kernels */
};

/* name: the slot of the scalar type; name_then: with an epilogue. */
#define CT__MATMUL_NAMES(XX, isa)                                                                  \
    XX(ct__f32_matmul, isa)                                                                        \
    XX(ct__f64_matmul, isa)

#define CT__MATMUL_DECLARE(name, isa)                                                              \
    ct_status name##_##isa(const ct_scalar *self, const struct ct_matmul_job *job);                \
    ct_status name##_then_##isa(const struct ct_matmul_job *job, const struct ct__finish *finish);
CT__MATMUL_NAMES(CT__MATMUL_DECLARE, scalar)
CT__MATMUL_NAMES(CT__MATMUL_DECLARE, avx2)
CT__MATMUL_NAMES(CT__MATMUL_DECLARE, avx512)
#undef CT__MATMUL_DECLARE

/* y[j] = a block of the chain of row x and column j of b, whose items follow each other; columns
   are b_col bytes apart. Kernels of AVX-512 use that of AVX2. */
#define CT__MATMUL_DOTS(type, item, isa)                                                           \
    void ct__##type##_matmul_dots_##isa(item *y, size_t n, size_t kb, const item *x,               \
                                        const char *b, ptrdiff_t b_col);
CT__MATMUL_DOTS(f32, float, scalar)
CT__MATMUL_DOTS(f32, float, avx2)
CT__MATMUL_DOTS(f64, double, scalar)
CT__MATMUL_DOTS(f64, double, avx2)
#undef CT__MATMUL_DOTS

#endif
