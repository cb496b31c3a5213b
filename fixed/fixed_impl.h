/* The inside of fixed/: numbers as int64_t in units of 2^-32. */
#ifndef CT_FIXED_IMPL_H
#define CT_FIXED_IMPL_H

#include "fixed/ct_fixed.h"

enum { CT__FIXED_BITS = 32 };
#define CT__FIXED_ONE ((int64_t)1 << CT__FIXED_BITS)

__extension__ typedef __int128 ct__i128;
__extension__ typedef unsigned __int128 ct__u128;

/* One number; false where there is no result. */
typedef bool ct__fixed_unary(int64_t x, int64_t *y);
typedef bool ct__fixed_binary(int64_t x, int64_t z, int64_t *y);

/* fixed_round.c: x / 2^bits to nearest, ties to even, 0 < bits < 126; as a number, where it is one. */
ct__i128 ct__fixed_nearest(ct__i128 x, int bits);
bool ct__fixed_fits(ct__i128 units, int64_t *y);
bool ct__fixed_narrow(ct__i128 x, int bits, int64_t *y);

/* fixed_root.c: correctly rounded. */
ct__fixed_unary ct__fixed_sqrt, ct__fixed_rsqrt;

/* fixed_exp.c, fixed_trig.c */
ct__fixed_unary ct__fixed_exp, ct__fixed_exp2, ct__fixed_expm1, ct__fixed_log, ct__fixed_log2,
    ct__fixed_log1p;
ct__fixed_unary ct__fixed_tanh, ct__fixed_sigmoid, ct__fixed_softplus, ct__fixed_silu;
ct__fixed_unary ct__fixed_sin, ct__fixed_cos;

/* fixed_sum.c */
ct_fold_fn ct__fixed_sum;
ct_matmul_fn ct__fixed_matmul;

#endif
