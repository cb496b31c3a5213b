#include "ops_parts.h"

#include <string.h>

#include "autodiff/ct_check.h"
#include "case_tools.h"
#include "dual/ct_dual.h"
#include "tensor/ct_alloc.h"

/* ---- duals */

/* The gradient of <y, cotangent> in one argument, by the tape; a copy. */
static ct_tensor *pull(enum ct_op op, ct_tensor *const in[], int argument,
                       const ct_tensor *cotangent) {
    ct_tape *tape = ct_tape_new();
    ct_var x[MOST_ARGUMENTS], dx;
    for (int i = 0; i < op_oracle(op)->arity; i++)
        x[i] = i == argument ? ct_leaf(tape, in[i], "x") : ct_constant(tape, in[i], "c");
    ct_var y = op_oracle(op)->record(x);
    ct_status status = ct_grad(y, ct_constant(tape, cotangent, "g"), 1, &x[argument], &dx);
    ck_assert_msg(status == CT_OK, "%s: %s", ct_op_name(op), ct_tape_message(tape));
    ct_tensor *copy = ct_copy(ct_value(dx));
    ct_tape_free(tape);
    return copy;
}

/* Forward along one argument against the tape's pull of the same tangent. */
static void check_tangent(enum ct_op op, const ct_scalar *scalar, int argument) {
    int arity = op_oracle(op)->arity;
    ct_tensor *in[MOST_ARGUMENTS] = {NULL}, *lifted[MOST_ARGUMENTS] = {NULL};
    draw_inputs(op, scalar, 1, (int64_t[]){45}, in);
    struct draw draw = {7};
    ct_tensor *tangent = draw_tensor(&draw, scalar, 1, (int64_t[]){45}, -2, 2);
    for (int i = 0; i < arity; i++)
        lifted[i] =
            op_takes_mask(op, i) ? ct_copy(in[i]) : ct_dual(in[i], i == argument ? tangent : NULL);
    ct_tensor *y = apply_row(op, in), *dual = apply_row(op, lifted), *value = ct_dual_value(dual);
    ck_assert_msg(same_bits(value, y), "%s: dual %s has another value", ct_op_name(op),
                  scalar->name);
    ct_tensor *forward = ct_dual_tangent(dual), *reverse = pull(op, in, argument, tangent);
    ck_assert_msg(same_values(forward, reverse), "%s: dual %s and tape disagree in argument %d",
                  ct_op_name(op), scalar->name, argument);
    ct_free(y);
    ct_free(dual);
    ct_free(value);
    ct_free(forward);
    ct_free(reverse);
    ct_free(tangent);
    free_all(arity, in);
    free_all(arity, lifted);
}

/* Comparisons and tests look at values alone. */
static void check_dual_mask(enum ct_op op, const ct_scalar *scalar) {
    ct_tensor *in[MOST_ARGUMENTS] = {NULL}, *lifted[MOST_ARGUMENTS] = {NULL};
    int arity = op_oracle(op)->arity;
    draw_inputs(op, scalar, 1, (int64_t[]){45}, in);
    for (int i = 0; i < arity; i++)
        lifted[i] = ct_dual(in[i], in[arity - 1 - i]);
    ct_tensor *y = apply_row(op, in), *dual = apply_row(op, lifted);
    ck_assert_msg(same_bits(dual, y), "%s: other truth for dual %s", ct_op_name(op), scalar->name);
    ct_free(y);
    ct_free(dual);
    free_all(arity, in);
    free_all(arity, lifted);
}

START_TEST(row_is_the_same_on_duals) {
    enum ct_op op = (enum ct_op)_i;
    for (size_t s = 0; is_elementwise(op) && s < COUNT(real_scalars); s++) {
        if (ct_op_kind_of(op) == CT_KIND_LOGIC)
            ck_assert_msg(!ct_scalar_loop(ct_dual_of(real_scalars[s]), op), "duals have no logic");
        else if (op_gives_mask(op))
            check_dual_mask(op, real_scalars[s]);
        for (int i = 0; !op_gives_mask(op) && i < op_oracle(op)->arity; i++) {
            if (!op_takes_mask(op, i))
                check_tangent(op, real_scalars[s], i);
        }
    }
}
END_TEST

/* An argument as a dual over duals: first along the inner unit, second along the outer one. */
static ct_tensor *lift_twice(const ct_tensor *value, bool first, bool second) {
    ct_tensor *one = ct_ones(CT_F64, ct_rank(value), ct_shape(value));
    ct_tensor *inner = ct_dual(value, first ? one : NULL);
    ct_tensor *outer = second ? ct_dual(one, NULL) : NULL, *lifted = ct_dual(inner, outer);
    ct_free(one);
    ct_free(inner);
    ct_free(outer);
    return lifted;
}

static ct_tensor *second_forward(enum ct_op op, ct_tensor *const in[], int i, int j) {
    ct_tensor *lifted[MOST_ARGUMENTS] = {NULL};
    for (int k = 0; k < op_oracle(op)->arity; k++)
        lifted[k] = op_takes_mask(op, k) ? ct_copy(in[k]) : lift_twice(in[k], k == i, k == j);
    ct_tensor *y = apply_row(op, lifted), *outer = ct_dual_tangent(y),
              *inner = ct_dual_tangent(outer);
    ct_free(y);
    ct_free(outer);
    free_all(op_oracle(op)->arity, lifted);
    return inner;
}

static ct_tensor *second_reverse(enum ct_op op, ct_tensor *const in[], int i, int j) {
    ct_tape *tape = ct_tape_new();
    ct_var x[MOST_ARGUMENTS], first, second;
    for (int k = 0; k < op_oracle(op)->arity; k++)
        x[k] = op_takes_mask(op, k) ? ct_constant(tape, in[k], NULL) : ct_leaf(tape, in[k], NULL);
    ct_grad(op_oracle(op)->record(x), ct_var_null(), 1, &x[i], &first);
    ct_status status = ct_grad(first, ct_var_null(), 1, &x[j], &second);
    ck_assert_msg(status == CT_OK, "%s: %s", ct_op_name(op), ct_tape_message(tape));
    ct_tensor *copy = ct_copy(ct_value(second));
    ct_tape_free(tape);
    return copy;
}

START_TEST(row_has_equal_second_derivatives) {
    enum ct_op op = (enum ct_op)_i;
    if (!is_elementwise(op) || op_gives_mask(op))
        return;
    ct_tensor *in[MOST_ARGUMENTS] = {NULL};
    int arity = op_oracle(op)->arity;
    draw_inputs(op, CT_F64, 1, (int64_t[]){21}, in);
    for (int i = op_takes_mask(op, 0); i < arity; i++) {
        for (int j = op_takes_mask(op, 0); j < arity; j++) {
            ct_tensor *forward = second_forward(op, in, i, j),
                      *reverse = second_reverse(op, in, i, j);
            ck_assert_msg(ct_all_close(forward, reverse, 1e-12, 1e-12),
                          "%s: second derivative in arguments %d and %d", ct_op_name(op), i, j);
            ct_free(forward);
            ct_free(reverse);
        }
    }
    free_all(arity, in);
}
END_TEST

/* ---- gradients */

START_TEST(row_passes_the_gradient_check) {
    enum ct_op op = (enum ct_op)_i;
    struct ct_check_options options = ct_check_options_init();
    struct ct_check_report report;
    options.second_order = true;
    size_t blocks = ct_live_blocks();
    ct_status status = ct_check_op(op, &options, &report);
    ck_assert_msg(status == CT_OK, "%s: %s", ct_op_name(op), ct_error()->message);
    ck_assert_msg(report.verdict == CT_CHECK_PASS, "%s: %s", ct_op_name(op), report.message);
    ck_assert_msg(ct_live_blocks() == blocks, "%s: the check leaks", ct_op_name(op));
}
END_TEST

static bool is_flat(enum ct_op op, int argument) {
    const char *text = ct_op_pull_text(op, argument);
    return op_gives_mask(op) || (text && strcmp(text, "FLAT") == 0);
}

/* y itself where it is a number, or a choice by it where it is a mask. */
static ct_var as_number(enum ct_op op, ct_tape *tape, const ct_var x[]) {
    ct_var y = op_oracle(op)->record(x);
    if (!op_gives_mask(op))
        return y;
    const ct_var choice[] = {y, ct_constant_of(tape, CT_F64, 2), ct_constant_of(tape, CT_F64, 3)};
    return op_oracle(CT_OP_where)->record(choice);
}

/* Zeros by zero strides: no path, nothing allocated. */
START_TEST(flat_arguments_have_no_gradient) {
    enum ct_op op = (enum ct_op)_i;
    ct_tensor *in[MOST_ARGUMENTS] = {NULL}, *zeros = ct_zeros(CT_F64, 1, (int64_t[]){9});
    if (is_elementwise(op))
        draw_inputs(op, CT_F64, 1, (int64_t[]){9}, in);
    for (int i = 0; is_elementwise(op) && i < op_oracle(op)->arity; i++) {
        if (op_takes_mask(op, i) || !is_flat(op, i))
            continue;
        ct_tape *tape = ct_tape_new();
        ct_var x[MOST_ARGUMENTS], dx;
        for (int k = 0; k < op_oracle(op)->arity; k++)
            x[k] =
                op_takes_mask(op, k) ? ct_constant(tape, in[k], NULL) : ct_leaf(tape, in[k], NULL);
        ct_status status = ct_grad(as_number(op, tape, x), ct_var_null(), 1, &x[i], &dx);
        ck_assert_msg(status == CT_OK, "%s: %s", ct_op_name(op), ct_tape_message(tape));
        ck_assert_msg(same_bits(ct_value(dx), zeros), "%s: argument %d is not flat", ct_op_name(op),
                      i);
        ck_assert_msg(ct_strides(ct_value(dx))[0] == 0, "%s: the zeros take memory",
                      ct_op_name(op));
        ct_tape_free(tape);
    }
    ct_free(zeros);
    free_all(MOST_ARGUMENTS, in);
}
END_TEST

/* ---- kinks, poles and ends of the range */

static const struct point {
    enum ct_op op;
    double x[2], cotangent, dx[2];
} points[] = {
    {CT_OP_div, {2, 1e-310}, 1e-300, {1e-300 / 1e-310, -INF}},
    {CT_OP_div,
     {1e-320, 1e-310},
     1e-300,
     {1e-300 / 1e-310, -(1e-300 * (1e-320 / 1e-310 / 1e-310))}},
    {CT_OP_div, {1, 0}, 0, {0, 0}},
    {CT_OP_div, {0, 2}, 1, {0.5, -0.0}},
    {CT_OP_sdiv, {0, 0}, 0, {0, 0}},
    {CT_OP_sdiv, {3, 2}, 1, {0.5, -0.75}},
    {CT_OP_fmax, {QNAN, 1}, 1, {0, 1}},
    {CT_OP_fmax, {1, QNAN}, 1, {1, 0}},
    {CT_OP_fmax, {QNAN, QNAN}, 1, {0.5, 0.5}},
    {CT_OP_fmax, {2, 2}, 1, {0.5, 0.5}},
    {CT_OP_fmin, {QNAN, 1}, 1, {0, 1}},
    {CT_OP_fmin, {1, QNAN}, 1, {1, 0}},
    {CT_OP_fmin, {QNAN, QNAN}, 1, {0.5, 0.5}},
    {CT_OP_fmin, {1, 2}, 1, {1, 0}},
    {CT_OP_mod, {-5, 3}, 1, {1, 2}},
    {CT_OP_mod, {5, INF}, 1, {1, -0.0}},
    {CT_OP_fmod, {-5, 3}, 1, {1, 1}},
    {CT_OP_floor_div, {-5, 3}, 1, {0, 0}},
    {CT_OP_copysign, {-2, -0.0}, 1, {1, 0}},
    {CT_OP_copysign, {2, -1}, 1, {-1, 0}},
    {CT_OP_copysign, {0, 1}, 1, {0, 0}},
    {CT_OP_leaky_relu, {0, 0.25}, 1, {0.25, 0}},
    {CT_OP_leaky_relu, {-4, 0.25}, 1, {0.25, -4}},
    {CT_OP_celu, {0, 2}, 1, {1, 0}},
    {CT_OP_celu, {-INF, 2}, 1, {0, -1}},
    {CT_OP_thresholded_relu, {1, 1}, 1, {0, 0}},
    {CT_OP_cbrt, {0}, 1, {INF}},
    {CT_OP_acosh, {1}, 1, {INF}},
    {CT_OP_asinh, {1e300}, 1, {1e-300}},
    {CT_OP_softsign, {-INF}, 1, {0}},
    {CT_OP_hard_sigmoid, {3}, 1, {0}},
    {CT_OP_hard_swish, {3}, 1, {1}},
    {CT_OP_hard_swish, {-3}, 1, {0}},
    {CT_OP_mish, {-INF}, 1, {0}},
    {CT_OP_mish, {INF}, 1, {1}},
    {CT_OP_selu, {-INF}, 1, {0}},
    {CT_OP_lgamma, {0}, 1, {-INF}},
    {CT_OP_digamma, {1}, 1, {0x1.a51a6625307d3p0}},
};

static void check_point(const struct point *p, int argument, double got, const char *by) {
    double right = p->dx[argument], size = right < 0 ? -right : right;
    double off = got - right;
    bool same =
        right != right ? got != got : got == right || (off < 0 ? -off : off) <= 1e-15 * size;
    ck_assert_msg(same, "%s(%g, %g): its derivative in argument %d by %s is %.17g and not %.17g",
                  ct_op_name(p->op), p->x[0], p->x[1], argument, by, got, right);
}

static double item_of(const ct_tensor *t) {
    double value;
    ck_assert_int_eq(ct_get(t, 0, NULL, &value), CT_OK);
    return value;
}

START_TEST(derivative_at_a_point) {
    const struct point *p = &points[_i];
    int arity = op_oracle(p->op)->arity;
    ct_tensor *in[MOST_ARGUMENTS] = {NULL}, *cotangent = T0(p->cotangent);
    for (int i = 0; i < arity; i++)
        in[i] = T0(p->x[i]);
    for (int i = 0; i < arity; i++) {
        ct_tensor *lifted[MOST_ARGUMENTS] = {NULL}, *reverse = pull(p->op, in, i, cotangent);
        for (int k = 0; k < arity; k++)
            lifted[k] = ct_dual(in[k], k == i ? cotangent : NULL);
        ct_tensor *y = apply_row(p->op, lifted), *forward = ct_dual_tangent(y);
        check_point(p, i, item_of(reverse), "the tape");
        check_point(p, i, item_of(forward), "dual numbers");
        ct_free(reverse);
        ct_free(forward);
        ct_free(y);
        free_all(arity, lifted);
    }
    ct_free(cotangent);
    free_all(arity, in);
}
END_TEST

void add_derivatives(TCase *tc) {
    tcase_add_loop_test(tc, derivative_at_a_point, 0, COUNT(points));
    EACH_ROW(tc, row_is_the_same_on_duals);
    EACH_ROW(tc, row_has_equal_second_derivatives);
    EACH_ROW(tc, row_passes_the_gradient_check);
    EACH_ROW(tc, flat_arguments_have_no_gradient);
}
