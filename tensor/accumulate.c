#include "tensor/index_impl.h"

#include "tensor/fail.h"

#include <string.h>

ct_status ct__find_combiner(const char *who, const ct_scalar *scalar, enum ct_op op,
                            struct ct__combiner *by) {
    if (op != CT_OP_add && op != CT_OP_mul && op != CT_OP_maximum && op != CT_OP_minimum)
        return ct__fail(CT_EINVAL, who,
                        "the reduction must be add, mul, maximum or minimum, not %s",
                        ct_op_name(op));
    *by = (struct ct__combiner){scalar, op, ct_scalar_loop(scalar, op)};
    if (!by->loop)
        return ct__fail(CT_EDTYPE, who, "%s has no %s", scalar->name, ct_op_name(op));
    return CT_OK;
}

size_t ct__combine_row(const struct ct__combiner *by, size_t n, char *target, ptrdiff_t target_step,
                       const char *source, ptrdiff_t source_step) {
    char *const ptr[] = {target, (char *)(uintptr_t)source, target};
    const ptrdiff_t step[] = {target_step, source_step, target_step};
    return by->loop(by->scalar, by->op, n, ptr, step);
}

// Sums of single items are frequent (counts, gradients of gather), and a call of a loop takes longer
// than they do: the same additions, inlined. They return how many were done.
typedef size_t add_fn(size_t n, char *target, ptrdiff_t target_step, const int64_t *at,
                      ptrdiff_t at_step, const char *source, ptrdiff_t source_step);

static size_t add_f32(size_t n, char *target, ptrdiff_t target_step, const int64_t *at,
                      ptrdiff_t at_step, const char *source, ptrdiff_t source_step) {
    for (size_t k = 0; k < n; k++, target += target_step, source += source_step) {
        float *x = (float *)(void *)(target + at[k] * at_step);
        *x += *(const float *)(const void *)source;
    }
    return n;
}

static size_t add_f64(size_t n, char *target, ptrdiff_t target_step, const int64_t *at,
                      ptrdiff_t at_step, const char *source, ptrdiff_t source_step) {
    for (size_t k = 0; k < n; k++, target += target_step, source += source_step) {
        double *x = (double *)(void *)(target + at[k] * at_step);
        *x += *(const double *)(const void *)source;
    }
    return n;
}

static size_t add_i32(size_t n, char *target, ptrdiff_t target_step, const int64_t *at,
                      ptrdiff_t at_step, const char *source, ptrdiff_t source_step) {
    for (size_t k = 0; k < n; k++, target += target_step, source += source_step) {
        int32_t *x = (int32_t *)(void *)(target + at[k] * at_step), sum;
        if (__builtin_add_overflow(*x, *(const int32_t *)(const void *)source, &sum))
            return k;
        *x = sum;
    }
    return n;
}

static size_t add_i64(size_t n, char *target, ptrdiff_t target_step, const int64_t *at,
                      ptrdiff_t at_step, const char *source, ptrdiff_t source_step) {
    for (size_t k = 0; k < n; k++, target += target_step, source += source_step) {
        int64_t *x = (int64_t *)(void *)(target + at[k] * at_step), sum;
        if (__builtin_add_overflow(*x, *(const int64_t *)(const void *)source, &sum))
            return k;
        *x = sum;
    }
    return n;
}

static const struct {
    const ct_scalar *scalar;
    add_fn *add;
} additions[] = {{CT_F32, add_f32}, {CT_F64, add_f64}, {CT_I32, add_i32}, {CT_I64, add_i64}};

enum { ADDITIONS = sizeof additions / sizeof *additions };

size_t ct__combine_places(const struct ct__combiner *by, size_t n, char *target,
                          ptrdiff_t target_step, const int64_t *at, ptrdiff_t at_step,
                          const char *source, ptrdiff_t source_step) {
    for (int i = 0; by->op == CT_OP_add && i < ADDITIONS; i++)
        if (by->scalar == additions[i].scalar)
            return additions[i].add(n, target, target_step, at, at_step, source, source_step);
    for (size_t k = 0; k < n; k++)
        if (!ct__combine_row(by, 1, target + (ptrdiff_t)k * target_step + at[k] * at_step, 0,
                             source + (ptrdiff_t)k * source_step, 0))
            return k;
    return n;
}

ct_status ct__fail_combine(const char *who, const struct ct__combiner *by, const ct_tensor *out,
                           const char *target, const char *source) {
    char x[64], z[64], text[CT__AT_INDEX_BYTES];
    by->scalar->format(by->scalar, target, x, sizeof x);
    by->scalar->format(by->scalar, source, z, sizeof z);
    size_t item = (size_t)(target - ct__first(out)) / by->scalar->size;
    return ct__fail(CT_EOVERFLOW, who, "%s of %s and %s%s%s does not fit %s", ct_op_name(by->op), x,
                    z, ct__at_index(text, out->rank, out->shape, item),
                    out->rank > 0 ? " of the result" : "", by->scalar->name);
}
