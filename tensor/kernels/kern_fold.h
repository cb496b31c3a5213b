/* The order-fixed reductions, compiled once per instruction set: what each object exports. */
#ifndef CT_KERN_FOLD_H
#define CT_KERN_FOLD_H

#include "tensor/ct_scalar.h"

/*
 * The contract. A sum depends on its items in order and on nothing else:
 *   - items are cut in blocks of 1,024, and item i of a block goes to lane i mod 16;
 *   - a lane is a chain of adds from its first item onwards;
 *   - lanes are combined as l with l + 8, then + 4, + 2, + 1 (lower + upper); a lane without an
 *     item is skipped;
 *   - blocks are combined in adjacent pairs, level by level, an odd last one going up unchanged.
 * The sum of nothing is +0. A product is made in the same way, and of nothing it is 1. Maximum and
 * minimum are those of IEEE 754-2019 and know no order; argmax and argmin are the place, an
 * int64_t, of the first NaN, else of the first extreme, zeros of either sign being equal.
 * Large jobs are spread by ct__parallel_for; none allocates.
 */
#define CT__FOLD_NAMES(XX, isa)                                                                    \
    CT__FOLD_NAMES_OF(XX, f32, isa)                                                                \
    CT__FOLD_NAMES_OF(XX, f64, isa)
#define CT__FOLD_NAMES_OF(XX, type, isa)                                                           \
    XX(ct__##type##_sum_##isa)                                                                     \
    XX(ct__##type##_max_##isa)                                                                     \
    XX(ct__##type##_min_##isa)                                                                     \
    XX(ct__##type##_prod_##isa)                                                                    \
    XX(ct__##type##_argmax_##isa)                                                                  \
    XX(ct__##type##_argmin_##isa)

#define CT__FOLD_DECLARE(name) ct_fold_fn name;
CT__FOLD_NAMES(CT__FOLD_DECLARE, scalar)
CT__FOLD_NAMES(CT__FOLD_DECLARE, avx2)
CT__FOLD_NAMES(CT__FOLD_DECLARE, avx512)
#undef CT__FOLD_DECLARE

#endif
