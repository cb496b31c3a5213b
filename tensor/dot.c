/* Sums of products of vectors, by the reduction's lanes and trees, in one pass.

   The tree over blocks is pairwise, so a run of 2^k blocks that starts at a multiple of 2^k is a
   subtree of its own: products are made for such a run in a buffer, and folded there. */

#include "tensor/linalg_impl.h"

#include "tensor/alloc.h"
#include "tensor/ct_ops.h"
#include "tensor/ct_reduce.h"
#include "tensor/kernels/kern_table.h"
#include "tensor/matmul.h"
#include "tensor/parallel.h"

#include <stdatomic.h>

enum {
    BLOCK = 1024, // the contract
    RUN_BYTES = 1 << 15,
    GRAIN_ITEMS = 1 << 15, // items that are not worth waking a thread for
};

struct dot {
    const ct_scalar *scalar;
    ct_loop_fn *mul, *add;
    ct_fold_fn *sum;
    size_t n, run; // items, and those of a run
    char *a, *b;
    ptrdiff_t a_step, b_step;
    char *sums; // of runs
    atomic_bool overflow;
};

static void sum_runs(void *context, size_t begin, size_t end) {
    struct dot *d = context;
    const ct_scalar *scalar = d->scalar;
    ptrdiff_t size = (ptrdiff_t)scalar->size;
    _Alignas(64) char products[RUN_BYTES];
    for (size_t i = begin; i < end; i++) {
        size_t first = i * d->run, n = d->n - first < d->run ? d->n - first : d->run;
        char *ptr[] = {d->a + (ptrdiff_t)first * d->a_step, d->b + (ptrdiff_t)first * d->b_step,
                       products};
        struct ct_fold_job job = {.n = n,
                                  .count = 1,
                                  .x = products,
                                  .x_step = size,
                                  .y = d->sums + (ptrdiff_t)i * size,
                                  .y_next = size};
        if (d->mul(scalar, CT_OP_mul, n, ptr, (ptrdiff_t[]){d->a_step, d->b_step, size}) < n ||
            d->sum(scalar, &job) < 1)
            atomic_store_explicit(&d->overflow, true, memory_order_relaxed);
    }
}

// Adds neighbours, level by level, an odd last one going up unchanged. False on overflow.
static bool add_pairs(const struct dot *d, size_t n) {
    ptrdiff_t size = (ptrdiff_t)d->scalar->size;
    for (; n > 1; n = (n + 1) / 2)
        for (size_t i = 0; i < n / 2 + n % 2; i++) {
            char *to = d->sums + (ptrdiff_t)i * size, *from = d->sums + 2 * (ptrdiff_t)i * size;
            char *ptr[] = {from, from + size, to};
            if (2 * i + 1 == n)
                memcpy(to, from, d->scalar->size);
            else if (d->add(d->scalar, CT_OP_add, 1, ptr, (ptrdiff_t[]){size, size, size}) < 1)
                return false;
        }
    return true;
}

static ct_status run_dot(const char *who, struct dot *d, char *to) {
    size_t runs = (d->n - 1) / d->run + 1;
    d->sums = ct__alloc(runs * d->scalar->size);
    if (!d->sums)
        return ct__fail(CT_ENOMEM, who, "there is no memory for %zu sums", runs);
    atomic_init(&d->overflow, false);
    ct__parallel_for(runs, GRAIN_ITEMS / d->run + 1, sum_runs, d);
    bool fits = !atomic_load_explicit(&d->overflow, memory_order_relaxed) && add_pairs(d, runs);
    if (fits)
        memcpy(to, d->sums, d->scalar->size);
    ct__free(d->sums);
    return fits ? CT_OK
                : ct__fail(CT_EOVERFLOW, who, "the sum of products does not fit %s",
                           d->scalar->name);
}

static ct_tensor *dot_of_reals(const char *who, const struct ct__real_kernels *kernels,
                               const struct dot *d) {
    ct_tensor *result = ct__empty(who, d->scalar, 0, NULL);
    if (result)
        kernels->dot(&(struct ct__dot_job){.n = d->n,
                                           .a = d->a,
                                           .b = d->b,
                                           .a_step = d->a_step,
                                           .b_step = d->b_step,
                                           .y = ct__first(result)});
    return result;
}

// Of two tensors of rank 1 and one extent.
static ct_tensor *dot(const char *who, const ct_tensor *a, const ct_tensor *b) {
    const ct_scalar *scalar = a->scalar;
    if (scalar->traits & CT_INTEGER) // exact totals, whatever the order
        return ct__matmul(who, a, b);
    struct dot d = {.scalar = scalar, .n = a->count, .a = ct__first(a), .b = ct__first(b)};
    d.a_step = (ptrdiff_t)a->strides[0] * (ptrdiff_t)scalar->size;
    d.b_step = (ptrdiff_t)b->strides[0] * (ptrdiff_t)scalar->size;
    d.mul = ct_scalar_loop(scalar, CT_OP_mul);
    d.add = ct_scalar_loop(scalar, CT_OP_add);
    d.sum = ct_scalar_fold(scalar, CT_FOLD_SUM);
    if (!d.mul || !d.add || !d.sum)
        return ct__fail_null(CT_EDTYPE, who, "%s has no dot", scalar->name);
    const struct ct__real_kernels *kernels = ct__kernels_of(scalar);
    if (kernels)
        return dot_of_reals(who, kernels, &d);
    for (d.run = BLOCK; 2 * d.run * scalar->size <= RUN_BYTES;)
        d.run *= 2;
    if (d.run * scalar->size > RUN_BYTES) { // large items: through memory
        ct_tensor x = *a, y = *b;           // the names of what is summed over need not agree
        x.names = y.names = NULL;
        ct_tensor *products = ct__apply(who, CT_OP_mul, 2, (const ct_tensor *[]){&x, &y});
        return products ? ct__then(products, ct__as(who, ct_sum(products, 0, false))) : NULL;
    }
    ct_tensor *result = ct__empty(who, scalar, 0, NULL);
    if (result && (d.n == 0 ? ct__fill_new(who, result, 0) : run_dot(who, &d, ct__first(result)))) {
        ct_free(result);
        return NULL;
    }
    return result;
}

static ct_status check_pair(const char *who, const char *verb, const ct_tensor *a,
                            const ct_tensor *b, bool vectors) {
    char left[CT__SHAPE_TEXT_BYTES], right[CT__SHAPE_TEXT_BYTES];
    if (a->scalar != b->scalar)
        return ct__fail(CT_EDTYPE, who, "%s needs one scalar type: %s and %s were given", verb,
                        a->scalar->name, b->scalar->name);
    ct__format_shape(left, sizeof left, a->rank, a->shape);
    ct__format_shape(right, sizeof right, b->rank, b->shape);
    if (vectors && (a->rank != 1 || b->rank != 1))
        return ct__fail(CT_ESHAPE, who, "%s needs operands of rank 1: %s and %s were given", verb,
                        left, right);
    return CT_OK;
}

static ct_status check_shapes(const char *who, const char *verb, const ct_tensor *a,
                              const ct_tensor *b, bool vectors) {
    char left[CT__SHAPE_TEXT_BYTES], right[CT__SHAPE_TEXT_BYTES];
    ct_status status = check_pair(who, verb, a, b, vectors);
    if (status || ct__same_shape(a, b))
        return status;
    ct__format_shape(left, sizeof left, a->rank, a->shape);
    ct__format_shape(right, sizeof right, b->rank, b->shape);
    return ct__fail(CT_ESHAPE, who, "%s needs operands of one shape: %s and %s were given", verb,
                    left, right);
}

bool ct_can_dot(const ct_tensor *a, const ct_tensor *b) {
    if (!a || !b || a->scalar != b->scalar || a->rank != 1 || !ct__same_shape(a, b))
        return false;
    const ct_scalar *scalar = a->scalar;
    return scalar->traits & CT_INTEGER
               ? ct_scalar_matmul(scalar) != NULL
               : ct_scalar_has(scalar, CT_OP_mul) && ct_scalar_has(scalar, CT_OP_add) &&
                     ct_scalar_fold(scalar, CT_FOLD_SUM);
}

ct_tensor *ct_dot(const ct_tensor *a, const ct_tensor *b) {
    if (!a || !b)
        return ct__null(__func__);
    return check_shapes(__func__, "dot", a, b, true) ? NULL : dot(__func__, a, b);
}

ct_tensor *ct_vdot(const ct_tensor *a, const ct_tensor *b) {
    if (!a || !b)
        return ct__null(__func__);
    if (check_shapes(__func__, "vdot", a, b, false))
        return NULL;
    const int64_t all = (int64_t)a->count;
    ct_tensor *x = ct__as(__func__, ct_reshape(a, 1, &all));
    ct_tensor *y = x ? ct__as(__func__, ct_reshape(b, 1, &all)) : NULL;
    ct_tensor *result = y ? dot(__func__, x, y) : NULL;
    ct_free(x);
    ct_free(y);
    return result;
}

ct_tensor *ct_outer(const ct_tensor *a, const ct_tensor *b) {
    if (!a || !b)
        return ct__null(__func__);
    if (check_pair(__func__, "outer", a, b, true))
        return NULL;
    ct_tensor *column = ct__as(__func__, ct_expand_dims(a, 1));
    if (!column)
        return NULL;
    return ct__then(column, ct__apply(__func__, CT_OP_mul, 2, (const ct_tensor *[]){column, b}));
}
