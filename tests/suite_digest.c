/* The numeric contract: a digest of every op's results and gradients over fixed inputs, the same
   for every instruction set and number of threads as in tests/golden/digests.txt; and a digest of
   the listing of the tape up to second order, which must not depend on the compiler either.
   CT_GOLDEN_WRITE=1 rewrites that file, from the scalar kernels and one thread. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "autodiff/ct_dot.h"
#include "autodiff/tape_impl.h"
#include "case_tools.h"
#include "digest_tools.h"
#include "dual/ct_dual.h"
#include "io/ct_digest.h"
#include "io/ct_safetensors.h"
#include "op_oracle.h"

Suite *suite_digest(void);

static const char golden[] = "tests/golden/digests.txt";

enum {
    LONG = 70000 /* enough for several threads */
};

/* ---- digests of tensors */

static void add_line(struct lines *lines, const char *what, const char *scalar, const char *part,
                     const char *digest) {
    add_digest(lines, digest, "%s %s %s", what, scalar, part);
}

/* Of a dual's two parts one after the other. Frees t. */
static void add_tensor(struct lines *lines, const char *what, const char *scalar, const char *part,
                       ct_tensor *t) {
    char digest[CT_SHA256_TEXT_BYTES] = "";
    ck_assert_msg(t != NULL, "%s %s %s: %s", what, scalar, part, ct_error()->message);
    bool dual = ct_dtype(t)->base != NULL;
    ct_tensor *value = dual ? ct_dual_value(t) : ct_copy(t);
    ct_tensor *tangent = dual ? ct_dual_tangent(t) : NULL;
    const struct ct_named_tensor parts[] = {{"value", value}, {"tangent", tangent}};
    ck_assert_int_eq(ct_tensors_digest(dual ? 2 : 1, parts, digest), CT_OK);
    add_line(lines, what, scalar, part, digest);
    ct_free(value);
    ct_free(tangent);
    ct_free(t);
}

/* ---- elementwise rows: value, and the gradient in every argument, over their domains and over
   wild numbers of every magnitude */

static ct_tensor *wild(struct draw *draw, const ct_scalar *scalar, int64_t count) {
    double *values = calloc((size_t)count, sizeof *values);
    ck_assert_ptr_nonnull(values);
    for (int64_t i = 0; i < count; i++) {
        double fraction = draw_between(draw, -1, 1);
        int power = (int)(draw_bits(draw) % 240) - 120;
        double value = fraction * (power < 0 ? 1.0 / (double)(1LL << (-power % 60))
                                             : (double)(1LL << (power % 60)));
        values[i] = scalar == CT_F32 ? (double)(float)value : value;
    }
    ct_tensor *t = ct_from_doubles(scalar, 1, &count, (size_t)count, values);
    free(values);
    return t;
}

static void draw_arguments(enum ct_op op, const ct_scalar *scalar, int64_t count, bool inside,
                           ct_tensor *in[3]) {
    struct draw draw = {(uint64_t)strlen(ct_op_name(op)) + (uint64_t)ct_op_name(op)[0]};
    for (int i = 0; i < op_oracle(op)->arity; i++) {
        struct op_domain domain = op_oracle(op)->domain[i];
        bool mask = op_takes_mask(op, i);
        in[i] = inside || mask ? draw_tensor(&draw, mask ? CT_BOOL : scalar, 1, &count, domain.low,
                                             domain.high)
                               : wild(&draw, scalar, count);
    }
}

/* In every argument of the type; `of` is the part whose gradients they are. */
static void add_gradients(struct lines *lines, enum ct_op op, const ct_scalar *scalar,
                          const char *of, int n, ct_var x[], ct_var y) {
    for (int i = 0; i < n; i++) {
        char part[48];
        ct_var dx;
        snprintf(part, sizeof part, "%.20s-d%d", of, i);
        if (ct_dtype(ct_value(x[i])) != scalar)
            continue;
        ct_status status = ct_grad(y, ct_var_null(), 1, &x[i], &dx);
        ck_assert_msg(status == CT_OK, "%s: %s", ct_op_name(op), ct_error()->message);
        add_tensor(lines, ct_op_name(op), scalar->name, part, ct_copy(ct_value(dx)));
    }
}

static bool hash_text(void *context, const char *text, size_t length) {
    ct_sha256_update(context, text, length);
    return true;
}

/* The order of nodes decides bits: the listing of the tape with second-order gradients on it. */
static void add_listing(struct lines *lines, enum ct_op op, const ct_scalar *scalar, const char *of,
                        int n, ct_var x[], ct_var y) {
    char digest[CT_SHA256_TEXT_BYTES], part[48];
    struct ct_sha256 hash;
    for (int i = 0; i < n; i++) {
        ct_var dx, ddx[3];
        if (ct_dtype(ct_value(x[i])) != scalar || ct_dtype(ct_value(y)) != scalar)
            continue;
        ck_assert_int_eq(ct_grad(y, ct_var_null(), 1, &x[i], &dx), CT_OK);
        for (int k = 0; k < n; k++)
            if (ct_dtype(ct_value(x[k])) == scalar)
                ck_assert_int_eq(ct_grad(dx, ct_var_null(), 1, &x[k], &ddx[k]), CT_OK);
    }
    ct_sha256_init(&hash);
    ck_assert_int_eq(ct_tape_text(y.tape, hash_text, &hash), CT_OK);
    ct_sha256_final(&hash, digest);
    snprintf(part, sizeof part, "%.20s-tape", of);
    add_line(lines, ct_op_name(op), scalar->name, part, digest);
}

static ct_var input(ct_tape *tape, const ct_tensor *t) {
    return ct_dtype(t)->traits & CT_DIFFERENTIABLE ? ct_leaf(tape, t, NULL)
                                                   : ct_constant(tape, t, NULL);
}

static void add_elementwise(struct lines *lines, enum ct_op op, const ct_scalar *scalar,
                            bool inside) {
    int arity = op_oracle(op)->arity;
    ct_tensor *in[3] = {NULL};
    ct_var x[3];
    draw_arguments(op, scalar, 3001, inside, in);
    ct_tape *tape = ct_tape_new();
    for (int i = 0; i < arity; i++)
        x[i] = input(tape, in[i]);
    ct_var y = op_oracle(op)->record(x);
    add_tensor(lines, ct_op_name(op), scalar->name, inside ? "value" : "wild",
               ct_copy(ct_value(y)));
    if (inside && !op_gives_mask(op))
        add_gradients(lines, op, scalar, "value", arity, x, y);
    if (inside && scalar == CT_F64)
        add_listing(lines, op, scalar, "value", arity, x, y);
    ct_tape_free(tape);
    for (int i = 0; i < arity; i++)
        ct_free(in[i]);
}

static void add_dual(struct lines *lines, enum ct_op op, const ct_scalar *scalar) {
    ct_tensor *in[3] = {NULL}, *lifted[3] = {NULL};
    int arity = op_oracle(op)->arity;
    draw_arguments(op, scalar, 501, true, in);
    for (int i = 0; i < arity; i++)
        lifted[i] = op_takes_mask(op, i) ? ct_copy(in[i]) : ct_dual(in[i], in[arity - 1]);
    const ct_tensor *operands[3] = {lifted[0], lifted[1], lifted[2]};
    add_tensor(lines, ct_op_name(op), ct_dual_of(scalar)->name, "value",
               op_oracle(op)->apply(operands));
    for (int i = 0; i < arity; i++) {
        ct_free(in[i]);
        ct_free(lifted[i]);
    }
}

/* ---- structured rows: their records' samples */

static void add_sample(struct lines *lines, enum ct_op op, const ct_scalar *scalar, int k) {
    const struct ct__sample *sample = &ct__op_record(op)->samples[k];
    struct draw draw = {(uint64_t)k + 1};
    ct_tape *tape = ct_tape_new();
    ct_var x[CT__MAX_INPUTS];
    char part[48];
    for (int i = 0; i < sample->inputs; i++) {
        bool labels = sample->labels > 0 && i == sample->inputs - 1;
        ct_tensor *t =
            draw_tensor(&draw, labels ? CT_I64 : scalar, sample->rank[i], sample->shape[i],
                        labels ? 0 : -2, labels ? (double)sample->labels : 2);
        t = ct__prepared(op, i, t);
        x[i] = input(tape, t);
        ct_free(t);
    }
    ct_var y = ct__record(op, sample->inputs, x, &sample->attr);
    snprintf(part, sizeof part, "sample%d", k);
    add_tensor(lines, ct_op_name(op), scalar->name, part, ct_copy(ct_value(y)));
    add_gradients(lines, op, scalar, part, sample->inputs, x, y);
    if (scalar == CT_F64)
        add_listing(lines, op, scalar, part, sample->inputs, x, y);
    ct_tape_free(tape);
}

/* ---- large ones, on which threads share the work */

static ct_tensor *draw_matrix(uint64_t seed, const ct_scalar *scalar, int64_t rows,
                              int64_t columns) {
    struct draw draw = {seed};
    return draw_tensor(&draw, scalar, 2, (int64_t[]){rows, columns}, -2, 2);
}

static void add_large(struct lines *lines, const ct_scalar *scalar) {
    const char *name = scalar->name;
    ct_tensor *long_one = draw_matrix(1, scalar, 1, LONG), *many = draw_matrix(2, scalar, 3000, 67);
    ct_tensor *a = draw_matrix(3, scalar, 131, 517), *b = draw_matrix(4, scalar, 517, 203);
    ct_tensor *turned = ct_transpose(b);
    ct_tensor *turned_dense = ct_compact(turned), *back = ct_transpose(turned_dense);
    add_tensor(lines, "sum", name, "all", ct_sum(long_one, CT_ALL, false));
    add_tensor(lines, "sum", name, "rows", ct_sum(many, 1, false));
    add_tensor(lines, "sum", name, "columns", ct_sum(many, 0, false));
    add_tensor(lines, "mean", name, "all", ct_mean(many, CT_ALL, false));
    add_tensor(lines, "mean", name, "columns", ct_mean(many, 0, true));
    add_tensor(lines, "max", name, "columns", ct_max(many, 0, false));
    add_tensor(lines, "min", name, "rows", ct_min(many, 1, false));
    add_tensor(lines, "logsumexp", name, "rows", ct_logsumexp(many, 1, false));
    add_tensor(lines, "softmax", name, "columns", ct_softmax(many, 0));
    add_tensor(lines, "log_softmax", name, "rows", ct_log_softmax(many, 1));
    add_tensor(lines, "softmax", name, "rows", ct_softmax(many, 1));
    add_tensor(lines, "softmax", name, "one row", ct_softmax(long_one, 1));
    add_tensor(lines, "logsumexp", name, "columns", ct_logsumexp(many, 0, false));
    add_tensor(lines, "layer_norm", name, "rows", ct_layer_norm(many, 1, NULL, NULL, 1e-5));
    add_tensor(lines, "layer_norm", name, "one row", ct_layer_norm(long_one, 1, NULL, NULL, 1e-5));
    add_tensor(lines, "matmul", name, "dense", ct_matmul(a, b));
    add_tensor(lines, "matmul", name, "turned", ct_matmul(a, back));
    const ct_tensor *long_operand[] = {long_one};
    add_tensor(lines, "tanh", name, "long", op_oracle(CT_OP_tanh)->apply(long_operand));
    ct_tensor *all[] = {long_one, many, a, b, turned, turned_dense, back};
    for (size_t i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
}

static void compute(struct lines *lines) {
    static const ct_scalar *const reals[] = {CT_F32, CT_F64};
    for (size_t s = 0; s < COUNT(reals); s++) {
        for (int i = 0; i < CT_OP_COUNT; i++) {
            enum ct_op op = (enum ct_op)i;
            const struct ct__op_record *record = ct__op_record(op);
            if (op_oracle(op)->arity > 0) {
                add_elementwise(lines, op, reals[s], true);
                add_elementwise(lines, op, reals[s], false);
                add_dual(lines, op, reals[s]);
            }
            for (int k = 0; record && k < record->sample_count; k++)
                add_sample(lines, op, reals[s], k);
        }
        add_large(lines, reals[s]);
    }
}

START_TEST(bits_are_the_committed_ones) {
    static const char *const threads[] = {"1", "2", "3"};
    check_digests("digest", golden, compute, digest_isas[_i / 3], threads[_i % 3]);
}
END_TEST

Suite *suite_digest(void) {
    Suite *suite = suite_create("digest");
    TCase *tc = tcase_create("contract");
    suite_add_tcase(suite, tc);
    tcase_add_loop_test(tc, bits_are_the_committed_ones, 0, 3 * DIGEST_ISAS);
    return suite;
}
