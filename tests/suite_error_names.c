/* Errors come in the name of the function that was called, whatever it calls itself; and where an
   item failed stands in the message, unless it is the only one. */

#include "index_tools.h"

#include "dual/ct_dual.h"
#include "tensor/ct_alloc.h"
#include "tensor/ct_convert.h"
#include "tensor/ct_index.h"
#include "tensor/ct_iterate.h"
#include "tensor/ct_ops.h"
#include "tensor/ct_random.h"
#include "tensor/ct_write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_error_names(void);

static ct_random generator;

static ct_tensor *uneven(const ct_tensor *t) {
    return ct_transpose(t); /* so that flattening it needs a copy */
}

/* Functions that are made of others: a name, and a call of t (doubles or duals) or `u`, which lies
   transposed. */
#define CALLS                                                                                      \
    CALL("ct_softmax", ct_softmax(t, 1))                                                           \
    CALL("ct_log_softmax", ct_log_softmax(t, 1))                                                   \
    CALL("ct_logsumexp", ct_logsumexp(t, 1, false))                                                \
    CALL("ct_logsumexp_axes", ct_logsumexp_axes(t, 2, (const int[]){0, 1}, false))                 \
    CALL("ct_logsumexp", ct_logsumexp(t, CT_ALL, false))                                           \
    CALL("ct_norm", ct_norm(t, 1, 0, false))                                                       \
    CALL("ct_norm", ct_norm(t, 1, INF, false))                                                     \
    CALL("ct_norm_axes", ct_norm_axes(t, 1, (const int[]){0}, -INF, true))                         \
    CALL("ct_roll", ct_roll(u, CT_ALL, 1))                                                         \
    CALL("ct_repeat", ct_repeat(u, CT_ALL, 2))                                                     \
    CALL("ct_cumsum", ct_cumsum(u, CT_ALL))                                                        \
    CALL("ct_cumprod", ct_cumprod(u, CT_ALL))                                                      \
    CALL("ct_normal", ct_normal(&generator, CT_F64, SHAPE(5), 0, 1))

static const char *const call_name[] = {
#define CALL(name, call) name,
    CALLS
#undef CALL
};

static ct_tensor *make(int which, const ct_tensor *t, const ct_tensor *u) {
    int k = 0;
#define CALL(name, call)                                                                           \
    if (which == k++)                                                                              \
        return call;
    CALLS
#undef CALL
    return NULL;
}

/* Each call with one allocation more, until there are enough. */
static void starve_call(int which, const ct_tensor *t) {
    ct_tensor *u = uneven(t);
    size_t before = ct_live_blocks();
    for (int needed = 0, done = 0; !done; needed++) {
        ck_assert_int_lt(needed, 200);
        allocations_left = needed;
        ct_error_clear();
        ct_tensor *y = make(which, t, u);
        allocations_left = 1000;
        done = y != NULL;
        if (!done) {
            ck_assert_int_eq(ct_error()->code, CT_ENOMEM);
            ck_assert_msg(strcmp(ct_error()->function, call_name[which]) == 0,
                          "%s says with %d allocations: %s: %s", call_name[which], needed,
                          ct_error()->function, ct_error()->message);
        } else {
            ck_assert_msg(ct_error()->code == CT_OK, "%s leaves an error: %s", call_name[which],
                          ct_error()->message);
        }
        ct_free(y);
        ck_assert_msg(ct_live_blocks() == before, "%s leaks after %d", call_name[which], needed);
    }
    ct_free(u);
}

START_TEST(without_memory) {
    setenv("CT_NUM_THREADS", "1", 1);
    if (!make_memory_scarce())
        return;
    generator = ct_random_of(1, 0);
    ct_tensor *t = counting(CT_F64, SHAPE(3, 4)), *dual = ct_dual(t, t);
    for (int which = 0; which < COUNT(call_name); which++) {
        starve_call(which, t);
        starve_call(which, dual);
    }
    ct_free(t);
    ct_free(dual);
}
END_TEST

START_TEST(of_items) {
    static const int32_t least = INT32_MIN;
    ct_tensor *t = ct_from_items(CT_I32, SHAPE(1), 1, &least);
    expect_failure(ct_norm(t, 0, INF, false), CT_EOVERFLOW, "ct_norm",
                   "abs of -2147483648 at index [0] does not fit i32");
    ct_free(t);
}
END_TEST

// --- " at index", which rank 0 does not have

static ct_status refuse(void *context, const void *in, void *out) {
    (void)in;
    (void)out;
    return *(ct_status *)context;
}

static ct_status refuse_step(void *context, void *accumulator, const void *item) {
    (void)accumulator;
    (void)item;
    return *(ct_status *)context;
}

START_TEST(places) {
    ct_status domain = CT_EDOMAIN, odd = (ct_status)77;
    double zero = 0;
    int32_t most = INT32_MAX;
    for (int rank = 0; rank < 3; rank++) {
        static const char *const at[] = {"", " at index [0]", " at index [0, 0]"};
        static const char *const comma[] = {"", ",", ","}, *const of[] = {"", " of the result",
                                                                          " of the result"};
        const int64_t shape[] = {1, 1};
        char text[200];
        ct_tensor *half = ct_full(CT_F64, rank, shape, 0.5);
        ct_tensor *t = ct_from_items(CT_I32, rank, shape, 1, &most);
#define EXPECT(call, code, function, ...)                                                          \
    do {                                                                                           \
        snprintf(text, sizeof text, __VA_ARGS__);                                                  \
        expect_failure(call, code, function, text);                                                \
    } while (0)
        EXPECT(ct_astype(half, CT_I32), CT_EDOMAIN, "ct_astype", "the value 0.5%s does not fit i32",
               at[rank]);
        EXPECT(ct_add(t, t), CT_EOVERFLOW, "ct_add",
               "add of 2147483647 and 2147483647%s does not fit i32", at[rank]);
        EXPECT(ct_map(half, refuse, &domain), CT_EDOMAIN, "ct_map",
               "the callback returned CT_EDOMAIN%s", at[rank]);
        EXPECT(ct_map(half, refuse, &odd), CT_EINVAL, "ct_map",
               "the callback returned 77, which is no status%s%s", comma[rank], at[rank]);
        EXPECT(ct_fold_axes(half, 0, NULL, CT_F64, &zero, refuse_step, &domain), CT_EDOMAIN,
               "ct_fold_axes", "the callback returned CT_EDOMAIN%s", at[rank]);
        EXPECT(ct_fold_axes(half, 0, NULL, CT_F64, &zero, refuse_step, &odd), CT_EINVAL,
               "ct_fold_axes", "the callback returned 77, which is no status%s%s", comma[rank],
               at[rank]);
        ct_tensor *index = ct_zeros(CT_I64, 0, NULL), *one = ct_ones(CT_I32, 0, NULL);
        EXPECT(ct_index_add(t, CT_ALL, index, one), CT_EOVERFLOW, "ct_index_add",
               "add of 2147483647 and 1%s%s does not fit i32", at[rank], of[rank]);
        ct_tensor *flat = ct_reshape(t, 1, shape),
                  *pair = ct_concat(2, (const ct_tensor *[]){flat, flat}, 0);
        ct_tensor *many =
            ct_broadcast_to(pair, 1 + rank, (int64_t[]){rank > 0 ? 1 : 2, rank > 1 ? 1 : 2, 2});
        EXPECT(ct_sum(many, -1, false), CT_EOVERFLOW, "ct_sum", "the sum%s does not fit i32",
               at[rank]);
        ct_tensor *all[] = {half, t, index, one, flat, pair, many};
        for (int i = 0; i < COUNT(all); i++)
            ct_free(all[i]);
    }
    ct_tensor *t = ct_from_items(CT_I32, SHAPE(1), 1, &most);
    expect_failure(ct_matmul(t, t), CT_EOVERFLOW, "ct_matmul",
                   "the item of the product does not fit i32");
    ct_free(t);
}
END_TEST

Suite *suite_error_names(void) {
    Suite *suite = suite_create("error_names");
    TCase *tc = tcase_create("error_names");
    tcase_add_test(tc, of_items);
    tcase_add_test(tc, places);
    suite_add_tcase(suite, tc);
    TCase *scarcity = tcase_create("memory");
    tcase_add_test(scarcity, without_memory);
    suite_add_tcase(suite, scarcity);
    return suite;
}
