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
 * `squares` is the sum of x x, `sizes` that of |x|, and `dot` that of a b, each product rounded.
 * `spread` is the sum of the squared distances from the mean: a block of n items has the mean m + d,
 * m = sum(x) / n, d = sum(x - m) / n, and the squares sum(((x - m) - d)^2); blocks a and b merge into
 *   mean = ma + (mb - ma) w,  squares = (sa + sb) + (mb - ma)^2 (na w),  w = nb / (na + nb),
 * the weights computed in double and rounded once, over the same tree.
 * Large jobs are spread by ct__parallel_for. None needs memory.
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
    XX(ct__##type##_argmin_##isa)                                                                  \
    XX(ct__##type##_squares_##isa)                                                                 \
    XX(ct__##type##_sizes_##isa)                                                                   \
    XX(ct__##type##_spread_##isa)

#define CT__FOLD_DECLARE(name) ct_fold_fn name;
CT__FOLD_NAMES(CT__FOLD_DECLARE, scalar)
CT__FOLD_NAMES(CT__FOLD_DECLARE, avx2)
CT__FOLD_NAMES(CT__FOLD_DECLARE, avx512)
#undef CT__FOLD_DECLARE

/* Two rows of n items, steps in bytes; y has room for one item. */
struct ct__dot_job {
    size_t n;
    const char *a, *b;
    ptrdiff_t a_step, b_step;
    char *y;
};
typedef void ct__dot_fn(const struct ct__dot_job *job);

#define CT__DOT_DECLARE(isa) ct__dot_fn ct__f32_dot_##isa, ct__f64_dot_##isa;
CT__DOT_DECLARE(scalar)
CT__DOT_DECLARE(avx2)
CT__DOT_DECLARE(avx512)
#undef CT__DOT_DECLARE

#endif
