#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tensor/alloc.h"

#include "platform_tools.h"

Suite *suite_memory(void);

#define COUNT(array) (sizeof(array) / sizeof *(array))

// Written for Check's fork mode: each test is a process in which nothing is frozen yet.

// ---- memory

static const size_t block_sizes[] = {0,     1,     63,      64,      65,      255,
                                     256,   257,   320,     4096,    5000,    5121,
                                     65535, 65536, 1 << 20, 3 << 20, 5 << 20, 300 << 20};

START_TEST(blocks_are_aligned_and_whole) {
    size_t bytes = block_sizes[_i], live = ct_live_blocks();
    unsigned char *block = ct__alloc(bytes);
    ck_assert_ptr_nonnull(block);
    ck_assert_uint_eq((uintptr_t)block % CT__ALIGNMENT, 0);
    ck_assert_uint_eq(ct_live_blocks(), live + 1);
    if (bytes)
        block[0] = block[bytes - 1] = 1;
    ct__free(block);
    ck_assert_uint_eq(ct_live_blocks(), live);
}
END_TEST

START_TEST(freed_blocks_are_used_again) {
    size_t bytes = block_sizes[_i];
    void *block = ct__alloc(bytes);
    ct__free(block);
    size_t calls = ct_allocator_calls();
    void *again = ct__alloc(bytes);
    if (bytes <= (size_t)256 << 20) {
        ck_assert_ptr_eq(again, block);
        ck_assert_uint_eq(ct_allocator_calls(), calls);
    } else {
        ck_assert_uint_eq(ct_allocator_calls(), calls + 1);
    }
    ct__free(again);
}
END_TEST

START_TEST(zeroed_blocks_are_zero) {
    unsigned char *block = ct__alloc(1000);
    memset(block, 255, 1000);
    ct__free(block);
    block = ct__alloc_zero(1000);
    size_t set = 0;
    for (int i = 0; i < 1000; i++)
        set += block[i] != 0;
    ck_assert_uint_eq(set, 0);
    ct__free(block);
    ct__free(NULL);
}
END_TEST

START_TEST(sizes_that_overflow_are_refused) {
    static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 63, SIZE_MAX - 127, SIZE_MAX / 2};
#if SANITIZED
    if (sizes[_i] < SIZE_MAX - 63)
        return; // the sanitizer's own allocator would end the process
#endif
    void *block = ct__alloc(10);
    ck_assert_ptr_null(ct__alloc(sizes[_i]));
    ck_assert_ptr_null(ct__alloc_zero(sizes[_i]));
    ck_assert_ptr_null(ct__realloc(block, sizes[_i]));
    ck_assert_int_eq(ct_error()->code, CT_OK);
    ct__free(block);
    ck_assert_uint_eq(ct_live_blocks(), 0);
}
END_TEST

START_TEST(realloc_keeps_the_contents) {
    unsigned char *block = ct__realloc(NULL, 0);
    size_t size = 0, lost = 0;
    for (size_t step = 0; step < 400; step++) {
        size_t next = step < 200 ? step * 37 : (399 - step) * 11;
        block = ct__realloc(block, next);
        ck_assert_ptr_nonnull(block);
        for (size_t i = 0; i < (size < next ? size : next); i++)
            lost += block[i] != i % 251;
        for (size_t i = size; i < next; i++)
            block[i] = (unsigned char)(i % 251);
        size = next;
    }
    ck_assert_uint_eq(lost, 0);
    ck_assert_uint_eq(ct_live_blocks(), 1);
    ct__free(block);
}
END_TEST

START_TEST(cache_is_bounded) {
    void *blocks[8];
    ct_cache_limit(4096);
    for (size_t i = 0; i < COUNT(blocks); i++)
        blocks[i] = ct__alloc(1024);
    size_t calls = ct_allocator_calls();
    for (size_t i = 0; i < COUNT(blocks); i++)
        ct__free(blocks[i]);
    ck_assert_uint_eq(ct_allocator_calls(), calls + 4); // the four longest unused
    for (size_t i = 0; i < 4; i++)
        ck_assert_ptr_eq(ct__alloc(1024), blocks[7 - i]);
    ck_assert_uint_eq(ct_allocator_calls(), calls + 4);
    for (size_t i = 0; i < 4; i++)
        ct__free(blocks[7 - i]);
    ct__free(ct__alloc(1 << 20)); // over the bound by itself: disturbs nobody
    ck_assert_uint_eq(ct_allocator_calls(), calls + 6);
    ct_cache_limit(2048);
    ck_assert_uint_eq(ct_allocator_calls(), calls + 8);
    ct_cache_clear();
    ck_assert_uint_eq(ct_allocator_calls(), calls + 10);
    ct_cache_limit(0);
    ct__free(ct__alloc(64));
    ck_assert_uint_eq(ct_allocator_calls(), calls + 12);
    ck_assert_uint_eq(ct_live_blocks(), 0);
}
END_TEST

START_TEST(steady_loop_does_not_allocate) {
    size_t calls = 0;
    for (int step = 0; step < 100; step++) {
        void *blocks[COUNT(block_sizes) - 1];
        for (size_t i = 0; i < COUNT(blocks); i++)
            blocks[i] = ct__alloc(block_sizes[i]);
        for (size_t i = 0; i < COUNT(blocks); i++)
            ct__free(blocks[i]);
        if (step == 0)
            calls = ct_allocator_calls();
    }
    ck_assert_uint_eq(ct_allocator_calls(), calls);
}
END_TEST

struct churn {
    uint32_t seed;
    int steps;
    int torn; // blocks that did not hold what was written
};

static void *churn(void *argument) {
    struct churn *c = argument;
    uint32_t state = c->seed;
    unsigned char *blocks[16] = {NULL};
    size_t sizes[16] = {0};
    for (int i = 0; i < c->steps; i++) {
        state = state * 1664525u + 1013904223u;
        size_t slot = state >> 28, bytes = state >> 8 & 4095;
        if (sizes[slot] && blocks[slot][sizes[slot] - 1] != slot)
            c->torn++;
        ct__free(blocks[slot]);
        blocks[slot] = ct__alloc(bytes);
        sizes[slot] = bytes;
        if (bytes)
            blocks[slot][bytes - 1] = (unsigned char)slot;
    }
    for (int i = 0; i < 16; i++)
        ct__free(blocks[i]);
    return NULL;
}

START_TEST(threads_share_the_cache) {
    pthread_t threads[4];
    struct churn churns[4] = {{1, 20000, 0}, {2, 20000, 0}, {3, 20000, 0}, {4, 20000, 0}};
    ct_cache_limit(20000); // so that blocks come and go
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, churn, &churns[i]), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(churns[i].torn, 0);
    ck_assert_uint_eq(ct_live_blocks(), 0);
}
END_TEST

/// A size that churn() leaves alone, so that the cache has it: a sanitizer's own allocator does not survive a fork.
START_TEST(fork_while_another_thread_allocates) {
    pthread_t thread;
    struct churn c = {5, 400000, 0};
    allocate_once(NULL);
    ck_assert_int_eq(pthread_create(&thread, NULL, churn, &c), 0);
    for (int i = 0; i < 100; i++)
        ck_assert_int_eq(in_child(allocate_once, NULL), 0);
    pthread_join(thread, NULL);
    ck_assert_int_eq(c.torn, 0);
}
END_TEST

/// An allocator that counts, and fails or returns crooked pointers on demand.
START_TEST(allocator_is_replaced_before_first_use_only) {
    struct test_allocator state = {0};
    struct ct_allocator record = {test_allocate, test_release, &state};
    ck_assert_int_eq(ct_set_allocator(NULL), CT_EINVAL);
    ck_assert_int_eq(ct_set_allocator(&(struct ct_allocator){test_allocate, NULL, NULL}),
                     CT_EINVAL);
    ck_assert_int_eq(ct_set_allocator(&(struct ct_allocator){NULL, test_release, NULL}), CT_EINVAL);
    ct_error_clear();
    ct_cache_clear(); // is no first use
    ck_assert_int_eq(ct_set_allocator(&record), CT_OK);
    void *block = ct__alloc(1000);
    ck_assert_uint_eq(state.blocks, 1);
    ck_assert_uint_ge(state.bytes, 1064);
    ck_assert_int_eq(ct_set_allocator(&record), CT_EINVAL);
    ck_error_is(CT_EINVAL, "before the library first allocates");
    ct__free(block);
    ck_assert_uint_eq(state.blocks, 1);
    ct_cache_clear();
    ck_assert_uint_eq(state.blocks, 0);
    ck_assert_uint_eq(state.bytes, 0);
}
END_TEST

START_TEST(failing_allocator_loses_nothing) {
    struct test_allocator state = {0};
    ct_set_allocator(&(struct ct_allocator){test_allocate, test_release, &state});
    unsigned char *block = ct__alloc(100);
    block[99] = 7;
    ct__free(ct__alloc(5000)); // one block in the cache
    state.fails = true;
    ck_assert_ptr_null(ct__alloc(200));
    ck_assert_uint_eq(state.blocks, 1); // the cache was emptied before giving up
    ck_assert_ptr_null(ct__alloc_zero(200));
    ck_assert_ptr_null(ct__realloc(block, 100000));
    ck_assert_uint_eq(block[99], 7);
    ck_assert_uint_eq(ct_live_blocks(), 1);
    state.fails = false;
    block = ct__realloc(block, 100000);
    ck_assert_uint_eq(block[99], 7);
    ct__free(block);
    ct_cache_clear();
    ck_assert_uint_eq(state.blocks, 0);
}
END_TEST

START_TEST(crooked_pointers_count_as_no_memory) {
    struct test_allocator state = {.crooked = true};
    ct_set_allocator(&(struct ct_allocator){test_allocate, test_release, &state});
    ck_assert_ptr_null(ct__alloc(100));
    ck_assert_uint_eq(state.blocks, 0);
    ck_assert_uint_eq(ct_live_blocks(), 0);
}
END_TEST

// ---- the suite

static TCase *add_case(Suite *suite, const char *name) {
    TCase *tc = tcase_create(name);
    tcase_set_timeout(tc, 60);
    suite_add_tcase(suite, tc);
    return tc;
}

static void add_memory(Suite *suite) {
    TCase *tc = add_case(suite, "memory");
    tcase_add_loop_test(tc, blocks_are_aligned_and_whole, 0, COUNT(block_sizes));
    tcase_add_loop_test(tc, freed_blocks_are_used_again, 0, COUNT(block_sizes));
    tcase_add_test(tc, zeroed_blocks_are_zero);
    tcase_add_loop_test(tc, sizes_that_overflow_are_refused, 0, 4);
    tcase_add_test(tc, realloc_keeps_the_contents);
    tcase_add_test(tc, cache_is_bounded);
    tcase_add_test(tc, steady_loop_does_not_allocate);
    tcase_add_test(tc, threads_share_the_cache);
    tcase_add_test(tc, fork_while_another_thread_allocates);
    tcase_add_test(tc, allocator_is_replaced_before_first_use_only);
    tcase_add_test(tc, failing_allocator_loses_nothing);
    tcase_add_test(tc, crooked_pointers_count_as_no_memory);
}

Suite *suite_memory(void) {
    Suite *suite = suite_create("memory");
    add_memory(suite);
    return suite;
}
