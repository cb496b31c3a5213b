/*
 * Elementwise ops on repeated rows and columns: the kernels of planes (kern_map.h) on every instruction set
 * against the loops item by item, and tensors against a copy of the type, which has loops and no planes.
 */

#include "tensor_tools.h"

#include "tensor/ct_make.h"
#include "tensor/ct_ops.h"
#include "tensor/ct_write.h"
#include "tensor/kernels/kern_map.h"
#include "tensor/kernels/kern_move.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_planes(void);

enum { ISAS = 3, TYPES = 2, ROWS = 3, TAILS = 132, OPERANDS = 4, ROOM = 1 << 14, GUARD = 0x5a };

static ct_loop_fn *const *const loops[ISAS][TYPES] = {{ct__f32_loops_scalar, ct__f64_loops_scalar},
                                                      {ct__f32_loops_avx2, ct__f64_loops_avx2},
                                                      {ct__f32_loops_avx512, ct__f64_loops_avx512}};
static ct__plane_fn *const planes[ISAS][TYPES] = {{ct__f32_plane_scalar, ct__f64_plane_scalar},
                                                  {ct__f32_plane_avx2, ct__f64_plane_avx2},
                                                  {ct__f32_plane_avx512, ct__f64_plane_avx512}};
static const struct ct__moves *const moves[ISAS] = {&ct__moves_scalar, &ct__moves_avx2,
                                                    &ct__moves_avx512};

static bool available(int isa) {
    return isa < 2 || (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                       __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"));
}

static uint64_t state = 88172645463325252u;

static unsigned below(unsigned n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % n;
}

static double number(void) {
    static const double special[] = {0, -0.0, (double)NAN, (double)INFINITY, -(double)INFINITY, 1};
    return below(12) == 0 ? special[below(6)] : (int)below(8001) / 1000.0 - 4;
}

/* Items from `to` on; masks are bytes of 0 and 1. */
static void fill(char *to, size_t size, size_t n) {
    for (size_t i = 0; i < n; i++) {
        double value = number();
        float narrow = (float)value;
        if (size == 1)
            to[i] = (char)below(2);
        else if (size == 4)
            memcpy(to + 4 * i, &narrow, 4);
        else
            memcpy(to + 8 * i, &value, 8);
    }
}

/* Whether two items are the same bits, all NaNs being one. */
static bool same(size_t size, const char *a, const char *b) {
    float x, y;
    double v, w;
    if (size == 4) {
        memcpy(&x, a, 4);
        memcpy(&y, b, 4);
        if (isnan(x) && isnan(y))
            return true;
    } else if (size == 8) {
        memcpy(&v, a, 8);
        memcpy(&w, b, 8);
        if (isnan(v) && isnan(w))
            return true;
    }
    return memcmp(a, b, size) == 0;
}

/* --- kernels */

struct layout {
    int arity;
    size_t size[OPERANDS], n;
    ptrdiff_t step[OPERANDS], next[OPERANDS], start[OPERANDS];
};

/* Any layout in which operands and the result stay within ROOM. */
static struct layout any_layout(enum ct_op op, size_t size, size_t n) {
    struct layout l = {.arity = ct_op_arity(op), .n = n};
    for (int i = 0; i <= l.arity; i++) {
        bool result = i == l.arity;
        l.size[i] =
            (result && ct_op_gives_mask(op)) || (i == 0 && ct_op_kind_of(op) == CT_KIND_SELECT)
                ? 1
                : size;
        ptrdiff_t item = (ptrdiff_t)l.size[i];
        static const int steps[] = {0, 0, 1, 1, 1, 2, -1};
        int step = result ? 1 + (below(6) == 0) : steps[below(7)];
        l.step[i] = step * item;
        ptrdiff_t row = (ptrdiff_t)n * (step < 0 ? -step : step) * item;
        l.next[i] = result || below(3) > 0 ? row + item * (ptrdiff_t)below(3) : 0;
        if (!result && step == 0)
            l.next[i] = item * (ptrdiff_t)below(3);
        l.start[i] = item * (ptrdiff_t)(1 + below(3)) + (step < 0 ? row : 0);
    }
    return l;
}

static void check_plane(int isa, int type, enum ct_op op, size_t n) {
    static _Alignas(64) char operand[OPERANDS][ROOM], expected[ROOM];
    const ct_scalar *scalar = type == 0 ? CT_F32 : CT_F64;
    struct layout l = any_layout(op, scalar->size, n);
    int last = l.arity;
    char *ptr[OPERANDS], *at[OPERANDS];
    for (int i = 0; i <= last; i++) {
        if (n % 64 == 0) /* other items now and then: they are most of the work */
            fill(operand[i], l.size[i], ROOM / l.size[i]);
        ptr[i] = operand[i] + l.start[i];
    }
    memset(operand[last], 0xff, ROOM); /* NaN */
    memset(expected, 0xff, ROOM);
    for (size_t r = 0; r < ROWS; r++)
        for (size_t k = 0; k < n; k++) {
            for (int i = 0; i <= last; i++)
                at[i] = ptr[i] + (ptrdiff_t)r * l.next[i] + (ptrdiff_t)k * l.step[i];
            at[last] = expected + (at[last] - operand[last]);
            loops[isa][type][op](scalar, op, 1, at,
                                 (ptrdiff_t[]){(ptrdiff_t)l.size[0], (ptrdiff_t)l.size[1],
                                               (ptrdiff_t)l.size[2], (ptrdiff_t)l.size[3]});
        }
    planes[isa][type](op, ROWS, n, ptr, l.step, l.next);
    for (size_t i = 0; i + l.size[last] <= ROOM; i += l.size[last])
        if (!same(l.size[last], operand[last] + i, expected + i))
            ck_abort_msg("%s of %s, isa %d, %zu items in a row: byte %zu", ct_op_name(op),
                         scalar->name, isa, n, i);
}

START_TEST(planes_do_what_loops_do) {
    int isa = _i / TYPES, type = _i % TYPES;
    if (!available(isa))
        return;
    for (int op = 0; op < CT_OP_COUNT; op++)
        for (size_t n = 0; loops[isa][type][op] && n < TAILS; n++)
            check_plane(isa, type, (enum ct_op)op, n);
}
END_TEST

static void check_repeat(const struct ct__moves *m, size_t size, size_t rows, size_t columns) {
    static char from[1024], to[ROOM * 4];
    fill(from, size, rows);
    memset(to, GUARD, sizeof to);
    size_t done = m->repeat(size, rows, columns, from, to), end = done * columns * size;
    ck_assert_uint_le(done, rows);
    for (size_t i = 0; i < done * columns; i++)
        if (memcmp(to + i * size, from + i / columns * size, size) != 0)
            ck_abort_msg("%zu rows of %zu items of %zu bytes: item %zu", rows, columns, size, i);
    for (size_t i = end; i < end + 128; i++)
        ck_assert_msg(to[i] == GUARD, "%zu rows of %zu: written behind the end", rows, columns);
    if (m != &ct__moves_scalar)
        ck_assert_uint_gt(done + 16, rows); /* all but a vector of them */
}

START_TEST(repeats_items) {
    if (!available(_i))
        return;
    for (size_t size = 4; size <= 8; size += 4)
        for (size_t columns = 1; columns <= 70; columns++)
            for (size_t rows = 0; rows <= 100; rows += 1 + rows / 20)
                check_repeat(moves[_i], size, rows, columns);
}
END_TEST

/* --- tensors */

static ct_tensor *tensor(const ct_scalar *scalar, const ct_scalar *kind, int rank,
                         const int64_t *shape) {
    ct_tensor *t = ct_full(scalar, rank, shape, 0);
    ck_assert_ptr_nonnull(t);
    fill((char *)(uintptr_t)ct_data(t), kind->size, ct_count(t)); /* nobody shares it yet */
    return t;
}

/* The same items in another type of the same size. */
static ct_tensor *retyped(const ct_scalar *scalar, const ct_tensor *t) {
    ct_tensor *copy = ct_full(scalar, ct_rank(t), ct_shape(t), 0);
    ck_assert_ptr_nonnull(copy);
    memcpy((char *)(uintptr_t)ct_data(copy), ct_data(t), ct_count(t) * scalar->size);
    return copy;
}

static void expect_same(const ct_tensor *a, const ct_tensor *b, size_t size, const char *what) {
    ck_assert_msg(a && b, "%s", ct_error()->message);
    ck_assert_uint_eq(ct_count(a), ct_count(b));
    for (size_t i = 0; i < ct_count(a); i++)
        if (!same(size, (const char *)ct_data(a) + i * size, (const char *)ct_data(b) + i * size))
            ck_abort_msg("%s: item %zu of %zu", what, i, ct_count(a));
}

/* An op on the operands, by the type and by its copy; into a target full of NaN as well. */
static void check_op(enum ct_op op, int n, ct_tensor *const in[], const ct_scalar *scalar,
                     const ct_scalar *plain, const char *what) {
    ct_tensor *other[3] = {NULL};
    const ct_scalar *result = ct_op_gives_mask(op) ? CT_BOOL : scalar;
    for (int i = 0; i < n; i++)
        other[i] = retyped(ct_dtype(in[i]) == CT_BOOL ? CT_BOOL : plain, in[i]);
    ct_tensor *a = ct_apply(op, n, (const ct_tensor *const *)in);
    ct_tensor *b = ct_apply(op, n, (const ct_tensor *const *)other);
    expect_same(a, b, result->size, what);
    ct_tensor *into = ct_full(result, ct_rank(a), ct_shape(a), result == CT_BOOL ? 1 : (double)NAN);
    ck_assert_int_eq(ct_apply_into(into, op, n, (const ct_tensor *const *)in), CT_OK);
    expect_same(into, b, result->size, what);
    for (int i = 0; i < n; i++)
        ct_free(other[i]);
    ct_free(a);
    ct_free(b);
    ct_free(into);
}

static void check_shapes(const ct_scalar *scalar, const ct_scalar *plain, int rank,
                         const int64_t *full, const int64_t *part) {
    char what[120];
    snprintf(what, sizeof what, "%s, rank %d, [.. %d %d] and [.. %d %d]", scalar->name, rank,
             (int)full[rank - 2], (int)full[rank - 1], (int)part[rank - 2], (int)part[rank - 1]);
    ct_tensor *x = tensor(scalar, scalar, rank, full), *z = tensor(scalar, scalar, rank, part);
    ct_tensor *mask = tensor(CT_BOOL, CT_BOOL, rank, part), *seen = ct_broadcast_to(z, rank, full);
    ck_assert_ptr_nonnull(seen);
    check_op(CT_OP_add, 2, (ct_tensor *[]){x, z}, scalar, plain, what);
    check_op(CT_OP_div, 2, (ct_tensor *[]){z, x}, scalar, plain, what);
    check_op(CT_OP_less, 2, (ct_tensor *[]){x, z}, scalar, plain, what);
    check_op(CT_OP_where, 3, (ct_tensor *[]){mask, x, z}, scalar, plain, what);
    ct_tensor *a = ct_mul(x, z), *b = ct_mul(x, seen);
    expect_same(a, b, scalar->size, what);
    ct_free(a);
    ct_free(b);
    ct_free(x);
    ct_free(z);
    ct_free(mask);
    ct_free(seen);
}

START_TEST(tensors_do_what_the_loops_do) {
    const ct_scalar *scalar = _i % 2 == 0 ? CT_F32 : CT_F64;
    static const int64_t heights[] = {1, 2, 7, 40};
    ct_scalar plain = *scalar;
    int64_t many = _i < 2 ? 0 : 40000; /* items: past the quick path and one thread's share */
    for (int64_t n = 1; n<TAILS; n += many> 0 ? 5 : 1)
        for (int h = 0; h < 4; h++) {
            int64_t m = many > 0 ? many / n + h : heights[h];
            check_shapes(scalar, &plain, 2, (int64_t[]){m, n}, (int64_t[]){1, n});
            check_shapes(scalar, &plain, 2, (int64_t[]){m, n}, (int64_t[]){m, 1});
            check_shapes(scalar, &plain, 2, (int64_t[]){m, n}, (int64_t[]){1, 1});
            if (h < 3)
                continue;
            check_shapes(scalar, &plain, 3, (int64_t[]){3, m / 3 + 1, n}, (int64_t[]){3, 1, n});
            check_shapes(scalar, &plain, 3, (int64_t[]){3, m / 3 + 1, n},
                         (int64_t[]){1, m / 3 + 1, 1});
            check_shapes(scalar, &plain, 3, (int64_t[]){3, m / 3 + 1, n}, (int64_t[]){3, 1, 1});
        }
}
END_TEST

/* Rows and columns that are views: of every second row, backwards, of a part. */
START_TEST(views_of_every_kind) {
    const ct_scalar *scalar = _i == 0 ? CT_F32 : CT_F64;
    int64_t wide[] = {60, 90};
    ct_tensor *x = tensor(scalar, scalar, 2, wide);
    ct_tensor *views[] = {
        ct_slice(x, 0, 0, 60, 2),
        ct_slice(x, 1, 3, 48, 1),
        ct_slice(x, 1, 0, 90, 2),
        ct_flip(x, 0),
        ct_flip(x, 1),
        ct_transpose(x),
    };
    for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
        ck_assert_ptr_nonnull(views[i]);
        int64_t m = ct_shape(views[i])[0], n = ct_shape(views[i])[1];
        ct_tensor *row = ct_slice(views[i], 0, 1, 2, 1), *column = ct_slice(views[i], 1, 2, 3, 1);
        ct_tensor *dense = ct_compact(views[i]), *z = tensor(scalar, scalar, 2, (int64_t[]){m, n});
        ct_tensor *dense_row = ct_compact(row), *dense_column = ct_compact(column);
        const ct_tensor *pairs[][2] = {{views[i], dense}, {row, dense_row}, {column, dense_column}};
        for (int k = 0; k < 3; k++) {
            ct_tensor *a = ct_add(z, pairs[k][0]), *b = ct_add(z, pairs[k][1]);
            expect_same(a, b, scalar->size, "a view");
            ct_free(a);
            ct_free(b);
        }
        ct_free(row);
        ct_free(column);
        ct_free(dense);
        ct_free(dense_row);
        ct_free(dense_column);
        ct_free(z);
        ct_free(views[i]);
    }
    ct_free(x);
}
END_TEST

/* Truth values of any length, at once and item by item; what is not 0 is true. */
START_TEST(truth_values_of_every_length) {
    enum { MOST = 600 };
    static char operand[3][MOST], found[MOST + 8], expected[MOST + 8];
    for (int op = 0; op < CT_OP_COUNT; op++) {
        ct_loop_fn *loop = ct_scalar_loop(CT_BOOL, (enum ct_op)op);
        int arity = ct_op_arity((enum ct_op)op);
        for (size_t n = 0; loop && arity > 0 && n < MOST - 8; n += n < TAILS ? 1 : 17) {
            char *ptr[OPERANDS], *at[OPERANDS];
            for (int i = 0; i < arity; i++) {
                for (size_t k = 0; k < MOST; k++)
                    operand[i][k] = (char)(below(2) * (1 + below(3)));
                ptr[i] = operand[i] + below(8);
            }
            memset(found, GUARD, sizeof found);
            memset(expected, GUARD, sizeof expected);
            ptr[arity] = found + 3;
            for (size_t k = 0; k < n; k++) {
                for (int i = 0; i < arity; i++)
                    at[i] = ptr[i] + k;
                at[arity] = expected + 3 + k;
                loop(CT_BOOL, (enum ct_op)op, 1, at, (ptrdiff_t[]){1, 1, 1, 1});
            }
            ck_assert_uint_eq(loop(CT_BOOL, (enum ct_op)op, n, ptr, (ptrdiff_t[]){1, 1, 1, 1}), n);
            if (memcmp(found, expected, sizeof found) != 0)
                ck_abort_msg("%s of %zu truth values", ct_op_name((enum ct_op)op), n);
        }
    }
}
END_TEST

/* What the type has no loop for is refused, and not looked for among the planes. */
START_TEST(no_plane_without_a_loop) {
    ct_tensor *x = tensor(CT_F32, CT_F32, 2, (int64_t[]){3, 4});
    ct_tensor *row = tensor(CT_F32, CT_F32, 1, (int64_t[]){4});
    for (int op = 0; op < CT_OP_COUNT; op++) {
        if (ct_op_arity((enum ct_op)op) != 2)
            continue;
        ct_tensor *result = ct_apply((enum ct_op)op, 2, (const ct_tensor *[]){x, row});
        ck_assert_int_eq(result != NULL, ct_scalar_has(CT_F32, (enum ct_op)op));
        ct_free(result);
    }
    ct_error_clear();
    ct_free(x);
    ct_free(row);
}
END_TEST

Suite *suite_planes(void) {
    Suite *suite = suite_create("planes");
    TCase *kernels = tcase_create("kernels"), *tensors = tcase_create("tensors");
    tcase_set_timeout(kernels, 120);
    tcase_set_timeout(tensors, 120);
    tcase_add_loop_test(kernels, planes_do_what_loops_do, 0, ISAS * TYPES);
    tcase_add_loop_test(kernels, repeats_items, 0, ISAS);
    tcase_add_loop_test(tensors, tensors_do_what_the_loops_do, 0, 4);
    tcase_add_test(tensors, no_plane_without_a_loop);
    tcase_add_test(kernels, truth_values_of_every_length);
    tcase_add_loop_test(tensors, views_of_every_kind, 0, 2);
    suite_add_tcase(suite, kernels);
    suite_add_tcase(suite, tensors);
    return suite;
}
