/* Every scalar type keeps the contract, a user's type too; defaults give the bits of the kernels; and
   the checker that says so sees broken types. */
#include "conformance.h"
#include "ct_test.h"

#include "dual/ct_dual.h"
#include "fixed/ct_fixed.h"
#include "tensor/ct_alloc.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

/* The user's type is the example itself. */
#define main intervals_main
int intervals_main(void);
#include "examples/intervals.c"
#undef main

/* --- types made of others' slots --- */

/* f64 and f32 with nothing but their elementwise loops. */
static ct_loop_fn *f64_loop(const ct_scalar *self, enum ct_op op) {
    (void)self;
    return ct_scalar_loop(CT_F64, op);
}

static ct_loop_fn *f32_loop(const ct_scalar *self, enum ct_op op) {
    (void)self;
    return ct_scalar_loop(CT_F32, op);
}

static bool is_primitive(enum ct_op op) {
    static const enum ct_op kept[] = {
        CT_OP_add,     CT_OP_sub,           CT_OP_mul,       CT_OP_div,     CT_OP_neg,
        CT_OP_abs,     CT_OP_equal,         CT_OP_not_equal, CT_OP_less,    CT_OP_less_equal,
        CT_OP_greater, CT_OP_greater_equal, CT_OP_maximum,   CT_OP_minimum, CT_OP_exp,
        CT_OP_expm1,   CT_OP_softplus,      CT_OP_sigmoid,   CT_OP_where,   CT_OP_copysign};
    for (size_t i = 0; i < COUNT(kept); i++)
        if (kept[i] == op)
            return true;
    return false;
}

/* f64 with its primitives alone, so that all else is derived. */
static ct_loop_fn *few_loop(const ct_scalar *self, enum ct_op op) {
    (void)self;
    return is_primitive(op) ? ct_scalar_loop(CT_F64, op) : NULL;
}

/* f64 item by item. */
static bool f64_item(const ct_scalar *self, enum ct_op op, const void *const in[], void *out) {
    (void)self;
    return one_item(CT_F64, op, in, out);
}

static ct_item_fn *few_item(const ct_scalar *self, enum ct_op op) {
    (void)self;
    return is_primitive(op) ? f64_item : NULL;
}

/* The same with an order but no extremes of two. */
static ct_item_fn *ordered_item(const ct_scalar *self, enum ct_op op) {
    return op != CT_OP_maximum && op != CT_OP_minimum ? few_item(self, op) : NULL;
}

static ct_scalar stripped(const ct_scalar *from, const char *name,
                          ct_loop_fn *(*loop)(const ct_scalar *, enum ct_op)) {
    ct_scalar s = *from;
    s.name = name;
    memset(s.fold, 0, sizeof s.fold);
    s.matmul = NULL;
    s.loop = loop;
    return s;
}

static ct_scalar bare_f64(void) {
    return stripped(CT_F64, "bare f64", f64_loop);
}

static ct_scalar bare_f32(void) {
    return stripped(CT_F32, "bare f32", f32_loop);
}

static ct_scalar few_f64(void) {
    return stripped(CT_F64, "few f64", few_loop);
}

static ct_scalar item_f64(void) {
    ct_scalar s = stripped(CT_F64, "item f64", NULL);
    s.item = few_item;
    return s;
}

static ct_scalar ordered_f64(void) {
    ct_scalar s = stripped(CT_F64, "ordered f64", NULL);
    s.item = ordered_item;
    return s;
}

/* A dual over a type whose loops, sums and products are all defaults. */
static ct_scalar dual_of_items(void) {
    static ct_scalar base;
    base = item_f64();
    ct_scalar s = *CT_DUAL64;
    s.name = "dual of items";
    s.base = &base;
    return s;
}

static const ct_scalar *const types[] = {
    CT_F32,
    CT_F64,
    CT_I32,
    CT_I64,
    CT_BOOL,
    CT_FIXED,
    CT_DUAL32,
    CT_DUAL64,
    &ct_scalar_dual32_2,
    &ct_scalar_dual64_2,
    &ct_scalar_dual32x4,
    &ct_scalar_dual32x8,
    &ct_scalar_dual64x4,
    &ct_scalar_dual64x8,
    &intervals,
};

static ct_scalar (*const made[])(void) = {bare_f64, bare_f32,    few_f64,
                                          item_f64, ordered_f64, dual_of_items};

enum { TYPES = COUNT(types) + COUNT(made) };

static const ct_scalar *type_at(int i) {
    static ct_scalar s;
    if (i < (int)COUNT(types))
        return types[i];
    s = made[i - (int)COUNT(types)]();
    return &s;
}

START_TEST(types_conform) {
    struct trial trial = {.scalar = type_at(_i), .draw = {(uint64_t)_i}};
    ck_assert_msg(conforms(&trial), "%s: %s", trial.scalar->name, trial.fault);
}
END_TEST

/* --- an op that is missing --- */

static void check_missing(const ct_scalar *scalar, enum ct_op op) {
    const ct_tensor *in[3] = {NULL};
    char wanted[100];
    size_t live = ct_live_blocks();
    for (int k = 0; k < ct_op_arity(op); k++)
        in[k] = ct_zeros(ct_op_kind_of(op) == CT_KIND_SELECT && k == 0 ? CT_BOOL : scalar, 0, NULL);
    ct_tensor *y = ct_apply(op, ct_op_arity(op), in);
    snprintf(wanted, sizeof wanted, "%s has no %s", scalar->name, ct_op_name(op));
    ck_assert_msg(!y, "%s has %s", scalar->name, ct_op_name(op));
    expect_error(CT_EDTYPE, wanted);
    ct_error_clear();
    for (int k = 0; k < ct_op_arity(op); k++)
        ct_free((ct_tensor *)(uintptr_t)in[k]);
    ck_assert_uint_eq(ct_live_blocks(), live);
}

START_TEST(what_is_missing_says_so) {
    const ct_scalar *scalar = type_at(_i);
    for (int op = 0; op < CT_OP_COUNT; op++)
        if (ct_op_arity((enum ct_op)op) > 0 && !ct_scalar_has(scalar, (enum ct_op)op))
            check_missing(scalar, (enum ct_op)op);
    ck_assert(!ct_scalar_has(scalar, CT_OP_matmul) && !ct_scalar_has(scalar, CT_OP_COUNT));
    ck_assert(!ct_scalar_has(NULL, CT_OP_add) && !ct_scalar_matmul(NULL) &&
              !ct_scalar_fold(NULL, CT_FOLD_SUM) && !ct_scalar_fold(scalar, CT_FOLD_COUNT));
}
END_TEST

/* --- which ops follow from which --- */

START_TEST(what_is_derived) {
    static const struct {
        const ct_scalar *scalar;
        enum ct_op op;
        bool has;
    } cases[] = {
        {CT_I32, CT_OP_sign, true},        {CT_I32, CT_OP_square, true},
        {CT_I32, CT_OP_relu, true},        {CT_I32, CT_OP_relu_grad, true},
        {CT_I64, CT_OP_clamp, true},       {CT_I64, CT_OP_smul, true},
        {CT_I32, CT_OP_isnan, true},       {CT_I32, CT_OP_isinf, true},
        {CT_I32, CT_OP_isfinite, true},    {CT_I32, CT_OP_max_share, false}, /* one half */
        {CT_I32, CT_OP_reciprocal, false}, {CT_I32, CT_OP_silu, false},
        {CT_BOOL, CT_OP_square, false},    {CT_BOOL, CT_OP_isnan, true},
        {CT_BOOL, CT_OP_where, true},      {CT_FIXED, CT_OP_elu, true},
        {CT_FIXED, CT_OP_max_share, true}, {CT_FIXED, CT_OP_relu, true},
        {CT_FIXED, CT_OP_gelu, false},     {CT_FIXED, CT_OP_gelu_tanh, true},
        {&intervals, CT_OP_square, true},  {&intervals, CT_OP_reciprocal, true},
        {&intervals, CT_OP_where, true},   {&intervals, CT_OP_relu, false}, /* a partial order */
        {&intervals, CT_OP_sign, false},   {&intervals, CT_OP_exp, false},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        ck_assert_msg(ct_scalar_has(cases[i].scalar, cases[i].op) == cases[i].has, "%s %s",
                      cases[i].scalar->name, ct_op_name(cases[i].op));
}
END_TEST

/* Whether two results of an op agree: in their bits, but for the ops whose kernels keep what the roundings
   of the formula lose. */
static bool agree(enum ct_op op, double a, double b) {
    bool loses = op == CT_OP_silu || op == CT_OP_mish || op == CT_OP_gelu_tanh;
    return same_item(CT_F64, &a, &b) ||
           (loses && signbit(a) == signbit(b) && fabs(a - b) <= 1e-13 * fabs(b) + 1e-300);
}

/* Every derived op of f64, from its primitives alone, has the bits of the kernel. */
START_TEST(formulas_have_the_bits_of_kernels) {
    enum { N = 700 };
    static double in[3][N], a[N], b[N];
    ct_scalar few = few_f64();
    struct trial trial = {.scalar = CT_F64, .draw = {5}};
    int derived = 0;
    for (int op = 0; op < CT_OP_COUNT; op++) {
        int arity = ct_op_arity((enum ct_op)op);
        if (arity == 0 || is_primitive((enum ct_op)op) || !ct_scalar_has(&few, (enum ct_op)op))
            continue;
        char *ptr[4] = {(char *)in[0], (char *)in[1], (char *)in[2]};
        ptrdiff_t step[4] = {8, 8, 8, 8};
        step[arity] = ct_op_gives_mask((enum ct_op)op) ? 1 : 8;
        for (int k = 0; k < 3; k++)
            for (int i = 0; i < N; i++)
                trial_item(&trial, &in[k][i]);
        memset(a, 0, sizeof a), memset(b, 0, sizeof b);
        ptr[arity] = (char *)a;
        ck_assert_uint_eq(ct_scalar_loop(&few, (enum ct_op)op)(&few, (enum ct_op)op, N, ptr, step),
                          N);
        ptr[arity] = (char *)b;
        ct_scalar_loop(CT_F64, (enum ct_op)op)(CT_F64, (enum ct_op)op, N, ptr, step);
        for (int i = 0; i < N; i++)
            ck_assert_msg(agree((enum ct_op)op, a[i], b[i]),
                          "%s of %.17g, %.17g, %.17g: %.17g, %.17g", ct_op_name((enum ct_op)op),
                          in[0][i], in[1][i], in[2][i], a[i], b[i]);
        derived++;
    }
    ck_assert_int_ge(derived, 15);
}
END_TEST

/* --- defaults against kernels --- */

/* The same job by the type's own fold and by the default that its copy gets. */
static void check_fold_bits(const ct_scalar *own, const ct_scalar *bare, enum ct_fold fold,
                            const char *x, size_t n, ptrdiff_t step) {
    _Alignas(64) char a[4 * 8], b[4 * 8];
    ptrdiff_t bytes = fold >= CT_FOLD_ARGMAX ? 8 : (ptrdiff_t)own->size;
    struct ct_fold_job job = {n, 4, x, step * (ptrdiff_t)own->size, (ptrdiff_t)own->size, a, bytes};
    ck_assert(ct_scalar_fold(bare, fold) != NULL && bare->fold[fold] == NULL);
    ck_assert_uint_eq(ct_scalar_fold(own, fold)(own, &job), 4);
    job.y = b;
    ck_assert_uint_eq(ct_scalar_fold(bare, fold)(bare, &job), 4);
    for (ptrdiff_t j = 0; j < 4; j++) {
        bool same = fold >= CT_FOLD_ARGMAX ? memcmp(a + j * bytes, b + j * bytes, 8) == 0
                                           : same_item(own, a + j * bytes, b + j * bytes);
        ck_assert_msg(same, "%s: fold %d of %zu at step %td", bare->name, (int)fold, n, step);
    }
}

START_TEST(default_folds_have_the_bits_of_kernels) {
    enum { MOST = 9000 };
    static const size_t lengths[] = {1, 2, 15, 16, 17, 33, 1000, 1024, 1040, 2500, 4096};
    static _Alignas(64) char items[MOST * 8];
    ct_scalar bare[] = {bare_f64(), bare_f32(), ordered_f64()};
    const ct_scalar *own[] = {CT_F64, CT_F32, CT_F64};
    struct draw draw = {9};
    for (size_t t = 0; t < COUNT(bare); t++)
        for (int special = 0; special < 2; special++) {
            struct trial trial = {.scalar = own[t], .draw = draw};
            for (size_t i = 0; i < MOST; i++)
                if (special)
                    trial_item(&trial, items + i * own[t]->size);
                else
                    own[t]->from_double(own[t], items + i * own[t]->size,
                                        draw_between(&draw, 0.5, 1.5));
            for (size_t k = 0; k < COUNT(lengths); k++)
                for (int fold = 0; fold < CT_FOLD_COUNT; fold++) {
                    if (t == 2 && special && (fold == CT_FOLD_MAX || fold == CT_FOLD_MIN))
                        continue; /* an order alone does not tell -0 from 0 */
                    check_fold_bits(own[t], &bare[t], (enum ct_fold)fold, items, lengths[k], 1);
                    check_fold_bits(own[t], &bare[t], (enum ct_fold)fold,
                                    items + 8980 * own[t]->size, lengths[k], -2);
                }
        }
}
END_TEST

START_TEST(large_defaults_do_not_depend_on_threads) {
    enum { ROWS = 600, COLUMNS = 300 };
    static double x[ROWS * COLUMNS], a[ROWS], b[ROWS], product[ROWS * 20], single[ROWS * 20];
    ct_scalar bare = bare_f64();
    struct draw draw = {4};
    for (size_t i = 0; i < COUNT(x); i++)
        x[i] = draw_between(&draw, -1, 1);
    struct ct_fold_job job = {COLUMNS, ROWS, (char *)x, 8, 8 * COLUMNS, (char *)a, 8};
    ct_scalar_fold(&bare, CT_FOLD_SUM)(&bare, &job);
    job.y = (char *)b;
    ct_scalar_fold(CT_F64, CT_FOLD_SUM)(CT_F64, &job);
    ck_assert_mem_eq(a, b, sizeof a);
    struct ct_matmul_job whole = {ROWS,      20,  280, (char *)x,       8 * COLUMNS, 8,
                                  (char *)x, 160, 8,   (char *)product, 160,         8};
    ck_assert_int_eq(ct_scalar_matmul(&bare)(&bare, &whole), CT_OK);
    for (size_t i = 0; i < ROWS; i++) { /* row by row: lines run across instead of down */
        struct ct_matmul_job row = whole;
        row.m = 1;
        row.a += (ptrdiff_t)i * row.a_row;
        row.c = (char *)single + (ptrdiff_t)i * row.c_row;
        ck_assert_int_eq(ct_scalar_matmul(&bare)(&bare, &row), CT_OK);
    }
    ck_assert_mem_eq(product, single, sizeof product);
}
END_TEST

/* A sum and a product by default stop at what does not fit. */
START_TEST(defaults_of_checked_types_fail) {
    ct_scalar s = stripped(CT_I32, "bare i32", CT_I32->loop);
    int32_t x[] = {1, 2, INT32_MAX, 1, 5, 6}, y[3] = {0}, one[] = {1, 1, 1};
    struct ct_fold_job job = {2, 3, (char *)x, 4, 8, (char *)y, 4};
    ck_assert_uint_eq(ct_scalar_fold(&s, CT_FOLD_SUM)(&s, &job), 1);
    ck_assert_int_eq(y[0], 3);
    ck_assert_uint_eq(ct_scalar_fold(&s, CT_FOLD_MAX)(&s, &job), 3);
    ck_assert_uint_eq(ct_scalar_fold(&s, CT_FOLD_PROD)(&s, &job), 3);
    struct ct_matmul_job product = {3, 1, 2, (char *)x, 8, 4, (char *)one, 4, 4, (char *)y, 4, 4};
    ck_assert_int_eq(ct_scalar_matmul(&s)(&s, &product), CT_EOVERFLOW);
    product.m = 1;
    ck_assert_int_eq(ct_scalar_matmul(&s)(&s, &product), CT_OK);
    ck_assert_int_eq(y[0], 3);
}
END_TEST

/* --- intervals enclose --- */

START_TEST(intervals_enclose_the_exact_sum) {
    enum { N = 300 };
    static struct interval x[N];
    struct interval y;
    struct draw draw = {6};
    long double exact = 0;
    for (int i = 0; i < N; i++) {
        double value = draw_between(&draw, -1, 1) * (i % 7 ? 1 : 1e6);
        x[i] = (struct interval){value, value};
        exact += (long double)value;
    }
    struct ct_fold_job job = {N, 1, (char *)x, sizeof *x, 0, (char *)&y, sizeof y};
    ck_assert_uint_eq(ct_scalar_fold(&intervals, CT_FOLD_SUM)(&intervals, &job), 1);
    ck_assert(y.low < y.high && (long double)y.low <= exact && exact <= (long double)y.high);
    ck_assert(y.high - y.low < 1e-7);
}
END_TEST

/* --- planted faults: each must be seen --- */

static size_t add_without_steps(const ct_scalar *self, enum ct_op op, size_t n, char *const ptr[],
                                const ptrdiff_t step[]) {
    (void)step;
    return ct_scalar_loop(CT_F64, op)(self, op, n, ptr, (const ptrdiff_t[]){8, 8, 8});
}

/* Right apart, wrong where the result is the second operand. */
static size_t sub_in_two_passes(const ct_scalar *self, enum ct_op op, size_t n, char *const ptr[],
                                const ptrdiff_t step[]) {
    (void)self, (void)op;
    for (size_t i = 0; i < n; i++)
        memcpy(ptr[2] + (ptrdiff_t)i * step[2], ptr[0] + (ptrdiff_t)i * step[0], 8);
    char *const again[] = {ptr[2], ptr[1], ptr[2]};
    const ptrdiff_t steps[] = {step[2], step[1], step[2]};
    return ct_scalar_loop(CT_F64, CT_OP_sub)(CT_F64, CT_OP_sub, n, again, steps);
}

static size_t mul_wrong_in_the_tail(const ct_scalar *self, enum ct_op op, size_t n,
                                    char *const ptr[], const ptrdiff_t step[]) {
    size_t done = ct_scalar_loop(CT_F64, op)(self, op, n, ptr, step);
    if (n > 256)
        memset(ptr[2] + (ptrdiff_t)(n - 1) * step[2], 0x11, 8);
    return done;
}

static size_t stops_late(const ct_scalar *self, enum ct_op op, size_t n, char *const ptr[],
                         const ptrdiff_t step[]) {
    size_t done = CT_I32->loop(CT_I32, op)(self, op, n, ptr, step);
    return done < n && n > 8 ? done + 1 : done;
}

static size_t sets_what_has_no_result(const ct_scalar *self, enum ct_op op, size_t n,
                                      char *const ptr[], const ptrdiff_t step[]) {
    size_t done = CT_I32->loop(CT_I32, op)(self, op, n, ptr, step);
    if (done < n)
        memset(ptr[2] + (ptrdiff_t)done * step[2], 0, 4);
    return done;
}

#define BROKEN_LOOP(name, type, at, broken)                                                        \
    static ct_loop_fn *name(const ct_scalar *self, enum ct_op op) {                                \
        (void)self;                                                                                \
        return op == at ? broken : ct_scalar_loop(type, op);                                       \
    }
BROKEN_LOOP(loop_without_steps, CT_F64, CT_OP_add, add_without_steps)
BROKEN_LOOP(loop_in_two_passes, CT_F64, CT_OP_sub, sub_in_two_passes)
BROKEN_LOOP(loop_wrong_tail, CT_F64, CT_OP_mul, mul_wrong_in_the_tail)
BROKEN_LOOP(loop_late, CT_I32, CT_OP_add, stops_late)
BROKEN_LOOP(loop_sets, CT_I32, CT_OP_mul, sets_what_has_no_result)

static bool equal_bytes(const ct_scalar *self, const void *a, const void *b) {
    double x = self->to_double(self, a), y = self->to_double(self, b);
    return x == y; /* NaN must equal NaN */
}

static int format_short(const ct_scalar *self, const void *item, char *text, size_t size) {
    return snprintf(text, size, "%.3g", self->to_double(self, item));
}

static int format_long(const ct_scalar *self, const void *item, char *text, size_t size) {
    int length = snprintf(text, size, "%.17g", self->to_double(self, item));
    return size == 0 ? length + 1 : length;
}

static bool wraps(const ct_scalar *self, void *item, double value) {
    int32_t x = value > 2147483647 ? 0 : 1;
    memcpy(item, &x, sizeof x);
    return CT_I32->from_double(self, item, value);
}

static size_t sum_in_order(const ct_scalar *self, const struct ct_fold_job *job) {
    for (size_t j = 0; j < job->count; j++) {
        double sum = 0, x;
        for (size_t i = 0; i < job->n; i++) {
            memcpy(&x, job->x + (ptrdiff_t)j * job->x_next + (ptrdiff_t)i * job->x_step, 8);
            sum += x;
        }
        memcpy(job->y + (ptrdiff_t)j * job->y_next, &sum, 8);
    }
    (void)self;
    return job->count;
}

static ct_status matmul_transposed(const ct_scalar *self, const struct ct_matmul_job *job) {
    struct ct_matmul_job turned = *job;
    turned.b_row = job->b_col;
    turned.b_col = job->b_row;
    return ct_scalar_matmul(CT_F64)(self, &turned);
}

START_TEST(broken_types_are_seen) {
    struct {
        ct_scalar scalar;
        const char *fault;
    } cases[] = {
        {*CT_F64, "add, n = "},
        {*CT_F64, "sub, n = "},
        {*CT_F64, "mul, n = 257"},
        {*CT_I32, "add, n = "},
        {*CT_I32, "wrote where"},
        {*CT_F64, "does not equal"},
        {*CT_F64, "does not read back"},
        {*CT_F64, "is not snprintf's"},
        {*CT_I32, "and writes"},
        {*CT_F64, "sum 0 of"},
        {*CT_F64, "matmul of"},
        {*CT_F64, "go together"},
        {*CT_I32, "an unchecked type stops"},
    };
    cases[0].scalar.loop = loop_without_steps;
    cases[1].scalar.loop = loop_in_two_passes;
    cases[2].scalar.loop = loop_wrong_tail;
    cases[3].scalar.loop = loop_late;
    cases[4].scalar.loop = loop_sets;
    cases[5].scalar.equal = equal_bytes;
    cases[6].scalar.format = format_short;
    cases[7].scalar.format = format_long;
    cases[8].scalar.from_double = wraps;
    cases[9].scalar.fold[CT_FOLD_SUM] = sum_in_order;
    cases[10].scalar.matmul = matmul_transposed;
    cases[11].scalar.align = 3;
    cases[12].scalar.traits &= ~(unsigned)CT_CHECKED;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct trial trial = {.scalar = &cases[i].scalar, .draw = {3}};
        ck_assert_msg(!conforms(&trial), "fault %zu was not seen", i);
        ck_assert_msg(strstr(trial.fault, cases[i].fault), "fault %zu: %s", i, trial.fault);
    }
}
END_TEST

Suite *suite_conformance(void) {
    Suite *suite = suite_create("conformance");
    TCase *tc = tcase_create("types");
    tcase_set_timeout(tc, 20);
    tcase_add_loop_test(tc, types_conform, 0, TYPES);
    tcase_add_loop_test(tc, what_is_missing_says_so, 0, TYPES);
    tcase_add_test(tc, what_is_derived);
    suite_add_tcase(suite, tc);
    tc = tcase_create("defaults");
    tcase_set_timeout(tc, 20);
    tcase_add_test(tc, formulas_have_the_bits_of_kernels);
    tcase_add_test(tc, default_folds_have_the_bits_of_kernels);
    tcase_add_test(tc, large_defaults_do_not_depend_on_threads);
    tcase_add_test(tc, defaults_of_checked_types_fail);
    tcase_add_test(tc, intervals_enclose_the_exact_sum);
    suite_add_tcase(suite, tc);
    tc = tcase_create("checker");
    tcase_set_timeout(tc, 20);
    tcase_add_test(tc, broken_types_are_seen);
    suite_add_tcase(suite, tc);
    return suite;
}
