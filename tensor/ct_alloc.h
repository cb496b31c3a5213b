/**
 * @file
 * @brief Memory: replacing the allocator, the cache of freed blocks, and the counters that tests hold the library to.
 */
#ifndef CT_ALLOC_H
#define CT_ALLOC_H

#include <stddef.h>

#include "tensor/ct_api.h"
#include "tensor/ct_error.h"

CT_BEGIN_DECLS

/**
 * @brief Where the library's memory comes from.
 *
 * Both functions are called from any thread, possibly from several at once, and never while the library holds a lock.
 */
struct ct_allocator {
    /** Returns @p bytes bytes aligned to @p align (a power of two, at least 64), or NULL. @p bytes is never 0. */
    void *(*allocate)(void *ctx, size_t bytes, size_t align);
    /** Takes back what allocate() returned for the same @p bytes. @p p is never NULL. */
    void (*release)(void *ctx, void *p, size_t bytes);
    /** Passed to both. */
    void *ctx;
};

/**
 * @brief Replaces the process-wide allocator.
 *
 * The record is copied; @p allocator->ctx must outlive the process's last use of the library. Freed blocks are still
 * kept by the library's cache; ct_cache_limit(0) switches that off. Memory that is left in the cache at exit is not
 * given back to a replaced allocator; ct_cache_clear() does it.
 *
 * @param allocator  NULL, or a record with both functions.
 * @retval CT_OK      done.
 * @retval CT_EINVAL  @p allocator or one of its functions is NULL, or the library has allocated already: the setting
 *                    freezes at first use.
 * @par Thread safety  Any thread; the call that comes before the first allocation wins.
 * @par Determinism    No result depends on the allocator.
 * @par Cost           O(1).
 */
CT_API ct_status ct_set_allocator(const struct ct_allocator *allocator);

/**
 * @brief Bounds the bytes of freed blocks that are kept for reuse; 0 switches the cache off.
 *
 * Until it is called, 256 MiB may be kept, and more where more was in use: so much that what is in use and what is kept
 * together stay below 5/4 of the most that was in use of late. So a training loop gets all its buffers back, turn after
 * turn. After one large job ct_cache_clear() returns its memory. Called once, @p bytes is a strict bound.
 *
 * Blocks over the new bound, longest unused first, go back to the allocator at once. A block over 256 MiB is never kept.
 * Beside it each thread keeps up to 1 MiB of small blocks of its own; it gives them up when it ends and, whatever the
 * thread does, in ct_cache_clear(). A bound under 8 MiB ends these too.
 *
 * @par Errors         None.
 * @par Thread safety  Any thread at any time.
 * @par Determinism    No result depends on it.
 * @par Cost           O(blocks given back).
 */
CT_API void ct_cache_limit(size_t bytes);

/**
 * @brief Gives all freed blocks that are kept for reuse, by any thread, back to the allocator.
 *
 * @par Errors         None.
 * @par Thread safety  Any thread at any time.
 * @par Determinism    No result depends on it.
 * @par Cost           O(blocks given back).
 */
CT_API void ct_cache_clear(void);

/**
 * @brief How many blocks the library holds now; those in the cache are not counted.
 *
 * @par Errors         None.
 * @par Thread safety  Any thread; a snapshot when others allocate.
 * @par Cost           O(threads).
 */
CT_API size_t ct_live_blocks(void);

/**
 * @brief How often the library has called its allocator, allocate() and release() together, failed calls included.
 *
 * In a steady loop the number stands still: the cache serves every request.
 *
 * @par Errors         None.
 * @par Thread safety  Any thread; a snapshot when others allocate.
 * @par Cost           O(1).
 */
CT_API size_t ct_allocator_calls(void);

CT_END_DECLS

#endif
