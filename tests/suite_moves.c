/*
 * Moves without arithmetic (kern_move.h) on every instruction set, and results that are written past
 * the caches, against loops over single items.
 */

#include "tensor_tools.h"

#include "tensor/ct_alloc.h"
#include "tensor/ct_convert.h"
#include "tensor/ct_index.h"
#include "tensor/ct_make.h"
#include "tensor/ct_ops.h"
#include "tensor/ct_write.h"
#include "tensor/kernels/kern_map.h"
#include "tensor/move.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_moves(void);

enum { ISAS = 3, TAILS = 132, GUARD = 128, MOST = 1 << 16 };

static const struct ct__moves *const all_moves[ISAS] = {&ct__moves_scalar, &ct__moves_avx2,
                                                        &ct__moves_avx512};

static bool available(int isa) {
    return isa < 2 || (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                       __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"));
}

static uint64_t state = 88172645463325252u;

static unsigned char random_byte(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned char)(state >> 56);
}

static char *noise(size_t bytes) {
    char *p = aligned_alloc(64, (bytes + 127) / 64 * 64);
    ck_assert_ptr_nonnull(p);
    for (size_t i = 0; i < bytes; i++)
        p[i] = (char)random_byte();
    return p;
}

/* --- the transposer --- */

struct plane {
    size_t size, m, n, from_offset, to_offset, from_gap, to_gap;
    bool large;
};

static void check_plane(const struct ct__moves *moves, struct plane p) {
    ptrdiff_t from_step = (ptrdiff_t)(p.m * p.size + p.from_gap);
    ptrdiff_t to_step = (ptrdiff_t)(p.n * p.size + p.to_gap);
    size_t from_bytes = p.n * (size_t)from_step, to_bytes = p.m * (size_t)to_step;
    char *from = noise(p.from_offset + from_bytes), *to = noise(to_bytes + 2 * GUARD);
    char *expected = noise(to_bytes + 2 * GUARD), *x = from + p.from_offset;
    memcpy(expected, to, to_bytes + 2 * GUARD);
    char *y = to + GUARD - p.to_offset, *z = expected + GUARD - p.to_offset;
    for (size_t i = 0; i < p.m; i++)
        for (size_t j = 0; j < p.n; j++)
            memcpy(z + (ptrdiff_t)i * to_step + (ptrdiff_t)(j * p.size),
                   x + (ptrdiff_t)j * from_step + (ptrdiff_t)(i * p.size), p.size);
    moves->turn(p.size, p.m, p.n, x, from_step, y, to_step, p.large);
    moves->end();
    ck_assert_msg(memcmp(to, expected, to_bytes + 2 * GUARD) == 0,
                  "size %zu, %zu x %zu, gaps %zu and %zu, offsets %zu and %zu, large %d", p.size,
                  p.m, p.n, p.from_gap, p.to_gap, p.from_offset, p.to_offset, p.large);
    free(from);
    free(to);
    free(expected);
}

static const size_t sizes[] = {1, 4, 8, 16};

START_TEST(planes_are_turned) {
    if (!available(_i))
        return;
    for (int s = 0; s < COUNT(sizes); s++)
        for (size_t n = 0; n < TAILS; n++)
            for (int large = 0; large < 2; large++) {
                size_t size = sizes[s], gap = n % 3 * size;
                check_plane(all_moves[_i],
                            (struct plane){size, n, TAILS - n, 0, 0, gap, gap, large});
                check_plane(all_moves[_i], (struct plane){size, n, n, size, size, 0, gap, large});
                check_plane(all_moves[_i], (struct plane){size, 2, n, size, size, 0, gap, large});
                check_plane(all_moves[_i], (struct plane){size, 64, n, 0, 0, 64, 64, large});
                check_plane(all_moves[_i],
                            (struct plane){size, n, 64, 0, 64, 0, 64 * (n % 2), large});
            }
}
END_TEST

/* --- streams and fills --- */

START_TEST(bytes_are_streamed) {
    if (!available(_i))
        return;
    const struct ct__moves *moves = all_moves[_i];
    char *from = noise(1024), *to = noise(1024), *expected = noise(1024);
    for (size_t n = 0; n < 300; n++)
        for (size_t at = 0; at < 66; at += n % 7 + 1) {
            memcpy(expected, to, 1024);
            memcpy(expected + GUARD + at, from + n % 5, n);
            moves->stream(to + GUARD + at, from + n % 5, n);
            moves->end();
            ck_assert_int_eq(memcmp(to, expected, 1024), 0);
        }
    free(from);
    free(to);
    free(expected);
}
END_TEST

START_TEST(items_are_repeated) {
    if (!available(_i))
        return;
    const struct ct__moves *moves = all_moves[_i];
    char *item = noise(64), *to = noise(4096), *expected = noise(4096);
    for (size_t size = 1; size <= 16; size *= 2)
        for (size_t n = 0; n < TAILS; n++)
            for (size_t at = 0; at < 70; at += n % 5 + 1)
                for (int past = 0; past < 2; past++) {
                    item[n % 16]++;
                    memcpy(expected, to, 4096);
                    for (size_t i = 0; i < n; i++)
                        memcpy(expected + GUARD + at + i * size, item, size);
                    moves->fill(to + GUARD + at, size, item, n * size, past);
                    moves->end();
                    ck_assert_int_eq(memcmp(to, expected, 4096), 0);
                }
    free(item);
    free(to);
    free(expected);
}
END_TEST

/* --- masks --- */

START_TEST(masks_count_and_select) {
    if (!available(_i))
        return;
    const struct ct__moves *moves = all_moves[_i];
    char *from = noise(2048), *to = noise(2048), *expected = noise(2048);
    unsigned char *mask = (unsigned char *)noise(70000);
    for (size_t k = 0; k < 70000; k++)
        mask[k] = mask[k] % 3 == 0 ? 0 : mask[k]; /* all that is not 0 is true */
    for (size_t n = 0; n < TAILS; n++)
        for (size_t size = 4; size <= 8; size += 4) {
            const unsigned char *m = mask + n * 7;
            size_t found = 0;
            memcpy(expected, to, 2048);
            for (size_t k = 0; k < n; k++)
                if (m[k])
                    memcpy(expected + GUARD + size * (1 + found++), from + k * size, size);
            char *y = to + GUARD + size;
            ck_assert_uint_eq(moves->count(n, m), found);
            ck_assert_uint_eq(moves->select(size, n, from, m, y, y + found * size), found);
            ck_assert_int_eq(memcmp(to, expected, 2048), 0);
        }
    size_t all = 0;
    for (size_t k = 0; k < 70000; k++)
        all += mask[k] != 0;
    ck_assert_uint_eq(moves->count(70000, mask), all);
    memset(mask, 255, 70000);
    ck_assert_uint_eq(moves->count(69999, mask + 1), 69999);
    free(mask);
    free(from);
    free(to);
    free(expected);
}
END_TEST

/* --- loops: every mix of dense, repeated and strided operands, every tail --- */

static ct_loop_fn *const *const f32_loops[ISAS] = {ct__f32_loops_scalar, ct__f32_loops_avx2,
                                                   ct__f32_loops_avx512};
static ct_loop_fn *const *const f64_loops[ISAS] = {ct__f64_loops_scalar, ct__f64_loops_avx2,
                                                   ct__f64_loops_avx512};

static double item_of(size_t size, const char *p) {
    float x;
    double y;
    memcpy(&x, p, sizeof x);
    if (size == sizeof x)
        return (double)x;
    if (size == 1)
        return *p != 0;
    memcpy(&y, p, sizeof y);
    return y;
}

static double oracle(enum ct_op op, const double *x) {
    switch (op) {
    case CT_OP_add:
        return x[0] + x[1];
    case CT_OP_less:
        return x[0] < x[1];
    case CT_OP_where:
        return x[0] != 0 ? x[1] : x[2];
    case CT_OP_neg:
        return -x[0];
    case CT_OP_isnan:
        return x[0] != x[0];
    default: /* clamp of numbers */
        return fmin(fmax(x[0], x[1]), x[2]);
    }
}

static const enum ct_op ops[] = {CT_OP_add, CT_OP_less,  CT_OP_where,
                                 CT_OP_neg, CT_OP_isnan, CT_OP_clamp};

static size_t size_of_operand(enum ct_op op, int i, size_t size) {
    bool mask = (op == CT_OP_where && i == 0) || (ct_op_gives_mask(op) && i == ct_op_arity(op));
    return mask ? 1 : size;
}

/* Eighths, whose sums are exact in either type. */
static void set_items(char *p, size_t size, size_t bytes) {
    for (size_t at = 0; at + size <= bytes; at += size) {
        double y = (random_byte() - 128) / 8.0;
        float x = (float)y;
        if (size == 1)
            p[at] = (char)(random_byte() & 1);
        else
            memcpy(p + at, size == 4 ? (void *)&x : (void *)&y, size);
    }
}

/* Operand i takes steps number `layout` / 4^i % 4. */
static void check_loop(ct_loop_fn *loop, const ct_scalar *scalar, enum ct_op op, size_t n,
                       unsigned layout, char *memory[4]) {
    static const int factors[] = {1, 0, 2, -3};
    char *ptr[4], kept[MOST / 4];
    ptrdiff_t step[4];
    int arity = ct_op_arity(op);
    for (int i = 0; i <= arity; i++, layout /= 4) {
        size_t size = size_of_operand(op, i, scalar->size);
        int factor = i == arity && layout % 4 == 1 ? 1 : factors[layout % 4];
        step[i] = factor * (ptrdiff_t)size;
        ptr[i] = memory[i] + 512 * size + (n % 3) * size;
    }
    size_t size = size_of_operand(op, arity, scalar->size), shown = (2 * 512 + 8) * size;
    memcpy(kept, memory[arity], shown);
    ck_assert_uint_eq(loop(scalar, op, n, ptr, step), n);
    for (size_t k = 0; k < n; k++) {
        double x[3];
        for (int i = 0; i < arity; i++)
            x[i] = item_of(size_of_operand(op, i, scalar->size), ptr[i] + (ptrdiff_t)k * step[i]);
        char *y = ptr[arity] + (ptrdiff_t)k * step[arity];
        ck_assert_msg(item_of(size, y) == oracle(op, x), "%s of %s, item %zu of %zu",
                      ct_op_name(op), scalar->name, k, n);
        memcpy(y, kept + (y - memory[arity]), size); /* so that all that is left is untouched */
    }
    ck_assert_int_eq(memcmp(kept, memory[arity], shown), 0);
}

START_TEST(loops_in_every_layout) {
    char *memory[4];
    if (!available(_i))
        return;
    for (int o = 0; o < COUNT(ops); o++)
        for (int type = 0; type < 2; type++) {
            const ct_scalar *scalar = type ? CT_F64 : CT_F32;
            unsigned layouts = 4u << (2 * ct_op_arity(ops[o]));
            for (int i = 0; i < 4; i++) {
                memory[i] = noise(MOST / 4);
                set_items(memory[i], size_of_operand(ops[o], i, scalar->size), MOST / 4);
            }
            ct_loop_fn *loop = (type ? f64_loops : f32_loops)[_i][ops[o]];
            for (size_t n = 0; n < TAILS; n++)
                for (unsigned layout = n < 40 ? 0 : (unsigned)n % 7; layout < layouts;
                     layout += n < 40 ? 1 : 7)
                    check_loop(loop, scalar, ops[o], n, layout, memory);
            for (int i = 0; i < 4; i++)
                free(memory[i]);
        }
}
END_TEST

/* --- results past the caches --- */

static ct_tensor *kept(ct_tensor *t) {
    ck_assert_ptr_nonnull(t);
    return t;
}

static ct_tensor *spread_out(const ct_scalar *scalar, int64_t rows, int64_t columns, int64_t seed) {
    ct_tensor *t = kept(ct_zeros(scalar, 2, (int64_t[]){rows, columns}));
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            ck_assert_int_eq(
                ct_set(t, 2, (int64_t[]){i, j}, (double)((i * 31 + j * 7 + seed) % 97)), 0);
    return t;
}

static ct_tensor *turned(ct_tensor *t) {
    ct_tensor *view = kept(ct_transpose(t));
    ct_free(t);
    return view;
}

static const struct {
    int64_t rows, columns;
} tables[] = {{1, 1},   {3, 5},     {1, 700},  {700, 1},  {64, 64},
              {37, 41}, {129, 131}, {513, 65}, {300, 520}};

/* The same call with and without: the results must not differ. */
static void both_ways(ct_tensor *make(const ct_tensor *a, const ct_tensor *b), const ct_tensor *a,
                      const ct_tensor *b) {
    ct__set_stream_bytes((size_t)1 << 40);
    ct_tensor *plain = kept(make(a, b));
    ct__set_stream_bytes(1);
    ct_tensor *past = kept(make(a, b));
    ct__set_stream_bytes(0);
    ck_assert(ct_tensor_equal(plain, past));
    ct_free(plain);
    ct_free(past);
}

static ct_tensor *make_add(const ct_tensor *a, const ct_tensor *b) {
    return ct_add(a, b);
}

static ct_tensor *make_less(const ct_tensor *a, const ct_tensor *b) {
    return ct_less(a, b);
}

static ct_tensor *make_where(const ct_tensor *a, const ct_tensor *b) {
    ct_tensor *mask = kept(ct_less(b, a)), *result = ct_where(mask, a, b);
    ct_free(mask);
    return result;
}

static ct_tensor *make_copy(const ct_tensor *a, const ct_tensor *b) {
    (void)b;
    ct_tensor *view = kept(ct_transpose(a)), *copy = ct_compact(view);
    ct_free(view);
    return copy;
}

static ct_tensor *make_concat(const ct_tensor *a, const ct_tensor *b) {
    (void)b;
    return ct_concat(2, (const ct_tensor *[]){a, a}, 0);
}

static ct_tensor *make_converted(const ct_tensor *a, const ct_tensor *b) {
    (void)b;
    return ct_cast(a, ct_dtype(a) == CT_F32 ? CT_F64 : CT_F32, CT_CAST_TRUNCATE);
}

static ct_tensor *make_full(const ct_tensor *a, const ct_tensor *b) {
    (void)b;
    return ct_full_like(a, 7);
}

START_TEST(results_past_the_caches) {
    const ct_scalar *const scalars[] = {CT_F32, CT_F64, CT_I32, CT_I64};
    ct_tensor *(*const makers[])(const ct_tensor *, const ct_tensor *) = {
        make_add, make_less, make_where, make_copy, make_concat, make_converted, make_full};
    int64_t m = tables[_i].rows, n = tables[_i].columns;
    for (int s = 0; s < COUNT(scalars); s++) {
        ct_tensor *a = spread_out(scalars[s], m, n, 0);
        ct_tensor *others[] = {spread_out(scalars[s], m, n, 3),
                               turned(spread_out(scalars[s], n, m, 4)),
                               spread_out(scalars[s], 1, n, 5), spread_out(scalars[s], m, 1, 6),
                               spread_out(scalars[s], 1, 1, 7)};
        ct_tensor *a_turned = turned(spread_out(scalars[s], n, m, 8));
        for (int o = 0; o < COUNT(others); o++) {
            for (int k = 0; k < COUNT(makers); k++) {
                both_ways(makers[k], a, others[o]);
                both_ways(makers[k], a_turned, others[o]);
            }
            ct_free(others[o]);
        }
        ct_free(a);
        ct_free(a_turned);
    }
}
END_TEST

START_TEST(a_fault_past_the_caches_is_found) {
    ct_tensor *a = kept(ct_full(CT_I32, 2, (int64_t[]){300, 400}, 1)), *b = ct_ones_like(a);
    ck_assert_int_eq(ct_set(a, 2, (int64_t[]){211, 17}, INT32_MAX), 0);
    ck_assert_int_eq(ct_set(a, 2, (int64_t[]){299, 399}, INT32_MAX), 0);
    ct__set_stream_bytes(1);
    none(ct_add(a, b));
    ck_assert_ptr_nonnull(strstr(ct_error()->message, "[211, 17]"));
    ct_error_clear();
    ct_tensor *view = kept(ct_transpose(a)), *ones = kept(ct_ones_like(view));
    none(ct_add(view, ones));
    ck_assert_ptr_nonnull(strstr(ct_error()->message, "[17, 211]"));
    ct_error_clear();
    ct__set_stream_bytes(0);
    ct_free(ones);
    ct_free(view);
    ct_free(a);
    ct_free(b);
}
END_TEST

/* In place nothing goes past, and the items are right. */
START_TEST(in_place_and_large) {
    ct__set_stream_bytes(1);
    ct_tensor *a = kept(ct_arange(CT_F64, 0, 100000, 1)), *b = kept(ct_compact(a));
    ck_assert_int_eq(ct_accumulate(a, b), CT_OK);
    ck_assert_int_eq(ct_map_into(CT_OP_neg, a), CT_OK);
    const double *x = ct_data(a);
    for (int i = 0; i < 100000; i++)
        ck_assert(x[i] == -2.0 * i || (i == 0 && x[i] == 0));
    ct__set_stream_bytes(0);
    ct_free(a);
    ct_free(b);
}
END_TEST

Suite *suite_moves(void) {
    Suite *suite = suite_create("moves");
    TCase *kernels = tcase_create("kernels"), *past = tcase_create("past");
    tcase_set_timeout(kernels, 120);
    tcase_add_loop_test(kernels, planes_are_turned, 0, ISAS);
    tcase_add_loop_test(kernels, bytes_are_streamed, 0, ISAS);
    tcase_add_loop_test(kernels, items_are_repeated, 0, ISAS);
    tcase_add_loop_test(kernels, masks_count_and_select, 0, ISAS);
    tcase_add_loop_test(kernels, loops_in_every_layout, 0, ISAS);
    tcase_add_loop_test(past, results_past_the_caches, 0, COUNT(tables));
    tcase_add_test(past, a_fault_past_the_caches_is_found);
    tcase_add_test(past, in_place_and_large);
    suite_add_tcase(suite, kernels);
    suite_add_tcase(suite, past);
    return suite;
}
