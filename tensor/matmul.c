#include "tensor/matmul.h"

#include "tensor/ct_write.h"
#include "tensor/fail.h"
#include "tensor/kernels/kern_table.h"
#include "tensor/parallel.h"
#include "tensor/storage.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

// An operand as a stack of matrices.
struct side {
    const ct_tensor *t;
    int batch_rank;
    int64_t rows, cols, row, col; // extents and strides
};

struct plan {
    struct side a, b;
    int batch_rank;
    int64_t batch[CT_MAX_RANK];
    int rank;
    int64_t shape[CT_MAX_RANK]; // of the result
};

enum fault { FITS, TYPES_DIFFER, NO_MATMUL, RANK_ZERO, INNER_DIFFERS, BATCHES_DIFFER };

// A tensor of rank 1 is one row on the left and one column on the right.
static struct side side_of(const ct_tensor *t, bool left) {
    int last = t->rank - 1;
    if (t->rank >= 2)
        return (struct side){t,
                             t->rank - 2,
                             t->shape[last - 1],
                             t->shape[last],
                             t->strides[last - 1],
                             t->strides[last]};
    if (left)
        return (struct side){t, 0, 1, t->shape[0], 0, t->strides[0]};
    return (struct side){t, 0, t->shape[0], 1, t->strides[0], 0};
}

// On BATCHES_DIFFER, *axis is that of the broadcast leading axes.
static enum fault make_plan(const ct_tensor *a, const ct_tensor *b, struct plan *plan, int *axis) {
    if (a->scalar != b->scalar)
        return TYPES_DIFFER;
    if (!ct_scalar_matmul(a->scalar))
        return NO_MATMUL;
    if (a->rank == 0 || b->rank == 0)
        return RANK_ZERO;
    plan->a = side_of(a, true);
    plan->b = side_of(b, false);
    if (plan->a.cols != plan->b.rows)
        return INNER_DIFFERS;
    *axis = ct__broadcast_fault(plan->a.batch_rank, a->shape, plan->b.batch_rank, b->shape,
                                &plan->batch_rank, plan->batch);
    if (*axis >= 0)
        return BATCHES_DIFFER;
    plan->rank = plan->batch_rank;
    memcpy(plan->shape, plan->batch, sizeof *plan->batch * (size_t)plan->batch_rank);
    if (a->rank > 1)
        plan->shape[plan->rank++] = plan->a.rows;
    if (b->rank > 1)
        plan->shape[plan->rank++] = plan->b.cols;
    return FITS;
}

bool ct_can_matmul(const ct_tensor *a, const ct_tensor *b) {
    struct plan plan;
    int axis;
    size_t count;
    return a && b && make_plan(a, b, &plan, &axis) == FITS &&
           ct__count_items(a->scalar->size, plan.rank, plan.shape, &count) &&
           ct__names_fit_matmul(plan.rank, a, b);
}

static ct_status explain(const char *who, const ct_tensor *a, const ct_tensor *b, enum fault fault,
                         const struct plan *plan, int axis) {
    char left[CT__SHAPE_TEXT_BYTES], right[CT__SHAPE_TEXT_BYTES];
    ct__format_shape(left, sizeof left, a->rank, a->shape);
    ct__format_shape(right, sizeof right, b->rank, b->shape);
    if (fault == TYPES_DIFFER)
        return ct__fail(CT_EDTYPE, who, "matmul needs one scalar type: %s and %s were given",
                        a->scalar->name, b->scalar->name);
    if (fault == NO_MATMUL)
        return ct__fail(CT_EDTYPE, who, "%s has no matmul", a->scalar->name);
    if (fault == RANK_ZERO)
        return ct__fail(CT_ESHAPE, who, "matmul needs operands of rank 1 or more: %s times %s",
                        left, right);
    if (fault == INNER_DIFFERS)
        return ct__fail(CT_ESHAPE, who,
                        "matmul needs the inner extents to agree: %s times %s, %" PRId64
                        " against %" PRId64,
                        left, right, plan->a.cols, plan->b.rows);
    int n = plan->a.batch_rank > plan->b.batch_rank ? plan->a.batch_rank : plan->b.batch_rank;
    return ct__fail(CT_ESHAPE, who,
                    "matmul needs the leading axes to broadcast: %s times %s, %" PRId64
                    " against %" PRId64,
                    left, right, ct__extent_at(n, axis, plan->a.batch_rank, a->shape),
                    ct__extent_at(n, axis, plan->b.batch_rank, b->shape));
}

// --- the work

// Products of matrix pairs: one job, moved over the nest of batches.
struct products {
    const ct_scalar *scalar;
    ct_matmul_fn *matmul;
    const struct ct__finish *finish; // NULL, or for the kernels
    struct ct__nest batches;         // in a and in b; results lie one behind the other
    struct ct_matmul_job job;
    atomic_bool no_memory;
    _Atomic size_t overflow; // the first product in which an item does not fit
};

static size_t result_bytes(const struct products *p) {
    return p->job.m * p->job.n * p->scalar->size;
}

// The job of product i, where the walk stands.
static struct ct_matmul_job job_at(const struct products *p, const struct ct__walk *walk,
                                   size_t i) {
    ptrdiff_t size = (ptrdiff_t)p->scalar->size;
    struct ct_matmul_job job = p->job;
    job.a += walk->at[0] * size;
    job.b += walk->at[1] * size;
    job.c += i * result_bytes(p);
    return job;
}

static const struct ct__real_kernels *kernels_of(const ct_scalar *scalar) {
    return scalar == CT_F32 ? &ct__kernels()->f32 : scalar == CT_F64 ? &ct__kernels()->f64 : NULL;
}

// The epilogue's rows count through the products.
static ct_status run_product(const struct products *p, const struct ct_matmul_job *job, size_t i) {
    if (!p->finish)
        return p->matmul(p->scalar, job);
    struct ct__finish finish = *p->finish;
    finish.row += i * job->m;
    return kernels_of(p->scalar)->matmul_then(job, &finish);
}

static void run_products(void *context, size_t begin, size_t end) {
    struct products *p = context;
    struct ct__walk walk;
    ct__walk_start(&walk, &p->batches, p->batches.rank, begin);
    for (size_t i = begin; i < end; i++, ct__walk_next(&walk, &p->batches, p->batches.rank)) {
        struct ct_matmul_job job = job_at(p, &walk, i);
        ct_status status = run_product(p, &job, i);
        if (status == CT_EOVERFLOW)
            ct__keep_lowest(&p->overflow, i);
        else if (status)
            atomic_store_explicit(&p->no_memory, true, memory_order_relaxed);
    }
}

// Whether a part of a product does not fit, from item (row, column) on.
static bool overflows(const struct products *p, struct ct_matmul_job job, size_t row, size_t column,
                      size_t m, size_t n) {
    job.a += (ptrdiff_t)row * job.a_row;
    job.b += (ptrdiff_t)column * job.b_col;
    job.c += (ptrdiff_t)row * job.c_row + (ptrdiff_t)column * job.c_col;
    job.m = m;
    job.n = n;
    return p->matmul(p->scalar, &job) == CT_EOVERFLOW;
}

// The row-major place of the first item that does not fit, which lies in this product.
static size_t find_overflow(const struct products *p, size_t product) {
    struct ct__walk walk;
    ct__walk_start(&walk, &p->batches, p->batches.rank, product);
    struct ct_matmul_job job = job_at(p, &walk, product);
    size_t row = 0, column = 0;
    while (row + 1 < job.m && !overflows(p, job, row, 0, 1, job.n))
        row++;
    while (column + 1 < job.n && !overflows(p, job, row, column, 1, 1))
        column++;
    return (product * job.m + row) * job.n + column;
}

static int64_t batch_stride(const struct side *side, int batch_rank, int axis) {
    return ct__stride_at(batch_rank, axis, side->batch_rank, side->t->shape, side->t->strides);
}

// The loops over batches, and for a batch the number of rows of a and the step between them. When
// all batches share b and their rows of a follow each other at one step, they are the rows of one
// taller matrix.
static struct ct__nest batches_of(const struct plan *plan, int64_t *rows, int64_t *row) {
    struct ct__nest nest = {.operands = 2};
    bool shared = true;
    for (int i = 0; i < plan->batch_rank; i++) {
        int64_t step[] = {batch_stride(&plan->a, plan->batch_rank, i),
                          batch_stride(&plan->b, plan->batch_rank, i)};
        shared &= step[1] == 0;
        ct__nest_add(&nest, plan->batch[i], step);
    }
    *rows = plan->a.rows;
    *row = plan->a.row;
    if (!shared)
        return nest;
    struct ct__nest tall = nest;
    ct__nest_add(&tall, plan->a.rows, (int64_t[]){plan->a.row, 0});
    ct__nest_fuse(&tall);
    if (tall.rank > 1)
        return nest;
    if (tall.rank == 1) {
        *rows = tall.shape[0];
        *row = tall.step[0][0];
    }
    return (struct ct__nest){.operands = 2};
}

enum {
    SMALL_PRODUCT = 1 << 18, // multiply-adds that are not worth waking a thread for
    LARGE_PRODUCT = 1 << 21, // those which the kernel spreads over threads itself
};

// The products that make up the result, which has items, dense from `to`.
static size_t plan_products(const struct plan *plan, char *to, struct products *p) {
    const ct_scalar *scalar = plan->a.t->scalar;
    ptrdiff_t size = (ptrdiff_t)scalar->size;
    int64_t rows, row;
    p->scalar = scalar;
    p->matmul = ct_scalar_matmul(scalar);
    p->finish = NULL;
    p->batches = batches_of(plan, &rows, &row);
    p->job = (struct ct_matmul_job){
        .m = (size_t)rows,
        .n = (size_t)plan->b.cols,
        .k = (size_t)plan->a.cols,
        .a = ct__first(plan->a.t),
        .a_row = row * size,
        .a_col = plan->a.col * size,
        .b = ct__first(plan->b.t),
        .b_row = plan->b.row * size,
        .b_col = plan->b.col * size,
        .c = to,
        .c_row = (ptrdiff_t)plan->b.cols * size,
        .c_col = size,
    };
    atomic_init(&p->no_memory, false);
    atomic_init(&p->overflow, SIZE_MAX);
    return ct__nest_passes(&p->batches, p->batches.rank);
}

// Whether a failure may leave the target written in part, so that it must not be worked on in
// place: kernels do not fail.
static bool may_spoil(const ct_scalar *scalar) {
    return scalar != CT_F32 && scalar != CT_F64;
}

static ct_status fail_overflow(const char *who, const struct plan *plan, size_t item) {
    char text[CT__AT_INDEX_BYTES];
    return ct__fail(CT_EOVERFLOW, who, "the item%s of the product does not fit %s",
                    ct__at_index(text, plan->rank, plan->shape, item), plan->a.t->scalar->name);
}

// The epilogue of types whose products know none.
static void finish_all(const struct plan *plan, const struct ct__finish *finish, size_t count,
                       char *to) {
    size_t columns = (size_t)plan->b.cols;
    ptrdiff_t row = (ptrdiff_t)(columns * plan->a.t->scalar->size);
    finish->run(finish->ctx, to, row, finish->row, 0, count / columns, columns);
}

static ct_status report(const char *who, const struct plan *plan, const struct products *p) {
    if (atomic_load_explicit(&p->no_memory, memory_order_relaxed))
        return ct__fail(CT_ENOMEM, who,
                        "there is no memory for the copies of operands that matmul works on");
    size_t first = atomic_load_explicit(&p->overflow, memory_order_relaxed);
    return first == SIZE_MAX ? CT_OK : fail_overflow(who, plan, find_overflow(p, first));
}

// Computes `count` items into dense memory.
static ct_status compute(const char *who, const struct plan *plan, const struct ct__finish *finish,
                         size_t count, char *to) {
    struct products p;
    if (count == 0)
        return CT_OK;
    ct_status status = CT_OK;
    const ct_scalar *scalar = plan->a.t->scalar;
    bool fused = finish && plan->a.cols > 0 && kernels_of(scalar);
    if (plan->a.cols == 0) {
        ct__fill_items(scalar, to, count, 0);
    } else {
        size_t products = plan_products(plan, to, &p);
        size_t work = count / products * p.job.k; // of one product
        size_t grain = work < LARGE_PRODUCT ? SMALL_PRODUCT / work + 1 : products;
        p.finish = fused ? finish : NULL;
        ct__parallel_for(products, grain, run_products, &p);
        status = report(who, plan, &p);
    }
    if (finish && !fused && !status)
        finish_all(plan, finish, count, to);
    return status;
}

static ct_status check(const char *who, const ct_tensor *a, const ct_tensor *b, struct plan *plan) {
    int axis = -1;
    enum fault fault = make_plan(a, b, plan, &axis);
    return fault ? explain(who, a, b, fault, plan, axis) : CT_OK;
}

ct_tensor *ct__matmul_then(const char *who, const ct_tensor *a, const ct_tensor *b,
                           const struct ct__finish *finish) {
    struct plan plan;
    if (!a || !b)
        return ct__null(who);
    if (check(who, a, b, &plan))
        return NULL;
    ct_tensor *result = ct__empty(who, a->scalar, plan.rank, plan.shape);
    if (result && (ct__names_matmul(who, result, a, b) ||
                   compute(who, &plan, finish, result->count, ct__first(result)))) {
        ct_free(result);
        return NULL;
    }
    return result;
}

/* The job, but for its target, of two small matrices of a type with kernels, without names: most of
   what small networks do, without a plan. False: the operands are none such. Fields are set one by
   one: clearing the rest of a new job takes as long as all else here. */
static inline bool small_job(const ct_tensor *a, const ct_tensor *b, struct ct_matmul_job *job) {
    const ct_scalar *scalar = a->scalar;
    if (a->rank != 2 || b->rank != 2 || b->scalar != scalar || a->names || b->names ||
        (scalar != CT_F32 && scalar != CT_F64))
        return false;
    size_t m = (size_t)a->shape[0], k = (size_t)a->shape[1], n = (size_t)b->shape[1];
    if (b->shape[0] != a->shape[1] || m - 1 >= SMALL_PRODUCT || k - 1 >= SMALL_PRODUCT ||
        n - 1 >= SMALL_PRODUCT || m * n * k > SMALL_PRODUCT)
        return false;
    ptrdiff_t size = scalar == CT_F32 ? sizeof(float) : sizeof(double);
    job->m = m;
    job->n = n;
    job->k = k;
    job->a = a->storage->data + a->offset * size;
    job->a_row = a->strides[0] * size;
    job->a_col = a->strides[1] * size;
    job->b = b->storage->data + b->offset * size;
    job->b_row = b->strides[0] * size;
    job->b_col = b->strides[1] * size;
    job->c_row = (ptrdiff_t)n * size;
    job->c_col = size;
    return true;
}

/* NULL, without an error: the product is not small, or the kernel failed. */
static ct_tensor *small_product(const ct_tensor *a, const ct_tensor *b) {
    struct ct_matmul_job job;
    if (!small_job(a, b, &job))
        return NULL;
    ct_tensor *result =
        ct__empty_of(a->scalar, 2, (int64_t[]){a->shape[0], b->shape[1]}, job.m * job.n);
    if (!result)
        return NULL;
    job.c = ct__first(result);
    if (a->scalar->matmul(a->scalar, &job) == CT_OK)
        return result;
    ct_free(result);
    return NULL;
}

/* Whether a small product was made in a target that is alone on dense storage. */
static bool small_product_into(ct_tensor *c, const ct_tensor *a, const ct_tensor *b) {
    struct ct_matmul_job job;
    if (c == a || c == b || c->rank != 2 || c->names || c->scalar != a->scalar ||
        !small_job(a, b, &job) || c->shape[0] != a->shape[0] || c->shape[1] != b->shape[1] ||
        !ct__is_writable(c))
        return false;
    job.c = ct__first(c);
    return a->scalar->matmul(a->scalar, &job) == CT_OK;
}

ct_tensor *ct__matmul(const char *who, const ct_tensor *a, const ct_tensor *b) {
    ct_tensor *product = a && b ? small_product(a, b) : NULL;
    return product ? product : ct__matmul_then(who, a, b, NULL);
}

ct_tensor *ct_matmul(const ct_tensor *a, const ct_tensor *b) {
    return ct__matmul(__func__, a, b);
}

// --- into a target

static ct_status check_names(const char *who, const ct_tensor *c, const ct_tensor *a,
                             const ct_tensor *b) {
    ct_tensor product = {.rank = c->rank}, merged = product;
    ct_status status = ct__names_matmul(who, &product, a, b);
    if (!status)
        status = ct__names_merge(who, &merged, 2, (const ct_tensor *[]){c, &product});
    ct__names_drop(product.names);
    ct__names_drop(merged.names);
    return status;
}

ct_status ct__matmul_into_then(const char *who, ct_tensor *c, const ct_tensor *a,
                               const ct_tensor *b, const struct ct__finish *finish) {
    struct plan plan;
    if (!c || !a || !b)
        return ct__fail_null_operand(who);
    ct_status status = check(who, a, b, &plan);
    if (!status)
        status = ct__check_target(who, "matmul", a->scalar, plan.rank, plan.shape, c);
    if (!status)
        status = check_names(who, c, a, b);
    if (status)
        return status;
    if (c != a && c != b && ct__is_writable(c) && !may_spoil(c->scalar))
        return compute(who, &plan, finish, c->count, ct__first(c));
    struct ct__storage *s = ct__detached(who, c, false);
    if (!s)
        return CT_ENOMEM;
    status = compute(who, &plan, finish, c->count, s->data);
    if (status)
        ct__drop_share(s);
    else
        ct__adopt(c, s);
    return status;
}

ct_status ct_matmul_into(ct_tensor *c, const ct_tensor *a, const ct_tensor *b) {
    if (c && a && b && small_product_into(c, a, b))
        return CT_OK;
    return ct__matmul_into_then(__func__, c, a, b, NULL);
}
