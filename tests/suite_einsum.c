#include "numbers.h"

#include "dual/ct_dual.h"
#include "fixed/ct_fixed.h"
#include "tensor/ct_alloc.h"
#include "tensor/ct_linalg.h"
#include "tensor/ct_ops.h"
#include "tensor/ct_write.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_einsum(void);

static void no_leak(void) {
    ck_assert_uint_eq(ct_live_blocks(), 0);
}

// --- the naive sum: every index in a loop, axes of "..." are called 0 to 7 from the left

enum { MOST = 4, LABELS = 128 };

struct naive {
    int n, rank[MOST], result_rank;
    char label[MOST][8], result[16];
    int64_t extent[LABELS];
};

static int read_labels(const char *text, size_t length, int rank, char *labels) {
    int letters = 0, count = 0;
    for (size_t i = 0; i < length; i++)
        letters += isalpha((unsigned char)text[i]) != 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '.') {
            for (int k = 0; k < rank - letters; k++)
                labels[count++] = (char)('0' + 8 - (rank - letters) + k);
            i += 2;
        } else if (text[i] != ' ') {
            labels[count++] = text[i];
        }
    }
    return count;
}

static struct naive read_naive(const char *subscripts, int n, const ct_tensor *const in[]) {
    struct naive s = {.n = n};
    const char *at = subscripts, *arrow = strstr(subscripts, "->");
    int uses[LABELS] = {0}, dots = 0;
    for (int i = 0; i < n; i++) {
        size_t length = strcspn(at, ",-");
        s.rank[i] = read_labels(at, length, ct_rank(in[i]), s.label[i]);
        for (int k = 0; k < s.rank[i]; k++) {
            int64_t *extent = &s.extent[(int)s.label[i][k]], own = ct_shape(in[i])[k];
            *extent = uses[(int)s.label[i][k]]++ == 0 || *extent == 1 ? own : *extent;
        }
        at += length + 1;
    }
    while (dots < 8 && uses['0' + 7 - dots] > 0)
        dots++;
    if (arrow) {
        int letters = 0;
        for (const char *c = arrow + 2; *c; c++)
            letters += isalpha((unsigned char)*c) != 0;
        s.result_rank = read_labels(arrow + 2, strlen(arrow + 2), letters + dots, s.result);
        return s;
    }
    for (int i = 8 - dots; i < 8; i++)
        s.result[s.result_rank++] = (char)('0' + i);
    for (int c = 'A'; c <= 'z'; c++)
        if (uses[c] == 1)
            s.result[s.result_rank++] = (char)c;
    return s;
}

// One product of items, at the values of all labels.
static double naive_term(const struct naive *s, const ct_tensor *const in[], const int64_t *value) {
    double product = 1;
    for (int i = 0; i < s->n; i++) {
        int64_t index[8];
        double item;
        for (int k = 0; k < s->rank[i]; k++)
            index[k] = ct_shape(in[i])[k] == 1 ? 0 : value[(int)s->label[i][k]];
        if (ct_get(in[i], s->rank[i], index, &item))
            ck_abort_msg("%s", ct_error()->message);
        product *= item;
    }
    return product;
}

static double naive_sum(const struct naive *s, const ct_tensor *const in[], const int64_t *index) {
    int64_t value[LABELS] = {0}, inner[32] = {0}, extent[32];
    char summed[32];
    int n = 0;
    double sum = 0;
    for (int i = 0; i < s->result_rank; i++)
        value[(int)s->result[i]] = index[i];
    for (int c = 0; c < LABELS; c++) {
        bool used = false;
        for (int i = 0; i < s->n; i++)
            used |= memchr(s->label[i], c, (size_t)s->rank[i]) != NULL;
        if (c && used && !memchr(s->result, c, (size_t)s->result_rank)) {
            extent[n] = s->extent[c];
            if (extent[n] == 0)
                return 0;
            summed[n++] = (char)c;
        }
    }
    do {
        for (int i = 0; i < n; i++)
            value[(int)summed[i]] = inner[i];
        sum += naive_term(s, in, value);
    } while (next_index(n, extent, inner));
    return sum;
}

static void check_sum(const char *subscripts, int n, const ct_tensor *const in[]) {
    struct naive s = read_naive(subscripts, n, in);
    int64_t shape[8], index[8] = {0};
    bool empty = false;
    for (int i = 0; i < s.result_rank; i++) {
        shape[i] = s.extent[(int)s.result[i]];
        empty |= shape[i] == 0;
    }
    ck_assert_msg(ct_can_einsum(subscripts, n, in), "%s", subscripts);
    ct_tensor *found = ct_einsum(subscripts, n, in);
    ck_assert_msg(found != NULL, "%s: %s", subscripts, ct_error()->message);
    ck_assert_msg(ct_check_tensor(found) == CT_OK && ct_is_dense(found), "%s", subscripts);
    ck_assert_msg(ct_rank(found) == s.result_rank, "%s", subscripts);
    ck_assert(ct_dtype(found) == ct_dtype(in[0]));
    for (int i = 0; i < s.result_rank; i++)
        ck_assert_msg(ct_shape(found)[i] == shape[i], "%s: axis %d", subscripts, i);
    if (!empty)
        do {
            double given = 0, wanted = naive_sum(&s, in, index);
            ct_get(found, s.result_rank, index, &given);
            if (given != wanted)
                ck_abort_msg("%s of %s: %g is not %g", subscripts, ct_dtype(found)->name, given,
                             wanted);
        } while (next_index(s.result_rank, shape, index));
    ct_free(found);
}

// --- a table of subscripts

struct sum_case {
    const char *subscripts;
    int n;
    struct shape_case shape[MOST];
};

#define R(...)                                                                                     \
    {                                                                                              \
        (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), {                               \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define SCALAR                                                                                     \
    {                                                                                              \
        0, {                                                                                       \
            0                                                                                      \
        }                                                                                          \
    }

static const struct sum_case cases[] = {
    // ONNX's node tests
    {"...ii ->...i", 1, {R(3, 5, 5)}},
    {"bij, bjk -> bik", 2, {R(5, 2, 3), R(5, 3, 4)}},
    {"i,i", 2, {R(5), R(5)}},
    {"ij->i", 1, {R(3, 4)}},
    {"ij->ji", 1, {R(3, 4)}},
    // NumPy's examples
    {"ii", 1, {R(5, 5)}},
    {"ii->i", 1, {R(5, 5)}},
    {"ij,j->i", 2, {R(5, 5), R(5)}},
    {"ij,j", 2, {R(5, 5), R(5)}},
    {"...j,j", 2, {R(2, 5, 5), R(5)}},
    {"...j->...", 1, {R(2, 5, 4)}},
    {"ji", 1, {R(2, 3)}},
    {"..., ...", 2, {SCALAR, R(2, 3)}},
    {",ij", 2, {SCALAR, R(2, 3)}},
    {"i,j", 2, {R(2), R(5)}},
    {"ijk,jil->kl", 2, {R(3, 4, 5), R(4, 3, 2)}},
    {"ki,jk->ij", 2, {R(3, 2), R(4, 3)}},
    {"ki,...k->i...", 2, {R(3, 2), R(4, 3)}},
    {"k...,jk", 2, {R(3, 2), R(4, 3)}},
    {"ea,fb,abcd,gc", 4, {R(2, 3), R(2, 2), R(3, 2, 2, 3), R(3, 2)}},
    {"i->", 1, {R(7)}},
    {"ij->", 1, {R(3, 4)}},
    {"ij->j", 1, {R(3, 4)}},
    {"ijk->ki", 1, {R(2, 3, 4)}},
    {"iij->j", 1, {R(3, 3, 4)}},
    {"iii->i", 1, {R(4, 4, 4)}},
    {"iii", 1, {R(4, 4, 4)}},
    {"ijij->ij", 1, {R(2, 3, 2, 3)}},
    {"iji->j", 1, {R(3, 2, 3)}},
    {"", 1, {SCALAR}},
    {"->", 1, {SCALAR}},
    {",", 2, {SCALAR, SCALAR}},
    {",,->", 3, {SCALAR, SCALAR, SCALAR}},
    {"...", 1, {R(2, 3)}},
    {"...->...", 1, {R(2, 3, 4)}},
    {"...,...->...", 2, {R(2, 1, 4), R(3, 1)}},
    {"i...->...i", 1, {R(2, 3, 4)}},
    {"...i,...i->...", 2, {R(2, 3, 4), R(3, 4)}},
    {"...i,...i", 2, {R(2, 3, 4), R(1, 4)}},
    {"...ij,...jk->...ik", 2, {R(2, 1, 3, 4), R(5, 4, 2)}},
    {"...ij,jk->...ik", 2, {R(2, 2, 3, 4), R(4, 2)}},
    {"ij...,jk...->ik...", 2, {R(2, 3, 4), R(3, 2, 4)}},
    {"a...b,b...c->c...a", 2, {R(2, 3, 4), R(4, 3, 5)}},
    {"i,i->i", 2, {R(5), R(5)}},
    {"i,j->ij", 2, {R(2), R(3)}},
    {"i,j->ji", 2, {R(2), R(3)}},
    {"i,j->i", 2, {R(2), R(3)}},
    {"i,j->", 2, {R(2), R(3)}},
    {"ij,ij->ij", 2, {R(2, 3), R(2, 3)}},
    {"ij,ij->", 2, {R(2, 3), R(2, 3)}},
    {"ij,ji->", 2, {R(2, 3), R(3, 2)}},
    {"ij,ik->jk", 2, {R(4, 2), R(4, 3)}},
    {"ij,jk->ki", 2, {R(2, 3), R(3, 4)}},
    {"ij,kj->ik", 2, {R(2, 3), R(4, 3)}},
    {"ij,jk,kl->il", 3, {R(2, 3), R(3, 4), R(4, 2)}},
    {"ij,jk,kl,l->i", 4, {R(4, 3), R(3, 5), R(5, 2), R(2)}},
    {"i,ij,j->", 3, {R(3), R(3, 4), R(4)}},
    {"bi,ij,bj->b", 3, {R(2, 3), R(3, 4), R(2, 4)}},
    {"bhqd,bhkd->bhqk", 2, {R(2, 3, 4, 5), R(2, 3, 2, 5)}},
    {"bhqk,bhkd->bqhd", 2, {R(2, 3, 4, 5), R(2, 3, 5, 2)}},
    {"abcd,abcd->", 2, {R(2, 3, 2, 2), R(2, 3, 2, 2)}},
    {"abc,cd,def->abef", 3, {R(2, 2, 3), R(3, 4), R(4, 2, 3)}},
    {"ij,ij,ij->i", 3, {R(2, 3), R(2, 3), R(2, 3)}},
    {"ii,ij->j", 2, {R(3, 3), R(3, 2)}},
    {"ii,jj->ij", 2, {R(3, 3), R(2, 2)}},
    {"ii,jj->", 2, {R(3, 3), R(2, 2)}},
    {"iij,jk->k", 2, {R(3, 3, 2), R(2, 4)}},
    {"ij,j->ij", 2, {R(1, 3), R(3)}},
    {"ij,ij->ij", 2, {R(1, 3), R(2, 3)}}, // an extent of 1 is repeated
    {"ij,jk->ik", 2, {R(2, 1), R(3, 2)}},
    {"ij,jk->ik", 2, {R(2, 0), R(0, 3)}}, // nothing to add
    {"ij,jk->ik", 2, {R(0, 2), R(2, 3)}},
    {"ij->i", 1, {R(2, 0)}},
    {"i,i", 2, {R(0), R(0)}},
    {"aB,Bc->ac", 2, {R(2, 3), R(3, 2)}},
    {"bA", 1, {R(2, 3)}},
    {"Zz,z", 2, {R(2, 3), R(3)}},
    {" i j , j k -> i k ", 2, {R(2, 3), R(3, 2)}},
    {"abcdefgh->hgfedcba", 1, {R(2, 1, 2, 1, 2, 1, 2, 2)}},
    {"abcdefg,abcdefg->abcdefg", 2, {R(1, 2, 1, 2, 1, 2, 2), R(1, 2, 1, 2, 1, 2, 2)}},
    {"abcdefgh,abcdefgh->abcdefg", 2, {R(1, 2, 1, 2, 1, 2, 2, 3), R(1, 2, 1, 2, 1, 2, 2, 3)}},
    {"abcdefgh,h->abcdefg", 2, {R(1, 2, 1, 2, 1, 2, 2, 3), R(3)}},
    {"ab,cd,ef,gh->aceg", 4, {R(2, 2), R(2, 2), R(2, 2), R(2, 2)}},
};

START_TEST(table) {
    static const ct_scalar *const scalars[] = {CT_F64,   CT_F32,    CT_I32,     CT_I64,
                                               CT_FIXED, CT_DUAL64, CT_DUAL32X8};
    const ct_scalar *scalar = scalars[_i];
    uint64_t state = 1;
    for (int i = 0; i < COUNT(cases); i++)
        for (int how = DENSE; how < SPREADS; how++) {
            ct_tensor *own[MOST];
            const ct_tensor *in[MOST];
            for (int k = 0; k < cases[i].n; k++) {
                const struct shape_case *shape = &cases[i].shape[k];
                own[k] = small_numbers(&state, scalar, shape->rank, shape->shape);
                in[k] = own[k] = spread_out(own[k], (enum spread)((how + k) % SPREADS));
            }
            check_sum(cases[i].subscripts, cases[i].n, in);
            for (int k = 0; k < cases[i].n; k++)
                ct_free(own[k]);
        }
}
END_TEST

// --- the bits: what they are made of

START_TEST(made_of_named_parts) {
    uint64_t state = 2;
    ct_tensor *a = small_numbers(&state, CT_F32, SHAPE(3, 300)), *third = ct_scale(a, 1.0 / 3);
    ct_tensor *b = ct_transpose(third), *flipped = ct_flip(b, 0);
    const ct_tensor *in[] = {third, flipped};
    ct_tensor *wanted = ct_matmul(third, flipped), *found = ct_einsum("ij,jk->ik", 2, in);
    expect_same_bytes(found, wanted, "a contraction is a matmul");
    ct_free(wanted);
    ct_free(found);
    wanted = ct_sum(third, 1, false);
    found = ct_einsum("ij->i", 1, in);
    expect_same_bytes(found, wanted, "a sum of one operand is ct_sum");
    ct_free(wanted);
    ct_free(found);
    ct_tensor *minus = ct_full(CT_F32, SHAPE(2), -0.0), *one = ct_ones(CT_F32, SHAPE(2));
    const ct_tensor *pair[] = {minus, one};
    found = ct_einsum("i,i->i", 2, pair);
    expect_same_bytes(found, minus, "a product keeps the sign of a zero");
    ct_tensor *all[] = {a, third, b, flipped, found, minus, one};
    for (int i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
}
END_TEST

// The cheapest pair first: a chain that ends in a vector never makes a matrix.
START_TEST(long_chains) {
    ct_tensor *square = ct_ones(CT_I64, SHAPE(2, 2)), *pair = ct_ones(CT_I64, SHAPE(2));
    const ct_tensor *in[12];
    char text[64] = "";
    for (int i = 0; i < 11; i++) {
        in[i] = square;
        char term[4] = {(char)('a' + i), (char)('a' + i + 1), ',', '\0'};
        strcat(text, term);
    }
    in[11] = pair;
    strcat(text, "l->a");
    assert_and_free(ct_einsum(text, 12, in), SHAPE(2), ITEMS(2048, 2048));
    // In order the first five would make a product of ten axes.
    const ct_tensor *apart[] = {square, square, square, square, square, square};
    assert_and_free(ct_einsum("ab,cd,ef,gh,ij,ab->cegi", 6, apart), SHAPE(2, 2, 2, 2), (size_t)16,
                    (double[]){64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64});
    ct_free(square);
    ct_free(pair);
}
END_TEST

// --- every error text

static ct_tensor *matrix, *vector, *cube, *floats, *mask, *deep;

static void set_up(void) {
    matrix = counting(CT_F64, SHAPE(2, 3));
    vector = counting(CT_F64, SHAPE(2));
    cube = counting(CT_F64, SHAPE(2, 3, 4));
    floats = counting(CT_F32, SHAPE(2));
    mask = ct_ones(CT_BOOL, SHAPE(2));
    deep = ct_ones(CT_F64, SHAPE(1, 1, 1, 1, 1));
}

static void tear_down(void) {
    ct_tensor *all[] = {matrix, vector, cube, floats, mask, deep};
    for (int i = 0; i < COUNT(all); i++)
        ct_free(all[i]);
    no_leak();
}

struct error_case {
    const char *subscripts;
    int n;
    ct_tensor **in[3];
    ct_status code;
    const char *text;
};

static const struct error_case error_cases[] = {
    {"i1", 1, {&matrix}, CT_EINVAL, "\"i1\": '1' at character 2 is no letter, ',', '->' or '...'"},
    {"i\tj",
     1,
     {&matrix},
     CT_EINVAL,
     "\"i\tj\": 0x09 at character 2 is no letter, ',', '->' or '...'"},
    {"ij-",
     1,
     {&matrix},
     CT_EINVAL,
     "\"ij-\": '-' at character 3 is no letter, ',', '->' or '...'"},
    {"ij>",
     1,
     {&matrix},
     CT_EINVAL,
     "\"ij>\": '>' at character 3 is no letter, ',', '->' or '...'"},
    {"i..j", 1, {&matrix}, CT_EINVAL, "\"i..j\": the dots at character 2 are not '...'"},
    {"...i...",
     1,
     {&matrix},
     CT_EINVAL,
     "\"...i...\": the '...' at character 5 is the second of its term"},
    {"abcdefghi",
     1,
     {&matrix},
     CT_EINVAL,
     "\"abcdefghi\": the letter 'i' at character 9 is the ninth of its term"},
    {"ij", 2, {&matrix, &matrix}, CT_EINVAL, "\"ij\": 1 term and 2 operands were given"},
    {"ij,jk", 1, {&matrix}, CT_EINVAL, "\"ij,jk\": more than 1 term and 1 operand was given"},
    {"ij,", 1, {&matrix}, CT_EINVAL, "\"ij,\": more than 1 term and 1 operand was given"},
    {"ij->ik",
     1,
     {&matrix},
     CT_EINVAL,
     "\"ij->ik\": the letter 'k' at character 6 is in no operand"},
    {"ij->ii",
     1,
     {&matrix},
     CT_EINVAL,
     "\"ij->ii\": the letter 'i' at character 6 stands twice in the result"},
    {"ij->i->j",
     1,
     {&matrix},
     CT_EINVAL,
     "\"ij->i->j\": the result ends at character 6 and more follows"},
    {"ij->i,j",
     1,
     {&matrix},
     CT_EINVAL,
     "\"ij->i,j\": the result ends at character 6 and more follows"},
    {"...i->i",
     1,
     {&cube},
     CT_EINVAL,
     "\"...i->i\": the operands have 2 axes of '...' and the result has no '...'"},
    {"...i->i",
     1,
     {&matrix},
     CT_EINVAL,
     "\"...i->i\": the operands have 1 axis of '...' and the result has no '...'"},
    {"i", 1, {&matrix}, CT_ESHAPE, "\"i\": operand 0 has rank 2 and its term has 1 letter"},
    {"ij,j",
     2,
     {&matrix, &matrix},
     CT_ESHAPE,
     "\"ij,j\": operand 1 has rank 2 and its term has 1 letter"},
    {"...ijk",
     1,
     {&matrix},
     CT_ESHAPE,
     "\"...ijk\": operand 0 has rank 2 and its term has 3 letters beside '...'"},
    {"ij,jk",
     2,
     {&matrix, &matrix},
     CT_ESHAPE,
     "\"ij,jk\": the index 'j' has extent 2 in operand 1 and 3 before it"},
    {"ii", 1, {&matrix}, CT_ESHAPE, "\"ii\": the index 'i' has the extents 2 and 3 in operand 0"},
    {"...,...",
     2,
     {&matrix, &vector},
     CT_ESHAPE,
     "\"...,...\": the axis -1 of '...' has extent 2 in operand 1 and 3 before it"},
    {"abcde,fghij",
     2,
     {&deep, &deep},
     CT_ESHAPE,
     "\"abcde,fghij\": the result has 10 axes, more than 8"},
    {"abcde,fghij->abcd...fghij",
     2,
     {&deep, &deep},
     CT_EINVAL,
     "\"abcde,fghij->abcd...fghij\": the letter 'j' at character 25 is the ninth of its term"},
    {"abcde,fghij,abcde->", 3, {&deep, &deep, &deep}, CT_OK, NULL},
    {"i,i",
     2,
     {&vector, &floats},
     CT_EDTYPE,
     "einsum needs one scalar type: f64 and f32 were given"},
    {"i,i->i", 2, {&mask, &mask}, CT_EDTYPE, "bool has no mul"},
    {"i,i->", 2, {&mask, &mask}, CT_EDTYPE, "bool has no matmul"},
    {"i->", 1, {&mask}, CT_EDTYPE, "bool has no sum"},
    {"i", 0, {NULL}, CT_EINVAL, "einsum takes 1 to 64 operands and 0 were given"},
    {"i", 65, {NULL}, CT_EINVAL, "einsum takes 1 to 64 operands and 65 were given"},
    {NULL, 1, {&vector}, CT_EINVAL, "an operand is NULL"},
};

START_TEST(error_texts) {
    const struct error_case *c = &error_cases[_i];
    const ct_tensor *in[3] = {NULL};
    for (int k = 0; k < 3 && c->in[k]; k++)
        in[k] = *c->in[k];
    ct_error_clear();
    bool can = ct_can_einsum(c->subscripts, c->n, in);
    ck_assert_int_eq(ct_error()->code, CT_OK);
    ct_tensor *made = ct_einsum(c->subscripts, c->n, in);
    ck_assert_msg(can == (made != NULL), "%s", c->subscripts);
    if (c->code == CT_OK)
        ct_free(made);
    else
        expect_failure(made, c->code, "ct_einsum", c->text);
}
END_TEST

START_TEST(null_operands) {
    const ct_tensor *in[] = {vector, NULL};
    none(ct_einsum("i,i", 2, in));
    ck_assert_str_eq(ct_error()->message, "an operand is NULL");
    ct_error_clear();
    none(ct_einsum("i", 1, NULL));
    ck_assert_int_eq(ct_error()->code, CT_EINVAL);
    ct_error_clear();
    ck_assert(!ct_can_einsum("i", 1, NULL) && !ct_can_einsum("i,i", 2, in));
    ck_assert_int_eq(ct_error()->code, CT_OK);
}
END_TEST

START_TEST(overflow) {
    ct_tensor *big = ct_full(CT_I32, SHAPE(2, 2), 65536);
    const ct_tensor *in[] = {big, big};
    expect_failure(ct_einsum("ij,jk->ik", 2, in), CT_EOVERFLOW, "ct_einsum",
                   "the item at index [0, 0] of the product does not fit i32");
    expect_failure(ct_einsum("ij,ij->ij", 2, in), CT_EOVERFLOW, "ct_einsum",
                   "mul of 65536 and 65536 at index [0, 0] does not fit i32");
    ct_free(big);
}
END_TEST

// --- fuzz

// Random terms over few letters; extents follow the letters, some are 1.
static void valid_subscripts(uint64_t *state, char *text, int *n, struct shape_case shape[MOST]) {
    int64_t extent[8], dots[3];
    char used[16] = "";
    int width = 0;
    for (int i = 0; i < 8; i++)
        extent[i] = next_below(state, 8) ? 1 + next_below(state, 3) : 0;
    for (int i = 0; i < 3; i++)
        dots[i] = 1 + next_below(state, 2);
    *n = 1 + (int)next_below(state, MOST);
    *text = '\0';
    for (int i = 0; i < *n; i++) {
        int letters = (int)next_below(state, 4), rank = 0;
        bool has_dots = next_below(state, 4) == 0;
        int place = (int)next_below(state, letters + 1);
        for (int k = 0; k <= letters; k++) {
            if (has_dots && k == place) {
                int own = (int)next_below(state, 3);
                for (int d = 0; d < own; d++)
                    shape[i].shape[rank++] = next_below(state, 3) ? dots[2 - own + d + 1] : 1;
                width = own > width ? own : width;
                strcat(text, "...");
            }
            if (k == letters)
                break;
            int letter = (int)next_below(state, 6);
            char c[2] = {(char)("abcXYZ"[letter]), '\0'};
            bool twice = strchr(text + (strrchr(text, ',') ? strrchr(text, ',') - text : 0), c[0]);
            int64_t own = extent[letter];
            if (next_below(state, 8) == 0 && !twice && letters < 2)
                own = 1;
            shape[i].shape[rank++] = own;
            if (!strchr(used, c[0]))
                strcat(used, c);
            strcat(text, c);
        }
        shape[i].rank = rank;
        if (i + 1 < *n)
            strcat(text, next_below(state, 3) ? "," : " , ");
    }
    if (next_below(state, 3) == 0)
        return;
    strcat(text, "->");
    if (width > 0 || next_below(state, 2))
        strcat(text, "...");
    for (char *c = used; *c; c++)
        if (next_below(state, 2)) {
            char one[2] = {*c, '\0'};
            strcat(text, one);
        }
}

START_TEST(random_sums) {
    uint64_t state = 77;
    for (int i = 0; i < 3000; i++) {
        char text[64];
        struct shape_case shape[MOST];
        const ct_tensor *in[MOST];
        ct_tensor *own[MOST];
        int n;
        valid_subscripts(&state, text, &n, shape);
        const ct_scalar *scalar = i % 2 ? CT_I64 : CT_F64;
        for (int k = 0; k < n; k++) {
            own[k] = small_numbers(&state, scalar, shape[k].rank, shape[k].shape);
            in[k] = own[k] = spread_out(own[k], (enum spread)next_below(&state, SPREADS));
        }
        if (ct_can_einsum(text, n, in)) {
            check_sum(text, n, in);
        } else { // a letter twice in a term with extents 1 and more
            ct_error_clear();
            none(ct_einsum(text, n, in));
            ck_assert_msg(ct_error()->code == CT_ESHAPE, "%s: %s", text, ct_error()->message);
            ck_assert_msg(strstr(ct_error()->message, "has the extents"), "%s: %s", text,
                          ct_error()->message);
        }
        for (int k = 0; k < n; k++)
            ct_free(own[k]);
    }
}
END_TEST

// Any text fails with a message or gives a sound tensor, and the predicate tells which.
START_TEST(random_texts) {
    static const char alphabet[] = "ijkAZ,,.->... \x80\x01(1";
    uint64_t state = 5;
    ct_tensor *square = counting(CT_F64, SHAPE(2, 2)), *line = counting(CT_F64, SHAPE(2));
    int made = 0;
    for (int i = 0; i < 60000; i++) {
        char text[24];
        int length = (int)next_below(&state, 12), n = 1 + (int)next_below(&state, 2);
        for (int k = 0; k < length; k++)
            text[k] = alphabet[next_below(&state, (int64_t)sizeof alphabet - 1)];
        text[length] = '\0';
        const ct_tensor *in[] = {next_below(&state, 2) ? square : line, square};
        ct_error_clear();
        bool can = ct_can_einsum(text, n, in);
        ct_tensor *t = ct_einsum(text, n, in);
        if (can != (t != NULL) || (t && ct_check_tensor(t)) ||
            (!t && ct_error()->code != CT_EINVAL && ct_error()->code != CT_ESHAPE))
            ck_abort_msg("\"%s\": %s", text, ct_error()->message);
        made += t != NULL;
        ct_free(t);
    }
    ck_assert_int_gt(made, 500);
    ct_free(square);
    ct_free(line);
}
END_TEST

Suite *suite_einsum(void) {
    Suite *suite = suite_create("einsum");
    TCase *tc = tcase_create("values");
    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, NULL, no_leak);
    tcase_add_loop_test(tc, table, 0, 7);
    tcase_add_test(tc, made_of_named_parts);
    tcase_add_test(tc, long_chains);
    tcase_add_test(tc, overflow);
    tcase_add_test(tc, random_sums);
    tcase_add_test(tc, random_texts);
    suite_add_tcase(suite, tc);
    TCase *errors = tcase_create("errors");
    tcase_add_checked_fixture(errors, set_up, tear_down);
    tcase_add_loop_test(errors, error_texts, 0, COUNT(error_cases));
    tcase_add_test(errors, null_operands);
    suite_add_tcase(suite, errors);
    return suite;
}
