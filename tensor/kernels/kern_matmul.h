/* The matrix product, compiled once per instruction set: what each object exports. */
#ifndef CT_KERN_MATMUL_H
#define CT_KERN_MATMUL_H

#include "tensor/ct_scalar.h"

/*
 * The contract. Item (i, j) is a sum over inner blocks of 256: inside a block one chain of fused
 * multiply-adds in increasing k, from +0; then block sums are added in order, to the first one.
 * Nothing is skipped (0 times infinity is NaN), what c held does not matter, and k = 0 gives +0.
 * A product of more than 2^21 multiplications is spread by ct__parallel_for over rows and columns.
 * Only such a one allocates, and only where m and n both exceed a tile: it packs its operands.
 * CT_ENOMEM leaves c as it was.
 */
#define CT__MATMUL_NAMES(XX, isa)                                                                  \
    XX(ct__f32_matmul_##isa)                                                                       \
    XX(ct__f64_matmul_##isa)

#define CT__MATMUL_DECLARE(name)                                                                   \
    ct_status name(const ct_scalar *self, const struct ct_matmul_job *job);
CT__MATMUL_NAMES(CT__MATMUL_DECLARE, scalar)
CT__MATMUL_NAMES(CT__MATMUL_DECLARE, avx2)
CT__MATMUL_NAMES(CT__MATMUL_DECLARE, avx512)
#undef CT__MATMUL_DECLARE

#endif
