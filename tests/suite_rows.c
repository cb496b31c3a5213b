/* Ops on whole rows: a type's own kernel has the bits of the composition that defines the op, which a
   type without the slot `rows` runs; and what layer_norm is by long double. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "autodiff/ct_var_ops.h"
#include "case_tools.h"
#include "dual/ct_dual.h"
#include "tensor/ct_make.h"
#include "tensor/ct_ops.h"
#include "tensor/move.h"
#include "tensor/row_pulls.h"
#include "tensor/softmax_impl.h"

Suite *suite_rows(void);

/* f32 and f64, and the same without kernels for rows. */
static const ct_scalar *const types[] = {CT_F32, CT_F64};
static ct_scalar bare[2];

static void make_bare(void) {
    for (int i = 0; i < 2; i++) {
        bare[i] = *types[i];
        bare[i].name = i ? "bare f64" : "bare f32";
        bare[i].rows = NULL;
    }
}

/* The same items as another type. */
static ct_tensor *as(const ct_tensor *t, const ct_scalar *scalar) {
    ct_tensor *out = ct_component(t, scalar, 0);
    ck_assert_msg(out != NULL, "%s", ct_error()->message);
    return out;
}

/* ---- the ops, of an input, a second and a third of its shape, and labels for the last axis */

struct inputs {
    const ct_tensor *x, *z, *w, *labels;
    int axis;
};

static ct_tensor *softmax(const struct inputs *in) {
    return ct_softmax(in->x, in->axis);
}
static ct_tensor *log_softmax(const struct inputs *in) {
    return ct_log_softmax(in->x, in->axis);
}
static ct_tensor *logsumexp(const struct inputs *in) {
    return ct_logsumexp(in->x, in->axis, true);
}
static ct_tensor *softmax_grad(const struct inputs *in) {
    return ct__softmax_grad(in->x, in->z, in->axis);
}
static ct_tensor *log_softmax_grad(const struct inputs *in) {
    return ct__log_softmax_grad(in->x, in->w, in->z, in->axis);
}
/* The rule's own operand: w is log_softmax(x), NaN where x is all -infinity. */
static ct_tensor *log_softmax_pull(const struct inputs *in) {
    ct_tensor *y = ct_log_softmax(in->x, in->axis);
    ct_tensor *out = ct__log_softmax_grad(in->x, y, in->z, in->axis);
    ct_free(y);
    return out;
}
static ct_tensor *cross_entropy(const struct inputs *in) {
    return ct__cross_entropy_rows(in->x, in->labels);
}
static ct_tensor *cross_entropy_grad(const struct inputs *in) {
    ct_tensor *g = ct_select(in->z, -1, 0), *out = ct__cross_entropy_grad(in->x, g, in->labels);
    ct_free(g);
    return out;
}
static ct_tensor *layer_norm(const struct inputs *in) {
    return ct_layer_norm(in->x, in->axis, NULL, NULL, 1e-5);
}
/* The scale and shift are the first rows of z and w. */
static ct_tensor *affine(const struct inputs *in, bool scaled, bool shifted) {
    ct_tensor *scale = ct_copy(in->z), *shift = ct_copy(in->w), *next;
    int leading = in->axis < 0 ? ct_rank(in->x) + in->axis : in->axis;
    for (int i = 0; i < leading; i++) {
        next = ct_select(scale, 0, 0);
        ct_free(scale);
        scale = next;
        next = ct_select(shift, 0, 0);
        ct_free(shift);
        shift = next;
    }
    ct_tensor *out =
        ct_layer_norm(in->x, in->axis, scaled ? scale : NULL, shifted ? shift : NULL, 0.125);
    ct_free(scale);
    ct_free(shift);
    return out;
}
static ct_tensor *layer_norm_scaled(const struct inputs *in) {
    return affine(in, true, false);
}
static ct_tensor *layer_norm_shifted(const struct inputs *in) {
    return affine(in, false, true);
}
static ct_tensor *layer_norm_both(const struct inputs *in) {
    return affine(in, true, true);
}
static ct_tensor *layer_norm_grad(const struct inputs *in) {
    return ct__layer_norm_grad(in->x, in->z, in->axis, 1e-5);
}
/* The scale is the first row of w. */
static ct_tensor *layer_norm_parts(const struct inputs *in) {
    ct_tensor *scale = ct_copy(in->w), *next;
    int leading = in->axis < 0 ? ct_rank(in->x) + in->axis : in->axis;
    for (int i = 0; i < leading; i++) {
        next = ct_select(scale, 0, 0);
        ct_free(scale);
        scale = next;
    }
    ct_tensor *out = ct__layer_norm_parts(in->x, in->z, scale, in->axis, 1e-5);
    ct_free(scale);
    return out;
}
/* Rows as the channels of one item, or as items of one channel; scale and shift begin the columns of w and z. */
static ct_tensor *batch(const struct inputs *in, bool shifted, int axis, bool parts) {
    ct_tensor *x = ct_expand_dims(in->x, axis), *z = ct_expand_dims(in->z, axis);
    int64_t channels = ct_extent(x, 1);
    ct_tensor *w = ct_select(in->w, 1, 0), *scale = ct_slice(w, 0, 0, channels, 1);
    ct_tensor *first = ct_select(in->z, 1, 0), *shift = ct_slice(first, 0, 0, channels, 1), *out;
    if (parts)
        out = ct__batch_norm_parts(x, z, scale, 1e-5);
    else
        out = ct__batch_norm(x, scale, shifted ? shift : NULL, 1e-5);
    ct_tensor *all[] = {x, z, w, scale, first, shift};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        ct_free(all[i]);
    return out;
}
static ct_tensor *batch_scaled(const struct inputs *in) {
    return batch(in, false, 0, false);
}
static ct_tensor *batch_shifted(const struct inputs *in) {
    return batch(in, true, 1, false);
}
static ct_tensor *batch_parts(const struct inputs *in) {
    return batch(in, false, 0, true);
}
static ct_tensor *batch_parts_of_one(const struct inputs *in) {
    return batch(in, false, 1, true);
}

static const struct {
    const char *name;
    ct_tensor *(*fn)(const struct inputs *in);
    bool last_only; /* the axis is the last */
} ops[] = {
    {"softmax", softmax, false},
    {"log_softmax", log_softmax, false},
    {"logsumexp", logsumexp, false},
    {"softmax_grad", softmax_grad, false},
    {"log_softmax_grad", log_softmax_grad, false},
    {"log_softmax_pull", log_softmax_pull, false},
    {"cross_entropy", cross_entropy, true},
    {"cross_entropy_grad", cross_entropy_grad, true},
    {"layer_norm", layer_norm, false},
    {"layer_norm_scaled", layer_norm_scaled, false},
    {"layer_norm_shifted", layer_norm_shifted, false},
    {"layer_norm_both", layer_norm_both, false},
    {"layer_norm_grad", layer_norm_grad, false},
    {"layer_norm_parts", layer_norm_parts, false},
    {"batch_norm with a scale", batch_scaled, true},
    {"batch_norm with both", batch_shifted, true},
    {"batch_norm_parts", batch_parts, true},
    {"batch_norm_parts of one channel", batch_parts_of_one, true},
};

/* ---- inputs */

enum kind { PLAIN, WIDE, SPECIAL, KINDS };

/* PLAIN like logits; WIDE with exponentials of every size down to 0; SPECIAL with infinities, NaN,
   zeros of both signs and rows of one value among them. */
static double item(struct draw *draw, enum kind kind, uint64_t row_kind) {
    static const double specials[] = {INF, -INF, QNAN, 0.0, -0.0, 1, 1e30, -1e30};
    if (kind == WIDE)
        return draw_between(draw, -120, 0);
    if (kind == SPECIAL && row_kind < 8)
        return specials[row_kind]; /* all alike */
    if (kind == SPECIAL && row_kind < 13 && draw_bits(draw) % 3 == 0)
        return specials[row_kind - 8];
    return draw_between(draw, -4, 4);
}

static ct_tensor *matrix(uint64_t seed, const ct_scalar *scalar, enum kind kind, int64_t rows,
                         int64_t n) {
    struct draw draw = {seed};
    double *values = malloc((size_t)(rows * n) * sizeof *values);
    ck_assert_ptr_nonnull(values);
    for (int64_t i = 0; i < rows; i++) {
        uint64_t row_kind = draw_bits(&draw) % 16;
        for (int64_t k = 0; k < n; k++)
            values[i * n + k] = item(&draw, kind, row_kind);
    }
    ct_tensor *t = ct_from_doubles(scalar, 2, (int64_t[]){rows, n}, (size_t)(rows * n), values);
    ck_assert_ptr_nonnull(t);
    free(values);
    return t;
}

static ct_tensor *labels_of(uint64_t seed, int64_t rows, int64_t n) {
    struct draw draw = {seed};
    return draw_tensor(&draw, CT_I64, 1, &rows, 0, (double)n);
}

static void check(size_t op, const struct inputs *in, int type, const char *what) {
    ct_tensor *x = as(in->x, &bare[type]), *z = as(in->z, &bare[type]), *w = as(in->w, &bare[type]);
    const struct inputs slow = {x, z, w, in->labels, in->axis};
    ct_tensor *y = ops[op].fn(in), *right = ops[op].fn(&slow);
    ck_assert_msg(y != NULL && right != NULL, "%s of %s: %s", ops[op].name, what,
                  ct_error()->message);
    ct_tensor *plain = as(right, types[type]);
    ck_assert_msg(ct_is_dense(y), "%s of %s: not dense", ops[op].name, what);
    ck_assert_msg(same_bits(y, plain), "%s of %s %s, axis %d of [%lld, %lld]: other bits",
                  ops[op].name, types[type]->name, what, in->axis, (long long)ct_extent(in->x, 0),
                  (long long)ct_extent(in->x, -1));
    ct_tensor *all[] = {x, z, w, y, right, plain};
    for (size_t i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
}

/* All ops along an axis of matrices whose rows, along that, have n items. */
static void check_size(int64_t rows, int64_t n, int axis, int type, enum kind kind) {
    uint64_t seed = (uint64_t)(rows * 1000 + n * 7 + axis + (int)kind);
    int64_t shape[] = {axis == 0 ? n : rows, axis == 0 ? rows : n};
    ct_tensor *x = matrix(seed, types[type], kind, rows, n), *turned = NULL;
    ct_tensor *z = matrix(seed + 1, types[type], PLAIN, shape[0], shape[1]);
    ct_tensor *w = matrix(seed + 2, types[type], PLAIN, shape[0], shape[1]);
    ct_tensor *labels = labels_of(seed + 3, shape[0], shape[1]);
    if (axis == 0) { /* the special rows lie along the axis */
        turned = ct_transpose(x);
        ct_free(x);
        x = ct_compact(turned);
        ct_free(turned);
    }
    const struct inputs in = {x, z, w, labels, axis};
    for (size_t op = 0; op < COUNT(ops); op++)
        if (axis != 0 || !ops[op].last_only)
            check(op, &in, type, kind == PLAIN ? "logits" : kind == WIDE ? "wide" : "specials");
    ct_free(x);
    ct_free(z);
    ct_free(w);
    ct_free(labels);
}

/* ---- tests */

START_TEST(every_length_has_the_bits_of_the_composition) {
    static const int64_t counts[] = {1, 3, 4, 16, 21, 70};
    for (int64_t n = 1; n <= 131; n++)
        for (int axis = 0; axis < 2; axis++)
            for (int type = 0; type < 2; type++)
                check_size(counts[(n + axis) % (int64_t)COUNT(counts)], n, axis, type,
                           (enum kind)_i);
}
END_TEST

START_TEST(long_rows_have_the_bits_of_the_composition) {
    static const int64_t lengths[] = {255,  256,  257,  512,  1023, 1024,
                                      1025, 2047, 2048, 3073, 4099, 5 * 1024 + 1};
    for (size_t i = 0; i < COUNT(lengths); i++)
        for (int axis = 0; axis < 2; axis++)
            for (int type = 0; type < 2; type++)
                check_size(axis ? 5 : 67, lengths[i], axis, type, (enum kind)_i);
}
END_TEST

/* Many rows, so that threads share them, and few items each. */
START_TEST(many_rows_have_the_bits_of_the_composition) {
    for (int type = 0; type < 2; type++) {
        check_size(9001, 10, 1, type, (enum kind)_i);
        check_size(1500, 70, 1, type, (enum kind)_i);
        check_size(9001, 10, 0, type, (enum kind)_i);
    }
}
END_TEST

/* Operands as views: turned, reversed, every third item, one row again and again. */
START_TEST(layout_does_not_show) {
    static const int64_t sizes[][2] = {{7, 5}, {33, 40}, {5, 300}};
    for (size_t i = 0; i < COUNT(sizes); i++)
        for (int type = 0; type < 2; type++)
            for (int axis = 0; axis < 2; axis++) {
                ct_tensor *t = matrix(i + 1, types[type], SPECIAL, sizes[i][0], sizes[i][1]);
                ct_tensor *labels = labels_of(i, sizes[i][0], sizes[i][1]);
                ct_tensor *x = lay_out(t, (enum layout)_i);
                ct_tensor *z = lay_out(t, (enum layout)((_i + 1) % LAYOUT_COUNT));
                ct_tensor *w = lay_out(t, (enum layout)((_i + 2) % LAYOUT_COUNT));
                const struct inputs in = {x, z, w, labels, axis};
                for (size_t op = 0; op < COUNT(ops); op++)
                    if (axis != 0 || !ops[op].last_only)
                        check(op, &in, type, layout_name((enum layout)_i));
                ct_tensor *all[] = {t, x, z, w, labels};
                for (size_t k = 0; k < COUNT(all); k++)
                    ct_free(all[k]);
            }
}
END_TEST

/* Rows along the middle axis, and along several neighbouring or distant ones; windows that overlap. */
START_TEST(axes_in_the_middle) {
    for (int type = 0; type < 2; type++) {
        ct_tensor *flat = matrix(9, types[type], SPECIAL, 12, 385);
        ct_tensor *t = ct_reshape(flat, 4, (int64_t[]){3, 4, 35, 11});
        ct_tensor *line = matrix(10, types[type], SPECIAL, 1, 50);
        ct_tensor *seen = ct_squeeze(line, 0), *windows = ct_unfold(seen, 0, 20, 1);
        const ct_tensor *const inputs[] = {t, windows};
        for (int which = 0; which < 2; which++)
            for (int axis = 0; axis < ct_rank(inputs[which]); axis++) {
                const ct_tensor *x = inputs[which];
                const struct inputs in = {x, x, x, NULL, axis};
                for (size_t op = 0; op < COUNT(ops); op++)
                    if (!ops[op].last_only)
                        check(op, &in, type, which ? "windows" : "rank 4");
            }
        static const struct {
            int n, axes[3];
        } lists[] = {{2, {1, 2}}, {2, {2, 3}}, {2, {0, 2}}, {3, {0, 1, 3}}, {3, {0, 1, 2}}};
        ct_tensor *slow = as(t, &bare[type]);
        for (size_t i = 0; i < COUNT(lists); i++) {
            ct_tensor *y = ct_logsumexp_axes(t, lists[i].n, lists[i].axes, false);
            ct_tensor *other = ct_logsumexp_axes(slow, lists[i].n, lists[i].axes, false);
            ct_tensor *right = as(other, types[type]);
            ck_assert_msg(same_bits(y, right), "logsumexp of list %zu: other bits", i);
            ct_free(y);
            ct_free(other);
            ct_free(right);
        }
        ct_tensor *all[] = {flat, t, line, seen, windows, slow};
        for (size_t k = 0; k < COUNT(all); k++)
            ct_free(all[k]);
    }
}
END_TEST

/* Batches of images: the items of a channel lie in runs; other layouts, and runs too short for the kernel. */
START_TEST(batches_have_the_bits_of_the_composition) {
    static const int64_t shapes[][4] = {{3, 5, 4, 4},   {2, 3, 1, 17}, {7, 2, 28, 28},
                                        {1, 4, 5, 13},  {40, 2, 9, 3}, {6, 3, 2, 2},
                                        {70, 1, 31, 2}, {3, 700, 4, 9}};
    const int64_t *shape = shapes[_i / 3];
    const int rank = _i % 2 ? 4 : 3, merged = _i % 2 ? 1 : (int)shape[3];
    int64_t own[] = {shape[0], shape[1], shape[2] * merged, shape[3]};
    for (int type = 0; type < 2; type++) {
        int64_t items = own[0] * own[1] * own[2] * (rank == 4 ? own[3] : 1);
        ct_tensor *flat =
            matrix((uint64_t)_i, types[type], (enum kind)(_i % 3), items / own[2], own[2]);
        ct_tensor *other = matrix((uint64_t)_i + 1, types[type], PLAIN, items / own[2], own[2]);
        ct_tensor *t = ct_reshape(flat, rank, own), *u = ct_reshape(other, rank, own);
        ct_tensor *x = lay_out(t, (enum layout)(_i % LAYOUT_COUNT));
        ct_tensor *z = lay_out(u, (enum layout)((_i + 1) % LAYOUT_COUNT));
        ct_tensor *scale = ct_linspace(types[type], -1.5, 2, own[1]);
        ct_tensor *shift = ct_linspace(types[type], 3, -1, own[1]);
        ct_tensor *sx = as(x, &bare[type]), *sz = as(z, &bare[type]), *ss = as(scale, &bare[type]),
                  *sh = as(shift, &bare[type]);
        ct_tensor *made[] = {ct__batch_norm(x, scale, NULL, 0.25),
                             ct__batch_norm(x, scale, shift, 0),
                             ct__batch_norm_parts(x, z, scale, 1e-3)};
        ct_tensor *right[] = {ct__batch_norm(sx, ss, NULL, 0.25), ct__batch_norm(sx, ss, sh, 0),
                              ct__batch_norm_parts(sx, sz, ss, 1e-3)};
        for (int k = 0; k < 3; k++) {
            ct_tensor *plain = as(right[k], types[type]);
            ck_assert_msg(same_bits(made[k], plain), "batch %d, function %d of %s: other bits", _i,
                          k, types[type]->name);
            ct_free(plain);
            ct_free(made[k]);
            ct_free(right[k]);
        }
        ct_tensor *all[] = {flat, other, t, u, x, z, scale, shift, sx, sz, ss, sh};
        for (size_t k = 0; k < COUNT(all); k++)
            ct_free(all[k]);
    }
}
END_TEST

/* A quotient is rounded as a division is, whatever its size. */
START_TEST(quotients_are_rounded_once) {
    struct draw draw = {5};
    for (int round = 0; round < 200; round++) {
        int64_t n = 40 + (int64_t)(draw_bits(&draw) % 60);
        ct_tensor *x = draw_tensor(&draw, CT_F32, 2, (int64_t[]){64, n}, -30, 2);
        ct_tensor *slow = as(x, &bare[0]), *y = ct_softmax(x, 1), *other = ct_softmax(slow, 1);
        ct_tensor *right = as(other, CT_F32);
        ck_assert(same_bits(y, right));
        ct_tensor *all[] = {x, slow, y, other, right};
        for (size_t k = 0; k < COUNT(all); k++)
            ct_free(all[k]);
    }
}
END_TEST

/* ---- layer_norm by long double */

static void exact_row(const double *x, int64_t n, double eps, long double *y) {
    long double mean = 0, variance = 0;
    for (int64_t i = 0; i < n; i++)
        mean += (long double)x[i];
    mean /= (long double)n;
    for (int64_t i = 0; i < n; i++)
        variance += ((long double)x[i] - mean) * ((long double)x[i] - mean);
    for (int64_t i = 0; i < n; i++)
        y[i] = ((long double)x[i] - mean) / sqrtl(variance / (long double)n + (long double)eps);
}

START_TEST(layer_norm_is_what_it_says) {
    static const int64_t lengths[] = {1, 2, 7, 64, 1000, 3000};
    for (size_t i = 0; i < COUNT(lengths); i++) {
        int64_t n = lengths[i];
        ct_tensor *x = matrix(i + 20, CT_F64, PLAIN, 3, n),
                  *y = ct_layer_norm(x, -1, NULL, NULL, 1e-5);
        const double *items = ct_data(x), *made = ct_data(y);
        long double *right = malloc((size_t)n * sizeof *right);
        ck_assert(y && right);
        for (int64_t row = 0; row < 3; row++) {
            exact_row(items + row * n, n, 1e-5, right);
            for (int64_t k = 0; k < n; k++)
                ck_assert_double_le(fabs(made[row * n + k] - (double)right[k]), 1e-13);
        }
        free(right);
        ct_free(x);
        ct_free(y);
    }
}
END_TEST

/* Up to a block it has the variance's bits; items that are all alike leave the shift. */
START_TEST(layer_norm_agrees_with_variance) {
    ct_tensor *x = matrix(31, CT_F64, PLAIN, 4, 1000), *mean = ct_mean(x, 1, true);
    ct_tensor *once = ct_sub(x, mean), *left = ct_mean(once, 1, true), *gap = ct_sub(once, left);
    ct_tensor *variance = ct_variance(x, 1, 0, true), *eps = ct_from_double(CT_F64, 1e-3);
    ct_tensor *sum = ct_add(variance, eps), *root = ct_rsqrt(sum), *right = ct_mul(gap, root);
    ct_tensor *y = ct_layer_norm(x, 1, NULL, NULL, 1e-3);
    ck_assert(same_bits(y, right));
    ct_tensor *all[] = {x, mean, once, left, gap, variance, eps, sum, root, right, y};
    for (size_t k = 0; k < COUNT(all); k++)
        ct_free(all[k]);
    for (int type = 0; type < 2; type++) {
        ct_tensor *alike = ct_full(types[type], 2, (int64_t[]){2, 777}, 1e6 + 1.0 / 3);
        y = ct_layer_norm(alike, 1, NULL, NULL, 1e-12);
        for (int64_t i = 0; i < 2 * 777; i++) {
            double item_at;
            ck_assert_int_eq(ct_get(y, 2, (int64_t[]){i / 777, i % 777}, &item_at), CT_OK);
            ck_assert(item_at == 0);
        }
        ct_free(alike);
        ct_free(y);
    }
}
END_TEST

START_TEST(layer_norm_refuses) {
    ct_tensor *x = ct_zeros(CT_F64, 2, (int64_t[]){2, 3}),
              *two = ct_zeros(CT_F64, 1, (int64_t[]){2});
    ct_tensor *narrow = ct_zeros(CT_F32, 1, (int64_t[]){3}),
              *whole = ct_zeros(CT_I64, 1, (int64_t[]){3});
    ct_tensor *one = ct_ones(CT_F64, 0, NULL), *empty = ct_zeros(CT_F64, 2, (int64_t[]){2, 0});
#define REFUSES(call, code, text)                                                                  \
    ct_error_clear();                                                                              \
    ck_assert_ptr_null(call);                                                                      \
    expect_error(code, text);                                                                      \
    ck_assert_str_eq(ct_error()->function, "ct_layer_norm")
    REFUSES(ct_layer_norm(x, 2, NULL, NULL, 0), CT_EAXIS, "axis 2 is out of range");
    REFUSES(ct_layer_norm(x, -1, two, NULL, 0), CT_ESHAPE,
            "a scale or shift of shape [2] does not broadcast to the axes [3] that are normalised");
    REFUSES(ct_layer_norm(x, -1, NULL, x, 0), CT_ESHAPE, "shape [2, 3] does not broadcast");
    REFUSES(ct_layer_norm(x, -1, narrow, NULL, 0), CT_EDTYPE, "no scale or shift of f32");
    REFUSES(ct_layer_norm(whole, -1, NULL, NULL, 0), CT_EDTYPE, "i64 has no layer_norm");
    REFUSES(ct_layer_norm(x, -1, NULL, NULL, -1), CT_EDOMAIN, "eps");
    REFUSES(ct_layer_norm(x, -1, NULL, NULL, QNAN), CT_EDOMAIN, "eps");
    REFUSES(ct_layer_norm(narrow, -1, NULL, NULL, 1e300), CT_EDOMAIN, "eps");
    REFUSES(ct_layer_norm(NULL, -1, NULL, NULL, 0), CT_EINVAL, "NULL");
#undef REFUSES
    EXPECT("a scale of rank 0", ct_layer_norm(x, -1, one, one, 1), 0, 1, 1, 1, 1, 1, 1);
    ct_tensor *none = ct_layer_norm(empty, -1, NULL, NULL, 1);
    ck_assert_uint_eq(ct_count(none), 0);
    ct_tensor *all[] = {x, two, narrow, whole, one, empty, none};
    for (size_t k = 0; k < COUNT(all); k++)
        ct_free(all[k]);
}
END_TEST

/* ---- gradients at the table's corners */

START_TEST(gradients_of_rows_that_are_all_low) {
    ct_tape *tape = ct_tape_new();
    ct_tensor *t = T2(3, 3, -INF, -INF, -INF, 1, 2, 3, -INF, 0, -INF);
    ct_tensor *l = ct_zeros(CT_I64, 1, (int64_t[]){3});
    ct_var x = ct_leaf(tape, t, "x"), labels = ct_constant(tape, l, "labels"), dx, ddx;
    const double p = 0.09003057317038046, q = 0.24472847105479764, r = 0.66524095577482178;
    ct_var y = ct_var_cross_entropy(x, labels, CT_REDUCE_NONE);
    ck_assert_int_eq(ct_grad(y, ct_var_null(), 1, &x, &dx), CT_OK);
    EXPECT("cross_entropy", ct_copy(ct_value(dx)), 1e-15, 0, 0, 0, p - 1, q, r, -1, 1, 0);
    ct_var picked = ct_var_mul(dx, dx);
    ck_assert_int_eq(ct_grad(picked, ct_var_null(), 1, &x, &ddx), CT_OK);
    ct_tensor *first = ct_select(ct_value(ddx), 0, 0);
    EXPECT("its second order", first, 0, 0, 0, 0);
    ct_tape_free(tape);
    ct_free(t);
    ct_free(l);
}
END_TEST

/* A row of one value has finite gradients; by duals the same. */
START_TEST(gradients_of_rows_that_are_alike) {
    ct_tape *tape = ct_tape_new();
    ct_tensor *t = T2(1, 3, 5, 5, 5), *g = T2(1, 3, 1, 0, -1);
    ct_var x = ct_leaf(tape, t, "x"), dx;
    ct_var y = ct_var_layer_norm(x, -1, ct_var_null(), ct_var_null(), 1e-4);
    ck_assert_int_eq(ct_grad(y, ct_constant(tape, g, "g"), 1, &x, &dx), CT_OK);
    EXPECT("layer_norm", ct_copy(ct_value(dx)), 1e-12, 100, 0, -100);
    ct_tensor *dual = ct_dual(t, g), *z = ct_layer_norm(dual, -1, NULL, NULL, 1e-4);
    EXPECT("its tangent", ct_dual_tangent(z), 1e-12, 100, 0, -100);
    ct_tape_free(tape);
    ct_tensor *all[] = {t, g, dual, z};
    for (size_t k = 0; k < COUNT(all); k++)
        ct_free(all[k]);
}
END_TEST

/* A shift without a scale is an addition; gradients of scale and shift have their shapes. */
START_TEST(layer_norm_on_the_tape) {
    ct_tape *tape = ct_tape_new();
    ct_tensor *t = matrix(40, CT_F64, PLAIN, 4, 5), *s = matrix(41, CT_F64, PLAIN, 1, 5);
    ct_tensor *row = ct_squeeze(s, 0);
    ct_var x = ct_leaf(tape, t, "x"), scale = ct_leaf(tape, row, "scale");
    ct_var shift = ct_leaf(tape, row, "shift"), in[] = {x, scale, shift}, dx[3];
    ct_var y = ct_var_layer_norm(x, 1, scale, shift, 1e-5);
    ct_tensor *right = ct_layer_norm(t, 1, row, row, 1e-5);
    ck_assert(same_bits(ct_value(y), right));
    ck_assert_int_eq(ct_grad(y, ct_var_null(), 3, in, dx), CT_OK);
    EXPECT("of the shift", ct_copy(ct_value(dx[2])), 0, 4, 4, 4, 4, 4);
    ct_tensor *plain = ct_layer_norm(t, 1, NULL, NULL, 1e-5);
    ct_tensor *sums = ct_sum(plain, 0, false);
    ck_assert(same_bits(ct_value(dx[1]), sums));
    ct_var only = ct_var_layer_norm(x, 1, ct_var_null(), shift, 1e-5);
    ct_tensor *added = ct_layer_norm(t, 1, NULL, row, 1e-5);
    ck_assert(same_bits(ct_value(only), added));
    ck_assert(ct_var_is_null(ct_var_layer_norm(x, 0, scale, shift, 1e-5)) == false);
    ck_assert(ct_var_is_null(ct_var_layer_norm(scale, 0, x, shift, 1e-5)));
    ck_assert_int_eq(ct_tape_status(tape), CT_ESHAPE);
    ct_tape_free(tape);
    ct_tensor *all[] = {t, s, row, right, plain, sums, added};
    for (size_t k = 0; k < COUNT(all); k++)
        ct_free(all[k]);
}
END_TEST

/* Every result goes past the caches. */
static void past_the_caches(void) {
    ct__set_stream_bytes(1);
}
static void as_measured(void) {
    ct__set_stream_bytes(0);
}

Suite *suite_rows(void) {
    Suite *suite = suite_create("rows");
    TCase *tc = tcase_create("bits");
    suite_add_tcase(suite, tc);
    make_bare();
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, every_length_has_the_bits_of_the_composition, 0, KINDS);
    tcase_add_loop_test(tc, long_rows_have_the_bits_of_the_composition, 0, KINDS);
    tcase_add_loop_test(tc, many_rows_have_the_bits_of_the_composition, 0, KINDS);
    tcase_add_loop_test(tc, layout_does_not_show, 0, LAYOUT_COUNT);
    tcase_add_test(tc, axes_in_the_middle);
    tcase_add_loop_test(tc, batches_have_the_bits_of_the_composition, 0, 24);
    tcase_add_test(tc, quotients_are_rounded_once);
    tc = tcase_create("past the caches");
    suite_add_tcase(suite, tc);
    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, past_the_caches, as_measured);
    tcase_add_loop_test(tc, every_length_has_the_bits_of_the_composition, 0, KINDS);
    tcase_add_loop_test(tc, long_rows_have_the_bits_of_the_composition, 0, KINDS);
    tcase_add_loop_test(tc, many_rows_have_the_bits_of_the_composition, 0, KINDS);
    tcase_add_loop_test(tc, batches_have_the_bits_of_the_composition, 0, 24);
    tcase_add_loop_test(tc, layout_does_not_show, 0, LAYOUT_COUNT);
    tc = tcase_create("layer_norm");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, layer_norm_is_what_it_says);
    tcase_add_test(tc, layer_norm_agrees_with_variance);
    tcase_add_test(tc, layer_norm_refuses);
    tcase_add_test(tc, layer_norm_on_the_tape);
    tc = tcase_create("gradients");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, gradients_of_rows_that_are_all_low);
    tcase_add_test(tc, gradients_of_rows_that_are_alike);
    return suite;
}
