/**
 * @file
 * @brief What the library found on this machine: instruction set, threads, floating-point environment.
 *
 * Environment variables: CT_ISA (scalar, avx2 or avx512) and CT_NUM_THREADS (1 to 1024) override what was found. Neither
 * changes a bit of any result.
 */
#ifndef CT_PLATFORM_H
#define CT_PLATFORM_H

#include <stddef.h>

#include "tensor/ct_api.h"
#include "tensor/ct_error.h"

CT_BEGIN_DECLS

/**
 * @brief The instruction set in use: "scalar", "avx2" or "avx512". Frozen at first use.
 *
 * @return A constant string, never NULL.
 * @par Errors         None: a CT_ISA that cannot be used counts as absent, see ct_isa_check().
 * @par Thread safety  Any thread.
 * @par Determinism    All instruction sets compute the same bits.
 * @par Cost           O(1).
 */
CT_API const char *ct_isa_name(void);

/**
 * @brief Says whether this CPU can run the library, and whether CT_ISA makes sense.
 *
 * @retval CT_OK            yes.
 * @retval CT_EINVAL        CT_ISA has an unknown value, or names an instruction set that the CPU lacks.
 * @retval CT_EUNSUPPORTED  the CPU lacks AVX2 or FMA (x86-64-v3).
 * @par Thread safety  Any thread, while no other changes the environment.
 * @par Cost           O(1), no allocation.
 */
CT_API ct_status ct_isa_check(void);

/**
 * @brief The number of threads that a large loop may use, the calling one included. Frozen at first use.
 *
 * CT_NUM_THREADS, else the least of: hardware threads that the calling thread may run on, the CPU quota of the cgroup
 * rounded up, 64.
 *
 * @par Errors         None: a CT_NUM_THREADS that cannot be used counts as absent, see ct_threads_check().
 * @par Thread safety  Any thread.
 * @par Determinism    No result depends on it.
 * @par Cost           The first call reads the machine's topology (milliseconds), later ones O(1).
 */
CT_API int ct_num_threads(void);

/**
 * @brief Says whether CT_NUM_THREADS makes sense.
 *
 * @retval CT_OK      it is absent, empty or a decimal number from 1 to 1024.
 * @retval CT_EINVAL  it is something else.
 * @par Thread safety  Any thread, while no other changes the environment.
 * @par Cost           O(1), no allocation.
 */
CT_API ct_status ct_threads_check(void);

/**
 * @brief Says whether the calling thread's floating-point environment is the one in which results are defined.
 *
 * @retval CT_OK      rounding is to nearest, and subnormal numbers are neither flushed (FTZ) nor read as zero (DAZ).
 * @retval CT_EINVAL  it is not; the message says what differs.
 * @par Thread safety  Any thread.
 * @par Cost           O(1), no allocation.
 */
CT_API ct_status ct_fenv_check(void);

/**
 * @brief Replaces the loop that spreads work over threads.
 *
 * @p parallel_for calls @p fn with its @p ctx over disjoint ranges that together cover [0, n), each beginning at a
 * multiple of @p grain, on any threads, and returns when all are done. It is called with n > grain >= 1, from any thread and
 * from several at once, never from within @p fn. Its threads need the default floating-point environment.
 *
 * @param parallel_for  The loop; NULL puts the library's own back.
 * @param user          Passed to it; must outlive its last use.
 * @retval CT_OK      done.
 * @retval CT_EINVAL  the library has run a loop already: the setting freezes at first use.
 * @par Thread safety  Any thread; the call that comes before the first loop wins.
 * @par Determinism    No result depends on it, since none depends on how the work is split.
 * @par Cost           O(1).
 */
CT_API ct_status ct_set_parallel_for(
    void (*parallel_for)(void *user, size_t n, size_t grain,
                         void (*fn)(void *ctx, size_t begin, size_t end), void *ctx),
    void *user);

/**
 * @brief Names the numeric contract: equal names, equal bits.
 *
 * The revision of the library's own functions, the blocks and lanes of reductions, the inner block of products, and the
 * version of SLEEF, from which the remaining functions come.
 *
 * @return A constant string.
 * @par Thread safety  Any thread.
 * @par Cost           O(1).
 */
CT_API const char *ct_numeric_contract(void);

CT_END_DECLS

#endif
