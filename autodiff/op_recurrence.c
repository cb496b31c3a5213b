/* recurrence: y_i = a_i y_(i-1) + b_i along an axis, from y_(-1) = 0.

   The derivative of a chain of products is a chain of this kind, and so is its own derivative: with
   it, rules of products are exact at zeros, to every order, in linear time. */

#include "autodiff/pull_words.h"

#include "tensor/alloc.h"
#include "tensor/checked.h"
#include "tensor/ct_index.h"
#include "tensor/fail.h"

static ct_tensor *step(const ct_tensor *const in[], const struct ct__attr *attr, int64_t i,
                       const ct_tensor *before) {
    ct_tensor *a = ct_select(in[0], attr->axis, i), *b = ct_select(in[1], attr->axis, i);
    ct_tensor *scaled =
        a && b && before ? ct_apply(CT_OP_mul, 2, (const ct_tensor *[]){a, before}) : NULL;
    ct_tensor *y = before ? scaled ? ct_apply(CT_OP_add, 2, (const ct_tensor *[]){scaled, b}) : NULL
                   : b    ? ct_copy(b)
                          : NULL;
    ct_free(a);
    ct_free(b);
    ct_free(scaled);
    return y;
}

/* The rows y_0 .. y_(n-1); the first that fails leaves NULLs. */
static bool run_chain(const ct_tensor *const in[], const struct ct__attr *attr, int64_t n,
                      ct_tensor **rows) {
    for (int64_t i = 0; i < n; i++) {
        rows[i] = step(in, attr, i, i ? rows[i - 1] : NULL);
        if (!rows[i])
            return false;
    }
    return true;
}

static ct_tensor *run(const ct_tensor *const in[], const struct ct__attr *attr) {
    size_t bytes;
    if (!ct_same_shape(in[0], in[1]))
        return ct__fail_null(CT_ESHAPE, "ct_var_recurrence", "factors and terms differ in shape");
    int64_t n = ct_extent(in[0], attr->axis);
    if (n <= 0)
        return n == 0 ? ct_copy(in[1]) : NULL;
    ct_tensor **rows = ct__mul_size((size_t)n, sizeof *rows, &bytes) ? ct__alloc_zero(bytes) : NULL;
    if (!rows)
        return ct__fail_null(CT_ENOMEM, "ct_var_recurrence", "out of memory");
    ct_tensor *y = run_chain(in, attr, n, rows)
                       ? ct_stack((int)n, (const ct_tensor *const *)rows, attr->axis)
                       : NULL;
    for (int64_t i = 0; i < n; i++)
        ct_free(rows[i]);
    ct__free(rows);
    return y;
}

/* The items one place further along the axis, a zero first. */
static ct_var shifted(ct_var x, int axis) {
    int64_t n = ct_extent(ct__value_of(x), axis);
    struct ct__attr attr = {.axis = axis, .start = n ? 1 : 0, .step = 1, .count = n};
    ct_var front = ct_var_slice(x, axis, 0, n ? n - 1 : 0, 1);
    return ct__record(CT_OP_padded, 1, &front, &attr);
}

/* s_i = g_i + a_(i+1) s_(i+1), the same chain from the end: the cotangent of b. That of a is s_i y_(i-1). */
static ct_var pull(const struct ct__pull *P, int argument) {
    int axis = P->attr->axis;
    ct_var a = shifted(ct_var_flip(P->x[0], axis), axis);
    ct_var s = ct_var_flip(ct_var_recurrence(a, ct_var_flip(P->g, axis), axis), axis);
    return argument == 1 ? s : SMUL(s, shifted(P->y, axis));
}

ct_var ct_var_recurrence(ct_var a, ct_var b, int axis) {
    const ct_var in[] = {a, b};
    const ct_tensor *t = ct__operand(a);
    if (!t)
        return ct__null_of(a);
    struct ct__attr attr = {.axis = ct__front_axis(axis, ct_rank(t))};
    return ct__record(CT_OP_recurrence, 2, in, &attr);
}

static const struct ct__sample samples[] = {
    {2, {1, 1}, {{5}, {5}}, 0, {.axis = 0}},
    {2, {2, 2}, {{3, 2}, {3, 2}}, 0, {.axis = 0}},
    {2, {2, 2}, {{2, 4}, {2, 4}}, 0, {.axis = 1}},
    {2, {2, 2}, {{0, 3}, {0, 3}}, 0, {.axis = 0}},
};
static const struct ct__error_sample errors[] = {
    {{2, {1, 1}, {{2}, {3}}, 0, {.axis = 0}}, CT_ESHAPE, "differ in shape"},
};

const struct ct__op_record ct__op_recurrence = {
    .verb = "recurrence",
    .inputs = 2,
    .run = run,
    .pull = pull,
    .pull_text = {"SMUL(s, y one place on), s the recurrence of G from the end", "s"},
    .samples = samples,
    .sample_count = sizeof samples / sizeof *samples,
    .errors = errors,
    .error_count = sizeof errors / sizeof *errors,
};
