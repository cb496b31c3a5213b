// A Gaussian process: two numbers are learned by the gradient of the log marginal likelihood, which passes through a
// Cholesky factorisation and a triangular solution; then the process says what lies between its points, and how sure
// it is. K = s exp(-(x - x')^2 / (2 l^2)) + noise; log p = -y' K^-1 y / 2 - log det K / 2 - n log(2 pi) / 2.
#include "cotangent.h"
#include <math.h>
#include <stdio.h>

enum { POINTS = 12, QUERIES = 5, STEPS = 60 };

static const double noise = 0.01;

// The kernel between rows of points and of others, from log s and log l.
static ct_var kernel(ct_var theta, const double *x, int n, const double *z, int m) {
    double squares[POINTS * POINTS];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            squares[i * m + j] = -0.5 * (x[i] - z[j]) * (x[i] - z[j]);
    const ct_scalar *scalar = ct_dtype(ct_value(theta));
    ct_tensor *t = ct_from_doubles(scalar, 2, (int64_t[]){n, m}, (size_t)(n * m), squares);
    ct_var distance = ct_constant(theta.tape, t, "-d^2/2");
    ct_free(t);
    ct_var s = ct_var_exp(ct_var_select(theta, 0, 0));
    ct_var l = ct_var_exp(ct_var_select(theta, 0, 1));
    ct_var bell = ct_var_exp(ct_var_div(distance, ct_var_square(l)));
    return ct_var_mul(s, bell);
}

// L of K(x, x) + noise.
static ct_var factor(ct_var theta, const double *x) {
    ct_tensor *one = ct_eye(ct_dtype(ct_value(theta)), POINTS, POINTS, 0);
    ct_tensor *t = ct_scale(one, noise);
    ct_var diagonal = ct_constant(theta.tape, t, "noise");
    ct_free(one), ct_free(t);
    ct_var k = kernel(theta, x, POINTS, x, POINTS);
    return ct_var_cholesky(ct_var_add(k, diagonal));
}

// -2 log p, but for its constant: |L^-1 y|^2 + 2 log det L.
static ct_var loss(ct_var theta, const double *x, ct_var y) {
    ct_var l = factor(theta, x);
    ct_var z = ct_var_solve_triangular(l, y, CT_LOWER);
    ct_var fit = ct_var_sum(ct_var_square(z), CT_ALL, false);
    ct_var volume = ct_var_logdet(l);
    return ct_var_add(fit, ct_var_add(volume, volume));
}

static ct_var vector(ct_tape *tape, int n, const double *items) {
    ct_tensor *t = ct_from_doubles(CT_F64, 1, (int64_t[]){n}, (size_t)n, items);
    ct_var v = ct_constant(tape, t, NULL);
    ct_free(t);
    return v;
}

// The mean k' K^-1 y and the variance s - |L^-1 k|^2 at each query.
static void predict(ct_var theta, const double *x, ct_var y, const double *queries) {
    ct_var l = factor(theta, x), k = kernel(theta, x, POINTS, queries, QUERIES);
    ct_var z = ct_var_solve_triangular(l, y, CT_LOWER);
    ct_var w = ct_var_solve_triangular(l, k, CT_LOWER);
    ct_var mean = ct_var_matmul(z, w);
    ct_var known = ct_var_sum(ct_var_square(w), 0, false);
    ct_var s = ct_var_exp(ct_var_select(theta, 0, 0));
    ct_var deviation = ct_var_sqrt(ct_var_sub(s, known));
    double m[QUERIES], d[QUERIES];
    if (ct_to_doubles(ct_value(mean), QUERIES, m) || ct_to_doubles(ct_value(deviation), QUERIES, d))
        return;
    for (int i = 0; i < QUERIES; i++)
        printf("at %4.1f: %6.3f +- %.3f, in truth %6.3f\n", queries[i], m[i], d[i],
               sin(queries[i]));
}

int main(void) {
    double x[POINTS], y[POINTS];
    const double queries[QUERIES] = {0.3, 1.7, 2.9, 4.4, 8};
    for (int i = 0; i < POINTS; i++) {
        x[i] = 0.5 * i;
        y[i] = sin(x[i]) + 0.1 * sin(17.0 * i); // the second part stands for noise
    }
    ct_tape *tape = ct_tape_new();
    ct_mark start = ct_tape_mark(tape);
    ct_tensor *theta = ct_zeros(CT_F64, 1, (int64_t[]){2});
    for (int step = 0; step <= STEPS && theta; step++) {
        ct_var t = ct_leaf(tape, theta, "theta"), f = loss(t, x, vector(tape, POINTS, y)), slope;
        if (ct_grad(f, ct_var_null(), 1, &t, &slope) != CT_OK)
            break;
        ct_tensor *next = ct_axpby(-0.02, ct_value(slope), 1, theta);
        if (step % 20 == 0)
            printf("step %2d: -2 log p = %8.4f\n", step,
                   ct_value_item(f) + POINTS * log(2 * 3.14159265358979));
        if (step == STEPS)
            predict(t, x, vector(tape, POINTS, y), queries);
        ct_free(theta);
        theta = next;
        if (step < STEPS)
            ct_tape_rewind(tape, start);
    }
    if (ct_tape_status(tape) != CT_OK)
        fprintf(stderr, "%s\n", ct_tape_message(tape));
    int failed = ct_tape_status(tape) != CT_OK;
    ct_free(theta), ct_tape_free(tape);
    return failed;
}
