#include "autodiff/matrix_rules.h"

#include "tensor/ct_index.h"
#include "tensor/ct_make.h"
#include "tensor/ct_ops.h"
#include "tensor/ct_write.h"

#include <string.h>

/* A matrix with the leading axes of a batch. */
static ct_var spread(ct_var v, int rank, const int64_t *batch) {
    const ct_tensor *t = ct__value_of(v);
    int64_t shape[CT_MAX_RANK];
    int own = ct_rank(t);
    memcpy(shape, batch, (size_t)rank * sizeof *shape);
    memcpy(shape + rank, ct_shape(t) + own - 2, 2 * sizeof *shape);
    bool same = own == rank + 2 && memcmp(shape, ct_shape(t), (size_t)own * sizeof *shape) == 0;
    return same ? v : ct_var_broadcast_to(v, rank + 2, shape);
}

bool ct__solve_operands(ct_var *a, ct_var *b, bool *vector) {
    const ct_tensor *x = a->tape == b->tape ? ct__operand(*a) : NULL;
    const ct_tensor *z = x ? ct__operand(*b) : NULL;
    int64_t batch[CT_MAX_RANK];
    *vector = false;
    if (!x || !z || ct_rank(x) < 2 || ct_rank(z) < 1)
        return false;
    bool one = ct_rank(z) == 1;
    int columns = one ? 0 : ct_rank(z) - 2;
    int rank = ct_broadcast_shape(ct_rank(x) - 2, ct_shape(x), columns, ct_shape(z), batch);
    if (rank < 0 || ct_extent(x, -1) != ct_extent(x, -2) ||
        ct_shape(z)[columns] != ct_extent(x, -1) || ct_dtype(x) != ct_dtype(z))
        return false;
    *vector = one;
    if (one)
        *b = ct_var_expand_dims(*b, -1);
    *a = spread(*a, rank, batch);
    if (ct_var_is_null(*a) || ct_var_is_null(*b))
        return false;
    *b = spread(*b, rank, batch);
    return !ct_var_is_null(*b);
}

ct_var ct__solve_result(ct_var x, bool vector) {
    return vector && !ct_var_is_null(x) ? ct_var_squeeze(x, -1) : x;
}

ct_var ct__minus_outer(ct_var x, ct_var y) {
    return NEG(ct_var_matmul(x, ct_var_transpose(y)));
}

/* Ones, as a mask, where the triangle is. */
static ct_tensor *mask_of(int64_t n, unsigned triangle) {
    int64_t side = (triangle & CT_UNIT_DIAGONAL) != 0;
    ct_tensor *ones = ct_ones(CT_BOOL, 2, (int64_t[]){n, n});
    ct_tensor *mask = triangle & CT_UPPER ? ct_triu(ones, side) : ct_tril(ones, -side);
    ct_free(ones);
    return mask;
}

ct_var ct__triangle_of(ct_var x, unsigned triangle) {
    const ct_tensor *t = ct__operand(x);
    if (!t)
        return ct__null_of(x);
    ct_tensor *mask = mask_of(ct_extent(t, -1), triangle);
    ct_var chosen[3];
    chosen[0] = ct_constant(x.tape, mask, NULL);
    chosen[1] = x;
    chosen[2] = ct_constant_of(x.tape, ct_dtype(t), 0);
    ct_free(mask);
    return ct__record_elementwise(CT_OP_where, 3, chosen);
}

ct_var ct__times_matrix(ct_var items, ct_var matrices) {
    ct_var column = ct_var_expand_dims(items, -1);
    ct_var each = ct_var_expand_dims(column, -1);
    return SMUL(each, matrices);
}

const struct ct__sample ct__square_samples[4] = {
    {1, {2}, {{3, 3}}, 0, {0}},
    {1, {3}, {{2, 2, 2}}, 0, {0}},
    {1, {2}, {{1, 1}}, 0, {0}},
    {1, {2}, {{0, 0}}, 0, {0}},
};
const struct ct__error_sample ct__square_errors[1] = {
    {{1, {2}, {{2, 3}}, 0, {0}},
     CT_ESHAPE,
     "square matrices are needed, as the last two axes: [2, 3]"},
};

ct_tensor *ct__regular_sample(int argument, const ct_tensor *drawn) {
    int64_t n = ct_extent(drawn, -1);
    if (argument > 0 || ct_extent(drawn, -2) != n) /* such as those that are refused */
        return ct_copy(drawn);
    ct_tensor *half = ct_scale(drawn, 0.5), *one = ct_eye(ct_dtype(drawn), n, n, 0);
    ct_tensor *four = ct_scale(one, 4), *sum = ct_add(half, four);
    ct_free(four);
    ct_free(one);
    ct_free(half);
    return sum;
}
