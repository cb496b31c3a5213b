/* Checked integers and truth values, slot by slot: every op against an oracle in 128 bits, faults at
   every place, every layout; conversions. */

#include "ct_test.h"
#include "integer_tools.h"
#include "tensor/ct_make.h"
#include "tensor/ct_ops.h"
#include "tensor/ct_reduce.h"
#include "tensor_tools.h"

#include <stdlib.h>
#include <string.h>

/* --- the oracle --- */

/* Python's integers: false where there is no result. */
static bool oracle(enum ct_op op, int64_t x, int64_t z, wide *y) {
    wide a = x, b = z;
    switch (op) {
    case CT_OP_neg:
        *y = -a;
        break;
    case CT_OP_abs:
        *y = a < 0 ? -a : a;
        break;
    case CT_OP_relu:
        *y = a < 0 ? 0 : a;
        break;
    case CT_OP_sign:
        *y = a < 0 ? -1 : a > 0;
        break;
    case CT_OP_add:
        *y = a + b;
        break;
    case CT_OP_sub:
        *y = a - b;
        break;
    case CT_OP_mul:
        *y = a * b;
        break;
    case CT_OP_maximum:
        *y = a > b ? a : b;
        break;
    case CT_OP_minimum:
        *y = a < b ? a : b;
        break;
    case CT_OP_floor_div:
    case CT_OP_mod: {
        if (b == 0)
            return false;
        wide q = a / b;
        while (q * b > a && b > 0) /* towards minus infinity */
            q--;
        while (q * b < a && b < 0)
            q--;
        *y = op == CT_OP_mod ? a - q * b : q;
        break;
    }
    case CT_OP_equal:
        *y = a == b;
        break;
    case CT_OP_not_equal:
        *y = a != b;
        break;
    case CT_OP_less:
        *y = a < b;
        break;
    case CT_OP_less_equal:
        *y = a <= b;
        break;
    case CT_OP_greater:
        *y = a > b;
        break;
    case CT_OP_greater_equal:
        *y = a >= b;
        break;
    default:
        ck_abort_msg("no oracle of %s", ct_op_name(op));
    }
    return true;
}

static const enum ct_op ops[] = {
    CT_OP_neg,       CT_OP_abs,     CT_OP_add,        CT_OP_sub,     CT_OP_mul,
    CT_OP_maximum,   CT_OP_minimum, CT_OP_floor_div,  CT_OP_mod,     CT_OP_equal,
    CT_OP_not_equal, CT_OP_less,    CT_OP_less_equal, CT_OP_greater, CT_OP_greater_equal,
    CT_OP_relu,      CT_OP_sign};

static size_t run(const ct_scalar *scalar, enum ct_op op, size_t n, char *const ptr[],
                  const ptrdiff_t step[]) {
    ct_loop_fn *loop = scalar->loop(scalar, op);
    require_msg(loop != NULL, "%s has no %s", scalar->name, ct_op_name(op));
    return loop(scalar, op, n, ptr, step);
}

static const ct_scalar *result_scalar(const ct_scalar *scalar, enum ct_op op) {
    return ct_op_gives_mask(op) ? CT_BOOL : scalar;
}

/* --- one item --- */

static void check_pair(const ct_scalar *scalar, enum ct_op op, int64_t x, int64_t z) {
    char a[8], b[8], y[8];
    memset(y, 0x5a, sizeof y);
    put(scalar, a, x), put(scalar, b, z);
    const ct_scalar *result = result_scalar(scalar, op);
    ptrdiff_t size = (ptrdiff_t)scalar->size;
    char *one[] = {a, y}, *two[] = {a, b, y};
    ptrdiff_t step[] = {size, size, size};
    size_t done = run(scalar, op, 1, ct_op_arity(op) == 1 ? one : two, step);
    wide expected;
    bool exists = oracle(op, x, z, &expected) && (result == CT_BOOL || fits(scalar, expected));
    require_msg(done == exists, "%s %s of %lld and %lld", scalar->name, ct_op_name(op),
                (long long)x, (long long)z);
    if (exists)
        require_msg(get(result, y) == expected, "%s %s of %lld and %lld is %lld", scalar->name,
                    ct_op_name(op), (long long)x, (long long)z, (long long)get(result, y));
    else
        require(y[0] == 0x5a);
}

START_TEST(every_pair_of_edges) {
    for (int s = 0; s < COUNT(integers); s++) {
        const ct_scalar *scalar = integers[s];
        int64_t low = lowest(scalar), high = highest(scalar);
        int64_t root = scalar == CT_I32 ? 46341 : 3037000500;
        const int64_t edges[] = {low, low + 1, low / 2,  -root, -root + 1, -7,       -2,  -1, 0, 1,
                                 2,   7,       root - 1, root,  high / 2,  high - 1, high};
        for (int k = 0; k < COUNT(ops); k++)
            for (int i = 0; i < COUNT(edges); i++)
                for (int j = 0; j < COUNT(edges); j++)
                    check_pair(scalar, ops[k], edges[i], edges[j]);
    }
}
END_TEST

START_TEST(random_pairs) {
    uint64_t state = 5;
    for (int s = 0; s < COUNT(integers); s++)
        for (int k = 0; k < COUNT(ops); k++)
            for (int i = 0; i < 5000; i++) {
                unsigned by = 64 - (unsigned)integers[s]->size * 8;
                int64_t x = (int64_t)random_bits(&state) >> (by + random_bits(&state) % 31);
                int64_t z = (int64_t)random_bits(&state) >> (by + random_bits(&state) % 31);
                check_pair(integers[s], ops[k], x, z);
            }
}
END_TEST

/* --- strided loops: n items, at most one of them without a result --- */

enum { MOST = 700, ROOM = 3 * MOST };

struct strided {
    _Alignas(64) char bytes[ROOM * 8];
    char *first;
    ptrdiff_t step;
};

/* Items at `step` items apart, of either sign, in the buffer's middle or from its end. */
static void place(struct strided *s, const ct_scalar *scalar, size_t n, int step) {
    memset(s->bytes, 0x5a, sizeof s->bytes);
    s->step = step * (ptrdiff_t)scalar->size;
    s->first = s->bytes + (step < 0 && n > 0 ? -(ptrdiff_t)(n - 1) * s->step : 0);
}

static char *at(const struct strided *s, size_t i) {
    return s->first + (ptrdiff_t)i * s->step;
}

/* Operands of an op whose result exists, then those whose does not. */
static void sound(const ct_scalar *scalar, enum ct_op op, uint64_t *state, int64_t *x, int64_t *z) {
    int64_t half = highest(scalar) / 2, small = scalar == CT_I32 ? 46340 : 3037000499;
    bool division = op == CT_OP_floor_div || op == CT_OP_mod;
    int64_t most = op == CT_OP_mul ? small : half;
    *x = (int64_t)(random_bits(state) % (uint64_t)most) - most / 2;
    *z = (int64_t)(random_bits(state) % (uint64_t)most) - most / 2;
    if (random_bits(state) % 4 == 0)
        *z = *x;
    if (division && (*z == 0 || *z == -1))
        *z = 3;
}

static bool unsound(const ct_scalar *scalar, enum ct_op op, uint64_t bit, int64_t *x, int64_t *z) {
    *x = lowest(scalar);
    *z = -1;
    switch (op) {
    case CT_OP_neg:
    case CT_OP_abs:
    case CT_OP_add:
    case CT_OP_mul:
        return true;
    case CT_OP_sub:
        *z = 1;
        return true;
    case CT_OP_floor_div:
        *z = bit & 1 ? 0 : -1;
        return true;
    case CT_OP_mod:
        *z = 0;
        return true;
    default:
        return false;
    }
}

struct layout {
    int x, z, y;
};
static const struct layout layouts[] = {{1, 1, 1},  {1, 0, 1},  {0, 1, 1},  {0, 0, 2}, {-1, 1, 1},
                                        {2, -2, 1}, {1, 1, -1}, {3, 1, -2}, {1, 2, 3}};

/* Runs the op with a fault at `bad` (n: none), and compares item by item. In place: y is x. */
static void check_strided(const ct_scalar *scalar, enum ct_op op, size_t n, size_t bad,
                          const struct layout *layout, bool in_place) {
    static struct strided x, z, y;
    uint64_t state = n * 1000 + bad;
    int64_t expected[MOST], before[MOST];
    const ct_scalar *result = result_scalar(scalar, op);
    place(&x, scalar, n, layout->x), place(&z, scalar, n, layout->z);
    place(&y, result, n, layout->y);
    for (size_t i = 0; i < n; i++) {
        int64_t a, b;
        if (i == bad)
            unsound(scalar, op, state, &a, &b);
        else
            sound(scalar, op, &state, &a, &b);
        put(scalar, at(&x, i), a), put(scalar, at(&z, i), b);
    }
    for (size_t i = 0; i < n; i++) { /* zero steps: one item for all, the last one written */
        wide v = 0;
        before[i] = get(scalar, at(&x, i));
        bool exists = oracle(op, before[i], get(scalar, at(&z, i)), &v);
        exists = exists && (result == CT_BOOL || fits(scalar, v));
        expected[i] = (int64_t)v;
        if (!exists && i < bad)
            bad = i;
    }
    size_t stop = n;
    for (size_t i = 0; i < n && stop == n; i++) {
        wide v;
        bool exists = oracle(op, before[i], get(scalar, at(&z, i)), &v);
        if (!exists || (result != CT_BOOL && !fits(scalar, v)))
            stop = i;
    }
    struct strided *out = in_place ? &x : &y;
    char *one[] = {x.first, out->first}, *two[] = {x.first, z.first, out->first};
    ptrdiff_t steps1[] = {x.step, out->step}, steps2[] = {x.step, z.step, out->step};
    bool unary = ct_op_arity(op) == 1;
    size_t done = run(scalar, op, n, unary ? one : two, unary ? steps1 : steps2);
    require_msg(done == stop, "%s %s of %zu: %zu done and not %zu", scalar->name, ct_op_name(op), n,
                done, stop);
    for (size_t i = 0; i < done; i++)
        require_msg(get(result, at(out, i)) == expected[i], "%s %s item %zu of %zu", scalar->name,
                    ct_op_name(op), i, n);
    for (size_t i = done; i < n; i++)
        if (in_place)
            require(get(scalar, at(out, i)) == before[i]);
        else
            require(*at(out, i) == 0x5a);
}

START_TEST(faults_at_every_place) {
    const ct_scalar *scalar = integers[_i % 2];
    enum ct_op op = ops[_i / 2];
    int64_t x, z;
    bool may_fail = unsound(scalar, op, 0, &x, &z);
    for (size_t n = 0; n <= 131; n++) {
        check_strided(scalar, op, n, n, &layouts[n % COUNT(layouts)], false);
        for (size_t bad = 0; bad < n && may_fail; bad++)
            check_strided(scalar, op, n, bad, &layouts[bad % COUNT(layouts)], false);
    }
    static const size_t long_ones[] = {255, 256, 257, 511, 512, 513, 600, MOST};
    for (int i = 0; i < COUNT(long_ones); i++)
        for (int k = 0; k < COUNT(layouts); k++) {
            size_t n = long_ones[i];
            check_strided(scalar, op, n, n, &layouts[k], false);
            for (size_t bad = 0; bad < n && may_fail; bad += 37)
                check_strided(scalar, op, n, bad, &layouts[k], false);
        }
}
END_TEST

START_TEST(results_onto_an_operand) {
    static const struct layout same[] = {{1, 1, 1}, {-2, 1, 1}, {3, 0, 1}};
    for (int s = 0; s < COUNT(integers); s++)
        for (int k = 0; k < COUNT(ops); k++)
            for (size_t n = 0; n < 600; n += 41)
                for (int l = 0; l < COUNT(same) && !ct_op_gives_mask(ops[k]); l++) {
                    int64_t x, z;
                    check_strided(integers[s], ops[k], n, n, &same[l], true);
                    if (unsound(integers[s], ops[k], 0, &x, &z) && n > 0)
                        check_strided(integers[s], ops[k], n, n * 2 / 3, &same[l], true);
                }
}
END_TEST

/* --- chains --- */

/* The partials in 128 bits; the place of the first that does not fit. */
static void check_chain(const ct_scalar *scalar, enum ct_op op, size_t n, size_t bad, int x_step,
                        int y_step) {
    static struct strided x, y;
    int64_t wanted[MOST];
    uint64_t state = n + bad;
    size_t stop = n;
    place(&x, scalar, n, x_step), place(&y, scalar, n, y_step);
    for (size_t i = 0; i < n; i++) {
        int64_t item =
            op == CT_OP_mul ? (i % 3 == 0 ? -1 : 1) : (int64_t)(random_bits(&state) % 99);
        put(scalar, at(&x, i), i == bad ? highest(scalar) : i == 0 ? 2 : item);
    }
    wide total = 0;
    for (size_t i = 0; i < n && stop == n; i++) {
        wide item = get(scalar, at(&x, i));
        total = i == 0 ? item : op == CT_OP_mul ? total * item : total + item;
        wanted[i] = (int64_t)total;
        if (!fits(scalar, total))
            stop = i;
    }
    size_t done = scalar->chain(scalar, op, n, x.first, x.step, y.first, y.step);
    require_msg(done == stop, "%s %s of %zu: %zu done and not %zu", scalar->name, ct_op_name(op), n,
                done, stop);
    for (size_t i = 0; i < done; i++)
        require(get(scalar, at(&y, i)) == wanted[y_step == 0 ? done - 1 : i]);
    for (size_t i = done; i < n && y_step != 0; i++)
        require(*at(&y, i) == 0x5a);
}

START_TEST(chains_end_at_the_first_partial_that_does_not_fit) {
    for (int s = 0; s < COUNT(integers); s++)
        for (size_t n = 1; n < 90; n++)
            for (size_t bad = 0; bad <= n; bad += n < 20 ? 1 : 7)
                for (int k = 0; k < COUNT(layouts); k++) {
                    check_chain(integers[s], CT_OP_add, n, bad, layouts[k].x, layouts[k].y);
                    check_chain(integers[s], CT_OP_mul, n, bad, layouts[k].x, layouts[k].y);
                    check_chain(integers[s], CT_OP_add, n, bad, layouts[k].x, 0);
                }
}
END_TEST

START_TEST(a_cumulative_sum_says_where_it_fails) {
    int32_t items[] = {INT32_MAX - 3, 1, 2, 1, -5};
    ct_tensor *t = ct_from_items(CT_I32, SHAPE(5), 5, items), *flipped = ct_flip(t, 0);
    ck_assert_ptr_null(ct_cumsum(t, 0));
    ck_assert_int_eq(ct_error()->code, CT_EOVERFLOW);
    ck_assert_str_eq(ct_error()->message, "the cumulative sum at index [3] does not fit i32");
    ct_error_clear();
    ct_tensor *y = ct_cumsum(flipped, 0); /* -5 comes first: all partials fit */
    ck_assert_ptr_nonnull(y);
    ck_assert(((const int32_t *)ct_data(y))[4] == INT32_MAX - 4);
    ct_free(t), ct_free(flipped), ct_free(y);
}
END_TEST

/* --- truth values --- */

static const unsigned char bytes[] = {0, 1, 2, 255, 0, 128, 1, 1, 0};

struct truth {
    enum ct_op op;
    unsigned table; /* bit 2 x + z */
};
static const struct truth truths[] = {
    {CT_OP_logical_and, 0x8},   {CT_OP_logical_or, 0xe}, {CT_OP_logical_xor, 0x6},
    {CT_OP_logical_not, 0x3},   {CT_OP_equal, 0x9},      {CT_OP_not_equal, 0x6},
    {CT_OP_less, 0x2},          {CT_OP_less_equal, 0xb}, {CT_OP_greater, 0x4},
    {CT_OP_greater_equal, 0xd},
};

START_TEST(ops_on_truth_values) {
    for (int k = 0; k < COUNT(truths); k++)
        for (size_t n = 0; n < 600; n += n < 140 ? 1 : 57)
            for (int l = 0; l < COUNT(layouts); l++) {
                static struct strided x, z, y;
                const struct layout *layout = &layouts[l];
                place(&x, CT_BOOL, n, layout->x), place(&z, CT_BOOL, n, layout->z);
                place(&y, CT_BOOL, n, layout->y);
                for (size_t i = 0; i < n; i++) {
                    *at(&x, i) = (char)bytes[i % COUNT(bytes)];
                    *at(&z, i) = (char)bytes[i / 2 % COUNT(bytes)];
                }
                bool unary = ct_op_arity(truths[k].op) == 1;
                char *one[] = {x.first, y.first}, *two[] = {x.first, z.first, y.first};
                ptrdiff_t steps1[] = {x.step, y.step}, steps2[] = {x.step, z.step, y.step};
                require(run(CT_BOOL, truths[k].op, n, unary ? one : two, unary ? steps1 : steps2) ==
                        n);
                for (size_t i = 0; i < n; i++) {
                    int a = *at(&x, i) != 0, b = unary ? 0 : *at(&z, i) != 0;
                    require_msg(*at(&y, i) == (int)(truths[k].table >> (2 * a + b) & 1), "%s %d %d",
                                ct_op_name(truths[k].op), a, b);
                }
            }
}
END_TEST

START_TEST(choices) {
    static const ct_scalar *const all[] = {CT_I32, CT_I64, CT_BOOL};
    for (int s = 0; s < COUNT(all); s++)
        for (size_t n = 0; n < 600; n += n < 20 ? 1 : 53)
            for (int l = 0; l < COUNT(layouts); l++) {
                static struct strided mask, x, z, y;
                place(&mask, CT_BOOL, n, layouts[l].y), place(&x, all[s], n, layouts[l].x);
                place(&z, all[s], n, layouts[l].z), place(&y, all[s], n, layouts[l].y);
                for (size_t i = 0; i < n; i++) {
                    *at(&mask, i) = (char)bytes[i % COUNT(bytes)];
                    put(all[s], at(&x, i), i % 3 == 0);
                    put(all[s], at(&z, i), all[s] == CT_BOOL ? i % 2 == 0 : -(int64_t)i);
                }
                char *ptr[] = {mask.first, x.first, z.first, y.first};
                ptrdiff_t step[] = {mask.step, x.step, z.step, y.step};
                require(run(all[s], CT_OP_where, n, ptr, step) == n);
                for (size_t i = 0; i < n; i++)
                    require(get(all[s], at(&y, i)) ==
                            get(all[s], *at(&mask, i) ? at(&x, i) : at(&z, i)));
            }
}
END_TEST

START_TEST(ops_that_are_missing) {
    static const enum ct_op none_of_bool[] = {CT_OP_add, CT_OP_mul, CT_OP_maximum,
                                              CT_OP_neg, CT_OP_exp, CT_OP_floor_div};
    static const enum ct_op none_of_integers[] = {CT_OP_div, CT_OP_exp, CT_OP_sqrt,
                                                  CT_OP_logical_and, CT_OP_isnan};
    for (int i = 0; i < COUNT(none_of_bool); i++)
        require(!CT_BOOL->loop(CT_BOOL, none_of_bool[i]));
    for (int i = 0; i < COUNT(none_of_integers); i++)
        for (int s = 0; s < COUNT(integers); s++)
            require(!integers[s]->loop(integers[s], none_of_integers[i]));
    require(!CT_I32->loop(CT_I32, CT_OP_COUNT));
    require(!CT_BOOL->loop(CT_BOOL, CT_OP_COUNT));
}
END_TEST

/* Comparisons, tests, logic and choice: nothing that counts. */
START_TEST(ops_of_truth_values_are_these_alone) {
    static const enum ct_op all[] = {CT_OP_equal,       CT_OP_not_equal,   CT_OP_less,
                                     CT_OP_less_equal,  CT_OP_greater,     CT_OP_greater_equal,
                                     CT_OP_isnan,       CT_OP_isinf,       CT_OP_isfinite,
                                     CT_OP_logical_not, CT_OP_logical_and, CT_OP_logical_or,
                                     CT_OP_logical_xor, CT_OP_where};
    for (int op = 0; op < CT_OP_COUNT; op++) {
        bool listed = false;
        for (int i = 0; i < COUNT(all); i++)
            listed |= all[i] == (enum ct_op)op;
        require_msg(ct_scalar_has(CT_BOOL, (enum ct_op)op) == listed, "bool: %s",
                    ct_op_name((enum ct_op)op));
    }
    for (int fold = 0; fold < CT_FOLD_COUNT; fold++)
        require(!ct_scalar_fold(CT_BOOL, (enum ct_fold)fold) ==
                (fold == CT_FOLD_SUM || fold == CT_FOLD_PROD));
    require(!ct_scalar_matmul(CT_BOOL));
}
END_TEST

static void check_places(size_t n, size_t count, ptrdiff_t x_step, ptrdiff_t x_next,
                         const unsigned char *x) {
    for (int max = 0; max < 2; max++) {
        int64_t found[MOST];
        struct ct_fold_job job = {n, count, (const char *)x, x_step, x_next, (char *)found, 8};
        enum ct_fold fold = max ? CT_FOLD_ARGMAX : CT_FOLD_ARGMIN;
        require(ct_scalar_fold(CT_BOOL, fold)(CT_BOOL, &job) == count);
        for (size_t j = 0; j < count; j++) {
            const unsigned char *row = x + (ptrdiff_t)j * x_next;
            size_t wanted = 0;
            while (wanted < n && (row[(ptrdiff_t)wanted * x_step] != 0) != max)
                wanted++;
            require_msg(found[j] == (int64_t)(wanted < n ? wanted : 0), "%zu items: place %lld", n,
                        (long long)found[j]);
        }
    }
}

START_TEST(places_of_truth_values) {
    enum { LONG = 1 << 18 };
    unsigned char *x = calloc(LONG, 1);
    require(x != NULL);
    check_places(7, 3, 0, 0, x);
    for (size_t i = 0; i < MOST; i++)
        x[i] = bytes[i * i % COUNT(bytes)];
    for (size_t n = 1; n < 70; n++) {
        check_places(n, 5, 1, 9, x + n), check_places(n, 5, 5, 1, x + n);
        check_places(n, 5, -5, -1, x + 5 * n + 5), check_places(n, 5, 0, 3, x + n);
    }
    for (size_t i = 0; i < LONG; i += 9973) { /* one that differs, in any of the parallel pieces */
        memset(x, 0, LONG);
        x[i] = 128;
        check_places(LONG, 1, 1, 0, x);
        check_places(LONG / 2, 2, 2, 1, x);
        memset(x, 2, LONG);
        x[i] = 0;
        check_places(LONG, 1, 1, 0, x);
        check_places(LONG, 1, -1, 0, x + LONG - 1);
    }
    free(x);
}
END_TEST

START_TEST(places_of_truth_values_of_tensors) {
    unsigned char items[] = {0, 0, 1, 1, 0, 1};
    ct_tensor *t = ct_from_items(CT_BOOL, SHAPE(2, 3), 6, items);
    ct_tensor *rows = ct_argmax(t, 1, false), *columns = ct_argmin(t, 0, true);
    int64_t first[] = {2, 0}, second[] = {0, 0, 0};
    ck_assert(ct_dtype(rows) == CT_I64 && memcmp(ct_data(rows), first, sizeof first) == 0);
    ck_assert(memcmp(ct_data(columns), second, sizeof second) == 0);
    ct_free(t), ct_free(rows), ct_free(columns);
}
END_TEST

/* --- conversion --- */

struct exact {
    const ct_scalar *scalar;
    int64_t value;
    bool fits;
};

START_TEST(whole_numbers_to_and_fro) {
    static const struct exact exacts[] = {
        {CT_I32, INT32_MAX, true},
        {CT_I32, (int64_t)INT32_MAX + 1, false},
        {CT_I32, INT32_MIN, true},
        {CT_I32, (int64_t)INT32_MIN - 1, false},
        {CT_I64, INT64_MAX, true},
        {CT_I64, INT64_MIN, true},
        {CT_BOOL, 0, true},
        {CT_BOOL, 1, true},
        {CT_BOOL, 2, false},
        {CT_BOOL, -1, false},
        {CT_F32, 1 << 24, true},
        {CT_F32, (1 << 24) + 1, false},
        {CT_F32, INT64_MIN, true},
        {CT_F32, INT64_MAX, false},
        {CT_F64, (int64_t)1 << 53, true},
        {CT_F64, ((int64_t)1 << 53) + 1, false},
        {CT_F64, ((int64_t)1 << 53) + 2, true},
        {CT_F64, INT64_MIN, true},
        {CT_F64, INT64_MAX, false},
        {CT_F64, INT64_MAX - 1023, true},
        {CT_F64, INT64_MAX - 511, false},
    };
    for (int i = 0; i < COUNT(exacts); i++) {
        unsigned char item[8] = {42, 42, 42, 42, 42, 42, 42, 42};
        const ct_scalar *scalar = exacts[i].scalar;
        require_msg(scalar->from_i64(scalar, item, exacts[i].value) == exacts[i].fits, "%d", i);
        require(exacts[i].fits || item[0] == 42);
        int64_t back = 42;
        require(!exacts[i].fits || scalar->to_i64(scalar, item, &back));
        require(!exacts[i].fits || back == exacts[i].value);
    }
    static const double refused[] = {0.5, -1e-300, 0x1p63, -0x1.0000000000001p63, INF, -INF, QNAN};
    for (int i = 0; i < COUNT(refused); i++) {
        int64_t value = 42;
        float narrow = (float)refused[i];
        require(!CT_F64->to_i64(CT_F64, &refused[i], &value));
        bool rounded = refused[i] == -1e-300 || refused[i] == -0x1.0000000000001p63;
        require(rounded || !CT_F32->to_i64(CT_F32, &narrow, &value));
        require(value == 42);
    }
    double minus_zero = -0.0;
    int64_t value = 42;
    require(CT_F64->to_i64(CT_F64, &minus_zero, &value) && value == 0);
    unsigned char byte = 200;
    require(CT_BOOL->to_i64(CT_BOOL, &byte, &value) && value == 1);
}
END_TEST

START_TEST(texts_and_doubles) {
    char text[32];
    int32_t x = INT32_MIN, y = 0;
    int64_t z = INT64_MIN;
    require(CT_I32->format(CT_I32, &x, text, sizeof text) == 11);
    ck_assert_str_eq(text, "-2147483648");
    CT_I64->format(CT_I64, &z, text, sizeof text);
    ck_assert_str_eq(text, "-9223372036854775808");
    require(CT_I64->format(CT_I64, &z, text, 3) == 20);
    ck_assert_str_eq(text, "-9");
    require(CT_I32->to_double(CT_I32, &x) == -0x1p31);
    require(CT_I32->from_double(CT_I32, &y, 0x1p31 - 1) && y == INT32_MAX);
    static const double refused[] = {0x1p31, -0x1p31 - 1, 0.5, INF, QNAN};
    for (int i = 0; i < COUNT(refused); i++)
        require(!CT_I32->from_double(CT_I32, &y, refused[i]) && y == INT32_MAX);
    require(!CT_I32->equal(CT_I32, &x, &y) && CT_I32->equal(CT_I32, &x, &x));
    require(CT_I32->traits == (CT_NUMERIC | CT_ORDERED | CT_PLAIN | CT_INTEGER | CT_CHECKED));
}
END_TEST

/* --- as tensors --- */

struct failing {
    ct_tensor *(*call)(const ct_tensor *a, const ct_tensor *b);
    const ct_scalar *scalar;
    int64_t a[3], b[3];
    ct_status code;
    const char *message;
};

START_TEST(ops_on_tensors) {
    static const struct failing failings[] = {
        {ct_add,
         CT_I32,
         {1, INT32_MAX, 3},
         {1, 1, 1},
         CT_EOVERFLOW,
         "add of 2147483647 and 1 at index [1] does not fit i32"},
        {ct_sub,
         CT_I64,
         {1, 2, INT64_MIN},
         {1, 1, 1},
         CT_EOVERFLOW,
         "sub of -9223372036854775808 and 1 at index [2] does not fit i64"},
        {ct_mul,
         CT_I64,
         {1, 2, (int64_t)1 << 32},
         {1, 1, (int64_t)1 << 31},
         CT_EOVERFLOW,
         "mul of 4294967296 and 2147483648 at index [2] does not fit i64"},
        {ct_floor_div,
         CT_I32,
         {5, INT32_MIN, 3},
         {-1, -1, 1},
         CT_EOVERFLOW,
         "floor_div of -2147483648 by -1 at index [1] does not fit i32"},
        {ct_floor_div,
         CT_I32,
         {5, 6, 7},
         {2, 0, 0},
         CT_EDOMAIN,
         "floor_div of 6 by 0 at index [1]: division by zero"},
        {ct_mod,
         CT_I64,
         {5, 6, 7},
         {2, 3, 0},
         CT_EDOMAIN,
         "mod of 7 by 0 at index [2]: division by zero"},
    };
    for (int i = 0; i < COUNT(failings); i++) {
        const struct failing *f = &failings[i];
        ct_tensor *a = ct_from_i64s(f->scalar, SHAPE(3), 3, f->a);
        ct_tensor *b = ct_from_i64s(f->scalar, SHAPE(3), 3, f->b);
        ck_assert_ptr_null(f->call(a, b));
        ck_assert_int_eq(ct_error()->code, f->code);
        ck_assert_str_eq(ct_error()->message, f->message);
        ct_error_clear();
        ct_free(a), ct_free(b);
    }
    ct_tensor *big = ct_from_i64s(CT_I64, SHAPE(1), 1, (int64_t[]){((int64_t)1 << 53) + 1});
    ct_tensor *y = ct_add(big, big);
    require(get(CT_I64, ct_data(y)) == ((int64_t)1 << 54) + 2); /* no double holds it */
    ck_assert_ptr_null(ct_div(big, big));
    ck_assert_int_eq(ct_error()->code, CT_EDTYPE);
    ck_assert_str_eq(ct_error()->message, "i64 has no div");
    ct_tensor *mask = ct_zeros(CT_BOOL, SHAPE(2));
    ck_assert_ptr_null(ct_add(mask, mask));
    ck_assert_str_eq(ct_error()->message, "bool has no add");
    ck_assert_ptr_null(ct_sum(mask, CT_ALL, false));
    ck_assert_str_eq(ct_error()->message, "bool has no sum");
    ct_error_clear();
    ct_free(big), ct_free(y), ct_free(mask);
}
END_TEST

Suite *suite_integers(void) {
    Suite *suite = suite_create("integers");
    TCase *tc = tcase_create("integers");
    tcase_set_timeout(tc, 30);
    tcase_add_test(tc, every_pair_of_edges);
    tcase_add_test(tc, random_pairs);
    tcase_add_loop_test(tc, faults_at_every_place, 0, 2 * COUNT(ops));
    tcase_add_test(tc, results_onto_an_operand);
    tcase_add_test(tc, ops_on_truth_values);
    tcase_add_test(tc, choices);
    tcase_add_test(tc, ops_that_are_missing);
    tcase_add_test(tc, chains_end_at_the_first_partial_that_does_not_fit);
    tcase_add_test(tc, a_cumulative_sum_says_where_it_fails);
    tcase_add_test(tc, ops_of_truth_values_are_these_alone);
    tcase_add_test(tc, places_of_truth_values);
    tcase_add_test(tc, places_of_truth_values_of_tensors);
    tcase_add_test(tc, whole_numbers_to_and_fro);
    tcase_add_test(tc, texts_and_doubles);
    tcase_add_test(tc, ops_on_tensors);
    suite_add_tcase(suite, tc);
    return suite;
}
