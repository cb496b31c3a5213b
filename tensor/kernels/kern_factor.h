/* The step of factorisations and of substitution, compiled once per instruction set. */
#ifndef CT_KERN_FACTOR_H
#define CT_KERN_FACTOR_H

#include <stddef.h>

/* a[i][j] -= f[i] u[j] for i < rows and j < n, each product rounded before it is subtracted. Steps are
   in bytes and signed; items of u and those of a row of a lie side by side. No overlap. */
typedef void ct__rank_one_fn(size_t rows, size_t n, const char *f, ptrdiff_t f_step, const char *u,
                             char *a, ptrdiff_t a_row);

ct__rank_one_fn ct__f32_rank_one_scalar, ct__f32_rank_one_avx2, ct__f32_rank_one_avx512;
ct__rank_one_fn ct__f64_rank_one_scalar, ct__f64_rank_one_avx2, ct__f64_rank_one_avx512;

#endif
