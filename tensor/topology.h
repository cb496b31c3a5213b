/**
 * @file
 * @brief The machine as far as the library cares: hardware threads, caches, CPU quota (internal).
 */
#ifndef CT_TOPOLOGY_H
#define CT_TOPOLOGY_H

#include <stddef.h>

/**
 * @brief Hardware threads that the calling thread was allowed to run on at the first call; at least 1.
 *
 * @par Thread safety  Any thread. @par Cost The first call reads the topology (milliseconds), later ones O(1).
 */
int ct__usable_cores(void);

/**
 * @brief Bytes of one data or unified cache of a level from 1 to 3: the smallest of its kind; 0 when it is not known.
 *
 * @par Thread safety  Any thread. @par Cost As ct__usable_cores().
 */
size_t ct__cache_bytes(int level);

/**
 * @brief The CPU quota of the process's cgroup (version 2 or 1, the tightest of it and its parents), in CPUs rounded up.
 *
 * @param root  Put before /proc and /sys: "" but in tests.
 * @return 0 when there is none.
 * @par Thread safety  Any thread. @par Cost Reads a few small files; no allocation.
 */
int ct__cpu_quota(const char *root);

#endif
