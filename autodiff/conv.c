/* Convolutions: what fits, and the bias. */

#include "autodiff/conv_rules.h"
#include "autodiff/network_impl.h"

#include "tensor/fail.h"

/* A convolution in numbers. */
struct conv {
    const char *who;
    ct_var x, w;
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
    ct__fail_call(c->who, 2, (ct_var[]){x, c->w}, CT_ESHAPE,
                  "%s: the image is %s, the kernels are %s, in %lld group%s", what, image, kernels,
                  (long long)c->groups, c->groups == 1 ? "" : "s");
    return false;
}

static const char too_many[] = "there are too many groups, kernels or places";

/* `per_group` is the extent of the kernels' axis 1. */
static bool open_conv(struct conv *c, ct_var x, ct_var w, const struct ct_window *window) {
    const ct_tensor *a = ct__operand(x), *k = a ? ct__operand(w) : NULL;
    if (a && !w.tape)
        ct__fail_call(c->who, 1, &x, CT_EINVAL,
                      "the kernels are the null variable, of no tape (a parameter has a variable "
                      "after ct_params_record())");
    if (!a || !k)
        return false;
    c->x = x, c->w = w;
    c->window = ct__filled(window);
    c->groups = c->window.groups;
    c->space = ct_rank(a) - 2;
    if (c->space < 1 || c->space > CT_MAX_SPACE || ct_rank(k) != ct_rank(a))
        return fail_shapes(c, x, a, k,
                           "images are [batch, channels, space...] and kernels [out, in / groups, "
                           "space...] with 1 to 3 axes of space");
    if (c->groups < 1) {
        ct__fail_call(c->who, 2, (ct_var[]){x, w}, CT_EINVAL,
                      "channels are taken in 1 group or more, not %lld", (long long)c->groups);
        return false;
    }
    c->batch = ct_shape(a)[0];
    c->in = ct_shape(a)[1];
    c->kernels = 1;
    bool sane = c->groups < CT__MOST;
    for (int s = 0; s < c->space; s++) {
        c->kernel[s] = ct_shape(k)[2 + s];
        sane = sane && !__builtin_mul_overflow(c->kernels, c->kernel[s], &c->kernels);
    }
    for (int i = 0; i < ct_rank(a); i++)
        sane = sane && ct_shape(a)[i] < CT__MOST * CT__MOST && ct_shape(k)[i] < CT__MOST;
    return sane || fail_shapes(c, x, a, k, too_many);
}

/* Multiplies the places, and says whether the matrices of rows can be counted: where there are no
   items the extents may still be large. */
static bool count_places(struct conv *c) {
    int64_t rows, items;
    c->all_places = 1;
    for (int s = 0; s < c->space; s++)
        if (__builtin_mul_overflow(c->all_places, c->places[s], &c->all_places))
            return false;
    return !__builtin_mul_overflow(c->batch, c->all_places, &rows) &&
           !__builtin_mul_overflow(c->in, c->kernels, &items);
}

static ct_var fail_bias(const struct conv *c, ct_var bias, const ct_tensor *b) {
    char have[CT__SHAPE_TEXT_BYTES];
    ct__format_shape(have, sizeof have, ct_rank(b), ct_shape(b));
    return ct__fail_call(c->who, 3, (ct_var[]){c->x, c->w, bias}, CT_ESHAPE,
                         "the bias needs the shape [%lld]: one number per output channel, not %s",
                         (long long)c->out, have);
}

static ct_var with_bias(const struct conv *c, ct_var y, ct_var bias) {
    int64_t shape[1 + CT_MAX_SPACE] = {c->out};
    if (!bias.tape)
        return y;
    const ct_tensor *b = ct__operand(bias);
    if (!b || !ct__operand(y))
        return ct__null_of(y);
    if (ct_rank(b) != 1 || ct_shape(b)[0] != c->out)
        return fail_bias(c, bias, b);
    for (int s = 0; s < c->space; s++)
        shape[1 + s] = 1;
    ct_var wide = ct_var_reshape(bias, 1 + c->space, shape);
    return ADD(y, wide);
}

/* As the ops have it. The numbers are in their ranges, which were checked. */
static struct ct__windows windows_of(const struct conv *c) {
    struct ct__windows w = {.groups = (int32_t)c->groups};
    for (int s = 0; s < c->space; s++) {
        w.stride[s] = (int32_t)c->window.stride[s];
        w.dilation[s] = (int32_t)c->window.dilation[s];
        w.before[s] = (int32_t)c->window.before[s];
        w.after[s] = (int32_t)c->window.after[s];
    }
    return w;
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
    if (!ct__check_windows(c.who, x, c.space, c.kernel, &c.window))
        return ct__null_of(x);
    for (int s = 0; s < c.space; s++)
        c.places[s] = ct__places(ct_shape(a)[2 + s], c.kernel[s], &c.window, s);
    if (!count_places(&c)) {
        fail_shapes(&c, x, a, k, too_many);
        return ct__null_of(x);
    }
    struct ct__windows windows = windows_of(&c);
    return with_bias(&c, ct__convolved(x, w, &windows), bias);
}

/* The places, which are the image's, and the extents that they are spread over; false where something
   does not fit. */
static bool spread_extents(struct conv *c, const ct_tensor *a, int64_t *extent) {
    const struct ct_window *v = &c->window;
    for (int s = 0; s < c->space; s++) {
        int64_t places = ct_shape(a)[2 + s];
        if (!ct__sane_window(v, s) || c->kernel[s] < 1 || places >= CT__MOST || v->extra[s] < 0 ||
            v->extra[s] >= v->stride[s])
            return false;
        c->places[s] = places;
        extent[s] = (places - 1) * v->stride[s] - v->before[s] - v->after[s] +
                    (c->kernel[s] - 1) * v->dilation[s] + 1 + v->extra[s];
        if (extent[s] < 0)
            return false;
    }
    return true;
}

static ct_var convolve_back(ct_var x, ct_var w, ct_var bias, const struct ct_window *window) {
    struct conv c = {.who = "ct_var_conv_transpose"};
    int64_t extent[CT_MAX_SPACE] = {0};
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
    if (!spread_extents(&c, a, extent) || !count_places(&c)) {
        fail_shapes(&c, x, a, k, "padding, strides, dilations or extra items do not fit");
        return ct__null_of(x);
    }
    struct ct__windows windows = windows_of(&c);
    memcpy(windows.extent, extent, sizeof extent);
    ct_var y = ct__record_windows(CT_OP_deconvolved, x, w, &windows, NULL);
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
