#include "tensor/ct_index.h"
#include "tensor/fail.h"
#include "tensor/sort.h"

#include <string.h>

// All items as one row in order, and where they stood.
struct ordered {
    struct ct__order order;
    ct_tensor *values, *places;
};

static void free_ordered(struct ordered *o) {
    ct_free(o->values);
    ct_free(o->places);
}

static ct_status make_ordered(const char *who, const ct_tensor *t, struct ordered *o) {
    ct_status status = ct__find_order(who, t->scalar, false, &o->order);
    if (status)
        return status;
    ct_tensor *row = ct__dense_rows(who, t, CT_ALL);
    o->values = row ? ct__empty(who, t->scalar, 1, row->shape) : NULL;
    o->places = o->values ? ct__empty(who, CT_I64, 1, row->shape) : NULL;
    if (!o->places)
        status = ct_error()->code;
    else
        status = ct__sort_rows(who, &o->order, row, t->count, o->values, o->places);
    ct_free(row);
    if (status)
        free_ordered(o);
    return status;
}

static const char *item_at(const struct ordered *o, size_t i) {
    return ct__first(o->values) + i * o->values->scalar->size;
}

// Whether a run of equal items begins.
static bool is_new(const struct ordered *o, size_t i) {
    return i == 0 || ct__precedes(&o->order, item_at(o, i - 1), item_at(o, i));
}

static int64_t *numbers(ct_tensor *t) {
    return t ? (int64_t *)(void *)ct__first(t) : NULL;
}

// Walks the runs; writes what is wanted.
static void write_runs(const struct ordered *o, ct_tensor *values, int64_t *inverse,
                       int64_t *counts) {
    const int64_t *places = numbers(o->places);
    size_t size = o->values->scalar->size, run = 0;
    for (size_t i = 0; i < o->values->count; i++) {
        bool begins = is_new(o, i);
        run += begins && i > 0;
        if (begins && values)
            memcpy(ct__first(values) + run * size, item_at(o, i), size);
        if (counts)
            counts[run] = begins ? 1 : counts[run] + 1;
        if (inverse)
            inverse[places[i]] = (int64_t)run;
    }
}

ct_status ct_unique(const ct_tensor *t, ct_tensor **values, ct_tensor **inverse,
                    ct_tensor **counts) {
    struct ordered o;
    int64_t runs = 0;
    if (!t)
        return ct__fail_null_operand(__func__);
    ct_status status = make_ordered(__func__, t, &o);
    if (status)
        return status;
    for (size_t i = 0; i < t->count; i++)
        runs += is_new(&o, i);
    ct_tensor *v = NULL, *in = NULL, *c = NULL;
    if (values && !(v = ct__empty(__func__, t->scalar, 1, &runs)))
        status = CT_ENOMEM;
    if (!status && inverse && !(in = ct__empty(__func__, CT_I64, t->rank, t->shape)))
        status = ct_error()->code;
    if (!status && counts && !(c = ct__empty(__func__, CT_I64, 1, &runs)))
        status = CT_ENOMEM;
    if (status) {
        ct_free(v);
        ct_free(in);
    } else {
        write_runs(&o, v, numbers(in), numbers(c));
        if (in)
            ct__names_like(in, t);
    }
    free_ordered(&o);
    if (status)
        return status;
    if (values)
        *values = v;
    if (inverse)
        *inverse = in;
    if (counts)
        *counts = c;
    return CT_OK;
}
