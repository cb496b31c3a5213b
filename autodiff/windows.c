/* Windows on images: padding, strides and dilations by views of the tape. */

#include "autodiff/network_impl.h"

#include <stdio.h>

struct ct_window ct__filled(const struct ct_window *window) {
    struct ct_window w = window ? *window : (struct ct_window){.groups = 1};
    for (int s = 0; s < CT_MAX_SPACE; s++) {
        w.stride[s] = w.stride[s] ? w.stride[s] : 1;
        w.dilation[s] = w.dilation[s] ? w.dilation[s] : 1;
    }
    w.groups = w.groups ? w.groups : 1;
    return w;
}

bool ct__sane_window(const struct ct_window *w, int s) {
    return w->stride[s] > 0 && w->stride[s] < CT__MOST && w->dilation[s] > 0 &&
           w->dilation[s] < CT__MOST && w->before[s] >= 0 && w->after[s] >= 0 &&
           w->before[s] < CT__MOST && w->after[s] < CT__MOST;
}

/* --- names of scopes --- */

struct title {
    char text[128];
    size_t length;
};

static void append(struct title *t, const char *before, int64_t number) {
    size_t room = sizeof t->text - t->length;
    int length = snprintf(t->text + t->length, room, "%s%lld", before, (long long)number);
    t->length += length < 0 ? 0 : (size_t)length < room ? (size_t)length : room - 1;
}

/* Nothing where all numbers are the usual one; one number where they are alike. */
static void append_all(struct title *t, const char *before, int n, const int64_t *number,
                       int64_t usual) {
    bool alike = true;
    for (int i = 1; i < n; i++)
        alike = alike && number[i] == number[0];
    for (int i = 0; i < (alike ? 1 : n) && !(alike && number[0] == usual); i++)
        append(t, i ? "x" : before, number[i]);
}

void ct__begin_windows(ct_var x, const char *what, int space, const int64_t *kernel,
                       const struct ct_window *window) {
    struct title t = {.text = ""};
    struct ct_window w = ct__filled(window);
    if (!x.tape)
        return;
    t.length = (size_t)snprintf(t.text, sizeof t.text, "%s", what);
    for (int s = 0; kernel && s < space; s++)
        append(&t, s ? "x" : " ", kernel[s]);
    append_all(&t, ", stride ", space, w.stride, 1);
    append_all(&t, ", padding ", space, w.before, 0);
    append_all(&t, ", dilation ", space, w.dilation, 1);
    append_all(&t, ", groups ", 1, &w.groups, 1);
    ct_scope_begin(x.tape, t.text);
}

/* --- windows --- */

static bool check_axis(const char *who, ct_var x, int64_t extent, int64_t kernel,
                       const struct ct_window *w, int s) {
    if (!(kernel > 0 && kernel < CT__MOST) || !ct__sane_window(w, s) ||
        extent >= CT__MOST * CT__MOST) {
        ct__fail_call(
            who, 1, &x, CT_EINVAL,
            "axis %d of space: kernels, strides and dilations are positive, padding is not "
            "negative; given %lld, %lld, %lld, %lld and %lld",
            s, (long long)kernel, (long long)w->stride[s], (long long)w->dilation[s],
            (long long)w->before[s], (long long)w->after[s]);
        return false;
    }
    if ((kernel - 1) > (extent + w->before[s] + w->after[s] - 1) / w->dilation[s] ||
        extent + w->before[s] + w->after[s] < 1) {
        ct__fail_call(who, 1, &x, CT_ESHAPE,
                      "axis %d of space: a kernel of %lld items, %lld apart, does not fit an "
                      "extent of %lld with %lld + %lld of padding",
                      s, (long long)kernel, (long long)w->dilation[s], (long long)extent,
                      (long long)w->before[s], (long long)w->after[s]);
        return false;
    }
    return true;
}

static ct_var pad_axis(ct_var x, int axis, int64_t before, int64_t after) {
    const ct_tensor *t = ct__operand(x);
    if (!t || (before == 0 && after == 0))
        return x;
    struct ct__attr attr = {
        .axis = axis, .start = before, .step = 1, .count = ct_extent(t, axis) + before + after};
    return ct__record(CT_OP_padded, 1, &x, &attr);
}

/* [batch, channels, places..., kernel...] with the axes of the kernel the other way round. */
static ct_var reverse_kernel(ct_var windows, int space) {
    int order[2 + 2 * CT_MAX_SPACE];
    for (int i = 0; i < 2 + space; i++)
        order[i] = i;
    for (int s = 0; s < space; s++)
        order[2 + space + s] = 1 + 2 * space - s;
    return ct_var_permute(windows, 2 + 2 * space, order);
}

bool ct__check_windows(const char *who, ct_var x, int space, const int64_t *kernel,
                       const struct ct_window *w) {
    const ct_tensor *t = ct__operand(x);
    for (int s = 0; t && s < space; s++)
        if (!check_axis(who, x, ct_shape(t)[2 + s], kernel[s], w, s))
            return false;
    return t != NULL;
}

int64_t ct__places(int64_t extent, int64_t kernel, const struct ct_window *w, int s) {
    int64_t reach = (kernel - 1) * w->dilation[s] + 1;
    return (extent + w->before[s] + w->after[s] - reach) / w->stride[s] + 1;
}

ct_var ct__windows(const char *who, ct_var x, int space, const int64_t *kernel,
                   const struct ct_window *w) {
    if (!ct__check_windows(who, x, space, kernel, w))
        return ct__null_of(x);
    for (int s = 0; s < space; s++)
        x = pad_axis(x, 2 + s, w->before[s], w->after[s]);
    /* The last axis first, so that the backward pass folds it last: what it folds before has long rows. */
    for (int s = space - 1; s >= 0; s--) {
        x = ct_var_unfold(x, 2 + s, (kernel[s] - 1) * w->dilation[s] + 1, w->stride[s]);
        if (w->dilation[s] > 1)
            x = ct_var_slice(x, -1, 0, CT_END, w->dilation[s]);
    }
    return space > 1 ? reverse_kernel(x, space) : x;
}
