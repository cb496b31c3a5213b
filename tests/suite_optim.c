#include <float.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "case_tools.h"
#include "ct_test.h"
#include "optim/optim_impl.h"
#include "optim_cases.h"
#include "tensor/ct_alloc.h"

Suite *suite_optim(void);

static const ct_scalar *real(int i) {
    return i ? CT_F64 : CT_F32;
}

// One step of one f64 parameter of one item.
static double step_one(ct_optim *optim, double p0, double g0) {
    ct_tensor *p = T1(p0), *g = T1(g0);
    step_ok(optim, p, g);
    double p1 = ct_item(p);
    ct_free(p);
    ct_free(g);
    ct_optim_free(optim);
    return p1;
}

// ---- options

#define SGD(field)  false, offsetof(struct ct_sgd_options, field)
#define ADAM(field) true, offsetof(struct ct_adam_options, field)

static const struct {
    bool is_adam;
    size_t field;
    double value;
    const char *text;
} bad_options[] = {
    {SGD(lr), -1, "the learning rate lr has to be finite and at least 0, not -1"},
    {SGD(lr), QNAN, "learning rate lr"},
    {SGD(lr), INF, "learning rate lr"},
    {SGD(momentum), -0.5, "the momentum has to be finite and at least 0, not -0.5"},
    {SGD(momentum), QNAN, "momentum"},
    {SGD(dampening), INF, "the dampening has to be finite, not inf"},
    {SGD(weight_decay), -1e-3, "the weight_decay has to be finite and at least 0, not -0.001"},
    {ADAM(lr), -1, "learning rate lr"},
    {ADAM(beta1), 1, "the beta1 has to be in [0, 1), not 1"},
    {ADAM(beta1), -0.1, "beta1"},
    {ADAM(beta2), 1, "the beta2 has to be in [0, 1), not 1"},
    {ADAM(beta2), QNAN, "beta2"},
    {ADAM(eps), -1e-8, "the eps has to be finite and at least 0, not -1e-08"},
    {ADAM(weight_decay), INF, "weight_decay"},
};

START_TEST(an_option_out_of_range_is_named) {
    struct ct_sgd_options sgd = ct_sgd_options_init();
    struct ct_adam_options adam = ct_adam_options_init();
    bool is_adam = bad_options[_i].is_adam;
    char *options = is_adam ? (char *)&adam : (char *)&sgd;
    memcpy(options + bad_options[_i].field, &bad_options[_i].value, sizeof(double));
    ck_assert_ptr_null(is_adam ? ct_adam_new(&adam) : ct_sgd_new(&sgd));
    expect_error(CT_EDOMAIN, bad_options[_i].text);
}
END_TEST

START_TEST(nesterov_needs_momentum_and_no_dampening) {
    struct ct_sgd_options o = ct_sgd_options_init();
    o.nesterov = true;
    o.momentum = _i ? 0.9 : 0;
    o.dampening = _i ? 0.1 : 0;
    ck_assert_ptr_null(ct_sgd_new(&o));
    expect_error(CT_EDOMAIN, "nesterov needs momentum > 0 and dampening = 0, not");
}
END_TEST

START_TEST(defaults) {
    ct_optim *sgd = ct_sgd_new(NULL), *adam = ct_adam_new(NULL);
    ck_assert(sgd && adam && ct_optim_steps(sgd) == 0 && ct_optim_steps(NULL) == 0);
    ck_assert(step_one(sgd, 1, 0.5) == fma(-0.01, 0.5, 1));
    ck_assert_double_eq_tol(step_one(adam, 1, 0.5), 0.999, 1e-10);
}
END_TEST

// A caller from before the later fields existed: they keep their defaults.
START_TEST(a_shorter_struct_means_defaults) {
    struct ct_adam_options o = ct_adam_options_init();
    o.size = offsetof(struct ct_adam_options, beta1);
    o.lr = 0.1;
    o.beta1 = 7;
    o.eps = -1;
    ct_optim *optim = ct_adam_new(&o);
    ck_assert_msg(optim != NULL, "%s", ct_error()->message);
    ct_optim_free(optim);
    o.size = 0;
    ck_assert_ptr_null(ct_adam_new(&o));
    expect_error(CT_EINVAL, "begin with");
}
END_TEST

START_TEST(the_learning_rate_can_change) {
    ct_optim *optim = ct_sgd_new(NULL);
    ck_assert_int_eq(ct_optim_set_lr(optim, 0.5), CT_OK);
    ck_assert_int_eq(ct_optim_set_lr(optim, QNAN), CT_EDOMAIN);
    expect_error(CT_EDOMAIN, "learning rate");
    ck_assert(step_one(optim, 1, 1) == 0.5);
    ck_assert_int_eq(ct_optim_set_lr(NULL, 1), CT_EDOMAIN); // keeps the first error
}
END_TEST

// ---- the fused step is its decomposition

enum { ITEMS = 1003 };

static ct_tensor *special_items(struct draw *draw, const ct_scalar *scalar) {
    static const double values[] = {0,     -0.0,   1,        -1,       INF,   -INF,
                                    QNAN,  1e-38,  -1e-38,   3e38,     1e-45, 1e-300,
                                    1e300, 1e-320, 0x1p-126, 0x1p-127, 1e-20, 1e19};
    double items[ITEMS];
    for (int i = 0; i < ITEMS; i++) {
        double x = values[draw_bits(draw) % COUNT(values)];
        items[i] = scalar == CT_F32 ? (double)(float)x : x;
    }
    return ct_from_doubles(scalar, 1, (int64_t[]){ITEMS}, ITEMS, items);
}

static ct_tensor *some_items(struct draw *draw, const ct_scalar *scalar, bool special) {
    return special ? special_items(draw, scalar)
                   : draw_tensor(draw, scalar, 1, (int64_t[]){ITEMS}, -2, 2);
}

static void compare_with_parts(const struct optim_case *c, const ct_scalar *scalar, bool special) {
    struct draw draw = {special ? 1 : 2};
    ct_tensor *p = some_items(&draw, scalar, special), *q = ct_copy(p);
    ct_optim *optim = optim_of_case(c);
    struct parts parts = {0};
    for (int t = 1; t <= 4; t++) {
        ct_tensor *g = some_items(&draw, scalar, special);
        step_ok(optim, p, g);
        q = step_in_parts(&parts, c, t, q, g);
        ck_assert_msg(same_bits(p, q), "%s differs from its parts at step %d", c->name, t);
        const ct_tensor *state[] = {parts.first, parts.second, parts.largest};
        for (int k = 0; k < optim->slots; k++)
            ck_assert_msg(same_bits(optim->bound[0].state[k], state[k]),
                          "%s: state %d differs from its parts at step %d", c->name, k, t);
        ct_free(g);
    }
    ck_assert(ct_optim_steps(optim) == 4);
    free_parts(&parts);
    ct_optim_free(optim);
    ct_free(p);
    ct_free(q);
}

START_TEST(a_step_equals_its_parts_on_ordinary_values) {
    compare_with_parts(&optim_cases[_i >> 1], real(_i & 1), false);
}
END_TEST

START_TEST(a_step_equals_its_parts_on_special_values) {
    compare_with_parts(&optim_cases[_i >> 1], real(_i & 1), true);
}
END_TEST

// Every length, so that the last lanes are seen in each number.
START_TEST(no_item_depends_on_where_it_lies) {
    const struct optim_case *c = &optim_cases[_i >> 1];
    struct draw draw = {3};
    ct_tensor *p0 = some_items(&draw, real(_i & 1), false),
              *g0 = some_items(&draw, real(_i & 1), false);
    ct_tensor *whole = ct_copy(p0);
    ct_optim *optim = optim_of_case(c);
    step_ok(optim, whole, g0);
    ct_optim_free(optim);
    for (int64_t n = 0; n <= 35; n++) {
        ct_tensor *p = ct_slice(p0, 0, n, 2 * n, 1), *g = ct_slice(g0, 0, n, 2 * n, 1);
        ct_tensor *expected = ct_slice(whole, 0, n, 2 * n, 1);
        optim = optim_of_case(c);
        step_ok(optim, p, g);
        ck_assert_msg(same_bits(p, expected), "%s on %d items", c->name, (int)n);
        ct_optim_free(optim);
        ct_free(p);
        ct_free(g);
        ct_free(expected);
    }
    ct_free(p0);
    ct_free(g0);
    ct_free(whole);
}
END_TEST

START_TEST(gradients_of_any_layout_give_the_same_bits) {
    const struct optim_case *c = &optim_cases[_i / LAYOUT_COUNT];
    struct draw draw = {4};
    int64_t shape[] = {7, 9};
    ct_tensor *p = draw_tensor(&draw, CT_F32, 2, shape, -1, 1), *q = ct_copy(p);
    ct_tensor *g = draw_tensor(&draw, CT_F32, 2, shape, -1, 1);
    ct_tensor *laid = lay_out(g, (enum layout)(_i % LAYOUT_COUNT)), *dense = ct_compact(laid);
    ct_optim *a = optim_of_case(c), *b = optim_of_case(c);
    for (int t = 0; t < 3; t++) {
        step_ok(a, p, laid);
        step_ok(b, q, dense);
    }
    ck_assert(same_bits(p, q));
    ct_optim_free(a);
    ct_optim_free(b);
    ct_free(p);
    ct_free(q);
    ct_free(g);
    ct_free(laid);
    ct_free(dense);
}
END_TEST

START_TEST(parameters_of_any_layout_are_made_dense) {
    struct draw draw = {5};
    int64_t shape[] = {7, 9};
    ct_tensor *p = draw_tensor(&draw, CT_F64, 2, shape, -1, 1),
              *g = draw_tensor(&draw, CT_F64, 2, shape, -1, 1);
    ct_tensor *laid = lay_out(p, (enum layout)_i), *dense = ct_compact(laid);
    ct_optim *a = ct_adam_new(NULL), *b = ct_adam_new(NULL);
    step_ok(a, laid, g);
    step_ok(b, dense, g);
    ck_assert(ct_is_dense(laid) && same_bits(laid, dense));
    ct_optim_free(a);
    ct_optim_free(b);
    ct_free(p);
    ct_free(g);
    ct_free(laid);
    ct_free(dense);
}
END_TEST

static int64_t ulps(double a, double b) {
    int64_t x, y;
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    return x > y ? x - y : y - x;
}

START_TEST(powers_are_correct_to_the_last_bit_or_so) {
    static const double bases[] = {0, 0.5, 0.9, 0.99, 0.999, 0.9999, 1 - 0x1p-53, 0.1};
    for (uint64_t t = 1; t < 2000000; t += 1 + t / 7) {
        double mine = ct__power(bases[_i], t);
        double oracle = (double)powl((long double)bases[_i], (long double)t);
        ck_assert_msg(mine == oracle || fabs(oracle) < DBL_MIN || ulps(mine, oracle) <= 1,
                      "%g^%d: %a, not %a", bases[_i], (int)t, mine, oracle);
    }
}
END_TEST

// ---- values

// B124, B126 and the zero gradient of B128.
START_TEST(eps_comes_after_the_corrected_root) {
    struct ct_adam_options o = ct_adam_options_init();
    o.lr = 0.1;
    o.eps = 1e-3;
    ck_assert_double_eq_tol(step_one(ct_adam_new(&o), 0, 1e-6), -9.99000999e-05, 1e-13);
}
END_TEST

START_TEST(decay_of_adam_and_adamw) {
    struct ct_adam_options o = ct_adam_options_init();
    o.lr = 0.1;
    o.weight_decay = 0.1;
    ck_assert_double_eq_tol(step_one(ct_adam_new(&o), 2, 0.5), 1.9000000014, 1e-10);
    o.decoupled = true;
    ck_assert_double_eq_tol(step_one(ct_adam_new(&o), 2, 0.5), 1.880000002, 1e-9);
}
END_TEST

START_TEST(the_decay_of_adamw_follows_the_learning_rate) {
    struct ct_adam_options o = ct_adamw_options_init();
    o.weight_decay = 0.5;
    ct_optim *optim = ct_adam_new(&o);
    ck_assert_int_eq(ct_optim_set_lr(optim, 0.25), CT_OK);
    ck_assert(step_one(optim, 2, 0) == 1.75);
}
END_TEST

// B125: the first step is number 1, and its corrections are finite.
START_TEST(steps_count_from_one) {
    ct_tensor *p = T1(1, -2), *g = T1(3, -4);
    ct_optim *optim = ct_adam_new(NULL);
    for (uint64_t t = 1; t <= 3; t++) {
        step_ok(optim, p, g);
        ck_assert(ct_optim_steps(optim) == t);
    }
    EXPECT("three steps of Adam", p, 1e-9, 0.997, -1.997);
    ct_optim_free(optim);
    ct_free(g);
}
END_TEST

START_TEST(a_zero_gradient_moves_nothing) {
    ct_optim *optim = optim_of_case(&optim_cases[_i]);
    ct_tensor *p = T1(2, -3, 0), *g = T1(0, 0, 0), *q = ct_compact(p);
    step_ok(optim, p, g);
    double shrunk = optim_cases[_i].adam.decoupled
                        ? 1 - optim_cases[_i].lr * optim_cases[_i].adam.weight_decay
                        : 1;
    if (optim_cases[_i].adam.weight_decay == 0 && optim_cases[_i].sgd.weight_decay == 0)
        ck_assert_msg(same_bits(p, q), "%s", optim_cases[_i].name);
    else if (shrunk != 1)
        EXPECT("shrunk", ct_copy(p), 1e-15, 2 * shrunk, -3 * shrunk, 0);
    ct_optim_free(optim);
    ct_free(p);
    ct_free(q);
    ct_free(g);
}
END_TEST

// As PyTorch does, and as the header says.
START_TEST(without_eps_nothing_over_nothing_is_nan) {
    struct ct_adam_options o = ct_adam_options_init();
    o.eps = 0;
    ck_assert(isnan(step_one(ct_adam_new(&o), 1, 0)));
    ck_assert_double_eq_tol(step_one(ct_adam_new(&o), 1, 1e-30), 0.999, 1e-12);
}
END_TEST

START_TEST(a_nan_poisons_its_own_item_alone) {
    const struct optim_case *c = &optim_cases[_i >> 1];
    const ct_scalar *scalar = real(_i & 1);
    struct draw draw = {6};
    int64_t n = 41;
    ct_tensor *p = draw_tensor(&draw, scalar, 1, &n, -1, 1), *q = ct_copy(p);
    ct_tensor *g = draw_tensor(&draw, scalar, 1, &n, -1, 1), *bad = ct_copy(g);
    int64_t at[] = {_i % n};
    ck_assert_int_eq(ct_set(bad, 1, at, QNAN), CT_OK);
    ct_optim *a = optim_of_case(c), *b = optim_of_case(c);
    step_ok(a, p, bad);
    step_ok(b, q, g);
    for (int64_t i = 0; i < n; i++) {
        double x, y;
        ck_assert(!ct_get(p, 1, &i, &x) && !ct_get(q, 1, &i, &y));
        ck_assert_msg(i == at[0] ? isnan(x) : x == y, "%s, item %d", c->name, (int)i);
    }
    ct_optim_free(a);
    ct_optim_free(b);
    ct_free(p);
    ct_free(q);
    ct_free(g);
    ct_free(bad);
}
END_TEST

// A moment that decays without end stays at +0 once it is there: no subnormal is ever stored.
START_TEST(small_state_becomes_zero) {
    struct ct_sgd_options o = ct_sgd_options_init();
    o.momentum = 0.5;
    ct_optim *optim = ct_sgd_new(&o);
    ct_tensor *p = ct_zeros(CT_F32, 0, NULL), *g = ct_from_double(CT_F32, -0x1p-124);
    ct_tensor *zero = ct_zeros(CT_F32, 0, NULL);
    step_ok(optim, p, g);
    static const double expected[] = {-0x1p-125, -0x1p-126, 0, 0};
    for (int t = 0; t < 4; t++) {
        step_ok(optim, p, zero);
        double buffer = ct_item(optim->bound[0].state[0]);
        ck_assert(buffer == expected[t] && (buffer != 0 || !signbit(buffer)));
    }
    ct_optim_free(optim);
    ct_free(p);
    ct_free(g);
    ct_free(zero);
}
END_TEST

// ---- PyTorch: B128 (12 steps with zero, tiny and huge gradients), B129 (momentum, dampening, Nesterov, decay)

START_TEST(golden_runs_agree) {
    golden_optim_run(_i);
}
END_TEST

// After each test: nothing that the library gave out is left.
static void no_block_is_left(void) {
    ck_assert_uint_eq(ct_live_blocks(), 0);
}

static void add_values(Suite *s) {
    TCase *tc = tcase_create("values");
    tcase_add_checked_fixture(tc, NULL, no_block_is_left);
    tcase_add_test(tc, eps_comes_after_the_corrected_root);
    tcase_add_test(tc, decay_of_adam_and_adamw);
    tcase_add_test(tc, the_decay_of_adamw_follows_the_learning_rate);
    tcase_add_test(tc, steps_count_from_one);
    tcase_add_loop_test(tc, a_zero_gradient_moves_nothing, 0, OPTIM_CASES);
    tcase_add_test(tc, without_eps_nothing_over_nothing_is_nan);
    tcase_add_loop_test(tc, a_nan_poisons_its_own_item_alone, 0, 2 * OPTIM_CASES);
    tcase_add_test(tc, small_state_becomes_zero);
    tcase_add_loop_test(tc, powers_are_correct_to_the_last_bit_or_so, 0, 8);
    suite_add_tcase(s, tc);

    tc = tcase_create("golden");
    tcase_add_checked_fixture(tc, NULL, no_block_is_left);
    tcase_add_loop_test(tc, golden_runs_agree, 0, golden_optim_count());
    suite_add_tcase(s, tc);

    tc = tcase_create("parts");
    tcase_add_checked_fixture(tc, NULL, no_block_is_left);
    tcase_add_loop_test(tc, a_step_equals_its_parts_on_ordinary_values, 0, 2 * OPTIM_CASES);
    tcase_add_loop_test(tc, a_step_equals_its_parts_on_special_values, 0, 2 * OPTIM_CASES);
    tcase_add_loop_test(tc, no_item_depends_on_where_it_lies, 0, 2 * OPTIM_CASES);
    tcase_add_loop_test(tc, gradients_of_any_layout_give_the_same_bits, 0,
                        OPTIM_CASES * LAYOUT_COUNT);
    tcase_add_loop_test(tc, parameters_of_any_layout_are_made_dense, 0, LAYOUT_COUNT);
    suite_add_tcase(s, tc);
}

Suite *suite_optim(void) {
    Suite *s = suite_create("optim");
    TCase *tc = tcase_create("options");
    tcase_add_checked_fixture(tc, NULL, no_block_is_left);
    tcase_add_loop_test(tc, an_option_out_of_range_is_named, 0, COUNT(bad_options));
    tcase_add_loop_test(tc, nesterov_needs_momentum_and_no_dampening, 0, 2);
    tcase_add_test(tc, defaults);
    tcase_add_test(tc, a_shorter_struct_means_defaults);
    tcase_add_test(tc, the_learning_rate_can_change);
    suite_add_tcase(s, tc);
    add_values(s);
    return s;
}
