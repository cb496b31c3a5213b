#include "autodiff/ct_tape.h"
#include "autodiff/ct_var_ops.h"
#include "case_tools.h"
#include "ct_test.h"
#include "dual/ct_dual.h"
#include "fixed/ct_fixed.h"
#include "ops_parts.h"
#include "tensor/ct_alloc.h"
#include "tensor/ct_dense.h"
#include "tensor/ct_make.h"
#include "tensor/ct_ops.h"
#include "tensor/ct_write.h"

Suite *suite_dense(void);

// ---- the layer is its parts, bit for bit

static ct_tensor *in_parts(const ct_tensor *x, const ct_tensor *w, const ct_tensor *b,
                           enum ct_activation activation) {
    ct_tensor *product = ct_matmul(x, w), *sum = b ? ct_add(product, b) : ct_copy(product);
    enum ct_op op = ct_activation_op(activation);
    ct_tensor *result =
        op == CT_OP_COUNT ? ct_copy(sum) : ct_apply(op, 1, (const ct_tensor *[]){sum});
    ct_free(product);
    ct_free(sum);
    return result;
}

static const int64_t sizes[][3] = {{1, 1, 1},   {2, 3, 4},    {5, 0, 3},    {0, 3, 2},
                                   {3, 2, 0},   {7, 5, 17},   {1, 70, 33},  {33, 300, 1},
                                   {17, 9, 31}, {64, 64, 10}, {13, 257, 49}};

static ct_tensor *turned(const ct_tensor *t, int layout) {
    ct_tensor *flat = ct_rank(t) == 1 ? ct_flip(t, 0) : NULL;
    ct_tensor *dense = flat ? ct_compact(flat) : NULL;
    ct_tensor *result = flat ? ct_flip(dense, 0) : lay_out(t, (enum layout)layout);
    ct_free(flat);
    ct_free(dense);
    return result;
}

static void compare(const ct_scalar *scalar, const int64_t size[3], enum ct_activation activation,
                    int layout, bool bias) {
    struct draw draw = {(uint64_t)size[2] + 5};
    ct_tensor *dense[] = {draw_tensor(&draw, scalar, 2, size, -2, 2),
                          draw_tensor(&draw, scalar, 2, size + 1, -2, 2),
                          draw_tensor(&draw, scalar, 1, size + 2, -2, 2)};
    ct_tensor *in[] = {turned(dense[0], layout), turned(dense[1], (layout + 1) % LAYOUT_REPEATED),
                       turned(dense[2], layout)};
    const ct_tensor *b = bias ? in[2] : NULL;
    ct_tensor *right = in_parts(in[0], in[1], b, activation);
    ct_tensor *y = ct_dense(in[0], in[1], b, activation);
    bool exists = right != NULL;
    ck_assert(ct_can_dense(in[0], in[1], b, activation) == exists && (y != NULL) == exists);
    if (exists) {
        ck_assert_msg(same_bits(y, right), "%s, activation %d, layout %d", scalar->name,
                      (int)activation, layout);
        ct_tensor *target = ct_full_like(right, scalar == CT_F32 || scalar == CT_F64 ? QNAN : 1);
        ck_assert_int_eq(ct_dense_into(target, in[0], in[1], b, activation), CT_OK);
        ck_assert(same_bits(target, right));
        ct_free(target);
    }
    ct_free(y);
    ct_free(right);
    free_all(3, dense);
    free_all(3, in);
}

static const ct_scalar *const scalars[] = {CT_F32, CT_F64, CT_DUAL64, CT_I64, CT_FIXED, CT_BOOL};

START_TEST(a_layer_is_its_parts) {
    for (size_t s = 0; s < COUNT(sizes); s++)
        for (int activation = CT_IDENTITY; activation <= CT_GELU_TANH; activation++)
            for (int layout = 0; layout < LAYOUT_REPEATED; layout++)
                compare(scalars[_i], sizes[s], (enum ct_activation)activation, layout,
                        (s + (size_t)layout) % 4 != 0);
}
END_TEST

START_TEST(special_values_are_those_of_the_parts) {
    ct_tensor *x = T2(2, 2, 1, INF, 0, QNAN), *w = T2(2, 3, 1, -1, 0, 0, 1, -0.0),
              *b = T1(-1, INF, -0.0);
    for (int activation = CT_IDENTITY; activation <= CT_GELU_TANH; activation++) {
        ct_tensor *y = ct_dense(x, w, b, (enum ct_activation)activation);
        ct_tensor *right = in_parts(x, w, b, (enum ct_activation)activation);
        ck_assert(same_bits(y, right));
        ct_free(y);
        ct_free(right);
    }
    ct_free(x);
    ct_free(w);
    ct_free(b);
}
END_TEST

START_TEST(rows_may_have_any_number_of_axes) {
    struct draw draw = {3};
    ct_tensor *w = draw_tensor(&draw, CT_F64, 2, (int64_t[]){3, 4}, -1, 1);
    ct_tensor *b = draw_tensor(&draw, CT_F64, 1, (int64_t[]){4}, -1, 1);
    for (int rank = 1; rank <= 4; rank++) {
        static const int64_t shape[] = {2, 1, 5, 3};
        ct_tensor *x = draw_tensor(&draw, CT_F64, rank, shape + 4 - rank, -1, 1);
        ct_tensor *y = ct_dense(x, w, b, CT_RELU), *right = in_parts(x, w, b, CT_RELU);
        ck_assert(y && ct_same_shape(y, right) && same_bits(y, right));
        ct_free(x);
        ct_free(y);
        ct_free(right);
    }
    ct_free(w);
    ct_free(b);
}
END_TEST

// ---- targets

START_TEST(a_target_may_be_an_operand) {
    ct_tensor *x = T1(1, 2), *w = T2(2, 2, 1, 2, 3, 4), *b = T1(10, -30);
    ct_tensor *right = ct_dense(x, w, b, CT_RELU), *copy = ct_copy(b);
    ck_assert_int_eq(ct_dense_into(b, x, w, b, CT_RELU), CT_OK);
    ck_assert(same_bits(b, right));
    EXPECT("the copy", ct_copy(copy), 0, 10, -30);
    ck_assert_int_eq(ct_dense_into(x, x, w, copy, CT_RELU), CT_OK);
    ck_assert(same_bits(x, right));
    ct_free(x);
    ct_free(w);
    ct_free(b);
    ct_free(copy);
    ct_free(right);
}
END_TEST

// ---- errors

START_TEST(what_does_not_fit_is_an_error) {
    ct_tensor *x = T2(2, 2, 1, 2, 3, 4), *w = T2(2, 3, 1, 0, -1, 0, 1, -1), *b = T1(10, 20, 1);
    ct_tensor *two = T1(1, 2), *single = ct_astype(b, CT_F32), *y = ct_dense(x, w, b, CT_RELU);
    static const char who[] = "ct_dense";
    ck_assert_ptr_null(ct_dense(x, w, two, CT_RELU));
    expect_error(CT_ESHAPE,
                 "the bias needs the shape [3], one item for each column of the weights, not [2]");
    ck_assert_str_eq(ct_error()->function, who);
    ck_assert_ptr_null(ct_dense(x, b, b, CT_RELU));
    expect_error(CT_ESHAPE,
                 "the weights of a dense layer have the axes in and out, not the shape [3]");
    ck_assert_ptr_null(ct_dense(y, w, b, CT_RELU));
    expect_error(CT_ESHAPE, "matmul needs the inner extents to agree");
    ck_assert_str_eq(ct_error()->function, who);
    ck_assert_ptr_null(ct_dense(x, w, single, CT_RELU));
    expect_error(CT_EDTYPE, "the weights are of f64 and the bias of f32");
    ck_assert_ptr_null(ct_dense(x, w, b, (enum ct_activation)99));
    expect_error(CT_EINVAL, "there is no activation 99");
    ct_tensor *before = ct_copy(x);
    ck_assert_int_eq(ct_dense_into(x, x, w, b, CT_TANH), CT_ESHAPE);
    ck_assert_str_eq(ct_error()->function, "ct_dense_into");
    ck_assert(same_bits(x, before));
    ck_assert(!ct_can_dense(x, w, two, CT_RELU) && !ct_can_dense(x, b, b, CT_RELU) &&
              !ct_can_dense(y, w, b, CT_RELU) && !ct_can_dense(x, w, single, CT_RELU) &&
              !ct_can_dense(x, w, b, (enum ct_activation) - 1) &&
              !ct_can_dense(x, NULL, b, CT_RELU));
    ct_error_clear();
    ck_assert_ptr_null(ct_dense(NULL, w, b, CT_RELU));
    ck_assert_int_eq(ct_error()->code, CT_EINVAL);
    ct_tensor *all[] = {x, w, b, two, single, y, before};
    free_all((int)COUNT(all), all);
}
END_TEST

// ---- on the tape

START_TEST(a_recorded_layer_is_its_parts) {
    struct draw draw = {8};
    enum ct_activation activation = (enum ct_activation)_i;
    ct_tensor *in[] = {draw_tensor(&draw, CT_F64, 2, (int64_t[]){5, 3}, -1, 1),
                       draw_tensor(&draw, CT_F64, 2, (int64_t[]){3, 4}, -1, 1),
                       draw_tensor(&draw, CT_F64, 1, (int64_t[]){4}, -1, 1)};
    ct_tape *tape = ct_tape_new();
    ct_var v[3], fused[3], parts[3];
    for (int i = 0; i < 3; i++)
        v[i] = ct_leaf(tape, in[i], NULL);
    ct_var y = ct_var_dense(v[0], v[1], v[2], activation);
    size_t nodes = ct_tape_length(tape);
    ck_assert(nodes == (activation <= CT_TANH ? 4 : 5));
    ct_var z = ct_var_add(ct_var_matmul(v[0], v[1]), v[2]);
    enum ct_op op = ct_activation_op(activation);
    ct_tensor *applied = op == CT_OP_COUNT ? ct_copy(ct_value(z))
                                           : ct_apply(op, 1, (const ct_tensor *[]){ct_value(z)});
    ck_assert(same_bits(ct_value(y), applied));
    ct_free(applied);
    ck_assert_int_eq(
        ct_grad(ct_var_sum(ct_var_square(y), CT_ALL, false), ct_var_null(), 3, v, fused), CT_OK);
    ct_var a = activation == CT_IDENTITY  ? z
               : activation == CT_RELU    ? ct_var_relu(z)
               : activation == CT_TANH    ? ct_var_tanh(z)
               : activation == CT_SIGMOID ? ct_var_sigmoid(z)
               : activation == CT_SILU    ? ct_var_silu(z)
               : activation == CT_GELU    ? ct_var_gelu(z)
                                          : ct_var_gelu_tanh(z);
    ck_assert_int_eq(
        ct_grad(ct_var_sum(ct_var_square(a), CT_ALL, false), ct_var_null(), 3, v, parts), CT_OK);
    for (int i = 0; i < 3; i++)
        ck_assert(same_bits(ct_value(fused[i]), ct_value(parts[i])));
    ct_tape_free(tape);
    free_all(3, in);
}
END_TEST

static void no_block_is_left(void) {
    ck_assert_uint_eq(ct_live_blocks(), 0);
}

Suite *suite_dense(void) {
    Suite *suite = suite_create("dense");
    TCase *tc = tcase_create("dense");
    tcase_add_checked_fixture(tc, NULL, no_block_is_left);
    tcase_add_loop_test(tc, a_layer_is_its_parts, 0, COUNT(scalars));
    tcase_add_test(tc, special_values_are_those_of_the_parts);
    tcase_add_test(tc, rows_may_have_any_number_of_axes);
    tcase_add_test(tc, a_target_may_be_an_operand);
    tcase_add_test(tc, what_does_not_fit_is_an_error);
    tcase_add_loop_test(tc, a_recorded_layer_is_its_parts, 0, CT_GELU_TANH + 1);
    suite_add_tcase(suite, tc);
    return suite;
}
