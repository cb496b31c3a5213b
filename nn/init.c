// How weights begin: of a size that keeps the variance of activations and gradients through layers.

#include "nn/ct_nn.h"

#include <math.h>

// Nothing to draw, and perhaps no scale to draw it from.
static bool is_empty(int64_t in, int64_t out) {
    return in == 0 || out == 0;
}

// X. Glorot and Y. Bengio, "Understanding the difficulty of training deep feedforward neural
// networks", AISTATS 2010.
ct_tensor *ct_init_glorot(const ct_scalar *scalar, int64_t in, int64_t out, ct_random *random) {
    int64_t shape[] = {in, out};
    double bound = is_empty(in, out) ? 1 : sqrt(6 / ((double)in + (double)out));
    return ct_uniform(random, scalar, 2, shape, -bound, bound);
}

// K. He, X. Zhang, S. Ren and J. Sun, "Delving deep into rectifiers", ICCV 2015.
ct_tensor *ct_init_he(const ct_scalar *scalar, int64_t in, int64_t out, ct_random *random) {
    int64_t shape[] = {in, out};
    return ct_normal(random, scalar, 2, shape, 0, is_empty(in, out) ? 1 : sqrt(2 / (double)in));
}
