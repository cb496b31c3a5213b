/* What several suites share: fixed pseudo-random inputs, other layouts of a tensor, comparison by
   bits, and short ways to record and differentiate. */
#ifndef CT_CASE_TOOLS_H
#define CT_CASE_TOOLS_H

#include "autodiff/ct_tape.h"
#include "tensor/ct_reduce.h"

/* As doubles; those of <math.h> are floats. */
#define INF  __builtin_inf()
#define QNAN __builtin_nan("")

/* Numbers that depend on the seed alone, not on the library (splitmix64). */
struct draw {
    uint64_t state;
};
uint64_t draw_bits(struct draw *draw);
double draw_between(struct draw *draw, double low, double high);
/* Dense; of a bool tensor: 0 and 1; of i64: whole numbers in [low, high). */
ct_tensor *draw_tensor(struct draw *draw, const ct_scalar *scalar, int rank, const int64_t *shape,
                       double low, double high);

/* The same scalar type, shape and bits; all NaNs count as one value. */
bool same_bits(const ct_tensor *a, const ct_tensor *b);
/* The same with -0 equal to 0. */
bool same_values(const ct_tensor *a, const ct_tensor *b);

/* Ways in which a tensor can lie in memory. */
enum layout {
    LAYOUT_TRANSPOSED,
    LAYOUT_FLIPPED,
    LAYOUT_SLICED,   /* every third item of the last axis, from an offset */
    LAYOUT_REPEATED, /* zero strides along the first axis */
    LAYOUT_COUNT
};
/* A tensor of t's shape in another layout, of t's values (the first row's where repeated). t has
   rank >= 2. The compact copy of it is the reference. */
ct_tensor *lay_out(const ct_tensor *t, enum layout layout);
const char *layout_name(enum layout layout);

/* f64 tensors of literals: T1(1, 2, 3); T2(2, 3, 1, 2, 3, 4, 5, 6). */
#define COUNT(array) (sizeof(array) / sizeof *(array))
#define T1(...)                                                                                    \
    tensor_of(1, (int64_t[]){COUNT(((double[]){__VA_ARGS__}))}, COUNT(((double[]){__VA_ARGS__})),  \
              (double[]){__VA_ARGS__})
#define T2(rows, columns, ...)                                                                     \
    tensor_of(2, (int64_t[]){rows, columns}, COUNT(((double[]){__VA_ARGS__})),                     \
              (double[]){__VA_ARGS__})
#define T0(value) tensor_of(0, NULL, 1, (double[]){value})
ct_tensor *tensor_of(int rank, const int64_t *shape, size_t count, const double *values);

/* Test fails, saying which item, unless t has the expected values in row-major order: equal
   within `tolerance` times max(1, |expected|), NaN with NaN, infinities exactly; with tolerance 0
   also the sign of zeros. Frees t. */
void expect_items(const char *what, ct_tensor *t, double tolerance, size_t count,
                  const double *expected);
#define EXPECT(what, t, tolerance, ...)                                                            \
    expect_items(what, t, tolerance, COUNT(((double[]){__VA_ARGS__})), (double[]){__VA_ARGS__})

/* Test fails unless the pending error has this code and its message contains the text. */
void expect_error(ct_status code, const char *text);

#endif
