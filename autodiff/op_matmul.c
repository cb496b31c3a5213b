/* matmul: the matrix product over the last two axes of operands of equal batch shape. */

#include "autodiff/pull_words.h"

#include <string.h>

static ct_tensor *run(const ct_tensor *const in[], const struct ct__attr *attr) {
    (void)attr;
    return ct_matmul(in[0], in[1]);
}

/* Y = A B: dA = G B', dB = A' G. */
static ct_var pull(const struct ct__pull *p, int argument) {
    return argument == 0 ? ct_var_matmul(p->g, ct_var_transpose(p->x[1]))
                         : ct_var_matmul(ct_var_transpose(p->x[0]), p->g);
}

/* Broadcasts the leading axes of an operand to a batch shape. */
static ct_var with_batch(ct_var v, int rank, const int64_t *batch) {
    const ct_tensor *t = ct__value_of(v);
    int64_t shape[CT_MAX_RANK];
    int own = ct_rank(t);
    memcpy(shape, batch, (size_t)(rank - 2) * sizeof *shape);
    memcpy(shape + rank - 2, ct_shape(t) + own - 2, 2 * sizeof *shape);
    bool same = own == rank && memcmp(shape, ct_shape(t), (size_t)rank * sizeof *shape) == 0;
    return same ? v : ct_var_broadcast_to(v, rank, shape);
}

/* The product of operands of rank >= 2, after the `broadcast`s that unlike batches need. */
static ct_var record(ct_var a, ct_var b) {
    const ct_tensor *x = ct__value_of(a), *z = ct__value_of(b);
    int64_t batch[CT_MAX_RANK];
    int rank = ct_broadcast_shape(ct_rank(x) - 2, ct_shape(x), ct_rank(z) - 2, ct_shape(z), batch);
    if (rank >= 0 && ct_can_matmul(x, z)) {
        a = with_batch(a, rank + 2, batch);
        b = with_batch(b, rank + 2, batch);
    }
    const ct_var in[] = {a, b};
    return ct__record(CT_OP_matmul, 2, in, NULL);
}

/* NumPy's rule for vectors: a row or a column is added, and dropped from the product. */
static ct_var record_vectors(ct_var a, ct_var b, int rank_a, int rank_b) {
    const ct_tensor *x = ct__value_of(a), *z = ct__value_of(b);
    ct_tensor *product = ct_matmul(x, z); /* its shape, or its error in terms of x and z */
    if (!product) {
        const ct_var in[] = {a, b};
        return ct__record(CT_OP_matmul, 2, in, NULL);
    }
    if (rank_a == 1)
        a = ct_var_expand_dims(a, 0);
    if (rank_b == 1)
        b = ct_var_expand_dims(b, -1);
    ct_var y = ct_var_is_null(a) || ct_var_is_null(b) ? ct_var_null() : record(a, b);
    if (!ct_var_is_null(y))
        y = ct_var_reshape(y, ct_rank(product), ct_shape(product));
    ct_free(product);
    return y;
}

/* Neither a batch nor a vector. */
static bool are_matrices(ct_var a, ct_var b) {
    const ct_tensor *x = ct__live_value(a), *z = ct__live_value(b);
    return x && z && ct_rank(x) == 2 && ct_rank(z) == 2;
}

ct_var ct_var_matmul(ct_var a, ct_var b) {
    if (are_matrices(a, b))
        return ct__record(CT_OP_matmul, 2, (const ct_var[]){a, b}, NULL);
    const ct_tensor *x = a.tape == b.tape ? ct__operand(a) : NULL, *z = x ? ct__operand(b) : NULL;
    const ct_var in[] = {a, b};
    if (!x || !z || ct_rank(x) == 0 || ct_rank(z) == 0)
        return ct__record(CT_OP_matmul, 2, in, NULL); /* says what is wrong */
    int rank_a = ct_rank(x), rank_b = ct_rank(z);
    return rank_a == 1 || rank_b == 1 ? record_vectors(a, b, rank_a, rank_b) : record(a, b);
}

static const struct ct__sample samples[] = {
    {2, {2, 2}, {{2, 3}, {3, 4}}, 0, {0}},
    {2, {3, 3}, {{2, 2, 3}, {2, 3, 2}}, 0, {0}},
    {2, {2, 2}, {{2, 0}, {0, 3}}, 0, {0}},
    {2, {2, 2}, {{1, 5}, {5, 1}}, 0, {0}},
};
static const struct ct__error_sample errors[] = {
    {{2, {2, 2}, {{2, 3}, {4, 2}}, 0, {0}},
     CT_ESHAPE,
     "matmul needs the inner extents to agree: [2, 3] times [4, 2], 3 against 4"},
};

const struct ct__op_record ct__op_matmul = {
    .verb = "matmul",
    .inputs = 2,
    .run = run,
    .pull = pull,
    .pull_text = {"G matmul transposed Z", "transposed X matmul G"},
    .samples = samples,
    .sample_count = sizeof samples / sizeof *samples,
    .errors = errors,
    .error_count = sizeof errors / sizeof *errors,
};
