/* Maxima and means of windows. */

#include "autodiff/network_impl.h"

#include "tensor/alloc.h"
#include "tensor/ct_convert.h"
#include "tensor/ct_index.h"
#include "tensor/ct_reduce.h"
#include "tensor/fail.h"

static int space_of(const char *who, ct_var x) {
    const ct_tensor *t = ct__operand(x);
    if (t && ct_rank(t) >= 3 && ct_rank(t) <= 2 + CT_MAX_SPACE)
        return ct_rank(t) - 2;
    if (t)
        ct__fail_call(
            who, 1, &x, CT_ESHAPE,
            "an image is [batch, channels, space...] with 1 to 3 axes of space: rank %d was given",
            ct_rank(t));
    return 0;
}

/* Whether each window of an axis has an item of the image. One that starts in the image has its first, and they
   start in order. */
static bool covers(int64_t extent, int64_t kernel, const struct ct_window *w, int s) {
    int64_t last = (ct__places(extent, kernel, w, s) - 1) * w->stride[s], step = w->dilation[s];
    for (int64_t start = 0; start <= last && start < w->before[s]; start += w->stride[s]) {
        int64_t away = w->before[s] - start, first = (away + step - 1) / step;
        if (first >= kernel || first * step - away >= extent)
            return false;
    }
    return last - w->before[s] < extent;
}

/* Windows with the items of each along axis 0, of a variable or, below, of a tensor: [items, batch, channels,
   places...]. Places come last in memory, so that folds and copies run along them. */
static ct_var flat_windows(const char *who, ct_var x, int space, const int64_t *kernel,
                           const struct ct_window *w) {
    ct_var windows = ct__windows(who, x, space, kernel, w);
    const ct_tensor *t = ct__operand(windows);
    int64_t shape[3 + CT_MAX_SPACE] = {1};
    int order[2 + 2 * CT_MAX_SPACE];
    if (!t)
        return windows;
    for (int s = 0; s < space; s++) {
        order[s] = 2 + space + s;
        if (__builtin_mul_overflow(shape[0], kernel[s], &shape[0]))
            return ct__fail_call(who, 1, &x, CT_EOVERFLOW,
                                 "windows of so many items cannot be counted");
    }
    for (int i = 0; i < 2 + space; i++) {
        order[space + i] = i;
        shape[1 + i] = ct_shape(t)[i];
    }
    windows = ct_var_permute(windows, 2 + 2 * space, order);
    return ct_var_reshape(windows, 3 + space, shape);
}

static bool is_padded(const struct ct_window *w, int space) {
    for (int s = 0; s < space; s++)
        if (w->before[s] || w->after[s])
            return true;
    return false;
}

/* What a pool needs of its arguments; the windows themselves are checked where they are made. */
static bool check_pool(const char *who, ct_var x, const int64_t *kernel, const struct ct_window *w,
                       int *space) {
    *space = space_of(who, x);
    if (!*space)
        return false;
    if (!kernel) {
        ct__fail_call(who, 1, &x, CT_EINVAL, "the extents of the windows are NULL");
        return false;
    }
    return ct__check_windows(who, x, *space, kernel, w);
}

static bool check_cover(const char *who, ct_var x, int space, const int64_t *kernel,
                        const struct ct_window *w) {
    const int64_t *shape = ct_shape(ct__value_of(x));
    for (int s = 0; s < space; s++)
        if ((w->before[s] || w->after[s]) && !covers(shape[2 + s], kernel[s], w, s)) {
            ct__fail_call(who, 1, &x, CT_ESHAPE,
                          "axis %d of space: with %lld + %lld of padding, a window of %lld items "
                          "lies in the padding alone",
                          s, (long long)w->before[s], (long long)w->after[s], (long long)kernel[s]);
            return false;
        }
    return true;
}

/* --- maxima --- */

/* Where the items of windows lie in an image: for each place, the flat places of its window's items. An item of the
   padding, which wins only where all others are -infinity too, stands for the first that is none. */
static void list_places(int space, const int64_t *extent, const int64_t *places,
                        const int64_t *kernel, const struct ct_window *w, int64_t *list) {
    int64_t all = 1, items = 1;
    for (int s = 0; s < space; s++)
        all *= places[s], items *= kernel[s];
    for (int64_t place = 0; place < all; place++) {
        int64_t first = -1;
        for (int64_t item = 0; item < items; item++) {
            int64_t flat = 0, scale = 1, p = place, k = item;
            bool inside = true;
            for (int s = space - 1; s >= 0; s--) {
                int64_t at =
                    p % places[s] * w->stride[s] - w->before[s] + k % kernel[s] * w->dilation[s];
                inside = inside && at >= 0 && at < extent[s];
                flat += at * scale;
                scale *= extent[s];
                p /= places[s], k /= kernel[s];
            }
            list[place * items + item] = inside ? flat : -1;
            first = first < 0 && inside ? flat : first;
        }
        for (int64_t item = 0; item < items; item++)
            if (list[place * items + item] < 0)
                list[place * items + item] = first;
    }
}

/* The windows of a tensor, padded below all items: as those of flat_windows. */
static ct_tensor *lowered_windows(const ct_tensor *x, int space, const int64_t *kernel,
                                  const struct ct_window *w) {
    int64_t before[2 + CT_MAX_SPACE] = {0}, after[2 + CT_MAX_SPACE] = {0};
    struct ct_window plain = *w;
    for (int s = 0; s < space; s++) {
        before[2 + s] = w->before[s], after[2 + s] = w->after[s];
        plain.before[s] = plain.after[s] = 0;
    }
    ct_tensor *padded = is_padded(w, space) ? ct_pad(x, 2 + space, before, after, CT_PAD_CONSTANT,
                                                     -(double)INFINITY)
                                            : ct_copy(x);
    ct_tape *tape = padded ? ct_tape_new() : NULL;
    ct_var v = tape ? ct_constant(tape, padded, NULL) : ct_var_null();
    ct_tensor *windows =
        tape ? ct_copy(ct_value(flat_windows("ct_var_max_pool", v, space, kernel, &plain))) : NULL;
    ct_free(padded);
    ct_tape_free(tape);
    return windows;
}

/* Puts for each number of an item in its window, `at`, [batch, channels, all places], its place in the image. */
static ct_status look_up(ct_tensor *at, int space, const int64_t *extent, const int64_t *places,
                         const int64_t *kernel, const struct ct_window *w) {
    int64_t all = ct_extent(at, -1), items = 1;
    if (ct_count(at) == 0)
        return CT_OK;
    for (int s = 0; s < space; s++)
        items *= kernel[s];
    int64_t *number = ct_data_for_write(at);
    int64_t *list = number ? ct__alloc((size_t)(all * items) * sizeof *list) : NULL;
    if (!number)
        return ct_error()->code;
    if (!list)
        return ct__fail(CT_ENOMEM, "ct_var_max_pool",
                        "there is no memory for the places of windows");
    list_places(space, extent, places, kernel, w, list);
    for (size_t i = 0; i < ct_count(at); i++)
        number[i] = list[(int64_t)(i % (size_t)all) * items + number[i]];
    ct__free(list);
    return CT_OK;
}

/* For each window the flat place, in its image, of its first maximum: [batch, channels, all places]. */
static ct_tensor *winners(const ct_tensor *x, int space, const int64_t *kernel,
                          const struct ct_window *w, const int64_t *places, int64_t all) {
    ct_tensor *windows = lowered_windows(x, space, kernel, w);
    ct_tensor *first = windows ? ct_argmax(windows, 0, false) : NULL;
    ct_free(windows);
    ct_tensor *at =
        first ? ct_reshape(first, 3, (int64_t[]){ct_shape(x)[0], ct_shape(x)[1], all}) : NULL;
    ct_free(first); /* so that the other is alone and written in place */
    if (at && look_up(at, space, ct_shape(x) + 2, places, kernel, w) == CT_OK)
        return at;
    ct_free(at);
    return NULL;
}

static ct_var largest_of(ct_var x, int space, const int64_t *kernel, const struct ct_window *w) {
    const ct_tensor *t = ct__value_of(x);
    int64_t shape[2 + CT_MAX_SPACE] = {ct_shape(t)[0], ct_shape(t)[1]}, items = 1, all = 1;
    for (int s = 0; s < space; s++) {
        shape[2 + s] = ct__places(ct_shape(t)[2 + s], kernel[s], w, s);
        if (__builtin_mul_overflow(items, ct_shape(t)[2 + s], &items) ||
            __builtin_mul_overflow(all, shape[2 + s], &all))
            return ct__fail_call("ct_var_max_pool", 1, &x, CT_EOVERFLOW,
                                 "an image of so many items cannot be counted");
    }
    ct_var at = ct__put_constant(x, winners(t, space, kernel, w, shape + 2, all));
    ct_var flat = ct_var_reshape(x, 3, (int64_t[]){shape[0], shape[1], items});
    return ct_var_reshape(ct_var_gather(flat, 2, at), 2 + space, shape);
}

ct_var ct_var_max_pool(ct_var x, const int64_t *kernel, const struct ct_window *window) {
    struct ct_window w = ct__filled(window);
    int space;
    if (!check_pool(__func__, x, kernel, &w, &space) ||
        !check_cover(__func__, x, space, kernel, &w))
        return ct__null_of(x);
    ct__begin_windows(x, "max_pool", space, kernel, window);
    ct_var y = largest_of(x, space, kernel, &w);
    ct_scope_end(x.tape);
    return y;
}

ct_var ct_var_global_max_pool(ct_var x) {
    int space = space_of(__func__, x);
    return space ? ct_var_max_pool(x, ct_shape(ct__value_of(x)) + 2, NULL) : ct__null_of(x);
}

/* --- means --- */

/* How many items of an image of x's space each window has: [1, 1, places...]. */
static ct_tensor *items_of_windows(ct_var x, int space, const int64_t *kernel,
                                   const struct ct_window *w) {
    const ct_tensor *t = ct__value_of(x);
    int64_t shape[2 + CT_MAX_SPACE] = {1, 1};
    ct_tape *tape = ct_tape_new();
    for (int s = 0; s < space; s++)
        shape[2 + s] = ct_shape(t)[2 + s];
    ct_tensor *ones = tape ? ct_ones(CT_F64, 2 + space, shape) : NULL;
    ct_var v = ones ? ct_constant(tape, ones, NULL) : ct_var_null();
    ct_var windows = ones ? flat_windows("ct_var_avg_pool", v, space, kernel, w) : v;
    ct_tensor *count = ones ? ct_sum(ct_value(windows), 0, false) : NULL;
    ct_tensor *lifted = count ? ct_astype(count, ct_dtype(t)) : NULL;
    ct_free(ones);
    ct_free(count);
    ct_tape_free(tape);
    return lifted;
}

static ct_var mean_of(ct_var x, int space, const int64_t *kernel, const struct ct_window *w,
                      bool count_padding) {
    ct_var windows = flat_windows("ct_var_avg_pool", x, space, kernel, w);
    if (!ct__operand(windows))
        return ct__null_of(x);
    if (count_padding || !is_padded(w, space))
        return ct_var_mean(windows, 0, false);
    ct_var items = ct__put_constant(x, items_of_windows(x, space, kernel, w));
    ct_var sum = ct_var_sum(windows, 0, false);
    return DIV(sum, items);
}

ct_var ct_var_avg_pool(ct_var x, const int64_t *kernel, const struct ct_window *window,
                       bool count_padding) {
    struct ct_window w = ct__filled(window);
    int space;
    if (!check_pool(__func__, x, kernel, &w, &space) ||
        !check_cover(__func__, x, space, kernel, &w))
        return ct__null_of(x);
    ct__begin_windows(x, "avg_pool", space, kernel, window);
    ct_var y = mean_of(x, space, kernel, &w, count_padding);
    ct_scope_end(x.tape);
    return y;
}

ct_var ct_var_global_avg_pool(ct_var x) {
    int space = space_of(__func__, x);
    return space ? ct_var_mean_axes(x, space, (const int[]){2, 3, 4}, true) : ct__null_of(x);
}
