#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "io/atomic_file.h"
#include "io/ct_digest.h"
#include "tensor/alloc.h"
#include "tensor/checked.h"
#include "tensor/ct_platform.h"
#include "tensor/fail.h"
#include "tensor/isa.h"
#include "tensor/parallel.h"
#include "tensor/topology.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

Suite *suite_platform(void);

#define COUNT(array) (sizeof(array) / sizeof *(array))

// Written for Check's fork mode: each test is a process in which nothing is frozen yet.

// ---- children: for what freezes at first use, ends the process or forks

/// The child's exit status; 128 plus the signal when one killed it, as the alarm does.
static int wait_for(pid_t child) {
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int in_child(int (*body)(const void *), const void *argument) {
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        signal(SIGALRM, SIG_DFL); // Check's handler would end the test
        alarm(10);
        _exit(body(argument));
    }
    return wait_for(child);
}

static void ck_error_is(ct_status code, const char *part) {
    ck_assert_int_eq(ct_error()->code, code);
    ck_assert_msg(strstr(ct_error()->message, part) != NULL, "'%s' lacks '%s'", ct_error()->message,
                  part);
}

// ---- errors

START_TEST(error_is_empty_at_first) {
    ck_assert_int_eq(ct_error()->code, CT_OK);
    ck_assert_str_eq(ct_error()->message, "");
    ck_assert_str_eq(ct_error()->function, "");
}
END_TEST

START_TEST(error_stays_until_cleared) {
    ck_assert_int_eq(ct__fail(CT_ESHAPE, "ct_sum", "axis %d of %s", 3, "[2]"), CT_ESHAPE);
    void *block = ct__alloc(1); // a success
    ct__free(block);
    ck_assert_int_eq(ct_fenv_check(), CT_OK);
    ck_error_is(CT_ESHAPE, "axis 3 of [2]");
    ck_assert_str_eq(ct_error()->function, "ct_sum");
    const struct ct_error_info *info = ct_error();
    ct_error_clear();
    ck_assert_int_eq(info->code, CT_OK);
    ck_assert_str_eq(info->message, "");
    ck_assert_str_eq(info->function, "");
}
END_TEST

START_TEST(error_is_replaced_by_the_next) {
    ct__fail(CT_ESHAPE, "first", "first");
    const struct ct_error_info *info = ct_error();
    ck_assert_ptr_null(ct__fail_null(CT_EIO, "second", "second"));
    ck_assert_int_eq(info->code, CT_EIO);
    ck_assert_str_eq(info->message, "second");
    ck_assert_str_eq(info->function, "second");
}
END_TEST

START_TEST(null_operand_keeps_the_first_error) {
    ct__fail(CT_EAXIS, "ct_sum", "no axis");
    ck_assert_int_eq(ct__fail_null_operand("ct_add"), CT_EAXIS);
    ck_error_is(CT_EAXIS, "no axis");
    ck_assert_str_eq(ct_error()->function, "ct_sum");
    ct_error_clear();
    ck_assert_int_eq(ct__fail_null_operand("ct_add"), CT_EINVAL);
    ck_error_is(CT_EINVAL, "NULL");
    ck_assert_str_eq(ct_error()->function, "ct_add");
}
END_TEST

START_TEST(error_keeps_errno) {
    errno = ENOTTY;
    ct__fail(CT_EIO, "f", "%s", "x");
    ck_assert_int_eq(errno, ENOTTY);
}
END_TEST

START_TEST(error_may_wrap_itself) {
    ct__fail(CT_EIO, "inner", "disk");
    ct__fail(CT_EFORMAT, ct_error()->function, "in %s: %s", "outer", ct_error()->message);
    ck_assert_str_eq(ct_error()->message, "in outer: disk");
    ck_assert_str_eq(ct_error()->function, "inner");
}
END_TEST

START_TEST(error_is_cut_at_a_whole_character) {
    char text[2 * CT__MESSAGE_BYTES] = "";
    for (int shift = 0; shift < 4; shift++) {
        memset(text, 'x', (size_t)shift);
        for (size_t i = (size_t)shift; i + 3 < sizeof text; i += 3)
            memcpy(text + i, "\xe2\x82\xac", 4); // a euro sign
        ct__fail(CT_EIO, text, "%s", text);
        size_t length = strlen(ct_error()->message);
        ck_assert_uint_lt(length, CT__MESSAGE_BYTES);
        ck_assert_uint_ge(length, CT__MESSAGE_BYTES - 4);
        ck_assert_str_eq(ct_error()->message + length - 3, "...");
        ck_assert_uint_eq((length - 3 - (size_t)shift) % 3, 0);
    }
}
END_TEST

START_TEST(error_without_a_format_says_what_the_code_means) {
    ct__fail(CT_ENOMEM, NULL, NULL);
    ck_error_is(CT_ENOMEM, "memory");
    ck_assert_str_eq(ct_error()->function, "");
}
END_TEST

static void *fail_elsewhere(void *seen) {
    *(ct_status *)seen = ct_error()->code;
    ct__fail(CT_EDOMAIN, "there", "there");
    return NULL;
}

START_TEST(errors_of_threads_are_separate) {
    pthread_t thread;
    ct_status seen = CT_EIO;
    ct__fail(CT_ESHAPE, "here", "here");
    ck_assert_int_eq(pthread_create(&thread, NULL, fail_elsewhere, &seen), 0);
    pthread_join(thread, NULL);
    ck_assert_int_eq(seen, CT_OK);
    ck_error_is(CT_ESHAPE, "here");
}
END_TEST

START_TEST(status_names_are_as_in_c) {
#define CHECK_NAME(name, text) ck_assert_str_eq(ct_status_name(CT_##name), "CT_" #name);
    CT_STATUS_LIST(CHECK_NAME)
#undef CHECK_NAME
    ck_assert_int_eq(CT_OK, 0);
    ck_assert_str_eq(ct_status_name((ct_status)1000), "unknown status");
    ck_assert_str_eq(ct_status_name((ct_status)-1), "unknown status");
}
END_TEST

START_TEST(shapes_are_formatted) {
    const int64_t shape[] = {2, 3, -1, INT64_MAX, INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN};
    char text[CT__SHAPE_TEXT_BYTES];
    ct__format_shape(text, sizeof text, 0, NULL);
    ck_assert_str_eq(text, "[]");
    ct__format_shape(text, sizeof text, 1, shape);
    ck_assert_str_eq(text, "[2]");
    ct__format_shape(text, sizeof text, 4, shape);
    ck_assert_str_eq(text, "[2, 3, -1, 9223372036854775807]");
    ct__format_shape(text, sizeof text, 8, shape);
    ck_assert_int_eq(text[strlen(text) - 1], ']');
    ct__format_shape(text, 6, 2, shape);
    ck_assert_str_eq(text, "[2, 3");
    ct__format_shape(text, 0, 2, shape);
    ck_assert_str_eq(text, "[2, 3");
}
END_TEST

// ---- checked arithmetic

START_TEST(checked_arithmetic) {
    size_t s = 7;
    int64_t i = 7;
    ck_assert(ct__mul_size(3, 5, &s) && s == 15);
    ck_assert(ct__add_size(SIZE_MAX - 1, 1, &s) && s == SIZE_MAX);
    ck_assert(!ct__mul_size(SIZE_MAX / 2 + 1, 2, &s) && s == SIZE_MAX);
    ck_assert(!ct__add_size(SIZE_MAX, 1, &s) && s == SIZE_MAX);
    ck_assert(ct__mul_i64(-3, 5, &i) && i == -15);
    ck_assert(ct__add_i64(INT64_MAX, INT64_MIN, &i) && i == -1);
    ck_assert(!ct__mul_i64(INT64_MIN, -1, &i) && i == -1);
    ck_assert(!ct__add_i64(INT64_MAX, 1, &i) && i == -1);
    ck_assert(ct__size_of_i64(INT64_MAX, &s) && s == (size_t)INT64_MAX);
    ck_assert(!ct__size_of_i64(-1, &s) && s == (size_t)INT64_MAX);
}
END_TEST

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
static int allocate_once(const void *unused) {
    (void)unused;
    ct__free(ct__alloc(1 << 20));
    return 0;
}

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
struct test_allocator {
    size_t blocks, bytes;
    bool fails, crooked;
};

static void *test_allocate(void *ctx, size_t bytes, size_t align) {
    struct test_allocator *a = ctx;
    void *p = NULL;
    if (a->fails || posix_memalign(&p, align, bytes + align))
        return NULL;
    a->blocks++;
    a->bytes += bytes;
    return a->crooked ? (char *)p + 8 : p;
}

static void test_release(void *ctx, void *p, size_t bytes) {
    struct test_allocator *a = ctx;
    a->blocks--;
    a->bytes -= bytes;
    free(a->crooked ? (char *)p - 8 : p);
}

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

// ---- threads

static void four_threads(void) {
    setenv("CT_NUM_THREADS", "4", 1);
}

struct visits {
    size_t grain;
    atomic_int *count;
    atomic_int bad;
};

static void visit(void *ctx, size_t begin, size_t end) {
    struct visits *v = ctx;
    if (begin >= end || begin % v->grain)
        atomic_fetch_add(&v->bad, 1);
    for (size_t i = begin; i < end; i++)
        atomic_fetch_add(&v->count[i], 1);
}

enum { LONGEST_LOOP = 65537 };

static bool covers_once(size_t n, size_t grain) {
    atomic_int *count = calloc(n + 1, sizeof *count);
    if (!count)
        return false;
    struct visits v = {grain ? grain : 1, count, 0};
    ct__parallel_for(n, grain, visit, &v);
    bool good = v.bad == 0 && count[n] == 0;
    for (size_t i = 0; i < n; i++)
        good = good && count[i] == 1;
    free(count);
    return good;
}

START_TEST(loops_cover_each_index_once) {
    static const size_t grains[] = {0, 1, 2, 3, 7, 64, 1000, 1024, 100000, SIZE_MAX};
    static const size_t lengths[] = {0,  1,  2,   3,    5,    8,    63,
                                     64, 65, 999, 1000, 1001, 4096, LONGEST_LOOP};
    for (size_t i = 0; i < COUNT(lengths); i++)
        ck_assert_msg(covers_once(lengths[i], grains[_i]), "%zu items by %zu", lengths[i],
                      grains[_i]);
    for (size_t n = 0; n < 300; n++)
        ck_assert_msg(covers_once(n, grains[_i]), "%zu items by %zu", n, grains[_i]);
}
END_TEST

START_TEST(many_short_loops) {
    for (int i = 0; i < 5000; i++)
        ck_assert(covers_once(8, 1));
}
END_TEST

/// Two pieces, each of which waits for the other: they meet only on two threads.
struct meeting {
    atomic_int present;
    atomic_int met;
};

static void meet(void *ctx, size_t begin, size_t end) {
    struct meeting *m = ctx;
    if (end - begin != 1)
        return;
    atomic_fetch_add(&m->present, 1);
    for (int i = 0; i < 4000 && atomic_load(&m->present) < 2; i++)
        usleep(1000);
    if (atomic_load(&m->present) == 2)
        atomic_fetch_add(&m->met, 1);
}

static bool two_meet(void) {
    struct meeting m = {0};
    ct__parallel_for(2, 1, meet, &m);
    return m.met == 2;
}

START_TEST(workers_do_work) {
    ck_assert_int_eq(ct_num_threads(), 4);
    ck_assert(two_meet());
}
END_TEST

struct nested {
    atomic_int inner;
    atomic_int elsewhere;
};

static void nested_inner(void *ctx, size_t begin, size_t end) {
    pthread_t *outer = ((void **)ctx)[1];
    struct nested *n = ((void **)ctx)[0];
    atomic_fetch_add(&n->inner, (int)(end - begin));
    if (!pthread_equal(*outer, pthread_self()))
        atomic_fetch_add(&n->elsewhere, 1);
}

static void nested_outer(void *ctx, size_t begin, size_t end) {
    for (size_t i = begin; i < end; i++) {
        pthread_t self = pthread_self();
        void *both[] = {ctx, &self};
        ct__parallel_for(100, 1, nested_inner, both);
    }
}

START_TEST(nested_loops_stay_on_their_thread) {
    struct nested n = {0};
    ct__parallel_for(64, 1, nested_outer, &n);
    ck_assert_int_eq(n.inner, 6400);
    ck_assert_int_eq(n.elsewhere, 0);
}
END_TEST

static void *loop_a_lot(void *good) {
    for (int i = 0; i < 500; i++)
        if (!covers_once(200, 3))
            *(bool *)good = false;
    return NULL;
}

START_TEST(two_user_threads_at_once) {
    pthread_t threads[2];
    bool good[2] = {true, true};
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, loop_a_lot, &good[i]), 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    ck_assert(good[0] && good[1]);
}
END_TEST

static void *loop_once(void *good) {
    *(bool *)good = covers_once(200, 3);
    return NULL;
}

/// Does not end before another thread's loop has.
static void wait_for_other_loop(void *ctx, size_t begin, size_t end) {
    pthread_t thread;
    (void)end;
    if (begin != 0)
        return;
    if (pthread_create(&thread, NULL, loop_once, ctx) == 0)
        pthread_join(thread, NULL);
}

START_TEST(a_loop_does_not_wait_for_another_threads) {
    bool good = false;
    ct__parallel_for(8, 1, wait_for_other_loop, &good);
    ck_assert(good);
}
END_TEST

static int loop_in_child(const void *unused) {
    (void)unused;
    for (int i = 0; i < 20; i++)
        if (!covers_once(10000, 16))
            return 1;
    // a sanitizer's allocator may be locked for good, if a worker was starting when we forked
    return SANITIZED || two_meet() ? 0 : 2;
}

START_TEST(fork_after_a_loop) {
    for (int i = 0; i < 5; i++) {
        ck_assert(covers_once(10000, 16));
        ck_assert_int_eq(in_child(loop_in_child, NULL), 0);
    }
    ck_assert(covers_once(10000, 16));
}
END_TEST

START_TEST(fork_during_another_threads_loop) {
    pthread_t thread;
    bool good = true;
    ck_assert_int_eq(pthread_create(&thread, NULL, loop_a_lot, &good), 0);
    for (int i = 0; i < 10; i++)
        ck_assert_int_eq(in_child(loop_in_child, NULL), 0);
    pthread_join(thread, NULL);
    ck_assert(good);
}
END_TEST

static void fork_inside(void *ctx, size_t begin, size_t end) {
    (void)end;
    if (begin == 0)
        *(int *)ctx = in_child(allocate_once, NULL);
}

START_TEST(fork_from_inside_a_loop) {
    int outcome = -1;
    ct__parallel_for(8, 1, fork_inside, &outcome);
    ck_assert_int_eq(outcome, 0);
    ck_assert(covers_once(1000, 1));
}
END_TEST

static int exit_after_a_loop(const void *unused) {
    (void)unused;
    bool good = covers_once(10000, 16);
    fclose(stdout); // what Check has not yet written is not ours
    exit(good ? 0 : 1);
}

START_TEST(exit_joins_the_workers) {
    ck_assert_int_eq(in_child(exit_after_a_loop, NULL), 0);
}
END_TEST

static void look_at_environment(void *ctx, size_t begin, size_t end) {
    struct visits *v = ctx;
    sigset_t blocked;
    (void)begin;
    (void)end;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    if (sigismember(&blocked, SIGUSR1) && ct_fenv_check() != CT_OK)
        atomic_fetch_add(&v->bad, 1); // on a worker: the caller has its signals
    usleep(1000);
}

START_TEST(workers_have_the_default_environment) {
    struct visits v = {0};
    fesetround(FE_UPWARD);
    ct__parallel_for(64, 1, look_at_environment, &v);
    fesetround(FE_TONEAREST);
    ck_assert_int_eq(v.bad, 0);
}
END_TEST

static void backwards(void *user, size_t n, size_t grain,
                      void (*fn)(void *ctx, size_t begin, size_t end), void *ctx) {
    ++*(int *)user;
    for (size_t i = (n - 1) / grain + 1; i-- > 0;)
        fn(ctx, i * grain, n - i * grain < grain ? n : (i + 1) * grain);
}

START_TEST(loop_is_replaced_before_first_use_only) {
    int calls = 0;
    struct nested n = {0};
    ck_assert_int_eq(ct_set_parallel_for(backwards, &calls), CT_OK);
    ck_assert(covers_once(1000, 7));
    ck_assert(covers_once(7, 7)); // not worth a call
    ck_assert_int_eq(calls, 1);
    ct__parallel_for(10, 1, nested_outer, &n);
    ck_assert_int_eq(n.inner, 1000);
    ck_assert_int_eq(calls, 2);
    ck_assert_int_eq(ct_set_parallel_for(NULL, NULL), CT_EINVAL);
    ck_error_is(CT_EINVAL, "before the library first runs one");
}
END_TEST

#if !SANITIZED
static int loop_without_threads(const void *unused) {
    (void)unused;
    ct_num_threads();
    setrlimit(RLIMIT_AS, &(struct rlimit){1 << 20, 1 << 20}); // no room for a stack
    static atomic_int count[100];
    struct visits v = {1, count, 0};
    ct__parallel_for(100, 1, visit, &v);
    for (int i = 0; i < 100; i++)
        if (count[i] != 1)
            return 1;
    return v.bad;
}

START_TEST(loops_run_without_threads) {
    ck_assert_int_eq(in_child(loop_without_threads, NULL), 0);
}
END_TEST
#endif

// ---- settings

struct setting {
    const char *value;
    ct_status status;
    int threads; // 0 for the default
};

static const struct setting thread_settings[] = {
    {NULL, CT_OK, 0},       {"", CT_OK, 0},
    {"1", CT_OK, 1},        {"007", CT_OK, 7},
    {"1024", CT_OK, 1024},  {"0", CT_EINVAL, 0},
    {"-1", CT_EINVAL, 0},   {"+4", CT_EINVAL, 0},
    {"1025", CT_EINVAL, 0}, {"4x", CT_EINVAL, 0},
    {" 4", CT_EINVAL, 0},   {"four", CT_EINVAL, 0},
    {"2.5", CT_EINVAL, 0},  {"99999999999999999999", CT_EINVAL, 0},
};

static void set_variable(const char *name, const char *value) {
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

static int check_threads(const void *argument) {
    const struct setting *s = argument;
    set_variable("CT_NUM_THREADS", s->value);
    if (ct_threads_check() != s->status)
        return 1;
    if (s->status && (!s->value || !strstr(ct_error()->message, s->value)))
        return 2;
    int threads = ct_num_threads();
    if (s->threads ? threads != s->threads : threads < 1 || threads > 64)
        return 3;
    setenv("CT_NUM_THREADS", "2", 1); // too late
    return ct_num_threads() == threads ? 0 : 4;
}

START_TEST(thread_setting_is_checked) {
    ck_assert_int_eq(in_child(check_threads, &thread_settings[_i]), 0);
}
END_TEST

static const struct setting isa_settings[] = {
    {NULL, CT_OK, 0},       {"", CT_OK, 0},          {"scalar", CT_OK, 1},  {"foo", CT_EINVAL, 0},
    {"AVX2", CT_EINVAL, 0}, {"avx2 ", CT_EINVAL, 0}, {"avx", CT_EINVAL, 0}, {"sse2", CT_EINVAL, 0},
};

static int check_isa(const void *argument) {
    const struct setting *s = argument;
    char expected[128];
    set_variable("CT_ISA", s->value);
    ct_status status = ct_isa_check();
    if (status == CT_EUNSUPPORTED && s->status == CT_OK)
        return 0; // an old CPU
    if (status != s->status)
        return 1;
    snprintf(expected, sizeof expected, "CT_ISA is '%s'; it can be scalar, avx2 or avx512",
             s->value ? s->value : "");
    if (status && strcmp(ct_error()->message, expected) != 0)
        return 2;
    const char *name = ct_isa_name();
    if (s->threads && strcmp(name, s->value) != 0)
        return 3;
    setenv("CT_ISA", "scalar", 1); // too late
    return strcmp(ct_isa_name(), name) == 0 ? 0 : 4;
}

START_TEST(isa_setting_is_checked) {
    ck_assert_int_eq(in_child(check_isa, &isa_settings[_i]), 0);
}
END_TEST

/// Each instruction set is either in use when asked for, or refused with a message that says what there is.
static int force_isa(const void *argument) {
    const char *name = argument;
    setenv("CT_ISA", name, 1);
    ct_status status = ct_isa_check();
    bool used = strcmp(ct_isa_name(), name) == 0;
    if (status == CT_EINVAL)
        return !used && strstr(ct_error()->message, "supports only") ? 0 : 1;
    return status == CT_EUNSUPPORTED || used ? 0 : 2;
}

START_TEST(isa_can_be_forced) {
    static const char *const names[] = {"scalar", "avx2", "avx512"};
    ck_assert_int_eq(in_child(force_isa, names[_i]), 0);
}
END_TEST

START_TEST(rounding_is_checked) {
    static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    ck_assert_int_eq(ct_fenv_check(), CT_OK);
    for (size_t i = 0; i < COUNT(modes); i++) {
        fesetround(modes[i]);
        ct_status status = ct_fenv_check();
        fesetround(FE_TONEAREST);
        ck_assert_int_eq(status, CT_EINVAL);
        ck_error_is(CT_EINVAL, "round to nearest");
    }
}
END_TEST

#if defined(__x86_64__)
START_TEST(flushing_is_checked) {
    unsigned before = _mm_getcsr();
    static const struct {
        unsigned bits;
        const char *word;
    } modes[] = {{0x8000, "FTZ"}, {0x0040, "DAZ"}, {0x2000, "round"}};
    _mm_setcsr(before | modes[_i].bits);
    ct_status status = ct_fenv_check();
    _mm_setcsr(before);
    ck_assert_int_eq(status, CT_EINVAL);
    ck_error_is(CT_EINVAL, modes[_i].word);
}
END_TEST
#endif

// ---- files; each test has a folder of its own

static char folder[64];

static void make_folder(void) {
    strcpy(folder, "/tmp/ct-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

/// Counts what is in the folder, and removes it on demand.
static int entries(bool away) {
    int count = 0;
    DIR *dir = opendir(folder);
    ck_assert_ptr_nonnull(dir);
    for (struct dirent *e; (e = readdir(dir));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        count++;
        if (away && unlinkat(dirfd(dir), e->d_name, 0) < 0)
            unlinkat(dirfd(dir), e->d_name, AT_REMOVEDIR);
    }
    closedir(dir);
    return count;
}

static void remove_folder(void) {
    chmod(folder, 0700);
    entries(true);
    rmdir(folder);
}

/// A path in the folder; the last three stay valid.
static const char *at(const char *name) {
    static char paths[3][512];
    static int turn;
    turn = (turn + 1) % 3;
    snprintf(paths[turn], sizeof paths[turn], "%s/%s", folder, name);
    return paths[turn];
}

static void put(const char *path, const char *text) {
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    fclose(f);
}

static bool holds(const char *path, const char *text) {
    char buf[256] = "";
    FILE *f = fopen(path, "r");
    if (!f)
        return false;
    size_t got = fread(buf, 1, sizeof buf - 1, f);
    fclose(f);
    return got == strlen(text) && memcmp(buf, text, got) == 0;
}

static ct_status write_text(const char *path, const char *text) {
    struct ct__atomic_file *file = ct__atomic_begin(path, "ct_save");
    if (!file)
        return ct_error()->code;
    ct__atomic_write(file, text, strlen(text));
    return ct__atomic_commit(file);
}

START_TEST(file_is_written_and_replaced) {
    ck_assert_int_eq(write_text(at("a"), "one"), CT_OK);
    ck_assert(holds(at("a"), "one"));
    ck_assert_int_eq(write_text(at("a"), "two two"), CT_OK);
    ck_assert(holds(at("a"), "two two"));
    ck_assert_int_eq(write_text(at("a"), ""), CT_OK);
    ck_assert(holds(at("a"), ""));
    ck_assert_int_eq(entries(false), 1);
    ck_assert_uint_eq(ct_live_blocks(), 0);
}
END_TEST

START_TEST(relative_paths_work) {
    ck_assert_int_eq(chdir(folder), 0);
    ck_assert_int_eq(write_text("b", "text"), CT_OK);
    ck_assert(holds(at("b"), "text"));
    ck_assert_int_eq(entries(false), 1);
    ck_assert_int_eq(chdir("/"), 0);
}
END_TEST

START_TEST(target_is_intact_until_the_commit) {
    put(at("a"), "old");
    struct ct__atomic_file *f = ct__atomic_begin(at("a"), "ct_save");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(ct__atomic_write(f, "new ", 4), CT_OK);
    ck_assert_int_eq(ct__atomic_write(f, NULL, 0), CT_OK);
    ck_assert_int_eq(ct__atomic_write(f, "text", 4), CT_OK);
    ck_assert(holds(at("a"), "old"));
    ck_assert_int_eq(ct__atomic_commit(f), CT_OK);
    ck_assert(holds(at("a"), "new text"));
    f = ct__atomic_begin(at("a"), "ct_save");
    ck_assert_int_eq(ct__atomic_write(f, "x", 1), CT_OK);
    ct__atomic_abandon(f);
    ct__atomic_abandon(NULL);
    ck_assert(holds(at("a"), "new text"));
    ck_assert_int_eq(entries(false), 1);
}
END_TEST

START_TEST(permissions_are_kept) {
    struct stat now;
    umask(027);
    ck_assert_int_eq(write_text(at("a"), "one"), CT_OK);
    ck_assert_int_eq(stat(at("a"), &now), 0);
    ck_assert_uint_eq(now.st_mode & 0777, 0640);
    chmod(at("a"), 0604);
    ck_assert_int_eq(write_text(at("a"), "two"), CT_OK);
    ck_assert_int_eq(stat(at("a"), &now), 0);
    ck_assert_uint_eq(now.st_mode & 0777, 0604);
}
END_TEST

START_TEST(links_stay_links) {
    struct stat now;
    put(at("real"), "old");
    ck_assert_int_eq(symlink("real", at("link")), 0);
    ck_assert_int_eq(write_text(at("link"), "new"), CT_OK);
    ck_assert(holds(at("real"), "new"));
    ck_assert_int_eq(lstat(at("link"), &now), 0);
    ck_assert(S_ISLNK(now.st_mode));
    ck_assert_int_eq(entries(false), 2);
}
END_TEST

START_TEST(long_names_fit) {
    char name[NAME_MAX + 2];
    memset(name, 'n', NAME_MAX);
    name[NAME_MAX] = '\0';
    ck_assert_int_eq(write_text(at(name), "text"), CT_OK);
    ck_assert(holds(at(name), "text"));
    name[NAME_MAX] = 'n';
    name[NAME_MAX + 1] = '\0';
    ck_assert_int_eq(write_text(at(name), "text"), CT_EIO);
    ck_error_is(CT_EIO, strerror(ENAMETOOLONG));
    char path[2 * PATH_MAX];
    memset(path, '/', sizeof path);
    path[sizeof path - 1] = '\0';
    ck_assert_int_eq(write_text(path, "text"), CT_EIO);
    ck_error_is(CT_EIO, strerror(ENAMETOOLONG));
    ck_assert_int_eq(entries(false), 1);
}
END_TEST

START_TEST(folders_are_refused) {
    mkdir(at("d"), 0700);
    ck_assert_int_eq(write_text(at("d"), "text"), CT_EIO);
    ck_error_is(CT_EIO, strerror(EISDIR));
    ck_error_is(CT_EIO, at("d"));
    ck_assert_str_eq(ct_error()->function, "ct_save");
    ck_assert_int_eq(write_text(at("none/"), "text"), CT_EIO);
    ck_assert_int_eq(write_text(at("none/a"), "text"), CT_EIO);
    ck_error_is(CT_EIO, strerror(ENOENT));
    put(at("f"), "text");
    ck_assert_int_eq(write_text(at("f/a"), "text"), CT_EIO);
    ck_error_is(CT_EIO, strerror(ENOTDIR));
    ck_assert_int_eq(write_text("", "text"), CT_EINVAL);
    ct_error_clear();
    ck_assert_int_eq(write_text(NULL, "text"), CT_EINVAL);
    ck_assert_int_eq(entries(false), 2);
    ck_assert_uint_eq(ct_live_blocks(), 0);
}
END_TEST

static int write_as_nobody(const void *unused) {
    (void)unused;
    if (geteuid() == 0 && seteuid(65534) < 0)
        return 1;
    if (write_text(at("a"), "new") != CT_EIO)
        return 2;
    return strstr(ct_error()->message, strerror(EACCES)) ? 0 : 3;
}

START_TEST(unwritable_folder_is_reported) {
    put(at("a"), "old");
    chmod(folder, 0555);
    ck_assert_int_eq(in_child(write_as_nobody, NULL), 0);
    ck_assert(holds(at("a"), "old"));
    ck_assert_int_eq(entries(false), 1);
}
END_TEST

/// The write that fills the disk fails, and so do those after it and the commit.
static int fill_the_disk(const void *unused) {
    char block[1000] = "";
    (void)unused;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){1500, 1500});
    struct ct__atomic_file *f = ct__atomic_begin(at("a"), "ct_save");
    if (!f || ct__atomic_write(f, block, sizeof block) != CT_OK)
        return 1;
    if (ct__atomic_write(f, block, sizeof block) != CT_EIO || entries(false) != 1)
        return 2;
    if (!strstr(ct_error()->message, strerror(EFBIG)))
        return 3;
    if (ct__atomic_write(f, "x", 1) != CT_EIO || ct__atomic_commit(f) != CT_EIO)
        return 4;
    return ct_live_blocks() == 0 ? 0 : 5;
}

START_TEST(full_disk_leaves_the_target_intact) {
    put(at("a"), "old");
    ck_assert_int_eq(in_child(fill_the_disk, NULL), 0);
    ck_assert(holds(at("a"), "old"));
    ck_assert_int_eq(entries(false), 1);
}
END_TEST

/// Never as root: a fault in what is tested would replace the machine's devices.
static int write_to_devices(const void *unused) {
    (void)unused;
    if (geteuid() == 0 && seteuid(65534) < 0)
        return 1;
    if (faccessat(AT_FDCWD, "/dev", W_OK, AT_EACCESS) == 0)
        return 2;
    if (write_text("/dev/null", "text") != CT_OK)
        return 3;
    if (write_text("/dev/full", "text") != CT_EIO)
        return 4;
    const char *message = ct_error()->message;
    return strstr(message, "cannot write '/dev/full'") && strstr(message, strerror(ENOSPC)) ? 0 : 5;
}

START_TEST(devices_are_written_directly) {
    ck_assert_int_eq(in_child(write_to_devices, NULL), 0);
}
END_TEST

static void *read_pipe(void *text) {
    char path[128];
    snprintf(path, sizeof path, "%s/pipe", folder);
    int fd = open(path, O_RDONLY);
    ssize_t got = read(fd, text, 15);
    close(fd);
    ((char *)text)[got > 0 ? got : 0] = '\0';
    return NULL;
}

START_TEST(pipes_are_written_directly) {
    pthread_t thread;
    char text[16] = "";
    struct stat now;
    ck_assert_int_eq(mkfifo(at("pipe"), 0600), 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, read_pipe, text), 0);
    ck_assert_int_eq(write_text(at("pipe"), "text"), CT_OK);
    pthread_join(thread, NULL);
    ck_assert_str_eq(text, "text");
    ck_assert_int_eq(stat(at("pipe"), &now), 0);
    ck_assert(S_ISFIFO(now.st_mode));
}
END_TEST

START_TEST(no_memory_is_reported) {
    struct test_allocator state = {.fails = true};
    ct_set_allocator(&(struct ct_allocator){test_allocate, test_release, &state});
    ck_assert_int_eq(write_text(at("a"), "text"), CT_ENOMEM);
    ck_assert_int_eq(entries(false), 0);
}
END_TEST

START_TEST(no_file_passes_its_error_on) {
    struct ct__atomic_file *f = ct__atomic_begin(at("none/a"), "ct_save");
    ck_assert_ptr_null(f);
    ck_assert_int_eq(ct__atomic_write(f, "x", 1), CT_EIO);
    ck_assert_int_eq(ct__atomic_commit(f), CT_EIO);
    ck_error_is(CT_EIO, "none/a");
}
END_TEST

// ---- topology

START_TEST(machine_makes_sense) {
    ck_assert_int_ge(ct__usable_cores(), 1);
    ck_assert_int_le(ct__usable_cores(), (int)sysconf(_SC_NPROCESSORS_CONF));
    ck_assert_uint_eq(ct__cache_bytes(0), 0);
    ck_assert_uint_eq(ct__cache_bytes(4), 0);
    ck_assert_uint_lt(ct__cache_bytes(1), 1 << 20);
}
END_TEST

struct quota_case {
    const char *groups;      // of /proc/self/cgroup
    const char *files[3][2]; // under /sys/fs/cgroup, and what they hold
    int cpus;
};

static const struct quota_case quota_cases[] = {
    {"0::/\n", {{"cpu.max", "150000 100000\n"}}, 2},
    {"0::/\n", {{"cpu.max", "max 100000\n"}}, 0},
    {"0::/g/h\n", {{"g/cpu.max", "300000 100000\n"}, {"g/h/cpu.max", "max 100000\n"}}, 3},
    {"0::/g/h\n", {{"g/cpu.max", "800000 100000\n"}, {"g/h/cpu.max", "50000 100000\n"}}, 1},
    {"0::/elsewhere\n", {{"cpu.max", "400000 100000\n"}}, 4},
    {"0::/\n", {{"cpu.max", "nonsense"}}, 0},
    {"0::/\n", {{"cpu.max", "100000 0\n"}}, 0},
    {"0::/\n", {{"cpu.max", "9223372036854775807 1\n"}}, INT_MAX},
    {"3:cpuset:/\n2:cpu,cpuacct:/g\n0::/\n",
     {{"cpu,cpuacct/g/cpu.cfs_quota_us", "250000\n"},
      {"cpu,cpuacct/g/cpu.cfs_period_us", "100000\n"}},
     3},
    {"2:cpu:/g\n", {{"cpu/cpu.cfs_quota_us", "-1\n"}, {"cpu/cpu.cfs_period_us", "100000\n"}}, 0},
    {"2:cpuacct:/\n",
     {{"cpuacct/cpu.cfs_quota_us", "1\n"}, {"cpuacct/cpu.cfs_period_us", "1\n"}},
     0},
    {"garbage\n:\n::\n", {{NULL, NULL}}, 0},
};

/// Writes a file and the folders above it.
static void plant(const char *root, const char *prefix, const char *name, const char *text) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s/%s", root, prefix, name);
    for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    put(path, text);
}

START_TEST(cgroup_quotas_are_read) {
    const struct quota_case *c = &quota_cases[_i];
    char root[] = "/tmp/ct-quota-XXXXXX", command[64];
    ck_assert_ptr_nonnull(mkdtemp(root));
    ck_assert_int_eq(ct__cpu_quota(root), 0);
    plant(root, "proc/self", "cgroup", c->groups);
    for (size_t i = 0; i < COUNT(c->files) && c->files[i][0]; i++)
        plant(root, "sys/fs/cgroup", c->files[i][0], c->files[i][1]);
    int cpus = ct__cpu_quota(root);
    snprintf(command, sizeof command, "rm -r %s", root);
    ck_assert_int_eq(system(command), 0);
    ck_assert_int_eq(cpus, c->cpus);
}
END_TEST

// ---- digests

struct answer {
    const char *text;
    const char *hex;
};

// FIPS 180-2, appendix B, and the empty string
static const struct answer answers[] = {
    {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
};

START_TEST(sha256_known_answers) {
    struct ct_sha256 digest;
    char hex[CT_SHA256_TEXT_BYTES];
    ct_sha256_init(&digest);
    for (int twice = 0; twice < 2; twice++) { // the end is a new start
        ct_sha256_update(&digest, answers[_i].text, strlen(answers[_i].text));
        ct_sha256_final(&digest, hex);
        ck_assert_str_eq(hex, answers[_i].hex);
    }
}
END_TEST

START_TEST(sha256_of_a_million) {
    struct ct_sha256 digest, copy;
    char hex[CT_SHA256_TEXT_BYTES], piece[1000];
    memset(piece, 'a', sizeof piece);
    ct_sha256_init(&digest);
    for (size_t left = 1000000, step = 1; left > 0; step = step % sizeof piece + 1) {
        size_t bytes = step < left ? step : left;
        ct_sha256_update(&digest, piece, bytes);
        ct_sha256_update(&digest, NULL, 0);
        left -= bytes;
    }
    copy = digest;
    ct_sha256_final(&digest, hex);
    ck_assert_str_eq(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    ct_sha256_final(&copy, hex);
    ck_assert_str_eq(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}
END_TEST

START_TEST(sha256_of_nothing_is_an_error) {
    struct ct_sha256 digest;
    ct_sha256_init(&digest);
    ck_assert_int_eq(ct_error()->code, CT_OK);
    ct_sha256_update(&digest, NULL, 1);
    ck_error_is(CT_EINVAL, "NULL");
    ct_error_clear();
    ct_sha256_init(NULL);
    ck_error_is(CT_EINVAL, "NULL");
    ct_error_clear();
    ct_sha256_final(&digest, NULL);
    ck_error_is(CT_EINVAL, "NULL");
}
END_TEST

// ---- the suite

static TCase *add_case(Suite *suite, const char *name) {
    TCase *tc = tcase_create(name);
    tcase_set_timeout(tc, 60);
    suite_add_tcase(suite, tc);
    return tc;
}

static void add_errors(Suite *suite) {
    TCase *tc = add_case(suite, "errors");
    tcase_add_test(tc, error_is_empty_at_first);
    tcase_add_test(tc, error_stays_until_cleared);
    tcase_add_test(tc, error_is_replaced_by_the_next);
    tcase_add_test(tc, null_operand_keeps_the_first_error);
    tcase_add_test(tc, error_keeps_errno);
    tcase_add_test(tc, error_may_wrap_itself);
    tcase_add_test(tc, error_is_cut_at_a_whole_character);
    tcase_add_test(tc, error_without_a_format_says_what_the_code_means);
    tcase_add_test(tc, errors_of_threads_are_separate);
    tcase_add_test(tc, status_names_are_as_in_c);
    tcase_add_test(tc, shapes_are_formatted);
    tcase_add_test(tc, checked_arithmetic);
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

static void add_threads(Suite *suite) {
    TCase *tc = add_case(suite, "threads");
    tcase_add_checked_fixture(tc, four_threads, NULL);
    tcase_add_loop_test(tc, loops_cover_each_index_once, 0, 10);
    tcase_add_test(tc, many_short_loops);
    tcase_add_test(tc, workers_do_work);
    tcase_add_test(tc, nested_loops_stay_on_their_thread);
    tcase_add_test(tc, two_user_threads_at_once);
    tcase_add_test(tc, a_loop_does_not_wait_for_another_threads);
    tcase_add_test(tc, fork_after_a_loop);
    tcase_add_test(tc, fork_during_another_threads_loop);
    tcase_add_test(tc, fork_from_inside_a_loop);
    tcase_add_test(tc, exit_joins_the_workers);
    tcase_add_test(tc, workers_have_the_default_environment);
    tcase_add_test(tc, loop_is_replaced_before_first_use_only);
#if !SANITIZED
    tcase_add_test(tc, loops_run_without_threads);
#endif
}

static void add_settings(Suite *suite) {
    TCase *tc = add_case(suite, "settings");
    tcase_add_loop_test(tc, thread_setting_is_checked, 0, COUNT(thread_settings));
    tcase_add_loop_test(tc, isa_setting_is_checked, 0, COUNT(isa_settings));
    tcase_add_loop_test(tc, isa_can_be_forced, 0, 3);
    tcase_add_test(tc, rounding_is_checked);
#if defined(__x86_64__)
    tcase_add_loop_test(tc, flushing_is_checked, 0, 3);
#endif
    tcase_add_test(tc, machine_makes_sense);
    tcase_add_loop_test(tc, cgroup_quotas_are_read, 0, COUNT(quota_cases));
}

static void add_files(Suite *suite) {
    TCase *tc = add_case(suite, "files");
    tcase_add_checked_fixture(tc, make_folder, remove_folder);
    tcase_add_test(tc, file_is_written_and_replaced);
    tcase_add_test(tc, relative_paths_work);
    tcase_add_test(tc, target_is_intact_until_the_commit);
    tcase_add_test(tc, permissions_are_kept);
    tcase_add_test(tc, links_stay_links);
    tcase_add_test(tc, long_names_fit);
    tcase_add_test(tc, folders_are_refused);
    tcase_add_test(tc, unwritable_folder_is_reported);
    tcase_add_test(tc, full_disk_leaves_the_target_intact);
    tcase_add_test(tc, devices_are_written_directly);
    tcase_add_test(tc, pipes_are_written_directly);
    tcase_add_test(tc, no_memory_is_reported);
    tcase_add_test(tc, no_file_passes_its_error_on);
}

static void add_digests(Suite *suite) {
    TCase *tc = add_case(suite, "digests");
    tcase_add_loop_test(tc, sha256_known_answers, 0, COUNT(answers));
    tcase_add_test(tc, sha256_of_a_million);
    tcase_add_test(tc, sha256_of_nothing_is_an_error);
}

Suite *suite_platform(void) {
    Suite *suite = suite_create("platform");
    add_errors(suite);
    add_memory(suite);
    add_threads(suite);
    add_settings(suite);
    add_files(suite);
    add_digests(suite);
    return suite;
}
