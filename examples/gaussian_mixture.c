// The log-likelihood of a mixture of Gaussians, its gradient three ways, and a direction's curvature.
// The objective is ADBench's (Šrajer, Kukelova, Fitzgibbon, 2018): covariances by the Cholesky factors Q
// of their inverses, of which the logarithm of the diagonal and the strict lower triangle are given, under
// a Wishart prior.
#include "cotangent.h"
#include <math.h>
#include <stdio.h>

struct mixture {
    int64_t points, dimension, components;
    ct_tensor *x;     // points x dimension
    double gamma, m;  // of the prior
    ct_tensor *lower; // puts the d (d - 1) / 2 numbers of a triangle, by columns, in their places
};

enum { ALPHAS, MEANS, FACTORS, INPUTS };

// The matrix L with (row of numbers) L = the flattened d x d triangle.
static ct_tensor *triangle(int64_t d) {
    ct_tensor *t = ct_zeros(CT_F64, 2, (int64_t[]){d * (d - 1) / 2, d * d});
    int64_t at = 0;
    for (int64_t column = 0; column < d; column++)
        for (int64_t row = column + 1; row < d; row++)
            ct_set(t, 2, (int64_t[]){at++, row * d + column}, 1);
    return t;
}

static double log_gamma_distribution(double a, double p) {
    double sum = 0.25 * p * (p - 1) * log(3.14159265358979323846);
    for (int j = 1; j <= (int)p; j++)
        sum += lgamma(a + 0.5 * (1 - j));
    return sum;
}

// What does not depend on the inputs.
static double constant_part(const struct mixture *g) {
    double n = (double)g->points, d = (double)g->dimension, k = (double)g->components;
    double freedom = d + g->m + 1;
    double wishart =
        freedom * d * (log(g->gamma) - 0.5 * log(2)) - log_gamma_distribution(0.5 * freedom, d);
    return -n * d * 0.5 * log(2 * 3.14159265358979323846) - k * wishart;
}

static ct_var constant(ct_tape *tape, const ct_tensor *t, const ct_scalar *scalar) {
    ct_tensor *lifted = ct_astype(t, scalar);
    ct_var v = ct_constant(tape, lifted, NULL);
    ct_free(lifted);
    return v;
}

// The factors Q, components x d x d, from the logarithms of their diagonals and their triangles.
static ct_var factors(const struct mixture *g, ct_tape *tape, ct_var log_diagonal, ct_var below) {
    int64_t d = g->dimension, k = g->components;
    const ct_scalar *scalar = ct_dtype(ct_value(below));
    ct_tensor *eye = ct_eye(CT_F64, d, d, 0);
    ct_var unit = constant(tape, eye, scalar), places = constant(tape, g->lower, scalar);
    ct_var diagonal = ct_var_mul(ct_var_expand_dims(ct_var_exp(log_diagonal), 1), unit);
    ct_free(eye);
    ct_var triangles = ct_var_reshape(ct_var_matmul(below, places), 3, (int64_t[]){k, d, d});
    return ct_var_add(diagonal, triangles);
}

// gamma^2 / 2 (|diagonal|^2 + |triangle|^2) - m log det, over all components
static ct_var prior(const struct mixture *g, ct_tape *tape, ct_var log_diagonal, ct_var below,
                    ct_var log_det) {
    const ct_scalar *scalar = ct_dtype(ct_value(below));
    ct_var half = ct_constant_of(tape, scalar, 0.5 * g->gamma * g->gamma);
    ct_var m = ct_constant_of(tape, scalar, g->m);
    ct_var diagonal = ct_var_sum(ct_var_square(ct_var_exp(log_diagonal)), CT_ALL, false);
    ct_var triangles = ct_var_sum(ct_var_square(below), CT_ALL, false);
    ct_var spread = ct_var_mul(half, ct_var_add(diagonal, triangles));
    return ct_var_sub(spread, ct_var_mul(m, ct_var_sum(log_det, CT_ALL, false)));
}

static ct_var log_likelihood(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    const struct mixture *g = context;
    const ct_scalar *scalar = ct_dtype(ct_value(in[ALPHAS]));
    int64_t d = g->dimension;
    (void)n;
    ct_var log_diagonal = ct_var_slice(in[FACTORS], 1, 0, d, 1);
    ct_var below = ct_var_slice(in[FACTORS], 1, d, d + d * (d - 1) / 2, 1);
    ct_var log_det = ct_var_sum(log_diagonal, 1, false);
    // Q (x - mean), components x points x d
    ct_var x = constant(tape, g->x, scalar), q = factors(g, tape, log_diagonal, below);
    ct_var centred = ct_var_sub(x, ct_var_expand_dims(in[MEANS], 1));
    ct_var scaled = ct_var_matmul(centred, ct_var_transpose(q));
    ct_var distance = ct_var_sum(ct_var_square(scaled), 2, false);
    ct_var weight = ct_var_expand_dims(ct_var_add(in[ALPHAS], log_det), 1);
    ct_var half = ct_constant_of(tape, scalar, 0.5);
    ct_var terms = ct_var_sub(weight, ct_var_mul(half, distance));
    ct_var fit = ct_var_sum(ct_var_logsumexp(terms, 0, false), CT_ALL, false);
    ct_var points = ct_constant_of(tape, scalar, (double)g->points);
    ct_var normaliser = ct_var_mul(points, ct_var_logsumexp(in[ALPHAS], 0, false));
    ct_var rest = ct_constant_of(tape, scalar, constant_part(g));
    ct_var data = ct_var_add(ct_var_sub(fit, normaliser), rest);
    return ct_var_add(data, prior(g, tape, log_diagonal, below, log_det));
}

static void print(const char *name, const ct_tensor *t) {
    char text[512];
    ct_format(t, text, sizeof text);
    printf("%-8s %s\n", name, text);
}

static ct_tensor *drawn(ct_random *random, int64_t rows, int64_t columns) {
    return ct_normal(random, CT_F64, 2, (int64_t[]){rows, columns}, 0, 1);
}

int main(void) {
    const int64_t d = 2, k = 3, points = 40;
    ct_random random = ct_random_of(1, 0);
    struct mixture g = {points, d, k, drawn(&random, points, d), 1, 0, triangle(d)};
    ct_tensor *in[INPUTS] = {ct_normal(&random, CT_F64, 1, &k, 0, 1), drawn(&random, k, d),
                             drawn(&random, k, d + d * (d - 1) / 2)};
    const ct_tensor *const *inputs = (const ct_tensor *const *)in;
    ct_tensor *value = NULL, *gradient[INPUTS] = {0}, *curvature[INPUTS] = {0};
    struct ct_check_report report = {0};
    bool done = ct_vjp(log_likelihood, &g, INPUTS, inputs, NULL, &value, gradient) == CT_OK &&
                ct_hvp(log_likelihood, &g, INPUTS, inputs, inputs, NULL, curvature) == CT_OK &&
                ct_check_gradient(log_likelihood, &g, INPUTS, inputs, NULL, &report) == CT_OK;
    if (!done)
        fprintf(stderr, "%s\n", ct_error()->message);
    else {
        print("f", value), print("df/dalpha", gradient[ALPHAS]), print("df/dmean", gradient[MEANS]);
        print("H x, alpha", curvature[ALPHAS]);
        printf("checked %zu items: tape against dual numbers %.0e, against differences %.0e\n",
               report.checked, report.worst_tape_dual, report.worst_tape_diff);
    }
    for (int i = 0; i < INPUTS; i++)
        ct_free(in[i]), ct_free(gradient[i]), ct_free(curvature[i]);
    ct_free(value), ct_free(g.x), ct_free(g.lower);
    return !done || report.verdict != CT_CHECK_PASS;
}
