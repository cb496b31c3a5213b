/* What listings and labels tell of a node: attributes, numbers about values, norms of gradients. */
#include "dot_tools.h"

#include "autodiff/ct_network.h"
#include "autodiff/ct_var_factor.h"
#include "autodiff/ct_var_ops.h"
#include "autodiff/label.h"
#include "tape_fixture.h"
#include "tensor/ct_make.h"
#include "dual/ct_dual.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_listings(void);

static ct_var drawn(uint64_t seed, int rank, const int64_t *shape, const char *name) {
    struct draw draw = {seed};
    return named_leaf(draw_tensor(&draw, CT_F64, rank, shape, -1, 1), name);
}
#define DRAWN(seed, name, ...)                                                                     \
    drawn(seed, COUNT(((int64_t[]){__VA_ARGS__})), (int64_t[]){__VA_ARGS__}, name)

/* --- attributes --- */

START_TEST(attributes_stand_beside_ops) {
    ct_var x = DRAWN(1, "x", 2, 3, 4), w = DRAWN(2, "w", 4, 5), b = DRAWN(3, "b", 5);
    ct_var_sum(x, 1, false);
    ct_var_sum_axes(x, 2, (int[]){0, -1}, true);
    ct_var_norm(x, 1, 2, false);
    ct_var_logsumexp(x, -1, false);
    ct_var_sum(x, CT_ALL, false);
    ct_var_permute(x, 3, (int[]){2, 0, 1});
    ct_var_slice(x, 2, 1, 4, 2);
    ct_var_flip(x, 2);
    ct_var_softmax(x, 1);
    ct_var_dense(x, w, b, CT_RELU);
    ct_var_dense(x, w, b, CT_IDENTITY);
    ct_var_unfold(x, 2, 3, 1);
    ct_var_unfold(x, 2, 2, 2);
    ct_var_cumsum(x, 0);
    ct_var_mse(x, x, CT_REDUCE_SUM);
    lists(tape, NULL, "summed(0) axis 1 f64[2, 4]\n");
    lists(tape, NULL, "summed(0) axes 0, -1 f64[1, 3, 1]\n");
    lists(tape, NULL, "norm(0) order 2, axis 1 f64[2, 4]\n");
    lists(tape, NULL, "logsumexp(0) axis -1 f64[2, 3]\n");
    lists(tape, NULL, "summed(0) f64[]\n");
    lists(tape, NULL, "permuted(0) axes 2, 0, 1 f64[4, 2, 3]\n");
    lists(tape, NULL, "sliced(0) axis 2 [1:4:2] f64[2, 3, 2]\n");
    lists(tape, NULL, "sliced(0) axis 2 [3::-1] f64[2, 3, 4]\n");
    lists(tape, NULL, "softmax(0) axis 1 f64[2, 3, 4]\n");
    lists(tape, NULL, "dense(0, 1, 2) relu f64[2, 3, 5]\n");
    lists(tape, NULL, "dense(0, 1, 2) f64[2, 3, 5]\n");
    lists(tape, NULL, "windowed(0) axis 2, 3 wide f64[2, 3, 2, 3]\n");
    lists(tape, NULL, "windowed(0) axis 2, 2 wide, step 2 f64[2, 3, 2, 2]\n");
    lists(tape, NULL, "cumsum(0) axis 0 f64[2, 3, 4]\n");
    lists(tape, NULL, "mean_squared(0, 0) sum f64[]\n");
    ct_var_norm(x, 1, 3, false);
    ct_var_norm(x, CT_ALL, 2, false);
    ct_var a = named_leaf(T2(2, 2, 2, 1, 1, 3), "a"), c = named_leaf(T1(1, 2), "c");
    ct_var_solve(a, c);
    ct_var_solve_triangular(a, c, CT_UPPER | CT_TRANSPOSED);
    ct_var_solve_triangular(a, c, CT_LOWER | CT_UNIT_DIAGONAL);
    lists(tape, NULL, "norm(0) order 3, axis 1 f64[2, 4]\n");
    lists(tape, NULL, "norm(0) order 2 f64[]\n");
    lists(tape, NULL, " upper, transposed f64[2");
    lists(tape, NULL, " lower, unit diagonal f64[2");
    struct ct_dot_options options = ct_dot_options_init();
    options.attributes = false;
    lists(tape, &options, "dense(0, 1, 2) f64[2, 3, 5]\n");
    struct text t = draw_tape(tape, NULL);
    text_has(&t, 1, "<B>dense</B><I> </I>relu<BR/>");
    text_has(&t, 1, "<B>sliced</B><I> </I>axis 2 [3::-1]<BR/>");
    free(t.bytes);
}
END_TEST

START_TEST(convolutions_and_pools_say_how_their_windows_lie) {
    ct_var x = DRAWN(1, "x", 1, 2, 8, 8), w = DRAWN(2, "w", 4, 1, 3, 2);
    struct ct_window window = {.stride = {2, 1}, .before = {1, 1}, .dilation = {2, 2}, .groups = 2};
    ct_var_conv(x, w, ct_var_null(), &window);
    ct_var_max_pool(x, (int64_t[]){2, 2}, &(struct ct_window){.stride = {2, 2}});
    ct_var_avg_pool(x, (int64_t[]){3, 2}, NULL, false);
    ct_var_conv_transpose(x, DRAWN(3, "v", 2, 1, 3, 3), ct_var_null(), NULL);
    lists(tape, NULL, " in conv 3x2, stride 2x1, padding 1, dilation 2, groups 2\n");
    lists(tape, NULL, " in max_pool 2x2, stride 2\n");
    lists(tape, NULL, " in avg_pool 3x2\n");
    lists(tape, NULL, " in conv_transpose 3x3\n");
    ct_var n = named_leaf(T1(2, 3), "n"), none = ct_var_null(), q = DRAWN(4, "q", 3, 2);
    ct_var_batch_norm(x, n, n, n, n, 1e-3);
    lists(tape, NULL, " in batch_norm\n");
    ct_scope_begin(tape, "train");
    ct_var_batch_norm_train(w, none, none, 1e-3, NULL, NULL);
    ct_scope_end(tape);
    lists(tape, NULL, " in train/batch_norm\n");
    ct_var_rms_norm(q, none, 1e-3);
    lists(tape, NULL, " in rms_norm\n");
    ct_var_dropout(x, 0.25, 1, 2, 3);
    lists(tape, NULL, " in dropout 0.25\n");
    lists(tape, NULL, "mask");
    ct_var_attention(q, q, q, none);
    lists(tape, NULL, " in attention\n");
    ct_scope_begin(tape, "after"); /* all of them were closed */
    ck_assert_uint_eq(tape->scopes[tape->scope].parent, CT__NO_NODE);
}
END_TEST

/* --- values --- */

static void short_text(double x, char text[64]) {
    struct text t = {0};
    struct ct__sink sink = {.write = add_text, .context = &t};
    ct__put_short(&sink, x);
    ct__sink_end(&sink, "short_text");
    snprintf(text, 64, "%s", t.bytes);
    free(t.bytes);
}

/* What printf makes of a number, with `e-5` for `e-05`. */
static void printf_text(double x, char text[64]) {
    char raw[64];
    snprintf(raw, sizeof raw, "%.4g", x);
    char *e = strchr(raw, 'e');
    if (!e) {
        snprintf(text, 64, "%s", raw);
        return;
    }
    *e = '\0';
    snprintf(text, 64, "%.40se%d", raw, atoi(e + 1));
}

START_TEST(short_numbers_are_those_of_printf) {
    static const double chosen[] = {0.5,     0.1,     -0.1,    1e-4,  9.9995e-5, 1e-5,
                                    -1e-300, 5e-324,  0.99999, 99.95, 999.96,    9999.6,
                                    1.005,   12345.6, 1.5e10,  1e300, -2.5,      0.0001235};
    char mine[64], theirs[64];
    struct draw draw = {9};
    for (int i = 0; i < 20000; i++) {
        double x = i < (int)COUNT(chosen)
                       ? chosen[i]
                       : draw_between(&draw, -1, 1) * pow(10, draw_between(&draw, -20, 20));
        if (fabs(x) < 1e7 && x == trunc(x))
            continue;
        short_text(x, mine);
        printf_text(x, theirs);
        ck_assert_msg(strcmp(mine, theirs) == 0, "%.17g: %s and not %s", x, mine, theirs);
    }
    static const struct {
        double x;
        const char *text;
    } exact[] = {{0, "0"},         {-0.0, "0"},          {1, "1"},
                 {-1797, "-1797"}, {9999999, "9999999"}, {10000000, "1e7"},
                 {QNAN, "nan"},    {INF, "inf"},         {-INF, "-inf"}};
    for (size_t i = 0; i < COUNT(exact); i++) {
        short_text(exact[i].x, mine);
        ck_assert_str_eq(mine, exact[i].text);
    }
}
END_TEST

START_TEST(values_are_summed_up) {
    struct ct_dot_options options = ct_dot_options_init();
    options.values = true;
    named_leaf(T2(2, 3, 0, -1, 2.5, 0, 0, 3), "a");
    named_leaf(T1(4, 4, 4), "b");
    named_leaf(T0(2.5), "c");
    named_leaf(T1(QNAN, 1, INF, -INF), "d");
    named_leaf(T1(QNAN, QNAN), "e");
    named_leaf(T1(1e308, 1e308, 1.5e308), "f");
    named_leaf(ct_zeros(CT_F32, 1, (int64_t[]){0}), "g");
    ct_tensor *whole = ct_arange(CT_I64, 0, 5, 1);
    ct_constant(tape, whole, "h");
    ct_free(whole);
    lists(tape, &options, "\"a\" {-1 to 3, mean 0.75, 50% zeros}\n");
    lists(tape, &options, "\"b\" {all 4}\n");
    lists(tape, &options, "\"c\" {= 2.5}\n");
    lists(tape, &options, "\"d\" {1} NOT FINITE first: 1 nan, 2 infinite of 4\n");
    lists(tape, &options, "\"e\" NOT FINITE first: 2 nan of 2\n");
    lists(tape, &options, "\"f\" {1e308 to 1.5e308, mean 1.167e308}\n");
    lists(tape, &options, "f32[0] \"g\"\n");
    lists(tape, &options, "\"h\" {0 to 4, mean 2, 20% zeros}\n");
    struct text t = draw_tape(tape, &options);
    text_has(&t, 1, ">-1 to 3<BR/>mean 0.75, 50% zeros</FONT>");
    free(t.bytes);
}
END_TEST

START_TEST(small_and_large_shares_of_zeros) {
    struct ct_dot_options options = ct_dot_options_init();
    options.values = true;
    ct_tensor *few = ct_full(CT_F32, 1, (int64_t[]){1000}, 2),
              *most = ct_zeros(CT_F32, 1, (int64_t[]){1000});
    ct_set(few, 1, (int64_t[]){7}, 0);
    ct_set(most, 1, (int64_t[]){7}, 2);
    named_leaf(few, "few");
    named_leaf(most, "most");
    lists(tape, &options, "mean 1.998, <1% zeros}");
    lists(tape, &options, "mean 0.002, >99% zeros}");
    struct text t = draw_tape(tape, &options);
    text_has(&t, 1, "&lt;1% zeros");
    free(t.bytes);
}
END_TEST

/* Of every layout, against loops over a compact copy. */
START_TEST(numbers_do_not_depend_on_layout) {
    struct draw draw = {5};
    for (int layout = 0; layout < LAYOUT_COUNT; layout++) {
        ct_tensor *t = draw_tensor(&draw, CT_F64, 3, (int64_t[]){3, 5, 7}, -1, 1);
        if (layout == LAYOUT_FLIPPED)
            ct_set(t, 3, (int64_t[]){1, 2, 3}, INF);
        ct_tensor *laid = lay_out(t, (enum layout)layout), *dense = ct_compact(laid);
        const double *items = ct_data(dense);
        double sum = 0, square = 0, least = INF;
        size_t bad = ct_count(dense);
        for (size_t i = 0; i < ct_count(dense); i++) {
            bad = bad == ct_count(dense) && !isfinite(items[i]) ? i : bad;
            sum += isfinite(items[i]) ? items[i] : 0;
            square += items[i] * items[i];
            least = items[i] < least ? items[i] : least;
            ck_assert(memcmp(ct__item_at(laid, i), items + i, sizeof *items) == 0);
        }
        struct ct__summary a, b;
        ct__summarise(laid, &a);
        ct__summarise(dense, &b);
        ck_assert(memcmp(&a, &b, sizeof a) == 0);
        ck_assert_uint_eq(ct_first_not_finite(laid), bad);
        ck_assert_double_eq(a.least, least);
        ck_assert_double_eq(a.mean, sum / (double)(a.items - a.infinities));
        if (bad == ct_count(dense))
            ck_assert_double_eq_tol(ct__length_of(laid), sqrt(square), 1e-14);
        else
            ck_assert_double_infinite(ct__length_of(laid));
        ct_free(t), ct_free(laid), ct_free(dense);
    }
}
END_TEST

START_TEST(the_first_that_is_not_finite_is_found_at_every_place) {
    for (int64_t n = 1; n <= 1100; n += n < 132 ? 1 : 97)
        for (int64_t at = 0; at < n; at += n < 40 ? 1 : 37) {
            ct_tensor *t = ct_zeros(CT_F32, 1, &n);
            ct_set(t, 1, &at, QNAN);
            if (at + 1 < n)
                ct_set(t, 1, (int64_t[]){n - 1}, INF);
            ck_assert_uint_eq(ct_first_not_finite(t), (size_t)at);
            ct_set(t, 1, &at, 1);
            ck_assert_uint_eq(ct_first_not_finite(t), (size_t)(at + 1 < n ? n - 1 : n));
            ct_free(t);
        }
    ct_error_clear();
    ck_assert_uint_eq(ct_first_not_finite(NULL), 0);
    ck_assert_int_eq(ct_error()->code, CT_EINVAL);
    ct_error_clear();
}
END_TEST

/* --- gradients --- */

START_TEST(gradients_have_norms) {
    struct ct_dot_options options = ct_dot_options_init();
    options.gradients = true;
    ct_var x = named_leaf(T1(1, 2, 3), "x"), k = named_leaf(T1(3, 4, 0), "k"), dx;
    ct_var y = ct_var_sum(ct_named(ct_var_mul(x, k), "product"), CT_ALL, false);
    struct text before = list_tape(tape, &options);
    text_has(&before, 0, "|gradient|");
    free(before.bytes);
    ct_mark mark = ct_tape_mark(tape);
    ct_grad(y, ct_var_null(), 1, &x, &dx);
    lists(tape, &options, "\"x\" |gradient| 5\n"); /* of (3, 4, 0) */
    lists(tape, &options, "\"product\" |gradient| 1.732\n");
    struct text t = list_tape(tape, &options);
    text_has(&t, 3, "|gradient|"); /* and of y; none for k, which was not asked for */
    free(t.bytes);
    t = draw_tape(tape, &options);
    text_has(&t, 1, ">|gradient| 1.732</FONT>");
    free(t.bytes);
    ct_tape_rewind(tape, mark);
    t = list_tape(tape, &options);
    text_has(&t, 0, "|gradient|");
    free(t.bytes);
    ct_var_exp(x); /* where the gradient's first node stood */
    t = list_tape(tape, &options);
    text_has(&t, 0, "|gradient|");
    free(t.bytes);
}
END_TEST

START_TEST(norms_do_not_overflow_and_the_last_gradient_counts) {
    struct ct_dot_options options = ct_dot_options_init();
    options.gradients = true;
    ct_var x = named_leaf(T1(1, 1), "x"), big = named_leaf(T1(3e300, 4e300), "big"), dx;
    ct_var y = ct_var_sum(ct_var_mul(x, big), CT_ALL, false);
    ct_grad(y, ct_var_null(), 1, &x, &dx);
    lists(tape, &options, "\"x\" |gradient| 5e300\n");
    ct_mark mark = ct_tape_mark(tape);
    ct_tape_rewind(tape, mark); /* to after it: it stays */
    lists(tape, &options, "\"x\" |gradient| 5e300\n");
    ct_var z = ct_var_sum(x, CT_ALL, false);
    ct_grad(z, ct_var_null(), 1, &x, &dx);
    lists(tape, &options, "\"x\" |gradient| 1.414\n");
    ct_tape_rewind(tape, mark); /* the first is not brought back */
    struct text t = list_tape(tape, &options);
    text_has(&t, 0, "|gradient|");
    free(t.bytes);
}
END_TEST

/* --- ends and errors --- */

START_TEST(listings_stop_where_told) {
    ct_var x = DRAWN(1, "x", 4, 3), w = DRAWN(2, "w", 3, 5);
    ct_scope_begin(tape, "model");
    ct_scope_begin(tape, "layer");
    ct_var_tanh(ct_var_exp(ct_var_exp(ct_var_exp(ct_var_matmul(x, w)))));
    ct_scope_end(tape);
    ct_scope_end(tape);
    struct ct_dot_options options = ct_dot_options_init();
    options.max_nodes = 5;
    struct text t = list_tape(tape, &options);
    char rest[64];
    snprintf(rest, sizeof rest, "and %zu more nodes\n", ct_tape_length(tape) - 5);
    text_has(&t, 1, rest);
    text_has(&t, 6, "\n");
    free(t.bytes);
    options.shapes = options.dtypes = false;
    lists(tape, &options, "2 matmul(0, 1) in model/layer\n");
    ct_error_clear();
    ck_assert_int_eq(ct_tape_text_with(NULL, NULL, add_text, &t), CT_EINVAL);
    ck_assert_int_eq(ct_tape_text_with(tape, NULL, NULL, &t), CT_EINVAL);
    ck_assert_int_eq(ct_tape_text_with(tape, &(struct ct_dot_options){0}, add_text, &t), CT_EINVAL);
    ct_error_clear();
}
END_TEST

Suite *suite_listings(void) {
    Suite *suite = suite_create("listings");
    TCase *tc = tcase_create("listings");
    tcase_add_checked_fixture(tc, setup, teardown_well);
    tcase_set_timeout(tc, 60);
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, attributes_stand_beside_ops);
    tcase_add_test(tc, convolutions_and_pools_say_how_their_windows_lie);
    tcase_add_test(tc, short_numbers_are_those_of_printf);
    tcase_add_test(tc, values_are_summed_up);
    tcase_add_test(tc, small_and_large_shares_of_zeros);
    tcase_add_test(tc, numbers_do_not_depend_on_layout);
    tcase_add_test(tc, the_first_that_is_not_finite_is_found_at_every_place);
    tcase_add_test(tc, gradients_have_norms);
    tcase_add_test(tc, norms_do_not_overflow_and_the_last_gradient_counts);
    tcase_add_test(tc, listings_stop_where_told);
    return suite;
}
