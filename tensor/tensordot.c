/* Contractions over pairs of axes: both operands as matrices, and one product. */

#include "tensor/linalg_impl.h"

#include "tensor/matmul.h"
#include "tensor/names.h"

#include <inttypes.h>

struct contraction {
    int n;
    int a[CT_MAX_RANK], b[CT_MAX_RANK];           // the axes that are summed over, in pairs
    int na, nb;                                   // the number of the others,
    int rest_a[CT_MAX_RANK], rest_b[CT_MAX_RANK]; // and these: the result's, na + nb
    int64_t shape[CT_MAX_RANK];
    const char *names[CT_MAX_RANK];
};

static ct_status check_pairs(const char *who, const ct_tensor *a, const ct_tensor *b,
                             const struct contraction *c) {
    for (int i = 0; i < c->n; i++)
        if (a->shape[c->a[i]] != b->shape[c->b[i]])
            return !who ? CT_ESHAPE
                        : ct__fail(CT_ESHAPE, who,
                                   "tensordot needs extents to agree: %" PRId64
                                   " of axis %d against %" PRId64 " of axis %d",
                                   a->shape[c->a[i]], c->a[i], b->shape[c->b[i]], c->b[i]);
    int rank = a->rank + b->rank - 2 * c->n;
    if (rank > CT_MAX_RANK)
        return !who ? CT_ESHAPE
                    : ct__fail(CT_ESHAPE, who, "the result has %d axes, more than %d", rank,
                               CT_MAX_RANK);
    return CT_OK;
}

static ct_status take_axes(const char *who, const ct_tensor *a, const ct_tensor *b, int n,
                           const int *axes_a, const int *axes_b, struct contraction *c) {
    unsigned mask;
    ct_status status = ct__check_axes(who, a->rank, n, axes_a, &mask);
    if (!status)
        status = ct__check_axes(who, b->rank, n, axes_b, &mask);
    for (int i = 0; i < n && !status; i++) {
        status = ct__check_axis(who, a->rank, axes_a[i], &c->a[i]); // refuses CT_ALL
        if (!status)
            status = ct__check_axis(who, b->rank, axes_b[i], &c->b[i]);
    }
    return status;
}

// The axes that are not summed over, in order; returns their number.
static int others(int rank, int n, const int *axes, int *rest) {
    int count = 0;
    for (int i = 0; i < rank; i++) {
        bool summed = false;
        for (int k = 0; k < n; k++)
            summed |= axes[k] == i;
        if (!summed)
            rest[count++] = i;
    }
    return count;
}

static void plan_result(const ct_tensor *a, const ct_tensor *b, struct contraction *c) {
    c->na = others(a->rank, c->n, c->a, c->rest_a);
    c->nb = others(b->rank, c->n, c->b, c->rest_b);
    for (int i = 0; i < c->na + c->nb; i++) {
        const ct_tensor *t = i < c->na ? a : b;
        int axis = i < c->na ? c->rest_a[i] : c->rest_b[i - c->na];
        c->shape[i] = t->shape[axis];
        c->names[i] = ct__name_of(t, axis);
    }
}

static ct_status plan(const char *who, const ct_tensor *a, const ct_tensor *b, int n,
                      const int *axes_a, const int *axes_b, struct contraction *c) {
    ct_status status = CT_OK;
    c->n = n;
    if (a->scalar != b->scalar)
        return !who ? CT_EDTYPE
                    : ct__fail(CT_EDTYPE, who,
                               "tensordot needs one scalar type: %s and %s were given",
                               a->scalar->name, b->scalar->name);
    if (axes_a || axes_b) {
        status = take_axes(who, a, b, n, axes_a, axes_b, c);
    } else if (n < 0 || n > a->rank || n > b->rank) {
        return !who ? CT_EAXIS
                    : ct__fail(CT_EAXIS, who, "tensordot over %d axes of tensors of rank %d and %d",
                               n, a->rank, b->rank);
    } else {
        for (int i = 0; i < n; i++) {
            c->a[i] = a->rank - n + i;
            c->b[i] = i;
        }
    }
    if (!status)
        status = check_pairs(who, a, b, c);
    if (!status)
        plan_result(a, b, c);
    return status;
}

static int64_t product_of(const ct_tensor *t, int n, const int *axes) {
    int64_t product = 1;
    for (int i = 0; i < n; i++)
        if (t->shape[axes[i]] == 0)
            return 0; // the others need not be a number of items
    for (int i = 0; i < n; i++)
        product *= t->shape[axes[i]];
    return product;
}

// The operand as a matrix: its rows are the axes of `first`, its columns those of `second`.
static ct_tensor *matrix_of(const char *who, const ct_tensor *t, int n, const int *first, int m,
                            const int *second) {
    int order[CT_MAX_RANK];
    memcpy(order, first, sizeof *order * (size_t)n);
    memcpy(order + n, second, sizeof *order * (size_t)m);
    ct_tensor *turned = ct__unnamed(ct__as(who, ct_permute(t, n + m, order)));
    if (!turned)
        return NULL;
    int64_t shape[] = {product_of(t, n, first), product_of(t, m, second)};
    return ct__then(turned, ct__as(who, ct_reshape(turned, 2, shape)));
}

// The matrix of products; without a sum they are rounded once, and keep the sign of a zero.
static ct_tensor *multiply(const char *who, const ct_tensor *left, const ct_tensor *right, int n) {
    return n > 0 ? ct__matmul(who, left, right)
                 : ct__apply(who, CT_OP_mul, 2, (const ct_tensor *[]){left, right});
}

ct_tensor *ct_tensordot(const ct_tensor *a, const ct_tensor *b, int n, const int *axes_a,
                        const int *axes_b) {
    struct contraction c;
    size_t count;
    if (!a || !b)
        return ct__null(__func__);
    if (plan(__func__, a, b, n, axes_a, axes_b, &c))
        return NULL;
    int rank = c.na + c.nb;
    if (ct__check_shape(__func__, a->scalar, rank, c.shape, &count))
        return NULL;
    ct_tensor *result = NULL;
    if (count == 0) {
        result = ct__empty(__func__, a->scalar, rank, c.shape);
    } else {
        ct_tensor *left = matrix_of(__func__, a, c.na, c.rest_a, n, c.a);
        ct_tensor *right = left ? matrix_of(__func__, b, n, c.b, c.nb, c.rest_b) : NULL;
        ct_tensor *product = right ? multiply(__func__, left, right, n) : NULL;
        ct_free(left);
        ct_free(right);
        if (product)
            result = ct__then(product, ct__as(__func__, ct_reshape(product, rank, c.shape)));
    }
    if (result && (a->names || b->names) && ct__names_set(__func__, result, c.names)) {
        ct_free(result);
        return NULL;
    }
    return result;
}

bool ct_can_tensordot(const ct_tensor *a, const ct_tensor *b, int n, const int *axes_a,
                      const int *axes_b) {
    struct contraction c;
    size_t count;
    if (!a || !b || plan(NULL, a, b, n, axes_a, axes_b, &c) ||
        !ct__count_items(a->scalar->size, c.na + c.nb, c.shape, &count) ||
        ct__check_distinct(NULL, c.na + c.nb, c.names))
        return false;
    return count == 0 || // nothing is multiplied
           (n > 0 ? ct_scalar_matmul(a->scalar) != NULL : ct_scalar_has(a->scalar, CT_OP_mul));
}
