/* Batches normalised per channel, axis 1, and the pulls of that: compositions of layer_norm on the rows of the
   channels, which any scalar type runs, and the kernels that have their bits. */

#include "tensor/norm_parts.h"

#include "tensor/ct_names.h"
#include "tensor/ct_ops.h"
#include "tensor/ct_reduce.h"
#include "tensor/fail.h"

static const char who[] = "ct_batch_norm";

enum { SHORT_RUN = 16 }; /* items side by side below which channels are turned into rows first */

static ct_tensor *exchange(const ct_tensor *t) {
    int order[CT_MAX_RANK] = {1, 0};
    for (int i = 2; i < t->rank; i++)
        order[i] = i;
    return ct_permute(t, t->rank, order);
}

/* [batch, channels, space...] as [channels, items]. */
static ct_tensor *rows_of(const ct_tensor *x) {
    int64_t channels = x->shape[1], items = x->shape[0];
    for (int i = 2; i < x->rank; i++)
        items *= x->shape[i];
    ct_tensor *turned = exchange(x);
    return ct__then(turned, turned ? ct_reshape(turned, 2, (int64_t[]){channels, items}) : NULL);
}

/* And back, in the shape of x; takes the rows. */
static ct_tensor *from_rows(ct_tensor *rows, const ct_tensor *x) {
    int64_t shape[CT_MAX_RANK] = {x->shape[1], x->shape[0]};
    for (int i = 2; i < x->rank; i++)
        shape[i] = x->shape[i];
    ct_tensor *turned = rows ? ct_reshape(rows, x->rank, shape) : NULL;
    ct_free(rows);
    return ct__then(turned, turned ? exchange(turned) : NULL);
}

/* [channels] with `after` axes of one item. */
static ct_tensor *per_channel(const ct_tensor *t, int after) {
    int64_t shape[CT_MAX_RANK] = {t->shape[0], 1, 1, 1, 1, 1, 1, 1};
    return ct_reshape(t, 1 + after, shape);
}

/* x, its copy without names, or NULL: names would not outlive rows. */
static ct_tensor *bare(const ct_tensor *t) {
    return t ? ct_drop_names(t) : NULL;
}

static size_t run_of(const ct_tensor *x) {
    size_t run = 1;
    for (int i = 2; i < x->rank; i++)
        run *= (size_t)x->shape[i];
    return run;
}

static bool fits_kernel(const ct_tensor *x, const ct_tensor *other, const ct_tensor *scale,
                        enum ct_op op) {
    return ct__norm_rows_fit(x, other, scale) && run_of(x) >= SHORT_RUN &&
           x->scalar->rows(x->scalar, op);
}

/* A job on x, of which `whole` operands lie as x does and the others have an item a channel. */
static struct ct_rows_job job_of(const ct_tensor *x, int whole, double eps) {
    const ptrdiff_t size = (ptrdiff_t)x->scalar->size;
    struct ct_rows_job job = {.count = (size_t)x->shape[1], .run = run_of(x), .eps = eps};
    job.n = x->count / job.count;
    job.out_next = (ptrdiff_t)job.run * size;
    job.out_step = job.out_next * (ptrdiff_t)job.count;
    for (int k = 0; k < 3; k++) {
        job.in_step[k] = k < whole ? job.out_step : 0;
        job.in_next[k] = k < whole ? job.out_next : size;
    }
    return job;
}

static bool check(const ct_tensor *x, const ct_tensor *scale) {
    if (x->rank >= 2 && scale->rank == 1 && scale->shape[0] == x->shape[1])
        return true;
    char a[CT__SHAPE_TEXT_BYTES], b[CT__SHAPE_TEXT_BYTES];
    ct__format_shape(a, sizeof a, scale->rank, scale->shape);
    ct__format_shape(b, sizeof b, x->rank, x->shape);
    ct__fail(CT_ESHAPE, who, "a scale of shape %s has not one number per channel, axis 1 of %s", a,
             b);
    return false;
}

/* --- the value */

static ct_tensor *composed(const ct_tensor *x, const ct_tensor *scale, const ct_tensor *shift,
                           double eps) {
    ct_tensor *rows = rows_of(x), *h = rows ? ct__layer_norm(rows, 1, NULL, NULL, eps) : NULL;
    ct_tensor *y = h ? from_rows(h, x) : NULL, *factor = y ? per_channel(scale, x->rank - 2) : NULL;
    ct_tensor *added = factor && shift ? per_channel(shift, x->rank - 2) : NULL;
    ct_tensor *out = factor ? ct_mul(y, factor) : NULL;
    if (shift)
        out = ct__then(out, out && added ? ct_add(out, added) : NULL);
    ct_free(rows);
    ct_free(y);
    ct_free(factor);
    ct_free(added);
    return out;
}

static ct_tensor *by_kernel(const ct_tensor *x, const ct_tensor *scale, const ct_tensor *shift,
                            double eps) {
    struct ct_rows_job job = job_of(x, 1, eps);
    ct_tensor *in[] = {ct_compact(x), ct_compact(scale), shift ? ct_compact(shift) : NULL};
    bool good = in[0] && in[1] && !in[2] == !shift;
    return ct__norm_by_rows(who, CT_OP_batch_norm, &job, in,
                            good ? ct__empty(who, x->scalar, x->rank, x->shape) : NULL);
}

ct_tensor *ct__batch_norm(const ct_tensor *x, const ct_tensor *scale, const ct_tensor *shift,
                          double eps) {
    if (!check(x, scale) || (shift && !check(x, shift)))
        return NULL;
    bool fits =
        fits_kernel(x, x, scale, CT_OP_batch_norm) && (!shift || shift->scalar == x->scalar);
    ct_tensor *a = bare(x), *b = bare(scale), *c = bare(shift), *out = NULL;
    if (a && b && !c == !shift)
        out = (fits ? by_kernel : composed)(a, b, c, eps);
    ct_free(a);
    ct_free(b);
    ct_free(c);
    return out;
}

/* --- the pulls */

static ct_tensor *composed_parts(const ct_tensor *x, const ct_tensor *g, const ct_tensor *scale,
                                 double eps) {
    ct_tensor *rows = rows_of(x), *z = rows ? rows_of(g) : NULL;
    ct_tensor *factor = z ? per_channel(scale, 1) : NULL,
              *gain = factor ? ct_smul(z, factor) : NULL;
    ct_tensor *h = gain ? ct__layer_norm(rows, 1, NULL, NULL, eps) : NULL;
    ct_tensor *products = h ? ct_smul(z, h) : NULL;
    ct_tensor *dx = products ? ct__layer_norm_grad(rows, gain, 1, eps) : NULL;
    ct_tensor *parts[3] = {dx ? from_rows(dx, x) : NULL};
    parts[1] = parts[0] ? ct_sum(products, 1, false) : NULL;
    parts[2] = parts[1] ? ct_sum(z, 1, false) : NULL;
    ct_tensor *all[] = {rows, z, factor, gain, h, products};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        ct_free(all[i]);
    return ct__norm_vector(parts);
}

static ct_tensor *parts_by_kernel(const ct_tensor *x, const ct_tensor *g, const ct_tensor *scale,
                                  double eps) {
    struct ct_rows_job job = job_of(x, 2, eps);
    ct_tensor *in[] = {ct_compact(x), ct_compact(g), ct_compact(scale)};
    int64_t items = (int64_t)(x->count + 2 * scale->count);
    bool good = in[0] && in[1] && in[2];
    return ct__norm_by_rows(who, CT_OP_batch_norm_parts, &job, in,
                            good ? ct__empty(who, x->scalar, 1, &items) : NULL);
}

ct_tensor *ct__batch_norm_parts(const ct_tensor *x, const ct_tensor *g, const ct_tensor *scale,
                                double eps) {
    if (!check(x, scale))
        return NULL;
    bool fits = fits_kernel(x, g, scale, CT_OP_batch_norm_parts);
    ct_tensor *a = bare(x), *b = bare(g), *c = bare(scale), *out = NULL;
    if (a && b && c)
        out = (fits ? parts_by_kernel : composed_parts)(a, b, c, eps);
    ct_free(a);
    ct_free(b);
    ct_free(c);
    return out;
}
