/* Duals with several tangents: each tangent has the bits that a dual with that one alone has, through
   every op, layout, reduction and product. */

#include "case_tools.h"
#include "ct_test.h"
#include "dual/ct_dual.h"
#include "op_oracle.h"
#include "tensor/ct_alloc.h"
#include "tensor/ct_ops.h"
#include "tensor/ct_reduce.h"

#include <math.h>
#include <string.h>

enum { MOST = 8, MAX_ARITY = 3 };

static size_t live;

static void setup(void) {
    live = ct_live_blocks();
}

static void teardown(void) {
    ck_assert_uint_eq(ct_live_blocks(), live);
}

struct width {
    const ct_scalar *wide, *base;
    int tangents;
};

static const struct width widths[] = {
    {CT_DUAL32X4, CT_F32, 4},
    {CT_DUAL32X8, CT_F32, 8},
    {CT_DUAL64X4, CT_F64, 4},
    {CT_DUAL64X8, CT_F64, 8},
};

/* An operand of an op three times: wide, and per tangent as a single dual. A mask is one tensor. */
struct operand {
    ct_tensor *wide, *single[MOST];
};

static void free_operand(struct operand *x) {
    ct_free(x->wide);
    for (int t = 0; t < MOST; t++)
        ct_free(x->single[t]);
}

static struct operand make_operand(const struct width *width, ct_tensor *value,
                                   ct_tensor *tangents[MOST]) {
    struct operand x = {0};
    x.wide = ct_dual_wide(value, width->tangents, (const ct_tensor *const *)tangents);
    ck_assert_ptr_nonnull(x.wide);
    ck_assert_ptr_eq(ct_dtype(x.wide), width->wide);
    for (int t = 0; t < width->tangents; t++)
        x.single[t] = ct_dual(value, tangents[t]);
    for (int t = 0; t < width->tangents; t++)
        ct_free(tangents[t]);
    ct_free(value);
    return x;
}

static struct operand draw_operand(struct draw *draw, const struct width *width, int rank,
                                   const int64_t *shape, double low, double high) {
    ct_tensor *tangents[MOST] = {0},
              *value = draw_tensor(draw, width->base, rank, shape, low, high);
    for (int t = 0; t < width->tangents; t++)
        tangents[t] = draw_tensor(draw, width->base, rank, shape, -1, 1);
    return make_operand(width, value, tangents);
}

static struct operand laid_out(const struct operand *x, enum layout layout, int tangents) {
    struct operand out = {.wide = lay_out(x->wide, layout)};
    for (int t = 0; t < tangents; t++)
        out.single[t] = lay_out(x->single[t], layout);
    return out;
}

/* A wide result against its singles, freeing none. */
static void compare(const char *what, const struct width *width, const ct_tensor *wide,
                    ct_tensor *const single[MOST]) {
    ck_assert_msg(wide != NULL, "%s: %s", what, ct_error()->message);
    ck_assert_int_eq(ct_check_tensor(wide), CT_OK);
    ct_tensor *value = ct_dual_value(wide);
    for (int t = 0; t < width->tangents; t++) {
        ct_tensor *tangent = ct_dual_tangent_at(wide, t);
        ct_tensor *single_value = ct_dual_value(single[t]);
        ct_tensor *single_tangent = ct_dual_tangent(single[t]);
        ck_assert_msg(same_bits(value, single_value), "%s of %s: values", what, width->wide->name);
        ck_assert_msg(same_bits(tangent, single_tangent), "%s of %s: tangent %d", what,
                      width->wide->name, t);
        ct_free(tangent), ct_free(single_value), ct_free(single_tangent);
    }
    ct_free(value);
}

/* Results of any type, a mask for instance: all the same. */
static void compare_plain(const char *what, const struct width *width, const ct_tensor *wide,
                          ct_tensor *const single[MOST]) {
    ck_assert_msg(wide != NULL, "%s: %s", what, ct_error()->message);
    for (int t = 0; t < width->tangents; t++)
        ck_assert_msg(same_bits(wide, single[t]), "%s of %s", what, width->wide->name);
}

/* --- every elementwise row --- */

static void apply_both(enum ct_op op, const struct width *width, const struct operand *x) {
    const ct_tensor *in[MAX_ARITY];
    ct_tensor *single[MOST] = {0};
    int arity = ct_op_arity(op);
    for (int t = 0; t < width->tangents; t++) {
        for (int i = 0; i < arity; i++)
            in[i] = x[i].single[t];
        single[t] = ct_apply(op, arity, in);
    }
    for (int i = 0; i < arity; i++)
        in[i] = x[i].wide;
    ct_tensor *wide = ct_apply(op, arity, in);
    (ct_op_gives_mask(op) ? compare_plain : compare)(ct_op_name(op), width, wide, single);
    ct_free(wide);
    for (int t = 0; t < width->tangents; t++)
        ct_free(single[t]);
}

static struct operand draw_argument(struct draw *draw, enum ct_op op, int i,
                                    const struct width *width, const int64_t *shape) {
    const struct op_oracle *oracle = op_oracle(op);
    if (!ct_op_takes_mask(op, i))
        return draw_operand(draw, width, 2, shape, oracle->domain[i].low, oracle->domain[i].high);
    struct operand mask = {.wide = draw_tensor(draw, CT_BOOL, 2, shape, 0, 2)};
    for (int t = 0; t < width->tangents; t++)
        mask.single[t] = ct_copy(mask.wide);
    return mask;
}

static bool on_duals(enum ct_op op) {
    return ct_op_arity(op) > 0 && ct_op_kind_of(op) != CT_KIND_LOGIC;
}

START_TEST(rows_in_every_layout) {
    enum ct_op op = (enum ct_op)_i;
    if (!on_duals(op))
        return;
    int64_t shape[] = {3, 70}; /* more than one block */
    for (size_t w = 0; w < COUNT(widths); w++) {
        struct draw draw = {(uint64_t)_i + 7};
        struct operand x[MAX_ARITY];
        int arity = ct_op_arity(op);
        for (int i = 0; i < arity; i++)
            x[i] = draw_argument(&draw, op, i, &widths[w], shape);
        apply_both(op, &widths[w], x);
        for (int layout = 0; layout < LAYOUT_COUNT; layout++) {
            struct operand turned[MAX_ARITY];
            for (int i = 0; i < arity; i++)
                turned[i] =
                    laid_out(&x[i], (enum layout)((layout + i) % LAYOUT_COUNT), widths[w].tangents);
            apply_both(op, &widths[w], turned);
            for (int i = 0; i < arity; i++)
                free_operand(&turned[i]);
        }
        for (int i = 0; i < arity; i++)
            free_operand(&x[i]);
    }
}
END_TEST

/* Values and tangents at the kinks and ends, all against all. */
static const double ends[] = {0, -0.0, 1, -1, 0.5, -2.5, INF, -INF, QNAN, 1e300, -1e-300};

static ct_tensor *ends_of(const ct_scalar *base, size_t shift, size_t every) {
    double values[COUNT(ends) * COUNT(ends)];
    for (size_t i = 0; i < COUNT(values); i++)
        values[i] = ends[(i / every + shift) % COUNT(ends)];
    for (size_t i = 0; i < COUNT(values) && base == CT_F32; i++)
        values[i] = (double)(float)(fabs(values[i]) == 1e300 ? 1e30 : values[i]);
    return ct_from_doubles(base, 1, (int64_t[]){COUNT(values)}, COUNT(values), values);
}

START_TEST(rows_at_their_ends) {
    enum ct_op op = (enum ct_op)_i;
    if (ct_op_kind_of(op) != CT_KIND_MAP || ct_op_arity(op) == 0)
        return;
    for (size_t w = 0; w < COUNT(widths); w++) {
        struct operand x[MAX_ARITY];
        int arity = ct_op_arity(op);
        for (int i = 0; i < arity; i++) {
            ct_tensor *tangents[MOST] = {0};
            for (int t = 0; t < widths[w].tangents; t++)
                tangents[t] = ends_of(widths[w].base, (size_t)(t + i), t % 2 ? 1 : COUNT(ends));
            x[i] = make_operand(&widths[w],
                                ends_of(widths[w].base, (size_t)i / 2, i % 2 ? COUNT(ends) : 1),
                                tangents);
        }
        apply_both(op, &widths[w], x);
        for (int i = 0; i < arity; i++)
            free_operand(&x[i]);
    }
}
END_TEST

/* A loop's result may be one of its operands. */
START_TEST(rows_in_place) {
    enum ct_op op = (enum ct_op)_i;
    if (!on_duals(op) || ct_op_gives_mask(op))
        return;
    const struct width *width = &widths[3];
    int64_t shape[] = {2, 100};
    int arity = ct_op_arity(op);
    for (int target = ct_op_kind_of(op) == CT_KIND_SELECT; target < arity; target++) {
        struct draw draw = {(uint64_t)_i + 70};
        struct operand x[MAX_ARITY];
        const ct_tensor *in[MAX_ARITY];
        char *ptr[MAX_ARITY + 1];
        ptrdiff_t step[MAX_ARITY + 1];
        for (int i = 0; i < arity; i++) {
            x[i] = draw_argument(&draw, op, i, width, shape);
            in[i] = x[i].wide;
        }
        ct_tensor *y = ct_apply(op, arity, in);
        for (int i = 0; i < arity; i++) {
            ptr[i] = ct_data_for_write(x[i].wide);
            step[i] = (ptrdiff_t)ct_dtype(x[i].wide)->size;
        }
        ptr[arity] = ptr[target];
        step[arity] = step[target];
        ct_loop_fn *loop = ct_scalar_loop(width->wide, op);
        ck_assert_uint_eq(loop(width->wide, op, ct_count(y), ptr, step), ct_count(y));
        ck_assert_msg(same_bits(x[target].wide, y), "%s onto operand %d", ct_op_name(op), target);
        for (int i = 0; i < arity; i++)
            free_operand(&x[i]);
        ct_free(y);
    }
}
END_TEST

/* --- reductions and products --- */

struct reduction {
    const char *name;
    ct_tensor *(*call)(const ct_tensor *t, int axis, bool keepdims);
    bool plain;
};

static const struct reduction reductions[] = {
    {"sum", ct_sum, false},      {"mean", ct_mean, false}, {"max", ct_max, false},
    {"min", ct_min, false},      {"prod", ct_prod, false}, {"argmax", ct_argmax, true},
    {"argmin", ct_argmin, true},
};

static void reduce_both(const struct reduction *r, const struct width *width,
                        const struct operand *x, int axis) {
    ct_tensor *single[MOST] = {0}, *wide = r->call(x->wide, axis, false);
    for (int t = 0; t < width->tangents; t++)
        single[t] = r->call(x->single[t], axis, false);
    (r->plain ? compare_plain : compare)(r->name, width, wide, single);
    ct_free(wide);
    for (int t = 0; t < width->tangents; t++)
        ct_free(single[t]);
}

START_TEST(reductions_in_every_layout) {
    int64_t shape[] = {40, 60};
    for (size_t w = 0; w < COUNT(widths); w++)
        for (size_t r = 0; r < COUNT(reductions); r++) {
            struct draw draw = {r + 3};
            struct operand x = draw_operand(&draw, &widths[w], 2, shape, -1.5, 1.5);
            for (int axis = -1; axis < 2; axis++)
                reduce_both(&reductions[r], &widths[w], &x, axis < 0 ? CT_ALL : axis);
            for (int layout = 0; layout < LAYOUT_COUNT; layout++) { /* the repeated one has ties */
                struct operand turned = laid_out(&x, (enum layout)layout, widths[w].tangents);
                for (int axis = -1; axis < 2; axis++)
                    reduce_both(&reductions[r], &widths[w], &turned, axis < 0 ? CT_ALL : axis);
                free_operand(&turned);
            }
            free_operand(&x);
        }
}
END_TEST

START_TEST(products_in_every_layout) {
    for (size_t w = 0; w < COUNT(widths); w++) {
        struct draw draw = {w + 11};
        struct operand a = draw_operand(&draw, &widths[w], 2, (int64_t[]){17, 17}, -1, 1);
        struct operand b = draw_operand(&draw, &widths[w], 2, (int64_t[]){17, 17}, -1, 1);
        for (int layout = 0; layout < LAYOUT_COUNT; layout++) {
            struct operand left = laid_out(&a, (enum layout)layout, widths[w].tangents);
            struct operand right =
                laid_out(&b, (enum layout)((layout + 1) % LAYOUT_COUNT), widths[w].tangents);
            ct_tensor *single[MOST] = {0}, *wide = ct_matmul(left.wide, right.wide);
            for (int t = 0; t < widths[w].tangents; t++)
                single[t] = ct_matmul(left.single[t], right.single[t]);
            compare("matmul", &widths[w], wide, single);
            ct_free(wide);
            for (int t = 0; t < widths[w].tangents; t++)
                ct_free(single[t]);
            free_operand(&left), free_operand(&right);
        }
        free_operand(&a), free_operand(&b);
    }
}
END_TEST

/* Values as those of the base type; d/dx_i = the product of the others, zeros or not. */
START_TEST(products_of_items_with_zeros) {
    static const double items[][4] = {{2, 3, 4, 5}, {2, 0, 4, 5}, {0, 3, 0, 5}, {0, 0, 0, 0}};
    for (size_t k = 0; k < COUNT(items); k++) {
        ct_tensor *value = tensor_of(1, (int64_t[]){4}, 4, items[k]), *unit[4];
        for (int i = 0; i < 4; i++)
            unit[i] = tensor_of(1, (int64_t[]){4}, 4, (double[]){i == 0, i == 1, i == 2, i == 3});
        ct_tensor *x = ct_dual_wide(value, 4, (const ct_tensor *const *)unit);
        ct_tensor *y = ct_prod(x, CT_ALL, false), *plain = ct_prod(value, CT_ALL, false);
        ct_tensor *product = ct_dual_value(y);
        ck_assert(same_bits(product, plain));
        for (int i = 0; i < 4; i++) {
            double others = 1;
            for (int j = 0; j < 4; j++)
                others *= j == i ? 1 : items[k][j];
            EXPECT("derivative of a product", ct_dual_tangent_at(y, i), 0, others);
            ct_free(unit[i]);
        }
        ct_free(value), ct_free(x), ct_free(y), ct_free(plain), ct_free(product);
    }
}
END_TEST

/* Second order: d2/dx_i dx_j = the product of the rest, at two zeros as well. */
START_TEST(second_derivatives_of_products_with_zeros) {
    ct_tensor *value = T1(0, 3, 0, 5), *inner = T1(1, 0, 0, 0), *outer = T1(0, 0, 1, 0);
    ct_tensor *base = ct_dual(value, inner), *direction = ct_dual(outer, NULL);
    ct_tensor *x = ct_dual(base, direction), *y = ct_prod(x, CT_ALL, false);
    ct_tensor *outer_part = ct_dual_tangent(y);
    EXPECT("d2/dx0 dx2", ct_dual_tangent(outer_part), 0, 15);
    EXPECT("d/dx2", ct_dual_value(outer_part), 0, 0);
    ct_free(value), ct_free(inner), ct_free(outer), ct_free(base), ct_free(direction);
    ct_free(x), ct_free(y), ct_free(outer_part);
}
END_TEST

/* --- the interface --- */

START_TEST(components_of_a_wide_dual) {
    ct_tensor *value = T2(2, 2, 1, 2, 3, 4), *first = T2(2, 2, 5, 6, 7, 8);
    ct_tensor *third = T2(2, 2, 9, 10, 11, 12);
    const ct_tensor *tangents[] = {first, NULL, third, NULL};
    ct_tensor *t = ct_dual_wide(value, 4, tangents), *turned = ct_transpose(t);
    ck_assert_ptr_eq(ct_dtype(t), CT_DUAL64X4);
    EXPECT("value", ct_dual_value(turned), 0, 1, 3, 2, 4);
    EXPECT("tangent", ct_dual_tangent(turned), 0, 5, 7, 6, 8);
    EXPECT("tangent 1", ct_dual_tangent_at(turned, 1), 0, 0, 0, 0, 0);
    EXPECT("tangent 2", ct_dual_tangent_at(turned, 2), 0, 9, 11, 10, 12);
    ct_tensor *part = ct_dual_tangent_at(t, 3);
    ck_assert(ct_shares_storage(part, t));
    ct_tensor *none = ct_dual_wide(value, 8, NULL), *single = ct_dual_wide(value, 1, &tangents[2]);
    ck_assert_ptr_eq(ct_dtype(none), CT_DUAL64X8);
    ck_assert_ptr_eq(ct_dtype(single), CT_DUAL64);
    EXPECT("no tangents", ct_dual_tangent_at(none, 7), 0, 0, 0, 0, 0);
    EXPECT("one tangent", ct_dual_tangent_at(single, 0), 0, 9, 10, 11, 12);
    ct_free(value), ct_free(first), ct_free(third), ct_free(t), ct_free(turned), ct_free(part);
    ct_free(none), ct_free(single);
}
END_TEST

START_TEST(types_by_their_number_of_tangents) {
    for (size_t w = 0; w < COUNT(widths); w++) {
        ck_assert_ptr_eq(ct_dual_wide_of(widths[w].base, widths[w].tangents), widths[w].wide);
        ck_assert_int_eq(ct_dual_tangents(widths[w].wide), widths[w].tangents);
        ck_assert_uint_eq(widths[w].wide->size,
                          (size_t)(1 + widths[w].tangents) * widths[w].base->size);
        ck_assert_int_eq(widths[w].wide->level, 1);
    }
    ck_assert_ptr_eq(ct_dual_wide_of(CT_F64, 1), CT_DUAL64);
    ck_assert_ptr_eq(ct_dual_of(CT_F32), CT_DUAL32);
    ck_assert_int_eq(ct_dual_tangents(&ct_scalar_dual64_2), 1);
    ck_assert_int_eq(ct_dual_tangents(CT_F64), 0);
    ck_assert_int_eq(ct_dual_tangents(NULL), 0);
}
END_TEST

START_TEST(misuse_of_wide_duals) {
    ct_tensor *x = T1(1, 2), *wrong = T1(1, 2, 3), *labels = ct_zeros(CT_I64, 1, (int64_t[]){2});
    const ct_tensor *tangents[] = {x, wrong, NULL, NULL};
    ck_assert_ptr_null(ct_dual_wide(x, 3, tangents));
    expect_error(CT_EDTYPE, "there is no dual type over f64 with 3 tangents: there are 1, 4 and 8");
    ck_assert_ptr_null(ct_dual_wide_of(CT_DUAL64, 4));
    expect_error(CT_EDTYPE, "over dual64 with 4 tangents: of a dual there is one with 1");
    ck_assert_ptr_null(ct_dual_of(CT_DUAL64X4));
    expect_error(CT_EDTYPE, "there is no dual type over dual64x4");
    ck_assert_ptr_null(ct_dual_wide(labels, 4, NULL));
    expect_error(CT_EDTYPE, "there is no dual type over i64");
    ck_assert_ptr_null(ct_dual_wide(x, 4, tangents));
    expect_error(CT_ESHAPE, "one shape: [2] and [3]");
    ct_tensor *t = ct_dual_wide(x, 4, NULL), *y = ct_dual(x, NULL);
    ck_assert_ptr_null(ct_dual_tangent_at(t, 4));
    expect_error(CT_EINDEX, "the tangent 4 is out of range: dual64x4 has 4");
    ck_assert_ptr_null(ct_dual_tangent_at(y, -1));
    expect_error(CT_EINDEX, "the tangent -1 is out of range: dual64 has 1");
    ck_assert_ptr_null(ct_dual_tangent_at(x, 0));
    expect_error(CT_EDTYPE, "f64 is not a dual type");
    ck_assert_ptr_null(ct_mul(t, y));
    expect_error(CT_EDTYPE, "dual64x4 and dual64");
    ck_assert_ptr_null(ct_logical_and(t, t));
    expect_error(CT_EDTYPE, "logical_and");
    ct_error_clear();
    ck_assert_ptr_null(ct_dual_wide(NULL, 4, NULL));
    expect_error(CT_EINVAL, "NULL");
    ck_assert_ptr_null(ct_dual_wide_of(NULL, 4));
    ck_assert_ptr_null(ct_dual_tangent_at(NULL, 0));
    ct_error_clear();
    ct_free(x), ct_free(wrong), ct_free(labels), ct_free(t), ct_free(y);
}
END_TEST

START_TEST(text_and_equality_of_wide_duals) {
    double item[5] = {1.5, 2, -3, 0, 4}, other[5] = {1.5, 2, -3, 0, 5};
    char text[64];
    int length = CT_DUAL64X4->format(CT_DUAL64X4, item, text, sizeof text);
    ck_assert_str_eq(text, "(1.5 + 2e1 + -3e2 + 0e3 + 4e4)");
    ck_assert_int_eq(length, (int)strlen(text));
    ck_assert_int_eq(CT_DUAL64X4->format(CT_DUAL64X4, item, text, 6), length);
    ck_assert_str_eq(text, "(1.5 ");
    ck_assert_int_eq(CT_DUAL64X4->format(CT_DUAL64X4, item, NULL, 0), length);
    CT_DUAL64->format(CT_DUAL64, item, text, sizeof text);
    ck_assert_str_eq(text, "(1.5 + 2e)");
    ck_assert(CT_DUAL64X4->equal(CT_DUAL64X4, item, item));
    ck_assert(!CT_DUAL64X4->equal(CT_DUAL64X4, item, other));
    ck_assert(CT_DUAL64->equal(CT_DUAL64, item, other));
    ck_assert(CT_DUAL64X4->from_double(CT_DUAL64X4, item, 7));
    ck_assert(memcmp(item, (const double[5]){7}, sizeof item) == 0);
    ck_assert(CT_DUAL64X4->to_double(CT_DUAL64X4, item) == 7);
}
END_TEST

Suite *suite_dual_wide(void) {
    Suite *suite = suite_create("dual_wide");
    TCase *tc = tcase_create("dual_wide");
    tcase_set_timeout(tc, 20);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, rows_in_every_layout, 0, CT_OP_COUNT);
    tcase_add_loop_test(tc, rows_at_their_ends, 0, CT_OP_COUNT);
    tcase_add_loop_test(tc, rows_in_place, 0, CT_OP_COUNT);
    tcase_add_test(tc, reductions_in_every_layout);
    tcase_add_test(tc, products_in_every_layout);
    tcase_add_test(tc, products_of_items_with_zeros);
    tcase_add_test(tc, second_derivatives_of_products_with_zeros);
    tcase_add_test(tc, components_of_a_wide_dual);
    tcase_add_test(tc, types_by_their_number_of_tangents);
    tcase_add_test(tc, misuse_of_wide_duals);
    tcase_add_test(tc, text_and_equality_of_wide_duals);
    suite_add_tcase(suite, tc);
    return suite;
}
