// Implicit differentiation: x = f(x, theta) solved by iteration, off the tape, as a custom op. Its rule is the
// implicit function theorem: with J = df/dx at the solution, the cotangent g of x is pulled back through
// v = g + J^T v, and theta receives (df/dtheta)^T v. The iterations leave no trace: memory does not
// grow with their number, as it does where they are recorded and differentiated one by one.
// (Christianson, 1994; Bai, Kolter, Koltun, Deep equilibrium models, 2019.)
#include "cotangent.h"
#include <math.h>
#include <stdio.h>

// The equation: f records f(x, theta...) for inputs x, theta.... It must be a contraction in x.
struct equation {
    ct_function *f;
    void *context;
    double tolerance; // of the largest change of an item, relative to 1
    int most;         // iterations
};
enum { MOST_INPUTS = 8 };

// --- the iterations

// One step of one of them: a new tensor from the last one.
typedef ct_tensor *step_fn(const struct equation *e, const ct_tensor *last, size_t n,
                           const ct_tensor *const *in);

// The largest change, and 0 where there is nothing to change; NaN after an error.
static double change(const ct_tensor *a, const ct_tensor *b) {
    if (ct_count(a) == 0)
        return 0;
    double size = (double)NAN;
    ct_tensor *gap = ct_sub(a, b), *norm = ct_norm(gap, CT_ALL, (double)INFINITY, false);
    if (norm)
        ct_to_doubles(norm, 1, &size);
    ct_free(gap), ct_free(norm);
    return size;
}

static ct_tensor *iterate(const struct equation *e, step_fn *step, const ct_tensor *start, size_t n,
                          const ct_tensor *const *in) {
    ct_tensor *last = ct_copy(start);
    for (int k = 0; last && k < e->most; k++) {
        ct_tensor *next = step(e, last, n, in);
        double gap = next ? change(next, last) : (double)NAN;
        ct_free(last);
        if (next && gap <= e->tolerance)
            return next;
        last = next;
    }
    if (!last)
        return NULL;
    ct_free(last);
    return ct_custom_fail(CT_EDOMAIN, "the iteration does not converge");
}

// x = f(x, theta), in = theta...
static ct_tensor *evaluate(const struct equation *e, const ct_tensor *last, size_t n,
                           const ct_tensor *const *in) {
    ct_tape *tape = ct_tape_new();
    if (!tape)
        return NULL;
    ct_var given[MOST_INPUTS] = {ct_constant(tape, last, NULL)};
    for (size_t i = 0; i < n; i++)
        given[i + 1] = ct_constant(tape, in[i], NULL);
    ct_var y = e->f(e->context, tape, n + 1, given);
    ct_tensor *value = ct_tape_status(tape) == CT_OK
                           ? ct_copy(ct_value(y))
                           : ct_custom_fail(ct_tape_status(tape), ct_tape_message(tape));
    ct_tape_free(tape);
    return value;
}

static ct_tensor *sum(const ct_tensor *a, ct_tensor *b) {
    ct_tensor *both = b ? ct_add(a, b) : NULL;
    ct_free(b);
    return both;
}

// v = g + J^T v, in = g, x, theta...
static ct_tensor *pull_step(const struct equation *e, const ct_tensor *last, size_t n,
                            const ct_tensor *const *in) {
    ct_tensor *product[MOST_INPUTS] = {NULL};
    ct_vjp(e->f, e->context, n - 1, in + 1, last, NULL, product);
    for (size_t i = 1; i + 1 < n; i++)
        ct_free(product[i]);
    return sum(in[0], product[0]);
}

// m = h + J m, in = h, x, theta...
static ct_tensor *push_step(const struct equation *e, const ct_tensor *last, size_t n,
                            const ct_tensor *const *in) {
    const ct_tensor *along[MOST_INPUTS] = {last};
    ct_tensor *product = NULL;
    ct_jvp(e->f, e->context, n - 1, in + 1, along, NULL, &product);
    return sum(in[0], product);
}

// --- the linear system and its rule, which is the other system: so every order exists

static ct_tensor *pull_run(void *context, size_t n, const ct_tensor *const *in) {
    return iterate(context, pull_step, in[0], n, in);
}
static ct_tensor *push_run(void *context, size_t n, const ct_tensor *const *in) {
    return iterate(context, push_step, in[0], n, in);
}
static void pull_vjp(void *context, const struct ct_custom_pull *p, ct_var *gradients);
static void push_vjp(void *context, const struct ct_custom_pull *p, ct_var *gradients);

static const struct ct_custom_op pull_op = {.size = sizeof(struct ct_custom_op),
                                            .name = "adjoint_solved",
                                            .doc = "v = g + J^T v",
                                            .run = pull_run,
                                            .vjp = pull_vjp};
static const struct ct_custom_op push_op = {.size = sizeof(struct ct_custom_op),
                                            .name = "tangent_solved",
                                            .doc = "m = h + J m",
                                            .run = push_run,
                                            .vjp = push_vjp};

// Variables of the rule's own with the values of others: what is recorded from them has no path through x, which
// itself depends on theta, so that ct_grad gives partial derivatives.
static void separate(size_t n, const ct_var *in, ct_var *own) {
    for (size_t i = 0; i < n; i++) {
        const ct_tensor *t = ct_value(in[i]);
        own[i] = t ? ct_var_reshape(in[i], ct_rank(t), ct_shape(t)) : in[i];
    }
}

// The gradients of <v, J(x, theta) m> for x, theta...: in = x, theta...
static void pull_product(const struct equation *e, ct_tape *tape, ct_var v, ct_var m, size_t n,
                         const ct_var *in, ct_var *gradients) {
    ct_var own[MOST_INPUTS], row;
    separate(n, in, own);
    ct_var y = e->f(e->context, tape, n, own);
    ct_grad(y, v, 1, own, &row);
    ct_grad(row, m, n, own, gradients);
}

static void pull_vjp(void *context, const struct ct_custom_pull *p, ct_var *gradients) {
    ct_var in[MOST_INPUTS] = {p->cotangent};
    for (size_t i = 1; i < p->n; i++)
        in[i] = p->inputs[i];
    gradients[0] = ct_var_custom(&push_op, context, p->n, in);
    pull_product(context, p->tape, p->output, gradients[0], p->n - 1, in + 1, gradients + 1);
}

static void push_vjp(void *context, const struct ct_custom_pull *p, ct_var *gradients) {
    ct_var in[MOST_INPUTS] = {p->cotangent};
    for (size_t i = 1; i < p->n; i++)
        in[i] = p->inputs[i];
    gradients[0] = ct_var_custom(&pull_op, context, p->n, in);
    pull_product(context, p->tape, gradients[0], p->output, p->n - 1, in + 1, gradients + 1);
}

// --- the fixed point

// in = a start, theta...
static ct_tensor *fixed_run(void *context, size_t n, const ct_tensor *const *in) {
    return iterate(context, evaluate, in[0], n - 1, in + 1);
}

static void fixed_vjp(void *context, const struct ct_custom_pull *p, ct_var *gradients) {
    const struct equation *e = context;
    ct_var in[MOST_INPUTS + 1] = {p->cotangent, p->output}, own[MOST_INPUTS];
    for (size_t i = 1; i < p->n; i++)
        in[i + 1] = p->inputs[i];
    ct_var v = ct_var_custom(&pull_op, context, p->n + 1, in);
    separate(p->n, in + 1, own);
    ct_var y = e->f(e->context, p->tape, p->n, own);
    gradients[0] = ct_custom_flat(); // the solution does not depend on where the search began
    ct_grad(y, v, p->n - 1, own + 1, gradients + 1);
}

static const struct ct_custom_op fixed_op = {.size = sizeof(struct ct_custom_op),
                                             .name = "fixed_point",
                                             .doc = "x = f(x, theta) by iteration",
                                             .run = fixed_run,
                                             .vjp = fixed_vjp};

// --- an equilibrium: x = tanh(W x + b)

static ct_var layer(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    (void)context, (void)tape, (void)n;
    return ct_var_tanh(ct_var_add(ct_var_matmul(in[1], in[0]), in[2]));
}

static struct equation equilibrium = {layer, NULL, 1e-14, 500};

// sum x^2 of the solution for W and b: by the theorem,
static ct_var implicit(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    (void)context, (void)n;
    ct_tensor *zeros = ct_zeros(ct_dtype(ct_value(in[1])), 1, ct_shape(ct_value(in[1])));
    const ct_var given[] = {ct_constant(tape, zeros, "start"), in[0], in[1]};
    ct_free(zeros);
    ct_var x = ct_named(ct_var_custom(&fixed_op, &equilibrium, 3, given), "equilibrium");
    return ct_var_sum(ct_var_square(x), CT_ALL, false);
}

// and with every iteration on the tape.
static ct_var unrolled(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    (void)context, (void)n;
    ct_tensor *zeros = ct_zeros(ct_dtype(ct_value(in[1])), 1, ct_shape(ct_value(in[1])));
    ct_var x = ct_constant(tape, zeros, "start");
    ct_free(zeros);
    for (int k = 0; k < 200; k++) {
        const ct_var given[] = {x, in[0], in[1]};
        x = layer(NULL, tape, 3, given);
    }
    return ct_var_sum(ct_var_square(x), CT_ALL, false);
}

static void print(const char *name, const ct_tensor *t) {
    char text[256];
    ct_format(t, text, sizeof text);
    printf("%-22s %s\n", name, text);
}

int main(void) {
    const double ws[] = {0.3, -0.2, 0.1, 0.25, 0.1, -0.3, -0.15, 0.2, 0.3}, bs[] = {0.5, -1, 0.25};
    ct_tensor *w = ct_from_doubles(CT_F64, 2, (int64_t[]){3, 3}, 9, ws);
    ct_tensor *b = ct_from_doubles(CT_F64, 1, (int64_t[]){3}, 3, bs);
    const ct_tensor *in[] = {w, b};
    static const struct {
        const char *name;
        ct_function *f;
    } ways[] = {{"implicit", implicit}, {"unrolled", unrolled}};
    for (int k = 0; k < 2; k++) {
        ct_tape *tape = ct_tape_new();
        ct_var x[] = {ct_leaf(tape, w, "W"), ct_leaf(tape, b, "b")}, dx[2];
        ct_grad(ways[k].f(NULL, tape, 2, x), ct_var_null(), 2, x, dx);
        if (ct_tape_status(tape) != CT_OK)
            return fprintf(stderr, "%s\n", ct_tape_message(tape)), 1;
        printf("%s, %zu nodes\n", ways[k].name, ct_tape_length(tape));
        print("  gradient for b", ct_value(dx[1]));
        ct_tape_free(tape);
    }
    struct ct_check_options options = ct_check_options_init();
    struct ct_check_report report;
    options.second_order = true;
    if (ct_check_gradient(implicit, NULL, 2, in, &options, &report) != CT_OK)
        return fprintf(stderr, "%s\n", ct_error()->message), 1;
    printf("checked, to second order: %s\n", report.message);
    ct_free(w), ct_free(b);
    return report.verdict != CT_CHECK_PASS;
}
