/* What holds for every function that makes or writes tensors, from the table of tests/tensor_functions.h:
   results depend on the items alone and not on how operands lie in memory, no input changes, results
   are free to be written, nothing leaks, with memory or without. */
#include <ctype.h>
#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ct_test.h"
#include "index_tools.h"
#include "fixed/ct_fixed.h"
#include "tensor/ct_alloc.h"
#include "tensor/ct_index.h"
#include "tensor/ct_make.h"
#include "tensor_functions.h"

Suite *suite_layouts(void);

/* ---- faults: all are counted, the first are shown */

static int faults;
static size_t calls;

__attribute__((format(printf, 3, 4))) static void
fault(const struct tensor_function *f, const char *where, const char *format, ...) {
    if (faults++ >= 20)
        return;
    va_list arguments;
    printf("  %s: %s, %s: ", f->id, f->text, where);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
}

static void end_without_faults(void) {
    fflush(stdout);
    ck_assert_msg(faults == 0, "%d faults in %zu calls", faults, calls);
    ck_assert_uint_eq(ct_live_blocks(), 0);
}

/* ---- what a call gives: a tensor or an error */

struct outcome {
    ct_status code;
    char message[400];
    const ct_scalar *scalar;
    int rank;
    int64_t shape[CT_MAX_RANK];
    size_t size;
    char *bytes;
};

/* The caller's, to be freed. */
static char *bytes_of(const ct_tensor *t) {
    char *bytes = calloc(ct_count(t) + 1, ct_dtype(t)->size);
    ck_assert_ptr_nonnull(bytes);
    plain_bytes(t, bytes);
    return bytes;
}

static struct outcome outcome_of(const ct_tensor *t) {
    struct outcome out = {.code = CT_OK};
    if (!t) {
        out.code = ct_error()->code;
        snprintf(out.message, sizeof out.message, "%s: %s", ct_error()->function,
                 ct_error()->message);
        ct_error_clear();
        return out;
    }
    out.scalar = ct_dtype(t);
    out.rank = ct_rank(t);
    for (int i = 0; i < out.rank; i++)
        out.shape[i] = ct_shape(t)[i];
    out.size = ct_count(t) * ct_dtype(t)->size;
    out.bytes = bytes_of(t);
    return out;
}

/* Frees the tensor. */
static struct outcome outcome_and_free(ct_tensor *t) {
    struct outcome out = outcome_of(t);
    ct_free(t);
    return out;
}

/* Why two outcomes differ, or NULL. */
static const char *difference(const struct outcome *found, const struct outcome *expected) {
    static char text[900];
    if (found->code != expected->code || strcmp(found->message, expected->message) != 0) {
        snprintf(text, sizeof text, "'%s' instead of '%s'", found->message, expected->message);
        return text;
    }
    if (found->code != CT_OK)
        return NULL;
    if (found->scalar != expected->scalar)
        return "another scalar type";
    if (found->rank != expected->rank ||
        memcmp(found->shape, expected->shape, sizeof found->shape) != 0)
        return "another shape";
    for (size_t at = 0; at < found->size; at += found->scalar->size)
        if (memcmp(found->bytes + at, expected->bytes + at, found->scalar->size) != 0) {
            const ct_scalar *scalar = found->scalar;
            snprintf(text, sizeof text, "item %zu is %.17g instead of %.17g, or differs in a part",
                     at / scalar->size, scalar->to_double(scalar, found->bytes + at),
                     scalar->to_double(scalar, expected->bytes + at));
            return text;
        }
    return NULL;
}

/* ---- arrangements in memory */

enum arrangement {
    AS_IT_IS,
    IN_A_BUFFER,    /* dense, not at the start of foreign memory */
    SPREAD,         /* gaps on every axis, foreign */
    TURNED,         /* the first and the last axis swapped */
    REVERSED,       /* negative strides on all axes */
    EVERY_OTHER,    /* a share of a larger tensor */
    REPEATED_FIRST, /* a stride of 0 on the first axis, foreign */
    REPEATED_LAST,  /* a stride of 0 on the last */
    ARRANGEMENTS
};

static const char *const arrangement_names[] = {"dense",          "in a buffer",  "spread",
                                                "turned",         "reversed",     "every other",
                                                "repeated first", "repeated last"};

static ct_tensor *turned(const ct_tensor *t) {
    if (ct_rank(t) < 2)
        return ct_copy(t);
    ct_tensor *swapped = ct_swap_axes(t, 0, -1), *dense = ct_compact(swapped);
    ct_tensor *result = ct_swap_axes(dense, 0, -1);
    ct_free(swapped);
    ct_free(dense);
    return result;
}

static ct_tensor *reversed(const ct_tensor *t) {
    ct_tensor *flipped = ct_flip(t, CT_ALL), *dense = ct_compact(flipped);
    ct_tensor *result = ct_flip(dense, CT_ALL);
    ct_free(flipped);
    ct_free(dense);
    return result;
}

static ct_tensor *every_other(const ct_tensor *t) {
    const ct_tensor *pair[] = {t, t};
    ct_tensor *both = ct_stack(2, pair, -1), *result = ct_select(both, -1, 1);
    ct_free(both);
    return result;
}

static ct_tensor *repeated_last(const ct_tensor *t) {
    if (ct_rank(t) < 1)
        return ct_copy(t);
    ct_tensor *first = ct_slice(t, -1, 0, 1, 1), *dense = ct_compact(first);
    ct_tensor *result = ct_broadcast_to(dense, ct_rank(t), ct_shape(t));
    ct_free(first);
    ct_free(dense);
    return result;
}

static ct_tensor *arrange(const ct_tensor *t, enum arrangement how) {
    ct_tensor *result = how == AS_IT_IS         ? ct_copy(t)
                        : how == IN_A_BUFFER    ? spread_out(ct_copy(t), OFFSET)
                        : how == SPREAD         ? spread_out(ct_copy(t), GAPS)
                        : how == TURNED         ? turned(t)
                        : how == REVERSED       ? reversed(t)
                        : how == EVERY_OTHER    ? every_other(t)
                        : how == REPEATED_FIRST ? spread_out(ct_copy(t), REPEATED)
                                                : repeated_last(t);
    ck_assert_msg(result != NULL, "%s: %s", arrangement_names[how], ct_error()->message);
    return result;
}

/* ---- the operands of a row in every arrangement, and compact copies of them */

enum { SAME_ITEMS, FIRST_ITEMS, LAST_ITEMS, ITEM_SETS };

static int items_in(enum arrangement how) {
    return how == REPEATED_FIRST ? FIRST_ITEMS : how == REPEATED_LAST ? LAST_ITEMS : SAME_ITEMS;
}

struct inputs {
    ct_tensor *arranged[FUNCTION_OPERANDS][ARRANGEMENTS];
    char *bytes[FUNCTION_OPERANDS][ARRANGEMENTS];
    ct_tensor *compact[FUNCTION_OPERANDS][ITEM_SETS];
};

static ct_tensor *fresh(const ct_tensor *t) {
    char *bytes = calloc(ct_count(t) + 1, ct_dtype(t)->size);
    size_t size = ct_count(t) * ct_dtype(t)->size;
    ck_assert_int_eq(ct_to_items(t, size, bytes), CT_OK);
    ct_tensor *copy = ct_from_items(ct_dtype(t), ct_rank(t), ct_shape(t), ct_count(t), bytes);
    ck_assert_ptr_nonnull(copy);
    free(bytes);
    return copy;
}

static struct inputs make_inputs(const struct tensor_function *f, const ct_scalar *scalar,
                                 enum extents extents, enum values values) {
    struct inputs x = {0};
    for (int i = 0; i < f->operands; i++) {
        ct_tensor *t = make_operand(f, i, scalar, extents, values);
        for (int k = 0; k < ARRANGEMENTS; k++) {
            x.arranged[i][k] = arrange(t, (enum arrangement)k);
            x.bytes[i][k] = bytes_of(x.arranged[i][k]);
            ct_tensor **compact = &x.compact[i][items_in((enum arrangement)k)];
            if (!*compact)
                *compact = fresh(x.arranged[i][k]);
        }
        ct_free(t);
    }
    return x;
}

static void drop_inputs(struct inputs *x) {
    for (int i = 0; i < FUNCTION_OPERANDS; i++) {
        for (int k = 0; k < ARRANGEMENTS; k++) {
            ct_free(x->arranged[i][k]);
            free(x->bytes[i][k]);
        }
        for (int k = 0; k < ITEM_SETS; k++)
            ct_free(x->compact[i][k]);
    }
}

/* ---- one call */

static bool is_unchanged(const ct_tensor *t, const char *bytes) {
    char *now = bytes_of(t);
    bool same = memcmp(now, bytes, ct_count(t) * ct_dtype(t)->size) == 0;
    free(now);
    return same;
}

/* Which arrangement each operand has. */
struct choice {
    enum arrangement how[FUNCTION_OPERANDS];
    bool one_for_all; /* the first stands for all operands */
};

static void describe(char text[200], const struct tensor_function *f, const ct_scalar *scalar,
                     const struct choice *choice) {
    int length = snprintf(text, 200, "%s", scalar->name);
    for (int i = 0; i < f->operands; i++)
        length +=
            snprintf(text + length, 200 - (size_t)length, "%s%s", i ? ", " : ": ",
                     choice->one_for_all && i ? "the same" : arrangement_names[choice->how[i]]);
}

/* Whatever is written into a result stays there. */
static void scribble(ct_tensor *t) {
    void *items = ct_data_for_write(t);
    if (items)
        memset(items, 1, ct_count(t) * ct_dtype(t)->size);
}

static void examine(const struct tensor_function *f, const ct_scalar *scalar,
                    const struct inputs *x, const struct choice *choice,
                    const struct outcome *expected) {
    const ct_tensor *in[FUNCTION_OPERANDS] = {NULL};
    char where[200];
    describe(where, f, scalar, choice);
    for (int i = 0; i < f->operands; i++)
        in[i] = x->arranged[choice->one_for_all ? 0 : i][choice->how[i]];
    size_t live = ct_live_blocks();
    ct_tensor *t = f->call(f, in);
    calls++;
    if (t && ct_check_tensor(t) != CT_OK)
        fault(f, where, "an unsound tensor: %s", ct_error()->message);
    struct outcome found = outcome_of(t);
    const char *reason = difference(&found, expected);
    if (reason)
        fault(f, where, "%s", reason);
    if (t)
        scribble(t);
    ct_free(t);
    free(found.bytes);
    for (int i = 0; i < f->operands; i++)
        if (!is_unchanged(in[i], x->bytes[choice->one_for_all ? 0 : i][choice->how[i]]))
            fault(f, where, "operand %d has changed", i);
    if (ct_live_blocks() != live)
        fault(f, where, "%zu blocks became %zu", live, ct_live_blocks());
}

static struct outcome expected_of(const struct tensor_function *f, const struct inputs *x,
                                  const struct choice *choice) {
    const ct_tensor *in[FUNCTION_OPERANDS] = {NULL};
    for (int i = 0; i < f->operands; i++)
        in[i] = x->compact[choice->one_for_all ? 0 : i][items_in(choice->how[i])];
    return outcome_and_free(f->call(f, in));
}

static void try_choice(const struct tensor_function *f, const ct_scalar *scalar,
                       const struct inputs *x, const struct choice *choice,
                       const struct outcome *usual) {
    bool same = !choice->one_for_all;
    for (int i = 0; i < f->operands; i++)
        same = same && items_in(choice->how[i]) == SAME_ITEMS;
    struct outcome other = {.code = CT_OK};
    if (!same)
        other = expected_of(f, x, choice);
    examine(f, scalar, x, choice, same ? usual : &other);
    free(other.bytes);
}

static bool has_one_for_all(const struct tensor_function *f) {
    bool same = f->operands > 1;
    for (int i = 1; i < f->operands; i++)
        same = same && f->operand[i].kind == f->operand[0].kind &&
               strcmp(f->operand[i].shape, f->operand[0].shape) == 0;
    return same;
}

/* All operands alike, each in another way, all but one dense, one tensor for all. */
static void try_arrangements(const struct tensor_function *f, const ct_scalar *scalar,
                             enum extents extents, enum values values) {
    struct inputs x = make_inputs(f, scalar, extents, values);
    struct choice dense = {{AS_IT_IS}, false};
    struct outcome usual = expected_of(f, &x, &dense);
    for (int k = 0; k < ARRANGEMENTS && usual.code != CT_EDTYPE; k++) {
        struct choice choice = dense;
        for (int i = 0; i < f->operands; i++)
            choice.how[i] = (enum arrangement)k;
        try_choice(f, scalar, &x, &choice, &usual);
        choice.one_for_all = true;
        if (has_one_for_all(f))
            try_choice(f, scalar, &x, &choice, &usual);
        choice.one_for_all = false;
        for (int i = 0; i < f->operands; i++)
            choice.how[i] = (enum arrangement)((k + 3 * i) % ARRANGEMENTS);
        if (f->operands > 1)
            try_choice(f, scalar, &x, &choice, &usual);
        for (int i = 0; i < f->operands; i++)
            choice.how[i] = i == f->operands - 1 ? (enum arrangement)k : AS_IT_IS;
        if (f->operands > 1)
            try_choice(f, scalar, &x, &choice, &usual);
    }
    free(usual.bytes);
    drop_inputs(&x);
}

/* ---- tests */

START_TEST(small_operands_in_every_arrangement) {
    size_t rows;
    const struct tensor_function *f = tensor_functions(&rows);
    const ct_scalar *scalar = function_scalars[_i];
    for (size_t i = 0; i < rows; i++) {
        try_arrangements(&f[i], scalar, SMALL_EXTENTS, ORDINARY);
        try_arrangements(&f[i], scalar, SMALL_EXTENTS, SPECIAL);
        try_arrangements(&f[i], scalar, EMPTY_EXTENTS, ORDINARY);
        try_arrangements(&f[i], scalar, NO_ITEMS, ORDINARY);
        if (f[i].flags & ANY_RANK)
            try_arrangements(&f[i], scalar, NO_AXES, ORDINARY);
    }
    end_without_faults();
}
END_TEST

/* Enough items for vectors with remainders, and for blocks. */
START_TEST(medium_operands_in_every_arrangement) {
    size_t rows;
    const struct tensor_function *f = tensor_functions(&rows);
    const ct_scalar *scalar = function_scalars[_i];
    for (size_t i = 0; i < rows; i++) {
        bool computes = f[i].flags & COMPUTES; // else it moves items, whatever they are
        if (computes || scalar->size <= 4 || scalar == CT_FIXED)
            try_arrangements(&f[i], scalar, MEDIUM_EXTENTS, ORDINARY);
        if (computes && scalar->size <= 8)
            try_arrangements(&f[i], scalar, MEDIUM_EXTENTS, SPECIAL);
    }
    end_without_faults();
}
END_TEST

/* A row that no scalar type can run tests nothing. */
START_TEST(every_row_runs_and_succeeds) {
    size_t rows;
    const struct tensor_function *f = tensor_functions(&rows);
    for (size_t i = 0; i < rows; i++) {
        bool ran = false;
        for (int s = 0; s < FUNCTION_SCALARS && !ran; s++) {
            ct_tensor *in[FUNCTION_OPERANDS] = {NULL};
            for (int k = 0; k < f[i].operands; k++)
                in[k] = make_operand(&f[i], k, function_scalars[s], SMALL_EXTENTS, ORDINARY);
            ct_tensor *t = f[i].call(&f[i], (const ct_tensor *const *)in);
            ran = t != NULL;
            ct_free(t);
            for (int k = 0; k < f[i].operands; k++)
                ct_free(in[k]);
        }
        if (!ran)
            fault(&f[i], "all scalar types", "%s", ct_error()->message);
        ct_error_clear();
    }
    end_without_faults();
}
END_TEST

/* A NULL operand gives NULL, and keeps the error of what made it. */
static bool may_be_null(const struct tensor_function *f, int operand) {
    return (operand == 1 && f->flags & SECOND_MAY_BE_NULL) ||
           (operand == 2 && f->flags & THIRD_MAY_BE_NULL);
}

START_TEST(null_operands_are_passed_on) {
    size_t rows;
    const struct tensor_function *f = tensor_functions(&rows);
    for (size_t i = 0; i < rows; i++) {
        const ct_scalar *scalar = f[i].operand[0].kind == MASK ? CT_BOOL : CT_F64;
        for (int missing = 0; missing < f[i].operands; missing++) {
            if (may_be_null(&f[i], missing))
                continue;
            ct_tensor *in[FUNCTION_OPERANDS] = {NULL};
            for (int k = 0; k < f[i].operands; k++)
                if (k != missing)
                    in[k] = make_operand(&f[i], k, scalar, SMALL_EXTENTS, ORDINARY);
            ck_assert_ptr_null(ct_eye(CT_F64, -3, 1, 0));
            struct outcome first = outcome_of(NULL);
            ck_assert_ptr_null(ct_eye(CT_F64, -3, 1, 0));
            struct outcome found = outcome_and_free(f[i].call(&f[i], (const ct_tensor *const *)in));
            if (difference(&found, &first))
                fault(&f[i], "a NULL operand", "%s", difference(&found, &first));
            free(found.bytes);
            found = outcome_and_free(f[i].call(&f[i], (const ct_tensor *const *)in));
            if (found.code != CT_EINVAL)
                fault(&f[i], "a NULL operand", "'%s' instead of CT_EINVAL", found.message);
            free(found.bytes);
            for (int k = 0; k < f[i].operands; k++)
                ct_free(in[k]);
        }
    }
    end_without_faults();
}
END_TEST

/* A call again and again, with room for one more allocation each time, until it succeeds. */
static void starve_function(const struct tensor_function *f, const ct_scalar *scalar,
                            enum arrangement how) {
    allocations_left = 100000;
    struct inputs x = make_inputs(f, scalar, SMALL_EXTENTS, ORDINARY);
    struct choice choice = {{how, how, how}, false};
    struct outcome expected = expected_of(f, &x, &choice);
    const ct_tensor *in[FUNCTION_OPERANDS] = {x.arranged[0][how], x.arranged[1][how],
                                              x.arranged[2][how]};
    for (int room = 0; room < 200 && expected.code != CT_EDTYPE; room++) {
        size_t live = ct_live_blocks();
        allocations_left = room;
        ct_tensor *t = f->call(f, in);
        allocations_left = 100000;
        struct outcome found = outcome_of(t);
        ct_free(t);
        calls++;
        if (ct_live_blocks() != live)
            fault(f, scalar->name, "room for %d: %zu blocks became %zu", room, live,
                  ct_live_blocks());
        for (int i = 0; i < f->operands; i++)
            if (!is_unchanged(in[i], x.bytes[i][how]))
                fault(f, scalar->name, "room for %d: operand %d has changed", room, i);
        bool done = found.code != CT_ENOMEM;
        if (done && difference(&found, &expected))
            fault(f, scalar->name, "room for %d: %s", room, difference(&found, &expected));
        free(found.bytes);
        if (done)
            break;
    }
    free(expected.bytes);
    drop_inputs(&x);
}

START_TEST(nothing_leaks_without_memory) {
    size_t rows;
    const struct tensor_function *f = tensor_functions(&rows);
    const ct_scalar *const scalars[] = {CT_F64, CT_I64, CT_BOOL, function_scalars[6]};
    if (!make_memory_scarce()) {
        ct_test_skip("memory is in use already");
        return;
    }
    for (size_t i = 0; i < rows; i++) {
        starve_function(&f[i], scalars[_i], AS_IT_IS);
        starve_function(&f[i], scalars[_i], TURNED);
    }
    end_without_faults();
}
END_TEST

/* ---- whether the table is whole: the public headers name every function */

/* Not in the table, and why. */
static const struct {
    const char *name, *why;
} exempt[] = {
    {"ct_free", "frees"},
};

static bool is_in_table(const char *name) {
    size_t rows;
    const struct tensor_function *f = tensor_functions(&rows);
    char call[100];
    snprintf(call, sizeof call, "%s(", name);
    for (size_t i = 0; i < rows; i++)
        if (strstr(f[i].text, call) || strcmp(f[i].id, name + 3) == 0)
            return true;
    for (size_t i = 0; i < sizeof exempt / sizeof *exempt; i++)
        if (strcmp(exempt[i].name, name) == 0)
            return true;
    return false;
}

/* Whether a declaration makes a tensor from tensors, or writes one: it returns a tensor and takes
   one that is constant, or takes one that is not. */
static bool concerns(const char *declaration) {
    const char *arguments = strchr(declaration, '(');
    if (!arguments)
        return false;
    if (strncmp(declaration, "CT_API ct_tensor *", 18) == 0)
        return strstr(arguments, "const ct_tensor *") != NULL;
    for (const char *at = strstr(arguments, "ct_tensor *"); at; at = strstr(at + 1, "ct_tensor *"))
        if (at - declaration < 6 || strncmp(at - 6, "const ", 6) != 0)
            return strncmp(declaration, "CT_API ct_status", 16) == 0 ||
                   strncmp(declaration, "CT_API void *", 13) == 0;
    return false;
}

/* The name before the bracket. */
static void name_in(const char *declaration, char name[80]) {
    const char *end = strchr(declaration, '('), *start = end;
    while (start > declaration && (isalnum((unsigned char)start[-1]) || start[-1] == '_'))
        start--;
    snprintf(name, 80, "%.*s", (int)(end - start), start);
}

static int missing_in(const char *path, int *seen) {
    static char text[200000];
    FILE *file = fopen(path, "r");
    ck_assert_msg(file != NULL, "cannot read %s", path);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    int missing = 0;
    for (char *at = strstr(text, "CT_API "), *end = at; at; at = strstr(end + 1, "CT_API ")) {
        char name[80];
        end = at + strcspn(at, ";");
        bool last = *end == '\0';
        *end = '\0';
        if (concerns(at)) {
            name_in(at, name);
            (*seen)++;
            if (!is_in_table(name) && ++missing)
                printf("  %s of %s is not in tests/tensor_functions.def\n", name, path);
        }
        if (last)
            break;
    }
    return missing;
}

START_TEST(every_public_function_is_in_the_table) {
    DIR *folder = opendir("tensor");
    ck_assert_ptr_nonnull(folder);
    int missing = 0, seen = 0;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char path[300];
        size_t length = strlen(entry->d_name);
        if (strncmp(entry->d_name, "ct_", 3) != 0 || strcmp(entry->d_name + length - 2, ".h") != 0)
            continue;
        snprintf(path, sizeof path, "tensor/%s", entry->d_name);
        missing += missing_in(path, &seen);
    }
    closedir(folder);
    fflush(stdout);
    ck_assert_msg(missing == 0, "%d functions are not in the table", missing);
    ck_assert_int_gt(seen, 200);
}
END_TEST

Suite *suite_layouts(void) {
    Suite *suite = suite_create("layouts");
    TCase *table = tcase_create("table"), *all = tcase_create("all"), *bare = tcase_create("bare");
    tcase_add_test(table, every_public_function_is_in_the_table);
    tcase_add_test(table, every_row_runs_and_succeeds);
    tcase_add_test(table, null_operands_are_passed_on);
    tcase_add_loop_test(all, small_operands_in_every_arrangement, 0, FUNCTION_SCALARS);
    tcase_add_loop_test(all, medium_operands_in_every_arrangement, 0, FUNCTION_SCALARS);
    tcase_add_loop_test(bare, nothing_leaks_without_memory, 0, 4);
    TCase *cases[] = {table, all, bare};
    for (size_t i = 0; i < 3; i++) {
        tcase_set_timeout(cases[i], 120);
        suite_add_tcase(suite, cases[i]);
    }
    return suite;
}
