#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "autodiff/ct_var_ops.h"
#include "case_tools.h"
#include "ct_test.h"
#include "scarce_memory.h"
#include "optim_cases.h"
#include "tensor/ct_alloc.h"

Suite *suite_optim_steps(void);

// ---- writing

START_TEST(a_parameter_alone_is_written_in_place) {
    ct_tensor *p = T1(1, 2), *g = T1(1, 1);
    const void *before = ct_data(p);
    ct_optim *optim = ct_adam_new(NULL);
    step_ok(optim, p, g);
    size_t calls = ct_allocator_calls();
    for (int t = 0; t < 10; t++)
        step_ok(optim, p, g);
    ck_assert(ct_data(p) == before);
    ck_assert(ct_allocator_calls() == calls);
    ct_optim_free(optim);
    ct_free(p);
    ct_free(g);
}
END_TEST

START_TEST(a_copy_of_a_parameter_does_not_change) {
    ct_tensor *p = T1(1, 2), *copy = ct_copy(p), *g = T1(1, 1);
    ct_optim *optim = ct_sgd_new(NULL);
    step_ok(optim, p, g);
    EXPECT("the copy", copy, 0, 1, 2);
    EXPECT("the parameter", p, 1e-15, 0.99, 1.99);
    ct_optim_free(optim);
    ct_free(g);
}
END_TEST

START_TEST(foreign_memory_is_not_written) {
    static const double buffer[] = {1, 2};
    int64_t n = 2, stride = 1;
    ct_tensor *p = ct_tensor_over(CT_F64, 1, &n, &stride, 0, buffer, 2, NULL, NULL), *g = T1(1, 1);
    ct_optim *optim = ct_sgd_new(NULL);
    step_ok(optim, p, g);
    ck_assert(buffer[0] == 1 && buffer[1] == 2);
    EXPECT("the parameter", p, 1e-15, 0.99, 1.99);
    ct_optim_free(optim);
    ct_free(g);
}
END_TEST

// p - 0.5 p: the gradient is read as it was, though it is the parameter itself, or a view of it.
START_TEST(a_gradient_may_share_with_the_parameter) {
    struct ct_sgd_options o = ct_sgd_options_init();
    o.lr = 0.5;
    ct_optim *optim = ct_sgd_new(&o);
    ct_tensor *p = T1(1, 2, 4);
    step_ok(optim, p, p);
    EXPECT("by itself", ct_copy(p), 0, 0.5, 1, 2);
    ct_tensor *turned = ct_flip(p, 0);
    step_ok(optim, p, turned);
    EXPECT("by its mirror image", p, 0, -0.5, 0.5, 1.75);
    ct_free(turned);
    ct_optim_free(optim);
}
END_TEST

START_TEST(several_parameters_of_both_types) {
    ct_tensor *p[] = {T1(1, 2), ct_ones(CT_F32, 0, NULL), ct_zeros(CT_F32, 2, (int64_t[]){0, 3})};
    ct_tensor *g[] = {T1(1, -1), ct_ones(CT_F32, 0, NULL), ct_copy(p[2])};
    ct_optim *optim = ct_sgd_new(NULL);
    const ct_tensor *grads[] = {g[0], g[1], g[2]};
    ck_assert_int_eq(ct_optim_step(optim, 3, p, grads), CT_OK);
    EXPECT("f64", p[0], 1e-15, 0.99, 2.01);
    EXPECT("f32", p[1], 1e-7, 0.99);
    ct_optim_free(optim);
    ct_free(p[2]);
    for (int i = 0; i < 3; i++)
        ct_free(g[i]);
}
END_TEST

// ---- all or nothing

static const struct {
    const char *what;
    ct_status code;
    const char *text;
} bad_steps[] = {
    {"shape", CT_ESHAPE, "parameter 1 has the shape [2] and its gradient [3]"},
    {"rank", CT_ESHAPE, "parameter 1 has the shape [2] and its gradient [1, 2]"},
    {"dtype", CT_EDTYPE, "the gradient of parameter 1 is of f32 and not of f64"},
    {"integer", CT_EDTYPE, "parameter 1 is of i64"},
    {"twice", CT_EINVAL, "parameters 0 and 1 are the same tensor"},
    {"fewer", CT_EINVAL, "this optimiser has 2 parameters and 1 were given"},
    {"another", CT_ESHAPE, "parameter 1 had the shape [2] and has [3] now"},
    {"type later", CT_EDTYPE, "parameter 1 was of f64 and is of f32 now"},
    {"NULL", CT_EINVAL, ""},
    {"none", CT_EINVAL, "there are no parameters"},
};

static ct_status bad_step(int k, ct_optim *optim, ct_tensor *const p[2],
                          const ct_tensor *const g[2]) {
    int64_t two = 2, row[] = {1, 2};
    ct_tensor *odd = k == 0 || k == 6 ? T1(1, 2, 3)
                     : k == 1         ? ct_ones(CT_F64, 2, row)
                     : k == 3         ? ct_ones(CT_I64, 1, &two)
                                      : ct_ones(CT_F32, 1, &two);
    ct_tensor *params[] = {p[0], k == 3 || k == 6 || k == 7 ? odd
                                 : k == 4                   ? p[0]
                                 : k == 8                   ? NULL
                                                            : p[1]};
    const ct_tensor *grads[] = {g[0], k <= 3 || k == 6 || k == 7 ? odd : g[1]};
    ct_status status = ct_optim_step(optim, k == 5 ? 1 : k == 9 ? 0 : 2, params, grads);
    ct_free(odd);
    return status;
}

START_TEST(a_bad_step_changes_nothing) {
    bool fresh = _i & 1; // before the first step, or after it
    int k = _i >> 1;
    if (fresh && k >= 5 && k <= 7)
        return; // these are mistakes only later
    ct_tensor *p[] = {T1(1, 2), T1(3, 4)}, *g[] = {T1(1, 1), T1(-1, 1)};
    const ct_tensor *grads[] = {g[0], g[1]};
    struct ct_sgd_options o = ct_sgd_options_init();
    o.momentum = 0.9;
    ct_optim *optim = ct_sgd_new(&o), *other = ct_sgd_new(&o);
    ct_tensor *q[] = {ct_copy(p[0]), ct_copy(p[1])};
    if (!fresh)
        ck_assert(!ct_optim_step(optim, 2, p, grads) && !ct_optim_step(other, 2, q, grads));
    ct_error_clear();
    ck_assert_msg(bad_step(k, optim, p, grads) == bad_steps[k].code, "%s", bad_steps[k].what);
    expect_error(bad_steps[k].code, bad_steps[k].text);
    ck_assert(ct_optim_steps(optim) == (fresh ? 0 : 1));
    for (int t = 0; t < 2; t++) // the state is as it was, too
        ck_assert(!ct_optim_step(optim, 2, p, grads) && !ct_optim_step(other, 2, q, grads));
    for (int i = 0; i < 2; i++) {
        ck_assert(same_bits(p[i], q[i]));
        ct_free(p[i]);
        ct_free(q[i]);
        ct_free(g[i]);
    }
    ct_optim_free(optim);
    ct_optim_free(other);
}
END_TEST

START_TEST(a_coefficient_has_to_fit_the_item_type) {
    struct ct_sgd_options o = ct_sgd_options_init();
    o.lr = 1e200;
    ct_optim *optim = ct_sgd_new(&o);
    ct_tensor *p = ct_ones(CT_F32, 0, NULL), *g = ct_copy(p);
    const ct_tensor *grad = g;
    ck_assert_int_eq(ct_optim_step(optim, 1, &p, &grad), CT_EDOMAIN);
    expect_error(CT_EDOMAIN, "1e+200, which does not fit f32");
    ck_assert(ct_item(p) == 1 && ct_optim_steps(optim) == 0);
    ct_optim_free(optim);
    ct_free(p);
    ct_free(g);
}
END_TEST

static bool own_memory(void) {
    if (!make_memory_scarce()) {
        ct_test_skip("the allocator is in use already (CK_FORK=no)");
        return false;
    }
    return true;
}

// Shared parameters and strided gradients, so that every kind of allocation is needed.
static void step_without_memory(bool fresh) {
    ct_tensor *p[] = {T1(1, 2), T1(3, 4)}, *copy[] = {ct_copy(p[0]), ct_copy(p[1])};
    ct_tensor *row = T1(5, 6), *g = ct_flip(row, 0);
    const ct_tensor *grads[] = {g, g};
    ct_optim *optim = ct_adam_new(NULL), *other = ct_adam_new(NULL);
    ct_tensor *q[] = {ct_compact(p[0]), ct_compact(p[1])};
    if (!fresh)
        ck_assert(!ct_optim_step(optim, 2, p, grads) && !ct_optim_step(other, 2, q, grads));
    for (int i = 0; i < 2; i++) {
        ct_free(copy[i]);
        copy[i] = ct_copy(p[i]);
    }
    int failures = 0;
    for (long n = 0;; n++, failures++) {
        size_t live = ct_live_blocks();
        allocations_left = n;
        ct_status status = ct_optim_step(optim, 2, p, grads);
        allocations_left = -1;
        if (status == CT_OK)
            break;
        ck_assert_int_eq(status, CT_ENOMEM);
        expect_error(CT_ENOMEM, "memory");
        ck_assert(ct_optim_steps(optim) == (fresh ? 0 : 1));
        for (int i = 0; i < 2; i++)
            ck_assert(same_bits(p[i], copy[i]));
        // A parameter that was made private stays so; nothing else may be kept.
        ck_assert(ct_live_blocks() <= live + 2);
    }
    ck_assert_int_gt(failures, fresh ? 5 : 3);
    ck_assert_int_eq(ct_optim_step(other, 2, q, grads), CT_OK);
    for (int i = 0; i < 2; i++) {
        ck_assert(same_bits(p[i], q[i]));
        ct_free(p[i]);
        ct_free(q[i]);
        ct_free(copy[i]);
    }
    ct_free(row);
    ct_free(g);
    ct_optim_free(optim);
    ct_optim_free(other);
    ck_assert(ct_live_blocks() == 0);
}

START_TEST(without_memory_nothing_changes) {
    if (own_memory())
        step_without_memory(_i);
}
END_TEST

START_TEST(an_optimiser_without_memory_is_null) {
    if (!own_memory())
        return;
    allocations_left = 0;
    ck_assert(!ct_sgd_new(NULL) && !ct_adam_new(NULL));
    expect_error(CT_ENOMEM, "memory");
}
END_TEST

// ---- from a tape

// d/dp sum(p p c) = 2 p c
static ct_var loss_of(ct_tape *tape, ct_var p, double c) {
    return ct_var_sum(ct_var_mul(ct_var_mul(p, p), ct_constant_of(tape, CT_F64, c)), CT_ALL, false);
}

START_TEST(a_step_from_a_tape_writes_in_place) {
    ct_tape *tape = ct_tape_new();
    ct_tensor *p = T1(1, 2);
    const void *before = ct_data(p);
    struct ct_sgd_options o = ct_sgd_options_init();
    o.lr = 0.25;
    ct_optim *optim = ct_sgd_new(&o);
    for (int t = 0; t < 2; t++) {
        ct_mark mark = ct_tape_mark(tape);
        ct_var x = ct_leaf(tape, p, "p"), dx;
        ck_assert_int_eq(ct_grad(loss_of(tape, x, 1), ct_var_null(), 1, &x, &dx), CT_OK);
        ck_assert_msg(!ct_optim_step_tape(optim, 1, &p, &x, &dx), "%s", ct_error()->message);
        ck_assert(ct_data(p) == before);
        ck_assert_ptr_null(ct_value(x));
        ck_assert_int_eq(ct_tape_status(tape), CT_ESTALE);
        ck_assert_int_eq(ct_tape_rewind(tape, mark), CT_OK);
    }
    EXPECT("after two steps", p, 0, 0.25, 0.5);
    ct_optim_free(optim);
    ct_tape_free(tape);
}
END_TEST

START_TEST(a_tape_in_error_cannot_step) {
    ct_tape *tape = ct_tape_new();
    ct_tensor *p = T1(1, 2), *q = T1(1, 2, 3);
    ct_var x = ct_leaf(tape, p, "p"), y = ct_var_mul(x, ct_constant(tape, q, NULL)), dx = y;
    ct_grad(ct_var_sum(y, CT_ALL, false), ct_var_null(), 1, &x, &dx);
    ct_optim *optim = ct_sgd_new(NULL);
    ck_assert_int_eq(ct_optim_step_tape(optim, 1, &p, &x, &dx), CT_EINVAL);
    expect_error(CT_EINVAL, "a tape in error cannot step");
    expect_error(CT_EINVAL, "do not broadcast");
    ck_assert(ct_optim_steps(optim) == 0);
    EXPECT("unchanged", p, 0, 1, 2);
    ct_free(q);
    ct_optim_free(optim);
    ct_tape_free(tape);
}
END_TEST

// Where no path leads, and where the gradient is a broadcast: zero strides.
START_TEST(gradients_without_storage_of_their_own) {
    ct_tape *tape = ct_tape_new();
    ct_tensor *p[] = {T1(1, 2), T1(3, 4)};
    ct_var x[] = {ct_leaf(tape, p[0], "a"), ct_leaf(tape, p[1], "b")}, dx[2];
    ck_assert_int_eq(ct_grad(ct_var_sum(x[0], CT_ALL, false), ct_var_null(), 2, x, dx), CT_OK);
    ct_optim *optim = ct_sgd_new(NULL);
    ck_assert_msg(!ct_optim_step_tape(optim, 2, p, x, dx), "%s", ct_error()->message);
    EXPECT("ones", p[0], 1e-15, 0.99, 1.99);
    EXPECT("no path", p[1], 0, 3, 4);
    ct_optim_free(optim);
    ct_tape_free(tape);
}
END_TEST

// d/da sum(a . b) along b as cotangent of a: the gradient is a leaf itself, or a view of one.
START_TEST(a_gradient_may_be_a_leaf_that_moves) {
    ct_tape *tape = ct_tape_new();
    ct_tensor *p[] = {T1(1, 2), T1(3, 4)};
    ct_var x[] = {ct_leaf(tape, p[0], "a"), ct_leaf(tape, p[1], "b")}, dx[2];
    ck_assert_int_eq(ct_grad(x[0], x[1], 2, x, dx), CT_OK);
    dx[1] = x[0];
    struct ct_sgd_options o = ct_sgd_options_init();
    o.lr = 0.5;
    ct_optim *optim = ct_sgd_new(&o);
    ck_assert_msg(!ct_optim_step_tape(optim, 2, p, x, dx), "%s", ct_error()->message);
    EXPECT("a - b/2", p[0], 0, -0.5, 0);
    EXPECT("b - a/2", p[1], 0, 2.5, 3);
    ct_optim_free(optim);
    ct_tape_free(tape);
}
END_TEST

START_TEST(variables_of_a_step_are_checked) {
    ct_tape *tape = ct_tape_new(), *other = ct_tape_new();
    ct_tensor *p = T1(1, 2);
    ct_var x = ct_leaf(tape, p, "p"), y = ct_leaf(other, p, "p"), null = ct_var_null();
    ct_optim *optim = ct_sgd_new(NULL);
    ck_assert_int_eq(ct_optim_step_tape(optim, 1, &p, &x, &null), CT_EINVAL);
    expect_error(CT_EINVAL, "the gradient of parameter 0 is a null variable");
    ck_assert_int_eq(ct_optim_step_tape(optim, 1, &p, &null, &x), CT_EINVAL);
    expect_error(CT_EINVAL, "the leaf of parameter 0 is a null variable");
    ck_assert_int_eq(ct_optim_step_tape(optim, 1, &p, &x, &y), CT_EINVAL);
    expect_error(CT_EINVAL, "the gradient of parameter 0 is of another tape");
    ct_mark empty = {0};
    ct_tape_rewind(tape, empty);
    ck_assert_int_eq(ct_optim_step_tape(optim, 1, &p, &x, &x), CT_ESTALE);
    ck_assert(ct_optim_steps(optim) == 0);
    EXPECT("unchanged", p, 0, 1, 2);
    ct_optim_free(optim);
    ct_tape_free(tape);
    ct_tape_free(other);
}
END_TEST

START_TEST(a_step_of_many_parameters) {
    enum { N = 50 };
    ct_tape *tape = ct_tape_new();
    ct_tensor *p[N];
    ct_var x[N], dx[N], sum = ct_constant_of(tape, CT_F64, 0);
    for (int i = 0; i < N; i++) {
        p[i] = T1(i, -i);
        x[i] = ct_leaf(tape, p[i], NULL);
        sum = ct_var_add(sum, loss_of(tape, x[i], 1));
    }
    ck_assert_int_eq(ct_grad(sum, ct_var_null(), N, x, dx), CT_OK);
    struct ct_sgd_options o = ct_sgd_options_init();
    o.lr = 0.25;
    ct_optim *optim = ct_sgd_new(&o);
    ck_assert_int_eq(ct_optim_step_tape(optim, N, p, x, dx), CT_OK);
    for (int i = 0; i < N; i++)
        EXPECT("halved", p[i], 0, i / 2.0, -i / 2.0);
    ct_optim_free(optim);
    ct_tape_free(tape);
}
END_TEST

// ---- threads

static uint64_t digest(const ct_tensor *t) {
    const unsigned char *bytes = ct_data(t);
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < ct_count(t) * ct_dtype(t)->size; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3;
    return hash;
}

static uint64_t large_step(const struct optim_case *c) {
    struct draw draw = {7};
    int64_t n = 300007;
    ct_tensor *p = draw_tensor(&draw, CT_F32, 1, &n, -1, 1),
              *g = draw_tensor(&draw, CT_F32, 1, &n, -1, 1);
    ct_optim *optim = optim_of_case(c);
    for (int t = 0; t < 2; t++)
        step_ok(optim, p, g);
    uint64_t hash = digest(p);
    ct_optim_free(optim);
    ct_free(p);
    ct_free(g);
    return hash;
}

// The number of threads freezes at first use: a process for each.
static uint64_t in_process(const char *threads, const struct optim_case *c) {
    int ends[2];
    ck_assert(pipe(ends) == 0);
    pid_t child = fork();
    ck_assert(child >= 0);
    if (child == 0) {
        setenv("CT_NUM_THREADS", threads, 1);
        uint64_t hash = large_step(c);
        _exit(write(ends[1], &hash, sizeof hash) != sizeof hash);
    }
    uint64_t hash = 0;
    ck_assert(read(ends[0], &hash, sizeof hash) == sizeof hash);
    int status;
    ck_assert(waitpid(child, &status, 0) == child && status == 0);
    close(ends[0]);
    close(ends[1]);
    return hash;
}

START_TEST(threads_do_not_change_a_bit) {
    const struct optim_case *c = &optim_cases[_i];
    uint64_t one = in_process("1", c);
    ck_assert(in_process("2", c) == one);
    ck_assert(in_process("3", c) == one);
}
END_TEST

// After each test: nothing that the library gave out is left.
static void no_block_is_left(void) {
    ck_assert_uint_eq(ct_live_blocks(), 0);
}

Suite *suite_optim_steps(void) {
    Suite *s = suite_create("optim_steps");
    TCase *tc = tcase_create("writing");
    tcase_add_checked_fixture(tc, NULL, no_block_is_left);
    tcase_add_test(tc, a_parameter_alone_is_written_in_place);
    tcase_add_test(tc, a_copy_of_a_parameter_does_not_change);
    tcase_add_test(tc, foreign_memory_is_not_written);
    tcase_add_test(tc, a_gradient_may_share_with_the_parameter);
    tcase_add_test(tc, several_parameters_of_both_types);
    suite_add_tcase(s, tc);

    tc = tcase_create("all or nothing");
    tcase_add_checked_fixture(tc, NULL, no_block_is_left);
    tcase_add_loop_test(tc, a_bad_step_changes_nothing, 0, 2 * (int)COUNT(bad_steps));
    tcase_add_test(tc, a_coefficient_has_to_fit_the_item_type);
    tcase_add_loop_test(tc, without_memory_nothing_changes, 0, 2);
    tcase_add_test(tc, an_optimiser_without_memory_is_null);
    suite_add_tcase(s, tc);

    tc = tcase_create("tape");
    tcase_add_checked_fixture(tc, NULL, no_block_is_left);
    tcase_add_test(tc, a_step_from_a_tape_writes_in_place);
    tcase_add_test(tc, a_tape_in_error_cannot_step);
    tcase_add_test(tc, gradients_without_storage_of_their_own);
    tcase_add_test(tc, a_gradient_may_be_a_leaf_that_moves);
    tcase_add_test(tc, variables_of_a_step_are_checked);
    tcase_add_test(tc, a_step_of_many_parameters);
    suite_add_tcase(s, tc);

    tc = tcase_create("threads");
    tcase_add_checked_fixture(tc, NULL, no_block_is_left);
    tcase_add_loop_test(tc, threads_do_not_change_a_bit, 0, OPTIM_CASES);
    suite_add_tcase(s, tc);
    return s;
}
