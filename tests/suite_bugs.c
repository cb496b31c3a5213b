#include "bugs.h"

#include <stdlib.h>

#include "case_tools.h"
#include "dual/ct_dual.h"

Suite *suite_bugs(void);

enum { MOST = 2 };

static const double TOLERANCE = 1e-12;

ct_var constant_like(ct_var v, double value) {
    const ct_tensor *t = ct_value(v);
    return t ? ct_constant_of(v.tape, ct_dtype(t), value) : v;
}

static void expect(const char *what, const ct_tensor *t, struct numbers numbers) {
    expect_items(what, ct_copy(t), TOLERANCE, numbers.count, numbers.values);
}

static ct_tensor *vector(struct numbers numbers) {
    return tensor_of(1, (int64_t[]){(int64_t)numbers.count}, numbers.count, numbers.values);
}

static void check_status(const char *what, const ct_tape *tape) {
    ck_assert_msg(ct_tape_status(tape) == CT_OK, "%s: %s", what, ct_tape_message(tape));
}

static void check_reverse(const char *what, bug_fn *fn, int n, const struct numbers x[],
                          struct numbers y, const struct numbers dx[]) {
    ct_tape *tape = ct_tape_new();
    ct_var in[MOST], g[MOST];
    for (int i = 0; i < n; i++) {
        ct_tensor *t = vector(x[i]);
        in[i] = ct_leaf(tape, t, "x");
        ct_free(t);
    }
    ct_var out = fn(in);
    check_status(what, tape);
    expect(what, ct_value(out), y);
    ct_grad(out, ct_var_null(), (size_t)n, in, g);
    check_status(what, tape);
    for (int i = 0; i < n; i++)
        expect(what, ct_value(g[i]), dx[i]);
    ct_tape_free(tape);
}

/* The sum of the result's tangents when item `item` of input `which` has the tangent 1. */
static double forward(const char *what, bug_fn *fn, int n, const struct numbers x[], int which,
                      size_t item) {
    ct_tape *tape = ct_tape_new();
    ct_var in[MOST];
    for (int i = 0; i < n; i++) {
        ct_tensor *t = vector(x[i]), *unit = ct_zeros(CT_F64, 1, ct_shape(t));
        if (i == which)
            ct_set(unit, 1, (int64_t[]){(int64_t)item}, 1);
        ct_tensor *dual = ct_dual(t, unit);
        in[i] = ct_constant(tape, dual, NULL);
        ct_free(t);
        ct_free(unit);
        ct_free(dual);
    }
    ct_var out = fn(in);
    check_status(what, tape);
    ct_tensor *tangent = ct_dual_tangent(ct_value(out)), *sum = ct_sum(tangent, CT_ALL, false);
    double result = ct_item(sum);
    ct_free(tangent);
    ct_free(sum);
    ct_tape_free(tape);
    return result;
}

static void check_forward(const char *what, bug_fn *fn, int n, const struct numbers x[],
                          const struct numbers dx[]) {
    for (int i = 0; i < n; i++) {
        double *tangents = calloc(x[i].count + 1, sizeof *tangents);
        ck_assert_ptr_nonnull(tangents);
        for (size_t k = 0; k < x[i].count; k++)
            tangents[k] = forward(what, fn, n, x, i, k);
        ct_tensor *t = vector((struct numbers){x[i].count, tangents});
        expect(what, t, dx[i]);
        ct_free(t);
        free(tangents);
    }
}

void check_gradient(const char *what, bug_fn *fn, struct numbers x, struct numbers y,
                    struct numbers dx) {
    check_reverse(what, fn, 1, &x, y, &dx);
    check_forward(what, fn, 1, &x, &dx);
}

void check_gradient_2(const char *what, bug_fn *fn, struct numbers x, struct numbers z,
                      struct numbers y, struct numbers dx, struct numbers dz) {
    const struct numbers in[] = {x, z}, gradients[] = {dx, dz};
    check_reverse(what, fn, 2, in, y, gradients);
    check_forward(what, fn, 2, in, gradients);
}

void check_second(const char *what, bug_fn *fn, struct numbers x, struct numbers ddx) {
    ct_tape *tape = ct_tape_new();
    ct_tensor *t = vector(x);
    ct_var in = ct_leaf(tape, t, "x"), first, second;
    ct_grad(fn(&in), ct_var_null(), 1, &in, &first);
    ct_grad(first, ct_var_null(), 1, &in, &second);
    check_status(what, tape);
    expect(what, ct_value(second), ddx);
    ct_free(t);
    ct_tape_free(tape);
}

Suite *suite_bugs(void) {
    Suite *suite = suite_create("bugs");
    add_kinks(suite);
    add_shapes(suite);
    add_tensors(suite);
    add_runtime(suite);
    add_network(suite);
    return suite;
}
