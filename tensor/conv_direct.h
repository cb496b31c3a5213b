/* What the kernels of convolutions share: panels, and loops over images. */
#ifndef CT_CONV_DIRECT_H
#define CT_CONV_DIRECT_H

#include "tensor/conv_impl.h"
#include "tensor/kernels/kern_table.h"

#include <stdatomic.h>

/* A call: what all images and groups of it read. Steps and sizes in bytes. */
struct ct__conv_call {
    const struct ct__conv *c;
    struct ct__conv_planes planes;
    const struct ct__tap_kernels *taps;
    size_t size;          /* of an item */
    const char *in, *aux; /* the image that windows are taken of, and the other image or NULL */
    char *packed;         /* kernels, as tiles read them */
    char *out;
    ptrdiff_t *place; /* of taps, or of steps */
    ptrdiff_t *shift; /* of kernel items, where places are those of channels */
    atomic_bool no_memory;
    /* One image and group; scratch is as large as was asked for, and aligned. */
    void (*run)(const struct ct__conv_call *call, int64_t batch, int64_t group, char *scratch);
    size_t scratch;
};

/* Lines in panels of nearly equal heights, none above `most`: panel i of them. */
struct ct__cut {
    size_t begin, count;
};
static inline size_t ct__cuts(size_t lines, size_t most) {
    return (lines + most - 1) / most;
}
static inline struct ct__cut ct__cut_at(size_t lines, size_t cuts, size_t i) {
    size_t least = lines / cuts, more = lines % cuts;
    return (struct ct__cut){i * least + (i < more ? i : more), least + (i < more)};
}
static inline size_t ct__round_up(size_t n, size_t unit) {
    return (n + unit - 1) / unit * unit;
}

/* Fills in what does not depend on which of the three it is; false where that is not for these operands. */
bool ct__open_conv(struct ct__conv_call *call, const struct ct__conv *c, const ct_scalar *scalar);
/* Runs all images and groups, and frees packed, place and shift. The result, or NULL with ct_error(); frees it then. */
ct_tensor *ct__run_conv(struct ct__conv_call *call, ct_tensor *result);

#endif
