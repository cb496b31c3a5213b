/* All pulls of a norm with scale and shift at once: the composition, which any scalar type runs, and the kernel that
   has its bits. */

#include "tensor/norm_parts.h"

#include "tensor/ct_index.h"
#include "tensor/ct_ops.h"
#include "tensor/ct_reduce.h"
#include "tensor/fail.h"

ct_tensor *ct__norm_vector(ct_tensor *parts[3]) {
    ct_tensor *flat[3], *out = NULL;
    bool good = true;
    for (int k = 0; k < 3; k++) {
        flat[k] = parts[k] ? ct_reshape(parts[k], 1, (int64_t[]){(int64_t)parts[k]->count}) : NULL;
        good = good && flat[k];
    }
    if (good)
        out = ct__unnamed(ct_concat(3, (const ct_tensor *const[]){flat[0], flat[1], flat[2]}, 0));
    for (int k = 0; k < 3; k++) {
        ct_free(flat[k]);
        ct_free(parts[k]);
    }
    return out;
}

bool ct__norm_rows_fit(const ct_tensor *x, const ct_tensor *g, const ct_tensor *scale) {
    return x->count > 0 && x->scalar->rows && g->scalar == x->scalar &&
           scale->scalar == x->scalar && ct__same_shape(x, g);
}

ct_tensor *ct__norm_by_rows(const char *who, enum ct_op op, struct ct_rows_job *job,
                            ct_tensor *in[3], ct_tensor *out) {
    const ct_scalar *scalar = out ? out->scalar : NULL;
    bool good = out != NULL;
    for (int k = 0; k < 3 && good; k++)
        job->in[k] = in[k] ? ct__first(in[k]) : NULL;
    if (good) {
        job->out = ct__first(out);
        if (scalar->rows(scalar, op)(scalar, op, job) != CT_OK) {
            ct__fail(CT_ENOMEM, who, "there is no memory for the work on rows");
            good = false;
        }
    }
    for (int k = 0; k < 3; k++)
        ct_free(in[k]);
    if (!good) {
        ct_free(out);
        return NULL;
    }
    return out;
}

/* The sum over the axes before `axis`. */
static ct_tensor *over_rows(const ct_tensor *t, int axis) {
    int axes[CT_MAX_RANK];
    for (int i = 0; i < axis; i++)
        axes[i] = i;
    return t ? ct_sum_axes(t, axis, axes, false) : NULL;
}

static ct_tensor *composed(const ct_tensor *x, const ct_tensor *g, const ct_tensor *scale, int axis,
                           double eps) {
    ct_tensor *gain = ct_smul(g, scale),
              *h = gain ? ct__layer_norm(x, axis, NULL, NULL, eps) : NULL;
    ct_tensor *products = h ? ct_smul(g, h) : NULL;
    ct_tensor *parts[3] = {products ? ct__layer_norm_grad(x, gain, axis, eps) : NULL};
    parts[1] = parts[0] ? over_rows(products, axis) : NULL;
    parts[2] = parts[1] ? over_rows(g, axis) : NULL;
    ct_free(gain);
    ct_free(h);
    ct_free(products);
    return ct__norm_vector(parts);
}

ct_tensor *ct__layer_norm_parts(const ct_tensor *x, const ct_tensor *g, const ct_tensor *scale,
                                int axis, double eps) {
    static const char who[] = "ct_layer_norm";
    if (ct__check_axis(who, x->rank, axis, &axis) != CT_OK)
        return NULL;
    if (!ct__norm_rows_fit(x, g, scale) || !x->scalar->rows(x->scalar, CT_OP_layer_norm_parts))
        return composed(x, g, scale, axis, eps);
    const ptrdiff_t size = (ptrdiff_t)x->scalar->size;
    struct ct_rows_job job = {.n = scale->count, .count = x->count / scale->count, .eps = eps};
    for (int k = 0; k < 3; k++) {
        job.in_step[k] = size;
        job.in_next[k] = k < 2 ? (ptrdiff_t)job.n * size : 0;
    }
    job.out_step = size;
    job.out_next = job.in_next[0];
    ct_tensor *in[] = {ct_compact(x), ct_compact(g), ct_compact(scale)};
    int64_t items = (int64_t)(x->count + 2 * scale->count);
    bool good = in[0] && in[1] && in[2];
    return ct__norm_by_rows(who, CT_OP_layer_norm_parts, &job, in,
                            good ? ct__empty(who, x->scalar, 1, &items) : NULL);
}
