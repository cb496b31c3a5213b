/* What the files of convolutions share. */
#ifndef CT_CONV_IMPL_H
#define CT_CONV_IMPL_H

#include "tensor/conv.h"
#include "tensor/kernels/kern_taps.h"
#include "tensor/tensor_impl.h"

/* A convolution in numbers; axes of space beyond `space` have one item. */
struct ct__conv {
    const struct ct__windows *windows;
    int space;
    int64_t batch, in, out, groups;
    int64_t extent[CT__CONV_SPACE], kernel[CT__CONV_SPACE], places[CT__CONV_SPACE];
    int64_t pixels, kernels, all_places; /* products of these */
};

/* conv_parts.c: the compositions, of any type; nothing is empty. */
ct_tensor *ct__conv_by_parts(const struct ct__conv *c, const ct_tensor *x, const ct_tensor *w);
ct_tensor *ct__conv_images_by_parts(const struct ct__conv *c, const ct_tensor *u,
                                    const ct_tensor *w);
ct_tensor *ct__conv_kernels_by_parts(const struct ct__conv *c, const ct_tensor *x,
                                     const ct_tensor *u);

/*
 * conv_planes.c: an axis of a padded image, its items dealt out to planes by what is left of their place after division
 * by the stride. Item i of plane r is at i stride + r - before; item k of the window at place p is item p + shift of
 * the plane in which k lies. So windows are read where they lie, with the distance of 1 between places.
 */
struct ct__conv_axis {
    int64_t stride, dilation, before, extent, kernel, places;
    int64_t planes; /* in which items of a kernel lie; item k lies in plane k % planes */
    int64_t length; /* of a plane */
};

struct ct__conv_planes {
    struct ct__conv_axis axis[CT__CONV_SPACE];
    int64_t planes, plane; /* planes of a channel, and the items of each */
};

static inline int64_t ct__plane_rest(const struct ct__conv_axis *a, int64_t plane) {
    return plane * a->dilation % a->stride;
}
static inline int64_t ct__plane_shift(const struct ct__conv_axis *a, int64_t k) {
    return k * a->dilation / a->stride;
}
/* Item j of a kernel, in row-major order, per axis. */
static inline void ct__kernel_item(const struct ct__conv_planes *p, int64_t j,
                                   int64_t item[CT__CONV_SPACE]) {
    for (int s = CT__CONV_SPACE - 1; s >= 0; s--) {
        item[s] = j % p->axis[s].kernel;
        j /= p->axis[s].kernel;
    }
}

/* False where planes would be far larger than the image. */
bool ct__find_planes(const struct ct__conv *c, struct ct__conv_planes *planes);
/* Where item j of a kernel finds the window at place 0, counted from the channel's first plane. */
int64_t ct__tap_place(const struct ct__conv_planes *p, int64_t j);
/* The items of a plane along an axis that lie in the image: [first, end). */
void ct__plane_span(const struct ct__conv_axis *a, int64_t plane, int64_t *first, int64_t *end);
/* Calls run(context, place, item, rows, items) for the items of planes that lie in the image: rows from `place` on, which is
   `item` of a channel. Rows are the last axis's length apart, and in the image a stride of lines; items 1, and there a
   stride. Other items of planes are padding. */
typedef void ct__run_fn(void *context, size_t place, size_t item, size_t rows, size_t items);
void ct__each_run(const struct ct__conv_planes *p, ct__run_fn *run, void *context);

/* The same bits by kernels that read windows where they lie, for f32 and f64. False: not for these operands. Otherwise
   *result is set, to NULL with ct_error() on failure. Operands are dense and nothing is empty. */
bool ct__conv_direct(const struct ct__conv *c, const ct_tensor *x, const ct_tensor *w,
                     ct_tensor **result);
bool ct__conv_images_direct(const struct ct__conv *c, const ct_tensor *u, const ct_tensor *w,
                            ct_tensor **result);
bool ct__conv_kernels_direct(const struct ct__conv *c, const ct_tensor *x, const ct_tensor *u,
                             ct_tensor **result);

#endif
