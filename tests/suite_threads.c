#include <check.h>
#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "tensor/ct_platform.h"
#include "tensor/parallel.h"
#include "tensor/placement.h"

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
    ct__parallel_work(2, 1, 1e9, meet, &m);
    return m.met == 2;
}

START_TEST(workers_do_work) {
    ck_assert_int_eq(ct_num_threads(), 4);
    for (useconds_t i = 0; i < 4; i++) {
        usleep(i * 5000); // the last times they sleep
        ck_assert(two_meet());
    }
}
END_TEST

struct nested {
    atomic_int inner;
    atomic_int elsewhere;
};

/// Slow grains, of which the first must tell that the others are worth waking for.
static void dawdle(void *ctx, size_t begin, size_t end) {
    struct nested *n = ctx;
    usleep((useconds_t)(end - begin) * 1000);
    if (gettid() != getpid())
        atomic_fetch_add(&n->elsewhere, (int)(end - begin));
    atomic_fetch_add(&n->inner, (int)(end - begin));
}

START_TEST(a_loop_that_turns_out_long_wakes_workers) {
    for (int i = 0; i < 3; i++) {
        struct nested n = {0};
        usleep(5000);
        ct__parallel_for(100, 1, dawdle, &n);
        ck_assert_int_eq(n.inner, 100);
        ck_assert_int_gt(n.elsewhere, 0);
    }
}
END_TEST

static void count_elsewhere(void *ctx, size_t begin, size_t end) {
    struct nested *n = ctx;
    if (gettid() != getpid())
        atomic_fetch_add(&n->elsewhere, 1);
    atomic_fetch_add(&n->inner, (int)(end - begin));
}

/* Whether a machine that others use too made a loop look long can not be known: one quiet round in many
   is asked for. */
START_TEST(short_work_wakes_nobody) {
    ck_assert(two_meet());
    bool quiet = false;
    for (int round = 0; round < 50 && !quiet; round++) {
        struct nested n = {0};
        usleep(20000);
        for (int i = 0; i < 1000; i++)
            ct__parallel_work(64, 1, 1000, count_elsewhere, &n);
        ck_assert_int_eq(n.inner, 64000);
        quiet = n.elsewhere == 0;
    }
    ck_assert(quiet);
}
END_TEST

#ifdef __linux__
static void look_at_cpus(void *ctx, size_t begin, size_t end) {
    cpu_set_t *set = ctx;
    (void)end;
    if (gettid() != getpid())
        sched_getaffinity(0, sizeof *set, set);
    else if (begin == 0)
        usleep(2000);
}

static int look_from_each_cpu(const void *unused) {
    (void)unused;
    cpu_set_t home, mine, workers;
    setenv("CT_NUM_THREADS", "2", 1);
    if (sched_getaffinity(0, sizeof home, &home) != 0 || CPU_COUNT(&home) < 2)
        return 0;
    if (!two_meet())
        return 1;
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &home))
            continue;
        CPU_ZERO(&mine);
        CPU_SET(cpu, &mine);
        sched_setaffinity(0, sizeof mine, &mine);
        CPU_ZERO(&workers);
        for (int i = 0; i < 100 && CPU_COUNT(&workers) == 0; i++)
            ct__parallel_work(2, 1, 1e9, look_at_cpus, &workers);
        if (CPU_COUNT(&workers) != CPU_COUNT(&home) - 1 || CPU_ISSET(cpu, &workers))
            return 2;
    }
    return 0;
}

START_TEST(a_worker_keeps_off_the_callers_cpu) {
    ck_assert_int_eq(in_child(look_from_each_cpu, NULL), 0);
}
END_TEST

static _Atomic pid_t sleeper_id;

static void *sleep_until_told(void *told) {
    atomic_store(&sleeper_id, ct__thread_id());
    while (!atomic_load((atomic_bool *)told))
        usleep(1000);
    return NULL;
}

/// What taskset did to a worker is its new home: it is never given a CPU that it lost.
START_TEST(a_worker_stays_where_it_was_put) {
    struct ct__placement placement;
    pthread_t thread;
    atomic_bool told = false;
    cpu_set_t home, one, now;
    ck_assert_int_eq(sched_getaffinity(0, sizeof home, &home), 0);
    size_t first = 0;
    while (!CPU_ISSET(first, &home))
        first++;
    ct__placement_start(&placement);
    ck_assert_int_eq(pthread_create(&thread, NULL, sleep_until_told, &told), 0);
    while (!atomic_load(&sleeper_id))
        usleep(1000);
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    sched_setaffinity(sleeper_id, sizeof one, &one);
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &home))
            continue;
        cpu_set_t mine;
        CPU_ZERO(&mine);
        CPU_SET(cpu, &mine);
        sched_setaffinity(0, sizeof mine, &mine);
        ct__placement_keep_off(&placement, &sleeper_id, 1);
        sched_getaffinity(sleeper_id, sizeof now, &now);
        ck_assert(CPU_EQUAL(&now, &one));
    }
    atomic_store(&told, true);
    pthread_join(thread, NULL);
}
END_TEST
#endif

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
    tcase_add_test(tc, a_loop_that_turns_out_long_wakes_workers);
    tcase_add_test(tc, short_work_wakes_nobody);
#ifdef __linux__
    tcase_add_test(tc, a_worker_keeps_off_the_callers_cpu);
    tcase_add_test(tc, a_worker_stays_where_it_was_put);
#endif
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
