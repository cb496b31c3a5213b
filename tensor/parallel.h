/**
 * @file
 * @brief Loops over threads (internal).
 */
#ifndef CT_PARALLEL_H
#define CT_PARALLEL_H

#include <stdatomic.h>
#include <stddef.h>

/**
 * @brief Runs @p fn over disjoint ranges that together cover [0, n) and returns when all are done.
 *
 * Each range begins at a multiple of @p grain and may span several of them, so how a range is cut is no property that a
 * result may depend on. The caller works too, and alone when n <= grain, when there is one thread, when it is called from
 * within another loop, or when another thread's loop has the workers. Workers have the default floating-point environment.
 *
 * Errors in @p fn are its own affair: the thread's last error of a worker is not the caller's, so record what went wrong
 * in @p ctx (the lowest index wins: ct__keep_lowest()) and fail after the loop.
 *
 * Workers that are awake, which they are for some 50 microseconds after their last work, join any loop. Sleeping ones are
 * woken when what is left would take one core 100 microseconds, which the caller finds out by its first grains: give the
 * time to ct__parallel_work() where a grain alone takes longer than that.
 *
 * @param grain  Items that are not worth splitting: 2 to 20 microseconds of work; 0 counts as 1.
 * @par Errors         None: where no thread can be made, the caller does the work.
 * @par Thread safety  Any thread; after fork the child makes workers of its own.
 * @par Determinism    Which thread runs which range differs from run to run.
 * @par Cost           Below a microsecond when workers are awake; waking them takes 5 microseconds of the caller, and they
 *                     come some 40 later. Never allocates after the first loop.
 */
void ct__parallel_for(size_t n, size_t grain, void (*fn)(void *ctx, size_t begin, size_t end),
                      void *ctx);

/**
 * @brief The same for a loop of which it is known how many nanoseconds it takes on one core, roughly.
 *
 * @param ns  0 for not known. Below 100,000 no sleeping worker is woken.
 */
void ct__parallel_work(size_t n, size_t grain, double ns,
                       void (*fn)(void *ctx, size_t begin, size_t end), void *ctx);

/** @brief Makes @p lowest the lower of it and @p place, from any thread of a loop; read it after the loop. */
static inline void ct__keep_lowest(_Atomic size_t *lowest, size_t place) {
    size_t seen = atomic_load_explicit(lowest, memory_order_relaxed);
    while (place < seen && !atomic_compare_exchange_weak_explicit(
                               lowest, &seen, place, memory_order_relaxed, memory_order_relaxed))
        continue;
}

#endif
