#include "index_tools.h"

#include "dual/ct_dual.h"
#include "fixed/ct_fixed.h"
#include "tensor/ct_alloc.h"
#include "tensor/ct_names.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double no_number(const ct_scalar *self, const void *item) {
    (void)self;
    (void)item;
    return 0;
}

// Takes numbers all the same, so that it can be filled.
static bool repeat_number(const ct_scalar *self, void *item, double value) {
    memset(item, (int)value, self->size);
    return true;
}

static int no_text(const ct_scalar *self, const void *item, char *text, size_t size) {
    (void)self;
    (void)item;
    (void)text;
    (void)size;
    return 0;
}

static bool same_bytes(const ct_scalar *self, const void *a, const void *b) {
    return memcmp(a, b, self->size) == 0;
}

static const ct_scalar opaque = {.name = "opaque",
                                 .size = 12,
                                 .align = 4,
                                 .to_double = no_number,
                                 .from_double = repeat_number,
                                 .format = no_text,
                                 .equal = same_bytes};

const ct_scalar *const every_scalar[SCALARS] = {
    CT_F32,    CT_F64,    CT_I32,      CT_I64,      CT_BOOL,  &ct_scalar_dual64_2,
    CT_DUAL32, CT_DUAL64, CT_DUAL64X4, CT_DUAL32X8, CT_FIXED, &opaque};

const struct shape_case shape_cases[SHAPES] = {
    {0, {0}},       {1, {5}},          {2, {3, 4}},
    {2, {0, 3}},    {3, {2, 3, 4}},    {3, {1, 4}},
    {3, {2, 0, 3}}, {4, {2, 1, 3, 2}}, {8, {1, 2, 1, 2, 2, 1, 1, 2}}};

uint64_t next_bits(uint64_t *state) {
    uint64_t x = *state += 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

int64_t next_below(uint64_t *state, int64_t bound) {
    return (int64_t)(next_bits(state) % (uint64_t)bound);
}

// --- items

struct items items_of(const ct_tensor *t) {
    ck_assert_msg(t != NULL, "%s: %s", ct_error()->function, ct_error()->message);
    struct items x = {.scalar = ct_dtype(t), .rank = ct_rank(t), .count = ct_count(t)};
    for (int i = 0; i < x.rank; i++)
        x.shape[i] = ct_shape(t)[i];
    size_t bytes = x.count * x.scalar->size;
    x.bytes = malloc(bytes + 1);
    ck_assert_int_eq(ct_to_items(t, bytes, x.bytes), CT_OK);
    return x;
}

void drop_items(struct items *items) {
    free(items->bytes);
}

char *item_at(const struct items *items, const int64_t *index) {
    size_t place = 0;
    for (int i = 0; i < items->rank; i++) {
        if (index[i] < 0 || index[i] >= items->shape[i]) // ck_assert takes long, even if it holds
            ck_abort_msg("the test itself looks outside its items");
        place = place * (size_t)items->shape[i] + (size_t)index[i];
    }
    return items->bytes + place * items->scalar->size;
}

int64_t number_at(const struct items *items, const int64_t *index) {
    int64_t wide;
    int32_t narrow;
    if (items->scalar == CT_I64) {
        memcpy(&wide, item_at(items, index), sizeof wide);
        return wide;
    }
    memcpy(&narrow, item_at(items, index), sizeof narrow);
    return narrow;
}

bool next_index(int rank, const int64_t *shape, int64_t *index) {
    for (int i = rank - 1; i >= 0; i--) {
        if (++index[i] < shape[i])
            return true;
        index[i] = 0;
    }
    return false;
}

// --- layouts

// Strides for the axes in the order of `inner`, innermost first, with gaps between the items.
static int64_t set_strides(const struct items *x, bool turned, int64_t gap, int64_t *strides) {
    int64_t step = gap;
    for (int i = 0; i < x->rank; i++) {
        int axis = turned ? i : x->rank - 1 - i;
        strides[axis] = step;
        step *= x->shape[axis] + (gap > 1);
    }
    return step;
}

static void release(void *memory) {
    free(memory);
}

ct_tensor *spread_out(ct_tensor *t, enum spread how) {
    if (how == DENSE)
        return t;
    struct items x = items_of(t);
    ct_free(t);
    int64_t strides[CT_MAX_RANK], offset = how == OFFSET ? 3 : 0, place = 0;
    int64_t room = set_strides(&x, how == TRANSPOSED, how == GAPS ? 3 : 1, strides);
    if (how == REPEATED && x.rank > 0)
        strides[0] = 0;
    for (int i = 0; how == FLIPPED && i < x.rank && x.count > 0; i++) {
        offset += (x.shape[i] - 1) * strides[i];
        strides[i] = -strides[i];
    }
    size_t size = x.scalar->size, count = (size_t)(room + offset + 8);
    char *memory = calloc(count, size);
    for (size_t i = 0; i < count * size; i++)
        memory[i] = (char)(i * 7 % 2); // also of bools
    int64_t index[CT_MAX_RANK] = {0};
    if (x.count > 0)
        do {
            if (how == REPEATED && x.rank > 0 && index[0] > 0)
                continue;
            place = offset;
            for (int i = 0; i < x.rank; i++)
                place += index[i] * strides[i];
            memcpy(memory + (size_t)place * size, item_at(&x, index), size);
        } while (next_index(x.rank, x.shape, index));
    t = ct_tensor_over(x.scalar, x.rank, x.shape, strides, offset, memory, count, release, memory);
    ck_assert_msg(t != NULL, "%s", ct_error()->message);
    drop_items(&x);
    return t;
}

// --- making

static size_t count_of(int rank, const int64_t *shape) {
    size_t count = 1;
    for (int i = 0; i < rank; i++)
        count *= (size_t)shape[i];
    return count;
}

static ct_tensor *from_bytes(const ct_scalar *scalar, int rank, const int64_t *shape, char *bytes) {
    ct_tensor *t = ct_from_items(scalar, rank, shape, count_of(rank, shape), bytes);
    ck_assert_msg(t != NULL, "%s", ct_error()->message);
    free(bytes);
    return t;
}

ct_tensor *random_items(uint64_t *state, const ct_scalar *scalar, int rank, const int64_t *shape) {
    size_t n = count_of(rank, shape) * scalar->size;
    char *bytes = malloc(n + 1);
    for (size_t i = 0; i < n; i++)
        bytes[i] = (char)(next_bits(state) & (scalar->traits & CT_BOOLEAN ? 1 : 255));
    return from_bytes(scalar, rank, shape, bytes);
}

ct_tensor *random_numbers(uint64_t *state, const ct_scalar *scalar, int rank,
                          const int64_t *shape) {
    static const double numbers[] = {0, -1, 1, 2, -0.0, 5, -7, 3, INF, -INF, QNAN, -1};
    size_t n = count_of(rank, shape), size = scalar->size;
    const ct_scalar *base = scalar;
    while (base->base)
        base = base->base;
    char *bytes = calloc(n + 1, size);
    for (size_t i = 0; i < n; i++) {
        // Tangents differ, so that one sees where a dual comes from.
        for (size_t at = base->size; at < size; at += base->size)
            base->from_double(base, bytes + i * size + at, (double)next_below(state, 1000));
        double value = base == CT_BOOL ? (double)next_below(state, 2)
                                       : numbers[next_below(state, COUNT(numbers))];
        if (!base->from_double(base, bytes + i * size, value))
            base->from_double(base, bytes + i * size, 0);
    }
    return from_bytes(scalar, rank, shape, bytes);
}

ct_tensor *random_index(uint64_t *state, const ct_scalar *scalar, int rank, const int64_t *shape,
                        int64_t low, int64_t high) {
    size_t n = count_of(rank, shape);
    int64_t *wide = malloc((n + 1) * sizeof *wide);
    int32_t *narrow = malloc((n + 1) * sizeof *narrow);
    for (size_t i = 0; i < n; i++) {
        wide[i] = low + next_below(state, high - low);
        narrow[i] = (int32_t)wide[i];
    }
    ct_tensor *t = ct_from_items(scalar, rank, shape, n, scalar == CT_I64 ? (void *)wide : narrow);
    ck_assert_msg(t != NULL, "%s", ct_error()->message);
    free(wide);
    free(narrow);
    return t;
}

ct_tensor *random_mask(uint64_t *state, int rank, const int64_t *shape) {
    return random_items(state, CT_BOOL, rank, shape);
}

// --- comparing

void expect_same(ct_tensor *t, const struct items *expected) {
    const ct_scalar *scalar = expected->scalar;
    ck_assert_msg(t != NULL, "%s: %s", ct_error()->function, ct_error()->message);
    ck_assert_int_eq(ct_check_tensor(t), CT_OK);
    ck_assert_ptr_eq(ct_dtype(t), scalar);
    ck_assert_int_eq(ct_rank(t), expected->rank);
    for (int i = 0; i < expected->rank; i++)
        ck_assert_int_eq(ct_shape(t)[i], expected->shape[i]);
    struct items found = items_of(t);
    for (size_t i = 0; i < expected->count; i++) {
        const char *a = found.bytes + i * scalar->size, *b = expected->bytes + i * scalar->size;
        if (memcmp(a, b, scalar->size) != 0)
            ck_abort_msg("item %zu of %zu (%s) is %g, not %g", i, expected->count, scalar->name,
                         scalar->to_double(scalar, a), scalar->to_double(scalar, b));
    }
    drop_items(&found);
    ct_free(t);
}

void expect_rule(ct_tensor *t, const ct_scalar *scalar, int rank, const int64_t *shape,
                 item_rule *rule, const void *context) {
    struct items x = {.scalar = scalar, .rank = rank, .count = count_of(rank, shape)};
    for (int i = 0; i < rank; i++)
        x.shape[i] = shape[i];
    x.bytes = calloc(x.count + 1, scalar->size);
    int64_t index[CT_MAX_RANK] = {0};
    if (x.count > 0)
        do
            rule(context, index, item_at(&x, index));
        while (next_index(rank, shape, index));
    expect_same(t, &x);
    drop_items(&x);
}

void expect_failure(const void *made, ct_status code, const char *function, const char *message) {
    ck_assert_msg(made == NULL, "something was made where '%s' was expected", message);
    ck_assert_str_eq(ct_error()->message, message);
    ck_assert_int_eq(ct_error()->code, code);
    ck_assert_str_eq(ct_error()->function, function);
    ct_error_clear();
}

void expect_names(ct_tensor *t, const char *names) {
    char text[256] = "";
    ck_assert_msg(t != NULL, "%s: %s", ct_error()->function, ct_error()->message);
    for (int i = 0; i < ct_rank(t); i++) {
        const char *name = ct_axis_name(t, i);
        strcat(strcat(text, i ? " " : ""), name ? name : "-");
    }
    ck_assert_str_eq(text, names);
    ck_assert_int_eq(ct_check_tensor(t), CT_OK);
    ct_free(t);
}
