/* Reverse mode: what the engine does around the rules, orders above one, and linearity. */

#include "autodiff/ct_tape.h"
#include "autodiff/ct_var_ops.h"
#include "autodiff/tape_impl.h"
#include "tape_fixture.h"
#include "tensor/ct_ops.h"

#include <math.h>
#include <string.h>

static ct_var constant(double value) {
    return ct_constant_of(tape, CT_F64, value);
}

START_TEST(an_input_used_twice_gets_both_parts) {
    ct_var x = leaf(T1(1, 2, 3));
    EXPECT("d sum(x x)", value(grad(ct_var_sum(ct_var_mul(x, x), CT_ALL, false), x)), 0, 2, 4, 6);
    EXPECT("d (x - x)", value(grad(ct_var_sub(x, x), x)), 0, 0, 0, 0);
}
END_TEST

START_TEST(every_path_counts_once_per_path) { /* B071 */
    ct_var x = leaf(T0(1)), a = constant(1);
    ct_var p = ct_var_mul(x, ct_var_mul(x, a));
    ct_var f = ct_var_add(ct_var_add(p, p), ct_var_mul(ct_var_mul(x, x), a));
    EXPECT("df", value(grad(f, x)), 0, 6);
}
END_TEST

/* Of several outputs: one that leads to another, one twice, one apart, one that no x reaches. */
START_TEST(several_outputs_in_one_pass) {
    ct_var x = leaf(T1(1, 2)), z = leaf(T1(3, 4)), w = leaf(T1(5, 6)), dx[3];
    ct_var square = ct_var_square(x), product = ct_var_mul(square, z);
    ct_var y[] = {square, product, square, w, constant(7)};
    ct_var u = leaf(T1(10, 100));
    ct_var cotangents[] = {ct_var_null(), u, ct_var_null(), u, ct_var_null()};
    ck_assert_int_eq(ct_grad_all(5, y, cotangents, 3, (const ct_var[]){x, z, w}, dx), CT_OK);
    /* 2x (1 + 1 + u z), u x^2, u */
    EXPECT("dx", value(dx[0]), 0, 2 * (2 + 30), 4 * (2 + 400));
    EXPECT("dz", value(dx[1]), 0, 10, 400);
    EXPECT("dw", value(dx[2]), 0, 10, 100);
    ck_assert_int_eq(ct_grad_all(2, y, NULL, 1, &z, dx), CT_OK);
    EXPECT("ones", value(dx[0]), 0, 1, 4);
    size_t before = ct_tape_length(tape);
    ct_var one, all;
    ct_grad(product, u, 1, &x, &one);
    size_t nodes = ct_tape_length(tape) - before;
    ct_grad_all(1, &product, &u, 1, &x, &all);
    ck_assert_uint_eq(ct_tape_length(tape) - before, 2 * nodes);
    ck_assert(same_bits(ct_value(one), ct_value(all)));
    ck_assert_int_eq(ct_grad_all(0, NULL, NULL, 1, &x, dx), CT_EINVAL);
    ck_assert_int_eq(ct_grad_all(2, (const ct_var[]){x, ct_var_null()}, NULL, 1, &x, dx),
                     CT_EINVAL);
    ck_assert(ct_var_is_null(dx[0]));
    ct_tape_rewind(tape, (ct_mark){0});
}
END_TEST

START_TEST(a_second_gradient_starts_afresh) { /* B072 */
    ct_var x = leaf(T0(2)), y = ct_var_mul(ct_var_mul(x, x), x);
    EXPECT("first", value(grad(y, x)), 0, 12);
    EXPECT("second", value(grad(y, x)), 0, 12);
}
END_TEST

START_TEST(no_path_is_zeros_without_items) {
    ct_var x = leaf(T1(1, 2)), other = leaf(T2(2, 2, 1, 2, 3, 4));
    ct_var g = grad(ct_var_exp(x), other);
    ck_assert_int_eq(ct_strides(ct_value(g))[0], 0);
    EXPECT("zeros", value(g), 0, 0, 0, 0, 0);
}
END_TEST

START_TEST(a_flat_op_stops_the_gradient) {
    ct_var x = leaf(T1(-1, 0, 2));
    EXPECT("d sign", value(grad(ct_var_sign(x), x)), 0, 0, 0, 0);
    ct_var mask = ct_var_greater(x, constant(0));
    EXPECT("d where", value(grad(ct_var_where(mask, x, ct_var_neg(x)), x)), 0, -1, -1, 1);
}
END_TEST

START_TEST(intermediates_can_be_differentiated_for) {
    ct_var x = leaf(T0(3)), m = ct_var_square(x), y = ct_var_square(m), dx[2];
    const ct_var in[] = {x, m};
    ck_assert_int_eq(ct_grad(y, ct_var_null(), 2, in, dx), CT_OK);
    EXPECT("dy/dx", value(dx[0]), 0, 108);
    EXPECT("dy/dm", value(dx[1]), 0, 18);
    EXPECT("dy/dy", value(grad(y, y)), 0, 1);
}
END_TEST

START_TEST(a_cotangent_weighs_the_outputs) {
    ct_var x = leaf(T1(1, 2)), y = ct_var_square(x), dx;
    ck_assert_int_eq(ct_grad(y, leaf(T1(10, 100)), 1, &x, &dx), CT_OK);
    EXPECT("dx", value(dx), 0, 20, 400);
}
END_TEST

START_TEST(wrong_cotangents_and_types_are_errors) {
    ct_var x = leaf(T1(1, 2)), y = ct_var_square(x), dx;
    ct_mark mark = ct_tape_mark(tape);
    ck_assert_int_eq(ct_grad(y, leaf(T0(1)), 1, &x, &dx), CT_ESHAPE);
    ck_assert_ptr_nonnull(strstr(ct_tape_message(tape), "the cotangent is f64[] and y is f64[2]"));
    ct_tape_rewind(tape, mark);
    ct_var mask = ct_var_less(x, y);
    ck_assert_int_eq(ct_grad(mask, ct_var_null(), 1, &x, &dx), CT_EDTYPE);
    ct_tape_rewind(tape, mark);
    ct_error_clear();
}
END_TEST

START_TEST(failures_leave_null_variables) {
    ct_var x = leaf(T1(1, 2, 3)), dx = x;
    ck_assert_int_eq(ct_grad(ct_var_null(), ct_var_null(), 1, &x, &dx), CT_EINVAL);
    ck_assert(ct_var_is_null(dx));
    ct_mark mark = ct_tape_mark(tape);
    ct_tensor *w = T1(1, 2, 3);
    ct_var p = ct_leaf(tape, w, "w"), view = ct_var_reshape(p, 2, (int64_t[]){3, 1});
    ck_assert_int_eq(ct_tape_release(tape, 1, &p), CT_OK);
    ck_assert_int_eq(ct_grad(p, ct_var_null(), 1, &p, &dx), CT_ESTALE);
    ck_assert_int_eq(ct_grad(view, ct_var_null(), 1, &view, &dx), CT_ESTALE);
    ck_assert(ct_var_is_null(dx));
    ct_tape_rewind(tape, mark);
    ct_free(w);
    ct_error_clear();
}
END_TEST

START_TEST(results_may_replace_the_variables) {
    ct_var x = leaf(T1(1, 2, 3)), v[] = {x, x};
    ck_assert_int_eq(ct_grad(ct_var_square(x), ct_var_null(), 2, v, v), CT_OK);
    EXPECT("dx", value(v[0]), 0, 2, 4, 6);
    EXPECT("dx again", value(v[1]), 0, 2, 4, 6);
}
END_TEST

START_TEST(nothing_flows_to_constants) {
    ct_var x = leaf(T1(1, 2, 3)), c = constant(2), many = ct_constant(tape, ct_value(x), NULL);
    const ct_var in[] = {x, c, many};
    ct_var dx[3], scaled = ct_var_mul(x, c);
    ck_assert_int_eq(ct_grad(ct_var_mul(scaled, many), ct_var_null(), 3, in, dx), CT_OK);
    EXPECT("dx", value(dx[0]), 0, 2, 4, 6);
    EXPECT("dc", value(dx[1]), 0, 0);
    EXPECT("dmany", value(dx[2]), 0, 0, 0, 0);
}
END_TEST

START_TEST(logsumexp_weights_sum_to_one_far_out) {
    static const double far[] = {1e3, 1e12, 1e15, 1e16, 1e300, -1e300};
    for (size_t i = 0; i < sizeof far / sizeof *far; i++) {
        ct_var x = leaf(T1(far[i], far[i])), y = ct_var_logsumexp(x, 0, false);
        EXPECT("f64", value(grad(y, x)), 0, .5, .5);
    }
    ct_var x = leaf(T1(INF, INF, 0)), y = ct_var_logsumexp(x, 0, false);
    EXPECT("infinities", value(grad(y, x)), 0, .5, .5, 0);
    ct_tensor *wide = ct_full(CT_F32, 1, (int64_t[]){2}, 2e7);
    ct_var z = leaf(wide);
    EXPECT("f32", ct_astype(ct_value(grad(ct_var_logsumexp(z, 0, false), z)), CT_F64), 0, .5, .5);
}
END_TEST

START_TEST(cross_entropy_is_the_limit_at_infinity) {
    ct_tensor *labels = ct_zeros(CT_I64, 1, (int64_t[]){1});
    ct_var x = leaf(T2(1, 3, INF, 0, 0)), t = ct_constant(tape, labels, NULL);
    ct_var y = ct_var_cross_entropy(x, t, CT_REDUCE_MEAN);
    EXPECT("value", value(y), 0, 0);
    EXPECT("gradient", value(grad(y, x)), 0, 0, 0, 0);
    ct_free(labels);
}
END_TEST

START_TEST(angles_of_far_and_near_points) {
    static const double sizes[] = {1e200, 1e-200, 1};
    for (int i = 0; i < 3; i++) {
        ct_var x = leaf(T0(sizes[i])), z = leaf(T0(sizes[i])), dx[2];
        const ct_var in[] = {x, z};
        ck_assert_int_eq(ct_grad(ct_var_atan2(x, z), ct_var_null(), 2, in, dx), CT_OK);
        EXPECT("sizes times d/dx", ct_mul(ct_value(dx[0]), ct_value(x)), 1e-15, .5);
        EXPECT("sizes times d/dz", ct_mul(ct_value(dx[1]), ct_value(z)), 1e-15, -.5);
        EXPECT("d hypot", value(grad(ct_var_hypot(x, z), x)), 1e-15, 0.70710678118654752);
    }
    ct_var o = leaf(T0(0));
    EXPECT("d hypot at the origin", value(grad(ct_var_hypot(o, o), o)), 0, 0);
}
END_TEST

START_TEST(steps_beyond_an_axis) {
    ct_tensor *t = ct_zeros(CT_F64, 2, (int64_t[]){0, INT64_MAX / 16});
    ct_var x = leaf(t), y = ct_var_slice(x, 1, 1, CT_END, INT64_MAX / 32 + 1);
    ck_assert_int_eq(ct_extent(ct_value(y), 1), 2);
    ct_var line = leaf(T1(1, 2, 3));
    EXPECT("one", value(ct_var_slice(line, 0, 1, CT_END, INT64_MAX)), 0, 2);
    EXPECT("down", value(ct_var_slice(line, 0, 2, CT_END, -2)), 0, 3, 1);
}
END_TEST

START_TEST(orders_one_to_four) {
    /* d^n/dx^n x^5 at 2 = 5!/(5-n)! 2^(5-n) */
    static const double expected[] = {80, 160, 240, 240};
    ct_var x = leaf(T0(2)), y = ct_var_pow(x, constant(5));
    for (int n = 0; n < 4; n++) {
        y = grad(y, x);
        EXPECT("order", value(y), 1e-14, expected[n]);
    }
}
END_TEST

START_TEST(shapes_of_gradients_are_those_of_operands) { /* B049 */
    static const struct {
        int rank[2];
        int64_t shape[2][4];
    } cases[] = {
        {{2, 2}, {{4, 1}, {1, 4}}},
        {{1, 2}, {{1}, {5, 4}}},
        {{0, 2}, {{0}, {5, 4}}},
        {{1, 2}, {{3}, {2, 3}}},
        {{4, 4}, {{2, 1, 4, 1}, {2, 1, 4, 64}}},
    };
    struct draw draw = {5};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ct_var in[2], dx[2];
        for (int k = 0; k < 2; k++)
            in[k] = leaf(draw_tensor(&draw, CT_F64, cases[i].rank[k], cases[i].shape[k], -2, 2));
        ck_assert_int_eq(ct_grad(ct_var_mul(in[0], in[1]), ct_var_null(), 2, in, dx), CT_OK);
        for (int k = 0; k < 2; k++) {
            ck_assert_int_eq(ct_rank(ct_value(dx[k])), cases[i].rank[k]);
            for (int axis = 0; axis < cases[i].rank[k]; axis++)
                ck_assert_int_eq(ct_extent(ct_value(dx[k]), axis), cases[i].shape[k][axis]);
        }
        /* The gradient of a sum of products: the other operand, summed where it was copied. */
        double total[2] = {0, 0};
        ct_tensor *a = ct_sum(ct_value(dx[0]), CT_ALL, false);
        ct_tensor *other =
            ct_broadcast_to(ct_value(in[1]), ct_rank(ct_value(in[1])), ct_shape(ct_value(in[1])));
        ct_tensor *product = ct_mul(ct_value(in[0]), other);
        ct_tensor *b = ct_sum(other, CT_ALL, false);
        total[0] = ct_item(a);
        total[1] = ct_item(b) * (double)ct_count(product) / (double)ct_count(other);
        ck_assert_double_eq_tol(total[0], total[1], 1e-9);
        ct_free(a), ct_free(b), ct_free(other), ct_free(product);
    }
}
END_TEST

/* --- linear ops: <A x, u> = <x, A' u>, exactly the transpose, no differences needed --- */

static ct_var sample_input(struct draw *draw, const struct ct__sample *s, int i) {
    bool index = s->labels > 0 && i == s->inputs - 1;
    ct_tensor *t = draw_tensor(draw, index ? CT_I64 : CT_F64, s->rank[i], s->shape[i],
                               index ? 0 : -2, index ? (double)s->labels : 2);
    ct_var v = index ? ct_constant(tape, t, NULL) : ct_leaf(tape, t, NULL);
    ct_free(t);
    return v;
}

static double inner(ct_var a, ct_var b) {
    ct_tensor *product = ct_mul(ct_value(a), ct_value(b));
    ct_tensor *sum = ct_sum(product, CT_ALL, false);
    double out = ct_item(sum);
    ct_free(product), ct_free(sum);
    return out;
}

static void check_transpose(enum ct_op op, const struct ct__sample *sample, uint64_t seed) {
    struct draw draw = {seed};
    ct_var in[CT__MAX_INPUTS], dx;
    for (int i = 0; i < sample->inputs; i++)
        in[i] = sample_input(&draw, sample, i);
    ct_var y = ct__record(op, sample->inputs, in, &sample->attr);
    ck_assert_msg(!ct_var_is_null(y), "%s: %s", ct_op_name(op), ct_tape_message(tape));
    const ct_tensor *out = ct_value(y);
    ct_var u = leaf(draw_tensor(&draw, CT_F64, ct_rank(out), ct_shape(out), -2, 2));
    bool each = ct_op_kind_of(op) == CT_KIND_BILINEAR; /* linear in each; else in all together */
    double forward = inner(y, u), backward = 0;
    for (int k = 0; k < sample->inputs; k++) {
        if (sample->labels > 0 && k == sample->inputs - 1)
            continue;
        ck_assert_msg(ct_grad(y, u, 1, &in[k], &dx) == CT_OK, "%s: %s", ct_op_name(op),
                      ct_tape_message(tape));
        backward = inner(in[k], dx) + (each ? 0 : backward);
        ck_assert_msg((!each && k + 1 < sample->inputs - (sample->labels > 0)) ||
                          fabs(forward - backward) <= 1e-12 * (1 + fabs(forward)),
                      "%s, argument %d: <A x, u> = %.17g and <x, A' u> = %.17g", ct_op_name(op), k,
                      forward, backward);
    }
}

START_TEST(transposes_of_linear_ops) {
    enum ct_op op = (enum ct_op)_i;
    if (ct_op_kind_of(op) != CT_KIND_LINEAR && ct_op_kind_of(op) != CT_KIND_BILINEAR)
        return;
    const struct ct__op_record *record = ct__op_record(op);
    ck_assert_msg(record->sample_count > 0, "%s has no samples", ct_op_name(op));
    for (int i = 0; i < record->sample_count; i++)
        check_transpose(op, &record->samples[i], 17 + (uint64_t)i);
}
END_TEST

START_TEST(error_samples_of_structured_ops) {
    const struct ct__op_record *record = ct__op_record((enum ct_op)_i);
    if (!record)
        return;
    for (int i = 0; i < record->error_count; i++) {
        const struct ct__error_sample *e = &record->errors[i];
        struct draw draw = {3};
        ct_var in[CT__MAX_INPUTS];
        ct_mark mark = ct_tape_mark(tape);
        for (int k = 0; k < e->sample.inputs; k++)
            in[k] = sample_input(&draw, &e->sample, k);
        size_t length = ct_tape_length(tape);
        ck_assert(
            ct_var_is_null(ct__record((enum ct_op)_i, e->sample.inputs, in, &e->sample.attr)));
        ck_assert_uint_eq(ct_tape_length(tape), length);
        ck_assert_int_eq(ct_tape_status(tape), e->code);
        ck_assert_msg(strstr(ct_tape_message(tape), e->text), "'%s' lacks '%s'",
                      ct_tape_message(tape), e->text);
        ct_tape_rewind(tape, mark);
        ct_error_clear();
    }
}
END_TEST

/* --- public functions whose recordings are compositions --- */

START_TEST(matmul_of_every_rank) {
    static const struct {
        int rank[2];
        int64_t shape[2][4];
    } cases[] = {
        {{1, 1}, {{3}, {3}}},          {{1, 2}, {{3}, {3, 2}}},
        {{2, 1}, {{2, 3}, {3}}},       {{3, 2}, {{2, 2, 3}, {3, 2}}},
        {{2, 3}, {{2, 3}, {4, 3, 2}}}, {{4, 3}, {{2, 1, 2, 3}, {4, 3, 2}}},
        {{1, 3}, {{3}, {2, 3, 2}}},    {{3, 1}, {{2, 4, 3}, {3}}},
    };
    struct draw draw = {(uint64_t)_i + 1};
    ct_var in[2], dx[2];
    for (int k = 0; k < 2; k++)
        in[k] = leaf(draw_tensor(&draw, CT_F64, cases[_i].rank[k], cases[_i].shape[k], -1, 1));
    ct_var y = ct_var_matmul(in[0], in[1]);
    ck_assert_msg(!ct_var_is_null(y), "%s", ct_tape_message(tape));
    ct_tensor *plain = ct_matmul(ct_value(in[0]), ct_value(in[1]));
    ck_assert(same_bits(plain, ct_value(y)));
    ct_var u = leaf(draw_tensor(&draw, CT_F64, ct_rank(plain), ct_shape(plain), -1, 1));
    ck_assert_int_eq(ct_grad(y, u, 2, in, dx), CT_OK);
    for (int k = 0; k < 2; k++)
        ck_assert_double_eq_tol(inner(in[k], dx[k]), inner(y, u), 1e-12);
    ct_free(plain);
}
END_TEST

START_TEST(views_by_their_verbs) {
    ct_var x = leaf(T2(2, 3, 1, 2, 3, 4, 5, 6));
    EXPECT("flip", value(ct_var_flip(x, 1)), 0, 3, 2, 1, 6, 5, 4);
    EXPECT("select", value(ct_var_select(x, 0, -1)), 0, 4, 5, 6);
    EXPECT("slice", value(ct_var_slice(x, 1, -1, CT_END, -2)), 0, 3, 1, 6, 4);
    ck_assert_int_eq(ct_extent(ct_value(ct_var_slice(x, 1, 2, 1, 1)), 1), 0);
}
END_TEST

START_TEST(mean_divides_and_refuses_nothing) {
    ct_var x = leaf(T2(2, 2, 1, 2, 3, 5));
    EXPECT("mean", value(ct_var_mean(x, 0, false)), 0, 2, 3.5);
    const int axes[] = {0, -1};
    EXPECT("mean over both", value(ct_var_mean_axes(x, 2, axes, false)), 0, 2.75);
    EXPECT("d mean", value(grad(ct_var_mean(x, CT_ALL, false), x)), 0, .25, .25, .25, .25);
    ct_mark mark = ct_tape_mark(tape);
    ct_tensor *none = ct_zeros(CT_F64, 2, (int64_t[]){2, 0});
    ck_assert(ct_var_is_null(ct_var_mean(ct_leaf(tape, none, NULL), 1, false)));
    ck_assert_ptr_nonnull(
        strstr(ct_tape_message(tape), "cannot take the mean along axis 1 of extent 0"));
    ct_free(none);
    ct_tape_rewind(tape, mark);
    ct_error_clear();
}
END_TEST

Suite *suite_grad(void) {
    Suite *suite = suite_create("grad");
    TCase *tc = tcase_create("grad");
    tcase_add_checked_fixture(tc, setup, teardown_well);
    tcase_add_test(tc, an_input_used_twice_gets_both_parts);
    tcase_add_test(tc, every_path_counts_once_per_path);
    tcase_add_test(tc, several_outputs_in_one_pass);
    tcase_add_test(tc, a_second_gradient_starts_afresh);
    tcase_add_test(tc, no_path_is_zeros_without_items);
    tcase_add_test(tc, a_flat_op_stops_the_gradient);
    tcase_add_test(tc, intermediates_can_be_differentiated_for);
    tcase_add_test(tc, a_cotangent_weighs_the_outputs);
    tcase_add_test(tc, wrong_cotangents_and_types_are_errors);
    tcase_add_test(tc, failures_leave_null_variables);
    tcase_add_test(tc, results_may_replace_the_variables);
    tcase_add_test(tc, nothing_flows_to_constants);
    tcase_add_test(tc, logsumexp_weights_sum_to_one_far_out);
    tcase_add_test(tc, cross_entropy_is_the_limit_at_infinity);
    tcase_add_test(tc, angles_of_far_and_near_points);
    tcase_add_test(tc, steps_beyond_an_axis);
    tcase_add_test(tc, orders_one_to_four);
    tcase_add_test(tc, shapes_of_gradients_are_those_of_operands);
    tcase_add_loop_test(tc, transposes_of_linear_ops, 0, CT_OP_COUNT);
    tcase_add_loop_test(tc, error_samples_of_structured_ops, 0, CT_OP_COUNT);
    tcase_add_loop_test(tc, matmul_of_every_rank, 0, 8);
    tcase_add_test(tc, views_by_their_verbs);
    tcase_add_test(tc, mean_divides_and_refuses_nothing);
    suite_add_tcase(suite, tc);
    return suite;
}
