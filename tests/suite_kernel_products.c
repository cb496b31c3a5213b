/*
 * The contract of kern_matmul.h, bit for bit, on every instruction set that the machine has: against
 * oracles written from the contract's text, one item at a time.
 */

#include "kernel_tools.h"

#include "tensor/ct_alloc.h"
#include "tensor/kernels/kern_matmul.h"

#include <sys/mman.h>
#include <unistd.h>

Suite *suite_kernel_products(void);

static const struct isa {
    const char *name;
    ct_matmul_fn *matmul[TYPE_COUNT];
} isas[ISA_COUNT] = {
    {"scalar", {ct__f32_matmul_scalar, ct__f64_matmul_scalar}},
    {"avx2", {ct__f32_matmul_avx2, ct__f64_matmul_avx2}},
    {"avx512", {ct__f32_matmul_avx512, ct__f64_matmul_avx512}},
};

enum { MM_BLOCK = 256, SIDE = 65, MAX_K = 700 };

/* Item (i, j) for operands that are given item by item. */
static double oracle_item(int type, const double *a, const double *b, size_t b_pitch, size_t k) {
    double c = 0.0;
    for (size_t p = 0; p < k; p += MM_BLOCK) {
        double chain = 0.0;
        for (size_t q = p; q < k && q < p + MM_BLOCK; q++) {
            chain = fused(type, a[q], b[q * b_pitch], chain);
        }
        c = p == 0 ? chain : add(type, c, chain);
    }
    return c;
}

static void oracle_product(int type, const double *a, const double *b, double *c, size_t m,
                           size_t n, size_t k) {
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < n; j++) {
            c[i * n + j] = oracle_item(type, a + i * k, b + j, n, k);
        }
    }
}

/* A matrix laid out in memory in one of several ways. Steps in bytes. */
enum layout { ROW_MAJOR, TRANSPOSED, STRIDED, NEGATIVE, ZERO_STRIDE, LAYOUT_COUNT };

struct matrix {
    char *memory, *origin;
    ptrdiff_t row, col;
};

/* ZERO_STRIDE repeats the first row (which = 0) or column (which = 1). */
static struct matrix lay_out(int type, enum layout layout, const double *x, size_t rows,
                             size_t cols, int which) {
    const ptrdiff_t size = (ptrdiff_t)type_size[type];
    const ptrdiff_t r = (ptrdiff_t)rows, c = (ptrdiff_t)cols;
    struct matrix m = {.memory = memory(6 * rows * cols + 6 * cols + 6, type), .row = c, .col = 1};
    m.origin = m.memory;
    switch (layout) {
    case TRANSPOSED:
        m.row = 1, m.col = r;
        break;
    case STRIDED:
        m.row = 3 * c + 1, m.col = 2;
        break;
    case NEGATIVE:
        m.row = -c, m.col = -1;
        m.origin += rows * cols == 0 ? 0 : (r * c - 1) * size;
        break;
    case ZERO_STRIDE:
        m.row = which == 0 ? 0 : 1;
        m.col = which == 0 ? 1 : 0;
        break;
    default:
        break;
    }
    m.row *= size;
    m.col *= size;
    for (size_t i = rows; x != NULL && i-- > 0;) {
        for (size_t j = cols; j-- > 0;) {
            put(type, m.origin + (ptrdiff_t)i * m.row + (ptrdiff_t)j * m.col, x[i * cols + j]);
        }
    }
    return m;
}

/*
 * Multiplies the first m rows of a by the first n columns of b on every instruction set; expected
 * has a pitch. Where c is not an item the memory must stay as it was.
 */
static void check_product(int type, struct matrix a, struct matrix b, enum layout c_layout,
                          const double *expected, size_t row_pitch, size_t col_pitch, size_t m,
                          size_t n, size_t k) {
    const size_t size = type_size[type];
    const size_t bytes = (6 * m * n + 6 * n + 6) * size;
    struct matrix c = lay_out(type, c_layout, NULL, m, n, 0);
    for (int isa = 0; isa < ISA_COUNT && isa_available(isa); isa++) {
        memset(c.memory, 0xff, bytes); // a NaN
        struct ct_matmul_job job = {
            .m = m,
            .n = n,
            .k = k,
            .a = a.origin,
            .a_row = a.row,
            .a_col = a.col,
            .b = b.origin,
            .b_row = b.row,
            .b_col = b.col,
            .c = c.origin,
            .c_row = c.row,
            .c_col = c.col,
        };
        ck_assert_int_eq(isas[isa].matmul[type](NULL, &job), CT_OK);
        for (size_t i = 0; i < m; i++) {
            for (size_t j = 0; j < n; j++) {
                char *item = c.origin + (ptrdiff_t)i * c.row + (ptrdiff_t)j * c.col;
                double r = get(type, item), e = expected[i * row_pitch + j * col_pitch];
                if (!same(r, e)) {
                    ck_abort_msg("%s %s %zu x %zu x %zu, steps %td %td, %td %td, %td %td: "
                                 "item %zu, %zu is %a, not %a",
                                 isas[isa].name, type_name[type], m, k, n, a.row, a.col, b.row,
                                 b.col, c.row, c.col, i, j, r, e);
                }
                memset(item, 0xff, size);
            }
        }
        for (size_t i = 0; i < bytes; i++) {
            if (c.memory[i] != (char)0xff) {
                ck_abort_msg("%s %s %zu x %zu x %zu wrote beyond c", isas[isa].name,
                             type_name[type], m, k, n);
            }
        }
    }
    free(c.memory);
}

static const size_t inner[] = {0,  1,  2,  3,   5,   7,   8,   13,  16,  17,   31,
                               33, 64, 65, 255, 256, 257, 511, 512, 513, MAX_K};
static const size_t outer[] = {0, 1, 2, 3, 5, 7, 8, 13, 16, 17, 31, 33, 64, SIDE};

enum {
    INNER_COUNT = sizeof inner / sizeof inner[0],
    OUTER_COUNT = sizeof outer / sizeof outer[0],
};

static double *random_values(int type, size_t n) {
    double *x = malloc((n + 1) * sizeof *x);
    ck_assert_ptr_nonnull(x);
    for (size_t i = 0; i < n; i++) {
        x[i] = random_value(type);
    }
    return x;
}

/* Item (i, j) does not depend on m and n: one oracle for all of them. _i: type, then inner. */
START_TEST(small_products) {
    int type = _i % TYPE_COUNT;
    size_t k = inner[_i / TYPE_COUNT];
    double *x = random_values(type, SIDE * k), *y = random_values(type, k * SIDE);
    double *z = malloc(SIDE * SIDE * sizeof *z);
    oracle_product(type, x, y, z, SIDE, SIDE, k);
    struct matrix a[LAYOUT_COUNT], b[LAYOUT_COUNT];
    for (enum layout l = ROW_MAJOR; l < LAYOUT_COUNT; l++) {
        a[l] = lay_out(type, l, x, SIDE, k, 0);
        b[l] = lay_out(type, l, y, k, SIDE, 1);
    }
    for (size_t u = 0; u < OUTER_COUNT * OUTER_COUNT; u++) {
        size_t m = outer[u / OUTER_COUNT], n = outer[u % OUTER_COUNT];
        for (size_t pair = 0; pair < LAYOUT_COUNT * LAYOUT_COUNT; pair++) {
            // Pairs of layouts in turn: all of them meet every k and every m, and every n.
            if ((pair + u) % (k > 70 ? 17 : 6) != 0) {
                continue;
            }
            enum layout la = (enum layout)(pair / 5), lb = (enum layout)(pair % 5);
            enum layout lc = (enum layout)((pair + m + n + u) % ZERO_STRIDE);
            check_product(type, a[la], b[lb], lc, z, la == ZERO_STRIDE ? 0 : SIDE,
                          lb == ZERO_STRIDE ? 0 : 1, m, n, k);
        }
    }
    for (enum layout l = ROW_MAJOR; l < LAYOUT_COUNT; l++) {
        free(a[l].memory);
        free(b[l].memory);
    }
    free(x);
    free(y);
    free(z);
}
END_TEST

/* A matrix whose rows are `pitch` items apart, with NaNs between, and whose last item is the last before
   memory that cannot be read. */
struct fenced {
    struct matrix matrix;
    char *pages;
    size_t bytes;
};

static struct fenced fence(int type, const double *x, size_t rows, size_t cols, size_t pitch) {
    const size_t size = type_size[type], page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t items = ((rows - 1) * pitch + cols) * size;
    struct fenced f = {.bytes = (items + page - 1) / page * page + page};
    f.pages = mmap(NULL, f.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(f.pages, MAP_FAILED);
    memset(f.pages, 0xff, f.bytes);
    f.matrix.origin = f.pages + (f.bytes - page - items);
    f.matrix.row = (ptrdiff_t)(pitch * size);
    f.matrix.col = (ptrdiff_t)size;
    for (size_t i = 0; i < rows * cols; i++) {
        put(type, f.matrix.origin + ((i / cols) * pitch + i % cols) * size, x[i]);
    }
    ck_assert_int_eq(mprotect(f.pages + (f.bytes - page), page, PROT_NONE), 0);
    return f;
}

/* Vectors may reach beyond a row, but neither beyond the operand nor into the result. */
START_TEST(reads_only_operands) {
    static const size_t ks[] = {1, 3, 8, 15, 16, 17, 21, 64, 257}, ms[] = {1, 2, 7, 16, 33};
    int type = _i % TYPE_COUNT;
    size_t n = (size_t)(_i / TYPE_COUNT) + 1;
    for (size_t u = 0; u < sizeof ks / sizeof *ks * 5; u++) {
        size_t k = ks[u / 5], m = ms[u % 5];
        double *x = random_values(type, m * k), *y = random_values(type, k * n);
        double *z = malloc(m * n * sizeof *z);
        oracle_product(type, x, y, z, m, n, k);
        for (size_t gap = 0; gap < 8; gap += 3) {
            struct fenced a = fence(type, x, m, k, k + gap), b = fence(type, y, k, n, n + gap);
            check_product(type, a.matrix, b.matrix, ROW_MAJOR, z, n, 1, m, n, k);
            munmap(a.pages, a.bytes);
            munmap(b.pages, b.bytes);
        }
        free(x);
        free(y);
        free(z);
    }
}
END_TEST

/* Operands that do not move along k. */
START_TEST(repeated_steps) {
    int type = _i % TYPE_COUNT;
    size_t m = 20, n = 37, k = 300;
    const ptrdiff_t size = (ptrdiff_t)type_size[type];
    double *x = random_values(type, m * k), *y = random_values(type, k * n);
    double *z = malloc(m * n * sizeof *z);
    for (size_t i = 0; i < m * k; i++) {
        x[i] = x[i / k * k];
    }
    for (size_t i = 0; i < k * n; i++) {
        y[i] = y[i % n];
    }
    oracle_product(type, x, y, z, m, n, k);
    struct matrix a = lay_out(type, ROW_MAJOR, x, m, k, 0);
    struct matrix b = lay_out(type, ROW_MAJOR, y, k, n, 0);
    a.col = 0;
    b.row = 0;
    a.row = (ptrdiff_t)k * size;
    check_product(type, a, b, ROW_MAJOR, z, n, 1, m, n, k);
    check_product(type, a, b, TRANSPOSED, z, n, 1, m, n, k);
    free(a.memory);
    free(b.memory);
    free(x);
    free(y);
    free(z);
}
END_TEST

/* Packed, in pieces, thin: what threads share. _i: type, then case. */
static const struct {
    size_t m, k, n;
} large[] = {
    {150, 300, 130}, {97, 513, 200}, {300, 257, 64}, {1, 512, 5000}, {2, 400, 3000}, {5000, 512, 1},
    {5000, 70, 10},  {3, 700, 2000}, {3100, 20, 40}, {40, 20, 3100}, {1, 5000, 1},   {70, 70, 70},
};

enum { LARGE_COUNT = sizeof large / sizeof large[0] };

START_TEST(large_products) {
    int type = _i % TYPE_COUNT;
    size_t m = large[_i / TYPE_COUNT].m, k = large[_i / TYPE_COUNT].k, n = large[_i / TYPE_COUNT].n;
    double *x = random_values(type, m * k), *y = random_values(type, k * n);
    double *z = malloc(m * n * sizeof *z);
    oracle_product(type, x, y, z, m, n, k);
    for (enum layout l = ROW_MAJOR; l < ZERO_STRIDE; l++) {
        if (l == STRIDED && m * n > 10000) {
            continue; // the small ones have it; here it costs most
        }
        struct matrix a = lay_out(type, l, x, m, k, 0);
        struct matrix b = lay_out(type, (enum layout)(3 - l), y, k, n, 1);
        struct matrix same_layout = lay_out(type, l, y, k, n, 1);
        check_product(type, a, b, ROW_MAJOR, z, n, 1, m, n, k);
        check_product(type, a, same_layout, (enum layout)(l ^ 1), z, n, 1, m, n, k);
        free(a.memory);
        free(b.memory);
        free(same_layout.memory);
    }
    free(x);
    free(y);
    free(z);
}
END_TEST

/* Nothing is skipped: zero times infinity is NaN, a NaN reaches its row or column and no other. */
START_TEST(special_products) {
    static const double specials[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, -0.0};
    int type = _i % TYPE_COUNT;
    size_t m = 17, k = 260, n = 35;
    double *x = malloc(m * k * sizeof *x), *y = malloc(k * n * sizeof *y);
    double *z = malloc(m * n * sizeof *z);
    for (size_t v = 0; v < 4; v++) {
        for (size_t at = 0; at < k; at += 37) {
            for (size_t i = 0; i < m * k; i++) {
                x[i] = i % 3 == 0 ? -0.0 : 1.0;
            }
            for (size_t i = 0; i < k * n; i++) {
                y[i] = i % 5 == 0 ? 0.0 : -1.0;
            }
            x[at % m * k + at] = specials[v];
            y[at * n + at % n] = specials[(v + at) % 4];
            oracle_product(type, x, y, z, m, n, k);
            struct matrix a = lay_out(type, ROW_MAJOR, x, m, k, 0);
            struct matrix b = lay_out(type, ROW_MAJOR, y, k, n, 0);
            check_product(type, a, b, ROW_MAJOR, z, n, 1, m, n, k);
            check_product(type, a, b, ROW_MAJOR, z, n, 1, 1, n, k);
            free(a.memory);
            free(b.memory);
        }
    }
    free(x);
    free(y);
    free(z);
}
END_TEST

static void *no_memory(void *ctx, size_t bytes, size_t align) {
    (void)ctx, (void)bytes, (void)align;
    return NULL;
}

static void no_release(void *ctx, void *p, size_t bytes) {
    (void)ctx, (void)p, (void)bytes;
}

/* Copies of operands are for speed: without memory for them a product is the same. */
START_TEST(product_without_memory) {
    static const struct ct_allocator poor = {no_memory, no_release, NULL};
    if (ct_set_allocator(&poor) != CT_OK) {
        return; // without forking the library has allocated already
    }
    enum { M = 70, K = 300, N = 160 };
    int type = _i % TYPE_COUNT;
    double *x = random_values(type, M * K), *y = random_values(type, K * N);
    double *z = malloc(M * N * sizeof *z);
    oracle_product(type, x, y, z, M, N, K);
    for (enum layout l = ROW_MAJOR; l <= STRIDED; l++) {
        struct matrix a = lay_out(type, l, x, M, K, 0), b = lay_out(type, l, y, K, N, 1);
        check_product(type, a, b, ROW_MAJOR, z, N, 1, M, N, K);
        check_product(type, a, b, TRANSPOSED, z, N, 1, M, N, K);
        free(a.memory);
        free(b.memory);
    }
    ck_assert_uint_eq(ct_live_blocks(), 0);
    free(x);
    free(y);
    free(z);
}
END_TEST

Suite *suite_kernel_products(void) {
    Suite *suite = suite_create("kernel_products");
    TCase *alone = tcase_create("alone");
    tcase_add_checked_fixture(alone, setup_backwards, NULL);
    tcase_add_loop_test(alone, small_products, 0, TYPE_COUNT * INNER_COUNT);
    tcase_add_loop_test(alone, reads_only_operands, 0, TYPE_COUNT * 70);
    tcase_add_loop_test(alone, repeated_steps, 0, TYPE_COUNT);
    tcase_add_loop_test(alone, large_products, 0, TYPE_COUNT * LARGE_COUNT);
    tcase_add_loop_test(alone, special_products, 0, TYPE_COUNT);
    tcase_add_loop_test(alone, product_without_memory, 0, TYPE_COUNT);
    suite_add_tcase(suite, alone);
    TCase *threads = tcase_create("threads");
    tcase_add_checked_fixture(threads, setup_pool, NULL);
    tcase_add_loop_test(threads, large_products, 0, TYPE_COUNT * LARGE_COUNT);
    suite_add_tcase(suite, threads);
    return suite;
}
