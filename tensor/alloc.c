#include "tensor/alloc.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tensor/checked.h"
#include "tensor/fail.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN 1
#endif
#ifdef WITH_ASAN
#include <sanitizer/asan_interface.h>
#endif

// Sizes are rounded up to a class: 64, 128, 192, then four steps to each power of two. A freed block is kept in its class,
// newest first, and in one list over all classes by age, from which the oldest are given back when the bound is reached.

static const size_t huge_page = (size_t)2 << 20;
static const size_t huge_block = (size_t)4 << 20;
static const size_t largest_class = (size_t)256 << 20;
static const uint64_t magic_live = 0x434f54414e47454eU;
static const uint64_t magic_kept = 0x6b6570745f626c6bU;

enum { CLASSES = 3 + 4 * 20 + 1 }; // 64, 128, 192; 256 << 0..19 in four steps; 256 MiB

struct links {
    struct block *newer, *older;
};

/// What precedes the caller's bytes. The lists are used while the block is kept.
struct block {
    _Alignas(CT__ALIGNMENT) uint64_t magic;
    size_t capacity;
    struct links age;
    struct links same; // those of one class
};

static_assert(sizeof(struct block) == CT__ALIGNMENT, "the header must keep the alignment");

struct list {
    struct block *newest, *oldest;
};

static void *default_allocate(void *ctx, size_t bytes, size_t align);
static void default_release(void *ctx, void *p, size_t bytes);

static struct ct_allocator allocator = {default_allocate, default_release, NULL};
static atomic_bool frozen;
static atomic_size_t live_blocks;
static atomic_size_t allocator_calls;

static pthread_mutex_t lock =
    PTHREAD_MUTEX_INITIALIZER; // everything below, and `allocator` until frozen
static struct list by_age;
static struct list by_class[CLASSES];
static size_t kept_bytes;
static size_t kept_limit = (size_t)256 << 20;

// ---- the default allocator

static void *default_allocate(void *ctx, size_t bytes, size_t align) {
    (void)ctx;
    void *p = NULL;
    bool huge = bytes >= huge_block;
    if (posix_memalign(&p, huge && align < huge_page ? huge_page : align, bytes))
        return NULL;
    if (huge)
        (void)madvise(p, bytes / huge_page * huge_page, MADV_HUGEPAGE); // advice: may be refused
    return p;
}

static void default_release(void *ctx, void *p, size_t bytes) {
    (void)ctx;
    (void)bytes;
    free(p);
}

// ---- the lock, fork and first use

static void enter(void) {
    pthread_mutex_lock(&lock);
}

static void leave(void) {
    pthread_mutex_unlock(&lock);
}

/// When the library is loaded: later, a fork might come halfway.
__attribute__((constructor)) static void watch_forks(void) {
    pthread_atfork(enter, leave, leave);
}

ct_status ct_set_allocator(const struct ct_allocator *replacement) {
    if (!replacement)
        return ct__fail_null_operand(__func__);
    if (!replacement->allocate || !replacement->release)
        return ct__fail(CT_EINVAL, __func__, "an allocator needs both allocate and release");
    enter();
    bool late = atomic_load_explicit(&frozen, memory_order_relaxed);
    if (!late)
        allocator = *replacement;
    leave();
    if (late)
        return ct__fail(CT_EINVAL, __func__,
                        "the allocator can be replaced only before the library first allocates");
    return CT_OK;
}

// ---- calls to the allocator, never made with the lock held

/// Keeps the caller's hands off a block, or off the slack behind its bytes; off for builds without AddressSanitizer.
static void poison(struct block *b, size_t used) {
#ifdef WITH_ASAN
    ASAN_UNPOISON_MEMORY_REGION(b + 1, used);
    ASAN_POISON_MEMORY_REGION((unsigned char *)(b + 1) + used, b->capacity - used);
#else
    (void)b;
    (void)used;
#endif
}

static void give_back(struct block *b) {
    size_t total = sizeof *b + b->capacity;
    poison(b, b->capacity);
    b->magic = 0;
    atomic_fetch_add_explicit(&allocator_calls, 1, memory_order_relaxed);
    allocator.release(allocator.ctx, b, total);
}

static struct block *fetch(size_t capacity) {
    size_t total = sizeof(struct block) + capacity; // capacity was checked for this
    atomic_fetch_add_explicit(&allocator_calls, 1, memory_order_relaxed);
    struct block *b = allocator.allocate(allocator.ctx, total, CT__ALIGNMENT);
    if (b && (uintptr_t)b % CT__ALIGNMENT) {
        atomic_fetch_add_explicit(&allocator_calls, 1, memory_order_relaxed);
        allocator.release(allocator.ctx, b, total); // unusable: as good as no memory
        return NULL;
    }
    if (b)
        b->capacity = capacity;
    return b;
}

static void give_back_all(struct block *b) {
    while (b) {
        struct block *next = b->age.newer;
        give_back(b);
        b = next;
    }
}

// ---- size classes

static unsigned floor_log2(size_t x) {
    return 63u - (unsigned)__builtin_clzll(x);
}

/// Rounds up to a class; above the largest class to whole lines. False when header and block do not fit in size_t.
static bool round_up(size_t bytes, size_t *capacity) {
    size_t step = CT__ALIGNMENT;
    if (bytes > 256 && bytes <= largest_class)
        step = (size_t)1 << (floor_log2(bytes - 1) - 2);
    size_t padded;
    if (!ct__add_size(bytes ? bytes : 1, step - 1 + sizeof(struct block), &padded))
        return false;
    *capacity = (padded - sizeof(struct block)) / step * step;
    return true;
}

/// The class of a capacity that round_up() made and that is at most largest_class.
static size_t class_of(size_t capacity) {
    if (capacity < 256)
        return capacity / CT__ALIGNMENT - 1;
    unsigned power = floor_log2(capacity);
    return 3 + 4 * (size_t)(power - 8) + ((capacity >> (power - 2)) & 3);
}

// ---- the cache; all with the lock held

static struct links *links_in(struct block *b, bool age) {
    return age ? &b->age : &b->same;
}

static void push(struct list *list, struct block *b, bool age) {
    *links_in(b, age) = (struct links){NULL, list->newest};
    if (list->newest)
        links_in(list->newest, age)->newer = b;
    else
        list->oldest = b;
    list->newest = b;
}

static void unlink_from(struct list *list, struct block *b, bool age) {
    struct links at = *links_in(b, age);
    if (at.newer)
        links_in(at.newer, age)->older = at.older;
    else
        list->newest = at.older;
    if (at.older)
        links_in(at.older, age)->newer = at.newer;
    else
        list->oldest = at.newer;
}

static void keep(struct block *b) {
    b->magic = magic_kept;
    push(&by_age, b, true);
    push(&by_class[class_of(b->capacity)], b, false);
    kept_bytes += b->capacity;
}

static void unkeep(struct block *b) {
    unlink_from(&by_age, b, true);
    unlink_from(&by_class[class_of(b->capacity)], b, false);
    kept_bytes -= b->capacity;
}

/// Takes the oldest blocks out until at most @p limit bytes are kept; returns them as a chain through age.newer.
static struct block *shrink_to(size_t limit) {
    struct block *first = NULL, *last = NULL;
    while (kept_bytes > limit) {
        struct block *b = by_age.oldest;
        unkeep(b);
        b->age.newer = NULL;
        if (last)
            last->age.newer = b;
        else
            first = b;
        last = b;
    }
    return first;
}

static struct block *take_kept(size_t capacity) {
    if (capacity > largest_class)
        return NULL;
    struct block *b = by_class[class_of(capacity)].newest;
    if (b)
        unkeep(b);
    return b;
}

void ct_cache_limit(size_t bytes) {
    enter();
    kept_limit = bytes;
    struct block *out = shrink_to(bytes);
    leave();
    give_back_all(out);
}

/// Empties the cache; true when there was something in it.
static bool clear_cache(void) {
    enter();
    struct block *out = shrink_to(0);
    leave();
    give_back_all(out);
    return out != NULL;
}

void ct_cache_clear(void) {
    clear_cache();
}

/// A replaced allocator may be gone by now; the default one is not.
__attribute__((destructor)) static void clear_cache_at_exit(void) {
    if (allocator.release == default_release)
        clear_cache();
}

// ---- blocks

static struct block *header_of(void *block) {
    struct block *b = (struct block *)block - 1;
#ifdef CT_DEBUG
    assert(b->magic == magic_live && "not a live block of this library");
#endif
    return b;
}

static struct block *obtain(size_t capacity) {
    enter();
    atomic_store_explicit(&frozen, true, memory_order_relaxed);
    struct block *b = take_kept(capacity);
    leave();
    if (!b)
        b = fetch(capacity);
    if (!b && clear_cache())
        b = fetch(capacity);
    return b;
}

void *ct__alloc(size_t bytes) {
    size_t capacity;
    if (!round_up(bytes, &capacity))
        return NULL;
    struct block *b = obtain(capacity);
    if (!b)
        return NULL;
    b->magic = magic_live;
    poison(b, bytes);
    atomic_fetch_add_explicit(&live_blocks, 1, memory_order_relaxed);
    return b + 1;
}

void *ct__alloc_zero(size_t bytes) {
    void *block = ct__alloc(bytes);
    return block ? memset(block, 0, bytes) : NULL;
}

void ct__free(void *block) {
    if (!block)
        return;
    struct block *b = header_of(block);
    struct block *out = b;
    poison(b, 0);
    atomic_fetch_sub_explicit(&live_blocks, 1, memory_order_relaxed);
    enter();
    if (b->capacity <= largest_class && b->capacity <= kept_limit) {
        out = shrink_to(kept_limit - b->capacity);
        keep(b);
    } else {
        b->age.newer = NULL;
    }
    leave();
    give_back_all(out);
}

void *ct__realloc(void *block, size_t bytes) {
    if (!block)
        return ct__alloc(bytes);
    struct block *b = header_of(block);
    if (bytes <= b->capacity && (bytes >= b->capacity / 2 || b->capacity <= 256)) {
        poison(b, bytes);
        return block;
    }
    void *moved = ct__alloc(bytes);
    if (!moved)
        return NULL;
    poison(b, b->capacity);
    memcpy(moved, block, bytes < b->capacity ? bytes : b->capacity);
    ct__free(block);
    return moved;
}

size_t ct_live_blocks(void) {
    return atomic_load_explicit(&live_blocks, memory_order_relaxed);
}

size_t ct_allocator_calls(void) {
    return atomic_load_explicit(&allocator_calls, memory_order_relaxed);
}
