/* Memory that runs out at each allocation in turn, under what records and differentiates: CT_ENOMEM, nothing lost, and
   the tape of use again after a rewind. */

#include "autodiff/ct_anomaly.h"
#include "autodiff/ct_derivatives.h"
#include "autodiff/ct_network.h"
#include "autodiff/ct_sparse.h"
#include "autodiff/ct_var_ops.h"
#include "case_tools.h"
#include "ct_test.h"
#include "scarce_memory.h"
#include "tensor/ct_alloc.h"
#include "tensor/ct_make.h"

static ct_tape *tape;

static ct_tensor *filled(const ct_scalar *scalar, int rank, const int64_t *shape) {
    ct_tensor *t = ct_zeros(scalar, rank, shape);
    char *data = t ? ct_data_for_write(t) : NULL;
    for (size_t k = 0; data && k < ct_count(t); k++)
        scalar->from_double(scalar, data + k * scalar->size,
                            scalar == CT_F64 ? 0.5 + (double)(k % 7) : (double)(k % 2));
    return t;
}

static ct_var put(ct_tensor *t, bool constant) {
    if (!t)
        return ct_tape_fail(tape, ct_error()->code, "no tensor");
    ct_var v = constant ? ct_constant(tape, t, NULL) : ct_leaf(tape, t, "x");
    ct_free(t);
    return v;
}

#define LEAF(...)                                                                                  \
    put(filled(CT_F64, COUNT(((int64_t[]){__VA_ARGS__})), (int64_t[]){__VA_ARGS__}), false)
#define WHOLE(...)                                                                                 \
    put(filled(CT_I64, COUNT(((int64_t[]){__VA_ARGS__})), (int64_t[]){__VA_ARGS__}), true)
#define MASK(...)                                                                                  \
    put(filled(CT_BOOL, COUNT(((int64_t[]){__VA_ARGS__})), (int64_t[]){__VA_ARGS__}), true)

/* Records with up to three operands, made first to last. */
#define ONE(name, a, expression)                                                                   \
    static ct_var name(void) {                                                                     \
        ct_var x = a;                                                                              \
        return expression;                                                                         \
    }
#define TWO(name, a, b, expression)                                                                \
    static ct_var name(void) {                                                                     \
        ct_var x = a;                                                                              \
        ct_var z = b;                                                                              \
        return expression;                                                                         \
    }
#define THREE(name, a, b, c, expression)                                                           \
    static ct_var name(void) {                                                                     \
        ct_var x = a;                                                                              \
        ct_var z = b;                                                                              \
        ct_var w = c;                                                                              \
        return expression;                                                                         \
    }

#define WINDOW(...) (&(struct ct_window){__VA_ARGS__})

THREE(conv, LEAF(1, 2, 5, 5), LEAF(4, 1, 2, 2), LEAF(4),
      ct_var_conv(x, z, w,
                  WINDOW(.groups = 2, .before = {1}, .stride = {2, 1}, .dilation = {1, 2})))
THREE(conv_transpose, LEAF(1, 2, 3), LEAF(2, 2, 3), LEAF(2),
      ct_var_conv_transpose(x, z, w, WINDOW(.stride = {2}, .extra = {1}, .before = {1})))
ONE(max_pool, LEAF(1, 2, 5),
    ct_var_max_pool(x, (int64_t[]){2}, WINDOW(.before = {1}, .stride = {2})))
ONE(avg_pool, LEAF(1, 2, 5),
    ct_var_avg_pool(x, (int64_t[]){2}, WINDOW(.before = {1}, .stride = {2}), false))
static ct_var batch_norm(void) {
    ct_var mean = ct_var_null(), variance = mean, x = LEAF(3, 2, 2);
    ct_var_batch_moments(x, &mean, &variance);
    ct_var scale = LEAF(2);
    return ct_var_batch_norm(x, mean, variance, scale, scale, 1e-5);
}
TWO(rms_norm, LEAF(3, 2), LEAF(2), ct_var_rms_norm(x, z, 1e-5))
ONE(dropout, LEAF(3, 2), ct_var_dropout(x, 0.5, 1, 2, 3))
static ct_var attention(void) {
    ct_var q = LEAF(3, 2), k = LEAF(4, 2), v = LEAF(4, 5);
    return ct_var_attention(q, k, v, MASK(3, 4));
}
TWO(l1, LEAF(3, 2), LEAF(3, 2), ct_var_l1(x, z, CT_REDUCE_MEAN))
TWO(smooth_l1, LEAF(3, 2), LEAF(3, 2), ct_var_smooth_l1(x, z, 0.5, CT_REDUCE_SUM))
TWO(bce, LEAF(3, 2), LEAF(3, 2), ct_var_bce_with_logits(x, z, CT_REDUCE_MEAN))
TWO(kl_div, LEAF(3, 2), LEAF(3, 2), ct_var_kl_div(x, z, CT_REDUCE_MEAN))
TWO(cross_entropy_soft, LEAF(3, 2), LEAF(3, 2), ct_var_cross_entropy_soft(x, z, CT_REDUCE_MEAN))
static ct_var cross_entropy_of(void) {
    ct_tensor *weights = filled(CT_F64, 1, (int64_t[]){2});
    ct_var x = LEAF(3, 2, 2), labels = WHOLE(3, 2);
    if (!weights)
        return ct_tape_fail(tape, CT_ENOMEM, "no weights");
    struct ct_class_loss loss = {weights, true, -1, 0.1};
    ct_var y = ct_var_cross_entropy_of(x, labels, &loss, CT_REDUCE_MEAN);
    ct_free(weights);
    return y;
}
TWO(cross_entropy, LEAF(3, 2), WHOLE(3), ct_var_cross_entropy(x, z, CT_REDUCE_MEAN))
TWO(gather, LEAF(3, 4), WHOLE(3, 4), ct_var_gather(x, 0, z))
THREE(scatter_add, LEAF(3, 4), WHOLE(2, 4), LEAF(2, 4), ct_var_scatter_add(x, 0, z, w))
TWO(take, LEAF(3, 4), WHOLE(2), ct_var_take(x, -1, z))
THREE(index_add, LEAF(3, 4), WHOLE(2), LEAF(2, 4), ct_var_index_add(x, 0, z, w))
THREE(concat, LEAF(2, 2), LEAF(2, 2), LEAF(2, 2), ct_var_concat(3, (ct_var[]){x, z, w}, 1))
ONE(concat_one, LEAF(2, 2), ct_var_concat(1, &x, 1))
THREE(stack, LEAF(2, 2), LEAF(2, 2), LEAF(2, 2), ct_var_stack(3, (ct_var[]){x, z, w}, 1))
ONE(unfold, LEAF(7), ct_var_unfold(x, 0, 3, 2))
ONE(fold, LEAF(3, 3), ct_var_fold(x, 0, 9, 2))
ONE(fold_nothing, LEAF(3, 0), ct_var_fold(x, 0, 9, 2))
ONE(cumsum, LEAF(3, 3), ct_var_cumsum(x, CT_ALL))
ONE(cumprod, LEAF(3, 3), ct_var_cumprod(x, 1))
ONE(prod, LEAF(3, 3), ct_var_prod_axes(x, 2, (int[]){0, 1}, true))
TWO(recurrence, LEAF(3, 3), LEAF(3, 3), ct_var_recurrence(x, z, 1))
ONE(standard, LEAF(3, 3), ct_var_std(x, 1, 1, true))
THREE(dense, LEAF(3, 2), LEAF(2, 4), LEAF(4), ct_var_dense(x, z, w, CT_GELU))
TWO(layer_norm, LEAF(3, 4), LEAF(4), ct_var_layer_norm(x, 1, z, z, 1e-5))
TWO(straight_through, LEAF(3), LEAF(3), ct_var_straight_through(x, z))

static ct_var (*const records[])(void) = {
    conv,
    conv_transpose,
    max_pool,
    avg_pool,
    batch_norm,
    rms_norm,
    dropout,
    attention,
    l1,
    smooth_l1,
    bce,
    kl_div,
    gather,
    scatter_add,
    cross_entropy_of,
    cross_entropy_soft,
    take,
    index_add,
    cross_entropy,
    concat,
    concat_one,
    stack,
    unfold,
    fold,
    cumsum,
    cumprod,
    fold_nothing,
    prod,
    recurrence,
    standard,
    dense,
    layer_norm,
    straight_through,
};

/* Records, differentiates for the first leaf and searches; whether all went well. */
static bool use(ct_var (*record)(void)) {
    struct ct_anomaly found;
    ct_var y = ct_var_sum(ct_var_square(record()), CT_ALL, false);
    ct_var x = y, dx;
    if (ct_grad(y, ct_var_null(), 1, &x, &dx) != CT_OK)
        return false;
    bool searched = ct_tape_anomaly(tape, 0, &found) || ct_error()->code == CT_OK;
    return searched && (ct_tape_absorbed(tape, 0, &found) || ct_error()->code == CT_OK);
}

START_TEST(recording_loses_nothing) {
    bool done = false;
    if (!make_memory_scarce())
        return;
    for (long left = 0; !done; left++) {
        size_t before = ct_live_blocks();
        starve(left);
        tape = ct_tape_new();
        done = tape && use(records[_i]);
        allocations_left = -1;
        ck_assert_msg(done || ct_error()->code == CT_ENOMEM, "%d: %s", _i, ct_error()->message);
        ck_assert(done || !tape || ct_tape_status(tape) == CT_OK ||
                  ct_tape_status(tape) == CT_ENOMEM);
        ct_error_clear();
        if (tape) {
            ck_assert_int_eq(ct_tape_rewind(tape, (ct_mark){0}), CT_OK);
            ck_assert_msg(use(records[_i]), "%s", ct_tape_message(tape));
        }
        ct_tape_free(tape);
        ck_assert_uint_eq(ct_live_blocks(), before);
    }
}
END_TEST

/* --- products and sparse matrices --- */

static ct_var map(void *context, ct_tape *t, size_t n, const ct_var *in) {
    (void)context, (void)t, (void)n;
    ct_var left = ct_var_slice(in[0], 0, 0, 3, 1), right = ct_var_slice(in[0], 0, 1, 4, 1);
    ct_var parts[] = {ct_var_mul(left, right), ct_var_sum(in[0], 0, true)};
    return ct_var_concat(2, parts, 0);
}

static ct_var norm(void *context, ct_tape *t, size_t n, const ct_var *in) {
    return ct_var_sum(ct_var_square(map(context, t, n, in)), CT_ALL, false);
}

static ct_tensor *sparse_jacobian(const ct_tensor *const *in) {
    ct_pattern *p = ct_jacobian_pattern(map, NULL, 1, in, 0);
    ct_tensor *entries = p ? ct_jacobian_sparse(map, NULL, 1, in, 0, p) : NULL;
    ct_tensor *matrix = entries ? ct_pattern_dense(p, entries) : NULL;
    ct_free(entries);
    ct_pattern_free(p);
    return matrix;
}

static ct_tensor *sparse_hessian(const ct_tensor *const *in) {
    ct_pattern *p = ct_hessian_pattern(norm, NULL, 1, in, 0);
    ct_tensor *entries = p ? ct_hessian_sparse(norm, NULL, 1, in, 0, p) : NULL;
    ct_pattern_free(p);
    return entries;
}

static ct_tensor *reverse_jacobian(const ct_tensor *const *in) {
    return ct_jacobian(map, NULL, 1, in, 0, CT_MODE_REVERSE);
}

static ct_tensor *gauss_newton(const ct_tensor *const *in) {
    ct_tensor *product = NULL;
    ct_gauss_newton_product(map, NULL, norm, NULL, 1, in, in, &product);
    return product;
}

static ct_tensor *fisher(const ct_tensor *const *in) {
    ct_tensor *product = NULL;
    ct_fisher_product(map, NULL, 1, in, in, &product);
    return product;
}

static ct_tensor *(*const products[])(const ct_tensor *const *in) = {
    sparse_jacobian, sparse_hessian, reverse_jacobian, gauss_newton, fisher};

START_TEST(products_lose_nothing) {
    if (!make_memory_scarce())
        return;
    ct_tensor *x = T1(1, 2, -1, 3);
    bool done = false;
    for (long left = 0; !done; left++) {
        size_t before = ct_live_blocks();
        starve(left);
        ct_tensor *made = products[_i](&(const ct_tensor *){x});
        allocations_left = -1;
        done = survived(made, before);
    }
    ct_free(x);
}
END_TEST

Suite *suite_scarce(void) {
    Suite *suite = suite_create("scarce");
    TCase *tc = tcase_create("memory");
    tcase_add_loop_test(tc, recording_loses_nothing, 0, (int)COUNT(records));
    tcase_add_loop_test(tc, products_lose_nothing, 0, (int)COUNT(products));
    suite_add_tcase(suite, tc);
    return suite;
}
