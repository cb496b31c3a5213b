/**
 * @file
 * @brief Where workers run (internal).
 */
#ifndef CT_PLACEMENT_H
#define CT_PLACEMENT_H

#include <sched.h>
#include <sys/types.h>

/**
 * @brief CPUs of a pool's workers: all that its maker may use, but for the one that the caller of a loop runs on.
 *
 * A kernel wakes a thread where its waker runs when every other CPU is busy too, even with less urgent work; caller and
 * worker then take turns on one CPU and the loop gains nothing. Binding each worker to a CPU of its own would cure that and
 * make the pools of two processes collide, so a worker is kept off one CPU only.
 */
struct ct__placement {
#ifdef __linux__
    cpu_set_t home;  // all that workers may use
    cpu_set_t given; // what the first of them has now
#endif
    int avoided; // the caller's CPU, or -1
};

/** @brief What the kernel calls the calling thread. */
pid_t ct__thread_id(void);

/** @brief Before workers are made: they start with the calling thread's CPUs. @par Cost A system call. */
void ct__placement_start(struct ct__placement *placement);

/**
 * @brief Moves the workers off the calling thread's CPU when it is another than at the last call.
 *
 * Where another party has changed their CPUs meanwhile (taskset), that is the new home. Does nothing where there are more
 * threads than CPUs, nor for a worker whose number is still 0.
 *
 * @par Cost A nanosecond when the caller has not moved, else some 0.3 microseconds a worker.
 */
void ct__placement_keep_off(struct ct__placement *placement, const _Atomic pid_t *workers,
                            int count);

#endif
