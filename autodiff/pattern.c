/* Patterns: the function recorded over marked items, 512 columns at a time. */

#include "autodiff/derivatives_impl.h"
#include "autodiff/sparse_impl.h"

#include "tensor/alloc.h"
#include "tensor/checked.h"
#include "tensor/fail.h"

#include <string.h>

/* Entries in the order in which they are found: by chunk, row, column. */
struct found {
    size_t count, room;
    size_t (*entry)[2]; /* row and column */
};

static bool add_entry(struct found *f, size_t row, size_t column) {
    if (f->count == f->room) {
        size_t room = f->room ? 2 * f->room : 64;
        size_t(*grown)[2] = ct__array(room, sizeof *grown);
        if (!grown)
            return false;
        if (f->count > 0)
            memcpy(grown, f->entry, f->count * sizeof *grown);
        ct__free(f->entry);
        f->entry = grown;
        f->room = room;
    }
    f->entry[f->count][0] = row;
    f->entry[f->count++][1] = column;
    return true;
}

static bool add_marks(struct found *f, size_t row, size_t first, const struct ct__marked *item) {
    for (int w = 0; w < CT__MARK_WORDS; w++)
        for (uint64_t left = item->marks[w]; left; left &= left - 1)
            if (!add_entry(f, row, first + 64 * (size_t)w + (size_t)__builtin_ctzll(left)))
                return false;
    return true;
}

/* --- a chunk --- */

struct search {
    const char *who;
    ct_function *fn;
    void *context;
    size_t n, which;
    const ct_tensor *const *inputs;
    bool gradient;
    size_t rows;
};

/* An input over marked items; those of the chunk that starts at `first` carry a mark each. */
static ct_tensor *marked_input(const struct search *s, size_t i, size_t first) {
    const ct_tensor *x = s->inputs[i];
    size_t count = ct_count(x);
    double *values = ct__array(count, sizeof *values);
    ct_tensor *t = ct_zeros(&ct__scalar_marked, ct_rank(x), ct_shape(x));
    struct ct__marked *items = t ? ct_data_for_write(t) : NULL;
    bool made = values && t && (items || count == 0) && ct_to_doubles(x, count, values) == CT_OK;
    for (size_t k = 0; made && k < count; k++) {
        items[k] = (struct ct__marked){.value = values[k]};
        if (i == s->which && k >= first && k - first < CT__MARKS)
            items[k].marks[(k - first) / 64] = (uint64_t)1 << (k - first) % 64;
    }
    ct__free(values);
    if (!made)
        ct_free(t), t = NULL;
    return t;
}

static ct_status open_inputs(const struct search *s, size_t first, ct_tensor **marked) {
    for (size_t i = 0; i < s->n; i++) {
        if (!s->inputs[i])
            return ct__fail_input(s->who, i);
        marked[i] = ct__is_active(s->inputs[i]) ? marked_input(s, i, first) : ct_copy(s->inputs[i]);
        if (!marked[i])
            return ct__fail(ct_error()->code == CT_OK ? CT_ENOMEM : ct_error()->code, s->who, "%s",
                            ct_error()->code == CT_OK ? "out of memory" : ct_error()->message);
    }
    return CT_OK;
}

static ct_status read_marks(struct search *s, const struct ct__recording *r, size_t first,
                            struct found *found) {
    ct_tensor *t = ct__value_of(r, s->gradient ? r->dx[s->which] : r->y);
    if (!t)
        return ct_error()->code;
    const struct ct__marked *items = ct_count(t) ? ct_data(t) : NULL;
    ct_status status = CT_OK;
    if (first > 0 && ct_count(t) != s->rows)
        status = ct__fail(CT_EINVAL, s->who, "the function returned another shape than before");
    s->rows = ct_count(t);
    for (size_t i = 0; status == CT_OK && i < s->rows; i++)
        if (!add_marks(found, i, first, &items[i]))
            status = ct__fail(CT_ENOMEM, s->who, "out of memory");
    ct_free(t);
    return status;
}

static ct_status search_chunk(struct search *s, size_t first, struct found *found) {
    struct ct__recording r = {.who = s->who};
    struct ct__lift plain = {0};
    ct_tensor **marked = ct__array(s->n, sizeof(ct_tensor *));
    ct_status status =
        marked ? open_inputs(s, first, marked) : ct__fail(CT_ENOMEM, s->who, "out of memory");
    if (status == CT_OK)
        status = ct__recording_open(&r, s->who, s->fn, s->context, s->n,
                                    (const ct_tensor *const *)marked, &plain);
    if (status == CT_OK && s->gradient)
        status = ct__recording_gradient(&r);
    if (status == CT_OK)
        status = read_marks(s, &r, first, found);
    ct__recording_close(&r);
    ct__free_all(s->n, marked);
    ct__free(marked);
    return status;
}

/* --- the whole --- */

/* By rows; chunks come in the order of columns, so those of a row stay sorted. */
static ct_pattern *sorted(const struct found *found, size_t rows, size_t columns, bool symmetric) {
    ct_pattern *p = ct__array(1, sizeof *p);
    if (!p)
        return NULL;
    *p = (ct_pattern){
        .rows = rows, .columns = columns, .count = found->count, .symmetric = symmetric};
    p->start = ct__array(rows + 2, sizeof *p->start);
    p->index = ct__array(found->count, sizeof *p->index);
    p->colour = ct__array(columns, sizeof *p->colour);
    p->full_row = ct__array(rows, sizeof *p->full_row);
    p->is_full = ct__array(rows, sizeof *p->is_full);
    if (!p->start || !p->index || !p->colour || !p->full_row || !p->is_full) {
        ct_pattern_free(p);
        return NULL;
    }
    for (size_t e = 0; e < found->count; e++)
        p->start[found->entry[e][0] + 2]++;
    for (size_t i = 2; i < rows + 2; i++)
        p->start[i] += p->start[i - 1];
    for (size_t e = 0; e < found->count; e++)
        p->index[p->start[found->entry[e][0] + 1]++] = found->entry[e][1];
    return p;
}

static ct_pattern *pattern_of(struct search *s) {
    if (s->which >= s->n)
        return ct__fail_null(CT_EINDEX, s->who, "there is no input %zu: there are %zu", s->which,
                             s->n);
    if (!s->inputs || !s->inputs[s->which]) {
        ct__fail_input(s->who, s->which);
        return NULL;
    }
    const ct_tensor *x = s->inputs[s->which];
    if (!ct__is_active(x) || ct_dtype(x)->level > 0)
        return ct__fail_null(CT_EDTYPE, s->who, "the input %zu is %s: give it of a real type",
                             s->which, ct_dtype(x)->name);
    struct found found = {0};
    ct_pattern *p = NULL;
    size_t columns = ct_count(x), first = 0;
    ct_status status = CT_OK;
    do
        status = search_chunk(s, first, &found);
    while (status == CT_OK && (first += CT__MARKS) < columns);
    if (status == CT_OK) {
        p = sorted(&found, s->rows, columns, s->gradient);
        if (!p || !ct__colour(p)) {
            ct__fail(CT_ENOMEM, s->who, "out of memory");
            ct_pattern_free(p);
            p = NULL;
        }
    }
    ct__free(found.entry);
    return p;
}

ct_pattern *ct_jacobian_pattern(ct_function *fn, void *context, size_t n,
                                const ct_tensor *const *inputs, size_t which) {
    return pattern_of(&(struct search){
        .who = __func__, .fn = fn, .context = context, .n = n, .which = which, .inputs = inputs});
}

ct_pattern *ct_hessian_pattern(ct_function *fn, void *context, size_t n,
                               const ct_tensor *const *inputs, size_t which) {
    return pattern_of(&(struct search){.who = __func__,
                                       .fn = fn,
                                       .context = context,
                                       .n = n,
                                       .which = which,
                                       .inputs = inputs,
                                       .gradient = true});
}

void ct_pattern_free(ct_pattern *p) {
    if (!p)
        return;
    ct__free(p->start);
    ct__free(p->index);
    ct__free(p->colour);
    ct__free(p->full_row);
    ct__free(p->is_full);
    ct__free(p);
}

size_t ct_pattern_rows(const ct_pattern *p) {
    return p ? p->rows : 0;
}

size_t ct_pattern_columns(const ct_pattern *p) {
    return p ? p->columns : 0;
}

size_t ct_pattern_count(const ct_pattern *p) {
    return p ? p->count : 0;
}

const size_t *ct_pattern_starts(const ct_pattern *p) {
    return p ? p->start : NULL;
}

const size_t *ct_pattern_indices(const ct_pattern *p) {
    return p ? p->index : NULL;
}

size_t ct_pattern_colours(const ct_pattern *p) {
    return p ? p->colours : 0;
}

size_t ct_pattern_full_rows(const ct_pattern *p) {
    return p ? p->full : 0;
}
