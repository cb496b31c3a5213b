/**
 * @file ct_random.h
 * Random numbers: Philox 4x32-10 (Salmon et al., SC 2011), counter-based and splittable.
 *
 * Item i of a draw comes from counter i, so the numbers depend on (seed, stream, position) alone:
 * the same bits on every machine, for any number of threads, drawn in one call or in several.
 *
 * The key of a block is the seed, its counter the position (low half) and the stream (high half),
 * each least significant word first.
 *
 * Thread safety: a generator belongs to one thread at a time; generators share nothing.
 *
 * Functions that make a tensor take NULL for an error, CT_EINVAL; they leave the generator where it
 * was on failure. Of the others no pointer may be NULL; they cannot fail.
 */
#ifndef CT_RANDOM_H
#define CT_RANDOM_H

#include "tensor/ct_tensor.h"

CT_BEGIN_DECLS

/** A generator, by value: no allocation, nothing global. */
typedef struct ct_random {
    uint64_t seed;
    uint64_t stream;
    uint64_t position; /**< the next counter */
} ct_random;

/** The generator of a seed and a stream, at position 0. */
CT_API ct_random ct_random_of(uint64_t seed, uint64_t stream);
/** An independent generator: child @p index of this one, whatever its position; does not move the
 *  parent. */
CT_API ct_random ct_random_split(const ct_random *random, uint64_t index);
/** One block: the four outputs of Philox 4x32-10 for a counter and a key. */
CT_API void ct_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);
/** Uniform in [0, 1) with 53 bits; one counter. */
CT_API double ct_random_uniform(ct_random *random);
/** Uniform integer in [0, n), without bias (Lemire 2019): one counter, rarely more. n > 0; for
 *  n = 0 it is 0. */
CT_API uint64_t ct_random_below(ct_random *random, uint64_t n);
/**
 * A tensor of f32 or f64, uniform in [low, high): low + (high - low) u with 53 bits of u, 24 for
 * f32; never @p high, whatever rounds. NULL, with the generator where it was, on failure: CT_EDTYPE
 * for another type, CT_EDOMAIN where rounding to the type leaves low < high and a finite width
 * untrue.
 */
CT_API ct_tensor *ct_uniform(ct_random *random, const ct_scalar *scalar, int rank,
                             const int64_t *shape, double low, double high);
/**
 * A tensor of f32 or f64, normal by Box-Muller in f64, rounded last: item i is mean + deviation
 * sqrt(-2 log u1) cos(2 pi u2) with the library's own log and cos, u1 in (0, 1] and u2 in [0, 1)
 * the two halves of its counter's block. Below 8.6 deviations. Failures as ct_uniform(), with
 * CT_EDOMAIN where @p deviation is negative, a number is not finite or |mean| + 8.6 deviation is
 * beyond the largest number of the type, so that no item is infinite.
 */
CT_API ct_tensor *ct_normal(ct_random *random, const ct_scalar *scalar, int rank,
                            const int64_t *shape, double mean, double deviation);
/**
 * A tensor of whole numbers, uniform in [low, high): item i is low + floor(w (high - low) / 2^128)
 * with w the 128 bits of its counter's block. Of any type that is made from whole numbers
 * (CT_EDTYPE); CT_EDOMAIN where low >= high or some of the numbers do not fit the type exactly.
 */
CT_API ct_tensor *ct_random_integers(ct_random *random, const ct_scalar *scalar, int rank,
                                     const int64_t *shape, int64_t low, int64_t high);
/** A permutation of 0 .. n-1 as an i64 tensor: the numbers of ct_random_permutation(). */
CT_API ct_tensor *ct_permutation(ct_random *random, int64_t n);
/** A permutation of 0 .. n-1 (Fisher-Yates, by ct_random_below()), into @p order. */
CT_API void ct_random_permutation(ct_random *random, size_t n, int64_t *order);

CT_END_DECLS
#endif
