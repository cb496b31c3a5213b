/* Recomputed segments: the bits of open recording in every mode, and the memory that they save. */

#include "autodiff/ct_custom.h"
#include "autodiff/ct_derivatives.h"
#include "autodiff/ct_dot.h"
#include "autodiff/ct_network.h"
#include "autodiff/ct_sparse.h"
#include "autodiff/ct_var_ops.h"
#include "custom_cases.h"
#include "dot_tools.h"
#include "random_program.h"
#include "dual/ct_dual.h"
#include "scarce_memory.h"
#include "tape_fixture.h"
#include "tensor/ct_convert.h"
#include "tensor/ct_make.h"
#include "tensor/ct_names.h"
#include "tensor/ct_ops.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static void same(const char *what, ct_var a, ct_var b) {
    tape_is_well();
    ck_assert_msg(same_bits(ct_value(a), ct_value(b)), "%s: other bits", what);
}

/* --- the functions that are recomputed --- */

/* tanh(x w + b), twice with the same weights: three contributions to each of them. */
static ct_var cell(void *context, ct_tape *on, size_t n, const ct_var *in) {
    (void)context, (void)on, (void)n;
    ct_var h = ct_var_tanh(ct_var_add(ct_var_matmul(in[0], in[1]), in[2]));
    h = ct_var_tanh(ct_var_add(ct_var_matmul(h, in[1]), in[2]));
    return ct_var_mul(h, ct_var_exp(in[2]));
}

/* The cell as it is, or recomputed. */
typedef ct_var step_fn(ct_function *fn, void *context, size_t n, const ct_var *in);

static ct_var openly(ct_function *fn, void *context, size_t n, const ct_var *in) {
    return fn(context, in[0].tape, n, in);
}

/* Five cells in a row: the weights are shared by all. Another use of them comes in between. */
struct chain {
    step_fn *step;
    ct_function *fn;
};

static ct_var chain_of(void *context, ct_tape *on, size_t n, const ct_var *in) {
    const struct chain *chain = context;
    ct_var h = in[0];
    (void)on;
    for (int k = 0; k < 5; k++) {
        ct_var given[] = {h, in[1], in[2]};
        h = chain->step(chain->fn, NULL, n, given);
        if (k == 2)
            h = ct_var_add(h, ct_var_sin(in[2]));
    }
    return ct_var_sum(ct_var_square(h), CT_ALL, false);
}

static struct chain open_chain = {openly, cell}, closed_chain = {ct_var_recomputed, cell};

struct inputs {
    ct_tensor *t[3];
    const ct_tensor *in[3];
};

static struct inputs make_inputs(const ct_scalar *scalar, uint64_t seed) {
    struct draw draw = {seed};
    struct inputs i;
    i.t[0] = draw_tensor(&draw, scalar, 2, (int64_t[]){3, 5}, -1, 1);
    i.t[1] = draw_tensor(&draw, scalar, 2, (int64_t[]){5, 5}, -1, 1);
    i.t[2] = draw_tensor(&draw, scalar, 1, (int64_t[]){5}, -1, 1);
    for (int k = 0; k < 3; k++)
        i.in[k] = i.t[k];
    return i;
}

static void free_inputs(struct inputs *i) {
    for (int k = 0; k < 3; k++)
        ct_free(i->t[k]);
}

static void put_leaves(const struct inputs *i, ct_var x[3]) {
    for (int k = 0; k < 3; k++)
        x[k] = ct_leaf(tape, i->t[k], NULL);
}

static const ct_scalar *type_numbered(int i) {
    return i ? CT_F64 : CT_F32;
}

/* Beyond the first order of reverse mode, what flows back through a segment's gradient and through its
   value meets only at its inputs: to rounding the same. */
static void nearly(const char *what, ct_var a, ct_var b, double tolerance) {
    double right[25];
    tape_is_well();
    size_t count = ct_count(ct_value(a));
    ok(ct_to_doubles(ct_value(a), count, right));
    expect_items(what, ct_copy(ct_value(b)), tolerance, count, right);
}

/* --- the same bits --- */

START_TEST(reverse_mode_of_three_orders) {
    struct inputs inputs = make_inputs(type_numbered(_i), 5);
    ct_var x[3], first[2][3], second[2][3], third[2][3], y[2];
    put_leaves(&inputs, x);
    for (int closed = 0; closed < 2; closed++) {
        y[closed] = chain_of(closed ? &closed_chain : &open_chain, tape, 3, x);
        ok(ct_grad(y[closed], ct_var_null(), 3, x, first[closed]));
        ok(ct_grad_all(3, first[closed], NULL, 3, x, second[closed]));
        ok(ct_grad_all(3, second[closed], x, 3, x, third[closed]));
    }
    same("value", y[0], y[1]);
    for (int k = 0; k < 3; k++) {
        same("first order", first[0][k], first[1][k]);
        nearly("second order", second[0][k], second[1][k], _i ? 1e-12 : 1e-3);
        nearly("third order", third[0][k], third[1][k], _i ? 1e-12 : 1e-3);
    }
    free_inputs(&inputs);
}
END_TEST

START_TEST(over_duals) {
    struct inputs inputs = make_inputs(type_numbered(_i), 6),
                  along = make_inputs(type_numbered(_i), 7);
    ct_tensor *value[2], *product[2], *gradient[2][3], *curved[2][3];
    for (int closed = 0; closed < 2; closed++) {
        struct chain *chain = closed ? &closed_chain : &open_chain;
        ok(ct_jvp(chain_of, chain, 3, inputs.in, along.in, &value[closed], &product[closed]));
        ok(ct_hvp(chain_of, chain, 3, inputs.in, along.in, gradient[closed], curved[closed]));
    }
    ck_assert(same_bits(value[0], value[1]) && same_bits(product[0], product[1]));
    for (int k = 0; k < 3; k++) {
        ck_assert_msg(same_bits(gradient[0][k], gradient[1][k]), "gradient %d", k);
        ck_assert_msg(same_bits(curved[0][k], curved[1][k]), "product %d", k);
        for (int closed = 0; closed < 2; closed++)
            ct_free(gradient[closed][k]), ct_free(curved[closed][k]);
    }
    for (int closed = 0; closed < 2; closed++)
        ct_free(value[closed]), ct_free(product[closed]);
    free_inputs(&inputs), free_inputs(&along);
}
END_TEST

/* A segment of segments. */
static ct_var nested_cell(void *context, ct_tape *on, size_t n, const ct_var *in) {
    (void)on;
    ct_var h = ct_var_recomputed(cell, context, n, in);
    const ct_var again[] = {h, in[1], in[2]};
    return ct_var_recomputed(cell, context, n, again);
}

static ct_var double_cell(void *context, ct_tape *on, size_t n, const ct_var *in) {
    ct_var h = cell(context, on, n, in);
    const ct_var again[] = {h, in[1], in[2]};
    return cell(context, on, n, again);
}

START_TEST(segments_nest) {
    struct inputs inputs = make_inputs(CT_F32, 8);
    struct chain open = {openly, double_cell}, closed = {ct_var_recomputed, nested_cell};
    ct_var x[3], dx[2][3], y[2];
    put_leaves(&inputs, x);
    for (int k = 0; k < 2; k++) {
        y[k] = chain_of(k ? &closed : &open, tape, 3, x);
        ok(ct_grad(y[k], ct_var_null(), 3, x, dx[k]));
    }
    same("value", y[0], y[1]);
    for (int k = 0; k < 3; k++)
        same("gradient", dx[0][k], dx[1][k]);
    free_inputs(&inputs);
}
END_TEST

/* A sine, and beneath it the same again. */
enum { DEPTH = 12, STACK = 256 * 1024 };
struct depth {
    int left;
    step_fn *step;
};

static ct_var sines(void *context, ct_tape *on, size_t n, const ct_var *in) {
    const struct depth *depth = context;
    struct depth *below = (struct depth *)context + 1;
    (void)on;
    ct_var h = ct_var_sin(in[0]);
    return depth->left > 0 ? depth->step(sines, below, n, &h) : h;
}

/* On a small stack. */
static void *differentiate_sines(void *result) {
    static struct depth depths[2][DEPTH + 1];
    ct_tensor *t = T1(0.7, -2), **dx = result;
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i <= DEPTH; i++)
            depths[k][i] = (struct depth){DEPTH - i, k ? ct_var_recomputed : openly};
        ct_vjp(sines, depths[k], 1, (const ct_tensor *[]){t}, NULL, NULL, &dx[k]);
    }
    ct_free(t);
    return NULL;
}

START_TEST(segments_nest_deep_on_a_small_stack) {
    pthread_attr_t attributes;
    pthread_t thread;
    ct_tensor *dx[2] = {NULL};
    ck_assert_int_eq(pthread_attr_init(&attributes), 0);
    ck_assert_int_eq(pthread_attr_setstacksize(&attributes, STACK), 0);
    ck_assert_int_eq(pthread_create(&thread, &attributes, differentiate_sines, dx), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attributes);
    ck_assert(same_bits(dx[0], dx[1]));
    ct_free(dx[0]), ct_free(dx[1]);
}
END_TEST

/* The first two inputs are the same variable in one call. */
static ct_var twice_used(void *context, ct_tape *on, size_t n, const ct_var *in) {
    (void)context, (void)on, (void)n;
    ct_var a = ct_var_mul(ct_var_sin(in[0]), ct_var_exp(in[1]));
    return ct_var_mul(a, ct_var_add(in[0], in[2]));
}

START_TEST(an_input_given_twice) {
    struct inputs inputs = make_inputs(CT_F32, 9);
    ct_var x[3], dx[2], y[2];
    put_leaves(&inputs, x);
    const ct_var given[] = {x[1], x[1], x[0]};
    ct_var b = ct_var_broadcast_to(ct_var_sum(x[0], CT_ALL, false), 2, (int64_t[]){5, 5});
    const ct_var in[] = {given[0], given[1], b};
    for (int k = 0; k < 2; k++) {
        y[k] = (k ? ct_var_recomputed : openly)(twice_used, NULL, 3, in);
        y[k] = ct_var_mul(y[k], x[1]);
        ok(ct_grad(y[k], ct_var_null(), 1, &x[1], &dx[k]));
    }
    same("value", y[0], y[1]);
    same("gradient", dx[0], dx[1]);
    free_inputs(&inputs);
}
END_TEST

/* Labels, constants, an input that nothing asks about, one that leads nowhere. */
static ct_var losses(void *context, ct_tape *on, size_t n, const ct_var *in) {
    (void)context, (void)on, (void)n;
    ct_var logits = ct_var_matmul(in[0], in[1]);
    return ct_var_cross_entropy(logits, in[2], CT_REDUCE_MEAN);
}

START_TEST(inputs_that_get_no_gradient) {
    struct inputs inputs = make_inputs(CT_F64, 10);
    ct_tensor *labels = ct_full(CT_I64, 1, (int64_t[]){3}, 2);
    ct_var x[3], dx[2][2], y[2];
    put_leaves(&inputs, x);
    ct_var data = ct_constant(tape, inputs.t[0], NULL);
    const ct_var in[] = {data, x[1], ct_constant(tape, labels, NULL), x[2]};
    for (int k = 0; k < 2; k++) {
        y[k] = (k ? ct_var_recomputed : openly)(losses, NULL, 4, in);
        ok(ct_grad(y[k], ct_var_null(), 2, x + 1, dx[k]));
    }
    same("value", y[0], y[1]);
    same("gradient", dx[0][0], dx[1][0]);
    same("of what leads nowhere", dx[0][1], dx[1][1]);
    ct_free(labels);
    free_inputs(&inputs);
}
END_TEST

static ct_var with_dropout(void *context, ct_tape *on, size_t n, const ct_var *in) {
    const uint64_t *step = context;
    (void)on, (void)n;
    ct_var h = ct_var_dropout(ct_var_tanh(ct_var_matmul(in[0], in[1])), 0.5, 3, *step, 1);
    return ct_var_dropout(ct_var_mul(h, in[2]), 0.25, 3, *step, 2);
}

START_TEST(dropout_draws_the_same_mask) {
    struct inputs inputs = make_inputs(CT_F32, 11);
    uint64_t step = 4;
    ct_var x[3], dx[2][3], y[2];
    put_leaves(&inputs, x);
    for (int k = 0; k < 2; k++) {
        y[k] = (k ? ct_var_recomputed : openly)(with_dropout, &step, 3, x);
        ok(ct_grad(y[k], ct_var_null(), 3, x, dx[k]));
    }
    same("value", y[0], y[1]);
    ck_assert(!same_bits(ct_value(y[0]), ct_value(openly(cell, NULL, 3, x))));
    for (int k = 0; k < 3; k++)
        same("gradient", dx[0][k], dx[1][k]);
    free_inputs(&inputs);
}
END_TEST

/* sqrt(x) sqrt(x), whose derivative at 0 is 0 times infinity. */
static ct_var product_of_roots(void *context, ct_tape *on, size_t n, const ct_var *in) {
    (void)context, (void)on, (void)n;
    ct_var a = ct_var_sqrt(in[0]), b = ct_var_sqrt(in[0]);
    return ct_var_mul(a, b);
}

START_TEST(the_tapes_option_is_the_segments) {
    ct_tensor *t = T1(0, 4);
    ct_var x = ct_leaf(tape, t, NULL), dx;
    ct_var y = ct_var_recomputed(product_of_roots, NULL, 1, &x);
    ok(ct_grad(y, ct_var_null(), 1, &x, &dx));
    EXPECT("absorbing", ct_copy(ct_value(dx)), 0, 0, 1);
    ok(ct_tape_set_ieee(tape, true));
    ok(ct_grad(y, ct_var_null(), 1, &x, &dx));
    EXPECT("plain", ct_copy(ct_value(dx)), 0, QNAN, 1);
    ct_free(t);
}
END_TEST

static ct_var closed_cubes(void *context, ct_tape *on, size_t n, const ct_var *in) {
    (void)on;
    return ct_var_recomputed(composed_cube, context, n, in);
}

static ct_var sum_of_closed_cubes(void *context, ct_tape *on, size_t n, const ct_var *in) {
    return ct_var_sum(closed_cubes(context, on, n, in), CT_ALL, false);
}

START_TEST(sparse_patterns_see_through_it) {
    struct cube_call call = {NULL, 2};
    ct_tensor *x = T1(1, -0.5, 3);
    const ct_tensor *in[] = {x};
    ct_pattern *p = ct_jacobian_pattern(closed_cubes, &call, 1, in, 0);
    ck_assert_uint_eq(ct_pattern_count(p), 3);
    ct_pattern_free(p);
    p = ct_hessian_pattern(sum_of_closed_cubes, &call, 1, in, 0);
    ck_assert_uint_eq(ct_pattern_count(p), 3);
    ct_tensor *entries = ct_hessian_sparse(sum_of_closed_cubes, &call, 1, in, 0, p);
    EXPECT("entries", entries, 0, 12, -6, 36);
    ct_pattern_free(p), ct_free(x);
}
END_TEST

/* sum over the axis called "time", of a product whose names must meet. */
static ct_var by_name(void *context, ct_tape *on, size_t n, const ct_var *in) {
    (void)context, (void)on, (void)n;
    int axis = ct_axis_of(ct_value(in[0]), "time");
    return ct_var_sum(ct_var_tanh(ct_var_matmul(in[0], in[1])), axis, false);
}

START_TEST(axes_are_found_by_name_again) {
    struct inputs inputs = make_inputs(CT_F64, 16);
    ct_tensor *named = ct_name_axes(inputs.t[0], 2, (const char *[]){"time", "unit"});
    ct_var x[2] = {ct_leaf(tape, named, NULL), ct_leaf(tape, inputs.t[1], NULL)}, dx[2][2],
           second[2][2];
    for (int k = 0; k < 2; k++) {
        ct_var y = (k ? ct_var_recomputed : openly)(by_name, NULL, 2, x);
        ok(ct_grad(y, ct_var_null(), 2, x, dx[k]));
        ok(ct_grad(ct_var_sum(ct_var_square(dx[k][0]), CT_ALL, false), ct_var_null(), 2, x,
                   second[k]));
    }
    for (int k = 0; k < 2; k++) {
        same("gradient", dx[0][k], dx[1][k]);
        nearly("second order", second[0][k], second[1][k], 1e-12);
    }
    ct_free(named);
    free_inputs(&inputs);
}
END_TEST

static ct_var empty_product(void *context, ct_tape *on, size_t n, const ct_var *in) {
    (void)context, (void)on, (void)n;
    return ct_var_matmul(ct_var_exp(in[0]), ct_var_sin(in[1]));
}

START_TEST(extents_of_zero) {
    ct_tensor *a = ct_zeros(CT_F64, 2, (int64_t[]){2, 0}),
              *b = ct_zeros(CT_F64, 2, (int64_t[]){0, 3});
    ct_var x[2] = {ct_leaf(tape, a, NULL), ct_leaf(tape, b, NULL)}, dx[2], d2[2];
    ct_var y = ct_var_recomputed(empty_product, NULL, 2, x);
    ok(ct_grad(y, ct_var_null(), 2, x, dx));
    ok(ct_grad_all(2, dx, NULL, 2, x, d2));
    EXPECT("value", ct_copy(ct_value(y)), 0, 0, 0, 0, 0, 0, 0);
    for (int k = 0; k < 2; k++) {
        ck_assert(same_bits(ct_value(dx[k]), ct_value(x[k])));
        ck_assert(same_bits(ct_value(d2[k]), ct_value(x[k])));
    }
    ct_free(a), ct_free(b);
}
END_TEST

static ct_var mask_only(void *context, ct_tape *on, size_t n, const ct_var *in) {
    (void)context, (void)n;
    ct_var one = ct_constant_of(on, CT_F64, 1), two = ct_constant_of(on, CT_F64, 2);
    return ct_var_where(in[0], one, two);
}

START_TEST(masks_on_the_path_ask_nothing) {
    ct_tensor *t = T1(1, -2);
    ct_var x = ct_leaf(tape, t, NULL), dx;
    ct_var mask = ct_var_greater(x, ct_constant_of(tape, CT_F64, 0));
    ct_var y = ct_var_mul(ct_var_recomputed(mask_only, NULL, 1, &mask), x);
    ok(ct_grad(y, ct_var_null(), 1, &x, &dx));
    EXPECT("gradient", ct_copy(ct_value(dx)), 0, 1, 2);
    ct_free(t);
}
END_TEST

/* --- random programs as segments --- */

enum { PROGRAMS = 400, PROGRAM_BYTES = 64 };

struct random_chain {
    step_fn *step;
    struct program program;
};

/* Two segments of one program that share the inputs, which are used in between and after. */
static ct_var random_chain_of(void *context, ct_tape *on, size_t n, const ct_var *in) {
    struct random_chain *c = context;
    ct_var y = c->step(program_run, &c->program, n, in), moved[PROGRAM_INPUTS];
    (void)on;
    for (size_t i = 0; i < n; i++)
        moved[i] = i == 1 ? in[i] : ct_var_mul(in[i], ct_var_tanh(y));
    ct_var z = ct_var_tanh(c->step(program_run, &c->program, n, moved));
    for (size_t i = 0; i < n; i++)
        z = ct_var_add(z, ct_var_sum(ct_var_sin(in[i]), CT_ALL, false));
    return ct_var_mul(z, y);
}

START_TEST(random_programs_as_segments_have_the_same_bits) {
    for (uint64_t seed = 1; seed <= PROGRAMS; seed++) {
        struct draw draw = {seed};
        uint8_t bytes[PROGRAM_BYTES];
        for (int i = 0; i < PROGRAM_BYTES; i++)
            bytes[i] = (uint8_t)draw_bits(&draw);
        char trace[1024] = "";
        struct program program = {bytes, PROGRAM_BYTES, trace, sizeof trace};
        int rank[PROGRAM_INPUTS];
        int64_t shape[PROGRAM_INPUTS][4];
        program_shapes(&program, rank, shape);
        ct_tensor *x[PROGRAM_INPUTS], *v[PROGRAM_INPUTS], *made[2][3][PROGRAM_INPUTS];
        for (int i = 0; i < PROGRAM_INPUTS; i++) {
            x[i] = draw_tensor(&draw, CT_F32, rank[i], shape[i], -1, 1);
            v[i] = draw_tensor(&draw, CT_F32, rank[i], shape[i], -1, 1);
        }
        const ct_tensor *const *in = (const ct_tensor *const *)x, *const *along =
                                                                      (const ct_tensor *const *)v;
        for (int closed = 0; closed < 2; closed++) {
            struct random_chain chain = {closed ? ct_var_recomputed : openly, program};
            ok(ct_vjp(random_chain_of, &chain, PROGRAM_INPUTS, in, NULL, NULL, made[closed][0]));
            ok(ct_hvp(random_chain_of, &chain, PROGRAM_INPUTS, in, along, made[closed][1],
                      made[closed][2]));
        }
        for (int which = 0; which < 3; which++)
            for (int i = 0; i < PROGRAM_INPUTS; i++) {
                ck_assert_msg(same_bits(made[0][which][i], made[1][which][i]),
                              "program %u, %s of input %d: %s", (unsigned)seed,
                              which == 2 ? "product" : "gradient", i, trace);
                ct_free(made[0][which][i]), ct_free(made[1][which][i]);
            }
        for (int i = 0; i < PROGRAM_INPUTS; i++)
            ct_free(x[i]), ct_free(v[i]);
    }
}
END_TEST

/* --- what is recorded, and errors --- */

START_TEST(two_ops_are_recorded) {
    struct inputs inputs = make_inputs(CT_F64, 12);
    ct_var x[3], dx[3];
    put_leaves(&inputs, x);
    ct_var y = ct_var_recomputed(cell, NULL, 3, x);
    ck_assert_uint_eq(ct_tape_length(tape), 4);
    ok(ct_grad(y, ct_var_null(), 3, x, dx));
    lists(tape, NULL, "3 recomputed(0, 1, 2) f64[3, 5]\n");
    lists(tape, NULL, "6 recomputed_grad(5, 0, 1, 2) f64[45] pull of 3\n");
    ck_assert_uint_eq(ct_tape_length(tape), 13); // and a slice and a reshape for each of three
    free_inputs(&inputs);
}
END_TEST

static ct_var fails_inside(void *context, ct_tape *on, size_t n, const ct_var *in) {
    (void)n;
    switch (*(const int *)context) {
    case 0:
        return ct_var_matmul(in[0], ct_var_sin(in[0]));
    case 1:
        return ct_tape_fail(on, CT_EDOMAIN, "the moon is not full");
    case 2:
        return ct_var_null();
    default:
        return ct_var_add(in[0], ct_leaf(tape, ct_value(in[0]), NULL)); // of another tape
    }
}

START_TEST(errors_of_the_function_are_the_ops) {
    static const struct {
        ct_status code;
        const char *text;
    } wanted[] = {
        {CT_ESHAPE, "node 3, recomputed(f64[3, 5], f64[5, 5], f64[5]) in block: node 4, "
                    "matmul(f64[3, 5], f64[3, 5]): matmul"},
        {CT_EDOMAIN, "the moon is not full"},
        {CT_EINVAL, "the function returned no variable of its tape"},
        {CT_EINVAL,
         "operand 1 of add is of another tape than those before it: the operands belong to "
         "different tapes; a function reads variables of others through its inputs "
         "alone"},
    };
    struct inputs inputs = make_inputs(CT_F64, 12);
    for (int how = 0; how < 4; how++) {
        ct_var x[3];
        put_leaves(&inputs, x);
        ct_scope_begin(tape, "block");
        ct_error_clear();
        ck_assert(ct_var_is_null(ct_var_recomputed(fails_inside, &how, 3, x)));
        ck_assert_int_eq(ct_tape_status(tape), wanted[how].code);
        ck_assert_msg(strstr(ct_tape_message(tape), wanted[how].text), "%s", ct_tape_message(tape));
        ct_tape_rewind(tape, (ct_mark){0});
    }
    free_inputs(&inputs);
}
END_TEST

START_TEST(wrong_calls) {
    ct_tensor *t = T1(1, 2);
    ct_var x[128];
    for (int i = 0; i < 128; i++)
        x[i] = ct_leaf(tape, t, NULL);
    ck_assert(ct_var_is_null(ct_var_recomputed(NULL, NULL, 1, x)));
    ck_assert(ct_var_is_null(ct_var_recomputed(cell, NULL, 1, NULL)));
    ck_assert(ct_var_is_null(ct_var_recomputed(cell, NULL, 0, x)));
    expect_error(CT_EINVAL, "");
    ck_assert(ct_var_is_null(ct_var_recomputed(cell, NULL, 128, x)));
    ck_assert_int_eq(ct_tape_status(tape), CT_EINVAL);
    ct_free(t);
}
END_TEST

START_TEST(it_passes_the_check) {
    struct inputs inputs = make_inputs(CT_F64, 13);
    struct ct_check_options options = ct_check_options_init();
    struct ct_check_report report;
    options.second_order = true;
    ok(ct_check_gradient(chain_of, &closed_chain, 3, inputs.in, &options, &report));
    ck_assert_msg(report.verdict == CT_CHECK_PASS, "%s", report.message);
    free_inputs(&inputs);
}
END_TEST

/* --- memory --- */

static _Atomic size_t held, most;

static void *take(void *context, size_t bytes, size_t align) {
    (void)context;
    void *block = aligned_alloc(align, (bytes + align - 1) / align * align);
    size_t more = block ? bytes : 0, now = atomic_fetch_add(&held, more) + more, before = most;
    while (now > before && !atomic_compare_exchange_weak(&most, &before, now))
        continue;
    return block;
}

static void give(void *context, void *block, size_t bytes) {
    (void)context;
    held -= bytes;
    free(block);
}

/* Four layers of a chain of sixteen segments. */
enum { SEGMENTS = 16, LAYERS = 4, ROWS = 64, WIDTH = 32 };

static ct_var segment(void *context, ct_tape *on, size_t n, const ct_var *in) {
    (void)context, (void)on;
    ct_var h = in[0];
    for (size_t k = 1; k + 1 < n; k += 2)
        h = ct_var_dense(h, in[k], in[k + 1], CT_TANH);
    return h;
}

/* The most bytes held, beyond what was there, while the gradient is made; *dx is a part of it. */
static size_t peak_of(step_fn *step, ct_tensor *const weights[], const ct_tensor *x,
                      ct_tensor **dx) {
    ct_tape *on = ct_tape_new();
    ct_var leaves[2 * LAYERS * SEGMENTS], gradients[2 * LAYERS * SEGMENTS];
    size_t before = held;
    most = held;
    for (int k = 0; k < 2 * LAYERS * SEGMENTS; k++)
        leaves[k] = ct_leaf(on, weights[k], NULL);
    ct_var h = ct_constant(on, x, NULL);
    for (int s = 0; s < SEGMENTS; s++) {
        ct_var in[2 * LAYERS + 1] = {h};
        memcpy(in + 1, leaves + (size_t)s * 2 * LAYERS, 2 * LAYERS * sizeof *in);
        h = step(segment, NULL, 2 * LAYERS + 1, in);
    }
    ct_var loss = ct_var_sum(ct_var_square(h), CT_ALL, false);
    ok(ct_grad(loss, ct_var_null(), 2 * LAYERS * SEGMENTS, leaves, gradients));
    *dx = ct_copy(ct_value(gradients[0]));
    size_t peak = most - before;
    ct_tape_free(on);
    return peak;
}

START_TEST(a_chain_of_segments_takes_a_fraction_of_the_memory) {
    struct ct_allocator allocator = {take, give, NULL};
    setenv("CT_NUM_THREADS", "1", 1);
    if (ct_set_allocator(&allocator) != CT_OK)
        return;
    ct_cache_limit(0);
    struct draw draw = {21};
    ct_tensor *weights[2 * LAYERS * SEGMENTS], *dx[2];
    ct_tensor *x = draw_tensor(&draw, CT_F32, 2, (int64_t[]){ROWS, WIDTH}, -1, 1);
    for (int k = 0; k < 2 * LAYERS * SEGMENTS; k++)
        weights[k] = draw_tensor(&draw, CT_F32, k % 2 ? 1 : 2,
                                 k % 2 ? (int64_t[]){WIDTH} : (int64_t[]){WIDTH, WIDTH}, -0.3, 0.3);
    size_t open = peak_of(openly, weights, x, &dx[0]);
    size_t closed = peak_of(ct_var_recomputed, weights, x, &dx[1]);
    ck_assert(same_bits(dx[0], dx[1]));
    ck_assert_msg(closed * 10 < open * 3, "%zu bytes with recomputation and %zu without", closed,
                  open);
    for (int k = 0; k < 2 * LAYERS * SEGMENTS; k++)
        ct_free(weights[k]);
    ct_free(x), ct_free(dx[0]), ct_free(dx[1]);
}
END_TEST

START_TEST(failing_allocations_lose_nothing) {
    if (!make_memory_scarce())
        return;
    struct inputs inputs = make_inputs(CT_F64, 14), along = make_inputs(CT_F64, 15);
    bool done = false;
    for (long left = 0; !done; left++) {
        ct_tensor *made[3] = {NULL};
        size_t before = ct_live_blocks();
        starve(left);
        ct_hvp(chain_of, &closed_chain, 3, inputs.in, along.in, NULL, made);
        allocations_left = -1;
        ct_free(made[1]), ct_free(made[2]);
        done = survived(made[0], before);
        ck_assert_int_lt(left, 20000);
    }
    free_inputs(&inputs), free_inputs(&along);
}
END_TEST

Suite *suite_recomputed(void);
Suite *suite_recomputed(void) {
    Suite *suite = suite_create("recomputed");
    TCase *tc = tcase_create("recomputed");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, reverse_mode_of_three_orders, 0, 2);
    tcase_add_loop_test(tc, over_duals, 0, 2);
    tcase_add_test(tc, segments_nest);
    tcase_add_test(tc, segments_nest_deep_on_a_small_stack);
    tcase_add_test(tc, an_input_given_twice);
    tcase_add_test(tc, inputs_that_get_no_gradient);
    tcase_add_test(tc, dropout_draws_the_same_mask);
    tcase_add_test(tc, the_tapes_option_is_the_segments);
    tcase_add_test(tc, sparse_patterns_see_through_it);
    tcase_add_test(tc, axes_are_found_by_name_again);
    tcase_add_test(tc, extents_of_zero);
    tcase_add_test(tc, masks_on_the_path_ask_nothing);
    tcase_add_test(tc, random_programs_as_segments_have_the_same_bits);
    tcase_add_test(tc, two_ops_are_recorded);
    tcase_add_test(tc, errors_of_the_function_are_the_ops);
    tcase_add_test(tc, wrong_calls);
    tcase_add_test(tc, it_passes_the_check);
    suite_add_tcase(suite, tc);
    TCase *memory = tcase_create("memory");
    tcase_set_timeout(memory, 60);
    tcase_add_test(memory, a_chain_of_segments_takes_a_fraction_of_the_memory);
    tcase_add_test(memory, failing_allocations_lose_nothing);
    suite_add_tcase(suite, memory);
    return suite;
}
