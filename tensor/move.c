#include "tensor/move.h"

#include "tensor/isa.h"
#include "tensor/topology.h"

#include <stdatomic.h>
#include <stdint.h>

const struct ct__moves *ct__moves(void) {
    static const struct ct__moves *const moves[] = {
        [CT__ISA_SCALAR] = &ct__moves_scalar,
        [CT__ISA_AVX2] = &ct__moves_avx2,
        [CT__ISA_AVX512] = &ct__moves_avx512,
    };
    return moves[ct__isa_current()];
}

enum {
    DEFAULT_L2 = 1 << 20,  // where the caches are not known
    OWN_CACHES = 4,        // results up to so many L2 caches are found again
    SHARED_PART = 4,       // or up to this part of an L3 cache
    LARGEST_L3 = 64 << 20, // a larger one has more cores than this process sees
    SMALL = 1 << 18,       // fits any L2: no reason to look the caches up
};

static atomic_size_t chosen, own_cache;

static size_t l2_bytes(void) {
    size_t bytes = ct__cache_bytes(2);
    return bytes ? bytes : DEFAULT_L2;
}

static size_t stream_bytes(void) {
    size_t l3 = ct__cache_bytes(3), own = OWN_CACHES * l2_bytes();
    size_t shared = l3 <= LARGEST_L3 ? l3 / SHARED_PART : 0;
    return own > shared ? own : shared;
}

// Whether there are `*least` bytes or more, which is found out at first need.
static bool reaches(size_t bytes, atomic_size_t *least, size_t (*find)(void)) {
    size_t known = atomic_load_explicit(least, memory_order_relaxed);
    if (known == 0) {
        if (bytes < SMALL)
            return false;
        known = find();
        atomic_store_explicit(least, known, memory_order_relaxed);
    }
    return bytes >= known;
}

bool ct__streams(size_t bytes) {
    return reaches(bytes, &chosen, stream_bytes);
}

bool ct__outgrows(size_t bytes) {
    return reaches(bytes, &own_cache, l2_bytes);
}

void ct__set_stream_bytes(size_t bytes) {
    atomic_store_explicit(&chosen, bytes, memory_order_relaxed);
    atomic_store_explicit(&own_cache, bytes, memory_order_relaxed);
}
