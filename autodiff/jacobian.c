/* Jacobians and Hessians whole: a backward pass per row, or an evaluation per eight columns. */

#include "autodiff/derivatives_impl.h"

#include "dual/ct_dual.h"
#include "tensor/fail.h"

#include <string.h>

/* A matrix of derivatives of `rows` items for the items of an input, row-major. */
struct matrix {
    ct_tensor *tensor; /* of the shape of the rows followed by that of the input */
    size_t rows, columns, item;
    char *data;
};

static ct_status open_matrix(const struct ct__recording *r, const ct_scalar *scalar,
                             const ct_tensor *from, const ct_tensor *to, struct matrix *m) {
    int64_t shape[2 * CT_MAX_RANK];
    int rank = ct_rank(from) + ct_rank(to);
    if (rank > CT_MAX_RANK)
        return ct__fail(CT_ESHAPE, r->who,
                        "the result would have %d + %d axes: there are at most %d", ct_rank(from),
                        ct_rank(to), CT_MAX_RANK);
    memcpy(shape, ct_shape(from), (size_t)ct_rank(from) * sizeof *shape);
    memcpy(shape + ct_rank(from), ct_shape(to), (size_t)ct_rank(to) * sizeof *shape);
    m->tensor = ct_zeros(scalar, rank, shape);
    if (!m->tensor)
        return ct__recording_error(r);
    m->rows = ct_count(from);
    m->columns = ct_count(to);
    m->item = scalar->size;
    m->data = ct_data_for_write(m->tensor);
    return m->data || ct_count(m->tensor) == 0 ? CT_OK : ct__recording_error(r);
}

static ct_status put_row(const struct ct__recording *r, const struct matrix *m, size_t row,
                         ct_var v) {
    ct_tensor *t = ct__value_of(r, v);
    if (!t)
        return ct_error()->code;
    if (m->columns > 0)
        memcpy(m->data + row * m->columns * m->item, ct_data(t), m->columns * m->item);
    ct_free(t);
    return CT_OK;
}

/* Takes the view of a column's items. */
static ct_status put_column(const struct ct__recording *r, const struct matrix *m, size_t column,
                            ct_tensor *view) {
    ct_tensor *t = view ? ct_compact(view) : NULL;
    ct_free(view);
    if (!t)
        return ct__recording_error(r);
    if (ct_count(t) != m->rows) {
        ct_free(t);
        return ct__fail(CT_EINVAL, r->who,
                        "the function returned another shape than before: it must "
                        "record the same computation each time");
    }
    const char *from = m->rows > 0 ? ct_data(t) : NULL;
    for (size_t i = 0; i < m->rows; i++)
        memcpy(m->data + (i * m->columns + column) * m->item, from + i * m->item, m->item);
    ct_free(t);
    return CT_OK;
}

/* --- by rows --- */

static ct_status fill_rows(struct ct__recording *r, size_t which, const struct matrix *m) {
    ct_mark mark = ct_tape_mark(r->tape);
    ct_status status = CT_OK;
    for (size_t row = 0; status == CT_OK && row < m->rows; row++) {
        ct_var dx;
        ct_tensor *one = ct__one_at(ct_value(r->y), row);
        ct_var u = ct_constant(r->tape, one, NULL);
        ct_free(one);
        status = ct_grad(r->y, u, 1, &r->x[which], &dx) == CT_OK ? put_row(r, m, row, dx)
                                                                 : ct__recording_error(r);
        ct_tape_rewind(r->tape, mark);
    }
    return status;
}

/* --- by columns --- */

/* What is differentiated by columns: a function and an input. */
struct by_columns {
    const char *who;
    ct_function *fn;
    void *context;
    size_t n;
    const ct_tensor *const *inputs;
    size_t which;  /* the columns are its items */
    bool gradient; /* of the gradient for `row_input` instead of the value */
    size_t row_input;
};

static ct_status record_columns(const struct by_columns *c, size_t at, int width,
                                struct ct__recording *r) {
    ct_tensor *seeds[CT__MOST_TANGENTS] = {0};
    const ct_tensor *x = c->inputs[c->which];
    bool seeded = true;
    for (int k = 0; k < width && at + (size_t)k < ct_count(x); k++)
        seeded = (seeds[k] = ct__one_at(x, at + (size_t)k)) != NULL && seeded;
    struct ct__lift lift = {.tangents = width, .which = c->which, .several = seeds};
    *r = (struct ct__recording){.who = c->who};
    ct_status status =
        seeded ? ct__recording_open(r, c->who, c->fn, c->context, c->n, c->inputs, &lift)
               : ct__recording_error(r);
    ct__free_all(CT__MOST_TANGENTS, seeds);
    if (status == CT_OK && c->gradient)
        status = ct__recording_gradient(r);
    return status;
}

static ct_status fill_columns(const struct by_columns *c, const struct matrix *m) {
    const ct_tensor *x = c->inputs[c->which];
    ct_status status = CT_OK;
    for (size_t at = 0; status == CT_OK && at < ct_count(x);) {
        struct ct__recording r;
        int width = ct__tangents_for(ct_dtype(x), ct_count(x) - at);
        status = record_columns(c, at, width, &r);
        ct_var from = status == CT_OK ? c->gradient ? r.dx[c->row_input] : r.y : ct_var_null();
        for (int k = 0; status == CT_OK && k < width && at < ct_count(x); k++, at++)
            status = put_column(&r, m, at, ct_dual_tangent_at(ct_value(from), k));
        ct__recording_close(&r);
    }
    return status;
}

static ct_tensor *finish(ct_status status, struct matrix *m) {
    if (status == CT_OK)
        return m->tensor;
    ct_free(m->tensor);
    return NULL;
}

/* --- what is asked for --- */

static ct_status check_which(const char *who, ct_function *fn, size_t n,
                             const ct_tensor *const *inputs, size_t which) {
    if (!fn)
        return ct__fail(CT_EINVAL, who, "the function is NULL");
    if (which >= n)
        return ct__fail(CT_EINDEX, who, "there is no input %zu: there are %zu", which, n);
    if (!inputs || !inputs[which])
        return ct__fail_input(who, which);
    if (!ct__is_active(inputs[which]))
        return ct__fail(CT_EDTYPE, who, "the input %zu is %s, which has no derivative", which,
                        ct_dtype(inputs[which])->name);
    return CT_OK;
}

ct_tensor *ct_jacobian(ct_function *fn, void *context, size_t n, const ct_tensor *const *inputs,
                       size_t which, enum ct_mode mode) {
    if (check_which(__func__, fn, n, inputs, which) != CT_OK)
        return NULL;
    if (mode != CT_MODE_AUTO && mode != CT_MODE_REVERSE && mode != CT_MODE_FORWARD)
        return ct__fail_null(CT_EINVAL, __func__, "there is no mode %d", (int)mode);
    const ct_tensor *x = inputs[which];
    struct ct__recording r;
    struct ct__lift plain = {0};
    struct matrix m = {0};
    ct_status status = ct__recording_open(&r, __func__, fn, context, n, inputs, &plain);
    if (status == CT_OK)
        status = open_matrix(&r, ct_dtype(x), ct_value(r.y), x, &m);
    if (mode == CT_MODE_AUTO)
        mode = m.rows <= m.columns ? CT_MODE_REVERSE : CT_MODE_FORWARD;
    if (status == CT_OK && mode == CT_MODE_REVERSE)
        status = fill_rows(&r, which, &m);
    ct__recording_close(&r);
    if (status == CT_OK && mode == CT_MODE_FORWARD)
        status = fill_columns(&(struct by_columns){.who = __func__,
                                                   .fn = fn,
                                                   .context = context,
                                                   .n = n,
                                                   .inputs = inputs,
                                                   .which = which},
                              &m);
    return finish(status, &m);
}

ct_tensor *ct_hessian(ct_function *fn, void *context, size_t n, const ct_tensor *const *inputs,
                      size_t i, size_t j) {
    if (check_which(__func__, fn, n, inputs, i) != CT_OK ||
        check_which(__func__, fn, n, inputs, j) != CT_OK)
        return NULL;
    struct ct__recording r = {.who = __func__};
    struct matrix m = {0};
    struct by_columns c = {.who = __func__,
                           .fn = fn,
                           .context = context,
                           .n = n,
                           .inputs = inputs,
                           .which = j,
                           .gradient = true,
                           .row_input = i};
    ct_status status = open_matrix(&r, ct_dtype(inputs[j]), inputs[i], inputs[j], &m);
    if (status == CT_OK)
        status = fill_columns(&c, &m);
    return finish(status, &m);
}
