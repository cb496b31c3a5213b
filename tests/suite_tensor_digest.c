/* The numeric contract for the functions of the table in tests/tensor_functions.h, which are not in
   tests/golden/digests.txt: the structured ones for all scalar types, and elementwise ops for those
   that are neither f32 nor f64 nor a dual of one tangent over them. The same digests for every
   instruction set and number of threads, as in tests/golden/tensor_digests.txt. An error is a
   result, too: its code and text are hashed, with the place that it names. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "case_tools.h"
#include "digest_tools.h"
#include "dual/ct_dual.h"
#include "io/ct_digest.h"
#include "tensor_functions.h"

Suite *suite_tensor_digest(void);

static const char golden[] = "tests/golden/tensor_digests.txt";

enum { DIGITS = 16 }; /* of each digest */

/* All that a result is; false for CT_EDTYPE: the type has no such function. */
static bool hash_result(struct ct_sha256 *hash, const ct_tensor *t) {
    if (!t) {
        const struct ct_error_info *error = ct_error();
        ct_status code = error->code;
        ct_sha256_update(hash, ct_status_name(code), strlen(ct_status_name(code)));
        ct_sha256_update(hash, error->message, strlen(error->message));
        ct_error_clear();
        return code != CT_EDTYPE;
    }
    size_t size = ct_count(t) * ct_dtype(t)->size;
    char *bytes = calloc(size + 1, 1);
    ck_assert_ptr_nonnull(bytes);
    plain_bytes(t, bytes);
    ct_sha256_update(hash, ct_dtype(t)->name, strlen(ct_dtype(t)->name));
    ct_sha256_update(hash, ct_shape(t), (size_t)ct_rank(t) * sizeof *ct_shape(t));
    ct_sha256_update(hash, bytes, size);
    free(bytes);
    return true;
}

/* Drawing takes longer than most calls, and many rows have the same operands: the last ones are
   kept. */
static struct kept {
    struct operand operand;
    const ct_scalar *scalar;
    int extents, values, place;
    enum ct_op op;
    ct_tensor *t;
} kept[64];

static bool is_kept(const struct kept *k, const struct kept *wanted) {
    const struct operand *x = &k->operand, *y = &wanted->operand;
    return k->t && k->scalar == wanted->scalar && k->extents == wanted->extents &&
           k->values == wanted->values && k->place == wanted->place && k->op == wanted->op &&
           x->kind == y->kind && x->bound == y->bound && x->low == y->low && x->high == y->high &&
           strcmp(x->shape, y->shape) == 0;
}

/* A share, to be freed. */
static ct_tensor *operand_of(const struct tensor_function *f, int i, const ct_scalar *scalar,
                             enum extents extents, enum values values) {
    static size_t oldest;
    struct kept wanted = {f->operand[i], scalar, (int)extents, (int)values, i, f->op, NULL};
    for (size_t k = 0; k < COUNT(kept); k++)
        if (is_kept(&kept[k], &wanted))
            return ct_copy(kept[k].t);
    wanted.t = make_operand(f, i, scalar, extents, values);
    struct kept *room = &kept[oldest++ % COUNT(kept)];
    ct_free(room->t);
    *room = wanted;
    return ct_copy(room->t);
}

static bool hash_call(struct ct_sha256 *hash, const struct tensor_function *f,
                      const ct_scalar *scalar, enum extents extents, enum values values) {
    ct_tensor *in[FUNCTION_OPERANDS] = {NULL};
    for (int i = 0; i < f->operands; i++)
        in[i] = operand_of(f, i, scalar, extents, values);
    ct_tensor *t = f->call(f, (const ct_tensor *const *)in);
    bool has = hash_result(hash, t);
    ct_free(t);
    for (int i = 0; i < f->operands; i++)
        ct_free(in[i]);
    return has;
}

/* Elementwise rows that the other file has. */
static bool is_elsewhere(const struct tensor_function *f, const ct_scalar *scalar) {
    return f->op != CT_OP_COUNT &&
           (scalar == CT_F32 || scalar == CT_F64 || scalar == CT_DUAL32 || scalar == CT_DUAL64);
}

static void take_digest(struct ct_sha256 *hash, char digest[CT_SHA256_TEXT_BYTES]) {
    ct_sha256_final(hash, digest);
    digest[DIGITS] = '\0';
}

/* Items of 32 bytes and more take long to move about, and hardly differ from those of 16: many of
   them only where something is computed. */
static bool has_many(const struct tensor_function *f, const ct_scalar *scalar) {
    return scalar->size <= 16 || f->flags & COMPUTES;
}

/* A few items, special ones among them, then enough for full vectors. */
static bool small_digest(const struct tensor_function *f, const ct_scalar *scalar,
                         char digest[CT_SHA256_TEXT_BYTES]) {
    struct ct_sha256 hash;
    ct_sha256_init(&hash);
    bool has = hash_call(&hash, f, scalar, SMALL_EXTENTS, ORDINARY);
    if (has) {
        hash_call(&hash, f, scalar, SMALL_EXTENTS, SPECIAL);
        if (has_many(f, scalar))
            hash_call(&hash, f, scalar, MEDIUM_EXTENTS, ORDINARY);
    }
    take_digest(&hash, digest);
    return has;
}

static bool is_in_place(const struct tensor_function *f) {
    return strstr(f->id, "_in_place") != NULL;
}

static void add_large(struct lines *lines, const struct tensor_function *f,
                      const ct_scalar *scalar) {
    char digest[CT_SHA256_TEXT_BYTES];
    struct ct_sha256 hash;
    ct_sha256_init(&hash);
    hash_call(&hash, f, scalar, LARGE_EXTENTS, ORDINARY);
    take_digest(&hash, digest);
    add_digest(lines, digest, "%s %s large", f->id, scalar->name);
}

/* A write in place has the digest of the row before it, which writes to a share. */
static void add_rows(struct lines *lines, const ct_scalar *scalar) {
    size_t rows;
    const struct tensor_function *f = tensor_functions(&rows);
    char last[CT_SHA256_TEXT_BYTES] = "", digest[CT_SHA256_TEXT_BYTES];
    for (size_t i = 0; i < rows; i++) {
        if (is_elsewhere(&f[i], scalar) || !small_digest(&f[i], scalar, digest))
            continue;
        if (is_in_place(&f[i])) {
            ck_assert_msg(strcmp(digest, last) == 0, "%s of %s is %s, but %s where t is shared",
                          f[i].id, scalar->name, digest, last);
            continue;
        }
        add_digest(lines, digest, "%s %s", f[i].id, scalar->name);
        memcpy(last, digest, sizeof last);
        if (f[i].flags & LARGE && has_many(&f[i], scalar))
            add_large(lines, &f[i], scalar);
    }
}

static void compute(struct lines *lines) {
    for (int s = 0; s < FUNCTION_SCALARS; s++)
        add_rows(lines, function_scalars[s]);
}

START_TEST(bits_are_the_committed_ones) {
    static const char *const threads[] = {"1", "2", "3", "7"};
    check_digests("tensor_digest", golden, compute, digest_isas[_i / 4], threads[_i % 4]);
}
END_TEST

Suite *suite_tensor_digest(void) {
    Suite *suite = suite_create("tensor_digest");
    TCase *tc = tcase_create("contract");
    tcase_set_timeout(tc, 60);
    suite_add_tcase(suite, tc);
    tcase_add_loop_test(tc, bits_are_the_committed_ones, 0, 4 * DIGEST_ISAS);
    return suite;
}
