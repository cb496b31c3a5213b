#include "optim_cases.h"

#include <check.h>
#include <float.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "case_tools.h"
#include "ct_test.h"
#include "optim/optim_impl.h"
#include "tensor/ct_ops.h"

// ---- configurations: first those of the recorded runs, by their names there

#define ADAM(b1, e, wd, w, ams)                                                                    \
    {                                                                                              \
        .beta1 = (b1), .beta2 = 0.999, .eps = (e), .weight_decay = (wd), .decoupled = (w),         \
        .amsgrad = (ams)                                                                           \
    }

const struct optim_case optim_cases[OPTIM_CASES] = {
    {"sgd lr.1", false, 0.1, {0}, {0}},
    {"sgd lr.1 mom.9", false, 0.1, {.momentum = 0.9}, {0}},
    {"sgd lr.1 mom.9 nesterov", false, 0.1, {.momentum = 0.9, .nesterov = true}, {0}},
    {"sgd lr.1 mom.9 damp.1 wd.01",
     false,
     0.1,
     {.momentum = 0.9, .dampening = 0.1, .weight_decay = 0.01},
     {0}},
    {"adam lr.1", true, 0.1, {0}, ADAM(0.9, 1e-8, 0, false, false)},
    {"adam lr.1 eps1e-3", true, 0.1, {0}, ADAM(0.9, 1e-3, 0, false, false)},
    {"adam lr.1 wd.1 (L2)", true, 0.1, {0}, ADAM(0.9, 1e-8, 0.1, false, false)},
    {"adamw lr.1 wd.1", true, 0.1, {0}, ADAM(0.9, 1e-8, 0.1, true, false)},
    {"adam amsgrad", true, 0.1, {0}, ADAM(0.9, 1e-8, 0, false, true)},
    {"adam b1=0", true, 0.1, {0}, ADAM(0, 1e-8, 0, false, false)},
    {"adamw amsgrad", true, 0.01, {0}, ADAM(0.8, 1e-6, 0.2, true, true)},
    {"sgd nesterov wd", false, 0.01, {.momentum = 0.5, .weight_decay = 0.1, .nesterov = true}, {0}},
};

ct_optim *optim_of_case(const struct optim_case *c) {
    struct ct_sgd_options sgd = c->sgd;
    struct ct_adam_options adam = c->adam;
    sgd.size = sizeof sgd;
    adam.size = sizeof adam;
    sgd.lr = adam.lr = c->lr;
    ct_optim *optim = c->is_adam ? ct_adam_new(&adam) : ct_sgd_new(&sgd);
    ck_assert_msg(optim != NULL, "%s: %s", c->name, ct_error()->message);
    return optim;
}

void step_ok(ct_optim *optim, ct_tensor *p, const ct_tensor *g) {
    ck_assert_msg(ct_optim_step(optim, 1, &p, &g) == CT_OK, "%s", ct_error()->message);
}

// ---- a step in parts

// The intermediates of one step, freed together.
static struct {
    ct_tensor *tensors[64];
    int count;
    const ct_scalar *scalar;
} scratch;

static ct_tensor *keep(ct_tensor *t) {
    ck_assert_msg(t != NULL, "%s", ct_error()->message);
    ck_assert(scratch.count < 64);
    return scratch.tensors[scratch.count++] = t;
}

static ct_tensor *k(double x) {
    return keep(ct_from_double(scratch.scalar, x));
}

static ct_tensor *mul(const ct_tensor *a, const ct_tensor *b) {
    return keep(ct_mul(a, b));
}

static double *doubles(const ct_tensor *t, size_t count) {
    double *x = calloc(count + 1, sizeof *x);
    ck_assert_ptr_nonnull(x);
    if (ct_count(t) == count)
        ck_assert_int_eq(ct_to_doubles(t, count, x), CT_OK);
    else
        for (size_t i = 0; i < count; i++)
            x[i] = ct_item(t);
    return x;
}

// a b + c, rounded once; c has the shape of the result, b may be of rank 0.
static ct_tensor *fused(const ct_tensor *a, const ct_tensor *b, const ct_tensor *c) {
    size_t n = ct_count(c);
    double *x = doubles(a, n), *y = doubles(b, n), *z = doubles(c, n);
    for (size_t i = 0; i < n; i++)
        z[i] = scratch.scalar == CT_F32 ? (double)fmaf((float)x[i], (float)y[i], (float)z[i])
                                        : fma(x[i], y[i], z[i]);
    ct_tensor *t = ct_from_doubles(scratch.scalar, ct_rank(c), ct_shape(c), n, z);
    free(x);
    free(y);
    free(z);
    return keep(t);
}

static ct_tensor *settled(ct_tensor *x) {
    double least = scratch.scalar == CT_F32 ? (double)FLT_MIN : DBL_MIN;
    return keep(ct_where(keep(ct_less(keep(ct_abs(x)), k(least))), k(0), x));
}

static void replace(ct_tensor **state, const ct_tensor *t) {
    ct_free(*state);
    *state = ct_copy(t);
}

static ct_tensor *sgd_in_parts(struct parts *s, const struct optim_case *c, int t,
                               const ct_tensor *p, const ct_tensor *g) {
    const ct_tensor *d = g;
    if (c->sgd.weight_decay != 0)
        d = fused(p, k(c->sgd.weight_decay), d);
    if (c->sgd.momentum != 0) {
        ct_tensor *b = t == 1
                           ? keep(ct_copy(d))
                           : fused(d, k(1 - c->sgd.dampening), mul(s->first, k(c->sgd.momentum)));
        b = settled(b);
        replace(&s->first, b);
        d = c->sgd.nesterov ? fused(b, k(c->sgd.momentum), d) : b;
    }
    return fused(d, k(-c->lr), p);
}

static ct_tensor *adam_in_parts(struct parts *s, const struct optim_case *c, int t,
                                const ct_tensor *p, const ct_tensor *g) {
    const struct ct_adam_options *o = &c->adam;
    if (!s->first) {
        s->first = ct_zeros(scratch.scalar, ct_rank(p), ct_shape(p));
        s->second = ct_copy(s->first);
        s->largest = ct_copy(s->first);
    }
    if (o->decoupled)
        p = mul(p, k(1 - c->lr * o->weight_decay));
    else if (o->weight_decay != 0)
        g = fused(p, k(o->weight_decay), g);
    replace(&s->first, settled(fused(g, k(1 - o->beta1), mul(s->first, k(o->beta1)))));
    ct_tensor *square = fused(mul(k(1 - o->beta2), g), g, mul(s->second, k(o->beta2)));
    replace(&s->second, settled(square));
    const ct_tensor *v = s->second;
    if (o->amsgrad) {
        replace(&s->largest, keep(ct_maximum(s->largest, v)));
        v = s->largest;
    }
    double root = sqrt(1 - ct__power(o->beta2, (uint64_t)t));
    double rate = c->lr / (1 - ct__power(o->beta1, (uint64_t)t));
    ct_tensor *denominator = keep(ct_add(keep(ct_div(keep(ct_sqrt(v)), k(root))), k(o->eps)));
    ct_tensor *step = keep(ct_div(mul(k(-rate), s->first), denominator));
    return keep(ct_add(p, step));
}

ct_tensor *step_in_parts(struct parts *parts, const struct optim_case *c, int t, ct_tensor *p,
                         const ct_tensor *g) {
    scratch.scalar = ct_dtype(p);
    ct_tensor *next = ct_copy((c->is_adam ? adam_in_parts : sgd_in_parts)(parts, c, t, p, g));
    ct_free(p);
    while (scratch.count > 0)
        ct_free(scratch.tensors[--scratch.count]);
    return next;
}

void free_parts(struct parts *parts) {
    ct_free(parts->first);
    ct_free(parts->second);
    ct_free(parts->largest);
}

// ---- recorded runs

static json_t *golden(void) {
    static json_t *root;
    const char *folder = getenv("CT_CASES");
    char path[4096];
    snprintf(path, sizeof path, "%s/golden/golden_optim.json", folder ? folder : "../shared/cases");
    if (!root)
        root = json_load_file(path, 0, NULL);
    return root;
}

int golden_optim_count(void) {
    return golden() ? (int)json_array_size(json_object_get(golden(), "runs")) : 1;
}

static ct_tensor *row_of(const json_t *row, const ct_scalar *scalar) {
    double x[16];
    int64_t n = (int64_t)json_array_size(row);
    ck_assert(n <= 16);
    for (int64_t i = 0; i < n; i++)
        x[i] = json_number_value(json_array_get(row, (size_t)i));
    ct_tensor *wide = ct_from_doubles(CT_F64, 1, &n, (size_t)n, x);
    ct_tensor *t = ct_astype(wide, scalar);
    ct_free(wide);
    ck_assert_msg(t != NULL, "%s", ct_error()->message);
    return t;
}

static const struct optim_case *case_named(const char *name) {
    for (int i = 0; i < OPTIM_CASES; i++)
        if (strcmp(optim_cases[i].name, name) == 0)
            return &optim_cases[i];
    ck_abort_msg("no configuration is called \"%s\"", name);
    return NULL;
}

void golden_optim_run(int i) {
    json_t *root = golden();
    if (!root) {
        ct_test_skip("no golden_optim.json in CT_CASES or ../shared/cases");
        return;
    }
    json_t *run = json_array_get(json_object_get(root, "runs"), (size_t)i);
    const char *name = json_string_value(json_object_get(run, "opt"));
    const char *dtype = json_string_value(json_object_get(run, "dtype"));
    const ct_scalar *scalar = strcmp(dtype, "f32") == 0 ? CT_F32 : CT_F64;
    json_t *grads = json_object_get(root, "grads");
    json_t *expected = json_object_get(run, "params_after_each_step");
    size_t steps = json_array_size(expected);
    ck_assert_uint_eq(steps, 12);
    ct_tensor *p = row_of(json_object_get(root, "p0"), scalar);
    ct_optim *optim = optim_of_case(case_named(name));
    for (size_t t = 0; t < steps; t++) {
        ct_tensor *g = row_of(json_array_get(grads, t), scalar);
        ct_tensor *want = row_of(json_array_get(expected, t), scalar);
        step_ok(optim, p, g);
        ck_assert_msg(same_values(p, want), "%s, %s: other bits than PyTorch after step %zu", name,
                      dtype, t + 1);
        ct_free(g);
        ct_free(want);
    }
    ct_optim_free(optim);
    ct_free(p);
    if (i == golden_optim_count() - 1)
        printf("    %d runs of PyTorch 1.13.1, 12 steps each, were compared bit by bit\n", i + 1);
}
