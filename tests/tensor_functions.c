#include "tensor_functions.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "case_tools.h"
#include "dual/ct_dual.h"
#include "fixed/ct_fixed.h"
#include "op_oracle.h"
#include "tensor/ct_convert.h"
#include "tensor/ct_factor.h"
#include "tensor/ct_format.h"
#include "tensor/ct_index.h"
#include "tensor/ct_iterate.h"
#include "tensor/ct_linalg.h"
#include "tensor/ct_make.h"
#include "tensor/ct_names.h"
#include "tensor/ct_ops.h"
#include "tensor/ct_random.h"
#include "tensor/ct_write.h"

const ct_scalar *const function_scalars[FUNCTION_SCALARS] = {
    CT_F32,   CT_F64,    CT_I32,    CT_I64,      CT_BOOL,
    CT_FIXED, CT_DUAL32, CT_DUAL64, CT_DUAL64X4, &ct_scalar_dual64_2};

/* A dual's items are some numbers of the type at its base. */
static const ct_scalar *number_type(const ct_scalar *scalar) {
    while (scalar->base)
        scalar = scalar->base;
    return scalar;
}

static bool is_nan(const ct_scalar *number, const char *item) {
    return number->traits & CT_REAL && isnan(number->to_double(number, item));
}

void plain_bytes(const ct_tensor *t, char *bytes) {
    const ct_scalar *number = number_type(ct_dtype(t));
    size_t size = ct_count(t) * ct_dtype(t)->size;
    ck_assert_int_eq(ct_to_items(t, size, bytes), CT_OK);
    for (size_t i = 0; number->traits & CT_REAL && i < size; i += number->size)
        if (is_nan(number, bytes + i))
            number->from_double(number, bytes + i, QNAN);
}

/* ---- functions that take more than one line */

/* As for any NULL operand. */
static ct_tensor *nothing_of(void) {
    return ct_copy(NULL);
}

static ct_tensor *full_of(const ct_tensor *t) {
    return t ? ct_full(ct_dtype(t), ct_rank(t), ct_shape(t), 1) : nothing_of();
}

static ct_tensor *eye_of(const ct_tensor *t) {
    return t ? ct_eye(ct_dtype(t), ct_extent(t, 1), ct_extent(t, 2), 1) : nothing_of();
}

static ct_tensor *arange_of(const ct_tensor *t) {
    return t ? ct_arange(ct_dtype(t), 0, (double)ct_extent(t, 1), 1) : nothing_of();
}

static ct_tensor *linspace_of(const ct_tensor *t, bool logarithmic) {
    if (!t)
        return nothing_of();
    const ct_scalar *scalar = ct_dtype(t);
    int64_t n = (int64_t)ct_count(t);
    double step = scalar->traits & CT_INTEGER ? 1 : 0.37; // whole numbers stay whole
    return logarithmic ? ct_logspace(scalar, -2, 3, n, 10)
                       : ct_linspace(scalar, 0, (double)(n - 1) * step, n);
}

static ct_tensor *uniform_of(const ct_tensor *t) {
    ct_random random = ct_random_of(1, 2);
    return t ? ct_uniform(&random, ct_dtype(t), ct_rank(t), ct_shape(t), -1, 1) : nothing_of();
}

static ct_tensor *normal_of(const ct_tensor *t) {
    ct_random random = ct_random_of(3, 4);
    return t ? ct_normal(&random, ct_dtype(t), ct_rank(t), ct_shape(t), 1, 2) : nothing_of();
}

static ct_tensor *random_integers_of(const ct_tensor *t) {
    ct_random random = ct_random_of(5, 6);
    return t ? ct_random_integers(&random, ct_dtype(t), ct_rank(t), ct_shape(t), 0, 2)
             : nothing_of();
}

static ct_tensor *part_of_split(const ct_tensor *t, int axis, int64_t n, int kept) {
    ct_tensor *parts[4];
    if (ct_split(t, axis, n, parts) != CT_OK)
        return NULL;
    for (int i = 0; i < n; i++)
        if (i != kept)
            ct_free(parts[i]);
    return parts[kept];
}

static ct_tensor *part_of_sizes(const ct_tensor *t, int axis, int kept) {
    ct_tensor *parts[2];
    int64_t extent = t ? ct_extent(t, axis) : 0, sizes[] = {extent > 0, extent - (extent > 0)};
    if (ct_split_sizes(t, axis, 2, sizes, parts) != CT_OK)
        return NULL;
    ct_free(parts[1 - kept]);
    return parts[kept];
}

static ct_tensor *part_of_topk(const ct_tensor *t, int64_t k, int axis, bool largest, int kept) {
    ct_tensor *values = NULL, *places = NULL;
    if (ct_topk(t, k, axis, largest, kept == 0 ? &values : NULL, &places) != CT_OK)
        return NULL;
    if (kept == 1)
        return places;
    ct_free(places);
    return values;
}

static ct_tensor *part_of_unique(const ct_tensor *t, int kept) {
    ct_tensor *parts[3] = {NULL};
    if (ct_unique(t, &parts[0], &parts[1], &parts[2]) != CT_OK)
        return NULL;
    for (int i = 0; i < 3; i++)
        if (i != kept)
            ct_free(parts[i]);
    return parts[kept];
}

static ct_tensor *last_component(const ct_tensor *t) {
    if (!t)
        return nothing_of();
    const ct_scalar *scalar = ct_dtype(t), *number = number_type(scalar);
    return ct_component(t, number, scalar->size - number->size);
}

static ct_tensor *put_together(const ct_tensor *t) {
    if (!t)
        return nothing_of();
    const ct_scalar *scalar = ct_dtype(t), *number = number_type(scalar);
    size_t n = scalar->size / number->size;
    ct_tensor *parts[16] = {NULL}, *whole = NULL;
    ck_assert_uint_le(n, COUNT(parts));
    bool all = true;
    for (size_t i = 0; i < n && all; i++)
        all = (parts[i] = ct_component(t, number, i * number->size)) != NULL;
    if (all)
        whole = ct_from_components(scalar, n, (const ct_tensor *const *)parts);
    for (size_t i = 0; i < n; i++)
        ct_free(parts[i]);
    return whole;
}

#define NAMES(...)                                                                                 \
    (const char *const[]) {                                                                        \
        __VA_ARGS__                                                                                \
    }

static ct_tensor *from_named(const ct_tensor *t, ct_tensor *(*function)(const ct_tensor *named)) {
    ct_tensor *named = ct_name_axes(t, 3, NAMES("x", "y", "z"));
    ct_tensor *result = named ? function(named) : NULL;
    ct_free(named);
    return result;
}

static ct_tensor *drop_the_names(const ct_tensor *named) {
    return ct_drop_names(named);
}

static ct_tensor *transpose_by_names(const ct_tensor *named) {
    return ct_transpose_named(named, "x", "z");
}

static ct_tensor *align_to_names(const ct_tensor *named) {
    return ct_align_to(named, 4, NAMES("z", "new", "x", "y"));
}

static ct_tensor *align_as_itself(const ct_tensor *named) {
    ct_tensor *turned = ct_transpose(named);
    ct_tensor *result = turned ? ct_align_as(named, turned) : NULL;
    ct_free(turned);
    return result;
}

/* The number of an item's bytes (FNV-1a), and of two items one after the other. */
static uint64_t stir(uint64_t hash, const void *bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3;
    return hash;
}

static ct_status stir_item(void *context, void *accumulator, const void *item) {
    uint64_t hash;
    memcpy(&hash, accumulator, sizeof hash);
    hash = stir(hash, item, *(size_t *)context);
    memcpy(accumulator, &hash, sizeof hash);
    return CT_OK;
}

static ct_status copy_item(void *context, const void *in, void *out) {
    memcpy(out, in, *(size_t *)context);
    return CT_OK;
}

static ct_status number_of_item(void *context, const void *in, void *out) {
    uint64_t hash = stir(1, in, *(size_t *)context);
    memcpy(out, &hash, sizeof hash);
    return CT_OK;
}

static ct_status number_of_two(void *context, const void *a, const void *b, void *out) {
    size_t size = *(size_t *)context;
    uint64_t hash = stir(stir(1, a, size), b, size);
    memcpy(out, &hash, sizeof hash);
    return CT_OK;
}

static size_t item_size(const ct_tensor *t) {
    return t ? ct_dtype(t)->size : 0;
}

static ct_tensor *folded(const ct_tensor *t, int axis) {
    size_t size = item_size(t);
    return ct_fold(t, axis, CT_I64, &(int64_t){1}, stir_item, &size);
}

static ct_tensor *folded_axes(const ct_tensor *t, int n, const int *axes) {
    size_t size = item_size(t);
    return ct_fold_axes(t, n, axes, CT_I64, &(int64_t){1}, stir_item, &size);
}

static ct_tensor *mapped(const ct_tensor *t) {
    size_t size = item_size(t);
    return ct_map(t, copy_item, &size);
}

static ct_tensor *mapped_to(const ct_tensor *t) {
    size_t size = item_size(t);
    return ct_map_to(t, CT_I64, number_of_item, &size);
}

static ct_tensor *zipped(const ct_tensor *a, const ct_tensor *b) {
    size_t size = item_size(a);
    return ct_zip(a, b, CT_I64, number_of_two, &size);
}

static ct_tensor *walked(const ct_tensor *t) {
    struct ct_iter walk = ct_iter_init(t);
    int64_t numbers[2] = {1, 0};
    while (ct_iter_next(&walk)) {
        uint64_t hash = (uint64_t)numbers[0];
        hash = stir(hash, walk.item, item_size(t));
        hash = stir(hash, walk.index, (size_t)ct_rank(t) * sizeof *walk.index);
        numbers[0] = (int64_t)stir(hash, &walk.flat, sizeof walk.flat);
        numbers[1]++;
    }
    return t ? ct_from_i64s(CT_I64, 1, (int64_t[]){2}, 2, numbers) : NULL;
}

static ct_tensor *text_of(const ct_tensor *t) {
    char text[4096];
    int length = ct_format(t, text, sizeof text);
    if (length < 0)
        return NULL;
    return ct_from_i64(CT_I64, (int64_t)stir(1, text, strlen(text)));
}

static ct_tensor *report_of_cast(const ct_tensor *t) {
    struct ct_cast_report report = {0};
    if (ct_cast_report(t, CT_I32, &report) != CT_OK)
        return NULL;
    int64_t numbers[] = {(int64_t)report.misfits, (int64_t)report.rounded,
                         (int64_t)stir(1, report.first, sizeof report.first),
                         (int64_t)stir(1, report.text, strlen(report.text)),
                         ct_can_astype(t, CT_I32)};
    return ct_from_i64s(CT_I64, 1, (int64_t[]){5}, 5, numbers);
}

/* Memory for all items of t, to be freed; some also where there are none. */
static void *room_for(const ct_tensor *t, size_t size) {
    void *room = calloc((t ? ct_count(t) : 0) + 1, size);
    ck_assert_ptr_nonnull(room);
    return room;
}

static ct_tensor *through_doubles(const ct_tensor *t) {
    double *values = room_for(t, sizeof *values);
    ct_tensor *result = NULL;
    if (ct_to_doubles(t, t ? ct_count(t) : 0, values) == CT_OK)
        result = ct_from_doubles(ct_dtype(t), ct_rank(t), ct_shape(t), ct_count(t), values);
    free(values);
    return result;
}

static ct_tensor *through_i64s(const ct_tensor *t) {
    int64_t *values = room_for(t, sizeof *values);
    ct_tensor *result = NULL;
    if (ct_to_i64s(t, t ? ct_count(t) : 0, values) == CT_OK)
        result = ct_from_i64s(ct_dtype(t), ct_rank(t), ct_shape(t), ct_count(t), values);
    free(values);
    return result;
}

static ct_tensor *through_items(const ct_tensor *t) {
    char *items = room_for(t, item_size(t) + 1);
    ct_tensor *result = NULL;
    if (ct_to_items(t, t ? ct_count(t) * item_size(t) : 0, items) == CT_OK)
        result = ct_from_items(ct_dtype(t), ct_rank(t), ct_shape(t), ct_count(t), items);
    free(items);
    return result;
}

static ct_tensor *through_bytes(const ct_tensor *t, enum ct_byte_order order) {
    size_t size = t ? ct_count(t) * item_size(t) : 0;
    char *bytes = room_for(t, item_size(t) + 1);
    ct_tensor *result = NULL;
    if (ct_to_bytes(t, order, size, bytes) == CT_OK)
        result = ct_from_bytes(ct_dtype(t), ct_rank(t), ct_shape(t), order, size, bytes);
    free(bytes);
    return result;
}

/* A matrix with a heavy diagonal, which is positive definite as far as its lower triangle tells. */
static ct_tensor *heavy(const ct_tensor *t) {
    if (!t)
        return nothing_of();
    ct_tensor *one = ct_eye(ct_dtype(t), ct_extent(t, -1), ct_extent(t, -1), 0);
    ct_tensor *hundred = one ? ct_full_like(one, 100) : NULL;
    ct_tensor *diagonal = hundred ? ct_mul(one, hundred) : NULL;
    ct_tensor *sum = diagonal ? ct_add(t, diagonal) : NULL;
    ct_free(one), ct_free(hundred), ct_free(diagonal);
    return sum;
}

static ct_tensor *cholesky_of(const ct_tensor *t) {
    ct_tensor *sum = heavy(t), *l = sum || !t ? ct_cholesky(sum) : NULL;
    ct_free(sum);
    return l;
}

static ct_tensor *triangle_solved(const ct_tensor *a, const ct_tensor *b, unsigned flags) {
    ct_tensor *sum = heavy(a), *x = sum || !a ? ct_solve_triangular(sum, b, flags) : NULL;
    ct_free(sum);
    return x;
}

static ct_tensor *part_of_lu(const ct_tensor *t, int kept) {
    ct_tensor *parts[2];
    if (ct_lu(t, &parts[0], &parts[1]) != CT_OK)
        return NULL;
    ct_free(parts[1 - kept]);
    return parts[kept];
}

static ct_tensor *lu_solved(const ct_tensor *a, const ct_tensor *b) {
    ct_tensor *lu, *order;
    if (ct_lu(a, &lu, &order) != CT_OK)
        return NULL;
    ct_tensor *x = ct_lu_solve(lu, order, b, true);
    ct_free(lu), ct_free(order);
    return x;
}

static ct_tensor *part_of_slogdet(const ct_tensor *t, int kept) {
    ct_tensor *part = NULL;
    return ct_slogdet(t, kept ? NULL : &part, kept ? &part : NULL) == CT_OK ? part : NULL;
}

/* ---- writing */

/* What is written: a share of a, or a tensor alone on dense storage. */
static ct_tensor *target_of(const char *id, const ct_tensor *a) {
    return strstr(id, "_in_place") ? through_items(a) : ct_copy(a);
}

/* The target, or NULL after a failure, which must have left it as it was. */
static ct_tensor *written(const char *id, ct_tensor *t, const ct_tensor *a, ct_status status) {
    if (status == CT_OK)
        return t;
    if (t && a && !ct_tensor_equal(t, a))
        ck_abort_msg("%s fails (%s) and leaves its target changed", id, ct_error()->message);
    ct_free(t);
    return NULL;
}

static ct_status set_item_of(ct_tensor *t, const ct_tensor *item) {
    return item ? ct_set_item(t, 3, (int64_t[]){1, 0, -1}, ct_data(item)) : ct_assign(t, item);
}

/* ---- the table */

#define LIST(...)                                                                                  \
    (int64_t[]) {                                                                                  \
        __VA_ARGS__                                                                                \
    }
#define AXES(...)                                                                                  \
    (int[]) {                                                                                      \
        __VA_ARGS__                                                                                \
    }
#define LISTED(...)                                                                                \
    (const ct_tensor *const[]) {                                                                   \
        __VA_ARGS__                                                                                \
    }

#define ROW(row, flags, operands, ...)                                                             \
    static ct_tensor *call_##row(const struct tensor_function *self,                               \
                                 const ct_tensor *const in[]) {                                    \
        const ct_tensor *a = in[0], *b = in[1], *c = in[2];                                        \
        (void)self, (void)a, (void)b, (void)c;                                                     \
        return __VA_ARGS__;                                                                        \
    }
#define WRITE(row, flags, operands, ...)                                                           \
    static ct_tensor *call_##row(const struct tensor_function *self,                               \
                                 const ct_tensor *const in[]) {                                    \
        const ct_tensor *a = in[0], *b = in[1], *c = in[2];                                        \
        (void)b, (void)c;                                                                          \
        ct_tensor *t = target_of(self->id, a);                                                     \
        return written(self->id, t, a, __VA_ARGS__);                                               \
    }
#include "tensor_functions.def"
#undef ROW
#undef WRITE

#define T(shape)                                                                                   \
    { ITEMS, shape, 0, -4, 4 }
#define R(shape, low, high)                                                                        \
    { ITEMS, shape, 0, low, high }
#define SORT(shape)                                                                                \
    { SORTED, shape, 0, -4, 4 }
#define MASKED(shape)                                                                              \
    { MASK, shape, 0, 0, 2 }
#define AT(shape, bound)                                                                           \
    { PLACE, shape, bound, 0, 0 }
#define IX(shape, bound)                                                                           \
    { INDEX, shape, bound, 0, 0 }
#define IX32(shape, bound)                                                                         \
    { INDEX32, shape, bound, 0, 0 }
#define OPERANDS(...)                                                                              \
    { __VA_ARGS__ }
#define ROW(row, flags, operands, ...)                                                             \
    {#row, #__VA_ARGS__, call_##row, flags, CT_OP_COUNT, 0, OPERANDS operands},
#define WRITE(row, flags, operands, ...)                                                           \
    {#row, #__VA_ARGS__, call_##row, flags, CT_OP_COUNT, 0, OPERANDS operands},                    \
        {#row "_in_place", #__VA_ARGS__, call_##row, flags, CT_OP_COUNT, 0, OPERANDS operands},
static const struct tensor_function structured[] = {
#include "tensor_functions.def"
};
#undef ROW
#undef WRITE

static ct_tensor *call_op(const struct tensor_function *self, const ct_tensor *const in[]) {
    return op_oracle(self->op)->apply(in);
}

/* Two rows for an op: operands of one shape, and of shapes that are broadcast. */
static struct tensor_function row_of_op(enum ct_op op, bool broadcast) {
    static char ids[2][CT_OP_COUNT][40], texts[2][CT_OP_COUNT][60];
    static const char *const shapes[] = {"b1", "abc", "c"};
    struct tensor_function f = {
        .call = call_op, .flags = ANY_RANK | (broadcast ? 0 : COMPUTES), .op = op};
    snprintf(ids[broadcast][op], sizeof ids[0][0], "%.24s%s", ct_op_name(op),
             broadcast ? "_broadcast" : "");
    snprintf(texts[broadcast][op], sizeof texts[0][0], "ct_%.24s(...)%s", ct_op_name(op),
             broadcast ? " broadcast" : "");
    f.id = ids[broadcast][op];
    f.text = texts[broadcast][op];
    for (int i = 0; i < op_oracle(op)->arity; i++) {
        struct op_domain domain = op_oracle(op)->domain[i];
        f.operand[i] = (struct operand){op_takes_mask(op, i) ? MASK : ITEMS,
                                        broadcast ? shapes[i] : "abc", 0, domain.low, domain.high};
    }
    return f;
}

static int count_operands(const struct tensor_function *f) {
    int n = 0;
    while (n < FUNCTION_OPERANDS && f->operand[n].kind != NO_OPERAND)
        n++;
    return n;
}

static size_t fill_table(struct tensor_function *table) {
    size_t rows = 0;
    for (int i = 0; i < CT_OP_COUNT; i++)
        for (int broadcast = 0; broadcast < 2; broadcast++)
            if (op_oracle((enum ct_op)i)->arity > broadcast)
                table[rows++] = row_of_op((enum ct_op)i, broadcast);
    memcpy(table + rows, structured, sizeof structured);
    rows += COUNT(structured);
    for (size_t i = 0; i < rows; i++)
        table[i].operands = count_operands(&table[i]);
    return rows;
}

const struct tensor_function *tensor_functions(size_t *count) {
    static struct tensor_function table[2 * CT_OP_COUNT + COUNT(structured)];
    static size_t rows;
    if (rows == 0)
        rows = fill_table(table);
    *count = rows;
    return table;
}

/* ---- operands */

static int64_t extent_of(char letter, enum extents extents) {
    static const int64_t table[][4] = {
        [SMALL_EXTENTS] = {2, 3, 4, 5},     [MEDIUM_EXTENTS] = {3, 17, 70, 9},
        [LARGE_EXTENTS] = {3, 70, 300, 40}, [EMPTY_EXTENTS] = {2, 0, 4, 5},
        [NO_ITEMS] = {0, 0, 0, 0},          [NO_AXES] = {1, 1, 1, 1}};
    if (letter >= '0' && letter <= '9')
        return letter - '0';
    ck_assert(letter >= 'a' && letter <= 'd');
    return table[extents][letter - 'a'];
}

/* What a draw needs to know beside the operand. */
struct sketch {
    const struct operand *operand;
    const ct_scalar *number;
    enum values values;
    bool divides; /* a whole number that something may be divided by */
    struct draw draw;
};

static double draw_special(struct sketch *sketch) {
    static const double reals[] = {0,   -0.0, 1,     -1,     INF,   -INF, QNAN,  0.5,
                                   2.5, -3.5, 1e-40, -1e-40, 1e300, 3,    -1e38, 0x1p-1074},
                        integers[] = {0, 1, -1, 2, -0x1p31, 0x1p31 - 1, -0x1p63, 7, -3, 0x1p62},
                        fixed[] = {0, 1, -1, 0.5, -0x1p31, 0x1p31 - 0.25, 0x1p-32, -2.75, 3, 46341};
    uint64_t bits = draw_bits(&sketch->draw);
    if (sketch->number->traits & CT_INTEGER)
        return integers[bits % COUNT(integers)];
    return sketch->number == CT_FIXED ? fixed[bits % COUNT(fixed)] : reals[bits % COUNT(reals)];
}

static double draw_value(struct sketch *sketch, int64_t bound) {
    const struct operand *operand = sketch->operand;
    switch (operand->kind) {
    case MASK:
        return (double)(draw_bits(&sketch->draw) & 1);
    case PLACE:
        return bound > 0 ? (double)(draw_bits(&sketch->draw) % (uint64_t)bound) : 0;
    case INDEX:
    case INDEX32:
        return bound > 0
                   ? (double)(draw_bits(&sketch->draw) % (uint64_t)(2 * bound)) - (double)bound
                   : 0;
    default:
        break;
    }
    if (sketch->number->traits & CT_BOOLEAN)
        return (double)(draw_bits(&sketch->draw) & 1);
    if (sketch->values == SPECIAL && draw_bits(&sketch->draw) % 2)
        return draw_special(sketch);
    double value = sketch->divides ? draw_between(&sketch->draw, 1, 4)
                                   : draw_between(&sketch->draw, operand->low, operand->high);
    return sketch->number->traits & CT_INTEGER ? floor(value) : value;
}

/* NaN last, as in ct_sort(). */
static int ascending(const void *x, const void *y) {
    double a = *(const double *)x, b = *(const double *)y;
    if (isnan(a) || isnan(b))
        return isnan(a) - isnan(b);
    return (a > b) - (a < b);
}

/* Tangents are ordinary numbers. */
static void put_item(struct sketch *sketch, const ct_scalar *scalar, double value, char *item) {
    const ct_scalar *number = sketch->number;
    number->from_double(number, item, value);
    for (size_t at = number->size; at < scalar->size; at += number->size)
        number->from_double(number, item + at, draw_between(&sketch->draw, -1, 1));
}

static const ct_scalar *type_of(const struct operand *operand, const ct_scalar *scalar) {
    return operand->kind == MASK                              ? CT_BOOL
           : operand->kind == PLACE || operand->kind == INDEX ? CT_I64
           : operand->kind == INDEX32                         ? CT_I32
                                                              : scalar;
}

ct_tensor *make_operand(const struct tensor_function *f, int i, const ct_scalar *scalar,
                        enum extents extents, enum values values) {
    const struct operand *operand = &f->operand[i];
    const ct_scalar *type = type_of(operand, scalar);
    struct sketch sketch = {operand, number_type(type), values, false, {(uint64_t)i + 7}};
    sketch.divides = f->op != CT_OP_COUNT && i > 0 && type->traits & CT_INTEGER;
    int rank = extents == NO_AXES ? 0 : (int)strlen(operand->shape);
    int64_t shape[CT_MAX_RANK], bound = operand->bound ? extent_of(operand->bound, extents) : 0;
    size_t count = 1;
    for (int axis = 0; axis < rank; axis++)
        count *= (size_t)(shape[axis] = extent_of(operand->shape[axis], extents));
    double *row = calloc(count + 1, sizeof *row);
    char *items = calloc(count + 1, type->size);
    ck_assert(row && items);
    for (size_t k = 0; k < count; k++)
        row[k] = draw_value(&sketch, bound);
    size_t length = rank ? (size_t)shape[rank - 1] : 1;
    for (size_t k = 0; operand->kind == SORTED && k < count; k += length)
        qsort(row + k, length, sizeof *row, ascending);
    for (size_t k = 0; k < count; k++)
        put_item(&sketch, type, row[k], items + k * type->size);
    ct_tensor *t = ct_from_items(type, rank, shape, count, items);
    ck_assert_msg(t != NULL, "%s: operand %d: %s", f->id, i, ct_error()->message);
    free(row);
    free(items);
    return t;
}
