/* Sparse Jacobians and Hessians by colours: a tangent is the sum of the unit vectors of one. */

#include "autodiff/derivatives_impl.h"
#include "autodiff/sparse_impl.h"

#include "dual/ct_dual.h"
#include "tensor/alloc.h"
#include "tensor/fail.h"

#include <string.h>

struct work {
    const char *who;
    ct_function *fn;
    void *context;
    size_t n, which;
    const ct_tensor *const *inputs;
    const ct_pattern *p;
    const ct_scalar *scalar;
    char *entries;
};

/* --- seeds and answers --- */

/* Ones at the columns of a colour; of the input's shape. */
static ct_tensor *seed_of(const struct work *w, size_t colour) {
    const ct_tensor *x = w->inputs[w->which];
    ct_tensor *t = ct_zeros(w->scalar, ct_rank(x), ct_shape(x));
    char *data = ct_data_for_write(t);
    for (size_t j = 0; data && j < w->p->columns; j++)
        if (w->p->colour[j] == colour)
            w->scalar->from_double(w->scalar, data + j * w->scalar->size, 1);
    if (!data)
        ct_free(t), t = NULL;
    return t;
}

static ct_status record_colours(const struct work *w, size_t first, int width,
                                struct ct__recording *r) {
    ct_tensor *seeds[CT__MOST_TANGENTS] = {0};
    bool seeded = true;
    for (int k = 0; k < width && first + (size_t)k < w->p->colours; k++)
        seeded = (seeds[k] = seed_of(w, first + (size_t)k)) != NULL && seeded;
    struct ct__lift lift = {.tangents = width, .which = w->which, .several = seeds};
    *r = (struct ct__recording){.who = w->who};
    ct_status status =
        seeded ? ct__recording_open(r, w->who, w->fn, w->context, w->n, w->inputs, &lift)
               : ct__recording_error(r);
    ct__free_all(CT__MOST_TANGENTS, seeds);
    return status;
}

/* The products with one colour's seed, dense; NULL and the error otherwise. */
static ct_tensor *answer_of(const struct work *w, const struct ct__recording *r, ct_var v, int k) {
    ct_tensor *view = ct_dual_tangent_at(ct_value(v), k);
    ct_tensor *t = view ? ct_compact(view) : NULL;
    ct_free(view);
    if (!t)
        ct__recording_error(r);
    else if (ct_count(t) != w->p->rows) {
        ct__fail(CT_ESHAPE, w->who, "the pattern has %zu rows, the function gave %zu", w->p->rows,
                 ct_count(t));
        ct_free(t), t = NULL;
    }
    return t;
}

static void put(const struct work *w, size_t entry, const char *items, size_t item) {
    size_t size = w->scalar->size;
    memcpy(w->entries + entry * size, items + item * size, size);
}

/* --- Jacobians --- */

static void put_colour(const struct work *w, size_t colour, const char *items) {
    const ct_pattern *p = w->p;
    for (size_t i = 0; i < p->rows; i++)
        for (size_t e = p->start[i]; !p->is_full[i] && e < p->start[i + 1]; e++)
            if (p->colour[p->index[e]] == colour)
                put(w, e, items, i);
}

/* --- Hessians --- */

/* Whether column j is alone with its colour in row i. */
static bool is_alone(const ct_pattern *p, size_t i, size_t j) {
    for (size_t e = p->start[i]; e < p->start[i + 1]; e++)
        if (p->index[e] != j && p->colour[p->index[e]] == p->colour[j])
            return false;
    return true;
}

/* An entry that is not alone in its row is so in its mirror image's. */
static void put_star(const struct work *w, size_t colour, const char *items) {
    const ct_pattern *p = w->p;
    for (size_t i = 0; i < p->rows; i++)
        for (size_t e = p->start[i]; e < p->start[i + 1]; e++) {
            size_t j = p->index[e];
            if (p->colour[j] == colour && is_alone(p, i, j))
                put(w, e, items, i);
            else if (p->colour[i] == colour && !is_alone(p, i, j))
                put(w, e, items, j);
        }
}

/* --- both --- */

static ct_status run_colours(const struct work *w) {
    ct_status status = CT_OK;
    for (size_t first = 0; status == CT_OK && first < w->p->colours;) {
        struct ct__recording r;
        int width = ct__tangents_for(w->scalar, w->p->colours - first);
        status = record_colours(w, first, width, &r);
        if (status == CT_OK && w->p->symmetric)
            status = ct__recording_gradient(&r);
        for (int k = 0; status == CT_OK && k < width && first < w->p->colours; k++, first++) {
            ct_tensor *t = answer_of(w, &r, w->p->symmetric ? r.dx[w->which] : r.y, k);
            if (!t)
                status = ct_error()->code;
            else if (w->p->symmetric)
                put_star(w, first, ct_data(t));
            else
                put_colour(w, first, ct_data(t));
            ct_free(t);
        }
        ct__recording_close(&r);
    }
    return status;
}

static ct_status run_full_row(const struct work *w, struct ct__recording *r, size_t row) {
    ct_var dx;
    ct_tensor *one = ct__one_at(ct_value(r->y), row);
    ct_var u = one ? ct_constant(r->tape, one, NULL) : ct_var_null();
    bool seeded = one != NULL;
    ct_free(one);
    if (!seeded || ct_grad(r->y, u, 1, &r->x[w->which], &dx) != CT_OK)
        return ct__recording_error(r);
    ct_tensor *t = ct__value_of(r, dx);
    if (!t)
        return ct_error()->code;
    for (size_t e = w->p->start[row]; e < w->p->start[row + 1]; e++)
        put(w, e, ct_data(t), w->p->index[e]);
    ct_free(t);
    return CT_OK;
}

static ct_status run_full_rows(const struct work *w) {
    struct ct__recording r = {.who = w->who};
    struct ct__lift plain = {0};
    if (w->p->full == 0)
        return CT_OK;
    ct_status status = ct__recording_open(&r, w->who, w->fn, w->context, w->n, w->inputs, &plain);
    if (status == CT_OK && ct_count(ct_value(r.y)) != w->p->rows)
        status = ct__fail(CT_ESHAPE, w->who, "the pattern has %zu rows, the function gave %zu",
                          w->p->rows, ct_count(ct_value(r.y)));
    ct_mark mark = r.tape ? ct_tape_mark(r.tape) : (ct_mark){0};
    for (size_t k = 0; status == CT_OK && k < w->p->full; k++) {
        status = run_full_row(w, &r, w->p->full_row[k]);
        ct_tape_rewind(r.tape, mark);
    }
    ct__recording_close(&r);
    return status;
}

static ct_tensor *evaluate(struct work *w, bool symmetric) {
    if (!w->p)
        return ct__fail_null(CT_EINVAL, w->who, "the pattern is NULL");
    if (w->p->symmetric != symmetric)
        return ct__fail_null(CT_EINVAL, w->who, "the pattern is of a %s",
                             symmetric ? "Jacobian" : "Hessian");
    if (w->which >= w->n)
        return ct__fail_null(CT_EINDEX, w->who, "there is no input %zu: there are %zu", w->which,
                             w->n);
    const ct_tensor *x = w->inputs ? w->inputs[w->which] : NULL;
    if (!x) {
        ct__fail_input(w->who, w->which);
        return NULL;
    }
    if (!ct__is_active(x))
        return ct__fail_null(CT_EDTYPE, w->who, "the input %zu is %s, which has no derivative",
                             w->which, ct_dtype(x)->name);
    if (ct_count(x) != w->p->columns)
        return ct__fail_null(CT_ESHAPE, w->who,
                             "the pattern has %zu columns and the input %zu has %zu items",
                             w->p->columns, w->which, ct_count(x));
    w->scalar = ct_dtype(x);
    int64_t shape[] = {(int64_t)w->p->count};
    ct_tensor *entries = ct_zeros(w->scalar, 1, shape);
    w->entries = ct_data_for_write(entries);
    bool made = entries && (w->entries || w->p->count == 0);
    if (made && run_colours(w) == CT_OK && run_full_rows(w) == CT_OK)
        return entries;
    ct_free(entries);
    return NULL;
}

ct_tensor *ct_jacobian_sparse(ct_function *fn, void *context, size_t n,
                              const ct_tensor *const *inputs, size_t which,
                              const ct_pattern *pattern) {
    struct work w = {.who = __func__,
                     .fn = fn,
                     .context = context,
                     .n = n,
                     .which = which,
                     .inputs = inputs,
                     .p = pattern};
    return evaluate(&w, false);
}

ct_tensor *ct_hessian_sparse(ct_function *fn, void *context, size_t n,
                             const ct_tensor *const *inputs, size_t which,
                             const ct_pattern *pattern) {
    struct work w = {.who = __func__,
                     .fn = fn,
                     .context = context,
                     .n = n,
                     .which = which,
                     .inputs = inputs,
                     .p = pattern};
    return evaluate(&w, true);
}

ct_tensor *ct_pattern_dense(const ct_pattern *pattern, const ct_tensor *entries) {
    const char *who = "ct_pattern_dense";
    if (!pattern || !entries)
        return ct__fail_null(CT_EINVAL, who, "the %s NULL", pattern ? "entries are" : "pattern is");
    if (ct_count(entries) != pattern->count)
        return ct__fail_null(CT_ESHAPE, who, "the pattern has %zu entries and %zu were given",
                             pattern->count, ct_count(entries));
    const ct_scalar *scalar = ct_dtype(entries);
    int64_t shape[] = {(int64_t)pattern->rows, (int64_t)pattern->columns};
    ct_tensor *packed = ct_compact(entries), *matrix = ct_zeros(scalar, 2, shape);
    char *to = packed ? ct_data_for_write(matrix) : NULL;
    const char *from = pattern->count ? ct_data(packed) : NULL;
    for (size_t i = 0; to && from && i < pattern->rows; i++)
        for (size_t e = pattern->start[i]; e < pattern->start[i + 1]; e++)
            memcpy(to + (i * pattern->columns + pattern->index[e]) * scalar->size,
                   from + e * scalar->size, scalar->size);
    if (!packed || !matrix)
        ct_free(matrix), matrix = NULL;
    ct_free(packed);
    return matrix;
}
