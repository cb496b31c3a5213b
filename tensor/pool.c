#include "tensor/parallel.h"

#include <assert.h>
#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#endif

#include "tensor/ct_platform.h"
#include "tensor/fail.h"
#include "tensor/placement.h"
#include "tensor/topology.h"

// One loop at a time has the pool (`turn`). Its owner writes `loop`, opens the gate and rings the bell; workers that come
// while the gate is open are counted in it; all take pieces from `next`. When the pieces run out the owner closes the gate
// and waits for those inside only, so a worker that is slow to wake costs nothing.
//
// A worker that has run out of work looks for more during SPIN_NS, as long as it takes to wake it again, and then sleeps.
// Whoever is awake joins any loop. The sleeping are woken only for work of WAKE_WORTH_NS: the call costs its caller about
// 5 us and they come some 40 us later (measured on a virtual machine with two CPUs; a spinning worker comes within 1 us).
// Where the caller did not say how long the loop takes, its own first pieces tell.

enum {
    MAX_THREADS = 1024,
    DEFAULT_MAX_THREADS = 64,
    WORKER_STACK = 1 << 20,
    SPIN_NS = 50000,       // as long as waking takes
    SPIN_LOOKS = 64,       // between two looks at the clock
    WAKE_WORTH_NS = 100000 // of work on one core that is left; half of it is one thread's share
};

typedef void range_fn(void *ctx, size_t begin, size_t end);

struct loop {
    range_fn *fn;
    void *ctx;
    size_t n;
    size_t grain;
    size_t grains;
    size_t share; // of the grains left a thread takes one of so many at a time
};

static const uint64_t gate_inside = 0xffff; // how many workers are inside
static const uint64_t gate_open = 0x10000;
static const uint64_t gate_epoch = 0x20000; // one loop

static struct {
    _Alignas(64) atomic_size_t next;    // grain to take
    _Alignas(64) _Atomic uint64_t gate; // epoch, open, inside
    _Alignas(64) atomic_uint bell;      // changes when there is something for workers
    atomic_int sleepers;                // workers that need to be woken to hear it
    _Alignas(64) atomic_uint done;      // changes when the last one leaves a closed gate
    atomic_bool stop;                   // for good: the process ends
    atomic_bool starting;               // threads are being made
    atomic_flag turn;                   // the fields below are its holder's
    bool started;
    int workers;
    struct loop loop;
    struct ct__placement placement;
    pthread_t threads[MAX_THREADS];
    _Atomic pid_t ids[MAX_THREADS]; // the kernel's, 0 until a thread runs; may outlive it
} pool = {.turn = ATOMIC_FLAG_INIT};

static pthread_mutex_t setup = PTHREAD_MUTEX_INITIALIZER; // `custom` until frozen

static struct {
    void (*parallel_for)(void *user, size_t n, size_t grain, range_fn *fn, void *ctx);
    void *user;
} custom;

static atomic_bool frozen;
static atomic_bool oversubscribed; // more threads than cores: spinning would only get in the way
static _Thread_local bool inside_loop;

// ---- how many threads

/// The value of CT_NUM_THREADS; NULL when it is absent or empty.
static const char *wanted_text(void) {
    const char *text = getenv("CT_NUM_THREADS");
    return text && *text ? text : NULL;
}

/// A decimal number from 1 to MAX_THREADS without sign or blanks; 0 for anything else.
static int thread_count(const char *text) {
    int count = 0;
    for (; *text >= '0' && *text <= '9' && count <= MAX_THREADS; text++)
        count = 10 * count + (*text - '0');
    return *text == '\0' && count <= MAX_THREADS ? count : 0;
}

static int least(int a, int b) {
    return a < b ? a : b;
}

static int choose_threads(void) {
    const char *text = wanted_text();
    int count = text ? thread_count(text) : 0;
    if (count > 0)
        return count;
    int quota = ct__cpu_quota("");
    count = least(ct__usable_cores(), DEFAULT_MAX_THREADS);
    return quota ? least(count, quota) : count;
}

int ct_num_threads(void) {
    static atomic_int chosen;
    int count = atomic_load_explicit(&chosen, memory_order_relaxed);
    if (count == 0) {
        int mine = choose_threads();
        if (atomic_compare_exchange_strong(&chosen, &count, mine)) // else count is another thread's
            count = mine;
    }
    return count;
}

ct_status ct_threads_check(void) {
    const char *text = wanted_text();
    if (text && thread_count(text) == 0)
        return ct__fail(CT_EINVAL, __func__,
                        "CT_NUM_THREADS is '%.40s'; it can be a number from 1 to %d", text,
                        MAX_THREADS);
    return CT_OK;
}

// ---- waiting

static void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/// Returns once @p word is not @p seen, or earlier for no reason.
static void park(atomic_uint *word, unsigned seen) {
#ifdef __linux__
    static_assert(sizeof *word == 4, "a futex has 32 bits");
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
#else
    (void)word;
    (void)seen;
    sched_yield();
#endif
}

static void unpark(atomic_uint *word, int count) {
#ifdef __linux__
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
#else
    (void)word;
    (void)count;
#endif
}

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/// Waits a moment for @p word to change; false when it did not.
static bool spin(atomic_uint *word, unsigned seen) {
    if (atomic_load_explicit(&oversubscribed, memory_order_relaxed))
        return false;
    uint64_t start = now_ns();
    do {
        for (int i = 0; i < SPIN_LOOKS; i++) {
            if (atomic_load_explicit(word, memory_order_relaxed) != seen)
                return true;
            relax();
        }
    } while (now_ns() - start < SPIN_NS);
    return false;
}

// ---- workers

/// Takes a share of the grains that are left, at least one and at most @p most; how many.
static size_t take(const struct loop *loop, size_t most, size_t *first) {
    size_t next = atomic_load_explicit(&pool.next, memory_order_relaxed), count;
    do {
        if (next >= loop->grains)
            return 0;
        count = (loop->grains - next) / loop->share;
        count = count > most ? most : count ? count : 1;
    } while (!atomic_compare_exchange_weak_explicit(&pool.next, &next, next + count,
                                                    memory_order_relaxed, memory_order_relaxed));
    *first = next;
    return count;
}

static void run_piece(const struct loop *loop, size_t first, size_t count) {
    size_t begin = first * loop->grain;
    size_t end = first + count == loop->grains ? loop->n : begin + count * loop->grain;
    loop->fn(loop->ctx, begin, end);
}

static void run_pieces(const struct loop *loop) {
    size_t first, count;
    while ((count = take(loop, SIZE_MAX, &first)) > 0)
        run_piece(loop, first, count);
}

/// Enters through an open gate, once for each loop.
static bool enter_gate(uint64_t *last_epoch) {
    uint64_t gate = atomic_load(&pool.gate);
    while ((gate & gate_open) && gate / gate_epoch != *last_epoch) {
        if (atomic_compare_exchange_weak(&pool.gate, &gate, gate + 1)) {
            *last_epoch = gate / gate_epoch;
            return true;
        }
    }
    return false;
}

static void leave_gate(void) {
    uint64_t gate = atomic_fetch_sub(&pool.gate, 1);
    if ((gate & (gate_open | gate_inside)) == 1) {
        atomic_fetch_add(&pool.done, 1);
        unpark(&pool.done, 1);
    }
}

static void wait_for_bell(unsigned heard) {
    if (spin(&pool.bell, heard))
        return;
    atomic_fetch_add(&pool.sleepers, 1);
    park(&pool.bell, heard);
    atomic_fetch_sub(&pool.sleepers, 1);
}

static void *work(void *id) {
    uint64_t last_epoch = 0;
    atomic_store_explicit((_Atomic pid_t *)id, ct__thread_id(), memory_order_relaxed);
    inside_loop = true;
    fesetenv(FE_DFL_ENV); // not that of whoever came first
    for (;;) {
        unsigned heard = atomic_load(&pool.bell);
        if (atomic_load(&pool.stop))
            return NULL;
        if (enter_gate(&last_epoch)) {
            run_pieces(&pool.loop);
            leave_gate();
        } else {
            wait_for_bell(heard);
        }
    }
}

/// What a call takes at most, and room for the loops of a user: the default of a thread may be as little as 128 KiB.
static void ask_for_stack(pthread_attr_t *attr) {
    size_t bytes;
    if (pthread_attr_getstacksize(attr, &bytes) == 0 && bytes < WORKER_STACK)
        (void)pthread_attr_setstacksize(attr, WORKER_STACK);
}

static void make_workers(int wanted) {
    sigset_t all, before;
    pthread_attr_t attr;
    if (pthread_attr_init(&attr) != 0)
        return;
    ask_for_stack(&attr);
    sigfillset(&all); // signals are for the program's own threads
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (pool.workers < wanted) {
        int i = pool.workers;
        atomic_store_explicit(&pool.ids[i], 0, memory_order_relaxed); // a parent's
        if (pthread_create(&pool.threads[i], &attr, work, &pool.ids[i]) != 0)
            break;
        pool.workers++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
}

/// No lock is held meanwhile, lest a fork wait for it.
static void start_workers(int threads) {
    atomic_store(&pool.starting, true);
    if (!atomic_load(&pool.stop)) {
        atomic_store(&oversubscribed, threads > ct__usable_cores());
        ct__placement_start(&pool.placement);
        make_workers(threads - 1);
    }
    pool.started = true;
    atomic_store(&pool.starting, false);
}

/// The number of workers; makes them when they are first needed.
static int ready_workers(void) {
    if (!pool.started)
        start_workers(ct_num_threads());
    return atomic_load(&pool.stop) ? 0 : pool.workers;
}

/// Joins them; itself excepted, if a worker calls exit.
__attribute__((destructor)) static void stop_workers(void) {
    atomic_store(&pool.stop, true);
    while (atomic_load(&pool.starting))
        sched_yield();
    atomic_fetch_add(&pool.bell, 1);
    unpark(&pool.bell, MAX_THREADS);
    for (int i = 0; i < pool.workers; i++)
        pthread_join(pool.threads[i], NULL);
}

// ---- fork and first use

static void lock_before_fork(void) {
    pthread_mutex_lock(&setup);
}

static void unlock_in_parent(void) {
    pthread_mutex_unlock(&setup);
}

/// No worker came along, nor perhaps the thread that had the pool.
static void forget_workers_in_child(void) {
    pool.workers = 0;
    pool.started = false;
    atomic_fetch_and(&pool.gate, ~(gate_open | gate_inside));
    atomic_store(&pool.sleepers, 0);
    atomic_store(&pool.starting, false);
    atomic_flag_clear(&pool.turn);
    pthread_mutex_unlock(&setup);
}

/// When the library is loaded: later, a fork might come halfway.
__attribute__((constructor)) static void watch_forks(void) {
    pthread_atfork(lock_before_fork, unlock_in_parent, forget_workers_in_child);
}

static void freeze(void) {
    if (atomic_load_explicit(&frozen, memory_order_acquire))
        return;
    pthread_mutex_lock(&setup);
    atomic_store_explicit(&frozen, true, memory_order_release);
    pthread_mutex_unlock(&setup);
}

ct_status ct_set_parallel_for(void (*parallel_for)(void *user, size_t n, size_t grain,
                                                   void (*fn)(void *ctx, size_t begin, size_t end),
                                                   void *ctx),
                              void *user) {
    pthread_mutex_lock(&setup);
    bool late = atomic_load_explicit(&frozen, memory_order_relaxed);
    if (!late) {
        custom.parallel_for = parallel_for;
        custom.user = user;
    }
    pthread_mutex_unlock(&setup);
    if (late)
        return ct__fail(CT_EINVAL, __func__,
                        "the parallel loop can be replaced only before the library first runs one");
    return CT_OK;
}

// ---- the loop

static struct loop loop_of(size_t n, size_t grain, range_fn *fn, void *ctx) {
    size_t grains = n / grain + (n % grain != 0);
    return (struct loop){fn, ctx, n, grain, grains, 1};
}

/// Lets in the workers that are awake.
static void open_gate(void) {
    pool.loop.share = 2 * ((size_t)pool.workers + 1);
    ct__placement_keep_off(&pool.placement, pool.ids, pool.workers);
    uint64_t gate = atomic_load(&pool.gate);
    atomic_store(&pool.gate, ((gate / gate_epoch + 1) * gate_epoch) | gate_open);
    atomic_fetch_add(&pool.bell, 1);
}

static bool gate_is_open(void) {
    return atomic_load_explicit(&pool.gate, memory_order_relaxed) & gate_open;
}

/// As many as find work worth their waking in @p ns.
static void wake_workers(double ns) {
    double useful = ns / (WAKE_WORTH_NS / 2);
    unpark(&pool.bell, useful < pool.workers ? (int)useful : pool.workers);
}

static bool all_asleep(void) {
    return atomic_load_explicit(&pool.sleepers, memory_order_relaxed) == pool.workers;
}

static bool some_asleep(void) {
    return atomic_load_explicit(&pool.sleepers, memory_order_relaxed) > 0;
}

/// Takes pieces that grow from one grain on, until they tell how long what is left would take one core; that, in ns, or 0
/// when nothing is left.
static double run_until_known(const struct loop *loop) {
    uint64_t start = now_ns();
    size_t done = 0, first, count;
    while ((count = take(loop, done ? 3 * done : 1, &first)) > 0) {
        run_piece(loop, first, count);
        done += count;
        size_t left = loop->grains - atomic_load_explicit(&pool.next, memory_order_relaxed);
        double ns = left ? (double)(now_ns() - start) / (double)done * (double)left : 0;
        if (ns >= WAKE_WORTH_NS)
            return ns;
    }
    return 0;
}

static void close_gate(void) {
    if (!gate_is_open())
        return;
    atomic_fetch_and(&pool.gate, ~gate_open);
    for (;;) {
        unsigned seen = atomic_load(&pool.done);
        if ((atomic_load(&pool.gate) & gate_inside) == 0)
            return;
        if (!spin(&pool.done, seen))
            park(&pool.done, seen);
    }
}

/// Runs a loop with the help of workers, made when there is first work for them; @p ns as in ct__parallel_work().
static void run_shared(double ns) {
    const struct loop *loop = &pool.loop;
    atomic_store_explicit(&pool.next, 0, memory_order_relaxed);
    if (!all_asleep())
        open_gate();
    if (ns == 0 && (some_asleep() || !pool.started))
        ns = run_until_known(loop);
    if (ns >= WAKE_WORTH_NS && ready_workers() > 0) {
        if (!gate_is_open())
            open_gate();
        if (some_asleep())
            wake_workers(ns);
    }
    run_pieces(loop);
    close_gate();
}

/// Shares a loop with the workers; false when they are busy or there are none.
static bool share(size_t n, size_t grain, double ns, range_fn *fn, void *ctx) {
    if (ct_num_threads() < 2 || atomic_flag_test_and_set(&pool.turn))
        return false;
    pool.loop = loop_of(n, grain, fn, ctx);
    inside_loop = true;
    run_shared(ns);
    inside_loop = false;
    atomic_flag_clear(&pool.turn);
    return true;
}

struct guarded {
    range_fn *fn;
    void *ctx;
};

/// Marks a thread that is not ours as being inside a loop.
static void run_guarded(void *ctx, size_t begin, size_t end) {
    const struct guarded *loop = ctx;
    bool before = inside_loop;
    inside_loop = true;
    loop->fn(loop->ctx, begin, end);
    inside_loop = before;
}

void ct__parallel_work(size_t n, size_t grain, double ns,
                       void (*fn)(void *ctx, size_t begin, size_t end), void *ctx) {
    freeze();
    if (grain == 0)
        grain = 1;
    if (n == 0)
        return;
    if (n > grain && !inside_loop) {
        if (custom.parallel_for) {
            custom.parallel_for(custom.user, n, grain, run_guarded, &(struct guarded){fn, ctx});
            return;
        }
        if (share(n, grain, ns, fn, ctx))
            return;
    }
    fn(ctx, 0, n);
}

void ct__parallel_for(size_t n, size_t grain, void (*fn)(void *ctx, size_t begin, size_t end),
                      void *ctx) {
    ct__parallel_work(n, grain, 0, fn, ctx);
}
