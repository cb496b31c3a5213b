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

/* first[i] and second[i] = the two words of counter (position + i, stream) under the key `seed`, for PHILOX_RUN of
   them. Lanes of 64 bits hold words of 32. */
static inline void ct__philox_run(uint64_t position, uint64_t stream, uint64_t seed,
                                  uint64_t first[PHILOX_RUN], uint64_t second[PHILOX_RUN]) {
    enum { VECTORS = PHILOX_RUN / 4 };
    const __m256i low = _mm256_set1_epi64x(0xFFFFFFFF), step = _mm256_setr_epi64x(0, 1, 2, 3);
    const __m256i m0 = _mm256_set1_epi64x(PHILOX_M0), m1 = _mm256_set1_epi64x(PHILOX_M1);
    __m256i a[VECTORS], b[VECTORS], c[VECTORS], d[VECTORS];
    for (int v = 0; v < VECTORS; v++) {
        uint64_t from = position + 4 * (uint64_t)v;
        __m256i counter = _mm256_add_epi64(_mm256_set1_epi64x((long long)from), step);
        a[v] = _mm256_and_si256(counter, low);
        b[v] = _mm256_srli_epi64(counter, 32);
        c[v] = _mm256_set1_epi64x((long long)(stream & 0xFFFFFFFF));
        d[v] = _mm256_set1_epi64x((long long)(stream >> 32));
    }
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < PHILOX_ROUNDS; round++, k0 += PHILOX_W0, k1 += PHILOX_W1) {
        const __m256i key0 = _mm256_set1_epi64x(k0), key1 = _mm256_set1_epi64x(k1);
        for (int v = 0; v < VECTORS; v++) {
            __m256i p = _mm256_mul_epu32(a[v], m0), q = _mm256_mul_epu32(c[v], m1);
            __m256i up = _mm256_xor_si256(_mm256_srli_epi64(q, 32), b[v]);
            __m256i down = _mm256_xor_si256(_mm256_srli_epi64(p, 32), d[v]);
            a[v] = _mm256_xor_si256(up, key0);
            b[v] = _mm256_and_si256(q, low);
            c[v] = _mm256_xor_si256(down, key1);
            d[v] = _mm256_and_si256(p, low);
        }
    }
    for (int v = 0; v < VECTORS; v++) {
        __m256i w = _mm256_or_si256(_mm256_slli_epi64(a[v], 32), b[v]);
        __m256i z = _mm256_or_si256(_mm256_slli_epi64(c[v], 32), d[v]);
        _mm256_storeu_si256((__m256i *)(void *)(first + 4 * v), w);
        _mm256_storeu_si256((__m256i *)(void *)(second + 4 * v), z);
    }
}

#endif

#endif
