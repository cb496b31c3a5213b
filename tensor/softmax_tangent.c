/* Softmax and its kin of values with tangents. The compositions in softmax.c replace infinities by
   constants, whose tangents are not those of the limits; here the value comes from the base type,
   and a tangent by the Jacobian, which is what the tape's pulls use. */

#include "tensor/softmax_impl.h"

#include "tensor/alloc.h"
#include "tensor/ct_ops.h"
#include "tensor/fail.h"

#include <math.h>

/* What all tangents of one call need: the softmax, and the values by which rows all -infinity are
   told, along whose axes those are. */
struct jacobian {
    ct_tensor *p;
    ct_tensor *marks;
    struct ct__axes rows;
};

/* One tangent of the result from one of the operand. */
typedef ct_tensor *tangent_fn(const struct jacobian *j, const ct_tensor *x);

/* The sum of x p along the rows, kept. */
static ct_tensor *weighed(const struct jacobian *j, const ct_tensor *x) {
    ct_tensor *products = ct_smul(x, j->p);
    ct_tensor *sum = products ? ct_sum_axes(products, j->rows.n, j->rows.axes, true) : NULL;
    ct_free(products);
    return sum;
}

static ct_tensor *softmax_tangent(const struct jacobian *j, const ct_tensor *x) {
    ct_tensor *mean = weighed(j, x), *gap = mean ? ct_sub(x, mean) : NULL;
    ct_tensor *out = gap ? ct_smul(gap, j->p) : NULL;
    ct_free(mean);
    ct_free(gap);
    return out;
}

/* In a row that is all -infinity a tangent is 0. */
static ct_tensor *marked(const struct jacobian *j, ct_tensor *x) {
    return ct__then(x, x ? ct__replaced(x, j->marks, (double)-INFINITY, 0) : NULL);
}

static ct_tensor *log_softmax_tangent(const struct jacobian *j, const ct_tensor *x) {
    ct_tensor *mean = weighed(j, x), *gap = mean ? ct_sub(x, mean) : NULL;
    ct_free(mean);
    return marked(j, gap);
}

static ct_tensor *logsumexp_tangent(const struct jacobian *j, const ct_tensor *x) {
    return marked(j, weighed(j, x));
}

/* Fills parts[1] to parts[n - 1]; fails too where the value is missing. */
static bool make_tangents(const ct_tensor *t, size_t n, ct_tensor *parts[], tangent_fn *fn,
                          const struct jacobian *j) {
    const ct_scalar *base = t->scalar->base;
    bool good = parts[0] != NULL;
    for (size_t i = 1; i < n && good; i++) {
        ct_tensor *x = ct_component(t, base, i * base->size);
        parts[i] = x ? fn(j, x) : NULL;
        good = parts[i] != NULL;
        ct_free(x);
    }
    return good;
}

/* The result of a value, which is taken, and the tangents that go with it. */
static ct_tensor *with_tangents(const char *who, const ct_tensor *t, ct_tensor *value,
                                tangent_fn *fn, const struct jacobian *j) {
    size_t n = t->scalar->size / t->scalar->base->size;
    ct_tensor **parts = ct__alloc_zero(n * sizeof *parts), *out = NULL;
    if (!parts) {
        ct_free(value);
        return ct__fail_null(CT_ENOMEM, who, "there is no memory for %zu tangents", n);
    }
    parts[0] = value;
    if (make_tangents(t, n, parts, fn, j))
        out = ct_from_components(t->scalar, n, (const ct_tensor *const *)parts);
    for (size_t i = 0; i < n; i++)
        ct_free(parts[i]);
    ct__free(parts);
    return out;
}

ct_tensor *ct__softmax_tangent(const ct_tensor *t, struct ct__axes rows) {
    ct_tensor *x = ct_component(t, t->scalar->base, 0), *out = NULL;
    struct jacobian j = {.p = x ? ct__softmax(x, rows) : NULL, .rows = rows};
    if (j.p)
        out = with_tangents("ct_softmax", t, ct_copy(j.p), softmax_tangent, &j);
    ct_free(x);
    ct_free(j.p);
    return out;
}

ct_tensor *ct__log_softmax_tangent(const ct_tensor *t, struct ct__axes rows) {
    ct_tensor *x = ct_component(t, t->scalar->base, 0), *out = NULL;
    ct_tensor *y = x ? ct__log_softmax(x, rows) : NULL;
    struct jacobian j = {.p = y ? ct_exp(y) : NULL, .rows = rows};
    j.marks = j.p ? ct_max_axes(x, rows.n, rows.axes, true) : NULL;
    if (j.marks)
        out = with_tangents("ct_log_softmax", t, ct_copy(y), log_softmax_tangent, &j);
    ct_free(x);
    ct_free(y);
    ct_free(j.p);
    ct_free(j.marks);
    return out;
}

ct_tensor *ct__logsumexp_tangent(const ct_tensor *t, struct ct__axes rows) {
    ct_tensor *x = ct_component(t, t->scalar->base, 0), *out = NULL;
    struct jacobian j = {.p = x ? ct__softmax(x, rows) : NULL, .rows = rows};
    j.marks = j.p ? ct__logsumexp(x, rows) : NULL;
    if (j.marks)
        out = with_tangents("ct_logsumexp", t, ct_copy(j.marks), logsumexp_tangent, &j);
    ct_free(x);
    ct_free(j.p);
    ct_free(j.marks);
    return out;
}
