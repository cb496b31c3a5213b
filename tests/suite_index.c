#include "index_tools.h"

#include "dual/ct_dual.h"
#include "tensor/ct_index.h"
#include "tensor/ct_ops.h"
#include "tensor/ct_reduce.h"

#include <stdlib.h>
#include <string.h>

Suite *suite_index(void);

// Every function with every scalar type in every layout, shape and axis, against loops over indices.

static const ct_scalar *scalar_of(int i) {
    return every_scalar[i % SCALARS];
}

static enum spread spread_of(int i) {
    return (enum spread)(i / SCALARS);
}

enum { ALL_CASES = SCALARS * SPREADS };

static const struct shape_case index_shapes[] = {{0, {0}}, {1, {3}}, {1, {0}}, {2, {2, 3}}};

// --- whole rows

struct rows {
    struct items t, index;
    int axis; // -1: all items
};

// The place in t of an item of the chosen rows.
static char *item_of_rows(const struct rows *r, const int64_t *index) {
    int64_t at[CT_MAX_RANK];
    int axis = r->axis < 0 ? 0 : r->axis;
    int64_t place = number_at(&r->index, index + axis);
    if (r->axis < 0) {
        place += place < 0 ? (int64_t)r->t.count : 0;
        return r->t.bytes + (size_t)place * r->t.scalar->size;
    }
    for (int i = 0; i < axis; i++)
        at[i] = index[i];
    at[axis] = place < 0 ? place + r->t.shape[axis] : place;
    for (int i = axis + 1; i < r->t.rank; i++)
        at[i] = index[i - 1 + r->index.rank];
    return item_at(&r->t, at);
}

static void row_rule(const void *context, const int64_t *index, char *item) {
    const struct rows *r = context;
    memcpy(item, item_of_rows(r, index), r->t.scalar->size);
}

static int shape_of_rows(const struct rows *r, int64_t *shape) {
    int n = 0;
    for (int i = 0; i < r->axis; i++)
        shape[n++] = r->t.shape[i];
    for (int i = 0; i < r->index.rank; i++)
        shape[n++] = r->index.shape[i];
    for (int i = r->axis + 1; r->axis >= 0 && i < r->t.rank; i++)
        shape[n++] = r->t.shape[i];
    return n;
}

static void check_rows(uint64_t *state, ct_tensor *t, int axis, const struct shape_case *is,
                       const ct_scalar *index_type, enum spread how) {
    int64_t extent = axis < 0 ? (int64_t)ct_count(t) : ct_shape(t)[axis], shape[16];
    bool is_empty = is->rank == 1 && is->shape[0] == 0;
    if ((extent == 0 && !is_empty) || (axis >= 0 && ct_rank(t) - 1 + is->rank > CT_MAX_RANK))
        return;
    ct_tensor *index = spread_out(
        random_index(state, index_type, is->rank, is->shape, -extent, extent ? extent : 1), how);
    struct rows r = {items_of(t), items_of(index), axis};
    int rank = shape_of_rows(&r, shape), call_axis = axis < 0 ? CT_ALL : axis - ct_rank(t);
    expect_rule(ct_take(t, call_axis, index), ct_dtype(t), rank, shape, row_rule, &r);

    ct_tensor *source = spread_out(random_items(state, ct_dtype(t), rank, shape), how);
    struct items put = items_of(source);
    int64_t at[16] = {0};
    if (put.count > 0)
        do
            memcpy(item_of_rows(&r, at), item_at(&put, at), put.scalar->size);
        while (next_index(rank, shape, at));
    expect_same(ct_index_copy(t, call_axis, index, source), &r.t);
    drop_items(&r.t);
    drop_items(&r.index);
    drop_items(&put);
    ct_free(source);
    ct_free(index);
}

START_TEST(rows_by_index) {
    uint64_t state = (uint64_t)_i;
    for (int s = 0; s < SHAPES; s++)
        for (int axis = -1; axis < shape_cases[s].rank; axis++)
            for (int k = 0; k < COUNT(index_shapes); k++) {
                ct_tensor *t = spread_out(
                    random_items(&state, scalar_of(_i), shape_cases[s].rank, shape_cases[s].shape),
                    spread_of(_i));
                check_rows(&state, t, axis, &index_shapes[k], k % 2 ? CT_I64 : CT_I32,
                           (enum spread)(k % SPREADS));
                ct_free(t);
            }
}
END_TEST

// Large enough for threads, and for rows that are no single run.
START_TEST(many_rows) {
    uint64_t state = 5;
    for (int how = 0; how < SPREADS; how++) {
        ct_tensor *t =
            spread_out(random_items(&state, CT_F32, SHAPE(40, 20, 30)), (enum spread)how);
        for (int axis = -1; axis < 3; axis++)
            check_rows(&state, t, axis, &(struct shape_case){2, {15, 20}}, CT_I64, TRANSPOSED);
        ct_free(t);
    }
}
END_TEST

// --- single items

struct singles {
    struct items t, index;
    int axis;
};

static char *item_of_singles(const struct singles *g, const int64_t *index) {
    int64_t at[CT_MAX_RANK];
    memcpy(at, index, sizeof *at * (size_t)g->t.rank);
    int64_t place = number_at(&g->index, index);
    at[g->axis] = place < 0 ? place + g->t.shape[g->axis] : place;
    return item_at(&g->t, at);
}

static void single_rule(const void *context, const int64_t *index, char *item) {
    const struct singles *g = context;
    memcpy(item, item_of_singles(g, index), g->t.scalar->size);
}

// The extents of the index: along the axis any, along the others at most t's.
static void check_singles(uint64_t *state, ct_tensor *t, int axis, int64_t along, int64_t cut,
                          enum spread how) {
    int64_t extent = ct_shape(t)[axis], shape[CT_MAX_RANK];
    int rank = ct_rank(t);
    for (int i = 0; i < rank; i++)
        shape[i] = i == axis ? along : ct_shape(t)[i] > cut ? ct_shape(t)[i] - cut : 0;
    if (extent == 0)
        return;
    const ct_scalar *type = along % 2 ? CT_I32 : CT_I64;
    ct_tensor *index = spread_out(random_index(state, type, rank, shape, -extent, extent), how);
    ck_assert(ct_can_gather(t, axis, index));
    struct singles g = {items_of(t), items_of(index), axis};
    expect_rule(ct_gather(t, axis - rank, index), ct_dtype(t), rank, shape, single_rule, &g);

    ct_tensor *source = spread_out(random_items(state, ct_dtype(t), rank, shape), how);
    struct items put = items_of(source);
    int64_t at[CT_MAX_RANK] = {0};
    if (put.count > 0)
        do
            memcpy(item_of_singles(&g, at), item_at(&put, at), put.scalar->size);
        while (next_index(rank, shape, at));
    expect_same(ct_scatter(t, axis, index, source), &g.t);
    drop_items(&g.t);
    drop_items(&g.index);
    drop_items(&put);
    ct_free(source);
    ct_free(index);
}

START_TEST(single_items) {
    uint64_t state = (uint64_t)_i + 77;
    for (int s = 1; s < SHAPES; s++)
        for (int axis = 0; axis < shape_cases[s].rank; axis++)
            for (int k = 0; k < 6; k++) {
                ct_tensor *t = spread_out(
                    random_items(&state, scalar_of(_i), shape_cases[s].rank, shape_cases[s].shape),
                    spread_of(_i));
                check_singles(&state, t, axis, k % 3 * 2, k / 3, (enum spread)k);
                ct_free(t);
            }
}
END_TEST

// --- tuples

struct tuples {
    struct items t, index;
    int depth;
};

static char *item_of_tuples(const struct tuples *n, const int64_t *index) {
    int64_t at[CT_MAX_RANK], tuple[CT_MAX_RANK];
    int outer = n->index.rank - 1;
    memcpy(tuple, index, sizeof *tuple * (size_t)outer);
    for (int i = 0; i < n->depth; i++) {
        tuple[outer] = i;
        at[i] = number_at(&n->index, tuple);
        at[i] += at[i] < 0 ? n->t.shape[i] : 0;
    }
    for (int i = n->depth; i < n->t.rank; i++)
        at[i] = index[outer + i - n->depth];
    return item_at(&n->t, at);
}

static void tuple_rule(const void *context, const int64_t *index, char *item) {
    const struct tuples *n = context;
    memcpy(item, item_of_tuples(n, index), n->t.scalar->size);
}

static void check_tuples(uint64_t *state, ct_tensor *t, int depth, enum spread how) {
    int64_t least = 9, shape[16];
    for (int i = 0; i < depth; i++)
        least = ct_shape(t)[i] < least ? ct_shape(t)[i] : least;
    if (least == 0 || ct_rank(t) - depth + 2 > CT_MAX_RANK)
        return;
    ct_tensor *index =
        spread_out(random_index(state, CT_I64, SHAPE(2, 3, depth), -least, least), how);
    struct tuples n = {items_of(t), items_of(index), depth};
    int rank = 2 + n.t.rank - depth;
    shape[0] = 2, shape[1] = 3;
    for (int i = depth; i < n.t.rank; i++)
        shape[2 + i - depth] = n.t.shape[i];
    expect_rule(ct_gather_nd(t, index), ct_dtype(t), rank, shape, tuple_rule, &n);
    ct_tensor *source = spread_out(random_items(state, ct_dtype(t), rank, shape), how);
    struct items put = items_of(source);
    int64_t at[16] = {0};
    if (put.count > 0)
        do
            memcpy(item_of_tuples(&n, at), item_at(&put, at), put.scalar->size);
        while (next_index(rank, shape, at));
    expect_same(ct_scatter_nd(t, index, source), &n.t);
    drop_items(&n.t);
    drop_items(&n.index);
    drop_items(&put);
    ct_free(source);
    ct_free(index);
}

START_TEST(blocks_by_tuples) {
    uint64_t state = (uint64_t)_i + 990;
    for (int s = 0; s < SHAPES; s++)
        for (int depth = 0; depth <= shape_cases[s].rank; depth++) {
            ct_tensor *t = spread_out(
                random_items(&state, scalar_of(_i), shape_cases[s].rank, shape_cases[s].shape),
                spread_of(_i));
            check_tuples(&state, t, depth, (enum spread)(depth % SPREADS));
            ct_free(t);
        }
}
END_TEST

// --- accumulation: the same calls with small whole numbers, which every order of sums gets right,
// then with numbers that tell orders apart

static const enum ct_op reductions[] = {CT_OP_add, CT_OP_mul, CT_OP_maximum, CT_OP_minimum};

static void reduce_item(const ct_scalar *scalar, enum ct_op op, char *target, const char *source) {
    char *const ptr[] = {target, (char *)(uintptr_t)source, target};
    const ptrdiff_t step[] = {0, 0, 0};
    ck_assert_uint_eq(ct_scalar_loop(scalar, op)(scalar, op, 1, ptr, step), 1);
}

static ct_tensor *call_reduction(int way, const ct_tensor *t, int axis, const ct_tensor *index,
                                 const ct_tensor *source, enum ct_op op) {
    if (way == 0)
        return op == CT_OP_add ? ct_scatter_add(t, axis, index, source)
                               : ct_scatter_reduce(t, axis, index, source, op);
    return op == CT_OP_add ? ct_index_add(t, axis, index, source)
                           : ct_scatter_nd_reduce(t, index, source, op);
}

// t [4, 5] along axis 0: way 0 with an index for each item, way 1 with one for each row, which as a
// list of tuples has one number each.
static void check_reduction(uint64_t *state, const ct_scalar *scalar, enum spread how, int way,
                            enum ct_op op) {
    ct_tensor *t = spread_out(random_numbers(state, scalar, SHAPE(4, 5)), how);
    bool is_nd = way == 1 && op != CT_OP_add;
    ct_tensor *index = way == 0
                           ? random_index(state, CT_I64, SHAPE(7, 5), -4, 4)
                           : random_index(state, CT_I64, is_nd ? 2 : 1, (int64_t[]){7, 1}, -4, 4);
    ct_tensor *source = spread_out(random_numbers(state, scalar, SHAPE(7, 5)), how);
    struct items x = items_of(t), i = items_of(index), z = items_of(source);
    for (int64_t j = 0; j < 7; j++)
        for (int64_t k = 0; k < 5; k++) {
            int64_t place = number_at(&i, way == 0 ? (int64_t[]){j, k} : (int64_t[]){j, 0});
            reduce_item(scalar, op, item_at(&x, (int64_t[]){place < 0 ? place + 4 : place, k}),
                        item_at(&z, (int64_t[]){j, k}));
        }
    ct_tensor *found = call_reduction(way, t, 0, index, source, op);
    ct_tensor *expected = ct_from_items(scalar, 2, x.shape, x.count, x.bytes);
    ck_assert_msg(found && ct_tensor_equal(found, expected), "%s of %s in layout %d, way %d",
                  ct_op_name(op), scalar->name, (int)how, way);
    drop_items(&x);
    drop_items(&i);
    drop_items(&z);
    ct_free(t);
    ct_free(index);
    ct_free(source);
    ct_free(found);
    ct_free(expected);
}

START_TEST(reductions_by_index) {
    uint64_t state = (uint64_t)_i + 4711;
    for (int k = 0; k < COUNT(reductions); k++)
        for (int way = 0; way < 2; way++)
            if (ct_scalar_has(scalar_of(_i), reductions[k]))
                check_reduction(&state, scalar_of(_i), spread_of(_i), way, reductions[k]);
}
END_TEST

START_TEST(sums_in_index_order) {
    ct_tensor *zeros = ct_zeros(CT_F32, SHAPE(1)), *index = ct_zeros(CT_I64, SHAPE(4));
    ct_tensor *source = ct_from_doubles(CT_F32, SHAPE(4), 4, (double[]){1e8, 1, -1e8, 1});
    assert_and_free(ct_scatter_add(zeros, 0, index, source), SHAPE(1), ITEMS(1));
    assert_and_free(ct_index_add(zeros, 0, index, source), SHAPE(1), ITEMS(1));
    ct_free(source);
    source = ct_from_doubles(CT_F32, SHAPE(4), 4, (double[]){1, 1e8, 1, -1e8});
    assert_and_free(ct_scatter_add(zeros, 0, index, source), SHAPE(1), ITEMS(0));
    ct_free(zeros);
    ct_free(index);
    ct_free(source);
}
END_TEST

// bugs.md B120: the gradient of a repeated take is the sum, in index order.
START_TEST(repeated_indices_b120) {
    ct_tensor *zeros = ct_zeros(CT_F64, SHAPE(1)), *index = ct_zeros(CT_I64, SHAPE(2));
    ct_tensor *g = ct_from_doubles(CT_F64, SHAPE(2), 2, (double[]){.2, .3});
    assert_and_free(ct_index_add(zeros, 0, index, g), SHAPE(1), ITEMS(.2 + .3));
    assert_and_free(ct_scatter(zeros, 0, index, g), SHAPE(1), ITEMS(.3)); // the last wins
    assert_and_free(ct_index_copy(zeros, 0, index, g), SHAPE(1), ITEMS(.3));
    ct_free(zeros);
    ct_free(index);
    ct_free(g);
}
END_TEST

// --- transposes: <gather(x), u> = <x, scatter_add(0, u)>, exactly for small whole numbers

static ct_tensor *whole_numbers(uint64_t *state, int rank, const int64_t *shape) {
    ct_tensor *numbers = random_index(state, CT_I64, rank, shape, -9, 10);
    ct_tensor *t = ct_astype(numbers, CT_F64);
    ct_free(numbers);
    return t;
}

static double inner_product(const ct_tensor *a, const ct_tensor *b) {
    ct_tensor *product = ct_mul(a, b), *sum = ct_sum(product, CT_ALL, false);
    double value = ct_item(sum);
    ct_free(product);
    ct_free(sum);
    return value;
}

START_TEST(transposes) {
    uint64_t state = 100 + (uint64_t)_i;
    int axis = (int)next_below(&state, 3);
    ct_tensor *x = whole_numbers(&state, SHAPE(3, 4, 5)), *zeros = ct_zeros(CT_F64, SHAPE(3, 4, 5));
    int64_t extent = ct_shape(x)[axis], shape[3] = {2, 3, 4};
    shape[axis] = 7;
    ct_tensor *index = random_index(&state, CT_I64, 3, shape, -extent, extent);
    ct_tensor *y = ct_gather(x, axis, index), *u = whole_numbers(&state, 3, ct_shape(y));
    ct_tensor *back = ct_scatter_add(zeros, axis, index, u);
    ck_assert(inner_product(y, u) == inner_product(x, back));
    ct_tensor *rows = random_index(&state, CT_I64, SHAPE(2, 3), -extent, extent);
    ct_tensor *v = ct_take(x, axis, rows), *w = whole_numbers(&state, 4, ct_shape(v));
    ct_tensor *returned = ct_index_add(zeros, axis, rows, w);
    ck_assert(inner_product(v, w) == inner_product(x, returned));
    ct_tensor *all[] = {x, zeros, index, y, u, back, rows, v, w, returned};
    for (int i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
}
END_TEST

// --- masks

struct masked {
    struct items t, mask, value;
};

static bool is_true(const struct items *mask, const int64_t *index, int rank) {
    int64_t at[CT_MAX_RANK];
    for (int i = 0; i < mask->rank; i++)
        at[i] = mask->shape[i] == 1 ? 0 : index[i + rank - mask->rank];
    return *item_at(mask, at) != 0;
}

static void fill_rule(const void *context, const int64_t *index, char *item) {
    const struct masked *m = context;
    bool filled = is_true(&m->mask, index, m->t.rank);
    memcpy(item, filled ? m->value.bytes : item_at(&m->t, index), m->t.scalar->size);
}

// A mask of t's shape, without its first `cut` axes, its last extent 1 if `thin`.
static void check_mask(uint64_t *state, ct_tensor *t, int cut, bool thin, enum spread how) {
    int64_t shape[CT_MAX_RANK] = {0};
    int rank = ct_rank(t), own = cut > rank ? 0 : rank - cut;
    for (int i = 0; i < own; i++)
        shape[i] = ct_shape(t)[i + rank - own];
    if (thin && own > 0)
        shape[own - 1] = 1;
    ct_tensor *mask = spread_out(random_mask(state, own, shape), how);
    ct_tensor *one = ct_ones(ct_dtype(t), 0, NULL);
    struct masked m = {items_of(t), items_of(mask), items_of(one)};
    expect_rule(ct_masked_fill(t, mask, 1), ct_dtype(t), rank, ct_shape(t), fill_rule, &m);

    struct items selected = {.scalar = m.t.scalar, .rank = 1, .bytes = calloc(m.t.count + 1, 64)};
    int64_t at[CT_MAX_RANK] = {0};
    if (m.t.count > 0)
        do
            if (is_true(&m.mask, at, rank))
                memcpy(selected.bytes + selected.count++ * m.t.scalar->size, item_at(&m.t, at),
                       m.t.scalar->size);
        while (next_index(rank, m.t.shape, at));
    selected.shape[0] = (int64_t)selected.count;
    expect_same(ct_masked_select(t, mask), &selected);
    drop_items(&selected);
    drop_items(&m.t);
    drop_items(&m.mask);
    drop_items(&m.value);
    ct_free(one);
    ct_free(mask);
}

START_TEST(masks) {
    uint64_t state = (uint64_t)_i + 123;
    for (int s = 0; s < SHAPES; s++)
        for (int k = 0; k < 6; k++) {
            ct_tensor *t = spread_out(
                random_items(&state, scalar_of(_i), shape_cases[s].rank, shape_cases[s].shape),
                spread_of(_i));
            check_mask(&state, t, k / 2, k % 2, (enum spread)k);
            ct_free(t);
        }
}
END_TEST

START_TEST(compressing) {
    uint64_t state = (uint64_t)_i + 321;
    for (int s = 0; s < SHAPES; s++)
        for (int axis = -1; axis < shape_cases[s].rank; axis++) {
            ct_tensor *t = spread_out(
                random_items(&state, scalar_of(_i), shape_cases[s].rank, shape_cases[s].shape),
                spread_of(_i));
            int64_t extent = axis < 0 ? (int64_t)ct_count(t) : ct_shape(t)[axis], count = 0;
            int64_t length = extent - next_below(&state, extent + 1), places[64], shape[16];
            ct_tensor *mask = spread_out(random_mask(&state, 1, &length), GAPS);
            struct items m = items_of(mask);
            for (int64_t i = 0; i < length; i++)
                if (m.bytes[i])
                    places[count++] = i;
            ct_tensor *index = ct_from_items(CT_I64, 1, &count, (size_t)count, places);
            struct rows r = {items_of(t), items_of(index), axis};
            int rank = shape_of_rows(&r, shape);
            expect_rule(ct_compress(t, axis < 0 ? CT_ALL : axis, mask), ct_dtype(t), rank, shape,
                        row_rule, &r);
            drop_items(&m);
            drop_items(&r.t);
            drop_items(&r.index);
            ct_free(mask);
            ct_free(index);
            ct_free(t);
        }
}
END_TEST

static void check_nonzero(const ct_tensor *t) {
    struct items x = items_of(t), found = {.scalar = CT_I64, .rank = 2};
    found.bytes = calloc(x.count * (size_t)x.rank + 1, sizeof(int64_t));
    int64_t at[CT_MAX_RANK] = {0}, *to = (int64_t *)(void *)found.bytes, rows = 0;
    if (x.count > 0)
        do
            if (x.scalar->to_double(x.scalar, item_at(&x, at)) != 0) {
                for (int i = 0; i < x.rank; i++)
                    *to++ = at[i];
                rows++;
            }
        while (next_index(x.rank, x.shape, at));
    found.shape[0] = rows;
    found.shape[1] = x.rank;
    found.count = (size_t)rows * (size_t)x.rank;
    expect_same(ct_nonzero(t), &found);
    drop_items(&x);
    drop_items(&found);
}

START_TEST(nonzero_items) {
    uint64_t state = (uint64_t)_i + 55;
    for (int s = 0; s < SHAPES && _i % SCALARS < ORDERED_SCALARS; s++) {
        ct_tensor *t = spread_out(
            random_numbers(&state, scalar_of(_i), shape_cases[s].rank, shape_cases[s].shape),
            spread_of(_i));
        check_nonzero(t);
        ct_free(t);
    }
}
END_TEST

// Rows of several chunks, and enough items for threads.
START_TEST(long_masks) {
    uint64_t state = 2;
    for (int how = 0; how < SPREADS; how++) {
        ct_tensor *t = spread_out(random_items(&state, CT_BOOL, SHAPE(70, 700)), (enum spread)how);
        check_nonzero(t);
        check_mask(&state, t, 0, false, (enum spread)how);
        check_mask(&state, t, 1, false, GAPS);
        ct_free(t);
    }
}
END_TEST

// --- one hot, and the older pair

struct hot {
    struct items index, zero, one;
    int64_t extent;
};

static void hot_rule(const void *context, const int64_t *index, char *item) {
    const struct hot *h = context;
    int64_t place = number_at(&h->index, index);
    place += place < 0 ? h->extent : 0;
    bool is_one = index[h->index.rank] == place;
    memcpy(item, is_one ? h->one.bytes : h->zero.bytes, h->one.scalar->size);
}

START_TEST(one_hot) {
    uint64_t state = (uint64_t)_i;
    const ct_scalar *scalar = scalar_of(_i);
    ct_tensor *zero = ct_zeros(scalar, 0, NULL), *one = ct_ones(scalar, 0, NULL);
    for (int s = 0; s < SHAPES - 1; s++) {
        int64_t shape[CT_MAX_RANK];
        memcpy(shape, shape_cases[s].shape, sizeof shape);
        shape[shape_cases[s].rank] = 5;
        ct_tensor *index = spread_out(
            random_index(&state, s % 2 ? CT_I32 : CT_I64, shape_cases[s].rank, shape, -5, 5),
            spread_of(_i));
        struct hot h = {items_of(index), items_of(zero), items_of(one), 5};
        expect_rule(ct_one_hot(index, 5, scalar), scalar, shape_cases[s].rank + 1, shape, hot_rule,
                    &h);
        drop_items(&h.index);
        drop_items(&h.zero);
        drop_items(&h.one);
        ct_free(index);
    }
    ct_free(zero);
    ct_free(one);
}
END_TEST

START_TEST(picking) {
    ct_tensor *t = counting(CT_F64, SHAPE(3, 4)),
              *wide = ct_from_doubles(CT_I64, SHAPE(3), 3, (double[]){1, 3, 0});
    ct_tensor *narrow = ct_astype(wide, CT_I32), *picked = ct_pick(t, narrow);
    assert_items(picked, SHAPE(3), ITEMS(1, 7, 8));
    assert_and_free(ct_pick(t, wide), SHAPE(3), ITEMS(1, 7, 8));
    assert_and_free(ct_place(picked, narrow, 4), SHAPE(3, 4),
                    ITEMS(0, 1, 0, 0, 0, 0, 0, 7, 8, 0, 0, 0));
    ct_free(picked);
    ct_free(t);
    ct_free(wide);
    ct_free(narrow);
}
END_TEST

Suite *suite_index(void) {
    Suite *suite = suite_create("index");
    TCase *tc = tcase_create("index");
    tcase_add_loop_test(tc, rows_by_index, 0, ALL_CASES);
    tcase_add_test(tc, many_rows);
    tcase_add_loop_test(tc, single_items, 0, ALL_CASES);
    tcase_add_loop_test(tc, blocks_by_tuples, 0, ALL_CASES);
    tcase_add_loop_test(tc, reductions_by_index, 0, ALL_CASES);
    tcase_add_test(tc, sums_in_index_order);
    tcase_add_test(tc, repeated_indices_b120);
    tcase_add_loop_test(tc, transposes, 0, 30);
    tcase_add_loop_test(tc, masks, 0, ALL_CASES);
    tcase_add_loop_test(tc, compressing, 0, ALL_CASES);
    tcase_add_loop_test(tc, nonzero_items, 0, ALL_CASES);
    tcase_add_test(tc, long_masks);
    tcase_add_loop_test(tc, one_hot, 0, ALL_CASES);
    tcase_add_test(tc, picking);
    suite_add_tcase(suite, tc);
    return suite;
}
