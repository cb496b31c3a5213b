/* What the suites of factorisations share. */
#ifndef FACTOR_TOOLS_H
#define FACTOR_TOOLS_H

#include "case_tools.h"

enum { FACTOR_SIZES = 47, FACTOR_SMALL = 41 };
/* 0 to 40, then past several blocks of 32. */
int64_t factor_size(int i);
extern const ct_scalar *const factor_reals[2]; /* f64 and f32 */

/* Items in [-2, 2). */
ct_tensor *drawn(const ct_scalar *scalar, int rank, const int64_t *shape, uint64_t seed);
ct_tensor *square(const ct_scalar *scalar, int64_t n, uint64_t seed);
/* m m' + 1. */
ct_tensor *definite(const ct_scalar *scalar, int64_t n, uint64_t seed);
/* To be freed. */
double *doubles_of(const ct_tensor *t);
/* Test fails, with the error's text, where there is none. */
void ok(const ct_tensor *t);

/* Facts of PyTorch are about these: one that is positive definite, one that needs another first pivot, a right-hand
   side. */
ct_tensor *a3(void);
ct_tensor *b3(void);
ct_tensor *rhs(void);

#endif
