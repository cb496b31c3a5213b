#include "numbers.h"

#include <stdlib.h>
#include <string.h>

static void set_number(uint64_t *state, const ct_scalar *scalar, char *item) {
    if (scalar->base) {
        for (size_t at = 0; at < scalar->size; at += scalar->base->size)
            set_number(state, scalar->base, item + at);
        return;
    }
    double value = (double)next_below(state, 9) - 4;
    if (scalar->traits & CT_BOOLEAN)
        value = value > 0;
    else if (scalar->traits & CT_REAL)
        value += (double)next_below(state, 4) / 4;
    if (!scalar->from_double(scalar, item, value)) // ck_assert takes long, even if it holds
        ck_abort_msg("%s does not hold %g", scalar->name, value);
}

ct_tensor *small_numbers(uint64_t *state, const ct_scalar *scalar, int rank, const int64_t *shape) {
    ct_tensor *t = ct_zeros(scalar, rank, shape);
    ck_assert_msg(t != NULL, "%s", ct_error()->message);
    char *item = ct_data_for_write(t);
    for (size_t i = 0; i < ct_count(t); i++, item += scalar->size)
        set_number(state, scalar, item);
    return t;
}

int broadcast_shape(int n, const ct_tensor *const in[], int64_t shape[CT_MAX_RANK]) {
    int rank = 0;
    for (int i = 0; i < n; i++) {
        rank = ct_broadcast_shape(rank, shape, ct_rank(in[i]), ct_shape(in[i]), shape);
    }
    return rank;
}

static char *operand_at(const ct_tensor *t, int rank, const int64_t *index) {
    ptrdiff_t distance = 0;
    int shift = rank - ct_rank(t);
    for (int i = 0; i < ct_rank(t); i++)
        distance += ct_shape(t)[i] == 1 ? 0 : index[i + shift] * ct_strides(t)[i];
    return (char *)(uintptr_t)ct_data(t) + distance * (ptrdiff_t)ct_dtype(t)->size;
}

ct_tensor *naive_apply(enum ct_op op, int n, const ct_tensor *const in[], size_t *done) {
    const ct_scalar *scalar = ct_dtype(in[n - 1]);
    int64_t shape[CT_MAX_RANK] = {0}, index[CT_MAX_RANK] = {0};
    int rank = broadcast_shape(n, in, shape);
    ct_tensor *out = ct_zeros(ct_op_gives_mask(op) ? CT_BOOL : scalar, rank, shape);
    ct_loop_fn *loop = ct_scalar_loop(scalar, op);
    char *to = ct_data_for_write(out);
    ptrdiff_t step[4] = {0};
    *done = 0;
    if (ct_count(out) == 0)
        return out;
    do {
        char *ptr[4];
        for (int i = 0; i < n; i++) {
            ptr[i] = operand_at(in[i], rank, index);
            step[i] = (ptrdiff_t)ct_dtype(in[i])->size;
        }
        ptr[n] = to;
        step[n] = (ptrdiff_t)ct_dtype(out)->size;
        if (loop(scalar, op, 1, ptr, step) != 1)
            return out;
        to += step[n];
        ++*done;
    } while (next_index(rank, shape, index));
    return out;
}

void expect_same_bytes(const ct_tensor *found, const ct_tensor *wanted, const char *what) {
    ck_assert_msg(found != NULL, "%s: %s", what, ct_error()->message);
    ck_assert_msg(ct_check_tensor(found) == CT_OK, "%s: %s", what, ct_error()->message);
    ck_assert_msg(ct_dtype(found) == ct_dtype(wanted) && ct_same_shape(found, wanted), "%s", what);
    struct items a = items_of(found), b = items_of(wanted);
    ck_assert_msg(memcmp(a.bytes, b.bytes, a.count * a.scalar->size) == 0, "%s", what);
    drop_items(&a);
    drop_items(&b);
}
