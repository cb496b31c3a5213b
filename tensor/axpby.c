/* Scaling, shifting and a x + b y: one pass over the items. */

#include "tensor/ct_write.h"

#include "tensor/elementwise.h"
#include "tensor/fail.h"
#include "tensor/storage.h"

#include <stdio.h>

enum {
    BLOCK = 256,            // items that are worked on at a time, in L1
    SCRATCH_BYTES = 1 << 13 // of them; larger items go through in smaller blocks
};

// --- one constant

// A number as a tensor of rank 0.
static ct_tensor *constant(const char *who, const ct_scalar *scalar, double value) {
    ct_tensor *t = ct__empty(who, scalar, 0, NULL);
    if (t && ct__fill_new(who, t, value)) {
        ct_free(t);
        return NULL;
    }
    return t;
}

static ct_tensor *with_constant(const char *who, enum ct_op op, const ct_tensor *t, double a) {
    if (!t)
        return ct__null(who);
    ct_tensor *c = constant(who, t->scalar, a);
    ct_tensor *result = c ? ct__apply(who, op, 2, (const ct_tensor *[]){t, c}) : NULL;
    ct_free(c);
    return result;
}

static ct_status with_constant_into(const char *who, enum ct_op op, ct_tensor *t, double a) {
    if (!t)
        return ct__fail_null_operand(who);
    ct_tensor *c = constant(who, t->scalar, a);
    ct_status status = c ? ct__combine(who, op, t, c) : ct_error()->code;
    ct_free(c);
    return status;
}

ct_tensor *ct_scale(const ct_tensor *t, double a) {
    return with_constant(__func__, CT_OP_mul, t, a);
}

ct_status ct_scale_into(ct_tensor *t, double a) {
    return with_constant_into(__func__, CT_OP_mul, t, a);
}

ct_tensor *ct_shift(const ct_tensor *t, double a) {
    return with_constant(__func__, CT_OP_add, t, a);
}

ct_status ct_shift_into(ct_tensor *t, double a) {
    return with_constant_into(__func__, CT_OP_add, t, a);
}

// --- a x + b y

// The factors stand in whole blocks, so that every loop is over dense operands.
struct axpby {
    const ct_scalar *scalar;
    ct_loop_fn *mul, *add;
    size_t block;
    _Alignas(64) char a[SCRATCH_BYTES], b[SCRATCH_BYTES];
};

// to = factor * from, for at most a block.
static size_t scale_block(const struct axpby *w, const char *factor, size_t n, char *from,
                          ptrdiff_t step, char *to) {
    ptrdiff_t size = (ptrdiff_t)w->scalar->size;
    char *ptr[] = {(char *)(uintptr_t)factor, from, to}; // a loop only reads its operands
    return w->mul(w->scalar, CT_OP_mul, n, ptr, (ptrdiff_t[]){size, step, size});
}

static size_t run_axpby(const void *context, size_t n, char *const ptr[], const ptrdiff_t step[]) {
    const struct axpby *w = context;
    ptrdiff_t size = (ptrdiff_t)w->scalar->size;
    _Alignas(64) char x[SCRATCH_BYTES], y[SCRATCH_BYTES];
    for (size_t at = 0; at < n; at += w->block) {
        size_t count = n - at < w->block ? n - at : w->block, good = count;
        ptrdiff_t way = (ptrdiff_t)at;
        good = scale_block(w, w->a, good, ptr[0] + way * step[0], step[0], x);
        good = scale_block(w, w->b, good, ptr[1] + way * step[1], step[1], y);
        char *sum[] = {x, y, ptr[2] + way * step[2]};
        good = w->add(w->scalar, CT_OP_add, good, sum, (ptrdiff_t[]){size, size, step[2]});
        if (good < count)
            return at + good;
    }
    return n;
}

static ct_status set_factor(const char *who, const struct axpby *w, char *block, double value) {
    if (ct__fill_items(w->scalar, block, w->block, value))
        return CT_OK;
    return ct__fail_value(who, &(ct_tensor){.scalar = w->scalar}, value);
}

static ct_status prepare(const char *who, struct axpby *w, double a, const ct_tensor *x, double b,
                         const ct_tensor *y) {
    const ct_scalar *scalar = w->scalar = x->scalar;
    if (y->scalar != scalar)
        return ct__fail(CT_EDTYPE, who, "axpby needs one scalar type: %s and %s were given",
                        scalar->name, y->scalar->name);
    w->mul = ct_scalar_loop(scalar, CT_OP_mul);
    w->add = ct_scalar_loop(scalar, CT_OP_add);
    if (!w->mul || !w->add)
        return ct__fail(CT_EDTYPE, who, "%s has no %s", scalar->name, w->mul ? "add" : "mul");
    w->block = SCRATCH_BYTES / scalar->size < BLOCK ? SCRATCH_BYTES / scalar->size : BLOCK;
    if (w->block == 0)
        return ct__fail(CT_EDTYPE, who, "items of %s take %zu bytes, more than axpby works on",
                        scalar->name, scalar->size);
    ct_status status = set_factor(who, w, w->a, a);
    return status ? status : set_factor(who, w, w->b, b);
}

// Computes into dense memory of the result's shape, of which y may be a dense tensor.
static ct_status run(const char *who, const struct axpby *w, const ct_tensor *x, const ct_tensor *y,
                     int rank, const int64_t *shape, size_t count, char *to) {
    const ct_tensor *in[] = {x, y};
    if (count == 0)
        return CT_OK;
    const struct ct__operand_work work = {run_axpby, NULL, w};
    size_t done = ct__for_rows(&work, 2, in, rank, shape, count, w->scalar->size, to);
    if (done == count)
        return CT_OK;
    char what[80];
    snprintf(what, sizeof what, " does not fit %.48s", w->scalar->name);
    return ct__fail_item(who, CT_EOVERFLOW, "axpby", " and ", 2, in, rank, shape, done, what);
}

ct_tensor *ct_axpby(double a, const ct_tensor *x, double b, const ct_tensor *y) {
    struct axpby w;
    int64_t shape[CT_MAX_RANK];
    int rank;
    if (!x || !y)
        return ct__null(__func__);
    if (prepare(__func__, &w, a, x, b, y) ||
        ct__broadcast(__func__, x->rank, x->shape, y->rank, y->shape, &rank, shape))
        return NULL;
    ct_tensor *out = ct__empty(__func__, x->scalar, rank, shape);
    if (out && (ct__names_merge(__func__, out, 2, (const ct_tensor *[]){x, y}) ||
                run(__func__, &w, x, y, rank, shape, out->count, ct__first(out)))) {
        ct_free(out);
        return NULL;
    }
    return out;
}

ct_status ct_axpby_into(double a, const ct_tensor *x, double b, ct_tensor *y) {
    struct axpby w;
    if (!x || !y)
        return ct__fail_null_operand(__func__);
    ct_status status = prepare(__func__, &w, a, x, b, y);
    if (!status)
        status = ct__check_growth(__func__, y, x);
    if (status)
        return status;
    if (ct__is_writable(y) && !(w.scalar->traits & CT_CHECKED))
        return run(__func__, &w, x, y, y->rank, y->shape, y->count, ct__first(y));
    struct ct__storage *s = ct__detached(__func__, y, false);
    if (!s)
        return CT_ENOMEM;
    status = run(__func__, &w, x, y, y->rank, y->shape, y->count, s->data);
    if (status)
        ct__drop_share(s);
    else
        ct__adopt(y, s);
    return status;
}
