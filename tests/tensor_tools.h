/* What the suites of tensors share: short ways to write shapes and items, and to compare them. */
#ifndef CT_TENSOR_TOOLS_H
#define CT_TENSOR_TOOLS_H

#include "tensor/ct_reduce.h"
#include "tensor/ct_tensor.h"

#include <check.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

/* As doubles; those of <math.h> are floats. */
#define INF  __builtin_inf()
#define QNAN __builtin_nan("")

/* Arguments of a call: a rank and its shape, a count and its items, a number and its axes. */
#define SHAPE(...)                                                                                 \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]) {                       \
        __VA_ARGS__                                                                                \
    }
#define ITEMS(...)                                                                                 \
    sizeof((double[]){__VA_ARGS__}) / sizeof(double), (double[]) {                                 \
        __VA_ARGS__                                                                                \
    }
#define AXES(...)                                                                                  \
    (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), (int[]) {                                   \
        __VA_ARGS__                                                                                \
    }

/* 0, 1, 2, ... in row-major order. */
ct_tensor *counting(const ct_scalar *scalar, int rank, const int64_t *shape);
/* A sound tensor of this shape and these items, NaN equal to NaN. */
void assert_items(const ct_tensor *t, int rank, const int64_t *shape, size_t count,
                  const double *items);
void assert_and_free(ct_tensor *t, int rank, const int64_t *shape, size_t count,
                     const double *items);
/* A call that must fail. */
void none(ct_tensor *t);

#endif
