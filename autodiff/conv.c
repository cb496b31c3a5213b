/* Convolutions as matrix products of windows. */

#include "autodiff/network_impl.h"

#include "tensor/fail.h"

/* A convolution in numbers. */
struct conv {
    const char *who;
    int space;
    int64_t batch, in, out, groups;
    int64_t kernel[CT_MAX_SPACE], places[CT_MAX_SPACE];
    int64_t kernels, all_places; /* products of these */
    struct ct_window window;
};

static bool fail_shapes(const struct conv *c, ct_var x, const ct_tensor *a, const ct_tensor *w,
                        const char *what) {
    char image[CT__SHAPE_TEXT_BYTES], kernels[CT__SHAPE_TEXT_BYTES];
    ct__format_shape(image, sizeof image, ct_rank(a), ct_shape(a));
    ct__format_shape(kernels, sizeof kernels, ct_rank(w), ct_shape(w));
    ct__tape_fail_in(c->who, x.tape, CT_ESHAPE,
                     "%s: the image is %s, the kernels are %s, in %lld group%s", what, image,
                     kernels, (long long)c->groups, c->groups == 1 ? "" : "s");
    return false;
}

/* `per_group` is the extent of the kernels' axis 1. */
static bool open_conv(struct conv *c, ct_var x, ct_var w, const struct ct_window *window) {
    const ct_tensor *a = ct__operand(x), *k = a ? ct__operand(w) : NULL;
    if (!a || !k)
        return false;
    c->window = ct__filled(window);
    c->groups = c->window.groups;
    c->space = ct_rank(a) - 2;
    if (c->space < 1 || c->space > CT_MAX_SPACE || ct_rank(k) != ct_rank(a))
        return fail_shapes(c, x, a, k,
                           "images are [batch, channels, space...] and kernels [out, in / groups, "
                           "space...] with 1 to 3 axes of space");
    if (c->groups < 1 || (c->groups > 1 && c->space == CT_MAX_SPACE))
        return fail_shapes(c, x, a, k, "groups are 1 or more, and 1 with 3 axes of space");
    c->batch = ct_shape(a)[0];
    c->in = ct_shape(a)[1];
    c->kernels = 1;
    for (int s = 0; s < c->space; s++) {
        c->kernel[s] = ct_shape(k)[2 + s];
        c->kernels *= c->kernel[s];
    }
    return true;
}

static ct_var with_bias(const struct conv *c, ct_var y, ct_var bias) {
    int64_t shape[1 + CT_MAX_SPACE] = {c->out};
    if (!bias.tape)
        return y;
    const ct_tensor *b = ct__operand(bias);
    if (!b || !ct__operand(y))
        return ct__null_of(y);
    if (ct_rank(b) != 1 || ct_shape(b)[0] != c->out)
        return ct__tape_fail_in(c->who, y.tape, CT_ESHAPE,
                                "the bias needs the shape [%lld]: one number per output channel",
                                (long long)c->out);
    for (int s = 0; s < c->space; s++)
        shape[1 + s] = 1;
    ct_var wide = ct_var_reshape(bias, 1 + c->space, shape);
    return ADD(y, wide);
}

/* Axes of an array, listed one after the other. */
struct axes {
    int n, axis[CT_MAX_RANK];
    int64_t shape[CT_MAX_RANK];
};

static void list_axes(struct axes *a, int first, int count) {
    for (int i = 0; i < count; i++)
        a->axis[a->n++] = first + i;
}

/* --- x to windows, as rows of a matrix --- */

/* [batch, in, places, kernel] as [groups, batch places, in/groups kernels]; without the first axis for one
   group. */
static ct_var rows_of(const struct conv *c, ct_var windows) {
    int64_t batch = c->batch, each = c->in / c->groups, places = c->all_places;
    struct axes order = {0};
    if (c->groups == 1) {
        list_axes(&order, 0, 1), list_axes(&order, 2, c->space);
        list_axes(&order, 1, 1), list_axes(&order, 2 + c->space, c->space);
        windows = ct_var_permute(windows, order.n, order.axis);
        return ct_var_reshape(windows, 2, (int64_t[]){batch * places, each * c->kernels});
    }
    int64_t split[CT_MAX_RANK] = {batch, c->groups, each};
    for (int s = 0; s < c->space; s++) {
        split[3 + s] = c->places[s];
        split[3 + c->space + s] = c->kernel[s];
    }
    windows = ct_var_reshape(windows, 3 + 2 * c->space, split);
    list_axes(&order, 1, 1), list_axes(&order, 0, 1), list_axes(&order, 3, c->space);
    list_axes(&order, 2, 1), list_axes(&order, 3 + c->space, c->space);
    windows = ct_var_permute(windows, order.n, order.axis);
    return ct_var_reshape(windows, 3, (int64_t[]){c->groups, batch * places, each * c->kernels});
}

/* The inverse of rows_of: columns as windows [batch, in, places, kernel]. */
static ct_var windows_of(const struct conv *c, ct_var rows) {
    int64_t each = c->in / c->groups, shape[CT_MAX_RANK];
    int n = 0, grouped = c->groups > 1;
    struct axes order = {0};
    if (grouped)
        shape[n++] = c->groups;
    shape[n++] = c->batch;
    for (int s = 0; s < c->space; s++)
        shape[n++] = c->places[s];
    shape[n++] = each;
    for (int s = 0; s < c->space; s++)
        shape[n++] = c->kernel[s];
    ct_var windows = ct_var_reshape(rows, n, shape);
    list_axes(&order, grouped, 1), list_axes(&order, 0, grouped);
    list_axes(&order, grouped + 1 + c->space, 1), list_axes(&order, grouped + 1, c->space);
    list_axes(&order, grouped + 2 + c->space, c->space);
    windows = ct_var_permute(windows, n, order.axis);
    if (!grouped)
        return windows;
    int64_t merged[CT_MAX_RANK] = {c->batch, c->in};
    for (int s = 0; s < c->space; s++) {
        merged[2 + s] = c->places[s];
        merged[2 + c->space + s] = c->kernel[s];
    }
    return ct_var_reshape(windows, 2 + 2 * c->space, merged);
}

/* Kernels as matrices: [groups, out / groups, in / groups kernels], without the first axis for one. */
static ct_var kernel_rows(const struct conv *c, ct_var w) {
    int64_t each = c->in / c->groups * c->kernels;
    return c->groups == 1 ? ct_var_reshape(w, 2, (int64_t[]){c->out, each})
                          : ct_var_reshape(w, 3, (int64_t[]){c->groups, c->out / c->groups, each});
}

/* Rows of results, [groups, batch places, out / groups], as an image, and back. */
static ct_var image_of(const struct conv *c, ct_var rows) {
    int grouped = c->groups > 1, n = 0;
    int64_t shape[CT_MAX_RANK], merged[CT_MAX_RANK] = {c->batch, c->out};
    struct axes order = {0};
    if (grouped)
        shape[n++] = c->groups;
    shape[n++] = c->batch;
    for (int s = 0; s < c->space; s++)
        merged[2 + s] = shape[n++] = c->places[s];
    shape[n++] = c->out / c->groups;
    list_axes(&order, grouped, 1), list_axes(&order, 0, grouped);
    list_axes(&order, n - 1, 1), list_axes(&order, grouped + 1, c->space);
    ct_var image = ct_var_permute(ct_var_reshape(rows, n, shape), n, order.axis);
    return grouped ? ct_var_reshape(image, 2 + c->space, merged) : image;
}

static ct_var rows_of_image(const struct conv *c, ct_var image) {
    int grouped = c->groups > 1, n = 0;
    int64_t split[CT_MAX_RANK];
    struct axes order = {0};
    split[n++] = c->batch;
    if (grouped)
        split[n++] = c->groups;
    split[n++] = c->out / c->groups;
    for (int s = 0; s < c->space; s++)
        split[n++] = c->places[s];
    if (grouped)
        image = ct_var_reshape(image, n, split);
    list_axes(&order, 1, grouped), list_axes(&order, 0, 1);
    list_axes(&order, grouped + 2, c->space), list_axes(&order, grouped + 1, 1);
    image = ct_var_permute(image, n, order.axis);
    int64_t rows = c->batch * c->all_places, each = c->out / c->groups;
    return grouped ? ct_var_reshape(image, 3, (int64_t[]){c->groups, rows, each})
                   : ct_var_reshape(image, 2, (int64_t[]){rows, each});
}

/* --- the two convolutions --- */

static ct_var convolve(ct_var x, ct_var w, ct_var bias, const struct ct_window *window) {
    struct conv c = {.who = "ct_var_conv"};
    if (!open_conv(&c, x, w, window))
        return ct__null_of(x);
    const ct_tensor *a = ct__operand(x), *k = ct__operand(w);
    c.out = ct_shape(k)[0];
    if (ct_shape(k)[1] * c.groups != c.in || c.out % c.groups != 0) {
        fail_shapes(&c, x, a, k,
                    "channels do not fit: the image's are groups times axis 1 of the kernels, and "
                    "groups divide axis 0");
        return ct__null_of(x);
    }
    ct_var windows = ct__windows(c.who, x, c.space, c.kernel, &c.window);
    const ct_tensor *view = ct__operand(windows);
    c.all_places = 1;
    for (int s = 0; view && s < c.space; s++)
        c.all_places *= c.places[s] = ct_shape(view)[2 + s];
    if (!view)
        return ct__null_of(x);
    ct_var rows = rows_of(&c, windows);
    ct_var kernels = ct_var_transpose(kernel_rows(&c, w));
    return with_bias(&c, image_of(&c, ct_var_matmul(rows, kernels)), bias);
}

/* Windows added back: the transpose of ct__windows. */
static ct_var spread_windows(const struct conv *c, ct_var windows, const int64_t *extent) {
    const struct ct_window *w = &c->window;
    for (int s = c->space - 1; s >= 0; s--) {
        int64_t reach = (c->kernel[s] - 1) * w->dilation[s] + 1;
        const ct_tensor *t = ct__operand(windows);
        if (!t)
            return windows;
        struct ct__attr attr = {
            .axis = ct_rank(t) - 1, .start = 0, .step = w->dilation[s], .count = reach};
        if (w->dilation[s] > 1)
            windows = ct__record(CT_OP_padded, 1, &windows, &attr);
        windows = ct_var_fold(windows, 2 + s, extent[s] + w->before[s] + w->after[s], w->stride[s]);
    }
    for (int s = 0; s < c->space; s++)
        if (w->before[s] || w->after[s])
            windows = ct_var_slice(windows, 2 + s, w->before[s], w->before[s] + extent[s], 1);
    return windows;
}

static ct_var convolve_back(ct_var x, ct_var w, ct_var bias, const struct ct_window *window) {
    struct conv c = {.who = "ct_var_conv_transpose"};
    int64_t extent[CT_MAX_SPACE];
    if (!open_conv(&c, x, w, window))
        return ct__null_of(x);
    const ct_tensor *a = ct__operand(x), *k = ct__operand(w);
    if (ct_shape(k)[0] != c.in || c.in % c.groups != 0) {
        fail_shapes(
            &c, x, a, k,
            "channels do not fit: the image's are axis 0 of the kernels, which groups divide");
        return ct__null_of(x);
    }
    /* In the convolution that this is the transpose of, `in` and `out` are the other way round. */
    c.out = c.in;
    c.in = ct_shape(k)[1] * c.groups;
    c.all_places = 1;
    for (int s = 0; s < c.space; s++) {
        const struct ct_window *v = &c.window;
        c.all_places *= c.places[s] = ct_shape(a)[2 + s];
        extent[s] = (c.places[s] - 1) * v->stride[s] - v->before[s] - v->after[s] +
                    (c.kernel[s] - 1) * v->dilation[s] + 1 + v->extra[s];
        if (v->extra[s] < 0 || v->extra[s] >= v->stride[s] || extent[s] < 0 || v->before[s] < 0 ||
            v->after[s] < 0 || v->dilation[s] < 1 || v->stride[s] < 1 || c.kernel[s] < 1) {
            fail_shapes(&c, x, a, k, "padding, strides, dilations or extra items do not fit");
            return ct__null_of(x);
        }
    }
    ct_var kernels = kernel_rows(&c, w);
    ct_var windows = windows_of(&c, ct_var_matmul(rows_of_image(&c, x), kernels));
    ct_var y = spread_windows(&c, windows, extent);
    c.out = c.in;
    return with_bias(&c, y, bias);
}

/* Either, in a scope that says what it is. */
static ct_var in_scope(const char *what,
                       ct_var (*run)(ct_var, ct_var, ct_var, const struct ct_window *), ct_var x,
                       ct_var w, ct_var bias, const struct ct_window *window) {
    const ct_tensor *kernels = ct__live_value(w);
    int space = kernels && ct_rank(kernels) > 2 && ct_rank(kernels) <= 2 + CT_MAX_SPACE
                    ? ct_rank(kernels) - 2
                    : 0;
    ct__begin_windows(x, what, space, space ? ct_shape(kernels) + 2 : NULL, window);
    ct_var y = run(x, w, bias, window);
    if (x.tape)
        ct_scope_end(x.tape);
    return y;
}

ct_var ct_var_conv(ct_var x, ct_var w, ct_var bias, const struct ct_window *window) {
    return in_scope("conv", convolve, x, w, bias, window);
}

ct_var ct_var_conv_transpose(ct_var x, ct_var w, ct_var bias, const struct ct_window *window) {
    return in_scope("conv_transpose", convolve_back, x, w, bias, window);
}
