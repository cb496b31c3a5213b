#include "bugs.h"

#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "autodiff/ct_var_ops.h"
#include "case_tools.h"
#include "ct_test.h"
#include "golden_json.h"
#include "tensor/ct_ops.h"

struct shape {
    int rank;
    int64_t extents[4];
};

static ct_tensor *draw_shape(struct draw *draw, struct shape shape) {
    return draw_tensor(draw, CT_F64, shape.rank, shape.extents, -2, 2);
}

/* ---- broadcasting */

/* Sums t down to a shape: over new leading axes, and over axes of extent 1 where t has more. */
static ct_tensor *sum_to(const ct_tensor *t, struct shape shape) {
    int axes[CT_MAX_RANK], n = 0, lead = ct_rank(t) - shape.rank;
    for (int i = 0; i < ct_rank(t); i++) {
        if (i < lead || (shape.extents[i - lead] == 1 && ct_shape(t)[i] != 1))
            axes[n++] = i;
    }
    ct_tensor *sum = n ? ct_sum_axes(t, n, axes, true) : ct_copy(t);
    ct_tensor *y = ct_reshape(sum, shape.rank, shape.extents);
    ck_assert_msg(y != NULL, "%s", ct_error()->message);
    ct_free(sum);
    return y;
}

START_TEST(B049_gradient_keeps_the_shape) {
    static const struct shape pairs[][2] = {
        {{2, {4, 1}}, {2, {1, 4}}},
        {{1, {1}}, {2, {5, 4}}},
        {{0, {0}}, {2, {5, 4}}},
        {{1, {3}}, {2, {2, 3}}},
        {{4, {2, 1, 4, 1}}, {4, {2, 1, 4, 64}}},
    };
    struct draw draw = {5};
    ct_tensor *x = draw_shape(&draw, pairs[_i][0]), *z = draw_shape(&draw, pairs[_i][1]);
    ct_tape *tape = ct_tape_new();
    ct_var in[] = {ct_leaf(tape, x, "x"), ct_leaf(tape, z, "z")}, dx[2];
    ct_var y = ct_var_mul(in[0], in[1]);
    ck_assert_int_eq(ct_grad(y, ct_var_null(), 2, in, dx), CT_OK);
    for (int i = 0; i < 2; i++) {
        const ct_tensor *shape = ct_value(y);
        ct_tensor *wide = ct_broadcast_to(i ? x : z, ct_rank(shape), ct_shape(shape));
        ct_tensor *right = sum_to(wide, pairs[_i][i]);
        ck_assert_msg(ct_rank(ct_value(dx[i])) == pairs[_i][i].rank, "gradient %d has rank %d", i,
                      ct_rank(ct_value(dx[i])));
        ck_assert_msg(ct_all_close(ct_value(dx[i]), right, 1e-14, 1e-14), "gradient %d", i);
        ct_free(wide);
        ct_free(right);
    }
    ct_tape_free(tape);
    ct_free(x);
    ct_free(z);
}
END_TEST

START_TEST(B050_scalar_in_a_large_sum) {
    ct_tensor *zeros = ct_zeros(CT_F64, 1, (int64_t[]){1000}), *point = T0(0.5);
    ct_tape *tape = ct_tape_new();
    ct_var z = ct_leaf(tape, point, "z"), dz;
    ct_var y = ct_var_sum(ct_var_sub(ct_var_exp(z), ct_constant(tape, zeros, NULL)), CT_ALL, false);
    ck_assert_int_eq(ct_grad(y, ct_var_null(), 1, &z, &dz), CT_OK);
    ck_assert_int_eq(ct_rank(ct_value(dz)), 0);
    EXPECT("dz", ct_copy(ct_value(dz)), 1e-12, 1648.7212707001282);
    ct_tape_free(tape);
    ct_free(zeros);
    ct_free(point);
}
END_TEST

static ct_var centred(const ct_var *x) {
    return ct_var_sub(*x, ct_var_mean(*x, CT_ALL, false));
}

START_TEST(B051_minus_the_mean) {
    check_gradient("x - mean(x)", centred, N(1, 2, 3, 4), N(-1.5, -0.5, 0.5, 1.5), N(0, 0, 0, 0));
}
END_TEST

static void check_broadcast(struct shape a, struct shape b, const struct shape *right) {
    struct draw draw = {6};
    ct_tensor *x = draw_shape(&draw, a), *z = draw_shape(&draw, b), *y = ct_add(x, z);
    int64_t shape[CT_MAX_RANK];
    int rank = ct_broadcast_shape(a.rank, a.extents, b.rank, b.extents, shape);
    ck_assert_int_eq(ct_can_broadcast(a.rank, a.extents, b.rank, b.extents), right != NULL);
    ck_assert_int_eq(y != NULL, right != NULL);
    if (right) {
        ck_assert_int_eq(rank, right->rank);
        ck_assert_int_eq(ct_rank(y), right->rank);
        for (int i = 0; i < rank; i++) {
            ck_assert_int_eq(shape[i], right->extents[i]);
            ck_assert_int_eq(ct_shape(y)[i], right->extents[i]);
        }
    } else {
        ck_assert_int_eq(rank, -1);
        expect_error(CT_ESHAPE, "do not broadcast");
    }
    ct_free(x);
    ct_free(z);
    ct_free(y);
}

START_TEST(B053_nothing_against_one) {
    check_broadcast((struct shape){2, {1, 1}}, (struct shape){2, {0, 1}},
                    &(struct shape){2, {0, 1}});
    check_broadcast((struct shape){2, {0, 3}}, (struct shape){2, {1, 3}},
                    &(struct shape){2, {0, 3}});
    check_broadcast((struct shape){2, {2, 1}}, (struct shape){2, {0, 1}}, NULL);
}
END_TEST

static struct shape shape_of(const json_t *extents) {
    struct shape shape = {(int)json_array_size(extents), {0}};
    for (int i = 0; i < shape.rank; i++)
        shape.extents[i] = json_integer_value(json_array_get(extents, (size_t)i));
    return shape;
}

START_TEST(B053_shapes_of_numpy) {
    char name[PATH_MAX];
    snprintf(name, sizeof name, "%s/broadcast/numpy_stride_tricks_tables.json", golden_cases());
    json_t *file = json_load_file(name, 0, NULL), *one;
    json_t *pairs = json_object_get(json_object_get(file, "tables"), "test_same_as_ufunc");
    if (!pairs)
        ct_test_skip("the shapes are not here (CT_CASES)");
    size_t i;
    json_array_foreach(pairs, i, one) {
        json_t *in = json_array_get(one, 0);
        struct shape right = shape_of(json_array_get(one, 1));
        check_broadcast(shape_of(json_array_get(in, 0)), shape_of(json_array_get(in, 1)), &right);
        check_broadcast(shape_of(json_array_get(in, 1)), shape_of(json_array_get(in, 0)), &right);
    }
    json_decref(file);
}
END_TEST

/* ---- reductions */

typedef ct_tensor *reduction(const ct_tensor *t, int axis, bool keepdims);
typedef ct_tensor *reduction_axes(const ct_tensor *t, int n, const int *axes, bool keepdims);

static void expect_none(const char *what, ct_tensor *t) {
    ck_assert_msg(t != NULL, "%s: %s", what, ct_error()->message);
    ck_assert_int_eq(ct_rank(t), 1);
    ck_assert_int_eq(ct_shape(t)[0], 0);
    ct_free(t);
}

START_TEST(B056_empty_tensor_over_a_full_axis) {
    ct_tensor *none = ct_zeros(CT_F64, 2, (int64_t[]){0, 4});
    expect_none("mean", ct_mean(none, 1, false));
    expect_none("max", ct_max(none, 1, false));
    expect_none("min", ct_min(none, 1, false));
    expect_none("sum", ct_sum(none, 1, false));
    expect_none("logsumexp", ct_logsumexp(none, 1, false));
    ck_assert(ct_can_reduce(none, 1, (int[]){1}));
    ct_free(none);
}
END_TEST

START_TEST(B057_empty_axis) {
    static const struct {
        reduction *reduce;
        const char *text;
    } cases[] = {
        {ct_max, "cannot take the maximum along axis 1 of extent 0"},
        {ct_min, "cannot take the minimum along axis 1 of extent 0"},
        {ct_mean, "cannot take the mean along axis 1 of extent 0"},
    };
    ct_tensor *none = ct_zeros(CT_F64, 2, (int64_t[]){2, 0});
    ck_assert_ptr_null(cases[_i].reduce(none, 1, false));
    ck_assert_msg(strstr(ct_error()->message, cases[_i].text), "%s", ct_error()->message);
    ck_assert_ptr_null(cases[_i].reduce(none, CT_ALL, false));
    ck_assert(!ct_can_reduce(none, 1, (int[]){1}));
    EXPECT("sum", ct_sum(none, 1, false), 0, 0, 0);
    EXPECT("logsumexp", ct_logsumexp(none, 1, false), 0, -INF, -INF);
    EXPECT("sum of all", ct_sum(none, CT_ALL, false), 0, 0);
    ct_free(none);
}
END_TEST

START_TEST(B060_axes_that_cannot_be) {
    static reduction_axes *const reductions[] = {ct_sum_axes, ct_mean_axes, ct_max_axes,
                                                 ct_min_axes};
    static const struct {
        int axes[2], n;
        const char *text;
    } cases[] = {
        {{0, 0}, 2, "twice"},
        {{-1, 1}, 2, "twice"},
        {{2, 0}, 1, "axis 2 is out of range for a tensor of rank 2"},
        {{-3, 0}, 1, "axis -3 is out of range for a tensor of rank 2"},
    };
    ct_tensor *t = T2(2, 2, 1, 2, 3, 4);
    for (size_t k = 0; k < COUNT(cases); k++) {
        ck_assert_ptr_null(reductions[_i](t, cases[k].n, cases[k].axes, false));
        expect_error(CT_EAXIS, cases[k].text);
    }
    ct_tape *tape = ct_tape_new();
    ct_var_sum_axes(ct_leaf(tape, t, "x"), 2, (int[]){0, 0}, false);
    ck_assert_int_eq(ct_tape_status(tape), CT_EAXIS);
    ct_tape_free(tape);
    ct_free(t);
}
END_TEST

/* ---- products */

START_TEST(B062_product_over_nothing) {
    /* Memory that holds NaNs is what the result would be made of. */
    for (int i = 0; i < 4; i++)
        ct_free(ct_full(CT_F64, 3, (int64_t[]){3, 2, 3}, QNAN));
    ct_tensor *a = ct_zeros(CT_F64, 3, (int64_t[]){3, 2, 0}),
              *b = ct_zeros(CT_F64, 3, (int64_t[]){3, 0, 3});
    ct_tensor *c = ct_matmul(a, b), *right = ct_zeros(CT_F64, 3, (int64_t[]){3, 2, 3});
    ck_assert(same_bits(c, right));
    ct_tape *tape = ct_tape_new();
    ct_var in[] = {ct_leaf(tape, a, "a"), ct_leaf(tape, b, "b")}, g[2];
    ck_assert_int_eq(ct_grad(ct_var_matmul(in[0], in[1]), ct_var_null(), 2, in, g), CT_OK);
    ck_assert(same_bits(ct_value(g[0]), a) && same_bits(ct_value(g[1]), b));
    ct_tape_free(tape);
    ct_free(a);
    ct_free(b);
    ct_free(c);
    ct_free(right);
}
END_TEST

START_TEST(B064_zero_times_infinity_in_a_product) {
    ct_tensor *a = T2(1, 2, 0, 1), *b = T2(2, 1, INF, 2), *c = T2(2, 1, 2, QNAN),
              *d = T2(1, 2, 1, 0);
    EXPECT("0 inf + 1 2", ct_matmul(a, b), 0, QNAN);
    EXPECT("1 2 + 0 nan", ct_matmul(d, c), 0, QNAN);
    struct draw draw = {8};
    ct_tensor *wide = draw_tensor(&draw, CT_F32, 2, (int64_t[]){37, 41}, 1, 2);
    ct_tensor *zeros = ct_zeros(CT_F32, 2, (int64_t[]){41, 43});
    ct_set(wide, 2, (int64_t[]){36, 40}, INF);
    ct_tensor *product = ct_matmul(wide, zeros), *row = ct_select(product, 0, 36);
    ct_tensor *nans = ct_full(CT_F32, 1, (int64_t[]){43}, QNAN);
    ck_assert(same_bits(row, nans));
    ct_tensor *all[] = {a, b, c, d, wide, zeros, product, row, nans};
    for (size_t i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
}
END_TEST

/* ---- sharing and views */

START_TEST(B071_reused_nodes_are_visited_once) {
    ct_tensor *one = T0(1);
    ct_tape *tape = ct_tape_new();
    ct_var x = ct_leaf(tape, one, "x"), a = ct_constant(tape, one, "a"), dx;
    ct_var first = ct_var_mul(x, ct_var_mul(x, a)), second = ct_var_mul(x, ct_var_mul(x, a));
    ct_var third = ct_var_mul(ct_var_mul(x, x), a);
    ct_var y = ct_var_add(ct_var_add(first, second), third);
    ck_assert_int_eq(ct_grad(y, ct_var_null(), 1, &x, &dx), CT_OK);
    ck_assert_double_eq(ct_value_item(y), 3);
    ck_assert_double_eq(ct_value_item(dx), 6);
    ct_tape_free(tape);
    ct_free(one);
}
END_TEST

START_TEST(B071_equal_leaves_stay_apart) {
    ct_tensor *three = T0(3);
    ct_tape *tape = ct_tape_new();
    ct_var w[] = {ct_leaf(tape, three, "w"), ct_leaf(tape, three, "v")}, dw[2];
    ck_assert_int_eq(ct_grad(ct_var_add(w[0], w[1]), ct_var_null(), 2, w, dw), CT_OK);
    ck_assert_double_eq(ct_value_item(dw[0]), 1);
    ck_assert_double_eq(ct_value_item(dw[1]), 1);
    ct_tape_free(tape);
    ct_free(three);
}
END_TEST

START_TEST(B072_second_backward_on_one_tape) {
    ct_tensor *two = T0(2);
    ct_tape *tape = ct_tape_new();
    ct_var x = ct_leaf(tape, two, "x"), y = ct_var_mul(ct_var_mul(x, x), x);
    for (int i = 0; i < 3; i++) {
        ct_var dx;
        ck_assert_int_eq(ct_grad(y, ct_var_null(), 1, &x, &dx), CT_OK);
        ck_assert_double_eq(ct_value_item(dx), 12);
    }
    ct_tape_free(tape);
    ct_free(two);
}
END_TEST

START_TEST(B073_write_after_recording) {
    ct_tensor *t = T1(1, 2, 3);
    ct_tape *tape = ct_tape_new();
    ct_var x = ct_leaf(tape, t, "x"), z = ct_var_mul(x, x), dx;
    ct_tensor *kept = ct_copy(ct_value(z));
    ck_assert_int_eq(ct_fill(t, 100), CT_OK);
    ck_assert_int_eq(ct_fill(kept, 100), CT_OK);
    ck_assert_int_eq(ct_grad(z, ct_var_null(), 1, &x, &dx), CT_OK);
    EXPECT("z", ct_copy(ct_value(z)), 0, 1, 4, 9);
    EXPECT("dx", ct_copy(ct_value(dx)), 0, 2, 4, 6);
    EXPECT("what was written", t, 0, 100, 100, 100);
    ct_free(kept);
    ct_tape_free(tape);
}
END_TEST

START_TEST(B075_write_to_an_expanded_view) {
    ct_tensor *t = T0(0.25), *wide = ct_broadcast_to(t, 1, (int64_t[]){3}), *other = ct_copy(wide);
    ck_assert_int_eq(ct_set(wide, 1, (int64_t[]){1}, 7), CT_OK);
    EXPECT("the view", wide, 0, 0.25, 7, 0.25);
    EXPECT("its copy", other, 0, 0.25, 0.25, 0.25);
    EXPECT("what it viewed", t, 0, 0.25);
}
END_TEST

START_TEST(B080_negative_strides_in_every_kernel) {
    struct draw draw = {9};
    ct_tensor *t = draw_tensor(&draw, _i ? CT_F64 : CT_F32, 2, (int64_t[]){33, 33}, -2, 2);
    ct_tensor *label = draw_tensor(&draw, CT_I64, 1, (int64_t[]){33}, 0, 33);
    ct_tensor *x = lay_out(t, LAYOUT_FLIPPED), *i = ct_flip(label, 0), *j = ct_compact(i);
    ck_assert_int_lt(ct_strides(x)[0], 0);
    ct_tensor *pairs[][2] = {
        {ct_sum(x, 0, false), ct_sum(t, 0, false)},
        {ct_sum(x, CT_ALL, false), ct_sum(t, CT_ALL, false)},
        {ct_mean(x, 1, true), ct_mean(t, 1, true)},
        {ct_max(x, 1, false), ct_max(t, 1, false)},
        {ct_softmax(x, 1), ct_softmax(t, 1)},
        {ct_log_softmax(x, 0), ct_log_softmax(t, 0)},
        {ct_logsumexp(x, 0, false), ct_logsumexp(t, 0, false)},
        {ct_matmul(x, t), ct_matmul(t, t)},
        {ct_matmul(t, x), ct_matmul(t, t)},
        {ct_matmul(x, x), ct_matmul(t, t)},
        {ct_tanh(x), ct_tanh(t)},
        {ct_pick(x, i), ct_pick(t, j)},
        {ct_compact(x), ct_copy(t)},
        {ct_astype(x, CT_F64), ct_astype(t, CT_F64)},
    };
    for (size_t k = 0; k < COUNT(pairs); k++) {
        ck_assert_msg(same_bits(pairs[k][0], pairs[k][1]), "kernel %zu", k);
        ct_free(pairs[k][0]);
        ct_free(pairs[k][1]);
    }
    ct_tensor *all[] = {t, label, x, i, j};
    for (size_t k = 0; k < COUNT(all); k++)
        ct_free(all[k]);
}
END_TEST

/* ---- sizes */

START_TEST(B085_sizes_that_do_not_fit) {
    static const struct shape shapes[] = {
        {1, {((int64_t)1 << 60) + 1}},
        {2, {(int64_t)1 << 32, (int64_t)1 << 32}},
        {2, {3037000500, 3037000500}},
        {4, {2, 2, 1, (int64_t)1 << 61}},
        {1, {INT64_MAX}},
        {3, {INT64_MAX, INT64_MAX, INT64_MAX}},
    };
    const struct shape *shape = &shapes[_i];
    ck_assert_ptr_null(ct_zeros(CT_F64, shape->rank, shape->extents));
    ck_assert_int_eq(ct_error()->code, CT_EOVERFLOW);
    ck_assert_ptr_null(ct_full(CT_BOOL, 2, (int64_t[]){(int64_t)1 << 32, (int64_t)1 << 32}, 1));
    ck_assert_int_eq(ct_error()->code, CT_EOVERFLOW);
    ct_tensor *one = T0(1);
    ct_tensor *wide = ct_broadcast_to(one, 2, (int64_t[]){(int64_t)1 << 32, (int64_t)1 << 32});
    ck_assert_msg(wide == NULL || ct_count(wide) > 0, "2^64 items became none");
    ct_free(wide);
    ct_free(one);
}
END_TEST

void add_shapes(Suite *suite) {
    TCase *tc = tcase_create("shapes");
    suite_add_tcase(suite, tc);
    tcase_add_loop_test(tc, B049_gradient_keeps_the_shape, 0, 5);
    tcase_add_test(tc, B050_scalar_in_a_large_sum);
    tcase_add_test(tc, B051_minus_the_mean);
    tcase_add_test(tc, B053_nothing_against_one);
    tcase_add_test(tc, B053_shapes_of_numpy);
    tcase_add_test(tc, B056_empty_tensor_over_a_full_axis);
    tcase_add_loop_test(tc, B057_empty_axis, 0, 3);
    tcase_add_loop_test(tc, B060_axes_that_cannot_be, 0, 4);
    tcase_add_test(tc, B062_product_over_nothing);
    tcase_add_test(tc, B064_zero_times_infinity_in_a_product);
    tcase_add_test(tc, B071_reused_nodes_are_visited_once);
    tcase_add_test(tc, B071_equal_leaves_stay_apart);
    tcase_add_test(tc, B072_second_backward_on_one_tape);
    tcase_add_test(tc, B073_write_after_recording);
    tcase_add_test(tc, B075_write_to_an_expanded_view);
    tcase_add_loop_test(tc, B080_negative_strides_in_every_kernel, 0, 2);
    tcase_add_loop_test(tc, B085_sizes_that_do_not_fit, 0, 6);
}
