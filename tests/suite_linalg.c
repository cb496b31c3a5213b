#include "numbers.h"

#include "dual/ct_dual.h"
#include "fixed/ct_fixed.h"
#include "tensor/ct_alloc.h"
#include "tensor/ct_linalg.h"
#include "tensor/ct_names.h"
#include "tensor/ct_ops.h"
#include "tensor/ct_reduce.h"
#include "tensor/ct_write.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_linalg(void);

static void no_leak(void) {
    ck_assert_uint_eq(ct_live_blocks(), 0);
}

// Values whose products and sums round.
static ct_tensor *rough(const ct_scalar *scalar, int rank, const int64_t *shape, int seed) {
    size_t count = 1;
    for (int i = 0; i < rank; i++)
        count *= (size_t)shape[i];
    double *items = malloc((count + 1) * sizeof *items);
    for (size_t i = 0; i < count; i++)
        items[i] = sin((double)i * 1.7 + seed) * (i % 5 ? 1 : 1e3);
    ct_tensor *t = ct_from_doubles(scalar, rank, shape, count, items);
    free(items);
    return t;
}

static bool multiplies(const ct_scalar *scalar) {
    return ct_scalar_has(scalar, CT_OP_mul) && ct_scalar_has(scalar, CT_OP_add);
}

// --- vectors

// The reduction's lanes over rounded products, whatever the length and layout.
START_TEST(dot_is_the_sum_of_products) {
    static const int64_t lengths[] = {0, 1, 2, 15, 16, 17, 1023, 1024, 1025, 4096, 5000, 40001};
    const ct_scalar *scalars[] = {CT_F32, CT_F64, CT_DUAL32, CT_DUAL64X4, &ct_scalar_dual64_2};
    const ct_scalar *scalar = scalars[_i];
    for (int i = 0; i < COUNT(lengths); i++) {
        int64_t n = scalar->base && lengths[i] > 5000 ? 6000 : lengths[i];
        ct_tensor *a = rough(scalar, SHAPE(n), 1), *b = rough(scalar, SHAPE(n), 2);
        for (int how = DENSE; how <= GAPS; how++) {
            a = spread_out(a, (enum spread)how);
            ct_tensor *products = ct_mul(a, b), *wanted = ct_sum(products, 0, false);
            ct_tensor *found = ct_dot(a, b), *other = ct_vdot(b, a);
            expect_same_bytes(found, wanted, scalar->name);
            expect_same_bytes(other, wanted, scalar->name);
            ct_tensor *all[] = {products, wanted, found, other};
            for (int k = 0; k < COUNT(all); k++)
                ct_free(all[k]);
        }
        ct_free(a);
        ct_free(b);
    }
}
END_TEST

START_TEST(integer_dot_is_exact) {
    ct_tensor *a = ct_from_doubles(CT_I32, SHAPE(3), ITEMS(2147483647, 2147483647, 5));
    ct_tensor *b = ct_from_doubles(CT_I32, SHAPE(3), ITEMS(2147483647, -2147483647, 7));
    assert_and_free(ct_dot(a, b), 0, NULL, ITEMS(35));
    expect_failure(ct_dot(a, a), CT_EOVERFLOW, "ct_dot",
                   "the item of the product does not fit i32");
    ct_tensor *big = ct_full(CT_FIXED, SHAPE(3), 2e9);
    expect_failure(ct_dot(big, big), CT_EOVERFLOW, "ct_dot",
                   "the sum of products does not fit fixed");
    ct_free(a);
    ct_free(b);
    ct_free(big);
}
END_TEST

// Every type and layout against index by index, in numbers whose products and sums are exact.
START_TEST(vectors_and_diagonals) {
    const ct_scalar *scalar = every_scalar[_i];
    uint64_t state = 2;
    if (!multiplies(scalar))
        return;
    for (int how = DENSE; how < SPREADS; how++) {
        ct_tensor *a = spread_out(small_numbers(&state, scalar, SHAPE(5)), (enum spread)how);
        ct_tensor *b = spread_out(small_numbers(&state, scalar, SHAPE(4)), (enum spread)how);
        ct_tensor *column = ct_expand_dims(a, 1);
        const ct_tensor *in[] = {column, b};
        size_t done;
        ct_tensor *wanted = naive_apply(CT_OP_mul, 2, in, &done), *found = ct_outer(a, b);
        expect_same_bytes(found, wanted, scalar->name);
        ct_free(wanted);
        ct_free(found);
        ct_free(column);
        for (int64_t offset = -2; offset <= 2; offset++) {
            ct_tensor *matrix = ct_diag(a, offset), *back = ct_diagonal(matrix, offset, 0, 1);
            ct_tensor *sum = ct_trace(matrix, offset, 0, 1), *line = ct_sum(a, 0, false);
            ct_tensor *all = ct_sum(matrix, CT_ALL, false);
            expect_same_bytes(back, a, scalar->name);
            expect_same_bytes(sum, line, scalar->name);
            expect_same_bytes(all, line, scalar->name); // zeros elsewhere
            ct_tensor *temporary[] = {matrix, back, sum, line, all};
            for (int k = 0; k < COUNT(temporary); k++)
                ct_free(temporary[k]);
        }
        ct_free(a);
        ct_free(b);
    }
    ct_tensor *cube = small_numbers(&state, scalar, SHAPE(3, 4, 3));
    ct_tensor *diagonal = ct_diagonal(cube, -1, 2, 0), *wanted = ct_sum(diagonal, -1, false);
    ct_tensor *found = ct_trace(cube, -1, 2, 0);
    expect_same_bytes(found, wanted, scalar->name);
    ck_assert_int_eq(ct_rank(found), 1);
    ct_free(cube);
    ct_free(diagonal);
    ct_free(wanted);
    ct_free(found);
}
END_TEST

START_TEST(without_items) {
    ct_tensor *none_there = ct_zeros(CT_F64, SHAPE(0)), *three = ct_ones(CT_F64, SHAPE(3));
    assert_and_free(ct_dot(none_there, none_there), 0, NULL, ITEMS(0));
    assert_and_free(ct_outer(none_there, three), SHAPE(0, 3), 0, NULL);
    assert_and_free(ct_diag(none_there, 0), SHAPE(0, 0), 0, NULL);
    assert_and_free(ct_diag(none_there, -2), SHAPE(2, 2), ITEMS(0, 0, 0, 0));
    ct_tensor *wide = ct_zeros(CT_F64, SHAPE(2, 0));
    assert_and_free(ct_tensordot(wide, none_there, 1, NULL, NULL), SHAPE(2), ITEMS(0, 0));
    assert_and_free(ct_tensordot(none_there, wide, 1, (int[]){0}, (int[]){1}), SHAPE(2),
                    ITEMS(0, 0));
    assert_and_free(ct_trace(wide, 0, 0, 1), 0, NULL, ITEMS(0));
    ct_free(none_there);
    ct_free(three);
    ct_free(wide);
}
END_TEST

// --- matmul against its specification

static bool has_reference(const ct_scalar *scalar) {
    return scalar == CT_F32 || scalar == CT_F64 || (scalar->traits & CT_INTEGER);
}

START_TEST(matmul_is_its_reference) {
    static const int64_t sizes[][3] = {{1, 1, 1},    {3, 5, 4},   {1, 300, 7}, {7, 600, 1},
                                       {17, 257, 9}, {8, 256, 8}, {2, 0, 3},   {33, 513, 34},
                                       {5, 1000, 2}, {64, 64, 64}};
    const ct_scalar *scalar = every_scalar[_i];
    if (!has_reference(scalar))
        return;
    for (int i = 0; i < COUNT(sizes); i++)
        for (int how = DENSE; how < SPREADS; how++) {
            uint64_t state = 4;
            bool real = scalar->traits & CT_REAL;
            int64_t m = sizes[i][0], k = sizes[i][1], n = sizes[i][2];
            ct_tensor *a =
                real ? rough(scalar, SHAPE(m, k), 1) : small_numbers(&state, scalar, SHAPE(m, k));
            ct_tensor *b =
                real ? rough(scalar, SHAPE(k, n), 2) : small_numbers(&state, scalar, SHAPE(k, n));
            a = spread_out(a, (enum spread)how);
            b = spread_out(b, (enum spread)((how * 5 + i) % SPREADS));
            ct_tensor *found = ct_matmul(a, b), *wanted = ct_matmul_reference(a, b);
            expect_same_bytes(found, wanted, scalar->name);
            ct_free(a);
            ct_free(b);
            ct_free(found);
            ct_free(wanted);
        }
}
END_TEST

// A type without a product of its own takes the default, which the reference specifies too.
START_TEST(default_matmul_is_its_reference) {
    ct_scalar plain = ct_scalar_f32;
    plain.matmul = NULL;
    for (int i = 0; i < 3; i++) {
        int64_t k = (int64_t[]){5, 256, 700}[i];
        ct_tensor *a = rough(&plain, SHAPE(6, k), 1), *b = rough(&plain, SHAPE(k, 7), 2);
        ct_tensor *found = ct_matmul(a, b), *wanted = ct_matmul_reference(a, b);
        expect_same_bytes(found, wanted, "f32 without a matmul");
        ct_tensor *all[] = {a, b, found, wanted};
        for (int n = 0; n < COUNT(all); n++)
            ct_free(all[n]);
    }
}
END_TEST

START_TEST(reference_of_wide_sums) {
    ct_tensor *a = ct_full(CT_I64, SHAPE(1, 4), -0x1p63),
              *b = ct_from_doubles(CT_I64, SHAPE(4, 1), ITEMS(-0x1p63, 0x1p62, 0x1p62, 0));
    assert_and_free(ct_matmul_reference(a, b), SHAPE(1, 1), ITEMS(0));
    assert_and_free(ct_matmul(a, b), SHAPE(1, 1), ITEMS(0));
    ct_tensor *c = ct_from_doubles(CT_I64, SHAPE(4, 1), ITEMS(0x1p62, 0x1p62, -0x1p63, 1));
    assert_and_free(ct_matmul_reference(a, c), SHAPE(1, 1), ITEMS(-0x1p63));
    assert_and_free(ct_matmul(a, c), SHAPE(1, 1), ITEMS(-0x1p63));
    expect_failure(ct_matmul_reference(a, a), CT_ESHAPE, "ct_matmul_reference",
                   "matmul needs the inner extents to agree: [1, 4] times [1, 4], 4 against 1");
    ct_tensor *turned = ct_transpose(a);
    expect_failure(ct_matmul_reference(a, turned), CT_EOVERFLOW, "ct_matmul_reference",
                   "the item at index [0, 0] of the product does not fit i64");
    ct_tensor *all[] = {a, b, c, turned};
    for (int i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
}
END_TEST

// The first item that does not fit, in row-major order of the whole result.
START_TEST(matmul_overflow_has_the_lowest_place) {
    uint64_t state = 8;
    for (int i = 0; i < 40; i++) {
        int64_t batches = 1 + next_below(&state, 6), m = 1 + next_below(&state, 5);
        int64_t n = 1 + next_below(&state, 4), row = next_below(&state, batches * m);
        int64_t other = next_below(&state, batches * m);
        ct_tensor *a = ct_ones(CT_I32, SHAPE(batches, m, 2));
        int32_t *items = ct_data_for_write(a);
        items[2 * row + 1] = items[2 * other + 1] = INT32_MAX;
        int64_t b_batches = i % 2 ? batches : 1, column = next_below(&state, n);
        ct_tensor *b = ct_zeros(CT_I32, SHAPE(b_batches, 2, n));
        int32_t *right = ct_data_for_write(b);
        for (int64_t k = 0; k < b_batches; k++)
            for (int64_t j = column; j < n; j++) // columns from here on overflow
                right[(2 * k + 0) * n + j] = right[(2 * k + 1) * n + j] = 1;
        char text[120];
        int64_t first = row < other ? row : other;
        snprintf(text, sizeof text,
                 "the item at index [%lld, %lld, %lld] of the product does not "
                 "fit i32",
                 (long long)(first / m), (long long)(first % m), (long long)column);
        expect_failure(ct_matmul(a, b), CT_EOVERFLOW, "ct_matmul", text);
        ct_free(a);
        ct_free(b);
    }
}
END_TEST

// Into targets that are alone, shared, views and operands.
START_TEST(matmul_into) {
    const ct_scalar *scalar = every_scalar[_i];
    uint64_t state = 6;
    if (!ct_scalar_matmul(scalar))
        return;
    for (int way = 0; way < 5; way++) {
        ct_tensor *a = small_numbers(&state, scalar, SHAPE(4, 4));
        ct_tensor *b = small_numbers(&state, scalar, SHAPE(4, 4)), *wanted = ct_matmul(a, b);
        ct_tensor *base = small_numbers(&state, scalar, SHAPE(4, 4)), *saved = ct_compact(base);
        ct_tensor *keep = ct_flip(saved, 0), *same = ct_flip(keep, 0), *own = ct_compact(same);
        ct_tensor *c = way == 0   ? small_numbers(&state, scalar, SHAPE(4, 4))
                       : way == 1 ? ct_copy(base)
                       : way == 2 ? ct_transpose(base)
                       : way == 3 ? ct_copy(a)
                                  : NULL;
        const void *place = c ? ct_data(c) : NULL;
        ck_assert_int_eq(ct_matmul_into(c ? c : a, a, b), CT_OK);
        expect_same_bytes(c ? c : a, wanted, scalar->name);
        expect_same_bytes(base, own, scalar->name);
        if (way == 0 && (scalar == CT_F32 || scalar == CT_F64))
            ck_assert_ptr_eq(ct_data(c), place);
        ct_tensor *all[] = {a, b, wanted, base, saved, keep, same, own, c};
        for (int i = 0; i < COUNT(all); i++)
            ct_free(all[i]);
    }
    ct_tensor *stack = small_numbers(&state, scalar, SHAPE(3, 2, 4));
    ct_tensor *b = small_numbers(&state, scalar, SHAPE(4, 2)),
              *c = ct_zeros(scalar, SHAPE(3, 2, 2));
    ct_tensor *wanted = ct_matmul(stack, b);
    ck_assert_int_eq(ct_matmul_into(c, stack, b), CT_OK);
    expect_same_bytes(c, wanted, scalar->name);
    ct_tensor *all[] = {stack, b, c, wanted};
    for (int i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
}
END_TEST

START_TEST(failing_matmul_into_leaves_its_target) {
    ct_tensor *a = ct_full(CT_I32, SHAPE(2, 2), 2147483647), *c = counting(CT_I32, SHAPE(2, 2));
    ck_assert_int_eq(ct_matmul_into(c, a, a), CT_EOVERFLOW);
    assert_and_free(c, SHAPE(2, 2), ITEMS(0, 1, 2, 3));
    ct_free(a);
}
END_TEST

// --- tensordot, index by index

static void check_tensordot(uint64_t *state, const ct_scalar *scalar) {
    int64_t extents[4], shape_a[4], shape_b[4];
    int n = (int)next_below(state, 3), rank_a = n + (int)next_below(state, 3);
    int rank_b = n + (int)next_below(state, 3), axes_a[4], axes_b[4], order_a[4], order_b[4];
    for (int i = 0; i < 4; i++) {
        extents[i] = 1 + next_below(state, 4);
        order_a[i] = order_b[i] = i;
        shape_a[i] = 1 + next_below(state, 3);
        shape_b[i] = 1 + next_below(state, 3);
    }
    for (int i = 0; i < rank_a; i++) { // shuffles
        int k = (int)next_below(state, rank_a), swap = order_a[i];
        order_a[i] = order_a[k];
        order_a[k] = swap;
    }
    for (int i = 0; i < rank_b; i++) {
        int k = (int)next_below(state, rank_b), swap = order_b[i];
        order_b[i] = order_b[k];
        order_b[k] = swap;
    }
    for (int i = 0; i < n; i++) {
        axes_a[i] = order_a[i] - (next_below(state, 2) ? rank_a : 0);
        axes_b[i] = order_b[i];
        shape_a[order_a[i]] = shape_b[order_b[i]] = extents[i];
    }
    enum spread how = (enum spread)next_below(state, SPREADS);
    ct_tensor *a = spread_out(small_numbers(state, scalar, rank_a, shape_a), how);
    ct_tensor *b = spread_out(small_numbers(state, scalar, rank_b, shape_b), how);
    int64_t shape[8];
    int rank = 0, from[8], of_a = 0;
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < (side ? rank_b : rank_a); i++) {
            bool summed = false;
            for (int k = 0; k < n; k++)
                summed |= (side ? order_b : order_a)[k] == i;
            if (summed)
                continue;
            shape[rank] = (side ? shape_b : shape_a)[i];
            from[rank++] = i;
            of_a += !side;
        }
    ck_assert(ct_can_tensordot(a, b, n, axes_a, axes_b));
    ct_tensor *found = ct_tensordot(a, b, n, axes_a, axes_b);
    ck_assert_msg(found != NULL, "%s", ct_error()->message);
    ck_assert_int_eq(ct_rank(found), rank);
    int64_t index[8] = {0}, inner[4], at_a[4], at_b[4];
    do {
        double sum = 0, x, y, given;
        memset(inner, 0, sizeof inner);
        do {
            for (int i = 0; i < rank; i++)
                (i < of_a ? at_a : at_b)[from[i]] = index[i];
            for (int i = 0; i < n; i++)
                at_a[order_a[i]] = at_b[order_b[i]] = inner[i];
            ct_get(a, rank_a, at_a, &x);
            ct_get(b, rank_b, at_b, &y);
            sum += x * y;
        } while (next_index(n, extents, inner));
        ct_get(found, rank, index, &given);
        if (sum != given)
            ck_abort_msg("%g is not %g", given, sum);
    } while (next_index(rank, shape, index));
    ct_free(a);
    ct_free(b);
    ct_free(found);
}

START_TEST(tensordots) {
    const ct_scalar *scalar = every_scalar[_i];
    uint64_t state = 1;
    if (!multiplies(scalar))
        return;
    for (int i = 0; i < 150; i++)
        check_tensordot(&state, scalar);
}
END_TEST

START_TEST(names_follow) {
    ct_tensor *t = counting(CT_F64, SHAPE(2, 3));
    ct_tensor *a = ct_name_axes(t, 2, (const char *[]){"batch", "in"});
    ct_tensor *turned = ct_transpose(t),
              *b = ct_name_axes(turned, 2, (const char *[]){"in", "out"});
    expect_names(ct_tensordot(a, b, 1, NULL, NULL), "batch out");
    expect_names(ct_einsum("bi,io->bo", 2, (const ct_tensor *[]){a, b}), "- -");
    ct_tensor *left = ct_select(a, 1, 0), *right = ct_select(b, 0, 0);
    expect_names(ct_outer(left, right), "batch out");
    ct_tensor *all[] = {t, a, turned, b, left, right};
    for (int i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
}
END_TEST

// --- every error text

static ct_tensor *pair, *three, *matrix, *floats, *mask, *deep;

static void set_up(void) {
    pair = counting(CT_F64, SHAPE(2));
    three = counting(CT_F64, SHAPE(3));
    matrix = counting(CT_F64, SHAPE(2, 3));
    floats = counting(CT_F32, SHAPE(2));
    mask = ct_zeros(CT_BOOL, SHAPE(2));
    deep = ct_zeros(CT_F64, SHAPE(1, 1, 1, 1, 1));
}

static void tear_down(void) {
    ct_tensor *all[] = {pair, three, matrix, floats, mask, deep};
    for (int i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
    no_leak();
}

#define ERRORS(XX)                                                                                 \
    XX(ct_dot(pair, floats), EDTYPE, "ct_dot",                                                     \
       "dot needs one scalar type: f64 and f32 were given")                                        \
    XX(ct_dot(pair, matrix), ESHAPE, "ct_dot",                                                     \
       "dot needs operands of rank 1: [2] and [2, 3] were given")                                  \
    XX(ct_dot(pair, three), ESHAPE, "ct_dot",                                                      \
       "dot needs operands of one shape: [2] and [3] were given")                                  \
    XX(ct_dot(mask, mask), EDTYPE, "ct_dot", "bool has no dot")                                    \
    XX(ct_dot(pair, NULL), EINVAL, "ct_dot", "an operand is NULL")                                 \
    XX(ct_vdot(matrix, three), ESHAPE, "ct_vdot",                                                  \
       "vdot needs operands of one shape: [2, 3] and [3] were given")                              \
    XX(ct_outer(matrix, three), ESHAPE, "ct_outer",                                                \
       "outer needs operands of rank 1: [2, 3] and [3] were given")                                \
    XX(ct_outer(mask, mask), EDTYPE, "ct_outer", "bool has no mul")                                \
    XX(ct_trace(pair, 0, 0, 1), EAXIS, "ct_trace",                                                 \
       "the axis 1 is out of range for a tensor of rank 1")                                        \
    XX(ct_diag(matrix, 0), ESHAPE, "ct_diag", "diag needs a tensor of rank 1, not 2")              \
    XX(ct_diag(pair, INT64_MIN), EOVERFLOW, "ct_diag",                                             \
       "the offset -9223372036854775808 makes a matrix that is too large")                         \
    XX(ct_tensordot(matrix, pair, 1, NULL, NULL), ESHAPE, "ct_tensordot",                          \
       "tensordot needs extents to agree: 3 of axis 1 against 2 of axis 0")                        \
    XX(ct_tensordot(matrix, pair, 2, NULL, NULL), EAXIS, "ct_tensordot",                           \
       "tensordot over 2 axes of tensors of rank 2 and 1")                                         \
    XX(ct_tensordot(matrix, pair, 1, (int[]){2}, (int[]){0}), EAXIS, "ct_tensordot",               \
       "the axis 2 is out of range for a tensor of rank 2")                                        \
    XX(ct_tensordot(matrix, matrix, 2, ((int[]){0, -2}), ((int[]){0, 1})), EAXIS, "ct_tensordot",  \
       "the axis 0 is given twice")                                                                \
    XX(ct_tensordot(matrix, pair, 1, (int[]){0}, NULL), EINVAL, "ct_tensordot",                    \
       "the 1 axes are NULL")                                                                      \
    XX(ct_tensordot(matrix, floats, 1, NULL, NULL), EDTYPE, "ct_tensordot",                        \
       "tensordot needs one scalar type: f64 and f32 were given")                                  \
    XX(ct_tensordot(deep, deep, 0, NULL, NULL), ESHAPE, "ct_tensordot",                            \
       "the result has 10 axes, more than 8")                                                      \
    XX(ct_matmul_reference(pair, pair), ESHAPE, "ct_matmul_reference",                             \
       "the reference matmul needs operands of rank 2: [2] times [2]")                             \
    XX(ct_matmul_reference(mask, mask), EDTYPE, "ct_matmul_reference",                             \
       "bool has no reference matmul")                                                             \
    XX(ct_matmul_reference(matrix, floats), EDTYPE, "ct_matmul_reference",                         \
       "matmul needs one scalar type: f64 and f32 were given")

struct error_case {
    const char *call;
    ct_status code;
    const char *function, *text;
};

static ct_tensor *make_error(int wanted, struct error_case *row) {
    int i = 0;
#define MAKE(call, code, function, text)                                                           \
    if (i++ == wanted) {                                                                           \
        *row = (struct error_case){#call, CT_##code, function, text};                              \
        return call;                                                                               \
    }
    ERRORS(MAKE)
#undef MAKE
    row->call = NULL;
    return NULL;
}

START_TEST(error_texts) {
    struct error_case row = {.call = ""};
    for (int i = 0; row.call; i++) {
        ct_error_clear();
        ct_tensor *made = make_error(i, &row);
        if (row.call)
            expect_failure(made, row.code, row.function, row.text);
        else
            ck_assert_int_eq(i, 21);
    }
}
END_TEST

START_TEST(predicates) {
    ct_error_clear();
    ck_assert(ct_can_tensordot(matrix, three, 1, NULL, NULL));
    ck_assert(!ct_can_tensordot(matrix, pair, 1, NULL, NULL));
    ck_assert(!ct_can_tensordot(matrix, pair, 2, NULL, NULL));
    ck_assert(!ct_can_tensordot(matrix, pair, 1, (int[]){2}, (int[]){0}));
    ck_assert(!ct_can_tensordot(matrix, pair, 1, NULL, (int[]){0}));
    ck_assert(!ct_can_tensordot(matrix, NULL, 1, NULL, NULL));
    ck_assert(!ct_can_tensordot(floats, pair, 1, NULL, NULL));
    ck_assert(!ct_can_tensordot(mask, mask, 1, NULL, NULL));
    ck_assert(!ct_can_tensordot(deep, deep, 0, NULL, NULL));
    ck_assert_int_eq(ct_error()->code, CT_OK);
}
END_TEST

static ct_tensor *call_with_little(int which, const ct_tensor *a, const ct_tensor *b) {
    const ct_tensor *in[] = {a, b, a};
    switch (which) {
    case 0:
        return ct_vdot(a, b);
    case 1:
        return ct_tensordot(a, b, 1, (int[]){0}, (int[]){0});
    case 2:
        return ct_trace(a, 0, 0, 1);
    case 3:
        return ct_matmul_reference(a, b);
    case 4:
        return ct_einsum("ii,jk,ki->kj", 3, in);
    case 5:
        return ct_einsum("ij,jk->", 2, in);
    default:
        return ct_matmul(a, b);
    }
}

START_TEST(no_memory) {
    if (!make_memory_scarce())
        return;
    ct_tensor *dense = counting(CT_F64, SHAPE(3, 3)), *a = ct_transpose(dense);
    ct_tensor *b = ct_flip(dense, 1);
    size_t before = ct_live_blocks();
    for (int which = 0; which < 7; which++) {
        int runs = 0;
        for (bool done = false; !done; runs++) {
            starve(runs);
            done = survived(call_with_little(which, a, b), before);
        }
        ck_assert_int_gt(runs, 1);
    }
    ct_free(dense);
    ct_free(a);
    ct_free(b);
}
END_TEST

Suite *suite_linalg(void) {
    Suite *suite = suite_create("linalg");
    TCase *tc = tcase_create("values");
    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, NULL, no_leak);
    tcase_add_loop_test(tc, dot_is_the_sum_of_products, 0, 5);
    tcase_add_test(tc, integer_dot_is_exact);
    tcase_add_loop_test(tc, vectors_and_diagonals, 0, SCALARS);
    tcase_add_test(tc, without_items);
    tcase_add_loop_test(tc, matmul_is_its_reference, 0, SCALARS);
    tcase_add_test(tc, default_matmul_is_its_reference);
    tcase_add_test(tc, reference_of_wide_sums);
    tcase_add_test(tc, matmul_overflow_has_the_lowest_place);
    tcase_add_loop_test(tc, matmul_into, 0, SCALARS);
    tcase_add_test(tc, failing_matmul_into_leaves_its_target);
    tcase_add_loop_test(tc, tensordots, 0, SCALARS);
    tcase_add_test(tc, names_follow);
    suite_add_tcase(suite, tc);
    TCase *errors = tcase_create("errors");
    tcase_add_checked_fixture(errors, set_up, tear_down);
    tcase_add_test(errors, error_texts);
    tcase_add_test(errors, predicates);
    suite_add_tcase(suite, errors);
    TCase *memory = tcase_create("memory");
    tcase_add_test(memory, no_memory);
    suite_add_tcase(suite, memory);
    return suite;
}
