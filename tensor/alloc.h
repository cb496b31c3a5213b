/**
 * @file
 * @brief The library's own malloc: 64-byte aligned, cached, counted (internal).
 *
 * None of these sets an error: the caller knows what it wanted the memory for. All may be called from any thread; a hit in
 * the cache costs one uncontended lock. Debug builds assert that a freed block is live and was made here; builds with
 * AddressSanitizer poison cached blocks and the slack behind a block.
 */
#ifndef CT_ALLOC_INTERNAL_H
#define CT_ALLOC_INTERNAL_H

#include <stddef.h>

#include "tensor/ct_alloc.h"

enum { CT__ALIGNMENT = 64 /**< Of every block. */ };

/**
 * @brief A block of at least @p bytes bytes, contents undefined. 0 bytes give a valid pointer as well.
 * @return NULL when there is no memory, even after the cache was emptied.
 */
void *ct__alloc(size_t bytes) __attribute__((malloc));

/** @brief As ct__alloc(), filled with zero bytes. */
void *ct__alloc_zero(size_t bytes) __attribute__((malloc));

/** @brief Gives a block back. NULL is fine. */
void ct__free(void *block);

/**
 * @brief Changes a block's size and keeps what fits of its contents. A NULL block is ct__alloc().
 *
 * A block stays where it is while it is large enough and at least half used.
 *
 * @return The block, perhaps elsewhere; NULL when there is no memory, and then @p block is as it was.
 */
void *ct__realloc(void *block, size_t bytes);

#endif
