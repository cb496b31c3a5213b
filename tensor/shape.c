#include "tensor/tensor_impl.h"

#include "tensor/checked.h"
#include "tensor/ct_names.h"
#include "tensor/fail.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool ct__count_items(size_t item_size, int rank, const int64_t *shape, size_t *count) {
    size_t n = 1, bytes;
    bool fits = true, empty = false;
    for (int i = 0; i < rank; i++) {
        empty |= shape[i] == 0;
        fits &= ct__mul_size(n, (size_t)shape[i], &n); // a negative extent would be too many
    }
    if (empty)
        n = 0; // whatever the others are: their product need not fit
    if (!(fits || empty) || !ct__mul_size(n, item_size, &bytes) || bytes > PTRDIFF_MAX)
        return false;
    *count = n;
    return true;
}

static bool rank_is_valid(int rank) {
    return rank >= 0 && rank <= CT_MAX_RANK;
}

// The first axis whose extent is below `least`, or -1.
static int axis_below(int64_t least, int rank, const int64_t *shape) {
    for (int i = 0; i < rank; i++)
        if (shape[i] < least)
            return i;
    return -1;
}

static ct_status fail_rank(const char *who, int rank) {
    return ct__fail(CT_ESHAPE, who, "the rank %d is not in the range 0 to %d", rank, CT_MAX_RANK);
}

static ct_status fail_negative(const char *who, int axis, int64_t extent) {
    return ct__fail(CT_ESHAPE, who, "the extent %" PRId64 " of axis %d is negative", extent, axis);
}

// What is wrong with a scalar type, or NULL: a user's descriptor is found out before it is used.
static const char *scalar_fault(const ct_scalar *s) {
    const ct_scalar *base = s->base;
    if (!s->name)
        return "it has no name";
    if (s->size == 0 || s->align == 0 || s->align > 64 || s->align & (s->align - 1) ||
        s->size % s->align)
        return "its size must be a multiple of its alignment, a power of two up to 64";
    if (!s->to_double || !s->from_double || !s->format || !s->equal)
        return "it lacks to_double, from_double, format or equal";
    if (base && (base->level >= s->level || base->size == 0 || s->size % base->size ||
                 s->size < 2 * base->size))
        return "its base must have a lower level and its size be several items of the base";
    return NULL;
}

ct_status ct__check_shape(const char *who, const ct_scalar *scalar, int rank, const int64_t *shape,
                          size_t *count) {
    if (!scalar)
        return ct__fail_null_operand(who);
    const char *fault = scalar == CT_F32 || scalar == CT_F64 ? NULL : scalar_fault(scalar);
    if (fault)
        return ct__fail(CT_EDTYPE, who, "the scalar type %s is broken: %s",
                        scalar->name ? scalar->name : "", fault);
    if (!rank_is_valid(rank))
        return fail_rank(who, rank);
    if (rank > 0 && !shape)
        return ct__fail(CT_EINVAL, who, "the shape is NULL and the rank is %d", rank);
    int negative = axis_below(0, rank, shape);
    if (negative >= 0)
        return fail_negative(who, negative, shape[negative]);
    if (!ct__count_items(scalar->size, rank, shape, count)) {
        char text[CT__SHAPE_TEXT_BYTES];
        ct__format_shape(text, sizeof text, rank, shape);
        return ct__fail(CT_EOVERFLOW, who,
                        "a shape of %s of %s takes more bytes than can be addressed", text,
                        scalar->name);
    }
    return CT_OK;
}

void ct__dense_strides(int rank, const int64_t *shape, int64_t *strides) {
    int64_t stride = 1;
    for (int i = rank - 1; i >= 0; i--) {
        strides[i] = stride;
        // Only a tensor without items can overflow here, and its strides are never walked.
        if (shape[i] != 1 && shape[i] != 0 && !ct__mul_i64(stride, shape[i], &stride))
            stride = 0;
    }
}

bool ct__same_shape(const ct_tensor *a, const ct_tensor *b) {
    if (a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++) // few: faster than a call
        if (a->shape[i] != b->shape[i])
            return false;
    return true;
}

bool ct_same_shape(const ct_tensor *a, const ct_tensor *b) {
    return a && b && ct__same_shape(a, b);
}

void ct__unravel(int rank, const int64_t *shape, size_t item, int64_t *index) {
    for (int i = rank - 1; i >= 0; i--) {
        index[i] = (int64_t)(item % (size_t)shape[i]);
        item /= (size_t)shape[i];
    }
}

const void *ct__item_at(const ct_tensor *t, size_t k) {
    int64_t index[CT_MAX_RANK], distance = 0;
    ct__unravel(t->rank, t->shape, k, index);
    for (int i = 0; i < t->rank; i++)
        distance += index[i] * t->strides[i];
    return ct__first(t) + distance * (ptrdiff_t)t->scalar->size;
}

void ct__format_index(char *text, size_t size, int rank, const int64_t *shape, size_t item) {
    int64_t index[CT_MAX_RANK];
    ct__unravel(rank, shape, item, index);
    ct__format_shape(text, size, rank, index);
}

const char *ct__at_index(char text[CT__AT_INDEX_BYTES], int rank, const int64_t *shape,
                         size_t item) {
    static const char words[] = " at index ";
    size_t length = sizeof words - 1;
    text[0] = '\0';
    if (rank > 0) {
        memcpy(text, words, length);
        ct__format_index(text + length, CT__AT_INDEX_BYTES - length, rank, shape, item);
    }
    return text;
}

// --- axes

ct_status ct__check_axis(const char *who, int rank, int axis, int *result) {
    if (axis >= -rank && axis < rank) {
        *result = axis < 0 ? axis + rank : axis;
        return CT_OK;
    }
    if (!who)
        return CT_EAXIS;
    if (axis == CT_NO_AXIS) // of a name that was not found: the error that is pending says so
        return ct__fail_null_operand(who);
    if (axis == CT_ALL)
        return ct__fail(CT_EAXIS, who, "CT_ALL is not taken here: one axis is needed");
    return ct__fail(CT_EAXIS, who, "the axis %d is out of range for a tensor of rank %d", axis,
                    rank);
}

ct_status ct__check_axes(const char *who, int rank, int n, const int *axes, unsigned *mask) {
    if (n < 0 || (n > 0 && !axes))
        return !who ? CT_EINVAL
                    : ct__fail(CT_EINVAL, who,
                               n < 0 ? "the number of axes %d is negative" : "the %d axes are NULL",
                               n);
    unsigned found = 0;
    if (n == 1 && axes[0] == CT_ALL) {
        *mask = (1u << rank) - 1;
        return CT_OK;
    }
    for (int i = 0; i < n; i++) {
        int axis = 0;
        ct_status status = ct__check_axis(who, rank, axes[i], &axis);
        if (status)
            return status;
        if (found & 1u << axis)
            return who ? ct__fail(CT_EAXIS, who, "the axis %d is given twice", axis) : CT_EAXIS;
        found |= 1u << axis;
    }
    *mask = found;
    return CT_OK;
}

// --- broadcasting

int64_t ct__extent_at(int result_rank, int axis, int rank, const int64_t *shape) {
    int own = axis - (result_rank - rank);
    return own < 0 ? 1 : shape[own];
}

int64_t ct__stride_at(int result_rank, int axis, int rank, const int64_t *shape,
                      const int64_t *strides) {
    int own = axis - (result_rank - rank);
    return own < 0 || shape[own] == 1 ? 0 : strides[own];
}

int ct__broadcast_fault(int rank_a, const int64_t *a, int rank_b, const int64_t *b, int *rank,
                        int64_t shape[CT_MAX_RANK]) {
    int64_t result[CT_MAX_RANK];
    int n = rank_a > rank_b ? rank_a : rank_b;
    for (int i = n - 1; i >= 0; i--) {
        int64_t p = ct__extent_at(n, i, rank_a, a), q = ct__extent_at(n, i, rank_b, b);
        if (p != q && p != 1 && q != 1)
            return i;
        result[i] = p == 1 ? q : p;
    }
    memcpy(shape, result, sizeof *shape * (size_t)n);
    *rank = n;
    return -1;
}

ct_status ct__broadcast(const char *who, int rank_a, const int64_t *a, int rank_b, const int64_t *b,
                        int *rank, int64_t shape[CT_MAX_RANK]) {
    int axis = ct__broadcast_fault(rank_a, a, rank_b, b, rank, shape);
    if (axis < 0)
        return CT_OK;
    int n = rank_a > rank_b ? rank_a : rank_b;
    char text_a[CT__SHAPE_TEXT_BYTES], text_b[CT__SHAPE_TEXT_BYTES];
    ct__format_shape(text_a, sizeof text_a, rank_a, a);
    ct__format_shape(text_b, sizeof text_b, rank_b, b);
    return ct__fail(CT_ESHAPE, who,
                    "shapes %s and %s do not broadcast: the extents %" PRId64 " and %" PRId64
                    " of axis %d differ and neither is 1",
                    text_a, text_b, ct__extent_at(n, axis, rank_a, a),
                    ct__extent_at(n, axis, rank_b, b), axis);
}

// The names that operands before i and operand i give an axis of the result, as a note.
static const char *both_names(char text[2 * CT__NAME_NOTE_BYTES], int rank, int axis, int i,
                              const ct_tensor *const in[]) {
    const char *name = NULL, *other = NULL;
    for (int k = 0; k <= i; k++) {
        int own = axis - (rank - in[k]->rank);
        const char *mine = own >= 0 ? ct__name_of(in[k], own) : NULL;
        if (mine && !name)
            name = mine;
        else if (mine && strcmp(name, mine) != 0)
            other = mine;
    }
    if (other)
        snprintf(text, 2 * CT__NAME_NOTE_BYTES, " ('%s' and '%s')", name, other);
    else
        ct__name_note(text, name);
    return text;
}

static ct_status explain_broadcast(const char *who, int i, const ct_tensor *const in[], int rank,
                                   const int64_t *shape, int axis) {
    const ct_tensor *t = in[i];
    int n = rank > t->rank ? rank : t->rank;
    char text_a[CT__SHAPE_TEXT_BYTES], text_b[CT__SHAPE_TEXT_BYTES], note[2 * CT__NAME_NOTE_BYTES];
    ct__format_shape(text_a, sizeof text_a, rank, shape);
    ct__format_shape(text_b, sizeof text_b, t->rank, t->shape);
    return ct__fail(CT_ESHAPE, who,
                    "shapes %s and %s do not broadcast: the extents %" PRId64 " and %" PRId64
                    " of axis %d%s differ and neither is 1",
                    text_a, text_b, ct__extent_at(n, axis, rank, shape),
                    ct__extent_at(n, axis, t->rank, t->shape), axis,
                    both_names(note, n, axis, i, in));
}

ct_status ct__broadcast_tensors(const char *who, int n, const ct_tensor *const in[], int *rank,
                                int64_t shape[CT_MAX_RANK]) {
    int64_t result[CT_MAX_RANK];
    int result_rank = in[0]->rank;
    memcpy(result, in[0]->shape, sizeof *result * (size_t)result_rank);
    for (int i = 1; i < n; i++) {
        int axis = ct__broadcast_fault(result_rank, result, in[i]->rank, in[i]->shape, &result_rank,
                                       result);
        if (axis >= 0)
            return who ? explain_broadcast(who, i, in, result_rank, result, axis) : CT_ESHAPE;
    }
    *rank = result_rank;
    memcpy(shape, result, sizeof *shape * (size_t)result_rank);
    return CT_OK;
}

static bool is_shape(int rank, const int64_t *shape) {
    return rank_is_valid(rank) && (rank == 0 || shape) && axis_below(0, rank, shape) < 0;
}

int ct_broadcast_shape(int rank_a, const int64_t *a, int rank_b, const int64_t *b,
                       int64_t shape[CT_MAX_RANK]) {
    int rank = -1;
    if (!shape || !is_shape(rank_a, a) || !is_shape(rank_b, b) ||
        ct__broadcast_fault(rank_a, a, rank_b, b, &rank, shape) >= 0)
        return -1;
    return rank;
}

bool ct_can_broadcast(int rank_a, const int64_t *a, int rank_b, const int64_t *b) {
    int64_t shape[CT_MAX_RANK];
    return ct_broadcast_shape(rank_a, a, rank_b, b, shape) >= 0;
}

// --- reshaping

enum fault {
    FITS,
    BAD_RANK,
    NULL_SHAPE,
    NEGATIVE,
    TWO_OPEN,
    OVERFLOWS,
    COUNTS_DIFFER,
    NO_MULTIPLE,
    ANY_NUMBER
};

// The product of the extents that are given, and where the open one (-1) is.
static enum fault scan_shape(int rank, const int64_t *shape, int *open, size_t *known) {
    if (!rank_is_valid(rank))
        return BAD_RANK;
    if (rank > 0 && !shape)
        return NULL_SHAPE;
    bool negative = false, fits = true, empty = false;
    int opens = 0;
    size_t n = 1;
    *open = -1;
    for (int i = 0; i < rank; i++) {
        if (shape[i] >= 0) {
            fits &= ct__mul_size(n, (size_t)shape[i], &n);
            empty |= shape[i] == 0;
            continue;
        }
        negative |= shape[i] < -1;
        opens++;
        *open = i;
    }
    if (negative)
        return NEGATIVE;
    if (opens > 1)
        return TWO_OPEN;
    *known = empty ? 0 : n;
    return empty || (fits && n <= PTRDIFF_MAX) ? FITS : OVERFLOWS;
}

static enum fault resolve(size_t count, int rank, const int64_t *shape, int64_t *resolved,
                          size_t *known) {
    int open;
    enum fault fault = scan_shape(rank, shape, &open, known);
    if (fault == OVERFLOWS && open >= 0 && count == 0)
        *known = 1, fault = FITS; // 0 items: the open extent is 0, however large the others are
    if (fault)
        return fault;
    if (open < 0 && *known != count)
        return COUNTS_DIFFER;
    if (open >= 0 && *known == 0)
        return count == 0 ? ANY_NUMBER : NO_MULTIPLE;
    if (open >= 0 && count % *known != 0)
        return NO_MULTIPLE;
    for (int i = 0; i < rank; i++)
        resolved[i] = shape[i];
    if (open >= 0)
        resolved[open] = (int64_t)(count / *known);
    return FITS;
}

static ct_status explain_reshape(const char *who, const ct_tensor *t, int rank,
                                 const int64_t *shape, enum fault fault, size_t known) {
    if (fault == BAD_RANK)
        return fail_rank(who, rank);
    if (fault == NULL_SHAPE)
        return ct__fail(CT_EINVAL, who, "the shape is NULL and the rank is %d", rank);
    if (fault == NEGATIVE) {
        int axis = axis_below(-1, rank, shape);
        return fail_negative(who, axis, shape[axis]);
    }
    char from[CT__SHAPE_TEXT_BYTES], to[CT__SHAPE_TEXT_BYTES];
    ct__format_shape(from, sizeof from, t->rank, t->shape);
    ct__format_shape(to, sizeof to, rank, shape);
    if (fault == TWO_OPEN)
        return ct__fail(CT_ESHAPE, who, "the shape %s has more than one extent of -1", to);
    if (fault == OVERFLOWS)
        return ct__fail(CT_EOVERFLOW, who, "a shape of %s holds more items than can be counted",
                        to);
    const char *items = t->count == 1 ? "item" : "items";
    if (fault == ANY_NUMBER)
        return ct__fail(CT_ESHAPE, who,
                        "cannot reshape a tensor of shape %s (%zu %s) into %s: the extent -1 could "
                        "be any number",
                        from, t->count, items, to);
    if (fault == NO_MULTIPLE)
        return ct__fail(CT_ESHAPE, who,
                        "cannot reshape a tensor of shape %s (%zu %s) into %s: %zu is not a "
                        "multiple of %zu",
                        from, t->count, items, to, t->count, known);
    return ct__fail(CT_ESHAPE, who, "cannot reshape a tensor of shape %s (%zu %s) into %s (%zu %s)",
                    from, t->count, items, to, known, known == 1 ? "item" : "items");
}

ct_status ct__resolve_shape(const char *who, const ct_tensor *t, int rank, const int64_t *shape,
                            int64_t resolved[CT_MAX_RANK]) {
    size_t known = 0;
    enum fault fault = resolve(t->count, rank, shape, resolved, &known);
    if (fault == FITS)
        return CT_OK;
    return who ? explain_reshape(who, t, rank, shape, fault, known) : CT_ESHAPE;
}

bool ct_can_reshape(const ct_tensor *t, int rank, const int64_t *shape) {
    int64_t resolved[CT_MAX_RANK];
    return t && !ct__resolve_shape(NULL, t, rank, shape, resolved);
}
