/**
 * @file
 * @brief SHA-256 of a stream of bytes: to name files and weights by their contents.
 */
#ifndef CT_DIGEST_H
#define CT_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#include "tensor/ct_api.h"
#include "tensor/ct_error.h"

CT_BEGIN_DECLS

/** Room for a digest as text: 64 lower-case hexadecimal digits and a NUL. */
enum { CT_SHA256_TEXT_BYTES = 65 };

/** A digest in the making. Its owner decides where it lives; copying it forks the stream. Needs no release. */
struct ct_sha256 {
    uint64_t state[16]; /**< Private. */
};

/**
 * @brief Starts a digest.
 *
 * @par Errors         A NULL @p digest is #CT_EINVAL in ct_error(); nothing is done.
 * @par Thread safety  One thread at a time for one digest.
 * @par Cost           O(1), no allocation.
 */
CT_API void ct_sha256_init(struct ct_sha256 *digest);

/**
 * @brief Adds bytes to a digest. How a stream is cut into calls does not matter.
 *
 * @param data  May be NULL when @p bytes is 0.
 * @par Errors         A NULL @p digest, or NULL @p data with bytes to add, is #CT_EINVAL in ct_error(); nothing is done.
 * @par Thread safety  One thread at a time for one digest.
 * @par Determinism    The same bytes on every machine.
 * @par Cost           O(bytes), no allocation.
 */
CT_API void ct_sha256_update(struct ct_sha256 *digest, const void *data, size_t bytes);

/**
 * @brief Ends a digest, writes it as lower-case hexadecimal text, and starts the digest anew.
 *
 * @param hex  #CT_SHA256_TEXT_BYTES bytes.
 * @par Errors         A NULL argument is #CT_EINVAL in ct_error(); nothing is done.
 * @par Thread safety  One thread at a time for one digest.
 * @par Cost           O(1), no allocation.
 */
CT_API void ct_sha256_final(struct ct_sha256 *digest, char *hex);

CT_END_DECLS

#endif
