/* Batches of matrices. */

#include "tensor/factor_impl.h"

#include "tensor/alloc.h"
#include "tensor/checked.h"
#include "tensor/fail.h"
#include "tensor/parallel.h"

#include <stdio.h>

char *ct__in_batch(const ct_tensor *t, int kept, int batch_rank, const int64_t *batch,
                   size_t which) {
    int64_t at = 0;
    for (int i = batch_rank - 1; i >= 0; i--) {
        at += (int64_t)(which % (size_t)batch[i]) *
              ct__stride_at(batch_rank, i, t->rank - kept, t->shape, t->strides);
        which /= (size_t)batch[i];
    }
    return ct__first(t) + at * (ptrdiff_t)t->scalar->size;
}

struct ct__matrix ct__matrix_of(const ct_tensor *t, int batch_rank, const int64_t *batch,
                                size_t which) {
    const ptrdiff_t size = (ptrdiff_t)t->scalar->size;
    return (struct ct__matrix){ct__in_batch(t, 2, batch_rank, batch, which),
                               t->strides[t->rank - 2] * size, t->strides[t->rank - 1] * size};
}

static bool is_square(const ct_tensor *a) {
    return a->rank >= 2 && a->shape[a->rank - 1] == a->shape[a->rank - 2];
}

ct_status ct__check_square(const char *who, const ct_tensor *a, struct ct__factor *f) {
    char text[CT__SHAPE_TEXT_BYTES];
    bool can = ct__factor_start(f, a->scalar);
    if (!who)
        return !can ? CT_EDTYPE : is_square(a) ? CT_OK : CT_ESHAPE;
    if (!can)
        return ct__fail(CT_EDTYPE, who, "matrices of %s cannot be factored", a->scalar->name);
    if (is_square(a))
        return CT_OK;
    ct__format_shape(text, sizeof text, a->rank, a->shape);
    return ct__fail(CT_ESHAPE, who, "square matrices are needed, as the last two axes: %s", text);
}

ct_tensor *ct__unrepeated(const char *who, const ct_tensor *t, int kept) {
    ct_tensor *view = ct__share(who, t);
    if (!view)
        return NULL;
    ct__unnamed(view);
    view->known_dense = false;
    for (int i = 0; i < t->rank - kept; i++)
        if (t->strides[i] == 0 && t->shape[i] > 1) {
            view->count /= (size_t)t->shape[i];
            view->shape[i] = 1;
        }
    return view;
}

const char *ct__which_matrix(char text[CT__MATRIX_BYTES], int batch_rank, const int64_t *batch,
                             size_t which) {
    char at[CT__AT_INDEX_BYTES];
    snprintf(text, CT__MATRIX_BYTES, "the matrix%s", ct__at_index(at, batch_rank, batch, which));
    return text;
}

ct_status ct__fail_factor(const char *who, const ct_tensor *t, ct_status status, size_t which) {
    char matrix[CT__MATRIX_BYTES];
    if (status == CT_ENOMEM)
        return ct__fail(status, who, "out of memory for a factorisation");
    return ct__fail(status, who, "the factorisation of %s does not fit %s",
                    ct__which_matrix(matrix, t->rank - 2, t->shape, which), t->scalar->name);
}

// --- the loop over matrices

struct ended {
    ct_status status;
    size_t place;
};

struct run {
    const struct ct__batch *batch;
    struct ended *ended;
    _Atomic size_t failed;
};

static void run_some(void *context, size_t begin, size_t end) {
    struct run *run = context;
    const struct ct__batch *batch = run->batch;
    struct ct__factor_room room;
    bool entered = ct__factor_enter(batch->factor, batch->products, &room);
    for (size_t i = begin; i < end; i++) {
        struct ended *ended = &run->ended[i];
        *ended = (struct ended){CT_ENOMEM, 0};
        if (entered)
            ended->status = batch->run(batch->context, &room, i, &ended->place);
        if (!ended->status)
            continue;
        ct__keep_lowest(&run->failed, i);
        break;
    }
    ct__factor_leave(&room);
}

enum { GRAIN_FLOPS = 1 << 16 }; // some ten microseconds

ct_status ct__run_batch(const struct ct__batch *batch, size_t count, size_t *which, size_t *place) {
    struct run run = {.batch = batch, .failed = SIZE_MAX};
    struct ended one;
    size_t bytes;
    if (count == 0)
        return CT_OK;
    run.ended = &one;
    if (count > 1)
        run.ended = ct__mul_size(count, sizeof one, &bytes) ? ct__alloc(bytes) : NULL;
    *which = *place = 0;
    if (!run.ended)
        return CT_ENOMEM;
    double grain = GRAIN_FLOPS / (batch->flops + 1);
    ct__parallel_for(count, grain < 1 ? 1 : (size_t)grain, run_some, &run);
    ct_status status = CT_OK;
    size_t failed = atomic_load(&run.failed);
    if (failed < count) {
        *which = failed;
        *place = run.ended[failed].place;
        status = run.ended[failed].status;
    }
    if (count > 1)
        ct__free(run.ended);
    return status;
}
