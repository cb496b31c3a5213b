#include "scarce_memory.h"

#include <check.h>
#include <stdlib.h>

#include "tensor/ct_alloc.h"

long allocations_left = -1;

static void *scarce(void *context, size_t bytes, size_t align) {
    (void)context;
    if (allocations_left == 0)
        return NULL;
    allocations_left -= allocations_left > 0;
    return aligned_alloc(align, (bytes + align - 1) / align * align);
}

static void give_back(void *context, void *block, size_t bytes) {
    (void)context;
    (void)bytes;
    free(block);
}

bool make_memory_scarce(void) {
    struct ct_allocator allocator = {scarce, give_back, NULL};
    if (ct_set_allocator(&allocator) != CT_OK)
        return false;
    ct_cache_limit(0);
    return true;
}

void starve(long n) {
    ct_error_clear();
    allocations_left = n;
}

bool survived(ct_tensor *made, size_t blocks_before) {
    bool done = made != NULL;
    ck_assert_int_eq(ct_error()->code, done ? CT_OK : CT_ENOMEM);
    ct_free(made);
    ck_assert_uint_eq(ct_live_blocks(), blocks_before);
    return done;
}
