/* Derivatives of functions: products with Jacobians and Hessians, and both whole, against closed forms. */

#include "autodiff/ct_derivatives.h"
#include "autodiff/ct_var_ops.h"
#include "case_tools.h"
#include "ct_test.h"
#include "dual/ct_dual.h"
#include "scarce_memory.h"
#include "tensor/ct_alloc.h"
#include "tensor/ct_convert.h"
#include "tensor/ct_ops.h"
#include "tensor/ct_make.h"

#include <math.h>
#include <string.h>

static size_t live;

static void setup(void) {
    ct_error_clear();
    live = ct_live_blocks();
}

static void teardown(void) {
    ck_assert_uint_eq(ct_live_blocks(), live);
}

static void ok(ct_status status) {
    ck_assert_msg(status == CT_OK, "%s", ct_error()->message);
}

static const ct_scalar *type_of(ct_var v) {
    return ct_dtype(ct_value(v));
}

/* --- functions with derivatives known in closed form --- */

/* a x, a of the context */
static ct_var linear(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    (void)n;
    ct_tensor *a = ct_astype(context, type_of(in[0]));
    ct_var weights = ct_constant(tape, a, NULL);
    ct_free(a);
    return ct_var_matmul(weights, in[0]);
}

/* tanh(a x) */
static ct_var layer(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    return ct_var_tanh(linear(context, tape, n, in));
}

/* sum x^3 */
static ct_var cubes(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    (void)context, (void)tape, (void)n;
    return ct_var_sum(ct_var_mul(in[0], ct_var_square(in[0])), CT_ALL, false);
}

/* x^T z + sum x^2 z^2 / 2: mixed second derivatives */
static ct_var mixed(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    (void)context, (void)n;
    ct_var p = ct_var_mul(in[0], in[1]);
    ct_var half = ct_constant_of(tape, type_of(in[0]), 0.5);
    ct_var q = ct_var_mul(half, ct_var_square(p));
    return ct_var_sum(ct_var_add(p, q), CT_ALL, false);
}

/* log sum exp x, whose Hessian is diag(p) - p p^T */
static ct_var free_energy(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    (void)context, (void)tape, (void)n;
    return ct_var_logsumexp(in[0], 0, false);
}

static ct_var sum_of_squares(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    (void)context, (void)tape, (void)n;
    return ct_var_sum(ct_var_square(in[0]), CT_ALL, false);
}

static ct_var squares(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    (void)context, (void)tape, (void)n;
    return ct_var_square(in[0]);
}

static ct_var nothing(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    (void)context, (void)tape, (void)n, (void)in;
    return ct_var_null();
}

/* Has 2 items first and 3 afterwards. */
static ct_var changing(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    (void)tape, (void)n;
    int *calls = context;
    return ct_var_slice(in[0], 0, 0, 2 + ((*calls)++ > 0), 1);
}

/* --- products --- */

START_TEST(a_forward_product_and_its_value) {
    ct_tensor *a = T2(2, 3, 1, -1, 0.5, 0, 2, 1), *x = T1(0.1, 0.2, -0.3), *v = T1(1, 2, -1);
    ct_tensor *value, *product;
    ok(ct_jvp(layer, a, 1, (const ct_tensor *[]){x}, (const ct_tensor *[]){v}, &value, &product));
    double y0 = tanh(0.1 - 0.2 - 0.15), y1 = tanh(0.4 - 0.3);
    EXPECT("value", value, 1e-15, y0, y1);
    EXPECT("product", product, 1e-15, (1 - y0 * y0) * -1.5, (1 - y1 * y1) * 3);
    ct_free(a), ct_free(x), ct_free(v);
}
END_TEST

START_TEST(a_reverse_product_and_its_value) {
    ct_tensor *a = T2(2, 3, 1, -1, 0.5, 0, 2, 1), *x = T1(0.1, 0.2, -0.3), *u = T1(2, -1);
    ct_tensor *value, *product;
    ok(ct_vjp(layer, a, 1, (const ct_tensor *[]){x}, u, &value, &product));
    double d0 = 1 - pow(tanh(0.1 - 0.2 - 0.15), 2), d1 = 1 - pow(tanh(0.1), 2);
    EXPECT("value", value, 1e-15, tanh(-0.25), tanh(0.1));
    EXPECT("product", product, 1e-15, 2 * d0, -2 * d0 - 2 * d1, d0 - d1);
    ok(ct_vjp(cubes, NULL, 1, (const ct_tensor *[]){x}, NULL, NULL, &product));
    EXPECT("gradient", product, 1e-15, 3 * 0.01, 3 * 0.04, 3 * 0.09);
    ct_free(a), ct_free(x), ct_free(u);
}
END_TEST

/* <u, J v> = <J^T u, v> for f32 too, whose duals are made over f32. */
START_TEST(forward_and_reverse_are_adjoint) {
    struct draw draw = {3};
    const ct_scalar *types[] = {CT_F32, CT_F64};
    for (size_t t = 0; t < COUNT(types); t++) {
        ct_tensor *a = draw_tensor(&draw, CT_F64, 2, (int64_t[]){5, 7}, -1, 1);
        ct_tensor *x = draw_tensor(&draw, types[t], 1, (int64_t[]){7}, -1, 1);
        ct_tensor *v = draw_tensor(&draw, types[t], 1, (int64_t[]){7}, -1, 1);
        ct_tensor *u = draw_tensor(&draw, types[t], 1, (int64_t[]){5}, -1, 1);
        ct_tensor *forward, *back;
        ok(ct_jvp(layer, a, 1, (const ct_tensor *[]){x}, (const ct_tensor *[]){v}, NULL, &forward));
        ok(ct_vjp(layer, a, 1, (const ct_tensor *[]){x}, u, NULL, &back));
        ck_assert_ptr_eq(ct_dtype(forward), types[t]);
        ck_assert_ptr_eq(ct_dtype(back), types[t]);
        double left[5], right[7], us[5], vs[7], sum = 0;
        ok(ct_to_doubles(forward, 5, left)), ok(ct_to_doubles(u, 5, us));
        ok(ct_to_doubles(back, 7, right)), ok(ct_to_doubles(v, 7, vs));
        for (int i = 0; i < 5; i++)
            sum += left[i] * us[i];
        for (int i = 0; i < 7; i++)
            sum -= right[i] * vs[i];
        ck_assert_double_lt(fabs(sum), types[t] == CT_F32 ? 1e-5 : 1e-14);
        ct_free(a), ct_free(x), ct_free(v), ct_free(u), ct_free(forward), ct_free(back);
    }
}
END_TEST

START_TEST(a_hessian_product_and_the_gradient_beside_it) {
    ct_tensor *x = T1(1, -2, 3), *z = T1(0.5, 1, -1), *v = T1(1, 0, 2);
    ct_tensor *gradient[2], *product[2];
    /* f = sum xz + (xz)^2/2; f_x = z + x z^2; f_xx = z^2; f_xz = 1 + 2 x z */
    ok(ct_hvp(mixed, NULL, 2, (const ct_tensor *[]){x, z}, (const ct_tensor *[]){v, NULL}, gradient,
              product));
    EXPECT("f_x", gradient[0], 1e-15, 0.5 + 0.25, 1 - 2, -1 + 3);
    EXPECT("f_z", gradient[1], 1e-15, 1 + 0.5, -2 + 4, 3 - 9);
    EXPECT("f_xx v", product[0], 1e-15, 0.25, 0, 2);
    EXPECT("f_zx v", product[1], 1e-15, 1 + 1, 0, 2 * (1 - 6));
    ct_free(x), ct_free(z), ct_free(v);
}
END_TEST

/* --- matrices --- */

START_TEST(a_jacobian_by_rows_and_by_columns) {
    struct draw draw = {5};
    /* columns: 1 (one tangent), 3 (four), 8, and 13 (eight and then eight with three empty) */
    const int64_t columns[] = {1, 3, 8, 13};
    for (size_t c = 0; c < COUNT(columns); c++) {
        int64_t n = columns[c];
        ct_tensor *a = draw_tensor(&draw, CT_F64, 2, (int64_t[]){4, n}, -1, 1);
        ct_tensor *x = draw_tensor(&draw, CT_F64, 1, (int64_t[]){n}, -1, 1);
        const ct_tensor *in[] = {x};
        double as[4 * 13], xs[13];
        ok(ct_to_doubles(a, (size_t)(4 * n), as)), ok(ct_to_doubles(x, (size_t)n, xs));
        enum ct_mode modes[] = {CT_MODE_AUTO, CT_MODE_REVERSE, CT_MODE_FORWARD};
        for (size_t m = 0; m < COUNT(modes); m++) {
            ct_tensor *j = ct_jacobian(layer, a, 1, in, 0, modes[m]);
            ck_assert_msg(j != NULL, "%s", ct_error()->message);
            ck_assert_int_eq(ct_rank(j), 2);
            double expected[4 * 13];
            for (int64_t i = 0; i < 4; i++) {
                double s = 0;
                for (int64_t k = 0; k < n; k++)
                    s += as[i * n + k] * xs[k];
                for (int64_t k = 0; k < n; k++)
                    expected[i * n + k] = as[i * n + k] * (1 - tanh(s) * tanh(s));
            }
            expect_items("jacobian", j, 1e-14, (size_t)(4 * n), expected);
        }
        ct_free(a), ct_free(x);
    }
}
END_TEST

START_TEST(shapes_of_jacobians) {
    ct_tensor *a = T2(2, 2, 1, 2, 3, 4), *x = T2(2, 3, 1, 2, 3, 4, 5, 6);
    ct_tensor *empty = ct_zeros(CT_F64, 2, (int64_t[]){2, 0});
    ct_tensor *j = ct_jacobian(linear, a, 1, (const ct_tensor *[]){x}, 0, CT_MODE_REVERSE);
    const int64_t want[] = {2, 3, 2, 3};
    ck_assert_int_eq(ct_rank(j), 4);
    ck_assert_mem_eq(ct_shape(j), want, sizeof want);
    double item;
    ok(ct_get(j, 4, (int64_t[]){1, 2, 0, 2}, &item)); /* d (a x)_12 / d x_02 = a_10 */
    ck_assert_double_eq(item, 3);
    ok(ct_get(j, 4, (int64_t[]){1, 2, 0, 1}, &item));
    ck_assert_double_eq(item, 0);
    ct_free(j);
    for (int mode = CT_MODE_AUTO; mode <= CT_MODE_FORWARD; mode++) {
        j = ct_jacobian(linear, a, 1, (const ct_tensor *[]){empty}, 0, (enum ct_mode)mode);
        ck_assert_msg(j != NULL, "%s", ct_error()->message);
        ck_assert_uint_eq(ct_count(j), 0);
        ct_free(j);
    }
    ct_free(a), ct_free(x), ct_free(empty);
}
END_TEST

START_TEST(hessians_in_closed_form) {
    ct_tensor *x = T1(1, -2, 0.5, 0, 3, 1, 2, 4, 5);
    ct_tensor *h = ct_hessian(cubes, NULL, 1, (const ct_tensor *[]){x}, 0, 0);
    double expected[81] = {0}, xs[9];
    ok(ct_to_doubles(x, 9, xs));
    for (int i = 0; i < 9; i++)
        expected[10 * i] = 6 * xs[i];
    expect_items("diagonal", h, 1e-15, 81, expected);
    h = ct_hessian(free_energy, NULL, 1, (const ct_tensor *[]){x}, 0, 0);
    double sum = 0;
    for (int i = 0; i < 9; i++)
        sum += exp(xs[i]);
    for (int i = 0; i < 81; i++)
        expected[i] = (i / 9 == i % 9 ? exp(xs[i / 9]) / sum : 0) -
                      exp(xs[i / 9]) / sum * exp(xs[i % 9]) / sum;
    expect_items("softmax", h, 1e-14, 81, expected);
    ct_tensor *z = T1(1, 1, 1, 1, 1, 1, 1, 1, 2);
    h = ct_hessian(mixed, NULL, 2, (const ct_tensor *[]){x, z}, 0, 1);
    double item;
    ok(ct_get(h, 2, (int64_t[]){8, 8}, &item));
    ck_assert_double_eq(item, 1 + 2 * 5 * 2);
    ok(ct_get(h, 2, (int64_t[]){8, 7}, &item));
    ck_assert_double_eq(item, 0);
    ct_free(h), ct_free(x), ct_free(z);
}
END_TEST

/* --- curvature --- */

START_TEST(gauss_newton_of_squares_is_twice_the_jacobians) {
    ct_tensor *a = T2(3, 2, 1, 2, 0, 1, -1, 3), *x = T1(0.5, -0.1), *v = T1(1, 2), *product;
    ok(ct_gauss_newton_product(layer, a, sum_of_squares, NULL, 1, (const ct_tensor *[]){x},
                               (const ct_tensor *[]){v}, &product));
    const double as[3][2] = {{1, 2}, {0, 1}, {-1, 3}};
    double expected[2] = {0};
    for (int k = 0; k < 3; k++) {
        double d = 1 - pow(tanh(0.5 * as[k][0] - 0.1 * as[k][1]), 2);
        for (int i = 0; i < 2; i++)
            expected[i] += 2 * d * as[k][i] * d * (as[k][0] + 2 * as[k][1]);
    }
    expect_items("2 J^T J v", product, 1e-14, 2, expected);
    ct_free(a), ct_free(x), ct_free(v);
}
END_TEST

START_TEST(gauss_newton_of_softmax_is_the_fisher_matrix) {
    ct_tensor *a = T2(3, 2, 1, 2, 0, 1, -1, 3), *x = T1(0.5, -0.1), *v = T1(1, 2), *product;
    const double as[3][2] = {{1, 2}, {0, 1}, {-1, 3}};
    double p[3], u[3], sum = 0, mean = 0, expected[2] = {0};
    for (int k = 0; k < 3; k++)
        sum += p[k] = exp(0.5 * as[k][0] - 0.1 * as[k][1]);
    for (int k = 0; k < 3; k++)
        mean += (p[k] /= sum) * (u[k] = as[k][0] + 2 * as[k][1]);
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 2; i++)
            expected[i] += as[k][i] * p[k] * (u[k] - mean);
    ok(ct_gauss_newton_product(linear, a, free_energy, NULL, 1, (const ct_tensor *[]){x},
                               (const ct_tensor *[]){v}, &product));
    expect_items("a^T (diag p - p p^T) a v", product, 1e-14, 2, expected);
    ct_free(a), ct_free(x), ct_free(v);
}
END_TEST

START_TEST(the_empirical_fisher_product_is_a_mean_over_examples) {
    ct_tensor *a = T2(2, 3, 1, -1, 0.5, 0, 2, 1), *x = T1(0.1, 0.2, -0.3), *v = T1(1, 2, -1);
    ct_tensor *product, *j = ct_jacobian(layer, a, 1, (const ct_tensor *[]){x}, 0, CT_MODE_AUTO);
    double g[6], expected[3] = {0};
    ok(ct_to_doubles(j, 6, g));
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < 3; i++)
            expected[i] += 0.5 * g[3 * k + i] * (g[3 * k] + 2 * g[3 * k + 1] - g[3 * k + 2]);
    ok(ct_fisher_product(layer, a, 1, (const ct_tensor *[]){x}, (const ct_tensor *[]){v},
                         &product));
    expect_items("mean of g <g, v>", product, 1e-14, 3, expected);
    ct_free(a), ct_free(x), ct_free(v), ct_free(j);
}
END_TEST

/* --- levels --- */

/* y -> x + y, for an x that an outer derivative looks at */
static ct_var add_outer(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    (void)n;
    return ct_var_add(ct_constant(tape, context, NULL), in[0]);
}

static ct_var mul_outer(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    (void)n;
    return ct_var_mul(ct_constant(tape, context, NULL), in[0]);
}

/* x times the inner derivative at y = 1, taken in forward mode inside. */
static ct_var times_inner(ct_function *inner, ct_tape *tape, ct_var x) {
    const ct_scalar *scalar = type_of(x);
    ct_tensor *y = ct_full(scalar, 0, NULL, 1), *one = ct_full(scalar, 0, NULL, 1), *slope = NULL;
    ct_tensor *lifted = ct_dual(ct_value(x), NULL);
    ok(ct_jvp(inner, lifted, 1, (const ct_tensor *[]){y}, (const ct_tensor *[]){one}, NULL,
              &slope));
    ct_var result = ct_var_mul(x, ct_constant(tape, slope, NULL));
    ct_free(y), ct_free(one), ct_free(slope), ct_free(lifted);
    return result;
}

static ct_var sum_inside(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    (void)context, (void)n;
    return times_inner(add_outer, tape, in[0]);
}

static ct_var product_inside(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    (void)context, (void)n;
    return times_inner(mul_outer, tape, in[0]);
}

/* The two classical examples (Siskind and Pearlmutter, 2005): d/dx x (d/dy (x + y)) is 1, not 2, and
   d/dx x (d/dy x y) is 2 x, not x. */
START_TEST(perturbations_are_not_confused) {
    ct_tensor *x = T0(3), *one = T0(1), *product;
    ok(ct_jvp(sum_inside, NULL, 1, (const ct_tensor *[]){x}, (const ct_tensor *[]){one}, NULL,
              &product));
    EXPECT("d/dx x d/dy (x + y)", product, 0, 1);
    ok(ct_jvp(product_inside, NULL, 1, (const ct_tensor *[]){x}, (const ct_tensor *[]){one}, NULL,
              &product));
    EXPECT("d/dx x d/dy (x y)", product, 0, 6);
    ct_free(x), ct_free(one);
}
END_TEST

/* The second derivative over duals carries the third. */
START_TEST(third_order_by_nesting) {
    ct_tensor *x = T1(2, 5), *one = T1(1, 1), *product;
    ct_tensor *lifted = ct_dual(x, one), *direction = ct_dual(one, NULL);
    ok(ct_hvp(cubes, NULL, 1, (const ct_tensor *[]){lifted}, (const ct_tensor *[]){direction}, NULL,
              &product));
    EXPECT("second", ct_dual_value(product), 1e-15, 12, 30);
    EXPECT("third", ct_dual_tangent(product), 1e-15, 6, 6);
    ct_free(x), ct_free(one), ct_free(lifted), ct_free(direction), ct_free(product);
}
END_TEST

/* --- what is refused --- */

START_TEST(errors_say_what_is_wrong) {
    ct_tensor *x = T1(1, 2), *three = T1(1, 2, 3), *product = NULL;
    ct_tensor *whole = ct_full(CT_I64, 1, (int64_t[]){2}, 1), *single = ct_astype(x, CT_F32);
    const ct_tensor *in[] = {x}, *v3[] = {three}, *vf[] = {single}, *vi[] = {x}, *ints[] = {whole};
    int calls = 0;
    ck_assert_int_eq(ct_jvp(cubes, NULL, 1, in, v3, NULL, &product), CT_ESHAPE);
    expect_error(CT_ESHAPE, "the tangent 0 has shape [3], its input [2]");
    ck_assert_int_eq(ct_jvp(cubes, NULL, 1, in, vf, NULL, &product), CT_EDTYPE);
    expect_error(CT_EDTYPE, "the tangent 0 is f32, its input f64");
    ck_assert_int_eq(ct_jvp(cubes, NULL, 1, ints, vi, NULL, &product), CT_EDTYPE);
    expect_error(CT_EDTYPE, "the input 0 is i64 and has no tangent: give NULL");
    ck_assert_int_eq(ct_jvp(NULL, NULL, 1, in, NULL, NULL, &product), CT_EINVAL);
    expect_error(CT_EINVAL, "the function is NULL");
    ck_assert_int_eq(ct_jvp(nothing, NULL, 1, in, NULL, NULL, &product), CT_EINVAL);
    expect_error(CT_EINVAL, "returned no variable of its tape");
    ck_assert_int_eq(ct_vjp(cubes, NULL, 1, in, x, NULL, &product), CT_ESHAPE);
    expect_error(CT_ESHAPE, "the cotangent is f64 of shape [2], the value f64 of shape []");
    ct_error_clear(); /* which a NULL input would keep */
    ck_assert_int_eq(ct_vjp(cubes, NULL, 1, (const ct_tensor *[]){NULL}, NULL, NULL, &product),
                     CT_EINVAL);
    expect_error(CT_EINVAL, "the input 0 is NULL");
    ck_assert_int_eq(ct_hvp(squares, NULL, 1, v3, NULL, NULL, &product), CT_ESHAPE);
    expect_error(CT_ESHAPE, "the function must have one item and gave shape [3]");
    ck_assert_int_eq(ct_jvp(linear, x, 1, v3, NULL, NULL, &product), CT_ESHAPE);
    expect_error(CT_ESHAPE, "matmul");
    ck_assert_ptr_null(ct_jacobian(cubes, NULL, 1, in, 1, CT_MODE_AUTO));
    expect_error(CT_EINDEX, "there is no input 1: there are 1");
    ck_assert_ptr_null(ct_jacobian(cubes, NULL, 1, ints, 0, CT_MODE_AUTO));
    expect_error(CT_EDTYPE, "the input 0 is i64, which has no derivative");
    ck_assert_ptr_null(ct_jacobian(changing, &calls, 1, v3, 0, CT_MODE_FORWARD));
    expect_error(CT_EINVAL, "another shape than before");
    ck_assert_ptr_null(product);
    ct_free(x), ct_free(three), ct_free(whole), ct_free(single);
}
END_TEST

static ct_var picks(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    (void)context, (void)tape, (void)n;
    return ct_var_pick(in[0], in[1]);
}

START_TEST(integer_inputs_ride_along) {
    ct_tensor *x = T2(2, 3, 1, 2, 3, 4, 5, 6), *one = ct_full(CT_I64, 1, (int64_t[]){2}, 1);
    ct_tensor *product[2] = {NULL, x};
    ok(ct_vjp(picks, NULL, 2, (const ct_tensor *[]){x, one}, NULL, NULL, product));
    EXPECT("gradient", product[0], 0, 0, 1, 0, 0, 1, 0);
    ck_assert_ptr_null(product[1]);
    ct_free(x), ct_free(one);
}
END_TEST

/* Every failing allocation of a second-order product and of a Jacobian, one after another. */
START_TEST(failing_allocations_lose_nothing) {
    if (!make_memory_scarce())
        return;
    ct_tensor *a = T2(2, 3, 1, -1, 0.5, 0, 2, 1), *x = T1(0.1, 0.2, -0.3), *v = T1(1, 2, -1);
    const ct_tensor *in[] = {x}, *along[] = {v};
    for (int which = 0; which < 5; which++) {
        bool done = false;
        for (long left = 0; !done; left++) {
            ct_tensor *made = NULL, *gradient = NULL;
            size_t before = ct_live_blocks();
            ct_status status = CT_OK;
            starve(left);
            switch (which) {
            case 0:
                status = ct_jvp(layer, a, 1, in, along, &gradient, &made);
                break;
            case 1:
                status = ct_vjp(layer, a, 1, in, NULL, &gradient, &made);
                break;
            case 2:
                status = ct_hvp(cubes, NULL, 1, in, along, &gradient, &made);
                break;
            case 3:
                made = ct_jacobian(layer, a, 1, in, 0, CT_MODE_FORWARD);
                break;
            default:
                made = ct_hessian(cubes, NULL, 1, in, 0, 0);
            }
            ck_assert(which > 2 || (status == CT_OK) == (made != NULL));
            ck_assert(made || !gradient);
            allocations_left = -1;
            ct_free(gradient);
            done = survived(made, before);
            ck_assert_int_lt(left, 2000);
        }
    }
    ct_free(a), ct_free(x), ct_free(v);
}
END_TEST

Suite *suite_derivatives(void) {
    Suite *suite = suite_create("derivatives");
    TCase *tc = tcase_create("derivatives");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_forward_product_and_its_value);
    tcase_add_test(tc, a_reverse_product_and_its_value);
    tcase_add_test(tc, forward_and_reverse_are_adjoint);
    tcase_add_test(tc, a_hessian_product_and_the_gradient_beside_it);
    tcase_add_test(tc, a_jacobian_by_rows_and_by_columns);
    tcase_add_test(tc, shapes_of_jacobians);
    tcase_add_test(tc, hessians_in_closed_form);
    tcase_add_test(tc, gauss_newton_of_squares_is_twice_the_jacobians);
    tcase_add_test(tc, gauss_newton_of_softmax_is_the_fisher_matrix);
    tcase_add_test(tc, the_empirical_fisher_product_is_a_mean_over_examples);
    tcase_add_test(tc, perturbations_are_not_confused);
    tcase_add_test(tc, third_order_by_nesting);
    tcase_add_test(tc, errors_say_what_is_wrong);
    tcase_add_test(tc, integer_inputs_ride_along);
    suite_add_tcase(suite, tc);
    TCase *scarce = tcase_create("failing allocations");
    tcase_add_test(scarce, failing_allocations_lose_nothing);
    suite_add_tcase(suite, scarce);
    return suite;
}
