#include "random_program.h"

#include "autodiff/ct_network.h"
#include "autodiff/ct_var_ops.h"
#include "tensor/ct_convert.h"
#include "tensor/ct_index.h"
#include "tensor/ct_make.h"
#include "tensor/ct_reduce.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_VARS = 24, MOST_ITEMS = 400 };

/* A program that runs. */
struct run {
    struct program *p;
    size_t at;
    ct_tape *tape;
    ct_var var[MOST_VARS];
    int vars;
    size_t trace;
};

static unsigned next(struct run *r) {
    return r->at < r->p->length ? r->p->bytes[r->at++] : 0;
}

static ct_var pick(struct run *r) {
    return r->var[next(r) % (unsigned)r->vars];
}

static void say(struct run *r, const char *name) {
    if (!r->p->trace || r->trace + 1 >= r->p->trace_size)
        return;
    int length = snprintf(r->p->trace + r->trace, r->p->trace_size - r->trace, " %s", name);
    r->trace += length > 0 ? (size_t)length : 0;
}

static const ct_tensor *of(ct_var v) {
    return ct_value(v);
}

static ct_var constant(struct run *r, double value) {
    return ct_constant_of(r->tape, ct_dtype(of(r->var[0])), value);
}

static int axis_of(struct run *r, ct_var v) {
    int rank = ct_rank(of(v));
    int axis = rank ? (int)(next(r) % (unsigned)rank) : 0;
    return next(r) % 2 ? axis - rank : axis;
}

/* An index of integers, in range and with repetitions. */
static ct_var index_for(struct run *r, int64_t extent, int rank, const int64_t *shape) {
    double items[64];
    size_t count = 1;
    for (int i = 0; i < rank; i++)
        count *= (size_t)shape[i];
    if (count > 64 || extent == 0)
        return ct_var_null();
    for (size_t i = 0; i < count; i++)
        items[i] = (double)(next(r) % (unsigned)extent);
    ct_tensor *t = ct_from_doubles(CT_I64, rank, shape, count, items);
    ct_var v = ct_constant(r->tape, t, NULL);
    ct_free(t);
    return v;
}

/* --- instructions: the null variable where the operands do not fit --- */

typedef ct_var instruction(struct run *r, ct_var x);

static ct_var do_unary(struct run *r, ct_var x) {
    static const struct {
        const char *name;
        ct_var (*f)(ct_var);
    } all[] = {{"tanh", ct_var_tanh},         {"sigmoid", ct_var_sigmoid}, {"sin", ct_var_sin},
               {"softplus", ct_var_softplus}, {"square", ct_var_square},   {"neg", ct_var_neg},
               {"erf", ct_var_erf},           {"gelu", ct_var_gelu},       {"silu", ct_var_silu},
               {"abs", ct_var_abs},           {"relu", ct_var_relu},       {"cos", ct_var_cos},
               {"floor", ct_var_floor},       {"atan", ct_var_atan}};
    unsigned i = next(r) % (sizeof all / sizeof *all);
    say(r, all[i].name);
    return all[i].f(x);
}

static ct_var do_binary(struct run *r, ct_var x) {
    static const struct {
        const char *name;
        ct_var (*f)(ct_var, ct_var);
    } all[] = {{"add", ct_var_add},         {"sub", ct_var_sub},         {"mul", ct_var_mul},
               {"maximum", ct_var_maximum}, {"minimum", ct_var_minimum}, {"atan2", ct_var_atan2},
               {"hypot", ct_var_hypot}};
    unsigned i = next(r) % (sizeof all / sizeof *all);
    ct_var z = pick(r);
    if (!ct_can_broadcast(ct_rank(of(x)), ct_shape(of(x)), ct_rank(of(z)), ct_shape(of(z))))
        return ct_var_null();
    say(r, all[i].name);
    return all[i].f(x, z);
}

static ct_var do_divide(struct run *r, ct_var x) {
    ct_var z = pick(r), two = constant(r, 2);
    if (!ct_can_broadcast(ct_rank(of(x)), ct_shape(of(x)), ct_rank(of(z)), ct_shape(of(z))))
        return ct_var_null();
    say(r, "div");
    return ct_var_div(x, ct_var_add(ct_var_square(z), two));
}

static ct_var do_where(struct run *r, ct_var x) {
    ct_var z = pick(r), zero = constant(r, 0);
    if (!ct_same_shape(of(x), of(z)))
        return ct_var_null();
    say(r, "where");
    ct_var mask = ct_var_greater(x, zero);
    return ct_var_where(mask, z, x);
}

static ct_var do_reduce(struct run *r, ct_var x) {
    unsigned which = next(r) % 8;
    bool keep = next(r) % 2;
    int axis = next(r) % 4 ? axis_of(r, x) : CT_ALL;
    if (ct_rank(of(x)) == 0 || ct_count(of(x)) == 0)
        return ct_var_null();
    static const char *const names[] = {"sum",  "mean",     "max",       "min",
                                        "prod", "variance", "logsumexp", "sum of two"};
    say(r, names[which]);
    switch (which) {
    case 0:
        return ct_var_sum(x, axis, keep);
    case 1:
        return ct_var_mean(x, axis, keep);
    case 2:
        return ct_var_max(x, axis, keep);
    case 3:
        return ct_var_min(x, axis, keep);
    case 4:
        return ct_var_prod(x, axis, keep);
    case 5:
        return ct_var_variance(x, axis, 0, keep);
    case 6:
        return ct_var_logsumexp(x, axis == CT_ALL ? -1 : axis, keep);
    default:
        return ct_var_sum_axes(x, 1, &axis, keep);
    }
}

static ct_var do_view(struct run *r, ct_var x) {
    unsigned which = next(r) % 7;
    int rank = ct_rank(of(x)), axis = axis_of(r, x);
    static const char *const names[] = {"transpose", "flip",    "slice", "expand_dims",
                                        "reshape",   "permute", "unfold"};
    if (rank == 0 || (which == 0 && rank < 2) || (which == 3 && rank > 3))
        return ct_var_null();
    say(r, names[which]);
    int64_t extent = ct_extent(of(x), axis);
    switch (which) {
    case 0:
        return ct_var_transpose(x);
    case 1:
        return ct_var_flip(x, axis);
    case 2:
        return ct_var_slice(x, axis, next(r) % 2, extent, 1 + next(r) % 2);
    case 3:
        return ct_var_expand_dims(x, axis);
    case 4:
        return ct_var_reshape(x, 1, (int64_t[]){(int64_t)ct_count(of(x))});
    case 5: {
        int order[CT_MAX_RANK], turn = (int)(next(r) % (unsigned)rank);
        for (int i = 0; i < rank; i++)
            order[i] = (i + turn) % rank;
        return ct_var_permute(x, rank, order);
    }
    default:
        return extent < 2 || rank > 3 ? ct_var_null() : ct_var_unfold(x, axis, 2, 1);
    }
}

static ct_var do_row(struct run *r, ct_var x) {
    unsigned which = next(r) % 8;
    int axis = axis_of(r, x);
    static const char *const names[] = {"softmax",  "log_softmax", "cumsum", "cumprod",
                                        "rms_norm", "layer_norm",  "std",    "recurrence"};
    if (ct_rank(of(x)) == 0 || ct_count(of(x)) == 0)
        return ct_var_null();
    say(r, names[which]);
    switch (which) {
    case 0:
        return ct_var_softmax(x, axis);
    case 1:
        return ct_var_log_softmax(x, axis);
    case 2:
        return ct_var_cumsum(x, axis);
    case 3:
        return ct_var_cumprod(x, axis);
    case 4:
        return ct_var_rms_norm(x, ct_var_null(), 0.5);
    case 5:
        return ct_var_layer_norm(x, axis, ct_var_null(), ct_var_null(), 0.5);
    case 6:
        return ct_var_std(x, axis, 0, true);
    default:
        return ct_var_recurrence(ct_var_sin(x), x, axis);
    }
}

/* The first two items along each axis of space. */
static ct_var corner(ct_var x) {
    for (int axis = 2; axis < ct_rank(of(x)); axis++)
        x = ct_var_slice(x, axis, 0, 2, 1);
    return x;
}

/* Images [batch, channels, space...], with their own corners as kernels. */
static ct_var do_image(struct run *r, ct_var x) {
    unsigned which = next(r) % 6;
    int rank = ct_rank(of(x));
    struct ct_window w = {.stride = {1 + next(r) % 2}, .before = {next(r) % 2}};
    const int64_t kernel[] = {2, 2};
    static const char *const names[] = {"conv",     "conv_transpose", "max_pool",
                                        "avg_pool", "avg_pool",       "batch_norm_train"};
    if (rank < 3 || ct_count(of(x)) == 0)
        return ct_var_null();
    for (int axis = 2; axis < rank; axis++)
        if (ct_shape(of(x))[axis] < 2)
            return ct_var_null();
    say(r, names[which]);
    switch (which) {
    case 0:
        return ct_var_conv(x, corner(x), ct_var_null(), &w);
    case 1: { /* batch and channels exchanged: as many kernels as channels */
        int order[] = {1, 0, 2, 3};
        ct_var kernels = ct_var_permute(corner(x), rank, order);
        return ct_var_conv_transpose(x, kernels, ct_var_null(), &w);
    }
    case 2:
        return ct_var_max_pool(x, kernel, &w);
    case 3:
    case 4:
        return ct_var_avg_pool(x, kernel, &w, which == 3);
    default:
        return ct_var_batch_norm_train(x, ct_var_null(), ct_var_null(), 0.5, NULL, NULL);
    }
}

/* x times a square matrix of its own, and an activation. */
static ct_var do_dense(struct run *r, ct_var x) {
    unsigned activation = next(r) % 7;
    if (ct_rank(of(x)) != 2 || ct_count(of(x)) == 0)
        return ct_var_null();
    say(r, "dense");
    ct_var square = ct_var_matmul(ct_var_transpose(x), x);
    return ct_var_dense(x, square, ct_var_null(), (enum ct_activation)activation);
}

static ct_var do_attention(struct run *r, ct_var x) {
    ct_var z = pick(r);
    if (ct_rank(of(x)) < 2 || ct_count(of(x)) == 0 || !ct_same_shape(of(x), of(z)))
        return ct_var_null();
    say(r, "attention");
    int64_t rows = ct_extent(of(x), -2);
    return ct_var_attention(x, z, x,
                            next(r) % 2 ? ct_var_causal_mask(r->tape, rows, rows) : ct_var_null());
}

static ct_var do_matmul(struct run *r, ct_var x) {
    ct_var z = pick(r);
    if (!ct_can_matmul(of(x), of(z)))
        return ct_var_null();
    say(r, "matmul");
    return ct_var_matmul(x, z);
}

static ct_var do_index(struct run *r, ct_var x) {
    int rank = ct_rank(of(x)), axis = axis_of(r, x);
    if (rank == 0)
        return ct_var_null();
    int64_t extent = ct_extent(of(x), axis), rows = 1 + next(r) % 3;
    if (next(r) % 3 == 0) {
        ct_var index = index_for(r, extent, rank, ct_shape(of(x)));
        say(r, "scatter_add");
        return ct_var_is_null(index) ? index : ct_var_scatter_add(x, axis, index, x);
    }
    if (next(r) % 2) {
        ct_var index = index_for(r, extent, 1, &rows);
        say(r, "take");
        return ct_var_is_null(index) ? index : ct_var_take(x, axis, index);
    }
    ct_var index = index_for(r, extent, rank, ct_shape(of(x)));
    say(r, "gather");
    return ct_var_is_null(index) ? index : ct_var_gather(x, axis, index);
}

static ct_var do_join(struct run *r, ct_var x) {
    ct_var parts[] = {x, pick(r), x};
    int axis = axis_of(r, x);
    if (ct_rank(of(x)) == 0 || !ct_can_concat(2, (const ct_tensor *[]){of(x), of(parts[1])}, axis))
        return ct_var_null();
    say(r, "concat");
    return ct_var_concat(3, parts, axis);
}

static instruction *const instructions[] = {
    do_unary, do_binary, do_view, do_reduce, do_binary, do_row,   do_matmul,    do_divide,
    do_where, do_index,  do_join, do_unary,  do_image,  do_image, do_attention, do_dense};

/* --- a whole program --- */

/* Large numbers are squashed, so that a chain of products stays where differences can follow; by a power of two,
   which stays the same close by. */
static ct_var bounded(struct run *r, ct_var x) {
    ct_tensor *largest =
        ct_count(of(x)) ? ct_norm(of(x), CT_ALL, (double)__builtin_inf(), false) : NULL;
    double size = largest ? ct_item(largest) : 0;
    ct_free(largest);
    if (size < 20)
        return x;
    say(r, "tanh");
    return ct_var_tanh(ct_var_mul(x, constant(r, exp2(-ceil(log2(size))))));
}

static void step(struct run *r) {
    ct_var x = pick(r),
           y = instructions[next(r) % (sizeof instructions / sizeof *instructions)](r, x);
    if (ct_var_is_null(y) || ct_tape_status(r->tape) != CT_OK || ct_count(of(y)) > MOST_ITEMS ||
        ct_rank(of(y)) > 4)
        return;
    y = bounded(r, y);
    r->var[r->vars < MOST_VARS ? r->vars++ : (int)(next(r) % MOST_VARS)] = y;
}

void program_shapes(const struct program *p, int rank[PROGRAM_INPUTS],
                    int64_t shape[PROGRAM_INPUTS][4]) {
    for (size_t i = 0; i < PROGRAM_INPUTS; i++) {
        unsigned byte = i < p->length ? p->bytes[i] : 0;
        rank[i] = (int)(byte % 4);
        for (int k = 0; k < rank[i]; k++) {
            byte /= 4;
            shape[i][k] = 1 + byte % 4;
        }
    }
}

ct_var program_run(void *program, ct_tape *tape, size_t n, const ct_var *inputs) {
    struct run r = {.p = program, .at = PROGRAM_INPUTS, .tape = tape};
    for (size_t i = 0; i < n; i++)
        r.var[r.vars++] = inputs[i];
    while (r.at < r.p->length && ct_tape_status(tape) == CT_OK)
        step(&r);
    ct_var total = ct_var_sum(r.var[r.vars - 1], CT_ALL, false);
    for (int i = 0; i < r.vars - 1; i++) {
        ct_var part = ct_var_sum(ct_var_tanh(r.var[i]), CT_ALL, false);
        total = ct_var_add(total, part);
    }
    return total;
}
