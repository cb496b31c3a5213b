// Derivatives of a function of one's own: the gradient, a Hessian-vector product, and their check.
// f(x, z) = (1 - x)^2 + 100 (z - x^2)^2, Rosenbrock's valley, summed over many points at once.
#include "cotangent.h"
#include <stdio.h>

// Of any scalar type: constants are made with the type of the inputs.
static ct_var rosenbrock(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    (void)context, (void)n;
    const ct_scalar *scalar = ct_dtype(ct_value(in[0]));
    ct_var one = ct_constant_of(tape, scalar, 1), hundred = ct_constant_of(tape, scalar, 100);
    ct_var slope = ct_var_square(ct_var_sub(one, in[0]));
    ct_var valley = ct_var_square(ct_var_sub(in[1], ct_var_square(in[0])));
    return ct_var_sum(ct_var_add(slope, ct_var_mul(hundred, valley)), CT_ALL, false);
}

static void print(const char *name, ct_var v) {
    char text[256];
    ct_format(ct_value(v), text, sizeof text);
    printf("%-8s %s\n", name, text);
}

int main(void) {
    const double xs[] = {-1.2, 0.0, 1.0}, zs[] = {1.0, 2.0, 1.0};
    ct_tensor *x = ct_from_doubles(CT_F64, 1, (int64_t[]){3}, 3, xs);
    ct_tensor *z = ct_from_doubles(CT_F64, 1, (int64_t[]){3}, 3, zs);

    ct_tape *tape = ct_tape_new();
    ct_var in[] = {ct_leaf(tape, x, "x"), ct_leaf(tape, z, "z")};
    ct_var f = rosenbrock(NULL, tape, 2, in);
    ct_var gradient[2], product[2];
    ct_grad(f, ct_var_null(), 2, in, gradient);
    // The gradient is on the tape like anything else: differentiate <gradient, (1, 1)> again.
    ct_var along = ct_var_sum(ct_var_add(gradient[0], gradient[1]), CT_ALL, false);
    ct_grad(along, ct_var_null(), 2, in, product);
    if (ct_tape_status(tape) != CT_OK)
        return fprintf(stderr, "%s\n", ct_tape_message(tape)), 1;
    print("f", f);
    print("df/dx", gradient[0]);
    print("df/dz", gradient[1]);
    print("(H 1)_x", product[0]);
    print("(H 1)_z", product[1]);

    struct ct_check_options options = ct_check_options_init();
    options.second_order = true;
    struct ct_check_report report;
    const ct_tensor *inputs[] = {x, z};
    if (ct_check_gradient(rosenbrock, NULL, 2, inputs, &options, &report) != CT_OK)
        return fprintf(stderr, "%s\n", ct_error()->message), 1;
    printf("checked: tape against dual %.0e, against differences %.0e, second order %.0e\n",
           report.worst_tape_dual, report.worst_tape_diff, report.worst_second);
    ct_tape_free(tape), ct_free(x), ct_free(z);
    return report.verdict != CT_CHECK_PASS;
}
