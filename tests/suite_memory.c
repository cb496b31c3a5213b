#include <check.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
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
    atomic_bool stop;
};

static void *churn(void *argument) {
    struct churn *c = argument;
    uint32_t state = c->seed;
    unsigned char *blocks[16] = {NULL};
    size_t sizes[16] = {0};
    for (int i = 0; i < c->steps && !atomic_load(&c->stop); i++) {
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
    struct churn churns[4] = {{.seed = 1, .steps = 20000},
                              {.seed = 2, .steps = 20000},
                              {.seed = 3, .steps = 20000},
                              {.seed = 4, .steps = 20000}};
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

// ---- the caches of threads

/// A thread that keeps small blocks, tells so, and waits until it may go on.
struct keeper {
    pthread_barrier_t barrier;
    size_t blocks;
    void *reused; // what it gets of the size it freed last
};

static void *keep_and_wait(void *argument) {
    struct keeper *k = argument;
    void *blocks[64];
    for (size_t i = 0; i < k->blocks; i++)
        blocks[i] = ct__alloc(1000);
    for (size_t i = 0; i < k->blocks; i++)
        ct__free(blocks[i]);
    pthread_barrier_wait(&k->barrier); // the blocks are kept
    pthread_barrier_wait(&k->barrier);
    k->reused = ct__alloc(1000);
    ct__free(k->reused);
    return NULL;
}

static void start_keeper(struct keeper *k, pthread_t *thread, size_t blocks) {
    k->blocks = blocks;
    pthread_barrier_init(&k->barrier, NULL, 2);
    ck_assert_int_eq(pthread_create(thread, NULL, keep_and_wait, k), 0);
    pthread_barrier_wait(&k->barrier);
}

static void end_keeper(struct keeper *k, pthread_t thread) {
    pthread_barrier_wait(&k->barrier);
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&k->barrier);
}

START_TEST(clearing_empties_the_caches_of_all_threads) {
    struct test_allocator state = {0};
    struct keeper keepers[3];
    pthread_t threads[3];
    ct_set_allocator(&(struct ct_allocator){test_allocate, test_release, &state});
    void *mine = ct__alloc(1000);
    for (size_t i = 0; i < COUNT(keepers); i++)
        start_keeper(&keepers[i], &threads[i], 10 + i); // one after the other: the counts are plain
    ck_assert_uint_eq(state.blocks, 1 + 10 + 11 + 12);
    ck_assert_uint_eq(ct_live_blocks(), 1);
    ct_cache_clear();
    ck_assert_uint_eq(state.blocks, 1);
    for (size_t i = 0; i < COUNT(keepers); i++)
        end_keeper(&keepers[i], threads[i]);
    ct__free(mine);
    ck_assert_uint_eq(ct_live_blocks(), 0);
    ct_cache_clear();
    ck_assert_uint_eq(state.blocks, 0);
}
END_TEST

START_TEST(a_thread_that_ends_gives_its_blocks_to_all) {
    struct keeper k;
    pthread_t thread;
    void *blocks[20];
    start_keeper(&k, &thread, COUNT(blocks));
    end_keeper(&k, thread);
    size_t calls = ct_allocator_calls();
    for (size_t i = 0; i < COUNT(blocks); i++)
        blocks[i] = ct__alloc(1000);
    ck_assert_uint_eq(ct_allocator_calls(), calls);
    ck_assert_uint_eq(ct_live_blocks(), COUNT(blocks));
    for (size_t i = 0; i < COUNT(blocks); i++)
        ct__free(blocks[i]);
}
END_TEST

static void *free_all(void *blocks) {
    for (void **b = blocks; *b; b++)
        ct__free(*b);
    return NULL;
}

START_TEST(blocks_may_be_freed_by_another_thread) {
    void *blocks[1001];
    pthread_t thread;
    for (int round = 0; round < 20; round++) {
        for (size_t i = 0; i < COUNT(blocks) - 1; i++)
            blocks[i] = ct__alloc(3000);
        blocks[COUNT(blocks) - 1] = NULL;
        ck_assert_uint_eq(ct_live_blocks(), COUNT(blocks) - 1);
        ck_assert_int_eq(pthread_create(&thread, NULL, free_all, blocks), 0);
        pthread_join(thread, NULL);
        ck_assert_uint_eq(ct_live_blocks(), 0);
    }
    ck_assert_uint_le(ct_allocator_calls(), COUNT(blocks) - 1); // all of the first round
}
END_TEST

/// What other threads kept is there in the child as well, where they are not.
static int take_what_they_kept(const void *blocks) {
    size_t calls = ct_allocator_calls(), live = ct_live_blocks();
    for (size_t i = 0; i < *(const size_t *)blocks; i++)
        ct__alloc(1000);
    bool same = SANITIZED || ct_allocator_calls() == calls;
    return same && ct_live_blocks() == live + *(const size_t *)blocks ? 0 : 1;
}

START_TEST(a_child_has_what_other_threads_kept) {
    struct keeper k;
    pthread_t thread;
    start_keeper(&k, &thread, 30);
    ck_assert_int_eq(in_child(take_what_they_kept, &k.blocks), 0);
    end_keeper(&k, thread);
    ck_assert_uint_eq(ct_live_blocks(), 0);
}
END_TEST

static void *clear_often(void *argument) {
    for (int i = 0; i < 2000; i++) {
        ct_cache_clear();
        if (i % 64 == 0)
            ct_cache_limit(i % 128 ? 4096 : (size_t)64 << 20);
    }
    return argument;
}

START_TEST(caches_may_be_emptied_at_any_time) {
    pthread_t threads[3], clearer;
    struct churn churns[3] = {
        {.seed = 6, .steps = 40000}, {.seed = 7, .steps = 40000}, {.seed = 8, .steps = 40000}};
    ck_assert_int_eq(pthread_create(&clearer, NULL, clear_often, NULL), 0);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, churn, &churns[i]), 0);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    pthread_join(clearer, NULL);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(churns[i].torn, 0);
    ck_assert_uint_eq(ct_live_blocks(), 0);
}
END_TEST

// ---- loops that need much

static void turn(size_t count, size_t bytes) {
    void *blocks[16];
    for (size_t i = 0; i < count; i++)
        blocks[i] = ct__alloc(bytes);
    for (size_t i = 0; i < count; i++)
        ct__free(blocks[i]);
}

/// An allocator of addresses that nobody writes to, but for the header of a block.
START_TEST(a_loop_gets_back_more_than_the_first_bound) {
    struct test_allocator state = {0};
    ct_set_allocator(&(struct ct_allocator){test_allocate, test_release, &state});
    turn(12, (size_t)64 << 20);
    size_t calls = ct_allocator_calls();
    for (int i = 0; i < 20; i++)
        turn(12, (size_t)64 << 20);
    ck_assert_uint_eq(ct_allocator_calls(), calls);
    ck_assert_uint_le(state.bytes, (size_t)13 * 64 << 20);
    for (int i = 0; i < 20000; i++) // long after, a smaller loop
        turn(1, (size_t)64 << 20);
    ck_assert_uint_le(state.bytes, (size_t)330 << 20);
    ct_cache_limit((size_t)64 << 20);
    turn(12, (size_t)64 << 20);
    ck_assert_uint_le(state.bytes, (size_t)65 << 20); // a bound that was set is strict
}
END_TEST

/// A size that churn() leaves alone, so that the cache has it: a sanitizer's own allocator does not survive a fork.
START_TEST(fork_while_another_thread_allocates) {
    pthread_t thread;
    struct churn c = {.seed = 5, .steps = INT_MAX};
    allocate_once(NULL);
    ck_assert_int_eq(pthread_create(&thread, NULL, churn, &c), 0);
    for (int i = 0; i < 100; i++)
        ck_assert_int_eq(in_child(allocate_once, NULL), 0);
    atomic_store(&c.stop, true);
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
    tcase_add_test(tc, clearing_empties_the_caches_of_all_threads);
    tcase_add_test(tc, a_thread_that_ends_gives_its_blocks_to_all);
    tcase_add_test(tc, blocks_may_be_freed_by_another_thread);
    tcase_add_test(tc, a_child_has_what_other_threads_kept);
    tcase_add_test(tc, caches_may_be_emptied_at_any_time);
    tcase_add_test(tc, a_loop_gets_back_more_than_the_first_bound);
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
