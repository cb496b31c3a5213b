/* Convolutions: what fits, and which way is taken. */

#include "tensor/conv_impl.h"

#include "tensor/ct_make.h"
#include "tensor/fail.h"

#include <inttypes.h>
#include <string.h>

/* Places of windows along an axis; below 0 where numbers are out of range. */
static int64_t places_of(const struct ct__windows *w, int s, int64_t extent, int64_t kernel) {
    const int64_t most = INT64_C(1) << 31;
    if (w->stride[s] < 1 || w->dilation[s] < 1 || w->before[s] < 0 || w->after[s] < 0 ||
        kernel < 1 || kernel >= most || extent < 0 || extent >= most * most / 2)
        return -1;
    int64_t room = extent + w->before[s] + w->after[s] - (kernel - 1) * w->dilation[s] - 1;
    return room >= 0 ? room / w->stride[s] + 1 : room > -w->stride[s] - 1 ? 0 : -1;
}

static bool multiply(int64_t *product, int64_t by) {
    return !__builtin_mul_overflow(*product, by, product);
}

/* The numbers of a convolution by the shapes of its three parts, of which one is the result; `rank` is that of all. */
static bool fits(struct ct__conv *c, const struct ct__windows *w, int rank, const int64_t *x,
                 const int64_t *kernels, const int64_t *u) {
    int64_t columns, rows;
    *c = (struct ct__conv){.windows = w, .space = rank - 2, .groups = w->groups};
    if (c->space < 1 || c->space > CT__CONV_SPACE || c->groups < 1)
        return false;
    c->batch = x[0], c->in = x[1], c->out = kernels[0];
    c->pixels = c->kernels = c->all_places = 1;
    if (u[0] != c->batch || u[1] != c->out || c->out % c->groups != 0 || c->in % c->groups != 0 ||
        kernels[1] != c->in / c->groups)
        return false;
    for (int s = 0; s < c->space; s++) {
        c->extent[s] = x[2 + s], c->kernel[s] = kernels[2 + s], c->places[s] = u[2 + s];
        if (c->places[s] != places_of(w, s, c->extent[s], c->kernel[s]) ||
            !multiply(&c->pixels, c->extent[s]) || !multiply(&c->kernels, c->kernel[s]) ||
            !multiply(&c->all_places, c->places[s]))
            return false;
    }
    columns = c->in, rows = c->batch;
    return multiply(&columns, c->kernels) && multiply(&rows, c->all_places);
}

static ct_tensor *fail(const char *what, const ct_tensor *a, const ct_tensor *b) {
    char left[CT__SHAPE_TEXT_BYTES], right[CT__SHAPE_TEXT_BYTES];
    ct__format_shape(left, sizeof left, a->rank, a->shape);
    ct__format_shape(right, sizeof right, b->rank, b->shape);
    return ct__fail_null(CT_ESHAPE, "ct_conv", "%s %s and %s do not fit", what, left, right);
}

/* Whether nothing is multiplied; images without pixels still have the zeros around them. */
static bool is_empty(const struct ct__conv *c) {
    return c->batch == 0 || c->all_places == 0 || c->in == 0 || c->out == 0;
}

typedef bool direct_fn(const struct ct__conv *, const ct_tensor *, const ct_tensor *, ct_tensor **);
typedef ct_tensor *parts_fn(const struct ct__conv *, const ct_tensor *, const ct_tensor *);

/* The result, of this shape where nothing flows into it. */
static ct_tensor *run(const struct ct__conv *c, const ct_tensor *a, const ct_tensor *b,
                      const int64_t *shape, direct_fn *direct, parts_fn *parts) {
    if (is_empty(c))
        return ct_zeros(a->scalar, a->rank, shape);
    ct_tensor *x = ct__unnamed(ct_compact(a)), *y = x ? ct__unnamed(ct_compact(b)) : NULL;
    ct_tensor *result = NULL;
    bool real = (a->scalar == CT_F32 || a->scalar == CT_F64) && c->pixels > 0;
    if (y && !(real && direct(c, x, y, &result)))
        result = parts(c, x, y);
    ct_free(x);
    ct_free(y);
    return result;
}

ct_tensor *ct__conv(const ct_tensor *x, const ct_tensor *w, const struct ct__windows *windows) {
    struct ct__conv c;
    int64_t shape[CT_MAX_RANK] = {0};
    if (x->scalar != w->scalar || x->rank != w->rank || x->rank < 3)
        return fail("images and kernels", x, w);
    shape[0] = x->shape[0], shape[1] = w->shape[0];
    for (int s = 0; s + 2 < x->rank && s < CT__CONV_SPACE; s++)
        shape[2 + s] = places_of(windows, s, x->shape[2 + s], w->shape[2 + s]);
    if (!fits(&c, windows, x->rank, x->shape, w->shape, shape))
        return fail("images and kernels", x, w);
    return run(&c, x, w, shape, ct__conv_direct, ct__conv_by_parts);
}

ct_tensor *ct__conv_images(const ct_tensor *u, const ct_tensor *w,
                           const struct ct__windows *windows) {
    struct ct__conv c;
    int64_t shape[2 + CT__CONV_SPACE];
    if (u->scalar != w->scalar || u->rank != w->rank || u->rank < 3 || windows->groups < 1 ||
        __builtin_mul_overflow(w->shape[1], windows->groups, &shape[1]))
        return fail("images and kernels", u, w);
    shape[0] = u->shape[0];
    memcpy(shape + 2, windows->extent, sizeof windows->extent);
    if (!fits(&c, windows, u->rank, shape, w->shape, u->shape))
        return fail("images and kernels", u, w);
    if (c.pixels == 0)
        return ct_zeros(u->scalar, u->rank, shape);
    return run(&c, u, w, shape, ct__conv_images_direct, ct__conv_images_by_parts);
}

ct_tensor *ct__conv_kernels(const ct_tensor *x, const ct_tensor *u,
                            const struct ct__windows *windows) {
    struct ct__conv c;
    int64_t shape[2 + CT__CONV_SPACE];
    if (x->scalar != u->scalar || x->rank != u->rank || x->rank < 3 || windows->groups < 1)
        return fail("images", x, u);
    shape[0] = u->shape[1], shape[1] = x->shape[1] / windows->groups;
    memcpy(shape + 2, windows->extent, sizeof windows->extent);
    if (!fits(&c, windows, x->rank, x->shape, shape, u->shape))
        return fail("images", x, u);
    return run(&c, x, u, shape, ct__conv_kernels_direct, ct__conv_kernels_by_parts);
}
