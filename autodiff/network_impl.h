/* What the compositions of ct_network.h share. */
#ifndef CT_NETWORK_IMPL_H
#define CT_NETWORK_IMPL_H

#include "autodiff/ct_network.h"
#include "autodiff/pull_words.h"

/* The sticky error of a composition: node, name, operands and scope, as an op's has them, and the reason. `who` is
   the public function, ct_var_NAME; operands that are not there are left out. */
ct_var ct__fail_call(const char *who, int n, const ct_var *in, ct_status code, const char *format,
                     ...) __attribute__((format(printf, 5, 6)));

/* A constant of x's scalar type. */
static inline ct_var ct__constant_like(ct_var x, double value) {
    const ct_tensor *t = ct__operand(x);
    return t ? ct_constant_of(x.tape, ct_dtype(t), value) : ct__null_of(x);
}

/* Puts a new tensor on x's tape, and takes it; NULL is the error that made it so. */
static inline ct_var ct__put_constant(ct_var x, ct_tensor *t) {
    if (!t)
        return ct__tape_fail(x.tape, ct_error()->code, "%s", ct_error()->message);
    ct_var v = ct_constant(x.tape, t, NULL);
    ct_free(t);
    return v;
}

/* What kernels, strides, dilations, padding and groups stay below, so that products of two can be
   computed. */
#define CT__MOST ((int64_t)1 << 31)

/* Whether windows fit an image with so many axes of space; false after the sticky error. */
bool ct__check_windows(const char *who, ct_var x, int space, const int64_t *kernel,
                       const struct ct_window *window);
/* How many windows lie along an axis where they fit. */
int64_t ct__places(int64_t extent, int64_t kernel, const struct ct_window *window, int s);
/* The windows of an image, padded with zeros: [batch, channels, places..., kernel...]; checks what
   it uses. `who` is the public function. */
ct_var ct__windows(const char *who, ct_var x, int space, const int64_t *kernel,
                   const struct ct_window *window);
/* Whether the numbers of an axis of space are in their range. */
bool ct__sane_window(const struct ct_window *w, int axis_of_space);
/* The window with its zeros filled in. */
struct ct_window ct__filled(const struct ct_window *window);

/* Whether there is such a reduction; false after the sticky error. */
bool ct__check_reduction(const char *who, ct_var x, enum ct_reduction reduction);
/* Opens a scope that says how windows lie, `conv 3x3, stride 2, padding 1`, so that they can be seen, and folded, in a
   picture; to be closed by ct_scope_end(). Nothing where x or kernel is not there, which fails later. */
void ct__begin_windows(ct_var x, const char *what, int space, const int64_t *kernel,
                       const struct ct_window *window);

/* Losses refuse to broadcast; false after the sticky error. */
bool ct__fit_loss(const char *who, ct_var x, ct_var target, enum ct_reduction reduction);
/* The items, their sum or their mean. */
ct_var ct__gather_items(ct_var items, enum ct_reduction reduction);

#endif
