#include "chain_model.h"

#include <math.h>
#include <string.h>

const ct_scalar *const model_scalars[MODEL_TYPES] = {CT_F64, CT_I64, CT_BOOL};

void model_index(const struct model *m, int flat, int64_t *index) {
    for (int i = m->rank - 1; i >= 0; i--) {
        index[i] = flat % m->shape[i];
        flat /= (int)m->shape[i];
    }
}

int model_place(const struct model *m, const int64_t *index) {
    int64_t place = 0;
    for (int i = 0; i < m->rank; i++)
        place = place * m->shape[i] + index[i];
    return (int)place;
}

bool model_shape(struct model *m, int rank, const int64_t *shape) {
    int64_t count = 1;
    if (rank > MODEL_RANK)
        return false;
    for (int i = 0; i < rank; i++) {
        if (shape[i] > MODEL_ITEMS)
            return false;
        count *= shape[i];
        m->shape[i] = shape[i];
        if (count > MODEL_ITEMS)
            return false;
    }
    m->rank = rank;
    m->count = (int)count;
    return true;
}

double model_largest(const struct model *m) {
    double largest = 0;
    for (int i = 0; i < m->count; i++)
        largest = fabs(m->items[i]) > largest ? fabs(m->items[i]) : largest;
    return largest;
}

bool model_broadcast(struct model *out, const struct model *a, const struct model *b) {
    int64_t shape[MODEL_RANK];
    int rank = a->rank > b->rank ? a->rank : b->rank;
    for (int i = 1; i <= rank; i++) {
        int64_t x = i <= a->rank ? a->shape[a->rank - i] : 1;
        int64_t z = i <= b->rank ? b->shape[b->rank - i] : 1;
        if (x != z && x != 1 && z != 1)
            return false;
        shape[rank - i] = x == 1 ? z : x;
    }
    return model_shape(out, rank, shape);
}

bool model_fits_into(const struct model *from, const struct model *target) {
    if (from->rank > target->rank)
        return false;
    for (int i = 1; i <= from->rank; i++) {
        int64_t extent = from->shape[from->rank - i];
        if (extent != 1 && extent != target->shape[target->rank - i])
            return false;
    }
    return true;
}

double model_at(const struct model *m, int rank, const int64_t *index) {
    int64_t own[MODEL_RANK];
    for (int i = 0; i < m->rank; i++)
        own[i] = m->shape[i] == 1 ? 0 : index[rank - m->rank + i];
    return m->items[model_place(m, own)];
}

double model_op(enum ct_op op, double x, double z) {
    switch ((int)op) {
    case CT_OP_add:
        return x + z;
    case CT_OP_sub:
        return x - z;
    case CT_OP_mul:
        return x * z;
    case CT_OP_maximum:
        return x > z ? x : z;
    case CT_OP_minimum:
        return x < z ? x : z;
    case CT_OP_less:
        return x < z;
    case CT_OP_equal:
        return x == z;
    case CT_OP_greater_equal:
        return x >= z;
    case CT_OP_not_equal:
        return x != z;
    case CT_OP_logical_and:
        return x != 0 && z != 0;
    case CT_OP_logical_or:
        return x != 0 || z != 0;
    case CT_OP_logical_xor:
        return (x != 0) != (z != 0);
    case CT_OP_logical_not:
        return x == 0;
    case CT_OP_neg:
        return 0 - x;
    case CT_OP_abs:
        return x < 0 ? -x : x;
    case CT_OP_square:
        return x * x;
    default:
        return __builtin_nan("");
    }
}

bool model_take(struct model *out, const struct model *m, int axis, int n, const int64_t *at) {
    int64_t shape[MODEL_RANK] = {0};
    for (int i = 0; i < m->rank; i++)
        shape[i] = i == axis ? n : m->shape[i];
    if (!model_shape(out, m->rank, shape))
        return false;
    out->type = m->type;
    for (int i = 0; i < out->count; i++) {
        int64_t index[MODEL_RANK] = {0};
        model_index(out, i, index);
        index[axis] = at[index[axis]];
        out->items[i] = m->items[model_place(m, index)];
    }
    return true;
}

void model_permute(struct model *out, const struct model *m, const int *axes) {
    int64_t shape[MODEL_RANK] = {0};
    for (int i = 0; i < m->rank; i++)
        shape[i] = m->shape[axes[i]];
    model_shape(out, m->rank, shape);
    out->type = m->type;
    for (int i = 0; i < out->count; i++) {
        int64_t to[MODEL_RANK], from[MODEL_RANK];
        model_index(out, i, to);
        for (int axis = 0; axis < m->rank; axis++)
            from[axes[axis]] = to[axis];
        out->items[i] = m->items[model_place(m, from)];
    }
}

bool model_reduce(struct model *out, const struct model *m, enum ct_op op, int axis,
                  bool keepdims) {
    struct model kept = {.type = m->type};
    int64_t shape[MODEL_RANK] = {0};
    bool seen[MODEL_ITEMS] = {false};
    for (int i = 0; i < m->rank; i++)
        shape[i] = i == axis ? 1 : m->shape[i];
    if (!model_shape(&kept, m->rank, shape))
        return false;
    for (int i = 0; i < m->count; i++) {
        int64_t index[MODEL_RANK] = {0};
        model_index(m, i, index);
        index[axis] = 0;
        int at = model_place(&kept, index);
        kept.items[at] = seen[at] ? model_op(op, kept.items[at], m->items[i]) : m->items[i];
        seen[at] = true;
    }
    *out = kept;
    out->rank -= !keepdims;
    for (int i = axis; i < out->rank && !keepdims; i++)
        out->shape[i] = out->shape[i + 1];
    return true;
}

void model_cumsum(struct model *out, const struct model *m, int axis) {
    *out = *m;
    for (int i = 0; i < m->count; i++) {
        int64_t index[MODEL_RANK] = {0};
        model_index(m, i, index);
        if (index[axis]-- > 0)
            out->items[i] = out->items[model_place(m, index)] + m->items[i];
    }
}

bool model_matmul(struct model *out, const struct model *a, const struct model *b) {
    if (a->rank != 2 || b->rank != 2 || a->shape[1] != b->shape[0] ||
        !model_shape(out, 2, (int64_t[]){a->shape[0], b->shape[1]}))
        return false;
    out->type = a->type;
    for (int i = 0; i < out->count; i++) {
        int64_t row = i / b->shape[1], column = i % b->shape[1];
        out->items[i] = 0;
        for (int64_t k = 0; k < a->shape[1]; k++)
            out->items[i] += a->items[row * a->shape[1] + k] * b->items[k * b->shape[1] + column];
    }
    return true;
}

bool model_concat(struct model *out, const struct model *a, const struct model *b, int axis) {
    int64_t shape[MODEL_RANK] = {0};
    if (a->type != b->type || a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++) {
        if (i != axis && a->shape[i] != b->shape[i])
            return false;
        shape[i] = a->shape[i] + (i == axis ? b->shape[i] : 0);
    }
    if (!model_shape(out, a->rank, shape))
        return false;
    out->type = a->type;
    for (int i = 0; i < out->count; i++) {
        int64_t index[MODEL_RANK] = {0};
        model_index(out, i, index);
        bool second = index[axis] >= a->shape[axis];
        index[axis] -= second ? a->shape[axis] : 0;
        out->items[i] = second ? b->items[model_place(b, index)] : a->items[model_place(a, index)];
    }
    return true;
}

bool model_pad(struct model *out, const struct model *m, const int64_t *before,
               const int64_t *after, bool edge, double value) {
    int64_t shape[MODEL_RANK] = {0};
    for (int i = 0; i < m->rank; i++)
        shape[i] = before[i] + m->shape[i] + after[i];
    if (!model_shape(out, m->rank, shape))
        return false;
    out->type = m->type;
    for (int i = 0; i < out->count; i++) {
        int64_t index[MODEL_RANK] = {0};
        bool inside = true;
        model_index(out, i, index);
        for (int axis = 0; axis < m->rank; axis++) {
            int64_t at = index[axis] - before[axis], last = m->shape[axis] - 1;
            inside = inside && at >= 0 && at <= last;
            index[axis] = at < 0 ? 0 : at > last ? last : at;
        }
        out->items[i] = inside || edge ? m->items[model_place(m, index)] : value;
    }
    return true;
}

/* By insertion: item i goes behind those that are not after it. */
void model_sort(struct model *out, struct model *places, const struct model *m, int axis,
                bool descending) {
    *out = *m;
    if (places) {
        *places = *m;
        places->type = WHOLE;
    }
    for (int i = 0; i < m->count; i++) {
        int64_t index[MODEL_RANK] = {0};
        int to = 0;
        model_index(m, i, index);
        int64_t own = index[axis];
        for (int64_t k = 0; k < m->shape[axis]; k++) {
            index[axis] = k;
            double other = m->items[model_place(m, index)];
            bool before = descending ? other > m->items[i] : other < m->items[i];
            to += before || (other == m->items[i] && k < own);
        }
        index[axis] = to;
        out->items[model_place(m, index)] = m->items[i];
        if (places)
            places->items[model_place(m, index)] = (double)own;
    }
}
