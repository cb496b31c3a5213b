/* Maxima and means of windows. */

#include "autodiff/network_impl.h"

#include "tensor/ct_convert.h"
#include "tensor/ct_index.h"
#include "tensor/ct_reduce.h"
#include "tensor/fail.h"

static int space_of(const char *who, ct_var x) {
    const ct_tensor *t = ct__operand(x);
    if (t && ct_rank(t) >= 3 && ct_rank(t) <= 2 + CT_MAX_SPACE)
        return ct_rank(t) - 2;
    if (t)
        ct__tape_fail_in(
            who, x.tape, CT_ESHAPE,
            "an image is [batch, channels, space...] with 1 to 3 axes of space: rank %d was given",
            ct_rank(t));
    return 0;
}

/* Windows with the items of each in one last axis. */
static ct_var flat_windows(const char *who, ct_var x, int space, const int64_t *kernel,
                           const struct ct_window *w) {
    ct_var windows = ct__windows(who, x, space, kernel, w);
    const ct_tensor *t = ct__operand(windows);
    int64_t shape[CT_MAX_RANK], items = 1;
    if (!t)
        return windows;
    for (int i = 0; i < 2 + space; i++)
        shape[i] = ct_shape(t)[i];
    for (int s = 0; s < space; s++)
        items *= kernel[s];
    shape[2 + space] = items;
    return ct_var_reshape(windows, 3 + space, shape);
}

static bool is_padded(const struct ct_window *w, int space) {
    for (int s = 0; s < space; s++)
        if (w->before[s] || w->after[s])
            return true;
    return false;
}

/* Ones where an image of x's space has items, in windows like x's: [1, 1, places..., items]. */
static ct_tensor *presence(ct_var x, int space, const int64_t *kernel, const struct ct_window *w) {
    const ct_tensor *t = ct__operand(x);
    int64_t shape[2 + CT_MAX_SPACE] = {1, 1};
    ct_tape *tape = t ? ct_tape_new() : NULL;
    for (int s = 0; t && s < space; s++)
        shape[2 + s] = ct_shape(t)[2 + s];
    ct_tensor *ones = tape ? ct_ones(CT_F64, 2 + space, shape) : NULL;
    ct_var v = ones ? ct_constant(tape, ones, NULL) : ct_var_null();
    ct_var windows = ones ? flat_windows("presence", v, space, kernel, w) : v;
    ct_tensor *result = ct_copy(ct_value(windows));
    ct_free(ones);
    ct_tape_free(tape);
    return result;
}

/* Where the padding is, -infinity takes the place of its zeros. */
static ct_var lower_padding(ct_var windows, ct_tensor *present) {
    ct_tensor *mask = present ? ct_astype(present, CT_BOOL) : NULL;
    ct_free(present);
    ct_var here = ct__put_constant(windows, mask);
    ct_var lowest = ct__constant_like(windows, -(double)INFINITY);
    return WHERE(here, windows, lowest);
}

static ct_var largest_of(ct_var x, int space, const int64_t *kernel,
                         const struct ct_window *window) {
    static const char who[] = "ct_var_max_pool";
    struct ct_window w = ct__filled(window);
    ct_var windows = flat_windows(who, x, space, kernel, &w);
    if (ct__operand(windows) && is_padded(&w, space))
        windows = lower_padding(windows, presence(x, space, kernel, &w));
    const ct_tensor *t = ct__operand(windows);
    if (!t)
        return ct__null_of(x);
    ct_var first = ct__put_constant(windows, ct_argmax(t, -1, false));
    return ct_var_pick(windows, first);
}

ct_var ct_var_max_pool(ct_var x, const int64_t *kernel, const struct ct_window *window) {
    int space = space_of(__func__, x);
    if (!space || !kernel)
        return ct__null_of(x);
    ct__begin_windows(x, "max_pool", space, kernel, window);
    ct_var y = largest_of(x, space, kernel, window);
    ct_scope_end(x.tape);
    return y;
}

static ct_var mean_of(ct_var x, int space, const int64_t *kernel, const struct ct_window *window,
                      bool count_padding) {
    static const char who[] = "ct_var_avg_pool";
    struct ct_window w = ct__filled(window);
    ct_var windows = flat_windows(who, x, space, kernel, &w);
    const ct_tensor *t = ct__operand(windows);
    if (!t)
        return ct__null_of(x);
    if (count_padding || !is_padded(&w, space))
        return ct_var_mean(windows, -1, false);
    ct_tensor *present = presence(x, space, kernel, &w);
    ct_tensor *count = present ? ct_sum(present, -1, false) : NULL;
    ct_tensor *lifted = count ? ct_astype(count, ct_dtype(t)) : NULL;
    ct_free(present);
    ct_free(count);
    ct_var items = ct__put_constant(windows, lifted);
    ct_var sum = ct_var_sum(windows, -1, false);
    return DIV(sum, items);
}

ct_var ct_var_avg_pool(ct_var x, const int64_t *kernel, const struct ct_window *window,
                       bool count_padding) {
    int space = space_of(__func__, x);
    if (!space || !kernel)
        return ct__null_of(x);
    ct__begin_windows(x, "avg_pool", space, kernel, window);
    ct_var y = mean_of(x, space, kernel, window, count_padding);
    ct_scope_end(x.tape);
    return y;
}
