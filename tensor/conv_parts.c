/* Convolutions of any scalar type: products of windows, which are copied into columns. */

#include "tensor/conv_impl.h"

#include "tensor/ct_reduce.h"
#include "tensor/row_pulls.h"

/* Zeros around an axis. */
static ct_tensor *pad_axis(ct_tensor *x, int axis, int64_t before, int64_t after) {
    if (!x || (before == 0 && after == 0))
        return x;
    return ct__then(x, ct_unslice(x, axis, before, 1, ct_extent(x, axis) + before + after));
}

/* Windows of a padded image: [batch, in, kernel..., places...]. */
static ct_tensor *windows_of(const struct ct__conv *c, const ct_tensor *image) {
    const struct ct__windows *w = c->windows;
    ct_tensor *x = ct_copy(image);
    int order[CT_MAX_RANK] = {0, 1};
    for (int s = 0; s < c->space; s++)
        x = pad_axis(x, 2 + s, w->before[s], w->after[s]);
    for (int s = 0; x && s < c->space; s++) {
        int64_t reach = (c->kernel[s] - 1) * w->dilation[s] + 1;
        x = ct__then(x, ct_unfold(x, 2 + s, reach, w->stride[s]));
        if (x && w->dilation[s] > 1)
            x = ct__then(x, ct_slice(x, -1, 0, CT_END, w->dilation[s]));
        order[2 + s] = 2 + c->space + s;
        order[2 + c->space + s] = 2 + s;
    }
    return x ? ct__then(x, ct_permute(x, 2 + 2 * c->space, order)) : NULL;
}

/* Matrices [rows, columns] for each image and group. */
static ct_tensor *as_matrices(const struct ct__conv *c, const ct_tensor *x, int64_t rows,
                              int64_t columns) {
    return x ? ct_reshape(x, 4, (int64_t[]){c->batch, c->groups, rows / c->groups, columns}) : NULL;
}

static ct_tensor *columns_of(const struct ct__conv *c, const ct_tensor *x) {
    ct_tensor *windows = windows_of(c, x);
    return windows ? ct__then(windows, as_matrices(c, windows, c->in * c->kernels, c->all_places))
                   : NULL;
}

/* [groups, out / groups, in / groups * kernels] */
static ct_tensor *kernel_rows(const struct ct__conv *c, const ct_tensor *w) {
    int64_t shape[] = {c->groups, c->out / c->groups, c->in / c->groups * c->kernels};
    return ct_reshape(w, 3, shape);
}

/* Two operands' product; frees them. */
static ct_tensor *product_of(ct_tensor *a, ct_tensor *b) {
    ct_tensor *y = a && b ? ct_matmul(a, b) : NULL;
    ct_free(a);
    ct_free(b);
    return y;
}

/* A last step: another shape. */
static ct_tensor *shaped(ct_tensor *x, int64_t first, int64_t second, int space,
                         const int64_t *extent) {
    int64_t shape[CT_MAX_RANK] = {first, second};
    for (int s = 0; s < space; s++)
        shape[2 + s] = extent[s];
    return x ? ct__then(x, ct_reshape(x, 2 + space, shape)) : NULL;
}

ct_tensor *ct__conv_by_parts(const struct ct__conv *c, const ct_tensor *x, const ct_tensor *w) {
    ct_tensor *columns = columns_of(c, x), *rows = columns ? kernel_rows(c, w) : NULL;
    return shaped(product_of(rows, columns), c->batch, c->out, c->space, c->places);
}

ct_tensor *ct__conv_kernels_by_parts(const struct ct__conv *c, const ct_tensor *x,
                                     const ct_tensor *u) {
    ct_tensor *columns = columns_of(c, x);
    if (columns)
        columns = ct__then(columns, ct_transpose(columns));
    ct_tensor *images = columns ? as_matrices(c, u, c->out, c->all_places) : NULL;
    ct_tensor *each = product_of(images, columns);
    ct_tensor *sum = each ? ct__then(each, ct_sum(each, 0, false)) : NULL;
    return shaped(sum, c->out, c->in / c->groups, c->space, c->kernel);
}

/* Windows [batch, in, places..., kernel...] added back, the first axis of space first. */
static ct_tensor *spread_windows(const struct ct__conv *c, ct_tensor *x) {
    const struct ct__windows *w = c->windows;
    for (int s = 0; x && s < c->space; s++) {
        int order[CT_MAX_RANK], first = 2 + c->space, rank = first + c->space - s;
        for (int i = 0; i < rank; i++) /* the items of this axis last */
            order[i] = i < first ? i : i + 1 < rank ? i + 1 : first;
        x = ct__then(x, ct_permute(x, rank, order));
        int64_t reach = (c->kernel[s] - 1) * w->dilation[s] + 1;
        if (x && w->dilation[s] > 1)
            x = ct__then(x, ct_unslice(x, -1, 0, w->dilation[s], reach));
        if (x)
            x = ct__then(x, ct__fold_windows(x, 2 + s, c->extent[s] + w->before[s] + w->after[s],
                                             w->stride[s]));
    }
    for (int s = 0; x && s < c->space; s++)
        if (w->before[s] || w->after[s])
            x = ct__then(x, ct_slice(x, 2 + s, w->before[s], w->before[s] + c->extent[s], 1));
    return x ? ct__then(x, ct_compact(x)) : NULL;
}

ct_tensor *ct__conv_images_by_parts(const struct ct__conv *c, const ct_tensor *u,
                                    const ct_tensor *w) {
    int64_t shape[CT_MAX_RANK] = {c->batch, c->in};
    int order[CT_MAX_RANK] = {0, 1};
    ct_tensor *images = as_matrices(c, u, c->out, c->all_places);
    ct_tensor *rows = images ? kernel_rows(c, w) : NULL;
    ct_tensor *turned = rows ? ct__then(rows, ct_transpose(rows)) : NULL;
    ct_tensor *windows = product_of(turned, images);
    for (int s = 0; s < c->space; s++) {
        shape[2 + s] = c->kernel[s];
        shape[2 + c->space + s] = c->places[s];
        order[2 + s] = 2 + c->space + s;
        order[2 + c->space + s] = 2 + s;
    }
    int rank = 2 + 2 * c->space;
    if (windows)
        windows = ct__then(windows, ct_reshape(windows, rank, shape));
    if (windows)
        windows = ct__then(windows, ct_permute(windows, rank, order));
    return spread_windows(c, windows);
}
