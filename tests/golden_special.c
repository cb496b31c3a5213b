#include "golden_special.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "autodiff/ct_var_ops.h"
#include "case_tools.h"
#include "golden_json.h"

/* The answers are given with 12 digits. */
static const double TOLERANCE = 1e-11;

enum { MOST_ITEMS = 16 };

static json_t *points;

/* ---- the functions, by the names of the file */

static ct_var number(ct_var like, double value) {
    return ct_constant_of(like.tape, CT_F64, value);
}

/* Frees t. */
static ct_var numbers(ct_var like, ct_tensor *t) {
    ct_var v = ct_constant(like.tape, t, NULL);
    ct_free(t);
    return v;
}

// clang-format off
#define FN(name, expression)                                                                       \
    static ct_var name(const ct_var *x)                                                            \
    {                                                                                              \
        return expression;                                                                         \
    }
#define ROW(name) FN(fn_##name, ct_var_##name(*x))
#define ROW2(name) FN(fn_##name, ct_var_##name(x[0], x[1]))
#define POWER(name, exponent) FN(name, ct_var_pow(*x, number(*x, exponent)))

ROW(abs) ROW(sign) ROW(sqrt) ROW(rsqrt) ROW(reciprocal) ROW(log) ROW(log1p) ROW(exp) ROW(expm1)
ROW(relu) ROW(gelu) ROW(silu) ROW(sigmoid) ROW(log_sigmoid) ROW(tanh) ROW(softplus) ROW(erf)
ROW(elu) ROW(gelu_tanh) ROW(asin) ROW(acos) ROW2(atan2)
ROW2(maximum) ROW2(minimum) ROW2(pow) ROW2(div) ROW2(mul)
POWER(pow_0, 0) POWER(pow_1, 1) POWER(pow_2, 2) POWER(pow_half, 0.5) POWER(pow_1_5, 1.5)
POWER(pow_minus_1, -1) POWER(pow_3, 3)

ROW2(fmax) ROW2(hypot) ROW(acosh) ROW(atanh) ROW(floor) ROW(round) ROW(trunc)
FN(leaky_relu_1, ct_var_leaky_relu(*x, number(*x, 0.01)))
FN(fmod_2_0, ct_var_fmod(*x, numbers(*x, T1(2, 2, 0))))
FN(mod_2_0, ct_var_mod(*x, numbers(*x, T1(2, 2, -2, 0))))
FN(clamp_0_1, ct_var_clamp(*x, number(*x, 0), number(*x, 1)))
FN(clamp_2_1, ct_var_clamp(*x, number(*x, 2), number(*x, 1)))
FN(max_all, ct_var_max(*x, CT_ALL, false))
FN(sum_all, ct_var_sum(*x, CT_ALL, false))
FN(mean_all, ct_var_mean(*x, CT_ALL, false))
FN(norm_1, ct_var_sum(ct_var_abs(*x), CT_ALL, false))
FN(norm_infinity, ct_var_max(ct_var_abs(*x), CT_ALL, false))
FN(root_of_squares, ct_var_sqrt(ct_var_sum(ct_var_mul(*x, *x), CT_ALL, false)))
FN(logsumexp, ct_var_logsumexp(*x, -1, false))
FN(softmax, ct_var_softmax(*x, -1))
FN(log_softmax, ct_var_log_softmax(*x, -1))
FN(layer_norm, ct_var_layer_norm(*x, -1, ct_var_null(), ct_var_null(), 1e-5))
FN(layer_norm_eps_0, ct_var_layer_norm(*x, -1, ct_var_null(), ct_var_null(), 0))
FN(root_times_0, ct_var_mul(ct_var_sqrt(*x), number(*x, 0)))
FN(hinge, ct_var_relu(ct_var_sub(number(*x, 1), *x)))
FN(squared, ct_var_mul(*x, *x))
FN(difference, ct_var_sub(*x, *x))
FN(quotient, ct_var_div(*x, *x))
FN(is_positive, ct_var_greater(*x, number(*x, 0)))
FN(masked_log, ct_var_where(is_positive(x), ct_var_log(*x), number(*x, 0)))
FN(masked_sqrt, ct_var_where(is_positive(x), ct_var_sqrt(*x), *x))
FN(safe_sqrt, ct_var_sqrt(ct_var_where(is_positive(x), *x, number(*x, 1))))
FN(twice_masked_sqrt, ct_var_where(is_positive(x), safe_sqrt(x), *x))
FN(masked_exp, ct_var_where(ct_var_less(*x, number(*x, 100)), ct_var_exp(*x), number(*x, 1)))
FN(log_times_mask, ct_var_mul(ct_var_log(*x), ct_var_relu_mask(*x)))

    // clang-format on

    static ct_var label_0(const ct_var *x) {
    ct_tensor *label = ct_zeros(CT_I64, 1, (int64_t[]){1});
    ct_var loss = ct_var_cross_entropy(*x, ct_constant(x->tape, label, NULL), CT_REDUCE_MEAN);
    ct_free(label);
    return loss;
}

static ct_var mse_of_nothing(const ct_var *x) {
    return ct_var_mse(*x, *x, CT_REDUCE_MEAN);
}

static const struct point {
    const char *op;
    ct_var (*record)(const ct_var *x);
    double cotangent[3]; /* ones where it is all 0 */
} functions[] = {
    {"abs", fn_abs, {0}},
    {"sign", fn_sign, {0}},
    {"sqrt", fn_sqrt, {0}},
    {"sqrt(x)*0", root_times_0, {0}},
    {"rsqrt", fn_rsqrt, {0}},
    {"reciprocal", fn_reciprocal, {0}},
    {"log", fn_log, {0}},
    {"log1p", fn_log1p, {0}},
    {"exp", fn_exp, {0}},
    {"expm1", fn_expm1, {0}},
    {"relu", fn_relu, {0}},
    {"gelu", fn_gelu, {0}},
    {"silu", fn_silu, {0}},
    {"sigmoid", fn_sigmoid, {0}},
    {"logsigmoid", fn_log_sigmoid, {0}},
    {"tanh", fn_tanh, {0}},
    {"softplus", fn_softplus, {0}},
    {"erf", fn_erf, {0}},
    {"elu", fn_elu, {0}},
    {"gelu tanh", fn_gelu_tanh, {0}},
    {"asin", fn_asin, {0}},
    {"acos", fn_acos, {0}},
    {"atan2", fn_atan2, {0}},
    {"clamp(0,1)", clamp_0_1, {0}},
    {"clamp min>max (2,1)", clamp_2_1, {0}},
    {"maximum", fn_maximum, {0}},
    {"minimum", fn_minimum, {0}},
    {"div", fn_div, {0}},
    {"fmax", fn_fmax, {0}},
    {"hypot", fn_hypot, {0}},
    {"acosh", fn_acosh, {0}},
    {"atanh", fn_atanh, {0}},
    {"floor", fn_floor, {0}},
    {"round", fn_round, {0}},
    {"trunc", fn_trunc, {0}},
    {"frac/fmod", fmod_2_0, {0}},
    {"remainder", mod_2_0, {0}},
    {"leaky_relu .01", leaky_relu_1, {0}},
    {"max all ties", max_all, {0}},
    {"max all nan", max_all, {0}},
    {"max all two nan", max_all, {0}},
    {"max all -inf", max_all, {0}},
    {"max empty", max_all, {0}},
    {"amax ties", max_all, {0}},
    {"amax nan", max_all, {0}},
    {"max dim ties", max_all, {0}},
    {"max dim nan", max_all, {0}},
    {"pow x^0", pow_0, {0}},
    {"pow x^1", pow_1, {0}},
    {"pow x^2", pow_2, {0}},
    {"pow x^0.5", pow_half, {0}},
    {"pow x^1.5", pow_1_5, {0}},
    {"pow x^-1", pow_minus_1, {0}},
    {"pow x^3 nth", pow_3, {0}},
    {"pow t,t", fn_pow, {0}},
    {"norm1", norm_1, {0}},
    {"norminf ties", norm_infinity, {0}},
    {"norminf zero", norm_infinity, {0}},
    {"sqrt(sum sq)", root_of_squares, {0}},
    {"mean empty", mean_all, {0}},
    {"sum empty", sum_all, {0}},
    {"mse empty mean", mse_of_nothing, {0}},
    {"logsumexp all -inf", logsumexp, {0}},
    {"logsumexp one -inf", logsumexp, {0}},
    {"logsumexp +inf", logsumexp, {0}},
    {"logsumexp two +inf", logsumexp, {0}},
    {"logsumexp big", logsumexp, {0}},
    {"logsumexp empty", logsumexp, {0}},
    {"softmax all -inf", softmax, {0}},
    {"softmax one -inf", softmax, {1, 2, 0}},
    {"softmax +inf", softmax, {0}},
    {"softmax big", softmax, {1, 2, 0}},
    {"softmax nan", softmax, {0}},
    {"log_softmax big", log_softmax, {0}},
    {"log_softmax -inf", log_softmax, {0, 1}},
    {"log_softmax -inf picked", log_softmax, {1, 0}},
    {"log_softmax all -inf", log_softmax, {0}},
    {"layer_norm const", layer_norm, {1, 2, 3}},
    {"layer_norm n=1", layer_norm, {0}},
    {"layer_norm eps0 const", layer_norm_eps_0, {1, 2, 3}},
    {"ce big", label_0, {0}},
    {"ce inf target", label_0, {0}},
    {"hinge relu(1-x)", hinge, {0}},
    {"where(x>0,log x,0) x=0", masked_log, {0}},
    {"where sqrt trap", masked_sqrt, {0}},
    {"where double-where", twice_masked_sqrt, {0}},
    {"where exp trap", masked_exp, {0}},
    {"mask mul trap", log_times_mask, {0}},
    {"masked_fill", masked_log, {0}},
    {"0*inf grads", fn_mul, {0}},
    {"x*x", squared, {0}},
    {"x-x", difference, {0}},
    {"x/x at 0", quotient, {0}},
};

/* ---- where we differ on purpose */

enum part { PART_VALUE, PART_GRADIENT_0, PART_GRADIENT_1, PART_SECOND, PART_ALL };

static const char *const part_names[] = {"value", "gradient", "gradient of the second argument",
                                         "second derivative", "all"};

static const struct difference {
    const char *op;
    enum part part; /* PART_ALL: it is an error here */
    double ours[MOST_ITEMS];
    const char *reason;
} differences[] = {
    {"abs", PART_GRADIENT_0, {0, 0, QNAN, 1, -1}, "the derivative is sign(x), and sign(NaN) = NaN"},
    {"sign", PART_VALUE, {0, 0, QNAN, -1}, "NaN stays NaN"},
    {"sqrt(x)*0", PART_GRADIENT_0, {0}, "zero absorbs in a derivative"},
    {"relu", PART_GRADIENT_0, {0, 0, 0, 1, 0, 1}, "the derivative at NaN is 0"},
    {"gelu", PART_VALUE, {0, INF, -0.0, QNAN, -0.0}, "the limit at -infinity"},
    {"gelu", PART_GRADIENT_0, {0.5, 1, 0, QNAN, 0}, "the limits at infinities"},
    {"gelu tanh", PART_VALUE, {0, INF, -0.0, -0.0, 1e200}, "the limit at -infinity"},
    {"gelu tanh", PART_GRADIENT_0, {0.5, 1, 0, 0, 1}, "the limits far out"},
    {"elu", PART_VALUE, {0, -0.0, QNAN, -0.632120558829, 100}, "expm1 keeps the sign of zero"},
    {"elu", PART_GRADIENT_0, {1, 1, QNAN, 0.367879441171, 1}, "NaN stays NaN"},
    {"silu", PART_VALUE, {0, INF, -0.0, -0.0, 800}, "the limit at -infinity"},
    {"silu", PART_GRADIENT_0, {0.5, 1, 0, 0, 1}, "the limits at infinities"},
    {"logsigmoid", PART_VALUE, {-0.69314718056, -0.0, -800, -0.0, -INF}, "it nears 0 from below"},
    {"softplus",
     PART_VALUE,
     {0.69314718056, 21.00000000076, 0, 800, INF, 0},
     "it is not cut above 20"},
    {"softplus", PART_GRADIENT_0, {0.5, 0.99999999924174, 0, 1, 1, 0}, "it is not cut above 20"},
    {"softplus", PART_SECOND, {0.25, 7.582560416413e-10, 0, 0, 0, 0}, "it is not cut above 20"},
    {"fmax", PART_GRADIENT_0, {0.5, 0, 1, 0.5}, "at equality each gets half the gradient"},
    {"fmax", PART_GRADIENT_1, {0.5, 1, 0, 0.5}, "at equality each gets half the gradient"},
    {"hypot", PART_GRADIENT_0, {0, 0.6, QNAN, 0.707106781187}, "the derivatives at 0 are 0"},
    {"hypot", PART_GRADIENT_1, {0, 0.8, QNAN, 0.707106781187}, "the derivatives at 0 are 0"},
    {"maximum", PART_VALUE, {1, QNAN, QNAN, 0, 0, INF}, "+0 is larger than -0"},
    {"maximum", PART_GRADIENT_0, {0.5, 1, 0, 0.5, 0.5, 0.5}, "a NaN argument takes all"},
    {"maximum", PART_GRADIENT_1, {0.5, 0, 1, 0.5, 0.5, 0.5}, "a NaN argument takes all"},
    {"minimum", PART_VALUE, {1, QNAN, QNAN, -0.0, -0.0, INF}, "-0 is smaller than +0"},
    {"minimum", PART_GRADIENT_0, {0.5, 1, 0, 0.5, 0.5, 0.5}, "a NaN argument takes all"},
    {"minimum", PART_GRADIENT_1, {0.5, 0, 1, 0.5, 0.5, 0.5}, "a NaN argument takes all"},
    {"amax nan", PART_GRADIENT_0, {0, 1, 0}, "the NaN takes all, as in PyTorch's own max()"},
    {"max dim ties", PART_GRADIENT_0, {0.5, 0, 0.5}, "ties share over one axis as over all"},
    {"sqrt(sum sq)", PART_GRADIENT_0, {0, 0}, "zero absorbs in a derivative"},
    {"mean empty", PART_ALL, {0}, "the mean of nothing is an error"},
    {"logsumexp all -inf", PART_GRADIENT_0, {0, 0}, "gradient 0 where all are -infinity"},
    {"logsumexp +inf", PART_GRADIENT_0, {1, 0}, "the limit"},
    {"logsumexp two +inf", PART_GRADIENT_0, {0.5, 0.5}, "they share it, as in a softmax"},
    {"softmax +inf", PART_VALUE, {1, 0}, "the limit"},
    {"softmax +inf", PART_GRADIENT_0, {0, 0}, "the limit"},
    {"log_softmax all -inf", PART_GRADIENT_0, {0, 0}, "gradient 0 where all are -infinity"},
    {"where(x>0,log x,0) x=0", PART_GRADIENT_0, {0, 1}, "what is not chosen gets nothing"},
    {"where sqrt trap", PART_GRADIENT_0, {1, 1, 0.25}, "what is not chosen gets nothing"},
    {"where exp trap", PART_GRADIENT_0, {2.71828182846, 0}, "what is not chosen gets nothing"},
    {"mask mul trap", PART_GRADIENT_0, {0, 1}, "zero absorbs in a derivative"},
    {"masked_fill", PART_GRADIENT_0, {0, 1}, "what is not chosen gets nothing"},
};

static const struct difference *find_difference(const char *op, enum part part) {
    for (size_t i = 0; i < COUNT(differences); i++) {
        if (strcmp(differences[i].op, op) == 0 && differences[i].part == part)
            return &differences[i];
    }
    return NULL;
}

/* ---- checking */

static bool agrees(double x, double expected, enum part part) {
    if (isnan(x) || isnan(expected))
        return isnan(x) && isnan(expected);
    if (isinf(x) || isinf(expected))
        return x == expected;
    if (expected == 0 && part == PART_VALUE)
        return x == 0 && !signbit(x) == !signbit(expected);
    return fabs(x - expected) <= TOLERANCE * fabs(expected);
}

/* Against the file's answer, or ours from the table of differences. */
static void check_part(const char *op, enum part part, const ct_tensor *t, const json_t *theirs) {
    const struct difference *difference = find_difference(op, part);
    const json_t *answers = json_object_get(theirs, "v");
    double items[MOST_ITEMS];
    ck_assert_msg(t != NULL, "%s: %s", op, ct_error()->message);
    size_t count = json_array_size(answers);
    ck_assert_msg(ct_count(t) == count && count <= MOST_ITEMS, "%s: %zu items in its %s", op,
                  ct_count(t), part_names[part]);
    ck_assert_int_eq(ct_to_doubles(t, count, items), CT_OK);
    for (size_t i = 0; i < count; i++) {
        double expected =
            difference ? difference->ours[i] : golden_number(json_array_get(answers, i));
        ck_assert_msg(agrees(items[i], expected, part),
                      "%s: its %s has %.13g at %zu instead of %.13g%s%s", op, part_names[part],
                      items[i], i, expected, difference ? ": " : "",
                      difference ? difference->reason : "");
    }
}

static ct_var put_cotangent(const struct point *f, ct_var y) {
    const double *g = f->cotangent;
    const ct_tensor *value = ct_value(y);
    if (!value || (g[0] == 0 && g[1] == 0 && g[2] == 0))
        return ct_var_null();
    ct_tensor *t = tensor_of(ct_rank(value), ct_shape(value), ct_count(value), g);
    ct_var v = ct_constant(y.tape, t, "g");
    ct_free(t);
    return v;
}

static void check_point(const struct point *f, const json_t *one) {
    const json_t *in = json_object_get(one, "in"), *grads = json_object_get(one, "grad");
    const json_t *second = json_object_get(one, "grad_of_sum_grad");
    size_t n = json_array_size(in);
    ct_tape *tape = ct_tape_new();
    ct_var x[2], dx[2], ddx;
    ck_assert_uint_le(n, 2);
    for (size_t i = 0; i < n; i++) {
        ct_tensor *t = golden_tensor(json_array_get(in, i));
        x[i] = ct_leaf(tape, t, "x");
        ct_free(t);
    }
    ct_var y = f->record(x);
    if (json_object_get(one, "err") || find_difference(f->op, PART_ALL)) {
        ck_assert_msg(ct_tape_status(tape) != CT_OK, "%s: it should be an error", f->op);
        ct_tape_free(tape);
        return;
    }
    check_part(f->op, PART_VALUE, ct_value(y), json_object_get(one, "out"));
    ct_grad(y, put_cotangent(f, y), n, x, dx);
    for (size_t i = 0; i < n; i++)
        check_part(f->op, i ? PART_GRADIENT_1 : PART_GRADIENT_0, ct_value(dx[i]),
                   json_array_get(grads, i));
    if (second && n == 1) {
        ct_grad(dx[0], ct_var_null(), 1, x, &ddx);
        check_part(f->op, PART_SECOND, ct_value(ddx), json_array_get(second, 0));
    }
    ck_assert_msg(ct_tape_status(tape) == CT_OK, "%s: %s", f->op, ct_tape_message(tape));
    ct_tape_free(tape);
}

static const json_t *find_point(const char *op) {
    size_t i;
    json_t *one;
    json_array_foreach(points, i, one) {
        if (strcmp(json_string_value(json_object_get(one, "op")), op) == 0)
            return one;
    }
    return NULL;
}

START_TEST(special_point_agrees) {
    const json_t *one = find_point(functions[_i].op);
    ck_assert_msg(one != NULL, "%s is not in the file", functions[_i].op);
    check_point(&functions[_i], one);
}
END_TEST

/* A difference of which the table speaks must be one: otherwise it is out of date. */
START_TEST(difference_is_one) {
    const struct difference *d = &differences[_i];
    const json_t *one = find_point(d->op);
    if (!one || d->part == PART_ALL)
        return;
    const json_t *of =
        d->part == PART_VALUE ? json_object_get(one, "out")
        : d->part == PART_SECOND
            ? json_array_get(json_object_get(one, "grad_of_sum_grad"), 0)
            : json_array_get(json_object_get(one, "grad"), d->part == PART_GRADIENT_1);
    const json_t *answers = json_object_get(of, "v");
    for (size_t i = 0; i < json_array_size(answers); i++) {
        if (!agrees(d->ours[i], golden_number(json_array_get(answers, i)), d->part))
            return;
    }
    ck_abort_msg("%s: its %s is PyTorch's", d->op, part_names[d->part]);
}
END_TEST

void add_special_points(Suite *suite) {
    char name[PATH_MAX];
    snprintf(name, sizeof name, "%s/golden/special_points.json", golden_cases());
    json_decref(points);
    points = json_load_file(name, 0, NULL);
    if (access(name, R_OK) != 0)
        return; /* the suite says so */
    TCase *tc = tcase_create("special points");
    suite_add_tcase(suite, tc);
    tcase_add_loop_test(tc, special_point_agrees, 0, COUNT(functions));
    tcase_add_loop_test(tc, difference_is_one, 0, COUNT(differences));
}
