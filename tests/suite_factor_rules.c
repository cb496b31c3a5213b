/* Derivatives of factorisations: the numbers of PyTorch, the three answers of the check to second order,
   what a backward pass does not compute again. */

#include "autodiff/ct_check.h"
#include "autodiff/ct_derivatives.h"
#include "autodiff/ct_sparse.h"
#include "autodiff/ct_var_factor.h"
#include "autodiff/ct_var_ops.h"
#include "autodiff/tape_impl.h"
#include "case_tools.h"
#include "ct_test.h"
#include "factor_tools.h"
#include "scarce_memory.h"
#include "tensor/ct_alloc.h"
#include "tensor/ct_make.h"
#include "tensor/ct_ops.h"

#include <math.h>
#include <string.h>

Suite *suite_factor_rules(void);

static size_t live;

static void setup(void) {
    live = ct_live_blocks();
}

static void teardown(void) {
    ck_assert_uint_eq(ct_live_blocks(), live);
}

/* ---- functions of matrices */

struct call {
    const char *name;
    ct_function *fn;
    size_t n;
    int rank[2];
    int64_t shape[2][3];
    unsigned triangle;
};

static ct_var cholesky(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    (void)context, (void)tape, (void)n;
    return ct_var_cholesky(in[0]);
}

static ct_var solve(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    (void)context, (void)tape, (void)n;
    return ct_var_solve(in[0], in[1]);
}

static ct_var solve_triangular(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    (void)tape, (void)n;
    return ct_var_solve_triangular(in[0], in[1], *(const unsigned *)context);
}

static ct_var inverse(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    (void)context, (void)tape, (void)n;
    return ct_var_inverse(in[0]);
}

static ct_var det(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    (void)context, (void)tape, (void)n;
    return ct_var_det(in[0]);
}

static ct_var log_abs(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    ct_var out;
    (void)context, (void)tape, (void)n;
    ct_var_slogdet(in[0], NULL, &out);
    return out;
}

static ct_var logdet(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    (void)context, (void)tape, (void)n;
    return ct_var_logdet(in[0]);
}

/* log N(y; 0, K) but for its constant, K = s^2 exp(-d^2/2 l^2) + 1/10: of two parameters. */
static ct_var process(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    (void)context, (void)n;
    const ct_scalar *scalar = ct_dtype(ct_value(in[0]));
    enum { POINTS = 5 };
    double squares[POINTS * POINTS], noise[POINTS * POINTS], y[POINTS];
    for (int i = 0; i < POINTS; i++) {
        y[i] = sin(1.3 * i);
        for (int j = 0; j < POINTS; j++) {
            squares[i * POINTS + j] = -0.5 * (i - j) * (i - j);
            noise[i * POINTS + j] = i == j ? 0.1 : 0;
        }
    }
    const int64_t shape[] = {POINTS, POINTS};
    ct_tensor *t[] = {ct_from_doubles(scalar, 2, shape, POINTS * POINTS, squares),
                      ct_from_doubles(scalar, 2, shape, POINTS * POINTS, noise),
                      ct_from_doubles(scalar, 1, shape, POINTS, y)};
    ct_var c[3];
    for (int i = 0; i < 3; i++) {
        c[i] = ct_constant(tape, t[i], NULL);
        ct_free(t[i]);
    }
    ct_var scale = ct_var_select(in[0], 0, 0), length = ct_var_select(in[0], 0, 1);
    ct_var exponent = ct_var_div(c[0], ct_var_square(length));
    ct_var bell = ct_var_mul(ct_var_exp(exponent), scale);
    ct_var l = ct_var_cholesky(ct_var_add(bell, c[1]));
    ct_var z = ct_var_solve_triangular(l, c[2], CT_LOWER);
    ct_var fit = ct_var_sum(ct_var_square(z), CT_ALL, false);
    ct_var volume = ct_var_logdet(l);
    return ct_var_add(fit, volume);
}

static const struct call calls[] = {
    {"cholesky", cholesky, 1, {2}, {{4, 4}}, 0},
    {"cholesky of a batch", cholesky, 1, {3}, {{2, 3, 3}}, 0},
    {"solve", solve, 2, {2, 2}, {{4, 4}, {4, 3}}, 0},
    {"solve for a vector", solve, 2, {2, 1}, {{4, 4}, {4}}, 0},
    {"solve, one matrix for many", solve, 2, {2, 3}, {{3, 3}, {2, 3, 2}}, 0},
    {"solve, many for one vector", solve, 2, {3, 1}, {{2, 3, 3}, {3}}, 0},
    {"inverse", inverse, 1, {2}, {{4, 4}}, 0},
    {"inverse of a batch", inverse, 1, {3}, {{2, 2, 2}}, 0},
    {"det", det, 1, {2}, {{4, 4}}, 0},
    {"log |det|", log_abs, 1, {3}, {{2, 3, 3}}, 0},
    {"logdet", logdet, 1, {2}, {{4, 4}}, 0},
    {"lower", solve_triangular, 2, {2, 2}, {{4, 4}, {4, 2}}, CT_LOWER},
    {"upper", solve_triangular, 2, {2, 2}, {{4, 4}, {4, 2}}, CT_UPPER},
    {"lower'", solve_triangular, 2, {2, 1}, {{4, 4}, {4}}, CT_LOWER | CT_TRANSPOSED},
    {"upper'", solve_triangular, 2, {2, 3}, {{3, 3}, {2, 3, 1}}, CT_UPPER | CT_TRANSPOSED},
    {"lower, ones", solve_triangular, 2, {2, 2}, {{4, 4}, {4, 2}}, CT_LOWER | CT_UNIT_DIAGONAL},
    {"upper, ones", solve_triangular, 2, {3, 1}, {{2, 3, 3}, {3}}, CT_UPPER | CT_UNIT_DIAGONAL},
    {"lower', ones", solve_triangular, 2, {2, 2}, {{4, 4}, {4, 2}}, 6},
    {"upper', ones", solve_triangular, 2, {2, 2}, {{4, 4}, {4, 2}}, 7},
    {"process", process, 1, {1}, {{2}}, 0},
};

/* Heavy on the diagonal; of general functions on the one above it, so that rows change places. */
static ct_tensor *matrix(const struct call *call, uint64_t seed) {
    struct draw draw = {seed};
    ct_tensor *t = draw_tensor(&draw, CT_F64, call->rank[0], call->shape[0], -1, 1);
    if (call->fn == process) {
        ct_free(t);
        return T1(1.5, 1.2);
    }
    int64_t n = ct_extent(t, -1);
    bool turned =
        call->fn == solve || call->fn == inverse || call->fn == det || call->fn == log_abs;
    ct_tensor *one = ct_eye(CT_F64, n, n, turned), *four = ct_full_like(one, 4);
    ct_tensor *heavy = ct_mul(one, four), *sum = ct_add(t, heavy);
    ct_free(t), ct_free(one), ct_free(four), ct_free(heavy);
    return sum;
}

static void inputs_of(const struct call *call, ct_tensor *in[2]) {
    struct draw draw = {5};
    in[0] = matrix(call, 3);
    in[1] = call->n > 1 ? draw_tensor(&draw, CT_F64, call->rank[1], call->shape[1], -2, 2) : NULL;
}

/* ---- checks */

START_TEST(tape_duals_and_differences_agree_to_second_order) {
    const struct call *call = &calls[_i];
    ct_tensor *in[2];
    inputs_of(call, in);
    struct ct_check_options options = ct_check_options_init();
    struct ct_check_report report;
    options.second_order = true;
    unsigned triangle = call->triangle;
    ck_assert_msg(ct_check_gradient(call->fn, &triangle, call->n, (const ct_tensor *const *)in,
                                    &options, &report) == CT_OK,
                  "%s: %s", call->name, ct_error()->message);
    ck_assert_msg(report.verdict == CT_CHECK_PASS, "%s: %s", call->name, report.message);
    ct_free(in[0]), ct_free(in[1]);
}
END_TEST

START_TEST(rows_of_the_table_pass_the_check) {
    static const enum ct_op ops[] = {
        CT_OP_cholesky, CT_OP_solved_triangular, CT_OP_solved,  CT_OP_inverted,
        CT_OP_det,      CT_OP_log_abs_det,       CT_OP_det_sign};
    struct ct_check_options options = ct_check_options_init();
    struct ct_check_report report;
    options.second_order = true;
    ck_assert_msg(ct_check_op(ops[_i], &options, &report) == CT_OK, "%s", ct_error()->message);
    ck_assert_msg(report.verdict == CT_CHECK_PASS, "%s", report.message);
}
END_TEST

/* ---- facts: torch 2.15, f64 */

static ct_tensor *weights(void) {
    return T2(3, 3, 1, 2, 3, -1, .5, 2, .25, -3, 1);
}

/* Gradients of <w, fn(in)>. */
static void gradients(ct_function *fn, unsigned triangle, size_t n, const ct_tensor *const *in,
                      const ct_tensor *w, ct_tensor *out[2]) {
    ck_assert_msg(ct_vjp(fn, &triangle, n, in, w, NULL, out) == CT_OK, "%s", ct_error()->message);
}

START_TEST(gradients_are_those_of_pytorch) {
    ct_tensor *a = a3(), *b = b3(), *r = rhs(), *w = weights(), *g[2];
    ct_tensor *v = T2(3, 2, 1, -1, 2, .5, -.5, 3);
    const ct_tensor *of_a[] = {a, r}, *of_b[] = {b, r};
    gradients(cholesky, 0, 1, of_a, w, g);
    EXPECT("cholesky", g[0], 2e-15, 0.6914174077990122, -0.8785272728245862, 0.44357117918573136,
           -0.8785272728245864, 0.5143485059826455, -0.9998802926578501, 0.4435711791857314,
           -0.9998802926578501, 0.2622022120425378);
    gradients(solve, 0, 2, of_b, v, g);
    EXPECT("solve, a", g[0], 2e-15, 0.3798076923076923, -1.1177884615384615, -1.2644230769230769,
           -0.07026627218934911, -0.0573224852071006, 0.11464497041420117, -0.28920118343195267,
           0.1719674556213017, 0.6560650887573964);
    EXPECT("solve, b", g[1], 2e-15, 0.25, 1.625, 0.1923076923076923, -0.09615384615384615,
           0.42307692307692313, -0.7115384615384616);
    gradients(inverse, 0, 1, of_b, w, g);
    EXPECT("inverse", g[0], 2e-15, 0.3461538461538462, -0.13701923076923078, 0.39903846153846156,
           -0.18343195266272194, -0.183801775147929, 0.0022189349112426144, -0.29585798816568054,
           0.03217455621301775, 0.03180473372781066);
    gradients(det, 0, 1, of_b, NULL, g);
    EXPECT("det", g[0], 2e-15, 0, 6.5, 13, 8, -1, 2, 2, 3, -6);
    gradients(logdet, 0, 1, of_b, NULL, g);
    EXPECT("logdet", g[0], 2e-15, 0, 0.25, 0.5, 0.3076923076923077, -0.038461538461538464,
           0.07692307692307693, 0.07692307692307693, 0.11538461538461539, -0.23076923076923078);
    gradients(solve_triangular, CT_LOWER, 2, of_a, v, g);
    EXPECT("lower, a", g[0], 2e-15, -0.023958333333333366, 0, 0, -0.20416666666666664,
           0.09027777777777776, 0, -0.275, 0.2916666666666667, -0.13916666666666672);
    EXPECT("lower, b", g[1], 2e-15, 0.029166666666666702, 0.03333333333333338, 0.6833333333333332,
           0.06666666666666665, -0.1, 0.6000000000000001);
    gradients(solve_triangular, CT_UPPER | CT_UNIT_DIAGONAL, 2, of_a, v, g);
    EXPECT("upper, ones, a", g[0], 2e-15, 0, 0.25, -2.5, 0, 0, -3.75, 0, 0, 0);
    EXPECT("upper, ones, b", g[1], 2e-15, 1, -1, 1, 1.5, 1, 0.25);
    ct_free(a), ct_free(b), ct_free(r), ct_free(w), ct_free(v);
}
END_TEST

/* <w, fn(x)>, w the context; of solve the right-hand side of the facts. */
static ct_var weighed(ct_var y, const ct_tensor *w) {
    ct_tensor *own = ct_astype(w, ct_dtype(ct_value(y)));
    ct_var c = ct_constant(y.tape, own, NULL);
    ct_free(own);
    return ct_var_sum(ct_var_mul(y, c), CT_ALL, false);
}
static ct_var weighed_cholesky(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    return weighed(cholesky(NULL, tape, n, in), context);
}
static ct_var weighed_solve(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    (void)n;
    ct_tensor *r = rhs(), *own = ct_astype(r, ct_dtype(ct_value(in[0])));
    ct_var b = ct_constant(tape, own, NULL);
    ct_free(r), ct_free(own);
    return weighed(ct_var_solve(in[0], b), context);
}

START_TEST(hessian_products_are_those_of_pytorch) {
    ct_tensor *a = a3(), *b = b3(), *w = weights(), *v = T2(3, 2, 1, -1, 2, .5, -.5, 3), *h;
    ct_tensor *along = T2(3, 3, 1, .5, 0, .5, -1, 2, 0, 2, 1);
    ck_assert_int_eq(
        ct_hvp(logdet, NULL, 1, (const ct_tensor *[]){a}, (const ct_tensor *[]){along}, NULL, &h),
        CT_OK);
    EXPECT("logdet", h, 2e-15, 0.012929687500000009, -0.23343750000000002, 0.05601562500000003,
           -0.23343750000000002, 0.34750000000000003, -0.26812500000000006, 0.056015625000000006,
           -0.26812500000000006, 0.03421875000000001);
    ck_assert_int_eq(ct_hvp(weighed_cholesky, w, 1, (const ct_tensor *[]){a},
                            (const ct_tensor *[]){along}, NULL, &h),
                     CT_OK);
    EXPECT("cholesky", h, 4e-15, 0.13372401460215072, -0.3794210854939747, 0.14131437215067366,
           -0.3794210854939747, 1.1240129148416556, -0.4450122234837535, 0.14131437215067366,
           -0.4450122234837535, 0.016313148987873796);
    ck_assert_int_eq(
        ct_hvp(weighed_solve, v, 1, (const ct_tensor *[]){b}, (const ct_tensor *[]){w}, NULL, &h),
        CT_OK);
    EXPECT("solve", h, 4e-15, 0.1460798816568044, 3.3699611686390534, 6.159116124260356,
           -0.21364360491579423, 0.3993016044606282, 0.38852696859353664, -0.5733813154301319,
           -0.8102383932635413, -1.1909137460172965);
    ct_free(a), ct_free(b), ct_free(w), ct_free(v), ct_free(along);
}
END_TEST

/* Along any direction, symmetric or not: <w, J v> = <J' w, v>. */
START_TEST(forward_and_reverse_are_adjoint) {
    const struct call *call = &calls[_i];
    ct_tensor *in[2], *along[2] = {NULL}, *back[2], *value, *forward;
    struct draw draw = {17};
    unsigned triangle = call->triangle;
    inputs_of(call, in);
    for (size_t i = 0; i < call->n; i++)
        along[i] = draw_tensor(&draw, CT_F64, ct_rank(in[i]), ct_shape(in[i]), -1, 1);
    ck_assert_int_eq(ct_jvp(call->fn, &triangle, call->n, (const ct_tensor *const *)in,
                            (const ct_tensor *const *)along, &value, &forward),
                     CT_OK);
    ct_tensor *w = draw_tensor(&draw, CT_F64, ct_rank(value), ct_shape(value), -1, 1);
    gradients(call->fn, triangle, call->n, (const ct_tensor *const *)in, w, back);
    ct_tensor *left = ct_mul(w, forward), *sum = ct_sum(left, CT_ALL, false);
    double difference = ct_item(sum), scale = 1 + fabs(difference);
    ct_free(left), ct_free(sum);
    for (size_t i = 0; i < call->n; i++) {
        ct_tensor *right = ct_mul(back[i], along[i]);
        sum = ct_sum(right, CT_ALL, false);
        difference -= ct_item(sum);
        ct_free(right), ct_free(sum), ct_free(back[i]), ct_free(along[i]), ct_free(in[i]);
    }
    ck_assert_msg(fabs(difference) <= 1e-12 * scale, "%s: off by %g", call->name, difference);
    ct_free(value), ct_free(forward), ct_free(w);
}
END_TEST

/* The squared gradient of log det(x x' + 1) by Cholesky: its second order is the third of the rules. */
static ct_var squared_gradient(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    (void)context, (void)n;
    ct_tensor *one = ct_eye(ct_dtype(ct_value(in[0])), 3, 3, 0);
    ct_var identity = ct_constant(tape, one, NULL), slope;
    ct_free(one);
    ct_var product = ct_var_matmul(in[0], ct_var_transpose(in[0]));
    ct_var l = ct_var_cholesky(ct_var_add(product, identity));
    ct_grad(ct_var_logdet(l), ct_var_null(), 1, in, &slope);
    return ct_var_sum(ct_var_square(slope), CT_ALL, false);
}

START_TEST(third_order_exists) {
    ct_tensor *x = weights();
    struct ct_check_options options = ct_check_options_init();
    struct ct_check_report report;
    options.second_order = true;
    ck_assert_msg(ct_check_gradient(squared_gradient, NULL, 1, (const ct_tensor *[]){x}, &options,
                                    &report) == CT_OK,
                  "%s", ct_error()->message);
    ck_assert_msg(report.verdict == CT_CHECK_PASS, "%s", report.message);
    ct_free(x);
}
END_TEST

/* Patterns are a scalar type: matrices of a batch do not know each other. */
START_TEST(patterns_pass_through) {
    const struct call *call = &calls[5]; /* two 3 x 3 for one vector */
    ct_tensor *in[2];
    inputs_of(call, in);
    const ct_tensor *const *inputs = (const ct_tensor *const *)in;
    ct_pattern *pattern = ct_jacobian_pattern(call->fn, NULL, 2, inputs, 0);
    ck_assert_msg(pattern != NULL, "%s", ct_error()->message);
    ck_assert_uint_eq(ct_pattern_count(pattern), 2 * 3 * 9);
    ct_tensor *entries = ct_jacobian_sparse(call->fn, NULL, 2, inputs, 0, pattern);
    ct_tensor *found = ct_pattern_dense(pattern, entries);
    ct_tensor *wanted = ct_jacobian(call->fn, NULL, 2, inputs, 0, CT_MODE_FORWARD);
    ct_tensor *flat = ct_reshape(wanted, 2, (int64_t[]){6, 18});
    ck_assert(same_values(found, flat));
    ct_tensor *all[] = {in[0], in[1], entries, found, wanted, flat};
    for (size_t i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
    ct_pattern_free(pattern);
}
END_TEST

/* Cofactors, though no inverse exists: of rank n - 1 with its second and with its first column at fault, of
   rank 1 and of rank 0; reverse, forward and differences, to second order. */
START_TEST(determinants_of_singular_matrices_have_derivatives) {
    static const double items[][9] = {{1, 2, 3, 4, 8, 5, 2, 4, 7},
                                      {0, 1, 2, 0, 3, 4, 0, 5, 7},
                                      {1, 2, 4, 2, 4, 8, 4, 8, 16},
                                      {0}};
    static const double cofactors[][9] = {
        {36, -18, 0, -2, 1, 0, -14, 7, 0}, {1, 0, 0, 3, 0, 0, -2, 0, 0}, {0}, {0}};
    ct_tensor *a = tensor_of(2, (int64_t[]){3, 3}, 9, items[_i]), *g[2];
    struct ct_check_options options = ct_check_options_init();
    struct ct_check_report report;
    options.second_order = true;
    ct_tensor *value = ct_det(a);
    ck_assert_double_eq(ct_item(value), 0);
    gradients(det, 0, 1, (const ct_tensor *[]){a}, NULL, g);
    expect_items("cofactors", g[0], 1e-14, 9, cofactors[_i]);
    ck_assert_msg(ct_check_gradient(det, NULL, 1, (const ct_tensor *[]){a}, &options, &report) ==
                      CT_OK,
                  "%s", ct_error()->message);
    ck_assert_msg(report.verdict == CT_CHECK_PASS, "%s", report.message);
    ct_free(a), ct_free(value);
}
END_TEST

/* ---- the tape */

static ct_var leaf(ct_tape *tape, ct_tensor *t) {
    ct_var v = ct_leaf(tape, t, NULL);
    ct_free(t);
    return v;
}

/* A solution, its pull, the pull of that, an inverse and a determinant: one factorisation. */
START_TEST(a_matrix_is_factored_once) {
    ct_tape *tape = ct_tape_new();
    ct_var a = leaf(tape, b3()), b = leaf(tape, rhs()), x = ct_var_solve(a, b), dx[2], ddx;
    const ct_tensor *made = ct__lu_at(tape, a.index)->lu;
    ck_assert_int_eq(ct_grad(x, ct_var_null(), 2, (ct_var[]){a, b}, dx), CT_OK);
    ct_var both = ct_var_add(ct_var_sum(dx[0], CT_ALL, false), ct_var_logdet(a));
    ck_assert_int_eq(ct_grad(both, ct_var_null(), 1, &a, &ddx), CT_OK);
    ck_assert_ptr_eq(ct__lu_at(tape, a.index)->lu, made);
    /* and the pull is the substitution with those factors, transposed */
    ct_tensor *m = b3(), *lu, *order, *ones = ct_ones(CT_F64, 2, (int64_t[]){3, 2});
    ck_assert_int_eq(ct_lu(m, &lu, &order), CT_OK);
    ct_tensor *wanted = ct_lu_solve(lu, order, ones, true);
    ck_assert(same_bits(ct_value(dx[1]), wanted));
    ct_free(m), ct_free(lu), ct_free(order), ct_free(ones), ct_free(wanted);
    ct_tape_free(tape);
}
END_TEST

/* In a loop of record, gradient and rewind nothing is left, and factors do not outlive their matrix. */
START_TEST(a_rewind_forgets_factors) {
    ct_tape *tape = ct_tape_new();
    ct_mark start = ct_tape_mark(tape);
    for (int turn = 1; turn < 4; turn++) {
        ct_tensor *m = ct_full(CT_F64, 2, (int64_t[]){1, 1}, turn), *one = T1(1);
        ct_var a = leaf(tape, m), b = leaf(tape, one), dx;
        ct_var x = ct_var_solve(a, b);
        ct_mark later = ct_tape_mark(tape);
        ck_assert_int_eq(ct_grad(x, ct_var_null(), 1, &a, &dx), CT_OK);
        ck_assert_double_eq(ct_value_item(dx), -1.0 / turn * (1.0 / turn));
        ck_assert_int_eq(ct_tape_rewind(tape, later), CT_OK);
        ck_assert_double_eq(ct_value_item(ct_var_det(a)), turn);
        ck_assert_int_eq(ct_tape_rewind(tape, start), CT_OK);
    }
    ct_tape_free(tape);
}
END_TEST

START_TEST(errors_stick_and_say_which_matrix) {
    static const char *const texts[] = {
        "node 2, solved(f64[2, 2], f64[2, 1]): the matrix is singular: pivot 1 is 0",
        "node 1, inverted(f64[2, 2]): the matrix is singular: pivot 1 is 0",
        "cholesky(f64[2, 2]): the matrix is not positive definite: pivot 1 is 0",
        "solved(f64[2, 2], f64[3]): the right-hand side needs as many rows as the matrix",
        "solved_triangular(f64[2, 2], f64[3]): the right-hand side needs as many rows",
        "det(f64[3]): square matrices are needed, as the last two axes: [3]",
        "cholesky(f64[3]): square matrices are needed",
    };
    ct_tape *tape = ct_tape_new();
    ct_var a = leaf(tape, T2(2, 2, 1, 1, 1, 1));
    ct_var b = _i == 1 ? a : leaf(tape, _i < 3 ? T2(2, 1, 1, 1) : T1(1, 2, 3));
    ct_var y = _i == 0   ? ct_var_solve(a, b)
               : _i == 1 ? ct_var_inverse(a)
               : _i == 2 ? ct_var_cholesky(a)
               : _i == 3 ? ct_var_solve(a, b)
               : _i == 4 ? ct_var_solve_triangular(a, b, CT_LOWER)
               : _i == 5 ? ct_var_det(b)
                         : ct_var_cholesky(b);
    ck_assert(ct_var_is_null(y));
    ck_assert_msg(strstr(ct_tape_message(tape), texts[_i]), "%s", ct_tape_message(tape));
    ck_assert(ct_var_is_null(ct_var_solve(a, y)));
    ck_assert(ct_var_is_null(ct_var_logdet(a)));
    ct_tape_free(tape);
    ck_assert(ct_var_is_null(ct_var_det(ct_var_null())));
    ck_assert(ct_var_is_null(ct_var_solve(ct_var_null(), ct_var_null())));
}
END_TEST

static ct_var logdet_of(void *context, ct_tape *tape, size_t n, const ct_var *inputs) {
    (void)context, (void)tape, (void)n;
    return ct_var_logdet(inputs[0]);
}

START_TEST(logarithms_of_0_have_no_derivative_in_any_mode) {
    static const double of[][4] = {{0, 1, 0, 1}, {1, 2, 2, 4}, {0, 0, 0, 0}};
    ct_tensor *a = ct_from_items(CT_F64, 2, (int64_t[]){2, 2}, 4, of[_i]);
    ct_tensor *along = T2(2, 2, 0, 0, 1, 0), *products[1] = {NULL}, *product = NULL;
    const ct_tensor *inputs[] = {a}, *tangents[] = {along};
    ck_assert_int_eq(ct_jvp(logdet_of, NULL, 1, inputs, tangents, NULL, &product), CT_EDOMAIN);
    ck_assert_ptr_nonnull(strstr(ct_error()->message, "is singular: pivot"));
    ck_assert_int_eq(ct_vjp(logdet_of, NULL, 1, inputs, NULL, NULL, products), CT_EDOMAIN);
    ck_assert_ptr_nonnull(strstr(ct_error()->message, "is singular: pivot"));
    ck_assert(!product && !products[0]);
    ct_free(a), ct_free(along);
}
END_TEST

/* The sign has no gradient, and where the determinant is negative its logarithm is NaN. */
START_TEST(signs_are_flat) {
    ct_tape *tape = ct_tape_new();
    ct_var a = leaf(tape, T2(2, 2, 0, 1, 2, 0)), sign, log_of, dx;
    ck_assert_int_eq(ct_var_slogdet(a, &sign, &log_of), CT_OK);
    ck_assert_double_eq(ct_value_item(sign), -1);
    ck_assert_double_eq(ct_value_item(log_of), log(2));
    ck_assert(isnan(ct_value_item(ct_var_logdet(a))));
    ck_assert_int_eq(ct_grad(sign, ct_var_null(), 1, &a, &dx), CT_OK);
    EXPECT("gradient", ct_copy(ct_value(dx)), 0, 0, 0, 0, 0);
    ct_tape_free(tape);
}
END_TEST

START_TEST(failing_allocations_lose_nothing) {
    if (!make_memory_scarce())
        return;
    ct_tensor *x = T1(1.5, 1.2), *v = T1(1, -1), *b = b3(), *w = weights();
    for (int which = 0; which < 2; which++) {
        bool done = false;
        for (long left = 0; !done; left++) {
            ct_tensor *made = NULL;
            size_t before = ct_live_blocks();
            starve(left);
            if (which == 0)
                ct_hvp(process, NULL, 1, (const ct_tensor *[]){x}, (const ct_tensor *[]){v}, NULL,
                       &made);
            else
                ct_hvp(log_abs, NULL, 1, (const ct_tensor *[]){b}, (const ct_tensor *[]){w}, NULL,
                       &made);
            allocations_left = -1;
            done = survived(made, before);
            ck_assert_int_lt(left, 4000);
        }
    }
    ct_free(x), ct_free(v), ct_free(b), ct_free(w);
}
END_TEST

Suite *suite_factor_rules(void) {
    Suite *suite = suite_create("factor_rules");
    TCase *tc = tcase_create("rules");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, tape_duals_and_differences_agree_to_second_order, 0, COUNT(calls));
    tcase_add_loop_test(tc, rows_of_the_table_pass_the_check, 0, 7);
    tcase_add_test(tc, gradients_are_those_of_pytorch);
    tcase_add_test(tc, hessian_products_are_those_of_pytorch);
    tcase_add_loop_test(tc, forward_and_reverse_are_adjoint, 0, COUNT(calls));
    tcase_add_loop_test(tc, determinants_of_singular_matrices_have_derivatives, 0, 4);
    tcase_add_test(tc, third_order_exists);
    tcase_add_test(tc, patterns_pass_through);
    tcase_add_test(tc, a_matrix_is_factored_once);
    tcase_add_test(tc, a_rewind_forgets_factors);
    tcase_add_loop_test(tc, errors_stick_and_say_which_matrix, 0, 7);
    tcase_add_loop_test(tc, logarithms_of_0_have_no_derivative_in_any_mode, 0, 3);
    tcase_add_test(tc, signs_are_flat);
    suite_add_tcase(suite, tc);
    TCase *scarce = tcase_create("failing allocations");
    tcase_add_test(scarce, failing_allocations_lose_nothing);
    suite_add_tcase(suite, scarce);
    return suite;
}
