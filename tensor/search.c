#include "tensor/ct_index.h"
#include "tensor/fail.h"
#include "tensor/parallel.h"
#include "tensor/sort.h"

#include <string.h>

// --- searching

// Rows of sorted items, and dense values that are looked for in them.
struct search {
    struct ct__order order;
    const char *sorted, *values;
    size_t n;    // items of a row
    size_t each; // values of a row
    bool right;
    int64_t *out;
};

// The first item that does not come before the value or, with `right`, that the value comes before.
static int64_t find_place(const struct search *s, const char *row, const char *value) {
    size_t low = 0, high = s->n, size = s->order.scalar->size;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const char *item = row + middle * size;
        bool before =
            s->right ? !ct__precedes(&s->order, value, item) : ct__precedes(&s->order, item, value);
        low = before ? middle + 1 : low;
        high = before ? high : middle;
    }
    return (int64_t)low;
}

// The same by keys; the value's is made once.
static int64_t find_place_by_key(const struct search *s, const char *row, const char *value) {
    size_t low = 0, n = s->n, size = s->order.scalar->size;
    uint64_t key = s->order.key(value);
    while (n > 0) {
        size_t half = n / 2;
        uint64_t item = s->order.key(row + (low + half) * size);
        bool before = item < key || (s->right && item == key);
        low = before ? low + half + 1 : low;
        n = before ? n - half - 1 : half;
    }
    return (int64_t)low;
}

static void search_range(void *context, size_t begin, size_t end) {
    const struct search *s = context;
    size_t size = s->order.scalar->size;
    for (size_t i = begin; i < end; i++) {
        const char *row = s->sorted + i / s->each * s->n * size, *value = s->values + i * size;
        s->out[i] = s->order.key ? find_place_by_key(s, row, value) : find_place(s, row, value);
    }
}

static ct_status check(const char *who, const ct_tensor *sorted, const ct_tensor *values) {
    if (sorted->scalar != values->scalar)
        return ct__fail(CT_EDTYPE, who, "the sorted items are %s and the values %s",
                        sorted->scalar->name, values->scalar->name);
    if (sorted->rank == 0)
        return ct__fail(CT_ESHAPE, who, "the sorted items need an axis and have rank 0");
    if (sorted->rank == 1)
        return CT_OK;
    bool fits = sorted->rank == values->rank;
    for (int i = 0; fits && i < sorted->rank - 1; i++)
        fits = sorted->shape[i] == values->shape[i];
    if (fits)
        return CT_OK;
    char a[CT__SHAPE_TEXT_BYTES], b[CT__SHAPE_TEXT_BYTES];
    ct__format_shape(a, sizeof a, sorted->rank, sorted->shape);
    ct__format_shape(b, sizeof b, values->rank, values->shape);
    return ct__fail(CT_ESHAPE, who,
                    "sorted items of shape %s and values of shape %s differ before the last axis",
                    a, b);
}

enum { GRAIN = 1 << 12 }; // values; fewer are not worth waking a thread for

ct_tensor *ct_searchsorted(const ct_tensor *sorted, const ct_tensor *values, bool right) {
    struct search s = {.right = right};
    if (!sorted || !values)
        return ct__null(__func__);
    if (check(__func__, sorted, values) ||
        ct__find_order(__func__, sorted->scalar, false, &s.order))
        return NULL;
    ct_tensor *rows = ct__dense_rows(__func__, sorted, sorted->rank - 1);
    ct_tensor *dense = rows ? ct__dense_rows(__func__, values, CT_ALL) : NULL;
    ct_tensor *out = dense ? ct__empty(__func__, CT_I64, values->rank, values->shape) : NULL;
    if (out && out->count > 0) {
        s.sorted = ct__first(rows);
        s.values = ct__first(dense);
        s.n = (size_t)sorted->shape[sorted->rank - 1];
        s.each = sorted->rank == 1 ? values->count : (size_t)values->shape[values->rank - 1];
        s.out = (int64_t *)(void *)ct__first(out);
        ct__parallel_for(out->count, GRAIN, search_range, &s);
    }
    if (out)
        ct__names_like(out, values);
    ct_free(rows);
    ct_free(dense);
    return out;
}

// --- order

bool ct_is_sorted(const ct_tensor *t, int axis, bool descending) {
    struct ct__order order;
    if (!t || ct__find_order(NULL, t->scalar, descending, &order) ||
        (axis != CT_ALL && ct__check_axis(NULL, t->rank, axis, &axis)))
        return false;
    if (t->count == 0)
        return true;
    ptrdiff_t size = (ptrdiff_t)t->scalar->size;
    int64_t extent = axis == CT_ALL ? (int64_t)t->count : t->shape[axis];
    struct ct__nest nest; // its innermost loops walk what has to be in order
    ct__nest_start(&nest, 1);
    for (int i = 0; i < t->rank; i++)
        if (i != axis)
            ct__nest_add(&nest, t->shape[i], &t->strides[i]);
    if (axis != CT_ALL)
        ct__nest_add(&nest, extent, &t->strides[axis]);
    struct ct__walk walk;
    const char *last = NULL;
    ct__walk_start(&walk, &nest, nest.rank, 0);
    for (size_t i = 0; i < t->count; i++, ct__walk_next(&walk, &nest, nest.rank)) {
        const char *item = ct__first(t) + walk.at[0] * size;
        if (i % (size_t)extent != 0 && ct__precedes(&order, item, last))
            return false;
        last = item;
    }
    return true;
}
