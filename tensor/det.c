/* Determinants. */

#include "tensor/ct_index.h"
#include "tensor/ct_make.h"
#include "tensor/ct_ops.h"
#include "tensor/ct_reduce.h"
#include "tensor/factor_impl.h"

#include "tensor/fail.h"

// --- without division

/* A step of Bird's: f becomes mu(f) a, where mu keeps what lies above the diagonal of f, and has on it minus the
   sum of f's diagonal beyond each place. `one` is a mask of the diagonal, `beyond` ones below it. */
static ct_tensor *bird_step(const char *who, const ct_tensor *f, const ct_tensor *a,
                            const ct_tensor *one, const ct_tensor *beyond) {
    ct_tensor *t = ct__as(who, ct_diagonal(f, 0, -2, -1));
    t = ct__then(t, t ? ct__as(who, ct_matmul(t, beyond)) : NULL);
    t = ct__then(t, t ? ct__as(who, ct_neg(t)) : NULL);
    t = ct__then(t, t ? ct__as(who, ct_expand_dims(t, -1)) : NULL);
    ct_tensor *above = t ? ct__as(who, ct_triu(f, 1)) : NULL;
    ct_tensor *mu = above ? ct__as(who, ct_where(one, t, above)) : NULL;
    ct_tensor *next = mu ? ct__as(who, ct_matmul(mu, a)) : NULL;
    ct_free(mu);
    ct_free(above);
    ct_free(t);
    return next;
}

/* The first item of each matrix, its sign turned for an even n. */
static ct_tensor *corner(const char *who, const ct_tensor *f, int64_t n) {
    ct_tensor *t = ct__as(who, ct_select(f, -1, 0));
    t = ct__then(t, t ? ct__as(who, ct_select(t, -1, 0)) : NULL);
    return n % 2 ? t : ct__then(t, t ? ct__as(who, ct_neg(t)) : NULL);
}

/* Bird, A simple division-free algorithm for computing determinants, 2011: n products of matrices, over any
   ring, so that it is right where no pivot has an inverse. */
static ct_tensor *bird(const char *who, const ct_tensor *a) {
    int64_t n = a->shape[a->rank - 1];
    ct_tensor *one = ct__as(who, ct_eye(CT_BOOL, n, n, 0));
    ct_tensor *ones = one ? ct__as(who, ct_ones(a->scalar, 2, (int64_t[]){n, n})) : NULL;
    ct_tensor *beyond = ones ? ct__as(who, ct_tril(ones, -1)) : NULL;
    ct_tensor *f = beyond ? ct__share(who, a) : NULL;
    for (int64_t k = 1; k < n && f; k++)
        f = ct__then(f, bird_step(who, f, a, one, beyond));
    ct_tensor *det = f ? corner(who, f, n) : NULL;
    ct_free(f);
    ct_free(beyond);
    ct_free(ones);
    ct_free(one);
    return det;
}

// --- of duals

size_t ct__first_zero(const ct_tensor *t) {
    size_t i = 0;
    while (i < t->count && t->scalar->to_double(t->scalar, ct__item_at(t, i)) != 0)
        i++;
    return i;
}

/* Where det is 0, its value with the tangents of exact; elsewhere det. A dual's value comes first. */
static ct_tensor *with_tangents(const char *who, const ct_tensor *det, const ct_tensor *exact) {
    const ct_scalar *scalar = det->scalar, *number = scalar;
    while (number->base)
        number = number->base;
    ct_tensor *dense = ct__dense_copy(who, exact);
    for (size_t i = 0; dense && i < dense->count; i++) {
        const char *item = ct__first(det) + i * scalar->size;
        bool zero = scalar->to_double(scalar, item) == 0;
        memcpy(ct__first(dense) + i * scalar->size, item, zero ? number->size : scalar->size);
    }
    return dense;
}

/* Elimination passes over a column of zeros, and with it over their tangents. */
ct_tensor *ct__det_of(const char *who, const struct ct__lu *lu, const ct_tensor *a) {
    ct_tensor *det = ct__lu_det(who, lu);
    if (!det || !a->scalar->base || ct__first_zero(det) == det->count)
        return det;
    ct_tensor *bare = ct__unnamed(ct__share(who, a));
    ct_tensor *exact = bare ? bird(who, bare) : NULL;
    ct_tensor *whole = exact ? with_tangents(who, det, exact) : NULL;
    ct_free(exact);
    ct_free(bare);
    return ct__then(det, whole);
}

ct_tensor *ct_det(const ct_tensor *a) {
    struct ct__lu lu;
    if (!a)
        return ct__null(__func__);
    if (ct__lu_of(__func__, a, &lu))
        return NULL;
    ct_tensor *det = ct__det_of(__func__, &lu, a);
    ct__lu_free(&lu);
    return det;
}
