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
#include <unistd.h>

#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#endif

#include "tensor/ct_platform.h"
#include "tensor/fail.h"
#include "tensor/topology.h"

// One loop at a time has the pool (`turn`). Its owner writes `loop`, opens the gate and rings the bell; workers that come
// while the gate is open are counted in it; all take pieces from `next`. When the pieces run out the owner closes the gate
// and waits for those inside only, so a worker that is slow to wake costs nothing.

enum { MAX_THREADS = 1024, DEFAULT_MAX_THREADS = 64, PIECES_PER_THREAD = 4, SPINS = 300 };

typedef void range_fn(void *ctx, size_t begin, size_t end);

struct loop {
    range_fn *fn;
    void *ctx;
    size_t n;
    size_t span; // items in a piece, but for the last
    size_t pieces;
};

static const uint64_t gate_inside = 0xffff; // how many workers are inside
static const uint64_t gate_open = 0x10000;
static const uint64_t gate_epoch = 0x20000; // one loop

static struct {
    _Alignas(64) atomic_size_t next;    // piece to take
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
    pthread_t threads[MAX_THREADS];
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

/// Waits a moment for @p word to change; false when it did not.
static bool spin(atomic_uint *word, unsigned seen) {
    if (atomic_load_explicit(&oversubscribed, memory_order_relaxed))
        return false;
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load_explicit(word, memory_order_relaxed) != seen)
            return true;
        relax();
    }
    return false;
}

// ---- workers

static void run_pieces(const struct loop *loop) {
    for (;;) {
        size_t piece = atomic_fetch_add_explicit(&pool.next, 1, memory_order_relaxed);
        if (piece >= loop->pieces)
            return;
        size_t begin = piece * loop->span;
        size_t end = loop->n - begin <= loop->span ? loop->n : begin + loop->span;
        loop->fn(loop->ctx, begin, end);
    }
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

static void *work(void *unused) {
    (void)unused;
    uint64_t last_epoch = 0;
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

static void make_workers(int wanted) {
    sigset_t all, before;
    sigfillset(&all); // signals are for the program's own threads
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (pool.workers < wanted &&
           pthread_create(&pool.threads[pool.workers], NULL, work, NULL) == 0)
        pool.workers++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/// No lock is held meanwhile, lest a fork wait for it.
static void start_workers(int threads) {
    atomic_store(&pool.starting, true);
    if (!atomic_load(&pool.stop)) {
        atomic_store(&oversubscribed, threads > ct__usable_cores());
        make_workers(threads - 1);
    }
    pool.started = true;
    atomic_store(&pool.starting, false);
}

/// The number of workers; makes them when this is the first loop.
static int ready_workers(int threads) {
    if (!pool.started)
        start_workers(threads);
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

static struct loop cut(size_t n, size_t grain, range_fn *fn, void *ctx, int threads) {
    size_t grains = n / grain + (n % grain != 0);
    size_t batch = grains / ((size_t)threads * PIECES_PER_THREAD);
    size_t span = (batch ? batch : 1) * grain;
    return (struct loop){fn, ctx, n, span, n / span + (n % span != 0)};
}

/// Lets workers in, no more of the sleeping ones than there are pieces for.
static void open_gate(int workers) {
    uint64_t gate = atomic_load(&pool.gate);
    size_t useful = pool.loop.pieces - 1;
    int count = useful < (size_t)workers ? (int)useful : workers;
    atomic_store_explicit(&pool.next, 0, memory_order_relaxed);
    atomic_store(&pool.gate, ((gate / gate_epoch + 1) * gate_epoch) | gate_open);
    atomic_fetch_add(&pool.bell, 1);
    if (atomic_load(&pool.sleepers) > 0)
        unpark(&pool.bell, count);
}

static void close_gate(void) {
    atomic_fetch_and(&pool.gate, ~gate_open);
    for (;;) {
        unsigned seen = atomic_load(&pool.done);
        if ((atomic_load(&pool.gate) & gate_inside) == 0)
            return;
        if (!spin(&pool.done, seen))
            park(&pool.done, seen);
    }
}

/// Shares a loop with the workers; false when they are busy or there are none.
static bool share(size_t n, size_t grain, range_fn *fn, void *ctx) {
    int threads = ct_num_threads();
    if (threads < 2 || atomic_flag_test_and_set(&pool.turn))
        return false;
    int workers = ready_workers(threads);
    if (workers > 0) {
        pool.loop = cut(n, grain, fn, ctx, workers + 1);
        inside_loop = true;
        open_gate(workers);
        run_pieces(&pool.loop);
        close_gate();
        inside_loop = false;
    }
    atomic_flag_clear(&pool.turn);
    return workers > 0;
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

void ct__parallel_for(size_t n, size_t grain, void (*fn)(void *ctx, size_t begin, size_t end),
                      void *ctx) {
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
        if (share(n, grain, fn, ctx))
            return;
    }
    fn(ctx, 0, n);
}
