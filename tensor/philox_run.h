/* Philox 4x32-10 of neighbouring counters, several at a time. */
#ifndef CT_PHILOX_RUN_H
#define CT_PHILOX_RUN_H

#include <stdint.h>

enum { PHILOX_RUN = 16, PHILOX_ROUNDS = 10 };

/* The multipliers, and the Weyl steps of the key: the golden ratio and sqrt(3) - 1. */
#define PHILOX_M0 0xD2511F53u
#define PHILOX_M1 0xCD9E8D57u
#define PHILOX_W0 0x9E3779B9u
#define PHILOX_W1 0xBB67AE85u

#ifdef __AVX2__

#include <immintrin.h>

/* Four counters, and what becomes of them: lanes of 64 bits hold words of 32. */
struct ct__philox_lanes {
    __m256i a, b, c, d;
};

static inline struct ct__philox_lanes ct__philox_begin(uint64_t position, uint64_t stream) {
    const __m256i low = _mm256_set1_epi64x(0xFFFFFFFF), step = _mm256_setr_epi64x(0, 1, 2, 3);
    __m256i counter = _mm256_add_epi64(_mm256_set1_epi64x((long long)position), step);
    return (struct ct__philox_lanes){_mm256_and_si256(counter, low), _mm256_srli_epi64(counter, 32),
                                     _mm256_set1_epi64x((long long)(stream & 0xFFFFFFFF)),
                                     _mm256_set1_epi64x((long long)(stream >> 32))};
}

static inline struct ct__philox_lanes ct__philox_round(struct ct__philox_lanes x, __m256i key0,
                                                       __m256i key1) {
    const __m256i low = _mm256_set1_epi64x(0xFFFFFFFF);
    __m256i p = _mm256_mul_epu32(x.a, _mm256_set1_epi64x(PHILOX_M0));
    __m256i q = _mm256_mul_epu32(x.c, _mm256_set1_epi64x(PHILOX_M1));
    __m256i up = _mm256_xor_si256(_mm256_srli_epi64(q, 32), x.b);
    __m256i down = _mm256_xor_si256(_mm256_srli_epi64(p, 32), x.d);
    return (struct ct__philox_lanes){_mm256_xor_si256(up, key0), _mm256_and_si256(q, low),
                                     _mm256_xor_si256(down, key1), _mm256_and_si256(p, low)};
}

static inline void ct__philox_end(struct ct__philox_lanes x, uint64_t *first, uint64_t *second) {
    __m256i w = _mm256_or_si256(_mm256_slli_epi64(x.a, 32), x.b);
    __m256i z = _mm256_or_si256(_mm256_slli_epi64(x.c, 32), x.d);
    _mm256_storeu_si256((__m256i *)(void *)first, w);
    _mm256_storeu_si256((__m256i *)(void *)second, z);
}

/* first[i] and second[i] = the two words of counter (position + i, stream) under the key `seed`, for PHILOX_RUN of
   them. Four chains, since a round waits for its products. */
static inline void ct__philox_run(uint64_t position, uint64_t stream, uint64_t seed,
                                  uint64_t first[PHILOX_RUN], uint64_t second[PHILOX_RUN]) {
    struct ct__philox_lanes x0 = ct__philox_begin(position, stream);
    struct ct__philox_lanes x1 = ct__philox_begin(position + 4, stream);
    struct ct__philox_lanes x2 = ct__philox_begin(position + 8, stream);
    struct ct__philox_lanes x3 = ct__philox_begin(position + 12, stream);
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < PHILOX_ROUNDS; round++, k0 += PHILOX_W0, k1 += PHILOX_W1) {
        const __m256i key0 = _mm256_set1_epi64x(k0), key1 = _mm256_set1_epi64x(k1);
        x0 = ct__philox_round(x0, key0, key1);
        x1 = ct__philox_round(x1, key0, key1);
        x2 = ct__philox_round(x2, key0, key1);
        x3 = ct__philox_round(x3, key0, key1);
    }
    ct__philox_end(x0, first, second);
    ct__philox_end(x1, first + 4, second + 4);
    ct__philox_end(x2, first + 8, second + 8);
    ct__philox_end(x3, first + 12, second + 12);
}

#endif

#endif
