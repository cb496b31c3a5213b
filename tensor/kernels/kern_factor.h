/* Steps of factorisations and of substitution, compiled once per instruction set. Their order of operations is
   that of tensor/factor_steps.c, whose loops make the same bits for any type. */
#ifndef CT_KERN_FACTOR_H
#define CT_KERN_FACTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CT__FACTOR_BLOCK = 32 }; /* steps that are not matmul's: the contract */

/* Of one item type. Steps are in bytes and signed; items of a row of a lie side by side. */
struct ct__factor_kernels {
    /* a[i][j] -= f[i] u[j] for i < rows and j < n, each product rounded before it is subtracted. Items
       of u lie side by side. No overlap. */
    void (*rank_one)(size_t rows, size_t n, const char *f, ptrdiff_t f_step, const char *u, char *a,
                     ptrdiff_t a_row);
    /* Cholesky's steps on `width` <= CT__FACTOR_BLOCK columns of `rows` >= width rows, the first of
       which starts on the diagonal; what lies above that is not touched. @return the columns done: `width`,
       or the place of the pivot that is not positive. */
    size_t (*cholesky)(size_t rows, size_t width, char *a, ptrdiff_t row);
    /* The same of an LU factorisation with partial pivoting. Rows that change places do so with the
       `before` bytes left of a, `bytes` in all, and with their places in `order`. */
    void (*lu)(size_t rows, size_t width, char *a, ptrdiff_t row, size_t before, size_t bytes,
               int64_t *order);
    /* x of lower x = x, of n <= CT__FACTOR_BLOCK items side by side. */
    void (*substitute)(size_t n, const char *lower, ptrdiff_t row, ptrdiff_t column, bool unit,
                       char *x);
};

extern const struct ct__factor_kernels ct__f32_factor_scalar, ct__f32_factor_avx2,
    ct__f32_factor_avx512;
extern const struct ct__factor_kernels ct__f64_factor_scalar, ct__f64_factor_avx2,
    ct__f64_factor_avx512;

#endif
