#include <check.h>
#include <fenv.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "tensor/ct_platform.h"
#include "tensor/parallel.h"

#include "platform_tools.h"

Suite *suite_threads(void);

#define COUNT(array) (sizeof(array) / sizeof *(array))

// Written for Check's fork mode: each test is a process in which nothing is frozen yet.

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

// ---- the suite

static TCase *add_case(Suite *suite, const char *name) {
    TCase *tc = tcase_create(name);
    tcase_set_timeout(tc, 60);
    suite_add_tcase(suite, tc);
    return tc;
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

Suite *suite_threads(void) {
    Suite *suite = suite_create("threads");
    add_threads(suite);
    return suite;
}
