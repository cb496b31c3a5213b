/* Folds and products of checked integers and truth values: exact, or no result. */

#include "ct_test.h"
#include "integer_tools.h"
#include "tensor/ct_alloc.h"
#include "tensor/ct_make.h"
#include "tensor/ct_reduce.h"
#include "tensor_tools.h"

#include <stdlib.h>
#include <string.h>

/* --- folds --- */

/* What one reduction of n items has to give, in integers without bound: false: no result. */
static bool fold_oracle(const ct_scalar *scalar, enum ct_fold fold, size_t n, const char *x,
                        ptrdiff_t step, int64_t *y) {
    wide total = 0, product = 1;
    int64_t best = 0, where = 0;
    bool zero = false, past = false;
    for (size_t i = 0; i < n; i++) {
        int64_t item = get(scalar, x + (ptrdiff_t)i * step);
        total += item;
        zero |= item == 0;
        product = past ? product : product * item;
        past |= product > (wide)1 << 64 || product < -((wide)1 << 64);
        bool max = fold == CT_FOLD_MAX || fold == CT_FOLD_ARGMAX;
        if (i == 0 || (max ? item > best : item < best)) {
            best = item;
            where = (int64_t)i;
        }
    }
    product = zero ? 0 : product;
    bool lost = (fold == CT_FOLD_SUM && !fits(scalar, total)) ||
                (fold == CT_FOLD_PROD && !zero && (past || !fits(scalar, product)));
    *y = fold == CT_FOLD_SUM                          ? (int64_t)total
         : fold == CT_FOLD_PROD                       ? (int64_t)product
         : fold == CT_FOLD_MAX || fold == CT_FOLD_MIN ? best
                                                      : where;
    return !lost;
}

static void check_fold(const ct_scalar *scalar, enum ct_fold fold, const struct ct_fold_job *job) {
    bool arg = fold == CT_FOLD_ARGMAX || fold == CT_FOLD_ARGMIN;
    size_t done = scalar->fold[fold](scalar, job), first = job->count;
    for (size_t j = 0; j < job->count; j++) {
        int64_t expected;
        const char *x = job->x + (ptrdiff_t)j * job->x_next;
        const char *y = job->y + (ptrdiff_t)j * job->y_next;
        bool exists = fold_oracle(scalar, fold, job->n, x, job->x_step, &expected);
        if (!exists && j < first)
            first = j;
        if (exists && j < done)
            require_msg(get(arg ? CT_I64 : scalar, y) == expected,
                        "%s fold %d of %zu: %lld and not %lld", scalar->name, (int)fold, job->n,
                        (long long)get(arg ? CT_I64 : scalar, y), (long long)expected);
    }
    require_msg(done == first, "%s fold %d of %zu x %zu: %zu done and not %zu", scalar->name,
                (int)fold, job->n, job->count, done, first);
}

static int64_t fold_item(const ct_scalar *scalar, enum ct_fold fold, unsigned kind,
                         uint64_t *state) {
    uint64_t bits = random_bits(state);
    if (fold == CT_FOLD_PROD)
        return kind % 3 == 0 ? (bits % 97 == 0 ? -2
                                : bits % 2     ? 1
                                               : -1)
                             : (int64_t)(bits % 5) - (kind % 3 == 1 ? 0 : 7);
    if (kind % 3 == 0)
        return (int64_t)(bits % 7) - 3;
    if (kind % 3 == 1)
        return (int64_t)bits >> (72 - 8 * scalar->size); /* half of the range */
    return bits % 2 ? highest(scalar) : lowest(scalar) + (int64_t)(bits % 3);
}

/* Rows and columns of a matrix of n x count items in every order and direction. */
static void check_folds(const ct_scalar *scalar, enum ct_fold fold, size_t n, size_t count) {
    ptrdiff_t size = (ptrdiff_t)scalar->size, items = (ptrdiff_t)(n * count);
    char *x = malloc((size_t)items * scalar->size + 1), *y = malloc(count * 3 * 8 + 8);
    uint64_t state = n * 77 + count;
    ptrdiff_t y_step = fold >= CT_FOLD_ARGMAX ? 8 : size;
    for (unsigned kind = 0; kind < 3; kind++) {
        for (ptrdiff_t i = 0; i < items; i++)
            put(scalar, x + i * size, fold_item(scalar, fold, kind, &state));
        ptrdiff_t rows = (ptrdiff_t)n * size, columns = (ptrdiff_t)count * size;
        struct ct_fold_job jobs[] = {
            {n, count, x, size, rows, y, y_step},        /* rows */
            {n, count, x, columns, size, y, 3 * y_step}, /* columns */
            {n, count, x + (items - 1) * size, -size, -rows, y, y_step},
            {n, count, x + (items - 1) * size, -columns, -size, y, y_step},
            {n, count, x, 0, size, y, y_step},
            {n, count, x, size, 0, y, y_step},
            {n / 2, count, x, 2 * size, rows, y, y_step},
        };
        for (int k = 0; k < COUNT(jobs); k++)
            if (jobs[k].n > 0 || fold == CT_FOLD_SUM || fold == CT_FOLD_PROD)
                check_fold(scalar, fold, &jobs[k]);
    }
    free(x), free(y);
}

static const enum ct_fold folds[] = {CT_FOLD_SUM,  CT_FOLD_MAX,    CT_FOLD_MIN,
                                     CT_FOLD_PROD, CT_FOLD_ARGMAX, CT_FOLD_ARGMIN};

START_TEST(folds_against_the_oracle) {
    static const size_t sizes[][2] = {{1, 1},   {2, 1},   {3, 5},    {8, 16},  {17, 33}, {40, 3},
                                      {255, 2}, {256, 4}, {257, 19}, {600, 7}, {64, 40}};
    for (int s = 0; s < COUNT(integers); s++)
        for (int f = 0; f < COUNT(folds); f++)
            for (int k = 0; k < COUNT(sizes); k++)
                check_folds(integers[s], folds[f], sizes[k][0], sizes[k][1]);
}
END_TEST

/* Long enough for threads: one row in pieces, many rows in groups. */
START_TEST(long_folds) {
    for (int s = 0; s < COUNT(integers); s++)
        for (int f = 0; f < COUNT(folds); f++) {
            check_folds(integers[s], folds[f], 300001, 1);
            check_folds(integers[s], folds[f], 3000, 101);
        }
}
END_TEST

START_TEST(folds_of_nothing) {
    for (int s = 0; s < COUNT(integers); s++) {
        int64_t y[3] = {7, 7, 7};
        ptrdiff_t size = (ptrdiff_t)integers[s]->size;
        struct ct_fold_job job = {0, 3, (const char *)y, size, size, (char *)y, size};
        check_fold(integers[s], CT_FOLD_SUM, &job);
        check_fold(integers[s], CT_FOLD_PROD, &job);
        job.count = 0;
        check_fold(integers[s], CT_FOLD_SUM, &job);
    }
}
END_TEST

static void expect_fold(const ct_scalar *scalar, enum ct_fold fold, size_t n, const int64_t *items,
                        bool exists, int64_t expected) {
    char x[64], y[8];
    for (size_t i = 0; i < n; i++)
        put(scalar, x + i * scalar->size, items[i]);
    struct ct_fold_job job = {n, 1, x, (ptrdiff_t)scalar->size, 0, y, 8};
    require(scalar->fold[fold](scalar, &job) == exists);
    require(!exists || get(scalar, y) == expected);
}

#define VALUES(...)                                                                                \
    sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (int64_t[]) {                              \
        __VA_ARGS__                                                                                \
    }

START_TEST(only_the_exact_total_counts) {
    for (int s = 0; s < COUNT(integers); s++) {
        const ct_scalar *scalar = integers[s];
        int64_t low = lowest(scalar), high = highest(scalar);
        expect_fold(scalar, CT_FOLD_SUM, VALUES(high, 1, -1), true, high);
        expect_fold(scalar, CT_FOLD_SUM, VALUES(high, high, low, low, 2), true, 0);
        expect_fold(scalar, CT_FOLD_SUM, VALUES(high, 1), false, 0);
        expect_fold(scalar, CT_FOLD_SUM, VALUES(low, -1), false, 0);
        expect_fold(scalar, CT_FOLD_SUM, VALUES(low, -1, 1), true, low);
        expect_fold(scalar, CT_FOLD_PROD, VALUES(high, high, 0), true, 0);
        expect_fold(scalar, CT_FOLD_PROD, VALUES(0, high, high), true, 0);
        expect_fold(scalar, CT_FOLD_PROD, VALUES(low, -1), false, 0);
        expect_fold(scalar, CT_FOLD_PROD, VALUES(low, -1, -1), true, low);
        expect_fold(scalar, CT_FOLD_PROD, VALUES(-1, low, -1, 1), true, low);
        expect_fold(scalar, CT_FOLD_PROD, VALUES(low / 2, -2, -1), true, low);
        expect_fold(scalar, CT_FOLD_PROD, VALUES(low, 2), false, 0);
        expect_fold(scalar, CT_FOLD_PROD, VALUES(high, high, high, high), false, 0);
    }
}
END_TEST

START_TEST(a_million_of_the_ends) {
    enum { N = 1000000 };
    for (int s = 0; s < COUNT(integers); s++) {
        const ct_scalar *scalar = integers[s];
        ptrdiff_t size = (ptrdiff_t)scalar->size;
        char *x = malloc(N * scalar->size), y[8];
        for (int i = 0; i < N; i++)
            put(scalar, x + i * size, i % 2 ? lowest(scalar) : highest(scalar));
        struct ct_fold_job job = {N, 1, x, size, 0, y, 8};
        require(scalar->fold[CT_FOLD_SUM](scalar, &job) == 1);
        require(get(scalar, y) == -N / 2);
        job.x_step = 2 * size, job.n = N / 2; /* the high ones alone */
        require(scalar->fold[CT_FOLD_SUM](scalar, &job) == 0);
        free(x);
    }
}
END_TEST

START_TEST(any_and_all) {
    static char x[100000];
    for (size_t n = 1; n < sizeof x; n = n * 3 / 2 + 1)
        for (int kind = 0; kind < 4; kind++)
            for (int step = -2; step <= 2; step++) {
                memset(x, kind == 1 || kind == 3 ? 2 : 0, sizeof x);
                size_t last = (n - 1) / 2 * (size_t)(step < 0 ? -step : step);
                if (n / 2 == 0 || last >= sizeof x)
                    continue;
                if (kind >= 2 && step != 0)
                    x[last / 2 / 2 * 2] ^= 2;
                bool any = false, all = true;
                struct ct_fold_job job = {(n + 1) / 2, 1, step < 0 ? x + last : x, step, 0, x, 1};
                unsigned char y[2] = {9, 9};
                for (size_t i = 0; i < job.n; i++) {
                    any |= job.x[(ptrdiff_t)i * step] != 0;
                    all &= job.x[(ptrdiff_t)i * step] != 0;
                }
                job.y = (char *)&y[0];
                require(CT_BOOL->fold[CT_FOLD_MAX](CT_BOOL, &job) == 1);
                job.y = (char *)&y[1];
                require(CT_BOOL->fold[CT_FOLD_MIN](CT_BOOL, &job) == 1);
                require(y[0] == any && y[1] == all);
            }
    /* Columns side by side. */
    unsigned char m[7][40], any[40], all[40];
    for (int i = 0; i < 7; i++)
        for (int j = 0; j < 40; j++)
            m[i][j] = (unsigned char)(j % 3 == 0 ? 0 : j % 3 == 1 ? 3 : i == j % 7);
    struct ct_fold_job job = {7, 40, (const char *)m, 40, 1, (char *)any, 1};
    require(CT_BOOL->fold[CT_FOLD_MAX](CT_BOOL, &job) == 40);
    job.y = (char *)all;
    require(CT_BOOL->fold[CT_FOLD_MIN](CT_BOOL, &job) == 40);
    for (int j = 0; j < 40; j++)
        require(any[j] == (j % 3 != 0) && all[j] == (j % 3 == 1));
}
END_TEST

/* --- chains --- */

static void check_chain(const ct_scalar *scalar, enum ct_op op, size_t n, const char *x,
                        ptrdiff_t x_step, ptrdiff_t y_step) {
    char room[200 * 16], *y = y_step < 0 ? room + sizeof room - 8 : room;
    wide partial = 0, expected[200];
    size_t stop = n;
    for (size_t i = 0; i < n && stop == n; i++) {
        int64_t item = get(scalar, x + (ptrdiff_t)i * x_step);
        partial = i == 0 ? item : op == CT_OP_add ? partial + item : partial * item;
        expected[i] = partial;
        if (!fits(scalar, partial))
            stop = i;
    }
    memset(room, 0x5a, sizeof room);
    require(scalar->chain(scalar, op, n, x, x_step, y, y_step) == stop);
    for (size_t i = y_step == 0 ? stop - 1 : 0; i < stop; i++)
        require(get(scalar, y + (ptrdiff_t)i * y_step) == expected[i]);
    for (size_t i = stop; i < n && y_step != 0; i++)
        require(y[(ptrdiff_t)i * y_step] == 0x5a);
}

START_TEST(chains_stop_where_a_partial_result_does_not_fit) {
    static const enum ct_op ops[] = {CT_OP_add, CT_OP_mul};
    uint64_t state = 9;
    for (int s = 0; s < COUNT(integers); s++)
        for (int k = 0; k < 600; k++) {
            const ct_scalar *scalar = integers[s];
            ptrdiff_t size = (ptrdiff_t)scalar->size;
            char x[200 * 8];
            size_t n = 1 + random_bits(&state) % 100;
            for (int i = 0; i < 200; i++)
                put(scalar, x + i * size,
                    k % 3 == 0
                        ? (int64_t)(random_bits(&state) % 5) - 2
                        : (int64_t)random_bits(&state) >> (70 - 8 * (int)scalar->size + k % 25));
            const char *first = x + 100 * size;
            check_chain(scalar, ops[k % 2], n, first, size, size);
            check_chain(scalar, ops[k % 2], n, first, -size, 2 * size);
            check_chain(scalar, ops[k % 2], n, first, 0, -size);
            check_chain(scalar, ops[k % 2], (n + 1) / 2, x, 2 * size, 0);
        }
}
END_TEST

/* --- products of matrices --- */

/* sum of a b in halves of a: exact for any k. */
static bool matmul_oracle(const ct_scalar *scalar, const struct ct_matmul_job *job, size_t i,
                          size_t j, int64_t *y) {
    wide low = 0, high = 0;
    for (size_t p = 0; p < job->k; p++) {
        int64_t a = get(scalar, job->a + (ptrdiff_t)i * job->a_row + (ptrdiff_t)p * job->a_col);
        int64_t b = get(scalar, job->b + (ptrdiff_t)p * job->b_row + (ptrdiff_t)j * job->b_col);
        low += (wide)(a & UINT32_MAX) * b;
        high += (wide)(a >> 32) * b;
    }
    high += low >> 32;
    if (high < INT32_MIN || high > INT32_MAX)
        return false;
    *y = (int64_t)(high * ((wide)1 << 32) + (low & UINT32_MAX));
    return fits(scalar, *y);
}

static void check_matmul(const ct_scalar *scalar, const struct ct_matmul_job *job) {
    bool all = true;
    ct_status status = scalar->matmul(scalar, job);
    for (size_t i = 0; i < job->m; i++)
        for (size_t j = 0; j < job->n; j++) {
            int64_t expected;
            const char *c = job->c + (ptrdiff_t)i * job->c_row + (ptrdiff_t)j * job->c_col;
            if (!matmul_oracle(scalar, job, i, j, &expected))
                all = false;
            else if (status == CT_OK)
                require_msg(get(scalar, c) == expected, "%s %zu %zu %zu", scalar->name, job->m,
                            job->n, job->k);
        }
    require(status == (all ? CT_OK : CT_EOVERFLOW));
}

static int64_t matmul_item(const ct_scalar *scalar, unsigned kind, size_t column, size_t k,
                           uint64_t *state) {
    uint64_t bits = random_bits(state);
    switch (kind) {
    case 0:
        return (int64_t)(bits % 19) - 9;
    case 1:
        return (int64_t)bits >> (64 - 4 * scalar->size + 4); /* roots of the range */
    case 2:
        return column + 1 < k ? (column % 2 ? lowest(scalar) : highest(scalar)) : 1;
    default:
        return (int64_t)bits >> (64 - 8 * scalar->size);
    }
}

static void check_matmuls(const ct_scalar *scalar, size_t m, size_t n, size_t k) {
    ptrdiff_t size = (ptrdiff_t)scalar->size;
    char *a = malloc(m * k * 8 + 8), *b = malloc(k * n * 8 + 8), *c = malloc(m * n * 16 + 8);
    uint64_t state = m * n + k;
    for (unsigned kind = 0; kind < 5; kind++) {
        for (size_t i = 0; i < m * k; i++)
            put(scalar, a + (ptrdiff_t)i * size, matmul_item(scalar, kind, i % k, k, &state));
        /* Of kind 2 the rows of b are equal in pairs, so that the ends cancel. */
        for (size_t i = 0; i < k * n; i++)
            put(scalar, b + (ptrdiff_t)i * size,
                kind == 2 ? 1 + (int64_t)(i % n) % 5 : matmul_item(scalar, kind, 0, k, &state));
        ptrdiff_t km = (ptrdiff_t)k * size, nm = (ptrdiff_t)n * size, mm = (ptrdiff_t)m * size;
        struct ct_matmul_job jobs[] = {
            {m, n, k, a, km, size, b, nm, size, c, nm, size},
            {m, n, k, a, size, mm, b, size, km, c, size, mm}, /* transposed, all */
            {m, n, k, a, 0, size, b, nm, 0, c, 2 * nm, 2 * size},
            {m, n, k, a + (ptrdiff_t)(m * k - 1) * size, -km, -size,
             b + (ptrdiff_t)(k * n - 1) * size, -nm, -size, c, nm, size},
        };
        for (int i = 0; i < COUNT(jobs) && k > 0; i++)
            check_matmul(scalar, &jobs[i]);
        jobs[0].k = 0;
        check_matmul(scalar, &jobs[0]);
    }
    free(a), free(b), free(c);
}

START_TEST(products_of_matrices) {
    static const size_t sizes[][3] = {{1, 1, 1},   {2, 3, 4},   {1, 9, 5},    {33, 7, 20},
                                      {5, 65, 67}, {40, 70, 3}, {32, 64, 64}, {70, 130, 65},
                                      {3, 9, 200}, {1, 300, 2}, {300, 1, 2},  {0, 3, 2},
                                      {3, 0, 2}};
    for (int s = 0; s < COUNT(integers); s++)
        for (int i = 0; i < COUNT(sizes); i++)
            check_matmuls(integers[s], sizes[i][0], sizes[i][1], sizes[i][2]);
}
END_TEST

START_TEST(large_products_of_matrices) { /* over threads */
    check_matmuls(CT_I32, 150, 140, 120);
    check_matmuls(CT_I64, 150, 140, 120);
}
END_TEST

static void *no_memory(void *ctx, size_t bytes, size_t align) {
    (void)ctx, (void)bytes, (void)align;
    return NULL;
}

static void no_release(void *ctx, void *p, size_t bytes) {
    (void)ctx, (void)p, (void)bytes;
}

/* The copies in f64 are a help, not a need. */
START_TEST(products_without_memory) {
    static const struct ct_allocator poor = {no_memory, no_release, NULL};
    if (ct_set_allocator(&poor) != CT_OK)
        return; /* without forking the library has allocated already */
    check_matmuls(CT_I32, 40, 50, 60);
    check_matmuls(CT_I64, 40, 50, 60);
    ck_assert_uint_eq(ct_live_blocks(), 0);
}
END_TEST

/* --- as tensors --- */

static int64_t only(ct_tensor *t) {
    ck_assert_msg(t != NULL, "%s", ct_error()->message);
    ck_assert_uint_eq(ct_count(t), 1);
    int64_t value = get(ct_dtype(t), ct_data(t));
    ct_free(t);
    return value;
}

START_TEST(folds_of_tensors) {
    int64_t low = INT64_MIN, high = INT64_MAX;
    ct_tensor *t = ct_from_i64s(CT_I64, SHAPE(2, 3), 6, (int64_t[]){high, 1, -1, low, -1, 0});
    ct_tensor *row = ct_slice(t, 0, 0, 1, 1), *turned = ct_transpose(t);
    require(only(ct_sum(row, CT_ALL, false)) == high);
    require(only(ct_max(turned, CT_ALL, false)) == high);
    require(only(ct_min(turned, CT_ALL, false)) == low);
    require(only(ct_prod(t, CT_ALL, false)) == 0);
    require(only(ct_argmin(t, CT_ALL, false)) == 3);
    require(only(ct_argmax(turned, CT_ALL, false)) == 0);
    ck_assert_ptr_null(ct_sum(t, 1, false));
    ck_assert_int_eq(ct_error()->code, CT_EOVERFLOW);
    ck_assert_str_eq(ct_error()->message, "the sum at index [1] does not fit i64");
    ck_assert_ptr_null(ct_matmul(t, turned));
    ck_assert_int_eq(ct_error()->code, CT_EOVERFLOW);
    ct_error_clear();
    ct_free(t), ct_free(row), ct_free(turned);
}
END_TEST

Suite *suite_integer_folds(void) {
    Suite *suite = suite_create("integer_folds");
    TCase *tc = tcase_create("integer_folds");
    tcase_set_timeout(tc, 30);
    tcase_add_test(tc, folds_against_the_oracle);
    tcase_add_test(tc, long_folds);
    tcase_add_test(tc, folds_of_nothing);
    tcase_add_test(tc, only_the_exact_total_counts);
    tcase_add_test(tc, a_million_of_the_ends);
    tcase_add_test(tc, any_and_all);
    tcase_add_test(tc, chains_stop_where_a_partial_result_does_not_fit);
    tcase_add_test(tc, products_of_matrices);
    tcase_add_test(tc, large_products_of_matrices);
    tcase_add_test(tc, products_without_memory);
    tcase_add_test(tc, folds_of_tensors);
    suite_add_tcase(suite, tc);
    return suite;
}
