/*
 * Products on every instruction set, bit for bit against the reference of the contract: every tail,
 * both sides of blocks of k, views, several threads; and the epilogue, which must see each finished
 * item once.
 */

#include <check.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "cotangent.h"
#include "tensor/isa.h"
#include "tensor/kernels/kern_matmul.h"
#include "tensor/matmul.h"

Suite *suite_matmul(void);

#define COUNT(array) (sizeof(array) / sizeof *(array))

typedef ct_status product_fn(const struct ct_matmul_job *job, const struct ct__finish *finish);

static const struct {
    enum ct__isa isa;
    product_fn *then[2];
    ct_matmul_fn *plain[2];
} isas[] = {
    {CT__ISA_SCALAR,
     {ct__f32_matmul_then_scalar, ct__f64_matmul_then_scalar},
     {ct__f32_matmul_scalar, ct__f64_matmul_scalar}},
    {CT__ISA_AVX2,
     {ct__f32_matmul_then_avx2, ct__f64_matmul_then_avx2},
     {ct__f32_matmul_avx2, ct__f64_matmul_avx2}},
    {CT__ISA_AVX512,
     {ct__f32_matmul_then_avx512, ct__f64_matmul_then_avx512},
     {ct__f32_matmul_avx512, ct__f64_matmul_avx512}},
};

enum layout { DENSE, TURNED, APART, BACKWARDS, LAYOUTS };

// A tensor of m x n random numbers, laid out somehow.
static ct_tensor *numbers(int type, enum layout layout, int64_t m, int64_t n, unsigned seed) {
    const ct_scalar *scalar = type ? CT_F64 : CT_F32;
    int64_t apart = layout == APART ? 3 : 1;
    int64_t shape[2] = {layout == TURNED ? n : m, (layout == TURNED ? m : n) * apart};
    size_t count = (size_t)(shape[0] * shape[1]);
    double *x = calloc(count + 1, sizeof *x);
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = ((double)(seed >> 8) / (1 << 23) - 1) * ((seed & 0x700) == 0 ? 1e6 : 1);
    }
    ct_tensor *t = ct_from_doubles(scalar, 2, shape, count, x), *view = t;
    if (layout == TURNED)
        view = ct_transpose(t);
    if (layout == APART)
        view = ct_slice(t, 1, 0, n * apart, apart);
    if (layout == BACKWARDS) {
        ct_tensor *flipped = ct_flip(t, 0);
        view = ct_flip(flipped, 1);
        ct_free(flipped);
    }
    if (view != t)
        ct_free(t);
    free(x);
    ck_assert_msg(view != NULL, "%s", ct_error()->message);
    return view;
}

struct watch {
    const char *expected; // dense
    size_t size, m, n;
    ptrdiff_t c_row, c_col;
    char *c; // NULL where it is not known
    unsigned char *seen;
    atomic_size_t wrong;
};

// What the epilogue is shown must be done, and lie where it is said to.
static void look(void *ctx, char *c, ptrdiff_t c_row, size_t row, size_t column, size_t rows,
                 size_t columns) {
    struct watch *w = ctx;
    bool good = c_row == w->c_row && row + rows <= w->m && column + columns <= w->n && rows > 0 &&
                columns > 0 &&
                (!w->c || c == w->c + (ptrdiff_t)row * w->c_row + (ptrdiff_t)column * w->c_col);
    for (size_t i = 0; good && i < rows; i++)
        for (size_t j = 0; j < columns; j++) {
            size_t at = (row + i) * w->n + column + j;
            good &= __atomic_fetch_add(&w->seen[at], 1, __ATOMIC_RELAXED) == 0;
            good &= memcmp(c + (ptrdiff_t)i * c_row + (ptrdiff_t)j * w->c_col,
                           w->expected + at * w->size, w->size) == 0;
        }
    if (!good)
        atomic_fetch_add(&w->wrong, 1);
}

// The product of the first m rows and the first n columns, with and without an epilogue.
static void check(int type, const ct_tensor *a, const ct_tensor *b, const char *expected,
                  size_t pitch, size_t m, size_t n, bool upright) {
    const size_t size = type ? 8 : 4, gap = 5;
    const ptrdiff_t s = (ptrdiff_t)size;
    size_t lines = upright ? n : m, line = (upright ? m : n) + gap,
           bytes = (lines + 1) * line * size;
    char *c = malloc(bytes), *dense = malloc(m * n * size + 1);
    unsigned char *seen = malloc(m * n + 1);
    for (size_t i = 0; i < m; i++)
        memcpy(dense + i * n * size, expected + i * pitch * size, n * size);
    for (size_t k = 0; k < COUNT(isas); k++) {
        if (isas[k].isa > ct__isa_current())
            continue;
        for (int then = 0; then < 2; then++) {
            memset(c, 0xff, bytes); // NaNs
            memset(seen, 0, m * n);
            struct ct_matmul_job job = {
                .m = m,
                .n = n,
                .k = (size_t)ct_shape(a)[1],
                .a = ct__first(a),
                .a_row = ct_strides(a)[0] * s,
                .a_col = ct_strides(a)[1] * s,
                .b = ct__first(b),
                .b_row = ct_strides(b)[0] * s,
                .b_col = ct_strides(b)[1] * s,
                .c = c,
                .c_row = upright ? s : (ptrdiff_t)line * s,
                .c_col = upright ? (ptrdiff_t)line * s : s,
            };
            struct watch w = {.expected = dense,
                              .size = size,
                              .m = m,
                              .n = n,
                              .c = c,
                              .c_row = job.c_row,
                              .c_col = job.c_col,
                              .seen = seen};
            struct ct__finish finish = {look, &w, 0};
            ck_assert_int_eq(
                then ? isas[k].then[type](&job, &finish) : isas[k].plain[type](NULL, &job), CT_OK);
            ck_assert_uint_eq(w.wrong, 0);
            for (size_t i = 0; i < m; i++)
                for (size_t j = 0; j < n; j++) {
                    char *item = c + (ptrdiff_t)i * job.c_row + (ptrdiff_t)j * job.c_col;
                    if (memcmp(item, dense + (i * n + j) * size, size) != 0 ||
                        seen[i * n + j] != then)
                        ck_abort_msg("isa %zu %zux%zux%zu type %d: item %zu %zu", k, m, n, job.k,
                                     type, i, j);
                    memset(item, 0xff, size);
                }
            for (size_t i = 0; i < bytes; i++)
                if (c[i] != (char)0xff)
                    ck_abort_msg("isa %zu %zux%zux%zu: wrote beyond c", k, m, n, job.k);
        }
    }
    free(c);
    free(dense);
    free(seen);
}

static void check_sizes(int type, size_t rows, size_t columns, size_t k, size_t step_m,
                        size_t step_n) {
    ct_tensor *a[LAYOUTS], *b[LAYOUTS];
    for (enum layout l = DENSE; l < LAYOUTS; l++) {
        a[l] = numbers(type, l, (int64_t)rows, (int64_t)k, 7 + (unsigned)k);
        b[l] = numbers(type, l, (int64_t)k, (int64_t)columns, 99 + (unsigned)k);
    }
    for (enum layout la = DENSE; la < LAYOUTS; la++)
        for (enum layout lb = DENSE; lb < LAYOUTS; lb++) {
            ct_tensor *z = ct_matmul_reference(a[la], b[lb]);
            // Each pair of layouts has its share of the sizes.
            size_t pair = la * LAYOUTS + lb, turn = 0;
            for (size_t m = 0; m <= rows; m += step_m)
                for (size_t n = 0; n <= columns; n += step_n)
                    if (turn++ % (LAYOUTS * LAYOUTS) == pair)
                        check(type, a[la], b[lb], ct__first(z), columns, m, n, (m + n) % 3 == 0);
            ct_free(z);
        }
    for (enum layout l = DENSE; l < LAYOUTS; l++) {
        ct_free(a[l]);
        ct_free(b[l]);
    }
}

START_TEST(every_tail) {
    check_sizes(_i % 2, 35, 35, (size_t)_i / 2, 1, 1);
}
END_TEST

START_TEST(long_rows) {
    static const size_t inner[] = {1, 9, 255, 256, 257, 513};
    size_t k = inner[_i / 2];
    check_sizes(_i % 2, 1, 131, k, 1, 1);
    check_sizes(_i % 2, 131, 1, k, 1, 1);
    check_sizes(_i % 2, 17, 131, k, 4, 3);
}
END_TEST

// More than the caller does alone: tasks, copies of both operands.
START_TEST(spread_over_threads) {
    static const size_t sizes[][3] = {
        {130, 150, 300}, {300, 20, 600}, {20, 700, 512}, {1, 3000, 1030}, {250, 1100, 9}};
    const size_t *s = sizes[_i / 2];
    for (enum layout l = DENSE; l < LAYOUTS; l++) {
        int type = _i % 2;
        ct_tensor *a = numbers(type, l, (int64_t)s[0], (int64_t)s[2], 1);
        ct_tensor *b = numbers(type, (l + s[0]) % LAYOUTS, (int64_t)s[2], (int64_t)s[1], 2);
        ct_tensor *z = ct_matmul_reference(a, b), *c = ct_matmul(a, b);
        check(type, a, b, ct__first(z), s[1], s[0], s[1], l % 2);
        ck_assert_mem_eq(ct__first(c), ct__first(z), s[0] * s[1] * (type ? 8u : 4u));
        ct_free(a);
        ct_free(b);
        ct_free(z);
        ct_free(c);
    }
}
END_TEST

static void one_thread(void) {
    setenv("CT_NUM_THREADS", "1", 1);
}
static void two_threads(void) {
    setenv("CT_NUM_THREADS", "2", 1);
}
static void three_threads(void) {
    setenv("CT_NUM_THREADS", "3", 1);
}
static void seven_threads(void) {
    setenv("CT_NUM_THREADS", "7", 1);
}

// Rows count through batches, whatever the scalar type and with nothing to sum.
START_TEST(epilogue_of_batches) {
    const ct_scalar *scalars[] = {CT_F32, CT_F64, CT_I64};
    const ct_scalar *scalar = scalars[_i];
    static const int64_t as[][3] = {{3, 4, 5}, {70, 9, 40}, {2, 3, 0}, {3, 0, 4}};
    for (size_t s = 0; s < COUNT(as); s++)
        for (int shared = 0; shared < 2; shared++) {
            int64_t m = as[s][1], k = as[s][2], sb[] = {as[s][0], k, 6};
            double *x = calloc((size_t)(as[s][0] * (m + 6) * k) + 1, sizeof *x);
            for (int64_t i = 0; i < as[s][0] * (m + 6) * k; i++)
                x[i] = (double)(i * 7 % 11) - 5;
            ct_tensor *a = ct_from_doubles(scalar, 3, as[s], (size_t)(as[s][0] * m * k), x);
            ct_tensor *b = shared ? ct_from_doubles(scalar, 2, sb + 1, (size_t)(k * 6), x)
                                  : ct_from_doubles(scalar, 3, sb, (size_t)(as[s][0] * k * 6), x);
            ct_tensor *z = ct_matmul(a, b), *into = ct_copy(z), *c = NULL;
            ck_assert(z && into);
            size_t count = ct_count(z);
            for (int way = 0; way < 2; way++) {
                struct watch w = {.expected = ct__first(z),
                                  .size = scalar->size,
                                  .n = 6,
                                  .m = count / 6,
                                  .c_col = (ptrdiff_t)scalar->size,
                                  .c_row = 6 * (ptrdiff_t)scalar->size,
                                  .seen = calloc(count + 1, 1)};
                struct ct__finish finish = {look, &w, 0};
                if (way) {
                    ct_fill(into, 0);
                    w.c = scalar == CT_I64 ? NULL : ct__first(into); // made elsewhere
                    ck_assert_int_eq(ct__matmul_into_then("t", into, a, b, &finish), CT_OK);
                    ck_assert_uint_eq(w.wrong, 0);
                    for (size_t i = 0; i < count; i++)
                        ck_assert_int_eq(w.seen[i], 1);
                } else {
                    c = ct__matmul_then("t", a, b, NULL);
                    ck_assert_mem_eq(ct__first(c), ct__first(z), count * scalar->size);
                }
                free(w.seen);
            }
            ct_tensor *all[] = {a, b, z, into, c};
            for (size_t i = 0; i < COUNT(all); i++)
                ct_free(all[i]);
            free(x);
        }
}
END_TEST

Suite *suite_matmul(void) {
    static void (*const threads[])(void) = {one_thread, two_threads, three_threads, seven_threads};
    static const char *const names[] = {"one thread", "two threads", "three threads",
                                        "seven threads"};
    Suite *suite = suite_create("matmul");
    TCase *tails = tcase_create("tails");
    tcase_set_timeout(tails, 60);
    tcase_add_loop_test(tails, every_tail, 0, 2 * 36);
    tcase_add_loop_test(tails, long_rows, 0, 2 * 6);
    tcase_add_loop_test(tails, epilogue_of_batches, 0, 3);
    suite_add_tcase(suite, tails);
    for (size_t i = 0; i < COUNT(threads); i++) {
        TCase *tc = tcase_create(names[i]);
        tcase_set_timeout(tc, 60);
        tcase_add_checked_fixture(tc, threads[i], NULL);
        tcase_add_loop_test(tc, spread_over_threads, 0, 2 * 5);
        suite_add_tcase(suite, tc);
    }
    return suite;
}
