/* The three products of a convolution, each of which is the pull of the others. */
#ifndef CT_CONV_RULES_H
#define CT_CONV_RULES_H

#include "autodiff/pull_words.h"

#include <string.h>

static inline ct_var ct__record_windows(enum ct_op op, ct_var a, ct_var b,
                                        const struct ct__windows *windows, const ct_tensor *like) {
    struct ct__attr attr = {.rank = 0};
    attr.windows = *windows;
    for (int s = 0; like && s < CT__CONV_SPACE && s + 2 < ct_rank(like); s++)
        attr.windows.extent[s] = ct_shape(like)[2 + s];
    return ct__record(op, 2, (const ct_var[]){a, b}, &attr);
}

/* Images x, kernels w, results u; those of the last argument have the extents of the result. */
static inline ct_var ct__convolved(ct_var x, ct_var w, const struct ct__windows *windows) {
    return ct__record_windows(CT_OP_convolved, x, w, windows, NULL);
}
static inline ct_var ct__deconvolved(ct_var u, ct_var w, const struct ct__windows *windows,
                                     ct_var x) {
    return ct__record_windows(CT_OP_deconvolved, u, w, windows, ct__value_of(x));
}
static inline ct_var ct__correlated(ct_var x, ct_var u, const struct ct__windows *windows,
                                    ct_var w) {
    return ct__record_windows(CT_OP_correlated, x, u, windows, ct__value_of(w));
}

#endif
